"""Runs CI jobs as the runners of GitHub and GitLab do: their scripts in bash, with their variables."""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from tests.support.cli import Result
from tests.support.golden import ROOT
from tests.support.process import call
from tests.support.pyyaml import safe_load

GITHUB = ".github/workflows/manifests.yaml"
GITLAB = ".gitlab-ci.yml"
ACTIONS = ROOT / "integrations/github"
TOKEN = "token-that-writes"
_BASE = "github.event.merge_group.base_sha || (github.base_ref && format('origin/{0}', github.base_ref)) || ''"


@dataclass
class Github:
    """A run of the jobs ``manifests`` and ``comment`` for an event, with the variables of the runner."""

    root: Path
    """Folder of the checkout."""
    programs: Path
    """First folder on the PATH."""
    event: str = "pull_request"
    is_fork: bool = False
    more: dict[str, str] = field(default_factory=dict)
    """Further environment variables of the machine."""

    def __post_init__(self) -> None:
        self.temp = self.programs.parent / "temp"
        self.temp.mkdir(exist_ok=True)
        self.summary = self.temp / "summary"
        self.values = {
            "github.event_name": self.event,
            "github.token": TOKEN,
            "github.event.number": "7",
            _BASE: "origin/main" if self.event == "pull_request" else "",
        }

    def job(self) -> list[Result]:
        """Runs the workflow of the checkout. Returns output and exit code of each step."""
        flow = safe_load((self.root / GITHUB).read_text())
        return self._both(*(flow["jobs"][name]["steps"] for name in ("manifests", "comment")), flow["env"])

    def action(self) -> list[Result]:
        """Runs the two actions in place of the workflow."""
        judge, comment = (safe_load((ACTIONS / name).read_text()) for name in ("action.yml", "comment/action.yml"))
        for name, about in judge["inputs"].items():
            self.values[f"inputs.{name}"] = self._filled(about["default"])
        return self._both(judge["runs"]["steps"], comment["runs"]["steps"], {})

    def _both(self, judge: list[dict[str, Any]], comment: list[dict[str, Any]], outer: dict[str, str]) -> list[Result]:
        done, outputs = self._run(judge, outer)
        if done[-1].code == 0 and self.event == "pull_request" and not self.is_fork:
            self.values["needs.manifests.outputs.comment"] = self.values["inputs.comment"] = outputs["comment"]
            done += self._run(comment, outer)[0]
        return done

    def _run(self, steps: list[dict[str, Any]], outer: dict[str, str]) -> tuple[list[Result], dict[str, str]]:
        """Runs steps until one fails. Returns their results and their outputs for later jobs."""
        done: list[Result] = []
        path, output = self.temp / "path", self.temp / "output"
        for file in (path, output):
            file.write_text("")
        for step in steps:
            wanted = step.get("if", "").removeprefix("github.event_name == ").strip("'")
            if "run" not in step or (wanted and wanted != self.event):
                continue
            own = {key: self._filled(value) for key, value in {**outer, **step.get("env", {})}.items()}
            found = [*reversed(path.read_text().split()), str(self.programs), os.environ["PATH"]]
            runner = {
                "PATH": os.pathsep.join(found),
                "GITHUB_PATH": str(path),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(self.summary),
                "GITHUB_REPOSITORY": "team/gpu-pools",
                "RUNNER_TEMP": str(self.temp),
            }
            line = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"])
            done.append(call(*line, cwd=self.root, **{**runner, **self.more, **own}))
            if done[-1].code:
                break
        return done, dict(line.split("=", 1) for line in output.read_text().splitlines())

    def _filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: self.values[found[1]], text)


def gitlab(root: Path, programs: Path, base: str, job: str = "manifests", **more: str) -> Result:
    """Runs a job of the checkout in one shell. Without a ``base`` it is the job of a push."""
    about = safe_load((root / GITLAB).read_text())[job]
    script = "\n".join((*about.get("before_script", ()), *about["script"]))
    variables = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", **about["variables"]}
    if base:
        variables |= {"CI_MERGE_REQUEST_IID": "4", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
        variables |= {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base}
    return call("bash", "-eo", "pipefail", "-c", script, cwd=root, **variables, **more)


class Notes(BaseHTTPRequestHandler):
    """The notes of a merge request, as GitLab's API returns them."""

    notes: list[dict[str, Any]]
    asked: list[tuple[str, str]]

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        data = json.loads(self.rfile.read(length) or "{}")
        assert self.headers["PRIVATE-TOKEN"] == TOKEN
        self.asked.append((f"{self.command} {self.path}", data.get("body", "")))
        text = json.dumps({"id": 1} if self.path == "/api/v4/user" else self.notes if self.command == "GET" else {})
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST = do_PUT = answer  # noqa: N815 - the names of http.server

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


@contextlib.contextmanager
def notes_api() -> Iterator[HTTPServer]:
    """Starts GitLab's API, without notes and without recorded requests."""
    Notes.notes, Notes.asked = [], []
    server = HTTPServer(("127.0.0.1", 0), Notes)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def address(api: HTTPServer) -> dict[str, str]:
    """Returns the variables of the job that writes comments."""
    url = f"http://127.0.0.1:{api.server_port}/api/v4"
    return {"CI_API_V4_URL": url, "CI_MERGE_REQUEST_PROJECT_ID": "3", "KUBECTL_TAS_TOKEN": TOKEN}
