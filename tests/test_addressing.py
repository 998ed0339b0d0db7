"""Tests names of pools and subpools in one word or two, in any spelling, in every command; and lists of them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from kubectl_tas.live.kubectl import STATE
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
            "state": None,
        }

    def test_none(self, repository: Path) -> None:
        write(repository, {"pools/team.yaml": pool()})
        assert kubectl_tas("workflow", "list", "-C", repository).err == "There are no workflows.\n"


NODES = {
    "items": [
        {"kind": STATE, "kinds": ["Node", "Pod", "Queue", "PodGroup", "Event", "Job"]},
        {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"nvidia.com/gpu": "64", "pods": "99"}}},
    ]
}
ASK = {
    "admit": ["admit"],
    "fit": ["fit", "--nodes", "nodes.json"],
    "explain": ["workflow", "explain"],
    "why": ["workflow", "why", "--cluster-state=nodes.json"],
    "snapshot": ["snapshot", "--to", "x.zip", "--nodes", "nodes.json"],
}
"""Each command that asks about work."""


class TestWork:
    """FILE, NAME and KIND/NAME in every spelling, by every command."""

    @pytest.fixture
    def asked(self, team: Path) -> Path:
        """The folder that the commands run in, beside the repository."""
        folder = team.parent / "beside"
        write(folder, {"nodes.json": json.dumps(NODES), "new.yaml": WORKFLOW.format("fresh", "gpu-team--a", 8)})
        write(team, {"draft.yaml": WORKFLOW.format("fresh", "gpu-team--a", 8)})
        return write(folder, {"train.yaml": WORKFLOW.format("Train", "gpu-team--a", 3)})

    @pytest.mark.parametrize(
        ("word", "name"),
        [
            ("Train", "train"),
            ("train", "train"),
            ("Workflow/train", "train"),
            ("workflow/Train", "train"),
            ("workflows/w.yaml", "train"),
            ("./workflows/w.yaml", "train"),
            ("{root}/workflows/w.yaml", "train"),
            ("../repository/workflows/w.yaml", "train"),
            ("draft.yaml", "fresh"),
            ("new.yaml", "fresh"),
            ("./new.yaml", "fresh"),
            ("{beside}/new.yaml", "fresh"),
            ("-", "fresh"),
        ],
    )
    @pytest.mark.parametrize("command", ASK)
    def test_each_spelling(
        self, team: Path, asked: Path, monkeypatch: pytest.MonkeyPatch, command: str, word: str, name: str
    ) -> None:
        word = word.format(root=team, beside=asked)
        for given in [[word], ["-f", word]] if word.endswith(".yaml") or word == "-" else [[word]]:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((asked / "new.yaml").read_bytes())))
            result = kubectl_tas(*ASK[command], *given, "-C", team, cwd=asked)
            assert result.code in (0, 1), result.err
            assert command == "snapshot" or name in result.out, result.err

    @pytest.mark.parametrize("command", ASK)
    def test_a_file_elsewhere_takes_the_place_of_its_work(self, team: Path, asked: Path, command: str) -> None:
        result = kubectl_tas(*ASK[command], "train.yaml", "-C", team, cwd=asked)
        assert result.code in (0, 1), result.err
        assert "name-duplicate" not in result.err
        if command == "admit":
            assert "3 GPUs" in result.out

    @pytest.mark.parametrize("command", ASK)
    def test_a_link(self, team: Path, asked: Path, command: str) -> None:
        """As the repository reads it."""
        (team / "work").mkdir()
        (team / "workflows/w.yaml").rename(team / "work/w.yaml")
        (team / "workflows/w.yaml").symlink_to("../work/w.yaml")
        result = kubectl_tas(*ASK[command], "workflows/w.yaml", "-C", team, cwd=asked)
        assert result.code in (0, 1), result.err
        assert "name-duplicate" not in result.err

    @pytest.mark.parametrize("word", ["nobody", "job/train", "gone.yaml", "./gone.yaml"])
    @pytest.mark.parametrize("command", ASK)
    def test_what_is_nowhere(self, team: Path, asked: Path, command: str, word: str) -> None:
        result = kubectl_tas(*ASK[command], word, "-C", team, cwd=asked)
        assert (result.code, result.out) == (2, "")
        assert f'no file, workflow, workload, PodCliqueSet or PodGroup "{word}"; ' in result.err

    @pytest.mark.parametrize("command", ASK)
    def test_one_list_of_kinds(self, command: str) -> None:
        words = [word for word in ASK[command] if word in ("admit", "fit", "workflow", "explain", "why", "snapshot")]
        told = " ".join(kubectl_tas(*words, "--help").out.split())
        assert "the NAME of a workflow, workload, PodCliqueSet or PodGroup; or KIND/NAME." in told

    @pytest.mark.parametrize("command", ["admit", "explain", "why"])
    def test_one_at_a_time(self, team: Path, asked: Path, command: str) -> None:
        result = kubectl_tas(*ASK[command], "train", "big", "-C", team, cwd=asked)
        assert (result.code, "big is one too many: name one WORK" in result.err) == (2, True)
        result = kubectl_tas(*ASK[command], "-C", team, cwd=asked)
        assert (result.code, "name WORK: a FILE, a NAME or KIND/NAME" in result.err) == (2, True)

    def test_admit_sends_what_is_named_elsewhere(self, team: Path) -> None:
        """And leaves what else the file has."""
        write(team, {"workflows/both.yaml": f"{_job('one')}---\n{_job('two')}"})
        found = kubectl_tas("admit", "two", "--pool", "gpu-team--b", "-o", "json", "-C", team)
        (answer,) = json.loads(found.out)["workflows"]
        assert (answer["workflow"], answer["pool"], answer["asks"]) == ("two", "gpu-team--b", 1)

    def test_admit_of_a_name_that_several_have(self, team: Path) -> None:
        write(team, {"workflows/j.yaml": _job("train")})
        result = kubectl_tas("admit", "train", "-C", team)
        assert result.code == 2
        assert "train is the name of several: Job/train, Workflow/train; name one, or its FILE" in result.err
        assert "Workflow:" in kubectl_tas("admit", "workflow/train", "-C", team).out


def _job(name: str) -> str:
    return f"""\
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  labels: {{kubectl-tas/pool: other}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: c, image: i, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]
"""
