"""LOW work gives back what it borrows: how long its pods may take to end.

KAI evicts a pod with empty DeleteOptions (0.17: pkg/scheduler/cache/evictor/default_evictor.go), so the pod's own
terminationGracePeriodSeconds counts. A preStop hook needs no rule of its own: kubelet counts its time within that
period, and kills the container at the end of it (Kubernetes documentation, "Container Lifecycle Hooks").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from kubectl_tas import durations
from kubectl_tas.check.gpurequests import pods_of
from kubectl_tas.diagnostics import Diagnostic, Location, Rule, Severity, Waiving
from kubectl_tas.model.base import KeyPath
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.handwritten import SubmittedPodGroup
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.resolve.workflows import FleetWorkflow

EVICTION_SLOW = Rule(
    "eviction-slow",
    Severity.ERROR,
    "Pods of LOW work may take longer to end than the Config allows.",
    "LOW work borrows GPUs of others. When they want them back, KAI evicts its pods, and each keeps its GPUs until it "
    "ends or its terminationGracePeriodSeconds are over. With 2147483647 that is never. Save a checkpoint within "
    "spec.maxGracePeriod of the Config (10m by default) and lower the field, or send the work as NORMAL. A preStop "
    "hook runs within the same time.",
    protects=Waiving.CONFIG,
)
_FIELD = "terminationGracePeriodSeconds"


def check_evictions(fleet: Fleet) -> Iterator[Diagnostic]:
    """All pods of LOW work, each pod template of a platform once."""
    most = fleet.config.grace_seconds
    seen: set[Location] = set()
    for item in fleet.submissions:
        if not item.is_preemptible:
            continue
        for seconds, place in _periods(item):
            if type(seconds) is int and seconds > most and (at := place()) not in seen:
                seen.add(at)
                time, allowed = durations.text(seconds * 10**9), fleet.config.maxGracePeriod
                what = f"pods of the LOW {item.kind} {item.name} may keep what they borrow"
                message = f"{what} for {time} after KAI evicts them; the Config allows {allowed}"
                hint = f"Write at most {most}, or send the work as NORMAL."
                yield Diagnostic(EVICTION_SLOW, message, at, hint=hint)


def _periods(item: Submission) -> Iterator[tuple[object, Callable[[], Location]]]:
    """What each of its pods says, and where."""
    path: KeyPath
    if isinstance(item, FleetWorkflow):
        for task in (task for group in item.groups for task in group.tasks if not task.platform.is_plain):
            spec, path = task.template.data.get("spec"), ("spec", _FIELD)
            yield spec.get(_FIELD) if isinstance(spec, dict) else None, partial(task.template.at, path)
    for pod in pods_of(item.group) if isinstance(item, SubmittedPodGroup) else pods_of(item):
        yield (pod.spec.model_extra or {}).get(_FIELD), partial(pod.origin.locate, (*pod.path, _FIELD))
