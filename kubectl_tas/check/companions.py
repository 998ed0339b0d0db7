"""Companions of workloads: they are in a namespace of their cluster, each once, and of kinds that decide nothing."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.check.names import NAME_INVALID
from kubectl_tas.check.unique import NAME_DUPLICATE
from kubectl_tas.check.workload import check_demands, own_labels
from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity, Waiving
from kubectl_tas.gangs.demands import companion_demands
from kubectl_tas.load.kinds import KIND_ELSEWHERE, KINDS
from kubectl_tas.model import labels
from kubectl_tas.model.companionkinds import CompanionKind, belongs_elsewhere, is_harmless, makes_pods
from kubectl_tas.resolve import names
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet import Fleet

COMPANION_NAMESPACE = Rule(
    "companion-namespace",
    Severity.ERROR,
    "An object that stands beside workloads is in a namespace in which no work of its cluster runs.",
    "No workload of this repository can use it there, and it could change what others have there. Leave the namespace "
    "out, or write that of the workloads.",
    protects=Waiving.CONFIG,
)
COMPANION_KIND = Rule(
    "companion-kind",
    Severity.ERROR,
    "spec.companions of the Config adds a kind that is not known to be harmless.",
    "Its objects are passed through as they are. Controllers may make pods of them that no quota counts, or any other "
    "object: KEDA's ScaledJob, Kruise's CloneSet, Crossplane's Object, Flux's ResourceSet. Known to be harmless are "
    "routes, monitors, certificates and the like. Where you know that a kind is harmless in your clusters, "
    "spec.rules of the Config lowers this rule: companion-kind: off.",
    protects=Waiving.CONFIG,
)
_LABELS = (labels.POOL, labels.REPLACE)


def check_companions(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every companion, and the kinds that the Config adds."""
    yield from _kinds(fleet)
    for declared in fleet.repository.companions:
        name = declared.spec.metadata.name
        if not names.is_object_name(name):
            message = f'the {declared.spec.kind} name "{name}" cannot be the name of a Kubernetes object'
            hint = f"Use at most {names.MAX_NAME} lower-case letters, digits, '-' and '.'."
            yield Diagnostic(NAME_INVALID, message, declared.at("metadata", "name"), hint=hint)
        yield from own_labels(declared, _LABELS)
    first: dict[tuple[str, ...], FleetCompanion] = {}
    for item in fleet.companions:
        yield from check_demands(item.declared.origin, companion_demands(fleet, item))
        if item.namespace not in item.namespaces:
            yield _elsewhere(item)
        other = first.setdefault(item.identity, item)
        if other is not item:
            message = f'the {item.kind} "{item.name}" is already defined at {other.place}'
            related = (Related("first defined here", other.place),)
            hint = "Rename or remove one of the two."
            yield Diagnostic(NAME_DUPLICATE, message, item.place, related, hint=hint)


def _elsewhere(item: FleetCompanion) -> Diagnostic:
    allowed = " or ".join(item.namespaces)
    message = f'the {item.kind} is in namespace "{item.namespace}", but work of backend {item.backend.name} runs in '
    place = item.declared.at("metadata", "namespace")
    return Diagnostic(COMPANION_NAMESPACE, f'{message}"{allowed}"', place, hint=f"Leave it out, or write {allowed}.")


def _kinds(fleet: Fleet) -> Iterator[Diagnostic]:
    """What the Config may not add."""
    config = fleet.repository.config
    for index, item in enumerate(fleet.config.companions if config else ()):
        reason = _reason(item)
        if config is not None and reason is not None:
            message = f"{item.kind} of {item.apiVersion} cannot stand beside workloads: {reason[0]}"
            place = config.at("spec", "companions", index)
            yield Diagnostic(KIND_ELSEWHERE, message, place, hint=reason[1])
        elif config is not None and not is_harmless(item.apiVersion, item.kind):
            message = f"kubectl-tas does not know what controllers make of {item.kind} of {item.apiVersion}"
            off = f"set {COMPANION_KIND.code}: off in spec.rules"
            hint = f"Remove it. If controllers make no pods and no other objects of it, {off}."
            place = config.at("spec", "companions", index)
            yield Diagnostic(COMPANION_KIND, message, place, hint=hint)


def _reason(item: CompanionKind) -> tuple[str, str] | None:
    """Why a kind cannot be a companion, and what to do instead."""
    own = [kind.name for kind in KINDS if (kind.api_version, kind.name) == (item.apiVersion, item.kind)]
    if own:
        return "it is read and checked as what it is", "Remove it; such documents are read without it."
    elsewhere = belongs_elsewhere(item.apiVersion, item.kind)
    if elsewhere is not None:
        return "it could change who may use how much", elsewhere
    if makes_pods(item.apiVersion, item.kind):
        return "it makes pods, which no quota would count", "Write a workload of a kind that is read."
    return None
