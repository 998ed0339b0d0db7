"""A plan in, files on disk out: each is replaced in one step or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from kubectl_tas.emit.plan import KUSTOMIZATION, TEMPORARY, Change, Plan, Tick
from kubectl_tas.errors import TasError


def apply_plan(plan: Plan, root: Path, tick: Tick | None = None) -> None:
    """Carries out a plan below ``root``. Raises TasError where a file cannot be written or removed."""
    made: set[str] = set()
    for index, change in enumerate(sorted(plan.changes, key=_step)):
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


def _step(change: Change) -> tuple[bool, bool, str]:
    """Objects are written first and removed last, so that what a kustomization lists is there at every moment."""
    return (change.after is None, change.path.endswith(f"/{KUSTOMIZATION}"), change.path)


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


def replace_durably(path: Path, content: bytes) -> None:
    """As ``replace``, for what people write: the file keeps its mode, a link stays a link, and a power cut
    leaves the old file or the new one.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:100]}.{os.getpid()}{TEMPORARY}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def remove_leftovers(folder: Path) -> None:
    """Removes what killed processes left half-written in ``folder``. No other may be writing there."""
    for path in folder.glob(f".*{TEMPORARY}"):
        with contextlib.suppress(OSError):  # nothing depends on its removal
            path.unlink()


def _remove_empty(folder: Path, root: Path) -> None:
    """Removes ``folder`` and those above it that are empty now, up to ``root``."""
    while folder != root:
        try:
            folder.rmdir()
        except OSError:  # not empty, or not ours to remove: it stays
            return
        folder = folder.parent
