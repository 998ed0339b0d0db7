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

from kubectl_tas.base.late import dataclass
from kubectl_tas.compile.cluster_objects import (
    compile_priority_classes,
    compile_queues,
    compile_topologies,
    topologies_elsewhere,
)
from kubectl_tas.compile.passthrough import compile_companions, compile_member_pods
from kubectl_tas.compile.podgroups import compile_owned_pod_groups, pass_pod_groups, predicted, preview_set_pod_groups
from kubectl_tas.compile.workflow_objects import compile_workflows
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.apply_demands import demanded
from kubectl_tas.gangs.pool_demands import demands
from kubectl_tas.gangs.workload_gang import batches
from kubectl_tas.gangs.written_gangs import previewed_gangs
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
    *(compile_workflows, pass_pod_groups, compile_owned_pod_groups, compile_member_pods),
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
    objects_seen = Seen(elsewhere=[_dumped(topology) for topology in topologies_elsewhere(fleet, backend)])
    for made in _RENDERED:
        artifacts = (artifact for artifact in made(fleet) if artifact.backend == backend.name)
        objects_seen.objects += (_pod_of(document) for artifact in artifacts for document in _data(artifact))
    for workload in fleet.workloads:
        reason = _unknown(workload)
        if reason:
            objects_seen.left_out[work_name(workload.kind, workload.name)] = reason
        elif workload.is_owned:
            objects_seen.objects += _owned(fleet, workload)
        else:
            objects_seen.objects += _made(fleet, workload)
    objects_seen.objects += _sets(fleet)
    previewed = {id(submitted) for submitted, _ in previewed_gangs(fleet)}
    for submitted in fleet.submitted_sets:
        if id(submitted) not in previewed:
            objects_seen.left_out[work_name(submitted.kind, submitted.name)] = "its gangs are not known, or too many"
    for group in fleet.pod_groups:
        if not group.pods:
            objects_seen.left_out[work_name("PodGroup", group.name)] = "its Pods are not declared here"
    return objects_seen


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


def _pod(meta: Object, spec: Object) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _unknown(workload: FleetWorkload) -> str:
    """Returns why the pods of a workload, or their PodGroup, are unknown; empty if both are known."""
    if any(replicated.template is None for replicated in workload.replicas):
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
    document = demanded(workload.declared.origin, demands(fleet, workload))
    for replicated in workload.replicas:
        template = _Template(workload, replicated, document)
        yield from (template.pod(str(index)) for index in range(replicated.replicas))


def _made(fleet: Fleet, workload: FleetWorkload) -> Iterator[Object]:
    """Yields the PodGroups that KAI makes of a workload, each with its pods."""
    document = demanded(workload.declared.origin, demands(fleet, workload))
    uid = names.digest(f"{workload.kind}/{workload.namespace}/{workload.name}")
    for sub_workload, gang, spec in predicted(fleet, workload):
        replica_name = "" if sub_workload is workload else f"-{sub_workload.replicas[0].name}"
        copies = sub_workload.copies if podgrouper.is_one_pod_group(sub_workload) else sub_workload.pods
        for number in range(copies):
            copy = f"-{number}" if copies > 1 else ""
            name = names.shorten(f"{gang.name}-{uid}{replica_name}{copy}", MAX_NAME)
            meta = Metadata(name=name, namespace=sub_workload.namespace, labels=sub_workload.kai_labels)
            yield _dumped(PodGroup(metadata=meta, spec=spec))
            for template, group_batches in groupby(batches(sub_workload, gang), key=lambda batch: batch.template):
                places = [batch.sub_group for batch in group_batches for _ in range(batch.pods)]
                pods = _Template(workload, template, document)
                for index, sub_group in enumerate(places):
                    ordinal = f"{number}-{index}" if copies > 1 else str(index)
                    yield pods.pod(ordinal, name, sub_group)


def _sets(fleet: Fleet) -> Iterator[Object]:
    """Yields the PodGroups of PodCliqueSets, each with the pods of its cliques."""
    gangs = [(submitted, gang) for submitted, gang in previewed_gangs(fleet) if submitted.pool.backend.is_kai]
    for (submitted, gang), artifact in zip(gangs, preview_set_pod_groups(fleet), strict=True):
        document = demanded(submitted.declared.origin, demands(fleet, submitted))
        cliques = dict(submitted.set.pod_cliques)
        yield from _data(artifact)
        for unit in gang.leaves:
            clique = _at(document, cliques[unit.name].path)
            for index in range(unit.pods):
                meta = {
                    "name": f"{unit.name}-{index}",
                    "namespace": submitted.namespace,
                    "labels": {**(clique.get("labels") or {}), SUBGROUP: unit.name},
                    "annotations": {**(clique.get("annotations") or {}), POD_GROUP: artifact.manifest.metadata.name},
                }
                yield _pod(meta, clique["spec"]["podSpec"])


@dataclass(frozen=True)
class _Template:
    """The source of equal pods of a workload."""

    workload: FleetWorkload
    replicated: ReplicaType
    document: Any
    """Data of the rendered workload."""

    def pod(self, ordinal: str, pod_group: str | None = None, sub_group: str | None = None) -> Object:
        """Returns one pod. The arguments give its gang if the template does not."""
        meta_in_file = _at(self.document, self.replicated.metadata_path) or {}
        meta = {
            "name": f"{self.workload.file_name}-{self.replicated.name}-{ordinal}",
            "namespace": self.workload.namespace,
            "labels": {
                **(meta_in_file.get("labels") or {}),
                **({SUBGROUP: sub_group} if sub_group is not None else {}),
            },
            "annotations": {**(meta_in_file.get("annotations") or {}), **({POD_GROUP: pod_group} if pod_group else {})},
        }
        return _pod(meta, self.replicated.pod_spec(self.document))


def _at(node: Any, path: KeyPath) -> Any:
    for step in path:
        node = node.get(step) if isinstance(node, dict) else node[step]
        if node is None:
            return None
    return node
