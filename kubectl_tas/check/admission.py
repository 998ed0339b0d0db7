"""What a submission would be answered: each workflow and workload against the quota of its queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.resolve.fleet import UNLIMITED, Fleet, FleetWorkflow
from kubectl_tas.resolve.submission import Submission

SUBPOOL_CLOSED = Rule(
    "subpool-closed",
    Severity.ERROR,
    "A workflow or workload is sent to a subpool that is DELETING or ARCHIVED.",
    "Such a subpool takes no new work: its queue has no quota, or is gone. Choose another subpool, or the pool itself.",
)
OVER_SHARED_QUOTA = Rule(
    "over-shared-quota",
    Severity.ERROR,
    "HIGH or NORMAL work asks a pool with subpools for more than they leave to it.",
    "The rest of the pool is guaranteed to its subpools. Ask for less, use LOW priority, or a subpool.",
)
OVER_QUOTA = Rule(
    "over-quota",
    Severity.WARNING,
    "A workflow or workload has a gang that is larger than its queue can ever hold.",
    "Work that cannot be preempted must stay within the quota, and LOW work within the maximum of the pool, so a "
    "larger gang is never scheduled. Workloads that share a kubectl-tas/gang are one gang, and a segment that is "
    "needed is needed whole. Ask for less, use LOW priority, or raise the quota.",
)
QUOTA_SHARED = Rule(
    "quota-shared",
    Severity.WARNING,
    "The gangs of HIGH or NORMAL work fit their quota one by one, but not beside all others of this repository.",
    "What does not fit stays Pending until others of the same queue have ended. Nothing is wrong where that is meant.",
)
MAX_SUGGESTED = 3
"""Queues with room that a refusal names."""
Outcome = Literal["admitted", "pending", "unschedulable", "rejected"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one workflow or workload."""

    outcome: Outcome
    rule: Rule | None
    text: str
    """The arithmetic in words."""
    in_quota: int
    """GPUs covered by the quota."""
    over_quota: int
    """GPUs that only a LOW workflow can have, until somebody else claims them."""
    hint: str = ""


def check_admission(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every workflow and workload that would be refused, or wait."""
    used = declared_usage(fleet)
    for workflow in fleet.submissions:
        verdict = admit(workflow, others(workflow, used), used)
        if verdict.rule is not None:
            yield Diagnostic(verdict.rule, verdict.text, workflow.place, hint=verdict.hint)


def declared_usage(fleet: Fleet) -> dict[str, int]:
    """GPUs of the HIGH and NORMAL work of the repository, by leaf queue; 0 for any other queue."""
    used: dict[str, int] = defaultdict(int)
    for workflow in fleet.submissions:
        used[workflow.queue] += counted(workflow)
    return used


def admit(workflow: Submission, used: int, elsewhere: Mapping[str, int | None], new: int | None = None) -> Verdict:
    """The verdict on a workflow or workload, where others of its queue already use ``used`` GPUs in quota;
    ``elsewhere`` is what is used in other queues, for those that are suggested; None: not known.

    A gang of several workloads is one PodGroup, so each of them is answered for all. Of a gang that may run in part
    ``new`` is what comes to the GPUs used, which the rest of it is in; without it, all that the gang asks.
    """
    quota, target = workflow.quota, workflow.target
    largest, together = workflow.largest_gang, workflow.gang_gpus
    shared = workflow.gang and f'the gang "{workflow.gang}"'
    gang, by = shared or "a gang", f" by {shared}" if shared else ""
    coming = together if new is None or workflow.priority == "LOW" else new
    if coming < together:
        by = f" here for {shared}, the rest of which counts as used,"
    if workflow.subpool is not None and workflow.subpool.state != "ACTIVE":
        work = "workflows" if isinstance(workflow, FleetWorkflow) else "workloads"
        text = f"subpool {target} is {workflow.subpool.state} and takes no {work}"
        return Verdict("rejected", SUBPOOL_CLOSED, text, 0, 0, _instead(workflow, elsewhere))
    if largest > workflow.pool.maximum != UNLIMITED:
        maximum, name = workflow.pool.maximum, workflow.pool.name
        text = f"{gang} of {largest} > {maximum} GPUs, the maximum of pool {name}, can never be scheduled"
        return Verdict("unschedulable", OVER_QUOTA, text, 0, 0, f"{_sentence(_less(workflow, maximum))}.")
    if quota == UNLIMITED:
        text = f"{together} GPUs{by}; the quota of {target} has no limit"
        return Verdict("admitted", None, text, together, 0)
    if workflow.priority == "LOW":
        inside = max(0, min(together, quota - used))
        text = f"{inside} GPUs in quota, {together - inside} over quota{by and f', asked{by}'}, preemptible"
        return Verdict("admitted", None, text, inside, together - inside)
    if workflow.subpool is None and workflow.pool.is_split and together > quota:
        asks = f"{shared} asks" if shared else "asks"
        text = f"{asks} {together} > {quota} GPUs that the subpools leave to pool {target}"
        return Verdict("rejected", OVER_SHARED_QUOTA, text, 0, 0, _ask_less(workflow, elsewhere))
    if largest > quota:
        text = f"{gang} of {largest} > {quota} GPUs, the quota of {target}, can never be scheduled"
        return Verdict("unschedulable", OVER_QUOTA, text, 0, 0, _ask_less(workflow, elsewhere))
    if coming + used > quota:
        sum_ = f"{used} of others + {coming} asked{by} = {used + coming}" if used else f"{coming} asked{by}"
        what = "it stays Pending" if workflow.is_one_gang else "not all of it runs at once, the rest stays Pending"
        text = f"{sum_} > {quota} GPUs, the quota of {target}: {what}"
        wait = _ways(workflow, elsewhere, "wait until others of the queue have ended")
        hint = wait if together <= quota else _ask_less(workflow, elsewhere)
        return Verdict("pending", QUOTA_SHARED, text, 0, 0, hint)
    return Verdict("admitted", None, f"{used} used + {coming} asked{by} <= {quota} GPUs of {target}", together, 0)


def counted(workflow: Submission) -> int:
    """GPUs that count against the quota: LOW work can always be preempted."""
    return 0 if workflow.priority == "LOW" else workflow.gpus


def others(workflow: Submission, used: Mapping[str, int]) -> int:
    """What is left of the GPUs ``used`` in its queue without a workflow or workload, and without its gang."""
    return used.get(workflow.queue, 0) - (0 if workflow.priority == "LOW" else workflow.gang_gpus)


def _instead(workflow: Submission, elsewhere: Mapping[str, int | None]) -> str:
    """Where a workflow can go whose subpool is closed: where it has room, else anywhere."""
    open_ = [subpool.canonical for subpool in workflow.pool.subpools if subpool.state == "ACTIVE"]
    return f"Use {_either(_roomy(workflow, elsewhere) or [*open_, workflow.pool.name])}."


def _ask_less(workflow: Submission, elsewhere: Mapping[str, int | None]) -> str:
    return _ways(workflow, elsewhere, *([_less(workflow, workflow.quota)] if workflow.quota > 0 else []))


def _less(workflow: Submission, most: int) -> str:
    return f"let the gang ask for {most} or less" if workflow.gang else f"ask for {most} or less"


def _ways(workflow: Submission, elsewhere: Mapping[str, int | None], *first: str) -> str:
    """What would help: ``first``, LOW priority, or a queue with room; a gang has one priority and one queue."""
    roomy, whole = _roomy(workflow, elsewhere), " for all of the gang" if workflow.gang else ""
    ways = [*first, f"use priority LOW{whole}", *([f"use {_either(roomy)}{whole}"] if roomy else [])]
    return f"{_sentence(', or '.join((', '.join(ways[:-1]), ways[-1]) if len(ways) > 1 else ways))}."


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _either(names: Sequence[str]) -> str:
    """``a``, ``a or b``, ``a, b or c``; of more than three only the first."""
    *others, last = names[:MAX_SUGGESTED]
    return f"{', '.join(others)} or {last}" if others else last


def _roomy(workflow: Submission, elsewhere: Mapping[str, int | None]) -> list[str]:
    """The subpools of its pool, and the pool itself, that have as many GPUs left as the workflow and its gang ask for;
    those with the most come first.
    """
    pool, asked = workflow.pool, workflow.gang_gpus
    places = [(item.canonical, item.queue, item.quota) for item in pool.subpools if item.state == "ACTIVE"]
    places.append((pool.name, pool.shared_queue, pool.shared_quota))
    others = [(name, quota, elsewhere.get(queue, 0)) for name, queue, quota in places if queue != workflow.queue]
    free = [(quota - used, name) for name, quota, used in others if used is not None]
    return [f"{name} ({left} free)" for left, name in sorted(free, key=lambda item: -item[0]) if left >= asked]
