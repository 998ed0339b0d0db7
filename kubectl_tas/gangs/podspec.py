"""A task and its resource in, the spec of their pod out, as data. Pure.

The names of a gang and of its pods end in a hash of what is made here, so it knows none of them, and has no field
that is left out of the manifest.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from kubectl_tas.gangs.files import with_mounts
from kubectl_tas.gangs.tokens import OUTPUT
from kubectl_tas.gpus import GPU
from kubectl_tas.model.platform import Nodes
from kubectl_tas.model.pod import Toleration
from kubectl_tas.model.workflow import Resource, Task
from kubectl_tas.resolve import names

_HOSTNAME = "kubernetes.io/hostname"
_FILLED_IN = tuple(
    Toleration(key=key, operator="Exists", effect="NoExecute", tolerationSeconds=300)
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
        spec["tolerations"] = [item.data for item in (*nodes.tolerations, *_filled_in(nodes.tolerations))]
    if resource.nodesExcluded:
        spec["affinity"] = _away_from(list(dict.fromkeys(resource.nodesExcluded)))
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


def _filled_in(written: tuple[Toleration, ...]) -> Iterator[Toleration]:
    """What a server would add behind ``written``. A list of tolerations is compared as a whole, so kubectl and Argo CD
    would find a change in every apply.
    """
    for item in _FILLED_IN:
        if not any(known.key in (None, item.key) and known.effect in (None, "NoExecute") for known in written):
            yield item


def _container(task: Task, resource: Resource) -> dict[str, Any]:
    container: dict[str, Any] = {"name": names.shorten(names.fold(task.name)), "image": task.image}
    if task.command:
        container["command"] = [str(word) for word in task.command]
    if task.args:
        container["args"] = [str(word) for word in task.args]
    if variables := [*_variables(task)]:
        container["env"] = variables
    if amounts := _amounts(resource):
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


def _amounts(resource: Resource) -> dict[str, str]:
    """Requests equal limits: what a gang holds is what its queue is charged for."""
    amounts: dict[str, str] = {}
    if resource.cpu is not None:
        amounts["cpu"] = _cpu(resource.cpu)
    if resource.storage is not None:
        amounts["ephemeral-storage"] = resource.storage
    if resource.memory is not None:
        amounts["memory"] = resource.memory
    if resource.gpu:
        amounts[GPU] = str(resource.gpu)
    return amounts


def _cpu(cores: int | float | str) -> str:
    """Cores as a Kubernetes quantity, never in scientific notation."""
    return f"{Decimal(str(cores)):f}" if isinstance(cores, float) else str(cores)


def with_output(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec of a pod with a folder for what it leaves, which is gone with the pod."""
    volume = {"name": "task-output", "emptyDir": dict[str, str]()}
    return with_mounts(spec, [volume], [{"name": volume["name"], "mountPath": OUTPUT}])


def _away_from(hosts: list[str]) -> dict[str, Any]:
    condition = {"key": _HOSTNAME, "operator": "NotIn", "values": hosts}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [condition]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
