"""Accounts of pools in, OSMO's table of pools out, or the same as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kubectl_tas.report import table

HEADER = ("Pool", "Status", "Subpool State", "GPU Quota", "Used", "Available")
_LAST, _INNER = "└─ ", "├─ "


@dataclass(frozen=True, slots=True)
class Row:
    """One pool or subpool."""

    name: str
    state: str | None
    """State of a subpool; None for a pool."""
    quota: int | None
    """GPUs; None: no limit."""
    total: int | None
    """Guarantee of a pool with subpools, of which ``quota`` is the rest; otherwise None."""
    used: int
    available: int | None
    backend: str


def render(rows: Sequence[Row]) -> str:
    """The table: subpools hang below their pool."""
    lines = []
    for index, row in enumerate(rows):
        following = rows[index + 1] if index + 1 < len(rows) else None
        branch = "" if row.state is None else _INNER if following and following.state is not None else _LAST
        quota = _gpus(row.quota) + (f" (Total: {row.total})" if row.total is not None else "")
        cells = (
            f"{branch}{row.name}",
            "ONLINE",
            row.state or "-",
            quota,
            str(row.used),
            _gpus(row.available),
        )
        lines.append(cells)
    return table.render(HEADER, lines, rule=True)


def data(rows: Sequence[Row], source: str) -> dict[str, Any]:
    """The rows for programs; ``source`` says where ``used`` comes from."""
    return {
        "version": 1,
        "usedFrom": source,
        "pools": [
            {
                "name": row.name,
                "kind": "pool" if row.state is None else "subpool",
                "backend": row.backend,
                "state": row.state,
                "quota": row.quota,
                "total": row.total,
                "used": row.used,
                "available": row.available,
            }
            for row in rows
        ],
    }


def _gpus(number: int | None) -> str:
    return "unlimited" if number is None else str(number)
