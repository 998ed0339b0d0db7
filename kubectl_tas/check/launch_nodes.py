"""Compares the nodes and processes that a launcher waits for with the pods that start together.

Sources: torch.distributed.run of PyTorch 2.9 (``--nnodes`` N or MIN:MAX: the rendezvous waits for all, or for MIN);
``accelerate launch --num_machines``; orte/mca/rmaps of Open MPI 4.1 (more processes than slots are refused); the host
file of the MPI operator 0.8 (mpi_job_controller.go: slotsPerWorker, or 1, for each worker).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, combinations
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from kubectl_tas.base.diagnostics import Diagnostic, Related
from kubectl_tas.base.late import late_pattern
from kubectl_tas.base.words import misspelled, question
from kubectl_tas.check.command_words import COMMAND_DOUBTFUL
from kubectl_tas.check.commands import Option, Words, commands_of, is_alone, launched_by
from kubectl_tas.check.conflicts import Fields
from kubectl_tas.kinds.backdoors import pods_at
from kubectl_tas.kinds.section import value_at
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.kinds.page import Slots
    from kubectl_tas.model.osmo_workflow import Workflow
    from kubectl_tas.model.workloads import Workload

_NUMBERS = late_pattern(r"([0-9]{1,6})(?::([0-9]{1,6}))?")
_COMPUTED = late_pattern(r"\$\(\(|\bexpr\b|\blet\b")
"""Matches scripts that may put the pods into several groups."""
_MOST_PARTS = 6
_RANKS = ("NODE_RANK", "RANK", "GROUP_RANK", "MACHINE_RANK")
"""Variables that number the nodes or processes of a job from 0 (torchrun and accelerate)."""
_PROCESSES = frozenset(("-np", "--np", "-n", "--n", "-c"))
_OF_MPI = {
    **dict.fromkeys(("--allow-run-as-root", "-allow-run-as-root", "--tag-output", "-tag-output", "-v", "--verbose"), 0),
    **dict.fromkeys(("-x", "--map-by", "-map-by", "--bind-to", "-bind-to", "--rank-by", "--mca-base-param-file"), 1),
    **dict.fromkeys(("-mca", "--mca", "-gmca", "--gmca"), 2),
}
"""Options of Open MPI that may stand before the program, with the number of their values."""


class _NodeRange(NamedTuple):
    """The nodes that a command waits for."""

    least: int
    most: int
    option: Option


def check_launched_nodes(declared: Declared[Workload], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the commands of a workload. Pods of other objects may join those of an object with one pod."""
    spec, origin = declared.spec, declared.origin
    if value_at(spec.document, "spec", "elasticPolicy") is not None or any(pods.added for pods in spec.pod_sets):
        return
    slots = spec.page.pod_rules.slots(spec.document)
    if slots is not None:
        yield from _beyond_slots(declared, slots)
    counts: dict[KeyPath, set[int]] = {}
    for pods in spec.pod_sets:
        first = next(iter(counts.get(pods.spec_path or pods.path, {0})))
        number = first + pods.replicas
        counts[pods.spec_path or pods.path] = {number} if first else {number, number // (pods.jobs or 1)}
    total = sum(map(max, counts.values()))
    if total < 2:
        return
    gpu_count = sum(pods.replicas * int(pods.asks.gpu) for pods in spec.pod_sets)
    for path in counts:
        for at in pods_at(origin.data, path):
            for container in Fields(origin, at, origin.value(at)).containers:
                yield from _beyond_gpus(container, spec.kind, gpu_count)
                for nodes in _waited_for(container):
                    fitting = _together(spec, path, counts, total) if nodes.most > 1 else {nodes.least}
                    if not any(nodes.least <= number <= nodes.most for number in fitting):
                        yield _finding(container, nodes, total, f"this {spec.kind} starts {total} pods", "pods")


def _beyond_gpus(container: Fields, kind: str, gpu_count: int) -> Iterator[Diagnostic]:
    """Finds a server of a model over several pods that needs more GPUs than all of them have."""
    for launcher, options in launched_by(container):
        used = [option for option in options if option.name in launcher.options]
        number = prod(int(option.value[:9]) if option.value.isdecimal() else 0 for option in used)
        if used and launcher.is_alone and not is_alone(container) and number > gpu_count > 0:
            written = " and ".join(option.written for option in used)
            verb = "makes" if len(used) == 1 else "make"
            message = f"{written} {verb} this command use {number} GPUs, but the pods of this {kind} have {gpu_count}"
            hint = f"Use {gpu_count} GPUs or fewer, or add pods."
            place = container.origin.locate((*container.path, *used[0].path))
            yield Diagnostic(COMMAND_DOUBTFUL, message, place, hint=hint)


def check_launched_tasks(declared: Declared[Workflow], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the commands of a workflow's tasks. The tasks of a group start together, and may be of several jobs."""
    for group, _, path in declared.spec.all_tasks:
        total = len(group.tasks)
        container = Fields(declared.origin, path, declared.origin.value(path))
        for nodes in _waited_for(container) if total > 1 else ():
            if nodes.least > total:
                yield _finding(container, nodes, total, f"its group has {total} tasks", "tasks")


def check_ranks(declared: Declared[Workflow], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds two tasks of a group that start the same, with the same rank: a copy whose rank nobody changed."""
    first: dict[str, KeyPath] = {}
    for group, task, path in declared.spec.all_tasks:
        ranks = [name for name in _RANKS if name in task.environment]
        if not ranks or len(group.tasks) < 2:
            continue
        started = (path[:-1], task.image, task.command, task.args, sorted(task.environment.items()))
        earlier = first.setdefault(str(started), path)
        if earlier != path:
            place = ("environment", ranks[0])
            message = f"{ranks[0]} is {task.environment[ranks[0]]} in another task of the group that starts the same"
            related = (Related("the other one", declared.at(*earlier, *place)),)
            hint = "Give each task a rank of its own, from 0."
            yield Diagnostic(COMMAND_DOUBTFUL, message, declared.at(*path, *place), related, hint=hint)


def check_named_files(declared: Declared[Workflow], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds words of a command that misspell the path of a file which the task brings."""
    for _, task, path in declared.spec.all_tasks:
        paths = [file.path for file in task.files]
        for field, words in (("command", task.command), ("args", task.args)):
            for index, word in enumerate(map(str, words)) if paths else ():
                intended = None if word in paths or not word.startswith("/") else misspelled(word, paths)
                if intended is not None and intended not in (*(task.command or ()), *(task.args or ())):
                    message = f'the task brings no file "{word}"'
                    location = declared.at(*path, field, index)
                    yield Diagnostic(COMMAND_DOUBTFUL, message, location, hint=question(word, intended))


def _finding(container: Fields, nodes: _NodeRange, total: int, has: str, noun: str) -> Diagnostic:
    option = nodes.option
    is_more = nodes.least > total
    number, does = (nodes.least, "waits for {} nodes") if is_more else (nodes.most, "lets {} nodes in")
    message = f"{option.start}{option.value} {does.format(number)}, but {has}"
    hint = f"Write {option.start}{total}, or start {number} {noun}."
    place = container.origin.locate((*container.path, *option.path))
    return Diagnostic(COMMAND_DOUBTFUL, message, place, hint=hint)


def _together(spec: Workload, path: KeyPath, counts: dict[KeyPath, set[int]], total: int) -> set[int]:
    """Returns the numbers of pods that may be one job of a launcher: those of a template, those of one of its jobs,
    and these with the pods of other templates.
    """
    if spec.page.pod_rules.trains_together:
        return {total}
    fitting = {total * spec.copies}
    others = [max(number) for other, number in counts.items() if other != path][:_MOST_PARTS]
    parts = chain.from_iterable(combinations(others, size) for size in range(len(others) + 1))
    for added in map(sum, parts):
        fitting |= {number + added for number in counts[path]}
    return fitting


def _waited_for(container: Fields) -> Iterator[_NodeRange]:
    """Yields the nodes that the commands of a container wait for, where the text says it plainly."""
    for launcher, options in launched_by(container):
        if not launcher.nodes:
            continue
        told = [option for option in options if option.name == launcher.nodes]
        found = _NUMBERS.fullmatch(told[0].value) if len(told) == 1 else None
        text = value_at(container.value, *told[0].path) if told else ""
        if found and not _COMPUTED.search(str(text)) and not any(each.name in launcher.one_node for each in options):
            yield _NodeRange(int(found[1]), int(found[2] or found[1]), told[0])


def _beyond_slots(declared: Declared[Workload], slots: Slots) -> Iterator[Diagnostic]:
    """Checks the processes of Open MPI against the slots of its workers."""
    origin = declared.origin
    for container in Fields(origin, slots.launcher, origin.value(slots.launcher)).containers:
        if "oversubscribe" in str(container.value).casefold() or container.has("envFrom"):
            continue
        for words in commands_of(container):
            found = _processes(words)
            if found is not None and found[0] > slots.number:
                number, path, option = found
                message = f"{option} {number} starts {number} processes, but the workers have {slots.number} slots"
                hint = f"Write {option} {slots.number}, or raise {slots.more}."
                place = origin.locate((*container.path, *path))
                yield Diagnostic(COMMAND_DOUBTFUL, message, place, hint=hint)


def _processes(words: Words) -> tuple[int, KeyPath, str] | None:
    """Returns the processes that mpirun starts, the path of the number, and the option."""
    texts = [word.rpartition("/")[2] for word, _ in words]
    at = next((index + 1 for index, text in enumerate(texts) if text in ("mpirun", "mpiexec", "orterun")), len(words))
    while at + 1 < len(words):
        option, value = words[at][0], words[at + 1]
        if option in _PROCESSES:
            return (int(value[0][:9]), value[1], option) if value[0].isdecimal() else None
        if option not in _OF_MPI and not re.match(r"--?[a-z-]+=", option):
            return None
        at += 1 + _OF_MPI.get(option, 0)
    return None
