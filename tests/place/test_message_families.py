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
OF_PODS = "KAI finds nodes for 1 of 2 pods: "
ONE = "KAI finds no node for a pod of it: "


def group(text: str, reason: str = "PodSchedulingErrors") -> tuple[str, str, str]:
    return "PodGroup", reason, text


def pod(text: str, reason: str = "Unschedulable") -> tuple[str, str, str]:
    return "Pod", reason, text


def said(by: str, reason: str, text: str) -> tuple[str, str, str]:
    return by, reason, text


def nodes(text: str) -> tuple[str, str, str]:
    return group(f"{GANG}due to: {NODES}{text}.")


Case = tuple[str, tuple[str, str, str], str, str, str]
CASES: list[Case] = [
    # a name, the message, the first line, the start of the help, and what stands at the place in the file
    ("gpus", nodes("4 node(s) didn't have enough resources: GPUs"), f"{OF_PODS}4 nodes have too few free GPUs",
     "Wait until other work has ended, or ask for fewer GPUs a pod.", "name"),
    ("gpus-in-detail", pod("\nno nodes with enough resources were found.\n<n1>: Node didn't have enough resources: "
     "GPUs, requested: 8, used: 4, capacity: 8.\n<n2>: Node didn't have enough resources: GPUs, taking all "
     "considerations into account."), f"{ONE}2 nodes have too few free GPUs", "Wait until other work has ended",
     "name"),
    ("cpu", nodes("1 node(s) didn't have enough resources: CPU cores"),
     f"{OF_PODS}1 node has too few free CPU cores", "Wait until other work has ended, or ask for fewer CPU cores",
     "cpu"),
    ("memory", nodes("3 node(s) didn't have enough resources: memory"),
     f"{OF_PODS}3 nodes have too little free memory", "Wait until other work has ended, or ask for less memory",
     "memory"),
    ("scalar", nodes("3 node(s) didn't have enough resources: rdma/hca"),
     f"{OF_PODS}3 nodes have too little free rdma/hca", "Wait until other work has ended, or ask for less rdma/hca",
     "rdma/hca"),
    ("insufficient", pod("0/3 nodes are available: 3 Insufficient rdma/hca."),
     f"{ONE}3 nodes have too little free rdma/hca", "Wait until other work has ended", "rdma/hca"),
    ("pods", nodes("3 node(s) pod number exceeded"), f"{OF_PODS}3 nodes have as many pods as they may hold",
     "Wait until other work has ended, or have the kubelet's maxPods raised.", "name"),
    ("pods-by-resource", nodes("3 node(s) didn't have enough resources: pods"),
     f"{OF_PODS}3 nodes have as many pods as they may hold", "Wait until other work has ended", "name"),
    ("mig-profile", nodes("4 node(s) didn't have enough of mig profile: nvidia.com/mig-3g.20gb"),
     f"{OF_PODS}4 nodes have too few free devices of the MIG profile nvidia.com/mig-3g.20gb",
     "Wait until other work has ended, or ask for a profile that is free.", "nvidia.com/mig-3g.20gb"),
    ("overhead", nodes("4 node(s) didn't have enough resources: memory. Not enough resources due to pod overhead "
     "resources. The overhead resources are memory: 1Gi"),
     f"{OF_PODS}4 nodes have too little free memory for its pods with their overhead",
     "Ask for less memory, or choose a runtimeClassName with less overhead.", "runtimeClassName"),
    ("gpu-memory", nodes("3 node(s) didn't have enough resources: GPU memory"),
     f"{OF_PODS}3 nodes have GPUs with less memory than the annotation gpu-memory asks for",
     "Lower gpu-memory to what a GPU of the nodes has", "gpu-memory"),
    ("no-mig", nodes("4 MIG job cannot be scheduled on non-MIG node"),
     f"{OF_PODS}4 nodes have GPUs without MIG, and its pods ask for a MIG profile",
     "Ask for nvidia.com/gpu, or have MIG enabled on nodes.", "name"),
    ("mig-mixed", nodes("4 non MIG jobs cant run on a node with MigStrategy='mixed'"),
     f"{OF_PODS}4 nodes have GPUs divided by MIG (strategy mixed), and its pods ask for whole ones",
     "Ask for a MIG profile", "nvidia.com/gpu"),
    ("mig-single", nodes("4 only whole gpu jobs can run on a node with MigStrategy='single'"),
     f"{OF_PODS}4 nodes have GPUs divided by MIG (strategy single), which take whole requests only",
     "Ask for nvidia.com/gpu", "name"),
    ("mig-legacy", nodes("1 Legacy MIG jobs cannot be scheduled on node n1. 1 Legacy MIG jobs cannot be scheduled on "
     "node n2"), f"{OF_PODS}2 nodes have old MIG work that KAI places no pods beside", "Ask for a MIG profile", "name"),
    ("shared-on-dra", nodes("4 fractional/shared GPU pods are not yet supported on DRA-only nodes"),
     f"{OF_PODS}4 nodes have GPUs by dynamic resource allocation only, which KAI does not divide",
     "Ask for whole GPUs, or for a ResourceClaim.", "gpu-fraction"),
    ("gpu-memory-unknown", nodes("1 node is not a gpu node or the gpu memory count on the node was not synced yet, "
     "task: <default/train-x>, node: <n1>. 1 node is not a gpu node or the gpu memory count on the node was not synced "
     "yet, task: <default/train-x>, node: <n2>"),
     f"{OF_PODS}2 nodes have no known size of GPU memory (label nvidia.com/gpu.memory)",
     "Run NVIDIA's gpu-feature-discovery on the nodes", "gpu-memory"),
    ("gpu-nodes", nodes("1 gpu task: <default/train-x> can't run on non gpu nodes, node: <n1>"),
     f"{OF_PODS}1 node has no label of GPU nodes, and KAI is told to place GPU work on these only",
     "Give the GPU nodes the label", "name"),
    ("cpu-nodes", nodes("1 cpu task: <default/train-x> can't run on non cpu nodes, node: <n1>"),
     f"{OF_PODS}1 node has no label of CPU nodes, and KAI is told to place work without GPUs on these only",
     "Give nodes the label", "name"),
    ("ports", nodes("4 node(s) didn't have free ports for the requested pod ports"),
     f"{OF_PODS}4 nodes have the hostPort of its pods taken", "Remove hostPort", "hostPort"),
    ("anti-affinity", nodes("6 node(s) didn't match pod anti-affinity rules"),
     f"{OF_PODS}6 nodes have a pod that the podAntiAffinity of its pods forbids", "Change podAntiAffinity",
     "podAntiAffinity"),
    ("anti-affinity-of-others", nodes("6 node(s) didn't satisfy existing pods anti-affinity rules"),
     f"{OF_PODS}6 nodes have a pod whose podAntiAffinity forbids its pods", "Change the labels of its pods", "name"),
    ("affinity", nodes("6 node(s) didn't match pod affinity rules"),
     f"{OF_PODS}6 nodes have none of the pods that the podAffinity of its pods asks for",
     "Start the pods that podAffinity names", "podAffinity"),
    ("selector", nodes("6 node(s) didn't match Pod's node affinity/selector"),
     f"{OF_PODS}6 nodes have other labels than its nodeSelector or nodeAffinity asks for",
     "Change nodeSelector or nodeAffinity",
     "nodeSelector"),
    ("taint", nodes("6 node(s) had untolerated taint {dedicated: ops}"),
     f"{OF_PODS}6 nodes have a taint {{dedicated: ops}} that its pods do not tolerate", "Tolerate the taint",
     "tolerations"),
    ("taints", nodes("6 node(s) had untolerated taint(s)"),
     f"{OF_PODS}6 nodes have a taint that its pods do not tolerate", "Tolerate the taint", "tolerations"),
    ("cordoned", nodes("6 node is unschedulable"), f"{OF_PODS}6 nodes have a cordon", "Have nodes uncordoned", "name"),
    ("not-ready", nodes("6 node has NotReady condition"), f"{OF_PODS}6 nodes have the condition NotReady",
     "Look at these nodes", "name"),
    ("disk-pressure", nodes("6 node has DiskPressure condition"), f"{OF_PODS}6 nodes have the condition DiskPressure",
     "Look at these nodes", "name"),
    ("numa", nodes("6 node cannot NUMA-align the pod's resources under its Topology Manager policy"),
     f"{OF_PODS}6 nodes have no NUMA-aligned room for its pods (Topology Manager)", "Ask for what one NUMA node has",
     "name"),
    ("several", nodes("1 node is unschedulable. \n2 node(s) didn't match pod affinity rules. \n4 node(s) didn't have "
     "enough resources: GPUs"), f"{OF_PODS}4 nodes have too few free GPUs, 2 nodes have none of the pods that the "
     "podAffinity of its pods asks for, 1 node has a cordon", "Wait until other work has ended", "name"),
    ("subgroup", group("Resources were found for 3 pods from all sub-groups while sub-group workers requires 4 pods "
    "for "
     f"gang scheduling. Additional pods cannot be scheduled in this sub-group due to: {NODES}2 node(s) didn't have "
     "enough resources: GPUs."),
     "KAI finds no nodes for all 4 pods of SubGroup workers: 2 nodes have too few free GPUs",
     "Wait until other work has ended", "name"),
    ("claim-devices", nodes("1 cannot allocate all DRA claims on node n1. 1 cannot allocate all DRA claims on node n2"),
     f"{OF_PODS}2 nodes have no free devices for a ResourceClaim of its pods", "Wait until devices are free",
     "resourceClaims"),
    ("volume-elsewhere", nodes("4 node(s) didn't match PersistentVolume's node affinity"),
     f"{OF_PODS}4 nodes have no access to a PersistentVolume of its pods: the volume is in another zone or on another "
     "node", "Let its pods go where the volume is", "claimName"),
    ("no-volume", nodes("4 node(s) didn't find available persistent volumes to bind"),
     f"{OF_PODS}4 nodes have no free PersistentVolume for a claim of its pods", "Create a PersistentVolume there",
     "claimName"),
    ("storage", nodes("4 node(s) did not have enough free storage for storageclass local"),
     f"{OF_PODS}4 nodes have too little free storage for a PersistentVolumeClaim of its pods", "Lower the storage",
     "claimName"),
    ("volume-gone", nodes("4 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"),
     f"{OF_PODS}4 nodes have a claim of its pods whose PersistentVolume is gone", "Create the claim anew", "claimName"),
    # no node ever
    ("gpus-of-no-node", pod(MET.format("MaxNodePoolResources", f"{ASKS.format('')}. {TOPPED.format('GPU', 8)}")),
     "no node has the 16 GPUs that a pod asks for: the largest has 8", "Ask for at most 8 GPUs a pod",
     "nvidia.com/gpu"),
    ("cpu-of-no-node", pod(f"{ASKS.format('')}. {TOPPED.format('CPU', '96 cores')}"),
     "no node has the 200 CPU cores that a pod asks for: the largest has 96", "Ask for at most 96 CPU cores", "cpu"),
    ("memory-of-no-node", pod(f"{ASKS.format('')}. {TOPPED.format('memory', '1099.512 GB')}"),
     "no node has the 4398.046 GB of memory that a pod asks for: the largest has 1099.512 GB",
     "Ask for at most 1099.512 GB of memory", "memory"),
    ("storage-of-no-node", pod(f"{ASKS.format('')}. {TOPPED.format('ephemeral-storage', '100 GB')}"),
     "no node has as much ephemeral-storage as a pod asks for: the largest has 100 GB",
     "Ask for at most 100 GB of ephemeral-storage a pod.", "ephemeral-storage"),
    ("no-gpu-at-all", pod(f"{ASKS.format('')}. {NONE.format('GPU')}"), "no node has a GPU, and its pods ask for some",
     "Look whether the device plugin of the GPUs runs", "nvidia.com/gpu"),
    ("no-mig-device", pod(f"{ASKS.format('mig nvidia.com/mig-3g.20gb: 1')}. {NONE.format('nvidia.com/mig-3g.20gb')}"),
     "no node has the MIG profile nvidia.com/mig-3g.20gb that a pod asks for", "Ask for a profile that nodes have",
     "nvidia.com/mig-3g.20gb"),
    ("no-rdma", pod(f"{ASKS.format('rdma/hca: 1000')}. {NONE.format('rdma/hca')}"),
     "no node has as much rdma/hca as a pod asks for", "Ask for less rdma/hca, or install its device plugin",
     "rdma/hca"),
    # objects that pods name
    ("claim", pod(MET.format("VolumeBinding", 'persistentvolumeclaim "data" not found')),
     "the cluster has no PersistentVolumeClaim data in namespace default", "Create it, or name another one",
     "claimName"),
    ("claim-deleted", pod("task has deleted storage claims: [data]"),
     "the PersistentVolumeClaim data of its pods is being deleted", "Create the claim anew", "claimName"),
    ("claim-unbound", pod("pod has unbound immediate PersistentVolumeClaims"),
     "a PersistentVolumeClaim of its pods has no volume yet", "Look at the claim: kubectl describe pvc.", "name"),
    ("storage-class", pod("no allocatable storage from storageclass fast found"),
     "no node has storage of the StorageClass fast, which a PersistentVolumeClaim of its pods names",
     "Install the driver of the StorageClass", "claimName"),
    ("config-map", pod(MET.format("ConfigMap", "Missing required configmaps: [settings]")),
     "the cluster has no ConfigMap settings in namespace default", "Create it, or name another one", "name"),
    ("config-map-to-mount", said("event", "FailedMount", 'MountVolume.SetUp failed: configmap "settings" not found'),
     "the cluster has no ConfigMap settings in namespace default", "Create it, or name another one", "name"),
    ("secret", said("event", "FailedMount", 'MountVolume.SetUp failed for volume "token" : secret "token" not found'),
     "the cluster has no Secret token in namespace default", "Create it, or name another one", "secretName"),
    ("claim-template", said("event", "FailedResourceClaimCreation", "PodResourceClaim gpu: resource claim template "
     '"lost": resourceclaimtemplate.resource.k8s.io "lost" not found'),
     "the cluster has no ResourceClaimTemplate lost in namespace default", "Create it, or name another one",
     "resourceClaimTemplateName"),
    ("no-claim-of-template", pod("no resource claim name found for pod default/train-x and claim reference gpu"),
     "its pods have no ResourceClaim for gpu yet: Kubernetes makes it from a ResourceClaimTemplate",
     "Look whether the ResourceClaimTemplate exists", "name"),
    ("resource-claim", pod('failed to get resource claim default/big: resourceclaim.resource.k8s.io "big" not found'),
     "the cluster has no ResourceClaim big in namespace default", "Create it, or name another one",
     "resourceClaimName"),
    ("device-class", pod("device class gpu.example.com does not exist for claim default/big request one"),
     "the cluster has no DeviceClass gpu.example.com, which a ResourceClaim of its pods names",
     "Install the driver of these devices", "name"),
    ("claim-full", pod("resource claim default/big has reached its maximum number of consumers (256)"),
     "256 pods use the ResourceClaim default/big already, and a claim takes no more",
     "Give its pods a claim of their own",
     "resourceClaimName"),
    ("claim-without-queue", pod("pod default/train-x cannot be scheduled: DRA claim big is a shared GPU claim but does "
     "not have a queue label (kai.scheduler/queue)"), "the ResourceClaim big of its pods has no label "
     "kai.scheduler/queue, and several pods may share its GPUs", "Give the ResourceClaim the label",
     "resourceClaimName"),
    ("claim-of-other-queue", pod("DRA claim big is a shared GPU claim with wrong queue label (expected queue: a, claim "
     "queue label: b)"), "the ResourceClaim big of its pods is for the queue b, and this work is in a",
     "Use a ResourceClaim of the queue a", "resourceClaimName"),
    ("no-dra", pod("pod default/train-x cannot be scheduled, it references resource claims <gpu> while dynamic "
    "resource "
     "allocation is not available in the cluster"),
     "its pods name ResourceClaims, and the cluster has no dynamic resource allocation",
     "Enable dynamic resource allocation", "resourceClaims"),
    ("needs", pod("3 PersistentVolumeClaims are lost"), "KAI waits for something that its pods name",
     "Create what is named", "name"),
    # levels
    ("level-by-pods", group("node-group a.1 can allocate only 2 of 3 required pods", "Not enough resources for the "
     "workload"), "no domain of a level that it requires has room for all 3 pods: a.1 has room for 2",
     "Require a coarser level", "name"),
    ("level-by-resource", group("node-group(s) didn't have enough resources: GPUs", "Not enough resources for the "
     "workload"), "no domain of a level that it requires has enough free GPUs for all its pods",
     "Require a coarser level", "name"),
    ("level-in-domain", group("topology t, requirement r couldn't be satisfied for job <default/g>: not enough "
     "resources in a.1 to allocate the job"), "the domain a.1 has no room for all its pods",
     "Require a coarser level", "name"),
    ("level", group("topology t, requirement example.com/rack couldn't be satisfied for job <default/g>"),
     "no domain of the level example.com/rack has room for all its pods", "Require a coarser level", "name"),
    ("level-other", group("domain not found for node set in topology t"),
     "no domain of a level that it requires has room for it", "Require a coarser level", "name"),
    ("level-unknown", group("topology constraint error: workload specified 'rack' as the required topology constraint "
     "level, but the topology tree 't' does not contain a level with this name"), "the Topology t has no level rack",
     "Apply the manifests of its pool, or name a level", "name"),
    ("subgroup-unknown", pod('Pod references subgroup "a", which does not exist in PodGroup default/g'),
     "the cluster differs from the file", "Apply its manifests", "name"),
    # queues
    ("queue", group("Queue 'gone' does not exist", "QueueDoesNotExist"), "KAI does not know its queue",
     "Apply the manifests of its pool.", "kubectl-tas/pool"),
    ("queue-in-text", pod("Queue 'gone' does not exist"), "KAI does not know its queue",
     "Apply the manifests of its pool.", "kubectl-tas/pool"),
    ("limit", group("team quota has reached the allowable limit of GPUs. Limit is 40 GPUs, currently 32 GPUs allocated "
     "and workload requested 16 GPUs", "OverLimit"), "the maximum of pool team is 40 GPUs: 32 are held, and it asks "
     "for 16", "Wait until others of the queue have ended", "maximum"),
    ("limit-on-a-node",
     nodes("1 node does not have enough capacity. Reason: OverLimit, Details: team quota has reached "
     "the allowable limit of GPUs. Limit is 40 GPUs, currently 32 GPUs allocated and workload requested 16 GPUs"),
     "the maximum of pool team is 40 GPUs: 32 are held, and it asks for 16", "Wait until others", "maximum"),
    ("delay", group("Workload is within its preemption delay window (10m0s) and may not trigger evictions before "
     "2026-11-23T04:03:48Z", "PreemptionDelayNotElapsed"),
     "its preemption delay has not passed: it makes no other work "
     "go before 2026-11-23T04:03:48Z", "Wait, or shorten the delay.", "name"),
    ("delay-in-text", pod("Workload is within its preemption delay window (10m0s) and may not trigger evictions before "
     "2026-11-23T04:03:48Z"), "its preemption delay has not passed: it makes no other work go before "
     "2026-11-23T04:03:48Z", "Wait, or shorten the delay.", "name"),
    ("gated", pod("Scheduling is blocked due to non-empty scheduling gates", "SchedulingGated"),
     "its pods wait for their scheduling gates", "Ask who set the gates", "name"),
    ("room", group(f"{GANG}due to: Unable to schedule pod"), "nodes have no room for all that it starts with",
     "Ask for less, or free nodes.", "name"),
    # binder
    ("binding", pod(f"{BOUND}timed out waiting for the condition", "BindingError"),
     "KAI's binder could not bind its pods to nodes: timed out waiting for the condition",
     "Look at the nodes and volumes that are named", "name"),
    ("reservation", pod(f"{BOUND}failed to reserve GPUs for pod <default/train-x> in gpu group <g>: failed waiting for "
     "GPU reservation pod to allocate: kai-resource-reservation/gpu-reservation-n1", "BindingError"),
     "KAI reserves a GPU for its pods with the pod kai-resource-reservation/gpu-reservation-n1, and that pod does not "
     "start", "Look at that pod", "gpu-fraction"),
    ("scaling-up", pod(f"{BOUND}cluster is scaling up, could not create reservation pod", "BindingError"),
     "KAI reserves no GPU for its pods while the cluster adds nodes", "Wait until the new nodes are ready", "name"),
    ("fraction-container", pod(f"{BOUND}container with name side not found for fraction request", "BindingError"),
     "the annotation gpu-fraction-container-name names the container side, which its pods do not have",
     "Name a container of the pod", "gpu-fraction-container-name"),
    ("no-memory-label", pod(f"{BOUND}node does not include nvidia.com/gpu.memory label", "BindingError"),
     "KAI cannot divide the memory of a GPU: its node has no label nvidia.com/gpu.memory",
     "Run NVIDIA's gpu-feature-discovery", "name"),
    ("volume-binding", pod(f"{BOUND}plugin k8s-plugins failed in PreBind: K8sPlugin VolumeBinding failed Bind for pod: "
     "default/train-x and node n1. error: binding volumes: context deadline exceeded", "BindingError"),
     "KAI's binder could not bind a volume of its pods: binding volumes: context deadline exceeded",
     "Look at the PersistentVolumeClaims of its pods", "claimName"),
    ("claim-binding", pod(f"{BOUND}K8sPlugin DynamicResources failed Bind for pod: default/train-x and node n1. error: "
     "claim is gone", "BindingError"), "KAI's binder could not allocate a ResourceClaim of its pods: claim is gone",
     "Look at the ResourceClaims of its pods", "resourceClaims"),
    # webhooks and the podgrouper
    *((name, said("job-event", "FailedCreate", f"Error creating: {DENIED}{text}"),
       f"the API server refuses the pods of Job train: Error creating: {DENIED}{text}".replace("Error creating: ", ""),
       hint, key) for name, text, hint, key in (
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
    *((name, said("no-group", "PodGrouperWarning", text), f"KAI's podgrouper makes no PodGroup of its pods: {text}",
       hint, key) for name, text, hint, key in (
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
    *((name, said("gone", reason, text), line, hint, "name") for name, reason, text, line, hint in (
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
    ("failed", said("gone", "DeadlineExceeded", "Job was active longer than specified deadline"),
     "pods of it have failed",
     "Look at its logs", "name"),
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
    case: Case, repositories: dict[str, Path], tmp_path: Path
) -> None:
    _, message, line, hint, key = case
    repository = repositories[next((way for way in (FRACTION, MEMORY, MIG) if f" {key}: " in way), GPUS)]
    first, *_ = causes(repository, tmp_path, state_of(*message))
    assert first["text"] == line
    assert first["hint"].startswith(hint)
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
