"""Renders what clusters have room for, as pages or as JSON data: the gangs that each pool can start, and how much
clusters must grow for the work that waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.base.late import dataclass
from kubectl_tas.draw.fitpages import (
    lacks_data,
    left_out_data,
    must_share,
    nodes_text,
    not_tried,
    place_name,
)
from kubectl_tas.facts.gpus import Gpus
from kubectl_tas.facts.quantities import NO_LIMIT, Amount, as_data
from kubectl_tas.place.answers import lacks_text
from kubectl_tas.place.capacity import Capacity, DomainRoom, LevelRoom
from kubectl_tas.place.gangs_to_place import LeftOut
from kubectl_tas.place.grow import ClusterGrowth, Waiting
from kubectl_tas.report import style
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.pools import FleetPool

if TYPE_CHECKING:
    from kubectl_tas.report import json_shapes as shapes


PLAN_VERSION = 1
HEADER = ("WITHIN ONE", "DOMAINS", "LARGEST GANG", "IN", "FREE GPUS THERE", "NEXT BEST")
"""Column titles of ``rows``."""
_NEXT = 2
"""Maximum number of domains of a level that are shown in addition to the best one."""
_OUTSIDE = "of these only for gangs without a level, for want of the label"


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
    notes = (f"  {_never(level.level.key)}\n" for level in capacity.levels if level.level and not level.is_placed)
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


def _never(key: str) -> str:
    return f"{not_tried(key)}. Require that one."


def _called(domain_room: DomainRoom) -> str:
    return place_name(domain_room.domain) if domain_room.domain else "-"


def plan_data(plans: Sequence[Planned], broken: Sequence[Diagnostic]) -> shapes.PlanJson:
    """Returns the plan as JSON data, with all domains."""
    shortages: list[shapes.NotGuaranteedJson] = [
        {"message": shortage.message, "hint": shortage.hint} for shortage in broken
    ]
    return {"version": PLAN_VERSION, "pools": list(map(_pool_record, plans)), "guaranteesNotKept": shortages}


def _pool_record(plan: Planned) -> shapes.PlannedPoolJson:
    capacity, pool = plan.capacity, plan.pool
    return {
        "pool": pool.name,
        "backend": pool.backend.name,
        "guarantee": as_data("gpu", pool.guarantee.gpu),
        "maximum": as_data("gpu", pool.maximum.gpu),
        "declared": {"fixed": plan.fixed, "preemptible": plan.preemptible},
        "nodes": {"all": capacity.nodes, "unusable": dict(capacity.unusable), "withoutLevel": dict(capacity.outside)},
        "podGpus": capacity.pod_gpus,
        "levels": [_level_record(level, capacity.pod_gpus) for level in capacity.levels],
    }


def _level_record(room: LevelRoom, pod_gpus: int) -> shapes.PlannedLevelJson:
    pods = room.best.pods if room.best and room.is_placed else 0
    return {
        "level": room.level.key if room.level else None,
        "label": room.level.label if room.level else None,
        "placed": room.is_placed,
        "largestGang": {"pods": pods, "gpus": pods * pod_gpus},
        "domains": [
            {
                "domain": list(domain_room.domain),
                "gpus": domain_room.gpus,
                "freeGpus": domain_room.free,
                "pods": domain_room.pods,
            }
            for domain_room in room.domains
        ],
    }


GROWTH_VERSION = 2


def growth_text(growths: Sequence[tuple[str, ClusterGrowth]]) -> str:
    """Renders the facts about each named cluster, with a blank line between."""
    return "\n".join(style.pairs(_growth_facts(*named_growth)) for named_growth in growths)


def _growth_facts(backend: str, growth: ClusterGrowth) -> list[tuple[str, str]]:
    waiting, pools = growth.waiting, _pools(growth)
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
            for last_waiting, copies in _by_item(waiting)
        ),
    ]


def _pools(growth: ClusterGrowth) -> list[str]:
    return sorted({gang.sent.pool.name for gang in growth.to_place})


def _needs(growth: ClusterGrowth) -> str:
    if growth.missing is not None:
        return f"not known: no node has the label {growth.missing.label} of level {growth.missing.key}"
    if growth.waiting and not growth.rack:
        return f"not known: pending work can use no existing {growth.word}"
    never = ", but for what never goes" if any(waiting.racks is None for waiting in growth.waiting) else ""
    one_by_one = "" if growth.at_once else ", added one after the other"
    needed = plural(growth.racks_needed, growth.word) if growth.racks_needed else f"no {growth.word}"
    return f"{needed} more{one_by_one}{never}"


def _by_item(waiting: Sequence[Waiting]) -> list[tuple[Waiting, int]]:
    """Returns each item once, with the last of its equal gangs and the number of them that wait."""
    last = {id(waiting_gang.to_place): waiting_gang for waiting_gang in waiting}
    counts = Counter(id(waiting_gang.to_place) for waiting_gang in waiting)
    return [(waiting_gang, counts[key]) for key, waiting_gang in last.items()]


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


def growth_data(growths: Sequence[tuple[str, ClusterGrowth]], left_out: Sequence[LeftOut]) -> shapes.GrowthJson:
    """Returns the growth of the clusters as JSON data."""
    return {
        "version": GROWTH_VERSION,
        "clusters": [_cluster_record(*named_growth) for named_growth in growths],
        "leftOut": left_out_data(left_out),
    }


def _cluster_record(backend: str, growth: ClusterGrowth) -> shapes.GrowthClusterJson:
    return {
        "backend": backend,
        "pools": _pools(growth),
        "level": growth.levels[-1].key if growth.levels else None,
        "like": list(growth.like),
        "nodes": len(growth.rack),
        "gpus": growth.gpus,
        "missingLabel": growth.missing.label if growth.missing else None,
        "gangs": growth.gangs,
        "more": growth.racks_needed,
        "atOnce": growth.at_once,
        "waiting": [
            {
                "kind": last_waiting.to_place.sent.kind,
                "name": last_waiting.to_place.sent.name,
                "workflow": last_waiting.to_place.sent.name,
                "podGroup": last_waiting.to_place.gang.name,
                "copies": copies,
                "more": last_waiting.racks,
                "lacks": lacks_data(last_waiting.lacks),
            }
            for last_waiting, copies in _by_item(growth.waiting)
        ],
    }
