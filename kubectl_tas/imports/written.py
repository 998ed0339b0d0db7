"""What imports write: a document a file, with a line that says what it was; and what has no place in any."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from kubectl_tas import yaml
from kubectl_tas.load.source import CONFIG_FILE
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


@dataclass(frozen=True, slots=True)
class Imported:
    """What becomes of what was read."""

    files: Mapping[str, str]
    """Text of each file, by its path."""
    unplaced: tuple[Unplaced, ...]
    notes: tuple[str, ...]
    """What reads otherwise here, or was not told."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Those of the Config, as they stand there."""
    missing: tuple[str, ...] = ()
    """What pools of OSMO name and was not given, as sentences."""
    becomes: tuple[str, ...] = ()
    """What becomes of what was read, a line for each thing."""
    clashes: tuple[str, ...] = ()
    """What is called otherwise than its name is, since another has it; as phrases."""

    @property
    def has_objects(self) -> bool:
        """Whether any file declares more than settings."""
        return bool(self.files.keys() - {CONFIG_FILE})


@dataclass(slots=True, kw_only=True)
class Making:
    """What an import knows by now."""

    files: dict[str, str] = field(default_factory=dict)
    unplaced: list[Unplaced] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    clashes: list[str] = field(default_factory=list)

    def write(self, path: str, about: str, data: Mapping[str, Any]) -> None:
        """Makes a file with one document, below a comment."""
        self.files[path] = f"# {yaml.comment(about)}\n{yaml.block(data)}"

    def done(
        self, settings: Mapping[str, Any] | None = None, missing: Iterable[str] = (), becomes: Iterable[str] = ()
    ) -> Imported:
        """All of it, the Config first."""
        files = dict(sorted(self.files.items(), key=lambda item: (item[0] != "tas.yaml", item[0])))
        found = (tuple(self.unplaced), tuple(self.notes), settings or {}, tuple(missing))
        return Imported(files, *found, tuple(becomes), tuple(self.clashes))


def document(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A document of the tool's own kinds that have a ``spec``."""
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def config(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The Config, which has no name."""
    return {"apiVersion": API_VERSION, "kind": "Config", "spec": spec}


def plain_name(wanted: str) -> str:
    """A text as the name of a pool or subpool."""
    return re.sub(r"[^a-z0-9]+", "-", wanted.lower()).strip("-") or "pool"


def distinct(wanted: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The names, of which the second of a kind gets a number; ``taken`` are names that others have."""
    given: dict[str, int] = dict.fromkeys(taken, 1)
    found = []
    for name in wanted:
        number, free = given.get(name, 0), name
        while free in given:
            number += 1
            free = f"{name}-{number}"
        given[name] = max(number, 1)
        given[free] = 1
        found.append(free)
    return found
