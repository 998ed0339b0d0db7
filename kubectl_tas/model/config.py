"""The repository's own settings: the Config document in ``tas.yaml``, and the values of templates."""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from kubectl_tas import grove, kai
from kubectl_tas.folders import normal
from kubectl_tas.kubernetes import PATTERN as KUBERNETES_RELEASE
from kubectl_tas.model.base import MAX_PREFIX, AnyText, LabelKey, LabelValue, Many, Model, Named, Text, nothing, said
from kubectl_tas.model.kindlists import CompanionKind
from kubectl_tas.model.podkinds import DeclaredKind
from kubectl_tas.model.pool_kinds import Group, QueueMeta
from kubectl_tas.records import dataclass

DEFAULT_SOURCES = ("pools", "subpools", "topologies", "workflows")
"""The folders that are read where the Config names none."""
DEFAULT_ADMIN_SOURCES = ("pools", "subpools", "topologies", "platforms")
"""The folders for what decides for others, where the Config names none."""
VALUES_FOLDER = "values"
"""The folder of the repository that holds values files; nothing else is read from it."""
PRIORITY_VALUES = {"HIGH": 125, "NORMAL": 100, "LOW": 50}
"""The value of the PriorityClass of each of OSMO's priorities."""


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
"""A folder relative to the repository root, in its one spelling: ``./manifests/`` is ``manifests``."""


class Scheduler(Model):
    """The scheduler of a backend."""

    type: Literal["kai", "default"] = "kai"
    """kai, or default for a cluster without KAI Scheduler: no queues, no gangs, no topology."""
    name: Text | None = None
    """schedulerName of the pods. Without it: kai-scheduler, or default-scheduler for type default."""
    version: Annotated[
        str,
        StringConstraints(pattern=kai.PATTERN),
        said('must be a release such as "0.17"', hint='Write its numbers alone, such as "0.17" or "0.16.5".'),
    ] = "0.17"
    """The KAI release that runs there, in quotes: "0.16" for its newest patch release, "0.16.5" for another one."""


class GroveVersion(Model):
    """The Grove of a backend."""

    version: Annotated[
        str,
        StringConstraints(pattern=grove.PATTERN),
        said('must be a release such as "0.1.0-alpha.11"', hint='Write all of it: "0.1.0-alpha.11".'),
    ] = grove.NEWEST
    """The Grove release that runs there, as "0.1.0-alpha.11"."""


class Backend(Model):
    """One Kubernetes cluster."""

    name: Text
    """What pools call it, and its folder below the output where there are several."""
    namespace: Text = "default"
    """Where the work of pools runs that name no namespaces; part of every queue name."""
    scheduler: Scheduler = Scheduler.model_construct()
    """Who places its pods."""
    grove: GroveVersion = GroveVersion.model_construct()
    """Who makes gangs of its PodCliqueSets, where it has any."""
    context: Text | None = None
    """The context of the kubeconfig by which kubectl reaches it. With one backend, by default kubectl's own."""
    rootQueue: Literal["none"] | QueueMeta | None = None
    """The queue above all pools: its name where it does not follow the scheme, labels and annotations; none: the pools
    are at the top. Before KAI 0.13 there is none.
    """
    levelAliases: bool = True
    """Whether the levels of Topologies carry their keys as aliases; from KAI 0.17."""
    kubernetes: (
        Annotated[
            str,
            StringConstraints(pattern=KUBERNETES_RELEASE),
            said('must be a release such as "1.33"', hint='Write its first two numbers alone, such as "1.33".'),
        ]
        | None
    ) = None
    """The Kubernetes release that runs there, as "1.33" (in quotes), by whose fields workloads are checked. Without
    it: the newest that is known."""


class Given(Model):
    """Objects that no file declares, since others make them."""

    kind: Literal[
        "ConfigMap",
        "PersistentVolumeClaim",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "Secret",
        "Service",
        "ServiceAccount",
    ]
    """Their kind."""
    namespace: Text | None = None
    """Where they are; without it in every namespace."""
    names: Annotated[Many[Text], Field(min_length=1)]
    """Their names, in which * means any characters."""


class PriorityClasses(Model):
    """The PriorityClass object of each OSMO priority."""

    HIGH: Text = "osmo-high"
    """Not preemptible, value 125."""
    NORMAL: Text = "osmo-normal"
    """Not preemptible, value 100."""
    LOW: Text = "osmo-low"
    """Preemptible, value 50."""


class LabelPolicy(Model):
    """What workflows must say in one label."""

    key: LabelKey
    """Its key, without ``pod_label_prefix``."""
    allow_list: Many[LabelValue] = ()
    """The values that it may have; without any: every value."""
    enforcement: Literal["off", "warn", "enforce"] = "off"
    """Whether a workflow without it, or with another value, is an error (enforce), a warning (warn) or neither."""
    assert_message: AnyText = ""
    """What the finding says too, such as where the values are listed."""


class LabelsConfig(Model):
    """What holds for the labels of all workflows."""

    policy: Many[LabelPolicy] = ()
    """What they must say."""
    pod_label_prefix: Annotated[str, StringConstraints(max_length=MAX_PREFIX, pattern=r"^[^ \t\r\n\x00]*$")] = ""
    """What is put before the key of each label of a workflow, such as example.com/."""


class Instance(BaseModel):
    """One workflow of a template: its name, and values that count for it alone."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)

    name: Text
    """The name of the workflow, in place of the template's own; also the value "name" of the template."""


class Values(BaseModel):
    """Values of a template by their names. They count before those of its default-values; a mapping or a list counts as
    a whole.
    """

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)

    instances: Many[Instance] = ()
    """Makes a workflow of each entry. Without it the template makes one."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value of the command line, which counts before all others."""

    name: str
    value: str | int | float
    written: str
    """As it was given."""


def read_setting(text: str, *, is_text: bool) -> Setting | None:
    """``NAME=VALUE``: a whole number, a number, or else text, as OSMO reads it; None where there is no ``=``."""
    name, equals, written = text.partition("=")
    if not equals or not name:
        return None
    if not is_text:
        for read in (int, float):
            try:
                value = read(written)
            except ValueError:
                continue
            if isfinite(value):
                return Setting(name, value, written)
    return Setting(name, written, written)


class ConfigSpec(Model):
    """The settings; each has a default."""

    backends: Many[Backend] = (Backend.model_construct(name="default"),)
    """The clusters that this repository is for."""
    queuePrefix: Text = "osmo"
    """First part of every queue name."""
    gitops: Literal["argocd", "flux", "none"] = "none"
    """Which tool applies the manifests: decides the annotations they carry."""
    output: Folder = "manifests"
    """Folder, relative to the repository root, that render writes."""
    outputKeeps: Many[Folder] = ()
    """Files that stay in the output folder, or above it, although kubectl-tas did not write them: paths relative to
    the repository root. In a name, * means any characters; write the names of files that GitOps tools read in full.
    """
    layout: Literal["flat", "sharded"] = "flat"
    """flat: one kustomization.yaml a backend. sharded: one for what all pools share, in platform, and one for the work
    of each pool, in pools/POOL, which are built, applied and fail each by itself.
    """
    priorityClasses: PriorityClasses = PriorityClasses.model_construct()
    """Names of the PriorityClass objects."""
    workflowsAs: Literal["pods", "jobs", "jobs-if-preemptible"] = "pods"
    """What tasks of workflows become. pods: a Pod each, as in OSMO. jobs: a Job each, which runs its task again where
    that is to be, and stays finished when its pod is deleted; from KAI 0.15. jobs-if-preemptible: a Job for each task
    of LOW work, which runs again up to maxRetries times after KAI has preempted its pod, and a Pod for any other.
    """
    maxRetries: Annotated[int, Field(ge=0, le=100)] = 3
    """With Jobs: how often a task runs again that ends with a code of which the exit action is RESCHEDULE, and with
    workflowsAs jobs-if-preemptible one that is killed (137 or 143).
    OSMO calls it max_retry_per_task.
    """
    guard: bool | Literal["warn", "enforce"] = False
    """Whether to emit admission policies against work that bypasses this repository. warn: it is let in, with a
    warning to whoever asks and an entry in the audit log; enforce, or true: it is refused.
    """
    guardMembers: bool = True
    """Whether the guard compares pods with the PodGroups that they join. The API server then looks at every PodGroup of
    the namespace, each time that a pod with a queue is created or changed; docs/guard.md has the cost.
    """
    trusted: Many[Group] = ()
    """Where the guard keeps the queues of pools for the groups of their ``access``: users and groups that may name any
    queue nevertheless, besides Kubernetes' own controllers, KAI, the operators, and whoever may change the policy.
    """
    accessReadsQueues: bool = False
    """Whether the groups of pools' ``access`` may read the Queues of the cluster, which `kubectl tas pool list --live`
    asks for: a ClusterRole, and its binding.
    """
    createNamespaces: bool = False
    """Whether to emit the namespaces of the pools too, before all else."""
    drainInterval: Time = "15m"
    """How often a drain looks whether a DELETING subpool is empty: a number and s, m or h."""
    maxGracePeriod: Time = "10m"
    """How long pods of LOW work may take to end once they are evicted: the most that their
    terminationGracePeriodSeconds may be, as a number and s, m or h.
    """
    rules: dict[RuleCode, Literal["off", "info", "warning", "error"]] = nothing()
    """What findings of a rule count for, by its code; `kubectl tas rule CODE` says whether it may be changed."""
    labels_config: LabelsConfig = LabelsConfig.model_construct()
    """Labels that workflows must have, as in OSMO's workflow configuration."""
    companions: Many[CompanionKind] = ()
    """Further kinds that may stand beside workloads, such as ServiceMonitor; they must make no pods. Service,
    ConfigMap, PersistentVolumeClaim, ServiceAccount, HorizontalPodAutoscaler, PodDisruptionBudget, Ingress,
    NetworkPolicy and ComputeDomain always may.
    """
    kinds: Many[DeclaredKind] = ()
    """Kinds of this platform that make pods: all that holds for workloads holds for them."""
    operators: dict[Text, OperatorRelease] = nothing()
    """The releases of operators that the clusters have, such as kuberay: "1.5" (in quotes), by whose fields their kinds
    are checked. Of an operator that is not named, the fields of all known releases pass.
    """
    given: Many[Given] = ()
    """Objects that work names and others make: an administrator, another repository, an operator."""
    sources: Many[Folder] = DEFAULT_SOURCES
    """Folders, relative to the repository root, that are read."""
    adminSources: Many[Folder] = DEFAULT_ADMIN_SOURCES
    """Folders in which documents count that decide for others: Pool, Subpool, PodTemplate, ResourceValidation,
    ClusterTopology, ClusterTopologyBinding, OperatorConfiguration and Karta. In another folder each is an error, so
    that the owners of these folders (CODEOWNERS) review all of them. ".": any folder. They are read only if sources
    has them too.
    """

    values: dict[Text, Values] = nothing()
    """Values of templates, by the path of each below the folder that is read, without its ending; instead of a file
    values/NAME.yaml."""

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
    """The repository's settings. Only in tas.yaml, and only once."""

    apiVersion: Literal["tas/v1alpha1"]
    kind: Literal["Config"]
    metadata: Named | None = None
    """Not used; allowed because Kubernetes tools expect it."""
    spec: ConfigSpec = DEFAULTS
    """The settings."""
