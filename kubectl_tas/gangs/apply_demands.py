"""Applies demands to a document: as entries that change its text, or in its data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubectl_tas.gangs.pool_demands import Demand, Mode, changes
from kubectl_tas.load.splice import FIRST, Appended, Change, Entry, RenamedEntry, extended, without_aliases
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin

_PLACES = {
    "namespace": "name",
    "labels": "name",
    "metadata": FIRST,
    "nodeSelector": FIRST,
    "replicas": FIRST,
    "schedulerName": FIRST,
    "priorityClassName": FIRST,
    "tolerations": FIRST,
}
"""Key that a new key is put behind; other new keys go to the end of their mapping."""


def demanded(origin: Origin, demands: Sequence[Demand]) -> Any:
    """Returns the data of a document with ``demands`` applied, as far as an invalid document has a place for it."""
    return merged(origin.data, entries_of(origin, [demand for demand in demands if _fits(origin.data, demand.path)]))


def _fits(data: Any, path: KeyPath) -> bool:
    """Whether a value can be put at ``path``: only mappings and lists are above it."""
    for step in path:
        if data is None:
            return True
        if isinstance(data, list):
            if not isinstance(step, int) or step >= len(data):
                return False
            data = data[step]
        elif isinstance(data, dict):
            data = data.get(step)
        else:
            return False
    return True


def entries_of(origin: Origin, demands: Sequence[Demand]) -> list[Entry]:
    """Returns the changes that make ``demands`` hold in a document, in the order in which they must be made."""
    made: set[KeyPath] = set()
    needed = [demand for demand in demands if changes(origin, demand)]
    entries = [_entry(origin, demand, made) for demand in needed if demand.mode is not Mode.REMOVE]
    return entries + _removals(origin, [demand.path for demand in needed if demand.mode is Mode.REMOVE], made)


def _entry(origin: Origin, demand: Demand, made: set[KeyPath]) -> Entry:
    """Returns the value, and the place for the first part of its path that is neither written nor in ``made``."""
    prefixes = [demand.path[: depth + 1] for depth in range(len(demand.path))]
    missing_prefixes = [prefix for prefix in prefixes if prefix not in made and origin.value(prefix) is None]
    made.update(missing_prefixes)
    value: Change = demand.value if isinstance(demand.value, (str, int)) else Appended(demand.value)
    return demand.path, value, _PLACES.get(str(missing_prefixes[0][-1])) if missing_prefixes else None


def _removals(origin: Origin, paths: Sequence[KeyPath], made: set[KeyPath]) -> list[Entry]:
    """Returns the removals; a mapping that would become empty is removed as a whole."""
    remaining_keys: dict[KeyPath, set[str]] = {}
    for path in paths:
        mapping = origin.value(path[:-1])
        keys = remaining_keys.setdefault(path[:-1], set(mapping) if isinstance(mapping, dict) else set())
        keys.discard(str(path[-1]))
    empty = {
        mapping_path
        for mapping_path, keys in remaining_keys.items()
        if not keys and not any(made_path[:-1] == mapping_path for made_path in made)
    }
    return [(path, None, None) for path in dict.fromkeys(path[:-1] if path[:-1] in empty else path for path in paths)]


def merged(data: Any, entries: Sequence[Entry]) -> Any:
    """Returns the data with the entries applied."""
    merged = without_aliases(data)
    for path, value, after in entries:
        target = merged
        for step in path[:-1]:
            if isinstance(target, dict) and target.get(step) is None:
                _put(target, step, {}, _PLACES.get(str(step)))
            target = target[step]
        if isinstance(value, RenamedEntry):
            _put(target, value.key, value.value, path[-1])
        if value is None or isinstance(value, RenamedEntry):
            del target[path[-1]]
        else:
            new = extended(target.get(path[-1]), value) if isinstance(value, Appended) else value
            _put(target, path[-1], new, after)
    return merged


def _put(mapping: dict[KeyPath | str | int, Any], key: str | int, value: object, after: str | int | None) -> None:
    """Adds a key behind ``after``, before all others for FIRST, or else at the end."""
    mapping[key] = value
    if after is None:
        return
    names = [name for name in mapping if name != key]
    position = 0 if after == FIRST else names.index(after) + 1 if after in names else len(names)
    names.insert(position, key)
    for name in names:
        mapping[name] = mapping.pop(name)
