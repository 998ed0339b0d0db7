"""Tests what ``why`` says first where it knows the nodes: who holds them, and what no node has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.whycauses import FILES, LEVELS, Item, job, recorded_causes, saved

SHORT = "KAI finds nodes for 1 of 2 pods: "
OTHERS = "osmo-pool-default-{}--shared"
STARTED = "kai.scheduler/last-start-timestamp"
AT_SEVEN = "2026-11-23T03:30:00Z"
"""Half an hour before the last event of the state."""
RUNTIME = "  {}MinRuntime: 1h\n"


def of(items: list[Item], kind: str, name: str = "") -> Iterator[Item]:
    return (item for item in items if item["kind"] == kind and item["metadata"]["name"].startswith(name))


def answer(root: Path, tmp_path: Path, change: Callable[[list[Item]], None]) -> dict[str, Any]:
    """The answer about a gang of two pods with 8 GPUs each, where three other pods hold three of four nodes."""
    (busy,) = [cause for cause in recorded_causes() if cause.name == "busy"]
    change(busy.items)
    state = saved(tmp_path / "state.json", busy.items)
    found = kubectl_tas("-C", root, "workflow", "why", "train", f"--cluster-state={state}", "-o", "json")
    assert found.out, found.err
    return dict(json.loads(found.out)["workflows"][0])


def first(root: Path, tmp_path: Path, change: Callable[[list[Item]], None]) -> tuple[str, str, str]:
    """The first cause: its text, its hint, and the key of the file that it is about."""
    cause = answer(root, tmp_path, change)["causes"][0]
    place = cause["place"]
    line = (root / place["file"]).read_text().splitlines()[place["line"] - 1][: place["column"] - 1]
    return cause["text"], cause["hint"], f"{place['file']} {line.split('{')[-1].strip().rstrip(':')}"


def holds(target: str, *, preemptible: bool, started: str = "") -> Callable[[list[Item]], None]:
    def change(items: list[Item]) -> None:
        for group in of(items, "PodGroup", "pg-other"):
            preemptibility = "preemptible" if preemptible else "non-preemptible"
            group["spec"] |= {"queue": OTHERS.format(target), "preemptibility": preemptibility}
            group["metadata"]["annotations"] = {STARTED: started} if started else {}

    return change


@pytest.mark.parametrize(
    ("preemptible", "hint"),
    [(False, "ask for less"), (True, "have its guarantee lowered")],
)
def test_gpus_of_a_pool_within_its_guarantee_stay_there(preemptible: bool, hint: str, tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    assert first(root, tmp_path, holds("free", preemptible=preemptible)) == (
        f"{SHORT}pool free holds 24 GPUs (guarantee 96), and KAI takes none from a pool within its guarantee",
        f"Wait until work of pool free has ended, or {hint}.",
        "pools/free.yaml guarantee",
    )


@pytest.mark.parametrize("target", ["lab", "nobody"])
def test_who_holds_more_than_the_guarantee_or_is_unknown_is_not_blamed(target: str, tmp_path: Path) -> None:
    """KAI may take these GPUs."""
    root = write(tmp_path, FILES)
    text, hint, _ = first(root, tmp_path, holds(target, preemptible=True))
    assert text == f"{SHORT}4 nodes have too few free GPUs"
    assert hint.startswith("Wait until other work has ended, or ask for fewer GPUs a pod.")


@pytest.mark.parametrize(
    ("target", "holder", "field", "takes"),
    [
        ("team", "team", "preempt", "preempts"),
        ("free", "free", "reclaim", "reclaims"),
        ("lab", "dept", "reclaim", "reclaims"),
    ],
)
def test_low_work_that_has_just_started_is_left_alone(
    target: str, holder: str, field: str, takes: str, tmp_path: Path
) -> None:
    """A child pool has the time of the pool that is the neighbour of the work's own."""
    pools = {
        "team": pool("team", 32, f"      maximum: 40\n{RUNTIME.format('preempt')}{LEVELS}"),
        "free": pool("free", 8, RUNTIME.format("reclaim")),
        "dept": pool("dept", 16, f"      maximum: 32\n{RUNTIME.format('reclaim')}"),
    }
    root = write(tmp_path, {**FILES, f"pools/{holder}.yaml": pools[holder]})
    text, hint, place = first(root, tmp_path, holds(target, preemptible=True, started=AT_SEVEN))
    names = "pg-other-0-5a38de87-e252-4ae6-9c94-bb7deea6b391 and 2 more"
    assert text == (
        f"{SHORT}LOW work ({names}) holds 24 GPUs, and KAI {takes} none of it before 2026-11-23T04:30:00Z: "
        f"{field}MinRuntime is 1h"
    )
    assert hint == f"Wait until then, or have {field}MinRuntime of pool {holder} shortened."
    assert place == f"pools/{holder}.yaml {field}MinRuntime"


@pytest.mark.parametrize("started", ["2026-11-23T01:00:00Z", "", "yesterday"])
def test_low_work_whose_time_is_over_or_unknown_is_not_named(started: str, tmp_path: Path) -> None:
    team = pool("team", 32, f"      maximum: 40\n{RUNTIME.format('preempt')}{LEVELS}")
    root = write(tmp_path, {**FILES, "pools/team.yaml": team})
    text, *_ = first(root, tmp_path, holds("team", preemptible=True, started=started))
    assert text == f"{SHORT}4 nodes have too few free GPUs"


def test_the_time_is_that_of_the_pods_where_the_pod_group_has_none(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        holds("team", preemptible=True)(items)
        for pod in of(items, "Pod", "other"):
            pod["status"]["startTime"] = AT_SEVEN

    team = pool("team", 32, f"      maximum: 40\n{RUNTIME.format('preempt')}{LEVELS}")
    root = write(tmp_path, {**FILES, "pools/team.yaml": team})
    text, *_ = first(root, tmp_path, change)
    assert "none of it before 2026-11-23T04:30:00Z" in text


def test_nodes_that_lack_more_than_gpus_are_not_blamed_on_a_pool(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        says(items, "3 node(s) didn't have enough resources: GPUs. 1 node(s) didn't have enough resources: memory")

    text, *_ = first(write(tmp_path, FILES), tmp_path, change)
    assert text == f"{SHORT}3 nodes have too few free GPUs, 1 node has too little free memory"


def says(items: list[Item], *texts: str) -> None:
    """Lets KAI say this of the nodes, and nothing else."""
    for group in of(items, "PodGroup", "pg-train"):
        gang = "Resources were found for 1 pods while 2 are required for gang scheduling. Additional pods cannot be "
        words = [f"{gang}scheduled due to: no nodes with enough resources were found: {text}." for text in texts]
        reasons = [{"reason": "PodSchedulingErrors", "message": word} for word in words]
        group["status"] = {"schedulingConditions": [{"status": "True", "reasons": reasons}] if reasons else []}
    for pod in of(items, "Pod", "train"):
        pod["status"]["conditions"] = []
    items[:] = [item for item in items if item["kind"] != "Event"]


def leaves(items: list[Item]) -> None:
    """Frees all nodes."""
    items[:] = [
        item for item in items if not item.get("metadata", {}).get("name", "").startswith(("other", "pg-other"))
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "4 node(s) didn't match PersistentVolume's node affinity",
            "4 nodes have no access to a PersistentVolume of its pods: the volume is in another zone",
        ),
        ("4 node cannot NUMA-align the pod's resources", "4 nodes have no NUMA-aligned room for its pods"),
        (
            "3 node(s) didn't have enough resources: GPUs. 1 node has DiskPressure condition",
            "3 nodes have too few free GPUs, 1 node has the condition DiskPressure",
        ),
    ],
)
def test_fit_does_not_contradict_what_it_does_not_consider(text: str, line: str, tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        says(items, text)
        leaves(items)

    found = answer(write(tmp_path, FILES), tmp_path, change)
    assert found["fit"]["gangs"][0]["outcome"] == "fits"
    (cause,) = found["causes"]
    assert cause["text"].startswith(f"{SHORT}{line}")
    assert "fit finds room" not in cause["text"]


def test_fit_contradicts_what_it_considers(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        says(items, "4 node(s) didn't have enough resources: GPUs")
        leaves(items)

    (cause,) = answer(write(tmp_path, FILES), tmp_path, change)["causes"]
    assert cause["text"] == f"{SHORT}4 nodes have too few free GPUs; but now fit finds room for it"


def asks(resource: str, amount: object) -> dict[str, str]:
    """The files with a Job whose pods ask for an amount."""
    train = FILES["workflows/train.yaml"].replace("nvidia.com/gpu: 8", f"nvidia.com/gpu: 8, {resource}: {amount}")
    return {**FILES, "workflows/train.yaml": train}


LACKS = [
    ("rdma/hca", 1, "No node in the default node-pool has rdma/hca resources",
     "no node has what a pod asks for: 1 of rdma/hca, and the most that is free on one is 0", "Ask for less rdma/hca"),
    ("cpu", 200, "Max CPU resources available in a single node in the default node-pool is topped at 96 cores",
     "no node has the 200 CPU cores that a pod asks for: the largest has 96", "Ask for at most 96 CPU cores a pod"),
    ("ephemeral-storage", "2Ti",
     "Max ephemeral-storage resources available in a single node in the default node-pool is topped at 100 GB",
     "no node has what a pod asks for: 2199023255552 of ephemeral-storage, and the most that is free on one is 0",
     "Ask for at most 100 GB of ephemeral-storage a pod."),
]  # fmt: skip


@pytest.mark.parametrize(("resource", "amount", "message", "line", "hint"), LACKS)
def test_what_no_node_has_is_named_with_its_amount(
    resource: str, amount: object, message: str, line: str, hint: str, tmp_path: Path
) -> None:
    def change(items: list[Item]) -> None:
        requires = "The pod default/train-x requires GPU: 8, CPU: 200 (cores), memory: 0 (GB), pods: 1"
        says(items, f"{requires}. {message}")
        leaves(items)
        for pod in of(items, "Pod", "train"):
            for part in pod["spec"]["containers"][0]["resources"].values():
                part[resource] = str(amount)

    text, help_text, place = first(write(tmp_path, asks(resource, amount)), tmp_path, change)
    assert text == line
    assert help_text.startswith(hint)
    assert place.startswith("workflows/train.yaml")
    assert place.endswith(resource)


def test_gpus_that_are_not_healthy_are_named(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        top = "Max GPU resources available in a single node in the default node-pool is topped at 7"
        says(items, f"The pod default/train-x requires GPU: 8, CPU: 0 (cores), memory: 0 (GB), pods: 1. {top}")
        for node in of(items, "Node"):
            status = node["status"]
            status["capacity"] = dict(status["allocatable"])
            status["allocatable"]["nvidia.com/gpu"] = "7"
        leaves(items)

    text, hint, _ = first(write(tmp_path, FILES), tmp_path, change)
    assert text == (
        "no node has the 8 GPUs that a pod asks for: the largest has 7; node n1 has 8, of which 7 are healthy"
    )
    assert hint == "Mend the GPUs of node n1. Ask for at most 7 GPUs a pod, and for more pods."


def test_what_no_node_has_is_known_without_a_word_of_kai(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        says(items)
        for pod in of(items, "Pod", "train"):
            for part in pod["spec"]["containers"][0]["resources"].values():
                part["rdma/hca"] = "1"

    text, hint, _ = first(write(tmp_path, asks("rdma/hca", 1)), tmp_path, change)
    assert text.startswith("no node has what a pod asks for: ")
    assert "1 of rdma/hca, and the most that is free on one is 0" in text
    assert hint == "See below what nodes have room for."


@pytest.mark.parametrize(
    ("spec", "pod", "hint", "place"),
    [
        (
            "  nodes: {selector: {acme.io/pool: team}}\n",
            "",
            "the selector of pool team",
            "pools/team.yaml acme.io/pool",
        ),
        (
            "  platforms: {big: {nodes: {selector: {acme.io/pool: team}}}}\n  default_platform: big\n",
            "      nodeSelector: {acme.io/pool: team}\n",
            "the selector of pool team",
            "pools/team.yaml acme.io/pool",
        ),
        ("", "      nodeSelector: {acme.io/pool: team}\n", "nodeSelector", "workflows/train.yaml acme.io/pool"),
    ],
)
def test_a_selector_that_matches_no_node_has_its_line(
    spec: str, pod: str, hint: str, place: str, tmp_path: Path
) -> None:
    files = {
        **FILES,
        "pools/team.yaml": pool("team", 32, f"      maximum: 40\n{LEVELS}{spec}"),
        "workflows/train.yaml": job("train", "team", pod=pod),
    }

    def change(items: list[Item]) -> None:
        says(items, "4 node(s) didn't match Pod's node affinity/selector")
        leaves(items)
        for waiting in of(items, "Pod", "train"):
            waiting["spec"]["nodeSelector"] = {"acme.io/pool": "team"}

    text, help_text, found = first(write(tmp_path, files), tmp_path, change)
    assert text.startswith("no node can be used by its pods: 4 without the label acme.io/pool=team")
    assert (help_text, found) == (f"Label nodes with acme.io/pool=team, or change {hint}.", place)


FAILED = {"phase": "Failed", "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 1}}}]}


def fails(count: int, *, gone: bool = False, limit: int | None = None) -> Callable[[list[Item]], None]:
    """Lets pods of the Job fail."""

    def change(items: list[Item]) -> None:
        says(items)
        for train in of(items, "Job", "train"):
            train["spec"] |= {} if limit is None else {"backoffLimit": limit}
            train["status"] = {"failed": count}
        for pod in of(items, "Pod", "train"):
            pod["status"] = dict(FAILED)
        if gone:
            items[:] = [item for item in items if item["kind"] != "Pod" or "train" not in item["metadata"]["name"]]

    return change


LIMIT = "makes another until more than {} have failed (backoffLimit)"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (fails(0), f"2 pods of Job train have failed (Error: container main: exit 1): the Job has none now, and "
         f"{LIMIT.format(6)}"),
        (fails(2), f"2 pods of Job train have failed (Error: container main: exit 1): the Job has none now, and "
         f"{LIMIT.format(6)}"),
        (fails(3, gone=True), f"3 pods of Job train have failed: the Job has none now, and {LIMIT.format(6)}"),
        (fails(1, gone=True, limit=2**31 - 1),
         "1 pod of Job train has failed: the Job has none now, and makes another"),
        (fails(1, gone=True, limit=1), f"1 pod of Job train has failed: the Job has none now, and {LIMIT.format(1)}"),
    ],
)  # fmt: skip
def test_a_job_that_makes_other_pods_has_not_failed(
    change: Callable[[list[Item]], None], line: str, tmp_path: Path
) -> None:
    found = answer(write(tmp_path, FILES), tmp_path, change)
    assert found["state"] == "waits"
    cause = next(cause for cause in found["causes"] if cause["about"] == "failed")
    assert cause["text"] == line
    assert cause["hint"].startswith("Look at their logs: kubectl logs -l job-name=train")
    assert found["causes"][0] == cause


def test_a_job_beyond_its_limit_makes_no_other_pods(tmp_path: Path) -> None:
    found = answer(write(tmp_path, FILES), tmp_path, fails(2, limit=1))
    assert found["state"] == "failed"
    assert "do not start again" in found["causes"][0]["hint"]


def test_the_pod_in_place_of_a_failed_one_waits_for_room_first(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        fails(1)(items)
        one, *_ = of(items, "Pod", "train")
        again = {"phase": "Pending"}
        items += [{**one, "metadata": {**one["metadata"], "name": f"train-new-{at}"}, "status": again} for at in (1, 2)]

    found = answer(write(tmp_path, FILES), tmp_path, change)
    assert [cause["about"] for cause in found["causes"]] == ["room", "failed"]
    assert found["causes"][1]["text"].startswith("2 pods of Job train have failed (Error: container main: exit 1): the")
    assert "none now" not in found["causes"][1]["text"]


def sharded(name: str, **spec: Any) -> str:
    body = {"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": {"name": name}, "spec": spec}
    return json.dumps(body)


BLUE = {"pools/blue-shard.yaml": sharded("blue", partitionLabelValue="blue")}


@pytest.mark.parametrize(
    ("target", "field", "takes"), [("team", "preempt", "preempts"), ("lab", "reclaim", "reclaims")]
)
def test_the_shard_says_how_long_low_work_is_left_alone_if_its_pool_does_not(
    target: str, field: str, takes: str, tmp_path: Path
) -> None:
    pools = {
        "pools/team.yaml": pool("team", 32, f"      maximum: 40\n{LEVELS}"),
        "pools/dept.yaml": pool("dept", 16, "      maximum: 32\n"),
        "pools/shards.yaml": sharded("main", minRuntime={f"{field}MinRuntime": "1h"}),
    }
    root = write(tmp_path, {**FILES, **BLUE, **pools})
    text, hint, place = first(root, tmp_path, holds(target, preemptible=True, started=AT_SEVEN))
    assert text.endswith(f"KAI {takes} none of it before 2026-11-23T04:30:00Z: {field}MinRuntime is 1h0m0s")
    assert hint == f"Wait until then, or have {field}MinRuntime of SchedulingShard main shortened."
    assert place.startswith("pools/shards.yaml")


@pytest.mark.parametrize(("target", "action"), [("team", "preempt"), ("lab", "reclaim")])
def test_an_action_that_is_off_is_named(target: str, action: str, tmp_path: Path) -> None:
    pools = {
        "pools/team.yaml": pool("team", 32, f"      maximum: 40\n{LEVELS}"),
        "pools/dept.yaml": pool("dept", 16, "      maximum: 32\n"),
        "pools/shards.yaml": sharded("main", actions={action: {"enabled": False}}),
    }
    root = write(tmp_path, {**FILES, **BLUE, **pools})
    text, hint, _ = first(root, tmp_path, holds(target, preemptible=True))
    assert text.endswith(f"and KAI {action}s none of it: SchedulingShard main has the action {action} off")
    assert hint == f"Wait until it has ended, or have the action {action} turned on."
