"""A task and its resource in, the spec of their pod out, as data. Pure.

The names of a gang and of its pods end in a hash of what is made here, so it knows none of them, and has no field
that is left out of the manifest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kubectl_tas.gangs.files import with_mounts
from kubectl_tas.gangs.tokens import OUTPUT
from kubectl_tas.gpus import VISIBLE_DEVICES
from kubectl_tas.model.platform import Nodes
from kubectl_tas.model.workflow import Resource, Task
from kubectl_tas.resolve import names

_HOSTNAME = "kubernetes.io/hostname"
_FILLED_IN = tuple(
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
)
"""What an API server adds to every pod (Kubernetes 1.35, plugin/pkg/admission/defaulttolerationseconds)."""


def pod_spec(task: Task, resource: Resource, scheduler: str, priority_class: str, nodes: Nodes) -> dict[str, Any]:
    """What the pod of ``task`` runs, asks for and keeps away from: the data of a ``PodSpec``. ``nodes`` is what its
    pool says of them.
    """
    spec: dict[str, Any] = {
        "schedulerName": scheduler,
        "priorityClassName": priority_class,
        "restartPolicy": "Never",
        "containers": [_container(task, resource)],
    }
    if task.hostNetwork:
        spec |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    if nodes.selector:
        spec["nodeSelector"] = nodes.selector
    if nodes.tolerations:
        spec["tolerations"] = tolerated([item.data for item in nodes.tolerations])
    if resource.nodesExcluded:
        spec["affinity"] = away_from(resource.nodesExcluded)
    if volumes := [*_host_volumes(task), *_secret_volumes(task)]:
        spec["volumes"] = volumes
    return spec


def _host_volumes(task: Task) -> Iterator[dict[str, Any]]:
    for index, mount in enumerate(task.volumeMounts):
        yield {"name": f"host-{index}", "hostPath": {"path": mount.partition(":")[0]}}


def _secret_volumes(task: Task) -> Iterator[dict[str, Any]]:
    for secret in mounted_secrets(task):
        name = names.fold(secret)
        yield {"name": _secret_volume(secret), "secret": {"secretName": name, "defaultMode": 0o644}}


def mounted_secrets(task: Task) -> dict[str, str]:
    """The credentials of a task that are folders in its container, by name; the others are variables."""
    return {name: value for name, value in task.credentials.items() if isinstance(value, str)}


def _secret_volume(secret: str) -> str:
    return names.as_label(f"secret-{names.fold(secret)}")


def tolerated(written: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tolerations, and behind them what a server would add. The list is compared as a whole, so kubectl and Argo CD
    would find a change in every apply.
    """
    every = (None, "")
    return [
        *written,
        *(
            item
            for item in _FILLED_IN
            if not any(
                known.get("key") in (*every, item["key"]) and known.get("effect") in (*every, "NoExecute")
                for known in written
            )
        ),
    ]


def _container(task: Task, resource: Resource) -> dict[str, Any]:
    container: dict[str, Any] = {"name": names.shorten(names.fold(task.name)), "image": task.image}
    if task.command:
        container["command"] = [str(word) for word in task.command]
    if task.args:
        container["args"] = [str(word) for word in task.args]
    if variables := [*_variables(task), *_hiding(task, resource)]:
        container["env"] = variables
    if amounts := resource.amounts:  # requests equal limits: what a gang holds is what its queue is charged for
        container["resources"] = {"limits": amounts, "requests": amounts}
    if task.privileged:
        container["securityContext"] = {"privileged": True}
    hosts = [
        {"name": f"host-{index}", "mountPath": mount.rpartition(":")[2]}
        for index, mount in enumerate(task.volumeMounts)
    ]
    secrets = [
        {"name": _secret_volume(name), "mountPath": path, "readOnly": True}
        for name, path in mounted_secrets(task).items()
    ]
    if hosts or secrets:
        container["volumeMounts"] = [*hosts, *secrets]
    return container


def _variables(task: Task) -> Iterator[dict[str, Any]]:
    for name, value in task.environment.items():
        yield {"name": name, "value": str(value)}
    for secret, keys in task.credentials.items():
        for name, key in keys.items() if isinstance(keys, dict) else ():
            yield {"name": name, "valueFrom": {"secretKeyRef": {"name": names.fold(secret), "key": str(key)}}}


def _hiding(task: Task, resource: Resource) -> Iterator[dict[str, Any]]:
    """What hides the GPUs of its node from a task that asks for none, whatever its image says: ``to_pod_container`` of
    OSMO (src/utils/job/task.py).
    """
    own = (name for keys in task.credentials.values() if isinstance(keys, dict) for name in keys)
    if not resource.asks.gpu and VISIBLE_DEVICES not in (*task.environment, *own):
        yield {"name": VISIBLE_DEVICES, "value": ""}


def with_output(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec of a pod with a folder for what it leaves, which is gone with the pod."""
    volume = {"name": "task-output", "emptyDir": dict[str, str]()}
    return with_mounts(spec, [volume], [{"name": volume["name"], "mountPath": OUTPUT}])


def away_from(hosts: Iterable[str]) -> dict[str, Any]:
    """The affinity of a pod that keeps away from nodes, by their host names."""
    condition = {"key": _HOSTNAME, "operator": "NotIn", "values": list(dict.fromkeys(hosts))}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [condition]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
