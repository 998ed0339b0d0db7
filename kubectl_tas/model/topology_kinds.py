"""Cluster topologies: Grove's ClusterTopology, under its first and its later name."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from kubectl_tas.model.base import AnyText, LabelKey, LabelValue, Many, Model, Text, nothing, said

DOMAINS = ("region", "zone", "datacenter", "block", "rack", "host", "numa")
"""Grove's own domains, from the largest network distance to the smallest. Early releases know no others."""

Domain = Annotated[
    str,
    StringConstraints(max_length=63, pattern=r"^[a-z][a-z0-9-]*$"),
    said("must be a name such as rack: lower-case letters, digits and '-', a letter first"),
]
"""A domain by the pattern of Grove's CRD."""
NodeLabelKey = Annotated[
    str,
    StringConstraints(
        max_length=63,
        pattern=r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$",
    ),
    said(
        "must be a node label such as topology.kubernetes.io/zone",
        hint="Write its key alone: letters, digits, '-', '_' and '.', perhaps behind a domain and '/'.",
    ),
]
"""A node label key by the pattern of Grove's CRD, which also admits upper case in the prefix."""


class ObjectMeta(Model):
    """Metadata of a Kubernetes object that people write."""

    name: Text
    """Name of the object."""
    namespace: Text | None = None
    """Where a namespaced object lives."""
    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels."""
    annotations: dict[LabelKey, AnyText] = nothing()
    """Annotations."""


class DomainLevel(Model):
    """One level of a cluster topology."""

    domain: Domain
    """The infrastructure-neutral name of the level."""
    key: NodeLabelKey
    """The node label that tells its domains apart."""


class SchedulerTopologyBinding(Model):
    """A topology that already exists under some scheduler."""

    schedulerName: Text
    """The scheduler that knows it."""
    topologyReference: Text
    """Its name there."""


class ClusterTopologySpec(Model):
    """The hierarchy."""

    levels: Annotated[Many[DomainLevel], Field(min_length=1)]
    """From the largest network distance to the smallest."""
    schedulerTopologyBindings: Many[SchedulerTopologyBinding] = ()
    """Existing topologies to use instead of creating one."""


class ClusterTopology(Model):
    """A named hierarchy of node labels."""

    apiVersion: Literal["grove.io/v1alpha1"]
    kind: Literal["ClusterTopology", "ClusterTopologyBinding"]
    """ClusterTopology, or its later name ClusterTopologyBinding."""
    metadata: ObjectMeta
    """Its name."""
    spec: ClusterTopologySpec
    """The hierarchy."""
    status: JsonValue = None
    """What a cluster reports; not read."""
