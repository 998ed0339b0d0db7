"""What pools say of their nodes is what an API server takes in a pod, and names labels that nodes have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity, Waiving
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.words import closest

if TYPE_CHECKING:
    from kubectl_tas.model.platform import Toleration

TOLERATION_INVALID = Rule(
    "toleration-invalid",
    Severity.ERROR,
    "A toleration has fields that do not go together.",
    "An API server refuses every pod with such a toleration: Exists compares no value, only Exists can do without a "
    "key, and tolerationSeconds is how long a taint with effect NoExecute is borne.",
)

NODE_LABEL = Rule(
    "node-label",
    Severity.ERROR,
    "A node label is nearly one of Kubernetes' own.",
    "No node has it: pods that ask for it stay Pending, and what is spread over it is not. Correct the label; where an "
    "administrator gives nodes one of that name, waive the rule.",
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
"""What Kubernetes calls the labels that it gives nodes."""


def check_nodes(fleet: Fleet) -> Iterator[Diagnostic]:
    """The node selector and the tolerations of every pool."""
    for pool in fleet.repository.pools:
        for label in pool.spec.spec.nodes.selector:
            yield from node_label(pool.origin, ("spec", "nodes", "selector", label), label)
        for index, toleration in enumerate(pool.spec.spec.nodes.tolerations):
            for field, message, hint in _problems(toleration):
                path = ("spec", "nodes", "tolerations", index, *((field,) if field else ()))
                yield Diagnostic(TOLERATION_INVALID, message, pool.at(*path), hint=hint)


def _problems(toleration: Toleration) -> Iterator[tuple[str, str, str]]:
    """A field that is there, or "", with what is wrong: ValidateTolerations of Kubernetes 1.35
    (pkg/apis/core/validation/validation.go).
    """
    if toleration.key is None and toleration.operator != "Exists":
        yield "", "a toleration without a key needs operator: Exists", "Name the key of the taint, or write Exists."
    if toleration.operator == "Exists" and toleration.value:
        hint = "Remove the value, or write operator: Equal."
        yield "value", f'operator Exists compares no value, but "{toleration.value}" is given', hint
    if toleration.tolerationSeconds is not None and toleration.effect != "NoExecute":
        hint = "Write effect: NoExecute, or remove it."
        yield "tolerationSeconds", "tolerationSeconds needs effect: NoExecute", hint


def node_label(origin: Origin, path: KeyPath, label: str) -> Iterator[Diagnostic]:
    """A label that one is asked for at ``path``: one of Kubernetes' own, or none that is nearly one of them."""
    meant = None if label in NODE_LABELS else closest(label, NODE_LABELS, most=1, folds=True)
    if meant is not None:
        place = origin.locate(path, key=path[-1] == label)
        yield Diagnostic(NODE_LABEL, f'no node has the label "{label}"', place, hint=f'Did you mean "{meant}"?')
