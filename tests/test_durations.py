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


@pytest.mark.parametrize("digits", ["0" * 100 + "1", "9" * 5000])
def test_more_digits_than_a_duration_has_are_not_read(digits: str) -> None:
    assert durations.parse(f"{digits}s") is None


@pytest.mark.parametrize(
    ("field", "text", "number"),
    [
        ("activeDeadlineSeconds", "4h", 14400),
        ("activeDeadlineSeconds", "2d", 172800),
        ("activeDeadlineSeconds", " 1 hour, 30 minutes ", 5400),
        ("ttlSecondsAfterFinished", "1.5m", 90),
        ("ttlSecondsAfterFinished", "1500ms", 2),
        ("keepDays", "36h", 2),
        ("timeoutMs", "2s", 2000),
        ("waitMillis", "1s", 1000),
        ("waitMilliseconds", "1s", 1000),
        ("periodSecs", "1m", 60),
        ("minutes", "1h", 60),
        ("ageHours", "1d", 24),
        ("secret", "1h", None),
        *(
            ("timeoutMs", f"2 {word}", 2 * size)
            for size, words in (
                (1, "ms milli millis millisecond milliseconds msec msecs"),
                (1000, "s sec secs second seconds"),
                (60_000, "m min mins minute minutes"),
                (3_600_000, "h hr hrs hour hours"),
                (86_400_000, "d day days"),
            )
            for word in words.split()
        ),
        ("activeDeadlineSeconds", "4 parsecs", None),
        ("activeDeadlineSeconds", "4h and more", None),
        ("activeDeadlineSeconds", "4", None),
        ("activeDeadlineSeconds", " ", None),
        ("name", "4h", None),
    ],
)
def test_a_time_in_words_is_a_number_in_the_unit_of_its_field(field: str, text: str, number: int | None) -> None:
    assert durations.in_unit_of(field, text) == number
