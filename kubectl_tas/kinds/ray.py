"""Holds what the kinds of KubeRay share: each has a Ray cluster, with a head and groups of workers. Sources: KubeRay
1.7, ray-operator; KAI's ray_grouper.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.base.late import late_pattern
from kubectl_tas.facts.kai import Feature
from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Counted, Gathered, Grouping
from kubectl_tas.kinds.naming import REFUSED, Alphabet, Names, Naming, PartNaming
from kubectl_tas.kinds.section import Refused, Section
from kubectl_tas.model.base import KeyPath

VERSIONS = ("ray.io/v1", "ray.io/v1alpha1")  # KubeRay 1.7 serves both
OPERATOR = "kuberay"
BY = "KubeRay"
HEAD = "headgroup"
"""SubGroup of the head of a Ray cluster."""
POD_FIELDS = (
    *("headGroupSpec.template", "headGroupSpec.rayStartParams"),
    *("workerGroupSpecs.*.template", "workerGroupSpecs.*.rayStartParams"),
)
"""Fields of a cluster that describe its pods."""
_SUB_GROUP = late_pattern(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_OF_PODS = late_pattern(r"(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""The names of groups that pods may have."""
UNUSED = "the GPUs of the others are counted, and nothing uses them"


def sub_group(group: str) -> str:
    """Returns the SubGroup of a group of workers."""
    return group.lower().replace("_", "-")


def workers(group: Section) -> int:
    """Returns the workers of a group at the start, at least the minimum (``GetWorkerGroupDesiredReplicas``). Each has
    ``numOfHosts`` pods.
    """
    return 0 if group.get("suspend") else max(group.count("minReplicas"), group.count("replicas"))


def implied_counts(cluster: Section) -> Iterator[tuple[KeyPath, int]]:
    """Yields the minimum of each group that omits replicas or has fewer, and 0 for a suspended group. KAI looks for the
    suspension in a field of another name.
    """
    for group in cluster.each("workerGroupSpecs"):
        if group.get("suspend"):
            yield from (((*group.path, name), 0) for name in ("replicas", "minReplicas") if group.get(name))
        elif group.count("replicas") < group.count("minReplicas"):
            yield (*group.path, "replicas"), group.count("minReplicas")


def autoscaled(growing: page.Growing, cluster: Section) -> Iterator[page.Grown]:
    """Yields the growth of workers: only with KubeRay's autoscaler; maxReplicas has no limit by default."""
    if cluster.get("enableInTreeAutoscaling") is not True:
        return
    for group in cluster.each("workerGroupSpecs"):
        most = group.get("maxReplicas")
        if not group.get("suspend") and (most is None or page.is_count(most)):
            gpus = growing.gpus_at((*group.path, "template")) * group.count("numOfHosts", 1)
            path, grown_parts = (*group.path, "maxReplicas"), f"the workers of {group.get('groupName')}"
            yield page.Grown(path, workers(group), most, gpus, grown_parts)


def group_replicas(group: Section) -> Iterator[Refused]:
    """Checks replica counts: KubeRay refuses minReplicas above maxReplicas, and makes at most maxReplicas pods
    (controllers/ray/utils, validation.go and ``GetWorkerGroupDesiredReplicas``).
    """
    yield from page.span(group)
    if group.exceeds("replicas", "maxReplicas") and not group.exceeds("minReplicas", "maxReplicas"):
        most = group.get("maxReplicas")
        message = (
            f"{group.at('replicas')} is {group.get('replicas')}, and KubeRay makes no more than maxReplicas, {most}"
        )
        yield group.refused(message, f"Write {most} replicas, or raise maxReplicas: {UNUSED}.", "replicas")


def refused_groups(gathered: Gathered, cluster: Section) -> Iterator[Refused]:
    """Yields groups of workers that KAI's podgrouper refuses."""
    for group in cluster.each("workerGroupSpecs"):
        name, least = group.get("groupName"), group.count("minReplicas")
        replicas = group.count("replicas", least)
        if not group.get("suspend") and replicas < least:
            message = f"KAI refuses {name}: it has fewer replicas ({replicas}) than minReplicas"
            hint = f"Write {least} replicas, as many as KubeRay makes, or lower minReplicas."
            yield Refused((*group.path, "replicas"), message, hint, rule="replicas-refused")
        is_part = workers(group) > 0 and gathered.has(Feature.STRICT_MIN_MEMBER)
        if (
            is_part and _OF_PODS.fullmatch(name.lower()) and not _SUB_GROUP.fullmatch(name)
        ):  # check.work_names says of others
            message = f'the group "{name}" becomes a SubGroup, which cannot have this name'
            hint = "Use at most 63 lower-case letters, digits and '-'."
            yield Refused((*group.path, "groupName"), message, hint, rule="replicas-refused")


def grouping(*cluster: str) -> Grouping:
    """Returns what KAI makes of a kind with its cluster at a path."""

    def minimums(gathered: Gathered) -> list[int]:
        """Returns the head, and minReplicas or all of each worker group; the submitter comes later."""
        needed = []
        for group in Section(gathered.document, cluster).each("workerGroupSpecs"):
            hosts = group.count("numOfHosts", 1)
            pods = workers(group) * hosts
            needed.append(min(pods, group.count("minReplicas") * hosts) or pods)
        return [1, *needed, 0][: len(gathered.pods)]

    def part_name(pods: Counted) -> str:
        return pods.written or HEAD

    return Grouping(
        minimums,
        sub_groups=Feature.RAY_SUBGROUPS,
        placed_parts=Feature.RAY_CONSTRAINTS,
        part_name=part_name,
        late_sub_group=HEAD,
        segment_template="Move it to the pod template.",
    )


CLUSTER_NAME = "ray.io/cluster"
"""The label with the name of the cluster on pods, by which KubeRay finds the cluster of a RayJob too."""


def names(most: int, cluster: str) -> Names:
    """Returns the names of a kind of KubeRay, and of the worker groups of its cluster: validation.go and PodName of
    util.go, from 1.4 on.
    """
    path, reason = f"{cluster}.workerGroupSpecs[].groupName", "KubeRay names pods after it, in lower case"
    return Names(
        (Naming(Alphabet.SERVICE, REFUSED, most, since="1.4"),),
        (PartNaming(path, "worker group", Alphabet.SUBDOMAIN, reason, is_folded=True),),
    )
