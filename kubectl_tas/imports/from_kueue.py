"""Imports objects of Kueue as pools, subpools and topologies that share a cluster as Kueue does.

A cohort becomes a pool. Its guarantee and limit are the amounts that Kueue lets its ClusterQueues hold together. These
become subpools, or child pools if they have nodes of their own. A ClusterQueue without a cohort becomes a pool.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.base.late import dataclass
from kubectl_tas.check.pool_settings import SYSTEM_NAMESPACES
from kubectl_tas.facts.quantities import RESOURCES, Amounts, ResourceName, larger, show, smaller, total
from kubectl_tas.imports.adoption import TAKEN_OUT, adopt
from kubectl_tas.imports.from_cluster import file_amount, level_name, write_topology
from kubectl_tas.imports.kueueobjects import (
    LIMITLESS,
    QUEUE_NAME,
    Flavored,
    Kueue,
    KueueObject,
    KueueReading,
    KueueShare,
    read_kueue,
    summed,
)
from kubectl_tas.imports.written import Imported, Making, Unplaced, Wishes, config, distinct, document, plain_name
from kubectl_tas.load.document import Document
from kubectl_tas.model.config import DEFAULTS, PRIORITY_VALUES, nearest_priority
from kubectl_tas.model.labels import MAX_LABEL, POOL, PRIORITY
from kubectl_tas.model.pool_kinds import MEMORY, UNLIMITED
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import circles_of

PREFIX: str = DEFAULTS.queuePrefix
NAMESPACE = DEFAULTS.backends[0].namespace
WORK = "workflows"
"""The folder for work."""
MAX_WEIGHT = 10**6
"""The largest weight that is written. Larger weights lose digits; only the ratios of weights count."""
_NUMBER = 3
"""Characters for a number that makes names distinct."""
_MEBIBYTE = 2**20
_VERSION = "Set scheduler.version of the backend in tas.yaml to the release of KAI that will run."
_ONLY_LOW = "Only LOW work may hold more than the guarantee of its queue; HIGH and NORMAL work waits for that."


@dataclass(slots=True)
class _Node:
    kind: str
    name: str
    share: KueueShare
    below: list[_Node]
    guarantee: Amounts = Amounts()
    """Nominal quota of the node and of everything below it."""
    maximum: Amounts = Amounts()
    """The most that the node may hold, within the limits of the nodes above it."""
    whole: Mapping[Flavored, int] = field(default_factory=dict)
    """Quotas of the node and of everything below it."""
    lent: Mapping[Flavored, int] = field(default_factory=dict)
    """The part of ``whole`` that the node lends to its cohort."""
    within: Mapping[Flavored, int] = field(default_factory=dict)
    """The most that Kueue lets the node hold, without the amounts that nodes below it keep."""
    covered: frozenset[ResourceName] = frozenset()
    """Resources with a quota anywhere in the tree, and always GPUs. Other resources have no limit."""
    weight: int = 1
    namespaces: tuple[str, ...] = ()
    target: str = ""
    """The resulting pool, or pool--subpool."""


@dataclass(slots=True, kw_only=True)
class _KueueMaking(Making):
    kueue: Kueue
    reading: KueueReading
    becomes: list[str]
    wishes: Wishes = field(default_factory=Wishes)
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Priorities that the user gives to classes."""
    work: list[Document] = field(default_factory=list)


def import_kueue(
    documents: Iterable[Document], context: str | None, chosen: Mapping[str, str] | None = None
) -> tuple[Imported, list[Diagnostic]]:
    """Makes the files for objects of Kueue, and returns errors in the objects. With errors nothing may be written.
    ``chosen`` are the priorities that the user gives to classes, by name.
    """
    reading = KueueReading()
    kueue = read_kueue(documents, reading)
    making = _KueueMaking(kueue=kueue, reading=reading, becomes=[], unplaced=reading.unplaced, chosen=chosen or {})
    if not reading.findings:
        _write(making)
        if making.files:
            backend = {"name": "default", **({"context": context} if context else {})}
            making.write("tas.yaml", "Imported from Kueue.", config({"backends": [backend]}))
    imported = making.done(becomes=making.becomes)
    return replace(imported, wishes=making.wishes, work=tuple(making.work)), reading.findings


def _write(making: _KueueMaking) -> None:
    kueue = making.kueue
    topologies = _topologies(making)
    trees = _trees(making)
    nodes = _nodes_and_below(trees)
    queues = {node.name: node for node in nodes if node.kind == "ClusterQueue"}
    _add_namespaces(making, queues)
    placings = {name: _placing(making, node, topologies) for name, node in queues.items()}
    cohort_of = {id(child): node for node in nodes for child in node.below}
    split = {node.name for node in nodes if node.kind == "Cohort" and _is_split(node, placings)}
    leaves = {id(child) for x in nodes if x.name not in split for child in x.below if child.kind == "ClusterQueue"}
    pools = [node for node in nodes if id(node) not in leaves]
    room = MAX_LABEL - len(names.leaf_queue(PREFIX, NAMESPACE, "", names.SHARED))
    called = distinct(names.shorten(plain_name(node.name), room - _NUMBER) for node in pools)
    for node, name in zip(pools, called, strict=True):
        node.target = name
    for node in pools:
        subpools = [child for child in node.below if id(child) in leaves]
        _write_pool(making, node, cohort_of.get(id(node)), subpools, placings)
    if any(queue.share.upper for queue in queues.values()):
        making.notes.append(_ONLY_LOW)
    if pools:
        making.notes.append(_VERSION)
    _tell_work(making, queues)
    used = frozenset().union(*(share.named for share in (*kueue.queues.values(), *kueue.cohorts.values())))
    for flavor in kueue.objects["ResourceFlavor"].values():
        if flavor.name not in used:
            making.reading.leave(flavor, "no quota names it")


def _add_namespaces(making: _KueueMaking, queues: Mapping[str, _Node]) -> None:
    for local_queue in making.kueue.objects["LocalQueue"].values():
        name = local_queue.text(("spec", "clusterQueue"))
        if local_queue.namespace in SYSTEM_NAMESPACES:
            owner = SYSTEM_NAMESPACES[local_queue.namespace]
            making.reading.leave(local_queue, f"the namespace belongs to {owner}; work of a pool must not run there")
        elif name in queues:
            queues[name].namespaces = tuple(dict.fromkeys((*queues[name].namespaces, local_queue.namespace)))
        elif name in making.kueue.queues:
            making.reading.leave(local_queue, f"ClusterQueue {name} has no place")
        else:
            making.reading.leave(local_queue, f"ClusterQueue {name or '(none)'} is not among what was given")
    for node in queues.values():
        if not node.namespaces:
            reason = "no LocalQueue leads to it: set spec.namespaces to where its work may run"
            making.unplaced.append(Unplaced(node.kind, node.name, reason))


def _trees(making: _KueueMaking) -> list[_Node]:
    """Builds the trees of ClusterQueues and cohorts that can be imported, with their amounts, and returns the roots."""
    kueue = making.kueue
    cohorts = {name: _Node("Cohort", name, share, []) for name, share in sorted(kueue.cohorts.items())}
    queues = [_Node("ClusterQueue", name, share, []) for name, share in sorted(kueue.queues.items())]
    roots = []
    for node in (*cohorts.values(), *queues):
        if node.share.upper:
            cohorts[node.share.upper].below.append(node)
        else:
            roots.append(node)
        if node.kind == "Cohort" and _has_own_quota(node):
            reason = "its own quota goes to the pool's own queue; LOW work of its sibling queues borrows it"
            making.unplaced.append(Unplaced(node.kind, node.name, reason))
    for circle in circles_of({name: share.upper for name, share in kueue.cohorts.items()}):
        for node in _nodes_and_below([cohorts[circle[0]]]):
            making.unplaced.append(Unplaced(node.kind, node.name, _why_circular(circle)))
    every = _nodes_and_below(roots)
    for node in reversed(every):
        node.below = [each for each in node.below if each.kind == "ClusterQueue" or each.below or _has_own_quota(each)]
        own_quota = _writable(node.share.nominal, up=False)
        node.guarantee = _writable(total((own_quota, *(child.guarantee for child in node.below))), up=True)
        node.covered = node.share.covered.union(*(child.covered for child in node.below))
        _count(node)
    placed_roots = [root for root in roots if root.kind == "ClusterQueue" or root.below or _has_own_quota(root)]
    placed = {id(node) for node in _nodes_and_below(placed_roots)}
    for node in every:
        if id(node) not in placed:
            making.unplaced.append(Unplaced(node.kind, node.name, "no ClusterQueue is in it, and it has no quota"))
    for root in placed_roots:
        root.covered |= {"gpu"}
        root.maximum, root.within = root.guarantee, _shareable(root)
    for node in _nodes_and_below(placed_roots):
        for child, weight in zip(node.below, _weights([x.share.weight for x in node.below]), strict=True):
            child.covered, child.weight = node.covered, weight
            child.within = _available(child, node)
            child.maximum = smaller(node.maximum, larger(child.guarantee, _writable(_largest_amounts(child), up=True)))
    for node in _nodes_and_below(placed_roots):
        lacking = [name for name in RESOURCES if name not in node.share.covered] if node.kind == "ClusterQueue" else []
        for is_limited, then in ((True, "nor does KAI"), (False, "here it has no limit")):
            if uncovered := [name for name in lacking if (name in node.covered) == is_limited]:
                reason = f"no quota of {', '.join(uncovered)}: Kueue starts no work that asks for it; {then}"
                making.unplaced.append(Unplaced(node.kind, node.name, reason))
    return placed_roots


def _count(node: _Node) -> None:
    """Computes the quotas of a node, and what it lends to its cohort within its lending limits."""
    whole = {key: quota.nominal for key, quota in node.share.quotas.items()}
    for child in node.below:
        for key, amount in child.whole.items():
            whole[key] = whole.get(key, 0) + amount
    limits = {key: quota.lending for key, quota in node.share.quotas.items() if quota.lending is not None}
    node.whole = whole
    node.lent = {key: min(amount, limits.get(key, amount)) for key, amount in _shareable(node).items()}


def _shareable(node: _Node) -> dict[Flavored, int]:
    """Returns what the queues below a node may share: its own quotas, and what its children lend."""
    shareable = {key: quota.nominal for key, quota in node.share.quotas.items()}
    for child in node.below:
        for key, amount in child.lent.items():
            shareable[key] = shareable.get(key, 0) + amount
    return shareable


def _available(child: _Node, above: _Node) -> dict[Flavored, int]:
    """Computes ``potentialAvailable`` of Kueue 0.19 (pkg/cache/scheduler/resource_node.go), of the flavors that the
    node or a node below names.
    """
    available = {}
    for key, amount in _shareable(child).items():
        quota = child.share.quotas.get(key)
        available[key] = amount - child.lent[key] + above.within.get(key, 0)
        if quota is not None and quota.borrowing is not None:
            available[key] = min(available[key], amount + quota.borrowing)
    return available


def _largest_amounts(node: _Node) -> Amounts:
    """Returns the most that a node may hold, with the amounts that nodes below it keep."""
    seen = _shareable(node)
    return summed({key: amount + node.whole[key] - seen[key] for key, amount in node.within.items()})


def _has_own_quota(node: _Node) -> bool:
    return any(node.share.nominal.of(name) for name in RESOURCES)


def _nodes_and_below(nodes: Sequence[_Node]) -> list[_Node]:
    """Returns these nodes and all nodes below them, parents first, each once, at any depth."""
    all_nodes, seen = list(nodes), {id(node) for node in nodes}
    for node in all_nodes:
        fresh = [child for child in node.below if id(child) not in seen]
        seen.update(map(id, fresh))
        all_nodes += fresh
    return all_nodes


def _why_circular(circle: Sequence[str]) -> str:
    way = " -> ".join((*circle[:5], *(("...",) if len(circle) > 5 else ()), circle[0]))
    return f"the parents of cohorts form a circle, {way}; Kueue starts no work there"


def _weights(weights: Sequence[Fraction]) -> list[int]:
    whole = math.lcm(*(weight.denominator for weight in weights))
    numbers = [int(weight * whole) for weight in weights]
    divisor = math.gcd(*numbers) or 1
    largest = max(numbers, default=0) // divisor
    if largest <= MAX_WEIGHT:
        return [number // divisor for number in numbers]
    return [max(1, number * MAX_WEIGHT // (largest * divisor)) if number else 0 for number in numbers]


def _topologies(making: _KueueMaking) -> dict[str, str]:
    """Writes cluster topologies. Returns the names of the valid ones, by their names in Kueue."""
    topology_names = {}
    for topology in making.kueue.objects["Topology"].values():
        labels = [topology.text((*level, "nodeLabel")) for level in topology.each(("spec", "levels"))]
        levels = list(zip(distinct(level_name(label) for label in labels), labels, strict=True))
        if write_topology(making, topology.name, levels):
            topology_names[topology.name] = topology.name
            making.becomes.append(f"Topology {topology.name}: cluster topology {topology.name}")
    return topology_names


def _placing(making: _KueueMaking, node: _Node, topologies: Mapping[str, str]) -> dict[str, Any]:
    """Returns fields of a pool for the flavors of a ClusterQueue: its nodes, or a platform for each flavor."""
    flavor_objects = making.kueue.objects["ResourceFlavor"]
    missing = [name for name in node.share.flavors if name not in flavor_objects]
    if missing:
        reason = f"flavor {', '.join(missing)} is not among what was given: it says nothing of nodes here"
        making.unplaced.append(Unplaced(node.kind, node.name, reason))
    flavors = {name: flavor_objects[name] for name in node.share.flavors if name in flavor_objects}
    nodes = {name: _nodes(flavor) for name, flavor in flavors.items()}
    pool_fields: dict[str, Any] = {}
    if len(node.share.flavors) == 1:
        pool_fields |= {"nodes": nodes_} if (nodes_ := next(iter(nodes.values()), {})) else {}
    elif any(nodes.values()):
        called = dict(zip(nodes, distinct(names.shorten(name) for name in nodes), strict=True))
        pool_fields["platforms"] = {
            called[name]: {"nodes": flavor_nodes} if flavor_nodes else {} for name, flavor_nodes in nodes.items()
        }
        pool_fields["default_platform"] = next(iter(called.values()))
        reason = f"flavors {', '.join(nodes)}: platforms for workflows; other work names its nodes itself"
        making.unplaced.append(Unplaced(node.kind, node.name, reason))
    wanted_topologies = dict.fromkeys(flavor.text(("spec", "topologyName")) for flavor in flavors.values())
    wanted_topologies.pop("", None)
    for number, name in enumerate(wanted_topologies):
        if name not in topologies:
            making.unplaced.append(Unplaced(node.kind, node.name, f"topology {name} is not among what has a place"))
        elif "topology" in pool_fields:
            reason = f"topology {name} of flavor {list(flavors)[number]}: a pool has one, {pool_fields['topology']}"
            making.unplaced.append(Unplaced(node.kind, node.name, reason))
        else:
            pool_fields["topology"] = topologies[name]
    return pool_fields


def _nodes(flavor: KueueObject) -> dict[str, Any]:
    """Returns the node selector and the tolerations that pods need for a flavor."""
    selector = flavor.value(("spec", "nodeLabels"), dict)
    tolerations = flavor.value(("spec", "tolerations"), list)
    return {**({"selector": selector} if selector else {}), **({"tolerations": tolerations} if tolerations else {})}


def _is_split(node: _Node, placings: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the ClusterQueues of a cohort need different nodes, so that each becomes a pool."""
    queue_placings = [placings[child.name] for child in node.below if child.kind == "ClusterQueue"]
    return any(placing != queue_placings[0] for placing in queue_placings)


def _write_pool(
    making: _KueueMaking,
    node: _Node,
    above: _Node | None,
    subpools: Sequence[_Node],
    placings: Mapping[str, Mapping[str, Any]],
) -> None:
    spec: dict[str, Any] = {"parent": above.target} if above else {}
    queue_nodes = subpools or [node]
    namespaces = list(dict.fromkeys(name for queue_node in queue_nodes for name in queue_node.namespaces))
    spec |= {"namespaces": namespaces} if namespaces else {}
    spec["resources"] = {
        name: {
            "guarantee": _written(name, node.guarantee),
            "maximum": _maximum(name, node, above),
            "weight": node.weight,
        }
        for name in RESOURCES
        if name in node.covered
    }
    spec |= placings.get(queue_nodes[0].name, {}) if queue_nodes[0].kind == "ClusterQueue" else {}
    data = document("Pool", node.target, spec)
    making.write(f"pools/{node.target}.yaml", f"Imported: {node.kind} {node.name}.", data)
    making.becomes.append(f"{node.kind} {node.name}: pool {node.target}")
    room = MAX_LABEL - len(f"{node.target}{names.SEPARATOR}") - _NUMBER
    plain = (names.shorten(plain_name(queue_node.name), room) for queue_node in subpools)
    called = (f"{name}-queue" if name == names.SHARED else name for name in plain)
    for queue_node, name in zip(subpools, distinct(called), strict=True):
        queue_node.target = f"{node.target}{names.SEPARATOR}{name}"
        if lost := [resource for resource in _finite(queue_node) if resource not in _finite(node)]:
            reason = f"the guarantee of {', '.join(lost)}: pool {node.target} has no limit of it"
            making.unplaced.append(Unplaced(queue_node.kind, queue_node.name, reason))
        data = document("Subpool", name, _subpool(node, queue_node, name, namespaces))
        making.write(f"subpools/{queue_node.target}.yaml", f"Imported: {queue_node.kind} {queue_node.name}.", data)
        making.becomes.append(f"{queue_node.kind} {queue_node.name}: subpool {queue_node.target}")


def _finite(node: _Node) -> list[ResourceName]:
    covered = (resource for resource in RESOURCES if resource in node.covered)
    return [resource for resource in covered if node.guarantee.of(resource) < LIMITLESS[resource]]


def _maximum(name: ResourceName, node: _Node, above: _Node | None) -> int | str:
    """Returns the limit of a pool; "no limit" if the pool above has the same limit."""
    return UNLIMITED if above and node.maximum.of(name) == above.maximum.of(name) else _written(name, node.maximum)


def _subpool(pool: _Node, node: _Node, name: str, namespaces: Sequence[str]) -> dict[str, Any]:
    finite = _finite(pool)
    quota = {resource: _written(resource, node.guarantee) for resource in finite}
    maximum = {x: _written(x, node.maximum) for x in finite if node.maximum.of(x) != pool.maximum.of(x)}
    spec: dict[str, Any] = {"parent": pool.target, "quota": quota["gpu"] if finite == ["gpu"] else quota}
    spec |= {"maximum": maximum} if maximum else {}
    spec |= {"weight": node.weight} if node.weight != pool.weight else {}
    spec |= {"namespaces": list(node.namespaces)} if node.namespaces not in ((), tuple(namespaces)) else {}
    queue = names.leaf_queue(PREFIX, NAMESPACE, pool.target, name)
    spec |= {"queue": {"name": names.shorten(queue)}} if len(queue) > MAX_LABEL else {}
    return {**spec, "state": "ACTIVE"}


def _writable(amounts: Amounts, *, up: bool) -> Amounts:
    """Rounds memory ``up`` or down to whole mebibytes if no unit of a file can express it, as with 100M + 1Gi."""
    memory = amounts.memory
    if not memory or re.fullmatch(MEMORY, show("memory", memory)):
        return amounts
    return replace(amounts, memory=(int(memory) + up * (_MEBIBYTE - 1)) // _MEBIBYTE * _MEBIBYTE)


def _written(name: ResourceName, amounts: Amounts) -> int | str:
    """Returns an amount in the form that files use."""
    return UNLIMITED if amounts.of(name) >= LIMITLESS[name] else file_amount(name, amounts)


def _tell_work(making: _KueueMaking, queues: Mapping[str, _Node]) -> None:
    """Says what LocalQueues and priority classes become, and what that means for work."""
    kueue = making.kueue
    targets = {
        key: queues[name].target
        for key, kueue_object in kueue.objects["LocalQueue"].items()
        if (name := kueue_object.text(("spec", "clusterQueue"))) in queues
        and kueue_object.namespace in queues[name].namespaces
    }
    making.becomes += (f"LocalQueue {key}: label {POOL}: {target}" for key, target in targets.items())
    priorities = {}
    for kueue_object in kueue.objects["WorkloadPriorityClass"].values():
        value = kueue_object.value(("value",), int)
        priorities[kueue_object.name] = nearest = making.chosen.get(kueue_object.name) or nearest_priority(value)
        label = f"label {PRIORITY}: {nearest} ({PRIORITY_VALUES[nearest]})"
        making.becomes.append(f"WorkloadPriorityClass {kueue_object.name} ({value}): {label}")
    for priority in dict.fromkeys(priorities.values()):
        classes = [name for name, nearest in priorities.items() if nearest == priority and name not in making.chosen]
        if len(classes) > 1:
            reason = f"all become {priority}; choose otherwise with --priority-class NAME=LOW, NORMAL or HIGH"
            making.unplaced.append(Unplaced("WorkloadPriorityClass", ", ".join(classes), reason))
    making.wishes = Wishes("", targets, priorities)
    for kueue_object in kueue.work:
        queue = kueue_object.text(("metadata", "labels", QUEUE_NAME))
        if f"{kueue_object.namespace}/{queue}" not in targets:
            reason = f"LocalQueue {kueue_object.namespace}/{queue} has no place"
            making.unplaced.append(Unplaced(kueue_object.kind, kueue_object.name, reason))
        else:
            making.work.append(kueue_object.document)


def with_work(imported: Imported, texts: Mapping[str, str], fleet: Fleet) -> tuple[Imported, list[Diagnostic]]:
    """Adds the work that was read, as the imported pools want it. ``texts`` are the files that were read, by the path
    in their documents; ``fleet`` has the pools.
    """
    only = {(document.path, document.index, document.within) for document in imported.work}
    files = {path: texts[path] for path, _, _ in sorted(only, key=str)}
    adopted = adopt(files, fleet, imported.wishes, only)
    called = distinct(PurePosixPath(path).stem.strip("<>") for path in adopted.texts)
    work_files = {
        f"{WORK}/{name}{PurePosixPath(path).suffix or '.yaml'}": text
        for name, (path, text) in zip(called, adopted.texts.items(), strict=True)
    }
    unequal = (each for each in adopted.unequal if not each.reason.startswith(TAKEN_OUT))
    return (
        replace(
            imported,
            files={**imported.files, **work_files},
            becomes=(*imported.becomes, *adopted.becomes),
            unplaced=(*imported.unplaced, *unequal),
        ),
        adopted.refusals,
    )
