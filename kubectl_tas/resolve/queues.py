"""Quotas in whole GPUs."""

from __future__ import annotations

from decimal import Decimal


def asked_quota(quota: int | str, guarantee: int) -> int:
    """GPUs that a subpool's ``quota`` comes to: a number, or a share of the parent's ``guarantee`` such as
    "33%", rounded down. A share of an unlimited parent is 0; check.quota refuses it.
    """
    if isinstance(quota, int):
        return quota
    share = Decimal(quota.removesuffix("%"))
    return int(share * max(guarantee, 0) / 100)
