"""The filters, tests and methods that a template may use, as Jinja and Python have them; each counts what it makes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from math import ceil, floor
from typing import Any

from kubectl_tas.jinja.bounds import (
    TEMPLATE_UNSUPPORTED,
    TEMPLATE_VALUE,
    Budget,
    Missing,
    Refusal,
    kind,
    needed,
    truth,
)
from kubectl_tas.words import did_you_mean

MAX_WIDTH = 1000
"""Characters that a number or a text is padded to."""
MAX_DIGITS = 18
"""Digits of a text that becomes a number."""
Function = Callable[..., Any]
"""Takes the budget, the value, and arguments."""
_DIRECTIVE = re.compile(r"%(?:%|[-+ #0]*([0-9]*)(?:\.([0-9]*))?([a-zA-Z]))")


def field(value: Any, name: str | int) -> Any:
    """The field of a mapping or the item of a list; Missing where it is not there. Raises Refusal for any other."""
    if isinstance(value, dict):
        return value[name] if isinstance(name, (str, int)) and name in value else Missing(str(name), value)
    if isinstance(value, (str, list, tuple, range)) and type(name) is int:
        return value[name] if -len(value) <= name < len(value) else Missing(f"the item {name}")
    needed(value)
    if isinstance(name, str) and name.startswith("_"):
        message = f"{name} reaches into Python; a template has values alone"
        raise Refusal(TEMPLATE_UNSUPPORTED, message, "Compute with values and filters.")
    if isinstance(name, str) and name in METHODS:
        raise Refusal(TEMPLATE_VALUE, f"{name} is a method: call it", f"Write {name}().")
    raise Refusal(TEMPLATE_VALUE, f'{kind(value)} has no field "{name}"', "Fields are those of mappings.")


def formatted(budget: Budget, pattern: str, given: Any) -> str:
    """``pattern % given`` for numbers and text: one value, or a list of them."""
    values = given if isinstance(given, tuple) else (given,)
    values = tuple(value if isinstance(value, (int, float)) else budget.text(value) for value in values)
    for directive in _DIRECTIVE.finditer(pattern):
        widths = [int(width) if len(width) < 5 else MAX_WIDTH + 1 for width in directive.groups()[:2] if width]
        if any(width > MAX_WIDTH for width in widths):
            raise Refusal(TEMPLATE_VALUE, f"a width above {MAX_WIDTH}", "Use a smaller one.")
        budget.make(MAX_WIDTH if widths else 32)
    if any(letter not in "sdifeEgGxXo" for _, _, letter in _DIRECTIVE.findall(pattern) if letter) or "*" in pattern:
        raise Refusal(TEMPLATE_UNSUPPORTED, "a format that is not available", "Use %s, %d, %f, %g or %x.")
    budget.make(len(pattern) + sum(len(value) for value in values if isinstance(value, str)))
    return pattern % values


def number(value: Any) -> Any:
    """The same value. Raises Refusal for one that is no number: Python has other meanings for ``*`` and ``%`` then."""
    if not isinstance(needed(value), (int, float)):
        raise Refusal(TEMPLATE_VALUE, f"{kind(value)} is no number", "Make one of text with | int.")
    return value


def _path(value: Any, attribute: str | int | None) -> Any:
    """The value at ``a.b.0`` of a value; None: itself."""
    for part in [] if attribute is None else str(attribute).split("."):
        value = field(value, int(part) if part.isdigit() else part)
    return value


def _key(budget: Budget, attribute: str | int | None, case_sensitive: bool) -> Function:  # noqa: FBT001 - as Jinja has it
    """What values are sorted by: numbers by size, text without its case."""

    def key(value: Any) -> Any:
        found = needed(_path(value, attribute))
        if not isinstance(found, (str, int, float)):
            raise Refusal(TEMPLATE_VALUE, f"{kind(found)} has no order", "Name a field of it: sort(attribute='name').")
        if isinstance(found, str) and not case_sensitive:
            budget.make(len(found))
            found = found.lower()
        return found

    return key


def _default(_budget: Budget, value: Any, default: Any = "", boolean: bool = False) -> Any:  # noqa: FBT001, FBT002
    return default if isinstance(value, Missing) or (boolean and not value) else value


def _int(budget: Budget, value: Any, default: int = 0, base: int = 10) -> int:
    if isinstance(needed(value), str) and len(value) > MAX_DIGITS:
        return default
    try:
        return int(value, base) if isinstance(value, str) else int(value)
    except (TypeError, ValueError, OverflowError):
        return default if isinstance(value, float) else int(_float(budget, value, default))


def _float(_budget: Budget, value: Any, default: float = 0.0) -> float:
    needed(value)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return default


def _join(budget: Budget, value: Any, d: Any = "", attribute: str | int | None = None) -> str:
    texts = [budget.text(_path(item, attribute)) for item in budget.items(value)]
    separator = budget.text(d)
    budget.make(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _replace(budget: Budget, value: Any, old: str, new: str, count: int | None = None) -> str:
    text, old, new = budget.text(value), budget.text(old), budget.text(new)
    times = text.count(old) if count is None else min(text.count(old), count)
    budget.make(len(text) + times * len(new))
    return text.replace(old, new, times)


def _indent(budget: Budget, value: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:  # noqa: FBT001, FBT002
    text = budget.text(value)
    margin = width if isinstance(width, str) else " " * _width(width)
    lines = text.splitlines()
    budget.make(len(text) + len(margin) * len(lines))
    indented = [margin + line if blank or line else line for line in lines]
    result = "\n".join(indented) + ("\n" if text.endswith("\n") else "")
    return result if first else result.removeprefix(margin)


def _width(width: int) -> int:
    if width > MAX_WIDTH:
        raise Refusal(TEMPLATE_VALUE, f"a width above {MAX_WIDTH}", "Use a smaller one.")
    return width


def _tojson(budget: Budget, value: Any, indent: int | None = None) -> str:
    budget.look(value)
    encoder = json.JSONEncoder(sort_keys=True, indent=None if indent is None else _width(indent))
    parts = []
    for part in encoder.iterencode(list(value) if isinstance(value, range) else value):
        budget.make(len(part))
        parts.append(part)
    text = "".join(parts)
    for character in "<>&'":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _first(_budget: Budget, value: Any) -> Any:
    return next(iter(needed(value)), Missing("the first item"))


def _last(budget: Budget, value: Any) -> Any:
    found = budget.items(value)
    return found[-1] if found else Missing("the last item")


def _unique(
    budget: Budget,
    value: Any,
    case_sensitive: bool = False,  # noqa: FBT001, FBT002
    attribute: str | int | None = None,
) -> list[Any]:
    key, found = _key(budget, attribute, case_sensitive), dict[Any, Any]()
    for item in budget.items(value):
        found.setdefault(key(item), item)
    return list(found.values())


def _sort(
    budget: Budget,
    value: Any,
    reverse: bool = False,  # noqa: FBT001, FBT002
    case_sensitive: bool = False,  # noqa: FBT001, FBT002
    attribute: str | int | None = None,
) -> list[Any]:
    return sorted(budget.items(value), key=_key(budget, attribute, case_sensitive), reverse=reverse)


def _dictsort(
    budget: Budget,
    value: Any,
    case_sensitive: bool = False,  # noqa: FBT001, FBT002
    by: str = "key",
    reverse: bool = False,  # noqa: FBT001, FBT002
) -> list[Any]:
    key = _key(budget, None, case_sensitive)
    place = ("key", "value").index(by)
    pairs = _items(budget, value)
    return sorted(pairs, key=lambda pair: key(pair[place]), reverse=reverse)


def _items(budget: Budget, value: Any) -> list[tuple[Any, Any]]:
    if not isinstance(needed(value), dict):
        raise Refusal(TEMPLATE_VALUE, f"{kind(value)} has no keys", "Use it on a mapping.")
    budget.step(len(value))
    return list(value.items())


def _extreme(choose: Function) -> Function:
    def extreme(
        budget: Budget,
        value: Any,
        case_sensitive: bool = False,  # noqa: FBT001, FBT002
        attribute: str | int | None = None,
    ) -> Any:
        found = budget.items(value)
        key = _key(budget, attribute, case_sensitive)
        return choose(found, key=key) if found else Missing("an item of an empty list")

    return extreme


def _sum(budget: Budget, value: Any, attribute: str | int | None = None, start: float = 0) -> Any:
    total: Any = start
    for item in budget.items(value):
        total += number(_path(item, attribute))
    return total


def _map(budget: Budget, value: Any, name: str | None = None, *given: Any, **named: Any) -> list[Any]:
    if name is None:
        attribute, default = named["attribute"], named.get("default")
        found = [_path(item, attribute) for item in budget.items(value)]
        return [default if isinstance(item, Missing) and "default" in named else needed(item) for item in found]
    function = known("filter", name, FILTERS)
    found = []
    for item in budget.items(value):
        budget.read((item, *given, *named.values()))
        found.append(budget.made(function(budget, item, *given, **named)))
    return found


def _choose(*, wanted: bool, by_attribute: bool) -> Function:
    def choose(budget: Budget, value: Any, *given: Any) -> list[Any]:
        attribute, given = (given[0], given[1:]) if by_attribute else (None, given)
        test = known("test", given[0], TESTS) if given else None
        found = []
        for item in budget.items(value):
            part = _path(item, attribute)
            budget.read((part, *given))
            if (test(budget, part, *given[1:]) if test else truth(part)) == wanted:
                found.append(item)
        return found

    return choose


def _round(_budget: Budget, value: float, precision: int = 0, method: str = "common") -> float:
    if method == "common":
        return float(round(value, precision))
    places = 10.0 ** _width(precision)
    return {"ceil": ceil, "floor": floor}[method](value * places) / places


def _on_text(function: Callable[[str], Any]) -> Function:
    return lambda budget, value: function(budget.text(value))


def _strip(name: str) -> Function:
    return lambda budget, value, chars=None: getattr(str, name)(budget.text(value), chars)


FILTERS: Mapping[str, Function] = {
    "abs": lambda _budget, value: abs(value),
    "capitalize": _on_text(str.capitalize),
    "count": lambda _budget, value: len(needed(value)),
    "d": _default,
    "default": _default,
    "dictsort": _dictsort,
    "first": _first,
    "float": _float,
    "format": lambda budget, value, *given: formatted(budget, budget.text(value), given),
    "indent": _indent,
    "int": _int,
    "items": _items,
    "join": _join,
    "last": _last,
    "length": lambda _budget, value: len(needed(value)),
    "list": lambda budget, value: budget.items(value),
    "lower": _on_text(str.lower),
    "map": _map,
    "max": _extreme(max),
    "min": _extreme(min),
    "reject": _choose(wanted=False, by_attribute=False),
    "rejectattr": _choose(wanted=False, by_attribute=True),
    "replace": _replace,
    "reverse": lambda budget, value: value[::-1] if isinstance(value, str) else budget.items(value)[::-1],
    "round": _round,
    "select": _choose(wanted=True, by_attribute=False),
    "selectattr": _choose(wanted=True, by_attribute=True),
    "sort": _sort,
    "string": lambda budget, value: budget.text(value),
    "sum": _sum,
    "title": _on_text(str.title),
    "tojson": _tojson,
    "trim": _strip("strip"),
    "unique": _unique,
    "upper": _on_text(str.upper),
}
"""By their names in Jinja."""


def same(budget: Budget, first: Any, second: Any) -> bool:
    """Whether two values are equal."""
    budget.look(first, second)
    return bool(first == second)


def ordered(budget: Budget, first: Any, operator: str, second: Any) -> bool:
    """``first < second`` and its like, of two numbers or two texts."""
    budget.look(first, second)
    numbers = all(isinstance(value, (int, float)) for value in (first, second))
    if not numbers and not all(isinstance(value, str) for value in (first, second)):
        message = f"{kind(first)} and {kind(second)} have no order"
        raise Refusal(TEMPLATE_VALUE, message, "Compare two numbers; make one of text with | int.")
    results = {"lt": first < second, "lteq": first <= second, "gt": first > second, "gteq": first >= second}
    return bool(results[operator])


def within(budget: Budget, item: Any, whole: Any) -> bool:
    """``item in whole``."""
    needed(item)
    if isinstance(whole, str):
        budget.look(whole)
        return budget.text(item) in whole
    return any(same(budget, item, other) for other in budget.items(whole))


def _is(*types: type) -> Function:
    return lambda _budget, value: isinstance(needed(value), types) and (bool in types or not isinstance(value, bool))


def _order(operator: str) -> Function:
    return lambda budget, value, other: ordered(budget, value, operator, other)


def _differs(budget: Budget, value: Any, other: Any) -> bool:
    return not same(budget, value, other)


TESTS: Mapping[str, Function] = {
    "boolean": _is(bool),
    "defined": lambda _budget, value: not isinstance(value, Missing),
    "divisibleby": lambda _budget, value, divisor: number(value) % number(divisor) == 0,
    "eq": same,
    "equalto": same,
    "==": same,
    "even": lambda _budget, value: number(value) % 2 == 0,
    "false": lambda _budget, value: needed(value) is False,
    "float": _is(float),
    "ge": _order("gteq"),
    ">=": _order("gteq"),
    "gt": _order("gt"),
    ">": _order("gt"),
    "greaterthan": _order("gt"),
    "in": within,
    "integer": _is(int),
    "iterable": _is(str, list, tuple, dict, range),
    "le": _order("lteq"),
    "<=": _order("lteq"),
    "lessthan": _order("lt"),
    "lower": lambda budget, value: budget.text(value).islower(),
    "lt": _order("lt"),
    "<": _order("lt"),
    "mapping": _is(dict),
    "ne": _differs,
    "!=": _differs,
    "none": lambda _budget, value: needed(value) is None,
    "number": _is(int, float),
    "odd": lambda _budget, value: number(value) % 2 == 1,
    "sequence": _is(str, list, tuple, dict, range),
    "string": _is(str),
    "true": lambda _budget, value: needed(value) is True,
    "undefined": lambda _budget, value: isinstance(value, Missing),
    "upper": lambda budget, value: budget.text(value).isupper(),
}
"""By their names in Jinja."""


def _split(name: str) -> Function:
    def split(budget: Budget, value: str, sep: str | None = None, maxsplit: int = -1) -> list[str]:
        budget.make(len(value) * 4)  # at worst a list of single characters
        result: list[str] = getattr(str, name)(value, sep, maxsplit)
        return result

    return split


def _search(name: str) -> Function:
    def search(budget: Budget, value: str, other: str) -> Any:
        budget.look(value, other)
        return getattr(str, name)(value, other)

    return search


def _get(_budget: Budget, value: Mapping[str, Any], key: str, default: Any = None) -> Any:
    return value.get(key, default)


_TEXT: Mapping[str, Function] = {
    **{name: _on_text(getattr(str, name)) for name in ("upper", "lower", "title", "capitalize", "swapcase")},
    **{name: _on_text(getattr(str, name)) for name in ("isdigit", "isalpha", "isalnum", "isnumeric", "islower")},
    **{name: _strip(name) for name in ("strip", "lstrip", "rstrip")},
    **{name: _split(name) for name in ("split", "rsplit")},
    **{name: _search(name) for name in ("startswith", "endswith", "find", "rfind", "index", "count")},
    **{name: _search(name) for name in ("removeprefix", "removesuffix", "partition", "rpartition")},
    "join": lambda budget, value, items: _join(budget, items, value),
    "replace": _replace,
    "splitlines": lambda _budget, value: value.splitlines(),
    "zfill": lambda _budget, value, width: value.zfill(_width(width)),
}
_MAPPING: Mapping[str, Function] = {
    "get": _get,
    "items": _items,
    "keys": lambda budget, value: budget.items(value),
    "values": lambda budget, value: [item for _, item in _items(budget, value)],
}
_LIST: Mapping[str, Function] = {
    "count": lambda budget, value, item: sum(same(budget, item, other) for other in budget.items(value)),
    "index": lambda budget, value, item: [same(budget, item, other) for other in budget.items(value)].index(True),
}
METHODS = frozenset((*_TEXT, *_MAPPING, *_LIST))
_CHANGING = frozenset(
    {"append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "sort", "reverse"}
)
_FORMATS = frozenset({"format", "format_map", "center", "ljust", "rjust", "expandtabs", "encode", "translate"})


def method(value: Any, name: str) -> Function:
    """A method of text, of a mapping or of a list. Raises Refusal where there is none that may be used."""
    needed(value)
    if name.startswith("_"):
        message = f"{name} reaches into Python; a template has values alone"
        raise Refusal(TEMPLATE_UNSUPPORTED, message, "Compute with values and filters.")
    tables = ((str, _TEXT), (dict, _MAPPING), ((list, tuple, range), _LIST))
    table = next((table for types, table in tables if isinstance(value, types)), {})
    if name in table:
        return table[name]
    if name in _CHANGING and isinstance(value, (list, dict)):
        hint = "Make a new one: {% set items = items + [item] %}."
        raise Refusal(TEMPLATE_UNSUPPORTED, f"{name}() changes a value; values stay as they are here", hint)
    if name in _FORMATS and isinstance(value, str):
        hint = "Write '%s-%02d' | format(text, number)."
        raise Refusal(TEMPLATE_UNSUPPORTED, f"the method {name} of text is not available", hint)
    hint = did_you_mean(name, table, f"There is {', '.join(sorted(table)) or 'none'}.")
    raise Refusal(TEMPLATE_UNSUPPORTED, f'{kind(value)} has no method "{name}" here', hint)


def known(what: str, name: Any, table: Mapping[str, Function]) -> Function:
    """The filter or test of a name. Raises Refusal where there is none."""
    if isinstance(name, str) and name in table:
        return table[name]
    names: Iterable[str] = sorted(item for item in table if item.isalpha())
    hint = did_you_mean(str(name), names, f"There is {', '.join(names)}.")
    raise Refusal(TEMPLATE_UNSUPPORTED, f'the {what} "{name}" is not available', hint)
