"""What is kept of work once its documents are let go: what the other work of its queue must know of it."""

from __future__ import annotations

from kubectl_tas.diagnostics import Location
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared
from kubectl_tas.model.workflow import Priority
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


@dataclass(frozen=True)
class Summary(Submission):
    """Work of a file that was compiled by itself."""

    declared: Declared[None]
    """Without a model: it knows the file, and where the pool stands in it."""
    pool: FleetPool
    subpool: FleetSubpool | None
    sent: Sent

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of the work."""
        return self.sent.name

    @property
    def kind(self) -> str:
        """Workflow, or the kind of the object."""
        return self.sent.kind

    @property
    def priority(self) -> Priority:
        """HIGH, NORMAL or LOW."""
        return self.sent.priority

    @property
    def request(self) -> Request:
        """What it asks for."""
        return self.sent.request

    @property
    def asks(self) -> Amounts:
        """What all its pods ask for."""
        return self.sent.asks

    @property
    def place(self) -> Location:
        """Where its pool stands."""
        return self.declared.at()

    @property
    def namespace(self) -> str:
        """Where it runs."""
        return self.sent.namespace

    @property
    def gang(self) -> str | None:
        """The gang that it shares with others of its file."""
        return self.sent.gang

    @property
    def used_platforms(self) -> tuple[str, ...]:
        """The platforms of its pool that its tasks run on."""
        return self.sent.platforms

    @property
    def objects(self) -> int:
        """How many objects are applied for it, at least."""
        return self.sent.objects
