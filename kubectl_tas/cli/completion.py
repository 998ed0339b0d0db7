"""What can be completed beyond commands and options: the names in the repository."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from kubectl_tas.errors import TasError

if TYPE_CHECKING:
    from kubectl_tas.resolve.fleet import Fleet


def schema_names(start: str) -> list[str]:
    """The kinds that have a JSON Schema."""
    from kubectl_tas.folders import resource_root

    names = sorted(path.stem for path in (resource_root() / "schemas").glob("*.json"))
    return [name for name in names if name.startswith(start.lower())]


def rule_codes(start: str) -> list[str]:
    """The codes of all rules."""
    from kubectl_tas.cli.rule import all_rules

    return [rule.code for rule in all_rules() if rule.code.startswith(start)]


def from_fleet(
    names: Callable[[Fleet], list[str]],
) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Completion by names that the repository declares; none where it cannot be read."""

    def complete(context: click.Context, parameter: click.Parameter, start: str) -> list[str]:
        from kubectl_tas.cli.session import open_session

        try:
            with context.scope(cleanup=False):
                fleet = open_session(context.params.get("directory")).fleet
        except TasError:  # completion has nobody to tell; the command itself will say what is wrong
            return []
        return [name for name in names(fleet) if name.startswith(start)]

    return complete


def pool_names(fleet: Fleet) -> list[str]:
    """Pools and subpools."""
    return [name for pool in fleet.pools for name in (pool.name, *(s.canonical for s in pool.subpools))]


def workflow_names(fleet: Fleet) -> list[str]:
    """Workflows and workloads."""
    return [item.name for item in fleet.submissions]


def topology_names(fleet: Fleet) -> list[str]:
    """Topologies."""
    return [topology.name for topology in fleet.topologies]


def backend_names(fleet: Fleet) -> list[str]:
    """Backends."""
    return [backend.name for backend in fleet.backends]
