"""``nodes generate``: a cluster that does not exist."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from kubectl_tas.place.nodes import domain_of, read_nodes
from tests.support.cli import kubectl_tas
from tests.support.golden import EXAMPLES

ZONES = (EXAMPLES / "use-cases").as_posix()
LEVELS = ("topology.kubernetes.io/zone", "nvidia.com/gpu-clique")


def generate(*arguments: str) -> str:
    result = kubectl_tas("-C", ZONES, "nodes", "generate", "--pool", "zones", *arguments)
    assert (result.code, result.err) == (0, "")
    return result.out


def test_every_domain_has_its_nodes() -> None:
    text = generate("--domains", "zone=2", "--domains", "gpu-clique=3", "--nodes", "4", "--gpus", "4")
    nodes = read_nodes(json.loads(text)["items"]).nodes
    assert len({node.name for node in nodes}) == 24
    assert set(Counter(domain_of(node, LEVELS) for node in nodes).values()) == {4}
    assert {node.free["nvidia.com/gpu"] for node in nodes} == {4}


def test_some_are_broken() -> None:
    text = generate("--nodes", "10", "--cordoned", "1", "--not-ready", "2", "--unlabelled", "3")
    nodes = read_nodes(json.loads(text)["items"]).nodes
    found = (
        sum(node.is_cordoned for node in nodes),
        sum(not node.is_ready for node in nodes),
        sum(domain_of(node, LEVELS) is None for node in nodes),
    )
    assert found == (1, 2, 3)


def test_the_same_options_give_the_same_bytes() -> None:
    assert generate("--cordoned", "1") == generate("--cordoned", "1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--domains", "zon=2"], 'no level of pool zones "zon"; did you mean "zone"?'),
        (["--domains", "zone"], "--domains zone: write KEY=N, with N from 1 to 100000"),
        (["--domains", "zone=0"], "write KEY=N, with N from 1 to 100000"),
        (["--domains", "zone=100001"], "write KEY=N, with N from 1 to 100000"),
        (["--domains", "zone=1", "--domains", "zone=2"], "--domains is given twice for zone"),
        (["--domains", "zone=90000"], "that would be 360000 nodes; 100000 are the most"),
        (["--cordoned", "3", "--not-ready", "2"], "5 of 4 nodes cannot be broken"),
        (["--pool", "zone"], 'no pool "zone"; did you mean "zones"?'),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], message: str) -> None:
    result = kubectl_tas("-C", ZONES, "nodes", "generate", "--pool", "zones", *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
