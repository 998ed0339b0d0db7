"""Grove: PodCliqueSets and the operator's own configuration.

Grove's kinds have many more fields than placement depends on, so most of these models ignore fields that they
do not have; only the vocabulary of topologies is closed.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kubectl_tas.grove import DEFAULT_TOPOLOGY, TEMPLATE
from kubectl_tas.model.base import AnyText, Count, KeyPath, LabelKey, LabelValue, Many, Model, Text, nothing
from kubectl_tas.model.podtemplate import Open, PodSpec, Workload
from kubectl_tas.model.topology_kinds import Domain, DomainLevel


class Pack(Model):
    """How close pods must run, as two levels."""

    required: Domain | None = None
    """Within one domain of this level, or none runs."""
    preferred: Domain | None = None
    """Within one domain of this level if possible."""


class PackConstraint(Model):
    """How close the pods of each replica must run."""

    packDomain: Domain | None = None
    """Each replica runs within one domain of this level. Grove's spelling of pack.required up to 0.1.0-alpha.9."""
    topologyName: Text | None = None
    """The cluster topology, from Grove 0.1.0-alpha.9; children inherit it."""
    pack: Pack | None = None
    """A required and a preferred level, from Grove 0.1.0-alpha.10."""

    @property
    def required(self) -> Domain | None:
        """The level that must hold, in whichever spelling."""
        return self.packDomain or (self.pack.required if self.pack else None)

    @property
    def required_at(self) -> tuple[str, ...]:
        """Where the required level stands below the constraint."""
        return ("packDomain",) if self.packDomain is not None else ("pack", "required")

    @property
    def preferred(self) -> Domain | None:
        """The level that should hold."""
        return self.pack.preferred if self.pack else None

    @property
    def asks(self) -> bool:
        """Whether it names any level."""
        return self.required is not None or self.preferred is not None


class CliqueSpec(Open):
    """What a clique consists of."""

    roleName: Text | None = None
    """What its pods do, another thing than those of other cliques; its name where it is left out."""
    replicas: Count = 1
    """Pods."""
    minAvailable: Count | None = None
    """Pods needed before any starts; without it all of them."""
    podSpec: PodSpec
    """The pods."""


class Clique(Open):
    """Pods of one role."""

    name: Text
    """Its name within the set."""
    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels of its pods."""
    annotations: dict[LabelKey, AnyText] = nothing()
    """Annotations of its pods."""
    topologyConstraint: PackConstraint | None = None
    """How close its pods must run; equal to or narrower than what the set and its scaling group ask for."""
    spec: CliqueSpec
    """What it consists of."""


class ScalingGroup(Open):
    """Cliques that are scaled together."""

    name: Text
    """Its name within the set."""
    cliqueNames: Annotated[Many[Text], Field(min_length=1)]
    """The cliques."""
    replicas: Count = 1
    """How many times the cliques are there."""
    minAvailable: Count = 1
    """Replicas that belong to the base gang; each one above is a gang of its own."""
    topologyConstraint: PackConstraint | None = None
    """How close each replica must run; equal to or narrower than what the set asks for."""


class SetTemplate(Open):
    """One replica of a set."""

    cliques: Annotated[Many[Clique], Field(min_length=1)]
    """Its cliques."""
    podCliqueScalingGroups: Many[ScalingGroup] = ()
    """Which of them are scaled together."""
    clusterTopologyName: Text | None = None
    """The cluster topology whose domains are named below; without it grove-topology. Written as topologyName."""
    topologyConstraint: PackConstraint | None = None
    """How close each replica of the set must run."""
    priorityClassName: Text | None = None
    """How important the set is; set from the priority."""


class SetSpec(Open):
    """What a set consists of."""

    replicas: Count = 0
    """How many times the template is there; Grove takes an absent number for 0."""
    template: SetTemplate
    """One replica."""


def _depth(path: KeyPath) -> int:
    """0 for the set itself, 1 for its scaling groups, 2 for its cliques."""
    return 1 if "podCliqueScalingGroups" in path else 2 if "cliques" in path else 0


class PodCliqueSet(Workload):
    """Grove's PodCliqueSet: pods of several roles that make up one service."""

    apiVersion: Literal["grove.io/v1alpha1"]
    kind: Literal["PodCliqueSet"]
    spec: SetSpec
    """What it consists of."""

    @property
    def constraints(self) -> tuple[tuple[PackConstraint, KeyPath], ...]:
        """Every constraint with its place: the set's, then those of scaling groups, then those of cliques."""
        template = self.spec.template
        found = [(template.topologyConstraint, TEMPLATE)]
        for index, group in enumerate(template.podCliqueScalingGroups):
            found.append((group.topologyConstraint, (*TEMPLATE, "podCliqueScalingGroups", index)))
        for index, clique in enumerate(template.cliques):
            found.append((clique.topologyConstraint, (*TEMPLATE, "cliques", index)))
        return tuple((item, (*path, "topologyConstraint")) for item, path in found if item is not None)

    @property
    def asks(self) -> bool:
        """Whether it asks for any placement."""
        return any(constraint.asks for constraint, _ in self.constraints)

    @property
    def named(self) -> tuple[tuple[str, KeyPath], ...]:
        """Cluster topologies that it names, in either spelling, with the places."""
        named = self.spec.template.clusterTopologyName
        first = [] if named is None else [(named, (*TEMPLATE, "clusterTopologyName"))]
        later = ((item.topologyName, (*path, "topologyName")) for item, path in self.constraints)
        return (*first, *((name, path) for name, path in later if name is not None))

    @property
    def references(self) -> tuple[tuple[str, KeyPath], ...]:
        """The cluster topologies that it refers to; two of different names are an error.

        With the place of each name, or of a constraint that neither has nor inherits one: it means the default.
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
        found = list(self.named)
        for constraint, path in self.constraints:
            owner = path[:-1]
            clique = template.cliques[int(owner[-1])].name if "cliques" in owner else ""
            if constraint.asks and not (constraint.topologyName or by_clique.get(clique) or top):
                found.append((DEFAULT_TOPOLOGY, path))
        return tuple(sorted(found, key=lambda reference: _depth(reference[1])))

    @property
    def topology_name(self) -> str | None:
        """The cluster topology that it uses, declared or not; None: no topology applies."""
        return self.references[0][0] if self.references else None

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains that it asks for, each once."""
        asked = (domain for item, _ in self.constraints for domain in (item.required, item.preferred))
        return tuple(dict.fromkeys(domain for domain in asked if domain is not None))


class TopologyAwareScheduling(Model):
    """Whether Grove places by topology, and the default topology."""

    enabled: bool = False
    """Whether PodCliqueSets may ask for placement at all."""
    levels: Many[DomainLevel] = ()
    """The levels of grove-topology, from the largest network distance to the smallest. Grove itself reads them up to
    0.1.0-alpha.8.
    """


class ProfileConfig(Open):
    """What one scheduler needs from Grove."""

    createTopologyResources: bool | None = None
    """Whether a Topology is created for each cluster topology; true where it is left out."""


class SchedulerProfile(Open):
    """A scheduler that Grove works with."""

    name: Text
    """Its name, such as kai-scheduler."""
    config: ProfileConfig = ProfileConfig.model_construct()
    """What it needs."""


class OperatorScheduler(Open):
    """The schedulers that Grove works with."""

    profiles: Many[SchedulerProfile] = ()
    """One for each."""


class OperatorConfiguration(Open):
    """The configuration of Grove's operator; only its topologies are read."""

    apiVersion: Literal["operator.config.grove.io/v1alpha1"]
    kind: Literal["OperatorConfiguration"]
    topologyAwareScheduling: TopologyAwareScheduling = TopologyAwareScheduling.model_construct()
    """Whether Grove places by topology, and the default topology."""
    scheduler: OperatorScheduler = OperatorScheduler.model_construct()
    """The schedulers that Grove works with."""
