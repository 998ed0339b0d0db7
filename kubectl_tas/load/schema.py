"""Converts a document's data to its frozen model, or finds every violation of its JSON Schema.

The models accept valid data immediately. jsonschema checks only data that a model refuses or that contain empty values.
Its findings become readable messages. A List of Kubernetes is split into its items first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from kubectl_tas.base.diagnostics import Diagnostic, Rule, Severity, Suggestion
from kubectl_tas.base.late import imported
from kubectl_tas.base.resources import read_resource
from kubectl_tas.base.words import did_you_mean
from kubectl_tas.base.yaml import LargeNumber, flow
from kubectl_tas.facts import times
from kubectl_tas.facts.quantities import SUFFIXES
from kubectl_tas.kinds.section import written
from kubectl_tas.load.document import Document
from kubectl_tas.load.kinds import Kind
from kubectl_tas.load.reader import MAX_DIGITS
from kubectl_tas.load.syntax import LEFT_OUT, LEFT_OUT_HINT
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin

if TYPE_CHECKING:
    from kubectl_tas.model.workloads import Workload

UNKNOWN_FIELD = Rule(
    "unknown-field",
    Severity.ERROR,
    "A field is not one that its kind has.",
    "Nothing reads such a field, so it has no effect, and nobody notices. Correct its spelling or its indentation, or "
    "remove it.",
)
MISSING_FIELD = Rule(
    "missing-field",
    Severity.ERROR,
    "A field that must be there is missing.",
    "No default would be right for everyone. Add the field.",
)
WRONG_TYPE = Rule(
    "wrong-type",
    Severity.ERROR,
    "A value is of another type than its field.",
    "kubectl-tas converts no values, because YAML often guesses wrong: an unquoted 0.10 is the number 0.1, and an "
    "unquoted yes is text. Write the value in the type that the message names.",
)
INVALID_VALUE = Rule(
    "invalid-value",
    Severity.ERROR,
    "A value is not one that its field accepts.",
    "The message says which values are accepted.",
)

MAX_LISTED = 20
"""The most fields that a message lists; some Kubernetes kinds have more."""
YAML_1_1 = ("yes", "no", "on", "off")
"""Words that YAML 1.1 reads as true or false."""
CALLED_OTHERWISE = {"clusterTopologyName": "topologyName"}
"""Field names that appear only in documentation, with the real name: Grove's v1alpha1 has topologyName alone."""
_NO_KIND = "An OSMO workflow is recognized by its root key workflow, and has neither apiVersion nor kind; remove it."
MEANT = {
    ("workflow", "apiVersion"): _NO_KIND,
    ("workflow", "kind"): _NO_KIND,
    ("namespaces", "namespace"): "Write namespaces, which is a list, such as [ml].",
    **{
        (field, key): f"Write it below queue, as queue: {{{key}: {{team: a}}}}: the Queue gets it."
        for field in ("sharedQueue", "draining")
        for key in ("labels", "annotations")
    },
    ("topology_keys", "subpools"): "A subpool is a document of its own: kind Subpool, with spec.parent.",
}
"""Hints for a field that users expect next to another field."""
_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "empty",
}


_OF_MODELS = {
    "int_type": "integer",
    "string_type": "string",
    "bool_type": "boolean",
    "tuple_type": "array",
    "dict_type": "object",
    "model_type": "object",
}
"""The JSON Schema type for each of pydantic's type errors; used for kinds without a schema."""


def read_model(kind: Kind, document: Document) -> tuple[BaseModel | Workload | None, list[Diagnostic]]:
    """Returns the model of a document, or None and at least one diagnostic."""
    normalize = kind.normalize if document.has_null or kind.page is None else None  # workloads lose their nulls alone
    data = normalize(document.data) if normalize else document.data
    errors: Sequence[Any] = []
    model: BaseModel | Workload | None = None
    if kind.page is not None:
        model, errors = imported("kubectl_tas.model.workloads:read")(kind.page, data)
    else:
        try:
            model = kind.model.model_validate(data)
        except ValidationError as error:
            errors = error.errors(include_url=False)
    if model is not None and (kind.normalize or not document.has_null):
        return model, []
    refused = [_from_model(item, document) for item in errors if not _lacks_refused(item, errors)]
    found = (
        [d for problem in validator(kind.schema).iter_errors(data) for d in _explain(problem, document)]
        if kind.schema
        else []
    )
    found = found or refused
    return (None if found else model), found


@cache
def validator(name: str) -> Any:
    """Returns jsonschema's validator of a kind, as strict as the model. The number 4.0 is not an integer, and ``$`` in
    a pattern is the end of the text, as in editors.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    schema = json.loads(read_resource(f"schemas/{name}.json"))

    def of_part(validator: Any, reference: str, value: Any, _schema: Any) -> Iterator[Any]:
        """Replaces jsonschema's ``$ref``, which resolves each reference again at each value; all lead to ``$defs``."""
        yield from validator.descend(value, schema["$defs"][reference.rpartition("/")[2]])

    keywords = {"pattern": _pattern, "$ref": of_part}
    return extend(Draft202012Validator, keywords, type_checker=checker)(schema)  # type: ignore[no-untyped-call]


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError as Refusal

    if isinstance(value, str) and not _to_the_end(pattern).search(value):
        yield Refusal(f"{value!r} does not match {pattern!r}")


@cache
def _to_the_end(pattern: str) -> re.Pattern[str]:
    """Compiles a schema's pattern so that ``$`` means the end of the text, and not also before a last line break."""
    return re.compile(re.sub(r"\$$", r"\\Z", pattern))


def _explain(error: Any, document: Document) -> Iterator[Diagnostic]:
    """Yields a readable finding for one of jsonschema's errors, at the line of the key."""
    path: KeyPath = tuple(error.absolute_path)
    value, expected, schema = error.instance, error.validator_value, error.schema
    if "propertyNames" in error.relative_schema_path:
        rule, hint = _bound(error.validator, expected, schema), _within(error.validator, expected, schema)
        yield wrong_key(document, path, value, rule, hint)
        return
    match error.validator:
        case "additionalProperties":
            known = tuple(schema.get("properties", ()))
            yield from (unknown_field(document, path, key, known) for key in value if key not in known)
        case "required":
            for key in expected:
                if key not in value:
                    yield missing_field(document, path, key, schema, tuple(schema.get("properties", ())))
        case "anyOf":
            yield from _explain_union(error, document)
        case "type" if "enum" in schema and value is not None:
            return  # the words that it may be are told by that
        case "type":
            yield wrong_type(document, path, value, [expected], schema)
        case "enum" | "const":
            choices = expected if error.validator == "enum" else [expected]
            yield _no_choice(document, path, value, choices, schema)
        case keyword:
            hint = _within(keyword, expected, schema)
            yield invalid_value(document, path, _bound(keyword, expected, schema), value, hint)


def _explain_union(error: Any, document: Document) -> Iterator[Diagnostic]:
    """Yields the errors of the one branch whose type fits, or one finding with all accepted types.

    Words next to a pattern are some of many accepted texts, so the pattern says what is accepted.
    """
    types = [branch.get("type") for branch in error.validator_value]
    texts: list[dict[str, Any]] = [branch for branch in error.validator_value if "pattern" in branch]
    others = ("type", "enum", "const") if texts else ("type",)
    depth = len(error.absolute_path)  # an error below the value is one of the branch whose type fits
    fitting = [inner for inner in error.context if inner.validator not in others or len(inner.absolute_path) > depth]
    if fitting and fitting[0].validator == "enum" and "boolean" in types:
        path, choices = tuple(error.absolute_path), ["true", "false", *fitting[0].validator_value]
        yield _no_choice(document, path, error.instance, choices, error.schema)
    elif fitting:
        yield from _explain(fitting[0], document)
    else:
        named = list(dict.fromkeys(name for name in types if name))
        yield wrong_type(document, tuple(error.absolute_path), error.instance, named, texts[0] if texts else {})


def _no_choice(
    document: Document, path: KeyPath, value: Any, choices: Sequence[Any], schema: Mapping[str, Any]
) -> Diagnostic:
    """Returns the finding for a value outside ``choices``; without a similar choice, the hint describes the field."""
    hint = _closest(value, choices)
    if "true" in choices and isinstance(value, str) and value.lower() in YAML_1_1:
        hint = _as_text(value)
    meaning = " ".join(str(schema.get("description", "")).split()) if len(choices) > 1 else ""
    return invalid_value(document, path, f"must be {_choices(choices)}", value, hint or meaning)


def unknown_field(
    document: Origin, path: KeyPath, key: str, known: Sequence[str], *, otherwise: str = ""
) -> Diagnostic:
    """Returns the finding for a key that is not among the ``known`` fields of the mapping at ``path``. ``otherwise`` is
    the hint if no known field is similar.
    """
    other = CALLED_OTHERWISE.get(key)
    meant = next((MEANT[beside, key] for beside in known if (beside, key) in MEANT), "")
    renamed = Suggestion(f"It is called {other} here.", key, other) if other and other in known else ""
    close = renamed or meant or _closest(key, known)
    where = written(path)
    close = LEFT_OUT_HINT if key == LEFT_OUT else close
    hint = close or otherwise or (f"Fields here: {', '.join(known)}." if 0 < len(known) <= MAX_LISTED else "")
    message = f'unknown field "{key}"' + (f" in {where}" if where else "")
    return Diagnostic(UNKNOWN_FIELD, message, document.locate((*path, key), key=True), hint=hint)


def missing_field(
    document: Origin, path: KeyPath, key: str, schema: Mapping[str, Any], known: Collection[str] = ()
) -> Diagnostic:
    """Returns the finding for a missing field, described by the ``schema`` of its mapping. If an unknown key of the
    mapping looks like a misspelling of the field, the finding is about that key.
    """
    there = document.value(path)
    for other in there if isinstance(there, dict) else ():
        if other not in (key, *known) and _closest(other, (key,)):
            return unknown_field(document, path, other, tuple(known) or (key,))
    where = written(path)
    message = f'the field "{key}" is missing' + (f" in {where}" if where else "")
    meaning = " ".join(schema.get("properties", {}).get(key, {}).get("description", "").split())
    hint = f"Add {key}: {meaning}" if meaning else f"Add {key}."
    return Diagnostic(MISSING_FIELD, message, document.locate(path, key=True), hint=hint)


def wrong_type(
    document: Origin, path: KeyPath, value: Any, types: Sequence[str], schema: Mapping[str, Any]
) -> Diagnostic:
    """Returns the finding for a value that has none of the JSON Schema ``types``."""
    location = document.locate(path, key=value is None)
    types = [name for name in types if not (name == "integer" and "number" in types)]
    wanted = "must be " + " or ".join(_TYPES[name] for name in types)
    source = document.source_text(path)
    lacks_quotes = "string" in types and source is not None and re.search(schema.get("pattern", ""), source)
    if not lacks_quotes:
        wanted = schema.get("patternErrorMessage", wanted)
    if value is None:
        message, hint = f"{written(path)} has no value; it {wanted}", "Write one, or remove the key."
        return Diagnostic(WRONG_TYPE, message, location, hint=hint)
    if isinstance(value, LargeNumber) and not lacks_quotes:
        message = f"{written(path)} is too large a number: {_shown(value, source)}"
        return Diagnostic(WRONG_TYPE, message, location, hint=f"Use at most {MAX_DIGITS} digits.")
    message = f"{written(path) or 'the document'} {wanted}, not {_shown(value, source)}"
    if lacks_quotes:
        examples = schema.get("examples")
        hint = f'Write it with its unit, such as "{examples[0]}".' if examples else f'Put it in quotes: "{source}".'
    else:
        hint = LEFT_OUT_HINT if value == LEFT_OUT else _type_hint(path, value, types, schema)
    return Diagnostic(WRONG_TYPE, message, location, hint=hint)


def _type_hint(path: KeyPath, value: Any, types: Sequence[str], schema: Mapping[str, Any]) -> str:
    """Returns a hint for a value of a wrong type, if quotes alone would not help."""
    if "boolean" in types and isinstance(value, str) and value.lower() in YAML_1_1:
        return _as_text(value)
    if "patternErrorHint" in schema and not isinstance(value, (dict, list)):
        return str(schema["patternErrorHint"])
    if "integer" in types and isinstance(value, float):
        return f"Write {int(value)}." if value.is_integer() else "Write it without a fraction."
    if "integer" in types and isinstance(value, str) and value.endswith("%"):
        if "Utilization" in str(path[-1:]) and value[:-1].isdecimal():  # HorizontalPodAutoscaler: a share by itself
            return f"Write {value[:-1]}."
        return "Write a number; only the quota of a subpool can be a share."
    if {"integer", "number"} & set(types) and isinstance(value, str) and value.strip()[:1].isdecimal():
        field = next((step for step in reversed(path) if isinstance(step, str)), "")
        if field in ("mode", "defaultMode") and re.fullmatch("0[0-7]{3}", value):
            return f"Write {value}, without quotes."
        return _number_hint(field, value.strip(), whole="number" not in types)
    if "array" in types and schema.get("items", {}).get("type") == "string" and re.fullmatch(r"[^\s{]+", str(value)):
        return f"Write a list: {flow([str(value)])}."
    if "array" in types:
        return "Write a list: a '-' before each item."
    if "object" in types:
        fields = "" if isinstance(schema.get("additionalProperties"), dict) else ", ".join(schema.get("properties", ()))
        return f"Write a mapping with {fields}." if fields else "Write a mapping: 'key: value' lines."
    return "Write one value, not a list." if isinstance(value, list) else ""


def _number_hint(field: str, text: str, *, whole: bool) -> str:
    """Returns a hint for a text that begins with a number: the number in the unit that the field's name implies."""
    time = times.in_unit_of(field, text)
    if time is not None:
        return f"The unit is that of the field: write {time}, without quotes."
    plain = re.sub(r"(?<=\d)[,_' ](?=\d{3}(?!\d))", "", text)
    amount = re.fullmatch(r"(\d+)(\.\d+)?\s*([A-Za-z%][A-Za-z% /]*)?", plain)
    if amount is None or (amount[2] and whole):
        return f"Write a {'whole ' if whole else ''}number, without quotes or a unit."
    if len(amount[1]) > MAX_DIGITS:
        return "The number is too large."
    factor = SUFFIXES.get(amount[3] or "", Decimal(1))
    number = amount[1] if factor < 1 else f"{Decimal(amount[1] + (amount[2] or '')) * factor:f}"
    return f"Write the number alone, without quotes or a unit: {number}."


def _as_text(value: str) -> str:
    return f'YAML 1.2 reads "{value}" as text; write true or false.'


def invalid_value(document: Origin, path: KeyPath, rule: str, value: Any, hint: str = "") -> Diagnostic:
    """Returns a finding about the value at ``path``."""
    shown = "" if isinstance(value, (dict, list)) or value == "" else f", not {_shown(value, None)}"
    message = f"{written(path) or 'the document'} {rule}{shown}"
    return Diagnostic(INVALID_VALUE, message, document.locate(path), hint=LEFT_OUT_HINT if value == LEFT_OUT else hint)


def wrong_key(document: Origin, path: KeyPath, key: str, rule: str, hint: str = "") -> Diagnostic:
    """Returns a finding about a key of the mapping at ``path``."""
    message = f"a key in {written(path)} {rule}, not {_shown(key, None)}"
    return Diagnostic(INVALID_VALUE, message, document.locate((*path, key), key=True), hint=hint)


def _bound(keyword: str, expected: Any, schema: dict[str, Any]) -> str:
    """Returns the demand of a JSON Schema keyword in words."""
    match keyword:
        case "pattern":
            return str(schema.get("patternErrorMessage", f"must match {expected}"))
        case "minimum":
            return f"must be at least {expected}"
        case "maximum":
            return str(schema.get("patternErrorMessage", f"must be at most {expected}"))
        case "minItems" | "minLength" | "minProperties":
            return "must not be empty"
        case "maxLength":
            return f"must have at most {expected} characters"
        case _:
            return f"breaks the rule {keyword}: {expected}"


def _within(keyword: str, expected: Any, schema: dict[str, Any]) -> str:
    """Returns a hint for a value that violates a JSON Schema keyword; '' if the message already says enough."""
    match keyword:
        case "pattern":
            return str(schema.get("patternErrorHint", ""))
        case "maximum" if "patternErrorHint" in schema:
            return str(schema["patternErrorHint"])
        case "minimum":
            return f"Use {expected} or more."
        case "maximum":
            return f"Use {expected} or less."
        case _:
            return ""


def _lacks_refused(item: Any, errors: Sequence[Any]) -> bool:
    """Whether a list is too short only because its items are refused."""
    path = item["loc"]
    return item["type"] == "too_short" and any(other["loc"][: len(path)] == path != other["loc"] for other in errors)


def _from_model(item: Any, document: Document) -> Diagnostic:
    """Returns the finding for data that the model refuses and the schema accepts."""
    path: KeyPath = tuple(item["loc"])
    message = item["msg"].removeprefix("Value error, ")
    if path[-1:] == ("[key]",):
        return wrong_key(document, path[:-2], str(path[-2]), f"is not valid: {message}")
    if item["type"] in _OF_MODELS:
        return wrong_type(document, path, item["input"], (_OF_MODELS[item["type"]],), {})
    return invalid_value(document, path, f"is not valid: {message}", item.get("input"))


def _closest(value: Any, choices: Sequence[str]) -> str:
    return did_you_mean(str(value), choices, folds=True)


def _choices(choices: Sequence[Any]) -> str:
    return str(choices[0]) if len(choices) == 1 else "one of " + ", ".join(str(choice) for choice in choices)


def _shown(value: Any, written: str | None) -> str:
    if isinstance(value, (dict, list)):
        return _TYPES["object" if isinstance(value, dict) else "array"]
    if isinstance(value, bool) or value is None:
        return written or str(value).lower()
    text = written if written is not None and not isinstance(value, str) else str(value)
    text = text if len(text) <= 60 else text[:57] + "..."
    return f'"{text}"' if isinstance(value, str) else text


_LIST_FIELDS = ("apiVersion", "kind", "metadata", "items")


def items_of(document: Document) -> Iterator[Document | Diagnostic]:
    """Yields the document, or all items of a List and of nested Lists, and findings about the Lists themselves."""
    data = document.data
    if not (isinstance(data, dict) and (data.get("kind"), data.get("apiVersion")) == ("List", "v1")):
        yield document
        return
    yield from (unknown_field(document, (), key, _LIST_FIELDS) for key in data if key not in _LIST_FIELDS)
    items = data.get("items")
    if "items" not in data:
        yield missing_field(document, (), "items", {}, _LIST_FIELDS)
    elif items is not None and not isinstance(items, list):
        yield wrong_type(document, ("items",), items, ("array",), {})
    else:
        for index in range(len(items or ())):
            yield from items_of(document.part(("items", index)))
