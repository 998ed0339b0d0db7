"""Checks placements: consistent topology groups within a gang, ordered levels, and levels that KAI actually reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Waiving
from kubectl_tas.base.words import misspelled, question
from kubectl_tas.facts import kai
from kubectl_tas.facts.kai import Feature
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.workload_gang import is_placed_as_a_whole, placed, places_parts, whole_placement
from kubectl_tas.model import labels
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.placement import Placement, ReplicaType
from kubectl_tas.resolve.topologies import Level
from kubectl_tas.resolve.workflows import FleetGroup, FleetResource, FleetWorkflow, Requirement

REQUIREMENT_CONFLICT = Rule.error(
    "requirement-conflict",
    "Two tasks name one group at one level, once required and once preferred.",
    "The group is one node of the tree and has one constraint. Write the same requirementType for both, or use another "
    "group for one of them.",
)
GROUP_TWO_PARENTS = Rule.warning(
    "group-two-parents",
    "One topology group is under two groups of a coarser level.",
    "These are two groups, and KAI places them apart from each other. If you mean that, give them two names. If not, "
    "use the same coarser group for all.",
)
GROUP_ACROSS_PODGROUPS = Rule.warning(
    "group-across-podgroups",
    "One topology group is used in two groups of a workflow.",
    "Each group of a workflow is its own PodGroup, and nothing places pods of two PodGroups together. Put the tasks "
    "into one group of the workflow, or give the topology groups two names.",
)
GROUP_MISSPELLED = Rule.warning(
    "group-misspelled",
    "Two topology groups have nearly one name.",
    "Tasks of one topology group share a domain. With a slip in the name, some of them are a group of their own, which "
    "may be in another domain. Write one name. If you mean two groups, waive the rule, or give them other names.",
)
PLACEMENT_ORDER = Rule.error(
    "placement-order",
    "The preferred level of a constraint is coarser than the required one.",
    "KAI searches from the finest level up to the required one, does not find the preferred one there, and never "
    "places the pods (0.10 to 0.17). Prefer a finer level than the required one, or leave it out: a required level "
    "holds for every coarser level too.",
    protects=Waiving.ANYBODY,
)
CONSTRAINT_ORDER = Rule.info(
    "constraint-order",
    "The preferred level of a constraint is the required one.",
    "KAI and Grove accept it, but it changes nothing: the required level holds in any case. Prefer a finer level, or "
    "leave it out.",
)
PLACEMENT_UNSUPPORTED = Rule.error(
    "placement-unsupported",
    "Work requires a level only where KAI does not read it.",
    "KAI reads a placement on the workload itself, and `render` copies it there from the only pod template. KAI also "
    "reads it on each template of Ray's kinds (from 0.14), and on the templates of jobs in a set of jobs (from 0.16). "
    "Parts of other workloads have no placement. If each pod is its own PodGroup, nothing keeps the pods together. "
    "Place the whole workload, make segments of the part, or let kubectl-tas write the PodGroup with the label "
    "kubectl-tas/podgroup: owned. The help says which of these is possible.",
    protects=Waiving.ANYBODY,
)
PLACEMENT_IGNORED = Rule.warning(
    "placement-ignored",
    "Work prefers a level only where KAI does not read it.",
    "The same as placement-unsupported, but the pods run. Nothing places them near each other.",
)
PLACEMENT_WITHOUT_LEVEL = Rule.warning(
    "placement-without-level",
    "A workload names a topology and no level of it.",
    "KAI never places a PodGroup with a topology and no level. So `render` leaves the annotation "
    "kai.scheduler/topology out, or moves it to the pod template whose segments need it. Ask for a level, or remove "
    "it.",
)
PLACEMENT_OVERRIDDEN = Rule.warning(
    "placement-overridden",
    "The pod template of a workload overrides the workload's level.",
    "Pods of one template have one placement, in one Topology. If both name a topology, the template's counts, and so "
    "do its levels if no file declares the topology. Ask for all levels on the template, or name one topology.",
)


def check_placement(workflow: FleetWorkflow, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the topology groups of a workflow."""
    for group in workflow.groups:
        yield from _conflicts(workflow, group)
        parents: dict[tuple[Level, str], tuple[tuple[tuple[Level, str], ...], Requirement]] = {}
        for resource, requirement in _uses(group):
            above = tuple((r.level, r.group) for r in resource.requirements if r.depth < requirement.depth)
            known_parents, earlier = parents.setdefault((requirement.level, requirement.group), (above, requirement))
            if known_parents != above:
                key = requirement.level.key
                message = (
                    f'the {key} group "{requirement.written}" is below {_path(workflow, above)} here '
                    f"and below {_path(workflow, known_parents)} elsewhere; these are two groups"
                )
                related = (Related("elsewhere", workflow.declared.at(*earlier.path)),)
                hint = "Give them two names, or the same coarser group."
                yield Diagnostic(
                    GROUP_TWO_PARENTS, message, workflow.declared.at(*requirement.path), related, hint=hint
                )
        # Two topology groups of one level that one slip tells apart.
        used: dict[Level, dict[str, Requirement]] = {}
        for _, requirement in _uses(group):
            used.setdefault(requirement.level, {}).setdefault(requirement.written, requirement)
        for level, requirements in used.items():
            known: list[str] = []
            for name, requirement in requirements.items():
                intended = misspelled(name, known)
                known.append(name)
                if intended is not None:
                    message = (
                        f'nothing keeps the {level.key} group "{name}" together with "{intended}": these are two groups'
                    )
                    related = (Related("the other one", workflow.declared.at(*requirements[intended].path)),)
                    location = workflow.declared.at(*requirement.path, "group")
                    yield Diagnostic(GROUP_MISSPELLED, message, location, related, hint=question(name, intended))
    yield from _across(workflow)


def _uses(group: FleetGroup) -> Iterator[tuple[FleetResource, Requirement]]:
    for resource in group.resources:
        for requirement in resource.requirements:
            yield resource, requirement


def _conflicts(workflow: FleetWorkflow, group: FleetGroup) -> Iterator[Diagnostic]:
    first_requirements: dict[tuple[Level, str], Requirement] = {}
    for _, requirement in _uses(group):
        earlier = first_requirements.setdefault((requirement.level, requirement.group), requirement)
        if earlier.required != requirement.required and earlier.path[:-1] != requirement.path[:-1]:
            key = requirement.level.key
            message = (
                f'the {key} group "{requirement.written}" is {_kind(requirement)} here and {_kind(earlier)} elsewhere'
            )
            related = (Related(f"{_kind(earlier)} here", workflow.declared.at(*earlier.path)),)
            location = workflow.declared.at(*requirement.path, "requirementType")
            hint = "Write the same requirementType (required where none is written), or use another group."
            yield Diagnostic(REQUIREMENT_CONFLICT, message, location, related, hint=hint)


def _kind(requirement: Requirement) -> str:
    return "required" if requirement.required else "preferred"


def _path(workflow: FleetWorkflow, above: tuple[tuple[Level, str], ...]) -> str:
    if not above:
        return "no group"
    return " / ".join(f"{level.key} {group}" for level, group in above)


def _across(workflow: FleetWorkflow) -> Iterator[Diagnostic]:
    """Finds a topology group in two groups of a workflow. Skips the default group, which is separate per PodGroup."""
    first_requirements: dict[tuple[Level, str], tuple[FleetGroup, Requirement]] = {}
    for group in workflow.groups:
        for resource, requirement in _uses(group):
            index = requirement.path[-1]
            if "group" not in resource.spec.topology[int(index)].model_fields_set:
                continue
            owner, earlier = first_requirements.setdefault((requirement.level, requirement.group), (group, requirement))
            if owner is not group:
                key = requirement.level.key
                message = (
                    f'the {key} group "{requirement.written}" is used in the groups {owner.name} and '
                    f"{group.name}, which are two PodGroups and are not placed together"
                )
                location = workflow.declared.at(*requirement.path, "group")
                hint = "Put the tasks into one group of the workflow, or use two names."
                related = (
                    (Related("also here", workflow.declared.at(*earlier.path)),)
                    if earlier.path != requirement.path
                    else ()
                )
                yield Diagnostic(GROUP_ACROSS_PODGROUPS, message, location, related, hint=hint)


def check_pod_placement(workload: FleetWorkload, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks every placement of a workload, of its replica types and of their segments."""
    for placement in workload.placements:
        yield from _order(workload, placement)
    yield from _unread(workload)
    # A topology that KAI would read although nothing asks for its levels or for segments.
    path_of_placement = podgrouper.places_at(workload)
    if placed(workload).get(path_of_placement, workload) is None and not any(t.segments for t in workload.replicas):
        written_topology = workload.declared.origin.value((*path_of_placement, labels.TOPOLOGY))
        if written_topology:
            message = (
                f'the topology "{written_topology}" is left out: no level of it is asked for, and KAI would never run '
                "the pods"
            )
            where = workload.declared.at_key(*path_of_placement, labels.TOPOLOGY)
            hint = f"Ask for a level with {labels.PLACEMENT_REQUIRED}, or remove it."
            yield Diagnostic(PLACEMENT_WITHOUT_LEVEL, message, where, hint=hint)
    # Checks the combined levels of a workload, its jobs and their pod template, if all apply to the same pods.
    whole, lost = whole_placement(workload)
    lost = (*lost, *(asked_level for replica_type in workload.replicas for asked_level in replica_type.lost))
    if whole not in (workload.placement, *(replica_type.placement for replica_type in workload.replicas)):
        yield from _order(workload, whole)
    for asked_level in lost:
        message = f'nothing keeps the pods within one "{asked_level.text}": their template asks for another placement'
        location = workload.declared.at_key(*asked_level.path)
        hint = "Ask for it on the pod template, or leave it out."
        yield Diagnostic(PLACEMENT_OVERRIDDEN, message, location, hint=hint)


def _order(workload: FleetWorkload, placement: Placement | None) -> Iterator[Diagnostic]:
    if placement is None or placement.fleet_topology is None or not (placement.required and placement.preferred):
        return
    required, preferred = placement.required, placement.preferred
    is_elsewhere = required.path[:-1] != preferred.path[:-1]
    related = (Related("required here", workload.declared.at(*required.path)),) if is_elsewhere else ()
    levels, location = [level.key for level in placement.fleet_topology.levels], workload.declared.at(*preferred.path)
    yield from check_order(levels, required.level.key, preferred.level.key, location, related)


def _unread(workload: FleetWorkload) -> Iterator[Diagnostic]:
    """Finds levels in a place that KAI does not read, if ``render`` does not write them elsewhere."""
    if not podgrouper.is_made_by_kai(workload) or not workload.pool.backend.has(Feature.TOPOLOGY):
        return  # check.versions says it
    if podgrouper.missing_gang(workload) is not None:
        return  # the same
    if not podgrouper.is_one_pod_group(workload):
        reason = f"each pod of this {workload.kind} is a PodGroup of its own"
        for placement in (workload.placement, *(template.placement for template in workload.replicas)):
            yield from _nowhere(workload, placement, reason, _instead(workload, None))
        return
    if not podgrouper.places_at(workload):
        reason, hint = f"KAI reads no placement of a {workload.kind} itself", "Ask for it on the templates of its pods."
        yield from _nowhere(workload, workload.placement, reason, hint)
    are_read = places_parts(workload) or is_placed_as_a_whole(workload)
    for template in workload.outside if are_read else workload.templates:
        if template.annotations_path == podgrouper.row(workload).placed_at:
            continue
        reason = f"KAI reads no placement of {template.name} in a {workload.kind}"
        yield from _nowhere(workload, template.placement, reason, _instead(workload, template))


def _nowhere(workload: FleetWorkload, placement: Placement | None, reason: str, hint: str) -> Iterator[Diagnostic]:
    if placement is None:
        return
    for asked_level in placement.asked:
        location = workload.declared.at_key(*asked_level.path)
        if asked_level is placement.required:
            message = f'{reason}, so nothing keeps its pods within one "{asked_level.text}"'
            yield Diagnostic(PLACEMENT_UNSUPPORTED, message, location, hint=hint)
        else:
            message = f'{reason}, so nothing places its pods in one "{asked_level.text}"'
            yield Diagnostic(PLACEMENT_IGNORED, message, location, hint=hint)


def _instead(workload: FleetWorkload, replica_type: ReplicaType | None) -> str:
    """Returns ways to keep the pods of a replica type together; with None, the pods of the whole workload."""
    grouping, backend, ways = podgrouper.row(workload), workload.pool.backend, []
    if replica_type in workload.replicas and grouping.placed_parts is not None:
        ways.append(f"update KAI to {kai.first_with(grouping.placed_parts)}")
    if replica_type is not None:
        ways.append(f"place the whole {workload.kind} by the annotations of its own metadata")
    if (
        replica_type is not None
        and replica_type.name == grouping.empty_part
        and podgrouper.makes_segments(workload, replica_type)
    ):
        ways.append(f'make its pods one segment ({labels.SEGMENT_SIZE}: "{replica_type.replicas}") and place that')
    if not grouping.not_owned and backend.has(Feature.SKIP_PODGROUPER):
        ways.append(f"add the label {labels.OWNED}: owned")
    text = ", or ".join(ways) or "leave it out"
    return f"{text[0].upper()}{text[1:]}."


def check_order(
    levels: Sequence[str], required: str, preferred: str, location: Location, related: tuple[Related, ...] = ()
) -> Iterator[Diagnostic]:
    """Checks the ``preferred`` level of a constraint, at ``location``, against the ``required`` one. ``levels`` run
    from the coarsest to the finest. Follows ``job_filtering.go`` of KAI's topology plugin.
    """
    finer = levels[levels.index(required) + 1 :]
    hint = f"Prefer {' or '.join(finer)}, or leave it out." if finer else "Nothing is finer; leave it out."
    if preferred == required:
        message = f'the preferred level "{preferred}" is the required one, so it has no effect'
        yield Diagnostic(CONSTRAINT_ORDER, message, location, related, hint=hint)
    elif preferred not in finer:
        message = f'the preferred level "{preferred}" is coarser than the required "{required}": the pods never run'
        yield Diagnostic(PLACEMENT_ORDER, message, location, related, hint=hint)
