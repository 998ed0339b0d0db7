"""Finds the gangs of submissions, each with the pods that must have nodes before any pod starts.

These pods are the minimums: the pods that each SubGroup needs, without SubGroups that KAI does not wait for (0.17:
``GetTasksToAllocate`` of pkg/scheduler/api/podgroup_info/allocation_info.go). If KAI's gang cannot be predicted, the
answer is the reason instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import chain, product
from math import prod
from types import MappingProxyType
from typing import Any

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts import times
from kubectl_tas.facts.kai import NEWEST_RELEASE, Feature, Release
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.apply_demands import demanded
from kubectl_tas.gangs.gang import Gang, Part, SubGroup
from kubectl_tas.gangs.pool_demands import demands, member_demands
from kubectl_tas.gangs.workflow_gang import gangs_of_workflow
from kubectl_tas.gangs.workload_gang import batches, leaves, member_name, own_gang, shared_gang, wait
from kubectl_tas.gangs.written_gangs import (
    base_gangs_before,
    gang_of_pod_group,
    gangs_of_set,
    minimums_of,
    sub_group_of,
)
from kubectl_tas.kinds import SET
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.labels import PREEMPTION_DELAY
from kubectl_tas.model.scheduler_settings import SchedulerSettings, default_settings
from kubectl_tas.place.neighbours import APART, Selector, selector_of
from kubectl_tas.place.node_cells import PlacementRequest, Unit, placement_request_of
from kubectl_tas.place.node_resources import NodeResources
from kubectl_tas.place.shapes import PodShape, shape_of, unpredicted
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.handwritten import SubmittedPodGroup
from kubectl_tas.resolve.names import fold
from kubectl_tas.resolve.placement import ReplicaType
from kubectl_tas.resolve.podcliqueset import SubmittedSet
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.resolve.topologies import Level
from kubectl_tas.resolve.workflows import FleetGroup, FleetWorkflow

MAX_FURTHER = 1000
"""Most pods of a gang for which later pods are considered besides the first ones."""
MAX_ORDERS = 100
"""Most pod orders that are tried if only the cluster knows the order."""
MAX_COPIES = 200
"""Most equal gangs of one object that are considered."""
_UID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
NOT_KUBERNETES = (ValueError, TypeError, AttributeError, KeyError)
"""Raised by ``shape_of`` for a pod spec that Kubernetes would refuse; findings report such a spec."""
Needed = Mapping[str | None, tuple[PodShape, ...]]
"""Needed pods by SubGroup; pods in no SubGroup are under None."""


@dataclass(frozen=True, slots=True)
class GangOrder:
    """The order between the gangs of one object. Each tuple has an item for each copy of a gang."""

    names: tuple[str, ...]
    """Name of the copy: its PodGang, or the replica type of its pods."""
    before: tuple[tuple[str, ...], ...]
    """Names of the gangs of the object that must have started before the pods of the copy may start."""
    why: str
    """The reason for which the copy waits for them: a sentence without its period."""


@dataclass(frozen=True, eq=False)
class GangToPlace:
    """A gang to place."""

    sent: Submission
    """The submission of the gang; the first one if several share the gang."""
    gang: Gang
    levels: tuple[Level, ...]
    """Levels of the gang's topology, coarsest first."""
    needed: Needed
    named: re.Pattern[str]
    """Pattern of the name of the gang's PodGroup, including a UID if KAI adds one."""
    group: FleetGroup | None = None
    """Group of a workflow that the gang is for."""
    copies: int = 1
    """Number of equal gangs."""
    release: Release = NEWEST_RELEASE
    """Release of the scheduler that places the gang."""
    settings: SchedulerSettings = field(default_factory=default_settings)
    """Settings of that scheduler."""
    delay: int = 0
    """Nanoseconds that the gang waits before KAI evicts or moves other pods for it."""
    further: Needed = field(default_factory=dict)
    """Pods that start later, one by one."""
    order: GangOrder | None = None
    """Order among the gangs of the object; None if no gang of it waits for another."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Node labels of the gang's levels."""
        return tuple(level.label for level in self.levels)

    @cached_property
    def request(self) -> PlacementRequest:
        """Units and shapes of one copy."""
        request = placement_request_of(self.gang, self.labels, self.needed)
        if not self.settings.has("topology"):
            request = replace(request, unit=_without_levels(request.unit))
        return replace(request, release=self.release, settings=self.settings)

    def of_tasks(self, gang: Gang) -> Needed:
        """Returns the needed pods of another gang with the same tasks of a workflow."""
        shapes = {
            member.name: shape
            for unit in (self.gang, *self.gang.leaves)
            for member, shape in zip(unit.members, self.needed.get(_name(unit), ()), strict=True)
        }
        return {_name(unit): tuple(shapes[member.name] for member in unit.members) for unit in (gang, *gang.sub_groups)}

    def is_called(self, pod_group: str) -> bool:
        """Whether a PodGroup of that name is one of the equal gangs."""
        return self.named.fullmatch(pod_group) is not None

    def called_among(self, pod_groups: Iterable[str]) -> Iterator[str]:
        """Yields the names of PodGroups that are one of the equal gangs; faster than ``is_called`` for many names."""
        beginning = beginning_of(self.sent)
        for name in pod_groups:
            if (beginning in name or name == self.gang.name) and self.is_called(name):
                yield name

    def groups_of_copy(self, copy: int, running: Sequence[str]) -> Sequence[str]:
        """Returns which of the running PodGroups is that of a copy, counted from 0; none if the copy is pending."""
        if self.order is None or self.sent.kind != SET.kind:
            return running[copy : copy + 1]
        pattern = re.compile(_pod_gang_group(self.order.names[copy]))
        return [group for group in running if pattern.fullmatch(group)]


_KEPT = 16
"""Characters of a name that are left when it is cut to a label."""


def beginning_of(work: Submission) -> str:
    """Returns a text that each PodGroup has in its name, if it is made for the work alone."""
    return fold(work.name).partition(".")[0][:_KEPT]


def _pod_gang_group(pod_gang: str) -> str:
    """Returns the pattern of the PodGroup's name of one of Grove's gangs."""
    return f"(pg-{re.escape(pod_gang)}-{_UID}|{re.escape(pod_gang)})"


def _name(unit: Part) -> str | None:
    return unit.name if isinstance(unit, SubGroup) else None


@json_fields("kind=sent.kind name=sent.name reason")
@dataclass(frozen=True, slots=True)
class LeftOut:
    """Work without a verdict or a placement."""

    sent: Submission
    reason: str
    orders: tuple[GangToPlace, ...] = ()
    """The gang in each order in which KAI may take its pods, if only that order is unknown."""

    @property
    def text(self) -> str:
        """The submission and the reason, in one line."""
        return f"{self.sent.kind} {self.sent.name}: {self.reason}"


def unplaced(fleet: Fleet, submissions: Iterable[Submission]) -> Iterator[GangToPlace | LeftOut]:
    """Yields the gangs of submissions in the same order, a shared gang once. All backends must have KAI."""
    shared: set[int] = set()
    for sent in submissions:
        together = sent.shared_gang if isinstance(sent, FleetWorkload) else None
        if id(together) in shared:
            continue
        if together is not None:
            shared.add(id(together))
        try:
            gangs = list(_gangs(fleet, sent))
        except _Unknown as error:
            yield LeftOut(sent, str(error), error.orders)
        else:
            release = sent.pool.backend.release or NEWEST_RELEASE
            settings = fleet.settings_of(sent.pool)
            yield from (replace(gang, release=release, settings=settings, delay=_delay(sent)) for gang in gangs)


def _without_levels(unit: Unit) -> Unit:
    """Returns a unit as a scheduler without the plugin topology sees it."""
    return replace(unit, required=None, preferred=None, below=tuple(map(_without_levels, unit.below)))


def _delay(sent: Submission) -> int:
    """Returns the preemption delay of a gang in nanoseconds; 0 if it has none."""
    text = None
    if isinstance(sent, FleetWorkload):
        text = wait(sent, PREEMPTION_DELAY, Feature.PREEMPTION_DELAY)
    elif isinstance(sent, SubmittedPodGroup) and sent.pool.backend.has(Feature.PREEMPTION_DELAY):
        text = sent.declared.spec.spec.preemptionDelay
    return max(0, times.nanoseconds(text) or 0) if text else 0


class _Unknown(Exception):  # noqa: N818 - it ends one answer, and is no failure
    """Raised with the reason why a submission has no answer."""

    def __init__(self, reason: str, orders: tuple[GangToPlace, ...] = ()) -> None:
        super().__init__(reason)
        self.orders = orders


def _gangs(fleet: Fleet, sent: Submission) -> Iterator[GangToPlace]:
    if isinstance(sent, FleetWorkflow):
        return _of_workflow(fleet, sent)
    if isinstance(sent, FleetWorkload):
        return _of_workload(fleet, sent)
    if isinstance(sent, SubmittedSet):
        return _of_set(fleet, sent)
    assert isinstance(sent, SubmittedPodGroup)
    return _of_pod_group(fleet, sent)


def _of_workflow(fleet: Fleet, workflow: FleetWorkflow) -> Iterator[GangToPlace]:
    shapes: dict[str, PodShape] = {}
    for group, gang in zip(workflow.groups, gangs_of_workflow(fleet, workflow), strict=True):
        for unit in (gang, *gang.leaves):
            for task in unit.members:
                shapes[task.name] = _shape(task.spec, (), task.annotations, (workflow.namespace, task.labels))
        units = (gang, *gang.leaves)
        needed = {_name(unit): tuple(shapes[task.name] for task in unit.members) for unit in units}
        _check_neighbours(shape for unit_shapes in needed.values() for shape in unit_shapes)
        yield GangToPlace(workflow, gang, workflow.pool.levels, needed, _exactly(gang.name), group)


def _of_workload(fleet: Fleet, workload: FleetWorkload) -> Iterator[GangToPlace]:
    if workload.shared_gang is not None:
        members = [joined for joined in fleet.workloads if joined.shared_gang is workload.shared_gang]
        _check(*members)
        needed: dict[str | None, tuple[PodShape, ...]] = {}
        for joined in (joined_workload for joined_workload in members if joined_workload.pods):
            needed_shapes = _needed_of(fleet, joined, own_gang(joined))
            needed.update(
                {
                    member_name(joined) if name is None else name: shapes
                    for name, shapes in needed_shapes.items()
                    if shapes
                }
            )
        gang = shared_gang(members)
        yield _one(fleet, workload, gang, needed, _exactly(gang.name))
        return
    for of_pod_group in podgrouper.by_pod_group(workload):
        _check(of_pod_group)
        gang = own_gang(of_pod_group)
        of_kai = podgrouper.is_made_by_kai(of_pod_group)
        pods = sum(replica_type.replicas for replica_type in of_pod_group.replicas)
        copies = workload.copies if podgrouper.is_one_pod_group(of_pod_group) else pods
        named = _made(gang.name, _middle(of_pod_group)) if of_kai else _exactly(gang.name)
        needed_shapes = _needed_of(fleet, of_pod_group, gang)
        to_place = _one(
            fleet, of_pod_group, gang, needed_shapes, named, copies, _further(fleet, of_pod_group, gang, needed_shapes)
        )
        yield replace(to_place, order=_order_of_parts(of_pod_group, copies))


def _order_of_parts(workload: FleetWorkload, copies: int) -> GangOrder | None:
    """Returns the order among the gangs of a workload that has a gang for each replica type."""
    start = workload.declared.spec.page.start
    before = start.parts_before(workload.declared.spec.document)
    if not any(before.values()) or len(workload.replicas) != 1:
        return None
    name = workload.replicas[0].name
    return GangOrder((name,) * copies, (tuple(before.get(name, ())),) * copies, start.holds_back)


def _check(*workloads: FleetWorkload) -> None:
    """Raises _Unknown if KAI's gang for the workloads cannot be predicted, or if KAI would place nothing."""
    types = [(workload, replica_type) for workload in workloads for replica_type in workload.replicas]
    if not all(map(podgrouper.is_predicted, workloads)) or any(
        replica_type.template is None for _, replica_type in types
    ):
        raise _Unknown("its file does not say what its pods are, or which PodGroup they get")
    if not any(workload.pods for workload in workloads):
        raise _Unknown("it has no pods")
    if not all(map(podgrouper.lists_parts, workloads)):
        raise _Unknown("its SubGroups are too many to be listed")
    if any(map(podgrouper.asks_for_more, workloads)):
        raise _Unknown("KAI does not make the segments that it asks for")
    for unmet in chain.from_iterable(map(podgrouper.waits, workloads)):
        raise _Unknown(f"it waits for itself: {unmet.reason}")
    for workload, replica_type in types:
        never = podgrouper.never_runs(workload, replica_type)
        if never is not None:
            raise _Unknown(never[0])
        if podgrouper.is_refused(workload, replica_type):
            raise _Unknown("KAI's own webhook refuses its PodGroup")


def _middle(workload: FleetWorkload) -> str:
    """Returns the pattern between base name and UID in the name of a PodGroup that KAI makes."""
    if not podgrouper.is_one_pod_group(workload):
        replica_suffix = f"(-{re.escape(workload.replicas[0].name)})?" if podgrouper.row(workload).names_part else ""
        return f"{replica_suffix}(-[a-z0-9]+){{1,2}}"
    return podgrouper.row(workload).name_middle


def _shapes(fleet: Fleet, workload: FleetWorkload) -> dict[str, PodShape]:
    """Returns the shapes by replica type."""
    manifest = demanded(workload.declared.origin, demands(fleet, workload))
    return {
        replica_type.name: replace(
            _shape(
                replica_type.pod_spec(manifest),
                (),
                replica_type.annotations,
                (workload.namespace, replica_type.template.metadata.labels if replica_type.template else {}),
            ),
            name=f" {replica_type.name}",
        )
        for replica_type in workload.replicas
    }


def _further(fleet: Fleet, workload: FleetWorkload, gang: Gang, needed: Needed) -> Needed:
    """Returns the pods of a workload's own gang beyond the needed ones."""
    if not podgrouper.is_one_pod_group(workload) or workload.pods > MAX_FURTHER:
        return {}
    shapes_by_unit: dict[str | None, list[PodShape]] = {}
    shapes = _shapes(fleet, workload)
    for batch in batches(workload, gang):
        shapes_by_unit.setdefault(batch.sub_group, []).extend([shapes[batch.template.name]] * batch.pods)
    return {
        name: tuple((Counter(unit_shapes) - Counter(needed.get(name, ()))).elements())
        for name, unit_shapes in shapes_by_unit.items()
    }


def _needed_of(fleet: Fleet, workload: FleetWorkload, gang: Gang) -> Needed:
    """Returns the pods that a workload's own gang needs, by SubGroup."""
    shapes = _shapes(fleet, workload)
    if not gang.sub_groups:
        one_each = not podgrouper.is_one_pod_group(workload)
        counts = [1] if one_each else podgrouper.minimums(workload)
        pairs = zip(workload.replicas, counts, strict=True)
        gang_shapes = tuple(shapes[member.name] for member, count in pairs for _ in range(count))
        return {None: gang_shapes or tuple(shapes.values())[:1]}  # KAI counts a minimum of 0 as 1
    backend = workload.pool.backend
    return {
        leaf.name: _least(leaf, backend) * (shapes[replica_type.name],)
        for leaf, replica_type in _leaves(workload, gang)
    }


def _least(leaf: SubGroup, backend: FleetBackend) -> int:
    return max(leaf.minimum or 0, 0 if backend.has(Feature.ZERO_MIN_MEMBER) else min(1, leaf.pods))


def _leaves(workload: FleetWorkload, gang: Gang) -> Iterator[tuple[SubGroup, ReplicaType]]:
    """Yields the SubGroups that KAI waits for, each with the replica type of its pods."""
    pairs = list(leaves(workload, gang))
    if gang.needed_parts is None:
        yield from pairs
        return
    tops = dict.fromkeys(leaf.parent or leaf.name for leaf, _ in pairs)
    needed = (list(tops) if podgrouper.is_in_order(workload) else sorted(tops))[: gang.needed_parts]
    yield from (pair for pair in pairs if (pair[0].parent or pair[0].name) in needed)


def _of_set(fleet: Fleet, submitted: SubmittedSet) -> Iterator[GangToPlace]:
    """Yields the gangs of a PodCliqueSet, one of each kind with the number of equal gangs."""
    clique_set = submitted.set
    if not clique_set.is_previewed:
        raise _Unknown("its gangs are too many to be listed")
    if clique_set.spec.asks and clique_set.topology is None:
        raise _Unknown("its topology is not declared")
    manifest = demanded(clique_set.declared.origin, demands(fleet, submitted))
    shapes = {
        clique.name: _shape(
            manifest,
            (*clique.path, "spec", "podSpec"),
            clique.spec.annotations,
            (submitted.namespace, clique.spec.labels),
        )
        for clique in clique_set.cliques
    }
    of_cliques = dict(clique_set.pod_cliques)
    kinds: dict[object, list[Gang]] = {}
    for gang in gangs_of_set(clique_set):
        cliques = tuple(of_cliques[leaf.name].name for leaf in gang.leaves if leaf.name in of_cliques)
        kinds.setdefault((cliques, gang.pods), []).append(gang)
    for gangs in kinds.values():
        gang = gangs[0]
        needed: Needed = {
            leaf.name: (leaf.minimum or 0) * (shapes[of_cliques[leaf.name].name],)
            for leaf in gang.leaves
            if leaf.name in of_cliques
        }
        names = "|".join(re.escape(set_gang.name) for set_gang in gangs)
        named = re.compile(f"(pg-({names})-{_UID}|{names})")
        further: Needed = {
            leaf.name: max(0, leaf.pods - (leaf.minimum or 0)) * (shapes[of_cliques[leaf.name].name],)
            for leaf in gang.leaves
            if leaf.name in of_cliques and gang.pods <= MAX_FURTHER
        }
        to_place = _one(fleet, submitted, gang, needed, named, len(gangs), further)
        order = GangOrder(
            tuple(set_gang.name for set_gang in gangs),
            tuple(base_gangs_before(clique_set, set_gang) for set_gang in gangs),
            SET.page.start.holds_back,
        )
        yield replace(to_place, order=order)


def _of_pod_group(fleet: Fleet, submitted: SubmittedPodGroup) -> Iterator[GangToPlace]:
    """Yields the gang of a hand-written PodGroup with its declared Pods."""
    group = submitted.group
    gang = gang_of_pod_group(fleet, group)
    shapes_by_unit: dict[str, list[PodShape]] = {}
    for pod in group.pods:
        manifest = demanded(pod.origin, member_demands(fleet, group, pod.origin))
        metadata = pod.spec.metadata
        shape = _shape(manifest, ("spec",), metadata.annotations, (submitted.namespace, metadata.labels))
        shape = replace(shape, name=metadata.name)
        shapes_by_unit.setdefault(sub_group_of(pod), []).append(shape)
    needed: dict[str | None, tuple[PodShape, ...]] = {}
    further: dict[str | None, tuple[PodShape, ...]] = {}
    orders: dict[str | None, list[tuple[PodShape, ...]]] = {}
    unknown = ""
    for name, least in _waited_for(submitted, gang).items():
        shapes = shapes_by_unit.get(name, [])
        if len(shapes) < least:
            declared_pods = plural(len(shapes), "Pod")
            raise _Unknown(
                f"of {name} it needs {least}, and {declared_pods} of it {'is' if len(shapes) == 1 else 'are'} here"
            )
        if least < len(shapes) and len(set(shapes)) > 1:
            orders[name if gang.sub_groups else None] = _orders(shapes, least)
            unknown = f"the Pods of {name} differ, and only the cluster knows which of them come first"
        needed[name if gang.sub_groups else None] = tuple(shapes[:least])
        further[name if gang.sub_groups else None] = tuple(shapes[least:])
    gang = replace(gang, pods=len(group.pods), gpus=submitted.gpus)
    one_gang, named = partial(_one, fleet, submitted, gang), _exactly(gang.name)
    whole_gang = one_gang(needed, named, further=further)
    if unknown:
        is_known = prod(map(len, orders.values())) <= MAX_ORDERS
        each = (dict(zip(orders, chosen, strict=True)) for chosen in product(*orders.values()))
        tried = (one_gang({**needed, **order}, named, further=further) for order in each) if is_known else ()
        raise _Unknown(unknown, tuple(tried))
    yield whole_gang


def _orders(shapes: Sequence[PodShape], count: int) -> list[tuple[PodShape, ...]]:
    """Returns the different choices of the first ``count`` pods; at most ``MAX_ORDERS`` + 1 choices."""
    orders: list[tuple[PodShape, ...]] = [()]
    for _ in range(count):
        longer = [(*order, shape) for order in orders for shape in dict.fromkeys(shapes) if _has(shapes, order, shape)]
        orders = longer[: MAX_ORDERS + 1]
    return orders


def _has(shapes: Sequence[PodShape], taken: Sequence[PodShape], shape: PodShape) -> bool:
    return taken.count(shape) < shapes.count(shape)


def _waited_for(submitted: SubmittedPodGroup, gang: Gang) -> dict[str, int]:
    """Returns the pods that each SubGroup needs. A parent needs as many children as it asks for, by name, among
    children that need pods. A parent that needs no child gets no pods.
    """
    minimums = minimums_of(submitted.group)
    spec = submitted.group.declared.spec.spec
    if not gang.sub_groups:
        return minimums
    min_sub_groups: dict[str | None, int | None] = {unit.name: unit.minSubGroup for unit in spec.subGroups}
    min_sub_groups[None] = spec.minSubGroup

    units: list[Part] = [gang]
    for above in units:
        units += gang.below(above)  # KAI does not mind whether a child comes before its parent
    needing: dict[str | None, bool] = {}
    for gang_part in reversed(units):
        below = gang.below(gang_part)
        content = sum(not needing[unit.name] for unit in below)
        least = min_sub_groups[_name(gang_part)]
        is_leaf = isinstance(gang_part, SubGroup) and not below
        needing[_name(gang_part)] = (
            minimums[gang_part.name] > 0 if is_leaf else content < (len(below) if least is None else least)
        )
    waited: dict[str, int] = {}
    waiting: list[Part] = [gang]
    while waiting:
        gang_part = waiting.pop()
        below = gang.below(gang_part)
        if isinstance(gang_part, SubGroup) and not below:
            waited[gang_part.name] = minimums[gang_part.name]
        elif needing[_name(gang_part)]:
            further_parts = sorted((unit for unit in below if needing[unit.name]), key=lambda unit: unit.name)
            waiting += further_parts[: min_sub_groups[_name(gang_part)]]
    return waited


def _one(
    fleet: Fleet,
    sent: Submission,
    gang: Gang,
    needed: Needed,
    named: re.Pattern[str],
    copies: int = 1,
    further: Needed = MappingProxyType({}),
) -> GangToPlace:
    backend = sent.pool.backend
    if not backend.has(Feature.SUBGROUP_TREE):
        gang, needed, further = replace(gang, sub_groups=()), _together(needed), _together(further)
    if not backend.has(Feature.TOPOLOGY) and any(unit.constraint for unit in (gang, *gang.sub_groups)):
        raise _Unknown("the release of KAI knows no topologies")
    _check_neighbours(shape for shapes in (*needed.values(), *further.values()) for shape in shapes)
    if not any(needed.values()):
        raise _Unknown("it starts with no pod at all: KAI takes them one by one")
    if copies > MAX_COPIES:
        raise _Unknown(f"it has {copies} gangs, and no more than {MAX_COPIES} are looked at")
    return GangToPlace(sent, gang, _levels(fleet, sent, gang), needed, named, None, copies, further=further)


def _together(needed: Needed) -> Needed:
    """Returns the pods of all SubGroups as pods in none."""
    return {None: tuple(shape for shapes in needed.values() for shape in shapes)}


def _levels(fleet: Fleet, sent: Submission, gang: Gang) -> tuple[Level, ...]:
    """Returns the levels of the one topology that a gang names; of the pool's topology if the gang names none."""
    constraints = [unit.constraint for unit in (gang, *gang.sub_groups) if unit.constraint is not None]
    names = {constraint.topology for constraint in constraints}
    if not names:
        return sent.pool.levels
    if len(names) > 1:
        raise _Unknown(f"its parts name {len(names)} topologies")
    (name,) = names
    backend = sent.pool.backend
    candidates = (candidate for candidate in fleet.topologies if candidate.backend in (None, backend))
    topology_of_gang = next((candidate for candidate in candidates if candidate.name_on(backend) == name), None)
    if topology_of_gang is None:
        raise _Unknown(f"its topology {name} is not declared" if name else "its topology is not known")
    known_labels = {level.label for level in topology_of_gang.levels}
    if any(
        label is not None and label not in known_labels for constraint in constraints for label in constraint.labels
    ):
        raise _Unknown(f"it asks for a level that topology {name} does not have")
    return topology_of_gang.levels


def selectors_of(nodes: Iterable[NodeResources]) -> dict[str, Selector]:
    """Returns the selectors of pods that running pods keep apart from, by the name of a resource for each."""
    names = {name for node in nodes for pod in node.pods for name in pod.asks if name.startswith(APART)}
    return {name: selector_of(name) for name in sorted(names)}


def beside_running_pods(gang: GangToPlace, selectors: Mapping[str, Selector]) -> GangToPlace:
    """Returns a gang whose pods keep out of the way of running pods that may have none like them on their node."""
    if not selectors:
        return gang

    def met(shape: PodShape) -> PodShape:
        asks = {name: 1 for name, selector in selectors.items() if selector.matches(*shape.labels)}
        return replace(shape, asks=tuple(sorted({**asks, **dict(shape.asks)}.items())))

    needed, further = (
        {name: tuple(map(met, shapes)) for name, shapes in pods.items()} for pods in (gang.needed, gang.further)
    )
    return replace(gang, needed=needed, further=further)


def _check_neighbours(shapes: Iterable[PodShape]) -> None:
    """Raises _Unknown if a pod keeps apart from other pods of its gang that have no such rule."""
    distinct = {(shape, frozenset(shape.labels[1].items())): shape for shape in shapes}.values()
    for shape in distinct:
        for selector in shape.rules.avoided:
            if any(selector.matches(*other.labels) and selector not in other.rules.avoided for other in distinct):
                raise _Unknown("a pod of it has a rule about pods beside it (podAntiAffinity)")


def _shape(
    manifest: Any, path: KeyPath, annotations: Mapping[str, str], labels: tuple[str, Mapping[str, str]]
) -> PodShape:
    """Returns the shape of a pod; ``labels`` holds its namespace and its labels."""
    for step in path:
        manifest = manifest[step]
    try:
        reason, shape = unpredicted(manifest, annotations, *labels), shape_of(manifest, *labels)
    except NOT_KUBERNETES as error:
        raise _Unknown("Kubernetes would not take its pods") from error
    if reason:
        raise _Unknown(f"a pod of it {reason}")
    return shape


def _exactly(name: str) -> re.Pattern[str]:
    return re.compile(re.escape(name))


def _made(name: str, middle: str) -> re.Pattern[str]:
    """Returns a pattern for names from KAI's podgrouper: base name, UID of the owner, and suffix."""
    return re.compile(f"{re.escape(name)}{middle}-{_UID}(-.+)?")
