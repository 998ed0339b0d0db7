"""Asks Prometheus what queues used in the past, with the queries of KAI's scheduler.

Follows pkg/scheduler/cache/usagedb/prometheus/prometheus.go of KAI 0.17, whose queries for sliding windows are those of
0.10 to 0.16, and ``getUsageDBConfig`` of pkg/operator/operands/scheduler. Services of the cluster are reached through
its API server.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.facts.quantities import RESOURCES, ResourceName
from kubectl_tas.facts.times import duration, nanoseconds
from kubectl_tas.live import kubectl
from kubectl_tas.live.cluster_state import KAI_NAMESPACE
from kubectl_tas.live.kubectl import ClusterAccess

if TYPE_CHECKING:
    from kubectl_tas.model.scheduling_shard import UsageDatabase

_METRICS: Mapping[ResourceName, tuple[str, str]] = {
    "gpu": ("kai_queue_allocated_gpus", 'sum(kube_node_status_capacity{resource="nvidia_com_gpu"})'),
    "cpu": ("kai_queue_allocated_cpu_cores", 'sum(kube_node_status_capacity{resource="cpu"})'),
    "memory": ("kai_queue_allocated_memory_bytes", 'sum(kube_node_status_capacity{resource="memory"})'),
}
"""Metrics of what queues hold and of what the cluster has, unless ``extraParams`` names others."""
_SECOND = 10**9
_INSTEAD = "Pass --usage FILE."


def past_usage(access: ClusterAccess, database: UsageDatabase) -> dict[str, dict[ResourceName, float]]:
    """Returns what each queue used in the window, as a fraction of what the cluster had. Raises TasError if Prometheus
    cannot be asked, does not answer in the time that KAI gives it, or lacks what the cluster had.
    """
    address = _address(access, database)
    params = database.usageParams.extraParams
    end = time.monotonic() + _seconds(params.get("usageQueryTimeout"), 10)
    used: dict[str, dict[ResourceName, float]] = {}
    capacity: dict[ResourceName, float] = {}
    try:
        for name in RESOURCES:
            metric = params.get(f"{name}CapacityMetric", _METRICS[name][1])
            capacity[name] = next((value for _, value in _ask(access, address, _query(database, metric), end)), 0)
            if capacity[name] <= 0:
                raise TasError(f"it has nothing for {metric}, without which KAI counts no past usage either")
        for name in RESOURCES:
            metric = params.get(f"{name}AllocationMetric", _METRICS[name][0])
            for queue, value in _ask(access, address, _query(database, metric), end):
                used.setdefault(queue, {})[name] = value / capacity[name]
    except TasError as error:
        message = f"Prometheus at {_shown(address)} does not tell past usage: {error.message}"
        raise TasError(message, hint=_INSTEAD) from error
    return used


def _query(database: UsageDatabase, metric: str) -> str:
    """Returns the query that adds up a metric over the window, decayed by the half-life."""
    params = database.usageParams
    if params.half_life is not None:
        seconds = params.half_life / _SECOND
        metric = f"(({metric}) * (0.5^(({int(time.time())} - time()) / {seconds:f})))"
    step = nanoseconds(params.extraParams.get("queryResolution", "")) or 60 * _SECOND
    return f"sum_over_time(({metric})[{params.windowSize}:{duration(step)}])"


def _seconds(text: str | None, default: float) -> float:
    span = nanoseconds(text) if text else None
    return default if span is None else span / _SECOND


def _ask(access: ClusterAccess, address: str, query: str, end: float) -> Iterator[tuple[str, float]]:
    """Yields the queue and value of each series in the answer to a query. Raises TasError if there is no answer."""
    seconds = end - time.monotonic()
    if seconds <= 0:
        raise TasError("it takes longer than KAI waits")
    service = _service(address)
    host = urlsplit(address)
    prefix = service if service else host.path.rstrip("/")
    server = "" if service else f"{host.scheme}://{host.netloc}"
    content = kubectl.raw(access, f"{prefix}/api/v1/query?query={quote(query, safe='')}", seconds, server)
    try:
        answer = json.loads(content)
        vector = {"vector": answer["data"]["result"]}[answer["data"]["resultType"]]
        values = [(str(series["metric"].get("queue_name", "")), float(series["value"][1])) for series in vector]
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise TasError("its answer is not one of Prometheus") from error
    if not all(math.isfinite(value) for _, value in values):
        raise TasError("a number in its answer is not finite")
    yield from values


def _address(access: ClusterAccess, database: UsageDatabase) -> str:
    """Returns the address of the database; without one, that which KAI's operator gives the scheduler."""
    if database.connectionStringEnvVar:
        variable = database.connectionStringEnvVar
        raise TasError(f"only the scheduler knows the variable {variable}, which has the address", hint=_INSTEAD)
    address = database.connectionString or _of_operator(access)
    with suppress(ValueError):  # a port that is no number
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return address
    raise TasError(f'"{_shown(address)}" is not the address of a Prometheus, such as http://host:9090', hint=_INSTEAD)


def _of_operator(access: ClusterAccess) -> str:
    try:
        configs = kubectl.get(access, "configs.kai.scheduler")
    except TasError as error:
        raise TasError(error.message, hint=_INSTEAD) from error
    spec: Any = next((fields.get("spec") for fields in configs if fields["metadata"].get("name") == "kai-config"), {})
    spec = spec if isinstance(spec, dict) else {}
    prometheus = spec.get("prometheus")
    prometheus = prometheus if isinstance(prometheus, dict) else {}
    if prometheus.get("enabled") is True:
        namespace = spec.get("namespace") or KAI_NAMESPACE
        return f"http://usage-prometheus.{namespace}.svc.cluster.local:9090"
    if isinstance(prometheus.get("externalPrometheusUrl"), str):
        return str(prometheus["externalPrometheusUrl"])
    message = "neither the shard nor KAI's Config kai-config names a Prometheus"
    raise TasError(message, hint="Set connectionString in the shard's usageDBConfig, or pass --usage FILE.")


def _service(address: str) -> str:
    """Returns the path of a service of the cluster at its API server; empty for an address outside the cluster."""
    url = urlsplit(address)
    host = url.hostname or ""
    labels = host.split(".")
    if "svc" in labels:
        labels = labels[: labels.index("svc")][-2:]
    elif len(labels) == 1:
        labels = [host, KAI_NAMESPACE]
    if len(labels) != 2 or host == "localhost" or ":" in host:
        return ""
    name, namespace = labels
    port = url.port or (443 if url.scheme == "https" else 80)
    return f"/api/v1/namespaces/{namespace}/services/{url.scheme}:{name}:{port}/proxy{url.path.rstrip('/')}"


def _shown(address: str) -> str:
    before, separator, host = address.rpartition("@")
    return f"{before.partition('//')[0]}//{host}" if separator else address
