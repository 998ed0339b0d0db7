"""Tests that every answer counts GPUs as KAI does."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubectl_tas.gpus import GPU, Hundredths, is_fraction, of_pod
from kubectl_tas.model.podtemplate import PodTemplate
from tests.support.cli import kubectl_tas, pool, write


def pod(annotations: dict[str, str] | None = None, init: tuple[Any, ...] = (), **limits: Any) -> PodTemplate:
    spec = {"containers": [{"resources": {"limits": limits}}], "initContainers": list(init)}
    return PodTemplate.model_validate({"metadata": {"annotations": annotations or {}}, "spec": spec})


def sidecar(gpus: int) -> dict[str, Any]:
    return {"restartPolicy": "Always", "resources": {"limits": {GPU: gpus}}}


@pytest.mark.parametrize(
    ("template", "gpus"),
    [
        (pod(), 0),
        (pod(**{GPU: 8}), 8),
        (pod(**{GPU: "8", "amd.com/gpu": 2}), 10),
        (pod(**{"nvidia.com/mig-3g.20gb": 2, "nvidia.com/mig-1g.5gb": "1"}), 7),
        (pod(**{"gpu.intel.com/i915": 4}), 0),
        (pod(init=(sidecar(2),), **{GPU: 8}), 10),
        (pod({"gpu-fraction": "0.5"}), Decimal("0.5")),
        (pod({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "4"}), 2),
        (pod({"gpu-fraction": "0.001"}), Decimal("0.01")),
        (pod({"gpu-memory": "2000", "gpu-fraction-num-devices": "2"}), Decimal("0.02")),
        (pod({"nvidia.com/mig-2g.10gb": "3"}), 6),
        (pod({"gpu-fraction": "0.1"}, **{GPU: 8}), 8),
    ],
)
def test_gpus_of_a_pod(template: PodTemplate, gpus: int | Decimal) -> None:
    assert template.spec.gpus_with(template.metadata.annotations) == gpus


def test_parts_add_up_to_whole_numbers() -> None:
    half = of_pod((), (), None, {"gpu-fraction": "0.5"})
    assert [str(sum([half] * number)) for number in (1, 2, 3, 20)] == ["0.5", "1", "1.5", "10"]
    assert [str(half * 3), str(3 * half), str(8 - half), str(half - 8)] == ["1.5", "1.5", "7.5", "-7.5"]


def test_parts_in_every_answer(repository: Path) -> None:
    template = {
        "metadata": {"annotations": {"gpu-fraction": "0.5"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "notebooks", "labels": {"kubectl-tas/pool": "team"}},
        "spec": {"parallelism": 3, "completions": 3, "template": template},
    }
    write(repository, {"pools/team.yaml": pool(guarantee=2), "workflows/job.yaml": yaml.safe_dump(job)})
    assert json.loads(kubectl_tas("pool", "list", "-o", "json", "-C", repository).out)["pools"][0]["used"] == 1.5
    assert "1.5" in kubectl_tas("pool", "list", "-C", repository).out
    explained = json.loads(kubectl_tas("workflow", "explain", "notebooks", "-o", "json", "-C", repository).out)
    assert explained["gpus"] == 1.5
    assert "it asks for 1.5" in kubectl_tas("admit", repository / "workflows/job.yaml", "-C", repository).out


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("0.5", True),
        (".5", True),
        ("5e-1", True),
        ("0", False),
        ("0.0", False),
        ("1", False),
        ("1.5", False),
        ("a", False),
    ],
)
def test_a_fraction_lies_between_none_and_a_whole_gpu(text: str, is_one: bool) -> None:
    assert is_fraction(text) is is_one


def test_of_any_number_of_gpus_a_part_may_be_taken() -> None:
    assert Decimal("Infinity") - Hundredths("0.5") == Decimal("Infinity")
    assert str(Hundredths("0.5") * 2) == "1"
