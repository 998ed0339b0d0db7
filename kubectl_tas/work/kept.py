"""Outcomes that are kept between runs: under the digest of the tool, of a file, and of what the file may see."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import kubectl_tas
from kubectl_tas.load.source import RawFile
from kubectl_tas.resources import resource_root
from kubectl_tas.store.cache import Store
from kubectl_tas.work.outcome import Outcome, Shared
from kubectl_tas.work.plain import Plain, of_entry, to_bytes

BUILT_ON = (
    "click",
    "jinja2",
    "jsonschema",
    "pydantic",
    "pydantic-core",
    "ruamel.yaml",
    "ruamel.yaml.clib",
)
"""What decides, beside the tool itself, what a file comes to."""
CONTEXTS = 4
"""How many contexts of a file are kept: those of a few branches."""


class Outcomes:
    """The outcomes in a store, for one context."""

    def __init__(self, store: Store, shared: Shared) -> None:
        self._store = store
        self._shared = shared
        self._new: list[tuple[bytes, bytes]] = []

    def get(self, raw: RawFile, *, render: bool) -> Outcome | None:
        """What is known of a file, with its manifests where ``render`` asks for them; None where that is not known."""
        try:
            for digest, plain in self._entries(raw):
                found = Outcome(*plain)
                if digest == self._shared.digest(found.seen):
                    return None if render and found.objects is None else found
        except (TypeError, ValueError):  # none of ours
            return None
        return None

    def add(self, raw: RawFile, found: Outcome) -> None:
        """Keeps an outcome, when ``save`` is called."""
        digest = self._shared.digest(found.seen)
        others = [kept for kept in self._entries(raw) if kept[0] != digest][: CONTEXTS - 1]
        self._new.append((_key(raw), to_bytes([[digest, found.plain], *others])))

    def save(self) -> None:
        """Writes what was added."""
        self._store.put(self._new)
        self._new.clear()

    def _entries(self, raw: RawFile) -> Plain:
        found = of_entry(self._store.get(_key(raw))) or []
        return [item for item in found if isinstance(item, list) and len(item) == 2]


def _key(raw: RawFile) -> bytes:
    found = hashlib.blake2b(tool_digest(), digest_size=20)
    found.update(raw.path.encode("utf-8", "surrogateescape"))
    found.update(bytes((0, raw.problem is None)))
    found.update(raw.content)
    return found.digest()


@cache
def tool_digest() -> bytes:
    """By which a version of the tool is known, with what it is built on: also one that is being written."""
    from importlib.metadata import PackageNotFoundError, version  # a small repository keeps nothing, and does not wait

    found = hashlib.blake2b(repr(sys.version_info[:3]).encode(), digest_size=20)
    for name in BUILT_ON:
        try:
            found.update(f"{name}={version(name)}\0".encode())
        except PackageNotFoundError:
            found.update(f"{name}\0".encode())
    folders = {Path(kubectl_tas.__file__).parent, *(resource_root() / name for name in ("schemas", "templates"))}
    for path, size, changed in sorted({item for folder in folders for item in _files(folder)}):
        found.update(f"{path}\0{size}\0{changed}\0".encode("utf-8", "surrogateescape"))
    return found.digest()


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """The files of the package, with their sizes and times."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _files(Path(entry.path))
            else:
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns
