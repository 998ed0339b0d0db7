"""Finds what autoscalers set: the replicas of their targets, and between which bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kubectl_tas.base.late import dataclass
from kubectl_tas.kinds import DEFAULT_SCALED
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.mentions import SCALED

_OF_KEDA = 100


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """A HorizontalPodAutoscaler, or another companion with scaleTargetRef."""

    companion: FleetCompanion
    kind: str
    """Kind of its target."""
    name: str
    """Name of its target."""
    field: str
    """Field of the spec with the maximum."""
    least: int
    most: int | None
    """Maximum number of replicas; None: no limit."""

    @property
    def target(self) -> tuple[str, str, str, str]:
        """The cluster, namespace, kind and name of the target."""
        return self.companion.backend.name, self.companion.namespace, self.kind, self.name


def autoscalers(companions: Iterable[FleetCompanion]) -> Iterator[Autoscaler]:
    """Yields all autoscalers. Defaults of Kubernetes 1.35: 1 and a maximum that is required; of KEDA 2: 0 and 100."""
    for companion in companions:
        origin, kind = companion.declared.origin, companion.kind
        target, spec = origin.value(SCALED[:-1]), origin.value(SCALED[:1])
        if not isinstance(target, dict) or not isinstance(target.get("name"), str) or not isinstance(spec, dict):
            continue
        is_keda, is_own = kind == "ScaledObject", kind == "HorizontalPodAutoscaler"
        ending = "ReplicaCount" if is_keda or ("maxReplicaCount" in spec and not is_own) else "Replicas"
        least, most = spec.get(f"min{ending}"), spec.get(f"max{ending}")
        if most is None and is_keda:
            most = _OF_KEDA
        elif type(most) is not int:
            most = 0 if is_own else None  # an API server refuses it
        least = least if type(least) is int else 0 if is_keda else 1
        named = str(target.get("kind") or DEFAULT_SCALED), target["name"]
        yield Autoscaler(companion, *named, f"max{ending}", least, most)


def counted(workloads: Sequence[FleetWorkload], companions: Sequence[FleetCompanion]) -> list[FleetWorkload]:
    """Returns the workloads. One that writes no replicas, and whose replicas an autoscaler sets, has the autoscaler's
    maximum of them: this is what quotas count. A PodGroup that the tool writes keeps its size.
    """
    most = {scaler.target: scaler.most for scaler in autoscalers(companions) if scaler.most}
    return [_of_most(x, most.get((x.pool.backend.name, x.namespace, x.kind, x.name))) if most else x for x in workloads]


def _of_most(workload: FleetWorkload, most: int | None) -> FleetWorkload:
    is_written = workload.declared.origin.value(("spec", "replicas")) is not None
    if most is None or workload.is_owned or is_written or not workload.is_scaled_alone:
        return workload
    if workload.declared.spec.page.start.copies:
        return replace(workload, autoscaled=most)
    return replace(workload, replicas=tuple(replace(pods, replicas=most, indices=most) for pods in workload.replicas))
