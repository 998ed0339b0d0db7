"""Generates small random clusters and gangs, and tries every placement of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from kubectl_tas.facts.gpus import GPU
from kubectl_tas.place.node_cells import PlacementRequest, Room, Unit, room_for
from kubectl_tas.place.node_resources import CPU, PODS, NodeResources, domain_of
from kubectl_tas.place.shapes import PodShape, Rules

LEVELS = ("zone", "rack")
Case = tuple[list[NodeResources], PlacementRequest, Room]


def node(name: str, place: Sequence[str], gpus: int, cpu: int = 9, *, is_cordoned: bool = False) -> NodeResources:
    """A node with labels of the first levels."""
    free = {GPU: gpus, CPU: cpu, PODS: 10}
    return NodeResources(name, dict(zip(LEVELS, place, strict=False)), free, free, is_cordoned=is_cordoned)


def shape(gpus: int, cpu: int) -> PodShape:
    return PodShape(
        tuple(sorted((name, amount) for name, amount in {GPU: gpus, CPU: cpu, PODS: 1}.items() if amount)), Rules()
    )


@st.composite
def cases(draw: st.DrawFn, shapes: int = 2) -> Case:
    """Up to six nodes, some outside of the topology or cordoned, and a gang of up to five pods."""
    places = [("a", "1"), ("a", "2"), ("b", "1"), ("b", "3"), ("b",)]
    nodes = [
        node(
            f"n{index}",
            draw(st.sampled_from(places)),
            draw(st.integers(0, 3)),
            draw(st.integers(0, 4)),
            is_cordoned=draw(st.integers(0, 5)) == 0,
        )
        for index in range(draw(st.integers(1, 6)))
    ]
    known = tuple(shape(draw(st.integers(0, 2)), draw(st.integers(1, 3))) for _ in range(shapes))
    left = 5

    def unit(name: str, depth: int) -> Unit:
        nonlocal left
        required, preferred = draw(st.sampled_from([(None, None), (0, None), (1, None), (None, 1), (0, 1), (None, 0)]))
        if depth and draw(st.booleans()):
            below = tuple(unit(f"{name}{index}", depth - 1) for index in range(draw(st.integers(1, 3))))
            return Unit(name, required, preferred, (), below)
        count = draw(st.integers(0, min(left, 3)))
        left -= count
        return Unit(name, required, preferred, tuple(draw(st.integers(0, shapes - 1)) for _ in range(count)))

    wanted = PlacementRequest(unit("g", 2), known)
    return nodes, wanted, room_for(wanted, tuple(nodes), LEVELS)


def any_placement(nodes: Sequence[NodeResources], wanted: PlacementRequest) -> bool:
    """Whether any of all placements keeps every constraint: each pod is tried on each node, but for placements that
    differ only in which of equal pods is where.
    """
    pods: list[tuple[PodShape, tuple[Unit, ...]]] = []

    def collect(unit: Unit, above: tuple[Unit, ...]) -> None:
        pods.extend((wanted.shapes[pod], (*above, unit)) for pod in unit.pods)
        for item in unit.below:
            collect(item, (*above, unit))

    collect(wanted.unit, ())
    places = {item.name: domain_of(item, LEVELS) for item in nodes}
    free = {item.name: dict(item.free) for item in nodes}
    chosen: dict[str, tuple[str, ...]] = {}

    def place(index: int, before: int) -> bool:
        if index == len(pods):
            return True
        wants, units = pods[index]
        is_like_the_last = index > 0 and pods[index] == pods[index - 1]
        for number, item in enumerate(nodes):
            if is_like_the_last and number < before:
                continue
            if wants.rules.refusal(item) or any(free[item.name][name] < amount for name, amount in wants.asks):
                continue
            domain = places[item.name]
            if domain is None and any(unit.is_constrained for unit in units):
                continue
            bound = {u.name: (domain or ())[: u.required + 1] for u in units if u.required is not None}
            if any(chosen.get(name, value) != value for name, value in bound.items()):
                continue
            new = bound.keys() - chosen.keys()
            chosen.update(bound)
            for name, amount in wants.asks:
                free[item.name][name] -= amount
            if place(index + 1, number):
                return True
            for name, amount in wants.asks:
                free[item.name][name] += amount
            for name in new:
                del chosen[name]
        return False

    return place(0, 0)


def cluster(nodes: int, *pods: dict[str, Any], **labels: str) -> list[dict[str, Any]]:
    """Nodes of 8 GPUs in racks of two, as the API server has them, and pods on them."""
    found = [
        {
            "kind": "Node",
            "metadata": {"name": f"n{n}", "labels": {"pool": "h100", "zone": "a", "rack": str(n // 2), **labels}},
            "status": {"allocatable": {GPU: 8, "cpu": 96, "pods": 110}},
        }
        for n in range(nodes)
    ]
    return [*found, *pods]


def nodes_of(*gpus: int) -> list[dict[str, Any]]:
    """The same nodes with so many GPUs each."""
    found = cluster(len(gpus))
    for item, number in zip(found, gpus, strict=True):
        item["status"]["allocatable"][GPU] = number
    return found


JUDGE = """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: judge}
spec:
  queue: osmo-pool-default-team--shared
  priorityClassName: osmo-normal
  subGroups: [{name: b, minMember: 1}, {name: a, minMember: 2}]
"""
"""A PodGroup that needs one pod of b and two of a."""


def member(name: str, part: str, gpus: int = 8, cpu: int = 1) -> str:
    """A Pod of it."""
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{kai.scheduler/subgroup-name: {part}}}, "
        f"annotations: {{pod-group-name: judge}}}}\nspec: {{containers: [{{name: c, image: i, "
        f"resources: {{limits: {{nvidia.com/gpu: {gpus}, cpu: {cpu}}}}}}}]}}\n"
    )
