"""Sorts messages of the cluster by the obstacle that they name, and says what to change: one table, one matcher.

A row is a family of messages of KAI 0.17.0 or of the plugins of Kubernetes 1.35 that KAI calls; its section names the
source. The messages of KAI 0.12 to 0.16 are the same where these releases have them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.live.reasons import Saying, gathered
from kubectl_tas.place.pending_reasons import HINTS, NO_GROUP, NOT_READY, REFUSED, UNPLACED, CauseKind
from kubectl_tas.report.text import plural

Groups = tuple[tuple[str, str], ...]
"""Name and text of each group of a match."""


@dataclass(frozen=True, slots=True)
class Family:
    """Messages of the cluster with one cause, and what is said of it."""

    kind: CauseKind
    pattern: re.Pattern[str]
    """Matches ``REASON: TEXT``. Its groups fill the headline; a group ``nodes`` counts nodes, and such rows add up."""
    headline: str = ""
    """Description of the cause. Empty means the description of the ``kind``."""
    hint: str = ""
    """Advice: the change to make. Empty means the hint of the ``kind``."""
    key: str = ""
    """Key in a pod template that the cause is about, its parent key before ``>``, other keys after ``|``, and after
    ``=`` its value.
    """
    is_final: bool = False
    """Whether a pod fits on no node, however empty the nodes are."""
    is_in_fit: bool = True
    """Whether ``fit`` considers the obstacle, so that its answer may contradict the message."""


def _family(kind: CauseKind, pattern: str, headline: str = "", hint: str = "", **about: Any) -> Family:
    return Family(kind, late_pattern(pattern), headline, hint, **about)


def _of_nodes(pattern: str, have: str, hint: str, *, kind: CauseKind = CauseKind.ROOM, **about: Any) -> Family:
    """Returns the row of an obstacle that nodes have. KAI counts such nodes, or names each if told to (fit errors in
    detail).
    """
    return _family(kind, rf"(?:(?P<nodes>\d+)|<[^>]+>:) {pattern}", have, hint, **about)


def _reasons(*reasons: str) -> str:
    return f"^(?:{'|'.join(reasons)}): "


_WEBHOOK = f"{_reasons(REFUSED)}.*"
_GROUPER = f"{_reasons(NO_GROUP)}.*"
_BINDER = f"{_reasons('BindingError', 'FailedBinding')}.*"
_SHORT = r"(?:node\(s\)|Node) didn't have enough resources?:"
_WAIT = "Wait until other work has ended"
_FRACTION = "gpu-fraction"
_CONFIG_MAP = "configMap>name|configMapRef>name|configMapKeyRef>name={name}"
FEW_GPUS = "too few free GPUs"
"""Description of nodes that are short of GPUs."""
FAMILIES = (
    # Refused by webhooks: pkg/admission/webhook/v1alpha2, pkg/binder/plugins/gpusharing/gpu-request
    _family(
        CauseKind.REFUSED,
        f"{_WEBHOOK}(?:both GPU fraction request and whole GPU|cannot request both GPU and GPU memory)",
        hint="Remove nvidia.com/gpu from the pods, or the annotations gpu-fraction and gpu-memory.",
        key="nvidia.com/gpu",
    ),
    _family(
        CauseKind.REFUSED,
        f"{_WEBHOOK}gpu-fraction annotation value must be",
        hint="Write gpu-fraction as a number between 0 and 1, such as 0.5.",
        key=_FRACTION,
    ),
    _family(
        CauseKind.REFUSED,
        f"{_WEBHOOK}gpu-memory annotation value must be",
        hint="Write gpu-memory as a whole number of MiB, such as 20000.",
        key="gpu-memory",
    ),
    _family(
        CauseKind.REFUSED,
        f"{_WEBHOOK}(?:fraction count annotation|without specifying fraction portion)",
        hint="Write gpu-fraction-num-devices as a whole number, beside gpu-fraction or gpu-memory.",
        key="gpu-fraction-num-devices",
    ),
    _family(
        CauseKind.REFUSED,
        f"{_WEBHOOK}MPS is only supported with GPU fraction",
        hint="Remove the annotation mps, or ask for a part of a GPU with gpu-fraction.",
        key="mps",
    ),
    _family(
        CauseKind.REFUSED,
        f"{_WEBHOOK}GPU sharing is disabled",
        hint="Ask for whole GPUs (nvidia.com/gpu), or have GPU sharing enabled in KAI's Config.",
        key=_FRACTION,
    ),
    _family(
        CauseKind.REFUSED,
        f"{_WEBHOOK}NVIDIA_VISIBLE_DEVICES",
        hint="Remove the variable NVIDIA_VISIBLE_DEVICES: the device plugin sets it.",
        key="name=NVIDIA_VISIBLE_DEVICES",
    ),
    _family(CauseKind.REFUSED, _reasons(REFUSED)),
    # Refused by the podgrouper: pkg/podgrouper/podgrouper and its plugins
    _family(
        CauseKind.REFUSED,
        f"{_GROUPER}invalid (?:min-member|[a-z.-]*/batch-min-member) annotation",
        hint="Write a whole number of at least 1 in the annotation kai.scheduler/batch-min-member.",
        key="kai.scheduler/batch-min-member",
    ),
    _family(
        CauseKind.REFUSED,
        f"{_GROUPER}(?:segment size|segmentSize|number of subgroups)",
        hint="Choose a segment size above 1 that divides the number of pods into fewer segments than KAI allows.",
        key="kai.scheduler/segment-size",
    ),
    _family(
        CauseKind.REFUSED,
        rf"{_GROUPER}topology annotation \((?P<annotation>\S+)\) is required",
        hint="Set the annotation {annotation} to the name of a Topology, or remove those that name levels.",
    ),
    _family(
        CauseKind.REFUSED,
        f"{_GROUPER}(?:doesn't allow for 0 |doesn't have a .* replica spec)",
        hint="Give this replica type at least one replica.",
    ),
    _family(
        CauseKind.REFUSED,
        rf"{_GROUPER}failed to find (?P<owner>\w+): <(?P<name>[^>]+)>",
        hint="Look for {owner} {name}, the owner of the pods. If it is gone, delete the pods and apply the manifests.",
    ),
    _family(CauseKind.REFUSED, _reasons(NO_GROUP)),
    # Told by the reason alone
    _family(CauseKind.QUEUE, _reasons("QueueDoesNotExist")),
    _family(CauseKind.NOT_READY, _reasons(NOT_READY)),
    _family(CauseKind.GATED, _reasons("SchedulingGated")),
    _family(CauseKind.QUOTA, _reasons("NonPreemptibleOverQuota", "OverLimit")),
    _family(CauseKind.DELAY, _reasons("PreemptionDelayNotElapsed")),
    # Said by the binder: pkg/binder/binding, pkg/binder/plugins
    _family(
        CauseKind.BINDING,
        rf"{_BINDER}failed waiting for GPU reservation pod to allocate: (?P<pod>\S+)",
        "KAI reserves a GPU for its pods with the pod {pod}, and that pod does not start",
        "Look at that pod: kubectl describe pod -n kai-resource-reservation. It needs a free GPU and its image.",
        key=_FRACTION,
    ),
    _family(
        CauseKind.BINDING,
        f"{_BINDER}cluster is scaling up, could not create reservation pod",
        "KAI reserves no GPU for its pods while the cluster adds nodes",
        "Wait until the new nodes are ready; KAI tries again by itself.",
    ),
    _family(
        CauseKind.BINDING,
        rf"{_BINDER}container with name (?P<container>\S+) not found for fraction request",
        "the annotation gpu-fraction-container-name names the container {container}, which its pods do not have",
        "Name a container of the pod in the annotation gpu-fraction-container-name.",
        key="gpu-fraction-container-name",
    ),
    _family(
        CauseKind.BINDING,
        rf"{_BINDER}node does not include (?P<label>\S+) label",
        "KAI cannot divide the memory of a GPU: its node has no label {label}",
        "Run NVIDIA's gpu-feature-discovery on the nodes, which sets the label {label}.",
    ),
    _family(
        CauseKind.BINDING,
        rf"{_BINDER}K8sPlugin (?P<plugin>VolumeBinding|volumebinding) failed .*error: (?P<text>.*)",
        "KAI's binder could not bind a volume of its pods: {text}",
        "Look at the PersistentVolumeClaims of its pods, and at their provisioner: kubectl describe pvc.",
        key="claimName",
    ),
    _family(
        CauseKind.BINDING,
        rf"{_BINDER}K8sPlugin (?P<plugin>DynamicResources|dynamicresources) failed .*error: (?P<text>.*)",
        "KAI's binder could not allocate a ResourceClaim of its pods: {text}",
        "Look at the ResourceClaims of its pods: kubectl describe resourceclaim.",
        key="resourceClaims",
    ),
    _family(CauseKind.BINDING, _reasons("BindingError", "FailedBinding")),
    # Evicted: pkg/scheduler/api/unschedule_info.go
    _family(
        CauseKind.EVICTED,
        rf"{_reasons('Evict')}.*was preempted by higher priority workload (?P<who>[^\s]+?)\.?$",
        "it has run, and {who} of a higher priority preempted it",
        "It waits for room again. Wait, or give it a higher priority.",
    ),
    _family(
        CauseKind.EVICTED,
        rf"{_reasons('Evict')}.*was preempted by workload (?P<who>[^\s]+?)\.(?:\s|$)",
        "it has run on GPUs that its pool borrowed, and {who} of another pool took them back",
        "It waits for room again. Wait, or have the guarantee of its pool raised.",
    ),
    _family(
        CauseKind.EVICTED,
        rf"{_reasons('Evict')}.*preempted and rescheduled due to bin packing",
        "it has run, and KAI moves it to other nodes to join free GPUs",
        "It starts again by itself. Set preemptMinRuntime on its pool to move it less often.",
    ),
    _family(
        CauseKind.EVICTED,
        rf"{_reasons('Evict')}.*minimum required number of pods(?: \((?P<needed>\d+)\))?.*evicting remaining pod",
        "it has run, and KAI evicted the rest when fewer pods than its minimum were left",
        "Look at why its other pods ended; it waits for room again.",
    ),
    _family(
        CauseKind.EVICTED,
        rf"{_reasons('StaleJob')}.*?(?P<found>\d+) pods are active, minMember is (?P<needed>\d+)",
        "only {found} of at least {needed} pods of it run: KAI evicts them if the others do not come back",
        "Look at why its other pods ended; its controller must make new ones.",
    ),
    _family(CauseKind.EVICTED, _reasons("StaleJob", "Evict", "Preempted", "Evicted", "Preempting", "Terminated")),
    _family(
        CauseKind.FAILED, _reasons("BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy", "FailedIndexes")
    ),
    _family(CauseKind.FAILED, f"{_reasons('SuccessfulDelete')}Deleted pod"),  # of a Job: pkg/controller/job
    # Differs from the file: pkg/scheduler/api/podgroup_info/job_info.go, pkg/scheduler/plugins/topology
    _family(
        CauseKind.DIFFERS,
        r"topology constraint error: .*? specified '(?P<level>[^']+)' as .* topology tree '(?P<topology>[^']+)'",
        "the Topology {topology} has no level {level}",
        "Apply the manifests of its pool, or name a level of that Topology.",
    ),
    _family(CauseKind.DIFFERS, "references subgroup .* does not exist|Requested topology .* does not exist"),
    # Something that pods name is missing: pkg/scheduler/k8s_internal/predicates, plugins/dynamicresources, Kubernetes
    _family(
        CauseKind.NEEDS,
        'persistentvolumeclaim "(?P<name>[^"]+)" not found',
        "the cluster has no PersistentVolumeClaim {name} in namespace {namespace}",
        "Create it, or name another one; KAI tries again by itself.",
        key="claimName={name}",
    ),
    _family(
        CauseKind.NEEDS,
        r"task has deleted storage claims: \[?(?P<name>[^\]\s]+)|persistentvolumeclaim \"(?P<going>[^\"]+)\" is being",
        "the PersistentVolumeClaim {name}{going} of its pods is being deleted",
        "Create the claim anew once it is gone, or name another one.",
        key="claimName",
    ),
    _family(
        CauseKind.NEEDS,
        "unbound immediate PersistentVolumeClaims",
        "a PersistentVolumeClaim of its pods has no volume yet",
        "Look at the claim: kubectl describe pvc.",
    ),
    _family(
        CauseKind.NEEDS,
        r"no allocatable storage from storageclass (?P<name>\S+) found",
        "no node has storage of the StorageClass {name}, which a PersistentVolumeClaim of its pods names",
        "Install the driver of the StorageClass on the nodes, or name another StorageClass in the claim.",
        key="claimName",
    ),
    _family(
        CauseKind.NEEDS,
        r"Missing required configmaps: \[(?P<name>[^] ]+)",
        "the cluster has no ConfigMap {name} in namespace {namespace}",
        "Create it, or name another one; KAI tries again by itself.",
        key=_CONFIG_MAP,
    ),
    _family(
        CauseKind.NEEDS,
        'configmap "(?P<name>[^"]+)" not found',
        "the cluster has no ConfigMap {name} in namespace {namespace}",
        "Create it, or name another one; KAI tries again by itself.",
        key=_CONFIG_MAP,
    ),
    _family(
        CauseKind.NEEDS,
        'secret "(?P<name>[^"]+)" not found',
        "the cluster has no Secret {name} in namespace {namespace}",
        "Create it, or name another one; KAI tries again by itself.",
        key="secretName|secretRef>name|secretKeyRef>name={name}",
    ),
    _family(
        CauseKind.NEEDS,
        'resourceclaimtemplate(?:.resource.k8s.io)? "(?P<name>[^"]+)" not found',
        "the cluster has no ResourceClaimTemplate {name} in namespace {namespace}",
        "Create it, or name another one; Kubernetes then makes the ResourceClaims.",
        key="resourceClaimTemplateName={name}",
        is_in_fit=False,
    ),
    _family(
        CauseKind.NEEDS,
        r"no resource claim name found for pod .* and claim reference (?P<name>[^\s.]+)",
        "its pods have no ResourceClaim for {name} yet: Kubernetes makes it from a ResourceClaimTemplate",
        "Look whether the ResourceClaimTemplate exists: kubectl get resourceclaimtemplates.",
        key="name={name}",
        is_in_fit=False,
    ),
    _family(
        CauseKind.NEEDS,
        'resourceclaim(?:.resource.k8s.io)? "(?P<name>[^"]+)" not found',
        "the cluster has no ResourceClaim {name} in namespace {namespace}",
        "Create it, or name another one; KAI tries again by itself.",
        key="resourceClaimName={name}",
        is_in_fit=False,
    ),
    _family(
        CauseKind.NEEDS,
        r"[Dd]evice class (?P<name>\S+) does not exist(?: for claim (?P<claim>\S+))?",
        "the cluster has no DeviceClass {name}, which a ResourceClaim of its pods names",
        "Install the driver of these devices, or name another DeviceClass in the claim.",
        is_in_fit=False,
    ),
    _family(
        CauseKind.NEEDS,
        r"resource claim (?P<name>\S+) has reached its maximum number of consumers \((?P<most>\d+)\)",
        "{most} pods use the ResourceClaim {name} already, and a claim takes no more",
        "Give its pods a claim of their own: name a ResourceClaimTemplate.",
        key="resourceClaimName",
        is_in_fit=False,
    ),
    _family(
        CauseKind.NEEDS,
        r"DRA claim (?P<name>\S+) is a shared GPU claim but does not have a queue label \((?P<label>[^)]+)\)",
        "the ResourceClaim {name} of its pods has no label {label}, and several pods may share its GPUs",
        "Give the ResourceClaim the label {label} with the queue of this work.",
        key="resourceClaimName",
        is_in_fit=False,
    ),
    _family(
        CauseKind.NEEDS,
        r"DRA claim (?P<name>\S+) .*expected queue: (?P<queue>[^,]+), claim queue label: (?P<other>[^)]+)\)",
        "the ResourceClaim {name} of its pods is for the queue {other}, and this work is in {queue}",
        "Use a ResourceClaim of the queue {queue}, or a ResourceClaimTemplate.",
        key="resourceClaimName",
        is_in_fit=False,
    ),
    _family(
        CauseKind.NEEDS,
        "while dynamic resource allocation is not available|DRA manager is not initialized",
        "its pods name ResourceClaims, and the cluster has no dynamic resource allocation",
        "Enable dynamic resource allocation in Kubernetes, or ask for nvidia.com/gpu instead.",
        key="resourceClaims",
        is_in_fit=False,
    ),
    # Queues: pkg/scheduler/api/unschedule_info.go, pkg/scheduler/actions/utils/input_jobs.go
    _family(CauseKind.QUEUE, "QueueDoesNotExist|[Qq]ueue .*(does not|doesn't) exist"),
    _family(CauseKind.QUOTA, "NonPreemptibleOverQuota|OverLimit|over quota|quota has reached|Limit is "),
    _family(CauseKind.DELAY, "preemption delay"),
    # No node, however empty: pkg/scheduler/k8s_internal/predicates/maxNodeResources.go
    _family(
        CauseKind.ROOM,
        r"requires GPU: (?P<asked>[\d.]+),.* Max GPU resources available in a single node in the (?P<shard>\S+) "
        r"node-pool is topped at (?P<most>[\d.]*\d)",
        "no node has the {asked} GPUs that a pod asks for: the largest has {most}",
        "Ask for at most {most} GPUs a pod, and for more pods.",
        key="nvidia.com/gpu",
        is_final=True,
    ),
    _family(
        CauseKind.ROOM,
        r"CPU: (?P<asked>[\d.]+) \(cores\),.* Max CPU resources available .* topped at (?P<most>[\d.]*\d)",
        "no node has the {asked} CPU cores that a pod asks for: the largest has {most}",
        "Ask for at most {most} CPU cores a pod, and leave some for the system.",
        key="cpu",
        is_final=True,
    ),
    _family(
        CauseKind.ROOM,
        r"memory: (?P<asked>[\d.]+) \(GB\).* Max memory resources available .* topped at (?P<most>[\d.]*\d)",
        "no node has the {asked} GB of memory that a pod asks for: the largest has {most} GB",
        "Ask for at most {most} GB of memory a pod, and leave some for the system.",
        key="memory",
        is_final=True,
    ),
    _family(
        CauseKind.ROOM,
        r"Max (?P<resource>\S+) resources available .* topped at (?P<most>[\d.]*\d) GB",
        "no node has as much {resource} as a pod asks for: the largest has {most} GB",
        "Ask for at most {most} GB of {resource} a pod.",
        key="{resource}",
        is_final=True,
    ),
    _family(
        CauseKind.ROOM,
        r"No node in the (?P<shard>\S+) node-pool has GPU resources",
        "no node has a GPU, and its pods ask for some",
        "Look whether the device plugin of the GPUs runs on the nodes, and whether nodes of this shard have GPUs.",
        key="nvidia.com/gpu",
        is_final=True,
    ),
    _family(
        CauseKind.ROOM,
        r"No node in the (?P<shard>\S+) node-pool has (?P<resource>\S*/mig-\S+) resources",
        "no node has the MIG profile {resource} that a pod asks for",
        "Ask for a profile that nodes have (kubectl describe node), or have the GPUs divided so.",
        key="{resource}",
        is_final=True,
    ),
    _family(
        CauseKind.ROOM,
        r"No node in the (?P<shard>\S+) node-pool has (?P<resource>\S+) resources",
        "no node has as much {resource} as a pod asks for",
        "Ask for less {resource}, or install its device plugin on the nodes.",
        key="{resource}",
        is_final=True,
    ),
    # Obstacles by node: pkg/scheduler/api/common_info/pod_errors.go, api/node_info/node_info.go, plugins/predicates
    _of_nodes(
        rf"{_SHORT} (?P<resource>\S+(?: \w+)??)\. Not enough resources due to pod over",
        "too little free {resource} for its pods with their overhead",
        "Ask for less {resource}, or choose a runtimeClassName with less overhead.",
        key="runtimeClassName",
    ),
    _of_nodes(
        rf"{_SHORT} (?:GPU memory|Each gpu on the node has a gpu memory capacity)",
        "GPUs with less memory than the annotation gpu-memory asks for",
        "Lower gpu-memory to what a GPU of the nodes has, or ask for whole GPUs.",
        key="gpu-memory",
        is_in_fit=False,
    ),
    _of_nodes(
        rf"{_SHORT} GPUs",
        FEW_GPUS,
        f"{_WAIT}, or ask for fewer GPUs a pod.",
    ),
    _of_nodes(
        rf"{_SHORT} CPU cores",
        "too few free CPU cores",
        f"{_WAIT}, or ask for fewer CPU cores a pod.",
        key="cpu",
    ),
    _of_nodes(
        rf"{_SHORT} memory",
        "too little free memory",
        f"{_WAIT}, or ask for less memory a pod.",
        key="memory",
    ),
    _of_nodes(
        rf"(?:node\(s\) pod number exceeded|{_SHORT} pods)",
        "as many pods as they may hold",
        f"{_WAIT}, or have the kubelet's maxPods raised.",
    ),
    _of_nodes(
        rf"{_SHORT} (?P<resource>[^\s,]*[^\s,.])",
        "too little free {resource}",
        f"{_WAIT}, or ask for less {{resource}} a pod.",
        key="{resource}",
    ),
    _of_nodes(
        r"Insufficient (?P<resource>[^\s,]*[^\s,.])",
        "too little free {resource}",
        f"{_WAIT}, or ask for less {{resource}} a pod.",
        key="{resource}",
    ),
    _of_nodes(
        r"node\(s\) didn't have enough of mig profile: (?P<resource>[^\s,]*[^\s,.])",
        "too few free devices of the MIG profile {resource}",
        f"{_WAIT}, or ask for a profile that is free.",
        key="{resource}",
    ),
    _of_nodes(
        "MIG job cannot be scheduled on non-MIG node",
        "GPUs without MIG, and its pods ask for a MIG profile",
        "Ask for nvidia.com/gpu, or have MIG enabled on nodes.",
        is_in_fit=False,
    ),
    _of_nodes(
        "non MIG jobs cant run on a node with MigStrategy='mixed'",
        "GPUs divided by MIG (strategy mixed), and its pods ask for whole ones",
        "Ask for a MIG profile (nvidia.com/mig-...) instead of nvidia.com/gpu.",
        key="nvidia.com/gpu",
        is_in_fit=False,
    ),
    _of_nodes(
        "only whole gpu jobs can run on a node with MigStrategy='single'",
        "GPUs divided by MIG (strategy single), which take whole requests only",
        "Ask for nvidia.com/gpu, each of which is one MIG device there, instead of a profile or a part.",
        is_in_fit=False,
    ),
    _of_nodes(
        "(?:MIG job cannot be scheduled on node with legacy MIG jobs|Legacy MIG jobs cannot be scheduled)",
        "old MIG work that KAI places no pods beside",
        "Ask for a MIG profile in resources, and remove the old annotation of MIG.",
        is_in_fit=False,
    ),
    _of_nodes(
        "fractional/shared GPU pods are not yet supported on DRA-only nodes",
        "GPUs by dynamic resource allocation only, which KAI does not divide",
        "Ask for whole GPUs, or for a ResourceClaim.",
        key=_FRACTION,
        is_in_fit=False,
    ),
    _of_nodes(
        "node is not a gpu node or the gpu memory count on the node was not synced yet",
        "no known size of GPU memory (label nvidia.com/gpu.memory)",
        "Run NVIDIA's gpu-feature-discovery on the nodes, or ask for whole GPUs instead of gpu-memory.",
        key="gpu-memory",
        is_in_fit=False,
    ),
    _of_nodes(
        "gpu task: .* can't run on non gpu nodes",
        "no label of GPU nodes, and KAI is told to place GPU work on these only",
        "Give the GPU nodes the label of KAI's gpuWorkerNodeLabelKey.",
        is_in_fit=False,
    ),
    _of_nodes(
        "cpu task: .* can't run on non cpu nodes",
        "no label of CPU nodes, and KAI is told to place work without GPUs on these only",
        "Give nodes the label of KAI's cpuWorkerNodeLabelKey.",
        is_in_fit=False,
    ),
    _of_nodes(
        r"node\(s\) didn't have free ports",
        "the hostPort of its pods taken",
        "Remove hostPort, choose a free port, or run at most one such pod on each node.",
        key="hostPort",
        is_in_fit=False,
    ),
    _of_nodes(
        r"node\(s\) didn't match pod anti-affinity rules",
        "a pod that the podAntiAffinity of its pods forbids",
        "Change podAntiAffinity, or have the pods that it names leave a node.",
        key="podAntiAffinity",
        is_in_fit=False,
    ),
    _of_nodes(
        r"node\(s\) didn't satisfy existing pods anti-affinity rules",
        "a pod whose podAntiAffinity forbids its pods",
        "Change the labels of its pods, or the podAntiAffinity of the others.",
        is_in_fit=False,
    ),
    _of_nodes(
        r"node\(s\) didn't match pod affinity rules",
        "none of the pods that the podAffinity of its pods asks for",
        "Start the pods that podAffinity names, or change podAffinity.",
        key="podAffinity",
        is_in_fit=False,
    ),
    _of_nodes(
        r"node\(s\) didn't match (?:Pod's node affinity/selector|scheduler-enforced node affinity)",
        "other labels than its nodeSelector or nodeAffinity asks for",
        "Change nodeSelector or nodeAffinity, or the labels of nodes.",
        key="nodeSelector",
    ),
    _of_nodes(
        r"node\(s\) had untolerated taint(?:\(s\)|(?P<taint> \{.*?\}))?",
        "a taint{taint} that its pods do not tolerate",
        "Tolerate the taint in nodes.tolerations of its pool, or have it taken from nodes.",
        key="tolerations",
    ),
    _of_nodes("node is unschedulable", "a cordon", "Have nodes uncordoned: kubectl uncordon NODE."),
    _of_nodes(
        "node has NotReady condition",
        "the condition NotReady",
        "Look at these nodes: kubectl describe node.",
    ),
    _of_nodes(
        r"node has (?P<condition>\w+) condition",
        "the condition {condition}",
        "Look at these nodes: kubectl describe node.",
        is_in_fit=False,
    ),
    _of_nodes(
        "node cannot NUMA-align",
        "no NUMA-aligned room for its pods (Topology Manager)",
        "Ask for what one NUMA node has (fewer CPU cores or GPUs), or have the policy of the kubelet changed.",
        is_in_fit=False,
    ),
    _of_nodes(
        r"(?:claim \S+ node selector does not match node|cannot allocate (?:all )?(?:DRA|resource) claims)",
        "no free devices for a ResourceClaim of its pods",
        "Wait until devices are free, or change what the claim asks for: kubectl describe resourceclaim.",
        kind=CauseKind.NEEDS,
        key="resourceClaims",
        is_in_fit=False,
    ),
    # Volumes: VolumeBinding of Kubernetes 1.35, api/node_info/node_info.go
    _of_nodes(
        r"node\(s\) (?:didn't match PersistentVolume's node affinity|had volume node affinity conflict)",
        "no access to a PersistentVolume of its pods: the volume is in another zone or on another node",
        "Let its pods go where the volume is, or use a volume that all nodes can mount: kubectl describe pv.",
        kind=CauseKind.NEEDS,
        key="claimName",
        is_in_fit=False,
    ),
    _of_nodes(
        r"node\(s\) didn't find available persistent volumes to bind",
        "no free PersistentVolume for a claim of its pods",
        "Create a PersistentVolume there, or name a StorageClass with a provisioner in the claim.",
        kind=CauseKind.NEEDS,
        key="claimName",
        is_in_fit=False,
    ),
    _of_nodes(
        r"node\(s\) did not have enough free storage(?: for storageclass (?P<name>[^\s,]*[^\s,.]))?",
        "too little free storage for a PersistentVolumeClaim of its pods",
        "Lower the storage that the claim requests, or free some: kubectl get csistoragecapacities -A.",
        kind=CauseKind.NEEDS,
        key="claimName",
        is_in_fit=False,
    ),
    _of_nodes(
        r"node\(s\) unavailable due to one or more pvc\(s\) bound to non-existent pv",
        "a claim of its pods whose PersistentVolume is gone",
        "Create the claim anew: its volume is gone.",
        kind=CauseKind.NEEDS,
        key="claimName",
        is_in_fit=False,
    ),
    # Levels: pkg/scheduler/plugins/topology/job_filtering.go, api/common_info/job_errors.go
    _family(
        CauseKind.TOPOLOGY,
        r"node-group (?P<domain>\S+) can allocate only (?P<found>\d+) of (?P<needed>\d+) required pods",
        "no domain of a level that it requires has room for all {needed} pods: {domain} has room for {found}",
    ),
    _family(
        CauseKind.TOPOLOGY,
        r"node-group\(s\) didn't have enough (?:resources|of mig profile): (?P<resource>[^\s,.]+(?: \w+)?)",
        "no domain of a level that it requires has enough free {resource} for all its pods",
    ),
    _family(
        CauseKind.TOPOLOGY,
        r"not enough resources in (?P<domain>\S+) to allocate the job",
        "the domain {domain} has no room for all its pods",
    ),
    _family(
        CauseKind.TOPOLOGY,
        r"requirement (?P<level>\S+) couldn't be satisfied",
        "no domain of the level {level} has room for all its pods",
    ),
    # Of no known family
    _family(
        CauseKind.NEEDS,
        "[Pp]ersistent[Vv]olume[Cc]laim|[Rr]esource ?[Cc]laim|volume node affinity",
    ),
    _family(CauseKind.TOPOLOGY, "topology|node-group"),
    _family(
        CauseKind.ROOM,
        f"{_reasons('FailedScheduling')}|[Rr]esources were|[Nn]ot enough resources|no nodes with enough|"
        r"[Nn]ode\(s\)|node-pool has|single node|<.*>: ",
    ),
)
"""Messages of KAI and Kubernetes by cause, and what ``why`` says of them. The first row that matches counts; rows
about nodes count together. KAI's sources are those of 0.17.0, Kubernetes' those of the plugins that KAI calls.
"""
_GANG = late_pattern(
    r"[Rr]esources were found for (?P<found>\d+) pods "
    r"(?:while (?P<needed>\d+) are|from all sub-groups while sub-group (?P<unit>\S+) requires (?P<least>\d+) pods)"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """The meaning of a message of the cluster."""

    kind: CauseKind
    families: tuple[tuple[Family, Groups], ...]
    """Rows that match, with their groups; of several rows about nodes, the one with the most nodes first."""
    gang: str = ""
    """Number of pods that have found nodes, in words; empty if the message does not tell."""

    @property
    def family(self) -> Family:
        """The row that tells what to change; an empty one if the message is of no family."""
        return self.families[0][0] if self.families else Family(self.kind, late_pattern(""))

    @property
    def is_exact(self) -> bool:
        """Whether the message is of a family with a description of its own."""
        return bool(self.family.headline)

    @property
    def is_final(self) -> bool:
        """Whether a pod fits on no node, however empty the nodes are."""
        return self.family.is_final

    @property
    def subject(self) -> tuple[object, ...]:
        """Equal for messages about the same obstacle, whatever they count."""
        return tuple((row.headline, *(pair for pair in groups if pair[0] != "nodes")) for row, groups in self.families)

    @property
    def is_in_fit(self) -> bool:
        """Whether ``fit`` considers all obstacles that the message names."""
        return all(row.is_in_fit for row, _ in self.families)

    @property
    def key(self) -> str:
        """Key in a pod template that the message is about, with ``=`` and its value; may be empty."""
        return _filled(self.family.key, tuple(self.groups.items()))

    @property
    def groups(self) -> dict[str, str]:
        """Groups of the first row."""
        return dict(self.families[0][1]) if self.families else {}

    def headline(self, namespace: str) -> str:
        """Returns the description of the cause."""
        if "nodes" not in self.groups:
            return _filled(self.family.headline, (*self.groups.items(), ("namespace", namespace)))
        return f"{self.gang or 'KAI finds no node for a pod of it'}: {', '.join(map(_of_count, self.families))}"

    @property
    def hint(self) -> str:
        """Advice: the change to make."""
        return _filled(self.family.hint, tuple(self.groups.items())) or HINTS.get(self.kind, "")


def _filled(text: str, groups: Groups) -> str:
    return text.format_map(defaultdict(str, groups))


def _of_count(family: tuple[Family, Groups]) -> str:
    row, groups = family
    values = dict(groups)
    count = int(values["nodes"])
    have = "has" if count == 1 else "have"
    return f"{plural(count, 'node')} {have} {_filled(row.headline, groups)}"


_OF_KUBELETS = ("FailedMount", "FailedAttachVolume", "CreateContainerConfigError")
"""Reasons that kubelets give, and Kubernetes for volumes, once a pod has a node."""


def is_of_waiting(saying: Saying) -> bool:
    """Whether a message says why KAI has not assigned nodes."""
    keeps = (
        CauseKind.DIFFERS,
        CauseKind.QUEUE,
        CauseKind.NEEDS,
        CauseKind.QUOTA,
        CauseKind.DELAY,
        CauseKind.TOPOLOGY,
        CauseKind.ROOM,
        CauseKind.BINDING,
    )
    return saying.reason == UNPLACED or (cause_kind_of(saying) in keeps and saying.reason not in _OF_KUBELETS)


def cause_kind_of(saying: Saying) -> CauseKind:
    """Returns the cause that a message is about."""
    return reading_of(saying).kind


@lru_cache(maxsize=4096)
def reading_of(saying: Saying) -> Reading:
    """Returns what a message says, by the table of families."""
    words = f"{saying.reason}: {saying.text}"
    first = next(((row, match) for row in FAMILIES if (match := row.pattern.search(words))), None)
    if first is None:
        is_start = saying.where == "Pod" and saying.reason != UNPLACED
        return Reading(CauseKind.STARTING if is_start else CauseKind.OTHER, ())
    row, match = first
    if "nodes" not in match.groupdict():
        return Reading(row.kind, ((row, _groups(match)),))
    by_position: dict[int, tuple[Family, re.Match[str]]] = {}
    for row in FAMILIES:
        if "nodes" in row.pattern.groupindex:
            for match in row.pattern.finditer(words):
                by_position.setdefault(match.start(), (row, match))
    counts: Counter[tuple[Family, Groups]] = Counter()
    for row, match in by_position.values():  # some of KAI's messages name the node, so that each counts one
        counts[row, tuple(group for group in _groups(match) if group[0] != "nodes")] += int(match["nodes"] or 1)
    families = tuple((row, (("nodes", str(count)), *groups)) for (row, groups), count in counts.most_common())
    return Reading(families[0][0].kind, families, _gang_of(words))


def exact_of(kind: CauseKind, sayings: Iterable[Saying]) -> Reading | None:
    """Returns the first message about a cause that describes it, by its family; None if none does."""
    readings = map(reading_of, gathered(sayings))
    return next((reading for reading in readings if reading.is_exact and reading.kind is kind), None)


def _groups(match: re.Match[str]) -> Groups:
    return tuple((name, text or "") for name, text in match.groupdict().items())


def _gang_of(words: str) -> str:
    """Returns how many pods have found nodes, as KAI says (pkg/scheduler/actions/common/allocate.go)."""
    gang = _GANG.search(words)
    if gang is None:
        return ""
    if gang["unit"]:
        return f"KAI finds no nodes for all {gang['least']} pods of SubGroup {gang['unit']}"
    return f"KAI finds nodes for {gang['found']} of {plural(int(gang['needed']), 'pod')}"
