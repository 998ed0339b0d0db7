"""Tests containers that take GPUs past the scheduler, by each method that the container runtime knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.check.test_backdoors import JOB, MARK, SET, TORCH, assert_found, put, validated
from tests.support.cli import kubectl_tas, pool, write
from tests.support.judged import told_of
from tests.support.pyyaml import safe_load
from tests.support.workloads import Object, deployment, template, workload

NAME = "NVIDIA_VISIBLE_DEVICES"
CONTAINER = "spec template spec containers 0"


def env(value: Any, key: str = "value") -> list[Object]:
    return [{"name": "A", "value": "b"}, {"name": NAME, key: value}]


def cron() -> Object:
    job = {"spec": {"template": template()}}
    return workload("batch/v1", "CronJob", "c", None, {"schedule": "0 3 * * *", "jobTemplate": job})


KINDS = {
    "job": (JOB, CONTAINER),
    "deployment": (deployment("d"), CONTAINER),
    "pytorchjob": (TORCH, "spec pytorchReplicaSpecs Worker template spec containers 0"),
    "cronjob": (cron(), "spec jobTemplate spec template spec containers 0"),
    "podcliqueset": (SET, "spec template cliques 1 spec podSpec containers 0"),
}


@pytest.mark.parametrize(
    "value", ["all", "0", "GPU-5e3f,GPU-77aa", "none,all", "$(OTHER)", "runtime.nvidia.com/gpu=all"]
)
def test_a_variable_that_shows_gpus_is_an_error(repository: Path, value: str) -> None:
    item = put(put(JOB, f"{CONTAINER} resources", {}), f"{CONTAINER} env", env(value))
    assert_found(*validated(repository, item), f"value: {yaml.safe_dump(value).splitlines()[0]}", "gpu-bypass", "sees")


@pytest.mark.parametrize("value", ["", "void", "none", " ", "void,none"])
def test_a_variable_that_hides_gpus_is_none(repository: Path, value: str) -> None:
    assert "gpu-bypass" not in validated(repository, put(JOB, f"{CONTAINER} env", env(value)))[0].out


@pytest.mark.parametrize("kind", KINDS)
def test_in_workloads_of_each_kind(repository: Path, kind: str) -> None:
    item, path = KINDS[kind]
    assert_found(*validated(repository, put(item, f"{path} env", env("all"))), "value: all", "gpu-bypass")


def test_in_an_init_container(repository: Path) -> None:
    init = [{"name": "i", "image": "busybox", "env": env("all")}]
    item = put(JOB, "spec template spec initContainers", init)
    assert_found(*validated(repository, item), "value: all", "gpu-bypass")


def test_a_variable_from_elsewhere(repository: Path) -> None:
    source = {"configMapKeyRef": {"name": "devices", "key": "which"}}
    item = put(JOB, f"{CONTAINER} env", env(source, "valueFrom"))
    assert_found(*validated(repository, item), "valueFrom", "gpu-bypass", "comes from elsewhere")


@pytest.mark.parametrize(("prefix", "key"), [("", NAME), ("NVIDIA_", "VISIBLE_DEVICES")])
def test_a_variable_of_a_config_map_of_the_repository(repository: Path, prefix: str, key: str) -> None:
    source = {"prefix": prefix, "configMapRef": {"name": "settings"}}
    item = put(JOB, f"{CONTAINER} envFrom", [{"configMapRef": {"name": "other"}}, source])
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {key: "all"}}
    result, text = validated(repository, item, settings)
    assert_found(result, text, "  - prefix" if prefix else "prefix: ''", "gpu-bypass", '"all"')
    hidden = put(item, f"{CONTAINER} env", env("void"))
    assert "gpu-bypass" not in validated(repository, hidden, settings)[0].out


@pytest.mark.parametrize(
    "note",
    ["cdi.k8s.io/gpus", "cdi.k8s.io/nvidia_all", "nvidia.cdi.k8s.io/container.main", "nvidia.cdi.k8s.io",
     "cdi-devices.nri.io/pod", "devices.noderesource.dev/container.main"],
)  # fmt: skip
def test_an_annotation(repository: Path, note: str) -> None:
    item = put(JOB, "spec template metadata", {"annotations": {note: f"nvidia.com/gpu={MARK}"}})
    assert_found(*validated(repository, item), MARK, "gpu-bypass", note)


def test_a_mount(repository: Path) -> None:
    spec = {**JOB["spec"]["template"]["spec"], "volumes": [{"name": "n", "hostPath": {"path": "/dev/null"}}]}
    item = put(JOB, "spec template spec", spec)
    mounts = [{"name": "n", "mountPath": "/var/run/nvidia-container-devices/all"}]
    assert_found(*validated(repository, put(item, f"{CONTAINER} volumeMounts", mounts)), "mountPath", "gpu-bypass")


def workflow(task: str, gpu: int = 0) -> str:
    return f"""workflow:
  name: w
  pool: team
  tasks:
  - name: t
    image: busybox
{task}resources:
  default: {{cpu: 1, gpu: {gpu}}}
"""


@pytest.mark.parametrize(
    ("task", "line"),
    [
        ("    environment:\n      NVIDIA_VISIBLE_DEVICES: all\n", 8),
        ("    environment:\n      NVIDIA_VISIBLE_DEVICES: 0\n", 8),
        ("    credentials:\n      secret:\n        NVIDIA_VISIBLE_DEVICES: key\n", 9),
        ("    volumeMounts:\n    - /dev/null:/var/run/nvidia-container-devices/all\n", 8),
    ],
)
def test_in_a_task(repository: Path, task: str, line: int) -> None:
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": workflow(task)})
    result = kubectl_tas("validate", "-C", repository)
    assert f"workflows/w.yaml:{line}:" in result.out, result.out
    assert result.out.count("[gpu-bypass]") == 1, result.out


@pytest.mark.parametrize(
    ("task", "gpu", "found"),
    [
        ("", 0, [{"name": NAME}]),
        ("", 1, None),
        (f"    environment:\n      {NAME}: void\n", 0, [{"name": NAME, "value": "void"}]),
        ("    environment:\n      A: b\n", 0, [{"name": "A", "value": "b"}, {"name": NAME}]),
    ],
)
def test_a_task_without_gpus_sees_none(repository: Path, task: str, gpu: int, found: object) -> None:
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": workflow(task, gpu)})
    assert kubectl_tas("render", "-C", repository).code == 0
    (path,) = (repository / "manifests/workflows/w").glob("pod-*.yaml")
    assert safe_load(path.read_text())["spec"]["containers"][0].get("env") == found


@pytest.mark.parametrize("gpu", [0, 1])
def test_in_a_pod_template(repository: Path, gpu: int) -> None:
    template = f"""apiVersion: tas/v1alpha1
kind: PodTemplate
metadata: {{name: all}}
template:
  spec:
    containers:
    - name: "{{{{USER_CONTAINER_NAME}}}}"
      env:
      - name: {NAME}
        value: all
"""
    declared = pool().replace("spec:\n", "spec:\n  common_pod_template: [all]\n", 1)
    write(repository, {"pools/p.yaml": declared, "pools/t.yaml": template, "workflows/w.yaml": workflow("", gpu)})
    result = kubectl_tas("validate", "-C", repository)
    assert "pools/t.yaml:10:" in result.out, result.out
    assert "[gpu-bypass]" in result.out, result.out


@pytest.mark.parametrize(
    ("key", "prefix", "value", "is_seen"),
    [
        (NAME, "", "all", True),
        (NAME, "", "none", False),
        ("VISIBLE_DEVICES", "NVIDIA_", "all", True),
        ("VISIBLE_DEVICES", "", "all", False),
        ("VISIBLE_DEVICES", "AMDGPU_", "all", False),
        (NAME, "NVIDIA_", "all", False),
    ],
)
def test_a_variable_of_a_config_map_behind_a_prefix(key: str, prefix: str, value: str, is_seen: bool) -> None:
    source = f"{{configMapRef: {{name: c}}, prefix: '{prefix}'}}"
    pods = f"{{restartPolicy: Never, containers: [{{name: m, image: i, envFrom: [{source}]}}]}}"
    labels = "labels: {kubectl-tas/pool: team}"
    text = (
        f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a, {labels}}}\nspec: {{template: {{spec: {pods}}}}}\n"
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, {labels}}}\ndata: {{{key}: {value}}}\n"
    )
    seen = (
        'w.yaml:4:91 gpu-bypass: NVIDIA_VISIBLE_DEVICES is "all": the container sees GPUs that no queue is charged for '
        "(Remove it; a container that needs GPUs asks for them in its resources. To hide all GPUs, write void.)"
    )
    assert told_of(text) == ([seen] if is_seen else [])
