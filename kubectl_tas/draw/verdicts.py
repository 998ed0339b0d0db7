"""Renders the work that is sent to queues and the admission verdict of each submission, as text or as JSON data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kubectl_tas.facts.quantities import NO_LIMIT, Amount, Amounts, ResourceName, as_data, said, show
from kubectl_tas.gangs.admission import Admission, Answer
from kubectl_tas.report import style
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import Submission

if TYPE_CHECKING:
    from kubectl_tas.report import json_shapes as shapes

HEADER = ("NAME", "QUEUE", "GPUS", "VERDICT")
_GPU: tuple[ResourceName, ...] = ("gpu",)
WIDE = ("POOL", "PRIORITY", "FILE", "WHY")


def render(
    fleet: Fleet, works: Iterable[Submission], states: Mapping[int, str] | None = None, *, wide: bool = False
) -> str:
    """Renders a line for each workflow, workload, PodCliqueSet and PodGroup. ``states`` are those in the clusters, by
    the identity of the work; None if no cluster was asked.
    """
    admission = Admission(fleet)
    rows = []
    for submission in in_order(works):
        verdict = admission.verdict(submission)
        wide_cells = (
            (submission.target, submission.priority, submission.declared.origin.path, verdict.text) if wide else ()
        )
        state = () if states is None else (states.get(id(submission), "unknown").upper(),)
        cells = (name(submission), submission.queue, str(submission.gpus), verdict.outcome.upper())
        rows.append((*cells, *state, *wide_cells))
    return style.table(HEADER + (() if states is None else ("STATE",)) + (WIDE if wide else ()), rows)


def names(works: Iterable[Submission]) -> list[str]:
    """Returns ``Kind/name`` of each submission."""
    return [name(submission) for submission in in_order(works)]


def data(fleet: Fleet, works: Iterable[Submission], states: Mapping[int, str] | None = None) -> shapes.WorkListJson:
    """Returns submissions with their verdicts, and their states in the clusters, as JSON data."""
    admission = Admission(fleet)
    return {"version": 1, "workflows": [_record(work, admission, states or {}) for work in in_order(works)]}


def name(submission: Submission) -> str:
    """Returns ``Kind/name`` of a submission."""
    return f"{submission.kind}/{submission.name}"


def in_order(submissions: Iterable[Submission]) -> list[Submission]:
    """Sorts submissions by kind, name and file."""
    return sorted(
        submissions, key=lambda submission: (submission.kind, submission.name, submission.declared.origin.path)
    )


def _record(submission: Submission, admission: Admission, states: Mapping[int, str]) -> shapes.WorkJson:
    verdict = admission.verdict(submission)
    return {
        "kind": submission.kind,
        "name": submission.name,
        "pool": submission.target,
        "queue": submission.queue,
        "priority": submission.priority,
        "gpus": submission.gpus,
        "verdict": verdict.outcome,
        "rule": verdict.rule.code if verdict.rule else None,
        "message": verdict.text,
        "file": submission.declared.origin.path,
        "state": states.get(id(submission)),
    }


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


def told_data(answers: Sequence[Answer]) -> shapes.AnswersJson:
    """Returns the answers as JSON data."""
    return {"version": 2, "workflows": [_answer_record(answer) for answer in answers]}


def _answer_record(answer: Answer) -> shapes.AdmittedJson:
    submission, verdict = answer.submission, answer.verdict
    return {
        "kind": submission.kind,
        "name": submission.name,
        "workflow": submission.name,
        "pool": submission.target,
        "queue": submission.queue,
        "priority": submission.priority,
        "gpus": submission.gpus,
        "asks": submission.gpus,
        "quota": _amount(answer.quota, "gpu"),
        "used": None if answer.used is None else answer.used.gpu,
        "verdict": verdict.outcome,
        "rule": verdict.rule.code if verdict.rule else None,
        "inQuota": verdict.in_quota.gpu,
        "overQuota": verdict.over_quota.gpu,
        "message": verdict.text,
        "hint": verdict.hint,
        "cpu": _answer_amounts(answer, "cpu"),
        "memory": _answer_amounts(answer, "memory"),
    }


def _amount(amounts: Amounts | None, resource: ResourceName) -> Amount | str | None:
    return None if amounts is None else as_data(resource, amounts.of(resource))


def _answer_amounts(answer: Answer, resource: ResourceName) -> shapes.AskedJson:
    """Returns the amounts as Kubernetes quantities. None means: no limit, or unknown."""
    return {
        "asks": as_data(resource, answer.submission.asks.of(resource)),
        "quota": _amount(answer.quota, resource),
        "used": _amount(answer.used, resource),
        "inQuota": as_data(resource, answer.verdict.in_quota.of(resource)),
        "overQuota": as_data(resource, answer.verdict.over_quota.of(resource)),
    }
