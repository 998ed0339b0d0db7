"""Makes the guard: admission policies that refuse work which bypasses the repository.

KAI checks neither that a queue is a leaf of a declared pool, nor that a subpool still takes work, nor who joins a gang.
It leaves work that can never run Pending, without a message. A PodGroup does not say what it requests. So the policies
check quotas on Pods that are created, resized or join a PodGroup. docs/guard.md lists what the guard refuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from kubectl_tas.base.late import dataclass
from kubectl_tas.compile import cel
from kubectl_tas.compile.access import access_policy, may_change_policy
from kubectl_tas.compile.metadata import metadata
from kubectl_tas.facts import gpus
from kubectl_tas.facts.device_runtimes import MOUNTS, cel_variables
from kubectl_tas.facts.kai import NON_PREEMPTIBLE_FROM, PRIORITY_CLASSES
from kubectl_tas.facts.quantities import NO_LIMIT, NOTHING, OTHERS, UNITS, Amounts, ResourceName, larger
from kubectl_tas.kinds.backdoors import GPU_GROUP
from kubectl_tas.kinds.deployment import OWNER
from kubectl_tas.model import labels
from kubectl_tas.model.artifact import Artifact
from kubectl_tas.model.config import PRIORITY_VALUES
from kubectl_tas.model.kindlists import Phase
from kubectl_tas.model.policies import (
    Action,
    BindingSpec,
    Expression,
    LabelRequirement,
    LabelSelector,
    MatchConstraints,
    ParamKind,
    ParamRef,
    PolicySpec,
    ResourceRule,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    Validation,
)
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet

_POD_GROUPS = ("scheduling.run.ai", "v2alpha2", "PodGroup")
_FOLDER = "guard"
_NAMESPACE = "kubernetes.io/metadata.name"
_POD_GROUP = cel.value("object", "annotations", labels.POD_GROUP)
"""CEL for the PodGroup that a pod names."""


@dataclass(frozen=True, slots=True)
class _Guarded:
    """A cluster, and the parts that its policies share."""

    fleet: Fleet
    backend: FleetBackend
    namespaces: tuple[str, ...]
    """Namespaces in which work of its pools may run."""
    places: tuple[Expression, ...]
    """Tables of leaf queues with the namespaces of their work. Empty if all leaf queues have the same namespaces."""
    classes: dict[str, int]
    """Known PriorityClasses, with their values."""
    leaves: tuple[Expression, ...]
    """Tables of the leaf queues that take work, with their quota in GPUs, or a list with the quotas of
    ``other_resources`` too. -1 means no limit.
    """
    other_resources: tuple[ResourceName, ...]
    """Of cpu (in millicores) and memory (in bytes), the resources for which a leaf queue has a quota."""
    draining: tuple[Expression, ...]
    """Lists of the draining leaf queues."""
    over_quota: tuple[Expression, ...]
    """Tables of the leaf queues with work in overQuota. Keys are the beginnings of names as in ``_owners``; values are
    amounts in the form of ``leaves``. Empty if nothing is listed.
    """

    @property
    def failure_policy(self) -> Literal["Fail", "Ignore"]:
        """Returns Fail, so that work that cannot be judged is refused; Ignore if the guard only warns."""
        return "Ignore" if self.fleet.config.guard == "warn" else "Fail"


def compile_guards(fleet: Fleet) -> Iterator[Artifact]:
    """Yields the policies and their bindings for every KAI backend with pools."""
    if not fleet.config.guard:
        return
    for backend in fleet.backends:
        if backend.is_kai and any(pool.backend == backend for pool in fleet.pools):
            guarded = _guarded(fleet, backend)
            yield from _guard(guarded, "pods", _pods(guarded))
            yield from _guard(guarded, "podgroups", _pod_groups(guarded))
            yield from _guard(guarded, "subresources", _subresources(guarded))
            if fleet.config.rules.get("gpu-bypass", "error") == "error":
                yield from _guard(guarded, "devices", _devices(guarded))
            if fleet.config.guardMembers:
                yield from _guard(guarded, "members", _members(guarded), ParamRef())
            shards = {shard.value: shard.name for shard in fleet.shards if backend in shard.backends}
            if shards and fleet.config.shards == "rendered":
                yield from _guard(guarded, "shards", _shards(guarded, shards))
            access = access_policy(fleet, backend, guarded.namespaces, _name(guarded, "access"))
            if access is not None:
                yield from _guard(guarded, "access", access)


def _guarded(fleet: Fleet, backend: FleetBackend) -> _Guarded:
    own_classes = fleet.config.priorityClasses.model_dump()
    leaves = _guaranteed(fleet, backend)
    other_resources = tuple(name for name in OTHERS if any(quota.of(name) != NO_LIMIT for quota in leaves.values()))
    places = {queue: {*namespaces} for queue, namespaces in fleet.namespaces(backend).items()}
    for pod_group in fleet.pod_groups:
        if pod_group.backend == backend and pod_group.declared.spec.spec.queue in places:
            places[pod_group.declared.spec.spec.queue].add(pod_group.namespace)
    subpools = (s for pool in fleet.pools if pool.backend == backend for s in pool.subpools)
    queues = []
    for leaf in (leaf for pool in fleet.pools if pool.backend == backend for leaf in pool.leaves):
        if leaf.over_quota and leaf.state == "ACTIVE":
            most: dict[str, Amounts] = {}  # a literal of CEL has no key twice
            for name, may in leaf.over_quota.items():
                most[_begins(name)] = larger(may.amounts, most.get(_begins(name), NOTHING))
            work = ", ".join(f"{cel.text(begins)}: {_quotas(most[begins], other_resources)}" for begins in sorted(most))
            queues.append(f"{cel.text(leaf.queue)}: {{{work}}}")
    return _Guarded(
        fleet,
        backend,
        namespaces=tuple(sorted(set().union(*places.values()))),
        places=_places(places),
        classes=PRIORITY_CLASSES | {name: PRIORITY_VALUES[priority] for priority, name in own_classes.items()},
        leaves=cel.tables(
            "leaves",
            [f"{cel.text(queue)}: {_quotas(leaves[queue], other_resources)}" for queue in sorted(leaves)],
            "{}",
        ),
        other_resources=other_resources,
        draining=cel.tables("draining", [cel.text(s.queue) for s in subpools if s.state == "DELETING"], "[]"),
        over_quota=cel.tables("overQuota", queues, "{}") if queues else (),
    )


def _guard(guarded: _Guarded, subject: str, spec: PolicySpec, param: ParamRef | None = None) -> Iterator[Artifact]:
    fleet, backend = guarded.fleet, guarded.backend
    name = _name(guarded, subject)
    policy = ValidatingAdmissionPolicy(metadata=metadata(fleet, name, Phase.GUARD), spec=spec)
    actions: tuple[Action, ...] = ("Warn", "Audit") if fleet.config.guard == "warn" else ("Deny",)
    bound = BindingSpec(policyName=name, paramRef=param, validationActions=actions)
    binding = ValidatingAdmissionPolicyBinding(metadata=policy.metadata, spec=bound)
    for kind, manifest in (("policy", policy), ("binding", binding)):
        yield Artifact(backend.name, Phase.GUARD, _FOLDER, f"{kind}-{name}.yaml", manifest, fleet.settings_source)


def _name(guarded: _Guarded, subject: str) -> str:
    return f"{guarded.fleet.config.queuePrefix}-guard-{guarded.backend.namespace}-{subject}"


def _pods(guarded: _Guarded) -> PolicySpec:
    """Returns the policy for Pods that name a queue or a PodGroup, use KAI, or request GPUs; other Pods pass.

    It judges a Pod on creation, and when a judged field changes. Annotations that request GPUs may never change: KAI
    would count more or less than what runs.
    """
    queue, scheduler = cel.label("object", labels.QUEUE), guarded.backend.scheduler_name
    return PolicySpec(
        failurePolicy=guarded.failure_policy,
        matchConstraints=_requests("", "v1", *_pod_resources(guarded)),
        matchConditions=(
            cel.let("within-reach", f"{_inside(guarded)} || {_may_be_ours(guarded, queue)}"),
            cel.let(
                "is-new-or-changed",
                f"request.operation == 'CREATE' || {cel.any_label_changed()} || {cel.gpu_notes_changed()}"
                f" || ({queue}) == '' && {cel.joins_another()}{_or_resized(guarded)}",
            ),
        ),
        variables=(
            *_queues(guarded, queue),
            *_amounts(guarded),
            cel.let("uncounted", gpus.cel_uncounted()),
            *_priority_of_pod(guarded),
            cel.let("scheduler", "has(object.spec.schedulerName) ? string(object.spec.schedulerName) : ''"),
            cel.let(
                "guarded",
                f"!({_inside(guarded)}) ? variables.isOurs : variables.queue != '' || "
                f"variables.scheduler == {cel.text(scheduler)} || ({_POD_GROUP}) != '' || variables.hundredths > 0 || "
                "variables.uncounted",
            ),
        ),
        validations=(
            *_leaf_only(guarded, "!variables.guarded || "),
            cel.refuse_unless(
                f"!variables.guarded || !variables.isLeaf || variables.scheduler == {cel.text(scheduler)}",
                "'queue ' + variables.queue + ' is of no use beside scheduler ' + "
                f"variables.scheduler + '; name ' + {cel.text(scheduler)}",
            ),
            cel.refuse_unless(
                "!variables.guarded || request.operation != 'CREATE' || !has(object.spec.nodeName) || "
                "object.spec.nodeName == ''",
                "'the pod names its node, ' + string(object.spec.nodeName) + "
                "', and so goes past the scheduler and every quota'",
            ),
            _known_class(guarded),
            *_within_quotas(guarded, "!variables.guarded || ", "' {} and cannot be preempted, ' + 'but queue '"),
            cel.refuse_unless(
                "!variables.guarded || request.operation != 'CREATE' || !has(object.metadata.labels) || "
                f"!object.metadata.labels.exists(k, k.split('/')[0] == {cel.text(GPU_GROUP)})",
                cel.text(f"only KAI may write the label {GPU_GROUP}, by which it knows the pods that share a GPU"),
            ),
            cel.refuse_unless(
                f"!variables.guarded || request.operation == 'CREATE' || !({cel.gpu_notes_changed()})",
                "'what a pod asks for in annotations cannot change; create another pod'",
            ),
        ),
    )


def _subresources(guarded: _Guarded) -> PolicySpec:
    """Returns the policy for two other ways to change labels and annotations of a pod: its status, and a Binding.
    Annotations by which a container runtime gives devices may not change there either.

    An update of the status keeps only the old spec and owners (Kubernetes' podStatusStrategy, in strategy.go of pods).
    From a Binding an API server copies annotations, and labels from 1.35, into the pod (setPodNodeAndMetadata in
    storage.go). Nobody may change those by which KAI counts a pod; ``pods/resize`` and ``pods/ephemeralcontainers``
    cannot. Kubelets often write the status of every pod, so one condition decides, and only refused requests go
    further.
    """
    changes = (cel.any_label_changed(), cel.joins_another(), cel.gpu_notes_changed(), cel.device_notes_changed())
    changed = " || ".join(changes)
    reach = f"{_inside(guarded)} || {_may_be_ours(guarded, cel.label('object', labels.QUEUE))}"
    return PolicySpec(
        failurePolicy=guarded.failure_policy,
        matchConstraints=_requests("", "v1", "bindings", "pods/binding", "pods/status"),
        matchConditions=(
            cel.let("counts-otherwise", f"(request.operation == 'CREATE' ? {cel.counts()} : {changed}) && ({reach})"),
        ),
        validations=(
            cel.refuse_unless(
                "false",
                cel.text(
                    "labels and annotations that KAI counts a pod by, or that give devices, cannot change through its "
                    "status or a Binding; change the pod itself"
                ),
            ),
        ),
    )


def _devices(guarded: _Guarded) -> PolicySpec:
    """Returns the policy for pods that take devices of their node past the scheduler, by variables, mounts or
    annotations. In the namespaces of the pools it judges every pod, since such a pod may name no queue, and ephemeral
    containers too, which ``kubectl debug`` adds to running pods.
    """
    added = "has(request.subResource) && request.subResource == 'ephemeralcontainers'"
    reach = f"{_inside(guarded)} || {_may_be_ours(guarded, cel.label('object', labels.QUEUE))}"
    return PolicySpec(
        failurePolicy=guarded.failure_policy,
        matchConstraints=_requests("", "v1", "pods", "pods/ephemeralcontainers"),
        matchConditions=(
            cel.let("within-reach", reach),
            cel.let("is-new-or-changed", f"request.operation == 'CREATE' || {added} || {cel.device_notes_changed()}"),
        ),
        variables=tuple(
            cel.let(name, expression)
            for name, expression in (*gpus.cel_variables(), *cel_variables())
            if name in ("initContainers", "annotations", "shared", "takesDevices")
        ),
        validations=(
            cel.refuse_unless(
                "!variables.takesDevices",
                cel.text(
                    "the pod takes devices of its node past the scheduler and every quota, by a variable such as "
                    f"{gpus.VISIBLE_DEVICES}, a mount below {MOUNTS} or a CDI annotation; ask for GPUs in limits"
                ),
            ),
        ),
    )


def _members(guarded: _Guarded) -> PolicySpec:
    """Returns the policy that compares a Pod with the PodGroup that it joins.

    KAI charges the PodGroup's queue, and applies the PodGroup's preemptibility to the pod, even if KAI made the
    PodGroup from labels of the pod's owner. An API server evaluates the policy once for each PodGroup in the namespace,
    including unused messages. So the only condition tests first whether the pod names the PodGroup. Pods without a
    queue skip this policy; the policy of ``_pods`` refuses them.
    """
    within = LabelSelector(matchExpressions=(LabelRequirement(key=_NAMESPACE, values=guarded.namespaces),))
    queued = LabelSelector(matchExpressions=(LabelRequirement(key=labels.QUEUE, operator="Exists"),))
    requests = _requests("", "v1", *_pod_resources(guarded))
    return PolicySpec(
        failurePolicy=guarded.failure_policy,
        paramKind=ParamKind(apiVersion="/".join(_POD_GROUPS[:2]), kind=_POD_GROUPS[2]),
        matchConstraints=requests.model_copy(update={"namespaceSelector": within, "objectSelector": queued}),
        matchConditions=(
            cel.let(
                "joins-the-podgroup",
                f"({_POD_GROUP}) == params.metadata.name && (request.operation == 'CREATE' || "
                f"{cel.joins_another()} || {cel.any_label_changed()}{_or_resized(guarded)})",
            ),
        ),
        variables=(
            *_queues(guarded, cel.label("object", labels.QUEUE)),
            *_amounts(guarded),
            cel.let("groupQueue", cel.group_field("params", "queue")),
            *_priority_of_group(guarded, "params"),
        ),
        validations=(
            cel.refuse_unless(
                "variables.groupQueue == variables.queue",
                "'PodGroup ' + params.metadata.name + ' is in queue ' + variables.groupQueue + "
                "', the pod names ' + (variables.queue == '' ? 'none' : variables.queue)",
            ),
            *_within_quotas(
                guarded, "", "' {}, and PodGroup ' + params.metadata.name + ' cannot be preempted, but queue '"
            ),
        ),
    )


def _pod_groups(guarded: _Guarded) -> PolicySpec:
    """Returns the policy for PodGroups on creation or a change of judged fields; a draining queue allows other updates.
    A PodGroup may not become non-preemptible, or move as such to another queue: nobody judged its pods for that. Only
    KAI's scheduler may write the times by which it evicts, not KAI's podgrouper, which copies annotations of owners.
    """
    times = f"{cel.times_changed()} && !({_is_scheduler(guarded)})"
    queue = cel.group_field("object", "queue")
    changed = " || ".join(
        f"({cel.group_field('object', field)}) != ({cel.group_field('oldObject', field)})"
        for field in ("queue", "priorityClassName", "preemptibility")
    )
    return PolicySpec(
        failurePolicy=guarded.failure_policy,
        matchConstraints=_requests(_POD_GROUPS[0], _POD_GROUPS[1], "podgroups"),
        matchConditions=(
            cel.let("within-reach", f"{_inside(guarded)} || {_may_be_ours(guarded, queue)}"),
            cel.let("is-new-or-changed", f"request.operation == 'CREATE' || {changed} || {times}"),
        ),
        variables=(
            *_queues(guarded, queue),
            *_priority_of_group(guarded, "object"),
            cel.let("wasNonPreemptible", f"request.operation != 'CREATE' && {_non_preemptible_group('oldObject')}"),
            cel.let("guarded", f"{_inside(guarded)} || variables.isOurs"),
        ),
        validations=(
            *_leaf_only(guarded, "!variables.guarded || "),
            _known_class(guarded),
            cel.refuse_unless(
                "!variables.guarded || request.operation == 'CREATE' || !variables.nonPreemptible || "
                f"variables.wasNonPreemptible && ({queue}) == ({cel.group_field('oldObject', 'queue')})",
                "'the pods of the PodGroup were let in ' + (variables.wasNonPreemptible ? "
                f"'to queue ' + ({cel.group_field('oldObject', 'queue')}) : 'as preemptible') + "
                "'; to change that, delete it with its pods and create them again'",
            ),
            cel.refuse_unless(
                f"!variables.guarded || !({times})",
                cel.text(
                    "only KAI's scheduler may write the times by which it evicts; remove them from the PodGroup and "
                    "from the work that it is made of"
                ),
            ),
        ),
    )


def _shards(guarded: _Guarded, shards: Mapping[str, str]) -> PolicySpec:
    """Returns the policy for SchedulingShards: ``shards`` are the names of the rendered ones by their value. Whoever
    writes one of these, or a second one for one of the values, must be allowed to change this policy. Argo CD and Flux
    write a second one: they apply a renamed shard, or try it, before the policy knows its new name.
    """
    declared = cel.tables("shards", [f"{cel.text(value)}: {cel.text(name)}" for value, name in shards.items()], "{}")
    value = "has(variables.shard.spec) && has(variables.shard.spec.partitionLabelValue) ?"
    value += " string(variables.shard.spec.partitionLabelValue) : ''"
    return PolicySpec(
        failurePolicy=guarded.failure_policy,
        matchConstraints=MatchConstraints(
            resourceRules=(
                ResourceRule(
                    apiGroups=("kai.scheduler",),
                    apiVersions=("v1",),
                    operations=("CREATE", "UPDATE", "DELETE"),
                    resources=("schedulingshards",),
                ),
            )
        ),
        variables=(
            cel.let("shard", "request.operation == 'DELETE' ? oldObject : object"),
            cel.let("name", "string(variables.shard.metadata.name)"),
            cel.let("value", value),
            *declared,
            cel.let("declared", cel.looked_up(declared, "variables.name", key="variables.value")),
            cel.let("mayDeclare", may_change_policy(_name(guarded, "shards"))),
        ),
        validations=(
            cel.refuse_unless(
                "request.operation == 'DELETE' || variables.declared == variables.name || variables.mayDeclare",
                "'the repository has shard ' + variables.declared + ' for this partitionLabelValue; with two, two "
                "schedulers would place the same pods'",
            ),
            cel.refuse_unless(
                f"!(variables.name in {cel.listed(shards.values())}) || variables.mayDeclare",
                "'shard ' + variables.name + ' is declared in a repository: change it there'",
            ),
        ),
    )


def _is_scheduler(guarded: _Guarded) -> str:
    """Returns CEL for: KAI's scheduler sends the request. Its service account has this name in all releases, in the
    namespace of KAI, which holds no work (pkg/operator/operands/scheduler of KAI 0.17, charts of older releases).
    """
    user = "request.userInfo.username"
    return (
        f"{user}.startsWith('system:serviceaccount:') && {user}.endsWith(':scheduler') && "
        f"!({user}.split(':')[2] in {cel.listed(guarded.namespaces)})"
    )


def _within_quotas(guarded: _Guarded, unless: str, because: str) -> Iterator[Validation]:
    """Yields validations that non-preemptible work stays within quota. ``because`` joins the amount and the queue."""
    listed = "" if not guarded.over_quota else " || variables.kept.exists(k, {} <= variables.overQuotaHere[k]{})"
    indices = [f"[{index}]" for index in range(1 + len(guarded.other_resources))] if guarded.other_resources else [""]
    yield cel.refuse_unless(
        f"{unless}!variables.nonPreemptible || variables.quota < 0 || "
        f"variables.hundredths <= variables.quota * 100{listed.format('variables.hundredths', f'{indices[0]} * 100')}",
        f"'the pod asks for ' + {cel.shown('gpu', 'variables.hundredths')} + "
        f"{because.format(UNITS['gpu'])} + variables.queue + ' is guaranteed ' + string(variables.quota)",
    )
    for name, index in zip(guarded.other_resources, indices[1:], strict=False):
        asks, quota = f"variables.{name}", f"variables.{name}Quota"
        yield cel.refuse_unless(
            f"{unless}!variables.nonPreemptible || {quota} < 0 || {asks} <= {quota}{listed.format(asks, index)}",
            f"'the pod asks for ' + {cel.shown(name, asks)} + {because.format(UNITS[name])} + "
            f"variables.queue + ' is guaranteed ' + {cel.shown(name, quota)}",
        )


def _amounts(guarded: _Guarded) -> Iterator[Expression]:
    """Yields variables for the pod's requests; for cpu and memory, if any queue has quotas of both, the quotas too."""
    yield from (cel.let(name, expression) for name, expression in gpus.cel_variables())
    for index, name in enumerate(guarded.other_resources, 1):
        yield from cel.amount_variables(name)
        yield cel.let(f"{name}Quota", cel.looked_up(guarded.leaves, "-1", f"[{index}]"))


def _pod_resources(guarded: _Guarded) -> tuple[str, ...]:
    """Returns the resources where pods request amounts. A running pod can only change cpu and memory (1.33)."""
    return ("pods", "pods/resize") if guarded.other_resources else ("pods",)


def _or_resized(guarded: _Guarded) -> str:
    return f" || {cel.RESIZED}" if guarded.other_resources else ""


def _known_class(guarded: _Guarded) -> Validation:
    message = f" is neither one of the repository nor one of KAI; these are {', '.join(sorted(guarded.classes))}"
    return cel.refuse_unless(
        "!variables.guarded || variables.className == '' || variables.className in variables.classes",
        f"'PriorityClass ' + variables.className + {cel.text(message)}",
    )


def _requests(group: str, version: str, *resources: str) -> MatchConstraints:
    rule = ResourceRule(
        apiGroups=(group,), apiVersions=(version,), operations=("CREATE", "UPDATE"), resources=resources
    )
    return MatchConstraints(resourceRules=(rule,))


def _inside(guarded: _Guarded) -> str:
    return f"request.namespace in {cel.listed(guarded.namespaces)}"


def _may_be_ours(guarded: _Guarded, queue: str) -> str:
    """Returns CEL for: by its name a queue may be a leaf queue here. The test is cheap enough for every pod."""
    prefix = names.pool_queue(guarded.fleet.config.queuePrefix, guarded.backend.namespace, "")
    further_queues = tuple(sorted(x for x in guarded.fleet.leaf_queues(guarded.backend) if not x.startswith(prefix)))
    further = f" || ({queue}) in {cel.listed(further_queues)}" if further_queues else ""
    return f"({queue}).startsWith({cel.text(prefix)}){further}"


def _queues(guarded: _Guarded, queue: str) -> Iterator[Expression]:
    """Yields variables: all leaf queues, and state and quota of the named queue (-1: no leaf queue, or no limit)."""
    yield cel.let("queue", queue)
    yield from guarded.leaves
    yield from guarded.draining
    yield cel.let("isLeaf", " || ".join(map(cel.holds, guarded.leaves)))
    yield cel.let("isDraining", " || ".join(map(cel.holds, guarded.draining)))
    yield cel.let("isOurs", "variables.isLeaf || variables.isDraining")
    yield cel.let("quota", cel.looked_up(guarded.leaves, "-1", "[0]" if guarded.other_resources else ""))
    if guarded.over_quota:
        yield from guarded.over_quota
        yield cel.let("overQuotaHere", cel.looked_up(guarded.over_quota, "{}"))
        yield cel.let("owners", _owners())
        yield cel.let("kept", "variables.overQuotaHere.filter(k, variables.owners.exists(o, o.startsWith(k)))")
    yield from guarded.places
    if guarded.places:
        yield cel.let("namespaces", cel.looked_up(guarded.places, "[]"))


def _guaranteed(fleet: Fleet, backend: FleetBackend) -> dict[str, Amounts]:
    """Returns the leaf queues that take work, each with its quota."""
    pools = [pool for pool in fleet.pools if pool.backend == backend]
    quotas = {pool.shared_queue: pool.shared_quota for pool in pools}
    return quotas | {subpool.queue: subpool.quota for pool in pools for subpool in pool.active}


def _quotas(quota: Amounts, other_resources: Sequence[ResourceName]) -> str:
    """Returns the quota of a leaf queue as an entry of its table."""
    amounts = [-1 if quota.of(name) == NO_LIMIT else int(quota.of(name)) for name in ("gpu", *other_resources)]
    return str(amounts if other_resources else amounts[0])


def _owners() -> str:
    """Returns CEL for the possible owners of a pod: its workflow, and names that begin with the name of the work. The
    names are those of the pod and of its owners. Other work with such a name gains nothing: KAI leaves it Pending.
    """
    made = "has(object.metadata.ownerReferences) ? object.metadata.ownerReferences.map(o, string(o.name) + '-') : []"
    name_prefixes = "has(object.metadata.name) ? [string(object.metadata.name) + '-'] : []"
    return f"['Workflow/' + ({cel.label('object', labels.WORKFLOW)}) + '/'] + ({name_prefixes}) + ({made})"


def _begins(listed: str) -> str:
    """Returns the beginning that ``_owners`` gives for work listed as Kind/name."""
    kind, name = listed.split("/")
    return f"Workflow/{names.shorten(names.fold(name))}/" if kind == "Workflow" else f"{name}-"


def _places(places: Mapping[str, set[str]]) -> tuple[Expression, ...]:
    if len(set(map(frozenset, places.values()))) < 2:
        return ()
    return cel.tables(
        "places", [f"{cel.text(queue)}: {cel.listed(sorted(names))}" for queue, names in sorted(places.items())], "{}"
    )


def _leaf_only(guarded: _Guarded, unless: str) -> tuple[Validation, ...]:
    """Returns validations: the queue is a leaf queue that takes work, and its work may run in the namespace."""
    where, allowed = cel.text(", ".join(guarded.namespaces)), _inside(guarded)
    if guarded.places:
        where = "variables.namespaces.join(', ')"
        allowed = "!variables.isOurs || request.namespace in variables.namespaces"
    return (
        cel.refuse_unless(
            f"{unless}{allowed}",
            f"'queue ' + variables.queue + ' takes work of namespace ' + {where} + ', not of ' + request.namespace",
        ),
        cel.refuse_unless(
            f"{unless}variables.isOurs",
            "variables.queue == '' ? 'no queue is named; use a leaf queue of a declared pool' : "
            "'queue ' + variables.queue + ' is not a leaf queue of a declared pool'",
        ),
        cel.refuse_unless(
            f"{unless}!variables.isDraining", "'queue ' + variables.queue + ' is DELETING and takes no new work'"
        ),
    )


def _priority_of_pod(guarded: _Guarded) -> Iterator[Expression]:
    """Yields variables for the PriorityClass of a pod (KAI reads the label first), for its priority, and for whether
    KAI treats the pod as non-preemptible.

    Without a class, KAI gives ``inference`` to Deployments (their pods have a ReplicaSet as owner and its hash) and
    ``build`` to notebooks, both non-preemptible, and ``train`` to all other work.
    """
    owned = "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, o.kind == {})"
    deployment = f"{owned.format(cel.text(OWNER))} && ({cel.label('object', 'pod-template-hash')}) != ''"
    notebook = f"({cel.label('object', 'notebook-name')}) != ''"
    spec_class = "has(object.spec.priorityClassName) ? string(object.spec.priorityClassName) : ''"
    name = cel.label("object", labels.PRIORITY_CLASS)
    yield cel.let("className", f"({name}) != '' ? ({name}) : ({spec_class})")
    yield _classes(guarded)
    yield cel.let(
        "priority",
        "variables.className in variables.classes ? variables.classes[variables.className] : "
        "has(object.spec.priority) && object.spec.priority > 0 ? int(object.spec.priority) : "
        f"{deployment} ? {PRIORITY_CLASSES['inference']} : {notebook} ? {PRIORITY_CLASSES['build']} : "
        f"{PRIORITY_CLASSES['train']}",
    )
    yield cel.let("preemptibility", cel.label("object", labels.PREEMPTIBILITY))
    yield cel.let(
        "nonPreemptible",
        "variables.preemptibility == 'non-preemptible' || "
        f"(variables.preemptibility != 'preemptible' && variables.priority >= {NON_PREEMPTIBLE_FROM})",
    )


def _priority_of_group(guarded: _Guarded, group: str) -> Iterator[Expression]:
    """Yields variables for the class of a PodGroup, and for whether KAI treats the PodGroup as non-preemptible."""
    yield _classes(guarded)
    yield cel.let("className", cel.group_field(group, "priorityClassName"))
    yield cel.let("nonPreemptible", _non_preemptible_group(group))


def _classes(guarded: _Guarded) -> Expression:
    values_by_class = ", ".join(f"{cel.text(name)}: {value}" for name, value in guarded.classes.items())
    return cel.let("classes", f"{{{values_by_class}}}")


def _non_preemptible_group(group: str) -> str:
    """Returns CEL for: a PodGroup is non-preemptible. Without a known class its priority is 50."""
    preemptibility, name = cel.group_field(group, "preemptibility"), cel.group_field(group, "priorityClassName")
    high = f"({name}) in variables.classes && variables.classes[{name}] >= {NON_PREEMPTIBLE_FROM}"
    return f"(({preemptibility}) == 'non-preemptible' || ({preemptibility}) != 'preemptible' && {high})"
