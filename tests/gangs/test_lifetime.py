"""Tests timeouts and exit codes as OSMO reads them."""

from __future__ import annotations

import pytest

from kubectl_tas.gangs.task_pods import job, rescheduled, seconds
from kubectl_tas.model.osmo_workflow import Task, Timeout
from kubectl_tas.model.pool_kinds import PoolSpec


def task(actions: dict[str, str | int]) -> Task:
    return Task.model_validate({"name": "Train_1", "image": "trainer:7", "exitActions": actions})


def pool(actions: dict[str, str | int]) -> PoolSpec:
    return PoolSpec.model_validate({"resources": {"gpu": {"guarantee": 1}}, "default_exit_actions": actions})


@pytest.mark.parametrize(
    ("written", "whole"),
    [
        ("2d", 172800),
        ("36h", 129600),
        ("90m", 5400),
        ("30s", 30),
        ("1500ms", 2),
        ("1us", 1),
        ("0s", 0),
        (90, 90),
        (1.5, 2),
        ("PT10S", 10),
        ("P1DT2H3M4.5S", 93785),
        ("P1D", 86400),
    ],
)
def test_a_timeout_in_seconds(written: str | float, whole: int) -> None:
    assert Timeout.model_validate({"exec_timeout": written}).exec_timeout == written
    assert seconds(written) == whole


@pytest.mark.parametrize("written", ["1.5h", "10h5m", "P", "PT", "P1H", "1w", "h", "-1s", "90", float("inf"), 10**10])
def test_what_is_no_timeout(written: str | float) -> None:
    with pytest.raises(ValueError, match="exec_timeout"):
        Timeout.model_validate({"exec_timeout": written})


@pytest.mark.parametrize(
    ("own", "of_the_pool", "codes"),
    [
        ({}, {}, ()),
        ({"RESCHEDULE": 137}, {}, (137,)),
        ({"reschedule": "1-3,9"}, {}, (1, 2, 3, 9)),
        ({"COMPLETE": "0-2", "RESCHEDULE": "1-3"}, {}, (3,)),
        ({"RESCHEDULE": "1-3", "FAIL": "2"}, {}, (1, 2, 3)),
        ({"RESCHEDULE": "0,254-2000,9-1"}, {}, (254, 255)),
        ({"FAIL": "5"}, {"RESCHEDULE": "4-6"}, (4, 6)),
    ],
)
def test_codes_that_are_rescheduled(
    own: dict[str, str | int], of_the_pool: dict[str, str | int], codes: tuple[int, ...]
) -> None:
    assert rescheduled(task(own), pool(of_the_pool)) == codes


def test_a_job_fails_for_good_by_all_other_codes() -> None:
    made = job(task({"RESCHEDULE": "3,1"}), pool({}), 5)
    assert made["backoffLimit"] == 5
    ignored, failing = made["podFailurePolicy"]["rules"]
    assert (ignored["action"], failing["action"]) == ("Ignore", "FailJob")
    assert failing["onExitCodes"] == {"containerName": "train-1", "operator": "NotIn", "values": [1, 3]}


@pytest.mark.parametrize(
    ("actions", "codes"),
    [({}, [137, 143]), ({"RESCHEDULE": "3"}, [3, 137, 143]), ({"FAIL": "137"}, [143]), ({"COMPLETE": "130-150"}, [])],
)
def test_a_preemptible_job_runs_again_when_it_is_killed(actions: dict[str, str | int], codes: list[int]) -> None:
    """KAI's evictor deletes the pod, and by default gives it no condition that tells why."""
    made = job(task(actions), pool({}), 5, is_preemptible=True)
    _, *rules = made["podFailurePolicy"]["rules"]
    assert made["backoffLimit"] == (5 if codes else 0)
    assert [rule["onExitCodes"]["values"] for rule in rules] == ([codes] if codes else [])


@pytest.mark.parametrize(("actions", "retries"), [({}, 0), ({"FAIL": "1-255"}, 0), ({"RESCHEDULE": "1-255"}, 5)])
def test_a_job_that_needs_no_rule_for_codes(actions: dict[str, str | int], retries: int) -> None:
    made = job(task(actions), pool({}), 5)
    assert made["backoffLimit"] == retries
    assert [rule["action"] for rule in made["podFailurePolicy"]["rules"]] == ["Ignore"]
