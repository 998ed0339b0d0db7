"""Provides the filters, tests and methods available to templates, as in Jinja and Python, each with its cost."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kubectl_tas.base.words import did_you_mean
from kubectl_tas.jinja.bounds import (
    ITEM,
    LOOKED_AT,
    MAX_NESTING,
    TEMPLATE_LIMIT,
    TEMPLATE_UNSUPPORTED,
    TEMPLATE_VALUE,
    Blank,
    Budget,
    Json,
    Loop,
    Missing,
    Once,
    Refusal,
    TemplateNamespace,
    View,
    cut,
    kind,
    needed,
    truth,
)

MAX_WIDTH = 1000
"""The largest width to which a number or a text is padded."""
MAX_DIGITS = 18
"""The most decimal places for rounding a number."""
MAX_NUMERAL = 400
"""The most characters of a text that is converted to a number."""
Function = Callable[..., Any]
"""Takes the budget, the value, and arguments."""
Cost = Callable[[Budget, Sequence[Any], Mapping[str, Any]], None]
"""Counts the steps of a function with these arguments, beyond reading each text once."""
_DIRECTIVE = re.compile(r"%(?:%|[-+ #0]*([1-9][0-9]*)?(?:\.([0-9]*))?([a-zA-Z]))")
_WORDS = re.compile(r"([-\s({\[<]+)")
"""Separators between the words of a title."""
_OF_MAPPINGS = frozenset(name for name in dir(dict) if not name.startswith("__"))
_OF_LOOPS = frozenset({"changed", "cycle", "depth", "depth0"})


class Operation(NamedTuple):
    """A filter, a test or a method."""

    cost: Cost
    run: Function
    of_text: bool = False
    """Whether the value is converted to text first."""


def applied(budget: Budget, operation: Operation, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Counts an operation's cost and returns its result. Raises Refusal, and Python's errors for bad arguments."""
    if arguments and operation.of_text and not isinstance(arguments[0], str):
        arguments = (budget.text(arguments[0]), *arguments[1:])
    steps = 1
    for index, value in enumerate((*arguments, *named.values()) if named else arguments):
        if isinstance(value, str):
            steps += len(value) // LOOKED_AT
        elif index and type(value) in (list, tuple, dict):
            budget.look(value)
    budget.step(steps)
    operation.cost(budget, arguments, named)
    return operation.run(budget, *arguments, **named)


def _once(_budget: Budget, _arguments: Sequence[Any], _named: Mapping[str, Any]) -> None:
    """Counts nothing more, because the texts are read at most once."""


by_item = _once
"""Counts nothing, because the function counts its work item by item."""


def _searching(budget: Budget, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
    budget.search(arguments[0], *(needle for needle in (*arguments[1:], *named.values()) if isinstance(needle, str)))


def _splitting(budget: Budget, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Counts searching the other texts in the first one, and making a list of parts as short as two characters."""
    _searching(budget, arguments, named)
    budget.make(ITEM // 2 * len(arguments[0]))


def _word_by_word(budget: Budget, arguments: Sequence[Any], _named: Mapping[str, Any]) -> None:
    budget.step(len(arguments[0]) // 8)
    budget.make(ITEM // 2 * len(arguments[0]))


def field(value: Any, name: Any, *, dotted: bool = False) -> Any:
    """Returns a field of a mapping or an item of a list; Missing if absent. Raises Refusal for other values.

    ``dotted``: the template uses a dot, so methods of mappings hide fields.
    """
    is_text = isinstance(name, str)
    if isinstance(value, dict):
        if type(value) is dict and is_text and (dotted or name not in value):
            if name in _OF_MAPPINGS:
                message = f"{name} is a method of mappings, also where they have such a field"
                raise Refusal(TEMPLATE_VALUE, message, f'Write {name}() for the method, ["{name}"] for the field.')
            if name.startswith("__"):
                raise _into_python(name)
        if isinstance(value, Loop) and is_text and name in _OF_LOOPS:
            hint = "Call it: loop.cycle('a', 'b')." if name == "cycle" else "Compute with loop.index."
            raise Refusal(TEMPLATE_UNSUPPORTED, f"loop.{name} is not available", hint)
        if not isinstance(name, (str, int, float)):
            return Missing(f"the item of {kind(name)}")
        return value[name] if name in value else Missing(str(name), value)
    if isinstance(value, (str, list, tuple, range)) and type(name) is int and not isinstance(value, (Once, View)):
        if not -len(value) <= name < len(value):
            return Missing(f"the item {name}")
        return Json(value[name]) if isinstance(value, Json) else value[name]
    needed(value)
    if is_text and name.startswith("_"):
        raise _into_python(name)
    if is_text and name in METHODS:
        raise Refusal(TEMPLATE_VALUE, f"{name} is a method: call it", f"Write {name}().")
    hint = "Write | list behind it." if isinstance(value, (Once, View)) else "Fields are those of mappings."
    shown = f'"{cut(name)}"' if is_text else kind(name)
    raise Refusal(TEMPLATE_VALUE, f"{kind(value)} has no field {shown}", hint)


def _into_python(name: str) -> Refusal:
    message = f"{cut(name)} reaches into Python; a template has values alone"
    return Refusal(TEMPLATE_UNSUPPORTED, message, "Compute with values and filters.")


def formatted(budget: Budget, pattern: str, operands: Any) -> str:
    """Returns ``pattern % given`` for numbers and texts: one value, or a tuple of values."""
    if isinstance(pattern, Json):
        raise Refusal(TEMPLATE_UNSUPPORTED, "% is not available for text of tojson", "Join it with ~.")
    values = operands if isinstance(operands, tuple) else (operands,)
    values = tuple(value if isinstance(value, (int, float)) else budget.text(value) for value in values)
    budget.step(len(pattern) // 8)
    for directive in _DIRECTIVE.finditer(pattern):
        budget.step()
        widths = [int(width) if len(width) < 5 else MAX_WIDTH + 1 for width in directive.groups()[:2] if width]
        if any(width > MAX_WIDTH for width in widths):
            raise Refusal(TEMPLATE_VALUE, f"a width above {MAX_WIDTH}", "Use a smaller one.")
        budget.make(MAX_WIDTH if widths else 32)
    if any(letter not in "sdifeEgGxXo" for _, _, letter in _DIRECTIVE.findall(pattern) if letter) or "*" in pattern:
        raise Refusal(TEMPLATE_UNSUPPORTED, "a format that is not available", "Use %s, %d, %f, %g or %x.")
    budget.make(len(pattern) + sum(len(value) for value in values if isinstance(value, str)))
    return pattern % values


def number(value: Any) -> Any:
    """Returns the value. Raises Refusal for non-numbers, for which ``*`` and ``%`` have other meanings in Python."""
    if not isinstance(needed(value), (int, float)):
        raise Refusal(TEMPLATE_VALUE, f"{kind(value)} is no number", "Make one of text with | int.")
    return value


Path = tuple[str | int, ...]


def _path(attribute: Any) -> Path:
    """Returns the parts of ``a.b.0``, or no part for None. Raises Refusal if there are too many."""
    if attribute is None:
        return ()
    if not isinstance(attribute, (str, int)):
        raise Refusal(TEMPLATE_VALUE, f"{kind(attribute)} is no attribute", "Write its name: attribute='name'.")
    if isinstance(attribute, int):
        return (attribute,)
    if attribute.count(".") >= MAX_NESTING:
        raise Refusal(TEMPLATE_LIMIT, f"an attribute of more than {MAX_NESTING} parts", "Name a shorter one.")
    return tuple(int(step) if step.isdigit() else step for step in attribute.split("."))


def _at(budget: Budget, value: Any, path: Path) -> Any:
    """Returns the value at a path within a value; for an empty path, the value itself."""
    for step in path:
        budget.step()
        value = field(value, step)
    return value


def _keys(budget: Budget, members: Sequence[Any], path: Path, *, case_sensitive: bool) -> list[Any]:
    """Returns the sort key of each item: numbers by size, text case-insensitively by default."""
    keys = []
    for member in members:
        key = needed(_at(budget, member, path))
        if not isinstance(key, (str, int, float)):
            hint = "Name a field of it: attribute='name'." if isinstance(key, dict) else "Use texts or numbers alone."
            raise Refusal(TEMPLATE_VALUE, f"{kind(key)} has no order", hint)
        if isinstance(key, str) and not case_sensitive:
            budget.read((key,))
            budget.make(len(key))
            key = key.lower()
        keys.append(key)
    budget.compare(keys)
    return keys


def _sorted(values: Sequence[Any], keys: Sequence[Any], *, reverse: bool) -> list[Any]:
    return [values[index] for index in sorted(range(len(values)), key=keys.__getitem__, reverse=reverse)]


def _default(_budget: Budget, value: Any, default_value: Any = "", boolean: bool = False) -> Any:
    missing = isinstance(value, (Missing, Blank))
    return default_value if missing or (boolean and not truth(value)) else value


def _int(_budget: Budget, value: Any, default: Any = 0, base: int = 10) -> Any:
    _numeral(value)
    try:
        return int(value, base) if isinstance(value, str) else int(value)
    except (TypeError, ValueError):
        try:
            return int(float(value))
        except (TypeError, ValueError, OverflowError):
            return default


def _float(_budget: Budget, value: Any, default: Any = 0.0) -> Any:
    _numeral(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        return default


def _numeral(value: Any) -> None:
    if isinstance(value, Blank):
        raise Refusal(TEMPLATE_VALUE, f"{kind(value)} is no number", "Write what counts else.")
    if isinstance(needed(value), str) and len(value) > MAX_NUMERAL:
        raise Refusal(TEMPLATE_VALUE, f"a number of more than {MAX_NUMERAL} characters", "Use a shorter text.")


def _length(_budget: Budget, value: Any) -> int:
    if isinstance(value, Blank):
        return 0
    if isinstance(needed(value), Once) or not (isinstance(value, (str, list, tuple, range)) or type(value) is dict):
        hint = "Write | list | length." if isinstance(value, Once) else "Use it on text, a list or a mapping."
        raise Refusal(TEMPLATE_VALUE, f"{kind(value)} has no length", hint)
    return len(value)


def _join(budget: Budget, value: Any, d: Any = "", attribute: str | int | None = None) -> str:
    path = _path(attribute)
    texts = [budget.text(_at(budget, member, path)) for member in budget.items(value)]
    separator = budget.text(d)
    budget.make(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _joined(budget: Budget, value: str, members: Any, /) -> str:
    """The method ``join`` of text, which accepts only text."""
    texts = budget.items(members)
    budget.make(sum(map(len, texts)) + len(value) * len(texts))
    return str(value).join(texts)


def _replace(budget: Budget, value: str, old: Any, new: Any, count: int | None = None) -> str:
    old, new = budget.text(old), budget.text(new)
    if count is not None and type(count) is not int:
        raise Refusal(TEMPLATE_VALUE, f"{kind(count)} is no number of times", "Write a whole number.")
    times = value.count(old)
    if count is not None and count >= 0:
        times = min(times, count)
    budget.make(len(value) + times * len(new))
    return str(value).replace(old, new, times)


def _replaced(budget: Budget, value: str, old: str, new: str, count: int = -1, /) -> str:
    """The method ``replace`` of text, which accepts only text."""
    if not isinstance(old, str) or not isinstance(new, str):
        raise TypeError
    return _replace(budget, value, old, new, count)


def _indent(budget: Budget, value: str, width: Any = 4, first: bool = False, blank: bool = False) -> str:
    if not isinstance(needed(value), str):
        raise Refusal(TEMPLATE_VALUE, f"{kind(value)} has no lines", "Make text of it with | string.")
    margin = str(width) if isinstance(width, str) else " " * _width(width)
    lines = f"{value}\n".splitlines()
    budget.step(len(lines))
    budget.make(len(value) + (len(margin) + ITEM) * len(lines))
    indented = (margin + line if blank or line else line for line in lines[1:])
    text = (margin if first else "") + "\n".join((lines[0], *indented))
    return Json(text) if isinstance(value, Json) else text


def _width(width: int) -> int:
    if width > MAX_WIDTH:
        raise Refusal(TEMPLATE_VALUE, f"a width above {MAX_WIDTH}", "Use a smaller one.")
    return width


def _tojson(budget: Budget, value: Any, indent: int | None = None) -> str:
    budget.look(value)
    encoder = json.JSONEncoder(sort_keys=True, indent=None if indent is None else _width(indent))
    chunks = []
    for chunk in encoder.iterencode(value):
        budget.step()
        budget.make(len(chunk))
        chunks.append(chunk)
    text = "".join(chunks)
    for character in "<>&'":
        budget.make(5 * text.count(character))
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Json(text)


def _first(_budget: Budget, value: Any) -> Any:
    if isinstance(value, (TemplateNamespace, Loop)):
        raise Refusal(TEMPLATE_VALUE, f"{kind(value)} has no items", "Use one of its fields.")
    if isinstance(value, Once):
        value.is_read = True
    return next(iter(needed(value)), Missing("the first item"))


def _last(_budget: Budget, value: Any) -> Any:
    if isinstance(value, (Once, TemplateNamespace, Loop)):
        hint = "Write | list | last." if isinstance(value, Once) else "Use one of its fields."
        raise Refusal(TEMPLATE_VALUE, f"{kind(value)} has no last item", hint)
    return next(iter(reversed(needed(value))), Missing("the last item"))


def _reverse(budget: Budget, value: Any) -> Any:
    if isinstance(value, str):
        return Json(value[::-1]) if isinstance(value, Json) else value[::-1]
    reversed_members = budget.items(value)[::-1]
    return reversed_members if isinstance(value, Once) else Once(reversed_members)


def _unique(budget: Budget, value: Any, case_sensitive: bool = False, attribute: str | int | None = None) -> list[Any]:
    members, by_key = budget.items(value), dict[Any, Any]()
    keys = _keys(budget, members, _path(attribute), case_sensitive=case_sensitive)
    for key, member in zip(keys, members, strict=True):
        by_key.setdefault(key, member)
    return Once(by_key.values())


def _sort(
    budget: Budget, value: Any, reverse: bool = False, case_sensitive: bool = False, attribute: str | int | None = None
) -> list[Any]:
    if isinstance(attribute, str) and "," in attribute:
        raise Refusal(TEMPLATE_UNSUPPORTED, "sorting by several fields is not available", "Sort by one after another.")
    members = budget.items(value)
    return _sorted(members, _keys(budget, members, _path(attribute), case_sensitive=case_sensitive), reverse=reverse)


def _dictsort(
    budget: Budget, value: Any, case_sensitive: bool = False, by: str = "key", reverse: bool = False
) -> list[Any]:
    pairs = _pairs(budget, value)
    index = ("key", "value").index(by)
    return _sorted(pairs, _keys(budget, pairs, (index,), case_sensitive=case_sensitive), reverse=reverse)


def _pairs(budget: Budget, value: Any) -> list[tuple[Any, Any]]:
    if type(needed(value)) is not dict:
        raise Refusal(TEMPLATE_VALUE, f"{kind(value)} has no keys", "Use it on a mapping.")
    budget.step(len(value))
    budget.make(ITEM * 4 * len(value))
    return list(value.items())


def _extreme(choose: Function) -> Function:
    def extreme(budget: Budget, value: Any, case_sensitive: bool = False, attribute: str | int | None = None) -> Any:
        members = budget.items(value)
        keys = _keys(budget, members, _path(attribute), case_sensitive=case_sensitive)
        index = choose(range(len(members)), key=keys.__getitem__, default=None)
        return Missing("an item of an empty list") if index is None else members[index]

    return extreme


def _sum(budget: Budget, value: Any, attribute: str | int | None = None, start: float = 0) -> Any:
    path = _path(attribute)
    return sum([number(_at(budget, member, path)) for member in budget.items(value)], number(start))


def _map(budget: Budget, value: Any, name: str | None = None, /, *arguments: Any, **named: Any) -> list[Any]:
    members = budget.items(value)
    if name is None:
        path, default = _path(named.pop("attribute")), named.pop("default", None)
        if named:
            raise TypeError
        attributes = [_at(budget, member, path) for member in members]
        return Once([default if isinstance(x, Missing) and default is not None else needed(x) for x in attributes])
    operation = known("filter", name, FILTERS)
    return Once([budget.made(applied(budget, operation, (member, *arguments), named)) for member in members])


def _choose(*, keeps_true: bool, by_attribute: bool) -> Function:
    def choose(budget: Budget, value: Any, *arguments: Any) -> list[Any]:
        path = _path(arguments[0]) if by_attribute else ()
        test = arguments[1:] if by_attribute else arguments
        operation = known("test", test[0], TESTS) if test else None
        chosen = []
        for member in budget.items(value):
            tested = _at(budget, member, path)
            holds = truth(tested) if operation is None else applied(budget, operation, (tested, *test[1:]), {})
            if bool(holds) == keeps_true:
                chosen.append(member)
        return Once(chosen)

    return choose


def _round(_budget: Budget, value: Any, precision: int = 0, method: str = "common") -> Any:
    number(value)
    if type(precision) is not int or abs(precision) > MAX_DIGITS:
        message = f"a precision that is no whole number from -{MAX_DIGITS} to {MAX_DIGITS}"
        raise Refusal(TEMPLATE_VALUE, message, f"Write a whole number from -{MAX_DIGITS} to {MAX_DIGITS}.")
    if method == "common":
        return round(value, precision)
    if method not in ("ceil", "floor"):
        raise ValueError
    return (math.ceil if method == "ceil" else math.floor)(value * 10**precision) / 10**precision


def _title(_budget: Budget, value: str) -> str:
    return "".join([word[0].upper() + word[1:].lower() for word in _WORDS.split(value) if word])


def _format(budget: Budget, value: str, *arguments: Any) -> str:
    return formatted(budget, value, arguments)


def _text(function: Callable[[str], Any]) -> Operation:
    """Makes a filter or method that reads a text once."""
    return Operation(_once, lambda _budget, value: function(value), of_text=True)


def _kept(function: Callable[[str], str]) -> Operation:
    """Makes a filter that reads a text once, and whose result stays JSON for JSON."""

    def run(_budget: Budget, value: str) -> str:
        return Json(function(value)) if isinstance(value, Json) else function(value)

    return Operation(_once, run, of_text=True)


def _strip(name: str) -> Operation:
    def strip(_budget: Budget, value: str, chars: str | None = None) -> str:
        stripped: str = getattr(str, name)(value, chars)
        if chars is not None and isinstance(value, Json):
            raise Refusal(TEMPLATE_UNSUPPORTED, "trim of text of tojson is not available", "Trim it before.")
        return Json(stripped) if isinstance(value, Json) else stripped

    def cost(budget: Budget, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
        """Counts searching each character at both ends among the characters to strip."""
        characters = (*arguments[1:], *named.values())
        budget.step(len(arguments[0]) * sum(len(x) for x in characters if isinstance(x, str)) // LOOKED_AT // 4)

    return Operation(cost, strip, of_text=True)


FILTERS: Mapping[str, Operation] = {
    "abs": Operation(_once, lambda _budget, value: abs(value)),
    "capitalize": _kept(str.capitalize),
    "count": Operation(_once, _length),
    "d": Operation(_once, _default),
    "default": Operation(_once, _default),
    "dictsort": Operation(by_item, _dictsort),
    "first": Operation(_once, _first),
    "float": Operation(_once, _float),
    "format": Operation(by_item, _format, of_text=True),
    "indent": Operation(by_item, _indent),
    "int": Operation(_once, _int),
    "items": Operation(by_item, lambda budget, value: Once(_pairs(budget, value))),
    "join": Operation(by_item, _join),
    "last": Operation(_once, _last),
    "length": Operation(_once, _length),
    "list": Operation(by_item, lambda budget, value: budget.items(value)),
    "lower": _kept(str.lower),
    "map": Operation(by_item, _map),
    "max": Operation(by_item, _extreme(max)),
    "min": Operation(by_item, _extreme(min)),
    "reject": Operation(by_item, _choose(keeps_true=False, by_attribute=False)),
    "rejectattr": Operation(by_item, _choose(keeps_true=False, by_attribute=True)),
    "replace": Operation(_searching, _replace, of_text=True),
    "reverse": Operation(by_item, _reverse),
    "round": Operation(_once, _round),
    "select": Operation(by_item, _choose(keeps_true=True, by_attribute=False)),
    "selectattr": Operation(by_item, _choose(keeps_true=True, by_attribute=True)),
    "sort": Operation(by_item, _sort),
    "string": Operation(_once, lambda _budget, value: value, of_text=True),
    "sum": Operation(by_item, _sum),
    "title": Operation(_word_by_word, _title, of_text=True),
    "tojson": Operation(by_item, _tojson),
    "trim": _strip("strip"),
    "unique": Operation(by_item, _unique),
    "upper": _kept(str.upper),
}
"""The filters by name in Jinja."""


def same(budget: Budget, value: Any, compared: Any) -> bool:
    """Whether two values are equal."""
    budget.look(value, compared)
    return bool(value == compared)


def ordered(budget: Budget, smaller: Any, operator: str, larger: Any) -> bool:
    """Whether ``smaller < larger`` or a similar comparison holds for two numbers or two texts."""
    budget.look(smaller, larger)
    numbers = all(isinstance(value, (int, float)) for value in (smaller, larger))
    if not numbers and not all(isinstance(value, str) for value in (smaller, larger)):
        message = f"{kind(smaller)} and {kind(larger)} have no order"
        raise Refusal(TEMPLATE_VALUE, message, "Compare two numbers; make one of text with | int.")
    holds = {
        "lt": smaller < larger,
        "lteq": smaller <= larger,
        "gt": smaller > larger,
        "gteq": smaller >= larger,
    }
    return bool(holds[operator])


def within(budget: Budget, member: Any, whole: Any) -> bool:
    """Whether ``item in whole`` holds."""
    needed(member)
    if isinstance(whole, str):
        if not isinstance(member, str):
            raise Refusal(TEMPLATE_VALUE, f"{kind(member)} is in no text", "Make text of it with | string.")
        budget.search(whole, member)
        return member in whole
    if isinstance(whole, (dict, View)) and isinstance(member, (list, tuple, dict)):
        raise Refusal(TEMPLATE_VALUE, f"{kind(member)} is no key", "Look for text or for a number.")
    return any(same(budget, member, candidate) for candidate in budget.items(whole))


def _is(*types: type) -> Operation:
    def run(_budget: Budget, value: Any) -> bool:
        return isinstance(needed(value), types) and not isinstance(value, (TemplateNamespace, Loop))

    return Operation(_once, run)


def _order(operator: str) -> Operation:
    return Operation(by_item, lambda budget, value, compared: ordered(budget, value, operator, compared))


def _is_number(value: Any, *types: type) -> bool:
    return isinstance(needed(value), types) and not isinstance(value, bool)


def _is_sequence(_budget: Budget, value: Any) -> bool:
    if isinstance(needed(value), Blank) or type(value) is dict:
        return True
    return isinstance(value, (str, list, tuple, range)) and not isinstance(value, (Once, View))


TESTS: Mapping[str, Operation] = {
    "boolean": _is(bool),
    "defined": Operation(_once, lambda _budget, value: not isinstance(value, (Missing, Blank))),
    "divisibleby": Operation(_once, lambda _budget, value, num: number(value) % number(num) == 0),
    **dict.fromkeys(("eq", "equalto", "=="), Operation(by_item, same)),
    "even": Operation(_once, lambda _budget, value: number(value) % 2 == 0),
    "false": Operation(_once, lambda _budget, value: needed(value) is False),
    "float": Operation(_once, lambda _budget, value: _is_number(value, float)),
    **dict.fromkeys(("ge", ">="), _order("gteq")),
    **dict.fromkeys(("gt", ">", "greaterthan"), _order("gt")),
    "in": Operation(by_item, within),
    "integer": Operation(_once, lambda _budget, value: _is_number(value, int)),
    "iterable": _is(str, list, tuple, dict, range, Blank),
    **dict.fromkeys(("le", "<="), _order("lteq")),
    **dict.fromkeys(("lt", "<", "lessthan"), _order("lt")),
    "lower": _text(str.islower),
    "mapping": _is(dict),
    **dict.fromkeys(("ne", "!="), Operation(by_item, lambda budget, value, other: not same(budget, value, other))),
    "none": Operation(_once, lambda _budget, value: needed(value) is None),
    "number": _is(int, float),
    "odd": Operation(_once, lambda _budget, value: number(value) % 2 == 1),
    "sequence": Operation(_once, _is_sequence),
    "string": _is(str),
    "true": Operation(_once, lambda _budget, value: needed(value) is True),
    "undefined": Operation(_once, lambda _budget, value: isinstance(value, (Missing, Blank))),
    "upper": _text(str.isupper),
}
"""The tests by name in Jinja."""


def _split(name: str) -> Operation:
    def split(_budget: Budget, value: str, sep: str | None = None, maxsplit: int = -1) -> list[str]:
        words: list[str] = getattr(str, name)(value, sep, maxsplit)
        return words

    return Operation(_splitting, split)


def _search(name: str, cost: Cost = _searching) -> Operation:
    return Operation(cost, lambda _budget, value, needle, /: getattr(str, name)(value, needle))


def _get(_budget: Budget, value: Mapping[str, Any], key: Any, default: Any = None, /) -> Any:
    if isinstance(key, (str, int, float)) or key is None:
        return value.get(key, default)  # type: ignore[arg-type]
    raise Refusal(TEMPLATE_VALUE, f"{kind(key)} is no key", "Use text.")


_TEXT: Mapping[str, Operation] = {
    **{name: _text(getattr(str, name)) for name in ("upper", "lower", "title", "capitalize", "swapcase")},
    **{name: _text(getattr(str, name)) for name in ("isdigit", "isalpha", "isalnum", "isnumeric", "islower")},
    **{name: _strip(name) for name in ("strip", "lstrip", "rstrip")},
    **{name: _split(name) for name in ("split", "rsplit")},
    **{name: _search(name, _once) for name in ("startswith", "endswith", "removeprefix", "removesuffix")},
    **{name: _search(name) for name in ("find", "rfind", "index", "count", "partition", "rpartition")},
    "join": Operation(by_item, _joined),
    "replace": Operation(_searching, _replaced),
    "splitlines": Operation(_splitting, lambda _budget, value: value.splitlines()),
    "zfill": Operation(_once, lambda _budget, value, width, /: value.zfill(_width(width))),
}
_MAPPING: Mapping[str, Operation] = {
    "get": Operation(_once, _get),
    "items": Operation(by_item, lambda budget, value: View(_pairs(budget, value))),
    "keys": Operation(by_item, lambda budget, value: View(budget.items(value))),
    "values": Operation(by_item, lambda budget, value: View([item for _, item in _pairs(budget, value)])),
}


def _found(budget: Budget, value: Sequence[Any], member: Any, /) -> list[bool]:
    return [same(budget, member, candidate) for candidate in budget.items(value)]


_LIST: Mapping[str, Operation] = {
    "count": Operation(by_item, lambda budget, value, item, /: sum(_found(budget, value, item))),
    "index": Operation(by_item, lambda budget, value, item, /: _found(budget, value, item).index(True)),
}
METHODS = frozenset((*_TEXT, *_MAPPING, *_LIST))
_CHANGING = frozenset(
    {"append", "extend", "insert", "pop", "popitem", "remove", "clear", "update", "setdefault", "sort", "reverse"}
)
_FORMATS = frozenset({"format", "format_map", "center", "ljust", "rjust", "expandtabs", "encode", "translate"})


def method(value: Any, name: str) -> Operation:
    """Returns a method of text, of a mapping or of a list. Raises Refusal if no such method is available."""
    if name.startswith("_"):
        raise _into_python(name)
    if isinstance(value, Json):
        hint = "Use filters: value | tojson | replace('a', 'b')."
        raise Refusal(TEMPLATE_UNSUPPORTED, "methods of text of tojson are not available", hint)
    if name in _CHANGING and isinstance(value, (list, dict)):
        hint = "Make a new one: {% set items = items + [item] %}."
        raise Refusal(TEMPLATE_UNSUPPORTED, f"{name}() changes a value; values stay as they are here", hint)
    if name in _FORMATS and isinstance(value, str):
        hint = "Write '%s-%02d' | format(text, number)."
        raise Refusal(TEMPLATE_UNSUPPORTED, f"the method {name} of text is not available", hint)
    tables = ((str, _TEXT), (dict, _MAPPING), ((list, tuple, range), _LIST))
    is_plain = not isinstance(value, (Once, View, Loop, TemplateNamespace))
    table = next((table for types, table in tables if isinstance(value, types) and is_plain), {})
    if name in table:
        return table[name]
    hint = did_you_mean(name, table, f"Available: {', '.join(sorted(table)) or 'none'}.")
    raise Refusal(TEMPLATE_UNSUPPORTED, f'{kind(value)} has no method "{cut(name)}" here', hint)


def known(noun: str, name: Any, table: Mapping[str, Operation], line: int = 0) -> Operation:
    """Returns the filter or test of a name. Raises Refusal, at ``line``, if the name is unknown."""
    if isinstance(name, str) and name in table:
        return table[name]
    names: Iterable[str] = sorted(name_ for name_ in table if name_.isalpha())
    shown = cut(name) if isinstance(name, str) else kind(name)
    hint = did_you_mean(shown, names, f"Available: {', '.join(names)}.")
    raise Refusal(TEMPLATE_UNSUPPORTED, f'the {noun} "{shown}" is not available', hint, line)
