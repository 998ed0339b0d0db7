"""``kubectl tas schema``."""

from __future__ import annotations

import click

from kubectl_tas.cli.terminal import hand_over, show
from kubectl_tas.cli.wordtypes import SCHEMA
from kubectl_tas.resources import read_resource, resource_root
from kubectl_tas.words import nothing_called


def _names() -> list[str]:
    """The kinds that have a JSON Schema."""
    return sorted(path.stem for path in (resource_root() / "schemas").glob("*.json"))


@click.command(epilog="Example: kubectl tas schema pool")
@click.argument("kind", required=False, type=SCHEMA)
def schema(kind: str | None) -> None:
    """Print the JSON Schema of KIND, for editors; without KIND, list the kinds."""
    names = _names()
    if kind is None:
        show("".join(f"{name}\n" for name in names))
        return
    if kind.lower() not in names:
        raise click.UsageError(nothing_called("schema for", kind.lower(), names))
    hand_over(read_resource(f"schemas/{kind.lower()}.json"))
