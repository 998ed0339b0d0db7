"""Resolves a workflow to its queue, its gangs and the names of their pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import Amounts, total
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.osmo_workflow import Group, Priority, Resource, Task, Workflow
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import Dangling
from kubectl_tas.resolve.platforms import FilledTemplates, FleetPlatform, asks_of, fill, values_of
from kubectl_tas.resolve.pools import Declarations, FleetPool, FleetSubpool, Submission
from kubectl_tas.resolve.topologies import Level

DEFAULT_RESOURCE = "default"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One topology requirement of a resource, resolved to a level of the pool."""

    level: Level
    depth: int
    """The index of the level in its topology: 0 is the coarsest."""
    group: str
    """Folded name of the group. ``written`` is the name in the file."""
    written: str
    required: bool
    path: KeyPath


@dataclass(frozen=True, slots=True)
class FleetResource:
    """A resource of a workflow."""

    spec: Resource
    requirements: tuple[Requirement, ...]
    path: KeyPath
    platform: FleetPlatform
    """The platform of the pool that the resource names, or the pool's default."""


@dataclass(frozen=True)
class FleetTask:
    """A task of a workflow."""

    name: str
    """Folded name."""
    spec: Task
    resource: FleetResource
    path: KeyPath
    where: Mapping[str, str]
    """Tokens of pod templates that identify the pool, the workflow and the group."""

    @property
    def container(self) -> str:
        """Name of the container."""
        return names.shorten(self.name)

    @property
    def platform(self) -> FleetPlatform:
        """The platform on which the task runs."""
        return self.resource.platform

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """The values of tokens in pod templates and resource validations."""
        tokens = {
            "USER_CONTAINER_NAME": self.container,
            "WF_TASK_NAME": self.spec.name,
            "WF_PLATFORM": self.platform.name or None,
            "WF_LEAD_CONTAINER": "true" if self.spec.lead else None,
            **self.where,
        }
        return values_of(self.platform, self.resource.spec, self.spec, tokens)

    @cached_property
    def template(self) -> FilledTemplates:
        """The pod templates of the platform, with the values of this task."""
        return fill(self.platform, self.values)

    @cached_property
    def asks(self) -> Amounts:
        """The request of the task's pod."""
        if not self.platform.templates:
            return self.resource.spec.asks
        return asks_of(self.resource.spec, self.container, self.template)


@dataclass(frozen=True)
class FleetGroup:
    """A group of a workflow, which is a gang."""

    name: str
    """Folded name."""
    written: str
    """The name in the file, which is valid as the value of a label."""
    tasks: tuple[FleetTask, ...]
    path: KeyPath

    @cached_property
    def resources(self) -> tuple[FleetResource, ...]:
        """The resources of the tasks, without duplicates."""
        return tuple({id(task.resource): task.resource for task in self.tasks}.values())

    @cached_property
    def asks(self) -> Amounts:
        """The request of all tasks."""
        return total(task.asks for task in self.tasks)


@dataclass(frozen=True)
class FleetWorkflow(Submission):
    """A workflow with its queue."""

    declared: Declared[Workflow]
    name: str
    """Folded name."""
    pool: FleetPool
    subpool: FleetSubpool | None
    """The subpool. None: the pool's shared queue."""
    groups: tuple[FleetGroup, ...]
    label_prefix: str
    """The prefix from the Config for the keys of the workflow's own labels."""

    @property
    def kind(self) -> str:
        """Workflow."""
        return "Workflow"

    @property
    def used_platforms(self) -> tuple[str, ...]:
        """The platforms of the pool on which the tasks run."""
        return tuple(dict.fromkeys(task.platform.name for group in self.groups for task in group.tasks))

    @property
    def objects(self) -> int:
        """The number of objects: a PodGroup for each group, and a pod for each task."""
        return sum(1 + len(group.tasks) for group in self.groups)

    @property
    def priority(self) -> Priority:
        """HIGH, NORMAL or LOW."""
        return self.declared.spec.workflow.priority

    @property
    def place(self) -> Location:
        """The place of the pool's name."""
        return self.declared.at("workflow", "pool")

    @cached_property
    def own_labels(self) -> dict[str, str]:
        """The labels that the author writes, with the prefix that they have on pods."""
        return {f"{self.label_prefix}{key}": value for key, value in self.declared.spec.workflow.labels.items()}

    @cached_property
    def labels(self) -> dict[str, str]:
        """The labels of all objects of the workflow: its own, its pool, its name and, for KAI, its queue and shard."""
        return {
            **self.own_labels,
            labels.POOL: self.target,
            labels.WORKFLOW: names.shorten(self.declared.spec.workflow.name),
            **self.kai_labels,
        }

    @cached_property
    def asks(self) -> Amounts:
        """The request of all groups."""
        return total(group.asks for group in self.groups)


def resolve_workflow(
    declared: Declared[Workflow], declarations: Declarations, label_prefix: str
) -> FleetWorkflow | None:
    """Returns the resolved workflow. None if its pool or subpool is unknown or not resolved."""
    spec = declared.spec.workflow
    target = declarations.target(spec.pool, declared, ("workflow", "pool"))
    if target is None:
        return None
    pool, subpool = target
    resources = _WorkflowResources(declared, pool, declarations.dangling)
    groups = tuple(_group(group, path, places, resources) for group, path, places in declared.spec.all_groups)
    return FleetWorkflow(declared, names.fold(spec.name), pool, subpool, groups, label_prefix)


class _WorkflowResources:
    """The resources of a workflow in its pool."""

    def __init__(self, declared: Declared[Workflow], pool: FleetPool, dangling: list[Dangling]) -> None:
        self.declared, self.pool, self.dangling = declared, pool, dangling
        self.found: dict[str, FleetResource] = {}
        for name, spec, path in declared.spec.all_resources:
            requirements = _requirements(declared, spec, path, pool, dangling)
            self.found.setdefault(names.fold(name), FleetResource(spec, requirements, path, self._platform(spec, path)))

    def _platform(self, spec: Resource, path: KeyPath) -> FleetPlatform:
        platforms = self.pool.platforms
        if spec.platform is not None and platforms.by_name and spec.platform not in platforms.by_name:
            where, known_names = (*path, "platform"), tuple(platforms.by_name)
            context = f"pool {self.pool.name}"
            self.dangling.append(Dangling("platform", spec.platform, known_names, self.declared, where, context))
        return platforms.of(spec.platform)

    def of(self, task: Task, path: KeyPath) -> FleetResource:
        """Returns the resource of a task."""
        name = names.fold(task.resource)
        resource = self.found.get(name)
        if resource is not None:
            return resource
        if name != DEFAULT_RESOURCE:
            where = (*path, "resource")
            self.dangling.append(Dangling("resource", task.resource, tuple(self.found), self.declared, where))
        return FleetResource(Resource.model_construct(), (), path, self.pool.platforms.of(None))


def _requirements(
    declared: Declared[Workflow], spec: Resource, path: KeyPath, pool: FleetPool, dangling: list[Dangling]
) -> tuple[Requirement, ...]:
    """Returns requirements from the coarsest level to the finest. Unknown keys are dangling and left out."""
    requirements = []
    for index, requirement in enumerate(spec.topology):
        where = (*path, "topology", index)
        depth = next((at for at, level in enumerate(pool.levels) if level.key == requirement.key), None)
        if depth is None:
            known_keys = tuple(level.key for level in pool.levels)
            context = f"pool {pool.name}"
            dangling.append(Dangling("topology key", requirement.key, known_keys, declared, (*where, "key"), context))
            continue
        group = names.fold(requirement.group)
        required = requirement.requirementType == "required"
        requirements.append(Requirement(pool.levels[depth], depth, group, requirement.group, required, where))
    return tuple(sorted(requirements, key=lambda requirement: requirement.depth))


def _group(group: Group, path: KeyPath, task_paths: Sequence[KeyPath], resources: _WorkflowResources) -> FleetGroup:
    name, spec = names.fold(group.name), resources.declared.spec.workflow
    identity_tokens = _identity_tokens(resources.pool, spec.name, name, spec.priority)
    tasks = (
        FleetTask(names.fold(task.name), task, resources.of(task, task_path), task_path, identity_tokens)
        for task, task_path in zip(group.tasks, task_paths, strict=True)
    )
    return FleetGroup(name, group.name, tuple(tasks), path)


def _identity_tokens(pool: FleetPool, workflow: str, group: str, priority: str) -> dict[str, str]:
    """Returns the tokens that identify the pool, the workflow and the group of a task."""
    named = {"WF_ID": workflow, "WF_GROUP_NAME": group, "WF_PRIORITY": priority}
    return {"WF_POOL": pool.name, **{token: names.shorten(names.fold(text)) for token, text in named.items()}}


def sample_task(pool: FleetPool, platform: FleetPlatform) -> FleetTask:
    """Returns a sample task, with which rules check a platform."""
    task = Task(name="task", image="image")
    resource = FleetResource(Resource(cpu=1, memory="1Gi", storage="1Gi", gpu=1), (), (), platform)
    return FleetTask(task.name, task, resource, (), _identity_tokens(pool, "workflow", "group", "NORMAL"))
