"""Lists labels, annotations and fields that let an object bypass its pool or the checks. Rules, guard and docs share
this table. The names are those of KAI, Kubernetes and GitOps tools. ``parts`` finds them in a document at any depth.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import Any

from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.kinds import environment, page_of_document
from kubectl_tas.kinds.section import MAPPING, Document, path_steps, value_at
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath


class KeyPlace(Enum):
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
    STATE = "state"

    __hash__ = object.__hash__  # that of enum.py is slow, and each document asks for many


@dataclass(frozen=True, slots=True)
class Backdoor:
    """A key that bypasses a limit or a check."""

    key: str
    place: KeyPlace
    decides: Decides
    kinds: str
    """The kinds with the key, and its place in them."""
    reader: str
    """The program that reads the key."""
    effect: str = ""
    """The consequence of a key that must be absent."""
    parent: str = ""
    """For a field: possible keys above the field, separated by blanks. Empty: any key."""
    group: str = ""
    """For a field: the API groups of the kinds, separated by blanks. Empty: any group."""
    values: str = ""
    """Regular expression of the values that matter, with KEY=VALUE for a mapping. Empty: all values."""
    is_quoted: bool = False
    """Whether quotes and backslashes, which the reader removes, may stand anywhere in the value."""
    on_pods: bool = False
    """Whether the guard checks a pod by this label."""


_KAI = "KAI 0.17"  # pkg/podgrouper/podgrouper/plugins/defaultgrouper/default_grouper.go
_KUBERNETES = "Kubernetes 1.35"
_PODS = "pods of all kinds"
_ARGO = "Argo Workflows 3.7"  # pkg/apis/workflow/v1alpha1/workflow_types.go
_ARGO_KINDS = "Workflow, CronWorkflow"
_ARGO_TEMPLATE = "templates inline templateDefaults"
_KUBEFLOW = "Kubeflow's training operator 1.9"  # SchedulingPolicy, for a PodGroup that it makes itself
_KUBEFLOW_KINDS = "PyTorchJob, TFJob, XGBoostJob, JAXJob, MPIJob: spec.runPolicy.schedulingPolicy"

_GROVE = "Grove 0.1.0-alpha.12"  # operator/api/common/labels.go, and constants/constants.go
_ON_PODS, _ON_GROUPS = "pods", "PodGroups, which have it from their owner"
TIMES = (
    "kai.scheduler/last-start-timestamp",
    "kai.scheduler/last-eviction-timestamp",
    "kai.scheduler/stale-podgroup-timestamp",
    "run.ai/stale-podgroup-timestamp",
)
"""Annotations of a PodGroup in which KAI's scheduler keeps the times by which it evicts."""
GPU_GROUP = "runai-gpu-group"
"""The label, and the prefix of labels, by which KAI's binder marks the pods that share a GPU."""
_WRITTEN: tuple[tuple[str, KeyPlace, str, str, tuple[str, ...]], ...] = (
    (  # pkg/scheduler/cache/status_updater/default_status_updater.go; api/podgroup_info/job_info.go, minruntime.go
        "KAI 0.17: its scheduler",
        KeyPlace.ANNOTATION,
        _ON_GROUPS,
        "KAI decides by this time what it evicts",
        TIMES,
    ),
    (  # pkg/podgrouper/podgrouper/plugins/defaultgrouper/default_grouper.go (CalcPodGroupAnnotations)
        "KAI 0.17: its podgrouper",
        KeyPlace.ANNOTATION,
        _ON_GROUPS,
        "KAI reads the owner of the gang there",
        ("kai.scheduler/top-owner-metadata", "run.ai/top-owner-metadata"),
    ),
    (  # pkg/binder: binding/resourcereservation/resource_reservation.go (updatePodGPUGroup)
        "KAI 0.17: its binder",
        KeyPlace.LABEL,
        _ON_PODS,
        "KAI counts the pod on the GPU of that name",
        (GPU_GROUP,),
    ),
    (  # pkg/binder: binding/binder.go (patchBindAnnotations), common/gpusharingconfigmap/config_map.go; pkg/npe; and
        # pkg/resourcereservation/patcher/pod_patcher.go
        "KAI 0.17: its binder and its agents",
        KeyPlace.ANNOTATION,
        _ON_PODS,
        "KAI keeps the devices of the pod there",
        (
            "runai/shared-gpu-configmap",
            "received-resource-type",
            "run.ai/reserve_for_gpu_index",
            "kai.scheduler/numa-placement-observed",
            "kai.scheduler/numa-placement-predicted",
        ),
    ),
    (  # pkg/podgrouper/podgrouper/plugins/spark/spark.go
        "Spark 3.5",
        KeyPlace.LABEL,
        _ON_PODS,
        "KAI puts a pod without an owner into the PodGroup of this name",
        ("spark-app-selector",),
    ),
    (
        _GROVE,
        KeyPlace.LABEL,
        _ON_PODS,
        "Grove finds its pods and gangs by it",
        (
            "grove.io/base-podgang",
            "grove.io/pod-template-hash",
            "grove.io/podclique",
            "grove.io/podclique-pod-index",
            "grove.io/podcliquescalinggroup",
            "grove.io/podcliquescalinggroup-replica-index",
            "grove.io/podcliqueset-replica-index",
            "grove.io/podgang",
            "grove.io/scheduler-name",
        ),
    ),
    (
        _GROVE,
        KeyPlace.ANNOTATION,
        "PodGangs",
        "Grove names the topology of the gang there",
        ("grove.io/topology-name",),
    ),
)
"""The labels and annotations in which KAI and Grove keep their state: who writes them, where, the consequence, and the
keys. A prefix stands for all keys below it.
"""

RESERVATION = ("app", "kai-resource-reservation")
"""The label of the pods by which KAI reserves GPUs that pods share. Of such a pod KAI's scheduler counts no GPU as used
(``IsResourceReservationTask`` of pkg/scheduler/api/pod_info, 0.17), whatever its namespace is.
"""
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

_SPARK = (
    r"spark\.(kubernetes\.((driver|executor)\.)?(scheduler\.name|podTemplate|pod\.featureSteps|namespace(=|$)"
    r"|(label|annotation)\.(kai\.scheduler/|kubectl-tas/|grove\.io/|run\.?ai|ray\.io/priority|priorityClassName"
    r"|pod-group-name|received-resource-type|gpu-|nvidia\.com/mig-|" + "=".join(RESERVATION) + "))"
    r"|(driver|executor)\.resource\.|executor\.instances|(streaming\.)?dynamicAllocation\.)"
)
"""Pattern of settings by which Spark makes other pods than those of the file."""
_OPTIONS = rf"-D{_SPARK}|(^|\s)(-XX:(VMOptionsFile|Flags)=|@)"
OPTIONS = late_pattern(_OPTIONS)
"""Options for Java that are such settings, or that are in a file."""
_DEVFILE = ("workspace.devfile.io", "DevWorkspace: spec.template", "DevWorkspace 2.3")
_TEKTON = ("tekton.dev", "PipelineRun, TaskRun", "Tekton 1.15")  # pkg/apis/pipeline/v1
_SCHEDULED = ("kubeflow.org", "ScheduledWorkflow: spec", "Kubeflow Pipelines 2.5")
_ELSEWHERE = "its containers are in an object that validate cannot see"
_OTHERS = (
    (
        "plugin",
        f"{_ARGO_TEMPLATE} components",
        f"argoproj.io {_DEVFILE[0]}",
        f"{_ARGO_KINDS}; {_DEVFILE[1]}",
        f"{_ARGO}, {_DEVFILE[2]}",
        "a plugin of the cluster reads it, and can make any pod",
    ),
    ("data", _ARGO_TEMPLATE, "argoproj.io", _ARGO_KINDS, _ARGO, "Argo makes a pod that validate cannot see"),
    *(
        (key, parent, *_DEVFILE, "it makes objects that validate cannot see")
        for key, parent in (
            ("parent", "template"),
            ("contributions", "spec"),
            ("kubernetes", "components"),
            ("openshift", "components"),
            ("embeddedResource", "custom"),
        )
    ),
    *((key, "", *_TEKTON, _ELSEWHERE) for key in ("pipelineRef", "taskRef")),
    ("ref", "steps", *_TEKTON, _ELSEWHERE),
    ("pipelineSpec", "tasks", *_TEKTON, "it makes a run whose pods validate cannot see"),
    ("spec", "workflow", *_SCHEDULED, "it makes a workflow that validate cannot see"),
    *((key, "spec", *_SCHEDULED, _ELSEWHERE) for key in ("pipelineId", "pipelineVersionId", "pipelineName")),
)
"""Fields that take a manifest, a reference to one or a plugin: key, parents, group, kinds, reader, effect."""

BACKDOORS: tuple[Backdoor, ...] = (
    Backdoor(
        labels.QUEUE,
        KeyPlace.LABEL,
        Decides.QUEUE,
        "all kinds: the object, then the pod",
        _KAI,  # CalcPodGroupQueue
        on_pods=True,
    ),
    Backdoor(
        labels.PRIORITY_CLASS,
        KeyPlace.LABEL,
        Decides.PRIORITY,
        "all kinds: every owner of the pod, then the pod, and before its field",
        _KAI,  # calcPodGroupPriorityClass
        on_pods=True,
    ),
    Backdoor(
        labels.PREEMPTIBILITY,
        KeyPlace.LABEL,
        Decides.PREEMPTIBILITY,
        "all kinds: every owner of the pod, then the pod, and before any class",
        _KAI,  # calcPodGroupPreemptibilityWithDefaults
        on_pods=True,
    ),
    Backdoor(
        labels.RUNAI_QUEUE,
        KeyPlace.LABEL,
        Decides.QUEUE,
        "all kinds: the object, then the pod",
        "KAI before 0.6",
    ),
    Backdoor(
        labels.RAY_PRIORITY_CLASS,
        KeyPlace.LABEL,
        Decides.PRIORITY,
        "RayCluster, RayJob, RayService: the object, and before all others",
        _KAI,  # pkg/podgrouper/podgrouper/plugins/ray/ray_grouper.go
    ),
    Backdoor(
        labels.NODE_POOL,
        KeyPlace.LABEL,
        Decides.SHARD,
        "pods and PodGroups, which have it from the object",
        _KAI,  # pkg/scheduler/conf/scheduler_conf.go (GetLabelSelector)
        effect="the scheduler of another shard takes the pods, or none does",
    ),
    Backdoor("schedulerName", KeyPlace.FIELD, Decides.SCHEDULER, _PODS, _KUBERNETES),
    Backdoor(
        "nodeName",
        KeyPlace.FIELD,
        Decides.NODE,
        _PODS,
        _KUBERNETES,
        effect="no scheduler sees the pod, and no quota holds for it",
    ),
    Backdoor(
        "priorityClassName",
        KeyPlace.FIELD,
        Decides.PRIORITY,
        f"{_PODS}; PodCliqueSet: spec.template",
        _KAI,  # calcPodGroupPriorityClass
    ),
    Backdoor(
        "namespace",
        KeyPlace.FIELD,
        Decides.NAMESPACE,
        "all kinds: the metadata of the object and of its templates",
        _KUBERNETES,
        parent="metadata",
    ),
    Backdoor(
        labels.DYNAMO_QUEUE,
        KeyPlace.ANNOTATION,
        Decides.QUEUE,
        "DynamoGraphDeployment: the object",
        "Dynamo 1.2",  # deploy/operator/internal/consts/consts.go
    ),
    Backdoor(
        "ownerReferences",
        KeyPlace.FIELD,
        Decides.UNSEEN,
        "templates of pods",
        _KAI,  # pkg/podgrouper/podgrouper/podgrouper.go (getResourceOwners)
        effect="KAI takes queue, priority and gang from the object that it names",
        parent="metadata",
    ),
    Backdoor("podPriorityClassName", KeyPlace.FIELD, Decides.PRIORITY, _ARGO_KINDS, _ARGO),
    *(
        Backdoor(key, KeyPlace.FIELD, Decides.UNSEEN, _ARGO_KINDS, _ARGO, effect, parent=parent)
        for key, parent, effect in (
            ("podSpecPatch", "", "it changes pods after validate has judged them"),
            ("templateDefaults", "", "it adds what validate cannot see to templates"),
            ("manifest", "resource", "it makes an object that validate cannot see"),
            ("manifestFrom", "resource", "it makes an object that validate cannot see"),
            ("flags", "resource", "kubectl makes or changes what they name, which validate cannot see"),
            ("name", "workflowTemplateRef", "its templates are in an object that validate cannot see"),
            ("template", "templateRef", "it is in an object that validate cannot see"),
            ("executorPlugins", "", "it adds containers that validate cannot see"),
        )
    ),
    *(
        Backdoor(key, KeyPlace.FIELD, Decides.UNSEEN, kinds, reader, effect, parent=parent, group=group)
        for key, parent, group, kinds, reader, effect in _OTHERS
    ),
    Backdoor(
        "batchScheduler",
        KeyPlace.FIELD,
        Decides.UNSEEN,
        "SparkApplication: spec",
        "spark-operator 2.3",
        effect="another scheduler than KAI places its pods",
    ),
    *(
        Backdoor(
            key,
            KeyPlace.FIELD,
            Decides.UNSEEN,
            f"SparkApplication: {where}",
            "Spark 3.5",  # docs/running-on-kubernetes.md, and docs/configuration.md
            effect="it changes pods, or their number, after validate has judged them",
            values=values,
            is_quoted=values is _OPTIONS,
        )
        for key, where, values in (
            ("sparkConf", "spec", _SPARK),
            ("javaOptions", "spec.driver and spec.executor", _OPTIONS),
        )
    ),
    Backdoor(
        "sparkConfigMap",
        KeyPlace.FIELD,
        Decides.UNSEEN,
        "SparkApplication: spec",
        "spark-operator 2.3",  # addSparkConfigMap of internal/webhook/sparkpod_defaulter.go
        effect="Spark reads settings and variables from its files",
    ),
    Backdoor(
        "mainApplicationFile",
        KeyPlace.FIELD,
        Decides.UNSEEN,
        "SparkApplication: spec",
        "spark-operator 2.3",  # mainApplicationFileOption of internal/controller/sparkapplication/submission.go
        effect="spark-submit reads it as an option, and the arguments as more settings",
        values=r"^\s*-",
    ),
    Backdoor(
        "dynamicAllocation",
        KeyPlace.FIELD,
        Decides.UNSEEN,
        "SparkApplication: spec",
        "Spark 3.5",  # docs/configuration.md
        effect="without maxExecutors Spark makes any number of executors",
        values=r"^(?!.*maxExecutors=).*enabled=True",
    ),
    Backdoor(
        "workerSpec",
        KeyPlace.FIELD,
        Decides.UNSEEN,
        "InferenceService: spec.predictor",
        "KServe 0.16",  # pkg/apis/serving/v1beta1/predictor.go
        effect="validate cannot see its pods",
        parent="predictor",
    ),
    Backdoor("queue", KeyPlace.FIELD, Decides.QUEUE, _KUBEFLOW_KINDS, _KUBEFLOW, parent="schedulingPolicy"),
    Backdoor("priorityClass", KeyPlace.FIELD, Decides.PRIORITY, _KUBEFLOW_KINDS, _KUBEFLOW, parent="schedulingPolicy"),
    *(
        Backdoor(key, written_at, Decides.STATE, kinds, writer, effect)
        for writer, written_at, kinds, effect, keys in _WRITTEN
        for key in keys
    ),
    *(Backdoor(k, KeyPlace.ANNOTATION, Decides.SYNC, "", "", e, values=v) for k, e, v in _GITOPS),
)
"""All keys."""


LABELS, ANNOTATIONS, FIELDS = ({row.key: row for row in BACKDOORS if row.place is key_place} for key_place in KeyPlace)
"""The keys of each place by name, which is unique in its place."""
STATE = {row.key: row for row in BACKDOORS if row.decides is Decides.STATE}
"""The keys that KAI or Grove writes, by name."""
_DECIDING = frozenset(
    row.key for row in BACKDOORS if row.place is not KeyPlace.FIELD and row.decides is not Decides.SYNC
) - {*FIELDS} | {labels.POD_GROUP, labels.SKIP_PODGROUPER}
"""Labels and annotations that are judged in a mapping of any name."""


def state_of(key: str) -> Backdoor | None:
    """Returns the row of a key that KAI or Grove writes, also if only its prefix is listed."""
    return STATE.get(key) or STATE.get(key.partition("/")[0])


def setter_of(key: str) -> str:
    """Returns who sets a reserved key: KAI, Grove or this tool."""
    row = state_of(key)
    return row.reader.partition(" ")[0] if row is not None else "kubectl-tas"


Part = tuple[str, KeyPath, Any]
"""Type, path and value of a part: a mapping of ``labels``, ``annotations`` or ``amounts`` (of resources), a
``container`` (a mapping with variables, or in a list of containers), a ``mount`` (a mapping with a path in a
container), a ``runtime`` (a mapping with runtimeClassName), a ``key`` that may have an expression, or a ``field`` of
the table above, with any value. ``keys`` is a mapping of another name that has a deciding label or annotation.
"""
_METADATA = late_pattern(r"((^|_)l|[a-z0-9]L)abels(From)?$|((^|_)a|[a-z0-9]A)nnotations?(From)?$")
"""The names of labels and annotations that an operator may copy to pods, to their owner, or to other objects."""
_OF_OTHERS = late_pattern(r"(^s|S)elector$|^matchLabels$")
"""The names of labels of other objects, by which they are chosen."""
_OF_SELECTORS, _OF_REFERENCES = frozenset({"matchLabels", "matchExpressions"}), frozenset({"name", "key"})
_OF_VARIABLES = frozenset({"name", "value", "valueFrom"})
"""Keys of selectors, of references to a Secret, and of variables."""
_VARIABLES = frozenset((*environment.LISTS, *environment.MAPPINGS))
"""Keys that contain no such parts below them, but names that users choose."""
_RESOURCES = ("resources", "resourcesPerNode")
_CONTAINERS = ("containers", "initContainers", "sidecars")
_OF_CONTAINERS = frozenset({"env", "envFrom", "volumeMounts", "volumeDevices"})
"""Fields that containers alone have. Spark's and Kubeflow Trainer's pods have them in the place of a container."""
_ONE_CONTAINER = frozenset({"image", "command", "args", "resources", *_OF_CONTAINERS})
"""Fields of a container: each container has at least one of them."""
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
            for index, container in enumerate(field):
                yield (*path, key, index), container if isinstance(container, dict) else {}
        elif isinstance(field, dict) and key == "containerSet":
            yield from containers_in(field, (*path, key))
        elif isinstance(field, dict) and key not in _NO_CONTAINERS and not _ONE_CONTAINER.isdisjoint(field):
            yield (*path, key), field


def pods_at(document: Document, path: KeyPath) -> Iterator[KeyPath]:
    """Yields the path of the fields of a pod, and that of the pod template which Spark puts below them."""
    yield path
    if isinstance(value_at(document, *path, "template", "spec"), dict):
        yield (*path, "template", "spec")


def parts(document: Document) -> Iterator[Part]:
    """Yields the parts of a document and of all templates in it. Operators copy labels and annotations from many
    places, so these count at any depth.
    """
    group = str(document.get("apiVersion", "")).rpartition("/")[0]
    page = page_of_document(document)
    own_amounts = page.pod_rules.own_amounts if page is not None else ""
    waiting: list[tuple[KeyPath, Any]] = [((), document)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, list):
            waiting += [((*path, i), v) for i, v in enumerate(value) if isinstance(v, (dict, list))]
            continue
        above, keys = path[-1] if path else "", "\n".join(value)
        in_list = type(above) is int and path[-2] in _CONTAINERS
        has_variables, may_be_filled_in = not environment.VARIABLES.isdisjoint(value), _may_be_filled_in(keys)
        if in_list or has_variables or environment.ENDING in keys:
            yield "container", path, value
        if not environment.MOUNTS.isdisjoint(value) or (has_variables and any(environment.java_settings(value))):
            yield "mount", path, value
        if "runtimeClassName" in value:
            yield "runtime", path, value
        if not _DECIDING.isdisjoint(value):
            yield "keys", path, {key: field_value for key, field_value in value.items() if key in _DECIDING}
        for key, field_value in value.items():
            if may_be_filled_in and _may_be_filled_in(key):
                yield "key", (*path, key), key
            if key in FIELDS and _is_at(FIELDS[key], path, group):
                yield "field", (*path, key), field_value
            if not isinstance(field_value, (dict, list)):
                continue
            below = (*path, key)
            metadata_field = metadata_in(str(key))
            if metadata_field is None and _has_own_names(field_value):
                continue
            if key == "gpu" and isinstance(field_value, dict) and "quantity" in field_value:  # of Spark
                yield "amounts", below, {str(field_value.get("name")): field_value["quantity"]}
            if metadata_field:
                yield from _metadata(metadata_field, below, field_value)
                if isinstance(field_value, list) or not _has_own_names(field_value):
                    waiting.append((below, field_value))
            elif key in ("limits", "requests") and above in _RESOURCES and isinstance(field_value, dict):
                if not own_amounts or not _is_at_steps(path, own_amounts):
                    yield "amounts", below, field_value
                elif isinstance(field_value.get("custom"), dict):
                    yield "amounts", (*below, "custom"), field_value["custom"]
            else:
                waiting.append((below, field_value))


def _is_at_steps(path: KeyPath, pattern: str) -> bool:
    steps = path_steps(pattern)
    return len(path) == len(steps) and all(step in (MAPPING, key) for key, step in zip(path, steps, strict=True))


@lru_cache(maxsize=1024)
def metadata_in(key: str) -> str | None:
    """Returns what a key of this name holds: labels, annotations, or neither (empty). None: nothing of this object."""
    if key in _VARIABLES or _OF_OTHERS.search(key):
        return None
    return ("annotations" if "nnotation" in key else "labels") if _METADATA.search(key) else ""


def _has_own_names(value: Any) -> bool:
    """Whether a value is labels, a selector or variables, in which users choose the names. A mapping of another shape
    only has such a name itself, as a service may be called labels.
    """
    if isinstance(value, list):
        return all(not isinstance(variable, dict) or _OF_VARIABLES.issuperset(variable) for variable in value)
    return all(
        key in _OF_SELECTORS
        or (_OF_REFERENCES.issuperset(child) if isinstance(child, dict) else not isinstance(child, list))
        for key, child in value.items()
    )


def _metadata(metadata_field: str, path: KeyPath, metadata: Any) -> Iterator[Part]:
    """Yields labels or annotations that are written as a mapping, or as a list of names and values."""
    if isinstance(metadata, dict):
        yield metadata_field, path, metadata
        yield from (("key", (*path, key), key) for key in metadata if _may_be_filled_in(key))
        return
    for index, name_and_value in enumerate(metadata):
        if isinstance(name_and_value, dict) and isinstance(
            name := name_and_value.get("name", name_and_value.get("key")), str
        ):
            yield metadata_field, (*path, index), {name: name_and_value.get("value", "")}


def _may_be_filled_in(key: object) -> bool:
    return "{" in str(key) or "$" in str(key)


def _is_at(field: Backdoor, path: KeyPath, group: str) -> bool:
    """Whether a field of the table has this meaning in the mapping at a path, in a kind of an API group."""
    holder = next((step for step in reversed(path) if type(step) is not int), "")
    return (not field.parent or holder in field.parent.split()) and (not field.group or group in field.group.split())
