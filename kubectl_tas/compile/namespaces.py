"""Namespaces in which work of the pools may run."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.compile.metadata import metadata
from kubectl_tas.model.artifact import Artifact
from kubectl_tas.model.manifest import Namespace
from kubectl_tas.model.phase import Phase
from kubectl_tas.resolve.fleet import Fleet

ALWAYS_THERE = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
"""Namespaces that an API server makes itself, and does not let anybody delete."""


def compile_namespaces(fleet: Fleet) -> Iterator[Artifact]:
    """Where the Config asks for it, those of every backend's pools. A GitOps tool never removes one that a repository
    no longer names: all that is in a namespace goes with it.
    """
    if not fleet.config.createNamespaces:
        return
    for backend in fleet.backends:
        sources: dict[str, list[str]] = {}
        for pool in (pool for pool in fleet.pools if pool.backend == backend):
            source = pool.declared.origin.path if pool.declared.spec.spec.namespaces else fleet.settings
            for name in pool.namespaces:
                sources.setdefault(name, []).append(source)
        for name in sorted(sources.keys() - ALWAYS_THERE):
            manifest = Namespace(metadata=metadata(fleet, name, Phase.NAMESPACE, keep=True))
            source = " and ".join(dict.fromkeys(sources[name]))
            yield Artifact(backend.name, Phase.NAMESPACE, "namespaces", f"{name}.yaml", manifest, source)
