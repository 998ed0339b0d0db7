"""Reads a workload's own object, and the objects between it and its pods: which kinds are read, and what they say.

What each controller makes follows Kubernetes (pkg/controller/{deployment,cronjob}), JobSet, LeaderWorkerSet, KubeRay,
the trainer and the MPI operator of Kubeflow, and Grove's operator. The training operator makes pods itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from operator import index
from typing import Any

from kubectl_tas.base.late import dataclass
from kubectl_tas.kinds import SET, page_of
from kubectl_tas.model.podkinds import DeclaredKind


def resources(kind: str, declared: Iterable[DeclaredKind] = ()) -> dict[str, str]:
    """Returns the kinds to read for work of a kind, besides PodGroups and pods, with kubectl's names of them."""
    page = page_of(kind) or next((x.described for x in declared if x.described.recognition.unique_name == kind), None)
    if page is None or page.gang.names_its_own:
        return {}
    recognition = page.recognition
    found = {recognition.kind: f"{recognition.resource}.{recognition.versions[0].rpartition('/')[0]}".rstrip(".")}
    return found | {made.kind: f"{made.kind.lower()}s.{made.group}" for made in page.makes.objects}


def stop_path(kind: str) -> tuple[str, ...]:
    """Returns the path that tells an object of a kind to make no pods: ``suspend``, or ``replicas``."""
    page = page_of(kind)
    of_sets = {made.kind: made.switch for made in SET.page.makes.objects} if page is None else {}
    return page.stop.switch if page is not None else of_sets.get(kind, ("spec", "suspend"))


@dataclass(frozen=True, slots=True)
class Controller:
    """An object that makes pods, or that makes objects which make pods."""

    namespace: str
    kind: str
    name: str
    owners: tuple[tuple[str, str], ...]
    """Kind and name of each owner."""
    labels: Mapping[str, Any] = field(hash=False)
    deleted: str
    """Time at which somebody deleted the object; empty if nobody has."""
    finalizers: tuple[str, ...]
    """Finalizers, which must be removed before the object goes."""
    is_suspended: bool
    """Whether the object is told to make no pods for now."""
    is_scaled_down: bool
    """Whether the object is told to have no replicas."""
    ended: tuple[tuple[str, str], ...]
    """Conditions that hold, by type, with the reason."""
    failed: int = 0
    """Number of pods of a Job that have failed, the removed ones too."""
    backoff_limit: int = 0
    """Number of failed pods that a Job bears."""

    def retries(self, failed: int) -> bool:
        """Whether the object is a Job that makes others in place of this many failed pods."""
        return self.kind == "Job" and 0 < failed <= self.backoff_limit and not self.is_suspended

    def why(self, types: Collection[str]) -> str | None:
        """Returns why the first condition of one of the types holds; None if no such condition holds."""
        return next((why for type_, why in self.ended if type_ in types), None)

    @property
    def is_limited(self) -> bool:
        """Whether a Job gives up after a number of failed pods. With a limit for each index it has none for all."""
        return self.backoff_limit < _NO_LIMIT


def owners_of(item: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Returns the kind and name of each owner of an object."""
    references = item["metadata"].get("ownerReferences") or ()
    return tuple((str(owner.get("kind")), str(owner.get("name"))) for owner in references)


def controller(item: Mapping[str, Any]) -> Controller:
    """Converts an object as kubectl prints it. Raises KeyError, TypeError, AttributeError or ValueError for others."""
    kind, metadata, status = str(item["kind"]), item["metadata"], item.get("status") or {}
    path = stop_path(kind)
    told: Any = item
    for step in path:
        told = (told or {}).get(step)
    return Controller(
        metadata.get("namespace") or "default",
        kind,
        metadata["name"],
        owners_of(item),
        {**(metadata.get("labels") or {})},
        str(metadata.get("deletionTimestamp") or ""),
        tuple(map(str, metadata.get("finalizers") or ())),
        is_suspended=path[-1] == "suspend" and told is True,
        is_scaled_down=path[-1] == "replicas" and told == 0,
        ended=tuple(
            (str(condition.get("type")), ": ".join(str(condition[key]) for key in _WHY if condition.get(key)))
            for condition in status.get("conditions") or ()
            if condition.get("status") == "True"
        ),
        failed=index(status.get("failed") or 0) if kind == "Job" else 0,
        backoff_limit=index((item.get("spec") or {}).get("backoffLimit", _BACKOFF_LIMIT)) if kind == "Job" else 0,
    )


_WHY = ("reason", "message")
_BACKOFF_LIMIT, _NO_LIMIT = 6, 2**31 - 1
"""The default, and that of a Job with ``backoffLimitPerIndex``, of Kubernetes (pkg/apis/batch/v1/defaults.go)."""
