"""Tests ``workflow why``: why work is pending, from the cluster, the files and the nodes."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import grove
from tests.support.cli import Result, kubectl_tas, pool, write
from tests.support.golden import GOLDEN, at, case_input
from tests.support.kubectl import FakeKubectl, pod_group, queue
from tests.support.pyyaml import safe_load_all

CASE = GOLDEN / "commands/workflow-why"
FIT = GOLDEN / "commands/fit"
STATE = f"--cluster-state={CASE / 'cluster.json'}"
Item = dict[str, Any]
Change = Callable[[list[Item]], None]
QUOTA, RACK, RUNS = "over-quota-workers-8311a4c8", "one-rack-workers-23f551ae", "running-workers-3942d965"


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKubectl:
    return FakeKubectl(tmp_path, monkeypatch)


def why(*arguments: str | Path, root: Path | None = None) -> Result:
    return kubectl_tas("-C", root or case_input(CASE), "workflow", "why", *arguments)


def answer(name: str, file: Path | str, code: int = 1, root: Path | None = None) -> Item:
    result = why(name, f"--cluster-state={file}", "-o", "json", root=root)
    assert result.code == code, result.err
    (found,) = json.loads(result.out)["workflows"]
    return dict(found)


def changed(folder: Path, change: Change) -> Path:
    """The cluster of the case, in which something is otherwise."""
    items = json.loads((CASE / "cluster.json").read_text())["items"]
    change(items)
    return saved(folder, *items)


def saved(folder: Path, *items: Item) -> Path:
    (folder / "cluster.json").write_text(json.dumps({"items": items}))
    return folder / "cluster.json"


def own(items: list[Item], kind: str, name: str) -> list[Item]:
    return [item for item in items if item["kind"] == kind and item["metadata"]["name"].startswith(name)]


def says(items: list[Item], name: str, *messages: str, reason: str = "Unschedulable") -> None:
    """Has the PodGroup of that name say this, and nothing else, of why it waits."""
    (group,) = own(items, "PodGroup", name)
    group["status"]["schedulingConditions"][0]["reasons"] = [{"reason": reason, "message": text} for text in messages]


def abouts(found: Item) -> list[str]:
    return [cause["about"] for cause in found["causes"]]


@pytest.mark.parametrize("output", ["text", "json"])
def test_golden(output: str, snapshot: Any) -> None:
    result = why("workflows/all.yaml", STATE, "-o", output)
    assert (result.code, result.err) == (1, "")
    assert result.out == snapshot(extension_class=at(CASE / f"output.{'txt' if output == 'text' else 'json'}"))


def test_the_start_is_that_of_a_forecast_of_what_the_cluster_has(tmp_path: Path) -> None:
    """Work that only files have takes no room; what runs ends at its limit; a number names what else keeps it."""
    found = answer("one-rack", CASE / "cluster.json")["start"]
    assert (found["outcome"], found["because"]) == ("unknown", "running and half-there have no limit")
    assert "Starts:    at once, when cause 1 is gone" in why("half-there", STATE).out
    assert answer("running", CASE / "cluster.json", code=0)["start"] is None
    root = shutil.copytree(case_input(CASE), tmp_path / "repository")
    text = (root / "workflows/all.yaml").read_text()
    limited = text.replace("  name: running\n", "  name: running\n  timeout: {exec_timeout: 2h}\n")
    (root / "workflows/all.yaml").write_text(limited)

    def started(items: list[Item]) -> None:
        items[:] = [item for item in items if not item["metadata"]["name"].startswith(("one-rack", "half-there"))]
        for pod in own(items, "Pod", "running"):
            pod["status"]["startTime"] = "2026-11-22T08:30:00Z"

    file = changed(tmp_path, started)
    explained = json.loads(kubectl_tas("-C", root, "explain", "running", "-o", "json").out)
    file.write_text(file.read_text().replace(RUNS, explained["podGroups"][0]["name"]))
    (line,) = re.findall("Starts: .*", why("over-quota", f"--cluster-state={file}", root=root).out)
    assert line == "Starts:    after 1 h: running ends at the latest then, and the quota of research--vision has room"


def test_a_start_that_takes_long_to_play_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubectl_tas.cli.starts.OF_WHY", (0, 0))
    found = answer("over-quota", CASE / "cluster.json")["start"]
    assert (found["outcome"], found["startsAfterSeconds"]) == (None, None)
    assert "Starts:    not at once: what comes later takes long to play" in why("over-quota", STATE).out


def test_work_that_runs_is_well_whatever_was_said_before_it_started() -> None:
    """KAI before 0.17.0 never takes the condition of a PodGroup away."""
    found = answer("running", CASE / "cluster.json", code=0)
    assert (found["state"], found["causes"], found["fit"]["gangs"]) == ("runs", [], [])


SAYINGS = [
    ("QueueDoesNotExist", "Queue 'gone' does not exist", "queue", "all.yaml", 3),
    ("OverLimit", "q quota has reached the allowable limit of GPUs. Limit is 16 GPUs", "quota", "research.yaml", 7),
    ("NonPreemptibleOverQuota", "Workload requested 24 GPUs, but osmo-pool-default-research quota is 96 GPUs",
     "quota", "research.yaml", 7),
    ("PreemptionDelayNotElapsed", "Workload is within its preemption delay window (5m0s)", "delay", "all.yaml", 2),
    ("PodSchedulingErrors", "Requested topology racks does not exist", "differs", "all.yaml", 2),
    ("PodSchedulingErrors", "Resources were found for 1 pods while 3 are required", "room", "all.yaml", 2),
    ("Unschedulable", "OverLimit: q quota has reached the allowable limit of GPUs", "quota", "vision.yaml", 7),
    ("Unschedulable", "A reason of a later release", "other", "all.yaml", 2),
]  # fmt: skip
"""Reasons of KAI 0.12 to 0.17, what each is about, and where the files say that."""


@pytest.mark.parametrize(("reason", "message", "about", "file", "line"), SAYINGS)
def test_what_kai_says_stands_beside_the_file(
    reason: str, message: str, about: str, file: str, line: int, tmp_path: Path
) -> None:
    def change(items: list[Item]) -> None:
        says(items, QUOTA, message, reason=reason)
        for item in own(items, "Pod", QUOTA):
            item["status"].pop("conditions")
        items[:] = [item for item in items if item["kind"] != "Event"]

    found = answer("over-quota", changed(tmp_path, change))
    (cause,) = [cause for cause in found["causes"] if cause["about"] == about]
    assert [(item["reason"], item["text"]) for item in cause["said"]] == [(reason, message)]
    assert (Path(cause["place"]["file"]).name, cause["place"]["line"]) == (file, line)


@pytest.mark.parametrize("length", [400, 401])
def test_a_page_has_four_hundred_characters_of_a_message(length: int, tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        says(items, QUOTA, "x" * length, reason="NonPreemptibleOverQuota")

    page = why("over-quota", f"--cluster-state={changed(tmp_path, change)}").out
    assert ("x" * 400 + ("...\n" if length > 400 else "\n")) in page
    assert "x" * 401 not in page


def test_a_page_has_five_pod_groups(tmp_path: Path) -> None:
    groups = "".join(f"  - name: g{n}\n    tasks: [{{name: t{n}, image: i}}]\n" for n in range(8))
    workflow = f"workflow:\n  name: many\n  pool: team\n  groups:\n{groups}"
    root = write(tmp_path, {"tas.yaml": "", "pools/team.yaml": pool(), "workflows/many.yaml": workflow})
    rendered = safe_load_all(kubectl_tas("render", "-C", root, "--to", "-").out)
    made = [item for item in rendered if item["kind"] == "PodGroup"]
    page = why("many", f"--cluster-state={saved(tmp_path, *made)}", root=root).out
    assert re.search("^More: +3 PodGroups; -o json has all$", page, re.MULTILINE)


def test_events_without_a_time(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        for item in items:
            for moment in ("lastTimestamp", "eventTime", "series"):
                item.pop(moment, None)

    page = why("over-quota", f"--cluster-state={changed(tmp_path, change)}").out
    assert re.search(r"Repeated: +by 3 pods, \d+ times in events\n", page)


def test_a_message_without_reasons_is_read(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        (group,) = own(items, "PodGroup", RACK)
        del group["status"]["schedulingConditions"][0]["reasons"]

    found = answer("one-rack", changed(tmp_path, change))
    assert found["causes"][0]["said"][0]["text"].startswith("Unable to schedule podgroup: node-group a.1 can")


def test_causes_come_in_the_order_in_which_they_must_go(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        (group,) = own(items, "PodGroup", RACK)
        quota = {"reason": "NonPreemptibleOverQuota", "message": "over quota"}
        group["status"]["schedulingConditions"][0]["reasons"].append(quota)
        for item in own(items, "Event", f"{RACK}-a"):
            item |= {"reason": "FailedBinding", "message": f"Failed to bind pod default/{RACK}-a to node n1"}

    found = answer("one-rack", changed(tmp_path, change))
    assert abouts(found) == ["quota", "topology", "binding"]
    assert found["causes"][2]["said"][0]["text"] == "Failed to bind pod POD to node n1"


def test_without_pods_the_pod_groups_tell(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        items[:] = [item for item in items if item["kind"] != "Pod"]

    file = changed(tmp_path, change)
    assert answer("running", file, code=0)["state"] == "runs"
    assert abouts(answer("over-quota", file)) == ["quota"]
    assert "PodGroup:   default/one-rack-workers-23f551ae: pods not known; starts with 3\n" in (
        why("one-rack", f"--cluster-state={file}").out
    )


def test_what_is_refused_before_the_scheduler(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        items[:] = [item for item in items if item not in own(items, "PodGroup", QUOTA)]
        for item in own(items, "Event", f"{QUOTA}-"):
            item |= {"reason": "PodGrouperWarning", "message": "no such owner"}

    found = answer("over-quota", changed(tmp_path, change))
    assert (abouts(found)[:2], found["podsWithoutPodGroup"]) == (["absent", "refused"], {"Pending": 3})
    assert (
        found["causes"][0]["text"] == f"3 pods of it name the PodGroup {QUOTA}, and the cluster has none of that name"
    )


def test_pods_of_another_scheduler(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        own(items, "Pod", QUOTA)[0]["spec"]["schedulerName"] = "default-scheduler"

    cause = answer("over-quota", changed(tmp_path, change))["causes"][0]
    assert cause["text"] == "its pods are for the scheduler default-scheduler, not kai-scheduler"


def test_containers_that_do_not_start(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        for item in own(items, "Pod", RUNS):
            waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
            item["status"] = {"phase": "Pending", "containerStatuses": [{"name": "a", "state": {"waiting": waiting}}]}

    found = answer("running", changed(tmp_path, change))
    (starting,) = found["causes"]  # and not what KAI said before it gave nodes
    assert starting["about"] == "starting"
    assert [(item["by"], item["times"], item["text"]) for item in starting["said"]] == [("Pod", 2, "no such image")]


def test_pods_that_are_about_to_start(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        for item in own(items, "Pod", RUNS):
            item["status"]["phase"] = "Pending"

    found = answer("running", changed(tmp_path, change))
    texts = {cause["about"]: cause["text"] for cause in found["causes"]}
    assert texts["starting"] == "2 pods of it have a node, and not started yet"


def test_a_pod_that_has_failed(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        ended = {"reason": "OOMKilled", "exitCode": 137}
        statuses = [{"name": "a", "state": {"terminated": ended}}]
        own(items, "Pod", RUNS)[0]["status"] = {"phase": "Failed", "containerStatuses": statuses}

    found = answer("running", changed(tmp_path, change))
    (failed,) = [cause for cause in found["causes"] if cause["about"] == "failed"]
    assert (found["state"], failed["said"][0]["text"]) == ("waits", "container a: exit 137")


def test_a_version_of_a_workflow_that_has_been_changed_since(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        (group,) = own(items, "PodGroup", RACK)
        group["metadata"] |= {"name": "one-rack-workers-00000000", "labels": {"kubectl-tas/workflow": "one-rack"}}
        items[:] = [item for item in items if item["kind"] != "Pod"]

    found = answer("one-rack", changed(tmp_path, change))
    assert found["state"] == "absent"
    assert found["causes"][0]["text"] == "the cluster has another version of it: PodGroup one-rack-workers-00000000"


def test_work_of_which_a_part_runs_alone_does_not_block_itself(tmp_path: Path) -> None:
    """What its own pods hold is in what the queue holds."""

    def change(items: list[Item]) -> None:
        first = own(items, "Pod", QUOTA)[0]
        first["spec"]["nodeName"], first["status"] = "n3", {"phase": "Running"}
        items[:] = [item for item in items if item["kind"] != "Event"]
        for item in (*own(items, "Pod", QUOTA), *own(items, "PodGroup", QUOTA)):
            item["status"].pop("conditions", None)
            item["status"].pop("schedulingConditions", None)

    assert abouts(answer("over-quota", changed(tmp_path, change))) == ["other"]


def test_work_that_has_ended(tmp_path: Path) -> None:
    def change(items: list[Item], phase: str) -> None:
        for item in own(items, "Pod", RUNS):
            item["status"]["phase"] = phase

    assert answer("running", changed(tmp_path, lambda items: change(items, "Succeeded")), 0)["state"] == "ended"
    assert answer("running", changed(tmp_path, lambda items: change(items, "Failed")))["state"] == "failed"


def test_what_kai_said_before_there_was_room(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        items[:] = [item for item in items if item not in own(items, "Pod", RUNS)]

    (cause,) = answer("one-rack", changed(tmp_path, change))["causes"]
    assert cause["text"].endswith("; but now fit finds room for it")


def test_what_kai_does_not_explain_gets_a_hint_where_there_is_room(tmp_path: Path) -> None:
    """Of a level, of nodes, and of nothing in particular."""

    def change(items: list[Item]) -> None:
        said = ("Unable to schedule podgroup", "topology x", "Resources were found for 1 pods while 3 are required")
        says(items, RACK, *said)
        items[:] = [item for item in items if item["kind"] != "Event" and item not in own(items, "Pod", RUNS)]

    found = answer("one-rack", changed(tmp_path, change))
    assert abouts(found) == ["topology", "room", "other"]
    texts = (
        "no domain of a level that it requires has room for all 3 pods: a.1 has room for 2",
        "nodes have no room for all that it starts with",
        "KAI does not place it",
    )
    assert [cause["text"] for cause in found["causes"]] == [f"{text}; but now fit finds room for it" for text in texts]
    hint = "What KAI says may be from before. Other work may go first: fit --all shows the order."
    assert {cause["hint"] for cause in found["causes"]} == {hint}


def test_what_only_kai_says_has_a_hint_of_its_own(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        says(items, RACK, "Resources were found for 1 pods while 3 are required")
        items[:] = [item for item in items if item["kind"] not in ("Event", "Node")]

    found = {cause["about"]: cause["hint"] for cause in answer("one-rack", changed(tmp_path, change))["causes"]}
    assert found == {
        "topology": "Require a coarser level, prefer it, or free nodes.",
        "room": "Ask for less, or free nodes.",
    }


def of_pods(phase: str, **status: str) -> Change:
    """All pods of the work that runs are in this phase."""

    def change(items: list[Item]) -> None:
        for item in own(items, "Pod", RUNS):
            item["status"] = {"phase": phase, **status}

    return change


def test_failed_work_waits_for_no_room(tmp_path: Path) -> None:
    """Nor do quotas keep it from anything, nor is what was said before it started of use."""

    def change(items: list[Item]) -> None:
        of_pods("Failed")(items)
        (group,) = own(items, "PodGroup", RUNS)
        reasons = [{"reason": "Unschedulable", "message": "Unable to schedule podgroup"}]
        group["status"] = {"schedulingConditions": [{"status": "True", "reasons": reasons}]}

    found = answer("running", changed(tmp_path, change))
    assert (found["state"], abouts(found), found["fit"]["gangs"]) == ("failed", ["failed"], [])
    assert "scheduler" not in found["causes"][0]["hint"]


def test_the_reason_of_the_kubelet_is_kept(tmp_path: Path) -> None:
    said = {"reason": "TopologyAffinityError", "message": "Resources cannot be allocated with topology locality"}
    found = answer("running", changed(tmp_path, of_pods("Failed", **said)))
    assert [item["reason"] for item in found["causes"][0]["said"]] == ["TopologyAffinityError"]
    assert abouts(found) == ["failed"]


def test_evicted_pods_are_no_failure_of_their_own(tmp_path: Path) -> None:
    evicted = of_pods("Failed", reason="Evicted", message="The node was low on resource: memory.")
    found = answer("running", changed(tmp_path, evicted))
    assert (found["state"], abouts(found), found["fit"]["gangs"]) == ("failed", ["evicted"], [])
    assert found["causes"][0]["hint"].startswith("What made its pods makes new ones")


def test_pods_on_nodes_need_no_room(tmp_path: Path) -> None:
    assert answer("running", changed(tmp_path, of_pods("Pending")))["fit"]["gangs"] == []


def test_a_placement_that_kai_misses(tmp_path: Path) -> None:
    """Of the workflow that ``fit`` says it misses nothing but the nodes is known."""
    items = [item for name in ("nodes", "pods") for item in json.loads((FIT / f"{name}.json").read_text())["items"]]
    group = {**pod_group("q"), "metadata": {"name": "missed-workers-b75e6cb5", "namespace": "default"}}
    found = answer("missed", saved(tmp_path, group, *items), root=case_input(FIT))
    texts = {cause["about"]: cause["text"] for cause in found["causes"]}
    assert texts["room"] == "KAI's search order finds no placement"
    assert found["fit"]["gangs"][0]["outcome"] == "missed"


@pytest.mark.parametrize("is_unexplained", [False, True])
def test_one_name_in_two_namespaces(is_unexplained: bool, tmp_path: Path) -> None:
    """Also where KAI says no more than that it does not place it, and there is room."""

    def change(items: list[Item]) -> None:
        (group,) = own(items, "PodGroup", RACK)
        if is_unexplained:
            says(items, RACK, "no")
            items[:] = [item for item in items if item["kind"] != "Event" and item not in own(items, "Pod", RUNS)]
        items.append({**group, "metadata": {**group["metadata"], "namespace": "elsewhere"}})

    found = answer("one-rack", changed(tmp_path, change))
    text = "PodGroups in the namespaces default, elsewhere have its name: KAI takes them for one gang"
    hints = {cause["text"]: cause["hint"] for cause in found["causes"]}
    assert hints[text] == "Give one of them another name."


UID = "0a1b2c3d-0000-0000-0000-000000000000"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: default
  labels: {kubectl-tas/pool: team}
  annotations: {kai.scheduler/batch-min-member: "2"}
spec:
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: i, resources: {limits: {nvidia.com/gpu: 8}, requests: {nvidia.com/gpu: 8}}}]
"""


def pod_of(owner: tuple[str, str], group: str | None, phase: str = "Pending", **labels: str) -> Item:
    metadata = {
        "name": f"{owner[1]}-x",
        "namespace": "default",
        "labels": labels,
        "ownerReferences": [{"kind": owner[0], "name": owner[1]}],
        "annotations": {"pod-group-name": group} if group else {},
    }
    return {"kind": "Pod", "metadata": metadata, "spec": {}, "status": {"phase": phase}}


def test_a_workload_is_known_by_what_was_made_for_it(tmp_path: Path) -> None:
    root = write(tmp_path, {"tas.yaml": "", "pools/team.yaml": pool(), "workflows/train.yaml": JOB})
    name = f"pg-train-{UID}"
    group = {**pod_group("osmo-pool-default-team--shared"), "metadata": {"name": name, "namespace": "default"}}
    event = {
        "kind": "Event",
        "metadata": {"name": "e"},
        "regarding": {"kind": "Job", "name": "train", "namespace": "default"},
        "reason": "FailedCreate",
        "note": "exceeded quota",
        "series": {"count": 9, "lastObservedTime": "2026-11-22T09:00:00.123456Z"},
    }
    found = answer("train", saved(tmp_path, group, pod_of(("Job", "train"), name), event), root=root)
    assert [item["name"] for item in found["podGroups"]] == [name]
    (said,) = found["causes"][0]["said"]
    assert (said["by"], said["times"], said["last"]) == ("Job train", 9, "2026-11-22T09:00:00Z")
    assert found["notKnown"].keys() == {"Queue", "Node", "Job"}


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: default, labels: {kubectl-tas/pool: team}}
spec:
  replicas: 2
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec: {containers: [{name: main, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}
"""
OF_SET = {"app.kubernetes.io/part-of": "chat"}
OWNED = [
    (JOB, "train", ("Job", "train"), f"pg-train-{UID}", {}),
    (DEPLOYMENT, "chat", ("ReplicaSet", "chat-6f5d"), f"pg-chat-6f5d-x-{UID}", {}),
    (grove.clique_set(), "chat", ("PodClique", "chat-0-server"), f"pg-chat-0-{UID}", OF_SET),
]


@pytest.mark.parametrize(("document", "name", "owner", "group", "labels"), OWNED, ids=["job", "deployment", "set"])
def test_pods_and_pod_groups_of_each_kind_are_found(
    document: str, name: str, owner: tuple[str, str], group: str, labels: dict[str, str], tmp_path: Path
) -> None:
    """With a PodGroup, and without one."""
    root = grove.declare(tmp_path, document)
    made = {**pod_group("q"), "metadata": {"name": group, "namespace": "default"}}
    others = (pod_of(("Job", "other"), "pg-other"), pod_of(("ReplicaSet", "chat-bot-6f5d"), None))
    found = answer(name, saved(tmp_path, made, pod_of(owner, group, **labels), *others), root=root)
    assert [(item["name"], item["pods"]) for item in found["podGroups"]] == [(group, {"Pending": 1})]
    found = answer(name, saved(tmp_path, queue("q"), pod_of(owner, None, **labels), *others), root=root)
    assert found["podsWithoutPodGroup"] == {"Pending": 1}


def test_the_cluster_says_nothing(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        items[:] = [item for item in items if item["kind"] != "Event"]
        (pod,) = own(items, "Pod", "half-there")
        items.append({**pod, "metadata": {**pod["metadata"], "name": "half-there-b"}})

    found = answer("half-there", changed(tmp_path, change))
    assert (abouts(found), found["causes"][0]["text"]) == (["other"], "the cluster says nothing about it yet")


def test_the_cluster_says_what_nobody_knows(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        items[:] = [item for item in items if item["kind"] != "Event"]
        (pod,) = own(items, "Pod", "half-there")
        items.append({**pod, "metadata": {**pod["metadata"], "name": "half-there-b"}})
        (group,) = own(items, "PodGroup", "half-there")
        said = {"reason": "Puzzled", "message": "a reason of a later release"}
        group["status"] = {"schedulingConditions": [{"type": "UnschedulableOnNodePool", "status": "True", **said}]}

    found = answer("half-there", changed(tmp_path, change))
    assert (abouts(found), found["causes"][0]["text"]) == (["other"], "the cluster says")
    assert found["causes"][0]["said"][0]["text"] == "a reason of a later release"


def live(kubectl: FakeKubectl, *, without: str = "") -> None:
    """A cluster that is asked, and forbids one resource."""
    items = json.loads((CASE / "cluster.json").read_text())["items"]
    kubectl.knows("default", *items, forbidden=without)
    for resource, kind in (("pods", "Pod"), ("events", "Event")):
        own_items = [item for item in items if item["kind"] == kind]
        (kubectl.folder / "default" / resource).write_text(json.dumps({"items": own_items}))


def test_a_cluster_answers_as_a_file_does(kubectl: FakeKubectl) -> None:
    live(kubectl)
    assert why("one-rack").out == why("one-rack", STATE).out
    assert sum("get podgroups.scheduling.run.ai -A" in call for call in kubectl.calls) == 1
    assert sum("get events --namespace=default" in call for call in kubectl.calls) == 1


def test_a_state_of_the_cluster_answers_too_but_for_events(kubectl: FakeKubectl, tmp_path: Path) -> None:
    live(kubectl)
    state = tmp_path / "state.json"
    assert kubectl_tas("cluster", "state", "-C", case_input(CASE), "--to", state).code == 0
    found = answer("one-rack", state)
    assert found["notKnown"] == {"Event": f"{state} has none"}
    (said, expected) = (item["causes"][0]["said"] for item in (found, answer("one-rack", CASE / "cluster.json")))
    assert said == [item for item in expected if not item["event"]]
    assert found["fit"] == answer("one-rack", CASE / "cluster.json")["fit"]


def test_a_state_of_the_cluster_keeps_of_containers_why_they_do_not_run(kubectl: FakeKubectl, tmp_path: Path) -> None:
    """But no message: that of a container which ended is what it wrote itself."""
    items = json.loads((CASE / "cluster.json").read_text())["items"]
    first, second = own(items, "Pod", RUNS)
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "s3cret"}}
    ended = {"terminated": {"reason": "OOMKilled", "exitCode": 137, "message": "s3cret"}}
    first["status"] = {"phase": "Pending", "containerStatuses": [{"name": "a", "image": "i", "state": waiting}]}
    second["status"] = {"phase": "Failed", "initContainerStatuses": [{"name": "b", "image": "i", "state": ended}]}
    kubectl.knows("default", *items)
    (kubectl.folder / "default" / "pods").write_text(json.dumps({"items": own(items, "Pod", "")}))
    state = tmp_path / "state.json"
    assert kubectl_tas("cluster", "state", "-C", case_input(CASE), "--to", state).code == 0
    assert "s3cret" not in state.read_text()
    said = [(item["reason"], item["text"]) for cause in answer("running", state)["causes"] for item in cause["said"]]
    assert said == [("ImagePullBackOff", "container a"), ("OOMKilled", "container b: exit 137")]


@pytest.mark.parametrize(("without", "is_placed"), [("events", True), ("pods", False), ("nodes", False)])
def test_what_may_not_be_read_is_named(without: str, is_placed: bool, kubectl: FakeKubectl) -> None:
    live(kubectl, without=without)
    result = why("one-rack")
    assert result.code == 1
    assert f"Not known:  {without.title()}: the cluster forbids reading {without}: " in result.out
    assert ("What nodes have room for" in result.out) == is_placed


def test_who_may_read_one_namespace_is_answered_by_it(kubectl: FakeKubectl) -> None:
    """Nodes, queues, and what others hold of nodes are not for everybody."""
    live(kubectl)
    kubectl.runs(
        f'case "$*" in *"-A "*|*"get nodes"*|*"get queues"*) echo "Error from server (Forbidden)" >&2; exit 1 ;; '
        f'*"get "*" --namespace=default "*) cat {kubectl.folder}/default/$(echo "$*" | cut -d" " -f3) ;; '
        "*) exit 1 ;; esac"
    )
    result = why("one-rack")
    assert (result.code, result.err) == (1, "")
    assert result.out.count("Not known:  ") == 5
    assert "1. No domain of a level that it requires has room for all 3 pods: a.1 has room for 2\n" in result.out
    assert "What nodes have room for" not in result.out


def test_without_pod_groups_there_is_no_answer(kubectl: FakeKubectl) -> None:
    live(kubectl, without="podgroups.scheduling.run.ai")
    result = why("one-rack")
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("error: the cluster forbids reading podgroups.scheduling.run.ai")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"kind": "Pod"}, "a Pod of the cluster cannot be read: without a name: it has no metadata"),
        (
            {"kind": "PodGroup", "metadata": {"name": "g"}, "status": {"schedulingConditions": ["x"]}},
            "a PodGroup of the cluster cannot be read: g: status.schedulingConditions[0] is 'x', not an object",
        ),
        ({"kind": "Pod", "metadata": {"name": "p"}, "status": "x"}, "a Pod of the cluster cannot be read: p: "),
        ({"kind": "Pod", "metadata": ["p"]}, "a Pod of the cluster cannot be read: without a name: "),
    ],
)
def test_what_is_no_object_of_a_cluster(broken: Item, message: str, tmp_path: Path) -> None:
    named = {"kind": "Pod", "metadata": {"name": "whole"}}
    result = why("one-rack", f"--cluster-state={saved(tmp_path, named, broken)}")
    assert result.code == 3
    assert f"error: {message}" in result.err


@pytest.mark.parametrize("count", ["many", 10**30, -1, 1.5])
def test_an_event_that_cannot_be_read_is_a_gap(count: object, tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        broken = {"kind": "Event", "metadata": {"name": "e"}, "count": count}
        items.extend((broken, {"kind": "Event", "metadata": {"name": "f"}, "count": count}))

    found = answer("one-rack", changed(tmp_path, change))
    gap = "an Event of the cluster cannot be read: e: an event was not said so often; and 1 more"
    assert found["notKnown"] == {"Event": gap}
    assert found["causes"] == answer("one-rack", CASE / "cluster.json")["causes"]


def test_what_is_said_commands_no_terminal(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        (event,) = own(items, "Event", f"{QUOTA}.")
        event |= {"type": "Warning", "reason": "\x1b[2J", "message": "\n::error::owned\u202e"}

    result = why("over-quota", f"--cluster-state={changed(tmp_path, change)}")
    assert "::error::owned" in result.out
    assert not {"\x1b", "\u202e"} & set(result.out)
    assert not any(line.startswith("::") for line in result.out.splitlines())


@pytest.mark.parametrize("items", [[], [queue("other")], json.loads((FIT / "nodes.json").read_text())["items"]])
def test_a_file_of_something_else_is_no_empty_cluster(items: list[Item], tmp_path: Path) -> None:
    file = saved(tmp_path, *items)
    result = why("one-rack", f"--cluster-state={file}")
    assert (result.code, result.out) == (3, "")
    assert f"{file} has neither PodGroups nor Pods: whether work waits cannot be told" in result.err
    assert "kubectl get nodes,pods,events,queues.scheduling.run.ai,podgroups.scheduling.run.ai -A -o json" in result.err


def test_pods_in_a_file_without_pod_groups(tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        items[:] = [item for item in items if item["kind"] not in ("PodGroup", "Event")]

    cause = answer("over-quota", changed(tmp_path, change))["causes"][0]
    assert cause["text"] == "it has pods, but its PodGroups are unknown, and KAI places no pod without one"
    assert cause["hint"] == (
        "Read podgroups.scheduling.run.ai too. If there are none, look whether KAI runs: kubectl get pods -n "
        "kai-scheduler."
    )


def test_an_empty_cluster(tmp_path: Path) -> None:
    of_kai = {"kind": "Pod", "metadata": {"name": "kai-scheduler-0", "namespace": "kai-scheduler"}}
    found = answer("one-rack", saved(tmp_path, queue("other"), of_kai))
    assert (found["state"], abouts(found)) == ("absent", ["absent", "queue"])
    absent, lost = found["causes"]
    assert (absent["text"], absent["hint"]) == (
        "the cluster has nothing of it in namespace default",
        "Apply its manifests; if it has run, it may have been removed since.",
    )
    assert (lost["text"], lost["hint"]) == (
        "the cluster has no queue osmo-pool-default-research--shared",
        "Apply the manifests of its pool.",
    )
    unread = ("PodGroup", "Event", "Node", "Topology")
    assert found["notKnown"] == dict.fromkeys(unread, f"{tmp_path}/cluster.json has none")


def test_work_for_a_cluster_without_kai_is_refused() -> None:
    result = why("unit-tests", STATE, root=case_input(GOLDEN / "manifests/two-clusters"))
    assert (result.code, result.out) == (2, "")
    assert "unit-tests is for backend ci, which has no KAI" in result.err


def test_of_files_that_are_refused_nothing_is_said(tmp_path: Path) -> None:
    root = shutil.copytree(case_input(CASE), tmp_path / "repository")
    (root / "pools/broken.yaml").write_text("apiVersion: tas/v1alpha1\nkind: Pool\n")
    result = why("one-rack", STATE, root=root)
    assert (result.code, result.out) == (1, "")
    assert "pools/broken.yaml" in result.err
