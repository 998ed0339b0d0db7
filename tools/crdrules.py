"""Reads what a CRD asks of values beyond their types: CEL rules, patterns, lengths and choices. Each becomes
a tree that ``kubectl_tas.kinds.crd_rules`` judges. A rule of another form needs a reason in ``UNREAD``.

Follows the CEL specification, and structural schemas of k8s.io/apiextensions-apiserver 0.35.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Tree = list[Any]
_TOKEN = re.compile(
    r"""\s*(?:(\d+)|([A-Za-z_]\w*)|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(\|\||&&|[!=<>]=|[][!<>()?:,.+]))"""
)
_LEVELS = (("||",), ("&&",), ("==", "!=", "<=", ">=", "<", ">", "in"), ("+",))
"""Operators of two operands, the loosest first."""
_METHODS = ("contains", "endsWith", "matches", "startsWith")
_LOOPS = ("all", "exists")
_CONSTANTS = {"true": True, "false": False}
_TIME = r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?([Zz]|[+-]\d\d:\d\d)$"
_FORMATS = {
    "byte": (r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$", "must be base64"),
    "date-time": (_TIME, "must be a time such as 2026-01-31T12:00:00Z"),
}
"""Formats of texts that the API server checks (go-openapi/strfmt): a pattern, and the rule in words."""
_CONVERTED = "render converts it to the spelling of the cluster's release (compile/passthrough.py)"
_EMPTY = "pack-empty says it, with the domains of the topology (check/clique_placement.py)"
_LATER = "the row of ComputeDomain says it, and knows the default of later drivers (compare/immutable.py)"
_NAMED = "the page's names say it for all releases, and of a name that is derived too (kinds/trainjob.py)"
UNREAD = {
    ("grove", "oldSelf.hasValue() || !has(self.spec.template.cliques)"): _CONVERTED,
    ("grove", "oldSelf.hasValue() || !has(self.spec.template.podCliqueScalingGroups)"): _CONVERTED,
    ("grove", "oldSelf.hasValue() || !has(self.spec.template.topologyConstraint)"): _CONVERTED,
    ("grove", "!(has(self.packDomain) && has(self.pack) && has(self.pack.required))"): _EMPTY,
    ("grove", "has(self.pack) || has(self.packDomain)"): _EMPTY,
    ("grove", "has(self.required) || has(self.preferred)"): _EMPTY,
    ("nvidia-dra", "self == oldSelf"): _LATER,
    ("trainer", "self.metadata.name.matches("): _NAMED,
    ("trainer", "size(self.metadata.name) <= 63"): _NAMED,
}
"""Rules that no tree stands for, by operator and the beginning of the rule, with what stands for each."""


class UnreadableRuleError(ValueError):
    """A rule has a form that no tree stands for."""


class ReadRule(NamedTuple):
    """A rule of a CRD on the values at a path."""

    path: str
    """The path in the notation of pages. A list with keys, whose items an update compares by them, has ``[KEYS]``."""
    tree: Tree
    message: str
    is_cel: bool
    defaults: dict[str, Any]
    """Defaults of the CRD that the rule sees, by their paths below the value."""


def paths(schema: Any) -> Iterator[str]:
    """Yields the paths of all fields of a schema."""
    yield from (path for path, _ in _parts(schema, ""))


def rules_of(operator: str, schema: Any, own: set[int]) -> Iterator[ReadRule | str]:
    """Yields the rules of a CRD's schema, and the text of each rule that ``UNREAD`` lists.

    ``own``: the ids of schemas for which patterns and lengths count. Those of pods are rules of Kubernetes.
    """
    own = set(own)
    for path, part in _parts(schema, ""):
        if id(part) in own:
            own.update(id(part[key]) for key in ("items", "additionalProperties") if isinstance(part.get(key), dict))
        for rule in part.get("x-kubernetes-validations", ()):
            text = " ".join(rule["rule"].split())
            if any(name == operator and text.startswith(begin) for name, begin in UNREAD):
                yield text
                continue
            tree = read(text)
            message = rule.get("message") or f"failed rule: {text}"
            yield ReadRule(path, tree, message, is_cel=True, defaults=_seen(part, tree))
        if id(part) in own:
            for tree, message in _bounds(part):
                yield ReadRule(path, tree, message, is_cel=False, defaults={})


def _parts(schema: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields each schema below a schema with its path."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for key, part in schema.get("properties", {}).items():
        if path or key != "status":
            yield from _parts(part, f"{path}.{key}".strip("."))
    keys = schema.get("x-kubernetes-list-map-keys", ())
    yield from _parts(schema.get("items"), f"{path}[{','.join(keys)}]")
    yield from _parts(schema.get("additionalProperties"), f"{path}.*")


def _seen(schema: Mapping[str, Any], tree: Tree) -> dict[str, Any]:
    """Returns the defaults of a schema that a rule sees."""
    whole = tree[0] == "==" and ["name", "self"] in tree
    named = set(re.findall(r"\w+", str(tree)))
    filled_in = {"self": schema["default"]} if "default" in schema else {}
    return filled_in | {
        re.sub(r"\[[^]]*\]", "[]", f"self.{path}".replace(".[", "[")): part["default"]
        for path, part in _parts(schema, "")
        if path and "default" in part and (whole or path.rpartition(".")[2] in named)
    }


def _bounds(schema: Mapping[str, Any]) -> Iterator[tuple[Tree, str]]:
    """Yields the rules of a schema's other keywords, in words too."""
    value, size = ["name", "self"], ["size", ["name", "self"]]
    is_list = schema.get("type") == "array"
    items = "items" if is_list else "characters"
    if "pattern" in schema and not schema.get("x-kubernetes-int-or-string"):
        yield ["matches", value, ["value", _pattern(schema["pattern"])]], f"must match {schema['pattern']}"
    if schema.get("format") in _FORMATS:
        pattern, message = _FORMATS[schema["format"]]
        yield ["matches", value, ["value", _pattern(pattern)]], message
    for keyword in ("minLength", "minItems"):
        if least := schema.get(keyword, 0):
            message = "must not be empty" if least == 1 else f"must have at least {least} {items}"
            yield [">=", size, ["value", least]], message
    for keyword in ("maxLength", "maxItems"):
        if keyword in schema:
            most = schema[keyword]
            yield ["<=", size, ["value", most]], f"must have at most {most} {items}"
    if "oneOf" in schema:
        names = [choice["required"][0] for choice in schema["oneOf"]]
        each: Tree = ["value", 0]
        for name in names:
            each = ["+", each, ["?", ["has", value, name], ["value", 1], ["value", 0]]]
        yield ["==", each, ["value", 1]], f"must have one of {', '.join(names)}"


def _pattern(pattern: str) -> str:
    r"""Returns a pattern of Go as Python has it: ``$`` is the end of the text, also if the text ends with a newline."""
    written = re.sub(r"(?<!\\)\$(?=$|\))", r"\\Z", pattern)
    re.compile(written)
    return written


def read(rule: str) -> Tree:
    """Reads a CEL expression. Raises ``UnreadableRuleError`` if no tree stands for it."""
    reader = _Reader(rule)
    tree = reader.expression()
    if reader.ahead:
        raise UnreadableRuleError(rule)
    return tree


class _Reader:
    """Reads the tokens of an expression from the left to the right."""

    def __init__(self, rule: str) -> None:
        self._rule, position, self._tokens = rule, 0, list[str]()
        while position < len(rule.rstrip()):
            token = _TOKEN.match(rule, position)
            if token is None:
                raise UnreadableRuleError(rule)
            self._tokens.append(token[0].strip())
            position = token.end()
        self._tokens.append("")

    @property
    def ahead(self) -> str:
        """The next token; '' at the end."""
        return self._tokens[0]

    def _take(self, *expected: str) -> str:
        if expected and self.ahead not in expected:
            raise UnreadableRuleError(self._rule)
        return self._tokens.pop(0)

    def expression(self) -> Tree:
        """Reads an expression with its operators."""
        condition = self._level(0)
        if self.ahead != "?":
            return condition
        self._take()
        first = self.expression()
        self._take(":")
        return ["?", condition, first, self.expression()]

    def _level(self, level: int) -> Tree:
        if level == len(_LEVELS):
            return self._unary()
        tree = self._level(level + 1)
        while self.ahead in _LEVELS[level]:
            tree = [self._take(), tree, self._level(level + 1)]
        return tree

    def _unary(self) -> Tree:
        if self.ahead == "!":
            self._take()
            return ["!", self._unary()]
        tree = self._primary()
        while self.ahead == ".":
            self._take()
            name = self._take()
            if self.ahead != "(":
                tree = [".", tree, name]
            elif name in _LOOPS:
                self._take("(")
                variable = self._take()
                self._take(",")
                tree = [name, tree, variable, self.expression()]
                self._take(")")
            else:
                tree = self._call(name, [tree])
        return tree

    def _call(self, name: str, operands: list[Tree]) -> Tree:
        self._take("(")
        while self.ahead != ")":
            operands.append(self.expression())
            if self.ahead == ",":
                self._take()
        self._take(")")
        if name == "has" and len(operands) == 1 and operands[0][0] == ".":
            return ["has", *operands[0][1:]]
        if name == "matches" and operands[1:] and operands[1][0] == "value":
            return [name, operands[0], ["value", _pattern(operands[1][1])]]
        if (name, len(operands)) not in {("size", 1), *((method, 2) for method in _METHODS if method != "matches")}:
            raise UnreadableRuleError(self._rule)
        return [name, *operands]

    def _primary(self) -> Tree:
        token = self._take()
        if token.isdecimal():
            return ["value", int(token)]
        if token[:1] in ("'", '"') and token:
            return ["value", ast.literal_eval(token)]
        if token == "(":
            tree = self.expression()
            self._take(")")
            return tree
        if token == "[":
            members = []
            while self.ahead != "]":
                members.append(self.expression())
                if self.ahead == ",":
                    self._take()
            self._take("]")
            return ["list", *members]
        if token in _CONSTANTS:
            return ["value", _CONSTANTS[token]]
        if not token.isidentifier():
            raise UnreadableRuleError(self._rule)
        return self._call(token, []) if self.ahead == "(" else ["name", token]
