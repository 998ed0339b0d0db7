"""GPUs of a pod, counted as Kubernetes does."""

from __future__ import annotations

from kubectl_tas.model.workload import Container, PodSpec


def pod_gpus(spec: PodSpec) -> int:
    """GPUs that one pod holds: its containers and sidecars together, or an init container that needs more."""
    sidecars = most = 0
    for container in spec.initContainers:
        if container.restartPolicy == "Always":
            sidecars += _gpus(container)
            most = max(most, sidecars)
        else:
            most = max(most, sidecars + _gpus(container))
    return max(most, sidecars + sum(_gpus(container) for container in spec.containers))


def _gpus(container: Container) -> int:
    resources = container.resources
    amount = resources.requests.gpu if resources.limits.gpu is None else resources.limits.gpu
    return int(amount or 0)
