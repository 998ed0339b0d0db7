"""Tests findings in JSON."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pytest

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity, Suggestion
from kubectl_tas.facts.quantities import NO_LIMIT, Amounts
from kubectl_tas.report import Findings
from kubectl_tas.report import json as report
from kubectl_tas.resolve.topologies import Level

ERROR = Rule("some-error", Severity.ERROR, "", "")
WARNING = Rule("some-warning", Severity.WARNING, "", "")
PLACE = Location("pools/a.yaml", 7, 10, source="  quota: forty", length=5)


class Place(NamedTuple):
    """A place with a name."""

    name: str


def shown(diagnostics: list[Diagnostic], files: int) -> str:
    """The JSON of what was found in so many files."""
    return report.render(Findings("validate", tuple(diagnostics), (), files, "tas.yaml"))


def test_every_field() -> None:
    found = Diagnostic(ERROR, "forty is no number", PLACE, (Related("r", PLACE), Related("s", None)), hint="Write 40.")
    place = {"path": "pools/a.yaml", "line": 7, "column": 10}
    assert json.loads(shown([found], 3)) == {
        "version": 1,
        "summary": {"files": 3, "error": 1, "warning": 0, "info": 0, "waived": 0},
        "diagnostics": [
            {
                "rule": "some-error",
                "severity": "error",
                "message": "forty is no number",
                "hint": "Write 40.",
                "fix": None,
                "location": place,
                "related": [{"message": "r", "location": place}, {"message": "s", "location": None}],
                "waiver": None,
            }
        ],
    }


def test_every_key_is_there_even_where_nothing_is_known() -> None:
    (found,) = json.loads(shown([Diagnostic(WARNING, "m", None)], 0))["diagnostics"]
    assert found == {
        "rule": "some-warning",
        "severity": "warning",
        "message": "m",
        "hint": "",
        "fix": None,
        "location": None,
        "related": [],
        "waiver": None,
    }


def test_a_hint_that_is_sure_says_what_to_write() -> None:
    hint = Suggestion('Did you mean "team"?', "taem", "team")
    (found,) = json.loads(shown([Diagnostic(WARNING, "m", None, hint=hint)], 0))["diagnostics"]
    assert (found["hint"], found["fix"]) == ('Did you mean "team"?', {"written": "taem", "meant": "team"})


def test_file_as_a_whole_has_no_line() -> None:
    (found,) = json.loads(shown([Diagnostic(ERROR, "m", Location("pools/a.yaml"))], 1))["diagnostics"]
    assert found["location"] == {"path": "pools/a.yaml", "line": None, "column": None}


def test_is_valid_whatever_the_names(tmp_path: Path) -> None:
    """A name that is no text comes out as JSON's own escape once the stream escapes what it cannot encode."""
    name = 'a\n"\x1b\udcff.yaml'
    text = shown([Diagnostic(ERROR, "m", Location(name, 1, 1))], 1)
    (tmp_path / "out.json").write_text(text, encoding="utf-8", errors="backslashreplace")
    read = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert read["diagnostics"][0]["location"]["path"] == name


def test_text_is_not_escaped() -> None:
    assert "名前" in shown([Diagnostic(ERROR, "名前", None)], 1)


def test_gpus_in_part_are_numbers_and_nothing_else_is_written() -> None:
    assert report.dump({"whole": Decimal("2.0"), "part": Decimal("0.5")}) == '{\n  "whole": 2,\n  "part": 0.5\n}\n'
    with pytest.raises(TypeError, match=r"not JSON: \{1\}"):
        report.dump({"a": {1}})


@json_fields("version:3 first=pods.name count=pods.len note|null size? level=near.key")
class Told(NamedTuple):
    pods: tuple[Place, ...]
    note: str
    size: Decimal | None
    near: Level | None


def test_an_answer_has_the_fields_that_its_class_names() -> None:
    told = Told((Place("a"), Place("b")), "", None, None)
    assert report.as_json(told) == {"version": 3, "first": ["a", "b"], "count": 2, "note": None, "level": None}
    more = told._replace(note="n", size=NO_LIMIT, near=Level("rack", "example.com/rack"))
    assert report.as_json(more)["note"] == "n"
    assert report.as_json(more)["level"] == "rack"
    assert report.as_json({"left": NO_LIMIT, "amounts": Amounts(Decimal("0.5"), 500, NO_LIMIT)}) == {
        "left": None,
        "amounts": {"gpu": Decimal("0.5"), "cpu": "500m", "memory": None},
    }


def test_a_result_without_a_place_has_none() -> None:
    found = [Diagnostic(ERROR, "a", PLACE, hint="b"), Diagnostic(WARNING, "c", None)]
    assert report.results(found, lambda place: {"file": {"path": place.path}}) == [
        {
            "message": "a",
            "severity": "error",
            "file": {"path": "pools/a.yaml"},
            "tags": {"rule": "some-error", "hint": "b"},
        },
        {"message": "c", "severity": "warning", "tags": {"rule": "some-warning"}},
    ]
