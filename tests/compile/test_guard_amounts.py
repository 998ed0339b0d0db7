"""Tests the guard with quotas of cpu and memory: non-preemptible work may not ask for more than its quota."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.compile import cel
from tests.compile.test_guard import JOINED, LOW, NORMAL, Object, changed, group, pod, policies, stream, update
from tests.support.admission import Request, refusals, violations
from tests.support.cli import pool, subpool, write
from tests.support.golden import GOLDEN, case_input

CASE = GOLDEN / "manifests/guard-cpu-and-memory"
A, NONE = "osmo-pool-ml-team--a", "osmo-pool-ml-team--gpus"
"""A queue with 2.5 cpu and 4Gi, and one with neither."""
FREE, BENCH = "osmo-pool-ml-free--shared", "osmo-pool-lab-bench--shared"
"""A queue without quotas beside GPUs, and one of another cluster with 16 cpu and as much memory as there is."""
OVER = "the pod asks for {} {} and cannot be preempted, but queue {} is guaranteed {}"


@pytest.fixture(scope="module")
def guard() -> list[Object]:
    return policies(case_input(CASE), "--backend", "prod")


def container(cpu: str | None = None, memory: str | None = None, part: str = "requests", **fields: Any) -> Object:
    amounts = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount is not None}
    return {"name": "c", "image": "i", "resources": {part: amounts}, **fields}


def asks(
    *containers: Object, queue: str = A, init: tuple[Object, ...] = (), priority: int = NORMAL, **spec: Any
) -> Request:
    """A pod of these containers and init containers."""
    return changed(
        pod(queue, priority=priority),
        spec={"containers": list(containers), **({"initContainers": list(init)} if init else {}), **spec},
    )


def resized(old: Request, *containers: Object) -> Request:
    """Somebody changes what a pod asks for while it runs."""
    new = update(old, spec={"containers": list(containers)})
    return Request("pods/resize", new.new, new.old, new.namespace)


def sidecar(cpu: str) -> Object:
    return container(cpu, restartPolicy="Always")


TAKEN = {
    "as much as is guaranteed": asks(container("2.5", "4Gi")),
    "parts that come to as much": asks(*[container("0.1", "163840Ki")] * 25),
    "powers of ten and of two": asks(container("1e-1", "2Gi"), container(".4", "2G")),
    "limits above the requests": asks({"name": "c", "resources": {
        "requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "64", "memory": "64Gi"}}}),
    "init containers one after the other": asks(container("2"), init=(container("2.5"), container("2.5"))),
    "a sidecar that starts after what is large": asks(container("1"), init=(container("2"), sidecar("1"))),
    "the pod as a whole, which KAI does not count": asks(container("1"), resources={"requests": {"cpu": "9"}}),
    "nothing, where nothing is guaranteed": asks({"name": "c"}, queue=NONE),
    "what can be preempted": asks(container("64", "1Ti"), priority=LOW),
    "a queue without a quota of them": asks(container("640", "10Ti"), queue=FREE),
    "a size that shrinks to what is guaranteed": resized(asks(container("3", "5Gi")), container("2.5", "4Gi")),
    "a larger size of what can be preempted": resized(asks(container("1"), priority=LOW), container("64")),
    "a size that grows to what is guaranteed": resized(asks(container("1", "1Gi")), container("2.5", "4Gi")),
    "work of nobody's queue": asks(container("64"), queue="", schedulerName="default-scheduler"),
}  # fmt: skip
REFUSED = {
    "cpu": (asks(container("2501m", "4Gi")), [OVER.format("2.501", "cpu", A, "2.5")]),
    "cpu in thousands": (asks(container("1e3")), [OVER.format("1000", "cpu", A, "2.5")]),
    "cpu of many containers": (asks(*[container("100m")] * 26), [OVER.format("2.6", "cpu", A, "2.5")]),
    "memory": (asks(container("1", "4097Mi")), [OVER.format("4097Mi", "memory", A, "4Gi")]),
    "memory by a byte": (asks(container("1", "4294967297")), [OVER.format("4294967297", "memory", A, "4Gi")]),
    "both": (
        asks(container("3", "5Gi")), [OVER.format("3", "cpu", A, "2.5"), OVER.format("5Gi", "memory", A, "4Gi")]
    ),
    "limits without requests": (asks(container("3", part="limits")), [OVER.format("3", "cpu", A, "2.5")]),
    "an init container": (asks(container("1"), init=(container("3"),)), [OVER.format("3", "cpu", A, "2.5")]),
    "a sidecar beside a container": (
        asks(container("2"), init=(sidecar("1"),)), [OVER.format("3", "cpu", A, "2.5")]
    ),
    "a sidecar beside an init container": (
        asks(container("1"), init=(sidecar("1"), container("2"))), [OVER.format("3", "cpu", A, "2.5")]
    ),
    "overhead": (
        asks(container("2"), overhead={"cpu": "750m", "memory": "1Mi"}), [OVER.format("2.75", "cpu", A, "2.5")]
    ),
    "anything, where nothing is guaranteed": (
        asks(container("1m", "1Mi"), queue=NONE),
        [OVER.format("0.001", "cpu", NONE, "0"), OVER.format("1Mi", "memory", NONE, "0")],
    ),
    "more than a number holds": (
        asks(container("9e15"), container("9e15")), [OVER.format("9000000000000000", "cpu", A, "2.5")]
    ),
    "a larger size": (
        resized(asks(container("2")), container("3", "5Gi")),
        [OVER.format("3", "cpu", A, "2.5"), OVER.format("5Gi", "memory", A, "4Gi")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name: str, guard: list[Object]) -> None:
    assert refusals(guard, TAKEN[name]) == []


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, guard: list[Object]) -> None:
    request, messages = REFUSED[name]
    assert refusals(guard, request) == messages


@pytest.mark.parametrize(
    "large",
    [
        changed(asks(container("3", "4Gi"), priority=LOW), **JOINED),
        resized(changed(asks(container("1", "4Gi"), priority=LOW), **JOINED), container("3", "4Gi")),
    ],
    ids=["created", "resized"],
)
def test_a_member_of_a_podgroup_that_cannot_be_preempted(large: Request, guard: list[Object]) -> None:
    message = f"the pod asks for 3 cpu, and PodGroup g cannot be preempted, but queue {A} is guaranteed 2.5"
    assert refusals(guard, large, [group(A, "osmo-high").new]) == [message]
    assert refusals(guard, large, [group(A, "osmo-low").new]) == []
    assert refusals(guard, large, [group(A, "osmo-high", name="other").new]) == []


def test_a_resource_that_has_no_quota_anywhere_is_not_compared() -> None:
    bench = policies(case_input(CASE), "--backend", "lab")
    fits, over = (asks(container(cpu, "10Ti"), queue=BENCH) for cpu in ("16", "17"))
    assert refusals(bench, Request("pods", fits.new, namespace="lab")) == []
    assert refusals(bench, Request("pods", over.new, namespace="lab")) == [OVER.format("17", "cpu", BENCH, "16")]
    assert {name for item in bench for name in names(item) if "emory" in name} == set()


def test_each_resource_that_is_too_much_is_named(guard: list[Object]) -> None:
    container_of_4_cpu = pod(A, 9, priority=NORMAL)
    gpus = f"the pod asks for 9 GPUs and cannot be preempted, but queue {A} is guaranteed 8"
    assert refusals(guard, container_of_4_cpu) == [gpus, OVER.format("4", "cpu", A, "2.5")]


@pytest.mark.parametrize("backend", ["prod", "lab"])
def test_a_server_takes_the_policies(backend: str) -> None:
    items = policies(case_input(CASE), "--backend", backend)
    assert [violations(item) for item in items] == [[]] * 10


def test_what_is_rendered_is_taken() -> None:
    objects = stream(case_input(CASE), "--backend", "prod")
    (work,) = (item for item in objects if item["kind"] == "Pod")
    filled = {**work, "spec": {**work["spec"], "priority": NORMAL}}
    assert refusals(objects, Request("pods", filled)) == []


def test_where_no_queue_has_such_quotas_nothing_looks_at_them(repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 30)})
    items = policies(repository, "--guard")
    assert {name for item in items for name in names(item) if "cpu" in name or "memory" in name} == set()
    assert "resize" not in str(items)


def test_queues_in_several_expressions(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cel, "MAX_ENTRIES", 2)
    files = {
        f"subpools/{name}.yaml": subpool(name, 1).replace("quota: 1", f"quota: {{gpu: 1, cpu: {cores}}}")
        for cores, name in enumerate("abcde", 1)
    }
    resources = "apiVersion: tas/v1alpha1\nkind: Pool\nmetadata: {name: team}\nspec:\n  resources: "
    write(repository, {**files, "pools/team.yaml": resources + "{gpu: {guarantee: 100}, cpu: {guarantee: 100}}\n"})
    items = policies(repository, "--guard")
    assert [violations(item) for item in items] == [[]] * 10
    for cores, name in enumerate("abcde", 1):
        queue = f"osmo-pool-default-team--{name}"
        fits, over = (asks(container(f"{cores}.{part}"), queue=queue).new for part in ("0", "5"))
        assert refusals(items, Request("pods", fits, namespace="default")) == []
        expected = OVER.format(f"{cores}.5", "cpu", queue, cores)
        assert refusals(items, Request("pods", over, namespace="default")) == [expected]


def names(item: Object) -> list[str]:
    """The variables of a policy."""
    return [variable["name"] for variable in item["spec"].get("variables", ())]
