"""Renders rows as a table with aligned columns."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_tas.report.style import printable, width


def render(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, rule: bool = False, widths: Sequence[int] = ()
) -> str:
    """Returns left-aligned columns, two spaces apart. ``rule`` adds a line of dashes below the header.

    ``widths`` are the minimum widths of the first columns.
    """
    body = [tuple(header), *(tuple(map(printable, row)) for row in rows)]
    least = (*widths, *(0 for _ in header))
    chosen = [max(least[column], *(width(row[column]) for row in body)) for column in range(len(header))]
    if rule:
        body.insert(1, tuple("-" * size for size in chosen))
    return "".join(_line(row, chosen) for row in body)


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    """Returns lines with a label and a value each. The values are aligned."""
    widest = max(width(f"{label}:") for label, _ in rows)
    return "".join(f"{_pad(f'{label}:', widest)}  {printable(value)}".rstrip() + "\n" for label, value in rows)


def section(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns an indented table with a title. Without rows, returns a line with the title and "none"."""
    if not rows:
        return f"{title}: none\n"
    body = "".join(f"  {line}\n" for line in render(header, rows).splitlines())
    return f"{title}:\n{body}"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(_pad(cell, size) for cell, size in zip(row, widths, strict=True)).rstrip() + "\n"


def _pad(text: str, size: int) -> str:
    return text + " " * (size - width(text))
