"""Finds golden cases: folders below golden/ that contain their expectations as plain files. See golden/README.md.

``pytest --snapshot-update`` writes the expectations.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from syrupy.data import SnapshotCollections
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from tools.goldens import GOLDEN, ROOT, find, lay_out, read

EXAMPLES = ROOT / "examples"


def at(path: Path) -> type[SingleFileSnapshotExtension]:
    """Returns a syrupy extension whose only snapshot is the file at ``path``."""

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
    """Returns the case folders of a group, for example ``golden/manifests``, sorted."""
    folder = GOLDEN.joinpath(*group)
    return [case for case in find(folder) if case.parent == folder]


def rule_cases() -> list[Path]:
    """Returns the cases of all rules. Each is a folder in the folder of its rule."""
    return find(GOLDEN / "rules")


def name_of(case: Path) -> str:
    """Returns a case's path below golden/ without its group, as the name of its tests."""
    return case.relative_to(GOLDEN).as_posix().partition("/")[2]


@cache
def laid_out(case: Path) -> Path:
    """Returns a folder with the complete case: ``input`` and its other files. For reading only."""
    folder = Path(tempfile.mkdtemp(prefix="golden-"))
    atexit.register(shutil.rmtree, folder)
    lay_out(read(case), folder)
    return folder


def case_input(case: Path) -> Path:
    """Returns the repository of a case. For reading only."""
    return laid_out(case) / "input"


def assert_files(
    snapshot: Any, folder: Path, files: dict[str, str], *, update: bool, shared: tuple[Path, ...] = ()
) -> None:
    """Asserts that ``folder``, laid over the folders ``shared``, contains exactly ``files``, text by relative path."""
    expected = {path.relative_to(home).as_posix(): path for home in (*shared, folder) for path in _files(home)}
    for name, text in sorted(files.items()):
        assert text, f"{name} is empty"
        path = folder / name if update else expected.get(name, folder / name)
        assert text == snapshot(extension_class=at(path), name=name)
    stale = expected.keys() - files.keys()
    if update:
        below = {path.relative_to(home).as_posix(): path.read_text() for home in shared for path in _files(home)}
        for path in _files(folder):
            name = path.relative_to(folder).as_posix()
            if name in stale or files[name] == below.get(name):
                path.unlink()
        stale &= below.keys()
    assert not stale, f"nothing produces {sorted(stale)} any more"


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
