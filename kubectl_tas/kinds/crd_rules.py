"""Judges what CRDs ask of values beyond their types: CEL rules, patterns, lengths and choices, by release of the
operator. ``tools.packfields`` packs each rule as a tree: an operator, and its operands. Knows no kind.

Follows k8s.io/apiextensions-apiserver 0.35: rules see the defaults of the CRD, and an absent field has no rules.
"""

from __future__ import annotations

import operator as functions
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

from kubectl_tas.kinds.kubernetes import nearest_of, read_packed
from kubectl_tas.kinds.section import Document, path_steps, value_at, values_at
from kubectl_tas.model.base import KeyPath

OLD = "oldSelf"
"""The name of the value before an update. Only updates have rules with it."""
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "!": functions.not_,
    "==": functions.eq,
    "!=": functions.ne,
    "<=": functions.le,
    ">=": functions.ge,
    "<": functions.lt,
    ">": functions.gt,
    "+": functions.add,
    "in": lambda value, values: value in values,
    "size": len,
    "contains": functions.contains,
    "endsWith": str.endswith,
    "startsWith": str.startswith,
    "matches": lambda text, pattern: re.search(pattern, text, re.ASCII) is not None,
    "list": lambda *values: list(values),
}


class CrdRule(NamedTuple):
    """A rule of some releases, as ``tools.crdrules`` reads it from the CRD."""

    since: int
    until: int
    """Index of the last release with the rule."""
    oldest: int
    """Index of the first release that has the field."""
    newest: int
    tree: list[Any]
    message: str
    is_cel: bool
    """Whether it is a CEL rule, whose message is the CRD's own."""
    defaults: Mapping[str, Any]
    """Defaults of the CRD that the rule sees, by their paths from ``self`` on."""

    def refusal(self, value: Any, old: Any = None) -> str:
        """Returns why a value breaks the rule; '' if it does."""
        return _refusal(self.tree, {"self": self.completed(value), OLD: self.completed(old)}, self.message)

    def completed(self, value: Any) -> Any:
        """Returns a value with the defaults of the CRD."""
        if not self.defaults:
            return value
        whole = {"self": deepcopy(value)}
        for path, default in self.defaults.items():
            for _, mapping in values_at(whole, path_steps(path)[:-1]):
                if isinstance(mapping, dict) and mapping.get(path_steps(path)[-1]) is None:
                    mapping[path_steps(path)[-1]] = deepcopy(default)
        return whole["self"]


class BrokenRule(NamedTuple):
    """A value that breaks a rule."""

    rule: CrdRule
    message: str
    path: KeyPath
    value: Any
    old: Any


_Tree = dict[str, Any]
"""Rules by the steps of their path: each step has the tree below it, and '' the rules of the value itself."""


def broken_rules(operator: str, version: str | None, document: Document) -> Iterator[BrokenRule]:
    """Yields the rules that a new object breaks. Without a version, each release that has the field must refuse the
    value.
    """
    index = None if version is None else nearest_of(operator, version)
    for path, value, _, rules in _walk(_rules(operator, index, is_update=False, kind_key=_key(document)), (), document):
        broken = [rule for rule in rules if value is not None and rule.refusal(value)]
        refusing = [{*range(rule.since, rule.until + 1)} for rule in broken]
        asked_releases = {*range(broken[-1].oldest, broken[-1].newest + 1)} if broken and index is None else {index}
        alone = [rule for rule, releases in zip(broken, refusing, strict=True) if asked_releases <= releases]
        for rule in alone or (broken[-1:] if asked_releases <= set().union(*refusing) else ()):
            blamed = _blamed(rule.tree, "self", value) if rule.is_cel else ()
            yield BrokenRule(rule, rule.refusal(value), (*path, *blamed), value, None)


def rules_broken_by_update(
    operator: str, version: str | None, before: Document, after: Document
) -> Iterator[BrokenRule]:
    """Yields the rules that an update breaks. Without a version, the newest release counts."""
    index = len(read_packed(operator)["releases"]) - 1 if version is None else nearest_of(operator, version)
    tree = _rules(operator, index, is_update=True, kind_key=_key(after))
    for path, value, old, rules in _walk(tree, (), after, before):
        for rule in rules:
            new, earlier = rule.completed(value), rule.completed(old)
            if new is not None and earlier is not None and (refusal := rule.refusal(value, old)):
                yield BrokenRule(rule, refusal, path, new, earlier)


def _key(document: Document) -> str:
    return f"{document.get('apiVersion')} {document.get('kind')}"


@cache
def _rules(operator: str, index: int | None, *, is_update: bool, kind_key: str) -> _Tree:
    """Returns the rules of a release, or of all, on a kind."""
    packed, root = read_packed(operator), _Tree()
    for path, since, until, oldest, newest, number in packed["rules"].get(kind_key, ()):
        rule = CrdRule(since, until, oldest, newest, *packed["trees"][number])
        if is_update == (OLD in str(rule.tree)) and (index is None or since <= index <= until):
            node = root
            for step in filter(None, path.replace("[", ".[").split(".")):
                node = node.setdefault(step, {})
            node.setdefault("", []).append(rule)
    return root


def _walk(tree: _Tree, path: KeyPath, value: Any, old: Any = None) -> Iterator[tuple[KeyPath, Any, Any, list[CrdRule]]]:
    """Yields the values that have rules: path, value, value before the update, and rules."""
    if "" in tree:
        yield path, value, old, tree[""]
    for step, below in tree.items():
        if step:
            for key, child_value, before in _parts(step, value, old):
                if child_value is not None or "" in below:
                    yield from _walk(below, (*path, key), child_value, before)


def _parts(step: str, value: Any, old: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """Yields the parts of a value at a step, each with what it was before the update."""
    if step.startswith("["):
        keys = step[1:-1].split(",")
        old_items = old if isinstance(old, list) else ()
        earlier = {str(_named(list_value, keys)): list_value for list_value in old_items} if step != "[]" else {}
        for index, list_value in enumerate(value if isinstance(value, list) else ()):
            yield index, list_value, earlier.get(str(_named(list_value, keys)))
    elif isinstance(value, dict):
        earlier = old if isinstance(old, dict) else {}
        for key in value if step == "*" else (step,):
            yield key, value.get(key), earlier.get(key)


def _blamed(tree: list[Any], name: str, value: Any) -> KeyPath:
    """Returns the path below a value of the first field that a rule names and the value has."""
    if tree[0] == "all" and (steps := _steps(tree[1], name)) is not None:
        for index, member in enumerate(value_at(value, *steps) or ()):
            if _refusal(tree[3], {tree[2]: member}, "refused"):
                return (*steps, index, *_blamed(tree[3], tree[2], member))
    steps = _steps(tree, name)
    if steps and value_at(value, *steps) is not None:
        return steps
    operand_paths = (_blamed(operand, name, value) for operand in tree[1:] if isinstance(operand, list) and operand)
    return next(filter(None, operand_paths), ())


def _steps(tree: list[Any], name: str) -> KeyPath | None:
    """Returns the path of a field below a name; None for any other tree."""
    if tree == ["name", name]:
        return ()
    above = _steps(tree[1], name) if tree[0] in (".", "has") else None
    return None if above is None else (*above, tree[2])


def _refusal(tree: list[Any], names: Mapping[str, Any], message: str) -> str:
    """Returns the message if a rule does not hold. It does for a value of another type, which another rule reports."""
    try:
        return "" if _value(tree, names) else message
    except LookupError as absent:  # the API server refuses an object for which a rule has no value
        return f"a rule reads {absent.args[0]}, which is absent"
    except (TypeError, AttributeError):
        return ""


def _named(mapping: Any, keys: list[str]) -> list[Any]:
    return [mapping.get(key) if isinstance(mapping, dict) else None for key in keys]


def _value(tree: list[Any], names: Mapping[str, Any]) -> Any:
    """Returns the value of a tree. Raises ``LookupError`` for an absent field, and ``TypeError`` for a wrong type."""
    operator, *operands = tree
    match operator:
        case "value":
            return operands[0]
        case "name":
            return names[operands[0]]
        case "." | "has":
            holder = _value(operands[0], names)
            if not isinstance(holder, dict):
                raise TypeError(operands[1])
            field_value = holder.get(operands[1])
            if operator == "has":
                return field_value is not None
            if field_value is None:
                raise LookupError(operands[1])
            return field_value
        case "?":
            return _value(operands[1] if _value(operands[0], names) else operands[2], names)
        case "||" | "&&":
            return _joined(operator == "||", [(each, names) for each in operands])
        case "all" | "exists":
            members, name, condition = _value(operands[0], names), operands[1], operands[2]
            return _joined(operator == "exists", [(condition, {**names, name: member}) for member in members])
        case _:
            return _FUNCTIONS[operator](*(_value(each, names) for each in operands))


def _joined(decisive: object, conditions: list[tuple[list[Any], Mapping[str, Any]]]) -> bool:
    """Returns ``decisive`` if a condition has this value, even if another has no value."""
    absent: LookupError | None = None
    for tree, names in conditions:
        try:
            if _value(tree, names) is decisive:
                return bool(decisive)
        except LookupError as error:
            absent = error
    if absent is not None:
        raise absent
    return not decisive
