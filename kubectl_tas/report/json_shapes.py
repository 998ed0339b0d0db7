"""The shapes of what commands print with ``-o json``: a contract, of which ``tools/outputs.py`` makes schemas.

Type checkers hold each writer to its shape, so that a program imports this file only to make schemas. In each,
``version`` is raised when a field changes its meaning or goes; new fields may come at any time.
"""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from kubectl_tas.quantities import Amount

Number = Annotated[Amount, WithJsonSchema({"type": "number"})]
"""GPUs, which work may ask for in part."""
Value = Annotated[Amount | str | None, WithJsonSchema({"type": ["number", "string", "null"]})]
"""GPUs as a number, cpu and memory as a Kubernetes quantity; null: no limit, or not known."""


class Place(TypedDict):
    """A place in a file; line and column are null where the whole file is meant."""

    path: str
    line: int | None
    column: int | None


class Fix(TypedDict):
    """The words at the place of a finding, and the words that mend it."""

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
    """How to mend it."""
    fix: Fix | None
    """The exact replacement, where the hint is sure of it."""
    location: Place | None
    related: list[Related]
    waiver: Place | None
    """The comment that waives it: a finding with one counts no more."""


class Summary(TypedDict):
    """How many files were read, and how many findings there are of each severity."""

    files: int
    error: int
    warning: int
    info: int
    waived: int


class Findings(TypedDict):
    """What was found in a repository."""

    version: int
    summary: Summary
    diagnostics: list[Finding]


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
    """What KAI answers to work by its quota."""

    outcome: str
    rule: str | None
    message: str
    inQuota: Number
    overQuota: Number
    hint: str


class Fact(TypedDict):
    """A line for people."""

    name: str
    text: str


class Explained(TypedDict):
    """Where one piece of work goes: its queue, its verdict and its PodGroups."""

    version: int
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


class SeveralExplained(TypedDict):
    """The same of several that bear one name."""

    version: int
    items: list[Explained]


class Segment(TypedDict):
    """The segment of one workload that a pod is in."""

    kind: str
    workload: str
    replicaType: str
    segment: str
    indices: list[int]
    indexLabel: str


class Segments(TypedDict):
    """The segments that pods of one index are in."""

    version: int
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


class WorkList(TypedDict):
    """All work of a repository."""

    version: int
    workflows: list[Work]


class Asked(TypedDict):
    """What work asks of one resource, what its queue has, and what of it the quota covers."""

    asks: Value
    quota: Value
    used: Value
    inQuota: Value
    overQuota: Value


class Admitted(TypedDict):
    """The answer to one piece of work; the amounts are GPUs."""

    workflow: str
    pool: str
    queue: str
    priority: str
    asks: Number
    quota: Value
    used: Number
    verdict: str
    rule: str | None
    inQuota: Number
    overQuota: Number
    message: str
    hint: str
    cpu: Asked
    memory: Asked


class Answers(TypedDict):
    """Whether work would be admitted."""

    version: int
    workflows: list[Admitted]


class LeftOut(TypedDict):
    """Work without an answer."""

    kind: str
    name: str
    reason: str


class Nodes(TypedDict):
    """How many nodes there are, and how many of them pods cannot use, by the reason."""

    all: int
    unusable: dict[str, int]


class PlannedNodes(Nodes):
    """The same, and how many lack the label of a level."""

    withoutLevel: dict[str, int]


class Placed(TypedDict):
    """How many pods of a part are in one domain; null: outside of the topology."""

    part: str
    domain: list[str] | None
    pods: int


class NotKept(TypedDict):
    """A preferred level that KAI does not keep."""

    part: str
    level: str
    domains: int


class RoomIn(TypedDict):
    """For how many pods a domain has room."""

    domain: list[str]
    pods: int


class Shortage(TypedDict):
    """Pods that must share a domain, and the domains with the most room."""

    part: str
    level: str | None
    pods: int
    best: list[RoomIn]


class Lack(TypedDict):
    """What a pod asks for and no node has."""

    resource: str
    asked: int
    most: int


class BestRoom(TypedDict):
    """For how many pods the best domain of a level has room; level null: all nodes."""

    level: str | None
    domain: list[str]
    pods: int


class Change(TypedDict):
    """A change with which KAI places the gang."""

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
    """fits, missed (there is a placement that KAI does not find), no-room, unknown or runs."""
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


class Fits(TypedDict):
    """Whether gangs have a placement, each alone on what is free."""

    version: int
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
    """Pods of another gang that end or move."""

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
    """What becomes of other gangs."""

    action: str | None
    evicted: list[Batch]
    moved: list[Batch]
    limited: bool


class PendingGang(Consequences):
    """What becomes of a gang that waits."""

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
    """What one shard of a scheduler does with all that waits."""

    backend: str
    shard: str | None
    gpus: Number
    queues: list[PendingQueue]
    gangs: list[PendingGang]
    running: list[RunningGang]
    further: list[FurtherPods]


class Pending(TypedDict):
    """What starts and what waits, with --all."""

    version: int
    schedulers: list[PendingScheduler]
    leftOut: list[LeftOut]


class GrowthGang(TypedDict):
    """A gang that waits for racks."""

    workflow: str
    kind: str
    podGroup: str
    copies: int
    more: int | None
    lacks: list[Lack]


class GrowthCluster(TypedDict):
    """How many racks more one cluster needs."""

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


class Growth(TypedDict):
    """How many racks more there must be, with --grow."""

    version: int
    clusters: list[GrowthCluster]
    leftOut: list[LeftOut]


class WhyQueue(TypedDict):
    """The queue that work waits in; GPUs."""

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
    """What the cluster says."""

    by: str
    event: bool
    reason: str
    text: str
    times: int
    last: str | None


class Cause(TypedDict):
    """One thing that keeps work from running."""

    about: str
    text: str
    hint: str
    place: FilePlace | None
    said: list[Saying]


class WhyWork(TypedDict):
    """Why one piece of work waits."""

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


class Whys(TypedDict):
    """Whether work runs in a cluster, and why it waits."""

    version: int
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
    """A pool or a subpool; the amounts are GPUs."""

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
    """The sums of the pools of one cluster; the amounts are GPUs."""

    backend: str
    cpu: TotalAmounts
    memory: TotalAmounts


class Uncharged(TypedDict):
    """GPUs that no queue is charged for."""

    backend: str
    gpus: int
    work: str
    namespace: str
    since: str | None
    why: str


class PoolList(TypedDict):
    """Pools and subpools with their quota, what is used of it and what is left."""

    version: int
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


class PoolPage(TypedDict):
    """A pool or a subpool with its queues and its work."""

    version: int
    name: str
    kind: str
    usedFrom: str
    queues: list[PoolQueue]
    topology: str | None
    topologyKeys: list[Level]
    workflows: list[PoolWork]


class TopologyKeys(TypedDict):
    """The topology keys of a pool, from the coarsest."""

    version: int
    pool: str
    topologyKeys: list[Level]


class ListedSubpool(TypedDict):
    """A subpool; quota is GPUs."""

    pool: str
    name: str
    state: str
    declaredQuota: int | str | dict[str, int | str]
    quota: Number
    cpu: Value
    memory: Value
    queue: str | None
    file: str


class SubpoolList(TypedDict):
    """Subpools."""

    version: int
    subpools: list[ListedSubpool]


class LargestGang(TypedDict):
    """The largest gang that a domain has room for."""

    pods: int
    gpus: int


class DomainRoom(TypedDict):
    """What one domain has."""

    domain: list[str]
    gpus: int
    freeGpus: int
    pods: int


class PlannedLevel(TypedDict):
    """What the domains of a level have room for; level null: all nodes."""

    level: str | None
    label: str | None
    placed: bool
    largestGang: LargestGang
    domains: list[DomainRoom]


class Declared(TypedDict):
    """GPUs that the repository's work asks for."""

    fixed: Number
    preemptible: Number


class PlannedPool(TypedDict):
    """What one pool has room for."""

    pool: str
    backend: str
    guarantee: Value
    maximum: Value
    declared: Declared
    nodes: PlannedNodes
    podGpus: int
    levels: list[PlannedLevel]


class NotGuaranteed(TypedDict):
    """A guarantee that nodes do not keep."""

    message: str
    hint: str


class Plan(TypedDict):
    """What pools have room for."""

    version: int
    pools: list[PlannedPool]
    guaranteesNotKept: list[NotGuaranteed]


class ShareAmounts(TypedDict):
    """How one resource is divided."""

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
    """What is divided."""

    gpu: Value
    cpu: Value
    memory: Value


class Share(TypedDict):
    """How one shard of a scheduler is divided."""

    backend: str
    shard: str | None
    capacity: Capacity
    queues: list[ShareQueue]
    notes: list[str]


class Shares(TypedDict):
    """How KAI's scheduler divides clusters."""

    version: int
    askedFrom: str
    clusters: list[Share]


class ListedTopology(TypedDict):
    """A topology, and who uses it."""

    name: str
    kind: str
    file: str
    levels: list[Level]
    pools: list[str]
    podCliqueSets: list[str]


class TopologyList(TypedDict):
    """All topologies."""

    version: int
    topologies: list[ListedTopology]


class NamedDomain(TypedDict):
    """A domain of nodes."""

    name: str
    nodes: int
    gpus: int


class SuggestedLevel(TypedDict):
    """A label of nodes that may be a level."""

    key: str
    label: str
    setBy: str | None
    nodesWithout: list[str]
    domains: list[NamedDomain]


class LeftOutLevel(SuggestedLevel):
    """One that is left out, and why."""

    reason: str


class SuggestedTopology(TypedDict):
    """The topology that labels of nodes suggest."""

    version: int
    nodes: int
    withoutGpus: int
    levels: list[SuggestedLevel]
    leftOut: list[LeftOutLevel]


class Condition(TypedDict):
    """What Grove says of the levels of a PodCliqueSet."""

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
    """A level as Grove has it."""

    domain: str
    key: str


class Difference(TypedDict):
    """A topology that the cluster has otherwise; null: it has none."""

    backend: str | None
    topology: str
    repository: list[DomainKey] | None
    cluster: list[DomainKey] | None


class MissingLevel(Level):
    """Nodes without the label of a level."""

    nodes: list[str]


class Covered(TypedDict):
    """Nodes that a topology leaves out."""

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
    },
)
"""Who uses which topology."""


class Risk(TypedDict):
    """How dangerous a change is, and why."""

    level: str
    reasons: list[str]


class SettingChange(TypedDict):
    """A setting that changes."""

    setting: str
    before: str
    after: str


class FileChange(TypedDict):
    """A file beside the manifests that changes what is applied."""

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
    """A queue that changes; before is null where it is new, after where it goes."""

    cluster: str
    queue: str
    change: str
    before: QueueState | None
    after: QueueState | None


class SubpoolChange(TypedDict):
    """A subpool that changes its state."""

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
    """A rule that counts for something else."""

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
    """What changes in the guard."""

    before: str | None
    after: str | None
    rules: list[RuleChange]
    policies: list[PolicyChange]


class ObjectChange(TypedDict):
    """How many objects of a kind change."""

    kind: str
    made: int
    changed: int
    dropped: int


class Impact(TypedDict):
    """What a change means; in each part before is null for what is made, after for what is dropped."""

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
    """Who may make it milder."""


class Rules(TypedDict):
    """The rule that was named, or all."""

    version: int
    rules: list[Rule]


class Version(TypedDict):
    """Releases of the tool, and those that it knows."""

    version: int
    tool: str
    python: str
    kai: list[str]
    grove: list[str]


class Patch(TypedDict):
    """The smallest change that helps."""

    version: int
    patch: str | None
    """A unified diff, for git apply in the repository; null where no edit of a file is known to help."""
    message: str
    """What the patch does, or why there is none."""
    others: list[str]
    """What else helps, or is to be mended, in words."""


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
"""The shapes of the JSON of each command that prints some."""
ANSWERS: dict[str, tuple[type, ...]] = {"suggest": (Patch,)}
"""The shapes of answers to agents that no command prints."""
