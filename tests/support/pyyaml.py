"""Loads YAML with the C parser of PyYAML's safe loader; the Python parser takes ten times as long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml


def safe_load(text: str | bytes) -> Any:
    """Returns the only document of a text; None if it has none."""
    return yaml.load(text, yaml.CSafeLoader)


def safe_load_all(text: str | bytes) -> Iterator[Any]:
    """Returns the documents of a text."""
    return yaml.load_all(text, yaml.CSafeLoader)
