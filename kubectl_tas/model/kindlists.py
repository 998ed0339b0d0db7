"""Lists the names of kinds that are no workloads: companions, and kinds that do not belong in a repository. Code that
needs only names imports no model. ``Phase`` is the order in which objects are applied and pruned.
"""

from __future__ import annotations

from enum import IntEnum

from kubectl_tas.kinds import SET
from kubectl_tas.model.base import API_VERSION, Model, Text

GROVE, POD_GROUPS = "grove.io/v1alpha1", "scheduling.run.ai/v2alpha2"
OWN: tuple[tuple[str, str, str], ...] = (
    ("Config", API_VERSION, "config:Config"),
    ("Pool", API_VERSION, "pool_kinds:Pool"),
    ("Subpool", API_VERSION, "pool_kinds:Subpool"),
    ("PodTemplate", API_VERSION, "platform:PodTemplate"),
    ("ResourceValidation", API_VERSION, "platform:ResourceValidation"),
    ("ClusterTopology", GROVE, "topology_kinds:ClusterTopology"),
    ("ClusterTopologyBinding", GROVE, "topology_kinds:ClusterTopology"),
    ("Karta", "run.ai/v1alpha1", "karta:Karta"),
    ("SchedulingShard", "kai.scheduler/v1", "scheduling_shard:SchedulingShard"),
    ("PodGroup", POD_GROUPS, "manifest:PodGroup"),
    (SET.kind, GROVE, "grovekinds:CliqueSet"),
    ("OperatorConfiguration", "operator.config.grove.io/v1alpha1", "grovekinds:OperatorConfiguration"),
)
"""Kinds that are no workloads, each with its apiVersion and its model as ``module:class``."""


class CompanionKind(Model):
    """A kind of objects that you may put next to workloads."""

    apiVersion: Text
    """API of the kind, such as monitoring.coreos.com/v1."""
    kind: Text
    """Name of the kind, such as ServiceMonitor."""


def group_of(api_version: str) -> str:
    """Returns the group of an apiVersion. Empty for the core group."""
    return api_version.rpartition("/")[0]


class Phase(IntEnum):
    """The order in which objects are applied. They are pruned in the reverse order.

    KAI's webhook refuses a queue without its parent, and the removal of a queue with children. So the container queue
    of a pool with child pools comes before POOL_QUEUE, one step for each level of pools below it, and the root comes
    first. A pool without child pools keeps its place, and pools that swap places form no cycle meanwhile. A changed
    policy needs about a second to take effect, so policies come as early as possible, with Roles in the same phase.
    """

    SHARD = -2
    """A scheduler of KAI. It needs nothing of the repository, and all work needs it."""
    NAMESPACE = -1
    PRIORITY_CLASS = 0
    GUARD = 1
    TOPOLOGY = 2
    ROOT_QUEUE = 3
    POOL_QUEUE = 4
    LEAF_QUEUE = 5
    COMPANION = 6
    """Work needs it, and it counts as healthy from its creation."""
    POD_GROUP = 7
    SLOW_COMPANION = 8
    """Work needs it, and it counts as healthy only when a controller, or a pod of the work, has done something."""
    POD = 9
    LATE_COMPANION = 10
    """It points at work."""


_LAST_WAVE = 8


def sync_wave(phase: int) -> int:
    """Returns the sync wave of Argo CD for a phase.

    Argo CD waits until each wave but the last is healthy (``Sync`` of gitops-engine/pkg/sync/sync_context.go, 3.5.1).
    A claim waits for a pod, an autoscaler and an Ingress for more, and a Job counts as healthy only when it is
    complete. So all of these share the last wave, and no wave before it waits for anything. Within a wave Argo CD
    applies by kind: Services and claims, then work, autoscalers and Ingresses.
    """
    return min(phase, _LAST_WAVE)


COMPANIONS = tuple(
    CompanionKind.model_construct(apiVersion=version, kind=kind)
    for version, kind in (
        ("v1", "Service"),
        ("v1", "ConfigMap"),
        ("v1", "PersistentVolumeClaim"),
        ("v1", "ServiceAccount"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("autoscaling/v1", "HorizontalPodAutoscaler"),
        ("policy/v1", "PodDisruptionBudget"),
        ("networking.k8s.io/v1", "Ingress"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
        ("resource.nvidia.com/v1beta1", "ComputeDomain"),
    )
)
"""The kinds that every repository may put next to workloads."""

HARMLESS: dict[tuple[str, str], Phase] = {
    ("", "Service"): Phase.COMPANION,
    ("", "ConfigMap"): Phase.COMPANION,
    ("", "PersistentVolumeClaim"): Phase.SLOW_COMPANION,
    ("", "ServiceAccount"): Phase.COMPANION,
    ("autoscaling", "HorizontalPodAutoscaler"): Phase.LATE_COMPANION,
    ("policy", "PodDisruptionBudget"): Phase.LATE_COMPANION,
    ("networking.k8s.io", "Ingress"): Phase.LATE_COMPANION,
    ("networking.k8s.io", "NetworkPolicy"): Phase.COMPANION,
    ("resource.nvidia.com", "ComputeDomain"): Phase.COMPANION,
    ("bitnami.com", "SealedSecret"): Phase.SLOW_COMPANION,
    ("cert-manager.io", "Certificate"): Phase.SLOW_COMPANION,
    ("cilium.io", "CiliumNetworkPolicy"): Phase.COMPANION,
    ("gateway.networking.k8s.io", "GRPCRoute"): Phase.LATE_COMPANION,
    ("gateway.networking.k8s.io", "HTTPRoute"): Phase.LATE_COMPANION,
    ("gateway.networking.k8s.io", "TCPRoute"): Phase.LATE_COMPANION,
    ("gateway.networking.k8s.io", "TLSRoute"): Phase.LATE_COMPANION,
    ("grafana.integreatly.org", "GrafanaDashboard"): Phase.LATE_COMPANION,
    ("monitoring.coreos.com", "PodMonitor"): Phase.LATE_COMPANION,
    ("monitoring.coreos.com", "Probe"): Phase.LATE_COMPANION,
    ("monitoring.coreos.com", "PrometheusRule"): Phase.LATE_COMPANION,
    ("monitoring.coreos.com", "ServiceMonitor"): Phase.LATE_COMPANION,
    ("monitoring.googleapis.com", "PodMonitoring"): Phase.LATE_COMPANION,
    ("operator.victoriametrics.com", "VMPodScrape"): Phase.LATE_COMPANION,
    ("operator.victoriametrics.com", "VMRule"): Phase.LATE_COMPANION,
    ("operator.victoriametrics.com", "VMServiceScrape"): Phase.LATE_COMPANION,
    ("secrets-store.csi.x-k8s.io", "SecretProviderClass"): Phase.COMPANION,
    ("snapshot.storage.k8s.io", "VolumeSnapshot"): Phase.SLOW_COMPANION,
}
"""Kinds, by group and name, that make no pods and no objects of a freely chosen kind, and change nothing that others
own, with the phase in which they are applied. A kind is in COMPANION only if a new object is healthy at once: Argo CD
3.5.1 has no health check for it, or one that asks for nothing (gitops-engine/pkg/health, resource_customizations).

Excluded are for example KEDA's ScaledObject (makes an uncounted autoscaler), Gateway and Issuer (their controllers run
pods), ExternalSecret (``target.manifest`` makes any kind), VerticalPodAutoscaler (changes the requests of pods), and
NetworkAttachmentDefinition (nodes execute its content).
"""
_TARGETS = ("scaleTargetRef", "targetRef", "targetRefs")
"""Fields of a spec by which an object of an unknown kind points at work."""


def phase_of_companion(api_version: str, kind: str, spec: object) -> Phase:
    """Returns the phase of a companion. Nobody knows what an unknown kind waits for, so it never comes before work."""
    fields = spec if isinstance(spec, dict) else {}
    if (api_version, kind) == ("v1", "Service") and fields.get("type") == "LoadBalancer":
        return Phase.LATE_COMPANION  # healthy when it has an address
    default = Phase.SLOW_COMPANION if fields.keys().isdisjoint(_TARGETS) else Phase.LATE_COMPANION
    return HARMLESS.get((group_of(api_version), kind), default)


_PLATFORM = "Move it to the files that set up the cluster: authors of work must not change it."
_QUEUES = "Declare a Pool or Subpool instead: `render` makes the queues from them."
_TOPOLOGIES = "Write topology_keys of a Pool or a ClusterTopology instead: `render` makes Topologies from them."
_QUOTAS = "Declare it as quota and maximum of a Pool or Subpool."
_CLASSES = "Name it in spec.priorityClasses of the Config: `render` makes the PriorityClasses."
_WORKLOADS = (
    "It is of Kubernetes' own scheduler, and KAI does not read it. Remove it: KAI makes a PodGroup of each workload. "
    "One that is written by hand is of scheduling.run.ai/v2alpha2."
)
_GUARD = f"spec.guard of the Config renders the policies of this repository. {_PLATFORM}"
_KAI = "PodGroups and SchedulingShards are the only objects of KAI that may be written by hand."
_DEVICES = (
    "Its devices are not counted here: ask for nvidia.com/gpu in the workload. A ComputeDomain makes its own claim "
    "template."
)
_SECRET = "Create it in the cluster, and name it in workloads: no repository should hold secrets."
_NAMESPACE = "Name it in namespaces of a Pool; spec.createNamespaces: true of the Config renders it."

DECIDING: dict[tuple[str, str], str] = {
    ("scheduling.run.ai", "Queue"): _QUEUES,
    ("scheduling.run.ai", ""): _KAI,
    ("kai.scheduler", "Topology"): _TOPOLOGIES,
    ("kueue.x-k8s.io", "Topology"): _TOPOLOGIES,
    ("kai.scheduler", ""): _KAI,
    ("kueue.x-k8s.io", ""): f"{_QUEUES} `kubectl tas import kueue` writes these files.",
    ("scheduler.grove.io", ""): f"Grove makes it of a {SET.kind}; write that.",
    ("scheduling.k8s.io", "PodGroup"): _WORKLOADS,
    ("scheduling.k8s.io", "Workload"): _WORKLOADS,
    ("scheduling.k8s.io", ""): _CLASSES,
    ("rbac.authorization.k8s.io", ""): _PLATFORM,
    ("admissionregistration.k8s.io", ""): _GUARD,
    ("kyverno.io", ""): _GUARD,
    ("templates.gatekeeper.sh", ""): _GUARD,
    ("constraints.gatekeeper.sh", ""): _GUARD,
    ("apiextensions.k8s.io", ""): _PLATFORM,
    ("apiregistration.k8s.io", ""): _PLATFORM,
    ("certificates.k8s.io", ""): _PLATFORM,
    ("flowcontrol.apiserver.k8s.io", ""): _PLATFORM,
    ("node.k8s.io", ""): _PLATFORM,
    ("storage.k8s.io", ""): _PLATFORM,
    ("resource.k8s.io", ""): _DEVICES,
    ("", "Namespace"): _NAMESPACE,
    ("", "Node"): _PLATFORM,
    ("", "PersistentVolume"): _PLATFORM,
    ("", "Secret"): _SECRET,
    ("", "ResourceQuota"): _QUOTAS,
    ("", "LimitRange"): _QUOTAS,
    ("", "Binding"): "KAI decides on which node a pod runs.",
}
"""The right place for kinds that could change how much others may use, by group and kind (empty: the whole group)."""

_OF_DYNAMO = (
    *("GraphDeployment", "GraphDeploymentRequest", "GraphDeploymentScalingAdapter"),
    *("ComponentDeployment", "Checkpoint"),
)
POD_MAKERS: frozenset[tuple[str, str]] = frozenset(
    {
        ("apps", ""),
        ("batch", ""),
        ("batch.volcano.sh", ""),
        ("kubeflow.org", ""),
        ("trainer.kubeflow.org", ""),
        ("ray.io", ""),
        ("jobset.x-k8s.io", ""),
        ("leaderworkerset.x-k8s.io", ""),
        ("grove.io", ""),
        ("argoproj.io", ""),
        ("tekton.dev", ""),
        ("serving.knative.dev", ""),
        ("serving.kserve.io", ""),
        ("sparkoperator.k8s.io", ""),
        ("machinelearning.seldon.io", ""),
        ("kubevirt.io", ""),
        ("workspace.devfile.io", ""),
        ("workload.codeflare.dev", ""),
        ("run.ai", ""),
        *(("nvidia.com", f"Dynamo{name}") for name in _OF_DYNAMO),
        ("keda.sh", "ScaledJob"),
        ("source.toolkit.fluxcd.io", ""),
        ("kustomize.toolkit.fluxcd.io", ""),
        ("helm.toolkit.fluxcd.io", ""),
    }
)
"""Kinds that make pods, or objects that make pods, by group and kind (empty: the whole group)."""


def written(kind: str) -> str:
    """Returns a kind as objects write it: Job for ``Job.batch.volcano.sh``."""
    return kind.partition(".")[0]


def belongs_elsewhere(api_version: str, kind: str) -> str | None:
    """Returns the right place for a kind that could change how much others may use. None for any other kind."""
    group = group_of(api_version)
    return DECIDING.get((group, kind)) or DECIDING.get((group, ""))


def why_elsewhere(kind: str) -> str:
    """Returns why a kind that ``belongs_elsewhere`` cannot stand next to workloads."""
    return (
        "everybody who reads the repository could read it" if kind == "Secret" else "it could change quotas or rights"
    )


def makes_pods(api_version: str, kind: str) -> bool:
    """Whether a kind is known to make pods."""
    group = group_of(api_version)
    return (group, kind) in POD_MAKERS or (group, "") in POD_MAKERS


def is_harmless(api_version: str, kind: str) -> bool:
    """Whether objects of a kind are known to have no effect that needs a check."""
    return (group_of(api_version), kind) in HARMLESS
