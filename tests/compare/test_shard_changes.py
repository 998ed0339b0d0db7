"""Tests that ``diff`` says which shards of KAI's scheduler change, and whom that concerns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas
from tests.support.golden import GOLDEN, case_input
from tests.support.history import commit

CASE = GOLDEN / "manifests/shards-rendered"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    import shutil

    shutil.copytree(case_input(CASE), tmp_path, dirs_exist_ok=True)
    commit(tmp_path)
    return tmp_path


def edit(root: Path, before: str, after: str) -> None:
    path = root / "pools/shards.yaml"
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


def test_a_changed_strategy_is_a_high_risk_and_names_pools_and_gpus(repository: Path) -> None:
    edit(repository, "gpu: spread, cpu: spread", "gpu: binpack, cpu: spread")
    out = kubectl_tas("diff", "--base", "HEAD", "-C", repository).out
    assert "placementStrategy.gpu spread -> binpack  pool serving (8 GPUs guaranteed)" in out
    assert "risk: high - shard default places otherwise (spread -> binpack): pool serving (8 GPUs guaranteed)" in out


def test_a_written_default_changes_nothing(repository: Path) -> None:
    edit(repository, "partitionLabelValue: h100", "partitionLabelValue: h100\n  placementStrategy: {gpu: binpack}")
    assert "shard" not in kubectl_tas("diff", "--base", "HEAD", "-C", repository).out.partition("Objects:")[0]


def test_a_removed_shard_is_a_high_risk_and_a_new_one_a_medium(repository: Path) -> None:
    text = (repository / "pools/shards.yaml").read_text(encoding="utf-8")
    (repository / "pools/shards.yaml").write_text(text.partition("---\n")[2], encoding="utf-8")
    pool_text = (repository / "pools/pools.yaml").read_text(encoding="utf-8")
    (repository / "pools/pools.yaml").write_text(pool_text.replace("nodePool: h100, ", ""), encoding="utf-8")
    assert (
        "shard training goes: pool nlp (16 GPUs guaranteed)"
        in kubectl_tas("diff", "--base", "HEAD", "-C", repository).out
    )
    commit(repository)
    (repository / "pools/shards.yaml").write_text(text, encoding="utf-8")
    (repository / "pools/pools.yaml").write_text(pool_text, encoding="utf-8")
    assert "1 shard is new" in kubectl_tas("diff", "--base", "HEAD", "-C", repository).out


def test_json_lists_the_changed_fields(repository: Path) -> None:
    edit(repository, "preemptMinRuntime: 30m", "preemptMinRuntime: 1h")
    answer = json.loads(kubectl_tas("diff", "--base", "HEAD", "-o", "json", "-C", repository).out)
    field = {"field": "minRuntime.preemptMinRuntime", "before": "30m", "after": "1h"}
    assert answer["shards"] == [{"shard": "training", "change": "changed", "fields": [field], "pools": ["nlp"]}]
