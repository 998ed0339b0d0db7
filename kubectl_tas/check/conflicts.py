"""Helpers for rules about fields that exclude or need each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self, TypeVar

from kubectl_tas.base.diagnostics import Diagnostic, Rule
from kubectl_tas.kinds.backdoors import containers_in
from kubectl_tas.kinds.section import Section, value_at, written
from kubectl_tas.load.schema import invalid_value, missing_field
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin

FIELDS_CONFLICT = Rule.error(
    "fields-conflict",
    "Fields of an object contradict or lack each other.",
    "The API server refuses the object or its pods. Examples: an Indexed job without completions, a variable with "
    "value and valueFrom, a volume with two types, a budget with two bounds. A volume without a type is an empty "
    "folder. A term of a node selector without a condition selects no node at all. A budget without a bound lets no "
    "pod go. Write what the message says.",
)
K = TypeVar("K")
V = TypeVar("V")
Found = Iterator[Diagnostic]
NOT_EMPTY = "must not be empty"


class Fields(Section):
    """A mapping in a document with places. ``value`` is what the document has at ``path``."""

    __slots__ = ("origin",)

    def __init__(self, origin: Origin, path: KeyPath, value: object) -> None:
        self.document, self.origin, self.path = origin.data, origin, path
        self.value = value if isinstance(value, dict) else {}

    def has(self, name: str) -> bool:
        """Whether a field is present and not empty."""
        return self.value.get(name) not in (None, "", [])

    def below(self, *names: str | int) -> Self:
        """Returns the mapping in a field, or in a field further below."""
        return type(self)(self.origin, (*self.path, *names), value_at(self.value, *names))

    @property
    def containers(self) -> list[Fields]:
        """The containers, if the mapping has the fields of a pod."""
        return [Fields(self.origin, path, value) for path, value in containers_in(self.value, self.path)]

    def conflict(self, message: str, hint: str, *field: str | int) -> Diagnostic:
        """Returns a finding at the key of a field, or of the whole mapping."""
        return Diagnostic(FIELDS_CONFLICT, message, self.origin.locate((*self.path, *field), key=True), hint=hint)

    def wrong(self, problem: str, hint: str, *field: str) -> Diagnostic:
        """Returns a finding at a field that says what is wrong with the whole mapping."""
        return self.conflict(f"{written(self.path)} {problem}", hint, *field)

    def refuse(self, field: str | int, problem: str, hint: str) -> Diagnostic:
        """Returns a finding that says what is wrong with a field."""
        return self.conflict(f"{self.at(field)} {problem}", hint, field)

    def invalid(self, rule: str, value: object, hint: str, *steps: str | int) -> Diagnostic:
        """Returns a finding that a value below the mapping breaks a rule of its field."""
        return invalid_value(self.origin, (*self.path, *steps), rule, value, hint)

    def missing(self, field: str, known_names: Iterable[str] = ()) -> Diagnostic:
        """Returns a finding that a field is missing. ``known_names`` are the other fields of the mapping."""
        return missing_field(self.origin, self.path, field, {}, tuple(known_names))


Check = Callable[[Fields], Found]


def one_of(lacking: str, *names: str) -> Check:
    """Returns a check that a mapping has exactly one of ``names``. ``lacking`` describes a mapping with none."""

    def check(fields: Fields) -> Found:
        given_names = [name for name in names if fields.get(name) is not None]
        if len(given_names) != 1:
            yield fields.wrong(f"has {' and '.join(given_names) or lacking}", f"Write one of {', '.join(names)}.")

    return check


def not_empty(field: str, hint: str) -> Check:
    """Returns a check that a list is either absent or not empty."""

    def check(fields: Fields) -> Found:
        if fields.get(field) == []:
            yield fields.invalid(NOT_EMPTY, [], hint, field)

    return check


def all_of(*checks: Check) -> Check:
    """Returns a check that runs all given checks on a mapping."""

    def check(fields: Fields) -> Found:
        for check_of_fields in checks:
            yield from check_of_fields(fields)

    return check


def repetitions(values_by_key: Iterable[tuple[K, V]]) -> Iterator[tuple[K, V, V]]:
    """Yields each value whose key an earlier value has: the key, the first value of the key, and the value."""
    first_values: dict[K, V] = {}
    for key, value in values_by_key:
        first_value = first_values.setdefault(key, value)
        if first_value is not value:
            yield key, first_value, value


def named(mappings: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the names of items."""
    return [str(mapping.get("name")) for mapping in mappings]
