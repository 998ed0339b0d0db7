"""Workloads in; the PodGroups that KAI's PodGrouper will make of them out, to be read and not applied.

Of what a release does not make, segments above all, they show what is asked for, and say so.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.compile.gangs import Part, gang_of, is_predicted
from kubectl_tas.compile.gangspec import gang_spec
from kubectl_tas.model.artifact import Artifact, Phase
from kubectl_tas.model.labels import MANAGED_BY, POOL, QUEUE
from kubectl_tas.model.manifest import Metadata, PodGroup
from kubectl_tas.model.workload import LeaderWorkerSet
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.workload import KAI_SUBGROUP_KINDS, FleetWorkload

FOLDER = "preview"
NOTE = "kubectl-tas/preview"
"""Annotation that says what a preview is."""
PODS = "pods.kubectl-tas/"
"""Prefix of the annotations that say which indices a SubGroup has."""
INDEX = "index.kubectl-tas/"
"""Prefix of the annotations that say which label holds the indices of a replica type."""


def compile_previews(fleet: Fleet) -> Iterator[Artifact]:
    """One for each workload whose PodGroup KAI makes, and is known and not too large to be read."""
    for workload in fleet.workloads:
        made = workload.pool.backend.is_kai and not workload.is_owned and workload.lists_segments
        if made and is_predicted(workload) and workload.pods:
            yield _preview(fleet, workload)


def _preview(fleet: Fleet, workload: FleetWorkload) -> Artifact:
    backend, gang = workload.pool.backend, gang_of(workload)
    spec = gang_spec(fleet, workload, gang)
    indexed = {**_index_labels(workload), **dict(_ranges(gang))} if spec.subGroups else {}
    manifest = PodGroup(
        metadata=Metadata(
            name=gang.name,
            namespace=backend.namespace,
            labels={QUEUE: workload.queue, MANAGED_BY: "kubectl-tas", POOL: workload.target},
            annotations={NOTE: note(workload, divided=bool(spec.subGroups)), **indexed},
        ),
        spec=spec,
    )
    source = workload.declared.origin.path
    file = names.file(f"podgroup-{workload.file_name}")
    return Artifact(backend.name, Phase.POD_GROUP, FOLDER, file, manifest, source, apply=False)


def note(workload: FleetWorkload, *, divided: bool) -> str:
    """What is shown of a workload, with its SubGroups where it is ``divided``, in one line."""
    name, release = f"{workload.kind} {workload.name}", workload.pool.backend.release
    asked = _beyond(workload) if divided else ""
    text = f"What KAI makes of {name}"
    if asked and release:
        text = f"What {asked} of {name} ask for, and not what KAI {release.version} makes of it"
    text = f"{text}; its name goes on with the UID"
    spec = workload.declared.spec
    if isinstance(spec, LeaderWorkerSet):
        text = f"{text} and -group-N, one for each of {workload.shape.copies} replicas"
        if spec.spec.startupPolicy == "LeaderReady":
            text = f"{text}; until the leader is ready, 1 pod is enough"
    return text


def _beyond(workload: FleetWorkload) -> str:
    """The annotations that ask for SubGroups which the release does not make; empty where it makes them all."""
    if workload.is_segmented and not workload.kai_segments:
        return "the segment annotations"
    if workload.has_sub_groups and workload.kind not in KAI_SUBGROUP_KINDS:
        return "the placements of pod templates"
    return ""


def _index_labels(workload: FleetWorkload) -> dict[str, str]:
    return {f"{INDEX}{item.type.name}": item.segments.index_label for item in workload.replicas if item.segments}


def _ranges(part: Part) -> Iterator[tuple[str, str]]:
    """The indices of every SubGroup that is known by them."""
    for child in part.parts:
        if child.indices is not None:
            yield f"{PODS}{child.name}", indices(child.indices)
        yield from _ranges(child)


def indices(span: tuple[int, int]) -> str:
    """``4 to 7``, or ``4``."""
    first, last = span
    return str(first) if first == last else f"{first} to {last}"
