"""What a submission would be answered: each workflow and workload against the quota of its queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
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
    "HIGH or NORMAL work asks for more than the quota of its queue.",
    "Work that cannot be preempted must stay within the quota, so a gang larger than the quota is never "
    "scheduled. Ask for less, use LOW priority, or raise the quota.",
)
QUOTA_SHARED = Rule(
    "quota-shared",
    Severity.WARNING,
    "HIGH or NORMAL work fits its quota alone, but not beside the rest of this repository.",
    "It stays Pending until others of the same queue have ended. Nothing is wrong where that is meant.",
)
Outcome = Literal["admitted", "pending", "never", "rejected"]


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
    for item in fleet.submissions:
        verdict = admit(item, used[item.queue] - counted(item))
        if verdict.rule is not None:
            yield Diagnostic(verdict.rule, verdict.text, item.place, hint=verdict.hint)


def declared_usage(fleet: Fleet) -> dict[str, int]:
    """GPUs of the HIGH and NORMAL work of the repository, by leaf queue; 0 for any other queue."""
    used: dict[str, int] = defaultdict(int)
    for item in fleet.submissions:
        used[item.queue] += counted(item)
    return used


def admit(workflow: Submission, used: int) -> Verdict:
    """The verdict on a workflow or workload, where others of its queue already use ``used`` GPUs in quota."""
    asked, quota, target = workflow.gpus, workflow.quota, workflow.target
    if workflow.subpool is not None and workflow.subpool.state != "ACTIVE":
        work = "workflows" if isinstance(workflow, FleetWorkflow) else "workloads"
        text = f"subpool {target} is {workflow.subpool.state} and takes no {work}"
        return Verdict("rejected", SUBPOOL_CLOSED, text, 0, 0, f"Use another subpool of {workflow.pool.name}.")
    if quota == UNLIMITED:
        return Verdict("admitted", None, f"{asked} GPUs; the quota of {target} has no limit", asked, 0)
    if workflow.priority == "LOW":
        inside = max(0, min(asked, quota - used))
        text = f"{inside} GPUs in quota, {asked - inside} over quota, preemptible"
        return Verdict("admitted", None, text, inside, asked - inside)
    if workflow.subpool is None and workflow.pool.is_split and asked > quota:
        text = f"asks {asked} > {quota} GPUs that the subpools leave to pool {target}"
        return Verdict("rejected", OVER_SHARED_QUOTA, text, 0, 0, _way_out(workflow))
    if workflow.largest_gang > quota:
        text = f"a gang of {workflow.largest_gang} > {quota} GPUs, the quota of {target}, can never be scheduled"
        return Verdict("never", OVER_QUOTA, text, 0, 0, _way_out(workflow))
    if asked + used > quota:
        others = f"{used} of others + " if used else ""
        text = f"{others}{asked} asked = {used + asked} > {quota} GPUs, the quota of {target}: stays Pending"
        return Verdict("pending", QUOTA_SHARED, text, 0, 0, "It starts when others of the queue have ended.")
    return Verdict("admitted", None, f"{used} used + {asked} asked <= {quota} GPUs of {target}", asked, 0)


def counted(workflow: Submission) -> int:
    """GPUs that count against the quota: LOW work can always be preempted."""
    return 0 if workflow.priority == "LOW" else workflow.gpus


def _way_out(workflow: Submission) -> str:
    """What would help: less, LOW priority, or a subpool with room."""
    ways = [f"ask for {workflow.quota} or less", "use priority LOW"]
    roomy = [s.canonical for s in workflow.pool.subpools if s.quota >= workflow.gpus and s != workflow.subpool]
    if roomy:
        ways.append(f"use {' or '.join(roomy)}")
    text = ", ".join(ways[:-1]) + f", or {ways[-1]}."
    return text[0].upper() + text[1:]
