"""Builds the tables and lines that every format of an impact shows, and renders them as text for terminals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import shortened
from kubectl_tas.compare.impact import Impact, QueueChange, QueueState, WorkState
from kubectl_tas.compare.shard_changes import ChangedField
from kubectl_tas.facts.quantities import NO_LIMIT, RESOURCES, UNITS, Amount, Amounts, ResourceName, said, show
from kubectl_tas.report import style
from kubectl_tas.report.style import printable
from kubectl_tas.report.text import blocks, plural
from kubectl_tas.resolve.topologies import Level

Row = tuple[str, ...]
NOTHING = "-"
"""The cell text for a missing value."""
MAX_NAMED = 5
"""Maximum number of queues that a row names."""
_OF_QUOTAS = re.compile(r"table (leaves|draining)[0-9]*")
"""The quota tables of a guard policy. The rows of queues show the same changes."""
_HEADS: dict[ResourceName, str] = {"gpu": "GPUs", "cpu": "CPU", "memory": "Memory"}


@dataclass(frozen=True, slots=True)
class ImpactSection:
    """One table."""

    title: str
    header: Row
    rows: tuple[Row, ...]


def sections(impact: Impact) -> tuple[ImpactSection, ...]:
    """Returns the sections that have rows, the most important first."""
    made = (make(impact) for make in _SECTIONS)
    return tuple(section for section in made if section.rows)


def counted(impact: Impact) -> str:
    """Counts the changes by kind, in words."""
    counts = (
        (len(impact.settings), "setting"),
        (len(impact.beside), "file beside the manifests"),
        (len(impact.queues), "queue"),
        (len(impact.subpools), "subpool state"),
        (len(impact.topologies), "topology"),
        (len(impact.shards), "shard"),
        (len(impact.work), "workflow or workload"),
        (len(impact.restarts), "restart"),
        (sum(len(shard.moves) for shard in impact.starts or ()), "start"),
        (len(_guard(impact).rows), "guard rule"),
        (
            sum(
                counts_of_kind.made + counts_of_kind.changed + counts_of_kind.dropped
                for counts_of_kind in impact.objects
            ),
            "object",
        ),
    )
    phrases = [_counted(number, noun) for number, noun in counts if number]
    return f"{', '.join(phrases) or 'nothing'}{'; not all could be compared' if impact.unread else ''}"


def _counted(number: int, noun: str) -> str:
    several = {
        "file beside the manifests": "files beside the manifests",
        "topology": "topologies",
        "workflow or workload": "workflows or workloads",
    }.get(noun)
    return f"{number} {several}" if several and number != 1 else plural(number, noun)


def risk_line(impact: Impact) -> str:
    """Returns the line about the risk, which ends every format."""
    risk, reasons = impact.risk
    return f"risk: {risk} - {', '.join(reasons)}"


def render_text(impact: Impact) -> str:
    """Renders a table for each section, the findings and the risk line."""
    paragraphs = [f"{printable(f'Changes since {impact.revision}')}: {counted(impact)}\n"]
    paragraphs += [
        style.section(table.title, [cell.upper() for cell in table.header], table.rows) for table in sections(impact)
    ]
    if impact.findings:
        paragraphs.append(blocks(impact.findings))
    return "\n".join([*paragraphs, f"{printable(risk_line(impact))}\n"])


def _settings(impact: Impact) -> ImpactSection:
    rows = [(setting.path, setting.before, setting.after) for setting in impact.settings]
    title = "Settings that decide what is read and what is applied"
    return ImpactSection(title, ("Setting", "Before", "After"), tuple(rows))


def _beside(impact: Impact) -> ImpactSection:
    rows = [(file.path, f"kept, {file.kind}" if file.kind else "refused", file.effect) for file in impact.beside]
    return ImpactSection("Files that kubectl-tas did not write", ("File", "State", "What it does"), tuple(rows))


def _queues(impact: Impact) -> ImpactSection:
    used = [name for name in RESOURCES if name == "gpu" or any(_has(queue, name) for queue in impact.queues)]
    clusters = _clusters(impact)
    header = (*("Cluster",)[:clusters], "Queue", "Of", "Change", *(_HEADS[name] for name in used), "Also")
    rows = [
        (
            *(queue.backend,)[:clusters],
            queue.name,
            f"{queue.state.target} (all of it)" if queue.state.is_container else queue.state.target,
            queue.kind,
            *(quota_text(queue, name) for name in used),
            "; ".join(_also(queue)) or NOTHING,
        )
        for queue in impact.queues
    ]
    return ImpactSection("Queues", header, tuple(rows))


def _clusters(impact: Impact) -> int:
    """Returns the number of columns that name the cluster: 1 if several clusters have changes, else 0."""
    names = {change.backend for change in impact.queues} | {change.backend for change in impact.work}
    return int(len(names) > 1)


def _has(queue: QueueChange, name: ResourceName) -> bool:
    """Whether a queue has a quota of a resource before or after the change."""
    return any(state is not None and state.quota.of(name) != NO_LIMIT for state in (queue.before, queue.after))


def quota_text(queue: QueueChange, name: ResourceName) -> str:
    """Returns ``30 -> 40 (+10)``, or one amount if the quota does not change."""
    return move_text(name, *(state.quota if state else None for state in (queue.before, queue.after)))


def move_text(name: ResourceName, before: Amounts | None, after: Amounts | None) -> str:
    """Returns the change of an amount as in ``quota_text``. None means: the queue does not exist."""
    old, new = (show(name, amounts.of(name)) if amounts is not None else NOTHING for amounts in (before, after))
    if old == new:
        return old
    return f"{old} -> {new}{difference(name, before or Amounts(), after or Amounts())}"


def difference(name: ResourceName, before: Amounts, after: Amounts) -> str:
    """Returns `` (+10)``, or nothing if one of the amounts has no limit."""
    if NO_LIMIT in (before.of(name), after.of(name)):
        return ""
    delta = after.of(name) - before.of(name)
    return f" ({'+' if delta > 0 else ''}{show(name, delta)})"


def _also(queue: QueueChange) -> Iterator[str]:
    before, after = queue.before, queue.after
    if before is None or after is None:
        return
    if before.parent != after.parent:
        yield f"below {before.parent or 'the top'} -> {after.parent or 'the top'}"
    for name in RESOURCES:
        if before.limit.of(name) != after.limit.of(name):
            limits = (show(name, state.limit.of(name)) for state in (before, after))
            yield f"at most {' -> '.join(limits)} {UNITS[name]}"
        if before.weight.of(name) != after.weight.of(name):
            yield f"weight of {UNITS[name]} {before.weight.of(name)} -> {after.weight.of(name)}"
    if before.priority != after.priority:
        yield f"priority {_number(before)} -> {_number(after)}"
    for what_changes, old, new in (
        ("label", before.labels, after.labels),
        ("annotation", before.annotations, after.annotations),
    ):
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                yield f"{what_changes} {key} {old.get(key, NOTHING)} -> {new.get(key, NOTHING)}"


def _number(state: QueueState) -> str:
    return NOTHING if state.priority is None else str(state.priority)


def _gains(impact: Impact) -> ImpactSection:
    """Lists for each pool which targets get more of each resource than before, and which get less."""
    rows = []
    for backend, pool, moves in impact.gains:
        for name in RESOURCES:
            finite = [(target, old.of(name), new.of(name)) for target, old, new in moves]
            deltas: list[tuple[Amount, str]] = [
                (new - old, target) for target, old, new in finite if old != new and NO_LIMIT not in (old, new)
            ]
            gains = sorted((-delta, target) for delta, target in deltas if delta > 0)
            gained = ", ".join(f"{target} +{said(name, -delta)}" for delta, target in gains)
            lost = ", ".join(f"{target} {said(name, delta)}" for delta, target in sorted(deltas) if delta < 0)
            if deltas:
                rows.append((backend, pool, gained or NOTHING, lost or NOTHING))
    return ImpactSection("Who gains", ("Cluster", "Pool", "Gains", "Loses"), tuple(rows))


def _subpools(impact: Impact) -> ImpactSection:
    rows = [(subpool.name, subpool.before or NOTHING, subpool.after or NOTHING) for subpool in impact.subpools]
    return ImpactSection("Subpools", ("Subpool", "Before", "After"), tuple(rows))


def _topologies(impact: Impact) -> ImpactSection:
    rows = [
        (topology.name, topology.kind, _levels(topology.before), _levels(topology.after))
        for topology in impact.topologies
    ]
    return ImpactSection("Topologies", ("Topology", "Change", "Before", "After"), tuple(rows))


def _shards(impact: Impact) -> ImpactSection:
    rows = [
        (shard.name, shard.kind, "; ".join(_field_text(shard.fields)) or NOTHING, shard.concerns)
        for shard in impact.shards
    ]
    return ImpactSection("Shards of the scheduler", ("Shard", "Change", "Fields", "Concerns"), tuple(rows))


def _field_text(fields: Iterable[ChangedField]) -> Iterator[str]:
    return (f"{field.path} {field.before} -> {field.after}" for field in fields)


def _levels(levels: tuple[Level, ...] | None) -> str:
    return NOTHING if levels is None else " > ".join(f"{level.key} ({level.label})" for level in levels)


def _work(impact: Impact) -> ImpactSection:
    rows, clusters = [], _clusters(impact)
    for work in impact.work:
        targets = _arrow(work.before, work.after, lambda state: state.target)
        gpus = _arrow(work.before, work.after, lambda state: str(state.asks.gpu))
        verdicts = _arrow(work.before, work.after, lambda state: state.verdict.outcome)
        verdict = {"made": f"new: {verdicts}", "dropped": "gone"}.get(work.kind, verdicts)
        reason = work.after.verdict.text if work.after else NOTHING
        priority = _arrow(work.before, work.after, lambda state: state.priority)
        cells = (f"{work.work_kind}/{work.name}", targets, priority, gpus, verdict, reason)
        rows.append((*(work.backend,)[:clusters], *cells))
    header = (*("Cluster",)[:clusters], "Work", "Pool", "Priority", "GPUs", "Verdict", "Why")
    return ImpactSection("Work", header, tuple(rows))


def _arrow(before: WorkState | None, after: WorkState | None, show_state: Callable[[WorkState], str]) -> str:
    """Returns ``before -> after``, or one word if both are the same or one is missing."""
    texts = dict.fromkeys(show_state(state) for state in (before, after) if state is not None)
    return " -> ".join(texts)


def _restarts(impact: Impact) -> ImpactSection:
    rows = []
    for restart in impact.restarts:
        name = restart.name if restart.name == restart.successor else f"{restart.name} -> {restart.successor}"
        rows.append((f"{restart.kind}/{name}", restart.reason))
    return ImpactSection("Work whose running pods end and start again", ("What", "Why"), tuple(rows))


def _starts(impact: Impact) -> ImpactSection:
    if not impact.starts:
        return ImpactSection("", (), ())
    from kubectl_tas.draw import startmoves  # most runs forecast nothing

    rows = tuple(row for shard in impact.starts for row in startmoves.rows(shard))
    limited = "; KAI may do more than was tried" if any(shard.is_limited for shard in impact.starts) else ""
    return ImpactSection(f"Starts that move{limited}", startmoves.HEADER, rows)


def _guard(impact: Impact) -> ImpactSection:
    """Lists the changes of the guard. One row names the queues whose quotas change, not each table of a policy."""
    rows = [("guard", impact.guard[0], impact.guard[1])] if impact.guard else []
    rows += [(f"rule {rule.code}", rule.before, rule.after) for rule in impact.rules]
    several = len({policy.backend for policy in impact.policies}) > 1
    moved: dict[str, list[str]] = {}
    for queue in impact.queues:
        if queue.moves and not queue.state.is_container:
            moved.setdefault(queue.backend, []).append(queue.state.target)
    quotas, policies = set[str](), list[Row]()
    for policy in impact.policies:
        where = f" on {policy.backend}" if several else ""
        named = [table for table in policy.changed_parts if policy.backend in moved and _OF_QUOTAS.fullmatch(table)]
        if named and policy.backend not in quotas:
            quotas.add(policy.backend)
            whose = shortened(moved[policy.backend], MAX_NAMED)
            rows.append((f"quotas{where}", "the old ones", f"the new ones, of {whose}"))
        other_tables = [table for table in policy.changed_parts if table not in named]
        if other_tables or not named:
            details = f": {', '.join(other_tables)}" if other_tables else ""
            before = NOTHING if policy.kind == "made" else "there"
            policies.append((f"policy {policy.name}{where}", before, f"{policy.kind}{details}"))
    return ImpactSection("Guard rules", ("Rule", "Before", "After"), (*rows, *policies))


def _objects(impact: Impact) -> ImpactSection:
    rows = [(counts.kind, str(counts.made), str(counts.changed), str(counts.dropped)) for counts in impact.objects]
    return ImpactSection("Objects", ("Kind", "Made", "Changed", "Dropped"), tuple(rows))


def _unread(impact: Impact) -> ImpactSection:
    return ImpactSection("Not compared", ("Why",), tuple((text,) for text in impact.unread))


_SECTIONS: tuple[Callable[[Impact], ImpactSection], ...] = (
    _unread,
    _settings,
    _beside,
    _restarts,
    _starts,
    _queues,
    _gains,
    _subpools,
    _topologies,
    _shards,
    _work,
    _guard,
    _objects,
)
