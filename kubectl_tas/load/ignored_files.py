"""Finds files that look like sources of the repository but are not read, because of their name or their folder."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator, Sequence
from itertools import islice
from pathlib import Path

from kubectl_tas import kinds
from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule, Severity, Waiving
from kubectl_tas.base.folders import MAX_DEPTH, misspelled
from kubectl_tas.base.late import late_pattern
from kubectl_tas.load.loading import CONFIG_MISPLACED
from kubectl_tas.load.source import CONFIG_FILE, SUFFIXES
from kubectl_tas.model.config import DEFAULT_SOURCES
from kubectl_tas.model.config import VALUES_FOLDER as VALUES
from kubectl_tas.model.repository import Repository

FILE_UNREAD = Rule(
    "file-unread",
    Severity.WARNING,
    "A file looks like input of kubectl-tas, and is not read.",
    "kubectl-tas neither checks nor renders this file, so nothing applies it. kubectl-tas reads files that end in "
    ".yaml, .yml or .json, below the folders of spec.sources. Rename or move the file, or add its folder to "
    "spec.sources. This is only an info for files that may be there on purpose: with another ending, in a folder of "
    "documentation or tests, or a workflow without a pool. Folders of Helm and kustomize, and folders with their own "
    "tas.yaml, get no finding.",
)
NOTHING_DECLARED = Rule(
    "nothing-declared",
    Severity.ERROR,
    "No pool, topology, workflow, workload or PodGroup is declared.",
    "`render` refuses this, because Argo CD and Flux would remove everything that an earlier run wrote. Most likely "
    "the command runs in the wrong folder, or a folder is missing. Declare a pool. If the repository is empty on "
    "purpose, set spec.rules: {nothing-declared: info} of the Config; `render` then removes all manifests.",
    protects=Waiving.CONFIG,
)
MAX_SHOWN = 5
_MOST = 1000
"""The most files that are opened, and the most names that are checked outside the sources."""
_DEPTH = 3
"""Nested folders that are searched outside the sources."""
_OF_OTHERS = frozenset({"Chart.yaml", "kustomization.yaml", "kustomization.yml", "Kustomization", CONFIG_FILE})
"""Files whose presence means that another tool, or another repository of this tool, reads the folder."""
_OF_CHARTS = frozenset({"charts", "templates"})
_SHOWN_ONLY = frozenset({"doc", "docs", "example", "examples", "templates", "test", "testdata", "tests"})
"""Folders that hold such files without using them."""
_HEAD = 4096
"""Bytes of each file that are checked."""
_OURS = late_pattern(rb"""^["']?workflow["']?[ \t]*:|^["']?apiVersion["']?[ \t]*:[ \t]*["']?tas/v1""", re.MULTILINE)
_POOL = late_pattern(rb"""^[ \t]+["']?pool["']?[ \t]*:""", re.MULTILINE)
_LABEL = late_pattern(rb"""kubectl-tas/pool["']?[ \t]*:""")
_WORKLOAD = late_pattern(
    rb"""^["']?kind["']?[ \t]*:[ \t]*["']?(%s)\b"""
    % "|".join(dict.fromkeys((*(listed.kind for listed in kinds.LISTED), kinds.SET.kind))).encode(),
    re.MULTILINE,
)
_SAYS = late_pattern(rb"%s|%s" % (_OURS.pattern, _WORKLOAD.pattern), re.MULTILINE)
_RENDERED = b"app.kubernetes.io/managed-by: kubectl-tas"
_CONFIG = late_pattern(rb"""^["']?kind["']?[ \t]*:[ \t]*["']?Config\b""", re.MULTILINE)


def unread(root: Path, folders: Sequence[str], output: str) -> Iterator[Diagnostic]:
    """Yields one warning about all files that are certainly sources, and one note about all others. Looks at the
    sources, the root, and the folders in the root; follows no links.
    """
    folders = [folder for folder in folders if misspelled(folder) is None and not (root / folder).is_symlink()]
    tops = [".", *(entry.name for entry in _entries(root) if entry.is_dir(follow_symlinks=False))]
    known = {str(root / name) for name in (*folders, output, VALUES)}
    others = [root / top for top in tops if str(root / top) not in known]
    entries = [entry for folder in folders for entry in _walk(root / folder, MAX_DEPTH)]
    linked = {os.path.realpath(entry.path) for entry in entries if entry.is_symlink()}  # what links lead to is read
    for entry in entries:
        is_file = entry.name.endswith(SUFFIXES) and entry.is_file(follow_symlinks=False)
        if is_file and not entry.stat(follow_symlinks=False).st_size:
            place = Location(Path(entry.path).relative_to(root).as_posix())
            hint = "Restore its documents, or remove the file."
            yield Diagnostic(FILE_UNREAD, "this file is empty, so it declares nothing", place, hint=hint)
    odd = [entry for entry in entries if not entry.name.endswith(SUFFIXES)]
    beside = islice((entry for top in others for entry in _beside(top, 0 if top == root else _DEPTH, known)), _MOST)
    odd += [entry for entry in beside if entry.name.lower().endswith(SUFFIXES)]
    files = [Path(entry.path) for entry in odd[:_MOST] if entry.is_file(follow_symlinks=False)]
    own = (path for path in files if not _is_below(path, linked) and _says_so(_head(path)))
    found = sorted({path.relative_to(root).as_posix() for path in own} - {CONFIG_FILE})
    for name in (
        [name for name in found if _CONFIG.search(_head(root / name))] if not (root / CONFIG_FILE).exists() else ()
    ):
        found.remove(name)
        message = f"a Config counts only in {CONFIG_FILE}, and this repository has none"
        place = _place(root, name, _CONFIG)
        yield Diagnostic(CONFIG_MISPLACED, message, place, hint=f"Move it to {CONFIG_FILE} at the root.")
    sure = [name for name in found if _is_sure(root, name)]
    for names, level in ((sure, None), ([name for name in found if name not in sure], Severity.INFO)):
        if names:
            besides = f"; nor are {', '.join(names[1:MAX_SHOWN])}" if len(names) > 1 else ""
            more = f" and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else ""
            what = "looks like a source of the repository and" if level else "is input of kubectl-tas, but it"
            message = f"this file {what} is not read{besides}{more}"
            read = f"Sources are {', '.join(SUFFIXES)} files below {', '.join(folders)}"
            hint = f"{read}. Rename or move this file, or list its folder in spec.sources."
            place = _place(root, names[0], _SAYS)
            yield Diagnostic(FILE_UNREAD, message, place, hint=hint, level=level)


def nothing_declared(repository: Repository) -> Iterator[Diagnostic]:
    """Yields a finding if the files that were read declare nothing."""
    if not repository.is_empty:
        return
    config, absent = repository.config, repository.absent
    is_set = config is not None and "sources" in config.spec.spec.model_fields_set
    place = config.at("spec", "sources") if config is not None and is_set else None
    folders = config.spec.spec.sources if config is not None else DEFAULT_SOURCES
    there = [folder for folder in folders if folder not in absent]
    message = "nothing that can be rendered is declared"
    message += f" below {', '.join(there)}" if there else ""
    if absent:
        message += f"; {', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not there"
    hint = "Declare a pool, name the repository with -C, or write a small one with `kubectl tas init`."
    yield Diagnostic(NOTHING_DECLARED, message, place, hint=hint)


def _walk(folder: Path, depth: int) -> Iterator[os.DirEntry[str]]:
    """Yields everything below a folder that is not hidden, ``depth`` folders deep; follows no links."""
    for entry in _entries(folder):
        yield entry
        if depth and entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), depth - 1)


def _beside(folder: Path, depth: int, known: Container[str]) -> Iterator[os.DirEntry[str]]:
    """Yields the files outside the sources, ``depth`` folders deep (0: the root, and no folder in the root). Skips
    folders that are ``known`` or that another tool reads.
    """
    entries = _entries(folder)
    if depth and any(entry.name in _OF_OTHERS for entry in entries):
        return
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            yield entry
        elif depth > 1 and entry.path not in known and entry.name not in _OF_CHARTS:
            yield from _beside(Path(entry.path), depth - 1, known)


def _is_below(path: Path, others: set[str]) -> bool:
    """Whether a path is one of the others, or lies below one."""
    real = path.resolve() if others else path
    return any(str(above) in others for above in (real, *real.parents))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    except OSError:  # what cannot be looked at is none of ours to speak of
        return []


def _says_so(head: bytes) -> bool:
    """Whether a file declares itself a source of this tool, or work for this tool that was not rendered by the tool."""
    is_work = _LABEL.search(head) and _RENDERED not in head and _WORKLOAD.search(head)
    return bool(_OURS.search(head) or is_work)


def _is_sure(root: Path, name: str) -> bool:
    """Whether such a file certainly has no other purpose: not a template of Helm, an example or a backup."""
    path, head = Path(name), _head(root / name)
    if not name.lower().endswith(SUFFIXES) or not _SHOWN_ONLY.isdisjoint(path.parts):
        return False
    own = _OURS.search(head)
    if own is None:
        return b"{{" not in head
    return b"apiVersion" in own[0] or _POOL.search(head) is not None


def _place(root: Path, name: str, pattern: re.Pattern[bytes]) -> Location:
    """Returns the place where a file declares its kind; the whole file if the file has changed since."""
    head = _head(root / name)
    found = pattern.search(head)
    if found is None:
        return Location(name)
    lines = head[: found.start()].count(b"\n")
    line = head.split(b"\n")[lines].decode("utf-8", "replace").rstrip("\r")
    return Location(name, lines + 1, 1, line, len(line) or 1)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""
