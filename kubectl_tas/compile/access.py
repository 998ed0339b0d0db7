"""Makes the Roles and RoleBindings that let the groups of a pool send and view work in its namespaces. Also makes the
guard's policy that opens the queues of the pool only to these groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from kubectl_tas.base.late import dataclass
from kubectl_tas.compile.cel import (
    any_label_changed,
    holds,
    label,
    let,
    listed,
    looked_up,
    refuse_unless,
    tables,
    text,
    value,
)
from kubectl_tas.compile.metadata import folder, metadata
from kubectl_tas.kinds import SET, pages
from kubectl_tas.model import labels
from kubectl_tas.model.artifact import Artifact
from kubectl_tas.model.kindlists import GROVE, POD_GROUPS, Phase, group_of
from kubectl_tas.model.labels import MAX_NAME
from kubectl_tas.model.podkinds import DeclaredKind, every_page
from kubectl_tas.model.policies import (
    ClusterRole,
    ClusterRoleBinding,
    LabelRequirement,
    LabelSelector,
    MatchConstraints,
    PolicyRule,
    PolicySpec,
    ResourceRule,
    Role,
    RoleBinding,
    RoleRef,
    Subject,
    Verb,
)
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import Allowed, FleetPool, FleetSubpool, access_to

CONTROLLERS = (
    "system:kube-controller-manager",
    "system:serviceaccounts:kube-system",
    "system:serviceaccounts:kai-scheduler",
    "system:serviceaccounts:grove-system",
    "system:serviceaccounts:jobset-system",
    "system:serviceaccounts:kubeflow-system",
    "system:serviceaccounts:lws-system",
    "system:serviceaccounts:mpi-operator",
    "system:serviceaccounts:ray-system",
    "system:serviceaccount:kubeflow:notebook-controller-service-account",
    "system:serviceaccount:kubeflow:training-operator",
)
"""Users and groups that make pods for the work of others: Kubernetes' controllers, KAI, and the operators of known
kinds with the names in their own manifests. The guard judges such work when its author sends it.
"""
_FOLDER = "access"
_NAMED = r'queue": ?"[-.\w]+'
"""A regular expression for a key that ends with "queue" and its value, in the text of an object. Quotes in values are
escaped there. So a quote directly after "queue" ends a key, and free text never matches.
"""
_NAMED_UNQUOTED = r'queue"?: ?"?[-.\w]+'
"""Like ``_NAMED``, for an API server whose text of objects has no quotes. There, free text may look like a key."""
_QUOTE = '"'
_QUOTED = '["a"]'
"""A list of one text, as written by an API server that uses quotes."""
_MOST_NAMED = 1000
"""Maximum number of queue names in an object. An API server needs a minute for a few thousand."""
_RoleName = Literal["submit", "view"]
_READ: tuple[Verb, ...] = ("get", "list", "watch")
_WRITE: tuple[Verb, ...] = ("create", "delete", "get", "list", "patch", "update", "watch")
_WITH_WORK = ("configmaps", "persistentvolumeclaims", "services")
"""Companions that work needs to run."""
_PODS = (
    "pods",
    "pods/ephemeralcontainers",
    "pods/resize",
    "replicationcontrollers",
    "replicationcontrollers/status",
)
"""Resources of the core group that are pods or make pods. A status may change labels; the guard covers pods' status."""
_OF_PODS = ("events", "pods/log")
"""Read-only resources about pods."""
_SETS = ((SET.kind, group_of(GROVE)), ("PodGroup", group_of(POD_GROUPS)))
"""Known kinds, each with its group."""
_GANGS = "scheduler.grove.io"
"""The API group of PodGangs."""


@dataclass(frozen=True, slots=True)
class _Grant:
    """Groups that get a Role in some namespaces."""

    name: str
    """Name of the RoleBindings."""
    role: _RoleName
    groups: tuple[str, ...]
    namespaces: tuple[str, ...]
    source: str


def compile_access(fleet: Fleet) -> Iterator[Artifact]:
    """Yields the Roles for each namespace, and RoleBindings to the groups of each pool and subpool."""
    for backend in fleet.backends:
        grants = tuple(_grants(fleet, backend))
        roles = {(namespace, grant.role) for grant in grants for namespace in grant.namespaces}
        for namespace, role in sorted(roles):
            where = folder(_FOLDER, backend, namespace)
            name = _role(fleet, backend, role)
            meta = metadata(fleet, name, Phase.GUARD, namespace=namespace)
            manifest = Role(metadata=meta, rules=tuple(_rules(fleet.config.kinds, backend, role)))
            file = names.file(f"role-{name}")
            yield Artifact(backend.name, Phase.GUARD, where, file, manifest, fleet.settings_source)
        if grants and backend.is_kai and fleet.config.accessReadsQueues:
            yield from _queue_readers(fleet, backend, grants)
        for grant in grants:
            for namespace in grant.namespaces:
                where = folder(_FOLDER, backend, namespace)
                meta = metadata(fleet, grant.name, Phase.GUARD, namespace=namespace)
                subjects = tuple(Subject(name=group) for group in grant.groups)
                reference = RoleRef(name=_role(fleet, backend, grant.role))
                binding = RoleBinding(metadata=meta, roleRef=reference, subjects=subjects)
                file = names.file(f"rolebinding-{grant.name}")
                yield Artifact(backend.name, Phase.GUARD, where, file, binding, grant.source)


def _queue_readers(fleet: Fleet, backend: FleetBackend, grants: tuple[_Grant, ...]) -> Iterator[Artifact]:
    """Yields the ClusterRole that reads Queues, which have no namespace, and binds it to all groups of all pools."""
    name = names.shorten(f"{fleet.config.queuePrefix}-access-{backend.namespace}-queues", MAX_NAME)
    meta, where = metadata(fleet, name, Phase.GUARD), _FOLDER
    rule = PolicyRule(apiGroups=("scheduling.run.ai",), resources=("queues",), verbs=_READ)
    groups = dict.fromkeys(group for grant in grants for group in grant.groups)
    binding = ClusterRoleBinding(
        metadata=meta,
        roleRef=RoleRef(kind="ClusterRole", name=name),
        subjects=tuple(Subject(name=group) for group in groups),
    )
    for manifest in (ClusterRole(metadata=meta, rules=(rule,)), binding):
        file = names.file(f"{manifest.kind.lower()}-{name}")
        yield Artifact(backend.name, Phase.GUARD, where, file, manifest, fleet.settings_source)


def _role(fleet: Fleet, backend: FleetBackend, role: _RoleName) -> str:
    return names.shorten(f"{fleet.config.queuePrefix}-access-{backend.namespace}-{role}", MAX_NAME)


def _grants(fleet: Fleet, backend: FleetBackend) -> Iterator[_Grant]:
    """Yields the grants. A subpool grants only what its pool does not, because its namespaces are the pool's too."""
    prefix = fleet.config.queuePrefix
    for pool in (pool for pool in fleet.pools if pool.backend == backend):
        yield from _given(names.pool_queue(prefix, backend.namespace, pool.name), access_to(pool), Allowed(), pool)
        for subpool in (subpool for subpool in pool.subpools if subpool.state != "ARCHIVED"):
            name = names.leaf_queue(prefix, backend.namespace, pool.name, subpool.name)
            yield from _given(name, access_to(pool, subpool), access_to(pool), subpool)


def _given(name: str, access: Allowed, above: Allowed, target: FleetPool | FleetSubpool) -> Iterator[_Grant]:
    """Yields the grants in ``access`` that ``above`` lacks."""
    submit = tuple(group for group in access.submit if group not in above.submit)
    view = tuple(group for group in access.view if group not in above.view)
    groups_by_role: tuple[tuple[_RoleName, tuple[str, ...]], ...] = (("submit", submit), ("view", view))
    for role, groups in groups_by_role:
        if groups:
            full = names.shorten(f"{name}-{role}", MAX_NAME)
            yield _Grant(full, role, groups, target.namespaces, target.declared.origin.path)


def _rules(kinds: Sequence[DeclaredKind], backend: FleetBackend, role: _RoleName) -> Iterator[PolicyRule]:
    """Yields rules for the known kinds by group; never for Secrets or for objects that decide about others' work."""
    resources: dict[str, set[str]] = {"": {*_WITH_WORK}}
    for kind, group in _SETS if backend.is_kai else ():
        resources.setdefault(group, set()).add(f"{kind.lower()}s")
    for page in every_page(kinds):
        for group in page.recognition.groups:
            resources.setdefault(group, set()).add(page.recognition.resource)
    verbs = _WRITE if role == "submit" else _READ
    for group in sorted(resources):
        yield PolicyRule(apiGroups=(group,), resources=tuple(sorted(resources[group])), verbs=verbs)
    yield PolicyRule(apiGroups=("",), resources=_OF_PODS, verbs=_READ)


def access_policy(fleet: Fleet, backend: FleetBackend, namespaces: tuple[str, ...], name: str) -> PolicySpec | None:
    """Returns the policy ``name`` for ``namespaces``; None if no queue lists groups. Whoever names a queue with groups
    must be in one of these groups, be allowed to update this policy, or be a controller.

    A queue counts as named anywhere in the labels or the spec of an object, because operators read pod labels in many
    places. The policy covers all kinds from which a trusted controller makes pods.
    """
    submitters = _submitters(fleet, backend)
    if not submitters:
        return None
    access = tables("access", [f"{text(queue)}: {listed(groups)}" for queue, groups in submitters.items()], "{}")
    is_listed = " || ".join(holds(table, "q") for table in access)
    may_change = may_change_policy(name)
    trusted = dict.fromkeys((*CONTROLLERS, *fleet.config.trusted))
    # Whoever changes the spec of work in a queue also uses the queue.
    notes = (f"({value(variable, 'annotations', labels.QUEUE)})" for variable in ("object", "oldObject"))
    changes = (any_label_changed(), " != ".join(notes), " != ".join(map(_spec, ("object", "oldObject"))))
    return PolicySpec(
        failurePolicy="Ignore" if fleet.config.guard == "warn" else "Fail",
        matchConstraints=_all_work(fleet.config.kinds, namespaces),
        matchConditions=(
            let(
                "is-no-controller",
                f"!([request.userInfo.username] + request.userInfo.groups).exists(who, who in {listed(trusted)})",
            ),
            let("is-new-or-changed", f"request.operation == 'CREATE' || {' || '.join(changes)}"),
        ),
        variables=(
            let("named", _named()),
            *access,
            let(
                "refused",
                f"variables.named.filter(q, ({is_listed}) && "
                f"!({looked_up(access, '[]', key='q')}).exists(g, g in request.userInfo.groups))",
            ),
            let("queue", "variables.refused.size() == 0 ? '' : variables.refused[0]"),
        ),
        validations=(
            refuse_unless(
                f"variables.queue == '' || {may_change}",
                f"'queue ' + variables.queue + ' is for ' + ({looked_up(access, '[]')}).join(', ') + "
                "'; ' + request.userInfo.username + ' is in no such group'",
            ),
            refuse_unless(
                f"variables.named.size() < {_MOST_NAMED} || {may_change}",
                text(f"a queue is named {_MOST_NAMED} times or more"),
            ),
            *(
                refuse_unless(
                    f"object.kind != '{kind}' || ({label('object', labels.QUEUE)}) != '' || {may_change}",
                    f"'a {kind} must name its queue in its own labels: its pods have the labels of "
                    "its runtime, which may be of another group'",
                )
                for kind in (page.recognition.kind for page in pages() if page.gang.templates_elsewhere)
            ),
        ),
    )


def may_change_policy(name: str) -> str:
    """Returns CEL for: whoever sends the request may update the policy ``name``."""
    policies = "authorizer.group('admissionregistration.k8s.io').resource('validatingadmissionpolicies')"
    return f"{policies}.name({text(name)}).check('update').allowed()"


def _submitters(fleet: Fleet, backend: FleetBackend) -> dict[str, tuple[str, ...]]:
    """Returns the leaf queues that only some groups may use, sorted, with these groups."""
    submitters: dict[str, tuple[str, ...]] = {}
    for pool in (pool for pool in fleet.pools if pool.backend == backend):
        submitters[pool.shared_queue] = access_to(pool).submit
        live = (subpool for subpool in pool.subpools if subpool.state != "ARCHIVED")
        submitters.update((subpool.queue, access_to(pool, subpool).submit) for subpool in live)
    return {queue: submitters[queue] for queue in sorted(submitters) if submitters[queue]}


def _all_work(kinds: Sequence[DeclaredKind], namespaces: tuple[str, ...]) -> MatchConstraints:
    """Returns rules for all kinds in known API groups, and for kinds from which Kubernetes' controllers make pods."""

    def rule(groups: tuple[str, ...], versions: tuple[str, ...], resources: tuple[str, ...]) -> ResourceRule:
        return ResourceRule(
            apiGroups=groups,
            apiVersions=versions,
            operations=("CREATE", "UPDATE"),
            resources=resources,
            scope="Namespaced",
        )

    groups = {_GANGS, *(group for _, group in _SETS)}
    groups |= {group for page in every_page(kinds) for group in page.recognition.groups}
    of_operators = tuple(sorted(groups - {""}))
    within = LabelRequirement(key="kubernetes.io/metadata.name", values=namespaces)
    return MatchConstraints(
        namespaceSelector=LabelSelector(matchExpressions=(within,)),
        resourceRules=(rule(("",), ("v1",), _PODS), rule(of_operators, ("*",), ("*", "*/status"))),
    )


def _named() -> str:
    """Returns CEL for the queues that labels, spec and Grove's annotation name: all values of keys ending in "queue".
    The CEL searches the object's text. Other values cannot hide or imitate a key, because ``format`` (cel-go's
    ext/formatting.go, Kubernetes 1.30 and later) escapes their quotes. Another version (formatting_v2.go) writes no
    quotes, so the policy tests which version runs.
    """
    object_labels = "has(object.metadata.labels) ? object.metadata.labels : {}"
    note = value("object", "annotations", labels.QUEUE)
    object_text = f"'%s'.format([[dyn({object_labels}), dyn({{'queue': {note}}}), dyn({_spec('object')})]])"
    name = f"m.split(':')[1].replace({text(_QUOTE)}, '').trim()"
    pattern = f"'%s'.format([['a']]) == {text(_QUOTED)} ? {text(_NAMED)} : {text(_NAMED_UNQUOTED)}"
    return f"{object_text}.findAll({pattern}, {_MOST_NAMED}).map(m, {name})"


def _spec(variable: str) -> str:
    return f"(has({variable}.spec) ? {variable}.spec : {{}})"
