"""A workflow, a workload or a PodCliqueSet in; its queue, its verdict and its gangs out, ready to be drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from kubectl_tas.compile.podgroups import note
from kubectl_tas.draw.figure import Facts
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.admission import Admission, Verdict
from kubectl_tas.gangs.cliqueset_gang import gangs_of_set
from kubectl_tas.gangs.gang import Gang
from kubectl_tas.gangs.podgroup_gang import gang_of_pod_group
from kubectl_tas.gangs.workflow_gang import gangs_of_workflow
from kubectl_tas.gangs.workload_gang import gang_of, whole_placement
from kubectl_tas.records import dataclass
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.handwritten import SubmittedPodGroup
from kubectl_tas.resolve.placement import Segments
from kubectl_tas.resolve.podcliqueset import MAX_PREVIEWED, FleetPodCliqueSet, SubmittedSet
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.resolve.workflows import FleetWorkflow
from kubectl_tas.resolve.workload import MAX_SEGMENTS, FleetWorkload


@dataclass(frozen=True, slots=True)
class Picture:
    """What becomes of a submission."""

    item: Submission
    verdict: Verdict
    """Beside all else that the repository declares."""
    topology: str | None
    """Name of the Topology that it is placed by."""
    gangs: tuple[Gang, ...]
    facts: Facts
    """What else there is to say."""


def picture(fleet: Fleet, item: Submission, admission: Admission | None = None) -> Picture:
    """The picture of one submission; ``admission`` is that of ``fleet``, where there are many pictures of it."""
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
            levels = (*_words("required", item.segments), *_words("preferred", item.segments))
            found.append(("Segments", ", ".join([text, *levels, f"more than the {MAX_SEGMENTS} that are listed"])))
    return tuple(found)


def _words(what: Literal["required", "preferred"], segments: Segments) -> Iterator[str]:
    asked = getattr(segments.placement, what, None)
    if asked is not None:
        yield f"each {what} in one {asked.level.key} ({asked.level.label})"


def _note(workload: FleetWorkload, gang: Gang) -> str:
    """Where its PodGroup comes from."""
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
        return f"made by KAI's PodGrouper; not predicted for a {workload.kind}"
    return note(workload, divided=bool(gang.parts))


def _topology(workload: FleetWorkload) -> str | None:
    """The Topology that its placements refer to, else its pool's."""
    found = [whole_placement(workload)[0], *(item.placement for item in workload.replicas)]
    found += [item.segments.placement for item in workload.replicas if item.segments]
    named = next((placement.topology for placement in found if placement), None)
    return named or _pool_topology(workload)


def _pool_topology(item: Submission) -> str | None:
    topology = item.pool.topology
    return topology.name_on(item.pool.backend) if topology else None
