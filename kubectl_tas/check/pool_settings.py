"""Checks settings of pools and subpools other than quotas: parents, namespaces, labels, nodes, and access of groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Waiving
from kubectl_tas.base.words import did_you_mean, shortened
from kubectl_tas.check.node_labels import node_label
from kubectl_tas.check.object_names import label_problems
from kubectl_tas.check.versions import unsupported, without_kai
from kubectl_tas.check.workflow_fields import LABEL_RESERVED
from kubectl_tas.facts.kai import Feature
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.labels import MAX_LABEL, NODE_POOL, POOL, setter
from kubectl_tas.model.pool_kinds import Pool, QueueMeta, Subpool
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.handwritten import FleetPodGroup
from kubectl_tas.resolve.podcliqueset import SubmittedSet
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool, Target, circles
from kubectl_tas.resolve.workflows import FleetWorkflow

if TYPE_CHECKING:
    from kubectl_tas.model.platform import Toleration

PARENT_INVALID = Rule.error(
    "parent-invalid",
    "The parent of a pool is itself, below it, or in another cluster or shard.",
    "KAI drops a queue whose parent it does not see, with all queues below it, and their work stays Pending for ever. "
    "KAI would follow a circle of queues without end. Name a pool of the same backend and nodePool, or leave "
    "spec.parent out for a pool at the top.",
)
NAMESPACE_WIDENED = Rule.error(
    "namespace-widened",
    "A subpool lists a namespace that its pool does not have.",
    "The namespaces of a pool limit where its work may run, and the guard lets its queues take work from them. A "
    "subpool may only narrow this. Remove the namespace, or add it to spec.namespaces of the pool.",
    protects=Waiving.CONFIG,
)
NAMESPACE_REPEATED = Rule.error(
    "namespace-repeated",
    "A pool or subpool lists a namespace twice.",
    "Work that names no namespace runs in the first of the list, so the order counts. You most likely meant another "
    "second one. Correct or remove it.",
)
NAMESPACE_UNCLEAR = Rule.error(
    "namespace-unclear",
    "Work names no namespace, and would run in that of another team.",
    "The pool has several namespaces, and a subpool lists the first of them as its own. Work of the pool itself, or of "
    "a subpool without namespaces, would run there, next to the Secrets and volumes of that team. Write "
    "metadata.namespace, or list spec.namespaces of the subpool. For the pool's own work, let spec.namespaces of the "
    "pool begin with another one.",
)
NAMESPACE_OF_SYSTEM = Rule.error(
    "namespace-of-system",
    "Work would run in a namespace of Kubernetes or KAI.",
    "A user who may create pods in kube-system can become administrator of the cluster: its service accounts may do "
    "everything that Kubernetes' own components do. The Roles of spec.access would open it to a team. Everybody may "
    "read kube-public, and kube-node-lease holds what nodes report. KAI runs in its own namespaces, and reserves GPUs "
    "there. Use a namespace for work.",
    protects=Waiving.CONFIG,
)
SYSTEM_NAMESPACES = {
    **dict.fromkeys(("kube-system", "kube-public", "kube-node-lease"), "Kubernetes"),
    **dict.fromkeys(("kai-scheduler", "kai-resource-reservation", "kai-scale-adjust"), "KAI"),
}
"""Kubernetes 1.35, "Initial namespaces"; KAI 0.17, deployments/kai-scheduler/values.yaml and pkg/common/constants."""
TOLERATION_INVALID = Rule.error(
    "toleration-invalid",
    "A toleration has fields that do not go together.",
    "The API server refuses every pod with such a toleration. Exists takes no value, and only Exists works without a "
    "key. tolerationSeconds limits how long a pod tolerates a taint with effect NoExecute.",
)
ACCESS_EVERYBODY = Rule.error(
    "access-everybody",
    "The access of a pool names a group that everybody is in.",
    "system:authenticated is every user and every service account of a cluster. system:serviceaccounts is every "
    "service account. system:unauthenticated is everybody who reaches the API server. A Role for one of them opens the "
    "namespaces of the pool to all. Name the groups that you mean. To open the queue to everybody who may create work, "
    "leave spec.access.submit out.",
    protects=Waiving.CONFIG,
)
ACCESS_NOBODY = Rule.error(
    "access-nobody",
    "The access of a pool names a user or a pattern, not a group.",
    "The API server compares groups literally: nobody is in a group called * or system:serviceaccount:ci:deployer. The "
    "Role would be bound to no one, and the guard would refuse the people you meant. The service accounts of a "
    "namespace are the group system:serviceaccounts:NAMESPACE. To open the queue to everybody who may create work, "
    "leave spec.access.submit out.",
)
ACCESS_REPEATED = Rule.warning(
    "access-repeated",
    "The access of a pool or subpool names a group twice.",
    "You most likely meant another group. A group that may submit may view, too. Correct or remove the second one.",
)
ACCESS_UNGUARDED = Rule.warning(
    "access-unguarded",
    "Pools name groups that may submit, but nothing keeps others out.",
    "Roles decide who may create work in a namespace. KAI does not check who names a queue: anybody who may create a "
    "Pod, in any namespace, may use any queue. spec.guard of the Config adds the policies that refuse this.",
    protects=Waiving.CONFIG,
)
_EVERYBODY = {
    "system:authenticated": "every user and every service account is in it",
    "system:serviceaccounts": "every service account of the cluster is in it",
    "system:unauthenticated": "whoever reaches the API server is in it",
}


def check_departments(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the parent of every pool that names an existing parent."""
    declared: dict[str, Declared[Pool]] = {}
    for pool_document in fleet.repository.pools:
        declared.setdefault(pool_document.spec.metadata.name, pool_document)
    circular: set[str] = set()
    for circle in circles(declared):
        circular.update(circle)
        yield _circle([declared[name] for name in circle])
    for pool in fleet.pools:
        parent_name = pool.declared.spec.spec.parent
        parent = fleet.pool_by_name.get(parent_name) if parent_name is not None and pool.name not in circular else None
        if parent is not None:
            yield from _misplaced(pool, parent)


def _circle(pools: list[Declared[Pool]]) -> Diagnostic:
    """Reports one finding for all pools in a circle of parents."""
    first_pool, *other_pools = pools
    names = [pool.spec.metadata.name for pool in pools]
    way = " -> ".join([*names, names[0]])
    message = f"pool {names[0]} is its own parent" if not other_pools else f"the parents of pools form a circle: {way}"
    related = tuple(Related("also in the circle", pool.at("spec", "parent")) for pool in other_pools)
    hint = "Remove spec.parent of the pool that should be at the top."
    return Diagnostic(PARENT_INVALID, message, first_pool.at("spec", "parent"), related, hint=hint)


def _misplaced(pool: FleetPool, parent: FleetPool) -> Iterator[Diagnostic]:
    """Reports a parent below which KAI cannot place the pool."""
    location, backend = pool.declared.at("spec", "parent"), pool.backend
    related = (Related(f"pool {parent.name}", parent.declared.at("metadata", "name")),)
    if parent.backend != backend:
        message = f"pool {pool.name} is on backend {backend.name}, its parent {parent.name} on {parent.backend.name}"
        hint = f"Name a pool of backend {backend.name}."
        yield Diagnostic(PARENT_INVALID, message, location, related, hint=hint)
    elif not backend.is_kai:
        yield without_kai(backend, "parent", location)
    elif backend.release is not None and not backend.has(Feature.DEEP_QUEUES):
        yield unsupported(backend, Feature.DEEP_QUEUES, "a pool with a parent", location)
    elif parent.declared.spec.spec.nodePool != pool.declared.spec.spec.nodePool:
        node_pool, parent_node_pool = (p.declared.spec.spec.nodePool or "none" for p in (pool, parent))
        message = (
            f"pool {pool.name} has nodePool {node_pool}, its parent {parent.name} has {parent_node_pool}: "
            "no shard sees both queues"
        )
        yield Diagnostic(PARENT_INVALID, message, location, related, hint="Write the same nodePool for both.")


def check_namespaces(document: Declared[Pool] | Declared[Subpool], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the namespaces of a pool or subpool, whether its parent exists or not."""
    namespaces = document.spec.spec.namespaces
    for index, name in enumerate(namespaces):
        location = document.at("spec", "namespaces", index)
        if name in namespaces[:index]:
            message = f'the namespace "{name}" is listed twice'
            related = (Related("listed here", document.at("spec", "namespaces", namespaces.index(name))),)
            yield Diagnostic(NAMESPACE_REPEATED, message, location, related, hint="Remove one of the two.")
        else:
            yield from label_problems("namespace", name, location, limit=MAX_LABEL)
            yield from _of_system(name, location)


def check_backend_namespace(backend: FleetBackend, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the namespace of a backend, if any pool uses it."""
    config = fleet.repository.config
    users = (pool for pool in fleet.pools if pool.backend == backend and not pool.declared.spec.spec.namespaces)
    if config is not None and any(users):
        yield from _of_system(backend.namespace, config.at("spec", "backends", backend.index, "namespace"))


def check_subpool_namespaces(pool: FleetPool, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks that the subpools of a pool name only its namespaces."""
    for subpool in pool.subpools:
        for index, name in enumerate(subpool.declared.spec.spec.namespaces):
            if name not in pool.namespaces:
                allowed = " or ".join(pool.namespaces)
                message = f"work of pool {pool.name} runs in {allowed}, so its subpool cannot have it run in"
                default_hint = f"Remove it, or add it to spec.namespaces of pool {pool.name}."
                location = subpool.declared.at("spec", "namespaces", index)
                hint = did_you_mean(name, pool.namespaces, default_hint)
                yield Diagnostic(NAMESPACE_WIDENED, f'{message} "{name}"', location, hint=hint)


def check_queue_labels(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the labels and annotations that files give to queues."""
    repository, queue_metadata = fleet.repository, list[tuple[Declared[Any], KeyPath, QueueMeta]]()
    if repository.config is not None:
        for index, backend in enumerate(repository.config.spec.spec.backends):
            if isinstance(backend.rootQueue, QueueMeta):
                queue_metadata.append((repository.config, ("spec", "backends", index, "rootQueue"), backend.rootQueue))
    for pool in repository.pools:
        queue_metadata += (
            (pool, ("spec", "queue"), pool.spec.spec.queue),
            (pool, ("spec", "sharedQueue"), pool.spec.spec.sharedQueue),
        )
    queue_metadata += ((subpool, ("spec", "queue"), subpool.spec.spec.queue) for subpool in repository.subpools)
    for declared, path, queue in queue_metadata:
        for field, keys in (("labels", queue.labels), ("annotations", queue.annotations)):
            for key in keys:
                if (tool := setter(key)) is not None:
                    location = declared.at_key(*path, field, key)
                    message = f'the {field[:-1]} "{key}" is set by {tool}'
                    hint = "Remove it."
                    if key == NODE_POOL:
                        hint = "Remove it, and name the shard in spec.nodePool of the pool."
                    yield Diagnostic(LABEL_RESERVED, message, location, hint=hint)


def check_default_namespace(work: FleetWorkflow | FleetWorkload | SubmittedSet, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds work without a namespace whose default namespace belongs to a subpool."""
    if work.own_namespace is None and (owner := _owner_of_default(work.pool, work.subpool)):
        yield _unclear((work.pool, work.subpool), owner, work.kind, work.name, work.place)


def check_default_namespace_of_group(group: FleetPodGroup, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds a PodGroup without a namespace whose default namespace belongs to a subpool."""
    if group.pool is not None and group.declared.spec.metadata.namespace is None:
        owner = _owner_of_default(group.pool, group.subpool)
        if owner is not None:
            location = group.declared.at("spec", "queue")
            yield _unclear((group.pool, group.subpool), owner, "PodGroup", group.name, location)


def check_default_namespace_of_companion(companion: FleetCompanion, fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds a companion without a namespace whose default namespace belongs to a subpool."""
    metadata = companion.declared.spec.metadata
    target = fleet.target(metadata.labels.get(POOL, "")) if metadata.namespace is None else None
    if target is not None and (owner := _owner_of_default(*target)):
        yield _unclear(target, owner, companion.kind, companion.name, companion.place)


def _unclear(target: Target, owner: FleetSubpool, kind: str, name: str, location: Location) -> Diagnostic:
    pool, subpool = target
    message = (
        f'{kind} {name} names no namespace: it would run in "{pool.namespaces[0]}", '
        f"which subpool {owner.canonical} lists as its own"
    )
    related = (Related("listed here", owner.declared.at("spec", "namespaces")),)
    remedy = f"list spec.namespaces of subpool {subpool.canonical}" if subpool else ""
    remedy = remedy or f"let spec.namespaces of pool {pool.name} begin with one for the pool's own work"
    hint = f"Write metadata.namespace, or {remedy}" if kind != "Workflow" else remedy[0].upper() + remedy[1:]
    hint += f"; pool {pool.name} has {shortened(pool.namespaces)}."
    return Diagnostic(NAMESPACE_UNCLEAR, message, location, related, hint=hint)


def _owner_of_default(pool: FleetPool, subpool: FleetSubpool | None) -> FleetSubpool | None:
    """Returns the subpool that lists the default namespace of work as its own; None if no other subpool does."""
    if len(pool.namespaces) == 1 or (subpool is not None and subpool.declared.spec.spec.namespaces):
        return None
    default = pool.namespaces[0]
    live = (live_subpool for live_subpool in pool.subpools if live_subpool.state != "ARCHIVED")
    return next((live_subpool for live_subpool in live if default in live_subpool.declared.spec.spec.namespaces), None)


def _of_system(name: str, location: Location) -> Iterator[Diagnostic]:
    if name in SYSTEM_NAMESPACES:
        message = f'the namespace "{name}" belongs to {SYSTEM_NAMESPACES[name]}: work must not run there'
        yield Diagnostic(NAMESPACE_OF_SYSTEM, message, location, hint="Use a namespace for work, such as ml.")


def check_nodes(pool: Declared[Pool], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the node selector and the tolerations of a pool."""
    for label in pool.spec.spec.nodes.selector:
        yield from node_label(pool.origin, ("spec", "nodes", "selector", label), label)
    for index, toleration in enumerate(pool.spec.spec.nodes.tolerations):
        for field, message, hint in _tolerations(toleration):
            path = ("spec", "nodes", "tolerations", index, *((field,) if field else ()))
            yield Diagnostic(TOLERATION_INVALID, message, pool.at(*path), hint=hint)


def _tolerations(toleration: Toleration) -> Iterator[tuple[str, str, str]]:
    """Yields the field (or ""), message and hint for each error in a toleration. Follows ValidateTolerations of
    Kubernetes 1.35 (pkg/apis/core/validation/validation.go).
    """
    if toleration.key is None and toleration.operator != "Exists":
        yield "", "a toleration without a key needs operator: Exists", "Name the key of the taint, or write Exists."
    if toleration.operator == "Exists" and toleration.value:
        hint = "Remove the value, or write operator: Equal."
        yield "value", f'operator Exists compares no value, but "{toleration.value}" is given', hint
    if toleration.tolerationSeconds is not None and toleration.effect != "NoExecute":
        yield "tolerationSeconds", "tolerationSeconds needs effect: NoExecute", "Write effect: NoExecute, or remove it."


def check_access(document: Declared[Pool] | Declared[Subpool], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the groups in the access of a pool or subpool, whether its parent exists or not."""
    access = document.spec.spec.access
    first_locations: dict[str, Location] = {}
    for field, groups in (("submit", access.submit), ("view", access.view)):
        for index, group in enumerate(groups):
            location = document.at("spec", "access", field, index)
            if group in _EVERYBODY:
                message = f'"{group}" is no group of a team: {_EVERYBODY[group]}'
                yield Diagnostic(ACCESS_EVERYBODY, message, location, hint="Name the groups that the pool is for.")
            elif (wrong := _no_group(group)) is not None:
                message, hint = wrong
                yield Diagnostic(ACCESS_NOBODY, f'"{group}" is {message}', location, hint=hint)
            elif group in first_locations:
                problem = (
                    "may submit already, and so may view"
                    if (field == "view" and group in access.submit)
                    else "is listed twice"
                )
                related = (Related("listed here", first_locations[group]),)
                yield Diagnostic(
                    ACCESS_REPEATED, f'the group "{group}" {problem}', location, related, hint="Remove one of the two."
                )
            first_locations.setdefault(group, location)


def _no_group(name: str) -> tuple[str, str] | None:
    """Returns why a name cannot be a group, and what to write instead; None if it may be a group."""
    if name == "*":
        return "no group, and no pattern either", "Name the groups; or leave the list out where all may."
    if name.startswith("system:serviceaccount:"):
        group = f"system:serviceaccounts:{name.split(':')[2]}".rstrip(":")
        return "a user, not a group", f"Name the group {group}."
    return None


def check_guarded_access(fleet: Fleet) -> Iterator[Diagnostic]:
    """Reports one finding at the first pool that restricts submission, because only the Config needs to change."""
    if fleet.config.guard:
        return
    closed: list[Location] = []
    for pool in (pool for pool in fleet.pools if pool.backend.is_kai):
        live = (subpool.declared for subpool in pool.subpools if subpool.state != "ARCHIVED")
        documents: tuple[Declared[Pool] | Declared[Subpool], ...] = (pool.declared, *live)
        closed += (d.at("spec", "access", "submit") for d in documents if d.spec.spec.access.submit)
    if closed:
        message = "spec.guard is off, so groups that access does not name can use this queue too"
        hint = "Set spec.guard of the Config to warn, and to enforce once nothing is reported."
        related = tuple(Related("and here", location) for location in closed[1:3])
        yield Diagnostic(ACCESS_UNGUARDED, message, closed[0], related, hint=hint)
