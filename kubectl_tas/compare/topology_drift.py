"""Finds PodCliqueSets whose topology has changed or is missing, in the repository or in a cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Literal, Protocol

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.diagnostics import Diagnostic, Rule, Severity, TasError, Waiving
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.grove import DEFAULT_TOPOLOGY
from kubectl_tas.live.cliquesets import DomainKey, GroveState, Levels, LiveSet, SetKey
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.podcliqueset import FleetPodCliqueSet
from kubectl_tas.resolve.topologies import FleetTopology

CONDITION = "TopologyLevelsUnavailable"
"""The condition that Grove sets on a PodCliqueSet."""

SET_LEVELS_UNAVAILABLE = Rule(
    "set-levels-unavailable",
    Severity.WARNING,
    "A Grove set of the cluster asks for a level or topology that the cluster lacks.",
    "Grove drops such constraints from the gang and sets the condition TopologyLevelsUnavailable, so KAI may place "
    "pods of the set anywhere. Restore the topology, or deploy the set again with domains that exist.",
    protects=Waiving.CONFIG,
)
TOPOLOGY_DRIFT = Rule(
    "topology-drift",
    Severity.WARNING,
    "A cluster topology has other levels in the cluster than here.",
    "A domain that is valid here may be missing there. Apply the file, or copy the levels of the cluster. The levels "
    "of grove-topology change when Grove's operator restarts with its new configuration.",
    protects=Waiving.CONFIG,
)


TOPOLOGY_UNDEPLOYED = Rule(
    "topology-undeployed",
    Severity.INFO,
    "A cluster topology is only in the repository, or only in the cluster.",
    "Nobody has applied a new file yet, or an old file was removed without pruning. Grove refuses sets that use a "
    "topology which the cluster lacks.",
    protects=Waiving.CONFIG,
)


class PlacedSet(Protocol):
    """A PodCliqueSet in a file or in a cluster."""

    @property
    def topology_name(self) -> str | None:
        """The cluster topology of the set; None: no topology applies."""

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains that the set asks for."""


@json_fields("type status reason missing")
@dataclass(frozen=True, slots=True)
class GroveCondition:
    """Grove's report about the levels that a set uses."""

    status: Literal["True", "False", "Unknown"]
    """True means: levels are unavailable."""
    reason: str
    missing: tuple[str, ...] = ()
    """Requested domains that are missing."""

    @property
    def type(self) -> str:
        """The name of the condition, which is true if levels are unavailable."""
        return CONDITION


@json_fields("backend topology=name repository=declared cluster=live")
@dataclass(frozen=True, slots=True)
class Drift:
    """A cluster topology whose levels differ."""

    name: str
    declared: Levels | None
    """Levels in the file; None if no file declares the topology."""
    live: Levels | None
    """Levels in the cluster; None if the cluster has no such topology."""
    topology: FleetTopology | None
    backend: str | None = None
    """The cluster, if the fleet has several."""

    @property
    def full_name(self) -> str:
        """Name of the topology, with its cluster if the fleet has several."""
        return f"{self.backend}/{self.name}" if self.backend else self.name


@json_fields("namespace name backend topology default=is_default condition")
@dataclass(frozen=True, slots=True)
class TopologyUse:
    """A PodCliqueSet and the cluster topology that it uses."""

    namespace: str
    name: str
    topology: str | None
    """The topology; None if the set asks for no placement."""
    is_default: bool
    """Whether the topology is the default, which the set does not name."""
    condition: GroveCondition | None
    """The condition; None if no topology applies, or if the topologies are unknown."""
    backend: str | None = None
    """The cluster of the set, if the fleet has several."""

    @property
    def label(self) -> str:
        """The topology as shown in the overview."""
        return f"{self.topology} (default)" if self.is_default else self.topology or "-"

    @property
    def is_unavailable(self) -> bool:
        """Whether levels that the set uses are unavailable."""
        return self.condition is not None and self.condition.status != "False"

    @property
    def full_name(self) -> str:
        """Namespace and name of the set, with its cluster if the fleet has several."""
        return full_name(self.backend, self.namespace, self.name)


def full_name(backend: str | None, namespace: str, name: str) -> str:
    """Returns the name of a set; ``backend`` is None if the fleet has one cluster."""
    return "/".join(segment for segment in (backend, namespace, name) if segment is not None)


def declared_uses(fleet: Fleet) -> list[TopologyUse]:
    """Returns the use of each set in the repository, judged by the topologies of the repository."""
    declared_domains = domains(declared_levels(fleet))
    return [
        _use(each.key, each.spec, declared_domains, is_named=bool(each.spec.named), backend=cluster_of(fleet, each))
        for each in fleet.pod_clique_sets
    ]


def live_uses(state: GroveState, *, check: bool, backend: str | None = None) -> list[TopologyUse]:
    """Returns the use of each set in a cluster, judged by the topologies of the cluster. ``backend`` is set if the
    fleet has several. Raises TasError if the sets are unknown, or if ``check`` is set and the topologies are unknown.
    """
    hint = "Add what `kubectl get podcliquesets,clustertopologies -A -o json` prints."
    if state.sets is None:
        raise TasError("the file has no PodCliqueSets, so the users of topologies are unknown", hint=hint)
    if check and state.topologies is None and state.sets:
        raise TasError("the file has no cluster topologies, so no level can be checked", hint=hint)
    live_domains = None if state.topologies is None else domains(state.topologies)
    return [
        _use(key, live_set, live_domains, is_named=live_set.is_named, backend=backend)
        for key, live_set in state.sets.items()
    ]


def _use(
    key: SetKey,
    placed_set: PlacedSet,
    domains_by_topology: Mapping[str, Collection[str]] | None,
    *,
    is_named: bool,
    backend: str | None = None,
) -> TopologyUse:
    is_default = placed_set.topology_name is not None and not is_named
    state = None if domains_by_topology is None else condition(placed_set, domains_by_topology)
    return TopologyUse(*key, placed_set.topology_name, is_default, state, backend)


def the_cluster(fleet: Fleet, backend: str) -> str:
    """Returns words for the cluster of a backend."""
    return f"the cluster {backend}" if len(fleet.backends) > 1 else "the cluster"


def cluster_of(fleet: Fleet, clique_set: FleetPodCliqueSet) -> str | None:
    """Returns the cluster of a set, if the fleet has several."""
    return clique_set.backend.name if clique_set.backend and len(fleet.backends) > 1 else None


def condition(placed_set: PlacedSet, topologies: Mapping[str, Collection[str]]) -> GroveCondition | None:
    """Returns the condition of a set; None if no topology applies. ``topologies`` has the domains by name."""
    name = placed_set.topology_name
    if name is None:
        return None
    if name not in topologies:
        return GroveCondition("Unknown", "ClusterTopologyNotFound")
    missing = tuple(domain for domain in placed_set.domains if domain not in topologies[name])
    if missing:
        return GroveCondition("True", "ClusterTopologyLevelsUnavailable", missing)
    return GroveCondition("False", "AllClusterTopologyLevelsAvailable")


def declared_levels(fleet: Fleet) -> dict[str, Levels]:
    """Returns the levels of every cluster topology in the repository."""
    return {
        name: tuple(DomainKey(level.key, level.label) for level in topology.levels)
        for name, topology in fleet.cluster_topologies.items()
    }


def domains(levels: Mapping[str, Levels]) -> dict[str, tuple[str, ...]]:
    """Returns the domains of every topology."""
    return {name: tuple(domain for domain, _ in topology_levels) for name, topology_levels in levels.items()}


def drifts(fleet: Fleet, state: GroveState, backend: str | None = None) -> tuple[Drift, ...]:
    """Returns the cluster topologies that differ between repository and cluster, sorted by name; none if those of the
    cluster are unknown. ``backend`` is the cluster, if the fleet has several.
    """
    if state.topologies is None:
        return ()
    declared = declared_levels(fleet)
    return tuple(
        Drift(name, declared.get(name), state.topologies.get(name), fleet.cluster_topologies.get(name), backend)
        for name in sorted({*declared, *state.topologies})
        if declared.get(name) != state.topologies.get(name)
    )


def check_drift(fleet: Fleet, backend: str, state: GroveState) -> Iterator[Diagnostic]:
    """Reports sets of a cluster with unavailable levels, and topologies that differ from the repository."""
    if state.sets is not None and state.topologies is not None:
        yield from _unavailable(fleet, backend, state.sets, domains(state.topologies))
    has_operator = fleet.grove.operator is not None
    for drift in drifts(fleet, state):
        if drift.declared is not None or drift.name != DEFAULT_TOPOLOGY or has_operator:
            yield _difference(drift, the_cluster(fleet, backend))


def _unavailable(
    fleet: Fleet, backend: str, sets: Mapping[SetKey, LiveSet], live: Mapping[str, Collection[str]]
) -> Iterator[Diagnostic]:
    places = {each.key: each.declared for each in fleet.of_backend(backend).pod_clique_sets}
    for (namespace, name), placed in sets.items():
        state = condition(placed, live)
        if state is None or state.status == "False":
            continue
        where = the_cluster(fleet, backend)
        lacks = f"it lacks {', '.join(state.missing)}" if state.missing else "it is gone"
        message = (
            f"{CONDITION} is {state.status} for the set {namespace}/{name} of {where} ({state.reason}): "
            f'it uses the cluster topology "{placed.topology_name}", and {lacks}'
        )
        declared = places.get((namespace, name))
        location = declared.at("metadata", "name") if declared else None
        hint = f"Restore the {'levels' if state.missing else 'topology'}, or deploy the set again."
        yield Diagnostic(SET_LEVELS_UNAVAILABLE, message, location, hint=hint)


def _difference(drift: Drift, cluster: str) -> Diagnostic:
    topology = drift.topology
    if topology is None or drift.declared is None:
        message = f'the cluster topology "{drift.name}" is in {cluster}, but not in this repository'
        hint = "If it is managed elsewhere, do nothing. Otherwise declare it here, or delete it there."
        if drift.name == DEFAULT_TOPOLOGY:
            hint = "Grove's operator deletes it when it starts with topologyAwareScheduling disabled."
        return Diagnostic(TOPOLOGY_UNDEPLOYED, message, None, hint=hint)
    location = topology.declared.origin.locate(topology.path, key=True)
    apply = "Start Grove's operator with this configuration" if drift.name == DEFAULT_TOPOLOGY else "Apply the file"
    if drift.live is None:
        message = f'the cluster topology "{drift.name}" is not in {cluster}'
        return Diagnostic(TOPOLOGY_UNDEPLOYED, message, location, hint=f"{apply}.")
    here, there = _text(drift.declared), _text(drift.live)
    message = f'the cluster topology "{drift.name}" has {here} here, but {there} in {cluster}'
    hint = f"{apply}, or take over the cluster's levels."
    return Diagnostic(TOPOLOGY_DRIFT, message, location, hint=hint)


def _text(levels: Levels) -> str:
    return " > ".join(f"{domain} ({key})" for domain, key in levels)
