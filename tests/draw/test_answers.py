"""Tests what pages say of answers about nodes: words for parts, levels and amounts that are seldom met."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubectl_tas.compare.topology_drift import GroveCondition, TopologyUse
from kubectl_tas.draw import capacitypages, fitpages, topologytables
from kubectl_tas.draw.capacitypages import BackendGrowth, GrowthAnswer
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.gangs.gang import Gang
from kubectl_tas.place import solver
from kubectl_tas.place.answers import Fit, FitOutcome, Fits, Spread
from kubectl_tas.place.feasibility import Best, Lack, Shortage
from kubectl_tas.place.gangs_to_place import GangToPlace, LeftOut
from kubectl_tas.place.grow import ClusterGrowth, Waiting
from kubectl_tas.place.mending import PlacementChange
from kubectl_tas.place.node_resources import CPU, Domain
from kubectl_tas.place.shapes import PodShape, Rules
from kubectl_tas.report.json import as_json
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.resolve.topologies import Level

RACK = Level("rack", "example.com/rack")
SENT = cast(Submission, SimpleNamespace(kind="Workflow", name="w", pool=SimpleNamespace(name="team")))
POD = PodShape(((GPU, 8),), Rules())


def item(copies: int = 1) -> GangToPlace:
    """A gang of four pods of 8 GPUs."""
    return GangToPlace(SENT, Gang("all", 4, 4, 32), (RACK,), {None: (POD,) * 4}, re.compile(""), copies=copies)


def answer(outcome: FitOutcome = FitOutcome.NO_ROOM, copies: int = 1, **more: Any) -> Fit:
    given: dict[str, Any] = {"copies": copies, "running": 0, "nodes": 4, "unusable": {}, "placed": {}, **more}
    return Fit(item(copies), outcome, **given)


def facts(found: Fit) -> dict[str, str]:
    return {name.strip(): text for name, text in fitpages.about(found, "")}


ABOUT = [("Workflow", "w"), ("PodGroup", "all"), ("Asks", "4 pods with 32 GPUs")]
EVERY = ("Nodes", "4 of 4 can be used")
GROW = ("Helps", "no smaller change that was tried; more nodes: kubectl tas fit w --nodes n --grow")
FREE = ("or", "ask with a solver which nodes to free: pip install ortools")
CHANGES = (
    PlacementChange("admit", "do this", nodes=("n",)),
    PlacementChange("tasks", "or that", pods=("ns/p",), fewer=2),
)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (
            answer(FitOutcome.FITS, placed={"all": {("a",): 2, (): 1, None: 1}}),
            [
                EVERY,
                ("A placement exists", "yes"),
                ("KAI finds it", "yes"),
                ("  all", "a (2), any node (1), outside of the topology (1)"),
            ],
        ),
        (answer(FitOutcome.RUNS, running=4), [EVERY, ("Runs", "4 of 4 pods are on nodes already")]),
        (
            answer(
                FitOutcome.MISSED,
                best=((RACK, Best(("a",), 3)), (None, Best((), 4))),
                changes=CHANGES,
                running=1,
            ),
            [
                EVERY,
                ("Runs", "1 of 4 pods are on nodes already"),
                ("A placement exists", "yes"),
                ("KAI finds it", "no: KAI places groups alphabetically, without backtracking"),
                (
                    "Why",
                    "SubGroups go in the order of their names, the tightest domain first; "
                    "what one takes, another needs",
                ),
                ("Room", "for 3 in rack a, 4 on all nodes, of 4 pods"),
                ("Helps", "do this"),
                ("or", "or that"),
            ],
        ),
        (
            answer(FitOutcome.UNKNOWN, best=((RACK, Best(("rack-a",), 3)),)),
            [
                EVERY,
                ("A placement exists", "not known"),
                ("KAI finds it", "no"),
                ("Why", "each kind of pod has room by itself, but KAI's order finds no placement for all"),
                ("Room", "for 3 in rack-a, of 4 pods"),
                ("Solver", "none; ortools is one, which tells of pods that differ too"),
                GROW,
            ],
        ),
        (
            answer(
                FitOutcome.NO_ROOM,
                best=((RACK, Best(("a",), 0)),),
                lacks=(Lack(GPU, 8, 4),),
                unusable={"cordoned": 1, "not ready": 2},
            ),
            [
                ("Nodes", "1 of 4 can be used; 1 cordoned, 2 not ready"),
                ("A placement exists", "no"),
                ("KAI finds it", "no"),
                ("Why", "each part has room by itself, but not all of them at once"),
                ("Room", "for none of 4 pods"),
                ("Lacks", "no node has what a pod asks for: 8 GPUs, and the most that is free on one is 4"),
                GROW,
                FREE,
            ],
        ),
        (
            answer(FitOutcome.FITS, not_tried=RACK),
            [EVERY, ("A placement exists", "yes"), ("KAI finds it", "no")],
        ),
        (
            answer(FitOutcome.NO_ROOM, not_tried=RACK),
            [
                EVERY,
                ("A placement exists", "no"),
                ("KAI finds it", "no"),
                (
                    "Why",
                    "KAI places no gang that requires rack, since all nodes of the topology "
                    "are in one domain of a finer level",
                ),
                ("Room", "for none of 4 pods"),
                GROW,
                FREE,
            ],
        ),
    ],
)
def test_all_that_is_told_of_an_answer(found: Fit, told: list[tuple[str, str]]) -> None:
    assert fitpages.about(found, " --nodes n") == [*ABOUT, *told]


def test_gangs_that_are_alike_ask_together() -> None:
    some = GangToPlace(SENT, Gang("all", 4, 3, 32), (RACK,), {None: (POD,) * 3}, re.compile(""), copies=3)
    assert (
        facts(Fit(some, FitOutcome.FITS, 3, 0, 4, {}, {}))["Asks"]
        == "3 gangs, each of 4 pods with 32 GPUs; starts with 3"
    )


def test_all_data_of_an_answer() -> None:
    found = answer(
        FitOutcome.MISSED,
        copies=2,
        running=1,
        unusable={"cordoned": 1},
        placed={"all": {None: 1}},
        shortage=Shortage("all", RACK, 4, (Best(("a",), 3),)),
        best=((RACK, Best(("a",), 3)), (None, Best((), 4))),
        lacks=(Lack(GPU, 8, 4),),
        changes=CHANGES,
        spreads=(Spread("all", RACK, 2),),
        not_tried=RACK,
    )
    left = LeftOut(SENT, "why not")
    assert as_json(Fits([found, answer(FitOutcome.RUNS)], [left])) == {
        "version": 2,
        "gangs": [
            {
                "name": "w",
                "workflow": "w",
                "kind": "Workflow",
                "podGroup": "all",
                "copies": 2,
                "startsWith": 4,
                "pods": 4,
                "gpus": 32,
                "outcome": "missed",
                "why": "all 4 pods must share one rack: a has room for 3 of 4",
                "notTried": "rack",
                "levels": ["rack"],
                "nodes": {"all": 4, "unusable": {"cordoned": 1}},
                "placed": [{"part": "all", "domain": None, "pods": 1}],
                "notKept": [{"part": "all", "level": "rack", "domains": 2}],
                "shortage": {"part": "all", "level": "rack", "pods": 4, "best": [{"domain": ["a"], "pods": 3}]},
                "lacks": [{"resource": "nvidia.com/gpu", "asked": 8, "most": 4}],
                "best": [{"level": "rack", "domain": ["a"], "pods": 3}, {"level": None, "domain": [], "pods": 4}],
                "changes": [
                    {"kind": "admit", "text": "do this", "nodes": ["n"], "pods": [], "fewer": 0},
                    {"kind": "tasks", "text": "or that", "nodes": [], "pods": ["ns/p"], "fewer": 2},
                ],
            },
            {
                "name": "w",
                "workflow": "w",
                "kind": "Workflow",
                "podGroup": "all",
                "copies": 1,
                "startsWith": 4,
                "pods": 4,
                "gpus": 32,
                "outcome": "runs",
                "why": None,
                "notTried": None,
                "levels": ["rack"],
                "nodes": {"all": 4, "unusable": {}},
                "placed": [],
                "notKept": [],
                "shortage": None,
                "lacks": [],
                "best": [],
                "changes": [],
            },
        ],
        "leftOut": [{"kind": "Workflow", "name": "w", "reason": "why not"}],
    }


def test_gangs_that_run_are_no_part_of_the_answer() -> None:
    some, none = (Fit(item(3), FitOutcome.FITS, left, 4 * (3 - left), 4, {}, {}) for left in (1, 3))
    assert facts(some)["Waits"] == "1 gang of 3, for which this is the answer"
    assert "Waits" not in facts(none)


@pytest.mark.parametrize("has_solver", [False, True])
def test_a_solver_is_offered_where_there_is_none(has_solver: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "is_installed", lambda: has_solver)
    assert ("Solver" in facts(answer(FitOutcome.UNKNOWN))) is not has_solver
    assert "Solver" not in facts(answer(FitOutcome.NO_ROOM))
    assert ("or" in facts(answer(FitOutcome.NO_ROOM))) is not has_solver


@pytest.mark.parametrize(
    ("domains", "text"),
    [(4, "r0 (1), r1 (1), r2 (1), r3 (1)"), (5, "r0 (1), r1 (1), r2 (1), r3 (1), 1 more domain")],
)
def test_four_domains_are_named_and_more_are_counted(domains: int, text: str) -> None:
    placed = {"all": dict.fromkeys(((f"r{number}",) for number in range(domains)), 1)}
    assert facts(answer(FitOutcome.FITS, placed=placed))["all"] == text


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (("zone-1", "rack-7"), ()),
        (("zone-1", "RACK7"), ()),
        (("rack-1", "r7"), ("rack",)),
        (("zone-1", "rackspace-7"), ("rack",)),
        (("zone-1", "my-rack-7"), ("rack",)),
        ((), ("rack",)),
        (None, ("rack",)),
    ],
)
def test_a_level_is_named_unless_the_domain_says_it(domain: Domain | None, words: tuple[str, ...]) -> None:
    assert fitpages.level_words("rack", domain) == words


@pytest.mark.parametrize(("unit", "who"), [("all", "the gang"), ("readers", "readers")])
def test_who_is_spread_is_named(unit: str, who: str) -> None:
    found = answer(FitOutcome.FITS, spreads=(Spread(unit, RACK, 3),))
    assert facts(found)["Not kept"] == f"{who} prefers one rack, and is in 3"


@pytest.mark.parametrize(
    ("lack", "text"),
    [
        (Lack(GPU, 1, 0), "1 GPU, and the most that is free on one is 0"),
        (Lack(CPU, 1500, 500), "1.5 of cpu, and the most that is free on one is 500m"),
        (Lack("memory", 2**31, 2**30), "2Gi of memory, and the most that is free on one is 1Gi"),
        (Lack("example.com/nic", 2048, 1), "2048 of example.com/nic, and the most that is free on one is 1"),
    ],
)
def test_what_no_node_has_enough_of_is_told_in_its_unit(lack: Lack, text: str) -> None:
    assert fitpages.lacks_text([lack]) == f"no node has what a pod asks for: {text}"


@pytest.mark.parametrize(
    ("short", "text"),
    [
        (Shortage("all", RACK, 4, ()), "all 4 pods must share one rack, and no node is in any"),
        (Shortage("all", RACK, 1, ()), "its 1 pod must share one rack, and no node is in any"),
        (Shortage("readers", RACK, 2, ()), "2 pods of readers must share one rack, and no node is in any"),
        (
            Shortage("readers", RACK, 2, (Best(("a",), 1),)),
            "2 pods of readers must share one rack: a has room for 1 of 2",
        ),
        (Shortage("all", None, 4, (Best((), 3),)), "the nodes have room for 3 of all 4 pods"),
    ],
)
def test_the_part_without_room_is_named(short: Shortage, text: str) -> None:
    assert answer(shortage=short).why == text


def test_a_place_outside_of_the_topology_is_null_in_data() -> None:
    (found,) = as_json(Fits([answer(FitOutcome.FITS, placed={"all": {None: 1, ("a",): 3}})], []))["gangs"]
    assert [(one["domain"], one["pods"]) for one in found["placed"]] == [(None, 1), (["a"], 3)]


def grown(**more: Any) -> ClusterGrowth:
    return ClusterGrowth((RACK,), ("a",), (), (item(),), 1, **more)


@pytest.mark.parametrize(
    ("growth", "text"),
    [
        (grown(), "no rack more"),
        (grown(racks_needed=2), "2 racks more"),
        (grown(racks_needed=2, at_once=False), "2 racks more, added one after the other"),
    ],
)
def test_racks_that_must_come_one_by_one_are_told_apart(growth: ClusterGrowth, text: str) -> None:
    assert f"Needs:    {text}\n" in capacitypages.growth_text([BackendGrowth("prod", growth)])


def test_all_that_is_told_of_growth() -> None:
    node, many = cast(Any, SimpleNamespace(allocatable={GPU: 8})), item(3)
    waiting = (Waiting(many, 1), Waiting(many, 2), Waiting(item(), None, None, (Lack(GPU, 8, 4),)))
    growth = ClusterGrowth(
        (RACK,), ("a",), (node, node), (many, item()), 4, racks_needed=2, at_once=False, waiting=waiting
    )
    assert (
        capacitypages.growth_text(
            [
                BackendGrowth("prod", growth),
                BackendGrowth("lab", ClusterGrowth((RACK,), (), (), (item(),), 1, missing=RACK)),
            ]
        )
        == """\
Backend:  prod
Pool:     team
Gangs:    4, of which 3 wait for room
A rack:   2 nodes with 16 GPUs, like a
Needs:    2 racks more, added one after the other, but for what never goes
Filled:   what has room now takes it first, then by priority and name
  w:      goes with 2 racks more, 2 of its 3 gangs
  w:      no rack like this helps: no node has what a pod asks for: 8 GPUs, and the most that is free on one is 4

Backend:  lab
Pool:     team
Gangs:    1, of which none wait for room
Needs:    not known: no node has the label example.com/rack of level rack
"""
    )
    one = {"name": "w", "workflow": "w", "kind": "Workflow", "podGroup": "all"}
    assert as_json(GrowthAnswer([BackendGrowth("prod", growth)], [LeftOut(SENT, "why not")])) == {
        "version": 2,
        "clusters": [
            {
                "backend": "prod",
                "pools": ["team"],
                "level": "rack",
                "like": ["a"],
                "nodes": 2,
                "gpus": 16,
                "missingLabel": None,
                "gangs": 4,
                "more": 2,
                "atOnce": False,
                "waiting": [
                    {**one, "copies": 2, "more": 2, "lacks": []},
                    {**one, "copies": 1, "more": None, "lacks": [{"resource": GPU, "asked": 8, "most": 4}]},
                ],
            }
        ],
        "leftOut": [{"kind": "Workflow", "name": "w", "reason": "why not"}],
    }


def test_where_nothing_waits_no_pool_is_named() -> None:
    nothing = ClusterGrowth((), (), (), (), 0)
    assert capacitypages.growth_text([BackendGrowth("prod", nothing)]) == (
        "Backend:  prod\nGangs:    0, of which none wait for room\nNeeds:    no node more\n"
    )
    (found,) = as_json(GrowthAnswer([BackendGrowth("prod", nothing)], []))["clusters"]
    assert (found["pools"], found["level"]) == ([], None)
    (found,) = as_json(GrowthAnswer([BackendGrowth("prod", grown())], []))["clusters"]
    assert (found["pools"], found["level"]) == (["team"], "rack")


@pytest.mark.parametrize(
    ("short", "more"),
    [
        (None, ""),
        (Shortage("all", None, 4, (Best((), 3),)), ""),
        (Shortage("all", RACK, 4, ()), ""),
        (Shortage("all", RACK, 4, (Best(("a",), 0),)), ": it has room for none of its pods"),
        (Shortage("all", RACK, 4, (Best(("a",), 3),)), ": all 4 pods must share one rack, and one has room for 3"),
    ],
)
def test_why_no_rack_helps_is_told_where_it_is_known(short: Shortage | None, more: str) -> None:
    text = capacitypages.growth_text([BackendGrowth("prod", grown(waiting=(Waiting(item(), None, short),)))])
    assert text.endswith(f" waits{more}\n")


@pytest.mark.parametrize(
    ("condition", "cells"),
    [
        (None, ["-", "-", "-"]),
        (GroveCondition("False", "AllAvailable"), ["yes", "AllAvailable", "-"]),
        (GroveCondition("True", "Unavailable", ("rack", "host")), ["no", "Unavailable", "rack,", "host"]),
    ],
)
def test_a_set_of_which_grove_says_nothing_has_empty_cells(condition: GroveCondition | None, cells: list[str]) -> None:
    use = TopologyUse("ml", "chat", "racks", is_default=False, condition=condition)
    (row,) = topologytables.conditions([use]).splitlines()[1:]
    assert row.split() == ["racks", "ml/chat", *cells]
