"""Tests that amounts are read as Kubernetes reads them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from kubectl_tas import quantities


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
        ("1.5 cores", "Write 1.5."),
        ("many", "Write a number and a unit without a blank between them, such as 64Gi."),
        ("5 bananas", "Units are m, k, M, G, T and Ki, Mi, Gi, Ti."),
    ],
)
def test_what_was_meant_by_an_amount(written: str, hint: str) -> None:
    assert quantities.refused(written) == ("must be a quantity such as 500m or 64Gi", hint)


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
