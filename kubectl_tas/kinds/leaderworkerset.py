"""Describes the LeaderWorkerSet: groups of one leader and its workers. Sources: LWS 0.10, leaderworkerset_webhook.go;
KAI's lws_grouper.go (0.13 to 0.17.0).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.facts.kai import Feature
from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import ANNOTATIONS, CutWorkers, Gathered, Grouping, every_pod
from kubectl_tas.kinds.naming import HASH, HASHED, SERVED, Alphabet, Names, Naming, last_index
from kubectl_tas.kinds.section import Document, value_at
from kubectl_tas.model import labels
from kubectl_tas.model.labels import MAX_LABEL

_AT = "spec.leaderWorkerTemplate"
_EXCLUSIVE = (*ANNOTATIONS, "leaderworkerset.sigs.k8s.io/exclusive-topology")
_LEADER = "leader"
_SIZE = ("spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize")


def _never_runs(cut: CutWorkers) -> tuple[str, str] | None:
    """Says why a group with such segments never runs, and what to do instead."""
    whole = "place the LeaderWorkerSet itself"
    if cut.leader_first:
        reason = "until its leader runs KAI counts one pod in a group, and refuses segments that are larger"
        return reason, f"Leave out startupPolicy: LeaderReady, or remove the segments and {whole}."
    sizes = f"Use {cut.listed}, or remove" if cut.allowed else "Remove"
    hint = f"{sizes} the segments and {whole}."
    if cut.size == 1:
        return "KAI refuses segments of 1 pod", hint
    if cut.size == cut.workers:
        return f"with one segment for all {cut.size} workers, KAI waits for a pod that never comes", hint
    if cut.leader_excluded and cut.workers % cut.size:
        return f"without the leader, segments of {cut.size} do not divide {cut.workers} workers", hint
    return None


def _is_leader_first(document: Document) -> bool:
    return bool(value_at(document, "spec", "startupPolicy") == "LeaderReady")


def _waits(gathered: Gathered) -> Iterator[page.Wait]:
    """Yields an exclusive topology: LWS makes no worker before the leader has a node (``Reconcile`` of
    pod_controller.go, 0.3 to 0.10). With LeaderReady, KAI too starts the leader alone. The annotation for subgroups
    adds affinities to pods that exist, and delays none (pod_webhook.go).
    """
    level = value_at(gathered.document, *_EXCLUSIVE)
    if level is not None and not _is_leader_first(gathered.document):
        first_replicas = [pods.replicas if pods.name == _LEADER else 0 for pods in gathered.pods]
        reason = "LWS makes the workers of a group only when its leader has a node"
        yield page.Wait(_EXCLUSIVE, reason, "Add startupPolicy: LeaderReady to spec", first_replicas, level=level)


def _division(document: Document) -> page.Division | None:
    """Returns the division by subGroupPolicy."""
    policy = value_at(document, *_SIZE[:-1])
    if not isinstance(policy, dict):
        return None
    excluded = policy.get("subGroupPolicyType") == "LeaderExcluded"
    return page.Division(policy.get("subGroupSize"), _SIZE, leader_excluded=excluded)


def _last_group(document: Document) -> str:
    """Returns the number of the last group. A group without workers has no StatefulSet of its own."""
    size = value_at(document, "spec", "leaderWorkerTemplate", "size")
    return f"-{last_index(value_at(document, 'spec', 'replicas'))}" if type(size) is int and size > 1 else ""


PAGE = page.WorkloadKind(
    recognition=page.Recognition("LeaderWorkerSet", ("leaderworkerset.x-k8s.io/v1",), operator="lws"),
    fields=(
        page.Field("spec", "Settings of the groups.", is_required=True),
        page.Field("spec.replicas", "Number of groups.", "count"),
        page.Field(_AT, "Template for a group.", is_required=True),
        page.Field(f"{_AT}.size", "Pods of the group, including the leader.", "positive"),
        page.Field(
            f"{_AT}.leaderTemplate",
            "Template for the leader. The default is the workers' template.",
            "pod template",
        ),
        page.Field(f"{_AT}.workerTemplate", "Template for the workers.", "pod template"),
        page.Field(f"{_AT}.subGroupPolicy", "The division of the group into parts."),
        page.Field(f"{_AT}.subGroupPolicy.subGroupSize", "Pods in a part.", "number"),
        page.Field(
            f"{_AT}.subGroupPolicy.subGroupPolicyType",
            "LeaderWorker: the leader is in the first part. LeaderExcluded: the leader is in no part.",
            "LeaderWorker|LeaderExcluded",
        ),
        page.Field(
            "spec.startupPolicy",
            "LeaderCreated: the workers start with the leader. LeaderReady: the workers start once the leader is "
            "ready.",
            "LeaderCreated|LeaderReady",
        ),
    ),
    pods=(
        page.Pods(
            f"{_AT}.leaderTemplate",
            instead=f"{_AT}.workerTemplate",
            name=_LEADER,
            is_leader=True,
            index_label=labels.LEADER_WORKER_INDEX,
        ),
        page.Pods(
            f"{_AT}.workerTemplate",
            f"{_AT}.size",
            minus=1,
            name="workers",
            index_label=labels.LEADER_WORKER_INDEX,
        ),
    ),
    pod_rules=page.PodRules(
        restart=("Always",),
        ports_known=True,
        injected=("LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"),  # AddLWSVariables of pkg/utils/pod
    ),
    gang=Grouping(
        every_pod,
        sub_groups=Feature.REPLICA_SUBGROUPS,
        never_runs=_never_runs,
        divided="workers",
        one_each="group",
        leads_segments=True,
        reads_size=True,
        not_owned="each of its groups is a gang of its own",
        segment_template="Move it to workerTemplate.",
    ),
    start=page.Start(waits=_waits, leader_first=_is_leader_first, division=_division, copies="spec.replicas"),
    filled_in=page.FilledIn(),
    stop=page.Stop(switch=("spec", "replicas")),
    changes=(
        page.Fixed(page.Effect.REFUSED, (_SIZE,), "LWS's webhook"),
        page.restarted("the LeaderWorkerSet", _AT, but=(_SIZE,)),
    ),
    ends=page.SERVICE,
    growth=page.surge("rolloutStrategy", "rollingUpdateConfiguration", 0, of_copies=True),  # from 0.7
    makes=page.Makes(
        (page.Made("StatefulSet", "apps", ("spec", "replicas")),),
        services=("{}",),
        name_labels=("leaderworkerset.sigs.k8s.io/name",),
    ),
    marks=page.Marks(),
    names=Names(
        (
            Naming(Alphabet.SERVICE, SERVED),
            Naming(Alphabet.SERVICE, HASHED, MAX_LABEL - HASH, _last_group),
        )
    ),
    refusals=page.Refusals(),
)
