"""Renders the work that is sent to queues and the admission verdict of each submission, as text or as JSON data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.facts.quantities import NO_LIMIT, ResourceName, said, show
from kubectl_tas.gangs.admission import Admission, Answer, Verdict
from kubectl_tas.report import style
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import Submission

HEADER = ("NAME", "QUEUE", "GPUS", "VERDICT")
_GPU: tuple[ResourceName, ...] = ("gpu",)
WIDE = ("POOL", "PRIORITY", "FILE", "WHY")


@json_fields(
    "kind=submission.kind name=submission.name pool=submission.target queue=submission.queue "
    "priority=submission.priority gpus=submission.gpus verdict=verdict.outcome rule=verdict.rule.code "
    "message=verdict.text file=submission.declared.origin.path state"
)
class ListedWork(NamedTuple):
    """One workflow, workload or PodCliqueSet."""

    submission: Submission
    verdict: Verdict
    state: str | None
    """runs, waits, ended, failed or absent in its cluster; None if no cluster was asked."""


@json_fields("version:1 workflows=work")
class WorkList(NamedTuple):
    """All work of a repository."""

    work: list[ListedWork]


def listed(fleet: Fleet, works: Iterable[Submission], states: Mapping[int, str] | None = None) -> WorkList:
    """Returns work with its verdicts. ``states`` are those in the clusters, by the identity of the work; None if no
    cluster was asked.
    """
    admission, states = Admission(fleet), states or {}
    return WorkList([ListedWork(work, admission.verdict(work), states.get(id(work))) for work in in_order(works)])


def render(
    fleet: Fleet, works: Iterable[Submission], states: Mapping[int, str] | None = None, *, wide: bool = False
) -> str:
    """Renders a line for each workflow, workload, PodCliqueSet and PodGroup."""
    rows = []
    for submission, verdict, live_state in listed(fleet, works, states).work:
        wide_cells = (
            (submission.target, submission.priority, submission.declared.origin.path, verdict.text) if wide else ()
        )
        state = () if states is None else ((live_state or "unknown").upper(),)
        cells = (name(submission), submission.queue, str(submission.gpus), verdict.outcome.upper())
        rows.append((*cells, *state, *wide_cells))
    return style.table(HEADER + (() if states is None else ("STATE",)) + (WIDE if wide else ()), rows)


def names(works: Iterable[Submission]) -> list[str]:
    """Returns ``Kind/name`` of each submission."""
    return [name(submission) for submission in in_order(works)]


def name(submission: Submission) -> str:
    """Returns ``Kind/name`` of a submission."""
    return f"{submission.kind}/{submission.name}"


def in_order(submissions: Iterable[Submission]) -> list[Submission]:
    """Sorts submissions by kind, name and file."""
    return sorted(
        submissions, key=lambda submission: (submission.kind, submission.name, submission.declared.origin.path)
    )


def told(answers: Sequence[Answer]) -> str:
    """Renders the facts about each answer, with a blank line between."""
    return "\n".join(map(_facts, answers))


def _facts(answer: Answer) -> str:
    submission, verdict, quota = answer.submission, answer.verdict, answer.quota
    limited: list[ResourceName] = [
        name for name in submission.asks.asked if name != "gpu" and submission.quota.of(name) != NO_LIMIT
    ]
    facts = [
        (submission.kind, submission.name),
        ("Pool", submission.target),
        ("Queue", submission.queue),
        ("Priority", submission.priority),
        (
            "Asks",
            ", ".join((plural(submission.gpus, "GPU"), *(said(name, submission.asks.of(name)) for name in limited))),
        ),
        ("Quota", "; ".join(_of(answer, name) for name in (*_GPU, *limited)) if quota else "unknown"),
        ("Verdict", verdict.outcome.upper()),
        ("Why", verdict.text),
    ]
    if verdict.hint:
        facts.append(("Help", verdict.hint))
    return style.pairs(facts)


def _of(answer: Answer, resource: ResourceName) -> str:
    quota = answer.submission.quota.of(resource)
    if quota == NO_LIMIT:
        return "no limit"
    used = "an unknown part" if answer.used is None else show(resource, answer.used.of(resource))
    return f"{said(resource, quota)}, {used} used by others"
