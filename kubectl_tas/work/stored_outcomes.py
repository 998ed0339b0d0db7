"""Keeps outcomes between runs, under the digest of the tool, of a file, and of the context visible to the file."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import kubectl_tas
from kubectl_tas import __version__
from kubectl_tas.base.resources import resource_root
from kubectl_tas.load.source import RawFile
from kubectl_tas.store.cache import AT_ONCE, Store
from kubectl_tas.work.outcome import Outcome, SharedContext
from kubectl_tas.work.plain import Plain, of_text, to_text

BUILT_ON = (
    "click",
    "jinja2",
    "jsonschema",
    "pydantic",
    "pydantic-core",
    "ruamel.yaml",
    "ruamel.yaml.clib",
)
"""The packages that affect the outcome of a file, besides the tool itself."""
CONTEXTS = 4
"""Contexts that are kept for each file: enough for a few branches."""


class StoredOutcomes:
    """The outcomes in a store, for one context."""

    def __init__(self, store: Store, shared: SharedContext) -> None:
        self._store = store
        self._shared = shared
        self._older: dict[str, list[_Row]] = {}
        """Outcomes of the same bytes in other contexts, by path."""
        self._new: list[tuple[bytes, bytes]] = []

    def find(self, work: Sequence[RawFile], *, render: bool) -> Iterator[tuple[RawFile, Outcome | None]]:
        """Yields each file with its kept outcome, or None; the outcome has manifests only with ``render``."""
        for start in range(0, len(work), AT_ONCE):
            keys = {raw.path: _key(raw) for raw in work[start : start + AT_ONCE]}
            stored = self._store.get_all([*keys.values()])
            for raw in work[start : start + AT_ONCE]:
                content = stored.get(keys[raw.path])
                yield raw, None if content is None else self._outcome(raw.path, content, render=render)

    def add(self, raw: RawFile, outcome: Outcome) -> None:
        """Keeps an outcome; writes it when ``save`` is called or many outcomes are waiting."""
        *plain, manifests = outcome.plain
        digest = self._shared.digest(outcome.pool_names)
        older_rows = [row for row in self._older.pop(raw.path, ()) if row[0] != digest]
        rows: list[_Row] = [(digest, plain, manifests or ""), *older_rows[: CONTEXTS - 1]]
        lines = [to_text([row[:2] for row in rows]), *(row[2] for row in rows)]
        self._new.append((_key(raw), "\n".join(lines).encode("utf-8", "surrogatepass")))
        if len(self._new) >= AT_ONCE:
            self.save()

    def save(self) -> None:
        """Writes the added outcomes."""
        self._store.put(self._new)
        self._new.clear()

    def _outcome(self, path: str, content: bytes, *, render: bool) -> Outcome | None:
        try:
            rows = _rows(content)
            for digest, plain, manifests in rows:
                outcome = Outcome(*(*plain, manifests if render else None))
                if digest == self._shared.digest(outcome.pool_names) and outcome.manifests != "":
                    return outcome
        except (TypeError, ValueError):  # another format
            return None
        self._older[path] = rows
        return None


_Row = tuple[str, Plain, str]
"""The digest of a context, an outcome in that context without manifests, and the manifests as a line of JSON or ''."""


def _rows(content: bytes) -> list[_Row]:
    head, *texts = content.decode("utf-8", "surrogatepass").split("\n")
    return [(digest, plain, text) for (digest, plain), text in zip(of_text(head), texts, strict=True)]


def _key(raw: RawFile) -> bytes:
    digest = hashlib.blake2b(tool_digest(), digest_size=20)
    digest.update(raw.path.encode("utf-8", "surrogateescape"))
    digest.update(bytes((0, raw.problem is None)))
    digest.update(raw.content)
    return digest.digest()


@cache
def tool_digest() -> bytes:
    """Returns a digest of the versions of the tool, of Python and of the packages, and of the files of the tool.

    RECORD has the digest of each installed file. Sizes and times also change in a checkout, during development.
    """
    from importlib.metadata import PackageNotFoundError, distribution  # a small repository keeps nothing

    digest = hashlib.blake2b(repr((__version__, sys.version_info[:3])).encode(), digest_size=20)
    for name in ("kubectl-tas", *BUILT_ON):
        try:
            package = distribution(name)
            record = package.read_text("RECORD") if name == "kubectl-tas" else ""
            digest.update(f"{name}={package.version}\0{record}\0".encode())
        except PackageNotFoundError:
            digest.update(f"{name}\0".encode())
    folders = {Path(kubectl_tas.__file__).parent, *(resource_root() / name for name in ("schemas", "templates"))}
    for path, size, changed in sorted({file for folder in folders for file in _files(folder)}):
        digest.update(f"{path}\0{size}\0{changed}\0".encode("utf-8", "surrogateescape"))
    return digest.digest()


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Yields the files of the package, with their sizes and times."""
    with os.scandir(folder) as listing:
        for path in listing:
            if path.is_dir():
                if path.name != "__pycache__":
                    yield from _files(Path(path.path))
            else:
                status = path.stat()
                yield path.path, status.st_size, status.st_mtime_ns
