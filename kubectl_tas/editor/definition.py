"""Finds the declaration of a name that a document uses, and renames a pool, subpool or level wherever it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.edit import pool_edits
from kubectl_tas.edit.apply import applied, new_errors
from kubectl_tas.edit.subpool_edits import Edit, SetValues
from kubectl_tas.editor.project import Judgement, judged
from kubectl_tas.kinds import SET
from kubectl_tas.load.document import Document
from kubectl_tas.load.source import decode
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.named_at import named_at
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.resolve.topologies import FleetTopology


@dataclass(frozen=True, slots=True)
class Reference:
    """A name in a document, and the kind of thing that it refers to."""

    kind: str
    """As ``named_at`` says."""
    name: str
    document: Document
    path: KeyPath


def reference_at(document: Document, path: KeyPath) -> Reference | None:
    """Returns the reference at a path of a document, or None."""
    name = document.value(path)
    if not isinstance(name, str) or not name:
        return None
    named_kind = named_at(document.data, path)
    return Reference(named_kind, name, document, path) if named_kind else None


def definitions(reference: Reference, fleet: Fleet) -> list[Location]:
    """Returns the declarations of a reference, from the last reading of the repository or from the same document."""
    return list(dict.fromkeys(_DEFINED[reference.kind](reference, fleet)))


def _pool(reference: Reference, fleet: Fleet) -> Iterator[Location]:
    target = fleet.target(reference.name)
    if target is not None:
        pool, subpool = target
        yield (subpool or pool).declared.at("metadata", "name")
        return
    folded = names.fold(reference.name).partition(names.SEPARATOR)[0]  # one with errors is declared all the same
    declared = (pool for pool in fleet.repository.pools if names.fold(pool.spec.metadata.name) == folded)
    yield from (pool.at("metadata", "name") for pool in declared)


def _queue(reference: Reference, fleet: Fleet) -> Iterator[Location]:
    for pool in fleet.pools:
        if reference.name in (pool.queue, pool.shared_queue):
            yield pool.declared.at("metadata", "name")
        subpools = (subpool for subpool in pool.subpools if subpool.queue == reference.name)
        yield from (subpool.declared.at("metadata", "name") for subpool in subpools)


def _topology(reference: Reference, fleet: Fleet) -> Iterator[Location]:
    for topology in _topologies_named(reference.name, fleet):
        yield topology.declared.at("metadata", "name")


def _topologies_named(name: str, fleet: Fleet) -> list[FleetTopology]:
    return [x for x in fleet.topologies if x.name == name or any(x.name_on(each) == name for each in fleet.backends)]


def _level(reference: Reference, fleet: Fleet) -> Iterator[Location]:
    for topology in topologies_near(reference, fleet):
        level = topology.level(reference.name)
        if level is not None:
            yield topology.declared.at(*topology.path, topology.levels.index(level))


def topologies_near(reference: Reference, fleet: Fleet) -> list[FleetTopology]:
    """Returns topologies that may have the level: the document's own, else the one of its pool, else all."""
    data, beside = reference.document.data, reference.document.value(reference.path[:-1])
    for name in (_field(beside, labels.TOPOLOGY), _field(beside, "topology"), _field(beside, "topologyName")):
        if name:
            return _topologies_named(name, fleet)
    if _field(data, "kind") == SET.kind:
        document_key = (reference.document.path, reference.document.index)
        of_set = (
            clique_set.topology
            for clique_set in fleet.pod_clique_sets
            if (clique_set.declared.origin.path, clique_set.declared.origin.index) == document_key
        )
        return [topology for topology in of_set if topology is not None] or list(fleet.topologies)
    of_pool = reference.document.value(("workflow", "pool"))
    of_pool = of_pool or reference.document.value(("metadata", "labels", labels.POOL))
    target = fleet.target(of_pool) if isinstance(of_pool, str) else None
    if target is not None and target[0].topology is not None:
        return [target[0].topology]
    return list(fleet.topologies)


def _backend(reference: Reference, fleet: Fleet) -> Iterator[Location]:
    config = fleet.repository.config
    if config is not None:
        indices = (backend.index for backend in fleet.backends if backend.name == reference.name)
        yield from (config.at("spec", "backends", index, "name") for index in indices)


def pool_of_platforms(reference: Reference, fleet: Fleet) -> FleetPool | None:
    """Returns the pool whose platforms a workflow or pool refers to."""
    named = reference.document.value(("workflow", "pool")) or reference.document.value(("metadata", "name"))
    target = fleet.target(named) if isinstance(named, str) else None
    return None if target is None else target[0]


def _platform(reference: Reference, fleet: Fleet) -> Iterator[Location]:
    pool = pool_of_platforms(reference, fleet)
    if pool is not None and reference.name in pool.platforms.by_name:
        platform = pool.platforms.by_name[reference.name]
        yield pool.declared.origin.locate(platform.path, key=True)


def _pod_group(reference: Reference, fleet: Fleet) -> Iterator[Location]:
    pod_groups = (group for group in fleet.repository.pod_groups if group.spec.metadata.name == reference.name)
    yield from (pod_group.at("metadata", "name") for pod_group in pod_groups)


def _resource(reference: Reference, fleet: Fleet) -> Iterator[Location]:
    for path in (("workflow", "resources", reference.name), ("resources", reference.name)):
        if reference.document.value(path) is not None:
            yield reference.document.locate(path, key=True)


def _named(*lists: str) -> Any:
    """Returns a function that finds items by name in every list whose field is one of ``lists``."""

    def find(reference: Reference, fleet: Fleet) -> Iterator[Location]:
        for path, mapping in mappings_in_lists(reference.document.data, lists):
            if _field(mapping, "name") == reference.name:
                yield reference.document.locate((*path, "name"))

    return find


def mappings_in_lists(data: Any, lists: tuple[str, ...], path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yields the items of every list whose field is one of ``lists``, each with its path."""
    if isinstance(data, (dict, list)):
        for step, value in data.items() if isinstance(data, dict) else enumerate(data):
            if step in lists and isinstance(value, list):
                yield from (((*path, step, index), mapping) for index, mapping in enumerate(value))
            yield from mappings_in_lists(value, lists, (*path, step))


_DEFINED: dict[str, Any] = {
    "pool": _pool,
    "queue": _queue,
    "topology": _topology,
    "level": _level,
    "backend": _backend,
    "podgroup": _pod_group,
    "platform": _platform,
    "resource": _resource,
    "task": _named("tasks"),
    "clique": _named("cliques"),
}


def _field(data: Any, key: str) -> str:
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, str) else ""


_NAME = ("metadata", "name")


@dataclass(frozen=True, slots=True)
class RenameTarget:
    """A pool, subpool or level at a place where it is named."""

    old: str
    """The name as written there; for a subpool without its pool."""
    start: int
    """Characters of the word before the name."""
    plan: Callable[..., Sequence[Edit] | Diagnostic]
    """Function that plans the edits of a fleet for the new name ``new``."""


def renamed_at(document: Document, path: KeyPath, within: int, fleet: Fleet) -> RenameTarget | None:
    """Returns what can be renamed at a path of a document, ``within`` characters into its name; None if nothing can."""
    name = document.value(path)
    data = document.data
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(name, str):
        return None
    reference = reference_at(document, path)
    if kind == "Subpool" and path == _NAME:
        above = f"{document.value(('spec', 'parent'))}{names.SEPARATOR}"
        return _renamed_target(above + name, len(above), fleet, unwritten=len(above))
    if (kind == "Pool" and path == _NAME) or (reference is not None and reference.kind == "pool"):
        return _renamed_target(name, within, fleet)
    if reference is not None and reference.kind == "level":
        return _renamed_level(name, topologies_near(reference, fleet))
    for topology in fleet.topologies:
        origin, steps = topology.declared.origin, len(topology.path)
        if (origin.path, origin.index, path[:steps]) == (document.path, document.index, topology.path):
            return _renamed_level(name, [topology]) if path[steps + 1 :] != ("label",) else None
    return None


def _renamed_target(name: str, within: int, fleet: Fleet, *, unwritten: int = 0) -> RenameTarget | None:
    """Returns the pool, or the subpool if ``within`` is behind the pool's name. The pool's name may be unwritten."""
    target = fleet.target(name)
    if target is None:
        return None
    pool, subpool = target
    length = len(name.partition(names.SEPARATOR)[0])
    if subpool is None or within <= length:
        return RenameTarget(name[:length], 0, partial(pool_edits.rename, old=pool.name))
    start = length + len(names.SEPARATOR)
    return RenameTarget(name[start:], start - unwritten, partial(pool_edits.rename_subpool, old=subpool.canonical))


def _renamed_level(name: str, topologies: Sequence[FleetTopology]) -> RenameTarget | None:
    for topology in topologies:
        level = topology.level(name)
        if level is not None and level.key == name:
            return RenameTarget(level.key, 0, partial(_edits_of_level, topology=topology.name, key=level.key))
    return None


def _edits_of_level(fleet: Fleet, *, new: str, topology: str, key: str) -> list[SetValues]:
    (topology_of_level,) = (candidate for candidate in fleet.topologies if candidate.name == topology)
    level = topology_of_level.level(key)
    return pool_edits.rename_level(fleet, topology_of_level, level, new) if level else []


def renamed(before: Judgement, target: RenameTarget, new: str) -> Mapping[str, tuple[str, str]]:
    """Returns the text of each changed file before and after the renaming.
    Raises TasError if the renaming fails or brings errors.
    """
    whole = judged(before.root, before.typed, before, also=before.run.files.source.raws)
    if not whole.run.loaded.complete:
        hint = "Correct the unreadable file first: it may contain the name too."
        raise TasError(f'"{target.old}" is not renamed: a file cannot be read', hint=hint)
    planned = target.plan(whole.fleet, new=new)
    if isinstance(planned, Diagnostic):
        raise TasError(planned.message, hint=planned.hint)
    raws = whole.run.files.source.raws
    new_contents: dict[str, bytes] = {}
    for edit in planned:
        assert isinstance(edit, SetValues)  # a name is a value
        new_contents[edit.path] = applied(edit, new_contents.get(edit.path, raws[edit.path].content))
    after = judged(before.root, {**before.typed, **new_contents}, before)
    for error in new_errors(whole.findings, after.findings, pool_edits.in_messages(target.old, new))[:1]:
        raise TasError(
            f'"{target.old}" is not renamed, since {error.location or "a file"} would be wrong: {error.message}'
        )
    return {path: (decode(path, raws[path].content)[0], decode(path, text)[0]) for path, text in new_contents.items()}
