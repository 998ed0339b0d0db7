"""Tests ``nodes generate``, which makes the nodes of an invented cluster."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kubectl_tas.facts.node_places import LIKE
from kubectl_tas.place.node_resources import domain_of, read_nodes
from kubectl_tas.place.synthetic import Broken, Size, SyntheticCluster, SyntheticDomains
from kubectl_tas.place.synthetic import generate as made_of
from tests.support.cli import kubectl_tas, pool, write
from tests.support.golden import EXAMPLES

ZONES = (EXAMPLES / "use-cases").as_posix()
LEVELS = ("topology.kubernetes.io/zone", "nvidia.com/gpu.clique")


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


def test_names_are_short_unique_and_in_order() -> None:
    """A domain has the same label in no other: a rack is numbered over the whole cluster, as real labels are."""
    text = generate("--domains", "zone=2", "--domains", "gpu-clique=6", "--nodes", "1")
    items = json.loads(text)["items"]
    cliques = [item["metadata"]["labels"]["nvidia.com/gpu.clique"] for item in items]
    assert cliques == [f"gpu-clique-{number:02}" for number in range(1, 13)]
    assert [item["metadata"]["name"] for item in items] == [f"{clique}-node-1" for clique in cliques]
    assert [item["metadata"]["labels"][LEVELS[0]] for item in items] == ["zone-1"] * 6 + ["zone-2"] * 6


def test_one_domain_of_several_levels_is_told() -> None:
    """In such a cluster KAI places nothing that requires the coarser ones, though a real one has many of them."""
    result = kubectl_tas("-C", ZONES, "nodes", "generate", "--pool", "zones")
    assert result.code == 0
    assert result.err == (
        "All nodes are in one gpu-clique, and KAI places no gang there that requires zone: "
        "--domains zone=2 makes more.\n"
    )


HOSTS = """\
  topology_keys:
  - {key: rack, label: example.com/rack}
  - {key: host, label: kubernetes.io/hostname}
"""


def test_a_level_of_hosts_has_one_node_in_each_domain(tmp_path: Path) -> None:
    root = write(tmp_path, {"tas.yaml": "", "pools/hosts.yaml": pool("hosts", spec=HOSTS)})
    arguments = ("-C", root, "nodes", "generate", "--pool", "hosts", "--domains", "rack=2", "--domains", "host=3")
    result = kubectl_tas(*arguments)
    assert (result.code, result.err) == (0, "")
    found = [(item["metadata"]["name"], item["metadata"]["labels"]) for item in json.loads(result.out)["items"]]
    assert [name for name, _ in found] == [f"host-{number}" for number in range(1, 7)]
    assert all(labels["kubernetes.io/hostname"] == name for name, labels in found)
    refused = kubectl_tas(*arguments, "--nodes", "4")
    assert (refused.code, "--nodes and --domains host=3 say the same" in refused.err) == (2, True)


@pytest.mark.parametrize(("more", "hosts"), [([], 4), (["--nodes", "7"], 7), (["--domains", "host=2"], 2)])
def test_a_level_of_hosts_has_four_in_each_domain_above(more: list[str], hosts: int, tmp_path: Path) -> None:
    levels = "  topology_keys:\n  - {key: rack, label: r}\n  - {key: host, label: kubernetes.io/hostname}\n"
    root = write(tmp_path, {"pools/team.yaml": pool("team", 1, levels)})
    result = kubectl_tas("nodes", "generate", "-C", root, "--pool", "team", "--domains", "rack=3", *more)
    assert (result.err, len(json.loads(result.out)["items"])) == ("", 3 * hosts)


def test_some_are_broken() -> None:
    text = generate("--domains", "zone=2", "--nodes", "5", "--cordoned", "1", "--not-ready", "2", "--unlabelled", "3")
    nodes = read_nodes(json.loads(text)["items"]).nodes
    found = (
        sum(node.is_cordoned for node in nodes),
        sum(not node.is_ready for node in nodes),
        sum(domain_of(node, LEVELS) is None for node in nodes),
    )
    assert found == (1, 2, 3)


def test_nodes_are_printed_as_kubectl_prints_them() -> None:
    """Faults alternate, and are spread over the cluster."""
    levels = SyntheticDomains("zone", "z", 1), SyntheticDomains("rack", "r", 2)
    made = SyntheticCluster(levels, 3, Size(4, 8, 64, 10), Broken(1, 1, 1), {"a": "b"})
    assert (made.count, made.common, made.broken.count) == (6, 1, 3)

    def line(name: str, spec: str = "{}", ready: str = "True", rack: str | None = None) -> str:
        label = f'"r": "rack-{name[5]}", ' if rack is None else rack
        return (
            '{"apiVersion": "v1", "kind": "Node", "metadata": {"labels": {"a": "b", '
            f'"kubernetes.io/hostname": "{name}", {label}"z": "zone-1"}}, "name": "{name}"}}, "spec": {spec}, '
            '"status": {"allocatable": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "4", "pods": "10"}, '
            f'"conditions": [{{"status": "{ready}", "type": "Ready"}}]}}}}'
        )

    lines = (
        line("rack-1-node-1", '{"unschedulable": true}'),
        line("rack-1-node-2"),
        line("rack-1-node-3", ready="False"),
        line("rack-2-node-1"),
        line("rack-2-node-2", rack=""),
        line("rack-2-node-3"),
    )
    head = '{"apiVersion": "v1", "kind": "List", "items": [\n'
    assert made_of(made) == f"{head}{f',{chr(10)}'.join(lines)}\n]}}\n"


def test_a_node_is_of_a_common_size_and_may_have_no_gpu() -> None:
    (node,) = json.loads(made_of(SyntheticCluster((), 1)))["items"]
    assert node["status"]["allocatable"] == {"cpu": "96", "memory": "1024Gi", "nvidia.com/gpu": "8", "pods": "110"}
    (node,) = json.loads(made_of(SyntheticCluster((), 1, Size(0))))["items"]
    assert node["status"]["allocatable"] == {"cpu": "96", "memory": "1024Gi", "pods": "110"}
    assert node["metadata"] == {"name": "node-1", "labels": {"kubernetes.io/hostname": "node-1"}}


def test_the_same_options_give_the_same_bytes() -> None:
    arguments = ("--domains", "zone=2", "--cordoned", "1")
    assert generate(*arguments) == generate(*arguments)


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


@pytest.mark.parametrize("arguments", [[], ["--pool", "zones", "--like", "aws"]], ids=str)
def test_labels_are_those_of_a_pool_or_of_a_cloud(arguments: list[str]) -> None:
    if arguments:
        arguments[-1] = min(LIKE)
    result = kubectl_tas("-C", ZONES, "nodes", "generate", *arguments)
    assert (result.code, result.out) == (2, "")
    assert "pass --pool or --like, one of the two" in result.err


def test_a_pool_without_topology_has_no_labels_to_leave_out(tmp_path: Path) -> None:
    write(tmp_path, {"pools/team.yaml": pool()})
    result = kubectl_tas("-C", tmp_path, "nodes", "generate", "--pool", "team", "--unlabelled", "1")
    assert (result.code, "--unlabelled is for a pool with a topology" in result.err) == (2, True)
    assert kubectl_tas("-C", tmp_path, "nodes", "generate", "--pool", "team").code == 0
