"""``kubectl tas schema``."""

from __future__ import annotations

from pathlib import Path

import click

from kubectl_tas.cli.options import FOLDER, SCHEMA
from kubectl_tas.cli.terminal import hand_over, say, show
from kubectl_tas.resources import read_resource, resource_root
from kubectl_tas.words import nothing_called


def _names() -> list[str]:
    """The kinds that have a JSON Schema, and the one of all that people write."""
    return sorted(path.stem for path in (resource_root() / "schemas").glob("*.json"))


@click.command(epilog="Example: kubectl tas schema --all .schemas")
@click.argument("kind", required=False, type=SCHEMA)
@click.option("--all", "folder", metavar="DIR", type=FOLDER, help="Write the schemas of all kinds to files in DIR.")
def schema(kind: str | None, folder: str | None) -> None:
    """Print the JSON Schema of KIND, for editors; without KIND, list the kinds.

    The kind all is one schema for whatever may stand in a file, but values files. With --all each is written to DIR, as
    KIND.json. Files of these names are replaced if kubectl-tas wrote them; if it did not, nothing is written.
    """
    names = _names()
    if folder is not None:
        if kind is not None:
            raise click.UsageError("--all writes every kind; leave KIND out")
        _write(Path(folder), names)
    elif kind is None:
        show("".join(f"{name}\n" for name in names))
    elif kind.lower() not in names:
        raise click.UsageError(nothing_called("schema for", kind.lower(), names))
    else:
        hand_over(read_resource(f"schemas/{kind.lower()}.json"))


def _write(folder: Path, names: list[str]) -> None:
    from kubectl_tas.emit.schemas import write_schemas  # only this needs the models

    written = write_schemas(folder, {f"{name}.json": read_resource(f"schemas/{name}.json") for name in names})
    for name in written:
        say(f"wrote {(folder / name).as_posix()}")
    if not written:
        say(f"All {len(names)} schemas in {folder.as_posix()} are as they are written.")
