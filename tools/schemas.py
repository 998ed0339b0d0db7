"""Makes JSON Schemas from models. The docstring under a field becomes the description of the field."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from functools import cache
from itertools import pairwise
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue

from kubectl_tas.base.late import imported
from kubectl_tas.check.keys import KEYS, KeyReader
from kubectl_tas.emit.create_only import WRITTEN
from kubectl_tas.kinds import LISTED, pages
from kubectl_tas.model import artifact, kindlists
from kubectl_tas.model.config import Values
from kubectl_tas.model.function import Function
from kubectl_tas.model.grovekinds import CliqueSet
from kubectl_tas.model.osmo_workflow import Workflow
from kubectl_tas.model.podtemplate import Companion
from kubectl_tas.model.usage_record import UsageRecord
from tools import workload_models
from tools.workload_models import workload_model


def named(model: type[BaseModel]) -> str:
    """Returns the name of the schema of a model: its title, or the name of its class."""
    return str(model.model_config.get("title", model.__name__))


_OWN = {place: imported(f"kubectl_tas.model.{place}") for _, _, place in kindlists.OWN}
WORKLOADS = tuple(map(workload_model, pages()))
READ: tuple[type[BaseModel], ...] = (*sorted(_OWN.values(), key=named), *WORKLOADS)
"""Models of documents that people write and that their kind identifies."""
_EMITTED = (model for model in get_args(artifact.Manifest) if model is not artifact.PassThrough)
_MODELS = (*READ, Companion, Function, UsageRecord, Values, Workflow, *_EMITTED)
MODELS: tuple[type[BaseModel], ...] = tuple({named(model): model for model in reversed(_MODELS)}.values())
"""The models with a schema file of their own. For a kind that is both read and emitted, the model for reading."""
COMBINED = "all"
"""Name of the schema that selects another schema by the content of a document."""
_BARE = ("BarePod", "Notebook")
"""Workloads whose metadata is the metadata of the pod."""


def schema_texts() -> dict[str, str]:
    """Returns the text of every file in ``schemas/``, by name."""
    schemas = {model: json_schema(model) for model in MODELS}
    found = {named(model).lower(): schema for model, schema in schemas.items()}
    found[COMBINED] = _combined(schemas)
    return {f"{name}.json": json.dumps(found[name], indent=2) + "\n" for name in sorted(found)}


def _combined(schemas: dict[type[BaseModel], dict[str, Any]]) -> dict[str, Any]:
    """Returns one schema for all documents in the folders that are read, except values files. Editors use it for any
    file. The root key ``workflow`` or else the kind selects the schema; documents of other kinds accompany workloads.
    The schema uses only features that draft 7 and 2020-12 share, since editors support one or the other.
    """
    parts: dict[str, Any] = {}

    def ref(model: type[BaseModel]) -> dict[str, str]:
        """Returns a reference to the schema of a model. Equal parts of several models are shared."""
        schema = {key: value for key, value in schemas[model].items() if key not in ("$schema", "$comment", "title")}
        inner = schema.pop("$defs", {})
        moved = {
            name: name if parts.get(name, part) == part else f"{named(model)}.{name}" for name, part in inner.items()
        }
        while True:  # a part that names one that has moved is another one too
            renamed = {name: _with_refs(part, moved) for name, part in inner.items()}
            clashes = [name for name, part in renamed.items() if parts.get(moved[name], part) != part]
            if not clashes:
                break
            moved |= {name: f"{named(model)}.{name}" for name in clashes}
        parts.update({moved[name]: part for name, part in renamed.items()})
        parts[f"kind.{named(model)}"] = _with_refs(schema, moved)
        return {"$ref": f"#/$defs/kind.{named(model)}"}

    kinds = [(_choices(schemas[model], "kind"), model) for model in READ]
    known = sorted(kind for named, _ in kinds for kind in named)
    versions = sorted({version for _, model in kinds for version in _choices(schemas[model], "apiVersion")})
    rules = [
        {
            "if": {"required": ["workflow"]},
            "then": ref(Workflow),
            "else": {"required": ["apiVersion", "kind"]},
        },
        *({"if": _is_of(schemas[model], named), "then": ref(model)} for named, model in kinds),
        {"if": _has_kind("List"), "then": {"properties": {"items": {"type": "array", "items": {"$ref": "#"}}}}},
        {
            "if": {"required": ["kind"], "properties": {"kind": {"not": {"enum": [*known, "List"]}}}},
            "then": ref(Companion),
        },
    ]
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$comment": WRITTEN,
        "title": "kubectl-tas",
        "description": "A pool, subpool, topology, workflow, workload, or what stands beside one.",
        "type": "object",
        "properties": {
            "apiVersion": {"description": "The API of the kind.", "anyOf": [{"enum": versions}, {}]},
            "kind": {"description": "What the document is.", "anyOf": [{"enum": known}, {}]},
            "workflow": {"description": "An OSMO workflow, which has neither apiVersion nor kind."},
        },
        "allOf": rules,
        "$defs": dict(sorted(parts.items())),
    }


def _choices(schema: dict[str, Any], field: str) -> list[str]:
    """Returns the allowed words of a field."""
    found = schema["properties"][field]
    return [str(word) for word in found.get("enum", [found.get("const")])]


def _fixed_words(schema: dict[str, Any]) -> dict[str, str]:
    """Returns descriptions of the fields that identify a kind."""
    fields = (field for field in ("apiVersion", "apiGroup", "kind") if field in schema.get("properties", {}))
    return {field: " or ".join(words) for field in fields if (words := _choices(schema, field)) != ["None"]}


_SHARED_NAMES = {listed.kind for listed in LISTED if listed.name == listed.kind}
_CALLED_ALIKE = {
    listed.kind: list(listed.versions)
    for listed in LISTED
    if listed.name != listed.kind and listed.kind in _SHARED_NAMES
}
"""Kinds that share their name with another kind, with their apiVersions."""


def _is_of(schema: dict[str, Any], named: list[str]) -> dict[str, Any]:
    """Returns the condition for documents of a schema: the kind, and the apiVersion if two kinds share the name."""
    found = _has_kind(*named)
    others = {"enum": _CALLED_ALIKE.get(named[0], [])}
    if others["enum"]:
        is_other = _choices(schema, "apiVersion") == others["enum"]
        found["properties"]["apiVersion"] = others if is_other else {"not": others}
        found["required"] = ["apiVersion", "kind"] if is_other else ["kind"]
    return found


def _has_kind(*named: str) -> dict[str, Any]:
    return {"required": ["kind"], "properties": {"kind": {"enum": list(named)}}}


def _with_refs(part: Any, moved: dict[str, str]) -> Any:
    """Returns a copy whose references use the new names of parts."""
    if isinstance(part, dict):
        return {
            key: f"#/$defs/{moved[value.rpartition('/')[2]]}"
            if key == "$ref" and isinstance(value, str)
            else _with_refs(value, moved)
            for key, value in part.items()
        }
    return [_with_refs(item, moved) for item in part] if isinstance(part, list) else part


class _Generator(GenerateJsonSchema):
    """A generator for people who write YAML: without titles, and without null for optional fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def nullable_schema(self, schema: Any) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def dict_schema(self, schema: Any) -> JsonSchemaValue:
        """Refuses keys that do not match the pattern. With patternProperties they would pass unchecked."""
        result = super().dict_schema(schema)
        for pattern, values in result.pop("patternProperties", {}).items():
            result["additionalProperties"] = values
            result["propertyNames"] = {"pattern": pattern, **result.get("propertyNames", {})}
        return result

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        result = super().default_schema(schema)
        if result.get("default", "") is None:
            del result["default"]
        return result


def json_schema(model: type[BaseModel], mode: JsonSchemaMode = "validation") -> dict[str, Any]:
    """Returns the JSON Schema (draft 2020-12) of a model and of all models in it."""
    schema = model.model_json_schema(schema_generator=_Generator, mode=mode)
    models = {item.__name__: item for item in _reachable(model)}
    for name, part in (*schema.get("$defs", {}).items(), (model.__name__, schema)):
        part.pop("title", None)
        docs = _field_docs(models[name]) if name in models else {}
        for field, text in {**_fixed_words(part), **docs}.items():
            known = models[name].model_fields.get(field)
            written = (known.alias if known else None) or field
            if written in part.get("properties", {}):
                part["properties"][written]["description"] = text
        if model in (*WORKLOADS, CliqueSet):
            _name_keys(part, _reader(model, name))
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": WRITTEN}
    return {**draft, "title": named(model), **schema}


def _reader(model: type[BaseModel], part: str) -> KeyReader:
    """Returns the reader of labels and annotations in a part of a model."""
    if part != "RootMeta":
        return KeyReader.PODS
    return KeyReader.BOTH if model.__name__ in _BARE else KeyReader.WORK


def _name_keys(part: dict[str, Any], reader: KeyReader) -> None:
    """Adds the known labels and annotations, so that editors offer them. Others remain allowed."""
    for where in ("labels", "annotations"):
        field = part.get("properties", {}).get(where, {})
        if isinstance(field.get("additionalProperties"), dict):
            text = field["additionalProperties"]
            field["properties"] = {
                key.name: {
                    "description": key.about,
                    **({"anyOf": [{"enum": list(key.choices)}, text]} if key.choices else text),
                }
                for key in KEYS
                if key.where == where and key.reader & reader
            }


def _reachable(model: type[BaseModel]) -> set[type[BaseModel]]:
    """Returns the model and every model in its fields."""
    found: set[type[BaseModel]] = set()
    waiting: list[Any] = [model]
    while waiting:
        item = waiting.pop()
        if isinstance(item, type) and issubclass(item, BaseModel):
            if item not in found:
                found.add(item)
                waiting += [field.annotation for field in item.model_fields.values()]
        else:
            waiting += [part for part in getattr(item, "__args__", ()) if part is not item]
    return found


def _field_docs(model: type[BaseModel]) -> dict[str, str]:
    """Returns the docstring under each field of a class and its bases."""
    return {
        field: text
        for base in reversed(model.__mro__)
        if issubclass(base, BaseModel) and base.__module__.startswith(("kubectl_tas.", workload_models.__name__))
        for field, text in field_docs(base).items()
    }


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """Returns the classes of a module by name. ``inspect`` would parse all of them for each class."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


@cache
def field_docs(model: type) -> dict[str, str]:
    """Returns the docstrings under the fields of the class alone. It is cached, since reading sources is slow."""
    if model.__module__ == workload_models.__name__:
        return {}  # made of a page, with its descriptions
    body = _classes(model.__module__)[model.__name__].body
    return {
        field.target.id: inspect.cleandoc(str(text.value.value))
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }
