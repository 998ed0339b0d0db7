"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kubectl_tas.cli.wordtypes import FOLDER, REVISION

if TYPE_CHECKING:
    from kubectl_tas.model.config import Setting

F = TypeVar("F", bound=Callable[..., Any])
TEXT = "text"
FINDINGS = ("json", "sarif", "github", "gitlab", "junit")
"""The formats in which findings are printed for programs, besides TEXT for people."""
PICTURES = ("tree", "mermaid", "dot", "svg", "html")
"""The formats of pictures; the tree is for terminals."""


def output_option(*formats: str) -> Callable[[F], F]:
    """Adds ``--output``; the first format is the default."""
    choice = click.Choice(formats)
    return click.option("-o", "--output", type=choice, default=formats[0], show_default=True, help="How it is printed.")


def repository_option(command: F) -> F:
    """Adds ``-C`` to a command, with the group's own as its default."""
    return click.option(
        "-C",
        "directory",
        metavar="DIR",
        type=FOLDER,
        help="The repository; by default the nearest parent with tas.yaml.",
    )(command)


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
    """The ``-C`` that stands before the command."""
    context = click.get_current_context(silent=True)
    return context.find_root().params.get("directory") if context else None


def template_options(command: F) -> F:
    """Adds ``--set`` and ``--set-string``, which ``settings`` gives."""
    for name, words in (
        ("--set-string", "the same; VALUE is text"),
        ("--set", "a value of templates, before all others"),
    ):
        command = click.option(
            name,
            metavar="NAME=VALUE",
            multiple=True,
            expose_value=False,
            callback=_read_settings,
            help=f"{words[0].upper()}{words[1:]}. May be repeated.",
        )(command)
    return command


def run_options(command: F) -> F:
    """Adds what a run over all files may keep between runs, and how many processes it may use."""
    for option in (
        click.option(
            "--processes",
            metavar="N",
            type=click.IntRange(1, 64),
            expose_value=False,
            callback=_note,
            help="Compile in N processes. Default: as many as there are processors, if there are enough files.",
        ),
        click.option("--no-cache", is_flag=True, expose_value=False, callback=_note, help="Keep nothing between runs."),
        click.option(
            "--cache-dir",
            metavar="DIR",
            type=click.Path(file_okay=False, path_type=Path),
            envvar="KUBECTL_TAS_CACHE",
            show_envvar=True,
            expose_value=False,
            callback=_note,
            help="Keep compiled files in DIR between runs. Default: $XDG_CACHE_HOME/kubectl-tas.",
        ),
    ):
        command = option(command)
    return command


def _note(context: click.Context, option: click.Parameter, given: object) -> None:
    context.meta[f"{__name__}.{option.name}"] = given


def noted(name: str) -> Any:
    """What ``run_options`` gives for one of its options; None where the command does not have them."""
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
    context.meta[f"{__name__}.{option.name}"] = found


def settings() -> tuple[Setting, ...]:
    """The values of templates that the command line gives; those of ``--set-string`` count before the others."""
    context = click.get_current_context(silent=True)
    names = (f"{__name__}.set", f"{__name__}.set_string") if context else ()
    return tuple(setting for name in names for setting in context.meta.get(name, ())) if context else ()


def edit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds what all edits have in common."""
    for option in (
        click.option("--dry-run", is_flag=True, help="Print the diff and write nothing."),
        click.option("--render", "render_after", is_flag=True, help="Render the manifests afterwards."),
        repository_option,
    ):
        command = option(command)
    return command
