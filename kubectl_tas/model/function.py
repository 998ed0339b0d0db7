"""Defines the functionConfig with which a pipeline of KRM functions, usually kustomize, calls ``kubectl tas fn``."""

from __future__ import annotations

import re
from typing import Literal

from kubectl_tas.model.base import Model, Text
from kubectl_tas.model.topology_kinds import ObjectMeta

PLACES = ("internal.config.kubernetes.io/", "config.kubernetes.io/")
"""Prefixes of the annotations ``path`` and ``index``, which name the source of an item. The current prefix is first."""
_TRACKING = re.compile(
    r"internal\.config\.kubernetes\.io/.*|config\.kubernetes\.io/(path|index)|(kustomize\.)?config\.k8s\.io/id"
)


def is_tracking(annotation: str) -> bool:
    """Whether the annotation only lets the caller of a function recognize an item, and is no part of the object."""
    return _TRACKING.fullmatch(annotation) is not None


class FunctionSpec(Model):
    """The repository and the cluster of a function call."""

    directory: Text | None = None
    """The repository: a folder below the kustomization, in which the function runs. Without it, the function uses the
    documents among the items.
    """
    backend: Text | None = None
    """The cluster to render for, if the Config has several."""


class Function(Model):
    """The functionConfig of the KRM function. Allowed only in a ResourceList, never in a repository."""

    apiVersion: Literal["tas/v1alpha1"]
    kind: Literal["Render", "Validate"]
    """Render replaces the documents among the items by the manifests. Validate changes no item."""
    metadata: ObjectMeta
    """Name of the function, and the annotation by which kustomize finds the program."""
    spec: FunctionSpec = FunctionSpec.model_construct()
    """The repository and the cluster."""
