"""The fleet: all that a repository declares, with every reference followed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kubectl_tas.diagnostics import Location
from kubectl_tas.model.config import ConfigSpec
from kubectl_tas.model.pool import Pool, Subpool, SubpoolState
from kubectl_tas.model.repository import Declared, KeyPath, Repository
from kubectl_tas.model.workflow import Priority, Resource, Task, Workflow
from kubectl_tas.resolve.clusters import FleetBackend as FleetBackend
from kubectl_tas.resolve.clusters import FleetTopology as FleetTopology
from kubectl_tas.resolve.clusters import Level as Level
from kubectl_tas.resolve.names import SEPARATOR
from kubectl_tas.resolve.podgroup import FleetPodGroup
from kubectl_tas.resolve.submission import UNLIMITED as UNLIMITED
from kubectl_tas.resolve.submission import Submission
from kubectl_tas.resolve.tree import Gang, Requirement

if TYPE_CHECKING:
    from kubectl_tas.resolve.cliqueset import FleetPodCliqueSet, SubmittedSet
    from kubectl_tas.resolve.grove import Grove
    from kubectl_tas.resolve.workload import FleetWorkload


@dataclass(frozen=True, slots=True)
class Dangling:
    """A name that nothing in the repository defines."""

    what: str
    """The kind of thing it should name, such as ``pool``."""
    name: str
    known: tuple[str, ...]
    """The names that are defined."""
    declared: Declared[Any]
    path: KeyPath
    context: str = ""
    """Whose names ``known`` are, such as ``pool team``."""

    @property
    def location(self) -> Location:
        """Where the name stands."""
        return self.declared.at(*self.path)


@dataclass(frozen=True, slots=True)
class FleetSubpool:
    """A guaranteed part of a pool."""

    declared: Declared[Subpool]
    pool: str
    name: str
    """Within the pool."""
    asked: int
    """GPUs that its quota comes to, whatever its state."""
    queue: str

    @property
    def state(self) -> SubpoolState:
        """ACTIVE, DELETING or ARCHIVED."""
        return self.declared.spec.spec.state

    @property
    def quota(self) -> int:
        """GPUs it is guaranteed now: none unless it is ACTIVE."""
        return self.asked if self.state == "ACTIVE" else 0

    @property
    def canonical(self) -> str:
        """``pool--subpool``."""
        return f"{self.pool}{SEPARATOR}{self.name}"


@dataclass(frozen=True)
class FleetPool:
    """A pool with its queues and its topology."""

    declared: Declared[Pool]
    name: str
    backend: FleetBackend
    subpools: tuple[FleetSubpool, ...]
    """Sorted by name."""
    topology: FleetTopology | None
    queue: str
    shared_queue: str

    @property
    def guarantee(self) -> int:
        """Guaranteed GPUs; -1: no limit."""
        return self.declared.spec.spec.resources.gpu.guarantee

    @property
    def maximum(self) -> int:
        """The most GPUs; -1: no limit."""
        return self.declared.spec.spec.resources.gpu.maximum

    @property
    def weight(self) -> int:
        """Over-quota weight."""
        return self.declared.spec.spec.resources.gpu.weight

    @cached_property
    def taken(self) -> int:
        """GPUs that the ACTIVE subpools hold."""
        return sum(subpool.quota for subpool in self.subpools)

    @property
    def shared_quota(self) -> int:
        """GPUs that are left to the pool itself, none where its subpools hold too much; -1: no limit."""
        return UNLIMITED if self.guarantee == UNLIMITED else max(0, self.guarantee - self.taken)

    @property
    def is_split(self) -> bool:
        """Whether any subpool has a queue."""
        return any(subpool.state != "ARCHIVED" for subpool in self.subpools)

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels that its workflows may ask for."""
        return self.topology.levels if self.topology else ()


@dataclass(frozen=True, slots=True)
class FleetResource:
    """A resource of a workflow."""

    spec: Resource
    requirements: tuple[Requirement, ...]
    path: KeyPath


@dataclass(frozen=True, slots=True)
class FleetTask:
    """A task, and the pod it becomes."""

    name: str
    """Folded."""
    pod: str
    """The pod's name."""
    pod_spec: dict[str, Any]
    """The data of the pod's spec."""
    spec: Task
    resource: FleetResource
    path: KeyPath


@dataclass(frozen=True, slots=True)
class FleetGroup:
    """A group of a workflow, and the PodGroup it becomes."""

    name: str
    """Folded."""
    pod_group: str
    """The PodGroup's name."""
    gang: Gang
    """How its tasks are placed, in their order."""
    tasks: tuple[FleetTask, ...]
    path: KeyPath

    @property
    def gpus(self) -> int:
        """GPUs that all its tasks ask for."""
        return sum(task.resource.spec.gpu for task in self.tasks)


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
    def is_one_gang(self) -> bool:
        """Whether it has but one group."""
        return len(self.groups) <= 1

    @property
    def largest_gang(self) -> int:
        """GPUs of its largest group."""
        return max((group.gpus for group in self.groups), default=0)

    @cached_property
    def gpus(self) -> int:
        """GPUs that all its groups ask for."""
        return sum(group.gpus for group in self.groups)


@dataclass(frozen=True)
class Fleet:
    """Everything, resolved."""

    repository: Repository
    config: ConfigSpec
    backends: tuple[FleetBackend, ...]
    topologies: tuple[FleetTopology, ...] = ()
    """Cluster topologies and the pools' own."""
    pools: tuple[FleetPool, ...] = ()
    """Sorted by name."""
    workflows: tuple[FleetWorkflow, ...] = ()
    """Sorted by name."""
    pod_groups: tuple[FleetPodGroup, ...] = ()
    """Sorted by namespace and name."""
    grove: Grove | None = None
    """Grove's configuration."""
    pod_clique_sets: tuple[FleetPodCliqueSet, ...] = ()
    """Sorted by namespace and name."""
    workloads: tuple[FleetWorkload, ...] = ()
    """Sorted by name and kind."""
    dangling: tuple[Dangling, ...] = field(default=())

    @property
    def settings(self) -> str:
        """The file that the settings come from; "the defaults" where there is none."""
        config = self.repository.config
        return config.origin.path if config else "the defaults"

    @property
    def submissions(self) -> tuple[Submission, ...]:
        """All that is sent to a queue."""
        return (*self.workflows, *self.workloads, *self.submitted_sets)

    @cached_property
    def submitted_sets(self) -> tuple[SubmittedSet, ...]:
        """The PodCliqueSets whose pool is known."""
        found = (item.submitted for item in self.pod_clique_sets)
        return tuple(item for item in found if item is not None)

    @cached_property
    def cluster_topologies(self) -> dict[str, FleetTopology]:
        """Cluster topologies by name, without the pools' own."""
        return {topology.name: topology for topology in self.topologies if topology.pool is None}

    @cached_property
    def pool_by_name(self) -> dict[str, FleetPool]:
        """Pools by name."""
        return {pool.name: pool for pool in self.pools}

    def leaf_queues(self, backend: FleetBackend) -> dict[str, str]:
        """The queues of ``backend`` that take workloads, and the pool or pool--subpool of each."""
        leaves: dict[str, str] = {}
        for pool in self.pools:
            if pool.backend == backend:
                leaves[pool.shared_queue] = pool.name
                live = (subpool for subpool in pool.subpools if subpool.state != "ARCHIVED")
                leaves.update((subpool.queue, subpool.canonical) for subpool in live)
        return leaves
