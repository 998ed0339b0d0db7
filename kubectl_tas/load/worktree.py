"""Finds the checkout that a folder lies in, and its git repository, without asking git."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kubectl_tas.errors import TasError

_MAX_POINTER = 64 * 1024
"""Bytes of a file that only names a place."""


@dataclass(frozen=True, slots=True)
class WorkTree:
    """A checkout: the folder that has the entry ``.git``."""

    top: Path
    git: Path
    """The folder with its ``HEAD``."""
    common: Path
    """The folder with the objects, which linked work trees share; else the same."""


def work_trees(root: Path) -> Iterator[WorkTree]:
    """The work trees that contain ``root``, a real path, from the innermost on.

    Only an entry ``.git`` makes a work tree, since no commit can contain one: files that look like a repository do
    not. Raises TasError where such an entry leads to no repository.
    """
    for top in (root, *root.parents):
        entry = top / ".git"
        is_file = os.path.isfile(entry)  # noqa: PTH113 - pathlib raises for parents that may not be searched
        if not is_file and not os.path.isdir(entry):  # noqa: PTH112 - the same
            continue
        git = _pointed_at(entry) if is_file else Path(os.path.realpath(entry))
        common = _common(git)
        if _is_there(git / "HEAD") and _is_there(common / "objects") and _is_there(common / "refs"):
            yield WorkTree(top, git, common)
        elif is_file:
            raise TasError(f"{top} is in no git repository that can be read: {entry} names {git}, which is none")


def _pointed_at(entry: Path) -> Path:
    """The folder that a file ``.git`` names, as submodules and linked work trees have one."""
    kind, _, name = pointer(entry).partition(": ")
    if kind != "gitdir":
        raise TasError(f"{entry.parent} is in no git repository that can be read: {entry} names no folder")
    return Path(os.path.realpath(entry.parent / name))


def _common(git: Path) -> Path:
    shared = git / "commondir"
    is_linked = os.path.isfile(shared)  # noqa: PTH113 - pathlib may raise
    return Path(os.path.realpath(git / pointer(shared))) if is_linked else git


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:  # to look for another repository further up would be to guess
        raise TasError(f"cannot read {path.parent}: {error.strerror}", hint="Check its permissions.") from error
    return True


def pointer(path: Path) -> str:
    """The one line of a file of git that names a place, such as ``HEAD``."""
    try:
        with path.open("rb") as file:
            line, _, _ = file.read(_MAX_POINTER).partition(b"\0")  # where git, too, takes it to end
    except OSError as error:
        raise TasError(f"cannot read {path}: {error.strerror}", hint="Check its permissions.") from error
    return os.fsdecode(line.rstrip(b"\r\n"))
