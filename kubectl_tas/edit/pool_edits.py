"""Plans the edits of all files that rename or remove a pool, or rename a level; or returns the reason to refuse."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic, Related, Rule, Severity
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.yaml import flow, scalar
from kubectl_tas.edit.subpool_edits import (
    MAX_NAMED,
    SUBPOOL_UNKNOWN,
    Edit,
    NewFile,
    RemoveDocument,
    SetValues,
    folder_for,
    listed,
    unknown_pool,
)
from kubectl_tas.load.splice import Value
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared, Repository
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.named_at import names_in
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.resolve.topologies import FleetTopology, Level

POOL_IN_USE = Rule(
    "pool-in-use",
    Severity.ERROR,
    "A command removes a pool that has work or child pools.",
    "Without the pool, its work and that of the pools below would name a queue that does not exist, and stay Pending "
    "for ever. Move or remove their files first.",
)


@dataclass(frozen=True, slots=True)
class _Renaming:
    """The old and new names of a pool and its objects."""

    old: str
    new: str
    generated: dict[str, str]
    """New names of the pool's queues and its own Topology, by old name."""

    def target(self, name: str) -> str | None:
        """Returns a pool or pool--subpool with the new name and an unchanged rest; None if it names another pool."""
        suffix = name[len(self.old) :]
        is_meant = names.fold(name[: len(self.old)]) == self.old and names.fold(suffix).startswith(names.SEPARATOR)
        return f"{self.new}{suffix}" if is_meant or names.fold(name) == self.old else None


def create(
    fleet: Fleet,
    name: str,
    gpus: Mapping[str, int],
    above: Mapping[str, str],
    levels: Mapping[str, str],
) -> NewFile | Diagnostic:
    """Plans a new pool in its own file. ``gpus`` are its guarantee and maximum, ``above`` the fields that name other
    documents, ``levels`` the node labels of its topology keys, coarse to fine.
    """
    there = fleet.pool_by_name.get(names.fold(name))
    if there is not None:
        hint = f"Choose another name, or change {there.declared.origin.path}."
        location = there.declared.at("metadata", "name")
        return Diagnostic(SUBPOOL_UNKNOWN, f"there is a pool {there.name} already", location, hint=hint)
    lines = ["apiVersion: tas/v1alpha1", "kind: Pool", "metadata:", f"  name: {scalar(name)}", "spec:"]
    lines += [f"  {field}: {scalar(text)}" for field, text in above.items()]
    lines += ["  resources:", "    gpu:", *(f"      {field}: {amount}" for field, amount in gpus.items())]
    if levels:
        lines += ["  topology_keys:", *(f"  - {flow({'key': key, 'label': label})}" for key, label in levels.items())]
    path = (folder_for(fleet, "pools") / f"{name}.yaml").as_posix()
    return NewFile(path, "\n".join((*lines, "")), f"created pool {name}, quota {gpus['guarantee']}")


_OF_POOL = ("pool", "queue", "topology")
"""Names that change with the name of a pool."""


def rename(fleet: Fleet, old: str, new: str) -> list[Edit] | Diagnostic:
    """Renames a pool in every document that names it. Its files keep their names."""
    pool = fleet.pool_by_name.get(old)
    if pool is None:
        return _no_pool(fleet, old, "A subpool keeps its name. Create another one, send its work there, then use:")
    existing_pool = fleet.pool_by_name.get(names.fold(new))
    if existing_pool is not None:
        location = existing_pool.declared.at("metadata", "name")
        if existing_pool is pool:
            message, hint = f'"{new}" is the name that pool {old} has', "Choose another; case does not count."
        else:
            message, hint = f"there is a pool {existing_pool.name} already", "Choose another name."
        return Diagnostic(SUBPOOL_UNKNOWN, message, location, hint=hint)
    renaming = _Renaming(old, new, dict(zip(_generated(fleet, pool, old), _generated(fleet, pool, new), strict=True)))
    return [*set_in_documents(_named(fleet.repository, renaming), old, new)]


def rename_subpool(fleet: Fleet, old: str, new: str) -> list[SetValues] | Diagnostic:
    """Renames the subpool pool--subpool in every document that names it. Its queue gets a new name too."""
    pool, subpool = fleet.target(old) or (None, None)
    if pool is None or subpool is None:
        return unknown_pool(fleet, old)
    existing_target = fleet.target(f"{pool.name}{names.SEPARATOR}{new}")
    if existing_target is not None:
        location = subpool.declared.at("metadata", "name")
        message = f"pool {pool.name} has a subpool {names.fold(new)} already"
        return Diagnostic(SUBPOOL_UNKNOWN, message, location, hint="Choose another name.")
    where = (fleet.config.queuePrefix, pool.backend.namespace, pool.name)
    queues = {names.leaf_queue(*where, subpool.name): names.leaf_queue(*where, new)}
    renaming = _Renaming(subpool.canonical, f"{pool.name}{names.SEPARATOR}{new}", queues)
    new_name = (subpool.declared, ("metadata", "name"), new)
    return set_in_documents([*_named(fleet.repository, renaming), new_name], subpool.name, new)


def set_in_documents(named_places: Iterable[tuple[Declared[Any], KeyPath, str]], old: str, new: str) -> list[SetValues]:
    """Returns one edit for each document that names the renamed object, with all places in the document."""
    values: dict[tuple[str, int], tuple[Declared[Any], list[tuple[KeyPath, Value, str | None]]]] = {}
    for declared, path, text in named_places:
        _, values_of_document = values.setdefault((declared.origin.path, declared.origin.index), (declared, []))
        values_of_document.append((path, text, None))
    return [
        SetValues(declared.origin, tuple(values_of_document), f"renamed {old} -> {new} in {_shown(declared)}")
        for declared, values_of_document in values.values()
    ]


def _no_pool(fleet: Fleet, name: str, hint: str) -> Diagnostic:
    """Returns the diagnostic for an unknown pool. ``hint`` comes before the command that retires a subpool."""
    _, subpool = fleet.target(name) or (None, None)
    if subpool is None:
        return unknown_pool(fleet, name)
    hint = f"{hint} kubectl tas subpool retire {subpool.pool} {subpool.name}"
    location = subpool.declared.at("metadata", "name")
    return Diagnostic(SUBPOOL_UNKNOWN, f"{subpool.canonical} is a subpool", location, hint=hint)


def remove(fleet: Fleet, name: str) -> list[Edit] | Diagnostic:
    """Removes a pool and its subpools, except for ARCHIVED ones, which stay as a record."""
    pool = fleet.pool_by_name.get(name)
    if pool is None:
        return _no_pool(fleet, name, "Use:")
    if pool.children:
        below = [child.name for child in pool.children]
        message = f"cannot remove pool {name}: it is the parent of {listed(below)}"
        related = tuple(Related(f"pool {child.name}", child.declared.at("spec", "parent")) for child in pool.children)
        hint = "Remove those pools, or give them another parent; then remove this one."
        return Diagnostic(POOL_IN_USE, message, pool.declared.at("metadata", "name"), related[:MAX_NAMED], hint=hint)
    work = _work(fleet, pool)
    if work:
        shown = list(work.items())[:MAX_NAMED]
        message = f"cannot remove pool {name}: work is declared for it: {listed(list(work))}"
        related = tuple(Related(work_name, declared.at()) for work_name, declared in shown)
        hint = "Remove the files of that work, or send it to another pool; then remove this one."
        return Diagnostic(POOL_IN_USE, message, pool.declared.at("metadata", "name"), related, hint=hint)
    gone = [subpool for subpool in pool.subpools if subpool.state != "ARCHIVED"]
    edits: list[Edit] = [RemoveDocument(each.declared.origin, f"removed subpool {each.canonical}") for each in gone]
    return [*edits, RemoveDocument(pool.declared.origin, f"removed pool {name}")]


def in_messages(old: str, new: str) -> Callable[[str], str]:
    """Returns a function that replaces the old name of a pool in a message."""
    name = re.compile(rf"(?<![a-z0-9]){re.escape(old)}(?!-?[a-z0-9])")
    return lambda message: name.sub(new, message)


def _generated(fleet: Fleet, pool: FleetPool, name: str) -> Iterator[str]:
    where = (fleet.config.queuePrefix, pool.backend.namespace, name)
    yield names.pool_queue(*where)
    yield names.pool_topology(*where)
    for leaf_name in (names.SHARED, *(subpool.name for subpool in pool.subpools)):
        yield names.leaf_queue(*where, leaf_name)


def _named(repository: Repository, renaming: _Renaming) -> Iterator[tuple[Declared[Any], KeyPath, str]]:
    """Yields every place that names the pool, with the new value. The pool's own name comes last: after a kill halfway,
    a second run still finds the pool.
    """
    for declared in repository.documents:
        for named_kind, path, name in names_in(declared.origin.data):
            new = renaming.target(name) if named_kind == "pool" else renaming.generated.get(name)
            if new is not None and named_kind in _OF_POOL:
                yield declared, path, new
    for pool in repository.pools:
        new = renaming.target(pool.spec.metadata.name)
        if new is not None:
            yield pool, ("metadata", "name"), new


def _work(fleet: Fleet, pool: FleetPool) -> dict[str, Declared[Any]]:
    work_by_queue = (
        fleet.work_in(pool.name, queue) for queue in (pool.shared_queue, *(subpool.queue for subpool in pool.subpools))
    )
    return {name: declared for queue_work in work_by_queue for name, declared in queue_work.items()}


def _shown(declared: Declared[Any]) -> str:
    data = declared.origin.data
    if "workflow" in data:
        return f"Workflow/{declared.spec.workflow.name}"
    if "metadata" not in data:  # the configuration of Grove's operator
        return str(data["kind"])
    return f"{data['kind']}/{declared.spec.metadata.name}"


def rename_level(fleet: Fleet, topology: FleetTopology, level: Level, new: str) -> list[SetValues]:
    """Renames the key of a level in every document that names it. Node labels stay."""
    named_places = [(declared, path, new) for declared, path in _naming_level(fleet, topology, level.key)]
    key = "domain" if topology.pool is None else "key"
    key_path: KeyPath = (*topology.path, topology.levels.index(level), key)
    return set_in_documents([*named_places, (topology.declared, key_path, new)], level.key, new)


def _naming_level(fleet: Fleet, topology: FleetTopology, key: str) -> Iterator[tuple[Declared[Any], KeyPath]]:
    for submission in fleet.workflows:
        if submission.pool.topology is not None and submission.pool.topology.declared is topology.declared:
            yield from _naming(submission.declared, key)
    for workload in fleet.workloads:
        for requested_level in workload.levels:
            if requested_level.text == key and any(requested_level.level is level for level in topology.levels):
                yield workload.declared, requested_level.path
    for clique_set in fleet.pod_clique_sets:
        if clique_set.topology is not None and clique_set.topology.declared is topology.declared:
            yield from _naming(clique_set.declared, key)


def _naming(declared: Declared[Any], key: str) -> Iterator[tuple[Declared[Any], KeyPath]]:
    names_of_document = names_in(declared.origin.data)
    return ((declared, path) for named_kind, path, name in names_of_document if named_kind == "level" and name == key)
