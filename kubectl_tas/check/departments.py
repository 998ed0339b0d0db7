"""Pools below pools: what may be the parent of what."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.check.versions import VERSION_UNSUPPORTED, needs_kai, unsupported
from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity
from kubectl_tas.kai import Feature
from kubectl_tas.model.pool import Pool
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool, circles

PARENT_INVALID = Rule(
    "parent-invalid",
    Severity.ERROR,
    "The parent of a pool is the pool itself, lies below it, or belongs to another cluster or shard.",
    "KAI drops a queue whose parent it does not see, with all queues below it, and work that is sent there stays "
    "Pending for ever; a circle of queues it would follow without end. Name a pool of the same backend and nodePool, "
    "or leave spec.parent out for a pool at the top.",
)


def check_departments(fleet: Fleet) -> Iterator[Diagnostic]:
    """The parent of every pool that names one that exists."""
    declared: dict[str, Declared[Pool]] = {}
    for item in fleet.repository.pools:
        declared.setdefault(item.spec.metadata.name, item)
    circular: set[str] = set()
    for circle in circles(declared):
        circular.update(circle)
        yield _circle([declared[name] for name in circle])
    for pool in fleet.pools:
        wanted = pool.declared.spec.spec.parent
        parent = fleet.pool_by_name.get(wanted) if wanted is not None and pool.name not in circular else None
        if parent is not None:
            yield from _misplaced(pool, parent)


def _circle(pools: list[Declared[Pool]]) -> Diagnostic:
    """One finding for all pools that are above one another."""
    first, *others = pools
    names = [item.spec.metadata.name for item in pools]
    way = " -> ".join([*names, names[0]])
    message = f"pool {names[0]} is its own parent" if not others else f"the parents of pools go in a circle: {way}"
    related = tuple(Related("also in the circle", item.at("spec", "parent")) for item in others)
    hint = "Remove spec.parent of the one that is to stand above."
    return Diagnostic(PARENT_INVALID, message, first.at("spec", "parent"), related, hint=hint)


def _misplaced(pool: FleetPool, parent: FleetPool) -> Iterator[Diagnostic]:
    place, backend = pool.declared.at("spec", "parent"), pool.backend
    related = (Related(f"pool {parent.name}", parent.declared.at("metadata", "name")),)
    if parent.backend != backend:
        message = f"pool {pool.name} is on backend {backend.name}, its parent {parent.name} on {parent.backend.name}"
        hint = f"Name a pool of backend {backend.name}."
        yield Diagnostic(PARENT_INVALID, message, place, related, hint=hint)
    elif not backend.is_kai:
        hint = "Remove it, or set scheduler.type of the backend to kai."
        yield Diagnostic(VERSION_UNSUPPORTED, needs_kai(backend, "parent"), place, hint=hint, cause=backend.type_place)
    elif backend.release is not None and not backend.has(Feature.DEEP_QUEUES):
        yield unsupported(backend, Feature.DEEP_QUEUES, "a pool with a parent", place)
    elif parent.declared.spec.spec.nodePool != pool.declared.spec.spec.nodePool:
        own, upper = (item.declared.spec.spec.nodePool or "none" for item in (pool, parent))
        message = (
            f"pool {pool.name} has nodePool {own}, its parent {parent.name} has {upper}: no shard sees both queues"
        )
        yield Diagnostic(PARENT_INVALID, message, place, related, hint="Write the same nodePool for both.")
