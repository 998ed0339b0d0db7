"""Grove's PodGang: what a PodCliqueSet becomes before the scheduler sees it. Only previewed, never applied."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kubectl_tas.model.base import Many, Model, Text
from kubectl_tas.model.manifest import Metadata


class GangPack(Model):
    """Levels by their node labels."""

    required: Text | None = None
    """All pods within one domain of this node label, or none runs."""
    preferred: Text | None = None
    """Within one domain of this node label if possible."""


class GangConstraint(Model):
    """How close pods must run."""

    packConstraint: GangPack
    """The levels."""


class GangMember(Model):
    """The pods of one PodClique."""

    name: Text
    """Name of the PodClique."""
    minReplicas: Annotated[int, Field(ge=0)]
    """Pods needed before any starts."""
    topologyConstraint: GangConstraint | None = None
    """How close they must run."""


class GangPart(Model):
    """PodCliques that share a constraint: one replica of a scaling group."""

    name: Text
    """Name of the replica."""
    podGroupNames: Annotated[Many[Text], Field(min_length=1)]
    """Its PodCliques."""
    topologyConstraint: GangConstraint
    """How close they must run."""


class PodGangSpec(Model):
    """A gang."""

    podgroups: Annotated[Many[GangMember], Field(min_length=1)]
    """Its PodCliques."""
    topologyConstraint: GangConstraint | None = None
    """How close all its pods must run."""
    topologyConstraintGroupConfigs: Many[GangPart] = ()
    """Replicas of scaling groups within the gang; only a base gang has them."""
    priorityClassName: Text | None = None
    """How important it is."""


class PodGang(Model):
    """Grove's PodGang: namespaced."""

    apiVersion: Literal["scheduler.grove.io/v1alpha1"] = "scheduler.grove.io/v1alpha1"
    """scheduler.grove.io/v1alpha1"""
    kind: Literal["PodGang"] = "PodGang"
    """PodGang"""
    metadata: Metadata
    """Its name, namespace and topology."""
    spec: PodGangSpec
    """The gang."""
