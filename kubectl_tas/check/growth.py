"""Finds work that may grow beyond the counted GPUs. Causes are autoscaling, elastic jobs, overlapping runs of a
CronJob, and updates that add pods before they remove old ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kubectl_tas.check.companion_names import REFERENCE_UNKNOWN
from kubectl_tas.check.conflicts import Fields, listed
from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity, Waiving
from kubectl_tas.gangs.podgrouper import is_ray
from kubectl_tas.gpus import Gpus
from kubectl_tas.late import dataclass
from kubectl_tas.model.base import MAX_COUNT, KeyPath
from kubectl_tas.model.kindlists import SCALED_ALONE
from kubectl_tas.resolve.autoscalers import Autoscaler, autoscalers
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.mentions import SCALED, Space
from kubectl_tas.resolve.podcliqueset import FleetClique, SubmittedSet
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.words import Misspellings, did_you_mean, question, shortened

if TYPE_CHECKING:
    from kubectl_tas.model.operatorkinds import RayWorkload

GROWTH_UNCOUNTED = Rule(
    "growth-uncounted",
    Severity.WARNING,
    "Work may grow to more GPUs than are counted.",
    "kubectl-tas compares quotas with the size at which work starts. Replicas that an autoscaler adds take GPUs that "
    "others count on, or stay Pending: lower maxReplicas to the counted number, or raise replicas. An update of a "
    "Deployment adds pods before it removes old ones: write maxSurge: 0. Without maxSurge, Kubernetes adds a quarter. "
    "If the quota has no room for it, such an update never ends. Long runs of a CronJob overlap: write "
    "concurrencyPolicy: Forbid.",
    protects=Waiving.CONFIG,
)


_SURGES: dict[str, tuple[tuple[str, ...], object]] = {
    "Deployment": (("spec", "strategy", "rollingUpdate", "maxSurge"), "25%"),
    "LeaderWorkerSet": (("spec", "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge"), 0),
}
"""Field for the number of pods, or groups of pods, that an update adds, by kind, with its default. Sources: Kubernetes
1.35, ``SetDefaults_Deployment`` of pkg/apis/apps/v1/defaults.go; LeaderWorkerSet 0.7.
"""


@dataclass(frozen=True, slots=True)
class _Growth:
    """Parts of a workload whose number may grow."""

    path: KeyPath
    """Path of the field with the maximum number."""
    start: int
    """Number of parts that is counted."""
    most: int | None
    """Maximum number of parts; None: no limit."""
    gpus: Gpus
    """GPUs of one part."""
    what: str
    when: str = ""
    """Words that say when the number grows; empty: at any time."""
    hint: str = "Lower it, or write as many replicas."
    is_default: bool = False
    """Whether the growth comes from a default. Reported only if the quota has no room for it."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """The workload or PodCliqueSet whose replicas an autoscaler sets."""

    item: FleetWorkload | SubmittedSet
    start: int
    gpus: Gpus
    """GPUs of one replica."""


def check_growth(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks workloads and PodCliqueSets with a known pool. Skips parts without GPUs."""
    held = _held(fleet)
    for item in fleet.submissions:
        if isinstance(item, SubmittedSet):
            yield from _judged(item, _of_set(item), held)
        elif isinstance(item, FleetWorkload):
            yield from _judged(item, _of_workload(item), held)
    for scaler, scaled in scalers(fleet):
        if scaled is not None:
            yield from _autoscaled(scaler, scaled, fleet.config.gitops)
            yield from _containers(scaler.companion, scaled.item)


def waits_for_sums(fleet: Fleet) -> bool:
    """Whether any workload may grow by a default. That check needs the sum of all work in the queue."""
    return any(item.kind in _SURGES and item.gpus for item in fleet.workloads)


def check_scale_targets(fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds autoscalers of objects that no file declares."""
    found = {id(scaler.companion.declared.origin) for scaler, scaled in scalers(fleet) if scaled is not None}
    numbers = {number for number, item in enumerate(fleet.repository.work) if found and id(item.origin) in found}
    lost = [(part, use) for part in fleet.mentions for use in part.uses if use.path == SCALED]
    lost = [(part, use) for part, use in lost if part is not fleet.own_mentions or use.document not in numbers]
    repository = fleet.repository
    specs = [item.spec for item in repository.workloads] + [item.spec for item in repository.pod_clique_sets]
    declared = {(item.kind, item.metadata.name) for item in specs if lost}
    placed: dict[tuple[str, Space], set[str]] = {}
    for item in fleet.submissions if lost else ():
        placed.setdefault((item.kind, (item.pool.backend.name, item.namespace)), set()).add(item.name)
    near = {key: Misspellings(placed.get(key, ())) for key in {(use.kind, use.space) for _, use in lost}}
    everywhere = {(kind, name) for (kind, _), names in placed.items() for name in names}
    unplaced = declared - everywhere  # without a pool, which has a finding
    for part, use in lost:
        if use.name in placed.get((use.kind, use.space), ()) or (use.kind, use.name) in unplaced:
            continue
        place, meant = part.finder(use.document)(use.path), near[use.kind, use.space].of(use.name)
        if meant is not None:
            message = f'the {use.kind} "{use.name}" does not exist in namespace {use.space[1]}'
            yield Diagnostic(REFERENCE_UNKNOWN, message, place, hint=question(use.name, meant))
            continue
        message = (
            f"this {use.by} scales {use.kind} {use.name}, which this repository does not declare: "
            "no quota is compared with the GPUs that it adds"
        )
        known = [name for kind, name in sorted(declared | everywhere) if kind == use.kind]
        hint = did_you_mean(use.name, known, "Declare it in this repository, or correct the name.", quote="")
        yield Diagnostic(GROWTH_UNCOUNTED, message, place, hint=hint)


def scalers(fleet: Fleet) -> Iterator[tuple[Autoscaler, Scaled | None]]:
    """Yields each autoscaler with its target, if a file declares that in the same namespace."""
    found = list(autoscalers(fleet.companions))
    workloads = {
        (item.pool.backend.name, item.namespace, item.kind, item.name): item for item in fleet.workloads if found
    }
    sets: dict[tuple[str, str], list[SubmittedSet]] = {}
    for sent in fleet.submitted_sets if found else ():
        sets.setdefault((sent.pool.backend.name, sent.namespace), []).append(sent)
    for scaler in found:
        workload = workloads.get(scaler.target)
        made = (_of_grove(sent, scaler.kind, scaler.name) for sent in sets.get(scaler.target[:2], ()))
        yield scaler, _scaled(workload) if workload is not None else next(filter(None, made), None)


def _scaled(item: FleetWorkload) -> Scaled:
    """Returns the replicas of a workload: groups of a LeaderWorkerSet, workers if pods have roles, else pods."""
    if item.kind == "LeaderWorkerSet":
        return Scaled(item, item.copies, sum(part.replicas * part.gpus for part in item.replicas))
    part = next((part for part in item.replicas if part.name == "worker"), next(iter(item.replicas), None))
    return Scaled(item, part.replicas, part.gpus) if part is not None else Scaled(item, 0, 0)


def _of_grove(sent: SubmittedSet, kind: str, name: str) -> Scaled | None:
    """Returns the set, or the PodClique or PodCliqueScalingGroup SET-REPLICA-NAME that Grove makes of it."""
    groups = {group.name: sum(_gpus(clique) for clique in group.cliques) for group in sent.set.groups}
    if (kind, name) == (sent.kind, sent.name):
        alone = sum(_gpus(clique) for clique in sent.set.standalone)
        grouped = sum(group.spec.replicas * groups[group.name] for group in sent.set.groups)
        return Scaled(sent, sent.set.replicas, alone + grouped)
    replica, _, part = name.removeprefix(f"{sent.name}-").partition("-")
    if not name.startswith(f"{sent.name}-") or not _is_index(replica, sent.set.replicas):
        return None
    if kind == "PodCliqueScalingGroup" and part in groups:
        start = next(group.spec.replicas for group in sent.set.groups if group.name == part)
        return Scaled(sent, start, groups[part])
    for clique in sent.set.cliques if kind == "PodClique" else ():
        group, index = sent.set.group_of(clique), part.removesuffix(f"-{clique.name}")
        if group is None:
            is_found = part == clique.name
        else:
            of_group = index.removeprefix(f"{group.name}-")
            is_found = part == f"{group.name}-{of_group}-{clique.name}" and _is_index(of_group, group.spec.replicas)
        if is_found:
            return Scaled(sent, clique.spec.spec.replicas, clique.gpus)
    return None


def _is_index(text: str, count: int) -> bool:
    """Whether a text is an index below ``count``."""
    return text.isascii() and text.isdecimal() and len(text) <= len(str(MAX_COUNT)) and int(text) < count


def _gpus(clique: FleetClique) -> Gpus:
    return clique.spec.spec.replicas * clique.gpus


def _autoscaled(scaler: Autoscaler, scaled: Scaled, gitops: str) -> Iterator[Diagnostic]:
    """Checks an autoscaler, which sets spec.replicas of its target: pods, or the groups of a LeaderWorkerSet."""
    origin, item = scaler.companion.declared.origin, scaled.item
    field, most, target = scaler.field, scaler.most, (scaler.kind, scaler.name)
    if not scaled.gpus or (most is not None and most <= scaled.start):
        return
    many = f"{scaled.start} to {most} replicas" if most is not None else f"{scaled.start} replicas to any number"
    total = f"to {item.gpus + (most - scaled.start) * scaled.gpus}" if most is not None else "without limit"
    counted = "" if target == (item.kind, item.name) else f" of {item.kind} {item.name}"
    message = (
        f"this {scaler.companion.kind} may take {' '.join(target)} from {many}: "
        f"{item.gpus} GPUs{counted} are counted, and they may grow {total}"
    )
    verb = "Lower" if origin.value(("spec", field)) is not None else "Write"
    hint = f"{verb} {field}, or write as many replicas in the {item.kind}."
    if gitops != "none" and item.kind in SCALED_ALONE:  # the GitOps tool would put back what the autoscaler sets
        hint = f"{verb} {field}, or leave replicas out of the {item.kind}: quotas then count {field}."
    related = (Related(f"{item.kind} {item.name}", item.declared.at("metadata", "name")),)
    yield Diagnostic(GROWTH_UNCOUNTED, message, origin.locate(("spec", field)), related, hint=hint)


def _containers(companion: FleetCompanion, item: FleetWorkload | SubmittedSet) -> Iterator[Diagnostic]:
    """Checks that the target has the containers that an autoscaler measures."""
    if isinstance(item, SubmittedSet):
        return
    spec = Fields(companion.declared.origin, ("spec",), companion.declared.origin.value(("spec",)))
    for metric in (metric.below("containerResource") for metric in spec.each("metrics")):
        name = metric.get("container")
        if isinstance(name, str):
            every = (listed(item.declared.origin.value((*part.spec_path, "containers"))) for part in item.templates)
            known = sorted({str(part.get("name")) for parts in every for part in parts if isinstance(part, dict)})
            if known and name not in known:
                hint = did_you_mean(name, known, f"Name {shortened(known)}.")
                place = spec.origin.locate((*metric.path, "container"))
                message = f'{item.kind} {item.name} has no container "{name}"'
                yield Diagnostic(REFERENCE_UNKNOWN, message, place, hint=hint)


def _held(fleet: Fleet) -> dict[tuple[str, str, bool], Gpus]:
    """Returns the GPUs that work asks for, by cluster, queue, and whether the work is preemptible."""
    held: dict[tuple[str, str, bool], Gpus] = {}
    for item in fleet.submissions if any(item.kind in _SURGES for item in fleet.workloads) else ():
        key = item.pool.backend.name, item.queue, item.is_preemptible
        held[key] = held.get(key, 0) + item.gpus
    return held


def _is_short(item: Submission, more: Gpus, held: Mapping[tuple[str, str, bool], Gpus]) -> bool:
    """Whether the queue has room for the work it holds, but not for more."""
    used, lent = (held.get((item.pool.backend.name, item.queue, low), 0) for low in (False, True))
    most = item.maximum if item.is_preemptible else item.quota
    used += lent if item.is_preemptible else 0
    return used <= most.gpu < used + more


def _judged(
    item: Submission, parts: Iterator[_Growth], held: Mapping[tuple[str, str, bool], Gpus]
) -> Iterator[Diagnostic]:
    for part in parts:
        if part.gpus and (part.most is None or part.most > part.start):
            more = (part.most or 0) - part.start
            if part.is_default and not _is_short(item, more * part.gpus, held):
                continue
            many = "any number" if part.most is None else str(part.most)
            total = "without limit" if part.most is None else f"to {item.gpus + more * part.gpus}"
            message = (
                f"{part.what} may grow from {part.start} to {many}{part.when}: "
                f"{item.gpus} GPUs of this {item.kind} are counted, and they may grow {total}"
            )
            yield Diagnostic(GROWTH_UNCOUNTED, message, item.declared.at(*part.path), hint=part.hint)


def _of_workload(workload: FleetWorkload) -> Iterator[_Growth]:
    spec = workload.declared.spec
    if is_ray(spec):
        yield from _of_ray(workload, spec)
    elif spec.kind == "PyTorchJob":
        path: KeyPath = ("spec", "elasticPolicy", "maxReplicas")
        most = _number(workload, path)
        for item in workload.replicas:
            if most is not None and item.path[2] == "Worker":  # a master is always one
                yield _Growth(path, workload.pods, most, item.gpus, "the pods")
    elif workload.kind == "CronJob":
        yield from _of_runs(workload)
    elif workload.kind in _SURGES:
        yield from _of_update(workload, *_SURGES[workload.kind])


def _of_runs(workload: FleetWorkload) -> Iterator[_Growth]:
    """Yields the growth of a CronJob: Kubernetes starts the next run during the last one, unless told otherwise."""
    policy: KeyPath = ("spec", "concurrencyPolicy")
    origin = workload.declared.origin
    if origin.value(policy) in (None, "Allow") and origin.value(("spec", "suspend")) is not True:
        hint = "Write concurrencyPolicy: Forbid, or Replace."
        yield _Growth(policy, 1, None, workload.gpus, "the runs", " at a time", hint)


def _of_update(workload: FleetWorkload, path: tuple[str, ...], default: object) -> Iterator[_Growth]:
    """Yields the pods, or groups of pods, that an update adds before it removes old ones."""
    origin, scaled = workload.declared.origin, _scaled(workload)
    written = origin.value(path)
    surge = _surge(default if written is None else written, scaled.start)
    if origin.value((*path[:2], "type")) != "Recreate":
        what = "the groups" if workload.kind == "LeaderWorkerSet" else "the pods"
        hint = f"Write maxSurge: 0 and maxUnavailable: 1 in {'.'.join(path[:-1])}."
        most, when = scaled.start + surge, " during an update"
        yield _Growth(path, scaled.start, most, scaled.gpus, what, when, hint, is_default=written is None)


def _surge(written: object, pods: int) -> int:
    """Returns the pods that an update adds, from a number or a percentage, which Kubernetes rounds up."""
    if isinstance(written, str) and re.fullmatch("[0-9]{1,9}%", written):
        return -(-pods * int(written[:-1]) // 100)
    return written if type(written) is int and 0 <= written < MAX_COUNT else 0


def _of_ray(workload: FleetWorkload, spec: RayWorkload) -> Iterator[_Growth]:
    """Yields the growth of Ray workers (KubeRay 1.7): only with its autoscaler; maxReplicas has no limit by default."""
    if workload.declared.origin.value((*spec.cluster_path, "enableInTreeAutoscaling")) is not True:
        return
    for index, group in enumerate(spec.cluster.workerGroupSpecs):
        path = (*spec.cluster_path, "workerGroupSpecs", index, "maxReplicas")
        gpus = group.template.spec.gpus_with(group.template.metadata.annotations) * group.numOfHosts
        most = _number(workload, path)
        is_refused = most is None and workload.declared.origin.value(path) is not None
        if not group.suspend and not is_refused:
            start = group.pods // group.numOfHosts
            yield _Growth(path, start, most, gpus, f"the workers of {group.groupName}")


def _of_set(sent: SubmittedSet) -> Iterator[_Growth]:
    """Yields the growth of a set's parts in all replicas (Grove: operator/api/core/v1alpha1/podclique.go)."""
    times = sent.set.replicas
    for clique in sent.set.cliques:
        path: KeyPath = (*clique.path, "spec", "autoScalingConfig", "maxReplicas")
        gpus = times * clique.gpus
        yield _Growth(path, clique.spec.spec.replicas, _number(sent, path) or 0, gpus, f"the clique {clique.name}")
    for group in sent.set.groups:
        path = (*group.path, "scaleConfig", "maxReplicas")
        gpus = times * sum(clique.spec.spec.replicas * clique.gpus for clique in group.cliques)
        yield _Growth(path, group.spec.replicas, _number(sent, path) or 0, gpus, f"the scaling group {group.name}")


def _number(sent: Submission, path: KeyPath) -> int | None:
    """Returns the number at a path; None if it is absent or not a count that a cluster could reach."""
    written = sent.declared.origin.value(path)
    return written if type(written) is int and 0 <= written < MAX_COUNT else None
