"""Represents the gang of a workflow's group as plain tuples, with levels by index and tasks by SubGroup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_tas.gangs import gang as gangs
from kubectl_tas.gangs import workflow_gang
from kubectl_tas.resolve.topologies import Level
from kubectl_tas.resolve.workflows import Requirement

LEVELS = ("zone", "spine", "rack", "clique", *(f"l{index}" for index in range(4, 16)))


@dataclass(frozen=True)
class Constraint:
    """Levels by their index in LEVELS."""

    required: int | None
    preferred: int | None


@dataclass(frozen=True)
class Node:
    """One SubGroup."""

    name: str
    parent: str | None
    constraint: Constraint
    members: int | None
    """Number of tasks in a leaf; None above leaves."""


@dataclass(frozen=True)
class Tree:
    """A gang."""

    constraint: Constraint | None
    members: int | None
    """Number of tasks; None if SubGroups count them."""
    nodes: tuple[Node, ...]
    placed: tuple[str | None, ...]
    """The SubGroup of each task, in the order of tasks."""


def requirement(level: int, group: str, written: str, required: bool, path: tuple[str | int, ...]) -> Requirement:
    """Returns a requirement at the level with this index."""
    return Requirement(Level(LEVELS[level], LEVELS[level]), level, group, written, required, path)


def build(tasks: Sequence[Sequence[Requirement]]) -> Tree:
    """Builds the tree of tasks, each given by its requirements."""
    members = [gangs.Member(str(number), 1) for number in range(len(tasks))]
    gang = workflow_gang.build(list(zip(members, tasks, strict=True)), "topology")
    assert gang.pods == gang.gpus == gang.minimum == len(tasks)
    leaves = {member: leaf.name for leaf in gang.leaves for member in leaf.members}
    assert len(gang.members) + len(leaves) == len(tasks), "a task is in no part, or in two"
    nodes = []
    for part in gang.sub_groups:
        below = gang.below(part)
        assert part.minimum == part.pods == (sum(child.pods for child in below) if below else len(part.members))
        constraint = _constraint(part.constraint)
        assert constraint is not None
        nodes.append(Node(part.name, part.parent, constraint, None if below else part.pods))
    placed = tuple(leaves.get(member) for member in members)
    return Tree(_constraint(gang.constraint), None if nodes else gang.pods, tuple(nodes), placed)


def _constraint(constraint: gangs.Constraint | None) -> Constraint | None:
    if constraint is None:
        return None
    assert constraint.topology == "topology"
    required, preferred = constraint.required, constraint.preferred
    return Constraint(
        LEVELS.index(required.key) if required else None, LEVELS.index(preferred.key) if preferred else None
    )
