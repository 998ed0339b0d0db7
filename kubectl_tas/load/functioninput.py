"""A ResourceList, what a KRM function is given: its configuration, and the items, of which some are documents.

What is rendered becomes items among them.

The format is config.kubernetes.io/v1, as the KRM Functions Specification of kustomize has it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kubectl_tas.diagnostics import Diagnostic, Location
from kubectl_tas.errors import TasError
from kubectl_tas.folders import is_below, misspelled
from kubectl_tas.load.document import parse
from kubectl_tas.load.kinds import FUNCTION, KINDS
from kubectl_tas.load.schema import INVALID_VALUE, validate
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.model.config import VALUES_FOLDER
from kubectl_tas.model.function import PLACES, Function, is_tracking
from kubectl_tas.model.labels import POOL
from kubectl_tas.records import dataclass
from kubectl_tas.yaml import block

API_VERSION, KIND = "config.kubernetes.io/v1", "ResourceList"
_INDEX = re.compile("[0-9]{1,9}")
_KINDS = {(kind.api_version, kind.name) for kind in KINDS}

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ResourceList:
    """What was read."""

    function: Function | None
    """None where ``problems`` say why there is none."""
    problems: tuple[Diagnostic, ...]
    items: tuple[Object, ...]

    @property
    def others(self) -> tuple[Object, ...]:
        """The items that are no documents."""
        return tuple(item for item in self.items if not is_document(item))

    @property
    def files(self) -> dict[str, bytes]:
        """The documents among the items as files, each in the one that its annotation names: the Config in tas.yaml,
        and others under their kind and name where they say none.
        """
        files: dict[str, list[str]] = {}
        for item in filter(is_document, self.items):
            files.setdefault(_path(item), []).append(block(_untracked(item)))
        return {path: "---\n".join(texts).encode() for path, texts in files.items()}

    def described(self, place: Location) -> Object:
        """What a result says of a place in ``files``: the item, its file where it has one, and the field."""
        files = self.files
        index, field = _found(files.get(place.path, b""), place)
        there = [item for item in filter(is_document, self.items) if _path(item) == place.path]
        if index is None or index >= len(there):
            return {}
        item, metadata = there[index], there[index]["metadata"]
        named = {"name": metadata["name"], **{key: metadata[key] for key in ("namespace",) if metadata.get(key)}}
        result: Object = {"resourceRef": {"apiVersion": item["apiVersion"], "kind": item["kind"], **named}}
        path, number = annotation(item, "path"), annotation(item, "index") or "0"
        if path is not None:
            result["file"] = {"path": path, "index": int(number) if _INDEX.fullmatch(number) else 0}
        return {**result, **field}


def read_resource_list(text: str) -> ResourceList:
    """What stands in ``text``. Raises TasError where that is no ResourceList."""
    documents, problems = parse("functionConfig", text)
    data = documents[0].data if len(documents) == 1 else None
    if problems or not isinstance(data, dict) or (data.get("apiVersion"), data.get("kind")) != (API_VERSION, KIND):
        why = f": {problems[0].message} (line {problems[0].places[0].line})" if problems else ""
        message = f"the input is no {KIND} of {API_VERSION}{why}"
        raise TasError(message, hint="Run it from kustomize or kpt: integrations/kustomize has an example.")
    items = data.get("items") or []
    if not isinstance(items, list) or not all(_is_object(item) for item in items):
        raise TasError("an item is no Kubernetes object", hint="Each has apiVersion, kind and metadata.name.")
    if not isinstance(data.get("functionConfig"), dict):
        raise TasError("there is no functionConfig", hint="Write one of kind Render or Validate, tas/v1alpha1.")
    document = documents[0].part(("functionConfig",))
    model, found = validate(FUNCTION, document)
    function = model if isinstance(model, Function) else None
    directory = function.spec.directory if function else None
    if directory is not None and _leads_out(directory):
        message = f'"{directory}" is not a folder below that of the kustomization'
        hint = "Move the repository there and name it without '..'; kustomize reads no file outside either."
        found, function = [Diagnostic(INVALID_VALUE, message, document.locate(("spec", "directory")), hint=hint)], None
    return ResourceList(function, tuple(found), tuple(items))


def _leads_out(directory: str) -> bool:
    """Whether a path names no folder below the working folder, by its spelling or by a link."""
    return misspelled(directory) is not None or not is_below(os.path.realpath(directory), os.path.realpath("."))


def is_document(item: Mapping[str, Any]) -> bool:
    """Whether an item is one that the tool reads: one of its kinds, or a companion that names a pool."""
    labels = item["metadata"].get("labels")
    named = isinstance(labels, dict) and POOL in labels
    return (item["apiVersion"], item["kind"]) in _KINDS or named


def annotation(item: Mapping[str, Any], name: str) -> str | None:
    """What whoever runs the function says of an item: its ``path``, or its ``index`` there; None: no text."""
    annotations = item["metadata"].get("annotations")
    said = (annotations.get(prefix + name) for prefix in PLACES) if isinstance(annotations, dict) else ()
    return next((value for value in said if isinstance(value, str)), None)


def described(root: Path, place: Location) -> Object:
    """What a result says of a place in a repository: the file, which of its documents, and the field."""
    try:
        content = (root / place.path).read_bytes()
    except OSError:  # it was there when it was judged; the finding itself still names it
        content = b""
    index, field = _found(content, place)
    return {"file": {"path": place.path, "index": index or 0}, **field}


def _found(content: bytes, place: Location) -> tuple[int | None, Object]:
    """Which document of a file a place is in, and the field that begins there as ``field`` of a result; none for a
    template, of which the documents are known only once it is expanded.
    """
    documents, _ = parse(place.path, content.decode("utf-8", "replace"))
    before = [document.index for document in documents if document.locate(()).line <= place.line]
    for document in documents:
        path = document.path_at(place.line, place.column)
        if path:
            return document.index, {"field": {"path": "".join(_steps(path)).removeprefix(".")}}
    return (before[-1] if before else None), {}


def _steps(path: tuple[str | int, ...]) -> Iterator[str]:
    for step in path:
        yield f"[{step}]" if isinstance(step, int) else f".{step}"


def _untracked(item: Object) -> Object:
    """An item as its author has it."""
    metadata = dict(item["metadata"])
    annotations = metadata.pop("annotations", None)
    if isinstance(annotations, dict):
        annotations = {key: value for key, value in annotations.items() if not is_tracking(key)}
    return {**item, "metadata": {**metadata, "annotations": annotations} if annotations else metadata}


def _path(item: Mapping[str, Any]) -> str:
    if (item["apiVersion"], item["kind"]) == ("tas/v1alpha1", "Config"):
        return CONFIG_FILE
    path = annotation(item, "path") or ""
    is_known = path and not path.startswith(f"{VALUES_FOLDER}/")  # there, values of templates are looked for
    return path if is_known else f"{item['kind'].lower()}-{item['metadata']['name']}.yaml"


def _is_object(item: object) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("metadata"), dict):
        return False
    named = (item.get("apiVersion"), item.get("kind"), item["metadata"].get("name"))
    return all(isinstance(value, str) for value in named)


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


def _identity(item: Object) -> tuple[str, str, str, str]:
    metadata = item["metadata"]
    return item["apiVersion"], item["kind"], metadata.get("namespace") or "", metadata["name"]
