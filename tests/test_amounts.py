"""Tests that amounts of resources are read exactly, and written as KAI reads them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_tas.facts.gpus import Hundredths
from kubectl_tas.facts.quantities import (
    NO_LIMIT,
    UNLIMITED,
    Amounts,
    ResourceName,
    in_bytes,
    kai_number,
    millicores,
    share,
    show,
)


def test_amounts_are_rounded_up_as_a_server_does() -> None:
    assert (millicores("0.0001"), millicores(0.5), millicores("2")) == (1, 500, 2000)
    assert (in_bytes("1.1Ki"), in_bytes("100m"), in_bytes(7)) == (1127, 1, 7)


@given(st.integers(0, 2**52))
def test_kai_reads_no_less_memory_than_was_meant(amount: int) -> None:
    """KAI multiplies by 10^6 as a float64; work that asks for all of it must fit, and no byte more."""
    read = kai_number("memory", amount) * 1000000.0
    assert amount <= read < amount + 1


def test_a_guarantee_that_kai_would_read_as_less() -> None:
    amount = 249 * 2**30
    assert 267361.714176 * 1000000.0 < amount <= kai_number("memory", amount) * 1000000.0


def test_kai_units() -> None:
    assert [kai_number("gpu", 8), kai_number("cpu", 500), kai_number("memory", 8 * 10**12)] == [8, 500, 8 * 10**6]
    assert kai_number("memory", 8 * 2**40) == 8796093.022208
    assert kai_number("cpu", NO_LIMIT) == -1


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("gpu", 8, "8"),
        ("gpu", Hundredths("0.5"), "0.5"),
        ("cpu", 500, "500m"),
        ("cpu", 2500, "2.5"),
        ("cpu", 600_000, "600"),
        ("memory", 8 * 2**40, "8Ti"),
        ("memory", 8 * 10**12, "8T"),
        ("memory", 5 * 2**39, "2560Gi"),
        ("memory", 0, "0"),
        ("memory", NO_LIMIT, "unlimited"),
    ],
)
def test_show(resource: ResourceName, amount: int | Decimal, text: str) -> None:
    assert show(resource, amount) == text


def test_amounts() -> None:
    left = Amounts(10, 2000, 100) - Amounts(Hundredths("0.5"), 500, 120)
    assert left == Amounts(Decimal("9.5"), 1500, -20)
    assert UNLIMITED - Amounts(3, 3, 3) == UNLIMITED
    assert 3 * Amounts(1, 2, 3) == Amounts(3, 6, 9)


def test_what_is_not_asked_for_exceeds_nothing() -> None:
    assert Amounts(0, 1, 0).exceeding(Amounts(-5, 0, -5)) == ("cpu",)
    assert Amounts(10**9, 10**9, 10**9).exceeding(UNLIMITED) == ()


def test_shares_are_rounded_down() -> None:
    assert share("33%", Amounts(100, 2001, 8 * 2**40)) == Amounts(33, 660, 2768240 * 2**20)
    assert share("50%", UNLIMITED) == Amounts(0, 0, 0)
