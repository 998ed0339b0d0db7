"""Checks node labels in pods and in levels of topologies: whether anything sets them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from kubectl_tas.base.diagnostics import Diagnostic, Rule, Waiving
from kubectl_tas.base.late import late_pattern
from kubectl_tas.base.words import closest, misspelled, question
from kubectl_tas.check.conflicts import Fields
from kubectl_tas.check.resource_requests import pods_of
from kubectl_tas.facts.node_places import BEFORE_1_0, GPU_CLIQUE, HOSTNAME, PLACES, SINCE_1_0
from kubectl_tas.kinds.backdoors import pods_at
from kubectl_tas.model.base import QUALIFIED_NAME, KeyPath
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.podcliqueset import SubmittedSet
from kubectl_tas.resolve.topologies import FleetTopology

NODE_LABEL = Rule.error(
    "node-label",
    "A node label is nearly one of Kubernetes' own, or of a level of the pool.",
    "No node has this label, or this architecture (amd64, not x86_64): pods that ask for it stay Pending, and pods "
    "that spread over it are not spread. Correct the label. If an administrator sets a label of that name, waive the "
    "rule.",
    protects=Waiving.ANYBODY,
)
NODE_LABELS = (
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node-role.kubernetes.io/control-plane",
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/windows-build",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
)
"""Labels that Kubernetes gives to nodes."""
_OF_ARCHITECTURE = ("kubernetes.io/arch", "beta.kubernetes.io/arch")
_ARCHITECTURES = {**dict.fromkeys(("x86_64", "x86-64", "x64"), "amd64"), **dict.fromkeys(("aarch64", "armv8"), "arm64")}
"""Names of architectures that people write, and those that a kubelet writes (GOARCH)."""
LEVEL_LABEL_UNKNOWN = Rule.warning(
    "level-label-unknown",
    "A level's node label is nearly a known one, or of an older release.",
    "KAI leaves every node that lacks one of its labels out of a Topology. If nothing sets the label, no node is left, "
    "and work that asks for a level stays Pending. GPU Feature Discovery sets nvidia.com/gpu.clique, with a point. "
    "Topograph sets other labels since 1.0. If you label the nodes yourself, or run an older Topograph, waive the rule "
    "at that line.",
)
_KUBERNETES = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone", HOSTNAME)
_KNOWN = (
    *(node_place.label for node_place in PLACES),
    *(f"nvidia.com/gpu.{name}" for name in ("count", "machine", "product")),
)
_MANY = late_pattern(r"(fabric\.topograph\.run/tier|topology\.k8s\.aws/network-node-layer)-[0-9]+")
"""Families of labels with a number at the end, which has no known maximum."""
_OF_KUBERNETES = late_pattern(r"((topology|node)\.)?(kubernetes|k8s)\.io")
_SLIPS = 2


def node_label(origin: Origin, path: KeyPath, label: str) -> Iterator[Diagnostic]:
    """Reports a misspelled node label of Kubernetes. The label is the key or the value at ``path``."""
    intended_label = _of_kubernetes(label)
    value = origin.value(path)
    architecture = (
        _ARCHITECTURES.get(str(value).casefold()) if label in _OF_ARCHITECTURE and path[-1] == label else None
    )
    if architecture is not None:
        message = f'no node has "{value}" in the label {label}: Kubernetes writes the names of Go there'
        yield Diagnostic(NODE_LABEL, message, origin.locate(path), hint=f"Write {architecture}.")
    if intended_label is not None:
        location = origin.locate(path, key=path[-1] == label)
        yield Diagnostic(
            NODE_LABEL, f'no node has the label "{label}"', location, hint=f'Did you mean "{intended_label}"?'
        )


def _of_kubernetes(label: str) -> str | None:
    """Returns the node label of Kubernetes that a label misspells."""
    return None if label in NODE_LABELS else closest(label, NODE_LABELS, most=1, folds=True)


def check_labels_of_levels(sent: FleetWorkload | SubmittedSet, fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds node labels in pods that misspell the label of a level of their pool."""
    levels = [level.label for level in sent.pool.levels]
    origin = sent.declared.origin
    for pods in pods_of(sent) if levels else ():
        for path in pods_at(origin.data, pods.path):
            for label_path, label in _labels_in(Fields(origin, path, origin.value(path))):
                is_known = any(label == level.label for topology in fleet.topologies for level in topology.levels)
                intended_label = None if is_known or label in NODE_LABELS else misspelled(label, levels)
                if intended_label is not None and _of_kubernetes(label) is None:  # else node_label reports it
                    message = (
                        f'no node has the label "{label}"; a level of pool {sent.pool.name} has "{intended_label}"'
                    )
                    where = origin.locate(label_path, key=label_path[-1] == label)
                    yield Diagnostic(NODE_LABEL, message, where, hint=question(label, intended_label))


_WITH_LABELS = frozenset({"nodeSelector", "affinity", "topologySpreadConstraints"})
"""The fields of a pod with node labels."""


def _labels_in(spec: Fields) -> Iterator[tuple[KeyPath, str]]:
    """Yields the node labels in the fields of a pod, each with its path."""
    if _WITH_LABELS.isdisjoint(spec.value):
        return
    yield from (((*spec.path, "nodeSelector", label), label) for label in spec.below("nodeSelector").value)
    affinity = spec.below("affinity")
    terms = [(path, "topologyKey") for path in ("podAffinity", "podAntiAffinity")]
    waiting: list[tuple[KeyPath, object, str]] = [
        (("topologySpreadConstraints",), spec.get("topologySpreadConstraints"), "topologyKey"),
        *((("affinity", name), affinity.get(name), key) for name, key in (*terms, ("nodeAffinity", "key"))),
    ]
    while waiting:
        path, value, key = waiting.pop()
        if isinstance(value, dict):
            if isinstance(label := value.get(key), str):
                yield (*spec.path, *path, key), label
            waiting += (((*path, name), below, key) for name, below in value.items())
        elif isinstance(value, list):
            waiting += (((*path, index), below, key) for index, below in enumerate(value))


def mended_level(name: str, topology: FleetTopology | None) -> str:
    """Returns a hint to fix a misspelled label in a level, if work asks for the correct label; else an empty text."""
    wrong = closest(name, [level.label for level in topology.levels], most=1) if topology else None
    if wrong in (None, name) or name not in (GPU_CLIQUE, *NODE_LABELS):
        return ""
    return f'Nodes have {name}, and the level of the topology says "{wrong}": write {name} there.'


def check_level_labels(topology: FleetTopology, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the label of every level of a topology."""
    for index, level in enumerate(topology.levels):
        location = topology.declared.at(*topology.path, index, "label" if topology.pool else "key")
        old, is_old, name = level.label.partition(BEFORE_1_0)
        now = SINCE_1_0.get(name) if is_old and not old else None
        if now is not None:
            message = f"Topograph sets the node label {level.label} before its release 1.0; since then it sets {now}"
            hint = f"Write {now}, or waive this where an older Topograph runs."
            yield Diagnostic(LEVEL_LABEL_UNKNOWN, message, location, hint=hint)
        elif (intended_label := _meant(level.label)) is not None:
            message = f'nothing sets the node label "{level.label}", so KAI would find no node for this topology'
            yield Diagnostic(LEVEL_LABEL_UNKNOWN, message, location, hint=question(level.label, intended_label))


@lru_cache(maxsize=4096)
def _meant(label: str) -> str | None:
    """Returns the known label that ``label`` most likely misspells; None if there is no such label."""
    if label in _KNOWN or _MANY.fullmatch(label) or not re.fullmatch(QUALIFIED_NAME, label):
        return None
    same = next((known_label for known_label in _KNOWN if _letters(known_label) == _letters(label)), None)
    if same is not None:
        return same
    domain, _, name = label.rpartition("/")
    if _OF_KUBERNETES.fullmatch(domain):
        name = "hostname" if name in ("host", "node") and domain == "kubernetes.io" else name
        kubernetes_label = next((known_label for known_label in _KUBERNETES if known_label.endswith(f"/{name}")), None)
        if kubernetes_label is not None:
            return kubernetes_label
    return closest(label, _KNOWN, most=_SLIPS)


def _letters(label: str) -> str:
    """Returns a label without the characters and the case that people often mix up."""
    return re.sub(r"[-._]", "", label).casefold()
