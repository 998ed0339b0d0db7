"""Checks that documents use only features that the KAI release of their backend has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule, Waiving
from kubectl_tas.facts import kai
from kubectl_tas.facts.kai import Feature
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.workload_gang import is_placed_as_a_whole, waits
from kubectl_tas.kinds import kubernetes
from kubectl_tas.model import labels
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.handwritten import FleetPodGroup
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.resolve.workflows import FleetWorkflow

if TYPE_CHECKING:
    from kubectl_tas.model.manifest import PodGroupSpec, SubGroup

VERSION_UNSUPPORTED = Rule.error(
    "version-unsupported",
    "The backend's scheduler, or its release of KAI, lacks what a document asks for.",
    "The API server of that cluster would drop the field, or refuse the object. Update KAI there, and "
    "scheduler.version with it, or leave out what the message names.",
)
RELEASE_FAULT = Rule.warning(
    "release-fault",
    "The backend's release of KAI has a fault that work of the repository meets.",
    "docs/versions.md lists the known faults of releases. Update KAI there, and scheduler.version with it, or change "
    "what the message names.",
    protects=Waiving.CONFIG,
)
_FAILURE_POLICY = 26
"""Minor release of Kubernetes that introduced podFailurePolicy of Jobs. Earlier API servers drop the field."""
_POLICIES = 30
"""Minor release of Kubernetes that introduced ValidatingAdmissionPolicies in ``v1``, and the CEL functions of the
guard. 1.28 and 1.29 have only ``v1beta1``, which is off by default and lacks ``format``.
"""


def check_pool_release(pool: FleetPool, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a pool against the release of its backend."""
    if pool.topology and _lacks(pool.backend, Feature.TOPOLOGY):
        field = "topology" if pool.declared.spec.spec.topology is not None else "topology_keys"
        yield unsupported(pool.backend, Feature.TOPOLOGY, "a topology", pool.declared.at_key("spec", field))
    if pool.declared.spec.spec.nodePool is not None and not pool.backend.is_kai:
        yield without_kai(pool.backend, "nodePool", pool.declared.at_key("spec", "nodePool"))
    for field in ("preemptMinRuntime", "reclaimMinRuntime"):
        if getattr(pool.declared.spec.spec, field) is not None and _lacks(pool.backend, Feature.MIN_RUNTIME):
            location = pool.declared.at_key("spec", field)
            yield unsupported(pool.backend, Feature.MIN_RUNTIME, field, location)


def check_workflow_release(workflow: FleetWorkflow, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the gangs of a workflow against the release of its backend."""
    for group in workflow.groups:
        if len(
            {tuple((r.level, r.group) for r in resource.requirements) for resource in group.resources}
        ) > 1 and _lacks(workflow.pool.backend, Feature.SUBGROUP_TREE):
            feature = f"the group {group.name}, whose tasks have different topology requirements,"
            location = workflow.declared.at(*group.path, "name")
            instead = "write the same requirements for all its tasks"
            yield unsupported(workflow.pool.backend, Feature.SUBGROUP_TREE, feature, location, instead)


def check_workload_release(workload: FleetWorkload, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the gang and the placements of a workload against the release of its backend."""
    if workload.is_owned and _lacks(workload.pool.backend, Feature.SKIP_PODGROUPER):
        label = labels.GANG if workload.gang is not None else labels.OWNED
        location = workload.declared.at_key("metadata", "labels", label)
        yield unsupported(workload.pool.backend, Feature.SKIP_PODGROUPER, label, location)
    yield from _beside_karta(workload, fleet)
    yield from _podgrouper(workload)
    yield from _placements(workload)
    yield from _waits(workload)


def check_workflow_jobs(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks Jobs of workflows. Before 0.15 the podgrouper skips only pods without an owner, and makes its own PodGroup
    for all other pods (pod_controller.go, assignPodToGroup).
    """
    config = fleet.repository.config
    if config is None or fleet.config.workflowsAs == "pods":
        return
    form = fleet.config.workflowsAs
    workflows = (s for s in fleet.submissions if s.kind == "Workflow" and (form == "jobs" or s.is_preemptible))
    backends = {workflow.pool.backend.name: workflow.pool.backend for workflow in workflows}
    for backend in backends.values():
        if _lacks(backend, Feature.SKIP_PODGROUPER):
            location = config.at("spec", "workflowsAs")
            yield unsupported(backend, Feature.SKIP_PODGROUPER, f"workflowsAs: {form}", location, "write pods")
        release = backend.spec.kubernetes
        if release is not None and kubernetes.minor(release) < _FAILURE_POLICY:
            needed = f"workflowsAs: {form} needs Kubernetes 1.{_FAILURE_POLICY} or later"
            message = f"{needed}; backend {backend.name} runs {release}"
            location = config.at("spec", "backends", backend.index, "kubernetes")
            yield Diagnostic(VERSION_UNSUPPORTED, message, location, hint="Update Kubernetes there, or write pods.")


def check_guard(backend: FleetBackend, fleet: Fleet) -> Iterator[Diagnostic]:
    """Reports a backend with a guard whose Kubernetes is too old for it."""
    config, release = fleet.repository.config, backend.spec.kubernetes
    is_guarded = fleet.config.guard and backend.is_kai and any(pool.backend == backend for pool in fleet.pools)
    if config is not None and is_guarded and release is not None and kubernetes.minor(release) < _POLICIES:
        message = f"the guard needs Kubernetes 1.{_POLICIES} or later; backend {backend.name} runs {release}"
        location = config.at("spec", "backends", backend.index, "kubernetes")
        hint = "Update Kubernetes there, or turn the guard off: it needs ValidatingAdmissionPolicies in v1."
        yield Diagnostic(VERSION_UNSUPPORTED, message, location, hint=hint)


def _beside_karta(workload: FleetWorkload, fleet: Fleet) -> Iterator[Diagnostic]:
    """Reports work of a kind without a plugin and without a Karta, beside a Karta for another kind."""
    if not fleet.config.kinds:
        return
    from kubectl_tas.model.karta import KartaKind

    spec, backend, gang = workload.declared.spec, workload.pool.backend, workload.declared.spec.page.gang
    kartas = [kind for kind in fleet.config.kinds if isinstance(kind, KartaKind)]
    karta = next(iter(kartas), None)
    has_plugin = gang.has_plugin and spec.apiVersion in (gang.plugin_versions or (spec.apiVersion,))
    is_described = (spec.apiVersion, spec.document["kind"]) in {(kind.apiVersion, kind.kind) for kind in kartas}
    if karta is None or is_described or (has_plugin and not spec.page.is_declared):
        return
    if kai.KARTA_PANIC.is_in(backend.release) and podgrouper.is_made_by_kai(workload):
        kind, release = spec.document["kind"], backend.spec.scheduler.version
        may = "" if gang.may_be_read is True and not spec.page.is_declared else ", if it may read one"
        effect = f"its podgrouper panics beside the Karta for {karta.kind}{may}"
        message = f"KAI {release} has no plugin for {kind} of {spec.apiVersion}: {effect}"
        hint = f"Describe {kind} by a Karta too, or remove the Karta."
        yield Diagnostic(RELEASE_FAULT, message, workload.declared.at("kind"), hint=hint)


def _podgrouper(workload: FleetWorkload) -> Iterator[Diagnostic]:
    """Reports features of a workload that the podgrouper of the release lacks, or that KAI's webhook refuses."""
    backend, missing = workload.pool.backend, podgrouper.missing_gang(workload)
    minimum = podgrouper.minimum_path(workload)
    if minimum is not None and missing is not None:
        yield unsupported(backend, missing, str(minimum[-1]), workload.declared.at_key(*minimum))
    for replica_type in workload.replicas:
        if replica_type.segments and podgrouper.is_refused(workload, replica_type):
            location = workload.declared.at_key(*replica_type.segments.size_path)
            used_feature = f"a {workload.kind} with segments, whose PodGroup KAI's own webhook refuses,"
            yield unsupported(backend, Feature.SEGMENT_PARENTS, used_feature, location, "leave the segments out")


def _placements(workload: FleetWorkload) -> Iterator[Diagnostic]:
    """Checks the placement of a workload, and of its templates if KAI reads those (check.placement_rules)."""
    is_known = not _lacks(workload.pool.backend, Feature.TOPOLOGY)
    needed = (podgrouper.missing_gang(workload) if is_known else None) or Feature.TOPOLOGY
    is_read = _lacks(workload.pool.backend, needed) or not podgrouper.is_made_by_kai(workload)
    is_read = is_read or is_placed_as_a_whole(workload)
    placements = [workload.placement, *(template.placement for template in workload.templates if is_read)]
    for placement in filter(None, placements):
        for asked_level in placement.asked:
            backend, location = workload.pool.backend, workload.declared.at_key(*asked_level.path)
            if not backend.is_kai:
                yield without_kai(backend, "a placement", location)
            elif not _lacks(backend, needed):
                continue
            elif (
                needed is not Feature.TOPOLOGY
                or placement.fleet_topology is None
                or placement.fleet_topology != workload.pool.topology
            ):
                yield unsupported(backend, needed, f"{asked_level.annotation} here", location)  # else the pool says it


def _waits(workload: FleetWorkload) -> Iterator[Diagnostic]:
    """Reports annotations for a gang's waiting time that older releases do not read."""
    for name, feature in (
        (labels.PREEMPTION_DELAY, Feature.PREEMPTION_DELAY),
        (labels.STALENESS_GRACE, Feature.STALENESS_GRACE),
    ):
        for path, _ in waits(workload, name) if _lacks(workload.pool.backend, feature) else ():
            yield unsupported(workload.pool.backend, feature, name, workload.declared.at_key(*path))


def needs_kai(backend: FleetBackend, feature: str) -> str:
    """Returns the message that ``feature`` needs KAI Scheduler."""
    scheduler = backend.spec.scheduler.type
    return f'{feature} needs KAI Scheduler, but backend {backend.name} has scheduler type "{scheduler}"'


def without_kai(backend: FleetBackend, feature: str, location: Location) -> Diagnostic:
    """Returns the finding that a feature needs KAI Scheduler."""
    message = needs_kai(backend, feature)
    hint = "Remove it, or set scheduler.type of the backend to kai."
    return Diagnostic(VERSION_UNSUPPORTED, message, location, hint=hint, cause=backend.type_place)


def _lacks(backend: FleetBackend, feature: Feature) -> bool:
    """Whether the backend's release is known and lacks ``feature``."""
    return backend.release is not None and not backend.has(feature)


def _features(group_spec: PodGroupSpec | SubGroup) -> Iterator[tuple[str, Feature]]:
    """Yields the fields of a PodGroup that a file has and that not every release of KAI knows, with their features."""
    for name, field in type(group_spec).model_fields.items():
        features = [metadata for metadata in field.metadata if isinstance(metadata, Feature)]
        if features and name in group_spec.model_fields_set:
            yield name, features[0]


def check_pod_group_release(pod_group: FleetPodGroup, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a hand-written PodGroup against the release of its backend."""
    declared, backend = pod_group.declared, pod_group.backend
    if not backend.is_kai:
        yield without_kai(backend, "a PodGroup", declared.at("kind"))
    if backend.release is None:
        return
    spec = declared.spec.spec
    for field, feature in _features(spec):
        if _lacks(backend, feature):
            yield unsupported(backend, feature, f"spec.{field}", declared.at_key("spec", field))
    for field in sorted(backend.release.removed_fields & spec.model_fields_set):
        location = declared.at_key("spec", field)
        last = kai.last_with_field(field)
        message = f"KAI {backend.spec.scheduler.version} no longer has spec.{field}; the last release with it is {last}"
        yield Diagnostic(VERSION_UNSUPPORTED, message, location, hint="Remove the field.")
    above = {sub_group.parent for sub_group, _ in pod_group.sub_groups}
    mixed = {sub_group.parent for sub_group, _ in pod_group.sub_groups if sub_group.name in above}
    for sub_group, path in pod_group.sub_groups:
        is_mixed = sub_group.parent in mixed and sub_group.name not in above
        if is_mixed and _lacks(backend, Feature.MIXED_SUBGROUPS) and backend.has(Feature.SUBGROUP_TREE):
            used_feature = f"the SubGroup {sub_group.name}, which has pods next to a SubGroup with children,"
            instead = f"put {sub_group.name} below a SubGroup of its own"
            yield unsupported(backend, Feature.MIXED_SUBGROUPS, used_feature, declared.at(*path, "name"), instead)
        for field, feature in _features(sub_group):
            if _lacks(backend, feature):
                yield unsupported(backend, feature, f"{field} on a SubGroup", declared.at_key(*path, field))
        if sub_group.minMember == 0 and _lacks(backend, Feature.ZERO_MIN_MEMBER):
            yield unsupported(backend, Feature.ZERO_MIN_MEMBER, "minMember: 0", declared.at(*path, "minMember"))


def unsupported(
    backend: FleetBackend, feature: Feature, used_feature: str, location: Location, instead: str = "leave it out"
) -> Diagnostic:
    """Returns a finding that ``used_feature`` needs a feature of a later KAI release. ``instead`` is an alternative."""
    first_release = kai.first_with(feature, backend.release)
    message = (
        f"{used_feature} needs KAI {first_release} or later; backend {backend.name} runs "
        f"{backend.spec.scheduler.version}"
    )
    hint = f"Update KAI there to {first_release} or later, or {instead}."
    return Diagnostic(VERSION_UNSUPPORTED, message, location, hint=hint)
