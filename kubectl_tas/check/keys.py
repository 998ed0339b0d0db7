"""Checks labels, annotations and fields at any depth of a document. Finds keys of KAI, Grove or kubectl-tas that are
misspelled or misplaced, and keys that bypass the pool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Flag, auto
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kubectl_tas.base.diagnostics import Diagnostic, Rule, Waiving
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import closest, question
from kubectl_tas.check.filled_in import expressions_of
from kubectl_tas.check.other_schedulers import leftover
from kubectl_tas.check.resource_requests import notes_above, pods_of, resources_of
from kubectl_tas.check.secrets import secrets_of
from kubectl_tas.check.visibledevices import config_maps, devices_of
from kubectl_tas.check.workload_labels import conflict, labels_below
from kubectl_tas.facts import gpus, quantities
from kubectl_tas.gangs.pool_demands import agreed, agreed_shard, agreed_with
from kubectl_tas.kinds import environment
from kubectl_tas.kinds.backdoors import (
    ANNOTATIONS,
    FIELDS,
    LABELS,
    OPTIONS,
    RESERVATION,
    STATE,
    Backdoor,
    Decides,
    Part,
    parts,
    setter_of,
    state_of,
)
from kubectl_tas.model import labels
from kubectl_tas.model.base import OWN_METADATA, KeyPath
from kubectl_tas.model.kindlists import group_of, is_harmless
from kubectl_tas.model.repository import Declared, Origin
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.handwritten import FleetPodGroup
from kubectl_tas.resolve.podcliqueset import SubmittedSet

if TYPE_CHECKING:
    from kubectl_tas.model.podtemplate import Companion


class KeyReader(Flag):
    """The objects on which a key is read."""

    NOBODY = 0
    """Nobody needs to write the key: this tool, KAI or Grove does, or it decides nothing."""
    WORK = auto()
    """The workload itself, or a Pod without an owner."""
    PODS = auto()
    """Pod templates, or a Pod without an owner."""
    BOTH = WORK | PODS


@dataclass(frozen=True, slots=True)
class Key:
    """A label or an annotation that KAI, Grove or this tool reads."""

    name: str
    where: str
    """labels, annotations, or both."""
    about: str = ""
    """The effect of the key, for its author. Empty if users must not write the key."""
    reader: KeyReader = KeyReader.NOBODY
    choices: tuple[str, ...] = ()
    """The possible values, if known."""


_A, _L = "annotations", "labels"
_WORK, _PODS, _BOTH = KeyReader.WORK, KeyReader.PODS, KeyReader.BOTH
KEYS: tuple[Key, ...] = (
    Key(labels.POOL, _L, "The pool, or pool--subpool, whose quota the work counts against.", _WORK),
    Key(
        labels.PRIORITY,
        _L,
        "HIGH and NORMAL work stays within the quota. LOW work may exceed it until other queues need the GPUs.",
        _WORK,
        ("HIGH", "NORMAL", "LOW"),
    ),
    Key(labels.OWNED, _L, "With owned, kubectl-tas writes the PodGroup, not KAI's PodGrouper.", _WORK, ("owned",)),
    Key(labels.GANG, _L, "Work with the same value starts together, as one gang in a PodGroup of that name.", _WORK),
    Key(
        labels.REPLACE,
        _L,
        "With true, Argo CD or Flux deletes and recreates the object if it cannot change in place.",
        _WORK,
        ("true",),
    ),
    Key(labels.WORKFLOW, _L),
    Key(labels.GROUP, _L),
    Key(labels.TASK, _L),
    Key(labels.QUEUE, _L),
    Key(labels.SUBGROUP, _L, "The SubGroup that a Pod belongs to.", _PODS),
    Key(labels.PRIORITY_CLASS, _L),
    Key(labels.PREEMPTIBILITY, _L),
    Key("kai.scheduler/accounting", _L),
    Key(labels.NODE_POOL, _L),
    Key("kai.scheduler/task-priority", _L),
    Key(labels.RUNAI_QUEUE, _L),
    Key(labels.POD_GROUP, _A, "The PodGroup of this repository that a Pod is a member of.", _PODS),
    Key(labels.SKIP_PODGROUPER, _A),
    Key(labels.TOPOLOGY, _A, "The Topology whose levels the placement below names.", _BOTH),
    Key(labels.PLACEMENT_REQUIRED, _A, "The level, by its node label. All pods run within one domain of it.", _BOTH),
    Key(
        labels.PLACEMENT_PREFERRED,
        _A,
        "The level, by its node label. Pods run within one domain of it if it has room.",
        _BOTH,
    ),
    Key(labels.SEGMENT_SIZE, _A, "The number of pods in a segment. KAI places neighbouring pods together.", _PODS),
    Key(labels.SEGMENT_REQUIRED, _A, "The level, by its node label. Each segment runs within one domain of it.", _PODS),
    Key(
        labels.SEGMENT_PREFERRED,
        _A,
        "The level, by its node label. A segment runs within one domain of it if it has room.",
        _PODS,
    ),
    Key(
        labels.POD_INDEX_LABEL,
        _A,
        "The label with the index of a pod. KAI divides pods into segments by index.",
        _PODS,
    ),
    Key(labels.BATCH_MIN_MEMBER, _A, "The number of pods that must start together.", _WORK),
    Key(labels.PREEMPTION_DELAY, _A, "How long work must be pending before KAI evicts other work for it.", _WORK),
    Key(labels.STALENESS_GRACE, _A, "How long a gang may lack pods before KAI evicts all of it.", _WORK),
    Key(labels.EXPECTED_RUNTIME, _A, "The time from the start of work to its end, for `forecast`.", _WORK),
    Key(gpus.FRACTION, _A, "The part of one GPU that a pod gets, such as 0.5.", _PODS),
    Key(gpus.MEMORY, _A, "The MiB of one GPU's memory that a pod gets.", _PODS),
    Key(gpus.DEVICES, _A, "The number of GPUs that a pod gets such a part of.", _PODS),
    Key(gpus.CONTAINER, _A, "The container that gets the part of a GPU.", _PODS),
    *(Key(name, "both") for name in (*STATE, "runai/pod-index")),
    *(Key(f"grove.io/{name}", "both") for name in ("disable-managed-resource-protection", "reconcile-trigger")),
    *(Key(f"grove.io/{name}", "both") for name in ("auto-mnnvl", "mnnvl-group")),
)
"""All keys that KAI 0.17.0 (pkg/common/constants, pkg/podgrouper/podgrouper/plugins/constants,
pkg/scheduler/constants/labels) and Grove (operator/api/common, operator/internal/mnnvl) read, including keys that they
write themselves.
"""


KEY_UNKNOWN = Rule.error(
    "key-unknown",
    "A label or annotation is nearly one of KAI's, Grove's or kubectl-tas'.",
    "Nothing reads such a key, and nothing reports it: a placement with a misspelled name places nothing. Correct the "
    "name. If another tool reads this key, waive the rule there.",
    protects=Waiving.ANYBODY,
)
KEY_MISPLACED = Rule.error(
    "key-misplaced",
    "A label is written as an annotation, or an annotation as a label.",
    "KAI reads each key only in one of the two places. Move it to the other.",
    protects=Waiving.ANYBODY,
)
KEY_RESERVED = Rule.error(
    "key-reserved",
    "Work has a label or an annotation in which KAI or Grove keeps its own state.",
    "KAI copies the annotations of a workload to its PodGroup and trusts them. With a time to come in "
    "kai.scheduler/last-start-timestamp, LOW work keeps GPUs that other queues have a right to. Remove the key: KAI or "
    "Grove writes it. If you copied the object from a cluster, remove all such keys.",
)
_OF_GPUS = ("amd.com", "gpu", "kai.scheduler", "nvidia.com", "run.ai", "runai")
"""Domains before which people write annotations for a part of a GPU."""
_ENDINGS = (".x-k8s.io", ".io", ".dev", ".com", ".ai")
"""Endings that people wrongly append to a domain."""
DOMAINS = ("kai.scheduler", "kubectl-tas", "grove.io", "runai")
_SLIPS = 2
"""Maximum number of typing errors in a domain that is still taken for a known one."""
_SLIPS_BEFORE_A_NAME = 3
"""The same before a name that the known domain has, as in kai.scheduling/topology-required-placement."""
QUOTA_BYPASS = Rule.error(
    "quota-bypass",
    "Pods name their node, or the shard of a scheduler, themselves.",
    "With nodeName, the kubelet starts a pod without any scheduler, whatever is left of a quota. With "
    "kai.scheduler/node-pool, another scheduler than that of the pool's nodes takes it, or none. Remove the key. To "
    "run on certain nodes, use nodeSelector or affinity. spec.nodePool of the pool sets the shard.",
    protects=Waiving.CONFIG,
)
SYNC_BYPASS = Rule.error(
    "sync-bypass",
    "An annotation takes an object away from kustomize, Argo CD or Flux.",
    "The repository and the cluster would differ without a message: removed work keeps running and holds its GPUs, or "
    "reviewed work never runs. Remove the annotation. If the repository needs it, allow it for all in spec.rules of "
    "the Config: sync-bypass: off.",
    protects=Waiving.CONFIG,
)
_TABLES = {"labels": LABELS, "annotations": ANNOTATIONS, "keys": {**LABELS, **ANNOTATIONS}}
_JOINING = (labels.POD_GROUP, labels.SKIP_PODGROUPER)
"""Annotations by which a pod joins a PodGroup that KAI's podgrouper does not make."""
_NAMED = frozenset({*_TABLES, "field"})
_OF_DEVICES = frozenset({"annotations", "container", "mount", "runtime"})
"""The types of parts in which names of keys count, and those by which a pod takes devices."""
PLAIN = (labels.PRIORITY_CLASS, labels.POD_GROUP, *gpus.ANNOTATIONS)
"""Keys of KAI without a domain."""
_BY_NOBODY = frozenset(key.name for key in KEYS if key.reader is KeyReader.NOBODY)
_WRITTEN = "kubectl-tas, KAI or Grove writes it"
KNOWN = {w: frozenset(key.name for key in KEYS if key.where == w) for w in ("labels", "annotations", "both")}
_ALL = frozenset(key.name for key in KEYS)


def keys_of(origin: Origin, section_part: Part) -> Iterator[Diagnostic]:
    """Checks the keys of labels and annotations."""
    where, path, keys = section_part
    for key in keys if where in KNOWN else ():
        if key not in KNOWN[where] and key not in KNOWN["both"]:
            yield from _key(origin, where, (*path, key))


def _key(origin: Origin, where: str, path: KeyPath) -> Iterator[Diagnostic]:
    key = str(path[-1])
    other_map = "labels" if where == "annotations" else "annotations"
    if (finding := _part_of_gpu(origin, path) or leftover(origin, path)) is not None:
        yield finding
        return
    if key.startswith(labels.OWN_PREFIX) and (where == "labels" or key in KNOWN[other_map]):
        return  # check.workload_labels says more of those
    if key in KNOWN[other_map]:
        message = f"{key} is read among the {other_map}, not among the {where}"
        hint = f"Remove it: {_WRITTEN}." if key in _BY_NOBODY else f"Move it to {other_map}."
        yield Diagnostic(KEY_MISPLACED, message, origin.locate(path, key=True), hint=hint)
        return
    domain, slash, name = key.partition("/")
    if not slash:
        near = closest(key, PLAIN, most=1, folds=True)
        if near is not None:
            location = origin.locate(path, key=True)
            yield Diagnostic(KEY_UNKNOWN, f'nothing reads "{key}"', location, hint=question(key, near))
        return
    bare = next((domain.removesuffix(ending) for ending in _ENDINGS if domain.endswith(ending)), domain)
    named = [known for known in DOMAINS if f"{known}/{name}" in _ALL]
    likely = (
        closest(text, domains, most=min(most, len(text) // 4), folds=True)
        for domains, most in ((DOMAINS, _SLIPS), (named, _SLIPS_BEFORE_A_NAME))
        for text in (domain, bare)
    )
    intended_domain = domain if domain in DOMAINS else next(filter(None, likely), None)
    if intended_domain is None:
        return
    known_keys = sorted(x for k in KNOWN.values() for x in k if x.startswith(f"{intended_domain}/"))
    keys_here = [known_key for known_key in known_keys if known_key not in KNOWN[other_map] and known_key not in STATE]
    namesakes = (f"{known_domain}/{name}" for known_domain in DOMAINS if f"{known_domain}/{name}" in _ALL)
    near = closest(f"{intended_domain}/{name}", known_keys) or next(namesakes, None)
    hint = question(key, near) if near else f"Known: {', '.join(keys_here)}." if keys_here else "Remove it."
    hint = f"Did you mean {near}? Remove it: {_WRITTEN}." if near in _BY_NOBODY else hint
    yield Diagnostic(KEY_UNKNOWN, f'nothing reads the key "{key}"', origin.locate(path, key=True), hint=hint)


def _part_of_gpu(origin: Origin, path: KeyPath) -> Diagnostic | None:
    """Returns a finding about an annotation for a part of a GPU with a domain, as node labels of GPUs have one."""
    key, value = str(path[-1]), origin.value(path)
    domain, _, name = key.partition("/")
    hyphenated = re.sub("[._]", "-", name.lower())
    if domain not in _OF_GPUS or hyphenated not in (gpus.FRACTION, gpus.MEMORY):
        return None
    mebibytes = quantities.parse(value) if hyphenated == gpus.MEMORY and not str(value).isdecimal() else None
    text = f"{mebibytes / 2**20:.0f}" if mebibytes else value
    hint = f'Write {hyphenated}: "{text}"' + (", a number of MiB." if hyphenated == gpus.MEMORY else ".")
    message = f"nothing reads {key}, so these pods get no part of a GPU by it"
    return Diagnostic(KEY_UNKNOWN, message, origin.locate(path, key=True), hint=hint)


def reserved_of(origin: Origin, section_part: Part) -> Iterator[Diagnostic]:
    """Reports labels and annotations that only KAI or Grove may write."""
    owner, path, mapping = section_part
    label, value = RESERVATION
    if owner in ("labels", "keys") and mapping.get(label) == value:
        message = f"only KAI may write {label}: {value}: KAI counts no GPU of such a pod as used"
        yield Diagnostic(KEY_RESERVED, message, origin.locate((*path, label)), hint="Write another value.")
    for key in mapping if owner in _TABLES else ():
        row = state_of(str(key))
        if row is not None:
            message = f"only {setter_of(row.key)} may write {key}: {row.effect}"
            yield Diagnostic(KEY_RESERVED, message, origin.locate((*path, key), key=True), hint="Remove it.")


def check_argo_plugin(companion: FleetCompanion, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Reports a ConfigMap by which Argo adds a container to the pods of its agent (agent.go of Argo Workflows 3.7)."""
    kind = companion.declared.spec.metadata.labels.get("workflows.argoproj.io/configmap-type")
    if companion.kind == "ConfigMap" and kind == "ExecutorPlugin":
        message = "Argo adds the container of this plugin to pods that no pool knows"
        location = companion.declared.at("metadata", "labels", "workflows.argoproj.io/configmap-type")
        yield Diagnostic(QUOTA_BYPASS, message, location, hint="Remove it; an administrator installs plugins.")


def backdoors_of(origin: Origin, section_part: Part, values: Mapping[Decides, tuple[str, str]]) -> Iterator[Diagnostic]:
    """Reports keys and fields that differ from the pool's values in ``values``, or that are never allowed."""
    owner, path, mapping = section_part
    if owner == "field" and path == (*OWN_METADATA, "ownerReferences"):
        return  # check.gitops refuses it
    if owner == "field":
        yield from _opened(origin, FIELDS[str(path[-1])], path, mapping, values)
        return
    table = _TABLES.get(owner, {})
    for key in mapping if table else ():
        door = table.get(key)
        if door is not None and (door.decides is not Decides.SYNC or path == ("metadata", "annotations")):
            yield from _opened(origin, door, (*path, key), mapping[key], values)


def java_options_of(origin: Origin, section_part: Part) -> Iterator[Diagnostic]:
    """Reports variables with options for Java by which Spark makes other pods than those of the file. The driver takes
    each option -Dspark.NAME=VALUE as a setting (SparkSubmitCommandBuilder.java of Spark 3.5).
    """
    _, path, mapping = section_part
    if group_of(str(origin.data.get("apiVersion"))) != "sparkoperator.k8s.io":
        return
    for variable in environment.variables(mapping):
        is_changing = variable.is_elsewhere or OPTIONS.search(environment.unquoted(str(variable.value)))
        if variable.name in environment.JAVA and is_changing:
            message = f"{variable.name}: it changes pods, or their number, after validate has judged them"
            location = origin.locate((*path, *variable.path), key=variable.is_elsewhere)
            yield Diagnostic(QUOTA_BYPASS, message, location, hint="Write the settings in sparkConf.")


def queue_of_project(
    origin: Origin, section_part: Part, around: Surroundings, values: Mapping[Decides, tuple[str, str]]
) -> Iterator[Diagnostic]:
    """Reports a label ``project`` that names another queue: it counts for pods without a queue, such as those of a
    runtime. Follows calculateQueueName of KAI 0.17 (default_grouper.go).
    """
    owner, path, mapping = section_part
    queue = mapping.get(labels.PROJECT) if owner == "labels" else None
    value, reason = values.get(Decides.QUEUE, ("", ""))
    if value and isinstance(queue, str) and queue != value and queue in around.queues:
        yield conflict(origin, (*path, labels.PROJECT), value, reason, queue)


def joining_of(section_part: Part, sent: object) -> Iterator[Diagnostic]:
    """Reports annotations by which pods join a PodGroup, in a place from which an operator may copy them to pods.
    ``sent`` is the work of the document, or None. ``check.owned`` judges those of its pod templates.
    """
    _, path, mapping = section_part
    if not isinstance(sent, FleetWorkload | SubmittedSet):
        return
    joining_keys = [key for key in _JOINING if key in mapping]
    if joining_keys and path not in notes_above(sent):
        read = [pod.notes for pod in pods_of(sent)] if isinstance(sent, FleetWorkload) else []
        for key in joining_keys if path not in read else ():
            message = f"an operator may copy {key} from here to pods, and they would join a PodGroup that nobody checks"
            yield Diagnostic(QUOTA_BYPASS, message, sent.declared.at_key(*path, key), hint="Remove it.")


def _opened(
    origin: Origin, door: Backdoor, path: KeyPath, value_there: object, values: Mapping[Decides, tuple[str, str]]
) -> Iterator[Diagnostic]:
    if door.decides in values:
        value, reason = values[door.decides]
        if value_there is not None and value_there != value:
            yield conflict(origin, path, value, reason, value_there)
    elif door.decides is Decides.SYNC:
        if re.search(door.values, str(value_there)):
            message = f"{door.key}: {value_there} takes the object out of the sync: {door.effect}"
            hint = "Remove it, or let spec.rules of the Config allow it."
            yield Diagnostic(SYNC_BYPASS, message, origin.locate(path, key=True), hint=hint)
    elif door.effect and value_there and door.decides is not Decides.STATE and _counts(door, value_there):
        keys = value_there if door.values and isinstance(value_there, dict) else ()
        named = next((key for key in keys if re.search(door.values, str(key))), None)
        path = path if named is None else (*path, named)
        is_long = door.decides is Decides.UNSEEN
        message = f"{named or door.key}: {door.effect}" if is_long else f'{door.key} is "{value_there}": {door.effect}'
        seen = "Remove it, and write what it is for in the object itself."
        hint = seen if door.decides is Decides.UNSEEN else "Remove it; nodeSelector and affinity choose nodes too."
        yield Diagnostic(QUOTA_BYPASS, message, origin.locate(path, key=True), hint=hint)


def _counts(door: Backdoor, value_there: object) -> bool:
    """Whether a written value is one that bypasses the pool."""
    text = (
        " ".join(f"{key}={value}" for key, value in value_there.items())
        if isinstance(value_there, dict)
        else str(value_there)
    )
    text = environment.unquoted(text) if door.is_quoted else text
    return not door.values or re.search(door.values, text) is not None


def check_reserved(companion: Declared[Companion], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a companion that may make pods for keys of KAI and Grove."""
    if not is_harmless(companion.spec.apiVersion, companion.spec.kind):
        for section_part in parts(companion.origin.data):
            yield from reserved_of(companion.origin, section_part)


class WorkDocument(NamedTuple):
    """A document with pods, or with a PodGroup."""

    origin: Origin
    sent: FleetWorkload | SubmittedSet | None
    """The work of the document, if it has a pool."""
    group: FleetPodGroup | None
    """The PodGroup of the document, or the one that its Pod joins."""


class Surroundings:
    """The queues, ConfigMaps and claim templates that documents with pods may name."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.maps, self.channels = fleet, config_maps(fleet), dict[str, list[str]]()
        for _, space, template in fleet.compute_domains:
            self.channels.setdefault(space, []).append(template)

    @cached_property
    def queues(self) -> frozenset[str]:
        """The queues that work may be in."""
        return frozenset(queue for backend in self.fleet.backends for queue in self.fleet.leaf_queues(backend))

    def agreed(self, document: WorkDocument) -> Mapping[Decides, tuple[str, str]]:
        """Returns what the pool, or the PodGroup, of a document decides, with the reason."""
        group, sent = document.group, document.sent
        if group is None:
            return agreed(self.fleet, sent) if sent is not None else {}
        if group.declared.origin is not document.origin:
            return agreed_with(group)
        return agreed_shard(group.pool) if group.pool is not None else {}


def check_document(document: WorkDocument, around: Surroundings) -> Iterator[Diagnostic]:
    """Checks a workload, a PodCliqueSet or a PodGroup at any depth, whether its pool exists or not."""
    origin, values = document.origin, around.agreed(document)
    namespace = values.get(Decides.NAMESPACE, ("", ""))[0]
    for section_part in parts(origin.data):
        owner = section_part[0]
        if owner in _NAMED:
            yield from keys_of(origin, section_part)
            yield from labels_below(origin, section_part)
            yield from reserved_of(origin, section_part)
            yield from backdoors_of(origin, section_part, values)
            yield from queue_of_project(origin, section_part, around, values)
        if owner in ("amounts", "annotations"):
            yield from resources_of(origin, section_part)
        if owner == "container":
            yield from java_options_of(origin, section_part)
        if owner in ("annotations", "keys"):
            yield from joining_of(section_part, document.sent)
        if owner in _OF_DEVICES:
            channels = around.channels.get(namespace, ())
            yield from devices_of(origin, section_part, around.maps, namespace, channels=channels)
        if owner == "container":
            yield from secrets_of(origin, section_part)
        if owner in ("container", "key", "mount"):
            yield from expressions_of(origin, section_part)
