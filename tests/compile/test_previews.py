"""Tests that previews are valid objects."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.cli import kubectl_tas
from tests.support.crds import server
from tests.support.rendered import PREVIEW, load
from tests.support.webhooks import refusals
from tests.support.workloads import (
    ZONE,
    Object,
    declare,
    leader_worker_set,
    problems,
    pytorch_job,
    segments,
    stateful_set,
    template,
    tf_job,
)


def previews(root: Path, version: str, *workloads: Object) -> dict[str, Object]:
    """The previews of workloads in a repository with one pool, by the name of the PodGroup."""
    declare(root, *workloads, version=version)
    result = kubectl_tas("render", "-C", root)
    assert result.code == 0, result.err
    found = [load(path) for path in sorted((root / "manifests" / PREVIEW).glob("*.yaml"))]
    return {item["metadata"]["name"]: item for item in found}


def explained(root: Path, name: str) -> str:
    """What explain prints of a workload, its spaces folded."""
    return " ".join(kubectl_tas("workflow", "explain", name, "-C", root).out.split())


ASKED = "What the segment annotations of {} ask for, and not what KAI {} makes of it; to its name KAI adds the UID"
MADE = "What KAI makes of {}; to its name KAI adds the UID"
INDEX = {"kai.scheduler/pod-index-label": "apps.kubernetes.io/pod-index"}
PREFERRED = {"kai.scheduler/topology-preferred-placement": "rack"}


@pytest.mark.parametrize(
    ("version", "job", "note"),
    [
        ("0.17", pytorch_job("x", annotations=segments(2)), MADE),
        ("0.13", pytorch_job("x", annotations=segments(2)), MADE),
        ("0.12", pytorch_job("x", annotations=segments(2)), ASKED),
        ("0.17", tf_job("x", annotations=segments(2)), ASKED),
        ("0.17", stateful_set("x", replicas=4, annotations={**segments(2), **INDEX}), ASKED),
        ("0.12", leader_worker_set("x", size=5, annotations=segments(2)), ASKED),
        ("0.17", tf_job("x"), MADE),
        ("0.17", tf_job("x", annotations=PREFERRED), MADE),
    ],
)
def test_a_preview_says_whether_kai_makes_it(repository: Path, version: str, job: Object, note: str) -> None:
    found = previews(repository, version, job)["pg-x"]["metadata"]["annotations"]["kubectl-tas/preview"]
    expected = note.format(f"{job['kind']} x", version)
    assert found.startswith(expected)
    shown = "pg-x-<UID>, made by KAI" if note == MADE else expected
    assert f"PodGroup: {shown}" in explained(repository, "x")


def test_no_word_of_sub_groups_where_there_are_none(repository: Path) -> None:
    annotations = {**segments(2), **INDEX}
    jobs = (pytorch_job("x", annotations=segments(2)), stateful_set("y", replicas=4, annotations=annotations))
    found = previews(repository, "0.9", *jobs)
    notes = {name: item["metadata"]["annotations"]["kubectl-tas/preview"] for name, item in found.items()}
    assert notes == {"pg-x": MADE.format("PyTorchJob x"), "pg-y": MADE.format("StatefulSet y")}
    assert not any("subGroups" in item["spec"] for item in found.values())


@pytest.mark.parametrize(
    ("size", "policy", "annotations"),
    [
        (9, "LeaderWorker", {**segments(4), **ZONE}),
        (9, "LeaderExcluded", {**segments(4), **ZONE}),
        (9, "LeaderWorker", ZONE),
    ],
)
def test_workers_beside_a_leader_are_placed_by_the_whole_set(
    repository: Path, size: int, policy: str, annotations: dict[str, str]
) -> None:
    own = leader_worker_set("x", size=size, annotations=annotations, policy=policy)
    found = problems(repository, own)
    assert found["placement-unsupported"].endswith('so nothing keeps its pods within one "zone"')
    own["spec"]["leaderWorkerTemplate"]["workerTemplate"] = template(annotations={**segments(4)})
    moved = {**own, "metadata": {**own["metadata"], "annotations": ZONE}}
    (at_root,) = previews(repository, "0.17", moved).values()
    assert at_root["spec"]["topologyConstraint"]["requiredTopologyLevel"] == "topology.kubernetes.io/zone"


@given(
    workers=st.integers(1, 40),
    minimum=st.integers(1, 41),
    size=st.integers(1, 12),
    version=st.sampled_from(["0.13", "0.16.6", "0.17"]),
)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_segments(repository: Path, workers: int, minimum: int, size: int, version: str) -> None:
    """Every index in one segment, members that add up, a minimum that is covered, in what is really rendered."""
    size, minimum = min(size, workers), min(minimum, workers)
    job = pytorch_job("x", workers=workers, minimum=minimum, annotations=segments(size))
    group = previews(repository, version, job)["pg-x"]
    assert server(version).violations(group) == []
    assert refusals([group], version) == []
    leaves = {item["name"]: item for item in group["spec"]["subGroups"] if item.get("parent") == "worker"}
    spans = {
        name: [int(index) for index in text.split(" to ")]
        for key, text in group["metadata"]["annotations"].items()
        for name in [key.removeprefix("pods.kubectl-tas/")]
        if key.startswith("pods.kubectl-tas/")
    }
    assert spans.keys() == leaves.keys()
    held = sorted(index for span in spans.values() for index in range(span[0], span[-1] + 1))
    assert held == list(range(workers))
    sizes = {name: span[-1] - span[0] + 1 for name, span in spans.items()}
    assert all(leaf.get("minMember", 0) in (0, sizes[name]) for name, leaf in leaves.items())
    (master,) = (item for item in group["spec"]["subGroups"] if item["name"] == "master")
    needed = master["minMember"] + sum(leaf.get("minMember", 0) for leaf in leaves.values())
    if version == "0.17":
        assert minimum <= needed < minimum + size
    else:
        assert needed == master["minMember"] + workers
    (above,) = (item for item in group["spec"]["subGroups"] if item["name"] == "worker")
    assert ("minSubGroup" in above) == (version != "0.13")
    assert group["spec"]["minMember"] == minimum
