"""Checks one revision of a git repository out to a private folder, and reads it like any other folder.

Writes only files that a reader may request: manifests, links, and the targets of links. A manifest whose content is
already known is neither requested from git nor written. The work tree and the index stay untouched.
"""

from __future__ import annotations

import os
import posixpath
import shutil
import tempfile
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path, PurePosixPath

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.folders import GIT_MODULES, MAX_DEPTH, is_below, is_git, is_matched, too_deep
from kubectl_tas.load.git import EXECUTABLE, LINK, SUBMODULE, TREE, Entry, Git, name_of, work_trees
from kubectl_tas.load.source import CONFIG_FILE, MAX_BYTES, SUFFIXES, FolderSource, RawFile

_MAX_LINKS = 40
"""The most links that are followed in a row before a chain counts as a loop, as in Linux."""
_MAX_DEPTH = 3 * MAX_DEPTH
"""The most nested folders in a commit: down to the root, to a folder of the settings, and below that folder."""
_MAX_TARGET = 4096
"""The most bytes in the target of a link; no disk stores longer ones."""
_MAX_TOTAL = 1024 * 1024 * 1024
"""The most bytes of a revision that are written."""


@contextmanager
def checked_out(root: Path, revision: str, at_hand: Iterable[bytes] = ()) -> Iterator[Revision]:
    """Yields the files below ``root`` as they were at ``revision``, until the block ends.

    ``at_hand`` are contents that files may have had at that revision. Raises TasError if git is missing, ``revision``
    is unknown, ``root`` is in no git repository, or a link of that repository leads to ``root``.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="kubectl-tas-"))
    except OSError as error:
        raise TasError(f"cannot make a temporary folder: {error.strerror}", hint="Set TMPDIR.") from error
    try:
        _refuse_links(root)
        yield _open(root.resolve(), revision, folder.resolve(), at_hand)
    finally:
        shutil.rmtree(folder)


def last_commit(root: Path) -> tuple[str, date] | None:
    """Returns the name and the day of the last commit of the innermost repository around ``root``; None without one."""
    try:
        with tempfile.TemporaryDirectory(prefix="kubectl-tas-") as folder:
            tree = next(work_trees(root.resolve()), None)
            git = None if tree is None else Git(tree, Path(folder).resolve())
            name = None if git is None else git.find("HEAD")
            return None if git is None or name is None else (name, git.date(name))
    except (TasError, OSError, ValueError):  # the site says nothing of a repository that git cannot read
        return None


def _refuse_links(root: Path) -> None:
    """Raises TasError if a link within the checkout leads to ``root``. A commit that adds such a link could choose the
    base of its own comparison, for example an empty one.
    """
    tops = [str(tree.top) for tree in work_trees(root.resolve())]
    for path in (root, *root.parents):
        around = os.path.realpath(path.parent)
        if path.is_symlink() and any(is_below(around, top) for top in tops):
            raise TasError(
                f"{path} is a link of the checkout that is compared",
                hint=f"Name the folder that it leads to: {path.resolve()}",
            )


def _open(root: Path, revision: str, folder: Path, at_hand: Iterable[bytes]) -> Revision:
    trees = tuple(work_trees(root))
    if not trees:
        raise TasError(f"{root} is in no git repository that can be read: no folder above it has an entry .git")
    top = trees[0].top
    prefix = "" if root == top else root.relative_to(top).as_posix()
    if is_git(prefix.split("/")[0]):
        raise TasError(f"{root} is in no git repository that can be read: it is a part of one")
    git = inner = Git(trees[0], _below(folder, "0"))
    commit = git.commit(revision)
    for number, tree in enumerate(trees[1:], start=1):
        outer = Git(tree, _below(folder, str(number)))
        _must_belong(inner, outer, revision)
        inner = outer
    return Revision(git, commit, prefix, _below(folder, "tree"), at_hand)


def _below(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def _must_belong(inner: Git, outer: Git, revision: str) -> None:
    """Raises TasError if ``revision`` of a repository may differ from its state at ``revision`` of the outer one.

    A pull request may replace a folder by a submodule, or a submodule by another one. The new repository then decides
    the meaning of ``revision``. A later commit than the one of the submodule is also accepted, if the sources of
    submodules have not changed.
    """
    commit = outer.find(revision)
    if commit is None:  # such as the full name of a commit of the inner one
        return
    path, head = inner.tree.top.relative_to(outer.tree.top).as_posix(), outer.commit("HEAD")
    before, now = outer.entry(commit, path), outer.entry(head, path)
    if not before or before.mode != SUBMODULE:
        if now and now.mode == SUBMODULE:
            message = f"{path} is a submodule, but not at {revision} of the git repository around it"
            raise TasError(message, hint="To compare within the inner one, name a commit by its full name.")
        return
    hint = f"To compare with what it was there, name that commit in full: {before.name}"
    known = inner.find(before.name)
    if known is None:
        message = f"the submodule {path} lacks the commit {before.name}, which it was at {revision} of the git "
        raise TasError(
            f"{message}repository around it",
            hint="See whether .gitmodules names another repository now; fetch all of a shallow clone.",
        )
    compared = inner.find(revision)
    if compared == known:
        return
    if outer.entry(commit, GIT_MODULES) != outer.entry(head, GIT_MODULES):
        message = f".gitmodules is not what it was at {revision}, so {revision} of the submodule {path} proves nothing"
        raise TasError(message, hint=hint)
    if compared is None or not inner.descends(compared, known):
        message = f"{revision} of the submodule {path} does not contain what it was at {revision} of the git "
        raise TasError(f"{message}repository around it", hint=hint)


class Revision:
    """A commit, written to ``folder`` on demand. ``prefix`` is the path of the root from the top of the commit."""

    def __init__(self, git: Git, commit: str, prefix: str, folder: Path, at_hand: Iterable[bytes]) -> None:
        self.commit = commit
        """The full name of the commit."""
        self.submodules: list[str] = []
        """Submodules, relative to the root, in which files would be read. Git does not have their files here."""
        self._git = git
        self._folder = folder
        # Where the root was no folder, a link on the way may have led to one.
        self._entries = git.entries(commit, prefix) or git.entries(commit)
        self._folders = _folders(self._entries)
        self._targets = self._read_links()
        self._made: set[str] = set()
        self._made_folders = {""}
        self._prefix = self._real(prefix)
        self._reader = FolderSource(folder / self._prefix, asks_git=False)
        # What paths lead to that go through links is for the system to say.
        self._at_hand = {} if self._targets else {name_of(content, like=commit): content for content in at_hand}

    def config(self) -> RawFile | None:
        """Returns ``tas.yaml``, or None if absent."""
        self._check_out([CONFIG_FILE], below=False)
        return self._reader.config()

    def has_folder(self, folder: str) -> bool:
        """Whether ``folder``, relative to the root, exists."""
        self._check_out([folder], below=False)
        return self._reader.has_folder(folder)

    def files(self, folders: Sequence[str], *, exclude: str) -> tuple[RawFile, ...]:
        """Returns all manifests below ``folders``, sorted by path; none below ``exclude`` or in hidden folders."""
        known = self._check_out(folders, below=True, exclude=exclude)
        found = {raw.path: raw for raw in known if raw.path != CONFIG_FILE}
        found |= {raw.path: raw for raw in self._reader.files(folders, exclude=exclude)}
        return tuple(found[path] for path in sorted(found))

    def moved(self) -> tuple[str, ...]:
        """Returns the folders of this commit, from its top, that had a ``tas.yaml`` and have none in the work tree."""
        found = [PurePosixPath(path) for path in self._git.entries(self.commit)]
        folders = sorted(path.parent.as_posix() for path in found if path.name == CONFIG_FILE)
        top = self._git.tree.top
        return tuple(folder for folder in folders if not os.path.lexists(top / folder / CONFIG_FILE))

    def local_file(self, path: str) -> RawFile:
        """Returns a file of any kind, or the reason why it is not available."""
        self._check_out([path], below=False)
        return self._reader.local_file(path)

    def contents(self, patterns: Sequence[str]) -> dict[str, bytes]:
        """Returns the content of each file that matches a pattern, by path from the root; paths may begin with ``..``.
        The content of a link is its target; the content of a file that is too large is empty.
        """
        found: dict[str, Entry] = {}
        for pattern in patterns:
            full = posixpath.normpath(posixpath.join(self._prefix, pattern))
            if "*" in full:
                found |= {path: entry for path, entry in self._entries.items() if is_matched(path, [full])}
            elif not full.startswith("..") and (entry := self._git.entry(self.commit, full)) is not None:
                found[full] = entry
        names = {entry.name for entry in found.values() if entry.mode not in (SUBMODULE, TREE)}
        sizes = {name: size for name, size in self._git.sizes(names).items() if size <= MAX_BYTES}
        texts = dict(self._git.contents(sizes))
        return {
            posixpath.relpath(path, self._prefix or "."): texts.get(entry.name, b"") for path, entry in found.items()
        }

    def _check_out(self, paths: Collection[str], *, below: bool, exclude: str | None = None) -> list[RawFile]:
        """Writes the files at these paths; with ``below``, also the files in folders and the targets of links there.
        Returns the files in folders whose content is already known; only the folders of these files are made.
        """
        known: list[RawFile] = []
        start = None if exclude is None else posixpath.join(self._prefix, exclude)
        todo = deque((posixpath.join(self._prefix, path), start) for path in paths)
        seen: set[tuple[str, str | None]] = set()
        files: dict[str, Entry] = {}
        while todo:
            path, without = todo.popleft()
            end = self._follow(path)
            if end is None or (end, without) in seen:
                continue
            seen.add((end, without))
            entry = self._entries.get(end)
            if entry is not None:
                files[end] = entry
            elif below:
                for found in self._manifests(end, without):
                    entry = self._entries[found]
                    content = self._at_hand.get(entry.name)
                    if entry.mode == LINK:
                        todo.append((found, None))
                    elif content is not None and found.count("/", len(end) + 1) <= MAX_DEPTH:
                        self._make_folder(posixpath.dirname(found))
                        name = found.removeprefix(f"{self._prefix}/")
                        known.append(RawFile(name, content, is_executable=entry.mode == EXECUTABLE))
                    else:
                        files[found] = entry
        self._write({path: entry for path, entry in files.items() if path not in self._made})
        return known

    def _manifests(self, folder: str, without: str | None) -> Iterator[str]:
        """Yields the manifests, submodules and links below a folder, which a reader may look at."""
        head = f"{folder}/" if folder else ""
        for path, entry in self._entries.items():
            if path.startswith(head) and (path.endswith(SUFFIXES) or entry.mode in (LINK, SUBMODULE)):
                is_hidden = "/." in path[len(head) - 1 :] if head else path.startswith(".") or "/." in path
                if not is_hidden and not (without and path.startswith(f"{without}/") and without.startswith(head)):
                    yield path

    def _follow(self, path: str) -> str | None:
        """Returns the real path behind ``path``, with links followed as the system does; None if this commit lacks it.

        Makes the links and folders on the way.
        """
        rest, done = deque(path.split("/")), list[str]()
        links = 0
        while rest:
            part = rest.popleft()
            here = "/".join((*done, part))
            if part in ("", "."):
                continue
            if part == "..":
                if not done:
                    return None
                done.pop()
            elif here in self._targets:
                links += 1
                self._make_link(here)
                if links > _MAX_LINKS or self._targets[here].startswith("/"):
                    return None
                rest.extendleft(reversed(self._targets[here].split("/")))
            elif here in self._folders:
                self._make_folder(here)
                done.append(part)
            elif here in self._entries and not rest:
                return here
            else:
                return None
        return "/".join(done)

    def _real(self, root: str) -> str:
        """Returns the real path of the root, which may be absent. Raises TasError for a link to no folder."""
        end = self._follow(root)
        if not self._made & self._targets.keys():
            return root
        if end is None or end not in self._folders:
            raise TasError(
                f"{root!a} was a link at {self.commit}, which led to no folder of the git repository",
                hint="Compare with a revision at which it is a folder.",
            )
        return end

    def _write(self, files: dict[str, Entry]) -> None:
        """Writes files. A file that is too large for the reader gets its size but no content."""
        paths: dict[str, list[str]] = defaultdict(list)
        for path, entry in files.items():
            if entry.mode == SUBMODULE:
                self._make_folder(path)
                self.submodules.append(posixpath.relpath(path, self._prefix or "."))
            else:
                paths[entry.name].append(path)
        sizes = self._git.sizes(paths.keys())
        if sum(min(sizes[name], MAX_BYTES) * len(paths[name]) for name in sizes) > _MAX_TOTAL:
            raise TasError("the manifests of the revision have more than 1 GiB", hint="Read fewer folders.")
        small = {name: size for name, size in sizes.items() if size <= MAX_BYTES}
        for name, content in self._git.contents(small):
            for path in paths[name]:
                self._make_file(path, content, len(content))
        for name in sizes.keys() - small.keys():
            for path in paths[name]:
                self._make_file(path, b"", sizes[name])

    def _make_file(self, path: str, content: bytes, size: int) -> None:
        self._make_folder(posixpath.dirname(path))
        with self._making(path) as full, full.open("xb") as file:
            file.write(content)
            if size > len(content):
                file.truncate(size)
            if self._entries[path].mode == EXECUTABLE:
                full.chmod(0o700)

    def _make_folder(self, path: str) -> None:
        if path not in self._made_folders:
            if path.count("/") >= _MAX_DEPTH:
                raise too_deep(path, _MAX_DEPTH)
            self._make_folder(posixpath.dirname(path))
            with self._making(path) as full:
                full.mkdir()
            self._made_folders.add(path)

    def _make_link(self, path: str) -> None:
        if path not in self._made:
            with self._making(path) as full:
                full.symlink_to(self._targets[path])

    @contextmanager
    def _making(self, path: str) -> Iterator[Path]:
        """Creates each path once and as new, so that nothing is written through an existing link."""
        try:
            yield self._folder / path
        except FileExistsError as error:
            message = f"cannot check out {path!a}: on this disk another name of the revision means the same"
            raise TasError(message, hint="Rename one of the two, or work on a disk that tells them apart.") from error
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise TasError(f"cannot check out {path!a}: {reason}") from error
        self._made.add(path)

    def _read_links(self) -> dict[str, str]:
        """Returns the target of each link."""
        links = {path: entry.name for path, entry in self._entries.items() if entry.mode == LINK}
        sizes = self._git.sizes(set(links.values()))
        for path, name in links.items():
            if sizes[name] > _MAX_TARGET:
                raise TasError(f"cannot check out {path!a}: a link with {sizes[name]} bytes")
        targets = dict(self._git.contents(sizes))
        return {path: os.fsdecode(targets[name]) for path, name in links.items()}


def _folders(entries: Collection[str]) -> set[str]:
    """Returns all folders that contain these paths. Raises TasError for an invalid path."""
    folders = {""}
    for path in entries:
        rest, _, name = path.rpartition("/")
        names = [name]
        while rest not in folders:
            folders.add(rest)
            rest, _, name = rest.rpartition("/")
            names.append(name)
        if any(name in ("", ".", "..") or is_git(name) for name in names) or path.startswith("/"):
            raise TasError(f"cannot check out {path!a}: a name that git does not allow")
    return folders
