"""What OSMO fills in when a workflow runs is known, and what its data service would do is not forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kubectl_tas.diagnostics import Diagnostic, Location, Rule, Severity
from kubectl_tas.gangs.files import task_file
from kubectl_tas.gangs.tokens import HOST, INPUT, OUTPUT, OUTPUT_TOKEN, data_paths, is_mounted, tokens_in
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared, local_path
from kubectl_tas.model.workflow import Group, Task, Workflow
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.workflows import groups_of, task_path
from kubectl_tas.words import did_you_mean, shortened

TOKEN_UNKNOWN = Rule(
    "token-unknown",
    Severity.ERROR,
    "A token stands for nothing: {{host:TASK}} of no task of its group, {{input:N}} of no input, or {{uuid}}.",
    "OSMO leaves such a token as it is, and the text itself would reach the container. A task knows the hosts of its "
    "own group, and its own inputs by their number or their task.",
)
TOKEN_DATA = Rule(
    "token-data",
    Severity.WARNING,
    "A task reads or writes a folder that only OSMO's data service fills or saves.",
    "{{output}} is /osmo/data/output, which is empty at first and gone with the pod; {{input:N}} is "
    "/osmo/data/input/N, which is not there. Let the task fetch and store its data itself, or mount a folder of the "
    "node at /osmo/data/output or /osmo/data/input with volumeMounts, where its platform allows it.",
)
_UUID = "uuid"


@dataclass(frozen=True, slots=True)
class _Words:
    """What stands in a text of a task."""

    tokens: Iterable[str]
    place: KeyPath
    within: str = ""
    """The file that it is read from."""
    is_file: bool = False


def check_tokens(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every workflow, whether its pool exists or not."""
    for declared in fleet.repository.workflows:
        outputs: list[tuple[Task, Location]] = []
        inputs: list[tuple[Task, str, Location]] = []
        for group, where in groups_of(declared.spec):
            for index, task in enumerate(group.tasks):
                if not _has_tokens(task):
                    continue
                path = task_path(declared.spec, where, index)
                known = data_paths(task)
                seen: set[str] = set()
                for words in _words(fleet, declared, task, path):
                    for token in words.tokens:
                        if token in seen or (token == _UUID and words.is_file):
                            continue
                        seen.add(token)
                        place = declared.at(*words.place)
                        if token.startswith(("input:", HOST)) or token == _UUID:
                            yield from _unknown(declared.spec, group, task, token, words, place)
                        if token == OUTPUT_TOKEN and not is_mounted(task, OUTPUT):
                            outputs.append((task, place))
                        elif token.startswith("input:") and token in known and not is_mounted(task, INPUT):
                            inputs.append((task, token, place))
        yield from _data(outputs, inputs)


def _unknown(
    workflow: Workflow, group: Group, task: Task, token: str, words: _Words, place: Location
) -> Iterator[Diagnostic]:
    within = f" in {words.within}" if words.within else ""
    kind, _, name = token.partition(":")
    if token == _UUID:
        message = f'nothing fills in {{{{uuid}}}} of the task "{task.name}"'
        yield Diagnostic(TOKEN_UNKNOWN, message, place, hint="Write {{workflow_id}}.")
    elif kind == "input" and token not in data_paths(task):
        message = f'the task "{task.name}" has no input {{{{{token}}}}}{within}'
        has = shortened([f"{{{{{key}}}}}" for key in data_paths(task) if key.startswith("input:")])
        yield Diagnostic(TOKEN_UNKNOWN, message, place, hint=f"It has {has or 'none'}.")
    elif kind == "host" and name not in (own := {names.fold(item.name): item.name for item in group.tasks}):
        others = [item.name for item, _ in groups_of(workflow) if _has(item, name)]
        message = f'no task "{name}" in the group "{group.name}", of which {{{{{token}}}}}{within} names a host'
        message += f'; it is in "{others[0]}"' if others else ""
        listed = f"The group has {shortened(list(own.values()))}."
        hint = f"Only tasks of one group know each other's hosts. {listed}" if others else None
        yield Diagnostic(TOKEN_UNKNOWN, message, place, hint=hint or f"{did_you_mean(name, own)} {listed}".strip())


def _has(group: Group, task: str) -> bool:
    return any(names.fold(item.name) == task for item in group.tasks)


def _data(outputs: list[tuple[Task, Location]], inputs: list[tuple[Task, str, Location]]) -> Iterator[Diagnostic]:
    """One finding for what a workflow leaves, and one for what it begins with."""
    if outputs:
        task, place = outputs[0]
        message = (
            f'what the task "{task.name}"{_more(task, (item for item, _ in outputs))} leaves in {{{{output}}}} is '
        )
        message += "gone with its pod"
        hint = f"Let the task store it itself, or mount a folder at {OUTPUT} with volumeMounts."
        yield Diagnostic(TOKEN_DATA, message, place, hint=hint)
    if inputs:
        task, token, place = inputs[0]
        message = f'nothing fetches {{{{{token}}}}} for the task "{task.name}"'
        message += _more(task, (item for item, _, _ in inputs))
        hint = f"Let the task fetch it itself, or mount a folder at {INPUT} with volumeMounts."
        yield Diagnostic(TOKEN_DATA, message, place, hint=hint)


def _more(task: Task, every: Iterable[Task]) -> str:
    others = {item.name for item in every} - {task.name}
    return f" (and {len(others)} more)" if others else ""


def _has_tokens(task: Task) -> bool:
    """Whether a task may have any; most have none, and nobody waits for those."""
    words = (task.image, *task.command, *task.args, *task.environment.values(), *task.volumeMounts)
    return bool(task.files or task.credentials) or "{{" in "\n".join(map(str, words))


def _words(fleet: Fleet, declared: Declared[Workflow], task: Task, path: KeyPath) -> Iterator[_Words]:
    """Every text of a task that becomes a part of its pod."""
    yield _Words(tokens_in(task.image), (*path, "image"))
    for field in ("command", "args", "volumeMounts"):
        for index, word in enumerate(getattr(task, field)):
            yield _Words(tokens_in(str(word)), (*path, field, index))
    for name, value in task.environment.items():
        yield _Words(tokens_in(str(value)), (*path, "environment", name))
    for name, folder in task.credentials.items():
        if isinstance(folder, str):
            yield _Words(tokens_in(folder), (*path, "credentials", name))
    for index, file in enumerate(task.files):
        place = (*path, "files", index)
        yield _Words(tokens_in(file.path), (*place, "path"))
        found = task_file(file, declared.origin.path, fleet.repository.local_files)
        if found is not None:
            field = "contents" if file.localpath is None else "localpath"
            within = "" if file.localpath is None else local_path(declared.origin.path, file.localpath)
            yield _Words(sorted(found.tokens), (*place, field), within, is_file=True)
