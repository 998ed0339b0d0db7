"""What a submission would be answered: its gangs against the quota of its queue, and what others hold of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity, Waiving
from kubectl_tas.errors import TasError
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.podgroup import least_of
from kubectl_tas.gpus import Gpus
from kubectl_tas.model.workflow import Priority
from kubectl_tas.resolve.cliqueset import FleetClique, FleetPodCliqueSet, SubmittedSet
from kubectl_tas.resolve.fleet import Fleet, sent
from kubectl_tas.resolve.podgroup import SubmittedPodGroup
from kubectl_tas.resolve.pools import UNLIMITED, Submission
from kubectl_tas.resolve.workflows import FleetWorkflow
from kubectl_tas.resolve.workload import FleetWorkload

SUBPOOL_CLOSED = Rule(
    "subpool-closed",
    Severity.ERROR,
    "A workflow or workload is sent to a subpool that is DELETING or ARCHIVED.",
    "Such a subpool takes no new work: its queue has no quota, or is gone. Choose another subpool, or the pool itself.",
    protects=Waiving.CONFIG,
)
OVER_SHARED_QUOTA = Rule(
    "over-shared-quota",
    Severity.ERROR,
    "HIGH or NORMAL work asks a pool with subpools for more than they leave to it.",
    "The rest of the pool is guaranteed to its subpools. Ask for less, use LOW priority, or a subpool.",
    protects=Waiving.CONFIG,
)
OVER_QUOTA = Rule(
    "over-quota",
    Severity.ERROR,
    "A workflow or workload has a gang that is larger than its queue can ever hold.",
    "Work that cannot be preempted must stay within the quota (KAI says NonPreemptibleOverQuota), and LOW work within "
    "the maximum of the pool (OverLimit), so a larger gang is never scheduled. Workloads that share a "
    "kubectl-tas/gang are one gang, and a segment that is needed is needed whole. Ask for less, use LOW priority, or "
    "raise the quota.",
    protects=Waiving.CONFIG,
)
QUOTA_SHARED = Rule(
    "quota-shared",
    Severity.WARNING,
    "The HIGH and NORMAL work of a queue fits its quota gang by gang, but not all at once.",
    "What does not fit stays Pending until others of the same queue have ended. Nothing is wrong where that is meant. "
    "Work that can never run counts for nothing here, since it takes nothing from the others.",
    protects=Waiving.CONFIG,
)
VERDICTS = frozenset({SUBPOOL_CLOSED, OVER_SHARED_QUOTA, OVER_QUOTA})
"""Errors that are the verdict itself."""
SENT_TWICE = frozenset({"name-duplicate", "name-collision"})
"""Errors that a file beside the repository may cause: a workflow is submitted once more."""
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
    in_quota: Gpus
    """GPUs covered by the quota."""
    over_quota: Gpus
    """GPUs that only a LOW workflow can have, until somebody else claims them."""
    hint: str = ""


class QueueUsage(Protocol):
    """What a cluster says of a queue."""

    @property
    def used(self) -> int | None:
        """GPUs of work that cannot be preempted; None where that is not known."""

    @property
    def running(self) -> int | None:
        """Workflows that run; None where that is not known."""

    def unknown(self, queue: str) -> str:
        """The sentence that says so."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said of one submission of a file."""

    item: Submission
    verdict: Verdict
    used: Gpus
    """GPUs that others of its queue use: as told, as the cluster says, or as declared."""

    @property
    def quota(self) -> int | None:
        """GPUs of its queue; None: no limit."""
        return None if self.item.quota == UNLIMITED else self.item.quota


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a queue by a submission and all that share its gang."""

    gpus: Gpus = 0
    """GPUs of all pods that run at a time."""
    largest: Gpus = 0
    """GPUs of the pods that must start together, in the largest of its gangs."""
    first: Gpus = 0
    """The same of the gang that starts with the least: with less, nothing of it runs."""
    is_one_gang: bool = True
    """Whether nothing of it runs before all of it can."""


class Admission:
    """The verdicts on all that a fleet sends to its queues."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._shared: dict[int, dict[tuple[str, Priority], Request]] = {}

    @cached_property
    def declared(self) -> dict[str, Gpus]:
        """GPUs of the HIGH and NORMAL work of the repository that can run, by leaf queue; 0 for any other queue."""
        return _by_queue(filter(self._takes, self._fleet.submissions))

    def _takes(self, item: Submission) -> bool:
        """Whether a submission takes quota from others: KAI plans nothing for what can be preempted or never runs."""
        return not item.is_preemptible and _never(item, self.request(item)) is None

    def request(self, item: Submission) -> Request:
        """What a submission asks for, together with all that share its gang, queue and priority."""
        match item:
            case FleetWorkflow():
                gangs = [group.gpus for group in item.groups] or [0]
                return Request(item.gpus, max(gangs), min(gangs), len(item.groups) <= 1)
            case FleetWorkload() if item.shared_gang is not None:
                shared = item.shared_gang
                if id(shared) not in self._shared:
                    self._shared[id(shared)] = _of_shared_gang(shared.workloads)
                return self._shared[id(shared)][item.queue, item.priority]
            case FleetWorkload():
                return _of_workload(item)
            case SubmittedSet():
                return _of_set(item.set, item.gpus)
            case SubmittedPodGroup():
                least = least_of(item.group)
                return Request(item.gpus, least, least, least == item.gpus)
            case _:
                raise TypeError(item)

    def others(self, item: Submission) -> Gpus:
        """What others than a submission and its gang declare for its queue, in GPUs."""
        return self.declared[item.queue] - (self.request(item).gpus if self._takes(item) else 0)

    def verdict(self, item: Submission) -> Verdict:
        """The verdict beside all else that the repository declares."""
        return admit(item, self.request(item), self.others(item), self.declared)


def asked(fleet: Fleet) -> dict[str, Gpus]:
    """GPUs of all HIGH and NORMAL work of the repository, by leaf queue: what a decrease of the quota has made too
    large may run on.
    """
    return _by_queue(item for item in fleet.submissions if not item.is_preemptible)


def _by_queue(items: Iterable[Submission]) -> dict[str, Gpus]:
    used: dict[str, Gpus] = defaultdict(int)
    for item in items:
        used[item.queue] += item.gpus
    return used


def sent_by(fleet: Fleet, path: str) -> list[Submission]:
    """What the file at ``path`` sends to queues. Raises TasError where it cannot be known of all of it."""
    declared = [item.origin.path for _, _, item in sent(fleet.repository)]
    found = [item for item in fleet.submissions if item.declared.origin.path == path]
    if len(found) < declared.count(path):
        raise TasError("cannot tell: the pool's own file has errors", hint="Run: kubectl tas validate")
    return found


def split_findings(
    diagnostics: Sequence[Diagnostic], path: str, *, is_new: bool
) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
    """The findings that keep the file at ``path`` from being answered, and those that are no part of an answer.

    A file that ``is_new`` lies beside the repository, and may send what is there already.
    """
    verdicts = {rule.code for rule in VERDICTS}
    expected = verdicts | SENT_TWICE if is_new else verdicts
    own = (item for item in diagnostics if item.location is not None and item.location.path == path)
    rest = tuple(item for item in diagnostics if item.rule.code not in verdicts | SENT_TWICE)
    return tuple(item for item in own if item.rule.code not in expected), rest


def answers(
    fleet: Fleet, items: Sequence[Submission], used: int | None, queues: Mapping[str, QueueUsage] | None
) -> list[Answer]:
    """The answers to what is sent together. ``used`` are GPUs of others in the queue of each, as told; else
    ``queues`` say it, and where both are None the other work of the repository.

    Raises TasError where the cluster does not have a queue, or does not say what the queue holds.
    """
    admission = Admission(fleet)
    return [_answer(admission, item, items, used, queues) for item in items]


def _answer(
    admission: Admission,
    item: Submission,
    items: Sequence[Submission],
    used: int | None,
    queues: Mapping[str, QueueUsage] | None,
) -> Answer:
    """The answer to one submission.

    Where usage is told, or read from a cluster, members of its gang that run are in it already. So of the gang only
    the ``items``, which are submitted with it, count as new.
    """
    held: dict[str, Gpus | None]
    if queues is None:
        held = {**admission.declared, item.queue: admission.others(item)}
    else:
        held = {name: usage.used for name, usage in queues.items()}
    if used is not None:
        held[item.queue] = used
    elif queues is not None and (item.subpool is None or item.subpool.state == "ACTIVE"):
        if item.queue not in queues:
            hint = "Name the right cluster, or pass --used N."
            raise TasError(f"the cluster has no queue {item.queue}", hint=hint)
        if held[item.queue] is None:
            message = queues[item.queue].unknown(item.queue)
            raise TasError(message, hint="Look at it with kubectl, or pass --used N.")
    rest, is_told = held.get(item.queue) or 0, used is not None or queues is not None
    gang = (item.queue, item.priority, item.gang)
    new = sum(other.gpus for other in items if (other.queue, other.priority, other.gang) == gang)
    verdict = admit(item, admission.request(item), rest, held, new if is_told and item.gang else None)
    return Answer(item, verdict, rest)


def _of_shared_gang(workloads: Sequence[FleetWorkload]) -> dict[tuple[str, Priority], Request]:
    """What workloads that share a gang ask for, by queue and priority: those in another queue cannot be in it."""
    found: dict[tuple[str, Priority], Request] = {}
    for item in workloads:
        sum_, own = found.get((item.queue, item.priority), Request()), _of_workload(item)
        one = sum_.is_one_gang and own.is_one_gang
        least = sum_.largest + own.largest
        found[item.queue, item.priority] = Request(sum_.gpus + own.gpus, least, least, one)
    return found


def _of_workload(item: FleetWorkload) -> Request:
    """The pods of a workload itself, without those of others that share its gang."""
    needed = podgrouper.needed(item)
    largest = sum(pods * part.gpus for pods, part in zip(needed, item.replicas, strict=True))
    is_whole = all(pods == part.replicas for pods, part in zip(needed, item.replicas, strict=True))
    return Request(item.gpus, largest, largest, item.copies == 1 and is_whole)


def _of_set(item: FleetPodCliqueSet, gpus: Gpus) -> Request:
    """Its base gang starts first. It is the largest, or a replica of a scaling group that is a gang of its own."""
    base = sum(_least(clique) for clique in item.standalone)
    base += sum(group.spec.minAvailable * sum(map(_least, group.cliques)) for group in item.groups)
    scaled = [group for group in item.groups if group.spec.replicas > group.spec.minAvailable]
    largest = max([base, *(sum(map(_least, group.cliques)) for group in scaled)]) if item.replicas else 0
    is_whole = all(group.spec.minAvailable == group.spec.replicas for group in item.groups)
    is_whole = is_whole and all(clique.minimum == clique.spec.spec.replicas for clique in item.cliques)
    return Request(gpus, largest, base if item.replicas else 0, item.replicas == 1 and is_whole)


def _least(clique: FleetClique) -> Gpus:
    return clique.minimum * clique.gpus


def admit(
    workflow: Submission, request: Request, used: Gpus, elsewhere: Mapping[str, Gpus | None], new: Gpus | None = None
) -> Verdict:
    """The verdict on a submission.

    ``used`` are the GPUs in quota that its queue already holds, ``elsewhere`` those of the other queues, which are
    suggested where they have room; None where it is not known. A gang of several workloads is one PodGroup, so each
    of them is answered for all. ``new`` are the GPUs of the gang that are not among ``used`` yet: of a gang of 8, of
    which 6 run, 2. Without it the whole gang is new.
    """
    quota, target, together = workflow.quota, workflow.target, request.gpus
    by = f' by the gang "{workflow.gang}"' if workflow.gang else ""
    coming = together if new is None or workflow.is_preemptible else new
    if coming < together:
        by = f' here for the gang "{workflow.gang}", the rest of which counts as used,'
    never = _never(workflow, request)
    if never is not None:
        rule, text = never
        outcome: Outcome = "unschedulable" if rule is OVER_QUOTA else "rejected"
        return Verdict(outcome, rule, text, 0, 0, _remedy(workflow, request, elsewhere, rule))
    if together == 0:
        return Verdict("admitted", None, f"no GPUs asked{by}, so no quota is needed", 0, 0)
    if quota == UNLIMITED:
        text = f"{together} GPUs{by}; the quota of {target} has no limit"
        return Verdict("admitted", None, text, together, 0)
    if workflow.is_preemptible:
        inside = max(0, min(together, quota - used))
        text = f"{inside} GPUs in quota, {together - inside} over quota{by and f', asked{by}'}, preemptible"
        return Verdict("admitted", None, text, inside, together - inside)
    if coming + used > quota:
        sum_ = f"{used} of others + {coming} asked{by} = {used + coming}" if used else f"{coming} asked{by}"
        is_stuck = request.is_one_gang or (coming == together and used + request.first > quota)
        what = "it stays Pending" if is_stuck else "not all of it runs at once, the rest stays Pending"
        text = f"{sum_} > {quota} GPUs, the quota of {target}: {what}"
        wait = _ways(workflow, request, elsewhere, "wait until others of the queue have ended")
        hint = wait if together <= quota else _ask_less(workflow, request, elsewhere)
        return Verdict("pending", QUOTA_SHARED, text, 0, 0, hint)
    return Verdict("admitted", None, f"{used} used + {coming} asked{by} <= {quota} GPUs of {target}", together, 0)


def _never(workflow: Submission, request: Request) -> tuple[Rule, str] | None:
    """Why a submission can never run, whatever others do, by rule; None where it can."""
    quota, target, pool = workflow.quota, workflow.target, workflow.pool
    largest, shared = request.largest, workflow.gang and f'the gang "{workflow.gang}"'
    gang = shared or "a gang"
    if workflow.subpool is not None and workflow.subpool.state != "ACTIVE":
        work = "workflows" if isinstance(workflow, FleetWorkflow) else "workloads"
        return SUBPOOL_CLOSED, f"subpool {target} is {workflow.subpool.state} and takes no {work}"
    if largest > pool.maximum != UNLIMITED:
        text = f"{gang} of {largest} > {pool.maximum} GPUs, the maximum of pool {pool.name}, can never be scheduled"
        return OVER_QUOTA, text
    if workflow.is_preemptible or quota == UNLIMITED:
        return None
    if workflow.subpool is None and pool.is_split and request.gpus > quota:
        asks = f"{shared} asks" if shared else "asks"
        return OVER_SHARED_QUOTA, f"{asks} {request.gpus} > {quota} GPUs that the subpools leave to pool {target}"
    if largest > quota:
        return OVER_QUOTA, f"{gang} of {largest} > {quota} GPUs, the quota of {target}, can never be scheduled"
    return None


def _remedy(workflow: Submission, request: Request, elsewhere: Mapping[str, Gpus | None], rule: Rule) -> str:
    """What would let a submission run that ``rule`` says never does."""
    if rule is SUBPOOL_CLOSED:
        return _instead(workflow, request, elsewhere)
    maximum = workflow.pool.maximum
    if request.largest > maximum != UNLIMITED:
        return f"{_sentence(_less(workflow, maximum))}."
    return _ask_less(workflow, request, elsewhere)


def _instead(workflow: Submission, request: Request, elsewhere: Mapping[str, Gpus | None]) -> str:
    """Where a workflow can go whose subpool is closed: where it has room, else anywhere."""
    open_ = [subpool.canonical for subpool in workflow.pool.subpools if subpool.state == "ACTIVE"]
    return f"Use {_either(_roomy(workflow, request, elsewhere) or [*open_, workflow.pool.name])}."


def _ask_less(workflow: Submission, request: Request, elsewhere: Mapping[str, Gpus | None]) -> str:
    return _ways(workflow, request, elsewhere, *([_less(workflow, workflow.quota)] if workflow.quota > 0 else []))


def _less(workflow: Submission, most: int) -> str:
    return f"let the gang ask for {most} or less" if workflow.gang else f"ask for {most} or less"


def _ways(workflow: Submission, request: Request, elsewhere: Mapping[str, Gpus | None], *first: str) -> str:
    """What would help: ``first``, LOW priority, or a queue with room; a gang has one priority and one queue."""
    roomy, whole = _roomy(workflow, request, elsewhere), " for all of the gang" if workflow.gang else ""
    ways = [*first, f"use priority LOW{whole}", *([f"use {_either(roomy)}{whole}"] if roomy else [])]
    return f"{_sentence(', or '.join((', '.join(ways[:-1]), ways[-1]) if len(ways) > 1 else ways))}."


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _either(names: Sequence[str]) -> str:
    """``a``, ``a or b``, ``a, b or c``; of more than three only the first."""
    *others, last = names[:MAX_SUGGESTED]
    return f"{', '.join(others)} or {last}" if others else last


def _roomy(workflow: Submission, request: Request, elsewhere: Mapping[str, Gpus | None]) -> list[str]:
    """The subpools of its pool, and the pool itself, that have as many GPUs left as the workflow and its gang ask for;
    those with the most come first.
    """
    pool, asked = workflow.pool, request.gpus
    places = [(item.canonical, item.queue, item.quota) for item in pool.subpools if item.state == "ACTIVE"]
    places.append((pool.name, pool.shared_queue, pool.shared_quota))
    others = [(name, quota, elsewhere.get(queue, 0)) for name, queue, quota in places if queue != workflow.queue]
    free = [(quota - used, name) for name, quota, used in others if used is not None]
    return [f"{name} ({left} free)" for left, name in sorted(free, key=lambda item: -item[0]) if left >= asked]
