"""Computes the effects of a change between two fleets, which all formats of ``diff`` show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.diagnostics import Diagnostic, Severity
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.resources import all_rules
from kubectl_tas.base.words import shortened
from kubectl_tas.compare.change import Change
from kubectl_tas.compare.grove_changes import is_recreated
from kubectl_tas.compare.object_changes import CHANGE_REFUSED, moved, object_changes, path_text
from kubectl_tas.compare.pool_changes import renamed
from kubectl_tas.compare.shard_changes import ShardChange, shard_changes
from kubectl_tas.emit.foreign import FileBeside
from kubectl_tas.facts.quantities import NOTHING, RESOURCES, Amounts
from kubectl_tas.gangs.admission import Admission, Verdict
from kubectl_tas.gangs.lasting import Past
from kubectl_tas.gangs.start_moves import StartMoves
from kubectl_tas.gangs.workflow_gang import gangs_of_workflow
from kubectl_tas.kinds.page import Effect
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.model.config import ConfigSpec
from kubectl_tas.model.policies import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.resolve.topologies import Level
from kubectl_tas.resolve.workflows import FleetWorkflow

if TYPE_CHECKING:
    from kubectl_tas.model.artifact import Artifact

ChangeKind = Literal["made", "changed", "dropped", "recreated"]
"""Kind of a change."""
RiskLevel = Literal["none", "low", "medium", "high"]


@json_fields("of=target container=is_container parent quota limit weight=weight.by_name priority labels annotations")
@dataclass(frozen=True, slots=True)
class QueueState:
    """A queue before or after the change."""

    target: str
    """The pool or pool--subpool of the queue's work; for a parent queue, its pool."""
    parent: str | None
    """The parent queue; None: the cluster's root queue, or no parent."""
    quota: Amounts
    limit: Amounts
    weight: Amounts
    priority: int | None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    is_container: bool = False
    """Whether the queue has child queues, and takes no work itself."""


@json_fields("cluster=backend queue=name change=kind before after")
@dataclass(frozen=True, slots=True)
class QueueChange:
    """A changed, new or removed queue."""

    backend: str
    name: str
    before: QueueState | None
    after: QueueState | None

    @property
    def kind(self) -> ChangeKind:
        """Kind of the change to the queue."""
        return _kind(self.before, self.after)

    @property
    def state(self) -> QueueState:
        """The queue after the change; if removed, before it."""
        state = self.after or self.before
        assert state is not None
        return state

    @property
    def moves(self) -> bool:
        """Whether the quota of the queue changes."""
        return self.before is None or self.after is None or self.before.quota != self.after.quota


@json_fields("subpool=name before after")
@dataclass(frozen=True, slots=True)
class SubpoolStep:
    """A subpool that changes its state."""

    name: str
    before: str | None
    """State before; None if the subpool is new."""
    after: str | None
    """State after; None if the document is removed."""


@json_fields("topology=name change=kind before after")
@dataclass(frozen=True, slots=True)
class TopologyChange:
    """A changed, new or removed topology."""

    name: str
    before: tuple[Level, ...] | None
    after: tuple[Level, ...] | None
    kind: ChangeKind


@json_fields("pool=target queue priority asks verdict=verdict.outcome rule=verdict.rule.code message=verdict.text")
@dataclass(frozen=True, slots=True)
class WorkState:
    """A workflow or a workload before or after the change."""

    target: str
    queue: str
    priority: str
    asks: Amounts
    verdict: Verdict


@json_fields("cluster=backend kind=work_kind name change=kind before after")
@dataclass(frozen=True, slots=True)
class WorkChange:
    """A workflow or a workload that is new, removed, or judged differently."""

    backend: str
    work_kind: str
    name: str
    before: WorkState | None
    after: WorkState | None

    @property
    def kind(self) -> ChangeKind:
        """Kind of the change to the work."""
        return _kind(self.before, self.after)

    @property
    def is_worse(self) -> bool:
        """Whether the work was admitted or is new, but is not admitted now."""
        was = self.before is None or self.before.verdict.outcome == "admitted"
        return was and self.after is not None and self.after.verdict.outcome not in ("admitted", "draining")


@json_fields("kind before=name after=successor why=reason")
@dataclass(frozen=True, slots=True)
class Restart:
    """Running work that ends and starts again."""

    kind: str
    """Either PodGroup or the kind of a workload."""
    name: str
    """Name before the change."""
    successor: str
    """Name after the change."""
    reason: str


@json_fields("setting=path before after")
@dataclass(frozen=True, slots=True)
class SettingChange:
    """A changed setting that decides which files are read, or which objects are applied."""

    path: str
    """For example ``output`` or ``backends.prod.namespace``."""
    before: str
    after: str


@json_fields("rule=code before after")
@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule with a new severity."""

    code: str
    before: str
    after: str
    is_milder: bool


@json_fields("cluster=backend policy=name change=kind what=changed_parts")
@dataclass(frozen=True, slots=True)
class PolicyChange:
    """A changed admission policy of the guard."""

    backend: str
    name: str
    kind: ChangeKind
    changed_parts: tuple[str, ...]
    """Changed parts: variables, conditions, validations, actions."""


@json_fields("kind made changed dropped")
@dataclass(frozen=True, slots=True)
class ObjectCount:
    """Numbers of objects of a kind that are created, changed and deleted."""

    kind: str
    made: int
    changed: int
    dropped: int


@json_fields("before after rules policies")
@dataclass(frozen=True, slots=True)
class GuardChange:
    """The changes of the guard."""

    before: str | None
    """Mode before; None if the mode is unchanged."""
    after: str | None
    """Mode after; None if the mode is unchanged."""
    rules: tuple[RuleChange, ...]
    policies: tuple[PolicyChange, ...]


@json_fields("level reasons")
class Risk(NamedTuple):
    """The risk of a change, with reasons."""

    level: RiskLevel
    reasons: tuple[str, ...]


@json_fields(
    "version:1 base=revision risk settings beside queues subpools topologies work restarts guard=guard_change objects "
    "diagnostics=findings notCompared=unread shards=changed_shards? starts?"
)
@dataclass(frozen=True)
class Impact:
    """All effects of a change."""

    revision: str
    queues: tuple[QueueChange, ...]
    """By cluster, then parents before children."""
    subpools: tuple[SubpoolStep, ...]
    topologies: tuple[TopologyChange, ...]
    work: tuple[WorkChange, ...]
    restarts: tuple[Restart, ...]
    rules: tuple[RuleChange, ...]
    guard: tuple[str, str] | None
    """Mode of the guard before and after; None if unchanged."""
    policies: tuple[PolicyChange, ...]
    objects: tuple[ObjectCount, ...]
    findings: tuple[Diagnostic, ...]
    """Changes that are forbidden, cannot be applied, or need attention."""
    unread: tuple[str, ...] = ()
    """Parts that could not be compared, with the reasons."""
    settings: tuple[SettingChange, ...] = ()
    beside: tuple[FileBeside, ...] = ()
    listed: tuple[str, ...] = ()
    """Work that overQuota of a pool or subpool lists anew, or with larger amounts."""
    shards: tuple[ShardChange, ...] = ()
    starts: tuple[StartMoves, ...] | None = None
    """The starts that the change moves, for each shard of a scheduler; None without nodes."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes and everything could be compared."""
        changes = (self.queues, self.subpools, self.topologies, self.work, self.restarts, self.rules, self.policies)
        further = (self.guard, self.objects, self.unread, self.settings, self.beside, self.listed, self.shards)
        return not any((*changes, *further))

    @property
    def changed_shards(self) -> tuple[ShardChange, ...] | None:
        """The changed shards; None if no shard changes."""
        return self.shards or None

    @property
    def guard_change(self) -> GuardChange:
        """The changes of the guard, of its rules and its policies."""
        before, after = self.guard or (None, None)
        return GuardChange(before, after, self.rules, self.policies)

    @property
    def risk(self) -> Risk:
        """Level of risk, and its reasons."""
        high, medium = list(self._high()), list(self._medium())
        if high:
            return Risk("high", (*high, *medium))
        if medium:
            return Risk("medium", tuple(medium))
        if self.is_empty:
            return Risk("none", ("nothing changes",))
        return Risk("low", ("nothing restarts and nothing is dropped",))

    def _high(self) -> Iterator[str]:
        refused = sum(finding.rule is CHANGE_REFUSED for finding in self.findings)
        errors = sum(each.severity is Severity.ERROR and each.rule is not CHANGE_REFUSED for each in self.findings)
        gangs = sum(restart.kind == "PodGroup" for restart in self.restarts)
        dropped = sum(queue.kind == "dropped" for queue in self.queues)
        recreated = sum(topology.kind == "recreated" for topology in self.topologies)
        if self.settings:
            names = dict.fromkeys(setting.path.partition(".")[0] for setting in self.settings)
            yield f"the Config changes {' and '.join(names)}"
        yield from _phrase(len(self.beside), "file changes what is applied", "files change what is applied")
        yield from _phrase(refused, "change cannot be applied", "changes cannot be applied")
        yield from _phrase(errors, "change must not be made", "changes must not be made")
        yield from _phrase(gangs, "gang restarts", "gangs restart")
        yield from _phrase(len(self.restarts) - gangs, "workload restarts", "workloads restart")
        yield from _phrase(dropped, "queue is dropped", "queues are dropped")
        yield from _phrase(recreated, "topology is recreated", "topologies are recreated")
        for shard in self.shards:
            if shard.kind != "made":
                yield f"shard {shard.name} {shard.effect}: {shard.concerns}"
        if self.guard is not None and self.guard[1] == "off":
            yield "the guard goes"
        else:
            gone = {(policy.backend, policy.name) for policy in self.policies if policy.kind == "dropped"}
            yield from _phrase(len(gone), "admission policy is dropped", "admission policies are dropped")

    def _medium(self) -> Iterator[str]:
        ends = sum(work.kind == "dropped" for work in self.work)
        worse = [work.after.verdict.outcome for work in self.work if work.after is not None and work.is_worse]
        waits = worse.count("pending")
        warned = sum(finding.severity is Severity.WARNING for finding in self.findings)
        closed = sum(subpool.after in ("DELETING", "ARCHIVED") for subpool in self.subpools)
        milder = sum(rule.is_milder for rule in self.rules)
        yield from _phrase(ends, "piece of work is gone", "pieces of work are gone")
        yield from _phrase(waits, "piece of work waits", "pieces of work wait")
        yield from _phrase(len(worse) - waits, "piece of work is refused", "pieces of work are refused")
        yield from _phrase(len(self.losers), "queue loses quota", "queues lose quota")
        yield from _phrase(closed, "subpool is closed", "subpools are closed")
        yield from self.listed
        yield from _phrase(sum(shard.kind == "made" for shard in self.shards), "shard is new", "shards are new")
        yield from _phrase(milder, "rule counts for less", "rules count for less")
        yield from _phrase(warned, "warning", "warnings")
        later = sum(move.is_later for shard in self.starts or () for move in shard.gangs)
        yield from _phrase(later, "gang starts later", "gangs start later")
        if self.unread:
            yield "not all could be compared"
        if self.guard is not None and self.guard[1] == "warn":
            yield "the guard refuses nothing any more" if self.guard[0] == "enforce" else "the guard warns"
        if self.guard is not None and self.guard[1] == "enforce":
            yield "the guard refuses from now on"

    @property
    def losers(self) -> tuple[QueueChange, ...]:
        """Leaf queues that stay, with less quota of any resource."""
        leaves = [queue for queue in self.queues if not queue.state.is_container]
        quotas = [(queue, queue.before.quota, queue.after.quota) for queue in leaves if queue.before and queue.after]
        return tuple(queue for queue, old, new in quotas if any(new.of(name) < old.of(name) for name in RESOURCES))

    @property
    def gains(self) -> Iterator[tuple[str, str, tuple[tuple[str, Amounts, Amounts], ...]]]:
        """For each pool with changed quotas: its cluster, its name, and its leaf queues with both quotas."""
        moves_by_pool: dict[tuple[str, str], list[tuple[str, Amounts, Amounts]]] = {}
        for queue in self.queues:
            if queue.moves and not queue.state.is_container:
                before = queue.before.quota if queue.before else Amounts()
                after = queue.after.quota if queue.after else Amounts()
                pool = queue.state.target.partition("--")[0]
                moves_by_pool.setdefault((queue.backend, pool), []).append((queue.state.target, before, after))
        for (backend, pool), moves in moves_by_pool.items():
            yield backend, pool, tuple(moves)


def impact(
    change: Change,
    findings: Sequence[Diagnostic],
    before: Sequence[Artifact] | None,
    after: Sequence[Artifact],
    beside: Sequence[FileBeside] = (),
) -> Impact:
    """Returns the effects of a change. ``findings`` come from the comparison, ``before`` and ``after`` are the rendered
    objects, ``beside`` other changed files. ``before`` is None if the earlier fleet has errors and cannot be rendered.
    """
    unread = [f"{document} at {change.revision} cannot be read" for document in change.unreadable]
    lacks_config = any(document.startswith(f"{CONFIG_FILE}:") for document in change.unreadable)
    if lacks_config:
        unread.append(f"without {CONFIG_FILE} the earlier names of its queues, topologies and work are unknown")
        change = replace(change, before=change.after)
    elif change.unreadable:
        unread.append("what seems to be new is not listed here, as it may be declared there")
    if before is None:
        unread.append(f"{change.revision} has errors itself, so its objects and admission policies are not compared")
    return Impact(
        revision=change.revision,
        queues=_certain(change, _queues(change)),
        subpools=_certain(change, _subpools(change)),
        topologies=_certain(change, _topologies(change)),
        work=_certain(change, _work(change)),
        restarts=tuple(_restarts(change)),
        rules=tuple(_rules(change)),
        guard=_guard(change),
        policies=tuple(_policies(before, after)) if before is not None else (),
        objects=tuple(_objects(before, after)) if before is not None else (),
        findings=tuple(findings),
        unread=tuple(unread),
        settings=tuple(_settings(change.before.config, change.after.config)),
        beside=tuple(beside),
        listed=tuple(_listed(change)),
        shards=_certain(change, shard_changes(change.before, change.after)),
    )


_Item = TypeVar("_Item", QueueChange, SubpoolStep, TopologyChange, WorkChange, ShardChange)
_Key = TypeVar("_Key")
_State = TypeVar("_State")


def _pairs(
    before: Mapping[_Key, _State], after: Mapping[_Key, _State]
) -> Iterator[tuple[_Key, _State | None, _State | None]]:
    """Yields the differing entries of two mappings by key: first those in ``after``, then removed ones."""
    for key in dict.fromkeys((*after, *before)):
        old, new = before.get(key), after.get(key)
        if old != new:
            yield key, old, new


def _certain(change: Change, changes: Iterator[_Item]) -> tuple[_Item, ...]:
    """Returns the items without new ones, if unreadable documents of the revision may have declared these."""
    return tuple(kind_change for kind_change in changes if kind_change.before is not None or not change.unreadable)


_DECIDING = ("output", "outputKeeps", "layout", "sources", "shards")
"""Settings other than backends that decide which files are read, written and applied."""


def _settings(before: ConfigSpec, after: ConfigSpec) -> Iterator[SettingChange]:
    for name in _DECIDING:
        old, new = (_setting(getattr(spec, name)) for spec in (before, after))
        if old != new:
            yield SettingChange(name, old, new)
    backends = [{backend.name: backend for backend in spec.backends} for spec in (before, after)]
    names = [_setting(tuple(by_name)) for by_name in backends]
    if names[0] != names[1]:
        yield SettingChange("backends", *names)
    for name in (name for name in backends[1] if name in backends[0]):
        was, now = (by_name[name].model_dump() for by_name in backends)
        for field in sorted(was.keys() | now.keys()):
            if was.get(field) != now.get(field):
                yield SettingChange(f"backends.{name}.{field}", _setting(was.get(field)), _setting(now.get(field)))


def _setting(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_setting(inner)}" for key, inner in value.items() if inner is not None)
    return ", ".join(map(str, value)) or "-" if isinstance(value, tuple) else "-" if value is None else str(value)


def _kind(before: object, after: object) -> ChangeKind:
    return "made" if before is None else "dropped" if after is None else "changed"


def _phrase(number: int, singular: str, several: str) -> Iterator[str]:
    if number:
        yield f"{number} {singular if number == 1 else several}"


def _queues(change: Change) -> Iterator[QueueChange]:
    for (backend, name), before, after in _pairs(_queue_states(change.before), _queue_states(change.after)):
        yield QueueChange(backend, name, before, after)


def _queue_states(fleet: Fleet) -> dict[tuple[str, str], QueueState]:
    """Returns every queue of pools on KAI's clusters, each after its parent queue."""
    states: dict[tuple[str, str], QueueState] = {}
    for pool in sorted(fleet.pools, key=lambda pool: (pool.backend.index, [x.name for x in reversed(pool.chain)])):
        if not pool.backend.is_kai:
            continue
        backend, priority = pool.backend.name, pool.declared.spec.spec.priority
        above = pool.parent.queue if pool.parent else None
        spec = pool.declared.spec.spec
        whole = (pool.guarantee, pool.maximum, pool.weight, priority, spec.queue.labels, spec.queue.annotations)
        states[backend, pool.queue] = QueueState(pool.name, above, *whole, is_container=True)
        shared_meta = spec.sharedQueue
        shared = (pool.shared_quota, pool.maximum, pool.weight, priority, shared_meta.labels, shared_meta.annotations)
        states[backend, pool.shared_queue] = QueueState(pool.name, pool.queue, *shared)
        for subpool in pool.subpools:
            if subpool.state != "ARCHIVED":
                own_priority, meta = subpool.declared.spec.spec.priority, subpool.declared.spec.spec.queue
                counting = priority if own_priority is None else own_priority
                amounts = (subpool.quota, subpool.maximum, subpool.weight, counting)
                state = QueueState(subpool.canonical, pool.queue, *amounts, meta.labels, meta.annotations)
                states[backend, subpool.queue] = state
    return states


def _subpools(change: Change) -> Iterator[SubpoolStep]:
    successors = renamed(change)
    earlier, later = (
        {x.canonical: x.state for pool in fleet.pools for x in pool.subpools} for fleet in (change.before, change.after)
    )
    moved = {
        subpool.canonical: f"{new.name}--{subpool.name}"
        for pool in change.before.pools
        if (new := successors.get(pool.name)) is not None
        for subpool in pool.subpools
    }
    reached = set(moved.values())
    for name, state in earlier.items():
        now = later.get(moved.get(name, name))
        if state != now:
            yield SubpoolStep(name, state, now)
    for name, state in later.items():
        if name not in earlier and name not in reached:
            yield SubpoolStep(name, None, state)


def _listed(change: Change) -> Iterator[str]:
    before, after = (
        {leaf.name: leaf.over_quota for pool in x.pools for leaf in pool.leaves} for x in (change.before, change.after)
    )
    for target, later in after.items():
        before_of = {name: lent.amounts for name, lent in before.get(target, {}).items()}
        longer = [name for name, lent in later.items() if lent.amounts.exceeding(before_of.get(name, NOTHING))]
        if longer:
            yield f"overQuota of {target} lists {shortened(longer)}"


def _topologies(change: Change) -> Iterator[TopologyChange]:
    states = ({topology.name: topology.levels for topology in x.topologies} for x in (change.before, change.after))
    for name, before, after in _pairs(*states):
        is_new_object = before is not None and after is not None and is_recreated(before, after)
        yield TopologyChange(name, before, after, "recreated" if is_new_object else _kind(before, after))


def _work(change: Change) -> Iterator[WorkChange]:
    before = Admission(change.before)
    after = Admission(change.after, Past(None if change.unreadable else change.before))
    earlier, later = (_by_identity(fleet) for fleet in (change.before, change.after))
    for key in sorted({*earlier, *later}):
        was, now = earlier.get(key), later.get(key)
        if was and now and _asked(was) == _asked(now) and before.is_admitted(was) and after.is_admitted(now):
            continue
        old, new = _state(was, before), _state(now, after)
        if was and now and new and _asked(was) == _asked(now):
            new = replace(new, verdict=after.verdict_if_running(now, new.verdict))
        if _told(old) != _told(new):
            yield WorkChange(key[0], key[1], key[3], old, new)


def _by_identity(fleet: Fleet) -> dict[tuple[str, str, str, str], Submission]:
    return {(each.pool.backend.name, each.kind, each.namespace, each.name): each for each in fleet.submissions}


def _asked(submission: Submission) -> object:
    """Returns the properties of admitted work that count as a change."""
    return submission.target, submission.priority, submission.asks, submission.is_draining


def _state(submission: Submission | None, admission: Admission) -> WorkState | None:
    if submission is None:
        return None
    verdict = admission.verdict(submission)
    return WorkState(submission.target, submission.queue, submission.priority, submission.asks, verdict)


def _told(state: WorkState | None) -> object:
    """Returns the properties of a judgement that count as a change. Its arithmetic does not."""
    return state and (state.target, state.priority, state.asks, state.verdict.outcome)


def _restarts(change: Change) -> Iterator[Restart]:
    """Yields renamed PodGroups of workflows, then work with a new namespace, then replaced workloads."""
    later = {(workflow.name, workflow.pool.backend.name): workflow for workflow in change.after.workflows}
    for before in change.before.workflows:
        after = later.get((before.name, before.pool.backend.name))
        if after is None:
            continue
        names = _names(change.after, after)
        for group, old in _names(change.before, before).items():
            if names.get(group, old) != old:
                reason = f"{_reason(before, after)}, and Pods that run cannot be changed"
                yield Restart("PodGroup", old, names[group], reason)
    for was, now in moved(change):
        if now.kind != "Workflow":  # whose PodGroups have another name then
            reason = f"it goes from namespace {was.namespace} to {now.namespace}"
            yield Restart(now.kind, was.name, now.name, reason)
    gitops = change.after.config.gitops
    for object_change in object_changes(change):
        rolled_out, name = object_change.of(Effect.RESTARTED), object_change.after.name
        by_hand = gitops == "none" and object_change.after.is_replaced and object_change.of(Effect.REFUSED)
        if by_hand or object_change.is_replaced(gitops):
            how = "it must be deleted by hand" if by_hand else "it is replaced"
            field_text = path_text(object_change.fields[0].path) if object_change.fields else "it"
            yield Restart(object_change.after.kind, name, name, f"{field_text} changes, and {how}")
        elif rolled_out:
            by = f"{path_text(rolled_out[0].path)} changes, which {rolled_out[0].row.by} rolls out"
            yield Restart(object_change.after.kind, name, name, by)


def _names(fleet: Fleet, workflow: FleetWorkflow) -> dict[str, str]:
    gangs = gangs_of_workflow(fleet, workflow)
    return {group.name: gang.name for group, gang in zip(workflow.groups, gangs, strict=True)}


def _reason(before: Submission, after: Submission) -> str:
    """Returns why the pods of a workflow change, as exactly as known."""
    if before.target != after.target:
        return f"it goes from {before.target} to {after.target}"
    if before.queue != after.queue:
        return f"its queue is called {after.queue}, no longer {before.queue}"
    if before.namespace != after.namespace:
        return f"it goes from namespace {before.namespace} to {after.namespace}"
    if before.priority != after.priority:
        return f"its priority goes from {before.priority} to {after.priority}"
    if before.declared.origin.data != after.declared.origin.data:
        return "its file changes"
    return "a file that it names, its pool or the Config changes what it is made of"


_ORDER = ("off", "info", "warning", "error")


def _rules(change: Change) -> Iterator[RuleChange]:
    rules_by_code, severities = all_rules(), (change.before.config.rules, change.after.config.rules)
    for code in sorted({*severities[0], *severities[1]}):
        default = rules_by_code[code].severity.value if code in rules_by_code else "off"
        before, after = (str(rules.get(code, default)) for rules in severities)
        if before != after:
            yield RuleChange(code, before, after, _ORDER.index(after) < _ORDER.index(before))


def _guard(change: Change) -> tuple[str, str] | None:
    modes = (fleet.config.guard for fleet in (change.before, change.after))
    before, after = (mode if isinstance(mode, str) else "enforce" if mode else "off" for mode in modes)
    return None if before == after else (before, after)


def _policies(before: Sequence[Artifact], after: Sequence[Artifact]) -> Iterator[PolicyChange]:
    for key, old, new in _pairs(_specs(before), _specs(after)):
        changed_names = tuple(name for name, _, _ in _pairs(new or {}, old or {}))
        kind = _kind(old, new)
        yield PolicyChange(*key, kind, changed_names if kind == "changed" else ())


def _specs(artifacts: Sequence[Artifact]) -> dict[tuple[str, str], dict[str, object]]:
    """Returns the parts of each policy with their content, by cluster and name; expressions by their names."""
    specs: dict[tuple[str, str], dict[str, object]] = {}
    for artifact in artifacts:
        manifest = artifact.manifest
        if isinstance(manifest, ValidatingAdmissionPolicy):
            contents = specs.setdefault((artifact.backend, manifest.metadata.name), {})
            spec = manifest.spec
            contents |= {"whom it concerns": (spec.matchConstraints, spec.matchConditions, spec.paramKind)}
            contents |= {f"table {variable.name}": variable.expression for variable in spec.variables}
            contents |= {"what is refused": (spec.validations, spec.failurePolicy)}
        elif isinstance(manifest, ValidatingAdmissionPolicyBinding):
            contents = specs.setdefault((artifact.backend, manifest.spec.policyName), {})
            contents["what follows"] = manifest.spec
    return specs


def _objects(before: Sequence[Artifact], after: Sequence[Artifact]) -> Iterator[ObjectCount]:
    counts = Counter((key[1], _kind(old, new)) for key, old, new in _pairs(_by_name(before), _by_name(after)))
    for kind in sorted({kind for kind, _ in counts}):
        yield ObjectCount(kind, counts[kind, "made"], counts[kind, "changed"], counts[kind, "dropped"])


def _by_name(artifacts: Sequence[Artifact]) -> Mapping[tuple[str, ...], object]:
    applied = ((artifact.backend, artifact.manifest) for artifact in artifacts if artifact.apply)
    return {(where, x.kind, x.apiVersion, x.metadata.namespace or "", x.metadata.name): x for where, x in applied}
