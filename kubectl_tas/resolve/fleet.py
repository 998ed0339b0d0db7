"""Resolves a repository to a fleet: all declared objects, with every reference followed and none guessed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.base.late import dataclass, imported
from kubectl_tas.base.words import nothing_called, shortened
from kubectl_tas.facts.quantities import NO_LIMIT, Amounts
from kubectl_tas.model import labels
from kubectl_tas.model.config import DEFAULTS, ConfigSpec
from kubectl_tas.model.repository import Declared, Repository, Unread
from kubectl_tas.resolve import names
from kubectl_tas.resolve.autoscalers import counted
from kubectl_tas.resolve.clusters import Dangling, FleetBackend, Grove, names_of, resolve_backend
from kubectl_tas.resolve.companions import ClusterNamespace, FleetCompanion, resolve_companions
from kubectl_tas.resolve.fleet_workload import FleetWorkload, join_shared_gangs, resolve_workload
from kubectl_tas.resolve.handwritten import (
    FleetPodGroup,
    SubmittedPodGroup,
    joins,
    resolve_pod_group,
    submitted_pod_groups,
)
from kubectl_tas.resolve.mentions import MentionReader, Mentions
from kubectl_tas.resolve.podcliqueset import FleetPodCliqueSet, SubmittedSet, resolve_set
from kubectl_tas.resolve.pools import (
    Declarations,
    FleetPool,
    FleetSubpool,
    Submission,
    Target,
    resolve_pools,
    work_name,
)
from kubectl_tas.resolve.shards import FleetShard, resolve_shards
from kubectl_tas.resolve.topologies import FleetTopology, cluster_topologies
from kubectl_tas.resolve.workflows import FleetWorkflow, resolve_workflow

if TYPE_CHECKING:
    from kubectl_tas.model.manifest import PodGroup
    from kubectl_tas.model.pool_kinds import Subpool
    from kubectl_tas.model.scheduler_settings import SchedulerSettings
    from kubectl_tas.model.workloads import Workload

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlacedWork:
    """Work that requests levels of a topology. PodCliqueSets are not included: they name their topology themselves."""

    kind_and_name: str
    """Kind and name."""
    backend: str
    queue: str
    location: Location


@dataclass(frozen=True)
class Fleet:
    """Everything that a repository declares, resolved."""

    repository: Repository
    config: ConfigSpec
    backends: tuple[FleetBackend, ...]
    topologies: tuple[FleetTopology, ...] = ()
    """Cluster topologies and the pools' own topologies."""
    pools: tuple[FleetPool, ...] = ()
    """Pools, sorted by name."""
    shards: tuple[FleetShard, ...] = ()
    """Shards of KAI's scheduler, sorted by value and name."""
    workflows: tuple[FleetWorkflow, ...] = ()
    """Workflows, sorted by name."""
    pod_groups: tuple[FleetPodGroup, ...] = ()
    """Hand-written PodGroups, sorted by namespace and name."""
    grove: Grove = field(default=Grove(None))
    """The configuration of Grove."""
    pod_clique_sets: tuple[FleetPodCliqueSet, ...] = ()
    """PodCliqueSets, sorted by namespace and name."""
    workloads: tuple[FleetWorkload, ...] = ()
    """Workloads, sorted by name, kind and namespace."""
    companions: tuple[FleetCompanion, ...] = ()
    """Companions, sorted by kind and name."""
    dangling: tuple[Dangling, ...] = ()
    summaries: tuple[Submission, ...] = ()
    """Work whose documents are no longer in memory."""
    kept_mentions: tuple[Mentions, ...] = ()
    """Names that these documents use and declare."""
    not_counted: tuple[Unread, ...] = ()
    """The documents that no sum has: those that could not be read, pools and subpools that hang nowhere, and work whose
    pool is unknown. Sorted by place.
    """

    @property
    def settings_source(self) -> str:
        """The file with the settings, or "the defaults" without a Config."""
        config = self.repository.config
        return config.origin.path if config else "the defaults"

    @property
    def gap(self) -> str:
        """Half a sentence which says that not all is counted; '' if all is."""
        places = shortened([str(document.place) for document in self.not_counted])
        return f"what {places} declares is not counted" if places else ""

    @property
    def submissions(self) -> tuple[Submission, ...]:
        """All work for queues."""
        sent = (*self.workflows, *self.workloads, *self.submitted_sets, *self.submitted_pod_groups)
        return (*sent, *self.summaries)

    @property
    def used_platforms(self) -> frozenset[tuple[str, str]]:
        """The platforms that work requests, each with its pool."""
        return frozenset((each.pool.name, name) for each in self.submissions for name in each.used_platforms)

    @cached_property
    def submitted_sets(self) -> tuple[SubmittedSet, ...]:
        """The PodCliqueSets with a known pool."""
        return tuple(_without_none(clique_set.submitted for clique_set in self.pod_clique_sets))

    @cached_property
    def submitted_pod_groups(self) -> tuple[SubmittedPodGroup, ...]:
        """The hand-written PodGroups with declared Pods and a declared queue."""
        return submitted_pod_groups(self.pod_groups, self.config)

    @cached_property
    def joined(self) -> frozenset[int]:
        """Identities of the Pods that join a hand-written PodGroup, and so need no pool of their own."""
        return frozenset(id(pod) for group in self.pod_groups for pod in group.pods)

    @cached_property
    def backends_of_files(self) -> dict[int, FleetBackend]:
        """The backend of each workload, PodCliqueSet and companion, by the identity of its document."""
        backends = {id(workload.declared): workload.pool.backend for workload in self.workloads}
        backends |= {id(companion.declared): companion.backend for companion in self.companions}
        return backends | {id(each.declared): each.backend for each in self.pod_clique_sets if each.backend is not None}

    def pools_of(self, companion: FleetCompanion) -> tuple[str, ...]:
        """Returns the pool that the label of a companion names, else the pools of all work in its file."""
        named = self.target(companion.declared.spec.metadata.labels.get(labels.POOL, ""))
        return (named[0].name,) if named else self._pools_of_files.get(companion.declared.origin.path, ())

    @cached_property
    def _pools_of_files(self) -> dict[str, tuple[str, ...]]:
        """The pools of the work in each file, sorted."""
        pools: dict[str, set[str]] = {}
        work: list[tuple[Declared[Any], FleetPool | None]] = [(each.declared, each.pool) for each in self.submissions]
        work += [(group.declared, group.pool) for group in self.pod_groups]
        for declared, pool in work:
            if pool is not None:
                pools.setdefault(declared.origin.path, set()).add(pool.name)
        return {path: tuple(sorted(names)) for path, names in pools.items()}

    @cached_property
    def on_platforms(self) -> frozenset[int]:
        """Identities of the workflow documents whose pool has platforms."""
        return frozenset(id(workflow.declared) for workflow in self.workflows if workflow.pool.platforms.by_name)

    @cached_property
    def cluster_topologies(self) -> dict[str, FleetTopology]:
        """Cluster topologies by name, without the pools' own topologies."""
        return {topology.name: topology for topology in self.topologies if topology.pool is None}

    @cached_property
    def pool_by_name(self) -> dict[str, FleetPool]:
        """Pools by name."""
        return {pool.name: pool for pool in self.pools}

    @cached_property
    def records(self) -> tuple[FleetSubpool, ...]:
        """The ARCHIVED subpools of removed pools. They have neither a queue nor a quota."""
        names = (
            (x, x.spec.spec.parent, x.spec.metadata.name)
            for x in _records(self.repository, names_of(self.repository.pools))
        )
        amounts = (Amounts(0, NO_LIMIT, NO_LIMIT),) * 4
        records = (FleetSubpool(*named, *amounts, queue="", namespaces=()) for named in names)
        return tuple(sorted(records, key=lambda subpool: (subpool.pool, subpool.name)))

    @cached_property
    def compute_domains(self) -> dict[tuple[str, str, str], list[FleetCompanion]]:
        """The ComputeDomains by cluster, namespace and name of their claim template."""
        domains: dict[tuple[str, str, str], list[FleetCompanion]] = {}
        for companion in self.companions:
            if companion.claim_template:
                key = companion.backend.name, companion.namespace, companion.claim_template
                domains.setdefault(key, []).append(companion)
        return domains

    @cached_property
    def own_mentions(self) -> Mentions:
        """Names that the documents in memory use, and objects that they declare."""
        reader = MentionReader([document.origin for document in self.repository.work])
        for workflow in self.workflows:
            reader.workflow(workflow)
        for workload in self.workloads:
            reader.workload(workload)
        for group in self.pod_groups:
            reader.group(group)
        for clique_set in self.submitted_sets:
            reader.clique_set(clique_set)
        for companion in self.companions:
            reader.companion(companion)
        return reader.mentions

    @cached_property
    def mentions(self) -> tuple[Mentions, ...]:
        """The mentions of all files, and of the pod templates of pools."""
        reader = MentionReader()
        for pool in self.pools:
            reader.pool(pool)
        return (reader.mentions, self.own_mentions, *self.kept_mentions)

    def shard_of(self, pool: FleetPool) -> FleetShard | None:
        """Returns the declared shard that serves a pool: the first of several. None if the repository declares none."""
        value = pool.shard or ""
        return next((shard for shard in self.shards if shard.value == value), None) if pool.backend.is_kai else None

    def settings_of(self, pool: FleetPool) -> SchedulerSettings:
        """Returns the settings of the scheduler of a pool: those of its shard, or KAI's defaults without one."""
        from kubectl_tas.model.scheduler_settings import settings_of

        shard = self.shard_of(pool)
        if shard is None:
            return settings_of(None, pool.backend.release)
        return replace(settings_of(shard.spec, pool.backend.release), shard=shard.name)

    def target_names(self) -> list[str]:
        """Returns the name of every pool, followed by its pool--subpool names."""
        return [name for pool in self.pools for name in (pool.name, *(subpool.canonical for subpool in pool.subpools))]

    def target(self, name: str) -> Target | None:
        """Returns the pool, or pool--subpool, with this name in any spelling. None if unknown."""
        parent, _, short = names.fold(name).partition(names.SEPARATOR)
        pool = self.pool_by_name.get(parent)
        subpool = next((subpool for subpool in pool.subpools if subpool.name == short), None) if pool else None
        return None if pool is None or (short and subpool is None) else (pool, subpool)

    def work_in(self, pool: str, queue: str) -> dict[str, Declared[Any]]:
        """Returns the documents for a leaf queue of a pool, with hand-written PodGroups, by ``Kind/name``, sorted."""
        documents = {
            work_name(x.kind, x.name): x.declared for x in self.submissions if (x.pool.name, x.queue) == (pool, queue)
        }
        cluster = self.pool_by_name[pool].backend if pool in self.pool_by_name else None
        on_cluster = (pod_group for pod_group in self.pod_groups if pod_group.backend == cluster)
        pod_groups = (pod_group for pod_group in on_cluster if pod_group.declared.spec.spec.queue == queue)
        documents |= {work_name("PodGroup", pod_group.name): pod_group.declared for pod_group in pod_groups}
        return {name: documents[name] for name in sorted(documents)}

    def submissions_in(self, paths: Collection[str], reference: str) -> list[Submission]:
        """Returns the work in these files that ``reference`` (a name or KIND/NAME) means, or all if none does."""
        in_files = [submission for submission in self.submissions if submission.declared.origin.path in paths]
        return [each for each in in_files if is_called(each.kind, each.name, reference)] or in_files

    def of_backend(self, name: str) -> Fleet:
        """Returns the part of the fleet for one cluster: its pools and their work."""
        return replace(
            self,
            pools=tuple(pool for pool in self.pools if pool.backend.name == name),
            workflows=tuple(workflow for workflow in self.workflows if workflow.pool.backend.name == name),
            pod_groups=tuple(pod_group for pod_group in self.pod_groups if pod_group.backend.name == name),
            pod_clique_sets=tuple(each for each in self.pod_clique_sets if each.backend and each.backend.name == name),
            workloads=tuple(workload for workload in self.workloads if workload.pool.backend.name == name),
            summaries=tuple(summary for summary in self.summaries if summary.pool.backend.name == name),
        )

    def without(self, submissions: Sequence[Submission]) -> Fleet:
        """Returns the fleet without workflows and workloads that have the kind and name of one of these."""
        names = {work_name(submission.kind, submission.name) for submission in submissions}
        return replace(
            self,
            workflows=tuple(each for each in self.workflows if work_name(each.kind, each.name) not in names),
            workloads=tuple(each for each in self.workloads if work_name(each.kind, each.name) not in names),
        )

    def placed_by(self, topology: FleetTopology) -> Iterator[PlacedWork]:
        """Yields the work that ``topology`` places. The fleet itself may no longer declare the topology."""
        for workflow in self.workflows:
            topology_of_pool, backend = workflow.pool.topology, workflow.pool.backend.name
            is_placed = any(task.resource.requirements for group in workflow.groups for task in group.tasks)
            if topology_of_pool is not None and topology_of_pool.name == topology.name and is_placed:
                location = workflow.declared.at("workflow", "name")
                yield PlacedWork(f"workflow {workflow.name}", backend, workflow.queue, location)
        for workload in self.workloads:
            if topology.name_on(workload.pool.backend) in {placement.topology for placement in workload.placements}:
                kind_and_name, location = f"{workload.kind} {workload.name}", workload.declared.at("metadata", "name")
                yield PlacedWork(kind_and_name, workload.pool.backend.name, workload.queue, location)
        for pod_group in self.pod_groups:
            if topology.name_on(pod_group.backend) in {constraint.topology for constraint, _ in pod_group.constraints}:
                queue, location = pod_group.declared.spec.spec.queue, pod_group.declared.at("metadata", "name")
                yield PlacedWork(f"PodGroup {pod_group.name}", pod_group.backend.name, queue, location)

    def namespaces(self, backend: FleetBackend) -> dict[str, tuple[str, ...]]:
        """Returns the leaf queues of ``backend``, also of ARCHIVED subpools, each with the namespaces of its work."""
        namespaces: dict[str, tuple[str, ...]] = {}
        for pool in self.pools:
            if pool.backend == backend:
                namespaces[pool.shared_queue] = pool.namespaces
                namespaces.update((subpool.queue, subpool.namespaces) for subpool in pool.subpools)
        return namespaces

    def leaf_queues(self, backend: FleetBackend) -> dict[str, str]:
        """Returns the queues of ``backend`` that take workloads, each with its pool or pool--subpool."""
        leaves: dict[str, str] = {}
        for pool in self.pools:
            if pool.backend == backend:
                leaves[pool.shared_queue] = pool.name
                live = (subpool for subpool in pool.subpools if subpool.state != "ARCHIVED")
                leaves.update((subpool.queue, subpool.canonical) for subpool in live)
        return leaves


@dataclass(frozen=True)
class Context:
    """The clusters, topologies and pools that all work of a repository shares, with every reference followed."""

    config: ConfigSpec
    backends: tuple[FleetBackend, ...]
    grove: Grove
    topologies: Mapping[str, FleetTopology]
    """Cluster topologies by name."""
    pools: Mapping[str, FleetPool]
    """Resolved pools, by name, sorted."""
    declared_pools: frozenset[str]
    """Names of all declared pools, resolved or not."""
    shards: tuple[FleetShard, ...]
    """Shards of KAI's scheduler."""
    dangling: tuple[Dangling, ...] = ()


def resolve(repository: Repository) -> Fleet:
    """Returns the fleet that a repository declares. Of two objects with the same name, the first one counts."""
    return resolve_work(repository, resolve_context(repository))


def resolve_context(repository: Repository) -> Context:
    """Resolves the pools, subpools, topologies and settings of a repository."""
    declared = repository.config
    config = declared.spec.spec if declared else DEFAULTS
    if repository.kartas:
        with_kartas = imported("kubectl_tas.model.karta:with_kartas")
        config = with_kartas(config, [karta.spec for karta in repository.kartas])
    backends = tuple(
        resolve_backend(spec, index, declared.at("spec", "backends", index, "scheduler", "type") if declared else None)
        for index, spec in enumerate(config.backends)
    )
    dangling: list[Dangling] = []
    grove = Grove(repository.operators[0] if repository.operators else None)
    topologies = cluster_topologies(repository.topologies, grove)
    pools = resolve_pools(repository, config, backends, topologies, dangling)
    shards = resolve_shards(repository.shards, backends, pools.values())
    return Context(config, backends, grove, topologies, pools, names_of(repository.pools), shards, tuple(dangling))


def resolve_work(repository: Repository, context: Context) -> Fleet:
    """Resolves the work in ``repository`` to a fleet, with all names followed in ``context``."""
    pool_topologies = {x.topology.name: x.topology for x in context.pools.values() if x.topology and x.topology.pool}
    topologies, pools, grove = dict(context.topologies), context.pools, context.grove
    dangling = list(context.dangling)
    declarations = Declarations(
        context.backends, {**topologies, **pool_topologies}, pools, context.declared_pools, dangling
    )
    prefix = context.config.labels_config.pod_label_prefix
    workflows = _without_none(resolve_workflow(workflow, declarations, prefix) for workflow in repository.workflows)
    groups: dict[str, list[Declared[PodGroup]]] = {}
    for pod_group in repository.pod_groups:
        groups.setdefault(pod_group.spec.metadata.name, []).append(pod_group)
    members: dict[str, list[Declared[Any]]] = {}
    for workload in repository.workloads if groups else ():
        if joins(workload.spec, groups):
            members.setdefault(workload.spec.metadata.annotations[labels.POD_GROUP], []).append(workload)
    pod_groups = _without_none(
        resolve_pod_group(each, _members(each, groups, members), declarations) for each in repository.pod_groups
    )
    joined = {id(pod) for group in pod_groups for pod in group.pods}
    sets = [resolve_set(clique_set, declarations, topologies, grove) for clique_set in repository.pod_clique_sets]
    workloads = _without_none(resolve_workload(x, declarations) for x in repository.workloads if id(x) not in joined)
    work = _places(workflows, workloads, pod_groups, sets)
    companions = tuple(resolve_companions(repository.companions, work, declarations))
    workloads = counted(workloads, companions)
    return Fleet(
        repository=repository,
        config=context.config,
        backends=context.backends,
        topologies=(*topologies.values(), *pool_topologies.values()),
        pools=tuple(pools.values()),
        shards=context.shards,
        workflows=tuple(sorted(workflows, key=lambda workflow: workflow.name)),
        pod_groups=tuple(sorted(pod_groups, key=lambda pod_group: (pod_group.namespace, pod_group.name))),
        grove=grove,
        pod_clique_sets=tuple(sorted(sets, key=lambda clique_set: (*clique_set.key, clique_set.declared.origin.path))),
        workloads=join_shared_gangs(sorted(workloads, key=lambda each: (each.name, each.kind, each.namespace))),
        companions=tuple(
            sorted(
                companions,
                key=lambda companion: (companion.kind, companion.name, companion.declared.origin.path),
            )
        ),
        dangling=tuple(dangling),
        not_counted=_not_counted(repository, context, dangling),
    )


def _not_counted(repository: Repository, context: Context, dangling: Sequence[Dangling]) -> tuple[Unread, ...]:
    connected = [pool for pool in context.pools.values() if pool.parent or not pool.declared.spec.spec.parent]
    counted = {id(pool.declared) for pool in connected}
    counted |= {id(subpool.declared) for pool in context.pools.values() for subpool in pool.subpools}
    documents: list[Declared[Any]] = [*repository.pools, *repository.subpools]
    uncounted = [document for document in documents if id(document) not in counted]
    records = {id(subpool) for subpool in _records(repository, context.declared_pools)}
    hidden = [Unread(document.at("metadata", "name")) for document in uncounted if id(document) not in records]
    hidden += [Unread(name.location, is_work=True) for name in dangling if name.what in ("pool", "subpool")]
    return tuple(sorted({*repository.unread, *hidden}, key=lambda document: (document.place, document.is_work)))


def _records(repository: Repository, pools: Collection[str]) -> list[Declared[Subpool]]:
    """Returns the ARCHIVED subpools of removed pools, which have no quota."""
    archived = (subpool for subpool in repository.subpools if subpool.spec.spec.state == "ARCHIVED")
    return [subpool for subpool in archived if subpool.spec.spec.parent not in pools]


def _members(
    group: Declared[PodGroup],
    groups: Mapping[str, Sequence[Declared[PodGroup]]],
    members: Mapping[str, Sequence[Declared[Workload]]],
) -> list[Declared[Workload]]:
    """Returns the Pods that name a PodGroup. If several PodGroups have the name, only Pods of the same file."""
    name = group.spec.metadata.name
    same = groups[name]
    return [pod for pod in members.get(name, ()) if len(same) == 1 or pod.origin.path == group.origin.path]


def _places(
    workflows: Iterable[FleetWorkflow],
    workloads: Iterable[FleetWorkload],
    pod_groups: Iterable[FleetPodGroup],
    sets: Iterable[FleetPodCliqueSet],
) -> Iterator[tuple[str, ClusterNamespace]]:
    """Yields the file, the cluster and the namespace of all work."""
    for submission in (*workflows, *workloads):
        yield submission.declared.origin.path, (submission.pool.backend, submission.namespace)
    for group in pod_groups:
        yield group.declared.origin.path, (group.backend, group.namespace)
    for clique_set in sets:
        if clique_set.backend is not None:
            yield clique_set.declared.origin.path, (clique_set.backend, clique_set.namespace)


def _without_none(resolved: Iterable[T | None]) -> list[T]:
    return [document for document in resolved if document is not None]


def declared_work(repository: Repository) -> Iterator[tuple[str, str, Declared[Any]]]:
    """Yields kind, name and document of all work for queues, resolved or not."""
    for workflow in repository.workflows:
        yield "Workflow", workflow.spec.workflow.name, workflow
    groups = {pod_group.spec.metadata.name: pod_group for pod_group in repository.pod_groups}
    with_pods: dict[str, Declared[Any]] = {}
    for workload in repository.workloads:
        if joins(workload.spec, groups):
            name = workload.spec.metadata.annotations[labels.POD_GROUP]
            with_pods[name] = groups[name]
        else:
            yield workload.spec.kind, workload.spec.metadata.name, workload
    for name, group in with_pods.items():
        yield "PodGroup", name, group
    for clique_set in repository.pod_clique_sets:
        yield clique_set.spec.kind, clique_set.spec.metadata.name, clique_set


def files_of(repository: Repository, reference: str) -> list[str]:
    """Returns the files of all workflows, workloads and PodCliqueSets with the name ``reference``, or KIND/NAME."""
    work = declared_work(repository)
    return [document.origin.path for kind, name, document in work if is_called(kind, name, reference)]


def no_work(fleet: Fleet, submissions: Sequence[Submission], noun: str, reference: str) -> str:
    """Returns the message for a name that none of ``submissions`` has. For a pool or subpool, it lists its work."""
    target = fleet.target(reference)
    if target is None:
        return nothing_called(noun, reference, sorted({submission.name for submission in submissions}))
    pool, subpool = target
    names_of_work = sorted({each.name for each in submissions if each.pool == pool and subpool in (None, each.subpool)})
    called = "subpool" if subpool else "pool"
    return f'no {noun} "{reference}", which is a {called}; of it there is {shortened(names_of_work) or "no work"}'


def replaced(path: str, repository: Repository, *, workflows: bool = False) -> Repository:
    """Returns the repository with the objects of the file at ``path`` instead of others of the same kind and name.

    Workflows are replaced only if ``workflows`` is true, because users may submit the same workflow again.
    """
    fleet = resolve(repository)
    submissions: tuple[Submission, ...] = (*fleet.workloads, *fleet.submitted_sets)
    named = [((work.kind, work.name, work.namespace, work.pool.backend.name), work.declared) for work in submissions]
    new_names = {name for name, document in named if document.origin.path == path}
    replaced_ids = {id(document) for name, document in named if document.origin.path != path and name in new_names}
    workflow_names = {names.fold(each.spec.workflow.name) for each in repository.workflows if each.origin.path == path}
    return replace(
        repository,
        workflows=tuple(
            each
            for each in repository.workflows
            if not workflows or each.origin.path == path or names.fold(each.spec.workflow.name) not in workflow_names
        ),
        workloads=tuple(document for document in repository.workloads if id(document) not in replaced_ids),
        pod_clique_sets=tuple(document for document in repository.pod_clique_sets if id(document) not in replaced_ids),
    )


def is_called(kind: str, name: str, reference: str) -> bool:
    """Whether ``reference`` is the name, or KIND/NAME. Names of workflows are folded."""
    kind_in_reference, _, name_in_reference = reference.rpartition("/")
    is_same = name == name_in_reference or (kind == "Workflow" and names.fold(name) == names.fold(name_in_reference))
    return is_same and kind_in_reference.lower() in ("", kind.lower())
