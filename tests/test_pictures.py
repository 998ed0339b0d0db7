"""``workflow explain`` and ``pool describe`` in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas
from tests.support.golden import GOLDEN, at, case_input

GANG = GOLDEN / "commands/pictures"
POOL = GOLDEN / "commands/pool-describe"
STATE = GOLDEN / "commands/pool-list/cluster.json"
FORMATS = {"tree": "txt", "mermaid": "mmd", "dot": "dot", "svg": "svg", "html": "html", "json": "json"}
"""The formats of pictures, and how their files are called."""


def describe(*arguments: str | Path) -> Any:
    return kubectl_tas("-C", case_input(POOL), "pool", "describe", *arguments)


@pytest.mark.parametrize("output", FORMATS)
def test_golden_of_a_gang(output: str, snapshot: Any) -> None:
    result = kubectl_tas("-C", case_input(GANG), "workflow", "explain", "train", "-o", output)
    assert (result.code, result.err) == (0, "")
    assert result.out == snapshot(extension_class=at(GANG / f"output.{FORMATS[output]}"))


@pytest.mark.parametrize("output", [*FORMATS, "text"])
def test_golden_of_a_pool(output: str, snapshot: Any) -> None:
    result = describe("team", "-o", output, f"--cluster-state=prod={STATE}")
    assert result.code == 0, result.err
    name = "page.txt" if output == "text" else f"output.{FORMATS[output]}"
    assert result.out == snapshot(extension_class=at(POOL / name))


def test_many_tasks_that_are_alike_are_counted() -> None:
    shown = kubectl_tas("-C", case_input(GANG), "workflow", "explain", "train").out
    assert "and 21 more like shard-02 (the last is shard-23)" in shown
    assert "evaluator (1 GPU)" in shown
    assert "shard-17" not in shown


def test_data_has_all_tasks() -> None:
    found = json.loads(kubectl_tas("-C", case_input(GANG), "workflow", "explain", "train", "-o", "json").out)
    assert '"shard-17"' in json.dumps(found)


def test_a_subpool_is_drawn_alone() -> None:
    declared = describe("team--a", "-o", "tree")
    assert declared.out.startswith("Subpool:  team--a (subpools/team--a.yaml)\n")
    assert "Subpool a:" in declared.out
    assert "Pool team" not in declared.out


def test_what_is_used_is_what_the_repository_declares_unless_a_cluster_is_asked() -> None:
    declared = json.loads(describe("team", "-o", "json").out)
    held = json.loads(describe("team", "-o", "json", f"--cluster-state=prod={STATE}").out)
    assert (declared["usedFrom"], held["usedFrom"]) == ("declared", "cluster")
    assert [queue["used"] for queue in declared["queues"]] != [queue["used"] for queue in held["queues"]]


def test_archived_subpools_are_no_part_of_the_picture() -> None:
    assert "Subpool e" not in describe("team", "-o", "tree").out
    assert "Subpool e" in describe("team--e", "-o", "tree").out


def test_segments_of_a_pod_are_no_picture() -> None:
    result = kubectl_tas("-C", case_input(GANG), "workflow", "explain", "train", "--pod-index", "0", "-o", "svg")
    assert result.code == 2
