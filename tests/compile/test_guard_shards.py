"""Tests that the guard keeps rendered SchedulingShards as the repository declares them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.admission import Object, Request, refusals
from tests.support.golden import GOLDEN, case_input
from tests.support.pyyaml import safe_load_all

CASE = GOLDEN / "manifests/guard-shards"
SECOND = "the repository has shard training for this partitionLabelValue; with two, two schedulers would place"
DECLARED = "shard training is declared in a repository: change it there"


def shard(name: str, value: str | None = None, **spec: Any) -> Object:
    spec = spec | ({} if value is None else {"partitionLabelValue": value})
    return {"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def guard() -> list[Object]:
    folder = case_input(CASE).parent / "manifests" / "guard"
    return [item for path in sorted(folder.glob("*.yaml")) for item in safe_load_all(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        (Request("schedulingshards", shard("lab", "lab")), []),
        (Request("schedulingshards", shard("mine", "h100")), [SECOND]),
        (Request("schedulingshards", shard("mine", "h100"), may_change_policies=True), []),
        (Request("schedulingshards", shard("training", "h100")), [DECLARED]),
        (Request("schedulingshards", shard("training", "h100"), may_change_policies=True), []),
        (Request("schedulingshards", shard("training", "h100", kValue=2), shard("training", "h100")), [DECLARED]),
        (Request("schedulingshards", shard("lab", "h100"), shard("lab", "lab")), [SECOND]),
        (Request("schedulingshards", shard("other")), ["the repository has shard default"]),
    ],
    ids=[
        "another-value",
        "second",
        "renamed-by-gitops",
        "declared",
        "by-gitops",
        "changed",
        "changed-value",
        "no-value",
    ],
)
def test_only_who_may_change_policies_writes_declared_shards(
    guard: list[Object], request_: Request, wanted: list[str]
) -> None:
    messages = refusals(guard, request_)
    assert len(messages) == len(wanted)
    assert all(message.startswith(start) for message, start in zip(messages, wanted, strict=True))
