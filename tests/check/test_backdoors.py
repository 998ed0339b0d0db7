"""Tests that each key by which work would exceed its pool, or evade a reviewer, has its own message."""

from __future__ import annotations

import copy
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubectl_tas.facts import gpus
from kubectl_tas.kinds.backdoors import BACKDOORS, Decides, KeyPlace
from tests.check.test_fields import KINDS, document
from tests.support.cli import Result, kubectl_tas, pool, write
from tests.support.workloads import Object, deployment, pytorch_job, template, workload

QUEUE = "osmo-pool-default-team--shared"
SAME = {
    Decides.QUEUE: QUEUE,
    Decides.PRIORITY: "osmo-normal",
    Decides.PREEMPTIBILITY: "non-preemptible",
    Decides.SCHEDULER: "kai-scheduler",
    Decides.NAMESPACE: "default",
}
"""What the pool says, and so what may be there."""
MARK = "zz-other"
"""Another value than the pool's, which is there once."""


def put(item: Object, path: str, value: Any) -> Object:
    """A document with a value at a path of keys and indices, which are separated by blanks."""
    found = copy.deepcopy(item)
    *above, last = [int(step) if step.isdecimal() else step for step in path.split(" ")]
    holder: Any = found
    for step in above:
        holder = holder[step] if isinstance(holder, list) else holder.setdefault(step, {})
    holder[last] = value
    return found


def validated(repository: Path, *items: Object, config: Object | None = None) -> tuple[Result, str]:
    """What ``validate --strict`` says of these, and their text."""
    text = yaml.safe_dump_all(items, sort_keys=False)
    files = {"pools/p.yaml": pool(), "workflows/w.yaml": text}
    if config is not None:
        files["tas.yaml"] = yaml.safe_dump({"apiVersion": "tas/v1alpha1", "kind": "Config", "spec": config})
    write(repository, files)
    return kubectl_tas("validate", "--strict", "-C", repository), text


def assert_found(result: Result, text: str, mark: str, rule: str, *words: str) -> None:
    """A message of the rule with the words, at the one line that has the mark."""
    (line,) = (number for number, line in enumerate(text.splitlines(), 1) if mark in line)
    assert result.code == 1, result.out
    found = [item for item in result.out.splitlines() if item.startswith(f"workflows/w.yaml:{line}:")]
    assert any(f"[{rule}]" in item and all(word in item for word in words) for item in found), result.out


JOB = workload("batch/v1", "Job", "j", None, {"template": template()})
TORCH = pytorch_job("t")
SET = {
    "apiVersion": "grove.io/v1alpha1",
    "kind": "PodCliqueSet",
    "metadata": {"name": "s", "labels": {"kubectl-tas/pool": "team"}},
    "spec": {
        "replicas": 1,
        "template": {
            "cliques": [
                {"name": "a", "spec": {"roleName": "a", "replicas": 1, "podSpec": template()["spec"]}},
                {"name": "b", "spec": {"roleName": "b", "replicas": 2, "podSpec": template()["spec"]}},
            ],
            "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["b"], "replicas": 1, "minAvailable": 1}],
        },
    },
}
PODS = {
    "Job": "spec template",
    "CronJob": "spec jobTemplate spec template",
    "Deployment": "spec template",
    "StatefulSet": "spec template",
    "JobSet": "spec replicatedJobs 0 template spec template",
    "RayJob": "spec rayClusterSpec headGroupSpec template",
    "RayCluster": "spec workerGroupSpecs 0 template",
    "RayService": "spec rayClusterConfig workerGroupSpecs 0 template",
    "PyTorchJob": "spec pytorchReplicaSpecs Worker template",
    "TFJob": "spec tfReplicaSpecs Worker template",
    "XGBoostJob": "spec xgbReplicaSpecs Master template",
    "JAXJob": "spec jaxReplicaSpecs Worker template",
    "MPIJob": "spec mpiReplicaSpecs Launcher template",
    "LeaderWorkerSet": "spec leaderWorkerTemplate workerTemplate",
}
"""Where each kind has a pod template; a TrainJob has none."""
TRAIN = "spec podTemplateOverrides 0"
ABOVE = {
    "CronJob": "spec jobTemplate metadata",
    "JobSet": "spec replicatedJobs 0 template metadata",
    "StatefulSet": "spec volumeClaimTemplates 0 metadata",
    "TrainJob": f"{TRAIN} metadata",
}
"""Metadata between the object and its pods."""


def train_job() -> Object:
    item = document("TrainJob")
    return put(item, "spec podTemplateOverrides", [{"targetJobs": [{"name": "node"}], "metadata": {}, "spec": {}}])


def of_kind(kind: str) -> Object:
    return train_job() if kind == "TrainJob" else document(kind)


def slips() -> list[tuple[str, str, str, Decides]]:
    """Kind, path, rule and what is decided: every field in every pod, and at every place one of the labels, in turn:
    ``test_metadata_places`` tries each label at each place.
    """
    rules = {door: "workload-conflict" if door.decides in SAME else "quota-bypass" for door in BACKDOORS}
    labels = [door for door in BACKDOORS if door.place is KeyPlace.LABEL and door.decides is not Decides.STATE]
    pods = [(kind, f"{path} metadata") for kind, path in PODS.items()]
    labelled = [*((kind, "metadata") for kind in KINDS), *pods, *ABOVE.items(), ("TrainJob", "spec")]
    found = [
        (kind, f"{path} labels {door.key}", rules[door], door.decides)
        for (kind, path), door in zip(labelled, cycle(labels))
    ]
    for door in (door for door in BACKDOORS if door.place is not KeyPlace.LABEL and door.decides is not Decides.STATE):
        if door.key in ("schedulerName", "nodeName", "priorityClassName"):
            places = [*PODS.items(), ("TrainJob", TRAIN)]
            found += [(kind, f"{path} spec {door.key}", rules[door], door.decides) for kind, path in places]
        elif door.key == "namespace":
            places = [*pods, *ABOVE.items()]
            found += [(kind, f"{path} namespace", rules[door], door.decides) for kind, path in places]
        elif door.parent == "schedulingPolicy":
            policy = f"spec runPolicy schedulingPolicy {door.key}"
            kinds = ("PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "MPIJob")
            found += [(kind, policy, rules[door], door.decides) for kind in kinds]
    return found


@pytest.mark.parametrize(("kind", "path", "rule", "decides"), slips(), ids=lambda item: str(item).replace(" ", "."))
def test_another_value_than_the_pools(repository: Path, kind: str, path: str, rule: str, decides: Decides) -> None:
    item = of_kind(kind)
    if "volumeClaimTemplates" in path:
        item = put(item, "spec volumeClaimTemplates", [{"metadata": {"name": "d"}, "spec": {}}])
    result, text = validated(repository, put(item, path, MARK))
    assert_found(result, text, MARK, rule, path.rpartition(" ")[2])
    if decides in SAME:
        result, _ = validated(repository, put(item, path, SAME[decides]))
        assert not {f"[{rule}]"} & set(result.out.split()), result.out


def test_another_scheduler_where_there_is_no_kai(repository: Path) -> None:
    config = {"backends": [{"name": "prod", "scheduler": {"type": "default"}}]}
    result, text = validated(repository, put(JOB, "spec template spec schedulerName", MARK), config=config)
    assert_found(result, text, MARK, "workload-conflict", '"default-scheduler"')
    same = put(JOB, "spec template spec schedulerName", "default-scheduler")
    assert validated(repository, same, config=config)[0].code == 0


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        (f"{place} {door.key}", "workload-conflict" if door.decides in SAME else "quota-bypass")
        for door in BACKDOORS
        if door.place is KeyPlace.LABEL and door.decides is not Decides.STATE
        for place in ("metadata labels", "spec template cliques 0 labels")
    ]
    + [
        (f"spec template cliques 1 spec podSpec {key}", rule)
        for key, rule in (
            ("schedulerName", "workload-conflict"),
            ("priorityClassName", "workload-conflict"),
            ("nodeName", "quota-bypass"),
        )
    ]
    + [("spec template priorityClassName", "workload-conflict")],
)
def test_places_of_a_set(repository: Path, path: str, rule: str) -> None:
    result, text = validated(repository, put(SET, path, MARK))
    assert_found(result, text, MARK, rule)


SYNC = [
    ("config.kubernetes.io/local-config", "true"),
    ("argocd.argoproj.io/hook", "PreSync"),
    ("helm.sh/hook", "pre-install"),
    ("argocd.argoproj.io/sync-options", "Validate=false,Prune=false"),
    ("argocd.argoproj.io/sync-options", "Delete=confirm"),
    ("helm.sh/resource-policy", "keep"),
    ("argocd.argoproj.io/compare-options", "IgnoreExtraneous"),
    ("kustomize.toolkit.fluxcd.io/reconcile", "disabled"),
    ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
    ("kustomize.toolkit.fluxcd.io/ssa", "IfNotPresent"),
]
POD_GROUP = {
    "apiVersion": "scheduling.run.ai/v2alpha2",
    "kind": "PodGroup",
    "metadata": {"name": "zz", "namespace": "default"},
    "spec": {"minMember": 1, "queue": QUEUE},
}


@pytest.mark.parametrize(("key", "value"), SYNC)
@pytest.mark.parametrize("item", [JOB, SET, POD_GROUP], ids=["workload", "set", "podgroup"])
def test_taken_out_of_the_sync(repository: Path, item: Object, key: str, value: str) -> None:
    result, text = validated(repository, put(item, "metadata annotations", {key: value}))
    assert_found(result, text, key, "sync-bypass", "takes the object out of the sync")
    result, _ = validated(repository, put(item, "metadata annotations", {key: value}), config={"rules": ALLOWED})
    assert "sync-bypass" not in result.out


ALLOWED = {"sync-bypass": "off"}


def test_every_key_is_tried_and_explained() -> None:
    assert all(bool(door.effect) != (door.decides in SAME) for door in BACKDOORS)
    assert {door.key for door in BACKDOORS if door.decides is Decides.SYNC} == {key for key, _ in SYNC}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("argocd.argoproj.io/sync-wave", "3"),
        ("argocd.argoproj.io/sync-options", "Replace=true,Prune=true"),
        ("kustomize.toolkit.fluxcd.io/force", "enabled"),
        ("kustomize.toolkit.fluxcd.io/prune", "enabled"),
        ("kustomize.toolkit.fluxcd.io/ssa", "Merge"),
        ("config.kubernetes.io/local-config", "false"),
    ],
)
def test_other_words_of_the_same_tools(repository: Path, key: str, value: str) -> None:
    result, _ = validated(repository, put(JOB, "metadata annotations", {key: value}))
    assert result.code == 0, result.out


def test_a_comment_does_not_let_it_in(repository: Path) -> None:
    _, text = validated(repository, put(JOB, "spec template spec nodeName", MARK))
    waived = text.replace(MARK, f"{MARK}  # kubectl-tas: ignore[quota-bypass]")
    write(repository, {"workflows/w.yaml": waived})
    assert "[quota-bypass]" in kubectl_tas("validate", "-C", repository).out


@pytest.mark.parametrize("holder", ["metadata", "Metadata"])
@pytest.mark.parametrize("path", ["", "spec template "])
def test_keys_in_another_case(repository: Path, holder: str, path: str) -> None:
    """An API server drops them, or refuses them; nothing in them is read."""
    key = holder if holder == "Metadata" else "metadata Labels"
    result, text = validated(repository, put(JOB, f"{path}{key}", {"kai.scheduler/preemptibility": MARK}))
    assert_found(result, text, f"{key.rpartition(' ')[2]}:", "unknown-field")


@pytest.mark.parametrize("label", ["priorityClassName", "ray.io/priority-class-name", "runai/queue", "kai.scheduler/x"])
def test_labels_of_a_workflow(repository: Path, label: str) -> None:
    tasks = "tasks: [{name: t, image: i}]"
    text = f"workflow:\n  name: w\n  pool: team\n  {tasks}\n  labels:\n    {label}: {MARK}\n"
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    assert_found(kubectl_tas("validate", "-C", repository), text, MARK, "label-reserved", label)


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("privileged: true", "runs privileged"),
        ("hostNetwork: true", "shares the network"),
        ("volumeMounts: [/dev]", "mounts paths of its node: /dev"),
    ],
)
def test_tasks_that_reach_their_node(repository: Path, field: str, words: str) -> None:
    text = f"workflow:\n  name: w\n  pool: team\n  tasks:\n  - name: t\n    image: i\n    {field}\n"
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    assert_found(kubectl_tas("validate", "--strict", "-C", repository), text, field, "privileged-task", words)


JOINED = put(
    JOB, "spec template metadata", {"annotations": {"pod-group-name": "zz", "kai.scheduler/skip-podgrouper": "true"}}
)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("queue", "osmo-pool-default-other--shared"),
        ("priorityClassName", "osmo-high"),
        ("preemptibility", "preemptible"),
    ],
)
def test_a_podgroup_of_another_queue_or_priority(repository: Path, field: str, value: str) -> None:
    write(repository, {"pools/o.yaml": pool("other")})
    result, text = validated(repository, JOINED, put(POD_GROUP, f"spec {field}", value))
    assert_found(result, text, "pod-group-name", "workload-conflict", field, value)


def test_a_podgroup_that_says_the_same(repository: Path) -> None:
    same = {"queue": QUEUE, "priorityClassName": "osmo-normal", "preemptibility": "non-preemptible", "minMember": 1}
    result, _ = validated(repository, JOINED, put(POD_GROUP, "spec", same))
    assert result.code == 0, result.out


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        ("spec priorityClassName", "system-node-critical", "podgroup-priority"),
        ("spec priorityClassName", MARK, "podgroup-priority"),
        ("spec queue", MARK, "podgroup-queue"),
        ("metadata namespace", MARK, "podgroup-namespace"),
        ("metadata labels", {"kai.scheduler/node-pool": MARK}, "quota-bypass"),
    ],
)
def test_a_podgroup_by_hand(repository: Path, path: str, value: Any, rule: str) -> None:
    result, text = validated(repository, put(POD_GROUP, path, value))
    assert_found(result, text, MARK if MARK in text else str(value), rule)


CLIQUE, GROUP = "spec template cliques 0", "spec template podCliqueScalingGroups 0"


def ray(*, autoscaled: bool, most: int | None) -> Object:
    group = {"groupName": "g", "replicas": 2, "minReplicas": 2, "numOfHosts": 2, "template": template()}
    own = {} if most is None else {"maxReplicas": most}
    spec = {"headGroupSpec": {"template": template()}, "workerGroupSpecs": [{**group, **own}]}
    return workload("ray.io/v1", "RayCluster", "r", None, {"enableInTreeAutoscaling": autoscaled, **spec})


@pytest.mark.parametrize(
    ("item", "mark", "start", "most", "gpus", "total"),
    [
        (ray(autoscaled=True, most=6), "maxReplicas", 2, "6", 5, "to 13"),
        (ray(autoscaled=True, most=None), "groupName", 2, "any number", 5, "without limit"),
        (put(TORCH, "spec elasticPolicy", {"maxReplicas": 9}), "maxReplicas", 3, "9", 3, "to 9"),
        (put(SET, f"{CLIQUE} spec autoScalingConfig", {"maxReplicas": 4}), "maxReplicas", 1, "4", 3, "to 6"),
        (put(SET, f"{GROUP} scaleConfig", {"maxReplicas": 3}), "maxReplicas", 1, "3", 3, "to 7"),
    ],
    ids=["ray", "ray-without-limit", "pytorch", "clique", "scaling-group"],
)
def test_growth_is_said_with_both_numbers(
    repository: Path, item: Object, mark: str, start: int, most: str, gpus: int, total: str
) -> None:
    result, text = validated(repository, item)
    words = f"from {start} to {most}: {gpus} GPUs of this {item['kind']} are counted, and they may grow {total}"
    assert_found(result, text, mark, "growth-uncounted", words)


@pytest.mark.parametrize(
    "item",
    [
        ray(autoscaled=False, most=6),
        ray(autoscaled=True, most=2),
        put(TORCH, "spec elasticPolicy", {"maxReplicas": 3}),
    ],
)
def test_no_growth(repository: Path, item: Object) -> None:
    assert "growth-uncounted" not in validated(repository, item)[0].out


SPELLINGS = [
    ("nvidia.com/gpus", "gpu-name", "Did you mean nvidia.com/gpu?"),
    ("nvidia.com/GPU", "gpu-name", "Did you mean nvidia.com/gpu?"),
    ("nvidia.com/gp", "gpu-name", "Did you mean nvidia.com/gpu?"),
    ("nvida.com/gpu", "gpu-name", "Did you mean nvidia.com/gpu?"),
    ("nvidia/gpu", "gpu-name", "Did you mean nvidia.com/gpu?"),
    ("nvidia.io/gpu", "gpu-name", "Did you mean nvidia.com/gpu?"),
    ("gpu/nvidia", "gpu-name", "Did you mean nvidia.com/gpu?"),
    ("amd.com/gpus", "gpu-name", "Did you mean amd.com/gpu?"),
    ("amd/gpu", "gpu-name", "Did you mean amd.com/gpu?"),
    ("nvidia.com/mig1g.5gb", "gpu-name", "Did you mean nvidia.com/mig-1g.5gb?"),
    ("nvidia.com/MIG-1g.5gb", "gpu-name", "Did you mean nvidia.com/mig-1g.5gb?"),
    ("nvidia.com/mig-1g.10g", "gpu-name", "Did you mean nvidia.com/mig-1g.10gb?"),
    ("nvidia.com/mig-3g.20GB", "gpu-name", "Did you mean nvidia.com/mig-3g.20gb?"),
    ("nvidia.com/mig-7g.80g", "gpu-name", "Did you mean nvidia.com/mig-7g.80gb?"),
    ("nvidia.com/mig-9g.5gb", "gpu-name", "Known: nvidia.com/mig-1g.6gb, "),
    ("nvidia.com.gpu", "resource-name", "Did you mean nvidia.com/gpu?"),
    ("gpu", "resource-name", "Did you mean nvidia.com/gpu?"),
    ("GPU", "resource-name", "Did you mean nvidia.com/gpu?"),
    ("gpus", "resource-name", "Did you mean nvidia.com/gpu?"),
    ("nvidia-gpu", "resource-name", "Did you mean nvidia.com/gpu?"),
    ("nvidia.com/gpu/", "resource-name", "Did you mean nvidia.com/gpu?"),
    (" nvidia.com/gpu", "resource-name", "Did you mean nvidia.com/gpu?"),
    ("https://nvidia.com/gpu", "resource-name", "Did you mean nvidia.com/gpu?"),
    ("alpha.kubernetes.io/nvidia-gpu", "resource-name", "Did you mean nvidia.com/gpu?"),
    ("requests.nvidia.com/gpu", "resource-name", "Did you mean nvidia.com/gpu?"),
    ("https://nvidia.com/gpu", "resource-name", "it must be DOMAIN/NAME"),
    ("mem", "resource-name", "Did you mean memory?"),
    ("CPU", "resource-name", "Did you mean cpu?"),
    ("memoryy", "resource-name", "Did you mean memory?"),
    ("storage", "resource-name", "Known: cpu, ephemeral-storage, memory and nvidia.com/gpu."),
    ("disk", "resource-name", "Known: cpu, ephemeral-storage, memory and nvidia.com/gpu."),
]


@pytest.mark.parametrize(("name", "rule", "hint"), SPELLINGS)
@pytest.mark.parametrize(
    "path", ["containers 0 resources limits", "resources limits", "initContainers 0 resources requests"]
)
def test_spellings_of_gpus(repository: Path, name: str, rule: str, hint: str, path: str) -> None:
    item = put(JOB, "spec template spec initContainers", [{"name": "i", "image": "i"}])
    result, text = validated(repository, put(item, f"spec template spec {path}", {name: 8}))
    (line,) = (number for number, line in enumerate(text.splitlines(), 1) if f"{name}: 8" in line.replace("'", ""))
    assert f"workflows/w.yaml:{line}:" in result.out, result.out
    assert f"[{rule}]" in result.out, result.out
    assert hint in result.out, result.out


@pytest.mark.parametrize(
    "name",
    [
        "nvidia.com/gpu", "amd.com/gpu", "nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared", "intel.com/gpu",
        "gpu.intel.com/i915", "habana.ai/gaudi", "google.com/tpu", "rdma/hca", "hugepages-2Mi", "vpc.amazonaws.com/efa",
        "nvidia.com/gpumem", "deviceclass.resource.kubernetes.io/gpu.nvidia.com",
    ],
)  # fmt: skip
def test_names_of_resources_that_there_are(repository: Path, name: str) -> None:
    result, _ = validated(repository, put(JOB, "spec template spec containers 0 resources limits", {name: 1}))
    assert "gpu-name" not in result.out
    assert "resource-name" not in result.out


@pytest.mark.parametrize(
    "name",
    [
        "nvidia.com/GH100_H100", "nvidia.com/GRID_A100D-20C", "nvidia.com/gpu.shared", "tencent.com/vcuda-core",
        "tencent.com/vcuda-memory", "aliyun.com/gpu-mem", "volcano.sh/vgpu-number", "4paradigm.com/vgpu",
        "huawei.com/Ascend910", "cambricon.com/mlu", "enflame.com/gcu", "habana.ai/gaudi", "google.com/tpu",
        "aws.amazon.com/neuroncore", "xilinx.com/fpga", "koordinator.sh/gpu", "acme.io/h100",
        "deviceclass.resource.kubernetes.io/gpu.nvidia.com",
    ],
)  # fmt: skip
def test_devices_that_no_queue_is_charged_for(repository: Path, name: str) -> None:
    result, text = validated(repository, put(JOB, "spec template spec containers 0 resources limits", {name: 1}))
    assert_found(result, text, name, "gpus-unknown", f"KAI charges no queue for {name}")


@pytest.mark.parametrize(
    "name",
    [
        "rdma/hca", "rdma/rdma_shared_device_a", "nvidia.com/hostdev", "nvidia.com/mlnxnics", "nvidia.com/sriov_ib_vf",
        "openshift.io/mlxnics", "mellanox.com/cx7", "intel.com/intel_sriov_netdevice", "vpc.amazonaws.com/efa",
        "amd.com/nic", "aliyun/erdma", "smarter-devices/fuse", "github.com/fuse", "devices.kubevirt.io/kvm",
        "qat.intel.com/cy", "koordinator.sh/batch-cpu", "hugepages-2Mi", "ephemeral-storage",
        *gpus.MIG_PROFILES, *gpus.WHOLE,
    ],
)  # fmt: skip
def test_resources_that_are_counted_or_no_accelerators(repository: Path, name: str) -> None:
    result, _ = validated(repository, put(JOB, "spec template spec containers 0 resources limits", {name: 1}))
    assert "gpus-unknown" not in result.out
    assert "gpu-name" not in result.out


def test_a_mig_profile_in_an_annotation(repository: Path) -> None:
    notes = {"annotations": {"nvidia.com/mig-2g.20g": "1"}}
    result, text = validated(repository, put(JOB, "spec template metadata", notes))
    assert_found(result, text, "mig-2g.20g", "gpu-name")


def test_what_a_volume_asks_for(repository: Path) -> None:
    item = deployment("d")
    claim = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    volumes = [{"name": "v", "ephemeral": {"volumeClaimTemplate": claim}}]
    result, _ = validated(repository, put(item, "spec template spec volumes", volumes))
    assert result.code == 0, result.out


def test_gpus_of_the_nodes_of_a_train_job(repository: Path) -> None:
    nodes = {"resourcesPerNode": {"limits": {"nvidia.com/gpus": 8}}}
    result, text = validated(repository, put(document("TrainJob"), "spec trainer", nodes))
    assert_found(result, text, "nvidia.com/gpus", "gpu-name")
