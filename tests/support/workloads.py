"""Makes Kubernetes workloads of the pool ``team`` as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from kubectl_tas.kinds import page_of
from tests.support.cli import kubectl_tas, pool, write

Object = dict[str, Any]
LEVELS = """\
  topology_keys:
  - key: zone
    label: topology.kubernetes.io/zone
  - key: rack
    label: topology.kubernetes.io/rack
"""
"""Field of a pool with its levels."""
ZONE = {"kai.scheduler/topology-required-placement": "zone"}
"""Annotations of pods that must run in one zone."""


def declare(root: Path, *workloads: Object, version: str = "0.17") -> Path:
    """Writes a repository of the pool ``team`` with these workloads, for one cluster with this KAI release."""
    config = {"backends": [{"name": "prod", "scheduler": {"version": version}}]}
    document = {"apiVersion": "tas/v1alpha1", "kind": "Config", "spec": config}
    files = {"tas.yaml": yaml.safe_dump(document), "pools/p.yaml": pool(spec=LEVELS)}
    return write(root, files | ({"workflows/w.yaml": yaml.safe_dump_all(workloads)} if workloads else {}))


def problems(root: Path, *workloads: Object, version: str = "0.17") -> dict[str, str]:
    """Returns the findings of ``validate`` in such a repository: messages by rule."""
    result = kubectl_tas("validate", "-o", "json", "-C", declare(root, *workloads, version=version))
    return {item["rule"]: item["message"] for item in json.loads(result.out)["diagnostics"]}


def segments(size: int) -> dict[str, str]:
    """Annotations of pods that are divided into segments, each in one rack."""
    return {
        "kai.scheduler/segment-size": str(size),
        "kai.scheduler/segment-topology-required-placement": "rack",
    }


def template(gpus: int = 1, annotations: dict[str, str] | None = None) -> Object:
    """Returns a pod template with one container."""
    container = {"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    metadata = {"metadata": {"annotations": annotations}} if annotations else {}
    return {**metadata, "spec": {"containers": [container]}}


def accepted(kind: str, spec: Object) -> Object:
    """Completes the spec of a workload with fields that an API server requires: the restart policy of a Job, the
    selector of a Deployment or StatefulSet with its label, or the container name that an operator expects.
    """
    if kind == "CronJob":
        job = spec["jobTemplate"]
        own = {"schedule": "@daily", "concurrencyPolicy": "Forbid"}
        return {**own, **spec, "jobTemplate": {**job, "spec": accepted("Job", job.get("spec", {}))}}
    pods = spec.get("template", {})
    if kind == "Job":
        pods = {**pods, "spec": {"restartPolicy": "Never", **pods.get("spec", {})}}
        return {**spec, "template": pods}
    page = page_of(kind)
    if page is not None and page.pod_rules.container:
        return dict(_called(page.pod_rules.container, spec))
    if kind in ("Deployment", "StatefulSet"):
        metadata = pods.get("metadata", {})
        labels = {"app": "a", **metadata.get("labels", {})}
        pods = {**pods, "metadata": {**metadata, "labels": labels}}
        own = {"strategy": {"type": "Recreate"}} if kind == "Deployment" else {}
        return {"selector": {"matchLabels": {"app": labels["app"]}}, **own, **spec, "template": pods}
    return spec


def _called(name: str, data: Any) -> Any:
    """Renames the first container of each pod."""
    if isinstance(data, list):
        return [_called(name, item) for item in data]
    if not isinstance(data, dict):
        return data
    found = {key: _called(name, value) for key, value in data.items()}
    if found.get("containers"):
        found["containers"] = [{**found["containers"][0], "name": name}, *found["containers"][1:]]
    return found


def named(data: Any) -> Any:
    """Gives each container a name and an image."""
    if isinstance(data, list):
        return [named(item) for item in data]
    if not isinstance(data, dict):
        return data
    found = {key: named(value) for key, value in data.items()}
    for field in found.keys() & {"containers", "initContainers"}:
        found[field] = [{"name": f"{field.lower()}-{i}", "image": "i", **item} for i, item in enumerate(found[field])]
    return found


def workload(api: str, kind: str, name: str, labels: dict[str, str] | None, spec: Object) -> Object:
    """Returns any workload, with the fields that an API server requires."""
    metadata = {"name": name, "labels": {"kubectl-tas/pool": "team", **(labels or {})}}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": accepted(kind, spec)}


def pytorch_job(
    name: str,
    labels: dict[str, str] | None = None,
    *,
    workers: int = 2,
    gpus: int = 1,
    minimum: int | None = None,
    annotations: dict[str, str] | None = None,
) -> Object:
    """Returns a PyTorchJob with a master and workers. The workers have the annotations. ``minimum`` is minReplicas."""
    types = {
        "Master": {"replicas": 1, "template": template(gpus)},
        "Worker": {"replicas": workers, "template": template(gpus, annotations)},
    }
    elastic = {} if minimum is None else {"elasticPolicy": {"minReplicas": minimum, "maxReplicas": workers}}
    return workload("kubeflow.org/v1", "PyTorchJob", name, labels, {**elastic, "pytorchReplicaSpecs": types})


def deployment(name: str, labels: dict[str, str] | None = None, *, replicas: int = 2, gpus: int = 1) -> Object:
    return workload("apps/v1", "Deployment", name, labels, {"replicas": replicas, "template": template(gpus)})


def ray_job(name: str, labels: dict[str, str] | None, groups: list[str]) -> Object:
    """Returns a RayJob with a head and groups of two workers."""
    workers = [{"groupName": group, "replicas": 2, "minReplicas": 2, "template": template()} for group in groups]
    cluster = {"headGroupSpec": {"template": template()}, "workerGroupSpecs": workers}
    return workload("ray.io/v1", "RayJob", name, labels, {"entrypoint": "python train.py", "rayClusterSpec": cluster})


def stateful_set(name: str, *, replicas: int, annotations: dict[str, str] | None = None) -> Object:
    """Returns a StatefulSet whose pods have the annotations."""
    pods = template(annotations=annotations)
    return workload("apps/v1", "StatefulSet", name, None, {"replicas": replicas, "template": pods})


def tf_job(name: str, *, annotations: dict[str, str] | None = None) -> Object:
    """Returns a TFJob with a chief and four workers. The workers have the annotations."""
    types = {
        "Chief": {"replicas": 1, "template": template()},
        "Worker": {"replicas": 4, "template": template(annotations=annotations)},
    }
    return workload("kubeflow.org/v1", "TFJob", name, None, {"tfReplicaSpecs": types})


def leader_worker_set(name: str, *, size: int, annotations: dict[str, str], policy: str = "LeaderWorker") -> Object:
    """Returns a LeaderWorkerSet with two groups of a leader and workers. The workers have the annotations."""
    group = {
        "size": size,
        "leaderTemplate": template(),
        "workerTemplate": template(annotations=annotations),
        "subGroupPolicy": {"subGroupPolicyType": policy},
    }
    spec = {"replicas": 2, "leaderWorkerTemplate": group}
    return workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", name, None, spec)
