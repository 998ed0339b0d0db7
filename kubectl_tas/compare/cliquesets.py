"""PodCliqueSets whose constraints or whose cluster topology change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_tas.compare.change import Change, is_deployed, kept_sets, scheduled_pods, state_of
from kubectl_tas.diagnostics import Diagnostic, Location, Rule, Severity, Waiving
from kubectl_tas.grove import TEMPLATE
from kubectl_tas.model.base import KeyPath
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.podcliqueset import FleetPodCliqueSet, FleetScalingGroup

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import PackConstraint

SET_CONSTRAINT_CHANGED = Rule(
    "set-constraint-changed",
    Severity.ERROR,
    "A topologyConstraint of an existing PodCliqueSet changes (rule 1, domain existence).",
    "Domains of a deployed set cannot be changed; Grove's webhook refuses it. Deploy the set under another name, or "
    "delete it first. With the cluster's state, a set that is not deployed may be changed.",
    protects=Waiving.CONFIG,
)
SET_REFERENCE_CHANGED = Rule(
    "set-reference-changed",
    Severity.WARNING,
    "An existing PodCliqueSet names another cluster topology, and it is not known whether it has scheduled pods.",
    "The reference may change only while no pod of the set has a node (rule 3, topology reference). Pass the "
    "cluster's state to have that checked.",
    protects=Waiving.CONFIG,
)
SET_REFERENCE_LOCKED = Rule(
    "set-reference-locked",
    Severity.ERROR,
    "A PodCliqueSet with scheduled pods names another cluster topology (rule 3, topology reference).",
    "Its pods have been placed by the old topology, so Grove's webhook refuses the change. Delete the set and "
    "deploy it anew.",
    protects=Waiving.CONFIG,
)
Domains = tuple[str | None, str | None]
"""A required and a preferred domain."""


def changed_constraints(change: Change) -> Iterator[Diagnostic]:
    """Sets that are, or may be, deployed and ask for other domains than before."""
    for before, after in kept_sets(change):
        if is_deployed(change, after) is False:
            continue
        hint = f"Take the change back, or delete the set {after.name} first, or give it another name."
        for what, old, new, place in _differences(before, after):
            message = (
                f"rule 1: the domain of {what} changes since {change.revision} "
                f"from {_words(old)} to {_words(new)}; domains of a deployed set cannot be changed"
            )
            yield Diagnostic(SET_CONSTRAINT_CHANGED, message, place, hint=hint)


def _differences(
    before: FleetPodCliqueSet, after: FleetPodCliqueSet
) -> Iterator[tuple[str, Domains, Domains, Location]]:
    """What is there before and after, and placed in another way: what, the domains before and now, and the place."""
    earlier, later = _owners(before), _owners(after)
    for owner, (constraint, path) in later.items():
        if owner in earlier and _domains(earlier[owner][0]) != _domains(constraint):
            place = _constraint_place(after, constraint, path)
            yield f'{owner[0]} "{owner[1]}"', _domains(earlier[owner][0]), _domains(constraint), place
    for clique in after.cliques:
        was, now = _group(before, clique.name), _group(after, clique.name)
        is_same = was is not None and now is not None and was.name == now.name
        old, new = (_domains(group.spec.topologyConstraint if group else None) for group in (was, now))
        if ("clique", clique.name) in earlier and not is_same and old != new:
            place = after.declared.at(*clique.path, "name")
            yield f'clique "{clique.name}" by its scaling group', old, new, place


def _constraint_place(item: FleetPodCliqueSet, constraint: PackConstraint | None, path: KeyPath) -> Location:
    """Where a domain stands, or would stand."""
    where: KeyPath = (*path, "topologyConstraint")
    if constraint is not None and constraint.required is not None:
        where = (*where, *constraint.required_at)
    return item.declared.origin.locate(where, key=where[-1] == "topologyConstraint")


def _group(item: FleetPodCliqueSet, clique: str) -> FleetScalingGroup | None:
    """The scaling group of the clique of that name."""
    return next((group for group in item.groups if clique in group.spec.cliqueNames), None)


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


def _domains(constraint: PackConstraint | None) -> Domains:
    """The required and the preferred domain; whichever spelling says it."""
    return (constraint.required, constraint.preferred) if constraint else (None, None)


def _words(asked: Domains) -> str:
    required, preferred = asked
    words = [*([required] if required else []), *([f"preferred {preferred}"] if preferred else [])]
    return " and ".join(words) or "none"


def changed_references(change: Change) -> Iterator[Diagnostic]:
    """Sets that use another cluster topology than before."""
    for before, after in kept_sets(change):
        old, new = before.topology_name, after.topology_name
        if old is None or new is None or old == new:
            continue
        place = after.place_of(after.references[0][1])
        message = f'rule 3: the cluster topology changes since {change.revision} from "{old}" to "{new}"'
        pods = scheduled_pods(change, after)
        if pods is None:
            hint = "Pass --cluster-state, or --context, to have it checked that no pod of the set is scheduled."
            if state_of(change, after) is not None:
                hint = "What was read of the cluster does not tell: it needs the PodCliqueSets and their PodCliques."
            message = f"{message}, which is allowed only while no pod of the set is scheduled"
            yield Diagnostic(SET_REFERENCE_CHANGED, message, place, hint=hint)
        elif pods > 0:
            message = f"{message}, but the set has {plural(pods, 'scheduled pod')}"
            yield Diagnostic(SET_REFERENCE_LOCKED, message, place, hint="Delete the set and deploy it anew.")
