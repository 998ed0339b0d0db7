"""Every rule has a case that fires and one that is silent, and a page in docs/rules.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.cli.rule import all_rules
from kubectl_tas.report.rules import document
from tests.support.golden import ROOT, at, cases
from tests.support.history import validate_case

RULES = {rule.code: rule for rule in all_rules()}
GENERATED = {
    "file-too-large": "nobody wants a file of 5 MiB in git; tests/load/test_source.py makes one",
}
"""Rules whose input is not committed, and why."""
COMMANDS = {
    "subpool-transition": "about what a command asks for, not about a file",
    "subpool-unknown": "about what a command asks for, not about a file",
}
"""Rules that validate never finds, and why."""


@pytest.mark.parametrize("case", cases("rules"), ids=lambda case: case.name)
def test_rule_fires(case: Path, snapshot: Any, tmp_path: Path) -> None:
    result = validate_case(case / "fires", tmp_path)
    assert f"[{case.name}]" in result.out
    assert result.code == (1 if RULES[case.name].severity.value == "error" else 0)
    assert result.out == snapshot(extension_class=at(case / "fires/output.txt"))


@pytest.mark.parametrize("case", cases("rules"), ids=lambda case: case.name)
def test_rule_is_silent(case: Path, tmp_path: Path) -> None:
    result = validate_case(case / "silent", tmp_path)
    assert result.out.startswith("No problems found in ")
    assert result.code == 0


def test_every_rule_has_cases() -> None:
    assert {case.name for case in cases("rules")} == RULES.keys() - GENERATED.keys() - COMMANDS.keys()


def test_rules_are_documented(snapshot: Any) -> None:
    assert document(all_rules()) == snapshot(extension_class=at(ROOT / "docs/rules.md"))
