"""The guard: an API server takes its policies, and they refuse what bypasses the repository and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_tas.compile import guard as guard_module
from kubectl_tas.compile.guard import MAX_ENTRIES
from kubectl_tas.gpus import GPU, cel_of_pod
from kubectl_tas.model.podtemplate import PodTemplate
from tests.support.admission import MAX_EXPRESSION, Object, Request, evaluate, refusals, violations
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, case_input

CASE = GOLDEN / "manifests/guard"
KINDS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
TEAM, SCRATCH = "osmo-pool-ml-team", "osmo-pool-ml-scratch--shared"
LAB = "osmo-pool-lab-bench--shared"
QUEUE, PREEMPTIBILITY = "kai.scheduler/queue", "kai.scheduler/preemptibility"
NORMAL, LOW = 100, 50


def stream(root: Path, *arguments: str) -> list[Object]:
    result = kubectl_tas("render", "-o", "-", *arguments, "-C", root)
    assert result.code == 0, result.err
    return list(yaml.safe_load_all(result.out))


def policies(root: Path, *arguments: str) -> list[Object]:
    return [item for item in stream(root, *arguments) if item["kind"] in KINDS]


@pytest.fixture(scope="module")
def guard() -> list[Object]:
    """What guards the namespace ml."""
    return policies(case_input(CASE), "--backend", "prod")


def container(gpus: int | str | None, name: str = "c", **fields: Any) -> Object:
    resources = {} if gpus is None else {"resources": {"limits": {"cpu": "4", "nvidia.com/gpu": str(gpus)}}}
    return {"name": name, "image": "i", **resources, **fields}


def pod(
    queue: str | None,
    *gpus: int | str | None,
    priority: int | None = LOW,
    scheduler: str | None = "kai-scheduler",
    preemptibility: str | None = None,
    first: tuple[int, ...] = (),
) -> Request:
    """Somebody creates a Pod; by the time that policies see it, a server has filled in its priority."""
    labels = {key: value for key, value in ((QUEUE, queue), (PREEMPTIBILITY, preemptibility)) if value is not None}
    spec = {
        "containers": [container(number) for number in gpus or (None,)],
        **({"initContainers": [container(number) for number in first]} if first else {}),
        **({"priority": priority} if priority is not None else {}),
        **({"schedulerName": scheduler} if scheduler else {}),
    }
    metadata = {"name": "p", **({"labels": labels} if labels else {})}
    return Request("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def pod_group(queue: str | None) -> Object:
    spec: Object = {"minMember": 1, **({"queue": queue} if queue is not None else {})}
    return {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": spec}


NO_LEAF = "queue {} is not a leaf queue of a declared pool"
NO_QUEUE = "no queue is named; use a leaf queue of a declared pool"
CLOSED = "queue {} is DELETING and takes no new work"
TOO_MANY = "the pod asks for {} GPUs and cannot be preempted, but queue {} is guaranteed {}"

TAKEN = {
    "leaf": pod(f"{TEAM}--a", 8, priority=NORMAL),
    "shadow-queue": pod(f"{TEAM}--shared", 8, priority=NORMAL),
    "all-of-the-quota": pod(f"{TEAM}--a", 30, priority=NORMAL),
    "low-over-quota": pod(f"{TEAM}--a", 31, priority=LOW),
    "default-priority-over-quota": pod(f"{TEAM}--a", 31, priority=0),
    "no-priority-over-quota": pod(f"{TEAM}--a", 31, priority=None),
    "marked-preemptible-over-quota": pod(f"{TEAM}--a", 31, priority=125, preemptibility="preemptible"),
    "no-limit": pod(SCRATCH, 5000, priority=125),
    "no-gpus-where-none-are-guaranteed": pod(f"{TEAM}--cpu", None, priority=125),
    "init-container-of-the-same-gpus": pod(f"{TEAM}--a", 30, priority=NORMAL, first=(30, 30)),
    "infrastructure": pod(None, None, scheduler="default-scheduler"),
    "infrastructure-of-high-priority": pod(None, None, scheduler=None, priority=2_000_001_000),
    "zero-gpus": pod(None, 0, scheduler=None),
    "elsewhere": Request("pods", pod("nowhere", 8).new, namespace="kube-system"),
    "update-of-a-pod": Request("pods", pod("nowhere", 8).new, pod("nowhere", 8).new),
    "podgroup": Request("podgroups", pod_group(f"{TEAM}--a")),
    "podgroup-elsewhere": Request("podgroups", pod_group("nowhere"), namespace="lab"),
    "podgroup-moves-to-a-leaf": Request("podgroups", pod_group(f"{TEAM}--a"), pod_group("nowhere")),
    "podgroup-stays-where-it-drains": Request("podgroups", pod_group(f"{TEAM}--b"), pod_group(f"{TEAM}--b")),
    "podgroup-stays-where-no-queue-is": Request("podgroups", pod_group("gone"), pod_group("gone")),
}
REFUSED = {
    "unknown-queue": (pod("nowhere", 1), [NO_LEAF.format("nowhere")]),
    "container-queue": (pod(TEAM, 1), [NO_LEAF.format(TEAM)]),
    "root-queue": (pod("osmo-default-ml", 1), [NO_LEAF.format("osmo-default-ml")]),
    "archived-subpool": (pod(f"{TEAM}--c", 1), [NO_LEAF.format(f"{TEAM}--c")]),
    "queue-of-another-cluster": (pod(LAB, 1), [NO_LEAF.format(LAB)]),
    "unknown-queue-without-gpus": (pod("nowhere", None, scheduler=None), [NO_LEAF.format("nowhere")]),
    "unknown-queue-over-any-quota": (pod("nowhere", 9000, priority=NORMAL), [NO_LEAF.format("nowhere")]),
    "no-queue": (pod(None, 1), [NO_QUEUE]),
    "no-queue-without-gpus": (pod(None, None), [NO_QUEUE]),
    "no-queue-for-another-scheduler": (pod(None, 1, scheduler="default-scheduler"), [NO_QUEUE]),
    "gpus-of-an-init-container-alone": (pod(None, None, first=(1,), scheduler=None), [NO_QUEUE]),
    "an-empty-queue": (pod("", 1), [NO_QUEUE]),
    "deleting": (pod(f"{TEAM}--b", 1), [CLOSED.format(f"{TEAM}--b")]),
    "deleting-without-gpus": (pod(f"{TEAM}--b", None, priority=NORMAL), [CLOSED.format(f"{TEAM}--b")]),
    "over-quota": (pod(f"{TEAM}--a", 31, priority=NORMAL), [TOO_MANY.format(31, f"{TEAM}--a", 30)]),
    "over-quota-of-the-shadow-queue": (
        pod(f"{TEAM}--shared", 71, priority=125), [TOO_MANY.format(71, f"{TEAM}--shared", 70)]
    ),
    "over-quota-in-several-containers": (
        pod(f"{TEAM}--a", 20, None, 11, priority=NORMAL), [TOO_MANY.format(31, f"{TEAM}--a", 30)]
    ),
    "over-quota-in-an-init-container": (
        pod(f"{TEAM}--a", 8, priority=NORMAL, first=(1, 31)), [TOO_MANY.format(31, f"{TEAM}--a", 30)]
    ),
    "over-quota-in-thousands": (
        pod(f"{TEAM}--a", "1k", priority=NORMAL), [TOO_MANY.format(1000, f"{TEAM}--a", 30)]
    ),
    "over-no-quota": (pod(f"{TEAM}--cpu", 1, priority=NORMAL), [TOO_MANY.format(1, f"{TEAM}--cpu", 0)]),
    "marked-non-preemptible-over-quota": (
        pod(f"{TEAM}--a", 31, preemptibility="non-preemptible"), [TOO_MANY.format(31, f"{TEAM}--a", 30)]
    ),
    "marked-with-nonsense-over-quota": (
        pod(f"{TEAM}--a", 31, priority=NORMAL, preemptibility="perhaps"), [TOO_MANY.format(31, f"{TEAM}--a", 30)]
    ),
    "podgroup-in-no-leaf": (Request("podgroups", pod_group(TEAM)), [NO_LEAF.format(TEAM)]),
    "podgroup-without-queue": (Request("podgroups", pod_group(None)), [NO_QUEUE]),
    "podgroup-without-spec": (Request("podgroups", {"apiVersion": "scheduling.run.ai/v2alpha2"}), [NO_QUEUE]),
    "podgroup-where-it-drains": (Request("podgroups", pod_group(f"{TEAM}--b")), [CLOSED.format(f"{TEAM}--b")]),
    "podgroup-moves-to-no-leaf": (
        Request("podgroups", pod_group("nowhere"), pod_group(f"{TEAM}--a")), [NO_LEAF.format("nowhere")]
    ),
    "podgroup-moves-where-it-drains": (
        Request("podgroups", pod_group(f"{TEAM}--b"), pod_group(f"{TEAM}--a")), [CLOSED.format(f"{TEAM}--b")]
    ),
    "podgroup-loses-its-queue": (Request("podgroups", pod_group(None), pod_group(f"{TEAM}--a")), [NO_QUEUE]),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name: str, guard: list[Object]) -> None:
    assert refusals(guard, TAKEN[name]) == []


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, guard: list[Object]) -> None:
    request, messages = REFUSED[name]
    assert refusals(guard, request) == messages


@pytest.mark.parametrize("backend", ["prod", "lab"])
def test_a_server_takes_the_policies(backend: str) -> None:
    items = policies(case_input(CASE), "--backend", backend)
    assert sorted(item["kind"] for item in items) == [KINDS[0]] * 2 + [KINDS[1]] * 2
    assert [violations(item) for item in items] == [[]] * 4


def test_the_names_of_the_scheduler_count(guard: list[Object]) -> None:
    lab = policies(case_input(CASE), "--backend", "lab")
    ours = Request("pods", pod(None, None, scheduler="kai-lab").new, namespace="lab")
    theirs = Request("pods", pod(None, None, scheduler="kai-scheduler").new, namespace="lab")
    assert (refusals(lab, ours), refusals(lab, theirs)) == ([NO_QUEUE], [])


@pytest.mark.parametrize("backend", ["prod", "lab"])
def test_what_is_rendered_is_taken(backend: str) -> None:
    """The guard lets by what comes from the repository."""
    objects = stream(case_input(CASE), "--backend", backend)
    classes = {item["metadata"]["name"]: item["value"] for item in objects if item["kind"] == "PriorityClass"}
    for item in objects:
        if item["kind"] == "Pod":
            filled = {**item, "spec": {**item["spec"], "priority": classes[item["spec"]["priorityClassName"]]}}
            assert refusals(objects, Request("pods", filled)) == []
        elif item["kind"] == "PodGroup":
            assert refusals(objects, Request("podgroups", item)) == []


class TestWhen:
    @pytest.fixture
    def team(self, repository: Path) -> Path:
        return write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 30)})

    def test_only_when_it_is_asked_for(self, team: Path) -> None:
        assert policies(team) == []
        assert len(policies(team, "--guard")) == 4
        write(team, {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\nspec: {guard: true}\n"})
        assert len(policies(team)) == 4

    def test_files(self, team: Path) -> None:
        assert kubectl_tas("render", "--guard", "-C", team).code == 0
        assert kubectl_tas("check", "--guard", "-C", team).code == 0
        names = [
            f"{part}-osmo-guard-default-{what}.yaml" for part in ("binding", "policy") for what in ("podgroups", "pods")
        ]
        assert sorted(path.name for path in (team / "manifests/guard").iterdir()) == names
        assert kubectl_tas("render", "-C", team).code == 0
        assert not (team / "manifests/guard").exists()

    def test_not_for_another_scheduler(self) -> None:
        assert policies(case_input(CASE), "--backend", "plain") == []

    def test_not_for_a_cluster_without_pools(self, repository: Path) -> None:
        config = "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  backends: [{name: a, namespace: a}, {name: b}]\n"
        write(repository, {"tas.yaml": config, "pools/team.yaml": pool(spec="  backend: a\n")})
        assert len(policies(repository, "--guard", "--backend", "a")) == 4
        assert policies(repository, "--guard", "--backend", "b") == []


def test_no_expression_is_longer_than_a_server_takes(repository: Path) -> None:
    """With queue names of 63 characters, and a third of the queues DELETING."""
    states = {True: "DELETING", False: "ACTIVE"}
    names = [f"{'x' * 33}-{index:05}" for index in range(2 * MAX_ENTRIES)]
    text = "---\n".join(subpool(name, 1, state=states[index % 3 == 0]) for index, name in enumerate(names))
    write(repository, {"pools/team.yaml": pool(guarantee=len(names)), "subpools/all.yaml": text})
    items = policies(repository, "--guard")
    assert [violations(item) for item in items] == [[]] * 4
    longest = max(len(part["expression"]) for item in items for part in item["spec"].get("variables", ()))
    assert MAX_EXPRESSION / 4 < longest < MAX_EXPRESSION / 2


def test_queues_in_several_expressions(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_module, "MAX_ENTRIES", 2)
    closed, open_ = "abcde", "fghij"
    text = "---\n".join(subpool(name, 1, state="DELETING" if name in closed else "ACTIVE") for name in closed + open_)
    write(repository, {"pools/team.yaml": pool(), "subpools/all.yaml": text})
    items = policies(repository, "--guard")
    assert [violations(item) for item in items] == [[]] * 4
    for name in (*closed, *open_, "none", "shared"):
        queue = f"osmo-pool-default-team--{name}"
        expected = CLOSED.format(queue) if name in closed else NO_LEAF.format(queue)
        if name in open_ or name == "shared":
            expected = TOO_MANY.format(96, queue, 95 if name == "shared" else 1)
        over = Request("pods", pod(queue, 96, priority=NORMAL).new, namespace="default")
        assert refusals(items, over) == [expected]


def test_a_sidecar_counts_beside_the_containers(guard: list[Object]) -> None:
    """16 GPUs of a sidecar and 16 of a container are 32, more than the 30 of the queue."""
    spec = {
        "containers": [container(16)],
        "initContainers": [container(16, "sidecar", restartPolicy="Always")],
        "priority": NORMAL,
        "schedulerName": "kai-scheduler",
    }
    request = pod(f"{TEAM}--a")
    request.new["spec"] = spec
    (message,) = refusals(guard, request)
    assert message.startswith("the pod asks for 32 GPUs and cannot be preempted")


CONTAINERS = st.lists(st.tuples(st.none() | st.integers(0, 9), st.booleans(), st.booleans()), max_size=4)
"""Amounts of GPUs, whether only requested, and whether of sidecars where they are of init containers."""


@settings(max_examples=150, deadline=None)
@given(CONTAINERS, CONTAINERS.filter(len))
def test_policies_count_gpus_as_files_are_counted(init: list[Any], containers: list[Any]) -> None:
    def parts(found: list[Any], prefix: str) -> list[Object]:
        return [
            {
                "name": f"{prefix}{number}",
                "image": "i",
                **({} if gpus is None else {"resources": {"requests" if asks else "limits": {GPU: str(gpus)}}}),
                **({"restartPolicy": "Always"} if restarts and prefix == "i" else {}),
            }
            for number, (gpus, asks, restarts) in enumerate(found)
        ]

    spec = {"containers": parts(containers, "c"), **({"initContainers": parts(init, "i")} if init else {})}
    counted = PodTemplate.model_validate({"spec": spec}).spec.gpus
    assert evaluate(cel_of_pod("object.spec"), {"object": {"spec": spec}}) == counted
