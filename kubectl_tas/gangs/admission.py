"""Computes the verdict on submissions: whether the quota of the queue has room for their gangs beside other work."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import Literal, NamedTuple, Protocol

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.diagnostics import Diagnostic, Rule, Severity, TasError, Waiving
from kubectl_tas.base.folders import MEBIBYTE
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import (
    NO_LIMIT,
    NOTHING,
    Amount,
    Amounts,
    ResourceName,
    by_meaning,
    each,
    larger,
    said,
    show,
    smaller,
    total,
)
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.lasting import Past
from kubectl_tas.gangs.summary import Request, Summary
from kubectl_tas.gangs.written_gangs import least_of
from kubectl_tas.model.osmo_workflow import Priority
from kubectl_tas.model.repository import Unread
from kubectl_tas.resolve.fleet import Fleet, declared_work
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.handwritten import SubmittedPodGroup
from kubectl_tas.resolve.podcliqueset import FleetClique, FleetPodCliqueSet, SubmittedSet
from kubectl_tas.resolve.pools import LeafQueue, Submission, work_name
from kubectl_tas.resolve.workflows import FleetWorkflow

SUBPOOL_CLOSED = Rule(
    "subpool-closed",
    Severity.ERROR,
    "Work is sent to a DELETING or ARCHIVED subpool.",
    "Such a subpool takes no new work: its queue has no quota, or is gone. Choose another subpool, or the pool itself. "
    "Work in spec.draining of a DELETING subpool was there before, and may finish.",
    protects=Waiving.CONFIG,
)
OVER_SHARED_QUOTA = Rule(
    "over-shared-quota",
    Severity.ERROR,
    "HIGH or NORMAL work asks a pool for more than its parts leave.",
    "The rest of the pool is guaranteed to its parts. Ask for less, use LOW priority, or use a subpool.",
    protects=Waiving.CONFIG,
)
OVER_QUOTA = Rule(
    "over-quota",
    Severity.ERROR,
    "A gang is larger than its queue can ever hold.",
    "Non-preemptible work must stay within the quota (KAI reports NonPreemptibleOverQuota). LOW work must stay within "
    "the maximum of the pool and of the pools above it (OverLimit). So KAI never schedules a larger gang. Workloads "
    "with the same kubectl-tas/gang are one gang, and a required segment counts as a whole. Ask for less, use LOW "
    "priority, or raise the quota.",
    protects=Waiving.CONFIG,
)
OVER_QUOTA_RUNNING = Rule(
    "over-quota-running",
    Severity.WARNING,
    "Work asks for more than its queue may hold since its quota was lowered.",
    "A lower quota ends no running work: KAI does not evict non-preemptible work. It starts nothing more in the queue "
    "until enough work has ended. This is a warning for unchanged work that had room at the revision of --base, or "
    "that the cluster of --live or --cluster-state shows as running. It is an info if spec.overQuota of the pool or "
    "subpool lists the work with its size, also without --base. New or changed work is an error: KAI would leave its "
    "pods Pending. `kubectl tas subpool` writes the list when it lowers a quota.",
    protects=Waiving.CONFIG,
)
QUOTA_SHARED = Rule(
    "quota-shared",
    Severity.INFO,
    "The HIGH and NORMAL gangs of a queue fit its quota, but not all at once.",
    "The gangs that do not fit stay Pending until others of the same queue have ended. If you mean that, nothing is "
    "wrong. Work that can never run is not counted, since it takes nothing from the others.",
    protects=Waiving.CONFIG,
)
VERDICTS = frozenset({SUBPOOL_CLOSED, OVER_SHARED_QUOTA, OVER_QUOTA})
"""Rules whose errors are the verdict itself."""
SENT_TWICE = frozenset({"name-duplicate", "name-collision"})
"""Errors that a file outside of the repository may cause, because the file submits a workflow once more."""
MAX_SUGGESTED = 3
"""Most queues with room that a refusal names."""
Outcome = Literal["admitted", "pending", "draining", "unschedulable", "rejected", "unknown"]


@json_fields("outcome rule=rule.code message=text inQuota=in_quota.gpus overQuota=over_quota.gpus hint")
@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one workflow or workload."""

    outcome: Outcome
    rule: Rule | None
    text: str
    """The arithmetic in words."""
    in_quota: Amounts
    """Resources that the quota covers."""
    over_quota: Amounts
    """Resources that only a LOW workflow can have, until other work claims them."""
    hint: str = ""
    short: ResourceName = "gpu"
    """The resource that is too scarce, if the work can never run."""
    unlisted: tuple[ResourceName, ...] = ()
    """Resources beyond the quota or limit, if the work may run on although no overQuota lists them."""


class QueueUsage(Protocol):
    """Usage of a queue, as a cluster reports it."""

    @property
    def used(self) -> Amounts | None:
        """Resources that non-preemptible work holds; None if unknown."""

    @property
    def running(self) -> int | None:
        """Number of running workflows; None if unknown."""

    def unknown(self, queue: str) -> str:
        """Returns the sentence that says that the usage of a queue is unknown."""


AnswerAmount = Literal["asks", "quota", "used", "inQuota", "overQuota"]


@json_fields(
    "kind=submission.kind name=submission.name workflow=submission.name pool=submission.target queue=submission.queue "
    "priority=submission.priority gpus=submission.gpus asks=submission.gpus quota=quota.gpu used=used.gpus "
    "verdict=verdict.outcome rule=verdict.rule.code inQuota=verdict.in_quota.gpus overQuota=verdict.over_quota.gpus "
    "message=verdict.text hint=verdict.hint cpu memory"
)
@dataclass(frozen=True, slots=True)
class Answer:
    """The verdict on one piece of work. The amounts are GPUs."""

    submission: Submission
    verdict: Verdict
    used: Amounts | None
    """Resources that other work of the queue uses: as the user says, as the cluster says, or as declared. None if
    unknown.
    """
    quota: Amounts | None
    """The quota of the queue; None if unknown."""

    @property
    def cpu(self) -> dict[AnswerAmount, Amount | str | None]:
        """The same amounts of cpu."""
        return self._amounts("cpu")

    @property
    def memory(self) -> dict[AnswerAmount, Amount | str | None]:
        """The same amounts of memory."""
        return self._amounts("memory")

    def _amounts(self, resource: ResourceName) -> dict[AnswerAmount, Amount | str | None]:
        verdict = self.verdict
        return by_meaning(
            resource,
            {
                "asks": self.submission.asks,
                "quota": self.quota,
                "used": self.used,
                "inQuota": verdict.in_quota,
                "overQuota": verdict.over_quota,
            },
        )


@json_fields("version:2 workflows=answers")
class AdmissionAnswers(NamedTuple):
    """The verdicts on work: whether KAI would admit it."""

    answers: Sequence[Answer]


class Admission:
    """The verdicts on everything that a fleet sends to its queues."""

    def __init__(self, fleet: Fleet, past: Past | None = None) -> None:
        self._fleet = fleet
        self._past = past or Past()
        self._shared: dict[int, dict[tuple[str, Priority], Request]] = {}
        self._over: dict[int, tuple[_Excess, ...]] = {}

    @property
    def gaps(self) -> tuple[Unread, ...]:
        """The documents that are not counted."""
        return self._fleet.not_counted

    @cached_property
    def _declared(self) -> dict[str, dict[str, Amounts]]:
        submissions_by_cluster: dict[str, list[Submission]] = defaultdict(list)
        for submission in self._fleet.submissions:
            submissions_by_cluster[submission.pool.backend.name].append(submission)
        return {
            name: requests_by_queue(filter(self._takes, submissions))
            for name, submissions in submissions_by_cluster.items()
        }

    def declared(self, submission: Submission) -> dict[str, Amounts]:
        """Returns what HIGH and NORMAL work that can run asks for on a submission's cluster, by leaf queue."""
        return self._declared.get(submission.pool.backend.name) or defaultdict(Amounts)

    def _takes(self, submission: Submission) -> bool:
        """Whether a submission takes quota from others: preemptible work and work that never runs take none."""
        if submission.is_preemptible:
            return False
        over = self._excess(submission)
        return not over or self._refusal(submission, self.request(submission), over) is None

    def _excess(self, submission: Submission) -> tuple[_Excess, ...]:
        """Returns all that a submission asks for beyond its quota or limit. Cached."""
        if id(submission) not in self._over:
            self._over[id(submission)] = tuple(_excesses(submission, self.request(submission)))
        return self._over[id(submission)]

    def excess(self, submission: Submission) -> tuple[ResourceName, ...]:
        """Returns the resources that a submission asks for beyond what its queue may hold, whatever overQuota says."""
        return tuple(dict.fromkeys(over.resource for over in self._excess(submission)))

    def to_be_listed(self, submission: Submission) -> Amounts:
        """Returns what overQuota must list for a submission: requests of that kind and name in all namespaces."""
        name, target = work_name(submission.kind, submission.name), submission.target
        namesakes = (each for each in self._fleet.submissions if (each.name, each.target) == (submission.name, target))
        return total(self.request(each).asks for each in namesakes if work_name(each.kind, each.name) == name)

    def _refusal(self, submission: Submission, request: Request, excess: Iterable[_Excess]) -> _Excess | None:
        """Returns why a submission can never run, whatever others do; None if it can run, or may run on."""
        for over in excess:
            if over.rule is SUBPOOL_CLOSED:
                return over
            is_listed, reason = self._may_run_on(submission, request, over)
            if not reason:
                consequence = ": it can never start" if over.rule is OVER_QUOTA else ""
                amount, listed = _allowed_over_quota(submission).of(over.resource), ""
                if is_listed:
                    listed = "; overQuota lists it, but it is new or has changed"
                elif amount:
                    listed = f"; overQuota lets it have {said(over.resource, amount)}"
                return replace(over, text=f"{over.text}{consequence}{listed}")
        return None

    def _may_run_on(self, submission: Submission, request: Request, over: _Excess) -> tuple[bool, str]:
        """Returns whether overQuota lists an excess, and why the submission may run on; '' if it may not run on.

        The list decides only without an earlier fleet: with one, the work must have been part of that fleet.
        """
        most, past = _allowed_over_quota(submission).of(over.resource), self._past
        is_listed = most > 0 and self.to_be_listed(submission).of(over.resource) <= most
        if past.before is not None:
            old, earlier = past.unchanged(self._fleet, submission), self._earlier
            if old is None or earlier is None or earlier.request(old) != request:
                return is_listed, ""
            if not is_listed and over.resource not in earlier.excess(old):
                return False, "it had room before and has not changed, so it may run on"
        if is_listed:
            return True, "overQuota lists it, so it may run on"
        least, more_than = (request.asks, NOTHING) if over.rule is OVER_SHARED_QUOTA else (request.largest, over.most)
        is_running = past.runs(self._fleet, submission, over.resource, least, more_than)
        return False, "it runs in the cluster, so it may run on" if is_running else ""

    @cached_property
    def _earlier(self) -> Admission | None:
        return Admission(self._past.before) if self._past.before is not None else None

    def _running_on(self, submission: Submission, request: Request, excess: Sequence[_Excess]) -> Verdict:
        """Returns the verdict on a submission that may run on with its excess."""
        reasons = [(over, *self._may_run_on(submission, request, over)) for over in excess]
        over, is_listed, reason = min(reasons, key=lambda each: each[1])
        unlisted = () if is_listed else tuple(dict.fromkeys(over.resource for over in excess))
        text = f"{over.text}; {reason}"
        return Verdict("draining", OVER_QUOTA_RUNNING, text, NOTHING, NOTHING, "", over.resource, unlisted)

    def request(self, submission: Submission) -> Request:
        """Returns what a submission asks for, together with all submissions that share its gang, queue and priority."""
        match submission:
            case Summary():
                return submission.kept.request
            case FleetWorkflow():
                gangs = [group.asks for group in submission.groups] or [NOTHING]
                is_one_gang = len(submission.groups) <= 1
                return Request(submission.asks, reduce(larger, gangs), reduce(smaller, gangs), is_one_gang)
            case FleetWorkload() if submission.shared_gang is not None:
                shared = submission.shared_gang
                if id(shared) not in self._shared:
                    self._shared[id(shared)] = _shared_gang_requests(shared.workloads)
                return self._shared[id(shared)][submission.queue, submission.priority]
            case FleetWorkload():
                return _workload_request(submission)
            case SubmittedSet():
                return _clique_set_request(submission.set, submission.asks)
            case SubmittedPodGroup():
                least = least_of(submission.group)
                return Request(submission.asks, least, least, least == submission.asks)
            case _:
                raise TypeError(submission)

    def others(self, submission: Submission) -> Amounts:
        """Returns what work other than a submission and its gang declares for the submission's queue."""
        asks = self.request(submission).asks if self._takes(submission) else NOTHING
        return self.declared(submission)[submission.queue] - asks

    def is_admitted(self, submission: Submission) -> bool:
        """Whether a submission has room beside everything else that the repository declares, as most have. With room,
        it is admitted, or draining in a DELETING subpool; without room, ``verdict`` says why.
        """
        if self._excess(submission):
            return False
        return submission.is_preemptible or not self.declared(submission)[submission.queue].exceeding(submission.quota)

    def verdict(self, submission: Submission) -> Verdict:
        """Returns the verdict beside everything else that the repository declares."""
        request = self.request(submission)
        verdict = self.admit(submission, request, self.others(submission), self.declared(submission), request.asks)
        return verdict if not self._fleet.not_counted else self.doubted(verdict)

    def verdict_if_running(self, submission: Submission, verdict: Verdict) -> Verdict:
        """Returns the verdict on work that may run already. If each gang has room, but not all at once, the verdict is
        one on the work of the queue: a lower quota ends nothing that runs.
        """
        asks, quota = self.declared(submission)[submission.queue], submission.quota
        if verdict.outcome != "pending" or self.request(submission).asks.exceeding(quota) or not asks.exceeding(quota):
            return verdict
        name = asks.exceeding(quota)[0]
        joint_request = f"the work of {submission.target} asks for {said(name, asks.of(name))} together"
        most = f"its quota is {show(name, quota.of(name))}"
        return replace(verdict, text=f"{joint_request}; {most}: not all of it can run at once, and what runs goes on")

    def doubted(self, verdict: Verdict) -> Verdict:
        """Returns the verdict if documents are not counted: work with room may lack it then, and the reverse."""
        if verdict.outcome not in ("admitted", "pending"):
            return verdict
        return Verdict("unknown", None, self._fleet.gap, NOTHING, NOTHING, "Correct it, and ask again.")

    def admit(
        self,
        submission: Submission,
        request: Request,
        used: Amounts,
        elsewhere: Mapping[str, Amounts | None],
        new_request: Amounts,
    ) -> Verdict:
        """Returns the verdict on a submission; the function ``admit`` describes the parameters."""
        over = self._excess(submission)
        if not over:
            return admit(submission, request, used, elsewhere, new_request)
        never = self._refusal(submission, request, over)
        if never is None:
            return self._running_on(submission, request, over)
        outcome: Outcome = "unschedulable" if never.rule is OVER_QUOTA else "rejected"
        remedy = _remedy(submission, request, elsewhere, never.rule)
        return Verdict(outcome, never.rule, never.text, NOTHING, NOTHING, remedy, never.resource)


def non_preemptible_requests(fleet: Fleet) -> dict[str, Amounts]:
    """Returns what all HIGH and NORMAL work of a fleet asks for, by leaf queue, whether the work can run or not."""
    return requests_by_queue(submission for submission in fleet.submissions if not submission.is_preemptible)


def requests_by_queue(submissions: Iterable[Submission]) -> dict[str, Amounts]:
    """Returns what submissions for one cluster ask for, by leaf queue."""
    used: dict[str, Amounts] = defaultdict(Amounts)
    for submission in submissions:
        used[submission.queue] += submission.asks
    return used


def sent_by(fleet: Fleet, path: str) -> list[Submission]:
    """Returns what the file at ``path`` sends to queues. Raises TasError if errors hide a part of it."""
    sent_paths = [document.origin.path for _, _, document in declared_work(fleet.repository)]
    submissions = [submission for submission in fleet.submissions if submission.declared.origin.path == path]
    if len(submissions) < sent_paths.count(path):
        raise TasError("cannot tell: the pool's own file has errors", hint="Run: kubectl tas validate")
    return submissions


def split_findings(
    diagnostics: Sequence[Diagnostic], path: str, *, is_new: bool
) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
    """Returns the findings that prevent an answer to the file at ``path``, and the findings that are no part of an
    answer.

    A file that ``is_new`` is outside of the repository, and may send work again.
    """
    verdicts = {rule.code for rule in VERDICTS}
    expected = verdicts | SENT_TWICE if is_new else verdicts
    findings_of_file = (each for each in diagnostics if each.location is not None and each.location.path == path)
    further_findings = tuple(finding for finding in diagnostics if finding.rule.code not in verdicts | SENT_TWICE)
    return tuple(finding for finding in findings_of_file if finding.rule.code not in expected), further_findings


def answers(
    fleet: Fleet,
    submissions: Sequence[Submission],
    used: int | None,
    queues: Mapping[str, QueueUsage] | None,
    *,
    is_new: bool = False,
) -> list[Answer]:
    """Returns the answers to submissions that are sent together. ``queues`` say what others use in each queue; None
    means that the other work of the repository counts. ``used`` replaces both: the GPUs that others use, as the user
    says. overQuota does not help submissions that are ``is_new``.

    Raises TasError if the cluster does not have a queue, or does not say what the queue holds.
    """
    admission = Admission(fleet, Past(fleet.without(submissions)) if is_new else None)
    return [_answer(admission, submission, submissions, used, queues) for submission in submissions]


def _answer(
    admission: Admission,
    submission: Submission,
    sent_together: Sequence[Submission],
    used: int | None,
    queues: Mapping[str, QueueUsage] | None,
) -> Answer:
    """Returns the answer to one submission.

    Usage from the user or from a cluster includes running members of the submission's gang. So of the gang, only the
    submissions ``sent_together`` count as new.
    """
    used_by_queue: dict[str, Amounts | None]
    if queues is None:
        used_by_queue = {**admission.declared(submission), submission.queue: admission.others(submission)}
    else:
        used_by_queue = {name: usage.used for name, usage in queues.items()}
    if used is not None:
        used_before = used_by_queue.get(submission.queue) or admission.others(submission)
        used_by_queue[submission.queue] = replace(used_before, gpu=used)
    elif queues is not None and (submission.subpool is None or submission.subpool.state == "ACTIVE"):
        if submission.queue not in queues:
            hint = "Name the right cluster, or pass --used N."
            raise TasError(f"the cluster has no queue {submission.queue}", hint=hint)
        if used_by_queue[submission.queue] is None:
            message = queues[submission.queue].unknown(submission.queue)
            raise TasError(message, hint="Look at it with kubectl, or pass --used N.")
    used_by_others, request = used_by_queue.get(submission.queue) or NOTHING, admission.request(submission)
    gang = (submission.queue, submission.priority, submission.gang)
    new_request = request.asks
    if submission.gang and (used is not None or queues is not None):
        sent_now = total(each.asks for each in sent_together if (each.queue, each.priority, each.gang) == gang)
        new_request = sent_now if queues is not None else replace(new_request, gpu=sent_now.gpu)
    verdict, gaps = admission.admit(submission, request, used_by_others, used_by_queue, new_request), admission.gaps
    is_quota_known = submission.subpool is not None or all(document.is_work for document in gaps)
    is_usage_known = used is not None or queues is not None or not gaps
    is_certain = is_usage_known and all(document.is_work for document in gaps)
    return Answer(
        submission,
        verdict if is_certain else admission.doubted(verdict),
        used_by_others if is_usage_known else None,
        submission.quota if is_quota_known else None,
    )


def _shared_gang_requests(workloads: Sequence[FleetWorkload]) -> dict[tuple[str, Priority], Request]:
    """Returns the requests of workloads that share a gang, by queue and priority: a gang has only one queue."""
    requests: dict[tuple[str, Priority], Request] = {}
    for workload in workloads:
        gang_request = requests.get((workload.queue, workload.priority), Request())
        workload_request = _workload_request(workload)
        is_one_gang = gang_request.is_one_gang and workload_request.is_one_gang
        least = gang_request.largest + workload_request.largest
        asks = gang_request.asks + workload_request.asks
        requests[workload.queue, workload.priority] = Request(asks, least, least, is_one_gang)
    return requests


def _workload_request(workload: FleetWorkload) -> Request:
    """Returns the request of a workload's own pods, without other workloads that share its gang. A pod that may come
    later, such as one of Spark's executors, can also be larger than the queue can ever hold.
    """
    needed = podgrouper.needed(workload)
    gang_request = total(pods * replica_type.asks for pods, replica_type in zip(needed, workload.replicas, strict=True))
    largest = reduce(larger, (pods.asks for pods in workload.templates if pods.replicas), gang_request)
    is_whole = all(pods == replica_type.replicas for pods, replica_type in zip(needed, workload.replicas, strict=True))
    return Request(workload.asks, largest, gang_request, workload.copies == 1 and is_whole)


def _clique_set_request(clique_set: FleetPodCliqueSet, asks: Amounts) -> Request:
    """Returns the request of a PodCliqueSet. The base gang starts first; it or a scaled gang is the largest."""
    base = total(map(_least, clique_set.standalone))
    base += total(group.spec.minAvailable * total(map(_least, group.cliques)) for group in clique_set.groups)
    scaled = (group for group in clique_set.groups if group.spec.replicas > group.spec.minAvailable)
    largest = reduce(larger, (total(map(_least, group.cliques)) for group in scaled), base)
    base, largest = (base, largest) if clique_set.replicas else (NOTHING, NOTHING)
    is_whole = all(group.spec.minAvailable == group.spec.replicas for group in clique_set.groups)
    is_whole = is_whole and all(clique.minimum == clique.spec.spec.replicas for clique in clique_set.cliques)
    return Request(asks, largest, base, clique_set.replicas == 1 and is_whole)


def _least(clique: FleetClique) -> Amounts:
    return clique.minimum * clique.asks


def admit(
    submission: Submission,
    request: Request,
    used: Amounts,
    elsewhere: Mapping[str, Amounts | None],
    new_request: Amounts,
) -> Verdict:
    """Returns the verdict on a submission that asks for no more than its queue may hold.

    ``used`` is what the queue already holds in quota. ``elsewhere`` is what other queues hold, None if unknown; queues
    with room are suggested. A gang of several workloads is one PodGroup, so each is answered for all. ``new_request``
    is the part of the request that ``used`` does not include yet: 2 for a gang of 8 with 6 running.
    """
    quota, target, whole_request = submission.quota, submission.target, request.asks
    gang_note = f' for the gang "{submission.gang}"' if submission.gang else ""
    if submission.is_draining:
        text = f"subpool {target} is DELETING; what it lists as draining may finish"
        return Verdict("draining", None, text, NOTHING, NOTHING)
    added_request = whole_request if submission.is_preemptible else new_request
    if added_request != whole_request:
        gang_note = f' for the gang "{submission.gang}" (the rest of it counts as used)'
    counted = [name for name in whole_request.asked if name == "gpu" or quota.of(name) != NO_LIMIT]
    if not counted:
        return Verdict("admitted", None, f"no GPUs asked{gang_note}, so no quota is needed", NOTHING, NOTHING)
    if all(quota.of(name) == NO_LIMIT for name in counted):
        text = f"{said('gpu', whole_request.gpu)}{gang_note}; the quota of {target} has no limit"
        return Verdict("admitted", None, text, whole_request, NOTHING)
    if submission.is_preemptible:
        free = quota - used
        in_quota = each(lambda name: max(0, min(whole_request.of(name), free.of(name))))
        over_quota = whole_request - in_quota
        amount_texts = (f"{said(x, in_quota.of(x))} in quota, {show(x, over_quota.of(x))} over quota" for x in counted)
        text = f"{'; '.join(amount_texts)}{gang_note and f', asked{gang_note}'}, preemptible"
        return Verdict("admitted", None, text, in_quota, over_quota)
    used_after = used + added_request
    exceeded = [name for name in used_after.exceeding(quota) if added_request.of(name) > 0]
    if exceeded:
        name, used_with_first_gang = exceeded[0], used + request.first
        asks = f"it asks for {said(name, added_request.of(name))}{gang_note}"
        asks = f"{asks}, others use {show(name, used.of(name))}" if used.of(name) else asks
        is_over = any(used_with_first_gang.of(name) > quota.of(name) for name in request.first.asked)
        is_stuck = request.is_one_gang or (added_request == whole_request and is_over)
        consequence = "it stays Pending" if is_stuck else "not all of it can run at once"
        text = f"{asks}; the quota of {target} is {show(name, quota.of(name))}: {consequence}"
        first_way = "wait until others of the queue have ended"
        if whole_request.exceeding(quota):
            first_way = _less(submission, whole_request, quota)
        hint = _ways(submission, request, elsewhere, first_way)
        return Verdict("pending", QUOTA_SHARED, text, NOTHING, NOTHING, hint)
    amount_texts = (
        f"{show(name, used.of(name))} of {said(name, quota.of(name))} of {target} are used, "
        f"it asks for {show(name, added_request.of(name))}{gang_note}"
        for name in counted
        if quota.of(name) != NO_LIMIT
    )
    return Verdict("admitted", None, "; ".join(amount_texts), whole_request, NOTHING)


@dataclass(frozen=True, slots=True)
class _Excess:
    """A resource that a submission asks for beyond what its queue may hold."""

    rule: Rule
    resource: ResourceName
    text: str
    """The arithmetic in words."""
    most: Amounts = NOTHING
    """The most that the queue may hold."""


def _excesses(submission: Submission, request: Request) -> Iterator[_Excess]:
    """Yields each excess of a submission, or a closed subpool."""
    quota, target, pool = submission.quota, submission.target, submission.pool
    largest, asks, shared = request.largest, request.asks, submission.gang and f'the gang "{submission.gang}"'
    gang = shared or "a gang"
    if submission.is_draining:
        return
    if submission.subpool is not None and submission.subpool.state != "ACTIVE":
        work = "workflows" if submission.kind == "Workflow" else "workloads"
        text = f"subpool {target} is {submission.subpool.state} and takes no {work}"
        yield _Excess(SUBPOOL_CLOSED, "gpu", text)
        return
    for name in largest.exceeding(submission.maximum):
        most = submission.maximum.of(name)
        whose = f"pool {pool.bounded_by(name).name}" if most == pool.maximum.of(name) else f"subpool {target}"
        text = f"{gang} needs {said(name, largest.of(name))}; the maximum of {whose} is {show(name, most)}"
        yield _Excess(OVER_QUOTA, name, text, submission.maximum)
    if submission.is_preemptible:
        return
    for name in asks.exceeding(quota) if submission.subpool is None and pool.is_split else ():
        shared_quota_text = f"the {pool.parts_are} leave {show(name, quota.of(name))} to pool {target}"
        text = f"{shared or 'it'} asks for {said(name, asks.of(name))}; {shared_quota_text}"
        yield _Excess(OVER_SHARED_QUOTA, name, text, quota)
    for name in largest.exceeding(quota):
        text = f"{gang} needs {said(name, largest.of(name))}; the quota of {target} is {show(name, quota.of(name))}"
        yield _Excess(OVER_QUOTA, name, text, quota)


def _allowed_over_quota(submission: Submission) -> Amounts:
    """Returns what overQuota allows a submission to ask for."""
    key = submission.over_quota_key
    return NOTHING if key is None else submission.over_quota.spec.spec.overQuota[key].amounts


def needless_over_quota(fleet: Fleet) -> Iterator[tuple[LeafQueue, str, str]]:
    """Yields entries of overQuota that are needless: the pool or subpool, the name in the list, and the reason."""
    listing = [leaf for pool in fleet.pools for leaf in pool.leaves if leaf.over_quota]
    if not listing or fleet.not_counted:
        return
    admission = Admission(fleet)
    submissions_by_key: dict[tuple[str, str | None], list[Submission]] = defaultdict(list)
    for submission in fleet.submissions:  # work of one name may be in several namespaces
        submissions_by_key[submission.target, submission.over_quota_key].append(submission)
    for leaf in listing:
        for name in leaf.over_quota:
            submissions = submissions_by_key[leaf.name, name]
            if leaf.state != "ACTIVE":
                yield leaf, name, f"but subpool {leaf.name} is {leaf.state}"
            elif not submissions:
                yield leaf, name, f"which is not sent to {leaf.name} any more"
            elif not any(map(admission.excess, submissions)):
                yield leaf, name, f"for which {leaf.name} has room again"


def over_quota_amounts(asks: Amounts, names: Iterable[ResourceName]) -> dict[str, int | str]:
    """Returns a submission's requests for some resources, as overQuota has them: whole GPUs, cores, mebibytes."""
    amounts: dict[str, int | str] = {}
    for name in names:
        unit = MEBIBYTE if name == "memory" else 1
        text = show(name, math.ceil(asks.of(name) / unit) * unit)
        amounts[name] = int(text) if text.isdigit() else text
    return amounts


def _remedy(submission: Submission, request: Request, elsewhere: Mapping[str, Amounts | None], rule: Rule) -> str:
    """Says what would let a submission run that ``rule`` refuses; names all bounds at once, so that none follows."""
    if rule is SUBPOOL_CLOSED:  # where there is room, else anywhere
        open_ = [*(subpool.canonical for subpool in submission.pool.active), submission.pool.name]
        return f"Use {_either(_roomy(submission, request, elsewhere) or open_)}."
    largest, maximum = request.largest, submission.maximum
    beyond = largest.exceeding(maximum)
    none = next((name for name in beyond if maximum.of(name) == 0), None)
    if none is not None:
        return f"Raise the maximum of pool {submission.pool.bounded_by(none).name}."
    if not beyond:
        requested = request.asks if rule is OVER_SHARED_QUOTA else largest
        return _ways(submission, request, elsewhere, _less(submission, requested, submission.quota))
    less = _less(submission, largest, maximum)
    lower = less if submission.is_preemptible else _less(submission, largest, smaller(submission.quota, maximum))
    ways = [lower, *([] if lower == less else [f"use priority LOW and {less}"])]
    return f"{_sentence(', or '.join(filter(None, ways)))}."


def _less(submission: Submission, requested: Amounts, most: Amounts) -> str:
    """Says what to ask for if ``requested`` is more than ``most``; empty if ``most`` has none of a resource."""
    over = requested.exceeding(most)
    if any(most.of(name) == 0 for name in over):
        return ""
    amount = str(most.gpu) if over == ("gpu",) else " and ".join(said(name, most.of(name)) for name in over)
    return f"let the gang ask for {amount} or less" if submission.gang else f"ask for {amount} or less"


def _ways(submission: Submission, request: Request, elsewhere: Mapping[str, Amounts | None], first_way: str) -> str:
    """Says what would help: this way if any, LOW priority, or a queue with room. A gang has one priority and queue."""
    roomy, whole = _roomy(submission, request, elsewhere), " for all of the gang" if submission.gang else ""
    ways = [first_way, f"use priority LOW{whole}", f"use {_either(roomy)}{whole}" if roomy else ""]
    *leading_ways, last_way = filter(None, ways)
    return f"{_sentence(', or '.join(filter(None, (', '.join(leading_ways), last_way))))}."


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _either(names: Sequence[str]) -> str:
    """Returns ``a``, ``a or b``, or ``a, b or c``; uses only the first three names."""
    *leading_names, last_name = names[:MAX_SUGGESTED]
    return f"{', '.join(leading_names)} or {last_name}" if leading_names else last_name


def _roomy(submission: Submission, request: Request, elsewhere: Mapping[str, Amounts | None]) -> list[str]:
    """Returns the queues of the pool with room for the work and its gang, the most room first."""
    pool, requested = submission.pool, request.asks
    queues = [(subpool.canonical, subpool.queue, subpool.quota) for subpool in pool.active]
    queues.append((pool.name, pool.shared_queue, pool.shared_quota))
    other_queues = [
        (name, quota, elsewhere.get(queue, NOTHING)) for name, queue, quota in queues if queue != submission.queue
    ]
    rooms = [(quota - used, name) for name, quota, used in other_queues if used is not None]
    roomy = [(free, name) for free, name in rooms if not requested.exceeding(free)]
    main_resource: ResourceName = (*requested.asked, "gpu")[0]
    by_room = sorted(roomy, key=lambda queue: -queue[0].of(main_resource))
    return [f"{name} ({show(main_resource, free.of(main_resource))} free)" for free, name in by_room]
