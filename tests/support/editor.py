"""Acts as an editor: a client of the language server, which runs as a separate program."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.lsp.client import LanguageClient

from tests.support.golden import ROOT
from tests.support.warm import tool

TIMEOUT = 300
"""Seconds after which a missing answer fails a test."""


class Editor:
    """Opens and changes files, and records what the server publishes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.client = LanguageClient("test", "1")
        self.published: dict[str, list[types.Diagnostic]] = {}
        self.messages: list[str] = []
        self.opened_by_server: list[tuple[str, str]] = []
        """Files that the server asked to open, each with its text."""
        self.versions: dict[str, int] = {}
        self._news = asyncio.Condition()

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        async def publish(params: types.PublishDiagnosticsParams) -> None:
            async with self._news:
                self.published[params.uri] = list(params.diagnostics)
                self._news.notify_all()

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        async def message(params: types.ShowMessageParams) -> None:
            async with self._news:
                self.messages.append(params.message)
                self._news.notify_all()

        @self.client.feature(types.WINDOW_SHOW_DOCUMENT)
        async def show(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
            async with self._news:
                file = Path(str(uris.to_fs_path(params.uri)))
                self.opened_by_server.append((file.name, file.read_text()))
                self._news.notify_all()
            return types.ShowDocumentResult(success=True)

        @self.client.feature(types.WINDOW_LOG_MESSAGE)
        def log(_params: types.LogMessageParams) -> None:
            pass

    async def until(self, holds: Callable[[], Any]) -> None:
        """Waits until a condition on the received messages is true."""
        async with self._news:
            try:
                await asyncio.wait_for(self._news.wait_for(lambda: bool(holds())), TIMEOUT)
            except TimeoutError:
                raise AssertionError(f"never told: {self.published} {self.messages}") from None

    def uri(self, path: str) -> str:
        return (self.root / path).as_uri()

    def found(self, path: str) -> list[tuple[int, int, int, str]]:
        """Returns line, columns and rule of each published finding of a file, as the protocol counts."""
        published = self.published.get(self.uri(path), [])
        return [
            (item.range.start.line, item.range.start.character, item.range.end.character, str(item.code))
            for item in published
        ]

    def rules(self, path: str) -> list[str]:
        return [rule for *_, rule in self.found(path)]

    def open(self, path: str, text: str | None = None) -> None:
        content = (self.root / path).read_bytes().decode() if text is None else text
        self.versions[path] = 1
        item = types.TextDocumentItem(self.uri(path), "yaml", 1, content)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def type(self, path: str, text: str) -> None:
        self.versions[path] += 1
        document = types.VersionedTextDocumentIdentifier(self.versions[path], self.uri(path))
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def close(self, path: str) -> None:
        document = types.TextDocumentIdentifier(self.uri(path))
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    def changed_on_disk(self, path: str) -> None:
        event = types.FileEvent(self.uri(path), types.FileChangeType.Changed)
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

    async def hover(self, path: str, line: int, column: int) -> str:
        """Returns the text of a hover; '' if there is none."""
        where = types.Position(line, column)
        params = types.HoverParams(types.TextDocumentIdentifier(self.uri(path)), where)
        found = await asyncio.wait_for(self.client.text_document_hover_async(params), TIMEOUT)
        return found.contents.value if found and isinstance(found.contents, types.MarkupContent) else ""

    async def definition(self, path: str, line: int, column: int) -> list[tuple[str, int, int]]:
        """Returns file, line and column of each definition."""
        where = types.Position(line, column)
        params = types.DefinitionParams(types.TextDocumentIdentifier(self.uri(path)), where)
        found = await asyncio.wait_for(self.client.text_document_definition_async(params), TIMEOUT)
        places = [item for item in found or [] if isinstance(item, types.Location)]
        return [
            (item.uri.removeprefix(f"{self.root.as_uri()}/"), item.range.start.line, item.range.start.character)
            for item in places
        ]

    async def ask(self, method: str, path: str, **params: Any) -> Any:
        """Returns the answer to a request about a file, in the types of the protocol."""
        document = types.TextDocumentIdentifier(self.uri(path))
        asked = types.METHOD_TO_TYPES[method][2](text_document=document, **params)  # type: ignore[misc]
        return await asyncio.wait_for(self.client.protocol.send_request_async(method, asked), TIMEOUT)

    async def run(self, command: str, *arguments: str) -> Any:
        """Runs a command of the server and returns its answer."""
        params = types.ExecuteCommandParams(command, list(arguments))
        return await asyncio.wait_for(self.client.workspace_execute_command_async(params), TIMEOUT)

    async def offered(self, path: str, line: int, column: int) -> dict[str, types.CompletionItem]:
        """Returns the completions at a place, by label."""
        where = types.Position(line, column)
        params = types.CompletionParams(types.TextDocumentIdentifier(self.uri(path)), where)
        found = await asyncio.wait_for(self.client.text_document_completion_async(params), TIMEOUT)
        return {item.label: item for item in found.items} if isinstance(found, types.CompletionList) else {}

    async def actions(self, path: str, line: int, column: int) -> list[types.CodeAction]:
        where = types.Position(line, column)
        document = types.TextDocumentIdentifier(self.uri(path))
        params = types.CodeActionParams(document, types.Range(where, where), types.CodeActionContext([]))
        found = await asyncio.wait_for(self.client.text_document_code_action_async(params), TIMEOUT)
        return [item for item in found or [] if isinstance(item, types.CodeAction)]


@asynccontextmanager
async def editor(
    root: Path, able: types.ClientCapabilities | None = None, options: dict[str, Any] | None = None
) -> AsyncIterator[Editor]:
    """Starts an editor on a folder. At the end the server must stop without errors."""
    found = Editor(root)
    client = found.client
    nothing = {**os.environ, "KUBECONFIG": os.devnull}  # no cluster of whoever runs the tests
    await client.start_io(*tool(), "lsp", cwd=ROOT, env=nothing)
    server = client._server
    assert server is not None
    try:
        able = able or types.ClientCapabilities()
        params = types.InitializeParams(able, root_uri=root.as_uri(), initialization_options=options)
        await asyncio.wait_for(client.initialize_async(params), TIMEOUT)
        client.initialized(types.InitializedParams())
        yield found
        await asyncio.wait_for(client.shutdown_async(None), TIMEOUT)
        client.exit(None)
        assert await asyncio.wait_for(server.wait(), TIMEOUT) == 0
        assert server.stderr is None or await server.stderr.read() == b""
    finally:
        if server.returncode is None:
            server.kill()
        await client.stop()
