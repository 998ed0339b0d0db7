"""Checks that no two objects share a name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule
from kubectl_tas.base.late import dataclass
from kubectl_tas.check.conflicts import repetitions
from kubectl_tas.check.object_names import workflow_names
from kubectl_tas.gangs.podgrouper import pod_group_name
from kubectl_tas.gangs.workflow_gang import gangs_of_workflow
from kubectl_tas.kinds import SET
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.labels import MAX_LABEL
from kubectl_tas.model.osmo_workflow import Workflow
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.podcliqueset import FleetPodCliqueSet
from kubectl_tas.resolve.workflows import FleetGroup, FleetWorkflow

if TYPE_CHECKING:
    from kubectl_tas.model.workloads import Workload

NAME_DUPLICATE = Rule.error(
    "name-duplicate",
    "Two documents define the same thing.",
    "Which of the two counts would depend on the order of files. Rename or remove one.",
)
NAME_FOLDED = Rule.error(
    "name-folded",
    "Two names of a workflow differ only in case and '_', or parts of a workload share one.",
    "OSMO ignores case in names and takes '_' for '-', so the two would become one pod or one group. The controllers "
    "of workloads take Worker and worker for one replica type, and refuse a name that appears twice. Rename one. Spell "
    "a topology group the same way everywhere.",
)
NAME_COLLISION = Rule.error(
    "name-collision",
    "Two sources lead to objects of one kind with one name.",
    "The second would overwrite the first in the cluster. Rename one of the sources. KAI knows PodGroups by name "
    "alone: two with one name in different namespaces of a cluster are one gang to KAI, charged to either queue.",
)
_Generated = Iterator[tuple[tuple[str, ...], object, "_Named"]]
"""The identity, source, name and place of each generated object that could collide with another one."""


def check_unique(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks names of shared documents, within their kind and among the generated objects."""
    repository = fleet.repository
    config = repository.config
    if config is not None:
        backends = (_Named(b.name, config, ("spec", "backends", b.index, "name")) for b in fleet.backends)
        yield from _repeated("backend", backends)
    yield from _repeated("pool", (_Named(p.spec.metadata.name, p) for p in repository.pools))
    subpools = (_Named(f"{s.spec.spec.parent}{names.SEPARATOR}{s.spec.metadata.name}", s) for s in repository.subpools)
    yield from _repeated("subpool", subpools)
    for kind, named in (("pod template", repository.pod_templates), ("validation", repository.resource_validations)):
        yield from _repeated(kind, (_Named(subpool.spec.metadata.name, subpool) for subpool in named))
    yield from _repeated("topology", (_Named(t.spec.metadata.name, t) for t in repository.topologies))
    yield from _repeated("shard", (_Named(shard.spec.metadata.name, shard) for shard in repository.shards))
    operators = (_Named("OperatorConfiguration", o, ("kind",)) for o in repository.operators)
    yield from _repeated("document", operators)
    yield from _collisions(_generated_of_context(fleet))


def check_unique_work(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks names of work, within its kind and among the generated objects."""
    repository = fleet.repository
    for cluster in fleet.backends:
        clique_sets = [clique_set for clique_set in fleet.pod_clique_sets if clique_set.backend == cluster]
        for namespace in sorted({clique_set.namespace for clique_set in clique_sets}):
            sets_there = (_Named(s.name, s.declared) for s in clique_sets if s.namespace == namespace)
            yield from _repeated(SET.kind, sets_there)
    workflows = (_Named(names.fold(w.spec.workflow.name), w, ("workflow", "name")) for w in repository.workflows)
    yield from _repeated("workflow", workflows)
    alike: dict[tuple[str, str, str], list[_Named]] = {}
    for workload in fleet.workloads:
        key = (workload.pool.backend.name, workload.kind, workload.namespace)
        alike.setdefault(key, []).append(_Named(workload.name, workload.declared))
    for (_, kind, _), same in sorted(alike.items()):
        yield from _repeated(kind, same)
    yield from _collisions(_generated_of_work(fleet))


@dataclass(frozen=True, slots=True)
class _Named:
    """A name in a document. Its place is computed only when needed."""

    name: str
    declared: Declared[Any]
    path: KeyPath = ("metadata", "name")
    is_key: bool = False
    namespace: str = ""
    """Namespace of a PodGroup. The name of a PodGroup must be unique in all namespaces of its cluster."""

    @property
    def place(self) -> Location:
        return self.declared.origin.locate(self.path, key=self.is_key)


def _repeated(kind: str, named: Iterable[_Named]) -> Iterator[Diagnostic]:
    for name, first_document, document in repetitions((document.name, document) for document in named):
        message = f'the {kind} "{name}" is already defined at {first_document.place}'
        related = (Related("first defined here", first_document.place),)
        yield Diagnostic(NAME_DUPLICATE, message, document.place, related, hint="Rename or remove one of the two.")


def check_folded_names(declared: Declared[Workflow], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds groups, tasks, resources and topology groups with two spellings of one name."""
    folded = (((named[0], names.fold(named[1])), named) for named in workflow_names(declared.spec))
    for (kind, _), *pair in repetitions(folded):
        is_key = kind == "resource"
        first_named, second = (_Named(name, declared, path, is_key=is_key) for _, name, path in pair)
        yield _two_names(kind, first_named, second)
    spelled: dict[tuple[str, str], _Named] = {}
    for _, resource, path in declared.spec.all_resources:
        for index, requirement in enumerate(resource.topology):
            requirement_name = _Named(requirement.group, declared, (*path, "topology", index, "group"))
            first_named = spelled.setdefault((requirement.key, names.fold(requirement.group)), requirement_name)
            if first_named.name != requirement_name.name:
                yield _two_names("topology group", first_named, requirement_name)


def check_part_names(declared: Declared[Workload], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds repeated replica types, replicated jobs and worker groups."""
    written_names = (pods.given_name for pods in declared.spec.pod_sets if pods.given_name is not None)
    for _, *pair in repetitions((name.compared, name) for name in written_names):
        first_part, part = (_Named(name.text, declared, name.path, is_key=name.is_key) for name in pair)
        yield _two_names(pair[1].what, first_part, part, "case does not count")


def _two_names(
    kind: str, first_named: _Named, second_named: _Named, folded: str = "case does not count, '_' is '-'"
) -> Diagnostic:
    if first_named.name == second_named.name:
        message = f'the {kind} "{second_named.name}" is already defined at line {first_named.place.line}'
    else:
        message = f'the {kind} names "{first_named.name}" and "{second_named.name}" are one name: {folded}'
    hint = "Spell both alike, or rename one." if kind == "topology group" else "Rename one of them."
    return Diagnostic(
        NAME_FOLDED, message, second_named.place, (Related("the other one", first_named.place),), hint=hint
    )


def _collisions(generated: _Generated) -> Iterator[Diagnostic]:
    """Finds equal names of generated objects with different sources. Reports two PodCliqueSets only once."""
    seen: dict[tuple[str, ...], tuple[object, _Named]] = {}
    met: set[tuple[int, int]] = set()
    for identity, source, generated_object in generated:
        owner, first_object = seen.setdefault(identity, (source, generated_object))
        if owner == source:
            continue
        both = (id(first_object.declared), id(generated_object.declared))
        if both not in met or generated_object.declared.origin.value(("kind",)) != SET.kind:
            met.add(both)
            message = f'two sources lead to the {identity[0]} "{generated_object.name}"'
            if generated_object.namespace != first_object.namespace:
                message = (
                    f'the {identity[0]} "{generated_object.name}" of namespace {generated_object.namespace} '
                    "is one gang with that of namespace "
                    f"{first_object.namespace}: KAI knows both by their name alone"
                )
            related = (Related("the other source", first_object.place),)
            yield Diagnostic(NAME_COLLISION, message, generated_object.place, related, hint="Rename one of them.")


def _generated_of_context(fleet: Fleet) -> _Generated:
    kai_backends = [backend for backend in fleet.backends if backend.is_kai]
    for topology in fleet.topologies:
        for backend in [topology.backend] if topology.backend else kai_backends:
            if topology.is_created_on(backend):
                named_topology = _Named(topology.name, topology.declared)
                yield ("Topology", backend.name, topology.name), id(topology.declared), named_topology
    # Every queue. Generated queue names never collide, but names in files may.
    config = fleet.repository.config
    for backend in fleet.backends:
        root = backend.root_queue(fleet.config.queuePrefix)
        if backend.spec.rootQueue is not None and root is not None and config is not None:
            named_queue = _Named(root, config, ("spec", "backends", backend.index, "rootQueue"))
            yield ("Queue", backend.name, root), backend.name, named_queue
    for pool in fleet.pools:
        if pool.backend.is_kai:
            for name, field in ((pool.queue, "queue"), (pool.shared_queue, "sharedQueue")):
                yield ("Queue", pool.backend.name, name), (pool.name, field), _queue(name, pool.declared, field)
            for subpool in pool.subpools:
                is_refused = subpool.name == names.SHARED  # a name that is reserved is said to be
                if subpool.state != "ARCHIVED" and not is_refused:
                    named_queue = _queue(subpool.queue, subpool.declared, "queue")
                    yield ("Queue", pool.backend.name, subpool.queue), subpool.canonical, named_queue


def _generated_of_work(fleet: Fleet) -> _Generated:
    for pod_group in fleet.pod_groups:
        named_group = _Named(pod_group.name, pod_group.declared, namespace=pod_group.namespace)
        yield ("PodGroup", pod_group.backend.name, named_group.name), id(pod_group.declared), named_group
        for pod in pod_group.pods:
            where = (pod_group.backend.name, pod_group.namespace)
            yield ("Pod", *where, pod.spec.metadata.name), id(pod), _Named(pod.spec.metadata.name, pod)
    for workflow, groups in _groups_that_could_meet(fleet):
        where = (workflow.pool.backend.name, workflow.namespace)
        for group, gang in zip(groups, gangs_of_workflow(fleet, workflow, groups), strict=True):
            named_group = _Named(gang.name, workflow.declared, (*group.path, "name"), namespace=where[1])
            yield ("PodGroup", where[0], gang.name), (workflow.name, group.name), named_group
            for task in group.tasks:
                name = names.pod(gang.name, workflow.name, group.name, task.name)
                named_group = _Named(name, workflow.declared, (*task.path, "name"))
                yield ("Pod", *where, named_group.name), (workflow.name, group.name, task.name), named_group
    for clique_set in (named_group for named_group in fleet.pod_clique_sets if named_group.is_previewed):
        cluster = clique_set.backend
        if cluster is None:
            continue
        # Grove's own PodGroups are called as its PodGangs.
        kind, *space = ("PodGroup",) if cluster.writes_pod_groups_of_sets else ("PodGang", clique_set.namespace)
        for name in clique_set.gang_names:
            named_group = _Named(name, clique_set.declared, namespace=clique_set.namespace)
            yield (kind, cluster.name, *space, name), clique_set.key, named_group
        yield from _sub_groups(clique_set)
    for workload in fleet.workloads:
        backend = workload.pool.backend
        if workload.kind == "Pod":  # of two such Pods _repeated speaks
            where = (backend.name, workload.namespace)
            yield ("Pod", *where, workload.name), "Pod", _Named(workload.name, workload.declared)
        if workload.is_owned:
            source = ("gang", workload.gang) if workload.gang else id(workload.declared)
            named_group = _Named(pod_group_name(workload), workload.declared, namespace=workload.namespace)
            yield ("PodGroup", workload.pool.backend.name, named_group.name), source, named_group


def _queue(name: str, declared: Declared[Any], field: str) -> _Named:
    """Returns a queue, placed at its written name or at the name that it is made from."""
    path: KeyPath = ("spec", field, "name")
    return _Named(name, declared, path if declared.origin.value(path) else ("metadata", "name"))


def _groups_that_could_meet(fleet: Fleet) -> Iterator[tuple[FleetWorkflow, list[FleetGroup]]]:
    """Yields, by workflow, the groups whose gangs or pods could share a name with others. A gang is named after its
    workflow and group, plus a hash. Making all gangs would take as long as reading the files.
    """
    every = [(f"{w.name}-{g.name}-", w, g) for w in fleet.workflows for g in w.groups]
    if fleet.pod_groups or any(submitted.is_owned or submitted.kind == "Pod" for submitted in fleet.workloads):
        yield from ((workflow, list(workflow.groups)) for workflow in fleet.workflows)
        return
    every.sort(key=lambda item: item[0])
    last = ""
    groups_by_workflow: dict[int, tuple[FleetWorkflow, list[FleetGroup]]] = {}
    for index, (stem, workflow, group) in enumerate(every):
        following = every[index + 1][0] if index + 1 < len(every) else ""
        if (stem.startswith(last) and last) or following.startswith(stem) or len(stem) + names.HASH > MAX_LABEL:
            groups_by_workflow.setdefault(id(workflow), (workflow, []))[1].append(group)
        last = last if last and stem.startswith(last) else stem
    yield from groups_by_workflow.values()


def _sub_groups(clique_set: FleetPodCliqueSet) -> _Generated:
    """Yields the parts that become SubGroups: PodCliques, and replicas of scaling groups with a constraint."""
    where = ("SubGroup", clique_set.backend.name if clique_set.backend else "", clique_set.namespace)
    for name, clique in clique_set.pod_cliques:
        source = (clique_set.name, "clique", clique.name)
        yield (*where, name), source, _Named(name, clique_set.declared, (*clique.path, "name"))
    for replica in range(clique_set.replicas):
        for name, group in clique_set.group_replicas(replica):
            if group.spec.topologyConstraint is not None and group.spec.topologyConstraint.asks:
                source = (clique_set.name, "scaling group", group.name)
                yield (*where, name), source, _Named(name, clique_set.declared, (*group.path, "name"))
