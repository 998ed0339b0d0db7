"""What an import found, as files of a new repository, or as the edits that add it to the one that is there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from kubectl_tas import yaml
from kubectl_tas.edit.subpool_edits import Edit, NewFile, SetValues
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.load.splice import FIRST, Appended
from kubectl_tas.model.base import API_VERSION
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.model.artifact import Artifact


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


def additions(fleet: Fleet, imported: Imported) -> Iterator[Edit]:
    """The files of an import, its backend in the Config, and the only backend so far at each pool that names none."""
    backends: list[Mapping[str, Any]] = list(imported.settings["backends"])
    declared = fleet.repository.config
    name = backends[0]["name"]
    if declared is None or "backends" not in declared.spec.spec.model_fields_set:
        backends.insert(0, {"name": fleet.backends[0].name})
    if declared is None:
        yield NewFile(CONFIG_FILE, yaml.block(config({"backends": backends})), f"added backend {name}")
    else:
        values = ((("spec", "backends"), Appended(backends), None),)
        yield SetValues(declared.origin, values, f"added backend {name}")
    for pool in fleet.repository.pools if len(fleet.backends) == 1 else ():
        if pool.spec.spec.backend is None and pool.spec.spec.parent is None:
            own = fleet.backends[0].name
            yield SetValues(pool.origin, ((("spec", "backend"), own, FIRST),), f"set backend: {own}")
    there = set(fleet.repository.files)
    for path, text in imported.files.items():
        place = PurePosixPath(path)
        free = path if path not in there else str(place.with_stem(f"{place.stem}-{name}"))
        yield NewFile(free, text, "wrote")


def new_elsewhere(before: Iterable[Artifact], after: Iterable[Artifact], backend: str) -> list[tuple[str, str, str]]:
    """The objects that other clusters get besides: the cluster, the kind and the name of each."""
    known, found = (
        [(item.backend, item.manifest.kind, item.manifest.metadata.name) for item in items if item.apply]
        for items in (before, after)
    )
    old = set(known)
    return [item for item in found if item[0] != backend and item not in old]
