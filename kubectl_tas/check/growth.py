"""Finds work that may grow beyond the counted GPUs: by itself, as the page of its kind says, or by an autoscaler in the
repository.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.base.diagnostics import Diagnostic, Related, Rule, Waiving
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import Misspellings, did_you_mean, question, shortened
from kubectl_tas.check.companion_names import REFERENCE_UNKNOWN
from kubectl_tas.check.conflicts import Fields
from kubectl_tas.check.resource_requests import pods_of
from kubectl_tas.facts.gpus import Gpus
from kubectl_tas.kinds.page import Growing, GrowingPods, Grown, is_count
from kubectl_tas.kinds.section import Section, listed, path_steps, values_at
from kubectl_tas.model.base import MAX_COUNT, KeyPath
from kubectl_tas.resolve.autoscalers import Autoscaler, autoscalers
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.mentions import SCALED, Space
from kubectl_tas.resolve.podcliqueset import FleetClique, SubmittedSet
from kubectl_tas.resolve.pools import Submission

GROWTH_UNCOUNTED = Rule.warning(
    "growth-uncounted",
    "Work may grow to more GPUs than are counted, or than its queue may hold.",
    "kubectl-tas compares quotas with the size at which work starts. Replicas that an autoscaler adds take GPUs that "
    "others count on, or stay Pending: lower maxReplicas to the counted number, or raise replicas. An update may "
    "add pods before it removes old ones: write maxSurge: 0. Without maxSurge, Kubernetes adds a quarter. If the quota "
    "has no room for it, such an update never ends. Long runs of a schedule overlap: write concurrencyPolicy: Forbid. "
    "With Replace they overlap while pods end. Each template of an Argo Workflow counts once: bound its loops by "
    "parallelism. A server without maxReplicas has no limit with Knative. An upgrade of Ray Serve makes a second "
    "cluster.",
    protects=Waiving.CONFIG,
)
Held = dict[tuple[str, str, bool], Gpus]
"""GPUs by cluster, queue, and whether the work is preemptible."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """The workload or PodCliqueSet whose replicas an autoscaler sets."""

    item: FleetWorkload | SubmittedSet
    start: int
    gpus: Gpus
    """GPUs of one replica."""


def check_growth(workload: FleetWorkload | SubmittedSet, held: Held) -> Iterator[Diagnostic]:
    """Checks a workload or a PodCliqueSet with a known pool. Skips parts without GPUs. ``held`` is ``held_gpus``."""
    room = (workload.maximum if workload.is_preemptible else workload.quota).gpu
    for pods_of_part in _of_set(workload) if isinstance(workload, SubmittedSet) else _growth_of(workload):
        if not pods_of_part.gpus or (pods_of_part.most is not None and pods_of_part.most <= pods_of_part.start):
            continue
        further_gpus = ((pods_of_part.most or 0) - pods_of_part.start) * pods_of_part.gpus
        if (pods_of_part.is_default and not _is_short(workload, further_gpus, held)) or (
            pods_of_part.is_counted and workload.gpus <= room
        ):
            continue
        many = "any number" if pods_of_part.most is None else str(pods_of_part.most)
        total = "without limit" if pods_of_part.most is None else f"to {workload.gpus + further_gpus}"
        asks = f"{workload.gpus} GPUs of this {workload.kind} are counted, and they may grow {total}"
        if pods_of_part.is_counted:
            asks = f"this {workload.kind} then asks for {workload.gpus} GPUs; its queue may hold {room}"
        message = f"{pods_of_part.grown_parts} may grow from {pods_of_part.start} to {many}{pods_of_part.when}: {asks}"
        yield Diagnostic(GROWTH_UNCOUNTED, message, workload.declared.at(*pods_of_part.path), hint=pods_of_part.hint)


def check_autoscaler(target: tuple[Autoscaler, Scaled | None], fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks an autoscaler against its target, if a file declares the target."""
    scaler, scaled = target
    if scaled is not None:
        yield from _autoscaled(scaler, scaled, fleet.config.gitops)
        # Checks that the target has the containers that an autoscaler measures.
        spec = Fields(scaler.companion.declared.origin, ("spec",), scaler.companion.declared.origin.value(("spec",)))
        for metric in (metric.below("containerResource") for metric in spec.each("metrics")):
            name = metric.get("container")
            if isinstance(name, str):
                every = (listed(pod.origin.value((*pod.path, "containers"))) for pod in pods_of(scaled.item))
                container_names = sorted({str(x.get("name")) for c in every for x in c if isinstance(x, dict)})
                if container_names and name not in container_names:
                    hint = did_you_mean(name, container_names, f"Name {shortened(container_names)}.")
                    location = spec.origin.locate((*metric.path, "container"))
                    message = f'{scaled.item.kind} {scaled.item.name} has no container "{name}"'
                    yield Diagnostic(REFERENCE_UNKNOWN, message, location, hint=hint)


def waits_for_sums(fleet: Fleet) -> bool:
    """Whether any workload may grow by a default. That check needs the sum of all work in the queue."""
    return any(_grows_by_default(workload) and workload.gpus for workload in fleet.workloads)


def check_scale_targets(fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds autoscalers of objects that no file declares."""
    scaled_documents = {id(scaler.companion.declared.origin) for scaler, scaled in scalers(fleet) if scaled is not None}
    numbers = {n for n, d in enumerate(fleet.repository.work) if scaled_documents and id(d.origin) in scaled_documents}
    lost = [(mentions, use) for mentions in fleet.mentions for use in mentions.uses if use.path == SCALED]
    lost = [(m, u) for m, u in lost if m is not fleet.own_mentions or u.document not in numbers]
    repository = fleet.repository
    specs = [document.spec for document in repository.workloads] + [x.spec for x in repository.pod_clique_sets]
    declared = {(document.kind, document.metadata.name) for document in specs if lost}
    placed: dict[tuple[str, Space], set[str]] = {}
    for document in fleet.submissions if lost else ():
        placed.setdefault((document.kind, (document.pool.backend.name, document.namespace)), set()).add(document.name)
    near = {key: Misspellings(placed.get(key, ())) for key in {(use.kind, use.space) for _, use in lost}}
    everywhere = {(kind, name) for (kind, _), names in placed.items() for name in names}
    unplaced = declared - everywhere  # without a pool, which has a finding
    for mentions, use in lost:
        if use.name in placed.get((use.kind, use.space), ()) or (use.kind, use.name) in unplaced:
            continue
        location, intended_name = mentions.finder(use.document)(use.path), near[use.kind, use.space].of(use.name)
        if intended_name is not None:
            message = f'the {use.kind} "{use.name}" does not exist in namespace {use.space[1]}'
            yield Diagnostic(REFERENCE_UNKNOWN, message, location, hint=question(use.name, intended_name))
            continue
        message = (
            f"this {use.by} scales {use.kind} {use.name}, which this repository does not declare: "
            "no quota is compared with the GPUs that it adds"
        )
        known_names = [name for kind, name in sorted(declared | everywhere) if kind == use.kind]
        hint = did_you_mean(use.name, known_names, "Declare it in this repository, or correct the name.", quote="")
        yield Diagnostic(GROWTH_UNCOUNTED, message, location, hint=hint)


def scalers(fleet: Fleet) -> Iterator[tuple[Autoscaler, Scaled | None]]:
    """Yields each autoscaler with its target, if a file declares that in the same namespace."""
    scalers_found = list(autoscalers(fleet.companions))
    workloads = {(w.pool.backend.name, w.namespace, w.kind, w.name): w for w in fleet.workloads if scalers_found}
    sets: dict[tuple[str, str], list[SubmittedSet]] = {}
    for sent in fleet.submitted_sets if scalers_found else ():
        sets.setdefault((sent.pool.backend.name, sent.namespace), []).append(sent)
    for scaler in scalers_found:
        workload = workloads.get(scaler.target)
        made = (_of_grove(sent, scaler.kind, scaler.name) for sent in sets.get(scaler.target[:2], ()))
        yield scaler, _scaled(workload) if workload is not None else next(filter(None, made), None)


def _of_grove(sent: SubmittedSet, kind: str, name: str) -> Scaled | None:
    """Returns the set, or the PodClique or PodCliqueScalingGroup SET-REPLICA-NAME that Grove makes of it."""
    groups = {group.name: sum(_gpus(clique) for clique in group.cliques) for group in sent.set.groups}
    if (kind, name) == (sent.kind, sent.name):
        alone = sum(_gpus(clique) for clique in sent.set.standalone)
        grouped = sum(group.spec.replicas * groups[group.name] for group in sent.set.groups)
        return Scaled(sent, sent.set.replicas, alone + grouped)
    replica, _, clique_name = name.removeprefix(f"{sent.name}-").partition("-")
    if not name.startswith(f"{sent.name}-") or not _is_index(replica, sent.set.replicas):
        return None
    if kind == "PodCliqueScalingGroup" and clique_name in groups:
        start = next(group.spec.replicas for group in sent.set.groups if group.name == clique_name)
        return Scaled(sent, start, groups[clique_name])
    for clique in sent.set.cliques if kind == "PodClique" else ():
        group, index = sent.set.group_of(clique), clique_name.removesuffix(f"-{clique.name}")
        if group is None:
            is_found = clique_name == clique.name
        else:
            of_group = index.removeprefix(f"{group.name}-")
            is_found = clique_name == f"{group.name}-{of_group}-{clique.name}" and _is_index(
                of_group, group.spec.replicas
            )
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
    may_be_left_out = isinstance(item, FleetWorkload) and item.is_scaled_alone
    if gitops != "none" and may_be_left_out:  # the GitOps tool would put back what the autoscaler sets
        hint = f"{verb} {field}, or leave replicas out of the {item.kind}: quotas then count {field}."
    related = (Related(f"{item.kind} {item.name}", item.declared.at("metadata", "name")),)
    yield Diagnostic(GROWTH_UNCOUNTED, message, origin.locate(("spec", field)), related, hint=hint)


def held_gpus(fleet: Fleet) -> Held:
    """Returns the GPUs that work asks for, by cluster, queue, and whether the work is preemptible."""
    held: Held = {}
    for submission in fleet.submissions if any(map(_grows_by_default, fleet.workloads)) else ():
        key = submission.pool.backend.name, submission.queue, submission.is_preemptible
        held[key] = held.get(key, 0) + submission.gpus
    return held


def _is_short(submission: Submission, further_gpus: Gpus, held: Held) -> bool:
    """Whether the queue has room for the work it holds, but not for more."""
    used, lent = (held.get((submission.pool.backend.name, submission.queue, low), 0) for low in (False, True))
    most = submission.maximum if submission.is_preemptible else submission.quota
    used += lent if submission.is_preemptible else 0
    return used <= most.gpu < used + further_gpus


def _grows_by_default(workload: FleetWorkload) -> bool:
    return workload.declared.spec.page.growth.by_default


def _growing(workload: FleetWorkload) -> Growing:
    """Returns a workload as plain data for the functions of its kind's page."""
    growing_pods = tuple(
        GrowingPods(
            name=pods.name,
            written=pods.written or pods.name,
            path=pods.path,
            spec_path=pods.spec_path,
            annotations_path=pods.annotations_path,
            annotations=pods.annotations,
            replicas=pods.replicas,
            gpus=pods.gpus,
        )
        for pods in workload.replicas
    )
    return Growing(workload.declared.spec.document, growing_pods, workload.copies, workload.gpus)


def _scaled(workload: FleetWorkload) -> Scaled:
    """Returns the replicas of a workload, which are groups if the kind has copies of all pods."""
    if workload.declared.spec.page.start.copies:
        return Scaled(workload, workload.copies, sum(pods.replicas * pods.gpus for pods in workload.replicas))
    return Scaled(workload, *_growing(workload).replicas)


def _growth_of(workload: FleetWorkload) -> Iterator[Grown]:
    """Yields the growth of a workload by itself."""
    for pods in workload.replicas:
        if pods.added:
            start, pods_name = pods.replicas - pods.added, f"the pods of {pods.written or pods.name}"
            yield Grown(
                pods.path, start, pods.replicas, pods.gpus, pods_name, hint="Lower the maximum.", is_counted=True
            )
    growing = _growing(workload)
    for at, grows in workload.declared.spec.page.growth.rows:
        for path, _ in values_at(growing.document, path_steps(at)):
            yield from grows(growing, Section(growing.document, path))


def _number(sent: Submission, path: KeyPath) -> int | None:
    """Returns the number at a path; None if it is absent or not a count that a cluster could reach."""
    value = sent.declared.origin.value(path)
    return value if is_count(value) else None


def _of_set(sent: SubmittedSet) -> Iterator[Grown]:
    """Yields the growth of a set's parts in all replicas (Grove: operator/api/core/v1alpha1/podclique.go)."""
    times = sent.set.replicas
    for clique in sent.set.cliques:
        path: KeyPath = (*clique.path, "spec", "autoScalingConfig", "maxReplicas")
        gpus = times * clique.gpus
        yield Grown(path, clique.spec.spec.replicas, _number(sent, path) or 0, gpus, f"the clique {clique.name}")
    for group in sent.set.groups:
        path = (*group.path, "scaleConfig", "maxReplicas")
        gpus = times * sum(clique.spec.spec.replicas * clique.gpus for clique in group.cliques)
        yield Grown(path, group.spec.replicas, _number(sent, path) or 0, gpus, f"the scaling group {group.name}")
