"""Tests that amounts are read as Kubernetes reads them, and shown as people write them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from kubectl_tas.facts import quantities
from kubectl_tas.facts.gpus import Hundredths
from kubectl_tas.facts.quantities import NO_LIMIT, UNLIMITED, Amounts


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("64Gi", Decimal(64 * 1024**3)),
        ("500m", Decimal("0.5")),
        ("1.5", Decimal("1.5")),
        ("1E", Decimal(10**18)),
        ("1e3", Decimal(1000)),
        (".5k", Decimal(500)),
        ("100n", Decimal("0.0000001")),
        (2, Decimal(2)),
        (0.5, Decimal("0.5")),
        ("-1", Decimal(-1)),
        ("64GB", None),
        ("64 Gi", None),
        ("64gi", None),
        ("1Ki2", None),
        ("1e3Gi", None),
        ("", None),
        ("1" * 5000, None),
        (float("nan"), None),
        (float("inf"), None),
        (None, None),
        ("2.", Decimal(2)),
        (".", None),
        (True, None),
        (10**29, Decimal(10**29)),
        (10**30, None),
        ("1e-3", Decimal("0.001")),
        ("1E+3", Decimal(1000)),
        ("1e1000", None),
        (f"1.{'1' * 31}", None),
        *((f"3{suffix}", Decimal(3) * 1000**power) for power, suffix in enumerate("kMGTPE", start=1)),
        *((f"3{suffix}i", Decimal(3) * 1024**power) for power, suffix in enumerate("KMGTPE", start=1)),
        *((f"3{suffix}", Decimal(3) / 1000**power) for power, suffix in enumerate("mun", start=1)),
        ("3K", None),
        ("3ki", None),
    ],
)
def test_amounts(written: object, amount: Decimal | None) -> None:
    assert quantities.parse(written) == amount


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("64GB", "Write 64G or 64Gi."),
        ("64gib", "Write 64Gi."),
        ("64KB", "Write 64k or 64Ki."),
        ("64 Gi", "Write 64Gi."),
        *((f"1.5 {word}", "Write 1.5.") for word in ("core", "Cores", "cpu", "cpus", "vCPU", "vcpus", "c")),
        ("64 m", "Write 64m."),
        ("5b", "Units are m, k, M, G, T and Ki, Mi, Gi, Ti."),
        *((f"1{unit}B", f"Write 1{unit.upper()} or 1{unit.upper()}i.") for unit in "mgtpe"),
        ("many", "Write a number and a unit without a blank between them, such as 64Gi."),
        ("5 bananas", "Units are m, k, M, G, T and Ki, Mi, Gi, Ti."),
    ],
)
def test_what_was_meant_by_an_amount(written: str, hint: str) -> None:
    assert quantities.refused(written) == ("must be a quantity such as 500m or 64Gi", hint)


def test_amounts_below_zero_and_fractions_that_a_crd_refuses() -> None:
    assert quantities.refused("-1") == ("must not be negative", "Write 0 or more.")
    assert quantities.refused("0") is None
    assert quantities.refused_by_crds(0.5) == (
        "must be text or a whole number",
        'Put it in quotes: "0.5". The CRD of this kind takes no fraction.',
    )
    assert [quantities.refused_by_crds(value) for value in (2.0, "0.5", 1)] == [None, None, None]


@pytest.mark.parametrize(
    ("resource", "amount", "shown"),
    [
        ("gpu", 30, "30"),
        ("gpu", Hundredths("0.5"), "0.5"),
        ("cpu", 0, "0"),
        ("cpu", 500, "500m"),
        ("cpu", -500, "-500m"),
        ("cpu", 1000, "1"),
        ("cpu", 2500, "2.5"),
        ("memory", 0, "0"),
        ("memory", 1, "1"),
        ("memory", 1023, "1023"),
        *(("memory", 3 * 1024**power, f"3{unit}i") for power, unit in enumerate("KMGTPE", start=1)),
        *(("memory", 3 * 1000**power, f"3{unit}") for power, unit in enumerate("kMGTPE", start=1)),
        ("memory", 1536 * 2**20, "1536Mi"),
        *((resource, NO_LIMIT, "unlimited") for resource in quantities.RESOURCES),
    ],
)
def test_how_an_amount_is_shown(resource: quantities.ResourceName, amount: quantities.Amount, shown: str) -> None:
    assert quantities.show(resource, amount) == shown
    whole = amount if resource == "gpu" else shown
    assert quantities.as_data(resource, amount) == (None if amount == NO_LIMIT else whole)


@pytest.mark.parametrize(
    ("resource", "amount", "number"),
    [
        ("gpu", 3, 3),
        ("cpu", 1500, 1500),
        ("memory", 3 * 10**6, 3),
        ("memory", 1, 1e-6),
        *((resource, NO_LIMIT, -1) for resource in quantities.RESOURCES),
    ],
)
def test_an_amount_as_kai_counts_it(
    resource: quantities.ResourceName, amount: quantities.Amount, number: float
) -> None:
    assert quantities.kai_number(resource, amount) == number
    assert quantities.from_kai(resource, number) == amount


def test_a_part_of_a_gpu_in_a_queue() -> None:
    assert quantities.from_kai("gpu", 0.5) == Hundredths("0.5")
    assert quantities.from_kai("cpu", 0.6) == 1


def test_sums_of_amounts() -> None:
    one, other = Amounts(1, 2, 3), Amounts(2, 2, 0)
    assert one + other == quantities.total([one, other]) == Amounts(3, 4, 3)
    assert one - other == Amounts(-1, 0, 3)
    assert UNLIMITED - one == UNLIMITED
    assert 2 * one == one * 2 == Amounts(2, 4, 6)
    assert (quantities.smaller(one, other), quantities.larger(one, other)) == (Amounts(1, 2, 0), Amounts(2, 2, 3))
    assert (one.asked, other.asked) == (("gpu", "cpu", "memory"), ("gpu", "cpu"))
    assert one.exceeding(other) == ("memory",)
    assert other.exceeding(Amounts(1, 2, -1)) == ("gpu",)


@pytest.mark.parametrize(
    ("percent", "part"),
    [
        ("33%", Amounts(3, 330, 33 * 2**20)),
        ("0.5%", Amounts(0, 5, 0)),
        ("100%", Amounts(10, 1000, 100 * 2**20)),
    ],
)
def test_a_share_is_rounded_down(percent: str, part: Amounts) -> None:
    assert quantities.share(percent, Amounts(10, 1000, 100 * 2**20 + 5)) == part
    assert quantities.share(percent, UNLIMITED) == quantities.NOTHING


def test_numbers_of_a_pod_are_rounded_up() -> None:
    assert [quantities.millicores(text) for text in ("1.5", "0.1m", "x")] == [1500, 1, 0]
    assert [quantities.in_bytes(text) for text in ("1Ki", "0.1", "x")] == [1024, 1, 0]


def test_one_gpu_is_no_plural() -> None:
    assert [quantities.said("gpu", amount) for amount in (0, 1, 2)] == ["0 GPUs", "1 GPU", "2 GPUs"]
    assert quantities.said("cpu", 1000) == "1 cpu"


def test_sums_are_those_of_every_python() -> None:
    """``sum`` makes one of these in Python 3.12, as ``math.fsum`` does; Go, and so KAI, makes what is here."""
    assert quantities.summed([0.1] * 10) == 0.9999999999999999


@pytest.mark.parametrize("mebibytes", [249, 249 * 1024, 250])
def test_memory_of_a_queue_is_the_amount_or_the_next_number_above_it(mebibytes: int) -> None:
    """For 249Mi, 261.095424 times 10^6 is less than what work asks for."""
    number = quantities.kai_number("memory", mebibytes * 2**20)
    assert 0 <= number * 10**6 - mebibytes * 2**20 < 1
    assert quantities.from_kai("memory", number) == mebibytes * 2**20
