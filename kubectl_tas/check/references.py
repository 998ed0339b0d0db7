"""Every name that is used is defined somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_tas.check.cliquesets import SET_TOPOLOGY_UNKNOWN
from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import Dangling
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.words import did_you_mean

BACKEND_UNKNOWN = Rule(
    "backend-unknown",
    Severity.ERROR,
    "A pool names no backend although there are several, or one that the Config does not have; or nothing "
    "tells the backend of a PodGroup.",
    "The backend decides the namespace and the folder of everything that belongs to the pool. Name one of "
    "spec.backends in tas.yaml. A PodGroup belongs to the backend of its queue, else to that of its namespace.",
)
PARENT_UNKNOWN = Rule(
    "parent-unknown",
    Severity.ERROR,
    "A subpool's parent is not a pool of this repository.",
    "A queue whose parent does not exist takes no work. Correct spec.parent, or declare the pool.",
)
POOL_UNKNOWN = Rule(
    "pool-unknown",
    Severity.ERROR,
    "A workflow or workload names a pool or subpool that does not exist.",
    "It would be sent to a queue that does not exist and stay Pending for ever. Name a pool, or pool--subpool.",
)
TOPOLOGY_UNKNOWN = Rule(
    "topology-unknown",
    Severity.ERROR,
    "A pool names a cluster topology that does not exist.",
    "Its workflows could not ask for any placement. Correct spec.topology, or declare the ClusterTopology.",
)
RESOURCE_UNKNOWN = Rule(
    "resource-unknown",
    Severity.ERROR,
    "A task names a resource that its workflow does not define.",
    "The task would run without GPUs and without a topology. Correct the name, or define the resource.",
)
TOPOLOGY_KEY_UNKNOWN = Rule(
    "topology-key-unknown",
    Severity.ERROR,
    "A workflow or workload asks for a topology key that its topology does not have.",
    "KAI takes a level that its Topology lacks for a constraint that can never be met, and the pods stay "
    "Pending. `kubectl tas pool topology-keys POOL` lists the keys.",
)

_RULES = {
    "backend": BACKEND_UNKNOWN,
    "backend of a PodGroup": BACKEND_UNKNOWN,
    "parent": PARENT_UNKNOWN,
    "pool": POOL_UNKNOWN,
    "subpool": POOL_UNKNOWN,
    "topology": TOPOLOGY_UNKNOWN,
    "topology of a set": SET_TOPOLOGY_UNKNOWN,
    "resource": RESOURCE_UNKNOWN,
    "topology key": TOPOLOGY_KEY_UNKNOWN,
}


def check_references(fleet: Fleet) -> Iterator[Diagnostic]:
    """One diagnostic for each name that nothing defines."""
    for item in fleet.dangling:
        message, hint = _words(item, fleet)
        yield Diagnostic(_RULES[item.what], message, item.location, hint=hint)


def _words(item: Dangling, fleet: Fleet) -> tuple[str, str]:
    known = ", ".join(item.known)
    hint = did_you_mean(item.name, item.known)
    match item.what:
        case "backend" if not item.name:
            return f"there are several backends; name one of {known}", "Add spec.backend."
        case "backend of a PodGroup":
            message = f'cannot tell which backend this PodGroup is for: its queue "{item.name}" is not declared'
            return message, f"Name a queue that is declared here, or the namespace of one backend ({known})."
        case "topology key":
            has = f"has {known}" if known else "has no topology keys"
            fallback = f"Use one of {known}." if known else "Remove the requirement, or add topology_keys."
            return f'the topology key "{item.name}" is unknown: {item.context} {has}', hint or fallback
        case "subpool":
            short = item.name.rpartition(names.SEPARATOR)[2]
            pool = item.context.removeprefix("pool ")
            if short.strip("_") == names.SHARED:
                return f'"{item.name}" is not a subpool', f"To use what the pool shares, name the pool: {pool}."
            has = f"has {known}" if known else "has no subpools"
            return f'the subpool "{item.name}" does not exist: {item.context} {has}', hint or f"Name the pool: {pool}."
        case "topology of a set":
            fallback = f"Defined are: {known}." if known else "Declare a ClusterTopology of that name."
            return f'rule 3: the cluster topology "{item.name}" does not exist', hint or fallback
        case "pool":
            hint = _moved(item.name, fleet) or did_you_mean(item.name, fleet.target_names())
            return f'the pool "{item.name}" does not exist', hint or _defined(item, known)
        case _:
            return f'the {_noun(item.what)} "{item.name}" does not exist', hint or _defined(item, known)


def _moved(name: str, fleet: Fleet) -> str:
    """A question after the only subpool that is called as the last part of a name, whatever stands before it."""
    short = re.split(f"{names.SEPARATOR}|[/.:]", name)[-1]
    found = [subpool.canonical for pool in fleet.pools for subpool in pool.subpools if subpool.name == short]
    return f'Did you mean "{found[0]}"?' if len(found) == 1 else ""


def _defined(item: Dangling, known: str) -> str:
    return f"Defined are: {known}." if known else f"No {_plural(item.what)} are defined."


def _noun(what: str) -> str:
    return {"parent": "parent pool", "topology": "cluster topology"}.get(what, what)


def _plural(what: str) -> str:
    return {"parent": "pools", "topology": "cluster topologies"}.get(what, f"{what}s")
