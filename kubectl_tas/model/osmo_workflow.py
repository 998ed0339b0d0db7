"""Defines OSMO workflows: groups of tasks, the resources that they request, and their topology requirements."""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property
from typing import Annotated, Literal, get_args

from pydantic import Field, StringConstraints

from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.quantities import Amounts, in_bytes, millicores
from kubectl_tas.model.base import (
    MAX_COUNT,
    NAME_PART,
    AnyText,
    Count,
    Image,
    KeyPath,
    LabelKey,
    LabelValue,
    Many,
    Model,
    Quantity,
    Text,
    VariableName,
    digits_up_to,
    nothing,
    said,
)

Priority = Literal["HIGH", "NORMAL", "LOW"]
PRIORITIES: tuple[Priority, ...] = get_args(Priority)
RequirementType = Literal["required", "preferred"]
Argument = AnyText | int | float
"""A command-line argument. A number needs no quotes; OSMO makes text of it as Python does."""
Scalar = AnyText | bool | int | float
"""A value that OSMO reads as text, with or without quotes."""
_NUMBER = "[0-9]{1,9}"
_SECONDS = rf"{_NUMBER}(\.[0-9]{{1,9}})?S"
_HOURS = rf"({_NUMBER}H({_NUMBER}M)?({_SECONDS})?|{_NUMBER}M({_SECONDS})?|{_SECONDS})"
Duration = (
    Annotated[
        str,
        StringConstraints(pattern=rf"^({_NUMBER}(d|h|m|s|ms|us)|P({_NUMBER}D(T{_HOURS})?|T{_HOURS}))$"),
        said("must be a time such as 30m", "30m", hint="Write a whole number and one unit: d, h, m or s."),
    ]
    | Annotated[int, Field(ge=0, le=10**9)]
    | Annotated[float, Field(ge=0, le=10**9)]
)
"""A time in a form that OSMO reads: a whole number with a unit, seconds, or a duration of ISO 8601."""
ExitAction = Annotated[
    str,
    StringConstraints(
        pattern=r"^([Cc][Oo][Mm][Pp][Ll][Ee][Tt][Ee]|[Ff][Aa][Ii][Ll]|[Rr][Ee][Ss][Cc][Hh][Ee][Dd][Uu][Ll][Ee])$"
    ),
    said("must be COMPLETE, FAIL or RESCHEDULE"),
]
"""The effect of an exit code on a task. Case does not matter."""
ExitCodes = (
    Annotated[
        str,
        StringConstraints(pattern=rf"^{_NUMBER}(-{_NUMBER})?(,{_NUMBER}(-{_NUMBER})?)*$"),
        said('must be exit codes such as "1,3-127"'),
    ]
    | Annotated[int, Field(ge=0, le=10**9)]
)
"""Exit codes and ranges of exit codes."""
_STEP = r"/(\.{0,2}[^/:.\x00][^/:\x00]*|\.{3,}[^/:\x00]*|\.)?"
"""One step of a path, except '..'."""
HostMount = Annotated[
    str,
    Field(pattern=rf"^({_STEP})+(:/[^:\x00]*)?$"),
    said("must be an absolute path without '..', or /path-on-node:/path-in-container"),
]
HostName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=63, pattern=rf"^{NAME_PART}$"),
    said("must be the name of a node, which is the value of a label: letters, digits, '-', '_' and '.'"),
]


WrittenCount = (
    Count
    | Annotated[
        str,
        StringConstraints(pattern=rf"^({digits_up_to(MAX_COUNT)})$"),
        said("must be a whole number", hint="Write the number alone, without a unit or a fraction."),
    ]
)
"""A whole number, quoted or not. OSMO accepts both (``ResourceSpec`` of src/utils/connectors/postgres.py)."""


class TopologyRequirement(Model):
    """A placement rule: tasks that name the same group at the same level run in one domain of that level."""

    key: Text
    """A key of the pool's topology, such as rack."""
    group: Text = "default"
    """Name of the group. Tasks with the same group run in the same domain."""
    requirementType: RequirementType = "required"
    """required: KAI does not start the tasks elsewhere. preferred: best effort."""


class Resource(Model):
    """The resource request of one task."""

    cpu: Annotated[int, Field(ge=0, le=10**27)] | Annotated[float, Field(ge=0, le=10**27)] | Quantity | None = None
    """CPU cores."""
    memory: Quantity | None = None
    """Memory, such as 64Gi."""
    storage: Quantity | None = None
    """Ephemeral storage, such as 100Gi."""
    gpu: WrittenCount = 0
    """Whole GPUs."""
    platform: Text | None = None
    """The platform of the pool for the task. The default is the pool's default_platform."""
    nodesExcluded: Many[HostName] = ()
    """Host names of nodes on which the task must not run."""
    topology: Many[TopologyRequirement] = ()
    """Topology requirements of the tasks with this resource."""

    @cached_property
    def asks(self) -> Amounts:
        """The request of a task with this resource."""
        return Amounts(int(self.gpu), millicores(self.cpu or 0), in_bytes(self.memory or 0))

    @cached_property
    def amounts(self) -> dict[str, str]:
        """The request as Kubernetes quantities of a container."""
        cpu = f"{Decimal(str(self.cpu)):f}" if isinstance(self.cpu, float) else self.cpu  # never 1e-05
        amounts = {"cpu": cpu, "ephemeral-storage": self.storage, "memory": self.memory, GPU: self.asks.gpu or None}
        return {name: str(amount) for name, amount in amounts.items() if amount is not None}


class Dataset(Model):
    """A dataset, as in OSMO's releases up to August 2026."""

    name: Text
    """Name of the dataset, with bucket and tag."""
    path: AnyText = ""
    """Path of the dataset's files."""
    paths: Many[Text] = ()
    """Paths of files to add to the dataset."""
    metadata: Many[Text] = ()
    """Files with metadata of the dataset."""
    labels: Many[Text] = ()
    """Files with labels for the dataset."""
    regex: AnyText = ""
    """Pattern that selects files of the dataset."""
    localpath: Text | None = None
    """A path on the machine that submits the workflow."""


class Input(Model):
    """Input data of a task: the output of another task, a URL, or a dataset."""

    task: Text | None = None
    """The task that produces the data: a task of this workflow, or WORKFLOW:TASK."""
    url: Text | None = None
    """The location of the data, such as s3://bucket/path."""
    dataset: Dataset | None = None
    """The dataset to read."""
    regex: AnyText = ""
    """Pattern that selects files of the input. Without it: all files."""


class Output(Model):
    """Output data of a task, for a URL or a dataset."""

    url: Text | None = None
    """The destination of the data, such as s3://bucket/path."""
    dataset: Dataset | None = None
    """The dataset that gets a new version with this data."""
    update_dataset: Dataset | None = None
    """The dataset that this data is added to."""
    regex: AnyText = ""
    """Pattern that selects files of the output. Without it: all files."""


class File(Model):
    """A file in the container of a task."""

    path: Text
    """Path of the file in the container."""
    contents: AnyText | int | float | None = None
    """Content of the file."""
    localpath: Text | None = None
    """Path of a file in the repository, instead of contents, relative to the folder of the workflow's file."""
    base64: bool = False
    """Whether the contents are in base64."""


class Kpi(Model):
    """A key performance indicator of a task."""

    index: Scalar
    """Name of the indicator."""
    path: Text
    """The file of the output that contains the indicator."""


class Checkpoint(Model):
    """Files to save while a task runs."""

    path: Text
    """Path of the files in the container."""
    url: Text
    """The destination of the files."""
    frequency: Duration
    """The interval between saves."""
    regex: AnyText = ""
    """Pattern that selects files. Without it: all files."""


class Timeout(Model):
    """Time limits of a workflow."""

    exec_timeout: Duration | None = None
    """Time that each pod may run once its node has accepted the pod. The default is the pool's."""
    queue_timeout: Duration | None = None
    """Time that the workflow may wait; OSMO's runtime only."""


class Task(Model):
    """One container, which becomes one pod."""

    name: Text
    """Name of the task, unique within the workflow."""
    image: Image
    """Container image."""
    command: Many[Argument] = ()
    """Entry point of the container."""
    args: Many[Argument] = ()
    """Arguments of the container."""
    environment: dict[VariableName, Scalar] = nothing()
    """Environment variables. As in OSMO, true is the text True and false is False."""
    resource: Text = "default"
    """The name of the resource, in resources of the workflow, that the task requests."""
    lead: bool | None = None
    """Whether the end of this task ends the group; OSMO's runtime only. KAI does not end the other tasks."""
    inputs: Many[Input] = ()
    """Data to fetch before the task starts, including outputs of tasks to wait for; OSMO's runtime only."""
    outputs: Many[Output] = ()
    """Data to store after the task ends; OSMO's runtime only."""
    files: Many[File] = ()
    """Files to put into the container."""
    credentials: dict[Text, Text | dict[VariableName, Scalar]] = nothing()
    """Secrets of the namespace, by name: a folder to mount the Secret at, or variables with keys of the Secret."""
    kpis: Many[Kpi] = ()
    """Indicators to read from the outputs; OSMO's runtime only."""
    checkpoint: Many[Checkpoint] = ()
    """Paths to save while the task runs; OSMO's runtime only."""
    exitActions: dict[ExitAction, ExitCodes] = nothing()
    """Actions, each with the exit codes that cause it. RESCHEDULE repeats the task if spec.workflowsAs of the Config is
    jobs. Only OSMO's runtime can treat a code other than 0 as success (COMPLETE).
    """
    downloadType: Text | None = None
    """Method of fetching inputs; OSMO's runtime only."""
    cacheSize: Quantity | None = None
    """Space for cached inputs; OSMO's runtime only."""
    privileged: bool = False
    """Whether the container runs privileged."""
    hostNetwork: bool = False
    """Whether the pod shares the node's network."""
    volumeMounts: Many[HostMount] = ()
    """Paths of the node to mount: /path, or /path-on-node:/path-in-container."""


class Group(Model):
    """Tasks that start together as one gang."""

    name: Text
    """Name of the group, unique within the workflow."""
    tasks: Annotated[Many[Task], Field(min_length=1)]
    """Tasks of the group."""
    barrier: bool | None = None
    """Whether commands wait for each other at the start; OSMO's runtime only. KAI places the pods of a group together
    even without a barrier.
    """
    ignoreNonleadStatus: bool | None = None
    """Whether only the exit of the lead counts; OSMO's runtime only. If a pod of the gang fails, KAI evicts the others
    after a minute, unless one pod has succeeded.
    """


class WorkflowSpec(Model):
    """A workflow, with either groups, or tasks that each form a group."""

    name: Text
    """Name of the workflow, unique within the repository."""
    pool: Text
    """The pool, or pool--subpool, for the workflow."""
    priority: Priority = "NORMAL"
    """HIGH and NORMAL work stays within the quota. LOW work may borrow, and KAI may preempt it."""
    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels of the workflow's pods."""
    timeout: Timeout = Timeout.model_construct()
    """Time limits. Only OSMO's runtime limits the time that the workflow waits."""
    backend: Text | None = None
    """The cluster. It must be the cluster of the pool."""
    groups: Many[Group] = ()
    """Gangs."""
    tasks: Many[Task] = ()
    """Tasks that need not start together, instead of groups."""
    resources: dict[AnyText, Resource] = nothing()
    """The resources that tasks name. You may also write this field next to workflow."""


class Workflow(Model):
    """A file with an OSMO workflow."""

    version: int | None = None
    """Version of OSMO's format."""
    workflow: WorkflowSpec
    """The workflow."""
    resources: dict[AnyText, Resource] = nothing()
    """The resources that tasks name, by name. A task that names none gets default."""

    @cached_property
    def all_groups(self) -> tuple[tuple[Group, KeyPath, tuple[KeyPath, ...]], ...]:
        """The groups, each with its path and the paths of its tasks. A task outside a group counts as a group."""
        spec, groups = self.workflow, list[tuple[Group, KeyPath, tuple[KeyPath, ...]]]()
        for index, group in enumerate(spec.groups):
            path: KeyPath = ("workflow", "groups", index)
            groups.append((group, path, tuple([(*path, "tasks", at) for at in range(len(group.tasks))])))
        for index, task in enumerate(() if spec.groups else spec.tasks):
            path = ("workflow", "tasks", index)
            groups.append((Group.model_construct(name=task.name, tasks=(task,)), path, (path,)))
        return tuple(groups)

    @cached_property
    def all_tasks(self) -> tuple[tuple[Group, Task, KeyPath], ...]:
        """All tasks of the groups, each with its path."""
        every = self.all_groups
        return tuple([(g, *t) for g, _, p in every for t in zip(g.tasks, p, strict=True)])

    @cached_property
    def all_resources(self) -> tuple[tuple[str, Resource, KeyPath], ...]:
        """All resources, each with its path: first those under ``workflow``, then those next to ``workflow``."""
        within, path = self.workflow.resources.items(), ("workflow", "resources")
        workflow_resources = [(name, resource, (*path, name)) for name, resource in within]
        return (
            *workflow_resources,
            *((name, resource, ("resources", name)) for name, resource in self.resources.items()),
        )


ONE_OF = {
    "inputs": ("task", "url", "dataset"),
    "outputs": ("url", "dataset", "update_dataset"),
    "files": ("contents", "localpath"),
}
"""The alternative fields in an item of some task fields. Each item has exactly one of them."""
