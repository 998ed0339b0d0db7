"""Which files git has: those that everybody who has the repository may read, and that are the same for all of them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kubectl_tas.errors import TasError
from kubectl_tas.load.git import Git, WorkTree, work_trees


class Tracked:
    """What git has of the files below ``root``, a real path. git is asked once for each of its repositories.

    Raises TasError where git is missing or cannot read one.
    """

    def __init__(self, root: str) -> None:
        self._root = Path(root)
        self._trees = tuple(work_trees(self._root))
        self._known: dict[Path, frozenset[str]] = {}

    def problem(self, path: str, real: str) -> tuple[str, str] | None:
        """Why a file is not read, and how to mend that: ``path`` leads to the file ``real``, both relative to the root.
        None: it is read.
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
        """Whether the repository that a file lies in has it, and each one around that has it as a submodule."""
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
