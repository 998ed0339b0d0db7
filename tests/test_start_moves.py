"""Tests by how much a change moves starts: with ``fit --grow``, ``pool plan --grow`` and ``diff --nodes``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.gangs.start_moves import MAX_MOVES, PlayedStart, StartMove, StartMoves
from tests.support.cli import kubectl_tas, pool, write
from tests.support.history import commit
from tests.test_forecast import LIMITED, job, node, nodes, repository

FOUR = {"a": job("a", 8, template=LIMITED), "b": job("b", 8, template=LIMITED), "c": job("c", 8), "d": job("d", 8)}


def moves(root: Path, *words: str) -> dict[str, tuple[int | None, int | None, int | None]]:
    """Returns for each gang the start before and after, and by how much it is earlier."""
    (scheduler,) = json.loads(kubectl_tas("-C", root, *words, "-o", "json", nodes(root)).out)["starts"]
    starts = "startsAfterSeconds"
    return {
        move["name"]: (move["before"][starts], move["after"][starts], move["earlierSeconds"])
        for move in scheduler["moves"]
    }


def test_racks_that_fit_adds_bring_starts_forward(tmp_path: Path) -> None:
    root = repository(tmp_path, **FOUR)
    assert moves(root, "fit", "--grow") == {
        "d": (None, 3600, None),
        "b": (3600, 0, 3600),
        "c": (7200, 3600, 3600),
    }
    out = kubectl_tas("-C", root, "fit", "--grow", nodes(root)).out
    assert "Starts on default with 3 nodes more:\n" in out
    assert "  d     team  unknown: c has no limit  after 1 h  -\n" in out


def test_racks_for_some_gangs_are_played_beside_all_other_work(tmp_path: Path) -> None:
    """Both starts are those of `forecast`: a goes first, although only b and c are asked about."""
    root = repository(tmp_path, **FOUR)
    assert moves(root, "fit", "b", "c", "--grow") == {"b": (3600, 0, 3600), "c": (7200, 3600, 3600)}


def test_without_limits_only_an_option_asks_for_what_is_unknown(tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8), b=job("b", 8))
    answer = kubectl_tas("-C", root, "fit", "--grow", nodes(root)).out
    assert "Starts" not in answer
    assert "unknown: a has no limit" in kubectl_tas("-C", root, "fit", "--grow", "--horizon=7d", nodes(root)).out
    assert moves(root, "fit", "--grow", "--assume=1h") == {"b": (3600, 0, 3600)}


def test_a_plan_is_for_nodes_and_for_a_guarantee(tmp_path: Path) -> None:
    root = repository(tmp_path, **FOUR)
    write(root, {"pools/team.yaml": pool(guarantee=8, spec="  namespaces: [team]\n")})
    assert moves(root, "pool", "plan", "--grow=1", "--assume=1h") == {}
    both = ("pool", "plan", "team", "--grow=1", "--quota=16", "--assume=1h")
    assert moves(root, *both) == {"b": (3600, 0, 3600), "d": (10800, 3600, 7200), "c": (7200, 3600, 3600)}
    result = kubectl_tas("-C", root, *both, nodes(root))
    assert "Starts on default with 1 node more and 16 GPUs guaranteed to team:\n" in result.out
    none = kubectl_tas("-C", root, "pool", "plan", "--grow=1", "--assume=1h", nodes(root))
    assert none.out.endswith("Starts on default with 1 node more: none moves\n")


def changed(root: Path, files: dict[str, str], count: int = 2) -> Path:
    """A repository with so many nodes, of which the files have changed since a commit."""
    items = [{**node(8), "metadata": {"name": f"n{number}"}} for number in range(count)]
    write(root, {"nodes.json": json.dumps({"items": items})})
    commit(root)
    return write(root, files)


def test_a_lower_quota_moves_starts(tmp_path: Path) -> None:
    lower = {"pools/team.yaml": pool(guarantee=8, spec="  namespaces: [team]\n")}
    root = changed(repository(tmp_path, **FOUR), lower)
    assert moves(root, "diff", "HEAD") == {"d": (3600, None, None), "b": (0, 3600, -3600), "c": (3600, 7200, -3600)}
    out = kubectl_tas("-C", root, "diff", "HEAD", nodes(root)).out
    assert "  b     team  at once    after 1 h                1 h later\n" in out
    assert out.endswith("risk: medium - 1 queue loses quota, 3 gangs start later\n")
    assert "starts" not in json.loads(kubectl_tas("-C", root, "diff", "HEAD", "-o", "json").out)


def test_a_change_that_moves_no_start_says_so(tmp_path: Path) -> None:
    root = changed(repository(tmp_path, **FOUR), {"workflows/e.yaml": job("e", 8)})
    result = kubectl_tas("-C", root, "diff", "HEAD", nodes(root))
    assert ("Starts that move" in result.out, "No start moves." in result.err) == (False, True)


WORKFLOW = """\
workflow:
  name: NAME
  pool: team
  timeout: {exec_timeout: HOURS}
  groups: [{name: g, tasks: [{name: a, image: i}]}]
resources: {default: {gpu: 8}}
"""


def workflow(name: str, hours: str) -> str:
    return WORKFLOW.replace("NAME", name).replace("HOURS", hours)


def test_what_a_change_restarts_runs_no_longer_under_its_old_name(tmp_path: Path) -> None:
    """Its PodGroup has another name after the change, and waits behind the gang that waited for it."""
    files = {"tas.yaml": "", "pools/team.yaml": pool(guarantee=8)}
    root = write(
        tmp_path, {**files, "workflows/old.yaml": workflow("old", "4h"), "workflows/a.yaml": workflow("a", "1h")}
    )
    group = json.loads(kubectl_tas("-C", root, "explain", "old", "-o", "json").out)["podGroups"][0]["name"]
    held = {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "annotations": {"pod-group-name": group}},
        "spec": {
            "nodeName": "n0",
            "schedulerName": "kai-scheduler",
            "containers": [{"name": "c", "resources": {"requests": {"nvidia.com/gpu": "8"}}}],
        },
        "status": {"phase": "Running", "startTime": "2026-11-29T03:00:00Z"},
    }
    changed(root, {"workflows/old.yaml": workflow("old", "2h")}, count=1)
    items = json.loads((root / "nodes.json").read_text())["items"]
    write(root, {"nodes.json": json.dumps({"items": [*items, held]})})
    assert moves(root, "diff", "HEAD", "--now=2026-11-29T04:00Z") == {"a": (10800, 0, 10800), "old": (0, 3600, -3600)}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit", "a", "--assume=1h"], "are for --grow"),
        (["pool", "plan", "--assume=1h"], "are for --grow and --quota"),
        (["pool", "plan", "--quota=1"], "--quota is for one POOL"),
        (["diff", "HEAD", "--assume=1h"], "need --nodes or a cluster"),
    ],
)
def test_options_that_have_no_effect_are_refused(words: list[str], message: str, tmp_path: Path) -> None:
    root = changed(repository(tmp_path, a=job("a", 8)), {})
    result = kubectl_tas("-C", root, *words)
    assert (result.code, message in result.err) == (2, True)


def test_the_list_is_bounded_and_counts_the_rest() -> None:
    def move(number: int) -> StartMove:
        starts = (PlayedStart("later", number + 1, ""), PlayedStart("at-once", 0, ""))
        return StartMove("Job", f"j{number}", f"j{number}", "team", *starts)

    starts = StartMoves("default", None, 1, False, "", tuple(map(move, range(MAX_MOVES + 5))))
    assert ([each.earlier for each in starts.listed[:2]], len(starts.listed), starts.more) == ([25, 24], MAX_MOVES, 5)


def test_gangs_that_nobody_knows_anything_of_are_counted(tmp_path: Path) -> None:
    jobs: dict[str, Any] = {name: job(name, 8) for name in "abc"}
    root = repository(tmp_path, **jobs)
    result = kubectl_tas("-C", root, "pool", "plan", "--grow=1", nodes(root))
    assert "  c     team  unknown: a and b have no limit  unknown  -\n" in result.out
    write(root, {"workflows/d.yaml": job("d", 8)})
    assert "  2 gangs  -     unknown: " in kubectl_tas("-C", root, "pool", "plan", "--grow=1", nodes(root)).out
