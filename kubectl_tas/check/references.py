"""Checks that every name in use is defined."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Suggestion
from kubectl_tas.base.words import closest, did_you_mean, question
from kubectl_tas.check.clique_placement import SET_TOPOLOGY_UNKNOWN
from kubectl_tas.check.node_labels import mended_level
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import Dangling
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.topologies import FleetTopology

BACKEND_UNKNOWN = Rule.error(
    "backend-unknown",
    "The backend of a pool, PodGroup or companion is unknown.",
    "The backend decides the namespace and the folder of everything that belongs to the pool. Name one of "
    "spec.backends in tas.yaml. A PodGroup takes the backend of its queue, or else of its namespace. A companion takes "
    "the backend of its label kubectl-tas/pool, or else of the work in its file, or else of its namespace.",
)
PARENT_UNKNOWN = Rule.error(
    "parent-unknown",
    "The parent of a subpool or pool is unknown.",
    "A queue whose parent does not exist takes no work. Correct spec.parent, or declare the pool.",
)
POOL_UNKNOWN = Rule.error(
    "pool-unknown",
    "Work names a pool or subpool that does not exist.",
    "The work would name a queue that does not exist, and stay Pending for ever. Name a pool, or pool--subpool.",
)
TOPOLOGY_UNKNOWN = Rule.error(
    "topology-unknown",
    "A pool names a cluster topology that does not exist.",
    "Its workflows could not ask for any placement. Correct spec.topology, or declare the ClusterTopology.",
)
RESOURCE_UNKNOWN = Rule.error(
    "resource-unknown",
    "A task names a resource that its workflow lacks.",
    "The task would run without GPUs and without a topology. Correct the name, or define the resource.",
)
TOPOLOGY_KEY_UNKNOWN = Rule.error(
    "topology-key-unknown",
    "Work asks for a topology key that its topology lacks.",
    "KAI can never meet a constraint with a level that its Topology lacks, and the pods stay Pending. `kubectl tas "
    "topology list --pool POOL` lists the keys.",
)

PLATFORM_UNKNOWN = Rule.error(
    "platform-unknown",
    "A resource, or a pool's default, names a platform that the pool lacks.",
    "Its tasks would run on any node with room. Correct the name, or declare the platform. In a pool without "
    "platforms, kubectl-tas ignores the name.",
)
POD_TEMPLATE_UNKNOWN = Rule.error(
    "pod-template-unknown",
    "A pool or a platform names an unknown pod template.",
    "Its pods would lack what the template sets: their nodes, mounts or limits. Correct the name, declare a "
    "PodTemplate of that name, or write the template in its place.",
)
RESOURCE_VALIDATION_UNKNOWN = Rule.error(
    "resource-validation-unknown",
    "A pool or a platform names an unknown resource validation.",
    "Nothing would be checked. Correct the name, declare a ResourceValidation of that name, or write the rule in its "
    "place.",
)

_RULE_OF = {
    "backend": BACKEND_UNKNOWN,
    "backend of a PodGroup": BACKEND_UNKNOWN,
    "place of a companion": BACKEND_UNKNOWN,
    "parent": PARENT_UNKNOWN,
    "pool": POOL_UNKNOWN,
    "subpool": POOL_UNKNOWN,
    "topology": TOPOLOGY_UNKNOWN,
    "topology of a set": SET_TOPOLOGY_UNKNOWN,
    "resource": RESOURCE_UNKNOWN,
    "topology key": TOPOLOGY_KEY_UNKNOWN,
    "platform": PLATFORM_UNKNOWN,
    "pod template": POD_TEMPLATE_UNKNOWN,
    "resource validation": RESOURCE_VALIDATION_UNKNOWN,
}
RULES = frozenset(_RULE_OF.values())


def check_references(fleet: Fleet, before: Fleet | None = None) -> Iterator[Diagnostic]:
    """Reports one finding for each undefined name, at its first use and with all other uses. Skips names that are
    undefined only because of another finding. The message says if the change removes a name that ``before`` defined.
    """
    unknown = [dangling for dangling in fleet.dangling if not _follows(dangling, fleet)]
    uses: dict[tuple[str, str, str], list[Dangling]] = {}
    for dangling in unknown:
        uses.setdefault(_cause(dangling, fleet), []).append(dangling)
    for first_use, *other_uses in uses.values():
        message, hint = _words(first_use, fleet)
        related = tuple(Related(f'"{dangling.name}" is named here too', dangling.location) for dangling in other_uses)
        gone = _removed(first_use, before) if before else None
        if gone is not None:
            message = f"{message}; this change removes it"
            hint = f"Restore its declaration in {gone.path}, or correct the names that refer to it."
        yield Diagnostic(
            _RULE_OF[first_use.what], message, first_use.location, related, hint=hint, cause=_levels(first_use, fleet)
        )


def _levels(dangling: Dangling, fleet: Fleet) -> Location | None:
    """Returns the place of the levels that an unknown topology key should be among."""
    if dangling.what != "topology key":
        return None
    topology = _topology(dangling, fleet)
    return topology.declared.at_key(*topology.path) if topology else None


def _topology(dangling: Dangling, fleet: Fleet) -> FleetTopology | None:
    """Returns the topology in which a topology key is looked up."""
    kind, _, name = dangling.context.partition(" ")
    if kind == "pool":
        return fleet.pool_by_name[name].topology if name in fleet.pool_by_name else None
    same_topologies = (t for t in fleet.topologies if any(t.name_on(b) == name for b in fleet.backends))
    return next(same_topologies, None)


def _removed(dangling: Dangling, before: Fleet) -> Location | None:
    """Returns the place where a removed name was declared."""
    pool, _, short = names.fold(dangling.name).partition(names.SEPARATOR)
    match dangling.what:
        case "parent" | "pool":
            earlier_declaration: Declared[Any] | None = (
                before.pool_by_name[pool].declared if pool in before.pool_by_name else None
            )
        case "subpool":
            subpools = before.pool_by_name[pool].subpools if pool in before.pool_by_name else ()
            earlier_declaration = next((subpool.declared for subpool in subpools if subpool.name == short), None)
        case "topology" | "topology of a set":
            topology = before.cluster_topologies.get(dangling.name)
            earlier_declaration = topology.declared if topology else None
        case "topology key":
            levels = _topology(dangling, before)
            return _levels(dangling, before) if levels and levels.level(dangling.name) else None
        case _:
            earlier_declaration = None
    return earlier_declaration.at("metadata", "name") if earlier_declaration else None


def _cause(dangling: Dangling, fleet: Fleet) -> tuple[str, str, str]:
    """Returns a key that is equal for names that one definition would fix."""
    match dangling.what:
        case "parent" | "pool":
            return "pool", names.fold(dangling.name).partition(names.SEPARATOR)[0], ""
        case "topology" | "topology of a set":
            return "topology", dangling.name, ""
        case "topology key":
            key = dangling.name.rpartition("/")[2]  # work of other kinds may ask for it by its label
            return dangling.what, key, str(_levels(dangling, fleet) or dangling.context)
        case "pod template" | "resource validation":
            return dangling.what, dangling.name, ""
        case "resource" | "backend" if dangling.what == "resource" or not dangling.name:
            return dangling.what, dangling.name, f"{dangling.declared.origin.path} {dangling.declared.origin.index}"
        case _:
            return dangling.what, dangling.name, dangling.context


def _follows(reference: Dangling, fleet: Fleet) -> bool:
    """Whether a name is unknown only because another name has a finding. The other name is the parent of its subpool,
    the topology of its pool, an invalid name of a pool or subpool, or the queue of other work in its cluster.
    """
    pool, _, short = names.fold(reference.name).partition(names.SEPARATOR)
    match reference.what:
        case "parent" | "pool":
            return _is_meant(pool, [declared.spec.metadata.name for declared in fleet.repository.pools])
        case "subpool":
            orphans = [dangling for dangling in fleet.dangling if dangling.what == "parent"]
            if any(orphan.declared.spec.metadata.name == short for orphan in orphans):
                return True
            return _is_meant(short, [subpool.name for subpool in fleet.pool_by_name[pool].subpools])
        case "topology key":
            lost = (dangling for dangling in fleet.dangling if dangling.what == "topology")
            return any(reference.context == f"pool {dangling.declared.spec.metadata.name}" for dangling in lost)
        case "place of a companion":
            return bool(_lost(fleet))
        case "backend of a PodGroup":
            return any(lost_name in reference.name for lost_name in _lost(fleet))
        case _:
            return False


def _lost(fleet: Fleet) -> list[str]:
    """Returns the names of unknown pools and subpools, of those without a known cluster, and of invalid ones."""
    lost_names = [dangling.name for dangling in fleet.dangling if dangling.what in ("pool", "subpool")]
    lost_names += [d.declared.spec.metadata.name for d in fleet.dangling if d.what in ("backend", "parent")]
    declared: tuple[Declared[Any], ...] = (*fleet.repository.pools, *fleet.repository.subpools)
    return lost_names + _impossible([dangling.spec.metadata.name for dangling in declared])


def _impossible(declared: list[str]) -> list[str]:
    return [n for n in declared if not names.is_label(n) or names.SEPARATOR in n]


def _is_meant(name: str, declared: list[str]) -> bool:
    """Whether ``name`` most likely means a declared name that is invalid."""
    impossible = _impossible(declared)
    return (
        closest(
            name, [*impossible, *(impossible_name.rpartition(names.SEPARATOR)[2] for impossible_name in impossible)]
        )
        is not None
    )


def _words(dangling: Dangling, fleet: Fleet) -> tuple[str, str]:
    known_names = ", ".join(dangling.known)
    hint = did_you_mean(dangling.name, dangling.known)
    match dangling.what:
        case "backend" if not dangling.name:
            return f"there are several backends; name one of {known_names}", "Add spec.backend."
        case "backend of a PodGroup":
            message = f'cannot tell which backend this PodGroup is for: its queue "{dangling.name}" is not declared'
            return message, f"Name a queue that is declared here, or the namespace of one backend ({known_names})."
        case "place of a companion":
            kind = dangling.declared.spec.kind
            message = f'cannot tell which cluster and namespace the {kind} "{dangling.name}" is for'
            hint = (
                f"Add the label kubectl-tas/pool, or put it into the file of its workload. Clusters are {known_names}."
            )
            return message, hint
        case "topology key":
            topology = _topology(dangling, fleet)
            level = topology.level(dangling.name) if topology else None
            if level is not None:
                text = f"That is the node label of the key {level.key}: write {level.key}."
                hint = Suggestion(text, dangling.name, level.key)
            hint = mended_level(dangling.name, topology) or hint
            has = f"has {known_names}" if known_names else "has no topology keys"
            fallback = f"Use one of {known_names}." if known_names else "Remove the requirement, or add topology_keys."
            return f'the topology key "{dangling.name}" is unknown: {dangling.context} {has}', hint or fallback
        case "platform":
            message = f'the platform "{dangling.name}" does not exist: {dangling.context} has {known_names or "none"}'
            otherwise = (
                f"Name one of {known_names}."
                if known_names
                else "Remove it, or declare it in spec.platforms of the pool."
            )
            return message, hint or otherwise
        case "subpool":
            short = dangling.name.rpartition(names.SEPARATOR)[2]
            pool = dangling.context.removeprefix("pool ")
            if short.strip("_") == names.SHARED:
                return f'"{dangling.name}" is not a subpool', f"To use what the pool shares, name the pool: {pool}."
            has = f"has {known_names}" if known_names else "has no subpools"
            return (
                f'the subpool "{dangling.name}" does not exist: {dangling.context} {has}',
                hint or f"Name the pool: {pool}.",
            )
        case "topology of a set":
            fallback = f"Defined: {known_names}." if known_names else "Declare a ClusterTopology of that name."
            return f'rule 3: the cluster topology "{dangling.name}" does not exist', hint or fallback
        case "pool":
            hint = _moved(dangling.name, fleet) or did_you_mean(dangling.name, fleet.target_names())
            return f'the pool "{dangling.name}" does not exist', hint or _defined(dangling, known_names)
        case _:
            noun = {"parent": "parent pool", "topology": "cluster topology"}.get(dangling.what, dangling.what)
            return f'the {noun} "{dangling.name}" does not exist', hint or _defined(dangling, known_names)


def _moved(name: str, fleet: Fleet) -> str:
    """Returns a question that suggests the only subpool with the last part of the name; else an empty text."""
    short = re.split(f"{names.SEPARATOR}|[/.:]", name)[-1]
    canonical_names = [subpool.canonical for pool in fleet.pools for subpool in pool.subpools if subpool.name == short]
    return question(name, canonical_names[0]) if len(canonical_names) == 1 else ""


def _defined(dangling: Dangling, known_names: str) -> str:
    several = {"parent": "pools", "topology": "cluster topologies"}.get(dangling.what, f"{dangling.what}s")
    return f"Defined: {known_names}." if known_names else f"No {several} are defined."
