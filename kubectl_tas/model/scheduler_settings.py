"""Resolves a SchedulingShard to the settings of its scheduler: what KAI's operator writes into the ConfigMap.

Follows SetDefaultsWhereNeeded of pkg/apis/kai/v1/schedulingshard_types.go, and resolvePlugins and resolveActions of
pkg/operator/operands/scheduler, from KAI 0.10 to 0.17.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.kai import NEWEST_RELEASE, Release
from kubectl_tas.facts.scheduler_plugins import rows_of
from kubectl_tas.facts.times import nanoseconds

if TYPE_CHECKING:
    from kubectl_tas.model.scheduling_shard import ScenarioSearchBudgets, SchedulingShardSpec, Strategy, UsageDatabase


class ActivePlugin(NamedTuple):
    """A plugin that runs."""

    name: str
    priority: int
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SchedulerSettings:
    """The settings of one scheduler, with defaults filled in."""

    plugins: tuple[ActivePlugin, ...]
    """The plugins that run, in their order."""
    actions: tuple[str, ...]
    """The actions that run, in their order."""
    queue_depth: Mapping[str, int] = field(default_factory=dict)
    """The number of gangs of a queue that an action tries in one cycle, for actions with a bound."""
    usage: UsageDatabase | None = None
    """The database with the usage of queues."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """Flags that the shard sets."""
    shard: str | None = None
    """Name of the SchedulingShard; None if none is declared."""
    budgets: ScenarioSearchBudgets | None = None
    """Times that the scheduler may search; None if the shard states none."""
    off: tuple[str, ...] = ()
    """Plugins and actions that other shards have, and this one has not, except those of the placement strategy."""

    def has(self, name: str) -> bool:
        """Whether a plugin or action of the release runs."""
        return name not in self.off

    def plugin(self, name: str) -> ActivePlugin | None:
        """Returns a plugin, if it runs."""
        return next((plugin for plugin in self.plugins if plugin.name == name), None)

    def argument(self, plugin: str, name: str) -> str | None:
        """Returns an argument of a plugin; None if it is not set, or the plugin does not run."""
        active = self.plugin(plugin)
        return active.arguments.get(name) if active else None

    def has_action(self, name: str) -> bool:
        """Whether an action runs."""
        return name in self.actions

    @property
    def gpu_strategy(self) -> Strategy:
        """The order of nodes for work with GPUs, by the plugin nodeplacement. A word but spread is binpack."""
        return "spread" if self.argument("nodeplacement", "gpu") == "spread" else "binpack"

    @property
    def cpu_strategy(self) -> Strategy:
        """The order of nodes for work without GPUs, by the plugin nodeplacement."""
        return "spread" if self.argument("nodeplacement", "cpu") == "spread" else "binpack"

    def number(self, flag: str, default: int) -> int:
        """Returns the value of a flag with a whole number; the default if it is not set, or no such number."""
        text = self.flags.get(flag, "")
        return int(text) if re.fullmatch("-?[0-9]{1,9}", text, re.ASCII) else default

    @property
    def spreads(self) -> bool:
        """Whether work is spread over the nodes."""
        return "spread" in (self.gpu_strategy, self.cpu_strategy)

    @property
    def preempt_min_runtime(self) -> int:
        """Nanoseconds that work runs before it may be preempted, where its queues say nothing."""
        return _runtime(self.argument("minruntime", "defaultPreemptMinRuntime"))

    @property
    def reclaim_min_runtime(self) -> int:
        """Nanoseconds that work runs before its resources may be reclaimed, where its queues say nothing."""
        return _runtime(self.argument("minruntime", "defaultReclaimMinRuntime"))

    @property
    def k_value(self) -> float:
        """The weight of past usage: 1.0 by default, never below 0."""
        try:
            return max(0.0, float(self.argument("proportion", "kValue") or "1"))
        except ValueError:
            return 1.0


def _runtime(text: str | None) -> int:
    return nanoseconds(text, has_days=True) or 0 if text else 0


@cache
def default_settings() -> SchedulerSettings:
    """Returns the settings of a scheduler whose shard sets nothing."""
    return settings_of(None, None)


def settings_of(spec: SchedulingShardSpec | None, release: Release | None) -> SchedulerSettings:
    """Returns the settings of the scheduler of a shard; of one that sets nothing for None."""
    patch = (release or NEWEST_RELEASE).patch
    gpu = spec.placementStrategy.gpu if spec else "binpack"
    cpu = spec.placementStrategy.cpu if spec else "binpack"
    defaults: dict[str, dict[str, str]] = {"nodeplacement": {"gpu": gpu, "cpu": cpu}}
    if spec and spec.kValue is not None:
        defaults["proportion"] = {"kValue": f"{Decimal(repr(float(spec.kValue))):f}".removesuffix(".0")}
    runtimes = spec.minRuntime if spec else None
    if runtimes:
        bounds = {
            "defaultPreemptMinRuntime": runtimes.preemptMinRuntime,
            "defaultReclaimMinRuntime": runtimes.reclaimMinRuntime,
        }
        defaults["minruntime"] = {name: text for name, text in bounds.items() if text is not None}
    off = {"gpuspread"} if gpu == "binpack" else {"gpupack", "gpusharingorder"}
    plugins = {
        name: ActivePlugin(name, row.priority, defaults.get(name, {}))
        for name, row in rows_of("plugins", patch).items()
        if row.priority is not None
    }
    is_spread = "spread" in (gpu, cpu)
    actions = {name: row.priority for name, row in rows_of("actions", patch).items() if row.priority is not None}
    enabled = {name: name not in off for name in plugins}
    running = {name: not (is_spread and name == "consolidation") for name in actions}
    has_overrides = spec is not None and "plugins" in rows_of("fields", patch)
    for name, override in spec.plugins.items() if spec and has_overrides else ():
        plugin = plugins.get(name, ActivePlugin(name, 0, {}))
        if override.priority is not None:
            plugin = plugin._replace(priority=override.priority)
        if override.arguments is not None:
            plugin = plugin._replace(arguments=override.arguments)
        plugins[name] = plugin
        enabled[name] = enabled.get(name, True) if override.enabled is None else override.enabled
    for name, action in spec.actions.items() if spec and has_overrides else ():
        actions[name] = actions.get(name, 0) if action.priority is None else action.priority
        running[name] = running.get(name, True) if action.enabled is None else action.enabled
    switched_off = [name for name, is_on in {**enabled, **running}.items() if not is_on and name not in off]
    return SchedulerSettings(
        plugins=tuple(
            sorted(
                (plugin for name, plugin in plugins.items() if enabled[name]),
                key=lambda plugin: (-plugin.priority, plugin.name),
            )
        ),
        actions=tuple(sorted((name for name in actions if running[name]), key=lambda name: (-actions[name], name))),
        queue_depth=spec.queueDepthPerAction if spec else {},
        usage=spec.usageDBConfig if spec else None,
        flags=spec.args if spec else {},
        budgets=spec.scenarioSearchBudgets if spec and "scenarioSearchBudgets" in spec.model_fields_set else None,
        off=tuple(switched_off),
    )
