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
ROWS: dict[str, tuple[Any, ...]] = {
    "coarser than the whole": (
        torch(BLOCKS, f"{WHOLE}: rack"),
        [
            'w.yaml:7:159 segment-coarser: no "block" is within one "rack", so the pods never run (Require '
            '"rack" or finer here, or "block" or coarser there.)'
        ],
    ),
    "coarser than what the whole prefers": (torch(BLOCKS, f"{NEAR}: rack"), []),
    "coarser than what KAI does not read": (
        torch(f"{BLOCKS}, {WHOLE}: rack"),
        [
            "w.yaml:7:166 placement-unsupported: KAI reads no placement of worker in a PyTorchJob, so nothing "
            'keeps its pods within one "rack" (Place the whole PyTorchJob by the annotations of its own '
            'metadata, or make its pods one segment (kai.scheduler/segment-size: "4") and place that, or add the '
            "label kubectl-tas/podgroup: owned.)"
        ],
    ),
    "coarser than what KAI does not read, within the whole": (
        torch(f"{BLOCKS}, {WHOLE}: rack", f"{WHOLE}: zone"),
        [
            "w.yaml:7:166 placement-unsupported: KAI reads no placement of worker in a PyTorchJob, so nothing "
            'keeps its pods within one "rack" (Place the whole PyTorchJob by the annotations of its own '
            'metadata, or make its pods one segment (kai.scheduler/segment-size: "4") and place that, or add the '
            "label kubectl-tas/podgroup: owned.)"
        ],
    ),
    "coarser than what holds for the whole": (
        leader_worker(f"{SIZE}: '5', {EACH}: block, {WHOLE}: rack"),
        [
            'w.yaml:8:143 segment-coarser: no "block" is within one "rack", so the pods never run (Require '
            '"rack" or finer here, or "block" or coarser there.)'
        ],
    ),
    "as coarse as the whole": (
        torch(BLOCKS, f"{WHOLE}: block"),
        ['w.yaml:7:159 segment-level: segments in one "block" have no effect: all pods are in one "block" (Use rack.)'],
    ),
    "as fine as the finest": (
        torch(RACKS, f"{WHOLE}: rack"),
        [
            'w.yaml:7:159 segment-level: segments in one "rack" have no effect: all pods are in one "rack" (No '
            "level is finer; leave the segments out.)"
        ],
    ),
    "finer than the whole": (torch(RACKS, f"{WHOLE}: block"), []),
    "of another topology than the whole": (
        torch(f"{BLOCKS}, {NAMED}: other", f"{WHOLE}: rack"),
        [
            'w.yaml:7:190 workload-topology: the Topology "other" is not declared here, so its levels are not '
            "checked (Declared: osmo-pool-default-team-topology.)"
        ],
    ),
    "of an unknown topology": (
        torch(f"{BLOCKS}, {NAMED}: other", f"{WHOLE}: rack, {NAMED}: other"),
        [
            (
                'w.yaml:3:142 workload-topology: the Topology "other" is not declared here, so its levels are not '
                "checked (Declared: osmo-pool-default-team-topology.)"
            ),
            (
                'w.yaml:7:190 workload-topology: the Topology "other" is not declared here, so its levels are not '
                "checked (Declared: osmo-pool-default-team-topology.)"
            ),
        ],
    ),
    "of a pool without a topology": (
        torch(BLOCKS),
        "",
        [
            "w.yaml:7:103 segment-ignored: the levels of the segments of worker are ignored: they name no "
            "kai.scheduler/topology; KAI divides the pods anyway (Give pool team a topology, or name one with "
            "kai.scheduler/topology.)"
        ],
    ),
    "coarser than a part, where KAI makes no segments": (
        job_set(f"{BLOCKS}, {WHOLE}: rack"),
        [
            (
                "w.yaml:7:103 segment-unsupported: KAI 0.17 makes segments of PyTorchJob and LeaderWorkerSet only; "
                "this JobSet is placed without (The preview shows what would be made; the pods run in any case.)"
            ),
            (
                'w.yaml:7:187 segment-level: segments in one "block" have no effect: all pods are in one "rack" (No '
                "level is finer; leave the segments out.)"
            ),
        ],
    ),
    "coarser than the whole, where KAI makes no segments": (
        job_set(BLOCKS, f"{WHOLE}: rack"),
        [
            (
                "w.yaml:7:103 segment-unsupported: KAI 0.17 makes segments of PyTorchJob and LeaderWorkerSet only; "
                "this JobSet is placed without (The preview shows what would be made; the pods run in any case.)"
            ),
            (
                'w.yaml:7:187 segment-level: segments in one "block" have no effect: all pods are in one "rack" (No '
                "level is finer; leave the segments out.)"
            ),
        ],
    ),
    "finer than a part": (
        job_set(f"{RACKS}, {WHOLE}: block", f"{WHOLE}: zone"),
        [
            "w.yaml:7:103 segment-unsupported: KAI 0.17 makes segments of PyTorchJob and LeaderWorkerSet only; "
            "this JobSet is placed without (The preview shows what would be made; the pods run in any case.)"
        ],
    ),
    "as coarse as a part that is finer than the whole": (
        job_set(f"{BLOCKS}, {WHOLE}: block", f"{WHOLE}: zone"),
        [
            (
                "w.yaml:7:103 segment-unsupported: KAI 0.17 makes segments of PyTorchJob and LeaderWorkerSet only; "
                "this JobSet is placed without (The preview shows what would be made; the pods run in any case.)"
            ),
            (
                'w.yaml:7:187 segment-level: segments in one "block" have no effect: all pods are in one "block" (Use '
                "rack.)"
            ),
        ],
    ),
    "as coarse as the whole of a part that prefers a level": (
        job_set(f"{BLOCKS}, {NEAR}: rack", f"{WHOLE}: block"),
        [
            (
                "w.yaml:7:103 segment-unsupported: KAI 0.17 makes segments of PyTorchJob and LeaderWorkerSet only; "
                "this JobSet is placed without (The preview shows what would be made; the pods run in any case.)"
            ),
            (
                'w.yaml:7:187 segment-level: segments in one "block" have no effect: all pods are in one "block" (Use '
                "rack.)"
            ),
        ],
    ),
    "the topology of the pool for the master": (torch(RACKS, master=f"{NAMED}: osmo-pool-default-team-topology"), []),
    "one topology, which is unknown, for both": (
        torch(f"{RACKS}, {NAMED}: other", master=f"{NAMED}: other"),
        [
            (
                'w.yaml:6:86 workload-topology: the Topology "other" is not declared here, so its levels are not '
                "checked (Declared: osmo-pool-default-team-topology.)"
            ),
            (
                'w.yaml:7:189 workload-topology: the Topology "other" is not declared here, so its levels are not '
                "checked (Declared: osmo-pool-default-team-topology.)"
            ),
        ],
    ),
    "another topology for the master": (
        torch(RACKS, master=f"{NAMED}: other"),
        [
            (
                'w.yaml:6:62 segment-differs: kai.scheduler/topology is "other" for master and missing for worker: '
                "KAI takes it from either (Write it for worker alone.)"
            ),
            (
                'w.yaml:6:86 workload-topology: the Topology "other" is not declared here, so its levels are not '
                "checked (Declared: osmo-pool-default-team-topology.)"
            ),
        ],
    ),
    "another topology for the master, of segments without a level": (
        torch(f"{SIZE}: '2'", master=f"{NAMED}: other"),
        [
            (
                'w.yaml:6:62 segment-differs: kai.scheduler/topology is "other" for master and missing for worker: '
                "KAI takes it from either (Write it for worker alone.)"
            ),
            (
                'w.yaml:6:86 workload-topology: the Topology "other" is not declared here, so its levels are not '
                "checked (Declared: osmo-pool-default-team-topology.)"
            ),
            (
                "w.yaml:7:75 segment-incomplete: the segments of worker have a size and no level, so nothing places "
                "them (Add kai.scheduler/segment-topology-required-placement, or remove kai.scheduler/segment-size.)"
            ),
        ],
    ),
    "one topology for the master and segments without a level": (
        torch(f"{SIZE}: '2', {NAMED}: other", master=f"{NAMED}: other"),
        [
            (
                'w.yaml:6:86 workload-topology: the Topology "other" is not declared here, so its levels are not '
                "checked (Declared: osmo-pool-default-team-topology.)"
            ),
            (
                "w.yaml:7:75 segment-incomplete: the segments of worker have a size and no level, so nothing places "
                "them (Add kai.scheduler/segment-topology-required-placement, or remove kai.scheduler/segment-size.)"
            ),
            (
                'w.yaml:7:132 workload-topology: the Topology "other" is not declared here, so its levels are not '
                "checked (Declared: osmo-pool-default-team-topology.)"
            ),
        ],
    ),
    "another level for the master": (
        torch(RACKS, master=f"{EACH}: zone"),
        [
            'w.yaml:6:62 segment-differs: kai.scheduler/segment-topology-required-placement is "zone" for master '
            'and "rack" for worker: KAI takes it from either (Write it for worker alone.)'
        ],
    ),
    "the level of the workers for the master": (
        torch(RACKS, master=f"{EACH}: rack"),
        [
            "w.yaml:6:113 segment-ignored: the segments of master are ignored: KAI makes segments only of the "
            "workers of a PyTorchJob (Move it to the pod template of Worker.)"
        ],
    ),
    "a KAI that makes no segments": (
        torch(RACKS),
        LEVELS,
        "0.10",
        [
            "w.yaml:7:75 segment-unsupported: KAI 0.10 makes no segments; the first release that does is 0.13 "
            "(The preview shows what would be made; the pods run in any case.)"
        ],
    ),
    "an unknown KAI": (
        torch(RACKS),
        LEVELS,
        "0.1",
        [
            "tas.yaml:3:53 version-unknown: KAI 0.1 is not in the version table, which has 0.2 to 0.17 (Name the "
            "release that runs there.)"
        ],
    ),
    "an owned PodGroup of pods in segments": (
        stateful_set(RACKS, ", kubectl-tas/podgroup: owned"),
        [
            (
                "w.yaml:3:54 podgroup-owned: the PodGroup of StatefulSet a cannot be written here: pods of one "
                "template cannot be told apart into segments (Remove the label.)"
            ),
            (
                "w.yaml:8:85 segment-ignored: the segments of pod are ignored: kubectl-tas knows no label with the "
                "index of the pods of a StatefulSet (Name the label that holds a pod's index with "
                "kai.scheduler/pod-index-label.)"
            ),
        ],
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_levels_of_segments(row: tuple[Any, ...]) -> None:
    *asked, expected = row
    assert judged(*asked) == expected
