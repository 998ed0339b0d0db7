"""A number out of its range in, what to write instead out."""

from __future__ import annotations


def within(value: int | None, most: int) -> str:
    """How to mend a number that is not from 1 to ``most``; None: it is no number. Where ``most`` is 0 there are no
    pods, and so no limit.
    """
    if most < 2:
        return "Use 1." if most else "Use a number from 1."
    return f"Use at most {most}." if value is not None and value > most else f"Use a number from 1 to {most}."
