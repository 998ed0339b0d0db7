"""Checks timeouts of work, actions on exit codes, and how long pods of LOW work may take to end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Waiving
from kubectl_tas.facts import times
from kubectl_tas.gangs.task_pods import CodeRange, code_ranges, seconds
from kubectl_tas.kinds.section import children
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.handwritten import SubmittedPodGroup
from kubectl_tas.resolve.podcliqueset import SubmittedSet
from kubectl_tas.resolve.pools import FleetPool, Submission
from kubectl_tas.resolve.workflows import FleetWorkflow

if TYPE_CHECKING:
    from kubectl_tas.model.config import ConfigSpec

TIMEOUT_TOO_LONG = Rule.error(
    "timeout-too-long",
    "A workflow may run or wait for longer than its pool allows.",
    "max_exec_timeout of a pool limits how long a group of a workflow runs, and OSMO then ends it without a warning. "
    "Shorten exec_timeout, or leave it out: then the pool's default_exec_timeout counts.",
)
EXIT_CODES = Rule.warning(
    "exit-codes",
    "An exit code has two actions, or a range ends before it begins.",
    "If a code has two actions, the first one in the list counts. A range that ends before it begins contains no code. "
    "Write each code once, and ranges from the lower to the higher code.",
)
EVICTION_SLOW = Rule.error(
    "eviction-slow",
    "Pods of LOW work may take longer to end than the Config allows.",
    "LOW work borrows GPUs of other queues. When they want them back, KAI evicts its pods. Each pod keeps its GPUs "
    "until it ends, at most terminationGracePeriodSeconds; 2147483647 means never. Save a checkpoint within "
    "spec.maxGracePeriod of the Config (10m by default) and lower the field, or send the work as NORMAL. A preStop "
    "hook counts for the same time.",
    protects=Waiving.CONFIG,
)
_GRACE = "terminationGracePeriodSeconds"


def check_lifetimes(workflow: FleetWorkflow, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the timeouts of a workflow with a known pool, and exit actions of its tasks."""
    pool, asked_timeout = workflow.pool.declared, workflow.declared.spec.workflow.timeout.exec_timeout
    most = pool.spec.spec.max_exec_timeout
    if asked_timeout is not None and most is not None and seconds(asked_timeout) > seconds(most) > 0:
        message = (
            f"exec_timeout is {_shown(asked_timeout)}, but pool {workflow.pool.name} lets work run for {_shown(most)}"
        )
        location = workflow.declared.at("workflow", "timeout", "exec_timeout")
        related = (Related("the pool's maximum", pool.at("spec", "max_exec_timeout")),)
        yield Diagnostic(TIMEOUT_TOO_LONG, message, location, related, hint=f"Write {_shown(most)} or less.")
    for group in workflow.groups:
        for task in group.tasks:
            yield from _codes(workflow.declared, (*task.path, "exitActions"), code_ranges(task.spec.exitActions))


def check_default_lifetimes(pool: FleetPool, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the default timeouts and exit actions of a pool."""
    for kind in ("exec", "queue"):
        default, most = (getattr(pool.declared.spec.spec, f"{end}_{kind}_timeout") for end in ("default", "max"))
        if default is not None and most is not None and seconds(default) > seconds(most) > 0:
            message = f"default_{kind}_timeout is {_shown(default)}, but max_{kind}_timeout is {_shown(most)}"
            location = pool.declared.at("spec", f"default_{kind}_timeout")
            related = (Related("the maximum", pool.declared.at("spec", f"max_{kind}_timeout")),)
            yield Diagnostic(TIMEOUT_TOO_LONG, message, location, related, hint=f"Write {_shown(most)} or less.")
    ranges = code_ranges(pool.declared.spec.spec.default_exit_actions)
    yield from _codes(pool.declared, ("spec", "default_exit_actions"), ranges)


def _shown(duration: str | int | float) -> str:
    return duration if isinstance(duration, str) else f"{duration}s"


def _codes(declared: Declared[Any], path: KeyPath, ranges: Sequence[CodeRange]) -> Iterator[Diagnostic]:
    first_ranges: dict[int, CodeRange] = {}
    for code_range in ranges:
        location = declared.at(*path, code_range.action)
        if code_range.first > code_range.last:
            message = f"the range {code_range.text} of {code_range.action} has no exit code"
            hint = f"Write the lower one first: {code_range.last}-{code_range.first}."
            yield Diagnostic(EXIT_CODES, message, location, hint=hint)
        earlier = [
            first_ranges.setdefault(code, code_range) for code in range(code_range.first, min(code_range.last, 255) + 1)
        ]
        conflicting = next((earlier_range for earlier_range in earlier if earlier_range.does != code_range.does), None)
        if conflicting is not None:
            message = (
                f"{code_range.action} has exit codes ({code_range.text}) that {conflicting.action} has before it "
                f"({conflicting.text})"
            )
            hint = f"{conflicting.action} counts for such codes. Write each code once."
            related = (Related("the earlier ones", declared.at(*path, conflicting.action)),)
            yield Diagnostic(EXIT_CODES, message, location, related, hint=hint)


class Evictions(NamedTuple):
    """The bound for grace periods, and the places that have a finding."""

    config: ConfigSpec
    places: set[Location]


def check_evictions(submission: Submission, judged: Evictions) -> Iterator[Diagnostic]:
    """Checks all pods of LOW work, and each pod template of a platform once."""
    config, places = judged
    for period, location in _periods(submission) if submission.is_preemptible else ():
        if type(period) is int and period > config.grace_seconds and (at := location()) not in places:
            places.add(at)
            pods_of_work = f"pods of the LOW {submission.kind} {submission.name} may keep what they borrow"
            time = f"for {times.duration(period * 10**9)} after KAI evicts them"
            message = f"{pods_of_work} {time}; the Config allows {config.maxGracePeriod}"
            hint = f"Write at most {config.grace_seconds}, or send the work as NORMAL."
            yield Diagnostic(EVICTION_SLOW, message, at, hint=hint)


def _periods(submission: Submission) -> Iterator[tuple[object, Callable[[], Location]]]:
    path: KeyPath
    if isinstance(submission, FleetWorkflow):
        for task in (task for group in submission.groups for task in group.tasks if not task.platform.is_plain):
            spec, path = task.template.data.get("spec"), ("spec", _GRACE)
            yield spec.get(_GRACE) if isinstance(spec, dict) else None, partial(task.template.at, path)
    if isinstance(submission, FleetWorkload | SubmittedSet):
        origins = [submission.declared.origin]
    else:
        origins = [pod.origin for pod in submission.group.pods] if isinstance(submission, SubmittedPodGroup) else []
    for origin in origins:
        for path, period in _grace_periods(origin.data):
            yield period, partial(origin.locate, path)


def _grace_periods(document: object) -> Iterator[tuple[KeyPath, object]]:
    """Yields the grace periods of pods anywhere in a document, since operators take them in many places. A probe has a
    period of its own, for the container alone.
    """
    waiting: list[tuple[KeyPath, Any]] = [((), document)]
    while waiting:
        path, value = waiting.pop()
        has_period = _GRACE in value and isinstance(value, dict) and not str(path[-1] if path else "").endswith("Probe")
        if has_period:
            yield (*path, _GRACE), value[_GRACE]
        for key, below in children(value):
            if isinstance(below, dict | list) and not (has_period and key == _GRACE):
                waiting.append(((*path, key), below))
