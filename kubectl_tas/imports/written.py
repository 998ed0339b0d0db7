"""Holds the result of an import: files of a new repository, or edits that add the import to an existing one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from kubectl_tas.base import yaml
from kubectl_tas.base.late import dataclass
from kubectl_tas.edit.subpool_edits import Edit, NewFile, SetValues
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.load.splice import FIRST, Appended
from kubectl_tas.model.base import API_VERSION
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.load.document import Document
    from kubectl_tas.model.artifact import Artifact


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A thing that was read but that no file declares."""

    kind: str
    name: str
    reason: str
    gpus: str = ""
    """GPUs that the queue holds in the cluster."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """Decisions of the user about the work to adopt."""

    pool: str = ""
    """Pool, or pool--subpool, of all work. Empty: the queue of each says it."""
    queues: Mapping[str, str] = field(default_factory=dict)
    """Pool, or pool--subpool, of each queue of the other scheduler, by QUEUE or NAMESPACE/QUEUE."""
    priorities: Mapping[str, str] = field(default_factory=dict)
    """HIGH, NORMAL or LOW by name of a class."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import."""

    files: Mapping[str, str]
    """Text of each file, by path."""
    unplaced: tuple[Unplaced, ...]
    notes: tuple[str, ...]
    """Values that differ here, or that the source did not tell."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings for the Config, in its shape."""
    missing: tuple[str, ...] = ()
    """Things that OSMO's pools refer to and that were not given, as sentences."""
    becomes: tuple[str, ...] = ()
    """The result for each thing that was read, one line each."""
    clashes: tuple[str, ...] = ()
    """Things that got another name because their own was taken, as phrases."""

    wishes: Wishes = field(default_factory=Wishes)
    """The pools and priorities of work that was read."""
    work: tuple[Document, ...] = ()
    """The documents of this work."""

    @property
    def has_objects(self) -> bool:
        """Whether a file declares more than settings."""
        return bool(self.files.keys() - {CONFIG_FILE})


@dataclass(slots=True, kw_only=True)
class Making:
    """The results of an import so far."""

    files: dict[str, str] = field(default_factory=dict)
    unplaced: list[Unplaced] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    clashes: list[str] = field(default_factory=list)

    def write(self, path: str, comment: str, data: Mapping[str, Any]) -> None:
        """Adds a file with a comment and one document."""
        self.files[path] = f"# {yaml.comment(comment)}\n{yaml.block(data)}"

    def done(
        self, settings: Mapping[str, Any] | None = None, missing: Iterable[str] = (), becomes: Iterable[str] = ()
    ) -> Imported:
        """Returns the result, with the Config as the first file."""
        files = dict(sorted(self.files.items(), key=lambda file: (file[0] != "tas.yaml", file[0])))
        fields = (tuple(self.unplaced), tuple(self.notes), settings or {}, tuple(missing))
        return Imported(files, *fields, tuple(becomes), tuple(self.clashes))


def document(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a document of one of the tool's kinds with a ``spec``."""
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def config(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a Config, which has no name."""
    return {"apiVersion": API_VERSION, "kind": "Config", "spec": spec}


def plain_name(text: str) -> str:
    """Converts a text to a valid name of a pool or subpool."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "pool"


def distinct(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Makes names distinct: repeated names get a number. ``taken`` are names that others have."""
    last_numbers: dict[str, int] = dict.fromkeys(taken, 1)
    distinct_names = []
    for name in names:
        number, free = last_numbers.get(name, 0), name
        while free in last_numbers:
            number += 1
            free = f"{name}-{number}"
        last_numbers[name] = max(number, 1)
        last_numbers[free] = 1
        distinct_names.append(free)
    return distinct_names


def additions(fleet: Fleet, imported: Imported) -> Iterator[Edit]:
    """Yields the files of an import, its backend in the Config, and the former only backend at pools without one."""
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
    for pool in fleet.repository.pools:
        if pool.spec.spec.backend is None and pool.spec.spec.parent is None:
            backend_name = fleet.backends[0].name
            yield SetValues(pool.origin, ((("spec", "backend"), backend_name, FIRST),), f"set backend: {backend_name}")
    existing_paths = set(fleet.repository.files)
    for path, text in imported.files.items():
        path_parts = PurePosixPath(path)
        free = path if path not in existing_paths else str(path_parts.with_stem(f"{path_parts.stem}-{name}"))
        yield NewFile(free, text, "wrote")


def new_elsewhere(before: Iterable[Artifact], after: Iterable[Artifact], backend: str) -> list[tuple[str, str, str]]:
    """Returns the objects that other clusters would get in addition, each with its cluster, kind and name."""
    objects_before, objects_after = (
        [(each.backend, each.manifest.kind, each.manifest.metadata.name) for each in artifacts if each.apply]
        for artifacts in (before, after)
    )
    old = set(objects_before)
    return [named for named in objects_after if named[0] != backend and named not in old]
