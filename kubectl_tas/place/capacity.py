"""Computes for how many pods of a pool one domain of each level has room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.model.labels import NODE_POOL
from kubectl_tas.place import kai_allocate
from kubectl_tas.place.node_cells import PlacementRequest, Unit, multiples, room_for, unusable
from kubectl_tas.place.node_resources import PODS, ClusterNodes, Domain, NodeResources, domain_of
from kubectl_tas.place.shapes import PodShape, Rules, shape_of
from kubectl_tas.resolve.platforms import Merged
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.resolve.topologies import Level


@json_fields("domain gpus freeGpus=free pods")
@dataclass(frozen=True, slots=True)
class DomainRoom:
    """Room in one domain."""

    domain: Domain
    """The domain; empty for all nodes, also those outside of the topology."""
    gpus: int
    """GPUs on the nodes that the pods can use."""
    free: int
    """GPUs on usable nodes that no pod has requested."""
    pods: int
    """Number of pods that the domain has room for."""


@dataclass(frozen=True, slots=True)
class LevelRoom:
    """Room in the domains of a level."""

    level: Level | None
    """The level; None stands for no level, where the only domain is all nodes."""
    domains: tuple[DomainRoom, ...]
    """All domains that have a node with GPUs, the one with the most room first."""
    is_placed: bool
    """Whether KAI places gangs that require the level, if a domain has room."""

    @property
    def best(self) -> DomainRoom | None:
        """The domain with room for the largest gang; None if the level has no domain."""
        return self.domains[0] if self.domains else None


@json_fields("all=nodes unusable withoutLevel=outside")
@dataclass(frozen=True, slots=True)
class Capacity:
    """Room for the gangs of a pool."""

    nodes: int
    """Number of nodes in the cluster."""
    unusable: Mapping[str, int]
    """Number of nodes that the pool's pods cannot use, by reason, the most frequent first."""
    outside: Mapping[str, int]
    """Number of usable nodes that only gangs without a level can use, by the label that the nodes lack."""
    pod_gpus: int
    """GPUs that each pod asks for, as its only request; 0 if no usable node has GPUs."""
    levels: tuple[LevelRoom, ...]
    """Room on all nodes, then at each level of the pool's topology, coarsest first."""


def capacity(pool: FleetPool, nodes: ClusterNodes, pod_gpus: int | None = None) -> Capacity:
    """Computes the room for gangs of pods with ``pod_gpus`` each; None means as many GPUs as most nodes have. The pods
    are those of tasks that name no platform.
    """
    return _capacity(nodes.nodes, pool.shard, pool.levels, _rules(pool), pod_gpus)


@lru_cache(maxsize=32)
def _capacity(
    nodes: tuple[NodeResources, ...], shard: str | None, levels: tuple[Level, ...], rules: Rules, pod_gpus: int | None
) -> Capacity:
    """Computes the room. Cached, because most pools of a cluster see the same nodes."""
    shard_nodes = tuple(node for node in nodes if node.labels.get(NODE_POOL) == shard)
    having = tuple(node for node in shard_nodes if node.allocatable.get(GPU, 0) > 0)
    counted = {
        "of another shard of the scheduler": len(nodes) - len(shard_nodes),
        "without GPUs": len(shard_nodes) - len(having),
        **unusable(having, (), (rules,)),
    }
    usable = [node for node in having if not rules.refusal(node)]
    each = pod_gpus or _commonest(usable)
    return Capacity(
        len(nodes),
        dict(
            sorted(
                ((reason, count) for reason, count in counted.items() if count),
                key=lambda reason_count: (-reason_count[1], reason_count[0]),
            )
        ),
        Counter(label for node in usable if (label := _lacking(node, levels))),
        each,
        tuple(_levels(levels, shard_nodes, having, PodShape(((GPU, each), (PODS, 1)), rules))) if each else (),
    )


def gpus_of(pools: Iterable[FleetPool], nodes: ClusterNodes) -> int:
    """Counts the GPUs of the nodes that pods of any of these pools can use."""
    kinds = {(pool.shard, _rules(pool)) for pool in pools}
    return sum(
        node.allocatable.get(GPU, 0)
        for node in nodes.nodes
        if any(node.labels.get(NODE_POOL) == shard and not rules.refusal(node) for shard, rules in kinds)
    )


def _rules(pool: FleetPool) -> Rules:
    platform = pool.platforms.of(None)
    nodes = platform.nodes
    spec = {"nodeSelector": nodes.selector, "tolerations": [toleration.data for toleration in nodes.tolerations]}
    pod = Merged({"spec": spec})
    for template in platform.templates:
        pod.put(template.data, template.at)
    return shape_of(pod.data["spec"]).rules


def _commonest(nodes: Iterable[NodeResources]) -> int:
    """Returns the number of GPUs that most nodes have; of equally frequent numbers, the largest."""
    counts = Counter(node.allocatable[GPU] for node in nodes)
    return max(counts, key=lambda gpus: (counts[gpus], gpus), default=0)


def _lacking(node: NodeResources, levels: Sequence[Level]) -> str | None:
    return next((level.label for level in levels if level.label not in node.labels), None)


def _levels(
    levels: Sequence[Level], nodes: tuple[NodeResources, ...], having: Sequence[NodeResources], shape: PodShape
) -> Iterator[LevelRoom]:
    """Yields the room at each level; ``having`` holds the nodes with GPUs."""
    labels = tuple(level.label for level in levels)
    sums: dict[Domain, list[int]] = {(): [0, 0, 0]}
    for node in having:
        domain = domain_of(node, labels) or ()
        amounts = _amounts(node, shape)
        for depth in range(len(domain) + 1):
            domain_sums = sums.setdefault(domain[:depth], [0, 0, 0])
            for index, amount in enumerate(amounts):
                domain_sums[index] += amount
    rooms = [DomainRoom(domain, *domain_sums) for domain, domain_sums in sums.items()]
    yield LevelRoom(None, (rooms[0],), is_placed=True)
    room = room_for(PlacementRequest(Unit(""), (shape,)), nodes, labels)
    for depth, level in enumerate(levels):
        level_rooms = [domain_room for domain_room in rooms if len(domain_room.domain) == depth + 1]
        has_room = any(domain_room.pods for domain_room in level_rooms)
        # At which levels KAI looks does not depend on the size of a gang.
        is_placed = not has_room or kai_allocate.find(room, Unit("", required=depth, pods=(0,))) is not None
        ranked = sorted(level_rooms, key=lambda domain_room: (-domain_room.pods, -domain_room.free, domain_room.domain))
        yield LevelRoom(level, tuple(ranked), is_placed)


def _amounts(node: NodeResources, shape: PodShape) -> tuple[int, int, int]:
    """Returns a node's GPUs, its free GPUs, and its room for pods of a shape; zeros if the pods cannot use the node."""
    if shape.rules.refusal(node):
        return 0, 0, 0
    free = [node.free.get(name, 0) for name, _ in shape.asks]
    pods = multiples([requested for _, requested in shape.asks], free)
    return node.allocatable[GPU], max(0, node.free[GPU]), pods
