"""Queues, PodGroups and nodes of a cluster in, what runs in each queue and what each node is labelled with out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, replace
from decimal import Decimal
from typing import Any, Generic, TypeVar

from kubectl_tas import gpus, quantities
from kubectl_tas.errors import TasError
from kubectl_tas.gpus import GPU
from kubectl_tas.live import cliquesets, kubectl
from kubectl_tas.live.kubectl import Access, ForbiddenError, NoSuchResourceError, shown, text_of
from kubectl_tas.model.labels import WORKFLOW
from kubectl_tas.quantities import NOTHING, RESOURCES, Amounts, said
from kubectl_tas.records import dataclass

QUEUES = "queues.scheduling.run.ai"
POD_GROUPS = "podgroups.scheduling.run.ai"
NODES = "nodes"
PODS = "pods"
QUEUED = ((QUEUES, False), (POD_GROUPS, True), ("priorityclasses.scheduling.k8s.io", False))
"""What tells in which queue pods are, and what goes for what; and whether it is in namespaces."""
SCHEDULED = (
    *QUEUED,
    ("bindrequests.scheduling.run.ai", True),
    ("topologies.kai.scheduler", False),
    ("topologies.kueue.x-k8s.io", False),
)
"""The same of all that KAI's scheduler looks at beside nodes and pods."""
STORAGE = (
    ("persistentvolumes", False),
    ("persistentvolumeclaims", True),
    ("storageclasses.storage.k8s.io", False),
    ("csidrivers.storage.k8s.io", False),
    ("csistoragecapacities.storage.k8s.io", True),
)
"""The same of storage, which many may not read."""

Resources = tuple[tuple[str, bool], ...]
T = TypeVar("T")
_WELL = {
    "Ready": "True",
    **dict.fromkeys(("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"), "False"),
}
"""The conditions of a node that KAI looks at, and what they say of one that it uses."""
_DIGITS = 30
"""Digits of a whole number: more than any API server takes."""


@dataclass(frozen=True, slots=True)
class QueueUsage:
    """What one queue holds."""

    allocated: Amounts
    """All that is held; GPUs are rounded up."""
    non_preemptible: Amounts
    """Of that, what work holds that cannot be preempted."""
    workflows: int
    """PodGroups with running pods."""
    doubt: str = ""
    """Why the numbers do not tell what it holds; empty where they do."""
    requested: Amounts = NOTHING
    """What all its pods ask for that run or wait; GPUs are rounded up."""

    @property
    def in_use(self) -> bool | None:
        """Whether anything runs there; None where that is not known."""
        if self.workflows > 0 or self.allocated.asked:
            return True
        return None if self.doubt else False

    @property
    def used(self) -> Amounts | None:
        """What work holds that cannot be preempted; None where that is not known."""
        return None if self.doubt else self.non_preemptible

    @property
    def running(self) -> int | None:
        """PodGroups with running pods; None where that is not known."""
        return None if self.doubt else self.workflows

    def unknown(self, queue: str) -> str:
        """The sentence about the queue of this name, where its usage is in doubt."""
        return f"of the queue {queue} the cluster does not say what it holds: {self.doubt}"


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a cluster."""

    name: str
    labels: Mapping[str, str]
    gpus: int = 0
    """Whole GPUs that it has for pods."""
    is_ready: bool = True
    """Whether its conditions let pods be placed there."""
    is_cordoned: bool = False
    """Whether it takes no new pods."""

    @property
    def counts(self) -> bool:
        """Whether KAI counts its GPUs: pkg/scheduler/scheduler_util/scheduler_utils.go, 0.12 to 0.17."""
        return self.is_ready and not self.is_cordoned


@dataclass(frozen=True, slots=True)
class RunningGroup:
    """A PodGroup of which pods run."""

    namespace: str
    name: str
    queue: str
    owners: tuple[tuple[str, str], ...]
    """Kind and name of what it was made for."""
    held: Amounts
    """What its pods hold, as far as it says that."""
    work: str = ""
    """The work that it belongs to, as KIND/NAME."""


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The queues of a cluster by name."""

    queues: dict[str, QueueUsage]
    objects: tuple[Mapping[str, Any], ...] = ()
    """The same as kubectl prints them."""
    running: tuple[RunningGroup, ...] = ()
    lacks: TasError | None = None
    """Why nothing is known of its queues."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What there is of a cluster beside nodes and pods."""

    objects: list[dict[str, Any]]
    """As kubectl prints them."""
    hidden: dict[str, str]
    """Why others may not be read, by the resource."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster, or a file with its objects. Nothing is read before it is asked for."""

    access: Access
    file: str | None = None
    """What ``kubectl tas cluster state``, or ``kubectl get``, wrote, instead of a cluster."""

    def state(self) -> ClusterState:
        """Its queues. Raises TasError where they cannot be read."""
        return from_cluster(self.access) if self.file is None else from_file(self.file, self.access.namespace)

    def grove(self) -> cliquesets.GroveState:
        """Grove's objects. Raises TasError where they cannot be read, NoSuchResourceError where Grove is not there."""
        if self.file is None:
            return cliquesets.from_cluster(self.access)
        return cliquesets.from_file(self.file, self.access.namespace)

    def nodes(self) -> list[Node] | None:
        """Its nodes; None where a file has none. Raises TasError where they cannot be read."""
        items = kubectl.get(self.access, NODES) if self.file is None else kubectl.read_file(self.file)
        found = nodes_among(items)
        is_known = self.file is None or found or "Node" in kubectl.complete_kinds(items)
        return found if is_known else None

    def nodes_and_pods(self) -> list[dict[str, Any]]:
        """The objects that tell what its nodes have free, as kubectl prints them, those of all namespaces; others may
        be among them. Raises TasError where they cannot be read.
        """
        if self.file is not None:
            return kubectl.read_file(self.file)
        everywhere = replace(self.access, namespace=None)
        return [*kubectl.get(everywhere, NODES), *kubectl.get(everywhere, PODS, namespaced=True)]

    def queued(self) -> Beside:
        """What tells of ``nodes_and_pods`` in which queue they are, and what goes for what, where it may be read."""
        return self._beside((), QUEUED)

    def scheduling(self) -> Beside:
        """What KAI's scheduler looks at beside ``nodes_and_pods``; storage only where that may be read."""
        return self._beside(SCHEDULED, STORAGE)

    def _beside(self, needed: Resources, more: Resources) -> Beside:
        """What there is in all namespaces beside ``nodes_and_pods``; a file has all of it there.

        Raises TasError where the cluster does not answer, or something needed may not be read.
        """
        everywhere, found = replace(self.access, namespace=None), Beside([], {})
        for resource, namespaced in (*needed, *more) if self.file is None else ():
            try:
                found.objects.extend(kubectl.get(everywhere, resource, namespaced=namespaced))
            except NoSuchResourceError:
                continue
            except ForbiddenError as error:
                if (resource, namespaced) in needed:
                    raise
                found.hidden[resource] = error.message
        return found


@dataclass(frozen=True, slots=True)
class Answers(Generic[T]):
    """What clusters answer, by backend."""

    found: dict[str, T]
    failed: dict[str, TasError]
    """Why others could not be asked, or did not answer."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of backends, by their names."""

    known: Mapping[str, Cluster]
    unknown: Mapping[str, TasError] = field(default_factory=dict)
    """Why nobody can tell which cluster a backend is."""

    def of(self, backend: str) -> Cluster:
        """The cluster of a backend. Raises TasError where nobody can tell which it is."""
        if backend in self.known:
            return self.known[backend]
        hint = f"Pass --cluster-state {backend}=FILE, or --live."
        raise self.unknown.get(backend) or TasError(f"the cluster of the backend {backend} is not asked", hint=hint)

    @property
    def names(self) -> frozenset[str]:
        """The backends that are meant."""
        return frozenset((*self.known, *self.unknown))

    def ask(self, question: Callable[[Cluster], T], backends: Collection[str] | None = None) -> Answers[T]:
        """What each of them, or of those for ``backends``, answers. Raises TasError where it is but one, and that
        cannot be asked.
        """
        meant = sorted(self.names if backends is None else backends)
        answers: Answers[T] = Answers({}, {})
        for name in meant:
            try:
                answers.found[name] = question(self.of(name))
            except TasError as error:
                if len(meant) == 1:
                    raise
                answers.failed[name] = error
        return answers


def from_cluster(access: Access) -> ClusterState:
    """The state of the cluster that ``access`` names. Raises TasError where it cannot be read."""
    objects = kubectl.get(access, QUEUES)
    objects += kubectl.get(access, POD_GROUPS, namespaced=True)
    return state_of(objects, is_whole=access.namespace is None)


def from_file(path: str, namespace: str | None = None) -> ClusterState:
    """The state in a file, with the PodGroups of ``namespace`` only where it is given.

    Raises TasError where it holds something else.
    """
    items = kubectl.read_file(path)
    kinds = kubectl.complete_kinds(items)
    is_whole = "PodGroup" in kinds and kubectl.only_namespace(items) is namespace is None
    state = state_of((item for item in items if _is_in(item, namespace)), is_whole=is_whole)
    if state.queues or "Queue" in kinds:
        return state
    get = f"kubectl get {QUEUES},{POD_GROUPS} -A -o json"
    hint = f"Add what this prints: {get}; or record the cluster with `kubectl tas cluster state`."
    return replace(state, lacks=TasError(f"{path} has no Queue, so it does not say what runs", hint=hint))


def nodes_among(items: Iterable[Mapping[str, Any]]) -> list[Node]:
    """The nodes among objects of a cluster. Raises TasError where one cannot be read."""
    return [_node(item) for item in items if item.get("kind") == "Node"]


def _node(item: Mapping[str, Any]) -> Node:
    """Raises TasError where it is none."""
    try:
        metadata, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
        labels = {text_of(key): str(value) for key, value in dict(metadata.get("labels") or {}).items()}
        return Node(
            text_of(metadata["name"]),
            labels,
            gpus.of_node({name: _quantity(amount) for name, amount in (status.get("allocatable") or {}).items()}),
            is_ready=all(map(is_well, status.get("conditions") or ())),
            is_cordoned=spec.get("unschedulable") is True,
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        hint = "It must be what `kubectl get nodes -o json` prints."
        reason = str(error) if isinstance(error, ValueError) else "it has no name, or invalid labels"
        raise TasError(f"a Node of the cluster cannot be read: {reason}", hint=hint) from error


def is_well(condition: dict[str, Any]) -> bool:
    """Whether a condition of a node keeps KAI from using it: pkg/scheduler/scheduler_util/scheduler_utils.go, 0.17."""
    wanted = _WELL.get(str(condition.get("type")))
    return wanted is None or condition.get("status") == wanted


def _is_in(item: dict[str, Any], namespace: str | None) -> bool:
    if namespace is None or item.get("kind") != "PodGroup":
        return True
    metadata = item.get("metadata")
    return isinstance(metadata, dict) and metadata.get("namespace", "default") == namespace


def state_of(objects: Iterable[Mapping[str, Any]], *, is_whole: bool = False) -> ClusterState:
    """The queues among objects of a cluster; ``is_whole``: all its PodGroups are among them. Raises TasError where a
    Queue or PodGroup cannot be read.
    """
    by_kind: dict[str, list[Mapping[str, Any]]] = {"Queue": [], "PodGroup": []}
    for item in objects:
        kind = str(item.get("kind"))
        if kind in by_kind:
            by_kind[kind].append(item)
    try:
        queues = _usage(by_kind["Queue"], by_kind["PodGroup"], is_whole=is_whole)
        running = tuple(_running_group(item) for item in by_kind["PodGroup"] if _running(item) > 0)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is not built as KAI builds it"
        hint = "It must be what `kubectl get ... -o json` prints."
        raise TasError(f"a Queue or PodGroup of the cluster cannot be read: {reason}", hint=hint) from error
    return ClusterState(queues, tuple(by_kind["Queue"]), running)


def _running_group(item: Mapping[str, Any]) -> RunningGroup:
    metadata, status = item.get("metadata") or {}, item.get("status") or {}
    owners = tuple((str(owner.get("kind")), str(owner.get("name"))) for owner in metadata.get("ownerReferences") or ())
    return RunningGroup(
        str(metadata.get("namespace", "default")),
        str(metadata.get("name")),
        str((item.get("spec") or {}).get("queue")),
        owners,
        _amounts(status.get("resourcesStatus") or {}, "allocated"),
        work_of(item),
    )


def work_of(item: Mapping[str, Any]) -> str:
    """The work that a PodGroup or pod belongs to, as KIND/NAME; itself where nothing says so."""
    metadata = item.get("metadata") or {}
    workflow = (metadata.get("labels") or {}).get(WORKFLOW)
    owners = [owner for owner in metadata.get("ownerReferences") or () if isinstance(owner, dict)]
    if workflow is not None:
        return f"Workflow/{workflow}"
    named = owners[0] if owners else {"kind": item.get("kind"), "name": metadata.get("name")}
    return f"{named.get('kind')}/{named.get('name')}"


def _usage(
    queues: Iterable[Mapping[str, Any]], pod_groups: Iterable[Mapping[str, Any]], *, is_whole: bool
) -> dict[str, QueueUsage]:
    running: Counter[str] = Counter()
    doubts: dict[str, str] = {}
    unlooked: set[str] = set()
    for item in pod_groups:
        queue, pods = str((item.get("spec") or {}).get("queue")), _running(item)
        if pods > 0 or not item.get("status"):
            unlooked.add(queue)
        if pods < 0:
            doubts[queue] = "one of its PodGroups says that fewer than no pods run"
        running[queue] += pods > 0
    found: dict[str, QueueUsage] = {}
    for item in queues:
        name = text_of(item["metadata"]["name"])
        is_idle = is_whole and name not in unlooked
        usage = _held(item, running[name], doubts.get(name, ""), is_idle=is_idle)
        if found.setdefault(name, usage) != usage:
            found[name] = replace(usage, doubt="it appears twice, with different numbers")
    return found


def _held(queue: Mapping[str, Any], running: int, doubt: str, *, is_idle: bool) -> QueueUsage:
    """What a queue holds. KAI leaves out of a status what is empty, and writes none before a PodGroup names the queue;
    ``is_idle``: its PodGroups are known, and hold nothing.
    """
    status = queue.get("status")
    if status is None:
        return QueueUsage(NOTHING, NOTHING, running, doubt or ("" if is_idle else "it has no status"))
    allocated, non_preemptible = _amounts(status, "allocated"), _amounts(status, "allocatedNonPreemptible")
    requested = _amounts(status, "requested")
    for name in RESOURCES:
        least = min(allocated.of(name), non_preemptible.of(name), requested.of(name))
        if least < 0:
            doubt = doubt or f"it says that {said(name, least)} are allocated"
    return QueueUsage(allocated, non_preemptible, running, doubt, requested)


def _running(pod_group: Mapping[str, Any]) -> Decimal:
    """More than 0 where pods of a PodGroup run, less where nobody knows.

    Older releases count pods, newer ones report what they hold.
    """
    status = pod_group.get("status") or {}
    held = (status.get("resourcesStatus") or {}).get("allocated") or {}
    amounts = [_quantity(status.get("running") or 0), *(_quantity(amount) for amount in held.values())]
    return max(amounts) if max(amounts) > 0 else min(amounts)


def _amounts(status: Mapping[str, Any], field: str) -> Amounts:
    """What a list of resources holds, in whole GPUs, millicores and bytes, each rounded away from 0."""
    found = status.get(field) or {}
    gpu, cpu, memory = (_quantity(found.get(name, 0)) for name in (GPU, "cpu", "memory"))
    return Amounts(_away_from_0(gpu), _away_from_0(cpu * 1000), _away_from_0(memory))


def _away_from_0(amount: Decimal) -> int:
    return math.ceil(amount) if amount > 0 else math.floor(amount)


def _quantity(value: object) -> Decimal:
    """A Kubernetes quantity as a number. Raises ValueError for anything else."""
    found = quantities.parse(value)
    if found is None:
        raise ValueError(f"{shown(value)} is no quantity")
    return found
