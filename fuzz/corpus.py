"""The seeds: every repository among the examples and goldens, and what else a command reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("examples", "golden")
SKIPPED = frozenset({"manifests", "output"})
"""Folders that hold what was rendered."""
MAX_SEED = 24_000
"""Bytes of a repository, above which it is too slow to try thousands of times."""
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
COSTLY = frozenset({"golden/rules/set-preview/silent/input"})
"""Repositories that render thousands of objects."""


@dataclass(frozen=True)
class Repository:
    """Files by their path relative to the root, with what the repository is compared with."""

    name: str
    files: dict[str, bytes]
    base: dict[str, bytes] = field(default_factory=dict)
    """The same at an earlier revision; empty where there is none."""
    cluster: bytes = b""
    """What ``kubectl get -o json`` prints of its cluster; empty where there is none."""


@cache
def repositories() -> tuple[Repository, ...]:
    """All repositories to begin with, sorted by name."""
    roots = {path.parent for folder in FOLDERS for path in (ROOT / folder).rglob("tas.yaml")}
    roots |= set((ROOT / "golden").rglob("input"))
    found = [_repository(path) for path in sorted(roots)]
    found += [_edit(path) for path in sorted((ROOT / "golden" / "edits").iterdir())]
    small = [item for item in found if 0 < size(item) <= MAX_SEED and item.name not in COSTLY]
    return tuple(small)


@cache
def clean() -> tuple[Repository, ...]:
    """Those that are rendered."""
    return tuple(item for item in repositories() if "/fires/" not in item.name)


def size(repository: Repository) -> int:
    """Bytes of all files."""
    return sum(map(len, repository.files.values()))


@cache
def documents() -> tuple[bytes, ...]:
    """Every file of every repository once: what a splice may take from."""
    files = {content for item in repositories() for content in item.files.values()}
    files |= {path.read_bytes() for path in (ROOT / "golden" / "documents").iterdir()}
    return tuple(sorted(files))


@cache
def clusters() -> tuple[bytes, ...]:
    """Every state of a cluster once."""
    return tuple(sorted({item.cluster for item in repositories()} - {b""}))


def _repository(root: Path) -> Repository:
    files = {path: content for path, content in _files(root).items() if path.endswith(SUFFIXES)}
    state = root.parent / "cluster.json"
    return Repository(
        root.relative_to(ROOT).as_posix(),
        files,
        _files(root.parent / "base") if root.name == "input" else {},
        state.read_bytes() if state.is_file() else b"",
    )


def _edit(case: Path) -> Repository:
    """The file of an edit, as the subpools of its pool."""
    before = next(case.glob("before.*"), None)
    files = {} if before is None else {"pools/team.yaml": POOL, f"subpools/team{before.suffix}": before.read_bytes()}
    return Repository(case.relative_to(ROOT).as_posix(), files)


def _files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink() and not SKIPPED & set(path.relative_to(root).parts)
    }
