"""Reads the objects of a cluster. Each field that is read later has the type that its API gives it, or the object is
refused: a file may hold anything, and so may the answer of a program that is not kubectl.

The types are those of Kubernetes 1.35, and of the CRDs of KAI 0.17 and Grove 0.1.0-alpha.11.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.facts import quantities
from kubectl_tas.kinds import SET
from kubectl_tas.model.base import MAX_COUNT

MAX_NAME = 317
"""Most characters of a name: a label's key, with a domain of 253 before the slash."""
STATE = "ClusterState"
"""Kind of the object that names the kinds which a file has completely, and their only namespace."""
_MOST = 1e18


RUNS_KAI = "Deployment"
"""Kind of the objects that run KAI's own programs. Their images tell the release."""
OF_SCHEDULER = (
    *("BindRequest", "ConfigMap", "PersistentVolume", "PersistentVolumeClaim", "CSIStorageCapacity", "StorageClass"),
    *("CSIDriver", "ResourceClaim", "ResourceSlice", "DeviceClass", "NodeResourceTopology"),
)
"""Further kinds that KAI's scheduler reads. A snapshot has their objects unchanged."""


class LeafShape(NamedTuple):
    """The type of a value without parts."""

    words: str
    accepts: Callable[[object], bool]


class ObjectShape(NamedTuple):
    """The type of an object: the fields that are read, and which of them it needs."""

    shapes: Mapping[str, Any]
    needed: tuple[str, ...] = ()


class MappingShape(NamedTuple):
    """The type of an object with keys of the user."""

    shape: LeafShape


Shape = ObjectShape | MappingShape | LeafShape | list[Any]
"""The type of a value; a list has the type of its items."""


def _is_amount(value: object, least: float) -> bool:
    return type(value) in (str, int, float) and _is_parsed(value, least)


@lru_cache(maxsize=4096, typed=True)
def _is_parsed(value: object, least: float) -> bool:
    amount = quantities.parse(value)
    return amount is not None and amount >= least


def _is_whole(value: object, least: int) -> bool:
    return type(value) is int and least <= value <= MAX_COUNT


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and abs(value) < _MOST  # type: ignore[arg-type]


TEXT = LeafShape("a text", lambda value: type(value) is str)
WORD = LeafShape("a name", lambda value: type(value) is str and len(value) <= MAX_NAME)
NAME = LeafShape("a name", lambda value: type(value) is str and 0 < len(value) <= MAX_NAME)
FLAG = LeafShape("true or false", lambda value: type(value) is bool)
COUNT = LeafShape("a number of pods", lambda value: _is_whole(value, 0))
WHOLE = LeafShape("a whole number", lambda value: _is_whole(value, -MAX_COUNT - 1))
NUMBER = LeafShape("a number below 10^18", _is_number)
AMOUNT = LeafShape("a quantity of 0 or more", lambda value: _is_amount(value, 0))
SIGNED = LeafShape("a quantity", lambda value: _is_amount(value, -math.inf))
TEXTS, AMOUNTS, SIGNEDS = MappingShape(TEXT), MappingShape(AMOUNT), MappingShape(SIGNED)


def _fields(*needed: str, **shapes: Shape) -> ObjectShape:
    return ObjectShape(shapes, needed)


_METADATA: dict[str, Shape] = {
    **dict.fromkeys(("namespace", "uid"), WORD),
    **dict.fromkeys(("labels", "annotations"), TEXTS),
    **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), WORD),
    "ownerReferences": [_fields(kind=WORD, name=WORD)],
    "finalizers": [WORD],
}
_NAMED = _fields("name", **_METADATA, name=NAME)
_OTHER = _fields(metadata=_fields(**_METADATA, name=WORD))
"""The type of an object of any other kind."""
_CONDITIONS = [_fields(**dict.fromkeys(("type", "status", "reason", "message", "nodePool"), TEXT))]
_RESOURCES = _fields(requests=AMOUNTS, limits=AMOUNTS)
_PART = _fields(configMapRef=_fields(name=WORD), configMapKeyRef=_fields(name=WORD))
_CONTAINER = _fields(
    resources=_RESOURCES,
    restartPolicy=WORD,
    ports=[_fields(hostPort=WHOLE, containerPort=WHOLE, protocol=WORD, hostIP=WORD)],
    env=[_fields(valueFrom=_PART)],
    envFrom=[_PART],
)
_CONFIG_MAP = {"configMap": _fields(name=WORD)}
_TERMS = [_fields("key", "operator", key=WORD, operator=WORD, values=[TEXT])]
_SELECTED = _fields(nodeSelectorTerms=[_fields(matchExpressions=_TERMS, matchFields=_TERMS)])
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_CHOSEN = _fields(matchLabels=TEXTS, matchExpressions=_TERMS)
_POD_RULES = _fields(**{_REQUIRED: [_fields(topologyKey=WORD, namespaces=[WORD], labelSelector=_CHOSEN)]})
_POD = _fields(
    **dict.fromkeys(("nodeName", "schedulerName", "priorityClassName", "restartPolicy"), WORD),
    priority=WHOLE,
    overhead=AMOUNTS,
    resources=_RESOURCES,
    containers=[_CONTAINER],
    initContainers=[_CONTAINER],
    nodeSelector=TEXTS,
    tolerations=[_fields(**dict.fromkeys(("key", "operator", "value", "effect"), TEXT))],
    affinity=_fields(
        nodeAffinity=_fields(**{_REQUIRED: _SELECTED}), podAffinity=_POD_RULES, podAntiAffinity=_POD_RULES
    ),
    schedulingGates=[_fields("name", name=WORD)],
    resourceClaims=[_fields()],
    hostNetwork=FLAG,
    volumes=[
        _fields(
            **_CONFIG_MAP,
            name=WORD,
            persistentVolumeClaim=_fields(claimName=WORD),
            projected=_fields(sources=[_fields(**_CONFIG_MAP)]),
        )
    ],
)
_CONTAINER_STATES = [
    _fields(
        name=WORD,
        state=_fields(waiting=_fields(reason=TEXT, message=TEXT), terminated=_fields(reason=TEXT, exitCode=WHOLE)),
    )
]
_SHARE = _fields(quota=NUMBER, limit=NUMBER, overQuotaWeight=NUMBER)
_CONSTRAINT = _fields(
    **dict.fromkeys(("topology", "topologyName", "packDomain"), WORD), pack=_fields(required=WORD, preferred=WORD)
)
_CONSTRAINED = _fields(topologyConstraint=_CONSTRAINT)
_GROVE_LEVELS: dict[str, Shape] = {"spec": _fields("levels", levels=[_fields("domain", "key", domain=NAME, key=NAME)])}
_KINDS: dict[str, dict[str, Shape]] = {
    **{kind: {"spec": _fields(), "status": _fields()} for kind in OF_SCHEDULER},
    "Queue": {
        "spec": _fields(
            **dict.fromkeys(("displayName", "parentQueue", "preemptMinRuntime", "reclaimMinRuntime"), WORD),
            priority=WHOLE,
            resources=_fields(gpu=_SHARE, cpu=_SHARE, memory=_SHARE),
        ),
        "status": _fields(allocated=SIGNEDS, allocatedNonPreemptible=SIGNEDS, requested=SIGNEDS),
    },
    "PodGroup": {
        "spec": _fields(
            **dict.fromkeys(("queue", "priorityClassName", "preemptibility"), WORD),
            minMember=COUNT,
            topologyConstraint=_CONSTRAINT,
            subGroups=[
                _fields("name", name=NAME, parent=WORD, minMember=COUNT, topologyConstraint=_CONSTRAINT),
            ],
        ),
        "status": _fields(
            running=SIGNED,
            resourcesStatus=_fields(allocated=SIGNEDS),
            schedulingConditions=[_fields(**_CONDITIONS[0].shapes, reasons=[_fields(reason=TEXT, message=TEXT)])],
        ),
    },
    "PersistentVolume": {"spec": _fields(nodeAffinity=_fields(required=_SELECTED)), "status": _fields()},
    "PersistentVolumeClaim": {"spec": _fields(volumeName=WORD, storageClassName=WORD), "status": _fields()},
    "StorageClass": {
        "volumeBindingMode": WORD,
        "allowedTopologies": [_fields(matchLabelExpressions=[_fields("key", key=WORD, values=[TEXT])])],
    },
    "Node": {
        "spec": _fields(unschedulable=FLAG, taints=[_fields("key", **dict.fromkeys(("key", "value", "effect"), WORD))]),
        "status": _fields(allocatable=AMOUNTS, capacity=AMOUNTS, conditions=_CONDITIONS),
    },
    "Pod": {
        "spec": _POD,
        "status": _fields(
            **dict.fromkeys(("phase", "startTime"), WORD),
            reason=TEXT,
            message=TEXT,
            conditions=_CONDITIONS,
            containerStatuses=_CONTAINER_STATES,
            initContainerStatuses=_CONTAINER_STATES,
        ),
    },
    "Topology": {"spec": _fields(levels=[_fields("nodeLabel", nodeLabel=WORD, alias=WORD)])},
    "SchedulingShard": {"spec": _fields(partitionLabelValue=WORD)},
    **{
        f"{kind}WebhookConfiguration": {"webhooks": [_fields(rules=[_fields(apiGroups=[WORD])])]}
        for kind in ("Validating", "Mutating")
    },
    "PriorityClass": {"value": WHOLE, "globalDefault": FLAG, "description": TEXT},
    RUNS_KAI: {"spec": _fields(template=_fields(spec=_fields(containers=[_fields(name=WORD, image=TEXT)])))},
    SET.kind: {
        "spec": _fields(
            "template",
            template=_fields(
                clusterTopologyName=WORD,
                topologyConstraint=_CONSTRAINT,
                podCliqueScalingGroups=[_CONSTRAINED],
                cliques=[_CONSTRAINED],
            ),
        )
    },
    "PodClique": {"status": _fields(scheduledReplicas=COUNT)},
    "ClusterTopology": _GROVE_LEVELS,
    "ClusterTopologyBinding": _GROVE_LEVELS,
}
_NEEDED = {"PriorityClass": "value"} | dict.fromkeys((SET.kind, "ClusterTopology", "ClusterTopologyBinding"), "spec")


class _RefusedError(Exception):
    """Raised for a value of another type, with its path and what is wrong with it."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.path: list[str] = []


def read_object(item: dict[str, Any]) -> dict[str, Any]:
    """Returns an object without the fields that are null, as an API server leaves them out.

    Raises TasError if a field that is read has another type than its API gives it.
    """
    kind = item["kind"]
    try:
        _check(item, _shape_of(kind))
    except _RefusedError as error:
        metadata = item.get("metadata")
        names = [metadata.get(field) for field in ("namespace", "name")] if isinstance(metadata, dict) else []
        name = "/".join(str(part) for part in names if NAME.accepts(part)) or "without a name"
        path = "".join(reversed(error.path)).removeprefix(".")
        article = "an" if kind[:1] in "AEIOU" else "a"
        message = f"{article} {kind} of the cluster cannot be read: {name}: {path or 'it'} {error}"
        raise TasError(message, hint="It must be what `kubectl get ... -o json` prints.") from error
    return item


@cache
def _shape_of(kind: str) -> ObjectShape:
    if kind not in _KINDS:
        return _fields() if kind == STATE else _OTHER
    needed = ("metadata", *([_NEEDED[kind]] if kind in _NEEDED else ()))
    return _fields(*needed, metadata=_NAMED, **_KINDS[kind])


def _check(value: Any, shape: Shape) -> None:
    """Removes fields that are null. Raises _RefusedError for a value of another type."""
    if isinstance(shape, LeafShape):
        raise _RefusedError(f"is {shown(value)}, not {shape.words}")  # its parent has asked it
    kind, fields = list if isinstance(shape, list) else dict, shape if isinstance(shape, ObjectShape) else None
    if type(value) is not kind:
        raise _RefusedError(f"is {shown(value)}, not {'a list' if kind is list else 'an object'}")
    for step, part, inner in _parts(value, shape):
        if type(inner) is LeafShape and inner.accepts(part):
            continue
        if part is None and fields:
            del value[step]
            continue
        try:
            _check(part, inner)
        except _RefusedError as error:
            error.path.append(f"[{step}]" if kind is list else f".{step[:MAX_NAME]}")
            raise
    for key in fields.needed if fields else ():
        if key not in value:
            raise _RefusedError(f"has no {key}")


def _parts(value: Any, shape: ObjectShape | MappingShape | list[Any]) -> Iterable[tuple[Any, Any, Shape]]:
    """Returns the parts of a value with a type, each with its key or index. Raises _RefusedError for an odd key."""
    if isinstance(shape, list):
        return [(index, part, shape[0]) for index, part in enumerate(value)]
    if isinstance(shape, ObjectShape):
        shapes = shape.shapes
        return [(key, value[key], shapes[key]) for key in value if key in shapes]
    odd = next((key for key in value if not NAME.accepts(key)), None)
    if odd is not None:
        raise _RefusedError(f"has the key {shown(odd)}, which is no name")
    return [(key, part, shape.shape) for key, part in value.items()]


def shown(value: object) -> str:
    """Returns a value for a message; shows only the kind of a long or nested value."""
    if isinstance(value, bool | float) or value is None:
        return repr(value)
    if isinstance(value, str) and len(value) <= MAX_NAME:
        return repr(value)
    if isinstance(value, int) and abs(value) < 10**20:
        return repr(value)
    kinds = {str: "a long text", int: "a huge number", list: "a list", dict: "an object"}
    return next(name for kind, name in kinds.items() if isinstance(value, kind))
