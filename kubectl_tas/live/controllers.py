"""A workload's own object, and the objects between it and its pods: which kinds are read, and what they say.

What each controller makes: Kubernetes (pkg/controller/{deployment,cronjob}), JobSet, LeaderWorkerSet, KubeRay, the
trainer and the MPI operator of Kubeflow, and Grove's operator. The training operator makes pods itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubectl_tas.model.workloadkinds import KUBEFLOW, WORKLOADS
from kubectl_tas.records import dataclass

_MADE: dict[str, tuple[str, ...]] = {
    "CronJob": ("Job",),
    "Deployment": ("ReplicaSet",),
    "JobSet": ("Job",),
    "LeaderWorkerSet": ("StatefulSet",),
    "MPIJob": ("Job",),
    "Notebook": ("StatefulSet",),
    "PodCliqueSet": ("PodCliqueScalingGroup", "PodClique"),
    "RayJob": ("RayCluster", "Job"),
    "RayService": ("RayCluster",),
    "TrainJob": ("JobSet", "Job"),
}
_GROUPS = {kind: versions[0].rpartition("/")[0] for kind, (_, versions) in WORKLOADS.items()} | {
    "ReplicaSet": "apps",
    "PodCliqueSet": "grove.io",
    "PodCliqueScalingGroup": "grove.io",
    "PodClique": "grove.io",
}
_REPLICATED = frozenset({"Deployment", "StatefulSet", "LeaderWorkerSet", "PodCliqueSet"})


def resources(kind: str) -> dict[str, str]:
    """What is read of work of a kind beside PodGroups and pods: kinds, and the names by which kubectl knows them."""
    known = (kind, *_MADE.get(kind, ())) if kind in _GROUPS and kind != "Pod" else ()
    return {name: f"{name.lower()}s.{_GROUPS[name]}" for name in known}


def stop_path(kind: str) -> tuple[str, ...]:
    """Where an object of a kind says that no pods are to be made of it: its ``suspend``, or its ``replicas``."""
    if kind in _REPLICATED or kind in ("ReplicaSet", "PodClique"):
        return "spec", "replicas"
    return ("spec", "runPolicy", "suspend") if kind in KUBEFLOW else ("spec", "suspend")


@dataclass(frozen=True, slots=True)
class Controller:
    """An object that makes pods, or makes what makes them."""

    data: Mapping[str, Any]
    """As kubectl prints it."""

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.data["kind"])

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.data["metadata"]["name"])

    @property
    def is_suspended(self) -> bool:
        """Whether it is told to make no pods for now."""
        path = stop_path(self.kind)
        return path[-1] == "suspend" and self._at(path) is True

    @property
    def is_scaled_down(self) -> bool:
        """Whether it is told to have no replicas."""
        path = stop_path(self.kind)
        return path[-1] == "replicas" and self._at(path) == 0

    @property
    def deleted(self) -> str:
        """When somebody deleted it; empty where nobody has."""
        return str(self.data["metadata"].get("deletionTimestamp") or "")

    @property
    def finalizers(self) -> tuple[str, ...]:
        """What must be done before it goes."""
        return tuple(map(str, self.data["metadata"].get("finalizers") or ()))

    @property
    def labels(self) -> Mapping[str, Any]:
        """Its labels."""
        return self.data["metadata"].get("labels") or {}

    @property
    def owners(self) -> tuple[tuple[str, str], ...]:
        """Kind and name of what made it."""
        written = self.data["metadata"].get("ownerReferences") or ()
        return tuple((str(owner.get("kind")), str(owner.get("name"))) for owner in written)

    def condition(self, *types: str) -> Mapping[str, Any] | None:
        """The first condition of one of the types that holds."""
        listed = (self.data.get("status") or {}).get("conditions") or ()
        return next((item for item in listed if item.get("type") in types and item.get("status") == "True"), None)

    def _at(self, path: Iterable[str]) -> object:
        found: Any = self.data
        for step in path:
            found = (found or {}).get(step)
        return found
