"""Answers to submissions in, a few lines about each out, or the same as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubectl_tas.gangs.admission import Answer
from kubectl_tas.report import table
from kubectl_tas.report.text import plural


def render(answers: Sequence[Answer]) -> str:
    """The facts about each, a blank line between two."""
    return "\n".join(map(_facts, answers))


def _facts(answer: Answer) -> str:
    item, verdict, quota = answer.item, answer.verdict, answer.quota
    facts = [
        (item.kind, item.name),
        ("Pool", item.target),
        ("Queue", item.queue),
        ("Priority", item.priority),
        ("Asks", plural(item.gpus, "GPU")),
        ("Quota", "no limit" if quota is None else f"{plural(quota, 'GPU')}, {answer.used} used by others"),
        ("Verdict", verdict.outcome.upper()),
        ("Why", verdict.text),
    ]
    if verdict.hint:
        facts.append(("Help", verdict.hint))
    return table.pairs(facts)


def data(answers: Sequence[Answer]) -> dict[str, Any]:
    """The same for programs."""
    return {"version": 1, "workflows": [_record(answer) for answer in answers]}


def _record(answer: Answer) -> dict[str, Any]:
    item, verdict = answer.item, answer.verdict
    return {
        "workflow": item.name,
        "pool": item.target,
        "queue": item.queue,
        "priority": item.priority,
        "asks": item.gpus,
        "quota": answer.quota,
        "used": answer.used,
        "verdict": verdict.outcome,
        "rule": verdict.rule.code if verdict.rule else None,
        "inQuota": verdict.in_quota,
        "overQuota": verdict.over_quota,
        "message": verdict.text,
        "hint": verdict.hint,
    }
