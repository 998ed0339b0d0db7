"""Tests the report of ``import cluster`` against ``kubectl diff`` of the manifests, on a cluster that runs KAI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, kubectl_tas
from tests.support.clusters import live_kai_topology, live_queue
from tests.support.running import Running

pytestmark = pytest.mark.e2e
Item = dict[str, Any]
COMPANY = (
    live_queue("research", None, (64, 96, 2), labels={"company/cost-center": "4711"}, displayName="Research"),
    live_queue("research-nlp", "research", (40, -1, 2), labels={"company/team": "nlp", "tier": "1"}, priority=110),
    live_queue("research-cv", "research", (16, 32, 1), labels={"company/team": "cv"}),
    live_kai_topology("fabric", "topology.kubernetes.io/zone", "example.com/rack"),
)
COMPANY[1]["metadata"]["annotations"] = {"company/contact": "nlp@example.com", "meta.helm.sh/release-name": "queues"}
COMPANY[3]["metadata"]["labels"] = {"company/team": "net"}
OTHER = (
    live_queue("research", None, (32, -1, 1), labels={"company/cost-center": "4712"}, preemptMinRuntime="5m"),
    live_queue("research-chat", "research", (8, -1, 1)),
    live_queue("batch", None, (8, 8, 1)),
    live_queue("batch-all", "batch", (8, 8, 1), labels={"company/team": "batch"}),
)
ADDED = ("generation:", "app.kubernetes.io/managed-by: kubectl-tas", "kubectl-tas/pool: ", "labels:")
"""What ``kubectl diff`` shows of every object."""


def have(kai: Running, folder: Path, items: tuple[Item, ...]) -> None:
    """The objects as people apply them, so that kubectl knows which fields are theirs."""
    file = folder / "company.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    kai.must("apply", files=[file])


def imported(kai: Running, root: Path, *arguments: str) -> Result:
    result = kubectl_tas("import", "cluster", "--kubeconfig", kai.kubeconfig, "-o", root, *arguments)
    assert result.code == 0, result.err
    return result


def changes(kai: Running, root: Path, kind: str, backend: str = "") -> dict[str, set[str]]:
    """The lines of objects that are there which applying the manifests changes, by their names."""
    found: dict[str, set[str]] = {}
    for path, item in kai.rendered(root, backend).items():
        if item["kind"] != kind or kai.kubectl("get", "-f", str(path)).returncode:
            continue
        lines = kai.kubectl("diff", "-f", str(path)).stdout.splitlines()
        shown = {line[1:].strip() for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")}
        found[item["metadata"]["name"]] = {line for line in shown if not line.startswith(ADDED)}
    return found


def test_the_report_is_what_kubectl_diff_shows(kai: Running, tmp_path: Path) -> None:
    have(kai, tmp_path, COMPANY)
    said = imported(kai, tmp_path / "repository").out
    assert changes(kai, tmp_path / "repository", "Queue") == {
        "research": set(),
        "research-nlp": {"meta.helm.sh/release-name: queues"},
        "research-cv": set(),
    }
    assert "Helm: annotation meta.helm.sh/release-name of Queue research-nlp" in said
    assert changes(kai, tmp_path / "repository", "Topology") == {"fabric": {"company/team: net"}}
    assert "Would change:\n  Topology fabric: metadata.labels[company/team]: 'net' -> not there\n" in said


def test_a_second_cluster_stays_as_it_is_too(kai: Running, tmp_path: Path) -> None:
    root = tmp_path / "repository"
    have(kai, tmp_path, COMPANY[:3])
    imported(kai, root)
    first = changes(kai, root, "Queue")
    kai.clear()
    have(kai, tmp_path, OTHER)
    said = imported(kai, root, "--backend", "lab").out
    assert "Queue research: pool research-lab, since pool research is there" in said
    names = {"research", "research-chat", "batch", "batch-all"}
    assert changes(kai, root, "Queue", "lab") == {name: set() for name in names}
    kai.clear()
    have(kai, tmp_path, COMPANY[:3])
    assert changes(kai, root, "Queue", "default") == first
