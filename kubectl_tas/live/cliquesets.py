"""Reads Grove's objects of a cluster: its sets, its cluster topologies, and how many pods of each set have nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.grove import DEFAULT_TOPOLOGY
from kubectl_tas.kinds import SET
from kubectl_tas.live import kubectl
from kubectl_tas.live.kubectl import ClusterAccess, NoSuchResourceError

SETS = "podcliquesets.grove.io"
CLIQUES = "podcliques.grove.io"
TOPOLOGIES = "clustertopologies.grove.io"
BINDINGS = "clustertopologybindings.grove.io"
"""The newer name of cluster topologies."""
PART_OF = "app.kubernetes.io/part-of"
"""Label of a PodClique that holds the name of its set."""

SetKey = tuple[str, str]
"""Namespace and name of a set."""


@json_fields("domain key")
class DomainKey(NamedTuple):
    """A level in Grove's form."""

    domain: str
    key: str
    """The node label."""


Levels = tuple[DomainKey, ...]
"""Domain and node label of each level, coarsest first."""


@dataclass(frozen=True, slots=True)
class LiveSet:
    """The placement that a PodCliqueSet of the cluster asks for, without other fields of the set."""

    topology_name: str | None
    """The cluster topology that the set uses; None if the set asks for no placement."""
    is_named: bool
    """Whether the set names that topology; otherwise it is the default."""
    domains: tuple[str, ...]
    """The domains that the set asks for, each once."""


@dataclass(frozen=True, slots=True)
class GroveState:
    """The state of Grove in one cluster. None stands for unknown objects."""

    sets: Mapping[SetKey, LiveSet] | None
    """Sets, sorted by namespace and name."""
    topologies: Mapping[str, Levels] | None
    """Levels of the cluster topologies, sorted by name."""
    pods: Mapping[SetKey, int | None] | None
    """Number of pods with a node, by set, or None if unknown for a set. Leaves out sets without such pods."""
    namespace: str | None = None
    """The only namespace whose sets are known; None means all namespaces."""

    def scheduled(self, key: SetKey) -> int | None:
        """Returns how many pods of a set have a node; None if unknown."""
        if self.sets is not None and key not in self.sets:
            return 0
        return None if self.pods is None else self.pods.get(key, 0)


def from_cluster(access: ClusterAccess) -> GroveState:
    """Returns the state of the cluster that ``access`` names.

    Raises NoSuchResourceError if Grove is not installed there, and TasError if the cluster cannot be read.
    """
    sets = kubectl.get(access, SETS, namespaced=True)
    cliques = kubectl.get(access, CLIQUES, namespaced=True)
    state = _state([*sets, *cliques, *_topologies(access)])
    return GroveState(state.sets or {}, state.topologies or {}, state.pods or {}, access.namespace)


def _topologies(access: ClusterAccess) -> list[dict[str, Any]]:
    """Returns cluster topologies under both names: after an update of Grove, a cluster may know either name."""
    topologies: list[dict[str, Any]] = []
    missing: list[NoSuchResourceError] = []
    for resource in (TOPOLOGIES, BINDINGS):
        try:
            topologies += kubectl.get(access, resource)
        except NoSuchResourceError as error:
            missing.append(error)
    if len(missing) == 2:
        raise missing[0]
    return topologies


def from_file(path: str, namespace: str | None = None) -> GroveState:
    """Returns the state in a file, which may hold only some kinds of objects; with ``namespace``, only the sets there.

    Raises TasError if the file cannot be read as objects.
    """
    objects = kubectl.read_file(path)
    state = _state(objects, kubectl.complete_kinds(objects))
    if namespace is None or state.sets is None:
        return replace(state, namespace=namespace)
    sets = {key: live_set for key, live_set in state.sets.items() if key[0] == namespace}
    return replace(state, sets=sets, namespace=namespace)


def _state(objects: Iterable[dict[str, Any]], complete: Collection[str] = ()) -> GroveState:
    """Returns the state. Without an object of a kind, the kind is unknown, unless it is in ``complete``."""
    sets: dict[SetKey, LiveSet] = {}
    topologies: dict[str, Levels] = {}
    pods: dict[SetKey, int | None] = {}
    kinds = set(complete)
    for fields in objects:
        kind = str(fields.get("kind"))
        kinds.add(kind)
        name = fields.get("metadata", {}).get("name")
        match kind:
            case SET.kind:
                sets[_key(fields, name)] = _live_set(fields)
            case "ClusterTopology" | "ClusterTopologyBinding":
                topologies[name] = tuple(DomainKey(level["domain"], level["key"]) for level in fields["spec"]["levels"])
            case "PodClique":
                owner = (fields["metadata"].get("labels") or {}).get(PART_OF)
                if owner is not None:
                    key = _key(fields, owner)
                    status = fields.get("status")
                    pods[key] = _sum(pods.get(key, 0), None if status is None else status.get("scheduledReplicas", 0))
    return GroveState(
        dict(sorted(sets.items())) if SET.kind in kinds else None,
        dict(sorted(topologies.items())) if kinds & {"ClusterTopology", "ClusterTopologyBinding"} else None,
        pods if "PodClique" in kinds else None,
    )


def _key(fields: Mapping[str, Any], name: str) -> SetKey:
    return fields["metadata"].get("namespace") or "default", name


def _sum(pods: int | None, further_pods: int | None) -> int | None:
    return None if pods is None or further_pods is None else pods + further_pods


def _live_set(fields: Mapping[str, Any]) -> LiveSet:
    """Reads a set in either spelling; ignores domains and fields that this tool does not know."""
    template = fields["spec"]["template"]
    constrained = [template, *(template.get("podCliqueScalingGroups") or ()), *(template.get("cliques") or ())]
    constraints = [unit.get("topologyConstraint") or {} for unit in constrained]
    packs = [constraint.get("pack") or {} for constraint in constraints]
    domains = [
        domain
        for constraint, pack in zip(constraints, packs, strict=True)
        for domain in (constraint.get("packDomain") or pack.get("required"), pack.get("preferred"))
        if domain
    ]
    names = [template.get("clusterTopologyName"), *(constraint.get("topologyName") for constraint in constraints)]
    named = next(filter(None, names), None)
    used = named or (DEFAULT_TOPOLOGY if domains else None)
    return LiveSet(used, named is not None, tuple(dict.fromkeys(domains)))
