"""Tests how a subpool's quota is computed."""

from __future__ import annotations

import pytest

from kubectl_tas.facts.quantities import NO_LIMIT, Amounts
from kubectl_tas.resolve.pools import requested_quota


@pytest.mark.parametrize(
    ("quota", "guarantee", "gpus"),
    [
        (7, 100, 7),
        ("33%", 100, 33),
        ("33%", 10, 3),
        ("0.5%", 1000, 5),
        ("100%", 0, 0),
        ("100%", -1, 0),
        ("250%", -1, 0),
    ],
)
def test_a_share_is_rounded_down_and_nothing_of_a_parent_without_limit(
    quota: int | str, guarantee: int, gpus: int
) -> None:
    whole = Amounts(NO_LIMIT if guarantee == -1 else guarantee)
    assert requested_quota(quota, whole) == Amounts(gpus)
