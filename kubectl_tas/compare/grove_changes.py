"""Finds changes of cluster topologies and PodCliqueSets in use that Grove's webhooks refuse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity, Waiving
from kubectl_tas.base.words import shortened
from kubectl_tas.compare.change import Change, is_deployed, kept_sets, scheduled_pods, state_of
from kubectl_tas.compare.topology_drift import the_cluster
from kubectl_tas.facts.grove import TEMPLATE
from kubectl_tas.kinds import SET
from kubectl_tas.model.base import KeyPath
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.podcliqueset import FleetPodCliqueSet, FleetScalingGroup
from kubectl_tas.resolve.topologies import FleetTopology, Level

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import PackConstraint


TOPOLOGY_REMOVED = Rule(
    "topology-removed",
    Severity.ERROR,
    "A cluster topology is removed that is still used.",
    "A finalizer keeps it in the cluster while a set names it. Pools, workloads and PodGroups that name it "
    "would never find their levels. Move its users to another topology first.",
    protects=Waiving.CONFIG,
)
TOPOLOGY_LEVELS_CHANGED = Rule(
    "topology-levels-changed",
    Severity.ERROR,
    "The levels of a topology or pool change while they place work.",
    "KAI placed pods by the old levels, so Grove's webhook refuses the change until no set that uses the "
    "topology has a scheduled pod. Nobody can change the scheduler's Topology; it must be recreated. For workflows, "
    "workloads and PodGroups that ask for its levels, you may add a level, but not remove or move one. Drain them "
    "first, or declare a second topology. If you pass the cluster's state, work that does not run is not counted.",
    protects=Waiving.CONFIG,
)


def removed_topologies(change: Change) -> Iterator[Diagnostic]:
    """Reports users of a removed cluster topology."""
    if not change.complete:
        return
    after = change.after.cluster_topologies
    for name, topology in change.before.cluster_topologies.items():
        if name in after:
            continue
        hint = "Restore it, or move its users to another topology first."
        related = (Related(f"declared at {change.revision}", topology.declared.at(*topology.path)),)
        for user, location in _users(change, topology):
            message = f'the cluster topology "{name}" is removed since {change.revision}, but {user} uses it'
            yield Diagnostic(TOPOLOGY_REMOVED, message, location, related, hint=hint, cause=related[0].location)


def _users(change: Change, topology: FleetTopology) -> Iterator[tuple[str, Location | None]]:
    """Yields the users of a cluster topology after the change, with places, and sets that only the cluster has."""
    name = topology.name
    for pool in change.after.pools:
        if pool.declared.spec.spec.topology == name:
            yield f"pool {pool.name}", pool.declared.at("spec", "topology")
    for clique_set in change.after.pod_clique_sets:
        if clique_set.topology_name == name:
            location = clique_set.place_of(clique_set.spec.references[0][1])
            yield f"{SET.kind} {clique_set.namespace}/{clique_set.name}", location
    for work in change.after.placed_by(topology):
        yield work.kind_and_name, work.location
    for backend, state in change.states.items():
        declared = {x.key for x in change.after.pod_clique_sets if x.backend is None or x.backend.name == backend}
        for key, live in (state.sets or {}).items():
            if live.topology_name == name and key not in declared:
                yield f"{SET.kind} {'/'.join(key)} of {the_cluster(change.after, backend)}", None


def changed_levels(change: Change) -> Iterator[Diagnostic]:
    """Reports changed levels of topologies while these place pods, or may place them."""
    after = {topology.name: topology for topology in change.after.topologies}
    for topology in change.before.topologies:
        name, current = topology.name, after.get(topology.name)
        if current is None or current.levels == topology.levels:
            continue
        users = [] if topology.pool else _placed_by(change, name)
        new_levels = iter(current.levels)
        if not all(level in new_levels for level in topology.levels):
            users += (  # but for what is in queues that are known to be idle
                work.kind_and_name
                for work in change.after.placed_by(current)
                if change.queues.get((work.backend, work.queue), True)
            )
        if users:
            called = f"pool {topology.pool}" if topology.pool else f'the cluster topology "{name}"'
            message = (
                f"the levels of {called} change since {change.revision} from "
                f"{_levels(topology)} to {_levels(current)}, but it is used by {shortened(users)}"
            )
            related = (Related(f"the levels at {change.revision}", topology.declared.at(*topology.path)),)
            location = current.declared.origin.locate(current.path, key=True)
            hint = "Drain them first, or declare a second topology."
            if not change.states:
                hint = f"{hint} With --cluster-state, or --context, work that does not run is not counted."
            yield Diagnostic(TOPOLOGY_LEVELS_CHANGED, message, location, related, hint=hint)


def is_recreated(before: Sequence[Level], after: Sequence[Level]) -> bool:
    """Whether a changed Topology must be recreated: its node labels cannot change, but the names of its levels can."""
    return [level.label for level in before] != [level.label for level in after]


def _placed_by(change: Change, name: str) -> list[str]:
    """Returns the sets with pods that a topology placed or may have placed. The cluster's state takes precedence."""
    placed = set()
    for before, after in kept_sets(change):
        state = state_of(change, after)
        live = (state.sets or {}).get(after.key) if state else None
        is_placed = live is None or live.topology_name == name
        if before.topology_name == name and is_placed and scheduled_pods(change, after) != 0:
            placed.add(after.key)
    for state in change.states.values():
        for key, live in (state.sets or {}).items():
            if live.topology_name == name and state.scheduled(key) != 0:
                placed.add(key)
    return ["/".join(key) for key in sorted(placed)]


def _levels(topology: FleetTopology) -> str:
    return " > ".join(f"{level.key} ({level.label})" for level in topology.levels)


SET_CONSTRAINT_CHANGED = Rule(
    "set-constraint-changed",
    Severity.ERROR,
    "A topologyConstraint of an existing Grove set changes (Grove's rule 1).",
    "Grove's webhook refuses to change the domains of a deployed set. Deploy the set under another name, or delete it "
    "first. If you pass the cluster's state, a set that is not deployed may change.",
    protects=Waiving.CONFIG,
)
SET_REFERENCE_CHANGED = Rule(
    "set-reference-changed",
    Severity.WARNING,
    "A Grove set that may have scheduled pods names another topology.",
    "The reference may change only while no pod of the set has a node (Grove's rule 3). To check that, pass the "
    "cluster's state.",
    protects=Waiving.CONFIG,
)
SET_REFERENCE_LOCKED = Rule(
    "set-reference-locked",
    Severity.ERROR,
    "A Grove set with scheduled pods names another topology (Grove's rule 3).",
    "KAI placed its pods by the old topology, so Grove's webhook refuses the change. Delete the set and deploy it "
    "again.",
    protects=Waiving.CONFIG,
)
SET_LOCKED = Rule(
    "set-locked",
    Severity.ERROR,
    "A field of an existing Grove set changes that its webhook never lets change.",
    "Grove's webhook refuses to add, remove or rename a clique or a scaling group, and to change the start of cliques, "
    "their order where it counts. Nor may roleName, minAvailable and startsAfter of a clique change, the cliques of a "
    "scaling group and its minAvailable, and what is shared. An absent minAvailable is the number of replicas, so a "
    "change of replicas is one of it, too, unless Flux applies the set: write minAvailable. Deploy the set "
    "under another name, or delete it first. If you pass the cluster's state, a set that is not deployed may change.",
    protects=Waiving.CONFIG,
)
Domains = tuple[str | None, str | None]
"""A required and a preferred domain."""
ANY_ORDER = "CliqueStartupTypeAnyOrder"
"""The start of cliques where none is written: all at once."""
_START, _GROUPS = "cliqueStartupType", "podCliqueScalingGroups"


def changed_constraints(change: Change) -> Iterator[Diagnostic]:
    """Reports sets that are, or may be, deployed and whose domains change."""
    for before, after in kept_sets(change):
        if is_deployed(change, after) is False:
            continue
        hint = f"Undo the change, delete the set {after.name} first, or give it another name."
        for unit, old, new, location in _differences(before, after):
            message = (
                f"rule 1: the domain of {unit} changes since {change.revision} "
                f"from {_words(old)} to {_words(new)}; domains of a deployed set cannot be changed"
            )
            yield Diagnostic(SET_CONSTRAINT_CHANGED, message, location, hint=hint)


def _differences(
    before: FleetPodCliqueSet, after: FleetPodCliqueSet
) -> Iterator[tuple[str, Domains, Domains, Location]]:
    """Yields the parts of a set with changed placement: the part, its old and new domains, and the place."""
    earlier, later = _owners(before), _owners(after)
    for owner, (constraint, path) in later.items():
        if owner in earlier and _domains(earlier[owner][0]) != _domains(constraint):
            where: KeyPath = (*path, "topologyConstraint")
            if constraint is not None and constraint.required is not None:
                where = (*where, *constraint.required_at)
            location = after.declared.origin.locate(where, key=where[-1] == "topologyConstraint")
            yield f'{owner[0]} "{owner[1]}"', _domains(earlier[owner][0]), _domains(constraint), location
    for clique in after.cliques:
        was, now = _group(before, clique.name), _group(after, clique.name)
        is_same = was is not None and now is not None and was.name == now.name
        old, new = (_domains(group.spec.topologyConstraint if group else None) for group in (was, now))
        if ("clique", clique.name) in earlier and not is_same and old != new:
            location = after.declared.at(*clique.path, "name")
            yield f'clique "{clique.name}" by its scaling group', old, new, location


def _group(clique_set: FleetPodCliqueSet, clique: str) -> FleetScalingGroup | None:
    return next((group for group in clique_set.groups if clique in group.spec.cliqueNames), None)


def _owners(clique_set: FleetPodCliqueSet) -> dict[tuple[str, str], tuple[PackConstraint | None, KeyPath]]:
    """Returns the parts of a set that may have a constraint, by kind and name: their constraint and path."""
    owners: dict[tuple[str, str], tuple[PackConstraint | None, KeyPath]] = {
        (SET.kind, clique_set.name): (clique_set.spec.spec.template.topologyConstraint, TEMPLATE)
    }
    for group in clique_set.groups:
        owners["scaling group", group.name] = (group.spec.topologyConstraint, group.path)
    for clique in clique_set.cliques:
        owners["clique", clique.name] = (clique.spec.topologyConstraint, clique.path)
    return owners


def _domains(constraint: PackConstraint | None) -> Domains:
    """Returns the required and the preferred domain, in either spelling."""
    return (constraint.required, constraint.preferred) if constraint else (None, None)


def _words(constraint: Domains) -> str:
    required, preferred = constraint
    words = [*([required] if required else []), *([f"preferred {preferred}"] if preferred else [])]
    return " and ".join(words) or "none"


def locked_fields(change: Change) -> Iterator[Diagnostic]:
    """Reports immutable fields that change in sets that are, or may be, deployed.

    Follows ``validatePodCliqueSetSpecUpdate`` of Grove's pcs/validation/podcliqueset.go, which is the same from
    0.1.0-alpha.8 to 0.1.0-alpha.12, on what its defaulting webhook makes of the fields (read, not run).
    """
    keeps_defaults = change.after.config.gitops == "flux"  # server-side apply leaves a default of the webhook as it is
    for before, after in kept_sets(change):
        if is_deployed(change, after) is False:
            continue
        origin = after.declared.origin
        hint = f"Undo the change, delete the set {after.name} first, or give it another name."
        for what, path in _locked(before.declared.origin.value(TEMPLATE), origin.value(TEMPLATE), keeps=keeps_defaults):
            message = f"{what} since {change.revision}; Grove's webhook refuses this of a deployed set"
            location = origin.locate((*TEMPLATE, *path), key=bool(path) and path[-1] != "name")
            yield Diagnostic(SET_LOCKED, message, location, hint=hint)


def _locked(before: Any, after: Any, *, keeps: bool) -> Iterator[tuple[str, KeyPath]]:
    """Yields each immutable field of a template that has changed, with its path in the template. ``keeps`` says whether
    a minimum that is not written stays as it was.
    """
    if (before.get(_START) or ANY_ORDER) != (after.get(_START) or ANY_ORDER):
        yield f"{_START} changes", (_START,)
    for field in ("resourceClaimTemplates", "resourceSharing"):
        if (before.get(field) or None) != (after.get(field) or None):
            yield f"{field} changes", (field,)
    cliques = {clique["name"]: (index, clique) for index, clique in enumerate(before.get("cliques") or ())}
    is_ordered = (after.get(_START) or ANY_ORDER) != ANY_ORDER
    yield from _renamed("clique", cliques, after, "cliques")
    for index, clique in enumerate(after.get("cliques") or ()):
        earlier_index, earlier = cliques.get(clique["name"], (index, None))
        path: KeyPath = ("cliques", index)
        if earlier is None:
            continue
        if is_ordered and index != earlier_index:
            positions = f"{earlier_index + 1} to {index + 1}"
            yield f'the clique "{clique["name"]}" moves from position {positions}', (*path, "name")
        specs = (earlier["spec"], clique["spec"])
        values = [
            *((field, *(spec.get(field) or None for spec in specs)) for field in ("roleName", "startsAfter")),
            ("minAvailable", *(spec.get("minAvailable", spec.get("replicas", 1)) for spec in specs)),
            ("resourceSharing", earlier.get("resourceSharing") or None, clique.get("resourceSharing") or None),
        ]  # as the defaulting webhook sets them
        for field, was, now in values:
            if was != now:
                steps: KeyPath = ("resourceSharing",) if field == "resourceSharing" else ("spec", field)
                of_clique = f'of the clique "{clique["name"]}"'
                if field == "minAvailable" and field not in clique["spec"]:
                    if keeps and field not in earlier["spec"]:
                        continue
                    of_clique, steps = f"{of_clique}, which is replicas where it is not written,", ("spec", "replicas")
                yield f"{field} {of_clique} changes{_from_to(was, now)}", (*path, *steps)
    groups = {group["name"]: (index, group) for index, group in enumerate(before.get(_GROUPS) or ())}
    yield from _renamed("scaling group", groups, after, _GROUPS)
    for index, group in enumerate(after.get(_GROUPS) or ()):
        earlier = groups.get(group["name"], (index, group))[1]
        for field, default in (("cliqueNames", None), ("minAvailable", 1), ("resourceSharing", None)):
            was, now = earlier.get(field) or default, group.get(field) or default
            if was != now:
                what = f'{field} of the scaling group "{group["name"]}" changes{_from_to(was, now)}'
                yield what, (_GROUPS, index, field)


def _renamed(
    kind: str, earlier: Mapping[str, object], template: Mapping[str, Any], field: str
) -> Iterator[tuple[str, KeyPath]]:
    names = [part["name"] for part in template.get(field) or ()]
    for index, name in enumerate(names):
        if name not in earlier:
            yield f'the {kind} "{name}" is new', (field, index, "name")
    for name in (name for name in earlier if name not in names):
        yield f'the {kind} "{name}" is removed', (field,)


def _from_to(before: object, after: object) -> str:
    """Returns two numbers or texts as words; nothing for lists."""
    if isinstance(before, list) or isinstance(after, list):
        return ""
    return f" from {'none' if before is None else before} to {'none' if after is None else after}"


def changed_references(change: Change) -> Iterator[Diagnostic]:
    """Reports sets that change to another cluster topology."""
    for before, after in kept_sets(change):
        old, new = before.topology_name, after.topology_name
        if old is None or new is None or old == new:
            continue
        location = after.place_of(after.spec.references[0][1])
        message = f'rule 3: the cluster topology changes since {change.revision} from "{old}" to "{new}"'
        pods = scheduled_pods(change, after)
        if pods is None:
            hint = "Pass --cluster-state, or --context, to check that no pod of the set is scheduled."
            if state_of(change, after) is not None:
                hint = "What was read of the cluster does not tell: it needs the PodCliqueSets and their PodCliques."
            message = f"{message}, which is allowed only while no pod of the set is scheduled"
            yield Diagnostic(SET_REFERENCE_CHANGED, message, location, hint=hint)
        elif pods > 0:
            message = f"{message}, but the set has {plural(pods, 'scheduled pod')}"
            yield Diagnostic(SET_REFERENCE_LOCKED, message, location, hint="Delete the set and deploy it again.")
