"""Two fleets in, an earlier one and what follows it; the changes that must not be made out.

What Grove guards by webhooks and finalizers, and the life of subpools.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from kubectl_tas.diagnostics import Diagnostic, Location, Related, Rule, Severity
from kubectl_tas.live.grove import GroveState, SetKey
from kubectl_tas.model.grove import TEMPLATE, PackConstraint
from kubectl_tas.model.pool import Subpool
from kubectl_tas.model.repository import Declared, KeyPath
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet, FleetTopology
from kubectl_tas.resolve.grove import FleetPodCliqueSet
from kubectl_tas.resolve.states import BEHAVIOUR, TRANSITIONS

TOPOLOGY_REMOVED = Rule(
    "topology-removed",
    Severity.ERROR,
    "A cluster topology is removed that is still used.",
    "A finalizer keeps it in the cluster while a PodCliqueSet names it, and the workflows of a pool would lose their "
    "placement. Move its users to another topology first.",
)
TOPOLOGY_LEVELS_CHANGED = Rule(
    "topology-levels-changed",
    Severity.ERROR,
    "The levels of a cluster topology change while PodCliqueSets use it.",
    "Pods have been placed by the old levels, so Grove's webhook refuses the change until none of those sets has a "
    "scheduled pod; the Topology of the scheduler cannot be changed at all, only made anew. Drain the sets first, "
    "or declare a second topology. With the cluster's state, sets without scheduled pods do not count.",
)
SET_CONSTRAINT_CHANGED = Rule(
    "set-constraint-changed",
    Severity.ERROR,
    "A topologyConstraint of an existing PodCliqueSet changes (rule 1, domain existence).",
    "Domains of a deployed set cannot be changed; Grove's webhook refuses it. Deploy the set under another name, or "
    "delete it first. With the cluster's state, a set that is not deployed may be changed.",
)
SET_REFERENCE_CHANGED = Rule(
    "set-reference-changed",
    Severity.WARNING,
    "An existing PodCliqueSet names another cluster topology, and it is not known whether it has scheduled pods.",
    "The reference may change only while no pod of the set has a node (rule 3, topology reference). Pass the "
    "cluster's state to have that checked.",
)
SET_REFERENCE_LOCKED = Rule(
    "set-reference-locked",
    Severity.ERROR,
    "A PodCliqueSet with scheduled pods names another cluster topology (rule 3, topology reference).",
    "Its pods have been placed by the old topology, so Grove's webhook refuses the change. Delete the set and "
    "deploy it anew.",
)
SUBPOOL_STATE_CHANGED = Rule(
    "subpool-state-changed",
    Severity.ERROR,
    "A subpool goes from one state to another that may not follow it, or changes while it is frozen.",
    "ACTIVE goes to DELETING, or to ARCHIVED where nothing runs; DELETING is frozen until it is ARCHIVED; ARCHIVED "
    "can only be made ACTIVE again. `kubectl tas subpool` makes these changes.",
)
SUBPOOL_REMOVED = Rule(
    "subpool-removed",
    Severity.ERROR,
    "The document of a subpool is gone.",
    "Subpools are never deleted: ARCHIVED ones stay as the record of what there was. Bring the document back, with "
    "state ARCHIVED.",
)


@dataclass(frozen=True)
class Change:
    """What is compared."""

    before: Fleet
    after: Fleet
    revision: str
    """Where ``before`` comes from, for messages."""
    complete: bool = True
    """False where documents of ``after`` could not be read: what seems to be gone may stand in them."""
    state: GroveState | None = None
    """What the cluster has; None: unknown."""
    busy: Collection[str] = ()
    """Queues in which something runs, as far as that is known."""


def check_transitions(change: Change) -> tuple[Diagnostic, ...]:
    """Every change that must not be made."""
    return tuple(diagnostic for check in CHECKS for diagnostic in check(change))


def _topologies(fleet: Fleet) -> dict[str, FleetTopology]:
    """Cluster topologies by name."""
    return {topology.name: topology for topology in fleet.topologies if topology.pool is None}


def _sets(fleet: Fleet) -> dict[SetKey, FleetPodCliqueSet]:
    return {(item.namespace, item.name): item for item in fleet.pod_clique_sets}


def _kept_sets(change: Change) -> Iterator[tuple[SetKey, FleetPodCliqueSet, FleetPodCliqueSet]]:
    """The sets that are there before and after."""
    after = _sets(change.after)
    for key, item in _sets(change.before).items():
        if key in after:
            yield key, item, after[key]


def _scheduled(change: Change, key: SetKey) -> int | None:
    return change.state.scheduled(key) if change.state else None


def _removed_topologies(change: Change) -> Iterator[Diagnostic]:
    if not change.complete:
        return
    after = _topologies(change.after)
    for name, topology in _topologies(change.before).items():
        if name in after:
            continue
        hint = "Bring it back, or move what uses it to another topology first."
        related = (Related(f"declared at {change.revision}", topology.declared.at(*topology.path)),)
        for who, place in _users(change, name):
            message = f'the cluster topology "{name}" is removed since {change.revision}, but {who} uses it'
            yield Diagnostic(TOPOLOGY_REMOVED, message, place, related, hint=hint)


def _users(change: Change, name: str) -> Iterator[tuple[str, Location | None]]:
    """What uses a cluster topology once the change is made, with the place; and sets that only the cluster has."""
    sets = _sets(change.after)
    for pool in change.after.pools:
        if pool.declared.spec.spec.topology == name:
            yield f"pool {pool.name}", pool.declared.at("spec", "topology")
    for (namespace, own), item in sets.items():
        if item.topology_name == name:
            path = item.named[0][1] if item.named else ("metadata", "name")
            yield f"PodCliqueSet {namespace}/{own}", item.declared.at(*path)
    for (namespace, own), live in (change.state.sets if change.state else {}).items():
        if live.topology_name == name and (namespace, own) not in sets:
            yield f"PodCliqueSet {namespace}/{own} of the cluster", None


def _changed_levels(change: Change) -> Iterator[Diagnostic]:
    after = _topologies(change.after)
    for name, topology in _topologies(change.before).items():
        current = after.get(name)
        if current is None or current.levels == topology.levels:
            continue
        users = [f"{key[0]}/{key[1]}" for key in _placed_by(change, name)]
        if users:
            message = (
                f'the levels of the cluster topology "{name}" change since {change.revision} from '
                f"{_levels(topology)} to {_levels(current)}, but it is used by {', '.join(users)}"
            )
            related = (Related(f"the levels at {change.revision}", topology.declared.at(*topology.path)),)
            place = current.declared.origin.locate(current.path, key=True)
            hint = "Drain these sets first, or declare a second topology."
            yield Diagnostic(TOPOLOGY_LEVELS_CHANGED, message, place, related, hint=hint)


def _placed_by(change: Change, name: str) -> Iterator[SetKey]:
    """The sets that have, or may have, pods placed by a topology."""
    kept = {key: before.topology_name for key, before, _ in _kept_sets(change)}
    live = {key: item.topology_name for key, item in (change.state.sets if change.state else {}).items()}
    for key, used in sorted({**kept, **live}.items()):
        if used == name and _scheduled(change, key) != 0:
            yield key


def _levels(topology: FleetTopology) -> str:
    return " > ".join(f"{level.key} ({level.label})" for level in topology.levels)


def _changed_constraints(change: Change) -> Iterator[Diagnostic]:
    for key, before, after in _kept_sets(change):
        if change.state is not None and key not in change.state.sets:
            continue
        earlier, later = _owners(before), _owners(after)
        for owner, (constraint, path) in later.items():
            old = _asked(earlier[owner][0]) if owner in earlier else _asked(constraint)
            new = _asked(constraint)
            if old != new:
                what = f'{owner[0]} "{owner[1]}"'
                message = (
                    f"rule 1: the domain of {what} changes since {change.revision} "
                    f"from {_words(old)} to {_words(new)}; domains of a deployed set cannot be changed"
                )
                where: KeyPath = (*path, "topologyConstraint")
                if constraint is not None and constraint.required is not None:
                    where = (*where, *constraint.required_at)
                place = after.declared.origin.locate(where, key=where[-1] == "topologyConstraint")
                hint = f"Take the change back, or delete the set {after.name} first, or give it another name."
                yield Diagnostic(SET_CONSTRAINT_CHANGED, message, place, hint=hint)


def _owners(item: FleetPodCliqueSet) -> dict[tuple[str, str], tuple[PackConstraint | None, KeyPath]]:
    """What may have a constraint, by kind and name, with its place."""
    found: dict[tuple[str, str], tuple[PackConstraint | None, KeyPath]] = {
        ("PodCliqueSet", item.name): (item.spec.spec.template.topologyConstraint, TEMPLATE)
    }
    for group in item.groups:
        found["scaling group", group.name] = (group.spec.topologyConstraint, group.path)
    for clique in item.cliques:
        found["clique", clique.name] = (clique.spec.topologyConstraint, clique.path)
    return found


def _asked(constraint: PackConstraint | None) -> tuple[str | None, str | None]:
    """The required and the preferred domain; whichever spelling says it."""
    return (constraint.required, constraint.preferred) if constraint else (None, None)


def _words(asked: tuple[str | None, str | None]) -> str:
    required, preferred = asked
    words = [*([required] if required else []), *([f"preferred {preferred}"] if preferred else [])]
    return " and ".join(words) or "none"


def _changed_references(change: Change) -> Iterator[Diagnostic]:
    for key, before, after in _kept_sets(change):
        old, new = before.topology_name, after.topology_name
        if old is None or new is None or old == new:
            continue
        path = after.named[0][1] if after.named else after.constraints[0][1]
        place = after.declared.at(*path) if after.named else after.declared.origin.locate(path, key=True)
        message = f'rule 3: the cluster topology changes since {change.revision} from "{old}" to "{new}"'
        pods = _scheduled(change, key)
        if pods is None:
            hint = "Pass --cluster-state, or --context, to have it checked that no pod of the set is scheduled."
            message = f"{message}, which is allowed only while no pod of the set is scheduled"
            yield Diagnostic(SET_REFERENCE_CHANGED, message, place, hint=hint)
        elif pods > 0:
            message = f"{message}, but {pods} pods of the set are scheduled"
            yield Diagnostic(SET_REFERENCE_LOCKED, message, place, hint="Delete the set and deploy it anew.")


def _subpools(fleet: Fleet) -> dict[tuple[str, str], Declared[Subpool]]:
    """By parent and name; of two with one name the first counts."""
    found: dict[tuple[str, str], Declared[Subpool]] = {}
    for item in fleet.repository.subpools:
        found.setdefault((item.spec.spec.parent, item.spec.metadata.name), item)
    return found


def _changed_subpools(change: Change) -> Iterator[Diagnostic]:
    after = _subpools(change.after)
    for key, before in _subpools(change.before).items():
        if key in after:
            yield from _changed_subpool(change, names.SEPARATOR.join(key), before, after[key])
        elif change.complete:
            parents = {pool.spec.metadata.name: pool for pool in change.after.repository.pools}
            parent = parents.get(key[0])
            message = (
                f"the document of subpool {names.SEPARATOR.join(key)} is gone since {change.revision}, "
                "but subpools are never deleted"
            )
            related = (Related(f"declared at {change.revision}", before.at("metadata", "name")),)
            place = parent.at("metadata", "name") if parent else None
            hint = f"Bring it back, with state ARCHIVED: git checkout {change.revision} -- {before.origin.path}"
            yield Diagnostic(SUBPOOL_REMOVED, message, place, related, hint=hint)


def _changed_subpool(
    change: Change, name: str, before: Declared[Subpool], after: Declared[Subpool]
) -> Iterator[Diagnostic]:
    old, new = before.spec.spec, after.spec.spec
    place = after.origin.locate(("spec", "state"), key="state" not in new.model_fields_set)
    if new.state != old.state and new.state not in TRANSITIONS[old.state]:
        allowed = " or ".join(TRANSITIONS[old.state])
        message = (
            f"subpool {name} goes from {old.state} to {new.state} since {change.revision}; "
            f"a subpool that is {old.state} {BEHAVIOUR[old.state]}"
        )
        yield Diagnostic(SUBPOOL_STATE_CHANGED, message, place, hint=f"From {old.state} it goes to {allowed}.")
    elif new.state == old.state != "ACTIVE" and new.quota != old.quota:
        message = (
            f"the quota of subpool {name} changes since {change.revision} from {old.quota} to {new.quota}; "
            f"a subpool that is {old.state} {BEHAVIOUR[old.state]}"
        )
        place = after.at("spec", "quota")
        yield Diagnostic(SUBPOOL_STATE_CHANGED, message, place, hint=f"Write quota: {old.quota} again.")
    elif new.state == "ARCHIVED" != old.state and _queue(change.before, name) in change.busy:
        message = f"subpool {name} goes from {old.state} to ARCHIVED, but workloads still run in it"
        yield Diagnostic(SUBPOOL_STATE_CHANGED, message, place, hint="Write state: DELETING until it is empty.")


def _queue(fleet: Fleet, canonical: str) -> str | None:
    found = (item.queue for pool in fleet.pools for item in pool.subpools if item.canonical == canonical)
    return next(found, None)


CHECKS: tuple[Callable[[Change], Iterator[Diagnostic]], ...] = (
    _removed_topologies,
    _changed_levels,
    _changed_constraints,
    _changed_references,
    _changed_subpools,
)
"""In the order in which they run."""
