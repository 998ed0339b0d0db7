"""Tests that durations are read and printed as Go does."""

from __future__ import annotations

import pytest

from kubectl_tas import durations


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("5m", "5m0s"),
        ("1h30m", "1h30m0s"),
        ("90s", "1m30s"),
        ("3600s", "1h0m0s"),
        (".5s", "500ms"),
        ("1.5s", "1.5s"),
        ("0.1ms", "100µs"),
        ("7ns", "7ns"),
        ("-10s", "-10s"),
        ("+3s", "3s"),
        ("0", "0s"),
        ("9223372036854775807ns", "2562047h47m16.854775807s"),
    ],
)
def test_a_duration(written: str, printed: str) -> None:
    found = durations.parse(written)
    assert found is not None
    assert durations.text(found) == printed
    assert durations.parse(printed) == found


@pytest.mark.parametrize(
    "written", ["", "1", "s", "1d", "1 s", "- 1s", "1.s.", ".s", "9223372036854775808ns", "9" * 200]
)
def test_no_duration(written: str) -> None:
    assert durations.parse(written) is None
