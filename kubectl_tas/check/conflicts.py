"""Helpers for rules about fields that exclude or need each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.load.schema import invalid_value, missing_field, written
from kubectl_tas.model.backdoors import containers_in
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin
from kubectl_tas.words import closest

FIELDS_CONFLICT = Rule(
    "fields-conflict",
    Severity.ERROR,
    "Fields of an object contradict or lack each other.",
    "The API server refuses the object or its pods. Examples: an Indexed job without completions, a variable with "
    "value and valueFrom, a volume with two types, a budget with two bounds. A volume without a type is an empty "
    "folder. A term of a node selector without a condition selects no node at all. A budget without a bound lets no "
    "pod go. Write what the message says.",
)
Found = Iterator[Diagnostic]
NOT_EMPTY = "must not be empty"


class Fields:
    """A mapping in a document, with its path. The mapping is empty if the document has another value at that path."""

    __slots__ = ("get", "origin", "path", "value")

    def __init__(self, origin: Origin, path: KeyPath, value: object) -> None:
        self.origin, self.path = origin, path
        self.value: dict[str, Any] = value if isinstance(value, dict) else {}
        self.get: Callable[..., Any] = self.value.get

    def has(self, name: str) -> bool:
        """Whether a field is present and not empty."""
        return self.value.get(name) not in (None, "", [])

    def below(self, *names: str) -> Fields:
        """Returns the mapping in a field, or in a field further below."""
        found: Any = self.value
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return Fields(self.origin, (*self.path, *names), found)

    def each(self, *names: str) -> Iterator[Fields]:
        """Yields the items of the lists in some fields, each as a mapping."""
        for name in names:
            for index, item in enumerate(listed(self.value.get(name))):
                yield Fields(self.origin, (*self.path, name, index), item)

    @property
    def containers(self) -> list[Fields]:
        """The containers, if the mapping has the fields of a pod."""
        return [Fields(self.origin, path, value) for path, value in containers_in(self.value, self.path)]

    def at(self, *steps: str | int) -> str:
        """Returns, in words, the path of a value below the mapping."""
        return written((*self.path, *steps))

    def exceeds(self, first: str, second: str) -> bool:
        """Whether one field is a larger number than another."""
        one, other = self.value.get(first), self.value.get(second)
        return type(one) is int and type(other) is int and one > other

    def is_slip(self, names: Iterable[str]) -> bool:
        """Whether a key of the mapping misspells one of ``names``. Another rule reports the unknown field."""
        return any(key not in names and closest(key, names, folds=True) for key in self.value)

    def conflict(self, message: str, hint: str, *field: str | int) -> Diagnostic:
        """Returns a finding at the key of a field, or of the whole mapping."""
        place = self.origin.locate((*self.path, *field), key=True)
        return Diagnostic(FIELDS_CONFLICT, message, place, hint=hint)

    def wrong(self, what: str, hint: str, *field: str) -> Diagnostic:
        """Returns a finding at a field that says what is wrong with the whole mapping."""
        return self.conflict(f"{written(self.path)} {what}", hint, *field)

    def refuse(self, field: str | int, what: str, hint: str) -> Diagnostic:
        """Returns a finding that says what is wrong with a field."""
        return self.conflict(f"{self.at(field)} {what}", hint, field)

    def invalid(self, rule: str, value: object, hint: str, *steps: str | int) -> Diagnostic:
        """Returns a finding that a value below the mapping breaks a rule of its field."""
        return invalid_value(self.origin, (*self.path, *steps), rule, value, hint)

    def missing(self, field: str, known: Iterable[str] = ()) -> Diagnostic:
        """Returns a finding that a field is missing. ``known`` are the other fields of the mapping."""
        return missing_field(self.origin, self.path, field, {}, tuple(known))


Check = Callable[[Fields], Found]


def one_of(lacking: str, *names: str) -> Check:
    """Returns a check that a mapping has exactly one of ``names``. ``lacking`` describes a mapping with none."""

    def check(of: Fields) -> Found:
        found = [name for name in names if of.get(name) is not None]
        if len(found) != 1:
            yield of.wrong(f"has {' and '.join(found) or lacking}", f"Write one of {', '.join(names)}.")

    return check


def not_empty(field: str, hint: str) -> Check:
    """Returns a check that a list is either absent or not empty."""

    def check(of: Fields) -> Found:
        if of.get(field) == []:
            yield of.invalid(NOT_EMPTY, [], hint, field)

    return check


def all_of(*checks: Check) -> Check:
    """Returns a check that runs all given checks on a mapping."""

    def check(of: Fields) -> Found:
        for one in checks:
            yield from one(of)

    return check


def listed(value: object) -> list[Any]:
    """Returns a value that is a list; an empty list for any other value."""
    return value if isinstance(value, list) else []


def mappings(value: object) -> list[dict[str, Any]]:
    """Returns the items of a list, each as a mapping; empty if the value is not a list."""
    return [item if isinstance(item, dict) else {} for item in listed(value)]


def named(items: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the names of items."""
    return [str(item.get("name")) for item in items]
