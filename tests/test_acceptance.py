"""Tests the acceptance criteria AC1 to AC8 of dynamic subpools by the command line, with one test for each rule.

The queue for work that names only the pool is called ``--shared``; an API server refuses ``_shared``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.pyyaml import safe_load_all

CONFIG = """\
apiVersion: tas/v1alpha1
kind: Config
spec:
  backends: [{name: prod, namespace: ns}]
"""
SHARED = "osmo-pool-ns-team--shared"
A, B, C = (f"osmo-pool-ns-team--{name}" for name in "abc")


def repository(root: Path, *, guarantee: int = 100, **subpools: int | str) -> Path:
    """Pool team, with subpools by name: their quota, or ``QUOTA STATE``."""
    files = {"tas.yaml": CONFIG, "pools/team.yaml": pool(guarantee=guarantee)}
    for name, declared in subpools.items():
        quota, _, state = str(declared).partition(" ")
        files[f"subpools/{name}.yaml"] = subpool(name, int(quota), state=state or "ACTIVE")
    return write(root / "repository", files)


def job(gpus: int, *, to: str = "team", priority: str = "NORMAL", name: str = "job") -> str:
    """A workflow of one task."""
    return f"""\
workflow:
  name: {name}
  pool: {to}
  priority: {priority}
  tasks:
  - {{name: train, image: pytorch}}
resources:
  default: {{gpu: {gpus}}}
"""


def submit(root: Path, workflow: str, *arguments: str) -> dict[str, Any]:
    """What is answered to a workflow that lies outside of the repository; the exit code says the same."""
    file = root.parent / "job.yaml"
    file.write_text(workflow)
    result = kubectl_tas("admit", file, "-C", root, "-o", "json", *arguments)
    (answer,) = json.loads(result.out)["workflows"]
    assert result.code == (1 if answer["verdict"] in ("rejected", "unschedulable") else 0), result
    return dict(answer)


def rendered(root: Path, kind: str) -> list[dict[str, Any]]:
    """The objects of one kind that are applied."""
    result = kubectl_tas("render", "--to", "-", "-C", root)
    assert result.code == 0, result.err
    return [item for item in safe_load_all(result.out) if item["kind"] == kind]


def quotas(root: Path) -> dict[str, int]:
    """Guaranteed GPUs by queue, the root queue left out."""
    queues = {item["metadata"]["name"]: item["spec"]["resources"]["gpu"]["quota"] for item in rendered(root, "Queue")}
    assert queues.pop("osmo-default-ns") == -1
    return queues


def leaves(root: Path) -> dict[str, int]:
    """Guaranteed GPUs by leaf queue; together they are those of the pool."""
    queues = quotas(root)
    whole = queues.pop("osmo-pool-ns-team")
    assert sum(queues.values()) == whole
    return queues


def edit(root: Path, *arguments: str) -> Result:
    """A ``subpool`` command that is carried out."""
    result = kubectl_tas("subpool", *arguments, "-C", root)
    assert result.code == 0, result
    return result


def state(root: Path, name: str) -> str:
    """The state of a subpool, by the command that lists them."""
    listed = json.loads(kubectl_tas("subpool", "list", "team", "-o", "json", "-C", root).out)["subpools"]
    return next(str(item["state"]) for item in listed if item["name"] == name)


def pool_list(root: Path, *arguments: str | Path) -> list[list[str]]:
    """The cells of each line of ``pool list`` below the rule."""
    out = kubectl_tas("pool", "list", "-C", root, *arguments).out
    return [line.split() for line in out.splitlines()[2:]]


def cluster(root: Path, used: dict[str, int]) -> Path:
    """A cluster's state in which each queue of ``used`` holds GPUs of one HIGH workflow; all others are idle."""
    queues = [
        {
            "kind": "Queue",
            "metadata": {"name": name},
            "status": {field: {"nvidia.com/gpu": str(used.get(name, 0))} for field in FIELDS},
        }
        for name in quotas(root)
    ]
    groups = [
        {"kind": "PodGroup", "metadata": {"name": f"pg-{name}"}, "spec": {"queue": name}, "status": {"running": 1}}
        for name, gpus in used.items()
        if gpus
    ]
    file = root.parent / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "items": [*queues, *groups]}))
    return file


FIELDS = ("allocated", "allocatedNonPreemptible")


def test_ac1_pools_without_subpools_behave_identically(tmp_path: Path) -> None:
    root = repository(tmp_path)
    answer = submit(root, job(50, priority="HIGH"))
    assert (answer["verdict"], answer["queue"], answer["inQuota"], answer["overQuota"]) == ("admitted", SHARED, 50, 0)
    write(root, {"workflows/job.yaml": job(50, priority="HIGH")})
    assert kubectl_tas("validate", "--strict", "-C", root).code == 0
    (pod,) = rendered(root, "Pod")
    (group,) = rendered(root, "PodGroup")
    assert pod["metadata"]["labels"]["kai.scheduler/queue"] == group["spec"]["queue"] == SHARED
    assert leaves(root) == {SHARED: 100}
    assert pool_list(root) == [["team", "ONLINE", "-", "100", "50", "50"]]


def test_ac2_shadow_queue_gets_full_quota_when_no_subpools_exist(tmp_path: Path) -> None:
    root = repository(tmp_path)
    assert quotas(root) == {"osmo-pool-ns-team": 100, SHARED: 100}
    parents = {item["metadata"]["name"]: item["spec"].get("parentQueue") for item in rendered(root, "Queue")}
    assert parents == {
        "osmo-default-ns": None,
        "osmo-pool-ns-team": "osmo-default-ns",
        SHARED: "osmo-pool-ns-team",
    }


def test_ac3_shadow_queue_adjusted_when_subpools_added(tmp_path: Path) -> None:
    root = repository(tmp_path)
    assert leaves(root) == {SHARED: 100}
    edit(root, "create", "team", "a", "--quota", "30")
    assert leaves(root) == {SHARED: 70, A: 30}


def test_ac4_child_guarantees_protected_from_parent_submissions(tmp_path: Path) -> None:
    root = repository(tmp_path, a=30, b=40, c=20)
    assert leaves(root) == {SHARED: 10, A: 30, B: 40, C: 20}
    answer = submit(root, job(15, priority="HIGH"))
    assert (answer["verdict"], answer["rule"], answer["queue"]) == ("rejected", "over-shared-quota", SHARED)
    assert answer["message"] == "it asks for 15 GPUs; the subpools leave 10 to pool team"
    write(root, {"workflows/job.yaml": job(15, priority="HIGH")})
    assert kubectl_tas("validate", "-C", root).code == 1
    assert kubectl_tas("render", "-C", root).code == 1
    assert not (root / "manifests").exists()


def test_ac4_alternative_low_priority_uses_over_quota(tmp_path: Path) -> None:
    root = repository(tmp_path, a=30, b=40, c=20)
    answer = submit(root, job(15, priority="LOW"))
    assert (answer["verdict"], answer["queue"], answer["inQuota"], answer["overQuota"]) == ("admitted", SHARED, 10, 5)
    write(root, {"workflows/job.yaml": job(15, priority="LOW")})
    (group,) = rendered(root, "PodGroup")
    assert (group["spec"]["queue"], group["spec"]["preemptibility"]) == (SHARED, "preemptible")
    later = submit(root, job(30, to="team--a", priority="HIGH", name="later"))
    assert (later["verdict"], later["inQuota"]) == ("admitted", 30)


def test_ac5_subpool_submission_routing(tmp_path: Path) -> None:
    root = repository(tmp_path, a=30)
    answer = submit(root, job(30), "--pool", "team--a")
    assert (answer["verdict"], answer["queue"], answer["quota"]) == ("admitted", A, 30)
    write(root, {"workflows/job.yaml": job(30, to="team--a")})
    (pod,) = rendered(root, "Pod")
    (group,) = rendered(root, "PodGroup")
    assert pod["metadata"]["labels"]["kai.scheduler/queue"] == group["spec"]["queue"] == A


def test_ac6_subpool_deletion_returns_quota_to_shared(tmp_path: Path) -> None:
    root = repository(tmp_path, a=30, b=40)
    assert leaves(root) == {SHARED: 30, A: 30, B: 40}
    edit(root, "delete", "team", "a", "--cluster-state", str(cluster(root, {})))
    assert state(root, "a") == "ARCHIVED"
    assert leaves(root) == {SHARED: 60, B: 40}


def test_ac7_non_preemptible_jobs_cannot_exceed_quota(tmp_path: Path) -> None:
    root = repository(tmp_path, a=90)
    write(root, {"workflows/first.yaml": job(8, priority="HIGH", name="first")})
    answer = submit(root, job(5, priority="HIGH"))
    assert (answer["verdict"], answer["queue"], answer["quota"], answer["used"]) == ("pending", SHARED, 10, 8)
    assert answer["message"] == "it asks for 5 GPUs, others use 8; the quota of team is 10: it stays Pending"
    write(root, {"workflows/second.yaml": job(5, priority="HIGH", name="second")})
    result = kubectl_tas("validate", "-C", root)
    assert result.code == 0
    assert "first, second ask for 13 GPUs together; the quota of team is 10: they cannot all run at once" in result.out
    assert rendered(root, "PodGroup")[1]["spec"]["preemptibility"] == "non-preemptible"


def test_ac7_alternative_low_priority_is_split(tmp_path: Path) -> None:
    root = repository(tmp_path, a=90)
    usage = str(cluster(root, {SHARED: 8}))
    for answer in (
        submit(root, job(5, priority="LOW"), "--used", "8"),
        submit(root, job(5, priority="LOW"), "--cluster-state", usage),
    ):
        assert (answer["verdict"], answer["inQuota"], answer["overQuota"]) == ("admitted", 2, 3)
        assert answer["message"] == "2 GPUs in quota, 3 over quota, preemptible"


def test_ac8_quota_update_synchronizes_shared_queue(tmp_path: Path) -> None:
    root = repository(tmp_path, a=30, b=40)
    assert leaves(root) == {SHARED: 30, A: 30, B: 40}
    edit(root, "update", "team", "b", "--quota", "50")
    assert leaves(root) == {SHARED: 20, A: 30, B: 50}


class TestShadowQueueRouting:
    def test_parent_submissions_go_to_the_shadow_queue(self, tmp_path: Path) -> None:
        for subpools in ({}, {"a": 30}):
            root = repository(tmp_path / str(len(subpools)), **subpools)
            assert submit(root, job(1))["queue"] == SHARED

    def test_subpool_submissions_go_to_the_subpool(self, tmp_path: Path) -> None:
        assert submit(repository(tmp_path, a=30), job(1, to="team--a"))["queue"] == A

    @pytest.mark.parametrize("name", ["team--shared", "team--_shared"])
    def test_shadow_queue_is_invisible(self, tmp_path: Path, name: str) -> None:
        root = repository(tmp_path, a=30)
        for command in (("pool", "list"), ("subpool", "list")):
            assert "shared" not in kubectl_tas(*command, "-C", root).out
        (root.parent / "job.yaml").write_text(job(1, to=name))
        result = kubectl_tas("admit", root.parent / "job.yaml", "-C", root)
        assert (result.code, result.out) == (1, "")
        assert "= help: To use what the pool shares, name the pool: team.\n" in result.err


class TestAdmissionRules:
    @pytest.mark.parametrize("priority", ["HIGH", "NORMAL"])
    @pytest.mark.parametrize(("gpus", "verdict"), [(10, "admitted"), (11, "rejected")])
    def test_parent_submissions_stay_within_what_is_unallocated(
        self, tmp_path: Path, priority: str, gpus: int, verdict: str
    ) -> None:
        assert submit(repository(tmp_path, a=90), job(gpus, priority=priority))["verdict"] == verdict

    def test_parent_submissions_with_low_priority_may_exceed_it(self, tmp_path: Path) -> None:
        answer = submit(repository(tmp_path, a=90), job(95, priority="LOW"))
        assert (answer["verdict"], answer["inQuota"], answer["overQuota"]) == ("admitted", 10, 85)

    def test_a_subpool_takes_submissions_while_active(self, tmp_path: Path) -> None:
        assert submit(repository(tmp_path, a=30), job(30, to="team--a"))["verdict"] == "admitted"

    @pytest.mark.parametrize("closed", ["DELETING", "ARCHIVED"])
    @pytest.mark.parametrize("priority", ["HIGH", "NORMAL", "LOW"])
    def test_a_subpool_takes_none_while(self, tmp_path: Path, closed: str, priority: str) -> None:
        root = repository(tmp_path, a=f"30 {closed}")
        answer = submit(root, job(1, to="team--a", priority=priority))
        assert (answer["verdict"], answer["rule"]) == ("rejected", "subpool-closed")
        assert answer["message"] == f"subpool team--a is {closed} and takes no workflows"

    def test_more_than_a_subpool_is_guaranteed_is_never_scheduled(self, tmp_path: Path) -> None:
        answer = submit(repository(tmp_path, a=30), job(31, to="team--a"))
        assert (answer["verdict"], answer["rule"]) == ("unschedulable", "over-quota")


class TestQuotaManagement:
    @pytest.mark.parametrize("frozen", ["DELETING", "ARCHIVED"])
    def test_updates_only_while_active(self, tmp_path: Path, frozen: str) -> None:
        root = repository(tmp_path, a=f"30 {frozen}")
        before = (root / "subpools/a.yaml").read_bytes()
        result = kubectl_tas("subpool", "update", "team", "a", "--quota", "10", "-C", root)
        assert result.code == 1
        assert f"cannot update team--a: it is {frozen}" in result.err
        assert (root / "subpools/a.yaml").read_bytes() == before

    def test_decreases_are_soft(self, tmp_path: Path) -> None:
        root = repository(tmp_path, a=30)
        write(root, {"workflows/job.yaml": job(25, to="team--a", priority="HIGH")})
        told = kubectl_tas("subpool", "update", "team", "a", "--quota", "10", "-C", root)
        assert (told.code, "team--a: lets Workflow/job run on" in told.out) == (0, True)
        assert kubectl_tas("validate", "--strict", "-C", root).code == 0
        assert len(rendered(root, "Pod")) == 1
        assert pool_list(root)[1] == ["└─", "team--a", "ONLINE", "ACTIVE", "10", "25", "-15"]

    def test_the_shadow_queue_is_adjusted(self, tmp_path: Path) -> None:
        root = repository(tmp_path, a=30)
        for quota in (0, 100, 7):
            edit(root, "update", "team", "a", "--quota", str(quota))
            assert leaves(root) == {SHARED: 100 - quota, A: quota}

    def test_quotas_never_add_up_to_more_than_the_pool(self, tmp_path: Path) -> None:
        root = repository(tmp_path, a=30, b=40)
        for arguments in (["create", "team", "c", "--quota", "31"], ["update", "team", "b", "--quota", "71"]):
            result = kubectl_tas("subpool", *arguments, "-C", root)
            assert result.code == 1
            assert "[quota-exceeds-pool]" in result.err
        assert leaves(root) == {SHARED: 30, A: 30, B: 40}

    def test_deleted_at_once_where_nothing_runs(self, tmp_path: Path) -> None:
        root = repository(tmp_path, a=30)
        edit(root, "delete", "team", "a", "--used", "0")
        assert (state(root, "a"), leaves(root)) == ("ARCHIVED", {SHARED: 100})

    def test_deleting_until_drained_where_anything_runs(self, tmp_path: Path) -> None:
        root = repository(tmp_path, a=30)
        edit(root, "delete", "team", "a", "--cluster-state", str(cluster(root, {A: 8})))
        assert (state(root, "a"), leaves(root)) == ("DELETING", {SHARED: 100, A: 0})
        edit(root, "drain", "--cluster-state", str(cluster(root, {A: 1})))
        assert state(root, "a") == "DELETING"
        edit(root, "drain", "--cluster-state", str(cluster(root, {A: 0})))
        assert (state(root, "a"), leaves(root)) == ("ARCHIVED", {SHARED: 100})

    def test_a_name_is_used_again_by_recreating_it(self, tmp_path: Path) -> None:
        root = repository(tmp_path, a="30 ARCHIVED")
        result = kubectl_tas("subpool", "create", "team", "a", "--quota", "20", "-C", root)
        assert (result.code, "Use: kubectl tas subpool recreate team a" in result.err) == (1, True)
        edit(root, "recreate", "team", "a")
        assert (state(root, "a"), leaves(root)) == ("ACTIVE", {SHARED: 70, A: 30})

    def test_rounding_leaves_the_rest_to_the_pool(self, tmp_path: Path) -> None:
        root = repository(tmp_path, guarantee=10)
        edit(root, "create", "team", "a", "--quota", "33%")
        assert leaves(root) == {SHARED: 7, A: 3}


class TestPriorityMapping:
    @pytest.mark.parametrize("priority", ["HIGH", "NORMAL"])
    def test_not_preemptible_and_within_quota(self, tmp_path: Path, priority: str) -> None:
        root = repository(tmp_path)
        write(root, {"workflows/job.yaml": job(5, priority=priority)})
        (group,) = rendered(root, "PodGroup")
        assert group["spec"]["preemptibility"] == "non-preemptible"
        answer = submit(root, job(96, priority=priority, name="other"))
        assert (answer["verdict"], answer["overQuota"]) == ("pending", 0)

    def test_low_is_preemptible_and_may_go_over_quota(self, tmp_path: Path) -> None:
        root = repository(tmp_path)
        write(root, {"workflows/job.yaml": job(120, priority="LOW")})
        (group,) = rendered(root, "PodGroup")
        assert group["spec"]["preemptibility"] == "preemptible"
        assert submit(root, job(120, priority="LOW", name="other"))["overQuota"] == 20
        assert pool_list(root) == [["team", "ONLINE", "-", "100", "0", "100"]]

    def test_each_priority_has_its_class(self, tmp_path: Path) -> None:
        root = repository(tmp_path)
        for priority in ("HIGH", "NORMAL", "LOW"):
            write(root, {"workflows/job.yaml": job(1, priority=priority)})
            (pod,) = rendered(root, "Pod")
            (group,) = rendered(root, "PodGroup")
            assert pod["spec"]["priorityClassName"] == group["spec"]["priorityClassName"] == f"osmo-{priority.lower()}"
        values = {item["metadata"]["name"]: item["value"] for item in rendered(root, "PriorityClass")}
        assert values == {"osmo-high": 125, "osmo-normal": 100, "osmo-low": 50}


class TestInheritance:
    def test_subpools_differ_in_their_quota_alone(self, tmp_path: Path) -> None:
        root = repository(tmp_path, a=30)
        text = pool().replace("guarantee: 100", "guarantee: 100\n      maximum: 150\n      weight: 3")
        write(root, {"pools/team.yaml": text})
        shares = {item["metadata"]["name"]: item["spec"]["resources"]["gpu"] for item in rendered(root, "Queue")}
        assert shares[A] == {"quota": 30, "limit": 150, "overQuotaWeight": 3}
        assert shares[SHARED] == {"quota": 70, "limit": 150, "overQuotaWeight": 3}


class TestNaming:
    @pytest.mark.parametrize("name", ["shared", "_shared", "_a", "a--b", "A", "a.b"])
    def test_names_that_are_refused(self, tmp_path: Path, name: str) -> None:
        root = repository(tmp_path)
        result = kubectl_tas("subpool", "create", "team", name, "--quota", "1", "-C", root)
        assert (result.code, result.out) == (1, "")
        assert "error: the subpool name " in result.err
        assert not (root / "subpools").exists()

    @pytest.mark.parametrize("name", ["123", "no", "null", "x" * 41, "0x1"])
    def test_names_that_are_taken(self, tmp_path: Path, name: str) -> None:
        root = repository(tmp_path)
        edit(root, "create", "team", name, "--quota", "1")
        assert leaves(root) == {SHARED: 99, f"osmo-pool-ns-team--{name}": 1}
