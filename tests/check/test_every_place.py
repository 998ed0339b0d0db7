"""Tests that no kind has a place where a variable, a mount, an annotation or a free manifest is not seen: the packed
fields of all kinds say where these places are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from kubectl_tas.check.filled_in import expressions_of
from kubectl_tas.check.keys import backdoors_of
from kubectl_tas.check.visibledevices import devices_of
from kubectl_tas.facts.device_runtimes import MOUNTS
from kubectl_tas.kinds.backdoors import parts
from kubectl_tas.kinds.environment import LISTS, MAPPINGS, MOUNT_PATHS, SETTINGS
from kubectl_tas.kinds.kubernetes import OperatorShapes, Shape, Shapes, definition, operators, releases
from kubectl_tas.load.document import parse
from tests.support.workloads import Object
from tools.packfields import PROJECTS

OWN = {
    **dict.fromkeys(("Job", "CronJob"), "batch/v1"),
    **dict.fromkeys(("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"), "apps/v1"),
    **dict.fromkeys(("Pod", "ReplicationController"), "v1"),
}
KINDS = [
    *((None, version, kind) for kind, version in OWN.items()),
    *((name, *kind.split()) for name in PROJECTS for kind in operators()[name]["kinds"]),
]
NOT_OF_PODS = frozenset({"status", "metadata", "affinity", "securityContext", "topologySpreadConstraints"})
"""Fields below which nothing belongs to a container."""
STEP = {"[]": 0, "*": "x"}
Path = tuple[str, ...]


def shape_of(operator: str | None, version: str, kind: str) -> Shape:
    if operator is None:
        return Shapes(releases()[-1]).of(definition(version, kind))
    return OperatorShapes(operator, None, releases()[-1]).kind(version, kind)


@cache
def fields_of(operator: str | None, version: str, kind: str) -> list[tuple[Path, Shape]]:
    """Every field of a kind, with its path, in which ``[]`` is an item of a list and ``*`` a value of a mapping. A type
    inside itself, such as the inline template of a step, is entered once.
    """
    fields: list[tuple[Path, Shape]] = []
    waiting: list[tuple[Path, Shape, frozenset[str]]] = [((), shape_of(operator, version, kind), frozenset())]
    while waiting:
        path, shape, outer = waiting.pop()
        fields.append((path, shape))
        if shape.fields and shape.name in outer:
            continue
        types = outer | {shape.name} if shape.fields else outer
        for key, field in (shape.fields or {}).items():
            if key not in NOT_OF_PODS:
                waiting.append(((*path, key), field, types))
        if shape.items is not None:
            waiting.append(((*path, "[]" if shape.types == ("array",) else "*"), shape.items, types))
    return fields


def document(version: str, kind: str, path: Path, value: Any) -> Object:
    """A document with a value at a path, and nothing else."""
    for step in reversed(path):
        value = [value] if step == "[]" else {"x" if step == "*" else step: value}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **value}


def codes(item: Object) -> set[str]:
    """The rules that find something in the document."""
    ((origin,), _) = parse("w.yaml", json.dumps(item))
    return {
        found.rule.code
        for part in parts(origin.data)
        for found in (*devices_of(origin, part, {}), *expressions_of(origin, part), *backdoors_of(origin, part, {}))
    }


VARIABLE = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}
FILLED_IN = {"name": "{{inputs.parameters.x}}", "value": "all"}


def places(kind: tuple[str | None, str, str]) -> Iterator[tuple[Path, Any, Any]]:
    """Each place of variables and mounts, with what gives devices there, and with what may once it is filled in."""
    for path, shape in fields_of(*kind):
        key = path[-1] if path else ""
        items = shape.items.fields if shape.items is not None and shape.items.fields else {}
        if key in LISTS or (shape.items is not None and shape.items.name == "EnvVar"):
            yield path, [VARIABLE], [FILLED_IN]
        elif "configMapRef" in items:
            prefixed = {"prefix": "HABANA_VISIBLE_DEVICES_", "configMapRef": {"name": "x"}}
            yield path, [prefixed], [{**prefixed, "prefix": "{{x}}"}]
        elif key in MAPPINGS:
            yield path, {VARIABLE["name"]: "all"}, {FILLED_IN["name"]: "all"}
        elif key in MOUNT_PATHS or re.search(r"[mM]ount(Path|Point)$", key):
            yield path, f"/var/.//run/nvidia-container-devices/{key}", f"{MOUNTS[:9]}{{{{x}}}}"
        elif key == "sparkConf":
            yield path, {"spark.executorEnv.NVIDIA_VISIBLE_DEVICES": "all"}, {"spark.executorEnv.{{x}}": "all"}
            yield path, {"spark.kubernetes.driver.annotation.cdi.k8s.io/x": "a"}, {"{{x}}": "a"}
        elif key == "javaOptions":
            yield path, '-D"spark.executorEnv.NVIDIA_VISIBLE_DEVICES=all"', "-Dspark.executorEnv.{{x}}=all"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[2]}.{kind[1]}".replace("/", "."))
def test_devices_are_seen_at_every_place_of_every_kind(kind: tuple[str | None, str, str]) -> None:
    silent, known = [], 0
    for path, device, filled_in in places(kind):
        known += 1
        if "gpu-bypass" not in codes(document(*kind[1:], path, device)):
            silent.append((".".join(path), "device"))
        if "filled-in" not in codes(document(*kind[1:], path, filled_in)):
            silent.append((".".join(path), "expression"))
    assert silent == []
    assert known > 0 or kind[2] in WITHOUT_CONTAINERS


WITHOUT_CONTAINERS = ("ComputeDomain", "VirtualMachineInstance", "ScheduledWorkflow", "PipelineRun", "TaskRun")
"""Kinds whose packed fields have no variables and no mounts."""
DYNAMO = [
    *(("spec", "services", "*", *below) for below in (("envs",), ("extraPodSpec", "mainContainer", "env"))),
    *(("spec", *below) for below in (("envs",), ("env",), ("components", "[]", "podTemplate", "spec", "containers"))),
]


@pytest.mark.parametrize("path", DYNAMO, ids=".".join)
def test_devices_are_seen_in_a_kind_without_packed_fields(path: Path) -> None:
    value = [{"env": [VARIABLE]}] if path[-1] == "containers" else [VARIABLE]
    for version in ("nvidia.com/v1alpha1", "nvidia.com/v1beta1"):
        assert codes(document(version, "DynamoGraphDeployment", path, value)) == {"gpu-bypass"}


@pytest.mark.parametrize(
    "name",
    ["a", "labels", "annotations", "podLabels", "selector", "nodeSelector", "matchLabels", "metadata", "limits",
     *LISTS, *MAPPINGS, *SETTINGS, *MOUNT_PATHS],
)  # fmt: skip
def test_the_name_of_a_service_hides_nothing(name: str) -> None:
    main = {"volumeMounts": [{"mountPath": f"{MOUNTS}/all"}]}
    service = {"envs": [FILLED_IN], "extraPodSpec": {"nodeName": "x", "mainContainer": main}}
    item = document("nvidia.com/v1alpha1", "DynamoGraphDeployment", ("spec", "services", name), service)
    assert codes(item) == {"filled-in", "gpu-bypass", "quota-bypass"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("nodeSelector", {"nodeName": "x", "NVIDIA_VISIBLE_DEVICES": "all"}),
        ("selector", {"matchLabels": {"nodeName": "x"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}),
        ("env", [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "nodeName", "key": "nodeName"}}}]),
        ("envVars", {"nodeName": "x"}),
        ("envSecretKeyRefs", {"nodeName": {"name": "a", "key": "b"}}),
    ],
)
def test_names_that_users_choose_are_no_fields(key: str, value: Any) -> None:
    assert codes(document("batch/v1", "Job", ("spec", "template", "spec", key), value)) == set()


FREE = re.compile(
    r"(.*[rR]ef|.*[rR]esolver|.*Overrides|.*Patch(es)?|manifest|manifestFrom|plugins?|executorPlugins|inlined?|bundle"
    r"|embeddedResource|uri|flags|source|data|hooks|http|parent|contributions|workerSpec)"
)
"""Names of fields that may take a manifest, a reference to one, or a plugin."""
REFERENCES = {key: {"name": "x", "template": "y"} for key in ("templateRef", "workflowTemplateRef")}
"""What such a field must have for an operator to read it."""
HARMLESS = {
    "the tool walks through what is written there": (
        "attributes inline template spec podMetadata podSpecOverrides podTemplateOverrides runtimePatches hooks "
        "workflowMetadata"
    ),
    "a key of a Secret, a ConfigMap, a field or a file, which gives one value": (
        "secretRef networkDataSecretRef configMapRef configMapKeyRef secretKeyRef fieldRef resourceFieldRef fileKeyRef "
        "nodePublishSecretRef authenticationRef msdmNameRef slicNameRef artifactRepositoryRef dataSourceRef"
    ),
    "an input or an output of a workflow": "archive none zip plugin source data supplied withItems raw",
    "a request, which any container can make": "http",
    "a runtime, whose name the platform chooses": "runtimeRef",
    "programs of Volcano that add ssh, Services and names of pods": "plugins",
    "settings of a virtual machine or of a device": (
        "clientPassthrough downwardMetrics rng clock virtiofs bridge macvtap masquerade passt passtBinding slirp sriov "
        "snp tdx guestMappingPassthrough configDrive noCloud qemuGuestAgent guestAgentPing attestation parameters"
    ),
    "a policy without fields": "all single basic",
    "a place of files, of models or of settings of an editor": "uri inlined",
}
"""Free fields that make no other object, by the reason."""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[2]}.{kind[1]}".replace("/", "."))
def test_free_manifests_references_and_plugins_are_refused_or_known(kind: tuple[str | None, str, str]) -> None:
    known = {key for keys in HARMLESS.values() for key in keys.split()}
    unknown = []
    for path, shape in fields_of(*kind):
        names = [step for step in path if step not in STEP]
        is_open = shape.fields is None and shape.items is None and (not shape.types or "object" in shape.types)
        if not names or path[-1] in STEP or not (is_open or FREE.fullmatch(names[-1])):
            continue
        value: Any = [] if shape.types == ("array",) else {"x": {"y": "z"}} if "object" in shape.types else "x"
        found = codes(document(*kind[1:], path, REFERENCES.get(names[-1], value or ["x"])))
        if "quota-bypass" not in found and names[-1] not in known:
            unknown.append(".".join(path))
    assert unknown == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *(
            (("spec", *above, *below), value)
            for above in (("templates", "[]"), ("templates", "[]", "steps", "[]", "[]", "inline"))
            for below, value in (
                (("resource", "manifest"), "kind: Pod"),
                (("resource", "manifestFrom"), {"artifact": {"name": "x"}}),
                (("resource", "flags"), ["-f", "https://example.com/pod.yaml"]),
                (("plugin",), {"hello": {}}),
                (("data",), {"source": {"artifactPaths": {"name": "x"}}}),
                (("podSpecPatch",), "containers: []"),
            )
        ),
        (("spec", "executorPlugins"), [{"spec": {}}]),
        (("spec", "hooks", "exit", "templateRef"), {"name": "x", "template": "y"}),
        (("spec", "workflowTemplateRef"), {"name": "x"}),
        (("spec", "templateDefaults"), {"container": {"image": "x"}}),
    ],
    ids=str,
)
def test_a_workflow_makes_no_object_that_is_not_in_its_file(path: Path, value: Any) -> None:
    for kind, whole in (("Workflow", path), ("CronWorkflow", ("spec", "workflowSpec", *path[1:]))):
        assert codes(document("argoproj.io/v1alpha1", kind, whole, value)) == {"quota-bypass"}


@pytest.mark.parametrize("key", ["plugin", "data", "executorPlugins", "flags", "manifestFrom"])
def test_the_names_of_such_fields_are_free_elsewhere(key: str) -> None:
    for value in ("x", {"a": "b"}, ["x"]):
        assert codes(document("batch/v1", "Job", ("spec", "template", "spec", "x", key), value)) == (
            {"quota-bypass"} if key == "executorPlugins" else set()
        )
