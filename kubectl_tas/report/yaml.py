"""Data in, block-style YAML out, for ``-o yaml``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from kubectl_tas.report.style import escaped

_PLAIN = re.compile(r"[A-Za-z][-A-Za-z0-9_./ ()]*[A-Za-z0-9)]")
_WORDS = frozenset({"yes", "no", "on", "off", "true", "false", "null"})


def dump(value: Any) -> str:
    """YAML with keys in the order of ``value``; strings that any YAML version takes for something else are quoted."""
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _entry(f"{_scalar(key)}:", item)
    elif isinstance(value, list) and value:
        for item in value:
            first, *others = _lines(item)
            yield f"- {first}"
            yield from (f"  {line}" for line in others)
    else:
        yield _scalar(value)


def _entry(key: str, value: Any) -> Iterator[str]:
    if not isinstance(value, dict | list) or not value:
        yield f"{key} {_scalar(value)}"
        return
    yield key
    indent = "  " if isinstance(value, dict) else ""
    yield from (f"{indent}{line}" for line in _lines(value))


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return escaped(json.dumps(value, ensure_ascii=False))
