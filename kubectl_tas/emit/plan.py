"""What is to be on disk, against what is there: files to write, to keep and to remove."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
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

    Files there that the tool did not write are left alone; one that stands where the tool must write, or an
    output folder that leads out of the repository, raises TasError.
    """
    _check_output(root, output)
    changes: list[Change] = []
    unchanged = 0
    present = set(_present(root, output))
    for path, after in files.items():
        before = _read(f"{root}/{path}") if path in present else None
        if before == after:
            unchanged += 1
            continue
        if before is not None and not before.startswith(text.MARK):
            raise TasError(
                f"{path} is in the way: kubectl-tas did not write it",
                hint="Move it elsewhere, or choose another output folder in tas.yaml.",
            )
        changes.append(Change(path, before, after))
    for path in present - files.keys():
        before = _read(f"{root}/{path}") if path.endswith(".yaml") else ""
        if path.endswith(TEMPORARY) or (before or "").startswith(text.MARK):
            changes.append(Change(path, before, None))
    return Plan(tuple(sorted(changes, key=lambda change: change.path)), unchanged)


def _check_output(root: Path, output: str) -> None:
    real_root, real = os.path.realpath(root), os.path.realpath(root / output)
    if not real.startswith(real_root + os.sep):
        raise TasError(f"the output folder {output} leads out of the repository", hint="Remove the link.")
    if (root / output).exists() and not (root / output).is_dir():
        raise TasError(f"the output {output} is a file, not a folder", hint="Move it elsewhere.")


def _present(root: Path, output: str) -> list[str]:
    """All files below the output folder, relative to the root."""
    found = []

    def fail(error: OSError) -> None:
        raise TasError(f"cannot read the folder {error.filename}: {error.strerror}", hint="Check its permissions.")

    for folder, folders, files in os.walk(root / output, onerror=fail if (root / output).exists() else None):
        folders[:] = [name for name in folders if not name.startswith(".")]
        base = Path(folder).relative_to(root).as_posix()
        found += [f"{base}/{name}" for name in files]
    return found


def _read(path: str) -> str:
    """The text of a file; bytes that are no UTF-8 make it differ from anything that is rendered."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:  # noqa: PTH123
            return file.read()
    except OSError as error:
        raise TasError(f"cannot read {path}: {error.strerror}", hint="Check its permissions.") from error
