"""The guard: admission policies that refuse, in a backend's namespace, work which bypasses the repository.

KAI checks neither that a queue is a leaf of a declared pool nor that work which cannot be preempted fits its
quota; a Pod or PodGroup sent straight to the API server would get around all rules. A PodGroup does not say how
many GPUs it asks for, so the quota is checked on its Pods.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

from kubectl_tas.compile.metadata import metadata
from kubectl_tas.gpus import cel_of_pod
from kubectl_tas.model.artifact import Artifact, Phase
from kubectl_tas.model.guard import (
    BindingSpec,
    Expression,
    LabelSelector,
    MatchConstraints,
    MatchResources,
    PolicySpec,
    ResourceRule,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    Validation,
)
from kubectl_tas.model.labels import QUEUE
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet

PREEMPTIBILITY = "kai.scheduler/preemptibility"
NON_PREEMPTIBLE_FROM = 100
"""KAI takes pods of at least this priority for non-preemptible."""
MAX_ENTRIES = 500
"""Queues in one CEL expression; with names of 63 characters these are 37,000 characters, and an API server takes
100,000.
"""
_FOLDER = "guard"
_NAMESPACE = "kubernetes.io/metadata.name"


def compile_guards(fleet: Fleet) -> Iterator[Artifact]:
    """A policy and its binding for Pods and for PodGroups, on every KAI backend that has pools."""
    if not fleet.config.guard:
        return
    for backend in fleet.backends:
        if backend.is_kai and any(pool.backend == backend for pool in fleet.pools):
            yield from _guard(fleet, backend, "pods", _pods(fleet, backend))
            yield from _guard(fleet, backend, "podgroups", _pod_groups(fleet, backend))


def _guard(fleet: Fleet, backend: FleetBackend, what: str, spec: PolicySpec) -> Iterator[Artifact]:
    name = f"{fleet.config.queuePrefix}-guard-{backend.namespace}-{what}"
    policy = ValidatingAdmissionPolicy(metadata=metadata(fleet, name, Phase.GUARD), spec=spec)
    selector = LabelSelector(matchLabels={_NAMESPACE: backend.namespace})
    binding = ValidatingAdmissionPolicyBinding(
        metadata=metadata(fleet, name, Phase.GUARD),
        spec=BindingSpec(policyName=name, matchResources=MatchResources(namespaceSelector=selector)),
    )
    yield Artifact(backend.name, Phase.GUARD, _FOLDER, f"policy-{name}.yaml", policy, fleet.settings)
    yield Artifact(backend.name, Phase.GUARD, _FOLDER, f"binding-{name}.yaml", binding, fleet.settings)


def _pods(fleet: Fleet, backend: FleetBackend) -> PolicySpec:
    """Pods that name a queue, are placed by KAI, or ask for GPUs; others are none of our business."""
    queue = f"has(object.metadata.labels) && {_text(QUEUE)} in object.metadata.labels"
    preemptibility = f"has(object.metadata.labels) && {_text(PREEMPTIBILITY)} in object.metadata.labels"
    by_priority = f"has(object.spec.priority) && object.spec.priority >= {NON_PREEMPTIBLE_FROM}"
    guarded = (
        f"({queue}) || "
        f"(has(object.spec.schedulerName) && object.spec.schedulerName == {_text(backend.scheduler_name)}) || "
        f"{cel_of_pod('object.spec')} > 0"
    )
    return PolicySpec(
        matchConstraints=_requests("", "v1", ("CREATE",), "pods"),
        matchConditions=(Expression(name="takes-part-in-scheduling", expression=guarded),),
        variables=(
            Expression(name="queue", expression=f"{queue} ? string(object.metadata.labels[{_text(QUEUE)}]) : ''"),
            *_queues(fleet, backend),
            _quota(fleet, backend),
            Expression(name="gpus", expression=cel_of_pod("object.spec")),
            Expression(
                name="preemptibility",
                expression=f"{preemptibility} ? string(object.metadata.labels[{_text(PREEMPTIBILITY)}]) : ''",
            ),
            Expression(
                name="nonPreemptible",
                expression="variables.preemptibility == 'non-preemptible' || "
                f"(variables.preemptibility != 'preemptible' && {by_priority})",
            ),
        ),
        validations=(
            *_leaf_only(),
            Validation(
                expression="!variables.nonPreemptible || variables.quota < 0 || variables.gpus <= variables.quota",
                messageExpression="'the pod asks for ' + string(variables.gpus) + ' GPUs and cannot be preempted, '"
                " + 'but queue ' + variables.queue + ' is guaranteed ' + string(variables.quota)",
                reason="Forbidden",
            ),
        ),
    )


def _pod_groups(fleet: Fleet, backend: FleetBackend) -> PolicySpec:
    """PodGroups when they are created or change their queue: those of a draining queue may still be updated."""
    queue = "has(object.spec) && has(object.spec.queue)"
    return PolicySpec(
        matchConstraints=_requests("scheduling.run.ai", "v2alpha2", ("CREATE", "UPDATE"), "podgroups"),
        matchConditions=(
            Expression(
                name="chooses-a-queue",
                expression="request.operation != 'UPDATE' || "
                "!has(oldObject.spec) || !has(oldObject.spec.queue) || "
                f"!({queue}) || object.spec.queue != oldObject.spec.queue",
            ),
        ),
        variables=(
            Expression(name="queue", expression=f"{queue} ? string(object.spec.queue) : ''"),
            *_queues(fleet, backend),
        ),
        validations=_leaf_only(),
    )


def _requests(
    group: str, version: str, operations: tuple[Literal["CREATE", "UPDATE"], ...], resource: str
) -> MatchConstraints:
    rule = ResourceRule(apiGroups=(group,), apiVersions=(version,), operations=operations, resources=(resource,))
    return MatchConstraints(resourceRules=(rule,))


def _queues(fleet: Fleet, backend: FleetBackend) -> tuple[Expression, ...]:
    """All leaves with their quotas, and whether the queue that is named is one that takes work, or is emptied."""
    open_, closed = _leaves(fleet, backend), _draining(fleet, backend)
    return (
        *open_,
        *closed,
        Expression(name="isLeaf", expression=" || ".join(map(_holds, open_))),
        Expression(name="isDraining", expression=" || ".join(map(_holds, closed))),
    )


def _quota(fleet: Fleet, backend: FleetBackend) -> Expression:
    """The quota of the leaf that is named; -1 where it has no limit, and for what is no leaf."""
    found = (f"{_holds(table)} ? variables.{table.name}[variables.queue]" for table in _leaves(fleet, backend))
    return Expression(name="quota", expression=" : ".join((*found, "-1")))


def _leaves(fleet: Fleet, backend: FleetBackend) -> tuple[Expression, ...]:
    """The quota of every leaf that takes work; -1: no limit."""
    quotas: dict[str, int] = {}
    for pool in fleet.pools:
        if pool.backend == backend:
            quotas[pool.shared_queue] = pool.shared_quota
            quotas.update((s.queue, s.quota) for s in pool.subpools if s.state == "ACTIVE")
    return _tables("leaves", [f"{_text(queue)}: {quota}" for queue, quota in sorted(quotas.items())], "{}")


def _draining(fleet: Fleet, backend: FleetBackend) -> tuple[Expression, ...]:
    """The leaves that are being emptied."""
    subpools = (s for pool in fleet.pools if pool.backend == backend for s in pool.subpools)
    return _tables("draining", [_text(s.queue) for s in subpools if s.state == "DELETING"], "[]")


def _tables(name: str, entries: list[str], brackets: str) -> tuple[Expression, ...]:
    """Entries as one CEL literal, or as several where they are many: an expression has its maximal length."""
    parts = [", ".join(entries[start : start + MAX_ENTRIES]) for start in range(0, len(entries), MAX_ENTRIES)] or [""]
    return tuple(
        Expression(name=name if index == 1 else f"{name}{index}", expression=f"{brackets[0]}{part}{brackets[1]}")
        for index, part in enumerate(parts, 1)
    )


def _holds(table: Expression) -> str:
    return f"variables.queue in variables.{table.name}"


def _leaf_only() -> tuple[Validation, Validation]:
    return (
        Validation(
            expression="variables.isLeaf || variables.isDraining",
            messageExpression="variables.queue == '' ? 'no queue is named; use a leaf queue of a declared pool' : "
            "'queue ' + variables.queue + ' is not a leaf queue of a declared pool'",
            reason="Forbidden",
        ),
        Validation(
            expression="!variables.isDraining",
            messageExpression="'queue ' + variables.queue + ' is DELETING and takes no new work'",
            reason="Forbidden",
        ),
    )


def _text(value: str) -> str:
    """A string as CEL has it."""
    return "'" + json.dumps(value)[1:-1].replace("'", "\\'") + "'"
