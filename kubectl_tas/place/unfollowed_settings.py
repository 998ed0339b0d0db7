"""Names the settings of a scheduler that ``fit`` does not follow."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.model.scheduler_settings import SchedulerSettings, default_settings

_NEEDED = ("predicates", "proportion", "subgrouporder", "taskorder")
"""Plugins without which the order of work or the bounds of it are others than those computed here."""
_UNRELATED = ("gpuspread", "reflectjoborder")
"""Plugins that are off by default and change nothing that is computed here."""
_DECIDING = (
    "allow-consolidating-reclaim", "full-hierarchy-fairness", "nodepool-label-key", "queue-label-key",
    "restrict-node-scheduling", "schedule-csi-storage", "scheduler-name", "partition-label-value",
)  # fmt: skip
"""Flags that change what the scheduler decides, and are not followed."""


def unfollowed(settings: SchedulerSettings) -> Iterator[str]:
    """Yields what a shard sets and ``fit`` does not follow."""
    defaults = [plugin.name for plugin in default_settings().plugins]
    yield from (f"the plugin {name} is off" for name in _NEEDED if not settings.has(name))
    names = [plugin.name for plugin in settings.plugins]
    yield from (f"the plugin {name}" for name in names if name not in (*defaults, *_UNRELATED))
    if [name for name in names if name in ("priority", "elastic")] == ["elastic", "priority"]:
        yield "the plugin elastic before priority"
    if "allocate" in settings.actions[1:]:
        yield "actions before allocate"
    if settings.argument("proportion", "relcaimerSaturationMultiplier") not in (None, "1", "1.0"):
        yield "relcaimerSaturationMultiplier"
    if settings.usage is not None:
        yield "usageDBConfig"
    if settings.budgets is not None:
        yield "scenarioSearchBudgets"
    yield from (f"a queueDepthPerAction of {depth}" for depth in sorted({*settings.queue_depth.values()}) if depth > 1)
    yield from (f"the flag {name}" for name in settings.flags if name in _DECIDING)
