"""A workflow in; its queue, its gangs and the names of their pods out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from kubectl_tas.diagnostics import Location
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared
from kubectl_tas.model.workflow import Group, Priority, Resource, Task, Workflow
from kubectl_tas.quantities import Amounts, total
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import Dangling
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool, Known, Submission
from kubectl_tas.resolve.topologies import Level

DEFAULT_RESOURCE = "default"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One topology requirement of a resource, resolved against the pool's levels."""

    level: Level
    depth: int
    """The place of the level in its topology: 0 is the coarsest."""
    group: str
    """Folded name of the group; ``written`` is how the file has it."""
    written: str
    required: bool
    path: KeyPath


@dataclass(frozen=True, slots=True)
class FleetResource:
    """A resource of a workflow."""

    spec: Resource
    requirements: tuple[Requirement, ...]
    path: KeyPath


@dataclass(frozen=True, slots=True)
class FleetTask:
    """A task."""

    name: str
    """Folded."""
    spec: Task
    resource: FleetResource
    path: KeyPath


@dataclass(frozen=True)
class FleetGroup:
    """A group of a workflow, which is a gang."""

    name: str
    """Folded."""
    tasks: tuple[FleetTask, ...]
    path: KeyPath

    @cached_property
    def asks(self) -> Amounts:
        """What all its tasks ask for."""
        return total(task.resource.spec.asks for task in self.tasks)


@dataclass(frozen=True)
class FleetWorkflow(Submission):
    """A workflow, and the queue it goes to."""

    declared: Declared[Workflow]
    name: str
    """Folded."""
    pool: FleetPool
    subpool: FleetSubpool | None
    """None: the pool's shadow queue."""
    groups: tuple[FleetGroup, ...]

    @property
    def kind(self) -> str:
        """Workflow."""
        return "Workflow"

    @property
    def priority(self) -> Priority:
        """HIGH, NORMAL or LOW."""
        return self.declared.spec.workflow.priority

    @property
    def place(self) -> Location:
        """Where its pool stands."""
        return self.declared.at("workflow", "pool")

    @property
    def labels(self) -> dict[str, str]:
        """The labels of all that it becomes: its own, its pool, its name and, for KAI, its queue and shard."""
        return {
            **self.declared.spec.workflow.labels,
            labels.POOL: self.target,
            labels.WORKFLOW: names.shorten(self.name),
            **self.kai_labels,
        }

    @cached_property
    def asks(self) -> Amounts:
        """What all its groups ask for."""
        return total(group.asks for group in self.groups)


def resolve_workflow(declared: Declared[Workflow], known: Known) -> FleetWorkflow | None:
    """The resolved workflow; None where its pool or subpool is unknown or could not be resolved itself."""
    spec = declared.spec.workflow
    target = known.target(spec.pool, declared, ("workflow", "pool"))
    if target is None:
        return None
    pool, subpool = target
    resources = _resources(declared, pool, known.dangling)
    groups = tuple(_group(group, path, declared, resources, known.dangling) for group, path in groups_of(declared.spec))
    return FleetWorkflow(declared, names.fold(spec.name), pool, subpool, groups)


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
        depth = next((at for at, level in enumerate(pool.levels) if level.key == requirement.key), None)
        if depth is None:
            known = tuple(item.key for item in pool.levels)
            context = f"pool {pool.name}"
            dangling.append(Dangling("topology key", requirement.key, known, declared, (*where, "key"), context))
            continue
        group = names.fold(requirement.group)
        required = requirement.requirementType == "required"
        found.append(Requirement(pool.levels[depth], depth, group, requirement.group, required, where))
    return tuple(sorted(found, key=lambda requirement: requirement.depth))


def _group(
    group: Group,
    path: KeyPath,
    declared: Declared[Workflow],
    resources: Mapping[str, FleetResource],
    dangling: list[Dangling],
) -> FleetGroup:
    places = [task_path(declared.spec, path, index) for index in range(len(group.tasks))]
    tasks = tuple(
        FleetTask(names.fold(task.name), task, _pick_resource(task, where, declared, resources, dangling), where)
        for task, where in zip(group.tasks, places, strict=True)
    )
    return FleetGroup(names.fold(group.name), tasks, path)


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
