"""Generates random repositories, and random changes of them: intended edits and slips."""

from __future__ import annotations

import random
from collections.abc import Callable

from kubectl_tas.load.source import Source
from kubectl_tas.work.run import Effort, JudgedRepository, SourceFiles, judge_files, judge_repository

Files = dict[str, bytes]

POOL = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata: {{name: {name}}}
spec:
  resources: {{gpu: {{guarantee: {gpus}, maximum: -1, weight: 1}}}}
  topology_keys:
  - {{key: zone, label: topology.kubernetes.io/zone}}
  - {{key: rack, label: topology.kubernetes.io/rack}}
"""
SUBPOOL = """\
apiVersion: tas/v1alpha1
kind: Subpool
metadata: {{name: {name}}}
spec: {{parent: {pool}, quota: {gpus}, state: {state}}}
"""
WORKFLOW = """\
workflow:
  name: {name}
  pool: {pool}
  priority: {priority}
  groups:
  - name: {group}
    tasks:
    - {{name: shard-0, image: "busybox:1.37", command: [sleep, "1"], resource: big}}
    - {{name: shard-1, image: "busybox:1.37", command: [sleep, "1"], resource: big}}
  resources:
    big: {{gpu: {gpus}, cpu: 1, memory: 1Gi, topology: [{{key: {key}, group: g}}]}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  labels: {{kubectl-tas/pool: {pool}{label}}}
spec:
  parallelism: {pods}
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: busybox:1.37
        resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""
SERVICE = """\
---
apiVersion: v1
kind: Service
metadata: {{name: {name}}}
spec: {{clusterIP: None, selector: {{app: {name}}}}}
"""
SCALER = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: {name}, labels: {{kubectl-tas/pool: {pool}}}}}
spec:
  minReplicas: 1
  maxReplicas: 4
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {name}}}
"""
GROUP = """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {{name: {name}, namespace: default}}
spec: {{minMember: 1, queue: osmo-pool-default-{pool}--shared}}
"""
CONFIG = """\
apiVersion: tas/v1alpha1
kind: Config
spec: {{gitops: {gitops}, layout: {layout}}}
"""


def repository(seed: int, prefix: str = "") -> Files:
    """A repository of some pools and some work; now and then two files have to do with each other."""
    chance = random.Random(seed)
    files: Files = {}
    if chance.random() < 0.5:
        content = CONFIG.format(
            gitops=chance.choice(["none", "argocd", "flux"]), layout=chance.choice(["flat", "sharded"])
        )
        files["tas.yaml"] = content.encode()
    pools = [f"{prefix}p{number}" for number in range(chance.randint(1, 4))]
    for name in pools:
        files[f"pools/{name}.yaml"] = POOL.format(name=name, gpus=chance.choice([8, 16, 64])).encode()
        for part in range(chance.choice([0, 0, 1, 2])):
            state = chance.choice(["ACTIVE", "ACTIVE", "DELETING", "ARCHIVED"])
            text = SUBPOOL.format(name=f"s{part}", pool=name, gpus=chance.choice([2, 4]), state=state)
            files[f"subpools/{name}--s{part}.yaml"] = text.encode()
    for number in range(chance.randint(1, 9)):
        files[f"workflows/{prefix}w{number}.yaml"] = _work(chance, f"{prefix}w{number}", pools)
    return files


def _work(chance: random.Random, name: str, pools: list[str]) -> bytes:
    pool = chance.choice(pools)
    pool = chance.choice([pool, pool, pool, pool, f"{pool}--s0", "nobody"] if chance.random() < 0.3 else [pool])
    name = chance.choice([name] * 12 + ["twice", "train", "train-a"])
    gpus, pods = chance.choice([0, 1, 1, 2, 9]), chance.randint(1, 4)
    label = chance.choice(
        [""] * 8 + [", kubectl-tas/gang: ring", ", kubectl-tas/podgroup: owned", ", kubectl-tas/priority: LOW"]
    )
    key = chance.choice(["zone", "rack"] * 6 + ["rak"])
    workflow = WORKFLOW.format(
        name=name,
        pool=pool,
        gpus=gpus,
        key=key,
        group=chance.choice(["main", "a", "b"]),
        priority=chance.choice(["HIGH", "NORMAL", "LOW"]),
    )
    job = JOB.format(name=name, pool=pool, gpus=gpus, pods=pods, label=label)
    makers: list[Callable[[], str]] = [
        *[lambda: workflow] * 5,
        *[lambda: job] * 5,
        lambda: job + SERVICE.format(name=chance.choice([name, "shared"])),
        lambda: SCALER.format(name=name, pool=pool).removeprefix("---\n"),
        lambda: GROUP.format(name=name, pool=pool),
        lambda: workflow.replace("name: shard-1", "name: shard_1"),
        lambda: f"{workflow}# kubectl-tas: ignore[quota-shared]\n",
        lambda: workflow + "  oops: 1\n",
        lambda: "workflow: [\n",
    ]
    return chance.choice(makers)().encode()


def changed(chance: random.Random, files: Files) -> Files:
    """The same after one change: a file is added, changed, removed or renamed, or what is shared changes."""
    files = dict(files)
    pools = [path.removeprefix("pools/").removesuffix(".yaml") for path in files if path.startswith("pools/")]
    work = sorted(path for path in files if path.startswith("workflows/"))
    match chance.choice(["add", "change", "remove", "rename", "pool", "subpool", "config"]):
        case "add":
            files[f"workflows/new{chance.randint(0, 9)}.yaml"] = _work(chance, "new", pools)
        case "change" if work:
            files[chance.choice(work)] = _work(chance, "changed", pools)
        case "remove" if work:
            del files[chance.choice(work)]
        case "rename" if work:
            path = chance.choice(work)
            files[path.replace("/w", "/x")] = files.pop(path)
        case "subpool":
            text = SUBPOOL.format(name="s0", pool=pools[0], gpus=chance.choice([1, 3, 99]), state="ACTIVE")
            files[f"subpools/{pools[0]}--s0.yaml"] = text.encode()
        case "config":
            files["tas.yaml"] = CONFIG.format(gitops=chance.choice(["argocd", "none"]), layout="flat").encode()
        case _:
            name = chance.choice(pools)
            files[f"pools/{name}.yaml"] = POOL.format(name=name, gpus=chance.choice([4, 32])).encode()
    return files


def run(source: Source, effort: Effort, *, render: bool = False) -> JudgedRepository:
    """What comes of a repository, whatever is kept of earlier runs as a whole."""
    return judge_repository(judge_files(SourceFiles(source), (), effort, render=render))
