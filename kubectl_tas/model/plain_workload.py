"""Builds the models of the kinds that a row of model/podkinds.py describes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import takewhile
from typing import Any, ClassVar, Literal, cast

from pydantic import Field, create_model

from kubectl_tas.late import imported
from kubectl_tas.model.base import Count, KeyPath, Many, Text
from kubectl_tas.model.podkinds import LIST, MAPPING, PLAIN, PodKind, PodPart, path_steps
from kubectl_tas.model.podtemplate import Name, Open, PodSet, PodTemplate, Workload, pod_set


class PlainWorkload(Workload):
    """A workload whose pods a row of model/podkinds.py locates."""

    row: ClassVar[PodKind]
    apiVersion: str
    """API of the workload."""

    @property
    def kind(self) -> Literal["of a row"]:
        """The name of the kind, which differs from that of every kind with a model of its own."""
        return cast(Literal["of a row"], self.row.name)

    @property
    def spec(self) -> Any:
        """The part of the spec that the tool reads."""
        return getattr(self, "x_spec", None)

    def _pod_sets(self) -> Iterator[PodSet]:
        """Yields the pods of each part of the row, in the order of the file."""
        for part in self.row.pods:
            for path, found in _found(self, path_steps(part.path)):
                yield from self._pods(part, path, found)

    @property
    def absent(self) -> Iterator[KeyPath]:
        """The paths at which a pod template of the row is missing, or the first path of the row if the object has no
        pods. A field of the spec itself may be absent.
        """
        is_found = bool(self.pod_sets)
        for part in self.row.pods:
            *above, last = path_steps(part.path)
            for path, found in _found(self, tuple(above)) if len(above) > 1 and last not in (LIST, MAPPING) else ():
                if not isinstance(found, (dict, tuple)) and _below(found, last) is None:
                    is_found = True
                    yield (*path, last)
        if not is_found:
            yield tuple(takewhile(lambda step: step not in (LIST, MAPPING), path_steps(self.row.pods[0].path)))

    def _pods(self, part: PodPart, path: KeyPath, found: Any) -> Iterator[PodSet]:
        template = found if isinstance(found, PodTemplate) else found.template
        if template is None:
            return
        count = next((number for each in part.count.split() if (number := self.number(each, path, -1)) >= 0), 1)
        most = max((self.number(each, path, count) for each in part.most.split()), default=count)
        times = self.number(part.times, path, 1)
        pods = max(count, most, part.at_least) * times
        name, written = (part.name, None) if part.name else self._name(path)
        own = pod_set(name, pods, path, template)
        if not isinstance(found, PodTemplate):
            metadata, spec = (*path, *found.metadata_at), (*path, *found.spec_at)
            own = replace(own, metadata_path=metadata, spec_path=spec, is_pod_spec=False, holders=found.holders)
        yield replace(own, written=written, added=pods - max(count, part.at_least) * times)

    @property
    def least(self) -> list[int]:
        """The number of pods of each part that must start together."""
        found = []
        for part in self.row.pods:
            for path, pods in _found(self, path_steps(part.path)):
                if isinstance(pods, PodTemplate):
                    least = self.number(part.least, path, 0) or self.number(part.count, path, int(part.is_counted))
                    found.append(least if self.row.sub_groups else least * (self.number(part.times) or 1))
        return found

    def number(self, wanted: str, path: KeyPath = (), otherwise: int = 1) -> int:
        """Returns the number at a path of the row, for the list or mapping item at ``path``."""
        found: Any = self
        above: Any = None
        place, _, default = wanted.partition("=")
        for index, step in enumerate(path_steps(place)):
            above, found = found, _below(found, path[index] if step in (LIST, MAPPING) else step)
        if found is None and default and above is not None:
            return int(default)
        return found if wanted and isinstance(found, int) else otherwise

    def _name(self, path: KeyPath) -> tuple[str, Name | None]:
        """Names the pods at ``path`` after the list or mapping item that contains them, else after the key above their
        template.
        """
        found: Any = self
        name, written = "", None
        for index, step in enumerate(path):
            found = _below(found, step)
            where = path[: index + 1]
            given = getattr(found, "x_name", None) if isinstance(step, int) else None
            if isinstance(step, int):
                text = given or f"{path[index - 1]}-{step}"
                name, written = text, Name("part", text, text, (*where, "name")) if given else None
            elif isinstance(_at(self, path[:index]), dict):
                name, written = step, Name("part", step, step, where, is_key=True)
        keys = [str(step) for step in path if step not in ("spec", "template")]
        return (name or (keys[-1] if keys else "pod")), written


def _at(found: Any, path: KeyPath) -> Any:
    for step in path:
        found = _below(found, step)
    return found


def _below(found: Any, step: str | int) -> Any:
    if found is None:
        return None
    if isinstance(found, dict):
        return found.get(str(step))
    if isinstance(found, tuple):
        return found[step] if isinstance(step, int) else None
    return getattr(found, _field(str(step)), None)


def _found(value: Any, steps: tuple[str, ...], path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yields all values at a path of a row, each with its own path."""
    if value is None:
        return
    if not steps:
        yield path, value
    elif steps[0] in (LIST, MAPPING):
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple) else ()
        for key, item in items:
            yield from _found(item, steps[1:], (*path, key))
    else:
        yield from _found(_below(value, steps[0]), steps[1:], (*path, steps[0]))


def _field(key: str) -> str:
    """Returns the attribute for a key. Not every key is a valid name, and some names belong to pydantic."""
    return "x_" + key.replace("-", "_")


class _Node:
    """A node in the tree of the fields that a row reads from an object, with the type of the value there."""

    def __init__(self) -> None:
        self.parts: dict[str, _Node] = {}
        self.type: Any = None

    def at(self, path: str) -> _Node:
        """Returns the node at a path, and adds it if missing. Each item of a list may have a name."""
        node = self
        for step in path_steps(path.partition("=")[0]):
            if step == LIST:
                node.parts.setdefault(step, _Node()).parts.setdefault("name", _NAME)
            node = node.parts.setdefault(step, _Node())
        return node

    def made(self, name: str) -> Any:
        """Returns the type of the value at this node. A class for a node with fields is called ``name``."""
        if LIST in self.parts:
            return Many[self.parts[LIST].made(name)]  # type: ignore[misc]
        if MAPPING in self.parts:
            return dict[Text, self.parts[MAPPING].made(name)]  # type: ignore[misc]
        if not self.parts:
            return self.type
        fields = {_field(key): part.field(key, name) for key, part in self.parts.items()}
        return create_model(name, __base__=self.type or Open, __module__=__name__, **fields)

    def field(self, key: str, owner: str) -> Any:
        """Returns the type and the settings of an optional field for this node."""
        about = {"name": "The name.", "spec": "The specification."}.get(
            key, "The number." if self.type is Count else "kubectl-tas reads the pods from it."
        )
        return self.made(f"{owner}{key[:1].upper()}{key[1:]}") | None, Field(None, alias=key, description=about)


_NAME = _Node()
_NAME.type = Text


@cache
def model_of(row: PodKind) -> type[PlainWorkload]:
    """Returns the model of the kind that a row describes."""
    root = _Node()
    for part in row.pods:
        root.at(part.path).type = imported(f"kubectl_tas.model.{part.form}")
        for path in filter(None, (*part.count.split(), *part.most.split(), part.times, part.least)):
            root.at(path).type = Count
    if isinstance(row.minimum, str) and row.minimum not in ("all", "least"):
        root.at(row.minimum).type = Count
    fields = {_field(key): part.field(key, row.model_name) for key, part in root.parts.items()}
    fields |= {
        "apiVersion": (Literal[row.versions], Field(description="The API version.")),
        "x_kind": (Literal[row.kind], Field(alias="kind", description="The kind.")),
    }
    found: type[PlainWorkload] = create_model(row.model_name, __base__=PlainWorkload, __module__=__name__, **fields)
    found.row = row
    return found


def __getattr__(name: str) -> type[PlainWorkload]:
    """Returns the model whose class has this name."""
    row = next((item for item in PLAIN if item.model_name == name), None)
    if row is None:
        raise AttributeError(name)
    return model_of(row)
