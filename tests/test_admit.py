"""Tests ``admit``, which predicts the answer to a submission. Each job in golden/commands/admit has an answer."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, at, case_input, cases
from tests.support.kubectl import queue

CASE = GOLDEN / "commands/admit"
REJECTED = {"over-shared-quota", "over-shared-quota-everywhere", "deleting", "archived"}
UNSCHEDULABLE = {"unschedulable", "unschedulable-in-a-plain-pool", "low-beyond-maximum"}
WORKFLOW = """\
workflow:
  name: train
  pool: team
  tasks:
  - {name: t, image: i}
resources:
  default: {gpu: 15}
"""


@pytest.fixture(params=cases("commands/admit/jobs"), ids=lambda job: job.name)
def job(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


@pytest.fixture
def team(repository: Path) -> Path:
    """100 GPUs, of which subpool a has 90; a workflow that asks for 15 lies beside."""
    write(repository.parent, {"job.yaml": WORKFLOW})
    return write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 90)})


def answer(root: Path, *arguments: str | Path, code: int = 0) -> dict[str, Any]:
    """The one answer to the workflow beside the repository."""
    result = kubectl_tas("admit", root.parent / "job.yaml", "-o", "json", *arguments, "-C", root)
    assert (result.code, result.err) == (code, "")
    (found,) = json.loads(result.out)["workflows"]
    return dict(found)


def test_text(job: Path, snapshot: Any) -> None:
    result = kubectl_tas("admit", job / "workflow.yaml", "-C", case_input(CASE))
    assert (result.code, result.err) == (int(job.name in REJECTED | UNSCHEDULABLE), "")
    assert result.out == snapshot(extension_class=at(job / "output.txt"))


def test_json(job: Path, snapshot: Any) -> None:
    result = kubectl_tas("admit", job / "workflow.yaml", "-o", "json", "-C", case_input(CASE))
    assert (result.code, result.err) == (int(job.name in REJECTED | UNSCHEDULABLE), "")
    assert result.out == snapshot(extension_class=at(job / "output.json"))


def test_validate_says_the_same(job: Path, tmp_path: Path) -> None:
    """A workflow that is merged is judged as it was before; of those that wait, validate says it once for the queue."""
    root = tmp_path / "repository"
    shutil.copytree(case_input(CASE), root)
    shutil.copyfile(job / "workflow.yaml", root / "workflows/new.yaml")
    shown = json.loads(kubectl_tas("validate", "workflows/new.yaml", "-o", "json", "-C", root).out)["diagnostics"]
    answers = json.loads((job / "output.json").read_text())["workflows"]
    own = [item for item in answers if item["rule"] and item["verdict"] != "pending"]
    expected = [(item["rule"], item["message"], item["hint"]) for item in own]
    found = [(item["rule"], item["message"], item["hint"]) for item in shown]
    assert [item for item in found if item[0] not in ("name-duplicate", "quota-shared")] == expected


class TestOverrides:
    def test_pool(self, team: Path) -> None:
        assert answer(team, code=1)["verdict"] == "rejected"
        found = answer(team, "--pool", "team--a")
        assert (found["verdict"], found["queue"]) == ("admitted", "osmo-pool-default-team--a")

    def test_priority(self, team: Path) -> None:
        found = answer(team, "--priority", "LOW")
        assert (found["verdict"], found["priority"], found["inQuota"], found["overQuota"]) == ("admitted", "LOW", 10, 5)

    def test_both_where_the_file_names_neither(self, team: Path) -> None:
        (team.parent / "job.yaml").write_text(WORKFLOW.replace("  pool: team\n", ""))
        assert answer(team, "--pool", "team--a", "--priority", "HIGH")["priority"] == "HIGH"

    @pytest.mark.parametrize(
        "text", [f"\ufeff{WORKFLOW}", WORKFLOW.replace("\n", "\r\n"), WORKFLOW.rstrip(), "# c\n---\n" + WORKFLOW]
    )
    def test_however_the_file_is_written(self, team: Path, text: str) -> None:
        (team.parent / "job.yaml").write_bytes(text.encode())
        assert answer(team, "--pool", "team--a", "--priority", "LOW")["pool"] == "team--a"
        assert (team.parent / "job.yaml").read_bytes() == text.encode()

    def test_in_every_workflow_of_the_file(self, team: Path) -> None:
        (team.parent / "job.yaml").write_text(f"{WORKFLOW}---\n{WORKFLOW.replace('train', 'other')}")
        result = kubectl_tas("admit", "../job.yaml", "--pool", "team--a", "-o", "json", cwd=team)
        assert [item["pool"] for item in json.loads(result.out)["workflows"]] == ["team--a"] * 2

    def test_unknown_pool(self, team: Path) -> None:
        result = kubectl_tas("admit", "../job.yaml", "--pool", "team--x", cwd=team)
        assert (result.code, result.out) == (1, "")
        assert result.err.startswith("--pool: error: ")
        assert "[pool-unknown]" in result.err

    def test_unknown_priority(self, team: Path) -> None:
        assert kubectl_tas("admit", "../job.yaml", "--priority", "URGENT", cwd=team).code == 2


class TestUsage:
    def test_declared(self, team: Path) -> None:
        write(team, {"workflows/w.yaml": WORKFLOW.replace("train", "other").replace("gpu: 15", "gpu: 4")})
        assert answer(team, code=1)["used"] == 4

    def test_told(self, team: Path) -> None:
        found = answer(team, "--used", "7", "--priority", "LOW")
        assert (found["used"], found["inQuota"], found["overQuota"]) == (7, 3, 12)

    def test_of_the_cluster(self, team: Path, tmp_path: Path) -> None:
        state = tmp_path / "state.json"
        busy = [queue("osmo-pool-default-team--shared", 9, 8), queue("osmo-pool-default-team--a", 80)]
        state.write_text(json.dumps(busy))
        found = answer(team, "--cluster-state", state, "--priority", "LOW")
        assert (found["used"], found["inQuota"], found["overQuota"]) == (8, 2, 13)
        assert "team--a" not in answer(team, "--cluster-state", state, code=1)["hint"]
        state.write_text(json.dumps([busy[0], queue("osmo-pool-default-team--a", 75)]))
        assert "team--a (15 free)" in answer(team, "--cluster-state", state, code=1)["hint"]

    def test_of_a_cluster_that_does_not_have_the_queue(self, team: Path, tmp_path: Path) -> None:
        state = tmp_path / "state.json"
        state.write_text("[]")
        result = kubectl_tas("admit", "../job.yaml", "--cluster-state", state, cwd=team)
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith("error: the cluster has no queue osmo-pool-default-team--shared\n")
        assert answer(team, "--cluster-state", state, "--used", "0", "--priority", "LOW")["verdict"] == "admitted"

    def test_of_a_cluster_for_a_subpool_that_is_archived(self, team: Path, tmp_path: Path) -> None:
        state = tmp_path / "state.json"
        state.write_text("[]")
        write(team, {"subpools/a.yaml": subpool("a", 90, state="ARCHIVED")})
        assert answer(team, "--pool", "team--a", "--cluster-state", state, code=1)["rule"] == "subpool-closed"


class TestFile:
    def test_within_the_repository_stands_for_itself(self, team: Path) -> None:
        write(team, {"workflows/w.yaml": WORKFLOW.replace("gpu: 15", "gpu: 10")})
        result = kubectl_tas("admit", "workflows/w.yaml", "-o", "json", cwd=team)
        (found,) = json.loads(result.out)["workflows"]
        assert (result.code, found["verdict"], found["used"]) == (0, "admitted", 0)

    def test_of_the_same_path_in_another_folder_does_not(self, team: Path) -> None:
        write(team, {"workflows/w.yaml": WORKFLOW.replace("gpu: 15", "gpu: 10")})
        write(team.parent / "other", {"workflows/w.yaml": WORKFLOW.replace("gpu: 15", "gpu: 1")})
        result = kubectl_tas("admit", "workflows/w.yaml", "-o", "json", "-C", team, cwd=team.parent / "other")
        (found,) = json.loads(result.out)["workflows"]
        assert (found["used"], found["verdict"]) == (10, "pending")

    @pytest.mark.parametrize("path", ["larger.yaml", "drafts/larger.yaml", "workflows/.larger.yaml"])
    def test_outside_the_sources_replaces_a_workload(self, team: Path, path: str) -> None:
        job = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, labels: {kubectl-tas/pool: team}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: i, resources: {limits: {nvidia.com/gpu: 8}}}]
"""
        write(team, {"workflows/w.yaml": job, path: job.replace("gpu: 8", "gpu: 9")})
        result = kubectl_tas("admit", path, "-o", "json", cwd=team)
        (found,) = json.loads(result.out)["workflows"]
        assert (found["used"], found["verdict"]) == (0, "admitted")

    def test_nothing_is_written(self, team: Path) -> None:
        before = sorted(team.rglob("*"))
        answer(team, "--pool", "team--a")
        assert sorted(team.rglob("*")) == before

    BROKEN = (
        ("workflow: [\n", 1, "[yaml-syntax]"),
        ("workflow: {name: w, pool: team}\n", 1, "[workflow-tasks]"),
        (WORKFLOW.replace("gpu: 15", "gpu: -1"), 1, "[invalid-value]"),
        (WORKFLOW.replace("pool: team", "pool: tean"), 1, '= help: Did you mean "team"?'),
        (WORKFLOW + "---\n" + WORKFLOW.replace("gpu: 15", "gpus: 15"), 1, "[unknown-field]"),
        ("a: b\n", 1, "[unknown-kind]"),
        (pool("other"), 1, "[outside-admin-sources]"),
        ("", 2, "has no workflow"),
    )

    @pytest.mark.parametrize(("text", "code", "said"), BROKEN, ids=range(len(BROKEN)))
    @pytest.mark.parametrize("override", [(), ("--priority", "LOW")])
    def test_broken(self, team: Path, text: str, code: int, said: str, override: tuple[str, ...]) -> None:
        (team.parent / "job.yaml").write_text(text)
        result = kubectl_tas("admit", "../job.yaml", *override, cwd=team)
        assert (result.code, result.out) == (code, "")
        assert said in result.err

    def test_not_text(self, team: Path) -> None:
        (team.parent / "job.yaml").write_bytes(b"\xff\xfe\x00")
        result = kubectl_tas("admit", "../job.yaml", "--pool", "team", cwd=team)
        assert (result.code, result.out) == (1, "")
        assert "[file-not-text]" in result.err

    def test_missing(self, team: Path) -> None:
        result = kubectl_tas("admit", "none.yaml", cwd=team)
        assert result.code == 2
        assert 'PodGroup "none.yaml"; ' in result.err

    def test_folder(self, team: Path) -> None:
        assert kubectl_tas("admit", "pools", cwd=team).code == 2


class TestRepositoryWithErrors:
    def test_elsewhere(self, team: Path) -> None:
        write(team, {"workflows/broken.yaml": "workflow: {name: w}\n"})
        result = kubectl_tas("admit", "../job.yaml", "--pool", "team--a", cwd=team)
        assert "Verdict:   UNKNOWN\n" in result.out
        assert (result.code, result.err) == (1, "This repository has 1 error; run: kubectl tas validate\n")

    def test_other_workflows_that_are_rejected_do_not_count(self, team: Path) -> None:
        write(team, {"workflows/w.yaml": WORKFLOW.replace("train", "other")})
        assert answer(team, "--pool", "team--a")["verdict"] == "admitted"

    def test_in_the_pool(self, team: Path) -> None:
        write(team, {"pools/team.yaml": "apiVersion: tas/v1alpha1\nkind: Pool\nmetadata: {name: team}\nspec: {x: 1}\n"})
        result = kubectl_tas("admit", "../job.yaml", cwd=team)
        assert (result.code, result.out) == (3, "")
        assert result.err == (
            "error: cannot tell: the pool's own file has errors\n  = help: Run: kubectl tas validate\n"
        )


class TestStandardInput:
    def test_is_answered_as_a_file_is(self, team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(WORKFLOW.encode())))
        result = kubectl_tas("admit", "-", "--pool", "team--a", "-o", "json", "-C", team)
        assert (result.code, result.err) == (0, "")
        assert json.loads(result.out)["workflows"] == [answer(team, "--pool", "team--a")]

    def test_findings_name_it(self, team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"workflow: {nam: x}\n")))
        result = kubectl_tas("admit", "-", "-C", team)
        assert result.code == 1
        assert result.err.startswith("<stdin>:1:")

    def test_too_much(self, team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"#" * (4 * 1024 * 1024 + 1))))
        result = kubectl_tas("admit", "-", "-C", team)
        assert (result.code, "standard input has more than 4 MiB" in result.err) == (3, True)


@pytest.mark.parametrize("where", ["workflows", "..", "-"])
def test_a_file_is_not_read_as_values_too(team: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = WORKFLOW.replace("gpu: 15", "gpu: {{ gpus }}") + "{%- if gpus %}\n# once\n{%- endif %}\n"
    write(team, {"values/other.yaml": "gpus: 1", f"{where}/job.yaml": text})
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    file = "-" if where == "-" else team / where / "job.yaml"
    result = kubectl_tas("admit", file, "--set", "gpus=1", "-C", team)
    assert (result.code, "1 GPU" in result.out) == (0, True), result.err
