"""Objects that select pods select those of their own work, where others run in the same namespace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity, Waiving
from kubectl_tas.model import labels
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.words import shortened

SELECTS_OTHERS = Rule(
    "selects-others",
    Severity.ERROR,
    "A PodDisruptionBudget or a NetworkPolicy selects all pods of a namespace in which others run too.",
    "An empty selector selects every pod of the namespace, and so does one that only says which labels pods do not "
    "have. A NetworkPolicy then cuts off the pods of other teams, and a PodDisruptionBudget keeps their nodes from "
    "being drained. Select labels of your own pods. Where the whole namespace is meant, spec.rules of the Config "
    "allows it: selects-others: off.",
    protects=Waiving.CONFIG,
)
_SELECTORS = {
    "PodDisruptionBudget": "selector",
    "NetworkPolicy": "podSelector",
    "CiliumNetworkPolicy": "endpointSelector",
}


def check_selectors(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every such object; one without the field selects nothing, or an API server refuses it."""
    for item in fleet.companions:
        field = _SELECTORS.get(item.kind)
        selector = item.declared.origin.value(("spec", field)) if field is not None else None
        if field is None or not isinstance(selector, dict) or _is_own(selector):
            continue
        others = _sharing(fleet, item)
        if len(others) > 1:
            why = "is empty" if not any(selector.values()) else "says only which labels pods do not have"
            message = (
                f"spec.{field} of this {item.kind} {why}: it selects all pods in namespace {item.namespace}, where "
                f"several queues run work: {shortened(others)}"
            )
            place = item.declared.origin.locate(("spec", field), key=True)
            yield Diagnostic(SELECTS_OTHERS, message, place, hint="Write matchLabels with labels of your own pods.")


def _is_own(selector: Mapping[str, Any]) -> bool:
    """Whether it demands a label; not one that all pods of this tool have."""
    wanted, conditions = selector.get("matchLabels"), selector.get("matchExpressions")
    keys = [*wanted] if isinstance(wanted, dict) else []
    for part in conditions if isinstance(conditions, list) else ():
        if isinstance(part, dict) and part.get("operator") not in ("NotIn", "DoesNotExist"):
            keys.append(part.get("key"))
    return any(key != labels.MANAGED_BY for key in keys)


def _sharing(fleet: Fleet, item: FleetCompanion) -> tuple[str, ...]:
    """The pools and subpools whose work runs in the namespace of an object."""
    places = fleet.namespaces(item.backend)
    leaves = fleet.leaf_queues(item.backend)
    return tuple(sorted(target for queue, target in leaves.items() if item.namespace in places.get(queue, ())))
