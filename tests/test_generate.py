"""Tests that the committed generated files are those that ``python -m tools.generate`` writes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from kubectl_tas import check
from kubectl_tas.base import resources
from kubectl_tas.base.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.check.walk import look_at_fleet
from kubectl_tas.kinds import LISTED, Listed
from kubectl_tas.kinds.page import Recognition
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.work import plain
from tools import declared, generate, rulepages
from tools.generate import COMMAND, differences, main, texts, write
from tools.goldens import ROOT
from tools.unfinished import unfinished

RULES = resources.all_rules()
pytestmark = pytest.mark.sweep  # what is generated takes seconds


@pytest.fixture(scope="module", autouse=True)
def generated_once() -> Iterator[None]:
    """Nothing here changes what is generated, which takes seconds."""
    found = texts()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generate, "texts", lambda: dict(found))
        yield


def test_what_is_committed_is_fresh() -> None:
    assert differences() == [], f"run {COMMAND}"


def test_everything_is_written_once(tmp_path: Path) -> None:
    assert write(tmp_path) == sorted(generate.texts())
    assert write(tmp_path) == []
    assert (tmp_path / "docs/rules.md").read_bytes() == (ROOT / "docs/rules.md").read_bytes()


def test_what_differs_is_found_and_mended(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "schemas/gone.json").write_text("{}")
    (tmp_path / "schemas/pool.json").write_text("{}")
    (tmp_path / "docs/cli.md").unlink()
    stale = ["docs/cli.md", "schemas/gone.json", "schemas/pool.json"]
    assert differences(tmp_path) == stale
    assert write(tmp_path) == stale
    assert not (tmp_path / "schemas/gone.json").exists()
    assert differences(tmp_path) == []


def test_the_command_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["--chekc"]) == 2
    assert capsys.readouterr().err == f"usage: {COMMAND} [--check]\n"


def test_every_kind_and_every_case_is_finished() -> None:
    assert list(unfinished()) == []


def test_what_a_new_kind_lacks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    page = replace(LISTED[0].page, recognition=Recognition("MXJob", ("kubeflow.org/v1",), operator="training-operator"))
    monkeypatch.setattr(kinds_of_mx := ModuleType("kubectl_tas.kinds.mxjob"), "PAGE", page, raising=False)
    monkeypatch.setitem(sys.modules, kinds_of_mx.__name__, kinds_of_mx)
    monkeypatch.setattr("tools.unfinished.LISTED", (Listed("MXJob", ("kubeflow.org/v1",), "mxjob", "MXJob"),))
    assert main(["--check"]) == 1
    said = capsys.readouterr().err
    for part in ("tools/packfields.py", "golden/documents/mxjob.yaml"):
        assert sum(part in line for line in said.splitlines()) == 1, said


def _new_rule(monkeypatch: pytest.MonkeyPatch, severity: Severity) -> None:
    """Declares a rule that every workload breaks, and that rules.json lacks."""
    rule = Rule("new-rule", severity, "A workload exists.", "It breaks this rule.")

    def check_new(fleet: Fleet) -> Iterator[Diagnostic]:
        for workload in fleet.workloads:
            yield Diagnostic(rule, "this is a workload", workload.declared.at("metadata", "name"))

    monkeypatch.setattr(check, "WORK_CHECKS", (look_at_fleet(check_new, "a test"),))
    monkeypatch.setattr(declared, "declared_rules", lambda: {**RULES, rule.code: rule})
    monkeypatch.setattr(resources, "all_rules", cache(lambda: dict(RULES)))
    for user in (generate, plain):
        monkeypatch.setattr(user, "all_rules", resources.all_rules)
    monkeypatch.setattr(generate, "texts", lambda: {"docs/workloads.md": generate._workload_page()})


def test_an_example_breaks_a_new_rule(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _new_rule(monkeypatch, Severity.WARNING)
    main(["--check"])
    assert "workloads.md" not in capsys.readouterr().out


def test_a_new_rule_that_stops_an_example(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The command says what the rule finds, and has written the table of rules by then."""
    _new_rule(monkeypatch, Severity.ERROR)
    with pytest.raises(ValueError, match=r"error: this is a workload \[new-rule\]"):
        write(tmp_path)
    assert '"new-rule"' in (tmp_path / generate.RULES).read_text()
    assert main(["--check"]) == 1
    assert "examples/workloads does not render" in capsys.readouterr().err


def test_a_rule_in_a_new_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(generate, "texts", rulepages.texts)
    kept = {subject: places for subject, places in rulepages.SUBJECTS.items() if subject != "Platforms"}
    monkeypatch.setattr(rulepages, "SUBJECTS", kept)
    assert main(["--check"]) == 1
    assert "SUBJECTS of tools/rulepages.py lacks check.task_platforms: add" in capsys.readouterr().err


def test_what_is_right_differs_from_what_is_wrong() -> None:
    """The page of a rule shows the file that a case without findings has otherwise, or a sentence alone."""
    for page in sorted((ROOT / "docs/rules").glob("*.md")):
        _, _, examples = page.read_text(encoding="utf-8").partition("\n## Wrong\n")
        wrong, found, right = examples.partition("\n## Right\n")
        blocks = re.findall(r"```(?:yaml|json)\n.*?```", right, re.DOTALL)
        assert bool(examples) == bool(found), page.name
        assert not any(block in wrong for block in blocks), page.name
