"""Workloads are read as strictly as an API server reads them: fields that nobody knows, values of another type than
their field's, and fields that must be there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from kubectl_tas import kubernetes, quantities
from kubectl_tas.check import combinations, objectfields
from kubectl_tas.check.conflicts import Fields
from kubectl_tas.diagnostics import Diagnostic, Rule, Severity, Waiving
from kubectl_tas.kubernetes import Bound, Shape, Shapes
from kubectl_tas.load.schema import (
    UNKNOWN_FIELD,
    invalid_value,
    missing_field,
    unknown_field,
    written,
    wrong_type,
)
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.operators import BOUNDS, REQUIRED, TYPES
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.words import did_you_mean

KUBERNETES_VERSION = Rule(
    "kubernetes-version",
    Severity.WARNING,
    "The fields of a backend's Kubernetes release are not known.",
    "Workloads are checked by the fields of the nearest release that is known: one that the cluster does not have may "
    "pass, and a new one is refused. Update kubectl-tas, or the package kubernetes-validate beside it.",
)

OPERATOR_FIELD = Rule(
    "operator-field",
    Severity.ERROR,
    "A field of an operator's kind is one that no known release of the operator has.",
    "An API server refuses it, or drops it without a word. Correct its spelling or its indentation; where a newer "
    "release of the operator has it, waive the rule.",
    protects=Waiving.ANYBODY,
)

COMBINATIONS = {**combinations.COMBINATIONS, **objectfields.COMBINATIONS}
_SPEAKS = {
    "EnvVar": frozenset({"valueFrom"}),
    "VolumeMount": frozenset({"mountPropagation", "recursiveReadOnly", "subPath"}),
}
"""Types without anything to say of mappings that have none of these fields; there are many of them."""
_SET = ("apiVersion", "kind", "metadata", "spec", "status")
"""Fields of a PodCliqueSet."""


def check_fields(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every workload, by the release of its backend; without a pool by the newest that is known."""
    releases = {
        id(item.declared): item.pool.backend.spec.kubernetes for item in fleet.workloads if item.pool is not None
    }
    for declared in fleet.repository.workloads:
        shape = shape_of(declared.spec.apiVersion, declared.spec.kind, kubernetes.nearest(releases.get(id(declared))))
        yield from _below(declared.origin, (), declared.origin.data, shape)
    clusters = {id(item.declared): item.backend.spec.kubernetes for item in fleet.companions}
    for companion in fleet.repository.companions:
        origin, shapes = companion.origin, _shapes(kubernetes.nearest(clusters.get(id(companion))))
        yield from _below(origin, ("metadata",), origin.value(("metadata",)), shapes.named("ObjectMeta"))
        shape = shapes.named(kubernetes.definition(companion.spec.apiVersion, companion.spec.kind))
        found = _below(origin, (), {**origin.data, "metadata": {}}, shape)
        yield from found
    for group in fleet.repository.pod_groups:
        yield from COMBINATIONS["ObjectMeta"](Fields(group.origin, ("metadata",), group.origin.data["metadata"]))
    sets = {id(item.declared): item.backend for item in fleet.pod_clique_sets}
    for item in fleet.repository.pod_clique_sets:
        backend = sets.get(id(item))
        shapes = _shapes(kubernetes.nearest(backend.spec.kubernetes if backend else None), is_custom=True)
        yield from _below(item.origin, ("metadata",), item.origin.value(("metadata",)), shapes.named("ObjectMeta"))
        yield from (unknown_field(item.origin, (), key, _SET) for key in item.origin.data if key not in _SET)
        shape = shapes.named("PodSpec")
        for index in range(len(item.spec.spec.template.cliques)):
            path: KeyPath = ("spec", "template", "cliques", index, "spec", "podSpec")
            yield from _below(item.origin, path, item.origin.value(path), shape)


def check_pod(origin: Origin, release: str | None) -> Iterator[Diagnostic]:
    """A Pod that is made here, by the Kubernetes release that it is for."""
    yield from _below(origin, ("spec",), origin.value(("spec",)), _shapes(kubernetes.nearest(release)).named("PodSpec"))


def shape_of(api_version: str, kind: str, release: int) -> Shape:
    """What a kind of workload has in a release; any other kind may have anything."""
    versioned = f"{api_version} {kind}"
    name = versioned if versioned in TYPES else kind
    return _shapes(release, is_custom=name in TYPES).named(name)


@cache
def _shapes(release: int, *, is_custom: bool = False) -> Shapes:
    """The types of a release; ``is_custom``: as a CRD has them."""
    quantity = quantities.refused_by_crds if is_custom else quantities.refused
    return Shapes(kubernetes.definitions(release), TYPES, {**BOUNDS, **objectfields.BOUNDS}, REQUIRED, quantity)


def _below(origin: Origin, path: KeyPath, value: Any, shape: Shape) -> Iterator[Diagnostic]:
    """What is wrong with a value and with all below it. Empty values are as if they were absent."""
    if type(value) is dict and shape.fields is not None:
        fields = shape.fields
        for key, part in value.items():
            field = fields.get(key)
            if field is None:
                found = unknown_field(origin, path, key, tuple(fields), otherwise=_elsewhere(key, path, fields))
                yield replace(found, rule=OPERATOR_FIELD) if shape.is_foreign else found
            elif type(part) in (dict, list) or (part is not None and field.accepts and type(part) not in field.accepts):
                yield from _below(origin, (*path, key), part, field)
            elif field.bound is not None and part is not None:
                yield from _refused(origin, (*path, key), part, field.bound)
        for key in shape.required:
            if value.get(key) is None:
                found = missing_field(origin, path, key, {}, tuple(fields))
                is_slip = shape.is_foreign and found.rule is UNKNOWN_FIELD
                yield replace(found, rule=OPERATOR_FIELD) if is_slip else found
        if shape.name in COMBINATIONS and not (shape.name in _SPEAKS and _SPEAKS[shape.name].isdisjoint(value)):
            yield from COMBINATIONS[shape.name](Fields(origin, path, value))
    elif shape.accepts and value is not None and type(value) not in shape.accepts:
        yield wrong_type(origin, path, value, shape.types, {})
    elif shape.items is not None and isinstance(value, (dict, list)):
        for step, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _below(origin, (*path, step), part, shape.items)
    elif shape.bound is not None and value is not None:
        yield from _refused(origin, path, value, shape.bound)


def _refused(origin: Origin, path: KeyPath, value: Any, bound: Bound) -> Iterator[Diagnostic]:
    """A value that its field does not take."""
    if isinstance(bound, tuple):
        if value not in bound:
            words = [word for word in bound if word]
            hint = did_you_mean(str(value), words, folds=True)
            yield invalid_value(origin, path, f"must be one of {', '.join(words)}", value, hint)
    elif isinstance(bound, range):
        if value not in bound:
            end, how, which = (bound[0], "least", "more") if value < bound[0] else (bound[-1], "most", "less")
            yield invalid_value(origin, path, f"must be at {how} {end}", value, f"Use {end} or {which}.")
    elif (found := bound(value)) is not None:
        yield invalid_value(origin, path, found[0], value, found[1])


def _elsewhere(key: str, path: KeyPath, fields: dict[str, Shape]) -> str:
    """Where a field belongs that lost its indentation: a field beside it may have it."""
    owner = next((name for name, shape in fields.items() if key in (shape.fields or ())), None)
    return "" if owner is None else f"It is a field of {owner}: write it below {written((*path, owner))}."


def check_kubernetes(fleet: Fleet) -> Iterator[Diagnostic]:
    """The Kubernetes releases that the Config names."""
    config = fleet.repository.config
    for backend in fleet.backends:
        version = backend.spec.kubernetes
        if config is None or version is None:
            continue
        used = kubernetes.nearest(version)
        if used != kubernetes.minor(version):
            known = kubernetes.releases()
            message = f"the fields of Kubernetes {version} are not known, those of 1.{known[0]} to 1.{known[-1]} are"
            place = config.at("spec", "backends", backend.index, "kubernetes")
            hint = f"Workloads are checked by the fields of 1.{used}."
            yield Diagnostic(KUBERNETES_VERSION, message, place, hint=hint)
