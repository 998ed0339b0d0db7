"""For how long a gang waits: the annotations of a workload that say so, and which of them KAI reads."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas import durations
from kubectl_tas.gangs import podgrouper
from kubectl_tas.kai import Feature
from kubectl_tas.model.base import KeyPath
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.placement import ROOT


def waits(workload: FleetWorkload, name: str) -> Iterator[tuple[KeyPath, str]]:
    """Where a workload says for how long its gang waits, in the annotation ``name``, and what it says there. First
    the places that KAI reads, of which it takes the first.
    """
    metadata = {ROOT: workload.declared.spec.metadata.annotations}
    metadata |= dict(item.job_annotations for item in workload.replicas if item.job_annotations)
    pods = {item.annotations_path: item.annotations for item in workload.replicas}
    at = podgrouper.row(workload).placed_at
    for place, written in ({at: metadata.get(at, {})} | pods | metadata).items():
        if name in written:
            yield (*place, name), written[name]


def reads_wait(workload: FleetWorkload, path: KeyPath) -> bool:
    """Whether KAI reads an annotation of ``waits``: on what makes the PodGroup's pods, and on the pods themselves."""
    return path[:-1] in (podgrouper.row(workload).placed_at, *(item.annotations_path for item in workload.replicas))


def wait(workload: FleetWorkload, name: str, feature: Feature) -> str | None:
    """The duration of that name that the PodGroup of a workload has, as Go writes it; None where it has none."""
    if not workload.pool.backend.has(feature):
        return None
    read = (durations.parse(text) for path, text in waits(workload, name) if reads_wait(workload, path))
    found = next((item for item in read if item is not None), None)
    return None if found is None else durations.text(found)
