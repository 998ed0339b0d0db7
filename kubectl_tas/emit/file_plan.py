"""Compares the files to render with the files on disk, and writes or removes files accordingly.

The files of a site are planned too: their folder must be empty or have an older site, and must not be read as input.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby, zip_longest
from pathlib import Path
from typing import TypeVar

from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule, Severity, TasError
from kubectl_tas.base.folders import MAX_DEPTH, inside, real_output, too_deep
from kubectl_tas.base.late import dataclass
from kubectl_tas.emit import manifest_text
from kubectl_tas.emit.disk import KUSTOMIZATION, MARK, Disk, Stamps, is_leftover, stamp, unreadable
from kubectl_tas.emit.manifest_text import Deferred
from kubectl_tas.model.artifact import Placed
from kubectl_tas.model.config import ConfigSpec

PLATFORM, POOLS = "platform", "pools"
"""Folders of the sharded layout: shared objects, and the work of each pool."""

P = TypeVar("P", bound=Placed)
Tick = Callable[[int, int], None]
"""Callback with the numbers of finished and of all steps."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file to write or to remove."""

    path: str
    """Path relative to the repository root."""
    before: str | None
    """Text on disk; None if the file is missing."""
    content: str | Deferred | None
    """Text to write; None: remove the file."""

    @property
    def after(self) -> str | None:
        """Text to write; None: remove the file. A deferred text is read again each time."""
        return None if self.content is None else manifest_text.whole(self.content)


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes that rendering would make."""

    changes: tuple[FileChange, ...]
    """Changes sorted by path."""
    same: tuple[str, ...]
    """Files that stay unchanged."""
    output: str
    """The output folder, or a folder in it, that starts all paths."""
    real: str
    """Real path of ``output`` after resolving links."""
    unchanged_folders: frozenset[str] = frozenset()
    """Folders that contain only unchanged files."""

    @property
    def counts(self) -> str:
        """The numbers of written, removed and unchanged files, as text."""
        removed = sum(change.content is None for change in self.changes)
        return f"{len(self.changes) - removed} written, {removed} removed, {len(self.same)} unchanged"

    def within(self, folder: str) -> Plan:
        """Returns the part of the plan in the output folder, or in a folder below it."""
        changes = tuple(change for change in self.changes if change.path.startswith(f"{folder}/"))
        same = tuple(path for path in self.same if path.startswith(f"{folder}/"))
        return Plan(changes, same, folder, self.real + folder.removeprefix(self.output))

    def locate(self, change: FileChange) -> str:
        """Returns the real path of a file, relative to the real root."""
        return self.real + change.path.removeprefix(self.output)

    @property
    def differences(self) -> tuple[tuple[str, str | None, str | None], ...]:
        """The path, old text and new text of each change, except for half-written files."""
        changes = (change for change in self.changes if not is_leftover(change.path))
        return tuple((change.path, change.before, change.after) for change in changes)


def layout(
    artifacts: Iterable[P],
    config: ConfigSpec,
    settings_source: str,
    tick: Tick | None = None,
    *,
    read: Callable[[P], str | Deferred] = manifest_text.file_text,  # type: ignore[assignment]
) -> dict[str, str | Deferred]:
    """Returns the text of every file, by its path relative to the repository root. ``settings_source`` names the
    file of the Config. ``artifacts`` come by backend and in order of application; ``read`` returns the text of each.

    Several backends get a folder each. Artifacts of an iterator are freed one by one to save memory.
    """
    files: dict[str, str | Deferred] = {}
    waiting = deque(artifacts)
    total, backends = len(waiting), {artifact.backend for artifact in waiting}
    for backend, group in groupby((waiting.popleft() for _ in range(total)), key=lambda artifact: artifact.backend):
        base = folder_of(backend, backends, config.output)
        listed: dict[str, list[str]] = {}
        for artifact in group:
            folder = f"{base}"
            if config.layout == "sharded":  # work is applied with its pool
                folder += f"/{POOLS}/{artifact.pool}" if artifact.is_work else f"/{PLATFORM}"
            resources = listed.setdefault(folder, [])  # the same strings as in files, so that each is there once
            path = f"{folder if artifact.apply else base}/{artifact.folder}/{artifact.file}"
            if artifact.apply:
                resources.append(path)
            files[path] = read(artifact)
            if config.layout == "sharded" and artifact.pool is not None:
                listed.setdefault(f"{base}/{POOLS}/{artifact.pool}", [])  # a pool without work has its folder too
            if tick:
                tick(len(files), total)
        for folder, resources in listed.items():
            names = [path.removeprefix(f"{folder}/") for path in resources]
            files[f"{folder}/{KUSTOMIZATION}"] = manifest_text.kustomization(names, settings_source)
    return files


def folder_of(backend: str, backends: Collection[str], output: str) -> str | None:
    """Returns the folder of a backend: its own if several backends have objects; None if it has none."""
    if backend not in backends:
        return None
    return f"{output}/{backend}" if len(backends) > 1 else output


def plan(
    files: Mapping[str, str | Deferred], root: Path, output: str, sources: Sequence[str], stamps: Stamps | None = None
) -> Plan:
    """Compares ``files`` with the files below ``output``. Does not read files that ``stamps`` knows.

    Leaves files of others alone. Raises TasError if such a file is in the way, or if the output folder leads out of the
    repository or into one of ``sources``.
    """
    real = real_output(root, output, sources)
    with Disk(root.resolve()) as disk:
        return compared(files, Present(disk, output, real, stamps=stamps is not None), _MANIFESTS, stamps)


@dataclass(frozen=True, slots=True)
class FileKind:
    """Properties of the files in an output folder."""

    suffixes: tuple[str, ...]
    """Name endings of files that kubectl-tas writes."""
    is_ours: Callable[[str], bool]
    """Whether the text of a file says that kubectl-tas wrote it."""
    hint: str
    """Hint if a file of somebody else is in the way."""


_MANIFESTS = FileKind(
    (".yaml",),
    lambda content: content.startswith(MARK),
    "Move it elsewhere, or choose another output folder in tas.yaml.",
)


def compared(
    files: Mapping[str, str | Deferred], present: Present, kind: FileKind, stamps: Stamps | None = None
) -> Plan:
    """Compares ``files`` with ``present``. Raises TasError if a file of somebody else is in the way."""
    obstacle = present.obstacle(files)
    if obstacle is not None:
        raise _in_the_way(obstacle, kind)
    changes: list[FileChange] = []
    same: list[str] = []
    for path, after in files.items():
        now = present.stamps.get(path)
        if stamps and now and stamps.tells(path, now, manifest_text.digest(after)):
            same.append(path)
            continue
        content = present.content(path) if path in present.files else None
        if content is not None and manifest_text.is_same(content, after):
            same.append(path)
            if stamps and now:
                stamps.note(path, now, manifest_text.digest(after))
            continue
        before = None if content is None else manifest_text.text_of(content)
        if before is not None and not kind.is_ours(before):
            raise _in_the_way(path, kind)
        changes.append(FileChange(path, before, after))
    surplus = present.files - files.keys()
    for path in surplus:
        before = present.read(path) if path.endswith(kind.suffixes) else ""
        if is_leftover(path) or kind.is_ours(before):
            changes.append(FileChange(path, before, None))
    changes.sort(key=lambda change: change.path)
    changed_folders = {path.rpartition("/")[0] for path in (*surplus, *(change.path for change in changes))}
    return Plan(tuple(changes), tuple(same), present.output, present.real, frozenset(present.plain - changed_folders))


def bereft(plan: Plan, absent: Sequence[str]) -> dict[str, int]:
    """Returns which of ``absent`` contributed to manifests that would be removed, and to how many.

    ``absent`` are missing source folders, and the missing file of the settings. Without the settings, everything from
    other folders would be removed.
    """
    removed = [change for change in plan.changes if change.content is None]
    counts = dict.fromkeys(absent, 0)
    for change in removed:
        sources = manifest_text.sources(change.before or "")
        for folder in absent:
            counts[folder] += any(source.startswith(f"{folder}/") for source in sources)
    for change in plan.changes:
        if change.path.endswith(f"/{KUSTOMIZATION}"):
            sources = manifest_text.sources(change.before or "")
            counts |= {source: len(removed) for source in sources if source in counts}
    return {name: count for name, count in counts.items() if count}


class Present:
    """The files below the output folder. Does not follow links, and skips hidden folders."""

    def __init__(self, disk: Disk, output: str, real: str, *, stamps: bool = False) -> None:
        """Scans the folder. With ``stamps``, also takes the stamp of each file."""
        self.files: set[str] = set()
        """Paths of plain files."""
        self.stamps: dict[str, str] = {}
        """Stamps of plain files, taken before any reading."""
        self.plain: set[str] = set()
        """Folders that contain only plain files."""
        self._stamps = stamps
        self._folders: set[str] = set()
        self._others: set[str] = set()
        """Links, pipes and so on, which kubectl-tas never writes."""
        self._disk = disk
        self.output, self.real = output, real
        try:
            status = disk.status(real)
        except OSError as error:
            raise unreadable(f"the folder {output}", error) from error
        if status is not None and not stat.S_ISDIR(status.st_mode):
            raise TasError(f"the output {output} is a file, not a folder", hint="Move it elsewhere.")
        if status is not None:
            self._scan(output, depth=0)

    def obstacle(self, paths: Collection[str]) -> str | None:
        """Returns a path that is not a file but must be, or is not a folder but must be; else None."""
        blocked = self._folders | self._others
        if not blocked.isdisjoint(paths):
            return next(path for path in paths if path in blocked)
        needed: set[str] = set()
        for folder in {path.rpartition("/")[0] for path in paths}:
            while folder and folder not in needed:
                needed.add(folder)
                folder = folder.rpartition("/")[0]
        return min(needed & (self.files | self._others), default=None)

    def read(self, path: str) -> str:
        """Returns the text of a file; '' if another process has removed it meanwhile."""
        return manifest_text.text_of(self._read(path) or b"")

    def content(self, path: str) -> bytes:
        """Returns the bytes of a file that all processes keep. Raises TasError if it is gone."""
        content = self._read(path)
        if content is None:
            raise TasError(f"{path} vanished while it was read", hint="Run again.")
        return content

    def _read(self, path: str) -> bytes | None:
        """Returns a file as git keeps it: with core.autocrlf, git checks texts out with other line endings."""
        try:
            content = self._disk.read(self._locate(path))
        except OSError as error:
            raise unreadable(path, error) from error
        return content and content.replace(b"\r\n", b"\n")

    def _locate(self, path: str) -> str:
        return self.real + path.removeprefix(self.output)

    def _scan(self, folder: str, *, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise too_deep(folder)
        try:
            listed = self._disk.entries(self._locate(folder), statuses=self._stamps)
        except FileNotFoundError:  # another process has removed it meanwhile
            return
        except OSError as error:
            raise unreadable(f"the folder {folder}", error) from error
        is_plain = True
        for dir_entry in listed:
            path = f"{folder}/{dir_entry.name}"
            if dir_entry.is_file(follow_symlinks=False):
                self.files.add(path)
                if self._stamps:
                    self.stamps[path] = stamp(dir_entry.stat(follow_symlinks=False))
                continue
            is_plain = False
            if not dir_entry.is_dir(follow_symlinks=False):
                self._others.add(path)
            elif not dir_entry.name.startswith("."):
                self._folders.add(path)
                self._scan(path, depth=depth + 1)
        if is_plain:
            self.plain.add(folder)


def _in_the_way(path: str, kind: FileKind) -> TasError:
    return TasError(f"{path} is in the way: kubectl-tas did not write it", hint=kind.hint)


def apply_plan(plan: Plan, root: Path, tick: Tick | None = None, *, above: Path | None = None) -> None:
    """Applies a plan below ``root``. Raises TasError with the path, below ``above``, of a file that cannot change."""
    with Disk(root.resolve()) as disk:
        for index, change in enumerate(sorted(plan.changes, key=_step)):
            try:
                after = change.after
                if after is None:
                    disk.remove(plan.locate(change))
                else:
                    disk.replace(plan.locate(change), after.encode())
            except OSError as error:
                message = f"cannot write {(above or Path()) / change.path}: {error.strerror}"
                raise TasError(message, hint="Check permissions and free space; run again to finish.") from error
            if tick:
                tick(index + 1, len(plan.changes))


def _step(change: FileChange) -> tuple[bool, bool, str]:
    """Returns a sort key: objects are written before the kustomization that lists them, and removed after it."""
    is_removed = change.content is None
    return (is_removed, change.path.endswith(f"/{KUSTOMIZATION}") != is_removed, change.path)


MANIFESTS_STALE = Rule(
    "manifests-stale",
    Severity.ERROR,
    "A committed manifest is not what would be rendered.",
    "Argo CD and Flux apply the committed manifests. The cluster would miss what the files say now, or keep what they "
    "no longer say. Only `check` looks at manifests. Run `kubectl tas render` and commit what it writes. Do not edit "
    "manifests by hand.",
)


def stale(plan: Plan, hint: str) -> list[Diagnostic]:
    """Returns a finding for each file that is missing, differs or has no source. ``hint`` mends it."""
    findings = []
    for change in plan.changes:
        location, message = Location(change.path), "this manifest is missing"
        if change.before is not None and change.content is None:
            message = "nothing declares this manifest any more"
        elif change.before is not None:
            old, new = (change.before or "").split("\n"), (change.after or "").split("\n")
            pairs = enumerate(zip_longest(old, new), 1)
            line = min(next(number for number, (old_line, new_line) in pairs if old_line != new_line), len(old))
            location = Location(change.path, line, 1, source=old[line - 1], length=max(1, len(old[line - 1])))
            message = "this manifest differs from what is rendered"
        if not is_leftover(change.path):
            findings.append(Diagnostic(MANIFESTS_STALE, message, location, hint=hint))
    return findings


SITE_MARK = "Generated by kubectl-tas report"
"""Mark near the top of every file of a site. Only files with the mark are ever replaced or removed."""
_NEAR = 100
"""Number of characters at the top of a file that may contain the mark."""
_OTHER = "Choose another folder with --to."
_PAGES = FileKind((".html", ".css", ".js"), lambda each: SITE_MARK in each[:_NEAR], f"Move it elsewhere. {_OTHER}")


def plan_pages(files: Mapping[str, str | Deferred], folder: Path, root: Path, read: Sequence[str]) -> tuple[Plan, Path]:
    """Returns the plan to write ``files`` to ``folder``, and the folder that its paths are relative to.

    Raises TasError if ``folder`` has files but no site, or another site below it. Also raises TasError for the
    repository at ``root``, a folder above, a link out of the repository, and folders that overlap one of its folders
    ``read``.
    """
    real = folder.resolve()
    inside(Path(real.anchor), str(real), f"the folder {folder}")
    if Path(os.path.abspath(folder)).is_relative_to(root) and not real.is_relative_to(root):  # noqa: PTH100 - resolves no links
        raise TasError(f"{folder} leads out of the repository", hint="Remove the link.")
    if root.is_relative_to(real):
        raise TasError(f"{folder} is the repository itself, or above it", hint=_OTHER)
    for name in read:
        source = (root / name).resolve()
        if source != root and (real.is_relative_to(source) or source.is_relative_to(real)):
            raise TasError(f"{folder} is, holds or lies in the folder {name} of the repository", hint=_OTHER)
    base = next(above for above in real.parents if above.is_dir())
    output = real.relative_to(base).as_posix()
    with Disk(base) as disk:
        present = Present(disk, output, output)
        visible = sorted(path for path in present.files if not path.rpartition("/")[2].startswith("."))
        ours = (path for path in visible if path.endswith(_PAGES.suffixes) and _PAGES.is_ours(present.read(path)))
        if visible and next(ours, None) is None:
            raise TasError(f"{folder} has files that kubectl-tas did not write", hint=_OTHER)
        inner_site = _another_site(present, output, files)
        if inner_site is not None:
            raise TasError(f"{folder} holds another site: {folder / inner_site}", hint=_OTHER)
        return compared({f"{output}/{path}": text for path, text in files.items()}, present, _PAGES), base


def _another_site(present: Present, output: str, files: Iterable[str]) -> str | None:
    """Returns a folder below ``output`` that has a site of its own, for example an earlier one; else None."""
    tops = {path for path in files if "/" not in path and not path.endswith(".html")}
    for path in sorted(present.files):
        above, _, name = path.rpartition("/")
        if name in tops and above != output and _PAGES.is_ours(present.read(path)):
            return above.removeprefix(f"{output}/")
    return None
