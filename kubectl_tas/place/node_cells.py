"""Prepares gangs and nodes for ``fit``. Levels become depths, and equal pods and equal nodes are counted together, so
that thousands of nodes stay small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, lru_cache

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import GPU, GPU_COUNT
from kubectl_tas.facts.kai import NEWEST_RELEASE, Release
from kubectl_tas.gangs.gang import Gang, Part, SubGroup
from kubectl_tas.model.scheduler_settings import SchedulerSettings, default_settings
from kubectl_tas.place.neighbours import capacity_of
from kubectl_tas.place.node_resources import CPU, PODS, Domain, NodeResources, Vector, domain_of
from kubectl_tas.place.shapes import PodShape, Rules


@dataclass(frozen=True)
class Unit:
    """A gang, or a SubGroup."""

    name: str
    required: int | None = None
    """Depth of the level that the pods must share, 0 for the coarsest; None if the unit requires no level."""
    preferred: int | None = None
    pods: tuple[int, ...] = ()
    """Shape of each pod that is in no unit below."""
    below: tuple[Unit, ...] = ()

    @property
    def is_constrained(self) -> bool:
        """Whether the unit requires or prefers a level."""
        return self.required is not None or self.preferred is not None

    @cached_property
    def all_pods(self) -> tuple[int, ...]:
        """Shapes of all pods in the unit and below."""
        return (*self.pods, *(pod for unit in self.below for pod in unit.all_pods))

    @property
    def units(self) -> Iterator[Unit]:
        """The unit and all units below, parents first."""
        yield self
        for unit in self.below:
            yield from unit.units


def ranked(unit: Unit, name: str = "") -> Unit:
    """Renames a unit and its parts by their rank in KAI's order, so that similar gangs become equal."""
    ranks = {child.name: rank for rank, child in enumerate(sorted(unit.below, key=lambda child: child.name))}
    below = tuple(ranked(child, f"{name}/{ranks[child.name]:06}") for child in unit.below)
    return replace(unit, name=name, below=below)


@dataclass(frozen=True)
class PlacementRequest:
    """A gang to place."""

    unit: Unit
    shapes: tuple[PodShape, ...]
    release: Release = NEWEST_RELEASE
    """Release of the scheduler that places the gang."""
    settings: SchedulerSettings = field(default_factory=default_settings, hash=False)
    """Settings of that scheduler."""

    def times(self, copies: int) -> PlacementRequest:
        """Returns several copies of the gang, which KAI places one after the other."""
        if copies == 1:
            return self
        return replace(self, unit=Unit(self.unit.name, below=tuple(_copy(self.unit, n) for n in range(copies))))


def _copy(unit: Unit, number: int) -> Unit:
    """Returns a copy of a unit, with a name that sorts by the copy's number."""
    return replace(unit, name=f"{number:04}/{unit.name}", below=tuple(_copy(child, number) for child in unit.below))


def without_copy(name: str) -> str:
    """Returns the name of a unit without the number of its copy."""
    return name.rpartition("/")[2]


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """Properties that nodes share if they are equal for a gang."""

    free: tuple[int, ...]
    """Free amounts, by resource of the room."""
    admits: tuple[bool, ...]
    """Whether pods may use the nodes, by shape."""
    has_gpus: bool
    idle: tuple[int, ...] = ()
    """The part of ``free`` that is free already; pods that go still hold the rest. () means that all is free."""
    whole: tuple[int, int] = (0, 0)
    """GPUs of a node and its thousandths of a core, by which KAI spreads pods; zeros if it spreads none."""


@dataclass(frozen=True, eq=False)
class LeafDomain:
    """The nodes of a finest domain, or the nodes outside of the topology; compared by identity."""

    domain: Domain | None
    """The domain; None stands for outside of the topology."""
    nodes: tuple[tuple[Cell, tuple[str, ...]], ...]
    """Cells with the names of their nodes; all sorted."""

    @cached_property
    def cells(self) -> tuple[tuple[Cell, int], ...]:
        """Cells with their number of nodes."""
        return tuple((cell, len(names)) for cell, names in self.nodes)

    @cached_property
    def contents(self) -> dict[object, tuple[int, tuple[int, ...]]]:
        """Cache of counts for this leaf, by what was counted."""
        return {}


@dataclass(frozen=True)
class Room:
    """The nodes, as pods of a gang can use them."""

    levels: tuple[str, ...]
    """Node labels of the levels, coarsest first."""
    resources: tuple[str, ...]
    asks: tuple[tuple[int, ...], ...]
    """Amounts that a pod asks for, by shape and resource."""
    leaves: tuple[LeafDomain, ...]
    release: Release = NEWEST_RELEASE
    """Release of the scheduler."""
    settings: SchedulerSettings = field(default_factory=default_settings, hash=False)
    """Settings of the scheduler."""

    def takes(self, cell: Cell, shape: int) -> int:
        """Returns how many pods of a shape one node of a cell has room for."""
        return multiples(self.asks[shape], cell.free) if cell.admits[shape] else 0


def multiples(requested: Sequence[int], free: Sequence[int]) -> int:
    """Returns how many times the asked amounts fit into the free ones."""
    return max(0, min(available // amount for amount, available in zip(requested, free, strict=True) if amount))


def placement_request_of(
    gang: Gang, levels: Sequence[str], needed: Mapping[str | None, Sequence[PodShape]]
) -> PlacementRequest:
    """Returns the units and shapes of a gang. ``levels`` holds the node labels of its topology, coarsest first, and
    ``needed`` the pods by SubGroup; pods in no SubGroup are under None.
    """
    shapes: dict[PodShape, int] = {}
    depths = {label: depth for depth, label in enumerate(levels)}

    def unit(group: Part) -> Unit:
        unit_shapes = needed.get(group.name if isinstance(group, SubGroup) else None, ())
        pods = tuple(shapes.setdefault(shape, len(shapes)) for shape in unit_shapes)
        required, preferred = group.constraint.labels if group.constraint else (None, None)
        below = tuple(map(unit, gang.below(group)))
        return Unit(
            group.name,
            depths[required] if required else None,
            depths[preferred] if preferred else None,
            pods,
            below,
        )

    return PlacementRequest(unit(gang), tuple(shapes))


def room_for(placement_request: PlacementRequest, nodes: tuple[NodeResources, ...], levels: Sequence[str]) -> Room:
    """Returns the room that nodes have for pods of these shapes."""
    view = _view(placement_request, levels)
    return _room(placement_request, view, _leaves(nodes, view))


class Space:
    """Nodes on which gangs are placed one after the other, with the resources that are still free."""

    def __init__(self, nodes: Sequence[NodeResources]) -> None:
        self.nodes = {node.name: node for node in nodes}
        self._free = {node.name: dict(node.free) for node in nodes}
        self._idle: dict[str, dict[str, int]] = {}
        """Free resources of nodes that have changed since ``keep_idle``, before that."""
        self._keeps_idle = False
        self.free_gpus = sum(max(0, free.get(GPU, 0)) for free in self._free.values())
        """Free GPUs of all nodes."""
        self._changed: list[str] = []
        """Names of changed nodes, one entry for each change."""
        self._views: dict[_View, _ViewedNodes] = {}

    def room_for(self, placement_request: PlacementRequest, levels: Sequence[str]) -> Room:
        """Returns the room that the nodes have now for pods of these shapes."""
        view = _view(placement_request, levels)
        seen = self._views.get(view)
        if seen is None:
            seen = self._views[view] = _ViewedNodes(view, self.nodes.values())
        seen.update(self._changed, self._free, self._idle)
        return _room(placement_request, view, seen.leaves())

    def add(self, nodes: Sequence[NodeResources]) -> None:
        """Adds nodes."""
        for node in nodes:
            self.nodes[node.name], self._free[node.name] = node, dict(node.free)
        for seen in self._views.values():
            seen.add(nodes)

    def remove(self, nodes: Sequence[NodeResources]) -> None:
        """Removes nodes from which nothing was taken."""
        for node in nodes:
            del self.nodes[node.name], self._free[node.name]
        for seen in self._views.values():
            seen.remove(nodes)

    def take(self, node: str, requested: Vector) -> None:
        """Takes a pod's requests from a node, even if they are more than the node has free."""
        self._change(node, requested, -1)

    def give_back(self, node: str, requested: Vector) -> None:
        """Gives a pod's requests back to a node."""
        self._change(node, requested, 1)

    def keep_idle(self, *, is_kept: bool) -> None:
        """Sets whether resources that are given back from now on are free only once the pods there have gone."""
        self._changed += self._idle
        self._idle, self._keeps_idle = {}, is_kept

    @property
    def version(self) -> int:
        """A number that grows with each change."""
        return len(self._changed)

    def free_of(self, node: str, resource: str) -> int:
        """Returns the free amount of a resource on a node."""
        return self._free[node].get(resource, 0)

    def idle_of(self, node: str, resource: str) -> int:
        """Returns the amount of a resource that no pod held at ``keep_idle``; without that the free amount."""
        return self._idle.get(node, self._free[node]).get(resource, 0)

    def now(self) -> tuple[NodeResources, ...]:
        """Returns the nodes with their current free resources."""
        return tuple(replace(node, free=dict(self._free[name])) for name, node in self.nodes.items())

    def has(self, node: str, requested: Vector) -> bool:
        """Whether a node has these resources free."""
        return all(self._free[node].get(name, capacity_of(name)) >= amount for name, amount in requested.items())

    def _change(self, node: str, requested: Vector, sign: int) -> None:
        free = self._free[node]
        if self._keeps_idle and node not in self._idle:
            self._idle[node] = dict(free)
        self.free_gpus -= max(0, free.get(GPU, 0))
        for name, amount in requested.items():
            free[name] = free.get(name, capacity_of(name)) + sign * amount
        self.free_gpus += max(0, free.get(GPU, 0))
        self._changed.append(node)


def _resources(placement_request: PlacementRequest) -> tuple[str, ...]:
    return tuple(sorted({CPU, GPU, PODS} | {name for shape in placement_request.shapes for name, _ in shape.asks}))


def _view(placement_request: PlacementRequest, levels: Sequence[str]) -> _View:
    rules = tuple(shape.rules for shape in placement_request.shapes)
    return _View(tuple(levels), _resources(placement_request), rules, placement_request.settings.spreads)


def _gpu_count(node: NodeResources) -> int:
    """Returns a node's GPUs as KAI counts them to spread pods: by the label of the GPU operator, if there is one."""
    label = node.labels.get(GPU_COUNT, "")
    return int(label) if label.isascii() and label.isdecimal() else node.allocatable.get(GPU, 0)


@dataclass(frozen=True, slots=True)
class _View:
    """Properties of nodes that matter for a gang. Most gangs of a pool share one view."""

    levels: tuple[str, ...]
    resources: tuple[str, ...]
    rules: tuple[Rules, ...]
    """Rules of each shape."""
    spreads: bool

    def cell(self, node: NodeResources, free: Vector) -> Cell:
        """Returns the cell of a node with these free resources."""
        refused = {rule: bool(rule.refusal(node)) for rule in dict.fromkeys(self.rules)}
        admits = tuple(not refused[rule] for rule in self.rules)
        whole = (_gpu_count(node), node.allocatable.get(CPU, 0)) if self.spreads else (0, 0)
        return Cell(self.amounts(free), admits, node.allocatable.get(GPU, 0) > 0, whole=whole)

    def amounts(self, free: Vector) -> tuple[int, ...]:
        """Returns the amounts of the view's resources, in order."""
        return tuple(free.get(name, capacity_of(name)) for name in self.resources)


def _room(placement_request: PlacementRequest, view: _View, leaves: tuple[LeafDomain, ...]) -> Room:
    asks = tuple(view.amounts(dict(shape.asks)) for shape in placement_request.shapes)
    return Room(view.levels, view.resources, asks, leaves, placement_request.release, placement_request.settings)


@lru_cache(maxsize=256)
def _leaves(nodes: tuple[NodeResources, ...], view: _View) -> tuple[LeafDomain, ...]:
    return _ViewedNodes(view, nodes).leaves()


class _ViewedNodes:
    """The nodes of a view at one point in time."""

    def __init__(self, view: _View, nodes: Iterable[NodeResources]) -> None:
        self._view, self._until = view, 0
        self._places: dict[str, tuple[Domain | None, Cell]] = {}
        self._found: dict[Domain | None, dict[Cell, list[str]]] = {}
        self._leaves: dict[Domain | None, LeafDomain] = {}
        self.add(nodes)

    def add(self, nodes: Iterable[NodeResources]) -> None:
        """Adds nodes."""
        for node in nodes:
            domain, cell = domain_of(node, self._view.levels), self._view.cell(node, node.free)
            self._places[node.name] = domain, cell
            self._found.setdefault(domain, {}).setdefault(cell, []).append(node.name)
            self._leaves.pop(domain, None)

    def remove(self, nodes: Iterable[NodeResources]) -> None:
        """Removes nodes."""
        for node in nodes:
            domain, cell = self._places.pop(node.name)
            self._leave(domain, cell, node.name)
            if not self._found[domain]:
                del self._found[domain]

    def _leave(self, domain: Domain | None, cell: Cell, node: str) -> None:
        cells = self._found[domain]
        cells[cell].remove(node)
        if not cells[cell]:
            del cells[cell]
        self._leaves.pop(domain, None)

    def update(self, changed: Sequence[str], free: Mapping[str, Vector], idle: Mapping[str, Vector]) -> None:
        """Updates the cells of nodes that changed since the last update."""
        for name in set(changed[self._until :]):
            domain, cell = self._places[name]
            amounts = self._view.amounts(free[name])
            already = self._view.amounts(idle[name]) if name in idle else ()
            if (amounts, already) == (cell.free, cell.idle):
                continue
            after = Cell(amounts, cell.admits, cell.has_gpus, already, cell.whole)
            self._leave(domain, cell, name)
            self._found[domain].setdefault(after, []).append(name)
            self._places[name] = domain, after
        self._until = len(changed)

    def leaves(self) -> tuple[LeafDomain, ...]:
        """Returns the leaves, sorted by domain, with the nodes outside last."""
        for domain in self._found.keys() - self._leaves.keys():
            nodes = sorted((cell, tuple(sorted(names))) for cell, names in self._found[domain].items())
            self._leaves[domain] = LeafDomain(domain, tuple(nodes))
        inside = sorted(domain for domain in self._found if domain is not None)
        return tuple(self._leaves[domain] for domain in (*inside, *([None] if None in self._found else [])))


@lru_cache(maxsize=256)
def unusable(nodes: tuple[NodeResources, ...], levels: tuple[str, ...], rules: tuple[Rules, ...]) -> Mapping[str, int]:
    """Counts nodes that no pod with any of these rules can use, by reason, the most frequent first. With levels, counts
    nodes outside of the topology too.
    """
    counts: Counter[str] = Counter()
    for node in nodes:
        refusals = [rule.refusal(node) for rule in rules]
        if all(refusals):
            counts[refusals[0]] += 1
        elif domain_of(node, levels) is None:
            missing = next(label for label in levels if label not in node.labels)
            counts[f"outside of the topology, without the label {missing}"] += 1
    return dict(sorted(counts.items(), key=lambda reason_and_count: (-reason_and_count[1], reason_and_count[0])))
