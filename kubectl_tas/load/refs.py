"""The names of a git repository's branches and tags, read from its files: git itself need not run for them."""

from __future__ import annotations

import os
from collections.abc import Iterator

FOLDERS = {"refs/heads/": "branch", "refs/tags/": "tag", "refs/remotes/": "remote branch"}
"""Where names stand, and what stands there."""


def refs(folder: str) -> dict[str, str]:
    """What each name of the repository around ``folder`` is, branches first; empty where there is no repository."""
    git = _git(os.path.realpath(folder))
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


def _git(folder: str) -> str | None:
    """Git's own folder of the checkout around a folder."""
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
