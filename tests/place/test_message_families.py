"""Tests what the first line of ``why`` says of each family of messages, and what it tells to change."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.live.reasons import Saying
from kubectl_tas.place.message_families import FAMILIES, reading_of
from tests.support.cli import kubectl_tas, write
from tests.support.whycauses import FILES, Item, recorded_causes, saved

TRAIN = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels: {kubectl-tas/pool: team}
  annotations: {kai.scheduler/batch-min-member: "2"}
spec:
  parallelism: 2
  completions: 2
  template:
    metadata:
      annotations:
        # of a part
        kai.scheduler/segment-size: "1"
        kai.scheduler/batch-min-member: "2"
    spec:
      restartPolicy: Never
      runtimeClassName: kata
      nodeSelector: {disk: fast}
      tolerations: [{key: a, operator: Exists}]
      affinity:
        podAffinity: {}
        podAntiAffinity: {}
      resourceClaims:
      - {name: gpu, resourceClaimTemplateName: lost}
      - {name: shared, resourceClaimName: big}
      containers:
      - name: main
        image: trainer
        ports: [{containerPort: 80, hostPort: 80}]
        env:
        - name: NVIDIA_VISIBLE_DEVICES
          value: void
        - {name: MODE, valueFrom: {configMapKeyRef: {name: settings, key: mode}}}
        resources:
          limits:
            cpu: 200
            memory: 4Ti
            ephemeral-storage: 2Ti
            rdma/hca: 1
      volumes:
      - {name: data, persistentVolumeClaim: {claimName: data}}
      - {name: token, secret: {secretName: token}}
"""
FRACTION = """\
        gpu-fraction: "0.5"
        gpu-fraction-num-devices: "2"
        gpu-fraction-container-name: main
        mps: "true"
"""
MEMORY = """\
        gpu-memory: "200000"
"""
GPUS = """\
            nvidia.com/gpu: 8
"""
MIG = """\
            nvidia.com/mig-3g.20gb: 1
"""
"""What a Job cannot have together."""
GROUP = "pg-train-a0ba8c56-3c45-4fa2-9a77-87fe56ab0073"
NODES = "no nodes with enough resources were found: "
GANG = "Resources were found for 1 pods while 2 are required for gang scheduling. Additional pods cannot be scheduled "
MET = "Scheduling conditions were not met for pod default/train-x: {}: {}.\n"
ASKS = "The pod default/train-x requires GPU: 16, CPU: 200 (cores), memory: 4398.046 (GB), pods: 1, {}"
TOPPED = "Max {} resources available in a single node in the default node-pool is topped at {}"
NONE = "No node in the default node-pool has {} resources"
BOUND = "Failed to bind pod default/train-x to node n1: "
DENIED = 'admission webhook "podhooks.kai" denied the request: '
DELETED = "Deleted pod: train-x"


def group(text: str, reason: str = "PodSchedulingErrors") -> tuple[str, str, str]:
    return "PodGroup", reason, text


def pod(text: str, reason: str = "Unschedulable") -> tuple[str, str, str]:
    return "Pod", reason, text


def said(by: str, reason: str, text: str) -> tuple[str, str, str]:
    return by, reason, text


def nodes(text: str) -> tuple[str, str, str]:
    return group(f"{GANG}due to: {NODES}{text}.")


Case = tuple[str, tuple[str, str, str], str]
CASES: list[Case] = [
    # a name, the message, and what stands at the place in the file
    ("gpus", nodes("4 node(s) didn't have enough resources: GPUs"), "name"),
    ("gpus-in-detail", pod("\nno nodes with enough resources were found.\n<n1>: Node didn't have enough resources: "
     "GPUs, requested: 8, used: 4, capacity: 8.\n<n2>: Node didn't have enough resources: GPUs, taking all "
     "considerations into account."), "name"),
    ("cpu", nodes("1 node(s) didn't have enough resources: CPU cores"), "cpu"),
    ("memory", nodes("3 node(s) didn't have enough resources: memory"), "memory"),
    ("scalar", nodes("3 node(s) didn't have enough resources: rdma/hca"), "rdma/hca"),
    ("insufficient", pod("0/3 nodes are available: 3 Insufficient rdma/hca."), "rdma/hca"),
    ("pods", nodes("3 node(s) pod number exceeded"), "name"),
    ("pods-by-resource", nodes("3 node(s) didn't have enough resources: pods"), "name"),
    ("mig-profile", nodes("4 node(s) didn't have enough of mig profile: nvidia.com/mig-3g.20gb"),
     "nvidia.com/mig-3g.20gb"),
    ("overhead", nodes("4 node(s) didn't have enough resources: memory. Not enough resources due to pod overhead "
     "resources. The overhead resources are memory: 1Gi"), "runtimeClassName"),
    ("gpu-memory", nodes("3 node(s) didn't have enough resources: GPU memory"), "gpu-memory"),
    ("no-mig", nodes("4 MIG job cannot be scheduled on non-MIG node"), "name"),
    ("mig-mixed", nodes("4 non MIG jobs cant run on a node with MigStrategy='mixed'"), "nvidia.com/gpu"),
    ("mig-single", nodes("4 only whole gpu jobs can run on a node with MigStrategy='single'"), "name"),
    ("mig-legacy", nodes("1 Legacy MIG jobs cannot be scheduled on node n1. 1 Legacy MIG jobs cannot be scheduled on "
     "node n2"), "name"),
    ("shared-on-dra", nodes("4 fractional/shared GPU pods are not yet supported on DRA-only nodes"), "gpu-fraction"),
    ("gpu-memory-unknown", nodes("1 node is not a gpu node or the gpu memory count on the node was not synced yet, "
     "task: <default/train-x>, node: <n1>. 1 node is not a gpu node or the gpu memory count on the node was not synced "
     "yet, task: <default/train-x>, node: <n2>"), "gpu-memory"),
    ("gpu-nodes", nodes("1 gpu task: <default/train-x> can't run on non gpu nodes, node: <n1>"), "name"),
    ("cpu-nodes", nodes("1 cpu task: <default/train-x> can't run on non cpu nodes, node: <n1>"), "name"),
    ("ports", nodes("4 node(s) didn't have free ports for the requested pod ports"), "hostPort"),
    ("anti-affinity", nodes("6 node(s) didn't match pod anti-affinity rules"), "podAntiAffinity"),
    ("anti-affinity-of-others", nodes("6 node(s) didn't satisfy existing pods anti-affinity rules"), "name"),
    ("affinity", nodes("6 node(s) didn't match pod affinity rules"), "podAffinity"),
    ("selector", nodes("6 node(s) didn't match Pod's node affinity/selector"), "nodeSelector"),
    ("taint", nodes("6 node(s) had untolerated taint {dedicated: ops}"), "tolerations"),
    ("taints", nodes("6 node(s) had untolerated taint(s)"), "tolerations"),
    ("cordoned", nodes("6 node is unschedulable"), "name"),
    ("not-ready", nodes("6 node has NotReady condition"), "name"),
    ("disk-pressure", nodes("6 node has DiskPressure condition"), "name"),
    ("numa", nodes("6 node cannot NUMA-align the pod's resources under its Topology Manager policy"), "name"),
    ("several", nodes("1 node is unschedulable. \n2 node(s) didn't match pod affinity rules. \n4 node(s) didn't have "
     "enough resources: GPUs"), "name"),
    ("subgroup", group("Resources were found for 3 pods from all sub-groups while sub-group workers requires 4 pods "
    "for "
     f"gang scheduling. Additional pods cannot be scheduled in this sub-group due to: {NODES}2 node(s) didn't have "
     "enough resources: GPUs."), "name"),
    ("claim-devices", nodes("1 cannot allocate all DRA claims on node n1. 1 cannot allocate all DRA claims on node n2"),
     "resourceClaims"),
    ("volume-elsewhere", nodes("4 node(s) didn't match PersistentVolume's node affinity"), "claimName"),
    ("no-volume", nodes("4 node(s) didn't find available persistent volumes to bind"), "claimName"),
    ("storage", nodes("4 node(s) did not have enough free storage for storageclass local"), "claimName"),
    ("volume-gone", nodes("4 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"), "claimName"),
    # no node ever
    ("gpus-of-no-node", pod(MET.format("MaxNodePoolResources", f"{ASKS.format('')}. {TOPPED.format('GPU', 8)}")),
     "nvidia.com/gpu"),
    ("cpu-of-no-node", pod(f"{ASKS.format('')}. {TOPPED.format('CPU', '96 cores')}"), "cpu"),
    ("memory-of-no-node", pod(f"{ASKS.format('')}. {TOPPED.format('memory', '1099.512 GB')}"), "memory"),
    ("storage-of-no-node", pod(f"{ASKS.format('')}. {TOPPED.format('ephemeral-storage', '100 GB')}"),
     "ephemeral-storage"),
    ("no-gpu-at-all", pod(f"{ASKS.format('')}. {NONE.format('GPU')}"), "nvidia.com/gpu"),
    ("no-mig-device", pod(f"{ASKS.format('mig nvidia.com/mig-3g.20gb: 1')}. {NONE.format('nvidia.com/mig-3g.20gb')}"),
     "nvidia.com/mig-3g.20gb"),
    ("no-rdma", pod(f"{ASKS.format('rdma/hca: 1000')}. {NONE.format('rdma/hca')}"), "rdma/hca"),
    # objects that pods name
    ("claim", pod(MET.format("VolumeBinding", 'persistentvolumeclaim "data" not found')), "claimName"),
    ("claim-deleted", pod("task has deleted storage claims: [data]"), "claimName"),
    ("claim-unbound", pod("pod has unbound immediate PersistentVolumeClaims"), "name"),
    ("storage-class", pod("no allocatable storage from storageclass fast found"), "claimName"),
    ("config-map", pod(MET.format("ConfigMap", "Missing required configmaps: [settings]")), "name"),
    ("config-map-to-mount", said("event", "FailedMount", 'MountVolume.SetUp failed: configmap "settings" not found'),
     "name"),
    ("secret", said("event", "FailedMount", 'MountVolume.SetUp failed for volume "token" : secret "token" not found'),
     "secretName"),
    ("claim-template", said("event", "FailedResourceClaimCreation", "PodResourceClaim gpu: resource claim template "
     '"lost": resourceclaimtemplate.resource.k8s.io "lost" not found'), "resourceClaimTemplateName"),
    ("no-claim-of-template", pod("no resource claim name found for pod default/train-x and claim reference gpu"),
     "name"),
    ("resource-claim", pod('failed to get resource claim default/big: resourceclaim.resource.k8s.io "big" not found'),
     "resourceClaimName"),
    ("device-class", pod("device class gpu.example.com does not exist for claim default/big request one"), "name"),
    ("claim-full", pod("resource claim default/big has reached its maximum number of consumers (256)"),
     "resourceClaimName"),
    ("claim-without-queue", pod("pod default/train-x cannot be scheduled: DRA claim big is a shared GPU claim but does "
     "not have a queue label (kai.scheduler/queue)"), "resourceClaimName"),
    ("claim-of-other-queue", pod("DRA claim big is a shared GPU claim with wrong queue label (expected queue: a, claim "
     "queue label: b)"), "resourceClaimName"),
    ("no-dra", pod("pod default/train-x cannot be scheduled, it references resource claims <gpu> while dynamic "
    "resource "
     "allocation is not available in the cluster"), "resourceClaims"),
    ("needs", pod("3 PersistentVolumeClaims are lost"), "name"),
    # levels
    ("level-by-pods", group("node-group a.1 can allocate only 2 of 3 required pods", "Not enough resources for the "
     "workload"), "name"),
    ("level-by-resource", group("node-group(s) didn't have enough resources: GPUs", "Not enough resources for the "
     "workload"), "name"),
    ("level-in-domain", group("topology t, requirement r couldn't be satisfied for job <default/g>: not enough "
     "resources in a.1 to allocate the job"), "name"),
    ("level", group("topology t, requirement example.com/rack couldn't be satisfied for job <default/g>"), "name"),
    ("level-other", group("domain not found for node set in topology t"), "name"),
    ("level-unknown", group("topology constraint error: workload specified 'rack' as the required topology constraint "
     "level, but the topology tree 't' does not contain a level with this name"), "name"),
    ("subgroup-unknown", pod('Pod references subgroup "a", which does not exist in PodGroup default/g'), "name"),
    # queues
    ("queue", group("Queue 'gone' does not exist", "QueueDoesNotExist"), "kubectl-tas/pool"),
    ("queue-in-text", pod("Queue 'gone' does not exist"), "kubectl-tas/pool"),
    ("limit", group("team quota has reached the allowable limit of GPUs. Limit is 40 GPUs, currently 32 GPUs allocated "
     "and workload requested 16 GPUs", "OverLimit"), "maximum"),
    ("limit-on-a-node",
     nodes("1 node does not have enough capacity. Reason: OverLimit, Details: team quota has reached "
     "the allowable limit of GPUs. Limit is 40 GPUs, currently 32 GPUs allocated and workload requested 16 GPUs"),
     "maximum"),
    ("delay", group("Workload is within its preemption delay window (10m0s) and may not trigger evictions before "
     "2026-11-23T04:03:48Z", "PreemptionDelayNotElapsed"), "name"),
    ("delay-in-text", pod("Workload is within its preemption delay window (10m0s) and may not trigger evictions before "
     "2026-11-23T04:03:48Z"), "name"),
    ("gated", pod("Scheduling is blocked due to non-empty scheduling gates", "SchedulingGated"), "name"),
    ("room", group(f"{GANG}due to: Unable to schedule pod"), "name"),
    # binder
    ("binding", pod(f"{BOUND}timed out waiting for the condition", "BindingError"), "name"),
    ("reservation", pod(f"{BOUND}failed to reserve GPUs for pod <default/train-x> in gpu group <g>: failed waiting for "
     "GPU reservation pod to allocate: kai-resource-reservation/gpu-reservation-n1", "BindingError"), "gpu-fraction"),
    ("scaling-up", pod(f"{BOUND}cluster is scaling up, could not create reservation pod", "BindingError"), "name"),
    ("fraction-container", pod(f"{BOUND}container with name side not found for fraction request", "BindingError"),
     "gpu-fraction-container-name"),
    ("no-memory-label", pod(f"{BOUND}node does not include nvidia.com/gpu.memory label", "BindingError"), "name"),
    ("volume-binding", pod(f"{BOUND}plugin k8s-plugins failed in PreBind: K8sPlugin VolumeBinding failed Bind for pod: "
     "default/train-x and node n1. error: binding volumes: context deadline exceeded", "BindingError"), "claimName"),
    ("claim-binding", pod(f"{BOUND}K8sPlugin DynamicResources failed Bind for pod: default/train-x and node n1. error: "
     "claim is gone", "BindingError"), "resourceClaims"),
    # webhooks and the podgrouper
    *((name, said("job-event", "FailedCreate", f"Error creating: {DENIED}{text}"), key) for name, text, hint, key in (
        ("both-gpus", "cannot have both GPU fraction request and whole GPU resource request/limit",
         "Remove nvidia.com/gpu from the pods", "nvidia.com/gpu"),
        ("bad-fraction", "gpu-fraction annotation value must be a positive number smaller than 1.0",
         "Write gpu-fraction as a number between 0 and 1", "gpu-fraction"),
        ("bad-gpu-memory", "gpu-memory annotation value must be a positive integer greater than 0",
         "Write gpu-memory as a whole number of MiB", "gpu-memory"),
        ("bad-fraction-count", "fraction count annotation value must be a positive integer greater than 0",
         "Write gpu-fraction-num-devices as a whole number", "gpu-fraction-num-devices"),
        ("mps", "MPS is only supported with GPU fraction request", "Remove the annotation mps", "mps"),
        ("sharing-disabled",
         "attempting to create a pod default/train-x with gpu sharing request, while GPU sharing is "
         "disabled", "Ask for whole GPUs", "gpu-fraction"),
        ("visible-devices", "container main has an environment variable NVIDIA_VISIBLE_DEVICES defined with a value of "
         "all. This is forbidden due to conflicts with Nvidia's device plugin.",
         "Remove the variable NVIDIA_VISIBLE_DEVICES", "name"),
        ("refused", "no", "Correct what is refused", "name"),
    )),
    *((name, said("no-group", "PodGrouperWarning", text), key) for name, text, hint, key in (
        ("min-member", 'invalid min-member annotation value: strconv.ParseInt: parsing "two": invalid syntax',
         "Write a whole number of at least 1", "kai.scheduler/batch-min-member"),
        ("segments", "segmentSize 1 is not valid. It must be greater than 1", "Choose a segment size above 1",
         "kai.scheduler/segment-size"),
        ("topology-annotation",
         "topology annotation (kai.scheduler/topology) is required for the Ray head when topology "
         "placement annotations are set", "Set the annotation kai.scheduler/topology", "name"),
        ("no-replicas", "the type of the job train doesn't allow for 0 Master pods. Please fix the replica field",
         "Give this replica type at least one replica.", "name"),
        ("owner-gone", "failed to find Job: <default/train>, uid: <1>: not found", "Look for Job default/train",
         "name"),
        ("grouper", "no", "Correct what is refused", "name"),
    )),
    # evictions and ends
    *((name, said("gone", reason, text), "name") for name, reason, text, line, hint in (
        ("preempted", "Evict", "Pod default/train-x was preempted by higher priority workload default/big",
         "it has run, and default/big of a higher priority preempted it", "It waits for room again. Wait, or give it"),
        ("reclaimed", "Evict",
         "Pod default/train-x was preempted by workload default/big. team uses <8> with a quota of "
         "<0>.", "it has run on GPUs that its pool borrowed, and default/big of another pool took them back",
         "It waits for room again. Wait, or have the guarantee"),
        ("moved", "Evict",
         "Pod default/train-x was preempted and rescheduled due to bin packing (resource consolidation) "
         "procedure", "it has run, and KAI moves it to other nodes to join free GPUs", "It starts again by itself."),
        ("gang-broken", "Evict",
         "Workload doesn't meet the minimum required number of pods (2), evicting remaining pod: "
         "default/train-x", "it has run, and KAI evicted the rest when fewer pods than its minimum were left",
         "Look at why its other pods ended"),
        ("stale", "StaleJob", "Job is stale. 1 pods are active, minMember is 2", "only 1 of at least 2 pods of it run: "
         "KAI evicts them if the others do not come back", "Look at why its other pods ended"),
        ("evicted", "Preempted", "no", "it has run and was evicted", "It waits for room again."),
    )),
    ("failed", said("gone", "DeadlineExceeded", "Job was active longer than specified deadline"), "name"),
]  # fmt: skip


def event(kind: str, name: str, reason: str, text: str) -> Item:
    about = {"kind": kind, "namespace": "default", "name": name}
    metadata = {"name": f"{reason}-{kind}", "namespace": "default"}
    fields = {"kind": "Event", "type": "Warning", "metadata": metadata, "involvedObject": about, "reason": reason}
    return {**fields, "message": text, "lastTimestamp": "2026-11-23T03:59:44Z"}


def state_of(by: str, reason: str, text: str) -> list[Item]:
    """The state of a gang that waits, without nodes, in which the cluster says only this."""
    (base,) = [cause for cause in recorded_causes() if cause.name == "busy"]
    items: list[Item] = []
    for item in base.items:
        name = item.get("metadata", {}).get("name", "")
        if item["kind"] in ("Node", "Event") or (item["kind"] == "Pod" and not name.startswith("train")):
            continue
        if item["kind"] == "ClusterState":
            item = {**item, "kinds": [kind for kind in item["kinds"] if kind != "Node"]}
        if item["kind"] == "PodGroup":
            if by == "no-group" or name != GROUP:
                continue
            status = {"schedulingConditions": [{"status": "True", "reasons": [{"reason": reason, "message": text}]}]}
            item = {**item, "status": status if by == "PodGroup" else {}}
        if item["kind"] == "Pod":
            status = {"phase": "Pending"}
            if by == "Pod":
                condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": text}
                status["conditions"] = [condition]
            metadata = {
                key: value for key, value in item["metadata"].items() if by != "no-group" or key != "annotations"
            }
            item = {**item, "metadata": metadata, "status": status}
            if by in ("event", "no-group"):
                items.append(event("Pod", name, reason, text))
        items.append(item)
    if by == "job-event":
        items = [item for item in items if item["kind"] != "Pod"]
        items.append(event("Job", "train", reason, text))
    if by == "gone":
        items.append(event("PodGroup", GROUP, reason, text))
    return items


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A repository for each way to ask for GPUs."""
    found = {}
    for way in (FRACTION, MEMORY, GPUS, MIG):
        mark = "        # of a part\n" if way in (FRACTION, MEMORY) else "            cpu: 200\n"
        train = TRAIN.replace(mark, way if mark.startswith("        #") else f"{way}{mark}")
        root = tmp_path_factory.mktemp("families")
        found[way] = write(root, {**FILES, "workflows/train.yaml": train})
    return found


def causes(repository: Path, tmp_path: Path, items: list[Item], work: str = "train") -> list[dict[str, Any]]:
    state = saved(tmp_path / "state.json", items)
    found = kubectl_tas("-C", repository, "workflow", "why", work, f"--cluster-state={state}", "-o", "json")
    assert found.out, found.err
    return list(json.loads(found.out)["workflows"][0]["causes"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_the_first_line_names_the_obstacle_and_the_help_what_to_change(
    case: Case, repositories: dict[str, Path], tmp_path: Path, snapshot: Any
) -> None:
    _, message, key = case
    repository = repositories[next((way for way in (FRACTION, MEMORY, MIG) if f" {key}: " in way), GPUS)]
    first, *_ = causes(repository, tmp_path, state_of(*message))
    assert f"{first['text']} ({first['hint']})" == snapshot
    place = first["place"]
    lines = (repository / place["file"]).read_text().splitlines(keepends=True)
    before = "".join(lines[: place["line"] - 1]) + lines[place["line"] - 1][: place["column"] - 1]
    assert re.split(r"[\s{]+", before.rstrip(" \n-"))[-1] == f"{key}:"


def test_the_removal_of_pods_is_part_of_the_failure_of_their_job(repositories: dict[str, Path], tmp_path: Path) -> None:
    items = state_of("job-event", "SuccessfulDelete", DELETED)
    for item in items:
        if item["kind"] == "Job" and item["metadata"]["name"] == "train":
            item["status"] = {"failed": 3}
    (only,) = causes(repositories[GPUS], tmp_path, items)
    assert only["text"] == (
        "3 pods of Job train have failed: the Job has none now, and makes another until more than 6 have failed "
        "(backoffLimit)"
    )
    assert [saying["text"] for saying in only["said"]] == [DELETED]


def test_each_family_has_a_case() -> None:
    """What is not ready is in causes_of_why.json."""
    shown = set()
    for reason, text in [*(message[1:] for _, message, *_ in CASES), ("SuccessfulDelete", DELETED), ("NotReady", "no")]:
        shown |= {id(row) for row, _ in reading_of(Saying("Pod", reason, " ".join(text.split()))).families}
    assert [row.pattern.pattern for row in FAMILIES if id(row) not in shown] == []
