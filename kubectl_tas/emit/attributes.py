"""Reads ``.gitattributes``, by which git, GitHub and GitLab treat some files otherwise than reviewers expect.

The attributes are those of gitattributes(5) of git 2.51, of ``LazyBlob`` of GitHub's linguist 9, and of GitLab 17.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from kubectl_tas.base.diagnostics import Rule, Severity, Waiving
from kubectl_tas.base.folders import GIT_ATTRIBUTES, is_below
from kubectl_tas.base.late import late_pattern
from kubectl_tas.emit.disk import unreadable

REVIEW_HIDDEN = Rule(
    "review-hidden",
    Severity.WARNING,
    "A .gitattributes hides changes of manifests or of admins' files, or merges them without a conflict.",
    "Reviewers approve what they see. GitHub and GitLab fold files that are marked as generated, and show nothing of "
    "files with -diff. With merge=union git merges two changes of one quota without a conflict. With a filter or an "
    "encoding, the files that are judged are not those that reviewers see. Remove the attribute. If it is there on "
    "purpose, list the .gitattributes in spec.outputKeeps of the Config.",
    protects=Waiving.CONFIG,
)
OTHER_BYTES = "git checks out other bytes than reviewers see"
UNREAD = "it is no plain file of at most 1 MiB"
_TREATMENTS = (
    (OTHER_BYTES, late_pattern(r"ident|filter(?:=.*)?|working-tree-encoding(?:=.*)?")),
    ("git merges two changes without a conflict", late_pattern(r"merge=(?!(?:text|binary)$).*")),
    (
        "GitHub and GitLab hide changes from reviewers",
        late_pattern(r"-diff|binary|(?:linguist|gitlab)-generated(?:=(?!false$).*)?"),
    ),
)
"""Effects on a file with the form of attributes that have them, the worst first. Flux reads commits with go-git, which
knows no filters.
"""
_MACRO = "[attr]"
_MANIFESTS = (".yaml", ".yml", ".json")
_MAX_SETTINGS = 1024 * 1024
_CLASS = late_pattern(r"\[[^/]*\]")
_ENDING = late_pattern(r"\.([A-Za-z0-9_-]+)")


class AttributeRow(NamedTuple):
    """A line of a ``.gitattributes``."""

    number: int
    """Counted from 1."""
    text: str
    pattern: str
    attributes: tuple[str, ...]


class Target(NamedTuple):
    """A file, or all files below a folder, that ``.gitattributes`` may concern."""

    words: str
    """The name in messages."""
    folder: Path
    """A real path."""
    name: str = ""
    """The file in ``folder``; '': all manifests below ``folder``."""


class Treated(NamedTuple):
    """A line of a ``.gitattributes``, with its effect on files."""

    file: Path
    row: AttributeRow | None
    """None: nobody can read the file."""
    effect: str
    attribute: str
    targets: tuple[str, ...]
    """The names of the files in messages."""


def treated(top: Path, targets: Sequence[Target], inside: Mapping[str, Iterable[Path]]) -> Iterator[Treated]:
    """Yields each line that concerns a target, in the order of the targets. Raises TasError if a file is unreadable.

    ``top`` is the top of the checkout, whose ``.gitattributes`` alone may define macros. ``inside`` are the
    ``.gitattributes`` below the folder of a target, by its words; other folders are searched.
    """
    macros = _rows(top / GIT_ATTRIBUTES) or ()
    rows: dict[Path, Sequence[AttributeRow] | None] = {}
    effects: dict[tuple[Path, AttributeRow | None], tuple[str, str, list[str]]] = {}
    outputs = [target.folder for target in targets if target.words in inside]
    for target in targets:
        folders = [path for path in (target.folder, *target.folder.parents) if is_below(str(path), str(top))]
        if not folders:
            continue  # a link leads out, which the loader refuses
        within = inside.get(target.words, () if target.name else _below(target.folder, outputs))
        for file in dict.fromkeys((*(path / GIT_ATTRIBUTES for path in folders), *within)):
            if file not in rows:
                rows[file] = _rows(file)
            below = target.folder.relative_to(file.parent).parts if file.parent in folders else ()
            for row, effect, attribute in _effects(rows[file], macros, below, target.name):
                effects.setdefault((file, row), (effect, attribute, []))[2].append(target.words)
    for (file, row), (effect, attribute, words) in effects.items():
        yield Treated(file, row, effect, attribute, tuple(words))


def _below(folder: Path, outputs: Sequence[Path]) -> Iterator[Path]:
    """Yields each ``.gitattributes`` below a folder, but in no hidden folder and not in the ``outputs``."""
    for path, names, files in os.walk(folder, onerror=_refuse):
        names[:] = [name for name in names if not name.startswith(".") and Path(path, name) not in outputs]
        if GIT_ATTRIBUTES in files:
            yield Path(path, GIT_ATTRIBUTES)


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise unreadable(f"the folder {error.filename}", error) from error


def _rows(file: Path) -> tuple[AttributeRow, ...] | None:
    text = settings_of_git(file) if os.path.lexists(file) else ""
    if text is None:
        return None
    lines = ((number, line, line.split()) for number, line in enumerate(text.split("\n"), 1))
    lines = ((number, line, words) for number, line, words in lines if words and not words[0].startswith("#"))
    return tuple(AttributeRow(number, line, words[0], tuple(words[1:])) for number, line, words in lines)


def _effects(
    rows: Sequence[AttributeRow] | None, macros: Sequence[AttributeRow], below: Sequence[str], name: str
) -> Iterator[tuple[AttributeRow | None, str, str]]:
    """Yields each line that may mean a file in the folders ``below``, with its worst effect and the attribute."""
    if not rows:
        yield from ((None, UNREAD, GIT_ATTRIBUTES),) if rows is None else ()
        return
    forms = [(effect, form, _macros(macros, form.fullmatch)) for effect, form in _TREATMENTS]
    for row in rows:
        if row.pattern.startswith(_MACRO) or not _may_mean(row.pattern, below, name):
            continue
        for effect, form, named in forms:
            attribute = next((word for word in row.attributes if word in named or form.fullmatch(word)), None)
            if attribute:
                yield row, effect, attribute
                break


def _macros(rows: Sequence[AttributeRow], has_form: Callable[[str], object]) -> frozenset[str]:
    """Returns the names of macros that give an attribute of a form, also by way of other macros."""
    named: frozenset[str] = frozenset()
    defined = [(row.pattern.removeprefix(_MACRO), row.attributes) for row in rows if row.pattern.startswith(_MACRO)]
    while further := {name for name, words in defined if any(x in named or has_form(x) for x in words)} - named:
        named |= further
    return named


def _may_mean(pattern: str, below: Sequence[str], name: str) -> bool:
    """Whether a pattern may match such a file, in doubt yes."""
    if set(pattern) & set('"\\'):
        return True
    anchored = _CLASS.sub("*", pattern.lstrip("/"))  # git knows more classes than fnmatch
    if name:
        if "/" not in pattern:
            return fnmatchcase(name, anchored)
        path = "/".join((*below, name))
        return fnmatchcase(path, anchored) or fnmatchcase(path, anchored.replace("**/", ""))
    ending = _ENDING.fullmatch(Path(pattern).suffix)
    if ending and f".{ending[1]}" not in _MANIFESTS:
        return False
    segments = anchored.split("/")
    for segment, folder in zip(segments if "/" in pattern else (), below, strict=False):
        if "**" in segment:
            return True
        if not fnmatchcase(folder, segment):
            return False
    return "/" not in pattern or len(segments) > len(below)


def settings_of_git(file: Path) -> str | None:
    """Returns the text of a small plain file; None for anything else. Raises TasError if it cannot be read."""
    if file.is_symlink() or not file.is_file():
        return None
    try:
        with file.open("rb") as opened:
            content = opened.read(_MAX_SETTINGS + 1)
    except OSError as error:
        raise unreadable(str(file), error) from error
    return content.decode("utf-8", "replace") if len(content) <= _MAX_SETTINGS else None
