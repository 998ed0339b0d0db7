"""Defines the settings of a repository, in the Config document of ``tas.yaml``, and the values of templates."""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from kubectl_tas.base.folders import normal
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts import grove, kai
from kubectl_tas.kinds.kubernetes import PATTERN as KUBERNETES_RELEASE
from kubectl_tas.model.base import MAX_PREFIX, AnyText, LabelKey, LabelValue, Many, Model, Named, Text, nothing, said
from kubectl_tas.model.kindlists import CompanionKind
from kubectl_tas.model.podkinds import DeclaredKind
from kubectl_tas.model.pool_kinds import Group, QueueMeta

DEFAULT_SOURCES = ("pools", "subpools", "topologies", "workflows")
"""The folders that the tool reads if the Config names none."""
DEFAULT_ADMIN_SOURCES = ("pools", "subpools", "topologies", "platforms")
"""The folders that may hold documents that affect other teams, if the Config names none."""
VALUES_FOLDER = "values"
"""The folder of the repository that holds values files. The tool reads no other files in this folder."""
PRIORITY_VALUES = {"HIGH": 125, "NORMAL": 100, "LOW": 50}
"""The value of the PriorityClass for each OSMO priority."""


def nearest_priority(value: int) -> str:
    """Returns the priority whose value is nearest."""
    return min(PRIORITY_VALUES, key=lambda name: abs(PRIORITY_VALUES[name] - value))


Time = Annotated[
    str,
    StringConstraints(pattern=r"^[1-9][0-9]*(s|m|h)$"),
    said("must be a time such as 90s, 15m or 1h", hint="Write a number and s, m or h, without a blank."),
]
RuleCode = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+$"), said("must be the code of a rule")]
OperatorRelease = Annotated[
    str,
    StringConstraints(pattern=r"^v?[0-9]+(\.[0-9]+)+(-alpha\.[0-9]+)?$"),
    said('must be a release such as "1.5"', hint='Write its first two numbers, in quotes, such as "1.5".'),
]
Folder = Annotated[Text, AfterValidator(normal)]
"""A folder relative to the repository root, in normal form: ``./manifests/`` becomes ``manifests``."""


class Scheduler(Model):
    """The scheduler of a backend."""

    type: Literal["kai", "default"] = "kai"
    """kai, or default for a cluster without KAI Scheduler: no queues, no gangs, no topology."""
    name: Text | None = None
    """The schedulerName of the pods. The default is kai-scheduler, or default-scheduler for type default."""
    version: Annotated[
        str,
        StringConstraints(pattern=kai.PATTERN),
        said('must be a release such as "0.17"', hint='Write its numbers alone, such as "0.17" or "0.16.5".'),
    ] = "0.17"
    """The KAI release in this cluster, in quotes: "0.16" for its newest patch release, or exactly "0.16.5"."""


class GroveVersion(Model):
    """The Grove of a backend."""

    version: Annotated[
        str,
        StringConstraints(pattern=grove.PATTERN),
        said('must be a release such as "0.1.0-alpha.11"', hint='Write all of it: "0.1.0-alpha.11".'),
    ] = grove.NEWEST
    """The Grove release in this cluster, such as "0.1.0-alpha.11"."""


class Backend(Model):
    """One Kubernetes cluster."""

    name: Text
    """The name that pools give the cluster. With several backends, also the name of its folder in the output."""
    namespace: Text = "default"
    """The namespace for the work of pools that name no namespaces. The name of every queue contains it."""
    scheduler: Scheduler = Scheduler.model_construct()
    """The scheduler that places the pods of this cluster."""
    grove: GroveVersion = GroveVersion.model_construct()
    """The Grove that makes gangs of the PodCliqueSets in this cluster, if you use any."""
    context: Text | None = None
    """The kubeconfig context of the cluster. With one backend, the default is kubectl's own context."""
    rootQueue: Literal["none"] | QueueMeta | None = None
    """The queue above all pools: its labels, annotations, and name if not the default. With none, the pools are at the
    top. Before KAI 0.13 pools are always at the top.
    """
    levelAliases: bool = True
    """Whether each level of a Topology has its key as an alias. From KAI 0.17."""
    kubernetes: (
        Annotated[
            str,
            StringConstraints(pattern=KUBERNETES_RELEASE),
            said('must be a release such as "1.33"', hint='Write its first two numbers alone, such as "1.33".'),
        ]
        | None
    ) = None
    """The Kubernetes release in this cluster, in quotes, such as "1.33". The tool checks workloads against the fields
    of this release. The default is the newest known release.
    """


class Given(Model):
    """Objects that others make, so that no file in the repository declares these objects."""

    kind: Literal[
        "ConfigMap",
        "PersistentVolumeClaim",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "Secret",
        "Service",
        "ServiceAccount",
    ]
    """The kind of the objects."""
    namespace: Text | None = None
    """The namespace of the objects. Without it: every namespace."""
    names: Annotated[Many[Text], Field(min_length=1)]
    """The names of the objects, in which * means any characters."""


class PriorityClasses(Model):
    """The name of the PriorityClass object for each OSMO priority."""

    HIGH: Text = "osmo-high"
    """The PriorityClass for HIGH: not preemptible, value 125."""
    NORMAL: Text = "osmo-normal"
    """The PriorityClass for NORMAL: not preemptible, value 100."""
    LOW: Text = "osmo-low"
    """The PriorityClass for LOW: preemptible, value 50."""


class LabelPolicy(Model):
    """A rule for one label of workflows."""

    key: LabelKey
    """The key of the label, without ``pod_label_prefix``."""
    allow_list: Many[LabelValue] = ()
    """The values that the label may have. Without any: every value."""
    enforcement: Literal["off", "warn", "enforce"] = "off"
    """Severity if the label is absent or has another value: error (enforce), warning (warn) or none (off)."""
    assert_message: AnyText = ""
    """Text that the finding adds, such as where to find the list of values."""


class LabelsConfig(Model):
    """Settings for the labels of all workflows."""

    policy: Many[LabelPolicy] = ()
    """One rule for each label that workflows must have."""
    pod_label_prefix: Annotated[
        str,
        StringConstraints(max_length=MAX_PREFIX, pattern=r"^[^ \t\r\n\x00]*$"),
        said("must be a prefix such as example.com/, without blanks"),
    ] = ""
    """A prefix for the key of each label of a workflow, such as example.com/."""


class Instance(BaseModel):
    """One workflow that a template makes: the name of the workflow, and the values for this workflow alone."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)

    name: Text
    """The name of the workflow, which replaces the template's own. The template also gets it as the value "name"."""


class Values(BaseModel):
    """Values for a template, by name. These values override the template's default-values. A mapping or a list replaces
    the whole default.
    """

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)

    instances: Many[Instance] = ()
    """One workflow for each entry. Without it the template makes one workflow."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value from the command line, which overrides all other values."""

    name: str
    value: str | int | float
    written: str
    """The value as the user wrote it."""


def read_setting(text: str, *, is_text: bool) -> Setting | None:
    """Reads ``NAME=VALUE`` as OSMO does, with a number or text as the value. Returns None without ``=``."""
    name, equals, value_text = text.partition("=")
    if not equals or not name:
        return None
    if not is_text:
        for read in (int, float):
            try:
                value = read(value_text)
            except ValueError:
                continue
            if isfinite(value):
                return Setting(name, value, value_text)
    return Setting(name, value_text, value_text)


class ConfigSpec(Model):
    """The settings of the repository. Each has a default."""

    backends: Many[Backend] = (Backend.model_construct(name="default"),)
    """The clusters that this repository is for."""
    queuePrefix: Text = "osmo"
    """First part of every queue name."""
    gitops: Literal["argocd", "flux", "none"] = "none"
    """The tool that applies the manifests. It decides their annotations."""
    output: Folder = "manifests"
    """The folder, relative to the repository root, that `render` writes."""
    outputKeeps: Many[Folder] = ()
    """Files that may be in or above the output folder although kubectl-tas did not write them, as paths from the
    repository root. In a name, * means any characters. Write the names of files that GitOps tools read in full.
    """
    layout: Literal["flat", "sharded"] = "flat"
    """flat: one kustomization.yaml for each backend. sharded: one in platform/ for what all pools share, and one in
    pools/POOL/ for the work of each pool. Each of them is built, applied and fails by itself.
    """
    priorityClasses: PriorityClasses = PriorityClasses.model_construct()
    """Names of the PriorityClass objects."""
    workflowsAs: Literal["pods", "jobs", "jobs-if-preemptible"] = "pods"
    """The objects that `render` makes of tasks. pods: a Pod for each task, as in OSMO. jobs: a Job for each task, from
    KAI 0.15. It can repeat the task, and stays finished when its pod is deleted. jobs-if-preemptible: a Job for each
    task of LOW work, else a Pod. The Job repeats the task up to maxRetries times after KAI preempts its pod.
    """
    maxRetries: Annotated[int, Field(ge=0, le=100)] = 3
    """The number of times that a Job repeats a task whose exit code has the exit action RESCHEDULE. With workflowsAs
    jobs-if-preemptible, this also applies to a task that was killed (exit code 137 or 143). OSMO calls this setting
    max_retry_per_task.
    """
    guard: bool | Literal["warn", "enforce"] = False
    """Whether to render admission policies against work that bypasses this repository. warn: the API server admits the
    work, warns the client and writes an entry to the audit log. enforce, or true: the API server refuses the work.
    """
    guardMembers: bool = True
    """Whether the guard compares pods with their PodGroups. The API server then looks at every PodGroup of the
    namespace each time a pod with a queue is created or changed. docs/guard.md describes the cost.
    """
    trusted: Many[Group] = ()
    """Users and groups that may name any queue, although the guard reserves the queues of a pool for the groups in its
    ``access``. Kubernetes' own controllers, KAI, the operators, and users who may change the policy need no entry.
    """
    accessReadsQueues: bool = False
    """Whether the groups in the ``access`` of pools may read the Queues of the cluster. `kubectl tas pool list --live`
    needs this right. `render` then writes a ClusterRole and its binding.
    """
    shards: Literal["rendered", "elsewhere"] = "elsewhere"
    """Whether to render the SchedulingShards of this repository. elsewhere: somebody else applies them, such as KAI's
    chart; the tool checks them and goes by them. rendered: `render` writes them too, before all other objects.
    """
    createNamespaces: bool = False
    """Whether to render the namespaces of the pools too. Namespaces are applied before all other objects."""
    drainInterval: Time = "15m"
    """The interval at which a drain checks whether a DELETING subpool is empty: a number and s, m or h."""
    maxGracePeriod: Time = "10m"
    """The longest terminationGracePeriodSeconds of pods of LOW work, as a number and s, m or h. It limits how long
    these pods may take to end after an eviction.
    """
    rules: dict[RuleCode, Literal["off", "info", "warning", "error"]] = nothing()
    """The severity of the findings of a rule, by its code. `kubectl tas rule CODE` says if you may change it."""
    labels_config: LabelsConfig = LabelsConfig.model_construct()
    """Labels that workflows must have, as in OSMO's workflow configuration."""
    companions: Many[CompanionKind] = ()
    """Further kinds that you may put next to workloads, such as ServiceMonitor. These kinds must make no pods. Always
    allowed are Service, ConfigMap, PersistentVolumeClaim, ServiceAccount, HorizontalPodAutoscaler, PodDisruptionBudget,
    Ingress, NetworkPolicy and ComputeDomain.
    """
    kinds: Many[DeclaredKind] = ()
    """Kinds of your platform that make pods. The tool treats their objects like all other workloads."""
    operators: dict[Text, OperatorRelease] = nothing()
    """The releases of operators in the clusters, in quotes, such as kuberay: "1.5". The tool checks the fields of an
    operator's kinds against its release, or against all known releases if you do not name the operator.
    """
    given: Many[Given] = ()
    """Objects that work refers to and that others make: an administrator, another repository, or an operator."""
    sources: Many[Folder] = DEFAULT_SOURCES
    """The folders, relative to the repository root, that the tool reads."""
    adminSources: Many[Folder] = DEFAULT_ADMIN_SOURCES
    """Folders for documents that affect other teams: Pool, Subpool, PodTemplate, ResourceValidation, ClusterTopology,
    ClusterTopologyBinding, OperatorConfiguration, Karta and SchedulingShard. In any other folder such a document is an
    error, so the owners of these folders (CODEOWNERS) review all of them. ".": any folder. The tool reads these folders
    only if sources has them too.
    """

    values: dict[Text, Values] = nothing()
    """Values of templates, instead of a file values/NAME.yaml. The key is the template's path in its source folder,
    without the extension.
    """

    @property
    def drain_seconds(self) -> int:
        """``drainInterval`` in seconds."""
        return _seconds(self.drainInterval)

    @property
    def grace_seconds(self) -> int:
        """``maxGracePeriod`` in seconds."""
        return _seconds(self.maxGracePeriod)


def _seconds(time: str) -> int:
    return int(time[:-1]) * {"s": 1, "m": 60, "h": 3600}[time[-1]]


DEFAULTS: Final = ConfigSpec.model_construct()
"""The settings of a repository whose tas.yaml sets nothing."""


class Config(Model):
    """The settings of the repository. Allowed only in tas.yaml, and only once."""

    apiVersion: Literal["tas/v1alpha1"]
    kind: Literal["Config"]
    metadata: Named | None = None
    """Not used. Allowed because Kubernetes tools expect it."""
    spec: ConfigSpec = DEFAULTS
    """The settings."""
