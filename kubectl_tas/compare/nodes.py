"""Nodes of a cluster against the topologies of the repository: which of them are outside.

A node that lacks the label of any level is outside of the whole Topology, for preferred levels too: KAI's
``isNodePartOfTopology`` of pkg/scheduler/plugins/topology/common.go, 0.12 to 0.17.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_tas.live.cluster import Node
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.topologies import Level


@dataclass(frozen=True, slots=True)
class Coverage:
    """The nodes that a topology can use, and what the others lack."""

    topology: str
    nodes: int
    """Nodes of the cluster."""
    outside: tuple[str, ...]
    """Names of those that no gang placed by the topology can use, sorted."""
    missing: tuple[tuple[Level, tuple[str, ...]], ...]
    """The levels that nodes lack, and which nodes, from the coarsest level."""


def coverage(fleet: Fleet, nodes: Sequence[Node]) -> list[Coverage]:
    """For each topology of the fleet."""
    found = []
    for topology in fleet.topologies:
        lacking = [(item, [n.name for n in nodes if item.label not in n.labels]) for item in topology.levels]
        missing = tuple((level, tuple(sorted(names))) for level, names in lacking if names)
        outside = tuple(sorted({name for _, names in missing for name in names}))
        found.append(Coverage(topology.name, len(nodes), outside, missing))
    return found
