"""Workloads in; the same text with what their pool demands added out. Nothing that the user wrote is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubectl_tas.compile.metadata import folder
from kubectl_tas.compile.podgroups import WORKLOADS
from kubectl_tas.gangs.demands import Demand, Mode, changes, demands, member_demands
from kubectl_tas.load.alike import reads_alike
from kubectl_tas.load.splice import FIRST, Appended, Change, Entry, Renamed, extended, with_values, without_aliases
from kubectl_tas.model.artifact import Artifact, PassThrough, Phase
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.manifest import Metadata
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.yaml import block

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
"""What a new key is put behind; at the end of its mapping otherwise."""


def compile_workloads(fleet: Fleet) -> Iterator[Artifact]:
    """Every workload of the fleet."""
    for workload in fleet.workloads:
        backend, spec = workload.pool.backend, workload.declared.spec
        manifest = PassThrough(
            apiVersion=spec.apiVersion,
            kind=spec.kind,
            metadata=Metadata(name=workload.name, namespace=workload.namespace),
            target=workload.target,
            text=with_demands(workload.declared.origin, demands(fleet, workload)),
        )
        source = workload.declared.origin.path
        where = folder(WORKLOADS, backend, workload.namespace)
        yield Artifact(backend.name, Phase.POD, where, names.file(workload.file_name), manifest, source)


def compile_members(fleet: Fleet) -> Iterator[Artifact]:
    """The Pods that join PodGroups which are written by hand."""
    for group in fleet.pod_groups:
        for pod in group.pods:
            manifest = PassThrough(
                apiVersion=pod.spec.apiVersion,
                kind=pod.spec.kind,
                metadata=Metadata(name=pod.spec.metadata.name, namespace=group.namespace),
                target=group.pool.name if group.pool else None,
                text=with_demands(pod.origin, member_demands(fleet, group, pod.origin)),
            )
            file = names.file(f"pod-{pod.spec.metadata.name}")
            where = folder(WORKLOADS, group.backend, group.namespace)
            yield Artifact(group.backend.name, Phase.POD, where, file, manifest, pod.origin.path)


def with_demands(origin: Origin, wanted: Sequence[Demand], further: Sequence[Entry] = ()) -> str:
    """The text of a document in which ``wanted`` holds, after which ``further`` entries are changed.

    It is the author's own with lines added, where all readers of YAML take that for the data that was checked. Else,
    and where it was written as JSON, that data is written anew, without comments. Expects that nothing there
    contradicts the demands, and that no alias stands in the way (check.workload); raises TasError otherwise.
    """
    made: set[KeyPath] = set()
    needed = [demand for demand in wanted if changes(origin, demand)]
    entries = [_entry(origin, demand, made) for demand in needed if demand.mode is not Mode.REMOVE]
    entries += _removals(origin, [demand.path for demand in needed if demand.mode is Mode.REMOVE], made)
    entries += further
    if not origin.path.endswith(".json"):
        text = origin.text.replace("\r\n", "\n")
        edited = with_values(text, origin.data, entries) if reads_alike(text) else None
        if edited is not None:
            return edited
    return block(_merged(origin.data, entries))


def _entry(origin: Origin, demand: Demand, made: set[KeyPath]) -> Entry:
    """The value, and the place of the first part of its path that is neither written nor ``made`` before."""
    parts = [demand.path[: depth + 1] for depth in range(len(demand.path))]
    missing = [part for part in parts if part not in made and origin.value(part) is None]
    made.update(missing)
    value: Change = demand.value if isinstance(demand.value, (str, int)) else Appended(demand.value)
    return demand.path, value, _PLACES.get(str(missing[0][-1])) if missing else None


def _removals(origin: Origin, paths: Sequence[KeyPath], made: set[KeyPath]) -> list[Entry]:
    """What is taken out; a mapping of which nothing is left goes as a whole."""
    left: dict[KeyPath, set[str]] = {}
    for path in paths:
        written = origin.value(path[:-1])
        left.setdefault(path[:-1], set(written) if isinstance(written, dict) else set()).discard(str(path[-1]))
    empty = {place for place, keys in left.items() if not keys and not any(part[:-1] == place for part in made)}
    return [(path, None, None) for path in dict.fromkeys(path[:-1] if path[:-1] in empty else path for path in paths)]


def _merged(data: Any, entries: Sequence[Entry]) -> Any:
    """The data with the entries in it."""
    merged = without_aliases(data)
    for path, value, after in entries:
        target = merged
        for step in path[:-1]:
            if isinstance(target, dict) and target.get(step) is None:
                _put(target, step, {}, _PLACES.get(str(step)))
            target = target[step]
        if isinstance(value, Renamed):
            _put(target, value.key, value.value, path[-1])
        if value is None or isinstance(value, Renamed):
            del target[path[-1]]
        else:
            new = extended(target.get(path[-1]), value) if isinstance(value, Appended) else value
            _put(target, path[-1], new, after)
    return merged


def _put(mapping: dict[KeyPath | str | int, Any], key: str | int, value: object, after: str | int | None) -> None:
    """Adds a key behind ``after``, before all others where that is FIRST, else at the end."""
    mapping[key] = value
    if after is None:
        return
    names = [name for name in mapping if name != key]
    place = 0 if after == FIRST else names.index(after) + 1 if after in names else len(names)
    names.insert(place, key)
    for name in names:
        mapping[name] = mapping.pop(name)
