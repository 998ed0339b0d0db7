"""What rules about fields that do not go together are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.load.schema import invalid_value, missing_field, written
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin
from kubectl_tas.words import closest

FIELDS_CONFLICT = Rule(
    "fields-conflict",
    Severity.ERROR,
    "Fields of an object contradict or lack each other.",
    "An API server refuses the object, or the pods that are made of it: an Indexed job without completions, a variable "
    "with value and valueFrom, a volume of two types or of none, a budget with two bounds. A term of a node selector "
    "without a condition selects no node at all, and a budget without a bound lets no pod go. Write what the message "
    "says.",
)
Found = Iterator[Diagnostic]
NOT_EMPTY = "must not be empty"


class Fields:
    """A mapping of a document, and its path; an empty one where another value stands there."""

    __slots__ = ("get", "origin", "path", "value")

    def __init__(self, origin: Origin, path: KeyPath, value: object) -> None:
        self.origin, self.path = origin, path
        self.value: dict[str, Any] = value if isinstance(value, dict) else {}
        self.get: Callable[..., Any] = self.value.get

    def has(self, name: str) -> bool:
        """Whether a field is there and says something."""
        return self.value.get(name) not in (None, "", [])

    def below(self, *names: str) -> Fields:
        """The mapping in a field, or further below."""
        found: Any = self.value
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return Fields(self.origin, (*self.path, *names), found)

    def each(self, *names: str) -> Iterator[Fields]:
        """The items of the list in a field, or of several lists, each as a mapping."""
        for name in names:
            for index, item in enumerate(listed(self.value.get(name))):
                yield Fields(self.origin, (*self.path, name, index), item)

    def at(self, *steps: str | int) -> str:
        """A path below this one, in words."""
        return written((*self.path, *steps))

    def exceeds(self, first: str, second: str) -> bool:
        """Whether one field is a larger number than another."""
        one, other = self.value.get(first), self.value.get(second)
        return type(one) is int and type(other) is int and one > other

    def is_slip(self, names: Iterable[str]) -> bool:
        """Whether a key is a slip of one of these fields, which is told as an unknown field."""
        return any(key not in names and closest(key, names, folds=True) for key in self.value)

    def conflict(self, message: str, hint: str, *field: str | int) -> Diagnostic:
        """A finding at the key of a field, or of the whole."""
        place = self.origin.locate((*self.path, *field), key=True)
        return Diagnostic(FIELDS_CONFLICT, message, place, hint=hint)

    def wrong(self, what: str, hint: str, *field: str) -> Diagnostic:
        """That the whole is ``what``, at one of its fields."""
        return self.conflict(f"{written(self.path)} {what}", hint, *field)

    def refuse(self, field: str | int, what: str, hint: str) -> Diagnostic:
        """That a field is ``what``."""
        return self.conflict(f"{self.at(field)} {what}", hint, field)

    def invalid(self, rule: str, value: object, hint: str, *steps: str | int) -> Diagnostic:
        """That a value below, which breaks a rule, is no value of its field."""
        return invalid_value(self.origin, (*self.path, *steps), rule, value, hint)

    def missing(self, field: str, known: Iterable[str] = ()) -> Diagnostic:
        """That a field is not there; ``known`` are the other ones."""
        return missing_field(self.origin, self.path, field, {}, tuple(known))


Check = Callable[[Fields], Found]


def one_of(lacking: str, *names: str) -> Check:
    """A mapping with exactly one of these fields; ``lacking`` is what it has without any."""

    def check(of: Fields) -> Found:
        found = [name for name in names if of.get(name) is not None]
        if len(found) != 1:
            yield of.wrong(f"has {' and '.join(found) or lacking}", f"Write one of {', '.join(names)}.")

    return check


def not_empty(field: str, hint: str) -> Check:
    """A list that may be absent, and has items where it is there."""

    def check(of: Fields) -> Found:
        if of.get(field) == []:
            yield of.invalid(NOT_EMPTY, [], hint, field)

    return check


def all_of(*checks: Check) -> Check:
    """All of these of one mapping."""

    def check(of: Fields) -> Found:
        for one in checks:
            yield from one(of)

    return check


def listed(value: object) -> list[Any]:
    """The value itself; empty where it is no list."""
    return value if isinstance(value, list) else []


def mappings(value: object) -> list[dict[str, Any]]:
    """The items of a list, each as a mapping; empty where there is no list."""
    return [item if isinstance(item, dict) else {} for item in listed(value)]


def named(items: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of items."""
    return [str(item.get("name")) for item in items]
