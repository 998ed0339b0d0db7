"""Collects what a cluster has of a submission: its own object, objects made from that, its PodGroups and its pods."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.base.late import dataclass
from kubectl_tas.kinds import page_of
from kubectl_tas.live.cluster_state import SHARDS, TOPOLOGIES
from kubectl_tas.live.live_cluster import LiveQueueUsage, state_of
from kubectl_tas.live.owners import Controller, resources
from kubectl_tas.live.reasons import ClusterAnswers, LiveGroup, LivePod, Saying, is_race, unnamed
from kubectl_tas.model.kindlists import written
from kubectl_tas.model.labels import TASK, WORKFLOW
from kubectl_tas.place.gangs_to_place import GangToPlace, LeftOut, Needed, unplaced
from kubectl_tas.place.message_families import is_of_waiting
from kubectl_tas.place.pending_reasons import NO_GROUP, NOT_READY, REFUSED, UNPLACED
from kubectl_tas.place.shapes import PodShape, shape_of
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.names import shorten
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool, Submission
from kubectl_tas.resolve.workflows import FleetWorkflow

ALIVE = ("Pending", "Running")
"""Phases of pods that KAI counts toward the minimum."""
ON_NODES = frozenset({"Running", "Succeeded"})
"""Phases of pods that have started."""


def read_of(fleet: Fleet, sent: Submission) -> dict[str, str]:
    """Returns kubectl's resource names, by kind, to read for a submission to KAI besides PodGroups and pods."""
    resources_by_kind = resources(_kind_of(fleet, sent), fleet.config.kinds)
    in_shards = {"SchedulingShard": SHARDS} if sent.pool.shard is not None or fleet.shards else {}
    return {**resources_by_kind, **({"Topology": TOPOLOGIES[0]} if _has_levels(sent) else {}), **in_shards}


def _kind_of(fleet: Fleet, sent: Submission) -> str:
    return "Job" if sent.kind == "Workflow" and fleet.config.workflowsAs == "jobs" else sent.kind


def _has_levels(sent: Submission) -> bool:
    return bool(sent.pool.levels) or (isinstance(sent, FleetWorkload) and bool(sent.placements))


@dataclass(frozen=True)
class LiveWork:
    """A submission with what its cluster has of it."""

    fleet: Fleet
    sent: Submission
    cluster: ClusterAnswers

    @cached_property
    def expected(self) -> list[GangToPlace | LeftOut]:
        """Gangs that the submission should have."""
        return list(unplaced(self.fleet, [self.sent]))

    @cached_property
    def known(self) -> list[GangToPlace]:
        """Expected gangs that can be predicted."""
        return [gang for gang in self.expected if isinstance(gang, GangToPlace)]

    @property
    def kind(self) -> str:
        """Kind of the object that makes the pods."""
        return _kind_of(self.fleet, self.sent)

    @property
    def _resources(self) -> dict[str, str]:
        return resources(self.kind, self.fleet.config.kinds)

    @property
    def _identity(self) -> tuple[str, str]:
        """Kind and name of the submission's own object, as the cluster has them."""
        return written(self.sent.kind), self.sent.name

    @cached_property
    def controllers(self) -> tuple[Controller, ...]:
        """The submission's own object, then the objects made from it."""
        sent, controllers = self.sent, list[Controller]()
        keys: set[tuple[str, str]] = set()
        in_namespace = [controller for controller in self.cluster.controllers if controller.namespace == sent.namespace]
        for controller in (
            controller for kind in self._resources for controller in in_namespace if controller.kind == kind
        ):
            is_own = (controller.kind, controller.name) == self._identity or self._is_of_workflow(
                controller.labels.get(WORKFLOW)
            )
            if is_own or keys & set(controller.owners):
                controllers.append(controller)
                keys.add((controller.kind, controller.name))
        return tuple(controllers)

    @property
    def own(self) -> Controller | None:
        """The submission's own object; None if the cluster has none, or its kind was not read."""
        return next(
            (controller for controller in self.controllers if (controller.kind, controller.name) == self._identity),
            None,
        )

    @property
    def reads_own(self) -> bool:
        """Whether all objects of the submission's kind are known."""
        kind = written(self.kind)
        return kind in self._resources and kind not in self.cluster.gaps

    @cached_property
    def pods(self) -> list[LivePod]:
        """Pods of the submission."""
        return [pod for pod in self.cluster.pods if pod.namespace == self.sent.namespace and self._has(pod)]

    @cached_property
    def groups(self) -> list[LiveGroup]:
        """PodGroups of the submission: made for it or by its file, or named by its pods."""
        named = {pod.group for pod in self.pods}
        identities = {self._identity, *((controller.kind, controller.name) for controller in self.controllers)}
        return [
            group
            for group in self._groups_here
            if identities & set(group.owners)
            or group.name in named
            or self.gang_of(group.name)
            or (self._is_of_workflow(group.workflow) and not self._is_other_version(group))
        ]

    @cached_property
    def _groups_here(self) -> list[LiveGroup]:
        return [group for group in self.cluster.groups if group.namespace == self.sent.namespace]

    @cached_property
    def missing(self) -> list[str]:
        """Names of expected gangs without a PodGroup. The cluster may add to such a name."""
        return [gang.gang.name for gang in self.known if not any(gang.is_called(group.name) for group in self.groups)]

    @cached_property
    def of_other_versions(self) -> list[str]:
        """Names of PodGroups that an earlier version of the workflow had."""
        return [group.name for group in self._groups_here if self._is_other_version(group)]

    @cached_property
    def queues(self) -> Mapping[str, LiveQueueUsage] | None:
        """Usage of the cluster's queues; None if unknown."""
        return None if "Queue" in self.cluster.gaps else state_of(self.cluster.objects).queues

    @property
    def queue(self) -> str:
        """The queue that KAI uses: that of the first PodGroup, or else that of the file."""
        return next((group.queue for group in self.groups if group.queue), self.sent.queue)

    @cached_property
    def said(self) -> tuple[Saying, ...]:
        """Conditions and events of the PodGroups, of pods that have not started, and of the objects that made them."""
        return tuple(saying for saying in self._said() if not is_race(saying))

    def pods_of(self, group: LiveGroup) -> list[LivePod]:
        """Returns the pods of the submission that name a PodGroup."""
        return [pod for pod in self.pods if pod.group == group.name]

    def is_complete(self, group: LiveGroup) -> bool:
        """Whether as many pods exist as the PodGroup starts with. If so, KAI's early event NotReady is outdated."""
        gang, alive = self.gang_of(group.name), [pod for pod in self.pods_of(group) if pod.phase in ALIVE]
        least = max(group.minimum or 1, len(gang.request.unit.all_pods) if gang is not None else 1)
        return "Pod" not in self.cluster.gaps and len(alive) >= least

    def gang_of(self, group: str | None) -> GangToPlace | None:
        """Returns the expected gang that has a PodGroup of that name."""
        return next((gang for gang in self.known if group is not None and gang.is_called(group)), None)

    def live_shapes(self, gang: GangToPlace, group: LiveGroup) -> Needed:
        """Returns the pods that a gang needs: pending pods as they are in the cluster, the others as in the file.

        Uses the cluster's version only of pods that were read whole: the API server fills in their ``restartPolicy``.
        """
        waiting = sorted((pod for pod in self.pods_of(group) if pod.waits), key=lambda pod: pod.name)
        shapes_by_unit: dict[str | None, tuple[PodShape, ...]] = {}
        for name, shapes in gang.needed.items():
            pods = [pod for pod in waiting if not gang.gang.sub_groups or pod.sub_group == name]
            tasks = [member.name for unit in (gang.gang, *gang.gang.leaves) for member in unit.members]
            pods.sort(key=lambda pod: tasks.index(pod.labels[TASK]) if pod.labels.get(TASK) in tasks else -1)
            live = [live_shape(pod) or shape for pod, shape in zip(pods, shapes, strict=False)]
            shapes_by_unit[name] = (*live, *shapes[len(live) :])
        return shapes_by_unit

    def as_live(self, gang: GangToPlace) -> GangToPlace:
        """Returns a gang with its pending pods as they are in the cluster."""
        group = next((group for group in self.groups if gang.is_called(group.name)), None)
        return gang if group is None else replace(gang, needed=self.live_shapes(gang, group))

    def queue_called(self, shown: str) -> str:
        """Returns the name of the queue with this displayName; ``shown`` itself if no queue has it."""
        return next((queue.name for queue in self.cluster.queues if queue.shown == shown), shown)

    def owner_of(self, queue: str) -> FleetPool | FleetSubpool | None:
        """Returns the pool or subpool of a queue, by its name or displayName; None if no file declares one."""
        queue = self.queue_called(queue)
        for pool in (pool for pool in self.fleet.pools if pool.backend == self.sent.pool.backend):
            if queue in (pool.queue, pool.shared_queue):
                return pool
            for subpool in pool.subpools:
                if queue == subpool.queue:
                    return subpool
        return None

    @property
    def place(self) -> Location:
        """Location of the submission's name."""
        sent = self.sent
        return sent.declared.at(*(("workflow", "name") if sent.kind == "Workflow" else ("metadata", "name")))

    def place_of(self, *path: str) -> Location:
        """Returns the location of a field of the submission; if the file lacks the field, of the submission's name."""
        return self.sent.declared.at(*path) if self.sent.declared.origin.value(path) is not None else self.place

    def _is_of_workflow(self, label: object) -> bool:
        sent = self.sent
        return isinstance(sent, FleetWorkflow) and label == shorten(sent.declared.spec.workflow.name)

    def _is_other_version(self, group: LiveGroup) -> bool:
        is_known = len(self.known) == len(self.expected)
        return is_known and self._is_of_workflow(group.workflow) and self.gang_of(group.name) is None

    def _has(self, pod: LivePod) -> bool:
        sent = self.sent
        owners = {("Pod", pod.name), *pod.owners}
        if self.gang_of(pod.group) or self._identity in owners:
            return True
        if owners & {(controller.kind, controller.name) for controller in self.controllers}:
            return True
        if self._is_of_workflow(pod.workflow):
            return pod.group not in self.of_other_versions
        page = page_of(sent.kind)
        if page is not None and page.makes.is_set:
            return pod.set_name == sent.name
        owner, pattern = page.makes.pods_of if page is not None else ("", "")
        of_work = re.compile(pattern.format(re.escape(sent.name)))
        return any(kind == owner and of_work.fullmatch(name) for kind, name in pod.owners)

    def _said(self) -> Iterator[Saying]:
        namespace = self.sent.namespace
        for group in self.groups:
            pods = self.pods_of(group)
            has_nodes = bool(pods) and all(pod.is_on_node for pod in pods)  # what kept it from them is over
            for saying in (*group.sayings, *self._events(f"PodGroup {group.name}")):
                is_over = has_nodes and is_of_waiting(saying)
                if not is_over and not (saying.reason == NOT_READY and self.is_complete(group)):
                    yield saying
        grouped = {group.name for group in self.groups}
        for pod in self.pods:
            if pod.phase not in (*ON_NODES, "Failed"):
                for saying in (*pod.sayings, *self._events(f"Pod {pod.name}")):
                    is_over = pod.is_on_node and is_of_waiting(saying)
                    if not is_over and not (saying.reason == NO_GROUP and pod.group in grouped):
                        yield unnamed(saying, namespace, pod.name)
        makers = (f"{controller.kind} {controller.name}" for controller in self.controllers)
        has_all = bool(self.groups) and not self.missing and all(map(self.is_complete, self.groups))
        for maker in dict.fromkeys((" ".join(self._identity), *makers)):
            yield from (saying for saying in self._events(maker) if not (has_all and saying.reason == REFUSED))

    def _events(self, involved: str) -> Iterator[Saying]:
        """Yields the events of an object. Of an event that KAI repeats in each cycle, only the last one is current."""
        sayings = self.cluster.events.get((self.sent.namespace, involved), ())
        last = max((saying.last for saying in sayings if saying.reason == UNPLACED), default="")
        return (saying for saying in sayings if saying.reason != UNPLACED or saying.last == last)


def live_shape(pod: LivePod) -> PodShape | None:
    """Returns the shape of a pod as the API server has it; None if the pod was not read whole."""
    return shape_of(pod.spec, pod.namespace, pod.labels) if "restartPolicy" in pod.spec else None
