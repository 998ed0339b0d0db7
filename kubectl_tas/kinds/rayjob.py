"""Describes KubeRay's RayJob, which embeds a RayCluster or uses an existing one. Sources: KubeRay 1.7,
rayjob_controller.go, common/job.go and utils/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_tas.kinds import page, ray, raycluster
from kubectl_tas.kinds.grouping import Gathered
from kubectl_tas.kinds.section import Document, Refused, Section, children, value_at
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath

_AT = "spec.rayClusterSpec"
_CLUSTER = page.embedded(raycluster.PAGE, _AT)
SUBMITTER = "submitter"


def deletion_policies(value: object, path: KeyPath) -> Iterator[KeyPath]:
    """Yields the policies of a deletion strategy that are DeleteSelf, at any depth (executeDeletionPolicy)."""
    if value == "DeleteSelf":
        yield path
    for key, below in children(value):
        yield from deletion_policies(below, (*path, key))


def _deletes_itself(document: Document) -> Iterator[KeyPath]:
    """Yields the policies by which KubeRay deletes the job itself. Else it deletes the cluster alone."""
    yield from deletion_policies(value_at(document, "spec", "deletionStrategy"), ("spec", "deletionStrategy"))


def _submission(spec: Section) -> Iterator[Refused]:
    """Checks that the job has an entrypoint if KubeRay submits it. KubeRay does not in interactive mode, or if the
    submitter pod has its own command (``getSubmitterTemplate``).
    """
    mode = spec.get("submissionMode") or "K8sJobMode"
    if spec.get("clusterSelector"):
        # Checks a job that selects an existing cluster (`ValidateRayJobSpec` of KubeRay 1.5 to 1.7).
        if spec.get("rayClusterSpec") is not None:
            message = f"{spec.at()} has clusterSelector and rayClusterSpec: KubeRay makes no cluster of the latter"
            path = (*spec.path, "clusterSelector")
            yield Refused(path, message, "Keep one of them.", is_key=True, rule="fields-conflict")
        if not spec.below("clusterSelector").get(ray.CLUSTER_NAME):
            message = f"{spec.at('clusterSelector')} has no {ray.CLUSTER_NAME}, the only label that KubeRay reads"
            hint = f"Write {ray.CLUSTER_NAME}: NAME, with the name of a RayCluster of the same namespace."
            yield spec.refused(message, hint, "clusterSelector")
        for name in ("backoffLimit", "submissionMode", "suspend"):
            if spec.get(name) and (name != "submissionMode" or spec.get(name) == "SidecarMode"):
                message = f"KubeRay refuses {spec.at(name)} in a RayJob with clusterSelector"
                yield spec.refused(message, f"Remove {name}.", name)
    elif spec.get("rayClusterSpec") is None and not spec.is_slip(("clusterSelector", "rayClusterSpec")):
        yield Refused((*spec.path, "rayClusterSpec"), "", "", rule="missing-field")
    command = value_at(spec.value, "submitterPodTemplate", "spec", "containers", 0, "command")
    if mode == "InteractiveMode" or (mode == "K8sJobMode" and command):
        return
    if not str(spec.get("entrypoint") or "").strip():
        message = f"{spec.at()} has no entrypoint: KubeRay has nothing to submit"
        hint = "Add entrypoint, the command of the job; or write submissionMode: InteractiveMode to submit it yourself."
        yield Refused(spec.path, message, hint, is_key=True)


def _lifetime(spec: Section) -> Iterator[Refused]:
    """Checks fields that need shutdownAfterJobFinishes, which is false by default (``ValidateRayJobSpec`` and, from 1.4
    on, ``validateDeletionConfiguration`` of utils/validation.go, read in 1.1 to 1.7).
    """
    if spec.get("shutdownAfterJobFinishes") is True:
        return
    if spec.count("ttlSecondsAfterFinished") > 0:
        message = f"KubeRay refuses {spec.at('ttlSecondsAfterFinished')} without shutdownAfterJobFinishes: true"
        rules = spec.below("deletionStrategy").get("deletionRules")
        hint = "Remove it, or write shutdownAfterJobFinishes: true."
        yield spec.refused(message, "Remove it: deletionRules say when." if rules else hint, "ttlSecondsAfterFinished")


def _refused(gathered: Gathered, cluster: Section) -> Iterator[Refused]:
    """Yields what KAI's podgrouper refuses: groups of workers, and a submitter outside of the cluster's PodGroup."""
    spec = Section(cluster.document, cluster.path[:-1])
    if spec.get("clusterSelector"):
        if spec.get("submitterPodTemplate") and (spec.get("submissionMode") or "K8sJobMode") == "K8sJobMode":
            message = "with the submitter pod, KAI waits for all pods of the Ray cluster, which are in another PodGroup"
            hint = f"Remove it: the default scheduler runs KubeRay's own pod. Or add the label {labels.OWNED}: owned."
            yield Refused((*spec.path, "submitterPodTemplate"), message, hint, is_key=True, rule="replicas-refused")
        return
    yield from ray.refused_groups(gathered, cluster)


def _implied_counts(cluster: Section) -> Iterator[tuple[KeyPath, int]]:
    if not value_at(cluster.document, *cluster.path[:-1], "clusterSelector"):
        yield from ray.implied_counts(cluster)


def _attempts(document: Document) -> int:
    """Returns how often KubeRay makes the cluster. A job past its deadline does not run again, but a job that has
    failed before does, and then has its whole time (checkBackoffLimitAndUpdateStatusIfNeeded).
    """
    limit = value_at(document, "spec", "backoffLimit")
    return 1 + limit if page.is_count(limit) else 1


def _keeps_cluster(document: Document) -> bool:
    """Whether KubeRay keeps the cluster when the job is done."""
    spec = value_at(document, "spec") or {}
    return not (spec.get("shutdownAfterJobFinishes") or spec.get("deletionStrategy"))


def _lingers(document: Document) -> int:
    """Returns how long KubeRay keeps the cluster when the job is done (handleShutdownAfterJobFinishes)."""
    return page.seconds_at("spec", "ttlSecondsAfterFinished")(document) or 0


PAGE = replace(
    _CLUSTER,
    recognition=page.Recognition("RayJob", ray.VERSIONS, operator=ray.OPERATOR),
    fields=(
        *_CLUSTER.fields,
        page.Field("spec", "Settings of the job.", is_required=True),
        page.Field(_AT, "The cluster, which exists as long as the job."),
        page.Field(
            "spec.clusterSelector",
            "The label ray.io/cluster with the name of an existing RayCluster, instead of rayClusterSpec. KubeRay runs "
            "the job there, and the only pod that it creates is the submitter.",
            "labels",
        ),
        page.Field(
            "spec.submitterPodTemplate",
            "Template for the pod that submits the job once the cluster is ready. The default is KubeRay's own.",
            "pod template",
        ),
    ),
    pods=(
        *(replace(pods, unless="spec.clusterSelector") for pods in _CLUSTER.pods),
        page.Pods(
            "spec.submitterPodTemplate",
            name=f"{SUBMITTER}/pod",
            sub_group=lambda _: SUBMITTER,
            is_late=True,
            is_optional=True,
        ),
    ),
    gang=ray.grouping("spec", "rayClusterSpec"),
    filled_in=replace(_CLUSTER.filled_in, counts=_implied_counts),
    stop=page.Stop(suspended_by=("spec.suspend", *_CLUSTER.stop.suspended_by), deletes_itself=_deletes_itself),
    changes=(  # its cluster is made once (getOrCreateRayClusterInstance)
        page.kept(
            ray.BY,
            *("rayClusterSpec", "clusterSelector", "entrypoint", "runtimeEnvYAML", "submitterPodTemplate"),
            below="spec",
            only=page.unless(page.suspended("spec.suspend")),
        ),
    ),
    ends=page.Ends(
        # checkActiveDeadlineAndUpdateStatusIfNeeded: from startTime, which is set anew for each attempt
        deadline=page.seconds_at("spec", "activeDeadlineSeconds"),
        attempts=_attempts,
        is_final=True,
        lingers=_lingers,
        patience="spec.preRunningDeadlineSeconds",
        stays=_keeps_cluster,
    ),
    makes=page.Makes((page.Made("RayCluster", "ray.io"), page.Made("Job", "batch"))),
    refusals=replace(
        _CLUSTER.refusals,
        operator=(*_CLUSTER.refusals.operator, ("spec", _submission), ("spec", _lifetime)),
        yaml=("spec.runtimeEnvYAML",),
        kai=_refused,
    ),
    names=ray.names(47, "spec.rayClusterSpec"),
)
