"""Checks pod counts and waiting times of workloads that KAI's podgrouper refuses or ignores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubectl_tas.base.diagnostics import Diagnostic, Rule, Waiving
from kubectl_tas.facts import kai, times
from kubectl_tas.facts.kai import Feature
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.workload_gang import reads_wait, waits
from kubectl_tas.kinds import kubernetes
from kubectl_tas.kinds.section import Section, key_path
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.handwritten import FleetPodGroup
from kubectl_tas.resolve.placement import ROOT

REPLICAS_REFUSED = Rule.error(
    "replicas-refused",
    "KAI makes no PodGroup of a workload, or one that never has all its pods.",
    "KAI's podgrouper refuses a Kubeflow job with a replica type of 0 replicas, or without a replica type that it "
    "needs, unless schedulingPolicy.minAvailable sets the number of needed pods. It also refuses a group of Ray "
    "workers with more minReplicas than replicas. The name of a group becomes that of a SubGroup. For a job in a set "
    "of jobs it waits for parallelism pods (from 0.16), although no more than completions start. With a pod that "
    "submits a job by clusterSelector, it waits for all pods of that cluster. A gang also never starts if its "
    "controller makes some needed pods only when others have a node or are ready, as with an exclusive topology or "
    "dependsOn. The pods stay Pending for ever.",
    protects=Waiving.ANYBODY,
)
ANNOTATION_IGNORED = Rule.warning(
    "annotation-ignored",
    "KAI does not read an annotation about the start of a gang where it is.",
    "KAI reads kai.scheduler/batch-min-member on a Job and a set of jobs (from 0.14.1), and on the templates of its "
    "jobs (from 0.16). The runs of a schedule always start pod by pod. KAI reads kai.scheduler/preemption-delay and "
    "kai.scheduler/staleness-grace-period on the workload (with a schedule: on the jobTemplate) and on pod templates.",
)
DURATION_INVALID = Rule.error(
    "duration-invalid",
    "The time that a gang waits is not a duration.",
    "KAI reads kai.scheduler/preemption-delay, kai.scheduler/staleness-grace-period and the fields of a PodGroup as Go "
    "durations: numbers with units (ns, us, ms, s, m, h), such as 90s or 1h30m. KAI's webhook refuses a PodGroup with "
    "another value, and KAI's podgrouper ignores an annotation with another value. A preemption delay must not be "
    "negative. With a negative grace period, KAI never evicts a gang below its minimum. `forecast` reads "
    "kubectl-tas/expected-runtime in the same form, and it must be more than 0.",
)


def check_replicas(workload: FleetWorkload, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the counts of a workload, and its annotations with durations."""
    if podgrouper.is_made_by_kai(workload):
        yield from _refused(workload, fleet.config.operators)
        # Reports batch-min-member in places where KAI does not read it.
        places = [ROOT, *(template.job_annotations[0] for template in workload.replicas if template.job_annotations)]
        places += [template.annotations_path for template in workload.templates]
        read = {podgrouper.minimum_path(workload)}
        if podgrouper.makes_jobs(workload):
            read |= {(*path, labels.BATCH_MIN_MEMBER) for path in places[1 : 1 + len(workload.replicas)]}
        for path in dict.fromkeys((*path_of_annotations, labels.BATCH_MIN_MEMBER) for path_of_annotations in places):
            if path not in read and workload.declared.origin.value(path) is not None:
                message = f"KAI does not read {labels.BATCH_MIN_MEMBER} here, so the pods do not wait for each other"
                path_of_annotations = workload.declared.at_key(*path)
                yield Diagnostic(ANNOTATION_IGNORED, message, path_of_annotations, hint=_instead(workload))
    for name in (labels.PREEMPTION_DELAY, labels.STALENESS_GRACE):
        for path, text in waits(workload, name):
            if podgrouper.is_made_by_kai(workload) and not reads_wait(workload, path):
                message = f"KAI does not read {name} here: it has no effect"
                read_at = ".".join(map(str, podgrouper.places_at(workload))) or "the pod templates"
                location = workload.declared.at_key(*path)
                yield Diagnostic(ANNOTATION_IGNORED, message, location, hint=f"Move it to {read_at}.")
            if not _is_wait(text, is_delay=name == labels.PREEMPTION_DELAY):
                yield _no_duration(name, text, workload, path)
    yield from _expected_runtime(workload)


def _expected_runtime(submitted: FleetWorkload | FleetPodGroup) -> Iterator[Diagnostic]:
    text = submitted.declared.spec.metadata.annotations.get(labels.EXPECTED_RUNTIME)
    if text is not None and (times.nanoseconds(text) or 0) <= 0:
        path = (*ROOT, labels.EXPECTED_RUNTIME)
        yield _no_duration(labels.EXPECTED_RUNTIME, text, submitted, path, "a duration of more than 0")


def check_durations(group: FleetPodGroup, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the durations of a hand-written PodGroup."""
    for name, text in _fields(group.declared.spec.spec.model_dump(exclude_none=True)):
        if not _is_wait(text, is_delay=name == "preemptionDelay"):
            yield _no_duration(name, text, group, ("spec", name))
    yield from _expected_runtime(group)


def _refused(workload: FleetWorkload, operators: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Reports what KAI's podgrouper refuses of the kind, and a gang that waits for itself."""
    spec, refusals = workload.declared.spec, workload.declared.spec.page.refusals
    if refusals.kai is not None:
        section = Section(spec.document, key_path(refusals.kai_at))
        for refused in refusals.kai(podgrouper.gathered(workload), section):
            location = workload.declared.origin.locate(refused.path, key=refused.is_key)
            yield Diagnostic(REPLICAS_REFUSED, refused.message, location, hint=refused.hint)
    release = operators.get(kubernetes.operator_of(spec.apiVersion, spec.document["kind"]) or "")
    for wait in podgrouper.waits(workload):
        if kubernetes.is_older(release, wait.since):
            continue
        message = f"{workload.kind} {workload.name} never starts: KAI waits for all needed pods, and {wait.reason}"
        level = workload.pool.topology.level(wait.level) if workload.pool.topology else None
        hint = f"{wait.instead}."
        if level is not None:
            at = f" to {wait.level_at}" if wait.level_at else ""
            hint = f"Remove it, and add {labels.PLACEMENT_REQUIRED}: {level.key}{at}. Or {hint[0].lower()}{hint[1:]}"
        yield Diagnostic(REPLICAS_REFUSED, message, workload.declared.at_key(*wait.path), hint=hint)


def _instead(workload: FleetWorkload) -> str:
    if podgrouper.row(workload).reads_batch_minimum:
        if not workload.pool.backend.has(Feature.JOB_GANGS):
            return f"Update KAI to {kai.first_with(Feature.JOB_GANGS)}, or remove it."
        return f"Move it to metadata.annotations of the {workload.kind}."
    return "Remove it."


def _fields(spec: dict[str, object]) -> Iterator[tuple[str, str]]:
    for name in ("preemptionDelay", "stalenessGracePeriod"):
        if name in spec:
            yield name, str(spec[name])


def _is_wait(text: str, *, is_delay: bool) -> bool:
    nanoseconds = times.nanoseconds(text)
    return nanoseconds is not None and (nanoseconds >= 0 or not is_delay)


def _no_duration(
    name: str,
    text: str,
    submitted: FleetWorkload | FleetPodGroup,
    path: KeyPath,
    possible: str = "a duration of 0 or more",
) -> Diagnostic:
    expected = possible if times.nanoseconds(text) is not None else "a duration"
    message = f'{name} must be {expected}, such as 90s or 1h30m, not "{text}"'
    return Diagnostic(
        DURATION_INVALID, message, submitted.declared.at(*path), hint="Write a number with a unit: s, m or h."
    )
