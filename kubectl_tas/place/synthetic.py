"""Generates a cluster that does not exist: domains of each level, nodes in each finest domain, some of them broken."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import accumulate, takewhile
from operator import mul
from typing import Any

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.node_places import HOSTNAME


@dataclass(frozen=True, slots=True)
class SyntheticDomains:
    """Domains of one level."""

    key: str
    """Name that users give the level. Domains are named for it, with a number that counts over the whole cluster."""
    label: str
    """Node label of the level."""
    count: int
    """Number of domains in each domain of the level above."""


@dataclass(frozen=True, slots=True)
class Size:
    """Resources that a node has for pods."""

    gpus: int = 8
    cpu: int = 96
    """Number of cores."""
    memory: int = 1024
    """Memory in GiB."""
    pods: int = 110


@dataclass(frozen=True, slots=True)
class Broken:
    """Number of unusable nodes by fault; these nodes are spread over the cluster."""

    cordoned: int = 0
    not_ready: int = 0
    unlabelled: int = 0
    """Nodes without the label of the finest level, which KAI leaves out of the topology."""

    @property
    def count(self) -> int:
        """Number of all broken nodes."""
        return self.cordoned + self.not_ready + self.unlabelled


@dataclass(frozen=True, slots=True)
class SyntheticCluster:
    """The cluster to generate."""

    levels: tuple[SyntheticDomains, ...]
    """Levels, coarsest first."""
    nodes: int
    """Number of nodes in each domain of the finest level, or in all if there is no level."""
    size: Size = Size()
    broken: Broken = Broken()
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that all nodes have besides those of the levels."""

    @property
    def count(self) -> int:
        """Number of nodes in all."""
        count = self.nodes
        for level in self.levels:
            count *= level.count
        return count

    @property
    def common(self) -> int:
        """Number of levels, from the coarsest, that have only one domain, with all nodes."""
        return len(list(takewhile(lambda level: level.count == 1, self.levels)))


def generate(cluster: SyntheticCluster) -> str:
    """Returns the nodes as ``kubectl get nodes -o json`` prints them, one per line; equal clusters give equal bytes."""
    lines = [json.dumps(node, sort_keys=True) for node in _nodes(cluster)]
    return '{"apiVersion": "v1", "kind": "List", "items": [\n' + ",\n".join(lines) + "\n]}\n"


def _nodes(cluster: SyntheticCluster) -> Iterator[dict[str, Any]]:
    faults = _spread(cluster)
    totals = list(accumulate((level.count for level in cluster.levels), mul))
    for index in range(cluster.count):
        domains = {
            level.label: f"{level.key}-{index * total // cluster.count + 1:0{len(str(total))}}"
            for level, total in zip(cluster.levels, totals, strict=True)
        }
        node = f"node-{index % cluster.nodes + 1:0{len(str(cluster.nodes))}}"
        name = domains.get(HOSTNAME) or "-".join((*list(domains.values())[-1:], node))
        yield _node(cluster, name, domains, faults.get(index, ""))


def _spread(cluster: SyntheticCluster) -> dict[int, str]:
    """Returns the fault of each broken node by its index; the faults alternate and spread evenly over the cluster."""
    faults_possible = Broken.__slots__
    faults: Sequence[str] = [kind for kind in faults_possible for _ in range(getattr(cluster.broken, kind))]
    return {number * cluster.count // len(faults): fault for number, fault in enumerate(faults)}


def _node(cluster: SyntheticCluster, name: str, domains: Mapping[str, str], fault: str) -> dict[str, Any]:
    labels = {HOSTNAME: name, **cluster.labels, **domains}
    if fault == "unlabelled":
        del labels[cluster.levels[-1].label]
    size = cluster.size
    allocatable = {"cpu": str(size.cpu), "memory": f"{size.memory}Gi", "pods": str(size.pods)}
    if size.gpus:
        allocatable[GPU] = str(size.gpus)
    ready = {"type": "Ready", "status": "False" if fault == "not_ready" else "True"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"unschedulable": True} if fault == "cordoned" else {},
        "status": {"allocatable": allocatable, "conditions": [ready]},
    }
