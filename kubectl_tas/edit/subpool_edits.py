"""Plans the edit of one file for a subpool command, or returns the diagnostic that refuses the command.

The states follow OSMO's dynamic subpools: quota changes only while ACTIVE, DELETING is frozen, ARCHIVED can only be
recreated, and no document is ever removed. A DELETING subpool lists the work that may finish in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from kubectl_tas.base.diagnostics import Diagnostic, Rule, Severity, TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import did_you_mean, shortened
from kubectl_tas.base.yaml import flow, scalar
from kubectl_tas.facts.quantities import NOTHING, RESOURCES, Amounts
from kubectl_tas.facts.quantities import said as amount_said
from kubectl_tas.gangs.admission import OVER_QUOTA_RUNNING, Admission, needless_over_quota, over_quota_amounts
from kubectl_tas.gangs.lasting import Past
from kubectl_tas.load.rights import is_within
from kubectl_tas.load.splice import Appended, Value
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.pool_kinds import SubpoolState
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import BEHAVIOUR, TRANSITIONS, FleetPool, FleetSubpool, LeafQueue, work_name

if TYPE_CHECKING:  # most edits ask no cluster
    from kubectl_tas.live.live_cluster import Clusters, LiveQueueUsage, RunningGroup


SUBPOOL_TRANSITION = Rule(
    "subpool-transition",
    Severity.ERROR,
    "A command asks of a subpool what its state does not allow.",
    "You create a subpool once. You can change its quota only while it is ACTIVE. DELETING is frozen until nothing "
    "runs there, and you can only recreate an ARCHIVED one. So the files tell the history of the queues.",
)
SUBPOOL_UNKNOWN = Rule(
    "subpool-unknown",
    Severity.ERROR,
    "A command names an unknown pool or subpool.",
    "Names are those of the files. `kubectl tas subpool list` shows all subpools, archived ones included.",
)
LISTS = ("draining", "overQuota")
"""Lists in a subpool of work that existed before its state or its quota changed."""
MAX_NAMED = 5
"""Maximum number of work names in a message."""
Quota = Mapping[str, int | str]
"""A quota: ``gpu``, ``cpu`` and ``memory``, each an amount or a share of the parent, for example ``33%``. As in files,
a share of GPUs also applies to resources that are not named.
"""
Values = tuple[tuple[KeyPath, Value | Appended, str | None], ...]
"""Key path, new value, and the key after which to add a missing one. The value None removes the key."""


@dataclass(frozen=True, slots=True)
class SetValues:
    """New values for one document of a file."""

    origin: Origin
    """The document as read."""
    values: Values
    summary: str
    """Description of the edit, in one line."""

    @property
    def path(self) -> str:
        """Path of the file."""
        return self.origin.path


@dataclass(frozen=True, slots=True)
class NewFile:
    """A new file."""

    path: str
    text: str
    summary: str


@dataclass(frozen=True, slots=True)
class RemoveDocument:
    """The removal of a document from its file. The last document takes the file with it."""

    origin: Origin
    """The document as read."""
    summary: str

    @property
    def path(self) -> str:
        """Path of the file."""
        return self.origin.path


Edit = SetValues | NewFile | RemoveDocument


@dataclass(frozen=True, slots=True)
class Usage:
    """Known state of running work in subpools."""

    given_gpus: int | None = None
    """GPUs in use in each subpool, as given by the user; None: ask the cluster."""
    queues: Mapping[str, LiveQueueUsage] = field(default_factory=dict)
    """State of each queue in its cluster, by pool--subpool."""
    running: Mapping[str, Sequence[RunningGroup]] = field(default_factory=dict)
    """Running PodGroups, by pool--subpool."""
    failed: Mapping[str, TasError] = field(default_factory=dict)
    """Errors of clusters that gave no answer, by backend."""

    def in_use(self, subpool: FleetSubpool) -> bool | None:
        """Whether work runs in a subpool; None if unknown."""
        if self.given_gpus is not None:
            return self.given_gpus > 0
        usage = self.queues.get(subpool.canonical)
        return usage.in_use if usage else None

    def must_be_known(self, subpool: FleetSubpool) -> bool:
        """Whether work runs in a subpool. Raises TasError if the cluster did not tell."""
        is_in_use = self.in_use(subpool)
        if is_in_use is None and subpool.canonical in self.queues:
            raise _untold(self.queues[subpool.canonical].unknown(subpool.queue))
        if is_in_use is None:
            raise _untold("the subpool was changed while the cluster was asked", "Run again. ")
        return is_in_use

    def doubt(self, subpool: FleetSubpool) -> str:
        """Returns words to add if the cluster does not tell whether work runs in a subpool."""
        usage = self.queues.get(subpool.canonical)
        if usage is None or usage.in_use is not None:
            return ""
        return f"; it is unknown whether anything runs there: {usage.doubt}. If nothing runs, pass --used 0"


def ask(fleet: Fleet, clusters: Clusters, subpools: Sequence[FleetSubpool]) -> Usage:
    """Asks the clusters of these subpools about running work. Raises TasError if the only cluster gives no answer."""
    if not subpools:
        return Usage()
    by_backend: dict[str, list[FleetSubpool]] = {}
    for subpool in subpools:
        by_backend.setdefault(fleet.pool_by_name[subpool.pool].backend.name, []).append(subpool)
    asked_backends = clusters.names & by_backend.keys() or by_backend.keys()
    queues: dict[str, LiveQueueUsage] = {}
    running: dict[str, list[RunningGroup]] = {}
    try:
        answers = clusters.ask(lambda cluster: cluster.state(), asked_backends)
    except TasError as error:
        raise _untold(error.message) from error
    failed = {name: _untold(error.message) for name, error in answers.failed.items()}
    for name, state in answers.found.items():
        usage_by_subpool = {x.canonical: state.queues[x.queue] for x in by_backend[name] if x.queue in state.queues}
        queues |= usage_by_subpool
        for subpool in by_backend[name]:
            running[subpool.canonical] = [group for group in state.running if group.queue == subpool.queue]
        if state.lacks:
            failed[name] = _untold(state.lacks.message, f"{state.lacks.hint} ")
        elif not usage_by_subpool:
            queue_names = " or ".join(subpool.queue for subpool in by_backend[name])
            failed[name] = _untold(f"the cluster has no queue {queue_names}", "Name the right cluster with --context. ")
    if len(asked_backends) == 1 and failed:
        raise failed[next(iter(asked_backends))]
    return Usage(queues=queues, running=running, failed=failed)


def _untold(reason: str, hint: str = "") -> TasError:
    otherwise = "If there is no cluster to ask, pass --used N (GPUs in use) or --cluster-state FILE."
    return TasError(f"cannot tell whether anything runs there: {reason}", hint=f"{hint}{otherwise}")


def create(fleet: Fleet, parent: str, name: str, quota: Quota) -> Edit | Diagnostic:
    """Plans a new ACTIVE subpool in its own file."""
    pool = fleet.pool_by_name.get(parent)
    if pool is None:
        return unknown_pool(fleet, parent)
    existing = _subpool(pool, name)
    if existing is not None:
        message = f"subpool {existing.canonical} already exists and is {existing.state}"
        command = "recreate" if existing.state == "ARCHIVED" else "update"
        options = "".join(f" --{'quota' if key == 'gpu' else key} {value}" for key, value in quota.items())
        hint = f"Use: kubectl tas subpool {command} {parent} {name}{options}"
        hint = _frozen(existing, "create").hint if existing.state == "DELETING" else hint
        return Diagnostic(SUBPOOL_TRANSITION, message, existing.declared.at("spec", "state"), hint=hint)
    path = (folder_for(fleet, "subpools") / f"{parent}{names.SEPARATOR}{name}.yaml").as_posix()
    quota_value = _quota_value(pool, quota)
    text = _document(parent, name, quota_value)
    return NewFile(path, text, f"created {parent}{names.SEPARATOR}{name}, quota {_shown_quota(quota_value)}")


def update(fleet: Fleet, parent: str, name: str, quota: Quota) -> Edit | Diagnostic:
    """Plans a new quota for an ACTIVE subpool. A lower quota ends no running work; the free quota becomes negative."""
    subpool = find(fleet, parent, name)
    if isinstance(subpool, Diagnostic):
        return subpool
    if subpool.state != "ACTIVE":
        return _frozen(subpool, "update")
    values = _quota(fleet.pool_by_name[parent], subpool, quota)
    moves = []
    for path, value, _ in values:
        old = subpool.declared.origin.value(path)
        is_named = path[-1] in RESOURCES and (path[-1] != "gpu" or len(values) > 1)
        before = _shown_quota(old) if isinstance(old, int | str | Mapping) else "0"
        moves.append(f"{f'{path[-1]} ' if is_named else ''}{before} -> {_shown_quota(value)}")
    summary = f"updated {subpool.canonical}, quota {', '.join(moves)}"
    return SetValues(subpool.declared.origin, values, summary)


def retire(fleet: Fleet, parent: str, name: str, usage: Usage) -> Edit | Diagnostic:
    """Plans ARCHIVED if nothing is declared or runs, else DELETING. Raises TasError if running work is unknown."""
    subpool = find(fleet, parent, name)
    if isinstance(subpool, Diagnostic):
        return subpool
    if subpool.state != "ACTIVE":
        return _frozen(subpool, "retire")
    declared = tuple(fleet.work_in(subpool.pool, subpool.queue))
    is_needed = bool(declared) or usage.must_be_known(subpool)
    return _transition(subpool, "DELETING" if is_needed else "ARCHIVED", draining=declared)


def recreate(fleet: Fleet, parent: str, name: str, quota: Quota | None) -> Edit | Diagnostic:
    """Plans state ACTIVE for an ARCHIVED subpool, with its old quota or a new one."""
    subpool = find(fleet, parent, name)
    if isinstance(subpool, Diagnostic):
        return subpool
    if subpool.state != "ARCHIVED":
        return _frozen(subpool, "recreate")
    values = () if quota is None else _quota(fleet.pool_by_name[parent], subpool, quota)
    return _transition(subpool, "ACTIVE", values)


def in_doubt(fleet: Fleet, parent: str, name: str) -> list[FleetSubpool]:
    """Returns the named subpool if ``retire`` needs to know whether work runs in it; else an empty list."""
    subpool = find(fleet, parent, name)
    if isinstance(subpool, Diagnostic) or subpool.state != "ACTIVE" or fleet.work_in(subpool.pool, subpool.queue):
        return []
    return [subpool]


def drain(fleet: Fleet, usage: Usage) -> tuple[SetValues, ...]:
    """Plans state ARCHIVED for every DELETING subpool without declared or running work."""
    return tuple(_transition(subpool, "ARCHIVED") for subpool in idle(fleet, usage))


def idle(fleet: Fleet, usage: Usage) -> tuple[FleetSubpool, ...]:
    """Returns the DELETING subpools that can be archived."""
    return tuple(subpool for subpool in empty(fleet) if usage.in_use(subpool) is False)


def draining(fleet: Fleet) -> tuple[FleetSubpool, ...]:
    """Returns all DELETING subpools."""
    return tuple(s for pool in fleet.pools for s in pool.subpools if s.state == "DELETING")


def empty(fleet: Fleet) -> tuple[FleetSubpool, ...]:
    """Returns the DELETING subpools without declared work."""
    return tuple(subpool for subpool in draining(fleet) if not fleet.work_in(subpool.pool, subpool.queue))


def reason(fleet: Fleet, subpool: FleetSubpool, usage: Usage) -> str:
    """Returns why a subpool is still DELETING."""
    declared = [f"{name} ({work.origin.path})" for name, work in fleet.work_in(subpool.pool, subpool.queue).items()]
    if declared:
        return f"; still declared: {listed(declared)}"
    if not usage.in_use(subpool):
        return usage.doubt(subpool)
    held: dict[tuple[str, str], Amounts] = {}
    for group in usage.running.get(subpool.canonical, ()):
        key = group.work, group.namespace
        held[key] = held.get(key, NOTHING) + group.held
    gpus = {key: f"{amount_said('gpu', amounts.gpu)} " if amounts.gpu else "" for key, amounts in held.items()}
    runs = [f"{work} ({gpus[work, space]}in namespace {space})" for work, space in sorted(held)]
    return f"; still running: {listed(runs)}" if runs else "; work still runs there"


def find(fleet: Fleet, parent: str, name: str) -> FleetSubpool | Diagnostic:
    """Returns the named subpool, or the diagnostic for an unknown one."""
    pool = fleet.pool_by_name.get(parent)
    if pool is None:
        return unknown_pool(fleet, parent)
    subpool = _subpool(pool, name)
    if subpool is not None:
        return subpool
    subpool_names = [subpool.name for subpool in pool.subpools]
    message = f'pool {parent} has no subpool "{name}"; it has {", ".join(subpool_names) or "none"}'
    otherwise = f"Use: kubectl tas subpool create {parent} {name} --quota N"
    return Diagnostic(SUBPOOL_UNKNOWN, message, None, hint=did_you_mean(name, subpool_names, otherwise, quote=""))


def _subpool(pool: FleetPool, name: str) -> FleetSubpool | None:
    return next((subpool for subpool in pool.subpools if subpool.name == name), None)


def unknown_pool(fleet: Fleet, name: str) -> Diagnostic:
    """Returns the diagnostic for an unknown pool."""
    pool_names = list(fleet.pool_by_name)
    message = f'there is no pool "{name}"; there is {", ".join(pool_names) or "none"}'
    hint = did_you_mean(name.partition(names.SEPARATOR)[0], pool_names, quote="")
    return Diagnostic(SUBPOOL_UNKNOWN, message, None, hint=hint)


def _quota(pool: FleetPool, subpool: FleetSubpool, quota: Quota) -> Values:
    """Returns the values for a new quota: single resources if the file names them, else the whole quota."""
    if subpool.written is not None:
        named = {name: value for name in RESOURCES if (value := _full_quota(pool, quota).get(name)) is not None}
        before = subpool.written.model_dump(exclude_unset=True)  # "600" stays in its quotes where it stays
        unchanged = {name: old for name, old in before.items() if name in named and str(old) == str(named[name])}
        return tuple((("spec", "quota", name), value, None) for name, value in {**named, **unchanged}.items())
    old = subpool.declared.spec.spec.quota
    before = {"gpu": old} if isinstance(old, int | str) else {}
    whole_quota = _quota_value(pool, {**_full_quota(pool, before), **_full_quota(pool, quota)})
    return ((("spec", "quota"), whole_quota, "parent"),)


def _quota_value(pool: FleetPool, quota: Quota) -> Value:
    """Returns a quota in the form of files: one number for GPUs alone, or one share of all guaranteed resources."""
    full = _full_quota(pool, quota)
    gpu = full.get("gpu")
    is_one = full.keys() == {"gpu"} or (isinstance(gpu, str) and full == _full_quota(pool, {"gpu": gpu}))
    return gpu if gpu is not None and is_one else full


def _full_quota(pool: FleetPool, quota: Quota) -> dict[str, int | str]:
    """Returns a quota with all its resources: a share of GPUs also applies to all others with a finite guarantee."""
    gpu = quota.get("gpu")
    full_quota: dict[str, int | str] = dict.fromkeys(pool.finite, gpu) if isinstance(gpu, str) else {}
    full_quota.update(quota)
    return {name: value for name in RESOURCES if (value := full_quota.get(name)) is not None}


def _shown_quota(value: Value) -> str:
    return flow(value) if isinstance(value, Mapping) else str(value)


def _transition(
    subpool: FleetSubpool, state: SubpoolState, quota: Values = (), *, draining: Sequence[str] = ()
) -> SetValues:
    assert state in TRANSITIONS[subpool.state]
    values: list[tuple[KeyPath, Value, str | None]] = []
    values += ((("spec", name), None, None) for name in LISTS if name in subpool.declared.origin.data["spec"])
    values.append((("spec", "state"), state, "quota"))
    if draining:
        values.append((("spec", "draining"), list(draining), "state"))
    lets = f", lets {listed(draining)} finish" if draining else ""
    summary = f"{subpool.canonical}: {subpool.state} -> {state}{lets}"
    return SetValues(subpool.declared.origin, (*values, *quota), summary)


def listed(names_: Sequence[str]) -> str:
    """Returns names for a message; only the first few if there are many."""
    return shortened(names_, MAX_NAMED)


def _frozen(subpool: FleetSubpool, command: str) -> Diagnostic:
    message = f"cannot {command} {subpool.canonical}: it is {subpool.state} and {BEHAVIOUR[subpool.state]}"
    hints: dict[SubpoolState, str] = {
        "ACTIVE": "Nothing to do: it takes work already.",
        "DELETING": "Run `kubectl tas subpool drain` when nothing is declared and nothing runs there any more.",
        "ARCHIVED": f"Use: kubectl tas subpool recreate {subpool.pool} {subpool.name}",
    }
    return Diagnostic(SUBPOOL_TRANSITION, message, subpool.declared.at("spec", "state"), hint=hints[subpool.state])


def folder_for(fleet: Fleet, usual: str) -> PurePosixPath:
    """Returns the folder for new documents: the one with the ``usual`` name, such as subpools, else the last source
    folder that admins control.
    """
    sources, admin = fleet.config.sources, fleet.config.adminSources
    counting = [folder for folder in sources if is_within(folder, admin)]
    counting += [folder for folder in admin if is_within(folder, sources) and folder not in counting]
    folders = [PurePosixPath(folder) for folder in counting or sources]
    return ([folder for folder in folders if folder.name == usual] or folders)[-1]


def _document(parent: str, name: str, quota: Value) -> str:
    return (
        "apiVersion: tas/v1alpha1\n"
        "kind: Subpool\n"
        "metadata:\n"
        f"  name: {scalar(name)}\n"
        "spec:\n"
        f"  parent: {scalar(parent)}\n"
        f"  quota: {flow(quota) if isinstance(quota, Mapping) else scalar(quota)}\n"
        "  state: ACTIVE\n"
    )


Entries = dict[str, Mapping[str, int | str] | None]
"""Work with its amounts; None: remove the work from the list."""


def lists(before: Fleet, after: Fleet, edits: Sequence[Edit]) -> list[SetValues]:
    """Returns the overQuota lists to write in addition to ``edits``. Edited documents lose their unneeded entries."""
    admission = Admission(after, Past(before))
    entries_by_leaf: dict[str, Entries] = {}
    edited = {_identity(submission.origin) for submission in edits if isinstance(submission, SetValues)}
    for leaf, name, _ in needless_over_quota(after):
        if _identity(leaf.declared.origin) in edited:
            entries_by_leaf.setdefault(leaf.name, {})[name] = None
    for submission in filter(admission.excess, after.submissions):
        verdict = admission.verdict(submission)
        if verdict.rule is OVER_QUOTA_RUNNING and verdict.unlisted:
            name = submission.over_quota_key or work_name(submission.kind, submission.name)
            amounts = over_quota_amounts(admission.to_be_listed(submission), verdict.unlisted)
            entries_by_leaf.setdefault(submission.target, {})[name] = amounts
    leaves = (leaf for pool in before.pools for leaf in pool.leaves)
    return [_listing(leaf, entries_by_leaf[leaf.name]) for leaf in leaves if leaf.name in entries_by_leaf]


def _listing(leaf: LeafQueue, entries: Entries) -> SetValues:
    """Returns the edit of a list, entry by entry if other entries stay."""
    origin = leaf.declared.origin
    stay = leaf.over_quota.keys() - {name for name, amounts in entries.items() if amounts is None}
    new = {name: amounts for name, amounts in entries.items() if amounts is not None}
    gone = [name for name in entries if name not in new]
    values: Values = ((("spec", "overQuota"), new or None, "quota" if "quota" in origin.data["spec"] else "resources"),)
    if stay:
        values = tuple(value for name, amounts in entries.items() for value in _entry(leaf, name, amounts))
    does = [f"lets {listed(list(new))} run on"] * bool(new) + [f"lists {listed(gone)} no more"] * bool(gone)
    return SetValues(origin, values, f"{leaf.name}: {' and '.join(does)}")


def _entry(leaf: LeafQueue, name: str, amounts: Mapping[str, int | str] | None) -> Values:
    """Returns the edit of one entry, amount by amount if the entry exists."""
    path = ("spec", "overQuota", name)
    if amounts is None or name not in leaf.over_quota:
        return ((path, amounts, None),)
    return tuple(((*path, resource), amount, None) for resource, amount in amounts.items())


def _identity(origin: Origin) -> tuple[object, ...]:
    return origin.path, origin.index, origin.within
