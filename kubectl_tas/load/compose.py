"""Composes YAML text into nodes with libyaml, and rewrites text that YAML 1.2 allows but libyaml refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import _ruamel_yaml
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.tag import Tag

from kubectl_tas.base.late import dataclass, late_pattern

MAX_DEPTH = 64
"""The greatest depth of nesting in a document."""
MAX_NODES = 500_000
"""The most keys and values in a file."""
_NODES_A_CHARACTER = 4
"""The most nodes that one character can make: ``?`` alone is a mapping with an empty key and an empty value."""

_COLON = "found unexpected ':'"
"""libyaml's error for a colon in a word within braces, such as ``image: python:3.13``."""
_SECOND_ANCHOR = "second occurrence"
"""libyaml's error for an anchor that is defined twice."""
_SURROGATE = "found invalid Unicode character escape code"
"""libyaml's error for half of a surrogate pair. JSON has no other escape for characters beyond the first 65,536."""
_PAIR = late_pattern(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_INNER_COLON = late_pattern(r"""(?<=[^\s,\[\]{}"']):(?=[^\s,\[\]{}])""")
"""A colon within a word. YAML 1.2 reads such a colon as part of the word."""
_MAX_COLONS = 8
"""The most colons behind a quote within a word that are searched one by one."""
_PRIVATE = range(0xE000, 0xF900)
"""Private characters. One that does not occur in a text replaces the colons within words of that text."""

_NO_TAG = Tag(suffix="")
"""The tag of all nodes without one, shared because a text would make a new tag for each node."""


class _BoundError(Exception):
    """A limit is exceeded at ``mark``."""

    def __init__(self, mark: Any) -> None:
        super().__init__()
        self.mark = mark


class TooDeepError(_BoundError):
    """A document is nested deeper than MAX_DEPTH."""


class TooManyError(_BoundError):
    """A file has more than MAX_NODES keys and values; ``mark`` is near the first that is too many."""


@dataclass(frozen=True, slots=True)
class DocumentRoot:
    """The root node of a document; ``node`` is None if the document is empty."""

    node: Any
    has_tags: bool
    """Whether any node up to the end of the document has a tag; otherwise all nodes have the tag ''."""
    reuses_anchors: bool = False
    """Whether any anchor is defined twice in the file."""


class _Composer(_ruamel_yaml.CParser):  # type: ignore[misc]
    """Composes texts that have no tag and cannot exceed MAX_NODES, and limits their depth.

    libyaml calls the resolver hooks for each node. They are closures and ``pop``, because methods are slower to call.
    """

    has_tags = False
    """Whether any node so far has a tag."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        parents: list[Any] = []

        def descend(parent: Any, index: Any) -> None:
            parents.append(parent)
            if len(parents) > MAX_DEPTH:
                raise TooDeepError(parent.start_mark)

        self.descend_resolver = descend
        self.ascend_resolver = parents.pop

    @staticmethod
    def resolve(kind: type, value: Any, implicit: Any) -> Tag:
        return _NO_TAG


class _Counter(_ruamel_yaml.CParser):  # type: ignore[misc]
    """Composes all other texts, and counts depth and nodes in libyaml's resolver hooks."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._nodes = 0
        self._untagged = 0

    @property
    def has_tags(self) -> bool:
        """Whether any node so far has a tag. The composer calls ``resolve`` only for nodes without a tag."""
        return self._untagged < self._nodes

    def resolve(self, kind: type, value: Any, implicit: Any) -> Tag:
        self._untagged += 1
        return _NO_TAG

    def descend_resolver(self, parent: Any, index: Any) -> None:
        self._nodes += 1
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooDeepError(parent.start_mark)
        if self._nodes > MAX_NODES:
            raise TooManyError(_end(parent))

    def ascend_resolver(self) -> None:
        self._depth -= 1


def _end(parent: Any) -> Any:
    """Returns the end of the known part of a node that is being composed; None for the parent of a root."""
    if parent is None:
        return None
    if not parent.value:
        return parent.start_mark
    last = parent.value[-1]
    return (last[1] if isinstance(last, tuple) else last).end_mark


def compose(text: str) -> list[DocumentRoot]:
    """Returns the root nodes of all documents.

    Raises TooDeepError, TooManyError, and ruamel's YAMLError for text that is not YAML.
    """
    try:
        return _composed(text)
    except MarkedYAMLError as error:
        if error.problem == _SURROGATE and _is_json(text):
            return _json(text)
        if error.problem not in (_COLON, _SECOND_ANCHOR):
            raise
    return _lenient(text)


def _composed(text: str) -> list[DocumentRoot]:
    """Returns the root nodes that libyaml composes from the text."""
    is_small = len(text) * _NODES_A_CHARACTER <= MAX_NODES and "!" not in text
    composer = _Composer(text) if is_small else _Counter(text)
    roots = []
    try:
        while composer.check_node():
            node = composer.get_node()
            roots.append(DocumentRoot(node, composer.has_tags))
    except TooManyError as error:
        error.mark = error.mark or roots[-1].node.end_mark
        raise
    finally:
        composer.dispose()
    return roots


def _json(text: str) -> list[DocumentRoot]:
    """Returns the root nodes of JSON, in which two surrogate escapes may stand for one character.

    One escape behind an escaped line break replaces both. The line break means nothing and keeps the length, so that
    all marks stay correct. A key must be on one line. If a key has such a character, no line break is added, and each
    such character shifts all later marks two characters to the left.
    """
    try:
        return _composed(_PAIR.sub(lambda pair: f"{pair[1]}\\\n{_escape(pair)}", text))
    except MarkedYAMLError:
        return _composed(_PAIR.sub(lambda pair: f"{pair[1]}{_escape(pair)}", text))


def _escape(pair: re.Match[str]) -> str:
    """Returns the one escape for a pair of surrogates."""
    character = 0x10000 + ((int(pair[2], 16) & 0x3FF) << 10) + (int(pair[3], 16) & 0x3FF)
    return f"\\U{character:08X}"


def _is_json(text: str) -> bool:
    """Whether the whole text is JSON."""
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


def _lenient(text: str) -> list[DocumentRoot]:
    """Returns the root nodes of a text with colons in words within braces, or with an anchor defined twice.

    A character of the same length replaces colons within words, so that all marks stay correct. Some colons are found
    only by trying again; more than _MAX_COLONS of these stay an error.
    """
    stand_in = next((chr(code) for code in _PRIVATE if chr(code) not in text), None)
    if stand_in is None:
        return list(_from_events(text, ":"))
    hidden = _INNER_COLON.sub(stand_in, text)
    for _ in range(_MAX_COLONS):
        try:
            return list(_from_events(hidden, stand_in))
        except MarkedYAMLError as error:
            place = error.problem_mark.index if error.problem == _COLON else -1
            if hidden[place : place + 1] != ":":
                raise
            hidden = f"{hidden[:place]}{stand_in}{hidden[place + 1 :]}"
    return list(_from_events(hidden, stand_in))


def _from_events(text: str, stand_in: str) -> Iterator[DocumentRoot]:
    """Returns the root nodes built from libyaml's events; ``stand_in`` replaces colons."""
    builder = _Builder(_ruamel_yaml.CParser(text), stand_in)
    event = builder.next()
    roots = []
    while not isinstance(event, StreamEndEvent):
        if isinstance(event, DocumentStartEvent):
            node = builder.document()
            roots.append((node, builder.has_tags))
        event = builder.next()
    return (DocumentRoot(node, has_tags, reuses_anchors=builder.reuses_anchors) for node, has_tags in roots)


class _Builder:
    """Builds nodes from libyaml's events."""

    def __init__(self, parser: Any, stand_in: str) -> None:
        self.next = parser.get_event
        self.has_tags = False
        self.reuses_anchors = False
        self._stand_in = stand_in
        self._anchors: dict[str, Any] = {}
        self._nodes = 0

    def document(self) -> Any:
        """Returns the root node of the document that begins."""
        self._anchors = {}
        return self._node(self.next(), 0)

    def _node(self, event: Any, depth: int) -> Any:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise TooManyError(event.start_mark)
        if type(event) is AliasEvent:
            if event.anchor not in self._anchors:
                raise MarkedYAMLError(problem="found undefined alias", problem_mark=event.start_mark)
            return self._anchors[event.anchor]
        node = self._open(event)
        if event.anchor is not None:
            self.reuses_anchors |= event.anchor in self._anchors
            self._anchors[event.anchor] = node
        if type(node) is ScalarNode:
            return node
        self._compose_children(node, depth + 1)
        return node

    def _open(self, event: Any) -> Any:
        """Returns the node that begins with an event, without its children."""
        tag = event.tag or ""
        self.has_tags = self.has_tags or bool(tag)
        if type(event) is not ScalarEvent:
            kind = MappingNode if type(event) is MappingStartEvent else SequenceNode
            return kind(tag, [], event.start_mark, event.end_mark, event.flow_style)
        value = event.value.replace(self._stand_in, ":") if self._stand_in in event.value else event.value
        return ScalarNode(tag, value, event.start_mark, event.end_mark, style=event.style)

    def _compose_children(self, node: Any, depth: int) -> None:
        """Reads the children of a list or mapping, to its end."""
        is_list = type(node) is SequenceNode
        while True:
            event = self.next()
            if type(event) in (SequenceEndEvent, MappingEndEvent):
                node.end_mark = event.end_mark
                return
            if depth == MAX_DEPTH and type(event) is not AliasEvent:
                raise TooDeepError(node.start_mark)
            child = self._node(event, depth)
            node.value.append(child if is_list else (child, self._node(self.next(), depth)))
