"""Runs the CI jobs that ``init`` writes, and those under ``integrations/``, and tests their results."""

from __future__ import annotations

import json
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from http.server import HTTPServer
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas import __version__
from tests.support.cli import Result, kubectl_tas, subpool, write
from tests.support.golden import ROOT
from tests.support.history import commit, git
from tests.support.jobs import ACTIONS, GITHUB, GITLAB, Github, Notes, address, gitlab, notes_api
from tests.support.process import call
from tests.support.pyyaml import safe_load, safe_load_all
from tests.support.warm import script

Begin = Callable[[str], Path]
"""Makes the repository with this CI."""
MARK = "<!-- kubectl-tas -->\n"
SOURCE = f"kubectl-tas @ git+https://git.example.com/kubectl-tas.git@{'0' * 40}"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder for the PATH: a Python whose virtual environments have this checkout's command and a pip that is told
    what to install, and a gh that writes down what it is asked.
    """
    folder, made = tmp_path / "programs", tmp_path / "made"
    for name, text in {
        made / "python": f'echo "$*" >> "{tmp_path}/asked"; cat requirements.txt >> "{tmp_path}/asked"',
        made / "kubectl-tas": script(),
        folder / "python": f'[ "$*" = "-I -m venv --clear kubectl-tas" ] && mkdir kubectl-tas && '
        f'cp -r "{made}" kubectl-tas/bin',
        folder / "python3": f'exec "{sys.executable}" "$@"',
        folder / "gh": f'echo "gh $*" >> "{tmp_path}/asked"; for word; do case "$word" in --jq) echo "$COMMENTS";; '
        f'body=@*) cp "${{word#body=@}}" "{tmp_path}/comment";; esac; done',
    }.items():
        name.parent.mkdir(exist_ok=True)
        name.write_text(f"#!/bin/sh\n{text}\n")
        name.chmod(stat.S_IRWXU)
    return folder


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """What pip and gh were asked."""
    return tmp_path / "asked"


@pytest.fixture
def changed(repository: Path) -> Begin:
    """What ``init`` writes, rendered and committed to main, and on a branch of it a subpool more."""

    def made(ci: str) -> Path:
        assert kubectl_tas("init", repository, "--ci", ci, "--gitops", "argocd", "--source", SOURCE).code == 0
        assert kubectl_tas("render", "-C", repository).code == 0
        commit(repository)
        git(repository, "update-ref", "refs/remotes/origin/main", "HEAD")
        git(repository, "switch", "--quiet", "--create", "change")
        add(repository, subpool("b", 8))
        return repository

    return made


def add(root: Path, text: str) -> None:
    write(root, {"subpools/team--b.yaml": text})
    kubectl_tas("render", "-C", root)
    commit(root)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["job", "action"])
class TestGithub:
    def run(self, kind: str, root: Path, programs: Path, event: str = "pull_request", **more: Any) -> list[Result]:
        ran: list[Result] = getattr(Github(root, programs, event, **more), kind)()
        return ran

    def test_pull_request(self, changed: Begin, programs: Path, asked: Path, kind: str) -> None:
        ran = self.run(kind, changed("github"), programs)
        assert [step.code for step in ran] == [0, 0, 0, 0, 0], ran
        pip = "-I -m pip install --quiet --no-input -r requirements.txt\n"
        assert pip in asked.read_text()
        assert SOURCE in asked.read_text()
        assert "--method POST repos/team/gpu-pools/issues/7/comments" in asked.read_text()
        comment = (asked.parent / "comment").read_text()
        assert comment.startswith(MARK)
        assert "team--b" in comment
        assert comment.removeprefix(MARK) in (asked.parent / "temp/summary").read_text()

    def test_comment_that_is_there_is_written_anew(
        self, changed: Begin, programs: Path, asked: Path, kind: str
    ) -> None:
        ran = self.run(kind, changed("github"), programs, more={"COMMENTS": "41\n42"})
        assert all(step.code == 0 for step in ran)
        assert "--method PATCH repos/team/gpu-pools/issues/comments/41 " in asked.read_text()

    @pytest.mark.skipif(not shutil.which("jq"), reason="needs jq, as gh has it built in")
    @pytest.mark.parametrize("own", [True, False])
    def test_comment_of_another_is_left_alone(
        self, changed: Begin, programs: Path, asked: Path, kind: str, own: bool
    ) -> None:
        """Another App is a Bot too, and anybody may write the mark."""
        authors = [("mallory", "User"), ("evil-app[bot]", "Bot"), ("github-actions", "User"), ("github-actions", "Bot")]
        if own:
            authors.append(("github-actions[bot]", "Bot"))
        comments = [{"id": 9, "user": {"login": "github-actions[bot]", "type": "Bot"}, "body": f"not first: {MARK}"}]
        for number, (login, account) in enumerate(authors, 41):
            comments.append({"id": number, "user": {"login": login, "type": account}, "body": f"{MARK}old"})
        (programs / "gh").write_text(
            f'#!/bin/sh\necho "gh $*" >> "{asked}"\n'
            'while [ $# -gt 1 ]; do [ "$1" = --jq ] && printf %s "$COMMENTS" | jq -r "$2"; shift; done; true\n'
        )
        ran = self.run(kind, changed("github"), programs, more={"COMMENTS": json.dumps(comments)})
        assert all(step.code == 0 for step in ran), ran
        written = "PATCH repos/team/gpu-pools/issues/comments/45 " if own else "POST "
        assert f"--method {written}" in asked.read_text()

    def test_fork_gets_a_summary_alone(self, changed: Begin, programs: Path, asked: Path, kind: str) -> None:
        ran = self.run(kind, changed("github"), programs, is_fork=True)
        assert all(step.code == 0 for step in ran)
        assert "gh " not in asked.read_text()
        assert "team--b" in (asked.parent / "temp/summary").read_text()

    def test_push(self, changed: Begin, programs: Path, kind: str) -> None:
        assert [step.code for step in self.run(kind, changed("github"), programs, "push")] == [0, 0, 0]

    def test_error_marks_its_line(self, changed: Begin, programs: Path, kind: str) -> None:
        root = changed("github")
        add(root, subpool("b", 65))
        *_, last = self.run(kind, root, programs)
        assert last.code == 1
        assert re.search(r"^::error .*file=subpools/team--b\.yaml,line=7", last.out, re.MULTILINE)

    def test_manifests_that_are_not_rendered(self, changed: Begin, programs: Path, kind: str) -> None:
        root = changed("github")
        write(root, {"subpools/team--b.yaml": subpool("b", 9)})
        commit(root)
        *_, last = self.run(kind, root, programs)
        assert last.code == 1
        assert "file=manifests/queues/" in last.out

    def test_error_alone_against_the_branch(self, changed: Begin, programs: Path, kind: str) -> None:
        """What may not be done while work runs is found in a pull request, and not on main."""
        root = changed("github")
        (root / "subpools/team--research.yaml").unlink()
        (root / "workflows/train.yaml").unlink()
        kubectl_tas("render", "-C", root)
        commit(root)
        assert self.run(kind, root, programs)[-1].code == 1
        git(root, "clean", "-ffdxq")
        for made in (programs.parent / "temp").iterdir():
            call("rm", "-r", made)
        assert self.run(kind, root, programs, "push")[-1].code == 0


def test_actions_say_what_the_job_says(repository: Path) -> None:
    kubectl_tas("init", repository)
    jobs = safe_load((repository / GITHUB).read_text())["jobs"]
    actions = {"manifests": "action.yml", "comment": "comment/action.yml"}
    for name, path in actions.items():
        of_action = [step for step in safe_load((ACTIONS / path).read_text())["runs"]["steps"] if "run" in step]
        runs = [step["run"] for step in jobs[name]["steps"] if "run" in step]
        assert [step["run"].replace("$REQUIREMENTS", "requirements-tas.txt") for step in of_action] == runs


@pytest.fixture
def api() -> Iterator[HTTPServer]:
    with notes_api() as server:
        yield server


@pytest.mark.sweep
class TestGitlab:
    def test_merge_request(self, changed: Begin, programs: Path, asked: Path) -> None:
        root = changed("gitlab")
        ran = gitlab(root, programs, git(root, "rev-parse", "main"))
        assert ran.code == 0, ran
        assert SOURCE in asked.read_text()
        assert json.loads((root / "code-quality.json").read_text()) == []
        assert "team--b" in (root / "diff.html").read_text()

    def test_push(self, changed: Begin, programs: Path) -> None:
        root = changed("gitlab")
        assert gitlab(root, programs, "").code == 0
        assert not (root / "diff.html").exists()

    def test_error(self, changed: Begin, programs: Path) -> None:
        root = changed("gitlab")
        add(root, subpool("b", 65))
        ran = gitlab(root, programs, "main")
        assert ran.code == 1
        assert "subpools/team--b.yaml:7:10: error: " in ran.out
        (found,) = json.loads((root / "code-quality.json").read_text())
        assert found["location"] == {"path": "subpools/team--b.yaml", "lines": {"begin": 7}}

    @pytest.mark.parametrize("own", [True, False])
    def test_comment(self, changed: Begin, programs: Path, api: HTTPServer, own: bool) -> None:
        root = changed("gitlab")
        Notes.notes = [
            {"id": 5, "body": MARK, "author": {"id": 2}},
            *([{"id": 6, "body": f"{MARK}old", "author": {"id": 1}}] if own else []),
        ]
        assert gitlab(root, programs, "main").code == 0
        ran = gitlab(root, programs, "main", "comment", **address(api))
        assert ran.code == 0, ran
        line, body = Notes.asked[-1]
        notes = "/api/v4/projects/3/merge_requests/4/notes"
        assert line == (f"PUT {notes}/6" if own else f"POST {notes}")
        assert body.startswith(MARK)
        assert "team--b" in body

    def test_no_token_no_comment(self, changed: Begin, programs: Path) -> None:
        ran = gitlab(changed("gitlab"), programs, "main", "comment")
        assert (ran.code, ran.out.partition(":")[0]) == (0, "No comment")

    def test_template_is_what_init_writes(self, repository: Path) -> None:
        kubectl_tas("init", repository, "--ci", "gitlab")
        template = ROOT / "integrations/gitlab/kubectl-tas.gitlab-ci.yml"
        assert template.read_text() == (repository / GITLAB).read_text()


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["gitlab", "job", "action"])
class TestTipOfTheBase:
    """Whoever branches off an old commit chooses the merge base, not what the change is compared with."""

    LOOSE = "  rules: {gpu-bypass: off}\n"
    SEES_ALL_GPUS = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: sees, labels: {kubectl-tas/pool: team}}\n"
        'spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "busybox:1.37", '
        "env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}}}\n"
    )

    @pytest.fixture
    def root(self, changed: Begin, kind: str) -> Path:
        """main allowed what the branch uses when the branch began, and forbids it now."""
        root = changed("gitlab" if kind == "gitlab" else "github")
        git(root, "switch", "--quiet", "main")
        strict = (root / "tas.yaml").read_text()
        write(root, {"tas.yaml": strict + self.LOOSE})
        commit(root)
        git(root, "branch", "--force", "change", "main")
        write(root, {"tas.yaml": strict})
        commit(root)
        git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
        git(root, "switch", "--quiet", "change")
        return root

    def judge(self, kind: str, root: Path, programs: Path) -> Result:
        if kind == "gitlab":
            return gitlab(root, programs, git(root, "merge-base", "main", "change"))
        ran: list[Result] = getattr(Github(root, programs), kind)()
        return ran[-1]

    def test_old_branch_is_refused(self, root: Path, programs: Path, kind: str) -> None:
        write(root, {"workflows/sees.yaml": self.SEES_ALL_GPUS})
        assert kubectl_tas("render", "-C", root).code == 0
        commit(root)
        judged = self.judge(kind, root, programs)
        assert judged.code == 1
        assert "judges no merge with the tip of origin/main" in judged.out

    def test_rebased_branch_is_judged_by_the_tip(self, root: Path, programs: Path, kind: str) -> None:
        write(root, {"workflows/sees.yaml": self.SEES_ALL_GPUS})
        kubectl_tas("render", "-C", root)
        commit(root)
        git(root, "rebase", "--quiet", "main")
        judged = self.judge(kind, root, programs)
        assert judged.code == 1
        assert "gpu-bypass" in judged.out

    def test_merge_that_keeps_the_old_config_is_judged_by_the_tip(self, root: Path, programs: Path, kind: str) -> None:
        write(root, {"workflows/sees.yaml": self.SEES_ALL_GPUS})
        kubectl_tas("render", "-C", root)
        commit(root)
        git(root, "merge", "--quiet", "--strategy", "ours", "--no-edit", "main")
        assert self.LOOSE in (root / "tas.yaml").read_text()
        judged = self.judge(kind, root, programs)
        assert judged.code == 1
        assert "gpu-bypass" in judged.out

    def test_rebased_branch_that_is_right_passes(self, root: Path, programs: Path, kind: str) -> None:
        add(root, subpool("b", 8))
        assert self.judge(kind, root, programs).code == 1
        for made in (programs.parent / "temp").glob("*"):
            call("rm", "-r", made)
        git(root, "clean", "-ffdxq")
        git(root, "rebase", "--quiet", "main")
        judged = self.judge(kind, root, programs)
        assert judged.code == 0, judged


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("github-workflows", GITHUB),
        ("github-actions", str(ACTIONS / "action.yml")),
        ("github-actions", str(ACTIONS / "comment/action.yml")),
        ("gitlab-ci", str(ROOT / "integrations/gitlab/kubectl-tas.gitlab-ci.yml")),
    ],
)
@pytest.mark.sweep
def test_published_schemas(repository: Path, schema: str, path: str) -> None:
    kubectl_tas("init", repository)
    transform = ("--data-transform", "gitlab-ci") if schema == "gitlab-ci" else ()
    command = (sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *transform)
    result = call(*command, str(repository / path))
    assert result.code == 0, result.out


COMMIT = "0123456789abcdef0123456789abcdef01234567"
WRITE = "Write kubectl-tas @ git+https://...@COMMIT into"
SHA256 = "f" * 64
OTHER = "is no address that gives everybody the same content"


def installed(monkeypatch: pytest.MonkeyPatch, told: dict[str, Any] | None) -> None:
    """Has the tool been installed from there, as ``direct_url.json`` tells."""

    class Installed:
        def read_text(self, _name: str) -> str | None:
            return None if told is None else json.dumps(told)

    monkeypatch.setattr("kubectl_tas.edit.scaffold.distribution", lambda _name: Installed())


class TestSource:
    """``init`` writes what gives everybody the same tool, or says that it wrote none."""

    def init(self, root: Path, *arguments: str) -> tuple[str, str]:
        """The last line of the file, and what is said."""
        result = kubectl_tas("init", root, *arguments)
        assert result.code == 0
        lines = (root / "requirements-tas.txt").read_text().splitlines()
        return next((line for line in lines if line.startswith("kubectl-tas ")), lines[-1]), result.err

    @pytest.mark.parametrize(
        "source",
        [
            f"kubectl-tas @ git+https://git.example.com/kubectl-tas.git@{COMMIT}",
            f"kubectl-tas @ git+ssh://git@git.example.com/kubectl-tas.git@{COMMIT}",
            f"kubectl-tas @ https://files.example.com/kubectl_tas-1.0.0-py3-none-any.whl#sha256={SHA256}",
        ],
    )
    def test_one_that_is_given(self, repository: Path, source: str) -> None:
        line, said = self.init(repository, "--source", source)
        assert line == source
        assert WRITE not in said

    @pytest.mark.parametrize(
        "source",
        [
            "kubectl-tas==1.0.0",
            "kubectl-tas",
            "./kubectl_tas-1.0.0-py3-none-any.whl",
            "kubectl-tas @ git+https://git.example.com/kubectl-tas.git@v1.0.0",
            "kubectl-tas @ git+https://git.example.com/kubectl-tas.git@0123456",
            f"kubectl-tas @ git+https://git.example.com/kubectl-tas.git@main#egg=x@{COMMIT}",
            "kubectl-tas @ https://files.example.com/kubectl_tas-1.0.0-py3-none-any.whl",
            f"kubectl-tas @ http://files.example.com/kubectl_tas-1.0.0-py3-none-any.whl#sha256={SHA256}",
        ],
    )
    def test_one_that_may_become_another(self, repository: Path, source: str) -> None:
        line, said = self.init(repository, "--source", source)
        assert line == source
        assert f"{WRITE} {repository}/requirements-tas.txt: this one may become another ({source}).\n" in said

    @pytest.mark.parametrize("source", ["", " ", "a\nb"])
    def test_none(self, repository: Path, source: str) -> None:
        result = kubectl_tas("init", repository, "--source", source)
        said = f"Error: Invalid value for --source: {source!r} is not a requirement of pip\n"
        assert (result.code, result.err.endswith(said)) == (2, True)

    @pytest.mark.parametrize(
        ("told", "source"),
        [
            (
                {"url": "https://token@git.example.com/tas.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
                f"kubectl-tas @ git+https://git.example.com/tas.git@{COMMIT}",
            ),
            (
                {"url": "https://files.example.com/tas.whl", "archive_info": {"hashes": {"sha256": SHA256}}},
                f"kubectl-tas @ https://files.example.com/tas.whl#sha256={SHA256}",
            ),
            (
                {"url": "https://files.example.com/tas.whl", "archive_info": {"hash": f"sha256={SHA256}"}},
                f"kubectl-tas @ https://files.example.com/tas.whl#sha256={SHA256}",
            ),
        ],
    )
    def test_where_the_tool_was_installed_from(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch, told: dict[str, Any], source: str
    ) -> None:
        installed(monkeypatch, told)
        line, said = self.init(repository)
        assert line == source
        assert WRITE not in said

    @pytest.mark.parametrize(
        ("told", "why"),
        [
            (None, f"it is release {__version__} of an index, and pip kept no hash of it"),
            (
                {"url": "https://files.example.com/tas.whl", "archive_info": {}},
                f"https://files.example.com/tas.whl {OTHER}",
            ),
            (
                {"url": "file:///tmp/tas.whl", "archive_info": {"hash": f"sha256={SHA256}"}},
                f"file:///tmp/tas.whl {OTHER}",
            ),
            ({"url": "file:///tas", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}, f"file:///tas {OTHER}"),
            ({"url": "file:///nowhere", "dir_info": {}}, "it comes from /nowhere, which is no checkout of git"),
        ],
    )
    def test_what_others_cannot_get(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch, told: dict[str, Any] | None, why: str
    ) -> None:
        installed(monkeypatch, told)
        line, said = self.init(repository)
        assert line == "# kubectl-tas @ git+https://git.example.com/kubectl-tas.git@COMMIT", "CI says what it needs"
        assert f"{WRITE} {repository}/requirements-tas.txt: CI cannot get this one ({why}).\n" in said

    @pytest.fixture
    def checkout(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A checkout of this tool, from which it was installed; a remote has its commit."""
        folder = tmp_path / "tool"
        for name in ("kubectl_tas", "schemas", "templates"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        commit(folder)
        git(folder, "remote", "add", "fork", "/somewhere")
        git(folder, "remote", "add", "origin", "git@git.example.com:team/kubectl-tas.git")
        git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
        installed(monkeypatch, {"url": folder.as_uri(), "dir_info": {}})
        return folder

    def test_checkout(self, repository: Path, checkout: Path) -> None:
        line, said = self.init(repository)
        head = git(checkout, "rev-parse", "HEAD")
        assert line == f"kubectl-tas @ git+ssh://git@git.example.com/team/kubectl-tas.git@{head}"
        assert WRITE not in said

    def test_checkout_with_a_commit_that_no_remote_has(self, repository: Path, checkout: Path) -> None:
        commit(checkout)
        why = f"no remote of {checkout} that others reach has its last commit"
        assert f"CI cannot get this one ({why})" in self.init(repository)[1]

    def test_checkout_whose_remote_is_a_folder(self, repository: Path, checkout: Path) -> None:
        git(checkout, "remote", "set-url", "origin", "/somewhere/else")
        assert "no remote of " in self.init(repository)[1]

    @pytest.mark.parametrize("name", ["kubectl_tas/facts/kai.py", "kubectl_tas/new.py", "templates/pod.yaml.j2"])
    def test_checkout_with_changes(self, repository: Path, checkout: Path, name: str) -> None:
        with (checkout / name).open("a") as file:
            file.write("# mine\n")
        assert f"(it is not what the last commit of {checkout} has)" in self.init(repository)[1]

    def test_checkout_that_has_gone_on(self, repository: Path, checkout: Path) -> None:
        """What was installed is not what the commit has."""
        write(checkout, {"kubectl_tas/facts/kai.py": "NEW = True\n"})
        commit(checkout)
        git(checkout, "update-ref", "refs/remotes/origin/main", "HEAD")
        assert "it is not what the last commit of " in self.init(repository)[1]


class TestOwners:
    """Whoever may change what affects other teams is named; nobody is told that they are when they are not."""

    PLACES = ("pools/", "subpools/", "topologies/", "platforms/", "tas.yaml", "requirements-tas.txt")

    def rows(self, path: Path) -> dict[str, list[str]]:
        lines = (line.split() for line in path.read_text().splitlines() if not line.startswith("#"))
        return {pattern: owners for pattern, *owners in lines}

    @pytest.mark.parametrize(
        ("ci", "path", "own"),
        [
            ("github", ".github/CODEOWNERS", ["/.github/"]),
            ("gitlab", ".gitlab/CODEOWNERS", ["/.gitlab/", "/.gitlab-ci.yml"]),
        ],
    )
    def test_rows(self, repository: Path, ci: str, path: str, own: list[str]) -> None:
        owners = ["@acme/gpu-admins", "lead@example.com"]
        result = kubectl_tas("init", repository, "--ci", ci, "--owner", owners[0], "--owner", owners[1])
        assert "Replace @" not in result.err
        rows = self.rows(repository / path)
        assert set(map(tuple, rows.values())) == {tuple(owners)}
        of_git = (".gitattributes", "/.gitmodules", "/.pre-commit-config.yaml", "/manifests/**/.*")
        assert {*own, *of_git, *(f"/{name}" for name in self.PLACES)} <= set(rows)

    def test_nobody_is_named(self, repository: Path) -> None:
        result = kubectl_tas("init", repository)
        where = f"Replace @your-organization/gpu-admins in {repository}/.github/CODEOWNERS"
        assert f"{where}: nobody has that name, so nobody is asked to approve changes.\n" in result.err

    @pytest.mark.parametrize("owner", ["", "acme", "@", "@a b", "@a\n* @b", "@a/", "#"])
    def test_no_owner(self, repository: Path, owner: str) -> None:
        result = kubectl_tas("init", repository, "--owner", owner)
        said = f"Error: Invalid value for --owner: {owner!r} is no @user, @organization/team or address\n"
        assert (result.code, result.err.endswith(said)) == (2, True)

    def test_no_forge(self, repository: Path) -> None:
        assert "CODEOWNERS" not in kubectl_tas("init", repository, "--ci", "none").out

    def test_folder_of_a_checkout(self, repository: Path) -> None:
        git(repository, "init", "--quiet")
        kubectl_tas("init", repository / "a team/gpus #1")
        rows = self.rows(repository / ".github/CODEOWNERS")
        assert {f"/a?team/gpus??1/{name}" for name in self.PLACES} <= set(rows)
        assert "/.github/" in rows

    @pytest.mark.parametrize(
        ("ci", "there"),
        [
            ("github", "CODEOWNERS"),
            ("github", "docs/CODEOWNERS"),
            ("gitlab", "CODEOWNERS"),
            ("gitlab", "docs/CODEOWNERS"),
        ],
    )
    def test_a_file_elsewhere_counts_alone(self, repository: Path, ci: str, there: str) -> None:
        write(repository, {there: "* @them\n"})
        result = kubectl_tas("init", "--ci", ci, cwd=repository)
        assert "CODEOWNERS" not in result.out
        assert f"Nothing in {there} names kubectl-tas: add what init writes in an empty folder.\n" in result.err
        write(repository, {there: "/gpus/ @them  # kubectl-tas\n"})
        assert f"Nothing in {there}" not in kubectl_tas("init", "--ci", ci, cwd=repository).err

    def test_a_file_that_is_there(self, repository: Path) -> None:
        write(repository, {".github/CODEOWNERS": "* @them\n"})
        result = kubectl_tas("init", cwd=repository)
        assert "kept .github/CODEOWNERS, which is there already\n" in result.out
        assert "Nothing in .github/CODEOWNERS names kubectl-tas" in result.err


class TestGitops:
    @pytest.mark.parametrize(
        ("gitops", "remote", "url", "name"),
        [
            ("argocd", "git@github.com:team/H100_Pools.git", "git@github.com:team/H100_Pools.git", "h100-pools"),
            ("flux", "git@github.com:team/H100_Pools.git", "ssh://git@github.com/team/H100_Pools.git", "h100-pools"),
            ("flux", "https://me:secret@git.example.com/team/_", "https://git.example.com/team/_", "gpu-pools"),
        ],
    )
    def test_remote(self, repository: Path, gitops: str, remote: str, url: str, name: str) -> None:
        git(repository, "init", "--quiet")
        git(repository, "remote", "add", "origin", remote)
        git(repository, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
        result = kubectl_tas("init", repository, "--gitops", gitops)
        assert "Replace https" not in result.err
        (path,) = (path for path in (repository / gitops).iterdir() if path.name != "health.yaml")
        first = next(safe_load_all(path.read_text()))
        assert first["metadata"]["name"] == name
        source = first["spec"] if gitops == "flux" else first["spec"]["source"]
        assert source.get("url", source.get("repoURL")) == url
        assert source["ref"]["branch"] if gitops == "flux" else source["targetRevision"] == "trunk"
        assert safe_load((repository / "tas.yaml").read_text())["spec"]["gitops"] == gitops
        assert safe_load((repository / GITHUB).read_text())[True]["push"]["branches"] == ["trunk"]
        assert kubectl_tas("validate", "--strict", "-C", repository).code == 0

    def test_without_a_remote(self, repository: Path) -> None:
        result = kubectl_tas("init", repository, "--gitops", "flux")
        address, where = "https://git.example.com/gpu-pools.git", f"{repository}/flux/gpu-pools.yaml"
        assert f"Replace {address} in {where}: git knows no remote origin here.\n" in result.err
