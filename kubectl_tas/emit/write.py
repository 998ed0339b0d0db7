"""A plan in, files on disk out: each is replaced in one step or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from kubectl_tas.emit.plan import TEMPORARY, Plan, Tick
from kubectl_tas.errors import TasError


def apply_plan(plan: Plan, root: Path, tick: Tick | None = None) -> None:
    """Carries out a plan below ``root``. Raises TasError where a file cannot be written or removed."""
    made: set[Path] = set()
    for index, change in enumerate(plan.changes):
        path = root / change.path
        try:
            if change.after is None:
                path.unlink(missing_ok=True)
                _remove_empty(path.parent, root)
            else:
                if path.parent not in made:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    made.add(path.parent)
                replace(path, change.after)
        except OSError as error:
            message = f"cannot write {change.path}: {error.strerror}"
            raise TasError(message, hint="Check permissions and free space; run again to finish.") from error
        if tick:
            tick(index + 1, len(plan.changes))


def replace(path: Path, content: str) -> None:
    """Puts ``content`` in place of the file: readers see the old text or the new one, never a part."""
    temporary = path.with_name(f".{path.name[:100]}.{os.getpid()}{TEMPORARY}")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            file.write(content)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _remove_empty(folder: Path, root: Path) -> None:
    """Removes ``folder`` and those above it that are empty now, up to ``root``."""
    while folder != root:
        try:
            folder.rmdir()
        except OSError:  # not empty, or not ours to remove: it stays
            return
        folder = folder.parent
