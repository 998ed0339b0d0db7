"""Defines cluster topologies: Grove's ClusterTopology, under its first and its later name."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from kubectl_tas.model.base import AnnotationKey, AnyText, LabelKey, LabelValue, Many, Model, Text, nothing, said

DOMAINS = ("region", "zone", "datacenter", "block", "rack", "host", "numa")
"""Grove's own domains, from the largest network distance to the smallest. Early releases know only these."""

Domain = Annotated[
    str,
    StringConstraints(max_length=63, pattern=r"^[a-z][a-z0-9-]*$"),
    said("must be a name such as rack: lower-case letters, digits and '-', a letter first"),
]
"""A domain name that matches the pattern of Grove's CRD."""
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
"""A node label key that matches the pattern of Grove's CRD, which also allows upper case in the prefix."""


class ObjectMeta(Model):
    """Metadata of a Kubernetes object that people write."""

    name: Text
    """Name of the object."""
    namespace: Text | None = None
    """Namespace of the object, for namespaced kinds."""
    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels of the object."""
    annotations: dict[AnnotationKey, AnyText] = nothing()
    """Annotations of the object."""


class DomainLevel(Model):
    """One level of a cluster topology."""

    domain: Domain
    """Name of the level, independent of the infrastructure."""
    key: NodeLabelKey
    """The node label whose values name the domains of this level."""


class SchedulerTopologyBinding(Model):
    """A topology that already exists for some scheduler."""

    schedulerName: Text
    """The scheduler that knows the topology."""
    topologyReference: Text
    """Name of the topology in that scheduler."""


class ClusterTopologySpec(Model):
    """The levels of a cluster topology."""

    levels: Annotated[Many[DomainLevel], Field(min_length=1)]
    """The levels from the largest network distance to the smallest."""
    schedulerTopologyBindings: Many[SchedulerTopologyBinding] = ()
    """Existing topologies to use, so that Grove creates none."""


class ClusterTopology(Model):
    """A named hierarchy of node labels."""

    apiVersion: Literal["grove.io/v1alpha1"]
    kind: Literal["ClusterTopology", "ClusterTopologyBinding"]
    """ClusterTopology, or its later name ClusterTopologyBinding."""
    metadata: ObjectMeta
    """Name of the topology."""
    spec: ClusterTopologySpec
    """The levels."""
    status: JsonValue = None
    """Status from the cluster; not read."""
