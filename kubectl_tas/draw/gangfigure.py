"""Draws a workflow, workload, PodCliqueSet or PodGroup as a figure of its queue, its verdict and its gangs.

As JSON, the shape of these pictures, and of the segments of pods, is a versioned contract.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from kubectl_tas.draw.figure import CUT, MOST_DEEP, Box, Facts, Figure, Look, folded
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.admission import Admission, Verdict
from kubectl_tas.gangs.gang import Gang, Member, Part, SubGroup
from kubectl_tas.gangs.workflow_gang import gangs_of_workflow
from kubectl_tas.gangs.workload_gang import PodSegment, gang_of, whole_placement
from kubectl_tas.gangs.written_gangs import gang_of_pod_group, gangs_of_set
from kubectl_tas.late import dataclass
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import MAX_SEGMENTS, FleetWorkload
from kubectl_tas.resolve.handwritten import SubmittedPodGroup
from kubectl_tas.resolve.placement import Segments
from kubectl_tas.resolve.podcliqueset import MAX_PREVIEWED, FleetPodCliqueSet, SubmittedSet
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.resolve.topologies import Level
from kubectl_tas.resolve.workflows import FleetWorkflow

if TYPE_CHECKING:
    from kubectl_tas.report import json_shapes as shapes


@dataclass(frozen=True, slots=True)
class Picture:
    """The result of rendering one submission."""

    item: Submission
    verdict: Verdict
    """The admission verdict, given all other work that the repository declares."""
    topology: str | None
    """Name of the Topology that places the submission."""
    gangs: tuple[Gang, ...]
    facts: Facts
    """Further facts about the submission."""


def picture(fleet: Fleet, item: Submission, admission: Admission | None = None) -> Picture:
    """Computes the picture of one submission. For many pictures, pass the ``admission`` of ``fleet`` to save time."""
    match item:
        case FleetWorkflow():
            topology, gangs = _pool_topology(item), tuple(gangs_of_workflow(fleet, item))
            facts: Facts = ()
        case FleetWorkload():
            gangs = tuple(gang_of(fleet, part) for part in podgrouper.by_pod_group(item))
            topology, facts = _topology(item), _facts(item, gangs[0])
        case SubmittedSet():
            known = item.set.topology
            topology = known.name if known else item.set.topology_name
            gangs = tuple(gangs_of_set(item.set)) if item.set.is_previewed else ()
            facts = (("Gangs", _count(item.set)),)
        case SubmittedPodGroup():
            named = (constraint.topology for constraint, _ in item.group.constraints)
            topology, gangs = next(named, None), (gang_of_pod_group(fleet, item.group),)
            facts = (("Pods", str(len(item.group.pods))),)
        case _:
            raise TypeError(item)
    return Picture(item, (admission or Admission(fleet)).verdict(item), topology, gangs, facts)


def _count(item: FleetPodCliqueSet) -> str:
    scaled = item.gang_count - item.replicas
    text = f"{item.gang_count}: {item.replicas} base and {scaled} scaled"
    return text if item.is_previewed else f"{text}; more than {MAX_PREVIEWED} gangs or cliques are not shown"


def _facts(workload: FleetWorkload, gang: Gang) -> Facts:
    found = [("PodGroup", _note(workload, gang))]
    for item in workload.outside if gang.minimum is not None else ():
        pods, gpus = plural(item.replicas, "pod"), plural(item.replicas * item.gpus, "GPU")
        found.append(("Beside", f"{item.name}, {pods} with {gpus}, is no part of the gang: nothing waits for it"))
    for item in workload.replicas:  # an Indexed Job may have more indices than pods at a time
        if item.segments is not None and item.indices > item.replicas:
            found.append(("Indices", f"{item.indices} of {item.name}, {item.replicas} at a time"))
    for item in workload.replicas:
        if item.segments is not None and not workload.lists_segments:
            text = f"{item.segment_count} segments of {plural(item.segments.size, 'pod')} of {item.name}"
            levels = (*_constraint("required", item.segments), *_constraint("preferred", item.segments))
            found.append(("Segments", ", ".join([text, *levels, f"more than the {MAX_SEGMENTS} that are listed"])))
    return tuple(found)


def _constraint(what: Literal["required", "preferred"], segments: Segments) -> Iterator[str]:
    asked = getattr(segments.placement, what, None)
    if asked is not None:
        yield f"each {what} in one {asked.level.key} ({asked.level.label})"


def _note(workload: FleetWorkload, gang: Gang) -> str:
    """Says where the PodGroup of a workload comes from."""
    if workload.gang is not None:
        return f"{podgrouper.pod_group_name(workload)}, shared by the workloads of gang {workload.gang}"
    if workload.is_owned:
        return f"{podgrouper.pod_group_name(workload)}, written by kubectl-tas"
    if not workload.pool.backend.is_kai:
        return f"none; backend {workload.pool.backend.name} has no KAI Scheduler"
    own = [item.pod_group for item in workload.replicas if podgrouper.names_its_own(workload, item)]
    if own:
        named = " and ".join(dict.fromkeys(name for name in own if name is not None))
        return f"{named}, named by the pods themselves" if named else "none; the pods name none, and KAI makes none"
    if not podgrouper.is_predicted(workload):
        why = podgrouper.row(workload).unpredicted or f"not predicted for a {workload.kind}"
        return f"made by KAI's PodGrouper; {why}"
    return podgrouper.note(workload, divided=bool(gang.parts))


def _topology(workload: FleetWorkload) -> str | None:
    """Returns the Topology that the workload's placements name, else the Topology of its pool."""
    found = [whole_placement(workload)[0], *(item.placement for item in workload.replicas)]
    found += [item.segments.placement for item in workload.replicas if item.segments]
    named = next((placement.topology for placement in found if placement), None)
    return named or _pool_topology(workload)


def _pool_topology(item: Submission) -> str | None:
    topology = item.pool.topology
    return topology.name_on(item.pool.backend) if topology else None


def figure(picture: Picture) -> Figure:
    """Draws the facts of a picture and the trees of its gangs."""
    item = picture.item
    preemptible = "preemptible" if item.is_preemptible else "non-preemptible"
    facts = (
        ("Pool", item.target),
        ("Queue", item.queue),
        ("Priority", f"{item.priority}, {preemptible}"),
        ("GPUs", str(item.gpus)),
        ("Admission", f"{picture.verdict.outcome}: {picture.verdict.text}"),
        ("Topology", picture.topology or "none"),
        *picture.facts,
    )
    boxes = folded([tree_of(gang) for gang in picture.gangs])
    return Figure(item.kind, item.name, item.declared.origin.path, facts, boxes)


def tree_of(gang: Gang) -> Box:
    """Returns the box of a gang, with the boxes of its SubGroups and tasks."""
    return _part(gang, gang, MOST_DEEP)


def _part(gang: Gang, part: Part, deep: int) -> Box:
    constraint = part.constraint
    is_required = constraint is not None and constraint.required is not None
    is_preferred = constraint is not None and constraint.preferred is not None
    kind = "SubGroup" if isinstance(part, SubGroup) else gang.kind
    below = gang.below(part)
    inside = [*(_part(gang, child, deep - 1) for child in below), *map(_task, part.members)] if deep else []
    gpus = f"with {plural(part.gpus, 'GPU')}" if part.gpus else ""
    pods = "" if part.indices else f"{plural(part.pods, 'pod')} {gpus}".rstrip()
    return Box(
        part.name,
        kind,
        note=f"{_indices(*part.indices)} {gpus}".rstrip() if part.indices else "",
        words=tuple(word for word in (pods, *_words(gang, part), *_cut(part, below, deep)) if word),
        look=Look.REQUIRED if is_required else Look.PREFERRED if is_preferred else Look.PLAIN,
        children=folded(inside),
        count=part.pods,
    )


def _words(gang: Gang, part: Part) -> Iterator[str]:
    if part.minimum is not None and part.minimum != part.pods and not gang.below(part):
        yield f"{part.minimum} needed" if part.minimum else "elastic"
    if part.constraint is not None and part.constraint.required is not None:
        yield f"required in one {part.constraint.required.key} ({part.constraint.required.label})"
    if part.constraint is not None and part.constraint.preferred is not None:
        yield f"preferred in one {part.constraint.preferred.key} ({part.constraint.preferred.label})"


def _cut(part: Part, below: Sequence[Part], deep: int) -> Iterator[str]:
    """Says that parts are not drawn, if the depth is exhausted."""
    if not deep and (below or part.members):
        yield CUT


def _indices(first: int, last: int) -> str:
    return f"pod {first}" if first == last else f"pods {first} to {last}"


def _task(member: Member) -> Box:
    return Box(member.name, words=(plural(member.gpus, "GPU"),), look=Look.ITEM)


VERSION = 1


def as_data(pictures: Sequence[Picture]) -> shapes.Explained | shapes.SeveralExplained:
    """Returns the facts and gangs as JSON data; several pictures become a list in one object."""
    found = [_record(picture) for picture in pictures]
    several: shapes.SeveralExplained = {"version": VERSION, "items": found}
    return found[0] if len(found) == 1 else several


def segments_as_data(index: int, found: Sequence[tuple[FleetWorkload, PodSegment]]) -> shapes.Segments:
    """Returns the segments that contain the pods with ``index``."""
    segments: list[shapes.Segment] = [
        {
            "kind": item.kind,
            "workload": item.name,
            "replicaType": segment.replica_type,
            "segment": segment.segment,
            "indices": list(segment.indices),
            "indexLabel": segment.index_label,
        }
        for item, segment in found
    ]
    return {"version": VERSION, "podIndex": index, "segments": segments}


def _record(picture: Picture) -> shapes.Explained:
    item, verdict = picture.item, picture.verdict
    return {
        "version": VERSION,
        "kind": item.kind,
        "workflow": item.name,
        "file": item.declared.origin.path,
        "pool": item.target,
        "backend": item.pool.backend.name,
        "queue": item.queue,
        "priority": item.priority,
        "preemptible": item.is_preemptible,
        "gpus": item.gpus,
        "topology": picture.topology,
        "admission": {
            "outcome": verdict.outcome,
            "rule": verdict.rule.code if verdict.rule else None,
            "message": verdict.text,
            "inQuota": verdict.in_quota.gpu,
            "overQuota": verdict.over_quota.gpu,
            "hint": verdict.hint,
        },
        "podGroups": [_part_record(gang, gang) for gang in picture.gangs],
        "facts": [{"name": name, "text": text} for name, text in picture.facts],
    }


def _part_record(gang: Gang, part: Part) -> shapes.Part:
    below = gang.below(part)
    tasks: list[shapes.Part] = [{"kind": "Task", "name": member.name, "gpus": member.gpus} for member in part.members]
    found: shapes.Part = {
        "kind": "SubGroup" if isinstance(part, SubGroup) else gang.kind,
        "name": part.name,
        "pods": part.pods,
        "minMember": None if below else part.minimum,
        "gpus": part.gpus,
        "required": _level_record(part.constraint.required if part.constraint else None),
        "preferred": _level_record(part.constraint.preferred if part.constraint else None),
        "children": [*(_part_record(gang, child) for child in below), *tasks],
    }
    if part.indices:
        found["indices"] = list(part.indices)
    return found


def _level_record(level: Level | None) -> shapes.Level | None:
    return None if level is None else {"key": level.key, "label": level.label}
