"""Tests placements of workloads that the release of their backend cannot express."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.kinds import LEVELS, SEGMENTS, config, job, leader_worker, pytorch

RACK = {"kai.scheduler/topology-required-placement": "rack"}
ELSEWHERE = {"kai.scheduler/topology": "other", **RACK}
DEFAULT = config("0.17").replace('version: "0.17"', "type: default")


def validate(root: Path, tas: str, pools: str, workload: str) -> str:
    write(root, {"tas.yaml": tas, "pools/p.yaml": pools, "workflows/w.yaml": workload})
    return kubectl_tas("validate", "-C", root).out


@pytest.mark.parametrize("workload", [job("parallelism: 4", annotations=ELSEWHERE), pytorch(8, ELSEWHERE)])
def test_a_placement_that_a_release_cannot_express(repository: Path, workload: str) -> None:
    out = validate(repository, config("0.8"), pool(), workload)
    assert "kai.scheduler/topology-required-placement here needs KAI 0.9 or later" in out
    assert "runs 0.8 [version-unsupported]" in out
    assert "[version-unsupported]" not in validate(repository, config("0.14"), pool(), workload)


@pytest.mark.parametrize("workload", [pytorch(8, RACK), leader_worker(5, RACK)])
@pytest.mark.parametrize("version", ["0.9", "0.10", "0.17"])
def test_a_placement_of_a_part_that_no_release_reads(repository: Path, version: str, workload: str) -> None:
    assert "[placement-unsupported]" in validate(repository, config(version), pool(spec=LEVELS), workload)


def test_the_workload_itself_where_kai_has_no_topologies(repository: Path) -> None:
    workload = pytorch(8, own=ELSEWHERE)
    assert "needs KAI 0.9 or later" in validate(repository, config("0.8"), pool(), workload)
    assert "[version-unsupported]" not in validate(repository, config("0.9"), pool(), workload)


def test_a_pool_whose_topology_is_refused_says_it_once(repository: Path) -> None:
    out = validate(repository, config("0.8"), pool(spec=LEVELS), job("parallelism: 4", annotations=RACK))
    assert out.count("[version-unsupported]") == 1


def test_another_scheduler_knows_no_placement(repository: Path) -> None:
    out = validate(repository, DEFAULT, pool(), pytorch(8, ELSEWHERE))
    assert 'a placement needs KAI Scheduler, but backend prod has scheduler type "default" [version-unsupported]' in out


def test_segments_that_no_preview_can_show(repository: Path) -> None:
    out = validate(repository, config("0.9"), pool(spec=LEVELS), pytorch(8, SEGMENTS))
    assert "[segment-unsupported]" in out
    assert "The preview leaves them out" in out


def test_an_empty_name_stands_for_the_topology_of_the_pool(repository: Path) -> None:
    empty = {"kai.scheduler/topology": "", **RACK}
    out = validate(repository, config("0.17"), pool(spec=LEVELS), job("parallelism: 4", annotations=empty))
    assert out.startswith("No problems")
    rendered = kubectl_tas("render", "--to", "-", "-C", repository).out
    assert 'kai.scheduler/topology: "osmo-pool-default-team-topology"' in rendered
