"""Tests placements by the settings of a SchedulingShard, against KAI's scheduler and in small cases."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.facts import kai, times
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.quantities import NO_LIMIT, Amounts, total
from kubectl_tas.model.scheduler_settings import SchedulerSettings, settings_of
from kubectl_tas.model.scheduling_shard import SchedulingShardSpec
from kubectl_tas.place import actions
from kubectl_tas.place.actions import Pending, Turn, TurnOutcome, pending
from kubectl_tas.place.fairshare import QueueTree, QuotaQueue
from kubectl_tas.place.min_runtimes import MinRuntimes
from kubectl_tas.place.node_cells import PlacementRequest, Unit
from kubectl_tas.place.node_resources import CPU, PODS, NodeResources
from kubectl_tas.place.queues import counted
from kubectl_tas.place.scheduling_session import SchedulingSession, SessionPod, ShardStart, Work
from kubectl_tas.place.unfollowed_settings import unfollowed
from tests.place.clusters import LEVELS, shape

ANSWERS = json.loads((Path(__file__).parent / "shard_clusters_of_kai_0_17.json").read_text())
"""Clusters with a shard made by chance, each with what the scheduler of KAI 0.17.0 does in one cycle with the
configuration that its operator makes of the shard: the nodes of the pods that start, the pods that end, those that
move, and by which action. Times are in minutes before now. Of 600 clusters that spread, 600 with minimum runtimes and
delays, and 300 with each action off KAI agrees for at least 99.7 % of the gangs whether they start; these are some.
"""
NOW = datetime(2026, 11, 1, 12)
CORES = 1000
Case = dict[str, Any]


def settings(**spec: Any) -> SchedulerSettings:
    return settings_of(SchedulingShardSpec.model_validate(spec), kai.release("0.17"))


def ago(minutes: int | None) -> datetime | None:
    return None if minutes is None else NOW - timedelta(minutes=minutes)


def amounts(gpus: int) -> Amounts:
    return Amounts(NO_LIMIT if gpus < 0 else gpus, NO_LIMIT, NO_LIMIT)


def queue(
    name: str, parent: str | None = None, quota: int = -1, limit: int = -1, weight: int = 1, priority: int = 100,
    number: int = 0, preempt: str = "", reclaim: str = "",
) -> QuotaQueue:  # fmt: skip
    created, runtimes = f"2026-01-01T00:{number:02}:00Z", (times.nanoseconds(text) for text in (preempt, reclaim))
    return QuotaQueue(name, parent, amounts(quota), amounts(limit), Amounts(weight, 1, 1), priority, created, *runtimes)


def gang(case: Case, name: str, queue: str, priority: int, pods: Sequence[tuple[str | None, int]], least: int) -> Work:
    """A gang of pods with as many GPUs and one core each, on nodes or not."""
    shapes = tuple(dict.fromkeys(shape(gpus, CORES) for _, gpus in pods))
    made = tuple(
        SessionPod(f"{name}-{number}", name, dict(shape(gpus, CORES).asks), shapes.index(shape(gpus, CORES)), node)
        for number, (node, gpus) in enumerate(pods)
    )
    wanted = PlacementRequest(Unit(name), shapes, settings=settings(**case["shard"]))
    return Work(name, queue, priority, priority < 100, (False, "", name), made, {name: least}, wanted, LEVELS)


def held(case: Case, number: int, one: Sequence[Any]) -> Work:
    name, queue, priority, pods, least, *started = one
    work = gang(case, name, queue, priority, pods, least)
    work.age, work.started = (False, f"{number:09}", name), ago(started[0] if started else None)
    return work


def job(case: Case, number: int, one: Sequence[Any]) -> Work:
    name, queue, priority, count, gpus, required, least, *times_of = one
    work = gang(case, name, queue, priority, [(None, gpus)] * count, least)
    work.age = True, f"{number:09}", name
    delay, waits, evicted = times_of or (None, 0, None)
    if delay:
        begin = ago(waits if evicted is None else min(waits, evicted))
        assert begin is not None
        work.delay_end = times.after(begin, times.nanoseconds(delay) or 0)
    if required is not None and settings(**case["shard"]).has("topology"):
        assert work.request is not None
        work.request = PlacementRequest(Unit(name, required), work.request.shapes, settings=work.request.settings)
    return work


def start_of(case: Case) -> ShardStart:
    pods = [(node, gpus) for one in case["held"] for node, gpus in one[3]]
    used, count = Counter[str](), Counter(node for node, _ in pods)
    for node, gpus in pods:
        used[node] += gpus
    nodes = []
    for name, place, gpus, cores in sorted(case["nodes"]):
        has = {GPU: gpus, CPU: cores * CORES, PODS: 110}
        free = {**has, GPU: gpus - used[name], CPU: (cores - count[name]) * CORES}
        nodes.append(NodeResources(name, dict(zip(LEVELS, place, strict=True)), has, free))
    tree = QueueTree(tuple(queue(*one) for one in case["queues"]))
    works = tuple(held(case, number, one) for number, one in enumerate(case["held"]))
    whole = total(counted(node.allocatable) for node in nodes)
    return ShardStart(tuple(nodes), whole, tree, works, settings(**case["shard"]), NOW)


def answer(case: Case) -> Pending:
    return pending(start_of(case), [job(case, number, one) for number, one in enumerate(case["jobs"])])


def turns(case: Case) -> dict[str, Turn]:
    return {turn.work.name: turn for turn in answer(case).turns}


@pytest.fixture
def one_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out what KAI starts in its next cycle."""
    allocate: Callable[..., bool] = actions._allocate

    def first(session: SchedulingSession, turns: dict[Work, Turn], outcome: TurnOutcome) -> bool:
        return outcome is TurnOutcome.STARTS and allocate(session, turns, outcome)

    monkeypatch.setattr(actions, "_allocate", first)


@pytest.mark.usefixtures("one_cycle")
@pytest.mark.by_chance(120)
@pytest.mark.parametrize("case", ANSWERS, ids=range(len(ANSWERS)))
def test_kai_does_the_same(case: Case) -> None:
    found = answer(case)
    everything = (*found.turns, *found.further)
    placed: dict[str, list[str]] = {}
    for turn in everything:
        if turn.placed:
            placed.setdefault(turn.work.name, []).extend(node for _, node, _ in turn.placed)
    gone = sorted(pod.name for turn in everything for batch in turn.evicted for pod in batch.pods)
    assert {name: sorted(nodes) for name, nodes in placed.items()} == case["placed"]
    assert gone == case["gone"]


ONE_NODE = {"nodes": [["n0", ["a", "1"], 8, 64]], "queues": [["top"], ["left", "top", 8], ["right", "top", 0]]}


def case(shard: Case, held: Sequence[Sequence[Any]] = (), jobs: Sequence[Sequence[Any]] = (), **more: Any) -> Case:
    return {**ONE_NODE, "shard": shard, "held": held, "jobs": jobs, **more}


def test_a_pod_without_gpus_goes_where_most_of_the_cores_are_free_if_work_is_spread() -> None:
    nodes = [["n0", ["a", "1"], 0, 8], ["n1", ["a", "1"], 0, 64]]
    running = [["h", "left", 125, [["n1", 0]] * 16, 16]]
    for strategy, node in (("binpack", "n0"), ("spread", "n0")):
        shard = {"placementStrategy": {"cpu": strategy}}
        found = turns(case(shard, running, [["g", "left", 100, 1, 0, None, 1]], nodes=nodes))
        assert [place[1] for place in found["g"].placed] == [node]
    more = [["h", "left", 125, [["n0", 0]], 1]]
    found = turns(
        case({"placementStrategy": {"cpu": "spread"}}, more, [["g", "left", 100, 1, 0, None, 1]], nodes=nodes)
    )
    assert [place[1] for place in found["g"].placed] == ["n1"]


def test_gpus_are_counted_by_the_label_of_the_gpu_operator() -> None:
    """Of eight GPUs of n0 four are healthy, so half of them are free; of n1's eight five are."""
    start = start_of(case({"placementStrategy": {"gpu": "spread"}}))
    has = {GPU: 4, CPU: 8 * CORES, PODS: 10}
    more = {GPU: 8, CPU: 8 * CORES, PODS: 10}
    nodes = (
        NodeResources("n0", {"zone": "a", "rack": "1", "nvidia.com/gpu.count": "8"}, has, has),
        NodeResources("n1", {"zone": "a", "rack": "1"}, more, {**more, GPU: 5}),
    )
    work = job(case({"placementStrategy": {"gpu": "spread"}}), 0, ["g", "left", 100, 1, 1, None, 1])
    (turn,) = pending(replace(start, nodes=nodes), [work]).turns
    assert [node for _, node, _ in turn.placed] == ["n1"]


def test_nothing_starts_without_the_action_allocate() -> None:
    found = turns(case({"actions": {"allocate": {"enabled": False}}}, jobs=[["g", "left", 100, 1, 1, None, 1]]))
    assert (found["g"].outcome, found["g"].placed) == (TurnOutcome.UNTRIED, ())


def test_with_a_depth_of_one_the_next_gang_of_a_queue_starts_in_the_next_cycle() -> None:
    jobs = [[name, "left", 100, 1, 2, None, 1] for name in ("a", "b")]
    found = turns(case({"queueDepthPerAction": {"allocate": 1}}, jobs=jobs))
    assert [found[name].outcome for name in "ab"] == [TurnOutcome.STARTS, TurnOutcome.LATER]


@pytest.mark.parametrize(("flag", "action"), [("0", ""), ("1", "consolidation"), ("many", "consolidation")])
def test_work_is_moved_if_the_flag_allows_it(flag: str, action: str) -> None:
    nodes = [["n0", ["a", "1"], 8, 64], ["n1", ["a", "1"], 8, 64]]
    running = [["x", "right", 50, [["n0", 4]], 1], ["y", "right", 50, [["n1", 4]], 1]]
    shard = {"args": {"max-consolidation-preemptees": flag}, "actions": {"reclaim": {"enabled": False}}}
    found = turns(case(shard, running, [["g", "left", 50, 1, 8, None, 1]], nodes=nodes))
    assert found["g"].action == action
    assert not found["g"].is_cut


@pytest.mark.parametrize(
    ("method", "queues"), [("lca", ["middle", "top"]), ("queue", ["leaf", "middle", "top"]), ("", ["middle", "top"])]
)
def test_the_queues_whose_time_counts_depend_on_the_method(method: str, queues: list[str]) -> None:
    """The two leaves part below ``top``."""
    tree = QueueTree((queue("top"), queue("middle", "top"), queue("leaf", "middle"), queue("other", "top")))
    arguments = {"reclaimResolveMethod": method} if method else {}
    shard = settings(plugins={"minruntime": {"arguments": arguments}})
    runtimes = MinRuntimes(shard, tree, NOW)
    assert [found.name for found in runtimes.reclaim_chain("other", "leaf")] == queues


@pytest.mark.parametrize(
    ("spec", "texts"),
    [
        ({}, []),
        ({"placementStrategy": {"gpu": "spread"}, "args": {"v": "5"}}, []),
        ({"plugins": {"proportion": {"enabled": False}}}, ["the plugin proportion is off"]),
        ({"plugins": {"numa": {}, "gpuspread": {"enabled": True}}}, ["the plugin numa"]),
        ({"plugins": {"elastic": {"priority": 1750}}}, ["the plugin elastic before priority"]),
        ({"actions": {"preempt": {"priority": 900}}}, ["actions before allocate"]),
        (
            {"plugins": {"proportion": {"arguments": {"relcaimerSaturationMultiplier": "2"}}}},
            ["relcaimerSaturationMultiplier"],
        ),
        ({"usageDBConfig": {"clientType": "prometheus"}}, ["usageDBConfig"]),
        ({"scenarioSearchBudgets": {"maxJobSearchDuration": "1s"}}, ["scenarioSearchBudgets"]),
        ({"queueDepthPerAction": {"allocate": 1, "preempt": 4}}, ["a queueDepthPerAction of 4"]),
        ({"args": {"full-hierarchy-fairness": "false"}}, ["the flag full-hierarchy-fairness"]),
    ],
)
def test_what_is_not_followed_is_named(spec: Case, texts: list[str]) -> None:
    assert list(unfollowed(settings(**spec))) == texts
