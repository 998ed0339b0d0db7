"""Tests the tools for agents without a server: what an agent reads of them, the commands that they run, and errors."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.agents import asking, mcp_server
from kubectl_tas.agents.asking import AgentServer, Call, Said, page_of, started
from kubectl_tas.agents.tool_table import TOOLS
from kubectl_tas.base import process
from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import dataclass
from tests.support.golden import GOLDEN, at

BARE = AgentServer(Path("/r"), seconds=7.5)
CLUSTER = AgentServer(Path("/r"), seconds=7.5, cluster=("--live",))
NODES = AgentServer(Path("/r"), seconds=7.5, cluster=("--live",), nodes=("--nodes=n",))


def test_what_an_agent_reads_of_the_tools(snapshot: Any) -> None:
    tools = [mcp_server._described(name, tool, BARE).model_dump(exclude_none=True) for name, tool in TOOLS.items()]
    for tool in tools:  # of the answer: what is not in the schema of the command's output
        properties = tool.pop("output_schema")["properties"]
        tool["answer"] = {name: properties[name] for name in ("page", "notes")}
    text = json.dumps({"instructions": mcp_server.INSTRUCTIONS.splitlines(), "tools": tools}, indent=2) + "\n"
    assert text == snapshot(extension_class=at(GOLDEN / "commands/mcp/output.json"))


@dataclass(frozen=True, slots=True)
class Noted(Call):
    """A call that runs nothing, and answers with its command and standard input."""

    def ask(self, words: Sequence[str], *, stdin: str = "", root: Path | None = None) -> Said:
        return Said([*words, *([f"< {stdin}"] if stdin else [])], "")


@pytest.mark.parametrize(
    ("tool", "given", "server", "command"),
    [
        ("validate_manifest", {"manifest": "a: b"}, BARE, "validate - -o json < a: b"),
        (
            "validate_manifest",
            {"manifest": "a: b", "path": "w/x.yaml", "base": "main"},
            CLUSTER,
            "validate - -o json --base=main --stdin-filename=/r/w/x.yaml --live < a: b",
        ),
        ("validate", {}, BARE, "validate -o json --"),
        (
            "validate",
            {"paths": ["a", "b"], "base": "main"},
            CLUSTER,
            "validate -o json --base=main --live -- /r/a /r/b",
        ),
        ("explain", {"work": "Job/x"}, CLUSTER, "workflow explain -o json -- Job/x"),
        ("explain", {"work": "x", "podIndex": 0}, BARE, "workflow explain -o json --pod-index=0 -- x"),
        ("admit", {"manifest": "a: b"}, BARE, "admit -o json -- - < a: b"),
        (
            "admit",
            {"path": "x", "pool": "team", "priority": "LOW", "used": 3},
            CLUSTER,
            "admit -o json --pool=team --priority=LOW --used=3 --live -- /r/x",
        ),
        ("fit", {}, CLUSTER, "fit -o json --all --live --"),
        ("fit", {"work": ["x", "y"]}, NODES, "fit -o json --nodes=n -- x y"),
        ("why", {"work": "x"}, NODES, "workflow why -o json --live -- x"),
        ("pools", {}, BARE, "pool list -o json --"),
        ("pools", {"names": ["team"]}, CLUSTER, "pool list -o json --live -- team"),
        ("diff", {"base": "main"}, CLUSTER, "diff -o json --base=main"),
        ("rule", {}, CLUSTER, "rule -o json --"),
        ("rule", {"code": "over-quota"}, BARE, "rule -o json -- over-quota"),
    ],
)
def test_a_tool_runs_a_command(tool: str, given: Mapping[str, Any], server: AgentServer, command: str) -> None:
    assert " ".join(TOOLS[tool].answer(Noted(server), given).answer) == command


AWAY = "error: ../x is not a path in the repository\n  = help: Write it relative to the folder of tas.yaml."
UNKNOWN = (
    "error: this server knows no cluster\n"
    "  = help: Ask whoever starts it to add --live, --context, --cluster-state or --nodes to `kubectl tas mcp`."
)
EITHER = "error: {} takes either {} or {}\n  = help: Pass one of them."


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("explain", {}, "error: 'work' is a required property"),
        ("pools", {"limit": 0}, "error: limit: 0 is less than the minimum of 1"),
        ("pools", {"limit": 501}, "error: limit: 501 is greater than the maximum of 500"),
        ("pools", {"offset": -1}, "error: offset: -1 is less than the minimum of 0"),
        ("validate", {"paths": ["a", ""]}, "error: paths[1]: '' should be non-empty"),
        ("explain", {"work": "x" * 1025}, f"error: work: '{'x' * 199}"),
        ("validate_manifest", {"manifest": "x" * 1_000_001}, f"error: manifest: '{'x' * 199}"),
        ("admit", {}, EITHER.format("admit", "manifest", "work")),
        ("admit", {"manifest": "", "path": ""}, "error: path: '' should be non-empty"),
        ("admit", {"manifest": "", "path": "x"}, EITHER.format("admit", "manifest", "work")),
        ("suggest", {}, EITHER.format("suggest", "path", "work")),
        ("suggest", {"path": "x", "work": "x"}, EITHER.format("suggest", "path", "work")),
        ("explain", {"work": "../x"}, AWAY),
        ("validate", {"paths": ["../x"]}, AWAY),
        ("fit", {"work": ["../x"]}, AWAY),
        ("why", {"work": "../x"}, AWAY),
        ("suggest", {"path": "../x"}, AWAY),
        ("suggest", {"work": "../x"}, AWAY),
        ("fit", {}, UNKNOWN),
        ("why", {"work": "x"}, UNKNOWN),
    ],
)
def test_what_cannot_be_answered_is_an_error(tool: str, given: dict[str, Any], said: str) -> None:
    found = mcp_server._answered(TOOLS[tool], given, BARE)
    assert found.is_error
    assert [item.text for item in found.content] == [said]  # type: ignore[union-attr]


class TestCommand:
    """The command of a call, in a process of its own."""

    def ask(self, monkeypatch: pytest.MonkeyPatch, code: int, out: str, err: str, **given: Any) -> Any:
        """What comes of a command that prints this, and how it was started."""
        seen: list[Any] = []

        def run(command: Sequence[str], **how: Any) -> process.Finished:
            seen.append((command, how))
            return process.Finished(code, out.encode(), err)

        monkeypatch.setattr(process, "run", run)
        return started(BARE).ask(["pool", "list"], **given), *seen[0]

    def test_it_is_started_apart(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("BASE", "COLOR", "DEBUG", "DIRECTORY", "CACHE"):
            monkeypatch.setenv(f"KUBECTL_TAS_{name}", "x")
        _, command, how = self.ask(monkeypatch, 0, "{}", "", stdin="a\N{SNOWMAN}")
        assert command == [sys.executable, "-P", "-m", "kubectl_tas", "-C", "/r", "pool", "list"]
        assert how["stdin"] == "a\N{SNOWMAN}".encode()
        own = {"KUBECTL_TAS_BASE", "KUBECTL_TAS_COLOR", "KUBECTL_TAS_DEBUG", "KUBECTL_TAS_DIRECTORY"}
        kept = {name: value for name, value in os.environ.items() if name not in own}
        assert how["environment"] == {**kept, "NO_COLOR": "1"}
        limits = how["limits"]
        assert 0.1 < limits.seconds <= 7.5
        assert (limits.out, limits.is_ours) == (64 * 1024 * 1024, True)
        assert self.ask(monkeypatch, 0, "{}", "", root=Path("/other"))[1][5] == "/other"

    @pytest.mark.parametrize(
        ("out", "err", "said"),
        [
            ('{"a": 1}', "note\n", Said({"a": 1}, "note\n")),
            ("", "error: x\n", Said(None, "error: x\n")),
            ("no JSON", "", Said(None, "the command ended with exit code 2 and without a word")),
            ("", "Usage: kubectl tas x\n\nError: no pool\n", Said(None, "error: no pool\n")),
            ("", "Other: x\nError: no pool\n", Said(None, "Other: x\nError: no pool\n")),
            ("", "x" * 8000, Said(None, "x" * 8000)),
            ("", "x" * 8012, Said(None, f"{'x' * 8000}\n... and 12 characters more")),
        ],
    )
    def test_what_it_prints(self, monkeypatch: pytest.MonkeyPatch, out: str, err: str, said: Said) -> None:
        assert self.ask(monkeypatch, 2, out, err)[0] == said

    def test_it_takes_too_long(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def run(command: Sequence[str], **how: Any) -> process.Finished:
            raise process.LimitError("too long")

        monkeypatch.setattr(process, "run", run)
        found = mcp_server._answered(TOOLS["rule"], {}, BARE)
        assert [item.text for item in found.content] == [  # type: ignore[union-attr]
            "error: the answer took longer than 7.5 s, or more than 64 MiB\n"
            "  = help: Ask about less, or start the server with a larger --time-limit."
        ]


def test_an_answer_is_the_page_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"rules": [*range(120)], "few": [1], "version": 1}
    monkeypatch.setattr(Call, "ask", lambda *_, **__: Said(answer, "a note"))
    found = mcp_server._answered(TOOLS["rule"], {"offset": 50}, BARE)
    assert not found.is_error
    assert found.structured_content == {
        "rules": [*range(50, 100)],
        "few": [],
        "version": 1,
        "page": {"offset": 50, "limit": 50, "next": 100, "leftOut": {"rules": 70, "few": 1}},
        "notes": "a note",
    }
    assert [item.text for item in found.content] == [  # type: ignore[union-attr]
        json.dumps(found.structured_content, separators=(",", ":"))
    ]
    last = mcp_server._answered(TOOLS["rule"], {"offset": 100, "limit": 20}, BARE).structured_content
    assert last is not None
    assert last["page"] == {"offset": 100, "limit": 20, "next": None, "leftOut": {"rules": 100, "few": 1}}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TasError("it failed", hint="Mend it."), "error: it failed\n  = help: Mend it."),
        (TasError("it failed"), "error: it failed"),
        (FileNotFoundError(2, "No such file", "x.yaml"), "error: x.yaml: No such file"),
        (OSError("odd"), "error: : odd"),
        (KeyError("x"), "internal error: KeyError: 'x'"),
    ],
)
def test_a_failure_is_told_and_ends_no_server(monkeypatch: pytest.MonkeyPatch, error: Exception, said: str) -> None:
    def ask(*_: Any, **__: Any) -> Said:
        raise error

    monkeypatch.setattr(Call, "ask", ask)
    found = mcp_server._answered(TOOLS["rule"], {}, BARE)
    assert (found.is_error, [item.text for item in found.content]) == (True, [said])  # type: ignore[union-attr]


class TestPage:
    """Answers that are too large."""

    @pytest.mark.parametrize(
        ("length", "items", "limit"), [(50, 500, 500), (250, 500, 125), (2_000, 60, 15), (40_000, 4, 1)]
    )
    def test_fewer_items_come_at_once(self, length: int, items: int, limit: int) -> None:
        found = page_of({"gangs": [{"name": "x" * length}] * items}, 0, 500)
        left = {"next": limit, "leftOut": {"gangs": items - limit}} if limit < items else {"next": None, "leftOut": {}}
        assert found["page"] == {"offset": 0, "limit": limit, **left}
        assert len(found["gangs"]) == limit

    @pytest.mark.parametrize(("length", "cut"), [(290, 200), (310, 50), (1_190, 50), (1_300, 20), (3_100, 5)])
    def test_lists_in_an_item_are_cut(self, length: int, cut: int) -> None:
        item = {"gang": {"pods": ["x" * length] * 210}, "few": [1, 2]}
        found = page_of({"gangs": [item], "version": 1}, 0, 50)
        assert found["page"] == {"offset": 0, "limit": 1, "next": None, "leftOut": {}, "cutTo": cut}
        assert found["version"] == 1
        assert found["gangs"] == [{"gang": {"pods": ["x" * length] * cut}, "few": [1, 2]}]

    @pytest.mark.parametrize(("length", "fits"), [(59_901, True), (60_001, False)])
    def test_one_item_is_too_large(self, length: int, fits: bool) -> None:
        if fits:
            assert page_of({"patch": "x" * length}, 0, 50)["patch"] == "x" * length
            return
        with pytest.raises(TasError) as caught:
            page_of({"patch": "x" * length}, 0, 50)
        assert asking.refusal(caught.value) == (
            "error: one item of the answer alone has more than 60000 characters\n"
            "  = help: Ask about less, or run the command itself with -o json."
        )
