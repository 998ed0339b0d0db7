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

from kubectl_tas import gpus
from kubectl_tas.check.unique import NAME_DUPLICATE
from kubectl_tas.diagnostics import Diagnostic, Related
from kubectl_tas.imports.written import Unplaced
from kubectl_tas.late import dataclass
from kubectl_tas.load.document import Document
from kubectl_tas.load.schema import invalid_value, missing_field, wrong_type
from kubectl_tas.model.base import KeyPath
from kubectl_tas.quantities import RESOURCES, Amounts, ResourceName, each, parse, refused

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


class Given:
    """An object as it was read. A malformed part becomes a finding and counts as missing."""

    def __init__(self, document: Document, findings: list[Diagnostic]) -> None:
        self.document = document
        self._findings = findings
        self.kind = str(document.value(("kind",)))
        self.name = self.text(("metadata", "name"))
        self.namespace = self.text(("metadata", "namespace")) or "default"

    def value(self, path: KeyPath, type_: type[T]) -> T:
        """Returns the value at a path; an empty value if it is missing or has another type."""
        found = self.document.value(path)
        if isinstance(found, type_) and not isinstance(found, bool):
            return found
        if found is not None:
            self.add(wrong_type(self.document, path, found, (_TYPES[type_],), {}))
        return type_()

    def text(self, path: KeyPath) -> str:
        """Returns the text at a path."""
        return self.value(path, str)

    def required(self, path: KeyPath) -> str:
        """Returns the required text at a path. A missing text is a finding."""
        found = self.text(path)
        if not found and self.document.value(path) in (None, ""):
            self.add(missing_field(self.document, path[:-1], str(path[-1]), {}, ()))
        return found

    def each(self, path: KeyPath) -> Iterator[KeyPath]:
        """Yields the path of each item of a list of mappings."""
        for index, item in enumerate(self.value(path, list)):
            if not isinstance(item, dict):
                self.add(wrong_type(self.document, (*path, index), item, ("object",), {}))
            else:
                yield (*path, index)

    def others(self, path: KeyPath, known: Iterable[str]) -> list[str]:
        """Returns the fields of a mapping that are not known."""
        return [str(key) for key in self.value(path, dict) if key not in known]

    def quantity(self, path: KeyPath) -> Fraction | None:
        """Returns the quantity at a path; None if it is missing or invalid."""
        found = self.document.value(path)
        problem = refused(found) if found is not None else None
        if problem is not None:
            self.add(invalid_value(self.document, path, problem[0], found, problem[1]))
        return None if found is None or problem is not None else Fraction(min(parse(found) or 0, MAX_QUANTITY + 1))

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

    def __add__(self, other: Quota) -> Quota:
        """Adds the quotas of two resources that KAI counts as one."""
        return Quota(
            self.nominal + other.nominal,
            None if self.borrowing is None or other.borrowing is None else self.borrowing + other.borrowing,
            None if self.lending is None or other.lending is None else self.lending + other.lending,
        )


@dataclass(frozen=True, slots=True)
class Share:
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

    objects: Mapping[str, Mapping[str, Given]]
    """Objects by kind and name; LocalQueues by namespace/name."""
    work: tuple[Given, ...]
    """Objects that name a LocalQueue."""
    cohorts: Mapping[str, Share]
    """All cohorts. Some have no object, and are only named by others."""
    queues: Mapping[str, Share]
    """ClusterQueues."""


@dataclass(slots=True)
class Reading:
    """Findings and omissions that are collected while objects are read."""

    findings: list[Diagnostic] = field(default_factory=list)
    unplaced: list[Unplaced] = field(default_factory=list)

    def leave(self, given: Given, reason: str) -> None:
        """Adds an object or a part of it to the list of omissions."""
        name = f"{given.namespace}/{given.name}" if given.kind == "LocalQueue" else given.name
        self.unplaced.append(Unplaced(given.kind, name, reason))


def read_kueue(documents: Iterable[Document], reading: Reading) -> Kueue:
    """Sorts objects by kind, and reads the quotas of ClusterQueues and Cohorts."""
    objects: dict[str, dict[str, Given]] = {kind: {} for kind in READ}
    work = []
    for document in documents:
        given = _given(document, reading)
        if given is None:
            continue
        if not str(document.value(("apiVersion",))).startswith(f"{GROUP}/"):
            if isinstance(document.value(("metadata", "labels", QUEUE_NAME)), str):
                work.append(given)
            else:
                reading.leave(given, "it is no object of Kueue, and its labels name no LocalQueue")
        elif given.kind not in READ:
            reading.leave(given, _WHOLE.get(given.kind, "kubectl-tas does not know this kind of Kueue"))
        else:
            _add(given, objects[given.kind])
            _other_fields(given, reading)
    queues = {name: _share(given, reading) for name, given in objects["ClusterQueue"].items()}
    cohorts = {name: _share(given, reading) for name, given in objects["Cohort"].items()}
    named = dict.fromkeys(share.upper for share in (*queues.values(), *cohorts.values()) if share.upper)
    implied = Share({}, (), frozenset(), "", Fraction(1))
    cohorts |= {name: implied for name in named if name not in cohorts}
    return Kueue(objects, tuple(work), cohorts, queues)


def _given(document: Document, reading: Reading) -> Given | None:
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
    return Given(document, reading.findings)


def _add(given: Given, known: dict[str, Given]) -> None:
    key = f"{given.namespace}/{given.name}" if given.kind == "LocalQueue" else given.name
    other = known.setdefault(key, given)
    if other is not given and _content(other) != _content(given):
        message = f"the {given.kind} {key} appears twice, with different content"
        place, first = given.document.locate(("metadata", "name")), other.document.locate(("metadata", "name"))
        hint = "Give one of them."
        given.add(Diagnostic(NAME_DUPLICATE, message, place, (Related("defined here too", first),), hint=hint))


def _content(given: Given) -> dict[str, Any]:
    """Returns the part of an object that people write."""
    return {key: value for key, value in given.document.data.items() if key not in ("metadata", "status")}


def _other_fields(given: Given, reading: Reading) -> None:
    """Lists the fields of an object that cannot be imported, by reason."""
    if given.kind not in _PLACED:
        return
    reasons: dict[str, list[str]] = {}
    for key, value in given.value(("spec",), dict).items():
        if key not in _PLACED[given.kind] and value not in _DEFAULTS:
            reasons.setdefault(_REASONS[given.kind].get(key, _OTHER), []).append(str(key))
    if given.kind == "ClusterQueue":
        selector = given.document.value(("spec", "namespaceSelector"))
        if selector is None:
            reasons["without it Kueue takes work of no namespace; here it is taken"] = ["namespaceSelector"]
        elif selector != {}:
            reasons["work may run in the namespaces of its LocalQueues"] = ["namespaceSelector"]
    for reason, keys in reasons.items():
        reading.leave(given, f"{', '.join(keys)}: {reason}")


def _share(given: Given, reading: Reading) -> Share:
    """Reads the quotas of a ClusterQueue or Cohort, and lists parts that cannot be imported."""
    is_queue = given.kind == "ClusterQueue"
    quotas: dict[Flavored, Quota] = {}
    flavors: dict[ResourceName, list[str]] = {}
    others, limitless = dict[str, None](), dict[str, None]()
    named: set[str] = set()
    lends = parts = False
    names = ("cohortName", "cohort") if is_queue else ("parentName", "parent")
    unknown = dict.fromkeys(given.others(("spec", "fairSharing"), ("weight",)))
    upper = next((found for key in names if (found := given.text(("spec", key)))), "")
    for group in given.each(("spec", "resourceGroups")):
        unknown |= dict.fromkeys(given.others(group, ("coveredResources", "flavors")))
        for flavor in given.each((*group, "flavors")):
            unknown |= dict.fromkeys(given.others(flavor, ("name", "resources")))
            flavor_name = given.required((*flavor, "name"))
            named.add(flavor_name)
            for quota in given.each((*flavor, "resources")):
                unknown |= dict.fromkeys(given.others(quota, _QUOTA))
                name = given.required((*quota, "name"))
                resource = _resource(name)
                if resource is None:
                    others[name] = None
                    continue
                flavors.setdefault(resource, []).append(flavor_name)
                if given.document.value((*quota, "nominalQuota")) is None:
                    given.add(missing_field(given.document, quota, "nominalQuota", {}, ()))
                numbers = [given.quantity((*quota, field_)) for field_ in _QUOTA[1:]]
                own, *limits = (None if number is None else _amount(resource, name, number) for number in numbers)
                if (own or 0) >= LIMITLESS[resource]:
                    limitless[name] = None
                key = flavor_name, resource
                quotas[key] = quotas.get(key, Quota(0, 0, 0)) + Quota(own or 0, *limits)
                parts |= resource == "gpu" and any(number and number.denominator != 1 for number in numbers)
                lends |= numbers[-1] is not None
    if unknown:
        reading.leave(given, f"{', '.join(unknown)}: {_OTHER}")
    if others:
        reading.leave(given, f"the quota of {', '.join(others)}: KAI divides GPUs, cpu and memory alone")
    if limitless:
        reading.leave(given, f"the quota of {', '.join(limitless)}: no cluster has as much, so here it has no limit")
    if parts:
        reading.leave(given, "quotas of parts of a GPU: a queue here has whole GPUs, so they are rounded down")
    if lends:
        reading.leave(given, f"lendingLimit: {_LENDS}")
    weight = given.quantity(("spec", "fairSharing", "weight"))
    if weight is not None and not upper and weight != 1:
        reading.leave(given, "fairSharing: Kueue compares weights within a cohort, and this is in none")
    elif weight == 0:
        reading.leave(given, "fairSharing: a queue of KAI with weight 0 never borrows; with Kueue it borrows last")
    first = next((tuple(dict.fromkeys(flavors[name])) for name in RESOURCES if name in flavors), ())
    summed = [resource for resource, used in flavors.items() if len(set(used)) > 1]
    if summed:
        reading.leave(given, f"quotas of {', '.join(summed)} by flavor: a queue of KAI has one quota, here the sum")
    unused = dict.fromkeys(flavor for used in flavors.values() for flavor in used if flavor not in first)
    if is_queue and unused:
        reading.leave(given, f"flavor {', '.join(unused)}: pods go to the nodes of {', '.join(first)} alone")
    return Share(quotas, first, frozenset(named), upper, Fraction(1) if weight is None else weight)


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
