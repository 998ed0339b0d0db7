"""Tests the whole output of commands that list or describe what a repository declares, in each of their formats."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from tests.support.cli import kubectl_tas
from tests.support.golden import GOLDEN, at, case_input

CASE = GOLDEN / "commands/lists"
COMMANDS = {
    "keys.txt": "topology list --pool team",
    "keys.json": "topology list --pool team -o json",
    "subpools.txt": "subpool list",
    "subpools-wide.txt": "subpool list -o wide",
    "subpools.json": "subpool list -o json",
    "topologies.txt": "topology list -o wide",
    "topologies.json": "topology list -o json",
    "topology.txt": "topology describe racks",
    "usage.json": "topology usage -o json",
    "work.txt": "workflow list -o wide",
    "work.json": "workflow list -o json",
    "pool.txt": "pool describe team",
    "subpool.txt": "pool describe team--a",
    "subpool.json": "pool describe team--a -o json",
    "job.txt": "workflow explain sweep",
    "job.json": "workflow explain sweep -o json",
    "workflow.json": "workflow explain train -o json",
    "set.json": "workflow explain chat -o json",
    "admit.txt": "admit later",
    "admit.json": "admit later -o json",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_output(name: str, snapshot: Any) -> None:
    result = kubectl_tas("-C", case_input(CASE), *shlex.split(COMMANDS[name]))
    assert result.code == 0
    assert result.out == snapshot(extension_class=at(CASE / name))
