"""Tests that no status, resize or Binding can change past the guard how KAI counts a pod."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.test_apply import POLICY_SECONDS, Manifests
from tests.support.golden import case_input
from tests.support.rendered import render_copy
from tests.support.server import Server
from tools.goldens import GOLDEN

pytestmark = pytest.mark.cluster

QUEUE, OTHER = "osmo-pool-ml-team--shared", "osmo-pool-ml-team--a"
REFUSED = "cannot change through its status or a Binding"
GROUP = {
    "apiVersion": "scheduling.run.ai/v2alpha2",
    "kind": "PodGroup",
    "metadata": {"name": "guarded", "namespace": "ml"},
    "spec": {"queue": QUEUE, "minMember": 1, "priorityClassName": "osmo-low"},
}
CHANGES: dict[str, dict[str, Any]] = {
    "its queue": {"labels": {"kai.scheduler/queue": OTHER}},
    "no queue": {"labels": {"kai.scheduler/queue": None}},
    "its class": {"labels": {"priorityClassName": "osmo-high"}},
    "its PodGroup": {"annotations": {"pod-group-name": "guarded"}},
    "its GPUs": {"annotations": {"gpu-fraction": "0.5"}},
}


def pod(name: str, **annotations: str) -> dict[str, Any]:
    spec = {
        "schedulerName": "kai-scheduler",
        "priorityClassName": "osmo-low",
        "automountServiceAccountToken": False,
        "containers": [{"name": "c", "image": "busybox"}],
    }
    metadata = {"name": name, "namespace": "ml", "labels": {"kai.scheduler/queue": QUEUE}, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.fixture(scope="module")
def guarded(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A guarded cluster with a PodGroup and a pod."""
    folder = tmp_path_factory.mktemp("guard")
    cluster, *_ = (
        item
        for item in render_copy(case_input(GOLDEN / "manifests/guard-cpu-and-memory"), folder / "r").clusters
        if any(found["metadata"].get("namespace") == "ml" for found in item.objects)
    )
    server.have_kai(cluster.version or "0.17")
    server.have_namespaces(cluster.objects)
    manifests, own = Manifests(server, cluster), folder / "own.yaml"
    own.write_text(yaml.safe_dump_all([GROUP, pod("guarded")]))
    try:
        manifests.apply("--server-side")
        time.sleep(POLICY_SECONDS)
        server.must("apply", files=[own])
        yield server
    finally:
        server.must("delete", "--ignore-not-found", "--force", "--grace-period=0", files=[own])
        manifests.delete()


def patched(server: Server, metadata: dict[str, Any], subresource: str) -> str:
    """What the server says to a patch; its labels and annotations are as before where it says nothing."""
    before = seen(server)
    arguments = ("pod", "guarded", "--namespace=ml", f"--subresource={subresource}", "--dry-run=server")
    done = server.kubectl("patch", *arguments, "--output=json", "--patch", json.dumps({"metadata": metadata}))
    if done.returncode == 0:
        found = json.loads(done.stdout)["metadata"]
        assert (found["labels"], found.get("annotations")) == before
    return done.stderr


def seen(server: Server) -> tuple[Any, Any]:
    found = json.loads(server.must("get", "pod", "guarded", "--namespace=ml", "--output=json"))["metadata"]
    return found["labels"], found.get("annotations")


@pytest.mark.parametrize("name", CHANGES)
def test_a_status_cannot_change(name: str, guarded: Server) -> None:
    assert REFUSED in patched(guarded, CHANGES[name], "status")


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_resize_says_of_labels_and_annotations_is_dropped(name: str, guarded: Server) -> None:
    if guarded.kubectl("get", "--raw", "/api/v1").stdout.find("pods/resize") < 0:
        pytest.skip("the cluster knows no pods/resize; it comes with Kubernetes 1.33")
    assert patched(guarded, CHANGES[name], "resize") == ""


@pytest.mark.parametrize("path", ["pods/guarded/binding", "bindings"])
@pytest.mark.parametrize("name", [name for name in CHANGES if name != "no queue"])
def test_a_binding_cannot_change(name: str, path: str, guarded: Server, tmp_path: Path) -> None:
    assert REFUSED in bound(guarded, path, CHANGES[name], tmp_path)


def test_a_binding_without_labels_is_taken(guarded: Server, tmp_path: Path) -> None:
    assert bound(guarded, "pods/guarded/binding", {"labels": {"topology.kubernetes.io/zone": "a"}}, tmp_path) == ""


def bound(server: Server, path: str, metadata: dict[str, Any], folder: Path) -> str:
    """What the server says to a Binding, of which it stores nothing."""
    target = {"kind": "Node", "name": "n"}
    own = {"name": "guarded", "namespace": "ml", **metadata}
    file = folder / "binding.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Binding", "metadata": own, "target": target}))
    return server.kubectl("create", f"--raw=/api/v1/namespaces/ml/{path}?dryRun=All", files=[file]).stderr


def test_a_status_is_written(guarded: Server) -> None:
    patch = json.dumps({"metadata": {"labels": {"seen": "1"}}, "status": {"message": "seen"}})
    guarded.must("patch", "pod", "guarded", "--namespace=ml", "--subresource=status", "--patch", patch)


@pytest.mark.parametrize(("group", "refused"), [("guarded", "is in queue"), ("elsewhere", "")])
def test_a_pod_is_compared_with_the_podgroup_that_it_names(
    group: str, refused: str, guarded: Server, tmp_path: Path
) -> None:
    path = tmp_path / "pod.yaml"
    joining = pod("joining", **{"pod-group-name": group})
    joining["metadata"]["labels"]["kai.scheduler/queue"] = OTHER
    path.write_text(yaml.safe_dump(joining))
    done = guarded.kubectl("create", "--dry-run=server", files=[path])
    assert (refused in done.stderr, done.returncode == 0) == (True, not refused)
