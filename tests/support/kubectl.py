"""Provides a fake kubectl that records its calls and gives prepared answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

GPU = "nvidia.com/gpu"
SCRIPT = """\
#!/bin/sh
echo "$@" >> "{folder}/calls"
case "$*" in
  *"get queues.scheduling.run.ai -o json") cat "{folder}/queues" ;;
  *"get podgroups.scheduling.run.ai -A -o json") cat "{folder}/podgroups" ;;
  *"get podgroups.scheduling.run.ai --namespace="*" -o json") cat "{folder}/podgroups" ;;
  *"get nodes -o json") cat "{folder}/nodes" ;;
  *"get pods -A -o json") echo '{{"kind": "PodList", "items": []}}' ;;
  *"get priorityclasses.scheduling.k8s.io -o json") echo '{{"kind": "PriorityClassList", "items": []}}' ;;
  *) echo "error: unknown command" >&2; exit 1 ;;
esac
"""
RESOURCES = {
    "queues.scheduling.run.ai": "Queue",
    "podgroups.scheduling.run.ai": "PodGroup",
    "nodes": "Node",
    "pods": "Pod",
    "topologies.kai.scheduler": "Topology",
    "priorityclasses.scheduling.k8s.io": "PriorityClass",
    "deployments.apps": "Deployment",
}
"""Resources of a cluster without Grove, with their kinds."""
FAILING = """\
#!/bin/sh
cat "{folder}/failure" >&2
exit 1
"""


BY_CONTEXT = """\
#!/bin/sh
echo "$@" >> "{folder}/calls"
context=default
for word in "$@"; do case "$word" in --context=*) context="${{word#--context=}}" ;; esac; done
while [ "$1" != get ]; do shift; done
[ -d "{folder}/$context" ] || {{ echo "error: context \\"$context\\" does not exist" >&2; exit 1; }}
[ -f "{folder}/$context/$2.forbidden" ] && {{ echo "Error from server (Forbidden): $2 is forbidden" >&2; exit 1; }}
cat "{folder}/$context/$2" 2>/dev/null && exit
echo "error: the server doesn't have a resource type \\"$2\\"" >&2; exit 1
"""


class FakeKubectl:
    """The program in ``KUBECTL_PATH``. Every queue is idle until a test gives other answers."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.program = folder / "kubectl"
        monkeypatch.setenv("KUBECTL_PATH", str(self.program))
        self._install(SCRIPT)
        self.answers([], [])
        (folder / "nodes").write_text(_list([node("n", 10**6)]))

    def answers(self, queues: list[dict[str, Any]], pod_groups: list[dict[str, Any]]) -> None:
        """Sets the queues and PodGroups of the cluster."""
        self.prints(_list(queues), _list(pod_groups))

    def prints(self, queues: str, pod_groups: str) -> None:
        """Sets the texts to print for queues and PodGroups, valid or not."""
        (self.folder / "queues").write_text(queues)
        (self.folder / "podgroups").write_text(pod_groups)

    def fails(self, message: str) -> None:
        """Makes kubectl print ``message`` to stderr and exit with 1."""
        (self.folder / "failure").write_text(message)
        self._install(FAILING)

    def knows(self, context: str, *items: dict[str, Any], forbidden: str = "") -> None:
        """Answers by context from now on: this context has these objects. Unknown contexts fail."""
        self._install(BY_CONTEXT)
        folder = self.folder / context
        folder.mkdir(exist_ok=True)
        for resource, kind in RESOURCES.items():
            (folder / resource).write_text(_list([item for item in items if item["kind"] == kind]))
        if forbidden:
            (folder / f"{forbidden}.forbidden").touch()

    def runs(self, script: str) -> None:
        """Makes kubectl run a shell script."""
        self._install("#!/bin/sh\n{script}\n", script=script)

    @property
    def calls(self) -> list[str]:
        """The arguments of every call so far."""
        file = self.folder / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def _install(self, text: str, **values: str) -> None:
        self.program.write_text(text.format(folder=self.folder, **values))
        self.program.chmod(0o755)


def queue(name: str, allocated: object = None, non_preemptible: object = None) -> dict[str, Any]:
    """Returns a Queue that holds GPUs. Without GPUs its status is empty, like the status of an unused queue."""
    held = {
        "allocated": allocated,
        "allocatedNonPreemptible": allocated if non_preemptible is None else non_preemptible,
    }
    status = {field: {GPU: gpus} for field, gpus in held.items() if gpus is not None}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "status": status}


def node(name: str, gpus: int, *, ready: bool = True, cordoned: bool = False, **labels: str) -> dict[str, Any]:
    """Returns a Node with GPUs for pods."""
    ready_now = {"type": "Ready", "status": str(ready), "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"unschedulable": True} if cordoned else {},
        "status": {"allocatable": {"cpu": "96", GPU: str(gpus)}, "conditions": [ready_now]},
    }


def pod_group(queue_name: str, **status: Any) -> dict[str, Any]:
    """Returns a PodGroup in a queue."""
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "group", "namespace": "default"},
        "spec": {"queue": queue_name, "minMember": 1},
        "status": status,
    }


def _list(items: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items, "metadata": {"resourceVersion": ""}})
