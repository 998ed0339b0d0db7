"""All that a repository sends to queues in, a table of it out, or the same as data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubectl_tas.gangs.admission import Admission
from kubectl_tas.report import table
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import Submission

HEADER = ("NAME", "QUEUE", "GPUS", "VERDICT")
WIDE = ("POOL", "PRIORITY", "FILE", "WHY")


def render(fleet: Fleet, *, wide: bool = False) -> str:
    """One line for each workflow, workload and PodCliqueSet."""
    admission = Admission(fleet)
    rows = []
    for item in in_order(fleet.submissions):
        verdict = admission.verdict(item)
        more = (item.target, item.priority, item.declared.origin.path, verdict.text) if wide else ()
        rows.append((name(item), item.queue, str(item.gpus), verdict.outcome.upper(), *more))
    return table.render(HEADER + (WIDE if wide else ()), rows)


def names(fleet: Fleet) -> list[str]:
    """``Kind/name`` of each."""
    return [name(item) for item in in_order(fleet.submissions)]


def data(fleet: Fleet) -> dict[str, Any]:
    """The same for programs."""
    admission = Admission(fleet)
    return {"version": 1, "workflows": [_record(item, admission) for item in in_order(fleet.submissions)]}


def name(item: Submission) -> str:
    """``Kind/name``."""
    return f"{item.kind}/{item.name}"


def in_order(items: Iterable[Submission]) -> list[Submission]:
    """By kind, name and file."""
    return sorted(items, key=lambda item: (item.kind, item.name, item.declared.origin.path))


def _record(item: Submission, admission: Admission) -> dict[str, Any]:
    verdict = admission.verdict(item)
    return {
        "kind": item.kind,
        "name": item.name,
        "pool": item.target,
        "queue": item.queue,
        "priority": item.priority,
        "gpus": item.gpus,
        "verdict": verdict.outcome,
        "rule": verdict.rule.code if verdict.rule else None,
        "message": verdict.text,
        "file": item.declared.origin.path,
    }
