"""Computes completions at a position in a file: keys, values of fields, and names of other things."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from kubectl_tas.base.late import dataclass
from kubectl_tas.base.resources import read_resource
from kubectl_tas.base.yaml import scalar
from kubectl_tas.check.fields import shape_of
from kubectl_tas.check.keys import KEYS
from kubectl_tas.editor import project
from kubectl_tas.editor.definition import Reference, mappings_in_lists, pool_of_platforms, reference_at, topologies_near
from kubectl_tas.kinds import SET, kubernetes
from kubectl_tas.kinds.kubernetes import Shape
from kubectl_tas.load.document import Document
from kubectl_tas.load.kinds import KINDS
from kubectl_tas.model.base import KeyPath
from kubectl_tas.report.style import printable
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.fleet import Fleet

_MARK = "xxkubectl-tasxx"
"""Placeholder for the word at the cursor. With it the file can be parsed."""
_WORD = re.compile(r"[\w./-]*")
_DESCRIPTIONS = {key.name: key.about for key in KEYS if key.about}
_WORKFLOW = "Workflow"


@dataclass(frozen=True, slots=True)
class CompletionChoice:
    """A possible completion."""

    word: str
    text: str
    """The text to insert, quoted if necessary."""
    about: str
    """A sentence or a few words; may be empty."""
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class Completion:
    """A word of a text, and its possible replacements."""

    start: int
    """Offset of the first character of the word, from 0."""
    end: int
    choices: tuple[CompletionChoice, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    document: Document
    path: KeyPath
    """Path of the value, or of the mapping that contains the key."""
    is_key: bool


def completion(path: str, text: str, offset: int, fleet: Fleet) -> Completion:
    """Returns the completions at a character of a file. They replace the word at or before that character."""
    start = offset - len(_WORD.match(text[:offset][::-1])[0])  # type: ignore[index]
    end = offset + len(_WORD.match(text, offset)[0])  # type: ignore[index]
    context = _context_of_word(path, text, start, end)
    quote = text[start - 1 : start] if text[start - 1 : start] in ('"', "'") else ""
    has_colon = re.compile(r"[\"']?[ \t]*:").match(text, end) is not None
    choices: dict[str, CompletionChoice] = {}
    described_words = (_keys(context) if context.is_key else _values(context, fleet)) if context else ()
    is_key = context is not None and context.is_key
    for value, description in described_words:
        word = value if isinstance(value, str) else scalar(value)
        if printable(word) == word:
            insertion = word if quote else scalar(value, flow=True)
            behind = ": " if is_key and not has_colon and not quote else ""
            choices.setdefault(word, CompletionChoice(word, insertion + behind, printable(description), is_key))
    return Completion(start, end, tuple(choices.values()))


def _context_of_word(path: str, text: str, start: int, end: int) -> _Place | None:
    """Finds the document and path of a word. Text behind the word may be invalid."""
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    line_end = text[end : stop if stop >= 0 else len(text)]
    is_alone = not text[line:start].strip(" -") and not line_end.strip()
    for mark in (f"{_MARK}:", _MARK) if is_alone else (_MARK,):
        for behind in (text[end:], line_end):
            for document in project.parsed(path, f"{text[:start]}{mark}{behind}"):
                path_and_kind = _marked(document.data, ())
                if path_and_kind is not None:
                    return _Place(document, *path_and_kind)
    return None


def _marked(data: Any, path: KeyPath) -> tuple[KeyPath, bool] | None:
    """Returns the path of _MARK and False; if _MARK is a key, the path of its mapping and True."""
    if data == _MARK:
        return path, False
    if isinstance(data, dict) and _MARK in data:
        return path, True
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return next((marked_path for step, child in inner if (marked_path := _marked(child, (*path, step)))), None)


def _keys(context: _Place) -> Iterator[tuple[str, str]]:
    """Yields the keys that a mapping may have and lacks, required keys first."""
    value = context.document.value(context.path)
    present_keys = value if isinstance(value, dict) else {}
    schemas = list(_schemas_at(_schemas(context.document), context.path))
    shape = _shape(context.document, context.path)
    needed = {*(shape.required if shape else ()), *(key for schema in schemas for key in schema.get("required", ()))}
    fields = [(key, schema_of_key) for schema in schemas for key, schema_of_key in schema.get("properties", {}).items()]
    described_keys = [
        (key, _DESCRIPTIONS.get(key) or next(_descriptions(schema_of_key), "")) for key, schema_of_key in fields
    ]
    described_keys += [(key, " or ".join(field.types)) for key, field in (shape.fields or {} if shape else {}).items()]
    yield from sorted((x for x in described_keys if x[0] not in present_keys), key=lambda field: field[0] not in needed)


def _values(context: _Place, fleet: Fleet) -> Iterator[tuple[object, str]]:
    """Yields the possible values of a field: names of things to refer to, then values from the schema."""
    reference = reference_at(context.document, context.path)
    if reference is not None:
        yield from _NAMED[reference.kind](reference, fleet)
    if context.path == ("kind",):
        yield from (
            (kind, str(_all_schemas()["$defs"][name].get("description", "")))
            for kind, name in _kinds().items()
            if " " not in kind
        )
    description = ""
    for schema in _schemas_at(_schemas(context.document), context.path):
        description = str(schema.get("description", description))  # an alternative means what the whole does
        words = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else ())]
        words += (True, False) if schema.get("type") == "boolean" else ()
        yield from ((word, description) for word in words if word is not None)
    shape = _shape(context.document, context.path)
    if shape is not None and shape.types == ("boolean",):
        yield from ((True, ""), (False, ""))


@cache
def _all_schemas() -> dict[str, Any]:
    schemas: dict[str, Any] = json.loads(read_resource("schemas/all.json"))
    return schemas


@cache
def _kinds() -> dict[str, str]:
    """Maps each kind to the name of its schema. If two schemas have the same kind, the kind alone selects the first,
    and "apiVersion kind" selects either.
    """
    schema_names: dict[str, str] = {}
    for rule in _all_schemas()["allOf"]:
        properties = rule["if"].get("properties", {})
        for kind in properties.get("kind", {}).get("enum", ()) if "$ref" in rule.get("then", {}) else ():
            for name in (kind, *(f"{version} {kind}" for version in properties.get("apiVersion", {}).get("enum", ()))):
                schema_names.setdefault(name, rule["then"]["$ref"].rpartition("/")[2])
    return schema_names


def _schemas(document: Document) -> list[dict[str, Any]]:
    """Returns the schemas of a document. A document without a kind may be of any kind."""
    data = document.data if isinstance(document.data, dict) else {}
    kind = str(data.get("kind"))
    name = _kinds().get(f"{data.get('apiVersion')} {kind}") or _kinds().get(kind)
    if "workflow" in data:
        name = f"kind.{_WORKFLOW}"
    if name is not None:
        return [_all_schemas()["$defs"][name]]
    return [{"properties": {**_all_schemas()["properties"], "workflow": {"description": "An OSMO workflow."}}}]


def _schemas_at(schemas: Iterable[Mapping[str, Any]], path: KeyPath) -> Iterator[Mapping[str, Any]]:
    """Yields the schemas of the value at a path, each alternative separately."""
    for schema in schemas:
        for alternative in _alternatives(schema):
            if not path:
                yield alternative
                continue
            if isinstance(path[0], int):
                child_schema = alternative.get("items")
            else:
                child_schema = alternative.get("properties", {}).get(path[0], alternative.get("additionalProperties"))
            if isinstance(child_schema, dict):
                yield from _schemas_at([child_schema], path[1:])


def _alternatives(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    if "$ref" in schema:
        yield from _alternatives(_all_schemas()["$defs"][schema["$ref"].rpartition("/")[2]])
    for word in ("anyOf", "allOf", "oneOf"):
        for alternative in schema.get(word, ()):
            yield from _alternatives(alternative)


def _descriptions(schema: Mapping[str, Any]) -> Iterator[str]:
    return (alternative["description"] for alternative in _alternatives(schema) if alternative.get("description"))


def _shape(document: Document, path: KeyPath) -> Shape | None:
    """Returns the shape of the value at a path, as Kubernetes or an operator defines it; None if it is unknown."""
    data = document.data if isinstance(document.data, dict) else {}
    kind = str(data.get("kind"))
    version = data.get("apiVersion") or next((kind_row.api_version for kind_row in KINDS if kind_row.name == kind), "")
    shape: Shape | None = shape_of(str(version), kind, kubernetes.nearest(None))
    for step in path:
        if shape is not None:
            shape = shape.items if isinstance(step, int) or shape.fields is None else shape.fields.get(step)
    return shape


def _pools(reference: Reference, fleet: Fleet) -> Iterator[tuple[str, str]]:
    is_parent = reference.path[-1] == "parent"
    for pool in fleet.pools:
        yield pool.name, f"Pool. {pool.declared.spec.spec.description}".strip()
        for subpool in () if is_parent else pool.subpools:
            if subpool.state == "ACTIVE":
                yield subpool.canonical, f"Subpool with a quota of {plural(int(subpool.quota.gpu), 'GPU')}."


def _queues(_reference: Reference, fleet: Fleet) -> Iterator[tuple[str, str]]:
    for pool in fleet.pools:
        yield pool.shared_queue, f"Queue of pool {pool.name}."
        yield from ((subpool.queue, f"Queue of subpool {subpool.canonical}.") for subpool in pool.subpools)


def _topologies(_reference: Reference, fleet: Fleet) -> Iterator[tuple[str, str]]:
    for topology in fleet.topologies:
        levels = ", ".join(level.key for level in topology.levels)
        yield topology.name, f"Topology with the levels {levels}."


def _levels(reference: Reference, fleet: Fleet) -> Iterator[tuple[str, str]]:
    """Yields levels: by key in workflows and PodCliqueSets, by node label in PodGroups, else by both."""
    data = reference.document.data
    kind = "workflow" if "workflow" in data else data.get("kind")
    for topology in topologies_near(reference, fleet):
        for level in topology.levels:
            if kind != "PodGroup":
                yield level.key, f"Node label {level.label}."
            if kind not in ("workflow", SET.kind):
                yield level.label, f"Level {level.key}."


def _platforms(reference: Reference, fleet: Fleet) -> Iterator[tuple[str, str]]:
    pool = pool_of_platforms(reference, fleet)
    return ((name, f"Platform of pool {pool.name}.") for name in pool.platforms.by_name) if pool else iter(())


def _resources(reference: Reference, _fleet: Fleet) -> Iterator[tuple[str, str]]:
    for path in (("workflow", "resources"), ("resources",)):
        resources = reference.document.value(path)
        yield from ((str(name), "Resource of this file.") for name in resources) if isinstance(resources, dict) else ()


def _in_lists(name: str, description: str) -> Callable[[Reference, Fleet], Iterator[tuple[str, str]]]:
    def named(reference: Reference, _fleet: Fleet) -> Iterator[tuple[str, str]]:
        for _, mapping in mappings_in_lists(reference.document.data, (name,)):
            if isinstance(mapping, dict) and isinstance(mapping.get("name"), str):
                yield mapping["name"], description

    return named


_NAMED: dict[str, Callable[[Reference, Fleet], Iterator[tuple[str, str]]]] = {
    "pool": _pools,
    "queue": _queues,
    "topology": _topologies,
    "level": _levels,
    "backend": lambda _reference, fleet: ((backend.name, "Backend.") for backend in fleet.backends),
    "podgroup": lambda _reference, fleet: ((pod_group.name, "PodGroup.") for pod_group in fleet.pod_groups),
    "platform": _platforms,
    "resource": _resources,
    "task": _in_lists("tasks", "Task of this file."),
    "clique": _in_lists("cliques", "Clique of this file."),
}
