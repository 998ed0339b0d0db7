"""Defines a repository whose work is pending for one cause at a time, its cluster states, and the expected ``why``.

``tests/place/causes_of_why.json`` has the states: the common objects (queues, Topologies, nodes), and for each cause
the added, replaced and omitted ones. ``recorded`` is the KAI release that was recorded. If it is empty, the state was
written by hand from the source that the cause names.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.cli import pool, subpool
from tests.support.golden import ROOT

Item = dict[str, Any]
FILE = ROOT / "tests/place/causes_of_why.json"

LEVELS = """\
  topology_keys:
  - {key: zone, label: topology.kubernetes.io/zone}
  - {key: rack, label: topology.kubernetes.io/rack}
"""
GPUS = "resources: {requests: {nvidia.com/gpu: 8}, limits: {nvidia.com/gpu: 8}}"
POD = f"containers: [{{name: main, image: trainer, {GPUS}}}]"


def job(name: str, target: str, pods: int = 2, *, priority: str = "NORMAL", spec: str = "", pod: str = "") -> str:
    """Returns a Job of pods with 8 GPUs each that start together. ``spec`` and ``pod`` are further lines of YAML."""
    return f"""\
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  labels: {{kubectl-tas/pool: {target}, kubectl-tas/priority: {priority}}}
  annotations: {{kai.scheduler/batch-min-member: "{pods}"}}
spec:
  parallelism: {pods}
  completions: {pods}
{spec}  template:
    spec:
      restartPolicy: Never
{pod}      {POD}
"""


def workflow(name: str, resource: str = "node", target: str = "team") -> str:
    """Returns a workflow of two tasks with 8 GPUs each."""
    return f"""\
workflow:
  name: {name}
  pool: {target}
  groups:
  - name: all
    tasks:
    - {{name: a, image: trainer, resource: {resource}}}
    - {{name: b, image: trainer, resource: {resource}}}
resources:
  node: {{gpu: 8}}
  rack:
    gpu: 8
    topology:
    - {{key: rack}}
"""


DEPLOYMENT = f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat
  labels: {{kubectl-tas/pool: team}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: chat}}}}
  template:
    metadata: {{labels: {{app: chat}}}}
    spec: {{{POD}}}
"""
CRON_JOB = f"""\
apiVersion: batch/v1
kind: CronJob
metadata:
  name: nightly
  labels: {{kubectl-tas/pool: team}}
spec:
  schedule: 0 3 * * *
  jobTemplate:
    spec: {{template: {{spec: {{restartPolicy: Never, {POD}}}}}}}
"""
JOB_SET = f"""\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: sets
  labels: {{kubectl-tas/pool: team}}
spec:
  replicatedJobs:
  - name: workers
    replicas: 1
    template:
      spec: {{parallelism: 2, completions: 2, template: {{spec: {{restartPolicy: Never, {POD}}}}}}}
"""
RAY_CLUSTER = f"""\
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: ray
  labels: {{kubectl-tas/pool: team}}
spec:
  headGroupSpec:
    rayStartParams: {{}}
    template: {{spec: {{{POD}}}}}
"""
PYTORCH_JOB = f"""\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: torch
  labels: {{kubectl-tas/pool: team}}
spec:
  pytorchReplicaSpecs:
    Master: {{replicas: 1, template: {{spec: {{containers: [{{name: pytorch, image: trainer, {GPUS}}}]}}}}}}
"""
CLAIM = "      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n"
SETTINGS = "      volumes: [{name: settings, configMap: {name: settings}}]\n"
FILES = {
    "tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\nmetadata: {name: tas}\n"
    'spec:\n  backends: [{name: here, namespace: default, scheduler: {type: kai, version: "0.17"}}]\n',
    "pools/team.yaml": pool("team", 32, f"      maximum: 40\n{LEVELS}"),
    "pools/dept.yaml": pool("dept", 16, "      maximum: 16\n"),
    "pools/lab.yaml": pool("lab", 8, "      maximum: 24\n  parent: dept\n"),
    "pools/blue.yaml": pool("blue", 16, "  nodePool: blue\n"),
    "pools/free.yaml": pool("free", 96),
    "subpools/vision.yaml": subpool("vision", 16) + "  maximum: 24\n",
    "subpools/old.yaml": subpool("old", 8, state="DELETING") + "  draining: [Job/late]\n",
    "workflows/train.yaml": job("train", "team"),
    "workflows/paused.yaml": job("paused", "team", spec="  suspend: true\n"),
    "workflows/limited.yaml": job("limited", "team--vision", priority="LOW"),
    "workflows/vision.yaml": job("vision", "team--vision"),
    "workflows/late.yaml": job("late", "team--old", 1),
    "workflows/lab.yaml": job("lab", "lab", 1, priority="LOW"),
    "workflows/blue.yaml": job("blue", "blue"),
    "workflows/large.yaml": job("large", "free", 6),
    "workflows/claims.yaml": job("claims", "team", pod=CLAIM),
    "workflows/settings.yaml": job("settings", "team", pod=SETTINGS),
    "workflows/pair.yaml": workflow("pair"),
    "workflows/rack.yaml": workflow("rack", "rack"),
    "workflows/chat.yaml": DEPLOYMENT,
    "workflows/nightly.yaml": CRON_JOB,
    "workflows/sets.yaml": JOB_SET,
    "workflows/ray.yaml": RAY_CLUSTER,
    "workflows/torch.yaml": PYTORCH_JOB,
}
"""The repository. Its cluster has four nodes of 8 GPUs in two racks, and two nodes of the shard blue."""


@dataclass(frozen=True)
class Recorded:
    """A state of the cluster."""

    name: str
    work: str
    """The work that ``why`` is asked about."""
    first: str
    """The expected first line; empty if the work is not pending."""
    place: str
    """The expected place in the repository."""
    recorded: str
    items: list[Item]


def key(item: Item) -> str:
    """Returns KIND NAMESPACE/NAME."""
    metadata = item["metadata"]
    return f"{item['kind']} {metadata.get('namespace', '')}/{metadata['name']}"


def recorded_causes() -> list[Recorded]:
    """Returns all states."""
    data = json.loads(FILE.read_text())
    return [_cause(data["base"], cause) for cause in data["causes"]]


def _cause(base: list[Item], cause: Item) -> Recorded:
    objects: list[Item] = cause["objects"]
    gone = {*map(key, objects), *cause.get("without", ())}
    items = [item for item in base if key(item) not in gone and item["kind"] not in gone]
    told = {"kind": "ClusterState", "kinds": [kind for kind in KINDS if kind not in gone]}
    fields = (cause[name] for name in ("name", "work", "first", "place", "recorded"))
    return Recorded(*fields, [told, *items, *objects])


KINDS = ("Queue", "PodGroup", "Pod", "Node", "Topology", "Event", "Job", "CronJob", "Deployment", "ReplicaSet")
"""Kinds whose objects a state contains completely. Other kinds are known only if the state contains one."""


def saved(path: Path, items: list[Item]) -> Path:
    """Writes the objects of a state to a file, and returns its path."""
    path.write_text(json.dumps({"items": items}))
    return path
