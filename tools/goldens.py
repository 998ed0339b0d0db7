"""Reads the cases of golden/, and lays out the repository of a case.

``python -m tools.goldens CASE FOLDER`` writes a case, for example ``rules/over-quota/fires``, with its shared parts.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "golden"
ABOUT, INDEX = "about.txt", "README.md"
SILENCE = "silence: "
GROUPS = {
    "commands": "What commands print.",
    "documents": "A document of every kind.",
    "edits": "Subpool files as people write them, before and after commands that change them.",
    "manifests": "What repositories are rendered to, with what `validate` says of them.",
    "pools": "Repositories, and what of them changes when a pool is renamed or removed.",
    "rules": "What `validate` says, by rule.",
    "versions": "What repositories are rendered to for each KAI release, or why they cannot be.",
}
"""The folders of golden/ that hold cases, and their subjects."""
LAID_OUT = ("input", "base", "manifests")
"""Folders of a case that shared folders are laid out in."""
MOST_COPIES = 5
"""Cases that may each keep the same manifest."""
_LINE = re.compile(r"# (shows|input|base|manifests): (\S.*)")


@dataclass(frozen=True)
class Case:
    """A folder with an ``about.txt``."""

    folder: Path
    shows: str
    layers: dict[str, tuple[Path, ...]]
    """Shared folders of ``input``, ``base`` and ``manifests``. Later folders overlay earlier ones."""

    @property
    def is_silent(self) -> bool:
        """Whether the case says that nothing is printed or found."""
        return self.shows.startswith(SILENCE)

    def files(self, part: str) -> dict[str, Path]:
        """Returns the files of a folder in LAID_OUT by relative path, the case's own in place of shared ones."""
        homes = (*self.layers[part], self.folder / part)
        paths = ((path.relative_to(home).as_posix(), path) for home in homes for path in sorted(home.rglob("*")))
        return {name: path for name, path in paths if path.is_file()}


def read(folder: Path, root: Path = ROOT) -> Case:
    """Reads the case in a folder. A ValueError says what is wrong with its ``about.txt``."""
    told: dict[str, str] = {}
    for line in (folder / ABOUT).read_text(encoding="utf-8").splitlines():
        match = _LINE.fullmatch(line)
        if match is None or match[1] in told:
            raise ValueError(f"{ABOUT} has the line {line!r}; write '# shows: TEXT', then '# input: FOLDER ...'")
        told[match[1]] = match[2]
    if "shows" not in told:
        raise ValueError(f"{ABOUT} has no line '# shows: TEXT'")
    layers = {part: tuple(root / name for name in told.get(part, "").split()) for part in LAID_OUT}
    for layer in (layer for group in layers.values() for layer in group):
        if not layer.is_dir():
            raise ValueError(f"{ABOUT} names {layer.relative_to(root).as_posix()}, which is no folder")
    return Case(folder, told["shows"], layers)


def find(golden: Path = GOLDEN) -> list[Path]:
    """Returns the folders of all cases, sorted."""
    return sorted(path.parent for path in golden.rglob(ABOUT))


def lay_out(case: Case, target: Path) -> Path:
    """Writes a complete case to a folder, and returns its repository, ``target/input``.
    The case's own files replace files of its shared folders.
    """
    for part, layers in case.layers.items():
        for layer in layers:
            shutil.copytree(layer, target / part, symlinks=True, dirs_exist_ok=True)
    shutil.copytree(case.folder, target, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(ABOUT))
    return target / "input"


def problems(root: Path = ROOT) -> list[str]:
    """Lists errors in the cases below ``root/golden``, each with its place and a remedy."""
    golden = root / "golden"
    folders = find(golden)
    cases, found = [], []
    for folder in folders:
        try:
            cases.append(read(folder, root))
        except ValueError as error:
            found.append(f"{_name(folder, root)}: {error}")
    used = {layer: part for case in cases for part, layers in case.layers.items() for layer in layers}
    homes = {*used, *folders}
    leading = {above for home in (golden / INDEX, *homes) for above in home.parents}
    strays = {_stray(path, leading) for path in _files(golden) if not homes & set(path.parents)}
    for folder in sorted(strays - {golden / INDEX}):
        found.append(f"{_name(folder, root)}: no case, and no case is laid over it; a case needs an {ABOUT}")
    for case in cases:
        if not case.is_silent:
            empty = [path for path in case.folder.iterdir() if path.is_file() and not path.stat().st_size]
            found += [f"{_name(path, root)}: empty; '# shows: {SILENCE}TEXT' would say so" for path in empty]
    return sorted([*found, *_written_twice(golden, used, root)])


def _stray(path: Path, leading: set[Path]) -> Path:
    """Returns the highest folder above a file, or the file itself, that leads to no case."""
    return next(step for step in reversed((path, *path.parents)) if step not in leading)


def _written_twice(golden: Path, layers: dict[Path, str], root: Path) -> Iterator[str]:
    """Yields files that two repositories, or the manifests of many, contain at the same path with the same content."""
    places = defaultdict(list)
    for path in _files(golden):
        home = next((above for above in path.parents if above.name in LAID_OUT or above in layers), None)
        if home is not None and not path.is_symlink():
            part = "manifests" if layers.get(home, home.name) == "manifests" else "input"
            places[part, path.relative_to(home), path.read_bytes()].append(path)
    for (part, *_), same in places.items():
        if len(same) > (MOST_COPIES if part == "manifests" else 1):
            names = " and ".join(_name(path, root) for path in same)
            yield (
                f"{names}: written twice; keep it in golden/shared/NAME, which '# {part}: golden/shared/NAME' lays out"
            )


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_symlink() or path.is_file())


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def index(root: Path = ROOT) -> str:
    """Returns the text of golden/README.md."""
    golden = root / "golden"
    cases = [read(folder, root) for folder in find(golden)]
    text = [_INTRODUCTION]
    for group, about in GROUPS.items():
        text += [f"\n## {group}\n\n{about}\n\n"]
        text += [_line(case, golden) for case in cases if case.folder.relative_to(golden).parts[0] == group]
    text += ["\n## shared\n\nParts of repositories that several cases have.\n\n"]
    for folder in sorted(path for path in golden.glob("shared/*") if path.is_dir()):
        names = (path.relative_to(folder).as_posix() for path in _files(folder))
        text += [f"- [{folder.name}](shared/{folder.name}): {', '.join(names)}\n"]
    return "".join(text)


def _line(case: Case, golden: Path) -> str:
    path = case.folder.relative_to(golden).as_posix()
    return f"- [{path.partition('/')[2] or path}]({path}): {case.shows}\n"


_INTRODUCTION = f"""\
# Golden cases

Each case is a folder: what goes in, and what comes out. `pytest --snapshot-update` writes what comes out; read the
diff. This page is written by `python -m tools.generate`.

A case's `{ABOUT}` says in a line what it shows, and what of its repository it shares with others:

    # shows: a gang that is larger than the quota of its pool
    # input: golden/shared/pool-research golden/shared/subpool-speech

Its repository is those folders, one laid over the other, with the case's own folder `input` on top. Where there is a
`base`, that is the repository at the revision that it is compared with, put together likewise, and so are `manifests`,
to which it is rendered; `cluster.json` is the state of the cluster. To have a case as it is tested:

    python -m tools.goldens rules/over-quota/fires /tmp/case
    kubectl tas validate -C /tmp/case/input

A case of a rule whose line begins with "{SILENCE.strip()}" is one in which nothing is found.
"""


def main(arguments: list[str]) -> int:
    """Writes a case to a folder. Returns the exit code."""
    if len(arguments) != 2 or not (GOLDEN / arguments[0] / ABOUT).is_file():
        print(f"usage: python -m tools.goldens CASE FOLDER\n\nCASE is one of {INDEX} in golden/.", file=sys.stderr)
        return 2
    print(lay_out(read(GOLDEN / arguments[0]), Path(arguments[1])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
