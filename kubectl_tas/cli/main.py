"""``kubectl tas``: finds the command, runs it, and turns exceptions into an exit code.

Exit codes: 0 clean, 1 problems or differences found, 2 wrong usage, 3 the tool could not do its work.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from kubectl_tas import __version__
from kubectl_tas.base.late import imported
from kubectl_tas.cli import COLOURS
from kubectl_tas.cli.options import FOLDER, CommandGroup

COMMANDS = {
    "init": ("kubectl_tas.cli.setup:init", "Write a small working repository to DIR, by default the working folder."),
    "import": ("kubectl_tas.cli.importing:import_group", "Import pools from a cluster, from Kueue or from OSMO."),
    "adopt": (
        "kubectl_tas.cli.adopt:adopt_command",
        "Write work of Kueue, Volcano, YuniKorn or KAI as this repository wants it.",
    ),
    "subpool": ("kubectl_tas.cli.subpool:subpool", "Create, change, retire and list subpools."),
    "render": ("kubectl_tas.cli.render:render", "Write the manifests of the whole repository."),
    "validate": (
        "kubectl_tas.cli.validate:validate",
        "Check every document of the repository, and all of them against each other.",
    ),
    "check": ("kubectl_tas.cli.render:check", "Check that the committed manifests are up to date."),
    "diff": ("kubectl_tas.cli.review:diff", "Show what the changes since a git revision mean."),
    "report": ("kubectl_tas.cli.review:report", "Write a static site of the repository."),
    "pool": ("kubectl_tas.cli.pool:pool", "Show, create, rename and remove pools."),
    "topology": ("kubectl_tas.cli.topology:topology", "Show topologies, and who uses them."),
    "workflow": ("kubectl_tas.cli.workflow:workflow", "List and explain work, and say why it waits."),
    "explain": (
        "kubectl_tas.cli.workflow:explain_on_top",
        "Show the queue, the admission verdict and the tree of constraints of WORK.",
    ),
    "why": ("kubectl_tas.cli.workflow:why_on_top", "Say whether WORK runs, and why it waits."),
    "admit": ("kubectl_tas.cli.admit:admit", "Check whether the queue of WORK would admit it."),
    "fit": (
        "kubectl_tas.cli.fit:fit_command",
        "Check whether the nodes have a placement for WORK, and whether KAI finds it.",
    ),
    "forecast": (
        "kubectl_tas.cli.forecast:forecast_command",
        "Say when WORK starts, and when it ends at the latest.",
    ),
    "doctor": (
        "kubectl_tas.cli.doctor:doctor",
        "Look at kubectl, the clusters and the repository, and say what to mend.",
    ),
    "cluster": ("kubectl_tas.cli.cluster:cluster", "Save the state of a cluster."),
    "nodes": ("kubectl_tas.cli.cluster:nodes", "Generate nodes to plan with."),
    "snapshot": (
        "kubectl_tas.cli.cluster:snapshot_command",
        "Write a snapshot for KAI's own snapshot tool.",
    ),
    "rule": ("kubectl_tas.cli.manual:rule", "Explain the rule CODE; without CODE, list all rules."),
    "schema": (
        "kubectl_tas.cli.manual:schema",
        "Print the JSON Schema of KIND, for editors; without KIND, list the kinds.",
    ),
    "migrate": (
        "kubectl_tas.cli.setup:migrate",
        "Write the new names of commands and options into the files that call kubectl-tas.",
    ),
    "fn": ("kubectl_tas.cli.fn:fn", "Run as a KRM function, which kustomize and kpt call."),
    "lsp": (
        "kubectl_tas.cli.servers:lsp",
        "Serve editors by the Language Server Protocol, on standard input and output.",
    ),
    "mcp": (
        "kubectl_tas.cli.servers:mcp",
        "Serve agents by the Model Context Protocol, on standard input and output: answers, and no edits.",
    ),
    "version": (
        "kubectl_tas.cli.manual:version",
        "Show the version of the tool, and the releases of KAI Scheduler and Grove that it knows.",
    ),
    "help": ("kubectl_tas.cli.manual:help_command", "Show the help of COMMAND; without COMMAND, list all commands."),
}
"""The module of each command, and the first sentence of its help."""
SECTIONS = {"init": "Write", "validate": "Review", "pool": "Ask", "doctor": "Clusters", "rule": "Tools"}
"""The headings of the list of commands, each by its first command."""
BROKEN_PIPE = 141
"""The exit code of a shell for a program that SIGPIPE ended."""


class LazyGroup(CommandGroup):
    """A group that imports a command only to run it; listing commands imports none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the commands, in the order in which a new user needs them."""
        return list(COMMANDS)

    def sections(self, ctx: click.Context) -> dict[str, list[str]]:
        """Returns the commands by heading."""
        found: dict[str, list[str]] = {}
        for name in COMMANDS:
            if name in SECTIONS:
                found[SECTIONS[name]] = own = []
            own.append(name)
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the arguments; without any, shows the help and exits 0."""
        if not args and not ctx.resilient_parsing:
            from kubectl_tas.cli.terminal import show  # only here nothing else needs it

            show(f"{ctx.get_help()}\n")
            ctx.exit()
        return super().parse_args(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Returns a stand-in for a command, with its help for lists; ``resolve_command`` returns the real command."""
        return click.Command(cmd_name, help=COMMANDS[cmd_name][1]) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Returns the command that the user calls, and its arguments."""
        args = list(_colour_first(ctx, args))
        if args[0] not in COMMANDS:
            from kubectl_tas.cli.failures import of_command  # only a slip waits for it

            if habit := of_command(args):
                raise habit
        name, command, rest = super().resolve_command(ctx, args)
        return name, load(name) if name in COMMANDS else command, rest


def _colour_first(ctx: click.Context, args: list[str]) -> Iterator[str]:
    """Takes ``--color`` out of the words behind the command, up to ``--``, as if it stood before it."""
    words = iter(args)
    for word in words:
        option, sign, value = word.partition("=")
        if option == "--color":
            value = value if sign else next(words, "")
            if value not in COLOURS:
                raise click.BadParameter(f"{value!r} is not one of {', '.join(COLOURS)}", ctx, param_hint="'--color'")
            ctx.params["color"] = value
        else:
            yield word
            if word == "--":
                yield from words


def load(name: str) -> click.Command:
    """Imports one of COMMANDS."""
    command: click.Command = imported(COMMANDS[name][0])
    return command


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="""
    Example: kubectl tas -C gpu-pools validate

    Exit codes: 0 clean, 1 problems or differences found, 2 wrong usage, 3 could not work.

    Environment: an option that you do not give takes its value from the variable in its help. NO_COLOR turns colours
    off. KUBECTL_PATH is the kubectl that reads clusters. With KUBECTL_TAS_DEBUG a bug shows its traceback.
    """,
)
@click.option(
    "-C",
    "directory",
    metavar="DIR",
    type=FOLDER,
    envvar="KUBECTL_TAS_DIRECTORY",
    show_envvar=True,
    help="The repository; by default the nearest parent with tas.yaml.",
)
@click.option(
    "--color",
    type=click.Choice(COLOURS),
    envvar="KUBECTL_TAS_COLOR",
    show_envvar=True,
    help="Colour the output for people; by default on a terminal.",
)
@click.version_option(__version__, message="kubectl-tas %(version)s")
def cli(directory: str | None, color: str | None) -> None:
    """Compile pools, subpools, topologies and workflows into KAI Scheduler manifests."""


def program_name(argument: str) -> str:
    """Returns the program's name as the user typed it: kubectl runs plugins by file name, ``kubectl-tas``."""
    name = Path(argument).name
    if name in ("__main__.py", "-m"):
        return "python -m kubectl_tas"
    return "kubectl tas" if name.startswith("kubectl-tas") else name


def run(arguments: list[str], program: str) -> int:
    """Runs one command line and returns its exit code. Raises BrokenPipeError if nobody reads the output."""
    context = None
    try:
        with cli.make_context(program, [*arguments]) as context:
            result: Any = cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as error:
        return error.exit_code
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        from kubectl_tas.cli.failures import told  # most runs do not fail

        return told(error, context, arguments)
    return result if isinstance(result, int) else 0


def main() -> None:
    """Entry point of the ``kubectl-tas`` script."""
    prepare_streams()
    try:
        code = run(sys.argv[1:], program_name(sys.argv[0]))
    except BrokenPipeError:  # whoever read our output has seen enough
        code = BROKEN_PIPE
    leave(code)


def prepare_streams() -> None:
    """Makes output UTF-8 in any locale, escapes invalid characters, and drops output to a closed stream.

    Opens the streams anew because unbuffered ones (``PYTHONUNBUFFERED``) lose the rest of a text if the system takes
    only a part.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        number = os.open(os.devnull, os.O_WRONLY) if stream is None else stream.fileno()
        opened = os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace", newline="\n", closefd=False)
        setattr(sys, name, opened)


def leave(code: int) -> NoReturn:
    """Ends the process at once: freeing all objects first would take a fifth of a small run.

    Nothing may depend on ``atexit`` or threads: a command closes everything that it opens before it returns.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # a closed pipe or a full disk, which has been dealt with
            stream.flush()
    os._exit(code)
