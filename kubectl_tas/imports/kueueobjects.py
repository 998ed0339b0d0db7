"""Reads objects of Kueue: their quotas for the resources that KAI divides, and the features that only Kueue has.

Follows ``apis/kueue/v1beta1`` and ``v1beta2`` of kubernetes-sigs/kueue 0.19. A malformed object becomes a finding at
its place in the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from kubectl_tas.base.diagnostics import Diagnostic, Related
from kubectl_tas.base.late import dataclass
from kubectl_tas.check.unique import NAME_DUPLICATE
from kubectl_tas.facts import gpus
from kubectl_tas.facts.quantities import RESOURCES, Amounts, ResourceName, each, parse, refused
from kubectl_tas.imports.written import Unplaced
from kubectl_tas.load.document import Document
from kubectl_tas.load.schema import invalid_value, missing_field, wrong_type
from kubectl_tas.model.base import KeyPath

GROUP = "kueue.x-k8s.io"
QUEUE_NAME = f"{GROUP}/queue-name"
"""The label in which work names its LocalQueue."""
PRIORITY_CLASS = f"{GROUP}/priority-class"
"""The label in which work names its WorkloadPriorityClass."""
CLUSTER = "<cluster>"
"""File name of objects that come from a cluster and not from a file."""
READ = ("ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Topology", "WorkloadPriorityClass")
"""The kinds to read."""
RESOURCE_NAMES = tuple(
    f"{name}.{GROUP}"
    for name in (
        *("clusterqueues", "cohorts", "localqueues"),
        *("resourceflavors", "topologies", "workloadpriorityclasses", "admissionchecks"),
    )
)
"""The resources to request from an API server."""
_TYPES: dict[type, str] = {dict: "object", list: "array", str: "string", int: "integer"}
MAX_QUANTITY = 10**17
"""More bytes than any cluster has."""
LIMITLESS: Mapping[ResourceName, int] = {"gpu": MAX_QUANTITY + 1, "cpu": 10**11, "memory": 10**16}
"""GPUs, millicores and bytes that no cluster has: who writes so many wants no limit."""
T = TypeVar("T", dict[str, Any], list[Any], str, int)

_PREEMPTION = "KAI reclaims LOW work for queues below their share, and preempts it for a higher priority in its queue"
_STOPPED = "KAI starts work in each queue; no field stops that"
_FLAVORS = "KAI tries no flavors one after the other; work goes to any node that its pods may run on"
_CHECKS = "KAI waits for no admission check"
_OTHER = "kubectl-tas does not know this field"
_LENDS = "it bounds the maximum of each other queue; KAI has no bound for what they borrow together"
_REASONS: dict[str, dict[str, str]] = {
    "ClusterQueue": {
        "queueingStrategy": "KAI skips work that has no room, and starts later work",
        "flavorFungibility": _FLAVORS,
        "concurrentAdmissionPolicy": _FLAVORS,
        "preemption": _PREEMPTION,
        "admissionChecks": _CHECKS,
        "admissionChecksStrategy": _CHECKS,
        "stopPolicy": _STOPPED,
        "admissionScope": "KAI weighs past use for all queues or for none, by a setting of its own",
    },
    "LocalQueue": {
        "stopPolicy": _STOPPED,
        "fairSharing": "the work of all LocalQueues of a ClusterQueue is in one queue of KAI",
    },
    "Cohort": {},
    "ResourceFlavor": {
        "nodeTaints": "Kubernetes compares the taints of nodes; pods must tolerate these, as with Kueue",
    },
}
"""Reasons why fields cannot be imported, by kind."""
_PLACED = {
    "ClusterQueue": ("resourceGroups", "cohort", "cohortName", "namespaceSelector", "fairSharing"),
    "Cohort": ("resourceGroups", "parent", "parentName", "fairSharing"),
    "LocalQueue": ("clusterQueue",),
    "ResourceFlavor": ("nodeLabels", "tolerations", "topologyName"),
}
"""The fields to read, by kind."""
_QUOTA = ("name", "nominalQuota", "borrowingLimit", "lendingLimit")
_DEFAULTS: tuple[object, ...] = (
    *(None, {}, [], "", "None", "BestEffortFIFO", {"admissionMode": "NoAdmissionFairSharing"}),
    *({"whenCanBorrow": name, "whenCanPreempt": "TryNextFlavor"} for name in ("MayStopSearch", "Borrow")),
)
"""Values without information: the defaults that Kueue's API fills in."""
_WHOLE = {
    "AdmissionCheck": _CHECKS,
    "MultiKueueConfig": "one repository may be for several clusters, each a backend of tas.yaml; no work moves",
    "MultiKueueCluster": "one repository may be for several clusters, each a backend of tas.yaml; no work moves",
    "ProvisioningRequestConfig": "a cluster autoscaler sees the pods that KAI leaves Pending",
    "Workload": "Kueue makes it",
}
"""Reasons why kinds of Kueue cannot be imported."""


class KueueObject:
    """An object as it was read. A malformed part becomes a finding and counts as missing."""

    def __init__(self, document: Document, findings: list[Diagnostic]) -> None:
        self.document = document
        self._findings = findings
        self.kind = str(document.value(("kind",)))
        self.name = self.text(("metadata", "name"))
        self.namespace = self.text(("metadata", "namespace")) or "default"

    @property
    def key(self) -> str:
        """The name that identifies the object among those of its kind."""
        return f"{self.namespace}/{self.name}" if self.kind == "LocalQueue" else self.name

    def value(self, path: KeyPath, type_: type[T]) -> T:
        """Returns the value at a path; an empty value if it is missing or has another type."""
        value = self.document.value(path)
        if isinstance(value, type_) and not isinstance(value, bool):
            return value
        if value is not None:
            self.add(wrong_type(self.document, path, value, (_TYPES[type_],), {}))
        return type_()

    def text(self, path: KeyPath) -> str:
        """Returns the text at a path."""
        return self.value(path, str)

    def required(self, path: KeyPath) -> str:
        """Returns the required text at a path. A missing text is a finding."""
        text = self.text(path)
        if not text and self.document.value(path) in (None, ""):
            self.add(missing_field(self.document, path[:-1], str(path[-1]), {}, ()))
        return text

    def each(self, path: KeyPath) -> Iterator[KeyPath]:
        """Yields the path of each item of a list of mappings."""
        for index, mapping in enumerate(self.value(path, list)):
            if not isinstance(mapping, dict):
                self.add(wrong_type(self.document, (*path, index), mapping, ("object",), {}))
            else:
                yield (*path, index)

    def unknown_fields(self, path: KeyPath, known_fields: Iterable[str]) -> list[str]:
        """Returns the fields of a mapping that are not known."""
        return [str(key) for key in self.value(path, dict) if key not in known_fields]

    def quantity(self, path: KeyPath) -> Fraction | None:
        """Returns the quantity at a path; None if it is missing or invalid."""
        quantity = self.document.value(path)
        problem = refused(quantity) if quantity is not None else None
        if problem is not None:
            self.add(invalid_value(self.document, path, problem[0], quantity, problem[1]))
        is_valid = quantity is not None and problem is None
        return Fraction(min(parse(quantity) or 0, MAX_QUANTITY + 1)) if is_valid else None

    def add(self, finding: Diagnostic) -> None:
        """Adds a finding about the object, without a place if the object is from a cluster."""
        if self.document.path == CLUSTER:
            finding = replace(finding, message=f"{self.kind} {self.name}: {finding.message}", location=None, related=())
        self._findings.append(finding)


Flavored = tuple[str, ResourceName]
"""A flavor and a resource, the unit in which Kueue counts quotas."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Quota of a resource of a flavor, in whole GPUs, millicores or bytes."""

    nominal: int = 0
    borrowing: int | None = None
    """The most that may be borrowed from the cohort; None: no limit."""
    lending: int | None = None
    """The most that may be lent to the cohort; None: no limit."""

    def __add__(self, quota: Quota) -> Quota:
        """Adds the quotas of two resources that KAI counts as one."""
        return Quota(
            self.nominal + quota.nominal,
            None if self.borrowing is None or quota.borrowing is None else self.borrowing + quota.borrowing,
            None if self.lending is None or quota.lending is None else self.lending + quota.lending,
        )


@dataclass(frozen=True, slots=True)
class KueueShare:
    """The amounts of a ClusterQueue or Cohort itself."""

    quotas: Mapping[Flavored, Quota]
    flavors: tuple[str, ...]
    """The flavors of the GPUs, else of the first resource, in the order in which Kueue tries them."""
    named: frozenset[str]
    """All flavors that it names."""
    upper: str
    """The cohort, or the parent of this cohort; may be empty."""
    weight: Fraction

    @property
    def covered(self) -> frozenset[ResourceName]:
        """The resources with a quota."""
        return frozenset(resource for _, resource in self.quotas)

    @property
    def nominal(self) -> Amounts:
        """Nominal quotas, summed over all flavors."""
        return summed({key: quota.nominal for key, quota in self.quotas.items()})


def summed(amounts: Mapping[Flavored, int]) -> Amounts:
    """Sums amounts over all flavors."""
    return each(lambda name: sum(amount for (_, resource), amount in amounts.items() if resource == name))


@dataclass(frozen=True, slots=True)
class Kueue:
    """All given objects."""

    objects: Mapping[str, Mapping[str, KueueObject]]
    """Objects by kind and name; LocalQueues by namespace/name."""
    work: tuple[KueueObject, ...]
    """Objects that name a LocalQueue."""
    cohorts: Mapping[str, KueueShare]
    """All cohorts. Some have no object, and are only named by others."""
    queues: Mapping[str, KueueShare]
    """ClusterQueues."""


@dataclass(slots=True)
class KueueReading:
    """Findings and omissions that are collected while objects are read."""

    findings: list[Diagnostic] = field(default_factory=list)
    unplaced: list[Unplaced] = field(default_factory=list)

    def leave(self, kueue_object: KueueObject, reason: str) -> None:
        """Adds an object or a part of it to the list of omissions."""
        self.unplaced.append(Unplaced(kueue_object.kind, kueue_object.key, reason))


def read_kueue(documents: Iterable[Document], reading: KueueReading) -> Kueue:
    """Sorts objects by kind, and reads the quotas of ClusterQueues and Cohorts."""
    objects: dict[str, dict[str, KueueObject]] = {kind: {} for kind in READ}
    work = []
    for document in documents:
        kueue_object = _read_object(document, reading)
        if kueue_object is None:
            continue
        if not str(document.value(("apiVersion",))).startswith(f"{GROUP}/"):
            if isinstance(document.value(("metadata", "labels", QUEUE_NAME)), str):
                work.append(kueue_object)
            else:
                reading.leave(kueue_object, "it is no object of Kueue, and its labels name no LocalQueue")
        elif kueue_object.kind not in READ:
            reading.leave(kueue_object, _WHOLE.get(kueue_object.kind, "kubectl-tas does not know this kind of Kueue"))
        else:
            _add_object(kueue_object, objects[kueue_object.kind])
            _tell_unread_fields(kueue_object, reading)
    queues = {name: _share(kueue_object, reading) for name, kueue_object in objects["ClusterQueue"].items()}
    cohorts = {name: _share(kueue_object, reading) for name, kueue_object in objects["Cohort"].items()}
    named = dict.fromkeys(share.upper for share in (*queues.values(), *cohorts.values()) if share.upper)
    implied = KueueShare({}, (), frozenset(), "", Fraction(1))
    cohorts |= {name: implied for name in named if name not in cohorts}
    return Kueue(objects, tuple(work), cohorts, queues)


def _read_object(document: Document, reading: KueueReading) -> KueueObject | None:
    """Returns an object with a kind and a name; None if it is empty or malformed. A malformed object is a finding."""
    if document.data is None:
        return None
    if not isinstance(document.data, dict):
        reading.findings.append(wrong_type(document, (), document.data, ("object",), {}))
        return None
    for path in (("apiVersion",), ("kind",), ("metadata", "name")):
        is_named = path != ("metadata", "name") or document.value(("metadata", "generateName")) is None
        if is_named and document.value(path) in (None, ""):
            reading.findings.append(missing_field(document, path[:-1], path[-1], {}, ()))
            return None
    return KueueObject(document, reading.findings)


def _add_object(kueue_object: KueueObject, object_by_key: dict[str, KueueObject]) -> None:
    key = kueue_object.key
    earlier_object = object_by_key.setdefault(key, kueue_object)
    if earlier_object is not kueue_object and _content(earlier_object) != _content(kueue_object):
        message = f"the {kueue_object.kind} {key} appears twice, with different content"
        related = Related("defined here too", earlier_object.document.locate(("metadata", "name")))
        location = kueue_object.document.locate(("metadata", "name"))
        kueue_object.add(Diagnostic(NAME_DUPLICATE, message, location, (related,), hint="Give one of them."))


def _content(kueue_object: KueueObject) -> dict[str, Any]:
    return {key: value for key, value in kueue_object.document.data.items() if key not in ("metadata", "status")}


def _tell_unread_fields(kueue_object: KueueObject, reading: KueueReading) -> None:
    if kueue_object.kind not in _PLACED:
        return
    reasons: dict[str, list[str]] = {}
    for key, value in kueue_object.value(("spec",), dict).items():
        if key not in _PLACED[kueue_object.kind] and value not in _DEFAULTS:
            reasons.setdefault(_REASONS[kueue_object.kind].get(key, _OTHER), []).append(str(key))
    if kueue_object.kind == "ClusterQueue":
        selector = kueue_object.document.value(("spec", "namespaceSelector"))
        if selector is None:
            reasons["without it Kueue takes work of no namespace; here it is taken"] = ["namespaceSelector"]
        elif selector != {}:
            reasons["work may run in the namespaces of its LocalQueues"] = ["namespaceSelector"]
    for reason, keys in reasons.items():
        reading.leave(kueue_object, f"{', '.join(keys)}: {reason}")


def _share(kueue_object: KueueObject, reading: KueueReading) -> KueueShare:
    """Reads the quotas of a ClusterQueue or Cohort, and lists parts that cannot be imported."""
    is_queue = kueue_object.kind == "ClusterQueue"
    quotas: dict[Flavored, Quota] = {}
    flavors: dict[ResourceName, list[str]] = {}
    undivided, limitless = dict[str, None](), dict[str, None]()
    named: set[str] = set()
    lends = has_fractions = False
    names = ("cohortName", "cohort") if is_queue else ("parentName", "parent")
    unknown = dict.fromkeys(kueue_object.unknown_fields(("spec", "fairSharing"), ("weight",)))
    upper = next((upper_name for key in names if (upper_name := kueue_object.text(("spec", key)))), "")
    for group in kueue_object.each(("spec", "resourceGroups")):
        unknown |= dict.fromkeys(kueue_object.unknown_fields(group, ("coveredResources", "flavors")))
        for flavor in kueue_object.each((*group, "flavors")):
            unknown |= dict.fromkeys(kueue_object.unknown_fields(flavor, ("name", "resources")))
            flavor_name = kueue_object.required((*flavor, "name"))
            named.add(flavor_name)
            for quota in kueue_object.each((*flavor, "resources")):
                unknown |= dict.fromkeys(kueue_object.unknown_fields(quota, _QUOTA))
                name = kueue_object.required((*quota, "name"))
                resource = _resource(name)
                if resource is None:
                    undivided[name] = None
                    continue
                flavors.setdefault(resource, []).append(flavor_name)
                if kueue_object.document.value((*quota, "nominalQuota")) is None:
                    kueue_object.add(missing_field(kueue_object.document, quota, "nominalQuota", {}, ()))
                numbers = [kueue_object.quantity((*quota, field_)) for field_ in _QUOTA[1:]]
                nominal, *limits = (None if number is None else _amount(resource, name, number) for number in numbers)
                if (nominal or 0) >= LIMITLESS[resource]:
                    limitless[name] = None
                key = flavor_name, resource
                quotas[key] = quotas.get(key, Quota(0, 0, 0)) + Quota(nominal or 0, *limits)
                has_fractions |= resource == "gpu" and any(number and number.denominator != 1 for number in numbers)
                lends |= numbers[-1] is not None
    if unknown:
        reading.leave(kueue_object, f"{', '.join(unknown)}: {_OTHER}")
    if undivided:
        reading.leave(kueue_object, f"the quota of {', '.join(undivided)}: KAI divides GPUs, cpu and memory alone")
    if limitless:
        reading.leave(
            kueue_object, f"the quota of {', '.join(limitless)}: no cluster has as much, so here it has no limit"
        )
    if has_fractions:
        reading.leave(kueue_object, "quotas of parts of a GPU: a queue here has whole GPUs, so they are rounded down")
    if lends:
        reading.leave(kueue_object, f"lendingLimit: {_LENDS}")
    weight = kueue_object.quantity(("spec", "fairSharing", "weight"))
    if weight is not None and not upper and weight != 1:
        reading.leave(kueue_object, "fairSharing: Kueue compares weights within a cohort, and this is in none")
    elif weight == 0:
        reading.leave(
            kueue_object, "fairSharing: a queue of KAI with weight 0 never borrows; with Kueue it borrows last"
        )
    main_flavors = next((tuple(dict.fromkeys(flavors[name])) for name in RESOURCES if name in flavors), ())
    summed = [resource for resource, used in flavors.items() if len(set(used)) > 1]
    if summed:
        reading.leave(
            kueue_object, f"quotas of {', '.join(summed)} by flavor: a queue of KAI has one quota, here the sum"
        )
    unused = dict.fromkeys(flavor for used in flavors.values() for flavor in used if flavor not in main_flavors)
    if is_queue and unused:
        reading.leave(
            kueue_object, f"flavor {', '.join(unused)}: pods go to the nodes of {', '.join(main_flavors)} alone"
        )
    return KueueShare(quotas, main_flavors, frozenset(named), upper, Fraction(1) if weight is None else weight)


def _resource(name: str) -> ResourceName | None:
    """Returns the resource as KAI counts it; None if KAI does not count it."""
    if name in ("cpu", "memory"):
        return "cpu" if name == "cpu" else "memory"
    return "gpu" if gpus.is_counted(name) else None


def _amount(resource: ResourceName, name: str, number: Fraction) -> int:
    """Returns whole GPUs, millicores or bytes, rounded down. MIG devices count by their slices."""
    match resource:
        case "gpu":
            return gpus.of_node({name: Decimal(math.floor(number))})
        case "cpu":
            return math.floor(number * 1000)
        case "memory":
            return math.floor(number)
