"""Finds changes of objects in files that cannot be applied, or that do not reach running pods."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity, Waiving
from kubectl_tas.base.late import dataclass
from kubectl_tas.compare.change import Change
from kubectl_tas.compare.immutable import Changed, changed_fields
from kubectl_tas.gangs.apply_demands import demanded
from kubectl_tas.gangs.pool_demands import Demand, companion_demands, demands, is_replaced, member_demands
from kubectl_tas.kinds.page import Effect
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.kindlists import group_of, written
from kubectl_tas.model.labels import REPLACE
from kubectl_tas.model.repository import Declared, Origin
from kubectl_tas.resolve.companions import ClusterNamespace
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import Submission

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import CliqueSet
    from kubectl_tas.model.podtemplate import Companion
    from kubectl_tas.model.workloads import Workload
    from kubectl_tas.resolve.fleet_workload import FleetWorkload
    from kubectl_tas.resolve.podcliqueset import SubmittedSet


CHANGE_REFUSED = Rule(
    "change-refused",
    Severity.ERROR,
    "A change concerns a field that an existing object cannot change.",
    "The API server or an operator's webhook refuses to apply the change, and the whole sync of a GitOps tool may fail "
    "with it. Examples: the pod template of a Job, anything but the size of a volume, most fields of a set with "
    "claims. Fields that a pool adds count too: a Job that moves to another pool gets another queue in its template. "
    "Give the object a new name, or the label kubectl-tas/replace: docs/review.md.",
    protects=Waiving.CONFIG,
)
CHANGE_KEPT = Rule(
    "change-kept",
    Severity.WARNING,
    "A change is applied, but what runs stays as it was.",
    "KubeRay and the operators of training jobs create missing pods and compare no others. Running pods keep the old "
    "template. A pod that fails comes back with the new template, next to pods with the old one. Give the object a new "
    "name, or delete it first.",
    protects=Waiving.CONFIG,
)
CHANGE_REPLACED = Rule(
    "change-replaced",
    Severity.INFO,
    "A change deletes an object and makes it anew.",
    "The label kubectl-tas/replace asks for this, or objects of this kind are always replaced. Running pods end, and "
    "start again with the new fields.",
    protects=Waiving.CONFIG,
)
REPLACE_LEFT = Rule(
    "replace-left",
    Severity.WARNING,
    "An object has the label kubectl-tas/replace, but needs it no more.",
    "Argo CD recreates an object with Replace=true and Force=true in each sync that includes it. With "
    "ApplyOutOfSyncOnly=true of the Application these are the syncs in which the object changes, and otherwise all: a "
    "sync of any other object ends its running pods. Remove the label when its pods may end, since that is a change of "
    "the object too.",
    protects=Waiving.CONFIG,
)
REPLACE_REMOVED = Rule(
    "replace-removed",
    Severity.WARNING,
    "A change of an object removes its label kubectl-tas/replace, and is still made by recreating it.",
    "Argo CD and Flux read their options from the object in the cluster too, and that one still has what the label "
    "added (applyObject of gitops-engine in Argo CD 3.5, shouldForceApply of fluxcd/pkg/ssa 0.76). Running pods end, "
    "and a finished Job runs again. Argo CD recreates the object even if only the label goes, which `diff` lists as a "
    "restart. Remove the label in a change of its own, when its pods may end.",
    protects=Waiving.CONFIG,
)
MAX_SHOWN = 60
"""Maximum length of a value in a message."""
TOOLS = {"argocd": "Argo CD", "flux": "Flux"}


@dataclass(frozen=True, slots=True)
class Written:
    """An object as its author wrote it, with the demands of its pool."""

    backend: str
    namespace: str
    api_version: str
    kind: str
    name: str
    origin: Origin
    demands: tuple[Demand, ...]
    location: Location
    """Place of the object's pool, or of another source of its demands."""

    @property
    def identity(self) -> tuple[str, ...]:
        """The properties that identify the object within a cluster, before and after the change."""
        return group_of(self.api_version), self.kind, self.namespace, self.name

    @property
    def is_replaced(self) -> bool:
        """Whether the label of the object asks to replace it."""
        return is_replaced(self.origin)


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """An object that exists before and after the change."""

    before: Written
    after: Written
    fields: tuple[Changed, ...]
    """Changed fields that cannot change in place, or not without a restart."""
    differs: bool
    """Whether anything of the object changes."""
    is_labelled: bool
    """Whether the object, or the one in the cluster, asks the GitOps tool to replace it."""

    def of(self, effect: Effect) -> tuple[Changed, ...]:
        """Returns the changed fields with ``effect``."""
        return tuple(field for field in self.fields if field.row.effect is effect)

    def is_replaced(self, gitops: str) -> bool:
        """Whether the GitOps tool replaces the object. Flux only does after a refusal, Argo CD at any change."""
        needed = self.differs if gitops == "argocd" else bool(self.of(Effect.REFUSED))
        return gitops != "none" and self.is_labelled and needed


def written_objects(fleet: Fleet) -> Iterator[Written]:
    """Yields workloads, PodCliqueSets, Pods of hand-written PodGroups, and companions."""
    submissions: tuple[FleetWorkload | SubmittedSet, ...] = (*fleet.workloads, *fleet.submitted_sets)
    for work in submissions:
        yield _written(work.declared, (work.pool.backend, work.namespace), demands(fleet, work), work.place)
    for group in fleet.pod_groups:
        for pod in group.pods:
            written_demands, location = member_demands(fleet, group, pod.origin), group.declared.at("metadata", "name")
            yield _written(pod, (group.backend, group.namespace), written_demands, location)
    for companion in fleet.companions:
        written_demands = companion_demands(fleet, companion)
        yield _written(companion.declared, (companion.backend, companion.namespace), written_demands, companion.place)


def _written(
    declared: Declared[Workload] | Declared[CliqueSet] | Declared[Companion],
    where: ClusterNamespace,
    demands: tuple[Demand, ...],
    location: Location,
) -> Written:
    spec, (backend, namespace) = declared.spec, where
    identity = (backend.name, namespace, spec.apiVersion, spec.kind, spec.metadata.name)
    return Written(*identity, declared.origin, demands, location)


def object_changes(change: Change) -> Iterator[ObjectChange]:
    """Yields every object that exists before and after the change.

    If only one object has an identity before and after, both are the same: a backend may have a new name.
    """
    earlier, tools = _by_identity(change.before), {change.before.config.gitops, change.after.config.gitops}
    for identity, later in _by_identity(change.after).items():
        before = earlier.get(identity, [])
        is_only = len(before) == len(later) == 1
        for after in later:
            same = next((earlier for earlier in before if is_only or earlier.backend == after.backend), None)
            if same is not None:
                fields, differs = tuple[Changed, ...](), False
                if (same.origin.data, same.demands) != (after.origin.data, after.demands):
                    old, new = (demanded(state.origin, state.demands) for state in (same, after))
                    differs = old != new
                    operators = change.after.config.operators
                    group = group_of(after.api_version)
                    fields = tuple(changed_fields(group, written(after.kind), old, new, operators))
                labelled = after.is_replaced or (same.is_replaced and len(tools) == 1)
                yield ObjectChange(same, after, fields, differs, labelled)


def _by_identity(fleet: Fleet) -> dict[tuple[str, ...], list[Written]]:
    by_identity: dict[tuple[str, ...], list[Written]] = {}
    for written_object in written_objects(fleet):
        by_identity.setdefault(written_object.identity, []).append(written_object)
    return by_identity


def unappliable_changes(change: Change) -> Iterator[Diagnostic]:
    """Reports the findings of the rules above, one for each object."""
    gitops = change.after.config.gitops
    for object_change in object_changes(change):
        refused, unchanged = object_change.of(Effect.REFUSED), object_change.of(Effect.KEPT)
        if object_change.is_replaced(gitops) and object_change.fields and not object_change.after.is_replaced:
            yield _removed(change, object_change)
        elif refused and object_change.after.is_replaced:
            yield _finding(change, object_change, refused, CHANGE_REPLACED)
        elif refused:
            yield _finding(change, object_change, refused, CHANGE_REFUSED)
        elif unchanged:
            rule = CHANGE_REPLACED if object_change.is_replaced(gitops) else CHANGE_KEPT
            yield _finding(change, object_change, unchanged, rule)
        elif gitops == "argocd" and object_change.before.is_replaced and object_change.after.is_replaced:
            message = (
                f"{object_change.after.kind} {object_change.after.name} has the label {REPLACE} as at "
                f"{change.revision}: each sync of Argo CD that it takes part in ends it and starts it again"
            )
            location = object_change.after.origin.locate(("metadata", "labels", REPLACE), key=True)
            hint = "Remove the label when its pods may end: the sync that removes it makes the object anew once more."
            yield Diagnostic(REPLACE_LEFT, message, location, hint=hint)


def _removed(change: Change, object_change: ObjectChange) -> Diagnostic:
    """Reports a change that is made by recreating the object although the object no longer has the label."""
    after, tool = object_change.after, TOOLS[change.after.config.gitops]
    lost = "its data is lost" if after.kind == "PersistentVolumeClaim" else "any running pods of it end"
    sentence = (
        f"{after.kind} {after.name} loses the label {REPLACE}, and {path_text(object_change.fields[0].path)} changes"
    )
    message = f"{sentence}: {tool} still deletes it and makes it anew, and {lost}"
    location = object_change.before.origin.locate(("metadata", "labels", REPLACE), key=True)
    hint = f"Keep the label in this change and remove it in a later one, or give the {after.kind} a new name."
    related = (Related(f"the label at {change.revision}", location),)
    named = after.origin.locate(("metadata", "name"))
    return Diagnostic(REPLACE_REMOVED, message, named, related, hint=hint)


def _finding(change: Change, object_change: ObjectChange, fields: Sequence[Changed], rule: Rule) -> Diagnostic:
    after, first_field = object_change.after, fields[0]
    tool = TOOLS.get(change.after.config.gitops)
    location, reason = _place(after, first_field.path)
    and_more = f" (and {len(fields) - 1} more)" if len(fields) > 1 else ""
    lost = "its data is lost" if after.kind == "PersistentVolumeClaim" else "any running pods of it end"
    sentence = (
        f"{after.kind} {after.name}: {path_text(first_field.path)}{reason} goes from {shown(first_field.old)} to "
        f"{shown(first_field.new)}{and_more} since {change.revision}"
    )
    by_hand = f"kubectl delete {after.kind.lower()} {after.name} -n {after.namespace}"
    label = f', or the label {REPLACE}: "true": {tool} then ends it and makes it anew' if tool else ""
    if rule is CHANGE_REFUSED:
        message = f"{sentence}, which {first_field.row.by} refuses for an object that is there"
        hint = f"Give it a new name{label}, or delete it first: {by_hand}"
        if after.kind == "PersistentVolumeClaim":
            hint = "Give it a new name: deleting or replacing it deletes its data."
    elif rule is CHANGE_KEPT:
        message = f"{sentence}, but what runs keeps the old: {first_field.row.by} does not change it"
        hint = f"Give it a new name{label if tool == 'Argo CD' else ''}, or delete it first: {by_hand}"
    elif tool:
        message = f"{sentence}: {tool} deletes it and makes it anew, and {lost}"
        hint = "Argo CD does so at each change until the label is gone." if tool == "Argo CD" else ""
    else:
        message = f"{sentence}, so you must delete it: spec.gitops names no tool that replaces it"
        hint = f"Delete it before you apply the manifests: {by_hand}"
    related = [Related(f"as at {change.revision}", object_change.before.origin.locate(first_field.path))]
    for field in fields[1:]:
        text = f"{path_text(field.path)} goes from {shown(field.old)} to {shown(field.new)}"
        related.append(Related(text, _place(after, field.path)[0]))
    return Diagnostic(rule, message, location, tuple(related), hint=hint)


def _place(written: Written, path: KeyPath) -> tuple[Location, str]:
    """Returns the place of a field; for an added field the place of its source, and the reason."""
    if written.origin.value(path) is None:
        for demand in written.demands:
            if demand.path == path[: len(demand.path)]:
                return written.location, f", {demand.reason},"
    return written.origin.locate(path), ""


def path_text(path: KeyPath) -> str:
    """Returns a path as text: ``spec.template.spec.containers[0].image``."""
    steps = (f"[{step}]" if isinstance(step, int) or not step.isidentifier() else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def shown(value: Any) -> str:
    """Returns a value for a message, cut if too long."""
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


NAMESPACE_CHANGED = Rule(
    "namespace-changed",
    Severity.WARNING,
    "Work goes to another namespace than before.",
    "No object can move between namespaces. The GitOps tool deletes the work in the old namespace, or leaves it "
    "running if it does not prune. The work starts again in the new namespace, without the Secrets and volumes of the "
    "old one. Make the change once the work is done. Or keep the namespace: on the workload itself, or as the first of "
    "its pool's or subpool's.",
    protects=Waiving.CONFIG,
)
_Key = tuple[str, str, str]


def changed_namespaces(change: Change) -> Iterator[Diagnostic]:
    """Reports the work that ``moved`` finds."""
    for old, new in moved(change):
        message = (
            f"{new.kind} {new.name} goes from namespace {old.namespace} to {new.namespace} since "
            f"{change.revision}: what runs there ends, and starts again here"
        )
        related = (Related(f"declared at {change.revision}", old.place),)
        hint = f"Wait until it is done, or let it run in {old.namespace}."
        location = new.declared.at("metadata", "namespace") if new.own_namespace else new.place
        yield Diagnostic(NAMESPACE_CHANGED, message, location, related, hint=hint)


def moved(change: Change) -> Iterator[tuple[Submission, Submission]]:
    """Yields work whose namespace in a cluster changes, unless its queue is known to be idle."""
    before, after = _by_name(change.before), _by_name(change.after)
    for key, later in after.items():
        earlier = before.get(key, [])
        if len(later) == len(earlier) == 1 and earlier[0].namespace != later[0].namespace:
            old, new = earlier[0], later[0]
            if change.queues.get((old.pool.backend.name, old.queue)) is not False:
                yield old, new


def _by_name(fleet: Fleet) -> dict[_Key, list[Submission]]:
    """Returns work by cluster, kind and name. Several namespaces may have work with one name."""
    by_name: dict[_Key, list[Submission]] = {}
    for submission in fleet.submissions:
        by_name.setdefault((submission.pool.backend.name, submission.kind, submission.name), []).append(submission)
    return by_name
