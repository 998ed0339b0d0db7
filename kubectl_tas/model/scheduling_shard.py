"""Defines SchedulingShards: KAI's operator makes a scheduler of each (pkg/apis/kai/v1 of KAI 0.10 to 0.17)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from kubectl_tas.facts.times import nanoseconds, window
from kubectl_tas.model.base import AnyText, LabelValue, Model, Positive, Quantity, Text, nothing, said
from kubectl_tas.model.topology_kinds import ObjectMeta

Strategy = Literal["binpack", "spread"]
Whole = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
_TIME = r"([0-9]{1,9}(\.[0-9]{0,9})?|\.[0-9]{1,9})"
GoDuration = Annotated[
    str,
    StringConstraints(pattern=rf"^([-+]?(0|({_TIME}(ns|us|µs|μs|ms|s|m|h))+))$"),
    said("must be a duration such as 1h30m, in hours, minutes and seconds"),
]
"""A duration as Go reads it."""
LongDuration = Annotated[
    str,
    StringConstraints(pattern=rf"^(0|({_TIME}(ns|us|µs|μs|ms|s|m|h|d|w))+)$"),
    said("must be a duration such as 1h30m or 2d, in weeks, days, hours, minutes and seconds"),
]
"""A duration as KAI's plugins read it (github.com/xhit/go-str2duration): that of Go, with days and weeks."""
WindowSize = Annotated[
    str,
    StringConstraints(
        pattern=r"^(0|([0-9]{1,9}y)?([0-9]{1,9}w)?([0-9]{1,9}d)?([0-9]{1,9}h)?([0-9]{1,9}m)?([0-9]{1,9}s)?([0-9]{1,9}ms)?)$",
        min_length=1,
    ),
    said("must be a duration such as 1w or 12h, in whole years, weeks, days, hours, minutes, seconds"),
]
"""A duration as Prometheus reads it."""


class PlacementStrategy(Model):
    """The order in which the scheduler tries nodes with room."""

    gpu: Strategy = "binpack"
    """binpack fills nodes in use first. spread takes the emptiest node first. It concerns work that asks for GPUs."""
    cpu: Strategy = "binpack"
    """The same for work without GPUs."""


class MinRuntime(Model):
    """Times that work runs before the scheduler may evict it, unless its queue says otherwise."""

    preemptMinRuntime: LongDuration | None = None
    """Time that work runs before work of a higher priority in its queue may preempt it, such as 1h30m."""
    reclaimMinRuntime: LongDuration | None = None
    """Time that work runs before other queues may reclaim the resources that it borrowed, such as 1h30m."""


class PluginConfig(Model):
    """Settings of one plugin of the scheduler."""

    enabled: bool | None = None
    """Whether the plugin runs. By default it does."""
    priority: Whole | None = None
    """Plugins with a higher priority run first."""
    arguments: dict[Text, AnyText] | None = None
    """Arguments of the plugin. They replace all of its default arguments."""


class ActionConfig(Model):
    """Settings of one action of the scheduler."""

    enabled: bool | None = None
    """Whether the action runs. By default it does."""
    priority: Whole | None = None
    """Actions with a higher priority run first."""


class UsageParams(Model):
    """The past usage of queues that counts, and its weight."""

    halfLifePeriod: GoDuration | None = None
    """Time after which usage counts half. Without it, all usage in the window counts alike."""
    windowSize: WindowSize = "1w"
    """The length of the window whose usage counts."""
    windowType: Literal["sliding", "tumbling", "cron"] = "sliding"
    """sliding: the last windowSize. tumbling: windows of windowSize one after the other. cron: since the last time that
    matches cronString.
    """
    tumblingWindowStartTime: Text | None = None
    """The start of the first tumbling window, such as 2026-01-01T00:00:00Z."""
    cronString: AnyText = ""
    """The schedule on which a cron window begins anew."""
    fetchInterval: GoDuration = "1m"
    """Time between two queries."""
    stalenessPeriod: GoDuration = "5m"
    """Age from which the scheduler no longer uses an answer."""
    waitTimeout: GoDuration = "1m"
    """Time that the scheduler waits for the first answer."""
    extraParams: dict[Text, AnyText] = nothing()
    """Settings of the client, such as the names of metrics."""

    @property
    def half_life(self) -> int | None:
        """``halfLifePeriod`` in nanoseconds; None if all usage counts alike."""
        span = nanoseconds(self.halfLifePeriod or "0") or 0
        return span if span > 0 else None

    @property
    def window(self) -> int:
        """``windowSize`` in nanoseconds."""
        return window(self.windowSize)


class UsageDatabase(Model):
    """The database with the usage of queues over time."""

    clientType: Text
    """The client. KAI has one for prometheus."""
    connectionString: AnyText = ""
    """The address of the database. Without any, KAI's operator takes that of the Prometheus in its Config."""
    connectionStringEnvVar: AnyText = ""
    """The environment variable of the scheduler that has the address."""
    usageParams: UsageParams = UsageParams.model_construct()
    """The past usage that counts, and its weight."""


class ScenarioSearchBudgets(Model):
    """Bounds of the search for work to evict, from KAI 0.16."""

    maxActionSearchDuration: dict[Text, GoDuration] = nothing()
    """The longest search of each action. The key default stands for all others."""
    maxJobSearchDuration: GoDuration | None = None
    """The longest search for one gang."""
    minJobSearchDuration: GoDuration | None = None
    """The search that each gang gets in any case."""
    maxGeneratorSearchDuration: dict[Text, GoDuration] = nothing()
    """The longest search of each generator. The key default stands for all others."""


class SchedulingShardSpec(Model):
    """Settings of one scheduler."""

    partitionLabelValue: LabelValue = ""
    """The value of the label kai.scheduler/node-pool of the nodes, queues and PodGroups that this scheduler serves. A
    Pool names it as nodePool. Without a value, it serves all that lack the label.
    """
    placementStrategy: PlacementStrategy = PlacementStrategy.model_construct()
    """The order in which the scheduler tries nodes with room."""
    minRuntime: MinRuntime = MinRuntime.model_construct()
    """Times that work runs before the scheduler may evict it."""
    queueDepthPerAction: dict[Text, Whole] = nothing()
    """The number of gangs of a queue that an action tries in one cycle, by the name of the action."""
    kValue: float | int | None = None
    """The weight of past usage when free resources are divided among queues. It needs usageDBConfig."""
    usageDBConfig: UsageDatabase | None = None
    """The database with the usage of queues over time."""
    plugins: dict[Text, PluginConfig] = nothing()
    """Settings of plugins by name, from KAI 0.12.13. All others keep their defaults."""
    actions: dict[Text, ActionConfig] = nothing()
    """Settings of actions by name, from KAI 0.12.13. All others keep their defaults."""
    args: dict[Text, AnyText] = nothing()
    """Flags of the scheduler by name, without the leading --."""
    scenarioSearchBudgets: ScenarioSearchBudgets = ScenarioSearchBudgets.model_construct()
    """Bounds of the search for work to evict, from KAI 0.16."""
    goMemLimit: Quantity | Positive | None = None
    """The memory limit of Go's runtime, such as 6Gi, from KAI 0.17."""
    goMemLimitRatio: Annotated[float, Field(gt=0, le=1)] | Annotated[int, Field(ge=1, le=1)] | None = 0.9
    """The part of the container's memory limit that Go's runtime uses, from KAI 0.17."""


class SchedulingShard(Model):
    """A scheduler of KAI for a part of the cluster's nodes and queues."""

    apiVersion: Literal["kai.scheduler/v1"]
    kind: Literal["SchedulingShard"]
    metadata: ObjectMeta
    """Name of the shard. The operator names the scheduler's Deployment and ConfigMap after it."""
    spec: SchedulingShardSpec = SchedulingShardSpec.model_construct()
    """Settings of the scheduler."""
    status: JsonValue = None
    """Status from the cluster; not read."""
