"""Names the causes that keep work from running, and reads from KAI's messages which queue refuses work.

KAI's messages are those of 0.12 to 0.17: ``UnschedulableReason`` of pkg/apis/scheduling/v2alpha2/podgroup_types.go
(QueueDoesNotExist from 0.13, PreemptionDelayNotElapsed from 0.17).
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.diagnostics import Location
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import ResourceName
from kubectl_tas.live.reasons import Saying


class CauseKind(Enum):
    """Causes that keep work from running, in the order in which they must go away."""

    ABSENT = "absent"
    STOPPED = "stopped"
    DELETED = "deleted"
    REFUSED = "refused"
    GATED = "gated"
    DIFFERS = "differs"
    QUEUE = "queue"
    NEEDS = "needs"
    NOT_READY = "not-ready"
    QUOTA = "quota"
    DELAY = "delay"
    TOPOLOGY = "topology"
    ROOM = "room"
    BINDING = "binding"
    STARTING = "starting"
    FAILED = "failed"
    EVICTED = "evicted"
    OTHER = "other"


NO_GROUP = "PodGrouperWarning"
"""Reason of KAI's podgrouper if it makes no PodGroup for a pod."""
REFUSED = "FailedCreate"
"""Reason of a controller if the API server refuses its pods."""
NOT_READY = "NotReady"
"""KAI's reason if fewer pods exist than the PodGroup starts with."""
UNPLACED = "Unschedulable"
"""KAI's reason if KAI gives no details."""


@json_fields("file line column")
class FilePlace(NamedTuple):
    """A place in a file."""

    file: str
    line: int
    """The line, from 1; 0 for the file as a whole."""
    column: int


@json_fields("about=kind text hint place said=sayings")
@dataclass(frozen=True, slots=True)
class Cause:
    """One reason why work does not run."""

    kind: CauseKind
    text: str
    """Description of the cause in this project's words."""
    sayings: tuple[Saying, ...] = ()
    """Messages of the cluster about the cause."""
    location: Location | None = None
    """Location in the files that the cause is about."""
    hint: str = ""
    claims: str = ""
    """Pattern of the messages about this cause, if several causes have the same ``kind``; empty means all messages."""

    @property
    def place(self) -> FilePlace | None:
        """Location in the files that the cause is about."""
        place = self.location
        return None if place is None else FilePlace(place.path, place.line, place.column)


APPLY = "Apply its manifests, or change the file."


@dataclass(frozen=True, slots=True)
class ReportedRefusal:
    """A queue that refuses work, as KAI 0.12 to 0.17 reports it (pkg/scheduler/api/unschedule_info.go)."""

    queue: str
    resource: ResourceName
    most: str = ""
    held: str = ""
    requested: str = ""
    is_limit: bool = False
    """Whether the queue's limit is exceeded, not its quota."""


_UNITS: dict[str, ResourceName] = {"GPUs": "gpu", "CPU cores": "cpu", "GB memory": "memory", "memory": "memory"}
_OVER_LIMIT = re.compile(
    r"(\S+) quota has reached the allowable limit of (GPUs|CPU cores|memory)\. "
    r"Limit is (\S+ \w+)(?:, currently (\S+) \S+ allocated and workload requested (\S+))?"
)
_OVER_QUOTA = re.compile(
    r"Workload requested (\S+) (GPUs|CPU cores|GB memory), but (\S+) quota is (\S+ \w+)(?:, while (\S+) )?"
)


def refusal_of(saying: Saying) -> ReportedRefusal | None:
    """Returns the queue that refuses the work, if KAI's message names one; else None."""
    limit, quota = _OVER_LIMIT.search(saying.text), _OVER_QUOTA.search(saying.text)
    if limit is not None:
        queue, unit, most, held, requested = limit.groups()
        return ReportedRefusal(queue, _UNITS[unit], most, held or "", requested or "", is_limit=True)
    if quota is not None:
        requested, unit, queue, most, held = quota.groups()
        return ReportedRefusal(queue, _UNITS[unit], most, held or "", requested)
    return None


TEXTS = {
    CauseKind.REFUSED: "it is refused before the scheduler sees it",
    CauseKind.GATED: "its pods wait for their scheduling gates",
    CauseKind.DIFFERS: "the cluster differs from the file",
    CauseKind.QUEUE: "KAI does not know its queue",
    CauseKind.NEEDS: "KAI waits for something that its pods name",
    CauseKind.NOT_READY: "KAI waits until as many of its pods are there as it starts with",
    CauseKind.QUOTA: "its queue has no room for it",
    CauseKind.DELAY: "it must wait before it may make others go",
    CauseKind.TOPOLOGY: "no domain of a level that it requires has room for it",
    CauseKind.ROOM: "nodes have no room for all that it starts with",
    CauseKind.FAILED: "pods of it have failed",
    CauseKind.EVICTED: "it has run and was evicted",
    CauseKind.OTHER: "the cluster says",
}
"""Description of a cause that only messages of the cluster tell."""
HINTS = {
    CauseKind.ABSENT: "Apply its manifests; if it has run, it may have been removed since.",
    CauseKind.REFUSED: "Correct what is refused: KAI tries again by itself.",
    CauseKind.GATED: "Ask who set the gates; KAI places the pods as soon as they are gone.",
    CauseKind.DIFFERS: APPLY,
    CauseKind.QUEUE: "Apply the manifests of its pool.",
    CauseKind.NEEDS: "Create what is named; KAI tries again by itself.",
    CauseKind.NOT_READY: (
        "Look at what makes its pods: it may be suspended, refused by a quota of the namespace, or slow."
    ),
    CauseKind.QUOTA: "Wait until others of the queue have ended, or ask for less.",
    CauseKind.TOPOLOGY: "Require a coarser level, prefer it, or free nodes.",
    CauseKind.ROOM: "Ask for less, or free nodes.",
    CauseKind.BINDING: "Look at the nodes and volumes that are named; KAI tries again by itself.",
    CauseKind.STARTING: "Correct its image, command or volumes; the scheduler has done its part.",
    CauseKind.FAILED: "Look at its logs. Failed pods do not start again; a Job makes others up to its backoffLimit.",
    CauseKind.EVICTED: "It waits for room again.",
}
"""Hint for a cause, if nothing more exact is known."""
