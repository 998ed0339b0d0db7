"""What the Grove of each backend can express, by its release."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kubectl_tas import grove
from kubectl_tas.check.config import VERSION_UNKNOWN, newer
from kubectl_tas.check.versions import unsupported
from kubectl_tas.diagnostics import Diagnostic, Location, Rule, Severity
from kubectl_tas.grove import DEFAULT_TOPOLOGY, Release
from kubectl_tas.kai import Feature
from kubectl_tas.model.topology import DOMAINS, ClusterTopology
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.podcliqueset import FleetPodCliqueSet
from kubectl_tas.resolve.topologies import FleetTopology

GROVE_UNSUPPORTED = Rule(
    "grove-unsupported",
    Severity.ERROR,
    "A PodCliqueSet or a cluster topology asks for what the Grove release of its backend cannot express.",
    "Old and new spellings are converted to what the release accepts. What it has no words for its API server would "
    "drop or refuse. Update Grove there, and grove.version with it, or leave out what the message names.",
)


def check_grove_versions(fleet: Fleet) -> Iterator[Diagnostic]:
    """Grove's release of each backend, then the sets and the cluster topologies of each."""
    for backend in fleet.backends:
        yield from _version(fleet, backend)
    for item in fleet.pod_clique_sets:
        if item.backend is not None:
            yield from _set(item, item.backend)
    for topology in fleet.cluster_topologies.values():
        yield from _topology(fleet, topology)


def _version(fleet: Fleet, backend: FleetBackend) -> Iterator[Diagnostic]:
    config, version = fleet.repository.config, backend.spec.grove.version
    if config is None or "grove" not in backend.spec.model_fields_set:
        return
    place = config.at("spec", "backends", backend.index, "grove", "version")
    if grove.release(version) is None:
        message = f"Grove {version} is not in the version table, which begins with {grove.TABLE[0].since}"
        yield Diagnostic(VERSION_UNKNOWN, message, place, hint="Name the release that runs there.")
    elif grove.is_newer(version):
        yield newer("Grove", version, grove.NEWEST, place)
    is_met = backend.release is None or backend.has(Feature.SKIP_PODGROUPER)
    if backend.grove_release.writes_pod_groups and not is_met:
        what = f"Grove {version}, which writes the PodGroups of PodCliqueSets itself,"
        yield unsupported(backend, Feature.SKIP_PODGROUPER, what, place, "use a Grove that leaves them to KAI")


def _set(item: FleetPodCliqueSet, backend: FleetBackend) -> Iterator[Diagnostic]:
    """Of a release without constraints the first one, of any other what it cannot say of each."""
    release, origin = backend.grove_release, item.declared.origin
    asking = [(constraint, path) for constraint, path in item.constraints if constraint.asks]
    if asking and not release.has_constraints:
        place = origin.locate(asking[0][1], key=True)
        yield _needs(backend, "a topologyConstraint", lambda row: row.has_constraints, place)
        return
    name = item.topology_name
    if asking and name not in (None, DEFAULT_TOPOLOGY) and not release.has_names:
        what = f'a cluster topology other than {DEFAULT_TOPOLOGY}, such as "{name}",'
        yield _needs(backend, what, lambda row: row.has_names, item.place_of(item.references[0][1]))
    for constraint, path in asking:
        if constraint.preferred is not None and not release.has_pack:
            place = item.declared.at(*path, "pack", "preferred")
            yield _needs(backend, "a preferred domain", lambda row: row.has_pack, place)


def _topology(fleet: Fleet, topology: FleetTopology) -> Iterator[Diagnostic]:
    """Against the backends whose sets use it; where none does, only against what all backends lack."""
    used = {item.backend for item in fleet.pod_clique_sets if item.topology == topology and item.backend is not None}
    lacking = [backend for backend in fleet.backends if not backend.grove_release.has_free_domains]
    concerned = [backend for backend in lacking if backend in used]
    if not used and len(lacking) == len(fleet.backends):
        concerned = lacking
    declared = topology.declared
    for backend in concerned[:1]:
        if isinstance(declared.spec, ClusterTopology) and declared.spec.kind == "ClusterTopologyBinding":
            yield _needs(backend, "a ClusterTopologyBinding", lambda row: row.has_names, declared.at("kind"))
        if len(topology.levels) > grove.MAX_LEVELS:
            place = declared.at(*topology.path, grove.MAX_LEVELS, "domain")
            yield _needs(backend, f"the level {grove.MAX_LEVELS + 1}", lambda row: row.has_free_domains, place)
        for index, level in enumerate(topology.levels):
            if level.key not in DOMAINS:
                place = declared.at(*topology.path, index, "domain")
                what = f'the domain "{level.key}", which is none of {", ".join(DOMAINS)},'
                yield _needs(backend, what, lambda row: row.has_free_domains, place)


def _needs(backend: FleetBackend, what: str, has: Callable[[Release], bool], place: Location) -> Diagnostic:
    """That ``what`` needs the first release which ``has`` it."""
    first = grove.first_with(has)
    message = f"{what} needs Grove {first} or later; backend {backend.name} runs {backend.spec.grove.version}"
    hint = f"Update Grove there to {first} or later, or leave it out."
    return Diagnostic(GROVE_UNSUPPORTED, message, place, hint=hint)
