"""Explains from a cluster alone whether the work of a pod or PodGroup runs, if no repository declares that work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import NO_LIMIT, Amount, parse
from kubectl_tas.live.live_cluster import LiveQueueUsage, state_of, work_of
from kubectl_tas.live.reasons import ClusterAnswers, LiveGroup, LivePod, Saying, gathered, is_race, unnamed
from kubectl_tas.model.labels import POD_GROUP
from kubectl_tas.place.answers import Fits
from kubectl_tas.place.livework import ALIVE, ON_NODES
from kubectl_tas.place.message_families import cause_kind_of, exact_of, is_of_waiting
from kubectl_tas.place.pending_reasons import (
    HINTS,
    NO_GROUP,
    NOT_READY,
    REFUSED,
    TEXTS,
    Cause,
    CauseKind,
)
from kubectl_tas.place.pending_work import GangNow, QueueNow, State, gang_now, state_of_pods

WITHOUT_FILES = "its pool, quota, levels and verdict: no file of a repository here declares it"
"""A note on all that a cluster alone does not tell."""
_KINDS = {"pod": "Pod", "pods": "Pod", "po": "Pod", "podgroup": "PodGroup", "podgroups": "PodGroup"}
"""The kinds that a user may name, by kubectl's words."""
_SILENT = "Ask again in a minute. Then look whether KAI runs: kubectl get pods -n kai-scheduler."


@dataclass(frozen=True, slots=True)
class UndeclaredWork:
    """Work that a cluster has, by the object that made its pods."""

    namespace: str
    kind: str
    name: str


@json_fields(
    "kind=work.kind name=work.name namespace=work.namespace file pool queue=queue_now state podGroups=gangs "
    "podsWithoutPodGroup=lone causes fit start notKnown=not_known"
)
@dataclass(frozen=True, slots=True)
class UndeclaredWhy:
    """The reasons why work is pending that no file declares: what the cluster alone says."""

    work: UndeclaredWork
    state: State
    gangs: tuple[GangNow, ...]
    lone: Mapping[str, int]
    """Number of pods without a PodGroup, by phase."""
    queue: str | None
    """Queue of the PodGroups; None if there is no PodGroup."""
    quota: Amount | None
    """GPUs that the queue is guaranteed in the cluster; None if unknown."""
    usage: LiveQueueUsage | None
    """Resources that the queue holds; None if unknown."""
    causes: tuple[Cause, ...]
    """Causes, sorted; empty if nothing is pending."""
    gaps: Mapping[str, str] = field(default_factory=dict)
    """Reason why objects of a kind are unknown, by kind."""

    @property
    def queue_now(self) -> QueueNow:
        """The queue, with its guarantee and use."""
        return QueueNow(self.queue, self.quota, self.usage)

    @property
    def file(self) -> None:
        """None, since no file declares the work."""

    @property
    def pool(self) -> None:
        """None, since no file names one."""

    @property
    def fit(self) -> Fits:
        """No answer, since no file says what pods the work has."""
        return Fits((), ())

    @property
    def start(self) -> None:
        """None, for the same reason."""

    @property
    def not_known(self) -> dict[str, str]:
        """Reason why something is unknown, by kind."""
        return {**self.gaps, "Repository": WITHOUT_FILES}


def undeclared_works(word: str, objects: Sequence[Mapping[str, Any]], namespace: str | None) -> list[UndeclaredWork]:
    """Returns the work of the pods and PodGroups that a word names: NAME, pod/NAME, podgroup/NAME, or the NAME or
    KIND/NAME of the object that made them. With ``namespace``, only work there.
    """
    kind, _, name = word.rpartition("/")
    meant = _KINDS.get(kind.lower())
    works: dict[UndeclaredWork, None] = {}
    for manifest, work in _works_by_object(objects):
        is_named = manifest["metadata"]["name"] == name and (not kind or manifest["kind"] == meant)
        is_owned = meant is None and work.name == name and kind.lower() in ("", work.kind.lower())
        if (is_named or is_owned) and namespace in (None, work.namespace):
            works[work] = None
    return list(works)


def _works_by_object(
    objects: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[Mapping[str, Any], UndeclaredWork]]:
    """Yields each pod and PodGroup with its work. The PodGroup of a pod knows the work best: a pod's own owner may be a
    Job of a JobSet.
    """
    groups = {_place(manifest): manifest for manifest in objects if manifest.get("kind") == "PodGroup"}
    for manifest in objects:
        if manifest.get("kind") in ("Pod", "PodGroup"):
            namespace, _ = _place(manifest)
            group = (manifest["metadata"].get("annotations") or {}).get(POD_GROUP, "")
            kind, _, name = work_of(groups.get((namespace, group), manifest)).partition("/")
            yield manifest, UndeclaredWork(namespace, kind, name)


def _place(manifest: Mapping[str, Any]) -> tuple[str, str]:
    metadata = manifest["metadata"]
    return metadata.get("namespace") or "default", metadata["name"]


def why_undeclared(work: UndeclaredWork, cluster: ClusterAnswers) -> UndeclaredWhy:
    """Explains work from the words of a cluster alone."""
    own = {(x["kind"], *_place(x)) for x, work_of_object in _works_by_object(cluster.objects) if work_of_object == work}
    groups = [group for group in cluster.groups if ("PodGroup", group.namespace, group.name) in own]
    pods = [pod for pod in cluster.pods if ("Pod", pod.namespace, pod.name) in own]
    names = {group.name for group in groups}
    gangs = tuple(
        gang_now(group, [pod for pod in pods if pod.group == group.name], _least(group), cluster.gaps)
        for group in groups
    )
    lone = Counter(sorted(pod.phase for pod in pods if pod.group not in names))
    states = [*(gang.state for gang in gangs), *([state_of_pods(lone, None)] if lone else [])]
    order = (State.WAITS, State.FAILED, State.RUNS, State.ENDED)
    state = next((candidate for candidate in order if candidate in states), State.ABSENT)
    queue = next((group.queue for group in groups if group.queue), None)
    usages = {} if "Queue" in cluster.gaps else state_of(cluster.objects).queues
    is_pending = not state.is_well or any(pod.phase == "Pending" for pod in pods)
    return UndeclaredWhy(
        work,
        state,
        gangs,
        lone,
        queue,
        _guarantee(queue, cluster.objects),
        usages.get(queue or ""),
        tuple(_causes(work, groups, pods, cluster)) if is_pending else (),
        cluster.gaps,
    )


def _least(group: LiveGroup) -> int | None:
    """Returns the number of pods that a PodGroup starts with; None if it does not say."""
    by_sub_group = [minimum for minimum in (group.sub_groups or {}).values() if minimum is not None]
    return group.minimum if group.minimum is not None else sum(by_sub_group) or None


def _guarantee(queue: str | None, objects: Iterable[Mapping[str, Any]]) -> Amount | None:
    """Returns the GPUs that a Queue of the cluster guarantees; None if none says. KAI takes -1 for no limit."""
    for manifest in objects:
        if manifest.get("kind") == "Queue" and manifest["metadata"]["name"] == queue:
            resources = (manifest.get("spec") or {}).get("resources") or {}
            amount = parse((resources.get("gpu") or {}).get("quota"))
            return NO_LIMIT if amount is not None and amount < 0 else amount
    return None


def _causes(
    work: UndeclaredWork, groups: Sequence[LiveGroup], pods: Sequence[LivePod], cluster: ClusterAnswers
) -> Iterator[Cause]:
    by_kind: dict[CauseKind, list[Saying]] = {}
    for saying in _sayings(work, groups, pods, cluster):
        by_kind.setdefault(cause_kind_of(saying), []).append(saying)
    if any(pod.phase == "Failed" for pod in pods):
        by_kind.setdefault(CauseKind.FAILED, [])
    known_queues = {queue.name for queue in cluster.queues}
    texts = {
        **TEXTS,
        CauseKind.BINDING: "it has room, and its pods cannot be bound to their nodes",
        CauseKind.STARTING: "its containers do not start",
    }
    hints = {**HINTS, CauseKind.QUEUE: "Create the queue, or send the work to one that the cluster has."}
    for queue in dict.fromkeys(group.queue for group in groups if group.queue):
        if "Queue" not in cluster.gaps and queue not in known_queues:
            texts[CauseKind.QUEUE] = f"the cluster has no queue {queue}"
            by_kind.setdefault(CauseKind.QUEUE, [])
    names = {group.name for group in groups}
    if any(pod.waits and pod.group not in names for pod in pods) and "PodGroup" not in cluster.gaps:
        schedulers = sorted({pod.scheduler for pod in pods if pod.scheduler})
        texts[CauseKind.REFUSED] = "its pods have no PodGroup, and KAI places no pod without one"
        if schedulers:
            hints[CauseKind.REFUSED] = (
                f"Their scheduler is {', '.join(schedulers)}. Name KAI's in schedulerName, or look whether KAI runs."
            )
        by_kind.setdefault(CauseKind.REFUSED, [])
    if not by_kind:
        yield Cause(CauseKind.OTHER, "the cluster says nothing about it yet", hint=_SILENT)
    for kind in CauseKind:
        if kind in by_kind:
            reading = exact_of(kind, by_kind[kind])
            text = texts[kind] if reading is None else reading.headline(work.namespace)
            hint = hints.get(kind, "") if reading is None else reading.hint
            yield Cause(kind, text, gathered(by_kind[kind]), hint=hint)


def _sayings(
    work: UndeclaredWork, groups: Sequence[LiveGroup], pods: Sequence[LivePod], cluster: ClusterAnswers
) -> Iterator[Saying]:
    """Yields messages that still hold: of PodGroups, of pods that have not started, and of the work's own object."""

    def events(involved: str) -> tuple[Saying, ...]:
        return cluster.events.get((work.namespace, involved), ())

    for group in groups:
        members = [pod for pod in pods if pod.group == group.name]
        is_placed = bool(members) and all(pod.is_on_node for pod in members)
        is_complete = sum(pod.phase in ALIVE for pod in members) >= (_least(group) or 1)
        for saying in (*group.sayings, *events(f"PodGroup {group.name}")):
            is_over = (is_placed and is_of_waiting(saying)) or (is_complete and saying.reason == NOT_READY)
            if not is_over and not is_race(saying):
                yield saying
    names = {group.name for group in groups}
    for pod in pods:
        if pod.phase not in ON_NODES:
            for saying in (*pod.sayings, *events(f"Pod {pod.name}")):
                is_over = pod.is_on_node and is_of_waiting(saying)
                if not is_over and not is_race(saying) and not (saying.reason == NO_GROUP and pod.group in names):
                    yield unnamed(saying, pod.namespace, pod.name)
    yield from (saying for saying in events(f"{work.kind} {work.name}") if saying.reason != REFUSED or not pods)
