"""Reads a workload from its plain document, by the paths of the page of its kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property
from typing import Annotated, Any

from pydantic import BaseModel, StringConstraints, TypeAdapter, ValidationError

from kubectl_tas.base.late import dataclass, imported
from kubectl_tas.kinds.page import Division, Pods, WorkloadKind
from kubectl_tas.kinds.section import (
    LIST,
    MAPPING,
    Document,
    Section,
    beside,
    key_path,
    path_steps,
    value_at,
    values_at,
)
from kubectl_tas.model.base import (
    OWN_METADATA,
    AnyText,
    Count,
    KeyPath,
    LabelKey,
    LabelValue,
    Positive,
    Text,
    said,
)
from kubectl_tas.model.podforms import OwnTemplate, Trainer
from kubectl_tas.model.podsets import HOLDERS, Name, PodSet
from kubectl_tas.model.podtemplate import Container, Meta, PodTemplate, Resources, RootMeta

RuleName = Annotated[
    str,
    StringConstraints(max_length=128, pattern=r"^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?)?$"),
    said(
        "must be the name of a failure rule: a letter, then letters, digits, '_', ',' and ':'",
        hint="End it with a letter, a digit or '_', and use at most 128 characters.",
    ),
]
TYPES: Mapping[str, Any] = {
    "any text": AnyText,
    "boolean": bool,
    "count": Count,
    "labels": dict[LabelKey, LabelValue],
    "metadata": Meta,
    "number": int,
    "pod template": PodTemplate,
    "positive": Positive,
    "resources": Resources,
    "rule name": RuleName,
    "text": Text,
    "trainer": Trainer,
}
"""The types of fields, by the word in a page. ``mapping`` and ``not empty`` are mappings of other fields."""
Error = dict[str, Any]
"""A value of a wrong type, as pydantic describes it: ``loc``, ``type``, ``msg`` and ``input``."""
_STRUCTURE = {LIST: (list, "tuple_type"), MAPPING: (dict, "dict_type")}


@dataclass(frozen=True, eq=False)
class Workload:
    """A workload: its document, and the page of its kind."""

    page: WorkloadKind
    document: Document
    """The plain document, without nulls."""
    metadata: RootMeta
    """Name, pool (label kubectl-tas/pool), priority (label kubectl-tas/priority) and placement of the workload."""
    parts: Mapping[KeyPath, Any]
    """The values that have a model, by their path: pod templates, what stands in their place, metadata of jobs."""

    @property
    def kind(self) -> str:
        """The unique name of the kind."""
        return self.page.recognition.unique_name

    @property
    def apiVersion(self) -> str:  # noqa: N802 - the name of the field
        """The API of the workload."""
        return str(self.document["apiVersion"])

    @cached_property
    def pod_sets(self) -> tuple[PodSet, ...]:
        """The pod sets of the workload, in the order of the page."""
        return tuple(pod_set for pods in self.page.pods for pod_set in self._of(pods))

    @property
    def copies(self) -> int:
        """The number of copies of the pod sets. Each copy is a gang of its own."""
        return self.number(self.page.start.copies)

    @property
    def implied_counts(self) -> Iterator[tuple[KeyPath, int]]:
        """Counts that the kind's controller uses instead of absent or different values in the object."""
        filled_in = self.page.filled_in
        return filled_in.counts(Section(self.document, key_path(filled_in.at)))

    @property
    def implied_names(self) -> Iterator[tuple[KeyPath, str]]:
        """Names that the kind's webhook adds when an object is created, but not when it is changed."""
        filled_in = self.page.filled_in
        return filled_in.names(Section(self.document, key_path(filled_in.at)))

    @property
    def own_division(self) -> Division | None:
        """The kind's own division of its pods. None if the kind does not divide them."""
        return self.page.start.division(self.document)

    @property
    def leader_first(self) -> bool:
        """Whether other pods start only after the leader is ready."""
        return self.page.start.leader_first(self.document)

    @property
    def absent(self) -> Iterator[KeyPath]:
        """The paths at which a pod template of a declared kind is missing, or the first path of the kind if the object
        has no pods. A field of the spec itself may be absent.
        """
        is_found = bool(self.pod_sets)
        for pods in self.page.pods:
            *above, last = path_steps(pods.path)
            for path, value in values_at(self.document, tuple(above)) if len(above) > 1 and last != LIST else ():
                if isinstance(value, dict) and last != MAPPING and last not in value:
                    is_found = True
                    yield (*path, last)
        if not is_found:
            steps = path_steps(self.page.pods[0].path)
            yield steps[: next((index for index, step in enumerate(steps) if step in (LIST, MAPPING)), len(steps))]

    @property
    def least(self) -> list[int]:
        """The number of pods of each part that must start together, by a Karta."""
        numbers = []
        for pods in self.page.pods:
            for path in self._places(pods):
                least = self.number(pods.least, path, 0) or self.number(pods.count, path, int(pods.is_counted))
                is_part = self.page.gang.sub_groups is not None
                numbers.append(least if is_part else least * (self.number(pods.factor) or 1))
        return numbers

    def number(self, pattern: str, path: KeyPath = (), otherwise: int = 1) -> int:
        """Returns the number at a path of the page, for the list items and keys of ``path``."""
        number_path, _, default = pattern.partition("=")
        steps = beside(number_path, path)
        number = value_at(self.document, *steps) if steps else None
        if number is None and default and value_at(self.document, *steps[:-1]) is not None:
            return int(default)
        return number if type(number) is int else otherwise

    def _of(self, pods: Pods) -> Iterator[PodSet]:
        """Yields a pod set for each template of a row."""
        if pods.unless and value_at(self.document, *key_path(pods.unless)):
            return
        for path in self._places(pods):
            template = self.parts.get(path)
            if pods.instead and template is None:
                path = beside(pods.instead, path)
                template = self.parts.get(path)
            pod_set = self._pod_set(pods, path, model_of(pods.form)() if template is None else template)
            if pod_set is not None:
                yield pod_set

    def _places(self, pods: Pods) -> Iterator[KeyPath]:
        """Yields the path of each template of a row. A template may be absent unless it is optional."""
        steps = path_steps(pods.path)
        if pods.is_optional or steps[-1:] in ((LIST,), (MAPPING,)):
            yield from (path for path, _ in values_at(self.document, steps) if path in self.parts)
            return
        end = max((index + 1 for index, step in enumerate(steps) if step in (LIST, MAPPING)), default=0)
        for path, _ in values_at(self.document, steps[:end]):
            if not pods.within or value_at(self.document, *key_path(pods.within)) is not None:
                yield (*path, *steps[end:])

    def _pod_set(self, pods: Pods, path: KeyPath, pod_source: Any) -> PodSet | None:
        template = pod_source if isinstance(pod_source, PodTemplate) else pod_source.template
        is_elsewhere = self.page.gang.templates_elsewhere
        if template is None and not is_elsewhere:
            return None
        if pods.metadata == OWN_METADATA[0]:
            template = template.model_copy(update={"metadata": self.metadata})
        started, times, name = self._count(pods, path), self.number(pods.factor, path), pods.name
        most = max((self.number(each, path, started) for each in pods.most.split()), default=started)
        count = max(started, most) * times
        given_name = None if name else self._name(pods, path)
        text = given_name.text if given_name is not None else name
        asks = pod_source.asks if template is None else template.asks
        is_indexed = not pods.indexed[0] or self._value(pods.indexed[0], path) == pods.indexed[1]
        is_template = isinstance(pod_source, (PodTemplate, OwnTemplate))
        job = beside(pods.job, path) + OWN_METADATA if pods.job else None
        metadata = (*path, *(OWN_METADATA if is_template else pod_source.metadata_at))
        pod_set = PodSet(
            name=text or self._derived_name(path),
            replicas=count,
            path=path,
            template=template,
            asks=asks,
            indices=self.number(pods.completions, path, count) if is_indexed else count,
            index_label=(pods.index_label or None) if is_indexed else None,
            label=pods.sub_group(text) if pods.sub_group is not None else "",
            given_name=given_name,
            comes_late=pods.is_late,
            job=None if job is None else (job, self.parts.get(job) or Meta()),
            jobs=self.number(pods.jobs, path),
            is_leader=pods.is_leader,
            metadata_path=metadata if pods.metadata is None else beside(pods.metadata, path),
            spec_path=(*path, "spec") if is_template else () if is_elsewhere else (*path, *pod_source.spec_at),
            is_pod_spec=is_template or is_elsewhere,
            holders=HOLDERS if is_template else pod_source.holders,
            added=count - started * times,
        )
        if pods.beside and self._value(pods.beside_where, path) is True:
            assert template is not None
            where, spec = beside(pods.beside, path), template.spec
            added = Container(resources=self.parts.get((*where, "resources")) or Resources())
            spec = spec.model_copy(update={"containers": (*spec.containers, added)})
            return replace(pod_set, asks=spec.asks_with(template.metadata.annotations), beside=where)
        return pod_set

    def _value(self, pattern: str, path: KeyPath) -> Any:
        return value_at(self.document, *beside(pattern, path))

    def _count(self, pods: Pods, path: KeyPath) -> int:
        """Returns the number of pods of a template."""
        if pods.paused and self._value(pods.paused, path) is True:
            return 0
        if pods.stopped_by in self.metadata.annotations:
            return 0
        counts = (self.number(each, path, -1) for each in pods.count.split())
        count = next((number for number in counts if number >= 0), 0 if pods.default else 1)
        count = max(count, self.number(pods.default, path, 0) if pods.default else 0, pods.at_least)
        return min(count, self.number(pods.at_most, path, count)) - pods.minus

    def _name(self, pods: Pods, path: KeyPath) -> Name | None:
        """Returns the name that the user gave to the list item or the key that contains a template, if any."""
        for end in range(len(path), 0, -1):
            step, above = path[end - 1], value_at(self.document, *path[: end - 1])
            if isinstance(step, int):
                text = child_name(above[step], pods.name_field)
                compared = text if pods.case_counts else text.lower()
                where = (*path[:end], pods.name_field)
                return Name(pods.word, text, compared, where) if text else None
            if path_steps(pods.path)[end - 1] == MAPPING:
                return Name(pods.word, step, step if pods.case_counts else step.lower(), path[:end], is_key=True)
        return None

    def _derived_name(self, path: KeyPath) -> str:
        """Names pods after the list that contains them, else after the key above their template."""
        for end in range(len(path), 0, -1):
            if isinstance(path[end - 1], int):
                return f"{path[end - 2]}-{path[end - 1]}"
        keys = [str(step) for step in path if step not in ("spec", "template")]
        return keys[-1] if keys else "pod"


def child_name(value: Any, field: str) -> str:
    """Returns the name in a list item. Empty if it has none."""
    name = value.get(field) if isinstance(value, dict) else None
    return name if isinstance(name, str) else ""


def read(page: WorkloadKind, document: Document) -> tuple[Workload | None, list[Error]]:
    """Returns the workload of a document without nulls, or None and what is of a wrong type."""
    errors: list[Error] = []
    parsed_values: dict[KeyPath, Any] = {}
    metadata = _valid(RootMeta, document.get("metadata"), ("metadata",), errors)
    for steps, type_, is_required in typed_fields(page):
        for path, value in _walk(document, steps, (), errors):
            for index in _names_at(page, steps):
                if index < len(path) and path[index] == "":
                    empty = {"loc": path[: index + 1], "msg": "must not be empty", "input": ""}
                    errors.append({"type": "string_too_short", **empty})
            if value is None:
                if is_required:
                    errors.append({"type": "missing", "loc": path, "msg": "Field required", "input": None})
            elif type_ in ("mapping", "not empty"):
                if not isinstance(value, dict):
                    errors.append(_wrong("model_type", path, value))
                elif not value and type_ == "not empty":
                    errors.append({"type": "too_short", "loc": path, "msg": "must not be empty", "input": value})
            else:
                parsed_value = _valid(model_of(type_), value, path, errors)
                if not isinstance(parsed_value, (int, str, dict)):
                    parsed_values[path] = parsed_value
    if errors:
        return None, list({(error["loc"], error["type"]): error for error in errors}.values())
    assert isinstance(metadata, RootMeta)
    return Workload(page, document, metadata, parsed_values), []


@cache
def typed_fields(page: WorkloadKind) -> tuple[tuple[tuple[str, ...], str, bool], ...]:
    """Returns the steps, the type and whether it must be there of each field that the tool reads of a kind."""
    types = {field.path: (field.type, field.is_required) for field in page.fields}
    for pods in page.pods:
        types[pods.path] = (pods.form, False)
        for path in pods.numbers:
            types.setdefault(path, ("count", False))
        if pods.instead:
            types[pods.instead] = (pods.form, False)
        steps = path_steps(pods.path)
        for index, step in enumerate(steps):
            if step == LIST and steps[index + 1 : index + 2] != (LIST,):
                path = ".".join((*steps[: index + 1], pods.name_field)).replace(f".{LIST}", LIST)
                types.setdefault(path, ("text", False))
    if page.gang.minimum_number:
        types.setdefault(page.gang.minimum_number, ("count", False))
    return tuple((path_steps(path), type_, is_required) for path, (type_, is_required) in types.items())


@cache
def _names_at(page: WorkloadKind, steps: tuple[str, ...]) -> tuple[int, ...]:
    """Returns the indices of steps at which keys are names: of mappings that no field of the page describes."""
    described = {of_field for of_field, type_, _ in typed_fields(page) if type_ in ("mapping", "not empty")}
    return tuple(index for index, step in enumerate(steps) if step == MAPPING and steps[:index] not in described)


@cache
def model_of(type_: str) -> Any:
    """Returns the type for a word of a page: of ``TYPES``, a model as ``module:class``, or words between bars."""
    if type_ in TYPES:
        return TYPES[type_]
    if "|" in type_:
        return frozenset(type_.split("|"))
    return imported(f"kubectl_tas.model.{type_}")


def _walk(value: Any, steps: tuple[str, ...], path: KeyPath, errors: list[Error]) -> Iterator[tuple[KeyPath, Any]]:
    """Yields the values at the steps of a path, None for a key that is absent, and collects values without keys."""
    if not steps:
        yield path, value
        return
    form, error = _STRUCTURE.get(steps[0], (dict, "model_type"))
    if not isinstance(value, form):
        errors.append(_wrong(error, path, value))
    elif steps[0] == LIST:
        for index, below in enumerate(value):
            yield from _walk(below, steps[1:], (*path, index), errors)
    elif steps[0] == MAPPING:
        for key, below in value.items():
            yield from _walk(below, steps[1:], (*path, key), errors)
    elif value.get(steps[0]) is not None:
        yield from _walk(value[steps[0]], steps[1:], (*path, steps[0]), errors)
    elif len(steps) == 1:
        yield (*path, steps[0]), None


def _wrong(type_: str, path: KeyPath, value: Any) -> Error:
    return {"type": type_, "loc": path, "msg": "has a wrong type", "input": value}


def _valid(type_: Any, value: Any, path: KeyPath, errors: list[Error]) -> Any:
    """Returns a value as its model, and collects what is wrong with it."""
    if type_ is Count and type(value) is int and 0 <= value < 2**31:
        return value
    if isinstance(type_, frozenset):
        if not isinstance(value, str) or value not in type_:
            errors.append({"type": "literal_error", "loc": path, "msg": "is none of its words", "input": value})
        return value
    try:
        if isinstance(type_, type) and issubclass(type_, BaseModel):
            return type_.model_validate(value)
        return _adapter(type_).validate_python(value, strict=True)
    except ValidationError as error:
        errors += ({**fault, "loc": (*path, *fault["loc"])} for fault in error.errors(include_url=False))
    return None


@cache
def _adapter(type_: Any) -> TypeAdapter[Any]:
    return TypeAdapter(type_)
