"""Resolves PodCliqueSets to their topology, their cliques and their gangs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import Gpus
from kubectl_tas.facts.grove import DEFAULT_TOPOLOGY, TEMPLATE
from kubectl_tas.facts.quantities import Amounts, total
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import Dangling, FleetBackend, Grove
from kubectl_tas.resolve.pools import Declarations, FleetPool, FleetSubpool, LabelledSubmission, Target
from kubectl_tas.resolve.topologies import FleetTopology

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import Clique, CliqueSet, ScalingGroup

MAX_PREVIEWED = 1000
"""The most gangs of a set, and PodCliques of a gang, for a preview."""
MAX_CLIQUES = 20_000
"""The most PodCliques in all gangs of a set for a preview."""


@dataclass(frozen=True, slots=True)
class FleetClique:
    """A clique of a set."""

    spec: Clique
    path: KeyPath
    asks: Amounts
    """The request of one pod."""

    @property
    def gpus(self) -> Gpus:
        """GPUs of one pod."""
        return self.asks.gpu

    @property
    def name(self) -> str:
        """Name of the clique within the set."""
        return self.spec.name

    @property
    def minimum(self) -> int:
        """Pods that must start together."""
        chosen = self.spec.spec.minAvailable
        return self.spec.spec.replicas if chosen is None else chosen


@dataclass(frozen=True, slots=True)
class FleetScalingGroup:
    """Cliques of a set that scale together."""

    spec: ScalingGroup
    path: KeyPath
    cliques: tuple[FleetClique, ...]
    """The cliques, in the order of cliqueNames."""

    @property
    def name(self) -> str:
        """Name of the scaling group within the set."""
        return self.spec.name


@dataclass(frozen=True)
class FleetPodCliqueSet:
    """A set with a known or unknown pool."""

    declared: Declared[CliqueSet]
    backend: FleetBackend | None
    """The cluster. None if the pool is unknown and several backends exist."""
    target: Target | None
    """The pool and, if named, the subpool. None if the set names no known pool."""
    topology: FleetTopology | None
    """The cluster topology of the set. None if the set requests none, or an undeclared one."""
    cliques: tuple[FleetClique, ...]
    groups: tuple[FleetScalingGroup, ...]

    @property
    def name(self) -> str:
        """Name of the set."""
        return self.declared.spec.metadata.name

    @property
    def namespace(self) -> str:
        """The set's own namespace, or the first one of its pool, or that of its backend."""
        namespace = self.declared.spec.metadata.namespace
        if namespace is None and self.submitted is not None:
            return self.submitted.namespace
        return namespace or (self.backend.namespace if self.backend else "default")

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name, which identify the set in its cluster."""
        return self.namespace, self.name

    @property
    def replicas(self) -> int:
        """The number of copies of the template."""
        return self.declared.spec.spec.replicas

    @property
    def spec(self) -> CliqueSet:
        """The set as written."""
        return self.declared.spec

    def place_of(self, reference: KeyPath) -> Location:
        """Returns the place of a topology's name, or of the constraint that refers to the default."""
        return self.declared.origin.locate(reference, key=reference[-1] == "topologyConstraint")

    @property
    def topology_name(self) -> str | None:
        """Name of the cluster topology, declared or not. None if no topology applies."""
        return self.spec.topology_name

    @property
    def gang_count(self) -> int:
        """The number of gangs: a base gang and the scaled gangs for each replica."""
        scaled = (max(0, group.spec.replicas - group.spec.minAvailable) for group in self.groups)
        return self.replicas * (1 + sum(scaled))

    @property
    def gang_names(self) -> Iterator[str]:
        """Yields the names of all gangs. For each replica, the base gang comes first."""
        for replica in range(self.replicas):
            yield names.base_gang(self.name, replica)
            for group in self.groups:
                for number in range(group.spec.replicas - group.spec.minAvailable):
                    yield names.scaled_gang(self.name, replica, group.name, number)

    @property
    def pod_cliques(self) -> Iterator[tuple[str, FleetClique]]:
        """Yields the names of the PodCliques of all replicas, each with its clique."""
        for replica in range(self.replicas):
            base = names.base_gang(self.name, replica)
            yield from ((names.pod_clique(base, clique.name), clique) for clique in self.standalone)
            for owner, group in self.group_replicas(replica):
                yield from ((names.pod_clique(owner, clique.name), clique) for clique in group.cliques)

    def group_replicas(self, replica: int) -> Iterator[tuple[str, FleetScalingGroup]]:
        """Yields the names of the scaling groups' replicas in one replica of the set, each with its scaling group."""
        for group in self.groups:
            for number in range(group.spec.replicas):
                yield names.scaled_gang(self.name, replica, group.name, number), group

    @property
    def base_size(self) -> int:
        """The number of PodCliques in a base gang."""
        return len(self.standalone) + sum(group.spec.minAvailable * _parts(group) for group in self.groups)

    @property
    def size(self) -> int:
        """The number of PodCliques in all gangs."""
        grouped = sum(group.spec.replicas * _parts(group) for group in self.groups)
        return self.replicas * max(len(self.standalone) + grouped, self.base_size)

    @property
    def is_previewed(self) -> bool:
        """Whether the gangs are few and small enough for people to read."""
        return max(self.gang_count, self.base_size) <= MAX_PREVIEWED and self.size <= MAX_CLIQUES

    @cached_property
    def submitted(self) -> SubmittedSet | None:
        """The set as work of its queue. None if the pool is unknown."""
        return SubmittedSet(self.declared, self.name, *self.target, self) if self.target else None

    @cached_property
    def standalone(self) -> tuple[FleetClique, ...]:
        """The cliques outside all scaling groups."""
        scaled = {clique.name for group in self.groups for clique in group.cliques}
        return tuple(clique for clique in self.cliques if clique.name not in scaled)

    @cached_property
    def _groups(self) -> dict[str, FleetScalingGroup]:
        """The first scaling group with a clique, by the name of the clique."""
        return {clique.name: group for group in reversed(self.groups) for clique in group.cliques}

    def group_of(self, clique: FleetClique) -> FleetScalingGroup | None:
        """Returns the scaling group of a clique, if any."""
        return self._groups.get(clique.name)


@dataclass(frozen=True)
class SubmittedSet(LabelledSubmission):
    """A set as work of a queue."""

    declared: Declared[CliqueSet]
    name: str
    pool: FleetPool
    subpool: FleetSubpool | None
    set: FleetPodCliqueSet

    @cached_property
    def asks(self) -> Amounts:
        """The request of all pods, including replicas of cliques, of scaling groups and of the set."""
        alone = total(map(_asks, self.set.standalone))
        grouped = total(group.spec.replicas * total(map(_asks, group.cliques)) for group in self.set.groups)
        return self.set.replicas * (alone + grouped)


def resolve_set(
    declared: Declared[CliqueSet], declarations: Declarations, topologies: Mapping[str, FleetTopology], grove: Grove
) -> FleetPodCliqueSet:
    """Resolves a set. ``topologies`` are the cluster topologies by name."""
    pool_name, path = declared.spec.metadata.labels.get(labels.POOL), ("metadata", "labels", labels.POOL)
    target = declarations.target(pool_name, declared, path) if pool_name else None
    backend = target[0].backend if target else (declarations.backends[0] if len(declarations.backends) == 1 else None)
    template = declared.spec.spec.template
    cliques = tuple(
        FleetClique(clique, (*TEMPLATE, "cliques", index), clique.spec.podSpec.asks_with(clique.annotations))
        for index, clique in enumerate(template.cliques)
    )
    by_name: dict[str, list[int]] = {}
    for index, clique in enumerate(cliques):
        by_name.setdefault(clique.name, []).append(index)
    groups = tuple(
        FleetScalingGroup(
            group,
            (*TEMPLATE, "podCliqueScalingGroups", index),
            tuple(cliques[at] for name in dict.fromkeys(group.cliqueNames) for at in by_name.get(name, ())),
        )
        for index, group in enumerate(template.podCliqueScalingGroups)
    )
    clique_set = FleetPodCliqueSet(declared, backend, target, None, cliques, groups)
    name = clique_set.topology_name
    if name is None or grove.is_disabled:
        return clique_set
    if name not in topologies and name != DEFAULT_TOPOLOGY:
        at_name = clique_set.spec.references[0][1]
        declarations.dangling.append(Dangling("topology of a set", name, tuple(topologies), declared, at_name))
    return replace(clique_set, topology=topologies.get(name))


def _parts(group: FleetScalingGroup) -> int:
    """Returns the number of parts of a scaling group's replica: its cliques, or 1 if none of them is known."""
    return max(1, len(group.cliques))


def _asks(clique: FleetClique) -> Amounts:
    return clique.spec.spec.replicas * clique.asks
