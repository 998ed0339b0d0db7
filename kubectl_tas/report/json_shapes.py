"""Defines the JSON that commands print with ``-o json``. ``tools/outputs.py`` makes schemas from these shapes.

Type checkers compare each writer with its shape, so programs import this file only to make schemas. ``version`` in a
shape is raised when a field changes its meaning or is removed. New fields may come at any time.
"""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from kubectl_tas.facts.quantities import Amount

Number = Annotated[Amount, WithJsonSchema({"type": "number"})]
"""GPUs. Work may request fractions."""
Value = Annotated[Amount | str | None, WithJsonSchema({"type": ["number", "string", "null"]})]
"""GPUs as a number, or cpu and memory as a Kubernetes quantity. null: no limit, or unknown."""


class PlaceJson(TypedDict):
    """A place in a file. line and column are null for the whole file."""

    path: str
    line: int | None
    column: int | None


class FixJson(TypedDict):
    """The text at the place of a finding, and the text to write instead."""

    written: str
    meant: str


class RelatedJson(TypedDict):
    """Another place that belongs to a finding."""

    message: str
    location: PlaceJson | None


class FindingJson(TypedDict):
    """One finding."""

    rule: str
    severity: str
    """error, warning or info."""
    message: str
    hint: str
    """A way to fix the problem."""
    fix: FixJson | None
    """The exact replacement, if the hint is certain."""
    location: PlaceJson | None
    related: list[RelatedJson]
    waiver: PlaceJson | None
    """The comment that waives the finding. A waived finding does not count."""


class SummaryJson(TypedDict):
    """The number of files read, and the number of findings of each severity."""

    files: int
    error: int
    warning: int
    info: int
    waived: int


class FindingsJson(TypedDict):
    """The findings in a repository."""

    version: int
    summary: SummaryJson
    diagnostics: list[FindingJson]


class CountedJson(TypedDict):
    """An answer that is computed from a repository."""

    version: int
    notCounted: NotRequired[list[PlaceJson]]
    """Documents that could not be read or that nothing holds. The answer lacks what they declare."""


class LevelJson(TypedDict):
    """A level of a topology."""

    key: str
    label: str


class PartJson(TypedDict):
    """A gang, a SubGroup or a task."""

    kind: str
    name: str
    pods: NotRequired[int]
    minMember: NotRequired[int | None]
    gpus: Number
    required: NotRequired[LevelJson | None]
    preferred: NotRequired[LevelJson | None]
    children: NotRequired[list[PartJson]]
    indices: NotRequired[list[int]]


class AdmissionJson(TypedDict):
    """Whether KAI admits work by its quota."""

    outcome: str
    rule: str | None
    message: str
    inQuota: Number
    overQuota: Number
    hint: str


class FactJson(TypedDict):
    """A line of text for people."""

    name: str
    text: str


class ExplainedJson(CountedJson):
    """The queue of one piece of work, its verdict and its PodGroups."""

    kind: str
    name: str
    workflow: str
    """The old name of ``name``, for one release."""
    file: str
    pool: str
    backend: str
    queue: str
    priority: str
    preemptible: bool
    gpus: Number
    topology: str | None
    verdict: str
    """admitted, pending, draining, unschedulable, rejected or unknown."""
    rule: str | None
    """The rule that refuses the work, or makes it wait."""
    inQuota: Number
    overQuota: Number
    message: str
    hint: str
    admission: AdmissionJson
    """The old place of ``verdict``, as ``outcome``, and of the fields after it, for one release."""
    podGroups: list[PartJson]
    facts: list[FactJson]


class SeveralExplainedJson(CountedJson):
    """The queue, verdict and PodGroups of each piece of work with one name."""

    items: list[ExplainedJson]


class SegmentJson(TypedDict):
    """The segment of one workload that contains a pod."""

    kind: str
    workload: str
    replicaType: str
    segment: str
    indices: list[int]
    indexLabel: str


class SegmentsJson(CountedJson):
    """The segments that contain the pods with one index."""

    podIndex: int
    segments: list[SegmentJson]


class WorkJson(TypedDict):
    """One workflow, workload or PodCliqueSet."""

    kind: str
    name: str
    pool: str
    queue: str
    priority: str
    gpus: Number
    verdict: str
    rule: str | None
    message: str
    file: str
    state: str | None
    """runs, waits, ended, failed or absent in its cluster; null if no cluster was asked."""


class WorkListJson(CountedJson):
    """All work of a repository."""

    workflows: list[WorkJson]


class AskedJson(TypedDict):
    """The request of work for one resource, the quota and use of its queue, and the part that the quota covers."""

    asks: Value
    quota: Value
    used: Value
    inQuota: Value
    overQuota: Value


class AdmittedJson(TypedDict):
    """The verdict on one piece of work. The amounts are GPUs."""

    kind: str
    name: str
    workflow: str
    """The old name of ``name``, for one release."""
    pool: str
    queue: str
    priority: str
    gpus: Number
    asks: Number
    """The old name of ``gpus``, for one release."""
    quota: Value
    used: Number | None
    verdict: str
    rule: str | None
    inQuota: Number
    overQuota: Number
    message: str
    hint: str
    cpu: AskedJson
    memory: AskedJson


class AnswersJson(CountedJson):
    """The verdicts on work: whether KAI would admit it."""

    workflows: list[AdmittedJson]


class LeftOutJson(TypedDict):
    """Work without a verdict or a placement."""

    kind: str
    name: str
    reason: str


class NodesJson(TypedDict):
    """The number of nodes, and of nodes that pods cannot use, by reason."""

    all: int
    unusable: dict[str, int]


class PlannedNodesJson(NodesJson):
    """The number of nodes, of unusable nodes by reason, and of nodes without the label of a level."""

    withoutLevel: dict[str, int]


class PlacedJson(TypedDict):
    """The number of pods of a part in one domain. null: outside of the topology."""

    part: str
    domain: list[str] | None
    pods: int


class NotKeptJson(TypedDict):
    """A preferred level that KAI does not keep."""

    part: str
    level: str
    domains: int


class RoomInJson(TypedDict):
    """The number of pods for which a domain has room."""

    domain: list[str]
    pods: int


class ShortageJson(TypedDict):
    """Pods that must share a domain, and the domains with the most room."""

    part: str
    level: str | None
    pods: int
    best: list[RoomInJson]


class LackJson(TypedDict):
    """A resource that a pod requests and that no node has in this amount."""

    resource: str
    asked: int
    most: int


class BestRoomJson(TypedDict):
    """The number of pods for which the best domain of a level has room. level null: all nodes."""

    level: str | None
    domain: list[str]
    pods: int


class ChangeJson(TypedDict):
    """A change that lets KAI place the gang."""

    kind: str
    text: str
    nodes: list[str]
    pods: list[str]
    fewer: int


class FitGangJson(TypedDict):
    """Whether one gang has a placement."""

    kind: str
    name: str
    """The name of the work that the gang is of."""
    workflow: str
    """The old name of ``name``, for one release."""
    podGroup: str
    copies: int
    startsWith: int
    pods: int
    gpus: Number
    outcome: str
    """fits, missed (KAI does not find an existing placement), no-room, unknown or runs."""
    why: str | None
    notTried: str | None
    levels: list[str]
    nodes: NodesJson
    placed: list[PlacedJson]
    notKept: list[NotKeptJson]
    shortage: ShortageJson | None
    lacks: list[LackJson]
    best: list[BestRoomJson]
    changes: list[ChangeJson]


class FitsJson(CountedJson):
    """Whether each gang alone has a placement on the free resources."""

    gangs: list[FitGangJson]
    leftOut: list[LeftOutJson]


class PendingQueueJson(TypedDict):
    """GPUs of a queue."""

    name: str
    parent: str | None
    guarantee: Value
    limit: Value
    holds: Number
    asks: Number
    fairShare: Number


class BatchJson(TypedDict):
    """Pods of another gang that KAI evicts or moves."""

    podGroup: str
    queue: str
    priority: int
    gpus: Number
    pods: list[str]
    podCount: int
    podsOfGang: int


class RefusalJson(TypedDict):
    """The limit or quota that stops a gang."""

    reason: str
    queue: str
    resource: str
    most: Number
    held: Number
    asked: Number


class ConsequencesJson(TypedDict):
    """Effects on other gangs."""

    action: str | None
    evicted: list[BatchJson]
    moved: list[BatchJson]
    limited: bool


class PendingGangJson(ConsequencesJson):
    """The outcome for a pending gang."""

    kind: str
    name: str
    """The name of the work that the gang is of."""
    workflow: str
    """The old name of ``name``, for one release."""
    podGroup: str
    queue: str
    priority: str
    pods: int
    gpus: Number
    outcome: str
    placed: list[PlacedJson]
    ahead: list[str]
    refusal: RefusalJson | None


class RunningGangJson(TypedDict):
    """A gang that runs."""

    kind: str
    name: str
    """The name of the work that the gang is of."""
    workflow: str
    """The old name of ``name``, for one release."""
    podGroup: str
    gangs: int


class FurtherPodsJson(ConsequencesJson):
    """Further pods of a gang that runs."""

    podGroup: str
    queue: str
    placed: list[PlacedJson]


class PendingSchedulerJson(TypedDict):
    """The outcome for all pending gangs of one shard of KAI's scheduler."""

    backend: str
    shard: str | None
    gpus: Number
    queues: list[PendingQueueJson]
    gangs: list[PendingGangJson]
    running: list[RunningGangJson]
    further: list[FurtherPodsJson]


class PendingJson(CountedJson):
    """The gangs that start and the gangs that stay pending, with --all."""

    schedulers: list[PendingSchedulerJson]
    leftOut: list[LeftOutJson]


class GrowthGangJson(TypedDict):
    """A gang that needs more racks."""

    kind: str
    name: str
    """The name of the work that the gang is of."""
    workflow: str
    """The old name of ``name``, for one release."""
    podGroup: str
    copies: int
    more: int | None
    lacks: list[LackJson]


class GrowthClusterJson(TypedDict):
    """The number of additional racks that one cluster needs."""

    backend: str
    pools: list[str]
    level: str | None
    like: list[str]
    nodes: int
    gpus: int
    missingLabel: str | None
    gangs: int
    more: int | None
    atOnce: bool
    waiting: list[GrowthGangJson]


class GrowthJson(CountedJson):
    """The number of additional racks that all gangs need, with --grow."""

    clusters: list[GrowthClusterJson]
    leftOut: list[LeftOutJson]


class WhyQueueJson(TypedDict):
    """The queue of pending work, in GPUs."""

    name: str | None
    """null: no PodGroup of the cluster names one."""
    quota: Value
    held: Value
    heldNonPreemptible: Value


class WhyGangJson(TypedDict):
    """A PodGroup of the cluster, with its pods by phase."""

    namespace: str
    name: str
    state: str
    pods: dict[str, int]
    startsWith: int | None


class FilePlaceJson(TypedDict):
    """A place in a file."""

    file: str
    line: int
    column: int


class SayingJson(TypedDict):
    """A message from the cluster."""

    by: str
    event: bool
    reason: str
    text: str
    times: int
    last: str | None


class CauseJson(TypedDict):
    """One reason why work does not run."""

    about: str
    text: str
    hint: str
    place: FilePlaceJson | None
    said: list[SayingJson]


class WhyWorkJson(TypedDict):
    """The reasons why one piece of work is pending."""

    kind: str
    name: str
    namespace: str
    file: str | None
    """null: no file declares the work, and the answer has what the cluster alone says."""
    pool: str | None
    queue: WhyQueueJson
    state: str
    podGroups: list[WhyGangJson]
    podsWithoutPodGroup: dict[str, int]
    causes: list[CauseJson]
    fit: FitsJson
    notKnown: dict[str, str]


class WhysJson(CountedJson):
    """Whether work runs in a cluster, and the reasons if it is pending."""

    workflows: list[WhyWorkJson]


class QueueAmountsJson(TypedDict):
    """Amounts of one resource."""

    quota: Value
    total: Value
    used: Value
    available: Value
    limit: Value
    weight: Value
    totalUsed: Value


class PoolQueueJson(QueueAmountsJson):
    """A pool or a subpool. The amounts are GPUs."""

    name: str
    kind: str
    state: str | None
    running: int | None
    backend: str
    queue: str | None
    file: str
    cpu: QueueAmountsJson
    memory: QueueAmountsJson
    parent: str | None
    depth: int


class TotalAmountsJson(TypedDict):
    """Sums of one resource."""

    quota: Value
    used: Value
    available: Value


class TotalJson(TotalAmountsJson):
    """The sums of the pools of one cluster. The amounts are GPUs."""

    backend: str
    cpu: TotalAmountsJson
    memory: TotalAmountsJson


class UnchargedJson(TypedDict):
    """GPUs that count against no queue."""

    backend: str
    gpus: int
    work: str
    namespace: str
    since: str | None
    why: str


class PoolListJson(CountedJson):
    """Pools and subpools with their quota, used and available resources."""

    usedFrom: str
    pools: list[PoolQueueJson]
    totals: list[TotalJson]
    uncharged: NotRequired[list[UnchargedJson]]


class PoolWorkJson(TypedDict):
    """Work of a pool."""

    kind: str
    name: str
    pool: str
    priority: str
    gpus: Number


class PoolPageJson(CountedJson):
    """A pool or a subpool with its queues and its work."""

    name: str
    kind: str
    usedFrom: str
    queues: list[PoolQueueJson]
    topology: str | None
    topologyKeys: list[LevelJson]
    workflows: list[PoolWorkJson]


class TopologyKeysJson(CountedJson):
    """The topology keys of a pool, from the coarsest."""

    pool: str
    topologyKeys: list[LevelJson]


class ListedSubpoolJson(TypedDict):
    """A subpool. The quota is in GPUs."""

    pool: str
    name: str
    state: str
    declaredQuota: int | str | dict[str, int | str]
    quota: Number
    cpu: Value
    memory: Value
    queue: str | None
    file: str


class SubpoolListJson(CountedJson):
    """Subpools."""

    subpools: list[ListedSubpoolJson]


class LargestGangJson(TypedDict):
    """The largest gang for which a domain has room."""

    pods: int
    gpus: int


class DomainRoomJson(TypedDict):
    """The resources of one domain."""

    domain: list[str]
    gpus: int
    freeGpus: int
    pods: int


class PlannedLevelJson(TypedDict):
    """The room in the domains of a level. level null: all nodes."""

    level: str | None
    label: str | None
    placed: bool
    largestGang: LargestGangJson
    domains: list[DomainRoomJson]


class DeclaredJson(TypedDict):
    """GPUs that the work in the repository requests."""

    fixed: Number
    preemptible: Number


class PlannedPoolJson(TypedDict):
    """The room for one pool."""

    pool: str
    backend: str
    guarantee: Value
    maximum: Value
    declared: DeclaredJson
    nodes: PlannedNodesJson
    podGpus: int
    levels: list[PlannedLevelJson]


class NotGuaranteedJson(TypedDict):
    """A guarantee that the nodes cannot fulfil."""

    message: str
    hint: str


class PlanJson(CountedJson):
    """The room for pools."""

    pools: list[PlannedPoolJson]
    guaranteesNotKept: list[NotGuaranteedJson]


class ShareAmountsJson(TypedDict):
    """The division of one resource."""

    guarantee: Value
    limit: Value
    weight: Value
    asked: Value
    held: Value
    share: Value
    bound: str


class ShareQueueJson(TypedDict):
    """The share of one queue."""

    name: str
    kind: str
    queue: str
    parent: str | None
    depth: int
    priority: int
    gpu: ShareAmountsJson
    cpu: ShareAmountsJson
    memory: ShareAmountsJson


class CapacityJson(TypedDict):
    """The resources that KAI divides."""

    gpu: Value
    cpu: Value
    memory: Value


class ShareJson(TypedDict):
    """The division of one shard's resources among queues."""

    backend: str
    shard: str | None
    capacity: CapacityJson
    queues: list[ShareQueueJson]
    notes: list[str]


class SharesJson(CountedJson):
    """The division of clusters by KAI's scheduler."""

    askedFrom: str
    clusters: list[ShareJson]


class ListedTopologyJson(TypedDict):
    """A topology, and the pools and sets that use it."""

    name: str
    kind: str
    file: str
    levels: list[LevelJson]
    pools: list[str]
    podCliqueSets: list[str]


class TopologyListJson(CountedJson):
    """All topologies."""

    topologies: list[ListedTopologyJson]


class NamedDomainJson(TypedDict):
    """A domain of nodes."""

    name: str
    nodes: int
    gpus: int


class SuggestedLevelJson(TypedDict):
    """A node label that may be a level."""

    key: str
    label: str
    setBy: str | None
    nodesWithout: list[str]
    domains: list[NamedDomainJson]


class LeftOutLevelJson(SuggestedLevelJson):
    """A node label that is not a level, and the reason."""

    reason: str


class SuggestedTopologyJson(CountedJson):
    """The topology that node labels suggest."""

    nodes: int
    withoutGpus: int
    levels: list[SuggestedLevelJson]
    leftOut: list[LeftOutLevelJson]


class ConditionJson(TypedDict):
    """Grove's status condition for the levels of a PodCliqueSet."""

    type: str
    status: str
    reason: str
    missing: list[str]


class TopologyUseJson(TypedDict):
    """A PodCliqueSet and its topology."""

    namespace: str
    name: str
    backend: str | None
    topology: str | None
    default: bool
    condition: ConditionJson | None


class DomainKeyJson(TypedDict):
    """A level in Grove's form."""

    domain: str
    key: str


class DifferenceJson(TypedDict):
    """A topology that differs in the cluster. null: the topology does not exist there."""

    backend: str | None
    topology: str
    repository: list[DomainKeyJson] | None
    cluster: list[DomainKeyJson] | None


class MissingLevelJson(LevelJson):
    """Nodes without the label of a level."""

    nodes: list[str]


class CoveredJson(TypedDict):
    """Nodes that a topology does not cover."""

    backend: str | None
    topology: str
    nodes: int
    outside: list[str]
    missing: list[MissingLevelJson]


TopologyUses = TypedDict(
    "TopologyUses",
    {
        "version": int,
        "from": str,
        "podCliqueSets": list[TopologyUseJson],
        "differences": NotRequired[list[DifferenceJson]],
        "nodes": NotRequired[list[CoveredJson]],
        "notCounted": NotRequired[list[PlaceJson]],
    },
)
"""The topology of each PodCliqueSet."""


class RiskJson(TypedDict):
    """The risk of a change, with reasons."""

    level: str
    reasons: list[str]


class SettingChangeJson(TypedDict):
    """A setting that changes."""

    setting: str
    before: str
    after: str


class FileChangeJson(TypedDict):
    """A file outside of the manifests that changes the applied objects."""

    path: str
    change: str | None
    why: str


class WeightJson(TypedDict):
    """Over-quota weights."""

    gpu: Number
    cpu: Number
    memory: Number


class QueueStateJson(TypedDict):
    """A queue."""

    of: str
    container: bool
    parent: str | None
    quota: CapacityJson
    limit: CapacityJson
    weight: WeightJson
    priority: int | None
    labels: dict[str, str]
    annotations: dict[str, str]


class QueueChangeJson(TypedDict):
    """A queue that changes. before is null for a new queue, after for a removed one."""

    cluster: str
    queue: str
    change: str
    before: QueueStateJson | None
    after: QueueStateJson | None


class SubpoolChangeJson(TypedDict):
    """A subpool whose state changes."""

    subpool: str
    before: str | None
    after: str | None


class TopologyChangeJson(TypedDict):
    """A topology that changes."""

    topology: str
    change: str
    before: list[LevelJson] | None
    after: list[LevelJson] | None


class WorkStateJson(TypedDict):
    """Work, and its verdict."""

    pool: str
    queue: str
    priority: str
    asks: CapacityJson
    verdict: str
    rule: str | None
    message: str


class WorkChangeJson(TypedDict):
    """Work that changes."""

    cluster: str
    kind: str
    name: str
    change: str
    before: WorkStateJson | None
    after: WorkStateJson | None


class RestartJson(TypedDict):
    """A gang that restarts."""

    kind: str
    before: str
    after: str
    why: str


class RuleChangeJson(TypedDict):
    """A rule whose severity changes."""

    rule: str
    before: str
    after: str


class PolicyChangeJson(TypedDict):
    """An admission policy that changes."""

    cluster: str
    policy: str
    change: str
    what: list[str]


class GuardChangeJson(TypedDict):
    """The changes of the guard."""

    before: str | None
    after: str | None
    rules: list[RuleChangeJson]
    policies: list[PolicyChangeJson]


class ObjectChangeJson(TypedDict):
    """The number of objects of a kind that are created, changed and deleted."""

    kind: str
    made: int
    changed: int
    dropped: int


class ImpactJson(TypedDict):
    """The effects of a change. In each part, before is null for a new item and after for a removed one."""

    version: int
    base: str
    risk: RiskJson
    settings: list[SettingChangeJson]
    beside: list[FileChangeJson]
    queues: list[QueueChangeJson]
    subpools: list[SubpoolChangeJson]
    topologies: list[TopologyChangeJson]
    work: list[WorkChangeJson]
    restarts: list[RestartJson]
    guard: GuardChangeJson
    objects: list[ObjectChangeJson]
    diagnostics: list[FindingJson]
    notCompared: list[str]


class RuleJson(TypedDict):
    """A rule."""

    code: str
    severity: str
    summary: str
    rationale: str
    waiving: str
    """The people who may lower the severity of the rule."""


class RulesJson(TypedDict):
    """One named rule, or all rules."""

    version: int
    rules: list[RuleJson]


class VersionJson(TypedDict):
    """The release of the tool, and the releases of KAI and Grove that it knows."""

    version: int
    tool: str
    python: str
    kai: list[str]
    grove: list[str]


class PatchJson(TypedDict):
    """The smallest change that solves the problem."""

    version: int
    patch: str | None
    """A unified diff for git apply in the repository. null if no edit of a file is known to help."""
    message: str
    """The effect of the patch, or the reason why no patch exists."""
    others: list[str]
    """Other changes that help or are needed, in words."""


class CheckedJson(TypedDict):
    """One thing that `doctor` looked at."""

    subject: str
    """repository, kubectl, or cluster and the name of a backend."""
    about: str
    state: str
    """ok, note, problem, or unknown if nobody could tell."""
    message: str
    todo: str
    """The step to take. Empty if nothing has to be done."""


class DoctorJson(TypedDict):
    """All that `doctor` looked at."""

    version: int
    checks: list[CheckedJson]


OUTPUTS: dict[str, tuple[type, ...]] = {
    "validate": (FindingsJson,),
    "check": (FindingsJson,),
    "diff": (ImpactJson,),
    "pool list": (PoolListJson,),
    "pool describe": (PoolPageJson,),
    "pool topology-keys": (TopologyKeysJson,),
    "pool plan": (PlanJson,),
    "pool share": (SharesJson,),
    "subpool list": (SubpoolListJson,),
    "topology list": (TopologyListJson,),
    "topology suggest": (SuggestedTopologyJson,),
    "topology usage": (TopologyUses,),
    "workflow list": (WorkListJson,),
    "explain": (ExplainedJson, SeveralExplainedJson, SegmentsJson),
    "why": (WhysJson,),
    "workflow explain": (ExplainedJson, SeveralExplainedJson, SegmentsJson),
    "workflow why": (WhysJson,),
    "admit": (AnswersJson,),
    "fit": (FitsJson, PendingJson, GrowthJson),
    "doctor": (DoctorJson,),
    "rule": (RulesJson,),
    "version": (VersionJson,),
}
"""The shapes of each command that prints JSON."""
ANSWERS: dict[str, tuple[type, ...]] = {"suggest": (PatchJson,)}
"""The shapes of answers to agents that no command prints."""
