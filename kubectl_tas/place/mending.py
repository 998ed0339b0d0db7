"""Finds the fewest nodes to mend so that KAI places a gang.

A node is mended in one of two ways: all pods go except pods that belong to the node, or its cordon and taints go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import shortened
from kubectl_tas.place import kai_allocate, solver
from kubectl_tas.place.feasibility import Existence, searched
from kubectl_tas.place.gangs_to_place import GangToPlace
from kubectl_tas.place.node_cells import Cell, PlacementRequest, Room, Space, ranked, room_for
from kubectl_tas.place.node_resources import NodeResources, free_of
from kubectl_tas.place.solver import Mended
from kubectl_tas.report.text import plural

MAX_SPARED = 100
"""Most nodes that the search tries to leave out one by one."""
MAX_TRIED = 8
"""Most of the smallest node sets for which the search tries whether KAI finds a placement."""
OF_KUBERNETES = "node.kubernetes.io/"
"""Prefix of taints that Kubernetes sets and removes itself."""
_UNSCHEDULABLE = f"{OF_KUBERNETES}unschedulable"
"""Taint that a cordon adds."""
_NAMED = 6
"""Most nodes or PodGroups named in a line."""


@json_fields("kind text nodes pods fewer")
@dataclass(frozen=True, slots=True)
class PlacementChange:
    """A change that lets KAI place the gang."""

    kind: str
    """``names``, ``preferred``, ``level``, ``tasks`` or ``copies`` for the file; ``admit`` or ``free`` for nodes."""
    text: str
    nodes: tuple[str, ...] = ()
    """Names of the nodes to change."""
    pods: tuple[str, ...] = ()
    """Pods that have to go, as NAMESPACE/NAME."""
    fewer: int = 0
    """Number of pods or copies to remove from the file."""


def mending(
    gang: GangToPlace, placement_request: PlacementRequest, nodes: tuple[NodeResources, ...]
) -> Iterator[PlacementChange]:
    """Yields the fewest nodes to open to pods again, and the fewest to free, if either is enough."""
    by_name = {node.name: node for node in nodes}
    for kind, mended in (("admit", admitting(nodes)), ("free", freed(nodes))):
        names = enough(
            PlacementRequest(ranked(placement_request.unit), placement_request.shapes), nodes, mended, gang.labels
        )
        chosen = [by_name[name] for name in names]
        if kind == "admit" and names:
            yield PlacementChange(kind, _admit(chosen), names)
        elif names:
            pods = tuple(pod.key for node in chosen for pod in node.pods if not pod.is_of_node)
            yield PlacementChange(kind, _free(chosen), names, pods)


@lru_cache(maxsize=8)
def admitting(nodes: tuple[NodeResources, ...]) -> tuple[NodeResources, ...]:
    """Returns the nodes without cordons and taints, except taints that Kubernetes removes itself."""
    return tuple(
        replace(node, is_cordoned=False, taints=tuple(taint for taint in node.taints if _lasts(taint.key)))
        if node.is_cordoned or node.taints
        else node
        for node in nodes
    )


def _lasts(taint: str) -> bool:
    return taint.startswith(OF_KUBERNETES) and taint != _UNSCHEDULABLE


@lru_cache(maxsize=8)
def freed(nodes: tuple[NodeResources, ...]) -> tuple[NodeResources, ...]:
    """Returns the nodes without pods, except pods that belong to their node."""
    return tuple(_without_pods(node) if any(not pod.is_of_node for pod in node.pods) else node for node in nodes)


def _without_pods(node: NodeResources) -> NodeResources:
    held: Counter[str] = Counter()
    for pod in node.pods:
        if pod.is_of_node:
            held.update(pod.asks)
    return replace(node, free=free_of(node.allocatable, held), pods=tuple(pod for pod in node.pods if pod.is_of_node))


@lru_cache(maxsize=512)
def enough(
    placement_request: PlacementRequest,
    nodes: tuple[NodeResources, ...],
    mended: tuple[NodeResources, ...],
    labels: tuple[str, ...],
) -> tuple[str, ...]:
    """Returns the names of the fewest nodes that make a placement possible once they are as in ``mended``. If KAI finds
    no placement with these, returns more nodes. Returns none if no nodes are enough, or no solver is installed. Cached,
    since equal gangs get the same answer.
    """
    room, then = room_for(placement_request, nodes, labels), room_for(placement_request, mended, labels)
    changed = {new.name: new for old, new in zip(nodes, mended, strict=True) if old is not new}
    cells, costs = _cells(room), {node.name: len(node.pods) for node in nodes}
    mends = {
        name: Mended(cell, costs[name])
        for name, cell in _cells(then).items()
        if name in changed and _is_better(room, cells[name], cell)
    }
    if not mends or searched(then, placement_request.unit) is Existence.NO:
        return ()

    def helps(names: Collection[str]) -> bool:
        after = tuple(changed[node.name] if node.name in names else node for node in nodes)
        return kai_allocate.find(Space(after).room_for(placement_request, labels), placement_request.unit) is not None

    smallest = solver.fewest_nodes(room, placement_request.unit, mends)
    fewest = next((names for names in islice(smallest, MAX_TRIED) if helps(names)), None)
    return fewest or (_spared(mends, helps) if solver.is_installed() else ())


def _spared(mends: Mapping[str, Mended], helps: Callable[[Collection[str]], bool]) -> tuple[str, ...]:
    """Returns enough nodes for KAI, all of them needed, in case KAI finds no placement with the fewest."""
    names = sorted(mends, key=lambda name: (-mends[name].cost, name))
    if len(names) > MAX_SPARED or not helps(names):
        return ()
    for name in list(names):
        fewer = [kept_name for kept_name in names if kept_name != name]
        names = fewer if helps(fewer) else names
    return tuple(sorted(names))


def _cells(room: Room) -> dict[str, Cell]:
    return {name: cell for leaf in room.leaves for cell, names in leaf.nodes for name in names}


def _is_better(room: Room, now: Cell, then: Cell) -> bool:
    return any(room.takes(then, shape) > room.takes(now, shape) for shape in range(len(room.asks)))


def _admit(nodes: Sequence[NodeResources]) -> str:
    """Describes how to admit pods: which nodes to uncordon, and which taints to remove."""
    cordoned = [node.name for node in nodes if node.is_cordoned]
    steps = [f"uncordon {shortened(cordoned, _NAMED)}"] if cordoned else []
    tainted: dict[str, list[str]] = {}
    for node in nodes:
        for taint in node.taints:
            if not taint.key.startswith(OF_KUBERNETES):
                tainted.setdefault(str(taint), []).append(node.name)
    steps += [f"remove the taint {taint} from {shortened(names, _NAMED)}" for taint, names in tainted.items()]
    return "; ".join(steps)


def _free(nodes: Sequence[NodeResources]) -> str:
    pods = [pod for node in nodes for pod in node.pods if not pod.is_of_node]
    groups = list(dict.fromkeys(pod.group for pod in pods if pod.group))
    of_groups = f" of {shortened(groups, _NAMED)}" if groups else ""
    names = shortened([node.name for node in nodes], _NAMED)
    return f"free {plural(len(nodes), 'node')}: {names}, where {plural(len(pods), 'pod')}{of_groups} would have to go"
