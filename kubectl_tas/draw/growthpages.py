"""Renders how much clusters must grow: a few lines about each cluster, or JSON data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kubectl_tas.draw.fitpages import lacks_data, lacks_text, left_out_data, must_share, place_name
from kubectl_tas.place.gangs_to_place import LeftOut
from kubectl_tas.place.grow import Growth, Waiting
from kubectl_tas.report import style
from kubectl_tas.report.text import plural

if TYPE_CHECKING:
    from kubectl_tas.report import json_shapes as shapes

VERSION = 1


def render(found: Sequence[tuple[str, Growth]]) -> str:
    """Renders the facts about each named cluster, with a blank line between."""
    return "\n".join(style.pairs(_facts(*item)) for item in found)


def _facts(backend: str, growth: Growth) -> list[tuple[str, str]]:
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
    if growth.more:
        facts.append(("Filled", "what has room now takes it first, then by priority and name"))
    return [*facts, *((f"  {item.item.sent.name}", _when(item, copies, growth)) for item, copies in _by_item(waiting))]


def _pools(growth: Growth) -> list[str]:
    return sorted({item.sent.pool.name for item in growth.items})


def _needs(growth: Growth) -> str:
    if growth.missing is not None:
        return f"not known: no node has the label {growth.missing.label} of level {growth.missing.key}"
    if growth.waiting and not growth.rack:
        return f"not known: pending work can use no existing {growth.word}"
    never = ", but for what never goes" if any(item.racks is None for item in growth.waiting) else ""
    one_by_one = "" if growth.at_once else ", added one after the other"
    return f"{plural(growth.more, growth.word) if growth.more else f'no {growth.word}'} more{one_by_one}{never}"


def _by_item(waiting: Sequence[Waiting]) -> list[tuple[Waiting, int]]:
    """Returns each item once, with the last of its equal gangs and the number of them that wait."""
    last = {id(one.item): one for one in waiting}
    counts = Counter(id(one.item) for one in waiting)
    return [(one, counts[key]) for key, one in last.items()]


def _when(item: Waiting, copies: int, growth: Growth) -> str:
    of = f", {copies} of its {item.item.copies} gangs" if item.item.copies > 1 else ""
    if item.racks is not None:
        return f"goes with {plural(item.racks, growth.word)} more{of}"
    short, helps = item.shortage, f"no {growth.word} like this helps" if growth.rack else "waits"
    if item.lacks:
        return f"{helps}: {lacks_text(item.lacks)}"
    if short is None or short.level is None or not short.best:
        return helps
    if not short.best[0].pods:
        return f"{helps}: it has room for none of its pods"
    return f"{helps}: {must_share(short, short.level, item.item.gang)}, and one has room for {short.best[0].pods}"


def data(found: Sequence[tuple[str, Growth]], left_out: Sequence[LeftOut]) -> shapes.Growth:
    """Returns the growth of the clusters as JSON data."""
    return {
        "version": VERSION,
        "clusters": [_record(*item) for item in found],
        "leftOut": left_out_data(left_out),
    }


def _record(backend: str, growth: Growth) -> shapes.GrowthCluster:
    return {
        "backend": backend,
        "pools": _pools(growth),
        "level": growth.levels[-1].key if growth.levels else None,
        "like": list(growth.like),
        "nodes": len(growth.rack),
        "gpus": growth.gpus,
        "missingLabel": growth.missing.label if growth.missing else None,
        "gangs": growth.gangs,
        "more": growth.more,
        "atOnce": growth.at_once,
        "waiting": [
            {
                "workflow": one.item.sent.name,
                "kind": one.item.sent.kind,
                "podGroup": one.item.gang.name,
                "copies": copies,
                "more": one.racks,
                "lacks": lacks_data(one.lacks),
            }
            for one, copies in _by_item(growth.waiting)
        ],
    }
