"""The labels of nodes that tell where they are, by who sets them.

Kubernetes (reference "Well-Known Labels"), GPU Feature Discovery (docs/gpu-feature-discovery of
NVIDIA/k8s-device-plugin), Topograph ("Node Labels and Annotations", 1.0), GKE ("View the physical topology of nodes"),
EKS and SageMaker HyperPod ("topology-aware scheduling"), CoreWeave ("InfiniBand and RoCE Labels", "GB200 NVL72-Powered
Instances").
"""

from __future__ import annotations

from kubectl_tas.records import dataclass

HOSTNAME = "kubernetes.io/hostname"
GPU_CLIQUE = "nvidia.com/gpu.clique"
"""What the GPU operator calls the NVLink domain of a node (GPU Feature Discovery, docs/README.md)."""
_KUBERNETES, _TOPOGRAPH = "Kubernetes", "Topograph"
_COREWEAVE, _GKE, _EKS, _GPUS = "CoreWeave", "GKE", "EKS", "GPU Feature Discovery"
_TIERS = range(9, -1, -1)
_LAYERS = range(1, 5)


@dataclass(frozen=True, slots=True)
class Place:
    """A label, and what it tells."""

    label: str
    key: str
    """What a level of it is called where nobody says otherwise."""
    maker: str
    """Who sets it."""
    joins_gpus: bool = False
    """Whether the GPUs of one domain reach each other without the network of the nodes, as by NVLink."""


PLACES = (
    Place("topology.kubernetes.io/region", "region", _KUBERNETES),
    Place("topology.kubernetes.io/zone", "zone", _KUBERNETES),
    *(
        Place(f"{owner}.coreweave.cloud/{name}", name, _COREWEAVE)
        for name in ("fabric", "superpod", "leafgroup")
        for owner in ("backend", "ib")
    ),
    *(Place(f"fabric.topograph.run/tier-{tier}", f"tier-{tier}", _TOPOGRAPH) for tier in _TIERS),
    *(Place(f"topology.k8s.aws/network-node-layer-{layer}", f"layer-{layer}", _EKS) for layer in _LAYERS),
    Place("cloud.google.com/gce-topology-block", "block", _GKE),
    Place("cloud.google.com/gce-topology-subblock", "subblock", _GKE),
    Place("node.coreweave.cloud/rack", "rack", _COREWEAVE),
    Place(GPU_CLIQUE, "gpu-clique", _GPUS, joins_gpus=True),
    Place("accelerator.topograph.run/domain", "accelerator", _TOPOGRAPH, joins_gpus=True),
    Place("accelerator.topograph.run/sub-domain", "sub-domain", _TOPOGRAPH, joins_gpus=True),
    Place("topology.k8s.aws/ultraserver-id", "ultraserver", _EKS, joins_gpus=True),
    Place("ds.coreweave.com/nvlink.domain", "nvlink-domain", _COREWEAVE, joins_gpus=True),
    Place("cloud.google.com/gce-topology-host", "machine", _GKE),
    Place(HOSTNAME, "host", _KUBERNETES),
)
"""From the coarsest to the finest, as far as that can be told of different makers."""
LIKE = {
    "gpu-operator": ("topology.kubernetes.io/zone", "nvidia.com/gpu.clique"),
    "topograph": (*(f"fabric.topograph.run/tier-{tier}" for tier in (2, 1, 0)), "accelerator.topograph.run/domain"),
    "gke": tuple(f"cloud.google.com/gce-topology-{name}" for name in ("block", "subblock", "host")),
    "eks": tuple(f"topology.k8s.aws/network-node-layer-{layer}" for layer in (1, 2, 3)),
}
"""The labels that the nodes of some clusters have, from the coarsest."""
BEFORE_1_0 = "network.topology.nvidia.com/"
"""What all labels of Topograph begin with before its release 1.0."""
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
"""What Topograph sets since then in their place; tier 0 is nearest to the node."""


def place_of(label: str) -> Place | None:
    """What is known of a label; None where it tells no place, or nobody is known to set it."""
    found = next((place for place in PLACES if place.label == label), None)
    if found is None and label.startswith(BEFORE_1_0):
        name = label.removeprefix(BEFORE_1_0)
        now = SINCE_1_0.get(name)
        new = place_of(now) if now else None
        return Place(label, name, "Topograph before 1.0", joins_gpus=new.joins_gpus) if new else None
    return found


def rank(label: str) -> int:
    """Where a label stands from the coarsest to the finest; unknown ones stand before that of the host."""
    old = label.removeprefix(BEFORE_1_0)
    known = SINCE_1_0.get(old, label) if old != label else label
    found = [place.label for place in PLACES]
    return found.index(known) if known in found else len(found) - 1
