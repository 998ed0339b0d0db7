"""Defines pools and subpools: their guarantees, limits, queues and namespaces."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from kubectl_tas.base.yaml import flow
from kubectl_tas.facts import quantities
from kubectl_tas.facts.quantities import NO_LIMIT, Amount, Amounts, ResourceName
from kubectl_tas.model.base import (
    MAX_COUNT,
    NAME_PART,
    AnnotationKey,
    AnyText,
    Count,
    LabelKey,
    LabelValue,
    Many,
    Model,
    Named,
    Text,
    nothing,
    said,
)
from kubectl_tas.model.osmo_workflow import Duration as Timespan
from kubectl_tas.model.osmo_workflow import ExitAction, ExitCodes
from kubectl_tas.model.platform import Nodes, Platform, PlatformName, PodTemplates, ResourceValidations, Variables

SHARE = r"^(100(\.0+)?|[0-9]{1,2}(\.[0-9]+)?)%$"
"""The pattern of a share of the parent's guarantee, such as "33%"."""
CPU = r"^([0-9]{1,12}(\.[0-9]{1,3})?|[0-9]{1,15}m)$"
"""The pattern of cpu, such as 2000, 0.5 or 500m, in whole thousandths of a core."""
MEMORY = (
    r"^(0|[0-9]{1,9}(\.[0-9]{1,3})?(k|M|G|Ki|Mi|Gi)|[0-9]{1,6}(\.[0-9]{1,3})?(T|Ti)|[0-9]{1,3}(\.[0-9]{1,3})?(P|Pi))$"
)
"""The pattern of memory, such as 8Ti, 64Gi or 1.5Gi. The unit is required, since a bare number would mean bytes."""
SubpoolState = Literal["ACTIVE", "DELETING", "ARCHIVED"]
WorkName = Annotated[
    str,
    StringConstraints(max_length=512, pattern=r"^[A-Za-z]+/[^\s/]+$"),
    said("must be a kind and a name such as Job/train or Workflow/pretrain"),
]
GpuLimit = Annotated[int, Field(ge=-1)]
"""Whole GPUs; -1 means no limit."""
UNLIMITED = -1
"""The value that means: no limit."""


_CPU = 'must be cores such as 600, or a quantity such as "500m"'
_MEMORY = "must be a quantity with a unit such as 8Ti or 64Gi"
_NO_UNIT = said(_MEMORY, hint="Add the unit: memory is counted in bytes.")
"""The message for a number without a unit."""
CpuLimit = Annotated[int, Field(ge=-1, le=MAX_COUNT)] | Annotated[str, StringConstraints(pattern=CPU), said(_CPU)]
"""Cores; -1 means no limit."""
MemoryLimit = (
    Annotated[int, Field(ge=-1, le=0), _NO_UNIT]
    | Annotated[str, StringConstraints(pattern=MEMORY), said(_MEMORY, "64Gi")]
)
"""Memory; -1 means no limit."""
Weight = Count
"""Weight of a queue when KAI divides unused resources among the queue and its siblings."""


Group = Annotated[
    str,
    StringConstraints(max_length=512, pattern=r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?$"),
    said(
        "must be the name of a group such as team-nlp, without a blank at either end",
        hint="Write it as the API server knows it: with its prefix, such as oidc:team-nlp, where it gives one.",
    ),
]
"""The name of a group as the API server knows it, with its prefix, such as oidc:team-nlp."""
Groups = Annotated[Many[Group], Field(min_length=1)]
"""One or more groups."""


class Access(Model):
    """The groups that may use a pool or a subpool. Pools and subpools below inherit these groups."""

    submit: Groups = ()
    """Groups that may create, change and delete work of the pool or subpool, with all rights of ``view``. If neither it
    nor a pool above names a group, everybody whom other Roles let create work may send work to it.
    """
    view: Groups = ()
    """Groups that may see the work of the pool or subpool, including its Pods and their logs."""


WrittenName = Annotated[
    str,
    StringConstraints(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"),
    said("must be the name of a Queue, at most 63 characters: lower-case letters, digits, '-' and '.'"),
]
"""The name of a Queue object. It is also the value of a label on the pods of the queue."""


class QueueMeta(Model):
    """Name, labels and annotations of a Queue object. Without a name, the tool uses its own scheme."""

    name: WrittenName | None = None
    """Name of the object."""
    displayName: AnyText | None = None
    """The name of the queue that users see. "" means none."""
    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels of the object, such as the labels that KAI's queue controller adds to its metrics."""
    annotations: dict[AnnotationKey, AnyText] = nothing()
    """Annotations of the object."""

    def display(self, otherwise: str) -> str | None:
        """Returns the name that users see, or ``otherwise`` if displayName is absent. None if it is empty."""
        return otherwise if self.displayName is None else self.displayName or None


class KeptAmounts(Model):
    """The total request of work at the time when you lowered the quota or limit of its queue."""

    gpu: Count = 0
    """GPUs, rounded up to whole GPUs."""
    cpu: Count | Annotated[str, StringConstraints(pattern=CPU), said(_CPU)] = 0
    """Cores: 600, or a quantity such as "500m"."""
    memory: (
        Annotated[int, Field(ge=0, le=0), _NO_UNIT]
        | Annotated[str, StringConstraints(pattern=MEMORY), said(_MEMORY, "64Gi")]
    ) = 0
    """Memory: a quantity such as 2Ti."""

    @property
    def amounts(self) -> Amounts:
        """Returns the request as Amounts."""
        return _amounts(self.gpu, self.cpu, self.memory)


OverQuota = dict[WorkName, KeptAmounts]
"""Requests of work, by Kind/name."""


Namespaces = Annotated[Many[Text], Field(min_length=1)]
"""One or more namespaces of a cluster."""


class Gpu(Model):
    """GPUs of a pool."""

    guarantee: GpuLimit = -1
    """Guaranteed GPUs; -1: no limit. A pool with subpools needs a number."""
    maximum: GpuLimit = -1
    """The most GPUs that the pool may hold, borrowed ones included; -1: no limit."""
    weight: Weight = 1
    """Weight of this pool when KAI divides unused GPUs among sibling pools."""


class Cpu(Model):
    """Cpu of a pool."""

    guarantee: CpuLimit = -1
    """Guaranteed cores: 2000, or a quantity such as "500m"; -1: no limit."""
    maximum: CpuLimit = -1
    """The most cores that the pool may hold, borrowed ones included; -1: no limit."""
    weight: Weight = 1
    """Weight of this pool when KAI divides unused cpu among sibling pools."""


class Memory(Model):
    """Memory of a pool."""

    guarantee: MemoryLimit = -1
    """Guaranteed memory: a quantity such as 8Ti; -1: no limit."""
    maximum: MemoryLimit = -1
    """The most memory that the pool may hold, borrowed memory included; -1: no limit."""
    weight: Weight = 1
    """Weight of this pool when KAI divides unused memory among sibling pools."""


class PoolResources(Model):
    """Resources of a pool."""

    gpu: Gpu = Gpu.model_construct()
    """Whole GPUs."""
    cpu: Cpu = Cpu.model_construct()
    """Cpu, in cores."""
    memory: Memory = Memory.model_construct()
    """Memory."""

    @property
    def guarantee(self) -> Amounts:
        """The guarantee of the pool."""
        return _amounts(self.gpu.guarantee, self.cpu.guarantee, self.memory.guarantee)

    @property
    def maximum(self) -> Amounts:
        """The most that the pool may hold."""
        return _amounts(self.gpu.maximum, self.cpu.maximum, self.memory.maximum)

    @property
    def weight(self) -> Amounts:
        """The over-quota weights of the pool."""
        return Amounts(self.gpu.weight, self.cpu.weight, self.memory.weight)


def _amounts(gpu: int, cpu: int | str, memory: int | str) -> Amounts:
    return Amounts(amount("gpu", gpu), amount("cpu", cpu), amount("memory", memory))


def amount(resource: ResourceName, number: int | str) -> Amount:
    """Converts the written amount of a resource to GPUs, millicores or bytes."""
    if number == UNLIMITED:
        return NO_LIMIT
    match resource:
        case "gpu":
            return int(number)
        case "cpu":
            return quantities.millicores(number)
        case "memory":
            return quantities.in_bytes(number)


Duration = Annotated[
    str,
    StringConstraints(min_length=1, pattern=r"^([0-9]{1,5}h)?([0-9]{1,6}m)?([0-9]{1,6}(\.[0-9]{1,3})?s)?$"),
    said("must be a duration such as 1h30m, in hours, minutes and seconds"),
]
"""A duration in the syntax of Go."""
Priority = Annotated[int, Field(ge=-(2**31), le=MAX_COUNT)]
"""Priority of a queue among its siblings."""


class TopologyKey(Model):
    """One level of a pool's topology."""

    key: Annotated[
        str,
        StringConstraints(max_length=63, pattern=rf"^{NAME_PART}$"),
        said("must be letters, digits, '-', '_' and '.', a letter or digit at both ends"),
    ]
    """The name that workflows give the level, such as rack."""
    label: LabelKey
    """The node label whose value names the domain of a node at this level, such as topology.kubernetes.io/zone."""


class PoolSpec(Model):
    """Settings of a pool. The field names are those of OSMO's pool config."""

    description: AnyText = ""
    """Text for people."""
    backend: Text | None = None
    """The cluster of the pool. Required if the Config has several backends and the pool has no parent."""
    parent: Text | None = None
    """The pool that this pool is part of, on the same backend. The guarantee of this pool comes out of the parent's,
    and the maximum of the parent limits this pool too.
    """
    namespaces: Namespaces = ()
    """Namespaces for the work of this pool. The first is the default. Without any: the namespace of the backend."""
    resources: PoolResources = PoolResources.model_construct()
    """Guarantee, maximum and weight of the pool for each resource."""
    overQuota: OverQuota = nothing()
    """Work in the pool's own queue that may continue after you lowered the quota or maximum below its request. Each
    entry is Kind/name with the most that this work may request. `kubectl tas subpool` writes these entries.
    """
    priority: Priority | None = None
    """Priority of the pool's queues among their siblings. KAI gives unused resources to the highest priority first, and
    reclaims from it last. The default of KAI is 100.
    """
    preemptMinRuntime: Duration | None = None
    """Time that work runs before work of a higher priority in its queue may preempt it, such as 1h30m."""
    reclaimMinRuntime: Duration | None = None
    """Time that work runs before other queues may reclaim the resources that it borrowed, such as 1h30m."""
    nodes: Nodes = Nodes.model_construct()
    """Node labels and tolerations for the pods of this pool."""
    nodePool: Annotated[LabelValue, StringConstraints(min_length=1)] | None = None
    """The shard of KAI Scheduler that places the work of this pool, if the cluster has several shards. It is the value
    of the label kai.scheduler/node-pool on the shard's nodes.
    """
    queue: QueueMeta = QueueMeta.model_construct()
    """The queue of the pool: its labels, annotations, and name if not the default."""
    sharedQueue: QueueMeta = QueueMeta.model_construct()
    """The queue for work that names the pool and no subpool: its labels, annotations, and name if not the default."""
    topology_keys: Many[TopologyKey] = ()
    """Levels from the coarsest to the finest. Without any, workflows cannot request a topology."""
    topology: Text | None = None
    """The name of a cluster topology, instead of topology_keys."""
    access: Access = Access.model_construct()
    """Groups that may use this pool, its child pools and its subpools."""
    platforms: dict[PlatformName, Platform] = nothing()
    """Kinds of nodes in this pool. Each resource of a workflow picks one."""
    default_platform: Text | None = None
    """The platform for resources that pick none."""
    common_pod_template: PodTemplates = ()
    """Pod templates merged over the pods of this pool's workflows, in this order, before those of a platform."""
    common_default_variables: Variables = nothing()
    """Default values of tokens in pod templates and resource validations. A resource may override them."""
    common_resource_validations: ResourceValidations = ()
    """Conditions on the resource requests of the tasks in this pool's workflows."""
    default_exec_timeout: Timespan | None = None
    """Default time that a group of a workflow may run, such as 4h."""
    max_exec_timeout: Timespan | None = None
    """The longest time that a group of a workflow may run."""
    default_queue_timeout: Timespan | None = None
    """Default time that a group of a workflow may wait."""
    max_queue_timeout: Timespan | None = None
    """The longest time that a group of a workflow may wait."""
    default_exit_actions: dict[ExitAction, ExitCodes] = nothing()
    """Exit actions and the exit codes that cause them, for exit codes that the exitActions of a task do not cover."""


class Pool(Model):
    """A share of a cluster's GPUs."""

    apiVersion: Literal["tas/v1alpha1"]
    kind: Literal["Pool"]
    metadata: Named
    """Name of the pool."""
    spec: PoolSpec = PoolSpec.model_construct()
    """Settings of the pool."""


GpuShare = (
    Count
    | Annotated[
        str,
        StringConstraints(pattern=SHARE),
        said(
            'must be whole GPUs such as 30, or a share of the parent such as "33%"',
            hint="Write a whole number, or a share of at most 100% without a blank.",
        ),
    ]
)
"""Whole GPUs, or a share of the parent's GPUs."""


CpuShare = (
    Count
    | Annotated[
        str, StringConstraints(pattern=f"^({CPU[1:-1]}|{SHARE[1:-1]})$"), said(f'{_CPU}, or a share such as "33%"')
    ]
)
"""Cores, or a share of the parent's cores."""
MemoryShare = (
    Annotated[int, Field(ge=0, le=0), _NO_UNIT]
    | Annotated[
        str,
        StringConstraints(pattern=f"^({MEMORY[1:-1]}|{SHARE[1:-1]})$"),
        said(f'{_MEMORY}, or a share such as "33%"', "2Ti"),
    ]
)
"""Memory, or a share of the parent's memory."""


class QuotaAmounts(Model):
    """The guarantee of a subpool for each resource. A resource that you omit has no guarantee, unless the pool's
    guarantee has no limit.
    """

    gpu: GpuShare = 0
    """Guaranteed GPUs: a whole number, or a share of the parent's such as "33%", rounded down."""
    cpu: CpuShare = 0
    """Guaranteed cores: 600, a quantity such as "500m", or a share of the parent's such as "33%"."""
    memory: MemoryShare = 0
    """Guaranteed memory: a quantity such as 2Ti, or a share of the parent's such as "33%"."""


class MaximumAmounts(Model):
    """The most that a subpool may hold of each resource. A resource that you omit has the maximum of the pool."""

    gpu: GpuLimit | None = None
    """GPUs; -1: no limit."""
    cpu: CpuLimit | None = None
    """Cores: 600, or a quantity such as "500m"; -1: no limit."""
    memory: MemoryLimit | None = None
    """Memory: a quantity such as 2Ti; -1: no limit."""


class Weights(Model):
    """Over-quota weights of a subpool. A resource that you omit has the weight of the pool."""

    gpu: Weight | None = None
    """Weight for GPUs."""
    cpu: Weight | None = None
    """Weight for cpu."""
    memory: Weight | None = None
    """Weight for memory."""


class SubpoolSpec(Model):
    """Settings of a subpool."""

    parent: Text
    """The pool that this subpool is part of."""
    quota: GpuShare | QuotaAmounts
    """Guarantee: whole GPUs; a share of the parent's, such as "33%", rounded down; or each resource by name."""
    maximum: GpuLimit | MaximumAmounts | None = None
    """The most that the subpool may hold, borrowed resources included: whole GPUs, or each resource by name; -1: no
    limit. The maximum of the pool always limits the subpool too, and is the default.
    """
    weight: Weight | Weights | None = None
    """Weight of this subpool when KAI divides unused resources among the pool's queues: one number for all resources,
    or each resource by name. The default is the pool's weight.
    """
    priority: Priority | None = None
    """Priority of the subpool's queue among the pool's queues. The default is the pool's priority."""
    namespaces: Namespaces = ()
    """Namespaces of the pool in which the subpool's work may run, the first by default. The default is all."""
    access: Access = Access.model_construct()
    """Groups that may use this subpool, in addition to the groups of its pool."""
    queue: QueueMeta = QueueMeta.model_construct()
    """The queue of the subpool: its labels, annotations, and name if not the default."""
    state: SubpoolState = "ACTIVE"
    """ACTIVE; DELETING: the queue has quota 0 and stays until it is empty; ARCHIVED: only this record is left."""
    draining: Many[WorkName] = ()
    """While DELETING: work, as Kind/name, that may still finish in the subpool. `subpool retire` writes this list."""
    overQuota: OverQuota = nothing()
    """While the state is ACTIVE: the work that may continue after you lowered the quota below its request. Each entry
    is Kind/name with the most that this work may request. `subpool update` writes these entries.
    """

    @property
    def quota_text(self) -> str:
        """The quota as written, on one line."""
        if not isinstance(self.quota, QuotaAmounts):
            return str(self.quota)
        return flow(self.quota.model_dump(exclude_unset=True))


class Subpool(Model):
    """A guaranteed part of a pool, with a queue of its own."""

    apiVersion: Literal["tas/v1alpha1"]
    kind: Literal["Subpool"]
    metadata: Named
    """Name of the subpool, unique within the parent."""
    spec: SubpoolSpec
    """Settings of the subpool, such as its parent and quota."""
