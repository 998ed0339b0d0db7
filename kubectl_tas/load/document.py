"""YAML text in, plain data with positions out.

The text is composed into nodes; scalars are read by YAML 1.2's core schema. A position is looked
up in the nodes only when somebody asks for it.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from kubectl_tas.diagnostics import Diagnostic, Location, Related, Rule, Severity
from kubectl_tas.load import syntax
from kubectl_tas.load.compose import MAX_DEPTH, TooDeepError, compose
from kubectl_tas.load.lines import Lines
from kubectl_tas.model.base import LargeNumber
from kubectl_tas.model.repository import KeyPath

MAX_NODES = 250_000
"""How many nodes a document may have once its aliases are written out."""
MERGE_KEY = "<<"
CORE_TAG = "tag:yaml.org,2002:"
"""What ``!!`` stands for."""

YAML_DUPLICATE_KEY = Rule(
    "yaml-duplicate-key",
    Severity.ERROR,
    "A mapping has the same key twice.",
    "Parsers disagree on which of the two counts: one of them is lost without a word. Remove one.",
)
YAML_TAG = Rule(
    "yaml-tag",
    Severity.ERROR,
    "A value carries a YAML tag such as !!str or !env.",
    "A tag asks the parser to build something else than the text says, and parsers differ in what they "
    "build. Write the value plainly; put it in quotes to make it text.",
)
YAML_ALIAS = Rule(
    "yaml-alias",
    Severity.ERROR,
    "An alias refers to something that contains it, or aliases multiply into a huge document.",
    "A few lines of nested aliases can grow into gigabytes. Write the repeated part out.",
)
YAML_KEY = Rule(
    "yaml-key",
    Severity.ERROR,
    "A key is a list or a mapping, or a merge key does not name a mapping.",
    "Keys are names. Most often a '{{ }}' placeholder without quotes, or a stray '?', '[' or '{', made this one "
    "something else.",
)
YAML_DEPTH = Rule(
    "yaml-depth",
    Severity.ERROR,
    "A document is nested more than 64 levels deep.",
    "Nothing that this tool reads is nested so deep. Most often brackets were not closed.",
)


class _FoundError(Exception):
    """A problem found while nodes become data."""

    def __init__(self, rule: Rule, message: str, node: Any, hint: str, first: Any = None) -> None:
        super().__init__(message)
        self.rule, self.message, self.node, self.hint, self.first = rule, message, node, hint, first


class Document:
    """One YAML document: its data and the nodes that know where everything stands.

    ``index`` is its place among the documents of its file, from 0; ``has_null`` tells whether any value is empty.
    """

    __slots__ = ("_lines", "_node", "data", "has_null", "index", "path")

    def __init__(self, path: str, index: int, node: Any, data: Any, lines: Lines, *, has_null: bool) -> None:
        self.path = path
        self.index = index
        self.data = data
        self.has_null = has_null
        self._node = node
        self._lines = lines

    def locate(self, path: KeyPath, *, key: bool = False) -> Location:
        """The place of the value (or of the key) at ``path``; of its nearest parent where it is absent."""
        node, name = self._node, None
        for step in path:
            found = _child(node, step)
            if found is None:
                key = True
                break
            name, node = found
        chosen = name if key and name is not None else node
        return self._lines.location(chosen.start_mark, chosen.end_mark)

    def source_text(self, path: KeyPath) -> str | None:
        """The scalar at ``path`` as it was written, without quotes; None where there is none."""
        node = self._node
        for step in path:
            found = _child(node, step)
            if found is None:
                return None
            node = found[1]
        return str(node.value) if type(node) is ScalarNode else None

    def value(self, path: KeyPath) -> object:
        """What was written at ``path``; None where it is absent or empty."""
        found: Any = self.data
        for step in path:
            if isinstance(found, dict):
                found = found.get(step)
            else:
                found = found[int(step)] if isinstance(found, list) and int(step) < len(found) else None
        return found

    def obstacle(self, path: KeyPath) -> KeyPath | None:
        """The part of ``path`` at which nothing can be added without changing other places; None: there is none.

        That is an anchor or an alias, a mapping that a merge key brings in, or a key without a value.
        """
        node, shared = self._node, _repeated(self._node) if self._lines.has_aliases else frozenset()
        for depth, step in enumerate(path):
            if id(node) in shared or type(node) is ScalarNode:
                return path[:depth]
            found = _child(node, step)
            if found is None:
                return None
            if type(node) is MappingNode and all(value is not found[1] for _, value in node.value):
                return path[: depth + 1]
            node = found[1]
        return path if id(node) in shared else None

    @property
    def text(self) -> str:
        """The text of this document alone, with its comments."""
        return self._lines.document(self._node.start_mark.index)


def parse(path: str, text: str) -> tuple[tuple[Document, ...], tuple[Diagnostic, ...]]:
    """All documents of a file, or none and the one problem that stops its reading.

    Empty documents are left out. Never raises for bad input.
    """
    lines = Lines(path, text)
    documents: list[Document] = []
    try:
        for node, has_tags in compose(text):
            if node is None or (type(node) is ScalarNode and not node.value and not node.style):
                continue
            reader = _Reader(has_tags=has_tags)
            data = reader.read(node)
            documents.append(Document(path, len(documents), node, data, lines, has_null=reader.has_null))
    except TooDeepError as error:
        message = f"nested more than {MAX_DEPTH} levels deep"
        problem = Diagnostic(
            YAML_DEPTH, message, lines.location(error.mark, error.mark), hint="Close the brackets, or nest less."
        )
        return (), (problem,)
    except _FoundError as error:
        return (), (_found(error, lines),)
    except MarkedYAMLError as error:
        return (), (syntax.explain(error, text, lines.location),)
    except (YAMLError, ValueError) as error:
        return (), (syntax.unreadable(path, str(error)),)
    return tuple(documents), ()


def _found(error: _FoundError, lines: Lines) -> Diagnostic:
    node = error.node
    related: tuple[Related, ...] = ()
    if error.first is not None:
        place = lines.location(error.first.start_mark, error.first.end_mark)
        related = (Related(f"first at line {place.line}", place),)
    place = lines.location(node.start_mark, node.end_mark)
    return Diagnostic(error.rule, error.message, place, related, hint=error.hint)


class _Reader:
    """Turns nodes into data, counting what aliases multiply."""

    def __init__(self, *, has_tags: bool) -> None:
        self._has_tags = has_tags
        self._done: dict[int, tuple[Any, int]] = {}
        self._open: set[int] = set()
        self.has_null = False

    def read(self, node: Any) -> Any:
        return self._read(node)[0]

    def _read(self, node: Any) -> tuple[Any, int]:
        """The data of ``node`` and the number of nodes in it, aliases written out."""
        if self._has_tags and node.tag:
            tag = str(node.tag).replace(CORE_TAG, "!!", 1)
            hint = "Write the value without it; put text in quotes."
            raise _FoundError(YAML_TAG, f"the tag {tag} is not read", node, hint)
        if type(node) is ScalarNode:
            value = node.value if node.style else _scalar(node.value)
            self.has_null = self.has_null or value is None
            return value, 1
        known = self._done.get(id(node))
        if known is not None:
            return known
        if id(node) in self._open:
            message = "this part contains itself, by an alias of its own anchor"
            raise _FoundError(YAML_ALIAS, message, node, "Remove the alias, or write the part out.")
        self._open.add(id(node))
        result = self._mapping(node) if type(node) is MappingNode else self._sequence(node)
        if result[1] > MAX_NODES:
            message = f"more than {MAX_NODES:,} values once aliases are written out"
            raise _FoundError(YAML_ALIAS, message, node, "Write the repeated part out, or split the file.")
        self._open.discard(id(node))
        self._done[id(node)] = result
        return result

    def _sequence(self, node: Any) -> tuple[list[Any], int]:
        items, size = [], 1
        for child in node.value:
            value, count = self._read(child)
            items.append(value)
            size += count
        return items, size

    def _mapping(self, node: Any) -> tuple[dict[str, Any], int]:
        result: dict[str, Any] = {}
        size = 1
        keys: dict[str, Any] = {}
        merged: list[dict[str, Any]] = []
        for key, child in node.value:
            if type(key) is not ScalarNode:
                raise _no_name(node, key)
            name = key.value
            if name in keys:
                message = f'the key "{name}" is here twice'
                raise _FoundError(YAML_DUPLICATE_KEY, message, key, "Remove one of them.", keys[name])
            keys[name] = key
            value, count = self._read(child)
            size += count
            if name == MERGE_KEY and not key.style:
                merged += _merge_sources(value, child)
            else:
                result[name] = value
        for source in merged:
            for name, value in source.items():
                result.setdefault(name, value)
        return result, size


def _no_name(node: Any, key: Any) -> _FoundError:
    """Why ``key`` of the mapping ``node`` is none; most often it is a placeholder without quotes."""
    if type(key) is MappingNode and node.flow_style and key.flow_style:
        message = "'{{' begins a mapping within a mapping; a placeholder needs quotes"
        return _FoundError(YAML_KEY, message, node, "Put the whole value in quotes, or fill the placeholder in.")
    kind = "mapping" if type(key) is MappingNode else "list"
    return _FoundError(YAML_KEY, f"a key must be a name, not a {kind}", key, "Write a name, or put the key in quotes.")


def _merge_sources(value: Any, node: Any) -> list[dict[str, Any]]:
    sources = value if isinstance(value, list) else [value]
    if all(isinstance(source, dict) for source in sources):
        return sources
    raise _FoundError(YAML_KEY, "a merge key must name a mapping", node, "Write an alias of a mapping: <<: *anchor.")


def _child(node: Any, step: str | int) -> tuple[Any, Any] | None:
    """The key node (None in a sequence) and the value node one step below ``node``."""
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
        elif key.value == MERGE_KEY and near is None:
            for source in value.value if type(value) is SequenceNode else (value,):
                near = near or _child(source, step)
    return near


def _repeated(root: Any) -> frozenset[int]:
    """Identities of the nodes that stand in more than one place."""
    seen: set[int] = set()
    repeated: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            repeated.add(id(node))
            continue
        seen.add(id(node))
        if type(node) is MappingNode:
            waiting += [value for _, value in node.value]
        elif type(node) is SequenceNode:
            waiting += node.value
    return frozenset(repeated)


MAX_DIGITS = 18
"""A whole number with more digits may be beyond 64 bits, so it stays text."""
_INT = re.compile(rf"[-+]?[0-9]{{1,{MAX_DIGITS}}}")
_OCTAL = re.compile(r"0o[0-7]{1,20}")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,16}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_START = frozenset("-+.0123456789")


def _scalar(text: str) -> str | int | float | bool | None:
    """A plain scalar by the core schema of YAML 1.2; numbers too large to be exact stay text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    if _INT.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEX.fullmatch(text):
        return int(text[2:], 16)
    if len(text) <= 40 and not text.lstrip("+-").isdigit() and _FLOAT.fullmatch(text):
        number = float(text)
        return number if isfinite(number) else LargeNumber(text)
    return LargeNumber(text) if _FLOAT.fullmatch(text) else text
