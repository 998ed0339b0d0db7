"""What a pipeline of KRM functions, kustomize's above all, asks of ``kubectl tas fn``."""

from __future__ import annotations

import re
from typing import Literal

from kubectl_tas.model.base import Model, Text
from kubectl_tas.model.topology_kinds import ObjectMeta

PLACES = ("internal.config.kubernetes.io/", "config.kubernetes.io/")
"""Prefixes of ``path`` and ``index``, the annotations that say where an item comes from, the one of today first."""
_TRACKING = re.compile(
    r"internal\.config\.kubernetes\.io/.*|config\.kubernetes\.io/(path|index)|(kustomize\.)?config\.k8s\.io/id"
)


def is_tracking(annotation: str) -> bool:
    """Whether an annotation is one by which whoever runs a function knows an item again: no part of the object."""
    return _TRACKING.fullmatch(annotation) is not None


class FunctionSpec(Model):
    """What is rendered or checked."""

    directory: Text | None = None
    """The repository: a folder below the one in which the function runs, which is that of the kustomization. Without
    it: the documents among the items.
    """
    backend: Text | None = None
    """The cluster to render for, where there are several."""


class Function(Model):
    """The functionConfig of the KRM function. Only in a ResourceList, never in a repository."""

    apiVersion: Literal["tas/v1alpha1"]
    kind: Literal["Render", "Validate"]
    """Render adds the manifests to the items, in place of the documents among them. Validate changes no item."""
    metadata: ObjectMeta
    """Its name, and the annotation by which kustomize finds the program."""
    spec: FunctionSpec = FunctionSpec.model_construct()
    """What is rendered or checked."""
