"""Replaces old names of commands and options in the scripts, CI jobs and pages of a repository."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.folders import MEBIBYTE, read_plain
from kubectl_tas.base.late import dataclass
from kubectl_tas.edit.apply import FileEdit

MAX_FILES = 20_000
"""Maximum number of files to read."""
_LEFT_OUT = (".git", ".schemas", ".venv", "node_modules", "__pycache__")
_HISTORY = re.compile(r"changelog|changes|history|news", re.IGNORECASE)
"""Names of files about earlier versions."""
_CALL = re.compile(r"\bkubectl[ -]tas(?=[ \t\\])")
_BLANK = r"(?:[ \t]|\\\n)+"
_WORD = re.compile(rf"{_BLANK}((?:\"[^\"\n]*\"|'[^'\n]*'|[^\s|;&()<>`\"'\\])+)")
"""A word of a command line, which may continue after a backslash."""
_WITH_VALUE = ("-C", "--context", "--kubeconfig")
"""Options before a command that take a value."""
_OUTPUT = re.compile(r"(-o|--output)(=?)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RenamedCommands:
    """The renamed commands and options."""

    commands: Mapping[str, str]
    """The new name of each command by its old one, without ``kubectl tas``."""
    options: Mapping[str, Mapping[str, str]]
    """The new names of options by command and old name. ``--output`` is the long form of ``-o``."""


@dataclass(frozen=True, slots=True)
class RenamedWord:
    """A replaced name."""

    line: int
    old: str
    new: str


def migrated(text: str, names: RenamedCommands) -> tuple[str, tuple[RenamedWord, ...]]:
    """Returns a text with the new names, and the replacements. Every other byte stays."""
    changes: list[tuple[int, int, str]] = []
    for call in _CALL.finditer(text):
        changes += _of_call(text, call.end(), names)
    renamed_words = tuple(
        RenamedWord(text.count("\n", 0, start) + 1, text[start:end], new) for start, end, new in changes
    )
    for start, end, new in reversed(changes):
        text = f"{text[:start]}{new}{text[end:]}"
    return text, renamed_words


def _of_call(text: str, at: int, names: RenamedCommands) -> Iterator[tuple[int, int, str]]:
    """Yields the replacements in the command line after ``kubectl tas``: start, end and new text."""
    words = list(_words(text, at))
    while words and words[0][2].startswith("-"):
        words = words[2 if words[0][2] in _WITH_VALUE else 1 :]
    for length in (2, 1):
        name = " ".join(word for _, _, word in words[:length])
        if name in names.commands:
            yield words[0][0], words[length - 1][1], names.commands[name]
        for start, end, word in words[length:] if name in names.options else ():
            match = _OUTPUT.fullmatch(word)
            new = names.options[name].get("-o" if match else word)
            if new is not None and not (match and word.startswith("--") and match[3] and not match[2]):
                value_suffix = f"={match[3]}" if match and match[3] else ""
                yield start, end, f"{new}{value_suffix}"


def _words(text: str, at: int) -> Iterator[tuple[int, int, str]]:
    """Yields the words of a command line with their places, up to the end of the command."""
    while match := _WORD.match(text, at):
        if match[1].startswith("#"):
            return
        yield match.start(1), match.end(1), match[1]
        at = match.end()


def migrations(
    top: Path, skipped: Collection[Path], names: RenamedCommands
) -> Iterator[tuple[FileEdit, tuple[RenamedWord, ...]]]:
    """Yields the changed files below a folder, sorted. Skips large and binary files, files below ``skipped``, and files
    about earlier versions. Raises TasError if there are too many files.
    """
    for path in sorted(_files(top, skipped), key=lambda path: path.relative_to(top).as_posix()):
        content = read_plain(str(path), MEBIBYTE, hint="Check permissions.") if path.stat().st_size <= MEBIBYTE else b""
        if b"kubectl" not in content or b"\0" in content:
            continue
        try:
            text = content.decode()
        except UnicodeDecodeError:
            continue
        after, renamed_words = migrated(text, names)
        if renamed_words:
            yield FileEdit(path.relative_to(top).as_posix(), content, after.encode()), renamed_words


def _files(top: Path, skipped: Collection[Path]) -> Iterator[Path]:
    count = 0
    for folder, folders, files in os.walk(top):
        folder_path = Path(folder)
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and folder_path / name not in skipped)
        for name in sorted(files):
            count += 1
            if count > MAX_FILES:
                message = f"{top} has more than {MAX_FILES} files"
                raise TasError(message, hint="Run `kubectl tas migrate` in a folder with fewer.")
            path = folder_path / name
            if path.is_file() and not path.is_symlink() and not _HISTORY.match(name):
                yield path
