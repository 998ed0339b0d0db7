"""Secrets and tokens of tasks, and what only OSMO's runtime honours, word by word."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cli import pool
from tests.support.judged import told, told_of

TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0iL3oR6"


def task(*fields: str) -> str:
    """A workflow of one task, whose fields begin in line 5."""
    own = "".join(f"    {field}\n" for field in fields)
    head = f"workflow:\n  name: w\n  pool: team\n  tasks:\n{own.replace('    ', '  - ', 1)}"
    return f"{head}    name: t\n    image: i\n    resource: r\nresources: {{r: {{gpu: 1}}}}\n"


def group(field: str) -> str:
    """A workflow of a group of two tasks with this field."""
    tasks = ", ".join(f"{{name: {name}, image: i, command: [c], resource: r}}" for name in "ab")
    groups = f"  groups:\n  - name: g\n    {field}\n    tasks: [{tasks}]\n"
    return f"workflow:\n  name: w\n  pool: team\n{groups}resources: {{r: {{gpu: 1}}}}\n"


SILENT = {
    "no secret": task("command: [c]", "environment: {CLIENT_NAME: Zx81kd92}"),
    "no barrier": group("barrier: false"),
}
ROWS = {
    "a secret of a client": task("command: [c]", "environment: {CLIENT_SECRET: Zx81kd92}"),
    "a token on the command line": task(f"command: [c, {TOKEN}]"),
    "a token among arguments": task("command: [c]", f"args: [--token, {TOKEN}]"),
    "a token in a file": task("command: [c]", f"files: [{{path: /a, contents: 'x {TOKEN}'}}]"),
    "a secret beside plain words and files": task(
        "command: [c]", "environment: {CLIENT_SECRET: Zx81kd92}", "files: [{path: /a, contents: x}]"
    ),
    "an input that is not there": task("command: ['{{input:5}}']", "inputs: [{url: s3://a}]"),
    "an input of none": task("command: ['{{input:0}}']", "inputs: []"),
    "nothing of its own that others must not end": group("ignoreNonleadStatus: false"),
    "a barrier": group("barrier: true"),
}


def judged(text: str) -> list[str]:
    found = told({"pools/team.yaml": pool(), "workflows/w.yaml": text})
    return [line.removeprefix("workflows/") for line in found]


@pytest.mark.parametrize("name", ROWS)
def test_tasks(name: str, snapshot: Any) -> None:
    assert "\n".join(judged(ROWS[name])) == snapshot


@pytest.mark.parametrize("name", SILENT)
def test_tasks_silent(name: str) -> None:
    assert judged(SILENT[name]) == []


FAILS = "a code other than 0 is a failure; codes above 255 are those of OSMO"
INSTEAD = "let the command end with 0 where it is done, and leave them out"


@pytest.mark.parametrize(
    ("form", "priority", "repeats"),
    [
        ("pods", "HIGH", False),
        ("pods", "LOW", False),
        ("jobs", "HIGH", True),
        ("jobs", "LOW", True),
        ("jobs-if-preemptible", "HIGH", False),
        ("jobs-if-preemptible", "LOW", True),
    ],
)
def test_exit_actions_that_a_job_takes(form: str, priority: str, *, repeats: bool) -> None:
    text = task("command: [c]", "exitActions: {COMPLETE: '1', RESCHEDULE: '2', FAIL: '300'}")
    why = FAILS if repeats else f"no task runs again; {FAILS}"
    how = INSTEAD if repeats else f"render Jobs, with spec.workflowsAs of the Config, and {INSTEAD}"
    said = told_of(text.replace("  pool: team\n", f"  pool: team\n  priority: {priority}\n"), workflowsAs=form)
    assert said == [
        f"w.yaml:2:9 osmo-only: only OSMO's own runtime honours exitActions ({why}) (Instead, exitActions: {how}.)"
    ]
