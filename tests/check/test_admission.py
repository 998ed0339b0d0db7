"""Tests the quota of a queue against pods that start together: gangs of several workloads, and whole segments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kubectl_tas.report.text import plural
from tests.support import grove
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
    text = 'over-quota: the gang "g1" needs 1082 GPUs; the quota of team is 1000: it can never start'
    assert found(repository, 1000, *gang(539)) == [text]


def test_a_gang_over_the_maximum_never_starts(repository: Path) -> None:
    text = 'over-quota: the gang "g1" needs 182 GPUs; the maximum of pool team is 120: it can never start'
    assert found(repository, 100, *gang(89, labels=LOW), spec="      maximum: 120\n") == [text]
    assert found(repository, 100, *gang(58, labels=LOW), spec="      maximum: 120\n") == []


def test_a_gang_that_fits_alone_waits_as_one(repository: Path) -> None:
    assert found(repository, 20, *gang(8)) == []
    text = "actor, critic, reward, other ask for 35 GPUs together; the quota of team is 20: they cannot all run at once"
    assert found(repository, 20, *gang(8), pytorch_job("other", workers=14)) == [f"quota-shared: {text}"]


def test_a_gang_with_an_elastic_member_runs_in_part(repository: Path) -> None:
    members = [pytorch_job("actor", GANG, workers=3, minimum=2), deployment("reward", GANG)]
    text = "actor, reward ask for 6 GPUs together; the quota of team is 5: they cannot all run at once"
    assert found(repository, 5, *members) == [f"quota-shared: {text}"]


def test_a_queue_is_told_once_with_its_first_five(repository: Path) -> None:
    jobs = [deployment(f"d{number}") for number in range(9)]
    (message,) = found(repository, 10, *jobs)
    assert message.startswith(
        "quota-shared: d0, d1, d2, d3, d4 and 4 more ask for 18 GPUs together; the quota of team is 10"
    )


def test_what_can_never_run_takes_nothing_from_others(repository: Path) -> None:
    """KAI plans nothing for a gang that can never fit, so the others share what there is."""
    never = pytorch_job("never", workers=20)
    (message,) = found(repository, 10, never, deployment("small", replicas=10))
    assert message == "over-quota: a gang needs 21 GPUs; the quota of team is 10: it can never start"
    text = kubectl_tas("workflow", "explain", "small", "-C", repository).out
    assert "Admission:   admitted: 0 of 10 GPUs of team are used, it asks for 10" in text


def test_what_asks_for_no_gpu_needs_no_quota(repository: Path) -> None:
    """KAI checks a resource against its quota only where it is asked for."""
    assert found(repository, 10, deployment("full", replicas=10), deployment("web", gpus=0)) == []
    arguments = ("workflows/w.yaml", "--used", "12", "-o", "json", "-C", ".")
    answer = json.loads(kubectl_tas("admit", *arguments, cwd=repository).out)
    verdicts = {item["workflow"]: (item["verdict"], item["message"]) for item in answer["workflows"]}
    assert verdicts["web"] == ("admitted", "no GPUs asked, so no quota is needed")
    assert verdicts["full"][0] == "pending"


def test_no_group_of_a_leader_worker_set_runs_where_there_is_no_room_for_one(repository: Path) -> None:
    write(repository, {"subpools/a.yaml": subpool("a", 4)})
    found(repository, 10, leader_worker_set("serve", size=2, annotations={}))
    for used, what in ((5, "it stays Pending"), (4, "not all of it can run at once")):
        arguments = ("workflows/w.yaml", "--used", str(used), "-o", "json", "-C", ".")
        (item,) = json.loads(kubectl_tas("admit", *arguments, cwd=repository).out)["workflows"]
        assert item["message"] == f"it asks for 4 GPUs, others use {used}; the quota of team is 6: {what}"
        assert "use team--a (4 free)" in item["hint"]


def test_a_gang_over_what_subpools_leave(repository: Path) -> None:
    write(repository, {"subpools/a.yaml": subpool("a", 90)})
    text = 'over-shared-quota: the gang "g1" asks for 20 GPUs; the subpools leave 10 to pool team'
    assert found(repository, 100, *gang(8)) == [text]


def test_every_command_answers_for_the_whole_gang(repository: Path) -> None:
    found(repository, 19, *gang(8))
    write(repository.parent, {"w.yaml": yaml.safe_dump(deployment("reward", GANG))})
    why = 'the gang "g1" needs 20 GPUs; the quota of team is 19: it can never start'
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
        ("0.17", 4, 7, "over-quota: a gang needs 9 GPUs; the quota of team is 7: it can never start"),
        ("0.17", 4, 9, "quota-shared: elastic asks for 11 GPUs; the quota of team is 9: not all of it can run at once"),
        (
            "0.17",
            None,
            6,
            "quota-shared: elastic asks for 11 GPUs; the quota of team is 6: not all of it can run at once",
        ),
        ("0.17", None, 5, "over-quota: a gang needs 6 GPUs; the quota of team is 5: it can never start"),
        ("0.17", 10, 10, "over-quota: a gang needs 11 GPUs; the quota of team is 10: it can never start"),
        ("0.13", 4, 9, "over-quota: a gang needs 11 GPUs; the quota of team is 9: it can never start"),
        ("0.16.6", 4, 9, "over-quota: a gang needs 11 GPUs; the quota of team is 9: it can never start"),
        (
            "0.16.7",
            4,
            9,
            "quota-shared: elastic asks for 11 GPUs; the quota of team is 9: not all of it can run at once",
        ),
        ("0.12", 4, 6, "quota-shared: elastic asks for 11 GPUs; the quota of team is 6: not all of it can run at once"),
        ("0.9", 4, 6, "quota-shared: elastic asks for 11 GPUs; the quota of team is 6: not all of it can run at once"),
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
    waits = f"quota-shared: elastic asks for 3 GPUs; the quota of team is {needed}: not all of it can run at once"
    messages = " ".join(found(repository, needed, job, version=version))
    assert (waits in messages, "over-quota" in messages) == (True, False)
    never = f"over-quota: a gang needs {plural(needed, 'GPU')}; the quota of team is {needed - 1}: it can never start"
    assert never in " ".join(found(repository, needed - 1, job, version=version))


def test_each_group_of_a_leader_worker_set_starts_by_itself(repository: Path) -> None:
    groups = leader_worker_set("serve", size=2, annotations={})
    (message,) = found(repository, 3, groups)
    text = "serve asks for 4 GPUs; the quota of team is 3: not all of it can run at once"
    assert message == f"quota-shared: {text}"


def test_a_deployment_without_replicas_asks_for_nothing(repository: Path) -> None:
    assert found(repository, 4, deployment("idle", replicas=0, gpus=8)) == []


def test_segments_that_this_kind_does_not_get_do_not_count(repository: Path) -> None:
    annotations = {**segments(4), "kai.scheduler/pod-index-label": "apps.kubernetes.io/pod-index"}
    messages = found(repository, 3, stateful_set("shards", replicas=8, annotations=annotations))
    assert "quota-shared: shards asks for 8 GPUs; the quota of team is 3: not all of it can run at once" in " ".join(
        messages
    )
    assert "over-quota" not in " ".join(messages)


@pytest.mark.parametrize(("least", "what"), [(1, "not all of it can run at once"), (2, "it stays Pending")])
def test_a_set_whose_scaling_group_may_start_in_part(least: int, what: str, repository: Path) -> None:
    cliques = grove.clique("front", gpus=1) + grove.clique("worker", gpus=1)
    groups = grove.scaling_group("workers", "worker", replicas=2, minimum=least)
    grove.declare(repository, grove.clique_set(None, cliques, groups), guarantee=3)
    answer = kubectl_tas("admit", "chat", "--used", "1", "-o", "json", "-C", repository).out
    (item,) = json.loads(answer)["workflows"]
    assert item["message"].endswith(what)
