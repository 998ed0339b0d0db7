"""Tests that classes of ``kubectl_tas.base.late`` equal those of the standard library, although they are made later."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import pickle
import pkgutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, field, replace
from functools import cached_property as kept
from functools import partial
from operator import ge, gt, le, lt
from typing import Any, ClassVar

import pytest

import kubectl_tas
from kubectl_tas.base import late
from tests.support.process import call


def made(decorator: Any, **options: Any) -> Any:
    """A class with fields of every sort, and a class that inherits from it."""

    @decorator(**options)
    class Base:
        """Fields."""

        name: str
        size: int = 3
        kind: ClassVar[str] = "base"
        items: list[int] = field(default_factory=list, compare=False, repr=False)

        @property
        def double(self) -> int:
            return 2 * self.size

    @decorator(**options)
    class Child(Base):
        """One default is another, and there is a field more."""

        size: int = 4
        more: tuple[int, ...] = ()

        def __post_init__(self) -> None:
            assert self.size >= 0

    return Base, Child


OPTIONS = [
    {},
    {"slots": True},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "eq": False},
    {"frozen": True, "slots": True, "order": True},
    {"slots": True, "kw_only": True},
]


def facts(base: Any, child: Any) -> dict[str, Any]:
    """What can be observed of the classes."""
    one, two, young = base(name="a"), base(name="a", size=5, items=[1]), child(name="a", more=(1,))

    def refused(do: Any) -> str:
        try:
            return str(do())
        except Exception as error:
            return f"{type(error).__name__}: {error}".split(" at 0x")[0]

    return {
        "repr": [repr(item) for item in (one, two, young)] if base.__eq__ is not object.__eq__ else None,
        "equal": [one == base(name="a"), one == two, one == young, one == replace(two, size=3), one == "a"],
        "hash": refused(lambda: hash(one) == hash(base(name="a", items=[2]))),
        "order": [refused(partial(compare, one, two)) for compare in (lt, le, gt, ge)],
        "same": [refused(partial(compare, one, base(name="a"))) for compare in (lt, le, gt, ge)],
        "positional": refused(lambda: base("a", 1).size),
        "missing": refused(lambda: base()),
        "set": refused(lambda: setattr(one, "size", 9)),
        "add": "Error" in refused(lambda: setattr(one, "other", 9)),
        "delete": refused(lambda: delattr(two, "size")),
        "fields": [[item.name for item in dataclasses.fields(cls)] for cls in (base, child)],
        "is": [dataclasses.is_dataclass(base), dataclasses.is_dataclass(young)],
        "match": [base.__match_args__, child.__match_args__],
        "slots": [getattr(cls, "__slots__", None) for cls in (base, child)],
        "dict": [hasattr(item, "__dict__") for item in (one, young)],
        "values": [one.size, one.double, young.size, young.double, young.kind, child.kind, one.items],
        "copies": [copy.copy(one).size, copy.deepcopy(young).more, replace(young, size=8).size],
        "names": [base.__qualname__, base.__doc__, child.__mro__[1].__name__, base.__module__],
        "state": refused(lambda: one.__getstate__()),
    }


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_class_is_what_the_standard_library_makes(options: dict[str, Any]) -> None:
    assert facts(*made(late._dataclass, **options)) == facts(*made(dataclasses.dataclass, **options))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("first", ["__dataclass_fields__", "__match_args__", "__init__"])
def test_whoever_asks_first_gets_what_is_made(first: str, options: dict[str, Any]) -> None:
    later, ours = made(late._dataclass, **options), made(dataclasses.dataclass, **options)
    for got, expected in zip(reversed(later), reversed(ours), strict=True):
        assert type(getattr(got, first)) is type(getattr(expected, first))
    assert facts(*later) == facts(*ours)


def test_nothing_is_made_before() -> None:
    base, child = made(late._dataclass, frozen=True, slots=True)
    assert all(type(vars(cls)["__init__"]) is late._Unmade for cls in (base, child))
    base("a")
    assert type(vars(child)["__init__"]) is late._Unmade
    assert not any(isinstance(value, late._Unmade) for value in vars(base).values())


def test_threads_may_use_a_class_first_at_once() -> None:
    """An editor asks while files are judged."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for _ in range(100):
                _, child = made(late._dataclass, frozen=True, slots=True)
                assert len(set(pool.map(child, ["a"] * 4))) == 1
    finally:
        sys.setswitchinterval(interval)


@late.dataclass(frozen=True, slots=True)
class Sent:
    name: str
    size: int = 1


def test_an_object_comes_out_of_another_process() -> None:
    """There its class has been imported, and not used."""
    program = "import sys, pickle; from tests.test_late import Sent; sys.stdout.buffer.write("
    result = call(sys.executable, "-c", f"{program}pickle.dumps(Sent('a', 2), 0))")
    assert result.code == 0, result.err
    received = pickle.loads(result.out.encode())
    assert received == Sent("a", 2)
    with pytest.raises(FrozenInstanceError):
        received.size = 3


@pytest.mark.parametrize("decorator", [late._dataclass, dataclasses.dataclass])
def test_a_class_without_fields_keeps_what_it_says_of_itself(decorator: Any) -> None:
    class Bare:
        def __repr__(self) -> str:
            return "bare"

    cls = decorator(Bare)
    assert (repr(cls()), cls() == cls(), cls.__match_args__) == ("bare", True, ())


CHANGING = {
    "compile.controllers.Seen",
    "editor.server._Document",
    "editor.server._Project",
    "imports.adoption.Adopted",
    "imports.adoption._Adopting",
    "imports.adoption._Group",
    "imports.from_cluster._ClusterMaking",
    "imports.from_kueue._KueueMaking",
    "imports.from_kueue._Node",
    "imports.from_osmo._OsmoMaking",
    "imports.kueueobjects.KueueReading",
    "imports.written.Making",
    "load.templates.Expansion",
    "place.fairshare._Claim",
    "place.fairshare._Division",
    "place.fairshare._Rest",
    "place.timeline._PlayedGang",
    "place.kai_allocate._State",
    "place.scenarios.Solver",
    "place.scheduling_session.SessionPod",
    "place.scheduling_session.Work",
    "resolve.placement.AnnotationReader",
    "work.processes._Worker",
}
"""Records that change after they are made."""
MOST_WITHOUT_SLOTS = 42
"""Records that have no slots and keep nothing computed. There may be fewer."""


def records_of_the_package() -> dict[str, type]:
    """Every record by its place in the package; without modules whose packages are not installed."""
    found: dict[str, type] = {}
    for module in pkgutil.walk_packages(kubectl_tas.__path__, "kubectl_tas."):
        if not module.name.endswith(".__main__"):
            try:
                own = vars(importlib.import_module(module.name)).values()
            except ImportError:
                continue
            records_ = [item for item in own if isinstance(item, type) and "__dataclass_fields__" in vars(item)]
            place = module.name.removeprefix("kubectl_tas.")
            found |= {f"{place}.{cls.__name__}": cls for cls in records_ if cls.__module__ == module.name}
    return found


def test_records_do_not_change_and_have_slots() -> None:
    found = records_of_the_package()
    assert all(cls.__match_args__ is not None for cls in found.values())  # type: ignore[attr-defined]
    assert {place for place, cls in found.items() if cls.__setattr__ is not late._refuse_to_set} <= CHANGING
    keeping = {cls for cls in found.values() for part in cls.__mro__ for it in vars(part).values() if type(it) is kept}
    without = [place for place, cls in found.items() if "__slots__" not in vars(cls) and cls not in keeping]
    assert len(without) <= MOST_WITHOUT_SLOTS
    assert not [place for place, cls in found.items() if "__slots__" in vars(cls) and cls in keeping]
