"""The gang of a workflow's group: the tree that the topology requirements of its tasks make.

It follows OSMO's topology-aware scheduling proposal, steps 1 to 7. A SubGroup is known by its path of group names;
tasks that lack a level which others use are padded with a preferred one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

from kubectl_tas.gangs.gang import Constraint, Gang, Member, SubGroup
from kubectl_tas.gangs.platform import member
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.names import MAX_LABEL, digest, pod_group, shorten
from kubectl_tas.resolve.topologies import Level
from kubectl_tas.resolve.workflows import FleetGroup, FleetWorkflow, Requirement

ANY = "zz-any"
"""What a padded level's part of a path is called.

KAI places SubGroups one after the other in the order of their names (``SubGroupOrderFn`` of
pkg/scheduler/framework/session_plugins.go, 0.10 to 0.17) and takes none back, so those that could be anywhere must come
last: else they take the domains that others need.
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One part of a path: a group at one level."""

    group: str
    padded: bool = False
    """True where the task does not ask for the level; a user's own group ``zz-any`` is another one."""


Path = tuple[Step, ...]
Placed = tuple[Member, Sequence[Requirement]]
"""A task, and its requirements from the coarsest level to the finest, one for a level at the most."""


def gang_of_group(fleet: Fleet, workflow: FleetWorkflow, group: FleetGroup) -> Gang:
    """The gang of a group, named by a hash of all that is emitted of it and cannot change while it runs."""
    backend, topology = workflow.pool.backend, workflow.pool.topology
    members = [member(fleet, workflow, task) for task in group.tasks]
    asked = [task.resource.requirements for task in group.tasks]
    gang = build(list(zip(members, asked, strict=True)), topology.name_on(backend) if topology else None)
    places = {member.name: part.name for part in gang.leaves for member in part.members}
    pods = [
        {"task": item.name, "subGroup": places.get(item.name), "spec": item.spec, **item.metadata} for item in members
    ]
    content = {
        "workflow": workflow.name,
        "group": group.name,
        "gang": _identity(workflow.queue, gang) if backend.is_kai else None,
        "pods": pods,
        **_elsewhere(workflow),
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return replace(gang, name=pod_group(workflow.name, group.name, text))


def _elsewhere(workflow: FleetWorkflow) -> dict[str, str]:
    """Where a workflow runs, as far as its pool says it. In another namespace its gang is another one: KAI knows
    PodGroups by their name alone. On another shard of the scheduler it would hold nodes that the shard does not see.
    """
    where = {} if workflow.namespace == workflow.pool.backend.namespace else {"namespace": workflow.namespace}
    return where | workflow.pool.shard_labels


def _identity(queue: str, gang: Gang) -> object:
    """What makes a gang another one: its queue, its constraints and its SubGroups. The rest of a PodGroup may change
    while it runs, such as what a newer release of KAI adds.
    """
    parts = [[part.name, part.parent, _labels(part.constraint)] for part in gang.parts]
    return {"queue": queue, "constraint": _labels(gang.constraint), "subGroups": parts}


def _labels(constraint: Constraint | None) -> object:
    if constraint is None or constraint.topology is None:
        return None
    return [constraint.topology, *constraint.labels]


def build(tasks: Sequence[Placed], topology: str | None) -> Gang:
    """The gang of ``tasks``, all of them needed, without a name; its SubGroups as tasks first name them.

    Expects that tasks which name one group at one level agree on whether it is required.
    """
    levels = {requirement.depth: requirement.level for _, asked in tasks for requirement in asked}
    depths = sorted(levels)
    tree = _Tree(
        topology=topology,
        levels=tuple(levels[depth] for depth in depths),
        required={(r.level, r.group) for _, asked in tasks for r in asked if r.required},
    )
    paths = [tree.path(asked) for _, asked in tasks]
    shared = _shared_length(paths, len(depths))
    constraint = tree.along(paths[0][:shared]) if paths else None
    members = tuple(member for member, _ in tasks)
    is_whole = shared == len(depths)
    parts: tuple[SubGroup, ...] = ()
    if not is_whole:
        lengths = range(shared + 1, len(depths) + 1)
        order = list(dict.fromkeys(path[:length] for path in paths for length in lengths))
        names = name_paths(order)
        below: dict[Path, list[Member]] = {path: [] for path in order}
        for member, path in zip(members, paths, strict=True):
            for length in lengths:
                below[path[:length]].append(member)
        parts = tuple(
            SubGroup(
                name=names[path],
                parent=names.get(path[:-1]),
                pods=len(below[path]),
                minimum=len(below[path]),
                gpus=sum(member.gpus for member in below[path]),
                constraint=tree.at(path),
                members=tuple(below[path]) if len(path) == len(depths) else (),
            )
            for path in order
        )
    return Gang(
        name="",
        pods=len(tasks),
        minimum=len(tasks),
        gpus=sum(member.gpus for member in members),
        constraint=constraint,
        members=members if is_whole else (),
        parts=parts,
    )


@dataclass(frozen=True, slots=True)
class _Tree:
    """The levels that any task asks for, from the coarsest, and the groups that are required at them."""

    topology: str | None
    levels: tuple[Level, ...]
    required: set[tuple[Level, str]]

    def path(self, asked: Sequence[Requirement]) -> Path:
        """A task's leaf: a group for every level that any task uses."""
        groups = {requirement.level: Step(requirement.group) for requirement in asked}
        return tuple(groups.get(level, Step(ANY, padded=True)) for level in self.levels)

    def along(self, chain: Path) -> Constraint | None:
        """The finest required level of a chain, and the finest preferred one below it; None for an empty one."""
        required: Level | None = None
        preferred: Level | None = None
        for level, step in zip(self.levels, chain, strict=False):
            if (level, step.group) in self.required:
                required, preferred = level, None
            else:
                preferred = level
        return Constraint(self.topology, required, preferred) if chain else None

    def at(self, path: Path) -> Constraint:
        """The level at the end of ``path``; a padded one is preferred."""
        level, step = self.levels[len(path) - 1], path[-1]
        if not step.padded and (level, step.group) in self.required:
            return Constraint(self.topology, level, None)
        return Constraint(self.topology, None, level)


def _shared_length(paths: Sequence[Path], length: int) -> int:
    """How many steps from the top all paths share."""
    return next((index for index in range(length) if len({path[index] for path in paths}) > 1), length)


def name_paths(paths: Sequence[Path]) -> dict[Path, str]:
    """A name for each path: its groups joined with '-'; with a hash where two paths would share a name."""
    plain = {path: _label(path, "-".join(step.group for step in path)) for path in paths}
    uses = Counter(plain.values())
    names: dict[Path, str] = {path: name for path, name in plain.items() if uses[name] == 1}
    taken = set(names.values())
    for path in paths:
        if path in names:
            continue
        identity = json.dumps([[step.group, step.padded] for step in path])
        joined = "-".join(step.group for step in path)
        candidates = (_label(path, f"{joined}-{digest(f'{identity}{salt or str()}')}") for salt in count())
        names[path] = next(name for name in candidates if name not in taken)
        taken.add(names[path])
    return names


def _label(path: Path, name: str) -> str:
    """``name`` cut to what a label holds; a padded one so that it still comes behind its siblings."""
    if path[-1].padded and len(name) > MAX_LABEL:
        return f"{ANY}-{digest(name)}"
    return shorten(name)
