"""What OSMO's own runtime does for a workflow, and a cluster without it does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from pydantic import BaseModel

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.gangs.lifetime import CODES, actions_by_code, code_ranges
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared
from kubectl_tas.model.workflow import Workflow
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.workflows import groups_of, resource_paths

OSMO_ONLY = Rule(
    "osmo-only",
    Severity.INFO,
    "A workflow, or a pool, uses fields that only OSMO's own runtime can honour.",
    "What is rendered runs without them. Nothing is wrong where OSMO runs the workflow; where the manifests are "
    "applied directly, the message says of each field what is lost, and the hint what to do instead. docs/osmo.md says "
    "more.",
)
_TASK_FIELDS = ("inputs", "outputs", "kpis", "checkpoint", "downloadType", "cacheSize")
Lost = tuple[str, tuple[str, str]]
"""A field; what is lost of it, and what to do instead."""
_LOST = {
    "queue_timeout": ("work waits for as long as it takes", "delete what has waited too long"),
    "barrier": (
        "pods are placed together, but each command starts when its own container does",
        "let commands try until they reach each other",
    ),
    "lead": ("the other tasks go on when it ends", "let them end by themselves"),
    "ignoreNonleadStatus": (
        "of a gang in which a pod failed KAI evicts the rest after a minute, unless one has succeeded",
        "let tasks end with 0 whose failure is not to count",
    ),
    "inputs": (
        "nothing is fetched, and no task waits for the one whose output it takes",
        "fetch them in the command or mount a volume, and commit what comes later when the first is done",
    ),
    "outputs": ("nothing is stored", "store them in the command, or write to a mounted volume"),
    "kpis": ("none is read", "let the command report them"),
    "checkpoint": ("nothing is saved while the task runs", "let the command save it, or write to a mounted volume"),
    "downloadType": ("nothing is fetched", "see inputs"),
    "cacheSize": ("nothing is fetched", "see inputs"),
    "platform": ("it chooses no nodes", "list platforms in the pool, or say with nodes of the pool where its pods run"),
    "default_queue_timeout": ("work waits for as long as it takes", "delete what has waited too long"),
    "max_queue_timeout": ("work waits for as long as it takes", "delete what has waited too long"),
}
"""Of each field what is lost without OSMO's runtime, and what to do instead."""
_FAILS = ("a code other than 0 is a failure", "let the command end with 0 where it is done")
_NEVER_AGAIN = ("no task runs again", "render Jobs, with spec.workflowsAs of the Config")
_ZERO = ("0 is a success", "let the command end with another code")
_OWN = ("codes above 255 are those of OSMO", "leave them out")
_STUCK = (
    "a task that runs again waits for ever once another one of its group has succeeded",
    "give it a group of its own, or let no task of its group succeed before it",
)


def check_osmo_only(fleet: Fleet) -> Iterator[Diagnostic]:
    """One finding for each workflow and each pool, with every such field that it uses."""
    form = fleet.config.workflowsAs
    on_platforms = {id(item.declared) for item in fleet.workflows if item.pool.platforms.by_name}
    for declared in fleet.repository.workflows:
        is_low = declared.spec.workflow.priority == "LOW"
        lost = _of_workflow(declared.spec, as_jobs=form == "jobs" or (is_low and form != "pods"))
        if id(declared) not in on_platforms:
            lost = chain(lost, *(_used(item, ("platform",)) for _, item, _ in resource_paths(declared.spec)))
        yield from _finding(declared, ("workflow", "name"), lost)
    for pool in fleet.repository.pools:
        spec = pool.spec.spec
        codes = _of_codes("default_exit_actions", spec.default_exit_actions, as_jobs=form != "pods")
        lost = chain(_used(spec, ("default_queue_timeout", "max_queue_timeout")), codes)
        yield from _finding(pool, ("metadata", "name"), lost)


def _finding(declared: Declared[Any], place: KeyPath, lost: Iterable[Lost]) -> Iterator[Diagnostic]:
    by_field: dict[str, dict[tuple[str, str], None]] = {}
    for field, why_and_how in lost:
        by_field.setdefault(field, {})[why_and_how] = None
    if by_field:
        why = "; ".join(f"{field} ({'; '.join(why for why, _ in each)})" for field, each in by_field.items())
        how = "; ".join(f"{field}: {', and '.join(how for _, how in each)}" for field, each in by_field.items())
        message, hint = f"only OSMO's own runtime honours {why}", f"Instead, {how}."
        yield Diagnostic(OSMO_ONLY, message, declared.at(*place), hint=hint)


def _of_workflow(workflow: Workflow, *, as_jobs: bool) -> Iterator[Lost]:
    yield from _used(workflow.workflow.timeout, ("queue_timeout",))
    for group, _ in groups_of(workflow):
        several = len(group.tasks) > 1
        if several:
            yield from _used(group, ("barrier", "ignoreNonleadStatus"))
        for task in group.tasks:
            if several:
                yield from _used(task, ("lead",))
            yield from _used(task, _TASK_FIELDS)
            yield from _of_codes("exitActions", task.exitActions, as_jobs=as_jobs, several=several)


def _used(model: BaseModel, fields: tuple[str, ...]) -> Iterator[Lost]:
    """Those of ``fields`` that are written; no task loses by what says false, but for ignoreNonleadStatus."""
    for field in fields:
        if field in model.model_fields_set and (getattr(model, field) or field == "ignoreNonleadStatus"):
            yield _lost(field)


def _lost(field: str) -> Lost:
    return field, _LOST[field]


def _of_codes(field: str, actions: Mapping[str, str | int], *, as_jobs: bool, several: bool = False) -> Iterator[Lost]:
    """What a Job, or a Pod, cannot make of exit codes; that others than 0 fail it is so in any case."""
    ranges = code_ranges(actions)
    by_code = actions_by_code(ranges)
    zero = by_code.pop(0, None)
    does = {item.does for item in by_code.values()}
    if zero is not None and zero.does != "COMPLETE":
        yield field, _ZERO
    if "RESCHEDULE" in does and not as_jobs:
        yield field, _NEVER_AGAIN
    elif "RESCHEDULE" in does and several:
        yield field, _STUCK
    if "COMPLETE" in does:
        yield field, _FAILS
    if any(item.last > CODES[-1] for item in ranges):
        yield field, _OWN
