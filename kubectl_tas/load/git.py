"""Asks git about the repository of a folder, without following any setting of that repository.

A pull request chooses the files of a checkout, and others may have written its configuration. So git runs in a
temporary repository that links to the objects and commit names of the real one. No configuration, hook, filter,
attribute, alias, credential helper or promisor remote of the checkout takes effect.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from kubectl_tas.base import process
from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import dataclass

EXECUTABLE, LINK, SUBMODULE, TREE = "100755", "120000", "160000", "040000"
"""The modes of a program, a symbolic link, another repository's commit and a folder."""

_SHARED = ("objects", "packed-refs", "shallow")
"""Files that all work trees of a repository share; if only one work tree exists, ``_OWN`` is there too."""
_OWN = ("refs", "logs", "reftable", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD")
"""Files that each linked work tree has for itself, besides ``HEAD``."""
_STORAGE = {"objectformat": ("sha1", "sha256"), "refstorage": ("files", "reftable")}
"""Settings that git needs to read objects and names, with the values that git knows."""
_HARMLESS = (
    "compatobjectformat",
    "noop",
    "noop-v1",
    "partialclone",
    "preciousobjects",
    "relativeworktrees",
    "submodulepathconfig",
    "worktreeconfig",
)
"""Extensions that change nothing when git only reads existing objects."""
_SETTINGS = r"^(core\.(repositoryformatversion|worktree)|extensions\..*|remote\..*\.promisor)$"
_OPTIONS = ("--no-pager", "--no-replace-objects", "--literal-pathspecs", "-c", "safe.bareRepository=explicit")
_AT_ONCE = 16 * 1024 * 1024
"""The most bytes of content that one call of git returns."""
_AMBIGUOUS = re.compile(r"refname '(.*)' is ambiguous")
_FULL_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.IGNORECASE)
_UNKNOWN = "fatal: Needed a single revision"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, a link or a submodule of a commit."""

    mode: str
    name: str
    """The object name."""


class Git:
    """The objects and names of one repository, read through a temporary repository in ``folder``.

    Raises TasError if git is missing or cannot read the repository.
    """

    def __init__(self, tree: WorkTree, folder: Path) -> None:
        self.tree = tree
        self._folder = folder
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_DIR": str(folder / "git"),
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "HOME": str(folder),  # where git looks before 2.32, which does not know GIT_CONFIG_GLOBAL
            "LC_ALL": "C",
            "XDG_CONFIG_HOME": str(folder),
        }
        self._borrow()
        settings = self._settings()
        self._is_partial = any(key.startswith("remote.") for key in settings)
        (folder / "common" / "config").write_text(_own_config(tree, settings), encoding="utf-8")

    def find(self, revision: str) -> str | None:
        """Returns the full name of a commit; None if ``revision`` names none. Raises TasError if it is ambiguous."""
        found = self._named(revision)
        return _line(found) if _is_name(found) else None

    def commit(self, revision: str) -> str:
        """Returns the full name of a commit; for ``HEAD`` before the first commit, the name of the empty tree.

        Raises TasError if ``revision`` does not name exactly one commit.
        """
        if not revision.isprintable():
            raise TasError(
                "git is asked for a revision with characters that cannot be printed",
                hint="Name the commit by its full name.",
            )
        if not revision.strip():
            raise TasError("the revision is empty", hint="Name one. A variable of the CI job may be unset.")
        found = self._named(revision)
        if _is_name(found):
            return _line(found)
        if revision == "HEAD" and self._is_unborn():
            return _line(self._ask("hash-object", "-t", "tree", "--stdin"))
        err = found.err.splitlines()
        reason = f": {err[-1].removeprefix('fatal: ')}" if err and err[-1] != _UNKNOWN else ""
        shallow = self.tree.common / "shallow"
        hint = (
            "This clone is shallow, so the revision may only be missing here. Fetch it with: git fetch --unshallow"
            if shallow.is_file() and shallow.stat().st_size
            else "Name a commit, a branch or a tag. A branch of the remote is written origin/NAME."
        )
        raise TasError(f'git knows no revision "{revision}"{reason}', hint=hint)

    def _named(self, revision: str) -> process.Finished:
        found = self._run("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        # Whoever may name a branch or a tag must not choose what the name of another one means.
        if any(not _FULL_NAME.fullmatch(name) for name in _AMBIGUOUS.findall(found.err)):
            hint = (
                "Write refs/heads/NAME for a branch, refs/remotes/origin/NAME for one of the remote, "
                "refs/tags/NAME for a tag."
            )
            raise TasError(f'the revision "{revision}" means more than one thing in {self.tree.top}', hint=hint)
        return found

    def date(self, commit: str) -> date:
        """Returns the day of a commit, where its committer was."""
        text = os.fsdecode(self._ask("cat-file", "commit", commit).out)
        seconds, zone = text.partition("\ncommitter ")[2].partition("\n")[0].rsplit(" ", 2)[1:]
        offset = timedelta(hours=int(zone[:-2]), minutes=int(zone[0] + zone[-2:]))
        return (datetime.fromtimestamp(int(seconds), UTC) + offset).date()

    def _is_unborn(self) -> bool:
        """Whether ``HEAD`` is a branch without a commit."""
        head = self._run("symbolic-ref", "--quiet", "HEAD")
        branch = os.fsdecode(head.out).rstrip("\n")
        return head.code == 0 and self._run("show-ref", "--verify", "--quiet", branch).code == 1

    def descends(self, commit: str, ancestor: str) -> bool:
        """Whether ``commit`` is ``ancestor`` or descends from it; both commits must exist."""
        done = self._run("merge-base", "--is-ancestor", ancestor, commit)
        if done.code > 1:
            raise TasError(f"git merge-base failed: {done.err}", hint=self._hint_of_what_is_missing())
        return done.code == 0

    def entries(self, commit: str, folder: str = "") -> dict[str, Entry]:
        """Returns everything below ``folder`` in a commit, by path from the top of the work tree."""
        if not folder:
            return self._listed("-r", commit)
        found = self._listed("-r", commit, "--", f"{folder}/")
        return {path: entry for path, entry in found.items() if path != folder}  # a link is listed, too

    def entry(self, commit: str, path: str) -> Entry | None:
        """Returns the entry at ``path`` in a commit; the entry may be a folder."""
        return self._listed(commit, "--", path).get(path)

    def tracked(self) -> frozenset[str]:
        """Returns the files, links and submodules in the index, by path from the top of the work tree."""
        for name in self.tree.git.glob("sharedindex.*"):  # parts of an index, which it names
            (self._folder / "git" / name.name).symlink_to(name)
        (self._folder / "git" / "index").symlink_to(self.tree.git / "index")  # absent before anything was added
        return frozenset(os.fsdecode(self._ask("ls-files", "--cached", "-z").out).split("\0")[:-1])

    def sizes(self, names: Collection[str]) -> dict[str, int]:
        """Returns the size of each content in bytes. Raises TasError if one is missing."""
        if not names:
            return {}
        lines = self._ask("cat-file", "--batch-check", stdin=_lines(names)).out.decode().splitlines()
        found = dict(zip(names, (line.split(" ") for line in lines), strict=True))
        for name, answer in found.items():
            if answer[1:2] != ["blob"]:
                raise self._lacks(name)
        return {name: int(answer[2]) for name, answer in found.items()}

    def contents(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        """Yields contents of the given sizes one after another, with only a few in memory at a time."""
        names: list[str] = []
        total = 0
        for name, size in sizes.items():
            if names and total + size > _AT_ONCE:
                yield from self._batch(names, sizes)
                names, total = [], 0
            names.append(name)
            total += size
        if names:
            yield from self._batch(names, sizes)

    def _batch(self, names: list[str], sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        out = self._ask("cat-file", "--batch", stdin=_lines(names)).out
        at = 0
        for name in names:
            start = out.find(b"\n", at) + 1
            if out[at:start] != f"{name} blob {sizes[name]}\n".encode():
                raise self._lacks(name)
            yield name, out[start : start + sizes[name]]
            at = start + sizes[name] + 1

    def _lacks(self, name: str) -> TasError:
        return TasError(f"git lacks the content of {name}", hint=self._hint_of_what_is_missing())

    def _hint_of_what_is_missing(self) -> str:
        if self._is_partial:
            return "The clone is partial; fetch what it lacks with: git fetch --refetch --no-filter"
        return "The clone is damaged; see what it lacks with: git fsck"

    def _listed(self, *arguments: str) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for line in os.fsdecode(self._ask("ls-tree", "-z", "--full-tree", *arguments).out).split("\0")[:-1]:
            head, _, path = line.partition("\t")
            mode, _, name = head.split(" ")
            found[path] = Entry(mode, name)
        return found

    def _borrow(self) -> None:
        """Links to the data of the real repository. Copies ``HEAD``, because git would count a link as a name."""
        tree, git, common = self.tree, self._folder / "git", self._folder / "common"
        common.mkdir()
        if tree.git == tree.common:
            git.symlink_to("common")
        else:
            git.mkdir()
            (git / "commondir").write_text("../common\n", encoding="utf-8")
        for real, own, names in ((tree.common, common, (*_SHARED, *_OWN)), (tree.git, git, _OWN)):
            for name in names:
                if os.path.lexists(real / name) and not os.path.lexists(own / name):
                    (own / name).symlink_to(real / name)
            head = real / "HEAD"
            text = f"ref: {head.readlink()}" if head.is_symlink() else pointer(head)
            (own / "HEAD").write_bytes(os.fsencode(f"{text}\n"))

    def _settings(self) -> dict[str, str]:
        """Returns the settings of the repository that describe its storage, without any others and without includes."""
        path = self.tree.common / "config"
        found = self._run("config", "--file", str(path), "--no-includes", "-z", "--get-regexp", _SETTINGS)
        if found.code > 1:  # 1: none of them is there
            raise TasError(f"git cannot read {path}: {found.err}")
        pairs = (line.partition("\n") for line in os.fsdecode(found.out).split("\0")[:-1])
        return {key: value for key, _, value in pairs}

    def _ask(self, *arguments: str, stdin: bytes = b"") -> process.Finished:
        done = self._run(*arguments, stdin=stdin)
        if done.code:
            raise TasError(f"git {arguments[0]} failed: {done.err}", hint=self._hint_of_what_is_missing())
        return done

    def _run(self, *arguments: str, stdin: bytes = b"") -> process.Finished:
        # The working folder is our own too, so that a relative folder on the PATH holds no program of the checkout.
        command = ["git", *_OPTIONS, *arguments]
        return process.run(command, cwd=self._folder, stdin=stdin, environment=self._environment)


def _own_config(tree: WorkTree, settings: Mapping[str, str]) -> str:
    """Returns the configuration for the temporary repository. Raises TasError for unknown settings."""
    refused = f"{tree.top} is in no git repository that can be read:"
    version = settings.get("core.repositoryformatversion", "0")
    if version not in ("0", "1"):
        raise TasError(f"{refused} its format has the version {version}")
    top = settings.get("core.worktree")
    if top is not None and tree.git == tree.common and (tree.git / top).resolve() != tree.top:
        raise TasError(f"{refused} core.worktree says that its files lie in {top}")
    lines = []
    for key, value in settings.items():
        name = key.removeprefix("extensions.")
        if name in _STORAGE and value.lower() in _STORAGE[name]:
            lines.append(f"\t{name} = {value.lower()}\n")
        elif name in _STORAGE or (name != key and version == "1" and name not in _HARMLESS):
            raise TasError(f"{refused} it uses {name} = {value}, which this version does not know")
    head = f"[core]\n\trepositoryformatversion = {int(bool(lines))}\n\tbare = true\n"
    return f"{head}[extensions]\n{''.join(lines)}" if lines else head


def name_of(content: bytes, *, like: str) -> str:
    """Returns the object name of a file's content, with the hash of the object named ``like``."""
    make = hashlib.sha1 if len(like) == 40 else hashlib.sha256
    return make(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _lines(names: Collection[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _is_name(done: process.Finished) -> bool:
    """Whether git printed the full name of an object, rather than a range."""
    return done.code == 0 and _FULL_NAME.fullmatch(_line(done)) is not None


def _line(done: process.Finished) -> str:
    """Returns the one line that git printed."""
    return done.out.decode("ascii").rstrip("\n")


_MAX_POINTER = 64 * 1024
"""The most bytes read from a file that only names a place."""


@dataclass(frozen=True, slots=True)
class WorkTree:
    """A checkout: the folder with the entry ``.git``."""

    top: Path
    git: Path
    """The folder with the work tree's ``HEAD``."""
    common: Path
    """The folder with the objects. Linked work trees share this folder; otherwise it is ``git``."""


def work_trees(root: Path) -> Iterator[WorkTree]:
    """Yields the work trees that contain ``root``, a real path, from the innermost outward.

    Only an entry ``.git`` makes a work tree, because no commit can contain such an entry. Raises TasError if a file
    ``.git`` names no repository.
    """
    for top in (root, *root.parents):
        entry = top / ".git"
        is_file = os.path.isfile(entry)  # noqa: PTH113 - pathlib raises for parents that may not be searched
        if not is_file and not os.path.isdir(entry):  # noqa: PTH112 - the same
            continue
        git = _pointed_at(entry) if is_file else Path(os.path.realpath(entry))
        common = _common(git)
        if _is_there(git / "HEAD") and _is_there(common / "objects") and _is_there(common / "refs"):
            yield WorkTree(top, git, common)
        elif is_file:
            raise TasError(f"{top} is in no git repository that can be read: {entry} names {git}, which is none")


def _pointed_at(entry: Path) -> Path:
    """Returns the folder named by a file ``.git`` of a submodule or linked work tree."""
    kind, _, name = pointer(entry).partition(": ")
    if kind != "gitdir":
        raise TasError(f"{entry.parent} is in no git repository that can be read: {entry} names no folder")
    return Path(os.path.realpath(entry.parent / name))


def _common(git: Path) -> Path:
    shared = git / "commondir"
    is_linked = os.path.isfile(shared)  # noqa: PTH113 - pathlib may raise
    return Path(os.path.realpath(git / pointer(shared))) if is_linked else git


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:  # to look for another repository further up would be to guess
        raise TasError(f"cannot read {path.parent}: {error.strerror}", hint="Check its permissions.") from error
    return True


def pointer(path: Path) -> str:
    """Returns the one line of a git file that names a place, such as ``HEAD``."""
    try:
        with path.open("rb") as file:
            line, _, _ = file.read(_MAX_POINTER).partition(b"\0")  # where git, too, takes it to end
    except OSError as error:
        raise TasError(f"cannot read {path}: {error.strerror}", hint="Check its permissions.") from error
    return os.fsdecode(line.rstrip(b"\r\n"))


class Tracked:
    """The files below ``root``, a real path, that git tracks. Calls git once per repository.

    Raises TasError if git is missing or cannot read a repository.
    """

    def __init__(self, root: str) -> None:
        self._root = Path(root)
        self._trees = tuple(work_trees(self._root))
        self._known: dict[Path, frozenset[str]] = {}

    def problem(self, path: str, real: str) -> tuple[str, str] | None:
        """Returns why the tool does not read a file, and a hint; None if the tool reads it. ``path`` leads to the file
        ``real``; both are relative to the root.
        """
        if not self._trees:
            if not any(part.startswith(".") for part in (*path.split("/"), *real.split("/"))):
                return None
            hint = "Rename it, or keep the repository in git and add the file there, if everybody may read it."
            return "no git repository says that it has this hidden file", hint
        if self._has(self._root / real):
            return None
        what = "this file" if real == path else f"the file that it leads to, {real}"
        hint = f"If everybody may read it, run: git add {real}. What is secret is not for a manifest."
        return f"git does not have {what}", hint

    def _has(self, file: Path) -> bool:
        """Whether git tracks a file in its repository, and that repository as a submodule in each enclosing one."""
        for tree in work_trees(file.parent):
            if file.relative_to(tree.top).as_posix() not in self._files(tree):
                return False
            if self._root.is_relative_to(tree.top):
                return True
            file = tree.top
        return False

    def _files(self, tree: WorkTree) -> frozenset[str]:
        if tree.top not in self._known:
            try:
                with tempfile.TemporaryDirectory(prefix="kubectl-tas-") as folder:
                    self._known[tree.top] = Git(tree, Path(folder).resolve()).tracked()
            except OSError as error:
                raise TasError(f"cannot make a temporary folder: {error.strerror}", hint="Set TMPDIR.") from error
        return self._known[tree.top]
