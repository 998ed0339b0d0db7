"""How long rendering takes, against merely loading the same files with ruamel.yaml's C-based safe loader.

Writes a repository of 100 pools, 300 subpools and 1,000 workflows of 8 tasks into a temporary folder, then
times both in alternation in this one run and prints the ratio of the medians.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

POOL = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata:
  name: pool-{pool:03}
spec:
  description: Benchmark pool {pool}
  resources:
    gpu: {{guarantee: 4000, maximum: -1, weight: 1}}
  topology_keys:
  - {{key: zone, label: topology.kubernetes.io/zone}}
  - {{key: spine, label: topology.kubernetes.io/spine}}
  - {{key: rack, label: topology.kubernetes.io/rack}}
  - {{key: gpu-clique, label: nvidia.com/gpu-clique}}
"""
SUBPOOL = """\
apiVersion: tas/v1alpha1
kind: Subpool
metadata:
  name: sub-{subpool}
spec:
  parent: pool-{pool:03}
  quota: 1000
"""
WORKFLOW = """\
workflow:
  name: train-{workflow:04}
  pool: pool-{pool:03}--sub-{subpool}
  priority: {priority}
  groups:
  - name: workers
    tasks:
{tasks}resources:
  model-1:
    cpu: 8
    memory: 64Gi
    gpu: 4
    topology:
    - key: gpu-clique
      group: model-1-group
    - key: zone
      group: workflow-group
  model-2:
    cpu: 8
    memory: 64Gi
    gpu: 4
    topology:
    - key: gpu-clique
      group: model-2-group
    - key: zone
      group: workflow-group
"""
TASK = """\
    - name: model{model}-shard{shard}
      image: nvcr.io/nvidia/pytorch:25.10-py3
      command: [torchrun, train.py]
      args: [--shard, "{shard}"]
      resource: model-{model}
"""


def write_repository(root: Path, pools: int, workflows: int) -> None:
    """``pools`` pools with 3 subpools each, and ``workflows`` workflows of 8 tasks."""
    for folder in ("pools", "subpools", "workflows"):
        (root / folder).mkdir(parents=True)
    for pool in range(pools):
        (root / f"pools/pool-{pool:03}.yaml").write_text(POOL.format(pool=pool))
        for subpool in range(3):
            name = f"subpools/pool-{pool:03}-sub-{subpool}.yaml"
            (root / name).write_text(SUBPOOL.format(pool=pool, subpool=subpool))
    tasks = "".join(TASK.format(model=model, shard=shard) for model in (1, 2) for shard in range(1, 5))
    for workflow in range(workflows):
        text = WORKFLOW.format(
            workflow=workflow,
            pool=workflow % pools,
            subpool=workflow % 3,
            priority=("HIGH", "NORMAL", "LOW")[workflow % 3],
            tasks=tasks,
        )
        (root / f"workflows/train-{workflow:04}.yaml").write_text(text)


LOAD = """
import pathlib, sys
from ruamel.yaml import YAML
yaml = YAML(typ="safe")
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.yaml")):
    yaml.load(path.read_bytes())
"""


def seconds(command: list[str]) -> float:
    """Wall-clock time of one process."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pools", type=int, default=100)
    parser.add_argument("--workflows", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    loads, renders, again = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        root, sources = Path(folder, "repository"), Path(folder, "sources")
        write_repository(sources, options.pools, options.workflows)
        render = [sys.executable, "-m", "kubectl_tas", "-C", str(root), "render"]
        for _ in range(options.runs):
            shutil.rmtree(root, ignore_errors=True)
            shutil.copytree(sources, root)
            loads.append(seconds([sys.executable, "-c", LOAD, str(sources)]))
            renders.append(seconds(render))
            again.append(seconds(render))
    load = statistics.median(loads)
    print(f"{options.pools} pools, {3 * options.pools} subpools, {options.workflows} workflows of 8 tasks")
    print(f"load alone           {load:6.2f} s   1.00")
    for name, times in (("render, all new", renders), ("render, unchanged", again)):
        print(f"{name:20} {statistics.median(times):6.2f} s   {statistics.median(times) / load:.2f}")


if __name__ == "__main__":
    main()
