"""The nodes that the examples need, and where their pods run: as ``fit`` says it, and in a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.cli import kubectl_tas
from tests.support.running import GROUP, SUBGROUP, Running

USE_CASES = {
    "single-nvl72-rack": "single-rack",
    "multiple-nvl72-racks": "two-racks",
    "multiple-nvl72-same-zone": "zones",
    "best-effort-topology": "spines",
    "best-effort-topology-apart": "spines-apart",
}
"""The nodes that OSMO's proposal draws for each of its use cases."""
H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
CPU = {"acme.io/nodes": "cpu"}
APPLIED: dict[str, tuple[str, list[tuple[str, list[str], dict[str, str]]], list[str]]] = {
    "quickstart": ("", [("team", ["--domains=gpu-clique=2", "--nodes=6", "--gpus=4"], {})], []),
    "workloads": ("", [("team", ["--nodes=12"], {})], []),
    "osmo": (
        "",
        [("research", ["--domains=rack=2", "--domains=host=3"], H100), ("research", ["--gpus=0"], CPU)],
        [],
    ),
    "heterogeneous": (
        "",
        [
            ("gb200", ["--domains=zone=2", "--domains=host=18", "--gpus=4"], {}),
            ("h100", ["--domains=zone=2", "--domains=host=4"], {}),
        ],
        [],
    ),
    "company": (
        "train-eu",
        [("foundation", ["--domains=host=18", "--gpus=4"], {}), ("perception", ["--domains=host=6"], {})],
        ["stereo-distill"],
    ),
    "company-serving": ("serve-us", [("assistant", ["--domains=host=6"], {})], ["embeddings"]),
}
"""Of each example the backend that is applied, its nodes by pool, and the work that must wait: for a subpool
that is DELETING, and for a claim that nobody provides for."""


def generated(root: Path, pool: str, *options: str, **labels: str) -> list[dict[str, Any]]:
    """Nodes as ``nodes generate`` makes them, with the pool before their names, disks, and further labels."""
    result = kubectl_tas("-C", root, "nodes", "generate", f"--pool={pool}", "--memory=2048", "--cpu=192", *options)
    assert result.code == 0, result.err
    nodes = json.loads(result.out)["items"]
    for item in nodes:
        metadata, room = item["metadata"], item["status"]["allocatable"]
        metadata["name"] = "-".join([pool, *(["cpu"] if labels == CPU else []), metadata["name"]])
        metadata["labels"] |= {"kubernetes.io/hostname": metadata["name"]} | labels
        room["ephemeral-storage"] = "4Ti"
        item["status"]["capacity"] = room
    return list(nodes)


def domains(kai: Running, gang: dict[str, Any], nodes: list[dict[str, Any]], labels: list[str]) -> dict[str, Any]:
    """Where the pods of a gang run, as ``fit`` says it: by part, the domain and the number of pods."""
    of_node = {item["metadata"]["name"]: item["metadata"]["labels"] for item in nodes}
    found: dict[str, Any] = {}
    for name, node in kai.bound().items():
        metadata = kai.pods()[name]["metadata"]
        if metadata["annotations"][GROUP] == gang["podGroup"]:
            part = metadata["labels"].get(SUBGROUP) or gang["podGroup"]
            where = [of_node[node][label] for label in labels]
            found.setdefault(part, []).append(where)
    return found


def said(gang: dict[str, Any]) -> dict[str, Any]:
    """The same as ``fit`` has said it."""
    found: dict[str, Any] = {}
    for item in gang["placed"]:
        found.setdefault(item["part"], []).extend([item["domain"]] * item["pods"])
    return found
