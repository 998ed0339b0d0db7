"""A plain scalar's text in, what YAML 1.2's core schema takes it for out; but 0400 is octal, as kubectl reads it."""

from __future__ import annotations

import re
from math import isfinite

from kubectl_tas.yaml import LargeNumber

MAX_DIGITS = 18
"""A whole number with more digits may be beyond 64 bits, so it stays text."""
_INT = re.compile(rf"[-+]?[0-9]{{1,{MAX_DIGITS}}}")
_OCTAL = re.compile(r"0o[0-7]{1,20}")
_OLD_OCTAL = re.compile(rf"[-+]?0[0-7]{{1,{MAX_DIGITS}}}")
"""As modes of files are written, such as 0400. Go reads them so (sigs.k8s.io/yaml: ``resolve`` of goyaml.v2)."""
_HEX = re.compile(r"0x[0-9a-fA-F]{1,16}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_START = frozenset("-+.0123456789")
_APART = frozenset(
    {"=", "<<", *(form for word in ("y", "n", "yes", "no", "on", "off") for form in (word, word.title(), word.upper()))}
)
"""Words that YAML 1.1 takes for something else than text."""
_CERTAIN_NUMBER = re.compile(rf"-?(0|[1-9][0-9]{{0,{MAX_DIGITS - 1}}})(\.[0-9]{{1,15}})?")
"""Numbers that no reader takes for others: no sign in front, no leading zero, no exponent."""
_NUMBER_LIKE = re.compile(
    r"[-+]?(0[xob][-+]?[0-9a-f]*|[0-9]*(:[0-9]*)*(\.[0-9]*)?(e[-+]?[0-9]*)?|\.(inf|nan))"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([t \t].*)?",
    re.IGNORECASE | re.DOTALL,
)
"""Whatever some reader takes for a number (of base 2, 8, 10, 16 or 60), a date or a time, once underscores are left
out, as kubectl does wherever they stand."""


def read_scalar(text: str) -> str | int | float | bool | None:
    """A plain scalar as kubectl reads it; what is beyond all numbers is text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    if _INT.fullmatch(text):
        return int(text, 8 if _OLD_OCTAL.fullmatch(text) else 10)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEX.fullmatch(text):
        return int(text[2:], 16)
    if not _FLOAT.fullmatch(text) or not isfinite(number := float(text)):
        return text
    return number if len(text) <= 40 and not text.lstrip("+-").isdigit() else LargeNumber(text)


def reads_alike(text: str) -> bool:
    """Whether readers of YAML 1.1, of YAML 1.2 and kubectl take a plain scalar for the same; no where in doubt."""
    if text in _APART:
        return False
    if not text or text[0] not in _NUMBER_START or _CERTAIN_NUMBER.fullmatch(text):
        return True
    return not _NUMBER_LIKE.fullmatch(text.replace("_", ""))


def is_certain_text(text: str) -> bool:
    """Whether all of them take it for text, as keys must be."""
    return text not in _WORDS and not _CERTAIN_NUMBER.fullmatch(text) and reads_alike(text)
