"""Levels of segments against what else is asked for the same pods, word by word."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cli import pool
from tests.support.judged import told

LEVELS = """\
  topology_keys:
  - {key: zone, label: topology.kubernetes.io/zone}
  - {key: block, label: example.com/block}
  - {key: rack, label: topology.kubernetes.io/rack}
"""
WHOLE = "kai.scheduler/topology-required-placement"
NEAR = "kai.scheduler/topology-preferred-placement"
SIZE = "kai.scheduler/segment-size"
EACH = "kai.scheduler/segment-topology-required-placement"
NAMED = "kai.scheduler/topology"
INDEX = "kai.scheduler/pod-index-label: batch.kubernetes.io/job-completion-index"


def template(notes: str, container: str = "m", spec: str = "", labels: str = "") -> str:
    pods = f"containers: [{{name: {container}, image: i, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]"
    return f"{{metadata: {{labels: {{{labels}}}, annotations: {{{notes}}}}}, spec: {{{spec}{pods}}}}}"


def head(api: str, kind: str, notes: str, labels: str = "") -> str:
    own = f"labels: {{kubectl-tas/pool: team{labels}}}, annotations: {{{notes}}}"
    return f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: a, {own}}}\nspec:\n"


def torch(workers: str, whole: str = "", master: str = "") -> str:
    """A PyTorchJob whose master is in line 6 and whose workers are in line 7."""
    types = f"    Master: {{template: {template(master, 'pytorch')}}}\n"
    types += f"    Worker: {{replicas: 4, template: {template(workers, 'pytorch')}}}\n"
    return f"{head('kubeflow.org/v1', 'PyTorchJob', whole)}  pytorchReplicaSpecs:\n{types}"


def leader_worker(workers: str, whole: str = "") -> str:
    spec = f"  replicas: 1\n  leaderWorkerTemplate:\n    size: 5\n    workerTemplate: {template(workers)}\n"
    return head("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", whole) + spec


def job_set(pods: str, whole: str = "") -> str:
    job = f"{{parallelism: 4, completions: 4, template: {template(f'{pods}, {INDEX}', spec='restartPolicy: Never, ')}}}"
    jobs = f"  replicatedJobs:\n  - name: w\n    template: {{spec: {job}}}\n"
    return head("jobset.x-k8s.io/v1alpha2", "JobSet", whole) + jobs


def stateful_set(pods: str, labels: str) -> str:
    own = "  replicas: 4\n  podManagementPolicy: Parallel\n  selector: {matchLabels: {app: x}}\n"
    return f"{head('apps/v1', 'StatefulSet', '', labels)}{own}  template: {template(pods, labels='app: x')}\n"


def judged(text: str, spec: str = LEVELS, release: str = "0.17") -> list[str]:
    backend = f'{{name: prod, scheduler: {{version: "{release}"}}}}'
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{backends: [{backend}]}}\n"
    found = told({"tas.yaml": config, "pools/team.yaml": pool(spec=spec), "workflows/w.yaml": text})
    return [line.removeprefix("workflows/") for line in found]


BLOCKS = f"{SIZE}: '2', {EACH}: block"
RACKS = f"{SIZE}: '2', {EACH}: rack"
SILENT: dict[str, tuple[Any, ...]] = {
    "coarser than what the whole prefers": (torch(BLOCKS, f"{NEAR}: rack"),),
    "finer than the whole": (torch(RACKS, f"{WHOLE}: block"),),
    "the topology of the pool for the master": (torch(RACKS, master=f"{NAMED}: osmo-pool-default-team-topology"),),
}
ROWS: dict[str, tuple[Any, ...]] = {
    "coarser than the whole": (torch(BLOCKS, f"{WHOLE}: rack"),),
    "coarser than what KAI does not read": (torch(f"{BLOCKS}, {WHOLE}: rack"),),
    "coarser than what KAI does not read, within the whole": (torch(f"{BLOCKS}, {WHOLE}: rack", f"{WHOLE}: zone"),),
    "coarser than what holds for the whole": (leader_worker(f"{SIZE}: '5', {EACH}: block, {WHOLE}: rack"),),
    "as coarse as the whole": (torch(BLOCKS, f"{WHOLE}: block"),),
    "as fine as the finest": (torch(RACKS, f"{WHOLE}: rack"),),
    "of another topology than the whole": (torch(f"{BLOCKS}, {NAMED}: other", f"{WHOLE}: rack"),),
    "of an unknown topology": (torch(f"{BLOCKS}, {NAMED}: other", f"{WHOLE}: rack, {NAMED}: other"),),
    "of a pool without a topology": (torch(BLOCKS), ""),
    "coarser than a part, where KAI makes no segments": (job_set(f"{BLOCKS}, {WHOLE}: rack"),),
    "coarser than the whole, where KAI makes no segments": (job_set(BLOCKS, f"{WHOLE}: rack"),),
    "finer than a part": (job_set(f"{RACKS}, {WHOLE}: block", f"{WHOLE}: zone"),),
    "as coarse as a part that is finer than the whole": (job_set(f"{BLOCKS}, {WHOLE}: block", f"{WHOLE}: zone"),),
    "as coarse as the whole of a part that prefers a level": (job_set(f"{BLOCKS}, {NEAR}: rack", f"{WHOLE}: block"),),
    "one topology, which is unknown, for both": (torch(f"{RACKS}, {NAMED}: other", master=f"{NAMED}: other"),),
    "another topology for the master": (torch(RACKS, master=f"{NAMED}: other"),),
    "another topology for the master, of segments without a level": (torch(f"{SIZE}: '2'", master=f"{NAMED}: other"),),
    "one topology for the master and segments without a level": (
        torch(f"{SIZE}: '2', {NAMED}: other", master=f"{NAMED}: other"),
    ),
    "another level for the master": (torch(RACKS, master=f"{EACH}: zone"),),
    "the level of the workers for the master": (torch(RACKS, master=f"{EACH}: rack"),),
    "a KAI that makes no segments": (torch(RACKS), LEVELS, "0.10"),
    "an unknown KAI": (torch(RACKS), LEVELS, "0.1"),
    "an owned PodGroup of pods in segments": (stateful_set(RACKS, ", kubectl-tas/podgroup: owned"),),
}


@pytest.mark.parametrize("name", ROWS)
def test_levels_of_segments(name: str, snapshot: Any) -> None:
    assert "\n".join(judged(*ROWS[name])) == snapshot


@pytest.mark.parametrize("name", SILENT)
def test_levels_of_segments_silent(name: str) -> None:
    assert judged(*SILENT[name]) == []
