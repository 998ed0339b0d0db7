"""Tells which work existed before a change, from an earlier fleet or from the PodGroups that run in the clusters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import Amounts, ResourceName, total
from kubectl_tas.gangs.podgrouper import pod_group_name
from kubectl_tas.gangs.workflow_gang import gangs_of_workflow
from kubectl_tas.kinds import SET
from kubectl_tas.model.kindlists import written
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.resolve.workflows import FleetWorkflow

if TYPE_CHECKING:  # most commands ask no cluster
    from kubectl_tas.live.live_cluster import RunningGroup


@dataclass(frozen=True)
class Past:
    """Knowledge about the time before a change."""

    before: Fleet | None = None
    """The earlier fleet; None if unknown."""
    running: Mapping[str, Sequence[RunningGroup]] = field(default_factory=dict)
    """Running PodGroups, by backend."""

    @cached_property
    def _earlier(self) -> dict[tuple[str, str, str, str], Submission]:
        return {_identity(submission): submission for submission in self.before.submissions} if self.before else {}

    def unchanged(self, fleet: Fleet, submission: Submission) -> Submission | None:
        """Returns the earlier version of a submission; None if it is new, or if its pods or its queue would differ.

        Work that is the same before and after may exist only as summaries.
        """
        old = self._earlier.get(_identity(submission))
        if old is None or (old.queue, old.priority) != (submission.queue, submission.priority):
            return None
        if isinstance(submission, FleetWorkflow) and isinstance(old, FleetWorkflow) and self.before is not None:
            was, now = gangs_of_workflow(self.before, old), gangs_of_workflow(fleet, submission)
            return old if [gang.name for gang in was] == [gang.name for gang in now] else None
        return old if old.declared.origin.data == submission.declared.origin.data else None

    def runs(
        self, fleet: Fleet, submission: Submission, resource: ResourceName, least: Amounts, more_than: Amounts
    ) -> bool:
        """Whether a submission runs with ``least`` of a resource. Of a workflow, only the gangs that ask for more than
        ``more_than`` must run: their names prove that these gangs have not changed.
        """
        groups, place = self.running.get(submission.pool.backend.name, ()), (submission.namespace, submission.queue)
        groups_of_queue = [group for group in groups if (group.namespace, group.queue) == place]
        if groups_of_queue and isinstance(submission, FleetWorkflow):
            large = [group for group in submission.groups if group.asks.of(resource) > more_than.of(resource)]
            gang_names = {gang.name for gang in gangs_of_workflow(fleet, submission, large)}
            return bool(gang_names) and gang_names <= {group.name for group in groups_of_queue}
        held = total(group.held for group in groups_of_queue if _is_of(submission, group))
        return 0 < least.of(resource) <= held.of(resource)


def _is_of(submission: Submission, group: RunningGroup) -> bool:
    """Whether a PodGroup belongs to a submission that is not a workflow."""
    if isinstance(submission, FleetWorkload) and submission.is_owned:
        return group.name == pod_group_name(submission)
    if submission.kind == "PodGroup":
        return group.name == submission.name
    if submission.kind == SET.kind:  # its PodGangs are NAME-0, NAME-0-workers-1
        gang = re.compile(re.escape(submission.name) + r"-[0-9]+(-.+)?")
        return any(kind == "PodGang" and gang.fullmatch(name) for kind, name in group.owners)
    return (written(submission.kind), submission.name) in group.owners


def _identity(submission: Submission) -> tuple[str, str, str, str]:
    return submission.pool.backend.name, submission.kind, submission.namespace, submission.name
