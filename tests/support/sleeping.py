"""Makes a small pool and work for tests that run it: a workflow, a Job, and the nodes for them."""

from __future__ import annotations

from typing import Any

from kubectl_tas.facts.gpus import GPU
from tests.support.kubelets import node

TAS = """\
apiVersion: tas/v1alpha1
kind: Config
spec:
  backends:
  - {name: prod, namespace: ml, scheduler: {version: "0.17"}}
"""
RESEARCH, SHARED = "osmo-pool-ml-team--research", "osmo-pool-ml-team--shared"
"""The queues of the subpool and of the pool."""
LEVELS = "  topology_keys:\n  - {key: rack, label: example.com/rack}\n"


def workflow(name: str, tasks: int, gpus: int, priority: str = "NORMAL", pool: str = "team--research") -> str:
    """Returns a workflow of one gang, whose pods run until they are stopped."""
    listed = "".join(f"    - {{name: t{number}, image: busybox, command: [sleep, inf]}}\n" for number in range(tasks))
    return f"""\
workflow:
  name: {name}
  pool: {pool}
  priority: {priority}
  groups:
  - name: g
    tasks:
{listed}\
resources:
  default: {{cpu: 1, memory: 1Gi, gpu: {gpus}}}
"""


def job(name: str, pods: int, gpus: int, priority: str = "LOW", pool: str = "team") -> str:
    """A Job whose pods start one by one."""
    return f"""\
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  labels: {{kubectl-tas/pool: {pool}, kubectl-tas/priority: {priority}}}
spec:
  parallelism: {pods}
  completions: {pods}
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: c
        image: busybox
        resources: {{limits: {{{GPU}: {gpus}}}}}
"""


def nodes(number: int, gpus: int = 8) -> list[dict[str, Any]]:
    """Returns nodes, two of them in each rack."""
    return [node(f"n{index}", gpus, {"example.com/rack": f"r{index // 2}"}) for index in range(number)]
