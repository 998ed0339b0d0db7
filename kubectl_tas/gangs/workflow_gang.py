"""Builds the gang of a workflow's group: the tree that the topology requirements of its tasks make.

Follows OSMO's topology-aware scheduling proposal, steps 1 to 7. A path of group names identifies a SubGroup. A task
that lacks a level which other tasks use is padded with a preferred level.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

from kubectl_tas.base.late import dataclass
from kubectl_tas.gangs import task_pods
from kubectl_tas.gangs.gang import Constraint, Gang, Member, Part, SubGroup
from kubectl_tas.gangs.task_files import (
    HOST,
    OUTPUT,
    OUTPUT_TOKEN,
    WORKFLOW_ID,
    TaskFile,
    data_paths,
    file_maps,
    filled,
    is_below,
    task_file,
    texts,
    tokens_in,
)
from kubectl_tas.gangs.task_pods import member_of, with_output
from kubectl_tas.model.labels import MAX_LABEL
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.names import digest, pod_group, service, shorten
from kubectl_tas.resolve.topologies import Level
from kubectl_tas.resolve.workflows import FleetGroup, FleetTask, FleetWorkflow, Requirement

ANY = "zz-any"
"""Group name of a padded level in a path.

KAI places SubGroups one after the other in the order of their names (``SubGroupOrderFn`` of
pkg/scheduler/framework/session_plugins.go, 0.10 to 0.17) and takes none back. So SubGroups that fit anywhere must come
last: otherwise they take domains that other SubGroups need.
"""


class Step(NamedTuple):
    """One part of a path: a group at one level."""

    group: str
    padded: bool = False
    """Whether the task does not ask for the level; a user's own group ``zz-any`` is a different one."""


_PADDED = Step(ANY, padded=True)
Path = tuple[Step, ...]
PlacedTask = tuple[Member, Sequence[Requirement]]
"""A task with its requirements, from the coarsest level to the finest, at most one for each level."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """The gang of a group before it has a name: tokens are not filled in, and files are not mounted."""

    group: FleetGroup
    gang: Gang
    members: tuple[Member, ...]
    files: tuple[tuple[TaskFile, ...], ...]
    """The files of each task."""
    tokens: tuple[frozenset[str], ...]
    """The tokens of each task."""
    content: str
    """Canonical text of everything that is written for the gang and cannot change while the gang runs."""

    @property
    def needs_run(self) -> bool:
        """Whether a task asks for the id of its workflow."""
        return any(WORKFLOW_ID in task_tokens for task_tokens in self.tokens)


def gangs_of_workflow(
    fleet: Fleet, workflow: FleetWorkflow, groups: Sequence[FleetGroup] | None = None
) -> Iterator[Gang]:
    """Yields the gangs of all groups of a workflow, or of some groups. The name of a gang has a hash of everything that
    is written for the gang and cannot change while the gang runs.

    The hash is computed before tokens are filled in, since some values contain the name. All groups of a workflow share
    an id, computed from the contents of all groups. So a task that writes below the id finds nothing of another
    version.
    """
    drafts = [_draft(fleet, workflow, group) for group in (workflow.groups if groups is None else groups)]
    run = ""
    if any(draft.needs_run for draft in drafts):
        every = drafts if groups is None else [_draft(fleet, workflow, group) for group in workflow.groups]
        run = shorten(f"{workflow.name}-{digest(json.dumps([draft.content for draft in every]))}")
    for draft in drafts:
        yield _completed(workflow, draft, run if draft.needs_run else "")


def _draft(fleet: Fleet, workflow: FleetWorkflow, group: FleetGroup) -> _Draft:
    backend, topology = workflow.pool.backend, workflow.pool.topology
    form, limits = fleet.config.workflowsAs, workflow.pool.declared.spec.spec
    comes_back = form == "jobs-if-preemptible" and workflow.is_preemptible
    as_jobs, retries = form == "jobs" or comes_back, fleet.config.maxRetries
    deadline = task_pods.deadline(workflow.declared.spec.workflow.timeout, limits)
    files = tuple(_files(fleet, workflow, task) for task in group.tasks)
    members = tuple(member_of(fleet, workflow, task) for task in group.tasks)
    if deadline or as_jobs:
        members = tuple(
            replace(
                member,
                spec={**deadline, **member.spec},
                job=task_pods.job(task.spec, limits, retries, is_preemptible=comes_back) if as_jobs else None,
            )
            for task, member in zip(group.tasks, members, strict=True)
        )
    requirements = [task.resource.requirements for task in group.tasks]
    gang = build(list(zip(members, requirements, strict=True)), topology.name_on(backend) if topology else None)
    sub_group_of_member = {member.name: sub_group.name for sub_group in gang.leaves for member in sub_group.members}
    pods = [
        {"task": x.name, "subGroup": sub_group_of_member.get(x.name), "spec": x.spec, **x.metadata} for x in members
    ]
    content: dict[str, object] = {
        "workflow": workflow.name,
        "group": group.name,
        "gang": _identity(workflow.queue, gang) if backend.is_kai else None,
        "pods": pods,
        **_explicit_location(workflow),
    }
    if any(files):
        content["files"] = [[file.identity for file in task_files] for task_files in files]
    if as_jobs:  # all that stands in the template of a Job is immutable
        content["jobs"] = {"labels": workflow.labels, "specs": [member.job for member in members]}
        written_names = [group.written, *(task.spec.name for task in group.tasks)]
        if written_names != [group.name, *(task.name for task in group.tasks)]:
            content["written"] = written_names
    text = _canonical(content)
    none: frozenset[str] = frozenset()
    tokens = (none,) * len(members)
    if any(files) or "{{" in text:
        tokens = tuple(_tokens(member.spec, task_files) for member, task_files in zip(members, files, strict=True))
    if any(tokens):
        text = _canonical({**content, "tokens": sorted(frozenset().union(*tokens))})
    return _Draft(group, gang, members, files, tokens, text)


def _canonical(content: Mapping[str, object]) -> str:
    return json.dumps(content, sort_keys=True, ensure_ascii=True, check_circular=False, separators=(",", ":"))


def _tokens(spec: dict[str, Any], files: Sequence[TaskFile]) -> frozenset[str]:
    words = (*texts(spec), *(file.path for file in files))
    return frozenset(token for text in words for token in tokens_in(text)).union(*(file.tokens for file in files))


def _files(fleet: Fleet, workflow: FleetWorkflow, task: FleetTask) -> tuple[TaskFile, ...]:
    path, local_files = workflow.declared.origin.path, fleet.repository.local_files
    task_files = (task_file(file, path, local_files) for file in task.spec.files)
    return tuple(file for file in task_files if file is not None)


def _completed(workflow: FleetWorkflow, draft: _Draft, run: str) -> Gang:
    """Returns the gang with its name, its tokens filled in, and its files mounted."""
    name = pod_group(workflow.name, draft.group.name, f"{draft.content}{run}")
    if not any(draft.tokens) and not any(draft.files):
        return replace(draft.gang, name=name)
    hosts = service(name) if any(token.startswith(HOST) for tokens in draft.tokens for token in tokens) else None
    shared_values = {WORKFLOW_ID: run} if run else {}
    for task in draft.group.tasks if hosts else ():
        shared_values[f"{HOST}{task.name}"] = f"{shorten(task.name)}.{hosts}.{workflow.namespace}.svc"
    values = [data_paths(task.spec) | shared_values for task in draft.group.tasks]
    files = [
        [file.with_values(task_values) for file in task_files]
        for task_files, task_values in zip(draft.files, values, strict=True)
    ]
    maps = file_maps(name, (file for task_files in files for file in task_files))
    specs: dict[str, dict[str, Any]] = {}
    for member, task_values, used_tokens, task_files in zip(draft.members, values, draft.tokens, files, strict=True):
        spec = filled(member.spec, task_values)
        mounts = (mount["mountPath"] for mount in spec["containers"][0].get("volumeMounts", ()))
        leaves = OUTPUT_TOKEN in used_tokens and not is_below(mounts, OUTPUT)
        spec = maps.mounted(with_output(spec) if leaves else spec, task_files)
        named = {"hostname": shorten(member.name), "subdomain": hosts} if hosts else {}
        specs[member.name] = {**spec, **named}

    def members(part: Part) -> tuple[Member, ...]:
        return tuple(replace(member, spec=specs[member.name]) for member in part.members)

    sub_groups = tuple(replace(unit, members=members(unit)) for unit in draft.gang.sub_groups)
    members_of_gang = members(draft.gang)
    return replace(draft.gang, members=members_of_gang, sub_groups=sub_groups, name=name, files=maps.maps, hosts=hosts)


def _explicit_location(workflow: FleetWorkflow) -> dict[str, str]:
    """Returns where a workflow runs, if its pool says so. In another namespace its gang is another one: KAI knows
    PodGroups only by name. On another shard of the scheduler, the gang would hold nodes that the shard does not see.
    """
    where = {} if workflow.namespace == workflow.pool.backend.namespace else {"namespace": workflow.namespace}
    return where | workflow.pool.shard_labels


def _identity(queue: str, gang: Gang) -> object:
    """Returns what identifies a gang. The rest of a PodGroup may change while it runs, e.g. by a newer KAI release."""

    def labels(constraint: Constraint | None) -> object:
        return None if constraint is None or constraint.topology is None else [constraint.topology, *constraint.labels]

    sub_groups = [[sub_group.name, sub_group.parent, labels(sub_group.constraint)] for sub_group in gang.sub_groups]
    return {"queue": queue, "constraint": labels(gang.constraint), "subGroups": sub_groups}


def build(tasks: Sequence[PlacedTask], topology: str | None) -> Gang:
    """Returns the gang of ``tasks``, which are all needed, without a name; its SubGroups are in the order of the tasks.

    Tasks that name one group at one level must agree on whether the group is required.
    """
    distinct = {id(requirements): requirements for _, requirements in tasks}  # tasks of one resource share them
    levels = {requirement.depth: requirement.level for each in distinct.values() for requirement in each}
    depths = sorted(levels)
    tree = _LevelTree(
        topology=topology,
        depths=depths,
        levels=tuple(levels[depth] for depth in depths),
        required={(r.level, r.group) for requirements in distinct.values() for r in requirements if r.required},
    )
    leaves = {key: tree.path(requirements) for key, requirements in distinct.items()}
    paths = [leaves[id(requirements)] for _, requirements in tasks]
    shared = next((x for x in range(len(depths)) if len({path[x] for path in paths}) > 1), len(depths))
    constraint = tree.along(paths[0][:shared]) if paths else None
    members = tuple(member for member, _ in tasks)
    is_whole = shared == len(depths)
    sub_groups: tuple[SubGroup, ...] = ()
    if not is_whole:
        lengths = range(shared + 1, len(depths) + 1)
        order = list(dict.fromkeys(path[:length] for path in paths for length in lengths))
        names = name_paths(order)
        below: dict[Path, list[Member]] = {path: [] for path in order}
        for member, path in zip(members, paths, strict=True):
            for length in lengths:
                below[path[:length]].append(member)
        sub_groups = tuple(
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
        sub_groups=sub_groups,
    )


@dataclass(frozen=True, slots=True)
class _LevelTree:
    """Levels that any task asks for, coarsest first, and the groups that are required at these levels."""

    topology: str | None
    depths: Sequence[int]
    levels: tuple[Level, ...]
    required: set[tuple[Level, str]]

    def path(self, requirements: Sequence[Requirement]) -> Path:
        """Returns the leaf of a task: a group for every level that any task uses."""
        groups = {requirement.depth: Step(requirement.group) for requirement in requirements}
        return tuple(groups.get(depth, _PADDED) for depth in self.depths)

    def along(self, chain: Path) -> Constraint | None:
        """Returns the finest required level of a chain, and the finest preferred one below; None for an empty chain."""
        required: Level | None = None
        preferred: Level | None = None
        for level, step in zip(self.levels, chain, strict=False):
            if (level, step.group) in self.required:
                required, preferred = level, None
            else:
                preferred = level
        return Constraint(self.topology, required, preferred) if chain else None

    def at(self, path: Path) -> Constraint:
        """Returns the level at the end of ``path``; a padded level is preferred."""
        level, step = self.levels[len(path) - 1], path[-1]
        if not step.padded and (level, step.group) in self.required:
            return Constraint(self.topology, level, None)
        return Constraint(self.topology, None, level)


def name_paths(paths: Sequence[Path]) -> dict[Path, str]:
    """Returns a name for each path: its groups joined with '-', and a hash if two paths would share a name."""
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
    """Cuts ``name`` to the length of a label; the name of a padded path still sorts behind its siblings."""
    if path[-1].padded and len(name) > MAX_LABEL:
        return f"{ANY}-{digest(name)}"
    return shorten(name)
