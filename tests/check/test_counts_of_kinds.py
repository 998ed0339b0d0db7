"""Tests each kind with each field that holds a number, requests or claims: GPUs are counted, told or refused."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from kubectl_tas.facts.gpus import Gpus
from kubectl_tas.kinds import LISTED, SET
from kubectl_tas.kinds.kubernetes import OperatorShapes, Shapes, definition, operator_of, releases
from tests.support.cli import pool, subpool
from tests.support.fleets import judged_files
from tests.support.golden import GOLDEN
from tests.support.pyyaml import safe_load
from tests.support.workloads import Object

KINDS = {
    (listed.versions[0], listed.kind): (listed.page.recognition.schema or listed.kind).lower()
    for listed in (*LISTED, SET)
}
"""The document of each kind in golden/documents."""
_INSIDE = (
    "ObjectMeta",
    "PersistentVolumeClaim",
    "Probe",
    "Volume",
    "EnvVar",
    "Affinity",
    "SecurityContext",
    "Lifecycle",
)
_PODS = ("PodTemplateSpec", "PodSpec", "Container", "ResourceRequirements")
_NUMBERS = ("integer", "int32", "int64", "int-or-string")


def places(api_version: str, kind: str) -> dict[str, str]:
    """The places of a kind with numbers, pods, containers, requests and claims: their types by path."""
    operator = operator_of(api_version, kind)
    if operator is None:
        shapes, root = Shapes(releases()[-1]), definition(api_version, kind)
    else:
        shapes = OperatorShapes(operator, None, releases()[-1])
        root = shapes._packed["kinds"][f"{api_version} {kind}"]
    return dict(_walk(shapes, root, "", frozenset()))


def _walk(shapes: Shapes, written: str, path: str, above: frozenset[str]) -> Iterator[tuple[str, str]]:
    bare = written.lstrip("[]{}")
    path += written.removesuffix(bare).replace("{}", ".*")
    name = shapes.name(bare).rpartition(".")[2]
    if path.startswith("status") or bare in above or any(name.endswith(word) for word in _INSIDE):
        return
    if bare in _NUMBERS or name in _PODS:
        yield path, "number" if bare in _NUMBERS else name
    if path.rpartition(".")[2] in ("resourceClaims[]", "resourceSharing[]"):
        yield path.removesuffix("[]"), "claims"
    if name not in _PODS:
        for key, shape in (shapes.of(bare).fields or {}).items():
            yield from _walk(shape._shapes, shape._written, f"{path}.{key}".lstrip("."), above | {bare})


def put(item: Object, path: str, value: Any) -> Object:
    """A document with a value at a path: in the last item of each list, and below the first key of each mapping."""
    changed = copy.deepcopy(item)
    steps = [step.replace("\0", ".") for step in path.replace("[.]", "\0").replace("[]", ".[]").split(".")]
    holder: Any = changed
    for step, below in zip(steps, [*steps[1:], None], strict=True):
        empty: Any = [] if below == "[]" else {}
        if step == "[]":
            holder += [] if holder else [empty]
        elif step == "*":
            step = next(iter(holder), "x")
        key: Any = -1 if step == "[]" else step
        if below is None:
            holder[key] = value
        elif step == "[]":
            holder = holder[-1]
        else:
            held = holder.get(key)
            holder[key] = held if isinstance(held, type(empty)) else empty
            holder = holder[key]
    return changed


def judged(item: Object) -> tuple[Gpus, set[str]]:
    """The GPUs that are counted for a document, and the rules of its findings with their lines."""
    settings = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: prod, namespace: ml}]}\n"
    files = {"tas.yaml": settings, "pools/team.yaml": pool(guarantee=2000), "subpools/a.yaml": subpool("a", 1000)}
    found = judged_files({**files, "workflows/w.yaml": yaml.safe_dump(item)})
    told = {f"{finding.rule.code} {finding.message}" for finding in found.found}
    return sum(work.gpus for work in found.fleet.submissions), told


def is_seen(before: tuple[Gpus, set[str]], after: tuple[Gpus, set[str]]) -> bool:
    """Whether a change of a document has changed what is counted or told of GPUs, or is refused."""
    more = {line.partition(" ")[0] for line in after[1] - before[1]}
    return before[0] != after[0] or bool(more & TELLS)


TELLS = {
    *("growth-uncounted", "gpus-unknown", "quota-bypass", "over-quota", "gpu-annotation"),
    *("operator-field", "unknown-field", "replicas-refused", "operator-refuses", "restart-policy"),
}
GPUS = {"limits": {"nvidia.com/gpu": 64}}
_CONTAINER = {"name": "m", "image": "i", "resources": GPUS}
VALUES: dict[str, Any] = {
    "ResourceRequirements": GPUS,
    "Container": _CONTAINER,
    "PodSpec": {"containers": [_CONTAINER]},
    "PodTemplateSpec": {"spec": {"containers": [_CONTAINER]}},
    "claims": [{"name": "other", "resourceClaimTemplateName": "t", "scope": "PerReplica"}],
    "number": 64,
}
NO_PODS = {
    "a time, a try, a limit of failures, a port or a right": r"[sS]econd|[dD]eadline|[tT]imeout|[rR]etr(y|ies)"
    r"|[lL]imit$|[rR]estarts$|[aA]ttempts$|backoff|ttl|[pP]ort$|exitCode|ExitCodes|FailedIndexes$|minSuccess$|[sS]ucceededCount$",
    "a measure by which an autoscaler decides, within its bounds": r"[.]metrics\[\]|[.]behavior[.]|scaleTarget$"
    r"|[cC]oncurrency$|pollingInterval$|cooldownPeriod$|[.]triggers",
    "a minimum or a bound, which never adds to the number": r"[mM]inAvailable$|[mM]axUnavailable$|minReplicaCount$"
    r"|minCount$|[mM]inReplicas$|minPartitions$|minDomains$|(workflowSpec|templates\[\])[.]parallelism$",
    "a rank, a share or a size": r"[pP]riority$|[pP]ercent$|[.]partition$|maxSkew$|traffic$|ordinals|highestTier"
    r"|batcher|logger[.]|buckets|[.]mode$|depth$|Days$|compressionLevel$|[cC]ores$|entrypointNum|[pP]rocPerNode$|slotsPerWorker$"
    r"|(pod|job)Index$|subGroupSize$|totalPartitions$|partitionSize$|volumeClaim",
    "a number of pods whose GPUs are told wherever they stand": r"(explainer|svcOrchSpec)[.]replicas$",
    "a status, or a number of devices in a claim, which is told": r"[.]status[.]|[.]devices[.]",
}
"""Numbers of which none adds pods that ask for GPUs: the reason, and a pattern of the paths."""


def _is_without_pods(path: str) -> bool:
    return any(re.search(pattern, path) for pattern in NO_PODS.values())


CUSTOM = {"custom": {"nvidia.com/gpu": 64}}
_BETA, _ALPHA = "spec.components[]", "spec.services.*"
DYNAMO: dict[str, Any] = {
    f"{_BETA}.replicas": 64,
    f"{_BETA}.multinode": {},
    f"{_BETA}.multinode.nodeCount": 64,
    f"{_BETA}.scalingAdapter": {},
    f"{_BETA}.type": "planner",
    f"{_BETA}.podTemplate": VALUES["PodTemplateSpec"],
    f"{_BETA}.podTemplate.spec.resourceClaims": VALUES["claims"],
    f"{_BETA}.roles[].podTemplate": VALUES["PodTemplateSpec"],
    f"{_BETA}.experimental.checkpoint": {"enabled": True},
    f"{_BETA}.experimental.checkpoint.job.podTemplate": VALUES["PodTemplateSpec"],
    f"{_BETA}.experimental.gpuMemoryService": {"mode": "IntraPod"},
    "spec.experimental.componentGroups": [{"name": "g", "replicas": 64, "components": [{"name": "Frontend"}]}],
    "spec.annotations": {"nvidia.com/mig-1g.5gb": "8"},
    f"{_ALPHA}.replicas": 64,
    f"{_ALPHA}.multinode": {},
    f"{_ALPHA}.multinode.nodeCount": 64,
    f"{_ALPHA}.autoscaling": {"enabled": True, "minReplicas": 1, "maxReplicas": 64},
    f"{_ALPHA}.scalingAdapter": {"enabled": True},
    f"{_ALPHA}.componentType": "planner",
    f"{_ALPHA}.checkpoint": {"enabled": True},
    f"{_ALPHA}.gpuMemoryService": {"enabled": True},
    f"{_ALPHA}.annotations": {"gpu-fraction": "0.5"},
    f"{_ALPHA}.annotations.nvidia[.]com/deployment-rolling-update-max-surge": "64",
    f"{_ALPHA}.resources": {"limits": CUSTOM},
    f"{_ALPHA}.resources.requests": CUSTOM,
    f"{_ALPHA}.resources.limits.gpu": "64",
    f"{_ALPHA}.extraPodSpec.mainContainer": _CONTAINER,
    f"{_ALPHA}.extraPodSpec.containers[]": _CONTAINER,
    f"{_ALPHA}.extraPodSpec.initContainers[]": _CONTAINER,
    f"{_ALPHA}.extraPodSpec.resources": GPUS,
    f"{_ALPHA}.extraPodSpec.resourceClaims": VALUES["claims"],
}
"""Values in Dynamo's kind, whose fields are not packed."""
OTHERS: dict[str, dict[str, Any]] = {
    "argoworkflow": {
        "spec.templates[].steps[][].withItems": [1, 2, 3, 4, 5, 6, 7, 8],
        "spec.templates[].steps[][].withParam": "{{x}}",
        "spec.templates[].dag.tasks[].withSequence": {"count": "64"},
        "spec.templates[].steps[][].inline.steps": [[{"name": "b", "inline": {"container": _CONTAINER}}]],
        "spec.podMetadata.annotations": {"gpu-fraction": "0.5"},
        "spec.executorPlugins[].spec.sidecar.container": _CONTAINER,
    },
    "cronworkflow": {
        "spec.concurrencyPolicy": "Allow",
        "spec.workflowSpec.templates[].dag.tasks[].withItems": list(range(64)),
    },
    "cronjob": {"spec.concurrencyPolicy": "Allow"},
    "scheduledsparkapplication": {"spec.concurrencyPolicy": "Allow"},
    "rayservice": {"spec.upgradeStrategy.type": "NewCluster"},
    "inferenceservice": {
        "spec.predictor.maxReplicas": 0,
        "spec.predictor.canaryTrafficPercent": 10,
        "spec.predictor.annotations": {"autoscaling.knative.dev/initial-scale": "64"},
        "metadata.annotations": {"autoscaling.knative.dev/initialScale": "64"},
        "spec.canary[].predictor.workerSpec": {"pipelineParallelSize": 2},
    },
    "raycluster": {"spec.workerGroupSpecs[].minReplicas": 64},
    "seldondeployment": {
        "spec.predictors[].svcOrchSpec.resources": GPUS,
        "spec.predictors[].engineResources": GPUS,
        "spec.predictors[].componentSpecs[].kedaSpec": {},
        "spec.predictors[].annotations": {"nvidia.com/mig-1g.5gb": "8"},
    },
    "sparkapplication": {"spec.driver.gpu": {"name": "nvidia.com/gpu", "quantity": 64}},
    "dynamographdeployment": DYNAMO,
}
"""Further values that make pods or GPUs, by document."""


_STANDARD = {"metadata.annotations": {"serving.kserve.io/deploymentMode": "Standard"}}
_NO_REPLICAS = {f"spec.predictors[].componentSpecs[].{key}": None for key in ("replicas", "hpaSpec", "kedaSpec")}
BEFORE: dict[tuple[str, str], dict[str, Any]] = {
    ("argoworkflow", "spec.parallelism$"): {"spec.templates[].steps[][].withParam": "{{x}}"},
    ("cronjob", "concurrencyPolicy$"): {"spec.concurrencyPolicy": "Forbid"},
    ("cronworkflow", "concurrencyPolicy$"): {"spec.concurrencyPolicy": "Forbid"},
    ("dynamographdeployment", "components.*multinode$"): {"spec.components[].multinode": None},
    ("dynamographdeployment", "services.*multinode$"): {"spec.services.*.multinode": None},
    ("dynamographdeployment", "gpu$"): {"spec.services.*.resources": {}},
    ("inferenceservice", "maxSurge$"): _STANDARD,
    ("raycluster", "autoscaler"): {"spec.enableInTreeAutoscaling": True},
    ("raycluster", "maxReplicas$"): {"spec.enableInTreeAutoscaling": True},
    ("raycronjob", ""): {
        "spec.jobTemplate.clusterSelector": None,
        "spec.jobTemplate.rayClusterSpec.enableInTreeAutoscaling": True,
    },
    ("rayjob", ""): {"spec.clusterSelector": None, "spec.rayClusterSpec.enableInTreeAutoscaling": True},
    ("rayservice", "autoscaler"): {"spec.rayClusterConfig.enableInTreeAutoscaling": True},
    ("rayservice", "maxReplicas$"): {"spec.rayClusterConfig.enableInTreeAutoscaling": True},
    ("scheduledsparkapplication", "concurrencyPolicy$"): {"spec.concurrencyPolicy": "Forbid"},
    ("seldondeployment", "spec.replicas$"): {**_NO_REPLICAS, "spec.predictors[].replicas": None},
    ("seldondeployment", "predictors..[.]replicas$"): _NO_REPLICAS,
    ("seldondeployment", "kedaSpec$"): {"spec.predictors[].componentSpecs[].kedaSpec": None},
}
"""Values that a document needs first, so that a field matters."""


def document(name: str, path: str) -> Object:
    found: Object = safe_load((GOLDEN / f"documents/{name}.yaml").read_text())
    for (kind, pattern), values in BEFORE.items():
        if kind == name and re.search(pattern, path):
            for place, value in values.items():
                found = put(found, place, value)
    others = {"parallelism": "completions", "completions": "parallelism"}
    above, _, last = path.rpartition(".")
    if last in others and "emplates[]" not in above and "orkflow" not in name:
        found = put(found, f"{above}.{others[last]}", 64)  # the lesser of the two counts
    return found


def unseen(name: str, values: dict[str, Any]) -> list[str]:
    """The paths at which a value neither changes the count of a document, nor is told or refused."""
    found = []
    for path, value in values.items():
        item = document(name, path)
        if not is_seen(judged(item), judged(put(item, path, value))):
            found.append(path)
    return found


def _kind(name: str) -> tuple[str, str]:
    return next(kind for kind, document in KINDS.items() if document == name)


def values_of(name: str, *, numbers: bool) -> dict[str, Any]:
    """A value for each place of a kind, but for numbers that add no pods."""
    return {
        path: VALUES[what]
        for path, what in places(*_kind(name)).items()
        if (what == "number") == numbers and not (numbers and _is_without_pods(path))
    }


PACKED = [name for (_, kind), name in KINDS.items() if kind != "DynamoGraphDeployment"]


@pytest.mark.sweep
@pytest.mark.parametrize("name", PACKED)
def test_requests_and_claims(name: str) -> None:
    assert unseen(name, values_of(name, numbers=False)) == []


@pytest.mark.parametrize("name", PACKED)
def test_numbers(name: str) -> None:
    """A number changes the count, or is told or refused, or a reason says why it adds no pods."""
    values = values_of(name, numbers=True)
    for path in [path for path in values if "ReplicaSpecs" in path]:  # of a type that the document may lack
        values[path.removesuffix(".replicas")] = {"replicas": 64, "template": VALUES["PodTemplateSpec"]}
        del values[path]
    assert unseen(name, values) == []


@pytest.mark.parametrize("name", OTHERS)
def test_further_fields(name: str) -> None:
    assert unseen(name, OTHERS[name]) == []


def test_every_reason_is_needed() -> None:
    paths = [path for name in PACKED for path, what in places(*_kind(name)).items() if what == "number"]
    assert [reason for reason, pattern in NO_PODS.items() if not any(re.search(pattern, path) for path in paths)] == []
