"""Models in, JSON Schemas out; the docstring under a field is its description."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from itertools import pairwise
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue

from kubectl_tas.model.companion import Companion
from kubectl_tas.model.config import Config
from kubectl_tas.model.function import Function
from kubectl_tas.model.grove import OperatorConfiguration, PodCliqueSet
from kubectl_tas.model.guard import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding
from kubectl_tas.model.manifest import (
    ConfigMap,
    Namespace,
    PodGang,
    PodGroup,
    PriorityClass,
    Queue,
    Service,
    Topology,
)
from kubectl_tas.model.platform import PodTemplate, ResourceValidation
from kubectl_tas.model.pod import Pod
from kubectl_tas.model.pool import Pool, Subpool
from kubectl_tas.model.rbac import Role, RoleBinding
from kubectl_tas.model.topology import ClusterTopology
from kubectl_tas.model.values import Values
from kubectl_tas.model.workflow import Workflow
from kubectl_tas.model.workload import WORKLOADS

MODELS: tuple[type[BaseModel], ...] = (
    ClusterTopology,
    Companion,
    Config,
    ConfigMap,
    Function,
    Namespace,
    OperatorConfiguration,
    Pod,
    PodCliqueSet,
    PodGang,
    PodGroup,
    PodTemplate,
    Pool,
    PriorityClass,
    Queue,
    ResourceValidation,
    Role,
    RoleBinding,
    Service,
    Subpool,
    Topology,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    Values,
    Workflow,
    *WORKLOADS,
)
"""The kinds that have a schema file of their own."""


def schema_texts() -> dict[str, str]:
    """The text of every file below ``schemas/``, by its name."""
    return {f"{model.__name__.lower()}.json": json.dumps(json_schema(model), indent=2) + "\n" for model in MODELS}


class _Generator(GenerateJsonSchema):
    """JSON Schema for people who write YAML: no titles, no null where a field may be left out."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def nullable_schema(self, schema: Any) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def dict_schema(self, schema: Any) -> JsonSchemaValue:
        """A key that breaks its pattern is refused; with patternProperties it would pass unchecked."""
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
    """The JSON Schema (draft 2020-12) of a model and all that it contains."""
    schema = model.model_json_schema(schema_generator=_Generator, mode=mode)
    models = {item.__name__: item for item in _reachable(model)}
    for name, part in (*schema.get("$defs", {}).items(), (model.__name__, schema)):
        part.pop("title", None)
        docs = _field_docs(models[name]) if name in models else {}
        for field, text in docs.items():
            written = models[name].model_fields[field].alias or field
            if written in part.get("properties", {}):
                part["properties"][written]["description"] = text
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": model.__name__, **schema}


def _reachable(model: type[BaseModel]) -> set[type[BaseModel]]:
    """The model and every model in its fields."""
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
    """The docstring under each field of a class and of its bases."""
    docs: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not (issubclass(base, BaseModel) and base.__module__.startswith("kubectl_tas.")):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body  # type: ignore[attr-defined]
        for field, text in pairwise(body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                docs[field.target.id] = inspect.cleandoc(str(text.value.value))
    return docs
