"""Defines the JSON that commands print with ``-o json``. ``tools/outputs.py`` makes schemas from these shapes.

Type checkers compare each writer with its shape, so programs import this file only to make schemas. ``version`` in a
shape is raised when a field changes its meaning or is removed. New fields may come at any time.
"""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from kubectl_tas.quantities import Amount

Number = Annotated[Amount, WithJsonSchema({"type": "number"})]
"""GPUs. Work may request fractions."""
Value = Annotated[Amount | str | None, WithJsonSchema({"type": ["number", "string", "null"]})]
"""GPUs as a number, or cpu and memory as a Kubernetes quantity. null: no limit, or unknown."""


class Place(TypedDict):
    """A place in a file. line and column are null for the whole file."""

    path: str
    line: int | None
    column: int | None


class Fix(TypedDict):
    """The text at the place of a finding, and the text to write instead."""

    written: str
    meant: str


class Related(TypedDict):
    """Another place that belongs to a finding."""

    message: str
    location: Place | None


class Finding(TypedDict):
    """One finding."""

    rule: str
    severity: str
    """error, warning or info."""
    message: str
    hint: str
    """A way to fix the problem."""
    fix: Fix | None
    """The exact replacement, if the hint is certain."""
    location: Place | None
    related: list[Related]
    waiver: Place | None
    """The comment that waives the finding. A waived finding does not count."""


class Summary(TypedDict):
    """The number of files read, and the number of findings of each severity."""

    files: int
    error: int
    warning: int
    info: int
    waived: int


class Findings(TypedDict):
    """The findings in a repository."""

    version: int
    summary: Summary
    diagnostics: list[Finding]


class Counted(TypedDict):
    """An answer that is computed from a repository."""

    version: int
    notCounted: NotRequired[list[Place]]
    """Documents that could not be read or that nothing holds. The answer lacks what they declare."""


class Level(TypedDict):
    """A level of a topology."""

    key: str
    label: str


class Part(TypedDict):
    """A gang, a SubGroup or a task."""

    kind: str
    name: str
    pods: NotRequired[int]
    minMember: NotRequired[int | None]
    gpus: Number
    required: NotRequired[Level | None]
    preferred: NotRequired[Level | None]
    children: NotRequired[list[Part]]
    indices: NotRequired[list[int]]


class Admission(TypedDict):
    """Whether KAI admits work by its quota."""

    outcome: str
    rule: str | None
    message: str
    inQuota: Number
    overQuota: Number
    hint: str


class Fact(TypedDict):
    """A line of text for people."""

    name: str
    text: str


class Explained(Counted):
    """The queue of one piece of work, its verdict and its PodGroups."""

    kind: str
    workflow: str
    file: str
    pool: str
    backend: str
    queue: str
    priority: str
    preemptible: bool
    gpus: Number
    topology: str | None
    admission: Admission
    podGroups: list[Part]
    facts: list[Fact]


class SeveralExplained(Counted):
    """The queue, verdict and PodGroups of each piece of work with one name."""

    items: list[Explained]


class Segment(TypedDict):
    """The segment of one workload that contains a pod."""

    kind: str
    workload: str
    replicaType: str
    segment: str
    indices: list[int]
    indexLabel: str


class Segments(Counted):
    """The segments that contain the pods with one index."""

    podIndex: int
    segments: list[Segment]


class Work(TypedDict):
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


class WorkList(Counted):
    """All work of a repository."""

    workflows: list[Work]


class Asked(TypedDict):
    """The request of work for one resource, the quota and use of its queue, and the part that the quota covers."""

    asks: Value
    quota: Value
    used: Value
    inQuota: Value
    overQuota: Value


class Admitted(TypedDict):
    """The verdict on one piece of work. The amounts are GPUs."""

    workflow: str
    pool: str
    queue: str
    priority: str
    asks: Number
    quota: Value
    used: Number | None
    verdict: str
    rule: str | None
    inQuota: Number
    overQuota: Number
    message: str
    hint: str
    cpu: Asked
    memory: Asked


class Answers(Counted):
    """The verdicts on work: whether KAI would admit it."""

    workflows: list[Admitted]


class LeftOut(TypedDict):
    """Work without a verdict or a placement."""

    kind: str
    name: str
    reason: str


class Nodes(TypedDict):
    """The number of nodes, and of nodes that pods cannot use, by reason."""

    all: int
    unusable: dict[str, int]


class PlannedNodes(Nodes):
    """The number of nodes, of unusable nodes by reason, and of nodes without the label of a level."""

    withoutLevel: dict[str, int]


class Placed(TypedDict):
    """The number of pods of a part in one domain. null: outside of the topology."""

    part: str
    domain: list[str] | None
    pods: int


class NotKept(TypedDict):
    """A preferred level that KAI does not keep."""

    part: str
    level: str
    domains: int


class RoomIn(TypedDict):
    """The number of pods for which a domain has room."""

    domain: list[str]
    pods: int


class Shortage(TypedDict):
    """Pods that must share a domain, and the domains with the most room."""

    part: str
    level: str | None
    pods: int
    best: list[RoomIn]


class Lack(TypedDict):
    """A resource that a pod requests and that no node has in this amount."""

    resource: str
    asked: int
    most: int


class BestRoom(TypedDict):
    """The number of pods for which the best domain of a level has room. level null: all nodes."""

    level: str | None
    domain: list[str]
    pods: int


class Change(TypedDict):
    """A change that lets KAI place the gang."""

    kind: str
    text: str
    nodes: list[str]
    pods: list[str]
    fewer: int


class FitGang(TypedDict):
    """Whether one gang has a placement."""

    workflow: str
    kind: str
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
    nodes: Nodes
    placed: list[Placed]
    notKept: list[NotKept]
    shortage: Shortage | None
    lacks: list[Lack]
    best: list[BestRoom]
    changes: list[Change]


class Fits(Counted):
    """Whether each gang alone has a placement on the free resources."""

    gangs: list[FitGang]
    leftOut: list[LeftOut]


class PendingQueue(TypedDict):
    """GPUs of a queue."""

    name: str
    parent: str | None
    guarantee: Value
    limit: Value
    holds: Number
    asks: Number
    fairShare: Number


class Batch(TypedDict):
    """Pods of another gang that KAI evicts or moves."""

    podGroup: str
    queue: str
    priority: int
    gpus: Number
    pods: list[str]
    podCount: int
    podsOfGang: int


class Refusal(TypedDict):
    """The limit or quota that stops a gang."""

    reason: str
    queue: str
    resource: str
    most: Number
    held: Number
    asked: Number


class Consequences(TypedDict):
    """Effects on other gangs."""

    action: str | None
    evicted: list[Batch]
    moved: list[Batch]
    limited: bool


class PendingGang(Consequences):
    """The outcome for a pending gang."""

    workflow: str
    kind: str
    podGroup: str
    queue: str
    priority: str
    pods: int
    gpus: Number
    outcome: str
    placed: list[Placed]
    ahead: list[str]
    refusal: Refusal | None


class RunningGang(TypedDict):
    """A gang that runs."""

    workflow: str
    kind: str
    podGroup: str
    gangs: int


class FurtherPods(Consequences):
    """Further pods of a gang that runs."""

    podGroup: str
    queue: str
    placed: list[Placed]


class PendingScheduler(TypedDict):
    """The outcome for all pending gangs of one shard of KAI's scheduler."""

    backend: str
    shard: str | None
    gpus: Number
    queues: list[PendingQueue]
    gangs: list[PendingGang]
    running: list[RunningGang]
    further: list[FurtherPods]


class Pending(Counted):
    """The gangs that start and the gangs that stay pending, with --all."""

    schedulers: list[PendingScheduler]
    leftOut: list[LeftOut]


class GrowthGang(TypedDict):
    """A gang that needs more racks."""

    workflow: str
    kind: str
    podGroup: str
    copies: int
    more: int | None
    lacks: list[Lack]


class GrowthCluster(TypedDict):
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
    waiting: list[GrowthGang]


class Growth(Counted):
    """The number of additional racks that all gangs need, with --grow."""

    clusters: list[GrowthCluster]
    leftOut: list[LeftOut]


class WhyQueue(TypedDict):
    """The queue of pending work, in GPUs."""

    name: str
    quota: Value
    held: Value
    heldNonPreemptible: Value


class WhyGang(TypedDict):
    """A PodGroup of the cluster, with its pods by phase."""

    namespace: str
    name: str
    state: str
    pods: dict[str, int]
    startsWith: int | None


class FilePlace(TypedDict):
    """A place in a file."""

    file: str
    line: int
    column: int


class Saying(TypedDict):
    """A message from the cluster."""

    by: str
    event: bool
    reason: str
    text: str
    times: int
    last: str | None


class Cause(TypedDict):
    """One reason why work does not run."""

    about: str
    text: str
    hint: str
    place: FilePlace | None
    said: list[Saying]


class WhyWork(TypedDict):
    """The reasons why one piece of work is pending."""

    kind: str
    name: str
    namespace: str
    file: str
    pool: str
    queue: WhyQueue
    state: str
    podGroups: list[WhyGang]
    podsWithoutPodGroup: dict[str, int]
    causes: list[Cause]
    fit: Fits
    notKnown: dict[str, str]


class Whys(Counted):
    """Whether work runs in a cluster, and the reasons if it is pending."""

    workflows: list[WhyWork]


class QueueAmounts(TypedDict):
    """Amounts of one resource."""

    quota: Value
    total: Value
    used: Value
    available: Value
    limit: Value
    weight: Value
    totalUsed: Value


class PoolQueue(QueueAmounts):
    """A pool or a subpool. The amounts are GPUs."""

    name: str
    kind: str
    state: str | None
    running: int | None
    backend: str
    queue: str | None
    file: str
    cpu: QueueAmounts
    memory: QueueAmounts
    parent: str | None
    depth: int


class TotalAmounts(TypedDict):
    """Sums of one resource."""

    quota: Value
    used: Value
    available: Value


class Total(TotalAmounts):
    """The sums of the pools of one cluster. The amounts are GPUs."""

    backend: str
    cpu: TotalAmounts
    memory: TotalAmounts


class Uncharged(TypedDict):
    """GPUs that count against no queue."""

    backend: str
    gpus: int
    work: str
    namespace: str
    since: str | None
    why: str


class PoolList(Counted):
    """Pools and subpools with their quota, used and available resources."""

    usedFrom: str
    pools: list[PoolQueue]
    totals: list[Total]
    uncharged: NotRequired[list[Uncharged]]


class PoolWork(TypedDict):
    """Work of a pool."""

    kind: str
    name: str
    pool: str
    priority: str
    gpus: Number


class PoolPage(Counted):
    """A pool or a subpool with its queues and its work."""

    name: str
    kind: str
    usedFrom: str
    queues: list[PoolQueue]
    topology: str | None
    topologyKeys: list[Level]
    workflows: list[PoolWork]


class TopologyKeys(Counted):
    """The topology keys of a pool, from the coarsest."""

    pool: str
    topologyKeys: list[Level]


class ListedSubpool(TypedDict):
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


class SubpoolList(Counted):
    """Subpools."""

    subpools: list[ListedSubpool]


class LargestGang(TypedDict):
    """The largest gang for which a domain has room."""

    pods: int
    gpus: int


class DomainRoom(TypedDict):
    """The resources of one domain."""

    domain: list[str]
    gpus: int
    freeGpus: int
    pods: int


class PlannedLevel(TypedDict):
    """The room in the domains of a level. level null: all nodes."""

    level: str | None
    label: str | None
    placed: bool
    largestGang: LargestGang
    domains: list[DomainRoom]


class Declared(TypedDict):
    """GPUs that the work in the repository requests."""

    fixed: Number
    preemptible: Number


class PlannedPool(TypedDict):
    """The room for one pool."""

    pool: str
    backend: str
    guarantee: Value
    maximum: Value
    declared: Declared
    nodes: PlannedNodes
    podGpus: int
    levels: list[PlannedLevel]


class NotGuaranteed(TypedDict):
    """A guarantee that the nodes cannot fulfil."""

    message: str
    hint: str


class Plan(Counted):
    """The room for pools."""

    pools: list[PlannedPool]
    guaranteesNotKept: list[NotGuaranteed]


class ShareAmounts(TypedDict):
    """The division of one resource."""

    guarantee: Value
    limit: Value
    weight: Value
    asked: Value
    held: Value
    share: Value
    bound: str


class ShareQueue(TypedDict):
    """The share of one queue."""

    name: str
    kind: str
    queue: str
    parent: str | None
    depth: int
    priority: int
    gpu: ShareAmounts
    cpu: ShareAmounts
    memory: ShareAmounts


class Capacity(TypedDict):
    """The resources that KAI divides."""

    gpu: Value
    cpu: Value
    memory: Value


class Share(TypedDict):
    """The division of one shard's resources among queues."""

    backend: str
    shard: str | None
    capacity: Capacity
    queues: list[ShareQueue]
    notes: list[str]


class Shares(Counted):
    """The division of clusters by KAI's scheduler."""

    askedFrom: str
    clusters: list[Share]


class ListedTopology(TypedDict):
    """A topology, and the pools and sets that use it."""

    name: str
    kind: str
    file: str
    levels: list[Level]
    pools: list[str]
    podCliqueSets: list[str]


class TopologyList(Counted):
    """All topologies."""

    topologies: list[ListedTopology]


class NamedDomain(TypedDict):
    """A domain of nodes."""

    name: str
    nodes: int
    gpus: int


class SuggestedLevel(TypedDict):
    """A node label that may be a level."""

    key: str
    label: str
    setBy: str | None
    nodesWithout: list[str]
    domains: list[NamedDomain]


class LeftOutLevel(SuggestedLevel):
    """A node label that is not a level, and the reason."""

    reason: str


class SuggestedTopology(Counted):
    """The topology that node labels suggest."""

    nodes: int
    withoutGpus: int
    levels: list[SuggestedLevel]
    leftOut: list[LeftOutLevel]


class Condition(TypedDict):
    """Grove's status condition for the levels of a PodCliqueSet."""

    type: str
    status: str
    reason: str
    missing: list[str]


class TopologyUse(TypedDict):
    """A PodCliqueSet and its topology."""

    namespace: str
    name: str
    backend: str | None
    topology: str | None
    default: bool
    condition: Condition | None


class DomainKey(TypedDict):
    """A level in Grove's form."""

    domain: str
    key: str


class Difference(TypedDict):
    """A topology that differs in the cluster. null: the topology does not exist there."""

    backend: str | None
    topology: str
    repository: list[DomainKey] | None
    cluster: list[DomainKey] | None


class MissingLevel(Level):
    """Nodes without the label of a level."""

    nodes: list[str]


class Covered(TypedDict):
    """Nodes that a topology does not cover."""

    backend: str | None
    topology: str
    nodes: int
    outside: list[str]
    missing: list[MissingLevel]


TopologyUses = TypedDict(
    "TopologyUses",
    {
        "version": int,
        "from": str,
        "podCliqueSets": list[TopologyUse],
        "differences": NotRequired[list[Difference]],
        "nodes": NotRequired[list[Covered]],
        "notCounted": NotRequired[list[Place]],
    },
)
"""The topology of each PodCliqueSet."""


class Risk(TypedDict):
    """The risk of a change, with reasons."""

    level: str
    reasons: list[str]


class SettingChange(TypedDict):
    """A setting that changes."""

    setting: str
    before: str
    after: str


class FileChange(TypedDict):
    """A file outside of the manifests that changes the applied objects."""

    path: str
    change: str | None
    why: str


class Weight(TypedDict):
    """Over-quota weights."""

    gpu: Number
    cpu: Number
    memory: Number


class QueueState(TypedDict):
    """A queue."""

    of: str
    container: bool
    parent: str | None
    quota: Capacity
    limit: Capacity
    weight: Weight
    priority: int | None
    labels: dict[str, str]
    annotations: dict[str, str]


class QueueChange(TypedDict):
    """A queue that changes. before is null for a new queue, after for a removed one."""

    cluster: str
    queue: str
    change: str
    before: QueueState | None
    after: QueueState | None


class SubpoolChange(TypedDict):
    """A subpool whose state changes."""

    subpool: str
    before: str | None
    after: str | None


class TopologyChange(TypedDict):
    """A topology that changes."""

    topology: str
    change: str
    before: list[Level] | None
    after: list[Level] | None


class WorkState(TypedDict):
    """Work, and its verdict."""

    pool: str
    queue: str
    priority: str
    asks: Capacity
    verdict: str
    rule: str | None
    message: str


class WorkChange(TypedDict):
    """Work that changes."""

    cluster: str
    kind: str
    name: str
    change: str
    before: WorkState | None
    after: WorkState | None


class Restart(TypedDict):
    """A gang that restarts."""

    kind: str
    before: str
    after: str
    why: str


class RuleChange(TypedDict):
    """A rule whose severity changes."""

    rule: str
    before: str
    after: str


class PolicyChange(TypedDict):
    """An admission policy that changes."""

    cluster: str
    policy: str
    change: str
    what: list[str]


class GuardChange(TypedDict):
    """The changes of the guard."""

    before: str | None
    after: str | None
    rules: list[RuleChange]
    policies: list[PolicyChange]


class ObjectChange(TypedDict):
    """The number of objects of a kind that are created, changed and deleted."""

    kind: str
    made: int
    changed: int
    dropped: int


class Impact(TypedDict):
    """The effects of a change. In each part, before is null for a new item and after for a removed one."""

    version: int
    base: str
    risk: Risk
    settings: list[SettingChange]
    beside: list[FileChange]
    queues: list[QueueChange]
    subpools: list[SubpoolChange]
    topologies: list[TopologyChange]
    work: list[WorkChange]
    restarts: list[Restart]
    guard: GuardChange
    objects: list[ObjectChange]
    diagnostics: list[Finding]
    notCompared: list[str]


class Rule(TypedDict):
    """A rule."""

    code: str
    severity: str
    summary: str
    rationale: str
    waiving: str
    """The people who may lower the severity of the rule."""


class Rules(TypedDict):
    """One named rule, or all rules."""

    version: int
    rules: list[Rule]


class Version(TypedDict):
    """The release of the tool, and the releases of KAI and Grove that it knows."""

    version: int
    tool: str
    python: str
    kai: list[str]
    grove: list[str]


class Patch(TypedDict):
    """The smallest change that solves the problem."""

    version: int
    patch: str | None
    """A unified diff for git apply in the repository. null if no edit of a file is known to help."""
    message: str
    """The effect of the patch, or the reason why no patch exists."""
    others: list[str]
    """Other changes that help or are needed, in words."""


OUTPUTS: dict[str, tuple[type, ...]] = {
    "validate": (Findings,),
    "check": (Findings,),
    "diff": (Impact,),
    "pool list": (PoolList,),
    "pool describe": (PoolPage,),
    "pool topology-keys": (TopologyKeys,),
    "pool plan": (Plan,),
    "pool share": (Shares,),
    "subpool list": (SubpoolList,),
    "topology list": (TopologyList,),
    "topology suggest": (SuggestedTopology,),
    "topology usage": (TopologyUses,),
    "workflow list": (WorkList,),
    "workflow explain": (Explained, SeveralExplained, Segments),
    "workflow why": (Whys,),
    "admit": (Answers,),
    "fit": (Fits, Pending, Growth),
    "rule": (Rules,),
    "version": (Version,),
}
"""The shapes of each command that prints JSON."""
ANSWERS: dict[str, tuple[type, ...]] = {"suggest": (Patch,)}
"""The shapes of answers to agents that no command prints."""
