"""Defines the file that tells what queues used in the past, as KAI's usage database does."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kubectl_tas.model.base import Model, Text

Used = Annotated[float, Field(ge=0, le=10**18)]
Capacity = Annotated[float, Field(ge=1, le=10**18)]


class UsedResources(Model):
    """Resources that a queue used over a period."""

    gpu: Used = 0
    """GPU seconds; or a part of all GPUs, such as 0.25, if the file has no capacity of GPUs."""
    cpu: Used = 0
    """Core seconds, or a part of all cores."""
    memory: Used = 0
    """Byte seconds, or a part of all memory."""


class UsedCapacity(Model):
    """Resources that the cluster had over the period, with nodes of all shards."""

    gpu: Capacity = 1
    """GPU seconds of all nodes."""
    cpu: Capacity = 1
    """Core seconds of all nodes."""
    memory: Capacity = 1
    """Byte seconds of all nodes."""


class UsageRecord(Model):
    """The usage of queues over a period, and what the cluster had. With a half-life, both are decayed."""

    capacity: UsedCapacity = UsedCapacity.model_construct()
    """Resources of the cluster. Without a resource here, queues have parts of it, such as 0.25."""
    queues: dict[Text, UsedResources]
    """Usage by the name of a queue, a pool or pool--subpool. A queue above others that is left out used what they used.
    """
