"""Plain data in, YAML in block style out, by the one filter for scalars: for documents that were written as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kubectl_tas.emit.text import scalar
from kubectl_tas.model.base import LargeNumber


def block(value: object) -> str:
    """The YAML text of a document, keys in the order of ``value``."""
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: object) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _entry(f"{scalar(key)}:", item, "  " if isinstance(item, dict) else "")
    elif isinstance(value, list) and value:
        for item in value:
            lines = list(_lines(item))
            yield f"- {lines[0]}"
            yield from (f"  {line}" for line in lines[1:])
    else:
        yield _leaf(value)


def _entry(key: str, item: object, indent: str) -> Iterator[str]:
    if isinstance(item, (dict, list)) and item:
        yield key
        yield from (f"{indent}{line}" for line in _lines(item))
    else:
        yield f"{key} {_leaf(item)}"


def _leaf(value: object) -> str:
    """A scalar, or an empty collection."""
    if isinstance(value, (float, LargeNumber)):
        return _number(value if isinstance(value, str) else json.dumps(value))
    if value is None or isinstance(value, (dict, list)):
        return json.dumps(value)
    return scalar(value)


def _number(text: str) -> str:
    """A number as JSON has it; YAML 1.1 takes one with an exponent for text unless it has a point and a sign too."""
    mantissa, marker, exponent = text.lower().partition("e")
    if not marker:
        return text
    whole = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{whole}e{exponent if exponent[0] in '+-' else f'+{exponent}'}"
