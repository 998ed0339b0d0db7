"""``kubectl tas init``: a small repository that works."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from kubectl_tas.cli.options import group_directory
from kubectl_tas.cli.terminal import say
from kubectl_tas.emit.fresh import write_new
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
    write_new(root, {name: source.read_bytes() for name, source in files.items()})
    for name in files:
        say(f"wrote {(root / name).as_posix()}")
    where = "" if root == Path() else f" -C {shlex.quote(str(root))}"
    say(f"Next: kubectl tas validate{where} && kubectl tas render{where}", err=True)


def _visible(name: str) -> str:
    """Hidden files are packed without their dot, so that no packaging tool leaves them out."""
    return f".{name.removeprefix('dot-')}" if name.startswith("dot-") else name
