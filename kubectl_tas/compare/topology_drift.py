"""Topologies that have moved away from the sets that use them, in the repository or in a cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, Protocol

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity, Waiving
from kubectl_tas.errors import TasError
from kubectl_tas.grove import DEFAULT_TOPOLOGY
from kubectl_tas.live.cliquesets import GroveState, Levels, LiveSet, SetKey
from kubectl_tas.model.repository import Declared
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.podcliqueset import FleetPodCliqueSet
from kubectl_tas.resolve.topologies import FleetTopology

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import PodCliqueSet


CONDITION = "TopologyLevelsUnavailable"
"""The condition that Grove sets on a PodCliqueSet."""

SET_LEVELS_UNAVAILABLE = Rule(
    "set-levels-unavailable",
    Severity.WARNING,
    "A PodCliqueSet of the cluster asks for a level or topology that the cluster lacks.",
    "Grove drops such constraints from the gang and sets the condition TopologyLevelsUnavailable, so that pods of "
    "the set may be placed anywhere. Bring the topology back, or deploy the set anew with domains that exist.",
    protects=Waiving.CONFIG,
)
TOPOLOGY_DRIFT = Rule(
    "topology-drift",
    Severity.WARNING,
    "A cluster topology has other levels in the cluster than here.",
    "Domains that are valid here may not be there. Apply the file, or take over what the cluster has; the levels "
    "of grove-topology change when Grove's operator is restarted with its new configuration.",
    protects=Waiving.CONFIG,
)


TOPOLOGY_UNDEPLOYED = Rule(
    "topology-undeployed",
    Severity.INFO,
    "A cluster topology is only in the repository, or only in the cluster.",
    "A new file has not been applied yet, or an old one was removed and not pruned. Sets that use a topology that is "
    "not there are refused.",
    protects=Waiving.CONFIG,
)


class PlacedSet(Protocol):
    """A set, of a file or of a cluster."""

    @property
    def topology_name(self) -> str | None:
        """The cluster topology that it uses; None: no topology applies."""

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains that it asks for."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What Grove reports about the levels that a set uses."""

    status: Literal["True", "False", "Unknown"]
    """True: levels are unavailable."""
    reason: str
    missing: tuple[str, ...] = ()
    """The domains that are asked for and not there."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A cluster topology whose levels differ."""

    name: str
    declared: Levels | None
    """None: no file has it."""
    live: Levels | None
    """None: the cluster does not have it."""
    topology: FleetTopology | None
    backend: str | None = None
    """The cluster, where there are several."""

    @property
    def full_name(self) -> str:
        """Cluster, where there are several, and name."""
        return f"{self.backend}/{self.name}" if self.backend else self.name


@dataclass(frozen=True, slots=True)
class Use:
    """A PodCliqueSet and the cluster topology that it uses."""

    namespace: str
    name: str
    topology: str | None
    """None: no topology applies, since it asks for no placement."""
    is_default: bool
    """Whether the topology is the default, which the set does not name."""
    condition: Condition | None
    """None where no topology applies, and where the topologies are not known."""
    backend: str | None = None
    """The cluster that it is for, where there are several."""

    @property
    def label(self) -> str:
        """The topology as the overview has it."""
        return f"{self.topology} (default)" if self.is_default else self.topology or "-"

    @property
    def is_unavailable(self) -> bool:
        """Whether levels that it uses are not there."""
        return self.condition is not None and self.condition.status != "False"

    @property
    def full_name(self) -> str:
        """Cluster, where there are several, namespace and name."""
        return full_name(self.backend, self.namespace, self.name)


def full_name(backend: str | None, namespace: str, name: str) -> str:
    """What a set is called; ``backend`` is None where there is one cluster."""
    return "/".join(part for part in (backend, namespace, name) if part is not None)


def declared_uses(fleet: Fleet) -> list[Use]:
    """What each set of the repository uses, judged by the topologies of the repository."""
    known = domains(declared_levels(fleet))
    return [
        _use(item.key, item.spec, known, is_named=bool(item.named), backend=cluster_of(fleet, item))
        for item in fleet.pod_clique_sets
    ]


def live_uses(state: GroveState, *, check: bool, backend: str | None = None) -> list[Use]:
    """What each set of the cluster uses, judged by the topologies of the cluster; ``backend`` where there are several.

    Raises TasError where the sets are not known, and where their topologies are not although ``check`` needs them.
    """
    hint = "Add what `kubectl get podcliquesets,clustertopologies -A -o json` prints."
    if state.sets is None:
        raise TasError("the file has no PodCliqueSets, so nobody knows who uses what", hint=hint)
    if check and state.topologies is None and state.sets:
        raise TasError("the file has no cluster topologies, so no level can be checked", hint=hint)
    known = None if state.topologies is None else domains(state.topologies)
    return [_use(key, item, known, is_named=item.is_named, backend=backend) for key, item in state.sets.items()]


def _use(
    key: SetKey,
    item: PlacedSet,
    known: Mapping[str, Collection[str]] | None,
    *,
    is_named: bool,
    backend: str | None = None,
) -> Use:
    is_default = item.topology_name is not None and not is_named
    return Use(*key, item.topology_name, is_default, None if known is None else condition(item, known), backend)


def the_cluster(fleet: Fleet, backend: str) -> str:
    """The cluster of a backend, for messages."""
    return f"the cluster {backend}" if len(fleet.backends) > 1 else "the cluster"


def cluster_of(fleet: Fleet, item: FleetPodCliqueSet) -> str | None:
    """The cluster of a set, where there are several."""
    return item.backend.name if item.backend and len(fleet.backends) > 1 else None


def condition(item: PlacedSet, topologies: Mapping[str, Collection[str]]) -> Condition | None:
    """The condition of a set, where ``topologies`` are the domains by name; None where no topology applies to it."""
    name = item.topology_name
    if name is None:
        return None
    if name not in topologies:
        return Condition("Unknown", "ClusterTopologyNotFound")
    missing = tuple(domain for domain in item.domains if domain not in topologies[name])
    if missing:
        return Condition("True", "ClusterTopologyLevelsUnavailable", missing)
    return Condition("False", "AllClusterTopologyLevelsAvailable")


def declared_levels(fleet: Fleet) -> dict[str, Levels]:
    """The levels of every cluster topology of the repository."""
    return {
        name: tuple((level.key, level.label) for level in topology.levels)
        for name, topology in fleet.cluster_topologies.items()
    }


def domains(levels: Mapping[str, Levels]) -> dict[str, tuple[str, ...]]:
    """The domains of every topology."""
    return {name: tuple(domain for domain, _ in found) for name, found in levels.items()}


def drifts(fleet: Fleet, state: GroveState, backend: str | None = None) -> tuple[Drift, ...]:
    """Cluster topologies that are not the same in the repository and in the cluster, sorted by name. ``backend`` is
    the cluster, where there are several.

    Nothing where nothing is known of those of the cluster.
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
    """The sets of the cluster of a backend whose levels are unavailable there, and topologies that are not the same."""
    if state.sets is not None and state.topologies is not None:
        yield from _unavailable(fleet, backend, state.sets, domains(state.topologies))
    has_operator = fleet.grove.operator is not None
    for drift in drifts(fleet, state):
        if drift.declared is not None or drift.name != DEFAULT_TOPOLOGY or has_operator:
            yield _difference(drift, the_cluster(fleet, backend))


def _unavailable(
    fleet: Fleet, backend: str, sets: Mapping[SetKey, LiveSet], live: Mapping[str, Collection[str]]
) -> Iterator[Diagnostic]:
    own = (item for item in fleet.pod_clique_sets if item.backend is not None and item.backend.name == backend)
    places: dict[SetKey, Declared[PodCliqueSet]] = {item.key: item.declared for item in own}
    for (namespace, name), placed in sets.items():
        found = condition(placed, live)
        if found is None or found.status == "False":
            continue
        where = the_cluster(fleet, backend)
        lacks = f"it lacks {', '.join(found.missing)}" if found.missing else "it is gone"
        message = (
            f"{CONDITION} is {found.status} for the set {namespace}/{name} of {where} ({found.reason}): "
            f'it uses the cluster topology "{placed.topology_name}", and {lacks}'
        )
        declared = places.get((namespace, name))
        place = declared.at("metadata", "name") if declared else None
        hint = f"Bring the {'levels' if found.missing else 'topology'} back, or deploy the set anew."
        yield Diagnostic(SET_LEVELS_UNAVAILABLE, message, place, hint=hint)


def _difference(drift: Drift, cluster: str) -> Diagnostic:
    topology = drift.topology
    if topology is None or drift.declared is None:
        message = f'the cluster topology "{drift.name}" is in {cluster}, but not in this repository'
        hint = "Nothing to do where it is managed elsewhere; otherwise declare it here, or delete it there."
        if drift.name == DEFAULT_TOPOLOGY:
            hint = "Grove's operator deletes it when it starts with topologyAwareScheduling disabled."
        return Diagnostic(TOPOLOGY_UNDEPLOYED, message, None, hint=hint)
    place = topology.declared.origin.locate(topology.path, key=True)
    if drift.live is None:
        message = f'the cluster topology "{drift.name}" is not in {cluster}'
        return Diagnostic(TOPOLOGY_UNDEPLOYED, message, place, hint=_apply(drift))
    message = (
        f'the cluster topology "{drift.name}" has {_text(drift.declared)} here, but {_text(drift.live)} in {cluster}'
    )
    hint = f"{_apply(drift).rstrip('.')}, or take over the cluster's levels."
    return Diagnostic(TOPOLOGY_DRIFT, message, place, hint=hint)


def _apply(drift: Drift) -> str:
    """How a topology gets into the cluster."""
    if drift.name == DEFAULT_TOPOLOGY:
        return "Start Grove's operator with this configuration."
    return "Apply the file."


def _text(levels: Levels) -> str:
    return " > ".join(f"{domain} ({key})" for domain, key in levels)
