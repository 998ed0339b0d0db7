"""Nodes of a cluster against the repository: which are outside of a topology, and whether pools have enough of them.

A node that lacks the label of any level is outside of the whole Topology, for preferred levels too: KAI's
``isNodePartOfTopology`` of pkg/scheduler/plugins/topology/common.go, 0.12 to 0.17.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity, Waiving
from kubectl_tas.kai import Feature
from kubectl_tas.live.cluster import Node
from kubectl_tas.model import labels
from kubectl_tas.records import dataclass
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.resolve.topologies import FleetTopology, Level

GUARANTEE_EXCEEDS_NODES = Rule(
    "guarantee-exceeds-nodes",
    Severity.WARNING,
    "Pools are guaranteed more GPUs than the nodes have that they may use.",
    "Such guarantees cannot all be kept: work within its quota waits for GPUs that are not there. Counted is what "
    "KAI counts: the GPUs that nodes have for pods (allocatable, MIG devices by their slices), but not of nodes that "
    "are cordoned or not ready. A pool may use the nodes that match its nodes.selector and its nodePool; what is "
    "guaranteed to its child pools counts for these, on their nodes. What pods of other schedulers hold there, which "
    "KAI subtracts, is not known here.",
    protects=Waiving.CONFIG,
)
SELECTOR_WITHOUT_NODES = Rule(
    "selector-without-nodes",
    Severity.WARNING,
    "No node of the cluster has the labels that a pool asks for.",
    "Its nodes.selector is put on all its pods, and its nodePool names the shard of KAI's scheduler that places them, "
    "so none of them would ever run. Correct it, or label the nodes.",
    protects=Waiving.CONFIG,
)
LEVEL_WITHOUT_NODES = Rule(
    "level-without-nodes",
    Severity.WARNING,
    "No node of the cluster has the label of a level, or none has those of all levels of a topology.",
    "KAI leaves a node that lacks the label of any level out of the whole topology, so nothing that is placed by it "
    "would ever run. Correct the label, label the nodes, or leave the level out.",
    protects=Waiving.CONFIG,
)


@dataclass(frozen=True, slots=True)
class Coverage:
    """The nodes that a topology can use, and what the others lack."""

    topology: str
    nodes: int
    """Nodes of the cluster."""
    outside: tuple[str, ...]
    """Names of those that no gang placed by the topology can use, sorted."""
    missing: tuple[tuple[Level, tuple[str, ...]], ...]
    """The levels that nodes lack, and which nodes, from the coarsest level."""
    backend: str | None = None
    """The cluster, where there are several."""

    @property
    def full_name(self) -> str:
        """Cluster, where there are several, and topology."""
        return f"{self.backend}/{self.topology}" if self.backend else self.topology


def coverage(fleet: Fleet, backend: str, nodes: Sequence[Node]) -> list[Coverage]:
    """For each topology of the fleet that is for a backend."""
    found = []
    cluster = backend if len(fleet.backends) > 1 else None
    for topology in fleet.topologies:
        if topology.backend is not None and topology.backend.name != backend:
            continue
        lacking = [(item, [n.name for n in nodes if item.label not in n.labels]) for item in topology.levels]
        missing = tuple((level, tuple(sorted(names))) for level, names in lacking if names)
        outside = tuple(sorted({name for _, names in missing for name in names}))
        found.append(Coverage(topology.name, len(nodes), outside, missing, cluster))
    return found


def check_nodes(fleet: Fleet, backend: FleetBackend, nodes: Sequence[Node]) -> Iterator[Diagnostic]:
    """Guarantees, selectors and topologies of a backend that its nodes do not live up to."""
    if not backend.is_kai:
        return
    usable: dict[str, frozenset[str]] = {}
    pools = [pool for pool in fleet.pools if pool.backend == backend]
    for pool in pools:
        usable[pool.name] = frozenset(node.name for node in nodes if may_use(pool, node.labels))
        if not usable[pool.name] and nodes:
            yield _selects_none(pool)
    finite = [pool for pool in pools if "gpu" in pool.finite and (usable[pool.name] or not nodes)]
    yield from _exceeded(backend, finite, usable, nodes)
    for topology in fleet.topologies:
        if backend.has(Feature.TOPOLOGY) and nodes and _is_used(fleet, topology, backend):
            yield from _unlabelled(topology, backend, nodes)


def may_use(pool: FleetPool, has: Mapping[str, str]) -> bool:
    """Whether pods of a pool may run on a node with these labels: those of the selector, and of the same shard."""
    is_of_shard = has.get(labels.NODE_POOL) == pool.shard
    return is_of_shard and all(has.get(key) == value for key, value in pool.nodes.selector.items())


def _guaranteed(pool: FleetPool) -> int:
    """GPUs, of a pool that is guaranteed a number of them, without those of its child pools, which count there."""
    return max(0, int(pool.guarantee.gpu) - sum(int(child.quota.gpu) for child in pool.children))


def _share(pool: FleetPool) -> str:
    return f"{pool.name} {_guaranteed(pool)}{' besides its child pools' if pool.children else ''}"


def _needed(pool: FleetPool) -> str:
    wanted = pool.nodes.selector | pool.shard_labels
    return ", ".join(f"{key}={value}" for key, value in sorted(wanted.items()))


def _selects_none(pool: FleetPool) -> Diagnostic:
    spec = pool.declared.spec.spec
    path = ("nodes", "selector") if spec.nodes.selector else ("nodePool",) if spec.nodePool else ()
    if path:
        message = f"no node of backend {pool.backend.name} has {_needed(pool)}, which pool {pool.name} asks for"
    else:
        message = f"every node of backend {pool.backend.name} is of a shard, but pool {pool.name} names no nodePool"
    hint = "Correct it, or label the nodes."
    return Diagnostic(SELECTOR_WITHOUT_NODES, message, pool.declared.at("spec", *path), hint=hint)


def _exceeded(
    backend: FleetBackend, pools: Sequence[FleetPool], usable: dict[str, frozenset[str]], nodes: Sequence[Node]
) -> Iterator[Diagnostic]:
    """For each set of nodes, from the smallest: the pools that can use no others. Those that were found to ask too
    much of a part of the set, and that part, are left out.
    """
    reported: set[str] = set()
    spent: frozenset[str] = frozenset()
    for within in sorted({usable[pool.name] for pool in pools}, key=lambda names: (len(names), sorted(names))):
        confined = [pool for pool in pools if usable[pool.name] <= within and pool.name not in reported]
        left = within - spent
        own = [node for node in nodes if node.name in left]
        guaranteed, there = sum(_guaranteed(pool) for pool in confined), sum(node.gpus for node in own if node.counts)
        if guaranteed > there:
            yield _exceeds(backend, confined, own, guaranteed)
            reported |= {pool.name for pool in confined}
            spent |= within


def _exceeds(backend: FleetBackend, pools: Sequence[FleetPool], nodes: Sequence[Node], guaranteed: int) -> Diagnostic:
    largest = max(pools, key=_guaranteed)
    shares = ", ".join(_share(pool) for pool in pools if _guaranteed(pool))
    there = [node for node in nodes if node.counts]
    gpus, cordoned = sum(node.gpus for node in there), sum(node.gpus for node in nodes if node.is_cordoned)
    lost = sum(node.gpus for node in nodes if not node.is_ready and not node.is_cordoned)
    notes = [f"{cordoned} more on nodes that are cordoned"] if cordoned else []
    notes += [f"{lost} more on nodes that are not ready"] if lost else []
    where = f" with {_needed(largest)}" if all(_needed(pool) == _needed(largest) != "" for pool in pools) else ""
    message = (
        f"on backend {backend.name} {plural(guaranteed, 'GPU')} are guaranteed ({shares}), but its "
        f"{plural(len(there), 'node')}{where} {'has' if len(there) == 1 else 'have'} {gpus}"
    )
    message += f" ({'; '.join(notes)})" if notes else ""
    path = ("spec", "resources", "gpu", "guarantee")
    related = tuple(
        Related(f"pool {pool.name}", pool.declared.at(*path))
        for pool in pools
        if pool is not largest and _guaranteed(pool)
    )
    hint = f"Guarantee {plural(guaranteed - gpus, 'GPU')} less, or add nodes."
    return Diagnostic(GUARANTEE_EXCEEDS_NODES, message, largest.declared.at(*path), related, hint=hint)


def _is_used(fleet: Fleet, topology: FleetTopology, backend: FleetBackend) -> bool:
    """Whether a topology is for a backend; where there are several, a cluster topology that anything there uses."""
    if topology.backend is not None or len(fleet.backends) == 1:
        return topology.backend in (None, backend)
    sets = (item for item in fleet.pod_clique_sets if item.backend == backend)
    return (
        any(pool.topology == topology for pool in fleet.pools if pool.backend == backend)
        or any(work.backend == backend.name for work in fleet.placed_by(topology))
        or any(item.topology_name == topology.name for item in sets)
    )


def _unlabelled(topology: FleetTopology, backend: FleetBackend, nodes: Sequence[Node]) -> Iterator[Diagnostic]:
    called = f"pool {topology.pool}" if topology.pool else f'the cluster topology "{topology.name}"'
    hint = "Correct the label, label the nodes, or leave the level out."
    is_complete = True
    for index, level in enumerate(topology.levels):
        if not any(level.label in node.labels for node in nodes):
            is_complete = False
            message = (
                f"no node of backend {backend.name} has the label {level.label} of level {level.key} of {called}, so "
                f"all nodes ({len(nodes)}) are outside of the topology"
            )
            place = topology.declared.origin.locate((*topology.path, index))
            yield Diagnostic(LEVEL_WITHOUT_NODES, message, place, hint=hint)
    if is_complete and not any(all(level.label in node.labels for level in topology.levels) for node in nodes):
        message = (
            f"no node of backend {backend.name} has the labels of all levels of {called}, so all nodes "
            f"({len(nodes)}) are outside of the topology"
        )
        place = topology.declared.origin.locate(topology.path, key=True)
        yield Diagnostic(LEVEL_WITHOUT_NODES, message, place, hint=hint)
