"""Tests that durations are read and printed as Go does, and schedules and time zones as Kubernetes does."""

from __future__ import annotations

import pytest

from kubectl_tas import times


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
    found = times.nanoseconds(written)
    assert found is not None
    assert times.duration(found) == printed
    assert times.nanoseconds(printed) == found


@pytest.mark.parametrize(
    "written", ["", "1", "s", "1d", "1 s", "- 1s", "1.s.", ".s", "9223372036854775808ns", "9" * 200]
)
def test_no_duration(written: str) -> None:
    assert times.nanoseconds(written) is None


@pytest.mark.parametrize("digits", ["0" * 100 + "1", "9" * 5000])
def test_more_digits_than_a_duration_has_are_not_read(digits: str) -> None:
    assert times.nanoseconds(f"{digits}s") is None


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
        ("activeDeadlineSeconds", "4 parsecs", None),
        ("activeDeadlineSeconds", "4h and more", None),
        ("activeDeadlineSeconds", "4", None),
        ("activeDeadlineSeconds", " ", None),
        ("name", "4h", None),
    ],
)
def test_a_time_in_words_is_a_number_in_the_unit_of_its_field(field: str, text: str, number: int | None) -> None:
    assert times.in_unit_of(field, text) == number


@pytest.mark.parametrize(
    "text",
    [
        "* * * * *",
        "*/5 0-6,12-18/2 1 jan-MAR mon",
        "5/15 ? ? * 0",
        "@daily",
        "@every 1h30m",
        "0 0 1,15 * 1-5",
    ],
)
def test_schedules_that_kubernetes_takes(text: str) -> None:
    assert times.schedule_refused(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 7",
        "*/0 * * * *",
        "5-1 * * * *",
        "1-2-3 * * * *",
        "1/2/3 * * * *",
        "-1 * * * *",
        "* * * * monday",
        "@dayly",
        "@every day",
        "CRON_TZ=UTC * * * * *",
        f"{'9' * 5000} * * * *",
        f"*/{'9' * 5000} * * * *",
        "٣ * * * *",
    ],
)
def test_schedules_that_kubernetes_refuses(text: str) -> None:
    assert times.schedule_refused(text) is not None


@pytest.mark.parametrize(
    ("zone", "is_one"),
    [("Etc/UTC", True), ("America/Argentina/La_Rioja", True), ("Etc/GMT+5", True), ("Local", False), ("CET 1", False)],
)
def test_time_zones_that_kubernetes_takes_and_refuses(zone: str, is_one: bool) -> None:
    assert (times.zone_refused(zone) is None) is is_one


@pytest.mark.parametrize("zone", ["Etc/UTC", "UTC", "Europe/Zurich", "Asia/Calcutta", "US/Pacific", "Etc/GMT+2", "EST"])
def test_time_zones(zone: str) -> None:
    assert times.zone_refused(zone) is None


@pytest.mark.parametrize("zone", ["", "Local", "local", "Berlin", "europe/berlin", "GMT+2", "Europe/../UTC", "CEST"])
def test_no_time_zones(zone: str) -> None:
    assert times.zone_refused(zone) is not None


@pytest.mark.parametrize(
    ("schedule", "is_taken"), [("1,,2 * * * *", True), ("1,60 * * * *", False), (",60 * * * *", False)]
)
def test_nothing_between_commas_of_a_schedule_is_skipped(schedule: str, is_taken: bool) -> None:
    """As robfig/cron reads it, with Go's strings.FieldsFunc."""
    assert (times.schedule_refused(schedule) is None) is is_taken
