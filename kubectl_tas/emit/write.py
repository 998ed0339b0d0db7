"""A plan in, files on disk out: each is replaced in one step or not at all."""

from __future__ import annotations

from pathlib import Path

from kubectl_tas.emit.disk import Disk
from kubectl_tas.emit.plan import KUSTOMIZATION, Change, Plan, Tick
from kubectl_tas.errors import TasError


def apply_plan(plan: Plan, root: Path, tick: Tick | None = None) -> None:
    """Carries out a plan below ``root``. Raises TasError where a file cannot be written or removed."""
    with Disk(root.resolve()) as disk:
        for index, change in enumerate(sorted(plan.changes, key=_step)):
            try:
                if change.after is None:
                    disk.remove(plan.locate(change))
                else:
                    disk.replace(plan.locate(change), change.after.encode())
            except OSError as error:
                message = f"cannot write {change.path}: {error.strerror}"
                raise TasError(message, hint="Check permissions and free space; run again to finish.") from error
            if tick:
                tick(index + 1, len(plan.changes))


def _step(change: Change) -> tuple[bool, bool, str]:
    """Objects are written first and removed last, so that what a kustomization lists is there at every moment."""
    return (change.after is None, change.path.endswith(f"/{KUSTOMIZATION}"), change.path)
