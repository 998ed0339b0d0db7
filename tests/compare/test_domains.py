"""Tests the warning about required levels when all nodes share a finer domain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.grove import (
    KEYS,
    clique_set,
    declare,
    findings,
    job,
    live_topology,
    pod_group,
    runs,
    state,
    topology,
)

RULE = "required-above-common-domain"
WORK = {
    "Job sweep": job,
    "PodGroup by-hand": pod_group,
    "PodCliqueSet chat": lambda domain: clique_set(domain, named="racks"),
}


def node(place: str) -> dict[str, Any]:
    """A node at ``zone/rack/host``; what is empty it has no label for."""
    found = zip(("zone", "rack", "host"), place.split("/"), strict=True)
    labels = {KEYS[domain]: value for domain, value in found if value}
    status = {"allocatable": {"nvidia.com/gpu": "8", "cpu": "96"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": place, "labels": labels}, "status": status}


def said(root: Path, *nodes: str) -> list[str]:
    """What the rule says of the repository on these nodes."""
    cluster = state(root.parent, live_topology(), *map(node, nodes))
    return [message for rule, message in findings(root, "--cluster-state", cluster) if rule == RULE]


@pytest.mark.parametrize("work", WORK)
def test_all_kinds_of_work(repository: Path, work: str) -> None:
    declare(runs(repository, "0.1.0-alpha.8"), topology(), WORK[work]("zone"))
    (message,) = said(repository, "a/a1/h1", "a/a1/h2")
    assert message.startswith(f"{work} requires level zone, but backend default has 2 nodes in this topology, all in ")
    assert f"one rack ({KEYS['rack']}=a1)" in message


@pytest.mark.parametrize(
    ("domain", "nodes", "found"),
    [
        ("zone", "a/a1/h1 a/a2/h1", None),
        ("zone", "a/a1/h1 b/b1/h1", None),
        ("zone", "a/a1/h1 a/a1/h2 a/a2/", "rack"),  # the third is outside of the topology
        ("rack", "a/a1/h1 a/a1/h2", None),
        ("rack", "a/a1/h1", "host"),
        ("host", "a/a1/h1", None),
        ("zone", "a//h1", None),  # another rule says that no node is in the topology
    ],
)
def test_where_it_is_so(repository: Path, domain: str, nodes: str, found: str | None) -> None:
    declare(runs(repository, "0.1.0-alpha.8"), topology(), job(domain))
    messages = said(repository, *nodes.split())
    assert [f"all in one {found}" in message for message in messages] == ([True] if found else [])


@pytest.mark.parametrize(
    ("required", "preferred", "kai", "found"),
    [
        ("zone", "host", "0.17", False),
        ("zone", "host", "0.12.7", False),
        ("zone", "", "0.12.7", True),
        ("zone", "", "0.10", False),
        ("", "zone", "0.12.7", True),
        ("", "zone", "0.12.9", False),
    ],
)
def test_a_level_that_is_preferred(repository: Path, required: str, preferred: str, kai: str, found: bool) -> None:
    prefix = "kai.scheduler/topology"
    asked = {f"{prefix}-required-placement: ": required, f"{prefix}-preferred-placement: ": preferred}
    written = ", ".join(f"{key}{level}" for key, level in asked.items() if level)
    work = job("zone").replace(f"{prefix}-required-placement: zone", written)
    declare(runs(repository, "0.1.0-alpha.8", kai), topology(), work)
    assert bool(said(repository, "a/a1/h1", "a/a1/h2")) is found
