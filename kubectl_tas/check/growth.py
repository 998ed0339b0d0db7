"""Work that may grow beyond what is counted: autoscaling, and elastic jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity, Waiving
from kubectl_tas.gangs.podgrouper import is_ray
from kubectl_tas.gpus import Gpus
from kubectl_tas.model.base import MAX_COUNT, KeyPath
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.cliqueset import SubmittedSet
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.resolve.workload import FleetWorkload

if TYPE_CHECKING:
    from kubectl_tas.model.ray import RayWorkload

GROWTH_UNCOUNTED = Rule(
    "growth-uncounted",
    Severity.WARNING,
    "Work may grow to more GPUs than are counted for it.",
    "What is compared with quotas is what the work starts with. What an autoscaler adds takes GPUs that others count "
    "on, or stays Pending. Lower maxReplicas to what is counted, or write as many replicas.",
    protects=Waiving.CONFIG,
)


@dataclass(frozen=True, slots=True)
class _Growth:
    """Parts of a workload that may become more."""

    path: KeyPath
    """Of the highest number of them."""
    start: int
    """How many are counted."""
    most: int | None
    """None: any number."""
    gpus: Gpus
    """GPUs of one."""
    what: str


def check_growth(fleet: Fleet) -> Iterator[Diagnostic]:
    """Workloads and PodCliqueSets whose pool is known; parts without GPUs are let alone."""
    for item in fleet.submissions:
        if isinstance(item, SubmittedSet):
            yield from _judged(item, _of_set(item))
        elif isinstance(item, FleetWorkload):
            yield from _judged(item, _of_workload(item))
    for companion in fleet.companions:
        if companion.kind == "HorizontalPodAutoscaler":
            yield from _autoscaled(fleet, companion)


def _autoscaled(fleet: Fleet, companion: FleetCompanion) -> Iterator[Diagnostic]:
    """A HorizontalPodAutoscaler sets spec.replicas of a workload: its pods, or the groups of a LeaderWorkerSet."""
    origin = companion.declared.origin
    target = origin.value(("spec", "scaleTargetRef"))
    most = origin.value(("spec", "maxReplicas"))
    if not (isinstance(target, dict) and isinstance(most, int)):
        return
    for item in fleet.workloads:
        there = (item.pool.backend, item.namespace) == (companion.backend, companion.namespace)
        if not there or (item.kind, item.name) != (target.get("kind"), target.get("name")) or not item.replicas:
            continue
        parts = item.replicas if item.kind == "LeaderWorkerSet" else (replace(item.replicas[0], replicas=1),)
        gpus = sum(part.replicas * part.gpus for part in parts)
        start = item.copies if item.kind == "LeaderWorkerSet" else item.replicas[0].replicas
        if gpus and most > start:
            message = (
                f"this HorizontalPodAutoscaler may take {item.kind} {item.name} from {start} to {most} replicas: "
                f"{item.gpus} GPUs are counted, and they may grow to {item.gpus + (most - start) * gpus}"
            )
            hint = "Lower it, or write as many replicas in the workload."
            place = companion.declared.at("spec", "maxReplicas")
            related = (Related(f"{item.kind} {item.name}", item.declared.at("metadata", "name")),)
            yield Diagnostic(GROWTH_UNCOUNTED, message, place, related, hint=hint)


def _judged(item: Submission, parts: Iterator[_Growth]) -> Iterator[Diagnostic]:
    for part in parts:
        if part.gpus and (part.most is None or part.most > part.start):
            many = "any number" if part.most is None else str(part.most)
            total = "without limit" if part.most is None else f"to {item.gpus + (part.most - part.start) * part.gpus}"
            message = (
                f"{part.what} may grow from {part.start} to {many}: "
                f"{item.gpus} GPUs of this {item.kind} are counted, and they may grow {total}"
            )
            place = item.declared.at(*part.path)
            yield Diagnostic(GROWTH_UNCOUNTED, message, place, hint="Lower it, or write as many replicas.")


def _of_workload(workload: FleetWorkload) -> Iterator[_Growth]:
    spec = workload.declared.spec
    if is_ray(spec):
        yield from _of_ray(workload, spec)
    elif spec.kind == "PyTorchJob":
        path: KeyPath = ("spec", "elasticPolicy", "maxReplicas")
        most = _number(workload, path)
        for item in workload.replicas:
            if most is not None and item.path[2] == "Worker":  # a master is always one
                yield _Growth(path, workload.pods, most, item.gpus, "the pods")


def _of_ray(workload: FleetWorkload, spec: RayWorkload) -> Iterator[_Growth]:
    """KubeRay 1.7: without its autoscaler a cluster stays as it is; with it, maxReplicas is any number by default."""
    if workload.declared.origin.value((*spec.cluster_path, "enableInTreeAutoscaling")) is not True:
        return
    for index, group in enumerate(spec.cluster.workerGroupSpecs):
        path = (*spec.cluster_path, "workerGroupSpecs", index, "maxReplicas")
        gpus = group.template.spec.gpus_with(group.template.metadata.annotations) * group.numOfHosts
        if not group.suspend:
            start = group.pods // group.numOfHosts
            yield _Growth(path, start, _number(workload, path), gpus, f"the workers of {group.groupName}")


def _of_set(sent: SubmittedSet) -> Iterator[_Growth]:
    """Grove: ``AutoScalingConfig`` of operator/api/core/v1alpha1/podclique.go, for each replica of the set."""
    times = sent.set.replicas
    for clique in sent.set.cliques:
        path: KeyPath = (*clique.path, "spec", "autoScalingConfig", "maxReplicas")
        gpus = times * clique.gpus
        yield _Growth(path, clique.spec.spec.replicas, _number(sent, path) or 0, gpus, f"the clique {clique.name}")
    for group in sent.set.groups:
        path = (*group.path, "scaleConfig", "maxReplicas")
        gpus = times * sum(clique.spec.spec.replicas * clique.gpus for clique in group.cliques)
        yield _Growth(path, group.spec.replicas, _number(sent, path) or 0, gpus, f"the scaling group {group.name}")


def _number(sent: Submission, path: KeyPath) -> int | None:
    """The number at a path; None where there is none that a cluster could count to."""
    written = sent.declared.origin.value(path)
    return written if type(written) is int and 0 <= written < MAX_COUNT else None
