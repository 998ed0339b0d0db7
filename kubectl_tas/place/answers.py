"""Answers for ``fit`` whether a gang has a placement, whether KAI finds it, and which changes would help."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.quantities import show
from kubectl_tas.gangs.gang import Gang
from kubectl_tas.model.labels import NODE_POOL
from kubectl_tas.place import kai_allocate
from kubectl_tas.place.feasibility import Best, Existence, Lack, Shortage, best_by_level, exists, lacking, shortage_of
from kubectl_tas.place.gangs_to_place import GangToPlace, LeftOut, beside_running_pods, selectors_of
from kubectl_tas.place.kai_allocate import MEMORY, PlacedPods
from kubectl_tas.place.mending import PlacementChange
from kubectl_tas.place.neighbours import PORT, is_of_one
from kubectl_tas.place.node_cells import Room, Unit, room_for, unusable, without_copy
from kubectl_tas.place.node_resources import CPU, ClusterNodes, Domain, NodeResources
from kubectl_tas.place.suggestions import Question, changes, other_order, renaming
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.resolve.topologies import Level

OTHER_SHARD = "of another shard of the scheduler"


class FitOutcome(Enum):
    """Outcome of ``fit`` for a gang."""

    FITS = "fits"
    """KAI finds a placement."""
    MISSED = "missed"
    """A placement exists, but KAI does not find it."""
    NO_ROOM = "no-room"
    """No placement exists."""
    UNKNOWN = "unknown"
    """KAI finds no placement, and nobody knows whether one exists."""
    RUNS = "runs"
    """Every copy of the gang has pods on nodes already."""


@json_fields("part=unit level=level.key domains")
@dataclass(frozen=True, slots=True)
class Spread:
    """A preferred level that KAI does not keep."""

    unit: str
    level: Level
    domains: int
    """Number of domains that hold pods of the unit."""


@json_fields("all unusable")
class CountedNodes(NamedTuple):
    """The number of nodes, and of nodes that pods cannot use, by reason."""

    all: int
    unusable: Mapping[str, int]


@json_fields("level=level.key domain=best.domain pods=best.pods")
class LevelBest(NamedTuple):
    """The number of pods for which the best domain of a level has room."""

    level: Level | None
    """The level; None: all nodes."""
    best: Best


@json_fields(
    "kind=sent.kind name=sent.name workflow=sent.name podGroup=gang.name copies=to_place.copies "
    "startsWith=starts_with pods=gang.pods gpus=gang.gpus outcome why|null notTried=not_tried.key levels=levels.key "
    "nodes=counted_nodes placed=placed_pods notKept=spreads shortage lacks best=best_of_levels changes"
)
@dataclass(frozen=True, slots=True)
class Fit:
    """Whether one gang, or each of several equal gangs, has a placement."""

    to_place: GangToPlace
    outcome: FitOutcome
    copies: int
    """Number of equal gangs to place, without the running ones."""
    running: int
    """Number of pods of these gangs on nodes."""
    nodes: int
    unusable: Mapping[str, int]
    """Number of nodes that the gang cannot use, by reason."""
    placed: kai_allocate.Placed
    """Number of pods per SubGroup and domain, over all copies; empty if KAI finds no placement."""
    shortage: Shortage | None = None
    best: tuple[tuple[Level | None, Best], ...] = ()
    """If KAI finds no placement: the domain with the most room at each level, and under None all nodes."""
    lacks: tuple[Lack, ...] = ()
    """Resources that a pod asks for and no usable node has."""
    not_tried: Level | None = None
    """A required level at which KAI tries no domain, because one finer domain holds all nodes."""
    changes: tuple[PlacementChange, ...] = ()
    waits_for: tuple[str, ...] = ()
    """Names of gangs of the same object that must start first and do not."""
    spreads: tuple[Spread, ...] = ()

    @property
    def sent(self) -> Submission:
        """The submission that the gang is part of."""
        return self.to_place.sent

    @property
    def gang(self) -> Gang:
        """The gang, one of the equal ones."""
        return self.to_place.gang

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels of the gang's topology, coarsest first."""
        return self.to_place.levels

    @property
    def starts_with(self) -> int:
        """Number of pods of one gang that must have nodes before any pod starts."""
        return len(self.to_place.request.unit.all_pods)

    @property
    def counted_nodes(self) -> CountedNodes:
        """All nodes, and those that the gang cannot use."""
        return CountedNodes(self.nodes, self.unusable)

    @property
    def placed_pods(self) -> tuple[PlacedPods, ...]:
        """The placed pods by SubGroup and domain."""
        return tuple(
            PlacedPods(name, domain, pods) for name, counts in self.placed.items() for domain, pods in counts.items()
        )

    @property
    def best_of_levels(self) -> tuple[LevelBest, ...]:
        """The domain with the most room at each level."""
        return tuple(LevelBest(*best) for best in self.best)

    @property
    def why(self) -> str:
        """The reason why KAI places no gang; empty if it places all."""
        if self.outcome in (FitOutcome.FITS, FitOutcome.RUNS):
            return ""
        short = self.shortage
        if short is not None:
            return _short(short, self.gang)
        if self.not_tried is not None:
            return not_tried(self.not_tried.key)
        if self.outcome is FitOutcome.MISSED:
            return "SubGroups go in the order of their names, the tightest domain first; what one takes, another needs"
        if self.outcome is FitOutcome.UNKNOWN:
            return "each kind of pod has room by itself, but KAI's order finds no placement for all"
        return "each part has room by itself, but not all of them at once"


def not_tried(key: str) -> str:
    """Says why KAI places no gang that requires this level."""
    return f"KAI places no gang that requires {key}, since all nodes of the topology are in one domain of a finer level"


def _short(short: Shortage, gang: Gang) -> str:
    if short.level is None:
        return f"the nodes have room for {short.best[0].pods} of {_pods_of(short, gang)}"
    shared = must_share(short, short.level, gang)
    if not short.best:
        return f"{shared}, and no node is in any"
    rooms = ", ".join(f"{place_name(best.domain)} has room for {best.pods} of {short.pods}" for best in short.best)
    return f"{shared}: {rooms}"


def must_share(short: Shortage, level: Level, gang: Gang) -> str:
    """Says which pods must share a domain of the level of a shortage."""
    return f"{_pods_of(short, gang)} must share one {level.key}"


def _pods_of(short: Shortage, gang: Gang) -> str:
    unit, pods = without_copy(short.unit), plural(short.pods, "pod")
    if unit != gang.name:
        return f"{pods} of {unit}"
    return f"its {pods}" if short.pods == 1 else f"all {pods}"


def place_name(domain: Domain | None) -> str:
    """Returns the displayed name of a domain. None means: outside of the topology."""
    return "outside of the topology" if domain is None else "/".join(domain) or "any node"


def fit(gang: GangToPlace, nodes: ClusterNodes) -> Fit:
    """Answers for a gang, alone on the free resources of the nodes."""
    shard_nodes = nodes_of(gang, nodes)
    gang = beside_running_pods(gang, selectors_of(shard_nodes))
    answer = _answer(gang, shard_nodes, running_of(gang, nodes))
    elsewhere = len(nodes.nodes) - len(shard_nodes)
    reasons = {**answer.unusable, **({OTHER_SHARD: elsewhere} if elsewhere else {})}
    return replace(answer, nodes=len(nodes.nodes), unusable=reasons)


def in_order(answers: Iterable[Fit]) -> Iterator[Fit]:
    """Adds to each answer the gangs of its object that must start before it, and do not."""
    answers = list(answers)
    unplaced_names = {
        (_object(answer), name)
        for answer in answers
        if answer.outcome not in (FitOutcome.FITS, FitOutcome.RUNS)
        for name in (answer.to_place.order.names if answer.to_place.order else ())
    }
    for answer in answers:
        before = answer.to_place.order.before if answer.to_place.order else ()
        names = dict.fromkeys(name for copy_names in before for name in copy_names)
        yield replace(answer, waits_for=tuple(name for name in names if (_object(answer), name) in unplaced_names))


def _object(answer: Fit) -> tuple[str, str, str]:
    return answer.sent.kind, answer.sent.namespace, answer.sent.name


def settled(orders: Sequence[GangToPlace], nodes: ClusterNodes) -> Fit | None:
    """Returns the answer for a gang whose pod order is unknown; None if the outcome depends on the order."""
    answers = [fit(order, nodes) for order in orders]
    return answers[0] if answers and len({answer.outcome for answer in answers}) == 1 else None


def nodes_of(gang: GangToPlace, nodes: ClusterNodes) -> tuple[NodeResources, ...]:
    """Returns the nodes of the scheduler's shard that places the gang."""
    shard = gang.sent.pool.shard
    return tuple(node for node in nodes.nodes if node.labels.get(NODE_POOL) == shard)


def running_of(gang: GangToPlace, nodes: ClusterNodes) -> list[int]:
    """Returns the number of pods on nodes for each running copy of the gang."""
    gang_namespace = gang.sent.namespace
    return [pods for (where, group), pods in nodes.running.items() if where == gang_namespace and gang.is_called(group)]


def _answer(gang: GangToPlace, nodes: tuple[NodeResources, ...], running: Sequence[int]) -> Fit:
    copies = max(0, gang.copies - len(running))
    request = gang.request.times(max(1, copies))
    levels = gang.labels if any(unit.is_constrained for unit in request.unit.units) else ()
    reasons = unusable(nodes, levels, tuple(shape.rules for shape in request.shapes))
    answer = Fit(gang, FitOutcome.RUNS, copies, sum(running), len(nodes), reasons, {})
    if not copies:
        return answer
    room = room_for(request, nodes, gang.labels)
    shortage = shortage_of(room, request.unit, gang.levels)
    placed = None if shortage else kai_allocate.find(room, request.unit)
    if placed is not None:
        spreads = {spread.unit: spread for spread in _spreads(request.unit, placed, gang.levels)}
        return replace(answer, outcome=FitOutcome.FITS, placed=_of_all(placed), spreads=tuple(spreads.values()))
    named = [] if shortage or copies > 1 else other_order(room, request.unit)
    existence = Existence.NO if shortage else Existence.YES if named else exists(room, request.unit)
    outcome = {
        Existence.YES: FitOutcome.MISSED,
        Existence.NO: FitOutcome.NO_ROOM,
        Existence.UNKNOWN: FitOutcome.UNKNOWN,
    }[existence]
    question = Question(gang, nodes, copies, shortage, is_short=existence is Existence.NO)
    helping = (*renaming(gang, named), *changes(question))
    best = best_by_level(room, request.unit, gang.levels)
    above = _above_all(room, request.unit)
    not_tried = None if above is None or shortage else gang.levels[above]
    answer = replace(answer, best=best, lacks=lacking(room, request.unit), not_tried=not_tried)
    return replace(answer, outcome=outcome, shortage=shortage, changes=helping)


def _above_all(room: Room, unit: Unit) -> int | None:
    """Returns the depth of a level that a gang requires (and prefers none) but KAI never tries; None if KAI tries every
    level. For a gang without a level, looks at its SubGroups. KAI tries no domain above the smallest one that holds all
    nodes of the topology (``lowestCommonDomainID`` of common.go in the plugin topology, release 0.17).
    """
    if not unit.is_constrained:
        return next((depth for inner_unit in unit.below if (depth := _above_all(room, inner_unit)) is not None), None)
    if unit.required is None or unit.preferred is not None:
        return None
    finer = {leaf.domain[: unit.required + 2] for leaf in room.leaves if leaf.domain is not None}
    is_one = len(finer) == 1 and unit.required + 1 < len(room.levels) and all(*finer)
    return unit.required if is_one else None


def _spreads(unit: Unit, placed: kai_allocate.Placed, levels: Sequence[Level]) -> Iterator[Spread]:
    for preferring_unit in unit.units:
        if preferring_unit.preferred is None:
            continue
        domains = (domain for inner in preferring_unit.units for domain in placed.get(inner.name, ()))
        used_domains = {domain[: preferring_unit.preferred + 1] for domain in domains if domain is not None}
        if len(used_domains) > 1:
            yield Spread(without_copy(preferring_unit.name), levels[preferring_unit.preferred], len(used_domains))


def _of_all(placed: kai_allocate.Placed) -> kai_allocate.Placed:
    """Adds up the pods of each SubGroup over all copies."""
    pods_by_unit: kai_allocate.Placed = {}
    for name, domains in placed.items():
        pods_by_domain = pods_by_unit.setdefault(without_copy(name), {})
        for domain, pods in domains.items():
            pods_by_domain[domain] = pods_by_domain.get(domain, 0) + pods
    return pods_by_unit


def lacks_text(lacks: Sequence[Lack]) -> str:
    """Says which resources a pod asks for in a larger amount than any node has free."""
    return f"no node has what a pod asks for: {', '.join(map(_lack, lacks))}"


def _lack(lack: Lack) -> str:
    if is_of_one(lack.resource):
        named = lack.resource if lack.resource.startswith(PORT) else "a node without a pod from which it keeps apart"
        return f"{named}, which is taken on each"
    if lack.resource == GPU:
        return f"{plural(lack.requested, 'GPU')}, and the most that is free on one is {lack.most}"
    requested, most = (_amount(lack.resource, amount) for amount in (lack.requested, lack.most))
    return f"{requested} of {lack.resource}, and the most that is free on one is {most}"


def _amount(resource: str, amount: int) -> str:
    return show("cpu" if resource == CPU else "memory", amount) if resource in (CPU, MEMORY) else str(amount)


@json_fields("version:2 gangs leftOut=left_out")
class Fits(NamedTuple):
    """Whether each gang alone has a placement on the free resources."""

    gangs: Sequence[Fit]
    left_out: Sequence[LeftOut]
