"""Compares the nodes of a cluster with the repository: nodes outside of topologies, and pools with too few nodes.

A node without the label of any one level is outside of the whole Topology, even for preferred levels
(``isNodePartOfTopology`` of pkg/scheduler/plugins/topology/common.go, KAI 0.12 to 0.17).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity, Waiving
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import shortened
from kubectl_tas.compare.nodelevels import domains_of, split
from kubectl_tas.facts.kai import Feature
from kubectl_tas.facts.node_places import admits, choices, instead, values_at
from kubectl_tas.gangs.gang import Gang
from kubectl_tas.gangs.workflow_gang import gangs_of_workflow
from kubectl_tas.gangs.written_gangs import gangs_of_set
from kubectl_tas.kinds import SET
from kubectl_tas.live.live_cluster import LiveNode
from kubectl_tas.model import labels
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.podcliqueset import SubmittedSet
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.resolve.topologies import FleetTopology, Level

_SHOWN = 5

GUARANTEE_EXCEEDS_NODES = Rule(
    "guarantee-exceeds-nodes",
    Severity.WARNING,
    "Pools are guaranteed more GPUs than their nodes have.",
    "KAI cannot keep all these guarantees: work within its quota waits for GPUs that do not exist. This rule counts as "
    "KAI does: allocatable GPUs, MIG devices by their slices, without nodes that are cordoned or not ready. A pool may "
    "use the nodes that match its nodes.selector and its nodePool. The guarantees of child pools count on their own "
    "nodes. KAI also subtracts GPUs that pods of other schedulers hold; this rule does not know them.",
    protects=Waiving.CONFIG,
)
SELECTOR_WITHOUT_NODES = Rule(
    "selector-without-nodes",
    Severity.WARNING,
    "No node has the labels that a pool, a platform or a workload asks for.",
    "`render` puts a pool's nodes.selector on all its pods, and its nodePool names the shard of KAI's scheduler that "
    "places them. A workload chooses among these nodes by nodeSelector and affinity, for example by "
    "nvidia.com/gpu.product. If no node has the labels, the pods never run. Correct them, or label the nodes.",
    protects=Waiving.CONFIG,
)
LEVEL_WITHOUT_NODES = Rule(
    "level-without-nodes",
    Severity.WARNING,
    "No node of the cluster has the label of a level, or those of all levels.",
    "KAI leaves a node that lacks the label of any level out of the whole topology, so no work with this topology "
    "would ever run. Correct the label, label the nodes, or leave the level out.",
    protects=Waiving.CONFIG,
)
LEVELS_NOT_NESTED = Rule(
    "levels-not-nested",
    Severity.ERROR,
    "A domain of a level has nodes in several domains of a coarser level.",
    "KAI reads the labels of a node from the coarsest level down, and takes such a domain for several domains of one "
    "name. It offers a gang that must be in one of them each part, never the whole. Most often two levels are in the "
    "wrong order, or nodes have a wrong label. `kubectl tas topology suggest` shows in which order labels nest. If "
    "several racks share a name, such as rack-1 of each zone, waive the rule at that level.",
)


@json_fields("key=level.key label=level.label nodes")
class LackingNodes(NamedTuple):
    """Nodes without the label of a level."""

    level: Level
    nodes: tuple[str, ...]
    """Names of the nodes."""


@json_fields("backend topology nodes outside missing")
@dataclass(frozen=True, slots=True)
class Coverage:
    """The nodes that a topology can use, and the labels that other nodes lack."""

    topology: str
    nodes: int
    """Number of nodes in the cluster."""
    outside: tuple[str, ...]
    """Sorted names of nodes that are unusable for gangs placed by the topology."""
    missing: tuple[LackingNodes, ...]
    """Levels whose label is missing on some nodes, coarsest first."""
    backend: str | None = None
    """The cluster, if the fleet has several."""

    @property
    def full_name(self) -> str:
        """Name of the topology, with its cluster if the fleet has several."""
        return f"{self.backend}/{self.topology}" if self.backend else self.topology


def coverage(fleet: Fleet, backend: str, nodes: Sequence[LiveNode]) -> list[Coverage]:
    """Returns the coverage of each topology of the fleet that is for a backend."""
    coverages = []
    cluster = backend if len(fleet.backends) > 1 else None
    for topology in fleet.topologies:
        if topology.backend is not None and topology.backend.name != backend:
            continue
        lacking = [(level, [n.name for n in nodes if level.label not in n.labels]) for level in topology.levels]
        missing = tuple(LackingNodes(level, tuple(sorted(names))) for level, names in lacking if names)
        outside = tuple(sorted({name for _, names in missing for name in names}))
        coverages.append(Coverage(topology.name, len(nodes), outside, missing, cluster))
    return coverages


def check_nodes(fleet: Fleet, backend: FleetBackend, nodes: Sequence[LiveNode]) -> Iterator[Diagnostic]:
    """Reports guarantees, selectors and topologies of a backend that its nodes cannot satisfy."""
    if not backend.is_kai:
        return
    usable: dict[str, frozenset[str]] = {}
    pools = [pool for pool in fleet.pools if pool.backend == backend]
    for pool in pools:
        usable[pool.name] = frozenset(node.name for node in nodes if may_use(pool, node.labels))
        if not usable[pool.name] and nodes:
            spec = pool.declared.spec.spec
            path = ("nodes", "selector") if spec.nodes.selector else ("nodePool",) if spec.nodePool else ()
            if path:
                message = f"no node of backend {pool.backend.name} has {_needed(pool)}, which pool {pool.name} asks for"
            else:
                shard = f"every node of backend {pool.backend.name} is of a shard"
                message = f"{shard}, but pool {pool.name} names no nodePool"
            hint = "Correct it, or label the nodes."
            yield Diagnostic(SELECTOR_WITHOUT_NODES, message, pool.declared.at("spec", *path), hint=hint)
        yield from _platforms(pool, [node for node in nodes if node.name in usable[pool.name]])
    choosing: tuple[FleetWorkload | SubmittedSet, ...] = (*fleet.workloads, *fleet.submitted_sets)
    for submission in choosing:
        if submission.pool.backend == backend and usable[submission.pool.name]:
            yield from _chosen(submission, nodes)
    finite = [pool for pool in pools if "gpu" in pool.finite and (usable[pool.name] or not nodes)]
    yield from _exceeded(backend, finite, usable, nodes)
    for topology in fleet.topologies:
        if backend.has(Feature.TOPOLOGY) and nodes and _is_used(fleet, topology, backend):
            yield from _unlabelled(topology, backend, nodes)
            yield from _split(topology, backend, nodes)


def may_use(pool: FleetPool, has: Mapping[str, str]) -> bool:
    """Whether pods of a pool may run on a node with these labels, by the pool's node selector and shard."""
    is_of_shard = has.get(labels.NODE_POOL) == pool.shard
    return is_of_shard and all(has.get(key) == value for key, value in pool.nodes.selector.items())


def _guaranteed(pool: FleetPool) -> int:
    """Returns the guaranteed GPUs of a pool with a finite guarantee, without the quotas of its child pools."""
    return max(0, int(pool.guarantee.gpu) - sum(int(child.quota.gpu) for child in pool.children))


def _needed(pool: FleetPool) -> str:
    selector = pool.nodes.selector | pool.shard_labels
    return ", ".join(f"{key}={value}" for key, value in sorted(selector.items()))


def _platforms(pool: FleetPool, nodes: Sequence[LiveNode]) -> Iterator[Diagnostic]:
    for platform in pool.platforms.by_name.values() if nodes else ():
        selector = pool.nodes.selector | platform.chosen
        if not any(selector.items() <= node.labels.items() for node in nodes):
            asks = ", ".join(f"{key}={value}" for key, value in sorted(selector.items()))
            message = f"no node that pool {pool.name} may use has {asks}, which platform {platform.name} asks for"
            location = pool.declared.origin.locate(platform.path, key=True)
            yield Diagnostic(SELECTOR_WITHOUT_NODES, message, location, hint="Correct it, or label the nodes.")


def _chosen(submission: FleetWorkload | SubmittedSet, nodes: Sequence[LiveNode]) -> Iterator[Diagnostic]:
    """Reports the first label in the node choice of pods that, with the labels before, leaves no node."""
    origin, pool = submission.declared.origin, submission.pool
    if isinstance(submission, FleetWorkload):
        paths = [(*replicated.path, "spec") for replicated in submission.templates if replicated.template is not None]
    else:
        paths = [(*clique.path, "spec", "podSpec") for clique in submission.set.cliques]
    of_shard = [node for node in nodes if node.labels.get(labels.NODE_POOL) == pool.shard]
    for path in dict.fromkeys(paths):
        spec = origin.value(path)
        places, keys = dict(choices(spec)), list[str]()
        selector = {
            key: value for key, value in pool.nodes.selector.items() if places.get(key, ("",))[0] != "nodeSelector"
        }
        candidates = [node for node in of_shard if selector.items() <= node.labels.items()]
        for key, where in places.items():
            keys.append(key)
            if not any(admits(spec, node.labels, keys=keys) for node in candidates):
                values = values_at(spec, where)
                message = f"pool {pool.name} has no node with the {' and '.join(keys)} that {submission.kind} "
                message += f"{submission.name} "
                message += f"asks for: {shortened(values)}" if values else "asks for"
                existing = {node.labels[key] for node in candidates if key in node.labels}
                hint = instead(values, existing) or "Correct it, or label the nodes."
                location = origin.locate((*path, *where))
                yield Diagnostic(SELECTOR_WITHOUT_NODES, message, location, hint=hint)
                break


def _exceeded(
    backend: FleetBackend, pools: Sequence[FleetPool], usable: dict[str, frozenset[str]], nodes: Sequence[LiveNode]
) -> Iterator[Diagnostic]:
    """Reports sets of nodes, smallest first, with too few GPUs for the pools that can use no other nodes."""
    reported: set[str] = set()
    spent: frozenset[str] = frozenset()
    for within in sorted({usable[pool.name] for pool in pools}, key=lambda names: (len(names), sorted(names))):
        confined = [pool for pool in pools if usable[pool.name] <= within and pool.name not in reported]
        unspent = within - spent
        unspent_nodes = [node for node in nodes if node.name in unspent]
        guaranteed = sum(map(_guaranteed, confined))
        if guaranteed > sum(node.gpus for node in unspent_nodes if node.counts):
            yield _exceeds(backend, confined, unspent_nodes, guaranteed)
            reported |= {pool.name for pool in confined}
            spent |= within


def _exceeds(
    backend: FleetBackend, pools: Sequence[FleetPool], nodes: Sequence[LiveNode], guaranteed: int
) -> Diagnostic:
    largest, guaranteeing = max(pools, key=_guaranteed), [pool for pool in pools if _guaranteed(pool)]
    besides = {pool.name: " besides its child pools" if pool.children else "" for pool in pools}
    shares = ", ".join(f"{pool.name} {_guaranteed(pool)}{besides[pool.name]}" for pool in guaranteeing)
    counted_nodes = [node for node in nodes if node.counts]
    gpus, cordoned = sum(node.gpus for node in counted_nodes), sum(node.gpus for node in nodes if node.is_cordoned)
    lost = sum(node.gpus for node in nodes if not node.is_ready and not node.is_cordoned)
    states = ((cordoned, "cordoned"), (lost, "not ready"))
    notes = [f"{number} more on nodes that are {state}" for number, state in states if number]
    where = f" with {_needed(largest)}" if all(_needed(pool) == _needed(largest) != "" for pool in pools) else ""
    message = (
        f"on backend {backend.name} {plural(guaranteed, 'GPU')} are guaranteed ({shares}), but its "
        f"{plural(len(counted_nodes), 'node')}{where} {'has' if len(counted_nodes) == 1 else 'have'} {gpus}"
    )
    message += f" ({'; '.join(notes)})" if notes else ""
    path = ("spec", "resources", "gpu", "guarantee")
    smaller_pools = (pool for pool in guaranteeing if pool is not largest)
    related = tuple(Related(f"pool {pool.name}", pool.declared.at(*path)) for pool in smaller_pools)
    hint = f"Guarantee {plural(guaranteed - gpus, 'GPU')} less, or add nodes."
    return Diagnostic(GUARANTEE_EXCEEDS_NODES, message, largest.declared.at(*path), related, hint=hint)


def _is_used(fleet: Fleet, topology: FleetTopology, backend: FleetBackend) -> bool:
    """Whether a topology is for a backend. With several backends, work there must use a cluster topology."""
    if topology.backend is not None or len(fleet.backends) == 1:
        return topology.backend in (None, backend)
    sets = (clique_set for clique_set in fleet.pod_clique_sets if clique_set.backend == backend)
    return (
        any(pool.topology == topology for pool in fleet.pools if pool.backend == backend)
        or any(work.backend == backend.name for work in fleet.placed_by(topology))
        or any(clique_set.topology_name == topology.name for clique_set in sets)
    )


def _split(topology: FleetTopology, backend: FleetBackend, nodes: Sequence[LiveNode]) -> Iterator[Diagnostic]:
    """Reports the first domain of each level that lies in several domains of the level above. For KAI a domain is
    defined by all labels down to its level (``calcDomainId`` of pkg/scheduler/plugins/topology, 0.12 to 0.17).
    """
    labels_ = [level.label for level in topology.levels]
    labelled_nodes = [node for node in nodes if all(label in node.labels for label in labels_)]
    for index, (coarser, finer) in enumerate(pairwise(topology.levels), 1):
        for name, above in split(domains_of(labelled_nodes, finer.label), coarser.label):
            message = (
                f"on backend {backend.name} {finer.key} {name} has nodes in {shortened(above, _SHOWN)} of "
                f"{coarser.key}, so KAI takes it for {len(above)} domains"
            )
            hint = "Take the order that `kubectl tas topology suggest` shows, or correct the labels of the nodes."
            location = topology.declared.origin.locate((*topology.path, index))
            yield Diagnostic(LEVELS_NOT_NESTED, message, location, hint=hint)
            break


def _unlabelled(topology: FleetTopology, backend: FleetBackend, nodes: Sequence[LiveNode]) -> Iterator[Diagnostic]:
    called = f"pool {topology.pool}" if topology.pool else f'the cluster topology "{topology.name}"'
    hint = "Correct the label, label the nodes, or leave the level out."
    none, outside = f"no node of backend {backend.name} has", f"so all nodes ({len(nodes)}) are outside of the topology"
    indexed = enumerate(topology.levels)
    lacking = [(x, level) for x, level in indexed if not any(level.label in node.labels for node in nodes)]
    for index, level in lacking:
        message = f"{none} the label {level.label} of level {level.key} of {called}, {outside}"
        location = topology.declared.origin.locate((*topology.path, index))
        yield Diagnostic(LEVEL_WITHOUT_NODES, message, location, hint=hint)
    if not lacking and not any(all(level.label in node.labels for level in topology.levels) for node in nodes):
        location = topology.declared.origin.locate(topology.path, key=True)
        message = f"{none} the labels of all levels of {called}, {outside}"
        yield Diagnostic(LEVEL_WITHOUT_NODES, message, location, hint=hint)


REQUIRED_ABOVE_COMMON_DOMAIN = Rule(
    "required-above-common-domain",
    Severity.WARNING,
    "Work requires a level, but all nodes share one domain of a finer level.",
    "KAI begins with the finest domain that all nodes of the topology share, and finds no room in a coarser one (0.12 "
    "to 0.17). In a cluster of one rack, work that requires one zone never runs. Prefer a finer level in addition to "
    "the required one. This costs nothing and stays right when you add racks. Before 0.12.9 the preferred level must "
    "be as fine as the one that the nodes share.",
    protects=Waiving.ANYBODY,
)


@dataclass(frozen=True, slots=True)
class _RequestedLevel:
    """The finest level of a constraint: the preferred level, or else the required one."""

    work: str
    topology: str
    """Name of the Topology object."""
    label: str
    """Node label of the level."""
    is_preferred: bool
    shard: str | None
    """Shard of KAI's scheduler that places the work."""
    location: Location


def check_domains(fleet: Fleet, backend: FleetBackend, nodes: Sequence[LiveNode]) -> Iterator[Diagnostic]:
    """Reports work of a backend that KAI never places on these nodes, even if all nodes are empty."""
    if not backend.has(Feature.TOPOLOGY):
        return
    topologies = {each.name_on(backend): each for each in fleet.topologies if each.backend in (None, backend)}
    for request in dict.fromkeys(_asked(fleet, backend)):
        if backend.has(Feature.COARSE_PREFERRED if request.is_preferred else Feature.COARSE_REQUIRED):
            continue
        topology = topologies.get(request.topology)
        keys = [level.key for level in topology.levels if level.label == request.label] if topology else []
        if topology is None or not keys:
            continue
        needed = {level.label for level in topology.levels}
        of_shard = (node for node in nodes if node.labels.get(labels.NODE_POOL) == request.shard)
        nodes_in_topology = [node for node in of_shard if needed <= node.labels.keys()]
        values = [{node.labels[level.label] for node in nodes_in_topology} for level in topology.levels]
        shared = next((depth for depth, names in enumerate(values) if len(names) != 1), len(values))
        level = topology.levels[shared - 1]
        if shared <= [topology_level.key for topology_level in topology.levels].index(keys[0]) + 1:
            continue
        asks = f"{'prefers' if request.is_preferred else 'requires'} level {keys[0]}"
        domain = f"{level.key} ({level.label}={nodes_in_topology[0].labels[level.label]})"
        message = (
            f"{request.work} {asks}, but backend {backend.name} has {plural(len(nodes_in_topology), 'node')} in this "
            f"topology, all in one {domain}: KAI finds no room in a domain above that, so this never runs"
        )
        hint = f"Prefer level {level.key}{'' if request.is_preferred else ' as well'}."
        yield Diagnostic(REQUIRED_ABOVE_COMMON_DOMAIN, message, request.location, hint=hint)


def _asked(fleet: Fleet, backend: FleetBackend) -> Iterator[_RequestedLevel]:
    for workflow in fleet.workflows:
        if workflow.pool.backend == backend:
            for group, gang in zip(workflow.groups, gangs_of_workflow(fleet, workflow), strict=True):
                requirements = [requirement for task in group.tasks for requirement in task.resource.requirements]
                for finest in _of_gang(gang):
                    path = next(each.path for each in requirements if each.level.label == finest[1])
                    location = workflow.declared.at(*path)
                    yield _RequestedLevel(f"workflow {workflow.name}", *finest, workflow.pool.shard, location)
    for workload in fleet.workloads:
        for placement in workload.placements if workload.pool.backend == backend else ():
            finest_placement, is_preferred = placement.preferred or placement.required, placement.preferred is not None
            if finest_placement is not None:
                work, location = f"{workload.kind} {workload.name}", workload.declared.at(*finest_placement.path)
                finest = placement.topology, finest_placement.level.label, is_preferred
                yield _RequestedLevel(work, *finest, workload.pool.shard, location)
    for pod_group in fleet.pod_groups:
        for constraint, path in pod_group.constraints if pod_group.backend == backend else ():
            label = constraint.preferredTopologyLevel or constraint.requiredTopologyLevel
            if constraint.topology and label:
                is_preferred = constraint.preferredTopologyLevel is not None
                field = "preferredTopologyLevel" if is_preferred else "requiredTopologyLevel"
                finest, location = (constraint.topology, label, is_preferred), pod_group.declared.at(*path, field)
                yield _RequestedLevel(
                    f"PodGroup {pod_group.name}", *finest, pod_group.pool.shard if pod_group.pool else None, location
                )
    for submitted in fleet.submitted_sets:
        clique_set = submitted.set
        if clique_set.backend == backend and clique_set.is_previewed:
            location = clique_set.declared.at("metadata", "name")
            for finest in chain.from_iterable(map(_of_gang, gangs_of_set(clique_set))):
                yield _RequestedLevel(f"{SET.kind} {clique_set.name}", *finest, submitted.pool.shard, location)


def _of_gang(gang: Gang) -> Iterator[tuple[str, str, bool]]:
    """Yields for each constraint of a gang: topology, label of the finest level, and whether the level is preferred."""
    for unit in (gang, *gang.sub_groups):
        constraint = unit.constraint
        finest = constraint and (constraint.preferred or constraint.required)
        if constraint and constraint.topology and finest:
            yield constraint.topology, finest.label, constraint.preferred is not None
