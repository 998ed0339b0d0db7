"""Amounts as Kubernetes writes them: 500m, 64Gi, 1e3. Follows ``ParseQuantity`` of Kubernetes 1.35
(staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go).
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(1000),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("MGTPE", start=2)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)},
}
"""What a number is multiplied by."""
_DIGITS = 30
"""Digits of a number before its point, and behind it: more than any API server takes."""
_NUMBER = rf"[-+]?(?:[0-9]{{1,{_DIGITS}}}[.]?[0-9]{{0,{_DIGITS}}}|[.][0-9]{{1,{_DIGITS}}})"
_QUANTITY = re.compile(rf"({_NUMBER})(?:([numkMGTPE]|[KMGTPE]i|)|[eE]([-+]?[0-9]{{1,2}}))")
_SLIP = re.compile(rf"({_NUMBER})\s*([A-Za-z]*)")
_BYTES = re.compile(r"([kmgtpe])(i?)b?", re.IGNORECASE)
_CORES = ("core", "cores", "cpu", "cpus", "vcpu", "vcpus", "c")


def parse(value: object) -> Decimal | None:
    """An amount as a number; None where an API server takes it for none."""
    is_short = isinstance(value, (int, float)) and abs(value) < 10**_DIGITS
    return _number(str(value)) if is_short or isinstance(value, str) else None


@lru_cache(maxsize=1024)
def _number(text: str) -> Decimal | None:
    found = _QUANTITY.fullmatch(text)
    if found is None:
        return None
    number, suffix, exponent = found.groups()
    return Decimal(number) * (SUFFIXES[suffix] if exponent is None else Decimal(10) ** int(exponent))


def refused(value: object) -> tuple[str, str] | None:
    """Why an API server refuses an amount, and what to write instead; None where it does not."""
    amount = parse(value)
    if amount is None:
        return "must be a quantity such as 500m or 64Gi", _meant(str(value))
    if amount < 0:
        return "must not be negative", "Write 0 or more."
    return None


def _meant(text: str) -> str:
    """What was likely meant by a text that is no quantity."""
    found = _SLIP.fullmatch(text.strip())
    if found is None:
        return "Write a number and a unit without a blank between them, such as 64Gi."
    number, unit = found.groups()
    size = _BYTES.fullmatch(unit)
    if unit in SUFFIXES or unit.lower() in _CORES:
        return f"Write {number}{unit if unit in SUFFIXES else ''}."
    if size is None:
        return "Units are m, k, M, G, T and Ki, Mi, Gi, Ti."
    letter = size[1].upper()
    binary, decimal = f"{number}{letter}i", f"{number}{'k' if letter == 'K' else letter}"
    return f"Write {binary}." if size[2] else f"Write {decimal} or {binary}."
