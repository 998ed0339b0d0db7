"""A fleet in, the objects to apply out: an ordered tuple of plain functions, each for one kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_tas.compile.access import compile_access
from kubectl_tas.compile.cliquesets import compile_sets
from kubectl_tas.compile.companions import compile_companions
from kubectl_tas.compile.guard import compile_guards
from kubectl_tas.compile.namespaces import compile_namespaces
from kubectl_tas.compile.podgangs import preview_pod_gangs
from kubectl_tas.compile.podgroups import (
    compile_owned,
    pass_pod_groups,
    preview_pod_groups,
    preview_set_pod_groups,
)
from kubectl_tas.compile.queues import compile_priority_classes, compile_queues
from kubectl_tas.compile.topologies import compile_bindings, compile_topologies
from kubectl_tas.compile.workflows import compile_workflows
from kubectl_tas.compile.workloads import compile_members, compile_workloads
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.model.artifact import Artifact

PASSES: tuple[Callable[[Fleet], Iterable[Artifact]], ...] = (
    compile_namespaces,
    compile_priority_classes,
    compile_guards,
    compile_access,
    compile_topologies,
    compile_bindings,
    compile_queues,
    compile_companions,
    compile_workflows,
    pass_pod_groups,
    compile_owned,
    compile_workloads,
    compile_members,
    compile_sets,
    preview_pod_groups,
    preview_pod_gangs,
    preview_set_pod_groups,
)


def compile_fleet(fleet: Fleet) -> tuple[Artifact, ...]:
    """All objects of a fleet without errors, by backend and then in the order in which they are applied.

    A fleet that declares nothing gives nothing.
    """
    if fleet.repository.is_empty:
        return ()
    backends = {backend.name: backend.index for backend in fleet.backends}
    artifacts = _in_own_files([artifact for run in PASSES for artifact in run(fleet)])
    return tuple(sorted(artifacts, key=lambda artifact: (backends[artifact.backend], *artifact.order)))


def _in_own_files(artifacts: Sequence[Artifact]) -> Iterator[Artifact]:
    """The artifacts, no two in one file: a namespace and a name may join to what another two join to."""
    uses = Counter((artifact.backend, artifact.folder, artifact.file) for artifact in artifacts)
    for artifact in artifacts:
        if uses[artifact.backend, artifact.folder, artifact.file] == 1:
            yield artifact
        else:
            identity = "/".join((artifact.manifest.apiVersion, *map(str, artifact.order)))
            stem = artifact.file.removesuffix(".yaml")
            yield replace(artifact, file=names.file(f"{stem}-{names.digest(identity)}"))
