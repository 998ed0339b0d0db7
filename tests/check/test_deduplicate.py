"""Findings that have one cause are one, and findings of a file that flags have changed stand where people wrote."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity
from kubectl_tas.base.resources import all_rules
from kubectl_tas.check import deduplicate
from kubectl_tas.check.deduplicate import blamed_on_flags, gathered, without_consequences

RULE = Rule("over-quota", Severity.ERROR, "", "")
PATH = "sent.yaml"
BEFORE = "workflow:\n  name: team\n  priority: LOW\n  tasks: [team]\n"
AFTER = "workflow:\n  name: team\n  priority: HIGH\n  pool: team\n  user: me\n  tasks: [team]\n"
"""The same with --pool team, --priority HIGH, and a line that no flag says."""
FLAGS = {"--pool": "team", "--priority": "HIGH", "--user": None}


def at(line: int, column: int, length: int = 1, path: str = PATH) -> Location:
    """A place in the file with the flags."""
    return Location(path, line, column, length=length)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (at(4, 9, 4), Location("--pool")),
        (at(3, 13, 4), Location("--priority")),
        (at(3, 3, 8), Location(PATH, 3, 1)),
        (at(2, 9, 4), Location(PATH, 2, 9)),
        (at(6, 3, 5), Location(PATH, 4, 3)),
        (at(5, 9, 2), Location(PATH)),
        (at(4, 9, 4, "pools/team.yaml"), Location("pools/team.yaml", 4, 9)),
        (Location(PATH), Location(PATH)),
        (None, None),
    ],
    ids=[
        "a line of a flag",
        "a word that a flag has replaced",
        "another word of that line",
        "the same word where people wrote it",
        "a line below",
        "a line of nobody",
        "another file",
        "the file as a whole",
        "no place",
    ],
)
def test_where_a_finding_of_a_file_with_flags_stands(place: Location | None, expected: Location | None) -> None:
    item = Diagnostic(RULE, "too much", place, (Related("seen here", place),), cause=place)
    (moved,) = blamed_on_flags([item], PATH, (BEFORE.encode(), AFTER.encode()), FLAGS)
    assert moved.location == expected
    assert [note.location for note in moved.related] == [expected]
    assert moved.cause == expected


def test_a_replaced_line_is_shown_as_people_wrote_it() -> None:
    item = Diagnostic(RULE, "too much", at(3, 3, 8))
    (moved,) = blamed_on_flags([item], PATH, (BEFORE.encode(), AFTER.encode()), FLAGS)
    assert moved.location is not None
    assert moved.location.source == "  priority: LOW"


def test_notes_of_one_finding_are_in_the_order_of_their_lines() -> None:
    place = Location("w.yaml", 3, 1)
    notes = [Related("here", Location("w.yaml", 9, 1)), Related("expanded, the line is: a", None)]
    found = [Diagnostic(RULE, "twice", place, (note,)) for note in (*notes, Related("here", Location("w.yaml", 7, 1)))]
    (one,) = gathered(found)
    assert [note.location and note.location.line for note in one.related] == [None, 7, 9]


def test_notes_of_one_finding_stay_before_other_places() -> None:
    rule = Rule("workload-topology", Severity.ERROR, "", "")
    notes = (Related("there", Location("w.yaml", 9, 1)), Related("here", Location("w.yaml", 7, 1)))
    places = [Location(path, 3, 1) for path in ("b.yaml", "a.yaml", "c.yaml")]
    found = [Diagnostic(rule, "no such topology", place, notes if place.path == "b.yaml" else ()) for place in places]
    (one,) = gathered(found)
    assert one.location == places[0]
    assert one.related == (*notes, *(Related("likewise", place) for place in places[1:]))


def vanish(cause: str, path: str) -> set[str]:
    """The rules whose errors in w.yaml are left out beside an error of the rule ``cause``, which is in a file."""
    made = {code: Rule(code, Severity.ERROR, "", "") for code in all_rules()}
    first = Diagnostic(made[cause], "", Location(path, 1, 1))
    found = [Diagnostic(rule, "", Location("w.yaml", 2, 1)) for rule in made.values()]
    return {item.rule.code for item in found if without_consequences([first, item], complete=True) == (first,)}


PLACES = "podgroup-queue podgroup-topology compute-domain workload-topology podgroup-namespace companion-namespace"
NAMED = "reference-unknown reference-elsewhere selects-too-few"


@pytest.mark.parametrize(
    ("causes", "near", "far"),
    [
        (
            "unknown-field operator-field missing-field",
            "workload-pool restart-policy workload-minimum fields-conflict operator-refuses volume-unknown "
            "podgroup-member compute-domain gpus-unknown",
            "",
        ),
        ("workload-label", "workload-pool", ""),
        ("key-unknown", "workload-pool podgroup-member placement-without-level", ""),
        ("key-misplaced", "podgroup-member", ""),
        ("fields-conflict", "nodes-left gpus-unknown", ""),
        ("wrong-type", "nodes-left compute-domain gpus-unknown", ""),
        ("invalid-value", "compute-domain gpus-unknown", ""),
        ("reference-unknown", "compute-domain gpus-unknown subpool-closed", ""),
        ("host-label", "level-label-unknown", ""),
        ("hostname-not-last", "domain-order", ""),
        ("podgroup-namespace", "podgroup-queue podgroup-topology", ""),
        ("set-topology-unknown", "topology-removed", ""),
        ("topology-unknown", "topology-removed", "podgroup-topology workload-topology"),
        (
            "level-duplicate",
            "domain-order hostname-not-last",
            "placement-without-level topology-key-unknown pack-domain-unknown compute-domain-spread",
        ),
        ("topology-key-unknown", "placement-without-level topology-levels-changed", ""),
        (
            "parent-unknown parent-invalid backend-unknown name-invalid name-delimiter name-reserved",
            "",
            f"{PLACES} {NAMED}",
        ),
        ("pool-unknown", "", f"compute-domain podgroup-queue {NAMED}"),
        ("companion-namespace", "", NAMED),
        ("subpool-closed", "", "podgroup-queue"),
        ("domain-order level-label-unknown", "", "compute-domain-spread"),
        ("podgroup-member podgroup-unknown", "", "podgroup-short"),
        ("topology-scheduler", "", "change-refused change-kept"),
        ("maximum-below-quota", "", "over-quota over-quota-running"),
        ("quota-exceeds-pool quota-unlimited-pool", "", "over-quota over-quota-running over-shared-quota"),
        ("over-quota", "", ""),
    ],
)
def test_what_follows_from_a_cause(causes: str, near: str, far: str) -> None:
    """What is near is left out in the file of the cause alone, what is far in all files."""
    for cause in causes.split():
        assert vanish(cause, "w.yaml") == {*near.split(), *far.split()}, cause
        assert vanish(cause, "pools/team.yaml") == set(far.split()), cause


def test_what_follows_from_a_document_that_is_not_read() -> None:
    unread = f"{PLACES} {NAMED} gpus-unknown podgroup-unknown podgroup-priority podgroup-short"
    for code in all_rules():
        item = Diagnostic(Rule(code, Severity.ERROR, "", ""), "", None)
        assert (without_consequences([item], complete=False) == ()) == (code in unread.split()), code
        assert without_consequences([item], complete=True) == (item,)


def test_a_milder_or_waived_finding_is_no_cause() -> None:
    item = Diagnostic(Rule("over-quota", Severity.ERROR, "", ""), "", Location("w.yaml", 1, 1))
    cause = Diagnostic(Rule("quota-exceeds-pool", Severity.ERROR, "", ""), "", None)
    for other in (replace(cause, level=Severity.WARNING), replace(cause, waiver=Location("w.yaml", 1, 1))):
        assert without_consequences([other, item], complete=True) == (other, item)
    assert without_consequences([cause, item], complete=True) == (cause,)


def test_every_rule_that_the_tables_name_exists() -> None:
    """A row of a rule that nobody finds would hide nothing."""
    tables = (deduplicate.FOLLOWS, deduplicate.FOLLOWS_IN_FILE)
    named = {code for table in tables for rule, causes in table.items() for code in (rule, *causes)}
    assert {*named, *deduplicate.SAID_ONCE} - all_rules().keys() == {deduplicate.UNREAD}
