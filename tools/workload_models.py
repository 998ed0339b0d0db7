"""Makes a model of each kind of workload from its page, for its JSON Schema."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from kubectl_tas.kinds import LISTED
from kubectl_tas.kinds.page import WorkloadKind
from kubectl_tas.kinds.section import LIST, MAPPING
from kubectl_tas.model.base import AnyText, Count, Many, Text
from kubectl_tas.model.podforms import OwnTemplate
from kubectl_tas.model.podtemplate import Open, PodTemplate, RootMeta
from kubectl_tas.model.workloads import model_of, typed_fields

_ABOUT = {Count: "The number.", PodTemplate: "Template for the pods.", OwnTemplate: "Template for the pod."}


class _Node:
    """A node in the tree of the fields that a page reads from an object, with the type of the value there."""

    def __init__(self) -> None:
        self.below: dict[str, _Node] = {}
        self.type: Any = None
        self.about = ""
        self.is_required = False
        self.least = 0

    def at(self, steps: tuple[str, ...]) -> _Node:
        """Returns the node at a path, and adds it if missing."""
        node = self
        for step in steps:
            node = node.below.setdefault(step, _Node())
        return node

    def made(self, name: str) -> Any:
        """Returns the type of the value at this node. A class for a node with fields is called ``name``."""
        if LIST in self.below:
            return Many[self.below[LIST].made(name)]  # type: ignore[misc]
        if MAPPING in self.below:
            values = dict.__class_getitem__((AnyText if self.least else Text, self.below[MAPPING].made(name)))
            return Annotated[values, Field(min_length=1)] if self.least else values
        if not self.below:
            return self.type or create_model(name, __base__=Open, __module__=__name__)
        fields = {f"x_{key.replace('-', '_')}": node.field(key, name) for key, node in self.below.items()}
        return create_model(name, __base__=self.type or Open, __module__=__name__, **fields)

    def field(self, key: str, owner: str) -> Any:
        """Returns the type and the settings of the field of this node."""
        about = self.about or self.below.get(LIST, self).about
        about = about or {"name": "The name.", "spec": "The specification."}.get(key, "")
        about = about or _ABOUT.get(self.type, "kubectl-tas reads the pods from it.")
        made = self.made(f"{owner}{key[:1].upper()}{key[1:]}")
        if self.is_required:
            return made, Field(alias=key, description=about)
        return made | None, Field(None, alias=key, description=about)


@cache
def workload_model(page: WorkloadKind) -> type[BaseModel]:
    """Returns the model of the kind that a page describes."""
    recognition, root = page.recognition, _Node()
    about = {field.path: field.about.format(recognition.kind) for field in page.fields}
    for steps, type_, is_required in typed_fields(page):
        node = root.at(steps)
        node.is_required = is_required
        node.about = about.get(".".join(steps).replace(".[]", "[]"), "")
        if type_ == "not empty":
            node.least = 1
        elif type_ != "mapping":
            model = model_of(type_)
            node.type = Literal[tuple(type_.split("|"))] if isinstance(model, frozenset) else model
    name = recognition.schema or recognition.kind
    if root.type is not None:  # a Pod
        root.at(("spec",)).type, root.type = root.type.model_fields["spec"].annotation, None
    fields: dict[str, Any] = {f"x_{key}": node.field(key, name) for key, node in root.below.items()}
    fields |= {
        "apiVersion": (Literal[recognition.versions], Field(description="The API version.")),
        "x_kind": (Literal[recognition.kind], Field(alias="kind", description="The kind.")),
        "metadata": (
            RootMeta,
            Field(
                description="Name, pool (label kubectl-tas/pool), priority (label kubectl-tas/priority) and placement "
                "of the workload."
            ),
        ),
    }
    return create_model(name, __base__=Open, __module__=__name__, __doc__=_subject(page), **fields)


def _subject(page: WorkloadKind) -> str:
    """Returns the first sentence of a page, about the kind."""
    listed = next(listed for listed in LISTED if listed.page is page)
    text = (import_module(f"kubectl_tas.kinds.{listed.module}").__doc__ or "").removeprefix("Describes ")
    sentence = " ".join(text.split()).partition(". ")[0].rstrip(".")
    return f"{sentence[:1].upper()}{sentence[1:]}."
