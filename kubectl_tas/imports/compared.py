"""What files render, and what the cluster has that they were made from: what is the same, changes, or is new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kubectl_tas.errors import TasError
from kubectl_tas.imports.cluster import DEFAULT_PRIORITY
from kubectl_tas.live.kubectl import shown
from kubectl_tas.live.record import Record
from kubectl_tas.records import dataclass

if TYPE_CHECKING:
    from kubectl_tas.model.artifact import Artifact

COMPARED = ("Queue", "Topology", "PriorityClass")
_ABOUT = ("apiVersion", "kind", "metadata")
_READ_AS = {"priority": DEFAULT_PRIORITY, "quota": 0, "limit": 0, "overQuotaWeight": 0}
"""What KAI takes for fields of a Queue that are left out."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that would be another one."""

    path: str
    before: str
    after: str
    is_same: bool
    """Whether KAI reads both alike."""


@dataclass(frozen=True, slots=True)
class Compared:
    """An object that is rendered."""

    kind: str
    name: str
    differences: tuple[Difference, ...] | None
    """None: the cluster does not have it."""


def compared(artifacts: Iterable[Artifact], record: Record) -> list[Compared]:
    """Each object that is applied, in the order of application. Labels and annotations that the cluster has stay, and
    those that the tool adds are no difference; one that it gives another value is.
    """
    own = (item for item in record.objects if item["kind"] in COMPARED)
    live = {(str(item["kind"]), str(item["metadata"]["name"])): item for item in own}
    found = []
    for artifact in artifacts:
        manifest = artifact.manifest.model_dump(mode="json", exclude_none=True, by_alias=True)
        kind, name = str(manifest["kind"]), str(manifest["metadata"]["name"])
        if artifact.apply and kind in COMPARED:
            there = live.get((kind, name))
            found.append(Compared(kind, name, None if there is None else tuple(_differences(there, manifest))))
    return found


def _differences(live: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[Difference]:
    if live.get("apiVersion") != manifest["apiVersion"]:
        yield Difference("apiVersion", shown(live.get("apiVersion")), shown(manifest["apiVersion"]), is_same=False)
    for field in ("labels", "annotations"):
        there = live["metadata"].get(field) or {}
        if not isinstance(there, dict):
            message = f"the {live['kind']} {manifest['metadata']['name']} of the cluster cannot be read"
            hint = "It must be what `kubectl get ... -o json` prints."
            raise TasError(f"{message}: its {field} are {shown(there)}", hint=hint)
        for key, value in manifest["metadata"].get(field, {}).items():
            if there.get(key, value) != value:
                yield Difference(f"metadata.{field}[{key}]", shown(there[key]), shown(value), is_same=False)
    for field, value in manifest.items():
        if field not in _ABOUT:
            yield from _between(field, live.get(field), value)


def _between(path: str, before: Any, after: Any) -> Iterator[Difference]:
    """What an object says otherwise at a path. What only the cluster has stays there, and is no difference."""
    if isinstance(after, dict) and isinstance(before, dict | None):
        for key, value in after.items():
            yield from _between(f"{path}.{key}", (before or {}).get(key), value)
    elif isinstance(after, list) and isinstance(before, list) and len(after) == len(before):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _between(f"{path}[{index}]", old, new)
    elif before != after:
        read = _READ_AS.get(path.rpartition(".")[2]) if before is None else before
        yield Difference(path, "not there" if before is None else _text(before), _text(after), is_same=read == after)


def _text(value: object) -> str:
    return f"{len(value)} items" if isinstance(value, list) else shown(value)
