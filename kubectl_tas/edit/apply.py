"""Checks edits as a whole and writes them to disk, all or none. Two concurrent commands lose no edit."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from kubectl_tas.base.diagnostics import Diagnostic, Severity, TasError
from kubectl_tas.base.folders import inside
from kubectl_tas.base.late import dataclass
from kubectl_tas.edit.subpool_edits import Edit, NewFile, RemoveDocument, SetValues
from kubectl_tas.emit.disk import Disk, unreadable
from kubectl_tas.load.compose import MAX_NODES
from kubectl_tas.load.document import parse
from kubectl_tas.load.osmofiles import template_root
from kubectl_tas.load.source import FolderSource, OverlaySource, decode
from kubectl_tas.load.splice import set_values, without_document


@dataclass(frozen=True, slots=True)
class FileEdit:
    """The contents of one file before and after an edit."""

    path: str
    before: bytes | None
    """Content before; None if the file is new."""
    after: bytes | None
    """Content after; None: remove the file."""

    @property
    def difference(self) -> tuple[str, str | None, str | None]:
        """The path, and the texts before and after."""
        return self.path, _shown(self.before), _shown(self.after)


def _shown(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8", "replace")


def spliced(root: Path, edits: Sequence[Edit]) -> tuple[FileEdit, ...]:
    """Returns the files that ``edits`` change, before and after, in the order of the edits.

    Raises TasError if a file cannot be edited or has changed since planning, if a new file already exists, or if a link
    leads out of the repository.
    """
    files: dict[str, FileEdit] = {}
    with Disk(root.resolve()) as disk:
        # Removals of documents come last, from the last document on, to keep other numbers valid.
        for edit in sorted(edits, key=lambda x: -x.origin.index if isinstance(x, RemoveDocument) else -MAX_NODES):
            content_before = files.get(edit.path)
            before = content_before.before if content_before else _read(disk, root, edit.path)
            if isinstance(edit, NewFile):
                if before is not None or os.path.lexists(root / edit.path):
                    raise TasError(f"{edit.path} already exists", hint="Rename it, and run again.")
                after = edit.text
            else:
                _check_unchanged(edit, before or b"")
                after = _edited(edit, (content_before.after if content_before else before) or b"")
            files[edit.path] = FileEdit(edit.path, before, after.encode("utf-8") or None)
    for file in files.values():
        if file.after is None and (root / file.path).is_symlink():
            raise TasError(f"{file.path} is a link, which is not removed", hint="Remove it, and what it points at.")
    return tuple(files[path] for path in dict.fromkeys(edit.path for edit in edits))


def applied(edit: SetValues, content: bytes) -> bytes:
    """Returns the content of a file after one edit. Raises TasError for a template, or if the file has changed."""
    _check_unchanged(edit, content)
    return _edited(edit, content).encode()


def as_edited(root: Path, files: Sequence[FileEdit]) -> OverlaySource:
    """Returns the repository after the edits. As in git, a folder without files does not exist."""
    removed = {file.path for file in files if file.after is None}
    folders = {folder.as_posix() for path in removed for folder in PurePosixPath(path).parents[:-1]}
    walked = {
        folder: [Path(top, name) for top, _, names in os.walk(root / folder) for name in names] for folder in folders
    }
    gone = [folder for folder in folders if {x.relative_to(root).as_posix() for x in walked[folder]} <= removed]
    return OverlaySource(FolderSource(root), {file.path: file.after for file in files}, gone)


def new_errors(
    before: Sequence[Diagnostic], after: Sequence[Diagnostic], in_new_words: Callable[[str], str]
) -> tuple[Diagnostic, ...]:
    """Returns the errors that an edit adds. ``in_new_words`` updates an earlier message after a rename."""
    known_errors = {_identity(diagnostic, in_new_words(diagnostic.message)) for diagnostic in before}
    return tuple(x for x in after if x.severity is Severity.ERROR and _identity(x, x.message) not in known_errors)


def _identity(diagnostic: Diagnostic, message: str) -> tuple[str, str, str]:
    """Returns the identity of a finding without its line, because an edit moves lines."""
    path = diagnostic.location.path if diagnostic.location else ""
    return path, diagnostic.rule.code, message


def _check_unchanged(edit: SetValues | RemoveDocument, content: bytes) -> None:
    text = decode(edit.path, content)[0]
    if template_root(text) is not None:
        hint = "Change the value by hand, there or where its values stand, and run again."
        raise TasError(f"{edit.path} is a template, and what it expands to is not edited", hint=hint)
    documents, _ = parse(edit.path, text)
    within, data = edit.origin.within, edit.origin.data
    if not any(document.index == edit.origin.index and document.value(within) == data for document in documents):
        raise _changed(edit.path)


def _edited(edit: SetValues | RemoveDocument, content: bytes) -> str:
    text, within = content.decode("utf-8"), edit.origin.within
    try:
        if not isinstance(edit, RemoveDocument):
            entries = [((*within, *path), value, behind) for path, value, behind in edit.values]
            return set_values(text, edit.origin.index, entries)
        if within:
            raise TasError("an item of a List is not taken out of it", hint="Remove it by hand.")
        return without_document(text, edit.origin.index)
    except TasError as error:
        raise TasError(f"{edit.path}: {error.message}", hint=error.hint) from error


def _changed(path: str) -> TasError:
    return TasError(f"{path} was changed meanwhile; nothing was written to it", hint="Run again.")


def write(root: Path, files: Sequence[FileEdit]) -> None:
    """Writes or removes all files in order, or none. A file keeps its mode, and a link within the repository stays.

    Raises TasError if a file has changed since reading or cannot be written. The files written before are then
    restored. Only a killed process can leave some files written and others not. Then run the command again.
    """
    with Disk(root.resolve()) as disk:
        modes: dict[str, int | None] = {}
        for file in files:
            if _read(disk, root, file.path) != file.before:
                raise _changed(file.path)
            try:
                status = disk.status(inside(root, file.path))
            except OSError as error:
                raise unreadable(file.path, error) from error
            modes[file.path] = stat.S_IMODE(status.st_mode) if status else None
        begun: list[FileEdit] = []
        try:
            for file in files:
                begun.append(file)
                if _read(disk, root, file.path) != file.before:
                    raise _changed(file.path)
                _put(disk, root, file.path, file.after, modes[file.path])
        except BaseException:
            for file in reversed(begun):
                if _read(disk, root, file.path) == file.after != file.before:
                    _put(disk, root, file.path, file.before, modes[file.path])
            raise


def _put(disk: Disk, root: Path, path: str, content: bytes | None, mode: int | None) -> None:
    real = inside(root, path)
    try:
        disk.remove_leftovers(real.rpartition("/")[0])
        if content is None:
            disk.remove(real)
        else:
            disk.replace(real, content, mode=mode, durable=True)
    except OSError as error:
        raise TasError(f"cannot write {path}: {error.strerror}", hint="Check permissions.") from error


@contextmanager
def lock(root: Path) -> Iterator[None]:
    """Makes other edits of the same repository wait. Leaves no file behind, even after a kill."""
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
        raise unreadable(path, error) from error
