"""Companions: objects that stand beside workloads and ask for no GPU."""

from __future__ import annotations

from kubectl_tas.model.base import Text
from kubectl_tas.model.podtemplate import Open, RootMeta


class Companion(Open):
    """An object that belongs to a workload: passed through, with its namespace."""

    apiVersion: Text
    """Its API."""
    kind: Text
    """Its kind."""
    metadata: RootMeta
    """Its name; its pool, by the label kubectl-tas/pool, where its file does not tell."""
