"""Reads and writes amounts as in Kubernetes, 500m, 64Gi, 1e3, and of the resources that KAI divides among queues.

Quantities follow ``ParseQuantity`` of Kubernetes 1.35 (staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go). A
KAI Queue counts CPU in thousandths of a core and memory in 10^6 bytes (``resources.go`` of its API, 0.2 to 0.17). Only
``kai_number`` and ``from_kai`` convert to or from these units.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Literal, TypeVar

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.facts.gpus import Gpus, Hundredths

ResourceName = Literal["gpu", "cpu", "memory"]
RESOURCES: tuple[ResourceName, ...] = ("gpu", "cpu", "memory")
"""The resources in the order in which they are shown."""
OTHERS: tuple[ResourceName, ...] = ("cpu", "memory")
"""The resources besides GPUs."""
Meaning = TypeVar("Meaning", bound=str)
Amount = Gpus
"""GPUs, whole millicores, or whole bytes; or NO_LIMIT."""
NO_LIMIT = Decimal("Infinity")
"""The value that means: no limit. It is larger than any amount."""

_MEBIBYTE, _MEGABYTE = 2**20, 10**6

SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(1000),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("MGTPE", start=2)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)},
}
"""The factor of each suffix of a number."""
_DIGITS = 30
"""The most digits before and behind the point of a number: more than any API server accepts."""
_NUMBER = rf"[-+]?(?:[0-9]{{1,{_DIGITS}}}[.]?[0-9]{{0,{_DIGITS}}}|[.][0-9]{{1,{_DIGITS}}})"
_QUANTITY = late_pattern(rf"({_NUMBER})(?:([numkMGTPE]|[KMGTPE]i|)|[eE]([-+]?[0-9]{{1,3}}))")
_SLIP = late_pattern(rf"({_NUMBER})\s*([A-Za-z]*)")
_BYTES = late_pattern(r"([kmgtpe])(i?)b?", re.IGNORECASE)
_CORES = ("core", "cores", "cpu", "cpus", "vcpu", "vcpus", "c")


def parse(value: object) -> Decimal | None:
    """Returns an amount as a number; None if an API server refuses the amount."""
    is_short = isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**_DIGITS)
    return _number(str(value)) if is_short or isinstance(value, str) else None


@lru_cache(maxsize=1024)
def _number(text: str) -> Decimal | None:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    number, suffix, exponent = match.groups()
    return Decimal(number) * (SUFFIXES[suffix] if exponent is None else Decimal(10) ** int(exponent))


def refused(value: object) -> tuple[str, str] | None:
    """Returns why an API server refuses an amount, and a hint; None if the server accepts it."""
    amount = parse(value)
    if amount is None:
        return "must be a quantity such as 500m or 64Gi", _meant(str(value))
    if amount < 0:
        return "must not be negative", "Write 0 or more."
    return None


def refused_by_crds(value: object) -> tuple[str, str] | None:
    """Does the same for a CRD, which accepts only text and whole numbers (apiextensions-apiserver: int-or-string)."""
    if isinstance(value, float) and not value.is_integer():
        return "must be text or a whole number", f'Put it in quotes: "{value}". The CRD of this kind takes no fraction.'
    return refused(value)


def _meant(text: str) -> str:
    """Returns a hint with the likely meaning of a text that is not a quantity."""
    match = _SLIP.fullmatch(text.strip())
    if match is None:
        return "Write a number and a unit without a blank between them, such as 64Gi."
    number, unit = match.groups()
    size = _BYTES.fullmatch(unit)
    if unit in SUFFIXES or unit.lower() in _CORES:
        return f"Write {number}{unit if unit in SUFFIXES else ''}."
    if size is None:
        return "Units are m, k, M, G, T and Ki, Mi, Gi, Ti."
    letter = size[1].upper()
    binary, decimal = f"{number}{letter}i", f"{number}{'k' if letter == 'K' else letter}"
    return f"Write {binary}." if size[2] else f"Write {decimal} or {binary}."


def millicores(quantity: object) -> int:
    """Returns CPU in thousandths of a core, rounded up as an API server does; 0 for an invalid quantity."""
    return math.ceil((parse(quantity) or 0) * 1000)


def in_bytes(quantity: object) -> int:
    """Returns memory in bytes, rounded up as an API server does; 0 for an invalid quantity."""
    return math.ceil(parse(quantity) or 0)


@json_fields("gpu cpu memory")
@dataclass(frozen=True, slots=True)
class Amounts:
    """An amount of each resource: guaranteed, requested, used or left."""

    gpu: Amount = 0
    """GPUs."""
    cpu: Amount = 0
    """CPU in thousandths of a core."""
    memory: Amount = 0
    """Memory in bytes."""

    @property
    def gpus(self) -> Gpus:
        """GPUs, if their number is limited."""
        return self.gpu

    @property
    def by_name(self) -> dict[ResourceName, Amount]:
        """The numbers by resource."""
        return dict(zip(RESOURCES, self._values, strict=True))

    def of(self, resource: ResourceName) -> Amount:
        """Returns the amount of one resource."""
        amount: Amount = getattr(self, resource)
        return amount

    def __add__(self, addend: Amounts) -> Amounts:
        return Amounts(self.gpu + addend.gpu, self.cpu + addend.cpu, self.memory + addend.memory)

    def __sub__(self, subtrahend: Amounts) -> Amounts:
        """Returns the difference; a resource without a limit stays without a limit."""
        return Amounts(
            _left(self.gpu, subtrahend.gpu), _left(self.cpu, subtrahend.cpu), _left(self.memory, subtrahend.memory)
        )

    def __mul__(self, times: int) -> Amounts:
        return Amounts(self.gpu * times, self.cpu * times, self.memory * times)

    __rmul__ = __mul__

    def exceeding(self, most: Amounts) -> tuple[ResourceName, ...]:
        """Returns the resources that exceed ``most``. Like KAI's ``quota_check.go`` and ``max_allowed_check.go``, skips
        resources that are not requested, even if nothing is left of them.
        """
        compared = zip(RESOURCES, self._values, most._values, strict=True)
        return tuple([name for name, mine, may in compared if 0 < mine > may])

    @property
    def asked(self) -> tuple[ResourceName, ...]:
        """The resources with an amount above 0."""
        return tuple([name for name, amount in zip(RESOURCES, self._values, strict=True) if amount > 0])

    @property
    def _values(self) -> tuple[Amount, Amount, Amount]:
        """The amounts in the order of ``RESOURCES``."""
        return self.gpu, self.cpu, self.memory


def _left(amount: Amount, used: Amount) -> Amount:
    return amount if amount == NO_LIMIT else amount - used


NOTHING = Amounts()
UNLIMITED = Amounts(NO_LIMIT, NO_LIMIT, NO_LIMIT)


def each(make: Callable[[ResourceName], Amount]) -> Amounts:
    """Returns the amounts that ``make`` gives for each resource."""
    return Amounts(*map(make, RESOURCES))


def total(summands: Iterable[Amounts]) -> Amounts:
    """Returns the sum."""
    gpu: Amount = 0
    cpu: Amount = 0
    memory: Amount = 0
    for summand in summands:
        gpu, cpu, memory = gpu + summand.gpu, cpu + summand.cpu, memory + summand.memory
    return Amounts(gpu, cpu, memory)


def summed(numbers: Iterable[float]) -> float:
    """Adds numbers one after another, as Go does. Python's ``sum`` rounds like that only up to 3.11."""
    return reduce(operator.add, numbers, 0.0)


def smaller(left_amounts: Amounts, second: Amounts) -> Amounts:
    """Returns the smaller amount of each resource."""
    return each(lambda name: min(left_amounts.of(name), second.of(name)))


def larger(left_amounts: Amounts, second: Amounts) -> Amounts:
    """Returns the larger amount of each resource."""
    return each(lambda name: max(left_amounts.of(name), second.of(name)))


def share(percent: str, whole: Amounts) -> Amounts:
    """Returns a share such as "33%" of ``whole``, rounded down to whole GPUs, millicores and mebibytes. The share of a
    resource without a limit is 0.
    """
    fraction = Fraction(percent.removesuffix("%")) / 100

    def of(name: ResourceName) -> Amount:
        amount, unit = whole.of(name), _MEBIBYTE if name == "memory" else 1
        return 0 if amount == NO_LIMIT else math.floor(fraction * int(amount) / unit) * unit

    return each(of)


def show(resource: ResourceName, amount: Amount) -> str:
    """Returns an amount in common notation: 30 GPUs, 500m or 2.5 cores, 64Gi, 8T; "unlimited" without a limit."""
    if amount == NO_LIMIT:
        return "unlimited"
    if resource == "gpu":
        return str(amount)
    number = int(amount)
    if resource == "cpu":
        return f"{number}m" if 0 < abs(number) < 1000 else f"{Decimal(number) / 1000:f}"
    units = {suffix: int(SUFFIXES[suffix]) for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki", *"EPTGMk", "")}
    return min((f"{number // unit}{suffix}" for suffix, unit in units.items() if number % unit == 0), key=len)


UNITS: dict[ResourceName, str] = {"gpu": "GPUs", "cpu": "cpu", "memory": "memory"}
"""The unit behind an amount in a sentence: 30 GPUs, 600 cpu, 2Ti memory."""


def said(resource: ResourceName, amount: Amount) -> str:
    """Returns an amount with its unit, for sentences."""
    return f"{show(resource, amount)} {'GPU' if resource == 'gpu' and amount == 1 else UNITS[resource]}"


def as_data(resource: ResourceName, amount: Amount) -> Amount | str | None:
    """Returns an amount for JSON: GPUs as a number, others as Kubernetes quantities; None without a limit."""
    if amount == NO_LIMIT:
        return None
    return amount if resource == "gpu" else show(resource, amount)


def by_meaning(resource: ResourceName, amounts: Mapping[Meaning, Amounts | None]) -> dict[Meaning, Amount | str | None]:
    """Returns amounts of one resource for JSON, by what they mean. None means: no limit, or unknown."""
    return {
        meaning: None if amount is None else as_data(resource, amount.of(resource))
        for meaning, amount in amounts.items()
    }


def kai_number(resource: ResourceName, amount: Amount) -> int | float:
    """Returns an amount for a KAI Queue: GPUs, millicores, or 10^6 bytes with a fraction if needed; -1 without a limit.

    KAI multiplies memory by 10^6 as a float64 (``proportion.go``, 0.6 to 0.17). For 249Gi, ``267361.714176`` gives
    slightly less than 249Gi, and work that asks for 249Gi would wait forever. So such a number has enough digits to
    give the amount, or the next number above the amount.
    """
    if amount == NO_LIMIT:
        return -1
    number = int(amount)
    if resource != "memory":
        return number
    if number % _MEGABYTE == 0:
        return number // _MEGABYTE
    megabytes = number / _MEGABYTE
    while megabytes * _MEGABYTE < number:
        megabytes = math.nextafter(megabytes, math.inf)
    return megabytes


def from_kai(resource: ResourceName, number: float) -> Amount:
    """Returns the amount for a number in a KAI Queue, the inverse of ``kai_number``."""
    if number < 0:
        return NO_LIMIT
    whole = round(number * _MEGABYTE if resource == "memory" else number)
    return Hundredths(str(number)) if resource == "gpu" and whole != number else whole
