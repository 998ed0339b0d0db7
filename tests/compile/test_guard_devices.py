"""Tests the guard against pods that take devices of their node, and that it reads paths, names and values as files are
read.
"""

from __future__ import annotations

import copy
import posixpath
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_tas.facts.device_runtimes import (
    ANNOTATIONS,
    MOUNTS,
    VARIABLES,
    cel_is_note,
    cel_takes_devices,
    cel_variables,
    is_hidden,
    read_by,
    takes_devices,
)
from kubectl_tas.facts.gpus import cel_variables as gpu_variables
from tests.compile.test_guard import CASE, TEAM, Object, policies, update
from tests.support.admission import Request, evaluate, refusals
from tests.support.cli import pool, write
from tests.support.golden import case_input

NVIDIA = "NVIDIA_VISIBLE_DEVICES"
REFUSED = (
    "the pod takes devices of its node past the scheduler and every quota, by a variable such as "
    f"NVIDIA_VISIBLE_DEVICES, a mount below {MOUNTS} or a CDI annotation; ask for GPUs in limits"
)


@pytest.fixture(scope="module")
def guard() -> list[Object]:
    return policies(case_input(CASE), "--backend", "prod")


def pod(container: Object | None = None, notes: Object | None = None, **spec: Any) -> Object:
    """A pod without a queue, of a container with these fields."""
    metadata = {"name": "p", **({"annotations": notes} if notes else {})}
    held = {"containers": [{"name": "c", "image": "i", **(container or {})}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": held}


def env(name: str, value: str | None = None, **source: Any) -> Object:
    return {"env": [{"name": name, **({} if value is None else {"value": value}), **source}]}


def mount(path: str) -> Object:
    return {"volumeMounts": [{"name": "v", "mountPath": path}]}


FROM = {"valueFrom": {"configMapKeyRef": {"name": "mine", "key": NVIDIA}}}
TAKES = {
    "all": pod(env(NVIDIA, "all")),
    "an index": pod(env(NVIDIA, "0")),
    "from elsewhere": pod(env(NVIDIA, **FROM)),
    "an init container": pod(initContainers=[{"name": "i", **env(NVIDIA, "all")}]),
    "amd": pod(env("AMD_VISIBLE_DEVICES", "0-3")),
    "a resource of docker": pod(env("DOCKER_RESOURCE_GPU", "0")),
    "habana, which knows no void": pod(env("HABANA_VISIBLE_DEVICES", "void")),
    "habana with nothing": pod(env("HABANA_VISIBLE_DEVICES")),
    "ascend": pod(env("ASCEND_VISIBLE_DEVICES", "0")),
    "a mount": pod(mount(f"{MOUNTS}/all")),
    "a mount that is not clean": pod(mount("/var//run/./nvidia-container-devices/all")),
    "a relative mount": pod(mount("var/run/nvidia-container-devices/all")),
    "a mount from above": pod(mount("/a/../var/run/nvidia-container-devices/all")),
    "cdi": pod(notes={"cdi.k8s.io/gpu": "nvidia.com/gpu=all"}),
    "cri-o": pod(notes={"io.kubernetes.cri-o.Devices": "/dev/fuse,/dev/nvidia0"}),
    "a part of a GPU, and all by another ConfigMap": pod(
        env(NVIDIA, **FROM), notes={"gpu-fraction": "0.5", "runai/shared-gpu-configmap": "p-abc-shared-gpu"}
    ),
    "a part of a GPU, and a ConfigMap that KAI does not write": pod(
        env(NVIDIA, valueFrom={"configMapKeyRef": {"name": "mine-7", "key": NVIDIA}}),
        notes={"gpu-fraction": "0.5", "runai/shared-gpu-configmap": "mine"},
    ),
    "no part of a GPU, and KAI's ConfigMap": pod(
        env(NVIDIA, valueFrom={"configMapKeyRef": {"name": "p-0", "key": NVIDIA}}),
        notes={"runai/shared-gpu-configmap": "p"},
    ),
}
LETS_IN = {
    "nothing": pod(),
    "void": pod(env(NVIDIA, "void")),
    "empty": pod(env(NVIDIA)),
    "habana with none": pod(env("HABANA_VISIBLE_DEVICES", "none")),
    "what a framework reads": pod(env("CUDA_VISIBLE_DEVICES", "0")),
    "another mount": pod(mount("/var/run/nvidia")),
    "a mount from above of something else": pod(mount("/data/../models")),
    "fuse": pod(notes={"io.kubernetes.cri-o.Devices": "/dev/fuse,/dev/net/tun"}),
    "a part of a GPU as KAI's webhook gives it": pod(
        env(NVIDIA, valueFrom={"configMapKeyRef": {"name": "p-abc-shared-gpu-0", "key": NVIDIA}}),
        notes={"gpu-fraction": "0.5", "runai/shared-gpu-configmap": "p-abc-shared-gpu"},
    ),
    "a part of a GPU for an init container": pod(
        initContainers=[
            {"name": "i", **env(NVIDIA, valueFrom={"configMapKeyRef": {"name": "p-i0", "key": NVIDIA}})},
        ],
        notes={
            "gpu-memory": "2000",
            "gpu-fraction-container-name": "i",
            "runai/shared-gpu-configmap": "p",
        },
    ),
}


@pytest.mark.parametrize("name", TAKES)
def test_pods_that_take_devices_are_refused(name: str, guard: list[Object]) -> None:
    assert REFUSED in refusals(guard, Request("pods", TAKES[name]))


@pytest.mark.parametrize("name", LETS_IN)
def test_other_pods_are_taken(name: str, guard: list[Object]) -> None:
    found = refusals(guard, Request("pods", LETS_IN[name]))
    assert REFUSED not in found


def test_ephemeral_containers_are_judged(guard: list[Object]) -> None:
    old = pod()
    new = copy.deepcopy(old)
    new["spec"]["ephemeralContainers"] = [{"name": "d", **env(NVIDIA, "all")}]
    assert refusals(guard, Request("pods/ephemeralcontainers", new, old)) == [REFUSED]
    new["spec"]["ephemeralContainers"] = [{"name": "d", **env(NVIDIA, "void")}]
    assert refusals(guard, Request("pods/ephemeralcontainers", new, old)) == []


def test_annotations_cannot_come_later(guard: list[Object]) -> None:
    old, new = pod(), pod(notes={"cdi.k8s.io/gpu": "nvidia.com/gpu=all"})
    assert refusals(guard, Request("pods", new, old)) == [REFUSED]
    assert refusals(guard, Request("pods", new, new)) == []
    (found,) = refusals(guard, Request("pods/status", new, old))
    assert found.startswith("labels and annotations that KAI counts a pod by, or that give devices, cannot change")
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": new["metadata"], "target": {"name": "n"}}
    assert len(refusals(guard, Request("pods/binding", binding))) == 1


def test_elsewhere_nothing_is_judged(guard: list[Object]) -> None:
    assert refusals(guard, Request("pods", TAKES["all"], namespace="gpu-operator")) == []


def test_a_queue_of_the_repository_is_judged_everywhere(guard: list[Object]) -> None:
    item = pod(env(NVIDIA, "all"))
    item["metadata"]["labels"] = {"kai.scheduler/queue": f"{TEAM}--a"}
    assert REFUSED in refusals(guard, Request("pods", item, namespace="elsewhere"))


@pytest.mark.parametrize(("severity", "is_there"), [("error", True), ("warning", False), ("off", False)])
def test_the_rule_decides_whether_there_is_a_policy(repository: Path, severity: str, *, is_there: bool) -> None:
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{guard: true, rules: {{gpu-bypass: {severity}}}}}\n"
    write(repository, {"tas.yaml": config, "pools/team.yaml": pool()})
    names = {item["metadata"]["name"].rpartition("-")[2] for item in policies(repository)}
    assert ("devices" in names) == is_there


STEPS = st.sampled_from(
    ["", ".", "..", "var", "run", "nvidia-container-devices", "nvidia-container-devicesx", "all", "x", "..."]
)
PATHS = st.lists(STEPS, max_size=8).map("/".join)


@settings(max_examples=400)
@given(PATHS)
def test_a_path_is_read_as_the_runtime_cleans_it(path: str) -> None:
    is_device = posixpath.normpath(f"/{path}").replace("//", "/").startswith(MOUNTS)
    if is_device or ".." not in path.split("/"):
        assert takes_devices(path) == is_device
    elif "nvidia-container-devices" not in path:
        assert not takes_devices(path)


@settings(max_examples=100)
@given(PATHS)
def test_a_path_is_the_same_in_cel(path: str) -> None:
    found = evaluate([("is_device", cel_takes_devices("object.path"))], {"path": path})
    assert bool(found["is_device"]) == takes_devices(path)


NAMES = st.sampled_from(
    [
        *(name for key in VARIABLES for name in key.names.replace(".*", "X").split("|")),
        *(key.names.removesuffix(".*") for key in VARIABLES),
        *("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "X_NVIDIA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES_X"),
    ]
)
VALUES = st.one_of(
    st.none(),
    st.lists(st.sampled_from(["all", "none", "void", " ", ",", "0", "", "\t", "GPU-1", "$(X)"]), max_size=4).map(
        "".join
    ),
)


@settings(max_examples=100)
@given(NAMES, VALUES)
def test_a_variable_is_the_same_in_cel(name: str, value: str | None) -> None:
    variables = dict((*gpu_variables(), *cel_variables()))
    wanted = [(key, variables[key]) for key in ("initContainers", "annotations", "shared", "takesDevices")]
    key = read_by(VARIABLES, name)
    takes = key is not None and not is_hidden(key, value)
    assert bool(evaluate(wanted, pod(env(name, value)))["takesDevices"]) == takes


NOTES = st.sampled_from(
    [
        *("cdi.k8s.io/x", "cdi.k8s.io", "nvidia.cdi.k8s.io/x", "cdi.k8s.iox/x", "x/cdi.k8s.io", "devices.nri.io/pod"),
        *("cdi-devices.noderesource.dev/container.a", "huawei.com/Ascend910", "huawei.com/Ascend910x"),
        *("io.kubernetes.cri-o.Devices", "io.kubernetes.cri-o.Devices/a", "devices.crio.io", "example.com/note"),
    ]
)
DEVICES = st.lists(
    st.sampled_from(["/dev/fuse", "/dev/net/tun", "/dev/nvidia0", "/dev/fuse:/x:rw", "a=b", ""]), max_size=3
).map(",".join)


@settings(max_examples=100)
@given(NOTES, DEVICES)
def test_an_annotation_is_the_same_in_cel(name: str, value: str) -> None:
    found = evaluate([("is_note", cel_is_note("object.name", "object.value"))], {"name": name, "value": value})
    key = read_by(ANNOTATIONS, name)
    assert bool(found["is_note"]) == (key is not None and not is_hidden(key, value))


def test_an_update_of_a_pod_that_took_devices_before_is_taken(guard: list[Object]) -> None:
    old = Request("pods", TAKES["all"])
    assert refusals(guard, update(old)) == []
