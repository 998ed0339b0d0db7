"""Guesses the declarations, branches and tags of a repository, for completion.

Completion has no time to parse or to start git. So this module scans the text of files, and imports only a little of
the standard library. The module misses unusual layouts; no finding and no manifest depends on the guesses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

WORKFLOW = "Workflow"
"""The kind of OSMO's documents, which have no field ``kind``."""
_CONFIG = "tas.yaml"
_SUFFIXES = (".yaml", ".yml", ".json")
_SOURCES = ("pools", "subpools", "topologies", "workflows")
_OUTPUT = "manifests"
_MAX_BYTES = 4 * 1024 * 1024
_MAX_FILES = 20_000
"""The most files that are read."""
_MAX_TOTAL = 64 * 1024 * 1024
"""The most bytes that are read of all files together."""
_MAX_NESTED = 16
"""The most nested mappings of a backend that are searched."""
_KEY = r"""{0}(?<![\w./-]{0})["']?[ \t]*:[ \t\n]*"""
_WORD = r"""["']?([\w./-]+)(?=["']?[ \t\r]*(?:[,}\]\n]|$))"""
_DOCUMENT = re.compile(r"^---[ \t]*(?:#.*)?$", re.MULTILINE)
_COMMENT = re.compile(r"(?:^|[ \t])#.*$", re.MULTILINE)
_KIND = re.compile(_KEY.format("kind") + _WORD)
_WORKFLOW = re.compile(r"""^[{ \t]*["']?workflow["']?[ \t]*:""", re.MULTILINE)
_METADATA = re.compile(_KEY.format("metadata"))
_NAME = re.compile(_KEY.format("name") + _WORD)
_MAPPING = re.compile(r":[ \t\n]*\{[^{}]*\}")
_FIELDS = {key: re.compile(_KEY.format(key) + _WORD) for key in ("parent", "state")}
_FIELDS |= {
    key: re.compile(_KEY.format(key) + r"""(?:(?:\{[ \t\n]*)?["']?gpu["']?[ \t]*:[ \t]*)?["']?(\d+%?)""")
    for key in ("quota", "guarantee")
}
_FIELDS["description"] = re.compile(_KEY.format("description") + r"""["']?([^"'\n{}\[\]]+)""")
_DESCRIBED = ("Pool", "Subpool")


class OutlineDocument(NamedTuple):
    """A document."""

    kind: str
    name: str
    path: str
    """The path relative to the root, with forward slashes."""
    fields: dict[str, str]
    """For pools and subpools: the first ``parent``, ``state``, ``quota``, ``guarantee`` and ``description``."""


def outline(root: str, kinds: Collection[str]) -> Iterator[OutlineDocument]:
    """Yields the documents of these kinds in the repository at ``root``, in the order of the files."""
    words = [kind.lower() if kind == WORKFLOW else kind for kind in kinds]
    left = _MAX_TOTAL
    for path in _files(root, _read(root, _CONFIG)):
        if left <= 0:
            break
        text = _read(root, path)
        left -= len(text)
        if any(word in text for word in words):
            yield from (item for item in _documents(path, text) if item.kind in kinds)


def backends(root: str) -> list[str]:
    """Returns the names of the clusters in the Config."""
    listed = _section(_COMMENT.sub("", _read(root, _CONFIG)), "backends")
    for _ in range(_MAX_NESTED):  # what a backend has inside has names of its own
        listed = _MAPPING.sub(":", listed)
    found = list(_NAME.finditer(listed))
    if listed.lstrip().startswith("["):
        return [name[1] for name in found]
    columns = [name.start() - listed.rfind("\n", 0, name.start()) for name in found]
    return [name[1] for name, column in zip(found, columns, strict=True) if column == min(columns)]


def _files(root: str, config: str) -> list[str]:
    """Returns the paths of all files that the tool reads."""
    config = _COMMENT.sub("", config)
    folders = re.findall(r"[\w./-]+", _section(config, "sources").replace("- ", " ")) or _SOURCES
    found = re.search(_KEY.format("output") + _WORD, config)
    output = os.path.normpath(found[1] if found else _OUTPUT)
    paths: dict[str, None] = dict.fromkeys([_CONFIG])
    for folder in folders:
        paths.update(dict.fromkeys(sorted(_below(root, os.path.normpath(folder), output))))
    return list(paths)


def _below(root: str, folder: str, output: str) -> Iterator[str]:
    count = 0
    if not _is_inside(root, os.path.join(root, folder)):
        return
    for above, folders, files in os.walk(os.path.join(root, folder)):
        inner = os.path.relpath(above, root).replace(os.sep, "/")
        prefix = "" if inner == "." else f"{inner}/"
        folders[:] = [name for name in folders if not name.startswith(".") and f"{prefix}{name}" != output]
        for name in files:
            if name.endswith(_SUFFIXES) and not name.startswith(".") and count < _MAX_FILES:
                count += 1
                yield prefix + name


def _is_inside(root: str, path: str) -> bool:
    """Whether a file or folder really lies in the repository, after links are resolved."""
    top, real = os.path.realpath(root), os.path.realpath(path)
    return real == top or real.startswith(os.path.join(top, ""))


def _read(root: str, path: str) -> str:
    """Returns the text of a plain file of the repository, at most _MAX_BYTES; '' if it cannot be read."""
    full = os.path.join(root, path)
    if os.path.islink(full) and not _is_inside(root, full):
        return ""
    try:
        number = os.open(full, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe must not block
        with open(number, "rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "replace").replace("\r", "")
    except OSError:  # the command itself will say what is wrong
        return ""


def _section(text: str, key: str) -> str:
    """Returns the list behind a key, in block or flow style."""
    found = re.search(rf"""^([ \t]*)((?:\S.*)?[{{, ])?["']?{key}["']?[ \t]*:""", text, re.MULTILINE)
    if found is None:
        return ""
    rest = text[found.end() :]
    if rest.lstrip().startswith("["):
        return rest[: _closing(rest)]
    indent = len(found[1])
    lines = rest.split("\n")[1:]
    inner = []
    for line in lines:
        depth = len(line) - len(line.lstrip(" "))
        if line.strip() and (depth < indent or (depth == indent and not line.lstrip().startswith("-"))):
            break
        inner.append(line)
    return "\n".join(inner)


def _closing(text: str) -> int:
    """Returns the index at which the first bracket of a text is closed."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character in "[{") - (character in "]}")
        if character in "]}" and depth == 0:
            return place
    return len(text)


def _documents(path: str, text: str) -> Iterator[OutlineDocument]:
    for document in _DOCUMENT.split(_COMMENT.sub("", text) if "#" in text else text):
        kind, workflow = _KIND.search(document), _WORKFLOW.search(document)
        if workflow and (kind is None or workflow.start() < kind.start()):  # else it stands in a file of the workflow
            yield from _named(path, WORKFLOW, document[workflow.end() :])
        elif kind and kind[1].endswith("List"):
            inner = [*_KIND.finditer(document, kind.end())]
            ends = [*(item.start() for item in inner[1:]), len(document)]
            for item, end in zip(inner, ends, strict=False):
                yield from _named(path, item[1], _metadata(document[item.end() : end]))
        elif kind:
            yield from _named(path, kind[1], _metadata(document))


def _metadata(document: str) -> str:
    """Returns the text behind the key ``metadata``; '' without such a key."""
    found = _METADATA.search(document)
    return document[found.end() :] if found else ""


def _named(path: str, kind: str, text: str) -> Iterator[OutlineDocument]:
    name = _NAME.search(text)
    if name is not None:
        yield OutlineDocument(kind, name[1], path, _fields(text) if kind in _DESCRIBED else {})


def _fields(document: str) -> dict[str, str]:
    found = ((key, pattern.search(document)) for key, pattern in _FIELDS.items())
    return {key: match[1].strip(" ,") for key, match in found if match}


FOLDERS = {"refs/heads/": "branch", "refs/tags/": "tag", "refs/remotes/": "remote branch"}
"""The kind of name in each folder of refs."""


def refs(folder: str) -> dict[str, str]:
    """Returns the kind of each name in the repository around ``folder``, branches first; empty without a repository."""
    git = _git_folder(os.path.realpath(folder))
    if git is None:
        return {}
    shared = _line(os.path.join(git, "commondir"))
    common = os.path.normpath(os.path.join(git, shared)) if shared else git
    names = sorted({*_loose(common), *_packed(common)})
    found = {"HEAD": "what is checked out"}
    for start, what in FOLDERS.items():
        found |= {
            name.removeprefix(start): what for name in names if name.startswith(start) and not name.endswith("/HEAD")
        }
    return found


def _git_folder(folder: str) -> str | None:
    """Returns git's own folder of the checkout around a folder."""
    while True:
        entry = os.path.join(folder, ".git")
        if os.path.isdir(entry):
            return entry
        if os.path.isfile(entry):
            return os.path.join(folder, _line(entry).removeprefix("gitdir: "))
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _loose(common: str) -> Iterator[str]:
    for above, _, files in os.walk(os.path.join(common, "refs")):
        for name in files:
            yield os.path.relpath(os.path.join(above, name), common).replace(os.sep, "/")


def _packed(common: str) -> Iterator[str]:
    for line in _text(os.path.join(common, "packed-refs")).splitlines():
        if line[:1] not in ("#", "^"):
            yield line.partition(" ")[2]


def _line(path: str) -> str:
    return _text(path).partition("\n")[0].rstrip("\r")


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:  # it need not be there
        return ""
