"""Compares the GPUs that commands and fields of operators name with those of the container, and checks the program of a
command.

Options follow torch.distributed.run of PyTorch 2.9, accelerate 1.12, deepspeed 0.18 (launcher/runner.py), vLLM 0.12,
SGLang 0.5 (server_args.py) and Ray 2.52 (ray start).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kubectl_tas import gpus
from kubectl_tas.check.conflicts import Fields
from kubectl_tas.check.pod_templates import CALLS
from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.kinds import page_of_document
from kubectl_tas.kinds.section import beside, key_path, listed, path_steps, value_at, values_at
from kubectl_tas.late import late_pattern
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.model.workloads import Workload

COMMAND_DOUBTFUL = Rule(
    "command-doubtful",
    Severity.INFO,
    "A command uses more GPUs than its container has, or its program has a blank in its name.",
    "torchrun --nproc_per_node=8 in a container with 4 GPUs starts 8 processes, and those without a GPU fail. The same "
    "holds for accelerate, deepspeed, vLLM on one node, and fields of operators such as slotsPerWorker. A command is a "
    'list: in command: [python train.py] the program is called "python train.py", which no image has. If several '
    "processes share a GPU on purpose, waive the finding.",
)


class _Launcher(NamedTuple):
    """A program that uses as many GPUs of its node as its options say."""

    options: tuple[str, ...]
    """Options for the GPUs. Those of several options multiply."""
    unless: tuple[str, ...] = ()
    """Options with which other nodes give some of the GPUs, or that leave the number to another place."""
    is_alone: bool = False
    """Whether the GPUs are those of one node only if the pod has no others beside it."""


_TENSOR = ("tensor-parallel-size", "tp")
_ELSEWHERE = ("nnodes", "distributed-executor-backend", "data-parallel-backend")
_TORCHRUN = _Launcher(("nproc-per-node",))
_VLLM = _Launcher((*_TENSOR, "pipeline-parallel-size", "pp"), _ELSEWHERE, is_alone=True)
_SGLANG = _Launcher((*_TENSOR, "tp-size", "pp-size"), _ELSEWHERE, is_alone=True)
_LAUNCHERS = {
    **dict.fromkeys(("torchrun", "torch.distributed.run", "torch.distributed.launch"), _TORCHRUN),
    "accelerate": _Launcher(("num-processes",), ("num-machines", "config-file", "cpu")),
    "deepspeed": _Launcher(("num-gpus",)),
    **dict.fromkeys(("vllm", "vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server"), _VLLM),
    "sglang.launch_server": _SGLANG,
    "ray": _Launcher(("num-gpus",)),
}
"""Programs and modules of Python."""
_BEFORE = frozenset(("exec", "nohup", "time", "-m", "python", "python3", "stdbuf", "-u"))
"""Words before the program."""
_UNCERTAIN = late_pattern(r"<<|\b(if|case|while|until|for|then|else)\b")
"""Matches scripts that may not run all their lines."""
_END = late_pattern(r"&&|\|\||[\n;|&]")


def check_command(container: Fields, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the program and the options of a container or a task."""
    yield from _program(container)
    gpus_of_container = _gpus_of(container)
    if not gpus_of_container:
        return
    for words in _commands(container):
        launcher = _launcher(words)
        if launcher is None or (launcher.is_alone and not _is_alone(container)):
            continue
        number, name, path_of_number = 1, "", container.path
        for option, value, path in _options(words):
            if option in launcher.unless or (option in launcher.options and not value.isdecimal()):
                number = 0
            elif option in launcher.options:
                number, name, path_of_number = number * int(value[:9]), option, path
        if number > gpus_of_container:
            message = f"--{name} makes this command use {number} GPUs, but its container has {gpus_of_container}"
            hint = f"Write --{name} {gpus_of_container}, or ask for {number} GPUs."
            yield Diagnostic(COMMAND_DOUBTFUL, message, container.origin.locate(path_of_number), hint=hint)


def check_processes(declared: Declared[Workload], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks fields for the GPUs that an operator's programs use in each pod."""
    origin = declared.origin
    for row in declared.spec.page.pods:
        for path, template in values_at(origin.data, path_steps(row.path)) if row.gpus_used else ():
            path_of_number = beside(row.gpus_used, path)
            number = str(value_at(origin.data, *path_of_number))
            below = (*path, "spec") if value_at(template, "spec") is not None else path
            pod = Fields(origin, below, origin.value(below))
            gpus_of_pod = sum(map(_gpus_of, pod.containers or [pod]))
            if number.isdecimal() and 0 < gpus_of_pod < int(number[:9]):
                message = f"{path_of_number[-1]} is {number}, but each of these pods has {gpus_of_pod} GPUs"
                hint = f"Write {gpus_of_pod}, or ask for {number} GPUs."
                yield Diagnostic(COMMAND_DOUBTFUL, message, origin.locate(path_of_number), hint=hint)


def _program(container: Fields) -> Iterator[Diagnostic]:
    """Finds a program with a blank in its name. A path with a blank may exist."""
    for holder in (container, *(container.below(*call, "exec") for call in CALLS)):
        yield from _named(holder)


def _named(holder: Fields) -> Iterator[Diagnostic]:
    first_word = next(iter(listed(holder.get("command"))), None)
    if (
        not isinstance(first_word, str)
        or "{{" in first_word
        or "$(" in first_word
        or re.match(r"[A-Za-z]:\\", first_word)
    ):
        return
    name, _, arguments = first_word.strip().partition(" ")
    if arguments and not (name.startswith("/") and "/" in arguments.split()[0]):
        message = f'no program is called "{first_word}": a command is a list of words'
        words = ", ".join(f'"{word}"' for word in first_word.split())
        hint = f"Write command: [{words}], or run it in a shell."
        yield Diagnostic(COMMAND_DOUBTFUL, message, holder.origin.locate((*holder.path, "command", 0)), hint=hint)


_Words = list[tuple[str, KeyPath]]
"""The words of a command, each with the path of the text that has it."""


def _commands(container: Fields) -> Iterator[_Words]:
    """Yields the commands of a container: the list itself, and the lines of a script in it."""
    texts: _Words = []
    for field in ("command", "args"):
        for index, text in enumerate(listed(container.get(field))):
            if isinstance(text, str | int):
                texts.append((str(text), (*container.path, field, index)))
    plain = [(text, path) for text, path in texts if not re.search(r"\s", text.strip())]
    if len(plain) == len(texts):
        yield plain
        return
    for text, path in texts:
        lines = "" if _UNCERTAIN.search(text) else re.sub(r"(?m)^\s*#.*$", "", text.replace("\\\n", " "))
        yield from ([(word.strip("\"'"), path) for word in line.split()] for line in _END.split(lines))


def _launcher(words: _Words) -> _Launcher | None:
    """Returns the launcher that a command runs. Options behind the program of an image say by themselves what it is."""
    for word, path in words:
        name = word.rpartition("/")[2]
        if name in _LAUNCHERS:
            return _LAUNCHERS[name]
        if name not in _BEFORE and not re.match(r"\w+=", word):
            if not word.startswith("--") or path[-2] != "args":
                return None
            return _TORCHRUN if any("nproc" in option for option, _ in words) else _VLLM
    return None


def _options(words: _Words) -> Iterator[tuple[str, str, KeyPath]]:
    """Yields the options of a command, each with its value and the path of its text."""
    for index, (word, path) in enumerate(words):
        if word.endswith(".py"):  # what follows is for the script
            return
        if word.startswith("-"):
            name, equals, value = word.lstrip("-").partition("=")
            following = words[index + 1][0] if index + 1 < len(words) else ""
            yield name.replace("_", "-"), value if equals else following, path


def _gpus_of(container: Fields) -> int:
    """Returns the whole GPUs of a container or a task; 0 without any, or with a part of one."""
    origin = container.origin
    if "workflow" in origin.data:
        name = container.get("resource") or "default"
        places: Sequence[KeyPath] = (("resources", name, "gpu"), ("workflow", "resources", name, "gpu"))
        return max(_number(origin.value(path_of_amount)) for path_of_amount in places)
    for holder in ("resources", "resourcesPerNode"):
        for amounts in (container.below(holder, amounts_key) for amounts_key in ("limits", "requests")):
            if any(map(amounts.has, gpus.WHOLE)):
                return sum(_number(amounts.get(name)) for name in gpus.WHOLE)
    return 0


def _number(value: object) -> int:
    return int(str(value)[:9]) if str(value).isdecimal() else 0


def _is_alone(container: Fields) -> bool:
    """Whether no pod beside this one gives GPUs to its command."""
    document = container.origin.data
    if "workflow" in document:
        return "groups" not in container.path or len(listed(container.origin.value(container.path[:-1]))) == 1
    page = page_of_document(document)
    if page is None:
        return False
    first_pods, *other_pods = page.pods
    if other_pods or first_pods.factor or "[]" in first_pods.path:
        return False
    if page.gang.names_its_own or page.growth.scaled_alone or (page.gang.has_plugin and not page.gang.one_pod_group):
        return True
    return all(value_at(document, *key_path(path)) in (None, 1) for path in first_pods.count.split())
