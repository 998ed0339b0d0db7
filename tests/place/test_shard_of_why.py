"""Tests that ``why`` names the shard of the work's pool, and tells when the cluster has no such shard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas, write
from tests.support.whycauses import FILES, Item, recorded_causes, saved

SHARD = (
    "apiVersion: kai.scheduler/v1\nkind: SchedulingShard\nmetadata: {name: main}\nspec:\n"
    "  placementStrategy: {gpu: spread}\n"
)
(NOTHING,) = (cause for cause in recorded_causes() if cause.name == "no_scheduler_of_the_shard")


def shard(value: str) -> Item:
    spec: dict[str, Any] = {"partitionLabelValue": value}
    return {"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": {"name": "a"}, "spec": spec}


def asked(folder: Path, files: dict[str, str], *live: Item, output: str = "text") -> str:
    root = write(folder / "work", files)
    state = saved(folder / "state.json", [*NOTHING.items, *live])
    return kubectl_tas("-C", root, "why", NOTHING.work, f"--cluster-state={state}", "-o", output).out


def test_a_cluster_without_the_shard_is_the_cause(tmp_path: Path) -> None:
    out = asked(tmp_path, FILES, shard("other"))
    assert "1. No SchedulingShard of the cluster has " in out
    assert "so no scheduler places work of pool" in out
    assert "Apply such a SchedulingShard, or correct nodePool of the pool." in out


def test_without_knowledge_of_shards_nothing_else_is_told(tmp_path: Path) -> None:
    assert "SchedulingShard" not in asked(tmp_path, FILES)


@pytest.mark.parametrize("is_declared", [False, True])
def test_the_shard_of_the_pool_is_named(tmp_path: Path, *, is_declared: bool) -> None:
    pool_file = next(path for path, text in FILES.items() if "nodePool" in text)
    value = FILES[pool_file].partition("nodePool: ")[2].split()[0].strip("},")
    rest = "---\napiVersion: kai.scheduler/v1\nkind: SchedulingShard\nmetadata: {name: default}\n"
    text = f"{SHARD}  partitionLabelValue: {value}\n{rest}"
    files = {**FILES, **({"pools/shard.yaml": text} if is_declared else {})}
    out = asked(tmp_path, files, shard(value))
    assert ("main, which places GPUs by spread (pools/shard.yaml)" in out) == is_declared
    answer = json.loads(asked(tmp_path, files, shard(value), output="json"))
    assert answer["workflows"][0].get("shard") == ("main" if is_declared else None)
