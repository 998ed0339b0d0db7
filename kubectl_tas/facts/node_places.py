"""Lists the labels that tell where a node is, and tells which nodes a pod selects by nodeSelector and node affinity.

Reads nodeSelector and required node affinity as Kubernetes does (the nodeaffinity package of k8s.io/component-helpers).
Sources of labels: Kubernetes (reference "Well-Known Labels"), GPU Feature Discovery (docs/gpu-feature-discovery of
NVIDIA/k8s-device-plugin), Topograph ("Node Labels and Annotations", 1.0), GKE ("View the physical topology of nodes"),
EKS and SageMaker HyperPod ("topology-aware scheduling"), CoreWeave ("InfiniBand and RoCE Labels", "GB200 NVL72-Powered
Instances").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import did_you_mean, shortened

HOSTNAME = "kubernetes.io/hostname"
GPU_CLIQUE = "nvidia.com/gpu.clique"
"""The GPU operator's label for the NVLink domain of a node (GPU Feature Discovery, docs/README.md)."""
_KUBERNETES, _TOPOGRAPH = "Kubernetes", "Topograph"
_COREWEAVE, _GKE, _EKS, _GPUS = "CoreWeave", "GKE", "EKS", "GPU Feature Discovery"
_TIERS = range(9, -1, -1)
_LAYERS = range(1, 5)


@dataclass(frozen=True, slots=True)
class NodeLabelPlace:
    """A label, and its meaning."""

    label: str
    key: str
    """The default key of a level with this label."""
    maker: str
    """The component that sets the label."""
    joins_gpus: bool = False
    """Whether GPUs of one domain reach each other without the network of the nodes, as by NVLink."""


PLACES = (
    NodeLabelPlace("topology.kubernetes.io/region", "region", _KUBERNETES),
    NodeLabelPlace("topology.kubernetes.io/zone", "zone", _KUBERNETES),
    *(
        NodeLabelPlace(f"{owner}.coreweave.cloud/{name}", name, _COREWEAVE)
        for name in ("fabric", "superpod", "leafgroup")
        for owner in ("backend", "ib")
    ),
    *(NodeLabelPlace(f"fabric.topograph.run/tier-{tier}", f"tier-{tier}", _TOPOGRAPH) for tier in _TIERS),
    *(NodeLabelPlace(f"topology.k8s.aws/network-node-layer-{layer}", f"layer-{layer}", _EKS) for layer in _LAYERS),
    NodeLabelPlace("cloud.google.com/gce-topology-block", "block", _GKE),
    NodeLabelPlace("cloud.google.com/gce-topology-subblock", "subblock", _GKE),
    NodeLabelPlace("node.coreweave.cloud/rack", "rack", _COREWEAVE),
    NodeLabelPlace(GPU_CLIQUE, "gpu-clique", _GPUS, joins_gpus=True),
    NodeLabelPlace("accelerator.topograph.run/domain", "accelerator", _TOPOGRAPH, joins_gpus=True),
    NodeLabelPlace("accelerator.topograph.run/sub-domain", "sub-domain", _TOPOGRAPH, joins_gpus=True),
    NodeLabelPlace("topology.k8s.aws/ultraserver-id", "ultraserver", _EKS, joins_gpus=True),
    NodeLabelPlace("ds.coreweave.com/nvlink.domain", "nvlink-domain", _COREWEAVE, joins_gpus=True),
    NodeLabelPlace("cloud.google.com/gce-topology-host", "machine", _GKE),
    NodeLabelPlace(HOSTNAME, "host", _KUBERNETES),
)
"""The known labels from the coarsest to the finest, as far as labels of different components compare."""
LIKE = {
    "gpu-operator": ("topology.kubernetes.io/zone", "nvidia.com/gpu.clique"),
    "topograph": (*(f"fabric.topograph.run/tier-{tier}" for tier in (2, 1, 0)), "accelerator.topograph.run/domain"),
    "gke": tuple(f"cloud.google.com/gce-topology-{name}" for name in ("block", "subblock", "host")),
    "eks": tuple(f"topology.k8s.aws/network-node-layer-{layer}" for layer in (1, 2, 3)),
}
"""The labels of the nodes in some kinds of clusters, from the coarsest."""
BEFORE_1_0 = "network.topology.nvidia.com/"
"""The prefix of all labels of Topograph before its release 1.0."""
SINCE_1_0 = {
    "accelerator": "accelerator.topograph.run/domain",
    "leaf": "fabric.topograph.run/tier-0",
    "block": "fabric.topograph.run/tier-0",
    "spine": "fabric.topograph.run/tier-1",
    "core": "fabric.topograph.run/tier-2",
    "datacenter": "fabric.topograph.run/tier-2",
    "sub-domain": "accelerator.topograph.run/sub-domain",
    **{f"tier-{tier}": f"fabric.topograph.run/tier-{tier}" for tier in _TIERS},
}
"""The labels of Topograph since 1.0 that replace each older one; tier 0 is nearest to the node."""


def place_of(label: str) -> NodeLabelPlace | None:
    """Returns the place for a label; None if the label tells no place or is unknown."""
    exact = next((candidate for candidate in PLACES if candidate.label == label), None)
    if exact is None and label.startswith(BEFORE_1_0):
        name = label.removeprefix(BEFORE_1_0)
        now = SINCE_1_0.get(name)
        new = place_of(now) if now else None
        return NodeLabelPlace(label, name, "Topograph before 1.0", joins_gpus=new.joins_gpus) if new else None
    return exact


def rank(label: str) -> int:
    """Returns the rank of a label from the coarsest to the finest; unknown labels come just before the host's."""
    old = label.removeprefix(BEFORE_1_0)
    current = SINCE_1_0.get(old, label) if old != label else label
    labels = [candidate.label for candidate in PLACES]
    return labels.index(current) if current in labels else len(labels) - 1


def is_coarser(label: str, other: str) -> bool:
    """Whether domains of one label contain those of another, as far as is certain: of labels of one component, and of
    regions and zones beside labels of a cloud or of NVLink. A company gives zones to nodes of its own as it likes.
    """
    place, finer = place_of(label), place_of(other)
    if place is None or finer is None or rank(label) >= rank(other) or place.key == finer.key:
        return False
    is_cloud = finer.joins_gpus or finer.maker in (_GKE, _EKS)
    is_series = place.maker == finer.maker and place.joins_gpus == finer.joins_gpus
    return is_series or (place.maker == _KUBERNETES and is_cloud)


Path = tuple[str | int, ...]
AFFINITY: Path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
"""The path of the terms in a PodSpec; a node must fulfil one of the terms."""


def fulfils(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether labels fulfil a condition; true for an invalid condition, which other checks report."""
    key, values = str(expression.get("key")), expression.get("values")
    accepted = values if isinstance(values, list) else []
    match expression.get("operator"):
        case "In":
            return labels.get(key) in accepted
        case "NotIn":
            return labels.get(key) not in accepted
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return True


def choices(spec: object) -> Iterator[tuple[str, Path]]:
    """Yields the labels by which a PodSpec selects nodes, each with the first path at which it occurs."""
    paths: dict[str, Path] = {}
    selector = _at(spec, ("nodeSelector",))
    for key in selector if isinstance(selector, dict) else ():
        paths.setdefault(str(key), ("nodeSelector", key))
    for index, term in enumerate(_items(_at(spec, AFFINITY))):
        for number, condition in enumerate(_items(_at(term, ("matchExpressions",)))):
            paths.setdefault(str(condition.get("key")), (*AFFINITY, index, "matchExpressions", number))
    yield from paths.items()


def admits(spec: object, labels: Mapping[str, str], *, keys: Iterable[str]) -> bool:
    """Whether a PodSpec admits a node with ``labels``. Ignores conditions on labels that are not in ``keys``."""
    known_keys = frozenset(keys)
    selector = _at(spec, ("nodeSelector",))
    pairs = selector.items() if isinstance(selector, dict) else ()
    if any(labels.get(key) != value for key, value in pairs if key in known_keys):
        return False
    terms = _items(_at(spec, AFFINITY))
    return not terms or any(
        all(
            fulfils(condition, labels)
            for condition in _items(_at(term, ("matchExpressions",)))
            if str(condition.get("key")) in known_keys
        )
        for term in terms
    )


def values_at(spec: object, path: Path) -> list[str]:
    """Returns the values of a label that the PodSpec requires at a path from ``choices``."""
    selected = _at(spec, path)
    values = selected.get("values") if isinstance(selected, dict) else [selected]
    return [str(value) for value in values] if isinstance(values, list) else []


def instead(requested: Iterable[str], existing: Iterable[str]) -> str:
    """Returns a hint with the nearest of the ``existing`` values, else with a list of them."""
    sorted_values, requested_value = sorted(existing), next(iter(requested), "")
    return did_you_mean(
        requested_value, sorted_values, f"The nodes have {shortened(sorted_values)}." if sorted_values else ""
    )


def _at(value: object, path: Path) -> Any:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]
        else:
            return None
    return value


def _items(value: object) -> list[dict[str, Any]]:
    """Returns the mappings in a list."""
    return [inner for inner in value if isinstance(inner, dict)] if isinstance(value, list) else []
