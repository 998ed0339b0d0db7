"""Tests that the largest gang for a pool is exactly the largest that KAI's order places."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_tas.cli.session import open_session
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.place.capacity import Capacity, capacity, gpus_of
from kubectl_tas.place.kai_allocate import find
from kubectl_tas.place.node_cells import PlacementRequest, Unit, room_for
from kubectl_tas.place.node_resources import PODS, ClusterNodes, NodeResources
from kubectl_tas.place.shapes import PodShape, Rules
from kubectl_tas.resolve.pools import FleetPool
from tests.place.clusters import LEVELS, cases, node
from tests.support.cli import pool, write

KEYS = "  topology_keys: [{key: zone, label: zone}, {key: rack, label: rack}]\n"


def pool_with(folder: Path, spec: str = "") -> FleetPool:
    return open_session(str(write(folder, {"tas.yaml": "", "pools/team.yaml": pool(spec=KEYS + spec)}))).fleet.pools[0]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> FleetPool:
    return pool_with(tmp_path_factory.mktemp("team"))


def largest(found: Capacity) -> list[int]:
    """Pods of the largest gang anywhere, and in one domain of each level."""
    return [level.best.pods if level.best and level.is_placed else 0 for level in found.levels]


def placed(nodes: Sequence[NodeResources], pods: int, required: int | None) -> bool:
    unit = Unit("g", required, pods=(0,) * pods)
    shape = PodShape(((GPU, 1), (PODS, 1)), Rules())
    return find(room_for(PlacementRequest(unit, (shape,)), tuple(nodes), LEVELS), unit) is not None


@settings(max_examples=60)
@given(case=cases(), data=st.data())
def test_kai_places_the_largest_gang_and_none_that_is_larger(team: FleetPool, case: Any, data: st.DataObject) -> None:
    nodes = case[0]
    depth = data.draw(st.sampled_from([None, 0, 1]))
    found = capacity(team, ClusterNodes(tuple(nodes)), 1)
    pods = largest(found)[0 if depth is None else depth + 1]
    assert placed(nodes, pods, depth)
    assert not placed(nodes, pods + 1, depth)


def test_a_pod_has_the_gpus_that_most_nodes_have(team: FleetPool) -> None:
    """A node of 16 has room for two of them, one with a free GPU less for none."""
    nodes = [node("a", "a1", 8), node("b", "a1", 8), node("c", "a2", 16)]
    used = NodeResources("d", {"zone": "a", "rack": "2"}, {GPU: 8, PODS: 9}, {GPU: 7, PODS: 9})
    found = capacity(team, ClusterNodes((*nodes, used)))
    assert found.pod_gpus == 8
    assert largest(found) == [4, 4, 2]
    assert [(item.domain, item.free, item.gpus) for item in found.levels[2].domains] == [
        (("a", "2"), 23, 24),
        (("a", "1"), 16, 16),
    ]


def test_what_is_free_is_never_less_than_nothing(team: FleetPool) -> None:
    """Other schedulers may give a node more pods than it has room for."""
    nodes = [
        NodeResources(f"n{free}", {"zone": "a", "rack": str(free)}, {GPU: 8, PODS: 9}, {GPU: free})
        for free in (-1, 0, 5)
    ]
    found = capacity(team, ClusterNodes(tuple(nodes)), 5)
    assert [(item.domain, item.free, item.pods, item.gpus) for item in found.levels[2].domains] == [
        (("a", "5"), 5, 0, 8),
        (("a", "-1"), 0, 0, 8),
        (("a", "0"), 0, 0, 8),
    ]
    assert (found.nodes, found.pod_gpus, found.unusable, found.outside) == (3, 5, {}, {})


def test_domains_come_by_room_then_by_free_gpus_then_by_name(team: FleetPool) -> None:
    """Of as many nodes with each number of GPUs a pod has the larger number; a node without a label is in no domain."""
    nodes = (
        node("a", ("a", "3"), 4), node("b", ("a", "2"), 4), node("c", ("a", "1"), 8), node("d", ("a", "4"), 8),
        node("e", ("a",), 6), node("f", (), 6), node("g", ("b", "1"), 2, is_cordoned=True),
    )  # fmt: skip
    found = capacity(team, ClusterNodes(nodes))
    assert found.pod_gpus == 8
    assert [item.domain for item in found.levels[2].domains] == [
        ("a", "1"), ("a", "4"), ("a", "2"), ("a", "3"), ("b", "1"),
    ]  # fmt: skip
    assert [(item.domain, item.gpus, item.free, item.pods) for item in found.levels[1].domains] == [
        (("a",), 24, 24, 2), (("b",), 0, 0, 0),
    ]  # fmt: skip
    assert [(item.domain, item.gpus, item.free, item.pods) for item in found.levels[0].domains] == [((), 36, 36, 2)]
    assert [level.level and level.level.key for level in found.levels] == [None, "zone", "rack"]
    assert (found.unusable, found.outside) == ({"cordoned": 1}, {"rack": 1, "zone": 1})


def test_reasons_come_by_their_count_then_by_name(team: FleetPool) -> None:
    nodes = [
        node("a", "a1", 0), node("b", "a1", 8, is_cordoned=True), node("c", "a1", 0),
        NodeResources("d", {"kai.scheduler/node-pool": "blue"}, {GPU: 8}, {GPU: 8}),
    ]  # fmt: skip
    found = capacity(team, ClusterNodes(tuple(nodes)))
    assert list(found.unusable.items()) == [
        ("without GPUs", 2),
        ("cordoned", 1),
        ("of another shard of the scheduler", 1),
    ]


def test_nothing_starts_where_no_node_can_be_used(team: FleetPool) -> None:
    found = capacity(team, ClusterNodes((node("a", "a1", 8, is_cordoned=True), node("b", "a1", 0))))
    assert (found.levels, found.unusable) == ((), {"cordoned": 1, "without GPUs": 1})


def test_a_node_takes_no_more_pods_than_its_limit(team: FleetPool) -> None:
    found = capacity(team, ClusterNodes((node("a", "a1", 64),)), 1)
    assert largest(found)[0] == 10


def test_pods_of_a_default_platform_go_to_its_nodes(tmp_path: Path) -> None:
    spec = "  default_platform: big\n  platforms: {big: {nodes: {selector: {size: big}}}}\n"
    big = NodeResources("b", {"size": "big"}, {GPU: 8}, {GPU: 8, PODS: 9})
    found = capacity(pool_with(tmp_path, spec), ClusterNodes((node("a", "a1", 8), big)))
    assert found.unusable == {"without the label size=big": 1}
    assert found.outside == {"zone": 1}


def test_pods_of_a_default_platform_have_the_selector_of_its_pod_templates(tmp_path: Path) -> None:
    spec = (
        "  default_platform: big\n  platforms: {big: {override_pod_template: [{spec: {nodeSelector: {size: big}}}]}}\n"
    )
    big = NodeResources("b", {"size": "big"}, {GPU: 8}, {GPU: 8, PODS: 9})
    found = capacity(pool_with(tmp_path, spec), ClusterNodes((node("a", "a1", 8), big)))
    assert found.unusable == {"without the label size=big": 1}


def test_nodes_of_another_shard_or_that_are_cordoned_are_none_of_the_pool(tmp_path: Path, team: FleetPool) -> None:
    blue = pool_with(tmp_path, "  nodePool: blue\n")
    own = NodeResources("b", {"kai.scheduler/node-pool": "blue"}, {GPU: 4}, {GPU: 4, PODS: 9})
    nodes = ClusterNodes((own, node("a", "a1", 8), node("c", "a1", 2, is_cordoned=True)))
    assert capacity(blue, nodes).unusable == {"of another shard of the scheduler": 2}
    assert capacity(blue, nodes).levels[0].domains[0].gpus == 4
    assert [gpus_of(pools, nodes) for pools in ([blue], [team], [blue, team])] == [4, 8, 12]
