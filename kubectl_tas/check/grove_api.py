"""Checks that PodCliqueSets and cluster topologies use only fields that the backend's release of Grove has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule
from kubectl_tas.base.words import closest, did_you_mean
from kubectl_tas.check.settings import VERSION_UNKNOWN, newer
from kubectl_tas.check.versions import unsupported
from kubectl_tas.facts import grove
from kubectl_tas.facts.grove import DEFAULT_TOPOLOGY, GroveRelease
from kubectl_tas.facts.kai import Feature
from kubectl_tas.kinds import SET, kubernetes
from kubectl_tas.kinds.kubernetes import OperatorShapes, Shape
from kubectl_tas.kinds.section import mappings, written
from kubectl_tas.load.schema import invalid_value
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin
from kubectl_tas.model.topology_kinds import DOMAINS, ClusterTopology
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.podcliqueset import FleetPodCliqueSet
from kubectl_tas.resolve.topologies import FleetTopology

_SCHEDULERS = tuple(dict.fromkeys(name for release in grove.TABLE for name in release.schedulers))
GROVE_UNSUPPORTED = Rule.error(
    "grove-unsupported",
    "The backend's Grove cannot express a set or a cluster topology.",
    "`render` converts old and new spellings to the one that the release accepts. The API server would drop or refuse "
    "fields that the release lacks. Update Grove there, and grove.version with it, or leave out what the message "
    "names.",
)
SET_FIELD = Rule.warning(
    "set-field",
    "Grove has no such field in a set or an OperatorConfiguration.",
    "The API server drops unknown fields without a message. Correct the spelling or the indentation. kubectl-tas knows "
    "the fields of Grove 0.1.0-alpha.8 to 0.1.0-alpha.12. If a newer release has the field, waive the rule.",
)
_NEARLY = 2
"""Maximum number of typing errors in a field for which a hint still suggests the right name."""
_Fields: TypeAlias = "Mapping[str, _Fields | None]"
"""Fields of a mapping, or of each mapping in a list. None: other rules check the content, or any key is valid."""
_ELSEWHERE = ("templateSpec", "topologyConstraint")
"""Fields of a set whose content other rules check, or none."""
_ROOT = dict.fromkeys(("apiVersion", "kind", "metadata", "status"))
_SYNCS: _Fields = {"concurrentSyncs": None}
_SERVER: _Fields = {"bindAddress": None, "port": None}


def check_grove_release(backend: FleetBackend, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks Grove's release of a backend."""
    config, version = fleet.repository.config, backend.spec.grove.version
    if config is None or "grove" not in backend.spec.model_fields_set:
        return
    location = config.at("spec", "backends", backend.index, "grove", "version")
    if grove.release(version) is None:
        message = f"Grove {version} is not in the version table, which begins with {grove.TABLE[0].since}"
        yield Diagnostic(VERSION_UNKNOWN, message, location, hint="Name the release that runs there.")
    elif grove.is_newer(version):
        yield newer("Grove", version, grove.NEWEST, location)
    is_met = backend.release is None or backend.has(Feature.SKIP_PODGROUPER)
    if backend.grove_release.writes_pod_groups and not is_met:
        feature = f"Grove {version}, which writes the PodGroups of PodCliqueSets itself,"
        yield unsupported(backend, Feature.SKIP_PODGROUPER, feature, location, "use a Grove that leaves them to KAI")


def check_set_release(clique_set: FleetPodCliqueSet, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Reports the first constraint if the release has none at all, else each constraint that it cannot express."""
    backend = clique_set.backend
    if backend is None:
        return
    release, origin = backend.grove_release, clique_set.declared.origin
    for clique in clique_set.cliques if not release.takes_node_selectors else ():
        path = (*clique.path, "spec", "podSpec", "nodeSelector")
        if origin.value(path) is not None:
            yield _needs(backend, "a nodeSelector", lambda row: row.takes_node_selectors, origin.locate(path, key=True))
    asking = [(constraint, path) for constraint, path in clique_set.spec.constraints if constraint.asks]
    if asking and not release.has_constraints:
        location = origin.locate(asking[0][1], key=True)
        yield _needs(backend, "a topologyConstraint", lambda row: row.has_constraints, location)
        return
    name = clique_set.spec.topology_name
    if asking and name not in (None, DEFAULT_TOPOLOGY) and not release.has_names:
        feature = f'a cluster topology other than {DEFAULT_TOPOLOGY}, such as "{name}",'
        yield _needs(backend, feature, lambda row: row.has_names, clique_set.place_of(clique_set.spec.references[0][1]))
    for constraint, path in asking:
        if constraint.preferred is not None and not release.has_pack:
            location = clique_set.declared.at(*path, "pack", "preferred")
            yield _needs(backend, "a preferred domain", lambda row: row.has_pack, location)


def check_topology_release(topology: FleetTopology, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a cluster topology against the backends whose sets use it. If none does, checks only what all backends
    lack.
    """
    if topology.pool is not None:
        return
    used = {s.backend for s in fleet.pod_clique_sets if s.topology == topology and s.backend is not None}
    lacking = [backend for backend in fleet.backends if not backend.grove_release.has_free_domains]
    concerned = [backend for backend in lacking if backend in used]
    if not used and len(lacking) == len(fleet.backends):
        concerned = lacking
    declared = topology.declared
    for backend in concerned[:1]:
        if isinstance(declared.spec, ClusterTopology) and declared.spec.kind == "ClusterTopologyBinding":
            yield _needs(backend, "a ClusterTopologyBinding", lambda row: row.has_names, declared.at("kind"))
        if len(topology.levels) > grove.MAX_LEVELS:
            location = declared.at(*topology.path, grove.MAX_LEVELS, "domain")
            yield _needs(backend, f"the level {grove.MAX_LEVELS + 1}", lambda row: row.has_free_domains, location)
        for index, level in enumerate(topology.levels):
            if level.key not in DOMAINS:
                location = declared.at(*topology.path, index, "domain")
                feature = f'the domain "{level.key}", which is not one of {", ".join(DOMAINS)},'
                yield _needs(backend, feature, lambda row: row.has_free_domains, location)


def _needs(backend: FleetBackend, feature: str, has: Callable[[GroveRelease], bool], location: Location) -> Diagnostic:
    """Returns a finding that ``feature`` needs a later release: the first for which ``has`` is true."""
    first_release = grove.first_with(has)
    message = (
        f"{feature} needs Grove {first_release} or later; backend {backend.name} runs {backend.spec.grove.version}"
    )
    hint = f"Update Grove there to {first_release} or later, or leave it out."
    return Diagnostic(GROVE_UNSUPPORTED, message, location, hint=hint)


@cache
def _of_sets() -> _Fields:
    """Returns the fields of the CRD in any known release, and clusterTopologyName (there: topologyName)."""
    set_fields = _below(OperatorShapes("grove", None, kubernetes.nearest(None)).kind(SET.versions[0], SET.kind))
    set_fields["spec"]["template"]["clusterTopologyName"] = None
    return set_fields


def _below(shape: Shape) -> dict[str, Any]:
    """Returns the fields of a type that this module checks; None for other types of Kubernetes' own."""
    fields_below: dict[str, Any] = {}
    for name, field in (shape.fields or {}).items():
        inner_field = field.items or field
        is_own = inner_field.fields and inner_field.is_foreign and name not in _ELSEWHERE
        fields_below[name] = _below(inner_field) if is_own else None
    return fields_below


@cache
def _of_operators() -> _Fields:
    """Returns the fields of OperatorConfiguration in ``operator/api/config/v1alpha1/types.go``. Adds ``default`` and
    ``createTopologyResources`` of a profile, from Grove's proposals about placement.
    """
    return {
        **_ROOT,
        "topologyAwareScheduling": None,
        "authorizer": {"enabled": None, "exemptServiceAccountUserNames": None},
        "controllers": dict.fromkeys(("podClique", "podCliqueScalingGroup", "podCliqueSet", "podGang"), _SYNCS),
        "debugging": dict.fromkeys(("enableProfiling", "pprofBindHost", "pprofBindPort")),
        "leaderElection": dict.fromkeys(
            (
                "enabled",
                "leaseDuration",
                "renewDeadline",
                "resourceLock",
                "resourceName",
                "resourceNamespace",
                "retryPeriod",
            )
        ),
        **dict.fromkeys(("logFormat", "logLevel")),
        "network": {"autoMNNVLEnabled": None},
        "runtimeClientConnection": dict.fromkeys(("acceptContentTypes", "burst", "contentType", "qps")),
        "scheduler": {
            "defaultProfileName": None,
            "profiles": {
                "name": None,
                "config": dict.fromkeys(("createTopologyResources", "gangScheduling")),
                "default": None,
            },
        },
        "server": {
            "healthProbes": _SERVER,
            "metrics": _SERVER,
            "webhooks": {**_SERVER, **dict.fromkeys(("certProvisionMode", "secretName", "serverCertDir"))},
        },
    }


def check_grove_fields(clique_set: FleetPodCliqueSet, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the fields of a PodCliqueSet."""
    yield from _unknown(clique_set.declared.origin, _of_sets(), f"a {SET.kind}")


def check_operator_fields(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the fields of the OperatorConfiguration that applies."""
    if fleet.grove.operator is not None:
        yield from _unknown(fleet.grove.operator.origin, _of_operators(), "an OperatorConfiguration")
        yield from _profiles(fleet.grove.operator.origin)


def _profiles(origin: Origin) -> Iterator[Diagnostic]:
    """Checks the names of profiles, and that the default is one of them (``validateSchedulerConfiguration`` of Grove's
    operator/api/config/validation/validation.go). Grove adds the profile of the default scheduler itself.
    """
    path, rows = ("scheduler", "defaultProfileName"), ("scheduler", "profiles")
    default, profiles = origin.value(path), list(mappings(origin.value(rows)))
    for index, profile in enumerate(profiles):
        name = profile.get("name")
        if isinstance(name, str) and name not in _SCHEDULERS:
            hint = did_you_mean(name, _SCHEDULERS)
            yield invalid_value(origin, (*rows, index, "name"), f"must be one of {', '.join(_SCHEDULERS)}", name, hint)
            return
    names = ["default-scheduler", *(str(profile.get("name")) for profile in profiles)]
    if isinstance(default, str) and default and profiles and default not in names:
        hint = f"Use one of {', '.join(dict.fromkeys(names))}, or add a profile of this name."
        yield invalid_value(origin, path, "must be the name of a profile", default, hint)


def _unknown(origin: Origin, table: _Fields, kind: str) -> Iterator[Diagnostic]:
    everywhere = frozenset(_names(table))
    for path, field, known_fields in _walk(origin.value(()), table, ()):
        original = closest(field, sorted(known_fields), most=_NEARLY, folds=True)
        otherwise = "Move it to where it belongs." if field in everywhere else "Remove it, or waive the rule."
        where = f"{written(path)} of {kind}" if path else kind
        message = f'Grove has no field "{field}" in {where}, and drops it'
        hint = f'Did you mean "{original}"?' if original else otherwise
        yield Diagnostic(SET_FIELD, message, origin.locate((*path, field), key=True), hint=hint)


def _walk(value: object, table: _Fields, path: KeyPath) -> Iterator[tuple[KeyPath, str, _Fields]]:
    """Yields the unknown fields, each with the path of its mapping and the known fields of that mapping."""
    if isinstance(value, list):
        for index, child in enumerate(value):
            yield from _walk(child, table, (*path, index))
    elif isinstance(value, dict):
        for field, child in value.items():
            if field not in table:
                yield path, field, table
            elif (inner := table[field]) is not None:
                yield from _walk(child, inner, (*path, field))


def _names(table: _Fields) -> Iterator[str]:
    for name, inner in table.items():
        yield name
        yield from _names(inner or {})
