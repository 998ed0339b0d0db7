"""Accounts of pools in, OSMO's table of pools out, or the same in other formats."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kubectl_tas.report import table
from kubectl_tas.report.style import printable

HEADER = ("Pool", "Status", "Subpool State", "GPU Quota", "Used", "Available")
WIDTHS = (14, 13, 13, 15, 4, 9)
"""The least width of each column, as in OSMO's table."""
WIDE = ("Limit", "Weight", "Running", "Backend", "Queue", "File")
FIELDS = (
    "name", "kind", "state", "quota", "total", "used", "available",
    "limit", "weight", "running", "backend", "queue", "file",
)  # fmt: skip
_LAST, _INNER = "└─ ", "├─ "


@dataclass(frozen=True, slots=True)
class Row:
    """One pool or subpool. GPUs are None where there is no limit."""

    name: str
    state: str | None
    """State of a subpool; None for a pool."""
    quota: int | None
    """GPUs; of a pool with subpools, what they leave to it."""
    total: int | None
    """Guarantee of a pool with subpools; otherwise None."""
    used: int | None
    """GPUs of HIGH and NORMAL work; None where the source does not know the queue."""
    available: int | None
    """GPUs left, negative while a queue drains; None where there is no limit, or ``used`` is not known."""
    limit: int | None
    weight: int
    running: int | None
    """Workflows that run; None where only declarations are known."""
    backend: str
    queue: str | None
    """None for an ARCHIVED subpool, which has none."""
    file: str


def render(rows: Sequence[Row], *, wide: bool = False) -> str:
    """The table: subpools hang below their pool."""
    lines = []
    for index, row in enumerate(rows):
        following = rows[index + 1] if index + 1 < len(rows) else None
        branch = "" if row.state is None else _INNER if following and following.state is not None else _LAST
        lines.append(_cells(row, branch) + (_wide_cells(row) if wide else ()))
    return table.render(HEADER + (WIDE if wide else ()), lines, rule=True, widths=WIDTHS)


def _cells(row: Row, branch: str) -> tuple[str, ...]:
    quota = _gpus(row.quota) + (f" (Total: {row.total})" if row.total is not None else "")
    used = "unknown" if row.used is None else str(row.used)
    available = "unknown" if row.used is None else _gpus(row.available)
    return (f"{branch}{row.name}", "ONLINE", row.state or "-", quota, used, available)


def _wide_cells(row: Row) -> tuple[str, ...]:
    running = "-" if row.running is None else str(row.running)
    return (_gpus(row.limit), str(row.weight), running, row.backend, row.queue or "-", row.file)


def data(rows: Sequence[Row], source: str) -> dict[str, Any]:
    """The rows for programs; ``source`` says where ``used`` comes from."""
    return {"version": 1, "usedFrom": source, "pools": [_record(row) for row in rows]}


def comma_separated(rows: Sequence[Row]) -> str:
    """The rows as CSV with a header; nothing stands for no limit and for not known."""
    out = io.StringIO()
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        values = _record(row).items()
        writer.writerow({name: printable(value) if isinstance(value, str) else value for name, value in values})
    return out.getvalue()


def _record(row: Row) -> dict[str, Any]:
    values = {field: getattr(row, field, None) for field in FIELDS}
    return {**values, "kind": "pool" if row.state is None else "subpool"}


def _gpus(number: int | None) -> str:
    return "unlimited" if number is None else str(number)
