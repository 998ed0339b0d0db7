"""``dataclass`` as the standard library has it, which compiles the methods of a class when it is first used.

To compile them takes half a millisecond a class, and a run uses few of the classes that it imports.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

_MADE = (
    *("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__replace__"),
    *("__match_args__", "__dataclass_fields__", "__dataclass_params__"),
)
"""What the standard library makes of every class, and may ask of a base class."""
_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")


class _Unmade:
    """Stands in a class for what is made of it, until somebody asks for it."""

    def __init__(self, name: str, complete: Callable[[], None]) -> None:
        self.name = name
        self.complete = complete

    def __get__(self, instance: object | None, owner: type) -> Any:
        self.complete()
        return getattr(owner if instance is None else instance, self.name)


def _dataclass(cls: type | None = None, /, *, slots: bool = False, **options: Any) -> Any:
    """The decorator, with or without options."""
    if cls is None:
        return lambda it: _dataclass(it, slots=slots, **options)
    defaults = {name: vars(cls)[name] for name in _fields(cls) if name in vars(cls)} if slots else {}
    made = _with_slots(cls, pickles=options.get("frozen", False)) if slots else cls
    names = [name for name in (*_MADE, *(_ORDER if options.get("order") else ())) if name not in vars(made)]

    def complete() -> None:
        places = {name: vars(made)[name] for name in defaults if name in vars(made)}
        while names:
            delattr(made, names.pop())
        for name, value in defaults.items():
            setattr(made, name, value)
        dataclasses.dataclass(**options)(made)
        for name in defaults.keys() & vars(made).keys():
            delattr(made, name)
        for name, place in places.items():
            setattr(made, name, place)

    for name in names:
        setattr(made, name, _Unmade(name, complete))
    return made


def _fields(cls: type) -> list[str]:
    """The names of the fields that a class declares itself."""
    return [name for name, kind in cls.__annotations__.items() if not kind.startswith("ClassVar")]


def _with_slots(cls: type, *, pickles: bool) -> type:
    """The same class with slots for its fields, and so without their defaults, which would take the same names.

    With ``pickles`` it is pickled by its fields: a frozen object takes no attributes.
    """
    inherited = {name for base in cls.__mro__[1:-1] for name in vars(base).get("__slots__", ())}
    slots = tuple(name for name in _fields(cls) if name not in inherited)
    left_out = {*_fields(cls), "__dict__", "__weakref__"}
    body = {name: value for name, value in vars(cls).items() if name not in left_out}
    body |= {"__slots__": slots, "__qualname__": cls.__qualname__}
    if pickles:
        body |= {"__getstate__": _state, "__setstate__": _restore}
    return type(cls)(cls.__name__, cls.__bases__, body)


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass
