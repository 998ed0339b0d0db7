"""Provides a cluster that runs KAI, with nodes made for each test and simulated kubelets."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.support.cli import Result, kubectl_tas
from tests.support.kubelets import MARK, Api
from tests.support.rendered import Object, read_back
from tests.support.server import Kubectl

T = TypeVar("T")
Applied = dict[Path, Object]
"""The applied objects by file, in the order of application."""
SECONDS = 60
"""Time limit for each expected action of KAI."""
SETTLED_SECONDS = 6
"""Time without changes after which KAI counts as finished: six of its cycles."""
GROUP, SUBGROUP, QUEUE = "pod-group-name", "kai.scheduler/subgroup-name", "kai.scheduler/queue"
SCHEDULING = "/apis/scheduling.run.ai"
WORK = "jobs,cronjobs,deployments,statefulsets,replicasets,pods,podgroups.scheduling.run.ai"
SHARED = "queues.scheduling.run.ai,topologies.kai.scheduler"
POLICIES = "validatingadmissionpolicies,validatingadmissionpolicybindings"
OURS = "app.kubernetes.io/managed-by=kubectl-tas"
SYSTEM = ("default-queue", "default-parent-queue")
"""Queues of KAI's chart."""


@dataclass
class Running(Kubectl):
    """A cluster that runs KAI. Tests may change everything in it."""

    api: Api

    def clear(self) -> None:
        """Removes all work, queues and topologies, and the nodes of earlier tests."""
        self.must("delete", POLICIES, f"--selector={OURS}", "--wait=false")
        for namespace in self.namespaces():
            self.must("delete", WORK, "--all", f"--namespace={namespace}", "--grace-period=1", "--timeout=60s")
            self.must("delete", "events", "--all", f"--namespace={namespace}")
        queues = [item["metadata"]["name"] for item in self.api.items(f"{SCHEDULING}/v2/queues")]
        if own := [f"queue.scheduling.run.ai/{name}" for name in queues if name not in SYSTEM]:
            self.must("delete", *own)
        self.must("delete", "topologies.kai.scheduler", "--all")
        self.must("delete", "priorityclasses", f"--selector={OURS}")
        self.have_nodes([])

    def namespaces(self) -> list[str]:
        """Returns the namespaces of the tests, and ``default``."""
        names = [item["metadata"]["name"] for item in self.api.items("/api/v1/namespaces")]
        return [name for name in names if not name.startswith(("kube-", "kai-", "local-path-"))]

    def have_nodes(self, nodes: Iterable[Object]) -> None:
        """Makes these the nodes for pods. Nodes that do not belong to tests remain."""
        wanted = {item["metadata"]["name"]: item for item in nodes}
        for found in self.api.items("/api/v1/nodes"):
            name, metadata = found["metadata"]["name"], found["metadata"]
            if MARK in metadata.get("annotations", {}) and name not in wanted:
                self.api.call("DELETE", f"/api/v1/nodes/{name}")
        for item in wanted.values():
            metadata = {**item["metadata"], "annotations": {MARK: ""}}
            self.api.add_node({**item, "metadata": metadata})

    def apply(self, root: Path, backend: str = "") -> Applied:
        """Renders a repository and applies the objects for a backend, except kinds that the cluster lacks."""
        applied = self.rendered(root, backend)
        self.have_namespaces(list(applied.values()))
        self.must("apply", "--server-side", files=list(applied))
        return applied

    def rendered(self, root: Path, backend: str = "") -> Applied:
        """Returns the rendered objects of kinds in the cluster. Policies are omitted; ``tests/cluster`` tests them."""
        result = kubectl_tas("render", "-C", root)
        assert result.code == 0, result.err
        cluster = next(item for item in read_back(root).clusters if not backend or item.name == backend)
        lacking = self.lacks(cluster.objects)
        return {
            cluster.folder / path: item
            for path, item in zip(cluster.resources, cluster.objects, strict=True)
            if f"{item['apiVersion']}/{item['kind']}" not in lacking
            and not str(item["kind"]).startswith("ValidatingAdmissionPolicy")
        }

    def prune(self, before: Applied, after: Applied) -> None:
        """Deletes objects that are no longer rendered, the last one first, as the sync waves of Argo CD do."""
        for item in reversed([item for path, item in before.items() if path not in after]):
            group, _, version = str(item["apiVersion"]).rpartition("/")
            kind = f"{item['kind']}.{version}.{group}" if group else str(item["kind"])
            inside = [f"--namespace={item['metadata']['namespace']}"] if "namespace" in item["metadata"] else []
            self.must("delete", kind, item["metadata"]["name"], *inside, "--ignore-not-found")

    def pods(self) -> dict[str, Object]:
        """Returns all pods that belong to a gang and are not being deleted, by name."""
        return {
            pod["metadata"]["name"]: pod
            for pod in self.api.pods()
            if GROUP in pod["metadata"].get("annotations", {}) and "deletionTimestamp" not in pod["metadata"]
        }

    def bound(self) -> dict[str, str]:
        """Returns the node of each pod that has one and has not ended."""
        running = {name: pod for name, pod in self.pods().items() if pod["status"]["phase"] in ("Pending", "Running")}
        return {name: pod["spec"]["nodeName"] for name, pod in running.items() if "nodeName" in pod["spec"]}

    def queue(self, name: str) -> Object:
        """Returns a Queue; empty if there is none."""
        return self.api.call("GET", f"{SCHEDULING}/v2/queues/{name}")

    def held(self, queue: str) -> int:
        """Returns the GPUs that KAI charges to a queue."""
        return int(self.queue(queue).get("status", {}).get("allocated", {}).get("nvidia.com/gpu", 0))

    def wait(self, what: str, holds: Callable[[], T], seconds: float = SECONDS) -> T:
        """Waits until ``holds`` returns a true value, and returns it. The test fails if that does not happen."""
        end = time.monotonic() + seconds
        while not (found := holds()):
            assert time.monotonic() < end, f"not within {seconds} s: {what}; bound: {self.bound()}"
            time.sleep(0.5)
        return found

    def settled(self) -> dict[str, str]:
        """Returns the node of each pod, once nothing has moved for some cycles of the scheduler."""
        last, since = self.bound(), time.monotonic()
        end = since + SECONDS
        while time.monotonic() - since < SETTLED_SECONDS:
            assert time.monotonic() < end, "KAI moves pods without an end"
            time.sleep(0.5)
            if (now := self.bound()) != last:
                last, since = now, time.monotonic()
        return last

    def tas(self, root: Path, *arguments: str) -> Result:
        """Runs a command of the tool on a repository, with this cluster."""
        context = self.must("config", "current-context").strip()
        return kubectl_tas("-C", root, *arguments, f"--kubeconfig={self.kubeconfig}", f"--context={context}")

    def answers(self, root: Path, *arguments: str) -> dict[str, Any]:
        """Returns the JSON output of a command."""
        result = self.tas(root, *arguments, "-o", "json")
        assert result.out, result.err
        return dict(json.loads(result.out))

    def state(self, root: Path, name: str) -> str:
        """Returns the state of work according to ``workflow why``."""
        (found,) = self.answers(root, "workflow", "why", name)["workflows"]
        return str(found["state"])

    def apart(self) -> list[str]:
        """Returns each required level that the pods of a gang do not share, according to its PodGroup."""
        labels = {item["metadata"]["name"]: item["metadata"]["labels"] for item in self.api.items("/api/v1/nodes")}
        bound, pods, found = self.bound(), self.pods(), []
        for group in self.api.items(f"{SCHEDULING}/v2alpha2/podgroups"):
            own = {
                name: pod["metadata"]["labels"].get(SUBGROUP)
                for name, pod in pods.items()
                if pod["metadata"]["annotations"][GROUP] == group["metadata"]["name"] and name in bound
            }
            parts = group["spec"].get("subGroups", [])
            for part in ({"name": None, **group["spec"]}, *parts):
                constraint = part.get("topologyConstraint", {})
                level = constraint.get("requiredTopologyLevel")
                if level is None:
                    continue
                below = _below(part["name"], parts)
                nodes = [bound[name] for name, subgroup in own.items() if part["name"] is None or subgroup in below]
                for label in self._down_to(constraint["topology"], level):
                    if len({labels[node].get(label) for node in nodes}) > 1:
                        found.append(f"{group['metadata']['name']}/{part['name']}: {label}")
        return found

    def _down_to(self, topology: str, level: str) -> list[str]:
        levels = self.api.call("GET", f"/apis/kai.scheduler/v1alpha1/topologies/{topology}")["spec"]["levels"]
        names = [{item["nodeLabel"], item.get("alias")} for item in levels]
        last = next(index for index, known in enumerate(names) if level in known)
        return [item["nodeLabel"] for item in levels[: last + 1]]


def _below(name: str | None, parts: list[Object]) -> set[str | None]:
    """Returns a SubGroup and all SubGroups below it."""
    found = {name}
    while more := {part["name"] for part in parts if part.get("parent") in found} - found:
        found |= more
    return found
