"""Tests that pages tell the truth about the files that ``init`` writes: each test reads a page and the written file."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas
from tests.support.golden import ROOT
from tests.support.history import git
from tests.support.pyyaml import safe_load, safe_load_all

OWNER = "@acme/gpu-admins"
JOB = {"github": ".github/workflows/manifests.yaml", "gitlab": ".gitlab-ci.yml"}
CODEOWNERS = {"github": ".github/CODEOWNERS", "gitlab": ".gitlab/CODEOWNERS"}


def page(name: str) -> str:
    """A page on one line, as people read it."""
    return " ".join((ROOT / f"docs/{name}.md").read_text(encoding="utf-8").split())


def written(folder: Path, *arguments: str) -> Path:
    """A repository of git that ``init`` has filled."""
    git(folder, "init", "--quiet", "--initial-branch", "main")
    assert kubectl_tas("init", folder, "--owner", OWNER, *arguments).code == 0
    return folder


def commands(node: Any) -> Iterator[str]:
    """All lines of shell in a job."""
    if isinstance(node, str):
        yield from node.splitlines()
    elif isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from commands(child)


@pytest.mark.parametrize("ci", CODEOWNERS)
def test_owners(ci: str, repository: Path) -> None:
    """The page shows the first rows; it says that rendered manifests and workflows have no owner."""
    text = (ROOT / "docs/platform-admin.md").read_text(encoding="utf-8")
    ((shown),) = re.findall(r"<!-- written: CODEOWNERS -->\n```text\n(.*)\n\.\.\.\n```", text, re.DOTALL)
    lines = (written(repository, "--ci", ci) / CODEOWNERS[ci]).read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line and not line.startswith("#")]
    assert rows[: len(shown.splitlines())] == shown.splitlines()
    assert "`workflows/` and the rendered manifests have no owner there" in page("platform-admin")
    patterns = [row.split()[0] for row in rows]
    assert "/manifests/" not in patterns
    assert not [pattern for pattern in patterns if "workflows" in pattern and not pattern.startswith("/.github")]


@pytest.mark.parametrize("options", [(), ("--no-prune",)])
@pytest.mark.parametrize("name", ["platform-admin", "gitops"])
def test_pruning(options: tuple[str, ...], name: str, repository: Path) -> None:
    root = written(repository, "--gitops", "argocd", *options)
    (application,) = safe_load_all((root / "argocd/application.yaml").read_text(encoding="utf-8"))
    assert bool(application["spec"]["syncPolicy"]["automated"].get("prune")) is not bool(options)
    assert re.search(r"In a cluster that has queues already, begin with `(init )?--no-prune`", page(name))
    assert "`kubectl tas init --gitops argocd` writes what they need, with `prune: true`" in page("platform-admin")


def test_retries_of_argo_cd(repository: Path) -> None:
    root = written(repository, "--gitops", "argocd")
    (application,) = safe_load_all((root / "argocd/application.yaml").read_text(encoding="utf-8"))
    assert "With `retry.refresh: true` a retry takes the newest revision" in page("gitops")
    assert application["spec"]["syncPolicy"]["retry"]["refresh"] is True


def test_namespaces_are_rendered(repository: Path) -> None:
    root = written(repository, "--gitops", "flux")
    assert "`init --gitops` writes it into a new `tas.yaml`" in page("gitops")
    assert safe_load((root / "tas.yaml").read_text(encoding="utf-8"))["spec"]["createNamespaces"] is True


def test_hooks(repository: Path) -> None:
    """``language: system`` runs the installed program: the hooks install nothing."""
    root = written(repository)
    (local,) = safe_load((root / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert {hook["language"] for hook in local["hooks"]} == {"system"}
    assert "They run the kubectl-tas that is installed: `pip install -r requirements-tas.txt`" in page("ci")
    entries = [shlex.split(hook["entry"]) for hook in local["hooks"]]
    section = page("ci").partition("## The hooks")[2]
    assert [f"`{' '.join(words[1:])}`" in section for words in entries] == [True, True]


@pytest.mark.parametrize("ci", JOB)
def test_job(ci: str, repository: Path) -> None:
    """Each step that the page lists is in the job, with its options."""
    table = (ROOT / "docs/ci.md").read_text(encoding="utf-8").partition("| step | fails when |")[2].partition("\n\n")[0]
    steps = [shlex.split(step) for step in re.findall(r"^\| `(kubectl-tas [^`]*)`", table, re.MULTILINE)]
    assert len(steps) == 3
    job = safe_load((written(repository, "--ci", ci) / JOB[ci]).read_text(encoding="utf-8"))
    lines = [line for line in commands(job) if "kubectl-tas " in line]
    for step in steps:
        words = [word for word in step if word != "BRANCH"]
        assert any(all(word in line for word in words) for line in lines), step


@pytest.mark.parametrize("ci", JOB)
def test_job_runs_for_merge_queues(ci: str, repository: Path) -> None:
    text = (written(repository, "--ci", ci) / JOB[ci]).read_text(encoding="utf-8")
    assert "The job also runs on GitHub's `merge_group` and in GitLab's merge trains" in page("ci")
    assert ("merge_group" if ci == "github" else "merge_request_event") in text


def test_settings_of_vs_code(repository: Path) -> None:
    root = written(repository)
    section = (ROOT / "docs/tools.md").read_text(encoding="utf-8").partition("### VS Code")[2]
    block = re.search(r"```json\n(.*?)```", section, re.DOTALL)
    assert block is not None
    assert json.loads(block[1]) == json.loads((root / ".vscode/settings.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("folder", ["pools", "subpools", "workflows"])
def test_first_line_for_editors(folder: str, repository: Path) -> None:
    (sample,) = (written(repository) / folder).iterdir()
    line = sample.read_text(encoding="utf-8").splitlines()[0]
    assert f"```yaml\n{line}\n```" in (ROOT / "docs/tools.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["from-kueue", "tutorial-import"])
def test_lists_that_an_import_prints(name: str) -> None:
    """A page that explains a list calls it as the command does."""
    text = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"```console\n(.*?)```", text, re.DOTALL))
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    table = prose.partition("| list |")[2].partition("\n\n")[0]
    lists = [
        *re.findall(r"^Read each line below \*\*(.*?)\*\*", prose, re.MULTILINE),
        *re.findall(r"^\| (\w[^|]*) \|", table, re.MULTILINE),
    ]
    assert lists
    absent = {"Would change"} & {*lists}
    for title in {*lists} - absent:
        assert re.search(rf"^{re.escape(title)}[,:;]", blocks, re.MULTILINE), title
    for title in absent:
        assert f'"{title}:"' in (ROOT / "kubectl_tas/cli/importing.py").read_text(encoding="utf-8")
