"""Pages of topologies: their levels, what they become on each cluster, and who uses them."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.draw.topology import objects, sets
from kubectl_tas.resolve.topologies import FleetTopology
from kubectl_tas.site import blocks, places
from kubectl_tas.site.blocks import Cell, Facts, Link, Page, Table
from kubectl_tas.site.content import Content
from kubectl_tas.site.found import findings_of


def pages(content: Content) -> Iterator[Page]:
    """The list of topologies, and a page for each."""
    yield from blocks.divided(Page(places.TOPOLOGIES, "Topologies", "", "Topologies", (), (_table(content),)))
    for topology in content.fleet.topologies:
        yield from blocks.divided(_page(content, topology))


def _table(content: Content) -> Table:
    rows = tuple(
        (
            content.places.topology(item),
            item.declared.spec.kind,
            " > ".join(level.key for level in item.levels),
            str(len(content.pools_by_topology.get(item.name, ()))),
        )
        for item in content.fleet.topologies
    )
    header = ("Topology", "Declared by a", "Levels, the coarsest first", "Pools")
    return Table("Topologies", header, rows, none="No topology is declared.")


def _page(content: Content, topology: FleetTopology) -> Page:
    fleet = content.fleet
    link, crumbs = content.places.topology(topology), (Link("Topologies", places.TOPOLOGIES),)
    facts: list[tuple[str, Cell]] = [
        ("Declared by a", topology.declared.spec.kind),
        ("File", topology.declared.origin.path),
        *(("Topology object", text) for text in objects(fleet, topology)),
    ]
    levels = tuple((str(number), level.key, level.label) for number, level in enumerate(topology.levels, 1))
    known = list(sets(fleet, topology)) if topology.pool is None else []
    cliques = [Table("PodCliqueSets", ("Name", "TopologyLevelsUnavailable"), tuple(known))]
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
        *(cliques if known else ()),
        findings_of(content, topology.declared.origin.path),
        Table("Pools", ("Pool", "Cluster", "Work"), pools, none="No pool uses it."),
    )
    return Page(link.target, topology.name, "Topology", "Topologies", crumbs, body)
