"""Tests segments of workloads: sizes must fit the running pods, and hints must be applicable."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.kinds import LEVELS, RUN, SEGMENTS, config, job, leader_worker, pytorch, root, selected, template
from tests.support.pyyaml import safe_load

INDEXED = "completionMode: Indexed"


def validate(root: Path, workload: str, pools: str = "") -> str:
    write(root, {"pools/p.yaml": pools or pool(spec=LEVELS), "workflows/w.yaml": workload})
    return kubectl_tas("validate", "-C", root).out


def minimums(root: Path) -> dict[str, int]:
    """minMember of each SubGroup of the one preview."""
    assert kubectl_tas("render", "-C", root).code == 0
    (preview,) = (root / "manifests/preview").iterdir()
    return {item["name"]: item.get("minMember") for item in safe_load(preview.read_text())["spec"]["subGroups"]}


@pytest.mark.parametrize(
    ("parallelism", "completions", "message"),
    [
        (3, 8, "a segment of 4 pods is larger than the 3 pods of worker that run at a time"),
        (8, 3, "a segment of 4 pods is larger than the 3 replicas of worker"),
    ],
)
def test_a_segment_that_never_runs_at_once(repository: Path, parallelism: int, completions: int, message: str) -> None:
    spec = f"{INDEXED}, parallelism: {parallelism}, completions: {completions}"
    out = validate(repository, job(spec, SEGMENTS))
    assert f"{message} [segment-value]" in out
    assert "Use at most 3." in out


@pytest.mark.parametrize(
    ("parallelism", "minimum", "wanted"),
    [
        (4, 1, [4, 0, 0]),
        (6, 5, [4, 2, 0]),
        (6, 6, [4, 2, 0]),
        (10, 10, [4, 4, 2]),
    ],
)
def test_no_more_is_needed_than_runs_at_a_time(
    repository: Path, parallelism: int, minimum: int, wanted: list[int]
) -> None:
    spec = f"{INDEXED}, parallelism: {parallelism}, completions: 10"
    own = {"kai.scheduler/batch-min-member": str(minimum)}
    validate(repository, job(spec, SEGMENTS, own=own))
    found = minimums(repository)
    assert [found[f"worker-{number}"] for number in range(3)] == wanted
    out = kubectl_tas("workflow", "explain", "sweep", "-C", repository).out
    told = [line for line in out.splitlines() if line.startswith("Indices:")]
    assert told == ([f"Indices:    10 of worker, {parallelism} at a time"] if parallelism < 10 else [])


@pytest.mark.parametrize(
    ("policy", "own", "annotation", "size", "found"),
    [
        ("{subGroupSize: 4}", None, None, 4, "KAI makes segments by this subGroupPolicy, and nothing places them"),
        ("{}", "4", None, 4, "the segments of workers have a size and no level"),
        ("{}", "2", "2", 2, "the segments of workers have a size and no level"),
        ("{}", "2", "4", None, "segment-size is 4 here, but kai.scheduler/segment-size of this LeaderWorkerSet is 2"),
        ("{subGroupSize: 2}", "4", None, None, "segment-size is 4 here, but subGroupSize of this LeaderWorkerSet is 2"),
    ],
)
def test_which_size_a_leader_worker_set_is_divided_by(
    repository: Path, policy: str, own: str | None, annotation: str | None, size: int | None, found: str
) -> None:
    """subGroupSize, else the annotation of the LeaderWorkerSet, else that of workerTemplate, each without a level."""
    key = "kai.scheduler/segment-size"
    text = leader_worker(9, {key: annotation} if annotation else {}, policy, own={key: own} if own else None)
    assert found in validate(repository, text)
    if size is not None:
        last = (9 - 1) // size - 1
        assert minimums(repository) == {
            "segment-0": None,
            **{f"segment-{number}": size for number in range(1, last + 1)},
            "leader": 1,
            "workers": size,
        }


LEVEL = {"kai.scheduler/segment-topology-required-placement": "rack"}
SIZE = {"kai.scheduler/segment-size": "4"}


@pytest.mark.parametrize("pools", [pool(), pool(spec=LEVELS)], ids=["bare", "levels"])
def test_a_level_beside_a_policy(repository: Path, pools: str) -> None:
    out = validate(repository, leader_worker(9, LEVEL, "{subGroupSize: 4}"), pools)
    assert "[segment-incomplete]" not in out
    assert ("the segments of workers are ignored: they name no kai.scheduler/topology" in out) == ("rack" not in pools)


@pytest.mark.parametrize(
    ("version", "annotations", "noted"),
    [("0.17", {}, True), ("0.17", LEVEL, False), ("0.12", {}, False)],
)
def test_a_policy_alone(repository: Path, version: str, annotations: dict[str, str], noted: bool) -> None:
    write(repository, {"tas.yaml": config(version)})
    out = validate(repository, leader_worker(9, annotations, "{subGroupSize: 4}"))
    assert ("KAI makes segments by this subGroupPolicy, and nothing places them" in out) == noted
    assert ("1 info" in out) == noted


@pytest.mark.parametrize(
    ("size", "policy", "message"),
    [
        (9, "{}", ""),
        (9, "{subGroupSize: 9}", ""),
        (8, "{subGroupSize: 8, subGroupPolicyType: LeaderExcluded}", "KAI waits for a pod that never comes"),
        (4, "{subGroupSize: 4, subGroupPolicyType: LeaderExcluded}", ""),
        (
            9,
            "{subGroupSize: 3}",
            "segment-size is 9 here, but subGroupSize of this LeaderWorkerSet is 3, which precedes",
        ),
        (10, "{}", "a segment of 10 pods is larger than the 9 pods of a group"),
        (9, "{subGroupSize: 8, subGroupPolicyType: LeaderExcluded}", "larger than the 8 replicas of workers"),
    ],
)
def test_a_segment_as_large_as_the_group(repository: Path, size: int, policy: str, message: str) -> None:
    text = leader_worker(9, {**LEVEL, "kai.scheduler/segment-size": str(size)}, policy)
    out = validate(repository, text)
    assert message in out
    assert ("No problems" in out) == (not message)
    if not message:
        first = {"segment-0": size} if "Excluded" in policy else {"segment-0": None, "workers": size - 1}
        assert minimums(repository).items() >= {"leader": 1, **first}.items()


@pytest.mark.parametrize(
    ("workload", "pools", "message", "hint"),
    [
        (
            job(f"{INDEXED}, parallelism: 8", SIZE),
            pool(spec=LEVELS),
            "they name no kai.scheduler/topology",
            f"Add {next(iter(LEVEL))}, or name",
        ),
        (pytorch(8, {**SIZE, **LEVEL}), pool(), "they name no kai.scheduler/topology", "Give pool team a topology"),
        (pytorch(8, SIZE), pool(), "have a size and no level, so nothing places them", f"Add {next(iter(LEVEL))}, or"),
        *(
            (pytorch(8, {**LEVEL, **SIZE, "kai.scheduler/segment-size": size}), "", "must be a whole number", hint)
            for size, hint in [("0", "a number from 1 to 8."), ("-1", "a number from 1 to 8."), ("", "from 1 to 8.")]
        ),
        (
            pytorch(0, {**LEVEL, "kai.scheduler/segment-size": "x"}),
            "",
            "must be a whole number",
            "Use a number from 1.",
        ),
        (pytorch(1, {**LEVEL, "kai.scheduler/segment-size": "2"}), "", "larger than the 1 replica of", "Use 1."),
        (
            leader_worker(1, {**LEVEL, **SIZE}),
            "",
            "a segment of 4 pods is larger than the 1 pod of a group",
            "Remove the ann",
        ),
        (leader_worker(3, own=LEVEL), "", "is ignored on the workload", "Move it to workerTemplate."),
        (f"{root('TrainJob', 'tune', None, SIZE)}spec: {{}}\n", "", "is ignored on the workload", "Remove it: the pod"),
        *(
            (job(f"parallelism: {pods}", own={"kai.scheduler/batch-min-member": value}), "", message, hint)
            for pods, value, message, hint in [
                (0, "x", "must be a number from 1, not", "Use a number from 1."),
                (8, "0", "must be a number from 1 to 8, ", "Use a number from 1 to 8."),
                (8, "9", "must be a number from 1 to 8, ", "Use at most 8."),
            ]
        ),
    ],
)
def test_hints_can_be_followed(repository: Path, workload: str, pools: str, message: str, hint: str) -> None:
    out = validate(repository, workload, pools)
    assert message in out
    assert hint in out
    assert "at most 0" not in out


def test_nothing_to_divide_is_no_error(repository: Path) -> None:
    workload = job("parallelism: 0", own={"kai.scheduler/batch-min-member": "4"})
    assert validate(repository, workload).startswith("No problems")
    assert kubectl_tas("render", "-C", repository).code == 0


PODS = template(SEGMENTS)
RUNS = template(SEGMENTS, spec=RUN)
UNREAD = {
    "RayJob": "entrypoint: x, rayClusterSpec: {headGroupSpec: {template: {spec: {containers: [{name: a, image: a}]}}}, "
    f"workerGroupSpecs: [{{groupName: a, replicas: 8, template: {PODS}}}]}}",
    "JobSet": f"replicatedJobs: [{{name: a, template: {{spec: "
    f"{{parallelism: 8, completions: 8, template: {PODS}}}}}}}]",
    "Deployment": f"replicas: 8, {selected(SEGMENTS)}",
    "StatefulSet": f"replicas: 8, {selected(SEGMENTS)}",
    "CronJob": f"schedule: '@daily', jobTemplate: {{spec: {{parallelism: 8, template: {RUNS}}}}}",
}


@pytest.mark.parametrize("kind", UNREAD)
def test_kinds_whose_pods_bear_no_index(repository: Path, kind: str) -> None:
    out = validate(repository, f"{root(kind, 'x')}spec: {{{UNREAD[kind]}}}\n")
    assert f"are ignored: kubectl-tas knows no label with the index of the pods of a {kind} [segment-ignored]" in out
    assert kubectl_tas("render", "-C", repository).code == 0
    (rendered,) = (repository / "manifests/workloads").iterdir()
    assert "segment-topology-required-placement: topology.kubernetes.io/rack" in rendered.read_text().replace('"', "")


@pytest.mark.parametrize(
    "workload",
    [
        f"{root('CronJob', 'x')}spec: {{{UNREAD['CronJob']}}}\n",
        pytorch(8, own=SEGMENTS),
        pytorch(8, LEVEL),
    ],
    ids=["kind", "root", "no size"],
)
def test_levels_that_are_not_read_are_known(repository: Path, workload: str) -> None:
    out = validate(repository, workload.replace('"rack"', '"rak"'))
    assert 'the topology key "rak" is unknown' in out
    assert 'Did you mean "rack"?' in out


@pytest.mark.parametrize("place", ["metadata", "template"])
@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("kai.scheduler/segment-size", "segment-"),
        ("kai.scheduler/segment-topology-required-placement", "topology-key-unknown"),
        ("kai.scheduler/topology-required-placement", "topology-key-unknown"),
    ],
)
def test_an_annotation_without_a_value(repository: Path, name: str, rule: str, place: str) -> None:
    at = {"own": {name: "x"}} if place == "metadata" else {"annotations": {**SIZE, name: "x"}}
    for null in ("null", "~", ""):
        out = validate(repository, pytorch(8, **at).replace(f'{name}: "x"', f"{name}: {null}"))
        assert f"[{rule}" in out
        assert out.startswith(f"workflows/w.yaml:{6 if place == 'metadata' else 13}:")


def test_a_priority_without_a_value(repository: Path) -> None:
    text = pytorch(8).replace(
        'labels: {kubectl-tas/pool: "team"', 'labels: {kubectl-tas/pool: "team", kubectl-tas/priority: '
    )
    assert 'kubectl-tas/priority must be one of HIGH, NORMAL, LOW, not ""' in validate(repository, text)
