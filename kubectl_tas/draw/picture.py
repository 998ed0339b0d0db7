"""A workflow in; its queue, its verdict and its tree of constraints out, ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_tas.check.admission import Verdict, admit, declared_usage, others
from kubectl_tas.resolve.fleet import Fleet, FleetGroup, FleetWorkflow, Level
from kubectl_tas.resolve.submission import Submission
from kubectl_tas.resolve.tree import Constraint, Gang, Node


@dataclass(frozen=True, slots=True)
class Branch:
    """A PodGroup, a SubGroup or a task."""

    kind: str
    """PodGroup, SubGroup, Task, or the kind of a workload whose PodGroup is not known."""
    name: str
    pods: int
    """Pods at or below this branch."""
    minimum: int | None
    """Pods needed before any starts; None where the branches below say it."""
    gpus: int
    required: Level | None
    preferred: Level | None
    branches: tuple[Branch, ...]
    indices: tuple[int, int] | None = None
    """The lowest and the highest index of its pods, where it is known by them."""


@dataclass(frozen=True, slots=True)
class Picture:
    """What becomes of a workflow or a workload."""

    workflow: str
    """Its name."""
    file: str
    target: str
    """The pool or pool--subpool."""
    backend: str
    queue: str
    priority: str
    preemptible: bool
    gpus: int
    verdict: Verdict
    topology: str | None
    pod_groups: tuple[Branch, ...]
    kind: str
    """Workflow, or the kind of a workload."""
    facts: tuple[tuple[str, str], ...]
    """What else there is to say: a name and a text each."""


def picture(fleet: Fleet, workflow: FleetWorkflow) -> Picture:
    """The picture of one workflow."""
    pool = workflow.pool
    topology = pool.topology.name_on(pool.backend) if pool.topology else None
    return picture_of(fleet, workflow, topology, tuple(_pod_group(workflow, group) for group in workflow.groups))


def picture_of(
    fleet: Fleet,
    submission: Submission,
    topology: str | None,
    pod_groups: tuple[Branch, ...],
    facts: tuple[tuple[str, str], ...] = (),
) -> Picture:
    """The picture of anything with a queue; admission is judged beside all else in the repository."""
    used = declared_usage(fleet)
    return Picture(
        workflow=submission.name,
        file=submission.declared.origin.path,
        target=submission.target,
        backend=submission.pool.backend.name,
        queue=submission.queue,
        priority=submission.priority,
        preemptible=submission.priority == "LOW",
        gpus=submission.gpus,
        verdict=admit(submission, others(submission, used), used),
        topology=topology,
        pod_groups=pod_groups,
        kind=submission.kind,
        facts=facts,
    )


def _pod_group(workflow: FleetWorkflow, group: FleetGroup) -> Branch:
    built, levels = group.gang, workflow.pool.levels
    tasks = _tasks(group, built, None)
    top = [node for node in built.nodes if node.parent is None]
    branches = tuple(_sub_group(group, built, node, levels) for node in top) if top else tasks
    required, preferred = _levels(built.constraint, levels)
    return Branch(
        "PodGroup",
        group.pod_group,
        len(group.tasks),
        built.members,
        group.gpus,
        required,
        preferred,
        branches,
    )


def _sub_group(group: FleetGroup, built: Gang, node: Node, levels: tuple[Level, ...]) -> Branch:
    below = [child for child in built.nodes if child.parent == node.name]
    branches = (
        tuple(_sub_group(group, built, child, levels) for child in below) if below else _tasks(group, built, node.name)
    )
    pods, gpus = sum(branch.pods for branch in branches), sum(branch.gpus for branch in branches)
    required, preferred = _levels(node.constraint, levels)
    return Branch("SubGroup", node.name, pods, node.members, gpus, required, preferred, branches)


def _tasks(group: FleetGroup, built: Gang, sub_group: str | None) -> tuple[Branch, ...]:
    return tuple(
        Branch("Task", task.name, 1, None, task.resource.spec.gpu, None, None, ())
        for task, placed in zip(group.tasks, built.placed, strict=True)
        if placed == sub_group
    )


def _levels(constraint: Constraint | None, levels: tuple[Level, ...]) -> tuple[Level | None, Level | None]:
    if constraint is None:
        return None, None
    required, preferred = constraint.required, constraint.preferred
    return (
        None if required is None else levels[required],
        None if preferred is None else levels[preferred],
    )
