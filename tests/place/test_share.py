"""Tests fair shares, the order of queues and their quotas against KAI's answers, and the rules in examples."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_tas.diagnostics import TasError
from kubectl_tas.place.fairshare import Queue, QueueTree, Ranked, Standing, fair_shares, refusal
from kubectl_tas.place.fairshare_report import Bound, Demand, divide
from kubectl_tas.place.queues import trees
from kubectl_tas.quantities import NO_LIMIT, UNLIMITED, Amount, Amounts

ANSWERS = json.loads((Path(__file__).parent / "shares_of_kai_0_17.json").read_text())
"""Trees, pairs and chains of queues made by chance, each with what KAI 0.17.0 answers: its fair share simulator level
by level, and the functions of its proportion plugin.
"""
ONE = ANSWERS["divisions"]


def amounts(told: list[float | None]) -> Amounts:
    gpu, cpu, memory = (NO_LIMIT if number is None else number for number in told)
    return Amounts(gpu, cpu, memory)  # type: ignore[arg-type]


def queue_of(told: list[Any]) -> Queue:
    name, parent, quota, limit, weight, priority, created = told
    return Queue(name, parent, amounts(quota), amounts(limit), amounts(weight), priority, created)


def standing(told: list[Any]) -> Standing:
    name, parent, quota, limit, priority, created, *rest = told
    return Standing(queue_of([name, parent, quota, limit, [1, 1, 1], priority, created]), *map(amounts, rest))


@pytest.mark.parametrize("case", ANSWERS["divisions"], ids=range(len(ANSWERS["divisions"])))
def test_kai_divides_the_same(case: dict[str, Any]) -> None:
    tree = QueueTree(tuple(map(queue_of, case["queues"])))
    asked = {name: amounts(told) for name, told in case["asked"].items()}
    found = fair_shares(amounts(case["capacity"]), tree, asked)
    assert {name: [float(x) for x in (a.gpu, a.cpu, a.memory)] for name, a in found.items()} == case["shares"]


@pytest.mark.parametrize("case", ANSWERS["orders"], ids=range(len(ANSWERS["orders"])))
def test_kai_takes_the_same_queue_first(case: dict[str, Any]) -> None:
    left, right, total = standing(case["left"]), standing(case["right"]), amounts(case["total"])
    first, second = Ranked(left, total), Ranked(right, total)
    assert (first < second, second < first) == (case["order"] < 0, case["order"] > 0)


@pytest.mark.parametrize("case", ANSWERS["quotas"], ids=range(len(ANSWERS["quotas"])))
def test_kai_refuses_the_same(case: dict[str, Any]) -> None:
    chain = list(map(standing, case["chain"]))
    found = refusal(chain, amounts(case["asked"]), preemptible=case["preemptible"])
    assert (found and [found.reason, found.queue]) == case["refusal"]


def gpus(quota: Amount = 0, limit: Amount = NO_LIMIT, weight: int = 1, **more: Any) -> Queue:
    """A queue that only GPUs matter to."""
    even = Amounts(weight, 1, 1)
    return Queue(quota=replace(UNLIMITED, gpu=quota), limit=replace(UNLIMITED, gpu=limit), weight=even, **more)


def shares(capacity: int, asked: dict[str, int], *queues: Queue) -> dict[str, Amount]:
    """GPUs by queue."""
    requests = {name: Amounts(number) for name, number in asked.items()}
    found = fair_shares(Amounts(capacity), QueueTree(queues), requests)
    return {name: amounts.gpu for name, amounts in found.items()}


def test_guarantees_come_first_then_priority_then_weight() -> None:
    queues = gpus(4, name="a"), gpus(weight=3, name="b"), gpus(name="c"), gpus(priority=200, name="first", limit=6)
    asked = dict.fromkeys(("a", "b", "c", "first"), 50)
    assert shares(20, asked, *queues) == {"a": 6, "b": 6, "c": 2, "first": 6}


def test_what_is_guaranteed_is_promised_though_it_is_not_there() -> None:
    assert shares(10, {"a": 9, "b": 9}, gpus(8, name="a"), gpus(8, name="b")) == {"a": 8, "b": 8}


def test_a_guarantee_that_nobody_asks_for_is_left_to_others() -> None:
    assert shares(10, {"a": 1, "b": 20}, gpus(8, name="a"), gpus(2, name="b")) == {"a": 1, "b": 9}


def test_of_equal_rests_the_older_queue_has_the_last_gpu_then_the_first_by_name() -> None:
    old, new = "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"
    asked = {"a": 9, "b": 9}
    assert shares(5, asked, gpus(name="a", created=new), gpus(name="b", created=old)) == {"a": 2, "b": 3}
    assert shares(5, asked, gpus(name="a", created=new), gpus(name="b", created=new)) == {"a": 3, "b": 2}


def test_a_queue_whose_parent_is_not_there_gets_nothing_and_nothing_is_below_it() -> None:
    assert shares(
        5, {"below": 3, "a": 9}, gpus(name="a"), gpus(name="b", parent="gone"), gpus(name="c", parent="b")
    ) == {"a": 5}


def test_a_long_chain_of_queues_and_amounts_beyond_any_cluster_are_divided() -> None:
    chain = tuple(gpus(name=f"q{index}", parent=f"q{index - 1}" if index else None) for index in range(3000))
    assert shares(5, {"q2999": 10**400}, *chain)["q2999"] == 5


@st.composite
def levels(draw: st.DrawFn) -> tuple[int, dict[str, int], tuple[Queue, ...]]:
    """What there is, what is asked for, and queues beside each other."""
    number, names = st.integers(0, 20), "abcdef"[: draw(st.integers(1, 6))]
    limits, weights, priorities = number | st.just(NO_LIMIT), st.integers(0, 3), st.sampled_from((100, 200))
    queues = (gpus(draw(number), draw(limits), draw(weights), name=name, priority=draw(priorities)) for name in names)
    return draw(number), {name: draw(number) for name in names}, tuple(queues)


@settings(max_examples=150, deadline=None)
@given(levels())
def test_nobody_gets_less_than_its_guarantee_or_more_than_it_may_have(told: Any) -> None:
    capacity, asked, queues = told
    found = shares(capacity, asked, *queues)
    wants = {queue.name: min(asked[queue.name], queue.limit.gpu) for queue in queues}
    least = {queue.name: min(wants[queue.name], queue.quota.gpu) for queue in queues}
    assert all(least[name] <= share <= wants[name] for name, share in found.items())
    assert sum(found.values()) <= max(capacity, sum(least.values()))
    for queue in queues:
        if found[queue.name] < wants[queue.name] and queue.weight.gpu:
            assert sum(found.values()) >= capacity, "something is left that somebody asks for"


@settings(max_examples=60, deadline=None)
@given(st.permutations(ONE[7]["queues"]))
def test_the_order_in_which_queues_are_told_changes_nothing(queues: list[Any]) -> None:
    asked = {name: amounts(told) for name, told in ONE[7]["asked"].items()}
    found = fair_shares(amounts(ONE[7]["capacity"]), QueueTree(tuple(map(queue_of, queues))), asked)
    assert {name: float(item.gpu) for name, item in found.items()} == {
        name: told[0] for name, told in ONE[7]["shares"].items()
    }


def test_of_two_queues_alike_the_first_by_name_goes_first() -> None:
    first, second = (Ranked(Standing(gpus(4, name=name), Amounts(4)), Amounts(8)) for name in "ab")
    assert (first < second, second < first, first < first) == (True, False, False)


def test_a_queue_that_leaves_out_a_resource_may_have_nothing_of_it() -> None:
    """As KAI reads it."""
    spec = {"resources": {"gpu": {"quota": 1.5, "limit": -1}}}
    (tree,) = trees([], [{"metadata": {"name": "a"}, "spec": spec}]).values()
    found = tree.by_name["a"]
    assert (float(found.quota.gpu), found.limit.gpu, found.weight.gpu) == (1.5, NO_LIMIT, 0)
    assert (found.quota.cpu, found.limit.memory, found.priority) == (0, 0, 100)


@pytest.mark.parametrize(
    "queue",
    [
        {},
        {"metadata": {"name": "a"}, "spec": 7},
        {"metadata": {"name": "a"}, "spec": {"priority": "high"}},
        {"metadata": {"name": "a"}, "spec": {"parentQueue": ["b"]}},
        {"metadata": {"name": "a"}, "spec": {"resources": {"gpu": {"quota": "many"}}}},
        {"metadata": {"name": "a"}, "spec": {"resources": {"gpu": {"quota": float("nan")}}}},
    ],
    ids=str,
)
def test_what_is_no_queue_is_said_so(queue: dict[str, Any]) -> None:
    with pytest.raises(TasError, match="Queue"):
        trees([], [queue])


def test_why_a_queue_gets_no_more() -> None:
    """A higher priority takes the rest first, and weights divide what it leaves."""
    queues = (
        gpus(priority=200, name="first", limit=6),
        gpus(name="equal"),
        gpus(name="content"),
        gpus(weight=0, name="weightless"),
    )
    asked = {"first": 9, "equal": 9, "content": 1, "weightless": 9}

    def bounds(capacity: int, **more: int) -> dict[str, Bound]:
        told = {name: Amounts(number) for name, number in {**asked, **more}.items()}
        found = divide(("b", None), QueueTree(queues), Amounts(capacity), Demand(told, {}, None), {})
        return {part.queue.name: part.bound("gpu") for part in found.parts}

    few = {"first": Bound.LIMIT, "equal": Bound.PRIORITY, "content": Bound.PRIORITY, "weightless": Bound.NO_WEIGHT}
    assert bounds(6) == few
    assert bounds(10) == {**few, "equal": Bound.WEIGHT, "content": Bound.ASKED}
    assert bounds(0) == dict.fromkeys(asked, Bound.NOTHING_LEFT)
