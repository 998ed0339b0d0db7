"""The quota of a queue against what really starts together: gangs of several workloads, and whole segments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.workloads import (
    LEVELS,
    Object,
    declare,
    deployment,
    leader_worker_set,
    pytorch_job,
    segments,
    stateful_set,
)

GANG = {"kubectl-tas/gang": "g1"}
LOW = {"kubectl-tas/priority": "LOW"}


def found(root: Path, guarantee: int, *workloads: Object, spec: str = "", version: str = "0.17") -> list[str]:
    """What is found in a repository of these workloads: the place, the rule and the message of each."""
    declare(root, *workloads, version=version)
    write(root, {"pools/p.yaml": pool(guarantee=guarantee, spec=LEVELS).replace("    gpu:\n", f"    gpu:\n{spec}")})
    diagnostics = json.loads(kubectl_tas("validate", "-o", "json", "-C", root).out)["diagnostics"]
    return [f"{item['rule']}: {item['message']}" for item in diagnostics]


def gang(workers: int, replicas: int = 2, labels: dict[str, str] | None = None) -> list[Object]:
    """Two PyTorchJobs with a master and so many workers, and a Deployment, all of one gang."""
    both = {**GANG, **(labels or {})}
    jobs = [pytorch_job(name, both, workers=workers) for name in ("actor", "critic")]
    return [*jobs, deployment("reward", both, replicas=replicas)]


def test_a_gang_over_the_quota_never_starts(repository: Path) -> None:
    text = 'over-quota: the gang "g1" of 1082 > 1000 GPUs, the quota of team, can never be scheduled'
    assert found(repository, 1000, *gang(539)) == [text] * 3


def test_a_gang_over_the_maximum_never_starts(repository: Path) -> None:
    text = 'over-quota: the gang "g1" of 182 > 120 GPUs, the maximum of pool team, can never be scheduled'
    assert found(repository, 100, *gang(89, labels=LOW), spec="      maximum: 120\n") == [text] * 3
    assert found(repository, 100, *gang(58, labels=LOW), spec="      maximum: 120\n") == []


def test_a_gang_that_fits_alone_waits_as_one(repository: Path) -> None:
    assert found(repository, 20, *gang(8)) == []
    waits = '15 of others + 20 asked by the gang "g1" = 35 > 20 GPUs, the quota of team: it stays Pending'
    other = "20 of others + 15 asked = 35 > 20 GPUs, the quota of team: it stays Pending"
    expected = sorted([*[f"quota-shared: {waits}"] * 3, f"quota-shared: {other}"])
    assert sorted(found(repository, 20, *gang(8), pytorch_job("other", workers=14))) == expected


def test_a_gang_with_an_elastic_member_runs_in_part(repository: Path) -> None:
    members = [pytorch_job("actor", GANG, workers=3, minimum=2), deployment("reward", GANG)]
    text = '6 asked by the gang "g1" > 5 GPUs, the quota of team: not all of it runs at once, the rest stays Pending'
    assert found(repository, 5, *members) == [f"quota-shared: {text}"] * 2


def test_a_gang_over_what_subpools_leave(repository: Path) -> None:
    write(repository, {"subpools/a.yaml": subpool("a", 90)})
    text = 'over-shared-quota: the gang "g1" asks 20 > 10 GPUs that the subpools leave to pool team'
    assert found(repository, 100, *gang(8)) == [text] * 3


def test_every_command_answers_for_the_whole_gang(repository: Path) -> None:
    found(repository, 19, *gang(8))
    write(repository.parent, {"w.yaml": yaml.safe_dump(deployment("reward", GANG))})
    why = 'the gang "g1" of 20 > 19 GPUs, the quota of team, can never be scheduled'
    assert f"Admission: unschedulable: {why}" in " ".join(
        kubectl_tas("workflow", "explain", "reward", "-C", repository).out.split()
    )
    answer = json.loads(kubectl_tas("admit", "workflows/w.yaml", "-o", "json", "-C", ".", cwd=repository).out)
    assert [(item["asks"], item["used"], item["message"]) for item in answer["workflows"]] == [
        (9, 0, why),
        (9, 0, why),
        (2, 0, why),
    ]


@pytest.mark.parametrize(
    ("version", "size", "guarantee", "expected"),
    [
        ("0.17", 4, 7, "over-quota: a gang of 9 > 7 GPUs, the quota of team, can never be scheduled"),
        ("0.17", 4, 9, "quota-shared: 11 asked > 9 GPUs, the quota of team: not all of it runs at once"),
        ("0.17", None, 6, "quota-shared: 11 asked > 6 GPUs, the quota of team: not all of it runs at once"),
        ("0.17", None, 5, "over-quota: a gang of 6 > 5 GPUs, the quota of team, can never be scheduled"),
        ("0.17", 10, 10, "over-quota: a gang of 11 > 10 GPUs, the quota of team, can never be scheduled"),
        ("0.13", 4, 9, "over-quota: a gang of 11 > 9 GPUs, the quota of team, can never be scheduled"),
        ("0.16.6", 4, 9, "over-quota: a gang of 11 > 9 GPUs, the quota of team, can never be scheduled"),
        ("0.16.7", 4, 9, "quota-shared: 11 asked > 9 GPUs, the quota of team: not all of it runs at once"),
        ("0.12", 4, 6, "quota-shared: 11 asked > 6 GPUs, the quota of team: not all of it runs at once"),
        ("0.9", 4, 6, "quota-shared: 11 asked > 6 GPUs, the quota of team: not all of it runs at once"),
    ],
)
def test_mandatory_segments_start_whole(
    repository: Path, version: str, size: int | None, guarantee: int, expected: str
) -> None:
    """One master and ten workers, of which six pods are needed: the master, and five in two segments of four."""
    job = pytorch_job("elastic", workers=10, minimum=6, annotations=segments(size) if size else None)
    messages = found(repository, guarantee, job, version=version)
    assert [text for text in messages if "quota" in text.split(":")[0]] == [
        text for text in messages if text.startswith(expected)
    ]
    assert any(text.startswith(expected) for text in messages)


@pytest.mark.parametrize(("version", "needed"), [("0.9", 1), ("0.12", 1), ("0.13", 2), ("0.15", 1)])
def test_a_subgroup_that_needs_no_pod(repository: Path, version: str, needed: int) -> None:
    """The master alone is needed. Releases that make SubGroups and cannot say 0 wait for a worker too."""
    job = pytorch_job("elastic", workers=2, minimum=1)
    waits = f"quota-shared: 3 asked > {needed} GPUs, the quota of team: not all of it runs at once"
    messages = " ".join(found(repository, needed, job, version=version))
    assert (waits in messages, "over-quota" in messages) == (True, False)
    never = f"over-quota: a gang of {needed} > {needed - 1} GPUs, the quota of team, can never be scheduled"
    assert never in " ".join(found(repository, needed - 1, job, version=version))


def test_each_group_of_a_leader_worker_set_starts_by_itself(repository: Path) -> None:
    groups = leader_worker_set("serve", size=2, annotations={})
    (message,) = found(repository, 3, groups)
    text = "4 asked > 3 GPUs, the quota of team: not all of it runs at once, the rest stays Pending"
    assert message == f"quota-shared: {text}"


def test_a_deployment_without_replicas_asks_for_nothing(repository: Path) -> None:
    assert found(repository, 4, deployment("idle", replicas=0, gpus=8)) == []


def test_segments_that_this_kind_does_not_get_do_not_count(repository: Path) -> None:
    annotations = {**segments(4), "kai.scheduler/pod-index-label": "apps.kubernetes.io/pod-index"}
    messages = found(repository, 3, stateful_set("shards", replicas=8, annotations=annotations))
    assert "quota-shared: 8 asked > 3 GPUs, the quota of team: not all of it runs at once" in " ".join(messages)
    assert "over-quota" not in " ".join(messages)
