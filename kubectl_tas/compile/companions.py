"""Companions in; the same text with their namespace and the tool's label added out."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.compile.metadata import folder
from kubectl_tas.compile.workloads import with_demands
from kubectl_tas.gangs.demands import companion_demands
from kubectl_tas.model.artifact import Artifact, PassThrough
from kubectl_tas.model.labels import POOL
from kubectl_tas.model.manifest import Metadata
from kubectl_tas.model.phase import Phase
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet

FOLDER = "companions"


def compile_companions(fleet: Fleet) -> Iterator[Artifact]:
    """Every companion of the fleet; those in another namespace than the backend's have a folder of their own.

    Its pool is the one that its label names, else that of all the work in its file.
    """
    pools = _pools_of_files(fleet) if fleet.companions else {}
    for item in fleet.companions:
        spec, backend, path = item.declared.spec, item.backend, item.declared.origin.path
        named = fleet.target(spec.metadata.labels.get(POOL, ""))
        beside = {named[0].name} if named else pools.get(path, set())
        manifest = PassThrough(
            apiVersion=spec.apiVersion,
            kind=spec.kind,
            metadata=Metadata(name=item.name, namespace=item.namespace),
            target=next(iter(beside)) if len(beside) == 1 else None,
            text=with_demands(item.declared.origin, companion_demands(fleet, item)),
        )
        where = folder(FOLDER, backend, item.namespace)
        file = names.file(f"{item.kind.lower()}-{item.name}")
        yield Artifact(backend.name, Phase.COMPANION, where, file, manifest, path)


def _pools_of_files(fleet: Fleet) -> dict[str, set[str]]:
    """The pools of the work in each file."""
    found: dict[str, set[str]] = {}
    for sent in fleet.submissions:
        found.setdefault(sent.declared.origin.path, set()).add(sent.pool.name)
    for group in fleet.pod_groups:
        if group.pool is not None:
            found.setdefault(group.declared.origin.path, set()).add(group.pool.name)
    return found
