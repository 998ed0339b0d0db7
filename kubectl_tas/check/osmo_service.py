"""Reports fields and tokens of workflows that only OSMO's service honours. Examples are tokens that OSMO fills in, data
that OSMO fetches, and settings of its runtime.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from pydantic import BaseModel

from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import did_you_mean, shortened
from kubectl_tas.gangs.task_files import INPUT, OUTPUT, OUTPUT_TOKEN, data_paths, is_mounted, task_file, tokens_in
from kubectl_tas.gangs.task_pods import CODES, actions_by_code, code_ranges, mounted_secrets
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.osmo_workflow import Group, Task, Workflow
from kubectl_tas.model.pool_kinds import Pool
from kubectl_tas.model.repository import Declared, local_path
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet

OSMO_ONLY = Rule.info(
    "osmo-only",
    "A workflow or a pool uses fields that only OSMO's runtime honours.",
    "The rendered objects run without these fields. If OSMO runs the workflow, nothing is wrong. If you apply the "
    "manifests directly, the message says what is lost with each field, and the hint what to do instead. docs/osmo.md "
    "says more.",
)
_TASK_FIELDS = ("inputs", "outputs", "kpis", "checkpoint", "downloadType", "cacheSize")
Lost = tuple[str, tuple[str, str]]
"""A field, with the effect that is lost without OSMO and what to do instead."""
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
"""The lost effect of each field without OSMO's runtime, and what to do instead."""
_STUCK = (
    "a task that runs again waits for ever once another one of its group has succeeded",
    "give it a group of its own, or let no task of its group succeed before it",
)
TOKEN_UNKNOWN = Rule.error(
    "token-unknown",
    "A token has no value, such as {{host:TASK}} without such a task in its group.",
    "OSMO leaves such a token unchanged, so the text itself would reach the container. A task knows the hosts of its "
    "own group, and its own inputs by number or by task.",
)
TOKEN_DATA = Rule.warning(
    "token-data",
    "A task uses a folder that only OSMO's data service fills or saves.",
    "{{output}} is /osmo/data/output, which is empty at first and gone with the pod. {{input:N}} is "
    "/osmo/data/input/N, which does not exist. Let the task fetch and store its data itself. Or mount a folder of the "
    "node at /osmo/data/output or /osmo/data/input with volumeMounts, if its platform allows it.",
)


def check_osmo_workflow(declared: Declared[Workflow], fleet: Fleet) -> Iterator[Diagnostic]:
    """Reports one finding for a workflow, about all its fields that only OSMO honours."""
    form, is_low = fleet.config.workflowsAs, declared.spec.workflow.priority == "LOW"
    ignored_fields = _of_workflow(declared.spec, as_jobs=form == "jobs" or (is_low and form != "pods"))
    if id(declared) not in fleet.on_platforms:
        platforms = (_used(resource, ("platform",)) for _, resource, _ in declared.spec.all_resources)
        ignored_fields = chain(ignored_fields, *platforms)
    yield from _finding(declared, ("workflow", "name"), ignored_fields)


def check_osmo_pool(pool: Declared[Pool], fleet: Fleet) -> Iterator[Diagnostic]:
    """Reports one finding for a pool, about all its fields that only OSMO honours."""
    spec = pool.spec.spec
    codes = _of_codes("default_exit_actions", spec.default_exit_actions, as_jobs=fleet.config.workflowsAs != "pods")
    ignored_fields = chain(_used(spec, ("default_queue_timeout", "max_queue_timeout")), codes)
    yield from _finding(pool, ("metadata", "name"), ignored_fields)


def _finding(declared: Declared[Any], key_path: KeyPath, lost: Iterable[Lost]) -> Iterator[Diagnostic]:
    by_field: dict[str, dict[tuple[str, str], None]] = {}
    for field, why_and_how in lost:
        by_field.setdefault(field, {})[why_and_how] = None
    if by_field:
        reasons = "; ".join(f"{f} ({'; '.join(reasons for reasons, _ in e)})" for f, e in by_field.items())
        how = "; ".join(f"{field}: {', and '.join(how for _, how in each)}" for field, each in by_field.items())
        message, hint = f"only OSMO's own runtime honours {reasons}", f"Instead, {how}."
        yield Diagnostic(OSMO_ONLY, message, declared.at(*key_path), hint=hint)


def _of_workflow(workflow: Workflow, *, as_jobs: bool) -> Iterator[Lost]:
    yield from _used(workflow.workflow.timeout, ("queue_timeout",))
    for group, _, _ in workflow.all_groups:
        several = len(group.tasks) > 1
        if several:
            yield from _used(group, ("barrier", "ignoreNonleadStatus"))
        for task in group.tasks:
            if several:
                yield from _used(task, ("lead",))
            yield from _used(task, _TASK_FIELDS)
            if task.exitActions:
                yield from _of_codes("exitActions", task.exitActions, as_jobs=as_jobs, several=several)


def _used(model: BaseModel, fields: tuple[str, ...]) -> Iterator[Lost]:
    """Yields the lost effects of written ``fields``. Skips false and empty values, except of ignoreNonleadStatus."""
    written_fields = model.model_fields_set
    for field in fields:
        if field in written_fields and (getattr(model, field) or field == "ignoreNonleadStatus"):
            yield field, _LOST[field]


def _of_codes(field: str, actions: Mapping[str, str | int], *, as_jobs: bool, several: bool = False) -> Iterator[Lost]:
    """Yields what exit actions lose in a Job or a Pod, where any code other than 0 is a failure."""
    ranges = code_ranges(actions)
    by_code = actions_by_code(ranges)
    zero = by_code.pop(0, None)
    does = {code_range.does for code_range in by_code.values()}
    if zero is not None and zero.does != "COMPLETE":
        yield field, ("0 is a success", "let the command end with another code")
    if "RESCHEDULE" in does and not as_jobs:
        yield field, ("no task runs again", "render Jobs, with spec.workflowsAs of the Config")
    elif "RESCHEDULE" in does and several:
        yield field, _STUCK
    if "COMPLETE" in does:
        yield field, ("a code other than 0 is a failure", "let the command end with 0 where it is done")
    if any(code_range.last > CODES[-1] for code_range in ranges):
        yield field, ("codes above 255 are those of OSMO", "leave them out")


@dataclass(frozen=True, slots=True)
class _Use:
    """First use of a token in a task."""

    token: str
    group: Group
    task: Task
    place: Location
    within: str = ""
    """Path of the local file that contains the token; empty if the workflow itself contains it."""
    is_file: bool = False
    """Whether the token is in the content of a file."""


def check_tokens(declared: Declared[Workflow], fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the tokens of a workflow, whether its pool exists or not."""
    uses = tuple(_uses(fleet, declared))
    unknown = (_unknown(declared.spec, use) for use in uses)
    yield from dict.fromkeys(d for d in unknown if d is not None)  # tasks may share a text by an alias
    outputs = [use for use in uses if use.token == OUTPUT_TOKEN and not is_mounted(use.task, OUTPUT)]
    inputs = [use for use in uses if use.token in data_paths(use.task) and not is_mounted(use.task, INPUT)]
    inputs = [use for use in inputs if use.token != OUTPUT_TOKEN]
    yield from _data(outputs, "what {task} leaves in {{{{output}}}} is gone with its pod", "store", OUTPUT)
    yield from _data(inputs, "nothing fetches {{{{{token}}}}} for {task}", "fetch", INPUT)


def _unknown(workflow: Workflow, use: _Use) -> Diagnostic | None:
    within = f" in {use.within}" if use.within else ""
    kind, _, name = use.token.partition(":")
    if kind == "uuid" and not use.is_file:
        message = f'nothing fills in {{{{uuid}}}} of the task "{use.task.name}"'
        return Diagnostic(TOKEN_UNKNOWN, message, use.place, hint="Write {{workflow_id}}.")
    if kind == "input" and use.token not in data_paths(use.task):
        message = f'the task "{use.task.name}" has no input {{{{{use.token}}}}}{within}'
        has = shortened([f"{{{{{key}}}}}" for key in data_paths(use.task) if key.startswith("input:")])
        hint = f"It has {has}." if has else "It has none; remove it."
        return Diagnostic(TOKEN_UNKNOWN, message, use.place, hint=hint)
    names_of_group = {names.fold(own_task.name): own_task.name for own_task in use.group.tasks}
    if kind == "host" and name not in names_of_group:
        message = f'{{{{{use.token}}}}}{within} names no task of the group "{use.group.name}"'
        groups_with_name = [group.name for group, task, _ in workflow.all_tasks if names.fold(task.name) == name]
        message += f'; "{name}" is in "{groups_with_name[0]}"' if groups_with_name else ""
        advice = (
            "Only tasks of one group know each other's hosts."
            if groups_with_name
            else did_you_mean(name, names_of_group)
        )
        hint = f"{advice} The group has {shortened(list(names_of_group.values()))}.".strip()
        return Diagnostic(TOKEN_UNKNOWN, message, use.place, hint=hint)
    return None


def _data(uses: Sequence[_Use], message: str, does: str, folder: str) -> Iterator[Diagnostic]:
    """Reports one finding for all given tokens, at the first one."""
    if uses:
        other_count = len({use.task.name for use in uses}) - 1
        task = f'the task "{uses[0].task.name}"' + (f" (and {other_count} more)" if other_count else "")
        hint = f"Let the task {does} it itself, or mount a folder at {folder} with volumeMounts."
        yield Diagnostic(TOKEN_DATA, message.format(task=task, token=uses[0].token), uses[0].place, hint=hint)


def _uses(fleet: Fleet, declared: Declared[Workflow]) -> Iterator[_Use]:
    for group, task, path in declared.spec.all_tasks:
        if not _has_tokens(task):
            continue
        seen = set[tuple[str, bool]]()
        for tokens, key_path, within, is_file in _texts(fleet, declared, task, path):
            for token in tokens:
                if (token, is_file) not in seen:
                    seen.add((token, is_file))
                    yield _Use(token, group, task, declared.at(*key_path), within, is_file)


def _has_tokens(task: Task) -> bool:
    """Whether a task may contain tokens. Saves the search in most tasks, which contain none."""
    words = (task.image, *task.command, *task.args, *task.environment.values(), *task.volumeMounts)
    return bool(task.files or task.credentials) or "{{" in "\n".join(map(str, words))


def _texts(
    fleet: Fleet, declared: Declared[Workflow], task: Task, path: KeyPath
) -> Iterator[tuple[Iterable[str], KeyPath, str, bool]]:
    """Yields the tokens of each text that goes into a task's pod: tokens, path, local file, whether in a file."""
    words: list[tuple[str, KeyPath]] = [(task.image, ("image",))]
    for field in ("command", "args", "volumeMounts"):
        words += ((str(word), (field, index)) for index, word in enumerate(getattr(task, field)))
    words += ((str(value), ("environment", name)) for name, value in task.environment.items())
    words += ((folder, ("credentials", name)) for name, folder in mounted_secrets(task).items())
    words += ((file.path, ("files", index, "path")) for index, file in enumerate(task.files))
    for text, key_path in words:
        yield tokens_in(text), (*path, *key_path), "", False
    for index, file_entry in enumerate(task.files):
        file = task_file(file_entry, declared.origin.path, fleet.repository.local_files)
        local = file_entry.localpath
        if file is not None:
            within = "" if local is None else local_path(declared.origin.path, local)
            key_path = (*path, "files", index, "contents" if local is None else "localpath")
            yield sorted(file.tokens), key_path, within, True
