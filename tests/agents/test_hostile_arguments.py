"""Tests random arguments of each tool for agents: an answer or a refusal in words, and never an internal error."""

from __future__ import annotations

import io
import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.agents import mcp_server
from kubectl_tas.agents.asking import AgentServer, Call, Said
from kubectl_tas.agents.tool_table import TOOLS
from tests.support.cli import kubectl_tas
from tests.support.history import commit

NESTED: Any = "x"
for _ in range(500):
    NESTED = [NESTED]
TEXTS = [
    "a\0b",
    "\0",
    "\ud800",
    "a\udfffb",
    "",
    " ",
    "x" * 2000,
    "x" * 1_000_001,
    "..",
    "/etc/passwd",
    "C:\\x",
    "~",
    "-x",
]
TEXTS += [
    "--help",
    "a\nb",
    "\x1b[2J",
    "\u202e",
    "workflows",
    "workflows/train.yaml/x",
    "\N{GRINNING FACE}",
    "*",
    "{}",
    "a: [",
]
NUMBERS = [-1, 0, 1.0, 50.0, 2**31, 2**63, 10**400, 10**5000, 1.5, 1e308, float("nan"), float("inf"), -0.0]
OTHERS = [None, True, False, [], {}, [None], [1], [[]], {"a": 1}, {"\0": 1}, {"\ud800": "\ud800"}, NESTED]
RIGHT = {
    "manifest": "kind: Pool\n",
    "path": "workflows/train.yaml",
    "paths": ["workflows/train.yaml"],
    "base": "HEAD",
    "names": ["team"],
    "podIndex": 0,
    "pool": "team",
    "priority": "LOW",
    "used": 1,
    "code": "over-quota",
    "offset": 0,
    "limit": 3,
    "grow": 1,
    "assume": "2h",
    "horizon": "2d",
    "now": "2026-11-29T04:00Z",
}


def right(tool: str, name: str) -> Any:
    """A value that the tool takes."""
    if name != "work":
        return RIGHT[name]
    return ["train"] if tool in ("fit", "forecast") else "train"


def arguments(tool: str, source: random.Random) -> dict[str, Any]:
    """Some arguments of a tool, one of them wrong in some way."""
    names = [*TOOLS[tool].input_schema["properties"]]
    given = {name: right(tool, name) for name in names if name in TOOLS[tool].required or source.random() < 0.5}
    name = source.choice([*names, "other", "\ud800", "a\0"])
    wrong = source.choice([*TEXTS, *NUMBERS, *OTHERS])
    if name in ("work", "paths", "names") and source.random() < 0.5:
        wrong = source.choice([[wrong], ["train", wrong], [wrong] * 101])
    return {**given, name: wrong}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgentServer:
    """A server whose commands run in this process."""
    assert kubectl_tas("init", "repository", cwd=tmp_path).code == 0
    commit(tmp_path / "repository")

    class Own(Call):
        def ask(self, words: Sequence[str], *, stdin: str = "", root: Path | None = None) -> Said:
            for word in words:
                assert "\0" not in word.encode().decode(), "no process can be given it"
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            result = kubectl_tas("-C", root or self.server.root, *words)
            assert "internal error" not in result.err, (words, result)
            return Said(json.loads(result.out) if result.out else None, result.err)

    monkeypatch.setattr(mcp_server, "started", lambda server: Own(server, 600.0))
    return AgentServer(tmp_path / "repository", seconds=600)


@pytest.mark.sweep
@pytest.mark.parametrize("tool", TOOLS)
def test_any_arguments(tool: str, server: AgentServer) -> None:
    source = random.Random(tool)
    for _ in range(100):
        given = arguments(tool, source)
        result = mcp_server._answered(TOOLS[tool], given, server)
        (content,) = result.content
        assert "internal error" not in content.text, (given, content.text)
        content.text.encode()
        result.model_dump_json()


@pytest.mark.parametrize("tool", TOOLS)
def test_each_wrong_value_of_each_argument(tool: str, server: AgentServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read only: what a command gets has no character that ends it, and whole numbers."""
    monkeypatch.setattr(mcp_server, "started", lambda server: Noted(server, 600.0))
    needed = {name: right(tool, name) for name in TOOLS[tool].required}
    for name in (*TOOLS[tool].input_schema["properties"], "other"):
        for wrong in (*TEXTS, *NUMBERS, *OTHERS, *([text] for text in TEXTS)):
            result = mcp_server._answered(TOOLS[tool], {**needed, name: wrong}, server)
            (content,) = result.content
            assert "internal error" not in content.text, (name, wrong, content.text)
            content.text.encode()


class Noted(Call):
    """A call that runs nothing, but for the words that a command would be given."""

    def ask(self, words: Sequence[str], *, stdin: str = "", root: Path | None = None) -> Said:
        assert "\0" not in "".join(words).encode().decode()
        assert not any(word.endswith(".0") for word in words)
        stdin.encode()
        return Said({"diagnostics": [], "workflows": [], "gangs": []}, "")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"path": "a\0b"}, "error: path: the text has '\\x00', which no command takes\n  = help: Leave it out."),
        ({"path": "\ud800"}, "error: path: the text has '\\ud800', which no command takes\n  = help: Leave it out."),
        ({"path": "x", "used": 2**31}, "error: used: the number is beyond 2147483647"),
        ({"path": "x", "used": -1}, "error: used: -1 is less than the minimum of 0"),
        ({"path": ["x"]}, "error: path: ['x'] is not of type 'string'"),
        ({"\0": 1}, "error: the arguments: the text has '\\x00', which no command takes\n  = help: Leave it out."),
    ],
)
def test_a_refusal_names_the_argument(given: dict[str, Any], said: str, server: AgentServer) -> None:
    (content,) = mcp_server._answered(TOOLS["admit"], given, server).content
    assert content.text == said


@pytest.mark.skipif(sys.platform == "darwin", reason="file names are UTF-8")
def test_a_file_whose_name_is_no_text(server: AgentServer) -> None:
    (server.root / os.fsdecode(b"workflows/\xff.yaml")).write_text("kind: [")
    for tool, given in (("validate", {}), ("validate", {"paths": ["workflows"]}), ("suggest", {"path": "x"})):
        result = mcp_server._answered(TOOLS[tool], given, server)
        result.model_dump_json()
        assert "internal error" not in result.content[0].text
    assert "workflows/?.yaml" in mcp_server._answered(TOOLS["validate"], {}, server).content[0].text
