"""The node labels of levels: whether somebody sets them on nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.model.base import QUALIFIED_NAME
from kubectl_tas.nodelabels import BEFORE_1_0, HOSTNAME, PLACES, SINCE_1_0
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.words import closest, question

LEVEL_LABEL_UNKNOWN = Rule(
    "level-label-unknown",
    Severity.WARNING,
    "A level's node label is nearly one that Kubernetes, a cloud or a GPU component sets, or one of an older release.",
    "KAI leaves out of a Topology every node that lacks one of its labels: a label that nothing sets leaves no node, "
    "and work that asks for a level stays Pending. GPU Feature Discovery sets nvidia.com/gpu.clique, with a point. "
    "Since 1.0 Topograph sets other labels. Where you label the nodes yourself, or an older Topograph runs, waive the "
    "rule at that line.",
)
_KUBERNETES = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone", HOSTNAME)
_KNOWN = (*(place.label for place in PLACES), *(f"nvidia.com/gpu.{name}" for name in ("count", "machine", "product")))
_MANY = re.compile(r"(fabric\.topograph\.run/tier|topology\.k8s\.aws/network-node-layer)-[0-9]+")
"""Families of which nobody says how many there are."""
_OF_KUBERNETES = re.compile(r"((topology|node)\.)?(kubernetes|k8s)\.io")
_SLIPS = 2


def check_level_labels(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every level of a cluster topology or a pool."""
    for topology in fleet.topologies:
        for index, level in enumerate(topology.levels):
            field = "label" if topology.pool else "key"
            place = topology.declared.at(*topology.path, index, field)
            old, is_old, name = level.label.partition(BEFORE_1_0)
            now = SINCE_1_0.get(name) if is_old and not old else None
            if now is not None:
                message = (
                    f"Topograph sets the node label {level.label} before its release 1.0; since then it sets {now}"
                )
                hint = f"Write {now}, or waive this where an older Topograph runs."
                yield Diagnostic(LEVEL_LABEL_UNKNOWN, message, place, hint=hint)
            elif (meant := _meant(level.label)) is not None:
                message = f'nothing sets the node label "{level.label}", so KAI would find no node for this topology'
                yield Diagnostic(LEVEL_LABEL_UNKNOWN, message, place, hint=question(level.label, meant))


@lru_cache(maxsize=4096)
def _meant(label: str) -> str | None:
    """The known label that another one is most likely a slip of."""
    if label in _KNOWN or _MANY.fullmatch(label) or not re.fullmatch(QUALIFIED_NAME, label):
        return None
    same = next((known for known in _KNOWN if _letters(known) == _letters(label)), None)
    if same is not None:
        return same
    domain, _, name = label.rpartition("/")
    if _OF_KUBERNETES.fullmatch(domain):
        name = "hostname" if name in ("host", "node") and domain == "kubernetes.io" else name
        found = next((known for known in _KUBERNETES if known.endswith(f"/{name}")), None)
        if found is not None:
            return found
    return closest(label, _KNOWN, most=_SLIPS)


def _letters(label: str) -> str:
    """A label without what people mix up in it: case, points, dashes and underscores."""
    return re.sub(r"[-._]", "", label).casefold()
