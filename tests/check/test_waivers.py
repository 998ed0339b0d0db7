"""Tests rules that a repository makes milder: by spec.rules, and by comments on the lines of findings."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubectl_tas.base.diagnostics import Severity, Waiving
from kubectl_tas.base.resources import all_rules
from tests.support.cli import kubectl_tas, pool, write
from tests.support.golden import ROOT, case_input, name_of, rule_cases
from tests.support.history import commit
from tests.support.pyyaml import safe_load

TIMEOUT = "timeout: {queue_timeout: 1h}"
LARGE = """\
workflow:
  name: large
  pool: team
  priority: HIGH
  groups:
  - name: first
    tasks: [{name: a, image: a, command: [run], resource: whole}]
  - name: second
    tasks: [{name: b, image: b, command: [run], resource: whole}]
resources:
  whole: {cpu: 1, gpu: 6, memory: 1Gi}
"""
"""Two gangs that fit a quota of 8 one by one."""


def small(above: str = "", behind: str = "") -> str:
    """A workflow with a note (osmo-only) about its name, with comments around that line."""
    return f"""\
workflow:
{above}  name: small{behind}
  pool: team
  {TIMEOUT}
  tasks: [{{name: a, image: a, command: [run], resource: none}}]
resources:
  none: {{cpu: 1, gpu: 0, memory: 1Gi}}
"""


def config(rules: str) -> str:
    return f"apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  rules: {rules}\n"


def repository(root: Path, workflow: str, rules: str = "{}") -> Path:
    files = {"tas.yaml": config(rules), "pools/team.yaml": pool(guarantee=8), "workflows/one.yaml": workflow}
    return write(root, files)


def found(root: Path, *options: str) -> dict[str, Any]:
    """The findings of a repository, by rule."""
    report = json.loads(kubectl_tas("validate", "-o", "json", "-C", root, *options).out)
    return {item["rule"]: item for item in report["diagnostics"]}


@pytest.mark.parametrize(
    ("above", "behind"),
    [
        ("  # kubectl-tas: ignore[osmo-only]\n", ""),
        ("  # kubectl-tas: ignore[osmo-only, name-reserved] it only runs under OSMO\n", ""),
        ("  #kubectl-tas: ignore[ osmo-only ]\n  # and another comment\n\n", ""),
        ("", "  # kubectl-tas: ignore[osmo-only]"),
    ],
)
def test_a_comment_waives_on_its_line_or_above(tmp_path: Path, above: str, behind: str) -> None:
    waived = found(repository(tmp_path, small(above, behind)))["osmo-only"]
    assert waived["waiver"]["path"] == "workflows/one.yaml"
    assert waived["waiver"]["line"] == (2 if above else waived["location"]["line"])


@pytest.mark.parametrize(
    ("above", "behind"),
    [
        ("  # kubectl-tas: ignore[osmo-only]\n  priority: LOW\n", ""),
        ("", "\n  # kubectl-tas: ignore[osmo-only]"),
        ("  # kubectl-tas: ignore[OSMO-ONLY]\n", ""),
    ],
)
def test_elsewhere_it_waives_nothing(tmp_path: Path, above: str, behind: str) -> None:
    items = found(repository(tmp_path, small(above, behind)))
    assert items["osmo-only"]["waiver"] is None
    assert "waiver-unused" in items


def test_text_in_a_value_is_no_comment(tmp_path: Path) -> None:
    script = "tasks:\n  - name: a\n    image: a\n    args:\n    - |\n      # kubectl-tas: ignore[osmo-only]\n      go\n"
    text = (
        small().partition("tasks:")[0]
        + script
        + "    command: [run]\n    resource: none\nresources:\n  none: {gpu: 0}\n"
    )
    assert set(found(repository(tmp_path, text))) == {"osmo-only"}


def test_text_that_is_waived_is_counted(tmp_path: Path) -> None:
    root = repository(tmp_path, small("  # kubectl-tas: ignore[osmo-only]\n"))
    assert kubectl_tas("validate", "-C", root).out == "No problems found in 3 files; 1 waived.\n"
    summary = json.loads(kubectl_tas("validate", "-o", "json", "-C", root).out)["summary"]
    assert summary == {"files": 3, "error": 0, "warning": 0, "info": 0, "waived": 1}


@pytest.mark.parametrize("level", ["info", "warning", "error"])
def test_the_config_says_how_bad_a_finding_is(tmp_path: Path, level: str) -> None:
    root = repository(tmp_path, small(), f"{{osmo-only: {level}}}")
    assert found(root)["osmo-only"]["severity"] == level
    assert kubectl_tas("validate", "-C", root).code == (1 if level == "error" else 0)
    assert kubectl_tas("validate", "--strict", "-C", root).code == (0 if level == "info" else 1)
    assert kubectl_tas("render", "-C", root).code == (1 if level == "error" else 0)


def test_the_config_puts_a_rule_off(tmp_path: Path) -> None:
    assert found(repository(tmp_path, small(), "{osmo-only: off}")) == {}


def test_a_comment_does_not_waive_what_protects_others(tmp_path: Path) -> None:
    text = LARGE.replace("pool: team", "pool: team  # kubectl-tas: ignore[quota-shared]")
    items = found(repository(tmp_path, text))
    assert items["quota-shared"]["waiver"] is None
    assert items["waiver-unused"]["message"] == "quota-shared cannot be waived by a comment"


def test_the_config_may_put_off_what_protects_others(tmp_path: Path) -> None:
    assert "quota-shared" in found(repository(tmp_path, LARGE))
    assert "quota-shared" not in found(repository(tmp_path, LARGE, "{quota-shared: off}"))


def test_of_what_protects_others_the_base_decides(tmp_path: Path) -> None:
    """A change cannot lower in one step what it breaks in the same."""
    root = repository(tmp_path, LARGE)
    commit(root)
    write(root, {"tas.yaml": config("{quota-shared: off, osmo-only: off}")})
    item = found(root, "--base", "HEAD")["quota-shared"]
    assert item["severity"] == "info"
    assert item["hint"].endswith("What spec.rules says of quota-shared counts as it is at HEAD.")
    commit(root)
    assert found(root, "--base", "HEAD") == {}


def test_what_the_base_has_is_not_told_where_it_says_the_same(tmp_path: Path) -> None:
    root = repository(tmp_path, LARGE)
    commit(root)
    write(root, {"tas.yaml": config("{quota-shared: info}")})
    assert "spec.rules" not in found(root, "--base", "HEAD")["quota-shared"]["hint"]


def test_what_the_base_put_off_stays_off(tmp_path: Path) -> None:
    root = repository(tmp_path, LARGE, "{quota-shared: off}")
    commit(root)
    write(root, {"tas.yaml": config("{}")})
    assert found(root, "--base", "HEAD") == {}


@pytest.mark.parametrize("setting", ["{osmo-onyl: off}", "{yaml-syntax: off}", "{pool-unknown: warning}"])
def test_a_setting_that_cannot_be_is_an_error(tmp_path: Path, setting: str) -> None:
    item = found(repository(tmp_path, small(), setting))["rule-setting"]
    assert (item["severity"], item["location"]["line"]) == ("error", 4)


def test_no_comment_is_called_unused_where_something_could_not_be_read(tmp_path: Path) -> None:
    root = repository(tmp_path, small("  # kubectl-tas: ignore[name-reserved]\n"))
    assert "waiver-unused" in found(root)
    write(root, {"workflows/two.yaml": "{"})
    assert "waiver-unused" not in found(root)


def test_render_tells_that_there_are_warnings(tmp_path: Path) -> None:
    root = repository(tmp_path, LARGE, "{quota-shared: warning}")
    for command in (("render",), ("check",), ("render", "--to", "-")):
        told = "This repository has 1 warning; run: kubectl tas validate\n"
        assert told in kubectl_tas(*command, "-C", root).err
    write(root, {"tas.yaml": config("{quota-shared: off}")})
    assert "warning" not in kubectl_tas("render", "-C", root).err


LOWERED = {
    rule.code: "warning"
    for rule in all_rules().values()
    if rule.severity is Severity.ERROR and rule.waiving is not Waiving.NOBODY
}
"""Errors that the Config may make warnings."""


def errors_of(case: Path) -> set[str]:
    """The rules of the errors that a case expects."""
    expected = case / "output.txt"
    return set(re.findall(r": error: .*\[(\S+)\]$", expected.read_text(), re.M)) if expected.exists() else set()


@pytest.mark.parametrize(
    "case", [case for case in rule_cases() if set() < errors_of(case) <= set(LOWERED)], ids=name_of
)
def test_what_may_be_lowered_can_be_rendered(tmp_path: Path, case: Path) -> None:
    root = Path(shutil.copytree(case_input(case), tmp_path / "input"))
    own = root / "tas.yaml"
    settings = safe_load(own.read_text()) if own.exists() else safe_load(config("{}"))
    settings["spec"]["rules"] = LOWERED
    own.write_text(yaml.safe_dump(settings))
    result = kubectl_tas("render", "-C", root)
    assert result.code == 0, result.out


def test_work_that_never_runs_is_its_authors_own(tmp_path: Path) -> None:
    """Also where another release than those that are known does run it."""
    case = ROOT / "golden/rules/placement-unsupported/fires"
    root = Path(shutil.copytree(case_input(case), tmp_path / "input"))
    assert kubectl_tas("validate", "-C", root).code == 1
    for path in root.glob("workflows/*.yaml"):
        placed = "topology-required-placement: rack"
        path.write_text(path.read_text().replace(placed, f"{placed} # kubectl-tas: ignore[placement-unsupported]"))
    assert kubectl_tas("validate", "-C", root).code == 0


def test_what_follows_from_a_waived_finding_is_found(tmp_path: Path) -> None:
    """A label with a slip leaves a Job without a pool; waived, it does not hide that."""
    job = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: sweep
  labels:
    kai.scheduler/quue: team  # WAIVER
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}
"""
    files = {"pools/team.yaml": pool(), "workflows/w.yaml": job}
    assert set(found(write(tmp_path, files))) == {"key-unknown"}
    waived = job.replace("WAIVER", "kubectl-tas: ignore[key-unknown]")
    assert set(found(write(tmp_path, {"workflows/w.yaml": waived}))) == {"key-unknown", "workload-pool"}
    assert kubectl_tas("validate", "-C", tmp_path).code == 1


def test_errors_stay_unless_they_say_otherwise() -> None:
    rules = all_rules().values()
    fixed = {rule.code for rule in rules if rule.waiving is Waiving.NOBODY}
    assert {rule.severity for rule in rules if rule.code in fixed} == {Severity.ERROR}
    assert {"yaml-syntax", "unknown-field", "pool-unknown", "rule-setting", "quota-exceeds-pool"} <= fixed
    assert all("`spec.rules`" in kubectl_tas("rule", rule.code).out for rule in rules if rule.code not in fixed)
