"""Amounts of the three resources that KAI divides among queues: GPUs, cpu and memory.

Kubernetes writes them as quantities (``500m``, ``64Gi``, ``1e3``), which are read exactly. A KAI Queue counts cpu in
thousandths of a core and memory in 10^6 bytes (``resources.go`` of its API, 0.2 to 0.17): only ``kai_number`` knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from kubectl_tas.gpus import Gpus

ResourceName = Literal["gpu", "cpu", "memory"]
RESOURCES: tuple[ResourceName, ...] = ("gpu", "cpu", "memory")
"""In the order in which they are shown."""
Amount = Gpus
"""GPUs, whole millicores, or whole bytes; or NO_LIMIT."""
NO_LIMIT = Decimal("Infinity")
"""More than any amount."""

_DIGITS = 30
"""Digits of a number before its point, and behind it: more than any API server takes."""
_NUMBER = rf"[0-9]{{1,{_DIGITS}}}\.?[0-9]{{0,{_DIGITS}}}|\.[0-9]{{1,{_DIGITS}}}"
PATTERN = rf"^[-+]?({_NUMBER})([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]{{1,2}})?$"
"""How Kubernetes writes quantities."""
_QUANTITY = re.compile(rf"([-+]?(?:{_NUMBER}))(?:[eE]([-+]?[0-9]{{1,2}})|([numkMGTPE]|[KMGTPE]i))?", re.ASCII)
_SUFFIXES = {
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate(("n", "u", "m", "", "k", *"MGTPE"), -3)},
    **{f"{suffix}i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}
"""What a quantity is multiplied by."""
_MEBIBYTE, _MEGABYTE = 2**20, 10**6


def parse(text: str) -> Fraction | None:
    """The number that a quantity stands for, exactly; None where Kubernetes does not take it for one."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        return None
    return Fraction(found[1]) * Fraction(10) ** int(found[2] or 0) * _SUFFIXES[found[3] or ""]


def millicores(written: int | float | str) -> int:
    """Cpu in thousandths of a core, rounded up as an API server does. Raises ValueError for what is no quantity."""
    return math.ceil(number(written) * 1000)


def in_bytes(written: int | float | str) -> int:
    """Memory in bytes, rounded up as an API server does. Raises ValueError for what is no quantity."""
    return math.ceil(number(written))


def number(written: int | float | str) -> Fraction:
    """The number that a quantity, or a number in its place, stands for. Raises ValueError for what is neither."""
    if not isinstance(written, str):
        return Fraction(str(written))
    found = parse(written)
    if found is None:
        raise ValueError(f'"{written}" is no quantity')
    return found


@dataclass(frozen=True, slots=True)
class Amounts:
    """What is guaranteed, asked, used or left of each resource."""

    gpu: Amount = 0
    """GPUs."""
    cpu: Amount = 0
    """Thousandths of a core."""
    memory: Amount = 0
    """Bytes."""

    def of(self, resource: ResourceName) -> Amount:
        """The amount of one resource."""
        match resource:
            case "gpu":
                return self.gpu
            case "cpu":
                return self.cpu
            case "memory":
                return self.memory

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(self.gpu + other.gpu, self.cpu + other.cpu, self.memory + other.memory)

    def __sub__(self, other: Amounts) -> Amounts:
        """What is left of this; without a limit as long as this has none."""
        return each(lambda name: NO_LIMIT if self.of(name) == NO_LIMIT else self.of(name) - other.of(name))

    def __mul__(self, times: int) -> Amounts:
        return Amounts(self.gpu * times, self.cpu * times, self.memory * times)

    __rmul__ = __mul__

    def exceeding(self, most: Amounts) -> tuple[ResourceName, ...]:
        """The resources of which this is more than ``most``. As in KAI's ``quota_check.go`` and
        ``max_allowed_check.go``, one that is not asked for is not compared: of nothing left 0 may be asked.
        """
        return tuple(name for name in RESOURCES if 0 < self.of(name) > most.of(name))

    @property
    def asked(self) -> tuple[ResourceName, ...]:
        """The resources of which this is more than nothing."""
        return tuple(name for name in RESOURCES if self.of(name) > 0)


NOTHING = Amounts()
UNLIMITED = Amounts(NO_LIMIT, NO_LIMIT, NO_LIMIT)


def each(make: Callable[[ResourceName], Amount]) -> Amounts:
    """What ``make`` says of each resource."""
    return Amounts(make("gpu"), make("cpu"), make("memory"))


def total(parts: Iterable[Amounts]) -> Amounts:
    """The sum."""
    return sum(parts, NOTHING)


def smaller(first: Amounts, second: Amounts) -> Amounts:
    """Of each resource the smaller amount."""
    return each(lambda name: min(first.of(name), second.of(name)))


def larger(first: Amounts, second: Amounts) -> Amounts:
    """Of each resource the larger amount."""
    return each(lambda name: max(first.of(name), second.of(name)))


def share(percent: str, whole: Amounts) -> Amounts:
    """A share such as "33%" of ``whole``, rounded down to whole GPUs, whole millicores and whole mebibytes; nothing of
    what has no limit.
    """
    part = Fraction(percent.removesuffix("%")) / 100

    def of(name: ResourceName) -> Amount:
        amount, unit = whole.of(name), _MEBIBYTE if name == "memory" else 1
        return 0 if amount == NO_LIMIT else math.floor(part * int(amount) / unit) * unit

    return each(of)


def show(resource: ResourceName, amount: Amount) -> str:
    """An amount as people write it: 30, 2500m, 600, 64Gi, 8T; "unlimited" without a limit."""
    if amount == NO_LIMIT:
        return "unlimited"
    if resource == "gpu":
        return str(amount)
    number = int(amount)
    if resource == "cpu":
        return f"{number}m" if number % 1000 else str(number // 1000)
    units = {suffix: int(_SUFFIXES[suffix]) for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki", *"EPTGMk", "")}
    return min((f"{number // unit}{suffix}" for suffix, unit in units.items() if number % unit == 0), key=len)


UNITS: dict[ResourceName, str] = {"gpu": "GPUs", "cpu": "cpu", "memory": "memory"}
"""What follows an amount in a sentence: 30 GPUs, 600 cpu, 2Ti memory."""


def said(resource: ResourceName, amount: Amount) -> str:
    """An amount with its unit, for sentences."""
    return f"{show(resource, amount)} {UNITS[resource]}"


def kai_number(resource: ResourceName, amount: Amount) -> int | float:
    """What a KAI Queue says for an amount: GPUs, millicores, or 10^6 bytes with a fraction where needed; -1: no limit.

    KAI multiplies memory by 10^6 as a float64 (``proportion.go``, 0.6 to 0.17). Of 249Gi as ``267361.714176`` that is
    a little less than 249Gi, and work that asks for all of it would wait for ever. Such a number is written with as
    many digits as make it the amount, or the least above it.
    """
    if amount == NO_LIMIT:
        return -1
    number = int(amount)
    if resource != "memory":
        return number
    if number % _MEGABYTE == 0:
        return number // _MEGABYTE
    written = number / _MEGABYTE
    while written * _MEGABYTE < number:
        written = math.nextafter(written, math.inf)
    return written
