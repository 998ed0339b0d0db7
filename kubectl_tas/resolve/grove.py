"""Grove as it was read in; the operator's configuration, and PodCliqueSets with every reference followed, out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kubectl_tas.model import labels
from kubectl_tas.model.grove import (
    DEFAULT_TOPOLOGY,
    TEMPLATE,
    Clique,
    OperatorConfiguration,
    PodCliqueSet,
)
from kubectl_tas.model.podtemplate import PodTemplate
from kubectl_tas.model.repository import Declared, Repository
from kubectl_tas.resolve.cliqueset import FleetClique, FleetPodCliqueSet, FleetScalingGroup
from kubectl_tas.resolve.fleet import Dangling, FleetBackend, FleetPool, FleetSubpool, FleetTopology
from kubectl_tas.resolve.replicas import pod_gpus
from kubectl_tas.resolve.targets import pick_target

KAI_PROFILE = "kai-scheduler"
"""What Grove calls KAI Scheduler among the schedulers it works with."""


@dataclass(frozen=True, slots=True)
class Grove:
    """What the operator's configuration says."""

    operator: Declared[OperatorConfiguration] | None

    @property
    def is_disabled(self) -> bool:
        """Whether it says that Grove does not place by topology; without a configuration nobody knows."""
        return self.operator is not None and not self.operator.spec.topologyAwareScheduling.enabled

    @property
    def creates_topologies(self) -> bool:
        """Whether each cluster topology gets a Topology of KAI, by the profile of KAI Scheduler."""
        profiles = self.operator.spec.scheduler.profiles if self.operator else ()
        kai = (profile for profile in profiles if profile.name == KAI_PROFILE)
        return all(profile.config.createTopologyResources is not False for profile in kai)


def resolve_grove(repository: Repository) -> Grove:
    """The operator's configuration; of several the first one counts."""
    return Grove(repository.operators[0] if repository.operators else None)


def resolve_sets(
    repository: Repository,
    grove: Grove,
    backends: tuple[FleetBackend, ...],
    pools: Mapping[str, FleetPool],
    topologies: Mapping[str, FleetTopology],
    dangling: list[Dangling],
) -> tuple[FleetPodCliqueSet, ...]:
    """Every set, sorted by namespace and name."""
    declared_pools = frozenset(pool.spec.metadata.name for pool in repository.pools)
    found = []
    for item in repository.pod_clique_sets:
        wanted, path = item.spec.metadata.labels.get(labels.POOL), ("metadata", "labels", labels.POOL)
        target = pick_target(wanted, item, path, pools, declared_pools, dangling) if wanted else None
        backend = target[0].backend if target else (backends[0] if len(backends) == 1 else None)
        found.append(_set(item, grove, backend, target, topologies, dangling))
    return tuple(sorted(found, key=lambda item: (item.namespace, item.name, item.declared.origin.path)))


def _set(
    declared: Declared[PodCliqueSet],
    grove: Grove,
    backend: FleetBackend | None,
    target: tuple[FleetPool, FleetSubpool | None] | None,
    topologies: Mapping[str, FleetTopology],
    dangling: list[Dangling],
) -> FleetPodCliqueSet:
    template = declared.spec.spec.template
    cliques = tuple(
        FleetClique(clique, (*TEMPLATE, "cliques", index), _pod_gpus(clique))
        for index, clique in enumerate(template.cliques)
    )
    groups = tuple(
        FleetScalingGroup(
            group,
            (*TEMPLATE, "podCliqueScalingGroups", index),
            tuple(clique for clique in cliques if clique.name in group.cliqueNames),
        )
        for index, group in enumerate(template.podCliqueScalingGroups)
    )
    found = FleetPodCliqueSet(declared, backend, target, None, cliques, groups)
    name = found.topology_name
    if name is None or grove.is_disabled:
        return found
    if name not in topologies and name != DEFAULT_TOPOLOGY:
        known = tuple(topologies)
        dangling.append(Dangling("topology of a set", name, known, declared, found.references[0][1]))
    return replace(found, topology=topologies.get(name))


def _pod_gpus(clique: Clique) -> int:
    return pod_gpus(PodTemplate(spec=clique.spec.podSpec)) if clique.spec.podSpec else 0
