"""A plan in, files on disk out: each is replaced in one step or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from kubectl_tas.emit.plan import TEMPORARY, Plan, Tick
from kubectl_tas.errors import TasError


def apply_plan(plan: Plan, root: Path, tick: Tick | None = None) -> None:
    """Carries out a plan below ``root``. Raises TasError where a file cannot be written or removed."""
    made: set[str] = set()
    for index, change in enumerate(plan.changes):
        path = f"{root}/{change.path}"
        folder = os.path.dirname(path)  # noqa: PTH120 - thousands of files: pathlib would take as long as the writing
        try:
            if change.after is None:
                Path(path).unlink(missing_ok=True)
                _remove_empty(Path(folder), root)
            else:
                if folder not in made:
                    Path(folder).mkdir(parents=True, exist_ok=True)
                    made.add(folder)
                replace(path, change.after)
        except OSError as error:
            message = f"cannot write {change.path}: {error.strerror}"
            raise TasError(message, hint="Check permissions and free space; run again to finish.") from error
        if tick:
            tick(index + 1, len(plan.changes))


def replace(path: str, content: str) -> None:
    """Puts ``content`` in place of the file: readers see the old text or the new one, never a part."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:100]}.{os.getpid()}{TEMPORARY}")  # noqa: PTH118
    try:
        with open(temporary, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
            file.write(content)
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise


def _remove_empty(folder: Path, root: Path) -> None:
    """Removes ``folder`` and those above it that are empty now, up to ``root``."""
    while folder != root:
        try:
            folder.rmdir()
        except OSError:  # not empty, or not ours to remove: it stays
            return
        folder = folder.parent
