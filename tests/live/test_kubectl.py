"""Tests how kubectl is called, and the messages if it does not answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.kubectl import FakeKubectl, pod_group, queue

A, SHARED = "osmo-pool-default-team--a", "osmo-pool-default-team--shared"
GET_QUEUES = "--request-timeout=30s get queues.scheduling.run.ai -o json"
GET_POD_GROUPS = "--request-timeout=30s get podgroups.scheduling.run.ai -A -o json"
WORKFLOW = """\
workflow: {name: w, pool: team--a, tasks: [{name: t, image: i}]}
resources: {default: {gpu: 4}}
"""


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKubectl:
    fake = FakeKubectl(tmp_path, monkeypatch)
    fake.answers([queue(A, "2"), queue(SHARED, 0)], [pod_group(A, running=1)])
    return fake


@pytest.fixture
def team(repository: Path) -> Path:
    files = {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 30), "job.yaml": WORKFLOW}
    return write(repository, files)


COMMANDS = {
    "pool list": ("pool", "list", "--live"),
    "admit": ("admit", "job.yaml", "--live"),
    "subpool retire": ("subpool", "retire", "team", "a"),
}
FLAGS = {
    "": ("", "-A"),
    "--context prod": ("--context=prod ", "-A"),
    "--context=--kubeconfig=x": ("--context=--kubeconfig=x ", "-A"),
    "--kubeconfig /etc/k": ("--kubeconfig=/etc/k ", "-A"),
    "--kubeconfig /etc/k --context prod": ("--context=prod --kubeconfig=/etc/k ", "-A"),
    "-n ml": ("", "--namespace=ml"),
    "--namespace=-A": ("", "--namespace=-A"),
    "--namespace ml --context prod": ("--context=prod ", "--namespace=ml"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flags", FLAGS)
def test_arguments(command: str, flags: str, team: Path, kubectl: FakeKubectl) -> None:
    result = kubectl_tas(*COMMANDS[command], *flags.split(), cwd=team)
    assert result.code == 0, result
    access, scope = FLAGS[flags]
    assert kubectl.calls[:2] == [
        f"{access}--request-timeout=30s get queues.scheduling.run.ai -o json",
        f"{access}--request-timeout=30s get podgroups.scheduling.run.ai {scope} -o json",
    ]


def test_drain_asks_only_where_something_drains(team: Path, kubectl: FakeKubectl) -> None:
    assert kubectl_tas("subpool", "drain", cwd=team).code == 0
    assert kubectl.calls == []
    write(team, {"subpools/a.yaml": subpool("a", 30, state="DELETING")})
    result = kubectl_tas("subpool", "drain", "--context", "x", cwd=team)
    assert (result.code, result.out, result.err) == (
        *(0, ""),
        "team--a: still DELETING; still running: PodGroup/group (in namespace default)\n",
    )
    assert kubectl.calls == [f"--context=x {GET_QUEUES}", f"--context=x {GET_POD_GROUPS}"]


def test_nothing_is_asked_that_is_told(team: Path, kubectl: FakeKubectl) -> None:
    for command in (
        ("pool", "list"),
        ("admit", "job.yaml"),
        ("admit", "job.yaml", "--used", "3"),
        ("subpool", "retire", "team", "a", "--used", "3"),
        ("subpool", "drain", "--used", "0"),
    ):
        assert kubectl_tas(*command, cwd=team).code == 0
    assert kubectl.calls == []


def test_kubectl_on_the_path(team: Path, kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECTL_PATH")
    monkeypatch.setenv("PATH", str(kubectl.folder), prepend=":")
    assert kubectl_tas("pool", "list", "--live", cwd=team).code == 0
    assert kubectl.calls[:2] == [GET_QUEUES, GET_POD_GROUPS]


FAILURES = {
    "unreachable": (
        'E1121 02:43:30.1 1 memcache.go:265] "Unhandled Error" err="couldn\'t get current server API group list"\n'
        "The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?\n",
        "the cluster cannot be reached: The connection to the server 10.0.0.1:6443 was refused - "
        "did you specify the right host or port?",
    ),
    "no-such-host": (
        "Unable to connect to the server: dial tcp: lookup k8s.example: no such host",
        "the cluster cannot be reached: Unable to connect to the server: dial tcp: lookup k8s.example: no such host",
    ),
    "forbidden": (
        'Error from server (Forbidden): queues.scheduling.run.ai is forbidden: User "ci" cannot list resource "queues" '
        'in API group "scheduling.run.ai" at the cluster scope',
        "the cluster forbids reading queues.scheduling.run.ai: Error from server (Forbidden): queues.scheduling.run.ai "
        'is forbidden: User "ci" cannot list resource "queues" in API group "scheduling.run.ai" at the cluster scope',
    ),
    "not-logged-in": (
        "error: You must be logged in to the server (Unauthorized)",
        "the cluster cannot be reached: error: You must be logged in to the server (Unauthorized)",
    ),
    "missing-crds": (
        'error: the server doesn\'t have a resource type "queues"',
        "the cluster has no queues.scheduling.run.ai: KAI Scheduler's CustomResourceDefinitions are not installed",
    ),
    "unknown-context": (
        'error: context "nope" does not exist',
        'kubectl knows no such context: error: context "nope" does not exist',
    ),
    "unknown-context-of-the-configuration": (
        "Error in configuration: context was not found for specified context: nope",
        "kubectl knows no such context: Error in configuration: context was not found for specified context: nope",
    ),
    "kind-of-no-resource": (
        'error: no matches for kind "Queue" in version "scheduling.run.ai/v2"',
        "the cluster has no queues.scheduling.run.ai: KAI Scheduler's CustomResourceDefinitions are not installed",
    ),
    "resource-that-is-gone": (
        "Error from server (NotFound): the server could not find the requested resource",
        "the cluster has no queues.scheduling.run.ai: KAI Scheduler's CustomResourceDefinitions are not installed",
    ),
    "too-slow": (
        "Unable to connect to the server: context deadline exceeded",
        "the cluster cannot be reached: Unable to connect to the server: context deadline exceeded",
    ),
    "no-reason": ("", "the cluster cannot be reached: it gave no reason"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures(name: str, team: Path, kubectl: FakeKubectl) -> None:
    message, sentence = FAILURES[name]
    kubectl.fails(message)
    before = (team / "subpools/a.yaml").read_bytes()
    shown = kubectl_tas("pool", "list", "--live", cwd=team)
    assert (shown.code, shown.out) == (3, "")
    assert shown.err == (
        f"error: {sentence}\n"
        "  = help: Pass --cluster-state FILE with what `kubectl tas cluster state` wrote, "
        "or --context and --kubeconfig.\n"
    )
    deleted = kubectl_tas("subpool", "retire", "team", "a", cwd=team)
    assert (deleted.code, deleted.out) == (3, "")
    assert deleted.err == (
        f"error: cannot tell whether anything runs there: {sentence}\n"
        "  = help: If there is no cluster to ask, pass --used N (GPUs in use) or --cluster-state FILE.\n"
    )
    assert (team / "subpools/a.yaml").read_bytes() == before


def test_no_kubectl(team: Path, kubectl: FakeKubectl) -> None:
    kubectl.program.unlink()
    result = kubectl_tas("pool", "list", "--live", cwd=team)
    assert (result.code, result.out) == (3, "")
    program = kubectl.program
    assert result.err == (
        f"error: cannot run {program}: No such file or directory\n  = help: Install {program}, or put it on the PATH.\n"
    )


GARBAGE = ["", "\n", "No resources found", "[1]", "3", "null", '{"items": 7}', '{"items": [', "[" * 100_000, "<html>"]


@pytest.mark.parametrize("text", GARBAGE, ids=lambda text: repr(text[:20]))
@pytest.mark.parametrize("what", ["queues", "podgroups"])
def test_garbage(text: str, what: str, team: Path, kubectl: FakeKubectl) -> None:
    fine = '{"kind": "List", "items": []}'
    kubectl.prints(*((text, fine) if what == "queues" else (fine, text)))
    result = kubectl_tas("pool", "list", "--live", cwd=team)
    assert (result.code, result.out) == (3, "")
    first, second = result.err.splitlines()
    assert first.startswith(
        f"error: what kubectl printed for {what}.scheduling.run.ai is not JSON of Kubernetes objects: "
    )
    assert second == "  = help: It must be what `kubectl get ... -o json` prints."


class TestState:
    """``--cluster-state FILE``: the same JSON from a file."""

    def used(self, team: Path, *files: str) -> list[str]:
        state = team / "state.json"
        state.write_text("".join(files))
        result = kubectl_tas("pool", "list", "--cluster-state", state, cwd=team)
        assert result.code == 0, result
        return [line.split()[-2] for line in result.out.splitlines()[2:]]

    def test_what_both_commands_print_behind_each_other(self, team: Path, kubectl: FakeKubectl) -> None:
        queues, groups = ((kubectl.folder / name).read_text() for name in ("queues", "podgroups"))
        for text in (f"{queues}{groups}", f"{queues}\n\n {groups}\n", f"\ufeff{queues}\r\n{groups}"):
            assert self.used(team, text) == ["0", "2"]
        assert kubectl.calls == []

    def test_a_list_and_a_single_object(self, team: Path) -> None:
        a, shared = json.dumps(queue(A, 3)), json.dumps(queue(SHARED, 3))
        assert self.used(team, f"[{a}, {shared}]") == ["3", "3"]
        assert self.used(team, a) == ["unknown", "3"]

    @pytest.mark.parametrize("name", ["missing.json", "pools"])
    def test_no_file(self, team: Path, name: str) -> None:
        result = kubectl_tas("pool", "list", "--cluster-state", name, cwd=team)
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith(f"error: cannot read {name}: ")

    def test_not_text(self, team: Path) -> None:
        (team / "state.json").write_bytes(b"\xff\xfe\x00")
        result = kubectl_tas("pool", "list", "--cluster-state", "state.json", cwd=team)
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith("error: state.json is not JSON of Kubernetes objects: ")
