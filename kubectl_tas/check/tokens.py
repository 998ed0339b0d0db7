"""What OSMO fills in when a workflow runs is known, and what its data service would do is not forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kubectl_tas.diagnostics import Diagnostic, Location, Rule, Severity
from kubectl_tas.gangs.task_files import INPUT, OUTPUT, OUTPUT_TOKEN, data_paths, is_mounted, task_file, tokens_in
from kubectl_tas.gangs.task_pods import mounted_secrets
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared, local_path
from kubectl_tas.model.workflow import Group, Task, Workflow
from kubectl_tas.records import dataclass
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
class _Use:
    """Where a task first has a token."""

    token: str
    group: Group
    task: Task
    place: Location
    within: str = ""
    """The file of the repository that it stands in."""
    is_file: bool = False
    """Whether it stands in what a file has in it."""


def check_tokens(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every workflow, whether its pool exists or not."""
    for declared in fleet.repository.workflows:
        uses = tuple(_uses(fleet, declared))
        unknown = (_unknown(declared.spec, use) for use in uses)
        yield from dict.fromkeys(item for item in unknown if item is not None)  # tasks may share a text by an alias
        outputs = [use for use in uses if use.token == OUTPUT_TOKEN and not is_mounted(use.task, OUTPUT)]
        inputs = [use for use in uses if use.token in data_paths(use.task) and not is_mounted(use.task, INPUT)]
        yield from _data(outputs, [use for use in inputs if use.token != OUTPUT_TOKEN])


def _unknown(workflow: Workflow, use: _Use) -> Diagnostic | None:
    within = f" in {use.within}" if use.within else ""
    kind, _, name = use.token.partition(":")
    if kind == _UUID and not use.is_file:
        message = f'nothing fills in {{{{uuid}}}} of the task "{use.task.name}"'
        return Diagnostic(TOKEN_UNKNOWN, message, use.place, hint="Write {{workflow_id}}.")
    if kind == "input" and use.token not in data_paths(use.task):
        message = f'the task "{use.task.name}" has no input {{{{{use.token}}}}}{within}'
        has = shortened([f"{{{{{key}}}}}" for key in data_paths(use.task) if key.startswith("input:")])
        return Diagnostic(
            TOKEN_UNKNOWN, message, use.place, hint=f"It has {has}." if has else "It has none; remove it."
        )
    own = {names.fold(item.name): item.name for item in use.group.tasks}
    if kind == "host" and name not in own:
        message = f'no task "{name}" in the group "{use.group.name}", of which {{{{{use.token}}}}}{within} names a host'
        others = [group.name for group, _ in groups_of(workflow) if name in map(names.fold, _names(group))]
        message += f'; it is in "{others[0]}"' if others else ""
        advice = "Only tasks of one group know each other's hosts." if others else did_you_mean(name, own)
        hint = f"{advice} The group has {shortened(list(own.values()))}.".strip()
        return Diagnostic(TOKEN_UNKNOWN, message, use.place, hint=hint)
    return None


def _names(group: Group) -> Iterator[str]:
    return (item.name for item in group.tasks)


def _data(outputs: Sequence[_Use], inputs: Sequence[_Use]) -> Iterator[Diagnostic]:
    """One finding for what a workflow leaves, and one for what it begins with."""
    if outputs:
        first = outputs[0]
        message = f'what the task "{first.task.name}"{_more(outputs)} leaves in {{{{output}}}} is gone with its pod'
        hint = f"Let the task store it itself, or mount a folder at {OUTPUT} with volumeMounts."
        yield Diagnostic(TOKEN_DATA, message, first.place, hint=hint)
    if inputs:
        first = inputs[0]
        message = f'nothing fetches {{{{{first.token}}}}} for the task "{first.task.name}"{_more(inputs)}'
        hint = f"Let the task fetch it itself, or mount a folder at {INPUT} with volumeMounts."
        yield Diagnostic(TOKEN_DATA, message, first.place, hint=hint)


def _more(uses: Sequence[_Use]) -> str:
    others = len({use.task.name for use in uses}) - 1
    return f" (and {others} more)" if others else ""


def _uses(fleet: Fleet, declared: Declared[Workflow]) -> Iterator[_Use]:
    for group, where in groups_of(declared.spec):
        for index, task in enumerate(group.tasks):
            if not _has_tokens(task):
                continue
            path, seen = task_path(declared.spec, where, index), set[tuple[str, bool]]()
            for tokens, place, within, is_file in _texts(fleet, declared, task, path):
                for token in tokens:
                    if (token, is_file) not in seen:
                        seen.add((token, is_file))
                        yield _Use(token, group, task, declared.at(*place), within, is_file)


def _has_tokens(task: Task) -> bool:
    """Whether a task may have any; most have none, and nobody waits for those."""
    words = (task.image, *task.command, *task.args, *task.environment.values(), *task.volumeMounts)
    return bool(task.files or task.credentials) or "{{" in "\n".join(map(str, words))


def _texts(
    fleet: Fleet, declared: Declared[Workflow], task: Task, path: KeyPath
) -> Iterator[tuple[Iterable[str], KeyPath, str, bool]]:
    """The tokens of every text of a task that becomes a part of its pod; where it stands, and whether in a file."""
    words: list[tuple[str, KeyPath]] = [(task.image, ("image",))]
    for field in ("command", "args", "volumeMounts"):
        words += ((str(word), (field, index)) for index, word in enumerate(getattr(task, field)))
    words += ((str(value), ("environment", name)) for name, value in task.environment.items())
    words += ((folder, ("credentials", name)) for name, folder in mounted_secrets(task).items())
    words += ((file.path, ("files", index, "path")) for index, file in enumerate(task.files))
    for text, place in words:
        yield tokens_in(text), (*path, *place), "", False
    for index, item in enumerate(task.files):
        file = task_file(item, declared.origin.path, fleet.repository.local_files)
        local = item.localpath
        if file is not None:
            within = "" if local is None else local_path(declared.origin.path, local)
            place = (*path, "files", index, "contents" if local is None else "localpath")
            yield sorted(file.tokens), place, within, True
