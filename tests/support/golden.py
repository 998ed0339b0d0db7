"""Goldens: a case is a folder under golden/, its expectations are plain files in it.

A case's input is its folder ``input``, or the repository under examples/ that bears the case's name.
``pytest --snapshot-update`` writes the expectations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from syrupy.data import SnapshotCollections
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "golden"
EXAMPLES = ROOT / "examples"


def at(path: Path) -> type[SingleFileSnapshotExtension]:
    """A syrupy extension whose one snapshot is the file at ``path``."""

    class At(SingleFileSnapshotExtension):
        _write_mode = WriteMode.TEXT
        file_extension = ""

        @classmethod
        def get_location(cls, **_: Any) -> str:
            return str(path)

        @classmethod
        def dirname(cls, **_: Any) -> str:
            return str(path.parent)

        @classmethod
        def matches_test_location(cls, **_: Any) -> bool:
            return True

        def discover_snapshots(self, **_: Any) -> SnapshotCollections:
            return SnapshotCollections()  # files beside ours are inputs, never stale snapshots

    return At


def cases(*group: str) -> list[Path]:
    """The case folders of a group, such as ``golden/manifests``, sorted."""
    return sorted(path for path in GOLDEN.joinpath(*group).iterdir() if path.is_dir())


def case_input(case: Path) -> Path:
    """The repository that a case is about."""
    own = case / "input"
    return own if own.is_dir() else EXAMPLES / case.name


def assert_files(snapshot: Any, folder: Path, files: dict[str, str], *, update: bool) -> None:
    """``files``, by path relative to ``folder``, are exactly the files that lie there."""
    for name, text in sorted(files.items()):
        assert text, f"{name} is empty"
        assert text == snapshot(extension_class=at(folder / name), name=name)
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    stale = present - files.keys()
    if update:
        for name in stale:
            (folder / name).unlink()
    else:
        assert not stale, f"nothing produces {sorted(stale)} any more"
