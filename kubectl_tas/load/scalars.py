"""A plain scalar's text in, what YAML 1.2's core schema takes it for out."""

from __future__ import annotations

import re
from math import isfinite

from kubectl_tas.model.base import LargeNumber

MAX_DIGITS = 18
"""A whole number with more digits may be beyond 64 bits, so it stays text."""
_INT = re.compile(rf"[-+]?[0-9]{{1,{MAX_DIGITS}}}")
_OCTAL = re.compile(r"0o[0-7]{1,20}")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,16}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_START = frozenset("-+.0123456789")


def read_scalar(text: str) -> str | int | float | bool | None:
    """A plain scalar by the core schema of YAML 1.2; numbers too large to be exact stay text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    if _INT.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEX.fullmatch(text):
        return int(text[2:], 16)
    if len(text) <= 40 and not text.lstrip("+-").isdigit() and _FLOAT.fullmatch(text):
        number = float(text)
        return number if isfinite(number) else LargeNumber(text)
    return LargeNumber(text) if _FLOAT.fullmatch(text) else text
