"""Suggests the levels of a topology from the labels of nodes, in the order in which their domains nest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import shortened
from kubectl_tas.facts.node_places import HOSTNAME, place_of, rank
from kubectl_tas.live.live_cluster import LiveNode

_SHOWN = 5
_MOST_OUTSIDE = 0.1
"""Fraction of nodes that may lack a suggested label. These nodes are then outside of the topology."""


@json_fields("name nodes gpus")
class DomainNodes(NamedTuple):
    """A domain of nodes."""

    name: str
    nodes: int
    gpus: int


@json_fields("key label setBy=maker|null nodesWithout=lacking domains=counted")
@dataclass(frozen=True)
class Domains:
    """The domains of one label."""

    label: str
    key: str
    """Name of the level."""
    maker: str
    """The tool that sets the label; empty if unknown."""
    nodes: Mapping[str, tuple[LiveNode, ...]]
    """Nodes by the value of the label."""
    lacking: tuple[str, ...]
    """Sorted names of nodes without the label."""

    @property
    def counted(self) -> tuple[DomainNodes, ...]:
        """The domains with their numbers of nodes and GPUs."""
        return tuple(DomainNodes(name, len(nodes), sum(x.gpus for x in nodes)) for name, nodes in self.nodes.items())

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """Numbers of nodes in the smallest and in the largest domain."""
        sizes = [len(nodes) for nodes in self.nodes.values()]
        return min(sizes), max(sizes)

    @cached_property
    def gpus(self) -> tuple[int, int]:
        """Fewest and most GPUs of a domain."""
        gpus = [sum(node.gpus for node in nodes) for nodes in self.nodes.values()]
        return min(gpus), max(gpus)

    def split(self, coarser: Domains) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yields the domains with nodes in several domains of ``coarser``, each with these coarser domains."""
        return split(self.nodes, coarser.label)


@json_fields(
    "key=level.key label=level.label setBy=level.maker|null nodesWithout=level.lacking domains=level.counted reason"
)
class UnusedLabel(NamedTuple):
    """A node label that is not a level, and the reason."""

    level: Domains
    reason: str


@json_fields("version:1 nodes=considered withoutGpus=nodes_without_gpus levels leftOut=left_out")
@dataclass(frozen=True, slots=True)
class SuggestedLevels:
    """A suggested topology for some nodes."""

    considered: int
    """Number of considered nodes: nodes with GPUs, or all nodes if none has GPUs."""
    nodes_without_gpus: int
    """Number of other nodes, which have no GPUs."""
    levels: tuple[Domains, ...]
    """Levels from the coarsest to the finest."""
    left_out: tuple[UnusedLabel, ...]
    """The other labels."""


def split(domains: Mapping[str, Sequence[LiveNode]], coarser: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields the domains with several values of the label ``coarser``, each with these values."""
    for name in sorted(domains):
        above = {node.labels[coarser] for node in domains[name] if coarser in node.labels}
        if len(above) > 1:
            yield name, tuple(sorted(above))


def domains_of(nodes: Sequence[LiveNode], label: str) -> dict[str, tuple[LiveNode, ...]]:
    """Returns the nodes that have a label, by its value."""
    nodes_by_value: dict[str, list[LiveNode]] = defaultdict(list)
    for node in nodes:
        if label in node.labels:
            nodes_by_value[node.labels[label]].append(node)
    return {name: tuple(nodes_by_value[name]) for name in sorted(nodes_by_value)}


def suggest(nodes: Sequence[LiveNode], labels: Sequence[str] = ()) -> SuggestedLevels:
    """Suggests levels for nodes, from labels that are known to name places, or only from ``labels``. If labels do not
    nest, labels that join GPUs take precedence, then zones, then coarser labels.
    """
    considered = [node for node in nodes if node.gpus] or list(nodes)
    named = {label for node in considered for label in node.labels if place_of(label)} if not labels else set(labels)
    candidates = [_domains(considered, label) for label in sorted(named, key=lambda label: (rank(label), label))]
    several = any(len(candidate.nodes) > 1 for candidate in candidates if candidate.label != HOSTNAME)
    levels: list[Domains] = []
    left_out: list[UnusedLabel] = []
    for candidate in sorted(candidates, key=_worth):
        lacking = len(candidate.lacking)
        if lacking > len(considered) * _MOST_OUTSIDE:
            reason = f"{lacking} of {len(considered)} nodes lack it"
        elif several and not labels and len(candidate.nodes) == 1:
            reason = "all nodes are in one domain"
        else:
            reason = _against(candidate, levels)
        if reason:
            left_out.append(UnusedLabel(candidate, reason))
        else:
            levels.append(candidate)
    taken: set[str] = set()
    for index, level in enumerate(sorted(levels, key=lambda level: (len(level.nodes), rank(level.label)))):
        key, number = level.key, 2
        while key in taken:
            key, number = f"{level.key}-{number}", number + 1
        taken.add(key)
        levels[index] = replace(level, key=key)
    left_out.sort(key=lambda unused: (rank(unused.level.label), unused.level.label))
    return SuggestedLevels(len(considered), len(nodes) - len(considered), tuple(levels), tuple(left_out))


def _domains(nodes: Sequence[LiveNode], label: str) -> Domains:
    named_place = place_of(label)
    key = named_place.key if named_place else label.rpartition("/")[2].lower().replace(".", "-").replace("_", "-")
    lacking = tuple(sorted(node.name for node in nodes if label not in node.labels))
    return Domains(label, key, named_place.maker if named_place else "", domains_of(nodes, label), lacking)


def _worth(candidate: Domains) -> tuple[bool, bool, int]:
    """Returns a sort key. Of two labels that do not nest, the one with the smaller key stays."""
    named_place = place_of(candidate.label)
    return not (named_place and named_place.joins_gpus), candidate.key not in ("zone", "host"), rank(candidate.label)


def _against(candidate: Domains, levels: Sequence[Domains]) -> str:
    """Returns why a label makes no level together with the kept ones; empty if it may."""
    for level in levels:
        if not (any(candidate.split(level)) or any(level.split(candidate))):
            return f"its domains are those of {level.key}"
        coarser, finer = (candidate, level) if len(candidate.nodes) < len(level.nodes) else (level, candidate)
        for name, above in finer.split(coarser):
            return f"{finer.key} {name} lies in {shortened(above, _SHOWN)} of {coarser.key}"
    return ""
