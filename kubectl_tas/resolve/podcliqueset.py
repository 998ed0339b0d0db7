"""PodCliqueSets with every reference followed: their topology, their cliques and their gangs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from kubectl_tas.diagnostics import Location
from kubectl_tas.gpus import Gpus
from kubectl_tas.grove import DEFAULT_TOPOLOGY, TEMPLATE
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared
from kubectl_tas.quantities import Amounts, total
from kubectl_tas.records import dataclass
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import Dangling, FleetBackend, Grove
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool, Known, LabelledSubmission, Target
from kubectl_tas.resolve.topologies import FleetTopology

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import Clique, PackConstraint, PodCliqueSet, ScalingGroup

MAX_PREVIEWED = 1000
"""Gangs of a set, and PodCliques of a gang, up to which a preview is written."""
MAX_CLIQUES = 20_000
"""PodCliques of all gangs of a set up to which a preview is written."""


@dataclass(frozen=True, slots=True)
class FleetClique:
    """A clique of a set."""

    spec: Clique
    path: KeyPath
    asks: Amounts
    """What one of its pods asks for."""

    @property
    def gpus(self) -> Gpus:
        """GPUs of one of its pods."""
        return self.asks.gpu

    @property
    def name(self) -> str:
        """Within the set."""
        return self.spec.name

    @property
    def minimum(self) -> int:
        """Pods needed before any starts."""
        chosen = self.spec.spec.minAvailable
        return self.spec.spec.replicas if chosen is None else chosen


@dataclass(frozen=True, slots=True)
class FleetScalingGroup:
    """Cliques of a set that are scaled together."""

    spec: ScalingGroup
    path: KeyPath
    cliques: tuple[FleetClique, ...]
    """In the order of its cliqueNames."""

    @property
    def name(self) -> str:
        """Within the set."""
        return self.spec.name


@dataclass(frozen=True)
class FleetPodCliqueSet:
    """A set, whether its pool is known or not."""

    declared: Declared[PodCliqueSet]
    backend: FleetBackend | None
    """None where neither a pool nor a single backend says it."""
    target: Target | None
    """The pool, and the subpool where it names one; None where it names no pool that is known."""
    topology: FleetTopology | None
    """The cluster topology that it uses; None: it asks for none, or for one that is not declared."""
    cliques: tuple[FleetClique, ...]
    groups: tuple[FleetScalingGroup, ...]

    @property
    def name(self) -> str:
        """Its name."""
        return self.declared.spec.metadata.name

    @property
    def namespace(self) -> str:
        """Its own namespace, or the first one of its pool, or that of its backend."""
        own = self.declared.spec.metadata.namespace
        if own is None and self.submitted is not None:
            return self.submitted.namespace
        return own or (self.backend.namespace if self.backend else "default")

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name: what it is known by in its cluster."""
        return self.namespace, self.name

    @property
    def replicas(self) -> int:
        """How many times its template is there."""
        return self.declared.spec.spec.replicas

    @property
    def spec(self) -> PodCliqueSet:
        """The set as it was written."""
        return self.declared.spec

    @cached_property
    def constraints(self) -> tuple[tuple[PackConstraint, KeyPath], ...]:
        """Every constraint with its place."""
        return self.spec.constraints

    @cached_property
    def named(self) -> tuple[tuple[str, KeyPath], ...]:
        """Cluster topologies that it names, with the places; more than one name is an error."""
        return self.spec.named

    @cached_property
    def references(self) -> tuple[tuple[str, KeyPath], ...]:
        """Cluster topologies that it refers to, by their names or as the default, with the places."""
        return self.spec.references

    def place_of(self, reference: KeyPath) -> Location:
        """The name of a cluster topology, or the constraint that means the default."""
        return self.declared.origin.locate(reference, key=reference[-1] == "topologyConstraint")

    @cached_property
    def asks(self) -> bool:
        """Whether it asks for any placement."""
        return self.spec.asks

    @cached_property
    def topology_name(self) -> str | None:
        """The cluster topology by name, declared or not; None: no topology applies."""
        return self.references[0][0] if self.references else None

    @property
    def gang_count(self) -> int:
        """Gangs of all replicas: a base gang and the scaled ones of each."""
        scaled = (max(0, group.spec.replicas - group.spec.minAvailable) for group in self.groups)
        return self.replicas * (1 + sum(scaled))

    @property
    def gang_names(self) -> Iterator[str]:
        """The names of all gangs, of every replica the base gang first."""
        for replica in range(self.replicas):
            yield names.base_gang(self.name, replica)
            for group in self.groups:
                for number in range(group.spec.replicas - group.spec.minAvailable):
                    yield names.scaled_gang(self.name, replica, group.name, number)

    @property
    def pod_cliques(self) -> Iterator[tuple[str, FleetClique]]:
        """The PodCliques of all replicas by name, each with the clique it is made from."""
        for replica in range(self.replicas):
            base = names.base_gang(self.name, replica)
            yield from ((names.pod_clique(base, clique.name), clique) for clique in self.standalone)
            for owner, group in self.group_replicas(replica):
                yield from ((names.pod_clique(owner, clique.name), clique) for clique in group.cliques)

    def group_replicas(self, replica: int) -> Iterator[tuple[str, FleetScalingGroup]]:
        """The replicas of the scaling groups of one replica of the set, by name."""
        for group in self.groups:
            for number in range(group.spec.replicas):
                yield names.group_replica(self.name, replica, group.name, number), group

    @property
    def base_size(self) -> int:
        """PodCliques of a base gang."""
        return len(self.standalone) + sum(group.spec.minAvailable * _parts(group) for group in self.groups)

    @property
    def size(self) -> int:
        """PodCliques of all gangs."""
        grouped = sum(group.spec.replicas * _parts(group) for group in self.groups)
        return self.replicas * max(len(self.standalone) + grouped, self.base_size)

    @property
    def is_previewed(self) -> bool:
        """Whether its gangs are few and small enough for people to read."""
        return max(self.gang_count, self.base_size) <= MAX_PREVIEWED and self.size <= MAX_CLIQUES

    @cached_property
    def submitted(self) -> SubmittedSet | None:
        """The set as its queue sees it; None where its pool is not known."""
        return SubmittedSet(self.declared, self.name, *self.target, self) if self.target else None

    @cached_property
    def standalone(self) -> tuple[FleetClique, ...]:
        """The cliques that no scaling group has."""
        scaled = {clique.name for group in self.groups for clique in group.cliques}
        return tuple(clique for clique in self.cliques if clique.name not in scaled)

    @cached_property
    def _groups(self) -> dict[str, FleetScalingGroup]:
        """The first scaling group that has a clique, by the clique's name."""
        return {clique.name: group for group in reversed(self.groups) for clique in group.cliques}

    def group_of(self, clique: FleetClique) -> FleetScalingGroup | None:
        """The scaling group of a clique."""
        return self._groups.get(clique.name)


@dataclass(frozen=True)
class SubmittedSet(LabelledSubmission):
    """A set that is sent to a queue."""

    declared: Declared[PodCliqueSet]
    name: str
    pool: FleetPool
    subpool: FleetSubpool | None
    set: FleetPodCliqueSet

    @cached_property
    def asks(self) -> Amounts:
        """What all pods ask for: cliques by replicas, scaling groups and replicas of the set included."""
        alone = total(map(_asks, self.set.standalone))
        grouped = total(group.spec.replicas * total(map(_asks, group.cliques)) for group in self.set.groups)
        return self.set.replicas * (alone + grouped)


def resolve_set(
    declared: Declared[PodCliqueSet], known: Known, topologies: Mapping[str, FleetTopology], grove: Grove
) -> FleetPodCliqueSet:
    """The resolved set; ``topologies`` are the cluster topologies by name."""
    wanted, path = declared.spec.metadata.labels.get(labels.POOL), ("metadata", "labels", labels.POOL)
    target = known.target(wanted, declared, path) if wanted else None
    backend = target[0].backend if target else (known.backends[0] if len(known.backends) == 1 else None)
    template = declared.spec.spec.template
    cliques = tuple(
        FleetClique(clique, (*TEMPLATE, "cliques", index), clique.spec.podSpec.asks_with(clique.annotations))
        for index, clique in enumerate(template.cliques)
    )
    by_name: dict[str, list[int]] = {}
    for index, item in enumerate(cliques):
        by_name.setdefault(item.name, []).append(index)
    groups = tuple(
        FleetScalingGroup(
            group,
            (*TEMPLATE, "podCliqueScalingGroups", index),
            tuple(cliques[at] for name in dict.fromkeys(group.cliqueNames) for at in by_name.get(name, ())),
        )
        for index, group in enumerate(template.podCliqueScalingGroups)
    )
    found = FleetPodCliqueSet(declared, backend, target, None, cliques, groups)
    name = found.topology_name
    if name is None or grove.is_disabled:
        return found
    if name not in topologies and name != DEFAULT_TOPOLOGY:
        known.dangling.append(Dangling("topology of a set", name, tuple(topologies), declared, found.references[0][1]))
    return replace(found, topology=topologies.get(name))


def _parts(group: FleetScalingGroup) -> int:
    """What is written for each replica of a scaling group: its cliques, or itself where none of them is known."""
    return max(1, len(group.cliques))


def _asks(clique: FleetClique) -> Amounts:
    return clique.spec.spec.replicas * clique.asks
