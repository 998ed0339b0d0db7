"""OSMO workflows: groups of tasks, the resources they ask for, and how close they must run."""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property
from typing import Annotated, Literal, get_args

from pydantic import Field, StringConstraints

from kubectl_tas.gpus import GPU
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
from kubectl_tas.quantities import Amounts, in_bytes, millicores

Priority = Literal["HIGH", "NORMAL", "LOW"]
PRIORITIES: tuple[Priority, ...] = get_args(Priority)
RequirementType = Literal["required", "preferred"]
Argument = AnyText | int
"""A command-line word or a value of the environment; a whole number needs no quotes."""
Scalar = AnyText | bool | int | float
"""A value that OSMO takes as text, quoted or not."""
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
"""A whole number and its unit, seconds, or a duration of ISO 8601: what OSMO reads."""
ExitAction = Annotated[
    str,
    StringConstraints(
        pattern=r"^([Cc][Oo][Mm][Pp][Ll][Ee][Tt][Ee]|[Ff][Aa][Ii][Ll]|[Rr][Ee][Ss][Cc][Hh][Ee][Dd][Uu][Ll][Ee])$"
    ),
    said("must be COMPLETE, FAIL or RESCHEDULE"),
]
"""What becomes of a task, in capitals or not."""
ExitCodes = (
    Annotated[
        str,
        StringConstraints(pattern=rf"^{_NUMBER}(-{_NUMBER})?(,{_NUMBER}(-{_NUMBER})?)*$"),
        said('must be exit codes such as "1,3-127"'),
    ]
    | Annotated[int, Field(ge=0, le=10**9)]
)
"""Exit codes and ranges of them."""
_STEP = r"/(\.{0,2}[^/:.\x00][^/:\x00]*|\.{3,}[^/:\x00]*|\.)?"
"""One step of a path, which is not '..'."""
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
"""A whole number, quoted or not: OSMO takes both (``ResourceSpec`` of src/utils/connectors/postgres.py)."""


class TopologyRequirement(Model):
    """The tasks that name one group at one level run in one domain of that level."""

    key: Text
    """A key of the pool's topology, such as rack."""
    group: Text = "default"
    """Tasks with the same group are placed together."""
    requirementType: RequirementType = "required"
    """required: otherwise not scheduled at all; preferred: best effort."""


class Resource(Model):
    """What one task asks for."""

    cpu: Annotated[int, Field(ge=0, le=10**27)] | Annotated[float, Field(ge=0, le=10**27)] | Quantity | None = None
    """CPU cores."""
    memory: Quantity | None = None
    """Memory, such as 64Gi."""
    storage: Quantity | None = None
    """Ephemeral storage, such as 100Gi."""
    gpu: WrittenCount = 0
    """Whole GPUs."""
    platform: Text | None = None
    """Which of the pool's platforms it is for; the pool's default_platform where it names none."""
    nodesExcluded: Many[HostName] = ()
    """Host names that the task must not run on."""
    topology: Many[TopologyRequirement] = ()
    """How close the tasks with this resource must run."""

    @cached_property
    def asks(self) -> Amounts:
        """What a task with it asks for."""
        return Amounts(int(self.gpu), millicores(self.cpu or 0), in_bytes(self.memory or 0))

    @cached_property
    def amounts(self) -> dict[str, str]:
        """The same as a container asks for it: Kubernetes quantities."""
        cpu = f"{Decimal(str(self.cpu)):f}" if isinstance(self.cpu, float) else self.cpu  # never 1e-05
        asked = {"cpu": cpu, "ephemeral-storage": self.storage, "memory": self.memory, GPU: self.asks.gpu or None}
        return {name: str(amount) for name, amount in asked.items() if amount is not None}


class Dataset(Model):
    """A dataset, as OSMO's releases up to August 2026 have it."""

    name: Text
    """Its name, with its bucket and its tag."""
    path: AnyText = ""
    """Where its files are."""
    paths: Many[Text] = ()
    """What is added to it."""
    metadata: Many[Text] = ()
    """Files with what is known of it."""
    labels: Many[Text] = ()
    """Files with labels for it."""
    regex: AnyText = ""
    """Which of its files."""
    localpath: Text | None = None
    """A path of whoever submits the workflow."""


class Input(Model):
    """Data that a task begins with: what another left, a place, or a dataset."""

    task: Text | None = None
    """The task whose output it is, of this workflow or as WORKFLOW:TASK."""
    url: Text | None = None
    """Where the data is, such as s3://bucket/path."""
    dataset: Dataset | None = None
    """The dataset that it is."""
    regex: AnyText = ""
    """Which files of it; without one all."""


class Output(Model):
    """Data that a task leaves: at a place, or in a dataset."""

    url: Text | None = None
    """Where the data goes, such as s3://bucket/path."""
    dataset: Dataset | None = None
    """The dataset that it becomes a version of."""
    update_dataset: Dataset | None = None
    """The dataset that it is added to."""
    regex: AnyText = ""
    """Which files; without one all."""


class File(Model):
    """A file that a task finds in its container."""

    path: Text
    """Where it is in the container."""
    contents: AnyText | int | float | None = None
    """What is in it."""
    localpath: Text | None = None
    """Instead of contents: the file of the repository that it is, from the folder of the workflow's file."""
    base64: bool = False
    """Whether the contents are written in base64."""


class Kpi(Model):
    """An indicator."""

    index: Scalar
    """What it is called."""
    path: Text
    """The file of the output that holds it."""


class Checkpoint(Model):
    """Files that are saved while a task runs."""

    path: Text
    """Where they are in the container."""
    url: Text
    """Where they are saved."""
    frequency: Duration
    """How often."""
    regex: AnyText = ""
    """Which files; without one all."""


class Timeout(Model):
    """How long a workflow may take."""

    exec_timeout: Duration | None = None
    """How long each pod may run, from when its node has accepted it; without it as the pool has it."""
    queue_timeout: Duration | None = None
    """How long it may wait; OSMO's runtime only."""


class Task(Model):
    """One container, which becomes one pod."""

    name: Text
    """Unique within the workflow."""
    image: Image
    """Container image."""
    command: Many[Argument] = ()
    """Entry point."""
    args: Many[Argument] = ()
    """Arguments."""
    environment: dict[VariableName, Argument] = nothing()
    """Environment variables."""
    resource: Text = "default"
    """Which of the workflow's resources it asks for."""
    lead: bool | None = None
    """Whether its end ends the group; OSMO's runtime only, others of the group must end by themselves."""
    inputs: Many[Input] = ()
    """Data to fetch before the start, of tasks to wait for among others; OSMO's runtime only."""
    outputs: Many[Output] = ()
    """Data to store after the end; OSMO's runtime only."""
    files: Many[File] = ()
    """Files to put into the container."""
    credentials: dict[Text, Text | dict[VariableName, Scalar]] = nothing()
    """Secrets of the namespace by name: a folder to mount one at, or variables and the keys that they are."""
    kpis: Many[Kpi] = ()
    """Indicators to read from the outputs; OSMO's runtime only."""
    checkpoint: Many[Checkpoint] = ()
    """Paths to save while it runs; OSMO's runtime only."""
    exitActions: dict[ExitAction, ExitCodes] = nothing()
    """What to do on which exit code. RESCHEDULE runs a task again where spec.workflowsAs of the Config is jobs; that a
    code other than 0 is a success (COMPLETE) only OSMO's runtime can say.
    """
    downloadType: Text | None = None
    """How inputs are fetched; OSMO's runtime only."""
    cacheSize: Quantity | None = None
    """Room for cached inputs; OSMO's runtime only."""
    privileged: bool = False
    """Whether the container runs privileged."""
    hostNetwork: bool = False
    """Whether the pod shares the node's network."""
    volumeMounts: Many[HostMount] = ()
    """Paths of the node to mount: /path, or /path-on-node:/path-in-container."""


class Group(Model):
    """Tasks that start together: one gang."""

    name: Text
    """Unique within the workflow."""
    tasks: Annotated[Many[Task], Field(min_length=1)]
    """Its tasks."""
    barrier: bool | None = None
    """Whether commands wait for each other at the start; OSMO's runtime only. KAI places their pods together in any
    case.
    """
    ignoreNonleadStatus: bool | None = None
    """Whether only the lead's exit counts; OSMO's runtime only. Of a gang in which a pod failed KAI evicts the rest
    after a minute, unless one has succeeded.
    """


class WorkflowSpec(Model):
    """A workflow: either groups, or tasks with a group each."""

    name: Text
    """Unique within the repository."""
    pool: Text
    """The pool, or pool--subpool, that it is submitted to."""
    priority: Priority = "NORMAL"
    """HIGH and NORMAL stay within the quota; LOW may borrow and be preempted."""
    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels that its pods carry."""
    timeout: Timeout = Timeout.model_construct()
    """How long its pods may run; how long it may wait only OSMO's runtime counts."""
    backend: Text | None = None
    """The cluster; must be the pool's own."""
    groups: Many[Group] = ()
    """Gangs."""
    tasks: Many[Task] = ()
    """Instead of groups: tasks that need not start together."""
    resources: dict[AnyText, Resource] = nothing()
    """The resources that tasks name; may also stand beside workflow."""


class Workflow(Model):
    """An OSMO workflow file."""

    version: int | None = None
    """Version of OSMO's format."""
    workflow: WorkflowSpec
    """The workflow."""
    resources: dict[AnyText, Resource] = nothing()
    """The resources that tasks name, by name; default is the one a task gets that names none."""

    @cached_property
    def all_groups(self) -> tuple[tuple[Group, KeyPath, tuple[KeyPath, ...]], ...]:
        """Its groups, each with its path and those of its tasks; tasks without groups are a group each."""
        spec, found = self.workflow, list[tuple[Group, KeyPath, tuple[KeyPath, ...]]]()
        for index, group in enumerate(spec.groups):
            path: KeyPath = ("workflow", "groups", index)
            found.append((group, path, tuple([(*path, "tasks", at) for at in range(len(group.tasks))])))
        for index, task in enumerate(() if spec.groups else spec.tasks):
            path = ("workflow", "tasks", index)
            found.append((Group.model_construct(name=task.name, tasks=(task,)), path, (path,)))
        return tuple(found)

    @cached_property
    def all_tasks(self) -> tuple[tuple[Group, Task, KeyPath], ...]:
        """The tasks of these groups, each with its path."""
        every = self.all_groups
        return tuple([(group, *item) for group, _, paths in every for item in zip(group.tasks, paths, strict=True)])

    @cached_property
    def all_resources(self) -> tuple[tuple[str, Resource, KeyPath], ...]:
        """Its resources, each with its path: those under ``workflow``, then those beside it."""
        within, path = self.workflow.resources.items(), ("workflow", "resources")
        own = [(name, resource, (*path, name)) for name, resource in within]
        return (*own, *((name, resource, ("resources", name)) for name, resource in self.resources.items()))


ONE_OF = {
    "inputs": ("task", "url", "dataset"),
    "outputs": ("url", "dataset", "update_dataset"),
    "files": ("contents", "localpath"),
}
"""Fields of which each item of a task's field has exactly one."""
