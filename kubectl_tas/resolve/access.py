"""Who may use a pool: what it says itself, and what it inherits from above."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_tas.records import dataclass
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool


@dataclass(frozen=True, slots=True)
class Allowed:
    """The groups that may use something."""

    submit: tuple[str, ...] = ()
    """Who may send work there; nobody: all who may create work."""
    view: tuple[str, ...] = ()
    """Who may look at it besides."""


def access_to(pool: FleetPool, subpool: FleetSubpool | None = None) -> Allowed:
    """The groups that may use a pool, or one of its subpools: those of the pools above it, from the top down, then its
    own, none twice. A role of OSMO for pool/team* covers all that is below a pool likewise.
    """
    named = [item.declared.spec.spec.access for item in reversed(pool.chain)]
    if subpool is not None:
        named.append(subpool.declared.spec.spec.access)
    submit = _once(item.submit for item in named)
    return Allowed(submit, tuple(group for group in _once(item.view for item in named) if group not in submit))


def _once(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(group for part in parts for group in part))
