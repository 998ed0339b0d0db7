"""A workflow in; its queue, its gangs and the names of their pods out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from kubectl_tas.model.config import ConfigSpec
from kubectl_tas.model.repository import Declared, KeyPath
from kubectl_tas.model.workflow import Group, Resource, Task, Workflow
from kubectl_tas.resolve import names, tree
from kubectl_tas.resolve.fleet import (
    Dangling,
    FleetGroup,
    FleetPool,
    FleetResource,
    FleetTask,
    FleetWorkflow,
    Level,
)
from kubectl_tas.resolve.podspec import pod_spec
from kubectl_tas.resolve.targets import pick_target
from kubectl_tas.resolve.tree import Requirement

DEFAULT_RESOURCE = "default"


def resolve_workflow(
    declared: Declared[Workflow],
    pools: Mapping[str, FleetPool],
    declared_pools: frozenset[str],
    config: ConfigSpec,
    dangling: list[Dangling],
) -> FleetWorkflow | None:
    """The resolved workflow; None where its pool or subpool is unknown or could not be resolved itself."""
    spec = declared.spec.workflow
    target = pick_target(spec.pool, declared, ("workflow", "pool"), pools, declared_pools, dangling)
    if target is None:
        return None
    pool, subpool = target
    resources = _resources(declared, pool, dangling)
    workflow = FleetWorkflow(declared, names.fold(spec.name), pool, subpool, ())
    priority_class = getattr(config.priorityClasses, workflow.priority)
    groups = []
    for group, path in groups_of(declared.spec):
        places = [task_path(declared.spec, path, index) for index in range(len(group.tasks))]
        chosen = [
            (task, where, _pick_resource(task, where, declared, resources, dangling))
            for task, where in zip(group.tasks, places, strict=True)
        ]
        groups.append(_group(workflow, group, path, chosen, priority_class))
    return replace(workflow, groups=tuple(groups))


def groups_of(workflow: Workflow) -> Iterator[tuple[Group, KeyPath]]:
    """The groups of a workflow with their paths; tasks without groups are a group each."""
    spec = workflow.workflow
    for index, group in enumerate(spec.groups):
        yield group, ("workflow", "groups", index)
    if not spec.groups:
        for index, task in enumerate(spec.tasks):
            yield Group(name=task.name, tasks=(task,)), ("workflow", "tasks", index)


def task_path(workflow: Workflow, group: KeyPath, index: int) -> KeyPath:
    """Where a task of the group at ``group`` stands."""
    return (*group, "tasks", index) if workflow.workflow.groups else group


def resource_paths(workflow: Workflow) -> Iterator[tuple[str, Resource, KeyPath]]:
    """Every resource of a workflow, with its path: those under ``workflow``, then those beside it."""
    for name, resource in workflow.workflow.resources.items():
        yield name, resource, ("workflow", "resources", name)
    for name, resource in workflow.resources.items():
        yield name, resource, ("resources", name)


def _resources(declared: Declared[Workflow], pool: FleetPool, dangling: list[Dangling]) -> dict[str, FleetResource]:
    """Resources by folded name."""
    found: dict[str, FleetResource] = {}
    for name, spec, path in resource_paths(declared.spec):
        requirements = _requirements(declared, spec, path, pool, dangling)
        found.setdefault(names.fold(name), FleetResource(spec, requirements, path))
    return found


def _requirements(
    declared: Declared[Workflow], spec: Resource, path: KeyPath, pool: FleetPool, dangling: list[Dangling]
) -> tuple[Requirement, ...]:
    """Requirements from the coarsest level to the finest; unknown keys are dangling and left out."""
    found = []
    for index, requirement in enumerate(spec.topology):
        where = (*path, "topology", index)
        level = _level(requirement.key, pool.levels)
        if level is None:
            known = tuple(item.key for item in pool.levels)
            context = f"pool {pool.name}"
            dangling.append(Dangling("topology key", requirement.key, known, declared, (*where, "key"), context))
            continue
        group = names.fold(requirement.group)
        required = requirement.requirementType == "required"
        found.append(Requirement(level, group, requirement.group, required, where))
    return tuple(sorted(found, key=lambda requirement: requirement.level))


def _level(key: str, levels: tuple[Level, ...]) -> int | None:
    return next((index for index, level in enumerate(levels) if level.key == key), None)


def _group(
    workflow: FleetWorkflow,
    group: Group,
    path: KeyPath,
    chosen: list[tuple[Task, KeyPath, FleetResource]],
    priority_class: str,
) -> FleetGroup:
    """The gang of ``chosen``, the tasks of ``group`` with their places and resources."""
    scheduler = workflow.pool.backend.scheduler_name
    specs = [pod_spec(task, resource.spec, scheduler, priority_class) for task, _, resource in chosen]
    gang = tree.build([resource.requirements for _, _, resource in chosen])
    name, members = names.fold(group.name), [names.fold(task.name) for task, _, _ in chosen]
    pods = [
        {"task": member, "subGroup": sub_group, "spec": spec}
        for member, sub_group, spec in zip(members, gang.placed, specs, strict=True)
    ]
    content = {"workflow": workflow.name, "group": name, "gang": _gang(workflow, gang), "pods": pods}
    pod_group = names.pod_group(workflow.name, name, _canonical(content))
    tasks = tuple(
        FleetTask(member, names.pod(pod_group, member), spec, task, resource, where)
        for member, spec, (task, where, resource) in zip(members, specs, chosen, strict=True)
    )
    return FleetGroup(name, pod_group, gang, tasks, path)


def _pick_resource(
    task: Task,
    path: KeyPath,
    declared: Declared[Workflow],
    resources: Mapping[str, FleetResource],
    dangling: list[Dangling],
) -> FleetResource:
    name = names.fold(task.resource)
    found = resources.get(name)
    if found is not None:
        return found
    if name != DEFAULT_RESOURCE:
        where = (*path, "resource")
        dangling.append(Dangling("resource", task.resource, tuple(resources), declared, where))
    return FleetResource(Resource(), (), path)


def _gang(workflow: FleetWorkflow, gang: tree.Gang) -> object:
    """What makes a gang another one: its queue, its constraints and its SubGroups. The rest of a PodGroup may change
    while it runs, such as what a newer release of KAI adds. None without KAI, which alone knows gangs.
    """
    backend, topology = workflow.pool.backend, workflow.pool.topology
    if not backend.is_kai:
        return None

    def constraint(of: tree.Constraint | None) -> object:
        if of is None or topology is None:
            return None
        levels = (None if level is None else topology.levels[level].label for level in (of.required, of.preferred))
        return [topology.name_on(backend), *levels]

    nodes = [[node.name, node.parent, constraint(node.constraint)] for node in gang.nodes]
    return {"queue": workflow.queue, "constraint": constraint(gang.constraint), "subGroups": nodes}


def _canonical(content: object) -> str:
    """The text that a PodGroup's name is hashed from: the same however the files spell it."""
    return json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
