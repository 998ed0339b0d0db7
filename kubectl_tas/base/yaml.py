"""Writes plain data as YAML: the only writer of scalars, blocks and flow mappings.

The output means the same to readers of YAML 1.1, of YAML 1.2, and to kubectl, which mixes both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from kubectl_tas.base.late import late_pattern

_PLAIN = late_pattern(r"[A-Za-z/][A-Za-z0-9_./@+-]*(:[A-Za-z0-9_./@+-]+)*")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that some reader does not take for text."""
UNPRINTABLE = (
    "\x00-\x1f\x7f-\x9f"  # controls, among them the 8-bit ones that open sequences as ESC does
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that turn the direction of writing
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # what nobody sees
    "\u2028\u2029\ufffe\uffff\ud800-\udfff"  # further line breaks, and what is no text
)
"""Characters, as a class of a regular expression, that a terminal would obey or could not show."""
_ESCAPED = late_pattern(rf"[{UNPRINTABLE}]|#(?=#(?:vso)?\[)")
"""Characters to escape; JSON keeps them, and YAML takes them for a line break or refuses them. In the log of a CI job,
``##[`` begins a command.
"""
_NUMBER = late_pattern(r"([-+]?)0*([0-9]*)(\.?)([0-9]*)(?:[eE]([-+]?)([0-9]+))?")
_MAX_IMPLICIT_KEY = 1000
"""The longest key without a '?' before it; parsers look ahead for 1,024 characters."""


class LargeNumber(str):
    """A number too large to be exact, as it was written. It is text, but must not be put in quotes."""


def scalar(value: object, style: str = "", *, flow: bool = False) -> str:
    """Returns a scalar, in quotes if any reader would take it for something else.

    ``style`` is the preferred quote: ``'``, ``"`` or none. ``flow``: the scalar is within braces or brackets. Raises
    TypeError for None and for anything that is not a scalar.
    """
    if type(value) is str:
        return _quoted_as(value, style) if style or flow else _text(value)
    if isinstance(value, LargeNumber):
        return _number(value)
    if isinstance(value, str):
        return scalar(str(value), style, flow=flow)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(json.dumps(value))
    raise TypeError(f"not a scalar: {value!r}")


def literal(text: str, indent: str) -> str:
    """Returns the text behind the colon of a key: the lines of a text as they are, if all readers agree, else a scalar.
    ``indent`` begins each line, and is two blanks deeper than the key.
    """
    lines = text.split("\n")
    is_plain = len(lines) > 1 and not _ESCAPED.search(text.replace("\n", "").replace("\t", ""))
    if not is_plain or not all(line.strip() for line in (lines[0], text.rstrip("\n").rpartition("\n")[2])):
        return f" {scalar(text)}"
    depth = "2" if text[0] in " \t" else ""
    if lines[-1]:
        chomp = "-"
    else:
        chomp = "" if lines[-2] else "+"
        lines.pop()
    body = "\n".join(f"{indent}{line}" if line else "" for line in lines)
    return f" |{depth}{chomp}\n{body}"


def block(value: object) -> str:
    """Returns the text of a document in block style, with keys in the order of ``value``."""
    return "".join(f"{line}\n" for line in _lines(value))


def entry(key: str, value: object, indent: str = "") -> list[str]:
    """Returns the lines of one entry of a block mapping, without line breaks."""
    return [f"{indent}{line}" for line in _entry(key, value)]


def items(values: Sequence[object]) -> list[str]:
    """Returns the lines of the items of a block sequence, without line breaks."""
    return list(_lines(list(values)))


def flow(value: object, style: str = "") -> str:
    """Returns a scalar, a mapping in braces, or a list in brackets, on one line."""
    if isinstance(value, list):
        return f"[{', '.join(flow(inner, style) for inner in value)}]"
    if not isinstance(value, Mapping):
        return scalar(value, style, flow=True)
    return (
        "{" + ", ".join(f"{scalar(key, style, flow=True)}: {flow(inner, style)}" for key, inner in value.items()) + "}"
    )


def comment(text: str) -> str:
    """Returns a text as part of a one-line comment."""
    return text if text.isprintable() else json.dumps(text)[1:-1]


def _lines(value: object) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _entry(key, inner)
    elif isinstance(value, list) and value:
        for inner in value:
            first_line, *more_lines = _lines(inner)
            yield f"- {first_line}"
            yield from (f"  {line}" for line in more_lines)
    else:
        yield _leaf(value)


def _entry(key: object, value: object) -> Iterator[str]:
    name = scalar(key)
    if len(name) > _MAX_IMPLICIT_KEY:
        yield f"? {name}"
        name = ""
    if isinstance(value, (Mapping, list)) and value:
        yield f"{name}:"
        indent = "" if isinstance(value, list) else "  "
        yield from (f"{indent}{line}" for line in _lines(value))
    else:
        yield f"{name}: {_leaf(value)}"


def _leaf(value: object) -> str:
    """Returns a scalar, null, or an empty collection."""
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "{}"
    return "[]" if isinstance(value, list) else scalar(value)


@lru_cache(maxsize=65536)
def _text(value: str) -> str:
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return _quoted(value)


def _quoted_as(value: str, style: str) -> str:
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return _quoted(value) if style or ":" in value else _text(value)


def _quoted(value: str) -> str:
    quoted = json.dumps(value, ensure_ascii=False)
    return _ESCAPED.sub(_escape, quoted)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _number(text: str) -> str:
    """Returns a number that all readers accept: with an exponent, YAML 1.1 requires a point and a sign."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise TypeError(f"not a number: {text!r}")
    sign, whole, point, fraction, exponent_sign, exponent = match.groups()
    digits = ("-" if sign == "-" else "") + (whole or "0")
    if point or exponent:
        digits += f".{fraction or '0'}"
    return f"{digits}e{exponent_sign or '+'}{exponent}" if exponent else digits
