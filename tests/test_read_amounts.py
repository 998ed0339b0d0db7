"""Tests what is read of amounts and settings that people may spell in several ways."""

from __future__ import annotations

import pytest

from kubectl_tas.gpus import GPU
from kubectl_tas.model.config import Setting, read_setting
from kubectl_tas.model.podforms import DynamoAmounts
from kubectl_tas.model.podtemplate import Amounts
from tests.support.cli import pool
from tests.support.fleets import judged_files, said


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n=3", 3),
        ("n=1.5", 1.5),
        ("n=inf", "inf"),
        ("n=nan", "nan"),
        ("n=1e999", "1e999"),
        ("n=", ""),
        ("n=a=b", "a=b"),
    ],
)
def test_a_setting_is_a_finite_number_or_text(text: str, value: object) -> None:
    assert read_setting(text, is_text=False) == Setting("n", value, text.removeprefix("n="))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["=3", "n", "="])
def test_a_setting_without_a_name_or_a_value_is_none(text: str) -> None:
    assert read_setting(text, is_text=False) is None


@pytest.mark.parametrize(
    ("written", "counted", "uncounted"),
    [
        ({"nvidia.com/mig-1g.10gb": "2"}, {"nvidia.com/mig-1g.10gb": 2}, ()),
        ({"nvidia.com/mig-1g.10gb": "2k"}, {}, ("nvidia.com/mig-1g.10gb",)),
        ({"nvidia.com/mig-1g.10gb": "0"}, {"nvidia.com/mig-1g.10gb": 0}, ()),
        ({"intel.com/gpu": "1"}, {}, ("intel.com/gpu",)),
        ({"intel.com/gpu": "0"}, {}, ()),
        ({"cpu": "4"}, {}, ()),
    ],
)
def test_accelerators_that_nobody_counts(written: dict[str, str], counted: dict[str, int], uncounted: object) -> None:
    amounts = Amounts.model_validate(written)
    assert (amounts.counted, amounts.uncounted) == (counted, uncounted)


@pytest.mark.parametrize(("kind", "resource"), [(None, GPU), ("amd.com/gpu", "amd.com/gpu")])
def test_gpus_of_dynamo_are_of_their_type(kind: str | None, resource: str) -> None:
    amounts = DynamoAmounts.model_validate({"gpu": "2", **({"gpuType": kind} if kind else {})}).amounts
    assert amounts.counted == {resource: 2}


SERVICE = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: x, labels: {kubectl-tas/pool: team}}
spec:
  predictor:
    minReplicas: 1
    maxReplicas: 1
    model: {modelFormat: {name: a}, env: ENV}
"""


def test_variables_count_wherever_a_kind_has_containers_of_its_own() -> None:
    env = "[{name: NVIDIA_VISIBLE_DEVICES, value: all}]"
    found = judged_files({"pools/p.yaml": pool(), "w.yaml": SERVICE.replace("ENV", env)}).found
    assert [(item.rule.code, said(item)) for item in found] == [
        (
            "gpu-bypass",
            'w.yaml:8:81: NVIDIA_VISIBLE_DEVICES is "all": the container sees GPUs that no queue is charged for',
        )
    ]
