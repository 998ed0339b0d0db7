"""Compares the GPUs that commands and fields of operators name with those of the container, and their nodes with the
pods that start together. Checks the program of a command.

Options follow torch.distributed.run of PyTorch 2.9, accelerate 1.12, deepspeed 0.18 (launcher/runner.py), vLLM 0.12,
SGLang 0.5 (server_args.py), Ray 2.52 (ray start) and mpirun of Open MPI 4.1 and 5.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.base.late import late_pattern
from kubectl_tas.check.command_words import COMMAND_DOUBTFUL, check_words
from kubectl_tas.check.conflicts import Fields
from kubectl_tas.check.pod_templates import CALLS
from kubectl_tas.facts import gpus
from kubectl_tas.kinds import page_of_document
from kubectl_tas.kinds.section import beside, key_path, listed, mappings, path_steps, value_at, values_at
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.model.workloads import Workload


_DEVICES = "CUDA_VISIBLE_DEVICES"


class Launcher(NamedTuple):
    """A program that uses as many GPUs of its node as its options say."""

    options: tuple[str, ...]
    """Options for the GPUs. Those of several options multiply."""
    unless: tuple[str, ...] = ()
    """Options with which other nodes give some of the GPUs, or that leave the number to another place."""
    is_alone: bool = False
    """Whether the GPUs are those of one node only if the pod has no others beside it."""
    nodes: str = ""
    """Option for the number of nodes. The program waits for all of them."""
    one_node: tuple[str, ...] = ()
    """Options with which ``nodes`` does not count."""


_TENSOR = ("tensor-parallel-size", "tp")
_ELSEWHERE = ("nnodes", "distributed-executor-backend", "data-parallel-backend")
_TORCHRUN = Launcher(("nproc-per-node",), nodes="nnodes", one_node=("standalone",))
_VLLM = Launcher((*_TENSOR, "pipeline-parallel-size", "pp"), _ELSEWHERE, is_alone=True, nodes="nnodes")
_SGLANG = Launcher((*_TENSOR, "tp-size", "pp-size"), _ELSEWHERE, is_alone=True, nodes="nnodes")
_ACCELERATE = Launcher(
    ("num-processes",), ("num-machines", "config-file", "cpu"), nodes="num-machines", one_node=("config-file",)
)
_LAUNCHERS = {
    **dict.fromkeys(("torchrun", "torch.distributed.run", "torch.distributed.launch"), _TORCHRUN),
    "accelerate": _ACCELERATE,
    "deepspeed": Launcher(("num-gpus",)),
    **dict.fromkeys(("vllm", "vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server"), _VLLM),
    "sglang.launch_server": _SGLANG,
    "ray": Launcher(("num-gpus",)),
}
"""Programs and modules of Python."""
_MAY_LAUNCH = late_pattern("|".join((*map(re.escape, _LAUNCHERS), "--")))
"""Matches in each command that has a launcher, by its name or by its options alone."""
_BEFORE = frozenset(("exec", "nohup", "time", "-m", "python", "python3", "stdbuf", "-u"))
"""Words before the program."""
_UNCERTAIN = late_pattern(r"<<|\b(if|case|while|until|for|then|else)\b")
"""Matches scripts that may not run all their lines."""
_ASSIGNS = late_pattern(r"\w+=")
_DRIVE = late_pattern(r"[A-Za-z]:\\")
_END = late_pattern(r"&&|\|\||[\n;|&]")
_WAITS = late_pattern(r"(?m)^\s*(until|while)\b[^\n]*;\s*done\s*(;|$)")
"""Matches a loop in one line, behind which all other lines run."""


def check_command(container: Fields, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the program and the options of a container or a task."""
    yield from _named(container)
    for call in CALLS:
        if call[0] in container.value:
            yield from _named(container.below(*call, "exec"))
    yield from check_words(container)
    # Devices that a container does not have: CUDA numbers those of the container from 0.
    variables = mappings(container.get("env"))
    given = _gpus_of(container) if variables else 0
    for index, variable in enumerate(variables) if given else ():
        numbers = [number.strip() for number in str(variable.get("value")).split(",")]
        if variable.get("name") != _DEVICES or not all(number.isdecimal() for number in numbers):
            continue
        highest = max(int(number[:9]) for number in numbers)
        if highest >= given:
            message = (
                f"{_DEVICES} names GPU {highest}, but CUDA counts the GPUs of a container from 0, and here are {given}"
            )
            place = container.origin.locate((*container.path, "env", index, "value"))
            yield Diagnostic(COMMAND_DOUBTFUL, message, place, hint="Remove it: a container sees its own GPUs alone.")
    for launcher, options in launched_by(container):
        number, last, others = 1, None, 1
        for option in options:
            if option.name in launcher.unless or (option.name in launcher.options and not option.value.isdecimal()):
                number = 0
            elif option.name in launcher.options:
                number, last, others = number * int(option.value[:9]), option, number
        if last is None or (launcher.is_alone and not is_alone(container)):
            continue
        if number > (given := _gpus_of(container)) > 0:
            message = f"{last.written} makes this command use {number} GPUs, but its container has {given}"
            fitting = given // others
            change = f"Write {last.start}{fitting}" if fitting else f"Lower {last.written} and the options before it"
            hint = f"{change}, or ask for {number} GPUs."
            place = container.origin.locate((*container.path, *last.path))
            yield Diagnostic(COMMAND_DOUBTFUL, message, place, hint=hint)


def check_processes(declared: Declared[Workload], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks fields for the GPUs that an operator's programs use in each pod."""
    origin = declared.origin
    for row in declared.spec.page.pods:
        for path, template in values_at(origin.data, path_steps(row.path)) if row.gpus_used else ():
            place = beside(row.gpus_used, path)
            number = str(value_at(origin.data, *place))
            below = (*path, "spec") if value_at(template, "spec") is not None else path
            pod = Fields(origin, below, origin.value(below))
            given = sum(map(_gpus_of, pod.containers or [pod]))
            if number.isdecimal() and 0 < given < int(number[:9]):
                message = f"{place[-1]} is {number}, but each of these pods has {given} GPUs"
                hint = f"Write {given}, or ask for {number} GPUs."
                yield Diagnostic(COMMAND_DOUBTFUL, message, origin.locate(place), hint=hint)


def _named(holder: Fields) -> Iterator[Diagnostic]:
    first = next(iter(listed(holder.get("command"))), None)
    if not isinstance(first, str) or " " not in first or "{{" in first or "$(" in first or _DRIVE.match(first):
        return
    name, _, rest = first.strip().partition(" ")
    if rest and not (name.startswith("/") and "/" in rest.split()[0]):
        message = f'no program is called "{first}": a command is a list of words'
        words = ", ".join(f'"{word}"' for word in first.split())
        hint = f"Write command: [{words}], or run it in a shell."
        yield Diagnostic(COMMAND_DOUBTFUL, message, holder.origin.locate((*holder.path, "command", 0)), hint=hint)


Words = Sequence[tuple[str, KeyPath]]
"""The words of a command, each with the path below its container of the text that has it."""


def launched_by(container: Fields) -> tuple[tuple[Launcher, tuple[Option, ...]], ...]:
    """Returns the launchers that the commands of a container run, each with its options."""
    return _launched(_texts(container))


@lru_cache(maxsize=256)
def _launched(texts: Words) -> tuple[tuple[Launcher, tuple[Option, ...]], ...]:
    if not any(_MAY_LAUNCH.search(text) for text, _ in texts):
        return ()
    launched = ((launcher_of(words), words) for words in _commands(texts))
    return tuple((launcher, tuple(options_of(words))) for launcher, words in launched if launcher is not None)


def commands_of(container: Fields) -> Iterator[Words]:
    """Yields the commands of a container: the list itself, and the lines of a script in it."""
    return _commands(_texts(container))


def _texts(container: Fields) -> Words:
    texts = tuple(
        [
            (str(text), (field, index))
            for field in ("command", "args")
            for index, text in enumerate(listed(container.value.get(field)))
            if isinstance(text, str | int)
        ]
    )
    return (*texts, *_scripts(container, texts)) if "files" in container.value else texts


def _commands(texts: Words) -> Iterator[Words]:
    if all(len(text.split()) < 2 for text, _ in texts):
        yield texts
        return
    for text, path in texts:
        script = _WAITS.sub("", re.sub(r"(?m)^\s*#.*$", "", text.replace("\\\n", " ")))
        lines = "" if _UNCERTAIN.search(script) else script
        yield from ([(word.strip("\"'"), path) for word in line.split()] for line in _END.split(lines))


def _scripts(container: Fields, texts: Words) -> Iterator[tuple[str, KeyPath]]:
    """Yields the files of a task that its command names."""
    named = " ".join(text for text, _ in texts).split()
    for index, file in enumerate(listed(container.get("files"))):
        content = value_at(file, "contents")
        if value_at(file, "path") in named and isinstance(content, str) and not value_at(file, "base64"):
            yield f"{content}\n", ("files", index, "contents")


def launcher_of(words: Words) -> Launcher | None:
    """Returns the launcher that a command runs. Options behind the program of an image say by themselves what it is."""
    for word, path in words:
        name = word.rpartition("/")[2]
        if name in _LAUNCHERS:
            return _LAUNCHERS[name]
        if name not in _BEFORE and not _ASSIGNS.match(word):
            if not word.startswith("--") or path[-2] != "args":
                return None
            return _TORCHRUN if any("nproc" in option for option, _ in words) else _VLLM
    return None


class Option(NamedTuple):
    """An option of a command."""

    name: str
    value: str
    path: KeyPath
    """Path below the container of the text that has it."""
    start: str
    """The text before the value, as written."""

    @property
    def written(self) -> str:
        """The option as it is written."""
        return self.start.rstrip("= ")


def options_of(words: Words) -> Iterator[Option]:
    """Yields the options of a command."""
    for index, (word, path) in enumerate(words):
        if word.endswith(".py"):  # what follows is for the script
            return
        if word.startswith("-"):
            name, equals, value = word.lstrip("-").partition("=")
            following = words[index + 1][0] if index + 1 < len(words) else ""
            start = f"{word.partition('=')[0]}{equals or ' '}"
            yield Option(name.replace("_", "-"), value if equals else following, path, start)


def _gpus_of(container: Fields) -> int:
    """Returns the whole GPUs of a container or a task; 0 without any, or with a part of one."""
    origin = container.origin
    if "workflow" in origin.data:
        name = container.get("resource") or "default"
        places: Sequence[KeyPath] = (("resources", name, "gpu"), ("workflow", "resources", name, "gpu"))
        return max(_number(origin.value(place)) for place in places)
    for holder in ("resources", "resourcesPerNode"):
        for amounts in (container.below(holder, part) for part in ("limits", "requests")):
            if any(map(amounts.has, gpus.WHOLE)):
                return sum(_number(amounts.get(name)) for name in gpus.WHOLE)
    return 0


def _number(written: object) -> int:
    return int(str(written)[:9]) if str(written).isdecimal() else 0


def is_alone(container: Fields) -> bool:
    """Whether no pod beside this one gives GPUs to its command."""
    document = container.origin.data
    if "workflow" in document:
        return "groups" not in container.path or len(listed(container.origin.value(container.path[:-1]))) == 1
    page = page_of_document(document)
    if page is None:
        return False
    first, *others = page.pods
    if others or first.factor or "[]" in first.path:
        return False
    if page.gang.names_its_own or page.growth.scaled_alone or (page.gang.has_plugin and not page.gang.one_pod_group):
        return True
    return all(value_at(document, *key_path(path)) in (None, 1) for path in first.count.split())
