"""Tests ``admit`` for gangs of several workloads: each member counts once, whatever the source of usage."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN
from tests.support.kubectl import queue
from tests.support.workloads import LEVELS, deployment, template, workload

GANG = {"kubectl-tas/gang": "g1"}
LOW = {**GANG, "kubectl-tas/priority": "LOW"}


def member(name: str, gpus: int, labels: dict[str, str] | None = None) -> str:
    return yaml.safe_dump(deployment(name, labels or GANG, replicas=gpus))


def gang(root: Path, guarantee: int = 10, labels: dict[str, str] | None = None, maximum: int = -1) -> Path:
    """A gang of b with 6 GPUs and c with 3."""
    own = pool(guarantee=guarantee, spec=LEVELS).replace("    gpu:\n", f"    gpu:\n      maximum: {maximum}\n")
    return write(
        root,
        {"pools/p.yaml": own, "workflows/b.yaml": member("b", 6, labels), "workflows/c.yaml": member("c", 3, labels)},
    )


def answers(root: Path, file: str | Path, *arguments: str | Path) -> list[dict[str, Any]]:
    result = kubectl_tas("admit", file, "-o", "json", *arguments, cwd=root)
    assert result.err == ""
    return list(json.loads(result.out)["workflows"])


def test_a_low_gang_is_answered_as_a_whole(repository: Path) -> None:
    gang(repository, labels=LOW, maximum=12)
    write(repository, {"workflows/c.yaml": member("c", 6, LOW)})
    (found,) = answers(repository, "workflows/c.yaml")
    text = '10 GPUs in quota, 2 over quota, asked for the gang "g1", preemptible'
    assert (found["message"], found["inQuota"], found["overQuota"]) == (text, 10, 2)
    explained = kubectl_tas("workflow", "explain", "b", "-C", repository).out
    assert text in " ".join(explained.split())


@pytest.mark.parametrize(("used", "verdict"), [(6, "admitted"), (7, "admitted"), (8, "pending")])
def test_members_that_run_are_in_what_is_used(repository: Path, tmp_path: Path, used: int, verdict: str) -> None:
    gang(repository)
    state = tmp_path / "state.json"
    state.write_text(json.dumps([queue("osmo-pool-default-team--shared", used, used)]))
    for told in (("--used", str(used)), ("--cluster-state", state)):
        (found,) = answers(repository, "workflows/c.yaml", *told)
        assert found["verdict"] == verdict
        assert 'for the gang "g1" (the rest of it counts as used)' in found["message"]


def test_members_that_nobody_has_yet_are_asked_for_together(repository: Path) -> None:
    write(repository, {"pools/p.yaml": pool(guarantee=10)})
    write(repository.parent, {"both.yaml": f"{member('b', 6)}---\n{member('c', 3)}"})
    for used, verdict in ((1, "admitted"), (2, "pending")):
        found = answers(repository, "../both.yaml", "--used", str(used))
        assert [item["verdict"] for item in found] == [verdict] * 2
        assert all('for the gang "g1"' in item["message"] for item in found)


@pytest.mark.parametrize(("least", "what"), [(1, "not all of it can run at once"), (2, "it stays Pending")])
def test_a_written_pod_group_may_start_with_some_of_its_pods(repository: Path, least: int, what: str) -> None:
    shutil.copytree(GOLDEN / "rules/over-quota/pods-of-a-podgroup/input", repository, dirs_exist_ok=True)
    write(repository, {"pools/p.yaml": pool("research", 48)})
    file = repository / "workflows/train.yaml"
    file.write_text(file.read_text().replace("minMember: 2", f"minMember: {least}"))
    (found,) = answers(repository, file, "--used", "24")
    assert found["message"] == f"it asks for 32 GPUs, others use 24; the quota of research is 48: {what}"


def test_low_members_are_in_no_number(repository: Path) -> None:
    gang(repository, labels=LOW)
    (found,) = answers(repository, "workflows/c.yaml", "--used", "6")
    assert (found["inQuota"], found["overQuota"]) == (4, 5)
    assert found["message"] == '4 GPUs in quota, 5 over quota, asked for the gang "g1", preemptible'


def test_the_whole_gang_must_fit_whatever_is_used(repository: Path) -> None:
    gang(repository, guarantee=8)
    assert answers(repository, "workflows/c.yaml", "--used", "0")[0]["verdict"] == "unschedulable"


@pytest.mark.parametrize("labels", [GANG, {}], ids=["gang", "alone"])
def test_a_copy_takes_the_place_of_the_object(repository: Path, labels: dict[str, str]) -> None:
    write(repository, {"pools/p.yaml": pool(guarantee=10), "workflows/b.yaml": member("b", 6, labels or {"a": "b"})})
    write(repository.parent, {"b.yaml": member("b", 6, labels or {"a": "b"})})
    (found,) = answers(repository, "../b.yaml")
    assert (found["verdict"], found["used"], found["asks"]) == ("admitted", 0, 6)


def test_an_update_may_change_the_priority(repository: Path) -> None:
    write(repository, {"pools/p.yaml": pool(guarantee=10), "workflows/b.yaml": member("b", 6)})
    write(repository.parent, {"b.yaml": member("b", 12)})
    (found,) = answers(repository, "../b.yaml", "--priority", "LOW")
    assert (found["verdict"], found["inQuota"], found["overQuota"]) == ("admitted", 10, 2)


def test_an_object_of_another_kind_is_no_copy(repository: Path) -> None:
    gang(repository)
    job = workload("batch/v1", "Job", "b", None, {"template": template(0)})
    write(repository.parent, {"b.yaml": yaml.safe_dump(job)})
    assert answers(repository, "../b.yaml")[0]["used"] == 9


def test_hints_are_for_the_whole_gang(repository: Path) -> None:
    gang(repository, guarantee=8)
    (found,) = answers(repository, "workflows/c.yaml")
    assert found["hint"] == "Let the gang ask for 8 or less, or use priority LOW for all of the gang."
    gang(repository, guarantee=30)
    write(repository, {"subpools/a.yaml": subpool("a", 25)})
    (found,) = answers(repository, "workflows/c.yaml")
    ways = ("Let the gang ask for 5 or less", "use priority LOW for all of the gang")
    assert found["hint"] == f"{ways[0]}, {ways[1]}, or use team--a (25 free) for all of the gang."


def test_the_hint_of_a_maximum(repository: Path) -> None:
    gang(repository, guarantee=4, labels=LOW, maximum=8)
    assert answers(repository, "workflows/c.yaml")[0]["hint"] == "Let the gang ask for 8 or less."
