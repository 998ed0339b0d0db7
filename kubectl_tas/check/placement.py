"""Topology groups mean one thing within their gang."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity
from kubectl_tas.resolve.fleet import Fleet, FleetGroup, FleetTask, FleetWorkflow
from kubectl_tas.resolve.tree import Requirement

REQUIREMENT_CONFLICT = Rule(
    "requirement-conflict",
    Severity.ERROR,
    "Two tasks name one group at one level, one as required and one as preferred.",
    "The group is one node of the tree and has one constraint. Write the same requirementType for both, or "
    "give one of them another group.",
)
GROUP_TWO_PARENTS = Rule(
    "group-two-parents",
    Severity.WARNING,
    "One topology group stands under two groups of a coarser level.",
    "Those are two groups, which are placed apart from each other. Where that is meant, two names say it "
    "more clearly; where not, name the same coarser group for all.",
)
GROUP_ACROSS_PODGROUPS = Rule(
    "group-across-podgroups",
    Severity.WARNING,
    "One topology group is used in two groups of a workflow.",
    "Each group of a workflow is a PodGroup of its own, and nothing places pods of two PodGroups together. "
    "Put the tasks into one group of the workflow, or give the topology groups two names.",
)


def check_placement(fleet: Fleet) -> Iterator[Diagnostic]:
    """The topology groups of every workflow."""
    for workflow in fleet.workflows:
        for group in workflow.groups:
            yield from _conflicts(workflow, group)
            yield from _two_parents(workflow, group)
        yield from _across(workflow)


def _uses(group: FleetGroup) -> Iterator[tuple[FleetTask, Requirement]]:
    for task in group.tasks:
        for requirement in task.resource.requirements:
            yield task, requirement


def _conflicts(workflow: FleetWorkflow, group: FleetGroup) -> Iterator[Diagnostic]:
    first: dict[tuple[int, str], Requirement] = {}
    for _, requirement in _uses(group):
        earlier = first.setdefault((requirement.level, requirement.group), requirement)
        if earlier.required != requirement.required:
            key = workflow.pool.levels[requirement.level].key
            message = (
                f'the {key} group "{requirement.written}" is {_kind(requirement)} here and {_kind(earlier)} elsewhere'
            )
            related = (Related(f"{_kind(earlier)} here", workflow.declared.at(*earlier.path)),)
            place = workflow.declared.at(*requirement.path, "requirementType")
            hint = "Write the same requirementType (required where none is written), or use another group."
            yield Diagnostic(REQUIREMENT_CONFLICT, message, place, related, hint=hint)


def _kind(requirement: Requirement) -> str:
    return "required" if requirement.required else "preferred"


def _two_parents(workflow: FleetWorkflow, group: FleetGroup) -> Iterator[Diagnostic]:
    levels = workflow.pool.levels
    parents: dict[tuple[int, str], tuple[tuple[tuple[int, str], ...], Requirement]] = {}
    for task, requirement in _uses(group):
        above = tuple(
            (other.level, other.group) for other in task.resource.requirements if other.level < requirement.level
        )
        known, earlier = parents.setdefault((requirement.level, requirement.group), (above, requirement))
        if known != above:
            key = levels[requirement.level].key
            message = (
                f'the {key} group "{requirement.written}" is below {_path(workflow, above)} here '
                f"and below {_path(workflow, known)} elsewhere; these are two groups"
            )
            related = (Related("elsewhere", workflow.declared.at(*earlier.path)),)
            place = workflow.declared.at(*requirement.path)
            hint = "Give them two names, or the same coarser group."
            yield Diagnostic(GROUP_TWO_PARENTS, message, place, related, hint=hint)


def _path(workflow: FleetWorkflow, above: tuple[tuple[int, str], ...]) -> str:
    if not above:
        return "no group"
    return " / ".join(f"{workflow.pool.levels[level].key} {group}" for level, group in above)


def _across(workflow: FleetWorkflow) -> Iterator[Diagnostic]:
    """Groups that the file names; the default group is every PodGroup's own."""
    first: dict[tuple[int, str], tuple[FleetGroup, Requirement]] = {}
    for group in workflow.groups:
        for task, requirement in _uses(group):
            index = requirement.path[-1]
            if "group" not in task.resource.spec.topology[int(index)].model_fields_set:
                continue
            owner, earlier = first.setdefault((requirement.level, requirement.group), (group, requirement))
            if owner is not group:
                key = workflow.pool.levels[requirement.level].key
                message = (
                    f'the {key} group "{requirement.written}" is used in the groups {owner.name} and '
                    f"{group.name}, which are two PodGroups and are not placed together"
                )
                place = workflow.declared.at(*requirement.path, "group")
                hint = "Put the tasks into one group of the workflow, or use two names."
                related = (
                    (Related("also here", workflow.declared.at(*earlier.path)),)
                    if earlier.path != requirement.path
                    else ()
                )
                yield Diagnostic(GROUP_ACROSS_PODGROUPS, message, place, related, hint=hint)
