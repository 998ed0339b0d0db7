"""Predicts the objects that KAI's scheduler sees of an applied fleet: rendered objects, and Pods and PodGroups that
controllers make.

Real names of controllers end in a UID or in random letters. This module derives names from the work, so that one
repository always gives the same objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from itertools import groupby
from typing import Any

from kubectl_tas.compile.cluster_objects import (
    compile_priority_classes,
    compile_queues,
    compile_topologies,
    topologies_elsewhere,
)
from kubectl_tas.compile.passthrough import compile_companions, compile_members
from kubectl_tas.compile.podgroups import compile_owned, pass_pod_groups, predicted, preview_set_pod_groups
from kubectl_tas.compile.workflow_objects import compile_workflows
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.apply_demands import demanded
from kubectl_tas.gangs.pool_demands import demands
from kubectl_tas.gangs.workload_gang import batches
from kubectl_tas.gangs.written_gangs import previewed_gangs
from kubectl_tas.late import dataclass
from kubectl_tas.load.document import parse
from kubectl_tas.model.artifact import Artifact, PassThrough
from kubectl_tas.model.base import KeyPath, Model
from kubectl_tas.model.labels import MAX_NAME, POD_GROUP, SUBGROUP
from kubectl_tas.model.manifest import Metadata, PodGroup
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.placement import ReplicaType
from kubectl_tas.resolve.pools import work_name

Object = dict[str, Any]
_RENDERED: tuple[Callable[[Fleet], Iterable[Artifact]], ...] = (
    *(compile_priority_classes, compile_topologies, compile_queues, compile_companions),
    *(compile_workflows, pass_pod_groups, compile_owned, compile_members),
)


@dataclass
class Seen:
    """Objects that the scheduler sees."""

    objects: list[Object] = field(default_factory=list)
    """Rendered objects, and objects that controllers make. Pods of each SubGroup follow the file's order."""
    elsewhere: list[Object] = field(default_factory=list)
    """Topologies that are declared here, and that Grove or another tool makes if they are missing."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Work whose pods are unknown, as ``Kind/name``, with the reason."""


def seen(whole: Fleet, backend: FleetBackend) -> Seen:
    """Returns all objects of a backend with KAI, in a fleet without errors."""
    fleet = whole.of_backend(backend.name)
    found = Seen(elsewhere=[_dumped(item) for item in topologies_elsewhere(fleet, backend)])
    for made in _RENDERED:
        own = (artifact for artifact in made(fleet) if artifact.backend == backend.name)
        found.objects += (_pod_of(data) for artifact in own for data in _data(artifact))
    for workload in fleet.workloads:
        reason = _unknown(workload)
        if reason:
            found.left_out[work_name(workload.kind, workload.name)] = reason
        elif workload.is_owned:
            found.objects += _owned(fleet, workload)
        else:
            found.objects += _made(fleet, workload)
    found.objects += _sets(fleet)
    known = {id(submitted) for submitted, _ in previewed_gangs(fleet)}
    for submitted in fleet.submitted_sets:
        if id(submitted) not in known:
            found.left_out[work_name(submitted.kind, submitted.name)] = "its gangs are not known, or too many"
    for group in fleet.pod_groups:
        if not group.pods:
            found.left_out[work_name("PodGroup", group.name)] = "its Pods are not declared here"
    return found


def _data(artifact: Artifact) -> Iterator[Object]:
    """Yields the data of an artifact, as a client would send it."""
    manifest = artifact.manifest
    if isinstance(manifest, PassThrough):
        documents, problems = parse("manifests", manifest.text)
        assert not problems, problems
        yield from (document.data for document in documents)
    else:
        yield _dumped(manifest)


def _dumped(manifest: Model) -> Object:
    return manifest.model_dump(mode="json", by_alias=True, exclude_none=True)


def _pod_of(made: Object) -> Object:
    """Returns the pod of a Job, or any other object unchanged."""
    if made["kind"] != "Job":
        return made
    template = made["spec"]["template"]
    where = {key: made["metadata"][key] for key in ("name", "namespace") if key in made["metadata"]}
    return _pod({**template.get("metadata", {}), **where}, template["spec"])


def _pod(about: Object, spec: Object) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec}


def _unknown(workload: FleetWorkload) -> str:
    """Returns why the pods of a workload, or their PodGroup, are unknown; empty if both are known."""
    if any(item.template is None for item in workload.replicas):
        return "its pod templates are in another object"
    if not podgrouper.is_predicted(workload):
        return "its pods say themselves which PodGroup they are in"
    if not podgrouper.lists_parts(workload):
        return "it has too many SubGroups"
    if podgrouper.asks_for_more(workload):
        return "KAI does not make the segments that it asks for"
    return ""


def _owned(fleet: Fleet, workload: FleetWorkload) -> Iterator[Object]:
    """Yields the pods of a workload whose PodGroup ``render`` writes. Its templates name the PodGroup."""
    data = demanded(workload.declared.origin, demands(fleet, workload))
    for item in workload.replicas:
        template = _Template(workload, item, data)
        yield from (template.pod(str(index)) for index in range(item.replicas))


def _made(fleet: Fleet, workload: FleetWorkload) -> Iterator[Object]:
    """Yields the PodGroups that KAI makes of a workload, each with its pods."""
    data = demanded(workload.declared.origin, demands(fleet, workload))
    uid = names.digest(f"{workload.kind}/{workload.namespace}/{workload.name}")
    for item, gang, spec in predicted(fleet, workload):
        part = "" if item is workload else f"-{item.replicas[0].name}"
        copies = item.copies if podgrouper.is_one_pod_group(item) else item.pods
        for number in range(copies):
            copy = f"-{number}" if copies > 1 else ""
            name = names.shorten(f"{gang.name}-{uid}{part}{copy}", MAX_NAME)
            about = Metadata(name=name, namespace=item.namespace, labels=item.kai_labels)
            yield _dumped(PodGroup(metadata=about, spec=spec))
            for template, own in groupby(batches(item, gang), key=lambda batch: batch.template):
                places = [batch.sub_group for batch in own for _ in range(batch.pods)]
                pods = _Template(workload, template, data)
                for index, sub_group in enumerate(places):
                    ordinal = f"{number}-{index}" if copies > 1 else str(index)
                    yield pods.pod(ordinal, name, sub_group)


def _sets(fleet: Fleet) -> Iterator[Object]:
    """Yields the PodGroups of PodCliqueSets, each with the pods of its cliques."""
    gangs = [(submitted, gang) for submitted, gang in previewed_gangs(fleet) if submitted.pool.backend.is_kai]
    for (submitted, gang), artifact in zip(gangs, preview_set_pod_groups(fleet), strict=True):
        data, cliques = demanded(submitted.declared.origin, demands(fleet, submitted)), dict(submitted.set.pod_cliques)
        yield from _data(artifact)
        for part in gang.leaves:
            clique = _at(data, cliques[part.name].path)
            for index in range(part.pods):
                about = {
                    "name": f"{part.name}-{index}",
                    "namespace": submitted.namespace,
                    "labels": {**(clique.get("labels") or {}), SUBGROUP: part.name},
                    "annotations": {**(clique.get("annotations") or {}), POD_GROUP: artifact.manifest.metadata.name},
                }
                yield _pod(about, clique["spec"]["podSpec"])


@dataclass(frozen=True)
class _Template:
    """The source of equal pods of a workload."""

    workload: FleetWorkload
    item: ReplicaType
    data: Any
    """Data of the rendered workload."""

    def pod(self, ordinal: str, pod_group: str | None = None, sub_group: str | None = None) -> Object:
        """Returns one pod. The arguments give its gang if the template does not."""
        written = _at(self.data, self.item.metadata_path) or {}
        about = {
            "name": f"{self.workload.file_name}-{self.item.name}-{ordinal}",
            "namespace": self.workload.namespace,
            "labels": {**(written.get("labels") or {}), **({SUBGROUP: sub_group} if sub_group is not None else {})},
            "annotations": {**(written.get("annotations") or {}), **({POD_GROUP: pod_group} if pod_group else {})},
        }
        return _pod(about, self.item.pod_spec(self.data))


def _at(data: Any, path: KeyPath) -> Any:
    for step in path:
        data = data.get(step) if isinstance(data, dict) else data[step]
        if data is None:
            return None
    return data
