"""What pools and subpools list as draining, or as running over quota, is work that is still there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_tas.check.companion_names import REFERENCE_UNKNOWN
from kubectl_tas.diagnostics import Diagnostic, Location, Related, Rule, Severity
from kubectl_tas.gangs.admission import needless
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetSubpool, work_name
from kubectl_tas.words import misspelled, question

DRAINING_UNUSED = Rule(
    "draining-unused",
    Severity.INFO,
    "spec.draining or spec.overQuota lists work that no longer needs it.",
    "spec.draining lets work finish in a DELETING subpool, spec.overQuota lets work run on whose queue came to have "
    "less. A line for work that is gone does nothing. When no work of draining is left and nothing runs, "
    "`kubectl tas subpool drain` archives the subpool and takes the list away.",
)


def check_draining(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every name that such a list has in vain, or that is a slip."""
    for leaf, name, why in needless(fleet):
        place = leaf.declared.origin.locate(("spec", "overQuota", name), key=True)
        own = [item for item in fleet.submissions if item.target == leaf.name]
        others = sorted(work_name(item.kind, item.name) for item in own if item.over_quota_key is None)
        is_there = any(item.over_quota_key == name for item in own)
        meant = None if is_there else _meant(name, others)
        if meant is not None:
            message = f"{name} is not sent to {leaf.name}"
            yield Diagnostic(REFERENCE_UNKNOWN, message, place, hint=question(name, meant))
            continue
        yield Diagnostic(DRAINING_UNUSED, f"overQuota lists {name}, {why}", place, hint="Remove it from overQuota.")
    for subpool in (item for pool in fleet.pools for item in pool.subpools):
        listed = subpool.declared.spec.spec.draining
        if listed and subpool.state != "DELETING":
            message = f"subpool {subpool.canonical} is {subpool.state}, so draining says nothing"
            place = subpool.declared.origin.locate(("spec", "draining"), key=True)
            yield Diagnostic(DRAINING_UNUSED, message, place, hint="Remove it.")
            continue
        there = set(fleet.work_in(subpool.pool, subpool.queue)) if listed else set()
        named = [work_name(*name.split("/")) for name in listed]
        others = sorted(there.difference(named))
        for index, name in enumerate(listed):
            if named[index] not in there:
                message, meant = f"{name} is not sent to subpool {subpool.canonical}", _meant(name, others)
                place = subpool.declared.at("spec", "draining", index)
                if meant is not None:
                    related = tuple(
                        Related(f"{meant} is sent there", where) for where in _places(fleet, subpool, meant)
                    )
                    hint: str = question(name, meant)
                    yield Diagnostic(REFERENCE_UNKNOWN, message, place, related, hint=hint)
                    continue
                hint = "Remove it from the list, or leave it there."
                yield Diagnostic(DRAINING_UNUSED, f"{message} any more", place, hint=hint)


def _meant(name: str, others: Sequence[str]) -> str | None:
    """The work that a name is a slip of; case does not count."""
    same = (other for other in others if other.casefold() == name.casefold())
    return next(same, None) or misspelled(name, others)


def _places(fleet: Fleet, subpool: FleetSubpool, name: str) -> Iterator[Location]:
    """Where work of that name is sent to a subpool."""
    for item in fleet.submissions:
        if (item.pool.name, item.queue, work_name(item.kind, item.name)) == (subpool.pool, subpool.queue, name):
            yield item.place
