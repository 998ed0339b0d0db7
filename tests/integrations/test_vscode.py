"""Tests the extension for VS Code in node, with stubs of VS Code's API."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.editor.server import SHOW_FIT, SHOW_TREE
from tests.support.golden import ROOT

EXTENSION = ROOT / "integrations/vscode"


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node")
    script = Path(__file__).with_name("vscode.js")
    done = subprocess.run([node, script, EXTENSION / "extension.js"], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_server_is_started(told: dict[str, Any]) -> None:
    assert told["server"] == {"command": "kubectl-tas.path", "args": ["lsp"]}
    assert told["initializationOptions"] == {"showsAnswers": True}
    assert [item["language"] for item in told["documentSelector"]] == ["yaml", "json"]
    assert (told["asked"][0], told["asked"][-1]) == (["start"], ["stop"])


def test_pictures_are_shown_and_run_nothing(told: dict[str, Any]) -> None:
    asked = ["next", "tas.showTree", ["file:///a", "Job/train", "svg"]]
    panel = ["createWebviewPanel", "kubectl-tas", "Job train", -2, {"enableScripts": False}]
    assert told["asked"][1:3] == [asked, panel]
    picture = base64.b64encode(b"<svg><script>x</script></svg>").decode()
    assert f'<img src="data:image/svg+xml;base64,{picture}" alt="">' in told["html"]
    assert "<script" not in told["html"]
    assert "default-src 'none'; img-src data:" in told["html"]


def test_words_are_shown_as_text(told: dict[str, Any]) -> None:
    shown = [item for item in told["asked"] if item[0] == "showTextDocument"]
    assert shown == [["showTextDocument", {"text": "no room"}, -2]]


def test_package() -> None:
    package = json.loads((EXTENSION / "package.json").read_text())
    assert package["contributes"]["configuration"]["properties"].keys() == {"kubectl-tas.path"}
    assert package["activationEvents"] == ["workspaceContains:**/tas.yaml"]
    assert all(command.startswith("tas.") for command in (SHOW_TREE, SHOW_FIT))
