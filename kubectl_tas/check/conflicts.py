"""What rules about fields that do not go together are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.load.schema import written
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin
from kubectl_tas.words import closest

FIELDS_CONFLICT = Rule(
    "fields-conflict",
    Severity.ERROR,
    "Fields of an object do not go together, or a field lacks another one that it needs.",
    "An API server refuses the object, or the pods that are made of it: an Indexed job without completions, a variable "
    "with value and valueFrom, a volume of two types or of none, a budget with two bounds. A term of a node selector "
    "without a condition selects no node at all, and a budget without a bound lets no pod go. Write what the message "
    "says.",
)
Found = Iterator[Diagnostic]
Check = Callable[[Origin, KeyPath, Mapping[str, Any]], Found]


def conflict(origin: Origin, path: KeyPath, message: str, hint: str) -> Diagnostic:
    """A finding at the key of one of the fields."""
    return Diagnostic(FIELDS_CONFLICT, message, origin.locate(path, key=True), hint=hint)


def has(value: Mapping[str, Any], name: str) -> bool:
    """Whether a field is there and says something."""
    return value.get(name) not in (None, "", [])


def one_of(lacking: str, *names: str) -> Check:
    """A mapping with exactly one of these fields; ``lacking`` is what it has without any."""

    def check(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
        found = [name for name in names if value.get(name) is not None]
        if len(found) > 1 or not (found or is_slip(value, names)):
            message = f"{written(path)} has {' and '.join(found) or lacking}"
            yield conflict(origin, path, message, f"Write one of {', '.join(names)}.")

    return check


def is_slip(value: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Whether a key is a slip of one of these fields, which is told as an unknown field."""
    return any(key not in names and closest(key, names, folds=True) for key in value)


def mappings(value: object) -> list[dict[str, Any]]:
    """The items of a list, each as a mapping; empty where there is no list."""
    return [mapping(item) for item in value] if isinstance(value, list) else []


def mapping(value: object) -> dict[str, Any]:
    """The value itself; empty where it is none."""
    return value if isinstance(value, dict) else {}
