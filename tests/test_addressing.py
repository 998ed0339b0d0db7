"""Pools and subpools by one word or two, in any spelling, wherever a command takes them; lists of what there is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, subpool, write

WORKFLOW = "workflow: {{name: {}, pool: {}, tasks: [{{name: t, image: i}}]}}\nresources: {{default: {{gpu: {}}}}}\n"
QUEUE = "osmo-pool-default-gpu-team"


@pytest.fixture
def team(repository: Path) -> Path:
    return write(
        repository,
        {
            "pools/team.yaml": pool("gpu-team"),
            "pools/other.yaml": pool("other"),
            "subpools/a.yaml": subpool("a", 30, parent="gpu-team"),
            "subpools/b.yaml": subpool("b", 9, parent="gpu-team"),
            "workflows/w.yaml": WORKFLOW.format("Train", "GPU_Team--A", 8),
            "workflows/v.yaml": WORKFLOW.format("big", "gpu-team--b", 10),
        },
    )


@pytest.mark.parametrize("words", [["gpu-team", "a"], ["gpu-team--a"], ["GPU_Team", "A"], ["GPU_Team--A"]], ids=str)
@pytest.mark.parametrize("command", [["update", "--quota", "5"], ["retire", "--used", "3"]], ids=lambda x: x[0])
def test_one_word_or_two(team: Path, command: list[str], words: list[str]) -> None:
    result = kubectl_tas("subpool", command[0], *words, *command[1:], "-C", team)
    assert (result.code, "gpu-team--a" in result.out) == (0, True)


def test_a_new_subpool_in_one_word(team: Path) -> None:
    created = kubectl_tas("subpool", "create", "GPU_Team--c", "--quota", "5", "-C", team)
    assert created.out == "created gpu-team--c, quota 5 (subpools/gpu-team--c.yaml)\n"


def test_a_pool_alone_is_no_subpool(team: Path) -> None:
    result = kubectl_tas("subpool", "retire", "gpu-team", "-C", team)
    assert (result.code, result.out) == (2, "")
    assert "which subpool of gpu-team? Write gpu-team NAME, or gpu-team--NAME" in result.err


@pytest.mark.parametrize("command", [["pool", "describe"], ["pool", "topology-keys"], ["subpool", "list"]], ids=str)
def test_names_fold(team: Path, command: list[str]) -> None:
    found = kubectl_tas(*command, "GPU_TEAM", "-C", team)
    assert found == kubectl_tas(*command, "gpu-team", "-C", team)
    assert found.code in (0, 1)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ([], ["gpu-team", "gpu-team--a", "gpu-team--b", "other"]),
        (["GPU_team"], ["gpu-team", "gpu-team--a", "gpu-team--b"]),
        (["gpu-team--B", "other"], ["gpu-team--b", "other"]),
    ],
)
def test_some_pools(team: Path, wanted: list[str], found: list[str]) -> None:
    assert kubectl_tas("pool", "list", *wanted, "-o", "name", "-C", team).out.splitlines() == found
    listed = json.loads(kubectl_tas("pool", "list", *wanted, "-o", "json", "-C", team).out)["pools"]
    assert [item["name"] for item in listed] == found
    assert "no pool" in kubectl_tas("pool", "list", "othr", "-C", team).err


class TestWorkflows:
    def test_table(self, team: Path) -> None:
        assert kubectl_tas("workflow", "list", "-C", team).out == (
            "NAME            QUEUE                          GPUS  VERDICT\n"
            f"Workflow/big    {QUEUE}--b  10    UNSCHEDULABLE\n"
            f"Workflow/train  {QUEUE}--a  8     ADMITTED\n"
        )

    def test_wide(self, team: Path) -> None:
        header, big, _ = kubectl_tas("workflow", "list", "-o", "wide", "-C", team).out.splitlines()
        assert header.split() == ["NAME", "QUEUE", "GPUS", "VERDICT", "POOL", "PRIORITY", "FILE", "WHY"]
        assert big.split()[4:7] == ["gpu-team--b", "NORMAL", "workflows/v.yaml"]

    def test_names_are_those_that_explain_takes(self, team: Path) -> None:
        names = kubectl_tas("workflow", "list", "-o", "name", "-C", team).out.splitlines()
        assert names == ["Workflow/big", "Workflow/train"]
        assert "osmo-pool-default-gpu-team--a" in kubectl_tas("workflow", "explain", names[1], "-C", team).out

    def test_json(self, team: Path) -> None:
        found = json.loads(kubectl_tas("workflow", "list", "-o", "json", "-C", team).out)
        assert found["version"] == 1
        big, train = found["workflows"]
        assert (big["verdict"], big["rule"]) == ("unschedulable", "over-quota")
        assert train == {
            "kind": "Workflow",
            "name": "train",
            "pool": "gpu-team--a",
            "queue": f"{QUEUE}--a",
            "priority": "NORMAL",
            "gpus": 8,
            "verdict": "admitted",
            "rule": None,
            "message": train["message"],
            "file": "workflows/w.yaml",
        }

    def test_none(self, repository: Path) -> None:
        write(repository, {"pools/team.yaml": pool()})
        assert kubectl_tas("workflow", "list", "-C", repository).err == "There are no workflows.\n"
