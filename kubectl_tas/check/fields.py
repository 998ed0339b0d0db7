"""Checks the fields of workloads as strictly as an API server: unknown fields, values of a wrong type, and missing
fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule, Severity, Waiving
from kubectl_tas.base.words import did_you_mean
from kubectl_tas.check import combinations, objectfields
from kubectl_tas.check.conflicts import Fields
from kubectl_tas.check.operator_refusals import refused, refused_by_crd
from kubectl_tas.facts import spellings
from kubectl_tas.kinds import kubernetes
from kubectl_tas.kinds.kubernetes import Bound, OperatorShapes, Shape, Shapes
from kubectl_tas.kinds.section import written
from kubectl_tas.load.schema import (
    INVALID_VALUE,
    UNKNOWN_FIELD,
    invalid_value,
    missing_field,
    unknown_field,
    wrong_type,
)
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared, Origin
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import CliqueSet
    from kubectl_tas.model.manifest import PodGroup
    from kubectl_tas.model.podtemplate import Companion
    from kubectl_tas.model.workloads import Workload

KUBERNETES_VERSION = Rule.warning(
    "kubernetes-version",
    "The fields of a release of Kubernetes or an operator are unknown.",
    "kubectl-tas checks workloads by the fields of the nearest known release. So a field that the cluster lacks may "
    "pass, and a new one is refused. Update kubectl-tas.",
)

OPERATOR_FIELD = Rule.error(
    "operator-field",
    "The operator has no such field, or no such kind.",
    "The API server refuses it, or drops it without a message. Correct its spelling or its indentation. spec.operators "
    "of the Config names the releases of operators; without it, a field of any known release passes. If a release "
    "newer than all known ones has the field, waive the rule.",
    protects=Waiving.ANYBODY,
)

COMBINATIONS = {**combinations.COMBINATIONS, **objectfields.COMBINATIONS}
_SPEAKS = {
    "EnvVar": frozenset({"valueFrom"}),
    "VolumeMount": frozenset({"mountPropagation", "recursiveReadOnly", "subPath"}),
}
"""Types whose checks apply only to mappings with one of these fields. Skipping the many others saves time."""


def check_fields(declared: Declared[Workload], fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a workload against the release of its backend."""
    named, release = fleet.config.operators, _release(declared, fleet)
    api_version, kind = declared.spec.apiVersion, str(declared.origin.data["kind"])
    operator = kubernetes.operator_of(api_version, kind)
    shape = shape_of(api_version, kind, release, named)
    if operator is None and shape.fields is None:
        yield from _of_templates(declared, release)
    if operator is not None:
        of_operator = _operator_shapes(operator, named.get(operator), release)
        if hint := of_operator.kind_elsewhere(api_version, kind):
            message = f"{operator} {named[operator]} has no {kind} of {api_version}"
            yield Diagnostic(OPERATOR_FIELD, message, declared.at("kind"), hint=hint)
    has_parameters = declared.spec.page.pod_rules.has_parameters
    for finding in _below(declared.origin, (), declared.origin.data, shape):
        if not (has_parameters and finding.rule is INVALID_VALUE and "{{" in finding.message):
            yield finding
    yield from refused(declared.origin, declared.spec.page.refusals)
    yield from refused_by_crd(declared, named)


def check_fields_of_companion(declared: Declared[Companion], fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a companion against the release of its backend."""
    origin, release = declared.origin, _release(declared, fleet)
    yield from _below(origin, ("metadata",), origin.value(("metadata",)), _shapes(release).of("meta.v1.ObjectMeta"))
    shape = shape_of(declared.spec.apiVersion, declared.spec.kind, release, fleet.config.operators)
    yield from _below(origin, (), {**origin.data, "metadata": {}}, shape)


def check_fields_of_group(declared: Declared[PodGroup], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the metadata of a hand-written PodGroup."""
    yield from COMBINATIONS["ObjectMeta"](Fields(declared.origin, ("metadata",), declared.origin.data["metadata"]))


def check_fields_of_set(declared: Declared[CliqueSet], fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the metadata and the pods of a PodCliqueSet. ``check.grove_api`` checks the rest."""
    backend, origin = fleet.backends_of_files.get(id(declared)), declared.origin
    of_grove = _operator_shapes("grove", backend.spec.grove.version if backend else None, _release(declared, fleet))
    yield from _below(origin, ("metadata",), origin.value(("metadata",)), of_grove.of("meta.v1.ObjectMeta"))
    for index in range(len(declared.spec.spec.template.cliques)):
        path: KeyPath = ("spec", "template", "cliques", index, "spec", "podSpec")
        yield from _below(origin, path, origin.value(path), of_grove.of("core.v1.PodSpec"))


def _release(declared: Declared[Any], fleet: Fleet) -> int:
    """Returns the release of Kubernetes whose fields a document has."""
    backend = fleet.backends_of_files.get(id(declared))
    return kubernetes.nearest(backend.spec.kubernetes if backend else None)


def _of_templates(declared: Declared[Workload], release: int) -> Iterator[Diagnostic]:
    """Checks a kind without a known CRD: only its metadata and its pods, by Kubernetes' own types. A kind with its own
    fields in place of a pod template is Dynamo's.
    """
    shapes_at_paths: list[tuple[KeyPath, Shape]] = [(("metadata",), _shapes(release).of("meta.v1.ObjectMeta"))]
    for pod_set in declared.spec.pod_sets:
        if pod_set.is_pod_spec:
            shapes_at_paths.append((pod_set.path, _shapes(release).of("core.v1.PodTemplateSpec")))
        else:
            shapes_at_paths.append((pod_set.metadata_path, _shapes(release).of("meta.v1.ObjectMeta")))
            name_of_service = f"DynamoService.{pod_set.spec_path[-1]}"
            shapes_at_paths.append((pod_set.spec_path, _operator_shapes("dynamo", None, release).of(name_of_service)))
    for path, shape in dict.fromkeys(shapes_at_paths):
        yield from _below(declared.origin, path, declared.origin.value(path), shape)


def check_pod(origin: Origin, release: str | None) -> Iterator[Diagnostic]:
    """Checks a Pod that kubectl-tas makes, against the Kubernetes release of its cluster."""
    yield from _below(
        origin, ("spec",), origin.value(("spec",)), _shapes(kubernetes.nearest(release)).of("core.v1.PodSpec")
    )


def shape_of(api_version: str, kind: str, release: int, operators: Mapping[str, str] | None = None) -> Shape:
    """Returns the fields of a kind in a release of Kubernetes, or in the release of its operator in ``operators``."""
    operator = kubernetes.operator_of(api_version, kind)
    if operator is None:
        return _shapes(release).of(kubernetes.definition(api_version, kind))
    return _operator_shapes(operator, (operators or {}).get(operator), release).kind(api_version, kind)


@cache
def _shapes(release: int) -> Shapes:
    """Returns the types of a release."""
    return Shapes(release, objectfields.BOUNDS)


@cache
def _operator_shapes(operator: str, version: str | None, release: int) -> OperatorShapes:
    """Returns the types of an operator's release, in a cluster with a release of Kubernetes."""
    return OperatorShapes(operator, version, release, objectfields.BOUNDS)


def _below(origin: Origin, path: KeyPath, value: Any, shape: Shape) -> Iterator[Diagnostic]:
    """Checks a value and everything below it. A null value counts as absent."""
    if type(value) is dict and shape.fields is not None:
        fields = shape.fields
        for key, child in value.items():
            field = fields.get(key)
            if field is None:
                finding = unknown_field(origin, path, key, tuple(fields), otherwise=_elsewhere(key, path, fields))
                finding = replace(finding, hint=shape.elsewhere(key) or finding.hint)
                yield replace(finding, rule=OPERATOR_FIELD) if shape.is_foreign else finding
            elif type(child) in (dict, list) or (child is not None and type(child) not in field.accepts):
                yield from _below(origin, (*path, key), child, field)
            elif field.bound is not None and child is not None:
                yield from _refused(origin, (*path, key), child, field.bound)
        for key in shape.required:
            if value.get(key) is None:
                finding = missing_field(origin, path, key, {}, tuple(fields))
                is_slip = shape.is_foreign and finding.rule is UNKNOWN_FIELD
                yield replace(finding, rule=OPERATOR_FIELD) if is_slip else finding
        name = shape.name if shape.name in COMBINATIONS else shape.alike
        if name in COMBINATIONS and not (name in _SPEAKS and _SPEAKS[name].isdisjoint(value)):
            yield from COMBINATIONS[name](Fields(origin, path, value))
    elif shape.accepts and value is not None and type(value) not in shape.accepts:
        yield wrong_type(origin, path, value, shape.types, {})
    elif shape.items is not None and isinstance(value, (dict, list)):
        is_text = shape.items.bound is None and str in shape.items.accepts
        for step, child in value.items() if isinstance(value, dict) else enumerate(value):
            if not (is_text and type(child) is str):
                yield from _below(origin, (*path, step), child, shape.items)
    elif shape.bound is not None and value is not None:
        yield from _refused(origin, path, value, shape.bound)


def _refused(origin: Origin, path: KeyPath, value: Any, bound: Bound) -> Iterator[Diagnostic]:
    """Reports a value that its field does not accept."""
    if isinstance(bound, tuple):
        if value not in bound:
            words = [word for word in bound if word]
            hint = did_you_mean(str(value), words, folds=True)
            yield invalid_value(origin, path, f"must be one of {', '.join(words)}", value, hint)
    elif (refusal := spellings.within(value, bound) if isinstance(bound, range) else bound(value)) is not None:
        finding = invalid_value(origin, path, refusal[0], value, refusal[1])
        is_older = bound is kubernetes.text_of_older_releases and isinstance(value, str)
        if bound is spellings.mode and value in range(0o1000):
            finding = replace(finding, level=Severity.WARNING)
        yield replace(finding, rule=OPERATOR_FIELD, level=Severity.WARNING) if is_older else finding


def _elsewhere(key: str, path: KeyPath, fields: dict[str, Shape]) -> str:
    """Returns a hint for a field with lost indentation: the sibling field that it belongs to."""
    owner = next((name for name, shape in fields.items() if key in (shape.fields or ())), None)
    if owner is None and "limits" in fields and "/" in key:
        return f"Write it below {written((*path, 'limits'))}."
    if owner is not None:
        return f"It is a field of {owner}: write it below {written((*path, owner))}."
    lists = [name for name, shape in fields.items() if shape.items is not None and key in (shape.items.fields or ())]
    if not lists or (len(lists) > 1 and "containers" not in lists):
        return ""
    return f"It is a field of each of {'containers' if len(lists) > 1 else lists[0]}: write it there."


def check_kubernetes(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the releases of Kubernetes and of operators that the Config names."""
    config = fleet.repository.config
    if config is None:
        return
    for backend in fleet.backends:
        version = backend.spec.kubernetes
        if version is not None and (minor := kubernetes.nearest(version)) != kubernetes.minor(version):
            known_releases = [f"1.{release}" for release in kubernetes.releases()]
            location = config.at("spec", "backends", backend.index, "kubernetes")
            yield _unknown_release(f"Kubernetes {version}", known_releases, f"1.{minor}", location)
    operators = {name: operator["releases"] for name, operator in kubernetes.operators().items() if name != "grove"}
    for name, version in fleet.config.operators.items():
        if name not in operators:
            hint = "Write grove.version of the backend." if name == "grove" else f"Known: {', '.join(operators)}."
            yield unknown_field(config.origin, ("spec", "operators"), name, tuple(operators), otherwise=hint)
            continue
        known_releases = operators[name]
        used = known_releases[kubernetes.nearest_of(name, version)]
        if not kubernetes.is_of(version, used):
            yield _unknown_release(f"{name} {version}", known_releases, used, config.at("spec", "operators", name))


def _unknown_release(product: str, known_releases: list[str], used: str, location: Location) -> Diagnostic:
    message = f"the fields of {product} are not known, those of {known_releases[0]} to {known_releases[-1]} are"
    return Diagnostic(
        KUBERNETES_VERSION, message, location, hint=f"kubectl-tas checks workloads against release {used}."
    )
