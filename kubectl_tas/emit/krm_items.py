"""Rendered objects among the items of a KRM function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubectl_tas.model.function import is_tracking

Object = dict[str, Any]
Identity = tuple[str, str, str, str]


def merged(left: Sequence[Object], before: Sequence[Object], rendered: Sequence[Object]) -> list[Object]:
    """The items that are ``left``, then the objects. An object that was there ``before``, by its name and its
    namespace or without one, is that item: it keeps the annotations by which it is known again.
    """
    known = {_identity(item): item for item in before}
    own = {_identity(item) for item in rendered}
    found = [item for item in left if _identity(item) not in own]
    for item in rendered:
        api, kind, _, name = identity = _identity(item)
        found.append(_marked(item, known.get(identity) or known.get((api, kind, "", name)) or {}))
    return found


def _marked(item: Object, before: Object) -> Object:
    annotations = before.get("metadata", {}).get("annotations") or {}
    kept = {key: value for key, value in annotations.items() if is_tracking(key)}
    if not kept:
        return item
    metadata = item["metadata"]
    return {**item, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **kept}}}


def _identity(item: Object) -> Identity:
    metadata = item["metadata"]
    return item["apiVersion"], item["kind"], metadata.get("namespace") or "", metadata["name"]
