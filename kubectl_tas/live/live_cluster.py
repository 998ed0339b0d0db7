"""Reads queues, PodGroups and nodes of a cluster: what runs in each queue, and the labels of each node."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, replace
from decimal import Decimal
from typing import Any, Generic, TypeVar

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts import gpus, quantities
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.quantities import NOTHING, RESOURCES, Amounts, said
from kubectl_tas.live import cliquesets, kubectl
from kubectl_tas.live.kubectl import ClusterAccess, ForbiddenError, NoSuchResourceError
from kubectl_tas.live.owners import owners_of
from kubectl_tas.model.labels import POD_GROUP, WORKFLOW

QUEUES = "queues.scheduling.run.ai"
POD_GROUPS = "podgroups.scheduling.run.ai"
NODES = "nodes"
PODS = "pods"
_CLASSES = ("priorityclasses.scheduling.k8s.io", False)
QUEUED = ((QUEUES, False), (POD_GROUPS, True), _CLASSES)
"""Resources that tell the queue of each pod and what KAI evicts for what, each with whether it is namespaced."""
SCHEDULED = (
    *QUEUED,
    ("bindrequests.scheduling.run.ai", True),
    ("topologies.kai.scheduler", False),
    ("topologies.kueue.x-k8s.io", False),
)
"""Resources that KAI's scheduler reads besides nodes and pods, each with whether it is namespaced."""
STORAGE = (
    ("persistentvolumes", False),
    ("persistentvolumeclaims", True),
    ("storageclasses.storage.k8s.io", False),
    ("csidrivers.storage.k8s.io", False),
    ("csistoragecapacities.storage.k8s.io", True),
)
"""Resources of storage, which many users may not read, each with whether it is namespaced."""

Resources = tuple[tuple[str, bool], ...]
T = TypeVar("T")
_WELL = {
    "Ready": "True",
    **dict.fromkeys(("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"), "False"),
}
"""Conditions of a node that KAI checks, with the status on a node that KAI uses."""


@dataclass(frozen=True, slots=True)
class LiveQueueUsage:
    """The usage of one queue."""

    allocated: Amounts
    """All held resources; GPUs are rounded up."""
    non_preemptible: Amounts
    """The part of ``allocated`` that non-preemptible work holds."""
    workflows: int
    """Number of PodGroups with running pods."""
    doubt: str = ""
    """Reason why the numbers do not tell what the queue holds; empty if they do."""
    requested: Amounts = NOTHING
    """Requests of all running and pending pods of the queue; GPUs are rounded up."""

    @property
    def in_use(self) -> bool | None:
        """Whether anything runs in the queue; None if unknown."""
        if self.workflows > 0 or self.allocated.asked:
            return True
        return None if self.doubt else False

    @property
    def held(self) -> Amounts | None:
        """All held resources; None if unknown."""
        return None if self.doubt else self.allocated

    @property
    def used(self) -> Amounts | None:
        """Resources that non-preemptible work holds; None if unknown."""
        return None if self.doubt else self.non_preemptible

    @property
    def running(self) -> int | None:
        """Number of PodGroups with running pods; None if unknown."""
        return None if self.doubt else self.workflows

    def unknown(self, queue: str) -> str:
        """Returns the sentence about the queue of this name, if its usage is in doubt."""
        return f"of the queue {queue} the cluster does not say what it holds: {self.doubt}"


@dataclass(frozen=True, slots=True)
class LiveNode:
    """One node of a cluster."""

    name: str
    labels: Mapping[str, str]
    gpus: int = 0
    """Whole GPUs that the node has for pods."""
    is_ready: bool = True
    """Whether the node's conditions allow pods."""
    is_cordoned: bool = False
    """Whether the node takes no new pods."""

    @property
    def counts(self) -> bool:
        """Whether KAI counts the node's GPUs: pkg/scheduler/scheduler_util/scheduler_utils.go, 0.12 to 0.17."""
        return self.is_ready and not self.is_cordoned


@dataclass(frozen=True, slots=True)
class RunningGroup:
    """A PodGroup with running pods."""

    namespace: str
    name: str
    queue: str
    owners: tuple[tuple[str, str], ...]
    """Kind and name of each owner."""
    held: Amounts
    """Resources that the pods hold, as far as the PodGroup says."""
    work: str = ""
    """The work that the PodGroup belongs to, as KIND/NAME."""


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The queues of a cluster by name, and the PodGroups that run."""

    queues: dict[str, LiveQueueUsage]
    objects: tuple[Mapping[str, Any], ...] = ()
    """The queues as kubectl prints them."""
    running: tuple[RunningGroup, ...] = ()
    lacks: TasError | None = None
    """Error that says why the queues are unknown."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Objects of a cluster besides nodes and pods."""

    objects: list[dict[str, Any]]
    """Objects as kubectl prints them."""
    hidden: dict[str, str]
    """Reason why a resource may not be read, by resource."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster, or a file with its objects. Reads nothing before it is asked."""

    access: ClusterAccess
    file: str | None = None
    """File that ``kubectl tas cluster state`` or ``kubectl get`` wrote, to read instead of a cluster."""

    def state(self) -> ClusterState:
        """Returns the queues. Raises TasError if they cannot be read."""
        return from_cluster(self.access) if self.file is None else from_file(self.file, self.access.namespace)

    def grove(self) -> cliquesets.GroveState:
        """Returns Grove's objects. Raises TasError if they are unreadable, NoSuchResourceError without Grove."""
        if self.file is None:
            return cliquesets.from_cluster(self.access)
        return cliquesets.from_file(self.file, self.access.namespace)

    def nodes(self) -> list[LiveNode] | None:
        """Returns the nodes; None if a file has no nodes. Raises TasError if they cannot be read."""
        objects = kubectl.get(self.access, NODES) if self.file is None else kubectl.read_file(self.file)
        nodes = nodes_among(objects)
        is_known = self.file is None or nodes or "Node" in kubectl.complete_kinds(objects)
        return nodes if is_known else None

    def nodes_and_pods(self) -> list[dict[str, Any]]:
        """Returns the nodes and pods of all namespaces, as kubectl prints them, perhaps with other objects. They tell
        what each node has free. Raises TasError if they cannot be read.
        """
        if self.file is not None:
            return kubectl.read_file(self.file)
        everywhere = replace(self.access, namespace=None)
        return [*kubectl.get(everywhere, NODES), *kubectl.get(everywhere, PODS, namespaced=True)]

    def queued(self) -> Beside:
        """Returns objects that tell the queue of each pod and what KAI evicts for what, as far as they may be read."""
        return self._beside((), QUEUED)

    def priority_classes(self) -> Beside:
        """Returns the objects of ``queued`` that are no queues and PodGroups."""
        return self._beside((), (_CLASSES,))

    def scheduling(self) -> Beside:
        """Returns what KAI's scheduler reads besides ``nodes_and_pods``; storage only if it may be read."""
        return self._beside(SCHEDULED, STORAGE)

    def _beside(self, needed: Resources, optional: Resources) -> Beside:
        """Returns objects of all namespaces besides ``nodes_and_pods``; none for a file, where ``nodes_and_pods`` has
        all.

        Raises TasError if the cluster does not answer, or if a needed resource may not be read.
        """
        everywhere, besides = replace(self.access, namespace=None), Beside([], {})
        for resource, namespaced in (*needed, *optional) if self.file is None else ():
            try:
                besides.objects.extend(kubectl.get(everywhere, resource, namespaced=namespaced))
            except NoSuchResourceError:
                continue
            except ForbiddenError as error:
                if (resource, namespaced) in needed:
                    raise
                besides.hidden[resource] = error.message
        return besides


@dataclass(frozen=True, slots=True)
class Answers(Generic[T]):
    """Answers of clusters, by backend."""

    found: dict[str, T]
    failed: dict[str, TasError]
    """Errors of clusters that could not be asked or did not answer, by backend."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Clusters by the names of their backends."""

    known: Mapping[str, Cluster]
    unknown: Mapping[str, TasError] = field(default_factory=dict)
    """Error that says why the cluster of a backend is unknown, by backend."""

    def of(self, backend: str) -> Cluster:
        """Returns the cluster of a backend. Raises TasError if nobody knows which cluster that is."""
        if backend in self.known:
            return self.known[backend]
        hint = f"Pass --cluster-state {backend}=FILE, or --live."
        raise self.unknown.get(backend) or TasError(f"the cluster of the backend {backend} is not asked", hint=hint)

    @property
    def names(self) -> frozenset[str]:
        """Names of all these backends."""
        return frozenset((*self.known, *self.unknown))

    def ask(self, question: Callable[[Cluster], T], backends: Collection[str] | None = None) -> Answers[T]:
        """Returns the answer of each cluster, or of each in ``backends``. Raises TasError if the only cluster cannot be
        asked.
        """
        backend_names = sorted(self.names if backends is None else backends)
        answers: Answers[T] = Answers({}, {})
        for name in backend_names:
            try:
                answers.found[name] = question(self.of(name))
            except TasError as error:
                if len(backend_names) == 1:
                    raise
                answers.failed[name] = error
        return answers


def from_cluster(access: ClusterAccess) -> ClusterState:
    """Returns the state of the cluster that ``access`` names. Raises TasError if the cluster cannot be read."""
    objects = kubectl.get(access, QUEUES)
    objects += kubectl.get(access, POD_GROUPS, namespaced=True)
    return state_of(objects, is_whole=access.namespace is None)


def from_file(path: str, namespace: str | None = None) -> ClusterState:
    """Returns the state in a file; with ``namespace``, only with the PodGroups there.

    Raises TasError if the file cannot be read as objects.
    """
    objects = kubectl.read_file(path)
    kinds = kubectl.complete_kinds(objects)
    is_whole = "PodGroup" in kinds and kubectl.only_namespace(objects) is namespace is None
    state = state_of((fields for fields in objects if _is_in(fields, namespace)), is_whole=is_whole)
    if state.queues or "Queue" in kinds:
        return state
    get = f"kubectl get {QUEUES},{POD_GROUPS} -A -o json"
    hint = f"Add what this prints: {get}; or record the cluster with `kubectl tas cluster state`."
    return replace(state, lacks=TasError(f"{path} has no Queue, so it does not say what runs", hint=hint))


def nodes_among(objects: Iterable[Mapping[str, Any]]) -> list[LiveNode]:
    """Returns the nodes among objects of a cluster."""
    return [_node(fields) for fields in objects if fields.get("kind") == "Node"]


def _node(fields: Mapping[str, Any]) -> LiveNode:
    metadata, spec, status = fields["metadata"], fields.get("spec") or {}, fields.get("status") or {}
    return LiveNode(
        metadata["name"],
        metadata.get("labels") or {},
        gpus.of_node({name: _quantity(amount) for name, amount in (status.get("allocatable") or {}).items()}),
        is_ready=all(map(is_well, status.get("conditions") or ())),
        is_cordoned=spec.get("unschedulable") is True,
    )


def is_well(condition: dict[str, Any]) -> bool:
    """Whether a condition of a node lets KAI use the node: pkg/scheduler/scheduler_util/scheduler_utils.go, 0.17."""
    well_status = _WELL.get(str(condition.get("type")))
    return well_status is None or condition.get("status") == well_status


def _is_in(fields: dict[str, Any], namespace: str | None) -> bool:
    if namespace is None or fields.get("kind") != "PodGroup":
        return True
    return bool(fields["metadata"].get("namespace", "default") == namespace)


def state_of(objects: Iterable[Mapping[str, Any]], *, is_whole: bool = False) -> ClusterState:
    """Returns the queues among objects of a cluster; ``is_whole`` says that the objects include all PodGroups."""
    by_kind: dict[str, list[Mapping[str, Any]]] = {"Queue": [], "PodGroup": []}
    for fields in objects:
        kind = str(fields.get("kind"))
        if kind in by_kind:
            by_kind[kind].append(fields)
    queues = _usage(by_kind["Queue"], by_kind["PodGroup"], is_whole=is_whole)
    running = tuple(
        RunningGroup(
            fields["metadata"].get("namespace", "default"),
            fields["metadata"]["name"],
            str((fields.get("spec") or {}).get("queue")),
            owners_of(fields),
            _amounts((fields.get("status") or {}).get("resourcesStatus") or {}, "allocated"),
            work_of(fields),
        )
        for fields in by_kind["PodGroup"]
        if _running(fields) > 0
    )
    return ClusterState(queues, tuple(by_kind["Queue"]), running)


def work_of(fields: Mapping[str, Any]) -> str:
    """Returns the work that a PodGroup or pod belongs to, as KIND/NAME; the object itself if nothing says that."""
    metadata = fields["metadata"]
    workflow = (metadata.get("labels") or {}).get(WORKFLOW)
    owners = metadata.get("ownerReferences")
    if workflow is not None:
        return f"Workflow/{workflow}"
    named = owners[0] if owners else {"kind": fields.get("kind"), "name": metadata.get("name")}
    return f"{named.get('kind')}/{named.get('name')}"


def work_called(name: str, objects: Iterable[Mapping[str, Any]]) -> str:
    """Returns the work of the pod or PodGroup of this name, as KIND/NAME. Empty: no object has the name.

    A pod names its PodGroup, which knows the work that owns it; its own owner may be a Job of a JobSet.
    """
    kind, _, short = name.rpartition("/")
    kinds_by_word = {"": ("Pod", "PodGroup"), **dict.fromkeys(("pod", "pods", "po"), ("Pod",))}
    kinds = kinds_by_word.get(kind.lower(), ("PodGroup",) if kind.lower() in ("podgroup", "podgroups") else ())
    manifests = [manifest for manifest in objects if manifest.get("kind") in ("Pod", "PodGroup")]
    groups = {manifest["metadata"]["name"]: manifest for manifest in manifests if manifest["kind"] == "PodGroup"}
    for manifest in manifests:
        if manifest["kind"] in kinds and manifest["metadata"]["name"] == short:
            group = groups.get((manifest["metadata"].get("annotations") or {}).get(POD_GROUP, ""))
            return work_of(manifest if group is None else group)
    return ""


def _usage(
    queues: Iterable[Mapping[str, Any]], pod_groups: Iterable[Mapping[str, Any]], *, is_whole: bool
) -> dict[str, LiveQueueUsage]:
    running: Counter[str] = Counter()
    doubts: dict[str, str] = {}
    unlooked: set[str] = set()
    for pod_group in pod_groups:
        queue, pods = str((pod_group.get("spec") or {}).get("queue")), _running(pod_group)
        if pods > 0 or not pod_group.get("status"):
            unlooked.add(queue)
        if pods < 0:
            doubts[queue] = "one of its PodGroups says that fewer than no pods run"
        running[queue] += pods > 0
    usage_by_queue: dict[str, LiveQueueUsage] = {}
    for queue_fields in queues:
        name = queue_fields["metadata"]["name"]
        is_idle = is_whole and name not in unlooked
        usage = _held(queue_fields, running[name], doubts.get(name, ""), is_idle=is_idle)
        if usage_by_queue.setdefault(name, usage) != usage:
            usage_by_queue[name] = replace(usage, doubt="it appears twice, with different numbers")
    return usage_by_queue


def _held(queue: Mapping[str, Any], running: int, doubt: str, *, is_idle: bool) -> LiveQueueUsage:
    """Returns what a queue holds. KAI leaves empty values out of a status, and writes no status before a PodGroup names
    the queue. ``is_idle`` says that the queue's PodGroups are known and hold nothing.
    """
    status = queue.get("status")
    if status is None:
        return LiveQueueUsage(NOTHING, NOTHING, running, doubt or ("" if is_idle else "it has no status"))
    allocated, non_preemptible = _amounts(status, "allocated"), _amounts(status, "allocatedNonPreemptible")
    requested = _amounts(status, "requested")
    for name in RESOURCES:
        least = min(allocated.of(name), non_preemptible.of(name), requested.of(name))
        if least < 0:
            doubt = doubt or f"it says that {said(name, least)} are allocated"
    return LiveQueueUsage(allocated, non_preemptible, running, doubt, requested)


def _running(pod_group: Mapping[str, Any]) -> Decimal:
    """Returns more than 0 if pods of a PodGroup run, less than 0 if nobody knows.

    Older releases count pods, newer releases report what the pods hold.
    """
    status = pod_group.get("status") or {}
    held = (status.get("resourcesStatus") or {}).get("allocated") or {}
    amounts = [_quantity(status.get("running") or 0), *(_quantity(amount) for amount in held.values())]
    return max(amounts) if max(amounts) > 0 else min(amounts)


def _amounts(status: Mapping[str, Any], field: str) -> Amounts:
    """Returns the amounts in a list of resources, in whole GPUs, millicores and bytes, each rounded away from 0."""
    resources = status.get(field) or {}
    gpu, cpu, memory = (_quantity(resources.get(name, 0)) for name in (GPU, "cpu", "memory"))
    return Amounts(_away_from_0(gpu), _away_from_0(cpu * 1000), _away_from_0(memory))


def _away_from_0(amount: Decimal) -> int:
    return math.ceil(amount) if amount > 0 else math.floor(amount)


def _quantity(value: object) -> Decimal:
    amount = quantities.parse(value)
    assert amount is not None  # ``read_object`` refuses the others
    return amount
