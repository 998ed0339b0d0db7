"""Defines Grove's PodCliqueSets and the configuration of its operator.

Most of these models ignore unknown fields, because Grove's kinds have many fields that do not affect placement. Only
topology fields must be known.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Field

from kubectl_tas.facts.grove import DEFAULT_TOPOLOGY, TEMPLATE
from kubectl_tas.kinds import SET, SetKind
from kubectl_tas.model.base import (
    AnnotationKey,
    AnyText,
    Count,
    KeyPath,
    LabelKey,
    LabelValue,
    Many,
    Model,
    Text,
    nothing,
)
from kubectl_tas.model.podtemplate import Open, PodSpec, RootMeta
from kubectl_tas.model.topology_kinds import Domain, DomainLevel

if TYPE_CHECKING:
    from kubectl_tas.kinds.page import WorkloadKind


class Pack(Model):
    """Two topology levels for pods."""

    required: Domain | None = None
    """The required level. All pods run in one domain of this level, or none starts."""
    preferred: Domain | None = None
    """The preferred level. All pods run in one domain of this level if possible."""


class PackConstraint(Model):
    """Topology constraint for the pods of each replica."""

    packDomain: Domain | None = None
    """The required level of each replica, up to Grove 0.1.0-alpha.9. Later releases call it pack.required."""
    topologyName: Text | None = None
    """The cluster topology, from Grove 0.1.0-alpha.9. Children inherit it."""
    pack: Pack | None = None
    """A required and a preferred level, from Grove 0.1.0-alpha.10."""

    @property
    def required(self) -> Domain | None:
        """The required level, in either spelling."""
        return self.packDomain or (self.pack.required if self.pack else None)

    @property
    def required_at(self) -> tuple[str, ...]:
        """The path of the required level below the constraint."""
        return ("packDomain",) if self.packDomain is not None else ("pack", "required")

    @property
    def preferred(self) -> Domain | None:
        """The preferred level."""
        return self.pack.preferred if self.pack else None

    @property
    def asks(self) -> bool:
        """Whether the constraint names any level."""
        return self.required is not None or self.preferred is not None


class CliqueSpec(Open):
    """Settings of a clique."""

    roleName: Text | None = None
    """The role of the pods, different from the roles of other cliques. The default is the clique's name."""
    replicas: Count = 1
    """Number of pods."""
    minAvailable: Count | None = None
    """Pods that must start together. The default is all pods."""
    podSpec: PodSpec
    """Settings of the pods."""


class Clique(Open):
    """Pods with the same role."""

    name: Text
    """Name of the clique, unique within the set."""
    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels of the pods."""
    annotations: dict[AnnotationKey, AnyText] = nothing()
    """Annotations of the pods."""
    topologyConstraint: PackConstraint | None = None
    """Topology constraint of the pods, at most as wide as those of the set and of the scaling group."""
    spec: CliqueSpec
    """Settings of the clique."""


class ScalingGroup(Open):
    """Cliques that scale together."""

    name: Text
    """Name of the scaling group, unique within the set."""
    cliqueNames: Annotated[Many[Text], Field(min_length=1)]
    """Names of the cliques."""
    replicas: Count = 1
    """Number of copies of the cliques."""
    minAvailable: Count = 1
    """Replicas in the base gang. Each further replica is a gang of its own."""
    topologyConstraint: PackConstraint | None = None
    """Topology constraint of each replica, at most as wide as that of the set."""


class SetTemplate(Open):
    """Template for one replica of a set."""

    cliques: Annotated[Many[Clique], Field(min_length=1)]
    """The cliques."""
    podCliqueScalingGroups: Many[ScalingGroup] = ()
    """Groups of cliques that scale together."""
    clusterTopologyName: Text | None = None
    """The cluster topology of the domains below. The default is grove-topology. `render` writes it as topologyName."""
    topologyConstraint: PackConstraint | None = None
    """Topology constraint of each replica of the set."""
    priorityClassName: Text | None = None
    """Name of a PriorityClass. `render` sets it from the priority."""


class SetSpec(Open):
    """Settings of a set."""

    replicas: Count = 0
    """Number of copies of the template. Grove's default is 0."""
    template: SetTemplate
    """Template for one replica."""


def _depth(path: KeyPath) -> int:
    """Returns 0 for the path of the set itself, 1 for its scaling groups, 2 for its cliques."""
    return 1 if "podCliqueScalingGroups" in path else 2 if "cliques" in path else 0


class CliqueSet(Open):
    """Grove's PodCliqueSet: pods with several roles that together form one service."""

    model_config = ConfigDict(title=SET.kind)

    apiVersion: Literal["grove.io/v1alpha1"]
    kind: SetKind
    metadata: RootMeta
    """Name, pool (label kubectl-tas/pool), priority (label kubectl-tas/priority) and placement of the workload."""
    spec: SetSpec
    """Settings of the set."""

    @property
    def page(self) -> WorkloadKind:
        """The page of the kind."""
        return SET.page

    @cached_property
    def constraints(self) -> tuple[tuple[PackConstraint, KeyPath], ...]:
        """All constraints with their paths: first the set's, then those of scaling groups, then those of cliques."""
        template = self.spec.template
        paths_of_constraints = [(template.topologyConstraint, TEMPLATE)]
        for index, group in enumerate(template.podCliqueScalingGroups):
            paths_of_constraints.append((group.topologyConstraint, (*TEMPLATE, "podCliqueScalingGroups", index)))
        for index, clique in enumerate(template.cliques):
            paths_of_constraints.append((clique.topologyConstraint, (*TEMPLATE, "cliques", index)))
        return tuple((c, (*p, "topologyConstraint")) for c, p in paths_of_constraints if c is not None)

    @property
    def asks(self) -> bool:
        """Whether the set requests any placement."""
        return any(constraint.asks for constraint, _ in self.constraints)

    @cached_property
    def named(self) -> tuple[tuple[str, KeyPath], ...]:
        """The cluster topologies that the set names, in either spelling, with their paths."""
        named = self.spec.template.clusterTopologyName
        of_template = [] if named is None else [(named, (*TEMPLATE, "clusterTopologyName"))]
        later = ((constraint.topologyName, (*path, "topologyName")) for constraint, path in self.constraints)
        return (*of_template, *((name, path) for name, path in later if name is not None))

    @cached_property
    def references(self) -> tuple[tuple[str, KeyPath], ...]:
        """The cluster topologies that the set refers to, with the path of each name. Two different names are an error.

        A constraint without its own or an inherited name refers to the default topology. Its path then replaces that of
        a name.
        """
        template = self.spec.template
        top = template.topologyConstraint.topologyName if template.topologyConstraint else None
        top = template.clusterTopologyName or top
        by_clique = {
            name: group.topologyConstraint.topologyName
            for group in template.podCliqueScalingGroups
            if group.topologyConstraint is not None
            for name in group.cliqueNames
        }
        references = list(self.named)
        for constraint, path in self.constraints:
            owner = path[:-1]
            clique = template.cliques[int(owner[-1])].name if "cliques" in owner else ""
            if constraint.asks and not (constraint.topologyName or by_clique.get(clique) or top):
                references.append((DEFAULT_TOPOLOGY, path))
        return tuple(sorted(references, key=lambda reference: _depth(reference[1])))

    @property
    def topology_name(self) -> str | None:
        """The cluster topology that the set uses, declared or not. None if no topology applies."""
        return self.references[0][0] if self.references else None

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains that the set requests, without duplicates."""
        requested_domains = (d for c, _ in self.constraints for d in (c.required, c.preferred))
        return tuple(dict.fromkeys(domain for domain in requested_domains if domain is not None))


class TopologyAwareScheduling(Model):
    """Settings for placement by topology, with the default topology."""

    enabled: bool = False
    """Whether PodCliqueSets may request placement by topology."""
    levels: Many[DomainLevel] = ()
    """The levels of grove-topology, from the largest network distance to the smallest. Grove itself reads these levels
    up to 0.1.0-alpha.8.
    """


class ProfileConfig(Open):
    """Settings of Grove for one scheduler."""

    createTopologyResources: bool | None = None
    """Whether Grove creates a Topology for each cluster topology. The default is true."""


class SchedulerProfile(Open):
    """A scheduler that Grove supports."""

    name: Text
    """Name of the scheduler, such as kai-scheduler."""
    config: ProfileConfig = ProfileConfig.model_construct()
    """Settings for the scheduler."""


class OperatorScheduler(Open):
    """The schedulers that Grove supports."""

    profiles: Many[SchedulerProfile] = ()
    """One profile for each scheduler."""


class OperatorConfiguration(Open):
    """The configuration of Grove's operator. The tool reads only its topologies."""

    apiVersion: Literal["operator.config.grove.io/v1alpha1"]
    kind: Literal["OperatorConfiguration"]
    topologyAwareScheduling: TopologyAwareScheduling = TopologyAwareScheduling.model_construct()
    """Settings for placement by topology, with the default topology."""
    scheduler: OperatorScheduler = OperatorScheduler.model_construct()
    """The schedulers that Grove supports."""
