"""``pool list``: OSMO's table to the letter, the other formats, and where usage comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, at, case_input

CASE = GOLDEN / "commands/pool-list"
STATES = [f"--cluster-state={backend}={CASE / 'cluster.json'}" for backend in ("prod", "lab")]
FROM_CLUSTER = "Used: held in the cluster by work that cannot be preempted.\n"
FROM_FILES = "Used: declared by the HIGH and NORMAL work of this repository.\n"

SAMPLE = """\
Pool            Status         Subpool State  GPU Quota        Used  Available
--------------  -------------  -------------  ---------------  ----  ---------
team            ONLINE         -              10 (Total: 100)  50    -40
├─ team--a      ONLINE         ACTIVE         30               5     25
├─ team--b      ONLINE         ACTIVE         40               10    30
└─ team--c      ONLINE         ACTIVE         20               0     20
"""
"""The example of the specification of dynamic subpools."""


WORKFLOW = """\
workflow: {{name: {}, pool: {}, priority: {}, tasks: [{{name: t, image: i}}]}}
resources: {{default: {{gpu: {}}}}}
"""


def queue(name: str, used: int | str, prefix: str = "osmo-pool-default-") -> dict[str, Any]:
    held = {"nvidia.com/gpu": used}
    return {
        "kind": "Queue",
        "metadata": {"name": f"{prefix}{name}"},
        "status": {"allocated": held, "allocatedNonPreemptible": held},
    }


def cluster(folder: Path, *queues: dict[str, Any]) -> Path:
    file = folder / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "items": queues}))
    return file


@pytest.fixture
def team(repository: Path) -> Path:
    """The repository of the sample."""
    quotas = {"a": 30, "b": 40, "c": 20}
    files = {f"subpools/{name}.yaml": subpool(name, quota) for name, quota in quotas.items()}
    return write(repository, {"pools/team.yaml": pool(), **files})


def test_the_sample_to_the_letter(team: Path, tmp_path: Path) -> None:
    state = cluster(
        tmp_path, queue("team--shared", 50), queue("team--a", "5"), queue("team--b", 10), queue("team--c", 0)
    )
    result = kubectl_tas("pool", "list", "--cluster-state", state, "-C", team)
    assert result.out == SAMPLE
    assert (result.code, result.err) == (0, FROM_CLUSTER)


def test_declared_usage(team: Path) -> None:
    jobs = [("one", "team", "HIGH", 6), ("two", "team", "NORMAL", 7), ("three", "team", "LOW", 9)]
    write(team, {f"workflows/{job[0]}.yaml": WORKFLOW.format(*job) for job in jobs})
    result = kubectl_tas("pool", "list", "-C", team)
    assert result.out.splitlines()[2] == "team            ONLINE         -              10 (Total: 100)  13    -3"
    assert (result.code, result.err) == (0, FROM_FILES)


FORMATS = [
    ("output.txt", ()),
    ("all.txt", ("--all",)),
    ("wide.txt", ("-o", "wide", "--all")),
    ("output.json", ("-o", "json", "--all")),
    ("output.yaml", ("-o", "yaml", "--all")),
    ("output.csv", ("-o", "csv", "--all")),
]


@pytest.mark.parametrize(("name", "arguments"), FORMATS, ids=[name for name, _ in FORMATS])
def test_formats(name: str, arguments: tuple[str, ...], snapshot: Any) -> None:
    result = kubectl_tas("pool", "list", *arguments, *STATES, "-C", case_input(CASE))
    assert (result.code, result.err) == (0, FROM_CLUSTER)
    assert result.out == snapshot(extension_class=at(CASE / name))


def test_json_of_declared_usage_names_its_source() -> None:
    listed = json.loads(kubectl_tas("pool", "list", "-o", "json", "-C", case_input(CASE)).out)
    assert listed["usedFrom"] == "declared"
    assert {item["name"]: item["used"] for item in listed["pools"]} == {
        "lab": 0, "scratch": 0, "team": 0, "team--a": 8, "team--b": 0, "team--c": 0, "team--d": 0,
    }  # fmt: skip


def test_a_deleting_subpool_counts_as_quota_0_and_an_archived_one_is_left_out(team: Path, tmp_path: Path) -> None:
    write(team, {"subpools/a.yaml": subpool("a", 30, state="DELETING")})
    write(team, {"subpools/c.yaml": subpool("c", 20, state="ARCHIVED")})
    state = cluster(tmp_path, queue("team--shared", 0), queue("team--a", 5), queue("team--b", 0))
    lines = kubectl_tas("pool", "list", "--cluster-state", state, "-C", team).out.splitlines()[2:]
    assert lines == [
        "team            ONLINE         -              60 (Total: 100)  0     60",
        "├─ team--a      ONLINE         DELETING       0                5     -5",
        "└─ team--b      ONLINE         ACTIVE         40               0     40",
    ]


def test_a_queue_that_the_cluster_does_not_have_is_unknown(team: Path, tmp_path: Path) -> None:
    state = cluster(tmp_path, queue("team--shared", 4))
    lines = kubectl_tas("pool", "list", "--cluster-state", state, "-C", team).out.splitlines()
    assert lines[3] == "├─ team--a      ONLINE         ACTIVE         30               unknown  unknown"


def test_a_pool_whose_subpools_hold_too_much(team: Path) -> None:
    write(team, {"subpools/a.yaml": subpool("a", 41)})
    result = kubectl_tas("pool", "list", "-C", team)
    assert result.out.splitlines()[2] == "team            ONLINE         -              0 (Total: 100)   0     0"
    assert result.code == 1
    assert result.err.endswith("This repository has 1 error; run: kubectl tas validate\n")


def test_names_that_yaml_reads_otherwise(repository: Path) -> None:
    write(repository, {"pools/no.yaml": pool('"no"'), "pools/1.yaml": pool('"1"')})
    out = kubectl_tas("pool", "list", "-o", "yaml", "-C", repository).out
    assert '- name: "no"\n' in out
    assert '- name: "1"\n' in out
