"""Tests ``fit`` with claims, volumes and storage classes of which any part has another type."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas, pool, write

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: j, labels: {kubectl-tas/pool: team}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: b, resources: {limits: {nvidia.com/gpu: 1}}}]
      volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]
"""
STATUS = {"allocatable": {"nvidia.com/gpu": "8"}, "conditions": [{"type": "Ready", "status": "True"}]}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": STATUS}
CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "default"}}
BOUND, UNBOUND = ({**CLAIM, "spec": spec} for spec in ({"volumeName": "pv"}, {"storageClassName": "s"}))
TERMS = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "z", "operator": "In", "values": ["a"]}]}]}
VOLUME = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "pv"},
    "spec": {"nodeAffinity": {"required": TERMS}},
}
STORAGE = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "s"},
    "volumeBindingMode": "WaitForFirstConsumer",
    "allowedTopologies": [{"matchLabelExpressions": [{"key": "z", "values": ["a"]}]}],
}
ODD: tuple[Any, ...] = ("x", 3, None, [], {}, ["x"], [{"key": 3}], {"a": "b"}, True)


def changed(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yields copies with one part below the root replaced by each odd value."""
    steps = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for step in steps:
        if depth == 0 and step in ("apiVersion", "kind", "metadata"):
            continue
        for part in (*ODD, *changed(value[step], depth + 1)):
            whole = copy.copy(value)
            whole[step] = part
            yield whole


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["claim", "volume", "class"])
def test_an_odd_part_is_refused_or_read(kind: str, tmp_path: Path) -> None:
    root = write(tmp_path, {"pools/team.yaml": pool("team", 8), "workflows/j.yaml": JOB})
    sets = {
        "claim": [[odd, VOLUME] for odd in changed(BOUND)],
        "volume": [[BOUND, odd] for odd in changed(VOLUME)],
        "class": [[UNBOUND, odd] for odd in changed(STORAGE)],
    }
    assert len(sets[kind]) > 15
    for objects in sets[kind]:
        (tmp_path / "nodes.json").write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": [NODE, *objects]})
        )
        result = kubectl_tas("fit", "-C", root, "j", "--nodes", tmp_path / "nodes.json")
        assert result.code in (0, 1, 3), objects
        assert "internal error" not in result.err, objects
