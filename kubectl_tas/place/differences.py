"""Finds where a cluster differs from the files, and what keeps KAI from considering work; each finding is a cause.

These causes are read before KAI's own messages, which only follow from them. KAI's behavior is that of 0.17:
pkg/scheduler/api/podgroup_info/job_info.go (SubGroups), pkg/scheduler/plugins/topology/job_filtering.go (Topologies),
pkg/scheduler/api/pod_info/pod_info.go (gates, deletion), pkg/scheduler/cache/cluster_info/data_lister (shards) and
pkg/scheduler/actions/utils/input_jobs.go (queues that KAI skips silently: not a leaf, or with a missing parent).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from kubectl_tas.facts.gpus import GPU
from kubectl_tas.live.owners import Controller, stop_path
from kubectl_tas.model.kindlists import written
from kubectl_tas.model.labels import POD_GROUP, SUBGROUP
from kubectl_tas.place.gangs_to_place import GangToPlace
from kubectl_tas.place.livework import LiveWork, live_shape
from kubectl_tas.place.pending_reasons import APPLY, HINTS, Cause, CauseKind
from kubectl_tas.place.shapes import PodShape
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.topologies import FleetTopology

_DEFAULT = "default"
"""SubGroup of a pod that names none."""
_GATES = {
    "kueue.x-k8s.io/": "Kueue takes the gate away once its own quota admits the pods.",
    "grove.io/": "Grove takes the gate away once the pods' PodGang has all its pods.",
}
"""Hints that say who removes a scheduling gate, by the prefix of the gate's name."""
_TRACKING = "batch.kubernetes.io/job-tracking"
"""Finalizer of each pod of a Job; Kubernetes removes it as soon as the pod has ended."""
_KUEUE = "kueue.x-k8s.io/queue-name"
_MISSING_TOPOLOGY = "Requested topology (\\S+) does not exist"
_MISSING_SUB_GROUP = "references subgroup .* does not exist"


def differences(work: LiveWork) -> Iterator[Cause]:
    """Yields all causes that this module finds."""
    for look in _LOOKS:
        yield from look(work)


def _stopped(work: LiveWork) -> Iterator[Cause]:
    for controller in work.controllers:
        if controller.is_suspended:
            is_own, path = controller is work.own, stop_path(controller.kind)
            text, field = f"{controller.kind} {controller.name} is suspended", ".".join(path)
            if _KUEUE in controller.labels:
                text, hint = f"{text} until Kueue admits it", "Ask Kueue: kubectl get workloads.kueue.x-k8s.io."
            elif is_own and work.sent.declared.origin.value(path) is True:
                text, hint = f"{text}, as the file says", "Set it to false, and apply the manifests."
            else:
                text, hint = f"{text} in the cluster, and not in the file", f"Ask who set {field}; set it to false."
            yield Cause(CauseKind.STOPPED, text, location=work.place_of(*path) if is_own else work.place, hint=hint)
            return
    work_object = work.own
    if work_object is not None and work_object.is_scaled_down:
        path = stop_path(work_object.kind)
        replicas_in_file = work.sent.declared.origin.value(path)
        is_meant = replicas_in_file == 0
        says = (
            "" if is_meant else f"; the file says {'1, the default' if replicas_in_file is None else replicas_in_file}"
        )
        text = f"{work_object.kind} {work_object.name} has 0 replicas in the cluster{says}"
        hint = f"{'Ask for replicas, and' if is_meant else 'Ask who scaled it down, or'} apply the manifests."
        yield Cause(CauseKind.STOPPED, text, location=work.place_of(*path), hint=hint)


def _deleted(work: LiveWork) -> Iterator[Cause]:
    named = (
        *(
            (f"{controller.kind} {controller.name}", controller.deleted, controller.finalizers)
            for controller in _own(work)
        ),
        *((f"PodGroup {group.name}", group.deleted, group.finalizers) for group in work.groups),
    )
    for deleted_object, since, finalizers in named:
        if since:
            text = f"{deleted_object} is being deleted since {since}"
            hint = "Wait until it is gone, then apply the manifests again."
            if finalizers:
                hint = f"{_listed('finalizer', finalizers)} must go first: look whether the controller of it runs."
            yield Cause(CauseKind.DELETED, text, location=work.place, hint=hint)
            return
    pods = [pod for pod in work.pods if pod.phase == "Terminating"]
    waiting_groups = (group for group in work.groups if any(pod.waits for pod in work.pods_of(group)))
    if pods and not any(map(work.is_complete, waiting_groups)):  # what waits without these, waits for something else
        earliest = min(pod.deleted for pod in pods)
        whom = "it" if len(pods) == 1 else "them"
        text = f"{_pods(len(pods))} of it {_are(pods)} being deleted since {earliest}, and KAI does not count {whom}"
        nodes = sorted({str(pod.spec["nodeName"]) for pod in pods if pod.is_on_node})
        finalizers = tuple(sorted({name for pod in pods for name in pod.finalizers} - {_TRACKING}))
        are, their = ("it is", "its") if len(pods) == 1 else ("they are", "their")
        hint = f"Wait until {are} gone."
        if nodes:
            hint = f"{hint} If that takes longer than {their} grace period, look at {_listed('node', nodes)}."
        if finalizers:
            hint = f"{_listed('finalizer', finalizers)} must go first: look whether the controller of it runs."
        yield Cause(CauseKind.DELETED, text, location=work.place, hint=hint)


def _own(work: LiveWork) -> Iterable[Controller]:
    """Returns the object of the submission; for a workflow, its Jobs."""
    return work.controllers if work.own is None else (work.own,)


def _gated(work: LiveWork) -> Iterator[Cause]:
    pods = Counter(gate for pod in work.pods if pod.waits for gate in pod.gates)
    for gate, count in sorted(pods.items()):
        has = "has" if count == 1 else "have"
        text = f"{_pods(count)} of it {has} the scheduling gate {gate}; KAI does not place them before it is taken away"
        gate_hint = next((hint for prefix, hint in _GATES.items() if gate.startswith(prefix)), "")
        yield Cause(CauseKind.GATED, text, location=work.place, hint=gate_hint or HINTS[CauseKind.GATED])


def _no_pod_group(work: LiveWork) -> Iterator[Cause]:
    """Yields a cause if pods name a PodGroup that does not exist or belongs to other work."""
    if "PodGroup" in work.cluster.gaps:
        return
    ours = {group.name for group in work.groups}
    owners = {
        (written(work.sent.kind), work.sent.name),
        *((controller.kind, controller.name) for controller in work.controllers),
    }
    for name, count in sorted(Counter(pod.group for pod in work.pods if pod.group and pod.waits).items()):
        pods_naming = f"{_pods(count)} of it name{'s' if count == 1 else ''} the PodGroup {name}"
        if name not in ours:
            is_right = work.gang_of(name) is not None
            subject, hint = (CauseKind.ABSENT, _WITHOUT) if is_right else (CauseKind.DIFFERS, _RIGHT)
            yield Cause(
                subject, f"{pods_naming}, and the cluster has none of that name", location=work.place, hint=hint
            )
            continue
        (group,) = (group for group in work.groups if group.name == name)
        is_known = len(work.known) == len(work.expected) > 0
        if is_known and work.gang_of(name) is None and not owners & set(group.owners):
            right = " or ".join(gang.gang.name for gang in work.known[:3])
            yield Cause(
                CauseKind.DIFFERS, f"{pods_naming}; by the file it is {right}", location=work.place, hint=_RIGHT
            )


_WITHOUT = "Apply its manifests: the PodGroup is one of them, unless KAI's podgrouper makes it."
_NOT_SEEN = "A shard sees only the queues that bear its label."
_RIGHT = f"Delete the pods, and apply the rendered manifests, which set the annotation {POD_GROUP}."


def _queues(work: LiveWork) -> Iterator[Cause]:
    sent = work.sent
    for group in work.groups:
        if group.queue and group.queue != sent.queue:
            owner = work.owner_of(group.queue)
            subject, nowhere = CauseKind.DIFFERS, ", which no pool here has" if owner is None else ""
            if work.queues is not None and group.queue not in work.queues:
                subject, nowhere = CauseKind.QUEUE, ", which the cluster does not have"
            text = f"PodGroup {group.name} is in the queue {group.queue}{nowhere}; the file sends it to {sent.queue}"
            hint = "KAI's podgrouper keeps the queue of a PodGroup that has pods. Delete the work, and apply it again."
            if sent.kind in ("Workflow", "PodGroup"):
                hint = APPLY
            yield Cause(subject, text, location=sent.place, hint=hint)
            return


def _shards(work: LiveWork) -> Iterator[Cause]:
    shard, pool = work.sent.pool.shard, work.sent.pool
    pool_location = pool.declared.at("spec", "nodePool") if pool.declared.spec.spec.nodePool else work.sent.place
    if work.cluster.shards is not None and (shard or "") not in work.cluster.shards:
        value = f"partitionLabelValue {shard}" if shard else "no partitionLabelValue"
        text = f"no SchedulingShard of the cluster has {value}, so no scheduler places work of pool {pool.name}"
        hint = "Apply such a SchedulingShard, or correct nodePool of the pool."
        yield Cause(CauseKind.DIFFERS, text, location=pool_location, hint=hint)
        return
    for group in work.groups:
        if group.shard != shard and group.sub_groups is not None:  # else an older file, without labels of shards
            text = f"PodGroup {group.name} is {_in(group.shard)}; pool {pool.name} is {_in(shard)}"
            yield Cause(CauseKind.DIFFERS, text, location=pool_location, hint=APPLY)
            return
    for queue in work.cluster.queues:
        if queue.name == work.queue == work.sent.queue and queue.shard != shard:
            text = f"the queue {queue.name} is {_in(queue.shard)} of the scheduler, and its work is {_in(shard)}"
            yield Cause(
                CauseKind.QUEUE, text, location=pool_location, hint=f"{_NOT_SEEN} Apply the manifests of its pool."
            )


def _in(shard: object) -> str:
    return "in no shard" if shard is None else f"in the shard {shard}"


def _queue_tree(work: LiveWork) -> Iterator[Cause]:
    """Yields a cause if KAI skips the queue silently: the queue is missing, is not a leaf, or has a missing parent."""
    if work.queues is None:
        return
    parents = {live_queue.name: live_queue.parent for live_queue in work.cluster.queues}
    queue, hint = work.queue, HINTS[CauseKind.QUEUE]
    if queue not in parents:
        if queue == work.sent.queue:
            yield Cause(CauseKind.QUEUE, f"the cluster has no queue {queue}", location=work.sent.place, hint=hint)
        return
    below = [name for name, parent in sorted(parents.items()) if parent == queue]
    if below:
        text = f"the queue {queue} has queues below it ({', '.join(below[:3])}), and KAI starts nothing in such a queue"
        yield Cause(
            CauseKind.QUEUE, text, location=work.sent.place, hint="Delete those, or send the work to one of them."
        )
    parent = parents[queue]
    if parent and parent not in parents:
        text = f"the queue {queue} is below the queue {parent}, and the cluster has no queue {parent}"
        yield Cause(CauseKind.QUEUE, text, location=work.sent.place, hint=hint)


def _topologies(work: LiveWork) -> Iterator[Cause]:
    ours = {
        message.name_on(work.sent.pool.backend): message for message in work.fleet.topologies if _is_here(message, work)
    }
    constraint_topologies = [
        constraint.topology
        for message in work.known
        for unit in (message.gang, *message.gang.sub_groups)
        if (constraint := unit.constraint)
    ]
    requested = {name for name in constraint_topologies if name}
    for group in work.groups:
        gang_in_file = work.gang_of(group.name)
        if gang_in_file is not None and group.topologies and requested and not group.topologies & requested:
            in_cluster, in_file = ", ".join(sorted(group.topologies)), ", ".join(sorted(requested))
            text = f"PodGroup {group.name} names the Topology {in_cluster}; the file names {in_file}"
            yield Cause(CauseKind.DIFFERS, text, location=_place_of(ours.get(in_file), work), hint=APPLY)
    live = work.cluster.topologies
    named = {match[1] for message in work.said for match in re.finditer(_MISSING_TOPOLOGY, message.text)}
    if "Topology" not in work.cluster.gaps:
        named |= requested
    named -= {name for group in work.groups for name in group.topologies if requested} - requested
    for name in sorted(named - set(live)):
        is_ours = name in ours and ours[name].is_created_on(work.sent.pool.backend)
        hint = "Apply the manifests of its pool." if is_ours else "Create it, or name another one."
        text = f"the cluster has no Topology {name}"
        yield Cause(
            CauseKind.DIFFERS,
            text,
            location=_place_of(ours.get(name), work),
            hint=hint,
            claims=f"topology {re.escape(name)} ",
        )
    for name in sorted(requested & set(live) & set(ours)):
        levels = tuple(level.label for level in ours[name].levels)
        is_ours = ours[name].is_created_on(work.sent.pool.backend)
        if live[name] != levels if is_ours else not set(levels) <= set(live[name]):
            in_cluster, in_file = (", ".join(labels) or "none" for labels in (live[name], levels))
            text = f"the Topology {name} has the levels {in_cluster} in the cluster; the file says {in_file}"
            lacking = "Give it the levels that it lacks, or change the file."
            hint = "Apply the manifests of its pool." if is_ours else lacking
            yield Cause(CauseKind.DIFFERS, text, location=_place_of(ours[name], work), hint=hint)


def _is_here(topology: FleetTopology, work: LiveWork) -> bool:
    return topology.backend in (None, work.sent.pool.backend)


def _place_of(topology: FleetTopology | None, work: LiveWork) -> Any:
    return work.place if topology is None else topology.declared.at(*topology.path)


def _sub_groups(work: LiveWork) -> Iterator[Cause]:
    """Yields a cause if pods name a SubGroup that their PodGroup does not have."""
    for group in work.groups:
        if group.sub_groups is None:
            continue
        sub_group_names = set(group.sub_groups) or {_DEFAULT}
        lost = Counter(
            pod.sub_group or _DEFAULT
            for pod in work.pods_of(group)
            if (pod.sub_group or _DEFAULT) not in sub_group_names
        )
        has = f"has the SubGroups {', '.join(sorted(sub_group_names)[:5])}" if group.sub_groups else "has no SubGroups"
        for name, count in sorted(lost.items()):
            pods_naming = f"{_pods(count)} of it name{'s' if count == 1 else ''} the SubGroup {name}"
            if name == _DEFAULT:
                pods_naming = f"{_pods(count)} of it name{'s' if count == 1 else ''} no SubGroup (label {SUBGROUP})"
            text = f"{pods_naming}, and PodGroup {group.name} {has}"
            yield Cause(CauseKind.DIFFERS, text, location=work.place, hint=APPLY, claims=_MISSING_SUB_GROUP)


def _minimums(work: LiveWork) -> Iterator[Cause]:
    """Yields a cause if a PodGroup starts with another number of pods than the file says."""
    for group in work.groups:
        gang_in_file = work.gang_of(group.name)
        if gang_in_file is None or group.sub_groups is None:
            continue
        if not gang_in_file.gang.sub_groups and not group.sub_groups:
            pairs: Iterable[tuple[str, int | None, int]] = [("", group.minimum, len(gang_in_file.needed.get(None, ())))]
        else:
            leaves = {leaf.name: leaf.minimum for leaf in gang_in_file.gang.leaves if leaf.minimum is not None}
            pairs = [
                (name, group.sub_groups[name], least) for name, least in leaves.items() if name in group.sub_groups
            ]
        for name, in_cluster, least in pairs:
            if in_cluster is not None and max(in_cluster, 1) != max(
                least, 1
            ):  # KAI counts a minimum of 0 as 1 in most releases
                where = f" in SubGroup {name}" if name else ""
                text = f"PodGroup {group.name} starts with {plural(in_cluster, 'pod')}{where}; the file says {least}"
                yield Cause(CauseKind.DIFFERS, text, location=work.place, hint=APPLY)
                break


def _pods_of_file(work: LiveWork) -> Iterator[Cause]:
    """Yields a cause if pods ask for other nodes, or for another number of GPUs, than the file says."""
    pods_by_difference = Counter[str]()
    for group in work.groups:
        gang_in_file = work.gang_of(group.name)
        for pod in work.pods_of(group) if gang_in_file is not None else ():
            live = live_shape(pod) if pod.waits else None
            if gang_in_file is not None and live is not None:
                pods_by_difference.update(_otherwise(live, _shapes(work, gang_in_file, pod.sub_group)))
    for difference, count in pods_by_difference.items():
        text = f"{_pods(count)} in the cluster {difference}; the file does not say so"
        hint = "Ask who changed them: a webhook, a pod template of the cluster, or by hand. Apply the manifests anew."
        yield Cause(CauseKind.DIFFERS, text, location=work.place, hint=hint)


def _otherwise(live: PodShape, shapes: Collection[PodShape]) -> Iterator[str]:
    """Yields what a pod asks for and its file does not; nothing if the pod's shapes in the file are unknown."""
    if not shapes:
        return
    selectors = {shape.rules.selector for shape in shapes}
    if live.rules.selector not in selectors:
        selector_pairs = {pair for selector in selectors for pair in selector}
        extra = [f"{key}={value}" for key, value in live.rules.selector if (key, value) not in selector_pairs]
        yield f"select nodes with {', '.join(extra)}" if extra else "do not select the nodes of the file"
    elif live.rules.terms not in {shape.rules.terms for shape in shapes}:
        yield "have another node affinity"
    gpus = dict(live.asks).get(GPU, 0)
    if gpus not in {dict(shape.asks).get(GPU, 0) for shape in shapes}:
        yield f"ask for {plural(gpus, 'GPU')} each"


def _shapes(work: LiveWork, gang: GangToPlace, sub_group: str | None) -> Collection[PodShape]:
    """Returns the shapes of a SubGroup's pods in the file; none if the pods that start first do not stand for all."""
    if gang.gang.sub_groups:
        return set(gang.needed.get(sub_group, ()))
    of_one = not isinstance(work.sent, FleetWorkload) or len(work.sent.replicas) == 1
    return {shape for shapes in gang.needed.values() for shape in shapes} if of_one else ()


def _listed(noun: str, names: Collection[str]) -> str:
    return f"{noun}{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _pods(count: int) -> str:
    return plural(count, "pod")


def _are(counted: Collection[object]) -> str:
    return "is" if len(counted) == 1 else "are"


_LOOKS: tuple[Callable[[LiveWork], Iterator[Cause]], ...] = (
    _stopped,
    _deleted,
    _gated,
    _no_pod_group,
    _queues,
    _shards,
    _queue_tree,
    _topologies,
    _sub_groups,
    _minimums,
    _pods_of_file,
)
