"""Reads YAML as other programs do: a reader of YAML 1.1, one of YAML 1.2, and kubectl's.

They share libyaml's events (PyYAML's copy, not the product's), and differ in plain scalars, keys and merge keys.
``pure`` has its own parser, which follows YAML 1.2 literally.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

MERGE = "<<"
MAX_VALUES = 400_000
"""Maximum number of values that aliases may expand to."""


class UnreadableError(Exception):
    """A reader refuses the text."""


@dataclass(frozen=True, slots=True)
class Special:
    """A scalar that YAML 1.1 reads as a date, as a number of base 60, or as a special value."""

    text: str


@dataclass(frozen=True, slots=True)
class Reader:
    """The rules by which a family of programs reads the nodes of a document."""

    name: str
    scalar: Callable[[str], object]
    """Reads a plain scalar."""
    merges: bool
    """Whether ``<<`` merges the keys of another mapping."""
    last_wins: bool
    """Whether a merge key overrides keys before it."""


def compose(text: str) -> list[Any]:
    """Returns the root node of every document that is not empty. Raises UnreadableError.
    An anchor may be redefined: YAML and kubectl allow that, PyYAML's own composer does not.
    """
    nodes = []
    try:
        parser = yaml.cyaml.CParser(text)
        try:
            parser.get_event()
            while not parser.check_event(StreamEndEvent):
                parser.get_event()
                nodes.append(_node(parser, {}))
                parser.get_event()
        finally:
            parser.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from error
    return [node for node in nodes if not (type(node) is ScalarNode and not node.value and not node.style)]


def _node(parser: Any, anchors: dict[str, Any]) -> Any:
    event = parser.get_event()
    if type(event) is AliasEvent:
        if event.anchor not in anchors:
            raise UnreadableError("an alias without an anchor")
        return anchors[event.anchor]
    if type(event) is ScalarEvent:
        node: Any = ScalarNode(event.tag, event.value, style=event.style)
    elif type(event) is SequenceStartEvent:
        node = SequenceNode(event.tag, [])
    else:
        node = MappingNode(event.tag, [])
    if event.anchor is not None:
        anchors[event.anchor] = node
    if type(node) is SequenceNode:
        while not parser.check_event(SequenceEndEvent):
            node.value.append(_node(parser, anchors))
        parser.get_event()
    elif type(node) is MappingNode:
        while not parser.check_event(MappingEndEvent):
            node.value.append((_node(parser, anchors), _node(parser, anchors)))
        parser.get_event()
    return node


def read(node: Any, reader: Reader) -> Any:
    """Returns the data of a document. Raises UnreadableError for a tag, for a cycle, and for endless aliases."""
    return _Construction(reader).value(node)


class _Construction:
    """Constructs values and counts them, since aliases multiply values."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._left = MAX_VALUES
        self._open: set[int] = set()

    def value(self, node: Any) -> Any:
        self._left -= 1
        if self._left < 0 or id(node) in self._open:
            raise UnreadableError("aliases without an end")
        if node.tag:
            raise UnreadableError(f"the tag {node.tag}")
        if type(node) is ScalarNode:
            return node.value if node.style else self._reader.scalar(node.value)
        self._open.add(id(node))
        if type(node) is SequenceNode:
            found: Any = [self.value(item) for item in node.value]
        else:
            found = self._mapping(node)
        self._open.discard(id(node))
        return found

    def _mapping(self, node: MappingNode) -> dict[str, Any]:
        found: dict[str, Any] = {}
        explicit: set[str] = set()
        merged: list[Any] = []
        for key, item in node.value:
            if type(key) is not ScalarNode:
                raise UnreadableError("a key is no scalar")
            if self._reader.merges and key.value == MERGE and not key.style:
                sources = self.value(item)
                for source in reversed(sources) if isinstance(sources, list) else (sources,):
                    if not isinstance(source, dict):
                        raise UnreadableError("a merge key names no mapping")
                    if self._reader.last_wins:
                        found |= source
                    else:
                        merged.append(source)
                continue
            name = json_key(self.value(key))
            if name in explicit:
                raise UnreadableError(f"the key {name!r} twice")
            explicit.add(name)
            found[name] = self.value(item)
        for source in reversed(merged):
            for name, inner in source.items():
                found.setdefault(name, inner)
        return found


def json_key(key: object) -> str:
    """Returns a key as in JSON, which is the form that an API server sees."""
    match key:
        case bool():
            return "true" if key else "false"
        case None:
            return "null"
        case _:
            return str(key)


_INT_12 = re.compile(r"[-+]?[0-9]+")
_FLOAT_12 = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NULLS = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_BOOLS_12 = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_BOOLS_11 = _BOOLS_12 | {
    spelled: value
    for word, value in {"y": True, "yes": True, "on": True, "n": False, "no": False, "off": False}.items()
    for spelled in (word, word.capitalize(), word.upper())
}
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_NAN = (".nan", ".NaN", ".NAN")


def core(text: str) -> object:
    """Reads a plain scalar by the core schema of YAML 1.2."""
    for words in (_NULLS, _BOOLS_12):
        if text in words:
            return words[text]
    if text[0] not in "-+.0123456789":
        return text
    if _INT_12.fullmatch(text):
        return _int(text, 10)
    if re.fullmatch("0o[0-7]+", text):
        return _int(text[2:], 8)
    if re.fullmatch("0x[0-9a-fA-F]+", text):
        return _int(text[2:], 16)
    return _float(text) if _FLOAT_12.fullmatch(text) else _special(text)


_INT_11 = re.compile(r"[-+]?(0b[0-1_]+|0[0-7_]+|(?:0|[1-9][0-9_]*)|0x[0-9a-fA-F_]+)")
_FLOAT_11 = re.compile(r"[-+]?([0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?)")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?"
    r"([ \t]*(Z|[-+][0-9]{1,2}(:[0-9]{2})?))?"
)


def old(text: str) -> object:
    """Reads a plain scalar by the types of YAML 1.1."""
    for words in (_NULLS, _BOOLS_11):
        if text in words:
            return words[text]
    if text in ("=", MERGE):
        return Special(text)
    if text[0] not in "-+.0123456789":
        return text
    if _INT_11.fullmatch(text):
        return _signed(text.replace("_", ""))
    if _TIMESTAMP.fullmatch(text):
        return Special(text)
    if _BASE_60.fullmatch(text):
        return Special(f"base 60: {text}")
    return _float(text.replace("_", "")) if _FLOAT_11.fullmatch(text) else _special(text)


_GO_INT = re.compile(r"[-+]?(0[bB](_?[01])+|0[oO](_?[0-7])+|0[xX](_?[0-9a-fA-F])+|0(_?[0-7])*|[1-9](_?[0-9])*)")


def kubectl(text: str) -> object:
    """Reads a plain scalar like kubectl's YAML package: Go's numbers, the words of YAML 1.1, dates as text."""
    for words in (_NULLS, _BOOLS_11):
        if text in words:
            return words[text]
    if text[0] not in "-+.0123456789":
        return text
    plain = text.replace("_", "") if text[0] != "." else text
    if _GO_INT.fullmatch(plain):
        return _signed(plain)
    if _FLOAT_12.fullmatch(plain):
        number = _float(plain)
        return text if number in (float("inf"), float("-inf")) else number
    return _special(text)


def _special(text: str) -> object:
    infinite = _INFINITE.fullmatch(text)
    if infinite:
        return float(f"{infinite[1]}inf")
    return float("nan") if text in _NAN else text


def _signed(text: str) -> object:
    """Reads an integer whose prefix gives its base."""
    digits = text.lstrip("+-").lower()
    sign = "-" if text.startswith("-") else ""
    for prefix, base in (("0b", 2), ("0x", 16), ("0o", 8)):
        if digits.startswith(prefix):
            return _int(sign + digits[2:], base)
    return _int(sign + digits, 8 if len(digits) > 1 and digits.startswith("0") else 10)


def _int(text: str, base: int) -> object:
    return int(text, base) if len(text) < 4000 else float("inf")


def _float(text: str) -> float:
    return float(text)


YAML_11 = Reader("YAML 1.1", old, merges=True, last_wins=False)
YAML_12 = Reader("YAML 1.2", core, merges=True, last_wins=False)
KUBECTL = Reader("kubectl", kubectl, merges=True, last_wins=True)
READERS = (YAML_12, YAML_11, KUBECTL)


def chunks(text: str) -> list[str]:
    """Cuts a stream into documents as kubectl does before it parses YAML: at lines that contain only ``---``."""
    found: list[list[str]] = [[]]
    for line in text.splitlines(keepends=True) if "\r" not in text else re.split("(?<=\n)", text):
        if line.startswith("---") and not line[3:].strip():
            found.append([])
        else:
            found[-1].append(line)
    return [chunk for chunk in map("".join, found) if chunk.strip()]


def pure(text: str) -> list[Any]:
    """Returns all documents by ruamel's own parser, which does not use libyaml. Raises UnreadableError."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 2)
    reader.allow_duplicate_keys = False
    try:
        return [item for item in reader.load_all(text) if item is not None]
    except (YAMLError, ValueError, RecursionError, TypeError) as error:
        raise UnreadableError(str(error)) from error


class Absent:
    """A missing value."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT = Absent()
Path = tuple[str | int, ...]
OWNED = "kai.scheduler/"
"""Prefix of labels and annotations whose values the tool rewrites."""


def differ(left: Any, right: Any) -> Path | None:
    """Returns the path at which two values differ; None if an API server sees the same."""
    if isinstance(left, dict) and isinstance(right, dict):
        left, right = ({json_key(key): item for key, item in side.items()} for side in (left, right))
        if left.keys() != right.keys():
            return (min(left.keys() ^ right.keys()),)
        pairs: Any = ((key, left[key], right[key]) for key in left)
    elif isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return (min(len(left), len(right)),)
        pairs = ((index, *pair) for index, pair in enumerate(zip(left, right, strict=True)))
    else:
        return None if same(left, right) else ()
    for step, one, other in pairs:
        found = differ(one, other)
        if found is not None:
            return (step, *found)
    return None


def at(value: Any, path: Path) -> Any:
    """Returns the value at a path; ABSENT if there is none."""
    for step in path:
        if isinstance(value, dict):
            value = {json_key(key): item for key, item in value.items()}.get(str(step), ABSENT)
        else:
            value = value[step] if isinstance(step, int) and isinstance(value, list) and step < len(value) else ABSENT
    return value


def lacks(judged: Any, read_: Any) -> Path | None:
    """Returns the path at which ``read_`` lacks or changes a judged value. ``read_`` may contain more."""
    if isinstance(judged, dict) and isinstance(read_, dict):
        there = {json_key(key): item for key, item in read_.items()}
        pairs: Any = ((key, item, there.get(key, ABSENT)) for key, item in judged.items())
    elif isinstance(judged, list) and isinstance(read_, list):
        if len(judged) != len(read_):
            return (min(len(judged), len(read_)),)
        pairs = ((index, *pair) for index, pair in enumerate(zip(judged, read_, strict=True)))
    elif judged is None or (judged == {} and read_ is ABSENT):
        return None
    else:
        return None if same(judged, read_) else ()
    for step, one, other in pairs:
        if isinstance(other, str) and str(step).startswith(OWNED):
            continue
        found = lacks(one, other)
        if found is not None:
            return (step, *found)
    return None


def same(left: Any, right: Any) -> bool:
    """Whether two scalars are the same for an API server: 1 and 1.0 are, 1 and '1' are not."""
    if type(left) is str and type(right) is str:
        return left == right
    if isinstance(left, bool) or isinstance(right, bool) or left is None or right is None:
        return left is right
    if isinstance(left, str) and type(left) is not str and isinstance(right, (int, float)):
        return same(core(left), right)  # a number that is kept as it was written
    return (left != left and right != right) or bool(left == right)
