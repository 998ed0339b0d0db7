"""Topologies that exist already, and stand for cluster topologies by a binding."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.diagnostics import Diagnostic, Location, Related, Rule, Severity
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.topology import ClusterTopology
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.topologies import FleetTopology

TOPOLOGY_BINDING = Rule(
    "topology-binding",
    Severity.ERROR,
    "schedulerTopologyBindings names a Topology of other levels, a scheduler twice, or stands in a ClusterTopology.",
    "Work is placed by the levels of the Topology that is bound, so a level that it lacks is never found. The field "
    "belongs to the later kind, ClusterTopologyBinding; of the earlier one an API server drops it.",
)
_FIELD = "schedulerTopologyBindings"


def check_bindings(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every cluster topology that has bindings."""
    for topology in fleet.topologies:
        yield from _kind(topology)
        yield from _twice(topology)
    for backend in fleet.backends:
        yield from _levels(fleet, backend)


def _kind(topology: FleetTopology) -> Iterator[Diagnostic]:
    spec = topology.declared.spec
    if isinstance(spec, ClusterTopology) and spec.kind == "ClusterTopology" and topology.bindings:
        place = topology.declared.origin.locate(("spec", _FIELD), key=True)
        message = f"a ClusterTopology has no {_FIELD}; the API server drops it"
        yield Diagnostic(TOPOLOGY_BINDING, message, place, hint="Write kind: ClusterTopologyBinding, or remove it.")


def _twice(topology: FleetTopology) -> Iterator[Diagnostic]:
    first: dict[str, int] = {}
    for index, binding in enumerate(topology.bindings):
        earlier = first.setdefault(binding.schedulerName, index)
        if earlier != index:
            path: KeyPath = ("spec", _FIELD, index, "schedulerName")
            related = Related("the first one", topology.declared.at("spec", _FIELD, earlier, "schedulerName"))
            message = f'the scheduler "{binding.schedulerName}" has two bindings; one cluster topology is one Topology'
            place = topology.declared.at(*path)
            yield Diagnostic(TOPOLOGY_BINDING, message, place, (related,), hint="Remove one of them.")


def _levels(fleet: Fleet, backend: FleetBackend) -> Iterator[Diagnostic]:
    """Cluster topologies of one backend that come to one Topology: only one hierarchy can be right."""
    first: dict[str, FleetTopology] = {}
    there = [topology for topology in fleet.topologies if topology.backend in (None, backend)]
    for topology in sorted(there, key=lambda item: item.binding(backend) is not None):
        name = topology.name_on(backend)
        other = first.setdefault(name, topology)
        labels, others = ([level.label for level in item.levels] for item in (topology, other))
        if other is not topology and topology.binding(backend) is not None and labels != others:
            message = (
                f'the Topology "{name}" is bound here with the levels {" > ".join(labels)}, '
                f"but has {' > '.join(others)}"
            )
            related = (Related(f"the levels of {name}", other.declared.origin.locate(other.path, key=True)),)
            hint = "Bind a Topology that has these levels, or declare the same ones here."
            yield Diagnostic(TOPOLOGY_BINDING, message, _place(topology, backend), related, hint=hint)


def _place(topology: FleetTopology, backend: FleetBackend) -> Location:
    wanted = backend.scheduler_name
    index = next(n for n, item in enumerate(topology.bindings) if item.schedulerName == wanted)
    return topology.declared.at("spec", _FIELD, index, "topologyReference")
