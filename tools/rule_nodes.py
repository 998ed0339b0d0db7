"""Finds the rules that a check, or a function that it calls, may name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from kubectl_tas.base.diagnostics import Rule
from kubectl_tas.check.conflicts import Fields

_ROOMS = ("kubectl_tas.check", "kubectl_tas.load", "kubectl_tas.gangs.admission")
"""Modules whose functions make findings."""


@cache
def rules_of(check: Callable[..., Any]) -> frozenset[str]:
    """Returns the codes of the rules that a function names, also by functions that it calls."""
    codes: set[str] = set()
    waiting, seen = list[Any]([check]), set[Any]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, Rule):
            codes.add(value.code)
        elif isinstance(value, dict | tuple | list | frozenset):
            waiting += value.values() if isinstance(value, dict) else value
        elif str(getattr(value, "__module__", "")).startswith(_ROOMS):
            if isinstance(value, type) and value is not Fields:
                waiting += [getattr(part, "fget", part) for part in vars(value).values()]
            function = inspect.unwrap(value)
            if isinstance(function, FunctionType) and function not in seen:
                seen.add(function)
                waiting += _named(function)
    return frozenset(codes)


def _named(function: FunctionType) -> Iterator[Any]:
    """Yields what the names in a function stand for: globals, values of the outer function, methods of Fields."""
    yield from (cell.cell_contents for cell in function.__closure__ or ())
    for code in _codes(function.__code__):
        for name in code.co_names:
            if name in function.__globals__:
                yield function.__globals__[name]
            elif inspect.isfunction(method := getattr(Fields, name, None)):
                yield method


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _codes(value)
