"""Builds command lines: groups of commands, options that several commands share, and types of words. Also handles old
names, which work for one release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from kubectl_tas.base.late import imported

if TYPE_CHECKING:
    from kubectl_tas.model.config import Setting
    from kubectl_tas.model.pool_kinds import SubpoolState


Offered = Literal["", "files", "manifests", "folders"]


class Word(click.ParamType):  # type: ignore[type-arg]
    """A word of any text; ``cli/complete.py`` finds its possible values by its name, and by the states of subpools."""

    def __init__(
        self, name: str, *states: SubpoolState, shell: Literal["", "files", "manifests", "folders"] = ""
    ) -> None:
        self.name = name
        self.states = states
        self.shell = shell
        """Further choices that the shell offers."""


POOL = Word("pool")
TARGET = Word("target", "ACTIVE", "DELETING", "ARCHIVED")
"""A pool, or pool--subpool."""
OPEN_TARGET = Word("target", "ACTIVE")
"""A pool, or a pool--subpool that accepts work."""
ACTIVE_PARENT, ARCHIVED_PARENT = Word("parent", "ACTIVE"), Word("parent", "ARCHIVED")
"""A pool with a subpool of that state, or pool--subpool with such a subpool."""
ACTIVE, ARCHIVED = Word("subpool", "ACTIVE"), Word("subpool", "ARCHIVED")
"""A subpool of that state, in the pool that the word before names."""
TOPOLOGY = Word("topology")
SUBMISSION = Word("submission", shell="files")
"""A workflow, a workload or a PodCliqueSet, or its file."""
BACKEND = Word("backend")
REVISION = Word("revision")
CONTEXT = Word("context")
RULE = Word("rule")
SCHEMA = Word("schema")
FOLDER = Word("folder", shell="folders")
FILE = Word("file", shell="files")
MANIFEST = Word("manifest", shell="manifests")
"""A file that a repository could have."""
COMMAND = Word("command")


_WHOLE = 1000
"""The most characters of a sentence in a list of commands: enough for any sentence."""

RENAMED = {"subpool delete": "subpool retire", "pool topology-keys": "topology list --pool"}
"""The new name of each renamed command, behind ``kubectl tas``."""
_WRITING = ("render", "report", "snapshot", "cluster state", "import cluster", "import kueue", "import osmo")
RENAMED_OPTIONS = {command: {"-o": "--to"} for command in _WRITING}
"""The new name of each renamed option, by command. ``--output`` is a long spelling of ``-o``."""


def renamed_note(old: str, new: str) -> str:
    """Returns the note for the user of an old name."""
    return f"Note: `{old}` is now `{new}`; the next release no longer takes the old name. Run: kubectl tas migrate"


class CommandGroup(click.Group):
    """A click group with its own error for unknown commands, its own list of commands, and support for old names."""

    def __init__(self, *arguments: Any, later: Mapping[str, str] | None = None, **options: Any) -> None:
        """``later`` gives the place of commands that are imported only when called, in the form of ``imported``."""
        super().__init__(*arguments, **options)
        self._later = later or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns all commands by name, without old names."""
        return sorted((*(name for name, command in self.commands.items() if not command.hidden), *self._later))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Returns the command of that name; None if the name is unknown."""
        if cmd_name in self._later:
            command: click.Command = imported(self._later[cmd_name])
            return command
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Returns the command that the user calls, and its arguments."""
        args = self._renamed(ctx, args)
        name, known = args[0], self.list_commands(ctx)
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from kubectl_tas.base.words import nothing_called
            from kubectl_tas.cli.failures import of_nested  # only a slip waits for it

            if habit := of_nested(str(ctx.info_name), args):
                raise habit
            ctx.fail(nothing_called("command", name, known))
        return super().resolve_command(ctx, args)

    def _renamed(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Replaces the old name of a command of this group by the new name, and prints a note."""
        if args[0] in self.commands or args[0] in self._later or args[0].startswith("-"):
            return args
        from kubectl_tas.cli.terminal import say  # only an old name waits for it

        old = f"{ctx.info_name} {args[0]}"
        group, _, new = RENAMED.get(old, "").partition(" ")
        if group != ctx.info_name:
            return args
        say(renamed_note(old, RENAMED[old]), err=True)
        return [new, *args[1:]]

    def sections(self, ctx: click.Context) -> Mapping[str, Sequence[str]]:
        """Returns the commands by heading."""
        return {"Commands": self.list_commands(ctx)}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the lists of commands, each with the whole first sentence of its help."""
        widest = max(map(len, self.list_commands(ctx)))
        for heading, names in self.sections(ctx).items():
            known = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(heading):
                formatter.write_dl([(x.ljust(widest), one.get_short_help_str(_WHOLE)) for x, one in known if one])


F = TypeVar("F", bound=Callable[..., Any])
TEXT = "text"
PICTURES = ("tree", "mermaid", "dot", "svg", "html")
"""The formats of pictures; tree is for terminals."""


LIST = ("table", "wide", "json", "yaml", "name")
"""The formats of lists."""


class _Format(click.Choice):  # type: ignore[type-arg]
    """A choice of format; accepts ``-o=json`` like kubectl."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(str(value).removeprefix("="), param, ctx)


def output_option(*formats: str) -> Callable[[F], F]:
    """Adds ``--output``; the first format is the default."""
    choice = _Format(formats)
    return click.option("-o", "--output", type=choice, default=formats[0], show_default=True, help="Output format.")


class _To(click.Option):
    """The option ``--to``, which names the output of a command. Prints a note for the old spelling."""

    _OLD = "old_output"

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        parser.add_option(obj=self, opts=("-o", "--output"), dest=self._OLD)

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> Any:
        if self._OLD in opts:
            from kubectl_tas.cli.terminal import say  # only an old name waits for it

            if self.name in opts:
                raise click.UsageError("-o is the old name of --to: give one of them", ctx)
            say(renamed_note(f"{ctx.info_name} -o", f"{ctx.info_name} --to"), err=True)
            opts = {**opts, str(self.name): opts[self._OLD]}
        return super().consume_value(ctx, opts)


TO_FILE, TO_FOLDER = "The file to write; - is standard output.", "The folder to write."
"""The help of ``--to``: a command that makes one file takes its name, any other command a folder."""


def to_option(metavar: str, type_: click.ParamType[Any], help_: str, **more: Any) -> Callable[[F], F]:
    """Adds ``--to``, which names the output of a command."""
    return click.option("--to", cls=_To, metavar=metavar, type=type_, help=help_, **more)


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Adds all of these options; the help lists them in reverse order."""

    def add(command: F) -> F:
        for option in options:
            command = option(command)
        return command

    return add


repository_option = click.option(
    "-C", "directory", metavar="DIR", type=FOLDER, help="The repository; by default the nearest parent with tas.yaml."
)
"""The option ``-C`` of a command, which overrides the group's own."""


def kubectl_options(context_help: str) -> Callable[[F], F]:
    """Adds ``--context`` and ``--kubeconfig``; kubectl passes none of its own flags to plugins."""
    return together(
        click.option("--kubeconfig", metavar="FILE", type=FILE, help="The kubeconfig for kubectl."),
        click.option("--context", metavar="NAME", type=CONTEXT, help=context_help),
    )


def base_option(help_: str, *, required: bool = False) -> Callable[[F], F]:
    """Adds ``--base``, the git revision that the repository is compared with."""
    return click.option(
        "--base",
        metavar="REF",
        type=REVISION,
        envvar="KUBECTL_TAS_BASE",
        show_envvar=True,
        required=required,
        help=help_,
    )


def group_directory() -> str | None:
    """Returns the ``-C`` before the command."""
    context = click.get_current_context(silent=True)
    return context.find_root().params.get("directory") if context else None


def note(context: click.Context, option: click.Parameter, given: object) -> None:
    """Keeps the value of an option that is not passed to the command, for ``noted``."""
    context.meta[f"{__name__}.{option.name}"] = given


def noted(name: str) -> Any:
    """Returns the value that ``note`` has kept of an option; None if the command does not have that option."""
    context = click.get_current_context(silent=True)
    return context.meta.get(f"{__name__}.{name}") if context else None


def _read_settings(context: click.Context, option: click.Parameter, given: Sequence[str]) -> None:
    from kubectl_tas.model.config import read_setting  # most runs set nothing

    found = []
    for text in given:
        setting = read_setting(text, is_text=option.name == "set_string")
        if setting is None:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE")
        found.append(setting)
    note(context, option, found)


def _setting_option(name: str, about: str) -> Callable[[F], F]:
    about = f"{about}. Repeatable."
    return click.option(
        name, metavar="NAME=VALUE", multiple=True, expose_value=False, callback=_read_settings, help=about
    )


template_options = together(
    _setting_option("--set-string", "The same, as text"),
    _setting_option("--set", "Set a template value; it overrides the values files"),
)
"""The options for values of templates, which ``settings`` returns."""


def settings() -> tuple[Setting, ...]:
    """Returns the values of templates from the command line; those of ``--set-string`` override the others."""
    return (*(noted("set") or ()), *(noted("set_string") or ()))


run_options = together(
    click.option(
        "--processes",
        metavar="N",
        type=click.IntRange(1, 64),
        expose_value=False,
        callback=note,
        help="Compile in N processes, by default one for each processor.",
    ),
    click.option("--no-cache", is_flag=True, expose_value=False, callback=note, help="Keep nothing between runs."),
    click.option(
        "--cache-dir",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="KUBECTL_TAS_CACHE",
        show_envvar=True,
        expose_value=False,
        callback=note,
        help="Keep compiled files in DIR between runs. Default: $XDG_CACHE_HOME/kubectl-tas.",
    ),
)
"""The options for the number of processes, and for results that runs over all files keep."""


def pairs_option(option: str, parameter: str, metavar: str, help_: str, values: Sequence[str] = ()) -> Callable[[F], F]:
    """Adds a repeatable option that reads NAME=VALUE into a mapping. Of ``values``, if any, VALUE must be one."""
    what = f"{metavar}, with {', '.join(values[:-1])} or {values[-1]}" if values else metavar

    def read(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> dict[str, str]:
        found = {}
        for text in given:
            name, _, value = text.partition("=")
            if not name or not value or (values and value not in values):
                raise click.BadParameter(f"{text!r} is not {what}")
            found[name] = value
        return found

    help_ = f"{help_} Repeatable."
    return click.option(option, parameter, metavar=metavar, multiple=True, callback=read, help=help_)


priority_class_option = pairs_option(
    "--priority-class",
    "priorities",
    "NAME=PRIORITY",
    "HIGH, NORMAL or LOW for this class of the other scheduler.",
    ("HIGH", "NORMAL", "LOW"),
)
edit_options = together(
    click.option("--dry-run", is_flag=True, help="Print the diff and write nothing."),
    click.option("--render", "render_after", is_flag=True, help="Render the manifests afterwards."),
    repository_option,
)
"""The options that all edits share."""
