"""Tests the limit on the grace period of LOW work, which delays an eviction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.check.test_backdoors import JOB, SET, assert_found, put, validated
from tests.support.workloads import Object

FIELD = "terminationGracePeriodSeconds"
LOW = {"kubectl-tas/pool": "team", "kubectl-tas/priority": "LOW"}


def low(item: Object) -> Object:
    return put(item, "metadata labels", LOW)


@pytest.mark.parametrize(
    ("item", "path"), [(JOB, "spec template spec"), (SET, "spec template cliques 1 spec podSpec")], ids=["job", "set"]
)
@pytest.mark.parametrize(("most", "seconds"), [(None, 601), ("1h", 3601), ("30s", 31)])
def test_low_work_ends_in_time(repository: Path, item: Object, path: str, most: str | None, seconds: int) -> None:
    config = {"maxGracePeriod": most} if most else None
    late = put(low(item), f"{path} {FIELD}", seconds)
    assert_found(*validated(repository, late, config=config), FIELD, "eviction-slow", f"allows {most or '10m'}")
    in_time = put(late, f"{path} {FIELD}", seconds - 1)
    assert "eviction-slow" not in validated(repository, in_time, config=config)[0].out


@pytest.mark.parametrize("priority", ["NORMAL", "HIGH"])
def test_other_work_may_take_its_time(repository: Path, priority: str) -> None:
    item = put(JOB, "metadata labels", {**LOW, "kubectl-tas/priority": priority})
    assert "eviction-slow" not in validated(repository, put(item, f"spec template spec {FIELD}", 10**6))[0].out


@pytest.mark.parametrize("hook", [{"sleep": {"seconds": 9999}}, {"exec": {"command": ["sleep", "9999"]}}])
def test_a_hook_runs_within_that_time(repository: Path, hook: Any) -> None:
    """Kubelet kills the container at the end of the period, whatever the hook waits for."""
    item = put(low(JOB), "spec template spec containers 0 lifecycle", {"preStop": hook})
    assert "eviction-slow" not in validated(repository, item)[0].out


@pytest.mark.parametrize("written", ["forever", 1.5, None, {"a": 1}])
def test_what_is_no_number_is_for_others(repository: Path, written: Any) -> None:
    result, _ = validated(repository, put(low(JOB), f"spec template spec {FIELD}", written))
    assert "eviction-slow" not in result.out
