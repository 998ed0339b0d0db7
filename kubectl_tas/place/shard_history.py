"""Finds what queues used in the past, as far as the scheduler of a shard counts it: of a file, of Prometheus, or
unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import RESOURCES, summed
from kubectl_tas.place.fairshare import NO_HISTORY, PastUsage, QueueTree, UsageHistory

if TYPE_CHECKING:
    from kubectl_tas.model.scheduler_settings import SchedulerSettings
    from kubectl_tas.model.scheduling_shard import UsageDatabase
    from kubectl_tas.resolve.shards import FleetShard

K_VALUE = 1.0
"""kValue of a scheduler whose shard states none: pkg/scheduler/plugins/proportion/proportion.go, 0.10 to 0.17."""


class UsageSource(Enum):
    """The origin of past usage."""

    FILE = "file"
    PROMETHEUS = "prometheus"
    UNKNOWN = "unknown"
    """Past usage counts, but nobody said what it was."""


@json_fields("kValue=usage.k_value source")
@dataclass(frozen=True, slots=True)
class ShardHistory:
    """The past usage that a shard's scheduler counts."""

    usage: UsageHistory = NO_HISTORY
    source: UsageSource | None = None
    """None if past usage does not count."""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UsageInput:
    """Past usage and settings that the user gives."""

    past_usage: Mapping[str, PastUsage] | None = None
    """Past usage by queue; None if no file tells it."""
    k_value: float | None = None
    """kValue for a shard that is not declared."""
    ask: Callable[[UsageDatabase], Mapping[str, PastUsage]] | None = None
    """Asks a database for past usage; None if no cluster is asked. Raises TasError."""


def shard_history(
    shard: FleetShard | None, settings: SchedulerSettings, tree: QueueTree, given: UsageInput
) -> ShardHistory:
    """Returns the past usage for the queues of a shard; ``shard`` is None if the repository does not declare it."""
    if shard is None and given.k_value is not None:
        return _history(given.k_value, given.past_usage, tree, ())
    if shard is None and given.past_usage is None:
        return ShardHistory()
    if shard is None:
        return _history(K_VALUE, given.past_usage, tree, (_UNDECLARED,))
    remarks = tuple(_remarks(shard, settings, has_file=given.past_usage is not None))
    database = settings.usage
    if given.past_usage is not None:
        return _history(settings.k_value, given.past_usage, tree, remarks)
    if database is None or not _answers(database) or settings.k_value == 0:
        return ShardHistory(remarks=remarks)
    if given.ask and database.clientType == PROMETHEUS:
        try:
            past_usage = given.ask(database)
        except TasError as error:
            return _history(settings.k_value, None, tree, (*remarks, f"{error.message}. {error.hint}"))
        return ShardHistory(UsageHistory(settings.k_value, past_usage), UsageSource.PROMETHEUS, remarks)
    return _history(settings.k_value, None, tree, remarks)


PROMETHEUS = "prometheus"
_UNDECLARED = "kValue 1 counts, the default of KAI, since the repository declares no shard; --k-value names another."


def _history(
    k_value: float, past_usage: Mapping[str, PastUsage] | None, tree: QueueTree, remarks: tuple[str, ...]
) -> ShardHistory:
    source = UsageSource.UNKNOWN if past_usage is None else UsageSource.FILE
    complete = None if past_usage is None else _with_parents(past_usage, tree)
    return ShardHistory(UsageHistory(k_value, complete), source, remarks)


def _with_parents(past_usage: Mapping[str, PastUsage], tree: QueueTree) -> dict[str, PastUsage]:
    """Adds to each queue that is left out what the queues below it used."""
    complete = dict(past_usage)
    for name in reversed(list(tree.by_name)):  # children first
        below = [complete[child.name] for child in tree.below(name) if child.name in complete]
        if name not in complete and below:
            complete[name] = {resource: summed(used.get(resource, 0) for used in below) for resource in RESOURCES}
    return complete


def _answers(database: UsageDatabase) -> bool:
    """Whether KAI gets past usage of the database. For other windows than sliding, it asks Prometheus for sum_over_time
    of an instant vector, which Prometheus refuses (usagedb/prometheus/prometheus.go, 0.10 to 0.17).
    """
    return database.clientType != PROMETHEUS or database.usageParams.windowType == "sliding"


def _remarks(shard: FleetShard, settings: SchedulerSettings, *, has_file: bool) -> list[str]:
    remarks = []
    if settings.plugin("proportion") is None:
        remarks.append(f"Shard {shard.name} has the plugin proportion off, so its scheduler divides nothing.")
    database = settings.usage
    if database is None and has_file:
        remarks.append(
            f"Shard {shard.name} has no usageDBConfig, so its scheduler counts no past usage yet. These are the shares "
            "with it."
        )
    if database is not None and not _answers(database):
        remarks.append(
            f"Shard {shard.name} counts no past usage: Prometheus refuses KAI's query for a "
            f"{database.usageParams.windowType} window. Write windowType: sliding."
        )
    return remarks
