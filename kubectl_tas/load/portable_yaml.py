"""Tells whether every YAML reader gets the same data from the text of a document.

kubectl reads YAML 1.1 in its own way; other tools read 1.2. If readers disagree about a text, the tool writes the data
anew instead of copying the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode

from kubectl_tas.late import late_pattern
from kubectl_tas.load.compose import TooDeepError, TooManyError
from kubectl_tas.load.document import roots
from kubectl_tas.load.reader import is_certain_text
from kubectl_tas.load.reader import reads_alike as scalar_reads_alike

MAX_EXPANSION = 50
"""The greatest growth of a document when aliases are expanded; kubectl refuses a growth of 100."""
_ODD_TEXT = late_pattern("^(?:---|\\.\\.\\.|%)|\r|[\x85\u2028\u2029\ufeff]", re.MULTILINE)
"""A document separator of kubectl at the start of any line, or a line break of YAML 1.1 only."""
_ODD_ESCAPE = late_pattern(r"(?<!\\)(?:\\\\)*\\(?:/|u[dD][89a-fA-F]|U0000[dD][89a-fA-F]|\t)")
"""Escapes in double quotes that YAML 1.1 lacks."""
_INDICATOR_IN_WORD = late_pattern(r":(?![A-Za-z0-9/_.-])|(?<![A-Za-z0-9/_.-]):|\?")
"""Colons and question marks at which parsers may end a plain scalar within braces."""
_ODD_HEAD = late_pattern(r"[^\n]*[|>][-+0-9]*#")
"""The head of a block scalar with a comment directly behind it."""
_ODD_TAB = late_pattern(r"^(?:(?!(?:^|[ ])#)[^\n\t])*\t", re.MULTILINE)
"""A tab outside of comments."""
_ODD_TAB_IN_BLOCK = late_pattern(r"\A[^\n]*\t|^[ ]*\t[ \t]*$", re.MULTILINE)
"""A tab in the head of a block scalar, or in one of its empty lines."""


def reads_alike(text: str) -> bool:
    """Whether all readers agree on a text of one document with plain line feeds. Never raises for bad input."""
    if _ODD_TEXT.search(text):
        return False
    try:
        (root,) = roots(text)
    except (YAMLError, ValueError, TooDeepError, TooManyError):  # a part of a file that is no document by itself
        return False
    if root.reuses_anchors or ("*" in text and _is_mostly_aliases(root.node)):
        return False
    scalars = list(_scalars(root.node))
    if any(scalar is None for scalar in scalars):
        return False
    if any(scalar.style in ("|", ">") and _ODD_HEAD.match(_source(scalar, text)) for scalar in scalars):
        return False
    quoted = [scalar for scalar in scalars if scalar.style] if "\t" in text or "\\" in text else []
    if any(scalar.style == '"' and _ODD_ESCAPE.search(_source(scalar, text)) for scalar in quoted):
        return False
    return "\t" not in text or not _has_odd_tab(quoted, text)


def _scalars(root: Any) -> Iterator[Any]:
    """Yields all scalars of a document; None in place of a scalar that readers may disagree on."""
    seen: set[int] = set()
    waiting: list[tuple[Any, bool]] = [(root, False)]
    while waiting:
        node, in_flow = waiting.pop()
        if id(node) in seen:
            continue
        if type(node) is ScalarNode:
            yield node if node.style or _is_alike(node.value, scalar_reads_alike, in_flow=in_flow) else None
            continue
        seen.add(id(node))
        in_flow = bool(node.flow_style)
        if type(node) is MappingNode:
            for key, value in node.value:
                yield key if key.style or _is_alike(key.value, is_certain_text, in_flow=in_flow) else None
                waiting.append((value, in_flow))
        else:
            waiting += [(item, in_flow) for item in node.value]


def _is_mostly_aliases(root: Any) -> bool:
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        if id(node) not in sizes:
            children = node.value if type(node) is not ScalarNode else ()
            pairs = (child if isinstance(child, tuple) else (child,) for child in children)
            sizes[id(node)] = 1 + sum(size(child) for pair in pairs for child in pair)
        return sizes[id(node)]

    return size(root) > MAX_EXPANSION * len(sizes)


def _is_alike(plain: str, reads: Callable[[str], bool], *, in_flow: bool) -> bool:
    """Whether all readers agree on a plain value, or read a plain key as the same text; false for a merge key."""
    return reads(plain) and not (in_flow and _INDICATOR_IN_WORD.search(plain))


def _has_odd_tab(quoted: list[Any], text: str) -> bool:
    """Whether the text has a tab that some parsers refuse: anywhere but in quotes, comments and block scalars."""
    rest = []
    place = 0
    for scalar in sorted(quoted, key=lambda scalar: scalar.start_mark.index):
        if scalar.style in "|>" and _ODD_TAB_IN_BLOCK.search(_source(scalar, text)):
            return True
        rest.append(text[place : scalar.start_mark.index])
        place = max(place, scalar.end_mark.index)
    rest.append(text[place:])
    return bool(_ODD_TAB.search('""'.join(rest)))


def _source(scalar: Any, text: str) -> str:
    """Returns a scalar as written, with its quotes or its head."""
    return text[scalar.start_mark.index : scalar.end_mark.index]
