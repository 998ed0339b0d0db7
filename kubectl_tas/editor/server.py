"""Runs the language server: publishes findings of ``validate`` while a user types, and answers requests of editors."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from kubectl_tas import __version__
from kubectl_tas.base import process
from kubectl_tas.base.diagnostics import Diagnostic, Location, Severity, TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.draw.diagrams import FORMATS
from kubectl_tas.editor import project, views
from kubectl_tas.editor.completion import completion
from kubectl_tas.editor.definition import RenameTarget, definitions, reference_at, renamed, renamed_at
from kubectl_tas.editor.positions import Text, fix
from kubectl_tas.editor.project import Judgement, find_root, judged, looked_at, shown, text_of
from kubectl_tas.load.document import Document
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.model.base import KeyPath
from kubectl_tas.report.style import printable, printable_lines, unlinked
from kubectl_tas.resolve.pools import Submission

R = TypeVar("R")
PAUSE = 0.25
"""Seconds without a change before a text is judged."""
REST = 2.0
"""Maximum number of further seconds before all files that a change may concern are judged."""
SOURCE = "kubectl-tas"
SHOW_TREE, SHOW_FIT = "tas.showTree", "tas.showFit"
"""Commands; their arguments are a file and the Kind/name of work in it."""
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}
_SUFFIX = {"tree": "txt", "mermaid": "mmd"}
"""File suffixes of answers, for formats whose name is not the suffix."""
_WATCHED = "**/*.{yaml,yml,json}"


@dataclass
class _Project:
    root: Path
    due: float = 0
    """Time of the next look, by the clock of the event loop."""
    changes: int = 0
    """Number of changes so far."""
    looked: int = 0
    """Value of ``changes`` when the open files were last examined."""
    spoken: int = 0
    """Value of ``changes`` at the last published result about the open files."""
    judged: int = 0
    """Value of ``changes`` at the last judgement of all files."""
    took: float = 0
    """Seconds that this judgement took."""
    look: asyncio.Task[None] | None = None
    task: asyncio.Task[None] | None = None
    whole: Judgement | None = None
    """The last judgement of all files."""
    judgement: Judgement | None = None
    """The same, updated with newer results about the open files."""
    shown: set[str] = field(default_factory=set)
    """The files with published findings."""


@dataclass
class _Document:
    uri: str
    """URI as the client spells it."""
    version: int
    text: str
    root: Path | None
    """The repository of the document."""


class Server(LanguageServer):
    """A server that judges each repository with open files again whenever it changes."""

    def __init__(self) -> None:
        super().__init__(SOURCE, __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self._projects: dict[Path, _Project] = {}
        self._open: dict[Path, _Document] = {}
        self._turn = asyncio.Lock()
        self._told: set[str] = set()
        self._answers: tempfile.TemporaryDirectory[str] | None = None
        self.is_shown_by_client = False

    async def opened(self, params: types.DidOpenTextDocumentParams) -> None:
        """Handles a document that was opened."""
        document = params.text_document
        self._typed_anew(document.uri, document.version, document.text, 0)

    async def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        """Handles a document that was changed."""
        document = params.text_document
        if params.content_changes:  # each is the whole text, as the server asks for it
            self._typed_anew(document.uri, document.version, params.content_changes[-1].text, PAUSE)

    def _typed_anew(self, uri: str, version: int, text: str, pause: float) -> None:
        path = _path(uri)
        if path is not None:
            before = self._open.get(path)
            self._open[path] = _Document(uri, version, text, before.root if before else None)
            if before is None:
                self._find_roots()
            self._judge_soon(self._open[path].root, pause)

    async def saved(self, params: types.DidSaveTextDocumentParams) -> None:
        """Handles a document that was saved."""
        path = _path(params.text_document.uri)
        if path in self._open:
            self._judge_soon(self._open[path].root)

    async def closed(self, params: types.DidCloseTextDocumentParams) -> None:
        """Handles a document that was closed. From now on the file on disk counts."""
        path = _path(params.text_document.uri)
        if path in self._open:
            self._judge_soon(self._open.pop(path).root)
            self._find_roots()

    async def changed_on_disk(self, _params: types.DidChangeWatchedFilesParams) -> None:
        """Handles changes on disk of any files."""
        self._find_roots()
        for root in list(self._projects):
            self._judge_soon(root, PAUSE)

    def _find_roots(self) -> None:
        """Finds the repository of every open document again, since a Config may have appeared or disappeared."""
        for path, document in self._open.items():
            root = find_root(path, self._open)
            if root != document.root:
                self._judge_soon(document.root)
                self._judge_soon(root)
                document.root = root

    def _judge_soon(self, root: Path | None, pause: float = 0) -> None:
        if root is None:
            return
        open_project = self._projects.setdefault(root, _Project(root))
        open_project.changes += 1
        open_project.due = asyncio.get_running_loop().time() + pause
        if open_project.look is None or open_project.look.done():
            open_project.look = asyncio.create_task(self._look(open_project))
        if open_project.task is None or open_project.task.done():
            open_project.task = asyncio.create_task(self._judge(open_project))

    async def _look(self, open_project: _Project) -> None:
        """Publishes results about the open files quickly, until no change is newer."""
        while open_project.looked != open_project.changes and open_project.whole is not None:
            await _reached(lambda: open_project.due)
            changes, typed = open_project.changes, self._typed(open_project.root)
            try:
                looked = await asyncio.to_thread(looked_at, open_project.whole, typed)
                if looked is not None and open_project.judged < changes == open_project.changes:
                    open_project.judgement, open_project.spoken = looked, changes
                    self._publish(open_project, looked, typed)
            except Exception as error:
                self.failed(error)
            open_project.looked = changes

    async def _judge(self, open_project: _Project) -> None:
        """Judges a repository until no change is newer. After a slow judgement it waits as long for further changes, at
        most REST seconds.
        """
        clock = asyncio.get_running_loop().time
        while open_project.judged != open_project.changes:
            await _reached(lambda: open_project.due + min(open_project.took, REST) * (open_project.whole is not None))
            async with self._turn:
                changes, started = open_project.changes, clock()
                try:
                    root, whole = open_project.root, open_project.whole
                    judgement = await asyncio.to_thread(judged, root, self._typed(root), whole)
                    open_project.whole = judgement
                    if changes == open_project.changes:
                        open_project.judgement = judgement
                        self._publish(open_project, judgement)
                except Exception as error:
                    self.failed(error)
                open_project.judged, open_project.took = changes, clock() - started

    def _typed(self, root: Path) -> dict[str, bytes]:
        open_documents = ((path, document) for path, document in self._open.items() if document.root == root)
        return {
            path.relative_to(root).as_posix(): document.text.encode("utf-8", "surrogatepass")
            for path, document in open_documents
        }

    def _publish(self, open_project: _Project, judgement: Judgement, only: Collection[str] | None = None) -> None:
        """Publishes the findings of a repository, in all files or ``only`` in some. Withdraws the findings of files
        that have none any more.
        """
        texts = self.texts(judgement)
        by_path: dict[str, list[types.Diagnostic]] = {}
        for finding, location in shown(judgement.findings):
            if only is None or location.path in only:
                by_path.setdefault(location.path, []).append(_published(finding, location, texts))
        if find_root(open_project.root / CONFIG_FILE, self._open) != open_project.root:  # it is no repository any more
            by_path = {}
            self._projects.pop(open_project.root, None)
        for path in sorted(by_path.keys() | open_project.shown if only is None else only):
            document = self._open.get(open_project.root / path)
            version = document.version if document else None
            params = types.PublishDiagnosticsParams(texts.uri(path), by_path.get(path, []), version)
            self.text_document_publish_diagnostics(params)
        able = self.client_capabilities.workspace
        if only is None and able and able.inlay_hint and able.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)
        open_project.shown = set(by_path) if only is None else open_project.shown.difference(only).union(by_path)

    async def known(self, uri: str, *, waits: bool = True, whole: bool = False) -> tuple[Judgement, str] | None:
        """Returns the newest judgement of a document's repository, and the document's path. Without ``waits`` it may be
        slightly old. With ``whole`` all files are judged.
        """
        path = _path(uri)
        root = find_root(path, self._open) if path is not None else None
        open_project = self._projects.get(root) if root is not None else None
        if path is None or open_project is None:
            return None
        if not waits and open_project.judgement is not None:
            return open_project.judgement, path.relative_to(open_project.root).as_posix()
        if open_project.look is not None:
            await asyncio.shield(open_project.look)
        while open_project.task is not None and open_project.changes != (
            open_project.judged if whole else max(open_project.spoken, open_project.judged)
        ):
            await asyncio.shield(open_project.task)
        judgement = open_project.judgement
        return (judgement, path.relative_to(open_project.root).as_posix()) if judgement else None

    def typed_text(self, uri: str) -> Text | None:
        """Returns the current text of a document in the editor; None if it is not open."""
        path = _path(uri)
        document = self._open.get(path) if path is not None else None
        return Text(document.text, self._encoding) if document else None

    @property
    def _encoding(self) -> str:
        return self.workspace.position_encoding or types.PositionEncodingKind.Utf16

    def show(self, text: str, output: str) -> None:
        """Asks the client to open a text, unless the client shows answers itself."""
        able = self.client_capabilities.window
        if able and able.show_document and able.show_document.support and not self.is_shown_by_client:
            if self._answers is None:
                self._answers = tempfile.TemporaryDirectory(prefix="kubectl-tas-")
            file = Path(self._answers.name, f"answer.{_SUFFIX.get(output, output)}")
            file.write_text(text, encoding="utf-8")
            self.window_show_document(types.ShowDocumentParams(file.as_uri()))

    def texts(self, judgement: Judgement) -> _Texts:
        """Returns the texts of a repository, with positions in the client's encoding."""
        spelled = {path: document.uri for path, document in self._open.items()}
        return _Texts(judgement, self._encoding, spelled)

    def failed(self, error: Exception) -> None:
        """Reports an error to the user, each message once. The server continues."""
        message = f"internal error: {type(error).__name__}: {error}"
        if isinstance(error, TasError):
            message = _said(error)
        elif os.environ.get("KUBECTL_TAS_DEBUG"):
            where = "".join(traceback.format_exception(error))
            self.window_log_message(types.LogMessageParams(types.MessageType.Error, where))
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, message))
        if message not in self._told:
            self._told.add(message)
            shown = f"kubectl-tas: {_notified(message)}"
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, shown))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Reports errors outside of our own code too. The refusal of a request is not reported: it is the answer."""
        if not isinstance(error, JsonRpcException):
            self.failed(error)


class _Texts:
    """The texts of a repository, each read once, with the client's encoding and URIs."""

    def __init__(self, judgement: Judgement, encoding: str, spelled: Mapping[Path, str]) -> None:
        self._judgement = judgement
        self._encoding = encoding
        self._spelled = spelled
        self._known: dict[str, Text] = {}

    def of(self, path: str) -> Text:
        """Returns the text of a file."""
        if path not in self._known:
            text = text_of(self._judgement.root, path, self._judgement.typed)
            self._known[path] = self.counted(text)
        return self._known[path]

    def counted(self, text: str) -> Text:
        """Returns a text with positions in the client's encoding."""
        return Text(text, self._encoding)

    def uri(self, path: str) -> str:
        """Returns the client's URI of a file."""
        full = self._judgement.root / path
        return self._spelled.get(full) or full.as_uri()

    def place(self, location: Location) -> types.Location:
        """Converts a place to the client's encoding."""
        return types.Location(self.uri(location.path), self.of(location.path).range(location))


def _published(finding: Diagnostic, location: Location, texts: _Texts) -> types.Diagnostic:
    related = [
        types.DiagnosticRelatedInformation(texts.place(related.location), printable(related.message))
        for related in finding.related
        if related.location is not None and related.location != location
    ]
    if finding.location is not None and finding.location != location:
        related.insert(0, types.DiagnosticRelatedInformation(texts.place(finding.location), "the first of its places"))
    nowhere = [related.message for related in finding.related if related.location is None]
    return types.Diagnostic(
        texts.of(location.path).range(location),
        "\n".join(printable(text) for text in (finding.message, *nowhere, finding.hint) if text),
        _SEVERITIES[finding.severity],
        finding.rule.code,
        source=SOURCE,
        related_information=related,
    )


def _said(error: TasError) -> str:
    return f"{error.message}. {error.hint}" if error.hint else error.message


def _notified(message: str) -> str:
    """Makes a message safe to show: VS Code runs commands that links in notifications name."""
    return unlinked(printable_lines(message))


async def _reached(due: Callable[[], float]) -> None:
    """Waits until a time that may be postponed meanwhile."""
    while (wait := due() - asyncio.get_running_loop().time()) > 0:
        await asyncio.sleep(wait)


def _path(uri: str) -> Path | None:
    """Returns the file that a URI names; None if it names no file, for example an unsaved buffer."""
    name = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return Path(name) if name else None


def make_server() -> Server:
    """Returns a server that is ready to start."""
    logging.getLogger("pygls").addHandler(logging.NullHandler())
    logging.getLogger("pygls").propagate = False
    server = Server()
    for name, handler in _HANDLERS.items():
        server.feature(name, _OPTIONS.get(name))(_guarded(server, handler))
    for command in (SHOW_TREE, SHOW_FIT):
        server.command(command)(_command(server, command))
    return server


def _guarded(server: Server, handler: Callable[[Server, Any], Awaitable[R]]) -> Callable[[Any], Awaitable[R | None]]:
    """Wraps a handler so that errors are reported and the answer is then None."""

    async def answer(params: Any) -> R | None:
        try:
            return await handler(server, params)
        except JsonRpcException:
            raise
        except Exception as error:
            server.failed(error)
            return None

    return answer


def _command(server: Server, name: str) -> Callable[..., Awaitable[str | None]]:
    execute = _guarded(server, _execute)

    async def run(*arguments: str) -> str | None:
        return await execute(types.ExecuteCommandParams(name, list(arguments)))

    return run


async def _initialize(server: Server, params: types.InitializeParams) -> None:
    options = params.initialization_options
    server.is_shown_by_client = bool(options.get("showsAnswers")) if isinstance(options, dict) else False


async def _initialized(server: Server, _params: types.InitializedParams) -> None:
    able = server.client_capabilities.workspace
    if able and able.did_change_watched_files and able.did_change_watched_files.dynamic_registration:
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(_WATCHED)])
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        params = types.RegistrationParams([types.Registration("files", method, options)])
        await server.client_register_capability_async(params)


async def _at(
    server: Server, params: types.HoverParams | types.DefinitionParams | types.PrepareRenameParams | types.RenameParams
) -> tuple[Judgement, str, Text, tuple[Document, KeyPath] | None] | None:
    """Returns the judgement, the file, its text, and the document and key path of the scalar at a position."""
    judged_path = await server.known(params.text_document.uri)
    if judged_path is None:
        return None
    judgement, path = judged_path
    text = server.texts(judgement).of(path)
    offset = text.offset(params.position)
    paths = ((document, document.path_around(offset)) for document in project.documents(path, text.text))
    word = next(((document, key_path) for document, key_path in paths if key_path is not None), None)
    return judgement, path, text, word


async def _hover(server: Server, params: types.HoverParams) -> types.Hover | None:
    target = await _at(server, params)
    if target is None:
        return None
    judgement, path, text, word = target
    offset = text.offset(params.position)
    texts: list[str] = []
    if word is not None:
        reference = reference_at(*word)
        texts += views.hover_of_reference(reference, judgement.fleet) if reference else []
        texts += views.hover_of_name(*word, judgement.fleet)
    under_cursor = []
    for finding, location in judgement.shown_in(path):
        start, end = text.span(location)
        under_cursor += [finding] if start <= offset <= end and location.line else []
    texts += views.hover_of_rules(under_cursor)
    value = "\n\n---\n\n".join(dict.fromkeys(texts))
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, value)) if value else None


async def _definition(server: Server, params: types.DefinitionParams) -> list[types.Location] | None:
    target = await _at(server, params)
    if target is None or target[3] is None:
        return None
    reference = reference_at(*target[3])
    if reference is None:
        return None
    texts = server.texts(target[0])
    return [texts.place(place) for place in definitions(reference, target[0].fleet)]


async def _code_action(server: Server, params: types.CodeActionParams) -> list[types.CodeAction] | None:
    judged_path = await server.known(params.text_document.uri)
    if judged_path is None:
        return None
    judgement, path = judged_path
    texts = server.texts(judgement)
    text, uri = texts.of(path), params.text_document.uri
    selection_start, last = text.offset(params.range.start), text.offset(params.range.end)
    actions = []
    spans = [(finding.rule.code, *text.span(location)) for finding, location in judgement.shown_in(path)]
    codes = [code for code, start, end in spans if start <= last and selection_start <= end]
    for title, adopted in views.adoptions(judgement, path, text.text, codes):
        edits = types.WorkspaceEdit({uri: text.edits(adopted)})
        actions.append(types.CodeAction(printable(title), types.CodeActionKind.QuickFix, edit=edits))
    for finding, location in judgement.shown_in(path):
        edit_of_finding = fix(finding, location, text)
        if edit_of_finding is not None and edit_of_finding.start <= last and selection_start <= edit_of_finding.end:
            start, end = text.position(edit_of_finding.start), text.position(edit_of_finding.end)
            edit = types.TextEdit(types.Range(start, end), edit_of_finding.text)
            actions.append(
                types.CodeAction(
                    printable(edit_of_finding.title),
                    types.CodeActionKind.QuickFix,
                    [_published(finding, location, texts)],
                    is_preferred=True,
                    edit=types.WorkspaceEdit({uri: [edit]}),
                )
            )
    return actions


async def _completion(server: Server, params: types.CompletionParams) -> types.CompletionList | None:
    judged_path = await server.known(params.text_document.uri, waits=False)
    text = server.typed_text(params.text_document.uri)
    if judged_path is None or text is None:
        return None
    judgement, path = judged_path
    completed = completion(path, text.text, text.offset(params.position), judgement.fleet)
    replaced_range = types.Range(text.position(completed.start), text.position(completed.end))
    return types.CompletionList(
        is_incomplete=False,
        items=[
            types.CompletionItem(
                choice.word,
                kind=types.CompletionItemKind.Property if choice.is_key else types.CompletionItemKind.Value,
                documentation=choice.about or None,
                sort_text=f"{number:04}",
                text_edit=types.TextEdit(replaced_range, choice.text),
            )
            for number, choice in enumerate(completed.choices)
        ],
    )


async def _documents(server: Server, uri: str) -> tuple[Judgement, str, Text, list[Document]] | None:
    judged_path = await server.known(uri)
    if judged_path is None:
        return None
    judgement, path = judged_path
    text = server.texts(judgement).of(path)
    return judgement, path, text, project.documents(path, text.text)


async def _symbols(server: Server, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol] | None:
    file_documents = await _documents(server, params.text_document.uri)
    if file_documents is None:
        return None
    _, _, text, documents = file_documents
    return [_symbol(document, views.symbol(document), text) for document in documents]


def _symbol(document: Document, symbol: views.Symbol, text: Text) -> types.DocumentSymbol:
    start, end = document.span(symbol.path)
    name_range = text.range(document.locate(symbol.named, key=symbol.named == symbol.path))
    whole = types.Range(text.position(start), text.position(end))
    if not whole.start <= name_range.start <= name_range.end <= whole.end:
        name_range = types.Range(whole.start, whole.start)
    kind = types.SymbolKind.Field if symbol.path else types.SymbolKind.Object
    children = [_symbol(document, child, text) for child in symbol.children]
    return types.DocumentSymbol(
        printable(symbol.name) or "-", kind, whole, name_range, printable(symbol.about), children=children
    )


async def _work(server: Server, uri: str) -> list[tuple[Judgement, Submission, types.Position]]:
    """Returns the submissions that a file declares, each with the end of its name."""
    file_documents = await _documents(server, uri)
    work = []
    if file_documents is not None:
        judgement, path, text, documents = file_documents
        for document in documents:
            submission = views.sent_by(judgement, path, document)
            if submission is not None:
                name_range = text.range(document.locate(views.identity(document)[2]))
                work.append((judgement, submission, name_range.end))
    return work


async def _hints(server: Server, params: types.InlayHintParams) -> list[types.InlayHint]:
    works = await _work(server, params.text_document.uri)
    return [
        types.InlayHint(position, printable(views.hint(judgement, submission)), padding_left=True)
        for judgement, submission, position in works
        if params.range.start <= position <= params.range.end
    ]


async def _lenses(server: Server, params: types.CodeLensParams) -> list[types.CodeLens]:
    works = await _work(server, params.text_document.uri)
    return [
        types.CodeLens(
            types.Range(position, position),
            types.Command(title, command, arguments=[params.text_document.uri, f"{submission.kind}/{submission.name}"]),
        )
        for _, submission, position in works
        for title, command in (("Show its tree", SHOW_TREE), ("Does it fit?", SHOW_FIT))
    ]


async def _links(server: Server, params: types.DocumentLinkParams) -> list[types.DocumentLink] | None:
    file_documents = await _documents(server, params.text_document.uri)
    if file_documents is None:
        return None
    judgement, path, text, documents = file_documents
    return [
        types.DocumentLink(text.range(document.locate(where)), (judgement.root / target).resolve().as_uri())
        for document in documents
        for where, target in views.linked(judgement, path, document)
    ]


async def _prepare_rename(server: Server, params: types.PrepareRenameParams) -> types.Range | None:
    renaming = await _renamed(server, params)
    return renaming[2] if renaming else None


async def _rename(server: Server, params: types.RenameParams) -> types.WorkspaceEdit | None:
    renaming = await _renamed(server, params)
    if renaming is None:
        return None
    judgement, renamed_name, _ = renaming
    try:
        files = await asyncio.to_thread(renamed, judgement, renamed_name, params.new_name)
    except TasError as error:
        raise JsonRpcException(_notified(_said(error)), types.LSPErrorCodes.RequestFailed) from error
    texts = server.texts(judgement)
    return types.WorkspaceEdit({texts.uri(path): texts.counted(old).edits(new) for path, (old, new) in files.items()})


async def _renamed(
    server: Server, params: types.PrepareRenameParams | types.RenameParams
) -> tuple[Judgement, RenameTarget, types.Range] | None:
    """Returns what can be renamed at a position, and the range of its name."""
    target = await _at(server, params)
    word = target[3] if target else None
    if target is None or word is None:
        return None
    judgement, _, text, _ = target
    document, path = word
    start, end = text.span(document.locate(path))
    source = text.text[start:end]
    start += source[:1] in ("'", '"')
    renamed_name = renamed_at(document, path, text.offset(params.position) - start, judgement.fleet)
    if renamed_name is None or not text.text.startswith(renamed_name.old, start + renamed_name.start):
        return None
    start += renamed_name.start
    return judgement, renamed_name, types.Range(text.position(start), text.position(start + len(renamed_name.old)))


async def _execute(server: Server, params: types.ExecuteCommandParams) -> str | None:
    """Runs a command and returns its text. Opens a file with the text if the client does not show it itself."""
    uri, work_name, *options = [str(argument) for argument in params.arguments or ()]
    output = options[0] if options else "tree"
    judged_path = await server.known(uri, whole=True)
    if judged_path is None or output not in FORMATS:
        return None
    judgement, path = judged_path
    if params.command == SHOW_TREE:
        text = await asyncio.to_thread(views.drawn, judgement, path, work_name, output)
    else:  # the files on disk, and the cluster of the kubeconfig
        fit = [sys.executable, "-m", "kubectl_tas", "fit", "-C", str(judgement.root), "-o", output, "--", work_name]
        done = await asyncio.to_thread(process.run, fit)
        text = done.out.decode("utf-8", "replace") or done.err
    server.show(text, output)
    return text


_HANDLERS: dict[str, Callable[[Server, Any], Awaitable[Any]]] = {
    types.INITIALIZE: _initialize,
    types.INITIALIZED: _initialized,
    types.TEXT_DOCUMENT_DID_OPEN: Server.opened,
    types.TEXT_DOCUMENT_DID_CHANGE: Server.changed,
    types.TEXT_DOCUMENT_DID_SAVE: Server.saved,
    types.TEXT_DOCUMENT_DID_CLOSE: Server.closed,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: Server.changed_on_disk,
    types.TEXT_DOCUMENT_HOVER: _hover,
    types.TEXT_DOCUMENT_DEFINITION: _definition,
    types.TEXT_DOCUMENT_CODE_ACTION: _code_action,
    types.TEXT_DOCUMENT_COMPLETION: _completion,
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: _symbols,
    types.TEXT_DOCUMENT_INLAY_HINT: _hints,
    types.TEXT_DOCUMENT_CODE_LENS: _lenses,
    types.TEXT_DOCUMENT_DOCUMENT_LINK: _links,
    types.TEXT_DOCUMENT_PREPARE_RENAME: _prepare_rename,
    types.TEXT_DOCUMENT_RENAME: _rename,
}
_OPTIONS: dict[str, Any] = {
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions([types.CodeActionKind.QuickFix]),
    types.TEXT_DOCUMENT_COMPLETION: types.CompletionOptions(trigger_characters=[" ", "/"]),
    types.TEXT_DOCUMENT_RENAME: types.RenameOptions(prepare_provider=True),
}
