"""Measures how long ``kubectl kustomize`` takes to build manifests in the flat and in the sharded layout.

Writes repositories of increasing size, renders each in both layouts, and builds every rendered folder; the flat layout
has only one. Prints for each size the objects, the processor time, and the time per object relative to the smallest
size: 1.0 means linear.

    python bench/layout.py                                       # about a minute
    python bench/layout.py --pools 10 200 --flat 0               # the sharded layout alone, up to 100,000 objects
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

POOL = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata: {{name: pool-{pool:04}}}
spec:
  resources: {{gpu: {{guarantee: 100000}}}}
"""
WORKFLOW = """\
workflow:
  name: train-{pool:04}-{workflow}
  pool: pool-{pool:04}
  groups:
  - name: workers
    tasks:
{tasks}  resources:
    node: {{gpu: 8, cpu: 16, memory: 64Gi}}
"""
TASK = "    - {{name: shard-{task}, image: registry.example.com/train:1.0, command: [train], resource: node}}\n"
TASKS = 49
"""Tasks of a workflow. With its PodGroup it becomes 50 objects."""


def write_repository(root: Path, pools: int, workflows: int, layout: str) -> None:
    """Writes ``pools`` pools with ``workflows`` workflows of 50 objects each."""
    tasks = "".join(TASK.format(task=task) for task in range(TASKS))
    files = {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{layout: {layout}}}\n"}
    for pool in range(pools):
        files[f"pools/{pool}.yaml"] = POOL.format(pool=pool)
        for workflow in range(workflows):
            text = WORKFLOW.format(pool=pool, workflow=workflow, tasks=tasks)
            files[f"workflows/{pool}-{workflow}.yaml"] = text
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def build(folder: Path) -> tuple[float, int]:
    """Returns the seconds of processor time to build a folder, and the number of objects in the result."""
    start = _used()
    built = subprocess.run(["kubectl", "kustomize", folder], check=True, capture_output=True)
    return _used() - start, built.stdout.count(b"\nkind: ") + built.stdout.startswith(b"kind: ")


def _used() -> float:
    """Returns the seconds of processor time of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(pools: int, workflows: int, layout: str) -> tuple[float, float, int, int]:
    """Returns the seconds for all folders, the seconds for the slowest folder, the objects and the folders."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        write_repository(root, pools, workflows, layout)
        render = [sys.executable, "-m", "kubectl_tas", "-C", name, "render"]
        subprocess.run(render, check=True, capture_output=True)
        folders = [path.parent for path in root.glob("manifests/**/kustomization.yaml")]
        built = [build(folder) for folder in folders]
    seconds, objects = zip(*built, strict=True)
    return sum(seconds), max(seconds), sum(objects), len(folders)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pools", type=int, nargs="+", default=[1, 2, 4, 8], help="sizes, in pools")
    parser.add_argument("--workflows", type=int, default=10, help="workflows a pool, of 50 objects each")
    parser.add_argument("--flat", type=int, default=4, help="the largest size, in pools, at which flat is measured too")
    options = parser.parse_args()
    first: dict[str, float] = {}
    for pools in options.pools:
        for layout in ("flat", "sharded") if pools <= options.flat else ("sharded",):
            seconds, longest, objects, folders = measure(pools, options.workflows, layout)
            ratio = seconds / objects / first.setdefault(layout, seconds / objects)
            per = f"{folders} folders, the longest {longest:.1f} s" if layout == "sharded" else "1 folder"
            print(f"{layout:8} {objects:7,} objects {seconds:8.1f} s  {ratio:6.2f} an object   {per}", flush=True)


if __name__ == "__main__":
    main()
