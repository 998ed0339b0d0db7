"""Tests habits of the command line: words that people try, and commands where they look for them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.golden import GOLDEN, case_input
from tests.support.stub_api import api_server

needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")

WHY = GOLDEN / "commands/workflow-why"
STATE = f"--cluster-state={WHY / 'cluster.json'}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path / "r", {"pools/team.yaml": pool()})


@pytest.mark.parametrize("arguments", [("explain", "running"), ("why", "running", STATE)], ids=lambda words: words[0])
def test_explain_and_why_are_on_top_and_below_workflow(arguments: tuple[str, ...]) -> None:
    repository = case_input(WHY)
    on_top, below = (kubectl_tas("-C", repository, *above, *arguments) for above in ((), ("workflow",)))
    assert (on_top.code, on_top.out) == (below.code, below.out)
    assert on_top.out


def test_why_takes_a_pod_and_a_podgroup() -> None:
    items = json.loads((WHY / "cluster.json").read_text())["items"]
    pod = next(item["metadata"] for item in items if item["kind"] == "Pod")
    group = pod["annotations"]["pod-group-name"]
    words = (pod["name"], f"pod/{pod['name']}", group, f"podgroup/{group}", "over-quota")
    answers = [kubectl_tas("-C", case_input(WHY), "why", word, STATE, "-o", "json") for word in words]
    assert len({answer.out for answer in answers}) == 1, [answer.err for answer in answers]
    assert json.loads(answers[0].out)["workflows"]
    assert kubectl_tas("-C", case_input(WHY), "why", "no-such-pod", STATE).code == 2


def test_diff_takes_the_revision_as_a_word(root: Path) -> None:
    for words in (("init", "-q"), ("add", "."), ("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x")):
        subprocess.run(["git", "-C", root, *words], check=True)
    (root / "pools/team.yaml").write_text(pool(guarantee=50))
    by_word, by_option = (kubectl_tas("-C", root, "diff", *words) for words in (("HEAD",), ("--base", "HEAD")))
    assert (by_word.code, by_word.out) == (by_option.code, by_option.out)
    assert by_word.code == 1
    both = kubectl_tas("-C", root, "diff", "HEAD", "--base", "HEAD")
    assert (both.code, "give one of them" in both.err) == (2, True)
    neither = kubectl_tas("-C", root, "diff")
    assert (neither.code, "kubectl tas diff REF" in neither.err) == (2, True)


def test_render_shows_the_diff_and_writes_nothing(root: Path) -> None:
    result = kubectl_tas("-C", root, "render", "--dry-run")
    assert (result.code, "+++ b/manifests/kustomization.yaml" in result.out) == (0, True)
    assert not (root / "manifests").exists()


def test_check_without_manifests_says_one_line(root: Path) -> None:
    result = kubectl_tas("-C", root, "check")
    assert (result.code, result.out) == (1, "")
    assert [line for line in result.err.splitlines() if "manifests/ is not there" in line], result.err
    assert len(result.err.splitlines()) <= 2


@pytest.mark.parametrize("words", [("--color", "always"), ("--color=always",)])
def test_the_colour_may_be_said_behind_the_command(words: tuple[str, ...], root: Path) -> None:
    before, behind = (
        kubectl_tas(*place) for place in ((*words, "-C", root, "validate"), ("-C", root, "validate", *words))
    )
    assert (behind.code, behind.out, behind.err) == (before.code, before.out, before.err)
    wrong = kubectl_tas("-C", root, "validate", "--color", "pink")
    assert wrong.code == 2


def test_a_verb_behind_a_group_has_a_hint() -> None:
    result = kubectl_tas("pool", "get", "team")
    assert result.err == 'error: no command "pool get"\n  = help: Run: kubectl tas pool list team\n'


def test_rule_searches_texts() -> None:
    result = kubectl_tas("rule", "topology")
    assert result.code == 0
    assert "topology-key-unknown" in result.out
    assert "over-quota" not in result.out.split()
    assert kubectl_tas("rule", "quota-share").code == 2
    assert kubectl_tas("rule", "zebra").code == 2


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "elsewhere"


def test_why_without_a_repository_says_what_the_cluster_says(empty: Path) -> None:
    items = json.loads((WHY / "cluster.json").read_text())["items"]
    pod = next(item["metadata"] for item in items if item["kind"] == "Pod")
    group = pod["annotations"]["pod-group-name"]
    answers = [kubectl_tas("why", word, STATE, "-o", "json", cwd=empty) for word in (pod["name"], f"podgroup/{group}")]
    assert {answer.code for answer in answers} == {1}, answers[0].err
    assert answers[0].out == answers[1].out
    (found,) = json.loads(answers[0].out)["workflows"]
    (declared,) = json.loads(kubectl_tas("-C", case_input(WHY), "why", pod["name"], STATE, "-o", "json").out)[
        "workflows"
    ]
    assert (found["file"], found["pool"], found["fit"]["gangs"]) == (None, None, [])
    assert (found["namespace"], found["state"]) == (declared["namespace"], declared["state"])
    assert found["queue"]["name"] == declared["queue"]["name"]
    assert [cause["about"] for cause in found["causes"]] == ["quota"]
    assert "no file of a repository" in found["notKnown"]["Repository"]
    page = kubectl_tas("why", pod["name"], STATE, cwd=empty).out
    assert page.count("Not known:") == 1


def test_why_in_a_repository_that_declares_other_work_says_what_the_cluster_says(root: Path) -> None:
    group = next(x for x in json.loads((WHY / "cluster.json").read_text())["items"] if x["kind"] == "PodGroup")
    result = kubectl_tas("-C", root, "why", group["metadata"]["name"], STATE, "-o", "json")
    assert [work["file"] for work in json.loads(result.out)["workflows"]] == [None]


def test_why_without_a_repository_asks_a_cluster_only_if_one_is_named(empty: Path) -> None:
    result = kubectl_tas("why", "train-0", cwd=empty)
    assert (result.code, "no repository" in result.err) == (3, True)
    pod = next(x["metadata"] for x in json.loads((WHY / "cluster.json").read_text())["items"] if x["kind"] == "Pod")
    assert kubectl_tas("why", pod["name"], STATE, "-n", "elsewhere", cwd=empty).code == 2
    result = kubectl_tas("why", "no-such-pod", STATE, cwd=empty)
    assert (result.code, "no-such-pod" in result.err) == (2, True)


PENDING = {
    "metadata": {
        "name": "train-0",
        "namespace": "ml",
        "annotations": {"pod-group-name": "pg-train"},
        "ownerReferences": [{"kind": "Job", "name": "train"}],
    },
    "spec": {"schedulerName": "kai-scheduler"},
    "status": {"phase": "Pending"},
}
GROUP = {
    "metadata": {"name": "pg-train", "namespace": "ml", "ownerReferences": [{"kind": "Job", "name": "train"}]},
    "spec": {"queue": "research", "minMember": 2},
}
RESEARCH = {"metadata": {"name": "research"}, "spec": {"resources": {"gpu": {"quota": 8}}}}


def live_objects(**changed: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {
        "v1/pods": [PENDING],
        "v1/nodes": [],
        "v1/events": [],
        "scheduling.run.ai/v2alpha2/podgroups": [GROUP],
        "scheduling.run.ai/v2/queues": [RESEARCH],
        **{f"{'v1' if name == 'pods' else 'scheduling.run.ai/v2'}/{name}": items for name, items in changed.items()},
    }


def why_live(folder: Path, objects: Mapping[str, list[dict[str, Any]]], *words: str) -> tuple[int, dict[str, Any]]:
    with api_server(folder, objects) as kubeconfig:
        result = kubectl_tas("why", *words, "--live", f"--kubeconfig={kubeconfig}", "-o", "json", cwd=folder)
    assert result.out, result.err
    (found,) = json.loads(result.out)["workflows"]
    return result.code, found


@needs_kubectl
def test_why_asks_the_cluster_without_a_repository(tmp_path: Path) -> None:
    code, found = why_live(tmp_path, live_objects(), "train-0")
    assert (code, found["kind"], found["name"], found["namespace"]) == (1, "Job", "train", "ml")
    assert found["podGroups"][0] == {
        "namespace": "ml",
        "name": "pg-train",
        "state": "waits",
        "pods": {"Pending": 1},
        "startsWith": 2,
    }
    assert found["queue"]["quota"] == 8
    assert found["causes"][0]["text"] == "the cluster says nothing about it yet"


@needs_kubectl
def test_why_names_a_queue_that_the_cluster_lacks(tmp_path: Path) -> None:
    _, found = why_live(tmp_path, live_objects(queues=[]), "pod/train-0")
    assert [cause["text"] for cause in found["causes"]] == ["the cluster has no queue research"]


@needs_kubectl
def test_why_names_pods_without_a_pod_group(tmp_path: Path) -> None:
    alone = {
        **PENDING,
        "metadata": {"name": "train-0", "namespace": "ml"},
        "spec": {"schedulerName": "default-scheduler"},
    }
    _, found = why_live(tmp_path, live_objects(pods=[alone]), "train-0")
    assert (found["kind"], found["podsWithoutPodGroup"]) == ("Pod", {"Pending": 1})
    assert [(cause["about"], "default-scheduler" in cause["hint"]) for cause in found["causes"]] == [("refused", True)]


@needs_kubectl
def test_work_that_runs_exits_0_without_a_repository(tmp_path: Path) -> None:
    pods = [
        {**PENDING, "metadata": {**PENDING["metadata"], "name": name}, "status": {"phase": "Running"}}
        for name in ("train-0", "train-1")
    ]
    code, found = why_live(tmp_path, live_objects(pods=pods), "train-1")
    assert (code, found["state"], found["causes"]) == (0, "runs", [])


def test_list_has_the_states_of_the_cluster_and_the_work_of_a_namespace(tmp_path: Path) -> None:
    listed = kubectl_tas("-C", case_input(WHY), "workflow", "list", STATE)
    states = {line.split()[0]: line.split()[-1] for line in listed.out.splitlines()}
    assert (states["NAME"], states["Workflow/running"]) == ("STATE", "RUNS")
    assert (states["Workflow/not-there"], states["Workflow/one-rack"]) == ("ABSENT", "WAITS")
    plain = kubectl_tas("-C", case_input(WHY), "workflow", "list", "-o", "json")
    assert {work["state"] for work in json.loads(plain.out)["workflows"]} == {None}
    spec = "  namespaces: [ml, web]\n"
    job = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {0}, namespace: {1}, labels: {{kubectl-tas/pool: team}}}}\n"
    )
    template = "spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}\n"
    jobs = {f"workflows/{name}.yaml": job.format(name, space) + template for name, space in (("a", "ml"), ("b", "web"))}
    root = write(tmp_path, {"pools/team.yaml": pool(spec=spec), **jobs})
    assert kubectl_tas("-C", root, "workflow", "list", "-n", "web", "-o", "name").out == "Job/b\n"


def test_render_writes_the_stream_to_a_file_that_is_not_read_or_rendered(root: Path) -> None:
    printed = kubectl_tas("-C", root, "render", "--to", "-")
    written = kubectl_tas("-C", root, "render", "--to", root / "all.yaml")
    assert (written.code, written.out, written.err) == (0, "", f"Wrote {root / 'all.yaml'}.\n")
    assert (root / "all.yaml").read_text() == printed.out
    before = (root / "pools/team.yaml").read_text()
    for path in ("pools/team.yaml", "manifests/all.yaml"):
        refused = kubectl_tas("-C", root, "render", "--to", root / path)
        assert (refused.code, "is in a folder that is read or rendered" in refused.err) == (2, True)
    assert (root / "pools/team.yaml").read_text() == before
    assert not (root / "manifests").exists()
