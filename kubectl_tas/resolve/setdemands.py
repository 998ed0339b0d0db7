"""A PodCliqueSet in; what its pool demands of its manifest out."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.model import labels
from kubectl_tas.model.artifact import Phase
from kubectl_tas.model.grove import TEMPLATE
from kubectl_tas.resolve.cliqueset import SubmittedSet
from kubectl_tas.resolve.demands import Demand, Mode
from kubectl_tas.resolve.fleet import Fleet


def set_demands(fleet: Fleet, submitted: SubmittedSet) -> tuple[Demand, ...]:
    """All of them, in the order in which lines are added: queue, scheduler and priority reach every clique's pods."""
    return (*_root(fleet, submitted), *_cliques(fleet, submitted))


def _root(fleet: Fleet, submitted: SubmittedSet) -> Iterator[Demand]:
    backend = submitted.pool.backend
    yield Demand(("metadata", "namespace"), backend.namespace, f"the namespace of backend {backend.name}")
    if backend.is_kai:
        yield Demand(("metadata", "labels", labels.QUEUE), submitted.queue, f"the queue of {submitted.target}")
    yield Demand(("metadata", "labels", labels.MANAGED_BY), "kubectl-tas", "who renders it", Mode.KEEP)
    if fleet.config.gitops == "argocd":
        why = "the wave after that of its queue"
        yield Demand(("metadata", "annotations", labels.SYNC_WAVE), str(int(Phase.POD)), why, Mode.KEEP)
    yield Demand((*TEMPLATE, "priorityClassName"), *_priority(fleet, submitted))


def _cliques(fleet: Fleet, submitted: SubmittedSet) -> Iterator[Demand]:
    backend = submitted.pool.backend
    for clique in submitted.set.cliques:
        if backend.is_kai:
            yield Demand((*clique.path, "labels", labels.QUEUE), submitted.queue, f"the queue of {submitted.target}")
        if clique.spec.spec.podSpec is not None:
            pods = (*clique.path, "spec", "podSpec")
            if backend.is_kai:
                why = f"the scheduler of backend {backend.name}"
                yield Demand((*pods, "schedulerName"), backend.scheduler_name, why)
            yield Demand((*pods, "priorityClassName"), *_priority(fleet, submitted))


def _priority(fleet: Fleet, submitted: SubmittedSet) -> tuple[str, str]:
    """The PriorityClass, and what it follows from."""
    name = str(getattr(fleet.config.priorityClasses, submitted.priority))
    return name, f"the PriorityClass of {submitted.priority}"
