"""``kubectl tas``: finds the command, and turns what it raises into an exit code.

Exit codes: 0 clean, 1 problems or differences found, 2 wrong usage, 3 the tool could not do its work.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from kubectl_tas import __version__
from kubectl_tas.errors import TasError

COMMANDS = {
    "init": "kubectl_tas.cli.init:init",
    "validate": "kubectl_tas.cli.validate:validate",
    "render": "kubectl_tas.cli.render:render",
    "check": "kubectl_tas.cli.render:check",
    "pool": "kubectl_tas.cli.pool:pool",
    "topology": "kubectl_tas.cli.topology:topology",
    "workflow": "kubectl_tas.cli.workflow:workflow",
    "schema": "kubectl_tas.cli.schema:schema",
    "rule": "kubectl_tas.cli.rule:rule",
}
"""Where each command lives; imported when it is called."""


class LazyGroup(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order in which one meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        target = COMMANDS.get(cmd_name)
        if target is None:
            return None
        module, _, name = target.partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 clean, 1 problems or differences found, 2 wrong usage, 3 could not work.",
)
@click.option("-C", "directory", metavar="DIR", help="The repository; by default the nearest parent with tas.yaml.")
@click.version_option(__version__, message="kubectl-tas %(version)s")
@click.pass_context
def cli(context: click.Context, directory: str | None) -> None:
    """Compile pools, subpools, topologies and workflows into KAI Scheduler manifests."""
    context.obj = directory


def program_name(argument: str) -> str:
    """How the user called us: kubectl runs plugins by their file name, ``kubectl-tas``."""
    name = Path(argument).name
    if name in ("__main__.py", "-m"):
        return "python -m kubectl_tas"
    return "kubectl tas" if name.startswith("kubectl-tas") else name


def run(arguments: list[str], program: str) -> int:
    """Runs one command line and returns its exit code."""
    try:
        result: Any = cli.main(arguments, prog_name=program, standalone_mode=False)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except TasError as error:
        click.echo(f"error: {error.message}", err=True)
        if error.hint:
            click.echo(f"  = help: {error.hint}", err=True)
        return 3
    return result if isinstance(result, int) else 0


def main() -> None:
    """Entry point of the ``kubectl-tas`` script."""
    program = program_name(sys.argv[0])
    try:
        code = run(sys.argv[1:], program)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; keep the interpreter from flushing into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        if os.environ.get("KUBECTL_TAS_DEBUG"):
            raise
        click.echo(f"error: internal error: {type(error).__name__}: {error}", err=True)
        click.echo("  = help: This is a bug. Run again with KUBECTL_TAS_DEBUG=1 and report what it prints.", err=True)
        code = 3
    sys.exit(code)
