"""``kubectl_complete-tas``: kubectl runs it with the words after ``kubectl tas`` to complete the last one.

It speaks the protocol of cobra: a choice a line with a tab and what it is, then ``:`` and what else the shell is to
offer. It runs at every TAB, so the commands are read from a table that is written with the docs, and neither click nor
any command is imported.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

from kubectl_tas.cli.offered import DIRECTIVES, KEEP_ORDER, MANIFESTS, NO_FILES, OFFERS, SUFFIXES, Asked, Choice

_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_./@%+=-]*")
"""What is offered: a name that is anything else is wrong, and a shell may take it for more than a word."""
_ODD = re.compile(r"[^\w .,:;/()%+=<>-]")
"""What a shell, or a terminal, might take for more than text in what is told of a choice."""
_MAX_ABOUT = 80

Answer = tuple[list[Choice], int]


def complete(words: list[str]) -> Answer:
    """What can stand in place of the last of ``words``, and what else the shell offers."""
    with open(os.path.join(os.path.dirname(__file__), "commands.json"), encoding="utf-8") as file:
        table: dict[str, Any] = json.load(file)
    *before, start = words or [""]
    line = _Line(table, before)
    found, directive = line.answer(start)
    fitting = [choice for choice in found if choice.value.startswith(start) and _PLAIN.fullmatch(choice.value)]
    return fitting, directive


class _Line:
    """A command line, read as far as it goes."""

    def __init__(self, table: dict[str, Any], before: list[str]) -> None:
        self.table = table
        self.path = ""
        self.words: list[str] = []
        self.options: dict[str, str] = {}
        self.given: set[str] = set()
        self.waiting: dict[str, Any] | None = None
        """The option whose value comes next."""
        self.is_open = True
        """Whether options may still come: there was no ``--``."""
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
            return [Choice(*item) for item in self.command["commands"].items()], NO_FILES | KEEP_ORDER
        arguments = self.command["arguments"]
        index = len(self.words)
        if index >= len(arguments) and not (arguments and arguments[-1]["many"]):
            return [], NO_FILES
        found, directive = self._named(arguments[min(index, len(arguments) - 1)]["takes"])
        return [choice for choice in found if choice.value not in self.words], directive

    def _options(self) -> list[Choice]:
        """Those that may still be given, by their longest names."""
        return [
            Choice(option["names"][-1], option["help"])
            for option in self.command["options"]
            if option["many"] or option["names"][-1] not in self.given
        ]

    def _named(self, takes: str | list[str]) -> Answer:
        if isinstance(takes, list):
            return [Choice(value) for value in takes], NO_FILES | KEEP_ORDER
        offer = OFFERS.get(takes)
        found = list(offer(Asked(self.table, tuple(self.words), self.options))) if offer else []
        return found, DIRECTIVES.get(takes, NO_FILES)


def text(words: list[str]) -> str:
    """The answer as it is printed."""
    line = list(words)
    name, separator, value = words[-1].partition("=") if words else ("", "", "")
    if separator and name.startswith("--"):
        line[-1:] = [name, value]  # what stands before the sign is the shell's
    found, directive = complete(line)
    if directive == SUFFIXES and not found:
        return "".join(f"{suffix}\n" for suffix in MANIFESTS) + f":{directive}\n"
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
