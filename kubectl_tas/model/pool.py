"""Pools and subpools: who is guaranteed how many GPUs, and where."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from kubectl_tas.model.base import NAME_PART, AnyText, Count, LabelKey, Many, Model, Named, Text, said

SHARE = r"^(100(\.0+)?|[0-9]{1,2}(\.[0-9]+)?)%$"
"""How a share of the parent's guarantee is written: "33%"."""
SubpoolState = Literal["ACTIVE", "DELETING", "ARCHIVED"]
GpuLimit = Annotated[int, Field(ge=-1)]
"""Whole GPUs; -1 means no limit."""


class Gpu(Model):
    """GPUs of a pool."""

    guarantee: GpuLimit = -1
    """Guaranteed GPUs; -1: no limit. A pool with subpools needs a number."""
    maximum: GpuLimit = -1
    """The most GPUs that the pool may hold, borrowed ones included; -1: no limit."""
    weight: Count = 1
    """Share of the GPUs that nobody claims, relative to the other pools."""


class PoolResources(Model):
    """Resources of a pool."""

    gpu: Gpu = Gpu()
    """GPUs, whole ones."""


class TopologyKey(Model):
    """One level of a pool's topology."""

    key: Annotated[
        str,
        StringConstraints(max_length=63, pattern=rf"^{NAME_PART}$"),
        said("must be letters, digits, '-', '_' and '.', a letter or digit at both ends"),
    ]
    """What workflows call the level, such as rack."""
    label: LabelKey
    """The node label that tells the domains of this level apart, such as topology.kubernetes.io/zone."""


class PoolSpec(Model):
    """What a pool is; the field names are those of OSMO's pool config."""

    description: AnyText = ""
    """For people."""
    backend: Text | None = None
    """The cluster it lives in. May be left out where there is one."""
    resources: PoolResources = PoolResources()
    """What it is guaranteed."""
    topology_keys: Many[TopologyKey] = ()
    """Levels from the coarsest to the finest. Without any, workflows cannot ask for a topology."""
    topology: Text | None = None
    """Instead of topology_keys: the name of a cluster topology."""


class Pool(Model):
    """A share of a cluster's GPUs."""

    apiVersion: Literal["tas/v1alpha1"]
    """tas/v1alpha1"""
    kind: Literal["Pool"]
    """Pool"""
    metadata: Named
    """Its name."""
    spec: PoolSpec = PoolSpec()
    """What it is."""


class SubpoolSpec(Model):
    """A guaranteed part of a pool."""

    parent: Text
    """The pool that it is a part of."""
    quota: (
        Count
        | Annotated[
            str,
            StringConstraints(pattern=SHARE),
            said(
                'must be whole GPUs such as 30, or a share of the parent such as "33%"',
                hint="Write a whole number, or a share of at most 100% without a blank.",
            ),
        ]
    )
    """Guaranteed GPUs: a whole number, or a share of the parent such as "33%", rounded down."""
    state: SubpoolState = "ACTIVE"
    """ACTIVE; DELETING: its queue is kept at quota 0 until it is empty; ARCHIVED: only the record is left."""


class Subpool(Model):
    """A guaranteed part of a pool, with a queue of its own."""

    apiVersion: Literal["tas/v1alpha1"]
    """tas/v1alpha1"""
    kind: Literal["Subpool"]
    """Subpool"""
    metadata: Named
    """Its name within the parent."""
    spec: SubpoolSpec
    """Where it belongs and how much it holds."""
