"""Keeps what other work of a queue must know of a submission after the submission's documents are released."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import NOTHING, Amounts
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.osmo_workflow import Priority
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool, Submission

OWNERS = ("owner", "team")
"""Labels that name an owner, with any prefix. The first has precedence."""


@dataclass(frozen=True, slots=True)
class Request:
    """The request of a submission and all submissions that share its gang."""

    asks: Amounts = NOTHING
    """Requests of all pods that run at a time."""
    largest: Amounts = NOTHING
    """Requests of the pods that must start together: for each resource, of the gang with the largest request."""
    first: Amounts = NOTHING
    """Requests of the pods that must start together, of the gang with the smallest request; with less, nothing runs."""
    is_one_gang: bool = True
    """Whether no pod runs before all pods can run."""


@dataclass(frozen=True, slots=True)
class KeptValues:
    """The values that are kept of a submission, without any document."""

    kind: str
    name: str
    priority: Priority
    namespace: str
    gang: str | None
    asks: Amounts
    """Requests of all pods of the submission itself."""
    request: Request
    """Request of the submission with all submissions that share its gang."""
    platforms: tuple[str, ...]
    objects: int
    owner: str = ""
    """The owner that the labels of the work itself name."""


def kept_values(submission: Submission, request: Request) -> KeptValues:
    """Returns the data to keep of a submission, which asks for ``request``."""
    platforms, objects = submission.used_platforms, submission.objects
    return KeptValues(
        submission.kind,
        submission.name,
        submission.priority,
        submission.namespace,
        submission.gang,
        submission.asks,
        request,
        platforms,
        objects,
        own_owner(submission),
    )


def own_owner(submission: Submission) -> str:
    """Returns the owner that the labels of the work itself name; empty if they name none."""
    if isinstance(submission, Summary):
        return submission.kept.owner
    spec = submission.declared.spec
    return named_owner(spec.workflow.labels if submission.kind == "Workflow" else spec.metadata.labels)


def named_owner(labels: Mapping[str, str]) -> str:
    """Returns the owner that labels name; empty if they name none."""
    owner_keys = [key for key in labels if key.rpartition("/")[2] in OWNERS and labels[key]]
    return labels[min(owner_keys, key=lambda key: (OWNERS.index(key.rpartition("/")[2]), key))] if owner_keys else ""


@dataclass(frozen=True, slots=True)
class ReleasedOrigin:
    """The rest of a released document: its file, and one location."""

    path: str
    place: Location
    index: int = 0
    within: KeyPath = ()
    data: None = None
    text: str = ""

    def locate(self, path: KeyPath, *, key: bool = False) -> Location:
        """Returns the one location."""
        return self.place

    def value(self, path: KeyPath) -> object:
        """Returns None, since the content was released."""
        return None

    def source_text(self, path: KeyPath) -> str | None:
        """Returns None, since the text was released."""
        return None


def _kept(name: str) -> Any:
    """Returns a property that reads the kept value of that name."""
    return property(attrgetter(f"kept.{name}"))


@dataclass(frozen=True)
class Summary(Submission):
    """Work of a file that was compiled on its own."""

    declared: Declared[None]
    """Declaration without a model, with the file and the location of the pool's name."""
    pool: FleetPool
    subpool: FleetSubpool | None
    kept: KeptValues

    name = _kept("name")
    kind = _kept("kind")
    priority = _kept("priority")
    request = _kept("request")
    asks = _kept("asks")
    namespace = _kept("namespace")
    gang = _kept("gang")
    used_platforms = _kept("platforms")
    objects = _kept("objects")

    @property
    def place(self) -> Location:
        """Location of the pool's name in the file."""
        return self.declared.at()
