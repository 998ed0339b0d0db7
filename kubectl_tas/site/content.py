"""Holds the content of a site: a fleet with its accounts and verdicts, and the findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import date
from functools import cached_property

from kubectl_tas.base.diagnostics import Diagnostic, Severity
from kubectl_tas.base.late import dataclass
from kubectl_tas.compare.impact import Impact
from kubectl_tas.draw.forecasttable import Forecasted
from kubectl_tas.draw.gangfigure import Picture, picture
from kubectl_tas.gangs.admission import VERDICTS, Admission, Outcome, QueueUsage, Verdict
from kubectl_tas.gangs.quota_usage import Account, accounts
from kubectl_tas.gangs.summary import named_owner, own_owner
from kubectl_tas.place.answers import Fit, FitOutcome, fit, settled
from kubectl_tas.place.gangs_to_place import LeftOut, unplaced
from kubectl_tas.place.node_resources import ClusterNodes
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
    "unknown": "fair",
}
SEVERITIES: dict[Severity, tuple[str, Tone]] = {
    Severity.ERROR: ("error", "bad"),
    Severity.WARNING: ("warning", "fair"),
    Severity.INFO: ("info", "plain"),
}
"""The displayed name and the tone of each severity."""


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
    nodes: Mapping[str, ClusterNodes] = field(default_factory=dict)
    """Nodes by backend, for each cluster whose nodes are known."""
    forecasts: tuple[Forecasted, ...] = ()
    """The forecast of each scheduler whose nodes and pods are known."""
    commit: tuple[str, date] | None = None
    """Name and day of the last commit, if the files are in a git repository."""
    whole: Callable[[Submission], tuple[Fleet, Submission]] | None = None
    """Returns work in full, with its fleet, if the fleet of the site has summaries of it."""
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
        all_accounts: list[Account] = []
        for backend in self.fleet.backends:
            queues = None if self.usage is None else self.usage.get(backend.name, {})
            all_accounts += accounts(self.fleet.of_backend(backend.name), queues, archived=True)
        return tuple(all_accounts)

    @cached_property
    def below(self) -> dict[str, list[Account]]:
        """The accounts of each pool and of everything below it, without ARCHIVED subpools."""
        by_pool: dict[str, list[Account]] = defaultdict(list)
        for row in self.accounts:
            for pool in row.pool.chain if row.state != "ARCHIVED" else ():
                by_pool[pool.name].append(row)
        return dict(by_pool)

    @cached_property
    def pools_by_topology(self) -> dict[str, list[FleetPool]]:
        """The pools that each topology places."""
        by_topology: dict[str, list[FleetPool]] = defaultdict(list)
        for pool in self.fleet.pools:
            if pool.topology is not None:
                by_topology[pool.topology.name].append(pool)
        return dict(by_topology)

    def topology_on(self, backend: FleetBackend, name: str | None) -> FleetTopology | None:
        """Returns the topology whose object has this name on a cluster."""
        return self._topologies[backend.name].get(name or "")

    @cached_property
    def _topologies(self) -> dict[str, dict[str, FleetTopology]]:
        fleet = self.fleet
        return {
            backend.name: {topology.name_on(backend): topology for topology in fleet.topologies}
            for backend in fleet.backends
        }

    @cached_property
    def _admission(self) -> Admission:
        return Admission(self.fleet)

    @cached_property
    def verdicts(self) -> dict[int, Verdict]:
        """The verdict on each submission, by the identity of the submission."""
        return {id(submission): self._admission.verdict(submission) for submission in self.places.work}

    def verdict(self, submission: Submission) -> Verdict:
        """Returns the verdict on one submission."""
        return self.verdicts[id(submission)]

    def owner(self, submission: Submission) -> str:
        """Returns the owner of work: from its own labels, else from its queue or a queue above; else empty."""
        return own_owner(submission) or self.owner_of(submission.pool, submission.subpool)

    def owner_of(self, pool: FleetPool, subpool: FleetSubpool | None) -> str:
        """Returns the owner of a pool or of one of its subpools."""
        below = subpool.declared.spec.spec.queue.labels if subpool else pool.declared.spec.spec.sharedQueue.labels
        above = (ancestor.declared.spec.spec.queue.labels for ancestor in pool.chain)
        return next(filter(None, map(named_owner, (below, *above))), "")

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
        answers: dict[int, list[Fit | LeftOut]] = defaultdict(list)
        if any(finding.severity is Severity.ERROR and finding.rule not in VERDICTS for finding in self.findings):
            return answers
        for backend in self.fleet.backends:
            nodes = self.nodes.get(backend.name)
            if nodes is None or not nodes.knows_pods or not backend.is_kai:
                continue
            submissions = [submission for submission in self.places.work if submission.pool.backend is backend]
            for gang in unplaced(self.fleet, submissions):
                answer = settled(gang.orders, nodes) or gang if isinstance(gang, LeftOut) else fit(gang, nodes)
                if isinstance(answer, LeftOut) or answer.outcome is not FitOutcome.RUNS:
                    answers[id(gang.sent)].append(answer)
        return answers

    def picture(self, submission: Submission) -> Picture:
        """Returns the picture of one submission."""
        fleet, work = (self.fleet, submission) if self.whole is None else self.whole(submission)
        return picture(fleet, work, self.verdict(submission))

    @cached_property
    def by_file(self) -> dict[str, list[Diagnostic]]:
        """The findings of each file."""
        findings: dict[str, list[Diagnostic]] = defaultdict(list)
        for finding in self.findings:
            findings[path_of(finding)].append(finding)
        return dict(findings)

    @cached_property
    def first_finding(self) -> dict[str, int]:
        """Index of the first finding of each file."""
        return {path_of(finding): index for index, finding in reversed(list(enumerate(self.findings)))}

    @cached_property
    def declared_in(self) -> dict[str, list[Link]]:
        """Links to the pages of the things that each file declares."""
        links: dict[str, list[Link]] = defaultdict(list)
        for row in self.accounts:
            link = self.places.subpool(row.pool, row.subpool) if row.subpool else self.places.pool(row.pool)
            links[row.file].append(link)
        for topology in self.fleet.topologies:
            if topology.pool is None:
                links[topology.declared.origin.path].append(self.places.topology(topology))
        for submission in self.places.work:
            links[submission.declared.origin.path].append(self.places.submission(submission))
        return dict(links)

    @cached_property
    def work_of_pool(self) -> dict[str, list[Submission]]:
        """The work that is sent to each pool, including its subpools."""
        by_pool: dict[str, list[Submission]] = defaultdict(list)
        for submission in self.places.work:
            by_pool[submission.pool.name].append(submission)
        return dict(by_pool)


def path_of(finding: Diagnostic) -> str:
    """Returns the file of a finding; empty if the finding has none."""
    return finding.location.path if finding.location else ""


def verdict_badge(outcome: Outcome) -> Badge:
    """Returns a verdict as a badge."""
    return Badge(outcome, _TONES[outcome])


def severity_badge(severity: Severity) -> Badge:
    """Returns a severity as a badge."""
    return Badge(*SEVERITIES[severity])
