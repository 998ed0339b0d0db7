"""Checks the placement of PodCliqueSets against the three rules of Grove's webhook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_tas.base.diagnostics import Diagnostic, Related, Rule
from kubectl_tas.base.late import dataclass
from kubectl_tas.check.hierarchy import TOPOLOGY_SCHEDULER
from kubectl_tas.check.placement_rules import check_order
from kubectl_tas.check.versions import needs_kai
from kubectl_tas.facts.grove import DEFAULT_TOPOLOGY, TEMPLATE
from kubectl_tas.kinds import SET
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.topology_kinds import DOMAINS
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.podcliqueset import FleetPodCliqueSet

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import PackConstraint

PACK_DOMAIN_UNKNOWN = Rule.error(
    "pack-domain-unknown",
    "A Grove set asks for a domain that its cluster topology lacks (Grove's rule 1).",
    "Grove's webhook refuses a new set with such a domain. In a deployed set, Grove drops the constraint and sets the "
    "condition TopologyLevelsUnavailable. Ask for a domain of the topology, or name another topology.",
)
PACK_HIERARCHY = Rule.error(
    "pack-hierarchy",
    "A child of a Grove set asks for a broader domain than its parent (Grove's rule 2).",
    "From a set to its scaling groups to its cliques, a domain may stay equal or become narrower: pods within one rack "
    "cannot need one zone in addition. Grove compares required domains with required ones, and preferred with "
    "preferred ones. Its webhook refuses such a set.",
)
PACK_EMPTY = Rule.error(
    "pack-empty",
    "A topologyConstraint names no domain, or names one in both spellings.",
    "packDomain (up to Grove 0.1.0-alpha.9) and pack.required (later) are two spellings of one field. kubectl-tas "
    "reads either, and writes the one of the release. Write one of them. If you need no placement, leave "
    "topologyConstraint out.",
)
SET_TOPOLOGY_UNKNOWN = Rule.error(
    "set-topology-unknown",
    "A Grove set names an unknown cluster topology (Grove's rule 3).",
    "Grove's webhook refuses a new set with such a name. In a deployed set, the condition TopologyLevelsUnavailable "
    "becomes Unknown. Correct the name, or declare the ClusterTopology.",
)
SET_TOPOLOGY_UNUSED = Rule.error(
    "set-topology-unused",
    "A Grove set names a cluster topology but asks for no domain (Grove's rule 3).",
    "Without a constraint at the set, a scaling group or a clique, the topology has no effect, and Grove's webhook "
    "refuses the set. Add a constraint, or remove the name.",
)
SET_TOPOLOGY_MIXED = Rule.error(
    "set-topology-mixed",
    "A Grove set refers to two cluster topologies (Grove's rule 3).",
    "Grove places a gang within one hierarchy, so a set has one topology. A constraint without a name takes that of "
    "the part above it, or else grove-topology. Name it once, at the set.",
)
SET_TOPOLOGY_DEFAULT = Rule.warning(
    "set-topology-default",
    "A Grove set uses grove-topology, which is not declared.",
    "Sets that name no topology use grove-topology. Up to 0.1.0-alpha.8 Grove makes it from the configuration of its "
    "operator. Later it is a ClusterTopologyBinding like any other, and Grove refuses a set whose topology the cluster "
    "lacks. Without its levels, kubectl-tas cannot check the domains and writes no preview. Declare it, put the "
    "OperatorConfiguration into the repository, or name another cluster topology.",
)
TAS_DISABLED = Rule.error(
    "tas-disabled",
    "A Grove set asks for placement, which Grove's operator has disabled (Grove's rule 3).",
    "With topologyAwareScheduling.enabled: false, Grove's webhook refuses every set that names a cluster topology or "
    "has a constraint. Enable it in the OperatorConfiguration, or remove what the message names.",
)


def check_grove(clique_set: FleetPodCliqueSet, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the placement of a PodCliqueSet."""
    for constraint, path in clique_set.spec.constraints:
        if constraint.packDomain is not None and constraint.pack is not None and constraint.pack.required is not None:
            message = "packDomain and pack.required are two spellings of one thing; write one of them"
            location = clique_set.declared.at_key(*path, "packDomain")
            yield Diagnostic(PACK_EMPTY, message, location, hint="Remove packDomain or pack.required.")
        elif not constraint.asks and (constraint.topologyName is None or constraint.pack is not None):
            location = clique_set.declared.at_key(*path)
            domains = [level.key for level in clique_set.topology.levels] if clique_set.topology else DOMAINS
            hint = f"Add pack.required with one of {', '.join(domains)}, or remove topologyConstraint."
            yield Diagnostic(PACK_EMPTY, "this topologyConstraint names no domain", location, hint=hint)
    if fleet.grove.is_disabled:
        assert fleet.grove.operator is not None
        operator, block = fleet.grove.operator, "topologyAwareScheduling"
        if operator.origin.value((block,)) is None:
            related = (Related(f"the OperatorConfiguration has no {block}", operator.at("kind")),)
        else:
            related = (Related("disabled here", operator.at(block, "enabled")),)
        hint = f"Set {block}.enabled to true in the OperatorConfiguration, or remove this from the set."
        for name, path in clique_set.spec.named:
            message = (
                f'rule 3: the {SET.kind} names the cluster topology "{name}", but topology-aware scheduling is disabled'
            )
            yield Diagnostic(TAS_DISABLED, message, clique_set.declared.at(*path), related, hint=hint)
        for asks, _ in _all_asks(clique_set):
            for ask in asks:
                message = f"rule 3: {ask.owner} asks for one {ask.domain}, but topology-aware scheduling is disabled"
                yield Diagnostic(TAS_DISABLED, message, clique_set.declared.at(*ask.path), related, hint=hint)
        return
    yield from _reference(clique_set)
    # Checks rule 1: the cluster topology has each domain that the set asks for.
    if clique_set.topology is not None:
        level_keys = [level.key for level in clique_set.topology.levels]
        for asks, _ in _all_asks(clique_set):
            for ask in asks:
                if ask.domain not in level_keys:
                    message = (
                        f"rule 1: {ask.owner} asks for one {ask.domain}, but the cluster topology "
                        f'"{clique_set.topology.name}" '
                        f"has only {' > '.join(level_keys)}"
                    )
                    hint = f"Use one of {', '.join(level_keys)}, or name a cluster topology with {ask.domain}."
                    yield Diagnostic(PACK_DOMAIN_UNKNOWN, message, clique_set.declared.at(*ask.path), hint=hint)
    yield from _hierarchy(clique_set)
    yield from _scheduler(clique_set)


def check_default_topology(clique_set: FleetPodCliqueSet, fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds a PodCliqueSet that uses grove-topology although no file declares grove-topology."""
    is_unknown = clique_set.topology is None and not fleet.grove.is_disabled
    if clique_set.spec.topology_name == DEFAULT_TOPOLOGY and is_unknown and clique_set.spec.asks:
        message = f"the {SET.kind} uses {DEFAULT_TOPOLOGY}, which is not declared here, so its domains are not checked"
        hint = "Add Grove's OperatorConfiguration, or name a cluster topology."
        if clique_set.backend is not None and clique_set.backend.grove_release.has_names:
            message = f"{message}; where the cluster has no such ClusterTopologyBinding, Grove refuses the set"
            hint = "Declare it under topologies/, or name another cluster topology."
        yield Diagnostic(
            SET_TOPOLOGY_DEFAULT, message, clique_set.place_of(clique_set.spec.references[0][1]), hint=hint
        )


@dataclass(frozen=True, slots=True)
class _Ask:
    """One domain that a part of a PodCliqueSet asks for."""

    owner: str
    """Part of the set that asks, in words."""
    kind: str
    """Either "required" or "preferred"."""
    domain: str
    path: KeyPath


def _asks(owner: str, constraint: PackConstraint | None, path: KeyPath) -> tuple[_Ask, ...]:
    """Returns the domains that the constraint of the part at ``path`` names."""
    if constraint is None:
        return ()
    base = (*path, "topologyConstraint")
    required = (*base, *constraint.required_at)
    constraints = (
        ("required", constraint.required, required),
        ("preferred", constraint.preferred, (*base, "pack", "preferred")),
    )
    return tuple(_Ask(owner, kind, domain, ask_path) for kind, domain, ask_path in constraints if domain is not None)


def _all_asks(clique_set: FleetPodCliqueSet) -> Iterator[tuple[tuple[_Ask, ...], tuple[tuple[_Ask, ...], ...]]]:
    """Yields the domains that each part of a set asks for, with the domains of its parents, nearest parent first."""
    top = _asks(f"the {SET.kind}", clique_set.declared.spec.spec.template.topologyConstraint, TEMPLATE)
    yield top, ()
    for scaled in clique_set.groups:
        yield _asks(f'the scaling group "{scaled.name}"', scaled.spec.topologyConstraint, scaled.path), (top,)
    for clique in clique_set.cliques:
        group = clique_set.group_of(clique)
        set_asks = _asks(f'the clique "{clique.name}"', clique.spec.topologyConstraint, clique.path)
        if group is None:
            yield set_asks, (top,)
        else:
            yield set_asks, (_asks(f'its scaling group "{group.name}"', group.spec.topologyConstraint, group.path), top)


def _reference(clique_set: FleetPodCliqueSet) -> Iterator[Diagnostic]:
    declared = clique_set.declared
    if clique_set.spec.named and not clique_set.spec.asks:
        name, path = clique_set.spec.named[0]
        message = (
            f'rule 3: the {SET.kind} names the cluster topology "{name}", but neither it nor a scaling group or '
            "clique asks for a domain"
        )
        hint = "Add a topologyConstraint, or remove the name."
        yield Diagnostic(SET_TOPOLOGY_UNUSED, message, declared.at(*path), hint=hint)
    references = clique_set.spec.references
    for name, path in references[1:]:
        first_name, where = references[0]
        if name != first_name:
            is_default = path[-1] == "topologyConstraint"
            meaning = f'this constraint names none, so it means "{name}"' if is_default else f'this is "{name}"'
            message = f'rule 3: one set has one cluster topology, and that is "{first_name}", but {meaning}'
            related = (Related(f'"{first_name}" is meant here', clique_set.place_of(where)),)
            hint = "Name it once, at the set; scaling groups and cliques inherit it."
            yield Diagnostic(SET_TOPOLOGY_MIXED, message, clique_set.place_of(path), related, hint=hint)


def _hierarchy(clique_set: FleetPodCliqueSet) -> Iterator[Diagnostic]:
    """Checks rule 2: no part asks for a broader domain than a parent. Reports the nearest such parent.

    As Grove does (topologyconstraints.go, validateHierarchicalTopologyConstraints), it compares required domains with
    required ones, and preferred with preferred. Rule 1 covers unknown domains.
    """
    order = tuple(level.key for level in clique_set.topology.levels) if clique_set.topology else DOMAINS
    for asks, parents in _all_asks(clique_set):
        known_asks = [ask for ask in asks if ask.domain in order]
        for ask in known_asks:
            above = [p for a in parents for p in a if p.kind == ask.kind and p.domain in order]
            wider = next((parent for parent in above if order.index(ask.domain) < order.index(parent.domain)), None)
            if wider is not None:
                limits = [
                    *above,
                    *(n for n in known_asks if n.kind == "required" and n is not ask),
                ]
                narrowest = max(limits, key=lambda limit: (order.index(limit.domain), limit.owner == ask.owner))
                # A domain broader than the parent's. The hint offers the domains that `narrowest` still
                # allows.
                between = order[order.index(ask.domain) : order.index(wider.domain) + 1]
                message = (
                    f"rule 2: {ask.owner} asks for one {ask.domain}, but {wider.owner} for one {wider.domain}, "
                    f"which is narrower ({' > '.join(between)}); a child asks for the same or less"
                )
                related = (Related(f"{wider.owner} asks for {wider.domain}", clique_set.declared.at(*wider.path)),)
                narrower = order[order.index(narrowest.domain) + (narrowest.owner == ask.owner) :]
                advice = f"Ask for {' or '.join(narrower)} here" if narrower else "Leave it out"
                hint = f"{advice}, or ask for a broader domain above."
                yield Diagnostic(PACK_HIERARCHY, message, clique_set.declared.at(*ask.path), related, hint=hint)
        if len(known_asks) == 2:
            required, preferred = known_asks
            yield from check_order(order, required.domain, preferred.domain, clique_set.declared.at(*preferred.path))


def _scheduler(clique_set: FleetPodCliqueSet) -> Iterator[Diagnostic]:
    if clique_set.backend is not None and not clique_set.backend.is_kai and clique_set.spec.asks:
        message = needs_kai(clique_set.backend, "topologyConstraint")
        location = clique_set.declared.at_key(*clique_set.spec.constraints[0][1])
        hint = "Remove the constraints, or use a pool of another backend."
        yield Diagnostic(TOPOLOGY_SCHEDULER, message, location, hint=hint, cause=clique_set.backend.type_place)
