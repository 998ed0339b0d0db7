"""The GPUs that a pod asks for: one definition, in Python for files, and in CEL for the policies of an API server.

As Kubernetes counts: containers and sidecars (init containers with restartPolicy: Always) add up; any other init
container runs beside the sidecars that were started before it, and frees what it held. A container asks by its
limit, or by its request where it has no limit.
"""

from __future__ import annotations

from collections.abc import Iterable

GPU = "nvidia.com/gpu"
"""The resource name under which Kubernetes counts whole GPUs."""


def of_pod(init: Iterable[tuple[int, bool]], containers: Iterable[int]) -> int:
    """GPUs of a pod by those of its containers; with each init container goes whether it is a sidecar."""
    sidecars = most = 0
    for gpus, is_sidecar in init:
        if is_sidecar:
            sidecars += gpus
        else:
            most = max(most, sidecars + gpus)
    return max(most, sidecars + sum(containers))


def cel_of_pod(spec: str) -> str:
    """The same of the pod whose spec is ``spec`` in CEL, such as ``object.spec``, as one expression."""
    init = f"(has({spec}.initContainers) ? {spec}.initContainers : [])"
    is_sidecar = "(has({0}.restartPolicy) && {0}.restartPolicy == 'Always')"
    sidecars = f"{init}.filter(s, {is_sidecar.format('s')}).map(s, {_cel_of_container('s')})"
    running = f"([0] + {spec}.containers.map(c, {_cel_of_container('c')}) + {sidecars}).sum()"
    before = f"{init}.filter(s, {is_sidecar.format('s')} && {init}.indexOf(s) < {init}.indexOf(i))"
    starting = f"{_cel_of_container('i')} + ([0] + {before}.map(s, {_cel_of_container('s')})).sum()"
    return f"([{running}] + {init}.map(i, {is_sidecar.format('i')} ? 0 : {starting})).max()"


def _cel_of_container(name: str) -> str:
    limits, requests = (
        f"has({name}.resources) && has({name}.resources.{part}) && '{GPU}' in {name}.resources.{part}"
        for part in ("limits", "requests")
    )
    amount = "quantity(string({0}.resources.{1}['" + GPU + "'])).asInteger()"
    return f"({limits} ? {amount.format(name, 'limits')} : {requests} ? {amount.format(name, 'requests')} : 0)"
