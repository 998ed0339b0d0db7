"""Checks pod counts and waiting times of workloads that KAI's podgrouper refuses or ignores."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas import kai, times
from kubectl_tas.diagnostics import Diagnostic, Rule, Severity, Waiving
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.workload_gang import reads_wait, waits
from kubectl_tas.kai import Feature
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import OWNED, FleetWorkload
from kubectl_tas.resolve.handwritten import FleetPodGroup
from kubectl_tas.resolve.placement import ROOT, whole_number
from kubectl_tas.words import within

REPLICAS_REFUSED = Rule(
    "replicas-refused",
    Severity.ERROR,
    "KAI makes no PodGroup of a workload, or one that never has all its pods.",
    "KAI's podgrouper refuses a Kubeflow job with a replica type of 0 replicas, an XGBoostJob without Master or "
    "Worker, an MPIJob without Launcher or Worker, and a JAXJob without Worker, unless schedulingPolicy.minAvailable "
    "sets the number of needed pods. It also refuses a group of Ray workers with more minReplicas than replicas. The "
    "name of a group becomes that of a SubGroup. For a job in a JobSet it waits for parallelism pods (from 0.16), "
    "although the JobSet makes no more than completions. With a pod that submits a RayJob by clusterSelector, it waits "
    "for all pods of that cluster. The pods stay Pending for ever.",
    protects=Waiving.ANYBODY,
)
ANNOTATION_IGNORED = Rule(
    "annotation-ignored",
    Severity.WARNING,
    "KAI does not read an annotation about the start of a gang where it is.",
    "KAI reads kai.scheduler/batch-min-member on a Job and a JobSet (from 0.14.1), and on the templates of a JobSet's "
    "replicated jobs (from 0.16). The runs of a CronJob always start pod by pod. KAI reads "
    "kai.scheduler/preemption-delay and kai.scheduler/staleness-grace-period on the workload (for a CronJob: on the "
    "jobTemplate) and on pod templates.",
)
DURATION_INVALID = Rule(
    "duration-invalid",
    Severity.ERROR,
    "The time that a gang waits is not a duration.",
    "KAI reads kai.scheduler/preemption-delay, kai.scheduler/staleness-grace-period and the fields of a PodGroup as Go "
    "durations: numbers with units (ns, us, ms, s, m, h), such as 90s or 1h30m. KAI's webhook refuses a PodGroup with "
    "another value, and KAI's podgrouper ignores an annotation with another value. A preemption delay must not be "
    "negative. With a negative grace period, KAI never evicts a gang below its minimum.",
)


def check_replicas(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks every workload, and every hand-written PodGroup."""
    for workload in fleet.workloads:
        if podgrouper.is_made_by_kai(workload):
            yield from _kubeflow(workload)
            yield from _ray(workload)
            yield from _job_set(workload)
            yield from _ignored(workload)
        for name in (labels.PREEMPTION_DELAY, labels.STALENESS_GRACE):
            for path, text in waits(workload, name):
                if podgrouper.is_made_by_kai(workload) and not reads_wait(workload, path):
                    message = f"KAI does not read {name} here: it has no effect"
                    place = workload.declared.origin.locate(path, key=True)
                    hint = f"Move it to {'.'.join(str(step) for step in podgrouper.row(workload).placed_at)}."
                    yield Diagnostic(ANNOTATION_IGNORED, message, place, hint=hint)
                if not _is_wait(text, is_delay=name == labels.PREEMPTION_DELAY):
                    yield _no_duration(name, text, workload, path)
    for item in fleet.pod_groups:
        for name, text in _fields(item.declared.spec.spec.model_dump(exclude_none=True)):
            if not _is_wait(text, is_delay=name == "preemptionDelay"):
                yield _no_duration(name, text, item, ("spec", name))


def _kubeflow(workload: FleetWorkload) -> Iterator[Diagnostic]:
    spec = workload.declared.spec
    if not podgrouper.is_kubeflow(spec) or spec.min_available is not None:
        return
    hint = "Or set the number of needed pods with runPolicy.schedulingPolicy.minAvailable."
    where: KeyPath = ("spec", spec.replica_specs)
    types = spec.replica_types
    for name in podgrouper.row(workload).replica_types:
        if name not in types:
            message = f"KAI makes no PodGroup of {workload.kind} {workload.name} without {name}: its pods stay Pending"
            place = workload.declared.origin.locate(where, key=True)
            yield Diagnostic(REPLICAS_REFUSED, message, place, hint=f"Add {name}. {hint}")
    for name, replicas in types.items():
        if replicas == 0:
            message = f"KAI makes no PodGroup of {workload.kind} {workload.name} with 0 {name} pods: all stay Pending"
            place = workload.declared.at(*where, name, "replicas")
            yield Diagnostic(REPLICAS_REFUSED, message, place, hint=f"Raise it, or remove {name}. {hint}")


def _ray(workload: FleetWorkload) -> Iterator[Diagnostic]:
    spec = workload.declared.spec
    if spec.kind == "RayJob" and spec.spec.clusterSelector and spec.spec.submitterPodTemplate and _submits(workload):
        message = "with the submitter pod, KAI waits for all pods of the Ray cluster, which are in another PodGroup"
        place = workload.declared.origin.locate(("spec", "submitterPodTemplate"), key=True)
        hint = f"Remove it: the default scheduler runs KubeRay's own pod. Or add the label {labels.OWNED}: {OWNED}."
        yield Diagnostic(REPLICAS_REFUSED, message, place, hint=hint)
    if not podgrouper.is_ray(spec):
        return
    for index, group in enumerate(spec.cluster.workerGroupSpecs):
        path: KeyPath = (*spec.cluster_path, "workerGroupSpecs", index)
        if not group.suspend and group.replicas is not None and group.replicas < group.minReplicas:
            message = f"KAI refuses {group.groupName}: it has fewer replicas ({group.replicas}) than minReplicas"
            hint = f"Write {group.minReplicas} replicas, as many as KubeRay makes, or lower minReplicas."
            yield Diagnostic(REPLICAS_REFUSED, message, workload.declared.at(*path, "replicas"), hint=hint)
        is_part = group.pods > 0 and workload.pool.backend.has(Feature.STRICT_MIN_MEMBER)
        is_of_pods = names.is_object_name(group.groupName.lower()) and len(group.groupName) <= names.MAX_LABEL
        if is_part and is_of_pods and not names.is_label(group.groupName):  # check.work_names says of others
            message = f'the group "{group.groupName}" becomes a SubGroup, which cannot have this name'
            hint = "Use at most 63 lower-case letters, digits and '-'."
            yield Diagnostic(REPLICAS_REFUSED, message, workload.declared.at(*path, "groupName"), hint=hint)


def _submits(workload: FleetWorkload) -> bool:
    """Whether KubeRay makes a pod that submits the job."""
    return workload.declared.origin.value(("spec", "submissionMode")) in (None, "", "K8sJobMode")


def _job_set(workload: FleetWorkload) -> Iterator[Diagnostic]:
    """Finds jobs of a JobSet that run fewer pods at a time than KAI waits for."""
    spec = workload.declared.spec
    if spec.kind != "JobSet" or not podgrouper.makes_jobs(workload):
        return
    least = podgrouper.job_minimums(workload)
    for index, (job, needed) in enumerate(zip(spec.spec.replicatedJobs, least, strict=True)):
        path: KeyPath = ("spec", "replicatedJobs", index, "template")
        annotation: KeyPath = (*path, "metadata", "annotations", labels.BATCH_MIN_MEMBER)
        asked = job.template.metadata.annotations.get(labels.BATCH_MIN_MEMBER)
        if asked is not None and whole_number(asked) is None:
            message = f'{labels.BATCH_MIN_MEMBER} must be a number from 1 to {job.template.spec.at_once}, not "{asked}"'
            hint = within(None, job.template.spec.at_once)
            yield Diagnostic(REPLICAS_REFUSED, message, workload.declared.at(*annotation), hint=hint)
        elif needed > job.template.spec.at_once:
            message = f"KAI waits for {needed} pods of each job of {job.name}, which has {job.template.spec.at_once}"
            written = annotation if asked else (*path, "spec", "parallelism")
            hint = f"Write {job.template.spec.at_once}."
            yield Diagnostic(REPLICAS_REFUSED, message, workload.declared.at(*written), hint=hint)


def _ignored(workload: FleetWorkload) -> Iterator[Diagnostic]:
    """Reports batch-min-member in places where KAI does not read it."""
    places = [ROOT, *(item.job_annotations[0] for item in workload.replicas if item.job_annotations)]
    places += [item.annotations_path for item in workload.templates]
    read = {podgrouper.minimum_path(workload)}
    if podgrouper.makes_jobs(workload):
        read |= {(*path, labels.BATCH_MIN_MEMBER) for path in places[1 : 1 + len(workload.replicas)]}
    for path in dict.fromkeys((*place, labels.BATCH_MIN_MEMBER) for place in places):
        if path not in read and workload.declared.origin.value(path) is not None:
            message = f"KAI does not read {labels.BATCH_MIN_MEMBER} here, so the pods do not wait for each other"
            place = workload.declared.origin.locate(path, key=True)
            yield Diagnostic(ANNOTATION_IGNORED, message, place, hint=_instead(workload))


def _instead(workload: FleetWorkload) -> str:
    if workload.kind in ("Job", "JobSet"):
        if not workload.pool.backend.has(Feature.JOB_GANGS):
            return f"Update KAI to {kai.first_with(Feature.JOB_GANGS)}, or remove it."
        return f"Move it to metadata.annotations of the {workload.kind}."
    return "Remove it."


def _fields(spec: dict[str, object]) -> Iterator[tuple[str, str]]:
    for name in ("preemptionDelay", "stalenessGracePeriod"):
        if name in spec:
            yield name, str(spec[name])


def _is_wait(text: str, *, is_delay: bool) -> bool:
    found = times.nanoseconds(text)
    return found is not None and (found >= 0 or not is_delay)


def _no_duration(name: str, text: str, item: FleetWorkload | FleetPodGroup, path: KeyPath) -> Diagnostic:
    what = "a duration of 0 or more" if times.nanoseconds(text) is not None else "a duration"
    message = f'{name} must be {what}, such as 90s or 1h30m, not "{text}"'
    return Diagnostic(DURATION_INVALID, message, item.declared.at(*path), hint="Write a number with a unit: s, m or h.")
