"""Tests that every rule has cases that fire and one that is silent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.base.resources import all_rules
from kubectl_tas.check.walk import Look, walk
from kubectl_tas.resolve.fleet import Fleet
from tests.support.golden import at, name_of, rule_cases
from tests.support.history import validate_case
from tools.declared import declared_rules
from tools.goldens import read
from tools.rule_nodes import rules_of

RULES = all_rules()
GENERATED = {
    "file-size": "nobody wants a file of 1 MiB in git; tests/gangs/test_files.py makes one",
    "file-too-large": "nobody wants a file of 5 MiB in git; tests/load/test_source.py makes one",
    "cluster-unread": "a cluster that does not answer is no file; tests/test_clusters.py asks one",
    "nodes-unread": "a cluster that hides its nodes is no file; tests/test_clusters.py asks one",
}
"""Rules whose input is not committed, and why."""
COMMANDS = {
    "manifests-stale": "about what is committed below the output folder; tests/test_formats.py has it",
    "pool-in-use": "about what a command asks for, not about a file",
    "subpool-transition": "about what a command asks for, not about a file",
    "subpool-unknown": "about what a command asks for, not about a file",
}
"""Rules that validate never finds, and why."""


def test_the_table_has_the_rules_as_modules_declare_them() -> None:
    assert declared_rules() == RULES
    assert list(RULES) == sorted(RULES)


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes each check tell only rules that its code names."""

    def walked(fleet: Fleet, looks: Iterable[Look[Any]]) -> Iterator[Diagnostic]:
        for look in looks:
            for finding in walk(fleet, (look,)):
                assert finding.rule.code in rules_of(look.check)
                yield finding

    monkeypatch.setattr("kubectl_tas.check.walk", walked)


FIRING = [case for case in rule_cases() if not read(case).is_silent]
SILENT = [case for case in rule_cases() if read(case).is_silent]


@pytest.mark.every_case
@pytest.mark.parametrize("case", FIRING, ids=name_of)
def test_rule_fires(case: Path, snapshot: Any, tmp_path: Path) -> None:
    rule = RULES[case.parent.name]
    result = validate_case(case, tmp_path)
    assert f"[{rule.code}]" in result.out
    assert result.code == (1 if rule.severity.value == "error" else 0)
    assert result.out == snapshot(extension_class=at(case / "output.txt"))


@pytest.mark.every_case
@pytest.mark.parametrize("case", SILENT, ids=name_of)
def test_rule_is_silent(case: Path, tmp_path: Path) -> None:
    result = validate_case(case, tmp_path)
    assert result.out.startswith("No problems found in ")
    assert result.code == 0
    assert not (case / "output.txt").exists()


@pytest.mark.parametrize("found", [FIRING, SILENT], ids=["fires", "silent"])
def test_every_rule_has_cases(found: list[Path]) -> None:
    cases, wanted = {case.parent.name for case in found}, RULES.keys() - GENERATED.keys() - COMMANDS.keys()
    assert cases == wanted, "write golden/rules/CODE/fires and golden/rules/CODE/silent, as golden/README.md says"
