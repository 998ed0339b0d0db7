"""Where files come from: one revision of a git repository. Neither the work tree nor the index is touched."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kubectl_tas import process
from kubectl_tas.diagnostics import Diagnostic, Location, Rule
from kubectl_tas.errors import TasError
from kubectl_tas.load.source import (
    CONFIG_FILE,
    FILE_NOT_REGULAR,
    FILE_OUTSIDE_REPOSITORY,
    FILE_TOO_LARGE,
    MAX_BYTES,
    SUFFIXES,
    RawFile,
)

_LINK, _SUBMODULE = "120000", "160000"
_OF_HOOKS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_INDEX_FILE")
"""Variables that git sets for its hooks: paths relative to a folder that need not be the root."""
_MAX_LINKS = 40
"""Links that are followed one after another before a chain counts as a loop."""


@dataclass(frozen=True, slots=True)
class _Blob:
    """A file of a revision."""

    mode: str
    name: str
    """Its object name."""


class GitSource:
    """The files below ``root`` as they were at ``revision``.

    Raises TasError where git is missing, ``root`` is in no git repository, or ``revision`` is unknown.
    """

    def __init__(self, root: Path, revision: str) -> None:
        self.root = root
        self.commit = self._commit(revision)
        """Full name of the commit."""
        self._blobs = self._tree()
        self._contents: dict[str, bytes] = {}
        self._folders = {str(parent) for path in self._blobs for parent in Path(path).parents}

    def config(self) -> RawFile | None:
        """``tas.yaml``, where there is one."""
        return self._read(CONFIG_FILE) if CONFIG_FILE in self._blobs else None

    def has_folder(self, folder: str) -> bool:
        """Whether ``folder``, relative to the root, exists."""
        path = self._resolved(folder)
        return path is not None and path in self._folders

    def files(self, folders: Sequence[str], *, exclude: str) -> tuple[RawFile, ...]:
        """All manifests below ``folders``, sorted by path; nothing below ``exclude`` or in hidden folders."""
        wanted: dict[str, None] = {}
        for folder in folders:
            for path in self._walk(posixpath.normpath(folder), exclude=exclude, above=()):
                if path != CONFIG_FILE:
                    wanted[path] = None
        self._fetch(wanted)
        return tuple(self._read(path) for path in sorted(wanted))

    def _walk(self, folder: str, *, exclude: str, above: tuple[str, ...]) -> Iterator[str]:
        """Paths below ``folder``, through links to folders too."""
        real = self._resolved(folder)
        if real is None or real in above or real not in self._folders:
            return
        prefix = "" if real == "." else f"{real}/"
        for path in self._blobs:
            if not path.startswith(prefix):
                continue
            below = path.removeprefix(prefix)
            shown = below if folder == "." else f"{folder}/{below}"
            hidden = any(part.startswith(".") for part in below.split("/"))
            if hidden or shown == exclude or shown.startswith(f"{exclude}/"):
                continue
            target = self._resolved(shown) if self._blobs[path].mode == _LINK else None
            if target is not None and target in self._folders:
                yield from self._walk(shown, exclude=exclude, above=(*above, real))
            elif shown.endswith(SUFFIXES):
                yield shown

    def _read(self, path: str) -> RawFile:
        real = self._resolved(path)
        if real is None:
            message, hint = "this symbolic link leads out of the repository", "Copy what it points at."
            return self._problem(path, FILE_OUTSIDE_REPOSITORY, message, hint)
        blob = self._blobs.get(real)
        if blob is None or blob.mode in (_LINK, _SUBMODULE):
            return self._problem(path, FILE_NOT_REGULAR, "not a plain file", "Replace it by a plain file.")
        content = self._content(blob)
        if len(content) > MAX_BYTES:
            size = len(content) / (1024 * 1024)
            message = f"the file has {size:.0f} MiB; at most 4 MiB are read"
            return self._problem(path, FILE_TOO_LARGE, message, "Split the file.")
        return RawFile(path, content)

    @staticmethod
    def _problem(path: str, rule: Rule, message: str, hint: str) -> RawFile:
        return RawFile(path, b"", Diagnostic(rule, message, Location(path), hint=hint))

    def _resolved(self, path: str) -> str | None:
        """Where ``path`` leads once links are followed; None where that is outside of the root."""
        path = posixpath.normpath(path)
        for _ in range(_MAX_LINKS):
            link = self._link_in(path)
            if link is None:
                return path
            target = self._content(self._blobs[link]).decode("utf-8", "surrogateescape")
            path = posixpath.normpath(posixpath.join(posixpath.dirname(link), target, path[len(link) + 1 :]))
            if path.startswith(("/", "../")) or path == "..":
                return None
        return path

    def _link_in(self, path: str) -> str | None:
        """The first part of ``path`` that is a link."""
        parts = path.split("/")
        heads = ("/".join(parts[: number + 1]) for number in range(len(parts)))
        return next((head for head in heads if head in self._blobs and self._blobs[head].mode == _LINK), None)

    def _fetch(self, paths: Sequence[str] | dict[str, None]) -> None:
        """Reads all these files with one call of git."""
        real = (self._resolved(path) for path in paths)
        blobs = [self._blobs[path] for path in real if path is not None and path in self._blobs]
        names = [blob.name for blob in blobs if blob.mode != _SUBMODULE and blob.name not in self._contents]
        if not names:
            return
        out = self._git("cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode()).out
        at = 0
        for name in names:
            end = out.index(b"\n", at)
            _, kind, size = out[at:end].decode().split(" ") if out[at:end].count(b" ") == 2 else ("", "", "0")
            if kind != "blob":
                raise TasError(
                    f"git lacks the content of {name}",
                    hint="The clone is partial; fetch the whole history with: git fetch --refetch",
                )
            self._contents[name] = out[end + 1 : end + 1 + int(size)]
            at = end + 1 + int(size) + 1

    def _content(self, blob: _Blob) -> bytes:
        if blob.name not in self._contents:
            self._contents[blob.name] = self._git("cat-file", "blob", blob.name).out
        return self._contents[blob.name]

    def _tree(self) -> dict[str, _Blob]:
        """Every file below the root, by path relative to it, sorted."""
        prefix = _line(self._git("rev-parse", "--show-prefix"))
        out = self._git("ls-tree", "-r", "-z", "--full-tree", self.commit, "--", prefix or ".").out
        blobs: dict[str, _Blob] = {}
        for entry in out.split(b"\0"):
            if entry:
                head, _, path = entry.decode("utf-8", "surrogateescape").partition("\t")
                mode, _, name = head.split()
                blobs[path.removeprefix(prefix)] = _Blob(mode, name)
        return dict(sorted(blobs.items()))

    def _commit(self, revision: str) -> str:
        inside = self._run("rev-parse", "--is-inside-work-tree")
        if inside.code:
            reason = inside.err.splitlines()[0] if inside.err else "git fails"
            raise TasError(f"{self.root} is in no git repository that can be read: {reason}")
        found = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        if found.code == 0:
            return _line(found)
        shallow = _line(self._run("rev-parse", "--is-shallow-repository")) == "true"
        hint = (
            "This clone is shallow, so the revision may only be missing here. Fetch it with: git fetch --unshallow"
            if shallow
            else "Name a commit, a branch or a tag. A branch of the remote is written origin/NAME."
        )
        raise TasError(f'git knows no revision "{revision}"', hint=hint)

    def _git(self, *arguments: str, stdin: bytes = b"") -> process.Finished:
        done = self._run(*arguments, stdin=stdin)
        if done.code:
            raise TasError(f"git {arguments[0]} failed: {done.err}")
        return done

    def _run(self, *arguments: str, stdin: bytes = b"") -> process.Finished:
        # Optional locks would let git refresh the index, which is the user's.
        command = ["git", "--no-optional-locks", "-C", str(self.root), *arguments]
        return process.run(command, stdin=stdin, without=_OF_HOOKS)


def _line(done: process.Finished) -> str:
    """The one line that git printed."""
    return done.out.decode("utf-8", "surrogateescape").rstrip("\n")
