"""Tests that messages about values that a schema refuses say how to mend them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.kinds import job, pytorch


@pytest.mark.parametrize(
    ("gpus", "hint"),
    [
        ('"8k"', "Write a whole number, such as 8. A part of a GPU is the annotation gpu-fraction of the pod."),
        ("8000m", "Write a whole number, such as 8. A part of a GPU is the annotation gpu-fraction of the pod."),
        ('""', "Write a whole number, such as 8. A part of a GPU is the annotation gpu-fraction of the pod."),
        ("-1", "Use 0 or more."),
        ("8.5", "Write a whole number, such as 8. A part of a GPU is the annotation gpu-fraction of the pod."),
        ("2147483648", "Use 2147483647 or less."),
    ],
)
def test_gpus(repository: Path, gpus: str, hint: str) -> None:
    text = job("parallelism: 1").replace("nvidia.com/gpu: 1", f"nvidia.com/gpu: {gpus}")
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    out = kubectl_tas("validate", "-C", repository).out
    assert f"= help: {hint}" in out
    assert out.count("error:") == 1


def test_negative_replicas(repository: Path) -> None:
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": pytorch(-1)})
    assert "= help: Use 0 or more." in kubectl_tas("validate", "-C", repository).out
