"""Tests ``topology suggest``, which derives levels from the labels of nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.facts.node_places import LIKE, PLACES, place_of
from tests.support.cli import Result, kubectl_tas, pool, write

ZONE, CLIQUE, HOST = "topology.kubernetes.io/zone", "nvidia.com/gpu.clique", "kubernetes.io/hostname"
LEAF = "network.topology.nvidia.com/leaf"


def node(name: str, gpus: int = 4, **labels: str) -> dict[str, Any]:
    """A node; ``labels`` are by the last words of the constants above."""
    named = {"zone": ZONE, "clique": CLIQUE, "leaf": LEAF, "row": "acme.io/row", "pool": "acme.io/pool"}
    found = {HOST: name, **{named[key]: value for key, value in labels.items()}}
    status = {"allocatable": {"cpu": "96", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": found}, "status": status}


def suggest(root: Path, nodes: list[dict[str, Any]], *words: str) -> Result:
    (root / "nodes.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
    return kubectl_tas("-C", root, "topology", "suggest", "--cluster-state", root / "nodes.json", *words)


def levels(root: Path, nodes: list[dict[str, Any]], *words: str) -> tuple[list[str], dict[str, str]]:
    """The labels that are proposed, and why others are not."""
    result = suggest(root, nodes, "-o", "json", *words)
    assert (result.code, result.err) == (0, "")
    found = json.loads(result.out)
    return [item["label"] for item in found["levels"]], {item["label"]: item["reason"] for item in found["leftOut"]}


def racks() -> list[dict[str, Any]]:
    """Two nodes in each clique, two cliques in each zone."""
    return [
        node(f"n{zone}{clique}{number}", zone=f"z{zone}", clique=f"c{zone}{clique}", leaf=f"l{zone}{clique}")
        for zone in range(2)
        for clique in range(2)
        for number in range(2)
    ]


def test_the_order_in_which_labels_nest(repository: Path) -> None:
    found, left_out = levels(repository, racks())
    assert found == [ZONE, CLIQUE, HOST]
    assert left_out == {LEAF: "its domains are those of gpu-clique"}


def test_a_level_is_called_as_names_of_kubernetes_are_written(repository: Path) -> None:
    label, nodes = "acme.io/Power_Feed.A", racks()
    for item in nodes:
        item["metadata"]["labels"][label] = item["metadata"]["labels"][ZONE]
    result = suggest(repository, nodes, "-o", "json", "--label", label, "--label", CLIQUE)
    assert [item["key"] for item in json.loads(result.out)["levels"]] == ["power-feed-a", "gpu-clique"]


def test_levels_of_one_name_are_told_apart(repository: Path) -> None:
    nodes = racks()
    for item, (row, feed) in zip(nodes, ((number // 4, number // 2) for number in range(8)), strict=True):
        item["metadata"]["labels"] |= {
            "a.io/row": f"a{row}",
            "b.io/row": f"b{feed}",
            "c.io/row": item["metadata"]["name"],
        }
    words = [word for letter in "abc" for word in ("--label", f"{letter}.io/row")]
    found = json.loads(suggest(repository, nodes, "-o", "json", *words).out)["levels"]
    assert [(item["key"], item["label"]) for item in found] == [
        ("row", "a.io/row"),
        ("row-2", "b.io/row"),
        ("row-3", "c.io/row"),
    ]


def test_where_no_node_has_gpus_all_of_them_count(repository: Path) -> None:
    nodes = [node(f"n{number}", gpus=0, zone=f"z{number // 2}") for number in range(4)]
    assert levels(repository, nodes)[0] == [ZONE, HOST]
    assert suggest(repository, nodes).out.startswith("4 nodes\n")


def test_a_label_that_does_not_nest_is_left_out_by_name(repository: Path) -> None:
    nodes = racks()
    nodes[0]["metadata"]["labels"][LEAF] = "l11"
    _, left_out = levels(repository, nodes)
    assert left_out == {LEAF: "leaf l11 lies in c00, c11 of gpu-clique"}


def test_the_labels_that_join_gpus_stay(repository: Path) -> None:
    nodes = racks()
    nodes[0]["metadata"]["labels"][ZONE] = "z1"
    found, left_out = levels(repository, nodes)
    assert found == [CLIQUE, HOST]
    assert left_out[ZONE] == "gpu-clique c00 lies in z0, z1 of zone"


def test_the_page(repository: Path) -> None:
    assert (
        suggest(repository, racks()).out
        == """\
8 nodes

Levels:
  LEVEL       LABEL                        SET BY                 NODES WITHOUT  DOMAINS  NODES IN EACH  GPUS IN EACH
  zone        topology.kubernetes.io/zone  Kubernetes             -              2        4              16
  gpu-clique  nvidia.com/gpu.clique        GPU Feature Discovery  -              4        2              8
  host        kubernetes.io/hostname       Kubernetes             -              8        1              4

Left out:
  LABEL                             WHY
  network.topology.nvidia.com/leaf  its domains are those of gpu-clique

For a pool on these nodes:
  topology_keys:
  - {key: zone, label: topology.kubernetes.io/zone}
  - {key: gpu-clique, label: nvidia.com/gpu.clique}
  - {key: host, label: kubernetes.io/hostname}
"""
    )


def test_a_label_that_one_broken_node_lacks_stays(repository: Path) -> None:
    nodes = [node(f"n{number:02}", clique=f"c{number // 4}") for number in range(20)]
    del nodes[7]["metadata"]["labels"][CLIQUE]
    result = suggest(repository, nodes)
    assert "gpu-clique  nvidia.com/gpu.clique   GPU Feature Discovery  n07            5        3 to 4" in result.out
    for broken in nodes[:4]:
        broken["metadata"]["labels"].pop(CLIQUE, None)
    assert levels(repository, nodes) == ([HOST], {CLIQUE: "5 of 20 nodes lack it"})


def test_nodes_without_gpus_do_not_count(repository: Path) -> None:
    result = suggest(repository, [*racks(), node("login", gpus=0)])
    assert result.out.startswith("8 nodes; 1 without GPUs are left out\n")
    assert "login" not in result.out


def test_one_domain_is_no_level_beside_others(repository: Path) -> None:
    nodes = [node(f"n{number}", zone="z", clique=f"c{number // 2}") for number in range(4)]
    assert levels(repository, nodes) == ([CLIQUE, HOST], {ZONE: "all nodes are in one domain"})
    alone = [node(f"n{number}", clique="c") for number in range(4)]
    assert levels(repository, alone) == ([CLIQUE, HOST], {})


def test_labels_that_nobody_knows_are_named(repository: Path) -> None:
    nodes = [node(f"n{number}", row=f"r{number // 2}") for number in range(4)]
    assert levels(repository, nodes)[0] == [HOST]
    assert levels(repository, nodes, "--label", "acme.io/row", "--label", HOST)[0] == ["acme.io/row", HOST]


def test_the_nodes_of_a_pool(repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool("team", spec="  nodes: {selector: {acme.io/pool: team}}\n")})
    nodes = [*racks(), *(node(f"own{number}", pool="team", clique=f"x{number // 2}") for number in range(4))]
    assert levels(repository, nodes, "--pool", "team")[0] == [CLIQUE, HOST]
    result = suggest(repository, nodes, "--pool", "tean")
    assert (result.code, result.out) == (2, "")
    assert 'did you mean "team"?' in result.err


def test_nothing_to_suggest(repository: Path) -> None:
    bare = node("n")
    del bare["metadata"]["labels"][HOST]
    result = suggest(repository, [bare], "-o", "yaml")
    assert (result.code, result.out) == (1, "")
    assert result.err == ("No label of these nodes makes a level. Name those that tell racks or zones with --label.\n")
    write(repository, {"pools/team.yaml": pool("team", spec="  nodes: {selector: {acme.io/pool: team}}\n")})
    for arguments, message, hint in (
        ((), "is in the cluster", "Join nodes to the cluster."),
        (("--pool", "team"), "is for pods of pool team", "Correct nodes.selector and nodePool of the pool."),
    ):
        nothing = suggest(repository, [], *arguments)
        assert (nothing.code, nothing.err) == (3, f"error: no node {message}\n  = help: {hint}\n")


@pytest.mark.parametrize("like", sorted(LIKE))
def test_what_is_suggested_is_valid_and_covers_all_nodes(repository: Path, like: str) -> None:
    """The nodes of each maker, to a topology and back: nothing is found in it, and no node is outside of it."""
    keys = [place_of(label).key for label in LIKE[like]]  # type: ignore[union-attr]
    domains = [word for key in keys for word in ("--domains", f"{key}=2")]
    nodes = kubectl_tas("nodes", "generate", "--like", like, *domains, "--nodes", "3")
    assert (nodes.code, nodes.err) == (0, "")
    items = json.loads(nodes.out)["items"]
    result = suggest(repository, items, "-o", "yaml", "--name", "fabric")
    write(
        repository, {"topologies/fabric.yaml": result.out, "pools/team.yaml": pool("team", 1, "  topology: fabric\n")}
    )
    assert [line for line in LIKE[like] if f"key: {line}\n" in result.out] == list(LIKE[like])
    state = repository / "nodes.json"
    assert kubectl_tas("-C", repository, "validate", "--strict", "--cluster-state", state).out.startswith("No problems")
    usage = kubectl_tas("-C", repository, "topology", "usage", "--cluster-state", state)
    assert f"0 of {len(items)}" in usage.out


def test_a_pool_without_nodes(repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool(spec="  nodes: {selector: {gpu: gone}}\n")})
    result = suggest(repository, racks(), "--pool", "team")
    assert (result.code, result.out) == (3, "")
    assert "error: no node is for pods of pool team\n" in result.err
    assert "Correct nodes.selector and nodePool of the pool." in result.err
    result = suggest(repository, [])
    assert result.code == 3
    assert "error: no node is in the cluster\n" in result.err
    assert "Join nodes to the cluster." in result.err


def test_the_cluster_is_that_of_the_pool_unless_another_is_named(repository: Path) -> None:
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: a}, {name: b, namespace: b}]}\n"
    pools = {f"pools/{name}.yaml": pool(name, spec=f"  backend: {name}\n") for name in "ab"}
    write(repository, {"tas.yaml": config, **pools})
    assert suggest(repository, racks(), "--pool", "b").code == 0
    file = repository / "nodes.json"
    asked = kubectl_tas("-C", repository, "topology", "suggest", "--pool", "a", "--cluster-state", f"b={file}")
    assert asked.code == 3, asked
    named = kubectl_tas(
        *("-C", repository, "topology", "suggest", "--pool", "a"), "--backend", "b", "--cluster-state", f"b={file}"
    )
    assert named.code == 0, named.err


def test_keys_and_labels_are_told_apart() -> None:
    assert len({place.label for place in PLACES}) == len(PLACES)
    assert place_of("network.topology.nvidia.com/spine") is not None
    assert place_of("network.topology.nvidia.com/other") is None
