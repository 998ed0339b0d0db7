"""Tests that durations are read and printed as Go does, and schedules and time zones as Kubernetes does."""

from __future__ import annotations

import pytest

from kubectl_tas.facts import times


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


@pytest.mark.parametrize(
    "zone",
    [
        "Etc/UTC",
        "UTC",
        "Europe/Zurich",
        "Asia/Calcutta",
        "America/Argentina/La_Rioja",
        "US/Pacific",
        "Etc/GMT+2",
        "EST",
    ],
)
def test_time_zones(zone: str) -> None:
    assert times.zone_refused(zone) is None


@pytest.mark.parametrize(
    "zone", ["", "Local", "local", "Berlin", "europe/berlin", "GMT+2", "Europe/../UTC", "CEST", "CET 1"]
)
def test_no_time_zones(zone: str) -> None:
    assert times.zone_refused(zone) is not None


SCHEDULES = (
    *("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@every 1h30m"),
    *("0 0 1 1 0", "59 23 31 12 6", "* ? */5 1-12 */2", "0-59/999999999 * * * *", "1,2-3,4/5 * * * *", "1,,2 * * * *"),
    "* * * jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec sun,mon,tue,wed,thu,fri,sat",
    "* * * JAN-Dec Sun-SAT",
)
FORMS = "Write *, a number, a range such as 1-5, or */5."
OF_MINUTES, OF_HOURS = "for the minute, which is from 0 to 59", "for the hour, which is from 0 to 23"
OF_DAYS, OF_MONTHS = "for the day of the month, which is from 1 to 31", "for the month, which is from 1 to 12"
OF_WEEKS = "for the day of the week, which is from 0 to 6, or sun to sat"
UNKNOWN = (
    "is no schedule that Kubernetes knows",
    "Known: @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly and @every DURATION.",
)
NO_SCHEDULES = {
    **{
        f"{text} * * * *": (f'has "{text}" {OF_MINUTES}', FORMS)
        for text in (
            "60",
            "-1",
            "a",
            "5-4",
            "*/0",
            "9" * 5000,
            f"*/{'9' * 5000}",
            "1-2-3",
            "1/2/3",
            "1/a",
            "*/",
            "1_0",
            "0000000001",
            "٣",
            "jan",
        )
    },
    "1,60 * * * *": (f'has "60" {OF_MINUTES}', FORMS),
    ",60 * * * *": (f'has "60" {OF_MINUTES}', FORMS),
    "* 24 * * *": (f'has "24" {OF_HOURS}', FORMS),
    "* * 0 * *": (f'has "0" {OF_DAYS}', FORMS),
    "* * 32 * *": (f'has "32" {OF_DAYS}', FORMS),
    "* * * 0 *": (f'has "0" {OF_MONTHS}, or jan to dec', FORMS),
    "* * * 13 *": (f'has "13" {OF_MONTHS}, or jan to dec', FORMS),
    "* * * 7-sun *": (f'has "7-sun" {OF_MONTHS}, or jan to dec', FORMS),
    "* * * * 7": (f'has "7" {OF_WEEKS}', "Write 0 for Sunday."),
    "* * * * monday": (f'has "monday" {OF_WEEKS}', FORMS),
    "* * * * 8": (f'has "8" {OF_WEEKS}', FORMS),
    **{
        text: (
            f"must have 5 fields, and has {len(text.split())}",
            "Write minute, hour, day of the month, month and day of the week, such as 0 3 * * 1.",
        )
        for text in ("", "* * * *", "* * * * * *")
    },
    **dict.fromkeys(("@nightly", "@every day", "@every", "@every 1d", "@every  1h"), UNKNOWN),
    "CRON_TZ=UTC * * * * *": ("must not name a time zone", "Write it in timeZone, beside schedule."),
}


def test_schedules() -> None:
    """As robfig/cron reads them, with Go's strings.FieldsFunc: nothing between commas is skipped."""
    assert {text: times.schedule_refused(text) for text in SCHEDULES} == dict.fromkeys(SCHEDULES)
    assert {text: times.schedule_refused(text) for text in NO_SCHEDULES} == NO_SCHEDULES


@pytest.mark.parametrize(
    ("zone", "advice"),
    [
        ("Berlin", 'Did you mean "Europe/Berlin"?'),
        ("europe/berlin", 'Did you mean "Europe/Berlin"?'),
        ("Europe/Zurch", 'Did you mean "Europe/Zurich"?'),
        ("Home", "Write one of the tz database, such as Etc/UTC or Europe/Zurich."),
    ],
)
def test_the_time_zone_that_is_meant(zone: str, advice: str) -> None:
    assert times.zone_refused(zone) == ("must be the name of a time zone", advice)


@pytest.mark.parametrize(
    ("schedule", "seconds"),
    [
        ("* * * * *", 60),
        ("*/5 * * * *", 300),
        ("*/7 * * * *", 240),
        ("0,50 * * * *", 600),
        ("30 * * * *", 3600),
        ("0 3 * * *", 86400),
        ("0 9-17/4 * * 1-5", 14400),
        ("5/20 ? * * *", 1200),
        ("58-59,0 0,23 * * *", 60),
        ("0,,30 3 * * *", 1800),
        (", 3 * * *", 86400),
        ("@hourly", 3600),
        ("@daily", 86400),
        ("@every 90s", 90),
        ("@every 1ms", 1),
        ("nightly", 60),
        ("61 * * * *", 60),
        ("None", 60),
    ],
)
def test_the_shortest_time_between_two_runs(schedule: str, seconds: int) -> None:
    assert times.shortest_interval(schedule) == seconds


def test_every_schedule_has_an_interval() -> None:
    assert {text for text in (*SCHEDULES, *NO_SCHEDULES) if times.shortest_interval(text) < 1} == set()


@pytest.mark.parametrize("schedule", ["30 2 31 2 *", "0 0 30 feb ?", "0 0 31 4,6,9,11 */1", "0 0 30,31 2 *"])
def test_a_schedule_of_a_day_that_its_months_lack_never_comes(schedule: str) -> None:
    assert times.schedule_refused(schedule) is None
    assert times.never_comes(schedule)


@pytest.mark.parametrize(
    "schedule",
    ["0 0 29 2 *", "0 0 31 1,2 *", "0 0 31 2 1", "0 0 31 2 */2", "0 0 * 2 *", "@daily", "@every 5h", "0 0 32 2 *", "x"],
)
def test_a_schedule_of_any_other_day_comes(schedule: str) -> None:
    assert not times.never_comes(schedule)
