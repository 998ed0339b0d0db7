"""Tests positions as editors count them, and edits that replace only a word."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lsprotocol import types
from lsprotocol.types import ClientCapabilities, InitializeParams, Position, PublishDiagnosticsParams
from pygls.exceptions import JsonRpcException

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity, TasError
from kubectl_tas.base.words import question
from kubectl_tas.check.references import RULES as OF_NAMES
from kubectl_tas.editor import server
from kubectl_tas.editor.definition import reference_at, renamed, renamed_at
from kubectl_tas.editor.positions import Text, fix
from kubectl_tas.editor.project import Judgement, documents, judged, looked_at, shown, text_of
from kubectl_tas.editor.views import adoptions, symbol
from kubectl_tas.load.document import parse
from tests.support.cli import pool, write
from tests.support.editor import TIMEOUT
from tests.support.fleets import fleet_of

RULE = Rule("x", Severity.ERROR, "", "")
LINES = "ab\r\n\U0001f680c\rä\u2028\n"


@pytest.mark.parametrize(
    ("encoding", "column"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)], ids=["utf-8", "utf-16", "utf-32"]
)
def test_columns(encoding: str, column: int) -> None:
    text = Text(LINES, encoding)
    place = Location("x", 2, 2, length=1)
    assert text.range(place).start == Position(1, column)
    assert text.offset(Position(1, column)) == LINES.index("c")


def test_every_position_leads_back() -> None:
    text = Text(LINES)
    for offset in range(len(LINES)):
        if LINES[offset - 1 : offset + 1] != "\r\n":
            assert text.offset(text.position(offset)) == offset


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_half_a_character_has_a_place(encoding: str) -> None:
    """A client may send one that it is about to replace."""
    text = Text("\ud83dab", encoding)
    assert text.offset(text.position(2)) == 2


def test_places_that_the_text_has_no_more() -> None:
    text = Text("a\n")
    assert text.range(Location("x", 9, 9, length=9)).start == Position(1, 0)
    assert text.offset(Position(9, 9)) == text.offset(Position(2, 0)) == 2
    assert text.offset(Position(0, 9)) == 1
    assert text.range(Location("x")).end == Position(0, 1)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pool: teem", "pool: team"),
        ("pool: 'teem'", "pool: 'team'"),
        ('pool: "teem"', 'pool: "team"'),
        ("pool: '", None),
        ("pool: 'teem", None),
        ("pool: \"teem'", None),
        ("pool: {{ x }}", None),  # what a template says is not what it means
        ("pool: &a teem", None),
        ("pool: team", None),  # it has been mended since
    ],
)
def test_fixes(line: str, expected: str | None) -> None:
    place = Location("x", 1, 7, length=len(line) - 6)
    found = fix(Diagnostic(RULE, "", place, hint=question("teem", "team")), place, Text(line))
    assert expected == (line[: found.start] + found.text + line[found.end :] if found else None)


def test_what_would_be_something_else_is_quoted() -> None:
    place = Location("x", 1, 1, length=3)
    found = fix(Diagnostic(RULE, "", place, hint=question("yse", "yes: 1")), place, Text("yse"))
    assert found is not None
    assert found.text in ("'yes: 1'", '"yes: 1"')


def test_a_hint_that_says_more_is_no_fix() -> None:
    place = Location("x", 1, 1, length=3)
    assert fix(Diagnostic(RULE, "", place, hint="Use a or b."), place, Text("abc")) is None


REFERENCES = """\
workflow: {name: a, pool: POOL, backend: BACKEND,
  groups: [{name: g, tasks: [{name: t, resource: RESOURCE, inputs: [{task: TASK}]}]}]}
resources: {r: {platform: PLATFORM, topology: [{key: LEVEL}]}}
---
apiVersion: tas/v1alpha1
kind: Pool
metadata: {name: NONE}
spec: {parent: POOL, topology: TOPOLOGY, backend: BACKEND, default_platform: PLATFORM, description: NONE}
---
apiVersion: tas/v1alpha1
kind: Subpool
spec: {parent: POOL, description: NONE}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
spec: {queue: QUEUE, topologyConstraint: {topology: TOPOLOGY, requiredTopologyLevel: LEVEL},
  subGroups: [{name: NONE, topologyConstraint: {preferredTopologyLevel: LEVEL}}]}
---
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {labels: {kubectl-tas/pool: POOL}}
spec: {template: {topologyConstraint: {topologyName: TOPOLOGY, packDomain: LEVEL, pack: {required: LEVEL}},
  cliques: [{name: NONE, spec: {startsAfter: [CLIQUE]}}],
  podCliqueScalingGroups: [{name: NONE, cliqueNames: [CLIQUE]}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {labels: {kubectl-tas/pool: POOL, kubectl-tas/gang: NONE}}
spec: {template: {metadata: {labels: {kai.scheduler/queue: QUEUE}, annotations: {
  pod-group-name: PODGROUP, kai.scheduler/topology: TOPOLOGY,
  kai.scheduler/topology-required-placement: LEVEL, kai.scheduler/topology-preferred-placement: LEVEL,
  kai.scheduler/segment-topology-required-placement: LEVEL,
  kai.scheduler/segment-topology-preferred-placement: LEVEL}}}}
"""


WORDS = ("POOL", "BACKEND", "RESOURCE", "TASK", "LEVEL", "TOPOLOGY", "QUEUE", "CLIQUE", "PLATFORM", "PODGROUP", "NONE")


def test_what_names_something() -> None:
    documents, _ = parse("x", REFERENCES)
    seen = 0
    for document in documents:
        for word in WORDS:
            start = -1
            while (start := REFERENCES.find(word, start + 1)) >= 0:
                path = document.path_around(start + 1)
                if path is None or document.value(path) != word:
                    continue
                found = reference_at(document, path)
                assert (found.kind.upper() if found else "NONE") == word, path
                seen += 1
    assert seen == 36


CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\n"
POOLS = {"pools/team.yaml": pool("team"), "pools/other.yaml": pool("other")}
FIRST, SECOND = "workflows/a.yaml", "workflows/b.yaml"


def work(name: str, target: str = "team", *, gpus: int = 1) -> str:
    return (
        f"workflow:\n  name: {name}\n  pool: {target}\n  tasks: [{{name: t, image: i}}]\n"
        f"resources:\n  default: {{gpu: {gpus}}}\n"
    )


def rules(found: Judgement) -> list[tuple[str, int, str]]:
    return [(place.path, place.line, item.rule.code) for item, place in shown(found.findings)]


@pytest.mark.parametrize(
    "after",
    [
        work("a", gpus=2),
        work("a").replace("gpu", "gpus"),
        work("a").replace("pool: team", "pool team"),
        work("a", "teem"),
        work("a", "none"),
        work("a").replace("image: i", "image: ''"),
        f"# kubectl-tas: ignore[unknown-field]\n{work('a')}",
        "# one\n\n# two\n" + work("a"),
        "\tx",
        "",
    ],
    ids=["amount", "key", "syntax", "slip", "name", "value", "waiver", "lines", "tab", "nothing"],
)
@pytest.mark.parametrize(
    "before",
    [
        work("a"),
        work("a", "none"),
        work("a").replace("name: t", "nam: t"),
        work("a").replace("image: i", "image: [i]"),
        f"# a\n{work('a', gpus=4000)}",
    ],
    ids=["right", "name", "key", "value", "quota"],
)
def test_one_file_is_looked_at_as_all_are_judged(before: str, after: str, tmp_path: Path) -> None:
    """What looks at no other file is the same; of what rules of all work said, only its lines are others."""
    write(tmp_path, {**POOLS, "tas.yaml": CONFIG, FIRST: before, SECOND: work("b", "none")})
    known = judged(tmp_path, {FIRST: before.encode()})
    found = looked_at(known, typed := {FIRST: after.encode()})
    assert found is not None
    expected = [item for item in rules(judged(tmp_path, typed)) if item[0] == FIRST and item[2] != "over-quota"]
    assert [item for item in rules(found) if item[0] == FIRST and item[2] != "over-quota"] == expected
    assert (found.typed, found.fleet) == (typed, known.fleet)


@pytest.mark.parametrize("broken", [SECOND, FIRST])
def test_names_are_looked_for_where_all_files_can_be_read(broken: str, tmp_path: Path) -> None:
    """Or where the file that cannot be read is the one that is typed."""
    files = {FIRST: work("a"), SECOND: work("b"), broken: "workflow: {name: x"}
    write(tmp_path, {**POOLS, "tas.yaml": CONFIG, **files})
    typed = {FIRST: work("a", "none").encode()}
    found = looked_at(judged(tmp_path, {}), typed)
    assert found is not None
    expected = [item for item in rules(judged(tmp_path, typed)) if item[0] == FIRST]
    assert [item for item in rules(found) if item[0] == FIRST] == expected
    assert len(expected) == (broken == FIRST)


def test_files_that_are_not_read_are_told_whatever_is_typed(tmp_path: Path) -> None:
    config = f"{CONFIG}spec: {{sources: [pools, workflows]}}\n"
    write(tmp_path, {**POOLS, "tas.yaml": config, FIRST: work("a"), "stray/team.yaml": pool("third")})
    known = judged(tmp_path, {})
    found = looked_at(known, {FIRST: work("a", gpus=2).encode()})
    assert found is not None
    assert rules(known) == rules(found) == [("stray/team.yaml", 1, "file-unread")]


@pytest.mark.parametrize("path", [FIRST, SECOND, "workflows/c.yaml"])
@pytest.mark.parametrize("target", ["none", "team"])
def test_a_name_that_several_files_use_is_shown_in_each(path: str, target: str, tmp_path: Path) -> None:
    """Whichever of them is typed, and whether the name is still there or not."""
    files = {FIRST: work("a", "none"), SECOND: work("b", "none"), "workflows/c.yaml": work("c", "none")}
    write(tmp_path, {**POOLS, "tas.yaml": CONFIG, **files})
    typed = {path: f"# new\n{files[path].replace('pool: none', f'pool: {target}')}".encode()}
    found = looked_at(judged(tmp_path, {}), typed)
    assert found is not None
    expected = judged(tmp_path, typed)
    assert sorted(rules(found)) == sorted(rules(expected))
    assert {place for item in found.findings for place in item.places} == {
        place for item in expected.findings for place in item.places
    }


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda text: text, 3),
        (lambda text: f"# a\n# b\n{text}", 5),
        (lambda text: text.replace("resources:", "#\nresources:"), 3),
        (lambda text: text.replace("  pool", "#\n#\n  pool"), 5),
        (lambda text: text.replace("workflow:\n", "workflow:\n  # a\n").replace("gpu", '"gpu"'), None),
        (lambda text: text.replace("pool: team", "pool:  team"), None),
        (lambda text: text.partition("  pool")[0], None),
    ],
    ids=["nothing", "lines before", "a line behind", "lines right before", "both", "its own line", "cut off"],
)
def test_what_rules_of_all_work_said_moves_with_its_line(
    change: Callable[[str], str], line: int | None, tmp_path: Path
) -> None:
    text = work("a", gpus=4000)
    write(tmp_path, {**POOLS, "tas.yaml": CONFIG, FIRST: text, SECOND: work("b", gpus=5000)})
    known = judged(tmp_path, {})
    found = looked_at(known, {FIRST: change(text).encode()})
    assert found is not None
    quota = [item for item in rules(found) if item[2] == "over-quota"]
    assert quota == [*([] if line is None else [(FIRST, line, "over-quota")]), (SECOND, 3, "over-quota")]


def test_what_was_said_of_the_first_line_moves_too(tmp_path: Path) -> None:
    text = "workflow: {name: a, pool: team, tasks: [{name: t, image: i}]}\nresources: {default: {gpu: 4000}}\n"
    write(tmp_path, {**POOLS, "tas.yaml": CONFIG, FIRST: text, SECOND: work("b")})
    found = looked_at(judged(tmp_path, {}), {FIRST: f"# a\n{text}".encode()})
    assert found is not None
    assert [item for item in rules(found) if item[2] == "over-quota"] == [(FIRST, 2, "over-quota")]


def test_a_pool_is_looked_at_by_itself(tmp_path: Path) -> None:
    path, text = "pools/team.yaml", pool("team")
    write(tmp_path, {**POOLS, "tas.yaml": CONFIG, FIRST: work("a")})
    found = looked_at(judged(tmp_path, {}), {path: text.replace("spec:", "spec:\n  pa: x").encode()})
    assert found is not None
    assert rules(found) == [(path, 6, "unknown-field")]


@pytest.mark.parametrize(
    ("before", "typed"),
    [
        ({}, {FIRST: work("a") + "default-values: {x: 1}\n"}),
        ({}, {"workflows/new.yaml": work("c")}),
        ({}, {"tas.yaml": f"{CONFIG}spec: {{gitops: argo}}\n"}),
        ({FIRST: work("a")}, {}),
        ({SECOND: pool("third")}, {FIRST: work("a", "other")}),
    ],
    ids=["template", "new file", "Config", "closed file", "pools among work"],
)
def test_what_only_all_files_tell(before: dict[str, str], typed: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path, {**POOLS, "tas.yaml": CONFIG, FIRST: work("a"), SECOND: work("b")})
    known = judged(tmp_path, {path: text.encode() for path, text in before.items()})
    now = {**before, **typed} if typed else {}
    assert looked_at(known, {path: text.encode() for path, text in now.items()}) is None


def test_a_file_that_is_gone_has_no_text(tmp_path: Path) -> None:
    assert text_of(tmp_path, "gone.yaml", {}) == ""
    assert text_of(tmp_path, "gone.yaml", {"gone.yaml": b"a: 1"}) == "a: 1"


def test_a_file_that_is_open_and_the_same_is_no_change(tmp_path: Path) -> None:
    write(tmp_path, {**POOLS, "tas.yaml": CONFIG, FIRST: work("a"), SECOND: work("b", "none")})
    known = judged(tmp_path, {"tas.yaml": CONFIG.encode()})
    found = looked_at(known, {"tas.yaml": CONFIG.encode(), FIRST: work("a").encode()})
    assert found is not None
    assert found.findings == known.findings


def test_what_can_be_said_at_once_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file is looked at, and published alone, while all of them are judged; then all are, once more."""
    write(tmp_path, {**POOLS, "tas.yaml": CONFIG, FIRST: work("a"), SECOND: work("b", "none")})
    go, runs = threading.Event(), list[str]()

    def slow(root: Path, typed: dict[str, bytes], before: Judgement | None = None) -> Judgement:
        runs.append(typed[FIRST].decode())
        assert before is None or go.wait(TIMEOUT)
        return judged(root, typed, before)

    monkeypatch.setattr(server, "judged", slow)
    monkeypatch.setattr(server, "REST", 0)
    monkeypatch.setattr(server, "PAUSE", 0)

    async def session() -> None:
        it, news = server.make_server(), asyncio.Queue[tuple[str, int | None, list[str]]]()
        list(it.protocol.lsp_initialize(InitializeParams(ClientCapabilities(), root_uri=tmp_path.as_uri())))

        def publish(params: PublishDiagnosticsParams) -> None:
            news.put_nowait((Path(params.uri).name, params.version, [str(item.code) for item in params.diagnostics]))

        monkeypatch.setattr(it, "text_document_publish_diagnostics", publish)
        uri = (tmp_path / FIRST).as_uri()

        async def told() -> tuple[str, int | None, list[str]]:
            return await asyncio.wait_for(news.get(), TIMEOUT)

        def typed(version: int, text: str) -> types.DidOpenTextDocumentParams:
            return types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "yaml", version, text))

        await it.opened(typed(1, work("a")))
        assert it._projects[tmp_path].due <= asyncio.get_running_loop().time()  # it does not wait for more
        assert await told() == ("b.yaml", None, ["pool-unknown"])
        await it.opened(typed(2, work("a", "teem")))
        assert await told() == ("a.yaml", 2, ["pool-unknown"])
        await it.opened(typed(3, work("a")))
        assert await told() == ("a.yaml", 3, [])
        known = await it.known(uri)
        assert known is not None
        assert known[0].typed == {FIRST: work("a").encode()}
        await it.opened(typed(4, work("a").replace("gpu", "gpus")))
        assert await told() == ("a.yaml", 4, ["unknown-field"])
        go.set()
        assert await told() == ("a.yaml", 4, ["unknown-field"])
        assert await told() == ("b.yaml", None, [])  # names are not looked for where a file cannot be read
        assert len(runs) == 3

    asyncio.run(session())


def started(root: Path, **able: Any) -> server.Server:
    """A server for an editor of one folder."""
    it = server.make_server()
    list(it.protocol.lsp_initialize(InitializeParams(ClientCapabilities(**able), root_uri=root.as_uri())))
    return it


def test_what_an_editor_may_ask_for(tmp_path: Path) -> None:
    renames = types.TextDocumentClientCapabilities(rename=types.RenameClientCapabilities(prepare_support=True))
    able = started(tmp_path, text_document=renames).protocol.server_capabilities
    assert isinstance(able.text_document_sync, types.TextDocumentSyncOptions)
    assert able.text_document_sync.change == types.TextDocumentSyncKind.Full
    assert able.completion_provider is not None
    assert able.completion_provider.trigger_characters == [" ", "/"]
    assert isinstance(able.code_action_provider, types.CodeActionOptions)
    assert able.code_action_provider.code_action_kinds == [types.CodeActionKind.QuickFix]
    assert isinstance(able.rename_provider, types.RenameOptions)
    assert able.rename_provider.prepare_provider is True
    assert able.execute_command_provider is not None
    assert able.execute_command_provider.commands == ["tas.showTree", "tas.showFit"]
    for provider in ("hover", "definition", "document_symbol", "inlay_hint", "code_lens", "document_link"):
        assert getattr(able, f"{provider}_provider"), provider


@pytest.mark.parametrize(
    ("severity", "shown_as"),
    [
        (Severity.ERROR, types.DiagnosticSeverity.Error),
        (Severity.WARNING, types.DiagnosticSeverity.Warning),
        (Severity.INFO, types.DiagnosticSeverity.Information),
    ],
)
def test_a_finding_as_an_editor_shows_it(
    severity: Severity, shown_as: types.DiagnosticSeverity, tmp_path: Path
) -> None:
    """With its hint and what has no place in the message, other places as links, and nothing that hides text."""
    write(tmp_path, {**POOLS, "tas.yaml": CONFIG, FIRST: work("a")})
    it = started(tmp_path)
    texts = it.texts(judged(tmp_path, {}))
    here, there = Location(FIRST, 3, 9, length=4), Location("pools/team.yaml", 4, 9, length=4)
    related = (Related("also here", here), Related("also \u202ethere", there), Related("and nowhere", None))
    found = Diagnostic(Rule("code", severity, "", ""), "said \u202e", here, related, "Do this.")
    expected = types.Diagnostic(
        types.Range(Position(2, 8), Position(2, 12)),
        "said \\u202e\nand nowhere\nDo this.",
        shown_as,
        "code",
        source="kubectl-tas",
        related_information=[
            types.DiagnosticRelatedInformation(
                types.Location((tmp_path / "pools/team.yaml").as_uri(), types.Range(Position(3, 8), Position(3, 12))),
                "also \\u202ethere",
            )
        ],
    )
    assert server._published(found, here, texts) == expected
    elsewhere = server._published(found, there, texts).related_information or []
    assert [item.message for item in elsewhere] == ["the first of its places", "also here"]
    plain = server._published(Diagnostic(found.rule, "said", None), Location("tas.yaml"), texts)
    assert (plain.message, plain.related_information) == ("said", [])


def test_a_file_that_is_saved_or_closed_without_being_open_is_none_of_ours(tmp_path: Path) -> None:
    async def session() -> None:
        it = server.make_server()
        for uri in (tmp_path.joinpath("a.yaml").as_uri(), "untitled:1"):
            document = types.TextDocumentIdentifier(uri)
            await it.saved(types.DidSaveTextDocumentParams(document))
            await it.closed(types.DidCloseTextDocumentParams(document))
            assert it.typed_text(uri) is None
            assert await it.known(uri) is None

    asyncio.run(session())


def test_the_editor_is_asked_to_watch_all_files_that_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[list[object]] = []

    async def register(params: types.RegistrationParams) -> None:
        for item in params.registrations:
            options = item.register_options
            assert isinstance(options, types.DidChangeWatchedFilesRegistrationOptions)
            asked.append([item.method, *(watcher.glob_pattern for watcher in options.watchers)])

    async def session(able: bool | None) -> None:
        it = server.make_server()
        watching = types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=able)
        workspace = types.WorkspaceClientCapabilities(did_change_watched_files=watching)
        capabilities = ClientCapabilities(workspace=None if able is None else workspace)
        list(it.protocol.lsp_initialize(InitializeParams(capabilities, root_uri=tmp_path.as_uri())))
        monkeypatch.setattr(it, "client_register_capability_async", register)
        await server._initialized(it, types.InitializedParams())

    for able in (None, False, True):
        asyncio.run(session(able))
    assert asked == [["workspace/didChangeWatchedFiles", "**/*.{yaml,yml,json}"]]


@pytest.mark.parametrize(
    ("error", "said", "shown_"),
    [
        (ValueError("a [b](c)"), "internal error: ValueError: a [b](c)", None),
        (TasError("no such file", hint="Make it."), "no such file. Make it.", "no such file. Make it."),
        (TasError("no such file"), "no such file", "no such file"),
    ],
)
@pytest.mark.parametrize("debug", ["", "1"])
def test_a_failure_is_logged_each_time_and_shown_once(
    error: Exception, said: str, shown_: str | None, debug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a traceback where it is asked for and tells something."""
    monkeypatch.setenv("KUBECTL_TAS_DEBUG", debug)
    logged, shown = list[types.LogMessageParams](), list[types.ShowMessageParams]()
    it = server.make_server()
    monkeypatch.setattr(it, "window_log_message", logged.append)
    monkeypatch.setattr(it, "window_show_message", shown.append)
    for _ in range(2):
        it.report_server_error(error, None)
    it.report_server_error(JsonRpcException("refused"), None)
    has_trace = bool(debug) and shown_ is None
    assert logged[-1].message == said
    assert len(logged) == (4 if has_trace else 2)
    assert {item.type for item in (*logged, *shown)} == {types.MessageType.Error}
    assert len(shown) == 1
    assert shown[0].message.startswith("kubectl-tas: ")
    assert "](" not in shown[0].message
    if shown_ is not None:
        assert shown[0].message == f"kubectl-tas: {shown_}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1", ("document", "", [])),
        ("- a", ("document", "", [])),
        ("kind: Job\nmetadata: {name: [a]}", ("Job", "Job", [])),
        (
            "kind: Pool\nmetadata: {name: a}\nspec: {platforms: {p: {}}, resources: {gpu: 1}}",
            ("a", "Pool", ["p platforms"]),
        ),
        ("kind: ClusterTopology\nspec: {levels: [{domain: d}, {x: 1}]}", ("ClusterTopology",) * 2 + (["d levels"],)),
        (
            "workflow: {name: w, resources: {r: {}}}\nresources: {s: {}}",
            ("w", "Workflow", ["r resources", "s resources"]),
        ),
    ],
)
def test_symbols(text: str, expected: tuple[str, str, list[str]]) -> None:
    (document,), _ = parse("x", text)
    found = symbol(document)
    assert (found.name, found.about, [f"{item.name} {item.about}" for item in found.children]) == expected


def test_a_level_of_a_cluster_topology_is_renamed(tmp_path: Path) -> None:
    """By its domain, also where PodCliqueSets name it; the node label, and another topology's level, stay."""
    topology = "apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: NAME}\nspec:\n  levels:\n"
    topology += "  - {domain: rack, key: example.com/rack}\n"
    sets = (
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: s, labels: {kubectl-tas/pool: team}}\n"
        "spec: {replicas: 1, template: {topologyConstraint: {topologyName: NAME, packDomain: rack},\n"
        "  cliques: [{name: c, spec: {roleName: c, replicas: 1, minAvailable: 1,\n"
        "  podSpec: {containers: [{name: a, image: i}]}}}]}}\n"
    )
    files = {
        "tas.yaml": CONFIG,
        "pools/team.yaml": pool(),
        "topologies/a.yaml": topology.replace("NAME", "one"),
        "topologies/b.yaml": topology.replace("NAME", "two"),
        "workflows/a.yaml": sets.replace("NAME", "one"),
        "workflows/b.yaml": sets.replace("NAME", "two").replace("name: s", "name: t"),
    }
    known = judged(write(tmp_path, files), {})
    (document,), _ = parse("topologies/a.yaml", files["topologies/a.yaml"])
    item = renamed_at(document, ("spec", "levels", 0, "domain"), 0, known.fleet)
    assert item is not None
    assert item.old == "rack"
    assert renamed_at(document, ("spec", "levels", 0, "key"), 0, known.fleet) is None
    assert renamed(known, item, "row") == {
        path: (files[path], files[path].replace("rack,", "row,").replace("packDomain: rack", "packDomain: row"))
        for path in ("topologies/a.yaml", "workflows/a.yaml")
    }


def test_a_level_is_renamed_in_work_and_nothing_else_of_that_name(tmp_path: Path) -> None:
    """Groups, environment and images may be called so too, and the work of another topology keeps its level."""
    topology = "apiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: NAME}\nspec:\n  levels:\n"
    topology += "  - {domain: rack, key: example.com/rack}\n"
    work = (
        "workflow:\n  name: NAME\n  pool: NAME\n  tasks: [{name: rack, image: rack, environment: {key: rack}}]\n"
        "resources:\n  default:\n    gpu: 1\n    topology:\n    - {key: rack, group: rack}\n"
    )
    job = (
        "apiVersion: batch/v1\nkind: Job\n"
        "metadata:\n  name: rack\n  labels: {kubectl-tas/pool: NAME}\n"
        "  annotations: {kai.scheduler/topology: NAME, kai.scheduler/topology-required-placement: rack}\n"
        "spec: {template: {spec: {restartPolicy: Never, containers: [{name: rack, image: rack}]}}}\n"
    )
    texts = {
        "topologies": topology,
        "workflows": work,
        "workflows/jobs": job,
        "pools": pool("NAME", spec="  topology: NAME\n"),
    }
    files = {
        f"{folder}/{name}.yaml": text.replace("NAME", name) for folder, text in texts.items() for name in ("one", "two")
    }
    files["workflows/jobs/two.yaml"] = files["workflows/jobs/two.yaml"].replace("  name: rack", "  name: second")
    known = judged(write(tmp_path, {"tas.yaml": CONFIG, **files}), {})
    (document,), _ = parse("topologies/one.yaml", files["topologies/one.yaml"])
    item = renamed_at(document, ("spec", "levels", 0, "domain"), 0, known.fleet)
    assert item is not None
    changes = {
        "topologies/one.yaml": ("domain: rack", "domain: row"),
        "workflows/one.yaml": ("- {key: rack", "- {key: row"),
        "workflows/jobs/one.yaml": ("-required-placement: rack", "-required-placement: row"),
    }
    assert renamed(known, item, "row") == {
        path: (files[path], files[path].replace(*change)) for path, change in changes.items()
    }


@pytest.mark.parametrize(
    ("before", "after", "edits"),
    [
        ("a\nb\nc\n", "a\nx\nc\n", [(1, 2, "x\n")]),
        ("a\nb", "xy\nb", [(0, 1, "xy\n")]),
        ("a\nb", "a\nxy", [(1, 1, "xy")]),
        ("a\n", "a\nb\n", [(0, 1, "a\nb\n")]),
        ("a", "a", []),
    ],
)
def test_edits_from_one_text_to_another(before: str, after: str, edits: list[tuple[int, int, str]]) -> None:
    found = Text(before).edits(after)
    assert [(item.range.start.line, item.range.end.line, item.new_text) for item in found] == edits


def test_a_finding_of_a_whole_file_is_mended_nowhere() -> None:
    place = Location("x", 0, 0)
    assert fix(Diagnostic(RULE, "", place, hint=question("teem", "team")), place, Text("teem")) is None


@pytest.mark.parametrize(
    ("text", "count"),
    [("a: 1\n---\nb: 2\n", 2), ("workflow: {name: '{{ x }}'}\ndefault-values: {x: 1}\n", 0), ("a: [", 0)],
)
def test_of_a_template_no_documents_are_known(text: str, count: int) -> None:
    assert len(documents("x.yaml", text)) == count


def test_a_finding_without_a_place_is_shown_in_the_config() -> None:
    there, other = Location("a.yaml", 1, 1), Location("b.yaml", 2, 1)
    of_name = next(iter(OF_NAMES))
    items = [
        Diagnostic(RULE, "nowhere", None),
        Diagnostic(of_name, "a", there, (Related("", other), Related("", None))),
        Diagnostic(RULE, "b", there, (Related("", other),)),
    ]
    assert [place for _, place in shown(items)] == [Location("tas.yaml"), there, other, there]


def test_work_of_another_scheduler_is_adopted_by_a_quick_fix() -> None:
    """One way if the file says its pool, else one for each pool; none without a finding that calls for it."""
    judgement: Any = SimpleNamespace(fleet=fleet_of({"pools/team.yaml": pool()}))
    queue = "  labels: {kueue.x-k8s.io/queue-name: team}\n"
    pods = "spec:\n  template:\n    spec: {restartPolicy: Never, containers: [{name: a, image: a}]}\n"
    plain = f"apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\n{pods}"
    text = plain.replace("  name: a\n", f"  name: a\n{queue}", 1)
    adopted = text.replace("kueue.x-k8s.io/queue-name", "kubectl-tas/pool")
    known = [*adoptions(judgement, "workflows/a.yaml", text, ["workload-pool"])]
    assert known == [("Adopt the work of this file", adopted)]
    ((title, _),) = adoptions(judgement, "workflows/a.yaml", plain, ["workload-pool"])
    assert title == "Adopt the work of this file for team"
    assert [*adoptions(judgement, "workflows/a.yaml", text, ["over-quota"])] == []
