"""Reads plain documents by paths, and says what is wrong in them. Knows no kind, and no file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Self

from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import closest
from kubectl_tas.model.base import KeyPath

LIST, MAPPING = "[]", "*"
Document = Mapping[str, Any]
"""A document as plain data, without nulls."""


@cache
def path_steps(path: str) -> tuple[str, ...]:
    """Returns the keys of a path. ``LIST`` stands for each item, ``MAPPING`` for each key."""
    return tuple(path.replace("[]", ".[]").split(".")) if path else ()


def written(path: KeyPath) -> str:
    """Returns a key path in common notation: spec.topology_keys[0].label."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def child(value: Any, step: str | int) -> Any:
    """Returns the value of a key, or the item of a list. None if it is absent."""
    if isinstance(value, dict):
        return value.get(step)
    return value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else None


def value_at(document: Any, *path: str | int) -> Any:
    """Returns the value at a path. None if it is absent."""
    for step in path:
        document = document.get(step) if type(document) is dict else child(document, step)
        if document is None:
            break
    return document


def children(value: Any) -> Iterable[tuple[Any, Any]]:
    """Returns the values of a mapping or a list, each with its key or its index; nothing for any other value."""
    return value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()


def values_at(value: Any, steps: tuple[str, ...], path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yields all values at the steps of a path, each with its own path."""
    if value is None:
        return
    if not steps:
        yield path, value
    elif steps[0] in (LIST, MAPPING):
        for key, below in children(value):
            yield from values_at(below, steps[1:], (*path, key))
    else:
        yield from values_at(child(value, steps[0]), steps[1:], (*path, steps[0]))


def listed(value: object) -> list[Any]:
    """Returns a value that is a list; an empty list for any other value."""
    return value if isinstance(value, list) else []


def mappings(value: object) -> list[dict[str, Any]]:
    """Returns the items of a list, each as a mapping; empty if the value is not a list."""
    return [each if isinstance(each, dict) else {} for each in listed(value)]


def beside(pattern: str, path: KeyPath) -> KeyPath:
    """Returns the path of a pattern, with the items and keys of ``path`` in the place of ``LIST`` and ``MAPPING``."""
    return tuple(path[index] if step in (LIST, MAPPING) else step for index, step in enumerate(path_steps(pattern)))


def key_path(text: str) -> KeyPath:
    """Returns the path of a text with dots between the keys."""
    return tuple(text.split(".")) if text else ()


@dataclass(frozen=True, slots=True)
class Refused:
    """A value of a document that the API server, an operator or KAI refuses."""

    path: KeyPath
    message: str
    hint: str
    is_key: bool = False
    """Whether the finding stands at the key and not at the value."""
    rule: str = "operator-refuses"
    """The code of the rule. ``missing-field`` needs no message: the last step of the path is the field. The message of
    ``invalid-value`` is what the value must be.
    """


class Section:
    """A mapping in a document, with its path. The mapping is empty if the document has another value at that path."""

    __slots__ = ("document", "path", "value")

    def __init__(self, document: Any, path: KeyPath) -> None:
        value = value_at(document, *path)
        self.document, self.path = document, path
        self.value: dict[str, Any] = value if isinstance(value, dict) else {}

    def get(self, name: str, otherwise: Any = None) -> Any:
        """Returns the value of a field."""
        return self.value.get(name, otherwise)

    def below(self, *names: str | int) -> Self:
        """Returns the mapping in a field, or in a field further below."""
        return type(self)(self.document, (*self.path, *names))

    def each(self, *names: str) -> Iterator[Self]:
        """Yields the items of the lists in some fields, each as a mapping."""
        for name in names:
            value = self.value.get(name)
            for index in range(len(value) if isinstance(value, list) else 0):
                yield self.below(name, index)

    def at(self, *steps: str | int) -> str:
        """Returns, in words, the path of a value below the mapping."""
        return written((*self.path, *steps))

    def count(self, name: str, otherwise: int = 0) -> int:
        """Returns a whole number in a field. ``otherwise`` if the field has none."""
        number = self.value.get(name)
        return number if type(number) is int else otherwise

    def exceeds(self, name: str, bound_name: str) -> bool:
        """Whether one field is a larger number than another."""
        number, bound = self.value.get(name), self.value.get(bound_name)
        return type(number) is int and type(bound) is int and number > bound

    def is_slip(self, names: Iterable[str]) -> bool:
        """Whether a key of the mapping misspells one of ``names``. Another rule reports the unknown field."""
        return any(key not in names and closest(key, names, folds=True) for key in self.value)

    def refused(self, message: str, hint: str, *steps: str | int) -> Refused:
        """Returns what is wrong with the value below the mapping."""
        return Refused((*self.path, *steps), message, hint)
