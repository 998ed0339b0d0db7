"""Rewrites work of another scheduler, or of KAI alone, as this repository wants it.

Each document keeps its comments: queue, class and levels become labels and annotations of this tool in the same place,
and all that only the other scheduler reads is removed. What has no equal here is listed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import did_you_mean, shortened
from kubectl_tas.check.fields import shape_of
from kubectl_tas.check.gitops import exported
from kubectl_tas.check.workload_labels import WORKLOAD_LABEL, WORKLOAD_POOL
from kubectl_tas.facts.kai import NON_PREEMPTIBLE_FROM, PRIORITY_CLASSES, Feature
from kubectl_tas.imports.foreign_keys import FIELDS, MEANING, OF_FOREIGN, OLD_KEYS, Says, is_of_yunikorn, scheduler_of
from kubectl_tas.imports.written import Unplaced, Wishes, distinct
from kubectl_tas.kinds import KINDS_OF_BATCH, SET, page_of
from kubectl_tas.kinds.backdoors import ANNOTATIONS, LABELS, Decides, parts, state_of
from kubectl_tas.kinds.backdoors import FIELDS as FIELDS_OF_PODS
from kubectl_tas.kinds.grouping import ANNOTATIONS as ROOT_ANNOTATIONS
from kubectl_tas.kinds.grouping import Gathered
from kubectl_tas.kinds.kubernetes import nearest
from kubectl_tas.kinds.page import Wait, WorkloadKind
from kubectl_tas.kinds.section import key_path, value_at, written
from kubectl_tas.load.document import Document, parse
from kubectl_tas.load.kinds import COMPANION, Kind, recognise, without_nulls
from kubectl_tas.load.osmofiles import template_root
from kubectl_tas.load.schema import items_of
from kubectl_tas.load.splice import Entry, RenamedEntry, set_values, without_document
from kubectl_tas.model import labels
from kubectl_tas.model.base import OWN_METADATA, KeyPath, whole_number
from kubectl_tas.model.config import nearest_priority
from kubectl_tas.model.kindlists import belongs_elsewhere
from kubectl_tas.model.osmo_workflow import PRIORITIES
from kubectl_tas.model.workloads import Workload, read
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import replica_types
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool

_DECIDED = frozenset(Decides) - {Decides.UNSEEN, Decides.SYNC}
"""Decisions of a pool for its work, which no key of the work may contradict."""
_ROOT_LABELS: KeyPath = (*OWN_METADATA, "labels")
_GROUP_KINDS = ("PodGroup",)
_POD_GROUP_KEYS = (labels.POD_GROUP, labels.SUBGROUP, labels.SKIP_PODGROUPER)
"""Keys by which pods join a PodGroup that somebody else writes."""
_PLAIN_NAMES = ("default-scheduler", "volcano", "yunikorn", "scheduler-plugins-scheduler", "koord-scheduler")
"""Names of schedulers whose work has a place here."""
_LEVEL_KEYS = (
    *(labels.PLACEMENT_REQUIRED, labels.PLACEMENT_PREFERRED),
    *(labels.SEGMENT_REQUIRED, labels.SEGMENT_PREFERRED),
)
TAKEN_OUT = "taken out"
_TITLES = {Says.REQUIRED: labels.PLACEMENT_REQUIRED, Says.PREFERRED: labels.PLACEMENT_PREFERRED}


@dataclass(slots=True)
class Adopted:
    """The files as this repository wants them."""

    texts: dict[str, str] = field(default_factory=dict)
    """Text of each file that changed, by its path."""
    becomes: list[str] = field(default_factory=list)
    """The result for each piece of work, one line each."""
    unequal: list[Unplaced] = field(default_factory=list)
    """Parts of the work without an equal here."""
    refusals: list[Diagnostic] = field(default_factory=list)
    """Decisions that only the user can make. With any of them nothing may be written."""


@dataclass(slots=True)
class _Group:
    """A gang as the other scheduler has it."""

    minimum: int | None = None
    queue: str = ""
    priority_class: str = ""
    members: int = 0


@dataclass(slots=True, kw_only=True)
class _Adopting:
    """All files to adopt, and what is known of them together."""

    fleet: Fleet
    wishes: Wishes
    adopted: Adopted
    classes: dict[str, str]
    groups: dict[tuple[str, str], _Group] = field(default_factory=dict)
    """Gangs by namespace and name."""
    kept_groups: set[str] = field(default_factory=set)
    """PodGroups that the repository or the files write by hand for KAI."""
    names: dict[str, int] = field(default_factory=dict)
    """Names of work that are taken, by kind and name."""


Place = tuple[str, int, KeyPath]
"""A document: its file, its index there, and its path in a List."""


def adopt(files: Mapping[str, str], fleet: Fleet, wishes: Wishes, only: Collection[Place] | None = None) -> Adopted:
    """Adopts all work in ``files``, texts by path, for the repository of ``fleet``. If ``only`` is given, all other
    documents are taken out.
    """
    adopting = _Adopting(fleet=fleet, wishes=wishes, adopted=Adopted(), classes=_classes(fleet, wishes))
    read_files = {path: _documents(path, text, adopting.adopted) for path, text in files.items()}
    for document in (each for documents in read_files.values() for each in documents):
        _survey(document, adopting)
    for path, documents in read_files.items():
        text = _adopted_text(files[path], documents, adopting, only)
        if text != files[path]:
            adopting.adopted.texts[path] = text
    return adopting.adopted


def _survey(document: Document, adopting: _Adopting) -> None:
    """Collects gangs, classes and names of one document."""
    kind, name, api_group = _text_at(document, "kind"), _name_or_prefix(document), _api_group(document)
    if kind in _GROUP_KINDS and scheduler_of(f"{api_group}/"):
        group = adopting.groups.setdefault((_namespace(document), name), _Group())
        group.minimum = _number(document.value(("spec", "minMember")))
        group.queue, group.priority_class = (_text_at(document, "spec", x) for x in ("queue", "priorityClassName"))
    elif kind in _GROUP_KINDS:
        adopting.kept_groups.add(name)
    elif kind.endswith("PriorityClass") and name not in adopting.wishes.priorities:
        value = document.value(("value",))
        if type(value) is int and name not in adopting.classes:
            adopting.classes[name] = _nearest(value) if kind == "PriorityClass" else nearest_priority(value)
    elif isinstance(_page(document, adopting.fleet), WorkloadKind):
        adopting.names[f"{kind}/{_text_at(document, 'metadata', 'name')}"] = 1
        for gang in dict.fromkeys(value for says, _, value in _sayings(document) if says is Says.GROUP):
            adopting.groups.setdefault((_namespace(document), str(gang)), _Group()).members += 1


def _documents(path: str, text: str, adopted: Adopted) -> list[Document]:
    """Returns the documents of a file, with each item of a List on its own."""
    if template_root(text) is not None:
        adopted.unequal.append(Unplaced("file", path, "it is a template of OSMO, which nothing has to adopt"))
        return []
    documents, findings = parse(path, text)
    adopted.refusals += findings
    split: list[Document] = []
    for document_or_finding in (each for document in documents for each in items_of(document)):
        if isinstance(document_or_finding, Diagnostic):
            adopted.refusals.append(document_or_finding)
        elif isinstance(document_or_finding.data, dict):
            split.append(document_or_finding)
    return split


def _classes(fleet: Fleet, wishes: Wishes) -> dict[str, str]:
    """Returns the priority by name of a class: as the user says, as the Config has it, and as KAI's own classes are."""
    of_kai = {name: _nearest(value) for name, value in PRIORITY_CLASSES.items()}
    of_config = {str(getattr(fleet.config.priorityClasses, priority)): priority for priority in PRIORITIES}
    return {**of_kai, **of_config, **wishes.priorities}


def _nearest(value: int) -> str:
    """Returns the priority of a PriorityClass. KAI may preempt work below 100, so this is LOW."""
    return "LOW" if value < NON_PREEMPTIBLE_FROM else nearest_priority(value)


def _text_at(document: Document, *path: str | int) -> str:
    value = document.value(path)
    return value if isinstance(value, str) else ""


def _api_group(document: Document) -> str:
    return _text_at(document, "apiVersion").rpartition("/")[0]


def _namespace(document: Document) -> str:
    return _text_at(document, "metadata", "namespace") or "default"


def _name_or_prefix(document: Document) -> str:
    return _text_at(document, "metadata", "name") or _text_at(document, "metadata", "generateName")


def _page(document: Document, fleet: Fleet) -> WorkloadKind | Kind | None:
    """Returns the page of work, the kind of a companion, and None for all else."""
    kind = recognise(document, fleet.config)
    if not isinstance(kind, Kind):
        return None
    return kind.page or page_of(kind.name) or (kind if kind.model_path == COMPANION else None)


def _number(value: object) -> int | None:
    number = whole_number(value) if isinstance(value, str) else value
    return number if type(number) is int and number > 0 else None


def _adopted_text(text: str, documents: Sequence[Document], adopting: _Adopting, only: Collection[Place] | None) -> str:
    """Returns the text of a file with all its documents adopted. Documents of the other scheduler are taken out."""
    works: list[_Work] = []
    leaving: list[Document] = []
    companions: list[Document] = []
    for document in documents:
        page = _page(document, adopting.fleet)
        group, kind = _api_group(document), _text_at(document, "kind")
        is_class = kind == "PriorityClass"
        is_left_out = only is not None and (document.path, document.index, document.within) not in only
        is_foreign = is_class or scheduler_of(f"{group}/") or scheduler_of(f"{group}/group-name")
        if is_left_out or (page is None and is_foreign):
            leaving.append(document)
        elif isinstance(page, Kind):
            companions.append(document)
        elif page is not None:
            works.append(_Work(document, page, adopting))
    moved = {work.old_namespace for work in works if work.is_moved}
    for work in works:
        text = work.spliced(text)
    for document in companions:
        entries = [*_removals(document, exported(document)[1])]
        if _text_at(document, "metadata", "namespace") in moved:
            entries += _removals(document, [("metadata", "namespace")])
        text = _set(text, document, entries, adopting.adopted)
    for document in leaving:
        kind, name = _text_at(document, "kind"), _name_or_prefix(document)
        priority = adopting.classes.get(name) if kind.endswith("PriorityClass") else None
        elsewhere = belongs_elsewhere(_text_at(document, "apiVersion"), kind)
        reason = f"its work is {priority} here" if priority else elsewhere
        if kind not in _GROUP_KINDS:
            reason = reason or "only the other scheduler reads it"
            adopting.adopted.unequal.append(Unplaced(kind, name, f"{TAKEN_OUT}: {reason}"))
    return _without(text, documents, leaving, adopting.adopted)


def _without(text: str, documents: Sequence[Document], leaving: Sequence[Document], adopted: Adopted) -> str:
    """Returns the text without some documents. A List without other items goes as a whole."""
    staying = {document.index for document in documents if document not in leaving}
    for document in sorted(leaving, key=lambda each: (-each.index, [-1 * int(step) for step in each.within[1::2]])):
        try:
            if document.index in staying:
                text = set_values(text, document.index, [(document.within, None, None)])
        except TasError as error:
            adopted.refusals.append(_by_hand(document, error))
    for index in sorted({document.index for document in leaving} - staying, reverse=True):
        try:
            text = without_document(text, index) if text else text
        except TasError as error:
            adopted.refusals.append(_by_hand(next(each for each in leaving if each.index == index), error))
    return text


def _by_hand(document: Document, error: TasError) -> Diagnostic:
    return Diagnostic(WORKLOAD_LABEL, error.message, document.locate(("kind",)), hint="Edit this document by hand.")


def _set(text: str, document: Document, entries: list[Entry], adopted: Adopted) -> str:
    try:
        below = [((*document.within, *path), value, after) for path, value, after in entries]
        return set_values(text, document.index, below) if below else text
    except TasError as error:
        adopted.refusals.append(_by_hand(document, error))
        return text


def _removals(document: Document, paths: Iterable[KeyPath], added: Iterable[KeyPath] = ()) -> Iterator[Entry]:
    """Yields the removals of paths. A mapping that would become empty is removed, unless something goes there."""
    going = set(paths)
    filled = {path[:end] for path in added for end in range(len(path))}
    while True:
        above = {
            path[:-1]
            for path in going
            if len(path) > 1 and path[:-1] not in filled and _is_emptied(document.value(path[:-1]), path[:-1], going)
        }
        if above <= going:
            break
        going |= above
    for path in sorted(going, key=lambda each: [(isinstance(step, int), step) for step in each], reverse=True):
        if not any(path[:end] in going for end in range(1, len(path))):
            yield path, None, None


def _is_emptied(value: object, path: KeyPath, going: set[KeyPath]) -> bool:
    return isinstance(value, dict) and all((*path, key) in going for key in value)


def _sayings(document: Document) -> Iterator[tuple[Says | None, KeyPath, Any]]:
    """Yields what a document says to a scheduler: its meaning, its path and its value. None: it has no equal."""
    is_foreign = bool(scheduler_of(f"{_api_group(document)}/"))
    document_parts = list(parts(document.data))
    said_values = (value for _, _, value in document_parts)
    is_of_old = any(x == "yunikorn" or (isinstance(x, dict) and any(map(is_of_yunikorn, x))) for x in said_values)
    plain = OLD_KEYS if is_of_old else {}
    for place_kind, path, value in document_parts:
        if place_kind in ("labels", "annotations", "keys"):
            for key, text in value.items():
                if says := (plain[key],) if key in plain else _meaning_of_key(str(key), place_kind):
                    yield says[0], (*path, key), text
        elif place_kind == "field":
            row = FIELDS_OF_PODS[str(path[-1])]
            if row.decides in _DECIDED:
                of_field = {Decides.QUEUE: Says.QUEUE, Decides.PRIORITY: Says.PRIORITY}
                yield of_field.get(row.decides, Says.HERE), path, value
    for path, value in _fields(document.data, ()):
        name = ".".join(str(step) for step in path[-2:])
        row_of_field = FIELDS.get(name) or (OF_FOREIGN.get(name) if is_foreign else None)
        if row_of_field is not None:
            yield row_of_field[0], path, value


def _meaning_of_key(key: str, where: str) -> tuple[Says | None] | None:
    """Returns the meaning of a label or an annotation. None: no scheduler reads it."""
    if key in MEANING:
        return (MEANING[key],)
    if key in _POD_GROUP_KEYS:
        return (Says.HERE,)
    row = (LABELS if where == "labels" else ANNOTATIONS).get(key) or state_of(key)
    if row is not None and row.decides in _DECIDED:
        return (Says.HERE,)
    return (None,) if scheduler_of(key) else None


def _fields(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in children:
        yield (*path, key), below
        yield from _fields(below, (*path, key))


class _Work:
    """One piece of work: what it says to its scheduler, and what it will say here."""

    def __init__(self, document: Document, page: WorkloadKind, adopting: _Adopting) -> None:
        self._document, self._page, self._adopting = document, page, adopting
        self._kind, self._name = _text_at(document, "kind"), _name_or_prefix(document)
        self.old_namespace = _text_at(document, "metadata", "namespace")
        self._said: dict[Says | None, dict[KeyPath, Any]] = {}
        for says, path, value in _sayings(document):
            self._said.setdefault(says, {}).setdefault(path, value)
        self._gone: dict[KeyPath, None] = dict.fromkeys(
            path for values in self._said.values() for path in values if self._goes(path)
        )
        self._added: dict[KeyPath, str | int] = {}
        self._lost: dict[str, None] = {}
        target = self._target()
        if target is not None:
            self._target_namespaces = (target[1] or target[0]).namespaces
            pool = target[0]
            self._plan_name()
            namespace, allowed = self.old_namespace, self._target_namespaces
            if namespace in allowed[1:]:
                self._gone.pop(("metadata", "namespace"), None)
            elif namespace not in ("", allowed[0]):
                condition = "what it names, such as claims, ConfigMaps and Secrets, must be there"
                self._lost[f"namespace {namespace}: it runs in {allowed[0]}; {condition}"] = None
            self._plan_priority()
            if self._page.makes.is_set or self._page is SET.page:
                for says in (Says.REQUIRED, Says.PREFERRED, Says.SLICE_LEVEL):
                    for label in self._said.get(says, {}).values():
                        self._lost[f"level {label}: a {self._kind} says it in topologyConstraint"] = None
            else:
                self._plan_gang(self._page, pool)
                self._plan_levels(self._page, pool)
            self._plan_start(self._page)
            self._plan_deadline()
            platforms = list(pool.platforms.by_name)
            if self._is_of_kueue and len(platforms) > 1:
                way = f"write a nodeSelector and tolerations, as those of {shortened(platforms)} in pool {pool.name}"
                self._lost[f"the node labels and tolerations of its flavor: its pods may run on any node; {way}"] = None
            self._tell_rest()

    @property
    def is_moved(self) -> bool:
        """Whether the work leaves the namespace that it names."""
        return ("metadata", "namespace") in self._gone

    def spliced(self, text: str) -> str:
        """Returns the text of the file with the work adopted."""
        adopted = self._adopting.adopted
        entries: list[Entry] = []
        gone = dict.fromkeys((*self._gone, *exported(self._document)[1]))
        for path, value in self._added.items():
            if self._document.value(path) is not None:
                entries.append((path, value, None))
                gone.pop(path, None)
                continue
            old = next((each for each in gone if each[:-1] == path[:-1] and self._becomes(each, path)), None)
            if old is None:
                after = "name" if path in ((*_ROOT_LABELS, labels.POOL), ("metadata", "name")) else None
                entries.append((path, value, after))
            else:
                del gone[old]
                entries.append((old, RenamedEntry(str(path[-1]), value), None))
        entries += _removals(self._document, gone, self._added)
        adopted.unequal += (Unplaced(self._kind, self._name, reason) for reason in self._lost)
        if entries:
            changes = ", ".join(f"{path[-1]}: {value}" for path, value in self._added.items())
            adopted.becomes.append(f"{self._kind} {self._name}: {changes or 'without what KAI and render write'}")
        return _set(text, self._document, entries, adopted)

    def _becomes(self, old: KeyPath, new: KeyPath) -> bool:
        """Whether a key may take the place of another: they say the same to the two schedulers."""
        pairs = {
            labels.POOL: Says.QUEUE,
            labels.PRIORITY: Says.PRIORITY,
            labels.PLACEMENT_REQUIRED: Says.REQUIRED,
            labels.PLACEMENT_PREFERRED: Says.PREFERRED,
            labels.SEGMENT_REQUIRED: Says.SLICE_LEVEL,
            labels.SEGMENT_SIZE: Says.SLICE_SIZE,
            labels.BATCH_MIN_MEMBER: Says.MINIMUM,
            labels.GANG: Says.GROUP,
            "name": None,
        }
        if new == ("metadata", "name"):
            return old == ("metadata", "generateName")
        return old in self._said.get(pairs.get(str(new[-1])), {}) and new[-1] in pairs

    def _goes(self, path: KeyPath) -> bool:
        """Whether a key goes. KAI's keys for a PodGroup stay if somebody writes that PodGroup by hand."""
        if path[-1] not in _POD_GROUP_KEYS:
            return True
        group = value_at(self._document.data, *path[:-2], "annotations", labels.POD_GROUP)
        return group not in self._adopting.kept_groups

    def _target(self) -> tuple[FleetPool, FleetSubpool | None] | None:
        """Returns the pool of the work. None, with a refusal, if nobody has said it."""
        fleet, wishes = self._adopting.fleet, self._adopting.wishes
        pool_label = value_at(self._document.data, *_ROOT_LABELS, labels.POOL)
        group = self._group
        queues = dict.fromkeys(str(value) for value in self._said.get(Says.QUEUE, {}).values() if value)
        if group is not None and group.queue:
            queues[group.queue] = None
        target_name = wishes.pool or (pool_label if isinstance(pool_label, str) else "") or self._of_queues(queues)
        target = fleet.target(target_name) if target_name else None
        if target is None:
            target_names = fleet.target_names()
            if target_name:
                message = f'no pool "{target_name}"'
                hint = did_you_mean(target_name, target_names, f"There is {shortened(target_names)}.")
            elif queues:
                queue = next(iter(queues))
                message = f'no pool has the queue "{queue}" of this {self._kind}'
                hint = f"Say which pool it becomes: --queue {queue}=POOL, with one of {shortened(target_names)}."
            else:
                message = f"nothing says to which pool this {self._kind} belongs"
                hint = f"Say it: --pool POOL, with one of {shortened(target_names)}."
            self._refuse(WORKLOAD_POOL, message, hint if target_names else "Declare a pool first, in pools/.")
            return None
        name = target[1].canonical if target[1] else target[0].name
        if name != pool_label:
            self._added[*_ROOT_LABELS, labels.POOL] = name
        for queue in queues:
            if len(queues) > 1:
                self._lost[f"queue {queue}: all its pods are in one queue, that of {name}"] = None
        return target

    def _of_queues(self, queues: Iterable[str]) -> str:
        """Returns the pool of the first queue that has one. Empty: none has."""
        fleet, named = self._adopting.fleet, self._adopting.wishes.queues
        namespace = _namespace(self._document)
        name_by_folded = {names.fold(each): each for each in fleet.target_names()}
        by_queue = {leaf.queue: leaf.name for pool in fleet.pools for leaf in pool.leaves}
        shorts: dict[str, list[str]] = {}
        for each in fleet.target_names():
            shorts.setdefault(each.rpartition(names.SEPARATOR)[2], []).append(each)
        for queue in queues:
            last = names.fold(queue).rpartition(".")[2]
            target_name = named.get(f"{namespace}/{queue}") or named.get(queue) or by_queue.get(queue)
            target_name = target_name or name_by_folded.get(names.fold(queue)) or name_by_folded.get(last)
            if target_name is None and len(shorts.get(last, ())) == 1:
                target_name = shorts[last][0]
            if target_name:
                return target_name
        return ""

    @cached_property
    def _group(self) -> _Group | None:
        groups = (str(value) for value in self._said.get(Says.GROUP, {}).values())
        groups_here = (self._adopting.groups.get((_namespace(self._document), name)) for name in groups)
        return next((group for group in groups_here if group is not None), None)

    @cached_property
    def _workload(self) -> Workload | None:
        return read(self._page, without_nulls(self._document.data, texts=("labels", "annotations")))[0]

    def _waits(self, page: WorkloadKind, pool: FleetPool) -> Iterator[Wait]:
        """Yields the delays with which a gang of all pods would never start."""
        if self._workload is not None:
            pods, _ = replica_types(self._workload)
            yield from page.start.waits(Gathered(self._workload.document, pods, pool.backend.has, is_owned=True))

    @cached_property
    def _pods(self) -> int | None:
        """The number of pods. None if the document does not say it."""
        return None if self._workload is None else sum(pods.replicas for pods in self._workload.pod_sets)

    def _plan_name(self) -> None:
        prefix = _text_at(self._document, "metadata", "generateName")
        if not prefix:
            return
        self._gone["metadata", "generateName"] = None
        if _text_at(self._document, "metadata", "name"):
            return
        adopted_names = self._adopting.names
        repository_names = {each.name for each in self._adopting.fleet.submissions if each.kind == self._kind}
        start = f"{self._kind}/"
        adopted_here = {name.removeprefix(start) for name in adopted_names if name.startswith(start)}
        name = distinct([prefix.rstrip("-.") or "work"], repository_names | adopted_here)[0]
        adopted_names[f"{self._kind}/{name}"] = 1
        self._added["metadata", "name"] = name

    def _plan_priority(self) -> None:
        label_path = (*_ROOT_LABELS, labels.PRIORITY)
        classes = {str(value): path for path, value in self._said.get(Says.PRIORITY, {}).items() if value}
        group = self._group
        if group is not None and group.priority_class:
            classes.setdefault(group.priority_class, ("kind",))
        unknown = [name for name in classes if name not in self._adopting.classes]
        if self._document.value(label_path) is not None:
            return
        for name in unknown:
            message = f'nothing says which priority the class "{name}" is here'
            hint = f"Say it: --priority-class {name}=LOW if other work may preempt it, else NORMAL or HIGH."
            self._refuse(WORKLOAD_LABEL, message, hint, classes[name])
        priority_by_class = {name: self._adopting.classes[name] for name in classes if name not in unknown}
        priority = next(iter(priority_by_class.values()), "")
        for name, class_priority in priority_by_class.items():
            if class_priority != priority:
                self._lost[f"class {name}: all its pods have one priority, {priority}"] = None
        labelled = [x for path, x in self._said.get(Says.HERE, {}).items() if path[-1] == labels.PREEMPTIBILITY]
        states = [str(x) for x in labelled if x in ("preemptible", "non-preemptible")]
        may = self._said.get(Says.PREEMPTIBLE, {}).values()
        if not priority and self._is_of_kai:
            priority = self._adopting.classes[self._page.gang.default_class]
        if states[:1] == ["preemptible"] or (not priority_by_class and "true" in map(str, may)):
            priority = "LOW"
        elif states[:1] == ["non-preemptible"] and priority == "LOW":
            priority = "NORMAL"
            self._lost["its class is LOW but nothing preempts it: it becomes NORMAL"] = None
        if priority:
            self._added[label_path] = priority

    @property
    def _is_of_kai(self) -> bool:
        fields = self._said.get(Says.HERE, {}).items()
        schedulers = {value for path, value in fields if path[-1] == "schedulerName"}
        kai = {backend.scheduler_name for backend in self._adopting.fleet.backends if backend.is_kai}
        keys = {path[-1] for path in self._said.get(Says.QUEUE, {})}
        return bool(schedulers & {*kai, "kai-scheduler"} or keys & {labels.QUEUE, labels.RUNAI_QUEUE})

    @property
    def _is_of_kueue(self) -> bool:
        """Whether Kueue holds the work until it has room."""
        return any(scheduler_of(str(path[-1])) == "Kueue" for path in self._said.get(Says.QUEUE, {}))

    def _plan_gang(self, page: WorkloadKind, pool: FleetPool) -> None:
        group, gang = self._group, page.gang
        written_minimum = (_number(value) for value in self._said.get(Says.MINIMUM, {}).values())
        minimum = next((number for number in written_minimum if number), None) or (group.minimum if group else None)
        if self._document.value((*_ROOT_LABELS, labels.OWNED)) or self._document.value((*_ROOT_LABELS, labels.GANG)):
            return
        if group is not None and group.members > 1:
            name = next(str(value) for value in self._said[Says.GROUP].values())
            self._added[*_ROOT_LABELS, labels.GANG] = name
            if minimum is not None and group.minimum is not None and minimum < (self._pods or 1) * group.members:
                self._lost[f"a gang of {minimum} pods: KAI starts all pods of the gang {name} at once"] = None
            return
        pods = self._pods
        if minimum is None and group is None:
            if self._is_of_kueue and gang.reads_batch_minimum and pods is not None and pods > 1:
                hint = f'the annotation {labels.BATCH_MIN_MEMBER}: "{pods}" makes them a gang'
                self._lost[f"quota for all its pods at once: KAI starts them one by one; {hint}"] = None
            return
        needed_pods = minimum or pods
        if gang.reads_batch_minimum:
            if needed_pods is not None and needed_pods > 1:
                self._added[*ROOT_ANNOTATIONS, labels.BATCH_MIN_MEMBER] = str(needed_pods)
            return
        is_gang = gang.one_pod_group is not False and not gang.starts_one_by_one and gang.has_plugin
        if not is_gang and pods != 1 and (group is not None or minimum != 1):
            if gang.not_owned:
                self._lost[f"a gang: {gang.not_owned}"] = None
                return
            if wait := next(self._waits(page, pool), None):
                self._lost[f"a gang: {wait.reason}. {wait.instead}, and label it {labels.OWNED}: owned"] = None
                return
            self._added[*_ROOT_LABELS, labels.OWNED] = "owned"
        if needed_pods is not None and pods is not None and needed_pods < pods:
            self._lost[f"a gang of {needed_pods} pods: KAI starts all {pods} at once"] = None

    def _plan_levels(self, page: WorkloadKind, pool: FleetPool) -> None:
        """Plans placements. KAI reads the level of a whole gang on the object, and segments on a pod template."""
        by_label = {level.label: level.key for level in pool.levels} | {level.key: level.key for level in pool.levels}
        gangs = [(*_ROOT_LABELS, label) for label in (labels.OWNED, labels.GANG)]
        is_gang = any(path in self._added or self._document.value(path) for path in gangs)
        alone = page.gang.one_pod_group is False and not is_gang
        rights, placed_at = page.gang.may_be_read, page.gang.placed_at
        is_read = pool.backend.has(rights) if isinstance(rights, Feature) else rights
        if placed_at == ROOT_ANNOTATIONS and not (is_read or is_gang):
            placed_at = ()
        for says, annotation in _TITLES.items():
            label_by_path = self._said.get(says, {})
            keys = {path: by_label.get(str(label)) for path, label in label_by_path.items()}
            for path, label in label_by_path.items():
                if keys[path] is None:
                    message = f"level {label}: pool {pool.name} has no such level"
                    self._lost[f"{message}; add it to its topology, and adopt again"] = None
            key_by_path = {path: key for path, key in keys.items() if key}
            if not key_by_path or alone:
                continue
            if not placed_at:
                self._lost[f"level {next(iter(key_by_path.values()))}: KAI reads no level of a {self._kind}"] = None
                continue
            several = dict.fromkeys(key_by_path.values())
            if len(several) > 1 and page.gang.placed_parts is not None and pool.backend.has(page.gang.placed_parts):
                for path, key in key_by_path.items():
                    self._added[*path[:-1], annotation] = key
                continue
            coarsest = next(level.key for level in pool.levels if level.key in several)
            for key in several:
                if key != coarsest:
                    self._lost[f"level {key} of some pods: a {self._kind} has one level, {coarsest}"] = None
            if self._is_of_kueue and self._workload and sum(x.replicas > 0 for x in self._workload.pod_sets) > 1:
                reason = f"all pods of a {self._kind} share one {coarsest} here"
                self._lost[f"level {coarsest} of each pod template by itself, as Kueue places them: {reason}"] = None
            annotation_path = (*placed_at, annotation)
            if self._document.value(annotation_path) is None:
                self._added[annotation_path] = coarsest
        self._plan_segments(page, pool, by_label)
        for annotation in (labels.PLACEMENT_REQUIRED, labels.PLACEMENT_PREFERRED):
            path, idle = (*ROOT_ANNOTATIONS, annotation), alone or not placed_at
            if idle and (level := self._document.value(path)) is not None:
                self._gone[path] = None
                reason = "each pod is a gang of its own" if alone else f"KAI reads none on a {self._kind}"
                self._lost[f"level {level}: {reason}, so it binds nothing"] = None
        topologies, backends = self._adopting.fleet.topologies, self._adopting.fleet.backends
        declared = [name for each in topologies for name in (each.name, *map(each.name_on, backends))]
        for path, name in _fields(self._document.data, ()):
            if path[-1] == labels.TOPOLOGY and name not in declared:
                beside = value_at(self._document.data, *path[:-1])
                if all(beside[key] in by_label for key in _LEVEL_KEYS if key in beside):
                    self._gone[path] = None

    def _plan_segments(self, page: WorkloadKind, pool: FleetPool, by_label: Mapping[str, str]) -> None:
        places_parts = page.gang.placed_parts is not None and pool.backend.has(page.gang.placed_parts)
        sizes, slices = self._said.get(Says.SLICE_SIZE, {}), self._said.get(Says.SLICE_LEVEL, {})
        for path, label in slices.items():
            size = next((value for size_path, value in sizes.items() if size_path[:-1] == path[:-1]), None)
            key = by_label.get(str(label))
            is_whole_job = places_parts and str(self._document.value((*path[:-4], "parallelism"))) == str(size)
            if is_whole_job and key is not None:
                self._added[*path[:-1], labels.PLACEMENT_REQUIRED] = key
            elif not page.gang.divided:
                self._lost[f"slices of {size} pods: KAI divides no {self._kind} into segments"] = None
            elif key is None:
                self._lost[f"level {label} of slices: the pool has no such level"] = None
            elif size is not None:
                self._added[*path[:-1], labels.SEGMENT_REQUIRED] = key
                self._added[*path[:-1], labels.SEGMENT_SIZE] = str(size)

    def _plan_start(self, page: WorkloadKind) -> None:
        """Takes away what holds the work until the other scheduler lets it go."""
        for path in map(key_path, page.stop.suspended_by) if self._is_of_kueue else ():
            if self._document.value(path) is True:
                self._gone[path] = None
        for path, value in _fields(self._document.data, ()):
            if path[-1] == "managedBy" and isinstance(value, str) and scheduler_of(value):
                self._gone[path] = None
                self._lost[f"managedBy {value}: no work moves to another cluster"] = None
            elif path[-1] in ("schedulingGates", "finalizers") and isinstance(value, list) and value:
                held = [scheduler_of(str(each.get("name") if isinstance(each, dict) else each)) for each in value]
                held_paths = ((*path, index) for index, scheduler in enumerate(held) if scheduler)
                self._gone |= dict.fromkeys([path] if all(held) else held_paths)

    def _plan_deadline(self) -> None:
        for path, value in self._said.get(Says.DEADLINE, {}).items():
            seconds = _number(value)
            shape = shape_of(_text_at(self._document, "apiVersion"), self._kind, nearest(None))
            spec = (shape.fields or {}).get("spec")
            policy = ((spec.fields or {}) if spec else {}).get("runPolicy")
            for where, fields in (((), spec), (("runPolicy",), policy)):
                deadline_path = ("spec", *where, "activeDeadlineSeconds")
                if seconds is not None and fields is not None and "activeDeadlineSeconds" in (fields.fields or {}):
                    if self._document.value(deadline_path) is None:
                        self._added[deadline_path] = seconds
                    break
            else:
                self._lost[f"{path[-1]}: {value}: nothing ends a {self._kind} after a time"] = None

    def _tell_rest(self) -> None:
        if scheduler := scheduler_of(f"{_api_group(self._document)}/"):
            # syncJob of pkg/controllers/job/job_controller_actions.go makes no pods before the PodGroup is Inqueue
            reason = f"{scheduler}'s controller makes its pods once {scheduler}'s scheduler admits it"
            self._lost[f"its kind: {reason}. Write {KINDS_OF_BATCH} instead"] = None
        for path, value in self._said.get(None, {}).items():
            self._lost[f"{path[-1]}: {value}: only {scheduler_of(str(path[-1]))} reads it"] = None
        for path, value in self._said.get(Says.HERE, {}).items():
            if path[-1] == "nodeName":
                self._lost[f"nodeName {value}: no pod names its node; write a nodeSelector"] = None
            elif path[-1] == "schedulerName" and value not in _PLAIN_NAMES and not self._is_of_kai:
                self._lost[f"scheduler {value}: KAI places its pods"] = None
            reason = (FIELDS.get(".".join(map(str, path[-2:]))) or OF_FOREIGN.get(written(path)) or ("", ""))[1]
            if reason:
                self._lost[f"{path[-1]}: {reason}"] = None

    def _refuse(self, rule: Any, message: str, hint: str, path: KeyPath = ("kind",)) -> None:
        location: Location = self._document.locate(path)
        self._adopting.adopted.refusals.append(Diagnostic(rule, message, location, hint=hint))
