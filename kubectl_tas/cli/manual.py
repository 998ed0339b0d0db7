"""``kubectl tas help``, ``version``, ``rule`` and ``schema``: tell users about the tool itself.

Each command must answer at once and needs modules that the others do not, so each imports its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from kubectl_tas import __version__
from kubectl_tas.base.contract import json_fields
from kubectl_tas.cli.options import COMMAND, FOLDER, RULE, SCHEMA, output_option
from kubectl_tas.cli.terminal import hand_over, say, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubectl_tas.base.diagnostics import Rule


@click.command("help", epilog="Example: kubectl tas help pool list")
@click.argument("words", metavar="[COMMAND]...", nargs=-1, type=COMMAND)
def help_command(words: tuple[str, ...]) -> None:
    """Show the help of COMMAND; without COMMAND, list all commands."""
    context = click.get_current_context().find_root()
    for word in words:
        if not isinstance(context.command, click.Group):
            raise click.UsageError(f"{context.command_path} has no commands of its own")
        name, command, _ = context.command.resolve_command(context, [word])
        assert command is not None
        context = command.make_context(name, [], parent=context, resilient_parsing=True)
    show(f"{context.get_help()}\n")


@json_fields("version:1 tool python kai grove")
class Releases(NamedTuple):
    """The release of the tool, and the releases of KAI and Grove that it knows."""

    tool: str
    python: str
    kai: list[str]
    grove: list[str]


@json_fields("version:1 rules")
class RuleList(NamedTuple):
    """One named rule, or all rules."""

    rules: tuple[Rule, ...]


@click.command(epilog="Example: kubectl tas version -o json")
@output_option("text", "json")
def version(output: str) -> None:
    """Show the version of the tool, and the releases of KAI Scheduler and Grove that it knows."""
    import platform

    from kubectl_tas.facts import grove, kai
    from kubectl_tas.report import json, style

    schedulers = [f"{major}.{minor}.{patch}" for (major, minor), patch in sorted(kai.NEWEST_PATCHES.items())]
    operators = [release.since for release in grove.TABLE]
    if output == "json":
        hand_over(json.render(Releases(__version__, platform.python_version(), schedulers, operators)))
        return
    rows = (
        ("kubectl-tas", __version__),
        ("Python", platform.python_version()),
        ("KAI", f"{schedulers[0]} to {schedulers[-1]}"),
        ("Grove", f"{operators[0]} to {operators[-1]}"),
    )
    show(style.pairs(rows))


@click.command(epilog="Example: kubectl tas rule over-quota")
@click.argument("code", required=False, type=RULE)
@output_option("text", "json")
def rule(code: str | None, output: str) -> None:
    """Explain the rule CODE; without CODE, list all rules.

    A word that is no CODE lists the rules that have it in their text.
    """
    from kubectl_tas.base.resources import all_rules
    from kubectl_tas.base.words import did_you_mean
    from kubectl_tas.report import json, style
    from kubectl_tas.report.text import rule_page

    rules = all_rules()
    if code is not None and code not in rules:
        near = did_you_mean(code, rules)
        having = {} if near else _having(code, rules)
        rules, code = (having, None) if having else (rules, code)
    if code is not None and code not in rules:
        hint = did_you_mean(code, rules, "`kubectl tas rule` lists them")
        raise click.UsageError(f'no rule "{code}"; {hint[0].lower()}{hint[1:]}')
    if output == "json":
        hand_over(json.render(RuleList(tuple(rules.values()) if code is None else (rules[code],))))
    elif code is None:
        rows = [(item.code, item.severity.value, item.summary) for item in rules.values()]
        show(style.table(("RULE", "SEVERITY", "FIRES WHEN"), rows))
    else:
        show(rule_page(rules[code]))


def _having(words: str, rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """Returns the rules whose code or texts have all of the words."""
    found = {}
    for code, rule in rules.items():
        text = f"{code} {rule.summary} {rule.rationale}".lower()
        if all(word in text for word in words.lower().split()):
            found[code] = rule
    return found


@click.command(epilog="Example: kubectl tas schema --all .schemas")
@click.argument("kind", required=False, type=SCHEMA)
@click.option("--all", "folder", metavar="DIR", type=FOLDER, help="Write the schemas of all kinds to files in DIR.")
def schema(kind: str | None, folder: str | None) -> None:
    """Print the JSON Schema of KIND, for editors; without KIND, list the kinds.

    The kind all is one schema for every file but values files.
    """
    from kubectl_tas.base.resources import read_resource, resource_root
    from kubectl_tas.base.words import nothing_called

    names = sorted(path.stem for path in (resource_root() / "schemas").glob("*.json"))
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
    from kubectl_tas.base.resources import read_resource
    from kubectl_tas.emit.create_only import write_schemas

    written = write_schemas(folder, {f"{name}.json": read_resource(f"schemas/{name}.json") for name in names})
    for name in written:
        say(f"wrote {(folder / name).as_posix()}")
    if not written:
        say(f"All {len(names)} schemas in {folder.as_posix()} are up to date.")
