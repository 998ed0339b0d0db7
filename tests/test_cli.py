"""Tests common features of all commands: their repository, their exit codes and their output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.cli import session
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, at, case_input
from tests.support.process import call

CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\n"


@pytest.fixture
def clean(repository: Path) -> Path:
    """A repository without problems."""
    return write(repository, {"tas.yaml": CONFIG, "pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 30)})


@pytest.fixture
def broken(repository: Path) -> Path:
    """A repository with an error in subpools/ and one in workflows/."""
    return write(
        repository,
        {
            "tas.yaml": CONFIG,
            "pools/team.yaml": pool(),
            "subpools/a.yaml": subpool("a", 101),
            "workflows/w.yaml": "workflow: {name: w}\n",
        },
    )


@pytest.fixture
def warned(repository: Path) -> Path:
    """A repository with a warning, as its Config has it: tasks together ask for more than their pool is guaranteed."""
    tasks = "[{name: t, image: i}, {name: u, image: i}]"
    workflow = f"workflow: {{name: w, pool: team, tasks: {tasks}}}\nresources: {{default: {{gpu: 51}}}}\n"
    config = f"{CONFIG}spec: {{rules: {{quota-shared: warning}}}}\n"
    return write(repository, {"tas.yaml": config, "pools/team.yaml": pool(), "workflows/w.yaml": workflow})


class TestRepository:
    def test_directory_before_the_command(self, clean: Path, tmp_path: Path) -> None:
        assert kubectl_tas("-C", clean, "validate", cwd=tmp_path).out == "No problems found in 3 files.\n"

    def test_directory_after_the_command(self, clean: Path, tmp_path: Path) -> None:
        assert kubectl_tas("validate", "-C", clean, cwd=tmp_path).out == "No problems found in 3 files.\n"

    def test_directory_after_the_command_wins(self, clean: Path, tmp_path: Path) -> None:
        assert kubectl_tas("-C", tmp_path / "none", "validate", "-C", clean).code == 0

    def test_directory_relative_to_the_working_folder(self, clean: Path) -> None:
        assert kubectl_tas("validate", "-C", clean.name, cwd=clean.parent).code == 0

    def test_directory_before_a_nested_command(self, clean: Path) -> None:
        assert "team--a" in kubectl_tas("-C", clean, "pool", "describe", "team--a").out

    def test_nearest_parent_with_tas_yaml(self, clean: Path) -> None:
        inner = write(clean / "docs/other", {"tas.yaml": CONFIG, "pools/team.yaml": pool()})
        (clean / "docs/deep").mkdir()
        assert kubectl_tas("validate", cwd=clean / "docs/deep").out == "No problems found in 3 files.\n"
        assert kubectl_tas("validate", cwd=inner).out == "No problems found in 2 files.\n"

    def test_working_folder_without_tas_yaml(self, repository: Path) -> None:
        write(repository, {"pools/team.yaml": pool()})
        assert kubectl_tas("validate", cwd=repository).out == "No problems found in 1 file.\n"

    @pytest.mark.parametrize("command", ["validate", "render", "check", "pool list", "topology list"])
    def test_empty_folder(self, repository: Path, command: str) -> None:
        result = kubectl_tas(*command.split(), "-C", repository)
        assert (result.code, result.out) == (3, "")
        assert result.err == (
            f"error: no repository in {repository}: there is no tas.yaml, and no file in "
            "pools, subpools, topologies, workflows\n"
            "  = help: Name the repository with -C, or write a small one with `kubectl tas init`.\n"
        )

    def test_folder_that_does_not_exist(self) -> None:
        result = kubectl_tas("validate", "-C", "/nonexistent/x")
        assert result.code == 3
        assert result.err.startswith("error: /nonexistent/x is not a folder\n")

    def test_working_folder_that_is_gone(self, tmp_path: Path) -> None:
        result = call("sh", "-c", "mkdir gone && cd gone && rmdir ../gone && kubectl-tas validate", cwd=tmp_path)
        assert result.code == 3
        assert result.err == "error: the working folder is gone\n  = help: Change to a folder that exists.\n"


class TestValidate:
    def test_errors_exit_1(self, broken: Path) -> None:
        result = kubectl_tas("validate", "-C", broken)
        assert result.code == 1
        assert "subpools/a.yaml:7:10: error: " in result.out
        assert "workflows/w.yaml:1:1: error: " in result.out
        assert result.out.endswith("in 4 files.\n")
        assert result.err == ""

    def test_warnings_do_not_count(self, warned: Path) -> None:
        result = kubectl_tas("validate", "-C", warned)
        assert "warning: " in result.out
        assert result.code == 0

    def test_strict_counts_warnings(self, warned: Path) -> None:
        assert kubectl_tas("validate", "-C", warned, "--strict").code == 1

    def test_strict_without_problems(self, clean: Path) -> None:
        assert kubectl_tas("validate", "-C", clean, "--strict").code == 0

    def test_paths_as_kubectl_takes_them(self, broken: Path) -> None:
        named = kubectl_tas("validate", "subpools", "pools", "-C", broken)
        assert kubectl_tas("validate", "-f", "subpools", "-f", "pools", "-C", broken) == named

    @pytest.mark.parametrize("path", ["subpools", "subpools/a.yaml", "subpools/"])
    def test_only_what_is_named(self, broken: Path, path: str) -> None:
        for result in (kubectl_tas("validate", path, cwd=broken), kubectl_tas("validate", path, "-C", broken)):
            assert result.code == 1
            assert "subpools/a.yaml" in result.out
            assert "workflows/w.yaml" not in result.out

    def test_path_relative_to_the_working_folder(self, broken: Path) -> None:
        result = kubectl_tas("validate", "a.yaml", cwd=broken / "subpools")
        assert "subpools/a.yaml" in result.out
        assert "workflows/w.yaml" not in result.out

    def test_problems_elsewhere_do_not_fail_the_run(self, broken: Path) -> None:
        result = kubectl_tas("validate", "pools", "-C", broken)
        assert result.out == "No problems found in 4 files.\n"
        assert result.code == 0

    def test_several_paths(self, broken: Path) -> None:
        result = kubectl_tas("validate", "pools", "workflows/w.yaml", "-C", broken)
        assert "workflows/w.yaml" in result.out
        assert "subpools/a.yaml" not in result.out

    def test_path_that_does_not_exist(self, clean: Path) -> None:
        result = kubectl_tas("validate", "pool/team.yaml", "-C", clean)
        assert result.code == 2
        assert "pool/team.yaml does not exist" in result.err

    def test_path_outside(self, clean: Path, tmp_path: Path) -> None:
        (tmp_path / "x.yaml").touch()
        result = kubectl_tas("validate", tmp_path / "x.yaml", "-C", clean)
        assert result.code == 2
        assert f"is not in the repository {clean}" in result.err


def test_json_report(snapshot: Any) -> None:
    case = GOLDEN / "commands/validate-json"
    result = kubectl_tas("validate", "-C", case_input(case), "-o", "json")
    assert result.code == 1
    assert {"error", "warning", "info"} <= json.loads(result.out)["summary"].keys()
    assert result.out == snapshot(extension_class=at(case / "output.json"))


def test_json_report_without_problems(clean: Path) -> None:
    result = kubectl_tas("validate", "-C", clean, "-o", "json")
    assert json.loads(result.out) == {
        "version": 1,
        "summary": {"files": 3, "error": 0, "warning": 0, "info": 0, "waived": 0},
        "diagnostics": [],
    }
    assert result.code == 0


class TestUsage:
    @pytest.mark.parametrize(
        "arguments",
        [
            "wat",
            "validate --wat",
            "validate -o yaml",
            "pool",
            "pool describe",
            "render --to - --backend other",
            "render --to - --fail-on-change",
            "rule wat",
            "schema wat",
            "pool describe wat",
            "pool describe team--wat",
            "workflow explain wat",
        ],
    )
    def test_wrong_usage_exits_2(self, clean: Path, arguments: str) -> None:
        result = kubectl_tas("-C", clean, *arguments.split())
        assert (result.code, result.out) == (2, "")
        assert "Usage: kubectl tas" in result.err

    def test_unknown_name_lists_the_known(self, clean: Path) -> None:
        result = kubectl_tas("-C", clean, "pool", "describe", "other")
        assert 'no pool "other"; there is team, team--a' in result.err

    def test_internal_error_exits_3(self, clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("KUBECTL_TAS_DEBUG", raising=False)
        monkeypatch.setattr(session, "find_root", lambda _: 1 // 0)
        result = kubectl_tas("validate", "-C", clean)
        assert (result.code, result.out) == (3, "")
        what = "integer division or modulo by zero"
        assert result.err == (
            f"error: internal error: ZeroDivisionError: {what}\n"
            "  = help: This is a bug. Run again with KUBECTL_TAS_DEBUG=1 and report what it prints.\n"
        )

    def test_internal_error_is_raised_for_developers(self, clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KUBECTL_TAS_DEBUG", "1")
        monkeypatch.setattr(session, "find_root", lambda _: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            kubectl_tas("validate", "-C", clean)

    def test_version(self) -> None:
        from kubectl_tas import __version__

        assert kubectl_tas("--version").out == f"kubectl-tas {__version__}\n"


class TestRule:
    def test_one(self) -> None:
        result = kubectl_tas("rule", "yaml-tag")
        assert result.out.startswith("# yaml-tag\n\n**error**: A key or a value has a YAML tag")
        assert result.code == 0

    def test_all(self) -> None:
        header, *rows = kubectl_tas("rule").out.splitlines()
        assert header.split() == ["RULE", "SEVERITY", "FIRES", "WHEN"]
        assert any(row.startswith("yaml-tag ") for row in rows)


class TestSchema:
    def test_one(self) -> None:
        result = kubectl_tas("schema", "Pool")
        assert json.loads(result.out)["title"] == "Pool"
        assert result.out == kubectl_tas("schema", "pool").out

    def test_all(self) -> None:
        kinds = kubectl_tas("schema").out.splitlines()
        assert {"config", "pool", "subpool", "workflow"} <= set(kinds)
        assert all(kubectl_tas("schema", kind).code == 0 for kind in kinds)


@pytest.mark.parametrize("words", [("pool",), ("subpool",), ("topology",), ("workflow",)])
def test_help_without_a_command_is_shown_once(words: tuple[str, ...]) -> None:
    result = kubectl_tas(*words)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("Usage: ") == 1
    assert "Error" not in result.err


def test_the_folder_above_is_not_in_the_repository(tmp_path: Path) -> None:
    root = write(tmp_path / "repository", {"pools/team.yaml": "kind: Pol\n"})
    result = kubectl_tas("validate", "-C", root, root / "..")
    assert result.code == 2
    assert "is not in the repository" in result.err


@pytest.mark.parametrize("arguments", [["nodes", "generate", "--pool"], ["pool", "describe"]], ids=" ".join)
def test_what_is_missing_may_stand_in_a_file_that_cannot_be_read(arguments: list[str], tmp_path: Path) -> None:
    root = write(tmp_path, {"pools/team.yaml": "a: [\n", "pools/other.yaml": pool("other")})
    refused = kubectl_tas("-C", root, *arguments, "team")
    assert refused.code == 2
    assert refused.err.endswith("\nThis repository has 1 error; run: kubectl tas validate\n")
    (root / "pools/team.yaml").unlink()
    assert "validate" not in kubectl_tas("-C", root, *arguments, "team").err
