"""The namespaces of pools and subpools."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.check.names import label_problems
from kubectl_tas.diagnostics import Diagnostic, Location, Related, Rule, Severity, Waiving
from kubectl_tas.model.pool import Pool, Subpool
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.words import did_you_mean

NAMESPACE_WIDENED = Rule(
    "namespace-widened",
    Severity.ERROR,
    "A subpool lists a namespace that its pool does not have.",
    "A pool says where its work may run, and the guard lets its queues take work of those namespaces; a subpool may "
    "only narrow that. Remove the namespace, or add it to spec.namespaces of the pool.",
    protects=Waiving.CONFIG,
)
NAMESPACE_REPEATED = Rule(
    "namespace-repeated",
    Severity.ERROR,
    "A pool or subpool lists a namespace twice.",
    "The first of the list is where work runs that names none, so their order counts; the second one most likely was "
    "to be another. Correct or remove it.",
)
NAMESPACE_OF_SYSTEM = Rule(
    "namespace-of-system",
    Severity.ERROR,
    "Work is to run in a namespace of Kubernetes' or KAI's own.",
    "Who may create pods in kube-system may become administrator of the cluster: its service accounts may do all that "
    "Kubernetes' own components do, and the Roles of spec.access open it to a team. Everybody may read kube-public, "
    "and kube-node-lease holds what nodes report. In its own namespaces KAI runs itself, and reserves GPUs. Use a "
    "namespace for work.",
    protects=Waiving.CONFIG,
)
_OWNERS = {
    **dict.fromkeys(("kube-system", "kube-public", "kube-node-lease"), "Kubernetes"),
    **dict.fromkeys(("kai-scheduler", "kai-resource-reservation", "kai-scale-adjust"), "KAI"),
}
"""Kubernetes 1.35, "Initial namespaces"; KAI 0.17, deployments/kai-scheduler/values.yaml and pkg/common/constants."""


def check_namespaces(fleet: Fleet) -> Iterator[Diagnostic]:
    """Those of every pool and subpool, whether its parent exists or not."""
    declared: tuple[Declared[Pool] | Declared[Subpool], ...] = (*fleet.repository.pools, *fleet.repository.subpools)
    for item in declared:
        written = item.spec.spec.namespaces
        for index, name in enumerate(written):
            place = item.at("spec", "namespaces", index)
            if name in written[:index]:
                message = f'the namespace "{name}" is listed twice'
                related = (Related("listed here", item.at("spec", "namespaces", written.index(name))),)
                yield Diagnostic(NAMESPACE_REPEATED, message, place, related, hint="Remove one of the two.")
            else:
                yield from label_problems("namespace", name, place, limit=names.MAX_LABEL)
                yield from _of_system(name, place)
    config = fleet.repository.config
    for backend in fleet.backends:
        own = (pool for pool in fleet.pools if pool.backend == backend and not pool.declared.spec.spec.namespaces)
        if config is not None and any(own):
            yield from _of_system(backend.namespace, config.at("spec", "backends", backend.index, "namespace"))
    for pool in fleet.pools:
        for subpool in pool.subpools:
            for index, name in enumerate(subpool.declared.spec.spec.namespaces):
                if name not in pool.namespaces:
                    yield _widened(pool.name, pool.namespaces, subpool.declared, index)


def _of_system(name: str, place: Location) -> Iterator[Diagnostic]:
    if name in _OWNERS:
        message = f'the namespace "{name}" belongs to {_OWNERS[name]}: work must not run there'
        yield Diagnostic(NAMESPACE_OF_SYSTEM, message, place, hint="Use a namespace for work, such as ml.")


def _widened(pool: str, allowed: tuple[str, ...], subpool: Declared[Subpool], index: int) -> Diagnostic:
    name = subpool.spec.spec.namespaces[index]
    message = f'work of pool {pool} runs in {" or ".join(allowed)}, so its subpool cannot have it run in "{name}"'
    hint = did_you_mean(name, allowed, f"Remove it, or add it to spec.namespaces of pool {pool}.")
    return Diagnostic(NAMESPACE_WIDENED, message, subpool.at("spec", "namespaces", index), hint=hint)
