"""Where files come from: a folder on disk. Paths in, bytes out; nothing outside the folder is read."""

from __future__ import annotations

import errno
import math
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kubectl_tas.diagnostics import Diagnostic, Location, Rule, Severity
from kubectl_tas.errors import TasError

CONFIG_FILE = "tas.yaml"
"""The file that marks the root of a repository."""
SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = 4 * 1024 * 1024
"""The largest file that is read."""

FILE_TOO_LARGE = Rule(
    "file-too-large",
    Severity.ERROR,
    "A file is larger than 4 MiB, or has more than 500,000 keys and values.",
    "Nobody reviews such a file, and an API server takes no object above 1.5 MiB. Split it, or move it "
    "out of the folders that are read.",
)
FILE_NOT_REGULAR = Rule(
    "file-not-regular",
    Severity.ERROR,
    "A name that ends like a manifest is a broken link, a pipe or a device; or a folder that is read is a file.",
    "Such a name cannot be read the same way on every machine. Replace it by a plain file, or by a folder.",
)
FILE_OUTSIDE_REPOSITORY = Rule(
    "file-outside-repository",
    Severity.ERROR,
    "A symbolic link leads out of the repository.",
    "What the link points at is not under version control here, so two checkouts would render different "
    "manifests. Copy the file into the repository.",
)


@dataclass(frozen=True, slots=True)
class RawFile:
    """A file as it was found: its bytes, or why there are none."""

    path: str
    """Relative to the root, with forward slashes."""
    content: bytes
    problem: Diagnostic | None = None


class Source(Protocol):
    """A tree of files: a folder, or one revision of a git repository."""

    def config(self) -> RawFile | None:
        """``tas.yaml``, where there is one."""

    def has_folder(self, folder: str) -> bool:
        """Whether ``folder``, relative to the root, exists."""

    def files(self, folders: Sequence[str], *, exclude: str) -> tuple[RawFile, ...]:
        """All manifests below ``folders``, sorted by path; nothing below ``exclude``."""


class OverlaySource:
    """Another source with some of its files replaced or added: a repository as it would be."""

    def __init__(self, base: Source, files: Mapping[str, bytes]) -> None:
        self._base = base
        self._files = files

    def config(self) -> RawFile | None:
        """``tas.yaml``, where there is one."""
        if CONFIG_FILE in self._files:
            return RawFile(CONFIG_FILE, self._files[CONFIG_FILE])
        return self._base.config()

    def has_folder(self, folder: str) -> bool:
        """Whether ``folder``, relative to the root, exists."""
        return self._base.has_folder(folder) or any(path.startswith(f"{folder}/") for path in self._files)

    def files(self, folders: Sequence[str], *, exclude: str) -> tuple[RawFile, ...]:
        """All manifests below ``folders``, sorted by path."""
        found = {raw.path: raw for raw in self._base.files(folders, exclude=exclude)}
        found |= {path: RawFile(path, content) for path, content in self._files.items() if path != CONFIG_FILE}
        return tuple(found[path] for path in sorted(found))


class FolderSource:
    """The files below ``root``. Raises TasError where a folder or file cannot be read."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._real_root = os.path.realpath(root)

    def config(self) -> RawFile | None:
        """``tas.yaml``, where there is one."""
        path = self.root / CONFIG_FILE
        if not path.exists() and not path.is_symlink():
            return None
        return self._read(CONFIG_FILE)

    def has_folder(self, folder: str) -> bool:
        """Whether ``folder``, relative to the root, exists."""
        return os.path.isdir(self.root / folder)  # noqa: PTH112 - pathlib raises for names that cannot be

    def files(self, folders: Sequence[str], *, exclude: str) -> tuple[RawFile, ...]:
        """All manifests below ``folders``, sorted by path; nothing below ``exclude`` or in hidden folders."""
        found: dict[str, RawFile] = {}
        for folder in folders:
            base = Path(folder).as_posix()
            for path, problem in self._walk(base, exclude=exclude, above=()):
                if path == CONFIG_FILE or path in found:
                    continue
                found[path] = problem or self._read(path)
        return tuple(found[path] for path in sorted(found))

    def _walk(self, folder: str, *, exclude: str, above: tuple[str, ...]) -> Iterator[tuple[str, RawFile | None]]:
        """Paths below ``folder``; with a RawFile where the path itself is a problem."""
        real = os.path.realpath(self.root / folder)
        if real in above or not os.path.lexists(self.root / folder):
            return
        if not self._inside(real):
            yield folder, self._outside(folder)
            return
        if not self.has_folder(folder):
            yield folder, self._problem(folder, FILE_NOT_REGULAR, "not a folder", "Replace it by a folder.")
            return
        try:
            with os.scandir(self.root / folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            raise TasError(
                f"cannot read the folder {folder}: {error.strerror}", hint="Check its permissions."
            ) from error
        for entry in listed:
            path = entry.name if folder == "." else f"{folder}/{entry.name}"
            if entry.name.startswith(".") or path == exclude:
                continue
            if _is_folder(entry):
                yield from self._walk(path, exclude=exclude, above=(*above, real))
            elif entry.name.endswith(SUFFIXES):
                yield path, None

    def _read(self, path: str) -> RawFile:
        full = self.root / path
        if full.is_symlink() and not self._inside(os.path.realpath(full)):
            return self._outside(path)
        try:
            status = full.stat()
            if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES:
                return RawFile(path, full.read_bytes())
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP):
                message = "this symbolic link leads to nothing"
                return self._problem(path, FILE_NOT_REGULAR, message, "Mend or remove it.")
            raise TasError(f"cannot read {path}: {error.strerror}", hint="Check its permissions.") from error
        if not stat.S_ISREG(status.st_mode):
            return self._problem(path, FILE_NOT_REGULAR, "not a plain file", "Replace it by a plain file.")
        size = math.ceil(status.st_size / (1024 * 1024) * 10) / 10
        message = f"the file has {size:g} MiB; at most 4 MiB are read"
        return self._problem(path, FILE_TOO_LARGE, message, "Split the file, or move it out of the folder.")

    def _inside(self, real: str) -> bool:
        return real == self._real_root or real.startswith(self._real_root + os.sep)

    def _outside(self, path: str) -> RawFile:
        return self._problem(
            path,
            FILE_OUTSIDE_REPOSITORY,
            "this symbolic link leads out of the repository",
            "Copy what it points at into the repository.",
        )

    @staticmethod
    def _problem(path: str, rule: Rule, message: str, hint: str) -> RawFile:
        return RawFile(path, b"", Diagnostic(rule, message, Location(path), hint=hint))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads in a circle is no folder
        return False
