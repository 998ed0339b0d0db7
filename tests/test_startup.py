"""Tests that each command imports only what it needs, so that it answers at once."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
import pytest

from kubectl_tas.base.late import late_pattern
from kubectl_tas.cli.main import COMMANDS, cli, load
from kubectl_tas.kinds import LISTED
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


_POD = "template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}"
_ABOUT = "metadata: {name: x, labels: {kubectl-tas/pool: team}}"
JOB = f"{{apiVersion: batch/v1, kind: Job, {_ABOUT}, spec: {{{_POD}}}}}\n"
RAY_JOB = f"""\
apiVersion: ray.io/v1
kind: RayJob
{_ABOUT}
spec: {{entrypoint: run, rayClusterSpec: {{headGroupSpec: {{{_POD}}}}}}}
"""
OTHER_KINDS = {
    f"kubectl_tas.model.{name}"
    for name in (
        *("artifact", "function", "grovekinds", "manifest", "pod", "policies", "podforms"),
        *("podtemplate", "workloads"),
    )
}
"""Models that a repository of pools and workflows has no use for."""


def modules(*arguments: str | Path) -> set[str]:
    """All modules that a command imports."""
    result = call(sys.executable, "-c", _PROGRAM, *arguments)
    assert result.code == 0, result.err
    return set(result.out.rpartition("imported:")[2].split())


def imported(*arguments: str | Path) -> set[str]:
    """The heavy libraries that a command imports."""
    return ALL & modules(*arguments)


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
    found = set(result.out.split())
    assert not (ALL | {"click", "subprocess", "dataclasses", "pathlib"}) & found
    own = {name for name in found if name.startswith("kubectl_tas.cli.")}
    assert own == {"kubectl_tas.cli.complete"}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_are_listed_as_they_explain_themselves(name: str) -> None:
    listed = cli.get_command(click.Context(cli), name)
    assert listed is not None
    assert listed.get_short_help_str(1000) == load(name).get_short_help_str(1000)


def test_the_version_is_told_by_hardly_any_module() -> None:
    own = {name for name in modules("--version") if name.startswith("kubectl_tas.")}
    assert own == {f"kubectl_tas.{name}" for name in ("base", "base.late", "cli", "cli.main", "cli.options")}


@pytest.mark.parametrize("arguments", ["rule", "rule over-quota"])
def test_a_rule_is_explained_without_the_module_that_declares_it(arguments: str) -> None:
    found = modules(*arguments.split())
    assert not ALL & found
    assert not any(name.startswith(("kubectl_tas.check", "kubectl_tas.load", "kubectl_tas.model")) for name in found)


def test_a_repository_waits_for_the_models_of_its_own_kinds(repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool("team"), "subpools/a.yaml": subpool("a", 3)})
    assert not modules("-C", repository, "validate") & OTHER_KINDS
    written = {f"kubectl_tas.model.{name}" for name in ("artifact", "manifest", "pod", "policies")}
    assert modules("-C", repository, "render") & OTHER_KINDS == written


def test_a_repository_imports_the_pages_of_its_own_kinds(repository: Path) -> None:
    files = {"pools/team.yaml": pool("team"), "workflows/a.yaml": JOB, "workflows/b.yaml": RAY_JOB}
    write(repository, files)
    pages = {f"kubectl_tas.kinds.{listed.module}" for listed in LISTED}
    own = {f"kubectl_tas.kinds.{name}" for name in ("job", "raycluster", "rayjob")}
    assert modules("-C", repository, "validate") & pages == own


def test_what_is_only_shown_is_not_compiled(clean: Path) -> None:
    assert "kubectl_tas.compile" not in modules("-C", clean, "workflow", "explain", "train")


def test_what_else_is_installed_is_not_asked_for_plugins(clean: Path) -> None:
    """pydantic would import importlib.metadata, which takes longer than to read a small repository."""
    assert not modules("-C", clean, "validate") & {"importlib.metadata", "email"}


def test_no_model_is_built_before_there_is_a_document_of_it() -> None:
    program = """
import pkgutil, kubectl_tas.model
from importlib import import_module
from pydantic import BaseModel
for module in pkgutil.iter_modules(kubectl_tas.model.__path__):
    import_module(f"kubectl_tas.model.{module.name}")
def below(cls):
    for child in cls.__subclasses__():
        yield from (child, *below(child))
found = [cls for cls in below(BaseModel) if cls.__module__.startswith("kubectl_tas.")]
assert len(found) > 150, len(found)
print(*sorted(cls.__name__ for cls in found if cls.__pydantic_complete__))
"""
    result = call(sys.executable, "-c", program)
    assert result.code == 0, result.err
    assert result.out.split() == []


def test_a_pattern_is_compiled_when_it_is_first_used() -> None:
    found = late_pattern("(", re.IGNORECASE)
    assert found.pattern == "("
    with pytest.raises(re.error):
        found.match("(")
    assert late_pattern(b"a.", re.IGNORECASE | re.DOTALL).fullmatch(b"A\n") is not None


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
    assert not modules("-C", clean, *words) & {
        "kubectl_tas.live.kubectl",
        "kubectl_tas.load.git",
        "kubectl_tas.base.process",
    }


def test_rendering_imports_templates(clean: Path) -> None:
    assert imported("-C", clean, "check") == MODELS | YAML | TEMPLATES
