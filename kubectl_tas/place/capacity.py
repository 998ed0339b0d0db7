"""A pool and the nodes that there are in; what its gangs have room for in one domain of each level out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubectl_tas.gpus import GPU
from kubectl_tas.model.labels import NODE_POOL
from kubectl_tas.place import order
from kubectl_tas.place.nodes import PODS, Domain, Node, Nodes, domain_of
from kubectl_tas.place.room import Unit, Wanted, multiples, room_for, unusable
from kubectl_tas.place.shapes import Rules, Shape, shape_of
from kubectl_tas.resolve.platforms import Merged
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.resolve.topologies import Level


@dataclass(frozen=True, slots=True)
class DomainRoom:
    """What one domain has."""

    domain: Domain
    """() is all nodes, those outside of the topology too."""
    gpus: int
    """On the nodes that pods can use."""
    free: int
    """GPUs of these that no pod has asked for."""
    pods: int
    """How many pods it has room for."""


@dataclass(frozen=True, slots=True)
class LevelRoom:
    """What the domains of a level have."""

    level: Level | None
    """None: no level; there is one domain, all nodes."""
    domains: tuple[DomainRoom, ...]
    """Those with room for most pods first; all that have a node with GPUs."""
    is_placed: bool
    """Whether KAI places what requires the level, where there is room."""

    @property
    def best(self) -> DomainRoom | None:
        """The domain with room for the largest gang; None where there is no domain."""
        return self.domains[0] if self.domains else None


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a pool's gangs have room for."""

    pool: FleetPool
    nodes: int
    """Of the cluster."""
    unusable: Mapping[str, int]
    """How many of them its pods cannot use, by the reason, most of them first."""
    outside: Mapping[str, int]
    """How many of those that they can use count only without a level, by the label that they lack."""
    pod_gpus: int
    """What each pod of the gangs asks for, which asks for nothing else; 0 where no node has any."""
    levels: tuple[LevelRoom, ...]
    """All nodes, then the levels of its topology from the coarsest."""

    @property
    def usable(self) -> int:
        """How many nodes its pods can use."""
        return self.nodes - sum(self.unusable.values())


def capacity(pool: FleetPool, nodes: Nodes, pod_gpus: int | None = None) -> Capacity:
    """What gangs of pods with ``pod_gpus`` each have room for; None: with all GPUs of a node, as most nodes have them.
    The pods are those of tasks that name no platform.
    """
    rules = _rules(pool)
    shard = pool.shard_labels.get(NODE_POOL)
    own = tuple(node for node in nodes.nodes if node.labels.get(NODE_POOL) == shard)
    having = tuple(node for node in own if node.allocatable.get(GPU, 0) > 0)
    counted = {
        "of another shard of the scheduler": len(nodes.nodes) - len(own),
        "without GPUs": len(own) - len(having),
        **unusable(having, (), (rules,)),
    }
    usable = frozenset(node for node in having if not rules.refusal(node))
    each = pod_gpus or _commonest(usable)
    return Capacity(
        pool,
        len(nodes.nodes),
        dict(sorted(((why, count) for why, count in counted.items() if count), key=lambda item: (-item[1], item[0]))),
        Counter(label for node in usable if (label := _lacking(node, pool.levels))),
        each,
        tuple(_levels(pool.levels, own, having, Shape(((GPU, each), (PODS, 1)), rules))) if each else (),
    )


def _rules(pool: FleetPool) -> Rules:
    platform = pool.platforms.of(None)
    nodes = platform.nodes
    spec = {"nodeSelector": nodes.selector, "tolerations": [item.data for item in nodes.tolerations]}
    pod = Merged({"spec": spec})
    for template in platform.templates:
        pod.put(template.data, template.at)
    return shape_of(pod.data["spec"]).rules


def _commonest(nodes: Iterable[Node]) -> int:
    """The GPUs that most nodes have; of as many the larger number."""
    counts = Counter(node.allocatable[GPU] for node in nodes)
    return max(counts, key=lambda gpus: (counts[gpus], gpus), default=0)


def _lacking(node: Node, levels: Sequence[Level]) -> str | None:
    return next((level.label for level in levels if level.label not in node.labels), None)


def _levels(
    levels: Sequence[Level], nodes: tuple[Node, ...], having: Sequence[Node], shape: Shape
) -> Iterator[LevelRoom]:
    """``having`` are those of the nodes that have GPUs."""
    labels = tuple(level.label for level in levels)
    everywhere, by_domain = _Sum(), dict[Domain, _Sum]()
    for node in having:
        everywhere.add(node, shape)
        domain = domain_of(node, labels) or ()
        for depth in range(1, len(domain) + 1):
            by_domain.setdefault(domain[:depth], _Sum()).add(node, shape)
    yield LevelRoom(None, (everywhere.of(()),), is_placed=True)
    room = room_for(Wanted(Unit(""), (shape,)), nodes, labels)
    for depth, level in enumerate(levels):
        found = [item.of(domain) for domain, item in by_domain.items() if len(domain) == depth + 1]
        has_room = any(item.pods for item in found)
        # At which levels KAI looks does not depend on the size of a gang.
        is_placed = not has_room or order.find(room, Unit("", required=depth, pods=(0,))) is not None
        ranked = sorted(found, key=lambda item: (-item.pods, -item.free, item.domain))
        yield LevelRoom(level, tuple(ranked), is_placed)


@dataclass
class _Sum:
    """What the nodes of a domain have together, as far as pods of a shape can use them."""

    gpus: int = 0
    free: int = 0
    pods: int = 0

    def add(self, node: Node, shape: Shape) -> None:
        if shape.rules.refusal(node):
            return
        self.gpus += node.allocatable[GPU]
        self.free += max(0, node.free[GPU])
        self.pods += multiples([asked for _, asked in shape.asks], [node.free.get(name, 0) for name, _ in shape.asks])

    def of(self, domain: Domain) -> DomainRoom:
        return DomainRoom(domain, self.gpus, self.free, self.pods)
