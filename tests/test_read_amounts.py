"""Tests what is read of amounts and settings that people may spell in several ways."""

from __future__ import annotations

import re

import pytest

from kubectl_tas.facts.gpus import GPU
from kubectl_tas.kinds.backdoors import parts
from kubectl_tas.load.document import parse
from kubectl_tas.model.base import MAX_COUNT, KeyPath, digits_up_to
from kubectl_tas.model.config import Setting, read_setting
from kubectl_tas.model.podforms import DynamoAmounts
from kubectl_tas.model.podtemplate import Amounts
from tests.support.cli import pool
from tests.support.fleets import fleet_of, judged_files, said


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


def parts_of(text: str) -> list[tuple[str, KeyPath, object]]:
    """The parts of a document that may be a way around a pool, of one mapping as YAML."""
    (document,), _ = parse("w.yaml", text)
    return sorted(parts(document.data), key=str)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "driver: {gpu: {name: nvidia.com/gpu, quantity: 2}}",
            [("amounts", ("driver", "gpu"), {"nvidia.com/gpu": 2})],
        ),
        ("driver: {gpu: {name: nvidia.com/gpu}}", []),
        ("driver: {gpu: [quantity]}", []),
        ("metadata: {labels: {a: b}}", [("labels", ("metadata", "labels"), {"a": "b"})]),
        ("metadata: {labels: [a]}", []),
        ("a: {resources: {limits: {cpu: 1}}}", [("amounts", ("a", "resources", "limits"), {"cpu": 1})]),
        ("a: {resources: {limits: [cpu]}}", []),
        ("a: {env: [{name: x}]}", [("container", ("a",), {"env": [{"name": "x"}]})]),
        ("a: {env: {name: x}}", [("container", ("a",), {"env": {"name": "x"}})]),
        ("a: {volumeMounts: [{mountPath: /x}]}", [("mount", ("a", "volumeMounts", 0), {"mountPath": "/x"})]),
        ("a: {runtimeClassName: x}", [("runtime", ("a",), {"runtimeClassName": "x"})]),
        ("a: {'{{x}}': b}", [("key", ("a", "{{x}}"), "{{x}}")]),
        (
            "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\n"
            "spec: {services: {a: {resources: {limits: {gpu: 1}}}}}",
            [],
        ),
        (
            "kind: Other\nspec: {services: {a: {resources: {limits: {gpu: 1}}}}}",
            [("amounts", ("spec", "services", "a", "resources", "limits"), {"gpu": 1})],
        ),
    ],
)
def test_parts_of_a_document_that_have_the_form_that_they_must(
    text: str, found: list[tuple[str, KeyPath, object]]
) -> None:
    assert parts_of(text) == found


@pytest.mark.parametrize("most", [10, 19, 99, 100, 101, 2047, MAX_COUNT])
def test_the_pattern_of_whole_numbers_ends_at_the_largest(most: int) -> None:
    pattern = re.compile(digits_up_to(most))
    near = {*range(min(most, 2100)), *range(max(0, most - 12), most + 12), most * 10, most // 10 * 10}
    assert {number for number in near if pattern.fullmatch(str(number))} == {n for n in near if n <= most}


def test_a_group_of_ray_that_is_suspended_has_no_workers() -> None:
    """KAI looks for that in a field of another name, so what is written there has to be 0."""
    group = "{groupName: g, suspend: true, COUNTS, template: {spec: {containers: [{name: c, image: i}]}}}"
    head = "headGroupSpec: {template: {spec: {containers: [{name: c, image: i}]}}}"
    work = (
        "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: x, labels: {kubectl-tas/pool: team}}\n"
        f"spec: {{{head}, workerGroupSpecs: [{group}]}}\n"
    )
    for counts, zero in (
        ("replicas: 2", ["replicas"]),
        ("replicas: 2, minReplicas: 1", ["replicas", "minReplicas"]),
        ("minReplicas: 1", ["minReplicas"]),
        ("replicas: 0", []),
    ):
        fleet = fleet_of({"pools/p.yaml": pool(), "w.yaml": work.replace("COUNTS", counts)})
        found = fleet.workloads[0].declared.spec.implied_counts
        assert [(path[-1], count) for path, count in found] == [(name, 0) for name in zero]
