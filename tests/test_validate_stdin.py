"""Tests ``validate -``, which judges standard input as a file of the repository."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.history import commit

Validate = Callable[..., Result]
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, labels: {kubectl-tas/pool: team, kubectl-tas/priority: LOW}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]
"""


@pytest.fixture
def team(repository: Path) -> Path:
    return write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 90)})


@pytest.fixture
def validate(team: Path, monkeypatch: pytest.MonkeyPatch) -> Validate:
    def run(text: str, *arguments: str, cwd: Path = team) -> Result:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return kubectl_tas("validate", "-", *arguments, cwd=cwd)

    return run


def test_clean(validate: Validate) -> None:
    result = validate(f"{subpool('b', 10)}---\n{subpool('c', 0)}", "--stdin-filename", "subpools/new.yaml")
    assert (result.code, result.out) == (0, "No problems found in 3 files.\n")


def test_nothing(validate: Validate) -> None:
    """A program before the pipe that failed is no success; a file may well be empty."""
    done = validate(" \n")
    assert (done.code, done.out, done.err.splitlines()[0]) == (3, "", "error: standard input is empty")
    assert validate("", "--stdin-filename", "workflows/new.yaml").code == 0


def test_is_judged_with_the_repository(validate: Validate) -> None:
    result = validate(subpool("b", 11))
    assert result.code == 1
    assert "[quota-exceeds-pool]" in result.out
    assert "(<stdin>:7:10)" in result.out


def test_only_what_is_found_in_it_is_reported(team: Path, validate: Validate) -> None:
    write(team, {"subpools/broken.yaml": "a: ["})
    assert "broken" not in validate(subpool("b", 10)).out
    (found,) = json.loads(validate("kind: [", "-o", "json").out)["diagnostics"]
    assert (found["rule"], found["location"]["path"]) == ("yaml-syntax", "<stdin>")


def test_a_workload_takes_the_place_of_the_repository_s(team: Path, validate: Validate) -> None:
    write(team, {"workflows/train.yaml": JOB})
    assert validate(JOB).code == 0


def test_a_workflow_takes_the_place_of_the_repository_s(team: Path, validate: Validate) -> None:
    """A name is one in every spelling, and the old one takes no more of a quota that the new one needs."""
    text = (
        "workflow: {name: Train, pool: team--a, tasks: [{name: t, image: i, resource: r}]}\nresources: {r: {gpu: 60}}\n"
    )
    write(team, {"workflows/train.yaml": text})
    assert (validate(text.replace("Train", "train")).code, validate(text.replace("60", "91")).code) == (0, 1)
    result = validate(text)
    assert (result.code, result.out) == (0, "No problems found in 4 files.\n")
    assert "[name-duplicate]" in validate(f"{text}---\n{text}").out


def test_a_second_document_of_that_name_is_told(validate: Validate) -> None:
    assert "[name-duplicate]" in validate(subpool("a", 5)).out


class TestFilename:
    @pytest.mark.parametrize("name", ["subpools/a.yaml", "./subpools/../subpools/a.yaml"])
    def test_takes_the_place_of_the_file(self, validate: Validate, name: str) -> None:
        assert validate(subpool("a", 5), "--stdin-filename", name).code == 0
        result = validate(subpool("a", 101), "--stdin-filename", name)
        assert (result.code, result.out.startswith("subpools/a.yaml:7:10: error: ")) == (1, True)

    def test_need_not_exist(self, team: Path, validate: Validate) -> None:
        result = validate(subpool("b", 11), "--stdin-filename", str(team / "subpools/new.yaml"), "-C", str(team))
        assert "subpools/new.yaml:7:10: error: " in result.out
        assert not (team / "subpools/new.yaml").exists()

    def test_below_the_working_folder(self, team: Path, validate: Validate) -> None:
        write(team, {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\nspec: {}\n"})
        result = validate(subpool("b", 11), "--stdin-filename", "b.yaml", cwd=team / "subpools")
        assert "subpools/b.yaml:7:10: error: " in result.out

    def test_of_the_config(self, validate: Validate) -> None:
        text = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {output: pools}\n"
        assert "tas.yaml:3:16: error: " in validate(text, "--stdin-filename", "tas.yaml").out

    def test_with_a_base(self, team: Path, validate: Validate) -> None:
        commit(team)
        text = subpool("a", 90, state="ARCHIVED").replace("ARCHIVED", "DELETING")
        assert validate(text, "--stdin-filename", "subpools/a.yaml", "--base", "HEAD").code == 0

    @pytest.mark.parametrize(
        "name", ["README.md", "manifests/a.yaml", "other/a.yaml", "pools/.hidden.yaml", "/etc/a.yaml"]
    )
    def test_of_a_file_that_is_not_read(self, validate: Validate, name: str) -> None:
        result = validate(subpool("a", 5), "--stdin-filename", name)
        assert (result.code, result.out) == (2, "")

    def test_without_standard_input(self, team: Path) -> None:
        result = kubectl_tas("validate", "--stdin-filename", "subpools/a.yaml", cwd=team)
        assert (result.code, "pass - too" in result.err) == (2, True)


def test_beside_other_paths(validate: Validate) -> None:
    assert validate("", "pools").code == 2


def test_too_much(validate: Validate) -> None:
    result = validate("#" * (4 * 1024 * 1024 + 1))
    assert (result.code, result.err) == (3, "error: standard input has more than 4 MiB\n  = help: Split it.\n")
