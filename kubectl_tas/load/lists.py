"""Kubernetes' List: a document in, the documents that are its items out."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.load.document import Document
from kubectl_tas.load.schema import missing_field, unknown_field, wrong_type

KIND = "List"
API_VERSION = "v1"
_FIELDS = ("apiVersion", "kind", "metadata", "items")


def items_of(document: Document) -> Iterator[Document | Diagnostic]:
    """The document itself, or all that are within it where it is a List, and in Lists within that; with what is wrong
    with the Lists themselves.
    """
    data = document.data
    if not (isinstance(data, dict) and data.get("kind") == KIND and data.get("apiVersion") == API_VERSION):
        yield document
        return
    yield from (unknown_field(document, (), key, _FIELDS) for key in data if key not in _FIELDS)
    items = data.get("items")
    if "items" not in data:
        yield missing_field(document, (), "items", {}, _FIELDS)
    elif items is not None and not isinstance(items, list):
        yield wrong_type(document, ("items",), items, ("array",), {})
    else:
        for index in range(len(items or ())):
            yield from items_of(document.part(("items", index)))
