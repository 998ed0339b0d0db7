"""Lists by kind the fields that cannot change in an existing object, and the effects of a changed pod template.

Kubernetes' kinds follow release 1.35: ValidateJobSpecUpdate (pkg/apis/batch/validation/validation.go),
ValidateStatefulSetUpdate and ValidateDeploymentUpdate (pkg/apis/apps/validation), ValidatePodUpdate,
ValidatePersistentVolumeClaimUpdate, ValidateServiceUpdate and ValidateConfigMapUpdate (pkg/apis/core/validation). Kinds
of operators follow webhooks or CRD rules: ValidateUpdate of jobset_webhook.go (JobSet 0.12) and of
leaderworkerset_webhook.go (LWS 0.10), trainjob_types.go (Trainer 2.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum, auto
from typing import Any

from kubectl_tas.late import dataclass
from kubectl_tas.model.base import KeyPath
from kubectl_tas.quantities import parse


class Effect(Enum):
    """Effect of a changed field."""

    REFUSED = auto()
    """The API server or a webhook refuses the change."""
    KEPT = auto()
    """The change is applied, but running pods stay unchanged."""
    RESTARTED = auto()
    """Running pods are replaced."""


Holds = Callable[[Mapping[str, Any], Mapping[str, Any]], bool]
"""A condition on an object before and after the change."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Fields of a kind that share an effect. In paths, ``*`` stands for any key or item."""

    effect: Effect
    paths: tuple[KeyPath, ...]
    by: str
    """The component that refuses the change, or leaves running pods unchanged."""
    but: tuple[KeyPath, ...] = ()
    """Paths below ``paths`` that may change."""
    only: Holds | None = None
    """Condition for the row; None: always."""
    filled: Mapping[KeyPath, Any] | None = None
    """Defaults of omitted fields."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A changed field in an existing object."""

    row: Fixed
    path: KeyPath
    old: Any
    """Old value; None if absent."""
    new: Any


def _at(data: Any, *path: str | int) -> Any:
    for step in path:
        data = _child(data, step)
    return data


def _child(value: Any, key: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(key)
    return value[key] if isinstance(value, list) and isinstance(key, int) and key < len(value) else None


def _not(condition: Holds) -> Holds:
    return lambda before, after: not condition(before, after)


def _suspended(*path: str) -> Holds:
    """Returns a condition: a field suspends the object before the change."""
    return lambda before, _after: bool(_at(before, *path))


def _becomes(value: str, *path: str) -> Holds:
    """Returns a condition: a field has ``value`` after the change."""
    return lambda _before, after: bool(_at(after, *path) == value)


def _either_suspended(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return bool(_at(before, "spec", "suspend") or _at(after, "spec", "suspend"))


def _is_completed_in_tandem(_before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether an Indexed Job has as many completions as parallelism. Both may then change together."""
    spec = _at(after, "spec")
    return bool(_at(spec, "completionMode") == "Indexed" and _at(spec, "completions") == _at(spec, "parallelism"))


def _has_own_address(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether a Service names its address and is not of type ExternalName. Without a name the old address stays."""
    types = {_at(before, "spec", "type"), _at(after, "spec", "type")}
    return "ExternalName" not in types and _at(after, "spec", "clusterIP") is not None


def _shrinks(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether the change requests a smaller volume."""
    old, new = (parse(_at(item, "spec", "resources", "requests", "storage")) for item in (before, after))
    return old is not None and new is not None and new < old


def _names_a_class(before: Mapping[str, Any], _after: Mapping[str, Any]) -> bool:
    """Whether a volume has a class. A volume without one may still get a class if the cluster has no default."""
    return _at(before, "spec", "storageClassName") is not None


def _loses_tolerations(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether a toleration is removed or changed. New ones are allowed."""
    old, new = (_at(item, "spec", "tolerations") or [] for item in (before, after))
    return any(item not in new for item in old)


def _paths(*fields: str, below: str = "") -> tuple[KeyPath, ...]:
    """Returns key paths from texts with dots between the steps."""
    return tuple(tuple(f"{below}.{field}".strip(".").split(".")) for field in fields)


_SERVER = "the API server"
_TEMPLATE = _paths("spec.template")
_SCHEDULING = (
    *("metadata.labels", "metadata.annotations"),
    *("spec.nodeSelector", "spec.tolerations", "spec.schedulingGates"),
)
"""Fields of a pod template that may change in a suspended job."""
_RAY = "KubeRay"
_RAY_PODS = (
    *("headGroupSpec.template", "headGroupSpec.rayStartParams"),
    *("workerGroupSpecs.*.template", "workerGroupSpecs.*.rayStartParams"),
)
_RECREATES = _becomes("Recreate", "spec", "upgradeStrategy", "type")
_ON_DELETE = _becomes("OnDelete", "spec", "updateStrategy", "type")
_JOBSET = "JobSet's webhook"
_GROVE_PODS = _paths(
    *("priorityClassName", "cliques.*.spec.podSpec", "cliques.*.labels", "cliques.*.annotations"), below="spec.template"
)
_LWS_SIZE = _paths("spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize")


def _kubeflow(field: str) -> tuple[Fixed, ...]:
    """Returns the row of a Kubeflow kind. The operators only make missing pods, and compare no existing ones: training
    operator (ReconcilePods of pkg/controller.v1/common/pod.go, 1.9) and MPI operator (getOrCreateWorker, 0.8).
    """
    runs = _not(_suspended("spec", "runPolicy", "suspend"))
    return (Fixed(Effect.KEPT, _paths(f"spec.{field}.*.template"), "its operator", only=runs),)


TABLE: dict[tuple[str, str], tuple[Fixed, ...]] = {
    ("batch", "Job"): (
        Fixed(
            Effect.REFUSED,
            _paths(
                *("selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy"),
                "successPolicy",
                below="spec",
            ),
            _SERVER,
            filled={("spec", "completionMode"): "NonIndexed"},
        ),
        Fixed(Effect.REFUSED, _paths("spec.completions"), _SERVER, only=_not(_is_completed_in_tandem)),
        Fixed(Effect.REFUSED, _TEMPLATE, _SERVER, only=_not(_suspended("spec", "suspend"))),
        Fixed(
            Effect.REFUSED,
            _TEMPLATE,
            _SERVER,
            but=_paths(*_SCHEDULING, "spec.affinity.nodeAffinity", below="spec.template"),
            only=_suspended("spec", "suspend"),
        ),
    ),
    ("", "Pod"): (
        Fixed(
            Effect.REFUSED,
            _paths("spec"),
            _SERVER,
            but=_paths(
                *("containers.*.image", "initContainers.*.image", "activeDeadlineSeconds", "schedulingGates"),
                "tolerations",
                below="spec",
            ),
            filled={("spec", "restartPolicy"): "Always"},
        ),
        Fixed(Effect.REFUSED, _paths("spec.tolerations"), _SERVER, only=_loses_tolerations),
        # the kubelet starts a container of another image anew (containerChanged of pkg/kubelet/kuberuntime)
        Fixed(Effect.RESTARTED, _paths("spec.containers.*.image"), "the kubelet"),
    ),
    ("apps", "Deployment"): (
        Fixed(Effect.REFUSED, _paths("spec.selector"), _SERVER),
        Fixed(Effect.RESTARTED, _TEMPLATE, "the Deployment"),
    ),
    ("apps", "StatefulSet"): (
        Fixed(
            Effect.REFUSED,
            _paths("spec"),
            _SERVER,
            but=_paths(
                *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"),
                *("persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
                below="spec",
            ),
            filled={("spec", "podManagementPolicy"): "OrderedReady"},
        ),
        Fixed(Effect.RESTARTED, _TEMPLATE, "the StatefulSet", only=_not(_ON_DELETE)),
        Fixed(Effect.KEPT, _TEMPLATE, "the update strategy OnDelete", only=_ON_DELETE),
    ),
    ("apps", "ReplicaSet"): (
        Fixed(Effect.REFUSED, _paths("spec.selector"), _SERVER),
        Fixed(Effect.KEPT, _TEMPLATE, "the ReplicaSet"),
    ),
    ("", "ReplicationController"): (Fixed(Effect.KEPT, _TEMPLATE, "the ReplicationController"),),
    ("kubeflow.org", "PaddleJob"): _kubeflow("paddleReplicaSpecs"),
    ("batch.volcano.sh", "Job"): (
        Fixed(
            Effect.REFUSED,
            _paths("spec"),
            "Volcano's webhook",
            but=_paths("spec.minAvailable", "spec.tasks.*.replicas"),
        ),
    ),
    ("sparkoperator.k8s.io", "SparkApplication"): (Fixed(Effect.RESTARTED, _paths("spec"), "the Spark operator"),),
    ("argoproj.io", "Workflow"): (Fixed(Effect.KEPT, _paths("spec.templates"), "Argo's controller"),),
    ("serving.kserve.io", "InferenceService"): (
        Fixed(
            Effect.RESTARTED,
            _paths("spec"),
            "KServe",
            but=_paths("spec.*.minReplicas", "spec.*.maxReplicas"),
        ),
    ),
    ("grove.io", "PodCliqueSet"): (
        # ComputePCLQPodTemplateHash of operator/internal/controller/common/component/utils, Grove 0.1.0-alpha.11
        Fixed(Effect.RESTARTED, _GROVE_PODS, "Grove", only=_not(_ON_DELETE)),
        Fixed(Effect.KEPT, _GROVE_PODS, "the update strategy OnDelete", only=_ON_DELETE),
    ),
    ("nvidia.com", "DynamoGraphDeployment"): (
        Fixed(
            Effect.RESTARTED,
            _paths("spec"),
            "Dynamo's operator",
            but=_paths("spec.services.*.replicas", "spec.components.*.replicas"),
        ),
    ),
    ("machinelearning.seldon.io", "SeldonDeployment"): (
        Fixed(Effect.RESTARTED, _paths("spec"), "Seldon's operator", but=_paths("spec.predictors.*.replicas")),
    ),
    ("jobset.x-k8s.io", "JobSet"): (
        Fixed(Effect.REFUSED, _paths("spec.replicatedJobs"), _JOBSET, only=_not(_either_suspended)),
        Fixed(
            Effect.REFUSED,
            _paths("spec.replicatedJobs"),
            _JOBSET,
            but=_paths(*_SCHEDULING, below="spec.replicatedJobs.*.template.spec.template"),
            only=_either_suspended,
        ),
        Fixed(
            Effect.REFUSED,
            _paths(
                *("network", "successPolicy", "failurePolicy", "startupPolicy", "managedBy", "volumeClaimPolicies"),
                below="spec",
            ),
            "a rule of its CRD",
            filled={
                ("spec", "network", "enableDNSHostnames"): True,
                ("spec", "network", "publishNotReadyAddresses"): True,
                ("spec", "successPolicy", "operator"): "All",
                ("spec", "startupPolicy", "startupPolicyOrder"): "AnyOrder",
            },
        ),
    ),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): (
        Fixed(Effect.REFUSED, _LWS_SIZE, "LWS's webhook"),
        Fixed(Effect.RESTARTED, _paths("spec.leaderWorkerTemplate"), "the LeaderWorkerSet", but=_LWS_SIZE),
    ),
    ("trainer.kubeflow.org", "TrainJob"): (
        Fixed(
            Effect.REFUSED,
            _paths("runtimeRef", "initializer", "trainer", "activeDeadlineSeconds", "managedBy", below="spec"),
            "a rule of its CRD",  # before Trainer 2.3 all but runtimeRef and managedBy is applied, and does nothing
        ),
        Fixed(
            Effect.REFUSED,
            _paths("spec.runtimePatches", "spec.podTemplateOverrides"),
            "Kubeflow Trainer's webhook",
            only=_not(_either_suspended),
        ),
        Fixed(Effect.KEPT, _paths("spec.labels", "spec.annotations"), "Kubeflow Trainer", only=_not(_either_suspended)),
    ),
    ("kubeflow.org", "PyTorchJob"): _kubeflow("pytorchReplicaSpecs"),
    ("kubeflow.org", "TFJob"): _kubeflow("tfReplicaSpecs"),
    ("kubeflow.org", "XGBoostJob"): _kubeflow("xgbReplicaSpecs"),
    ("kubeflow.org", "JAXJob"): _kubeflow("jaxReplicaSpecs"),
    ("kubeflow.org", "MPIJob"): _kubeflow("mpiReplicaSpecs"),
    ("kubeflow.org", "Notebook"): (Fixed(Effect.RESTARTED, _TEMPLATE, "the Notebook"),),
    ("ray.io", "RayCluster"): (
        # shouldRecreatePodsForUpgrade of raycluster_controller.go, KubeRay 1.7
        Fixed(Effect.KEPT, _paths(*_RAY_PODS, below="spec"), _RAY, only=_not(_RECREATES)),
        Fixed(Effect.RESTARTED, _paths(*_RAY_PODS, below="spec"), _RAY, only=_RECREATES),
    ),
    ("ray.io", "RayJob"): (
        # its cluster is made once (getOrCreateRayClusterInstance of rayjob_controller.go, KubeRay 1.7)
        Fixed(
            Effect.KEPT,
            _paths(
                *("rayClusterSpec", "clusterSelector", "entrypoint", "runtimeEnvYAML", "submitterPodTemplate"),
                below="spec",
            ),
            _RAY,
            only=_not(_suspended("spec", "suspend")),
        ),
    ),
    ("ray.io", "RayService"): (
        Fixed(
            Effect.RESTARTED, _paths(*_RAY_PODS, below="spec.rayClusterConfig"), "a second cluster next to the first"
        ),
    ),
    ("", "PersistentVolumeClaim"): (
        Fixed(
            Effect.REFUSED,
            _paths("spec"),
            _SERVER,
            but=_paths("resources.requests", "volumeAttributesClassName", "storageClassName", below="spec"),
            filled={("spec", "volumeMode"): "Filesystem"},
        ),
        Fixed(Effect.REFUSED, _paths("spec.storageClassName"), _SERVER, only=_names_a_class),
        Fixed(Effect.REFUSED, _paths("spec.resources.requests.storage"), _SERVER, only=_shrinks),
    ),
    ("resource.nvidia.com", "ComputeDomain"): (
        Fixed(
            Effect.REFUSED,
            _paths("spec"),
            _SERVER,
            filled={("spec", "numNodes"): 0, ("spec", "channel", "allocationMode"): "Single"},
        ),
    ),
    ("", "Service"): (Fixed(Effect.REFUSED, _paths("spec.clusterIP"), _SERVER, only=_has_own_address),),
    ("", "ConfigMap"): (
        Fixed(
            Effect.REFUSED,
            _paths("data", "binaryData", "immutable"),
            _SERVER,
            only=lambda before, _after: _at(before, "immutable") is True,
        ),
    ),
}
"""Rows by group and kind. All fields of other kinds can change in place."""

DEFAULTS: dict[str, Any] = {
    "dnsPolicy": "ClusterFirst",
    "terminationGracePeriodSeconds": 30,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "protocol": "TCP",
    "enableServiceLinks": True,
}
"""Defaults of the API server, at any depth. Writing a default explicitly changes nothing."""


def changed_fields(group: str, kind: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Changed]:
    """Yields each changed field of an object that cannot change, or not without a restart."""
    for row in TABLE.get((group, kind), ()):
        if row.only is None or row.only(before, after):
            filled = row.filled or {}
            for path in row.paths:
                for found in _differences(before, after, path):
                    said = (_at(data, *found) for data in (before, after))
                    old, new = (filled.get(found) if value is None else value for value in said)
                    if not any(_covers(free, found) for free in row.but) and not _is_same(found, old, new):
                        yield Changed(row, found, old, new)


def _differences(old: Any, new: Any, path: KeyPath, done: KeyPath = ()) -> Iterator[KeyPath]:
    """Yields the paths at and below ``path`` where two objects differ."""
    if path and path[0] != "*":
        step = path[0]
        yield from _differences(_child(old, step), _child(new, step), path[1:], (*done, step))
    elif not _is_same(done, old, new):
        keys = dict.fromkeys((*_keys(old), *_keys(new)))
        for key in keys:
            yield from _differences(_child(old, key), _child(new, key), path[1:], (*done, key))
        if not keys:
            yield done


def _keys(value: Any) -> Iterator[str | int]:
    if isinstance(value, dict):
        yield from (key for key in value if isinstance(key, str))
    elif isinstance(value, list):
        yield from range(len(value))


def _covers(pattern: KeyPath, path: KeyPath) -> bool:
    """Whether a path matches the pattern, or is below a match."""
    near = zip(pattern, path, strict=False)
    return len(pattern) <= len(path) and all(wanted in ("*", step) for wanted, step in near)


def _is_same(path: KeyPath, old: Any, new: Any) -> bool:
    """Whether two values mean the same to an API server."""
    if old == new:
        return True
    if any(step in ("limits", "requests") for step in path[-2:-1]):
        return parse(old) == parse(new) is not None
    default = DEFAULTS.get(str(path[-1]))
    return bool(_said(old, default) == _said(new, default))


def _said(value: Any, default: Any) -> Any:
    """Returns a value, or the default if the value is empty."""
    return default if value is None or value in ({}, []) else value
