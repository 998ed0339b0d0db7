"""Finds the GPUs in a cluster that no queue is charged for, and the GPUs that are really free for guaranteed work.

KAI 0.17 charges a queue for the PodGroups that name it (``updateQueuesCurrentResourceUsage`` of
pkg/scheduler/plugins/proportion/proportion.go). Pods of other PodGroups, and pods without one, keep their GPUs, and KAI
never evicts them (pkg/scheduler/actions/utils/input_jobs.go).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic, Rule, Severity, TasError, Waiving
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import shortened
from kubectl_tas.facts.quantities import said
from kubectl_tas.live import kubectl
from kubectl_tas.live.live_cluster import Cluster, Clusters, work_of
from kubectl_tas.model.labels import POD_GROUP
from kubectl_tas.place.node_resources import ENDED, read_nodes, requests
from kubectl_tas.place.queues import CREATED, OF_KAI, counted, held_by_others, held_gangs
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet

GPUS_UNCHARGED = Rule(
    "gpus-uncharged",
    Severity.WARNING,
    "Pods hold GPUs that KAI charges no queue for.",
    "Their queue or PodGroup is gone, for example since a pool was renamed, or they never had a PodGroup. KAI promises "
    "their GPUs to pools, and never takes them back. End that work, or send it again: docs/draining.md.",
    protects=Waiving.CONFIG,
)
GPUS_ELSEWHERE = Rule(
    "gpus-elsewhere",
    Severity.INFO,
    "Pods of other schedulers hold GPUs in a cluster.",
    "KAI divides only the GPUs that these pods leave, so its pools share fewer GPUs than the nodes have.",
    protects=Waiving.CONFIG,
)
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Uncharged:
    """GPUs of one piece of work that no queue is charged for."""

    reason: str
    """Cause that completes the sentence: 8 GPUs are held WHY."""
    is_of_kai: bool
    """Whether KAI's scheduler placed the pods of the work."""
    namespace: str
    work: str
    """The work as KIND/NAME."""
    gpus: int
    since: str
    """Time at which the first pod started, as Kubernetes writes it; empty if unknown."""

    @property
    def sentence(self) -> str:
        """The cause, as in: held WHY."""
        return f"held {self.reason}"

    def __str__(self) -> str:
        since = f" since {self.since}" if self.since else ""
        return f"{self.work} in namespace {self.namespace} ({said('gpu', self.gpus)}{since})"


@dataclass(frozen=True)
class Holdings:
    """Uncharged and free GPUs of a cluster."""

    uncharged: tuple[Uncharged, ...]
    """Work whose GPUs no queue is charged for, by cause, then the largest first."""
    free: Mapping[str, int]
    """GPUs by node that guaranteed work can have: no pod holds them, or KAI can take them back."""
    labels: Mapping[str, Mapping[str, str]]
    """Labels of the nodes in ``free``, by node name."""


@dataclass(frozen=True, slots=True)
class Objects:
    """Objects of a cluster that tell about its nodes, pods and queues."""

    manifests: Sequence[Mapping[str, Any]]
    is_whole: bool = False
    """Whether the objects include all PodGroups."""
    hidden: str = ""
    """Reason why the objects could not be read; empty if they were read."""


def objects_of(cluster: Cluster) -> Objects:
    """Returns the objects that tell who holds GPUs; none if they may not be read, or are too many."""
    try:
        objects = [*cluster.nodes_and_pods(), *cluster.queued().objects]
    except TasError as error:
        if cluster.file is not None:
            raise
        return Objects((), hidden=error.message)
    is_all = "PodGroup" in kubectl.complete_kinds(objects) and kubectl.only_namespace(objects) is None
    return Objects(objects, cluster.file is None or is_all)


def holdings(objects: Objects, scheduler: str) -> Holdings | None:
    """Returns who holds which GPUs; None if nodes or pods are unknown. Raises TasError if an object cannot be read."""
    manifests, complete = objects.manifests, kubectl.complete_kinds(objects.manifests)
    if not any(manifest.get("kind") == "Node" for manifest in manifests):
        return None
    nodes = read_nodes(manifests, complete)
    if not (nodes.knows_pods or objects.is_whole):
        return None
    queues = {
        str((manifest.get("metadata") or {}).get("name")) for manifest in manifests if manifest.get("kind") == "Queue"
    }
    free = {node.name: int(counted(node.free).gpu) for node in nodes.nodes if node.is_ready and not node.is_cordoned}
    for gang in held_gangs(manifests):
        if gang.is_preemptible and gang.queue in queues:
            for node, requested in gang.pods:
                if node in free:
                    free[node] += int(counted(requested).gpu)
    labels = {node.name: node.labels for node in nodes.nodes if node.name in free}
    at_least_none = {name: max(0, gpus) for name, gpus in free.items()}
    return Holdings(tuple(_uncharged(objects, queues, scheduler)), at_least_none, labels)


def _uncharged(objects: Objects, queues: set[str], scheduler: str) -> Iterator[Uncharged]:
    groups: dict[str, Mapping[str, Any]] = {}
    for manifest in objects.manifests:
        if manifest.get("kind") == "PodGroup":
            groups[str((manifest.get("metadata") or {}).get("name"))] = manifest
    gpus: Counter[tuple[str, bool, str, str]] = Counter()
    since: dict[tuple[str, bool, str, str], str] = {}
    for manifest in objects.manifests:
        if manifest.get("kind") != "Pod":
            continue
        spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
        if not spec.get("nodeName") or status.get("phase") in ENDED:
            continue
        held, metadata = int(counted(requests(spec)).gpu), manifest["metadata"]
        if not held:
            continue
        reason = _why(manifest, groups, queues, scheduler, is_whole=objects.is_whole)
        if reason is None:
            continue
        group = groups.get(str((metadata.get("annotations") or {}).get(POD_GROUP)), manifest)
        key = (*reason, str(metadata.get("namespace") or "default"), work_of(group))
        gpus[key] += held
        started = str(status.get("startTime") or metadata.get(CREATED) or "")
        since[key] = min(since.get(key, started), started)
    for key in sorted(gpus, key=lambda key: (key[0], -gpus[key], key)):
        yield Uncharged(*key, gpus[key], since[key])


def _why(
    pod: Mapping[str, Any],
    groups: Mapping[str, Mapping[str, Any]],
    queues: set[str],
    scheduler: str,
    *,
    is_whole: bool,
) -> tuple[str, bool] | None:
    """Returns why no queue is charged for a pod on a node, and whether KAI placed the pod; None if a queue is charged
    for the pod, or nobody knows.
    """
    if held_by_others(pod, scheduler) is not None:
        return f"by pods of the scheduler {pod['spec'].get('schedulerName') or 'default-scheduler'}", False
    metadata = pod["metadata"]
    if metadata.get("namespace") in OF_KAI:
        return None
    name = (metadata.get("annotations") or {}).get(POD_GROUP)
    group = groups.get(str(name))
    if name is None:
        return "by pods without a PodGroup", True
    if group is None:
        return (f"in the PodGroup {name}, which is gone", True) if is_whole else None
    queue = (group.get("spec") or {}).get("queue")
    if not queue:
        return "in PodGroups without a queue", True
    return (f"in the queue {queue}, which is gone", True) if queues and queue not in queues else None


def sentences(backend: str, uncharged: Iterable[Uncharged]) -> Iterator[tuple[bool, str]]:
    """Yields for each cause whether KAI placed the work, and a sentence: who holds how many GPUs, and since when."""
    causes: dict[tuple[str, bool], list[Uncharged]] = {}
    for holding in uncharged:
        causes.setdefault((holding.reason, holding.is_of_kai), []).append(holding)
    for (reason, is_of_kai), holdings_alike in causes.items():
        gpus = sum(holding.gpus for holding in holdings_alike)
        verb = "is" if gpus == 1 else "are"
        yield is_of_kai, f"backend {backend}: {said('gpu', gpus)} {verb} held {reason}: {_named(holdings_alike)}"


def _named(uncharged: Sequence[Uncharged]) -> str:
    return shortened([str(holding) for holding in uncharged], _MOST_NAMED)


def check_holdings(fleet: Fleet, clusters: Clusters, but: Collection[str], unread: Rule) -> Iterator[Diagnostic]:
    """Yields findings about GPUs that no queue is charged for, in each cluster with KAI's pools. Skips clusters in
    ``but``, which cannot be read, and clusters for which a single namespace is given. ``unread`` is the rule for pods
    that nobody may read. Raises TasError if the only cluster does not answer.
    """
    named = {name for name, cluster in clusters.known.items() if cluster.access.namespace is None}.difference(but)
    names = {pool.backend.name for pool in fleet.pools if pool.backend.is_kai} & named
    backends = [backend for backend in fleet.backends if backend.name in names]
    answers = clusters.ask(objects_of, [backend.name for backend in backends])
    for backend in backends:
        if backend.name in answers.found:
            yield from _findings(backend, answers.found[backend.name], unread)


def _findings(backend: FleetBackend, objects: Objects, unread: Rule) -> Iterator[Diagnostic]:
    if objects.hidden:
        message = f"who holds the GPUs of backend {backend.name} is not known: {objects.hidden}"
        hint = "Ask the administrator of the cluster, or pass --cluster-state FILE."
        yield Diagnostic(unread, message, None, hint=hint)
        return
    held = holdings(objects, backend.scheduler_name)
    for is_of_kai, text in sentences(backend.name, held.uncharged if held else ()):
        if is_of_kai:
            hint = "End that work, or send it to a queue that exists: KAI never takes these GPUs back."
            yield Diagnostic(GPUS_UNCHARGED, text, None, hint=hint)
        else:
            yield Diagnostic(GPUS_ELSEWHERE, text, None, hint="KAI divides what these pods leave.")
