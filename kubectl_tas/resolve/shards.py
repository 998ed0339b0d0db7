"""Finds the shard of KAI's scheduler that serves each pool, and its settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kubectl_tas.base.late import dataclass
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.pools import FleetPool

if TYPE_CHECKING:
    from kubectl_tas.model.scheduling_shard import SchedulingShard, SchedulingShardSpec


@dataclass(frozen=True, slots=True)
class FleetShard:
    """A declared SchedulingShard."""

    declared: Declared[SchedulingShard]
    name: str
    value: str
    """The value of the label kai.scheduler/node-pool that it serves; empty: all that lacks the label."""
    pools: tuple[FleetPool, ...]
    """The pools that it serves."""
    backends: tuple[FleetBackend, ...]
    """The clusters that need it: those of its pools; all clusters of KAI if it serves no pool."""

    @property
    def spec(self) -> SchedulingShardSpec:
        """Its settings, as written."""
        return self.declared.spec.spec


def resolve_shards(
    declared: Iterable[Declared[SchedulingShard]], backends: Iterable[FleetBackend], pools: Iterable[FleetPool]
) -> tuple[FleetShard, ...]:
    """Returns the shards of a repository, sorted by value, name and file. Each belongs to every cluster of KAI."""
    on_kai = [backend for backend in backends if backend.is_kai]
    pools = [pool for pool in pools if pool.backend.is_kai]
    shards = []
    for document in declared:
        value = document.spec.spec.partitionLabelValue
        served = tuple(pool for pool in pools if (pool.shard or "") == value)
        names = {pool.backend.name for pool in served}
        clusters = tuple(backend for backend in on_kai if backend.name in names) or tuple(on_kai)
        shards.append(FleetShard(document, document.spec.metadata.name, value, served, clusters))
    return tuple(sorted(shards, key=lambda shard: (shard.value, shard.name, shard.declared.origin.path)))
