"""``lsp`` as an editor meets it: a client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types

from tests.support.cli import kubectl_tas, write
from tests.support.editor import Editor, editor

POOL = "pools/team.yaml"
SUBPOOL = "subpools/team--research.yaml"
WORKFLOW = "workflows/train.yaml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """What ``init`` writes."""
    assert kubectl_tas("init", "a b", cwd=tmp_path).code == 0
    return tmp_path / "a b"


def run(root: Path, what: Callable[[Editor], Awaitable[None]]) -> None:
    async def session() -> None:
        async with editor(root) as found:
            await what(found)

    asyncio.run(session())


def place(text: str, word: str) -> tuple[int, int]:
    """Line and column of the first letter of a word, in UTF-16."""
    before, there, _ = text.partition(word)
    assert there
    line = before.rpartition("\n")[2]
    return before.count("\n"), len(line.encode("utf-16-le")) // 2


def span(line: int, start: int, end: int) -> types.Range:
    return types.Range(types.Position(line, start), types.Position(line, end))


def test_a_slip_is_found_and_mended(root: Path) -> None:
    text = (root / WORKFLOW).read_text()

    async def session(it: Editor) -> None:
        it.open(WORKFLOW)
        it.type(WORKFLOW, wrong := text.replace("team--research", "team--reserch"))
        await it.until(lambda: it.rules(WORKFLOW))
        line, column = place(wrong, "team--reserch")
        assert it.found(WORKFLOW) == [(line, column, column + len("team--reserch"), "pool-unknown")]
        (finding,) = it.published[it.uri(WORKFLOW)]
        assert finding.source == "kubectl-tas"
        assert finding.message.endswith('Did you mean "team--research"?')
        (action,) = await it.actions(WORKFLOW, line, column + 2)
        assert action.title == 'Replace "team--reserch" by "team--research"'
        assert action.edit is not None
        assert action.edit.changes is not None
        (edit,) = action.edit.changes[it.uri(WORKFLOW)]
        assert (edit.range, edit.new_text) == (finding.range, "team--research")
        assert await it.actions(WORKFLOW, 0, 0) == []
        assert (await it.hover(WORKFLOW, line, column)).startswith("# pool-unknown\n")
        it.type(WORKFLOW, text)
        await it.until(lambda: not it.rules(WORKFLOW))

    run(root, session)
    assert (root / WORKFLOW).read_text() == text


def test_findings_are_those_of_validate(root: Path) -> None:
    (root / POOL).write_text((root / POOL).read_text().replace("guarantee: 64", "guarantee: 8"))
    (root / WORKFLOW).write_text((root / WORKFLOW).read_text().replace("gpu: 4", "gpu: 400"))
    expected = json.loads(kubectl_tas("validate", "-o", "json", cwd=root).out)["diagnostics"]

    async def session(it: Editor) -> None:
        it.open("tas.yaml")
        await it.until(lambda: it.rules(SUBPOOL) or it.rules(POOL))
        found = [(path, *item) for path in (POOL, SUBPOOL, WORKFLOW) for item in it.found(path)]
        assert {(path, line + 1, column + 1, rule) for path, line, column, _, rule in found} == {
            (*item["location"].values(), item["rule"]) for item in expected
        }

    assert expected
    run(root, session)


def test_another_file_has_the_finding_and_loses_it(root: Path) -> None:
    """What is typed in one file is judged with the others, before anything is saved."""
    text = (root / SUBPOOL).read_text()

    async def session(it: Editor) -> None:
        it.open(SUBPOOL)
        it.type(SUBPOOL, text.replace("name: research", "name: science"))
        await it.until(lambda: it.rules(WORKFLOW) == ["pool-unknown"])
        it.close(SUBPOOL)  # what was typed is thrown away
        await it.until(lambda: not it.rules(WORKFLOW))

    run(root, session)


def test_a_name_is_marked_in_every_file_that_uses_it(root: Path) -> None:
    text = (root / WORKFLOW).read_text().replace("team--research", "team--reserch")
    write(root, {WORKFLOW: text, "workflows/two.yaml": text.replace("name: train", "name: two")})

    async def session(it: Editor) -> None:
        it.open("workflows/two.yaml")
        await it.until(lambda: it.rules("workflows/two.yaml"))
        assert it.rules(WORKFLOW) == it.rules("workflows/two.yaml") == ["pool-unknown"]
        line, column = place(text, "team--reserch")
        (action,) = await it.actions("workflows/two.yaml", line, column)
        assert action.edit is not None

    run(root, session)


def test_files_that_change_on_the_disk(root: Path) -> None:
    text = (root / WORKFLOW).read_text()

    async def session(it: Editor) -> None:
        it.open(POOL)
        (root / WORKFLOW).write_text(text.replace("priority: NORMAL", "priority: normal"))
        it.changed_on_disk(WORKFLOW)
        await it.until(lambda: it.rules(WORKFLOW) == ["invalid-value"])
        line, column = place(text, "NORMAL")
        (action,) = await it.actions(WORKFLOW, line, column)  # asked of a file that is not open
        assert "NORMAL" in action.title

    run(root, session)


def test_hovers(root: Path) -> None:
    workflow, subpool = (root / WORKFLOW).read_text(), (root / SUBPOOL).read_text()

    async def session(it: Editor) -> None:
        it.open(WORKFLOW)
        it.open(SUBPOOL)
        of_pool = await it.hover(WORKFLOW, *place(workflow, "team--research"))
        assert of_pool.splitlines() == [
            "```text",
            "Pool:      team--research",
            "State:     ACTIVE",
            "Queue:     osmo-pool-ml-team--research",
            "Quota:     16 GPUs",
            "Declared:  8 GPUs",
            "Left:      8 GPUs",
            "Limit:     no limit",
            "```",
        ]
        assert await it.hover(SUBPOOL, *place(subpool, "research")) == of_pool
        assert "In all" in await it.hover(SUBPOOL, *place(subpool, "team\n"))
        verdict = await it.hover(WORKFLOW, *place(workflow, "train"))
        assert "ADMITTED" in verdict
        assert await it.hover(WORKFLOW, 0, 0) == ""

    run(root, session)


def test_completion(root: Path) -> None:
    """Of what stands in the editor at that moment, even where it cannot be read."""
    text = (root / WORKFLOW).read_text()

    async def session(it: Editor) -> None:
        it.open(WORKFLOW)
        await it.hover(WORKFLOW, 0, 0)
        it.type(WORKFLOW, typed := text.replace("pool: team--research", "pool: te") + "\tx: [")
        line, column = place(typed, "te\n")
        found = await it.offered(WORKFLOW, line, column + 2)
        assert list(found) == ["team", "team--research"]
        assert found["team"].text_edit == types.TextEdit(span(line, column, column + 2), "team")
        assert found["team"].documentation == "Pool. Shared training pool"
        assert [item.kind for item in found.values()] == [types.CompletionItemKind.Value] * 2
        assert [item.sort_text for item in found.values()] == ["0000", "0001"]
        keys = await it.offered(WORKFLOW, *place(typed, "pool:"))
        assert keys["pool"].kind == types.CompletionItemKind.Property
        assert await it.offered("other.txt", 0, 0) == {}

    run(root, session)


def test_definitions(root: Path) -> None:
    workflow, subpool = (root / WORKFLOW).read_text(), (root / SUBPOOL).read_text()
    pool = (root / POOL).read_text()

    async def session(it: Editor) -> None:
        it.open(WORKFLOW)
        assert await it.definition(WORKFLOW, *place(workflow, "team--research")) == [
            (SUBPOOL, *place(subpool, "research"))
        ]
        assert await it.definition(WORKFLOW, *place(workflow, "gpu-clique")) == [
            (POOL, *place(pool, "key: gpu-clique"))
        ]
        it.open(SUBPOOL)
        assert await it.definition(SUBPOOL, *place(subpool, "team\n")) == [(POOL, *place(pool, "team"))]
        assert await it.definition(SUBPOOL, *place(subpool, "Subpool")) == []

    run(root, session)


def test_a_resource_is_found_in_its_own_file(root: Path) -> None:
    text = (
        (root / WORKFLOW).read_text().replace("    - name: shard-0\n", "    - name: shard-0\n      resource: default\n")
    )

    async def session(it: Editor) -> None:
        it.open(WORKFLOW, text)
        line, column = place(text, "resource: default")
        assert await it.definition(WORKFLOW, line, column + 12) == [(WORKFLOW, *place(text, "default:"))]

    run(root, session)


@pytest.mark.parametrize(
    "before", ["", "# \U0001f680 é\r\n", "# a\u2028# b\x85# c\n"], ids=["nothing", "CRLF", "breaks of YAML alone"]
)
def test_positions(root: Path, before: str) -> None:
    """Columns are counted in UTF-16, lines as the protocol has them."""
    head, tail = "apiVersion: tas/v1alpha1", "kind: Subpool\r\nmetadata: {name: a}\r\nspec: {parent: team, quota: 0, "
    text = f'{before if "x: 1" not in before else ""}{head}\r\n{tail}"\U0001f680\U0001f680":\t1, stat: ACTIVE}}\r\n'

    async def session(it: Editor) -> None:
        it.open("subpools/new.yaml", text)
        await it.until(lambda: len(it.rules("subpools/new.yaml")) == 2)
        line, column = place(text.replace("\r\n", "\n"), '"\U0001f680')
        later = place(text.replace("\r\n", "\n"), "stat:")
        assert it.found("subpools/new.yaml") == [
            (line, column, column + 6, "unknown-field"),
            (*later, later[1] + 4, "unknown-field"),
        ]
        (action,) = await it.actions("subpools/new.yaml", *later)
        assert action.title == 'Replace "stat" by "state"'

    run(root, session)


class TestRoots:
    def test_several(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            kubectl_tas("init", name, cwd=tmp_path)
        text = (tmp_path / "one" / WORKFLOW).read_text().replace("team--research", "nobody")

        async def session(it: Editor) -> None:
            it.open(f"one/{WORKFLOW}", text)
            it.open(f"two/{WORKFLOW}")
            await it.until(lambda: it.rules(f"one/{WORKFLOW}") == ["pool-unknown"])
            assert "ADMITTED" in await it.hover(
                f"two/{WORKFLOW}", *place((tmp_path / "two" / WORKFLOW).read_text(), "train")
            )
            assert it.rules(f"two/{WORKFLOW}") == []

        run(tmp_path, session)

    def test_file_outside_of_any(self, tmp_path: Path) -> None:
        async def session(it: Editor) -> None:
            it.open("other.yaml", "kind: Subpool\n")
            assert await it.hover("other.yaml", 0, 7) == ""
            assert await it.definition("other.yaml", 0, 7) == []
            assert await it.actions("other.yaml", 0, 7) == []
            assert (it.published, it.messages) == ({}, [])
            it.open("tas.yaml", "apiVersion: tas/v1alpha1\nkind: Config\nspec: {sources: [gone]}\n")  # not saved yet
            await it.until(lambda: it.rules("tas.yaml") == ["source-missing"])
            it.close("tas.yaml")
            await it.until(lambda: not it.rules("tas.yaml"))

        run(tmp_path, session)

    def test_buffer_that_has_no_file(self, root: Path) -> None:
        async def session(it: Editor) -> None:
            item = types.TextDocumentItem("untitled:Untitled-1", "yaml", 1, "kind: x\n")
            it.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
            it.open(WORKFLOW)
            assert "ADMITTED" in await it.hover(WORKFLOW, *place((root / WORKFLOW).read_text(), "train"))
            assert it.messages == []

        run(root, session)


WITHOUT = """
import sys
sys.modules["pygls"] = None
from kubectl_tas.cli.main import run
sys.exit(run(sys.argv[1:], "kubectl tas"))
"""


def test_without_the_packages() -> None:
    """A clear word, and all else works."""
    lsp = subprocess.run([sys.executable, "-c", WITHOUT, "lsp"], capture_output=True, text=True, check=False)
    assert (lsp.returncode, lsp.stdout) == (3, "")
    assert lsp.stderr == (
        "error: the language server needs the package pygls\n  = help: Install it: pip install 'kubectl-tas[lsp]'\n"
    )
    rules = subprocess.run([sys.executable, "-c", WITHOUT, "rule"], capture_output=True, text=True, check=False)
    assert rules.returncode == 0


def test_what_cannot_be_read_is_said_once_and_the_server_goes_on(root: Path) -> None:
    config = (root / "tas.yaml").read_text()

    async def session(it: Editor) -> None:
        it.open("tas.yaml")
        (root / "pools/link").symlink_to(root / "subpools")
        it.type("tas.yaml", f"{config}  output: pools/link\n")
        await it.until(lambda: it.messages)
        it.type("tas.yaml", config.replace("gitops: none", "gitops: argo"))
        await it.until(lambda: it.rules("tas.yaml"))
        assert len(it.messages) == 1

    run(root, session)
