"""Walks over a fleet: lists the nodes of each sort, and calls each check with the nodes that it looks at.

No check searches the fleet for its subjects, so a check that looks at workloads sees workloads of every kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.base.late import dataclass
from kubectl_tas.check.conflicts import Fields
from kubectl_tas.check.growth import scalers
from kubectl_tas.check.keys import WorkDocument
from kubectl_tas.kinds import SET
from kubectl_tas.kinds.backdoors import pods_at
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import CliqueSet
    from kubectl_tas.model.pool_kinds import Pool, Subpool
    from kubectl_tas.model.workloads import Workload
    from kubectl_tas.resolve.fleet_workload import FleetWorkload
    from kubectl_tas.resolve.handwritten import FleetPodGroup
    from kubectl_tas.resolve.podcliqueset import SubmittedSet
    from kubectl_tas.resolve.workflows import FleetWorkflow

N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Node(Generic[N]):
    """A sort of node in a fleet."""

    name: str
    """The node in words, for the documentation."""
    of: Callable[[Fleet], Iterable[N]]
    """Lists the nodes of this sort, in the order of the fleet."""


@dataclass(frozen=True, slots=True)
class Look(Generic[N]):
    """A check, and the nodes that it looks at."""

    node: Node[N]
    check: Callable[[N, Any], Iterable[Diagnostic]]
    """Yields the findings about one node. The fleet serves as context."""
    needs_all: bool = False
    """Whether the check looks for missing objects, and so needs all documents."""
    shared: Callable[[Fleet], Any] | None = None
    """Makes data that the check needs of all nodes together, once. The check gets it in the place of the fleet."""
    why: str = ""
    """Reason why a check looks at the fleet as a whole."""


def look_at_fleet(
    check: Callable[[Fleet], Iterable[Diagnostic]], reason: str, *, needs_all: bool = False
) -> Look[Fleet]:
    """Returns the row of a check that looks at the fleet as a whole, and the reason."""
    return Look(FLEET, lambda fleet, _fleet: check(fleet), needs_all=needs_all, why=reason)


def walk(fleet: Fleet, looks: Iterable[Look[Any]]) -> Iterator[Diagnostic]:
    """Yields the findings of all checks about all nodes of the fleet."""
    nodes: dict[str, list[Any]] = {}
    for look in looks:
        nodes_of_look = nodes.get(look.node.name)
        if nodes_of_look is None:
            nodes_of_look = nodes[look.node.name] = list(look.node.of(fleet))
        if nodes_of_look:
            check, context = look.check, fleet if look.shared is None else look.shared(fleet)
            for node in nodes_of_look:
                yield from check(node, context)


def _pod_specs(fleet: Fleet) -> Iterator[Fields]:
    """Yields the PodSpec of each pod template in files of work, or the fields that a kind has in its place."""
    for declared in fleet.repository.workloads:
        for path in dict.fromkeys(pods.spec_path or pods.path for pods in declared.spec.pod_sets):
            for at in pods_at(declared.origin.data, path):
                yield Fields(declared.origin, at, declared.origin.value(at))
    for clique_set in fleet.repository.pod_clique_sets:
        for index in range(len(clique_set.spec.spec.template.cliques)):
            of_clique = ("spec", "template", "cliques", index, "spec", "podSpec")
            yield Fields(clique_set.origin, of_clique, clique_set.origin.value(of_clique))


def _containers(fleet: Fleet) -> Iterator[Fields]:
    """Yields the containers of all pod templates, and the tasks of all workflows."""
    for spec in _pod_specs(fleet):
        yield from spec.containers
    for workflow in fleet.repository.workflows:
        for _, _, at in workflow.spec.all_tasks:
            yield Fields(workflow.origin, at, workflow.origin.value(at))


def _documents(fleet: Fleet) -> Iterator[WorkDocument]:
    """Yields every document with pods, whether its pool exists or not."""
    submissions = {id(submission.declared.origin): submission for submission in SUBMITTED.of(fleet)}
    groups = {id(group.declared.origin): group for group in fleet.pod_groups}
    groups |= {id(pod.origin): group for group in fleet.pod_groups for pod in group.pods}
    origins = [declared.origin for declared in WORK_FILE.of(fleet)]
    origins += [declared.origin for declared in fleet.repository.pod_groups]
    yield from (WorkDocument(origin, submissions.get(id(origin)), groups.get(id(origin))) for origin in origins)


FLEET = Node("repository", lambda fleet: (fleet,))
BACKEND = Node("backend", lambda fleet: fleet.backends)
POOL = Node("pool", lambda fleet: fleet.pools)
TOPOLOGY = Node("topology", lambda fleet: fleet.topologies)
WORK = Node("work", lambda fleet: fleet.submissions)
WORKFLOW = Node("workflow", lambda fleet: fleet.workflows)
WORKLOAD = Node("workload", lambda fleet: fleet.workloads)
CLIQUE_SET = Node(SET.kind, lambda fleet: fleet.pod_clique_sets)
POD_GROUP = Node("PodGroup", lambda fleet: fleet.pod_groups)
COMPANION = Node("companion", lambda fleet: fleet.companions)
POOL_FILE = Node("file of a pool", lambda fleet: fleet.repository.pools)
POOL_OR_SUBPOOL_FILE: Node[Declared[Pool] | Declared[Subpool]] = Node(
    "file of a pool or subpool", lambda fleet: chain(fleet.repository.pools, fleet.repository.subpools)
)
SUBPOOL_FILE = Node("file of a subpool", lambda fleet: fleet.repository.subpools)
TOPOLOGY_FILE = Node("file of a topology", lambda fleet: fleet.repository.topologies)
SHARD_FILE = Node("file of a shard", lambda fleet: fleet.repository.shards)
SHARD = Node("shard of the scheduler", lambda fleet: fleet.shards)
WORKFLOW_FILE = Node("file of a workflow", lambda fleet: fleet.repository.workflows)
WORKLOAD_FILE = Node("file of a workload", lambda fleet: fleet.repository.workloads)
CLIQUE_SET_FILE = Node(f"file of a {SET.kind}", lambda fleet: fleet.repository.pod_clique_sets)
POD_GROUP_FILE = Node("file of a PodGroup", lambda fleet: fleet.repository.pod_groups)
COMPANION_FILE = Node("file of a companion", lambda fleet: fleet.repository.companions)
WORK_FILE: Node[Declared[Workload] | Declared[CliqueSet]] = Node(
    f"file of a workload or {SET.kind}",
    lambda fleet: chain(fleet.repository.workloads, fleet.repository.pod_clique_sets),
)
POD_SPEC = Node("pod template", _pod_specs)
CONTAINER = Node("container or task", _containers)
SUBMITTED: Node[FleetWorkload | SubmittedSet] = Node(
    f"workload or {SET.kind} of a pool", lambda fleet: chain(fleet.workloads, fleet.submitted_sets)
)
TASK = Node(
    "task of a pool",
    lambda fleet: ((w, t) for w in fleet.workflows for g in w.groups for t in g.tasks),
)
DOCUMENT = Node("document with pods", _documents)
POD_OWNER: Node[FleetWorkload | SubmittedSet | FleetPodGroup] = Node(
    f"workload, {SET.kind} or PodGroup of a pool",
    lambda fleet: chain(fleet.workloads, fleet.submitted_sets, fleet.pod_groups),
)
COMPUTE_DOMAIN = Node("ComputeDomain", lambda fleet: fleet.compute_domains.items())
AUTOSCALER = Node("autoscaler", scalers)
SENT: Node[FleetWorkflow | FleetWorkload | SubmittedSet] = Node(
    f"workflow, workload or {SET.kind}", lambda fleet: chain(fleet.workflows, fleet.workloads, fleet.submitted_sets)
)
