"""``kubectl tas init``: a small repository that works."""

from __future__ import annotations

from pathlib import Path

import click

from kubectl_tas.errors import TasError


@click.command()
@click.argument("target", metavar="[DIR]", default=".", type=click.Path(file_okay=False))
def init(target: str) -> None:
    """Write a small working repository to DIR, by default the working folder.

    It has a pool, a subpool, a workflow, a pre-commit file and a CI job. Files that are there already are
    never overwritten: where one would be, nothing is written.
    """
    from kubectl_tas.emit.write import replace
    from kubectl_tas.resources import resource_root

    scaffold, root = resource_root() / "templates" / "init", Path(target)
    names = sorted(path.relative_to(scaffold).as_posix() for path in scaffold.rglob("*") if path.is_file())
    files = {_visible(name): scaffold / name for name in names}
    taken = [name for name in files if (root / name).exists() or (root / name).is_symlink()]
    if taken:
        raise TasError(
            f"{', '.join(taken)} already exist; nothing was written"
            if len(taken) > 1
            else f"{taken[0]} already exists; nothing was written",
            hint="Choose an empty folder.",
        )
    try:
        for name, source in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            replace(str(root / name), source.read_text(encoding="utf-8"))
            click.echo(f"wrote {(root / name).as_posix()}")
    except OSError as error:
        raise TasError(f"cannot write {error.filename}: {error.strerror}", hint="Check permissions.") from error
    where = "" if target == "." else f" -C {target}"
    click.echo(f"Next: kubectl tas validate{where} && kubectl tas render{where}", err=True)


def _visible(name: str) -> str:
    """Hidden files are packed without their dot, so that no packaging tool leaves them out."""
    return f".{name.removeprefix('dot-')}" if name.startswith("dot-") else name
