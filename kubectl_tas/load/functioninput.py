"""Reads a ResourceList, the input of a KRM function: its configuration, and items that may be documents.

Rendered objects become items of the output. The format is config.kubernetes.io/v1 of kustomize's KRM Functions
Specification.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, TasError
from kubectl_tas.base.folders import is_below, misspelled
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.yaml import block
from kubectl_tas.load.document import parse
from kubectl_tas.load.kinds import FUNCTION, KINDS
from kubectl_tas.load.schema import INVALID_VALUE, read_model
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.model.config import VALUES_FOLDER
from kubectl_tas.model.function import PLACES, Function, is_tracking
from kubectl_tas.model.labels import POOL

API_VERSION, KIND = "config.kubernetes.io/v1", "ResourceList"
_INDEX = re.compile("[0-9]{1,9}")
_KINDS = {(kind.api_version, kind.name) for kind in KINDS}

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FunctionInput:
    """A ResourceList that was read."""

    function: Function | None
    """The function's configuration; None if ``problems`` say why it is invalid."""
    problems: tuple[Diagnostic, ...]
    items: tuple[Object, ...]

    @property
    def others(self) -> tuple[Object, ...]:
        """The items that are not documents."""
        return tuple(kubernetes_object for kubernetes_object in self.items if not is_document(kubernetes_object))

    @property
    def files(self) -> dict[str, bytes]:
        """The documents among the items, grouped into files by the path in their annotation. The Config is in tas.yaml.
        An item without a path gets a file named for its kind and name.
        """
        files: dict[str, list[str]] = {}
        for document in filter(is_document, self.items):
            files.setdefault(_path(document), []).append(block(_untracked(document)))
        return {path: "---\n".join(texts).encode() for path, texts in files.items()}

    def described(self, location: Location) -> Object:
        """Returns the fields of a result for a place in ``files``: the item, its file if known, and the field."""
        files = self.files
        index, field = _document_and_field(files.get(location.path, b""), location)
        objects_of_file = [
            described_object
            for described_object in filter(is_document, self.items)
            if _path(described_object) == location.path
        ]
        if index is None or index >= len(objects_of_file):
            return {}
        described_object, metadata = objects_of_file[index], objects_of_file[index]["metadata"]
        named = {"name": metadata["name"], **{key: metadata[key] for key in ("namespace",) if metadata.get(key)}}
        fields: Object = {
            "resourceRef": {"apiVersion": described_object["apiVersion"], "kind": described_object["kind"], **named}
        }
        path, number = annotation(described_object, "path"), annotation(described_object, "index") or "0"
        if path is not None:
            fields["file"] = {"path": path, "index": int(number) if _INDEX.fullmatch(number) else 0}
        return {**fields, **field}


def read_resource_list(text: str) -> FunctionInput:
    """Reads a ResourceList from ``text``. Raises TasError if the text is not a ResourceList."""
    documents, problems = parse("functionConfig", text)
    data = documents[0].data if len(documents) == 1 else None
    if problems or not isinstance(data, dict) or (data.get("apiVersion"), data.get("kind")) != (API_VERSION, KIND):
        reason = f": {problems[0].message} (line {problems[0].places[0].line})" if problems else ""
        message = f"the input is no {KIND} of {API_VERSION}{reason}"
        raise TasError(message, hint="Run it from kustomize or kpt: integrations/kustomize has an example.")
    objects = data.get("items") or []
    if not isinstance(objects, list) or not all(_is_object(kubernetes_object) for kubernetes_object in objects):
        raise TasError("an item is no Kubernetes object", hint="Each has apiVersion, kind and metadata.name.")
    if not isinstance(data.get("functionConfig"), dict):
        raise TasError("there is no functionConfig", hint="Write one of kind Render or Validate, tas/v1alpha1.")
    document = documents[0].part(("functionConfig",))
    model, problems_of_config = read_model(FUNCTION, document)
    function = model if isinstance(model, Function) else None
    directory = function.spec.directory if function else None
    if directory is not None and _leads_out(directory):
        message = f'"{directory}" is not a folder below that of the kustomization'
        hint = "Move the repository there and name it without '..'; kustomize reads no file outside either."
        problems_of_config, function = (
            [Diagnostic(INVALID_VALUE, message, document.locate(("spec", "directory")), hint=hint)],
            None,
        )
    return FunctionInput(function, tuple(problems_of_config), tuple(objects))


def _leads_out(directory: str) -> bool:
    """Whether a path leads outside the working folder, by its spelling or by a link."""
    return misspelled(directory) is not None or not is_below(os.path.realpath(directory), os.path.realpath("."))


def is_document(kubernetes_object: Mapping[str, Any]) -> bool:
    """Whether the tool reads an item: one of the tool's kinds, or a companion that names a pool."""
    labels = kubernetes_object["metadata"].get("labels")
    named = isinstance(labels, dict) and POOL in labels
    return (kubernetes_object["apiVersion"], kubernetes_object["kind"]) in _KINDS or named


def annotation(kubernetes_object: Mapping[str, Any], name: str) -> str | None:
    """Returns the ``path`` or ``index`` that kustomize or kpt set for an item; None if absent or not text."""
    annotations = kubernetes_object["metadata"].get("annotations")
    values = (annotations.get(prefix + name) for prefix in PLACES) if isinstance(annotations, dict) else ()
    return next((value for value in values if isinstance(value, str)), None)


def result_fields(root: Path, location: Location) -> Object:
    """Returns the fields of a result for a place in a repository: the file, the document's index, and the field."""
    try:
        content = (root / location.path).read_bytes()
    except OSError:  # it was there when it was judged; the finding itself still names it
        content = b""
    index, field = _document_and_field(content, location)
    return {"file": {"path": location.path, "index": index or 0}, **field}


def _document_and_field(content: bytes, location: Location) -> tuple[int | None, Object]:
    """Returns the index of the document that contains a place, and the ``field`` of a result that begins there. Finds
    neither in a template, since its documents are known only after expansion.
    """
    documents, _ = parse(location.path, content.decode("utf-8", "replace"))
    before = [document.index for document in documents if document.locate(()).line <= location.line]
    for document in documents:
        path = document.path_at(location.line, location.column)
        if path:
            return document.index, {"field": {"path": "".join(_steps(path)).removeprefix(".")}}
    return (before[-1] if before else None), {}


def _steps(path: tuple[str | int, ...]) -> Iterator[str]:
    for step in path:
        yield f"[{step}]" if isinstance(step, int) else f".{step}"


def _untracked(document: Object) -> Object:
    """Returns an item without the annotations that track where the item came from."""
    metadata = dict(document["metadata"])
    annotations = metadata.pop("annotations", None)
    if isinstance(annotations, dict):
        annotations = {key: value for key, value in annotations.items() if not is_tracking(key)}
    return {**document, "metadata": {**metadata, "annotations": annotations} if annotations else metadata}


def _path(document: Mapping[str, Any]) -> str:
    if (document["apiVersion"], document["kind"]) == ("tas/v1alpha1", "Config"):
        return CONFIG_FILE
    path = annotation(document, "path") or ""
    is_known = path and not path.startswith(f"{VALUES_FOLDER}/")  # there, values of templates are looked for
    return path if is_known else f"{document['kind'].lower()}-{document['metadata']['name']}.yaml"


def _is_object(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("metadata"), dict):
        return False
    named = (value.get("apiVersion"), value.get("kind"), value["metadata"].get("name"))
    return all(isinstance(value, str) for value in named)


def merged(retained: Sequence[Object], before: Sequence[Object], rendered: Sequence[Object]) -> list[Object]:
    """Returns the items ``retained``, then the rendered objects.

    A rendered object replaces the item with the same name that was there ``before``, in the same namespace or without
    one. The object keeps the tracking annotations of that item.
    """
    earlier = {_identity(kubernetes_object): kubernetes_object for kubernetes_object in before}
    rendered_identities = {_identity(kubernetes_object) for kubernetes_object in rendered}
    objects = [
        kubernetes_object for kubernetes_object in retained if _identity(kubernetes_object) not in rendered_identities
    ]
    for kubernetes_object in rendered:
        api, kind, _, name = identity = _identity(kubernetes_object)
        objects.append(
            _with_tracking(kubernetes_object, earlier.get(identity) or earlier.get((api, kind, "", name)) or {})
        )
    return objects


def _with_tracking(rendered: Object, before: Object) -> Object:
    annotations = before.get("metadata", {}).get("annotations") or {}
    tracking = {key: value for key, value in annotations.items() if is_tracking(key)}
    if not tracking:
        return rendered
    metadata = rendered["metadata"]
    return {**rendered, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **tracking}}}


def _identity(kubernetes_object: Object) -> tuple[str, str, str, str]:
    metadata = kubernetes_object["metadata"]
    return kubernetes_object["apiVersion"], kubernetes_object["kind"], metadata.get("namespace") or "", metadata["name"]
