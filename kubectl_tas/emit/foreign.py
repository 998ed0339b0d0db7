"""Finds files in or above the output folder that kubectl-tas did not write and that GitOps tools may read.

File names come from the sources of these tools: ``mergeSourceParameters``, ``manifestFile`` and ``Discover`` of Argo CD
3.6 (``reposerver/repository/repository.go``, ``util/app/discovery/discovery.go``); ``LoadIgnorePatterns`` and
``findOrGenerateKustomization`` of fluxcd/pkg (``sourceignore`` 0.9, ``kustomize``), used by Flux's source-controller
and kustomize-controller; and ``RecognizedKustomizationFileNames`` of kustomize 5.8.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Literal

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity, Waiving
from kubectl_tas.base.folders import (
    GIT_ATTRIBUTES,
    GIT_MODULES,
    MAX_DEPTH,
    SOURCE_IGNORE,
    is_below,
    is_git,
    is_hidden,
    is_matched,
    misspelled,
    too_deep,
)
from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.base.words import shortened
from kubectl_tas.emit.attributes import (
    OTHER_BYTES,
    REVIEW_HIDDEN,
    UNREAD,
    Target,
    settings_of_git,
    treated,
)
from kubectl_tas.emit.disk import KUSTOMIZATION, MARK, TEMPORARY, unreadable
from kubectl_tas.model.config import ConfigSpec

OUTPUT_FOREIGN = Rule(
    "output-foreign",
    Severity.ERROR,
    "A file in or above the output folder changes what a GitOps tool applies.",
    "Such a file changes what reaches the cluster. Argo CD merges .argocd-source.yaml over its Application, Flux "
    "leaves out what .sourceignore names, kustomize refuses a folder with two kustomizations, and a manifest that "
    "`render` did not write is applied with the others. Remove the file. If a file is there on purpose, list it in "
    "spec.outputKeeps of the Config. Text such as README.md is no finding.",
    protects=Waiving.CONFIG,
)
OUTPUT_MOVED = Rule(
    "output-moved",
    Severity.ERROR,
    "The output folder has changed, and files are left in the old one.",
    "Argo CD and Flux apply the old folder until you point them at the new one. No command checks the files there any "
    "more, so whoever edits them changes the cluster unseen. Remove the old folder in the same change.",
    protects=Waiving.CONFIG,
)
_GITIGNORE = ".gitignore"
_READ = {
    ".argocd-source*.yaml": "Argo CD merges it over the source of its Application, patches included",
    SOURCE_IGNORE: "Flux leaves out the files that it names",
    "kustomization.yml": "kustomize refuses a folder with two kustomizations, so nothing is applied any more",
    "Kustomization": "kustomize refuses a folder with two kustomizations, so nothing is applied any more",
    KUSTOMIZATION: "kustomize builds this folder by it, for Argo CD, Flux and kubectl",
    "*Chart.yaml": "Argo CD takes its folder for a Helm chart",
    "*.jsonnet": "Argo CD runs it and applies the result",
    "*.libsonnet": "Argo CD runs it with the Jsonnet files that import it",
    GIT_MODULES: "Argo CD fills a folder of the output from another repository",
    GIT_ATTRIBUTES: "git checks a manifest out with other bytes than the commit has, and Flux reads the commit",
}
"""Names of files that GitOps tools read, with the effect."""
_MANIFEST = "a tool that applies all of the folder applies it too"
_EXTRA = "it begins as one, but no kustomization that kubectl-tas wrote lists it"
_PREVIEWS = late_pattern(r"preview/(?:[^/]+/)*pod(?:group|gang)-[^/]*\.yaml")
"""Path of a preview, which kubectl-tas writes in addition to the applied manifests."""
_UNKNOWN = "a plugin of Argo CD may read a file of this name"
_HARMLESS_NAMES = frozenset(
    {
        *("README", "LICENSE", "NOTICE", "OWNERS", "OWNERS_ALIASES", "CODEOWNERS"),
        *(".gitignore", ".gitkeep", ".keep", ".editorconfig", ".DS_Store"),
    }
)
_HARMLESS_SUFFIXES = (
    *(".md", ".txt", ".rst", ".adoc", ".png", ".svg", ".jpg", ".jpeg", ".gif"),
    *("~", ".swp", ".orig", ".rej", ".bak", TEMPORARY),
)
"""Endings of files that people and editors leave in folders, and that no GitOps tool reads."""
_MANIFESTS = (".yaml", ".yml", ".json")
_MANIFESTS_OF_OUTPUT = "manifests"
_MAX_LISTED = 5
_OF_ROOT = ("tas.yaml", "requirements-tas.txt")
_OF_CHECKOUT = (
    *(".gitlab-ci.yml", ".pre-commit-config.yaml", "CODEOWNERS", "docs/CODEOWNERS"),
    *(GIT_MODULES, GIT_ATTRIBUTES),
)
_FOLDERS_OF_CHECKOUT = (".github", ".gitlab")
"""Files at the root and at the top of the checkout that affect other teams, and folders with such files."""
_NOT_LISTED = ("/.", "\n- .", "ustomization", "Chart.yaml", ".yml", "sonnet")
"""Texts that no name in a kustomization of kubectl-tas contains. If one is found, each file is checked."""
_MODULE_PATH = late_pattern(r"\bpath\s*=([^\n#;]*)", re.IGNORECASE)
_CONTENTS = late_pattern(r"/\*{0,2}$")
_MARK = MARK.encode()


@dataclass(frozen=True, slots=True)
class Foreign:
    """A file that kubectl-tas did not write."""

    path: str
    """Path relative to the repository root. It may begin with ``..``."""
    effect: str
    """Effect of the file."""
    is_read: bool = True
    """Whether a GitOps tool reads the file by its name, or might."""
    rule: Rule = OUTPUT_FOREIGN
    location: Location | None = None
    """The line with the effect; None: the file as a whole."""


def foreign(root: Path, config: ConfigSpec, unchanged_folders: Collection[str] = ()) -> tuple[Foreign, ...]:
    """Returns all files that may do harm, by path; nothing for a refused output. Raises TasError if one is unreadable.

    ``unchanged_folders`` are known to contain only rendered files and files that a kustomization lists.
    """
    output = config.output
    if misspelled(output) or is_hidden(output) or any(_is_within(folder, output) for folder in (".", *config.sources)):
        return ()
    real = os.path.realpath(root / output)
    foreign_files = [*_above(root, real)]
    attributes: list[Path] = []
    if os.path.isdir(real):  # noqa: PTH112 - a string that realpath made
        for name, dir_entry, is_extra in _files(real, output, listed=False, unchanged_folders=unchanged_folders):
            if dir_entry.name == GIT_ATTRIBUTES and dir_entry.is_file(follow_symlinks=False):
                attributes.append(Path(dir_entry.path))
            elif foreign_file := _judged(name, dir_entry, is_extra=is_extra):
                foreign_files.append(foreign_file)
    foreign_files += _by_attributes(root, config, Path(real), attributes)
    return tuple(sorted(foreign_files, key=lambda foreign_file: foreign_file.path))


def check_output(
    foreign_files: Iterable[Foreign], config: ConfigSpec, base: tuple[str, ConfigSpec] | None = None
) -> Iterator[Diagnostic]:
    """Yields a finding for each file that the Config, or with ``base`` the Config of that revision, does not keep."""
    revision, deciding = base or ("", config)
    for foreign_file in foreign_files:
        if is_kept(foreign_file, deciding.outputKeeps):
            continue
        hint = "Remove it, or name it in spec.outputKeeps of the Config."
        if is_kept(foreign_file, config.outputKeeps):
            hint = f"Remove it. spec.outputKeeps counts as it is at {revision}."
        message = f"kubectl-tas did not write this file: {foreign_file.effect}"
        if foreign_file.rule is REVIEW_HIDDEN:
            message = foreign_file.effect
            hint = hint.replace("Remove it", "Remove the attribute").replace("name it", f"name the {GIT_ATTRIBUTES}")
        cause = None if foreign_file.is_read else Location(foreign_file.path.rpartition("/")[0])
        location = foreign_file.location or Location(foreign_file.path)
        yield Diagnostic(foreign_file.rule, message, location, hint=hint, cause=cause)


def is_kept(foreign_file: Foreign, keeps: Sequence[str]) -> bool:
    """Whether a Config keeps a file: by its full path, or by a pattern if no tool reads the name."""
    return foreign_file.path in keeps or (not foreign_file.is_read and is_matched(foreign_file.path, keeps))


def left_behind(
    root: Path, before: ConfigSpec, config: ConfigSpec, location: Location | None, revision: str
) -> Iterator[Diagnostic]:
    """Yields a finding at ``location`` if the output folder has changed since a revision, and the old one has files."""
    old, new = before.output, config.output
    if _is_within(old, new) or any(misspelled(folder) or is_hidden(folder) for folder in (old, new)):
        return
    real, skipped = os.path.realpath(root / old), os.path.realpath(root / new)
    if not is_below(real, os.path.realpath(root)) or not os.path.isdir(real):  # noqa: PTH112
        return
    remaining = [path for path, dir_entry, _ in _files(real, old, listed=True) if not is_below(dir_entry.path, skipped)]
    paths = sorted(path for path in remaining if not _is_harmless(path.rpartition("/")[2]))
    if paths:
        files = "1 file is" if len(paths) == 1 else f"{len(paths)} files are"
        message = (
            f'the output goes from "{old}" to "{new}" since {revision}, and {files} left in "{old}", which Argo CD and '
            "Flux may still apply"
        )
        related = tuple(Related("stale", Location(path)) for path in paths[:_MAX_LISTED])
        hint = f"Remove {old}, and point Argo CD or Flux at {new}."
        yield Diagnostic(OUTPUT_MOVED, message, location, related, hint=hint)


@json_fields("path change=kind why=effect")
@dataclass(frozen=True, slots=True)
class FileBeside:
    """A file that kubectl-tas did not write, and that changes what is applied."""

    path: str
    kind: Literal["made", "changed", "dropped"] | None
    """Change of a file that the Config keeps; None: the Config does not keep the file."""
    effect: str


def kept_changes(
    root: Path, foreign_files: Iterable[Foreign], keeps: Sequence[str], before: Mapping[str, bytes]
) -> Iterator[FileBeside]:
    """Yields changes since ``before`` of files that ``keeps`` names. Raises TasError if one cannot be read."""
    effects = {foreign_file.path: foreign_file.effect for foreign_file in foreign_files if is_kept(foreign_file, keeps)}
    for path in sorted({*effects, *before}):
        name = path.rpartition("/")[2]
        if path in effects:
            if path not in before or before[path] != _content(root / path):
                yield FileBeside(path, "changed" if path in before else "made", effects[path])
        elif not os.path.lexists(root / path) and not _is_harmless(name) and not before[path].startswith(_MARK):
            yield FileBeside(path, "dropped", _effect(name) or _MANIFEST)


def _content(path: Path) -> bytes:
    """Returns the content of a file, the target of a link as in git, or nothing for anything else."""
    try:
        if path.is_symlink():
            return os.fsencode(path.readlink())
        return path.read_bytes() if path.is_file() else b""
    except OSError as error:
        raise unreadable(str(path), error) from error


def _is_within(folder: str, above: str) -> bool:
    return PurePosixPath(folder).is_relative_to(above)


def _above(root: Path, real: str) -> Iterator[Foreign]:
    """Yields files in the folders above the output, up to the git repository's folder, or else up to ``root``."""
    real_root = os.path.realpath(root)
    for folder in Path(real).parents:
        below = Path(real).relative_to(folder).parts
        for name, matters in _ABOVE.items():
            path = folder / name
            if os.path.lexists(path) and matters(path, below):
                yield Foreign(Path(os.path.relpath(path, real_root)).as_posix(), _READ[name])
        if folder == checkout_of(real_root):
            return


def ignored_by(root: Path, output: str) -> Location | None:
    """Returns the line of a ``.gitignore`` that makes git leave out the output folder; None if no line does."""
    real = Path(os.path.realpath(root))
    top, folder, found = checkout_of(str(real)), real / output, None
    for above in (*(path for path in folder.parents[::-1] if path.is_relative_to(top)),):
        file, below = above / _GITIGNORE, folder.relative_to(above).as_posix()
        rows = (settings_of_git(file) or "").splitlines() if file.is_file() else []
        for number, row in enumerate(rows, 1):
            pattern = _CONTENTS.sub("", row.strip().removeprefix("!"))
            parts = [below] if "/" in pattern else below.split("/")
            if pattern and not row.startswith("#") and any(fnmatchcase(part, pattern.lstrip("/")) for part in parts):
                path = Path(os.path.relpath(file, real)).as_posix()
                found = None if row.startswith("!") else Location(path, number, 1, row, len(row))
    return found


def checkout_of(real_root: str) -> Path:
    """Returns the folder of the git repository around the root. A submodule (.git is a file) lies in another one."""
    checkout = Path(real_root)
    for folder in (checkout, *checkout.parents):
        if os.path.lexists(folder / ".git"):
            checkout = folder
            if os.path.isdir(folder / ".git"):  # noqa: PTH112 - pathlib raises for parents that may not be searched
                break
    return checkout


def _files(
    real: str, output: str, *, listed: bool, unchanged_folders: Collection[str] = ()
) -> Iterator[tuple[str, os.DirEntry[str], bool]]:
    """Yields everything except plain folders, also from hidden folders: the path from the repository root, the entry,
    and whether it is extra. A file is extra if no kustomization of kubectl-tas in its folder or above lists it. Without
    ``listed``, skips files in such a kustomization, which ``check`` compares, and ``unchanged_folders`` below it.
    """
    listing: frozenset[str] | None = None
    waiting = [(real, 0, len(real) + 1, frozenset[str](), listing)]
    while waiting:
        folder, depth, start, listed_paths, listing = waiting.pop()
        if depth > MAX_DEPTH:
            raise too_deep(output + folder[len(real) :])
        unlisted, folders = [], []
        try:
            with os.scandir(folder) as scanned:
                for dir_entry in scanned:
                    if dir_entry.is_file(follow_symlinks=False):
                        if dir_entry.path[start:] not in listed_paths:
                            unlisted.append(dir_entry)
                    elif dir_entry.is_dir(follow_symlinks=False) and not is_git(dir_entry.name):
                        folders.append(dir_entry.path)
                    else:
                        unlisted.append(dir_entry)
        except FileNotFoundError:  # another process has removed it meanwhile
            continue
        except OSError as error:
            raise unreadable(f"the folder {output}{folder[len(real) :]}", error) from error
        kustomization = next((candidate for candidate in unlisted if candidate.name == KUSTOMIZATION), None)
        if kustomization is not None and not listed and listing is None:
            start, (listed_paths, listing) = len(folder) + 1, _resources(kustomization)
            unlisted = [each for each in unlisted if each.path[start:] not in listed_paths or each.is_symlink()]
        if listed_paths:
            folders = [path for path in folders if _in_output(path, real, output) not in unchanged_folders]
        waiting += ((path, depth + 1, start, listed_paths, listing) for path in folders)
        for dir_entry in unlisted:
            path = dir_entry.path[start:]
            is_listed = listing is None or path in listing or path == KUSTOMIZATION
            is_extra = not is_listed and not _PREVIEWS.fullmatch(path)
            yield _in_output(dir_entry.path, real, output), dir_entry, is_extra


def _in_output(path: str, real: str, output: str) -> str:
    """Returns a path in the output folder, whose real path is ``real``, as seen from the repository root."""
    return output + path[len(real) :].replace(os.sep, "/")


def _resources(dir_entry: os.DirEntry[str]) -> tuple[frozenset[str], frozenset[str] | None]:
    """Returns listed files to skip (none if a tool reads one by name), and all listed files (None if not generated)."""
    text = os.fsdecode(_content(Path(dir_entry.path))).replace("\r\n", "\n")  # of git's core.autocrlf
    body = f"\n{text.partition('resources:')[2].strip()}"
    if not text.startswith(MARK):
        return frozenset(), None
    listing = frozenset(body.split("\n- "))
    return frozenset() if any(word in body for word in _NOT_LISTED) else listing, listing


def _judged(path: str, dir_entry: os.DirEntry[str], *, is_extra: bool) -> Foreign | None:
    """Returns the finding for a file; None if generated or harmless. ``is_extra``: no kustomization lists the file."""
    name = dir_entry.name
    if is_git(name):
        return Foreign(path, "its folder is another repository, which git and Argo CD may fill with other content")
    if dir_entry.is_symlink():
        return Foreign(path, "it is a symbolic link, which tools follow or leave out")
    if not dir_entry.is_file(follow_symlinks=False):
        return Foreign(path, "it is no plain file")
    if _is_harmless(name):
        return None
    effect = _effect(name)
    if effect is not None and name != KUSTOMIZATION:
        return Foreign(path, effect)
    if name.endswith(".yaml") and _is_ours(dir_entry.path, path):
        return Foreign(path, _EXTRA, is_read=False) if is_extra else None
    if effect is not None:
        return Foreign(path, effect)
    is_manifest = name.lower().endswith(_MANIFESTS)
    return Foreign(path, _MANIFEST if is_manifest else _UNKNOWN, is_read=not is_manifest or name.startswith("."))


def _effect(name: str) -> str | None:
    return next((effect for form, effect in _READ.items() if fnmatchcase(name, form)), None)


def _is_harmless(name: str) -> bool:
    return name in _HARMLESS_NAMES or name.endswith(_HARMLESS_SUFFIXES)


def _is_ours(file: str, path: str) -> bool:
    """Whether a file begins like files of kubectl-tas, or is gone. ``check`` tests whether it is as rendered."""
    try:
        number = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        try:
            return os.read(number, len(_MARK)) == _MARK
        finally:
            os.close(number)
    except FileNotFoundError:  # another process has removed it meanwhile
        return True
    except OSError as error:
        raise unreadable(path, error) from error


def _fills_output(file: Path, below: Sequence[str]) -> bool:
    """Whether a ``.gitmodules`` names the output folder, reached by ``below``, or a folder in it."""
    text = settings_of_git(file)
    if text is None:
        return True
    plain = text.replace("\\\n", "").replace('"', "").replace("\\", "")
    paths = (posixpath.normpath(module_path.strip()).split("/") for module_path in _MODULE_PATH.findall(plain))
    return any(len(path) >= len(below) and path[: len(below)] == list(below) for path in paths)


def _by_attributes(root: Path, config: ConfigSpec, output: Path, inside: Sequence[Path]) -> Iterator[Foreign]:
    """Yields what each ``.gitattributes`` does to manifests, to files of admins, and to what decides about CI.

    ``inside`` are the ones in the folder ``output``, a real path.
    """
    real = Path(os.path.realpath(root))
    top = checkout_of(str(real))
    folders = [(real, name) for name in config.adminSources] + [(top, name) for name in _FOLDERS_OF_CHECKOUT]
    files = [(real, name) for name in _OF_ROOT] + [(top, name) for name in _OF_CHECKOUT]
    folder_paths = [(name, Path(os.path.realpath(at / name))) for at, name in folders if (at / name).is_dir()]
    targets = [Target(_MANIFESTS_OF_OUTPUT, output), *(Target(f"files in {name}", path) for name, path in folder_paths)]
    targets += [Target(name, (at / name).parent, Path(name).name) for at, name in files if (at / name).is_file()]
    changing: set[str] = set()
    for line in treated(top, targets, {_MANIFESTS_OF_OUTPUT: inside}):
        path = Path(os.path.relpath(line.file, real)).as_posix()
        if _MANIFESTS_OF_OUTPUT in line.targets and line.effect in (OTHER_BYTES, UNREAD):
            if path not in changing:
                yield Foreign(path, _READ[GIT_ATTRIBUTES])
            changing.add(path)
            continue
        words = f"{line.attribute} counts for {shortened(line.targets)}: {line.effect}"
        text, number = (line.row.text, line.row.number) if line.row else ("", 0)
        location = Location(path, number, text.find(line.attribute) + 1, text, len(line.attribute)) if number else None
        yield Foreign(path, words, rule=REVIEW_HIDDEN, location=location)


_ABOVE: dict[str, Callable[[Path, Sequence[str]], bool]] = {
    SOURCE_IGNORE: lambda _file, _below: True,
    GIT_MODULES: _fills_output,
}
"""Files in folders above the output, with a test whether they affect the output."""
