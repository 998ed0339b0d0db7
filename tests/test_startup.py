"""What each command imports: nothing that it does not need, so that it answers at once."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest

from kubectl_tas.cli.main import COMMANDS, cli, load
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.process import call

MODELS = {"pydantic", "pydantic_core"}
YAML = {"ruamel.yaml", "_ruamel_yaml"}
SCHEMAS = {"jsonschema"}
TEMPLATES = {"jinja2"}
ALL = MODELS | YAML | SCHEMAS | TEMPLATES

_PROGRAM = """
import sys
from kubectl_tas.cli.main import run
code = run(sys.argv[1:], "kubectl tas")
print("imported:", *sys.modules)
sys.exit(code)
"""


def imported(*arguments: str | Path) -> set[str]:
    """The heavy libraries that a command imports."""
    result = call(sys.executable, "-c", _PROGRAM, *arguments)
    assert result.code == 0, result.err
    return ALL & set(result.out.rpartition("imported:")[2].split())


@pytest.fixture
def clean(repository: Path) -> Path:
    """A rendered repository without problems, with an example of every kind."""
    assert kubectl_tas("init", repository).code == 0
    topology = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: h100}
spec: {levels: [{domain: rack, key: example.com/rack}]}
"""
    write(repository, {"subpools/b.yaml": subpool("b", 3), "pools/other.yaml": pool("other")})
    write(repository, {"topologies/h100.yaml": topology})
    assert kubectl_tas("render", "-C", repository).code == 0
    return repository


@pytest.mark.parametrize(
    "arguments", ["--version", "--help", "version", "help", "help rule", "init --help", "schema --help"]
)
def test_asking_for_help_imports_nothing(arguments: str) -> None:
    assert imported(*arguments.split()) == set()


@pytest.mark.parametrize("arguments", ["validate --help", "pool list --help", "subpool create --help", "admit --help"])
def test_the_help_of_a_command_imports_what_the_command_needs(arguments: str) -> None:
    assert imported(*arguments.split()) == MODELS | YAML


@pytest.mark.parametrize(
    "words", [[""], ["pool", "describe", ""], ["validate", "--base", ""], ["rule", "y"]], ids=" ".join
)
def test_completing_imports_neither_libraries_nor_commands(clean: Path, words: list[str]) -> None:
    program = "import sys; from kubectl_tas.cli.complete import text; print(repr(text(sys.argv[1:])), *sys.modules)"
    result = call(sys.executable, "-c", program, *words, cwd=clean)
    modules = set(result.out.split())
    assert not (ALL | {"click", "subprocess", "dataclasses", "pathlib"}) & modules
    own = {name for name in modules if name.startswith("kubectl_tas.cli.")}
    assert own == {"kubectl_tas.cli.complete", "kubectl_tas.cli.offered"}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_are_listed_as_they_explain_themselves(name: str) -> None:
    listed = cli.get_command(click.Context(cli), name)
    assert listed is not None
    assert listed.get_short_help_str(1000) == load(name).get_short_help_str(1000)


@pytest.mark.parametrize("arguments", ["schema", "schema pool"])
def test_printing_a_schema_imports_nothing(arguments: str) -> None:
    assert imported(*arguments.split()) == set()


@pytest.mark.parametrize("arguments", ["validate", "validate -o json", "topology list"])
def test_reading_a_clean_repository_imports_neither_schemas_nor_templates(clean: Path, arguments: str) -> None:
    assert imported("-C", clean, *arguments.split()) == MODELS | YAML


@pytest.mark.parametrize(
    "arguments", ["validate", "pool list", "subpool list", "workflow explain train", "admit {file}"]
)
def test_what_asks_neither_a_cluster_nor_git_imports_neither(clean: Path, arguments: str) -> None:
    words = arguments.format(file=next(clean.glob("workflows/*.yaml"))).split()
    result = call(sys.executable, "-c", _PROGRAM, "-C", clean, *words)
    assert result.code == 0, result.err
    modules = set(result.out.rpartition("imported:")[2].split())
    assert not modules & {"kubectl_tas.live.kubectl", "kubectl_tas.load.git", "kubectl_tas.process"}


def test_rendering_imports_templates(clean: Path) -> None:
    assert imported("-C", clean, "check") == MODELS | YAML | TEMPLATES
