"""Tests that every answer counts GPUs as KAI does."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubectl_tas.facts.gpus import GPU, MIG_PROFILES, Hundredths, at_most, is_fraction, is_uncounted, of_pod
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


NO_ACCELERATORS = (
    *("cpu", "memory", "hugepages-2Mi", GPU, "amd.com/gpu", "nvidia.com/mig-3g.20gb"),
    *("example.com/ib", "example.com/ibs0", "example.com/vnic", "example.com/nic_1", "a.example.com/my-vf.2"),
    *("github.com/tun", "example.com/eni", "vpc.example.com/efa", "example.com/kvm", "example.com/hca-1"),
    *("example.com/FUSE", "rdma/ib0", "example.com/erdma_a", "example.com/roce2", "intel.com/sriov_net"),
    *("example.com/mlnx5", "example.com/netdevs", "example.com/hostdev1", "example.com/infiniband-a"),
    *("example.com/vhost-net", "example.com/dpdk1", "openshift.io/a", "mellanox.com/a", "smarter-devices/a"),
    *("squat.ai/a", "aliyun/a", "vpc.amazonaws.com/a", "tke.cloud.tencent.com/a", "devices.kubevirt.io/a"),
    *("networking.gke.io/a", "networking.gke.io.networks/a", "topolvm.io/a", "topolvm.cybozu.com/a"),
    *("sgx.intel.com/a", "qat.intel.com/a", "dlb.intel.com/a", "dsa.intel.com/a", "iaa.intel.com/a"),
    *("koordinator.sh/batch-cpu", "koordinator.sh/mid-memory", "rdma/hca", "rdma/hca_shared_devices_a"),
    *("nvidia.com/hostdev", "nvidia.com/gpu_rdma0", "openshift.io/gpu-nic1", "networking.gke.io.networks/gpu-net-1"),
    *("smarter-devices/video0", "smarter-devices/input0", "squat.ai/output", "smarter-devices/snd", "squat.ai/carddav"),
    *("openshift.io/intelnics", "openshift.io/vfio_1", "intel.com/sriov_vfio", "devices.kubevirt.io/vhost-net"),
)
ACCELERATORS = (
    *("nvidia.com/GH100_H100", "nvidia.com/mig1g", "gpu.intel.com/i915", "example.com/npu", "example.com/library"),
    *("example.com/nvme", "koordinator.sh/gpu", "tpu.intel.com/a", "example.com/openshift.io"),
    *("intel.com/sriov-gpudevice", "intel.com/sriov_gpu", "nvidia.com/gpu_kvm", "nvidia.com/GPU_VF", "amd.com/gpu_vf"),
    *("squat.ai/nvidia", "squat.ai/gpu", "squat.ai/kfd", "smarter-devices/nvidia0", "smarter-devices/nvidiactl"),
    *("smarter-devices/dri", "smarter-devices/dri_renderD128", "smarter-devices/dri-card0", "smarter-devices/vfio"),
    *("smarter-devices/davinci0", "smarter-devices/accel0", "squat.ai/neuron1", "smarter-devices/dxg"),
    *("tke.cloud.tencent.com/qgpu-core", "aliyun/gpu-mem", "openshift.io/gpu", "mellanox.com/gpu", "squat.ai/tpu"),
    *("devices.kubevirt.io/vgpu", "koordinator.sh/batch-gpu", "openshift.io/npu0", "example.com/vhost-gpu"),
)


def test_what_kai_charges_to_no_queue() -> None:
    """Names of network cards and of devices of each node are no accelerators, whatever their domain."""
    assert [name for name in NO_ACCELERATORS if is_uncounted(name)] == []
    assert [name for name in ACCELERATORS if not is_uncounted(name)] == []


def test_profiles_of_mig_devices() -> None:
    """Slices and memory, and for RTX PRO the attributes of NVIDIA's guide, as the device plugin spells them."""
    found = [
        re.fullmatch(r"nvidia\.com/mig-([1-7])g\.(\d+)gb(|\.gfx|\.me|\.me\.all|-me)", name) for name in MIG_PROFILES
    ]
    parts = [(int(match[1]), int(match[2]), match[3]) for match in found if match]
    assert len(parts) == len(set(parts)) == len(MIG_PROFILES)
    assert {least: max(size for slices, size, _ in parts if slices == least) for least in (1, 2, 3, 4, 7)} == {
        1: 70,
        2: 70,
        3: 139,
        4: 139,
        7: 278,
    }
    of_rtx_pro = {(slices, size) for slices, size, attribute in parts if attribute in (".gfx", ".me.all", "-me")}
    assert of_rtx_pro == {(1, 12), (1, 16), (1, 24), (2, 24), (2, 32), (2, 48), (4, 48), (4, 96)}
    assert {size for slices, size, _ in parts if slices == 7} == {40, 80, 94, 96, 141, 144, 180, 186, 189, 269, 278}


@pytest.mark.parametrize(
    ("annotations", "hundredths"),
    [
        ({"gpu-fraction": "1"}, 100),
        ({"gpu-fraction": "1.01"}, 0),
        ({"gpu-fraction": "0"}, 0),
        ({"gpu-fraction": "0.014"}, 1),
        ({"gpu-fraction": "0.015"}, 2),
        ({"gpu-fraction": "+.5e0"}, 50),
        ({"gpu-fraction": "0.5 "}, 0),
        ({"gpu-fraction": "2", "gpu-memory": "1"}, 1),
        ({"gpu-memory": "0"}, 0),
        ({"gpu-memory": "1Gi"}, 0),
        ({"gpu-memory": "1" * 10}, 0),
        ({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "0"}, 0),
        ({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "two"}, 50),
        ({"gpu-fraction-num-devices": "2"}, 0),
        ({"nvidia.com/mig-3g.20gb": "2", "nvidia.com/mig-1g.5gb": "1", "gpu-fraction": "0.5"}, 700),
        ({"nvidia.com/mig-3g.20gb": "few", "nvidia.com/gpu": "3"}, 0),
    ],
)
def test_the_part_that_annotations_ask_for(annotations: dict[str, str], hundredths: int) -> None:
    assert of_pod((), (), None, annotations) * 100 == hundredths


@pytest.mark.parametrize(
    ("init", "containers", "most"),
    [
        ((), (2, 3), 5),
        (((False, 4),), (2, 1), 4),
        (((False, 4), (True, 2)), (1,), 4),
        (((True, 2), (False, 4)), (1,), 6),
        (((True, 2), (True, 1), (False, 1)), (5,), 8),
        ((), (), 0),
    ],
)
def test_the_most_that_a_pod_holds_at_any_time(
    init: tuple[tuple[bool, int], ...], containers: tuple[int, ...], most: int
) -> None:
    assert at_most(init, containers) == most
