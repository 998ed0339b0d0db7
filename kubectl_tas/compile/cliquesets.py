"""PodCliqueSets in; the same text out, with what their pool demands and in the words of the cluster's Grove."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_tas.compile.metadata import folder
from kubectl_tas.compile.podgroups import WORKLOADS
from kubectl_tas.compile.workloads import with_demands
from kubectl_tas.gangs.demands import demands
from kubectl_tas.grove import TEMPLATE, Release
from kubectl_tas.load.splice import FIRST, Entry, Renamed
from kubectl_tas.model.artifact import Artifact, PassThrough
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.manifest import Metadata
from kubectl_tas.model.phase import Phase
from kubectl_tas.resolve import names
from kubectl_tas.resolve.cliqueset import SubmittedSet
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.model.grove import PackConstraint


def compile_sets(fleet: Fleet) -> Iterator[Artifact]:
    """Every PodCliqueSet whose pool is known."""
    for submitted in fleet.submitted_sets:
        backend, declared = submitted.pool.backend, submitted.declared
        wanted = demands(fleet, submitted)
        manifest = PassThrough(
            apiVersion=declared.spec.apiVersion,
            kind=declared.spec.kind,
            metadata=Metadata(name=submitted.name, namespace=submitted.namespace),
            target=submitted.target,
            text=with_demands(declared.origin, wanted, tuple(_respelled(submitted))),
        )
        file = names.file(f"podcliqueset-{submitted.name}")
        where = folder(WORKLOADS, backend, submitted.namespace)
        yield Artifact(backend.name, Phase.POD, where, file, manifest, declared.origin.path)


def _respelled(submitted: SubmittedSet) -> Iterator[Entry]:
    """What makes a set one that the API server of its cluster takes, and that means the same: the numbers and roles
    of cliques, which no release may lack, and the constraints in the words of the release.

    Expects that the release can say what they say (check.grove_api).
    """
    item, release = submitted.set, submitted.pool.backend.grove_release
    written = item.declared.origin.value(TEMPLATE)
    if isinstance(written, dict) and "clusterTopologyName" in written:
        yield (*TEMPLATE, "clusterTopologyName"), None, None
    for clique in item.cliques:
        if clique.spec.spec.roleName is None:
            yield (*clique.path, "spec", "roleName"), clique.name, FIRST
        if "replicas" not in clique.spec.spec.model_fields_set:
            yield (*clique.path, "spec", "replicas"), 1, "roleName"
    top: KeyPath = (*TEMPLATE, "topologyConstraint")
    inherited = any(constraint.asks and path == top for constraint, path in item.constraints)
    for constraint, path in item.constraints:
        if not constraint.asks:
            yield path, None, None  # no release has one that names a topology and no domain
            continue
        if release.has_names and constraint.topologyName is None and (path == top or not inherited):
            yield (*path, "topologyName"), item.topology_name, FIRST
        elif not release.has_names and constraint.topologyName is not None:
            yield (*path, "topologyName"), None, None
        yield from _domains(constraint, path, release)


def _domains(constraint: PackConstraint, path: KeyPath, release: Release) -> Iterator[Entry]:
    if release.has_pack and constraint.packDomain is not None:
        if constraint.pack is None:
            yield (*path, "packDomain"), Renamed("pack", {"required": constraint.packDomain}), None
        else:
            yield (*path, "pack", "required"), constraint.packDomain, FIRST
            yield (*path, "packDomain"), None, None
    elif not release.has_pack and constraint.pack is not None and constraint.pack.required is not None:
        yield (*path, "pack"), Renamed("packDomain", constraint.pack.required), None
