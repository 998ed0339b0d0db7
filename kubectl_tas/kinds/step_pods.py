"""Computes the most GPUs that the pods of a workflow of steps may hold at a time.

Follows Argo 4.1: a list of steps runs one after another, the steps in an item at once, and a task of a DAG once all
tasks that it names have ended (``evaluateDependsLogic`` of dag.go). A step or task runs once for each item of its loop
(``expandStep`` of steps.go, ``expandSequence`` of operator.go). ``parallelism`` bounds the pods of a workflow, and the
children of a template (``checkParallelism`` of operator.go). A daemon keeps its GPUs until the template that started it
has ended. Expressions such as ``when`` count as true.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from typing import Any

from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.facts.gpus import Gpus
from kubectl_tas.kinds.section import listed, mappings
from kubectl_tas.model.base import MAX_COUNT, KeyPath

NO_LIMIT = Decimal("Infinity")
_TASK = late_pattern(r"(?<![\w.-])[A-Za-z0-9][\w-]*")
"""A task in ``depends``, such as a in ``a.Succeeded``."""
_PASSES = 8
"""The number of passes over all templates. Whatever still grows then is a recursion that grows without limit."""
_LOOPS = ("withItems", "withParam", "withSequence")


@dataclass(frozen=True, slots=True)
class _Call:
    """A step, a task, or a hook, with the GPUs of what it runs."""

    path: KeyPath
    times: Gpus
    """The number of times that it runs at once."""
    once: Gpus
    """The most GPUs of one run."""
    lasting: Gpus
    """GPUs of a daemon that keeps running after the step. 0 for any other template."""

    @property
    def most(self) -> Gpus:
        """The most GPUs of all runs."""
        return _product(self.times, self.once)


class StepPods:
    """The pods of a workflow. ``spec`` is the value at ``path``; ``gpus`` are those of one pod, by the path of the
    template.
    """

    def __init__(self, spec: Mapping[str, Any], path: KeyPath, gpus: Mapping[KeyPath, Gpus]) -> None:
        self._spec, self._path, self._gpus = spec, path, gpus
        self._templates = {
            template["name"]: ((*path, "templates", index), template)
            for index, template in enumerate(mappings(spec.get("templates")))
            if isinstance(template.get("name"), str)
        }
        self._peaks: dict[str, Gpus] = dict.fromkeys(self._templates, 0)
        self._widest: tuple[Gpus, KeyPath] = 0, (*path, "templates")
        self.largest: Gpus = max(gpus.values(), default=0)
        """The GPUs of the largest pod."""
        self.most = self._most()
        """The most GPUs at a time; ``NO_LIMIT`` without a limit."""

    @property
    def place(self) -> KeyPath:
        """The path of the loop that has the most GPUs, or of the templates."""
        return self._widest[1]

    def _most(self) -> Gpus:
        order = list(self._order())
        growing = self._settle(order)
        self._peaks |= dict.fromkeys(growing, NO_LIMIT)
        if growing:
            self._settle(order)
        entry = self._spec.get("entrypoint")
        roots = [entry] if isinstance(entry, str) and entry in self._templates else list(self._templates)
        hooks = list(self._hooks(self._spec, self._path))
        started = max((self._peaks[name] for name in roots), default=0) + sum(hook.once for hook in hooks)
        most = max([started, *(self._peaks.get(name, 0) for name in _exits(self._spec))])
        return min(most, _product(_limit(self._spec), self.largest))

    def _settle(self, order: list[str]) -> set[str]:
        """Computes the peaks of all templates until none changes. Returns those that changed in the last pass."""
        growing: set[str] = set()
        for _ in range(_PASSES):
            growing = {name for name in order if self._is_new(name)}
            if not growing:
                break
        return growing

    def _order(self) -> Iterator[str]:
        """Yields the names of all templates, those that a template calls before it, apart from recursion."""
        seen: set[str] = set()
        for root in self._templates:
            waiting = [(root, False)]
            while waiting:
                name, is_ready = waiting.pop()
                if is_ready:
                    yield name
                elif name not in seen:
                    seen.add(name)
                    waiting.append((name, True))
                    called = _called_templates(self._templates[name][1])
                    waiting += ((n, False) for n in called if n in self._templates and n not in seen)

    def _is_new(self, name: str) -> bool:
        """Computes the peak of a template anew, and returns whether it has changed."""
        path, template = self._templates[name]
        peak = max(self._peaks[name], self._peak(template, path))
        is_new = peak != self._peaks[name]
        self._peaks[name] = NO_LIMIT if peak >= MAX_COUNT else peak
        return is_new

    def _peak(self, template: Mapping[str, Any], path: KeyPath) -> Gpus:
        """Returns the most GPUs of one run of a template."""
        limit = _limit(template)
        running: Gpus = 0
        peak: Gpus = self._gpus.get(path, 0)
        for index, steps in enumerate(listed(template.get("steps"))):
            calls = list(self._calls(steps, (*path, "steps", index)))
            peak = max(peak, running + _bounded(sum(call.most for call in calls), calls, limit))
            running += sum(_product(call.times, call.lasting) for call in calls)
        dag = template.get("dag")
        tasks = dag.get("tasks") if isinstance(dag, dict) else None
        calls = list(self._calls(tasks, (*path, "dag", "tasks")))
        return max(peak, _bounded(_of_tasks(mappings(tasks), calls), calls, limit))

    def _calls(self, steps: object, path: KeyPath) -> Iterator[_Call]:
        for index, step in enumerate(mappings(steps)):
            where: KeyPath = (*path, index)
            inline, name = step.get("inline"), step.get("template")
            if isinstance(inline, dict):
                once, template = self._peak(inline, (*where, "inline")), inline
            else:
                once, template = self._of(name), self._templates.get(str(name), ((), {}))[1]
            once = max([once, *(self._of(exit_name) for exit_name in _exits(step))])
            once += sum(hook.once for hook in self._hooks(step, where))
            call = _Call(where, _times(step), once, once if template.get("daemon") is True else 0)
            loop = next((key for key in _LOOPS if key in step), None)
            if loop is not None and call.times > 1 and call.most > self._widest[0]:
                self._widest = call.most, (*where, loop)
            yield call

    def _hooks(self, holder: Mapping[str, Any], path: KeyPath) -> Iterator[_Call]:
        """Yields the hooks that run beside a step, a task or the workflow."""
        hooks = holder.get("hooks")
        for name, hook in hooks.items() if isinstance(hooks, dict) else ():
            if name != "exit" and isinstance(hook, dict):
                yield _Call((*path, "hooks", name), 1, self._of(hook.get("template")), 0)

    def _of(self, name: object) -> Gpus:
        """Returns the peak of a template. An expression may name any of them."""
        if isinstance(name, str) and "{{" in name:
            return max(self._peaks.values(), default=0)
        return self._peaks.get(name, 0) if isinstance(name, str) else 0


def _called_templates(template: Mapping[str, Any]) -> Iterator[str]:
    """Yields the names of the templates that a template calls, also from inline templates and hooks."""
    waiting: list[object] = [template.get("steps"), template.get("dag")]
    while waiting:
        part_of_template = waiting.pop()
        if isinstance(part_of_template, dict):
            yield from (name for key in ("template", "onExit") if isinstance(name := part_of_template.get(key), str))
        if isinstance(part_of_template, dict | list):
            waiting += part_of_template.values() if isinstance(part_of_template, dict) else part_of_template


def _exits(holder: Mapping[str, Any]) -> Iterator[str]:
    """Yields the templates that run once a step, a task or the workflow has ended."""
    hooks = holder.get("hooks")
    last = hooks.get("exit") if isinstance(hooks, dict) else None
    names = (holder.get("onExit"), last.get("template") if isinstance(last, dict) else None)
    yield from (name for name in names if isinstance(name, str))


def _of_tasks(tasks: Iterable[Mapping[str, Any]], calls: Iterable[_Call]) -> Gpus:
    """Returns the most GPUs of the tasks of a DAG. Puts them into chains, in which each task waits for the one before
    it. So of each chain one task runs at a time. A daemon is a chain of its own.
    """
    by_name = {str(task.get("name")): (task, call) for task, call in zip(tasks, calls, strict=True)}
    needs = {
        name: [needed_task for needed_task in needed_tasks(task) if needed_task in by_name and needed_task != name]
        for name, (task, _) in by_name.items()
    }
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError:  # Argo refuses it
        order = list(by_name)
    chains: dict[str, Gpus] = {}
    for number, name in enumerate(order):
        call = by_name[name][1]
        before = (
            next((needed_task for needed_task in needs[name] if needed_task in chains), None)
            if not call.lasting
            else None
        )
        peak = chains.pop(before) if before is not None else 0
        chains[f"{number} runs on" if call.lasting else name] = max(peak, call.most)
    return sum(chains.values())


def needed_tasks(task: Mapping[str, Any]) -> Iterator[str]:
    """Yields the names of the tasks that a task waits for."""
    yield from (str(name) for name in listed(task.get("dependencies")))
    yield from (match[0] for match in _TASK.finditer(str(task.get("depends") or "")))


def _bounded(most: Gpus, calls: Iterable[_Call], limit: Gpus) -> Gpus:
    """Returns the GPUs of calls if their template runs no more than ``limit`` of them at a time."""
    return min(most, _product(limit, max((call.once for call in calls), default=0)))


def _times(step: Mapping[str, Any]) -> Gpus:
    """Returns how often a step or task runs at once; ``NO_LIMIT`` if only the run tells."""
    loop_items, text, sequence = (step.get(key) for key in _LOOPS)
    if isinstance(text, str):
        try:
            loop_items = json.loads(text)
        except (ValueError, RecursionError):
            loop_items = text
    if isinstance(loop_items, list):
        return len(loop_items)
    if loop_items is not None or text is not None:
        return NO_LIMIT
    if not isinstance(sequence, dict):
        return 1
    start, end, count = (_whole(sequence.get(key)) for key in ("start", "end", "count"))
    if sequence.get("end") is not None:
        start = 0 if "start" not in sequence else start
        return NO_LIMIT if start is None or end is None else abs(end - start) + 1
    if count is None:
        return NO_LIMIT
    return abs(count - 1) + 1 if count else 0


def _whole(value: object) -> int | None:
    text = str(value)
    is_number = text.removeprefix("-").isascii() and text.removeprefix("-").isdecimal() and len(text) <= 10
    return int(text) if is_number and type(value) in (int, str) else None


def _limit(holder: Mapping[str, Any]) -> Gpus:
    parallelism = holder.get("parallelism")
    return parallelism if type(parallelism) is int and parallelism > 0 else NO_LIMIT


def _product(times: Gpus, gpus: Gpus) -> Gpus:
    return times * gpus if gpus and times else 0
