"""Tests the forecast against KAI's scheduler, cycle for cycle, and its rules in small cases."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.quantities import total
from kubectl_tas.place.fairshare import QueueTree, QuotaQueue
from kubectl_tas.place.queues import counted
from kubectl_tas.place.scheduling_session import BEFORE_ALL, ShardStart
from kubectl_tas.place.timeline import (
    Forecast,
    GangForecast,
    Overlap,
    PlannedGang,
    RunLimit,
    StartOutcome,
    play,
)
from tests.place.test_actions import held, job, node, queue

ANSWERS = json.loads((Path(__file__).parent / "ends_of_kai_0_17.json").read_text())
"""Clusters, queues and gangs made by chance, each gang with the seconds that it runs, and with the gangs that run after
each end. The scheduler of KAI 0.17.0 answered: after each end, and once a minimum runtime had passed, it ran cycles
until none changed anything. An evicted pod was made again, younger than the others.
"""
HORIZON = 10**7


def queue_with_runtimes(case: Mapping[str, Any], name: str, *fields: Any) -> QuotaQueue:
    """A queue with the minimum runtimes that the case gives it, in seconds."""
    runtimes = [case[key][name] * 10**9 if name in case.get(key, ()) else None for key in ("preempt", "reclaim")]
    return replace(queue(name, *fields), preempt_min_runtime=runtimes[0], reclaim_min_runtime=runtimes[1])


def forecast(
    case: Mapping[str, Any], limits: Mapping[str, RunLimit] = {}, horizon: int = HORIZON, **plans: Mapping[str, Any]
) -> Forecast:  # fmt: skip
    """Plays a case; ``limits`` and ``plans``, further fields of a gang, stand for those that the case lacks."""
    running = [held(*one) for one in case["held"]]
    used = [(pod.node, pod.asks.get(GPU, 0)) for one in running for pod in one.pods]
    nodes = tuple(
        node(name, place, gpus, gpus - sum(takes for where, takes in used if where == name))
        for name, place, gpus in sorted(case["nodes"])
    )
    whole = total(counted(one.allocatable) for one in nodes)
    for one in running:
        one.started = BEFORE_ALL
    tree = QueueTree(tuple(queue_with_runtimes(case, *one) for one in case["queues"]))
    works = [*running, *(job(*one, age=age) for age, one in enumerate(case["jobs"]))]
    runtimes = case.get("runtimes", {})
    planned = [
        PlannedGang(work, limits.get(work.name) or RunLimit(run=runtimes.get(work.name)), **plans.get(work.name, {}))
        for work in works
    ]
    return play(ShardStart(nodes, whole, tree, tuple(running)), planned, horizon)


@pytest.mark.by_chance(20)
@pytest.mark.parametrize("case", ANSWERS, ids=range(len(ANSWERS)))
def test_the_same_gangs_run_after_each_end(case: dict[str, Any]) -> None:
    running, expected = dict(forecast(case).running), {time: set(names) for time, names in case["after"]}
    assert {time: running.get(time) for time in expected} == expected


ONE_NODE = {
    "nodes": [["n", ["a", "1"], 8]],
    "queues": [["top", None], ["left", "top", 8], ["right", "top", 8]],
    "held": [["old", "left", 100, "2026-01-01T00:00:00Z", [["n", 8]]]],
}


def case(jobs: Sequence[Sequence[Any]], **more: Any) -> dict[str, Any]:
    return {**ONE_NODE, "jobs": jobs, **more}


def gangs(found: Forecast) -> dict[str, GangForecast]:
    return {gang.name: gang for gang in found.gangs}


ONE = [["new", "left", 100, 1, 8]]


def test_a_gang_starts_when_another_one_ends_at_its_limit() -> None:
    new = gangs(forecast(case(ONE), {"old": RunLimit(run=100), "new": RunLimit(run=50)}))["new"]
    assert (new.outcome, new.starts, new.ends, new.cause.ended) == (StartOutcome.LATER, 100, 150, ("old",))


def test_a_gang_behind_one_without_a_limit_is_unknown_and_names_it() -> None:
    new = gangs(forecast(case(ONE), {"new": RunLimit(run=50)}))["new"]
    assert (new.outcome, new.starts, new.cause.ended) == (StartOutcome.UNKNOWN, None, ("old",))


def test_a_gang_for_which_empty_nodes_are_too_small_never_starts() -> None:
    assert gangs(forecast(case([["new", "left", 100, 2, 8]])))["new"].outcome is StartOutcome.NEVER


def test_the_horizon_is_a_bound() -> None:
    new = gangs(forecast(case(ONE), {"old": RunLimit(run=100)}, horizon=99))["new"]
    assert (new.outcome, new.cause.ended) == (StartOutcome.BEYOND, ("old",))


@pytest.mark.parametrize("limit", [RunLimit(patience=60), RunLimit(whole=60)])
def test_work_gives_up_before_it_starts(limit: RunLimit) -> None:
    new = gangs(forecast(case(ONE), {"old": RunLimit(run=100), "new": limit}))["new"]
    assert (new.outcome, new.starts, new.ends) == (StartOutcome.GIVES_UP, None, 60)


def test_the_time_to_wait_counts_from_the_creation() -> None:
    limits = {"old": RunLimit(run=100), "new": RunLimit(patience=60)}
    new = gangs(forecast(case(ONE), limits, new={"created": -30}))["new"]
    assert (new.outcome, new.ends) == (StartOutcome.GIVES_UP, 30)


@pytest.mark.parametrize(
    ("limit", "ends"),
    [
        (RunLimit(whole=60, attempts=3), 180),
        (RunLimit(whole=60, attempts=3, is_final=True), 60),
        (RunLimit(whole=900, patience=60, attempts=3, is_final=True), 180),
    ],
)
def test_work_that_waits_tries_again_as_its_controller_does(limit: RunLimit, ends: int) -> None:
    new = gangs(forecast(case(ONE), {"old": RunLimit(run=500), "new": limit}))["new"]
    assert (new.outcome, new.ends) == (StartOutcome.GIVES_UP, ends)


def test_pods_may_stay_for_a_while_after_the_last_attempt() -> None:
    limits = {"old": RunLimit(whole=100, attempts=2, lingers=30), "new": RunLimit(run=10)}
    found = gangs(forecast(case([["new", "left", 90, 1, 8]]), limits))
    assert (found["old"].ends, found["new"].starts) == (230, 230)


def test_the_limit_of_an_object_counts_from_its_creation_and_that_of_a_pod_from_its_start() -> None:
    found = gangs(
        forecast(
            case(ONE),
            {"old": RunLimit(pod=100), "new": RunLimit(whole=500, pod=1000)},
            old={"pods_since": {"old-0": -40}},
            new={"created": -200},
        )
    )
    assert (found["old"].ends, found["new"].starts, found["new"].ends) == (60, 60, 300)


def test_a_job_has_waves_and_retries() -> None:
    """Each pod of the second wave waits anew, and another gang may go first."""
    jobs = [["waves", "left", 100, 1, 8, None, 1], ["small", "left", 125, 1, 8]]
    limits = {"old": RunLimit(run=10), "waves": RunLimit(pod=100, again=2), "small": RunLimit(run=5)}
    found = gangs(forecast(case(jobs), limits, small={"comes": 50, "created": 50}))
    assert [(span.start, span.end) for span in found["waves"].spans] == [(10, 110), (115, 215), (215, 315)]
    assert found["small"].starts == 110


def test_an_evicted_gang_waits_anew_and_its_time_begins_anew() -> None:
    low = [["low", "left", 50, "2026-01-01T00:00:00Z", [["n", 8]]]]
    found = gangs(forecast(case(ONE, held=low), {"low": RunLimit(run=100), "new": RunLimit(run=30)}))
    assert [(span.start, span.end) for span in found["low"].spans] == [(0, 0), (30, 130)]
    assert (found["new"].starts, found["new"].cause.evicted, found["new"].cause.action) == (0, ("low",), "preempt")


def test_work_is_preempted_once_its_minimum_runtime_has_passed() -> None:
    low = [["low", "left", 50, "2026-01-01T00:00:00Z", [["n", 8]]]]
    found = gangs(forecast(case(ONE, held=low, preempt={"left": 60}), {"low": RunLimit(run=100)}))
    assert (found["new"].starts, found["new"].cause.evicted) == (60, ("low",))


def test_a_pod_that_nobody_makes_again_is_lost() -> None:
    low = [["low", "left", 50, "2026-01-01T00:00:00Z", [["n", 8]]]]
    found = gangs(forecast(case(ONE, held=low), {"low": RunLimit(run=100, is_remade=False)}))
    assert [(span.start, span.end) for span in found["low"].spans] == [(0, 0)]


@pytest.mark.parametrize(
    ("overlap", "outcome", "first_end"),
    [
        (Overlap.FORBID, StartOutcome.SKIPPED, 100),
        (Overlap.REPLACE, StartOutcome.AT_ONCE, 50),
        (Overlap.ALLOW, StartOutcome.LATER, 100),
    ],
)
def test_runs_of_a_schedule_overlap_as_it_says(overlap: Overlap, outcome: StartOutcome, first_end: int) -> None:
    jobs = [["first", "left", 100, 1, 8], ["second", "left", 100, 1, 8]]
    plans = {
        name: {"comes": comes, "created": comes, "series": "nightly", "overlap": overlap}
        for name, comes in (("first", 0), ("second", 50))
    }
    limits = dict.fromkeys(("first", "second"), RunLimit(run=100))
    found = gangs(forecast(case(jobs, held=[]), limits, **plans))
    assert (found["second"].outcome, found["first"].ends) == (outcome, first_end)


def test_the_same_input_has_the_same_forecast() -> None:
    for one in ANSWERS[:5]:
        first, second = (
            [(gang.name, gang.outcome, gang.starts, gang.ends, gang.spans) for gang in forecast(one).gangs]
            for _ in range(2)
        )
        assert first == second
