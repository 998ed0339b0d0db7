"""Checks what says how a cluster works: the Config, Grove's operator, and Karta definitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import itemgetter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity, Waiving
from kubectl_tas.base.folders import READ_ABOVE_OUTPUT
from kubectl_tas.base.words import closest, did_you_mean, shortened
from kubectl_tas.check.unique import NAME_DUPLICATE
from kubectl_tas.facts import kai
from kubectl_tas.facts.kai import Feature
from kubectl_tas.facts.node_places import HOSTNAME
from kubectl_tas.load.kinds import KIND_ELSEWHERE, KINDS
from kubectl_tas.load.rights import misplaced, outside
from kubectl_tas.load.schema import INVALID_VALUE, MISSING_FIELD, invalid_value
from kubectl_tas.model.config import Config
from kubectl_tas.model.kindlists import belongs_elsewhere, why_elsewhere
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.handwritten import SubmittedPodGroup
from kubectl_tas.resolve.pools import FleetPool

if TYPE_CHECKING:
    from kubectl_tas.model.karta import Karta
    from kubectl_tas.model.repository import Declared


VERSION_UNKNOWN = Rule.error(
    "version-unknown",
    "A backend's KAI or Grove version is older than the known ones.",
    "kubectl-tas looks up in a table what a release accepts. For an older release it cannot tell whether a manifest is "
    "valid. Name a release of the table.",
)
VERSION_NEWER = Rule.warning(
    "version-newer",
    "A backend's KAI or Grove version is newer than the known ones.",
    "kubectl-tas looks up in a table what a release accepts and does. It reads a newer release as the newest of the "
    "table, and does not know the differences. Update kubectl-tas.",
)
SCHEDULER_NAME = Rule.error(
    "scheduler-name",
    "A backend's scheduler.name is not that of its scheduler.type.",
    "Pods go to the scheduler of that name, whatever the type says. Pods of default-scheduler run without quota and "
    "gang. Pods of a scheduler that does not exist never run. Remove name, or correct it. If KAI really runs under "
    "such a name, lower this rule in spec.rules of the Config.",
    protects=Waiving.CONFIG,
)
OUTPUT_IN_SOURCES = Rule.error(
    "output-in-sources",
    "The output folder is, or contains, a folder that is read.",
    "`render` would read its own manifests, or overwrite its input. Choose another folder for the output.",
)
WAIVER_UNUSED = Rule.warning(
    "waiver-unused",
    "A comment '# kubectl-tas: ignore[RULE]', or an entry of outputKeeps, waives nothing or cannot be read.",
    "It would hide a finding that nobody has seen yet. Remove it, or correct the name of the rule. A comment counts "
    "for its own line, or for the next line if it is alone on a line. An entry of spec.outputKeeps counts for files in "
    "the output folder, and for settings of git and Flux in other folders.",
)
PRIORITY_CLASS_INVALID = Rule.error(
    "priority-class-invalid",
    "Two priorities share a PriorityClass, or it has a reserved name.",
    "Each priority has its own value, so it needs its own class. The API server refuses names that begin with system-.",
)
CONTEXT_SHARED = Rule.warning(
    "context-shared",
    "Two backends have one context.",
    "A backend is one cluster, and its context tells kubectl which one. If two backends share a context, --live reads "
    "one cluster for both, and their manifests meet in it. Correct one of them. If one cluster has several namespaces "
    "for work, declare one backend, and list the namespaces in spec.namespaces of its pools.",
)
OWN = {"kai": "kai-scheduler", "default": "default-scheduler"}
"""Name of the scheduler of each type."""
OTHERS = {"kai": OWN["default"], "default": OWN["kai"]}
_BYPASS = {
    "kai": "pods would be placed by kube-scheduler, without a quota",
    "default": "KAI would have to place pods without a queue",
}
MOST_OBJECTS = 1000
"""Maximum number of objects that kustomize builds within a few seconds."""
LAYOUT_LARGE = Rule.warning(
    "layout-large",
    "More than 1,000 objects are listed in one kustomization.yaml.",
    "kustomize compares each object with all before it, so twice as many objects take four times as long: about a "
    "second for 1,000, minutes for 10,000. Argo CD and Flux build the folder at each sync. Write `layout: sharded` in "
    "the Config, which gives each pool its own folder. If one pool alone has so many objects, divide it into child "
    "pools, or let `kubectl tas render --to -` build instead of kustomize.",
)
OPERATOR_LEVELS = Rule.error(
    "operator-levels",
    "Grove's operator places by topology, but has no levels.",
    "Before 0.1.0-alpha.9 the operator exits at its start if topologyAwareScheduling is enabled without a level. List "
    "the levels, or set enabled to false.",
)
HOST_LABEL = Rule.error(
    "host-label",
    "The host level of Grove's operator has another label than kubernetes.io/hostname.",
    "The kubelet sets that label on every node. No other label names a single host on every provider.",
)


_SERVICE_ACCOUNT, _PARTS_OF_ACCOUNT = "system:serviceaccount:", 4
"""The names of service accounts (``MakeUsername`` of k8s.io/apiserver, pkg/authentication/serviceaccount)."""


def check_config(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks versions, scheduler names, contexts, folders and priority classes of the Config."""
    config = fleet.repository.config
    if config is None:
        return
    for backend in fleet.backends:
        release, version = backend.release, backend.spec.scheduler.version
        location = config.at("spec", "backends", backend.index, "scheduler", "version")
        if backend.is_kai and release is None:
            message = f"KAI {version} is not in the version table, which has {kai.known()}"
            yield Diagnostic(VERSION_UNKNOWN, message, location, hint="Name the release that runs there.")
        elif release is not None and release.is_newer:
            yield newer("KAI", version, release.version, location)
        yield from _scheduler_name(config, backend)
        yield from _context(config, fleet.backends[: backend.index], backend)
    output = PurePosixPath(fleet.config.output)
    for folder in fleet.config.sources:
        if PurePosixPath(folder).is_relative_to(output):
            message = f'the output folder "{output}" holds the folder "{folder}" that is read'
            location = config.at("spec", "output")
            yield Diagnostic(OUTPUT_IN_SOURCES, message, location, hint="Choose another folder, such as manifests.")
    for index, pattern in enumerate(fleet.config.outputKeeps):
        path = PurePosixPath(pattern)
        if not path.is_relative_to(output) and path.name not in READ_ABOVE_OUTPUT:
            message = f'"{pattern}" keeps nothing: it is not in the output folder "{output}"'
            hint = "Write the path from the folder of tas.yaml to a file in it, or remove the entry."
            yield Diagnostic(WAIVER_UNUSED, message, config.at("spec", "outputKeeps", index), hint=hint)
    for index, name in enumerate(fleet.config.trusted):
        if name.startswith(_SERVICE_ACCOUNT) and len(list(filter(None, name.split(":")))) != _PARTS_OF_ACCOUNT:
            rule, last = f"must be {_SERVICE_ACCOUNT}NAMESPACE:NAME", name.rstrip(":").rpartition(":")[2]
            hint = f"Write the namespace too: {_SERVICE_ACCOUNT}NAMESPACE:{last}."
            yield invalid_value(config.origin, ("spec", "trusted", index), rule, name, hint)
    seen: dict[str, str] = {}
    for priority, name in fleet.config.priorityClasses:
        location = config.at("spec", "priorityClasses", priority)
        if name.startswith("system-"):
            message = f'the PriorityClass "{name}" begins with system-, which Kubernetes reserves'
            yield Diagnostic(PRIORITY_CLASS_INVALID, message, location, hint="Choose another name.")
        if name in seen:
            message = f'{seen[name]} and {priority} share the PriorityClass "{name}"'
            yield Diagnostic(PRIORITY_CLASS_INVALID, message, location, hint="Give each its own.")
        seen.setdefault(name, priority)


def _scheduler_name(config: Declared[Config], backend: FleetBackend) -> Iterator[Diagnostic]:
    """Checks scheduler.name: kube-scheduler answers to default-scheduler, KAI by default to kai-scheduler."""
    name, kind = backend.scheduler_name, backend.spec.scheduler.type
    location = config.at("spec", "backends", backend.index, "scheduler", "name")
    if name == OTHERS[kind]:
        message = f'scheduler.name "{name}" is not that of a scheduler of type {kind}: {_BYPASS[kind]}'
        yield Diagnostic(SCHEDULER_NAME, message, location, hint="Remove name, or correct type.")
    elif not name.startswith(OWN[kind]) and closest(name, [OWN[kind]]):
        message = f'no scheduler answers to the name "{name}", so no pod would run'
        yield Diagnostic(SCHEDULER_NAME, message, location, hint=f"Did you mean {OWN[kind]}?")


def _context(config: Declared[Config], before: Iterable[FleetBackend], backend: FleetBackend) -> Iterator[Diagnostic]:
    first_backend = next((b for b in before if b.spec.context == backend.spec.context is not None), None)
    if first_backend is not None:
        message = f'backends {first_backend.name} and {backend.name} have one context, "{backend.spec.context}"'
        related = (
            Related(f"backend {first_backend.name}", config.at("spec", "backends", first_backend.index, "context")),
        )
        location = config.at("spec", "backends", backend.index, "context")
        hint = "Name the context of its own cluster; for two namespaces of one cluster declare one backend."
        yield Diagnostic(CONTEXT_SHARED, message, location, related, hint=hint)


def newer(product: str, version: str, newest: str, location: Location) -> Diagnostic:
    """Returns a finding that ``version`` of KAI or Grove is treated as ``newest``, the newest known one."""
    message = f"kubectl-tas does not know {product} {version} yet, and checks for {newest}"
    hint = "Update kubectl-tas, or look at the release notes for what changed."
    return Diagnostic(VERSION_NEWER, message, location, hint=hint)


def check_operator(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the OperatorConfiguration that applies."""
    grove = fleet.grove
    if grove.operator is None or grove.is_disabled:
        return
    levels = grove.operator.spec.topologyAwareScheduling.levels
    block = "topologyAwareScheduling"
    if not levels and any(not backend.grove_release.has_names for backend in fleet.backends):
        message = "topologyAwareScheduling is enabled without any level"
        hint = "Add levels, or set enabled to false."
        yield Diagnostic(OPERATOR_LEVELS, message, grove.operator.at(block, "enabled"), hint=hint)
    for index, level in enumerate(levels):
        if level.domain == "host" and level.key != HOSTNAME:
            message = f'the host level must have the node label {HOSTNAME}, not "{level.key}"'
            location = grove.operator.at(block, "levels", index, "key")
            yield Diagnostic(HOST_LABEL, message, location, hint=f"Write key: {HOSTNAME}.")


def check_given(fleet: Fleet) -> Iterator[Diagnostic]:
    """Reports entries of ``given`` for namespaces in which no work of this repository runs."""
    config = fleet.repository.config
    if config is None or fleet.not_counted:
        return
    known_namespaces = {name for pool in fleet.pools for name in pool.namespaces}
    known_namespaces |= {name for pool in fleet.pools for subpool in pool.subpools for name in subpool.namespaces}
    known_namespaces |= {backend.namespace for backend in fleet.backends}
    for index, given_object in enumerate(fleet.config.given):
        if given_object.namespace is not None and given_object.namespace not in known_namespaces:
            location = config.at("spec", "given", index, "namespace")
            message = (
                f'no work of this repository runs in namespace "{given_object.namespace}", so this entry says nothing'
            )
            hint = did_you_mean(
                given_object.namespace, sorted(known_namespaces), f"Name one of {shortened(sorted(known_namespaces))}."
            )
            yield Diagnostic(INVALID_VALUE, message, location, hint=hint, level=Severity.WARNING)


def check_admin_sources(fleet: Fleet) -> Iterator[Diagnostic]:
    """Reports documents outside the admin folders. The cause is the setting, if the Config has one."""
    config, folders = fleet.repository.config, fleet.config.adminSources
    is_set = config is not None and "adminSources" in config.spec.spec.model_fields_set
    cause = config.at("spec", "adminSources") if config is not None and is_set else None
    for document_outside in outside(fleet.repository, folders):
        yield replace(misplaced(document_outside, folders), cause=cause)


def check_layout(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the size of every folder with a kustomization. Counts only objects that are certain."""
    config, is_sharded = fleet.repository.config, fleet.config.layout == "sharded"
    units: dict[tuple[str, str], list[tuple[int, Declared[Any]]]] = {}
    for backend, pool, declared, objects in _objects(fleet):
        name = pool.name if pool is not None and is_sharded else ""
        units.setdefault((backend.name, name), []).append((objects, declared))
    for (cluster, name), units_of_name in sorted(units.items(), key=itemgetter(0)):
        count = sum(objects for objects, _ in units_of_name)
        if count > MOST_OBJECTS:
            whose = f"pool {name}" if name else f"backend {cluster}"
            message = f"{whose} has at least {count:,} objects in one folder, which takes kustomize long"
            location = config.at("spec", "layout") if config is not None else units_of_name[0][1].at()
            hint = "Divide the pool into child pools, or let `kubectl tas render --to -` build instead."
            if not is_sharded:
                hint = "Write layout: sharded, which gives each pool its own folder."
            yield Diagnostic(LAYOUT_LARGE, message, location, hint=hint)


def _objects(fleet: Fleet) -> Iterator[tuple[FleetBackend, FleetPool | None, Declared[Any], int]]:
    """Yields the number of objects for each document, with its backend, and for work with its pool."""
    for pool in fleet.pools:
        yield pool.backend, None, pool.declared, 2 + len(pool.subpools)
    for sent in fleet.submissions:
        if not isinstance(sent, SubmittedPodGroup):
            yield sent.pool.backend, sent.pool, sent.declared, sent.objects
    for group in fleet.pod_groups:
        yield group.backend, group.pool, group.declared, 1 + len(group.pods)


KARTA_UNREAD = Rule.warning(
    "karta-unread",
    "KAI does not read a Karta.",
    "KAI reads Kartas from 0.17 on, and only for kinds without a plugin of their own. Older releases make one PodGroup "
    "of such an object and start it with one pod.",
)
_FAILS = "KAI 0.17.0 makes no PodGroup for a kind that has neither a plugin nor a Karta."
"""Cause: GetPodGrouperPlugin of pkg/podgrouper/podgrouper/plugins/karta/hub.go returns a nil grouper as a valid one."""
_ROOT = ("spec", "structureDefinition", "rootComponent", "kind", "kind")


def check_kartas(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks every Karta, in the order of the files."""
    first_of_kind: dict[tuple[str, str], Declared[Karta]] = {}
    for declared in fleet.repository.kartas:
        kind = declared.spec.root.kind
        findings = [*_of_karta(fleet, declared)]
        earlier = first_of_kind.setdefault((kind.apiVersion, kind.kind), declared)
        if earlier is not declared:
            message = f"two Kartas describe {kind.kind} of {kind.apiVersion}, so KAI reads neither"
            related = (Related("the other one", earlier.at(*_ROOT)),)
            findings = [Diagnostic(NAME_DUPLICATE, message, declared.at(*_ROOT), related, hint="Remove one of them.")]
        yield from findings


def _of_karta(fleet: Fleet, declared: Declared[Karta]) -> Iterator[Diagnostic]:
    from kubectl_tas.model.karta import PLUGINS, KartaKind

    karta, kind = declared.spec, declared.spec.root.kind
    location = declared.at(*_ROOT)
    own_kind = next((k for k in KINDS if (k.api_version, k.name) == (kind.apiVersion, kind.kind)), None)
    has_plugin = (kind.group, kind.kind) in PLUGINS
    elsewhere = belongs_elsewhere(kind.apiVersion, kind.kind)
    if has_plugin or (own_kind is not None and (own_kind.page is None or own_kind.page.gang.has_plugin)):
        message = f"KAI has a plugin of its own for {kind.kind} and does not read this Karta"
        yield Diagnostic(KARTA_UNREAD, message, location, hint="Remove the Karta.")
    elif own_kind is not None:
        message = f"kubectl-tas knows where the pods of {kind.kind} are, but KAI would group them by this Karta"
        yield Diagnostic(NAME_DUPLICATE, message, location, hint="Remove the Karta, here and in the cluster.")
    elif elsewhere is not None:
        message = f"{kind.kind} of {kind.apiVersion} cannot be declared by a Karta: {why_elsewhere(kind.kind)}"
        yield Diagnostic(KIND_ELSEWHERE, message, location, hint=elsewhere)
    elif any(
        (declared_kind.apiVersion, declared_kind.kind) == (kind.apiVersion, kind.kind)
        and not isinstance(declared_kind, KartaKind)
        for declared_kind in fleet.config.kinds
    ):
        message = f"spec.kinds of the Config declares {kind.kind} of {kind.apiVersion} too"
        yield Diagnostic(NAME_DUPLICATE, message, location, hint="Remove the kind there, or the Karta.")
    else:
        for path, fault, hint in karta.read.faults:
            yield Diagnostic(INVALID_VALUE, fault, declared.at(*path), hint=hint)
        yield from _unread_karta(fleet, declared)


def _unread_karta(fleet: Fleet, declared: Declared[Karta]) -> Iterator[Diagnostic]:
    """Reports why KAI does not read a Karta that is otherwise correct."""
    karta = declared.spec
    if karta.gang.podGroup is None and not karta.gang.podGroups:
        message = "the Karta has no gangScheduling.podGroup"
        hint = f"Add it to spec.optimizationInstructions. {_FAILS}"
        yield Diagnostic(MISSING_FIELD, message, declared.at("spec"), hint=hint)
    elif not karta.is_found:
        wanted_labels = ", ".join(f"{key}: {value}" for key, value in karta.labels.items())
        message = "KAI finds a Karta by its labels, and this one lacks them"
        hint = f"Add labels {wanted_labels}. {_FAILS}"
        yield Diagnostic(MISSING_FIELD, message, declared.at("metadata", "labels"), hint=hint)
    old = [kai_backend for kai_backend in fleet.backends if kai_backend.is_kai and not kai_backend.has(Feature.KARTA)]
    if old and karta.is_found:
        message = f"KAI {old[0].spec.scheduler.version} of backend {old[0].name} does not read Kartas"
        hint = "KAI does from 0.17 on. Before, it starts such work with one pod."
        yield Diagnostic(KARTA_UNREAD, message, declared.at("kind"), hint=hint)
