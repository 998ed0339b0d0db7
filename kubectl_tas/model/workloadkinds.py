"""The kinds of workloads by name: whoever asks only of which kind something is imports none of their models."""

from __future__ import annotations

_BATCH, _APPS, _RAY, _KUBEFLOW = ("batch/v1",), ("apps/v1",), ("ray.io/v1",), ("kubeflow.org/v1",)

WORKLOADS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Job": ("workload:Job", _BATCH),
    "CronJob": ("workload:CronJob", _BATCH),
    "Pod": ("workload:BarePod", ("v1",)),
    "Deployment": ("workload:Deployment", _APPS),
    "StatefulSet": ("workload:StatefulSet", _APPS),
    "Notebook": ("workload:Notebook", ("kubeflow.org/v1", "kubeflow.org/v1beta1")),
    "JobSet": ("workload:JobSet", ("jobset.x-k8s.io/v1alpha2",)),
    "RayJob": ("ray:RayJob", _RAY),
    "RayCluster": ("ray:RayCluster", _RAY),
    "RayService": ("ray:RayService", _RAY),
    "TrainJob": ("workload:TrainJob", ("trainer.kubeflow.org/v1alpha1",)),
    "PyTorchJob": ("kubeflow:PyTorchJob", _KUBEFLOW),
    "TFJob": ("kubeflow:TFJob", _KUBEFLOW),
    "XGBoostJob": ("kubeflow:XGBoostJob", _KUBEFLOW),
    "JAXJob": ("kubeflow:JAXJob", _KUBEFLOW),
    "MPIJob": ("kubeflow:MPIJob", ("kubeflow.org/v2beta1", "kubeflow.org/v1")),
    "LeaderWorkerSet": ("workload:LeaderWorkerSet", ("leaderworkerset.x-k8s.io/v1",)),
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
