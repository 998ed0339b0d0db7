"""Tests checkouts whose manifests git changes or leaves out: other line endings, and an ignored output folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.history import commit

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: j, labels: {kubectl-tas/pool: team}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}
"""


@pytest.fixture
def rendered(repository: Path) -> Path:
    write(repository, {"pools/team.yaml": pool(), "workflows/j.yaml": JOB})
    assert kubectl_tas("render", "-C", repository).code == 0
    commit(repository)
    return repository


def test_line_endings_of_autocrlf_are_no_change(rendered: Path) -> None:
    for path in rendered.rglob("*.yaml"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    for command in ("check", "validate"):
        result = kubectl_tas(command, "-C", rendered)
        assert (result.code, "manifests/w" in result.out + result.err) == (0, False), result


def test_a_changed_line_is_found_whatever_its_ending(rendered: Path) -> None:
    path = rendered / "manifests/workloads/job-j.yaml"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n").replace(b"a:1", b"a:2"))
    assert kubectl_tas("check", "-C", rendered).code == 1


def test_init_keeps_line_endings(repository: Path) -> None:
    assert kubectl_tas("init", repository).code == 0
    assert "*.yaml text eol=lf" in (repository / ".gitattributes").read_text()


@pytest.mark.parametrize("line", ["/manifests/", "manifests", "manifests/*", "mani*", "manifests/**"])
def test_an_ignored_output_is_named(rendered: Path, line: str) -> None:
    write(rendered, {".gitignore": f"# built\n{line}\n"})
    assert kubectl_tas("check", "-C", rendered).code == 0
    for path in (rendered / "manifests").rglob("*.yaml"):
        path.unlink()
    for output in ("text", "json"):
        result = kubectl_tas("check", "-C", rendered, "-o", output)
        assert "git ignores this folder by .gitignore:2:1: remove that line" in result.out + result.err


@pytest.mark.parametrize("line", ["# manifests", "!manifests", "/other/manifests", "manifest"])
def test_another_line_is_not_blamed(rendered: Path, line: str) -> None:
    write(rendered, {".gitignore": f"{line}\n"})
    (rendered / "manifests/workloads/job-j.yaml").unlink()
    assert ".gitignore" not in kubectl_tas("check", "-C", rendered).err
