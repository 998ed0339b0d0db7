"""Parses YAML text into plain data with positions, and finds what YAML itself passes over: comments that waive rules,
and characters that only look like its spaces and quotes.

The module composes the text into nodes and looks a position up in the nodes only when a caller asks. The module drops
the nodes of texts read long ago, and composes them again if needed.
"""

from __future__ import annotations

import copy
import re
import unicodedata
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import Any, ClassVar

from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity
from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.kinds.section import child
from kubectl_tas.load import syntax
from kubectl_tas.load.compose import MAX_DEPTH, MAX_NODES, DocumentRoot, TooDeepError, TooManyError, compose
from kubectl_tas.load.reader import MERGE_KEY, FoundError, Reader
from kubectl_tas.load.source import FILE_TOO_LARGE
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Waiver

YAML_DEPTH = Rule(
    "yaml-depth",
    Severity.ERROR,
    "A document is nested more than 64 levels deep.",
    "Nothing that kubectl-tas reads is nested so deep. Most often a bracket was not closed.",
)


_BARE_TAG = late_pattern(r"(?:&[^\s,\[\]{}]+\s+)?!(?=[\s,\[\]{}]|\Z)")
"""A '!' alone, which libyaml skips and kubectl does not. Such a '!' is a tag if a node begins with the '!'."""
MANY_KEYS = 64
"""The size above which a mapping's keys are looked up in a table."""
RECENT = 4
"""The number of texts that keep their nodes. Nodes need four times the memory of the data; so few fit a CPU cache."""


@dataclass(frozen=True, slots=True)
class ScalarSpan:
    """A value or a key as written."""

    start: int
    """The index in the file, from 0, of the first character."""
    style: str
    """The quote, ``|`` or ``>``; empty for a plain value or key."""


class RootNodes:
    """The root nodes of the documents of a text. They are dropped once, after RECENT other texts were read."""

    __slots__ = ("_roots", "_text", "keys")
    _recent: ClassVar[deque[RootNodes]] = deque()

    def __init__(self, text: str, roots_of_text: Sequence[DocumentRoot]) -> None:
        self._text = text
        self._roots: Sequence[DocumentRoot] | None = roots_of_text
        self.keys: dict[int, dict[str, tuple[Any, Any]]] = {}
        self._recent.append(self)
        if len(self._recent) > RECENT:
            oldest = self._recent.popleft()
            oldest._roots, oldest.keys = None, {}

    def root(self, index: int) -> Any:
        """Returns the root node of one document."""
        document_roots = self._roots
        if document_roots is None:  # they stay from now on: findings may go from file to file and back again
            document_roots = self._roots = roots(self._text)
        return document_roots[index].node


class Document:
    """One YAML document: its data, and the place of each key and value.

    ``index`` is the position of the document in its file, from 0. ``has_null`` tells whether any value is empty.
    ``within`` is the path in the enclosing document, if this document is an item of a List.
    """

    __slots__ = ("_given", "_lines", "_nodes", "_root", "data", "has_null", "index", "path", "within")

    def __init__(self, path: str, index: int, nodes: RootNodes, data: Any, lines: Lines, *, has_null: bool) -> None:
        self.path = path
        self.index = self._root = index
        self.data = data
        self.has_null = has_null
        self.within: KeyPath = ()
        self._nodes = nodes
        self._given: dict[KeyPath, Location] = {}
        self._lines = lines

    @property
    def _node(self) -> Any:
        node = self._nodes.root(self._root)
        for step in self.within:
            node = self._child(node, step)[1]  # type: ignore[index]
        return node

    def locate(self, path: KeyPath, *, key: bool = False) -> Location:
        """Returns the place of the value (or key) at ``path``; of the nearest parent if the path is absent."""
        if path in self._given:
            return self._given[path]
        node, name = self._node, None
        for step in path:
            key_and_child = self._child(node, step)
            if key_and_child is None:
                key = True
                break
            name, node = key_and_child
        chosen = name if key and name is not None else node
        return self._lines.location(chosen.start_mark, chosen.end_mark)

    def source_text(self, path: KeyPath) -> str | None:
        """Returns the scalar at ``path`` as written, without quotes; None if ``path`` has no scalar."""
        node = self._node
        for step in path:
            key_and_child = self._child(node, step)
            if key_and_child is None:
                return None
            node = key_and_child[1]
        return str(node.value) if type(node) is ScalarNode else None

    def value(self, path: KeyPath) -> object:
        """Returns the value at ``path``; None if the value is absent or empty."""
        value = self.data
        for step in path:
            value = value.get(step) if type(value) is dict else child(value, step)
        return value

    def _child(self, node: Any, step: str | int) -> tuple[Any, Any] | None:
        """Returns the key node (None in a sequence) and the value node one step below ``node``."""
        if type(node) is MappingNode and len(node.value) > MANY_KEYS:
            keys = self._nodes.keys.get(id(node))
            if keys is None:
                keys = self._nodes.keys[id(node)] = {key.value: (key, value) for key, value in node.value}
            key_and_child = keys.get(str(step))
            if key_and_child is not None:
                return key_and_child
        return _child(node, step)

    def scalar_at(self, index: int) -> ScalarSpan | None:
        """Returns the value or key that contains the character at ``index`` of the file; None if no scalar does."""
        pending, visited = [self._node], set[int]()
        while pending:
            node = pending.pop()
            if id(node) in visited or not node.start_mark.index <= index < node.end_mark.index:
                continue
            visited.add(id(node))
            if type(node) is ScalarNode:
                return ScalarSpan(node.start_mark.index, node.style or "")
            pending += (
                node_of_pair for pair in node.value for node_of_pair in (pair if type(pair) is tuple else (pair,))
            )
        return None

    def path_at(self, line: int, column: int) -> KeyPath | None:
        """Returns the path of the key or value that begins at a line and column; None if none begins there."""
        pending: list[tuple[Any, KeyPath]] = [(self._node, ())]
        while pending:
            node, path = pending.pop()
            if _begins(node, line, column):
                return path
            for index, below in enumerate(node.value if type(node) is not ScalarNode else ()):
                if type(below) is tuple and _begins(below[0], line, column):
                    return (*path, below[0].value)
                inner, step = (below[1], below[0].value) if type(below) is tuple else (below, index)
                if inner.start_mark.line < line <= inner.end_mark.line + 1:
                    pending.append((inner, (*path, step)))
        return None

    def path_around(self, index: int) -> KeyPath | None:
        """Returns the path of the scalar that contains or ends at ``index``; None if there is no such scalar. A key has
        the path of its value.
        """
        node: Any = self._node
        path: KeyPath = ()
        while type(node) is not ScalarNode:
            pairs = node.value if type(node) is MappingNode else [(None, member) for member in node.value]
            for step, (key, value) in enumerate(pairs):
                name = step if key is None else key.value
                if key is not None and key.start_mark.index <= index <= key.end_mark.index:
                    return (*path, name)
                ends = type(value) is ScalarNode and value.style not in ("|", ">")  # a block ends where a line begins
                end_of_span = index if ends else index + 1
                if value.start_mark.index <= index and end_of_span <= value.end_mark.index:
                    node, path = value, (*path, name)
                    break
            else:
                return None
        return path

    def part(self, path: KeyPath) -> Document:
        """Returns the value at ``path`` as a document of its own; the path must exist."""
        part = copy.copy(self)
        part.data, part.within, part._given = self.value(path), (*self.within, *path), {}
        return part

    def with_value(self, path: KeyPath, value: object, location: Location) -> Document:
        """Returns a copy with another value at ``path``, given by another file at ``location``. The data stay the same
        if no mapping can hold the value.
        """
        changed = copy.copy(self)
        changed.data = _with_value(self.data, path, value)
        changed._given = {**self._given, path: location}
        return changed

    def span(self, path: KeyPath) -> tuple[int, int]:
        """Returns the characters of the file, from 0, from the key or item at ``path`` to the end of its value."""
        node, start = self._node, self._node.start_mark.index
        for step in path:
            key_and_child = self._child(node, step)
            if key_and_child is None:
                break
            name, node = key_and_child
            start = (node if name is None else name).start_mark.index
        end = node.end_mark.index
        return start, start + len(self._lines.text[start:end].rstrip())

    @property
    def text(self) -> str:
        """The text of this document alone, with its comments."""
        if self.within:
            node = self._node
            return self._lines.part(node.start_mark, node.end_mark)
        return self._lines.document(self._node.start_mark.index)


def parse(path: str, text: str, lines: Lines | None = None) -> tuple[tuple[Document, ...], tuple[Diagnostic, ...]]:
    """Returns all documents of a file, or no document and the one problem that stopped reading.

    Leaves out empty documents. ``lines`` maps the text to places, if the text is not the file's. Never raises for bad
    input.
    """
    lines = lines or Lines(path, text)
    read: list[tuple[Any, bool]] = []
    try:
        bare_tags = frozenset(match.start() for match in _BARE_TAG.finditer(text)) if "!" in text else frozenset()
        document_roots = roots(text)
        for root in document_roots:
            reader = Reader(has_tags=root.has_tags, bare_tags=bare_tags)
            read.append((reader.read(root.node), reader.has_null))
    except TooDeepError as error:
        message = f"nested more than {MAX_DEPTH} levels deep"
        problem = Diagnostic(
            YAML_DEPTH, message, lines.location(error.mark, error.mark), hint="Close the brackets, or nest less."
        )
        return (), (problem,)
    except TooManyError as error:
        message = f"more than {MAX_NODES:,} keys and values"
        location = lines.location(error.mark, error.mark)
        return (), (
            Diagnostic(FILE_TOO_LARGE, message, location, hint="Split the file, or move it out of the folder."),
        )
    except FoundError as error:
        return (), (_finding_of(error, lines),)
    except MarkedYAMLError as error:
        return (), (syntax.explain(error, text, lines.at),)
    except (YAMLError, ValueError) as error:
        return (), (syntax.unreadable(path, str(error)),)
    nodes = RootNodes(text, document_roots)
    documents = (Document(path, n, nodes, data, lines, has_null=has_null) for n, (data, has_null) in enumerate(read))
    return tuple(documents), ()


def _with_value(data: Any, path: KeyPath, value: object) -> Any:
    """Returns a copy of data with another value at ``path``, if mappings lead there."""
    if not path:
        return value
    return {**data, path[0]: _with_value(data.get(path[0]), path[1:], value)} if isinstance(data, dict) else data


def roots(text: str) -> list[DocumentRoot]:
    """Returns the root nodes of all documents that are not empty. Raises the same exceptions as ``compose``."""
    return [
        root
        for root in compose(text)
        if root.node is not None and (type(root.node) is not ScalarNode or root.node.value or root.node.style)
    ]


def _finding_of(error: FoundError, lines: Lines) -> Diagnostic:
    node = error.node
    related: tuple[Related, ...] = ()
    if error.first is not None:
        location = lines.location(error.first.start_mark, error.first.end_mark)
        related = (Related(f"first at line {location.line}", location),)
    location = lines.location(node.start_mark, node.end_mark)
    return Diagnostic(error.rule, error.message, location, related, hint=error.hint)


def _child(node: Any, step: str | int) -> tuple[Any, Any] | None:
    """Returns the key node (None in a sequence) and the value node one step below ``node``."""
    if type(node) is SequenceNode:
        inside = isinstance(step, int) and step < len(node.value)
        return (None, node.value[step]) if inside else None
    if type(node) is not MappingNode:
        return None
    folded = str(step).casefold()
    near = None
    for key, value in node.value:
        if key.value == step:
            return key, value
        if str(key.value).casefold() == folded:
            near = (key, value)
        elif key.value == MERGE_KEY:
            for source in value.value if type(value) is SequenceNode else (value,):
                near = near or _child(source, step)
    return near


def _begins(node: Any, line: int, column: int) -> bool:
    return (node.start_mark.line + 1, node.start_mark.column + 1) == (line, column)


def _is_comment(line: str, *, outside: str) -> bool:
    """Whether a line has only a comment, indented less than ``outside``."""
    return line.lstrip().startswith("#") and not line.startswith(outside)


MARKER = late_pattern(r"^(?:---|\.\.\.)(?:[ \t]*\r?\n|(?=[ \t])|\Z)", re.MULTILINE)
"""The line before or behind a document. libyaml reads no such line within a document."""
_LINE_BREAK = late_pattern(r"\r\n|\r|\n")
_AROUND = 240
"""Characters of a line that a Location keeps on either side, since a file may be a single line."""


class Lines:
    """The lines of one file, split when first needed."""

    __slots__ = ("_markers", "_starts", "path", "text")

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self._starts: list[int] | None = None
        self._markers: list[tuple[int, int]] | None = None

    def document(self, start: int) -> str:
        """Returns the text of the document whose first value begins at ``start``, from its ``---`` to the next.

        Comments above the first ``---`` of a file belong to its first document.
        """
        if self._markers is None:
            self._markers = [marker.span() for marker in MARKER.finditer(self.text)]
        behind = bisect_right(self._markers, start, key=itemgetter(0))
        end = self._markers[behind][0] if behind < len(self._markers) else len(self.text)
        text = self.text[self._markers[behind - 1][1] if behind else 0 : end]
        above = self.text[: self._markers[0][0]].splitlines(keepends=True) if behind == 1 else []
        if behind == 1 and all(line.startswith(("#", "%")) or not line.strip() for line in above):
            text = "".join(line for line in above if not line.startswith("%")) + text
        return text if text.endswith(("\n", "\r")) else f"{text}\n"

    def part(self, start: Any, end: Any) -> str:
        """Returns the text of a list item between a parser's marks, without the item's indentation. Includes the
        comments above the item, and excludes the comments of the items before and behind.
        """
        indent, margin = " " * start.column, start.index - start.column
        lines = self.text[start.index : end.index].splitlines(keepends=True)
        while len(lines) > 1 and (not lines[-1].strip() or _is_comment(lines[-1], outside=indent)):
            lines.pop()
        above = self.text[:margin].splitlines(keepends=True)
        comments: list[str] = []
        while above and _is_comment(above[-1], outside=indent):
            comments.insert(0, above.pop().lstrip())
        text = "".join((*comments, *(line.removeprefix(indent) for line in lines)))
        return text if text.endswith(("\n", "\r")) else f"{text}\n"

    def location(self, start: Any, end: Any) -> Location:
        """Returns the place of a parser's marks, limited to the text."""
        return self.at(start.index, end.index)

    def at(self, start: int, end: int | None = None) -> Location:
        """Returns the place from one character to another, from 0; if on two lines, only to the end of the first.

        Counts lines itself: YAML parsers also end a line at characters where no editor does.
        """
        if self._starts is None:
            if "\r" in self.text:
                self._starts = [0, *(match.end() for match in _LINE_BREAK.finditer(self.text))]
            else:
                self._starts = [*accumulate([len(line) + 1 for line in self.text.split("\n")[:-1]], initial=0)]
            if self._starts[-1] == len(self.text) > 0:  # behind the last line break there is no line
                self._starts.pop()
        line = bisect_right(self._starts, start) - 1
        start_of_line = self._starts[line]
        following = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        while following > start_of_line and self.text[following - 1] in "\r\n":
            following -= 1
        begin = min(start, following)
        if end is not None and end <= following:
            stop = end
        else:
            stop = following
            while stop > begin and self.text[stop - 1].isspace():
                stop -= 1
        start_of_source = max(start_of_line, begin - _AROUND)
        source = self.text[start_of_source : min(following, begin + _AROUND)]
        return Location(
            self.path,
            line + 1,
            begin - start_of_line + 1,
            source,
            max(1, stop - begin),
            start_of_source - start_of_line + 1,
        )


_MARK = "kubectl-tas:"
_COMMENT = late_pattern(rf"(?<!\S)#[ \t]*{_MARK}([^\r\n]*)")
_IGNORE = late_pattern(r"[ \t]*ignore\[[ \t]*([\w.-]+(?:[ \t]*,[ \t]*[\w.-]+)*)[ \t]*\]")
_NO_CONTENT = late_pattern(r"[ \t]*(#.*)?")


def waivers(path: str, text: str, documents: Sequence[Document]) -> Iterator[Waiver]:
    """Yields every comment of a file that addresses this tool; ignores text within values."""
    if _MARK not in text:
        return
    lines = Lines(path, text)
    below = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for comment in _COMMENT.finditer(text):
        if any(document.scalar_at(comment.start()) for document in documents):
            continue
        location = lines.at(comment.start(), comment.end())
        ignore_match = _IGNORE.match(comment[1])
        codes = tuple(code.strip() for code in ignore_match[1].split(",")) if ignore_match else ()
        yield Waiver(codes, location, _about(below, location.line))


def _about(lines: Sequence[str], line: int) -> int:
    """Returns the line that a comment in ``line`` refers to."""
    if lines[line - 1].lstrip().startswith("#"):
        following = range(line + 1, len(lines) + 1)
        return next((number for number in following if not _NO_CONTENT.fullmatch(lines[number - 1])), line)
    return line


YAML_LOOKALIKE = Rule(
    "yaml-lookalike",
    Severity.WARNING,
    "YAML reads a look-alike of a space or quote as text.",
    "Word processors, chats and web pages replace plain spaces and quotes by no-break spaces and curly quotes. YAML "
    "reads these as part of the word, so a name is not what it looks like. Type a plain one. If you mean the "
    "character, put the value in plain quotes.",
)
_ODD = late_pattern(rf"{syntax.ODD_SPACE.pattern}|[\u2018-\u201f]")


def lookalikes(path: str, text: str, documents: Sequence[Document]) -> Iterator[Diagnostic]:
    """Yields a finding for the first odd space of each unquoted value or key, and for a curly quote at its start."""
    if text.isascii():
        return
    lines = Lines(path, text)
    reported_starts: set[int] = set()
    for odd in _ODD.finditer(text):
        scalar = next(filter(None, (document.scalar_at(odd.start()) for document in documents)), None)
        is_space = syntax.ODD_SPACE.match(odd[0]) is not None
        if (
            scalar is None
            or scalar.style
            or scalar.start in reported_starts
            or not (is_space or scalar.start == odd.start())
        ):
            continue
        reported_starts.add(scalar.start)
        name = f"{unicodedata.name(odd[0]).lower()} (U+{ord(odd[0]):04X})"
        message = f"a {name} is text here" if is_space else f"a {name} quotes nothing; it is a part of the text"
        hint = "Type a plain space." if is_space else "Type a plain quote: \" or '."
        yield Diagnostic(YAML_LOOKALIKE, message, lines.at(odd.start(), odd.end()), hint=hint)
