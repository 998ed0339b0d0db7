"""Judges ValidatingAdmissionPolicies as an API server of Kubernetes 1.30 does: their validity, and refused requests.

Follows admissionregistration.k8s.io/v1: fields as in its API, CEL with Kubernetes' own functions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import celpy
from celpy import celtypes
from celpy.adapter import json_to_cel
from jsonschema import Draft202012Validator

Object = dict[str, Any]
MAX_EXPRESSION = 100_000
"""Code points that cel-go's parser accepts."""
_IDENTIFIER = r"^[_a-zA-Z][_a-zA-Z0-9]*$"
_QUALIFIED = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
RESERVED = {
    *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
    *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
}


def _closed(required: list[str], **properties: Any) -> Object:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def _list(items: Any, **limits: Any) -> Object:
    return {"type": "array", "items": items, **limits}


_CEL = {"type": "string", "minLength": 1, "maxLength": MAX_EXPRESSION}
_WORD = {"type": "string", "minLength": 1}
_WORDS = _list(_WORD, minItems=1)
_REQUIREMENT = {
    "oneOf": [
        _closed(["key", "operator", "values"], key=_WORD, operator={"enum": ["In"]}, values=_WORDS),
        _closed(["key", "operator"], key=_WORD, operator={"enum": ["Exists"]}),
    ]
}
_SELECTOR = _closed([], matchExpressions=_list(_REQUIREMENT))
_RULE = _closed(
    ["apiGroups", "apiVersions", "operations", "resources", "scope"],
    apiGroups=_list({"type": "string"}, minItems=1),
    apiVersions=_WORDS,
    operations=_list({"enum": ["CREATE", "UPDATE", "DELETE", "CONNECT", "*"]}, minItems=1),
    resources=_WORDS,
    scope={"enum": ["*", "Namespaced"]},
)
SPECS = {
    "ValidatingAdmissionPolicy": _closed(
        ["matchConstraints", "validations"],
        failurePolicy={"enum": ["Fail", "Ignore"]},
        paramKind=_closed(["apiVersion", "kind"], apiVersion=_WORD, kind=_WORD),
        matchConstraints=_closed(
            ["resourceRules"],
            namespaceSelector=_SELECTOR,
            objectSelector=_SELECTOR,
            resourceRules=_list(_RULE, minItems=1),
        ),
        matchConditions=_list(
            _closed(["name", "expression"], name={"type": "string", "pattern": _QUALIFIED}, expression=_CEL),
            maxItems=64,
        ),
        variables=_list(
            _closed(["name", "expression"], name={"type": "string", "pattern": _IDENTIFIER}, expression=_CEL)
        ),
        validations=_list(
            _closed(
                ["expression"],
                expression=_CEL,
                message={"type": "string"},
                messageExpression=_CEL,
                reason={"enum": ["Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"]},
            ),
            minItems=1,
        ),
    ),
    "ValidatingAdmissionPolicyBinding": _closed(
        ["policyName", "validationActions"],
        policyName=_WORD,
        paramRef=_closed(
            ["selector", "parameterNotFoundAction"],
            selector=_SELECTOR,
            parameterNotFoundAction={"enum": ["Allow", "Deny"]},
        ),
        validationActions=_list({"enum": ["Deny", "Warn", "Audit"]}, minItems=1, uniqueItems=True),
    ),
}
"""Schemas of the fields that the guard uses. Any other field of the API is an error here."""


@dataclass(frozen=True)
class Request:
    """A request to the API server."""

    resource: str
    new: Object
    old: Object | None = None
    namespace: str = "ml"
    user: str = "alice"
    groups: tuple[str, ...] = ()
    may_change_policies: bool = False

    @property
    def operation(self) -> str:
        return "CREATE" if self.old is None else "UPDATE"

    @property
    def variables(self) -> dict[str, Any]:
        _, *sub = self.resource.split("/")
        request = {
            "operation": self.operation,
            "namespace": self.namespace,
            "userInfo": {"username": self.user, "groups": [*self.groups, "system:authenticated"]},
            **({"subResource": sub[0]} if sub else {}),
        }
        known = {"object": self.new, "oldObject": self.old, "request": request, "authorizer": self.may_change_policies}
        return {name: json_to_cel(value) for name, value in known.items()}


def violations(item: Object) -> list[str]:
    """Returns why the server rejects a policy or a binding."""
    found = [error.message for error in Draft202012Validator(SPECS[item["kind"]]).iter_errors(item["spec"])]
    names = [variable["name"] for variable in item["spec"].get("variables", ())]
    found += [f"variable {name} is a reserved word" for name in names if name in RESERVED]
    found += [f"variable {name} is there twice" for name in set(names) if names.count(name) > 1]
    for index, variable in enumerate(item["spec"].get("variables", ())):
        used = set(re.findall(r"variables\.(\w+)", variable["expression"]))
        found += [f"{variable['name']} uses {name} before it is defined" for name in used - set(names[:index])]
    for part in (*item["spec"].get("matchConditions", ()), *item["spec"].get("validations", ())):
        known = set(names) if "name" not in part else set()  # match conditions see no variables
        used = set(re.findall(r"variables\.(\w+)", f"{part['expression']} {part.get('messageExpression', '')}"))
        found += [f"{part['expression']} uses {name}, which is not defined there" for name in used - known]
    return found


def refusals(objects: list[Object], request: Request, pod_groups: Sequence[Object] = ()) -> list[str]:
    """Returns the messages with which the bound policies among ``objects`` refuse a request. ``pod_groups`` are the
    PodGroups in the namespace of the request.
    """
    policies = {
        item["metadata"]["name"]: item["spec"] for item in objects if item["kind"] == "ValidatingAdmissionPolicy"
    }
    bindings = [item["spec"] for item in objects if item["kind"] == "ValidatingAdmissionPolicyBinding"]
    known = request.variables
    return [
        message
        for binding in bindings
        for param in (pod_groups if "paramRef" in binding else (None,))
        for message in _judge(policies[binding["policyName"]], request, {**known, "params": json_to_cel(param)})
    ]


def _selects(selector: Object, labels: Object) -> bool:
    return all(
        item["key"] in labels and (item["operator"] == "Exists" or labels[item["key"]] in item["values"])
        for item in selector.get("matchExpressions", ())
    )


def _judge(policy: Object, request: Request, known: dict[str, Any]) -> list[str]:
    constraints = policy["matchConstraints"]
    if not _selects(constraints.get("namespaceSelector", {}), {"kubernetes.io/metadata.name": request.namespace}):
        return []
    labels = [item.get("metadata", {}).get("labels", {}) for item in (request.new, request.old) if item is not None]
    if not any(_selects(constraints.get("objectSelector", {}), some) for some in labels):
        return []
    if not any(_reaches(rule, request) for rule in constraints["resourceRules"]):
        return []
    if not all(_boolean(condition["expression"], known) for condition in policy.get("matchConditions", ())):
        return []
    values = celtypes.MapType()
    scope = {**known, "variables": values}
    for variable in policy.get("variables", ()):
        values[celtypes.StringType(variable["name"])] = _evaluate(variable["expression"], scope)
    found = []
    for validation in policy["validations"]:
        if not _boolean(validation["expression"], scope):
            message = _evaluate(validation["messageExpression"], scope)
            assert isinstance(message, str), validation["messageExpression"]
            assert "\n" not in message, "a message has one line"
            found.append(str(message))
    return found


def _reaches(rule: Object, request: Request) -> bool:
    group, _, version = request.new["apiVersion"].rpartition("/")
    return (
        group in rule["apiGroups"]
        and (version in rule["apiVersions"] or "*" in rule["apiVersions"])
        and request.operation in rule["operations"]
        and any(_names(resources, request.resource) for resources in rule["resources"])
    )


def _names(resources: str, resource: str) -> bool:
    """Whether a rule names a resource. ``*`` means all without subresources, ``*/status`` every status."""
    kind, _, sub = resource.partition("/")
    wanted, _, wanted_sub = resources.partition("/")
    return wanted in ("*", kind) and wanted_sub == sub


def _boolean(expression: str, scope: dict[str, Any]) -> bool:
    value = _evaluate(expression, scope)
    assert isinstance(value, celtypes.BoolType), f"{expression} gives {value!r}"
    return bool(value)


def evaluate(variables: Iterable[tuple[str, str]], item: Object) -> dict[str, Any]:
    """Evaluates ``variables`` with ``item`` as ``object``. Each expression may use the variables before it."""
    values = celtypes.MapType()
    scope = {"object": json_to_cel(item), "variables": values}
    for name, expression in variables:
        values[celtypes.StringType(name)] = _evaluate(expression, scope)
    return {str(name): value for name, value in values.items()}


@dataclass
class Evaluations:
    """The number of evaluated expressions."""

    number: int = 0


_COUNTERS: list[Evaluations] = []


@contextmanager
def count_evaluations() -> Iterator[Evaluations]:
    """Counts the expressions that are evaluated in the block."""
    counted = Evaluations()
    _COUNTERS.append(counted)
    try:
        yield counted
    finally:
        _COUNTERS.remove(counted)


def _evaluate(expression: str, scope: dict[str, Any]) -> Any:
    for counter in _COUNTERS:
        counter.number += 1
    return _program(expression).evaluate(scope)


class Quantity(celtypes.StringType):
    """A quantity, represented by its number."""

    def __new__(cls, number: Decimal) -> Quantity:
        found = super().__new__(cls, number)
        found.number = number
        return found

    number: Decimal


_MULTIPLES = {
    "n": "1e-9",
    "u": "1e-6",
    "m": "1e-3",
    "": "1",
    "k": "1e3",
    "M": "1e6",
    "G": "1e9",
    "T": "1e12",
    "P": "1e15",
}
_BINARY = {f"{letter}i": 1024**power for power, letter in enumerate("KMGT", 1)}


def _quantity(text: Any) -> Quantity:
    assert isinstance(text, celtypes.StringType)
    found = re.fullmatch(r"([0-9]*[.]?[0-9]*)([umkMGT]?|[KMGT]i|[eE][-+]?[0-9]+)", text)
    assert found, f"{text} is no amount that a server takes"
    number, unit = Decimal(found[1]), found[2]
    if unit in _BINARY:
        return Quantity(number * _BINARY[unit])
    return Quantity(number * Decimal(_MULTIPLES.get(unit, f"1{unit}")))


def _integer(quantity: Quantity) -> celtypes.IntType:
    assert quantity.number == int(quantity.number), f"{quantity.number} is no integer"
    return celtypes.IntType(int(quantity.number))


def _same(numbers: Any, number: Any) -> Any:
    """Returns a number of the same type as the others; celpy adds doubles to a float."""
    assert len({isinstance(item, float) for item in numbers}) == 1, f"{numbers} are of different types"
    return celtypes.DoubleType(number) if isinstance(number, float) else celtypes.IntType(number)


FUNCTIONS: dict[str, Any] = {
    "quantity": _quantity,
    "asInteger": _integer,
    "asApproximateFloat": lambda quantity: celtypes.DoubleType(float(quantity.number)),
    "sum": lambda numbers: _same(numbers, sum(numbers)),
    "max": lambda numbers: _same(numbers, max(numbers)),
    "min": lambda numbers: _same(numbers, min(numbers)),
    "split": lambda text, separator: celtypes.ListType(celtypes.StringType(part) for part in text.split(separator)),
    "join": lambda texts, separator: celtypes.StringType(separator.join(texts)),
    "indexOf": lambda items, item: celtypes.IntType(items.index(item) if item in items else -1),
    "format": lambda _, parts: celtypes.StringType(json.dumps(parts[0], separators=(", ", ":"))),
    "findAll": lambda text, pattern, most: celtypes.ListType(
        celtypes.StringType(found) for found in re.findall(pattern, text)[:most]
    ),
    "replace": lambda text, old, new: celtypes.StringType(text.replace(old, new)),
    "trim": lambda text: celtypes.StringType(text.strip()),
    **dict.fromkeys(("group", "resource", "name", "check"), lambda may, _: may),
    "allowed": lambda may: may,
}
"""The functions of Kubernetes' CEL libraries that the policies use."""


_ENVIRONMENT = celpy.Environment()
"""Created on import, since it raises Python's recursion limit. Hypothesis forbids that while a test runs."""


@cache
def _program(expression: str) -> Any:
    return _ENVIRONMENT.program(_ENVIRONMENT.compile(expression), functions=FUNCTIONS)
