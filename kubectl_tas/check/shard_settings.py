"""Checks SchedulingShards: which pools they serve, and what KAI's operator and scheduler make of their settings.

Follows pkg/operator/operands/scheduler, pkg/scheduler/conf_util and pkg/scheduler/cache/usagedb of KAI 0.10 to 0.17.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity, Suggestion, Waiving
from kubectl_tas.base.words import closest, did_you_mean, shortened
from kubectl_tas.check.conflicts import repetitions
from kubectl_tas.check.versions import VERSION_UNSUPPORTED
from kubectl_tas.facts.kai import Patch
from kubectl_tas.facts.scheduler_plugins import OPERATOR_SINCE, SchedulerPart, Table, rows, rows_of
from kubectl_tas.facts.times import nanoseconds
from kubectl_tas.load.schema import invalid_value
from kubectl_tas.model.base import KeyPath
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.resolve.shards import FleetShard

if TYPE_CHECKING:
    from kubectl_tas.model.scheduler_settings import SchedulerSettings

SHARD_DUPLICATE = Rule.error(
    "shard-duplicate",
    "Two SchedulingShards have one partitionLabelValue.",
    "KAI's operator makes a scheduler of each. Both then place the same pods on the same nodes, and neither knows what "
    "the other does. Keep one shard for each value.",
)
SHARD_UNUSED = Rule.warning(
    "shard-unused",
    "No pool has the partitionLabelValue of a SchedulingShard.",
    "Its scheduler runs, and no pool of this repository sends work to it. Correct the value, write it as nodePool of a "
    "pool, or remove the shard.",
)
SHARD_MISSING = Rule.error(
    "shard-missing",
    "No SchedulingShard serves a pool.",
    "KAI runs one scheduler for each SchedulingShard. It places only work whose label kai.scheduler/node-pool has the "
    "shard's partitionLabelValue; a shard without a value places work without the label. The pods of a pool without "
    "a shard stay Pending, and nothing in the cluster says why.",
    protects=Waiving.CONFIG,
)
SHARD_UNDECLARED = Rule.info(
    "shard-undeclared",
    "A pool needs a SchedulingShard, and none is declared.",
    "Somebody else may apply the shards of the cluster. Without the one that is named, the pods of the pool stay "
    "Pending. Declare it in a folder of spec.adminSources to have it checked.",
)
SHARD_SETTING = Rule.error(
    "shard-setting",
    "KAI ignores or refuses a setting of a SchedulingShard.",
    "Examples: a plugin, an action, an argument or a flag that the release does not have; a queue depth for an action "
    "that does not run. KAI ignores unknown plugins and flags. With an unknown action or an incomplete usageDBConfig "
    "the scheduler exits at its start. If your build of KAI has plugins of its own, lower the rule.",
    protects=Waiving.CONFIG,
)
SHARD_USAGE = Rule.warning(
    "shard-usage",
    "The scheduler of a SchedulingShard knows of no past usage.",
    "kValue says how much past usage counts. Without usageDBConfig the scheduler knows of no usage, so kValue has no "
    "effect. For windows of type tumbling and cron, KAI asks Prometheus for the sum_over_time of an instant vector, "
    "and Prometheus refuses the query (pkg/scheduler/cache/usagedb, KAI 0.10 to 0.17). Write windowType: sliding.",
)
SHARD_PLUGIN_OFF = Rule.error(
    "shard-plugin-off",
    "A SchedulingShard turns off what its pools need.",
    "Without topology, KAI starts gangs outside the levels that they require. Without proportion, quotas and limits of "
    "queues count for nothing. Without predicates, pods reach nodes that they must not use. Without allocate, no work "
    "starts.",
    protects=Waiving.CONFIG,
)
_VALUE: KeyPath = ("spec", "partitionLabelValue")
_OF_OPERATOR = (
    *("scheduler-conf", "scheduler-name", "namespace", "nodepool-label-key", "partition-label-value"),
    *("resource-reservation-app-label", "queue-label-key"),
)
"""Flags that the operator writes by itself. A flag of the shard comes after them, so it wins."""
_BOOLEANS = frozenset(["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"])
_BUDGETED = ("default", "reclaim", "preempt", "consolidation")
_GENERATORS = ("default", "NodeLocalGreedy", "MultiNodeGang")
_SLIDING = "Write windowType: sliding."
_DATE = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def check_shard_values(fleet: Fleet) -> Iterator[Diagnostic]:
    """Compares the values of shards with each other and with the pools."""
    for value, first, shard in repetitions((shard.value, shard) for shard in fleet.shards):
        served = f"partitionLabelValue {value}" if value else "no partitionLabelValue"
        message = f"two SchedulingShards have {served}: {first.name} and {shard.name}"
        related = (Related("the other one", _value_of(first)),)
        hint = "Give each its own value, or remove one of them."
        yield Diagnostic(SHARD_DUPLICATE, message, _value_of(shard), related, hint=hint)


def check_undeclared(fleet: Fleet) -> Iterator[Diagnostic]:
    """Tells which shards the cluster must have, if the repository declares none: one note for each value."""
    pools_by_value: dict[str, list[FleetPool]] = {}
    for pool in fleet.pools if not fleet.shards else ():
        if pool.shard and pool.parent is None and _makes_schedulers(pool):
            pools_by_value.setdefault(pool.shard, []).append(pool)
    for value, pools in pools_by_value.items():
        need = (
            f"pools {shortened([pool.name for pool in pools])} need"
            if len(pools) > 1
            else f"pool {pools[0].name} needs"
        )
        message = f"{need} a SchedulingShard with partitionLabelValue: {value}, and the repository declares none"
        hint = "Without it in the cluster, every pod of the pool stays Pending. `kubectl tas doctor` looks for it."
        yield Diagnostic(SHARD_UNDECLARED, message, pools[0].declared.at("spec", "nodePool"), hint=hint)


def check_served(pool: FleetPool, fleet: Fleet) -> Iterator[Diagnostic]:
    """Reports a pool that no declared shard serves. Child pools have the shard of their parent."""
    if not fleet.shards or not _is_unserved(pool, fleet):
        return
    value = pool.shard
    location = pool.declared.at(*(("spec", "nodePool") if value else ("metadata", "name")))
    wanted = f"with partitionLabelValue: {value}" if value else "without partitionLabelValue"
    values = sorted({shard.value for shard in fleet.shards if shard.value})
    message = f"no SchedulingShard serves pool {pool.name}"
    message += f", whose nodePool is {value}" if value else ", which has no nodePool"
    hint = f"Declare a SchedulingShard {wanted}."
    related: tuple[Related, ...] = ()
    if value and (unused := _misspelled(value, fleet)):
        advice = f"Write partitionLabelValue: {value} in shard {unused.name}, or nodePool: {unused.value} in the pool."
        hint = Suggestion(advice, value, unused.value)
        related = (Related(f"shard {unused.name} serves no pool", _value_of(unused)),)
    elif value:
        hint = did_you_mean(value, values, hint)
    elif values:
        hint = f"{hint[:-1]}, or write nodePool: {shortened(values)}."
    yield Diagnostic(SHARD_MISSING, message, location, related, hint=hint)


def _is_unserved(pool: FleetPool, fleet: Fleet) -> bool:
    return pool.parent is None and _makes_schedulers(pool) and fleet.shard_of(pool) is None


def _misspelled(value: str, fleet: Fleet) -> FleetShard | None:
    """Returns the shard without pools whose value differs from that of a pool without a shard by a slip."""
    unused = {shard.value: shard for shard in fleet.shards if shard.value and not shard.pools}
    nearest = closest(value, unused)
    return unused[nearest] if nearest else None


def _makes_schedulers(pool: FleetPool) -> bool:
    """Whether KAI's operator makes schedulers of SchedulingShards in the cluster of a pool."""
    release = pool.backend.release
    return release is not None and release.patch >= OPERATOR_SINCE


def check_shard(shard: FleetShard, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks one shard against the release of each of its clusters."""
    declared = shard.declared
    if not shard.pools and not any(
        _is_unserved(pool, fleet) and _misspelled(pool.shard or "", fleet) is shard for pool in fleet.pools
    ):
        values = sorted({pool.shard for pool in fleet.pools if pool.shard})
        served = f"has nodePool {shard.value}" if shard.value else "lacks nodePool"
        hint = "Write it as nodePool of a pool, or remove the shard."
        message = f"no pool {served}, so shard {shard.name} serves none"
        hint = did_you_mean(shard.value, values, hint) if shard.value else "Remove the shard."
        yield Diagnostic(SHARD_UNUSED, message, _value_of(shard), hint=hint)
    yield from _usage(shard)
    for backend in shard.backends:
        release = backend.release
        if release is None:
            continue
        if release.patch < OPERATOR_SINCE:
            message = f"a SchedulingShard needs KAI 0.10 or later; backend {backend.name} runs"
            message += f" {backend.spec.scheduler.version}"
            hint = "Update KAI there to 0.10 or later, or remove the shard."
            yield Diagnostic(VERSION_UNSUPPORTED, message, declared.at("kind"), hint=hint)
            continue
        # Fields that the CRD of the release lacks.
        for path, row in _written_fields(shard.declared.origin.value(("spec",)), ()):
            if not row.is_in(release.patch):
                field = ".".join(map(str, ("spec", *path)))
                message = (
                    f"{field} of a SchedulingShard needs KAI {_short(row.since)} or later; backend {backend.name} runs"
                )
                message += f" {backend.spec.scheduler.version}"
                hint = f"Update KAI there to {_short(row.since)} or later, or leave it out."
                yield Diagnostic(VERSION_UNSUPPORTED, message, shard.declared.at_key("spec", *path), hint=hint)
        yield from _settings(shard, backend, release.patch)
        yield from _turned_off(shard, backend)


def _value_of(shard: FleetShard) -> Location:
    return shard.declared.at(*(_VALUE if shard.value else ("metadata", "name")))


def _written_fields(value: Any, path: KeyPath, table: str = "") -> Iterator[tuple[KeyPath, SchedulerPart]]:
    """Yields the paths of the fields that a shard writes below ``path``, the outermost alone, with their rows."""
    for key, below in value.items() if isinstance(value, dict) else ():
        name = f"{table}.{key}".lstrip(".")
        row = rows("fields").get(name)
        if row is not None and row.since > OPERATOR_SINCE:
            yield (*path, key), row
        else:
            yield from _written_fields(below, (*path, key), name if row else f"{table}.*")


def _short(patch: Patch) -> str:
    return ".".join(map(str, patch if patch[2] else patch[:2]))


def _settings(shard: FleetShard, backend: FleetBackend, patch: Patch) -> Iterator[Diagnostic]:
    """Reports settings that the scheduler of the release does not have, or does not start with."""
    from kubectl_tas.model.scheduler_settings import settings_of

    spec = shard.spec
    settings = settings_of(spec, backend.release)
    for name, plugin in spec.plugins.items():
        yield from _unknown(shard, backend, "plugins", ("plugins", name))
        row = rows("plugins").get(name)
        for argument in (plugin.arguments or {}) if row else ():
            if row and argument not in row.arguments:
                path = ("plugins", name, "arguments", argument)
                message = f'the plugin {name} has no argument "{argument}", and ignores it'
                hint = did_you_mean(argument, row.arguments, "Remove it: the plugin has no arguments.", folds=True)
                yield _setting(shard, message, path, hint)
    for name in spec.actions:
        yield from _unknown(shard, backend, "actions", ("actions", name))
    if not settings.actions:
        message = "no action is on, and the scheduler does not start without one"
        yield _setting(shard, message, ("actions",), "Leave allocate on.")
    for name, value in spec.args.items():
        yield from _flag(shard, backend, name, value)
    for action, depth in spec.queueDepthPerAction.items():
        if depth == 0 or depth < -1:
            message = f"a queueDepthPerAction of {depth} makes the scheduler panic as soon as work waits"
            yield _setting(shard, message, ("queueDepthPerAction", action), "Write 1 or more, or -1 for no bound.")
        if action not in settings.actions:
            known = [*settings.actions]
            message = f'queueDepthPerAction names "{action}", which does not run, so the operator refuses the shard'
            hint = did_you_mean(action, known, f"Remove it; {', '.join(known)} run.")
            yield _setting(shard, message, ("queueDepthPerAction", action), hint)
    yield from _replaced(shard)
    yield from _budgets(shard)


def _replaced(shard: FleetShard) -> Iterator[Diagnostic]:
    """Reports fields that have no effect, since spec.plugins turns their plugin off or replaces its arguments."""
    fields = (
        (("minRuntime", "preemptMinRuntime"), "minruntime", "defaultPreemptMinRuntime"),
        (("minRuntime", "reclaimMinRuntime"), "minruntime", "defaultReclaimMinRuntime"),
        (("kValue",), "proportion", "kValue"),
    )
    for path, name, argument in fields:
        plugin = shard.spec.plugins.get(name)
        if plugin is None or shard.declared.origin.value(("spec", *path)) is None:
            continue
        if plugin.enabled is False:
            cause, hint = f"spec.plugins turns {name} off", f"Remove it, or leave {name} on."
        elif plugin.arguments is not None:
            cause, hint = f"the arguments of {name} in spec.plugins replace it", "Remove it."
            if argument not in plugin.arguments:
                hint = f"Remove it, or write {argument} among the arguments of {name}."
        else:
            continue
        yield replace(_setting(shard, f"{'.'.join(path)} has no effect: {cause}", path, hint), level=Severity.WARNING)


def _unknown(shard: FleetShard, backend: FleetBackend, table: Table, path: KeyPath) -> Iterator[Diagnostic]:
    """Reports a plugin or an action that the release does not have."""
    name, patch = str(path[-1]), backend.release.patch if backend.release else OPERATOR_SINCE
    known = rows_of(table, patch)
    if name in known:
        return
    what = table.removesuffix("s")
    effect = "so the scheduler ignores it" if table == "plugins" else "so the scheduler exits at its start"
    if shard.declared.origin.value(("spec", *path, "enabled")) is False:
        effect = "so turning it off has no effect"
    message = f'KAI {backend.spec.scheduler.version} has no {what} "{name}", {effect}'
    later = rows(table).get(name)
    hint = f"KAI has it from {_short(later.since)} on: update KAI there, or remove it." if later else ""
    yield _setting(shard, message, path, hint or did_you_mean(name, known, f"Remove it. Known: {', '.join(known)}."))


def _flag(shard: FleetShard, backend: FleetBackend, name: str, value: str) -> Iterator[Diagnostic]:
    known = rows_of("flags", backend.release.patch if backend.release else OPERATOR_SINCE)
    path, bare = ("args", name), name.lstrip("-")
    row = known.get(name)
    if row is None:
        message = (
            f'the scheduler of KAI {backend.spec.scheduler.version} has no flag "{name}", so the operator ignores it'
        )
        later = rows("flags").get(name)
        hint = f"KAI has it from {_short(later.since)} on: update KAI there, or remove it." if later else ""
        if bare != name and bare in known:
            hint = f"Write {bare}, without dashes."
        yield _setting(shard, message, path, hint or did_you_mean(name, known, "Remove it."))
    elif name in _OF_OPERATOR:
        message = f"args sets --{name}, which KAI's operator sets for every scheduler; the scheduler would use this one"
        hint = "Remove it." if name != "partition-label-value" else "Remove it, and write partitionLabelValue."
        yield _setting(shard, message, path, hint)
    elif not _is_of(row.type, value):
        kinds = {"bool": '"true" or "false"', "int": "a whole number", "duration": "a duration such as 1s"}
        yield invalid_value(shard.declared.origin, ("spec", *path), f"must be {kinds[row.type]}", value)


def _is_of(kind: str, value: str) -> bool:
    """Whether a flag of the scheduler takes a value. With another one it exits at its start."""
    if kind == "bool":
        return value in _BOOLEANS
    if kind == "duration":
        return nanoseconds(value) is not None
    return kind == "string" or re.fullmatch(r"[-+]?[0-9]{1,18}", value) is not None


def _budgets(shard: FleetShard) -> Iterator[Diagnostic]:
    """Reports what the operator refuses of scenarioSearchBudgets (validateScenarioSearchBudgets)."""
    budgets = shard.spec.scenarioSearchBudgets
    of_names: tuple[tuple[str, Mapping[str, str], Iterable[str], str], ...] = (
        ("maxActionSearchDuration", budgets.maxActionSearchDuration, _BUDGETED, "action"),
        ("maxGeneratorSearchDuration", budgets.maxGeneratorSearchDuration, _GENERATORS, "generator"),
    )
    for field, spans, known, what in of_names:
        path = ("scenarioSearchBudgets", field)
        for name, span in spans.items():
            if name not in known:
                message = f'{field} names "{name}", which is no {what} with a budget'
                yield _setting(shard, message, (*path, name), did_you_mean(name, known, f"Known: {', '.join(known)}."))
            elif (nanoseconds(span) or 0) < 0:
                yield invalid_value(shard.declared.origin, ("spec", *path, name), "must not be negative", span)
    least = nanoseconds(budgets.minJobSearchDuration or "0s") or 0
    most = nanoseconds(budgets.maxJobSearchDuration or "4m") or 0
    if least and most and least >= most:
        message = "minJobSearchDuration must be less than maxJobSearchDuration, which is"
        message += f" {budgets.maxJobSearchDuration or '4m by default'}"
        path = ("scenarioSearchBudgets", "minJobSearchDuration")
        yield _setting(shard, message, path, "Write a shorter one.")


def _usage(shard: FleetShard) -> Iterator[Diagnostic]:
    """Reports a kValue without a database, and a database that the scheduler cannot use."""
    spec, origin = shard.spec, shard.declared.origin
    usage = spec.usageDBConfig
    if spec.kValue is not None and usage is None:
        message = "kValue has no effect without usageDBConfig: the scheduler knows no past usage"
        location = origin.locate(("spec", "kValue"), key=True)
        yield Diagnostic(SHARD_USAGE, message, location, hint="Add usageDBConfig, or remove kValue.")
    if spec.kValue is not None and spec.kValue < 0:
        yield invalid_value(origin, ("spec", "kValue"), "must be 0 or more", spec.kValue, "KAI takes it for 0.")
    if usage is None:
        return
    path: KeyPath = ("usageDBConfig",)
    params = usage.usageParams
    window: KeyPath = (*path, "usageParams", "windowType")
    if usage.clientType != "prometheus":
        rule = "must be prometheus, the one client of KAI"
        yield invalid_value(origin, ("spec", *path, "clientType"), rule, usage.clientType, "Write prometheus.")
    if usage.connectionString and usage.connectionStringEnvVar:
        message = "usageDBConfig has connectionString and connectionStringEnvVar, and the scheduler exits at its start"
        yield _setting(shard, message, (*path, "connectionStringEnvVar"), "Remove one of the two.")
    if params.windowType == "tumbling" and params.tumblingWindowStartTime is None:
        message = "a tumbling window has no tumblingWindowStartTime, and the scheduler exits at its start"
        yield _setting(shard, message, window, _SLIDING)
    elif params.windowType == "cron" and not params.cronString:
        yield _setting(shard, "a cron window has no cronString, and the scheduler exits at its start", window, _SLIDING)
    elif params.windowType != "sliding":
        message = f"Prometheus refuses KAI's query for a {params.windowType} window, so no past usage counts"
        yield Diagnostic(SHARD_USAGE, message, origin.locate(("spec", *window)), hint=_SLIDING)
    start = params.tumblingWindowStartTime
    if start is not None and not _DATE.fullmatch(start):
        place = ("spec", *path, "usageParams", "tumblingWindowStartTime")
        yield invalid_value(origin, place, "must be a time", start, "Write one such as 2026-01-01T00:00:00Z.")


def _turned_off(shard: FleetShard, backend: FleetBackend) -> Iterator[Diagnostic]:
    """Reports plugins and actions that are off although pools of the cluster need them."""
    from kubectl_tas.model.scheduler_settings import settings_of

    pools = [pool for pool in shard.pools if pool.backend == backend]
    settings: SchedulerSettings = settings_of(shard.spec, backend.release)
    with_levels = shortened([pool.name for pool in pools if pool.levels])
    all_pools = shortened([pool.name for pool in pools])
    needs = (
        ("plugins", "topology", with_levels, "gangs start outside the levels that they require"),
        ("plugins", "proportion", all_pools, "quotas and limits of queues count for nothing"),
        ("plugins", "predicates", all_pools, "pods reach nodes that they must not use"),
        ("actions", "allocate", all_pools, "no work starts"),
    )
    for table, name, served, effect in needs:
        is_on = settings.plugin(name) if table == "plugins" else settings.has_action(name) or not settings.actions
        if served and not is_on:
            message = f"shard {shard.name} turns {name} off, and serves {served}: {effect}"
            location = shard.declared.at("spec", table, name, "enabled")
            yield Diagnostic(SHARD_PLUGIN_OFF, message, location, hint="Write enabled: true, or remove the line.")


def _setting(shard: FleetShard, message: str, path: KeyPath, hint: str) -> Diagnostic:
    return Diagnostic(SHARD_SETTING, message, shard.declared.at_key("spec", *path), hint=hint)
