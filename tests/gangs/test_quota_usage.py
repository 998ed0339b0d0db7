"""Tests the accounts of pools: what each is guaranteed, holds and has left, and the sums of a cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_tas.facts.quantities import NO_LIMIT, Amounts
from kubectl_tas.gangs.quota_usage import Account, accounts, depths, totals
from kubectl_tas.resolve.fleet import Fleet
from tests.gangs.test_admission import Used, job
from tests.support.cli import pool, subpool
from tests.support.fleets import fleet_of

QUEUE = "osmo-pool-default"


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    """Pools below another one, a pool with subpools in each state, and work in most of them."""
    bounds = "      maximum: 120\n      weight: 2\n"
    return fleet_of(
        {
            "pools/o.yaml": pool("org", spec=bounds),
            "pools/t.yaml": pool("team", 60, "  parent: org\n"),
            "pools/u.yaml": pool("unit", 20, "  parent: org\n"),
            "pools/l.yaml": pool("lone", 8),
            "subpools/a.yaml": subpool("a", 30),
            "subpools/b.yaml": subpool("b", 0, state="DELETING"),
            "subpools/c.yaml": subpool("c", 0, state="ARCHIVED"),
            "workflows/x.yaml": job("x", 8, 2, "team--a"),
            "workflows/y.yaml": job("y", 4, 1, "unit"),
            "workflows/z.yaml": job("z", 1, 3, "org"),
            "workflows/l.yaml": job("l", 8, 1, "lone", priority="LOW"),
        }
    )


def gpus(amounts: Amounts | None) -> object:
    return None if amounts is None else amounts.gpu


def test_accounts(fleet: Fleet) -> None:
    rows = accounts(fleet, None, archived=True)
    found = {
        item.name: (
            *(item.parent, item.depth, depth, item.state, item.queue and item.queue.removeprefix(f"{QUEUE}-")),
            *map(gpus, (item.quota, item.used, item.available, item.total, item.whole, item.limit, item.weight)),
            item.file,
        )
        for item, depth in zip(rows, depths(rows), strict=True)
    }
    free = NO_LIMIT
    assert found == {
        "lone": (None, 0, 0, None, "lone--shared", 8, 0, 8, None, None, free, 1, "pools/l.yaml"),
        "org": (None, 0, 0, None, "org--shared", 20, 3, 17, 100, 23, 120, 2, "pools/o.yaml"),
        "team": ("org", 1, 1, None, "team--shared", 30, 0, 30, 60, None, 120, 1, "pools/t.yaml"),
        "team--a": ("team", 2, 2, "ACTIVE", "team--a", 30, 16, 14, None, None, 120, 1, "subpools/a.yaml"),
        "team--b": ("team", 2, 2, "DELETING", "team--b", 0, 0, 0, None, None, 120, 1, "subpools/b.yaml"),
        "team--c": ("team", 2, 2, "ARCHIVED", None, 0, 0, 0, None, None, 120, 1, "subpools/c.yaml"),
        "unit": ("org", 1, 1, None, "unit--shared", 20, 4, 16, None, None, 120, 1, "pools/u.yaml"),
    }
    assert list(found) == ["lone", "org", "team", "team--a", "team--b", "team--c", "unit"]
    assert [item.name for item in accounts(fleet, None)] == [name for name in found if name != "team--c"]


def test_rows_are_as_deep_as_the_listed_rows_above(fleet: Fleet) -> None:
    rows = [item for item in accounts(fleet, None) if item.name != "org"]
    assert dict(zip([item.name for item in rows], depths(rows), strict=True)) == {
        "lone": 0,
        "team": 0,
        "team--a": 1,
        "team--b": 1,
        "unit": 0,
    }
    (total,) = totals(rows)
    assert (total.pools, gpus(total.quota), gpus(total.used)) == (3, 88, 20)


def test_a_cluster_says_what_its_queues_hold(fleet: Fleet) -> None:
    class Running(Used):
        running = 7  # type: ignore[assignment]

    queues = {f"{QUEUE}-lone--shared": Running(5), f"{QUEUE}-org--shared": Used(None), f"{QUEUE}-team--a": Used(40)}
    found = {item.name: item for item in accounts(fleet, queues, archived=True)}
    assert {name: (gpus(item.used), item.running) for name, item in found.items()} == {
        "lone": (5, 7),
        "team--a": (40, None),
        "team--c": (0, None),
        **dict.fromkeys(("org", "team", "team--b", "unit"), (None, None)),
    }
    assert gpus(found["team--a"].available) == -10
    assert found["org"].whole is None
    assert found["team"].available is None


def test_no_more_is_left_than_the_nodes_have(fleet: Fleet) -> None:
    rows = accounts(fleet, None, free=lambda item: {"n1": 2, item.name: 3})
    assert {item.name: gpus(item.available) for item in rows} == {
        "lone": 5,
        "org": 5,
        "team": 5,
        "team--a": 5,
        "team--b": 0,
        "unit": 5,
    }
    (total,) = totals(rows)
    assert (total.backend, total.pools, total.free) == (
        "default",
        2,
        {"n1": 2, "lone": 3, "org": 3, "team": 3, "unit": 3},
    )
    assert (gpus(total.quota), gpus(total.used), gpus(total.available)) == (108, 23, 14)
    unknown = [replace(row, free=None) if row.name == "lone" else row for row in rows]
    assert [(item.free, gpus(item.available)) for item in totals(unknown)] == [(None, 85)]


def test_a_sum_with_an_unknown_part_is_unknown(fleet: Fleet) -> None:
    rows: list[Account] = accounts(fleet, None)
    (total,) = totals([replace(rows[0], used=None), *rows[1:]])
    assert (total.used, total.available, gpus(total.quota)) == (None, None, 108)
