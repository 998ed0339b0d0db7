"""What pools say of their nodes is what an API server takes in a pod."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.model.pod import Toleration
from kubectl_tas.resolve.fleet import Fleet

TOLERATION_INVALID = Rule(
    "toleration-invalid",
    Severity.ERROR,
    "A toleration has fields that do not go together.",
    "An API server refuses every pod with such a toleration: Exists compares no value, only Exists can do without a "
    "key, and tolerationSeconds is how long a taint with effect NoExecute is borne.",
)


def check_nodes(fleet: Fleet) -> Iterator[Diagnostic]:
    """The tolerations of every pool."""
    for pool in fleet.repository.pools:
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
