"""A workload in; what its pool demands of its manifest out: lines to add, and values that must agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from kubectl_tas.kai import Feature
from kubectl_tas.model import labels
from kubectl_tas.model.artifact import Phase
from kubectl_tas.model.repository import KeyPath, Origin
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.placement import FleetReplicas
from kubectl_tas.resolve.workload import FleetWorkload

JOB_TEMPLATES = ("CronJob", "JobSet")
"""The kinds that make jobs, whose labels are in a template of their own above that of the pods."""


class Mode(Enum):
    """What becomes of a value that is there already."""

    ADD = "add"
    """Another one is an error."""
    KEEP = "keep"
    """It stays."""
    AGREE = "agree"
    """Another one is an error; nothing is added where there is none."""
    RESOLVE = "resolve"
    """It names the same thing in the pool's words, and is replaced."""
    ABSENT = "absent"
    """Any one is an error; nothing is added."""


@dataclass(frozen=True, slots=True)
class Demand:
    """One value of a manifest."""

    path: KeyPath
    value: str
    why: str
    """What the value follows from, for messages."""
    mode: Mode = Mode.ADD


def demands(fleet: Fleet, workload: FleetWorkload) -> tuple[Demand, ...]:
    """All of them, in the order in which lines are added."""
    found = [*_root(fleet, workload), *_placements(workload)]
    for item in workload.templates:
        found += _template(fleet, workload, item)
    return tuple({demand.path: demand for demand in reversed(found)}.values())[::-1]


def changes(origin: Origin, demand: Demand) -> bool:
    """Whether a demand that nothing contradicts changes the text of a document."""
    present = origin.value(demand.path)
    if demand.mode is Mode.RESOLVE:
        return present != demand.value
    return demand.mode not in (Mode.AGREE, Mode.ABSENT) and present is None


def _root(fleet: Fleet, workload: FleetWorkload) -> Iterator[Demand]:
    backend = workload.pool.backend
    metadata: KeyPath = ("metadata",)
    yield Demand((*metadata, "namespace"), backend.namespace, f"the namespace of backend {backend.name}")
    if backend.is_kai:
        why = f"the queue of {workload.target}"
        yield Demand((*metadata, "labels", labels.QUEUE), workload.queue, why)
        if workload.kind == "TrainJob":
            yield Demand(("spec", "labels", labels.QUEUE), workload.queue, why)
    places = [(*metadata, "labels"), *([("spec", "labels")] if workload.kind == "TrainJob" else [])]
    yield from (_priority(fleet, workload, (*place, labels.PRIORITY_CLASS), Mode.AGREE) for place in places)
    yield Demand((*metadata, "labels", labels.MANAGED_BY), "kubectl-tas", "who renders it", Mode.KEEP)
    if fleet.config.gitops == "argocd":
        why = "the wave after that of its queue"
        yield Demand((*metadata, "annotations", labels.SYNC_WAVE), str(int(Phase.POD)), why, Mode.KEEP)


def _placements(workload: FleetWorkload) -> Iterator[Demand]:
    """Names of Topology objects, and levels by their node labels."""
    for path, topology in workload.fill:
        yield Demand(path, topology, f"the topology of pool {workload.pool.name}", Mode.RESOLVE)
    levels = [asked for placement in workload.placements for asked in placement.asked]
    for asked in (*levels, *workload.unread):
        yield Demand(asked.path, asked.level.label, f"the node label of {asked.level.key}", Mode.RESOLVE)


def _template(fleet: Fleet, workload: FleetWorkload, item: FleetReplicas) -> Iterator[Demand]:
    """What every pod template needs."""
    if item.type.template is None:
        return
    backend = workload.pool.backend
    metadata, spec = (*item.type.path, "metadata"), (*item.type.path, "spec")
    if workload.kind in JOB_TEMPLATES:
        yield from _job_template(fleet, workload, (*item.type.path[:-2], "metadata", "labels"))
    if backend.is_kai:
        yield Demand((*metadata, "labels", labels.QUEUE), workload.queue, f"the queue of {workload.target}")
    if workload.is_owned and backend.has(Feature.SKIP_PODGROUPER):
        sub_group, why = workload.sub_group(item), "the PodGroup that the workload's labels ask for"
        mode = Mode.ABSENT if sub_group is None else Mode.ADD
        yield Demand((*metadata, "labels", labels.SUBGROUP), sub_group or "", why, mode)
        yield Demand((*metadata, "annotations", labels.POD_GROUP), workload.pod_group, why)
        yield Demand((*metadata, "annotations", labels.SKIP_PODGROUPER), "true", why)
    yield _priority(fleet, workload, (*metadata, "labels", labels.PRIORITY_CLASS), Mode.AGREE)
    yield _priority(fleet, workload, (*spec, "priorityClassName"))
    if backend.is_kai:
        yield Demand((*spec, "schedulerName"), backend.scheduler_name, f"the scheduler of backend {backend.name}")


def _job_template(fleet: Fleet, workload: FleetWorkload, path: KeyPath) -> Iterator[Demand]:
    """Labels that KAI reads on the jobs too; their pods have them in any case."""
    if workload.pool.backend.is_kai:
        why = f"the queue of {workload.target}"
        yield Demand((*path, labels.QUEUE), workload.queue, why, Mode.AGREE)
    yield _priority(fleet, workload, (*path, labels.PRIORITY_CLASS), Mode.AGREE)


def _priority(fleet: Fleet, workload: FleetWorkload, path: KeyPath, mode: Mode = Mode.ADD) -> Demand:
    name = getattr(fleet.config.priorityClasses, workload.priority)
    return Demand(path, name, f"the PriorityClass of {workload.priority}", mode)
