"""What is sent to a queue, and what its cluster says, in; whether it runs, and why it waits, out.

The cluster's own words are sorted by what they are about. KAI's reasons and sentences are those of 0.12 to 0.17:
``UnschedulableReason`` of pkg/apis/scheduling/v2alpha2/podgroup_types.go (QueueDoesNotExist from 0.13,
PreemptionDelayNotElapsed from 0.17), pkg/scheduler/api/common_info/job_errors.go and pod_errors.go, and
pkg/scheduler/plugins/topology/job_filtering.go.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from kubectl_tas.diagnostics import Location
from kubectl_tas.errors import TasError
from kubectl_tas.gangs.admission import Verdict, answers
from kubectl_tas.live.cluster import QueueUsage, state_of
from kubectl_tas.live.kubectl import complete_kinds
from kubectl_tas.live.reasons import LiveGroup, LivePod, Saying, Told, gathered, unnamed
from kubectl_tas.place.fit import Fit, Outcome, fit
from kubectl_tas.place.nodes import read_nodes
from kubectl_tas.place.unplaced import LeftOut, Unplaced, unplaced
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.resolve.workflows import FleetWorkflow
from kubectl_tas.resolve.workload import FleetWorkload


class State(Enum):
    """What becomes of work, or of one of its gangs."""

    RUNS = "runs"
    """As many pods run, or have ended well, as it starts with."""
    WAITS = "waits"
    ENDED = "ended"
    """All its pods have ended, and well."""
    FAILED = "failed"
    """All its pods have ended, and some not well."""
    ABSENT = "absent"
    """The cluster has nothing of it."""

    @property
    def is_well(self) -> bool:
        """Whether nobody need do anything."""
        return self in (State.RUNS, State.ENDED)


class About(Enum):
    """What keeps work from running, in the order in which it must be out of the way."""

    ABSENT = "absent"
    REFUSED = "refused"
    QUEUE = "queue"
    NOT_READY = "not-ready"
    QUOTA = "quota"
    DELAY = "delay"
    TOPOLOGY = "topology"
    ROOM = "room"
    BINDING = "binding"
    STARTING = "starting"
    EVICTED = "evicted"
    OTHER = "other"


_BY_REASON = {
    "PodGrouperWarning": About.REFUSED,
    "FailedCreate": About.REFUSED,
    "QueueDoesNotExist": About.QUEUE,
    "NotReady": About.NOT_READY,
    "SchedulingGated": About.NOT_READY,
    "NonPreemptibleOverQuota": About.QUOTA,
    "OverLimit": About.QUOTA,
    "PreemptionDelayNotElapsed": About.DELAY,
    "BindingError": About.BINDING,
    "FailedBinding": About.BINDING,
    "StaleJob": About.EVICTED,
    "Evict": About.EVICTED,
    "Preempted": About.EVICTED,
}
_BY_TEXT = (
    (About.REFUSED, re.compile("references subgroup .* does not exist")),
    (About.QUEUE, re.compile("QueueDoesNotExist|[Qq]ueue .*(does not|doesn't) exist")),
    (About.QUOTA, re.compile("NonPreemptibleOverQuota|OverLimit|over quota|quota has reached|Limit is ")),
    (About.DELAY, re.compile("preemption delay")),
    (About.TOPOLOGY, re.compile("topology|node-group")),
    (About.ROOM, re.compile("[Rr]esources were|[Nn]ot enough resources|no nodes with enough|[Nn]ode\\(s\\)|<.*>: ")),
)
"""What a sentence is about whose reason does not tell, such as Unschedulable, by the first that is found in it."""
_ON_NODES = frozenset({"Running", "Succeeded"})


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that keeps work from running."""

    about: About
    text: str
    """In our words."""
    said: tuple[Saying, ...] = ()
    """In the cluster's."""
    place: Location | None = None
    """Where the files say what it is about."""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class GangNow:
    """A PodGroup of the cluster."""

    namespace: str
    name: str
    pods: Mapping[str, int]
    """By phase."""
    needed: int | None
    """How many it starts with; None: not known."""
    state: State


@dataclass(frozen=True, slots=True)
class Why:
    """The answer for one submission."""

    sent: Submission
    state: State
    gangs: tuple[GangNow, ...]
    lone: Mapping[str, int]
    """Its pods without a PodGroup, by phase."""
    usage: QueueUsage | None
    """What its queue holds; None: not known."""
    causes: tuple[Cause, ...]
    """Sorted; none where nothing waits."""
    fits: tuple[Fit | LeftOut, ...]
    """What nodes have room for; none where nothing waits, or nodes are not known."""
    gaps: Mapping[str, str] = field(default_factory=dict)
    """Why objects of a kind are not known."""


def why(fleet: Fleet, sent: Submission, told: Told) -> Why:
    """The answer for one submission, of a backend with KAI."""
    return _Question(fleet, sent, told).answer()


@dataclass(frozen=True)
class _Question:
    fleet: Fleet
    sent: Submission
    told: Told

    @cached_property
    def expected(self) -> list[Unplaced | LeftOut]:
        """The gangs that it should have."""
        return list(unplaced(self.fleet, [self.sent]))

    @cached_property
    def pods(self) -> list[LivePod]:
        return [pod for pod in self.told.pods if pod.namespace == self.sent.namespace and self._has(pod)]

    @cached_property
    def groups(self) -> list[LiveGroup]:
        named = {pod.group for pod in self.pods}
        here = (item for item in self.told.groups if item.namespace == self.sent.namespace)
        own = (self.sent.kind, self.sent.name)
        return [item for item in here if own in item.owners or item.name in named or self._gang_of(item.name)]

    @cached_property
    def queues(self) -> Mapping[str, QueueUsage] | None:
        return None if "Queue" in self.told.gaps else state_of(self.told.items).queues

    def _gang_of(self, group: str | None) -> Unplaced | None:
        known = (item for item in self.expected if isinstance(item, Unplaced))
        return next((item for item in known if group is not None and item.is_called(group)), None)

    def _has(self, pod: LivePod) -> bool:
        sent = self.sent
        if self._gang_of(pod.group) or (sent.kind, sent.name) in (("Pod", pod.name), *pod.owners):
            return True
        if sent.kind == "PodCliqueSet":
            return pod.set_name == sent.name
        of_deployment = re.compile(re.escape(sent.name) + "-[a-z0-9]+")
        return sent.kind == "Deployment" and any(
            kind == "ReplicaSet" and of_deployment.fullmatch(name) for kind, name in pod.owners
        )

    def answer(self) -> Why:
        gangs = tuple(map(self._now, self.groups))
        grouped = {item.name for item in self.groups}
        lone = Counter(pod.phase for pod in self.pods if pod.group not in grouped)
        state = self._state(gangs, lone)
        queues = self.queues
        waits = not state.is_well or any(item.pods.get("Pending") for item in gangs)
        fits, gaps = self._fits() if waits else ((), self.told.gaps)
        return Why(
            self.sent,
            state,
            gangs,
            lone,
            queues.get(self.sent.queue) if queues is not None else None,
            tuple(self._causes(state, fits)) if waits else (),
            fits,
            gaps,
        )

    def _now(self, group: LiveGroup) -> GangNow:
        own = [pod for pod in self.pods if pod.group == group.name]
        phases = Counter(pod.phase for pod in own)
        gang = self._gang_of(group.name)
        needed = len(gang.wanted.unit.all_pods) if gang else None
        if not own and "Pod" in self.told.gaps:
            state = State.RUNS if group.is_allocated else State.WAITS
        else:
            state = _state_of(phases, needed)
        return GangNow(group.namespace, group.name, phases, needed, state)

    def _state(self, gangs: Sequence[GangNow], lone: Mapping[str, int]) -> State:
        states = [item.state for item in gangs]
        states += [_state_of(lone, None)] if lone else []
        if not states:
            return State.ABSENT
        missing = any(
            isinstance(item, Unplaced) and not any(item.is_called(gang.name) for gang in gangs)
            for item in self.expected
        )
        states += [State.WAITS] if missing and not lone else []
        worst = (State.WAITS, State.FAILED, State.RUNS, State.ENDED)
        return next(state for state in worst if state in states)

    def _fits(self) -> tuple[tuple[Fit | LeftOut, ...], Mapping[str, str]]:
        """What nodes have room for, and what is not known."""
        gaps = self.told.gaps
        if "Node" in gaps or "Pod" in gaps:
            return (), gaps
        if not any(item.get("kind") == "Node" for item in self.told.items):
            return (), {**gaps, "Node": "the cluster has none"}
        nodes = read_nodes(self.told.items, complete_kinds(self.told.items))
        found = (item if isinstance(item, LeftOut) else fit(item, nodes) for item in self.expected)
        return tuple(item for item in found if isinstance(item, LeftOut) or item.copies), gaps

    # Causes

    def _causes(self, state: State, fits: Sequence[Fit | LeftOut]) -> Iterator[Cause]:
        said: dict[About, list[Saying]] = {}
        for item in self._said():
            said.setdefault(_about(item), []).append(item)
        ours = {item.about: item for item in self._ours(state, fits, said)}
        if not said and not ours:
            ours[About.OTHER] = Cause(About.OTHER, "the cluster says nothing about it yet", hint=_SILENT)
        for about in About:
            if about in said or about in ours:
                own = ours.get(about) or Cause(about, _TEXTS[about], hint=_HINTS.get(about, ""))
                place = own.place or self._place(about, said.get(about, ()), fits)
                yield Cause(about, own.text, gathered(said.get(about, ())), place, own.hint)

    def _said(self) -> Iterator[Saying]:
        """Conditions and events of its PodGroups, of its pods that are not well, and of itself."""
        namespace = self.sent.namespace
        for group in self.groups:
            yield from group.said
            yield from self.told.events.get((namespace, f"PodGroup {group.name}"), ())
        for pod in self.pods:
            if pod.phase not in _ON_NODES:
                events = self.told.events.get((namespace, f"Pod {pod.name}"), ())
                yield from (unnamed(item, namespace, pod.name) for item in (*pod.said, *events))
        yield from self.told.events.get((namespace, f"{self.sent.kind} {self.sent.name}"), ())

    def _ours(
        self, state: State, fits: Sequence[Fit | LeftOut], said: Mapping[About, Sequence[Saying]]
    ) -> Iterator[Cause]:
        """What the files and the objects of the cluster tell by themselves."""
        sent = self.sent
        if state is State.ABSENT:
            hint = "Apply its manifests; if it has run, it may have been removed since."
            yield Cause(
                About.ABSENT, f"the cluster has nothing of it in namespace {sent.namespace}", (), _own(sent), hint
            )
        others = {pod.scheduler for pod in self.pods if pod.scheduler} - {sent.pool.backend.scheduler_name}
        if others:
            text = f"its pods are for the scheduler {', '.join(sorted(others))}, not {sent.pool.backend.scheduler_name}"
            hint = "Apply the rendered manifests, which name the scheduler."
            yield Cause(About.REFUSED, text, (), _own(sent), hint)
        elif self.pods and not self.groups and "PodGroup" not in self.told.gaps:
            yield Cause(
                About.REFUSED, "it has pods, but no PodGroup, and without one KAI places nothing", (), _own(sent)
            )
        twice = [item.namespace for item in self.told.groups if item.name in {own.name for own in self.groups}]
        if len(set(twice)) > 1:
            where = ", ".join(sorted(set(twice)))
            text = f"PodGroups in the namespaces {where} have its name: KAI takes them for one gang"
            yield Cause(About.OTHER, text, (), _own(sent), "Give one of them another name.")
        if self.queues is not None and sent.queue not in self.queues:
            text, hint = f"the cluster has no queue {sent.queue}", _HINTS[About.QUEUE]
            yield Cause(About.QUEUE, text, (), sent.place, hint)
        verdict = self._verdict()
        if verdict is not None:
            yield Cause(About.QUOTA, verdict.text, (), None, verdict.hint or _HINTS[About.QUOTA])
        if any(isinstance(item, Fit) and item.outcome in _NO_PLACE for item in fits):
            short = next((item.shortage for item in fits if isinstance(item, Fit) and item.shortage), None)
            about = About.TOPOLOGY if About.TOPOLOGY in said or (short and short.level) else About.ROOM
            yield Cause(about, _TEXTS[about], (), None, "See below what nodes have room for.")
        elif fits and (About.TOPOLOGY in said or About.ROOM in said) and all(isinstance(item, Fit) for item in fits):
            about = About.TOPOLOGY if About.TOPOLOGY in said else About.ROOM
            text = f"{_TEXTS[about]}; but now fit finds room for it"
            hint = "What KAI says may be from before. Other work may go first: fit --all shows the order."
            yield Cause(about, text, (), None, hint)

    def _verdict(self) -> Verdict | None:
        """What keeps it waiting by its quota and what queues hold; by its quota alone where that is not known."""
        try:
            (found,) = answers(self.fleet, [self.sent], None, self.queues)
        except TasError:  # the queue is not there, or says nothing, which is a cause, or a gap, of its own
            return None
        never = ("unschedulable", "rejected")
        counts = never if self.queues is None else ("pending", *never)
        return found.verdict if found.verdict.outcome in counts else None

    def _place(self, about: About, said: Sequence[Saying], fits: Sequence[Fit | LeftOut]) -> Location:
        """Where the files say what a cause is about."""
        sent = self.sent
        words = " ".join(item.text for item in said)
        if about is About.QUOTA:
            part = "maximum" if any(item.reason == "OverLimit" for item in said) else "guarantee"
            named = next((pool for pool in sent.pool.chain if f" {pool.queue} quota" in words), None)
            if sent.subpool is not None and part == "guarantee" and named is None:
                return sent.subpool.declared.at(*sent.subpool.quota_path("gpu"))
            return (named or sent.pool).declared.at("spec", "resources", "gpu", part)
        if about is About.TOPOLOGY:
            short = [item.shortage.level for item in fits if isinstance(item, Fit) and item.shortage]
            for label, place in _levels(sent):
                if any(level is not None and level.label == label for level in short) or f" {label} " in words:
                    return place
        return sent.place if about is About.QUEUE else _own(sent)


_NO_PLACE = (Outcome.NO_ROOM, Outcome.MISSED, Outcome.UNKNOWN)
_TEXTS = {
    About.ABSENT: "it is not in the cluster",
    About.REFUSED: "it is refused before the scheduler sees it",
    About.QUEUE: "KAI does not know its queue",
    About.NOT_READY: "KAI waits until as many of its pods are there as it starts with",
    About.QUOTA: "its queue has no room for it",
    About.DELAY: "it must wait before it may make others go",
    About.TOPOLOGY: "no domain of a level that it requires has room for it",
    About.ROOM: "nodes have no room for all that it starts with",
    About.BINDING: "it has nodes, but could not be bound to them",
    About.STARTING: "it has nodes, but containers do not start",
    About.EVICTED: "it has run and was evicted",
    About.OTHER: "the cluster says",
}
_HINTS = {
    About.REFUSED: "Mend what is refused: KAI tries again by itself.",
    About.QUEUE: "Apply the manifests of its pool.",
    About.NOT_READY: "Look at what makes its pods: it may be suspended, refused by a quota of the namespace, or slow.",
    About.QUOTA: "Wait until others of the queue have ended, or ask for less.",
    About.TOPOLOGY: "Require a coarser level, prefer it, or free nodes.",
    About.ROOM: "Ask for less, or free nodes.",
    About.BINDING: "Look at the nodes and volumes that are named; KAI tries again by itself.",
    About.STARTING: "Mend its image, command or volumes; the scheduler has done its part.",
    About.EVICTED: "It waits for room again.",
}


_SILENT = "Ask again in a minute. Then look whether KAI runs: kubectl get pods -n kai-scheduler."


def _state_of(phases: Mapping[str, int], needed: int | None) -> State:
    all_pods, ended = sum(phases.values()), phases.get("Succeeded", 0) + phases.get("Failed", 0)
    if all_pods and ended == all_pods:
        return State.FAILED if phases.get("Failed") else State.ENDED
    on_nodes = sum(phases.get(phase, 0) for phase in _ON_NODES)
    enough = on_nodes >= needed if needed is not None else on_nodes == all_pods
    return State.RUNS if on_nodes and enough else State.WAITS


def _about(saying: Saying) -> About:
    known = _BY_REASON.get(saying.reason)
    if known is not None:
        return known
    found = next((about for about, pattern in _BY_TEXT if pattern.search(f"{saying.reason}: {saying.text}")), None)
    if found is not None:
        return found
    return About.STARTING if saying.where == "Pod" and saying.reason != "Unschedulable" else About.OTHER


def _own(sent: Submission) -> Location:
    return sent.declared.at(*(("workflow", "name") if sent.kind == "Workflow" else ("metadata", "name")))


def _levels(sent: Submission) -> Iterator[tuple[str, Location]]:
    """The node labels of levels that it asks for, and where they stand."""
    if isinstance(sent, FleetWorkflow):
        for task in (task for group in sent.groups for task in group.tasks):
            for item in task.resource.requirements:
                yield item.level.label, sent.declared.at(*item.path)
    if isinstance(sent, FleetWorkload):
        for placement in sent.placements:
            for asked in placement.asked:
                yield asked.level.label, sent.declared.at(*asked.path)
