"""The CI jobs that ``init`` writes, and those under ``integrations/``, run as they are."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubectl_tas import __version__
from tests.support.cli import Result, kubectl_tas, subpool, write
from tests.support.golden import ROOT
from tests.support.history import commit, git
from tests.support.process import call

GITHUB = ".github/workflows/manifests.yaml"
GITLAB = ".gitlab-ci.yml"
ACTION = ROOT / "integrations/github/action.yml"
Begin = Callable[[str], Path]
"""Makes the repository with this CI."""
MARK = "<!-- kubectl-tas -->\n"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder for the PATH: this checkout's command, a pip that is told what to install, and a gh that writes down
    what it is asked.
    """
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in {
        "kubectl-tas": f'exec "{sys.executable}" -m kubectl_tas "$@"',
        "pip": f'echo "pip $*" >> "{tmp_path}/asked"',
        "python3": f'exec "{sys.executable}" "$@"',
        "gh": f'echo "gh $*" >> "{tmp_path}/asked"; for word; do case "$word" in --jq) echo "$COMMENTS";; '
        f'body=@*) cp "${{word#body=@}}" "{tmp_path}/comment";; esac; done',
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(stat.S_IRWXU)
    return folder


@pytest.fixture
def changed(repository: Path) -> Begin:
    """What ``init`` writes, rendered and committed to main, and on a branch of it a subpool more."""

    def made(ci: str) -> Path:
        assert kubectl_tas("init", repository, "--ci", ci, "--gitops", "argocd").code == 0
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


class Github:
    """Runs the steps of a job as GitHub's runner does, for the events that the job knows."""

    def __init__(self, root: Path, programs: Path, event: str, *, fork: bool = False, comments: str = "") -> None:
        self.root, self.asked, self.comment = root, programs.parent / "asked", programs.parent / "comment"
        self.summary = programs.parent / "summary"
        self.values = {
            "github.event_name": event,
            "github.token": "secret",
            "github.event.number": "7",
            "github.event.pull_request.head.repo.full_name == github.repository": "false" if fork else "true",
            "github.event.merge_group.base_sha || (github.base_ref && format('origin/{0}', github.base_ref)) || ''": (
                "origin/main" if event == "pull_request" else ""
            ),
        }
        self.environment = {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_REPOSITORY": "team/gpu-pools",
            "RUNNER_TEMP": str(programs.parent),
            "COMMENTS": comments,
            "PYTHONPATH": str(ROOT),
        }

    def filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: self.values[found[1]], text)

    def run(self, steps: list[dict[str, Any]], outer: dict[str, str]) -> list[Result]:
        """What each step prints and exits with; none behind one that fails."""
        done: list[Result] = []
        for step in steps:
            wanted = step.get("if", "").removeprefix("github.event_name == ").strip("'")
            if "run" not in step or (wanted and wanted != self.values["github.event_name"]):
                continue
            own = {key: self.filled(value) for key, value in {**outer, **step.get("env", {})}.items()}
            line = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"])
            done.append(call(*line, cwd=self.root, **self.environment, **own))
            if done[-1].code:
                break
        return done


def steps_of(root: Path, programs: Path, runner: Github, kind: str) -> list[Result]:
    """Runs init's own job, or the action in its place."""
    if kind == "init":
        job = yaml.safe_load((root / GITHUB).read_text())
        return runner.run(job["jobs"]["manifests"]["steps"], job["env"])
    action = yaml.safe_load(ACTION.read_text())
    for name, about in action["inputs"].items():
        runner.values[f"inputs.{name}"] = runner.filled(about["default"])
    return runner.run(action["runs"]["steps"], {})


@pytest.mark.parametrize("kind", ["init", "action"])
class TestGithub:
    def test_pull_request(self, changed: Begin, programs: Path, kind: str) -> None:
        root = changed("github")
        runner = Github(root, programs, "pull_request")
        ran = steps_of(root, programs, runner, kind)
        assert [step.code for step in ran] == [0, 0, 0, 0], ran
        assert re.search(r"pip install --quiet -r (\./)?requirements-tas\.txt\n", runner.asked.read_text())
        assert "--method POST repos/team/gpu-pools/issues/7/comments" in runner.asked.read_text()
        comment = runner.comment.read_text()
        assert comment.startswith(MARK)
        assert "team--b" in comment
        assert comment in runner.summary.read_text()

    def test_comment_that_is_there_is_written_anew(self, changed: Begin, programs: Path, kind: str) -> None:
        root = changed("github")
        runner = Github(root, programs, "pull_request", comments="41\n42")
        assert all(step.code == 0 for step in steps_of(root, programs, runner, kind))
        assert "--method PATCH repos/team/gpu-pools/issues/comments/41 " in runner.asked.read_text()

    def test_fork_gets_a_summary_alone(self, changed: Begin, programs: Path, kind: str) -> None:
        root = changed("github")
        runner = Github(root, programs, "pull_request", fork=True)
        assert all(step.code == 0 for step in steps_of(root, programs, runner, kind))
        assert "gh " not in runner.asked.read_text()
        assert "team--b" in runner.summary.read_text()

    def test_push(self, changed: Begin, programs: Path, kind: str) -> None:
        root = changed("github")
        runner = Github(root, programs, "push")
        assert [step.code for step in steps_of(root, programs, runner, kind)] == [0, 0, 0]

    def test_error_marks_its_line(self, changed: Begin, programs: Path, kind: str) -> None:
        root = changed("github")
        add(root, subpool("b", 65))
        runner = Github(root, programs, "pull_request")
        *_, last = steps_of(root, programs, runner, kind)
        assert last.code == 1
        assert re.search(r"^::error .*file=subpools/team--b\.yaml,line=7", last.out, re.MULTILINE)

    def test_manifests_that_are_not_rendered(self, changed: Begin, programs: Path, kind: str) -> None:
        root = changed("github")
        write(root, {"subpools/team--b.yaml": subpool("b", 9)})
        commit(root)
        *_, last = steps_of(root, programs, Github(root, programs, "pull_request"), kind)
        assert last.code == 1
        assert "file=manifests/queues/" in last.out

    def test_error_alone_against_the_branch(self, changed: Begin, programs: Path, kind: str) -> None:
        """What may not be done while work runs is found in a pull request, and not on main."""
        root = changed("github")
        (root / "subpools/team--research.yaml").unlink()
        (root / "workflows/train.yaml").unlink()
        kubectl_tas("render", "-C", root)
        commit(root)
        assert steps_of(root, programs, Github(root, programs, "pull_request"), kind)[-1].code == 1
        assert steps_of(root, programs, Github(root, programs, "push"), kind)[-1].code == 0


def test_action_says_what_the_job_says(repository: Path) -> None:
    kubectl_tas("init", repository)
    job = yaml.safe_load((repository / GITHUB).read_text())
    runs = [step["run"] for step in job["jobs"]["manifests"]["steps"] if "run" in step]
    of_action = [step["run"] for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"] if "run" in step]
    assert of_action[1:] == runs[1:]
    assert of_action[0].replace("$REQUIREMENTS", "$KUBECTL_TAS_DIRECTORY/requirements-tas.txt") == runs[0]


class Notes(BaseHTTPRequestHandler):
    """The notes of a merge request, as GitLab's API gives them."""

    notes: list[dict[str, Any]]
    asked: list[tuple[str, str]]

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        data = json.loads(self.rfile.read(length) or "{}")
        assert self.headers["PRIVATE-TOKEN"] == "token"
        self.asked.append((f"{self.command} {self.path}", data.get("body", "")))
        text = json.dumps({"id": 1} if self.path == "/api/v4/user" else self.notes if self.command == "GET" else {})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST = do_PUT = answer  # noqa: N815 - the names of http.server

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


@pytest.fixture
def gitlab() -> Iterator[HTTPServer]:
    Notes.notes, Notes.asked = [], []
    server = HTTPServer(("127.0.0.1", 0), Notes)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


class TestGitlab:
    def run(self, root: Path, programs: Path, base: str = "", **more: str) -> Result:
        """What the job prints and exits with, in one shell as GitLab's runner has it."""
        job = yaml.safe_load((root / GITLAB).read_text())["manifests"]
        script = "\n".join((*job["before_script"], *job["script"]))
        environment = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
        environment |= {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base, **job["variables"], **more}
        return call("bash", "-eo", "pipefail", "-c", script, cwd=root, **environment)

    def test_merge_request(self, changed: Begin, programs: Path) -> None:
        root = changed("gitlab")
        ran = self.run(root, programs, git(root, "rev-parse", "main"))
        assert ran.code == 0, ran
        assert json.loads((root / "code-quality.json").read_text()) == []
        assert "team--b" in (root / "diff.html").read_text()

    def test_push(self, changed: Begin, programs: Path) -> None:
        root = changed("gitlab")
        assert self.run(root, programs).code == 0
        assert not (root / "diff.html").exists()

    def test_error(self, changed: Begin, programs: Path) -> None:
        root = changed("gitlab")
        add(root, subpool("b", 65))
        ran = self.run(root, programs, "main")
        assert ran.code == 1
        assert "subpools/team--b.yaml:7:10: error: " in ran.out
        (found,) = json.loads((root / "code-quality.json").read_text())
        assert found["location"] == {"path": "subpools/team--b.yaml", "lines": {"begin": 7}}

    @pytest.mark.parametrize("own", [True, False])
    def test_comment(self, changed: Begin, programs: Path, gitlab: HTTPServer, own: bool) -> None:
        root = changed("gitlab")
        Notes.notes = [
            {"id": 5, "body": MARK, "author": {"id": 2}},
            *([{"id": 6, "body": f"{MARK}old", "author": {"id": 1}}] if own else []),
        ]
        ran = self.run(
            root,
            programs,
            "main",
            KUBECTL_TAS_TOKEN="token",
            CI_API_V4_URL=f"http://127.0.0.1:{gitlab.server_port}/api/v4",
            CI_MERGE_REQUEST_PROJECT_ID="3",
            CI_MERGE_REQUEST_IID="4",
        )
        assert ran.code == 0, ran
        line, body = Notes.asked[-1]
        notes = "/api/v4/projects/3/merge_requests/4/notes"
        assert line == (f"PUT {notes}/6" if own else f"POST {notes}")
        assert body.startswith(MARK)
        assert "team--b" in body

    def test_template_is_what_init_writes(self, repository: Path) -> None:
        kubectl_tas("init", repository, "--ci", "gitlab")
        template = ROOT / "integrations/gitlab/kubectl-tas.gitlab-ci.yml"
        assert template.read_text() == (repository / GITLAB).read_text()


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("github-workflows", GITHUB),
        ("github-actions", str(ACTION)),
        ("gitlab-ci", str(ROOT / "integrations/gitlab/kubectl-tas.gitlab-ci.yml")),
    ],
)
def test_published_schemas(repository: Path, schema: str, path: str) -> None:
    kubectl_tas("init", repository)
    transform = ("--data-transform", "gitlab-ci") if schema == "gitlab-ci" else ()
    command = (sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *transform)
    result = call(*command, str(repository / path))
    assert result.code == 0, result.out


class TestSource:
    def test_release_by_default(self, repository: Path) -> None:
        kubectl_tas("init", repository)
        assert (repository / "requirements-tas.txt").read_text().splitlines()[-1] == f"kubectl-tas=={__version__}"

    def test_one_that_is_given(self, repository: Path) -> None:
        wheel = "kubectl-tas @ https://files.example.com/kubectl_tas-1.0.0-py3-none-any.whl"
        kubectl_tas("init", repository, "--source", wheel)
        assert (repository / "requirements-tas.txt").read_text().splitlines()[-1] == wheel

    @pytest.mark.parametrize("source", ["", " ", "a\nb"])
    def test_none(self, repository: Path, source: str) -> None:
        assert kubectl_tas("init", repository, "--source", source).code == 2

    @pytest.mark.parametrize(
        ("told", "source"),
        [
            (
                {"url": "https://token@git.example.com/tas.git", "vcs_info": {"vcs": "git", "commit_id": "12ab"}},
                "kubectl-tas @ git+https://git.example.com/tas.git@12ab",
            ),
            (
                {"url": "https://files.example.com/tas.whl", "archive_info": {}},
                "kubectl-tas @ https://files.example.com/tas.whl",
            ),
            ({"url": "file:///home/me/tas", "dir_info": {"editable": True}}, f"kubectl-tas=={__version__}"),
        ],
    )
    def test_where_the_tool_was_installed_from(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch, told: dict[str, Any], source: str
    ) -> None:
        class Installed:
            def read_text(self, _name: str) -> str:
                return json.dumps(told)

        monkeypatch.setattr("kubectl_tas.edit.scaffold.distribution", lambda _name: Installed())
        kubectl_tas("init", repository)
        assert (repository / "requirements-tas.txt").read_text().splitlines()[-1] == source


class TestGitops:
    @pytest.mark.parametrize(
        ("gitops", "remote", "url"),
        [
            ("argocd", "git@github.com:team/GPU_pools.git", "git@github.com:team/GPU_pools.git"),
            ("flux", "git@github.com:team/GPU_pools.git", "ssh://git@github.com/team/GPU_pools.git"),
            ("flux", "https://me:secret@git.example.com/team/GPU_pools", "https://git.example.com/team/GPU_pools"),
        ],
    )
    def test_remote(self, repository: Path, gitops: str, remote: str, url: str) -> None:
        git(repository, "init", "--quiet")
        git(repository, "remote", "add", "origin", remote)
        git(repository, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
        result = kubectl_tas("init", repository, "--gitops", gitops)
        assert "Replace" not in result.err
        (path,) = (repository / gitops).iterdir()
        first = next(yaml.safe_load_all(path.read_text()))
        assert first["metadata"]["name"] == "gpu-pools"
        source = first["spec"] if gitops == "flux" else first["spec"]["source"]
        assert source.get("url", source.get("repoURL")) == url
        assert source["ref"]["branch"] if gitops == "flux" else source["targetRevision"] == "trunk"
        assert yaml.safe_load((repository / "tas.yaml").read_text())["spec"]["gitops"] == gitops
        assert yaml.safe_load((repository / GITHUB).read_text())[True]["push"]["branches"] == ["trunk"]
        assert kubectl_tas("validate", "--strict", "-C", repository).code == 0

    def test_without_a_remote(self, repository: Path) -> None:
        result = kubectl_tas("init", repository, "--gitops", "flux")
        address, where = "https://git.example.com/gpu-pools.git", f"{repository}/flux/gpu-pools.yaml"
        assert f"Replace {address} in {where}: git knows no remote origin here.\n" in result.err
