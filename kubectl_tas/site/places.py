"""Where the page of each thing lies: one name for a file, whatever the thing is called."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_tas.draw.verdicts import in_order
from kubectl_tas.records import dataclass
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool, Submission
from kubectl_tas.resolve.topologies import FleetTopology
from kubectl_tas.site.blocks import Link

HOME = "index.html"
CLUSTERS, POOLS, TOPOLOGIES, WORK, FINDINGS = (
    f"{folder}/index.html" for folder in ("clusters", "pools", "topologies", "work", "findings")
)
CHANGES = "changes/index.html"
RULES = "findings/rules.html"
OPEN_WORK = "work/open.html"
SECTIONS = {
    "Overview": HOME,
    "Clusters": CLUSTERS,
    "Pools": POOLS,
    "Topologies": TOPOLOGIES,
    "Work": WORK,
    "Findings": FINDINGS,
}
"""The menu: pages that list things, by their names."""
_RESERVED = ("index", "open", "rules")


@dataclass(frozen=True)
class Places:
    """The pages of a fleet, by what they are about."""

    work: tuple[Submission, ...]
    """All that is sent to a queue, in the order in which it is listed."""
    _clusters: dict[str, str]
    _pools: dict[str, str]
    _topologies: dict[str, str]
    _work: dict[int, str]

    def cluster(self, backend: FleetBackend) -> Link:
        """Its page."""
        return Link(backend.name, self._clusters[backend.name])

    def pool(self, pool: FleetPool) -> Link:
        """Its page."""
        return Link(pool.name, self._pools[pool.name])

    def pool_called(self, name: str) -> Link | str:
        """The page of the pool of that name, where there is one."""
        return Link(name, self._pools[name]) if name in self._pools else name

    def subpool(self, pool: FleetPool, subpool: FleetSubpool) -> Link:
        """Its row on the page of its pool."""
        return Link(subpool.canonical, f"{self._pools[pool.name]}#{subpool_anchor(subpool)}")

    def target(self, item: Submission) -> Link:
        """The pool or subpool that it is sent to."""
        return self.subpool(item.pool, item.subpool) if item.subpool else self.pool(item.pool)

    def topology(self, topology: FleetTopology) -> Link:
        """Its page."""
        return Link(topology.name, self._topologies[topology.name])

    def submission(self, item: Submission) -> Link:
        """Its page."""
        return Link(item.name, self._work[id(item)])


def subpool_anchor(subpool: FleetSubpool) -> str:
    """Where it stands on the page of its pool."""
    return f"subpool-{names.as_label(subpool.name)}"


def file_anchor(path: str) -> str:
    """Where the findings of a file begin."""
    return f"in-{names.as_label(path)}"


def rule_place(code: str) -> str:
    """Where a rule is explained."""
    return f"{RULES}#{code}"


def places(fleet: Fleet) -> Places:
    """Where everything is."""
    work = tuple(in_order(fleet.submissions))
    own = [f"{item.kind}-{names.fold(item.name)}".lower() for item in work]
    return Places(
        work,
        _files("clusters", [backend.name for backend in fleet.backends]),
        _files("pools", [pool.name for pool in fleet.pools]),
        _files("topologies", [topology.name for topology in fleet.topologies]),
        dict(zip(map(id, work), _named("work", list(map(_identity, work)), own), strict=True)),
    )


def _identity(item: Submission) -> str:
    return "\0".join((item.pool.backend.name, item.namespace, item.kind, item.name, item.declared.origin.path))


def _files(folder: str, called: Sequence[str]) -> dict[str, str]:
    return dict(zip(called, _named(folder, called, called), strict=True))


def _named(folder: str, identities: Sequence[str], called: Sequence[str]) -> list[str]:
    """A file for each identity, named as it is called; none has the name of a page that lists things."""
    reserved = [(name, name) for name in _RESERVED]
    wanted = [(f"\0{identity}", names.as_label(name)) for identity, name in zip(identities, called, strict=True)]
    return [f"{folder}/{name}.html" for name in names.distinct([*reserved, *wanted])[len(reserved) :]]
