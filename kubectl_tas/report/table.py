"""Rows in, an aligned table out."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def render(header: Sequence[str], rows: Sequence[Sequence[str]], *, rule: bool = False) -> str:
    """Left-aligned columns two spaces apart; with ``rule`` a line of dashes below the header."""
    body = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(_width(row[column]) for row in body) for column in range(len(header))]
    if rule:
        body.insert(1, tuple("-" * width for width in widths))
    return "".join(_line(row, widths) for row in body)


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    """Labels and values, the values aligned."""
    width = max(_width(f"{label}:") for label, _ in rows)
    return "".join(f"{_pad(f'{label}:', width)}  {value}".rstrip() + "\n" for label, value in rows)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(_pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    """Columns that ``text`` takes in a terminal."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
