"""Grove's objects of a cluster in; its sets, its cluster topologies and what is scheduled of each set out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from kubectl_tas.errors import TasError
from kubectl_tas.live import kubectl
from kubectl_tas.live.kubectl import Access
from kubectl_tas.model.grove import PodCliqueSet

SETS = "podcliquesets.grove.io"
CLIQUES = "podcliques.grove.io"
TOPOLOGIES = "clustertopologies.grove.io"
BINDINGS = "clustertopologybindings.grove.io"
"""The later name of cluster topologies."""
PART_OF = "app.kubernetes.io/part-of"
"""Label of a PodClique: its set."""

SetKey = tuple[str, str]
"""Namespace and name of a set."""
Levels = tuple[tuple[str, str], ...]
"""Domain and node label of each level, from the broadest to the narrowest."""


@dataclass(frozen=True, slots=True)
class GroveState:
    """What a cluster has of Grove."""

    sets: dict[SetKey, PodCliqueSet]
    """Sorted by namespace and name."""
    topologies: dict[str, Levels]
    scheduled_pods: dict[SetKey, int]
    """Pods of a set that have a node; empty where the PodCliques are not known."""

    def scheduled(self, key: SetKey) -> int | None:
        """How many pods of a set have a node; None where that is not known."""
        if key not in self.sets:
            return 0
        return self.scheduled_pods.get(key)


def from_cluster(access: Access) -> GroveState:
    """The state of the cluster that ``access`` names. Raises TasError where it cannot be read."""
    sets = kubectl.get(access, SETS, namespaced=True)
    cliques = kubectl.get(access, CLIQUES, namespaced=True)
    return _state([*sets, *cliques, *_topologies(access)])


def _topologies(access: Access) -> list[dict[str, Any]]:
    """Cluster topologies, under the name that this cluster has for them."""
    try:
        return kubectl.get(access, TOPOLOGIES)
    except TasError as first:
        try:
            return kubectl.get(access, BINDINGS)
        except TasError:
            raise first from None


def from_file(path: str) -> GroveState:
    """The state in a file. Raises TasError where it holds something else."""
    return _state(kubectl.read_file(path))


def _state(objects: Iterable[dict[str, Any]]) -> GroveState:
    sets: dict[SetKey, PodCliqueSet] = {}
    topologies: dict[str, Levels] = {}
    cliques: list[dict[str, Any]] = []
    try:
        for item in objects:
            match item.get("kind"):
                case "PodCliqueSet":
                    found = PodCliqueSet.model_validate(_without_nulls(item))
                    sets[(found.metadata.namespace or "default", found.metadata.name)] = found
                case "ClusterTopology" | "ClusterTopologyBinding":
                    levels = item["spec"]["levels"]
                    topologies[str(item["metadata"]["name"])] = tuple((str(x["domain"]), str(x["key"])) for x in levels)
                case "PodClique":
                    cliques.append(item)
        scheduled = _scheduled(sets, cliques)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        hint = "It must be what `kubectl get ... -o json` prints."
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else repr(error)
        raise TasError(f"an object of Grove in the cluster cannot be read: {reason}", hint=hint) from error
    return GroveState(dict(sorted(sets.items())), dict(sorted(topologies.items())), scheduled)


def _scheduled(sets: dict[SetKey, PodCliqueSet], cliques: list[dict[str, Any]]) -> dict[SetKey, int]:
    """Scheduled pods by set. Without any PodClique nothing is known."""
    found = dict.fromkeys(sets, 0) if cliques else {}
    for item in cliques:
        metadata = item["metadata"]
        key = (str(metadata.get("namespace") or "default"), str((metadata.get("labels") or {}).get(PART_OF)))
        if key in found:
            found[key] += int((item.get("status") or {}).get("scheduledReplicas") or 0)
    return found


def _without_nulls(data: Any) -> Any:
    """Kubernetes takes a null field for an absent one."""
    if isinstance(data, dict):
        return {key: _without_nulls(value) for key, value in data.items() if value is not None}
    return [_without_nulls(item) for item in data] if isinstance(data, list) else data
