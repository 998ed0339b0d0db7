"""Tests that tokens without a value are found, each once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write

TWO_TASKS = """\
workflow:
  name: w
  pool: team
  groups:
  - name: g
    tasks:
    - {name: a, image: b, command: [sh], files: &files [{path: /x, contents: "{{host:c}}"}]}
    - {name: b, image: b, command: [sh], files: *files}
"""


def test_a_text_that_tasks_share_is_found_once(tmp_path: Path) -> None:
    write(tmp_path, {"pools/team.yaml": pool(), "workflows/w.yaml": TWO_TASKS})
    result = kubectl_tas("validate", "-C", tmp_path)
    assert result.out.count("[token-unknown]") == 1
    assert result.code == 1


@pytest.mark.parametrize("token", ["{{ host:x y }}", "{{host: }}", "{{host:a:b}}", "{{input:-1}}", "{{input:00}}"])
def test_what_no_task_and_no_input_can_be_called(tmp_path: Path, token: str) -> None:
    text = TWO_TASKS.replace("{{host:c}}", token)
    write(tmp_path, {"pools/team.yaml": pool(), "workflows/w.yaml": text})
    result = kubectl_tas("validate", "-C", tmp_path)
    assert "[token-unknown]" in result.out


@pytest.mark.parametrize("text", ["{{host}}", "{{ outputs }}", "{host:c}", "{{{{host}}}}", "${{ inputs.x }}"])
def test_other_braces_of_a_file_are_left_alone(tmp_path: Path, text: str) -> None:
    workflow = TWO_TASKS.replace('contents: "{{host:c}}"', "localpath: x")
    write(tmp_path, {"pools/team.yaml": pool(), "workflows/w.yaml": workflow, "workflows/x": text})
    assert kubectl_tas("render", "-C", tmp_path).code == 0
    (found,) = (tmp_path / "manifests/workflows/w").glob("configmap-*")
    assert text in found.read_text()
