"""Makes workloads as YAML: a test gives the few relevant lines, and the rest is filled in."""

from __future__ import annotations

from tests.support.workloads import LEVELS as LEVELS
from tests.support.workloads import segments

SEGMENTS = segments(4)
Pairs = dict[str, str]
GPU = "{containers: [{name: main, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}"
RUN = GPU.replace("{", "{restartPolicy: Never, ", 1)
"""Spec of pods that end, as those of a Job must."""


def config(version: str) -> str:
    """Returns a Config for one backend with this KAI release."""
    return f"""\
apiVersion: tas/v1alpha1
kind: Config
spec:
  backends:
  - {{name: prod, scheduler: {{version: "{version}"}}}}
"""


def root(kind: str, name: str, labels: Pairs | None = None, annotations: Pairs | None = None) -> str:
    """Returns the lines above ``spec`` of a workload of pool team."""
    group = {
        "Job": "batch/v1",
        "CronJob": "batch/v1",
        "Deployment": "apps/v1",
        "StatefulSet": "apps/v1",
        "JobSet": "jobset.x-k8s.io/v1alpha2",
        "RayJob": "ray.io/v1",
        "TrainJob": "trainer.kubeflow.org/v1alpha1",
        "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    }.get(kind, "kubeflow.org/v1")
    return f"""\
apiVersion: {group}
kind: {kind}
metadata:
  name: {name}
  labels: {_flow({"kubectl-tas/pool": "team", **(labels or {})})}
  annotations: {_flow(annotations or {})}
"""


def template(annotations: Pairs | None = None, labels: Pairs | None = None, spec: str = GPU) -> str:
    """Returns a pod template in one line."""
    return f"{{metadata: {{labels: {_flow(labels or {})}, annotations: {_flow(annotations or {})}}}, spec: {spec}}}"


def selected(annotations: Pairs | None = None, labels: Pairs | None = None) -> str:
    """Returns the pod template of a Deployment or StatefulSet, after the selector of its pods."""
    pods = template(annotations, {"app": "a", **(labels or {})})
    return f"selector: {{matchLabels: {{app: a}}}}, template: {pods}"


def job(spec: str, annotations: Pairs | None = None, *, labels: Pairs | None = None, own: Pairs | None = None) -> str:
    """Returns a Job named sweep. ``spec`` is YAML without its braces. ``annotations`` belong to the template,
    ``labels`` and ``own`` (annotations) to the Job.
    """
    return f"{root('Job', 'sweep', labels, own)}spec: {{{spec}, template: {template(annotations, spec=RUN)}}}\n"


def pytorch(
    workers: object, annotations: Pairs | None = None, *, labels: Pairs | None = None, own: Pairs | None = None
) -> str:
    """Returns a PyTorchJob named train with a master and workers. The template of the workers has ``annotations``."""
    return f"""\
{root("PyTorchJob", "train", labels, own)}\
spec:
  pytorchReplicaSpecs:
    Master:
      template: {template()}
    Worker:
      replicas: {workers}
      template: {template(annotations)}
""".replace("name: main", "name: pytorch")


def leader_worker(size: int, annotations: Pairs | None = None, policy: str = "{}", *, own: Pairs | None = None) -> str:
    """Returns a LeaderWorkerSet named serve. ``policy`` is its subGroupPolicy in YAML; {} means none."""
    return f"""\
{root("LeaderWorkerSet", "serve", None, own)}\
spec:
  leaderWorkerTemplate:
    size: {size}
    {"" if policy == "{}" else f"subGroupPolicy: {policy}"}
    leaderTemplate: {template()}
    workerTemplate: {template(annotations)}
"""


def _flow(data: Pairs) -> str:
    return "{" + ", ".join(f'{key}: "{value}"' for key, value in data.items()) + "}"
