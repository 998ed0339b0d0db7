"""What is kept of work once its documents are let go: what the other work of its queue must know of it."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from kubectl_tas.diagnostics import Location
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.osmo_workflow import Priority
from kubectl_tas.model.repository import Declared
from kubectl_tas.quantities import NOTHING, Amounts
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool, Submission


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a queue by a submission and all that share its gang."""

    asks: Amounts = NOTHING
    """What all pods ask for that run at a time."""
    largest: Amounts = NOTHING
    """What the pods ask for that must start together, in the gang that asks for most of each resource."""
    first: Amounts = NOTHING
    """The same of the gang that starts with the least: with less, nothing of it runs."""
    is_one_gang: bool = True
    """Whether nothing of it runs before all of it can."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What is sent to a queue, as plain data."""

    kind: str
    name: str
    priority: Priority
    namespace: str
    gang: str | None
    asks: Amounts
    """What all its own pods ask for."""
    request: Request
    """What it asks for, with all that share its gang."""
    platforms: tuple[str, ...]
    objects: int


def sent(item: Submission, request: Request) -> Sent:
    """What is to be kept of a submission, which asks for ``request``."""
    platforms, objects = item.used_platforms, item.objects
    return Sent(item.kind, item.name, item.priority, item.namespace, item.gang, item.asks, request, platforms, objects)


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a document: its file, and the one place that is asked for."""

    path: str
    place: Location
    index: int = 0
    within: KeyPath = ()
    data: None = None
    text: str = ""

    def locate(self, path: KeyPath, *, key: bool = False) -> Location:
        """The one place."""
        return self.place

    def value(self, path: KeyPath) -> object:
        """Nothing: what was written was let go."""
        return None

    def source_text(self, path: KeyPath) -> str | None:
        """Likewise."""
        return None


def _sent(name: str) -> Any:
    """A property that is what is kept under that name."""
    return property(attrgetter(f"sent.{name}"))


@dataclass(frozen=True)
class Summary(Submission):
    """Work of a file that was compiled by itself."""

    declared: Declared[None]
    """Without a model: it knows the file, and where the pool stands in it."""
    pool: FleetPool
    subpool: FleetSubpool | None
    sent: Sent

    name = _sent("name")
    kind = _sent("kind")
    priority = _sent("priority")
    request = _sent("request")
    asks = _sent("asks")
    namespace = _sent("namespace")
    gang = _sent("gang")
    used_platforms = _sent("platforms")
    objects = _sent("objects")

    @property
    def place(self) -> Location:
        """Where its pool stands."""
        return self.declared.at()
