"""The name of a pool or pool--subpool in, the pool and the subpool out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubectl_tas.model.repository import Declared, KeyPath
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Dangling, FleetPool, FleetSubpool


def pick_target(
    wanted: str,
    declared: Declared[Any],
    path: KeyPath,
    pools: Mapping[str, FleetPool],
    declared_pools: frozenset[str],
    dangling: list[Dangling],
) -> tuple[FleetPool, FleetSubpool | None] | None:
    """What ``wanted``, which stands at ``path``, names; None where it is unknown or could not be resolved itself."""
    pool_name, _, short = names.fold(wanted).partition(names.SEPARATOR)
    pool = pools.get(pool_name)
    if pool is None:
        if pool_name not in declared_pools:
            dangling.append(Dangling("pool", wanted, tuple(sorted(declared_pools)), declared, path))
        return None
    subpool = next((item for item in pool.subpools if item.name == short), None)
    if names.SEPARATOR in names.fold(wanted) and subpool is None:
        known = tuple(item.canonical for item in pool.subpools)
        dangling.append(Dangling("subpool", wanted, known, declared, path, f"pool {pool.name}"))
        return None
    return pool, subpool
