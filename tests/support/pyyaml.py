"""Loads YAML with the C parser of PyYAML's safe loader; the Python parser takes ten times as long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml


def safe_load(text: str | bytes) -> Any:
    """Returns the only document of a text; None if it has none."""
    return yaml.load(text, yaml.CSafeLoader)


def safe_load_all(text: str | bytes) -> Iterator[Any]:
    """Returns the documents of a text."""
    return yaml.load_all(text, yaml.CSafeLoader)


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, _: Any) -> bool:
        return True


def dumped(document: Any) -> str:
    """Returns a document as YAML in its own order, without anchors, and with a line for each key and item."""
    text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, default_flow_style=False, width=10**6)
    return text


def places(text: str) -> dict[tuple[str | int, ...], set[tuple[int, int]]]:
    """Returns where the key and the value at each path of a document begin, as lines and columns from 1."""
    found: dict[tuple[str | int, ...], set[tuple[int, int]]] = {}
    waiting: list[tuple[tuple[str | int, ...], yaml.Node]] = [((), yaml.compose(text, yaml.CSafeLoader))]
    while waiting:
        path, node = waiting.pop()
        found.setdefault(path, set()).add((node.start_mark.line + 1, node.start_mark.column + 1))
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                below = (*path, key.value)
                found[below] = {(key.start_mark.line + 1, key.start_mark.column + 1)}
                waiting.append((below, value))
        elif isinstance(node, yaml.SequenceNode):
            waiting += [((*path, index), item) for index, item in enumerate(node.value)]
    return found
