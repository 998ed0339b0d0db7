"""Collects the seeds: every repository of the examples and golden cases, with the other inputs of commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tools import goldens

ROOT = Path(__file__).resolve().parents[1]
SKIPPED = frozenset({"manifests", "output"})
"""Folders with rendered files."""
MAX_SEED = 24_000
"""Maximum number of bytes of a repository. Larger ones are too slow for thousands of runs."""
SUFFIXES = (".yaml", ".yml", ".json")
POOL = b"""\
apiVersion: tas/v1alpha1
kind: Pool
metadata:
  name: team
spec:
  resources:
    gpu: {guarantee: 100, maximum: -1, weight: 1}
"""
"""The pool whose subpools the edits change."""
COSTLY = frozenset({"rules/set-preview/silent"})
"""Repositories that render thousands of objects."""


@dataclass(frozen=True)
class Repository:
    """Files by path from the root, with the earlier revision and the cluster to compare with."""

    name: str
    files: dict[str, bytes]
    base: dict[str, bytes] = field(default_factory=dict)
    """Files at the earlier revision; empty if there is none."""
    cluster: bytes = b""
    """Output of ``kubectl get -o json`` for its cluster; empty if there is none."""
    is_clean: bool = False
    """Whether it most likely renders."""


@cache
def repositories() -> tuple[Repository, ...]:
    """Returns all repositories to start from: the examples, the golden cases, the files of edits."""
    found = [_example(path.parent) for path in sorted((ROOT / "examples").glob("*/tas.yaml"))]
    for folder in goldens.find():
        found.append(_edit(folder) if folder.parent.name == "edits" else _case(goldens.read(folder)))
    return tuple(item for item in found if 0 < size(item) <= MAX_SEED and item.name not in COSTLY)


@cache
def clean() -> tuple[Repository, ...]:
    """Returns the repositories that most likely render."""
    return tuple(item for item in repositories() if item.is_clean)


def size(repository: Repository) -> int:
    """Returns the bytes of all files."""
    return sum(map(len, repository.files.values()))


@cache
def documents() -> tuple[bytes, ...]:
    """Returns every file of every repository once, as material for splices."""
    files = {content for item in repositories() for content in item.files.values()}
    files |= {path.read_bytes() for path in (ROOT / "golden" / "documents").iterdir()}
    return tuple(sorted(files))


@cache
def clusters() -> tuple[bytes, ...]:
    """Returns every state of a cluster once."""
    return tuple(sorted({item.cluster for item in repositories()} - {b""}))


def _example(root: Path) -> Repository:
    return Repository(root.name, _files(root), is_clean=True)


def _case(case: goldens.Case) -> Repository:
    """Returns the repository of a golden case with its shared files."""
    name = case.folder.relative_to(goldens.GOLDEN).as_posix()
    state = case.folder / "cluster.json"
    layers = ([*case.layers[part], case.folder / part] for part in ("input", "base"))
    files, base = ({path: text for layer in folders for path, text in _files(layer).items()} for folders in layers)
    return Repository(
        name,
        {path: content for path, content in files.items() if path.endswith(SUFFIXES)},
        base,
        state.read_bytes() if state.is_file() else b"",
        is_clean=case.is_silent or not name.startswith("rules/"),
    )


def _edit(case: Path) -> Repository:
    """Returns a repository in which the file of an edit declares the subpools of a pool."""
    before = next(case.glob("before.*"), None)
    files = {} if before is None else {"pools/team.yaml": POOL, f"subpools/team{before.suffix}": before.read_bytes()}
    return Repository(case.name, files, is_clean=True)


def _files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink() and not SKIPPED & set(path.relative_to(root).parts)
    }
