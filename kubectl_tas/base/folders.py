"""Checks folders and files named by users, by their spelling and by their real path behind links."""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import late_pattern

MAX_NAME = 255
"""The most bytes in the name of a file or folder, on every common file system."""
MAX_FOLDER = 1024
"""The most bytes in a folder of the settings, so that files below still fit into a path of 4096 bytes."""
MAX_DEPTH = 64
"""The most nested folders: down to a folder of the settings, and again below that folder."""
READ_ABOVE_OUTPUT = SOURCE_IGNORE, GIT_MODULES, GIT_ATTRIBUTES = ".sourceignore", ".gitmodules", ".gitattributes"
"""Files by which Flux, Argo CD and git treat the output folder otherwise, though they lie in another folder."""
_SHOWN = 40
"""Characters at each end of a deep path that are shown."""
_DRIVE = late_pattern(r"[A-Za-z]:")
_SHORT = late_pattern(r"git~[0-9]+")


def normal(folder: str) -> str:
    """Returns the normal spelling of a folder: ``./a//b/`` is ``a/b``. Keeps ``..``, since links change its meaning."""
    return PurePosixPath(folder).as_posix()


def misspelled(folder: str) -> tuple[str, str] | None:
    """Returns why a path cannot name a folder below the root, and a hint; None if the path can."""
    path = PurePosixPath(folder)
    strange = "\\" in folder or not folder.isprintable() or folder.startswith("~") or _DRIVE.match(folder)
    if path.is_absolute() or ".." in path.parts or strange:
        return (
            f'"{folder}" is not a folder below the repository root',
            "Write a path relative to the folder of tas.yaml, without '..'.",
        )
    for step in path.parts:
        size = len(step.encode())
        if size > MAX_NAME:
            return f"a folder's name has {size} bytes; a disk takes {MAX_NAME} at the most", "Shorten it."
        if is_git(step):
            return f'"{folder}" lies in the folder of git itself', "Choose a folder of its own, such as manifests."
    size = len(folder.encode())
    if len(path.parts) > MAX_DEPTH:
        return f"the path has {len(path.parts)} folders within one another; at most {MAX_DEPTH} are used", "Shorten it."
    if size > MAX_FOLDER:
        return f"the path has {size} bytes; at most {MAX_FOLDER} leave room for what is written there", "Shorten it."
    return None


def is_hidden(folder: str) -> bool:
    """Whether a folder, or one above it, is hidden, such as ``.github``; programs keep settings in hidden folders."""
    return any(step.startswith(".") for step in PurePosixPath(folder).parts)


def is_matched(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path matches a pattern, name by name. A * matches any characters of a name without a leading dot."""
    names = path.split("/")
    for pattern in patterns:
        name_patterns = pattern.split("/")
        if len(names) == len(name_patterns) and all(map(_has_form, names, name_patterns)):
            return True
    return False


def _has_form(name: str, pattern: str) -> bool:
    form = ".*".join(map(re.escape, pattern.split("*")))
    return name.startswith(".") <= pattern.startswith(".") and re.fullmatch(form, name, re.DOTALL) is not None


def is_git(name: str) -> bool:
    """Whether some system takes a name for git's own folder: upper case, a final dot or stream, or the short name."""
    bare = name.partition(":")[0].rstrip(". ").lower()
    return bare == ".git" or _SHORT.fullmatch(bare) is not None


def too_deep(path: str, most: int = MAX_DEPTH) -> TasError:
    """Returns the error for a folder below more than ``most`` others, with the middle of its path left out."""
    shown = path if len(path) <= 2 * _SHOWN else f"{path[:_SHOWN]}...{path[-_SHOWN:]}"
    return TasError(f"{shown} lies too deep: at most {most} folders within one another are read", hint=MOVE)


MOVE = "Move it up, or elsewhere."


def inside(root: Path, path: str, called: str = "") -> str:
    """Returns the real path of ``path``, relative to the real ``root``, with forward slashes.

    Raises TasError if the real path is outside the repository, or in git's own folder under any name. Messages use
    ``called`` instead of the path, if given.
    """
    real_root, real = os.path.realpath(root), os.path.realpath(root / path)
    if not is_below(real, real_root):
        raise TasError(f"{called or path} leads out of the repository", hint="Remove the link.")
    relative = Path(os.path.relpath(real, real_root)).as_posix()
    for folder in _folders(relative):
        if is_git(folder.rpartition("/")[2]) or _holds_git(f"{real_root}/{folder}"):
            message = f"{called or path} lies in the folder of git itself"
            raise TasError(message, hint="Choose another folder, or remove the link.")
    return relative


def is_below(path: str, folder: str) -> bool:
    """Whether a path is ``folder`` or lies below it; both must be real paths."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def real_output(root: Path, output: str, sources: Sequence[str]) -> str:
    """Returns the real path of the output folder, relative to the real ``root``.

    Raises TasError if the output folder is outside the repository, the repository itself, in git's own folder, or
    hidden. Raises TasError also if the folder is one of the ``sources`` that are read, or contains one.
    """
    relative = inside(root, output, f"the output folder {output}")
    identity = _identity(root / output)
    if relative == "." or (identity is not None and identity == _identity(root)):
        raise TasError(f"the output folder {output} is the repository itself", hint=_OTHER)
    if is_hidden(relative):
        raise TasError(f"the output folder {output} leads to the hidden folder {relative}", hint=_OTHER)
    for source in sources:
        if identity is not None and identity in _identities(os.path.realpath(root / source), os.path.realpath(root)):
            message = f"the output folder {output} is, or contains, the folder {source} that is read"
            raise TasError(message, hint=_OTHER)
    return relative


_OTHER = "Remove the link, or choose another output folder in tas.yaml."


def _folders(path: str) -> Iterator[str]:
    """Returns ``a``, ``a/b`` and ``a/b/c`` for ``a/b/c``."""
    steps = [] if path == "." else path.split("/")
    return ("/".join(steps[: count + 1]) for count in range(len(steps)))


def _holds_git(folder: str) -> bool:
    """Whether git takes a folder for a repository, and so would read its configuration."""
    return all(os.path.lexists(f"{folder}/{name}") for name in ("HEAD", "objects", "refs"))


def _identities(path: str, root: str) -> Iterable[tuple[int, int] | None]:
    """Yields the identities of ``path`` and the folders above it, up to ``root`` but without it."""
    while path != root and is_below(path, root):
        yield _identity(path)
        path = os.path.dirname(path)  # noqa: PTH120 - a string that realpath made


def _identity(path: str | Path) -> tuple[int, int] | None:
    """Returns an identity that two paths share only if they are one folder, even if the disk ignores case."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:  # absent, or not to be reached: no folder that could be another
        return None
    return status.st_dev, status.st_ino


MEBIBYTE = 1024 * 1024
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read_all(number: int, size: int) -> bytes:
    """Returns the content of an open plain file of a known size, mostly with one system call."""
    content = os.read(number, size + 1)
    if len(content) == size:
        return content
    chunks = [content]
    while chunks[-1]:
        chunks.append(os.read(number, size + 1))
    return b"".join(chunks)


def read_plain(path: str, most: int, *, hint: str) -> bytes:
    """Returns the content of a plain file of at most ``most`` bytes. Raises TasError with the reason for any other."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise TasError(f"cannot read {path}: {error.strerror}", hint=hint) from error
    try:
        status = os.fstat(number)
        kind = next((name for has, name in _KINDS if has(status.st_mode)), None)
        if kind is not None:
            raise TasError(f"cannot read {path}: it is {kind}, not a plain file", hint=hint)
        with open(number, "rb", closefd=False) as file:
            content = file.read(most + 1) if status.st_size <= most else b""
    except OSError as error:
        raise TasError(f"cannot read {path}: {error.strerror}", hint=hint) from error
    finally:
        os.close(number)
    size = max(status.st_size, len(content))
    if size > most:
        shown = math.ceil(size / MEBIBYTE * 10) / 10
        raise TasError(f"cannot read {path}: it has {shown:g} MiB; at most {most / MEBIBYTE:g} are read", hint=hint)
    return content
