"""A level of a topology in, the edits of all files that name it by its key out. Node labels stay as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubectl_tas.edit.pool_edits import set_in_documents, strings
from kubectl_tas.edit.subpool_edits import SetValues
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.topologies import FleetTopology, Level

_OF_SETS = ("packDomain", "required", "preferred")
"""Fields of a topologyConstraint of Grove that name a level."""


def rename(fleet: Fleet, topology: FleetTopology, level: Level, new: str) -> list[SetValues]:
    """Another key for a level, in every document that names it."""
    found = [(declared, path, new) for declared, path in _named(fleet, topology, level.key)]
    key = "domain" if topology.pool is None else "key"
    place: KeyPath = (*topology.path, topology.levels.index(level), key)
    return set_in_documents([*found, (topology.declared, place, new)], level.key, new)


def _named(fleet: Fleet, topology: FleetTopology, key: str) -> Iterator[tuple[Declared[Any], KeyPath]]:
    for item in fleet.workflows:
        if item.pool.topology is not None and item.pool.topology.declared is topology.declared:
            for path, written in strings(item.declared.origin.data):
                if written == key and path[-1] == "key" and "resources" in path and path[-3:-2] == ("topology",):
                    yield item.declared, path
    for clique_set in fleet.pod_clique_sets:
        if clique_set.topology is not None and clique_set.topology.declared is topology.declared:
            for path, written in strings(clique_set.declared.origin.data):
                if written == key and path[-1] in _OF_SETS and "topologyConstraint" in path:
                    yield clique_set.declared, path
