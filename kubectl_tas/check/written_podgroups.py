"""Checks hand-written PodGroups: SubGroups, minimums, queue, priority, namespace, topology and Pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kubectl_tas.base.diagnostics import Diagnostic, Related, Rule, Waiving
from kubectl_tas.base.words import did_you_mean, write_instead
from kubectl_tas.check.node_labels import mended_level
from kubectl_tas.check.placement_rules import check_order
from kubectl_tas.check.workload_labels import WORKLOAD_CONFLICT, check_demands
from kubectl_tas.facts.kai import PRIORITY_CLASSES, Feature
from kubectl_tas.gangs.pool_demands import member_demands
from kubectl_tas.gangs.written_gangs import DEFAULT, gang_of_pod_group, minimums_of, sub_group_of
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.labels import MAX_LABEL
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.handwritten import FleetPodGroup
from kubectl_tas.resolve.topologies import FleetTopology

if TYPE_CHECKING:
    from kubectl_tas.model.manifest import SubGroup, TopologyConstraint
    from kubectl_tas.model.workloads import Workload

SUBGROUP_NAME = Rule.error(
    "subgroup-name",
    "The name of a SubGroup or its parent is not a lower-case RFC 1123 label.",
    "KAI lower-cases the parent but not the name, so a SubGroup in upper case never finds its children and "
    "waits for ever; from 0.15 the API server refuses it. Use lower-case letters, digits and '-'.",
)
SUBGROUP_DUPLICATE = Rule.error(
    "subgroup-duplicate",
    "Two SubGroups of a PodGroup share a name.",
    "Pods name their SubGroup, so KAI cannot tell the two apart. Rename one.",
)
SUBGROUP_PARENT = Rule.error(
    "subgroup-parent",
    "The parent of a SubGroup does not exist.",
    "KAI would not schedule the gang. Name a SubGroup of the same PodGroup.",
)
SUBGROUP_CYCLE = Rule.error(
    "subgroup-cycle",
    "SubGroups are each other's parents.",
    "The tree has no root, so KAI never starts the gang. Remove one of the parents.",
)
SUBGROUP_MINIMUM = Rule.error(
    "subgroup-minimum",
    "KAI refuses minMember or minSubGroup, or they are more than can be there.",
    "KAI counts pods on leaves: from 0.15 its webhook demands minMember on a leaf and refuses it on a SubGroup with "
    "children, which may have minSubGroup instead.",
)
CONSTRAINT_TOPOLOGY = Rule.error(
    "constraint-topology",
    "A topology constraint names no topology, no level, or an unknown level.",
    "KAI cannot resolve the level without its Topology, and pods with a level that does not exist stay "
    "Pending. Name both, the level by its node label or, from KAI 0.17, by its alias.",
)
PODGROUP_QUEUE = Rule.warning(
    "podgroup-queue",
    "A hand-written PodGroup names a queue that is unknown or takes no work.",
    "The queue may exist elsewhere. If not, the gang stays Pending.",
    protects=Waiving.CONFIG,
)
PODGROUP_PRIORITY = Rule.warning(
    "podgroup-priority",
    "A hand-written PodGroup names a PriorityClass that neither this repository nor KAI makes.",
    "The class may exist elsewhere. If not, KAI gives the PodGroup the cluster's default class, or 50, so it is "
    "preemptible. Kubernetes' own classes, system-..., rank above everything that a repository renders.",
    protects=Waiving.CONFIG,
)
PODGROUP_NAMESPACE = Rule.warning(
    "podgroup-namespace",
    "A hand-written PodGroup is in another namespace than the work of its queue.",
    "No workload of this repository can join it. Pods from elsewhere that join it use the queue without a review. "
    "Write a namespace of the pool or the subpool whose queue it names.",
    protects=Waiving.CONFIG,
)
PODGROUP_TOPOLOGY = Rule.warning(
    "podgroup-topology",
    "A hand-written PodGroup names a Topology that is not rendered.",
    "The Topology may exist elsewhere; kubectl-tas cannot check its levels.",
)
PODGROUP_SPELLING = Rule.info(
    "podgroup-spelling",
    "A hand-written PodGroup spells subGroups as subgroups.",
    "The API server drops the misspelled field without a message. `render` writes the right name.",
)
PODGROUP_MEMBER = Rule.error(
    "podgroup-member",
    "A Pod of a PodGroup names no SubGroup that takes pods.",
    "If a PodGroup has SubGroups, KAI places a pod only if its label kai.scheduler/subgroup-name names a SubGroup "
    "without children. The rest of the gang waits for that pod. Name such a SubGroup.",
)
PODGROUP_SHORT = Rule.error(
    "podgroup-short",
    "Fewer Pods are declared for a PodGroup than it needs to start.",
    "KAI places none of the pods before minMember of them exist. Declare the others in the same repository, or lower "
    "minMember. If something else makes the others, waive the rule there. The rule skips a PodGroup if no file "
    "declares a pod of it.",
    protects=Waiving.ANYBODY,
)
COMMON_CLASSES = PRIORITY_CLASSES
"""PriorityClasses of KAI's chart (0.6 to 0.17), which every cluster with KAI has."""
_SYSTEM = "system-"
"""Prefix of Kubernetes' own PriorityClasses, whose values are about 2,000,000,000."""


def check_pod_groups(pod_group: FleetPodGroup, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a hand-written PodGroup."""
    location = pod_group.declared.at_key("spec", "subGroups")
    if pod_group.declared.spec.spec.subGroups and location.source[location.column - 1 :].startswith("subgroups"):
        message = "the API calls this field subGroups and drops subgroups without a word; it is rendered as subGroups"
        yield Diagnostic(PODGROUP_SPELLING, message, location, hint="Write subGroups.")
    first_paths: dict[str, KeyPath] = {}
    for sub_group, path in pod_group.sub_groups:
        location = pod_group.declared.at(*path, "name")
        earlier = first_paths.setdefault(sub_group.name, path)
        if earlier != path:
            related = (Related("first here", pod_group.declared.at(*earlier, "name")),)
            message = f'the SubGroup "{sub_group.name}" appears twice'
            yield Diagnostic(SUBGROUP_DUPLICATE, message, location, related, hint="Rename one of them.")
        for field, name in (("name", sub_group.name), ("parent", sub_group.parent)):
            if name is not None and (not names.is_label(name) or len(name) > MAX_LABEL):
                message = f"the SubGroup {field} \"{name}\" must be at most 63 lower-case letters, digits and '-'"
                suggestion = names.fold(name)[:MAX_LABEL].strip("-")
                hint = f"For example: {suggestion}." if names.is_label(suggestion) else "Choose another name."
                yield Diagnostic(SUBGROUP_NAME, message, pod_group.declared.at(*path, field), hint=hint)
    yield from _parents(pod_group)
    spec, declared = pod_group.declared.spec.spec, pod_group.declared
    gang = gang_of_pod_group(fleet, pod_group)
    strict = pod_group.backend.has(Feature.STRICT_MIN_MEMBER)
    counted = sum(leaf.minimum or 0 for leaf in gang.leaves)
    if spec.minMember is not None and spec.subGroups and (spec.minSubGroup is not None or spec.minMember != counted):
        message = "KAI ignores minMember of a PodGroup that has SubGroups"
        hint = f"Remove it; KAI writes {counted} there, the sum of its leaves, where minSubGroup says nothing."
        yield _minimum(pod_group, ("spec", "minMember"), message, hint)
    yield from _too_many(pod_group, ("spec",), spec.minSubGroup, len(gang.below(gang)))
    for sub_group, path in pod_group.sub_groups:
        below = len(gang.by_parent.get(sub_group.name, ()))
        if below and sub_group.minMember is not None:
            message = f'SubGroup "{sub_group.name}" has children, so it must not have minMember'
            yield _minimum(pod_group, (*path, "minMember"), message, "Remove it; pods are counted on the leaves.")
        if not below and sub_group.minMember is None and strict:
            message = f'SubGroup "{sub_group.name}" has no children, so KAI demands minMember'
            yield Diagnostic(SUBGROUP_MINIMUM, message, declared.at(*path), hint="Add minMember.")
        yield from _too_many(pod_group, path, sub_group.minSubGroup, below)
    yield from _queue(fleet, pod_group)
    yield from _priority(fleet, pod_group)
    yield from _namespace(pod_group)
    yield from _pods(fleet, pod_group)
    topologies = {topology.name_on(pod_group.backend): topology for topology in fleet.topologies}
    for constraint, path in pod_group.constraints:
        yield from _constraint(pod_group, constraint, path, topologies)


def _parents(pod_group: FleetPodGroup) -> Iterator[Diagnostic]:
    by_name = {sub_group.name: sub_group for sub_group, _ in pod_group.sub_groups}
    cycles = {min(cycle): cycle for cycle in _cycles(by_name)}
    for sub_group, path in pod_group.sub_groups:
        if sub_group.parent is None:
            continue
        location = pod_group.declared.at(*path, "parent")
        if sub_group.parent not in by_name:
            message = f'the parent "{sub_group.parent}" of SubGroup "{sub_group.name}" does not exist'
            other_names = [name for name in by_name if name != sub_group.name]
            known_sub_groups = (
                f"Other SubGroups here: {', '.join(other_names)}." if other_names else "Define it, or remove parent."
            )
            yield Diagnostic(
                SUBGROUP_PARENT, message, location, hint=did_you_mean(sub_group.parent, other_names, known_sub_groups)
            )
        if cycle := cycles.get(sub_group.name):
            start = cycle.index(sub_group.name)
            message = f"SubGroups are each other's parents: {' -> '.join((*cycle[start:], *cycle[: start + 1]))}"
            hint = "Remove one of the parents."
            if len(cycle) == 1:
                message, hint = f'SubGroup "{sub_group.name}" is its own parent', "Remove parent."
            yield Diagnostic(SUBGROUP_CYCLE, message, location, hint=hint)


def _cycles(by_name: dict[str, SubGroup]) -> Iterator[list[str]]:
    """Yields each circle of SubGroup parents once."""
    seen: set[str] = set()
    for start in by_name:
        walk: dict[str, None] = {}
        name: str | None = start
        while name in by_name and name not in seen:
            seen.add(name)
            walk[name] = None
            name = by_name[name].parent
        if name in walk:
            ring = list(walk)
            yield ring[ring.index(name) :]


def _too_many(pod_group: FleetPodGroup, path: KeyPath, asked_minimum: int | None, below: int) -> Iterator[Diagnostic]:
    if asked_minimum is not None and not below:
        message = "minSubGroup counts SubGroups directly below, but there are none"
        yield _minimum(pod_group, (*path, "minSubGroup"), message, "Remove it; pods are counted by minMember.")
    elif asked_minimum is not None and asked_minimum > below:
        children = "is 1 SubGroup" if below == 1 else f"are {below} SubGroups"
        message = f"minSubGroup is {asked_minimum}, but there {children} directly below"
        yield _minimum(pod_group, (*path, "minSubGroup"), message, f"Use at most {below}, or remove it.")


def _minimum(pod_group: FleetPodGroup, path: KeyPath, message: str, hint: str) -> Diagnostic:
    return Diagnostic(SUBGROUP_MINIMUM, message, pod_group.declared.at(*path), hint=hint)


def _queue(fleet: Fleet, pod_group: FleetPodGroup) -> Iterator[Diagnostic]:
    queue = pod_group.declared.spec.spec.queue
    pools = [pool for pool in fleet.pools if pool.backend == pod_group.backend]
    closed = {subpool.queue: subpool for pool in pools for subpool in pool.subpools if subpool.state != "ACTIVE"}
    leaves = fleet.leaf_queues(pod_group.backend)
    if queue in leaves and queue not in closed:
        return
    containers = {pool.queue: pool for pool in pools}
    if queue in closed and closed[queue].lets_finish("PodGroup", pod_group.name):
        return
    if queue in closed:
        message = f'the queue "{queue}" is that of subpool {closed[queue].canonical}, which is {closed[queue].state}'
        hint = "Use the queue of an ACTIVE subpool, or that of the pool itself, which ends in --shared."
    elif queue in containers:
        message = f'the queue "{queue}" only holds other queues; KAI takes work for leaves'
        hint = write_instead(queue, containers[queue].shared_queue, "Use")
    elif queue == pod_group.backend.root_queue(fleet.config.queuePrefix):
        message = f'the queue "{queue}" only holds other queues; KAI takes work for leaves'
        hint = "Use the queue of a subpool, or that of a pool, which ends in --shared."
    else:
        message = f'the queue "{queue}" is not declared here'
        meant = next((leaf for leaf, target in leaves.items() if target == queue), None)
        hint = did_you_mean(queue, leaves, "If it exists elsewhere, do nothing.")
        if meant is not None:
            hint = f"Write {meant}, the queue of {queue}."
    yield Diagnostic(PODGROUP_QUEUE, message, pod_group.declared.at("spec", "queue"), hint=hint)


def _priority(fleet: Fleet, pod_group: FleetPodGroup) -> Iterator[Diagnostic]:
    """Checks the PriorityClass (0.17: ``getPodGroupPriority`` of pkg/scheduler/cache/cluster_info/cluster_info.go)."""
    name = pod_group.declared.spec.spec.priorityClassName
    known_classes = (*dict(fleet.config.priorityClasses).values(), *COMMON_CLASSES)
    location = pod_group.declared.at("spec", "priorityClassName")
    if name and name.startswith(_SYSTEM):
        message = f'the PriorityClass "{name}" ranks above everything that this repository renders'
        yield Diagnostic(PODGROUP_PRIORITY, message, location, hint=f"Use one of {', '.join(known_classes)}.")
    elif name and name not in known_classes:
        message = f'the PriorityClass "{name}" is not declared here; if it does not exist, the gang has priority 50'
        hint = did_you_mean(name, known_classes, "If it exists elsewhere, do nothing.")
        yield Diagnostic(PODGROUP_PRIORITY, message, location, hint=hint)


def _namespace(pod_group: FleetPodGroup) -> Iterator[Diagnostic]:
    if pod_group.namespace not in pod_group.namespaces:
        is_default = pod_group.namespaces == (pod_group.backend.namespace,)
        whose = f"backend {pod_group.backend.name}" if is_default else "its queue"
        allowed = " or ".join(f'"{name}"' for name in pod_group.namespaces)
        message = f'the PodGroup is in namespace "{pod_group.namespace}", but work of {whose} runs in {allowed}'
        location = pod_group.declared.at("metadata", "namespace")
        yield Diagnostic(PODGROUP_NAMESPACE, message, location, hint=f"Write {pod_group.namespaces[0]}.")


def _pods(fleet: Fleet, pod_group: FleetPodGroup) -> Iterator[Diagnostic]:
    """Checks the Pods that join a PodGroup: their queue and SubGroup, and whether there are enough Pods."""
    minimums = minimums_of(pod_group)
    pods_by_sub_group = Counter(sub_group_of(pod) for pod in pod_group.pods)
    for pod in pod_group.pods:
        yield from check_demands(pod.origin, member_demands(fleet, pod_group, pod.origin))
        # Checks that a Pod names the same pool as the queue of its PodGroup.
        named_pool = pod.spec.metadata.labels.get(labels.POOL)
        target = fleet.leaf_queues(pod_group.backend).get(pod_group.declared.spec.spec.queue, "another repository's")
        if named_pool is not None and names.fold(named_pool) != target:
            message = f'the pool is "{named_pool}", but the queue of PodGroup {pod_group.name} is that of {target}'
            related = (Related("that PodGroup", pod_group.declared.at("spec", "queue")),)
            hint = "Remove the label: a Pod goes where its PodGroup goes."
            yield Diagnostic(WORKLOAD_CONFLICT, message, pod.at("metadata", "labels", labels.POOL), related, hint=hint)
        if sub_group_of(pod) not in minimums:
            yield _no_leaf(pod_group, pod, minimums)
    for workload in fleet.workloads:
        same = workload.pool.backend == pod_group.backend
        for replica_type in workload.replicas if same and pod_group.pods else ():
            if replica_type.template is not None and replica_type.pod_group == pod_group.name:
                name = replica_type.template.metadata.labels.get(labels.SUBGROUP) or DEFAULT
                pods_by_sub_group[name] += workload.copies * replica_type.replicas
    if pod_group.pods and not _starts(pod_group, None, minimums, pods_by_sub_group):
        for name, least in minimums.items():
            if pods_by_sub_group[name] < least:
                pods_there = pods_by_sub_group[name]
                paths = [path for sub_group, path in pod_group.sub_groups if sub_group.name == name]
                location = pod_group.declared.at(*(paths[0] if paths else ("spec",)), "minMember")
                group_name = f'SubGroup "{name}"' if paths else f'PodGroup "{pod_group.name}"'
                are = "is 1 Pod" if pods_there == 1 else f"are {pods_there} Pods"
                message = f"{group_name} needs {least} Pods before any starts, and there {are}: it waits for ever"
                yield Diagnostic(PODGROUP_SHORT, message, location, hint="Declare the others too, or lower minMember.")


def _starts(
    pod_group: FleetPodGroup, name: str | None, minimums: Mapping[str, int], pods_by_sub_group: Mapping[str, int]
) -> bool:
    """Whether a SubGroup, or with None the whole PodGroup, has the pods that it needs."""
    if name is not None and name in minimums:
        return pods_by_sub_group[name] >= minimums[name]
    spec = pod_group.declared.spec.spec
    if name is None and not spec.subGroups:
        return pods_by_sub_group[DEFAULT] >= minimums[DEFAULT]
    below = [sub_group.name for sub_group in spec.subGroups if sub_group.parent == name]
    asked_minimum = spec.minSubGroup if name is None else next(s.minSubGroup for s in spec.subGroups if s.name == name)
    ready = sum(_starts(pod_group, child, minimums, pods_by_sub_group) for child in below if child != name)
    return ready >= (len(below) if asked_minimum is None else asked_minimum)


def _no_leaf(pod_group: FleetPodGroup, pod: Declared[Workload], minimums: Mapping[str, int]) -> Diagnostic:
    named_sub_group = pod.spec.metadata.labels.get(labels.SUBGROUP)
    leaves = [name for name in minimums if name != DEFAULT]
    hint = (
        f"Name one of {', '.join(leaves)}."
        if leaves
        else f"Remove the label: PodGroup {pod_group.name} has no SubGroups."
    )
    if named_sub_group is None:
        message = (
            f"Pod {pod.spec.metadata.name} names no SubGroup, but PodGroup {pod_group.name} has some: it never runs"
        )
        location = pod.origin.locate(("metadata", "labels", labels.SUBGROUP), key=True)
        return Diagnostic(PODGROUP_MEMBER, message, location, hint=f"Add the label {labels.SUBGROUP}. {hint}")
    has_children = any(named_sub_group == sub_group.name for sub_group, _ in pod_group.sub_groups)
    reason = (
        f'SubGroup "{named_sub_group}" has SubGroups below it'
        if has_children
        else f'PodGroup {pod_group.name} has no SubGroup "{named_sub_group}"'
    )
    message = f"{reason}, so Pod {pod.spec.metadata.name} never runs"
    location = pod.at("metadata", "labels", labels.SUBGROUP)
    return Diagnostic(PODGROUP_MEMBER, message, location, hint=did_you_mean(named_sub_group, leaves, hint))


def _constraint(
    pod_group: FleetPodGroup, constraint: TopologyConstraint, path: KeyPath, topologies: dict[str, FleetTopology]
) -> Iterator[Diagnostic]:
    required, preferred = constraint.requiredTopologyLevel, constraint.preferredTopologyLevel
    if constraint.topology is None or (required is None and preferred is None):
        lacking = "topology" if constraint.topology is None else "level"
        message = f"the constraint names no {lacking}"
        hint = "It needs topology, and requiredTopologyLevel or preferredTopologyLevel."
        yield Diagnostic(CONSTRAINT_TOPOLOGY, message, pod_group.declared.at_key(*path), hint=hint)
        return
    topology = topologies.get(constraint.topology)
    if topology is None:
        message = f'the topology "{constraint.topology}" is not declared here'
        hint = did_you_mean(constraint.topology, topologies, "If it exists elsewhere, do nothing.")
        bound = next(
            (name for name, fleet_topology in topologies.items() if fleet_topology.name == constraint.topology), None
        )
        if bound is not None:
            message = f'the topology "{constraint.topology}" is rendered as the Topology "{bound}"'
            hint = write_instead(constraint.topology, bound)
        yield Diagnostic(PODGROUP_TOPOLOGY, message, pod_group.declared.at(*path, "topology"), hint=hint)
        return
    aliases = pod_group.backend.has(Feature.LEVEL_ALIAS)
    fields, ranks = ("requiredTopologyLevel", "preferredTopologyLevel"), {}
    for field in fields:
        name = getattr(constraint, field)
        accepted = [{level.label, level.key} if aliases else {level.label} for level in topology.levels]
        rank = next((index for index, level_names in enumerate(accepted) if name in level_names), None)
        if name is not None and rank is None:
            message = f'the topology "{topology.name}" has no level "{name}"'
            labels = ", ".join(level.label for level in topology.levels)
            hint = did_you_mean(name, sorted(set().union(*accepted)), f"Its levels are {labels}.")
            hint = mended_level(name, topology) or hint
            yield Diagnostic(CONSTRAINT_TOPOLOGY, message, pod_group.declared.at(*path, field), hint=hint)
        elif rank is not None:
            ranks[field] = rank
    if len(ranks) == 2:
        words = [level.key if aliases else level.label for level in topology.levels]
        required, preferred = (words[ranks[field]] for field in fields)
        yield from check_order(words, required, preferred, pod_group.declared.at(*path, fields[1]))
