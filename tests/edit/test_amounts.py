"""Tests ``subpool create``, ``update`` and ``recreate`` with cpu and memory in addition to GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Result, kubectl_tas, write

POOL = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata: {name: team}
spec: {resources: {gpu: {guarantee: 100}, cpu: {guarantee: 2000}, memory: {guarantee: 8Ti}}}
"""
SUBPOOL = """\
apiVersion: tas/v1alpha1
kind: Subpool
metadata: {name: a}
spec:  # of research
  parent: team
  quota: 30  # until May
  state: ACTIVE
"""
NAMED = """\
  quota:
    gpu: 30
    cpu: "600"  # cores
"""


@pytest.fixture
def team(repository: Path) -> Path:
    return write(repository, {"pools/team.yaml": POOL, "subpools/a.yaml": SUBPOOL})


def run(root: Path, command: str) -> Result:
    return kubectl_tas("subpool", *command.split(), "-C", root)


@pytest.mark.parametrize(
    ("options", "quota"),
    [
        ("--quota 30", "30"),
        ("--quota 30 --cpu 600 --memory 2Ti", '{gpu: 30, cpu: 600, memory: "2Ti"}'),
        ("--quota 30 --cpu 500m", '{gpu: 30, cpu: "500m"}'),
        ("--quota 33%", '"33%"'),
        ("--quota 33% --cpu 600", '{gpu: "33%", cpu: 600, memory: "33%"}'),
        ("--quota 33% --cpu 33% --memory 33%", '"33%"'),
    ],
)
def test_create(team: Path, options: str, quota: str) -> None:
    result = run(team, f"create team b {options}")
    assert result.code == 0, result
    assert f"  quota: {quota}\n" in (team / "subpools/team--b.yaml").read_text()


@pytest.mark.parametrize(
    ("options", "quota"),
    [
        ("--quota 40", "40"),
        ("--cpu 600", "{gpu: 30, cpu: 600}"),
        ("--quota 40 --memory 2Ti", "{gpu: 40, memory: 2Ti}"),
        ("--quota 33%", "33%"),
    ],
)
def test_update_of_a_number(team: Path, options: str, quota: str) -> None:
    assert run(team, f"update team a {options}").code == 0
    text = (team / "subpools/a.yaml").read_text().replace('"', "")
    assert text == SUBPOOL.replace("quota: 30", f"quota: {quota}")


@pytest.mark.parametrize(
    ("options", "quota"),
    [
        ("--quota 40", NAMED.replace("30", "40")),
        ("--cpu 700", NAMED.replace('"600"', "700")),
        ("--memory 2Ti", f'{NAMED}    memory: "2Ti"\n'),
        ("--quota 20%", NAMED.replace("30", '"20%"').replace("600", "20%") + '    memory: "20%"\n'),
    ],
)
def test_update_of_named_resources(team: Path, options: str, quota: str) -> None:
    write(team, {"subpools/a.yaml": named(NAMED)})
    assert run(team, f"update team a {options}").code == 0
    assert (team / "subpools/a.yaml").read_text() == named(quota)


def named(quota: str) -> str:
    return SUBPOOL.replace("  quota: 30  # until May\n", quota)


def test_more_memory_than_the_pool_has(team: Path) -> None:
    result = run(team, "update team a --memory 9Ti")
    assert (result.code, result.out) == (1, "")
    assert "the subpools of pool team add up to 9Ti memory, but the pool is guaranteed 8Ti; a has 9Ti" in result.err
    assert (team / "subpools/a.yaml").read_text() == SUBPOOL


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("update team a", "name at least one of --quota, --cpu and --memory"),
        ("update team a --memory 2000", "neither a quantity with a unit such as 2Ti nor a share"),
        ("update team a --cpu 2Gi", "neither cores such as 600 nor a share"),
        ("create team b --cpu 3", "Missing option"),
    ],
)
def test_wrong_usage(team: Path, command: str, message: str) -> None:
    result = run(team, command)
    assert result.code == 2
    assert message in result.err


def test_recreate(team: Path) -> None:
    write(team, {"subpools/a.yaml": SUBPOOL.replace("ACTIVE", "ARCHIVED")})
    assert run(team, "recreate team a --cpu 100").code == 0
    assert (team / "subpools/a.yaml").read_text() == SUBPOOL.replace("quota: 30", "quota: {gpu: 30, cpu: 100}")
