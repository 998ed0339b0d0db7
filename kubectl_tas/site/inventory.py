"""Makes the pages of clusters, pools and topologies: their guarantees, their usage and their work."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.draw import capacitypages
from kubectl_tas.draw.poolfigure import figure
from kubectl_tas.draw.pooltables import amount_text, facts, queues, quota_text, used_by
from kubectl_tas.draw.topologytables import objects, sets
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.quantities import NO_LIMIT, OTHERS, Amounts, ResourceName, show
from kubectl_tas.gangs.quota_usage import Account, totals
from kubectl_tas.place.capacity import capacity
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.resolve.topologies import FleetTopology
from kubectl_tas.site import blocks, places
from kubectl_tas.site.blocks import (
    Badge,
    BarBlock,
    Block,
    Cell,
    Drawing,
    Facts,
    Indented,
    Link,
    Page,
    Table,
    TextBlock,
    Tone,
    drawing,
)
from kubectl_tas.site.content import Content
from kubectl_tas.site.found import findings_of
from kubectl_tas.site.work import work_table

_STATES: dict[str, Tone] = {"ACTIVE": "good", "DELETING": "fair", "ARCHIVED": "plain"}
_FIRST = 20
"""Rows to show of a table that another page shows completely."""
_OTHERS = ("CPU used", "Memory used")
_HEADER = ("GPU quota", "Used", "Available", "Used of the quota", *_OTHERS, "State")
_QUEUES = ("Queue", "State", "Quota", "Used", "Limit", "Weight")


def pages(content: Content) -> Iterator[Page]:
    """Yields the lists of clusters and pools, and a page for each cluster and pool."""
    yield from blocks.divided(Page(places.CLUSTERS, "Clusters", "", "Clusters", (), (cluster_table(content),)))
    for backend in content.fleet.backends:
        yield from blocks.divided(_cluster(content, backend))
    used = TextBlock(f"Used: {content.used_from}.")
    yield from blocks.divided(Page(places.POOLS, "Pools", "", "Pools", (), (used, account_table(content))))
    for pool in content.fleet.pools:
        yield from blocks.divided(_pool(content, pool))


def cluster_table(content: Content) -> Table:
    """Returns a row for each cluster, with its totals."""
    sums = {
        backend_total.backend: backend_total
        for backend_total in totals([row for row in content.accounts if row.state != "ARCHIVED"])
    }
    rows = []
    for backend in content.fleet.backends:
        pools = [pool for pool in content.fleet.pools if pool.backend.name == backend.name]
        backend_total = sums.get(backend.name)
        amounts = (
            (backend_total.quota, backend_total.used, backend_total.available) if backend_total else (Amounts(),) * 3
        )
        shown = tuple(amount_text("gpu", amount) for amount in amounts)
        use_cells = (_bar(amounts[0], amounts[1]), *_others(amounts[0], amounts[1]))
        rows.append((content.places.cluster(backend), _scheduler(backend), str(len(pools)), *shown, *use_cells))
    header = ("Cluster", "Scheduler", "Pools", "GPUs guaranteed", "Used", "Available", "Used of the quota", *_OTHERS)
    return Table("Clusters", header, tuple(rows))


def account_table(content: Content, backend: FleetBackend | None = None) -> Table:
    """Returns the table of pools and everything below them, of one cluster or of all."""
    live_accounts = (row for row in content.accounts if row.state != "ARCHIVED")
    rows = tuple(
        _account(content, row) for row in live_accounts if backend is None or row.pool.backend.name == backend.name
    )
    owner = ("Owner",) if content.owners else ()
    return Table("Pools", ("Pool", *owner, *_HEADER), rows, none="No pool is declared.")


def _account(content: Content, row: Account) -> tuple[Cell, ...]:
    where = content.places.subpool(row.pool, row.subpool) if row.subpool else content.places.pool(row.pool)
    state: Cell = Badge(row.state, _STATES[row.state]) if row.state else ""
    text = amount_text("gpu", row.used)
    quota, used = row.quota, row.used
    if row.total is not None:  # others divide it: what they use is below it too
        quota, used = row.total, used_by(content.below[row.name])
        text += f" (Total: {amount_text('gpu', used)})"
    amounts = (quota_text("gpu", row), text, amount_text("gpu", row.available))
    owner = (content.owner_of(row.pool, row.subpool),) if content.owners else ()
    return Indented(where, row.depth), *owner, *amounts, _bar(quota, used), *_others(quota, used), state


def _others(quota: Amounts | None, used: Amounts | None) -> tuple[str, ...]:
    """Returns the used cpu and memory, each with its quota if there is one."""
    return tuple(_of_quota(name, quota, used) for name in OTHERS)


def _of_quota(resource: ResourceName, quota: Amounts | None, used: Amounts | None) -> str:
    text, whole = amount_text(resource, used), NO_LIMIT if quota is None else quota.of(resource)
    return text if whole == NO_LIMIT else f"{text} of {show(resource, whole)}"


def _bar(quota: Amounts | None, used: Amounts | None) -> Cell:
    """Draws the used part of the quota; empty if the usage or the quota is unknown, or not finite."""
    if used is None or quota is None or quota.gpu in (0, NO_LIMIT):
        return ""
    percent = int(100 * used.gpu / quota.gpu)
    return BarBlock(min(100, percent), "bad" if percent > 100 else "good"), f"{percent}%"


def _scheduler(backend: FleetBackend) -> str:
    return f"{backend.scheduler_name} {backend.release.version}" if backend.release else backend.scheduler_name


def _cluster(content: Content, backend: FleetBackend) -> Page:
    facts = Facts(
        (
            ("Namespace", backend.namespace),
            ("Scheduler", _scheduler(backend)),
            ("Grove", backend.spec.grove.version),
            *((("Context", backend.spec.context),) if backend.spec.context else ()),
            *_nodes(content, backend),
        )
    )
    table = account_table(content, backend)
    used = TextBlock(f"Used: {content.used_from}.")
    link, crumbs = content.places.cluster(backend), (Link("Clusters", places.CLUSTERS),)
    return Page(
        link.target, backend.name, "Cluster", "Clusters", crumbs, (facts, _topologies(content, backend), used, table)
    )


def _nodes(content: Content, backend: FleetBackend) -> Iterator[tuple[str, str]]:
    """Yields the totals of the nodes of a cluster, if its nodes are known."""
    if backend.name not in content.nodes:
        return
    cluster_nodes = content.nodes[backend.name]
    size = sum(node.allocatable.get(GPU, 0) for node in cluster_nodes.nodes)
    free = sum(node.free.get(GPU, 0) for node in cluster_nodes.nodes)
    yield "Nodes", str(len(cluster_nodes.nodes))
    yield "GPUs of nodes", f"{size}, {free} of them free" if cluster_nodes.knows_pods else str(size)


def _room(content: Content, pool: FleetPool) -> Iterator[Block]:
    """Yields the room on the nodes that a pool can use, if the nodes are known."""
    nodes = content.nodes.get(pool.backend.name)
    if nodes is None or not pool.backend.is_kai:
        return
    room = capacity(pool, nodes)
    yield TextBlock("As `kubectl tas pool plan` says of the nodes of the cluster.", title="Room")
    yield Facts(tuple(capacitypages.nodes_facts(room)))
    if room.levels:
        yield Table(
            "Largest gangs",
            tuple(name.capitalize().replace("gpu", "GPU") for name in capacitypages.HEADER),
            tuple(capacitypages.rows(room)),
        )


def _topologies(content: Content, backend: FleetBackend) -> Table:
    rows = tuple(
        (content.places.topology(topology), " > ".join(level.key for level in topology.levels))
        for topology in content.fleet.topologies
        if topology.backend in (None, backend)
    )
    return blocks.begun(
        Table("Topologies", ("Topology", "Levels, the coarsest first"), rows), _FIRST, places.TOPOLOGIES
    )


def _pool(content: Content, pool: FleetPool) -> Page:
    link = content.places.pool(pool)
    above = tuple(content.places.pool(ancestor) for ancestor in reversed(pool.chain[1:]))
    crumbs = (Link("Pools", places.POOLS), *above)
    linked: dict[str, Cell] = {
        "Backend": content.places.cluster(pool.backend),
        "Children": tuple(content.places.pool_called(child.name) for child in pool.children),
        "Topology": content.places.topology(pool.topology) if pool.topology else "none",
    }
    if pool.parent:
        linked["Parent"] = content.places.pool(pool.parent)
    fact_rows = [("Cluster" if name == "Backend" else name, linked.get(name, text)) for name, text in facts(pool, None)]
    fact_rows += [("Owner", owner) for owner in (content.owner_of(pool, None),) if owner]
    levels = tuple((level.key, level.label) for level in pool.levels)
    body: list[Block] = [
        Facts(tuple(fact_rows[1:])),
        _drawn(content, pool),
        *_room(content, pool),
        *([_subpools(pool)] if pool.subpools else []),
        *([Table("Topology keys", ("Key", "Node label"), levels)] if levels else []),
        Table("Queues", _QUEUES, tuple(queues(pool, content.below[pool.name]))),
        findings_of(content, pool.declared.origin.path),
        work_table(content, content.work_of_pool.get(pool.name, ())),
    ]
    return Page(link.target, pool.name, "Pool", "Pools", crumbs, tuple(body))


def _drawn(content: Content, pool: FleetPool) -> Drawing:
    """Draws the guarantees and usage of a pool and of everything below it, with their work."""
    rows = content.below[pool.name]
    work = [submission for row in rows if row.subpool is None for submission in content.work_of_pool.get(row.name, ())]
    return drawing("Quota and use", figure(work, (pool, None), rows, content.used_from))


def _subpools(pool: FleetPool) -> Table:
    """Returns a row with all facts about each subpool."""
    rows, anchors = [], []
    for subpool in pool.subpools:
        facts_by_name = {name: text for name, text in facts(pool, subpool) if name not in ("Name", "State")}
        quota, queue, file = facts_by_name.pop("Quota"), facts_by_name.pop("Queue"), facts_by_name.pop("File")
        other_facts = "; ".join(f"{name.lower()}: {text}" for name, text in facts_by_name.items())
        rows.append((subpool.name, Badge(subpool.state, _STATES[subpool.state]), quota, queue, other_facts, file))
        anchors.append(places.subpool_anchor(subpool))
    header = ("Subpool", "State", "Quota", "Queue", "Also", "File")
    return Table("Subpools", header, tuple(rows), anchors=tuple(anchors))


def topology_pages(content: Content) -> Iterator[Page]:
    """Yields the list of topologies, and a page for each."""
    yield from blocks.divided(Page(places.TOPOLOGIES, "Topologies", "", "Topologies", (), (_topology_table(content),)))
    for topology in content.fleet.topologies:
        yield from blocks.divided(_topology_page(content, topology))


def _topology_table(content: Content) -> Table:
    rows = tuple(
        (
            content.places.topology(topology),
            topology.declared.spec.kind,
            " > ".join(level.key for level in topology.levels),
            str(len(content.pools_by_topology.get(topology.name, ()))),
        )
        for topology in content.fleet.topologies
    )
    header = ("Topology", "Declared by a", "Levels, the coarsest first", "Pools")
    return Table("Topologies", header, rows, none="No topology is declared.")


def _topology_page(content: Content, topology: FleetTopology) -> Page:
    fleet = content.fleet
    link, crumbs = content.places.topology(topology), (Link("Topologies", places.TOPOLOGIES),)
    facts: list[tuple[str, Cell]] = [
        ("Declared by a", topology.declared.spec.kind),
        ("File", topology.declared.origin.path),
        *(("Topology object", text) for text in objects(fleet, topology)),
    ]
    levels = tuple((str(number), level.key, level.label) for number, level in enumerate(topology.levels, 1))
    clique_sets = list(sets(fleet, topology)) if topology.pool is None else []
    cliques = [Table("PodCliqueSets", ("Name", "All levels available"), tuple(clique_sets))]
    pools = tuple(
        (
            content.places.pool(pool),
            content.places.cluster(pool.backend),
            str(len(content.work_of_pool.get(pool.name, ()))),
        )
        for pool in content.pools_by_topology.get(topology.name, ())
    )
    body = (
        Facts(tuple(facts)),
        Table("Levels", ("Number", "Domain" if topology.pool is None else "Key", "Node label"), levels),
        *(cliques if clique_sets else ()),
        findings_of(content, topology.declared.origin.path),
        Table("Pools", ("Pool", "Cluster", "Work"), pools, none="No pool uses it."),
    )
    return Page(link.target, topology.name, "Topology", "Topologies", crumbs, body)
