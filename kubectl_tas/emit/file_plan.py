"""What is to be on disk, against what is there: files to write, to keep and to remove; and writing them."""

from __future__ import annotations

import stat
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby, zip_longest
from pathlib import Path
from typing import TypeVar

from kubectl_tas.diagnostics import Diagnostic, Location, Rule, Severity
from kubectl_tas.emit import manifest_text
from kubectl_tas.emit.disk import KUSTOMIZATION, MARK, Disk, Stamps, is_leftover, stamp, unreadable
from kubectl_tas.emit.manifest_text import Deferred
from kubectl_tas.errors import TasError
from kubectl_tas.folders import MAX_DEPTH, real_output, too_deep
from kubectl_tas.model.artifact import Placed
from kubectl_tas.model.config import ConfigSpec
from kubectl_tas.records import dataclass

PLATFORM, POOLS = "platform", "pools"
"""Folders of the sharded layout: what is of no one pool, and the work of each pool."""

P = TypeVar("P", bound=Placed)
Tick = Callable[[int, int], None]
"""Told how many of how many steps are done."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that is not as it should be."""

    path: str
    """Relative to the repository root."""
    before: str | None
    """None: the file is not there."""
    content: str | Deferred | None
    """None: the file is to go."""

    @property
    def after(self) -> str | None:
        """The text that it is to have; None: the file is to go. A deferred text is read anew each time."""
        return None if self.content is None else manifest_text.whole(self.content)


@dataclass(frozen=True, slots=True)
class Plan:
    """What rendering would do."""

    changes: tuple[FileChange, ...]
    """Sorted by path."""
    same: tuple[str, ...]
    """Files that are as they should be."""
    output: str
    """The output folder, or the part of it that is meant, with which all paths begin."""
    real: str
    """Where that really lies, once links are followed."""
    settled: frozenset[str] = frozenset()
    """Folders that hold nothing but files which are as they should be."""

    @property
    def counts(self) -> str:
        """How many files are written, removed and unchanged."""
        removed = sum(change.content is None for change in self.changes)
        return f"{len(self.changes) - removed} written, {removed} removed, {len(self.same)} unchanged"

    def within(self, folder: str) -> Plan:
        """What it would do in a folder, which is the output folder or lies below it."""
        changes = tuple(change for change in self.changes if change.path.startswith(f"{folder}/"))
        same = tuple(path for path in self.same if path.startswith(f"{folder}/"))
        return Plan(changes, same, folder, self.real + folder.removeprefix(self.output))

    def locate(self, change: FileChange) -> str:
        """Where a file really lies, relative to what the root really is."""
        return self.real + change.path.removeprefix(self.output)

    @property
    def differences(self) -> tuple[tuple[str, str | None, str | None], ...]:
        """The path, and the texts before and after, of all but what a killed process left."""
        changes = (change for change in self.changes if not is_leftover(change.path))
        return tuple((change.path, change.before, change.after) for change in changes)


def layout(
    artifacts: Iterable[P],
    config: ConfigSpec,
    settings: str,
    tick: Tick | None = None,
    *,
    read: Callable[[P], str | Deferred] = manifest_text.file_text,  # type: ignore[assignment]
) -> dict[str, str | Deferred]:
    """The text of every file, by its path relative to the repository root; ``settings`` is what the Config comes from.

    ``artifacts`` come by backend and in the order of application; ``read`` gives the text of each. Several backends
    have a folder each. Each artifact of an iterator is let go once its file is known: a large repository has as much
    memory in the one as in the other.
    """
    files: dict[str, str | Deferred] = {}
    left = deque(artifacts)
    total, backends = len(left), {artifact.backend for artifact in left}
    for backend, group in groupby((left.popleft() for _ in range(total)), key=lambda artifact: artifact.backend):
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
            files[f"{folder}/{KUSTOMIZATION}"] = manifest_text.kustomization(names, settings)
    return files


def folder_of(backend: str, backends: Collection[str], output: str) -> str | None:
    """The folder of a backend: its own where there are several that have objects; None where it has none."""
    if backend not in backends:
        return None
    return f"{output}/{backend}" if len(backends) > 1 else output


def plan(
    files: Mapping[str, str | Deferred], root: Path, output: str, sources: Sequence[str], stamps: Stamps | None = None
) -> Plan:
    """Compares ``files`` with what lies below ``output``. Files that ``stamps`` tell of are not read.

    What the tool did not write there is left alone; where it stands in the way, or the output folder is one that
    must not be written to, because it leads out of the repository or to one of ``sources``, TasError is raised.
    """
    real = real_output(root, output, sources)
    with Disk(root.resolve()) as disk:
        return compared(files, Present(disk, output, real, stamps=stamps is not None), _MANIFESTS, stamps)


@dataclass(frozen=True, slots=True)
class FileKind:
    """What the files of an output folder have in common."""

    suffixes: tuple[str, ...]
    """How the names of those end that the tool writes."""
    is_ours: Callable[[str], bool]
    """Whether a text of such a file says that the tool wrote it."""
    hint: str
    """What to do where something else is in the way."""


_MANIFESTS = FileKind(
    (".yaml",),
    lambda content: content.startswith(MARK),
    "Move it elsewhere, or choose another output folder in tas.yaml.",
)


def compared(
    files: Mapping[str, str | Deferred], present: Present, kind: FileKind, stamps: Stamps | None = None
) -> Plan:
    """Compares ``files`` with what is ``present``. Raises TasError where something else is in the way of one."""
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
    others = present.files - files.keys()
    for path in others:
        before = present.read(path) if path.endswith(kind.suffixes) else ""
        if is_leftover(path) or kind.is_ours(before):
            changes.append(FileChange(path, before, None))
    changes.sort(key=lambda change: change.path)
    unsettled = {path.rpartition("/")[0] for path in (*others, *(change.path for change in changes))}
    return Plan(tuple(changes), tuple(same), present.output, present.real, frozenset(present.plain - unsettled))


def bereft(plan: Plan, absent: Sequence[str]) -> dict[str, int]:
    """Which of ``absent`` had a part in manifests that would be removed, and in how many.

    ``absent`` are folders that should have been read but are not there, and the file of the settings where it is
    not: without it, all that other folders held would go.
    """
    removed = [change for change in plan.changes if change.content is None]
    counts = dict.fromkeys(absent, 0)
    for change in removed:
        sources = manifest_text.sources(change.before or "")
        for folder in absent:
            counts[folder] += any(source.startswith(f"{folder}/") for source in sources)
    for change in plan.changes:
        if change.path.endswith(f"/{KUSTOMIZATION}"):
            counts |= {
                source: len(removed) for source in manifest_text.sources(change.before or "") if source in counts
            }
    return {name: count for name, count in counts.items() if count}


class Present:
    """What lies below the output folder, relative to the root; links are not followed, hidden folders left out."""

    def __init__(self, disk: Disk, output: str, real: str, *, stamps: bool = False) -> None:
        """``stamps``: those of all files are taken too."""
        self.files: set[str] = set()
        """Plain files."""
        self.stamps: dict[str, str] = {}
        """Of plain files, before any was read."""
        self.plain: set[str] = set()
        """Folders that hold plain files alone."""
        self._stamps = stamps
        self._folders: set[str] = set()
        self._others: set[str] = set()
        """Links, pipes and the like: never ours."""
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

    def obstacle(self, wanted: Collection[str]) -> str | None:
        """What stands where a file is wanted and is none, or where a folder is needed and is none."""
        blocked = self._folders | self._others
        if not blocked.isdisjoint(wanted):
            return next(path for path in wanted if path in blocked)
        needed: set[str] = set()
        for folder in {path.rpartition("/")[0] for path in wanted}:
            while folder and folder not in needed:
                needed.add(folder)
                folder = folder.rpartition("/")[0]
        return min(needed & (self.files | self._others), default=None)

    def read(self, path: str) -> str:
        """The text of a file."""
        return manifest_text.text_of(self.content(path))

    def content(self, path: str) -> bytes:
        """The bytes of a file."""
        try:
            content = self._disk.read(self._locate(path))
        except OSError as error:
            raise unreadable(path, error) from error
        if content is None:
            raise TasError(f"{path} vanished while it was read", hint="Run again.")
        return content

    def _locate(self, path: str) -> str:
        return self.real + path.removeprefix(self.output)

    def _scan(self, folder: str, *, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise too_deep(folder)
        try:
            listed = self._disk.entries(self._locate(folder), statuses=self._stamps)
        except OSError as error:
            raise unreadable(f"the folder {folder}", error) from error
        is_plain = True
        for entry in listed:
            path = f"{folder}/{entry.name}"
            if entry.is_file(follow_symlinks=False):
                self.files.add(path)
                if self._stamps:
                    self.stamps[path] = stamp(entry.stat(follow_symlinks=False))
                continue
            is_plain = False
            if not entry.is_dir(follow_symlinks=False):
                self._others.add(path)
            elif not entry.name.startswith("."):
                self._folders.add(path)
                self._scan(path, depth=depth + 1)
        if is_plain:
            self.plain.add(folder)


def _in_the_way(path: str, kind: FileKind) -> TasError:
    return TasError(f"{path} is in the way: kubectl-tas did not write it", hint=kind.hint)


def apply_plan(plan: Plan, root: Path, tick: Tick | None = None, *, above: Path | None = None) -> None:
    """Carries out a plan below ``root``. Raises TasError that names a file, below ``above``, that cannot change."""
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
    """What a kustomization lists is there at every moment: objects are written before it, and removed after it."""
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


def stale(plan: Plan, command: str) -> list[Diagnostic]:
    """A finding for each file that is missing, differs or has no source any more; ``command`` mends them."""
    found = []
    for change in plan.changes:
        place, message = Location(change.path), "this manifest is missing"
        if change.before is not None and change.content is None:
            message = "nothing declares this manifest any more"
        elif change.before is not None:
            place, message = _first_difference(change), "this manifest differs from what is rendered"
        if not is_leftover(change.path):
            found.append(Diagnostic(MANIFESTS_STALE, message, place, hint=f"Run: {command}"))
    return found


def _first_difference(change: FileChange) -> Location:
    """The first line of the committed text that is not as it would be; its last line where lines are missing."""
    old, new = (change.before or "").split("\n"), (change.after or "").split("\n")
    pairs = enumerate(zip_longest(old, new), 1)
    line = min(next(number for number, (one, other) in pairs if one != other), len(old))
    return Location(change.path, line, 1, source=old[line - 1], length=max(1, len(old[line - 1])))
