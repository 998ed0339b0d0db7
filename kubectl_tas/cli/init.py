"""``kubectl tas init``: a small repository that works."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import click

from kubectl_tas.cli.options import group_directory
from kubectl_tas.cli.terminal import say
from kubectl_tas.emit.disk import Disk
from kubectl_tas.errors import TasError
from kubectl_tas.resources import resource_root


@click.command(epilog="Example: kubectl tas init gpu-pools")
@click.argument("target", metavar="[DIR]", default=".", type=click.Path(file_okay=False))
def init(target: str) -> None:
    """Write a small working repository to DIR, by default the working folder.

    It has a pool, a subpool, a workflow, a pre-commit file and a CI job. Files that are there already are
    never overwritten: where one would be, nothing is written.
    """
    scaffold, root = resource_root() / "templates" / "init", Path(group_directory() or ".") / target
    names = sorted(path.relative_to(scaffold).as_posix() for path in scaffold.rglob("*") if path.is_file())
    files = {_visible(name): scaffold / name for name in names}
    taken = _taken(root, files)
    if taken:
        verb = "exist" if len(taken) > 1 else "exists"
        message = f"{', '.join(taken)} already {verb}; nothing was written"
        raise TasError(message, hint="Choose an empty folder.")
    _copy(files, root)
    for name in files:
        say(f"wrote {(root / name).as_posix()}")
    where = "" if root == Path() else f" -C {shlex.quote(str(root))}"
    say(f"Next: kubectl tas validate{where} && kubectl tas render{where}", err=True)


def _visible(name: str) -> str:
    """Hidden files are packed without their dot, so that no packaging tool leaves them out."""
    return f".{name.removeprefix('dot-')}" if name.startswith("dot-") else name


def _taken(root: Path, names: Iterable[str]) -> list[str]:
    """What is there already: files of these names, and what is no folder where a folder must be."""
    found = []
    for name in names:
        path = root / name
        above = [root / folder for folder in PurePosixPath(name).parents if folder.name]
        found += [folder for folder in above if folder.is_symlink() or (folder.exists() and not folder.is_dir())]
        found += [path] if path.exists() or path.is_symlink() else []
    return list(dict.fromkeys(path.relative_to(root).as_posix() for path in found))


def _copy(files: dict[str, Path], root: Path) -> None:
    """Writes every file, or none: those that came before a failure are removed again."""
    contents = {name: source.read_bytes() for name, source in files.items()}
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _failed(root, error) from error
    with Disk(root) as disk:
        for count, (name, content) in enumerate(contents.items()):
            try:
                if disk.status(name) is not None:
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
                disk.replace(name, content)
            except OSError as error:
                for earlier in list(contents)[:count]:
                    disk.remove(earlier)
                raise _failed(root / name, error) from error


def _failed(path: Path, error: OSError) -> TasError:
    message = f"cannot write {path}: {error.strerror}; nothing was written"
    return TasError(message, hint="Check permissions and free space.")
