"""Tests the help of every command."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from tests.support.cli import kubectl_tas
from tests.support.golden import ROOT
from tools.generate import CLUSTER, REPOSITORY, commands

COMMANDS = {context.command_path: context for context in commands()}


@pytest.mark.parametrize("name", COMMANDS)
def test_help(name: str) -> None:
    result = kubectl_tas(*name.split()[2:], "--help")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"Usage: {name} ")


@pytest.mark.parametrize("name", COMMANDS)
def test_everything_is_explained(name: str) -> None:
    """Every command says what it does in a sentence; so does every option."""
    command = COMMANDS[name].command
    assert command.help
    first = command.help.partition("\n\n")[0]
    assert first[0].isupper()
    assert first.endswith(".")
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.help is not None:
            assert parameter.help.endswith("."), parameter.name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_that_it_takes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a group is one of its commands."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").touch()
    (tmp_path / "kueue.yaml").touch()
    (tmp_path / "pools.json").touch()
    (tmp_path / "pod-templates.json").touch()
    (line,) = (line for line in kubectl_tas(*name.split()[2:], "--help").out.splitlines() if "Example: " in line)
    written = re.split(r" [|<] ", line.strip().removeprefix("Example: "))[0]
    words = written.replace(" -C gpu-pools", "").split()
    assert f"{parsed(words)} ".startswith(f"{name} ")


@pytest.mark.parametrize(
    ("group", "example"),
    [
        ("", "-C gpu-pools validate"),
        ("import", "import cluster --to gpu-pools"),
        ("subpool", "subpool create team research --quota 30 --dry-run"),
        ("pool", "pool list -o wide"),
        ("topology", "topology list"),
        ("workflow", "workflow list"),
        ("cluster", "cluster state --to prod.json"),
        ("nodes", "nodes generate --pool team --nodes 18"),
    ],
)
def test_the_example_of_a_group(group: str, example: str) -> None:
    assert f"\n  Example: kubectl tas {example}\n" in kubectl_tas(*group.split(), "--help").out


def parsed(words: list[str]) -> str:
    """The command of a command line that is taken, which is no group."""
    taken = max((known for known in COMMANDS if words[: len(known.split())] == known.split()), key=len)
    assert not isinstance(COMMANDS[taken].command, click.Group)
    COMMANDS[taken].command.make_context(taken, words[len(taken.split()) :])
    return taken


def test_command_lines_of_the_docs_are_taken() -> None:
    lines = re.findall(r"kubectl-tas [^`\n<>|]*", (ROOT / "docs/tools.md").read_text())
    assert lines
    for line in lines:
        parsed(["kubectl", "tas", *shlex.split(line)[1:]])


@pytest.mark.parametrize(
    "name", [name for name, context in COMMANDS.items() if not isinstance(context.command, click.Group)]
)
def test_the_page_names_and_explains_every_option(name: str) -> None:
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE))
    same = re.fullmatch(r"\nThe same as \[`(.*)`]\(.*\)\.\n*", sections[name])
    section = sections[same[1] if same else name]
    own, _, also = section.partition("Shared options: ")
    also = also.replace("the cluster options", ", ".join(f"`{option}`" for option in CLUSTER))
    shared = page.partition("## kubectl tas\n")[0]
    for option in COMMANDS[name].command.params:
        if isinstance(option, click.Option) and not option.hidden and REPOSITORY not in option.opts:
            long = max(option.opts, key=len)
            assert f" {long} " in own or (f"`{long}`" in also and f"{long} " in shared), long
