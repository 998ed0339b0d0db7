"""Checks Karta definitions: whether KAI reads them, and whether kubectl-tas understands them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_tas.check.unique import NAME_DUPLICATE
from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity
from kubectl_tas.kai import Feature
from kubectl_tas.load.kinds import KIND_ELSEWHERE, KINDS
from kubectl_tas.load.schema import INVALID_VALUE, MISSING_FIELD
from kubectl_tas.model.kindlists import belongs_elsewhere
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.model.karta import Karta
    from kubectl_tas.model.repository import Declared

KARTA_UNREAD = Rule(
    "karta-unread",
    Severity.WARNING,
    "KAI does not read a Karta.",
    "KAI reads Kartas from 0.17 on, and only for kinds without a plugin of their own. Older releases make one PodGroup "
    "of such an object and start it with one pod.",
)
_FAILS = "KAI 0.17.0 makes no PodGroup for a kind that has neither a plugin nor a Karta."
"""Cause: GetPodGrouperPlugin of pkg/podgrouper/podgrouper/plugins/karta/hub.go returns a nil grouper as a valid one."""
_ROOT = ("spec", "structureDefinition", "rootComponent", "kind", "kind")


def check_kartas(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks every Karta, in the order of the files."""
    first: dict[tuple[str, str], Declared[Karta]] = {}
    for declared in fleet.repository.kartas:
        kind = declared.spec.root.kind
        found = [*_of(fleet, declared)]
        other = first.setdefault((kind.apiVersion, kind.kind), declared)
        if other is not declared:
            message = f"two Kartas describe {kind.kind} of {kind.apiVersion}, so KAI reads neither"
            related = (Related("the other one", other.at(*_ROOT)),)
            found = [Diagnostic(NAME_DUPLICATE, message, declared.at(*_ROOT), related, hint="Remove one of them.")]
        yield from found


def _of(fleet: Fleet, declared: Declared[Karta]) -> Iterator[Diagnostic]:
    from kubectl_tas.model.karta import PLUGINS, WITHOUT_PLUGIN, KartaKind

    karta, kind = declared.spec, declared.spec.root.kind
    place = declared.at(*_ROOT)
    own = next((item for item in KINDS if (item.api_version, item.name) == (kind.apiVersion, kind.kind)), None)
    has_plugin = (kind.group, kind.kind) in PLUGINS
    elsewhere = belongs_elsewhere(kind.apiVersion, kind.kind)
    if has_plugin or (own is not None and (own.row is None or own.row.name not in WITHOUT_PLUGIN)):
        message = f"KAI has a plugin of its own for {kind.kind} and does not read this Karta"
        yield Diagnostic(KARTA_UNREAD, message, place, hint="Remove the Karta.")
    elif own is not None:
        message = f"kubectl-tas knows where the pods of {kind.kind} are, but KAI would group them by this Karta"
        yield Diagnostic(NAME_DUPLICATE, message, place, hint="Remove the Karta, here and in the cluster.")
    elif elsewhere is not None:
        message = f"{kind.kind} of {kind.apiVersion} cannot be declared by a Karta: it could change quotas or rights"
        yield Diagnostic(KIND_ELSEWHERE, message, place, hint=elsewhere)
    elif any(
        (item.apiVersion, item.kind) == (kind.apiVersion, kind.kind) and not isinstance(item, KartaKind)
        for item in fleet.config.kinds
    ):
        message = f"spec.kinds of the Config declares {kind.kind} of {kind.apiVersion} too"
        yield Diagnostic(NAME_DUPLICATE, message, place, hint="Remove the kind there, or the Karta.")
    else:
        for path, what, hint in karta.read.faults:
            yield Diagnostic(INVALID_VALUE, what, declared.at(*path), hint=hint)
        yield from _unread(fleet, declared)


def _unread(fleet: Fleet, declared: Declared[Karta]) -> Iterator[Diagnostic]:
    """Reports why KAI does not read a Karta that is otherwise correct."""
    karta = declared.spec
    if karta.gang.podGroup is None and not karta.gang.podGroups:
        message = "the Karta has no gangScheduling.podGroup"
        hint = f"Add it to spec.optimizationInstructions. {_FAILS}"
        yield Diagnostic(MISSING_FIELD, message, declared.at("spec"), hint=hint)
    elif not karta.is_found:
        wanted = ", ".join(f"{key}: {value}" for key, value in karta.labels.items())
        message = "KAI finds a Karta by its labels, and this one lacks them"
        hint = f"Add labels {wanted}. {_FAILS}"
        yield Diagnostic(MISSING_FIELD, message, declared.at("metadata", "labels"), hint=hint)
    old = [item for item in fleet.backends if item.is_kai and not item.has(Feature.KARTA)]
    if old and karta.is_found:
        message = f"KAI {old[0].spec.scheduler.version} of backend {old[0].name} does not read Kartas"
        hint = "KAI does from 0.17 on. Before, it starts such work with one pod."
        yield Diagnostic(KARTA_UNREAD, message, declared.at("kind"), hint=hint)
