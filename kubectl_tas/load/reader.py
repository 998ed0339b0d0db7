"""Converts the nodes of a YAML document to plain data, or raises the first problem. Plain scalars follow YAML 1.2's
core schema, except that 0400 is octal, as kubectl reads it.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from ruamel.yaml.nodes import MappingNode, ScalarNode

from kubectl_tas.base.diagnostics import Rule, Severity
from kubectl_tas.base.late import late_pattern
from kubectl_tas.base.yaml import LargeNumber
from kubectl_tas.load.compose import MAX_NODES
from kubectl_tas.load.source import FILE_NOT_TEXT

MAX_VALUES = MAX_NODES
"""The most values in a document after aliases are expanded."""
MERGE_KEY = "<<"
_FIRST_KEYS = ("apiVersion", "kind", "workflow")
"""Keys that documents begin with."""
CORE_TAG = "tag:yaml.org,2002:"
"""The prefix that ``!!`` abbreviates."""

YAML_DUPLICATE_KEY = Rule(
    "yaml-duplicate-key",
    Severity.ERROR,
    "A mapping has the same key twice.",
    "Parsers disagree on which of the two counts, and drop the other without a message. Remove one.",
)
YAML_TAG = Rule(
    "yaml-tag",
    Severity.ERROR,
    "A key or a value has a YAML tag such as !!str.",
    "A tag asks the parser to build another value than the text says, and parsers build different ones. Write the "
    "value plainly; put it in quotes to make it text.",
)
YAML_ALIAS = Rule(
    "yaml-alias",
    Severity.ERROR,
    "An alias refers to something that contains it, or aliases make a huge document.",
    "A few lines of nested aliases can grow into gigabytes. Write the repeated part in full.",
)
YAML_KEY = Rule(
    "yaml-key",
    Severity.ERROR,
    "A key is a list or a mapping, or a merge key names no mapping.",
    "Keys are names. Most often a '{{ }}' placeholder without quotes, or a stray '?', '[' or '{', made this one "
    "something else.",
)


class FoundError(Exception):
    """A problem found while nodes become data."""

    def __init__(self, rule: Rule, message: str, node: Any, hint: str, first: Any = None) -> None:
        super().__init__(message)
        self.rule, self.message, self.node, self.hint, self.first = rule, message, node, hint, first


class Reader:
    """Converts nodes to data, and counts nodes that aliases repeat.

    ``has_tags``: some nodes have a tag. ``bare_tags``: places at which a node begins with a ``!`` alone.
    """

    def __init__(self, *, has_tags: bool, bare_tags: frozenset[int] = frozenset()) -> None:
        self._has_tags = has_tags or bool(bare_tags)
        self._bare_tags = bare_tags
        self._size = 0
        """The number of nodes read so far."""
        self._done: dict[int, tuple[Any, int] | None] = {}
        """The data and node count of each list and mapping; None while the node is being read."""
        self.has_null = False

    def read(self, node: Any) -> Any:
        """Returns the data of ``node``, and counts nodes with aliases expanded. Raises FoundError for invalid data."""
        if self._has_tags:
            self._refuse_tag(node)
        if type(node) is ScalarNode:
            self._size += 1
            value = _quoted(node) if node.style else read_scalar(node.value)
            if value is None:
                self.has_null = True
            return value
        identity, before = id(node), self._size
        if identity in self._done:
            known = self._done[identity]
            if known is None:
                message = "this part contains itself, by an alias of its own anchor"
                raise FoundError(YAML_ALIAS, message, node, "Remove the alias, or write the part out.")
            self._size += known[1]
            return known[0]
        self._done[identity] = None
        self._size += 1
        most = before + MAX_VALUES
        data = self._mapping(node, most) if type(node) is MappingNode else self._sequence(node, most)
        self._done[identity] = data, self._size - before
        return data

    def _refuse_tag(self, node: Any) -> None:
        tag = str(node.tag or ("!" if node.start_mark.index in self._bare_tags else ""))
        if tag:
            hint = "Write the value without it; put text in quotes."
            raise FoundError(YAML_TAG, f"the tag {tag.replace(CORE_TAG, '!!', 1)} is not read", node, hint)

    def _sequence(self, node: Any, most: int) -> list[Any]:
        items = []
        for child in node.value:
            items.append(self.read(child))
            if self._size > most:
                raise _too_many(node)
        return items

    def _mapping(self, node: Any, most: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        keys: dict[str, Any] = {}
        merged: list[dict[str, Any]] = []
        for key, child in node.value:
            if self._has_tags:
                self._refuse_tag(key)
            if type(key) is not ScalarNode:
                raise _no_name(node, key)
            name = _quoted(key) if key.style else key.value
            if name in keys:
                message = f'the key "{name}" is here twice'
                is_next = name in _FIRST_KEYS and key.start_mark.column == 0
                hint = (
                    "A second document begins here: write --- on the line before." if is_next else "Remove one of them."
                )
                raise FoundError(YAML_DUPLICATE_KEY, message, key, hint, keys[name])
            keys[name] = key
            value = self.read(child)
            if self._size > most:
                raise _too_many(node)
            if name == MERGE_KEY and not key.style:
                merged += _merge_sources(value, child)
            else:
                result[name] = value
        for source in merged:
            for name, value in source.items():
                result.setdefault(name, value)
        return result


def _quoted(node: Any) -> str:
    """Returns the text of a quoted scalar, in which an escape can make any character."""
    value: str = node.value
    if "\0" in value:
        hint = "Remove it; no variable, argument or name can hold it."
        raise FoundError(FILE_NOT_TEXT, "the control character U+0000 is not text", node, hint)
    return value


def _too_many(node: Any) -> FoundError:
    message = f"more than {MAX_VALUES:,} values once aliases are written out"
    return FoundError(YAML_ALIAS, message, node, "Write the repeated part out, or split the file.")


def _no_name(node: Any, key: Any) -> FoundError:
    """Returns the error for a ``key`` of the mapping ``node`` that is not a name, such as an unquoted placeholder."""
    if type(key) is MappingNode and node.flow_style and key.flow_style:
        if _ARGO.match(str(key.value[0][0].value) if key.value else ""):
            message = "'{{' begins a mapping within a mapping; a placeholder needs quotes"
            return FoundError(YAML_KEY, message, node, "Put the whole value in quotes.")
        message = "'{{' begins a mapping within a mapping, and nothing fills in a placeholder here"
        return FoundError(YAML_KEY, message, node, "Write the value in the placeholder's place.")
    kind = "mapping" if type(key) is MappingNode else "list"
    return FoundError(YAML_KEY, f"a key must be a name, not a {kind}", key, "Write a name, or put the key in quotes.")


def _merge_sources(value: Any, node: Any) -> list[dict[str, Any]]:
    sources = value if isinstance(value, list) else [value]
    if all(isinstance(source, dict) for source in sources):
        return sources
    raise FoundError(YAML_KEY, "a merge key must name a mapping", node, "Write an alias of a mapping: <<: *anchor.")


MAX_DIGITS = 18
"""The most digits of a whole number. A longer one may exceed 64 bits, so it stays text."""
_ARGO = late_pattern(r"=|item\b|(inputs|outputs|workflow|cronworkflow|steps|tasks|pod|node|retries)\.")
"""Matches the beginnings of placeholders that Argo Workflows fills in (docs/variables.md)."""
_INT = late_pattern(rf"[-+]?[0-9]{{1,{MAX_DIGITS}}}")
_OCTAL = late_pattern(r"0o[0-7]{1,20}")
_OLD_OCTAL = late_pattern(rf"[-+]?0[0-7]{{1,{MAX_DIGITS}}}")
"""The notation of file modes, such as 0400. Go reads these as octal (sigs.k8s.io/yaml: ``resolve`` of goyaml.v2)."""
_HEX = late_pattern(r"0x[0-9a-fA-F]{1,16}")
_FLOAT = late_pattern(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_START = frozenset("-+.0123456789")
_APART = frozenset(
    {"=", "<<", *(form for word in ("y", "n", "yes", "no", "on", "off") for form in (word, word.title(), word.upper()))}
)
"""Words that YAML 1.1 does not read as text."""
_CERTAIN_NUMBER = late_pattern(rf"-?(0|[1-9][0-9]{{0,{MAX_DIGITS - 1}}})(\.[0-9]{{1,15}})?")
"""Numbers that all readers read alike: no sign in front, no leading zero, no exponent."""
_NUMBER_LIKE = late_pattern(
    r"[-+]?(0[xob][-+]?[0-9a-f]*|[0-9]*(:[0-9]*)*(\.[0-9]*)?(e[-+]?[0-9]*)?|\.(inf|nan))"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([t \t].*)?",
    re.IGNORECASE | re.DOTALL,
)
"""Texts that some reader takes for a number (of base 2, 8, 10, 16 or 60), a date or a time, once underscores are
removed. kubectl ignores underscores anywhere.
"""


def read_scalar(text: str) -> str | int | float | bool | None:
    """Returns a plain scalar as kubectl reads it; a number too large for a float is text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    if _INT.fullmatch(text):
        return int(text, 8 if _OLD_OCTAL.fullmatch(text) else 10)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEX.fullmatch(text):
        return int(text[2:], 16)
    if not _FLOAT.fullmatch(text) or not isfinite(number := float(text)):
        return text
    return number if len(text) <= 40 and not text.lstrip("+-").isdigit() else LargeNumber(text)


def reads_alike(text: str) -> bool:
    """Whether YAML 1.1, YAML 1.2 and kubectl read a plain scalar alike; false if in doubt."""
    if text in _APART:
        return False
    if not text or text[0] not in _NUMBER_START or _CERTAIN_NUMBER.fullmatch(text):
        return True
    return not _NUMBER_LIKE.fullmatch(text.replace("_", ""))


def is_certain_text(text: str) -> bool:
    """Whether YAML 1.1, YAML 1.2 and kubectl all read the scalar as text, as keys must be."""
    return text not in _WORDS and not _CERTAIN_NUMBER.fullmatch(text) and reads_alike(text)
