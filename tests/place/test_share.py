"""Tests fair shares, the order of queues and their quotas against KAI's answers, and the rules in examples."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_tas.compile.cluster_objects import compile_queues
from kubectl_tas.facts.quantities import NO_LIMIT, RESOURCES, UNLIMITED, Amount, Amounts
from kubectl_tas.model import manifest
from kubectl_tas.place.fairshare import (
    QueueTree,
    QuotaQueue,
    Ranked,
    Standing,
    UsageHistory,
    fair_shares,
    refusal,
    share_ranges,
)
from kubectl_tas.place.fairshare_report import QueueDemand, ShareBound, TargetKind, called, divide
from kubectl_tas.place.queues import trees
from kubectl_tas.place.shard_history import K_VALUE
from tests.support.cli import pool, subpool
from tests.support.fleets import fleet_of

ANSWERS = json.loads((Path(__file__).parent / "shares_of_kai_0_17.json").read_text())
"""Trees, pairs and chains of queues made by chance, each with what KAI 0.17.0 answers: its fair share simulator level
by level, and the functions of its proportion plugin.
"""
ONE = ANSWERS["divisions"]
BY_USAGE = json.loads((Path(__file__).parent / "shares_by_usage_of_kai_0_17.json").read_text())
"""Trees of queues made by chance, each with a kValue and past usage, and what the proportion plugin of KAI 0.17.0 makes
of them. Past usage changes each answer. In the last 80, KAI's own database added it up from a history, of which some
have a half-life. ``k`` is the argument of the plugin.
"""


def amounts(told: list[float | None]) -> Amounts:
    gpu, cpu, memory = (NO_LIMIT if number is None else number for number in told)
    return Amounts(gpu, cpu, memory)  # type: ignore[arg-type]


def queue_of(told: list[Any]) -> QuotaQueue:
    name, parent, quota, limit, weight, priority, created = told
    return QuotaQueue(name, parent, amounts(quota), amounts(limit), amounts(weight), priority, created)


def standing(told: list[Any]) -> Standing:
    name, parent, quota, limit, priority, created, *rest = told
    return Standing(queue_of([name, parent, quota, limit, [1, 1, 1], priority, created]), *map(amounts, rest))


@pytest.mark.parametrize("case", ANSWERS["divisions"], ids=range(len(ANSWERS["divisions"])))
def test_kai_divides_the_same(case: dict[str, Any]) -> None:
    tree = QueueTree(tuple(map(queue_of, case["queues"])))
    asked = {name: amounts(told) for name, told in case["asked"].items()}
    found = fair_shares(amounts(case["capacity"]), tree, asked)
    assert {name: [float(x) for x in (a.gpu, a.cpu, a.memory)] for name, a in found.items()} == case["shares"]


@pytest.mark.parametrize("case", BY_USAGE, ids=range(len(BY_USAGE)))
def test_kai_divides_the_same_by_past_usage(case: dict[str, Any]) -> None:
    tree = QueueTree(tuple(map(queue_of, case["queues"])))
    requested = {name: amounts(told) for name, told in case["asked"].items()}
    past_usage = {name: dict(zip(RESOURCES, told, strict=True)) for name, told in case["usage"].items()}
    history = UsageHistory(float(case["k"] or K_VALUE), past_usage)
    divided = fair_shares(amounts(case["capacity"]), tree, requested, history)
    assert {name: [float(x) for x in (a.gpu, a.cpu, a.memory)] for name, a in divided.items()} == case["shares"]
    assert fair_shares(amounts(case["capacity"]), tree, requested) != divided


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


def gpus(quota: Amount = 0, limit: Amount = NO_LIMIT, weight: int = 1, **more: Any) -> QuotaQueue:
    """A queue that only GPUs matter to."""
    even = Amounts(weight, 1, 1)
    return QuotaQueue(quota=replace(UNLIMITED, gpu=quota), limit=replace(UNLIMITED, gpu=limit), weight=even, **more)


def shares(capacity: int, asked: dict[str, int], *queues: QuotaQueue) -> dict[str, Amount]:
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


def test_a_queue_that_used_much_borrows_less_but_keeps_its_guarantee() -> None:
    queues = QueueTree((gpus(4, name="a"), gpus(4, name="b"), gpus(name="c")))
    requests = dict.fromkeys("abc", Amounts(50))

    def divided(k_value: float, **past_usage: float) -> list[Amount]:
        history = UsageHistory(k_value, {name: {"gpu": used} for name, used in past_usage.items()})
        return [share.gpu for share in fair_shares(Amounts(20), queues, requests, history).values()]

    assert divided(0, a=1) == divided(5) == [8, 8, 4]
    assert divided(1, a=0.3) == [6, 9, 5]
    assert divided(10, a=1) == [4, 10, 6]


@pytest.mark.parametrize("case", [case for case in BY_USAGE if case["k"]][::10])
def test_past_usage_leads_to_no_share_outside_of_the_range(case: dict[str, Any]) -> None:
    """But for the GPU that rounding moves."""
    tree = QueueTree(tuple(map(queue_of, case["queues"])))
    requests = {name: amounts(told) for name, told in case["asked"].items()}
    capacity, k_value = amounts(case["capacity"]), float(case["k"])
    ranges = share_ranges(capacity, tree, requests, k_value)
    for name in [None, *(name for name in tree.by_name if tree.is_leaf(name))]:
        past_usage = {queue.name: {"gpu": 1.0} for queue in (tree.chain(name) if name else ())}
        for queue, share in fair_shares(capacity, tree, requests, UsageHistory(k_value, past_usage)).items():
            assert ranges[queue].least.gpu - 1 <= share.gpu <= ranges[queue].most.gpu + 1
            if queue == name:
                assert share.gpu == ranges[queue].least.gpu


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
def levels(draw: st.DrawFn) -> tuple[int, dict[str, int], tuple[QuotaQueue, ...]]:
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


def test_a_queue_of_a_cluster_is_read_as_kai_reads_it() -> None:
    """CPU in thousandths of a core, and memory in millions of bytes; a negative weight counts as none."""
    amounts_ = {"quota": 2000, "limit": 3000, "overQuotaWeight": 2}
    resources = {"gpu": {"quota": 8, "limit": 16, "overQuotaWeight": 3}, "cpu": amounts_, "memory": amounts_}
    spec = {"parentQueue": "top", "priority": 7, "resources": resources}
    made = {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"kai.scheduler/node-pool": "blue"}}
    (shard, tree), *_ = trees([], [{"metadata": made, "spec": spec}, {"metadata": {"name": "top"}}]).items()
    (queue,) = tree.queues
    assert (shard, queue.name, queue.parent, queue.priority, queue.created) == (
        "blue", "a", "top", 7, "2026-01-01T00:00:00Z",
    )  # fmt: skip
    assert (queue.quota, queue.limit, queue.weight) == (
        Amounts(8, 2000, 2000 * 10**6), Amounts(16, 3000, 3000 * 10**6), Amounts(3, 2, 2),
    )  # fmt: skip
    negative = {"metadata": {"name": "a"}, "spec": {"resources": {"gpu": {"overQuotaWeight": -3}}}}
    assert trees([], [negative])[None].queues[0].weight.gpu == 0


def test_a_rendered_queue_replaces_that_of_the_cluster_but_for_its_age() -> None:
    fleet = fleet_of({"pools/team.yaml": pool("team", 8, "  nodePool: blue\n")})
    rendered = [one for item in compile_queues(fleet) if isinstance(one := item.manifest, manifest.Queue)]
    there = [
        {"metadata": {"name": item.metadata.name, "creationTimestamp": f"2026-01-0{number}T00:00:00Z"}}
        for number, item in enumerate(rendered, start=1)
    ]
    found = trees(rendered, [*there[:1], {"metadata": {"name": "other"}}])
    assert {shard: [queue.name for queue in tree.queues] for shard, tree in found.items()} == {
        "blue": [item.metadata.name for item in rendered],
        None: ["other"],
    }
    assert [queue.created for queue in found["blue"].queues] == ["2026-01-01T00:00:00Z", *[""] * (len(rendered) - 1)]


def test_a_division_names_each_queue_and_says_what_is_left_beside_it() -> None:
    """Parents first, a pool's own queue before its subpools, and the others by name."""
    files = {
        "pools/team.yaml": pool("team", 8),
        "pools/alone.yaml": pool("alone", 4),
        "subpools/a.yaml": subpool("a", 2),
    }
    names = called(fleet_of(files), "default")
    assert {queue: (item.name, item.kind) for queue, item in names.items()} == {
        "osmo-default-default": ("all pools", TargetKind.ROOT),
        "osmo-pool-default-team": ("team", TargetKind.POOL),
        "osmo-pool-default-team--shared": ("team itself", TargetKind.OWN),
        "osmo-pool-default-team--a": ("team--a", TargetKind.SUBPOOL),
        "osmo-pool-default-alone": ("alone", TargetKind.POOL),
        "osmo-pool-default-alone--shared": ("alone", TargetKind.OWN),
    }
    assert called(fleet_of(files), "other") == {}
    tree = QueueTree(
        (
            gpus(name="osmo-pool-default-team", quota=8),
            gpus(name="osmo-pool-default-team--shared", quota=6, parent="osmo-pool-default-team"),
            gpus(name="osmo-pool-default-team--a", quota=2, weight=3, parent="osmo-pool-default-team"),
            gpus(name="first", quota=NO_LIMIT, priority=200, limit=2),
        )
    )
    asked = {"osmo-pool-default-team--shared": Amounts(9), "osmo-pool-default-team--a": Amounts(9), "first": Amounts(9)}
    found = divide(
        ("b", None), tree, Amounts(16), QueueDemand(asked, {"first": Amounts(1)}, {"first": Amounts(2)}), names
    )
    assert [
        (one.called.name, one.called.kind, one.requested.gpu, one.fixed.gpu, one.held and one.held.gpu)
        for one in found.queue_shares
    ] == [
        ("first", TargetKind.OTHER, 9, 1, 2),
        ("team", TargetKind.POOL, 18, 0, 0),
        ("team itself", TargetKind.OWN, 9, 0, 0),
        ("team--a", TargetKind.SUBPOOL, 9, 0, 0),
    ]
    assert [(one.guaranteed.gpu, one.share.gpu, one.borrowed.gpu) for one in found.queue_shares] == [
        (2, 2, 0), (8, 14, 6), (6, 7, 1), (2, 7, 5),
    ]  # fmt: skip
    remainders = [one.remainder for one in found.queue_shares]
    assert [(rest.whole.gpu, rest.available.gpu, rest.weights.gpu) for rest in remainders] == [
        (6, 6, 0), (6, 6, 1), (6, 6, 4), (6, 6, 4),
    ]  # fmt: skip
    assert [one.called.name for one in found.below("osmo-pool-default-team")] == ["team itself", "team--a"]
    assert [(one.called.name, depth) for one, depth in found.shown()] == [
        ("first", 0), ("team", 0), ("team itself", 1), ("team--a", 1),
    ]  # fmt: skip
    assert [(one.called.name, depth) for one, depth in found.shown(["team--a"])] == [("team--a", 0)]
    assert [(one.called.name, depth) for one, depth in found.shown(["team"])] == [
        ("team", 0), ("team itself", 1), ("team--a", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("others", "shown"),
    [
        ((), [("alone", 0), ("team", 0), ("team itself", 1), ("team--a", 1)]),
        (("x",), [("all pools", 0), ("alone", 1), ("team", 1), ("team itself", 2), ("team--a", 2), ("x", 0)]),
    ],
)
def test_users_see_no_queue_that_is_alone_above_or_below(others: Sequence[str], shown: list[tuple[str, int]]) -> None:
    files = {f"pools/{name}.yaml": pool(name, 8) for name in ("team", "alone")} | {"subpools/a.yaml": subpool("a", 2)}
    queues = [item.manifest for item in compile_queues(fleet_of(files)) if isinstance(item.manifest, manifest.Queue)]
    (tree,) = trees(queues, [{"metadata": {"name": name}} for name in others]).values()
    names = called(fleet_of(files), "default")
    found = divide(("default", None), tree, Amounts(16), QueueDemand({}, {}), names)
    assert [(one.called.name, depth) for one, depth in found.shown()] == shown
    assert found.by_queue["osmo-pool-default-team"].called.name == "team"
    assert found.by_queue["osmo-pool-default-team"].held is None


def test_why_a_queue_gets_no_more() -> None:
    """A higher priority takes the rest first, and weights divide what it leaves."""
    queues = (
        gpus(priority=200, name="first", limit=6),
        gpus(name="equal"),
        gpus(name="content"),
        gpus(weight=0, name="weightless"),
    )
    asked = {"first": 9, "equal": 9, "content": 1, "weightless": 9}

    def bounds(capacity: int, **more: int) -> dict[str, ShareBound]:
        told = {name: Amounts(number) for name, number in {**asked, **more}.items()}
        found = divide(("b", None), QueueTree(queues), Amounts(capacity), QueueDemand(told, {}, None), {})
        return {part.queue.name: part.bound("gpu") for part in found.queue_shares}

    few = {
        "first": ShareBound.LIMIT,
        "equal": ShareBound.PRIORITY,
        "content": ShareBound.PRIORITY,
        "weightless": ShareBound.NO_WEIGHT,
    }
    assert bounds(6) == few
    assert bounds(10) == {**few, "equal": ShareBound.WEIGHT, "content": ShareBound.ASKED}
    assert bounds(0) == dict.fromkeys(asked, ShareBound.NOTHING_LEFT)
