"""Tests what pages say of answers about nodes: words for parts, levels and amounts that are seldom met."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubectl_tas.compare.topology_drift import Condition, Use
from kubectl_tas.draw import capacitypages, fitpages, topologytables
from kubectl_tas.gangs.gang import Gang
from kubectl_tas.gpus import GPU
from kubectl_tas.place import solver
from kubectl_tas.place.answers import Fit, Outcome, Spread
from kubectl_tas.place.feasibility import Best, Lack, Shortage
from kubectl_tas.place.gangs_to_place import Unplaced
from kubectl_tas.place.grow import Growth, Waiting
from kubectl_tas.place.node_resources import CPU, Domain
from kubectl_tas.place.shapes import Rules, Shape
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.resolve.topologies import Level

RACK = Level("rack", "example.com/rack")
SENT = cast(Submission, SimpleNamespace(kind="Workflow", name="w", pool=SimpleNamespace(name="team")))
POD = Shape(((GPU, 8),), Rules())


def item(copies: int = 1) -> Unplaced:
    """A gang of four pods of 8 GPUs."""
    return Unplaced(SENT, Gang("all", 4, 4, 32), (RACK,), {None: (POD,) * 4}, re.compile(""), copies=copies)


def answer(outcome: Outcome = Outcome.NO_ROOM, copies: int = 1, **more: Any) -> Fit:
    given: dict[str, Any] = {"copies": copies, "running": 0, "nodes": 4, "unusable": {}, "placed": {}, **more}
    return Fit(item(copies), outcome, **given)


def facts(found: Fit) -> dict[str, str]:
    return {name.strip(): text for name, text in fitpages.about(found, "")}


def test_gangs_that_run_are_no_part_of_the_answer() -> None:
    some, none = (Fit(item(3), Outcome.FITS, left, 4 * (3 - left), 4, {}, {}) for left in (1, 3))
    assert facts(some)["Waits"] == "1 gang of 3, for which this is the answer"
    assert "Waits" not in facts(none)


@pytest.mark.parametrize("has_solver", [False, True])
def test_a_solver_is_offered_where_there_is_none(has_solver: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "is_installed", lambda: has_solver)
    assert ("Solver" in facts(answer(Outcome.UNKNOWN))) is not has_solver
    assert "Solver" not in facts(answer(Outcome.NO_ROOM))
    assert ("or" in facts(answer(Outcome.NO_ROOM))) is not has_solver


@pytest.mark.parametrize(
    ("domains", "text"),
    [(4, "r0 (1), r1 (1), r2 (1), r3 (1)"), (5, "r0 (1), r1 (1), r2 (1), r3 (1), 1 more domain")],
)
def test_four_domains_are_named_and_more_are_counted(domains: int, text: str) -> None:
    placed = {"all": dict.fromkeys(((f"r{number}",) for number in range(domains)), 1)}
    assert facts(answer(Outcome.FITS, placed=placed))["all"] == text


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
    found = answer(Outcome.FITS, spreads=(Spread(unit, RACK, 3),))
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
    assert fitpages.why(answer(shortage=short)) == text


def test_a_place_outside_of_the_topology_is_null_in_data() -> None:
    (found,) = fitpages.data([answer(Outcome.FITS, placed={"all": {None: 1, ("a",): 3}})])["gangs"]
    assert [(one["domain"], one["pods"]) for one in found["placed"]] == [(None, 1), (["a"], 3)]


def grown(**more: Any) -> Growth:
    return Growth((RACK,), ("a",), (), (item(),), 1, **more)


@pytest.mark.parametrize(
    ("growth", "text"),
    [
        (grown(), "no rack more"),
        (grown(more=2), "2 racks more"),
        (grown(more=2, at_once=False), "2 racks more, added one after the other"),
    ],
)
def test_racks_that_must_come_one_by_one_are_told_apart(growth: Growth, text: str) -> None:
    assert f"Needs:    {text}\n" in capacitypages.growth_text([("prod", growth)])


def test_where_nothing_waits_no_pool_is_named() -> None:
    nothing = Growth((), (), (), (), 0)
    assert capacitypages.growth_text([("prod", nothing)]) == (
        "Backend:  prod\nGangs:    0, of which none wait for room\nNeeds:    no node more\n"
    )
    (found,) = capacitypages.growth_data([("prod", nothing)], [])["clusters"]
    assert (found["pools"], found["level"]) == ([], None)
    (found,) = capacitypages.growth_data([("prod", grown())], [])["clusters"]
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
    text = capacitypages.growth_text([("prod", grown(waiting=(Waiting(item(), None, short),)))])
    assert text.endswith(f" waits{more}\n")


@pytest.mark.parametrize(
    ("condition", "cells"),
    [
        (None, ["-", "-", "-"]),
        (Condition("False", "AllAvailable"), ["False", "AllAvailable", "-"]),
        (Condition("True", "Unavailable", ("rack", "host")), ["True", "Unavailable", "rack,", "host"]),
    ],
)
def test_a_set_of_which_grove_says_nothing_has_empty_cells(condition: Condition | None, cells: list[str]) -> None:
    use = Use("ml", "chat", "racks", is_default=False, condition=condition)
    (row,) = topologytables.conditions([use]).splitlines()[1:]
    assert row.split() == ["racks", "ml/chat", *cells]
