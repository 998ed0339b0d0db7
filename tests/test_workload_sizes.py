"""Tests workloads with enormous numbers of replicas: time, memory and output stay bounded."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.kinds import LEVELS, SEGMENTS, config, job, leader_worker, pytorch, root, selected, template

MOST = 2**31 - 1
"""What Kubernetes counts to."""
LIMIT = 1_000_000_000
"""Bytes of memory that a command may take."""
SECONDS = 60
"""Processor time that it may take."""
INDEXED = "completionMode: Indexed"


def jobset(replicas: int, parallelism: int, labels: dict[str, str] | None = None) -> str:
    annotations = {} if labels else {**SEGMENTS, "kai.scheduler/pod-index-label": "example.com/index"}
    return f"""\
{root("JobSet", "train", labels)}\
spec:
  replicatedJobs:
  - name: worker
    replicas: {replicas}
    template:
      spec: {{parallelism: {parallelism}, completions: {parallelism}, template: {template(annotations)}}}
"""


HUGE = {
    "pytorchjob": pytorch(MOST - 1, SEGMENTS),
    "leaderworkerset": leader_worker(MOST, SEGMENTS),
    "job": job(f"{INDEXED}, parallelism: {MOST}, completions: {MOST}", SEGMENTS),
    "jobset": jobset(1, MOST),
}


@pytest.fixture
def limited(repository: Path) -> Path:
    """A repository whose one pool has levels and no limit."""
    return write(repository, {"pools/p.yaml": pool(guarantee=-1, spec=LEVELS)})


def measured(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own with little memory and processor time."""
    code = (
        "import resource, sys; "
        f"resource.setrlimit(resource.RLIMIT_AS, ({LIMIT}, {LIMIT})); "
        f"resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS})); "
        "from kubectl_tas.cli.main import run; sys.exit(run(sys.argv[1:], 'kubectl tas'))"
    )
    command = [sys.executable, "-c", code, *arguments, "-C", str(root)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.sweep
@pytest.mark.parametrize("name", HUGE)
def test_as_many_as_kubernetes_counts(limited: Path, name: str) -> None:
    write(limited, {"workflows/w.yaml": HUGE[name]})
    checked = measured(limited, "validate")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "[segment-preview]" in checked.stdout
    rendered = measured(limited, "render")
    assert rendered.returncode == 0, rendered.stderr
    assert list((limited / "manifests/workloads").iterdir())
    assert not (limited / "manifests/preview").exists()
    explained = measured(limited, "workflow", "explain", "workflows/w.yaml")
    assert explained.returncode == 0
    assert "segments of 4" in explained.stdout
    assert len(explained.stdout) < 2000


@pytest.mark.parametrize(
    ("name", "index", "answer"),
    [
        ("pytorchjob", MOST - 2, "segment worker-536870911, pods 2147483644 to 2147483645"),
        ("job", 7, "segment worker-1, pods 4 to 7"),
        ("leaderworkerset", 0, "segment segment-0, pods 0 to 3"),
        ("leaderworkerset", MOST - 1, "segment segment-536870911, pods 2147483644 to 2147483646"),
    ],
)
def test_a_segment_that_is_not_listed(limited: Path, name: str, index: int, answer: str) -> None:
    write(limited, {"workflows/w.yaml": HUGE[name]})
    told = measured(limited, "workflow", "explain", "workflows/w.yaml", "--pod-index", str(index))
    assert answer in told.stdout, told.stderr
    beyond = measured(limited, "workflow", "explain", "workflows/w.yaml", "--pod-index", str(MOST + 1))
    assert beyond.returncode == 2


@pytest.mark.parametrize(
    "workload",
    [
        pytorch(10**12, SEGMENTS),
        job(f"parallelism: {2**31}"),
        leader_worker(2**31),
        f"{root('RayJob', 'tune')}spec: {{entrypoint: x, rayClusterSpec: {{headGroupSpec: {{}}, workerGroupSpecs: "
        f"[{{groupName: a, numOfHosts: {2**31}}}]}}}}\n",
        f"{root('TrainJob', 'tune')}spec: {{trainer: {{numNodes: {2**31}}}}}\n",
    ],
)
def test_more_than_kubernetes_counts(limited: Path, workload: str) -> None:
    write(limited, {"workflows/w.yaml": workload})
    assert "must be at most 2147483647" in kubectl_tas("validate", "-C", limited).out


@pytest.mark.parametrize("version", ["0.9", "0.17"])
@pytest.mark.parametrize(
    "workload",
    [
        pytorch(MOST),
        jobset(MOST, MOST, {"kubectl-tas/podgroup": "owned"}),
        jobset(MOST, MOST, {"kubectl-tas/gang": "all"}),
    ],
)
def test_a_gang_beyond_what_a_podgroup_counts(limited: Path, workload: str, version: str) -> None:
    write(limited, {"workflows/w.yaml": workload, "tas.yaml": config(version)})
    out = measured(limited, "validate").stdout
    assert "before it starts; a PodGroup counts at most 2147483647 [workload-minimum]" in out


def test_a_jobset_beyond_what_a_podgroup_counts(limited: Path) -> None:
    write(limited, {"workflows/w.yaml": jobset(MOST, MOST)})
    assert "a PodGroup counts at most 2147483647 [workload-minimum]" in measured(limited, "validate").stdout


def test_the_largest_preview(limited: Path) -> None:
    write(limited, {"workflows/w.yaml": pytorch(4000, SEGMENTS)})
    assert kubectl_tas("validate", "-C", limited).out.startswith("No problems")
    assert kubectl_tas("render", "-C", limited).code == 0
    assert (limited / "manifests/preview/podgroup-pytorchjob-train.yaml").read_text().count("name: worker-") == 1000
    write(limited, {"workflows/w.yaml": pytorch(4001, SEGMENTS)})
    assert "1001 segments of worker" in kubectl_tas("validate", "-C", limited).out


@pytest.mark.sweep
def test_a_gang_of_many_workloads(limited: Path) -> None:
    """It takes about as long as the same workloads without a gang, not as long as all pairs of them."""
    times = []
    choices: tuple[dict[str, str], ...] = ({}, {"kubectl-tas/gang": "all"})
    for labels in choices:
        one = f"{root('Deployment', 'NAME', labels)}spec: {{{selected()}}}\n"
        write(limited, {"workflows/w.yaml": "---\n".join(one.replace("NAME", f"d{index}") for index in range(1500))})
        start = time.process_time()
        assert kubectl_tas("validate", "-C", limited).code == 0
        times.append(time.process_time() - start)
    alone, together = times
    assert together < 5 * alone  # all pairs of them take hundreds of times as long


@pytest.mark.parametrize(("size", "fine"), [("1500000000", True), (str(MOST - 1), True), (str(MOST + 1), False)])
def test_sizes_that_kubernetes_counts(limited: Path, size: str, *, fine: bool) -> None:
    write(limited, {"workflows/w.yaml": pytorch(MOST - 1, {**SEGMENTS, "kai.scheduler/segment-size": size})})
    assert ("[segment-value]" not in kubectl_tas("validate", "-C", limited).out) == fine
    asked = {"kai.scheduler/batch-min-member": size}
    write(limited, {"workflows/w.yaml": job(f"parallelism: {MOST - 1}", own=asked)})
    assert ("[workload-minimum]" not in kubectl_tas("validate", "-C", limited).out) == fine


@pytest.mark.parametrize(
    ("gpus", "fine"),
    [
        (0, True),
        (1000000000, True),
        (1999999999, True),
        (2147483600, True),
        (MOST, True),
        (MOST + 1, False),
        (2200000000, False),
        (3000000000, False),
    ],
)
@pytest.mark.parametrize("quote", ["", "'"])
def test_gpus_in_quotes_and_without(limited: Path, gpus: int, quote: str, *, fine: bool) -> None:
    text = job("parallelism: 1").replace("nvidia.com/gpu: 1", f"nvidia.com/gpu: {quote}{gpus}{quote}")
    write(limited, {"workflows/w.yaml": text})
    result = kubectl_tas("validate", "-C", limited)
    assert (result.code == 0) == fine
    assert ("[invalid-value]" not in result.out) == fine
