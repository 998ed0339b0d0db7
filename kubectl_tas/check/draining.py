"""What pools and subpools list as draining, or as running over quota, is work that is still there."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.gangs.admission import needless
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import work_name

DRAINING_UNUSED = Rule(
    "draining-unused",
    Severity.INFO,
    "spec.draining or spec.overQuota lists work that is not sent there any more, or that needs no leave.",
    "spec.draining lets work finish in a DELETING subpool, spec.overQuota lets work run on whose queue came to have "
    "less. A line for work that is gone does nothing. When no work of draining is left and nothing runs, "
    "`kubectl tas subpool drain` archives the subpool and takes the list away.",
)


def check_draining(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every name that such a list has in vain."""
    for leaf, name, why in needless(fleet):
        place = leaf.declared.origin.locate(("spec", "overQuota", name), key=True)
        yield Diagnostic(DRAINING_UNUSED, f"overQuota lists {name}, {why}", place, hint="Remove it from overQuota.")
    for subpool in (item for pool in fleet.pools for item in pool.subpools):
        listed = subpool.declared.spec.spec.draining
        if listed and subpool.state != "DELETING":
            message = f"subpool {subpool.canonical} is {subpool.state}, so draining says nothing"
            place = subpool.declared.origin.locate(("spec", "draining"), key=True)
            yield Diagnostic(DRAINING_UNUSED, message, place, hint="Remove it.")
            continue
        there = set(fleet.work_in(subpool.pool, subpool.queue)) if listed else set()
        for index, name in enumerate(listed):
            if work_name(*name.split("/")) not in there:
                message = f"{name} is not sent to subpool {subpool.canonical} any more"
                place = subpool.declared.at("spec", "draining", index)
                yield Diagnostic(DRAINING_UNUSED, message, place, hint="Remove it from the list, or leave it there.")
