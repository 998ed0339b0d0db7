"""``kubectl_complete-tas``: completes the last word of a command line.

kubectl runs the script with the words after ``kubectl tas``. The answer follows cobra's protocol: one choice a line,
with a tab and a description; then ``:`` and a directive for the shell. The script runs at every TAB and takes
milliseconds. It reads the commands from a table written with the docs, and imports and parses nothing else.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kubectl_tas.base.late import late_pattern
from kubectl_tas.load.outline import WORKFLOW, OutlineDocument, backends, outline, refs
from kubectl_tas.resolve.names import SEPARATOR, fold

NO_FILES, SUFFIXES, KEEP_ORDER = 4, 8, 32
"""Directives for kubectl's shells: offer nothing more, offer files with some suffixes, or keep the order."""
DIRECTIVES = {"": NO_FILES, "files": 0, "manifests": SUFFIXES, "folders": 16}
"""The directive for what a shell offers besides."""


class WordOffered(NamedTuple):
    """A word that fits, and a description."""

    value: str
    about: str = ""


class Asked(NamedTuple):
    """The known part of a command line whose last word is to be completed."""

    table: dict[str, Any]
    """All commands, from commands.json."""
    words: tuple[str, ...]
    """The arguments before the last word."""
    options: dict[str, str]
    """The last value of each option before the last word, by the longest name of the option."""
    states: list[str]
    """The states of the subpools that fit."""

    @property
    def root(self) -> str:
        """The folder of the repository."""
        named = self.options.get("-C") or os.environ.get("KUBECTL_TAS_DIRECTORY")
        if named:
            return named
        folder = here = os.getcwd()
        while not os.path.isfile(os.path.join(folder, "tas.yaml")):
            above = os.path.dirname(folder)
            if above == folder:
                return here
            folder = above
        return folder


def _pools(asked: Asked) -> Iterator[WordOffered]:
    for item in outline(asked.root, ["Pool"]):
        guarantee = item.fields.get("guarantee")
        known = item.fields.get("description") or (f"{guarantee} GPUs" if guarantee else "")
        yield WordOffered(fold(item.name), f"pool: {known}" if known else "pool")


def _subpools(asked: Asked) -> Iterator[tuple[str, str, WordOffered]]:
    """Yields the pool, the name and the choice of each subpool that fits."""
    for item in outline(asked.root, ["Subpool"]):
        state = item.fields.get("state", "ACTIVE")
        if state in asked.states:
            pool, name = fold(item.fields.get("parent", "")), fold(item.name)
            quota = f", quota {item.fields['quota']}" if "quota" in item.fields else ""
            yield pool, name, WordOffered(f"{pool}{SEPARATOR}{name}", f"subpool: {state}{quota}")


def _targets(asked: Asked) -> Iterator[WordOffered]:
    yield from _pools(asked)
    yield from (choice for _, _, choice in _subpools(asked))


def _parents(asked: Asked) -> Iterator[WordOffered]:
    subpools = list(_subpools(asked))
    parents = {pool for pool, _, _ in subpools}
    yield from (choice for choice in _pools(asked) if choice.value in parents)
    yield from (choice for _, _, choice in subpools)


def _subpools_of_pool(asked: Asked) -> Iterator[WordOffered]:
    """Yields the subpools of the pool that the word before names."""
    for pool, name, choice in _subpools(asked):
        if pool == fold(asked.words[-1]):
            yield WordOffered(name, choice.about)


def _topologies(asked: Asked) -> Iterator[WordOffered]:
    yield from (WordOffered(item.name, item.path) for item in outline(asked.root, asked.table["topologies"]))


def _submissions(asked: Asked) -> Iterator[WordOffered]:
    """Yields work by name; also by kind and name if several share the name."""
    found: dict[str, list[OutlineDocument]] = {}
    for item in outline(asked.root, asked.table["submissions"]):
        found.setdefault(fold(item.name) if item.kind == WORKFLOW else item.name, []).append(item)
    for name, items in found.items():
        yield WordOffered(
            name, f"{items[0].kind} in {items[0].path}" if len(items) == 1 else f"{len(items)} of that name"
        )
        if len(items) > 1:
            yield from (WordOffered(f"{item.kind}/{name}", item.path) for item in items)


def _revisions(asked: Asked) -> Iterator[WordOffered]:
    yield from (WordOffered(name, what) for name, what in refs(asked.root).items())


_SECTION = late_pattern(r"^contexts:(.*?)(?=^[A-Za-z]|\Z)", re.MULTILINE | re.DOTALL)
_NAME = late_pattern(r"""^(?:- |  )name:[ \t]*["']?([^"'\s]+)""", re.MULTILINE)


def contexts(kubeconfig: str | None) -> list[str]:
    """Returns the names in the file, by default in the files of ``$KUBECONFIG``, or in ``~/.kube/config``.

    Finds names in the layout in which kubectl and similar tools write these files.
    """
    listed = os.environ.get("KUBECONFIG") or os.path.join(os.path.expanduser("~"), ".kube", "config")
    paths = [kubeconfig] if kubeconfig else [path for path in listed.split(os.pathsep) if path]
    found: dict[str, None] = {}
    for path in paths:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                section = _SECTION.search(file.read())
        except OSError:  # it need not be there
            continue
        found.update(dict.fromkeys(_NAME.findall(section[1]) if section else ()))
    return list(found)


def _contexts(asked: Asked) -> Iterator[WordOffered]:
    yield from (WordOffered(name, "context") for name in contexts(asked.options.get("--kubeconfig")))


def _backends(asked: Asked) -> Iterator[WordOffered]:
    yield from (WordOffered(name, "backend") for name in backends(asked.root))


def _commands(asked: Asked) -> Iterator[WordOffered]:
    """Yields the commands of the group that the words before name."""
    path = " ".join(asked.words)
    inner = asked.table["commands"].get(path, {}).get("commands", {})
    yield from (WordOffered(name, about) for name, about in inner.items())


OFFERS: dict[str, Callable[[Asked], Iterator[WordOffered]]] = {
    "pool": _pools,
    "target": _targets,
    "parent": _parents,
    "subpool": _subpools_of_pool,
    "topology": _topologies,
    "submission": _submissions,
    "backend": _backends,
    "revision": _revisions,
    "context": _contexts,
    "command": _commands,
}
"""The choices by the name of a word. The table has the values of rules and schemas; other words are free text."""


_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_./@%+=-]*")
"""A name that may be offered. Any other name is wrong, and a shell may take it for more than a word."""
_ODD = re.compile(r"[^\w .,:;/()%+=<>-]")
"""Characters of a description that a shell or terminal might not take for text."""
_MAX_ABOUT = 80

Answer = tuple[list[WordOffered], int]


def complete(words: list[str]) -> Answer:
    """Returns the choices for the last of ``words``, and the directive for the shell."""
    with open(os.path.join(os.path.dirname(__file__), "commands.json"), encoding="utf-8") as file:
        table: dict[str, Any] = json.load(file)
    *before, start = words or [""]
    line = _Line(table, before)
    found, directive = line.answer(start)
    fitting = [choice for choice in found if choice.value.startswith(start) and _PLAIN.fullmatch(choice.value)]
    return fitting, directive


class _Line:
    """A command line, read up to the last word."""

    def __init__(self, table: dict[str, Any], before: list[str]) -> None:
        self.table = table
        self.path = ""
        self.words: list[str] = []
        self.options: dict[str, str] = {}
        self.given: set[str] = set()
        self.waiting: dict[str, Any] | None = None
        """The option whose value comes next."""
        self.is_open = True
        """Whether options may still follow: there was no ``--``."""
        for word in before:
            self._take(word)

    @property
    def command(self) -> dict[str, Any]:
        found: dict[str, Any] = self.table["commands"].get(self.path, {"options": [], "arguments": []})
        return found

    def _take(self, word: str) -> None:
        if self.waiting is not None:
            self._set(self.waiting, word)
            self.waiting = None
        elif self.is_open and word == "--":
            self.is_open = False
        elif self.is_open and word.startswith("-") and word != "-":
            self._option(word)
        elif self.command.get("commands") is not None:
            inner = f"{self.path} {word}".strip()
            self.path = inner if word in self.command["commands"] else "?"
        else:
            self.words.append(word)

    def _option(self, word: str) -> None:
        name, separator, value = word.partition("=")
        option = self._called(name)
        if option is None and not word.startswith("--"):
            name, separator, value = word[:2], "=", word[2:]  # a short option with its value
            option = self._called(name)
        if option is None:
            return
        self.given.add(option["names"][-1])
        if option["takes"] is not False and not separator:
            self.waiting = option
        elif separator:
            self._set(option, value)

    def _set(self, option: dict[str, Any], value: str) -> None:
        self.options[option["names"][-1]] = value

    def _called(self, name: str) -> dict[str, Any] | None:
        return next((option for option in self.command["options"] if name in option["names"]), None)

    def answer(self, start: str) -> Answer:
        if self.waiting is not None:
            return self._named(self.waiting["takes"])
        if self.is_open and start.startswith("-"):
            return self._options(), NO_FILES
        if self.command.get("commands") is not None:
            return [WordOffered(*item) for item in self.command["commands"].items()], NO_FILES | KEEP_ORDER
        arguments = self.command["arguments"]
        index = len(self.words)
        if index >= len(arguments) and not (arguments and arguments[-1]["many"]):
            return [], NO_FILES
        found, directive = self._named(arguments[min(index, len(arguments) - 1)]["takes"])
        return [choice for choice in found if choice.value not in self.words], directive

    def _options(self) -> list[WordOffered]:
        """Returns the options that may still be given, by their longest names."""
        return [
            WordOffered(option["names"][-1], option["help"])
            for option in self.command["options"]
            if option["many"] or option["names"][-1] not in self.given
        ]

    def _named(self, takes: str | list[str]) -> Answer:
        if isinstance(takes, list):
            return [WordOffered(value) for value in takes], NO_FILES | KEEP_ORDER
        word = self.table["words"].get(takes)
        if word is None:
            return [], NO_FILES
        found = [WordOffered(*value) for value in word["values"].items()]
        if offer := OFFERS.get(word["name"]):
            found += offer(Asked(self.table, tuple(self.words), self.options, word["states"]))
        return found, DIRECTIVES[word["shell"]]


def text(words: list[str]) -> str:
    """Returns the answer as text to print."""
    line = list(words)
    name, separator, value = words[-1].partition("=") if words else ("", "", "")
    if separator and name.startswith("--"):
        line[-1:] = [name, value]  # what stands before the sign is the shell's
    found, directive = complete(line)
    if directive == SUFFIXES and not found:
        return "".join(f"{suffix}\n" for suffix in ("yaml", "yml", "json")) + f":{directive}\n"
    lines = (f"{choice.value}\t{_told(choice.about)}".rstrip() for choice in found)
    return "".join(f"{line}\n" for line in lines) + f":{directive}\n"


def _told(about: str) -> str:
    words = _ODD.sub("", about).strip()
    return words if len(words) <= _MAX_ABOUT else f"{words[: _MAX_ABOUT - 3]}..."


def main() -> None:
    """Entry point of the ``kubectl_complete-tas`` script."""
    try:
        answer = text(sys.argv[1:])
    except Exception:  # a traceback between two key strokes helps nobody; the command itself will say what is wrong
        if os.environ.get("KUBECTL_TAS_DEBUG"):
            raise
        answer = f":{NO_FILES}\n"
    sys.stdout.buffer.write(answer.encode("utf-8", "replace"))
