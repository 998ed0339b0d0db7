"""Makes kubectl_tas/cli/commands.json: all commands, in a form that completion reads without imports of the package."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, get_args

import click

from kubectl_tas.cli import options
from kubectl_tas.kinds import BY_NAME
from kubectl_tas.model.topology_kinds import ClusterTopology
from tools.declared import declared_rules
from tools.schemas import schema_texts


def text(contexts: Iterable[click.Context]) -> str:
    """Returns the table of all commands, from their contexts."""
    table = {
        "commands": {_path(context): _command(context) for context in contexts},
        "words": {_key(word): _word(word) for word in vars(options).values() if isinstance(word, options.Word)},
        "submissions": ["Workflow", "PodCliqueSet", "PodGroup", *BY_NAME],
        "topologies": list(get_args(ClusterTopology.model_fields["kind"].annotation)),
    }
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"


def _path(context: click.Context) -> str:
    """Returns the words of a command, without the name of the program."""
    return " ".join(context.command_path.split()[2:])


def _command(context: click.Context) -> dict[str, Any]:
    command = context.command
    params = [item for item in command.get_params(context) if not getattr(item, "hidden", False)]
    found: dict[str, Any] = {
        "options": [_option(item) for item in params if isinstance(item, click.Option)],
        "arguments": [{"takes": _takes(item), "many": item.nargs == -1} for item in params if _is_argument(item)],
    }
    if isinstance(command, click.Group):
        named = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
        found["commands"] = {name: item.get_short_help_str(100) for name, item in named if item is not None}
    return found


def _is_argument(item: click.Parameter) -> bool:
    return isinstance(item, click.Argument)


def _option(item: click.Option) -> dict[str, Any]:
    names = sorted(item.opts, key=len)
    takes = False if item.is_flag else _takes(item)
    return {"names": names, "takes": takes, "many": item.multiple, "help": item.help or ""}


def _word(word: options.Word) -> dict[str, Any]:
    values: dict[str, str] = {}
    if word is options.RULE:
        values = {code: rule.summary for code, rule in declared_rules().items()}
    elif word is options.SCHEMA:
        values = {name.removesuffix(".json"): "" for name in sorted(schema_texts())}
    return {"name": word.name, "states": word.states, "shell": word.shell, "values": values}


def _key(word: options.Word) -> str:
    return " ".join((word.name, *word.states))


def _takes(item: click.Parameter) -> str | list[str]:
    """Returns the possible values, or the key of the word that a value is; '' for free text."""
    if isinstance(item.type, click.Choice):
        return [str(choice) for choice in item.type.choices]
    if isinstance(item.type, click.Path):
        return _key(options.MANIFEST if item.type.file_okay else options.FOLDER)
    return _key(item.type) if isinstance(item.type, options.Word) else ""
