"""Explains from the words of a cluster whether a submission runs, and why it is pending."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.diagnostics import Location, TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.quantities import Amount, Amounts
from kubectl_tas.gangs.admission import Verdict, answers
from kubectl_tas.kinds import page_of
from kubectl_tas.live.kubectl import complete_kinds
from kubectl_tas.live.live_cluster import POD_GROUPS, LiveQueueUsage
from kubectl_tas.live.owners import Controller
from kubectl_tas.live.reasons import ClusterAnswers, LiveGroup, LivePod, Saying, gathered, unnamed
from kubectl_tas.model.kindlists import written
from kubectl_tas.model.labels import NODE_POOL, POD_GROUP, PREEMPTION_DELAY, SKIP_PODGROUPER
from kubectl_tas.place.answers import OTHER_SHARD, Fit, FitOutcome, Fits, fit, lacks_text
from kubectl_tas.place.differences import differences
from kubectl_tas.place.gangs_to_place import GangToPlace, LeftOut
from kubectl_tas.place.holders import held_by_others
from kubectl_tas.place.livework import ON_NODES, LiveWork
from kubectl_tas.place.message_families import FEW_GPUS, Reading, cause_kind_of, exact_of, reading_of
from kubectl_tas.place.node_resources import ClusterNodes, NodeResources, read_nodes
from kubectl_tas.place.pending_reasons import (
    HINTS,
    NO_GROUP,
    REFUSED,
    TEXTS,
    UNPLACED,
    Cause,
    CauseKind,
    ReportedRefusal,
    refusal_of,
)
from kubectl_tas.place.timeline import StartOutcome
from kubectl_tas.place.volumes import with_volumes
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool, Submission
from kubectl_tas.resolve.shards import FleetShard
from kubectl_tas.resolve.workflows import FleetWorkflow


class State(Enum):
    """State of a submission, or of one of its gangs."""

    RUNS = "runs"
    """As many pods as the work starts with run or have succeeded."""
    WAITS = "waits"
    ENDED = "ended"
    """All pods have succeeded."""
    FAILED = "failed"
    """All pods have ended, and some have failed."""
    ABSENT = "absent"
    """The cluster has nothing of the work."""

    @property
    def is_well(self) -> bool:
        """Whether nobody needs to do anything."""
        return self in (State.RUNS, State.ENDED)


@json_fields("namespace name state pods startsWith=needed")
@dataclass(frozen=True, slots=True)
class GangNow:
    """A PodGroup of the cluster, with its pods by phase."""

    namespace: str
    name: str
    pods: Mapping[str, int]
    """Number of pods by phase."""
    needed: int | None
    """Number of pods that the PodGroup starts with; None if unknown."""
    state: State


@json_fields("name quota held=usage.held.gpus heldNonPreemptible=usage.used.gpus")
class QueueNow(NamedTuple):
    """The queue of work in a cluster, in GPUs."""

    name: str | None
    """None: no PodGroup of the cluster names one."""
    quota: Amount | None
    """None: no limit, or unknown."""
    usage: LiveQueueUsage | None


@json_fields("podGroup=pod_group outcome startsAfterSeconds=seconds because waitsFor=ended limited=is_cut")
class PredictedStart(NamedTuple):
    """The start of the last gang of waiting work, as far as nodes and quotas decide. `forecast` says it too."""

    pod_group: str | None
    """The PodGroup of that gang. null: there were too many gangs and nodes to play."""
    outcome: StartOutcome | None
    seconds: int | None
    """Most seconds until the gang starts. null: unknown or never."""
    starts: str
    """The start in words."""
    because: str
    """The reason in words."""
    ended: tuple[str, ...] = ()
    """Gangs for whose end it waits."""
    gangs: int = 1
    """Number of gangs of the work that wait."""
    is_cut: bool = False
    """Whether KAI may do more than was tried."""


@json_fields(
    "kind=sent.kind name=sent.name namespace=sent.namespace file=sent.declared.origin.path pool=sent.target "
    "shard=shard.name? queue=queue_now state podGroups=gangs podsWithoutPodGroup=lone causes fit start notKnown=gaps"
)
@dataclass(frozen=True, slots=True)
class Why:
    """The reasons why one piece of work is pending."""

    sent: Submission
    state: State
    gangs: tuple[GangNow, ...]
    lone: Mapping[str, int]
    """Number of pods without a PodGroup, by phase."""
    queue: str
    """Queue of the PodGroups, which may differ from the file's; the file's queue if there is no PodGroup."""
    quota: Amounts | None
    """Guarantee of that queue; None if no file states one."""
    usage: LiveQueueUsage | None
    """Resources that the queue holds; None if unknown."""
    causes: tuple[Cause, ...]
    """Causes, sorted; empty if nothing is pending."""
    fits: tuple[Fit | LeftOut, ...]
    """Answers of ``fit``; empty if nothing is pending, or if the nodes are unknown."""
    gaps: Mapping[str, str] = field(default_factory=dict)
    """Reason why objects of a kind are unknown, by kind."""
    shard: FleetShard | None = None
    """The declared shard of the scheduler that places the work."""
    start: PredictedStart | None = None
    """The start of the work; None if nothing waits, or if nodes and pods are unknown."""

    @property
    def queue_now(self) -> QueueNow:
        """The queue, with its guarantee and use."""
        return QueueNow(self.queue, None if self.quota is None else self.quota.gpu, self.usage)

    @property
    def fit(self) -> Fits:
        """Whether the nodes have room for the gangs."""
        predicted = [answer for answer in self.fits if isinstance(answer, Fit)]
        return Fits(predicted, [answer for answer in self.fits if isinstance(answer, LeftOut)])


def state_in(fleet: Fleet, sent: Submission, cluster: ClusterAnswers) -> State:
    """Returns the state of one submission to a backend with KAI."""
    return _Question(LiveWork(fleet, sent, cluster)).state


def why(fleet: Fleet, sent: Submission, cluster: ClusterAnswers) -> Why:
    """Explains one submission to a backend with KAI."""
    return _Question(LiveWork(fleet, sent, cluster)).answer()


@dataclass(frozen=True)
class _Question:
    work: LiveWork

    @property
    def sent(self) -> Submission:
        return self.work.sent

    @property
    def gaps(self) -> Mapping[str, str]:
        return self.work.cluster.gaps

    @cached_property
    def gangs(self) -> tuple[GangNow, ...]:
        return tuple(map(self._now, self.work.groups))

    @cached_property
    def lone(self) -> Mapping[str, int]:
        grouped = {group.name for group in self.work.groups}
        return Counter(sorted(pod.phase for pod in self.work.pods if pod.group not in grouped))

    @cached_property
    def state(self) -> State:
        owner = self.work.own
        if not self.gangs and not self.lone and not self._is_there:
            return State.ABSENT
        if owner is not None and owner.why(_FAILED) is not None:
            return State.FAILED
        if owner is not None and owner.why(_DONE) is not None:
            return State.ENDED
        if not self.gangs and not self.lone:  # the pods may be gone, and the Jobs of a CronJob or a workflow are there
            made_by_owner = [controller for controller in self.work.controllers if controller is not owner]
            if made_by_owner and all(controller.why(_FAILED + _DONE) is not None for controller in made_by_owner):
                return (
                    State.FAILED
                    if any(controller.why(_FAILED) is not None for controller in made_by_owner)
                    else State.ENDED
                )
        states = [*(gang.state for gang in self.gangs), *([state_of_pods(self.lone, None)] if self.lone else [])]
        if (self.work.missing and not self.lone) or not states:
            states.append(State.WAITS)
        if State.FAILED in states and self.retried is not None:
            states.append(State.WAITS)
        return next(state for state in (State.WAITS, State.FAILED, State.RUNS, State.ENDED) if state in states)

    @cached_property
    def retried(self) -> Controller | None:
        """The Job that makes another pod for each that has failed; None if none has failed, or no Job makes another."""
        jobs = (job for job in self.work.controllers if job.why(_FAILED + _DONE) is None)
        return next((job for job in jobs if job.retries(max(job.failed, len(self._failed_pods_of(job))))), None)

    def _failed_pods_of(self, job: Controller) -> list[LivePod]:
        owned = (pod for pod in self.work.pods if (job.kind, job.name) in pod.owners)
        return [pod for pod in owned if pod.phase == "Failed"]

    @property
    def _is_there(self) -> bool:
        """Whether the cluster has the submission's object or the Jobs of a workflow, or events about it."""
        sent = self.sent
        return bool(self.work.controllers) or (
            not self.work.reads_own
            and (sent.namespace, f"{written(sent.kind)} {sent.name}") in self.work.cluster.events
        )

    def answer(self) -> Why:
        work, queues = self.work, self.work.queues
        waits = not self.state.is_well or (
            self.state is State.RUNS and any(gang.pods.get("Pending") for gang in self.gangs)
        )
        fits, gaps = self._fits() if waits and self.state is not State.FAILED else ((), self.gaps)
        return Why(
            work.sent,
            self.state,
            self.gangs,
            self.lone,
            work.queue,
            self._quota,
            queues.get(work.queue) if queues is not None else None,
            tuple(self._causes(fits)) if waits else (),
            fits,
            gaps,
            work.fleet.shard_of(work.sent.pool),
        )

    @property
    def _quota(self) -> Amounts | None:
        """Guarantee of the queue that the work is in."""
        if self.work.queue == self.sent.queue:
            return self.sent.quota
        owner = self.work.owner_of(self.work.queue)
        return owner.shared_quota if isinstance(owner, FleetPool) else owner.quota if owner else None

    def _now(self, group: LiveGroup) -> GangNow:
        gang = self.work.gang_of(group.name)
        needed = len(gang.request.unit.all_pods) if gang else None
        return gang_now(group, self.work.pods_of(group), needed, self.gaps)

    def _fits(self) -> tuple[tuple[Fit | LeftOut, ...], Mapping[str, str]]:
        """Returns the answers of ``fit``, and the kinds that are unknown with the reason."""
        gaps, objects = self.gaps, self.work.cluster.objects
        if "Node" in gaps or "Pod" in gaps:
            return (), gaps
        if not any(manifest.get("kind") == "Node" for manifest in objects):
            return (), {**gaps, "Node": "the cluster has none"}
        waiting = (gang for gang in self.work.expected if not self._has_ended(gang))
        answers = (gang if isinstance(gang, LeftOut) else fit(self.work.as_live(gang), self.nodes) for gang in waiting)
        return tuple(answer for answer in answers if isinstance(answer, LeftOut) or answer.copies), gaps

    @cached_property
    def nodes(self) -> ClusterNodes:
        objects = self.work.cluster.objects
        return with_volumes(read_nodes(objects, complete_kinds(objects)), objects)

    def _has_ended(self, answer: GangToPlace | LeftOut) -> bool:
        """Whether all equal gangs have ended, well or not, so that they need no room."""
        if isinstance(answer, LeftOut):
            return False
        ended = [gang.name for gang in self.gangs if gang.state in (State.FAILED, State.ENDED)]
        return sum(map(answer.is_called, ended)) >= answer.copies

    def _causes(self, fits: Sequence[Fit | LeftOut]) -> Iterator[Cause]:
        work, sayings = self.work, dict[CauseKind, list[Saying]]()
        for saying in work.said:
            sayings.setdefault(cause_kind_of(saying), []).append(saying)
        replaced = [] if self.retried is None else self._failed_pods_of(self.retried)
        for pod in work.pods:
            if pod.phase == "Failed" and pod not in replaced:
                words = pod.sayings or (Saying(f"Pod {pod.name}", "Failed", ""),)
                is_evicted = any(cause_kind_of(saying) is CauseKind.EVICTED for saying in words)
                subject = CauseKind.EVICTED if is_evicted else CauseKind.FAILED
                sayings.setdefault(subject, []).extend(unnamed(saying, pod.namespace, pod.name) for saying in words)
        causes = [*self._of_presence(), *differences(work)]
        if self.state is State.FAILED:
            sayings = {subject: words for subject, words in sayings.items() if subject in _OF_ENDS}
            causes = [*self._of_end(), *(cause for cause in causes if cause.kind in _OF_ENDS)]
        else:
            causes += [
                *self._of_pods(sayings),
                *self._of_queue(sayings),
                *self._of_delay(sayings),
            ]
            causes += [] if any(cause.kind in _NO_PODS_FOR for cause in causes) else self._of_retries()
            causes += self._of_readiness(is_explained=any(cause.kind in _EXPLAIN_NO_PODS for cause in causes))
            if self.retried is None or any(pod.waits for pod in work.pods):
                causes += self._of_room(fits, sayings, is_explained=any(cause.kind in _BEFORE_ROOM for cause in causes))
        if CauseKind.EVICTED in sayings and "Pending" not in {pod.phase for pod in work.pods}:
            text = TEXTS[CauseKind.EVICTED] if work.pods else "KAI evicted its pods, and nothing has made them anew"
            causes.append(Cause(CauseKind.EVICTED, text, hint=_GONE))
        if causes:  # KAI has nothing to add with this
            sayings[CauseKind.OTHER] = [
                saying for saying in sayings.get(CauseKind.OTHER, ()) if not _NO_WORDS.fullmatch(saying.text)
            ]
        if not causes and not any(sayings.values()):
            shard = self.sent.pool.shard
            hint = _SILENT if shard is None else f"{_SILENT} A scheduler must run for the shard {shard}."
            causes.append(Cause(CauseKind.OTHER, "the cluster says nothing about it yet", hint=hint))
        for subject in CauseKind:
            unclaimed = sayings.get(subject, [])
            for cause in [candidate for candidate in causes if candidate.kind is subject]:
                mine = [saying for saying in unclaimed if re.search(cause.claims, f"{saying.reason}: {saying.text}")]
                unclaimed = [saying for saying in unclaimed if saying not in mine]
                location = cause.location or self._place(subject, mine, fits)
                yield replace(cause, sayings=gathered((*cause.sayings, *mine)), location=location)
            yield from self._as_said(subject, unclaimed, fits)

    def _as_said(self, subject: CauseKind, sayings: Sequence[Saying], fits: Sequence[Fit | LeftOut]) -> Iterator[Cause]:
        """Yields what only messages tell: a cause for each object that pods need, and one for any other kind."""
        by_obstacle: dict[object, list[Saying]] = {}
        for saying in gathered(sayings):
            by_obstacle.setdefault(reading_of(saying).subject if subject is CauseKind.NEEDS else "", []).append(saying)
        for words in by_obstacle.values():
            reading = exact_of(subject, words)
            text = TEXTS[subject] if reading is None else reading.headline(self.sent.namespace)
            hint = HINTS.get(subject, "") if reading is None else reading.hint
            location = self._place_of(reading.key) if reading is not None else None
            yield Cause(subject, text, tuple(words), location or self._place(subject, words, fits), hint)

    def _of_presence(self) -> Iterator[Cause]:
        """Yields causes if parts of the work are missing in the cluster, or PodGroups have the same name."""
        work, sent = self.work, self.sent
        names = {group.name for group in work.groups}
        twice = {group.namespace for group in work.cluster.groups if group.name in names}
        if len(twice) > 1:
            where = ", ".join(sorted(twice))
            text = f"PodGroups in the namespaces {where} have its name: KAI takes them for one gang"
            yield Cause(CauseKind.OTHER, text, hint="Give one of them another name.")
        hint = HINTS[CauseKind.ABSENT]
        if self.state is State.ABSENT:
            unknown = self.gaps.get(work.kind, "")
            if work.of_other_versions and work.missing:
                text = f"the cluster has another version of it: PodGroup {', '.join(work.of_other_versions)}"
                hint = "Apply its manifests; objects that ran keep their name, a changed workflow gets another one."
            elif work.reads_own and work.kind == sent.kind:
                text = f"the cluster has no {sent.kind} {sent.name} in namespace {sent.namespace}"
            elif "CustomResourceDefinitions" in unknown:
                text, hint = f"the cluster does not know the kind {work.kind}", f"Install what {work.kind} is part of."
            else:
                text = f"the cluster has nothing of it in namespace {sent.namespace}"
            yield Cause(CauseKind.ABSENT, text, hint=hint)
        elif work.missing and not self.lone and self.gangs:
            if work.of_other_versions:
                hint = "Apply its manifests; objects that ran keep their name, a changed workflow gets another one."
            yield Cause(CauseKind.ABSENT, f"of its PodGroups the cluster lacks {', '.join(work.missing)}", hint=hint)

    def _of_end(self) -> Iterator[Cause]:
        """Yields the reason why the controller of the object gave up."""
        for controller in self.work.controllers:
            reason = controller.why(_FAILED)
            if reason is not None:
                text = f"{controller.kind} {controller.name} has failed: {reason or 'its controller does not say why'}"
                yield Cause(CauseKind.FAILED, text, hint=_AGAIN)
                return

    def _of_pods(self, sayings: Mapping[CauseKind, Sequence[Saying]]) -> Iterator[Cause]:
        """Yields causes that lie in the pods."""
        work, ours = self.work, self.sent.pool.backend.scheduler_name
        other_schedulers = {pod.scheduler for pod in work.pods if pod.scheduler} - {ours}
        refused = next((saying for saying in sayings.get(CauseKind.REFUSED, ()) if saying.reason == REFUSED), None)
        about_podgrouper = [saying for saying in sayings.get(CauseKind.REFUSED, ()) if saying.reason == NO_GROUP]
        grouped = {group.name for group in work.groups}
        if other_schedulers:
            text = f"its pods are for the scheduler {', '.join(sorted(other_schedulers))}, not {ours}"
            yield Cause(CauseKind.REFUSED, text, hint="Apply the rendered manifests, which name the scheduler.")
        elif refused is not None:
            kind, _, name = refused.where.partition(" ")
            text = f"the API server refuses the pods of {kind} {name}: {_refusal(refused.text)}"
            hint = "Correct what is refused; the controller tries again by itself."
            reading = reading_of(refused)
            hint = f"{reading.family.hint or hint}"
            yield Cause(CauseKind.REFUSED, text, hint=hint, location=self._place_of(reading.key))
        elif self.lone and "PodGroup" in self.gaps:
            text = "it has pods, but its PodGroups are unknown, and KAI places no pod without one"
            yield Cause(CauseKind.REFUSED, text, hint=_UNREAD)
        elif any(pod.group is None and pod.waits for pod in work.pods) or (self.lone and not grouped):
            if any(pod.skips and pod.group is None for pod in work.pods):
                text = f"its pods have the annotation {SKIP_PODGROUPER}, and name no PodGroup"
                yield Cause(CauseKind.REFUSED, text, hint=f"Remove the annotation, or set {POD_GROUP}.")
            elif about_podgrouper:
                text = f"KAI's podgrouper makes no PodGroup of its pods: {about_podgrouper[0].text}"
                reading = reading_of(about_podgrouper[0])
                yield Cause(CauseKind.REFUSED, text, hint=reading.hint, location=self._place_of(reading.key))
            elif not any(pod.group for pod in work.pods):
                text = "it has pods, but no PodGroup, and KAI places no pod without one"
                yield Cause(CauseKind.REFUSED, text, hint=_UNGROUPED)
        for subject, text in ((CauseKind.BINDING, _UNBOUND), (CauseKind.STARTING, "its containers do not start")):
            if subject in sayings and exact_of(subject, sayings[subject]) is None:
                saying = sayings[subject][0]
                reason = saying.reason if subject is CauseKind.STARTING else saying.text.rpartition(": ")[2]
                yield Cause(subject, f"{text}: {reason}", hint=HINTS[subject])
        starting = sum(pod.is_on_node and pod.phase == "Pending" for pod in work.pods)
        if starting and CauseKind.STARTING not in sayings:
            text = f"{plural(starting, 'pod')} of it {'has' if starting == 1 else 'have'} a node, and not started yet"
            yield Cause(CauseKind.STARTING, text, hint="Images may be on their way; their events say more.")

    def _of_readiness(self, *, is_explained: bool) -> Iterator[Cause]:
        """Yields a cause if fewer pods exist than the work starts with."""
        owner, sent = self.work.own, self.sent
        for gang in self.gangs if "Pod" not in self.gaps else ():
            pod_count = sum(gang.pods.values()) - gang.pods.get("Terminating", 0)
            is_explained_itself = not pod_count and (self._is_evicted or self.retried is not None)
            if gang.needed is not None and pod_count < gang.needed and not is_explained_itself:
                text = f"PodGroup {gang.name} has {pod_count} of the {plural(gang.needed, 'pod')} that it starts with"
                yield Cause(CauseKind.NOT_READY, text, hint=HINTS[CauseKind.NOT_READY])
        if owner is not None and not (self.gangs or self.lone or is_explained or "Pod" in self.gaps):
            text, hint = f"{owner.kind} {owner.name} is in the cluster, and has no pods", _NO_PODS
            page = page_of(owner.kind)
            if page is not None and page.makes.is_scheduled and len(self.work.controllers) == 1:
                text = f"{owner.kind} {owner.name} has made no {page.makes.objects[0].kind} yet"
                hint = "Wait for the time that its schedule names."
            yield Cause(CauseKind.NOT_READY, text, hint=hint, location=sent.declared.at("metadata", "name"))

    @property
    def _is_evicted(self) -> bool:
        return any(cause_kind_of(saying) is CauseKind.EVICTED for saying in self.work.said)

    def _of_retries(self) -> Iterator[Cause]:
        """Yields a cause if pods of a Job have failed, and the Job makes others."""
        job = self.retried
        if job is None:
            return
        pods = self._failed_pods_of(job)
        words = gathered(unnamed(saying, pod.namespace, pod.name) for pod in pods for saying in pod.sayings)
        reason = f" ({words[0].reason}{f': {words[0].text}' if words[0].text else ''})" if words else ""
        failed = max(job.failed, len(pods))
        has = "has" if failed == 1 else "have"
        runs = "" if any(pod.phase in ("Pending", "Running") for pod in self.work.pods) else "has none now, and "
        until = f" until more than {job.backoff_limit} have failed (backoffLimit)" if job.is_limited else ""
        text = f"{plural(failed, 'pod')} of Job {job.name} {has} failed{reason}: the Job {runs}makes another{until}"
        hint = f"Look at their logs: kubectl logs -l job-name={job.name} --prefix. The next pod may take 6 minutes."
        location = self.work.place_of("spec", "backoffLimit")
        yield Cause(CauseKind.FAILED, text, words, location=location, hint=hint)

    def _of_queue(self, sayings: Mapping[CauseKind, Sequence[Saying]]) -> Iterator[Cause]:
        """Yields a cause if the quota of the queue, or by KAI's words a limit or quota above, refuses the work."""
        work, sent, words = self.work, self.sent, sayings.get(CauseKind.QUOTA, ())
        refused = next((refusal for refusal in map(refusal_of, words) if refusal is not None), None)
        subpool = work.owner_of(work.queue)
        closed = subpool if isinstance(subpool, FleetSubpool) and subpool.state != "ACTIVE" else None
        if (
            closed is not None
            and refused is not None
            and not refused.is_limit
            and work.owner_of(refused.queue) is closed
        ):
            text = f"subpool {closed.canonical} is {closed.state}: its queue has no quota, so KAI starts nothing new"
            hint = "Send it to another subpool or to the pool itself."
            yield Cause(CauseKind.QUOTA, text, location=closed.declared.at("spec", "state"), hint=hint)
            return
        verdict = self._verdict() if work.queue == sent.queue else None
        if refused is not None and (
            refused.is_limit or work.queue_called(refused.queue) != sent.queue or verdict is None
        ):
            owner = work.owner_of(refused.queue)
            named = f"the queue {refused.queue}" if owner is None else _named(owner)
            bound = "maximum" if refused.is_limit else "quota"
            held = f"{refused.held or 'some'} are held" + (
                "" if refused.is_limit else " by work that cannot be preempted"
            )
            asks = refused.requested or "more than is left"
            text = f"the {bound} of {named} is {refused.most}: {held}, and it asks for {asks}"
            hint = (
                HINTS[CauseKind.QUOTA] if refused.is_limit else f"{HINTS[CauseKind.QUOTA][:-1]}, or use priority LOW."
            )
            location = self._limit_place(refused, owner or sent.subpool or sent.pool)
            yield Cause(CauseKind.QUOTA, text, location=location, hint=hint)
        elif verdict is not None:
            yield Cause(CauseKind.QUOTA, verdict.text, hint=verdict.hint or HINTS[CauseKind.QUOTA])

    def _limit_place(self, refused: ReportedRefusal, owner: FleetPool | FleetSubpool) -> Location:
        """Returns the location in the files of a queue's limit or quota."""
        name = refused.resource
        if isinstance(owner, FleetSubpool):
            spec = owner.declared.spec.spec
            if not refused.is_limit:
                return owner.declared.at(*owner.quota_path(name))
            if spec.maximum is not None:
                path = ("maximum",) if isinstance(spec.maximum, int) else ("maximum", name)
                return owner.declared.at("spec", *path)
            owner = next(pool for pool in self.work.fleet.pools if pool.name == owner.pool).bounded_by(name)
        return owner.declared.at("spec", "resources", name, "maximum" if refused.is_limit else "guarantee")

    def _place_of(self, key: str) -> Location | None:
        """Returns the location in the file of a key in a pod template, as ``Family.key`` names it."""
        names, _, value = key.partition("=")
        ends = [tuple(name.split(">")) for name in names.split("|")]
        templates = self.sent.templates if isinstance(self.sent, FleetWorkload) else ()
        for template in templates if key else ():
            for path in (template.metadata_path, template.spec_path):
                for found, leaf in _paths(self.sent.declared.origin.value(path)):
                    if value in ("", leaf) and any(found[-len(end) :] == end for end in ends):
                        return self.sent.declared.at(*path, *found)
        return None

    def _of_delay(self, sayings: Mapping[CauseKind, Sequence[Saying]]) -> Iterator[Cause]:
        """Yields a cause if the work may not preempt other work before a certain time."""
        until = next(
            (match[1] for saying in sayings.get(CauseKind.DELAY, ()) if (match := _UNTIL.search(saying.text))), ""
        )
        if until:
            text = f"its preemption delay has not passed: it makes no other work go before {until}"
            path = ("metadata", "annotations", PREEMPTION_DELAY)
            yield Cause(CauseKind.DELAY, text, location=self.work.place_of(*path), hint="Wait, or shorten the delay.")

    def _of_room(
        self, fits: Sequence[Fit | LeftOut], sayings: Mapping[CauseKind, Sequence[Saying]], *, is_explained: bool
    ) -> Iterator[Cause]:
        """Yields a cause from the answers of ``fit``; with ``is_explained``, only if these find no room. The cause is
        about a level if ``fit`` or KAI names one.
        """
        predicted = [answer for answer in fits if isinstance(answer, Fit)]
        failed = [answer for answer in predicted if answer.outcome not in (FitOutcome.FITS, FitOutcome.RUNS)]
        said = exact_of(CauseKind.ROOM, sayings.get(CauseKind.ROOM, ()))
        has_level = CauseKind.TOPOLOGY in sayings or any(answer.shortage and answer.shortage.level for answer in failed)
        subject = CauseKind.TOPOLOGY if has_level and not (said and said.is_final) else CauseKind.ROOM
        if failed:
            shard = self.sent.pool.shard
            if sum(failed[0].unusable.values()) >= failed[0].nodes:
                reasons = ", ".join(f"{count} {reason}" for reason, count in failed[0].unusable.items())
                text = f"no node can be used by its pods: {reasons}"
                is_shard = failed[0].unusable.get(OTHER_SHARD) == failed[0].nodes
                location, hint = (self._shard_place, _SHARD) if is_shard else self._rule_of_nodes(failed[0].unusable)
                yield Cause(subject, text, location=location, hint=hint)
                return
            if OTHER_SHARD in failed[0].unusable and self._fits_other_shards(failed[0].to_place):
                which = "without a shard" if shard is None else f"of the shard {shard}"
                text = f"the nodes {which} are too few for it, and KAI does not use those of other shards"
                yield Cause(CauseKind.ROOM, text, location=self._shard_place, hint=_SHARD)
                return
            has_none = any(answer.outcome is FitOutcome.NO_ROOM for answer in failed)
            if subject is CauseKind.TOPOLOGY or not has_none:
                text = _no_room(subject, failed) if has_none else "KAI's search order finds no placement"
                yield Cause(subject, text, hint=_BELOW)
                return
            yield self._without_room(failed, said)
        elif predicted and len(predicted) == len(fits) and not is_explained:
            hint = "What KAI says may be from before. Other work may go first: fit --all shows the order."
            is_unexplained = any(saying.reason == UNPLACED for saying in sayings.get(CauseKind.OTHER, ()))
            kinds = [kind for kind in (CauseKind.TOPOLOGY, CauseKind.ROOM) if kind in sayings]
            readings = {kind: exact_of(kind, sayings[kind]) for kind in kinds}
            texts = {
                kind: reading.headline(self.sent.namespace) if reading is not None else TEXTS[kind]
                for kind, reading in readings.items()
                if reading is None or reading.is_in_fit
            }
            texts |= {CauseKind.OTHER: "KAI does not place it"} if is_unexplained else {}
            for named, text in texts.items():
                yield Cause(named, f"{text}; but now fit finds room for it", hint=hint)

    def _without_room(self, failed: Sequence[Fit], said: Reading | None) -> Cause:
        """Returns the cause if nodes have no room: who holds it, or what KAI or else ``fit`` misses."""
        (answer, *_), lacks = failed, failed[0].lacks
        if said is not None and said.is_final:
            resource = _RESOURCES.get(said.groups.get("resource", GPU), said.groups.get("resource", GPU))
            own = [lack for lack in lacks if lack.resource == resource]
            text = lacks_text(own) if own and "asked" not in said.groups else said.headline(self.sent.namespace)
            broken = _broken(self.work.cluster.objects, resource, said.groups.get("asked", ""))
            hint = f"Mend the GPUs of {broken[0]}. {said.hint}" if broken else said.hint
            text = f"{text}; {broken[1]}" if broken else text
            return Cause(CauseKind.ROOM, text, location=self._place_of(said.key), hint=hint)
        asks_gpus = all(lack.resource == GPU for lack in lacks)
        if said is not None:
            asks_gpus = all(row.headline == FEW_GPUS for row, _ in said.families)
        held = held_by_others(self.work, self.sent) if asks_gpus else None
        if held is not None:
            text = f"{said.gang}: {held.text}" if said is not None and said.gang else held.text
            return Cause(CauseKind.ROOM, text, location=held.location, hint=held.hint)
        if said is not None:
            location = self._place_of(said.key)
            return Cause(
                CauseKind.ROOM, said.headline(self.sent.namespace), location=location, hint=f"{said.hint} {_BELOW}"
            )
        text = lacks_text(lacks) if lacks else _no_room(CauseKind.ROOM, [answer])
        return Cause(CauseKind.ROOM, text, hint=_BELOW)

    def _rule_of_nodes(self, unusable: Mapping[str, int]) -> tuple[Location | None, str]:
        """Returns the location of the label that a pool or a pod asks for and most nodes lack, and what to change."""
        pool, most = self.sent.pool, next(iter(unusable))
        label, _, value = most.removeprefix(_WITHOUT_LABEL).partition("=")
        if not most.startswith(_WITHOUT_LABEL):
            return None, _NO_NODE
        platforms = pool.declared.spec.spec.platforms
        for path in (("spec", "nodes"), *(("spec", "platforms", name, "nodes") for name in platforms)):
            selector = pool.declared.origin.value((*path, "selector"))
            if isinstance(selector, dict) and str(selector.get(label)) == value:
                hint = f"Label nodes with {label}={value}, or change the selector of pool {pool.name}."
                return pool.declared.at(*path, "selector", label), hint
        return self._place_of(label), f"Label nodes with {label}={value}, or change nodeSelector."

    def _fits_other_shards(self, gang: GangToPlace) -> bool:
        """Whether the nodes of all shards have room, but the nodes of the own shard have none, even if empty."""
        shard = self.sent.pool.shard
        every = replace(self.nodes, nodes=tuple(_in_shard(node, shard) for node in self.nodes.nodes))
        empty = replace(self.nodes, nodes=tuple(map(_whole, self.nodes.nodes)))
        return fit(gang, every).outcome is FitOutcome.FITS and fit(gang, empty).outcome is not FitOutcome.FITS

    @property
    def _shard_place(self) -> Location:
        """Location of the pool's nodePool in the files; without one, of the work's reference to the pool."""
        pool = self.sent.pool.declared
        return pool.at("spec", "nodePool") if pool.spec.spec.nodePool else self.sent.place

    def _verdict(self) -> Verdict | None:
        """Returns what keeps the work pending by its quota and the queues' usage; by its quota alone without usage."""
        work = self.work
        try:
            (admission_answer,) = answers(work.fleet, [work.sent], None, work.queues)
        except TasError:  # the queue is not there, or says nothing, which is a cause, or a gap, of its own
            return None
        # What pods of its own hold is in what the queue holds.
        holds = any(pod.is_on_node for pod in work.pods) or any(group.is_allocated for group in work.groups)
        counts = ("unschedulable", "rejected", *([] if holds or work.queues is None else ["pending"]))
        return admission_answer.verdict if admission_answer.verdict.outcome in counts else None

    def _place(self, subject: CauseKind, sayings: Sequence[Saying], fits: Sequence[Fit | LeftOut]) -> Location:
        """Returns the location in the files that a cause is about."""
        sent = self.sent
        words = " ".join(saying.text for saying in sayings)
        if subject is CauseKind.QUOTA:
            refused = next((refusal for refusal in map(refusal_of, sayings) if refusal is not None), None)
            refused = refused or ReportedRefusal(sent.queue, "gpu")
            return self._limit_place(refused, self.work.owner_of(refused.queue) or sent.subpool or sent.pool)
        if subject is CauseKind.TOPOLOGY:
            short = [answer.shortage.level for answer in fits if isinstance(answer, Fit) and answer.shortage]
            for label, location in _levels(sent):
                if any(level is not None and level.label == label for level in short) or f" {label} " in words:
                    return location
        return sent.place if subject is CauseKind.QUEUE else self.work.place


_UNBOUND = "KAI's binder could not bind its pods to nodes"
_NO_PODS_FOR = (CauseKind.ABSENT, CauseKind.STOPPED, CauseKind.DELETED, CauseKind.REFUSED)
"""Causes that explain why there are no pods."""
_EXPLAIN_NO_PODS = (*_NO_PODS_FOR, CauseKind.FAILED)
_BEFORE_ROOM = (
    *_NO_PODS_FOR,
    CauseKind.GATED,
    CauseKind.DIFFERS,
    CauseKind.QUEUE,
    CauseKind.NEEDS,
    CauseKind.NOT_READY,
    CauseKind.QUOTA,
)
"""Causes that keep KAI from placing work although there is room."""
_NO_WORDS = re.compile("Unable to schedule pod(group)?\\.?")
"""KAI's message if KAI has no reason (pkg/scheduler/api/common_info)."""
_UNTIL = re.compile("may not trigger evictions before ([^ ]+)")
_FAILED, _DONE = ("Failed", "FailureTarget"), ("Complete", "Completed", "Succeeded")
"""Conditions of objects that have ended: Jobs, JobSets, and Kubeflow's kinds."""
_AGAIN = "Correct what made it fail. Then delete it and apply it again: its controller does not restart it."
_NO_PODS = "Look whether its controller runs, and at its events: kubectl describe."
_NO_NODE = "Change what its pods ask of nodes, or the nodes: their labels, taints and cordons."
_SHARD = "Give the nodes the label of the shard, or the pool another nodePool."
_BELOW = "See below what nodes have room for."
_WITHOUT_LABEL = "without the label "
_RESOURCES = {"GPU": GPU}
"""Names that KAI has for resources in messages."""
_SILENT = "Ask again in a minute. Then look whether KAI runs: kubectl get pods -n kai-scheduler."
_GONE = "What made its pods makes new ones, or else nobody does: then delete what is left of them and apply it again."
_OF_ENDS = (CauseKind.FAILED, CauseKind.EVICTED, CauseKind.OTHER)
"""Causes that tell why work has failed; all other causes are from before the work started."""
_UNREAD = f"Read {POD_GROUPS} too. If there are none, look whether KAI runs: kubectl get pods -n kai-scheduler."
_UNGROUPED = "Apply its manifests, and look whether KAI runs: kubectl get pods -n kai-scheduler."


def gang_now(group: LiveGroup, pods: Sequence[LivePod], needed: int | None, gaps: Mapping[str, str]) -> GangNow:
    """Returns a PodGroup with the state of its pods. ``gaps`` are the kinds that the cluster does not show."""
    phases = Counter(sorted(pod.phase for pod in pods))
    if not pods and "Pod" in gaps:
        state = State.RUNS if group.is_allocated else State.WAITS
    else:
        state = state_of_pods(phases, needed)
    return GangNow(group.namespace, group.name, phases, needed, state)


def state_of_pods(phases: Mapping[str, int], needed: int | None) -> State:
    """Returns the state of pods by their number in each phase. ``needed`` pods must be on nodes; None means all."""
    all_pods, ended = sum(phases.values()), phases.get("Succeeded", 0) + phases.get("Failed", 0)
    if all_pods and ended == all_pods:
        return State.FAILED if phases.get("Failed") else State.ENDED
    on_nodes = sum(phases.get(phase, 0) for phase in ON_NODES)
    enough = on_nodes >= needed if needed is not None else on_nodes == all_pods
    return State.RUNS if on_nodes and enough else State.WAITS


def _paths(value: object) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """Yields all paths below a value, with the values there."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (step,), inner
        yield from (((step, *path), leaf) for path, leaf in _paths(inner))


def _broken(objects: Sequence[Mapping[str, Any]], resource: str, asked: str) -> tuple[str, str] | None:
    """Returns a node that would have as many GPUs as a pod asks for if all were healthy, and says so."""
    for node in objects if resource == GPU and asked.isdecimal() else ():
        status = node.get("status") or {}
        whole, healthy = (str((status.get(field) or {}).get(GPU) or "0") for field in ("capacity", "allocatable"))
        if node.get("kind") == "Node" and whole.isdecimal() and healthy.isdecimal() and int(whole) >= int(asked):
            name = f"node {node['metadata']['name']}"
            return name, f"{name} has {whole}, of which {healthy} are healthy"
    return None


def _named(owner: FleetPool | FleetSubpool) -> str:
    return f"pool {owner.name}" if isinstance(owner, FleetPool) else f"subpool {owner.canonical}"


def _no_room(subject: CauseKind, failed: Sequence[Fit]) -> str:
    """Describes what has no room, and how much of the cluster is unusable."""
    short = next((answer.shortage for answer in failed if answer.shortage and answer.shortage.level), None)
    if subject is CauseKind.TOPOLOGY and short is not None and short.level is not None:
        return f"no {short.level.key} has room for all {plural(short.pods, 'pod')} that must share one"
    answer = failed[0]
    if subject is not CauseKind.ROOM or not set(answer.unusable) - {OTHER_SHARD}:
        return TEXTS[subject]
    reasons = ", ".join(f"{count} {reason}" for reason, count in answer.unusable.items())
    return f"nodes have no room for it, and it cannot use {sum(answer.unusable.values())} of {answer.nodes}: {reasons}"


def _in_shard(node: NodeResources, shard: str | None) -> NodeResources:
    """Returns a node as if it were in a shard."""
    other_labels = {key: text for key, text in node.labels.items() if key != NODE_POOL}
    return replace(node, labels=other_labels if shard is None else {**other_labels, NODE_POOL: shard})


def _whole(node: NodeResources) -> NodeResources:
    """Returns a node as if it were empty, ready and open to all pods."""
    return replace(node, free=node.allocatable, pods=(), taints=(), is_ready=True, is_cordoned=False)


def _refusal(text: str) -> str:
    """Returns why the API server refused a pod, without the controller's prefix."""
    return re.sub(r"^Error creating: (pods \"[^\"]*\" is forbidden: )?", "", text)


def _levels(sent: Submission) -> Iterator[tuple[str, Location]]:
    """Yields the node labels of levels that the work asks for, with their locations."""
    if isinstance(sent, FleetWorkflow):
        for task in (task for group in sent.groups for task in group.tasks):
            for requirement in task.resource.requirements:
                yield requirement.level.label, sent.declared.at(*requirement.path)
    if isinstance(sent, FleetWorkload):
        for placement in sent.placements:
            for annotation in placement.asked:
                yield annotation.level.label, sent.declared.at(*annotation.path)
