"""Simulates nodes of a cluster without machines, and their kubelets.

``python -m tests.support.kubelets KUBECONFIG`` runs the simulation alone. It handles only nodes with the annotation
``kubectl-tas.test/kubelet``, and leaves pods on real nodes alone.
"""

from __future__ import annotations

import contextlib
import datetime
import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

Object = dict[str, Any]
GPU = "nvidia.com/gpu"
MARK = "kubectl-tas.test/kubelet"
STUBBORN = "kubectl-tas.test/ignores-sigterm"
"""Annotation of pods that run until the end of their grace period after deletion. All others end at once."""
MERGE = "application/merge-patch+json"
STEP_SECONDS = 0.5
LEASE_SECONDS = 10
"""Interval at which a kubelet renews its lease. After 40 seconds without it, the node is not ready."""


def node(name: str, gpus: int, labels: dict[str, str], cpu: str = "96", memory: str = "1Ti") -> Object:
    """Returns a Node that is ready. ``Api.add_node`` writes its status, which contains its resources."""
    room = {"cpu": cpu, "memory": memory, "pods": "110", **({GPU: str(gpus)} if gpus else {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **labels},
            "annotations": {MARK: ""},
        },
        "status": {"capacity": room, "allocatable": room, "conditions": [_ready(), *_PRESSURES]},
    }


_PRESSURES = [{"type": f"{name}Pressure", "status": "False"} for name in ("Memory", "Disk", "PID")]


class Api:
    """The API server of a kubeconfig, through ``kubectl proxy``, which handles authentication."""

    def __init__(self, kubeconfig: str) -> None:
        command = ["kubectl", f"--kubeconfig={kubeconfig}", "proxy", "--port=0"]
        self._proxy = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._proxy.stdout is not None
        line = self._proxy.stdout.readline()  # Starting to serve on 127.0.0.1:PORT
        assert ":" in line, "kubectl proxy does not start"
        self._port = int(line.rsplit(":", 1)[1])

    def close(self) -> None:
        self._proxy.terminate()
        self._proxy.communicate()

    def call(self, method: str, path: str, body: Object | None = None, kind: str = "application/json") -> Object:
        """Returns the answer of the server. A missing object is an empty answer; an error fails the test."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        with contextlib.closing(connection):
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": kind} if data else {})
            answer = connection.getresponse()
            text = answer.read()
        if answer.status in (404, 409):
            return {}
        assert answer.status < 300, f"{method} {path}: {answer.status} {text.decode()}"
        return dict(json.loads(text))

    def items(self, path: str) -> list[Object]:
        """Returns the objects of a list."""
        return list(self.call("GET", path).get("items", ()))

    def add_node(self, node: Object) -> None:
        """Creates a node, or updates labels and resources of an existing one."""
        name = node["metadata"]["name"]
        if not self.call("POST", "/api/v1/nodes", node):
            self.call("PATCH", f"/api/v1/nodes/{name}", {"metadata": node["metadata"]}, MERGE)
        self.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": node["status"]}, MERGE)
        # the controllers of Kubernetes taint each new node until its kubelet reports
        self.call("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}}, MERGE)

    def pods(self, namespace: str = "") -> list[Object]:
        """Returns all pods, or those of a namespace."""
        return self.items(f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods")

    def end(self, pod: Object, *, failed: bool = False) -> None:
        """Reports that the containers of a pod have exited."""
        code = int(failed)
        ended = {"state": {"terminated": {"exitCode": code, "reason": "Error" if failed else "Completed"}}}
        statuses = [
            {**_container(spec), **ended, "ready": False, "started": False} for spec in pod["spec"]["containers"]
        ]
        self._report(pod, {"phase": "Failed" if failed else "Succeeded", "containerStatuses": statuses})

    def start(self, pod: Object) -> None:
        """Reports that the containers of a pod run."""
        running = {"state": {"running": {"startedAt": _now()}}, "ready": True, "started": True}
        statuses = [{**_container(spec), **running} for spec in pod["spec"]["containers"]]
        conditions = [
            {"type": name, "status": "True", "lastTransitionTime": _now()}
            for name in ("Initialized", "ContainersReady", "Ready", "PodScheduled")
        ]
        status = {"phase": "Running", "startTime": _now(), "conditions": conditions, "containerStatuses": statuses}
        self._report(pod, {**status, "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}]})

    def _report(self, pod: Object, status: Object) -> None:
        self.call("PATCH", f"{_path(pod)}/status", {"status": status}, MERGE)

    def remove(self, pod: Object) -> None:
        """Deletes the object of a pod, as a kubelet does after the containers have ended."""
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        self.call("DELETE", _path(pod), {"apiVersion": "v1", "kind": "DeleteOptions", **options})


class Kubelets:
    """Simulates the kubelets of all nodes that have the annotation, in one thread."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.failure: BaseException | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._reported = 0.0

    def begin(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stops the thread, and raises the error with which it failed."""
        self._stop.set()
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        failures = 0
        while not self._stop.wait(STEP_SECONDS):
            try:
                self.step()
                failures = 0
            except (OSError, http.client.HTTPException, AssertionError) as error:
                failures += 1  # the object may have changed meanwhile
                if failures == 20:
                    self.failure = error
                    return

    def step(self) -> None:
        """Handles each pod once."""
        there = [item for item in self.api.items("/api/v1/nodes") if _is_marked(item)]
        nodes = {item["metadata"]["name"] for item in there}
        self._say_ready(nodes)
        for item in there:
            conditions = item["status"].get("conditions", ())
            if any(each["type"] == "Ready" and each["status"] != "True" for each in conditions):
                path = f"/api/v1/nodes/{item['metadata']['name']}"  # its lease ran out
                self.api.call("PATCH", f"{path}/status", {"status": {"conditions": [_ready(), *_PRESSURES]}}, MERGE)
                self.api.call("PATCH", path, {"spec": {"taints": None}}, MERGE)
        for pod in self.api.pods():
            if pod["spec"].get("nodeName") not in nodes:
                continue
            is_deleted = "deletionTimestamp" in pod["metadata"]
            if is_deleted and (not _is_stubborn(pod) or pod["metadata"]["deletionTimestamp"] <= _now()):
                if pod["status"].get("phase") in ("Pending", "Running"):
                    self.api.end(pod, failed=True)  # before its object goes, the pod is said to have ended
                self.api.remove(pod)
            elif not is_deleted and pod["status"].get("phase") == "Pending":
                self.api.start(pod)

    def _say_ready(self, nodes: set[str]) -> None:
        now = datetime.datetime.now(datetime.UTC)
        if now.timestamp() - self._reported < LEASE_SECONDS:
            return
        self._reported = now.timestamp()
        for name in sorted(nodes):
            spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": f"{now:%Y-%m-%dT%H:%M:%S.%fZ}"}
            metadata = {"name": name, "namespace": "kube-node-lease"}
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
            if not self.api.call("PATCH", f"{leases}/{name}", {"spec": spec}, MERGE):
                self.api.call("POST", leases, lease)


@contextlib.contextmanager
def kubelets(kubeconfig: str) -> Iterator[Api]:
    """Yields the API server of a cluster, and simulates kubelets until the block ends."""
    api = Api(kubeconfig)
    try:
        running = Kubelets(api)
        running.begin()
        try:
            yield api
        finally:
            running.stop()
    finally:
        api.close()


def _is_marked(node: Object) -> bool:
    return MARK in node["metadata"].get("annotations", {})


def _is_stubborn(pod: Object) -> bool:
    return STUBBORN in pod["metadata"].get("annotations", {})


def _path(pod: Object) -> str:
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"


def _container(spec: Object) -> Object:
    return {"name": spec["name"], "image": spec["image"], "imageID": "", "restartCount": 0}


def _ready() -> Object:
    return {"type": "Ready", "status": "True", "lastHeartbeatTime": _now(), "lastTransitionTime": _now()}


def _now() -> str:
    return f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"


if __name__ == "__main__":
    with kubelets(sys.argv[1]):
        threading.Event().wait()
