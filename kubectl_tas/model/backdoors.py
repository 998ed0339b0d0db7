"""Lists labels, annotations and fields that let an object bypass its pool or the checks. Rules, guard and docs share
this table. The names are those of KAI, Kubernetes and GitOps tools. ``parts`` finds them in a document at any depth.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from kubectl_tas.late import dataclass
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin


class Place(Enum):
    """The part of an object in which a key is written."""

    LABEL = "label"
    ANNOTATION = "annotation"
    FIELD = "field"


class Decides(Enum):
    """The effect of a key. Some keys must have the value of the pool; all others must be absent."""

    QUEUE = "queue"
    PRIORITY = "priority"
    PREEMPTIBILITY = "preemptibility"
    SCHEDULER = "scheduler"
    NAMESPACE = "namespace"
    NODE = "node"
    UNSEEN = "hidden work"
    SHARD = "scheduler's shard"
    SYNC = "GitOps"


@dataclass(frozen=True, slots=True)
class Backdoor:
    """A key that bypasses a limit or a check."""

    key: str
    place: Place
    decides: Decides
    kinds: str
    """The kinds with the key, and its place in them."""
    reader: str
    """The program that reads the key."""
    effect: str = ""
    """The consequence of a key that must be absent."""
    parent: str = ""
    """For a field: the key directly above the field. Empty: any key."""
    values: str = ""
    """Regular expression of the values that matter, with KEY=VALUE for a mapping. Empty: all values."""
    on_pods: bool = False
    """Whether the guard checks a pod by this label."""


_KAI = "KAI 0.17"  # pkg/podgrouper/podgrouper/plugins/defaultgrouper/default_grouper.go
_KUBERNETES = "Kubernetes 1.35"
_PODS = "pods of all kinds"
_ARGO = "Argo Workflows 3.7"  # pkg/apis/workflow/v1alpha1/workflow_types.go
_ARGO_KINDS = "Workflow, CronWorkflow"
_KUBEFLOW = "Kubeflow's training operator 1.9"  # SchedulingPolicy, for a PodGroup that it makes itself
_KUBEFLOW_KINDS = "PyTorchJob, TFJob, XGBoostJob, JAXJob, MPIJob: spec.runPolicy.schedulingPolicy"

_NOT_REMOVED = "does not remove it when its file is gone"
_GITOPS = (
    ("config.kubernetes.io/local-config", "kustomize leaves it out of what it builds", r"^(?!false$)"),
    ("argocd.argoproj.io/hook", "Argo CD runs it at each sync, and neither compares nor prunes it", ""),
    ("helm.sh/hook", "Argo CD takes it for a hook, and neither compares nor prunes it", ""),
    ("argocd.argoproj.io/sync-options", f"Argo CD {_NOT_REMOVED}", r"\b(Prune|Delete)=(false|confirm)\b"),
    ("helm.sh/resource-policy", f"Argo CD {_NOT_REMOVED}", r"\bkeep\b"),
    (
        "argocd.argoproj.io/compare-options",
        "Argo CD calls the application synced though the object has no file",
        r"\bIgnoreExtraneous\b",
    ),
    ("kustomize.toolkit.fluxcd.io/reconcile", "Flux no longer applies it", r"(?i)^disabled$"),
    ("kustomize.toolkit.fluxcd.io/prune", f"Flux {_NOT_REMOVED}", r"(?i)^disabled$"),
    (
        "kustomize.toolkit.fluxcd.io/ssa",
        "Flux no longer applies it, or only creates it if it is missing",
        r"(?i)^(ignore|ifnotpresent)$",
    ),
)
"""Annotations that let an object differ from its file: key, effect, and the values that matter. They are those of
kustomize (api/resource/factory.go: DropLocalNodes), Argo CD (docs/user-guide: resource_hooks.md, helm.md,
sync-options.md, compare-options.md) and Flux (kustomize-controller: internal/controller/kustomization_controller.go).
"""

BACKDOORS: tuple[Backdoor, ...] = (
    Backdoor(
        labels.QUEUE,
        Place.LABEL,
        Decides.QUEUE,
        "all kinds: the object, then the pod",
        _KAI,  # CalcPodGroupQueue
        on_pods=True,
    ),
    Backdoor(
        labels.PRIORITY_CLASS,
        Place.LABEL,
        Decides.PRIORITY,
        "all kinds: every owner of the pod, then the pod, and before its field",
        _KAI,  # calcPodGroupPriorityClass
        on_pods=True,
    ),
    Backdoor(
        labels.PREEMPTIBILITY,
        Place.LABEL,
        Decides.PREEMPTIBILITY,
        "all kinds: every owner of the pod, then the pod, and before any class",
        _KAI,  # calcPodGroupPreemptibilityWithDefaults
        on_pods=True,
    ),
    Backdoor(
        labels.RUNAI_QUEUE,
        Place.LABEL,
        Decides.QUEUE,
        "all kinds: the object, then the pod",
        "KAI before 0.6",
    ),
    Backdoor(
        labels.RAY_PRIORITY_CLASS,
        Place.LABEL,
        Decides.PRIORITY,
        "RayCluster, RayJob, RayService: the object, and before all others",
        _KAI,  # pkg/podgrouper/podgrouper/plugins/ray/ray_grouper.go
    ),
    Backdoor(
        labels.NODE_POOL,
        Place.LABEL,
        Decides.SHARD,
        "pods and PodGroups, which have it from the object",
        _KAI,  # pkg/scheduler/conf/scheduler_conf.go (GetLabelSelector)
        effect="the scheduler of another shard takes the pods, or none does",
    ),
    Backdoor("schedulerName", Place.FIELD, Decides.SCHEDULER, _PODS, _KUBERNETES),
    Backdoor(
        "nodeName",
        Place.FIELD,
        Decides.NODE,
        _PODS,
        _KUBERNETES,
        effect="no scheduler sees the pod, and no quota holds for it",
    ),
    Backdoor(
        "priorityClassName",
        Place.FIELD,
        Decides.PRIORITY,
        f"{_PODS}; PodCliqueSet: spec.template",
        _KAI,  # calcPodGroupPriorityClass
    ),
    Backdoor(
        "namespace",
        Place.FIELD,
        Decides.NAMESPACE,
        "all kinds: the metadata of the object and of its templates",
        _KUBERNETES,
        parent="metadata",
    ),
    Backdoor(
        labels.DYNAMO_QUEUE,
        Place.ANNOTATION,
        Decides.QUEUE,
        "DynamoGraphDeployment: the object",
        "Dynamo 1.2",  # deploy/operator/internal/consts/consts.go
    ),
    Backdoor("podPriorityClassName", Place.FIELD, Decides.PRIORITY, _ARGO_KINDS, _ARGO),
    *(
        Backdoor(key, Place.FIELD, Decides.UNSEEN, _ARGO_KINDS, _ARGO, effect, parent=parent)
        for key, parent, effect in (
            ("podSpecPatch", "", "it changes pods after validate has judged them"),
            ("templateDefaults", "", "it adds what validate cannot see to templates"),
            ("manifest", "resource", "it makes an object that validate cannot see"),
            ("name", "workflowTemplateRef", "its templates are in an object that validate cannot see"),
            ("template", "templateRef", "it is in an object that validate cannot see"),
        )
    ),
    Backdoor(
        "batchScheduler",
        Place.FIELD,
        Decides.UNSEEN,
        "SparkApplication: spec",
        "spark-operator 2.3",
        effect="another scheduler than KAI places its pods",
    ),
    Backdoor(
        "sparkConf",
        Place.FIELD,
        Decides.UNSEEN,
        "SparkApplication: spec",
        "Spark 3.5",  # docs/running-on-kubernetes.md, and docs/configuration.md
        effect="it changes pods, or their number, after validate has judged them",
        values=r"spark\.(kubernetes\.((driver|executor)\.)?(scheduler\.name|podTemplate"
        r"|(label|annotation)\.(kai\.scheduler/|priorityClassName|pod-group-name|gpu-))"
        r"|(driver|executor)\.resource\.|executor\.instances|dynamicAllocation\.)",
    ),
    Backdoor(
        "dynamicAllocation",
        Place.FIELD,
        Decides.UNSEEN,
        "SparkApplication: spec",
        "Spark 3.5",  # docs/configuration.md
        effect="without maxExecutors Spark makes any number of executors",
        values=r"^(?!.*maxExecutors=).*enabled=True",
    ),
    Backdoor(
        "workerSpec",
        Place.FIELD,
        Decides.UNSEEN,
        "InferenceService: spec.predictor",
        "KServe 0.16",  # pkg/apis/serving/v1beta1/predictor.go
        effect="validate cannot see its pods",
        parent="predictor",
    ),
    Backdoor("queue", Place.FIELD, Decides.QUEUE, _KUBEFLOW_KINDS, _KUBEFLOW, parent="schedulingPolicy"),
    Backdoor("priorityClass", Place.FIELD, Decides.PRIORITY, _KUBEFLOW_KINDS, _KUBEFLOW, parent="schedulingPolicy"),
    *(Backdoor(key, Place.ANNOTATION, Decides.SYNC, "", "", effect, values=values) for key, effect, values in _GITOPS),
)
"""All keys."""


LABELS, ANNOTATIONS, FIELDS = ({item.key: item for item in BACKDOORS if item.place is place} for place in Place)
"""The keys of each place by name, which is unique in its place."""
UNSEEN = frozenset(key for key, item in FIELDS.items() if item.decides is Decides.UNSEEN)
"""Fields whose value may be a mapping."""


Part = tuple[str, KeyPath, Any]
"""Type, path and value of a part: a mapping of ``labels``, ``annotations`` or ``amounts`` (of resources), a
``container`` (a mapping with variables, or in a list of containers), or a ``field`` of the table above, with any value.
"""
_LEFT = frozenset({"matchLabels", "nodeSelector", "env"})
"""Keys that contain no such parts below them, but names that users choose."""
_METADATA = frozenset(
    {"metadata", "extraPodMetadata", "podMetadata", "driver", "executor", "predictor", "transformer", "explainer"}
)
"""Keys that contain the labels and annotations of an object or of pods."""
_OWN_WORDS = ("spec", "services")
"""Path at which Dynamo uses its own names for amounts of resources."""
_RESOURCES = ("resources", "resourcesPerNode")
_CONTAINERS = ("containers", "initContainers", "sidecars")
_OF_CONTAINERS = frozenset({"env", "envFrom", "volumeMounts", "volumeDevices"})
"""Fields that containers alone have. Spark's and Kubeflow Trainer's pods have them in the place of a container."""
_ONE_CONTAINER = frozenset({"image", "command", "args", "resources", *_OF_CONTAINERS})
"""Fields that tell a container from other mappings."""
_NO_CONTAINERS = frozenset({"labels", "annotations", "nodeSelector", "overhead", "resources", "template"})
"""Fields of pods whose keys users choose, and others with such fields."""


def containers_in(value: object, path: KeyPath) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """Yields the containers of a pod, each with its path. ``value`` are the fields of a PodSpec, or those in its place:
    a container by itself, in a list, or in a set of containers.
    """
    if not isinstance(value, dict):
        return
    if not _OF_CONTAINERS.isdisjoint(value):
        yield path, value
    for key, field in value.items():
        if isinstance(field, list) and key in _CONTAINERS:
            for index, item in enumerate(field):
                yield (*path, key, index), item if isinstance(item, dict) else {}
        elif isinstance(field, dict) and key == "containerSet":
            yield from containers_in(field, (*path, key))
        elif isinstance(field, dict) and key not in _NO_CONTAINERS and not _ONE_CONTAINER.isdisjoint(field):
            yield (*path, key), field


def pods_at(origin: Origin, path: KeyPath) -> Iterator[KeyPath]:
    """Yields the path of the fields of a pod, and that of the pod template which Spark puts below them."""
    yield path
    if isinstance(origin.value((*path, "template", "spec")), dict):
        yield (*path, "template", "spec")


def parts(origin: Origin) -> Iterator[Part]:
    """Yields the parts of a document and of all templates in it."""
    waiting: list[tuple[KeyPath, Any]] = [((), origin.data)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, list):
            waiting += (((*path, index), item) for index, item in enumerate(value) if isinstance(item, (dict, list)))
            continue
        above = path[-1] if path else ""
        holds = above in _METADATA or path == ("spec",) or path[-2:-1] == ("cliques",)
        if (type(above) is int and path[-2] in _CONTAINERS) or not _OF_CONTAINERS.isdisjoint(value):
            yield "container", path, value
        for key, item in value.items():
            if isinstance(item, (dict, list)):
                if key in UNSEEN and FIELDS[key].parent in ("", above):
                    yield "field", (*path, key), item
                if key == "gpu" and isinstance(item, dict) and "quantity" in item:  # of Spark
                    yield "amounts", (*path, key), {str(item.get("name")): item["quantity"]}
                if holds and key in ("labels", "annotations") and isinstance(item, dict):
                    yield key, (*path, key), item
                elif key in ("limits", "requests") and above in _RESOURCES and isinstance(item, dict):
                    is_own = path[:2] == _OWN_WORDS and len(path) == len((*_OWN_WORDS, "NAME", "resources"))
                    if is_own and origin.data.get("kind") == "DynamoGraphDeployment":
                        continue
                    yield "amounts", (*path, key), item
                elif key not in _LEFT:
                    waiting.append(((*path, key), item))
            elif key in FIELDS and FIELDS[key].parent in ("", above):
                yield "field", (*path, key), item
