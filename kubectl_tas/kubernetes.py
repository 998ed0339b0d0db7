"""The fields of Kubernetes' own kinds, by release: the published schemas that the package kubernetes-validate carries
as data. None of its code runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kubectl_tas.errors import TasError
from kubectl_tas.yaml import LargeNumber

PATTERN = r"^v?1\.[0-9]+(\.[0-9]+)?$"
"""How a release is written: ``1.33``, ``1.33.2`` or ``v1.33.2``."""
_PYTHON: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float, LargeNumber),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_GROUPS = (
    "io.k8s.api.core.v1.",
    "io.k8s.apimachinery.pkg.apis.meta.v1.",
    "io.k8s.apimachinery.pkg.api.resource.",
    "io.k8s.apimachinery.pkg.util.intstr.",
    "io.k8s.api.batch.v1.",
    "io.k8s.api.apps.v1.",
    "io.k8s.api.autoscaling.v2.",
    "io.k8s.api.networking.v1.",
)
"""Where a type is looked for that is named without its group."""
_MAY_BE_ABSENT = {
    "StatefulSetSpec": {"serviceName"},
    "PodFailurePolicyOnPodConditionsPattern": {"status"},
    "HTTPHeader": {"value"},
    "Sysctl": {"value"},
}
"""Fields that the schemas of some releases demand and no API server does."""


def definition(api_version: str, kind: str) -> str:
    """The name in the schemas of a kind of Kubernetes' own; of any other kind a name that they do not have."""
    group, _, version = api_version.rpartition("/")
    return f"io.k8s.api.{group.partition('.')[0] or 'core'}.{version}.{kind}"


class Shape:
    """What a field may hold; what is below it is made when it is first asked for."""

    def __init__(self, schema: Mapping[str, Any], name: str, shapes: Shapes) -> None:
        self._schema = schema
        self._shapes = shapes
        branches = schema.get("oneOf", (schema,))
        found = [branch["type"] for branch in branches if "type" in branch]
        words = [word for item in found for word in ([item] if isinstance(item, str) else item) if word != "null"]
        self.types = tuple(dict.fromkeys(words))
        """JSON Schema's names of the types; none: anything."""
        self.accepts = tuple(python for word in self.types for python in _PYTHON[word])
        """Python's types of such values."""
        absent = _MAY_BE_ABSENT.get(name.rpartition(".")[2], set())
        self.is_foreign = name in shapes.more
        """Whether it is a type of a kind that Kubernetes does not have itself."""
        self.required = tuple(field for field in schema.get("required", ()) if field not in absent)
        """Fields that must be there."""

    @cached_property
    def fields(self) -> dict[str, Shape] | None:
        """The fields of a mapping, by name; None where it may have any, or is none."""
        written = self._schema.get("properties")
        return None if written is None else {name: self._shapes.of(part) for name, part in written.items()}

    @cached_property
    def items(self) -> Shape | None:
        """Each item of a list, or each value of a mapping with any keys; None where they may be anything."""
        part = self._schema.get("items", self._schema.get("additionalProperties"))
        return self._shapes.of(part) if isinstance(part, dict) else None


class Shapes:
    """All types of a release, and those of ``more``: types of kinds that Kubernetes does not have itself, each with
    its fields, as in Go: ``string``, ``[]EnvVar``, ``{}string`` for a mapping.
    """

    def __init__(self, definitions: Mapping[str, Any], more: Mapping[str, Mapping[str, str]]) -> None:
        self._definitions = definitions
        self.more = more
        self._named: dict[str, Shape] = {}

    def named(self, name: str) -> Shape:
        """The type of a name; one that the release does not have may be anything."""
        if name not in self._named:
            self._named[name] = Shape(self._schema(name), name, self)
        return self._named[name]

    def of(self, schema: Mapping[str, Any]) -> Shape:
        """The shape that a schema describes."""
        reference = schema.get("$ref")
        return Shape(schema, "", self) if reference is None else self.named(reference.rpartition("/")[2])

    def _schema(self, name: str) -> Mapping[str, Any]:
        if name in self.more:
            return {"type": "object", "properties": {key: _written(text) for key, text in self.more[name].items()}}
        found = next((group for group in _GROUPS if group + name in self._definitions), "")
        schema: Mapping[str, Any] = self._definitions.get(found + name, {})
        return schema


def _written(text: str) -> dict[str, Any]:
    """The schema of a type that is written as in Go."""
    if text.startswith("[]"):
        return {"type": "array", "items": _written(text[2:])}
    if text.startswith("{}"):
        return {"type": "object", "additionalProperties": _written(text[2:])}
    if text == "any":
        return {}
    return {"type": text} if text in _PYTHON else {"$ref": text}


@cache
def releases() -> tuple[int, ...]:
    """The minor versions of the releases 1.x whose fields are known, oldest first. Raises TasError where the package
    that carries them is missing.
    """
    names = (path.name for path in _folder().glob("v1.*-local"))
    return tuple(sorted(int(name.split(".")[1]) for name in names))


def nearest(version: str | None) -> int:
    """The minor version of the known release that stands for ``version`` (``1.33``); the newest for None."""
    known = releases()
    return known[-1] if version is None else min(max(minor(version), known[0]), known[-1])


def minor(version: str) -> int:
    """The minor version of ``1.33`` or ``v1.33.2``."""
    return int(version.split(".")[1])


@cache
def definitions(release: int) -> Mapping[str, Any]:
    """The schemas of all types of a release, by name. Raises TasError where they cannot be read."""
    path = _folder() / f"v1.{release}.0-local" / "_definitions.json"
    try:
        return json.loads(path.read_bytes())["$defs"]  # type: ignore[no-any-return]
    except (OSError, ValueError, KeyError) as error:
        raise TasError(
            f"cannot read Kubernetes' schemas in {path}: {error}; install kubernetes-validate anew"
        ) from error


def _folder() -> Path:
    found = find_spec("kubernetes_validate")
    places = list(found.submodule_search_locations or ()) if found else []
    if not places:
        raise TasError("the package kubernetes-validate is missing, which has Kubernetes' schemas; install it with pip")
    return Path(places[0]) / "kubernetes-json-schema"
