"""Files below a root: each is reached folder by folder, and no link is ever followed on the way.

A folder that has been entered is held by its descriptor, so what somebody puts in its place afterwards changes
nothing. Where the system has no such descriptors (Windows), each folder is looked at before it is used.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from pathlib import Path
from types import TracebackType

from kubectl_tas.errors import TasError

TEMPORARY = ".kubectl-tas.tmp"
"""Ending of a file that is being written; one that is found was left by a process that was killed."""

_LEFTOVER = re.compile(rf"\.[0-9a-f]{{16}}{re.escape(TEMPORARY)}")
_BY_DESCRIPTOR = os.supports_dir_fd >= {os.open, os.mkdir, os.rename, os.unlink, os.rmdir, os.stat}
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_COMMON = _NO_FOLLOW | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_ENTER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _COMMON
_LIST = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _COMMON
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _COMMON
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _COMMON

Place = int | str
"""A folder: its descriptor, or its path where there are none."""


def is_leftover(path: str) -> bool:
    """Whether a path has the name of a file that was being written."""
    return path.endswith(TEMPORARY) and _LEFTOVER.fullmatch(path.rpartition("/")[2]) is not None


class Disk:
    """The files below ``root``, whose own path is trusted. Paths are relative to it, with forward slashes.

    Raises TasError where the root itself cannot be opened. All functions raise OSError, also where a folder on
    the way is a link or no folder.
    """

    def __init__(self, root: Path) -> None:
        self._parts: list[str] = []
        """The folder that was used last, by its parts."""
        self._places: list[Place] = [str(root)]
        """The root, and the folder of each part."""
        if _BY_DESCRIPTOR:
            try:
                self._places = [os.open(root, _ENTER & ~_NO_FOLLOW)]
            except OSError as error:
                message = f"cannot open the folder {root}: {error.strerror}"
                raise TasError(message, hint="Check its permissions.") from error

    def __enter__(self) -> Disk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._places:
            self._leave()

    def status(self, path: str) -> os.stat_result | None:
        """What stands at ``path``, a link as the link itself; None: nothing does."""
        try:
            name, at = self._locate(path)
            return os.stat(name, dir_fd=at, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read(self, path: str) -> bytes | None:
        """The content of a plain file; None where there is nothing."""
        try:
            name, at = self._locate(path)
            _refuse_link(name, at)
            handle = os.open(name, _READ, dir_fd=at)
        except FileNotFoundError:
            return None
        with open(handle, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor has no path
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(errno.EINVAL, "it is not a plain file", path)
            return file.readall()

    def entries(self, folder: str) -> list[os.DirEntry[str]]:
        """What stands in a folder. Only the names and kinds of the entries may be asked for."""
        place = self._enter(folder)
        handle = os.open(".", _LIST, dir_fd=place) if isinstance(place, int) else None
        try:
            with os.scandir(place if handle is None else handle) as entries:
                found = list(entries)
            for entry in found:  # a disk that does not tell the kind is asked for it now, while the handle is open
                entry.is_file(follow_symlinks=False)
        finally:
            if handle is not None:
                os.close(handle)
        return found

    def replace(self, path: str, content: bytes, *, mode: int | None = None, durable: bool = False) -> None:
        """Puts ``content`` in place of whatever has that name: readers see the old file or the new one, never a
        part, and another name of the old file (a hard link, what a link points at) keeps the old content.

        Folders are made where they are missing. ``mode`` are the permissions, by default those of a new file.
        With ``durable`` a power cut leaves one of the two as well.
        """
        target, at = self._locate(path, make=True)
        source = self._in_folder(f".{os.urandom(8).hex()}{TEMPORARY}")
        handle = os.open(source, _CREATE, 0o666, dir_fd=at)
        try:
            try:
                _write(handle, content)
                if mode is not None and hasattr(os, "fchmod"):
                    os.fchmod(handle, mode)
                if durable:
                    os.fsync(handle)
            finally:
                os.close(handle)
            os.replace(source, target, src_dir_fd=at, dst_dir_fd=at)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(source, dir_fd=at)
            raise

    def remove(self, path: str) -> None:
        """Removes a file, or the link itself, and the folders that are empty then; nothing where there is none."""
        with contextlib.suppress(FileNotFoundError):
            name, at = self._locate(path)
            os.unlink(name, dir_fd=at)
        self._remove_empty(path.rpartition("/")[0])

    def remove_leftovers(self, folder: str) -> None:
        """Removes what killed processes left half-written in a folder. No other may be writing there."""
        try:
            found = self.entries(folder)
        except FileNotFoundError:
            return
        for entry in found:
            if is_leftover(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):  # nothing depends on its removal
                    os.unlink(self._in_folder(entry.name), dir_fd=self._descriptor)

    def _remove_empty(self, folder: str) -> None:
        """Removes ``folder`` and those above it that are empty, up to the root."""
        while folder:
            try:
                name, at = self._locate(folder)
                os.rmdir(name, dir_fd=at)
            except OSError:  # not empty, or not ours to remove: it stays
                return
            folder = folder.rpartition("/")[0]

    def _locate(self, path: str, *, make: bool = False) -> tuple[str, int | None]:
        """A path as system calls take it: a name and its folder's descriptor, or the whole path and None."""
        folder, _, name = path.rpartition("/")
        self._enter(folder, make=make)
        return self._in_folder(name), self._descriptor

    def _in_folder(self, name: str) -> str:
        """A name in the folder that was used last, as system calls take it."""
        place = self._places[-1]
        return name if isinstance(place, int) else os.path.join(place, name)  # noqa: PTH118

    @property
    def _descriptor(self) -> int | None:
        place = self._places[-1]
        return place if isinstance(place, int) else None

    def _enter(self, folder: str, *, make: bool = False) -> Place:
        """Goes to a folder from the one that was used last: most files lie beside the one before."""
        parts = folder.split("/") if folder else []
        shared = 0
        while shared < min(len(parts), len(self._parts)) and parts[shared] == self._parts[shared]:
            shared += 1
        while len(self._parts) > shared:
            self._leave()
        for part in parts[shared:]:
            self._down(part, make=make)
        return self._places[-1]

    def _down(self, part: str, *, make: bool) -> None:
        name, at = self._in_folder(part), self._descriptor
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=at)
        try:
            _refuse_link(name, at)
            place: Place = name if at is None else os.open(name, _ENTER, dir_fd=at)
            if at is None and not os.path.isdir(name):  # noqa: PTH112
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            where = "/".join((*self._parts, part))
            raise NotADirectoryError(error.errno, f"{where} is a link or a file, not a folder", where) from error
        self._parts.append(part)
        self._places.append(place)

    def _leave(self) -> None:
        place = self._places.pop()
        if self._parts:
            self._parts.pop()
        if isinstance(place, int):
            os.close(place)


def write_file(path: Path, content: bytes) -> None:
    """Puts a file that the user names there in one step. Raises TasError where that is not possible."""
    hint = "Name a file in a folder that exists and may be written to."
    if path.is_dir():
        raise TasError(f"cannot write {path}: it is a folder", hint=hint)
    try:
        with Disk(path.parent) as disk:
            disk.replace(path.name, content)
    except OSError as error:
        raise TasError(f"cannot write {path}: {error.strerror}", hint=hint) from error


def _refuse_link(name: str, at: int | None) -> None:
    """Looks first where opening cannot be told not to follow links."""
    if at is not None and _NO_FOLLOW:
        return
    status = os.stat(name, dir_fd=at, follow_symlinks=False)
    junction: int = getattr(status, "st_reparse_tag", 0)  # how Windows has links to folders too
    if stat.S_ISLNK(status.st_mode) or junction:
        raise OSError(errno.ELOOP, "it is a symbolic link", name)


def _write(handle: int, content: bytes) -> None:
    """All of it: the system may take a part at a time."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]
