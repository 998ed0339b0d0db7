"""Holds the content of a site: a fleet with its accounts and verdicts, and the findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from kubectl_tas.compare.impact import Impact
from kubectl_tas.diagnostics import Diagnostic, Severity
from kubectl_tas.draw.gangfigure import Picture, picture
from kubectl_tas.gangs.admission import VERDICTS, Admission, Outcome, QueueUsage, Verdict
from kubectl_tas.gangs.quota_usage import Account, accounts
from kubectl_tas.late import dataclass
from kubectl_tas.place.answers import Fit, fit, settled
from kubectl_tas.place.answers import Outcome as Placement
from kubectl_tas.place.gangs_to_place import LeftOut, unplaced
from kubectl_tas.place.node_resources import Nodes
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool, Submission
from kubectl_tas.resolve.topologies import FleetTopology
from kubectl_tas.site.blocks import Badge, Link, Tone
from kubectl_tas.site.places import Places, places

_TONES: dict[Outcome, Tone] = {
    "admitted": "good",
    "pending": "fair",
    "draining": "fair",
    "unschedulable": "bad",
    "rejected": "bad",
}
SEVERITIES: dict[Severity, tuple[str, Tone]] = {
    Severity.ERROR: ("error", "bad"),
    Severity.WARNING: ("warning", "fair"),
    Severity.INFO: ("note", "plain"),
}
"""The displayed name and the tone of each severity."""
OWNERS = ("owner", "team")
"""Labels that name an owner, with any prefix. The first has precedence."""


@dataclass(frozen=True)
class Content:
    """The data that all pages show."""

    title: str
    """Title of the site."""
    fleet: Fleet
    findings: tuple[Diagnostic, ...]
    """Findings without a waiver, in order."""
    waived: tuple[Diagnostic, ...]
    usage: Mapping[str, Mapping[str, QueueUsage]] | None
    """Usage of the queues of each cluster. None means: the work that the repository declares counts as usage."""
    used_from: str
    """The source of the usage, in words."""
    nodes: Mapping[str, Nodes] = field(default_factory=dict)
    """Nodes by backend, for each cluster whose nodes are known."""
    since: str | None = None
    """The revision that the repository is compared with."""
    changes: Impact | None = None
    """The changes since that revision. None means: nothing is compared."""

    @cached_property
    def places(self) -> Places:
        """The page of each thing."""
        return places(self.fleet)

    @cached_property
    def accounts(self) -> tuple[Account, ...]:
        """Every pool with its subpools and child pools, by cluster."""
        found: list[Account] = []
        for backend in self.fleet.backends:
            queues = None if self.usage is None else self.usage.get(backend.name, {})
            found += accounts(self.fleet.of_backend(backend.name), queues, archived=True)
        return tuple(found)

    @cached_property
    def below(self) -> dict[str, list[Account]]:
        """The accounts of each pool and of everything below it, without ARCHIVED subpools."""
        found: dict[str, list[Account]] = defaultdict(list)
        for row in self.accounts:
            for pool in row.pool.chain if row.state != "ARCHIVED" else ():
                found[pool.name].append(row)
        return dict(found)

    @cached_property
    def pools_by_topology(self) -> dict[str, list[FleetPool]]:
        """The pools that each topology places."""
        found: dict[str, list[FleetPool]] = defaultdict(list)
        for pool in self.fleet.pools:
            if pool.topology is not None:
                found[pool.topology.name].append(pool)
        return dict(found)

    def topology_on(self, backend: FleetBackend, name: str | None) -> FleetTopology | None:
        """Returns the topology whose object has this name on a cluster."""
        return self._topologies[backend.name].get(name or "")

    @cached_property
    def _topologies(self) -> dict[str, dict[str, FleetTopology]]:
        fleet = self.fleet
        return {one.name: {item.name_on(one): item for item in fleet.topologies} for one in fleet.backends}

    @cached_property
    def _admission(self) -> Admission:
        return Admission(self.fleet)

    @cached_property
    def verdicts(self) -> dict[int, Verdict]:
        """The verdict on each submission, by the identity of the submission."""
        return {id(item): self._admission.verdict(item) for item in self.places.work}

    def verdict(self, item: Submission) -> Verdict:
        """Returns the verdict on one submission."""
        return self.verdicts[id(item)]

    def owner(self, item: Submission) -> str:
        """Returns the owner of work: from its own labels, else from its queue or a queue above; else empty."""
        spec = item.declared.spec
        written = spec.workflow.labels if item.kind == "Workflow" else spec.metadata.labels
        return _named(written) or self.owner_of(item.pool, item.subpool)

    def owner_of(self, pool: FleetPool, subpool: FleetSubpool | None) -> str:
        """Returns the owner of a pool or of one of its subpools."""
        below = subpool.declared.spec.spec.queue.labels if subpool else pool.declared.spec.spec.sharedQueue.labels
        above = (one.declared.spec.spec.queue.labels for one in pool.chain)
        return next(filter(None, map(_named, (below, *above))), "")

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """All owners."""
        accounts = (self.owner_of(row.pool, row.subpool) for row in self.accounts)
        return tuple(sorted({*map(self.owner, self.places.work), *accounts} - {""}))

    @cached_property
    def fits(self) -> dict[int, list[Fit | LeftOut]]:
        """Answers of ``fit`` for work that does not run, by the identity of the work. Only clusters whose nodes and
        pods are known have answers. Errors other than verdicts prevent all answers.
        """
        found: dict[int, list[Fit | LeftOut]] = defaultdict(list)
        if any(item.severity is Severity.ERROR and item.rule not in VERDICTS for item in self.findings):
            return found
        for backend in self.fleet.backends:
            nodes = self.nodes.get(backend.name)
            if nodes is None or not nodes.knows_pods or not backend.is_kai:
                continue
            own = [item for item in self.places.work if item.pool.backend is backend]
            for gang in unplaced(self.fleet, own):
                answer = settled(gang.orders, nodes) or gang if isinstance(gang, LeftOut) else fit(gang, nodes)
                if isinstance(answer, LeftOut) or answer.outcome is not Placement.RUNS:
                    found[id(gang.sent)].append(answer)
        return found

    def picture(self, item: Submission) -> Picture:
        """Returns the picture of one submission."""
        return picture(self.fleet, item, self._admission)

    @cached_property
    def by_file(self) -> dict[str, list[Diagnostic]]:
        """The findings of each file."""
        found: dict[str, list[Diagnostic]] = defaultdict(list)
        for item in self.findings:
            found[path_of(item)].append(item)
        return dict(found)

    @cached_property
    def first_finding(self) -> dict[str, int]:
        """Index of the first finding of each file."""
        return {path_of(item): index for index, item in reversed(list(enumerate(self.findings)))}

    @cached_property
    def declared_in(self) -> dict[str, list[Link]]:
        """Links to the pages of the things that each file declares."""
        found: dict[str, list[Link]] = defaultdict(list)
        for row in self.accounts:
            link = self.places.subpool(row.pool, row.subpool) if row.subpool else self.places.pool(row.pool)
            found[row.file].append(link)
        for topology in self.fleet.topologies:
            if topology.pool is None:
                found[topology.declared.origin.path].append(self.places.topology(topology))
        for item in self.places.work:
            found[item.declared.origin.path].append(self.places.submission(item))
        return dict(found)

    @cached_property
    def work_of_pool(self) -> dict[str, list[Submission]]:
        """The work that is sent to each pool, including its subpools."""
        found: dict[str, list[Submission]] = defaultdict(list)
        for item in self.places.work:
            found[item.pool.name].append(item)
        return dict(found)


def _named(labels: Mapping[str, str]) -> str:
    """Returns the owner that the labels name."""
    own = [key for key in labels if key.rpartition("/")[2] in OWNERS and labels[key]]
    return labels[min(own, key=lambda key: (OWNERS.index(key.rpartition("/")[2]), key))] if own else ""


def path_of(item: Diagnostic) -> str:
    """Returns the file of a finding; empty if the finding has none."""
    return item.location.path if item.location else ""


def verdict_badge(outcome: Outcome) -> Badge:
    """Returns a verdict as a badge."""
    return Badge(outcome, _TONES[outcome])


def severity_badge(severity: Severity) -> Badge:
    """Returns a severity as a badge."""
    return Badge(*SEVERITIES[severity])
