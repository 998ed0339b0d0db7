"""Measures the time of ``fit`` against the number of nodes, for clusters of 640 to 10,240 nodes.

Places 200 workflows, each alone and then one after the other (``--all``). One in four does not fit. The generated
clusters have racks of 16 nodes, some partly used. Prints the answers, the times to read and answer, and per node.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from kubectl_tas.cli.session import check_source
from kubectl_tas.compile.cluster_objects import compile_queues
from kubectl_tas.load.source import FolderSource
from kubectl_tas.model import manifest
from kubectl_tas.place.actions import Turn, pending
from kubectl_tas.place.answers import fit
from kubectl_tas.place.gangs_to_place import GangToPlace, unplaced
from kubectl_tas.place.grow import grow
from kubectl_tas.place.node_resources import ClusterNodes, read_nodes
from kubectl_tas.place.queues import trees
from kubectl_tas.place.schedulers import SeenCluster, schedulers
from kubectl_tas.place.synthetic import Broken, SyntheticCluster, SyntheticDomains, generate
from kubectl_tas.resolve.fleet import Fleet

LEVELS = (("zone", 5), ("spine", 0), ("rack", 4))
"""Levels, and the number of domains in each domain above. There are as many spines as the cluster needs."""
NODES_OF_A_RACK = 16
POOL = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata: {name: team}
spec:
  resources:
    gpu: {guarantee: -1}
  topology_keys:
  - {key: zone, label: zone}
  - {key: spine, label: spine}
  - {key: rack, label: rack}
"""


def workflow(number: int) -> str:
    """Returns a workflow of two models on one spine. Each fits a rack, but in every fourth workflow one is larger."""
    sizes = {"blue": 8, "green": 8 if number % 4 else NODES_OF_A_RACK + 1}
    tasks = [
        f"    - {{name: {name}-{index}, image: i, resource: {name}}}" for name, n in sizes.items() for index in range(n)
    ]
    resources = [
        f"  {name}: {{gpu: 8, cpu: 16, topology: [{{key: rack, group: {name}}}, {{key: spine, group: all}}]}}"
        for name in sizes
    ]
    head = ["workflow:", f"  name: train-{number}", "  pool: team", "  groups:", "  - name: workers", "    tasks:"]
    return "\n".join([*head, *tasks, "resources:", *resources]) + "\n"


def pods(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns pods of 1 to 4 GPUs on every third node."""
    return [
        {
            "kind": "Pod",
            "metadata": {"name": f"pod-{index}"},
            "spec": {
                "nodeName": node["metadata"]["name"],
                "containers": [{"resources": {"requests": {"nvidia.com/gpu": str(index % 4 + 1)}}}],
            },
            "status": {"phase": "Running"},
        }
        for index, node in enumerate(nodes)
        if index % 3 == 0
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workflows", type=int, default=200)
    count = parser.parse_args().workflows
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in (("pools/team.yaml", POOL), *((f"workflows/{n}.yaml", workflow(n)) for n in range(count))):
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
        fleet = check_source(root, FolderSource(root)).fleet
    print(f"{'nodes':>7} {'read':>8} {'answer':>8} {'a node':>10} {'--all':>9} {'--grow':>9}  outcomes")
    for size in (640, 1280, 2560, 5120, 10240):
        spines = size // (5 * 4 * NODES_OF_A_RACK)
        levels = tuple(SyntheticDomains(key, key, domains or spines) for key, domains in LEVELS)
        text = generate(SyntheticCluster(levels, NODES_OF_A_RACK, broken=Broken(cordoned=size // 100)))
        items = json.loads(text)["items"]
        start = time.perf_counter()
        nodes = read_nodes([*items, *pods(items)])
        read = time.perf_counter()
        gangs = (item for item in unplaced(fleet, fleet.workflows) if isinstance(item, GangToPlace))
        found = Counter(fit(item, nodes).outcome.value for item in gangs)
        end = time.perf_counter()
        turns = Counter(turn.outcome.value for turn in queue(fleet, nodes))
        queued = time.perf_counter()
        asked = [(item, 1) for item in unplaced(fleet, fleet.workflows) if isinstance(item, GangToPlace)]
        growth = grow(asked, nodes.nodes)
        grown = time.perf_counter()
        print(
            f"{size:7} {read - start:7.2f}s {end - read:7.2f}s {(end - start) / size * 1e6:8.0f}us "
            f"{queued - end:8.2f}s {grown - queued:8.2f}s  {said(found)}; {said(turns)}; "
            f"{sum(one.racks_needed for one in growth)} racks more"
        )


def queue(fleet: Fleet, nodes: ClusterNodes) -> tuple[Turn, ...]:
    """Returns the outcomes when all gangs are placed one after the other."""
    gangs = [item for item in unplaced(fleet, fleet.submissions) if isinstance(item, GangToPlace)]
    rendered = (item.manifest for item in compile_queues(fleet))
    seen = SeenCluster(nodes, [], trees(item for item in rendered if isinstance(item, manifest.Queue)), {})
    (scheduler,) = schedulers(fleet.backends[0], gangs, seen)
    return pending(scheduler.start, scheduler.jobs).turns


def said(found: Counter[str]) -> str:
    return ", ".join(f"{number} {outcome}" for outcome, number in sorted(found.items()))


if __name__ == "__main__":
    main()
