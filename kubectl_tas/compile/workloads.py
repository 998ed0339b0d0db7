"""Workloads in; the same text with what their pool demands added out. Nothing that the user wrote is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_tas.compile.metadata import folder
from kubectl_tas.compile.podgroups import WORKLOADS
from kubectl_tas.gangs.demanded import entries_of, merged
from kubectl_tas.gangs.demands import Demand, demands, member_demands
from kubectl_tas.load.alike import reads_alike
from kubectl_tas.load.splice import Entry, with_values
from kubectl_tas.model.artifact import Artifact, PassThrough
from kubectl_tas.model.manifest import Metadata
from kubectl_tas.model.phase import Phase
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.yaml import block


def compile_workloads(fleet: Fleet) -> Iterator[Artifact]:
    """Every workload of the fleet."""
    for workload in fleet.workloads:
        backend, spec = workload.pool.backend, workload.declared.spec
        manifest = PassThrough(
            apiVersion=spec.apiVersion,
            kind=spec.kind,
            metadata=Metadata(name=workload.name, namespace=workload.namespace),
            target=workload.target,
            text=with_demands(workload.declared.origin, demands(fleet, workload)),
        )
        source = workload.declared.origin.path
        where = folder(WORKLOADS, backend, workload.namespace)
        yield Artifact(backend.name, Phase.POD, where, names.file(workload.file_name), manifest, source)


def compile_members(fleet: Fleet) -> Iterator[Artifact]:
    """The Pods that join PodGroups which are written by hand."""
    for group in fleet.pod_groups:
        for pod in group.pods:
            manifest = PassThrough(
                apiVersion=pod.spec.apiVersion,
                kind=pod.spec.kind,
                metadata=Metadata(name=pod.spec.metadata.name, namespace=group.namespace),
                target=group.pool.name if group.pool else None,
                text=with_demands(pod.origin, member_demands(fleet, group, pod.origin)),
            )
            file = names.file(f"pod-{pod.spec.metadata.name}")
            where = folder(WORKLOADS, group.backend, group.namespace)
            yield Artifact(group.backend.name, Phase.POD, where, file, manifest, pod.origin.path)


def with_demands(origin: Origin, wanted: Sequence[Demand], further: Sequence[Entry] = ()) -> str:
    """The text of a document in which ``wanted`` holds, after which ``further`` entries are changed.

    It is the author's own with lines added, where all readers of YAML take that for the data that was checked. Else,
    as behind an anchor, and where it was written as JSON, that data is written anew, without comments. Expects that
    nothing there contradicts the demands (check.workload_labels); raises TasError otherwise.
    """
    entries = [*entries_of(origin, wanted), *further]
    if not origin.path.endswith(".json"):
        text = origin.text.replace("\r\n", "\n")
        edited = with_values(text, origin.data, entries) if reads_alike(text) else None
        if edited is not None:
            return edited
    return block(merged(origin.data, entries))
