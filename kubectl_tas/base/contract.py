"""Says which fields of a class programs read with ``-o json``: the contract with them, apart from the names in code."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeVar

C = TypeVar("C", bound=type)


def json_fields(words: str) -> Callable[[C], C]:
    """Decorates a class that is printed as JSON. Each word is a field, in the order of the output:

    - ``pods``: the attribute of this name; ``podGroup=gang.name``: the attribute at this path, which goes into each
      element of a tuple, and ends at None. ``pods.len`` is the number of elements.
    - ``pods?`` is left out if it is None. ``pods|null`` is null if it is 0 or empty.
    - ``version:2``: the version rises when a field changes its meaning or is removed, but not for a new field.
    """

    def mark(kind: C) -> C:
        kind.JSON = words  # type: ignore[attr-defined]
        return kind

    return mark


class JsonField(NamedTuple):
    """A field of an answer."""

    name: str
    path: tuple[str, ...]
    """The attributes that lead to its value."""
    ending: str
    """``?``, ``|null`` or nothing."""
    version: int | None


@cache
def fields_of(kind: type) -> tuple[JsonField, ...]:
    """Returns the fields of a class that is printed as JSON; none for any other class."""
    fields = []
    for word in getattr(kind, "JSON", "").split():
        ending = next((ending for ending in ("?", "|null") if word.endswith(ending)), "")
        name, _, path = word.removesuffix(ending).partition("=")
        name, _, version = name.partition(":")
        fields.append(JsonField(name, tuple((path or name).split(".")), ending, int(version) if version else None))
    return tuple(fields)
