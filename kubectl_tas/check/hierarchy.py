"""Checks the levels of topologies (coarsest first, unique keys and labels) and the bindings of cluster topologies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule
from kubectl_tas.check.conflicts import repetitions
from kubectl_tas.check.versions import needs_kai
from kubectl_tas.facts import grove
from kubectl_tas.facts.kai import Feature
from kubectl_tas.facts.node_places import HOSTNAME, is_coarser, rank
from kubectl_tas.kinds import SET
from kubectl_tas.model.base import QUALIFIED_NAME
from kubectl_tas.model.topology_kinds import DOMAINS, ClusterTopology
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.resolve.topologies import FleetTopology, Level

WELL_KNOWN = {
    "topology.kubernetes.io/region": "region",
    "topology.kubernetes.io/zone": "zone",
    HOSTNAME: "host",
}
"""The domains that Kubernetes' own node labels mark."""
MAX_LEVELS = 16

TOPOLOGY_SCHEDULER = Rule.error(
    "topology-scheduler",
    "A pool has a topology, but its backend's scheduler is not KAI.",
    "Only KAI places pods by topology. Other schedulers ignore the keys. Remove them, or use a backend with scheduler "
    "type kai.",
)
TOPOLOGY_TWICE = Rule.error(
    "topology-twice",
    "A pool has topology_keys and names a cluster topology too.",
    "A pool has one hierarchy. Keep one of the two fields.",
)
LEVEL_DUPLICATE = Rule.error(
    "level-duplicate",
    "Two levels of a topology share a key, a domain or a node label.",
    "KAI refuses a Topology whose labels repeat, and a key must name one level. Remove or rename one.",
)
LEVEL_COUNT = Rule.error(
    "level-count",
    "A topology has more than 16 levels.",
    "KAI's Topology accepts at most 16. Leave out levels that no workload asks for.",
)
LEVEL_LABEL_INVALID = Rule.error(
    "level-label-invalid",
    "A level's node label is one that KAI's Topology refuses.",
    "Grove accepts upper case in the part before '/', but KAI refuses such a Topology. No node can carry such a label "
    "either.",
)
LEVEL_ALIAS_COLLISION = Rule.error(
    "level-alias-collision",
    "A level's key is the node label of another level.",
    "From KAI 0.17 the key becomes the level's alias, and KAI refuses an alias that is a node label of the "
    "same Topology. Rename the key.",
)
HOSTNAME_NOT_LAST = Rule.error(
    "hostname-not-last",
    "kubernetes.io/hostname is above another level.",
    "No level is finer than a single node, and KAI refuses it anywhere else. Write levels from the coarsest to the "
    "finest, and move this one to the end.",
)
DOMAIN_ORDER = Rule.warning(
    "domain-order",
    "The domains of a topology, or the keys of a pool, are in another order than Grove's.",
    "The order of the list is the hierarchy: a rack above a zone means that racks contain zones. Grove's own domains "
    "are region, zone, datacenter, block, rack, host, numa, in this order; up to 0.1.0-alpha.8 Grove knows no other. "
    "In a pool, Kubernetes' own node labels give the order, whatever the keys are called. Labels of Topograph, GKE, "
    "EKS and CoreWeave have an order too: tier-0 is next to the node. Domains with other names may stand anywhere.",
)
TOPOLOGY_BINDING = Rule.error(
    "topology-binding",
    "A topology binding does not fit its cluster topology, its scheduler or the gangs.",
    "KAI places work by the levels of the bound Topology, so it never finds a level that this Topology lacks. Grove's "
    "webhook refuses a scheduler that it does not know, or that does not place by topology, such as default-scheduler. "
    "The PodGangs of sets carry the name of the cluster topology, whatever is bound, and KAI looks for a Topology of "
    "that name. The field belongs to the later kind, ClusterTopologyBinding; the API server drops it from the earlier "
    "one.",
)
_FIELD = "schedulerTopologyBindings"


def _fields(topology: FleetTopology) -> tuple[str, str]:
    """Returns the names of the fields for a level's key and node label in the document."""
    return ("key", "label") if topology.pool else ("domain", "key")


def check_pool_topology(pool: FleetPool, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks that a pool has at most one hierarchy, and a scheduler that places by it."""
    spec, declared = pool.declared.spec.spec, pool.declared
    field = "topology" if spec.topology is not None else "topology_keys"
    if spec.topology is not None and spec.topology_keys:
        message = f"pool {pool.name} has topology_keys and a topology; it can have one hierarchy"
        hint = "Remove one of the two fields."
        yield Diagnostic(TOPOLOGY_TWICE, message, declared.at_key("spec", "topology_keys"), hint=hint)
    if not pool.backend.is_kai and (spec.topology is not None or spec.topology_keys):
        message = needs_kai(pool.backend, field)
        location = declared.at_key("spec", field)
        hint = f"Remove {field}, or set scheduler.type of the backend to kai."
        yield Diagnostic(TOPOLOGY_SCHEDULER, message, location, hint=hint, cause=pool.backend.type_place)


def check_topology(topology: FleetTopology, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the levels of a cluster topology, or of a pool's own."""
    key, label = _fields(topology)
    yield from _duplicates(topology, key, [level.key for level in topology.levels])
    yield from _duplicates(topology, label, [level.label for level in topology.levels])
    # Checks the order of levels with a known domain, by Grove's words, and in pools also by node labels; and that of
    # levels whose labels contain each other.
    reported_indexes = set()
    known_domains = [
        (index, domain) for index, level in enumerate(topology.levels) if (domain := _domain(topology, level))
    ]
    for (_, coarse), (index, fine) in pairwise(known_domains):
        if DOMAINS.index(fine) < DOMAINS.index(coarse):
            message = f"{fine} is below {coarse}, but a {fine} is usually larger than a {coarse}"
            location = _at(topology, index, _says(topology, topology.levels[index]))
            order = f"The order is {', '.join(DOMAINS)}"
            hint = f"{order}; levels are written from the coarsest to the finest." if topology.pool else f"{order}."
            reported_indexes.add(index)
            yield Diagnostic(DOMAIN_ORDER, message, location, hint=hint)
    for index, level in enumerate(topology.levels):
        labels_above = [upper.label for upper in topology.levels[:index] if upper.label != HOSTNAME]
        above = [label for label in labels_above if is_coarser(level.label, label)]
        if above and index not in reported_indexes:
            message = f"{level.label} is below {above[-1]}, but its domains are the larger ones"
            labels = sorted({*above, level.label}, key=rank)
            hint = f"The order is {', '.join(labels)}; levels are written from the coarsest to the finest."
            yield Diagnostic(DOMAIN_ORDER, message, _at(topology, index, _fields(topology)[1]), hint=hint)
    backends = (topology.backend,) if topology.backend else fleet.backends
    if any(topology.is_created_on(backend) for backend in backends):
        yield from _for_kai(topology, aliases=any(backend.has(Feature.LEVEL_ALIAS) for backend in backends))


def _for_kai(topology: FleetTopology, *, aliases: bool) -> Iterator[Diagnostic]:
    """Checks what KAI requires of the Topology that ``render`` makes."""
    (key, label), levels = _fields(topology), topology.levels
    if len(levels) > MAX_LEVELS:
        message = f"the topology has {len(levels)} levels; KAI accepts {MAX_LEVELS}"
        hint = "Leave out levels that no workload asks for."
        yield Diagnostic(LEVEL_COUNT, message, _at(topology, MAX_LEVELS, key), hint=hint)
    for index, level in enumerate(levels):
        if level.label == HOSTNAME and index < len(levels) - 1:
            message = f"no level can be finer than {HOSTNAME}, but {levels[index + 1].key} is below it"
            hint = "A Topology of KAI ends at the host: remove what is finer, and move what is coarser up."
            yield Diagnostic(HOSTNAME_NOT_LAST, message, _at(topology, index, label), hint=hint)
        if not re.fullmatch(QUALIFIED_NAME, level.label):
            message = f'KAI refuses the node label "{level.label}"'
            message += ": the part before the '/' must be a DNS name in lower case"
            prefix, slash, name = level.label.partition("/")
            lower = f"{prefix.lower()}{slash}{name}"
            is_qualified = re.fullmatch(QUALIFIED_NAME, lower) is not None
            hint = (
                f"Write {lower}; no node can carry the other."
                if is_qualified
                else "Write a label that nodes can carry."
            )
            yield Diagnostic(LEVEL_LABEL_INVALID, message, _at(topology, index, label), hint=hint)
        if aliases and level.key in [other_level.label for other_level in levels if other_level is not level]:
            message = f'the key "{level.key}" is the node label of another level'
            yield Diagnostic(LEVEL_ALIAS_COLLISION, message, _at(topology, index, key), hint="Rename the key.")


def _duplicates(topology: FleetTopology, field: str, values: Iterable[str]) -> Iterator[Diagnostic]:
    for value, earlier, index in repetitions((value, index) for index, value in enumerate(values)):
        message = f'the {field} "{value}" is already that of level {earlier + 1}'
        related = (Related("the other level", _at(topology, earlier, field)),)
        yield Diagnostic(LEVEL_DUPLICATE, message, _at(topology, index, field), related, hint="Remove or rename one.")


def _domain(topology: FleetTopology, level: Level) -> str | None:
    """Returns Grove's domain for a level; None if neither its key nor its label tells."""
    if _says(topology, level) == "label":
        return WELL_KNOWN[level.label]
    return level.key if level.key in DOMAINS else None


def _says(topology: FleetTopology, level: Level) -> str:
    return "label" if topology.pool and level.label in WELL_KNOWN else _fields(topology)[0]


def _at(topology: FleetTopology, index: int, field: str) -> Location:
    return topology.declared.at(*topology.path, index, field)


def check_bindings(topology: FleetTopology, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the bindings of a cluster topology."""
    spec = topology.declared.spec
    if isinstance(spec, ClusterTopology) and spec.kind == "ClusterTopology" and topology.bindings:
        location = topology.declared.at_key("spec", _FIELD)
        message = f"a ClusterTopology has no {_FIELD}; the API server drops it"
        yield Diagnostic(TOPOLOGY_BINDING, message, location, hint="Write kind: ClusterTopologyBinding, or remove it.")
    names = ((binding.schedulerName, index) for index, binding in enumerate(topology.bindings))
    for name, earlier, index in repetitions(names):
        related = Related("the first one", topology.declared.at("spec", _FIELD, earlier, "schedulerName"))
        message = f'the scheduler "{name}" has two bindings; one cluster topology is one Topology'
        location = topology.declared.at("spec", _FIELD, index, "schedulerName")
        yield Diagnostic(TOPOLOGY_BINDING, message, location, (related,), hint="Remove one of them.")
    # Bindings that Grove's webhook refuses (validateSchedulerTopologyReferences, 0.1.0-alpha.9 and later). If
    # the OperatorConfiguration names schedulers, only those are known.
    known_schedulers = tuple(
        dict.fromkeys(name for backend in fleet.backends for name in backend.grove_release.schedulers)
    )
    operator = fleet.grove.operator
    enabled = [profile.name for profile in operator.spec.scheduler.profiles] if operator else []
    for index, binding in enumerate(topology.bindings if known_schedulers else ()):
        name = binding.schedulerName
        if name not in known_schedulers:
            message = (
                f'Grove knows no scheduler "{name}", and refuses the binding; it knows {", ".join(known_schedulers)}'
            )
        elif name != grove.KAI_SCHEDULER:
            message = f'Grove does not place by topology with the scheduler "{name}", and refuses the binding'
        elif enabled and name not in enabled:
            message = f"the OperatorConfiguration has no profile {name}, so Grove refuses the binding"
        else:
            continue
        location = topology.declared.at("spec", _FIELD, index, "schedulerName")
        hint = f"Only {grove.KAI_SCHEDULER} places by topology; remove the binding, or name that."
        yield Diagnostic(TOPOLOGY_BINDING, message, location, hint=hint)
    yield from _other_name(fleet, topology)


def _other_name(fleet: Fleet, topology: FleetTopology) -> Iterator[Diagnostic]:
    """Finds bindings to a Topology with another name than Grove writes into PodGangs (podgang.go, buildResource)."""
    if not topology.bindings:
        return
    names = {other_topology.name_on(backend) for backend in fleet.backends for other_topology in fleet.topologies}
    for backend in fleet.backends:
        bound = topology.binding(backend)
        users = [s for s in fleet.pod_clique_sets if s.topology == topology and s.backend == backend]
        if users and bound not in (None, topology.name) and topology.name not in names:
            message = (
                f'the gangs of the {SET.kind} {users[0].name} ask for the Topology "{topology.name}", '
                f'not for "{bound}" that is bound here: Grove writes the name of the cluster topology'
            )
            hint = f"Bind the Topology {topology.name}, or remove the binding: `render` then writes that Topology."
            yield Diagnostic(TOPOLOGY_BINDING, message, _place(topology, backend), hint=hint)


def check_bound_levels(backend: FleetBackend, fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds cluster topologies of one backend that share a Topology but have different levels."""
    first_by_name: dict[str, FleetTopology] = {}
    topologies_there = [topology for topology in fleet.topologies if topology.backend in (None, backend)]
    for topology in sorted(topologies_there, key=lambda item: item.binding(backend) is not None):
        name = topology.name_on(backend)
        earlier = first_by_name.setdefault(name, topology)
        labels, earlier_labels = ([level.label for level in t.levels] for t in (topology, earlier))
        if earlier is not topology and topology.binding(backend) is not None and labels != earlier_labels:
            message = (
                f'the Topology "{name}" is bound here with the levels {" > ".join(labels)}, '
                f"but has {' > '.join(earlier_labels)}"
            )
            related = (Related(f"the levels of {name}", earlier.declared.at_key(*earlier.path)),)
            hint = "Bind a Topology that has these levels, or declare the same ones here."
            yield Diagnostic(TOPOLOGY_BINDING, message, _place(topology, backend), related, hint=hint)


def _place(topology: FleetTopology, backend: FleetBackend) -> Location:
    scheduler_name = backend.scheduler_name
    index = next(n for n, b in enumerate(topology.bindings) if b.schedulerName == scheduler_name)
    return topology.declared.at("spec", _FIELD, index, "topologyReference")
