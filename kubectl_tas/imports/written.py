"""What imports write: a document a file, with a line that says what it was; and what has no place in any."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kubectl_tas import yaml
from kubectl_tas.model.base import API_VERSION
from kubectl_tas.records import dataclass


@dataclass(frozen=True, slots=True)
class Unplaced:
    """What was read and no file declares."""

    kind: str
    name: str
    reason: str
    gpus: str = ""
    """What it holds in a cluster."""


def file_text(about: str, data: Mapping[str, Any]) -> str:
    """A file with one document, below a comment."""
    return f"# {yaml.comment(about)}\n{yaml.block(data)}"


def document(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A document of the tool's own kinds that have a ``spec``."""
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def config(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The Config, which has no name."""
    return {"apiVersion": API_VERSION, "kind": "Config", "spec": spec}


def plain_name(wanted: str) -> str:
    """A text as the name of a pool or subpool."""
    return re.sub(r"[^a-z0-9]+", "-", wanted.lower()).strip("-") or "pool"


def distinct(wanted: Iterable[str]) -> list[str]:
    """The names, of which the second of a kind gets a number."""
    given: list[str] = []
    for name in wanted:
        number, free = 2, name
        while free in given:
            number, free = number + 1, f"{name}-{number}"
        given.append(free)
    return given
