"""Describes a kind of workload: all that the tool knows about it, as typed data and functions over plain documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from functools import partial
from typing import Any, TypeGuard

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts import times
from kubectl_tas.facts.gpus import Gpus
from kubectl_tas.kinds.grouping import Gathered, Grouping
from kubectl_tas.kinds.naming import ANY, Names
from kubectl_tas.kinds.section import Document, Refused, Section, key_path, path_steps, value_at, values_at, written
from kubectl_tas.model.base import MAX_COUNT, KeyPath

SPEC = "spec"
UNPACKED = "unpacked"


@dataclass(frozen=True, slots=True)
class Recognition:
    """The names of a kind, by which the tool recognises it."""

    kind: str
    versions: tuple[str, ...]
    """The apiVersions, first the one that messages suggest."""
    operator: str
    """The operators whose packed fields have the kind, separated by blanks. Empty: Kubernetes. ``UNPACKED``: none."""
    name: str = ""
    """The kind with its group, as kubectl writes it, if another kind has the same name."""
    schema: str = ""
    """Name of the JSON Schema and, in lower case, of the example in golden/documents, if not the kind."""
    plural: str = ""
    """Name of the kind in URLs, if not the lower-case kind with an s."""

    @property
    def resource(self) -> str:
        """Name of the kind in URLs."""
        return self.plural or f"{self.kind.lower()}s"

    @property
    def unique_name(self) -> str:
        """Unique name of the kind among all kinds that the tool reads."""
        return self.name or self.kind

    @property
    def groups(self) -> frozenset[str]:
        """The API groups of the kind."""
        return frozenset(version.rpartition("/")[0] for version in self.versions)


@dataclass(frozen=True, slots=True)
class Field:
    """A field that the tool reads. Files are refused if its value has another type."""

    path: str
    """Path of the field. ``[]`` is each item of a list, ``.*`` each value of a mapping."""
    about: str
    type: str = "mapping"
    """The type, as a key of ``TYPES`` in model/workloads.py, or words between bars."""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Pods:
    """Identical pods of a kind. Each item of a list, and each key of a mapping, on the path has pods of its own."""

    path: str
    """Path of the pod template or of the fields in its place, as in ``PodPath``. Empty: the object itself is a Pod."""
    count: str = ""
    """Paths of the number of pods, separated by blanks: the first that the object has counts, else 1. ``=2`` behind any
    path of a number is its default in an object that has the mapping above the number.
    """
    default: str = ""
    """Path of the least number, 0 if absent. It counts if the object omits ``count``, or has fewer there."""
    at_most: str = ""
    """Path of a number that bounds the number of pods."""
    factor: str = ""
    """Path of a factor for the number of pods, such as the nodes of each replica."""
    minus: int = 0
    """Number of other pods that the number counts too."""
    most: str = ""
    """Paths of numbers, separated by blanks. A controller may add pods up to the largest one."""
    at_least: int = 0
    """The controller's minimum for the number of pods."""
    least: str = ""
    """Path of the number of pods that must start together, if ``minimum`` of the kind is ``least``."""
    is_counted: bool = True
    """Whether KAI assumes 1 pod if the object omits the number."""
    paused: str = ""
    """Path of the field that takes all these pods away while it is true."""
    unless: str = ""
    """Path of a field that replaces these pods by others."""
    within: str = ""
    """Path of the mapping without which the object has no such pods."""
    stopped_by: str = ""
    """The annotation of the object that takes all these pods away."""
    name: str = ""
    """Name of the pods. Empty: the list item or the key that contains them has it."""
    name_field: str = "name"
    """The field of a list item that has the name."""
    word: str = "part"
    """The word of the kind for such pods, such as replica type."""
    case_counts: bool = True
    """Whether the controller takes two names apart that differ only in case."""
    sub_group: Callable[[str], str] | None = None
    """Makes the name of the SubGroup of the written name. None: it is the name itself."""
    index_label: str = ""
    """The label with the index of a pod."""
    completions: str = ""
    """Path of the number of pods with an index, if it may differ from the number of pods."""
    indexed: tuple[str, str] = ("", "")
    """Path of a field and its value with which pods have an index. Empty: always."""
    beside: str = ""
    """Path of a container that the operator adds to the pods, with its ``resources``."""
    beside_where: str = ""
    """Path of the field that asks for this container."""
    instead: str = ""
    """Path of the template that counts if the object has none at ``path``."""
    gpus_used: str = ""
    """Path of the number of GPUs that the operator's program uses in each pod."""
    is_optional: bool = False
    """Whether there are no such pods if the object has nothing at ``path``."""
    is_late: bool = False
    """Whether these pods start only once the others run, so that no gang can wait for them."""
    is_leader: bool = False
    """Whether the pod leads the others. KAI never divides it into segments."""
    metadata: str | None = None
    """Path of the labels and annotations of the pods, if not below the template; ``metadata`` is that of the object."""
    job: str = ""
    """Path of the template of the jobs that own these pods. Empty without such jobs."""
    jobs: str = ""
    """Path of the number of jobs that own these pods."""
    form: str = "podtemplate:PodTemplate"
    """The model that reads the value at ``path``, as ``module:class``."""

    @property
    def numbers(self) -> Iterator[str]:
        """Yields the paths of all numbers."""
        paths = (*self.count.split(), self.default, self.at_most, self.factor, *self.most.split(), self.least)
        yield from (path.partition("=")[0] for path in (*paths, self.completions, self.jobs) if path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """Slots for processes that an operator writes into a host file."""

    number: int
    launcher: KeyPath
    """Path of the PodSpec of the launcher."""
    more: str
    """The fields to raise for more slots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRules:
    """Demands of a kind on its pods."""

    restart: tuple[str, ...]
    """The restart policies that pods may have. Empty: any."""
    states_restart: bool = False
    """Whether pods must state their restart policy."""
    selector: str = ""
    """Path of the selector that must match the labels of the pods."""
    selects_by_labels: bool = False
    """Whether the selector is a mapping of labels alone, which the API server fills in from the template."""
    container: str = ""
    """Name of the container that the operator looks for."""
    by_type: bool = False
    """Whether pods have roles, each with a template of its own, and the template of one may lack what others have."""
    ports_known: bool = False
    """Whether containers have only the ports in their templates."""
    injected: tuple[str, ...] | None = None
    """Variables that the operator or the controller gives to containers. None: not known."""
    slots: Callable[[Document], Slots | None] = lambda _: None
    """The slots in which a launcher starts processes; None if the kind has none, or the document does not say it."""
    trains_together: bool = False
    """Whether the operator counts the pods of all replica types as one training."""
    added_volumes: tuple[str, ...] = ()
    """Names of volumes that the operator adds to the pods, with {} for the name of the object."""
    has_parameters: bool = False
    """Whether the operator fills in texts with double braces, so that their format is not judged."""
    defaults_at: str = ""
    """Path of fields of a PodSpec that are defaults for all pods of the object."""
    indexed_jobs: bool = False
    """Whether the operator makes jobs Indexed that do not say it."""
    fills_completions: bool = True
    """Whether the API server fills in ``completions`` of an Indexed job."""
    own_selector: bool = True
    """Whether a job may have a selector of its own."""
    makes_selector: bool = False
    """Whether the API server makes the selector of an object, with labels that belong to it alone."""
    own_amounts: str = ""
    """Path of resources that have names of the kind itself."""
    without_gpus: tuple[str, ...] = ()
    """Runtimes, in which the pod templates are, that ask for no GPU."""
    none: tuple[str, str] = ("", "")
    """Message and hint for an object without a pod template, if the kind allows that."""


ANY_PODS = PodRules(restart=())
"""The operator takes any pods."""


@dataclass(frozen=True, slots=True)
class Division:
    """The division of a workload's pods into parts by the kind itself."""

    size: int | None
    """Pods in a part, as written. None if the workload defines a division without a size."""
    path: KeyPath
    """Path of the size."""
    leader_excluded: bool = False
    """Whether the leader belongs to no part."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Pods that a controller makes only when other pods have a node, are ready or have ended. KAI starts no pod of a
    gang before all needed pods exist, so a gang that needs such pods never starts.
    """

    path: KeyPath
    """The field that causes the delay."""
    reason: str
    instead: str
    """The change after which the gang starts: an imperative sentence without its period."""
    first_replicas: Sequence[int]
    """Number of pods of each replica type that exist before the others."""
    level: str = ""
    """The label of the level at which the field places pods, if KAI's own annotation can place them there."""
    level_at: str = ""
    """Words for the place of that annotation, if it is not the place of the field."""
    since: str = ""
    """The first release of the operator that waits; empty if all do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The order in which pods of an object start."""

    waits: Callable[[Gathered], Iterator[Wait]] = lambda _: iter(())
    leader_first: Callable[[Document], bool] = lambda _: False
    """Whether other pods start only after the leader is ready."""
    division: Callable[[Document], Division | None] = lambda _: None
    """The kind's own division of its pods."""
    copies: str = ""
    """Path of the number of copies of all pods. Each copy is a gang of its own."""
    parts_before: Callable[[Document], Mapping[str, Sequence[str]]] = lambda _: {}
    """For replica types, by name, the replica types that must have started before their pods exist. It matters if they
    are in different gangs; ``waits`` is about one gang.
    """
    holds_back: str = ""
    """The reason for which one gang of an object starts only after another: a sentence without its period."""


ALL_AT_ONCE = Start()
"""No pod waits for another of its gang. A page says why."""

Values = Callable[[Section], Iterator[tuple[KeyPath, Any]]]


@dataclass(frozen=True, slots=True)
class FilledIn:
    """Values that a controller uses instead of absent or different ones. `render` writes them."""

    counts: Values = lambda _: iter(())
    """Counts, by path, that KAI looks for in the object itself."""
    names: Values = lambda _: iter(())
    """Names that the kind's webhook adds when an object is created, but not when it is changed."""
    at: str = SPEC
    """Path of the section that the functions read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Fields that tell an object to make no pods, and fields that delete it."""

    switch: tuple[str, ...] = ("spec", "suspend")
    """Path in a live object: ``suspend``, or ``replicas``."""
    suspended_by: tuple[str, ...] = ()
    """Paths of fields that keep new pods from starting while they are true."""
    deletes_itself: Callable[[Document], Iterator[KeyPath]] = lambda _: iter(())
    """Yields the fields that make a controller delete the object itself when it has ended."""


def lifetime(*paths: str, version: str = "") -> Callable[[Document], Iterator[KeyPath]]:
    """Returns a function that yields those of ``paths`` that an object of the apiVersion has."""

    def of(document: Document) -> Iterator[KeyPath]:
        for path in map(key_path, paths):
            if value_at(document, *path) is not None and version in ("", document.get("apiVersion")):
                yield path

    return of


class Effect(Enum):
    """Effect of a changed field."""

    REFUSED = auto()
    """The API server or a webhook refuses the change."""
    KEPT = auto()
    """The change is applied, but running pods stay unchanged."""
    RESTARTED = auto()
    """Running pods are replaced."""


Holds = Callable[[Document, Document], bool]
"""A condition on an object before and after the change."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Fields of a kind that share an effect. In paths, ``*`` stands for any key or item."""

    effect: Effect
    paths: tuple[KeyPath, ...]
    by: str
    """The component that refuses the change, or leaves running pods unchanged."""
    but: tuple[KeyPath, ...] = ()
    """Paths below ``paths`` that may change."""
    only: Holds | None = None
    """Condition for the row; None: always."""
    filled: Mapping[KeyPath, Any] | None = None
    """Defaults of omitted fields."""


SERVER = "the API server"
OF_CRD = "a rule of its CRD"
SCHEDULING = (
    *("metadata.labels", "metadata.annotations"),
    *("spec.nodeSelector", "spec.tolerations", "spec.schedulingGates"),
)
"""Fields of a pod template that may change in a suspended job."""


def paths(*fields: str, below: str = "") -> tuple[KeyPath, ...]:
    """Returns key paths from texts with dots between the steps."""
    return tuple(key_path(f"{below}.{field}".strip(".")) for field in fields)


def _fixed(effect: Effect, by: str, *fields: str, below: str = "", **conditions: Any) -> Fixed:
    """Returns the row of fields, with the ``conditions`` of ``Fixed``."""
    return Fixed(effect, paths(*fields, below=below), by, **conditions)


refused, kept, restarted = (partial(_fixed, effect) for effect in Effect)


def unless(condition: Holds) -> Holds:
    """Returns the opposite of a condition."""
    return lambda before, after: not condition(before, after)


def suspended(path: str) -> Holds:
    """Returns a condition: a field suspends the object before the change."""
    return lambda before, _after: bool(value_at(before, *key_path(path)))


def becomes(value: str, path: str) -> Holds:
    """Returns a condition: a field has ``value`` after the change."""
    return lambda _before, after: bool(value_at(after, *key_path(path)) == value)


def either_suspended(before: Document, after: Document) -> bool:
    """Whether the object is suspended before or after the change."""
    return bool(value_at(before, "spec", "suspend") or value_at(after, "spec", "suspend"))


@dataclass(frozen=True, slots=True)
class GrowingPods:
    """Identical pods of a workload that may grow."""

    name: str
    """Name of the replica type, such as worker."""
    written: str
    """The name that the user gave to the type, or else ``name``."""
    path: KeyPath
    """Path of the pod template, or of the fields in its place."""
    spec_path: KeyPath
    annotations_path: KeyPath
    annotations: Mapping[str, str]
    replicas: int
    gpus: Gpus
    """GPUs of one pod."""


@dataclass(frozen=True, slots=True)
class Growing:
    """A workload that may grow, with the pods of its gang."""

    document: Document
    pods: tuple[GrowingPods, ...]
    copies: int
    gpus: Gpus
    """GPUs of all pods."""

    def gpus_at(self, template: KeyPath) -> Gpus:
        """Returns the GPUs of one pod of a template."""
        return next((pods.gpus for pods in self.pods if pods.path == template), 0)

    @property
    def replicas(self) -> tuple[int, Gpus]:
        """The replicas and the GPUs of one: workers if pods have roles, else pods. Of a kind with several pod
        templates, a replica has a pod of each.
        """
        each = [pods for pods in self.pods if pods.name == "worker"] or self.pods
        return min((pods.replicas for pods in each), default=0), sum(pods.gpus for pods in each)


@dataclass(frozen=True, slots=True)
class Grown:
    """Parts of a workload whose number may grow."""

    path: KeyPath
    """Path of the field with the maximum number."""
    start: Gpus
    """Number of parts that is counted."""
    most: Gpus | None
    """Maximum number of parts; None: no limit."""
    gpus: Gpus
    """GPUs of one part."""
    grown_parts: str
    """The parts in words, such as "the pods"."""
    when: str = ""
    """Words that say when the number grows; empty: at any time."""
    hint: str = "Lower it, or write as many replicas."
    is_default: bool = False
    """Whether the growth comes from a default. Reported only if the quota has no room for it."""
    is_counted: bool = False
    """Whether the maximum number is counted. Reported only if the workload alone then exceeds its quota."""


Grows = Callable[[Growing, Section], Iterator[Grown]]


@dataclass(frozen=True, slots=True)
class Growth:
    """Growth of work of a kind beyond the pods that it starts with."""

    rows: tuple[tuple[str, Grows], ...] = ()
    """Functions over sections of the document, each with the path of its sections."""
    by_default: bool = False
    """Whether work may grow by a default."""
    scaled_alone: bool = False
    """Whether an absent ``spec.replicas`` is 1, and KAI places each replica by itself."""


DURING_UPDATE = " during an update"
QUARTER = "25%"
"""The pods that an update of a Deployment adds (``SetDefaults_Deployment`` of pkg/apis/apps/v1/defaults.go)."""
LEAVE_ROOM = "Leave room for it in the quota, or use LOW."


def added(value: object, pods: int) -> int:
    """Returns the pods that an update adds, from a number or a percentage, which Kubernetes rounds up."""
    if isinstance(value, str) and re.fullmatch("[0-9]{1,9}%", value):
        return -(-pods * int(value[:-1]) // 100)
    return value if type(value) is int and 0 <= value < MAX_COUNT else 0


def surge(strategy: str, rolling: str, default: object, *, of_copies: bool = False) -> Growth:
    """Returns the pods, or the copies of all pods, that an update adds before it removes old ones, by maxSurge."""

    def update(growing: Growing, spec: Section) -> Iterator[Grown]:
        all_pods = sum(pods.replicas * pods.gpus for pods in growing.pods)
        start, gpus = (growing.copies, all_pods) if of_copies else growing.replicas
        value = spec.below(strategy, rolling).get("maxSurge")
        if spec.below(strategy).get("type") != "Recreate":
            path = (*spec.path, strategy, rolling)
            hint = f"Write maxSurge: 0 and maxUnavailable: 1 in {written(path)}."
            grown_parts = "the groups" if of_copies else "the pods"
            most = start + added(default if value is None else value, start)
            yield Grown(
                (*path, "maxSurge"), start, most, gpus, grown_parts, DURING_UPDATE, hint, is_default=value is None
            )

    return Growth((("spec", update),), by_default=True, scaled_alone=True)


@dataclass(frozen=True, slots=True)
class Made:
    """A kind of objects that a controller makes."""

    kind: str
    group: str
    switch: tuple[str, ...] = ("spec", "suspend")
    """Path that tells a live object to make no pods."""


@dataclass(frozen=True, slots=True)
class Makes:
    """Objects that controllers make of an object, besides its pods, and ways to find both."""

    objects: tuple[Made, ...] = ()
    """Kinds of objects between the object and its pods."""
    services: tuple[str, ...] = ()
    """Names of Services, with {} for the name of the object and # for any number."""
    name_labels: tuple[str, ...] = ()
    """Labels of pods whose value is the name of the object."""
    claims: str = ""
    """Path of templates for PersistentVolumeClaims. The pods' claims are TEMPLATE-NAME-NUMBER."""
    service: str = ""
    """Path of the name of the Service that the object needs."""
    pods_of: tuple[str, str] = ("", "")
    """Kind, and pattern of the name, of owners that pods have although nobody reads these objects. {} is the name."""
    is_scheduled: bool = False
    """Whether a controller makes the first of these objects at the times that a schedule names."""
    is_set: bool = False
    """Whether Grove makes the pods for a set of the object's name."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A field that only another scheduler reads."""

    path: str
    lost: str
    """The loss of the object, in words."""
    instead: str
    """The hint: what to do so that it has it."""
    is_gang: bool = False
    """Whether nothing is lost if this tool makes the pods a gang."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The fields of an object that others than KAI read."""

    queue: str = ""
    """The annotation of the object from which its operator takes the queue of all pods."""
    lost: tuple[Lost, ...] = ()


def seconds_at(*path: str) -> Callable[[Document], int | None]:
    """Returns the function that reads a number of seconds at a path."""

    def seconds(document: Document) -> int | None:
        value = value_at(document, *path)
        return value if type(value) is int else None

    return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The limits that end an object of a kind. Pods of any kind also have ``activeDeadlineSeconds`` of their own, from
    their start.
    """

    deadline: Callable[[Document], int | None] = lambda _: None
    """Seconds after which a controller ends the object at the latest. They count from its creation, or from the end of
    its suspension, so they pass while its pods wait, too.
    """
    attempts: Callable[[Document], int] = lambda _: 1
    """Number of times that the object may run as a whole, each time with its deadline anew."""
    is_final: bool = False
    """Whether an object past its deadline does not run again, although it does after other failures."""
    lingers: Callable[[Document], int] = lambda _: 0
    """Seconds that its pods stay on their nodes when the work is done."""
    patience: str = ""
    """Path of the seconds after which the object gives up if its pods have not started."""
    again: Callable[[Document], int | None] = lambda _: 0
    """The most pods that its controller makes in place of pods that have ended; None: without end."""
    stays: Callable[[Document], bool] = lambda _: False
    """Whether pods stay on their nodes when the work is done."""
    is_remade: bool = True
    """Whether a controller makes an evicted pod again."""


SERVICE = Ends(again=lambda _: None)
"""The kind serves: a controller replaces each pod that ends."""


Check = Callable[[Section], Iterator[Refused]]


def is_count(number: object) -> TypeGuard[int]:
    """Whether a value is a number of pods that a cluster could reach."""
    return type(number) is int and 0 <= number < MAX_COUNT


def schedule(section: Section) -> Iterator[Refused]:
    """Checks schedule and timeZone, which operators read as the CronJob controller of Kubernetes does."""
    for field, refused in (("schedule", times.schedule_refused), ("timeZone", times.zone_refused)):
        text = section.get(field)
        problem = refused(text) if isinstance(text, str) else None
        if problem is not None:
            yield Refused((*section.path, field), problem[0], problem[1], rule="invalid-value")


def span(section: Section) -> Iterator[Refused]:
    """Checks minReplicas and maxReplicas, fields of both Kubeflow's training operator and KubeRay."""
    most = section.get("maxReplicas")
    if section.exceeds("minReplicas", "maxReplicas") and most >= 0:  # a negative number is invalid by itself
        message = f"{section.at('minReplicas')} is {section.get('minReplicas')}, more than maxReplicas, {most}"
        yield section.refused(message, f"Write {most} or less, or raise maxReplicas.", "minReplicas")


@dataclass(frozen=True, slots=True)
class Refusals:
    """Checks for values that the API server, an operator or KAI refuses."""

    operator: tuple[tuple[str, Check], ...] = ()
    """Checks of sections that always hold, each with the path of its sections."""
    yaml: tuple[str, ...] = ()
    """Paths of texts that must be mappings in YAML."""
    kai: Callable[[Gathered, Section], Iterator[Refused]] | None = None
    """Check for values that KAI's podgrouper refuses in a section."""
    kai_at: str = SPEC
    """Path of that section."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorkloadKind:
    """All that the tool knows of a kind. A page has every field: a fact that does not exist is said not to exist."""

    recognition: Recognition
    fields: tuple[Field, ...]
    pods: tuple[Pods, ...]
    pod_rules: PodRules
    gang: Grouping
    start: Start
    filled_in: FilledIn
    stop: Stop
    changes: tuple[Fixed, ...]
    ends: Ends
    growth: Growth
    makes: Makes
    marks: Marks
    refusals: Refusals
    names: Names
    is_declared: bool = False
    """Whether the Config or a Karta declares the kind, so that a document may contradict the declaration."""


_SUSPENDED_BY = ("spec.suspend", "spec.paused", "spec.runPolicy.suspend")
"""Fields that suspend objects of most kinds."""


def declared(recognition: Recognition, pods: tuple[Pods, ...], gang: Grouping) -> WorkloadKind:
    """Returns the page of a kind for which only pods and PodGroups are known."""
    return WorkloadKind(
        recognition=recognition,
        fields=(),
        pods=pods,
        pod_rules=ANY_PODS,
        gang=gang,
        start=ALL_AT_ONCE,
        filled_in=FilledIn(),
        stop=Stop(suspended_by=_SUSPENDED_BY),
        changes=(),
        ends=Ends(),
        growth=Growth(),
        makes=Makes(),
        marks=Marks(),
        refusals=Refusals(),
        names=ANY,
        is_declared=True,
    )


_PATHS = (
    *("path", "default", "at_most", "factor", "least", "paused", "unless", "within", "completions", "instead", "job"),
    *("jobs", "beside", "beside_where", "gpus_used"),
)


def embedded(page: WorkloadKind, at: str) -> WorkloadKind:
    """Returns the facts of a kind whose spec another kind embeds at a path. The page of that kind says what concerns
    the object as a whole, such as its names.
    """

    def moved(path: str) -> str:
        return f"{at}{path.removeprefix(SPEC)}" if path.partition(".")[0] == SPEC else path

    def of_pods(pods: Pods) -> Pods:
        count, most = (" ".join(map(moved, paths.split())) for paths in (pods.count, pods.most))
        indexed = (moved(pods.indexed[0]), pods.indexed[1])
        metadata = None if pods.metadata is None else moved(pods.metadata)
        at_paths: Any = {name: moved(getattr(pods, name)) for name in _PATHS}
        return replace(pods, **at_paths, count=count, most=most, indexed=indexed, metadata=metadata)

    def waits(gathered: Gathered) -> Iterator[Wait]:
        for path, spec in values_at(gathered.document, path_steps(at)):
            for wait in page.start.waits(replace(gathered, document={SPEC: spec})):
                yield replace(wait, path=(*path, *wait.path[1:]))

    def leader_first(document: Document) -> bool:
        return any(page.start.leader_first({SPEC: spec}) for _, spec in values_at(document, path_steps(at)))

    def division(document: Document) -> Division | None:
        for path, spec in values_at(document, path_steps(at)):
            if (cut := page.start.division({SPEC: spec})) is not None:
                return replace(cut, path=(*path, *cut.path[1:]))
        return None

    def of_spec(function: Callable[[Document], Any]) -> Callable[[Document], Any]:
        return lambda document: function({SPEC: value_at(document, *key_path(at)) or {}})

    growth, refusals, rules, start = page.growth, page.refusals, page.pod_rules, page.start
    ends = page.ends
    return replace(
        page,
        fields=tuple(replace(field, path=moved(field.path)) for field in page.fields),
        pods=tuple(map(of_pods, page.pods)),
        pod_rules=replace(
            rules,
            selector=moved(rules.selector),
            defaults_at=moved(rules.defaults_at),
            own_amounts=moved(rules.own_amounts),
        ),
        start=start
        if start is ALL_AT_ONCE
        else Start(waits=waits, leader_first=leader_first, division=division, copies=moved(start.copies)),
        filled_in=replace(page.filled_in, at=moved(page.filled_in.at)),
        stop=replace(page.stop, suspended_by=tuple(map(moved, page.stop.suspended_by))),
        ends=replace(
            ends,
            deadline=of_spec(ends.deadline),
            lingers=of_spec(ends.lingers),
            attempts=of_spec(ends.attempts),
            patience=moved(ends.patience),
            again=of_spec(ends.again),
            stays=of_spec(ends.stays),
        ),
        growth=replace(growth, rows=tuple((moved(path), function) for path, function in growth.rows)),
        refusals=Refusals(
            tuple((moved(path), check) for path, check in refusals.operator),
            tuple(map(moved, refusals.yaml)),
            refusals.kai,
            moved(refusals.kai_at),
        ),
        names=replace(page.names, parts=tuple(replace(naming, path=moved(naming.path)) for naming in page.names.parts)),
    )
