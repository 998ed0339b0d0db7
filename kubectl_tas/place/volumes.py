"""Finds the nodes from which the volumes of PersistentVolumeClaims cannot be reached.

KAI calls the plugin VolumeBinding of Kubernetes' scheduler for them (0.17: pkg/scheduler/k8s_internal/predicates). A
bound claim ties its pods to the node affinity of its volume, a claim that waits for its first pod to the topologies of
its StorageClass. KAI does not call VolumeZone: a zone in the labels of a volume does not count. The
40 random clusters that are recorded came out as in KAI's scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from kubectl_tas.place.node_resources import ClusterNodes, NodeResources
from kubectl_tas.place.shapes import NodeCondition, Term, term_of

Claim = tuple[str, str]
"""Namespace and name of a PersistentVolumeClaim."""


def with_volumes(nodes: ClusterNodes, objects: Iterable[Mapping[str, Any]]) -> ClusterNodes:
    """Returns the nodes with the claims among the objects that each of them cannot serve."""
    by_kind: dict[str, dict[Claim, Mapping[str, Any]]] = {}
    for manifest in objects:
        metadata = manifest.get("metadata") or {}
        namespace = str(metadata.get("namespace") or "default") if manifest.get("kind") == _CLAIM else ""
        by_kind.setdefault(str(manifest.get("kind")), {})[namespace, str(metadata.get("name"))] = manifest
    claims = {claim: _terms(manifest, by_kind) for claim, manifest in by_kind.get(_CLAIM, {}).items()}
    known_claims = {claim: alternatives for claim, alternatives in claims.items() if alternatives is not None}
    if not known_claims:
        return nodes
    reached = tuple(
        replace(node, unreachable=frozenset(claim for claim in known_claims if not _serves(node, known_claims[claim])))
        for node in nodes.nodes
    )
    return replace(nodes, nodes=reached, known_claims=frozenset(known_claims))


_CLAIM = "PersistentVolumeClaim"
Alternatives = tuple[tuple[Term, ...], ...]
"""Terms of each condition on a node: of each tuple one term must hold."""


def _serves(node: NodeResources, conditions: Alternatives) -> bool:
    return all(any(term and all(each.holds(node) for each in term) for term in terms) for terms in conditions)


def _terms(claim: Mapping[str, Any], by_kind: Mapping[str, Mapping[Claim, Mapping[str, Any]]]) -> Alternatives | None:
    """Returns what a claim asks of a node; None if the objects do not say it."""
    spec = claim.get("spec") or {}
    if spec.get("volumeName"):
        volume = by_kind.get("PersistentVolume", {}).get(("", str(spec["volumeName"])))
        return None if volume is None else _of_volume(volume)
    storage_class = by_kind.get("StorageClass", {}).get(("", str(spec.get("storageClassName"))))
    if storage_class is None:
        return None
    if storage_class.get("volumeBindingMode") != "WaitForFirstConsumer":
        return ((),)  # no node: the pods wait until the claim is bound
    topologies = storage_class.get("allowedTopologies") or ()
    terms = (
        tuple(
            NodeCondition(str(each["key"]), "In", tuple(map(str, each.get("values") or ())))
            for each in topology.get("matchLabelExpressions") or ()
        )
        for topology in topologies
    )
    return (tuple(terms),) if topologies else ()


def _of_volume(volume: Mapping[str, Any]) -> Alternatives:
    affinity = (((volume.get("spec") or {}).get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms")
    return (tuple(map(term_of, affinity)),) if affinity else ()
