"""Tests ``lsp`` with an editor's client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.support.cli import kubectl_tas, write
from tests.support.editor import Editor, editor
from tests.support.golden import EXAMPLES

POOL = "pools/team.yaml"
SUBPOOL = "subpools/team--research.yaml"
WORKFLOW = "workflows/train.yaml"
LARGE = {
    "topologies/gb200.yaml": 1,
    "workflows/foundation/dense.yaml": 1,
    "workflows/foundation/evals.yaml": 1,
    "workflows/foundation/posttrain.yaml": 3,
    "workflows/foundation/pretrain.yaml": 1,
}
SERVED = {
    "topologies/serving-fabric.yaml": 1,
    "workflows/assistant/chat.yaml": 1,
    "workflows/assistant/next.yaml": 1,
    "workflows/search/ranking.yaml": 1,
}
"""How often files of the example name the level "rack" of each of its two topologies."""


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


def test_a_hover_says_what_a_name_is_and_what_is_wrong_there(root: Path) -> None:
    text = (root / WORKFLOW).read_text().replace("gpu: 4", "gpu: 400")

    async def session(it: Editor) -> None:
        it.open(WORKFLOW, text)
        known, wrong = (await it.hover(WORKFLOW, *place(text, "team--research"))).split("\n\n---\n\n")
        assert known.startswith("```text\nPool:")
        assert wrong.startswith("# over-quota\n")

    run(root, session)


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
        assert (action.kind, action.is_preferred) == (types.CodeActionKind.QuickFix, True)
        assert [item.message for item in action.diagnostics or ()] == [finding.message]
        end = column + len("team--reserch")
        near = [(line, column - 1), (line, column), (line, end), (line + 1, 0)]
        assert [len(await it.actions(WORKFLOW, *where)) for where in near] == [0, 1, 1, 0]
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
        shown = [it.published[it.uri(path)][0].related_information for path in (WORKFLOW, "workflows/two.yaml")]
        told = [[(item.location.uri, item.message) for item in found or ()] for found in shown]
        assert [uri for uri, _ in told[0]] == [it.uri("workflows/two.yaml")]
        assert told[1] == [(it.uri(WORKFLOW), "the first of its places")]
        line, column = place(text, "team--reserch")
        (action,) = await it.actions("workflows/two.yaml", line, column)
        assert action.edit is not None

    run(root, session)


def test_a_finding_in_a_template_shows_the_line_as_it_is_expanded(root: Path) -> None:
    text = (root / WORKFLOW).read_text().replace("gpu: 4", "gpu: {{ many }}") + "default-values: {many: 'a: b'}\n"

    async def session(it: Editor) -> None:
        it.open(WORKFLOW, text)
        await it.until(lambda: it.rules(WORKFLOW))
        (finding,) = it.published[it.uri(WORKFLOW)]
        assert "expanded, the line is: " in finding.message
        assert "gpu: a: b" in finding.message

    run(root, session)


def test_files_that_change_on_the_disk(root: Path) -> None:
    text = (root / WORKFLOW).read_text()

    async def session(it: Editor) -> None:
        write(root, {"workflows/other.yaml": text.replace("name: train", "name: other").replace("team--", "teem--")})
        it.open(POOL)
        await it.until(lambda: it.rules("workflows/other.yaml"))  # all files are judged
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
        above = (await it.hover(SUBPOOL, *place(subpool, "team\n"))).splitlines()
        assert "In all:    64 GPUs, subpools and child pools included" in above
        verdict = await it.hover(WORKFLOW, *place(workflow, "train"))
        admitted = kubectl_tas("admit", root / WORKFLOW, cwd=root).out
        assert verdict == f"```text\n{admitted}```"
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
        "error: the language server needs the package pygls\n  = help: Install it: pip install 'pygls>=2,<3'\n"
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


class TestRename:
    """What is typed and not saved is renamed too, in every file, and nothing else changes."""

    OTHER = "workflows/other.yaml"

    def edited(self, it: Editor, edit: types.WorkspaceEdit) -> dict[str, str]:
        """The lines that an edit changes, by file, as they are then."""
        found = {}
        for uri, edits in (edit.changes or {}).items():
            found[uri.removeprefix(f"{it.root.as_uri()}/")] = "".join(item.new_text for item in edits)
            assert all(isinstance(item, types.TextEdit) for item in edits)
            assert all((item.range.start.character, item.range.end.character) == (0, 0) for item in edits)
        return found

    @pytest.mark.parametrize(
        ("path", "word", "behind", "old", "expected"),
        [
            (WORKFLOW, "team--research", 2, "team", "pool"),
            (WORKFLOW, "team--research", 8, "research", "subpool"),
            (SUBPOOL, "research", 0, "research", "subpool"),
            (SUBPOOL, "parent: team", 9, "team", "pool"),
            (POOL, "name: team", 7, "team", "pool"),
            (WORKFLOW, "key: gpu-clique", 6, "gpu-clique", "level"),
            (POOL, "key: gpu-clique", 6, "gpu-clique", "level"),
        ],
    )
    def test_in_every_file(self, root: Path, path: str, word: str, behind: int, old: str, expected: str) -> None:
        text = (root / WORKFLOW).read_text()
        other = text.replace("name: train", "name: other").replace("pool: team--research", 'pool: "team--research"')
        changed = {
            "pool": {
                POOL: "  name: fresh\n",
                SUBPOOL: "  parent: fresh\n",
                WORKFLOW: "  pool: fresh--research\n",
                self.OTHER: '  pool: "fresh--research"\n',
            },
            "subpool": {
                SUBPOOL: "  name: fresh\n",
                WORKFLOW: "  pool: team--fresh\n",
                self.OTHER: '  pool: "team--fresh"\n',
            },
            "level": dict.fromkeys((POOL, WORKFLOW, self.OTHER), "fresh"),
        }[expected]

        async def session(it: Editor) -> None:
            it.open(path)
            it.open(self.OTHER, other)
            line, column = place((root / path).read_text(), word)
            where = types.Position(line, column + behind)
            found = await it.ask(types.TEXT_DOCUMENT_PREPARE_RENAME, path, position=where)
            start = place((root / path).read_text().split("\n")[line], word)[1] + word.index(old)
            assert found == span(line, start, start + len(old))
            edit = await it.ask(types.TEXT_DOCUMENT_RENAME, path, position=where, new_name="fresh")
            lines = self.edited(it, edit)
            if expected == "level":
                assert lines.keys() == changed.keys()
                assert all("key: fresh" in text and "gpu-clique," not in text for text in lines.values())
            else:
                assert {path: text.partition("#")[0].rstrip() + "\n" for path, text in lines.items()} == changed

        run(root, session)

    @pytest.mark.parametrize(
        ("path", "word", "changed"),
        [
            ("topologies/gb200.yaml", "domain: rack", LARGE),
            ("workflows/foundation/evals.yaml", "topology-required-placement: rack", LARGE),
            ("topologies/serving-fabric.yaml", "domain: rack", SERVED),
            ("workflows/assistant/next.yaml", "topology-required-placement: rack", SERVED),
            ("workflows/assistant/chat.yaml", "required: rack", SERVED),
        ],
    )
    def test_a_level_of_one_topology_where_another_has_one_of_that_name(
        self, tmp_path: Path, path: str, word: str, changed: dict[str, int]
    ) -> None:
        shutil.copytree(EXAMPLES / "company", tmp_path / "company")

        async def session(it: Editor) -> None:
            it.open(path)
            line, column = place((it.root / path).read_text(), word)
            where = types.Position(line, column + len(word) - 2)
            edit = await it.ask(types.TEXT_DOCUMENT_RENAME, path, position=where, new_name="row")
            lines = self.edited(it, edit)
            assert {name: text.count("row") for name, text in lines.items()} == changed

        run(tmp_path / "company", session)

    @pytest.mark.parametrize(
        ("word", "behind"), [("train", 0), ("NORMAL", 0), ("name", 0), ("default", 0)], ids=["own", "value", "key", "x"]
    )
    def test_what_has_no_other_name(self, root: Path, word: str, behind: int) -> None:
        async def session(it: Editor) -> None:
            it.open(WORKFLOW)
            line, column = place((root / WORKFLOW).read_text(), word)
            where = types.Position(line, column + behind)
            assert await it.ask(types.TEXT_DOCUMENT_PREPARE_RENAME, WORKFLOW, position=where) is None
            assert await it.ask(types.TEXT_DOCUMENT_RENAME, WORKFLOW, position=where, new_name="x") is None

        run(root, session)

    @pytest.mark.parametrize(
        ("word", "new", "said"),
        [
            ("team", "Bad Name", "team.yaml"),
            ("team", "other", "there is a pool other already"),
            ("research", "speech", "has a subpool speech already"),
            ("research", "a b", "would be wrong"),
            ("gpu-clique", "zone", "would be wrong"),
        ],
    )
    def test_refused(self, root: Path, word: str, new: str, said: str) -> None:
        files = {POOL: (root / POOL).read_text(), SUBPOOL: (root / SUBPOOL).read_text()}
        write(
            root,
            {
                "pools/other.yaml": files[POOL].replace("name: team", "name: other"),
                "subpools/s.yaml": files[SUBPOOL].replace("name: research", "name: speech"),
            },
        )
        text = (root / WORKFLOW).read_text()

        async def session(it: Editor) -> None:
            it.open(WORKFLOW)
            line, column = place(text, word)
            with pytest.raises(JsonRpcException, match=said):
                await it.ask(types.TEXT_DOCUMENT_RENAME, WORKFLOW, position=types.Position(line, column), new_name=new)
            assert it.messages == []

        run(root, session)

    def test_not_where_a_file_cannot_be_read(self, root: Path) -> None:
        write(root, {"workflows/broken.yaml": "workflow: {pool: team\n"})

        async def session(it: Editor) -> None:
            it.open(POOL)
            where = types.Position(*place((root / POOL).read_text(), "team"))
            with pytest.raises(
                JsonRpcException,
                match=r"a file cannot be read\. Correct the unreadable file first: it may contain the name too",
            ):
                await it.ask(types.TEXT_DOCUMENT_RENAME, POOL, position=where, new_name="fresh")

        run(root, session)


def test_symbols(root: Path) -> None:
    text = "# é\n" + (root / WORKFLOW).read_text()

    def names(found: list[types.DocumentSymbol]) -> list[Any]:
        return [(item.name, item.detail, names(list(item.children or ()))) for item in found]

    async def session(it: Editor) -> None:
        it.open(WORKFLOW, text)
        found = await it.ask(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, WORKFLOW)
        (top,) = names(found)
        assert top[:2] == ("train", "Workflow")
        assert [name for name, about, _ in top[2] if about == "resources"] == ["default"]
        groups = [item for item in found[0].children if item.detail == "groups"]
        assert {task.detail for task in groups[0].children} == {"tasks"}
        assert [item.kind for item in (found[0], groups[0])] == [types.SymbolKind.Object, types.SymbolKind.Field]
        assert found[0].range.start == types.Position(*place(text, "workflow:"))
        assert found[0].range.end.line == len(text.splitlines()) - 1
        for item in (found[0], *found[0].children, *groups[0].children):
            start, end = item.selection_range.start, item.selection_range.end
            assert text.splitlines()[start.line][start.character : end.character] == item.name
            assert item.range.start <= start <= end <= item.range.end
        it.open(POOL)
        (pool,) = names(await it.ask(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, POOL))
        assert pool == ("team", "Pool", [("zone", "topology_keys", []), ("gpu-clique", "topology_keys", [])])

    run(root, session)


def test_hints_lenses_and_what_these_show(root: Path) -> None:
    text = (root / WORKFLOW).read_text()
    line, column = place(text, "train\n")

    async def session(it: Editor) -> None:
        it.open(WORKFLOW, f"# new\n{text}")
        everything = types.Range(types.Position(0, 0), types.Position(99, 0))
        (hint,) = await it.ask(types.TEXT_DOCUMENT_INLAY_HINT, WORKFLOW, range=everything)
        assert (hint.position, hint.padding_left) == (types.Position(line + 1, column + len("train")), True)
        assert hint.label == "8 GPUs, osmo-pool-ml-team--research, ADMITTED"
        assert await it.ask(types.TEXT_DOCUMENT_INLAY_HINT, WORKFLOW, range=span(0, 0, 3)) == ()
        lenses = await it.ask(types.TEXT_DOCUMENT_CODE_LENS, WORKFLOW)
        assert [item.command.title for item in lenses] == ["Show its tree", "Does it fit?"]
        assert [item.range.start for item in lenses] == [hint.position] * 2
        tree, fit = (item.command for item in lenses)
        assert (tree.command, fit.command) == ("tas.showTree", "tas.showFit")
        assert list(tree.arguments) == [it.uri(WORKFLOW), "Workflow/train"]
        expected = kubectl_tas("workflow", "explain", "Workflow/train", cwd=root).out
        assert await it.run(tree.command, *tree.arguments) == expected
        assert (await it.run(tree.command, *tree.arguments, "svg")).startswith("<svg")
        assert await it.run(tree.command, *tree.arguments, "../x") is None
        assert it.opened_by_server == []
        assert "error" in await it.run(fit.command, *fit.arguments)
        assert it.messages == []
        assert await it.run(tree.command, it.uri(POOL), "Workflow/none") is None
        assert it.messages == ["kubectl-tas: nothing is drawn of Workflow/none. Correct the errors of the file."]
        it.open(SUBPOOL)
        assert await it.ask(types.TEXT_DOCUMENT_CODE_LENS, SUBPOOL) == ()

    run(root, session)


def test_an_answer_is_opened_where_the_client_has_no_place_for_it(root: Path) -> None:
    window = types.WindowClientCapabilities(show_document=types.ShowDocumentClientCapabilities(support=True))

    async def session() -> None:
        async with editor(root, types.ClientCapabilities(window=window)) as it:
            it.open(WORKFLOW)
            text = await it.run("tas.showTree", it.uri(WORKFLOW), "Workflow/train")
            await it.until(lambda: it.opened_by_server)
            assert it.opened_by_server == [("answer.txt", text)]
        async with editor(root, types.ClientCapabilities(window=window), {"showsAnswers": True}) as it:
            it.open(WORKFLOW)
            assert await it.run("tas.showTree", it.uri(WORKFLOW), "Workflow/train", "mermaid")
            assert it.opened_by_server == []

    asyncio.run(session())


def test_links(root: Path) -> None:
    text = (
        (root / WORKFLOW)
        .read_text()
        .replace(
            "      image:",
            "      files: [{path: /a, localpath: ../run.sh}, {path: /b, localpath: ../../x}]\n      image:",
            1,
        )
    )

    async def session(it: Editor) -> None:
        it.open(WORKFLOW, text)
        (link,) = await it.ask(types.TEXT_DOCUMENT_DOCUMENT_LINK, WORKFLOW)
        line, column = place(text, "../run.sh")
        assert (link.range, link.target) == (span(line, column, column + 9), it.uri("run.sh"))

    run(root, session)
