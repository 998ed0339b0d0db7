"""Finds the cluster and the namespace of each companion of a workload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.base.late import dataclass
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.kindlists import Phase, group_of, phase_of_companion
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.clusters import Dangling, FleetBackend
from kubectl_tas.resolve.pools import Declarations

if TYPE_CHECKING:
    from kubectl_tas.model.podtemplate import Companion

ClusterNamespace = tuple[FleetBackend, str]
"""A cluster and one of its namespaces."""
CLAIM_TEMPLATE_NAME: KeyPath = ("spec", "channel", "resourceClaimTemplate", "name")


@dataclass(frozen=True, slots=True)
class FleetCompanion:
    """A companion with its cluster and namespace."""

    declared: Declared[Companion]
    backend: FleetBackend
    namespace: str
    """The companion's own namespace, or the namespace of the work in its file."""
    namespaces: tuple[str, ...]
    """The namespaces that the companion may use."""

    @property
    def kind(self) -> str:
        """Kind of the object."""
        return self.declared.spec.kind

    @property
    def name(self) -> str:
        """Name of the object."""
        return self.declared.spec.metadata.name

    @property
    def phase(self) -> Phase:
        """Place of the object in the order of application."""
        return phase_of_companion(self.declared.spec.apiVersion, self.kind, self.declared.origin.value(("spec",)))

    @property
    def place(self) -> Location:
        """The place of the name."""
        return self.declared.at("metadata", "name")

    @property
    def claim_template(self) -> str:
        """The ResourceClaimTemplate that NVIDIA's DRA driver makes of a ComputeDomain. Empty for other kinds."""
        name = self.declared.origin.value(CLAIM_TEMPLATE_NAME) if self.kind == "ComputeDomain" else None
        return name if isinstance(name, str) else ""

    @property
    def identity(self) -> tuple[str, ...]:
        """A key that no other object of the cluster may have."""
        return self.backend.name, self.namespace, group_of(self.declared.spec.apiVersion), self.kind, self.name


def resolve_companions(
    companions: Sequence[Declared[Companion]], work: Iterable[tuple[str, ClusterNamespace]], declarations: Declarations
) -> Iterator[FleetCompanion]:
    """Yields companions with their places: from the label kubectl-tas/pool; else from all work in the same file; else
    the only cluster with the namespace. ``work`` has file and place of all work. Others are left out.
    """
    places_of_file: dict[str, dict[tuple[str, str], ClusterNamespace]] = {}
    for path, (backend, namespace) in work if companions else ():
        places_of_file.setdefault(path, {})[backend.name, namespace] = backend, namespace
    for declared in companions:
        companion = _companion(declared, places_of_file.get(declared.origin.path, {}), declarations)
        if companion is not None:
            yield companion


def _companion(
    declared: Declared[Companion], places_beside: Mapping[tuple[str, str], ClusterNamespace], declarations: Declarations
) -> FleetCompanion | None:
    metadata = declared.spec.metadata
    pool_name = metadata.labels.get(labels.POOL)
    if pool_name:
        target = declarations.target(pool_name, declared, ("metadata", "labels", labels.POOL))
        if target is None:
            return None
        pool, subpool = target
        allowed = (subpool or pool).namespaces
        return FleetCompanion(declared, pool.backend, metadata.namespace or allowed[0], allowed)
    allowed_places = [candidate for candidate in places_beside.values() if metadata.namespace in (None, candidate[1])]
    clusters = {backend.name: backend for backend, _ in places_beside.values()}
    if len(allowed_places) == 1:
        return _companion_at(declared, *allowed_places[0], declarations)
    if not allowed_places and len(clusters) == 1:  # its namespace is another than that of the work beside it
        (backend,) = clusters.values()
        return _companion_at(declared, backend, backend.namespace, declarations)
    if not allowed_places:
        candidates = [x for x in declarations.backends if metadata.namespace in (None, *namespaces_of(x, declarations))]
        candidates = candidates or ([declarations.backends[0]] if len(declarations.backends) == 1 else [])
        if len(candidates) == 1:
            default, *other_namespaces = namespaces_of(candidates[0], declarations)
            if metadata.namespace or not other_namespaces or default == candidates[0].namespace:
                return _companion_at(declared, candidates[0], default, declarations)
    names = tuple(f"{each.name} ({', '.join(namespaces_of(each, declarations))})" for each in declarations.backends)
    declarations.dangling.append(Dangling("place of a companion", metadata.name, names, declared, ("metadata", "name")))
    return None


def _companion_at(
    declared: Declared[Companion], backend: FleetBackend, default: str, declarations: Declarations
) -> FleetCompanion:
    namespace = declared.spec.metadata.namespace or default
    return FleetCompanion(declared, backend, namespace, namespaces_of(backend, declarations))


def namespaces_of(backend: FleetBackend, declarations: Declarations) -> tuple[str, ...]:
    """Returns the namespaces for work in a cluster, the backend's own first if a pool uses it or no pool exists."""
    pools = (pool for pool in declarations.pools.values() if pool.backend == backend)
    namespaces = dict.fromkeys(name for pool in pools for name in pool.namespaces)
    is_own = backend.namespace in namespaces or not namespaces
    return tuple(dict.fromkeys((backend.namespace, *namespaces))) if is_own else tuple(namespaces)
