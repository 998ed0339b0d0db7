"""Draws a workflow, workload, PodCliqueSet or PodGroup as a figure of its queue, its verdict and its gangs.

As JSON, the shape of these pictures, and of the segments of pods, is a versioned contract.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.draw.figure import CUT, MOST_DEEP, Box, BoxLook, Facts, Figure, folded
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.admission import Admission, Verdict
from kubectl_tas.gangs.gang import Gang, Member, Part, SubGroup
from kubectl_tas.gangs.workflow_gang import gangs_of_workflow
from kubectl_tas.gangs.workload_gang import PodSegment, gang_of, whole_placement
from kubectl_tas.gangs.written_gangs import gang_of_pod_group, gangs_of_set
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import MAX_SEGMENTS, FleetWorkload
from kubectl_tas.resolve.handwritten import SubmittedPodGroup
from kubectl_tas.resolve.placement import Segments
from kubectl_tas.resolve.podcliqueset import MAX_PREVIEWED, FleetPodCliqueSet, SubmittedSet
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.resolve.workflows import FleetWorkflow


@json_fields("name text")
class Fact(NamedTuple):
    """A line of text for people."""

    name: str
    text: str


@json_fields(
    "kind name=unit.name pods=unit.pods minMember=minimum gpus=unit.gpus required=unit.constraint.required "
    "preferred=unit.constraint.preferred children indices=unit.indices?"
)
class PreviewedPart(NamedTuple):
    """A gang or one of its SubGroups."""

    gang: Gang
    unit: Part

    @property
    def kind(self) -> str:
        """SubGroup, or the kind of the gang."""
        return "SubGroup" if isinstance(self.unit, SubGroup) else self.gang.kind

    @property
    def minimum(self) -> int | None:
        """The minimum of a part without SubGroups; None if it is unknown, or if the part has SubGroups."""
        return None if self.gang.below(self.unit) else self.unit.minimum

    @property
    def children(self) -> tuple[PreviewedPart | Member, ...]:
        """The parts directly below, then the tasks."""
        return (*(PreviewedPart(self.gang, child) for child in self.gang.below(self.unit)), *self.unit.members)


@json_fields(
    "version:2 kind=submission.kind name=submission.name workflow=submission.name "
    "file=submission.declared.origin.path pool=submission.target backend=submission.pool.backend.name "
    "queue=submission.queue priority=submission.priority preemptible=submission.is_preemptible gpus=submission.gpus "
    "topology verdict=verdict.outcome rule=verdict.rule.code inQuota=verdict.in_quota.gpus "
    "overQuota=verdict.over_quota.gpus message=verdict.text hint=verdict.hint admission podGroups=pod_groups "
    "facts=named_facts"
)
@dataclass(frozen=True, slots=True)
class Picture:
    """The queue of one piece of work, its verdict and its PodGroups."""

    submission: Submission
    verdict: Verdict
    """The admission verdict, given all other work that the repository declares."""
    topology: str | None
    """Name of the Topology that places the submission."""
    gangs: tuple[Gang, ...]
    facts: Facts
    """Further facts about the submission."""

    @property
    def admission(self) -> Verdict:
        """The old place of ``verdict``, as ``outcome``, and of the fields after it, for one release."""
        return self.verdict

    @property
    def pod_groups(self) -> tuple[PreviewedPart, ...]:
        """The gangs, each with its parts."""
        return tuple(PreviewedPart(gang, gang) for gang in self.gangs)

    @property
    def named_facts(self) -> tuple[Fact, ...]:
        """Further facts about the submission."""
        return tuple(Fact(*fact) for fact in self.facts)


@json_fields("version:2 items=pictures")
class Pictures(NamedTuple):
    """The queue, verdict and PodGroups of each piece of work with one name."""

    pictures: Sequence[Picture]


@json_fields(
    "kind=workload.kind workload=workload.name replicaType=segment.replica_type segment=segment.segment "
    "indices=segment.indices indexLabel=segment.index_label"
)
class WorkSegment(NamedTuple):
    """The segment of one workload that contains a pod."""

    workload: FleetWorkload
    segment: PodSegment


@json_fields("version:2 podIndex=pod_index segments")
class WorkSegments(NamedTuple):
    """The segments that contain the pods with one index."""

    pod_index: int
    segments: Sequence[WorkSegment]


def picture(fleet: Fleet, submission: Submission, verdict: Verdict | None = None) -> Picture:
    """Computes the picture of one submission, with its ``verdict`` if ``fleet`` is not all that counts for that."""
    match submission:
        case FleetWorkflow():
            topology, gangs = _pool_topology(submission), tuple(gangs_of_workflow(fleet, submission))
            facts: Facts = ()
        case FleetWorkload():
            gangs = tuple(gang_of(fleet, one_gang) for one_gang in podgrouper.by_pod_group(submission))
            topology, facts = _topology(submission), _facts(submission, gangs[0])
        case SubmittedSet():
            resolved = submission.set.topology
            topology = resolved.name if resolved else submission.set.topology_name
            gangs = tuple(gangs_of_set(submission.set)) if submission.set.is_previewed else ()
            facts = (("Gangs", _count(submission.set)),)
        case SubmittedPodGroup():
            named = (constraint.topology for constraint, _ in submission.group.constraints)
            topology, gangs = next(named, None), (gang_of_pod_group(fleet, submission.group),)
            facts = (("Pods", str(len(submission.group.pods))),)
        case _:
            raise TypeError(submission)
    return Picture(submission, verdict or Admission(fleet).verdict(submission), topology, gangs, facts)


def _count(clique_set: FleetPodCliqueSet) -> str:
    scaled = clique_set.gang_count - clique_set.replicas
    text = f"{clique_set.gang_count}: {clique_set.replicas} base and {scaled} scaled"
    return text if clique_set.is_previewed else f"{text}; more than {MAX_PREVIEWED} gangs or cliques are not shown"


def _facts(workload: FleetWorkload, gang: Gang) -> Facts:
    facts = [("PodGroup", _note(workload, gang))]
    for wait in podgrouper.waits(workload):
        facts.append(("Starts", f"never: KAI waits for all needed pods, and {wait.reason}"))
    for replicated in workload.outside if gang.minimum is not None else ():
        pods, gpus = plural(replicated.replicas, "pod"), plural(replicated.replicas * replicated.gpus, "GPU")
        facts.append(("Beside", f"{replicated.name}, {pods} with {gpus}, is no part of the gang: nothing waits for it"))
    for replicated in workload.replicas:  # an Indexed Job may have more indices than pods at a time
        if replicated.segments is not None and replicated.indices > replicated.replicas:
            facts.append(("Indices", f"{replicated.indices} of {replicated.name}, {replicated.replicas} at a time"))
    for replicated in workload.replicas:
        if replicated.segments is not None and not workload.lists_segments:
            text = (
                f"{replicated.segment_count} segments of {plural(replicated.segments.size, 'pod')} of {replicated.name}"
            )
            levels = (*_constraint("required", replicated.segments), *_constraint("preferred", replicated.segments))
            facts.append(("Segments", ", ".join([text, *levels, f"more than the {MAX_SEGMENTS} that are listed"])))
    return tuple(facts)


def _constraint(strength: Literal["required", "preferred"], segments: Segments) -> Iterator[str]:
    level = getattr(segments.placement, strength, None)
    if level is not None:
        yield f"each {strength} in one {level.level.key} ({level.level.label})"


def _note(workload: FleetWorkload, gang: Gang) -> str:
    """Says where the PodGroup of a workload comes from."""
    if workload.gang is not None:
        return f"{podgrouper.pod_group_name(workload)}, shared by the workloads of gang {workload.gang}"
    if workload.is_owned:
        return f"{podgrouper.pod_group_name(workload)}, written by kubectl-tas"
    if not workload.pool.backend.is_kai:
        return f"none; backend {workload.pool.backend.name} has no KAI Scheduler"
    pod_groups = [
        replicated.pod_group for replicated in workload.replicas if podgrouper.names_its_own(workload, replicated)
    ]
    if pod_groups:
        named = " and ".join(dict.fromkeys(name for name in pod_groups if name is not None))
        return f"{named}, named by the pods themselves" if named else "none; the pods name none, and KAI makes none"
    if not podgrouper.is_predicted(workload):
        reason = podgrouper.row(workload).unpredicted or f"not predicted for a {workload.kind}"
        return f"made by KAI's PodGrouper; {reason}"
    if gang.sub_groups and podgrouper.asks_for_more(workload):
        return podgrouper.note(workload, divided=True)
    rest = podgrouper.rest_of_name(workload)
    is_whole = rest == "the UID"
    return f"{gang.name}-<UID>, made by KAI" if is_whole else f"{gang.name}, made by KAI; to its name KAI adds {rest}"


def _topology(workload: FleetWorkload) -> str | None:
    """Returns the Topology that the workload's placements name, else the Topology of its pool."""
    placements = [whole_placement(workload)[0], *(replicated.placement for replicated in workload.replicas)]
    placements += [replicated.segments.placement for replicated in workload.replicas if replicated.segments]
    named = next((placement.topology for placement in placements if placement), None)
    return named or _pool_topology(workload)


def _pool_topology(submission: Submission) -> str | None:
    topology = submission.pool.topology
    return topology.name_on(submission.pool.backend) if topology else None


def figure(picture: Picture) -> Figure:
    """Draws the facts of a picture and the trees of its gangs."""
    submission = picture.submission
    preemptible = "preemptible" if submission.is_preemptible else "non-preemptible"
    facts = (
        ("Pool", submission.target),
        ("Queue", submission.queue),
        ("Priority", f"{submission.priority}, {preemptible}"),
        ("GPUs", str(submission.gpus)),
        ("Admission", f"{picture.verdict.outcome}: {picture.verdict.text}"),
        ("Topology", picture.topology or "none"),
        *picture.facts,
    )
    boxes = folded([tree_of(gang) for gang in picture.gangs])
    return Figure(submission.kind, submission.name, submission.declared.origin.path, facts, boxes)


def tree_of(gang: Gang) -> Box:
    """Returns the box of a gang, with the boxes of its SubGroups and tasks."""
    return _part(gang, gang, MOST_DEEP)


def _part(gang: Gang, unit: Part, deep: int) -> Box:
    constraint = unit.constraint
    is_required = constraint is not None and constraint.required is not None
    is_preferred = constraint is not None and constraint.preferred is not None
    kind = "SubGroup" if isinstance(unit, SubGroup) else gang.kind
    below = gang.below(unit)
    inside = [_part(gang, child, deep - 1) for child in below] if deep else []
    for member in unit.members if deep else ():
        inside.append(Box(member.name, words=(plural(member.gpus, "GPU"),), look=BoxLook.ITEM))
    gpus = f"with {plural(unit.gpus, 'GPU')}" if unit.gpus else ""
    pods = "" if unit.indices else f"{plural(unit.pods, 'pod')} {gpus}".rstrip()
    return Box(
        unit.name,
        kind,
        note=f"{_indices(*unit.indices)} {gpus}".rstrip() if unit.indices else "",
        words=tuple(word for word in (pods, *_words(gang, unit), *_cut(unit, below, deep)) if word),
        look=BoxLook.REQUIRED if is_required else BoxLook.PREFERRED if is_preferred else BoxLook.PLAIN,
        children=folded(inside),
        count=unit.pods,
    )


def _words(gang: Gang, unit: Part) -> Iterator[str]:
    if unit.minimum is not None and unit.minimum != unit.pods and not gang.below(unit):
        yield f"{unit.minimum} needed" if unit.minimum else "elastic"
    if unit.constraint is not None and unit.constraint.required is not None:
        yield f"required in one {unit.constraint.required.key} ({unit.constraint.required.label})"
    if unit.constraint is not None and unit.constraint.preferred is not None:
        yield f"preferred in one {unit.constraint.preferred.key} ({unit.constraint.preferred.label})"


def _cut(unit: Part, below: Sequence[Part], deep: int) -> Iterator[str]:
    """Says that parts are not drawn, if the depth is exhausted."""
    if not deep and (below or unit.members):
        yield CUT


def _indices(start: int, last: int) -> str:
    return f"pod {start}" if start == last else f"pods {start} to {last}"
