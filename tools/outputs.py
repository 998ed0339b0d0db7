"""Makes the JSON schemas of the output of commands with ``-o json``, from the classes that are printed."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import Enum
from functools import cache, cached_property, reduce
from operator import or_
from types import GenericAlias, NoneType, UnionType
from typing import Any, ForwardRef, Literal, TypeVar, Union, get_args, get_origin

from kubectl_tas.agents.patching import Patch
from kubectl_tas.base.contract import JsonField, fields_of
from kubectl_tas.base.diagnostics import Location
from kubectl_tas.cli.manual import Releases, RuleList
from kubectl_tas.compare.impact import Impact
from kubectl_tas.compare.nodelevels import SuggestedLevels
from kubectl_tas.draw.capacitypages import GrowthAnswer, PoolPlans
from kubectl_tas.draw.forecasttable import Forecasts
from kubectl_tas.draw.gangfigure import Picture, Pictures, WorkSegments
from kubectl_tas.draw.pendingtable import PendingAnswers
from kubectl_tas.draw.pooltables import PoolList, PoolPage, SubpoolList, TopologyKeys
from kubectl_tas.draw.sharetables import Shares
from kubectl_tas.draw.topologytables import TopologyList, TopologyUses
from kubectl_tas.draw.verdicts import WorkList
from kubectl_tas.draw.whypage import Whys
from kubectl_tas.facts.gpus import Gpus
from kubectl_tas.facts.quantities import RESOURCES, Amounts
from kubectl_tas.gangs.admission import AdmissionAnswers
from kubectl_tas.imports.examination import Checks
from kubectl_tas.place.answers import Fits
from kubectl_tas.report import Findings
from tools.schemas import field_docs

OUTPUTS: dict[str, tuple[type, ...]] = {
    "validate": (Findings,),
    "check": (Findings,),
    "diff": (Impact,),
    "pool list": (PoolList,),
    "pool describe": (PoolPage,),
    "pool topology-keys": (TopologyKeys,),
    "pool plan": (PoolPlans,),
    "pool share": (Shares,),
    "subpool list": (SubpoolList,),
    "topology list": (TopologyList,),
    "topology suggest": (SuggestedLevels,),
    "topology usage": (TopologyUses,),
    "workflow list": (WorkList,),
    "explain": (Picture, Pictures, WorkSegments),
    "why": (Whys,),
    "workflow explain": (Picture, Pictures, WorkSegments),
    "workflow why": (Whys,),
    "admit": (AdmissionAnswers,),
    "fit": (Fits, PendingAnswers, GrowthAnswer),
    "forecast": (Forecasts,),
    "doctor": (Checks,),
    "rule": (RuleList,),
    "version": (Releases,),
}
"""The answers that each command prints as JSON."""
ANSWERS: dict[str, tuple[type, ...]] = {"suggest": (Patch,)}
"""AdmissionAnswers to agents that no command prints."""
_COMPLETE = (Findings, Impact, RuleList, Releases, Patch, Checks)
"""AdmissionAnswers that leave no document out."""
_NOT_COUNTED = "Documents that could not be read or that nothing holds. The answer lacks what they declare."
_WORDS: dict[object, str] = {
    str: "string", int: "integer", bool: "boolean", float: "number", Decimal: "number", NoneType: "null"
}  # fmt: skip
Schema = dict[str, Any]


def output_texts() -> dict[str, str]:
    """Returns the text of every file in ``schemas/output/``, by name: the words of the command, joined by ``-``."""
    return {
        f"{command.replace(' ', '-')}.json": json.dumps(_schema(command, answers), indent=2) + "\n"
        for command, answers in (OUTPUTS | ANSWERS).items()
    }


def _schema(command: str, answers: tuple[type, ...]) -> Schema:
    """Returns the schema of a command. It is always an object, as clients of the Model Context Protocol require."""
    objects: dict[type, Schema] = {}
    whole = _of_type(reduce(or_, answers), objects)
    title = answers[0].__name__ if len(answers) == 1 else f"Output of {command}"
    if whole.keys() == {"$ref"} and objects:
        whole = objects.pop(answers[0])
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, "type": "object"}
    definitions = {kind.__name__: schema for kind, schema in sorted(objects.items(), key=lambda pair: pair[0].__name__)}
    return {**dialect, **whole, **({"$defs": definitions} if definitions else {})}


def _of_type(kind: Any, objects: dict[type, Schema]) -> Schema:
    """Returns the schema of values of a type. Adds the schemas of classes in it to ``objects``."""
    if kind in _WORDS:
        return {"type": _WORDS[kind]}
    origin, parameters = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        schemas = [_of_type(choice, objects) for choice in parameters if choice is not int or Decimal not in parameters]
        distinct = [schema for index, schema in enumerate(schemas) if schema not in schemas[:index]]
        return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
    if origin is Literal:
        return _of_type(reduce(or_, map(type, parameters)), objects)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        values = _of_type(parameters[1], objects)
        if get_origin(parameters[0]) is not Literal:
            return {"type": "object", "additionalProperties": values}
        names = get_args(parameters[0])
        return {"type": "object", "properties": dict.fromkeys(names, values), "required": list(names)}
    if origin is not None:
        return {"type": "array", "items": _of_type(parameters[0], objects)}
    if issubclass(kind, Enum):
        return _of_type(reduce(or_, {type(member.value) for member in kind}), objects)
    if kind not in objects:
        objects[kind] = {}  # a class may hold objects of its own kind
        objects[kind] |= _of_class(kind, objects)
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _of_class(kind: type, objects: dict[type, Schema]) -> Schema:
    properties, required = {}, []
    names: dict[tuple[str, ...], str] = {}
    for field in fields_of(kind):
        properties[field.name] = _of_field(kind, field, objects)
        if names.setdefault(field.path, field.name) != field.name:
            properties[field.name]["description"] = f"The old name of ``{names[field.path]}``, for one release."
        if field.ending != "?":
            required.append(field.name)
    if "version" in properties and kind not in _COMPLETE:
        places = {"type": "array", "items": _of_type(Location, objects)}
        properties["notCounted"] = {**places, "description": _NOT_COUNTED}
    about = {"description": _printed(inspect.getdoc(kind) or ""), "type": "object"}
    return {**about, "properties": properties, "required": required}


def _of_field(kind: type, field: JsonField, objects: dict[type, Schema]) -> Schema:
    if field.version is not None:
        return {"type": "integer"}
    found, about = _at(kind, field.path)
    if field.ending == "?":
        found = reduce(or_, (choice for choice in get_args(found) if choice is not NoneType))
    schema = _of_type(found | None if field.ending == "|null" else found, objects)
    if field.ending == "|null":
        about = about.replace("; 0 ", "; null ").replace("; empty ", "; null ")
    values = _values(found)
    if not all(value in about for value in values):
        about = f"{about} One of {', '.join(values)}.".lstrip()
    return {**schema, "description": _printed(about)} if about else schema


def _values(kind: Any) -> list[str]:
    """Returns the texts that a field may have, if they are known. A later release may add some."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(member.value) for member in kind]
    if get_origin(kind) in (Union, UnionType):
        return [value for choice in get_args(kind) for value in _values(choice)]
    return [value for value in get_args(kind) if isinstance(value, str)]


def _printed(text: str) -> str:
    return text.replace("None", "null").replace("\n", " ")


def _at(kind: Any, path: tuple[str, ...]) -> tuple[Any, str]:
    """Returns the type of the value at a path of attributes, and the meaning of the last attribute.

    What an amount of one resource means is said by the attribute before it.
    """
    about = ""
    for name in path:
        is_amount = kind in (Amounts, Amounts | None)
        kind, meaning = _attribute(kind, name)
        about = about if is_amount else meaning
    return kind, about


def _attribute(kind: Any, name: str) -> tuple[Any, str]:
    """Returns the type and the meaning of an attribute of a value of a type: of all values of a tuple, if not None."""
    if kind is NoneType:
        return NoneType, ""
    if kind is Amounts and name in RESOURCES:
        return Gpus | None if name == "gpu" else str | None, ""
    origin, parameters = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        types, meanings = zip(*(_attribute(choice, name) for choice in parameters), strict=True)
        return reduce(or_, types), next(filter(None, meanings), "")
    if name == "len":
        return int, ""
    if origin in (tuple, list, Sequence):
        inner, meaning = _attribute(parameters[0], name)
        return GenericAlias(tuple, (inner, ...)), meaning
    inner, meaning = _declared(origin or kind, name)
    if isinstance(inner, TypeVar):
        inner = parameters[origin.__parameters__.index(inner)]
    return inner, meaning


def _declared(kind: type, name: str) -> tuple[Any, str]:
    """Returns the type and the meaning of an attribute, as the class or a base declares it."""
    for base in kind.__mro__:
        if name in vars(base).get("__annotations__", {}):
            return _evaluated(base.__annotations__[name], base), field_docs(base).get(name, "")
        if name in vars(base):
            attribute = vars(base)[name]
            function = attribute.func if isinstance(attribute, cached_property) else attribute.fget
            return _evaluated(function.__annotations__["return"], base), inspect.getdoc(function) or ""
    raise AttributeError(f"{kind.__name__} has no {name}")


def _evaluated(annotation: Any, owner: type) -> Any:
    text = annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation
    return NoneType if text == "None" else eval(text, _names(owner.__module__))


@cache
def _names(module: str) -> dict[str, Any]:
    """Returns the names in a module, with names that it imports for type checkers alone."""
    names = dict(vars(sys.modules[module]))
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), module, "exec"), names)
    return names
