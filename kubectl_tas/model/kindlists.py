"""All kinds by name: those that are read, those that may stand beside workloads, and those that never may. Whoever asks
only of which kind something is imports none of their models. The phases say when objects are applied, and pruned.
"""

from __future__ import annotations

from enum import IntEnum

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
    ("PodGroup", POD_GROUPS, "manifest:PodGroup"),
    ("PodCliqueSet", GROVE, "grovekinds:PodCliqueSet"),
    ("OperatorConfiguration", "operator.config.grove.io/v1alpha1", "grovekinds:OperatorConfiguration"),
)
"""The kinds besides workloads: each with its apiVersion and where its model is, ``module:class``."""
_BATCH, _APPS, _RAY, _KUBEFLOW = ("batch/v1",), ("apps/v1",), ("ray.io/v1",), ("kubeflow.org/v1",)

WORKLOADS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Job": ("workload_kinds:Job", _BATCH),
    "CronJob": ("workload_kinds:CronJob", _BATCH),
    "Pod": ("workload_kinds:BarePod", ("v1",)),
    "Deployment": ("workload_kinds:Deployment", _APPS),
    "StatefulSet": ("workload_kinds:StatefulSet", _APPS),
    "Notebook": ("workload_kinds:Notebook", ("kubeflow.org/v1", "kubeflow.org/v1beta1")),
    "JobSet": ("workload_kinds:JobSet", ("jobset.x-k8s.io/v1alpha2",)),
    "RayJob": ("ray:RayJob", _RAY),
    "RayCluster": ("ray:RayCluster", _RAY),
    "RayService": ("ray:RayService", _RAY),
    "TrainJob": ("workload_kinds:TrainJob", ("trainer.kubeflow.org/v1alpha1",)),
    "PyTorchJob": ("kubeflow:PyTorchJob", _KUBEFLOW),
    "TFJob": ("kubeflow:TFJob", _KUBEFLOW),
    "XGBoostJob": ("kubeflow:XGBoostJob", _KUBEFLOW),
    "JAXJob": ("kubeflow:JAXJob", _KUBEFLOW),
    "MPIJob": ("kubeflow:MPIJob", ("kubeflow.org/v2beta1", "kubeflow.org/v1")),
    "LeaderWorkerSet": ("workload_kinds:LeaderWorkerSet", ("leaderworkerset.x-k8s.io/v1",)),
}
"""Where the model of each is, and its apiVersions, in the order in which messages list the kinds."""
SEGMENTED = ("PyTorchJob", "LeaderWorkerSet")
"""The kinds that KAI's podgrouper divides into segments: those whose model says which pod set is ``divided``."""
REPLICA_TYPE = "replica type"
"""What Kubeflow's kinds call equal pods."""

KUBEFLOW, RAY = (
    frozenset(kind for kind, (place, _) in WORKLOADS.items() if place.startswith(f"{module}:"))
    for module in ("kubeflow", "ray")
)
"""The kinds of Kubeflow's training operator, and those of KubeRay."""
LEADERS = {"MPIJob": "Launcher", "PyTorchJob": "Master", "XGBoostJob": "Master"}
"""The replica type of a kind of Kubeflow's that has one pod, neither more nor fewer."""
CONTAINER_NAMES = {"PyTorchJob": "pytorch", "TFJob": "tensorflow", "XGBoostJob": "xgboost", "JAXJob": "jax"}
"""How the container is called that a kind of Kubeflow's training operator looks for in each pod."""


class CompanionKind(Model):
    """A kind of which objects may stand beside workloads."""

    apiVersion: Text
    """Its API, such as monitoring.coreos.com/v1."""
    kind: Text
    """Its name, such as ServiceMonitor."""


def group_of(api_version: str) -> str:
    """The group of an apiVersion; empty for the core one."""
    return api_version.rpartition("/")[0]


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
"""The kinds that may stand beside workloads in every repository."""

HARMLESS: frozenset[tuple[str, str]] = frozenset(
    {
        *((group_of(item.apiVersion), item.kind) for item in COMPANIONS),
        ("bitnami.com", "SealedSecret"),
        ("cert-manager.io", "Certificate"),
        ("cilium.io", "CiliumNetworkPolicy"),
        ("gateway.networking.k8s.io", "GRPCRoute"),
        ("gateway.networking.k8s.io", "HTTPRoute"),
        ("gateway.networking.k8s.io", "TCPRoute"),
        ("gateway.networking.k8s.io", "TLSRoute"),
        ("grafana.integreatly.org", "GrafanaDashboard"),
        ("monitoring.coreos.com", "PodMonitor"),
        ("monitoring.coreos.com", "Probe"),
        ("monitoring.coreos.com", "PrometheusRule"),
        ("monitoring.coreos.com", "ServiceMonitor"),
        ("monitoring.googleapis.com", "PodMonitoring"),
        ("operator.victoriametrics.com", "VMPodScrape"),
        ("operator.victoriametrics.com", "VMRule"),
        ("operator.victoriametrics.com", "VMServiceScrape"),
        ("secrets-store.csi.x-k8s.io", "SecretProviderClass"),
        ("snapshot.storage.k8s.io", "VolumeSnapshot"),
    }
)
"""Kinds, by group and name, that become no pods and no objects of a kind that their author chooses, and that change
what nobody else has. Not here are, for example: KEDA's ScaledObject (it makes an autoscaler that nobody counts), a
Gateway and an Issuer (their controllers run pods for them), an ExternalSecret (``target.manifest`` makes any kind), a
VerticalPodAutoscaler (it changes what pods ask for), and a NetworkAttachmentDefinition (nodes run what it says).
"""

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
_KAI = "PodGroups are the only objects of KAI that may be written by hand."
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
    ("scheduler.grove.io", ""): "Grove makes it of a PodCliqueSet; write that.",
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
"""What could change who may use how much, by group and kind (empty: all of the group), and where it belongs."""

POD_MAKERS: frozenset[tuple[str, str]] = frozenset(
    {
        ("", "Pod"),
        ("", "ReplicationController"),
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
        ("nvidia.com", "DynamoGraphDeployment"),
        ("keda.sh", "ScaledJob"),
        ("source.toolkit.fluxcd.io", ""),
        ("kustomize.toolkit.fluxcd.io", ""),
        ("helm.toolkit.fluxcd.io", ""),
    }
)
"""Kinds that become pods, or other objects that do, by group and kind (empty: all of the group)."""


def written(kind: str) -> str:
    """A kind as its objects have it, of ``Job.batch.volcano.sh``."""
    return kind.partition(".")[0]


def belongs_elsewhere(api_version: str, kind: str) -> str | None:
    """Where a kind belongs that could change who may use how much; None for any other."""
    group = group_of(api_version)
    return DECIDING.get((group, kind)) or DECIDING.get((group, ""))


def makes_pods(api_version: str, kind: str) -> bool:
    """Whether a kind is known to become pods."""
    group = group_of(api_version)
    return (group, kind) in POD_MAKERS or (group, "") in POD_MAKERS


def is_harmless(api_version: str, kind: str) -> bool:
    """Whether objects of a kind are known to bring about nothing that would have to be judged."""
    return (group_of(api_version), kind) in HARMLESS


class Phase(IntEnum):
    """The order in which objects are applied; the reverse is the order in which they are pruned.

    KAI's webhook refuses a queue whose parent is missing, and the removal of one that has children. The container of
    a pool with child pools is applied before POOL_QUEUE, one step for each level of pools below it, and the root before
    all of them: what has none keeps its place, and pools that change places form no circle meanwhile. A changed
    admission policy takes about a second to count, so policies stand as far before the work as they can; Roles follow
    them in the same phase.
    """

    NAMESPACE = -1
    PRIORITY_CLASS = 0
    GUARD = 1
    TOPOLOGY = 2
    ROOT_QUEUE = 3
    POOL_QUEUE = 4
    LEAF_QUEUE = 5
    COMPANION = 6
    POD_GROUP = 7
    POD = 8
