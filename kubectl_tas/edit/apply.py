"""Edits in, files on disk out: checked as a whole first, then replaced in one step; two at once lose nothing."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kubectl_tas.diagnostics import Diagnostic, Severity
from kubectl_tas.edit.subpools import Edit, NewFile, SetValues
from kubectl_tas.emit.disk import Disk
from kubectl_tas.errors import TasError
from kubectl_tas.folders import inside
from kubectl_tas.load.document import parse
from kubectl_tas.load.source import FolderSource, OverlaySource, decode
from kubectl_tas.load.splice import set_value


@dataclass(frozen=True, slots=True)
class FileEdit:
    """One file before and after."""

    path: str
    before: bytes | None
    """None: the file is new."""
    after: bytes

    @property
    def difference(self) -> tuple[str, str | None, str]:
        """The path, and the texts before and after."""
        old = None if self.before is None else self.before.decode("utf-8", "replace")
        return self.path, old, self.after.decode("utf-8", "replace")


def spliced(root: Path, edits: Sequence[Edit]) -> tuple[FileEdit, ...]:
    """The files that ``edits`` change, as they are and as they would be, sorted by path.

    Raises TasError where a file cannot be edited or does not say any more what the edits were planned on, where
    a new one exists already, and where a link leads out of the repository.
    """
    files: dict[str, FileEdit] = {}
    with Disk(root.resolve()) as disk:
        for edit in edits:
            known = files.get(edit.path)
            before = known.before if known else _read(disk, root, edit.path)
            if isinstance(edit, NewFile):
                if before is not None or os.path.lexists(root / edit.path):
                    raise TasError(f"{edit.path} already exists", hint="Rename it, or write the subpool into it.")
                after = edit.text
            else:
                _check_unchanged(edit, before or b"")
                after = _edited(edit, (known.after if known else before or b"").decode("utf-8"))
            files[edit.path] = FileEdit(edit.path, before, after.encode("utf-8"))
    return tuple(files[path] for path in sorted(files))


def as_edited(root: Path, files: Sequence[FileEdit]) -> OverlaySource:
    """The repository as it would be."""
    return OverlaySource(FolderSource(root), {file.path: file.after for file in files})


def new_errors(before: Sequence[Diagnostic], after: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The errors that an edit would bring."""
    known = {_identity(item) for item in before}
    return tuple(item for item in after if item.severity is Severity.ERROR and _identity(item) not in known)


def _identity(diagnostic: Diagnostic) -> tuple[str, str, str]:
    """What tells a finding from others, wherever it stands in its file: an edit moves lines."""
    path = diagnostic.location.path if diagnostic.location else ""
    return path, diagnostic.rule.code, diagnostic.message


def _check_unchanged(edit: SetValues, content: bytes) -> None:
    documents, _ = parse(edit.path, decode(edit.path, content)[0])
    within, data = edit.origin.within, edit.origin.data
    if not any(item.index == edit.origin.index and item.value(within) == data for item in documents):
        raise _changed(edit.path)


def _edited(edit: SetValues, text: str) -> str:
    for path, value, behind in edit.values:
        try:
            text = set_value(text, edit.origin.index, (*edit.origin.within, *path), value, after=behind)
        except TasError as error:
            raise TasError(f"{edit.path}: {error.message}", hint=error.hint) from error
    return text


def _changed(path: str) -> TasError:
    return TasError(f"{path} was changed meanwhile; nothing was written to it", hint="Run again.")


def write(root: Path, files: Sequence[FileEdit]) -> None:
    """Writes what is new; a file keeps its mode, and a link within the repository stays a link.

    Raises TasError where a file is no longer what it was when it was read, and where it cannot be written.
    """
    with Disk(root.resolve()) as disk:
        for file in files:
            if _read(disk, root, file.path) != file.before:
                raise _changed(file.path)
            _replace(disk, file, inside(root, file.path))


def _replace(disk: Disk, file: FileEdit, real: str) -> None:
    """Writes a file that really lies at ``real``."""
    try:
        status = disk.status(real)
        disk.remove_leftovers(real.rpartition("/")[0])
        disk.replace(real, file.after, mode=stat.S_IMODE(status.st_mode) if status else None, durable=True)
    except OSError as error:
        raise TasError(f"cannot write {file.path}: {error.strerror}", hint="Check permissions.") from error


@contextmanager
def lock(root: Path) -> Iterator[None]:
    """Keeps other edits of the same repository waiting. Leaves no file behind, not even when it is killed."""
    try:
        import fcntl
    except ImportError:  # no such locks on Windows: the comparison before each write still holds
        yield
        return
    handle = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _read(disk: Disk, root: Path, path: str) -> bytes | None:
    try:
        return disk.read(inside(root, path))
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # a name that is too long for a queue too, which is what is said then
            return None
        raise TasError(f"cannot read {path}: {error.strerror}", hint="Check its permissions.") from error
