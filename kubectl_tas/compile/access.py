"""Who may send work to pools and look at it: Roles of the namespaces where it runs, bound to the groups of each pool;
and the policy of the guard that lets those alone use its queues.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from kubectl_tas.compile.cel import any_label_changed, holds, label, listed, looked_up, tables, text, value
from kubectl_tas.compile.metadata import folder, metadata
from kubectl_tas.model import labels
from kubectl_tas.model.artifact import Artifact
from kubectl_tas.model.kindlists import GROVE, POD_GROUPS, WORKLOADS, Phase, group_of
from kubectl_tas.model.podkinds import DeclaredKind, rows
from kubectl_tas.model.policies import (
    ClusterRole,
    ClusterRoleBinding,
    Expression,
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
    Validation,
    Verb,
)
from kubectl_tas.records import dataclass
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
"""Users and groups that make pods of what others have sent: Kubernetes' controllers, KAI, and the operators of the
kinds that are read, where their own manifests install them. What they make pods of is judged when it is sent.
"""
_FOLDER = "access"
_NAMED = r'queue": ?"[-.\w]+'
"""A regular expression of a key that ends with "queue" and its value in the text of an object. Quotes in values are
escaped there, so what follows "queue" without a backslash is the quote that ends a key, and free text is no match.
"""
_NAMED_UNQUOTED = r'queue"?: ?"?[-.\w]+'
"""The same for an API server whose text of objects has no quotes. Then free text may be taken for a key."""
_QUOTE = '"'
_QUOTED = '["a"]'
"""A list of one text, as an API server writes it that has quotes."""
_MOST_NAMED = 1000
"""How often an object may name a queue: an API server takes a minute for some thousands."""
_RoleName = Literal["submit", "view"]
_READ: tuple[Verb, ...] = ("get", "list", "watch")
_WRITE: tuple[Verb, ...] = ("create", "delete", "get", "list", "patch", "update", "watch")
_WITH_WORK = ("configmaps", "persistentvolumeclaims", "services")
"""What work cannot run without, of what stands beside it."""
_PODS = (
    "pods",
    "pods/ephemeralcontainers",
    "pods/resize",
    "replicationcontrollers",
    "replicationcontrollers/status",
)
"""What of the core group is pods, or becomes some. A status may change labels; that of pods is for the guard."""
_OF_PODS = ("events", "pods/log")
"""What tells of pods, and nobody writes."""
_WORKLOADS = tuple((kind, group_of(version)) for kind, (_, versions) in WORKLOADS.items() for version in versions)
_SETS = (("PodCliqueSet", group_of(GROVE)), ("PodGroup", group_of(POD_GROUPS)))
"""Kinds that are read, each with its group."""
_GANGS = "scheduler.grove.io"
"""The group of PodGangs."""


@dataclass(frozen=True, slots=True)
class _Grant:
    """Groups that get a Role in some namespaces."""

    name: str
    """Of the RoleBindings."""
    role: _RoleName
    groups: tuple[str, ...]
    namespaces: tuple[str, ...]
    source: str


def compile_access(fleet: Fleet) -> Iterator[Artifact]:
    """In each namespace the Roles that any pool gives there, and for each pool and subpool who gets them."""
    for backend in fleet.backends:
        grants = tuple(_grants(fleet, backend))
        given = {(namespace, grant.role) for grant in grants for namespace in grant.namespaces}
        for namespace, role in sorted(given):
            where = folder(_FOLDER, backend, namespace)
            name = _role(fleet, backend, role)
            about = metadata(fleet, name, Phase.GUARD, namespace=namespace)
            manifest = Role(metadata=about, rules=tuple(_rules(fleet.config.kinds, backend, role)))
            file = names.file(f"role-{name}")
            yield Artifact(backend.name, Phase.GUARD, where, file, manifest, fleet.settings)
        if grants and backend.is_kai and fleet.config.accessReadsQueues:
            yield from _queue_readers(fleet, backend, grants)
        for grant in grants:
            for namespace in grant.namespaces:
                where = folder(_FOLDER, backend, namespace)
                binding = RoleBinding(
                    metadata=metadata(fleet, grant.name, Phase.GUARD, namespace=namespace),
                    roleRef=RoleRef(name=_role(fleet, backend, grant.role)),
                    subjects=tuple(Subject(name=group) for group in grant.groups),
                )
                file = names.file(f"rolebinding-{grant.name}")
                yield Artifact(backend.name, Phase.GUARD, where, file, binding, grant.source)


def _queue_readers(fleet: Fleet, backend: FleetBackend, grants: tuple[_Grant, ...]) -> Iterator[Artifact]:
    """The ClusterRole that reads Queues, which are in no namespace, for all groups that any pool names."""
    name = names.shorten(f"{fleet.config.queuePrefix}-access-{backend.namespace}-queues", names.MAX_NAME)
    about, where = metadata(fleet, name, Phase.GUARD), _FOLDER
    rule = PolicyRule(apiGroups=("scheduling.run.ai",), resources=("queues",), verbs=_READ)
    groups = dict.fromkeys(group for grant in grants for group in grant.groups)
    binding = ClusterRoleBinding(
        metadata=about,
        roleRef=RoleRef(kind="ClusterRole", name=name),
        subjects=tuple(Subject(name=group) for group in groups),
    )
    for manifest in (ClusterRole(metadata=about, rules=(rule,)), binding):
        file = names.file(f"{manifest.kind.lower()}-{name}")
        yield Artifact(backend.name, Phase.GUARD, where, file, manifest, fleet.settings)


def _role(fleet: Fleet, backend: FleetBackend, role: _RoleName) -> str:
    return names.shorten(f"{fleet.config.queuePrefix}-access-{backend.namespace}-{role}", names.MAX_NAME)


def _grants(fleet: Fleet, backend: FleetBackend) -> Iterator[_Grant]:
    """What pools and subpools give. A subpool gives only what its pool does not: its namespaces are the pool's, too."""
    prefix = fleet.config.queuePrefix
    for pool in (pool for pool in fleet.pools if pool.backend == backend):
        yield from _given(names.pool_queue(prefix, backend.namespace, pool.name), access_to(pool), Allowed(), pool)
        for subpool in (item for item in pool.subpools if item.state != "ARCHIVED"):
            name = names.leaf_queue(prefix, backend.namespace, pool.name, subpool.name)
            yield from _given(name, access_to(pool, subpool), access_to(pool), subpool)


def _given(name: str, access: Allowed, above: Allowed, item: FleetPool | FleetSubpool) -> Iterator[_Grant]:
    """What ``access`` has that ``above`` does not."""
    submit = tuple(group for group in access.submit if group not in above.submit)
    view = tuple(group for group in access.view if group not in above.view)
    parts: tuple[tuple[_RoleName, tuple[str, ...]], ...] = (("submit", submit), ("view", view))
    for role, groups in parts:
        if groups:
            full = names.shorten(f"{name}-{role}", names.MAX_NAME)
            yield _Grant(full, role, groups, item.namespaces, item.declared.origin.path)


def _rules(kinds: Sequence[DeclaredKind], backend: FleetBackend, role: _RoleName) -> Iterator[PolicyRule]:
    """The kinds that are read, by group, with what they need; Secrets and what decides about others' work never."""
    resources: dict[str, set[str]] = {"": {*_WITH_WORK}}
    for kind, group in (*_WORKLOADS, *(_SETS if backend.is_kai else ())):
        resources.setdefault(group, set()).add(f"{kind.lower()}s")
    for row in rows(kinds):
        for version in row.versions:
            resources.setdefault(group_of(version), set()).add(row.resource)
    verbs = _WRITE if role == "submit" else _READ
    for group in sorted(resources):
        yield PolicyRule(apiGroups=(group,), resources=tuple(sorted(resources[group])), verbs=verbs)
    yield PolicyRule(apiGroups=("",), resources=_OF_PODS, verbs=_READ)


def access_policy(fleet: Fleet, backend: FleetBackend, namespaces: tuple[str, ...], name: str) -> PolicySpec | None:
    """Whoever names a queue for which groups are listed, in ``namespaces``, is in one of them, may change the policy of
    this ``name`` itself, or is a controller. None where no queue has any.

    A queue counts as named wherever it stands in the labels or the spec of an object: operators read the labels of pods
    in many places. All kinds are looked at of which a controller that is let through makes pods.
    """
    submitters = _submitters(fleet, backend)
    if not submitters:
        return None
    access = tables("access", [f"{text(queue)}: {listed(groups)}" for queue, groups in submitters.items()], "{}")
    known = " || ".join(holds(table, "q") for table in access)
    may_change = (
        "authorizer.group('admissionregistration.k8s.io').resource('validatingadmissionpolicies')"
        f".name({text(name)}).check('update').allowed()"
    )
    return PolicySpec(
        failurePolicy="Ignore" if fleet.config.guard == "warn" else "Fail",
        matchConstraints=_all_work(fleet.config.kinds, namespaces),
        matchConditions=(
            Expression(name="is-no-controller", expression=_is_no_controller(fleet)),
            Expression(name="is-new-or-changed", expression=_is_new_or_changed()),
        ),
        variables=(
            Expression(name="named", expression=_named()),
            *access,
            Expression(
                name="refused",
                expression=f"variables.named.filter(q, ({known}) && "
                f"!({looked_up(access, '[]', key='q')}).exists(g, g in request.userInfo.groups))",
            ),
            Expression(name="queue", expression="variables.refused.size() == 0 ? '' : variables.refused[0]"),
        ),
        validations=(
            Validation(
                expression=f"variables.queue == '' || {may_change}",
                messageExpression=f"'queue ' + variables.queue + ' is for ' + ({looked_up(access, '[]')}).join(', ') + "
                "'; ' + request.userInfo.username + ' is in no such group'",
                reason="Forbidden",
            ),
            Validation(
                expression=f"variables.named.size() < {_MOST_NAMED} || {may_change}",
                messageExpression=text(f"a queue is named {_MOST_NAMED} times or more"),
                reason="Forbidden",
            ),
            Validation(
                expression=f"object.kind != 'TrainJob' || ({label('object', labels.QUEUE)}) != '' || {may_change}",
                messageExpression="'a TrainJob must name its queue in its own labels: its pods have the labels of its "
                "runtime, which may be of another group'",
                reason="Forbidden",
            ),
        ),
    )


def _submitters(fleet: Fleet, backend: FleetBackend) -> dict[str, tuple[str, ...]]:
    """The leaf queues that are for some groups alone, sorted, with these."""
    found: dict[str, tuple[str, ...]] = {}
    for pool in (pool for pool in fleet.pools if pool.backend == backend):
        found[pool.shared_queue] = access_to(pool).submit
        live = (subpool for subpool in pool.subpools if subpool.state != "ARCHIVED")
        found.update((subpool.queue, access_to(pool, subpool).submit) for subpool in live)
    return {queue: found[queue] for queue in sorted(found) if found[queue]}


def _all_work(kinds: Sequence[DeclaredKind], namespaces: tuple[str, ...]) -> MatchConstraints:
    """All kinds of the groups that are read, and what Kubernetes' own controllers make pods of."""

    def rule(groups: tuple[str, ...], versions: tuple[str, ...], resources: tuple[str, ...]) -> ResourceRule:
        return ResourceRule(
            apiGroups=groups,
            apiVersions=versions,
            operations=("CREATE", "UPDATE"),
            resources=resources,
            scope="Namespaced",
        )

    groups = {_GANGS, *(group for _, group in (*_WORKLOADS, *_SETS))}
    groups |= {group_of(version) for row in rows(kinds) for version in row.versions}
    of_operators = tuple(sorted(groups - {""}))
    within = LabelRequirement(key="kubernetes.io/metadata.name", values=namespaces)
    return MatchConstraints(
        namespaceSelector=LabelSelector(matchExpressions=(within,)),
        resourceRules=(rule(("",), ("v1",), _PODS), rule(of_operators, ("*",), ("*", "*/status"))),
    )


def _is_no_controller(fleet: Fleet) -> str:
    trusted = dict.fromkeys((*CONTROLLERS, *fleet.config.trusted))
    return f"!([request.userInfo.username] + request.userInfo.groups).exists(who, who in {listed(trusted)})"


def _is_new_or_changed() -> str:
    """Who changes the spec of what runs in a queue uses that queue, too."""
    note = (f"({value(item, 'annotations', labels.QUEUE)})" for item in ("object", "oldObject"))
    specs = (_spec(item) for item in ("object", "oldObject"))
    parts = (any_label_changed(), " != ".join(note), " != ".join(specs))
    return f"request.operation == 'CREATE' || {' || '.join(parts)}"


def _named() -> str:
    """The queues that labels and spec name, and the annotation that Grove reads: what stands behind each key that ends
    with "queue", in their text. What the values of other keys hold can neither hide one nor look like one, since quotes
    in them are escaped: ``format`` of cel-go's ext/formatting.go, which Kubernetes has from 1.30 on. Another version of
    it there (formatting_v2.go) has no quotes, so the policy looks which one it is.
    """
    own = "has(object.metadata.labels) ? object.metadata.labels : {}"
    note = value("object", "annotations", labels.QUEUE)
    found = f"'%s'.format([[dyn({own}), dyn({{'queue': {note}}}), dyn({_spec('object')})]])"
    name = f"m.split(':')[1].replace({text(_QUOTE)}, '').trim()"
    pattern = f"'%s'.format([['a']]) == {text(_QUOTED)} ? {text(_NAMED)} : {text(_NAMED_UNQUOTED)}"
    return f"{found}.findAll({pattern}, {_MOST_NAMED}).map(m, {name})"


def _spec(item: str) -> str:
    return f"(has({item}.spec) ? {item}.spec : {{}})"
