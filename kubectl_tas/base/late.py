"""Puts off work to its first use, so that the tool starts fast: imports, patterns, and the methods of dataclasses.

The standard library makes the methods of a dataclass when it is declared. That takes a third of a millisecond per
class, mostly for methods that a run never calls. So here only ``__init__``, which no class writes itself, is compiled
at the first use of the class; the other methods are closures.
"""

from __future__ import annotations

import operator
import re
from _thread import RLock  # threading itself takes a completion a millisecond
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, AnyStr, NoReturn


@cache
@cache
def imported(path: str) -> Any:
    """Imports and returns the attribute at ``module:attribute``."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def late_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Delays ``re.compile`` until the first use of a pattern, since a run needs only a few patterns of each module."""
    return _Pattern(pattern, flags)  # type: ignore[return-value]


class _Pattern:
    """Takes the place of a pattern, and compiles it when one of its methods is first called."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, attribute)
        return attribute


_FIRST = ("__init__", "__match_args__", "__dataclass_fields__")
"""The attributes of a class that are used before its first object exists."""
_LOCK = RLock()
"""The lock for completing a class, since an editor's questions are answered in several threads."""
_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")


class _Unmade:
    """Takes the place of an attribute of a class until its first use."""

    def __init__(self, name: str, complete: Callable[[], None]) -> None:
        self.name = name
        self.complete = complete

    def __get__(self, instance: object | None, owner: type) -> Any:
        self.complete()
        return getattr(owner if instance is None else instance, self.name)


def _dataclass(cls: type | None = None, /, *, slots: bool = False, kw_only: bool = False, **options: bool) -> Any:
    """The decorator, with or without options."""
    if cls is None:
        return lambda decorated: _dataclass(decorated, slots=slots, kw_only=kw_only, **options)
    defaults = {name: vars(cls)[name] for name in _fields(cls) if name in vars(cls)} if slots else {}
    made = _with_slots(cls, pickles=options.get("frozen", False)) if slots else cls

    def complete() -> None:
        with _LOCK:
            if not isinstance(vars(made)["__init__"], _Unmade):  # another thread was first
                return
            places = {name: vars(made)[name] for name in defaults if name in vars(made)}
            for name, value in defaults.items():
                setattr(made, name, value)
            from dataclasses import dataclass as make  # it imports inspect, which no completion of a command line needs

            made.__doc__ = made.__doc__ or made.__name__  # else the standard library makes one of a signature, in 2 ms
            make(init=False, repr=False, eq=False, kw_only=kw_only)(made)
            for name in defaults.keys() & vars(made).keys():
                delattr(made, name)
            for name, path in places.items():
                setattr(made, name, path)
            for name, value in _made_of(made, **options).items():
                if name in _FIRST or vars(made).get(name) is None:
                    setattr(made, name, value)

    for name in _FIRST:
        setattr(made, name, _Unmade(name, complete))
    return made


def _made_of(cls: type, *, frozen: bool = False, eq: bool = True, order: bool = False) -> dict[str, Any]:
    """Returns the attributes to add to a class; ``__init__`` comes last, since others may use the class after it."""
    fields = _all_fields(cls)
    attributes: dict[str, Any] = {"__repr__": _repr}
    if frozen:
        attributes |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if eq:
        compared = _values([field.name for field in fields if field.compare])
        hashed = _values([field.name for field in fields if (field.compare if field.hash is None else field.hash)])
        attributes["__eq__"] = _comparison(compared, operator.eq)
        attributes["__hash__"] = (lambda self: hash(hashed(self))) if frozen else None
    if order:
        attributes |= {name: _comparison(compared, getattr(operator, name)) for name in _ORDER}
    attributes["__match_args__"] = tuple(field.name for field in fields if field.init and not field.kw_only)
    return attributes | {"__init__": _init(cls, frozen=frozen)}


def _init(cls: type, *, frozen: bool) -> Any:
    """Returns ``__init__``, which can set the fields of a frozen object."""
    from dataclasses import MISSING

    parameters, body, setters = ["self"], [], dict[str, Any]()
    has_slots = frozen and not any("__dict__" in vars(base) for base in cls.__mro__)
    if frozen and not has_slots:
        body.append("values_ = self.__dict__")
    for field in sorted(_all_fields(cls), key=operator.attrgetter("kw_only")):
        name = value = field.name
        if field.kw_only and "*" not in parameters:
            parameters.append("*")
        if field.default is not MISSING:
            parameters.append(f"{name}=fields_[{name!r}].default")
        elif field.default_factory is not MISSING:
            parameters.append(f"{name}=missing_")
            value = f"fields_[{name!r}].default_factory() if {name} is missing_ else {name}"
        else:
            parameters.append(name)
        if has_slots:
            setters[f"set_{name}_"] = getattr(cls, name).__set__  # object.__setattr__ would look for it each time
            body.append(f"set_{name}_(self, {value})")
        else:
            body.append(f"values_[{name!r}] = {value}" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    namespace = {"fields_": vars(cls)["__dataclass_fields__"], "missing_": MISSING, **setters}
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body or ["pass"]), namespace)
    namespace["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return namespace["__init__"]


def _values(names: Sequence[str]) -> Callable[[Any], Any]:
    """Returns a function that gives the values of these fields as a tuple."""
    return (
        operator.attrgetter(*names)
        if len(names) > 1
        else lambda instance: tuple(getattr(instance, name) for name in names)
    )


def _comparison(values: Callable[[Any], Any], compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def method(self: Any, second: Any) -> Any:
        return compare(values(self), values(second)) if second.__class__ is self.__class__ else NotImplemented

    return method


def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in _all_fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: Any, name: str, value: Any) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _all_fields(owner: Any) -> tuple[Field[Any], ...]:
    """Returns the fields of a class or of an object, inherited ones too."""
    from dataclasses import fields

    return fields(owner)


def _fields(cls: type) -> list[str]:
    """Returns the names of the fields that a class itself declares."""
    return [name for name, kind in cls.__annotations__.items() if not kind.startswith("ClassVar")]


def _with_slots(cls: type, *, pickles: bool) -> type:
    """Returns the class with slots for its fields, and without the defaults, whose names the slots need.

    With ``pickles``, objects are pickled by their fields, because a frozen object accepts no attributes.
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
    return [getattr(self, field.name) for field in _all_fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(_all_fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


if TYPE_CHECKING:
    from dataclasses import Field
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass
