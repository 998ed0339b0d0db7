"""Decides the path of each page: a unique file name for any name that a thing may have."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_tas.base.late import dataclass
from kubectl_tas.draw.verdicts import in_order
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
STARTS = "work/starts.html"
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
"""The menu: paths of the list pages, by name."""
_RESERVED = ("index", "open", "rules", "starts")


@dataclass(frozen=True)
class Places:
    """The page of each thing in a fleet."""

    work: tuple[Submission, ...]
    """All submissions, in the order of the list."""
    _clusters: dict[str, str]
    _pools: dict[str, str]
    _topologies: dict[str, str]
    _work: dict[int, str]

    def cluster(self, backend: FleetBackend) -> Link:
        """Returns a link to the page of a cluster."""
        return Link(backend.name, self._clusters[backend.name])

    def pool(self, pool: FleetPool) -> Link:
        """Returns a link to the page of a pool."""
        return Link(pool.name, self._pools[pool.name])

    def pool_called(self, name: str) -> Link | str:
        """Returns a link to the page of the named pool, or only the name if there is no such pool."""
        return Link(name, self._pools[name]) if name in self._pools else name

    def subpool(self, pool: FleetPool, subpool: FleetSubpool) -> Link:
        """Returns a link to the row of a subpool on the page of its pool."""
        return Link(subpool.canonical, f"{self._pools[pool.name]}#{subpool_anchor(subpool)}")

    def target(self, submission: Submission) -> Link:
        """Returns a link to the pool or subpool that gets the work."""
        return self.subpool(submission.pool, submission.subpool) if submission.subpool else self.pool(submission.pool)

    def topology(self, topology: FleetTopology) -> Link:
        """Returns a link to the page of a topology."""
        return Link(topology.name, self._topologies[topology.name])

    def submission(self, submission: Submission) -> Link:
        """Returns a link to the page of a submission."""
        return Link(submission.name, self._work[id(submission)])


def subpool_anchor(subpool: FleetSubpool) -> str:
    """Returns the anchor of a subpool on the page of its pool."""
    return f"subpool-{names.as_label(subpool.name)}"


def file_anchor(path: str) -> str:
    """Returns the anchor at which the findings of a file begin."""
    return f"in-{names.as_label(path)}"


def rule_place(code: str) -> str:
    """Returns the path and anchor of the explanation of a rule."""
    return f"{RULES}#{code}"


def places(fleet: Fleet) -> Places:
    """Computes the paths of all pages of a fleet."""
    work = tuple(in_order(fleet.submissions))
    names_with_kind = [f"{submission.kind}-{names.fold(submission.name)}".lower() for submission in work]
    return Places(
        work,
        _files("clusters", [backend.name for backend in fleet.backends]),
        _files("pools", [pool.name for pool in fleet.pools]),
        _files("topologies", [topology.name for topology in fleet.topologies]),
        dict(zip(map(id, work), _named("work", list(map(_identity, work)), names_with_kind), strict=True)),
    )


def _identity(submission: Submission) -> str:
    return "\0".join(
        (
            submission.pool.backend.name,
            submission.namespace,
            submission.kind,
            submission.name,
            submission.declared.origin.path,
        )
    )


def _files(folder: str, called: Sequence[str]) -> dict[str, str]:
    return dict(zip(called, _named(folder, called, called), strict=True))


def _named(folder: str, identities: Sequence[str], called: Sequence[str]) -> list[str]:
    """Returns a unique path for each identity, derived from its name. No path equals the path of a list page."""
    reserved = [(name, name) for name in _RESERVED]
    labels = [(f"\0{identity}", names.as_label(name)) for identity, name in zip(identities, called, strict=True)]
    return [f"{folder}/{name}.html" for name in names.distinct([*reserved, *labels])[len(reserved) :]]
