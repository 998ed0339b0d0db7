"""What is to be on disk, against what is there: files to write, to keep and to remove."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from kubectl_tas.emit import text
from kubectl_tas.errors import TasError
from kubectl_tas.model.artifact import Artifact

KUSTOMIZATION = "kustomization.yaml"
TEMPORARY = ".kubectl-tas.tmp"
"""Ending of a file that is being written; one that is found was left by a process that was killed."""

Tick = Callable[[int, int], None]
"""Told how many of how many steps are done."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file that is not as it should be."""

    path: str
    """Relative to the repository root."""
    before: str | None
    """None: the file is not there."""
    after: str | None
    """None: the file is to go."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What rendering would do."""

    changes: tuple[Change, ...]
    """Sorted by path."""
    unchanged: int
    """Files that are as they should be."""

    @property
    def differences(self) -> tuple[tuple[str, str | None, str | None], ...]:
        """The path, and the texts before and after, of all but what a killed process left."""
        changes = (change for change in self.changes if not change.path.endswith(TEMPORARY))
        return tuple((change.path, change.before, change.after) for change in changes)


def layout(artifacts: Sequence[Artifact], output: str, settings: str, tick: Tick | None = None) -> dict[str, str]:
    """The text of every file, by its path relative to the repository root.

    ``artifacts`` come by backend and in the order of application. Several backends have a folder each.
    """
    files: dict[str, str] = {}
    backends = {artifact.backend for artifact in artifacts}
    for backend, group in groupby(artifacts, key=lambda artifact: artifact.backend):
        base = f"{output}/{backend}" if len(backends) > 1 else output
        resources = []
        for artifact in group:
            path = f"{artifact.folder}/{artifact.file}"
            if artifact.apply:
                resources.append(path)
            files[f"{base}/{path}"] = text.file_text(artifact)
            if tick:
                tick(len(files), len(artifacts))
        files[f"{base}/{KUSTOMIZATION}"] = text.kustomization(resources, settings)
    return files


def plan(files: dict[str, str], root: Path, output: str) -> Plan:
    """Compares ``files`` with what lies below ``output``.

    What the tool did not write there is left alone; where it stands in the way, or the output folder leads out
    of the repository, TasError is raised.
    """
    _check_output(root, output)
    present = _Present(root, output)
    present.refuse_obstacles(files)
    changes: list[Change] = []
    unchanged = 0
    for path, after in files.items():
        before = _read(f"{root}/{path}") if path in present.files else None
        if before == after:
            unchanged += 1
            continue
        if before is not None and not before.startswith(text.MARK):
            raise _in_the_way(path)
        changes.append(Change(path, before, after))
    for path in present.files - files.keys():
        before = _read(f"{root}/{path}") if path.endswith(".yaml") else ""
        if path.endswith(TEMPORARY) or before.startswith(text.MARK):
            changes.append(Change(path, before, None))
    return Plan(tuple(sorted(changes, key=lambda change: change.path)), unchanged)


def _check_output(root: Path, output: str) -> None:
    real_root, real = os.path.realpath(root), os.path.realpath(root / output)
    if not real.startswith(real_root + os.sep):
        raise TasError(f"the output folder {output} leads out of the repository", hint="Remove the link.")
    if (root / output).exists() and not (root / output).is_dir():
        raise TasError(f"the output {output} is a file, not a folder", hint="Move it elsewhere.")


class _Present:
    """What lies below the output folder, relative to the root; links are not followed, hidden folders left out."""

    def __init__(self, root: Path, output: str) -> None:
        self.files: set[str] = set()
        """Plain files."""
        self._folders: set[str] = set()
        self._others: set[str] = set()
        """Links, pipes and the like: never ours."""
        if (root / output).exists():
            self._scan(root, output)

    def refuse_obstacles(self, wanted: Iterable[str]) -> None:
        """Raises TasError where a file is wanted but no file stands, or a folder is needed but none stands."""
        blocked = self._folders | self._others
        needed: set[str] = set()
        for path in wanted:
            if path in blocked:
                raise _in_the_way(path)
            folder = path.rpartition("/")[0]
            while folder and folder not in needed:
                needed.add(folder)
                folder = folder.rpartition("/")[0]
        for path in sorted(needed & (self.files | self._others)):
            raise _in_the_way(path)

    def _scan(self, root: Path, folder: str) -> None:
        try:
            with os.scandir(root / folder) as entries:
                listed = list(entries)
        except OSError as error:
            message = f"cannot read the folder {folder}: {error.strerror}"
            raise TasError(message, hint="Check its permissions.") from error
        for entry in listed:
            path = f"{folder}/{entry.name}"
            if entry.is_file(follow_symlinks=False):
                self.files.add(path)
            elif not entry.is_dir(follow_symlinks=False):
                self._others.add(path)
            elif not entry.name.startswith("."):
                self._folders.add(path)
                self._scan(root, path)


def _in_the_way(path: str) -> TasError:
    return TasError(
        f"{path} is in the way: kubectl-tas did not write it",
        hint="Move it elsewhere, or choose another output folder in tas.yaml.",
    )


def _read(path: str) -> str:
    """The text of a file; bytes that are no UTF-8 make it differ from anything that is rendered."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:  # noqa: PTH123
            return file.read()
    except OSError as error:
        raise TasError(f"cannot read {path}: {error.strerror}", hint="Check its permissions.") from error
