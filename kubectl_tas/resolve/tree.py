"""The tree algorithm: topology requirements of a gang's tasks in, constraints and SubGroups out. Pure.

It follows OSMO's topology-aware scheduling proposal, steps 1 to 7. A node of the tree is known by its path of
group names; tasks that lack a level which others use are padded with a preferred one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from kubectl_tas.model.repository import KeyPath
from kubectl_tas.resolve.names import digest, shorten

ANY = "any"
"""What a padded level's part of a path is called."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One topology requirement of a resource, resolved against the pool's levels."""

    level: int
    """Index into the pool's levels."""
    group: str
    """Folded name of the group; ``written`` is how the file has it."""
    written: str
    required: bool
    path: KeyPath


@dataclass(frozen=True, slots=True)
class Step:
    """One part of a path: a group at one level."""

    group: str
    padded: bool = False
    """True where the task does not ask for the level; a user's own group ``any`` is another node."""


Path = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Constraint:
    """Levels by their index in the topology; None: no such constraint."""

    required: int | None
    preferred: int | None


@dataclass(frozen=True, slots=True)
class Node:
    """One SubGroup."""

    name: str
    parent: str | None
    constraint: Constraint
    members: int | None
    """Number of tasks on a leaf; None above leaves."""


@dataclass(frozen=True, slots=True)
class Gang:
    """What becomes of a workflow's group."""

    constraint: Constraint | None
    """For the whole gang."""
    members: int | None
    """Number of tasks; None where SubGroups count them."""
    nodes: tuple[Node, ...]
    """SubGroups, parents before children, otherwise in the order in which tasks first name them."""
    placed: tuple[str | None, ...]
    """The SubGroup of each task, in the order of the tasks; None where there are none."""


def build(tasks: Sequence[Sequence[Requirement]]) -> Gang:
    """The gang of ``tasks``, each given by its requirements, one for a level at the most.

    Expects that tasks which name one group at one level agree on whether it is required.
    """
    levels = sorted({requirement.level for task in tasks for requirement in task})
    required = {(r.level, r.group) for task in tasks for r in task if r.required}
    paths = [_path(task, levels) for task in tasks]
    shared = _shared_depth(paths, len(levels))
    constraint = _along(paths[0][:shared], levels, required) if paths else None
    if shared == len(levels):
        return Gang(constraint, len(tasks), (), (None,) * len(tasks))
    order = list(dict.fromkeys(path[:depth] for path in paths for depth in range(shared + 1, len(levels) + 1)))
    names = name_paths(order)
    sizes = Counter(paths)
    nodes = tuple(
        Node(
            name=names[path],
            parent=names.get(path[:-1]),
            constraint=_at(path, levels, required),
            members=sizes[path] if len(path) == len(levels) else None,
        )
        for path in order
    )
    return Gang(constraint, None, nodes, tuple(names[path] for path in paths))


def _path(task: Sequence[Requirement], levels: Sequence[int]) -> Path:
    """The task's leaf: a group for every level that any task uses."""
    groups = {requirement.level: Step(requirement.group) for requirement in task}
    return tuple(groups.get(level, Step(ANY, padded=True)) for level in levels)


def _shared_depth(paths: Sequence[Path], depth: int) -> int:
    """How many levels from the top all paths share."""
    for index in range(depth):
        if len({path[index] for path in paths}) > 1:
            return index
    return depth


def _along(chain: Path, levels: Sequence[int], required: set[tuple[int, str]]) -> Constraint | None:
    """The finest required level of a chain, and the finest preferred one below it."""
    finest: int | None = None
    preferred: int | None = None
    for level, step in zip(levels, chain, strict=False):
        if (level, step.group) in required:
            finest, preferred = level, None
        else:
            preferred = level
    return Constraint(finest, preferred) if chain else None


def _at(path: Path, levels: Sequence[int], required: set[tuple[int, str]]) -> Constraint:
    """The constraint of the node at the end of ``path``; padded levels are preferred."""
    level, step = levels[len(path) - 1], path[-1]
    if not step.padded and (level, step.group) in required:
        return Constraint(level, None)
    return Constraint(None, level)


def name_paths(paths: Sequence[Path]) -> dict[Path, str]:
    """A name for each path: its groups joined with '-'; with a hash where two paths would share a name."""
    plain = {path: shorten("-".join(step.group for step in path)) for path in paths}
    uses = Counter(plain.values())
    names: dict[Path, str] = {path: name for path, name in plain.items() if uses[name] == 1}
    taken = set(names.values())
    for path in paths:
        if path in names:
            continue
        identity = json.dumps([[step.group, step.padded] for step in path])
        joined = "-".join(step.group for step in path)
        candidates = (shorten(f"{joined}-{digest(f'{identity}{salt or str()}')}") for salt in count())
        names[path] = next(name for name in candidates if name not in taken)
        taken.add(names[path])
    return names
