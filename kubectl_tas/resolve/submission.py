"""What workflows and workloads have in common: a queue that they are sent to, with GPUs that they ask for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from kubectl_tas.diagnostics import Location
from kubectl_tas.model.repository import Declared
from kubectl_tas.model.workflow import Priority

if TYPE_CHECKING:
    from kubectl_tas.resolve.fleet import FleetPool, FleetSubpool

UNLIMITED = -1


class Submission(ABC):
    """A workflow or a workload."""

    declared: Declared[Any]
    name: str
    pool: FleetPool
    subpool: FleetSubpool | None
    """None: the pool's shadow queue."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """Workflow, or the kind of the workload."""

    @property
    @abstractmethod
    def priority(self) -> Priority:
        """HIGH, NORMAL or LOW."""

    @property
    @abstractmethod
    def gpus(self) -> int:
        """GPUs that all its pods ask for."""

    @property
    @abstractmethod
    def largest_gang(self) -> int:
        """GPUs of the largest gang that must start together."""

    @property
    @abstractmethod
    def is_one_gang(self) -> bool:
        """Whether nothing of it runs before all of it can."""

    @property
    @abstractmethod
    def place(self) -> Location:
        """Where its pool stands."""

    @property
    def gang(self) -> str | None:
        """The gang that it is in with others; None where its gangs are its own."""
        return None

    @property
    def gang_gpus(self) -> int:
        """GPUs that it asks for, together with all that are in its gang."""
        return self.gpus

    @property
    def queue(self) -> str:
        """Name of the leaf queue."""
        return self.subpool.queue if self.subpool else self.pool.shared_queue

    @property
    def quota(self) -> int:
        """GPUs guaranteed to that queue; -1: no limit."""
        return self.subpool.quota if self.subpool else self.pool.shared_quota

    @property
    def target(self) -> str:
        """The pool or pool--subpool, as users name it."""
        return self.subpool.canonical if self.subpool else self.pool.name
