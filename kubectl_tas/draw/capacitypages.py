"""Renders what clusters have room for, as pages or as JSON data: the gangs that each pool can start, and how much
clusters must grow for the work that waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.base.late import dataclass
from kubectl_tas.draw.fitpages import nodes_text
from kubectl_tas.facts.gpus import Gpus
from kubectl_tas.facts.quantities import NO_LIMIT, Amount
from kubectl_tas.gangs.start_moves import StartMoves
from kubectl_tas.place.answers import lacks_text, must_share, not_tried, place_name
from kubectl_tas.place.capacity import Capacity, DomainRoom, LevelRoom
from kubectl_tas.place.gangs_to_place import LeftOut
from kubectl_tas.place.grow import ClusterGrowth, Waiting
from kubectl_tas.report import style
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.pools import FleetPool

HEADER = ("WITHIN ONE", "DOMAINS", "LARGEST GANG", "IN", "FREE GPUS THERE", "NEXT BEST")
"""Column titles of ``rows``."""
_NEXT = 2
"""Maximum number of domains of a level that are shown in addition to the best one."""
_OUTSIDE = "of these only for gangs without a level, for want of the label"


@json_fields("message=finding.message hint=finding.hint")
class BrokenGuarantee(NamedTuple):
    """A guarantee that the nodes cannot fulfil."""

    finding: Diagnostic


@json_fields(
    "level=room.level.key label=room.level.label placed=room.is_placed largestGang=largest domains=room.domains"
)
class PlannedLevel(NamedTuple):
    """The room in the domains of a level, or on all nodes."""

    room: LevelRoom
    pod_gpus: int

    @property
    def largest(self) -> dict[Literal["pods", "gpus"], int]:
        """The largest gang for which a domain has room."""
        pods = self.room.best.pods if self.room.best and self.room.is_placed else 0
        return {"pods": pods, "gpus": pods * self.pod_gpus}


@json_fields(
    "pool=pool.name backend=pool.backend.name guarantee=pool.guarantee.gpu maximum=pool.maximum.gpu declared "
    "nodes=capacity podGpus=capacity.pod_gpus levels"
)
@dataclass(frozen=True, slots=True)
class Planned:
    """A pool and the work declared for it and its subpools, but not for its child pools."""

    pool: FleetPool
    capacity: Capacity
    gpus: int
    """GPUs of the nodes that the pool or a pool below it can use."""
    fixed: Gpus
    """GPUs that HIGH and NORMAL work asks for."""
    preemptible: Gpus
    """GPUs that LOW work asks for."""

    @property
    def declared(self) -> dict[Literal["fixed", "preemptible"], Gpus]:
        """GPUs that the work in the repository requests."""
        return {"fixed": self.fixed, "preemptible": self.preemptible}

    @property
    def levels(self) -> tuple[PlannedLevel, ...]:
        """The room on all nodes, then in the domains of each level."""
        return tuple(PlannedLevel(room, self.capacity.pod_gpus) for room in self.capacity.levels)


@json_fields("version:1 pools guaranteesNotKept=broken starts?")
class PoolPlans(NamedTuple):
    """The room for pools."""

    pools: Sequence[Planned]
    broken: Sequence[BrokenGuarantee]
    starts: Sequence[StartMoves] | None = None
    """By how much --grow and --quota move the starts of the pools' work. Left out without these options."""


def plan_text(plans: Sequence[Planned], broken: Sequence[Diagnostic]) -> str:
    """Renders a page for each pool, then the guarantees that the nodes cannot keep, or a line that they can."""
    pages = [_page(plan) for plan in plans]
    facts = [("Guarantees", f"{shortage.message}. {shortage.hint}") for shortage in broken]
    promise = [("Guarantees", "nodes that are ready and not cordoned have what all pools are guaranteed")]
    return "\n".join((*pages, style.pairs(facts or promise)))


def _page(plan: Planned) -> str:
    capacity, pool = plan.capacity, plan.pool
    facts = [
        ("Pool", pool.name),
        ("Guarantee", _guarantee(plan)),
        ("Declared", f"{plural(plan.fixed, 'GPU')} by HIGH and NORMAL work, {plan.preemptible} by LOW work"),
        ("By quota", _by_quota(pool)),
        *nodes_facts(capacity),
    ]
    if not capacity.levels:
        return style.pairs(facts)
    lines = style.table(HEADER, rows(capacity)).splitlines()
    refused = [level.level.key for level in capacity.levels if level.level and not level.is_placed]
    notes = (f"  {not_tried(key)}. Require that one.\n" for key in refused)
    return "".join((style.pairs(facts), *(f"  {line}\n" for line in lines), *notes))


def nodes_facts(capacity: Capacity) -> list[tuple[str, str]]:
    """Returns which nodes a pool can use, and their GPUs."""
    facts = [
        ("Nodes", nodes_text(capacity.nodes, capacity.unusable)),
        *(("Outside", f"{count} {_OUTSIDE} {label}") for label, count in capacity.outside.items()),
    ]
    if not capacity.levels:
        return [*facts, ("Gangs", "none can start: no node with GPUs can be used")]
    (everywhere,) = capacity.levels[0].domains
    facts.append(("GPUs", f"{everywhere.gpus} on the nodes that can be used, {everywhere.free} of them free"))
    facts.append(("Gangs", f"that nodes have room for, of pods with {plural(capacity.pod_gpus, 'GPU')} each:"))
    return facts


def rows(capacity: Capacity) -> list[tuple[str, ...]]:
    """Returns a row for each level with the largest gang that fits."""
    return [_row(level, capacity.pod_gpus) for level in capacity.levels]


def _guarantee(plan: Planned) -> str:
    most = plan.pool.guarantee.gpu
    is_short = most != NO_LIMIT and plan.gpus < most
    short = f"; usable nodes have {plan.gpus}" if is_short else ""
    return f"{_gpus(most)}{short}"


def _by_quota(pool: FleetPool) -> str:
    """Says how large a gang may be within the quotas."""
    leaves = [(pool.shared_quota.gpu, pool.name), *((subpool.quota.gpu, subpool.canonical) for subpool in pool.active)]
    most, where = max(leaves, key=lambda leaf: leaf[0])
    inside = f" (in {where})" if pool.active else ""
    return f"a HIGH or NORMAL gang has up to {_gpus(most)}{inside}, a LOW one up to {_gpus(pool.maximum.gpu)}"


def _gpus(amount: Amount) -> str:
    return "any number of GPUs" if amount == NO_LIMIT else plural(amount, "GPU")


def _row(room: LevelRoom, pod_gpus: int) -> tuple[str, ...]:
    level_name = room.level.key if room.level else "(any nodes)"
    best = room.best
    if best is None:
        return (level_name, "0", "none", "-", "-", "-")
    gang = f"{plural(best.pods, 'pod')}, {plural(best.pods * pod_gpus, 'GPU')}" if best.pods else "none"
    count = str(len(room.domains)) if room.level else "-"
    following = [
        f"{_called(domain_room)} ({domain_room.pods})"
        for domain_room in room.domains[1 : 1 + _NEXT]
        if domain_room.pods
    ]
    return (
        level_name,
        count,
        gang if room.is_placed else "none, see below",
        _called(best),
        f"{best.free} of {best.gpus}",
        ", ".join(following) or "-",
    )


def _called(domain_room: DomainRoom) -> str:
    return place_name(domain_room.domain) if domain_room.domain else "-"


@json_fields(
    "kind=last.to_place.sent.kind name=last.to_place.sent.name workflow=last.to_place.sent.name "
    "podGroup=last.to_place.gang.name copies more=last.racks lacks=last.lacks"
)
class WaitingGangs(NamedTuple):
    """A gang that needs more racks, or several equal ones."""

    last: Waiting
    copies: int


@json_fields(
    "backend pools level like=growth.like nodes=growth.rack.len gpus=growth.gpus missingLabel=growth.missing.label "
    "gangs=growth.gangs more=growth.racks_needed atOnce=growth.at_once waiting"
)
class BackendGrowth(NamedTuple):
    """The number of additional racks that one cluster needs."""

    backend: str
    growth: ClusterGrowth

    @property
    def pools(self) -> list[str]:
        """Names of the pools of the gangs."""
        return sorted({gang.sent.pool.name for gang in self.growth.to_place})

    @property
    def level(self) -> str | None:
        """The level of a rack; None: a rack is a node."""
        return self.growth.levels[-1].key if self.growth.levels else None

    @property
    def waiting(self) -> list[WaitingGangs]:
        """Each waiting gang once, as the last of its equal gangs, with the number of them that wait."""
        last = {id(waiting.to_place): waiting for waiting in self.growth.waiting}
        copies = Counter(id(waiting.to_place) for waiting in self.growth.waiting)
        return [WaitingGangs(waiting, copies[key]) for key, waiting in last.items()]


@json_fields("version:2 clusters leftOut=left_out starts?")
class GrowthAnswer(NamedTuple):
    """The number of additional racks that all gangs need, with --grow."""

    clusters: Sequence[BackendGrowth]
    left_out: Sequence[LeftOut]
    starts: Sequence[StartMoves] | None = None
    """By how much the further racks move starts. Left out if no start is known in hours, and no option asks for it."""


def growth_text(growths: Sequence[BackendGrowth]) -> str:
    """Renders the facts about each named cluster, with a blank line between."""
    return "\n".join(style.pairs(_growth_facts(backend_growth)) for backend_growth in growths)


def _growth_facts(backend_growth: BackendGrowth) -> list[tuple[str, str]]:
    backend, growth = backend_growth
    waiting, pools = growth.waiting, backend_growth.pools
    facts = [
        ("Backend", backend),
        *([("Pools" if pools[1:] else "Pool", ", ".join(pools))] if pools else []),
        (
            "Gangs",
            f"{growth.gangs}, of which {len(waiting) or 'none'} {'waits' if len(waiting) == 1 else 'wait'} for room",
        ),
    ]
    if growth.rack:
        size = f"{plural(len(growth.rack), 'node')} with {plural(growth.gpus, 'GPU')}"
        facts.append((f"A {growth.word}", f"{size}, like {place_name(growth.like)}"))
    facts.append(("Needs", _needs(growth)))
    if growth.racks_needed:
        facts.append(("Filled", "what has room now takes it first, then by priority and name"))
    return [
        *facts,
        *(
            (f"  {last_waiting.to_place.sent.name}", _when(last_waiting, copies, growth))
            for last_waiting, copies in backend_growth.waiting
        ),
    ]


def _needs(growth: ClusterGrowth) -> str:
    if growth.missing is not None:
        return f"not known: no node has the label {growth.missing.label} of level {growth.missing.key}"
    if growth.waiting and not growth.rack:
        return f"not known: pending work can use no existing {growth.word}"
    never = ", but for what never goes" if any(waiting.racks is None for waiting in growth.waiting) else ""
    one_by_one = "" if growth.at_once else ", added one after the other"
    needed = plural(growth.racks_needed, growth.word) if growth.racks_needed else f"no {growth.word}"
    return f"{needed} more{one_by_one}{never}"


def _when(waiting: Waiting, copies: int, growth: ClusterGrowth) -> str:
    of_copies = f", {copies} of its {waiting.to_place.copies} gangs" if waiting.to_place.copies > 1 else ""
    if waiting.racks is not None:
        return f"goes with {plural(waiting.racks, growth.word)} more{of_copies}"
    short, helps = waiting.shortage, f"no {growth.word} like this helps" if growth.rack else "waits"
    if waiting.lacks:
        return f"{helps}: {lacks_text(waiting.lacks)}"
    if short is None or short.level is None or not short.best:
        return helps
    if not short.best[0].pods:
        return f"{helps}: it has room for none of its pods"
    return (
        f"{helps}: {must_share(short, short.level, waiting.to_place.gang)}, and one has room for {short.best[0].pods}"
    )
