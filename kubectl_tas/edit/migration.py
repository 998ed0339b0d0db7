"""Scripts, CI jobs and pages of a repository in; the same with the names that commands and options have now."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from kubectl_tas.edit.apply import FileEdit
from kubectl_tas.errors import TasError
from kubectl_tas.folders import MEBIBYTE, read_plain
from kubectl_tas.records import dataclass

MAX_FILES = 20_000
"""Files of a repository that are looked at."""
_LEFT_OUT = (".git", ".schemas", ".venv", "node_modules", "__pycache__")
_HISTORY = re.compile(r"changelog|changes|history|news", re.IGNORECASE)
"""Files that tell what was."""
_CALL = re.compile(r"\bkubectl[ -]tas(?=[ \t\\])")
_BLANK = r"(?:[ \t]|\\\n)+"
_WORD = re.compile(rf"{_BLANK}((?:\"[^\"\n]*\"|'[^'\n]*'|[^\s|;&()<>`\"'\\])+)")
"""A word of a command line, which goes on behind a backslash."""
_WITH_VALUE = ("-C", "--context", "--kubeconfig")
"""Options in front of a command that have a value."""
_OUTPUT = re.compile(r"(-o|--output)(=?)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Names:
    """What was renamed."""

    commands: Mapping[str, str]
    """The new name of a command by its old one, without ``kubectl tas``."""
    options: Mapping[str, Mapping[str, str]]
    """The new names of options by their old ones, by command. ``--output`` is a long spelling of ``-o``."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """One name that changes."""

    line: int
    old: str
    new: str


def migrated(text: str, names: Names) -> tuple[str, tuple[Renamed, ...]]:
    """A text with the new names, and what changes; every other byte is as it was."""
    changes: list[tuple[int, int, str]] = []
    for call in _CALL.finditer(text):
        changes += _of_call(text, call.end(), names)
    told = tuple(Renamed(text.count("\n", 0, start) + 1, text[start:end], new) for start, end, new in changes)
    for start, end, new in reversed(changes):
        text = f"{text[:start]}{new}{text[end:]}"
    return text, told


def _of_call(text: str, at: int, names: Names) -> Iterator[tuple[int, int, str]]:
    """What changes in the command line behind ``kubectl tas``: from where to where, and what stands there instead."""
    words = list(_words(text, at))
    while words and words[0][2].startswith("-"):
        words = words[2 if words[0][2] in _WITH_VALUE else 1 :]
    for length in (2, 1):
        name = " ".join(word for _, _, word in words[:length])
        if name in names.commands:
            yield words[0][0], words[length - 1][1], names.commands[name]
        for start, end, word in words[length:] if name in names.options else ():
            found = _OUTPUT.fullmatch(word)
            new = names.options[name].get("-o" if found else word)
            if new is not None and not (found and word.startswith("--") and found[3] and not found[2]):
                rest = f"={found[3]}" if found and found[3] else ""
                yield start, end, f"{new}{rest}"


def _words(text: str, at: int) -> Iterator[tuple[int, int, str]]:
    """The words of a command line with their places; the first one that ends it is left out."""
    while found := _WORD.match(text, at):
        if found[1].startswith("#"):
            return
        yield found.start(1), found.end(1), found[1]
        at = found.end()


def migrations(top: Path, skipped: Collection[Path], names: Names) -> Iterator[tuple[FileEdit, tuple[Renamed, ...]]]:
    """The files below a folder in which something changes, sorted. Files that are large or no text are left alone, as
    are those below ``skipped`` and those that tell of earlier versions. Raises TasError where there are too many.
    """
    for path in sorted(_files(top, skipped), key=lambda path: path.relative_to(top).as_posix()):
        content = read_plain(str(path), MEBIBYTE, hint="Check permissions.") if path.stat().st_size <= MEBIBYTE else b""
        if b"kubectl" not in content or b"\0" in content:
            continue
        try:
            text = content.decode()
        except UnicodeDecodeError:
            continue
        after, told = migrated(text, names)
        if told:
            yield FileEdit(path.relative_to(top).as_posix(), content, after.encode()), told


def _files(top: Path, skipped: Collection[Path]) -> Iterator[Path]:
    count = 0
    for folder, folders, files in os.walk(top):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and here / name not in skipped)
        for name in sorted(files):
            count += 1
            if count > MAX_FILES:
                message = f"{top} has more than {MAX_FILES} files"
                raise TasError(message, hint="Run `kubectl tas migrate` in a folder with fewer.")
            path = here / name
            if path.is_file() and not path.is_symlink() and not _HISTORY.match(name):
                yield path
