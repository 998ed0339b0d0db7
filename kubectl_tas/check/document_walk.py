"""A document as a walk over those of its parts that rules look at by their names, at any depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubectl_tas.model.backdoors import FIELDS, UNSEEN
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin

Part = tuple[str, KeyPath, Any]
"""What a part is, its path, and its value: a mapping of ``labels``, ``annotations`` or ``amounts`` (of resources), a
``container`` (a mapping that has variables, or is in a list of containers), or a ``field`` of the table of back doors,
with any value.
"""
_LEFT = frozenset({"matchLabels", "nodeSelector", "env"})
"""Keys below which there is nothing of that, but names that users choose."""
_METADATA = frozenset(
    {"metadata", "extraPodMetadata", "podMetadata", "driver", "executor", "predictor", "transformer", "explainer"}
)
"""Keys that hold the labels and annotations of an object or of pods."""
_OWN_WORDS = ("spec", "services")
"""Where Dynamo has words of its own for amounts of resources."""
_RESOURCES = ("resources", "resourcesPerNode")
_CONTAINERS = ("containers", "initContainers")


def parts(origin: Origin) -> Iterator[Part]:
    """Those of a document and of all templates in it."""
    waiting: list[tuple[KeyPath, Any]] = [((), origin.data)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, list):
            waiting += (((*path, index), item) for index, item in enumerate(value) if isinstance(item, (dict, list)))
            continue
        above = path[-1] if path else ""
        holds = above in _METADATA or path == ("spec",) or path[-2:-1] == ("cliques",)
        if (type(above) is int and path[-2] in _CONTAINERS) or ("env" in value and isinstance(value["env"], list)):
            yield "container", path, value
        for key, item in value.items():
            if isinstance(item, (dict, list)):
                if key in UNSEEN and FIELDS[key].parent in ("", above):
                    yield "field", (*path, key), item
                if key == "gpu" and isinstance(item, dict) and "quantity" in item:  # of Spark
                    yield "amounts", (*path, key), {str(item.get("name")): item["quantity"]}
                if holds and key in ("labels", "annotations") and isinstance(item, dict):
                    yield key, (*path, key), item
                elif key in ("limits", "requests") and above in _RESOURCES and isinstance(item, dict):
                    if path[:2] == _OWN_WORDS and origin.data.get("kind") == "DynamoGraphDeployment":
                        continue
                    yield "amounts", (*path, key), item
                elif key not in _LEFT:
                    waiting.append(((*path, key), item))
            elif key in FIELDS and FIELDS[key].parent in ("", above):
                yield "field", (*path, key), item
