"""Makes objects of clusters without a repository: queues, topologies and the images of KAI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Shares = tuple[float, float, float]
"""Quota, limit and over-quota weight."""
FREE: Shares = (-1, -1, 1)


def live_queue(
    name: str, parent: str | None = None, gpu: Shares = FREE, cpu: Shares = FREE, memory: Shares = FREE, **spec: Any
) -> dict[str, Any]:
    """Returns a Queue with all three resources. ``spec`` are further fields; ``labels`` belong to the metadata."""
    fields = ("quota", "limit", "overQuotaWeight")
    labels = spec.pop("labels", {})
    named = {"gpu": gpu, "cpu": cpu, "memory": memory}
    resources = {resource: dict(zip(fields, shares, strict=True)) for resource, shares in named.items()}
    above = {"parentQueue": parent} if parent else {}
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name, "labels": labels},
        "spec": {**above, "resources": resources, **spec},
        "status": {},
    }


def live_kai_topology(name: str, *levels: str | tuple[str, str], api: str = "kai.scheduler/v1alpha1") -> dict[str, Any]:
    """Returns a Topology of node labels, each with or without an alias."""
    found = [{"nodeLabel": x} if isinstance(x, str) else {"nodeLabel": x[0], "alias": x[1]} for x in levels]
    return {"apiVersion": api, "kind": "Topology", "metadata": {"name": name}, "spec": {"levels": found}}


def priority_class(name: str, value: int) -> dict[str, Any]:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def kai(version: str = "0.17.0") -> dict[str, Any]:
    """Returns KAI's scheduler as its chart installs it."""
    image = f"ghcr.io/nvidia/kai-scheduler/scheduler:v{version}"
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "scheduler", "namespace": "kai-scheduler"},
        "spec": {"template": {"spec": {"containers": [{"name": "scheduler", "image": image}]}}},
    }


def saved(folder: Path, *items: dict[str, Any]) -> Path:
    """Writes a file with the state of a cluster, and returns its path."""
    file = folder / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return file
