"""Pools and subpools: who is guaranteed how much, and where."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from kubectl_tas import quantities
from kubectl_tas.model.base import (
    MAX_COUNT,
    NAME_PART,
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
from kubectl_tas.quantities import NO_LIMIT, Amount, Amounts, ResourceName
from kubectl_tas.yaml import flow

SHARE = r"^(100(\.0+)?|[0-9]{1,2}(\.[0-9]+)?)%$"
"""How a share of the parent's guarantee is written: "33%"."""
CPU = r"^([0-9]{1,12}(\.[0-9]{1,3})?|[0-9]{1,15}m)$"
"""How cpu is written: 2000, 0.5, 500m; in whole thousandths of a core."""
MEMORY = (
    r"^(0|[0-9]{1,9}(\.[0-9]{1,3})?(k|M|G|Ki|Mi|Gi)|[0-9]{1,6}(\.[0-9]{1,3})?(T|Ti)|[0-9]{1,3}(\.[0-9]{1,3})?(P|Pi))$"
)
"""How memory is written: 8Ti, 64Gi, 1.5Gi; with a unit, since a bare number would be bytes."""
SubpoolState = Literal["ACTIVE", "DELETING", "ARCHIVED"]
WorkName = Annotated[
    str,
    StringConstraints(max_length=512, pattern=r"^[A-Za-z]+/[^\s/]+$"),
    said("must be a kind and a name such as Job/train or Workflow/pretrain"),
]
GpuLimit = Annotated[int, Field(ge=-1)]
"""Whole GPUs; -1 means no limit."""
UNLIMITED = -1
"""How no limit is written."""


_CPU = 'must be cores such as 600, or a quantity such as "500m"'
_MEMORY = "must be a quantity with a unit such as 8Ti or 64Gi"
_NO_UNIT = said(_MEMORY, hint="Add the unit: memory is counted in bytes.")
"""Where a bare number stands."""
CpuLimit = Annotated[int, Field(ge=-1, le=MAX_COUNT)] | Annotated[str, StringConstraints(pattern=CPU), said(_CPU)]
"""Cores; -1 means no limit."""
MemoryLimit = (
    Annotated[int, Field(ge=-1, le=0), _NO_UNIT]
    | Annotated[str, StringConstraints(pattern=MEMORY), said(_MEMORY, "64Gi")]
)
"""Memory; -1 means no limit."""
Weight = Count
"""Share of what nobody claims, relative to the others beside it."""


Group = Annotated[
    str,
    StringConstraints(max_length=512, pattern=r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?$"),
    said(
        "must be the name of a group such as team-nlp, without a blank at either end",
        hint="Write it as the API server knows it: with its prefix, such as oidc:team-nlp, where it gives one.",
    ),
]
"""A group as the API server knows it, its prefix included, such as oidc:team-nlp."""
Groups = Annotated[Many[Group], Field(min_length=1)]
"""Groups, at least one."""


class Access(Model):
    """The groups of users that a pool or a subpool is for. What is below it inherits them, and may add its own."""

    submit: Groups = ()
    """Who may create, change and delete work there, and see what ``view`` lets see. Where no group is named, neither
    here nor above, everybody whom other Roles let create work may send it here.
    """
    view: Groups = ()
    """Who may see the work there, its Pods and their logs."""


WrittenName = Annotated[
    str,
    StringConstraints(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"),
    said("must be the name of a Queue, at most 63 characters: lower-case letters, digits, '-' and '.'"),
]
"""The name of a Queue object, which is the value of a label of its pods too."""


class QueueMeta(Model):
    """What a Queue object is called; a name that is left out follows the scheme."""

    name: WrittenName | None = None
    """Name of the object."""
    displayName: AnyText | None = None
    """What users see; "" for none."""
    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels of the object, such as those that KAI's queue controller puts on its metrics."""
    annotations: dict[LabelKey, AnyText] = nothing()
    """Annotations of the object."""

    def display(self, otherwise: str) -> str | None:
        """What users see, ``otherwise`` where it is left out; None: nothing but the name."""
        return otherwise if self.displayName is None else self.displayName or None


class KeptAmounts(Model):
    """What work asks for in all, as it was when its queue came to have less."""

    gpu: Count = 0
    """GPUs, rounded up to whole ones."""
    cpu: Count | Annotated[str, StringConstraints(pattern=CPU), said(_CPU)] = 0
    """Cores: 600, or a quantity such as "500m"."""
    memory: (
        Annotated[int, Field(ge=0, le=0), _NO_UNIT]
        | Annotated[str, StringConstraints(pattern=MEMORY), said(_MEMORY, "64Gi")]
    ) = 0
    """Memory: a quantity such as 2Ti."""

    @property
    def amounts(self) -> Amounts:
        """The same as amounts."""
        return _amounts(self.gpu, self.cpu, self.memory)


OverQuota = dict[WorkName, KeptAmounts]
"""Work, each as Kind/name, with what it asks for."""


Namespaces = Annotated[Many[Text], Field(min_length=1)]
"""Namespaces of a cluster, at least one."""


class Gpu(Model):
    """GPUs of a pool."""

    guarantee: GpuLimit = -1
    """Guaranteed GPUs; -1: no limit. A pool with subpools needs a number."""
    maximum: GpuLimit = -1
    """The most GPUs that the pool may hold, borrowed ones included; -1: no limit."""
    weight: Weight = 1
    """Share of the GPUs that nobody claims, relative to the other pools."""


class Cpu(Model):
    """Cpu of a pool."""

    guarantee: CpuLimit = -1
    """Guaranteed cores: 2000, or a quantity such as "500m"; -1: no limit."""
    maximum: CpuLimit = -1
    """The most that the pool may hold, borrowed cores included; -1: no limit."""
    weight: Weight = 1
    """Share of the cpu that nobody claims, relative to the other pools."""


class Memory(Model):
    """Memory of a pool."""

    guarantee: MemoryLimit = -1
    """Guaranteed memory: a quantity such as 8Ti; -1: no limit."""
    maximum: MemoryLimit = -1
    """The most that the pool may hold, borrowed memory included; -1: no limit."""
    weight: Weight = 1
    """Share of the memory that nobody claims, relative to the other pools."""


class PoolResources(Model):
    """Resources of a pool."""

    gpu: Gpu = Gpu.model_construct()
    """GPUs, whole ones."""
    cpu: Cpu = Cpu.model_construct()
    """Cpu."""
    memory: Memory = Memory.model_construct()
    """Memory."""

    @property
    def guarantee(self) -> Amounts:
        """What is guaranteed."""
        return _amounts(self.gpu.guarantee, self.cpu.guarantee, self.memory.guarantee)

    @property
    def maximum(self) -> Amounts:
        """The most that the pool may hold."""
        return _amounts(self.gpu.maximum, self.cpu.maximum, self.memory.maximum)

    @property
    def weight(self) -> Amounts:
        """The over-quota weights."""
        return Amounts(self.gpu.weight, self.cpu.weight, self.memory.weight)


def _amounts(gpu: int, cpu: int | str, memory: int | str) -> Amounts:
    return Amounts(amount("gpu", gpu), amount("cpu", cpu), amount("memory", memory))


def amount(resource: ResourceName, written: int | str) -> Amount:
    """What is written for a resource: GPUs, millicores or bytes."""
    if written == UNLIMITED:
        return NO_LIMIT
    match resource:
        case "gpu":
            return int(written)
        case "cpu":
            return quantities.millicores(written)
        case "memory":
            return quantities.in_bytes(written)


Duration = Annotated[
    str,
    StringConstraints(min_length=1, pattern=r"^([0-9]{1,5}h)?([0-9]{1,6}m)?([0-9]{1,6}(\.[0-9]{1,3})?s)?$"),
    said("must be a duration such as 1h30m, in hours, minutes and seconds"),
]
"""A duration that Go reads too."""
Priority = Annotated[int, Field(ge=-(2**31), le=MAX_COUNT)]
"""Of a queue among its siblings."""


class TopologyKey(Model):
    """One level of a pool's topology."""

    key: Annotated[
        str,
        StringConstraints(max_length=63, pattern=rf"^{NAME_PART}$"),
        said("must be letters, digits, '-', '_' and '.', a letter or digit at both ends"),
    ]
    """What workflows call the level, such as rack."""
    label: LabelKey
    """The node label that tells the domains of this level apart, such as topology.kubernetes.io/zone."""


class PoolSpec(Model):
    """What a pool is; the field names are those of OSMO's pool config."""

    description: AnyText = ""
    """For people."""
    backend: Text | None = None
    """The cluster it lives in. May be left out where there is one, and where there is a parent, whose it is then."""
    parent: Text | None = None
    """The pool that it is a part of, on the same backend: its guarantee comes out of the parent's, and it holds at most
    what the parent may hold.
    """
    namespaces: Namespaces = ()
    """Where its work may run, the first by default. Without any: the namespace of the backend."""
    resources: PoolResources = PoolResources.model_construct()
    """What it is guaranteed."""
    overQuota: OverQuota = nothing()
    """Work of the pool itself that may run on although its quota or maximum was lowered below what the work asks for:
    each as Kind/name, with what it may ask for at most. `kubectl tas subpool` writes it.
    """
    priority: Priority | None = None
    """Of its queues among those beside them: what nobody claims goes to the highest first, which are reclaimed from
    last. KAI takes 100 where it is left out.
    """
    preemptMinRuntime: Duration | None = None
    """How long its work runs before work of a higher priority in the same queue may preempt it, such as 1h30m."""
    reclaimMinRuntime: Duration | None = None
    """How long its work runs before other queues may reclaim what it borrowed, such as 1h30m."""
    nodes: Nodes = Nodes.model_construct()
    """What its pods need of a node."""
    nodePool: Annotated[LabelValue, StringConstraints(min_length=1)] | None = None
    """The shard of KAI Scheduler that places its work, where a cluster has several: the value of the label
    kai.scheduler/node-pool on the shard's nodes.
    """
    queue: QueueMeta = QueueMeta.model_construct()
    """The queue of the pool: its name where it does not follow the scheme, its labels and annotations."""
    sharedQueue: QueueMeta = QueueMeta.model_construct()
    """The same of the queue of its own work."""
    topology_keys: Many[TopologyKey] = ()
    """Levels from the coarsest to the finest. Without any, workflows cannot ask for a topology."""
    topology: Text | None = None
    """Instead of topology_keys: the name of a cluster topology."""
    access: Access = Access.model_construct()
    """Who may send work to it, and to what is below it."""
    platforms: dict[PlatformName, Platform] = nothing()
    """Kinds of its nodes, of which a resource of a workflow picks one."""
    default_platform: Text | None = None
    """The platform of resources that pick none."""
    common_pod_template: PodTemplates = ()
    """Pod templates that are put over the pods of its workflows, one after the other; those of a platform follow."""
    common_default_variables: Variables = nothing()
    """Values of tokens that a resource does not set, for pod templates and resource validations."""
    common_resource_validations: ResourceValidations = ()
    """What must be true of what tasks of its workflows ask for."""
    default_exec_timeout: Timespan | None = None
    """How long a group of a workflow may run that says nothing, such as 4h."""
    max_exec_timeout: Timespan | None = None
    """The longest that a group of a workflow may run."""
    default_queue_timeout: Timespan | None = None
    """How long a group of a workflow may wait that says nothing."""
    max_queue_timeout: Timespan | None = None
    """The longest that a group of a workflow may wait."""
    default_exit_actions: dict[ExitAction, ExitCodes] = nothing()
    """What to do on which exit code of a task of which the exitActions say nothing."""


class Pool(Model):
    """A share of a cluster's GPUs."""

    apiVersion: Literal["tas/v1alpha1"]
    kind: Literal["Pool"]
    metadata: Named
    """Its name."""
    spec: PoolSpec = PoolSpec.model_construct()
    """What it is."""


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
"""Whole GPUs, or a share of the parent's."""


CpuShare = (
    Count
    | Annotated[
        str, StringConstraints(pattern=f"^({CPU[1:-1]}|{SHARE[1:-1]})$"), said(f'{_CPU}, or a share such as "33%"')
    ]
)
"""Cores, or a share of the parent's."""
MemoryShare = (
    Annotated[int, Field(ge=0, le=0), _NO_UNIT]
    | Annotated[
        str,
        StringConstraints(pattern=f"^({MEMORY[1:-1]}|{SHARE[1:-1]})$"),
        said(f'{_MEMORY}, or a share such as "33%"', "2Ti"),
    ]
)
"""Memory, or a share of the parent's."""


class QuotaAmounts(Model):
    """What a subpool is guaranteed of each resource; nothing of one that is left out, unless its pool's guarantee has
    no limit.
    """

    gpu: GpuShare = 0
    """Guaranteed GPUs: a whole number, or a share of the parent's such as "33%", rounded down."""
    cpu: CpuShare = 0
    """Guaranteed cores: 600, a quantity such as "500m", or a share of the parent's such as "33%"."""
    memory: MemoryShare = 0
    """Guaranteed memory: a quantity such as 2Ti, or a share of the parent's such as "33%"."""


class MaximumAmounts(Model):
    """The most that a subpool may hold of each resource; of one that is left out as much as its pool."""

    gpu: GpuLimit | None = None
    """GPUs; -1: no limit."""
    cpu: CpuLimit | None = None
    """Cores: 600, or a quantity such as "500m"; -1: no limit."""
    memory: MemoryLimit | None = None
    """Memory: a quantity such as 2Ti; -1: no limit."""


class Weights(Model):
    """Over-quota weights of a subpool; of a resource that is left out its pool's."""

    gpu: Weight | None = None
    """Of GPUs."""
    cpu: Weight | None = None
    """Of cpu."""
    memory: Weight | None = None
    """Of memory."""


class SubpoolSpec(Model):
    """A guaranteed part of a pool."""

    parent: Text
    """The pool that it is a part of."""
    quota: GpuShare | QuotaAmounts
    """What it is guaranteed: whole GPUs; a share of all that the parent is guaranteed, such as "33%", rounded down; or
    each resource by its name.
    """
    maximum: GpuLimit | MaximumAmounts | None = None
    """The most that it may hold, borrowed resources included: whole GPUs, or each resource by its name; -1: no limit.
    Of what is left out as much as its pool, which bounds it in any case.
    """
    weight: Weight | Weights | None = None
    """Its share of what nobody claims, relative to the pool's other queues: one number for all resources, or each by
    its name. Its pool's where it is left out.
    """
    priority: Priority | None = None
    """Of its queue among the pool's; the pool's where it is left out."""
    namespaces: Namespaces = ()
    """Those of the pool's namespaces where its work may run, the first by default. Without any: all of them."""
    access: Access = Access.model_construct()
    """Who may send work to it, besides those of its pool."""
    queue: QueueMeta = QueueMeta.model_construct()
    """Its queue: the name where it does not follow the scheme, labels and annotations."""
    state: SubpoolState = "ACTIVE"
    """ACTIVE; DELETING: its queue is kept at quota 0 until it is empty; ARCHIVED: only the record is left."""
    draining: Many[WorkName] = ()
    """While it is DELETING: the work, each as Kind/name, that may finish there, as `subpool retire` has listed it."""
    overQuota: OverQuota = nothing()
    """While it is ACTIVE: the work that may run on although the quota was lowered below what the work asks for: each as
    Kind/name, with what it may ask for at most, as `subpool update` has listed it.
    """

    @property
    def quota_text(self) -> str:
        """Its quota as it was written, on one line."""
        if not isinstance(self.quota, QuotaAmounts):
            return str(self.quota)
        return flow(self.quota.model_dump(exclude_unset=True))


class Subpool(Model):
    """A guaranteed part of a pool, with a queue of its own."""

    apiVersion: Literal["tas/v1alpha1"]
    kind: Literal["Subpool"]
    metadata: Named
    """Its name within the parent."""
    spec: SubpoolSpec
    """Where it belongs and how much it holds."""
