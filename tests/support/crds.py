"""Validates objects as a strict API server does, with KAI's CustomResourceDefinitions. They are read from a folder
beside the repository and never copied into it.

Follows apiserver's strict field validation: fields outside of the schema are refused at every level, and
``x-kubernetes-validations`` are evaluated as CEL. ``tests/support/webhooks.py`` has the demands of KAI's webhooks.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import celpy
import pytest
from celpy.adapter import json_to_cel
from jsonschema import Draft202012Validator
from jsonschema.validators import extend

from kubectl_tas.facts import kai
from tests.support.golden import ROOT
from tests.support.pyyaml import safe_load

CRDS = ROOT.parent / "shared/crds"
FOLDERS = {
    (0, 2): "v0.10.5",
    (0, 9): "v0.10.5",
    (0, 10): "v0.10.5",
    (0, 12): "v0.12.23",
    (0, 13): "v0.13.4",
    (0, 15): "v0.15.3",
    (0, 17): "v0.17.0",
}
"""The release whose CRDs are used for each row of the version table. LACKING adapts them for rows before 0.10."""
LACKING: dict[tuple[int, int], tuple[tuple[str, ...], ...]] = {
    (0, 9): (
        ("PodGroup", "spec", "preemptibility"),
        ("PodGroup", "spec", "subGroups", "parent"),
        ("PodGroup", "spec", "subGroups", "topologyConstraint"),
    ),
    (0, 2): (
        ("PodGroup", "spec", "preemptibility"),
        ("PodGroup", "spec", "topologyConstraint"),
        ("PodGroup", "spec", "subGroups"),
        ("Topology",),
    ),
}
"""Fields or kinds in the CRDs of 0.10 that older rows lack."""
CORE = {
    ("v1", "Namespace"): "Cluster",
    ("v1", "ConfigMap"): "Namespaced",
    ("v1", "Service"): "Namespaced",
    ("v1", "Pod"): "Namespaced",
    ("batch/v1", "Job"): "Namespaced",
    ("scheduling.k8s.io/v1", "PriorityClass"): "Cluster",
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): "Cluster",
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"): "Cluster",
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): "Cluster",
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): "Cluster",
    ("rbac.authorization.k8s.io/v1", "Role"): "Namespaced",
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): "Namespaced",
}
"""Kinds that every Kubernetes cluster has. Only their metadata is checked here."""

_KEYWORDS = frozenset(
    {
        *("additionalProperties", "anyOf", "description", "enum", "format", "items", "maxItems", "maxLength"),
        *("minItems", "minLength", "minimum", "pattern", "properties", "required", "type"),
        *("x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-validations"),
    }
)
"""Keywords that this validator understands or may ignore. Any other keyword in a CRD fails the test."""
_INT32 = 2**31 - 1
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME_PART = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_QUALIFIED = rf"^(?![^/]{{254}})({_LABEL}(\.{_LABEL})*/)?{_NAME_PART}\Z"
_OBJECT_META: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "maxLength": 253, "pattern": rf"^{_LABEL}(\.{_LABEL})*\Z"},
        "namespace": {"type": "string", "maxLength": 63, "pattern": rf"^{_LABEL}\Z"},
        "labels": {
            "type": "object",
            "propertyNames": {"pattern": _QUALIFIED},
            "additionalProperties": {
                "type": "string",
                "pattern": rf"^({_NAME_PART})?\Z",
            },
        },
        "annotations": {
            "type": "object",
            "propertyNames": {"pattern": _QUALIFIED},
            "additionalProperties": {"type": "string"},
        },
    },
    "additionalProperties": False,
}
"""Fields of ObjectMeta that people and this tool write. The server fills in the others."""

Schema = dict[str, Any]


@dataclass(frozen=True)
class Crd:
    """One kind that a server serves."""

    scope: str
    versions: dict[str, Schema]
    """Structural schemas of the served versions, by apiVersion."""


@dataclass(frozen=True)
class Server:
    """The kinds that one KAI release installs."""

    crds: dict[str, Crd]
    """CRDs by kind."""

    def violations(self, manifest: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
        """Returns why the object is refused, each as ``path: reason``; nothing if it is accepted.
        ``old`` is the object that it replaces. Transition rules apply only to updates.
        """
        api_version, kind = manifest.get("apiVersion"), manifest.get("kind")
        if (api_version, kind) in CORE:
            return list(_metadata(manifest, CORE[api_version, kind]))
        crd = self.crds.get(str(kind))
        if crd is None or api_version not in crd.versions:
            return [f"no kind {kind} in {api_version}"]
        schema = crd.versions[api_version]
        found = [_reason(error) for error in sorted(_validator(schema).iter_errors(manifest), key=str)]
        # Like a server: rules may assume the structure, so they run only where it holds.
        found = found or list(_rules(schema, manifest, old, ""))
        return [*_metadata(manifest, crd.scope), *found]


def server(version: str) -> Server:
    """Returns the server with KAI ``version``, for example ``0.17``. Skips the test without CRDs."""
    if not CRDS.is_dir():
        pytest.skip(f"no CRDs of KAI in {CRDS}")
    return _server(_since(version))


def folder_of(version: str) -> str:
    """Returns the folder of the CRDs that are used for KAI ``version``."""
    return FOLDERS[_since(version)]


def _since(version: str) -> tuple[int, int]:
    """Returns the first release in the row of the version table that contains ``version``."""
    release = kai.release(version)
    assert release is not None, f"not in the version table: {version}"
    return max(row.since for row in kai.TABLE if row.since <= release.patch[:2])


@cache
def _server(since: tuple[int, int]) -> Server:
    crds = {}
    for path in sorted((CRDS / FOLDERS[since]).glob("*.yaml")):
        definition = safe_load(path.read_text())["spec"]
        kind, group = definition["names"]["kind"], definition["group"]
        if (kind,) in LACKING.get(since, ()):
            continue
        served = {
            f"{group}/{version['name']}": version["schema"]["openAPIV3Schema"]
            for version in definition["versions"]
            if version["served"]
        }
        for schema in served.values():
            for _, *path_to_field in (lacking for lacking in LACKING.get(since, ()) if lacking[0] == kind):
                _remove(schema, path_to_field)
        crds[kind] = Crd(definition["scope"], {name: _strict(schema) for name, schema in served.items()})
    assert crds, f"no CRDs in {CRDS / FOLDERS[since]}"
    return Server(crds)


def _remove(schema: Schema, path: list[str]) -> None:
    """Removes a field from a schema. The path passes through lists."""
    *above, field = path
    for step in above:
        schema = schema["properties"][step]
        schema = schema.get("items", schema)
    del schema["properties"][field]


def _strict(schema: Schema) -> Schema:
    """Returns the schema of a whole object as JSON Schema, without its metadata, which is checked separately."""
    schema = _closed(schema)
    schema["properties"] |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {}}
    schema["required"] = sorted({*schema.get("required", ()), "apiVersion", "kind"})
    return schema


def _closed(schema: Schema) -> Schema:
    """Returns a structural schema as JSON Schema that refuses unknown fields."""
    unknown = schema.keys() - _KEYWORDS
    assert not unknown, f"this validator does not know {sorted(unknown)}"
    closed = copy.copy(schema)
    if "properties" in schema:
        closed["properties"] = {name: _closed(part) for name, part in schema["properties"].items()}
        closed.setdefault("additionalProperties", False)
    elif isinstance(schema.get("additionalProperties"), dict):
        closed["additionalProperties"] = _closed(schema["additionalProperties"])
    elif schema.get("type") == "object":
        closed["additionalProperties"] = False
    if "items" in schema:
        closed["items"] = _closed(schema["items"])
    if "pattern" in schema:
        closed["pattern"] = _to_end(schema["pattern"])
    if schema.get("format") == "int32":
        closed = {"minimum": -_INT32 - 1, "maximum": _INT32, **closed}
    return closed


def _to_end(pattern: str) -> str:
    """Replaces a final ``$``: in Go it is the end of the text, in Python a line break may follow."""
    return re.sub(r"\$$", r"\\Z", pattern)


def _validator(schema: Schema) -> Any:
    """Returns a validator that accepts neither 4.0 nor true as an integer."""
    checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    return extend(Draft202012Validator, type_checker=checker)(schema)


def _reason(error: Any) -> str:
    return f"{error.json_path.removeprefix('$').removeprefix('.') or 'object'}: {error.message}"


def _metadata(manifest: dict[str, Any], scope: str) -> Iterator[str]:
    """Yields errors in ObjectMeta that every server reports."""
    metadata = manifest.get("metadata")
    for error in _validator(_OBJECT_META).iter_errors(metadata):
        yield f"metadata{error.json_path.removeprefix('$')}: {error.message}"
    if isinstance(metadata, dict):
        if scope == "Cluster" and "namespace" in metadata:
            yield "metadata.namespace: the kind is cluster-scoped"
        if scope == "Namespaced" and "namespace" not in metadata:
            yield "metadata.namespace: the kind is namespaced"


def _rules(schema: Schema, value: Any, old: Any, path: str) -> Iterator[str]:
    """Yields the violated ``x-kubernetes-validations`` of a schema and of all schemas below it.
    Elements of a list have no old value, since the lists of these CRDs are atomic.
    """
    for rule in schema.get("x-kubernetes-validations", ()):
        is_transition = re.search(r"\boldSelf\b", rule["rule"]) is not None
        if is_transition and old is None:
            continue
        holds = _program(rule["rule"]).evaluate({"self": json_to_cel(value), "oldSelf": json_to_cel(old)})
        if not holds:
            yield f"{path or 'object'}: {rule.get('message', rule['rule'])}"
    if isinstance(value, dict):
        for name, part in value.items():
            below = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
            if isinstance(below, dict):
                before = old.get(name) if isinstance(old, dict) else None
                yield from _rules(below, part, before, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _rules(schema.get("items", {}), part, None, f"{path}[{index}]")


@cache
def _program(rule: str) -> Any:
    environment = celpy.Environment()
    return environment.program(environment.compile(rule))
