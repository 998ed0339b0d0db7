"""Checks companions of workloads: their namespaces, names and kinds, and which kinds the Config may add. Also checks
that the objects, ports and keys that work and companions name exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Waiving
from kubectl_tas.base.late import late_pattern
from kubectl_tas.base.words import MAX_LISTED, Misspellings, did_you_mean, question, shortened
from kubectl_tas.check.object_names import NAME_INVALID
from kubectl_tas.check.unique import NAME_DUPLICATE
from kubectl_tas.check.workload_labels import check_demands, own_labels
from kubectl_tas.gangs.pool_demands import companion_demands
from kubectl_tas.kinds import page_of
from kubectl_tas.load.kinds import KIND_ELSEWHERE, KINDS
from kubectl_tas.load.schema import invalid_value
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.config import Config
from kubectl_tas.model.kindlists import (
    HARMLESS,
    CompanionKind,
    belongs_elsewhere,
    group_of,
    is_harmless,
    makes_pods,
    why_elsewhere,
)
from kubectl_tas.model.labels import MAX_LABEL, MAX_NAME
from kubectl_tas.model.podkinds import DeclaredKind
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.mentions import EACH, SCALED, Mentions, Space, Use

if TYPE_CHECKING:
    from kubectl_tas.model.podtemplate import Companion

COMPANION_NAMESPACE = Rule.error(
    "companion-namespace",
    "A companion is in a namespace without work of its cluster.",
    "No workload of this repository can use it there, and it could change objects of other teams. Leave the namespace "
    "out, or write that of the workloads.",
    protects=Waiving.CONFIG,
)
COMPANION_KIND = Rule.error(
    "companion-kind",
    "spec.companions adds a kind that is not known to be harmless.",
    "`render` passes its objects through unchanged. Their controllers may create pods that no quota counts, or any "
    "other object: KEDA's ScaledJob, Kruise's CloneSet, Crossplane's Object, Flux's ResourceSet. Routes, monitors, "
    "certificates and the like are known to be harmless. If you know that a kind is harmless in your clusters, lower "
    "this rule in spec.rules of the Config: companion-kind: off.",
    protects=Waiving.CONFIG,
)
REFERENCE_UNKNOWN = Rule.error(
    "reference-unknown",
    "Work or a companion misspells a name, or names an object of another namespace.",
    "Kubernetes looks for an object by its exact name, in one namespace. Until it exists, pods do not start, an "
    "autoscaler does nothing, and a route leads nowhere. Correct the name of the object, of its port or of its key. If "
    "somebody else creates an object of that name, list it in spec.given of the Config.",
    protects=Waiving.ANYBODY,
)
REFERENCE_ELSEWHERE = Rule.info(
    "reference-elsewhere",
    "Work or a companion names an object that no file declares.",
    "An administrator, another repository or an operator must create it in that namespace. Pods that need it do not "
    "start before. Declare it in a file, or list it in spec.given of the Config. Secrets are reported only if "
    "spec.given lists Secrets of that namespace.",
)
_LABELS = (labels.POOL, labels.REPLACE)
_BUILT_IN = {("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt"), ("Service", "kubernetes")}
"""Objects that Kubernetes makes in every namespace, and the Service of its own API."""
_NOT_DECLARED = ("ResourceClaim", "ResourceClaimTemplate", "Secret")
"""Kinds that work may name, but that no file may declare."""
_NUMBER = late_pattern(r"[0-9]+$")
_Named = tuple[Mentions, Use]
_Known = dict[tuple[str, Space], dict[str, Sequence[str] | None]]
"""Object names by kind and space. Each name has its ports or keys, or None if they are unknown."""


def check_companion_name(declared: Declared[Companion], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the name and the labels of a companion."""
    name = declared.spec.metadata.name
    is_service = declared.spec.kind == "Service" and declared.spec.apiVersion == "v1"
    if not (names.is_service_name if is_service else names.is_object_name)(name):
        message = f'the {declared.spec.kind} name "{name}" cannot be the name of a Kubernetes object'
        hint = f"Use at most {MAX_NAME} lower-case letters, digits, '-' and '.'."
        if is_service:
            hint = f"Begin with a letter, and use at most {MAX_LABEL} lower-case letters, digits and '-'."
        yield Diagnostic(NAME_INVALID, message, declared.at("metadata", "name"), hint=hint)
    yield from own_labels(declared, _LABELS)


def check_companion(companion: FleetCompanion, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks what a companion says against what `render` sets, and its namespace."""
    yield from check_demands(companion.declared.origin, companion_demands(fleet, companion))
    if companion.namespace not in companion.namespaces:
        yield _elsewhere(companion)


def check_repeated(
    companion: FleetCompanion, first_of_identity: dict[tuple[str, ...], FleetCompanion]
) -> Iterator[Diagnostic]:
    """Checks that no companion before is the same object. ``first_of_identity`` has those before."""
    earlier = first_of_identity.setdefault(companion.identity, companion)
    if earlier is not companion:
        message = f'the {companion.kind} "{companion.name}" is already defined at {earlier.place}'
        related = (Related("first defined here", earlier.place),)
        yield Diagnostic(NAME_DUPLICATE, message, companion.place, related, hint="Rename or remove one of the two.")


def check_named(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks all names of objects that pods, autoscalers and routes use. Reports a misspelled name once, and groups the
    other missing names by kind and namespace.
    """
    known_names, missing = _known(fleet), dict[tuple[str, Space], dict[str, list[_Named]]]()
    for mentions in fleet.mentions:
        for use in mentions.uses:
            if use.path == SCALED or use.is_optional or (use.kind, use.name) in _BUILT_IN:  # see check_scale_targets
                continue
            names_there = known_names.get((use.kind, use.space), {})
            name = use.name if use.name in names_there else _NUMBER.sub(EACH, use.name)
            if name in names_there:
                # Reports a port or key that the named object lacks.
                known_parts = names_there[name]
                if use.key_or_port and known_parts is not None and use.key_or_port not in known_parts:
                    kind_of_part = "port" if use.kind == "Service" else "key"
                    message = f'the {use.kind} "{use.name}" has no {kind_of_part} "{use.key_or_port}"'
                    hint = did_you_mean(
                        use.key_or_port,
                        known_parts,
                        f"It has {shortened(known_parts)}." if known_parts else f"Add the {kind_of_part} there.",
                    )
                    yield Diagnostic(
                        REFERENCE_UNKNOWN, message, mentions.finder(use.document)(use.part_path), hint=hint
                    )
            else:
                missing.setdefault((use.kind, use.space), {}).setdefault(use.name, []).append((mentions, use))
    elsewhere: dict[tuple[str, str, str], list[str]] = {}
    for (kind, (cluster, namespace)), names_there in known_names.items() if missing else ():
        for name in names_there:
            elsewhere.setdefault((kind, cluster, name), []).append(namespace)
    for (kind, space), uses in sorted(missing.items()):
        given_names, nowhere = _given(fleet, kind, space), list[_Named]()
        near = Misspellings(n for n in (*known_names.get((kind, space), ()), *given_names) if not {*n} & {EACH, "*"})
        for name, named in sorted(uses.items()):
            if any(fnmatchcase(name, pattern) for pattern in given_names):
                continue
            intended_name, other_namespaces = near.of(name), sorted(elsewhere.get((kind, space[0], name), ()))
            if intended_name is None and not other_namespaces:
                nowhere += named
            else:
                yield _misnamed(kind, space[1], _in_order(named), intended_name, other_namespaces)
        if nowhere and (given_names or kind != "Secret"):
            listed = sorted({use.name for _, use in nowhere})
            missing_objects = f'the {kind} "{listed[0]}"' if len(listed) == 1 else f"the {kind}s {shortened(listed)}"
            message = f"no file declares {missing_objects} in namespace {space[1]}"
            how = "List" if kind in _NOT_DECLARED else "Declare it, or list"
            hint = f"Somebody else must create it there. {how} it in spec.given of the Config."
            yield Diagnostic(REFERENCE_ELSEWHERE, message, _place(_in_order(nowhere)[0]), hint=hint)


def _misnamed(
    kind: str, namespace: str, uses: Sequence[_Named], intended_name: str | None, other_namespaces: Sequence[str]
) -> Diagnostic:
    """Reports a name that is a misspelling, or that exists only in another namespace."""
    name = uses[0][1].name
    message = f'the {kind} "{name}" does not exist in namespace {namespace}'
    first_place, *other_places = dict.fromkeys(map(_place, uses[: 1 + MAX_LISTED]))
    related = tuple(Related(f'"{name}" is named here too', location) for location in other_places)
    if intended_name is not None:
        return Diagnostic(REFERENCE_UNKNOWN, message, first_place, related, hint=question(name, intended_name))
    message += f"; namespace {shortened(other_namespaces)} has one"
    hint = f"Declare one in namespace {namespace}: work uses only objects of its own namespace."
    return Diagnostic(REFERENCE_UNKNOWN, message, first_place, related, hint=hint)


def _known(fleet: Fleet) -> _Known:
    known_names: _Known = {}
    for declared_object in (declared_object for mentions in fleet.mentions for declared_object in mentions.held):
        known_names.setdefault((declared_object.kind, declared_object.space), {})[declared_object.name] = (
            declared_object.keys_or_ports
        )
    for work in fleet.submissions:
        page = page_of(work.kind)
        for name in page.makes.services if page is not None else ():
            services = known_names.setdefault(("Service", (work.pool.backend.name, work.namespace)), {})
            services.setdefault(name.format(work.name), None)
    return known_names


def _given(fleet: Fleet, kind: str, space: Space) -> list[str]:
    """Returns the names that spec.given of the Config lists for a kind in a namespace."""
    given_objects = (o for o in fleet.config.given if o.kind == kind and o.namespace in (None, space[1]))
    return [name for given_object in given_objects for name in given_object.names]


def _in_order(uses: Sequence[_Named]) -> list[_Named]:
    return sorted(uses, key=lambda named: (named[0].path(named[1].document), named[1].document))


def _place(named: _Named) -> Location:
    mentions, use = named
    return mentions.finder(use.document)(use.path, key=use.path[-2] == "credentials")


def _elsewhere(companion: FleetCompanion) -> Diagnostic:
    allowed = " or ".join(companion.namespaces)
    message = (
        f'the {companion.kind} is in namespace "{companion.namespace}", but work of backend '
        f"{companion.backend.name} runs in "
    )
    location = companion.declared.at("metadata", "namespace")
    return Diagnostic(COMPANION_NAMESPACE, f'{message}"{allowed}"', location, hint=f"Leave it out, or write {allowed}.")


def check_kinds(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the kinds that the Config adds."""
    config = fleet.repository.config
    if config is None:
        return
    for index, companion_kind in enumerate(fleet.config.companions):
        reason = _reason(companion_kind)
        if reason is not None:
            message = (
                f"{companion_kind.kind} of {companion_kind.apiVersion} cannot be a companion of workloads: {reason[0]}"
            )
            yield Diagnostic(KIND_ELSEWHERE, message, config.at("spec", "companions", index), hint=reason[1])
        elif not is_harmless(companion_kind.apiVersion, companion_kind.kind):
            message = (
                f"kubectl-tas does not know what controllers make of {companion_kind.kind} "
                f"of {companion_kind.apiVersion}"
            )
            off = f"set {COMPANION_KIND.code}: off in spec.rules"
            alike = [kind for group, kind in HARMLESS if group == group_of(companion_kind.apiVersion)]
            near = did_you_mean(companion_kind.kind, alike, "Remove it.")
            hint = f"{near} If controllers make no pods and no other objects of it, {off}."
            yield Diagnostic(COMPANION_KIND, message, config.at("spec", "companions", index), hint=hint)
    for index, declared in enumerate(config.spec.spec.kinds):
        reason = _declared_reason(declared)
        if reason is not None:
            message = f"{declared.kind} of {declared.apiVersion} cannot be declared in spec.kinds: {reason[0]}"
            yield Diagnostic(KIND_ELSEWHERE, message, config.at("spec", "kinds", index), hint=reason[1])
        else:
            yield from _contradictions(config, index)


def _contradictions(config: Declared[Config], index: int) -> Iterator[Diagnostic]:
    """Finds contradictions within the declaration of a kind, or between two declarations."""
    own_kind = config.spec.spec.kinds[index]
    path: KeyPath = ("spec", "kinds", index)
    if own_kind.podGroups == "each" and own_kind.minimum != 1:
        hint = "Add podGroups: one, or remove it."
        yield invalid_value(
            config.origin, (*path, "minimum"), "is read with podGroups: one alone", own_kind.minimum, hint
        )
    for before in config.spec.spec.kinds[:index]:
        if before.kind == own_kind.kind and group_of(before.apiVersion) != group_of(own_kind.apiVersion):
            hint = "Declare one of the two: kubectl-tas tells declared kinds by their names."
            rule = f"is declared of another API too, {before.apiVersion}"
            yield invalid_value(config.origin, (*path, "kind"), rule, "", hint)
        elif (before.kind, before.apiVersion) == (own_kind.kind, own_kind.apiVersion):
            yield invalid_value(config.origin, (*path, "kind"), "appears twice", "", "Remove one of the two.")


def _declared_reason(declared_kind: CompanionKind | DeclaredKind) -> tuple[str, str] | None:
    """Returns why the Config cannot declare a kind, and what to do instead; None if it can."""
    own_names = [k.name for k in KINDS if (k.api_version, k.name) == (declared_kind.apiVersion, declared_kind.kind)]
    if own_names:
        return "it is read and checked as what it is", "Remove it; such documents are read without it."
    if isinstance(declared_kind, DeclaredKind) and is_harmless(declared_kind.apiVersion, declared_kind.kind):
        return "it makes no pods, and already belongs to workloads", "Remove it, or move it to spec.companions."
    elsewhere = belongs_elsewhere(declared_kind.apiVersion, declared_kind.kind)
    return None if elsewhere is None else (why_elsewhere(declared_kind.kind), elsewhere)


def _reason(companion_kind: CompanionKind) -> tuple[str, str] | None:
    """Returns why a kind cannot be a companion, and what to do instead; None if it can."""
    reason = _declared_reason(companion_kind)
    if reason is not None:
        return reason
    if makes_pods(companion_kind.apiVersion, companion_kind.kind):
        hint = "Say in spec.kinds where its pods are, or write a workload of a kind that is read."
        return "it makes pods, which no quota would count", hint
    return None
