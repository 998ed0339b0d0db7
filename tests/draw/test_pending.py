"""Tests what the table of pending work says of each outcome of a gang's turn."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubectl_tas.draw import pendingtable
from kubectl_tas.draw.pendingtable import PendingAnswers, ShardAnswer
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.quantities import Amounts
from kubectl_tas.place.actions import Pending, Turn, TurnOutcome
from kubectl_tas.place.fairshare import QueueTree, QuotaQueue, QuotaRefusal
from kubectl_tas.place.gangs_to_place import GangToPlace
from kubectl_tas.place.node_cells import PlacementRequest, Unit
from kubectl_tas.place.scenarios import VictimPods
from kubectl_tas.place.schedulers import ShardScheduler
from kubectl_tas.place.scheduling_session import Place, SessionPod, ShardStart, Work
from kubectl_tas.place.shapes import PodShape, Rules
from kubectl_tas.report.json import as_json

NONE = Amounts()
TREE = QueueTree(
    tuple(
        QuotaQueue(name, parent, NONE, NONE, NONE, 100, "")
        for name, parent in (("all", None), ("own", "all"), ("split", "all"), ("low", "split"))
    )
)


def work(name: str, queue: str = "own", pods: int = 2, *, runs: bool = False) -> Work:
    members = tuple(SessionPod(f"{name}-{number}", name, {GPU: 8}) for number in range(pods))
    return Work(name, queue, 100, False, (not runs, "", name), members, {name: pods})


def on(one: Work, *domains: tuple[str, ...] | None) -> tuple[Place, ...]:
    """A node in each of the domains, for the first pods."""
    return tuple((pod, "n", domain) for pod, domain in zip(one.pods, domains, strict=False))


def scheduler(one: Work, shard: str | None = None, **sent: Any) -> ShardScheduler:
    about = {"kind": "Job", "name": "train", "target": "team--a", "priority": "NORMAL", "is_draining": False}
    about |= {"is_preemptible": False, **sent}
    wanted = PlacementRequest(Unit("u", pods=(0,) * len(one.pods)), (PodShape(((GPU, 8),), Rules()),))
    gang = SimpleNamespace(sent=SimpleNamespace(**about), group=None, copies=1, request=wanted, order=None)
    start = ShardStart((), Amounts(64), TREE, ())
    return ShardScheduler("prod", shard, start, (one,), {one.name: cast(GangToPlace, gang)}, (), {"own": "team--a"})


def found(turn: Turn) -> Pending:
    nothing = dict.fromkeys(TREE.by_name, NONE)
    return Pending(ShardStart((), Amounts(64), TREE, ()), nothing, nothing, nothing, (turn,), (), 0)


def said(turn: Turn, **sent: Any) -> str:
    """The last cell of its row."""
    table = pendingtable.render([ShardAnswer(scheduler(turn.work, **sent), found(turn))], " --live").splitlines()
    return table[4].split("  ")[-1]


MINE, OTHER = work("mine"), work("other", runs=True)
FURTHER = work("mine", runs=True)
WHOLE, PART = VictimPods(OTHER, OTHER.pods), VictimPods(OTHER, OTHER.pods[:1])


@pytest.mark.parametrize(
    ("turn", "text"),
    [
        (Turn(MINE, TurnOutcome.STARTS, on(MINE, ("a",), ("a",))), "starts in a"),
        (Turn(MINE, TurnOutcome.STARTS, on(MINE, ("a",))), "starts in a with 1 of its 2 pods"),
        (Turn(FURTHER, TurnOutcome.STARTS, on(FURTHER, ("a",))), "starts in a"),
        (Turn(MINE, TurnOutcome.STARTS, on(MINE, ("a",), None)), "starts in a and outside of the topology"),
        (
            Turn(MINE, TurnOutcome.STARTS, on(MINE, ("a",), ("b",)), action="preempt", evicted=(PART,)),
            "starts in a and b; others of its pods once 1 of 2 pods of other (8 GPUs of team--a) are preempted",
        ),
        (
            Turn(MINE, TurnOutcome.LATER, on(MINE, ("a",), ("a",))),
            "starts in a next, once what goes for others is gone",
        ),
        (
            Turn(MINE, TurnOutcome.EVICTS, on(MINE, ("a",), ("a",)), action="reclaim", evicted=(WHOLE,)),
            "starts in a once other (16 GPUs of team--a) is ended, since its pool holds more than its share",
        ),
        (Turn(MINE, TurnOutcome.WAITS, ahead=("other",)), "waits: the nodes that it would have go to other"),
        (Turn(MINE, TurnOutcome.WAITS), "waits: what starts before it leaves too little room"),
        (Turn(work("mine", "gone"), TurnOutcome.NO_QUEUE), "never starts: its queue is not there"),
        (
            Turn(work("mine", "split"), TurnOutcome.NO_QUEUE),
            "never starts: its queue has other queues below it, and KAI starts work of the lowest alone",
        ),
        (
            Turn(MINE, TurnOutcome.REFUSED, refusal=QuotaRefusal("OverLimit", "own", "gpu", 8, 0, 16)),
            "never starts: it asks for 16 GPUs, and the limit of team--a is 8",
        ),
        (
            Turn(MINE, TurnOutcome.REFUSED, refusal=QuotaRefusal("NonPreemptibleOverQuota", "own", "gpu", 16, 8, 16)),
            "waits for the quota of team--a: of 16 GPUs 8 are held, and it asks for 16 GPUs",
        ),
        (
            Turn(
                MINE,
                TurnOutcome.EVICTS,
                on(MINE, ("a",)),
                action="preempt",
                evicted=(WHOLE,),
                moved=(PART,),
                is_cut=True,
            ),
            "starts in a with 1 of its 2 pods once other (16 GPUs of team--a) is preempted, "
            "and 1 of 2 pods of other (8 GPUs of team--a) are moved to other nodes; KAI may end less",
        ),
        (
            Turn(MINE, TurnOutcome.WAITS, is_cut=True),
            "waits: what starts before it leaves too little room; KAI may end or move other work for it",
        ),
        (
            Turn(MINE, TurnOutcome.NO_ROOM, is_cut=True),
            "KAI finds no room on what is free, even for it alone; KAI may end or move other work for it; "
            "why: kubectl tas fit train --live",
        ),
        (
            Turn(MINE, TurnOutcome.WAITS, ahead=("a", "b", "c", "d", "e")),
            "waits: the nodes that it would have go to a, b, c and 2 more",
        ),
        (Turn(MINE, TurnOutcome.WAITS, ahead=("a", "b", "c")), "waits: the nodes that it would have go to a, b and c"),
        (
            Turn(
                MINE,
                TurnOutcome.REFUSED,
                ahead=("other",),
                refusal=QuotaRefusal("OverLimit", "all", "cpu", 16000, 8000, 16000),
            ),
            "waits for the limit of all: of 16 cpu 8 are held, other among them, and it asks for 16 cpu",
        ),
        (
            Turn(
                MINE, TurnOutcome.REFUSED, ahead=("other",), refusal=QuotaRefusal("OverLimit", "all", "gpu", 16, 8, 16)
            ),
            "waits for the limit of all: of 16 GPUs 8 are held, other among them, and it asks for 16 GPUs",
        ),
    ],
)
def test_what_becomes_of_a_gang_is_told(turn: Turn, text: str) -> None:
    assert said(turn) == text


@pytest.mark.parametrize(
    ("is_preemptible", "text"),
    [
        (False, "starts no more: team--a is DELETING, where only what runs may finish"),
        (True, "never starts: it asks for 16 GPUs, and the limit of team--a is 8"),
    ],
)
def test_only_work_with_a_quota_loses_it_where_a_subpool_is_deleting(is_preemptible: bool, text: str) -> None:
    turn = Turn(MINE, TurnOutcome.REFUSED, refusal=QuotaRefusal("OverLimit", "own", "gpu", 8, 0, 16))
    assert said(turn, is_draining=True, is_preemptible=is_preemptible) == text


@pytest.mark.parametrize(("shard", "head"), [(None, "prod: "), ("h100", "prod, shard h100: ")])
def test_the_shard_of_a_scheduler_is_named(shard: str | None, head: str) -> None:
    turn = Turn(MINE, TurnOutcome.WAITS, asks=Amounts(16))
    text = pendingtable.render([ShardAnswer(scheduler(MINE, shard), found(turn))], "")
    assert text.startswith(f"{head}64 GPUs, 0 held; 1 gang that waits for 16\n")


def test_data_says_where_pods_go_and_names_those_that_end_if_they_run() -> None:
    waiting = work("waiting")
    turn = Turn(
        MINE,
        TurnOutcome.EVICTS,
        on(MINE, ("a",), None),
        action="preempt",
        evicted=(PART, VictimPods(waiting, waiting.pods)),
    )
    answer = as_json(ShardAnswer(scheduler(MINE), found(turn)))
    (gang,) = answer["gangs"]
    assert [(one["domain"], one["pods"]) for one in gang["placed"]] == [(["a"], 1), (None, 1)]
    assert [(one["podGroup"], one["pods"], one["podCount"], one["podsOfGang"]) for one in gang["evicted"]] == [
        ("other", ["other-0"], 1, 2),
        ("waiting", [], 2, 2),
    ]


def whole() -> ShardAnswer:
    """Two gangs that wait, one that runs in two copies, and one that runs with more pods to come."""
    first = Turn(
        MINE, TurnOutcome.EVICTS, on(MINE, ("a",), ("a",)), Amounts(16), action="reclaim", moved=(PART,), is_cut=True
    )
    second = Turn(
        MINE,
        TurnOutcome.REFUSED,
        (),
        Amounts(16),
        QuotaRefusal("OverLimit", "all", "cpu", 16000, 8000, 16000),
        ("other",),
    )
    nothing = dict.fromkeys(TREE.by_name, NONE)
    held, asked, fair = ({**nothing, "own": Amounts(gpus)} for gpus in (8, 40, 32))
    more = Turn(FURTHER, TurnOutcome.STARTS, on(FURTHER, ("b",)))
    given = scheduler(MINE)
    runs = cast(
        GangToPlace, SimpleNamespace(**{**vars(given.gangs["mine"]), "copies": 3, "gang": SimpleNamespace(name="g")})
    )
    given = replace(given, running=((runs, ("g-0", "g-1")),))
    return ShardAnswer(given, Pending(given.start, fair, held, asked, (first, second), (more,), held=8))


def test_the_whole_table() -> None:
    lines = pendingtable.render([whole()], "").splitlines()
    assert [line.split("  ")[0].rstrip() for line in lines[:1]] == ["prod: 64 GPUs, 8 held; 2 gangs that wait for 32"]
    assert [re.split(" {2,}", line)[:6] for line in lines[2:8] if "--  --" not in line] == [
        ["#", "Name", "Pool", "Priority", "Pods", "GPUs"],
        ["1", "train", "team--a", "NORMAL", "2", "16"],
        ["2", "train", "team--a", "NORMAL", "2", "16"],
        ["-", "train", "team--a", "NORMAL", "2", "16"],
        ["-", "train", "team--a", "1", "8", "runs; 1 more pod: starts in b"],
    ]
    assert lines[6].endswith("  2 of 3 run")
    assert [re.split(" {2,}", line.strip()) for line in lines[-3:]] == [
        ["GPUs by pool:"],
        ["Pool", "Guarantee", "Holds", "Asks", "Fair share"],
        ["team--a", "0", "8", "40", "32"],
    ]


def test_all_data_of_a_scheduler() -> None:
    found = as_json(PendingAnswers([whole()], []))
    batch = {"podGroup": "other", "queue": "own", "priority": 100, "gpus": 8}
    nobody: dict[str, Any] = {"action": None, "evicted": [], "moved": [], "limited": False}
    names = {"kind": "Job", "name": "train", "workflow": "train"}
    gang = {**names, "podGroup": "mine", "queue": "own", "priority": "NORMAL"}
    assert (found["version"], found["leftOut"], len(found["schedulers"])) == (2, [], 1)
    (one,) = found["schedulers"]
    queues = one.pop("queues")  # type: ignore[misc]
    assert one == {
        "backend": "prod",
        "shard": None,
        "gpus": 64,
        "gangs": [
            {
                **gang,
                "pods": 2,
                "gpus": 16,
                "outcome": "evicts",
                "placed": [{"part": "mine", "domain": ["a"], "pods": 2}],
                "ahead": [],
                "refusal": None,
                "action": "reclaim",
                "evicted": [],
                "moved": [{**batch, "pods": ["other-0"], "podCount": 1, "podsOfGang": 2}],
                "limited": True,
            },
            {
                **gang,
                "pods": 2,
                "gpus": 16,
                "outcome": "refused",
                "placed": [],
                "ahead": ["other"],
                "refusal": {
                    "reason": "OverLimit",
                    "queue": "all",
                    "resource": "cpu",
                    "most": 16000,
                    "held": 8000,
                    "asked": 16000,
                },
                **nobody,
            },
        ],
        "running": [{"kind": "Job", "name": "train", "workflow": "train", "podGroup": "g", "gangs": 2}],
        "further": [
            {"podGroup": "mine", "queue": "own", "placed": [{"part": "mine", "domain": ["b"], "pods": 1}], **nobody}
        ],
    }
    assert [queue["name"] for queue in queues] == ["all", "own", "split", "low"]
    assert queues[1] == {
        "name": "own",
        "parent": "all",
        "guarantee": 0,
        "limit": 0,
        "holds": 8,
        "asks": 40,
        "fairShare": 32,
    }
