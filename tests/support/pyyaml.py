"""PyYAML's safe loader, as its parser in C has it: the one in Python takes ten times as long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml


def safe_load(text: str | bytes) -> Any:
    """The one document of a text; None where it has none."""
    return yaml.load(text, yaml.CSafeLoader)


def safe_load_all(text: str | bytes) -> Iterator[Any]:
    """The documents of a text."""
    return yaml.load_all(text, yaml.CSafeLoader)
