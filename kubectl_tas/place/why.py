"""What is sent to a queue, and what its cluster says, in; whether it runs, and why it waits, out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from functools import cached_property

from kubectl_tas.diagnostics import Location
from kubectl_tas.errors import TasError
from kubectl_tas.gangs.admission import Verdict, answers
from kubectl_tas.live.cluster import POD_GROUPS, QueueUsage, state_of
from kubectl_tas.live.kubectl import complete_kinds
from kubectl_tas.live.reasons import LiveGroup, LivePod, Saying, Told, gathered, unnamed
from kubectl_tas.place.causes import HINTS, TEXTS, About, Cause, about_of
from kubectl_tas.place.fit import Fit, Outcome, fit
from kubectl_tas.place.nodes import read_nodes
from kubectl_tas.place.unplaced import LeftOut, Unplaced, unplaced
from kubectl_tas.records import dataclass
from kubectl_tas.report.text import plural
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


_ON_NODES = frozenset({"Running", "Succeeded"})


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
    def gangs(self) -> tuple[GangNow, ...]:
        return tuple(map(self._now, self.groups))

    @cached_property
    def lone(self) -> Mapping[str, int]:
        grouped = {item.name for item in self.groups}
        return Counter(pod.phase for pod in self.pods if pod.group not in grouped)

    @cached_property
    def missing(self) -> list[str]:
        """The names, without what the cluster adds to them, of gangs that it should have."""
        known = (item for item in self.expected if isinstance(item, Unplaced))
        return [item.gang.name for item in known if not any(item.is_called(group.name) for group in self.groups)]

    @cached_property
    def state(self) -> State:
        if not self.gangs and not self.lone:
            return State.ABSENT
        states = [*(item.state for item in self.gangs), *([_state_of(self.lone, None)] if self.lone else [])]
        if self.missing and not self.lone:
            states.append(State.WAITS)
        return next(state for state in (State.WAITS, State.FAILED, State.RUNS, State.ENDED) if state in states)

    @cached_property
    def of_other_versions(self) -> list[str]:
        """The names of PodGroups that a workflow of its name had before it was changed."""
        if self.sent.kind != "Workflow":
            return []
        here = (item for item in self.told.groups if item.namespace == self.sent.namespace)
        return [item.name for item in here if item.workflow == self.sent.name and item not in self.groups]

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
        queues = self.queues
        waits = not self.state.is_well or any(item.pods.get("Pending") for item in self.gangs)
        fits, gaps = self._fits() if waits and self.state is not State.FAILED else ((), self.told.gaps)
        return Why(
            self.sent,
            self.state,
            self.gangs,
            self.lone,
            queues.get(self.sent.queue) if queues is not None else None,
            tuple(self._causes(fits)) if waits else (),
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

    def _fits(self) -> tuple[tuple[Fit | LeftOut, ...], Mapping[str, str]]:
        """What nodes have room for, and what is not known."""
        gaps = self.told.gaps
        if "Node" in gaps or "Pod" in gaps:
            return (), gaps
        if not any(item.get("kind") == "Node" for item in self.told.items):
            return (), {**gaps, "Node": "the cluster has none"}
        nodes = read_nodes(self.told.items, complete_kinds(self.told.items))
        waiting = (item for item in self.expected if not self._has_ended(item))
        found = (item if isinstance(item, LeftOut) else fit(item, nodes) for item in waiting)
        return tuple(item for item in found if isinstance(item, LeftOut) or item.copies), gaps

    def _has_ended(self, item: Unplaced | LeftOut) -> bool:
        """Whether all gangs of this shape have, well or not: they need no room."""
        if isinstance(item, LeftOut):
            return False
        ended = [gang.name for gang in self.gangs if gang.state in (State.FAILED, State.ENDED)]
        return sum(map(item.is_called, ended)) >= item.copies

    def _causes(self, fits: Sequence[Fit | LeftOut]) -> Iterator[Cause]:
        said: dict[About, list[Saying]] = {}
        for item in self._said():
            said.setdefault(about_of(item), []).append(item)
        for pod in self.pods:
            if pod.phase == "Failed":
                words = pod.said or (Saying(f"Pod {pod.name}", "Failed", ""),)
                is_evicted = any(about_of(item) is About.EVICTED for item in words)
                about = About.EVICTED if is_evicted else About.FAILED
                said.setdefault(about, []).extend(unnamed(item, pod.namespace, pod.name) for item in words)
        found = [*self._of_presence(), *self._of_pods(said)]
        if self.state is State.FAILED:
            said = {about: words for about, words in said.items() if about in _OF_ENDS}
        else:
            found += [*self._of_queue(), *self._of_room(fits, said)]
        ours = {item.about: item for item in reversed(found)}
        if About.EVICTED in said and "Pending" not in {pod.phase for pod in self.pods}:
            ours[About.EVICTED] = Cause(About.EVICTED, TEXTS[About.EVICTED], hint=_GONE)
        if not said and not ours:
            ours[About.OTHER] = Cause(About.OTHER, "the cluster says nothing about it yet", hint=_SILENT)
        for about in About:
            if about in said or about in ours:
                own = ours.get(about) or Cause(about, TEXTS[about], hint=HINTS.get(about, ""))
                place = own.place or self._place(about, said.get(about, ()), fits)
                yield Cause(about, own.text, gathered(said.get(about, ())), place, own.hint)

    def _said(self) -> Iterator[Saying]:
        """Conditions and events of its PodGroups, of its pods that have not started, and of itself."""
        namespace = self.sent.namespace
        for group in self.groups:
            said = (*group.said, *self.told.events.get((namespace, f"PodGroup {group.name}"), ()))
            own = [pod for pod in self.pods if pod.group == group.name]
            has_nodes = bool(own) and all(pod.is_on_node for pod in own)  # what kept it from them is over
            yield from (item for item in said if not has_nodes or not _is_of_waiting(item))
        for pod in self.pods:
            if pod.phase not in (*_ON_NODES, "Failed"):
                events = self.told.events.get((namespace, f"Pod {pod.name}"), ())
                yield from (unnamed(item, namespace, pod.name) for item in (*pod.said, *events))
        yield from self.told.events.get((namespace, f"{self.sent.kind} {self.sent.name}"), ())

    def _of_presence(self) -> Iterator[Cause]:
        """What of it is not in the cluster, or is there twice."""
        text, hint = f"the cluster has nothing of it in namespace {self.sent.namespace}", HINTS[About.ABSENT]
        if self.of_other_versions and self.missing:
            text = f"the cluster has another version of it: PodGroup {', '.join(self.of_other_versions)}"
            hint = "Apply its manifests; what has run of it keeps its name, a changed workflow gets another one."
        elif self.state is not State.ABSENT:
            text = f"of its PodGroups the cluster lacks {', '.join(self.missing)}"
        if self.state is State.ABSENT or (self.missing and not self.lone):
            yield Cause(About.ABSENT, text, hint=hint)
        twice = {item.namespace for item in self.told.groups if item.name in {own.name for own in self.groups}}
        if len(twice) > 1:
            where = ", ".join(sorted(twice))
            text = f"PodGroups in the namespaces {where} have its name: KAI takes them for one gang"
            yield Cause(About.OTHER, text, hint="Give one of them another name.")

    def _of_pods(self, said: Mapping[About, Sequence[Saying]]) -> Iterator[Cause]:
        """What is wrong with its pods."""
        ours = self.sent.pool.backend.scheduler_name
        others = {pod.scheduler for pod in self.pods if pod.scheduler} - {ours}
        if others:
            text = f"its pods are for the scheduler {', '.join(sorted(others))}, not {ours}"
            yield Cause(About.REFUSED, text, hint="Apply the rendered manifests, which name the scheduler.")
        elif self.lone and "PodGroup" in self.told.gaps:
            text = "it has pods, but of PodGroups nothing is known, and without one KAI places nothing"
            yield Cause(About.REFUSED, text, hint=_UNREAD)
        elif self.lone and not self.groups:
            text = "it has pods, but no PodGroup, and without one KAI places nothing"
            yield Cause(About.REFUSED, text, hint=HINTS[About.REFUSED] if About.REFUSED in said else _UNGROUPED)
        for gang in self.gangs if "Pod" not in self.told.gaps else ():
            there = sum(gang.pods.values())
            if gang.needed is not None and there < gang.needed:
                text = f"PodGroup {gang.name} has {there} of the {plural(gang.needed, 'pod')} that it starts with"
                yield Cause(About.NOT_READY, text, hint=HINTS[About.NOT_READY])
        starting = sum(pod.is_on_node and pod.phase == "Pending" for pod in self.pods)
        if starting and About.STARTING not in said:
            text = f"{plural(starting, 'pod')} of it {'has' if starting == 1 else 'have'} a node, and not started yet"
            yield Cause(About.STARTING, text, hint="Images may be on their way; their events say more.")

    def _of_queue(self) -> Iterator[Cause]:
        """Whether there is its queue, and what its quota says."""
        if self.queues is not None and self.sent.queue not in self.queues:
            yield Cause(About.QUEUE, f"the cluster has no queue {self.sent.queue}", hint=HINTS[About.QUEUE])
        verdict = self._verdict()
        if verdict is not None:
            yield Cause(About.QUOTA, verdict.text, hint=verdict.hint or HINTS[About.QUOTA])

    def _of_room(self, fits: Sequence[Fit | LeftOut], said: Mapping[About, Sequence[Saying]]) -> Iterator[Cause]:
        """What fit answers, about a level where it or KAI names one."""
        known = [item for item in fits if isinstance(item, Fit)]
        failed = [item for item in known if item.outcome not in (Outcome.FITS, Outcome.RUNS)]
        has_level = About.TOPOLOGY in said or any(item.shortage and item.shortage.level for item in failed)
        about = About.TOPOLOGY if has_level else About.ROOM
        if failed:
            has_none = any(item.outcome is Outcome.NO_ROOM for item in failed)
            text = TEXTS[about] if has_none else "KAI's order of trying comes to no placement"
            yield Cause(about, text, hint="See below what nodes have room for.")
        elif known and len(known) == len(fits):
            hint = "What KAI says may be from before. Other work may go first: fit --all shows the order."
            is_unexplained = any(item.reason == _UNPLACED for item in said.get(About.OTHER, ()))
            texts = {item: TEXTS[item] for item in (About.TOPOLOGY, About.ROOM) if item in said}
            texts |= {About.OTHER: "KAI does not place it"} if is_unexplained else {}
            for named, text in texts.items():
                yield Cause(named, f"{text}; but now fit finds room for it", hint=hint)

    def _verdict(self) -> Verdict | None:
        """What keeps it waiting by its quota and what queues hold; by its quota alone where that is not known."""
        try:
            (found,) = answers(self.fleet, [self.sent], None, self.queues)
        except TasError:  # the queue is not there, or says nothing, which is a cause, or a gap, of its own
            return None
        # What pods of its own hold is in what the queue holds.
        holds = any(pod.is_on_node for pod in self.pods) or any(group.is_allocated for group in self.groups)
        counts = ("unschedulable", "rejected", *([] if holds or self.queues is None else ["pending"]))
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


_SILENT = "Ask again in a minute. Then look whether KAI runs: kubectl get pods -n kai-scheduler."
_UNPLACED = "Unschedulable"
_GONE = "What made its pods makes new ones, or else nobody does: then delete what is left of them and apply it again."
_OF_ENDS = (About.FAILED, About.EVICTED, About.OTHER)
"""What tells why work has failed; all else is from before it started."""
_UNREAD = f"Read {POD_GROUPS} too. If there are none, look whether KAI runs: kubectl get pods -n kai-scheduler."
_UNGROUPED = "Apply its manifests, and look whether KAI runs: kubectl get pods -n kai-scheduler."


def _state_of(phases: Mapping[str, int], needed: int | None) -> State:
    all_pods, ended = sum(phases.values()), phases.get("Succeeded", 0) + phases.get("Failed", 0)
    if all_pods and ended == all_pods:
        return State.FAILED if phases.get("Failed") else State.ENDED
    on_nodes = sum(phases.get(phase, 0) for phase in _ON_NODES)
    enough = on_nodes >= needed if needed is not None else on_nodes == all_pods
    return State.RUNS if on_nodes and enough else State.WAITS


def _is_of_waiting(saying: Saying) -> bool:
    """Whether it says why KAI has not given nodes."""
    keeps = (About.QUEUE, About.QUOTA, About.DELAY, About.TOPOLOGY, About.ROOM)
    return saying.reason == _UNPLACED or about_of(saying) in keeps


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
