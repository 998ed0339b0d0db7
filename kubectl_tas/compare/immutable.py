"""Lists by kind the fields that cannot change in an existing object, and the effects of a changed pod template.

Kubernetes' kinds follow release 1.35: ValidateJobSpecUpdate (pkg/apis/batch/validation/validation.go),
ValidateStatefulSetUpdate and ValidateDeploymentUpdate (pkg/apis/apps/validation), ValidatePodUpdate,
ValidatePersistentVolumeClaimUpdate, ValidateServiceUpdate and ValidateConfigMapUpdate (pkg/apis/core/validation). Kinds
of operators follow webhooks or CRD rules: ValidateUpdate of jobset_webhook.go (JobSet 0.12) and of
leaderworkerset_webhook.go (LWS 0.10).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import parse
from kubectl_tas.kinds import SET, kubernetes, page_of_document
from kubectl_tas.kinds.crd_rules import rules_broken_by_update
from kubectl_tas.kinds.page import OF_CRD, SERVER, Effect, Fixed, paths
from kubectl_tas.kinds.section import child, value_at
from kubectl_tas.model.base import KeyPath


@dataclass(frozen=True, slots=True)
class Changed:
    """A changed field in an existing object."""

    row: Fixed
    path: KeyPath
    old: Any
    """Old value; None if absent."""
    new: Any


def _has_own_address(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether a Service names its address and is not of type ExternalName. Without a name the old address stays."""
    types = {value_at(before, "spec", "type"), value_at(after, "spec", "type")}
    return "ExternalName" not in types and value_at(after, "spec", "clusterIP") is not None


def _shrinks(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    old, new = (parse(value_at(document, "spec", "resources", "requests", "storage")) for document in (before, after))
    return old is not None and new is not None and new < old


_GROVE = SET.versions[0].partition("/")[0]
TABLE: dict[tuple[str, str], tuple[Fixed, ...]] = {
    ("", "PersistentVolumeClaim"): (
        Fixed(
            Effect.REFUSED,
            paths("spec"),
            SERVER,
            but=paths("resources.requests", "volumeAttributesClassName", "storageClassName", below="spec"),
            filled={("spec", "volumeMode"): "Filesystem"},
        ),
        Fixed(  # a volume without a class may still get one if the cluster has no default
            Effect.REFUSED,
            paths("spec.storageClassName"),
            SERVER,
            only=lambda before, _after: value_at(before, "spec", "storageClassName") is not None,
        ),
        Fixed(Effect.REFUSED, paths("spec.resources.requests.storage"), SERVER, only=_shrinks),
    ),
    ("resource.nvidia.com", "ComputeDomain"): (
        Fixed(
            Effect.REFUSED,
            paths("spec"),
            SERVER,
            filled={("spec", "numNodes"): 0, ("spec", "channel", "allocationMode"): "Single"},
        ),
    ),
    ("", "Service"): (Fixed(Effect.REFUSED, paths("spec.clusterIP"), SERVER, only=_has_own_address),),
    ("", "ConfigMap"): (
        Fixed(
            Effect.REFUSED,
            paths("data", "binaryData", "immutable"),
            SERVER,
            only=lambda before, _after: value_at(before, "immutable") is True,
        ),
    ),
}
"""Rows of companions by group and kind. Pages have those of workloads. All other fields can change in place."""

DEFAULTS: dict[str, Any] = {
    "dnsPolicy": "ClusterFirst",
    "terminationGracePeriodSeconds": 30,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "protocol": "TCP",
    "enableServiceLinks": True,
}
"""Defaults of the API server, at any depth. Writing a default explicitly changes nothing."""


def changed_fields(
    group: str,
    kind: str,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    operators: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Changed]:
    """Yields each changed field of an object that cannot change, or not without a restart. ``operators``: releases."""
    refused: set[KeyPath] = set()
    page = SET.page if (group, kind) == (_GROVE, SET.kind) else page_of_document(after)
    for row in page.changes if page is not None else TABLE.get((group, kind), ()):
        if row.only is None or row.only(before, after):
            filled = row.filled or {}
            for path in row.paths:
                for changed_path in _differences(before, after, path):
                    values = (value_at(document, *changed_path) for document in (before, after))
                    old, new = (filled.get(changed_path) if value is None else value for value in values)
                    if not any(_covers(x, changed_path) for x in row.but) and not _is_same(changed_path, old, new):
                        refused |= {changed_path} if row.effect is Effect.REFUSED else set()
                        yield Changed(row, changed_path, old, new)
    operator = kubernetes.operator_of(str(after.get("apiVersion")), kind)
    for update in rules_broken_by_update(operator, operators.get(operator), before, after) if operator else ():
        for path in _differences(update.old, update.value, (), update.path):
            if path not in refused:
                refused.add(path)
                old, new = (value_at(value, *path[len(update.path) :]) for value in (update.old, update.value))
                yield Changed(Fixed(Effect.REFUSED, (path,), OF_CRD), path, old, new)


def _differences(old: Any, new: Any, path: KeyPath, done: KeyPath = ()) -> Iterator[KeyPath]:
    """Yields the paths at and below ``path`` where two objects differ."""
    if path and path[0] != "*":
        step = path[0]
        yield from _differences(child(old, step), child(new, step), path[1:], (*done, step))
    elif not _is_same(done, old, new):
        keys = dict.fromkeys((*_keys(old), *_keys(new)))
        for key in keys:
            yield from _differences(child(old, key), child(new, key), path[1:], (*done, key))
        if not keys:
            yield done


def _keys(value: Any) -> Iterator[str | int]:
    if isinstance(value, dict):
        yield from (key for key in value if isinstance(key, str))
    elif isinstance(value, list):
        yield from range(len(value))


def _covers(pattern: KeyPath, path: KeyPath) -> bool:
    """Whether a path matches the pattern, or is below a match."""
    near = zip(pattern, path, strict=False)
    return len(pattern) <= len(path) and all(expected in ("*", step) for expected, step in near)


def _is_same(path: KeyPath, old: Any, new: Any) -> bool:
    """Whether two values mean the same to an API server."""
    if old == new:
        return True
    if any(step in ("limits", "requests") for step in path[-2:-1]):
        return parse(old) == parse(new) is not None
    default = DEFAULTS.get(str(path[-1]))
    return bool(_said(old, default) == _said(new, default))


def _said(value: Any, default: Any) -> Any:
    return default if value is None or value in ({}, []) else value
