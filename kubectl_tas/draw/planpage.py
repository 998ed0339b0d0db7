"""Renders which gangs pools have room for: a page about each pool, or JSON data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.draw.fitpages import nodes_text, not_tried, place_name
from kubectl_tas.gpus import Gpus
from kubectl_tas.late import dataclass
from kubectl_tas.place.capacity import Capacity, DomainRoom, LevelRoom
from kubectl_tas.quantities import NO_LIMIT, Amount, as_data
from kubectl_tas.report import style
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.pools import FleetPool

if TYPE_CHECKING:
    from kubectl_tas.report import json_shapes as shapes

VERSION = 1
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


def render(found: Sequence[Planned], broken: Sequence[Diagnostic]) -> str:
    """Renders a page for each pool, then the guarantees that the nodes cannot keep, or a line that they can."""
    pages = [_page(item) for item in found]
    facts = [("Guarantees", f"{item.message}. {item.hint}") for item in broken]
    kept = [("Guarantees", "nodes that are ready and not cordoned have what all pools are guaranteed")]
    return "\n".join((*pages, style.pairs(facts or kept)))


def _page(item: Planned) -> str:
    there, pool = item.capacity, item.pool
    facts = [
        ("Pool", pool.name),
        ("Guarantee", _guarantee(item)),
        ("Declared", f"{plural(item.fixed, 'GPU')} by HIGH and NORMAL work, {item.preemptible} by LOW work"),
        ("By quota", _by_quota(pool)),
        *nodes_facts(there),
    ]
    if not there.levels:
        return style.pairs(facts)
    lines = style.table(HEADER, rows(there)).splitlines()
    notes = (f"  {_never(level.level.key)}\n" for level in there.levels if level.level and not level.is_placed)
    return "".join((style.pairs(facts), *(f"  {line}\n" for line in lines), *notes))


def nodes_facts(there: Capacity) -> list[tuple[str, str]]:
    """Returns which nodes a pool can use, and their GPUs."""
    facts = [
        ("Nodes", nodes_text(there.nodes, there.unusable)),
        *(("Outside", f"{count} {_OUTSIDE} {label}") for label, count in there.outside.items()),
    ]
    if not there.levels:
        return [*facts, ("Gangs", "none can start: no node with GPUs can be used")]
    (everywhere,) = there.levels[0].domains
    facts.append(("GPUs", f"{everywhere.gpus} on the nodes that can be used, {everywhere.free} of them free"))
    facts.append(("Gangs", f"that nodes have room for, of pods with {plural(there.pod_gpus, 'GPU')} each:"))
    return facts


def rows(there: Capacity) -> list[tuple[str, ...]]:
    """Returns a row for each level with the largest gang that fits."""
    return [_row(level, there.pod_gpus) for level in there.levels]


def _guarantee(item: Planned) -> str:
    most = item.pool.guarantee.gpu
    is_short = most != NO_LIMIT and item.gpus < most
    short = f"; usable nodes have {item.gpus}" if is_short else ""
    return f"{_gpus(most)}{short}"


def _by_quota(pool: FleetPool) -> str:
    """Says how large a gang may be within the quotas."""
    leaves = [(pool.shared_quota.gpu, pool.name), *((item.quota.gpu, item.canonical) for item in pool.active)]
    most, where = max(leaves, key=lambda leaf: leaf[0])
    inside = f" (in {where})" if pool.active else ""
    return f"a HIGH or NORMAL gang has up to {_gpus(most)}{inside}, a LOW one up to {_gpus(pool.maximum.gpu)}"


def _gpus(amount: Amount) -> str:
    return "any number of GPUs" if amount == NO_LIMIT else plural(amount, "GPU")


def _row(room: LevelRoom, pod_gpus: int) -> tuple[str, ...]:
    what = room.level.key if room.level else "(any nodes)"
    best = room.best
    if best is None:
        return (what, "0", "none", "-", "-", "-")
    gang = f"{plural(best.pods, 'pod')}, {plural(best.pods * pod_gpus, 'GPU')}" if best.pods else "none"
    count = str(len(room.domains)) if room.level else "-"
    following = [f"{_called(item)} ({item.pods})" for item in room.domains[1 : 1 + _NEXT] if item.pods]
    return (
        what,
        count,
        gang if room.is_placed else "none, see below",
        _called(best),
        f"{best.free} of {best.gpus}",
        ", ".join(following) or "-",
    )


def _never(key: str) -> str:
    return f"{not_tried(key)}. Require that one."


def _called(item: DomainRoom) -> str:
    return place_name(item.domain) if item.domain else "-"


def data(found: Sequence[Planned], broken: Sequence[Diagnostic]) -> shapes.Plan:
    """Returns the plan as JSON data, with all domains."""
    shortages: list[shapes.NotGuaranteed] = [{"message": item.message, "hint": item.hint} for item in broken]
    return {"version": VERSION, "pools": list(map(_record, found)), "guaranteesNotKept": shortages}


def _record(item: Planned) -> shapes.PlannedPool:
    there, pool = item.capacity, item.pool
    return {
        "pool": pool.name,
        "backend": pool.backend.name,
        "guarantee": as_data("gpu", pool.guarantee.gpu),
        "maximum": as_data("gpu", pool.maximum.gpu),
        "declared": {"fixed": item.fixed, "preemptible": item.preemptible},
        "nodes": {"all": there.nodes, "unusable": dict(there.unusable), "withoutLevel": dict(there.outside)},
        "podGpus": there.pod_gpus,
        "levels": [_level_record(level, there.pod_gpus) for level in there.levels],
    }


def _level_record(room: LevelRoom, pod_gpus: int) -> shapes.PlannedLevel:
    pods = room.best.pods if room.best and room.is_placed else 0
    return {
        "level": room.level.key if room.level else None,
        "label": room.level.label if room.level else None,
        "placed": room.is_placed,
        "largestGang": {"pods": pods, "gpus": pods * pod_gpus},
        "domains": [
            {"domain": list(item.domain), "gpus": item.gpus, "freeGpus": item.free, "pods": item.pods}
            for item in room.domains
        ],
    }
