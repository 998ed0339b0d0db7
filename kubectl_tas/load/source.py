"""Reads the bytes of files in a folder on disk; reads nothing outside the folder."""

from __future__ import annotations

import codecs
import errno
import math
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule, Severity, TasError
from kubectl_tas.base.folders import MAX_DEPTH, MOVE, is_below, is_git, is_hidden, misspelled, read_all, real_output
from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.model.config import VALUES_FOLDER

if TYPE_CHECKING:
    from kubectl_tas.load.git import Tracked

CONFIG_FILE = "tas.yaml"
"""The file that marks the root of a repository."""
SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = 4 * 1024 * 1024
"""The size of the largest file that is read, in bytes."""

FILE_TOO_LARGE = Rule(
    "file-too-large",
    Severity.ERROR,
    "A file has more than 4 MiB, or 500,000 keys and values.",
    "Nobody reviews such a file, and the API server accepts no object above 1.5 MiB. Split it, or move it out of the "
    "folders that kubectl-tas reads.",
)
FILE_NOT_REGULAR = Rule(
    "file-not-regular",
    Severity.ERROR,
    "A file is a broken link, a pipe or a device, or a folder is a file or too deep.",
    "Not every machine reads such a file the same way. Replace it by a plain file or a folder, or move it up if it is "
    "too deep.",
)
FILE_OUTSIDE_REPOSITORY = Rule(
    "file-outside-repository",
    Severity.ERROR,
    "A symbolic link leads out of the repository.",
    "The target of the link is not under version control here, so two checkouts could render different manifests. Copy "
    "the file into the repository.",
)


@dataclass(frozen=True, slots=True)
class RawFile:
    """A file as found: its bytes, or the problem that prevents reading it."""

    path: str
    """The path relative to the root, with forward slashes."""
    content: bytes
    problem: Diagnostic | None = None
    is_executable: bool = False
    link: str | None = None
    """The real path relative to the root, if a link leads to the file."""


class Source(Protocol):
    """A tree of files: a folder, or one revision of a git repository."""

    def config(self) -> RawFile | None:
        """Returns ``tas.yaml``, or None if absent."""

    def has_folder(self, folder: str) -> bool:
        """Whether ``folder``, relative to the root, exists."""

    def files(self, folders: Sequence[str], *, exclude: str) -> tuple[RawFile, ...]:
        """Returns all manifests below ``folders``, sorted by path; none below ``exclude``."""

    def local_file(self, path: str) -> RawFile:
        """Returns a file of any kind, or its problem; ``path`` is relative to the root and has no '..'."""


class OverlaySource:
    """Another source as planned: with files replaced, added or (None) removed, and without the folders ``gone``."""

    def __init__(self, base: Source, files: Mapping[str, bytes | None], gone: Collection[str] = ()) -> None:
        self._base = base
        self._files = files
        self._gone = gone

    def config(self) -> RawFile | None:
        """Returns ``tas.yaml``, or None if absent."""
        if CONFIG_FILE in self._files:
            content = self._files[CONFIG_FILE]
            return None if content is None else RawFile(CONFIG_FILE, content)
        return self._base.config()

    def has_folder(self, folder: str) -> bool:
        """Whether ``folder``, relative to the root, exists."""
        if folder in self._gone:
            return False
        return self._base.has_folder(folder) or any(path.startswith(f"{folder}/") for path in self._files)

    def files(self, folders: Sequence[str], *, exclude: str) -> tuple[RawFile, ...]:
        """Returns all manifests below ``folders``, sorted by path."""
        found = {raw.path: raw for raw in self._base.files(folders, exclude=exclude)}
        for path, content in self._files.items():
            if content is None:
                found.pop(path, None)
            elif path != CONFIG_FILE:
                found[path] = RawFile(path, content, link=found[path].link if path in found else None)
        return tuple(found[path] for path in sorted(found))

    def local_file(self, path: str) -> RawFile:
        """Returns a file of any kind, or the reason why it is not available."""
        if path not in self._files:
            return self._base.local_file(path)
        content = self._files[path]
        return _missing(path) if content is None else RawFile(path, content)


class MemorySource:
    """Files that are not on disk, by path; every path counts as lying in a folder that the tool reads."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def config(self) -> RawFile | None:
        """Returns ``tas.yaml``, or None if absent."""
        return RawFile(CONFIG_FILE, self._files[CONFIG_FILE]) if CONFIG_FILE in self._files else None

    def has_folder(self, folder: str) -> bool:
        """Whether ``folder`` exists: true for all but the folder with values of templates."""
        return folder != VALUES_FOLDER

    def files(self, folders: Sequence[str], *, exclude: str) -> tuple[RawFile, ...]:
        """Returns all files but the Config, sorted by path."""
        return tuple(RawFile(path, self._files[path]) for path in sorted(self._files) if path != CONFIG_FILE)

    def local_file(self, path: str) -> RawFile:
        """Returns a file of any kind, or the reason why it is not available."""
        return RawFile(path, self._files[path]) if path in self._files else _missing(path)


class FolderSource:
    """The files below ``root``. Raises TasError if a folder or file cannot be read."""

    def __init__(self, root: Path, *, asks_git: bool = True) -> None:
        """With ``asks_git``, a ``local_file`` must be tracked by git, or without git must not be hidden."""
        self.root = root
        self._asks_git = asks_git
        self._tracked: Tracked | None = None
        self._real_root = os.path.realpath(root)
        self._seen: set[str] = set()
        """Folders that existed when a caller asked."""
        self._real_output: str | None = None
        self._linked: dict[str, str] = {}
        """The real path of each folder behind a link, by the path under which the folder is read."""

    def config(self) -> RawFile | None:
        """Returns ``tas.yaml``, or None if absent."""
        path = self.root / CONFIG_FILE
        if not path.exists() and not path.is_symlink():
            return None
        return self._read(CONFIG_FILE)

    def has_folder(self, folder: str) -> bool:
        """Whether ``folder``, relative to the root, exists."""
        if os.path.isdir(self.root / folder):  # noqa: PTH112 - pathlib raises for names that cannot be
            self._seen.add(folder)
            return True
        return False

    def files(self, folders: Sequence[str], *, exclude: str) -> tuple[RawFile, ...]:
        """Returns all manifests below ``folders``, sorted by path; none below ``exclude`` or in hidden folders.

        Raises TasError if the output folder ``exclude`` is a link to a folder that is read or must not be written.
        Raises TasError also if a file vanishes after it was listed, because such a file is not surely deleted.
        """
        found: dict[str, RawFile] = {}
        if not _is_refused_as_written(exclude, folders):
            self._real_output = os.path.join(self._real_root, real_output(self.root, exclude, folders))  # noqa: PTH118
        for folder in folders:
            base = Path(folder).as_posix()
            for path, problem in self._walk(base, exclude=exclude, above=()):
                if path == CONFIG_FILE or path in found:
                    continue
                found[path] = problem or self._read(path)
        return tuple(found[path] for path in sorted(found))

    def local_file(self, path: str) -> RawFile:
        """Returns a file of any kind, or the reason why it is not available.

        Refuses files outside the root, in git's own folder, in the output, or unknown to git. Raises TasError if the
        file cannot be read.
        """
        full = self.root / path
        real = os.path.realpath(full)
        problem = self._leads_away(path, real, words="the path")
        if problem is not None:
            return problem
        if not os.path.lexists(full):
            return _missing(path)
        if os.path.isdir(full):  # noqa: PTH112 - pathlib raises for names that cannot be
            hint = "Write an entry for each of its files, as OSMO wants it too."
            return self._problem(path, FILE_NOT_REGULAR, "it is a folder", hint)
        found = self._read(path)
        asks = self._asks_git and found.problem is None
        refused = self.tracked.problem(path, self._relative(real)) if asks else None
        return self._problem(path, FILE_NOT_REGULAR, *refused) if refused else found

    @property
    def tracked(self) -> Tracked:
        """The files that git tracks; a repository without a ``localpath`` does not start git."""
        if self._tracked is None:
            from kubectl_tas.load.git import Tracked

            self._tracked = Tracked(self._real_root)
        return self._tracked

    def _walk(self, folder: str, *, exclude: str, above: tuple[str, ...]) -> Iterator[tuple[str, RawFile | None]]:
        """Yields the paths below ``folder``, with a RawFile if the path itself is a problem."""
        real = os.path.realpath(self.root / folder)
        if real in above:
            return
        if not os.path.lexists(self.root / folder):
            if above or folder in self._seen:
                raise _vanished(folder)
            return
        problem = self._leads_away(folder, real)
        if problem is not None:
            if os.path.islink(self.root / folder) or real != self._real_output:  # noqa: PTH114
                yield folder, problem
            return
        if not self.has_folder(folder):
            yield folder, self._problem(folder, FILE_NOT_REGULAR, "not a folder", "Replace it by a folder.")
            return
        if len(above) > MAX_DEPTH:
            message = f"more than {MAX_DEPTH} folders within one another"
            yield folder, self._problem(folder, FILE_NOT_REGULAR, message, MOVE)
            return
        try:
            with os.scandir(self.root / folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError as error:
            raise _vanished(folder) from error
        except OSError as error:
            message = f"cannot read the folder {folder}: {error.strerror}"
            raise TasError(message, hint="Check its permissions.") from error
        if real != os.path.normpath(f"{self._real_root}/{folder}"):
            self._linked[folder] = self._relative(real)
        for entry in listed:
            path = entry.name if folder == "." else f"{folder}/{entry.name}"
            if entry.name.startswith(".") or path == exclude:
                continue
            if _is_folder(entry):
                yield from self._walk(path, exclude=exclude, above=(*above, real))
            elif entry.name.endswith(SUFFIXES):
                yield path, None

    def _read(self, path: str) -> RawFile:
        full = f"{self.root}/{path}"
        is_link = os.path.islink(full)  # noqa: PTH114 - each file of a large repository comes here
        folder, _, name = path.rpartition("/")
        link = f"{self._linked[folder]}/{name}" if folder in self._linked else None
        problem = self._leads_away(path, os.path.realpath(full)) if is_link else None
        if problem is not None:
            return problem
        try:
            status = os.stat(full)  # noqa: PTH116
            if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES:
                is_executable = bool(status.st_mode & stat.S_IXUSR)
                link = self._relative(os.path.realpath(full)) if is_link else link
                return RawFile(path, _content(full, status.st_size), None, is_executable, link)
        except OSError as error:
            if error.errno == errno.ENOENT and not (is_link and os.path.islink(full)):  # noqa: PTH114
                raise _vanished(path) from error
            if error.errno in (errno.ENOENT, errno.ELOOP):
                message = "this symbolic link leads to nothing"
                return self._problem(path, FILE_NOT_REGULAR, message, "Repair or remove it.")
            raise TasError(f"cannot read {path}: {error.strerror}", hint="Check its permissions.") from error
        if not stat.S_ISREG(status.st_mode):
            return self._problem(path, FILE_NOT_REGULAR, "not a plain file", "Replace it by a plain file.")
        size = math.ceil(status.st_size / (1024 * 1024) * 10) / 10
        message = f"the file has {size:g} MiB; at most 4 MiB are read"
        return self._problem(path, FILE_TOO_LARGE, message, "Split the file, or move it out of the folder.")

    def _relative(self, real: str) -> str:
        """Returns a real path below the root as a path relative to the root."""
        return Path(os.path.relpath(real, self._real_root)).as_posix()

    def _leads_away(self, path: str, real: str, words: str = "this symbolic link") -> RawFile | None:
        """Returns the problem with a path that really lies outside the root, in git's own folder, or in the output."""
        if not is_below(real, self._real_root) or any(map(is_git, Path(real[len(self._real_root) :]).parts)):
            message = f"{words} leads out of the repository"
            hint = "Copy what it points at into the repository."
            return self._problem(path, FILE_OUTSIDE_REPOSITORY, message, hint)
        if self._real_output is not None and is_below(real, self._real_output):
            message = f"{words} leads to what kubectl-tas writes"
            return self._problem(path, FILE_NOT_REGULAR, message, "Name another file, or remove the link.")
        return None

    @staticmethod
    def _problem(path: str, rule: Rule, message: str, hint: str) -> RawFile:
        return RawFile(path, b"", Diagnostic(rule, message, Location(path), hint=hint))


def _content(path: str, size: int) -> bytes:
    number = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        return read_all(number, size)
    finally:
        os.close(number)


def _missing(path: str) -> RawFile:
    hint = "Correct the path, which begins at the folder of the workflow's file."
    return RawFile(path, b"", Diagnostic(FILE_NOT_REGULAR, "this file does not exist", Location(path), hint=hint))


def is_read(path: str, folders: Sequence[str], *, exclude: str) -> bool:
    """Whether ``Source.files`` returns a file of that path, or the file is the Config."""
    if path == CONFIG_FILE:
        return True
    parts = PurePosixPath(path).parts
    is_hidden = any(part.startswith(".") for part in parts)
    is_below = any(PurePosixPath(path).is_relative_to(folder) for folder in folders)
    return is_below and not is_hidden and path.endswith(SUFFIXES) and not PurePosixPath(path).is_relative_to(exclude)


def _is_refused_as_written(output: str, folders: Sequence[str]) -> bool:
    """Whether the spelling of an output folder alone makes it invalid; another check reports that as a finding."""
    contains = any(f"{folder}/".startswith(f"{output}/") for folder in folders)
    return output == "." or contains or is_hidden(output) or misspelled(output) is not None


def _vanished(path: str) -> TasError:
    return TasError(f"{path} vanished while it was read", hint="Run again when nothing changes the files any more.")


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads in a circle is no folder
        return False


FILE_NOT_TEXT = Rule(
    "file-not-text",
    Severity.ERROR,
    "A file is not UTF-8 text.",
    "YAML for Kubernetes is UTF-8. A binary file, or one saved in another encoding, has got into the folder.",
)
CONTROL = late_pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
"""A character that no text contains."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decode(path: str, content: bytes) -> tuple[str, Diagnostic | None]:
    """Returns the text of a file without its byte order mark; '' and a diagnostic if the file is not text."""
    if content.startswith(_UTF16):
        return "", _problem(path, "", "the file is UTF-16", "Save it as UTF-8.")
    try:
        text = content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8").removeprefix("\ufeff")
        message = f"the byte 0x{content[error.start]:02x} is not UTF-8"
        return "", _problem(path, before, message, "Save the file as UTF-8, or remove it.")
    control = CONTROL.search(text)
    if control:
        before = text[: control.start()]
        message = f"the control character U+{ord(control[0]):04X} is not text"
        return "", _problem(path, before, message, "Remove it; a binary file does not belong here.")
    return text, None


def _problem(path: str, before: str, message: str, hint: str) -> Diagnostic:
    """Returns a finding at the end of the text ``before`` the problem."""
    lines = re.split(r"\r\n|\r|\n", before)
    return Diagnostic(FILE_NOT_TEXT, message, Location(path, len(lines), len(lines[-1]) + 1), hint=hint)
