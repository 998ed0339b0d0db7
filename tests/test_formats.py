"""Tests ``validate`` and ``check`` in the formats of CI: the same findings and exit codes as in text."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft4Validator

from tests.report.test_formats import SCHEMA
from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, at, name_of, rule_cases
from tests.support.history import validate_case

FORMATS = ("json", "sarif", "github", "gitlab", "junit")


def rules(output: str, text: str) -> Counter[str]:
    """How often each rule is found in what a command prints; of JUnit, of which each file has one case."""
    if output == "text":
        return Counter(re.findall(r"^(?:\S.*: )?(?:error|warning|info): .* \[([a-z-]+)\]$", text, re.MULTILINE))
    if output == "json":
        return Counter(item["rule"] for item in json.loads(text)["diagnostics"] if item["waiver"] is None)
    if output == "sarif":
        read = json.loads(text)
        Draft4Validator(json.loads(SCHEMA.read_text())).validate(read)
        return Counter(item["ruleId"] for item in read["runs"][0]["results"])
    if output == "github":
        return Counter(re.findall(r"title=kubectl-tas%3A ([a-z-]+)::", text))
    if output == "gitlab":
        report = json.loads(text)
        assert len({item["fingerprint"] for item in report}) == len(report)
        return Counter(item["check_name"] for item in report)
    bodies = [part.text or "" for case in ElementTree.fromstring(text)[0] for part in case]
    return sum((rules("text", body) for body in bodies), Counter[str]())


@pytest.mark.parametrize("case", rule_cases()[::50], ids=name_of)
def test_say_the_same_as_text(case: Path, tmp_path: Path) -> None:
    told = validate_case(case, tmp_path / "text")
    for output in FORMATS:
        result = validate_case(case, tmp_path / output, "-o", output)
        assert (result.code, result.err) == (told.code, told.err)
        assert rules(output, result.out) == rules("text", told.out), output


@pytest.mark.parametrize("output", ["github", "gitlab", "junit"])
def test_as_it_is_printed(output: str, tmp_path: Path, snapshot: Any) -> None:
    case = GOLDEN / "commands/validate-json"
    root = shutil.copytree(case / "input", tmp_path / "repository")
    result = kubectl_tas("validate", "-o", output, "-C", root)
    assert (result.code, result.err) == (1, "")
    assert result.out == snapshot(extension_class=at(case / f"output.{output}"))


@pytest.fixture
def rendered(repository: Path) -> Path:
    write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 90)})
    assert kubectl_tas("render", "-C", repository).code == 0
    return repository


def check(root: Path, output: str, *more: str) -> Result:
    return kubectl_tas("check", "-o", output, *more, "-C", root)


class TestCheck:
    @pytest.mark.parametrize("output", FORMATS)
    def test_up_to_date(self, rendered: Path, output: str) -> None:
        result = check(rendered, output)
        assert (result.code, result.err) == (0, "")
        assert rules(output, result.out) == Counter()

    @pytest.mark.parametrize("output", FORMATS)
    def test_stale(self, rendered: Path, output: str) -> None:
        write(rendered, {"subpools/a.yaml": subpool("a", 80), "subpools/b.yaml": subpool("b", 1)})
        told = check(rendered, "text")
        result = check(rendered, output)
        assert rules(output, result.out)["manifests-stale"] == told.out.count("\n--- ") + 1
        assert (result.code, result.err) == (1, told.out + told.err), "the diff is kept on stderr"

    def test_places(self, rendered: Path) -> None:
        queue = rendered / "manifests/queues/osmo-pool-default-team--a.yaml"
        queue.write_text(queue.read_text().replace("quota: 90", "quota: 91"))
        (rendered / "manifests/queues/osmo-pool-default-team.yaml").unlink()
        copy = queue.with_name("copy.yaml")
        copy.write_text(queue.read_text())
        line = queue.read_text().splitlines().index("      quota: 91") + 1
        found = json.loads(check(rendered, "json").out)["diagnostics"]
        assert [(item["location"]["path"], item["location"]["line"], item["message"]) for item in found] == [
            ("manifests/queues/copy.yaml", None, "nothing declares this manifest any more"),
            ("manifests/queues/osmo-pool-default-team--a.yaml", line, "this manifest differs from what is rendered"),
            ("manifests/queues/osmo-pool-default-team.yaml", None, "this manifest is missing"),
        ]
        assert {item["hint"] for item in found} == {"Run: kubectl tas render"}
        end = len("      quota: 91")
        assert f",line={line},endLine={line},col=1,endColumn={end}," in check(rendered, "github").out

    def test_lines_that_are_missing_at_the_end(self, rendered: Path) -> None:
        queue = rendered / "manifests/queues/osmo-pool-default-team--a.yaml"
        lines = queue.read_text().splitlines()
        queue.write_text("\n".join(lines[:-1]))
        (found,) = json.loads(check(rendered, "json").out)["diagnostics"]
        assert found["location"]["line"] == len(lines) - 1

    def test_every_manifest_is_a_case(self, rendered: Path) -> None:
        cases = {case.get("file") for case in ElementTree.fromstring(check(rendered, "junit").out)[0]}
        files = {path.relative_to(rendered).as_posix() for path in rendered.glob("manifests/**/*.yaml")}
        assert cases == files

    @pytest.mark.parametrize("output", FORMATS)
    def test_errors_of_the_repository(self, rendered: Path, output: str) -> None:
        write(rendered, {"subpools/b.yaml": subpool("b", 1, parent="nobody")})
        result = check(rendered, output)
        assert result.code == 1
        assert rules(output, result.out) == Counter(["parent-unknown"])


class TestPaths:
    def test_are_those_of_the_checkout(self, rendered: Path) -> None:
        (rendered.parent / ".git").mkdir()
        write(rendered, {"subpools/b.yaml": subpool("b", 1, parent="nobody")})
        path = f"{rendered.name}/subpools/b.yaml"
        (item,) = json.loads(kubectl_tas("validate", "-o", "gitlab", "-C", rendered).out)
        assert item["location"]["path"] == path
        assert f"file={path}," in kubectl_tas("validate", "-o", "github", "-C", rendered).out
        (item,) = json.loads(kubectl_tas("validate", "-o", "json", "-C", rendered).out)["diagnostics"]
        assert item["location"]["path"] == "subpools/b.yaml"

    def test_cases_are_of_the_files_that_are_asked_for(self, rendered: Path) -> None:
        text = kubectl_tas("validate", "subpools", "-o", "junit", "-C", rendered).out
        assert [case.get("name") for case in ElementTree.fromstring(text)[0]] == ["subpools/a.yaml"]

    def test_strict(self, rendered: Path) -> None:
        config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {kai: {version: '0.99'}}\n"
        write(rendered, {"tas.yaml": config})
        result = kubectl_tas("validate", "--strict", "-o", "junit", "-C", rendered)
        assert (result.code, 'failures="1"' in result.out) == (1, True)


class TestSummary:
    @pytest.fixture
    def summary(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        path = tmp_path / "summary.md"
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
        return path

    def test_is_appended_to(self, rendered: Path, summary: Path) -> None:
        summary.write_text("# before\n\n")
        assert kubectl_tas("validate", "-o", "github", "-C", rendered).code == 0
        assert check(rendered, "github").code == 0
        assert summary.read_text() == (
            "# before\n\n### kubectl tas validate\n\nNo problems found in 2 files.\n\n"
            "### kubectl tas check\n\nNo problems found in 8 files.\n\n"
        )

    def test_no_other_format_writes_it(self, rendered: Path, summary: Path) -> None:
        for output in ("text", "json", "sarif", "gitlab", "junit"):
            assert kubectl_tas("validate", "-o", output, "-C", rendered).code == 0
        assert not summary.exists()

    def test_a_full_one_takes_no_more(self, rendered: Path, summary: Path) -> None:
        summary.write_text("x" * (1024 * 1024))
        assert kubectl_tas("validate", "-o", "github", "-C", rendered).code == 0
        assert summary.stat().st_size == 1024 * 1024

    def test_that_cannot_be_written(self, rendered: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
        result = kubectl_tas("validate", "-o", "github", "-C", rendered)
        assert result.code == 3
        assert result.err == (
            f"error: cannot append to the summary {tmp_path}: Is a directory\n"
            "  = help: Unset GITHUB_STEP_SUMMARY, or let it name a file that may be written to.\n"
        )
