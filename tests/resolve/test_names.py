"""Tests that names are unique."""

from __future__ import annotations

from kubectl_tas.resolve.names import digest, distinct


def test_a_hashed_name_is_nobodys_own_label() -> None:
    hashed = f"a-{digest('x/second')}"
    given = distinct([("x/first", "a"), ("x/second", "a"), ("x/third", hashed)])
    assert (given[0], given[2]) == ("a", hashed)
    assert len(set(given)) == 3
