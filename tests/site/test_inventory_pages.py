"""Tests pages of clusters, pools and topologies as data: their numbers, pictures and links."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.quantities import Amounts
from kubectl_tas.place.node_resources import read_nodes
from kubectl_tas.site import inventory, overview
from kubectl_tas.site.blocks import (
    Badge,
    BarBlock,
    Drawing,
    Facts,
    FindingsBlock,
    Indented,
    Link,
    Page,
    Table,
    TextBlock,
)
from kubectl_tas.site.content import Content
from tests.place.clusters import cluster, nodes_of
from tests.support.cli import pool, subpool, write
from tests.support.site import content, flow

SETTINGS = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: one}, {name: two}]}\n"
TREE = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: fabric}
spec: {levels: [{domain: zone, key: example.com/zone}, {domain: rack, key: example.com/rack}]}
"""


@dataclass(frozen=True)
class Held:
    """What a cluster says of a queue."""

    used: Amounts | None
    running: int | None = None

    def unknown(self, queue: str) -> str:
        return f"{queue} is not known"


@pytest.fixture
def team(repository: Path) -> Path:
    """A pool of 100 GPUs with a subpool of each state."""
    states = (("a", 10, "ACTIVE"), ("b", 20, "DELETING"), ("c", 30, "ARCHIVED"))
    subpools = {f"subpools/{name}.yaml": subpool(name, quota, state=state) for name, quota, state in states}
    return write(repository, {"pools/team.yaml": pool(), **subpools})


def page_of(content_: Content, path: str) -> Page:
    pages = (*inventory.pages(content_), *inventory.topology_pages(content_))
    return next(page for page in pages if page.path == path)


def table_of(page: Page, title: str) -> Table:
    return next(block for block in page.blocks if isinstance(block, Table) and block.title == title)


def test_lists_and_their_pages(repository: Path) -> None:
    files = {"tas.yaml": SETTINGS, "topologies/fabric.yaml": TREE}
    told = content(write(repository, files | {"pools/team.yaml": pool() + "  backend: two\n"}))
    pages = (*inventory.pages(told), *inventory.topology_pages(told))
    clusters, pools, trees = (
        (Link(name, f"{name.lower()}/index.html"),) for name in ("Clusters", "Pools", "Topologies")
    )
    assert [(page.path, page.title, page.about, page.section, page.crumbs) for page in pages] == [
        ("clusters/index.html", "Clusters", "", "Clusters", ()),
        ("clusters/one.html", "one", "Cluster", "Clusters", clusters),
        ("clusters/two.html", "two", "Cluster", "Clusters", clusters),
        ("pools/index.html", "Pools", "", "Pools", ()),
        ("pools/team.html", "team", "Pool", "Pools", pools),
        ("topologies/index.html", "Topologies", "", "Topologies", ()),
        ("topologies/fabric.html", "fabric", "Topology", "Topologies", trees),
    ]
    by_cluster = {name: table_of(page_of(told, f"clusters/{name}.html"), "Pools").rows for name in ("one", "two")}
    assert [len(rows) for rows in by_cluster.values()] == [0, 1]
    assert table_of(page_of(told, "clusters/one.html"), "Pools").none == "No pool is declared."
    clusters_ = table_of(pages[0], "Clusters")
    assert [(row[0], row[2], row[3]) for row in clusters_.rows] == [
        (Link("one", "clusters/one.html"), "0", "0"),
        (Link("two", "clusters/two.html"), "1", "100"),
    ]
    assert table_of(pages[5], "Topologies").none == "No topology is declared."
    assert table_of(pages[6], "Pools").none == "No pool uses it."


@pytest.mark.parametrize(
    ("used", "bar"),
    [
        (0, (BarBlock(0, "good"), "0%")),
        (99, (BarBlock(99, "good"), "99%")),
        (100, (BarBlock(100, "good"), "100%")),
        (101, (BarBlock(100, "bad"), "101%")),
        (250, (BarBlock(100, "bad"), "250%")),
        (None, ""),
    ],
)
def test_how_much_of_a_quota_is_used(repository: Path, used: int | None, bar: object) -> None:
    write(repository, {"pools/team.yaml": pool()})
    held = {"osmo-pool-default-team--shared": Held(None if used is None else Amounts(gpu=used))}
    ((row,), (cluster_row,)) = (
        table(content(repository, usage={"default": held})).rows
        for table in (inventory.account_table, inventory.cluster_table)
    )
    assert row[4] == bar
    assert cluster_row[6] == bar


@pytest.mark.parametrize("guarantee", [0, -1])
def test_no_share_of_nothing_and_of_no_limit(repository: Path, guarantee: int) -> None:
    write(repository, {"pools/team.yaml": pool(guarantee=guarantee)})
    (row,) = inventory.account_table(content(repository)).rows
    assert row[4] == ""


def test_archived_subpools_have_no_row(team: Path) -> None:
    told = content(team)
    page = page_of(told, "pools/index.html")
    assert page.blocks[0] == TextBlock("Used: declared.")
    table = table_of(page, "Pools")
    quota = ("GPU quota", "Used", "Available", "Used of the quota", "CPU used", "Memory used", "State")
    assert table.header == ("Pool", *quota)
    assert [(row[0], row[1], row[-1]) for row in table.rows] == [
        (Indented(Link("team", "pools/team.html"), 0), "90 (Total: 100)", ""),
        (Indented(Link("team--a", "pools/team.html#subpool-a"), 1), "10", Badge("ACTIVE", "good")),
        (Indented(Link("team--b", "pools/team.html#subpool-b"), 1), "0", Badge("DELETING", "fair")),
    ]
    subpools = table_of(page_of(told, "pools/team.html"), "Subpools")
    assert subpools.header == ("Subpool", "State", "Quota", "Queue", "Also", "File")
    assert subpools.anchors == ("subpool-a", "subpool-b", "subpool-c")
    assert [row[1] for row in subpools.rows] == [
        Badge("ACTIVE", "good"),
        Badge("DELETING", "fair"),
        Badge("ARCHIVED", "plain"),
    ]
    (one,) = inventory.cluster_table(told).rows
    assert one[3] == "100", "without what an archived subpool has no more"
    (tile,) = (text for link, text, _ in overview.page(told).blocks[0].rows if link.text == "GPUs guaranteed")
    assert tile == "100"


def test_owners_have_a_column_where_there_are_any(repository: Path) -> None:
    owned = pool(spec="  queue: {labels: {owner: ada}}\n")
    write(repository, {"pools/team.yaml": owned, "pools/free.yaml": pool("free")})
    told = content(repository)
    table = inventory.account_table(told)
    assert table.header[:3] == ("Pool", "Owner", "GPU quota")
    assert [row[1] for row in table.rows] == ["", "ada"]
    facts = {path: page_of(told, f"pools/{path}.html").blocks[0] for path in ("team", "free")}
    assert isinstance(facts["team"], Facts)
    assert facts["team"].rows[-1] == ("Owner", "ada")
    assert isinstance(facts["free"], Facts)
    assert "Owner" not in dict(facts["free"].rows)


def test_the_page_of_a_pool(team: Path) -> None:
    write(team, {"topologies/fabric.yaml": TREE})
    write(
        team,
        {
            "pools/team.yaml": pool(spec="  topology: fabric\n"),
            "pools/low.yaml": pool("low", 10, "  parent: team\n"),
        },
    )
    told = content(team)
    page = page_of(told, "pools/low.html")
    assert page.crumbs == (Link("Pools", "pools/index.html"), Link("team", "pools/team.html"))
    page = page_of(told, "pools/team.html")
    assert [(type(block), getattr(block, "title", "")) for block in page.blocks] == [
        (Facts, ""),
        (Drawing, "Quota and use"),
        (Table, "Subpools"),
        (Table, "Topology keys"),
        (Table, "Queues"),
        (FindingsBlock, "Findings in pools/team.yaml"),
        (Table, "Work"),
    ]
    facts = page.blocks[0]
    assert isinstance(facts, Facts)
    known = dict(facts.rows)
    assert "Name" not in known
    assert known["Cluster"] == Link("default", "clusters/default.html")
    assert known["Children"] == (Link("low", "pools/low.html"),)
    assert known["Topology"] == Link("fabric", "topologies/fabric.html")
    assert dict(page_of(told, "pools/low.html").blocks[0].rows)["Parent"] == Link("team", "pools/team.html")
    keys = table_of(page, "Topology keys")
    assert keys.header == ("Key", "Node label")
    assert keys.rows == (("zone", "example.com/zone"), ("rack", "example.com/rack"))
    assert table_of(page, "Queues").header == ("Queue", "State", "Quota", "Used", "Limit", "Weight")


def test_the_page_of_a_topology(repository: Path) -> None:
    files = {"topologies/fabric.yaml": TREE, "pools/team.yaml": pool(spec="  topology: fabric\n")}
    own = pool("own", spec="  topology_keys: [{key: rack, label: example.com/r}]\n")
    told = content(write(repository, files | {"pools/own.yaml": own}))
    page = page_of(told, "topologies/fabric.html")
    facts, levels, found, pools = page.blocks
    assert isinstance(facts, Facts)
    assert facts.rows[:2] == (("Declared by a", "ClusterTopology"), ("File", "topologies/fabric.yaml"))
    assert {name for name, _ in facts.rows[2:]} == {"Topology object"}
    rows = (("1", "zone", "example.com/zone"), ("2", "rack", "example.com/rack"))
    assert levels == Table("Levels", ("Number", "Domain", "Node label"), rows)
    assert found == FindingsBlock("Findings in topologies/fabric.yaml", (), none="Nothing was found.")
    used = ((Link("team", "pools/team.html"), Link("default", "clusters/default.html"), "0"),)
    assert pools == Table("Pools", ("Pool", "Cluster", "Work"), used, none="No pool uses it.")
    (name,) = (link.text for link in map(told.places.topology, told.fleet.topologies) if link.text != "fabric")
    own_page = page_of(told, f"topologies/{name}.html")
    assert table_of(own_page, "Levels").header == ("Number", "Key", "Node label")
    listed = table_of(page_of(told, "topologies/index.html"), "Topologies")
    assert listed.header == ("Topology", "Declared by a", "Levels, the coarsest first", "Pools")
    assert listed.rows == (
        (Link("fabric", "topologies/fabric.html"), "ClusterTopology", "zone > rack", "1"),
        (Link(name, f"topologies/{name}.html"), "Pool", "rack", "1"),
    )


@pytest.mark.parametrize(("kinds", "gpus"), [(("Pod",), "16, 16 of them free"), ((), "16")])
def test_what_is_known_of_nodes(repository: Path, kinds: tuple[str, ...], gpus: str) -> None:
    spec = "  nodes: {selector: {pool: h100}}\n  topology_keys: [{key: rack, label: rack}]\n"
    write(repository, {"pools/team.yaml": pool(spec=spec)})
    nodes = cluster(3)
    del nodes[2]["status"]["allocatable"][GPU]
    told = content(repository, nodes={"default": read_nodes(nodes, kinds)})
    facts = page_of(told, "clusters/default.html").blocks[0]
    assert isinstance(facts, Facts)
    assert facts.rows == (
        ("Namespace", "default"),
        ("Scheduler", "kai-scheduler 0.17"),
        ("Grove", "0.1.0-alpha.12"),
        ("Nodes", "3"),
        ("GPUs of nodes", gpus),
    )
    page = page_of(told, "pools/team.html")
    assert page.blocks[2] == TextBlock("As `kubectl tas pool plan` says of the nodes of the cluster.", title="Room")
    assert isinstance(page.blocks[3], Facts)
    assert table_of(page, "Largest gangs").header[:3] == ("Within one", "Domains", "Largest gang")
    assert not any(isinstance(block, TextBlock) for block in page_of(content(repository), "pools/team.html").blocks)


def test_nodes_without_gpus_have_room_for_no_gang(repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool()})
    told = content(repository, nodes={"default": read_nodes(nodes_of(0, 0))})
    blocks = page_of(told, "pools/team.html").blocks
    assert "Room" in [getattr(block, "title", "") for block in blocks]
    assert "Largest gangs" not in [getattr(block, "title", "") for block in blocks]


def test_a_cluster_lists_twenty_topologies(repository: Path) -> None:
    names = [f"t{number:02}" for number in range(21)]
    trees = {
        f"topologies/{name}.yaml": TREE.replace("fabric", name).replace("example.com", f"{name}.example.com")
        for name in names
    }
    write(repository, {"pools/team.yaml": pool()} | trees)
    told = content(repository)
    table = table_of(page_of(told, "clusters/default.html"), "Topologies")
    assert table.header == ("Topology", "Levels, the coarsest first")
    assert [row[0] for row in table.rows] == [Link(name, f"topologies/{name}.html") for name in names[:20]]
    assert table.rows[0][1] == "zone > rack"
    assert table.more == Link("Topologies: all 21", "topologies/index.html")


PLAIN = """\
apiVersion: tas/v1alpha1
kind: Config
spec: {backends: [{name: one, scheduler: {version: '0.17'}}, {name: two, scheduler: {type: default}}]}
"""


def test_of_a_cluster_without_kai_no_room_is_known(repository: Path) -> None:
    """KAI's rules say nothing of it, whatever nodes it has."""
    files = {f"pools/{name}.yaml": f"{pool(name)}  backend: {name}\n" for name in ("one", "two")}
    write(repository, {"tas.yaml": PLAIN, **files, **flow("kai", 8, "one"), **flow("plain", 8, "two")})
    nodes = read_nodes([*nodes_of(8, 8), {"kind": "Pod", "metadata": {"name": "p"}, "spec": {}}])
    told = content(repository, nodes={"one": nodes, "two": nodes})
    facts = {
        name: dict(block.rows)["Scheduler"]
        for name in ("one", "two")
        for block in page_of(told, told.places.cluster(told.fleet.pool_by_name[name].backend).target).blocks
        if isinstance(block, Facts)
    }
    assert facts == {"one": "kai-scheduler 0.17", "two": "default-scheduler"}
    rooms = [
        any(
            isinstance(block, TextBlock) and block.title == "Room"
            for block in page_of(told, f"pools/{name}.html").blocks
        )
        for name in ("one", "two")
    ]
    assert rooms == [True, False]
    answers = [answer for found in told.fits.values() for answer in found]
    assert [answer.sent.name for answer in answers] == ["kai"]
