"""Renames a pool, subpool or level: from one use of the name, computes the edits of all files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from kubectl_tas.diagnostics import Diagnostic, TasError
from kubectl_tas.edit import pool_edits
from kubectl_tas.edit.apply import applied, new_errors
from kubectl_tas.edit.subpool_edits import Edit, SetValues
from kubectl_tas.editor.definition import reference_at, topologies_near
from kubectl_tas.editor.project import Judgement, judged
from kubectl_tas.late import dataclass
from kubectl_tas.load.document import Document
from kubectl_tas.load.source import decode
from kubectl_tas.model.base import KeyPath
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.topologies import FleetTopology

_NAME = ("metadata", "name")


@dataclass(frozen=True, slots=True)
class Renamed:
    """A pool, subpool or level at a place where it is named."""

    old: str
    """The name as written there; for a subpool without its pool."""
    start: int
    """Characters of the word before the name."""
    plan: Callable[..., Sequence[Edit] | Diagnostic]
    """Function that plans the edits of a fleet for the new name ``new``."""


def renamed_at(document: Document, path: KeyPath, within: int, fleet: Fleet) -> Renamed | None:
    """Returns what can be renamed at a path of a document, ``within`` characters into its name; None if nothing can."""
    name = document.value(path)
    data = document.data
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(name, str):
        return None
    reference = reference_at(document, path)
    if kind == "Subpool" and path == _NAME:
        above = f"{document.value(('spec', 'parent'))}{names.SEPARATOR}"
        return _target(above + name, len(above), fleet, unwritten=len(above))
    if (kind == "Pool" and path == _NAME) or (reference is not None and reference.what == "pool"):
        return _target(name, within, fleet)
    if reference is not None and reference.what == "level":
        return _level(name, topologies_near(reference, fleet))
    for topology in fleet.topologies:
        there, steps = topology.declared.origin, len(topology.path)
        if (there.path, there.index, path[:steps]) == (document.path, document.index, topology.path):
            return _level(name, [topology]) if path[steps + 1 :] != ("label",) else None
    return None


def _target(name: str, within: int, fleet: Fleet, *, unwritten: int = 0) -> Renamed | None:
    """Returns the pool, or the subpool if ``within`` is behind the pool's name. The pool's name may be unwritten."""
    found = fleet.target(name)
    if found is None:
        return None
    pool, subpool = found
    length = len(name.partition(names.SEPARATOR)[0])
    if subpool is None or within <= length:
        return Renamed(name[:length], 0, partial(pool_edits.rename, old=pool.name))
    start = length + len(names.SEPARATOR)
    return Renamed(name[start:], start - unwritten, partial(pool_edits.rename_subpool, old=subpool.canonical))


def _level(name: str, topologies: Sequence[FleetTopology]) -> Renamed | None:
    for topology in topologies:
        level = topology.level(name)
        if level is not None and level.key == name:
            return Renamed(level.key, 0, partial(_of_level, topology=topology.name, key=level.key))
    return None


def _of_level(fleet: Fleet, *, new: str, topology: str, key: str) -> list[SetValues]:
    (found,) = (item for item in fleet.topologies if item.name == topology)
    level = found.level(key)
    return pool_edits.rename_level(fleet, found, level, new) if level else []


def renamed(before: Judgement, item: Renamed, new: str) -> Mapping[str, tuple[str, str]]:
    """Returns the text of each changed file before and after the renaming.
    Raises TasError if the renaming fails or brings errors.
    """
    whole = judged(before.root, before.typed, before, also=before.run.survey.parts.raws)
    if not whole.run.loaded.complete:
        hint = "Correct the unreadable file first: it may contain the name too."
        raise TasError(f'"{item.old}" is not renamed: a file cannot be read', hint=hint)
    planned = item.plan(whole.fleet, new=new)
    if isinstance(planned, Diagnostic):
        raise TasError(planned.message, hint=planned.hint)
    raws = whole.run.survey.parts.raws
    found: dict[str, bytes] = {}
    for edit in planned:
        assert isinstance(edit, SetValues)  # a name is a value
        found[edit.path] = applied(edit, found.get(edit.path, raws[edit.path].content))
    after = judged(before.root, {**before.typed, **found}, before)
    for error in new_errors(whole.found, after.found, pool_edits.in_messages(item.old, new))[:1]:
        raise TasError(
            f'"{item.old}" is not renamed, since {error.location or "a file"} would be wrong: {error.message}'
        )
    return {path: (decode(path, raws[path].content)[0], decode(path, text)[0]) for path, text in found.items()}
