"""Knows every place of a document that names something else: one list for renames, completion, definition and tests."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from kubectl_tas.kinds import SET
from kubectl_tas.kinds.backdoors import BACKDOORS, Decides
from kubectl_tas.kinds.section import child, written
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath

BY_KEY = {
    **{door.key: "queue" for door in BACKDOORS if door.decides is Decides.QUEUE},
    labels.POOL: "pool",
    labels.TOPOLOGY: "topology",
    labels.PLACEMENT_REQUIRED: "level",
    labels.PLACEMENT_PREFERRED: "level",
    labels.SEGMENT_REQUIRED: "level",
    labels.SEGMENT_PREFERRED: "level",
    labels.POD_GROUP: "podgroup",
}
"""The kind of thing that the value of a key names, in labels, annotations, selectors and fields that KAI reads."""
BY_PATH = (
    ("Workflow", "workflow.pool", "pool"),
    ("Workflow", "workflow.backend", "backend"),
    ("Workflow", "workflow.*tasks[[]*[]].resource", "resource"),
    ("Workflow", "workflow.*tasks[[]*[]].inputs[[]*[]].task", "task"),
    ("Workflow", "*resources.*.platform", "platform"),
    ("Workflow", "*resources.*.topology[[]*[]].key", "level"),
    ("Pool", "spec.parent", "pool"),
    ("Pool", "spec.topology", "topology"),
    ("Pool", "spec.backend", "backend"),
    ("Pool", "spec.default_platform", "platform"),
    ("Subpool", "spec.parent", "pool"),
    ("PodGroup", "spec.*topologyConstraint.topology", "topology"),
    ("PodGroup", "spec.*topologyConstraint.*TopologyLevel", "level"),
    (SET.kind, "spec.*topologyConstraint.packDomain", "level"),
    (SET.kind, "spec.*topologyConstraint.pack.*", "level"),
    (SET.kind, "spec.*startsAfter[[]*[]]", "clique"),
    (SET.kind, "spec.*cliqueNames[[]*[]]", "clique"),
    ("*", "spec.*opologyName", "topology"),
)
"""The kind of thing that a field names, by the kind of the document and the path of the field."""
_CONTENT = ("data", "stringData", "binaryData")
"""Keys of a document whose values Kubernetes does not read."""


def kind_of(data: object) -> str:
    """Returns the kind of a document. An OSMO workflow has none; its kind is Workflow."""
    kind = "Workflow" if isinstance(data, dict) and "workflow" in data else child(data, "kind")
    return kind if isinstance(kind, str) else ""


def named_at(data: object, path: KeyPath) -> str | None:
    """Returns what the text at a path of a document names: pool, queue, topology, level, backend, podgroup or platform;
    within a document also resource, task or clique. None if it names nothing.
    """
    if not path or path[0] in _CONTENT:
        return None
    key: object = path[-1]
    if path[-2:-1] == ("values",):  # of a selector with matchExpressions
        expression: Any = data
        for step in path[:-2]:
            expression = child(expression, step)
        key = child(expression, "key")
    if isinstance(key, str) and key in BY_KEY:
        return BY_KEY[key]
    kind, where = kind_of(data), written(path)
    return next(
        (
            reference_kind
            for kind_in_row, pattern, reference_kind in BY_PATH
            if kind_in_row in (kind, "*") and fnmatchcase(where, pattern)
        ),
        None,
    )


def strings(data: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Yields every text in a document, with its path."""
    if isinstance(data, str):
        yield path, data
    elif isinstance(data, dict | list):
        for step, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from strings(value, (*path, step))


def names_in(data: object) -> Iterator[tuple[str, KeyPath, str]]:
    """Yields what a document names: the kind of thing, the path, and the name."""
    for path, name in strings(data):
        reference_kind = named_at(data, path)
        if reference_kind is not None:
            yield reference_kind, path, name
