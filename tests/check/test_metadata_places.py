"""Tests that what decides rights is judged in every place of every kind from which an operator may copy it."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from kubectl_tas.kinds import LISTED, kubernetes
from kubectl_tas.kinds.backdoors import LABELS, STATE
from kubectl_tas.kinds.kubernetes import OperatorShapes, Shape, Shapes
from tests.check.test_pool_platforms import lab
from tests.support.cli import pool
from tests.support.golden import GOLDEN
from tests.support.judged import told
from tests.support.rendered import load
from tests.support.workloads import template
from tests.test_karta import karta, training

METADATA = re.compile(r"(labels|annotations)(From)?$", re.IGNORECASE)
QUEUE = "osmo-pool-default-team--shared"
OTHER = {door.key: "zz-other" for door in LABELS.values()} | dict.fromkeys(STATE, "2999")
"""All labels that decide, and what KAI and Grove keep in labels and annotations."""
MODELS = [
    *(listed.kind if listed.kind == listed.name else listed.page.recognition.schema for listed in LISTED),
    "PodCliqueSet",
]
DYNAMO = (
    "metadata.annotations",
    "metadata.labels",
    "spec.annotations",
    "spec.labels",
    "spec.services.*.annotations",
    "spec.services.*.labels",
    "spec.services.*.extraPodMetadata.annotations",
    "spec.services.*.extraPodMetadata.labels",
    "spec.services.*.ingress.labels",
)
"""Metadata of a DynamoGraphDeployment in v1alpha1 (dynamocomponentdeployment_types.go of Dynamo)."""


def low(model: str) -> dict[str, Any]:
    """A valid document of a kind, LOW and in the pool team."""
    name = {"Pod": "barepod"}.get(model, model.lower())
    found: dict[str, Any] = load(GOLDEN / f"documents/{name}.yaml")
    metadata = {"name": "x", "labels": {"kubectl-tas/pool": "team", "kubectl-tas/priority": "LOW"}}
    return {**found, "metadata": metadata}


def places_of(document: dict[str, Any]) -> list[str]:
    """The paths of all labels and annotations that the schema of a kind has."""
    if document["kind"] == "DynamoGraphDeployment":
        return list(DYNAMO)
    version, kind = document["apiVersion"], document["kind"]
    operator = kubernetes.operator_of(version, kind)
    newest = kubernetes.releases()[-1]
    if operator is None:
        shape = Shapes(newest).of(kubernetes.definition(version, kind))
    else:
        shape = OperatorShapes(operator, None, newest).kind(version, kind)
    return sorted(set(_places(shape, "", ())))


def _places(shape: Shape, path: str, above: tuple[str, ...]) -> Iterator[str]:
    if shape.items is not None:
        is_list = shape.types == ("array",)
        if METADATA.search(path) and not is_list:
            yield path
        yield from _places(shape.items, f"{path}[]" if is_list else f"{path}.*", above)
    elif shape.fields is not None and shape.name not in above:
        for name, field in shape.fields.items():
            if name not in ("matchLabels", "status"):
                yield from _places(field, f"{path}.{name}".lstrip("."), (*above, shape.name))


def put(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of a document with a value at a path, where ``[]`` is the first item and ``*`` the first key."""
    changed = copy.deepcopy(document)
    *above, last = path.replace("[]", ".[]").split(".")
    holder: Any = changed
    for step, following in zip(above, [*above[1:], last], strict=True):
        empty: Any = [] if following == "[]" else {}
        if step == "[]":
            holder += [empty] if not holder else []
            holder = holder[0]
        else:
            name = next(iter(holder), "x") if step == "*" else step
            if not holder.get(name):
                holder[name] = empty
            holder = holder[name]
    if last == "[]":
        holder.insert(0, value)
    else:
        holder[last] = value
    return changed


def judged(document: dict[str, Any], **config: Any) -> tuple[list[str], list[str]]:
    """The lines of a document's text, and what is said of it."""
    text = yaml.safe_dump(document, sort_keys=False, width=1000)
    files = {"pools/team.yaml": pool(), "workflows/w.yaml": text}
    if config:
        files["tas.yaml"] = yaml.safe_dump({"apiVersion": "tas/v1alpha1", "kind": "Config", "spec": config})
    return text.splitlines(), told(files)


def silent_at(document: dict[str, Any], path: str, keys: dict[str, Any], **config: Any) -> list[str]:
    """The keys of which nothing is said when they stand at a path."""
    lines, said = judged(put(document, path, keys), **config)
    found = {line.split(":")[1]: set() for line in said if line.startswith("workflows/w.yaml:")}
    for line in said:
        if line.startswith("workflows/w.yaml:"):
            found[line.split(":")[1]].add(line.split(" ")[1].rstrip(":"))
    silent = []
    for key in keys:
        rules = {"key-reserved"} if key in STATE else {"workload-conflict", "quota-bypass"}
        at = [str(number) for number, line in enumerate(lines, 1) if line.strip(" -").startswith(f"{key}:")]
        at += [str(int(number) + 1) for number in at if isinstance(keys[key], dict)]
        if not any(found.get(number, set()) & rules for number in at):
            silent.append(key)
    return silent


def silent_places(document: dict[str, Any], **config: Any) -> dict[str, list[str]]:
    """Every place of a kind's metadata where a key is not judged, with these keys."""
    silent = {}
    for path in places_of(document):
        keys: dict[str, Any] = OTHER if "abels" in path[-10:] else dict.fromkeys(STATE, "2999")
        if path == "metadata.labels":
            keys = {**document["metadata"]["labels"], **keys}
        if path.endswith("labelsFrom"):
            keys = {key: {"expression": "'x'"} for key in keys}
        if found := [key for key in silent_at(document, path, keys, **config) if not key.startswith("kubectl-tas/")]:
            silent[path] = found
    return silent


@pytest.mark.parametrize("model", MODELS)
def test_each_deciding_key_in_each_place_of_a_kind(model: str) -> None:
    document = low(model)
    assert {"metadata.labels", "metadata.annotations"} <= {*places_of(document)}
    assert silent_places(document) == {}


KNOWN = {(document["apiVersion"], document["kind"]) for document in map(low, MODELS)}
DECLARED = sorted(
    {
        (kind, version)
        for about in kubernetes.operators().values()
        for version, kind in (written.split() for written in about["kinds"])
        if (version, kind) not in KNOWN and kind not in {kind for _, kind in KNOWN} and kind != "ComputeDomain"
    }
)
"""The kinds of operators that a Config has to declare."""


def declared(kind: str, version: str, **spec: Any) -> dict[str, Any]:
    """A document of a declared kind, LOW, with its pods in ``spec.zz``."""
    metadata = {"name": "x", "labels": {"kubectl-tas/pool": "team", "kubectl-tas/priority": "LOW"}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {"zz": template(1), **spec}}


def declaring(kind: str, version: str) -> list[dict[str, Any]]:
    return [{"apiVersion": version, "kind": kind, "pods": [{"template": "spec.zz"}]}]


@pytest.mark.parametrize(("kind", "version"), DECLARED)
def test_each_deciding_key_in_each_place_of_a_declared_kind(kind: str, version: str) -> None:
    assert silent_places(declared(kind, version), kinds=declaring(kind, version)) == {}


FREE = (
    *("spec.zz.metadata.labels", "spec.labels", "spec.worker.podLabels", "spec.pod_labels", "spec.roles[].extraLabels"),
    *("spec.roles[].meta.labelsFrom", "spec.metadata", "spec.tags", "spec.template.annotation.deployment"),
    *("spec.podAnnotations", "spec.a[].b.*.annotations"),
)
"""Places that kinds of a platform may have for metadata, under any name."""
TRAINING = ("Training", "ml.example.com/v1")


@pytest.mark.parametrize("path", FREE)
def test_kinds_of_a_platform_have_metadata_under_any_name(path: str) -> None:
    keys: dict[str, Any] = dict.fromkeys(STATE, "2999") if "nnotation" in path else OTHER
    assert silent_at(declared(*TRAINING), path, keys, kinds=declaring(*TRAINING)) == []


def test_metadata_as_a_list_of_names_and_values() -> None:
    document = declared(*TRAINING, labels=[{"name": "priorityClassName", "value": "zz"}, {"key": "runai-gpu-group/a"}])
    _, said = judged(document, kinds=declaring(*TRAINING))
    assert [line.partition(" ")[2] for line in said] == [
        'workload-conflict: priorityClassName is "zz", but the PriorityClass of LOW is "osmo-low" (Remove it, or write '
        "osmo-low.)",
        "key-reserved: only KAI may write runai-gpu-group/a: KAI counts the pod on the GPU of that name (Remove it.)",
    ]


def test_a_field_that_is_a_mapping_decides_too() -> None:
    document = declared(*TRAINING, priorityClassName={"expression": "'osmo-high'"})
    _, said = judged(document, kinds=declaring(*TRAINING))
    assert [line.partition(" ")[2] for line in said] == [
        'workload-conflict: priorityClassName is no plain text, but the PriorityClass of LOW is "osmo-low" (Remove it, '
        "or write osmo-low.)"
    ]


def test_kinds_of_a_karta_are_judged_likewise() -> None:
    files = {
        "pools/team.yaml": pool(),
        "pools/k.yaml": yaml.safe_dump(karta()),
        "workflows/w.yaml": yaml.safe_dump(put(training(), "spec.worker.podLabels", {"runai-gpu-group": "x"})),
    }
    assert [line.split(" ")[1] for line in told(files)] == ["key-reserved:"]


@pytest.mark.parametrize(
    "path",
    [
        "spec.templates[].metadata.annotations",
        "spec.workflowMetadata.labels",
        "spec.workflowMetadata.annotations",
        "spec.podMetadata.labels",
    ],
)
@pytest.mark.parametrize("key", ["{{workflow.parameters.key}}", "{{=sprig.trim(x)}}", "a{{inputs.parameters.x}}b"])
def test_a_key_that_is_an_expression_is_refused(path: str, key: str) -> None:
    _, said = judged(put(low("ArgoWorkflow"), path, {key: "non-preemptible"}))
    assert {line.split(" ")[1] for line in said} & {"filled-in:", "invalid-value:"}, said


OTHERS_LABELS = (
    ("Deployment", "spec.selector.matchLabels"),
    ("ReplicationController", "spec.selector"),
    ("Job", "spec.template.spec.nodeSelector"),
    ("RayJob", "spec.clusterSelector"),
    ("StatefulSet", "spec.volumeClaimTemplates[].spec.selector.matchLabels"),
)


@pytest.mark.parametrize(("model", "path"), OTHERS_LABELS)
def test_labels_of_other_objects_decide_nothing(model: str, path: str) -> None:
    document = low(model)
    rules = {line.split(" ")[1] for line in judged(put(document, path, OTHER))[1]}
    assert not rules & {"key-reserved:", "workload-conflict:", "quota-bypass:"}


@pytest.mark.parametrize("key", [*STATE, "runai-gpu-group/some"])
def test_what_kai_keeps_is_refused_in_podgroups(key: str) -> None:
    metadata = {"name": "g", "namespace": "default", "annotations": {key: "2999"}}
    spec = {"minMember": 1, "queue": QUEUE}
    group = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": metadata, "spec": spec}
    assert "key-reserved:" in [line.split(" ")[1] for line in judged(group)[1]]


@pytest.mark.parametrize("key", [*STATE, "runai-gpu-group/some"])
def test_what_kai_keeps_is_refused_in_tasks_and_their_platforms(key: str) -> None:
    workflow = f"workflow:\n  name: w\n  pool: team\n  labels: {{{key}: x}}\n  tasks: [{{name: t, image: i}}]\n"
    found = told({"pools/team.yaml": pool(), "workflows/w.yaml": workflow})
    assert [line.split(" ")[1] for line in found] == ["label-reserved:"]
    for field in ("labels", "annotations"):
        found = lab(template=f"metadata: {{{field}: {{{key}: x}}}}")
        assert [line.split(" ")[1] for line in found] == ["pod-template-reserved:"]


def test_companions_that_may_make_pods_are_judged_too() -> None:
    scaled = {"apiVersion": "ml.example.com/v1", "kind": "Scaler", "metadata": {"name": "s"}}
    kinds = [{"apiVersion": "ml.example.com/v1", "kind": "Scaler"}]
    place = "spec.jobTemplate.metadata.annotations"
    document = put(scaled, place, {"kai.scheduler/last-start-timestamp": "2999"})
    text = f"{yaml.safe_dump(low('Job'))}---\n{yaml.safe_dump(document)}"
    files = {"pools/team.yaml": pool(), "workflows/w.yaml": text}
    files["tas.yaml"] = yaml.safe_dump({"apiVersion": "tas/v1alpha1", "kind": "Config", "spec": {"companions": kinds}})
    assert "key-reserved:" in [line.split(" ")[1] for line in told(files)]


def test_nobody_can_waive_it() -> None:
    document = put(low("Job"), "metadata.annotations", {"kai.scheduler/last-start-timestamp": "2999"})
    text = yaml.safe_dump(document, sort_keys=False).replace("'2999'", "'2999'  # kubectl-tas: ignore[key-reserved]")
    config = {"apiVersion": "tas/v1alpha1", "kind": "Config", "spec": {"rules": {"key-reserved": "off"}}}
    files = {"pools/team.yaml": pool(), "workflows/w.yaml": text, "tas.yaml": yaml.safe_dump(config)}
    assert "key-reserved:" in [line.split(" ")[1] for line in told(files) if line.startswith("workflows/")]


def flow(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A document without problems, LOW, of which ``spec`` is a part."""
    document = low(kind)
    containers = [{"name": "main", "image": "i:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}]
    whole: dict[str, Any] = {
        "ArgoWorkflow": {"entrypoint": "m", "templates": [{"name": "m", "container": {"image": "i:1"}}]},
        "DynamoGraphDeployment": {
            "services": {"W": {"replicas": 1, "extraPodSpec": {"mainContainer": {"image": "i"}}}}
        },
        "TrainJob": {"runtimeRef": {"name": "torch-distributed"}},
        "RayCluster": {
            "headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": containers}}},
        },
    }[kind]
    version = "nvidia.com/v1alpha1" if kind == "DynamoGraphDeployment" else document["apiVersion"]
    return {**document, "apiVersion": version, "spec": {**whole, **spec}}


def rules_of(document: dict[str, Any]) -> list[str]:
    return [line.split(" ")[1].rstrip(":") for line in judged(document)[1] if "workload-scheduler" not in line]


COPIED = (
    ("ArgoWorkflow", "spec.podMetadata.annotations"),
    ("DynamoGraphDeployment", "spec.services.W.annotations"),
    ("TrainJob", "spec.podTemplateOverrides[].metadata.annotations"),
)


@pytest.mark.parametrize(("kind", "path"), COPIED)
@pytest.mark.parametrize(
    ("key", "rule"),
    [
        ("gpu-fraction", "gpus-unknown"),
        ("gpu-memory", "gpus-unknown"),
        ("nvidia.com/mig-1g.5gb", "gpus-unknown"),
        ("pod-group-name", "quota-bypass"),
        ("kai.scheduler/skip-podgrouper", "quota-bypass"),
    ],
)
def test_annotations_of_pods_in_a_place_that_no_count_includes(kind: str, path: str, key: str, rule: str) -> None:
    document = flow(kind, {})
    assert rules_of(document) == []
    if kind == "TrainJob":
        document["spec"]["podTemplateOverrides"] = [{"targetJobs": [{"name": "node"}]}]
    assert rules_of(put(document, path, {key: "1"})) == [rule]


def test_annotations_of_pods_where_they_are_counted_or_not_read() -> None:
    counted = put(flow("ArgoWorkflow", {}), "spec.templates[].metadata.annotations", {"gpu-fraction": "0.5"})
    assert rules_of(counted) == []
    assert rules_of(put(counted, "metadata.annotations", {"gpu-fraction": "0.5"})) == []


def test_an_owner_that_a_template_names() -> None:
    owner = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "high", "uid": "1"}]
    document = flow("RayCluster", {})
    assert rules_of(put(document, "spec.headGroupSpec.template.metadata.ownerReferences", owner)) == ["quota-bypass"]
    assert rules_of(put(document, "metadata.ownerReferences", owner)) == ["object-exported"]


@pytest.mark.parametrize(
    ("queue", "rules"),
    [("osmo-pool-default-rest--shared", ["workload-conflict"]), (QUEUE, []), ("team", [])],
)
def test_a_project_that_is_another_queue(queue: str, rules: list[str]) -> None:
    """KAI takes it for pods without a queue."""
    override = {"targetJobs": [{"name": "node"}], "metadata": {"labels": {"project": queue}}}
    text = yaml.safe_dump(flow("TrainJob", {"podTemplateOverrides": [override]}))
    found = told({"pools/team.yaml": pool(), "pools/rest.yaml": pool("rest"), "workflows/w.yaml": text})
    assert [line.split(" ")[1].rstrip(":") for line in found if "workload-scheduler" not in line] == rules


def test_labels_of_kubectl_tas_are_read_on_the_work_alone() -> None:
    labels = {"kubectl-tas/priority": "HIGH"}
    assert rules_of(put(flow("ArgoWorkflow", {}), "spec.podMetadata.labels", labels)) == ["workload-label"]
    assert rules_of(put(flow("ArgoWorkflow", {}), "spec.podMetadata.labels", {"kubectl-tas/priority": "LOW"})) == []
