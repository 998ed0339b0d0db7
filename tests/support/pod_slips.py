"""Lists slips that people make in pods, each with the rule that finds it and the place where it does.

A slip sets values in the metadata, the spec or the container of some pods. Slips that set different fields go into one
document, which is why each has a place of its own.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from tests.support.every_kind import Example, Object, Pods

NEW = -1
"""A step of a path: a new item at the end of a list."""
UNKNOWN = frozenset({"unknown-field", "operator-field", "set-field"})
"""The rules that find fields which a kind does not have: of Kubernetes, of an operator, of Grove."""


@dataclass(frozen=True, eq=False)
class Slip:
    """A slip in some fields of a pod."""

    name: str
    part: str
    """The attribute of ``Pods`` with the path of these fields."""
    path: KeyPath
    """The path of what is set, below the fields."""
    value: Any
    rules: frozenset[str]
    """The rules of which one finds it."""
    place: KeyPath = ()
    """The path of the finding below ``path``."""
    is_alone: bool = False
    """Whether no rule sees another slip in its document, because the document cannot be read."""


_RESERVED = ("workload-conflict", "workload-label", "quota-bypass", "key-unknown", "key-misplaced")
_ALSO = dict.fromkeys(_RESERVED, ("pod-template-reserved",))
"""The rule that refuses the same in pod templates of OSMO."""


def _rows(part: str, *rows: tuple[Any, ...], is_alone: bool = False) -> Iterator[Slip]:
    for name, path, value, rule, *place in rows:
        rules = frozenset({rule, *_ALSO.get(rule, ())}) if isinstance(rule, str) else rule
        yield Slip(name, part, path, value, rules, tuple(place), is_alone)


def _volume(source: Object) -> Object:
    return {"name": next(_VOLUME_NAMES), **source}


_VOLUME_NAMES = (f"volume-{index}" for index in range(100))
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_GPU = "nvidia.com/gpu"
_SETUP = ("initContainers",)
_STARTING: list[Object] = [
    {"name": "setup", "image": "setup:1", "comand": ["run"]},
    {"name": "look", "image": "setup:1", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]},
    {"name": "take", "image": "setup:1", "resources": {"requests": {_GPU: 1}}},
    {"name": "setup", "image": "setup:1"},
]
_MOUNTS = ["/a:/data", "/b:/data", "/c:/var/run/nvidia-container-devices/0"]
_AS_ROOT = {"runAsNonRoot": True, "runAsUser": 0}
_HTTP, _TCP, _SLEEP = {"httpGet": {"port": "htpp"}}, {"tcpSocket": {"port": "htpp"}}, {"sleep": {"seconds": -1}}
_GATES = [{"name": "example.com/a"}, {"name": "example.com/a"}]
_SYSCTLS = [{"name": "net.core.somaxconn", "value": "1"}, {"name": "net.core.somaxconn", "value": "2"}]
_TERMS = ("affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")

SLIPS: tuple[Slip, ...] = (
    *_rows(
        "metadata",
        ("a label that is no text", ("labels", "a"), 1, "wrong-type"),
        ("a label with a blank", ("labels", "b"), "b c", "invalid-value"),
        ("a label whose key has a blank", ("labels", "a b"), "c", "invalid-value"),
        ("an annotation whose key has a blank", ("annotations", "a b"), "c", "invalid-value"),
        ("a misspelled field of the metadata", ("lables",), {"a": "b"}, UNKNOWN),
        is_alone=True,
    ),
    *_rows(
        "metadata",
        ("another queue", ("labels", "kai.scheduler/queue"), "other", "workload-conflict"),
        ("another queue in the words of old releases", ("labels", "runai/queue"), "other", "workload-conflict"),
        ("another priority class as a label", ("labels", "priorityClassName"), "other", "workload-conflict"),
        ("another preemptibility", ("labels", "kai.scheduler/preemptibility"), "preemptible", "workload-conflict"),
        ("a shard of the scheduler", ("labels", "kai.scheduler/node-pool"), "other", "quota-bypass"),
        ("a misspelled label of KAI", ("labels", "kai.scheduler/queu"), "x", "key-unknown"),
        ("an annotation among the labels", ("labels", "kai.scheduler/segment-size"), "2", "key-misplaced"),
        ("a queue of Kueue", ("labels", "kueue.x-k8s.io/queue-name"), "x", "other-queue"),
        ("the priority of the work on its pods", ("labels", "kubectl-tas/priority"), "LOW", "workload-label"),
        ("a part of a GPU above 1", ("annotations", "gpu-fraction"), "1.5", "gpu-annotation"),
        ("devices by CDI", ("annotations", "cdi.k8s.io/gpu"), "nvidia.com/gpu=all", "gpu-bypass"),
    ),
    *_rows(
        "spec",
        ("a misspelled field of the pod", ("nodeSelecter",), {"a": "b"}, UNKNOWN),
        ("an unknown restart policy", ("restartPolicy",), "Sometimes", "invalid-value"),
        (
            "an unknown claim",
            ("volumes", NEW),
            _volume({"persistentVolumeClaim": {"claimName": "dtaa"}}),
            "reference-unknown",
            "persistentVolumeClaim",
            "claimName",
        ),
        (
            "a volume of an unknown ConfigMap",
            ("volumes", NEW),
            _volume({"configMap": {"name": "setings"}}),
            "reference-unknown",
            "configMap",
            "name",
        ),
        (
            "a file of an unknown key",
            ("volumes", NEW),
            _volume({"configMap": {"name": "settings", "items": [{"key": "mod", "path": "mode"}]}}),
            "reference-unknown",
            *("configMap", "items", 0, "key"),
        ),
        (
            "a volume of an unknown Secret",
            ("volumes", NEW),
            _volume({"secret": {"secretName": "tokne"}}),
            "reference-unknown",
            "secret",
            "secretName",
        ),
        ("an unknown pull secret", ("imagePullSecrets", NEW), {"name": "toekn"}, "reference-unknown", "name"),
        ("an unknown service account", ("serviceAccountName",), "runer", "reference-unknown"),
        ("two volumes of one name", ("volumes", NEW), {"name": "more", "emptyDir": {}}, "item-duplicate", "name"),
        (
            "a volume of two types",
            ("volumes", NEW),
            _volume({"emptyDir": {}, "configMap": {"name": "settings"}}),
            "fields-conflict",
            "configMap",
        ),
        ("a name of a volume", ("volumes", NEW), {"name": "Third_1", "emptyDir": {}}, "invalid-value", "name"),
        (
            "a path of the node with ..",
            ("volumes", NEW),
            _volume({"hostPath": {"path": "/data/../etc"}}),
            "invalid-value",
            "hostPath",
            "path",
        ),
        (
            "an amount with a blank",
            ("volumes", NEW),
            _volume({"emptyDir": {"sizeLimit": "1 Gi"}}),
            "invalid-value",
            "emptyDir",
            "sizeLimit",
        ),
        (
            "a toleration with a value too much",
            ("tolerations", NEW),
            {"operator": "Exists", "key": "a", "value": "b"},
            "fields-conflict",
            "value",
        ),
        (
            "an unknown effect of a toleration",
            ("tolerations", NEW),
            {"operator": "Exists", "key": "b", "effect": "Never"},
            "invalid-value",
            "effect",
        ),
        ("a node selector with a blank", ("nodeSelector", "a"), "b c", "invalid-value"),
        ("a term without a condition", (*_TERMS, NEW), {}, "fields-conflict"),
        (
            "a condition without values",
            (*_TERMS, NEW),
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "fields-conflict",
            *("matchExpressions", 0),
        ),
        (
            "pods apart without a topology key",
            ("affinity", "podAntiAffinity", _REQUIRED, NEW),
            {"labelSelector": {"matchLabels": {"app": "x"}}},
            "missing-field",
        ),
        (
            "a spread without a skew",
            ("topologySpreadConstraints", NEW),
            {
                "maxSkew": 0,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "x"}},
            },
            "invalid-value",
            "maxSkew",
        ),
        ("a node", ("nodeName",), "n1", "quota-bypass"),
        ("another scheduler", ("schedulerName",), "default-scheduler", "workload-conflict"),
        ("another priority class", ("priorityClassName",), "system-node-critical", "workload-conflict"),
        ("a priority as a number", ("priority",), 1000, "pod-priority"),
        ("a scheduling gate", ("schedulingGates",), [{"name": "example.com/gate"}], "pod-held"),
        ("a name of a scheduling gate", ("schedulingGates",), [{"name": "a b"}], "invalid-value", 0, "name"),
        ("two scheduling gates of one name", ("schedulingGates",), _GATES, "item-duplicate", 1, "name"),
        ("a sysctl twice", ("securityContext",), {"sysctls": _SYSCTLS}, "fields-conflict", "sysctls", 1, "name"),
        ("a deadline of 0", ("activeDeadlineSeconds",), 0, "invalid-value"),
        ("a DNS policy without servers", ("dnsPolicy",), "None", "fields-conflict"),
        ("a negative user", ("securityContext", "runAsUser"), -1, "invalid-value"),
        ("a pod as root that must not be", ("securityContext",), _AS_ROOT, "fields-conflict", "runAsUser"),
        ("GPUs of the pod as a whole", ("resources", "limits", "nvidia.com/gpu"), 1, "resource-name"),
        ("an address of a host", ("hostAliases", NEW), {"ip": "1.2.3", "hostnames": ["a"]}, "invalid-value", "ip"),
        ("a misspelled field of an init container", _SETUP, _STARTING, UNKNOWN, 0, "comand"),
        ("devices of an init container", _SETUP, _STARTING, "gpu-bypass", *(1, "env", 0, "value")),
        ("GPUs that an init container requests", _SETUP, _STARTING, "gpu-limit", *(2, "resources", "requests", _GPU)),
        ("two containers of one name", _SETUP, _STARTING, "item-duplicate", 3, "name"),
    ),
    *_rows(
        "container",
        ("a part of a GPU as an amount", ("resources", "limits", "nvidia.com/gpu"), "500m", "invalid-value"),
        is_alone=True,
    ),
    *_rows(
        "container",
        ("a misspelled field of the container", ("comand",), ["run"], UNKNOWN),
        ("an image with a blank", ("image",), "trainer:1 ", "invalid-value"),
        ("an unknown pull policy", ("imagePullPolicy",), "Sometimes", "invalid-value"),
        ("a request above its limit", ("resources", "requests", "cpu"), 8, "resource-amount"),
        ("GPUs without a limit", ("resources", "requests", "amd.com/gpu"), 1, "gpu-limit"),
        ("a misspelled resource", ("resources", "limits", "nvidia.com/gpus"), 1, "gpu-name"),
        ("a resource without a domain", ("resources", "limits", "gpu"), 1, "resource-name"),
        ("a quantity with a blank", ("resources", "limits", "ephemeral-storage"), "8 Gi", "invalid-value"),
        ("half a byte", ("resources", "limits", "memory"), "512m", "resource-amount"),
        ("a name of a variable", ("env", NEW), {"name": "A=B", "value": "x"}, "invalid-value", "name"),
        ("a variable that is no text", ("env", NEW), {"name": "B", "value": 1}, "wrong-type", "value"),
        ("two variables of one name", ("env", NEW), {"name": "MODE", "value": "slow"}, "item-duplicate", "name"),
        (
            "a variable with two values",
            ("env", NEW),
            {"name": "C", "value": "x", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "mode"}}},
            "fields-conflict",
            "valueFrom",
        ),
        (
            "a variable of an unknown ConfigMap",
            ("env", NEW),
            {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "settigns", "key": "mode"}}},
            "reference-unknown",
            *("valueFrom", "configMapKeyRef", "name"),
        ),
        (
            "a variable of an unknown key",
            ("env", NEW),
            {"name": "E", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "mdoe"}}},
            "reference-unknown",
            *("valueFrom", "configMapKeyRef", "key"),
        ),
        (
            "a variable of an unknown Secret",
            ("env", NEW),
            {"name": "F", "valueFrom": {"secretKeyRef": {"name": "otken", "key": "k"}}},
            "reference-unknown",
            *("valueFrom", "secretKeyRef", "name"),
        ),
        (
            "a variable of an unknown field",
            ("env", NEW),
            {"name": "G", "valueFrom": {"fieldRef": {"fieldPath": "metadata.nmae"}}},
            "invalid-value",
            *("valueFrom", "fieldRef", "fieldPath"),
        ),
        (
            "all devices of the node",
            ("env", NEW),
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
            "gpu-bypass",
            "value",
        ),
        (
            "a secret in clear",
            ("env", NEW),
            {"name": "HF_TOKEN", "value": "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"},
            "secret-in-clear",
            "value",
        ),
        (
            "variables of an unknown ConfigMap",
            ("envFrom", NEW),
            {"configMapRef": {"name": "sttings"}},
            "reference-unknown",
            *("configMapRef", "name"),
        ),
        (
            "two ports of one name",
            ("ports", NEW),
            {"name": "http", "containerPort": 8081, "protocol": "TCP"},
            "item-duplicate",
            "name",
        ),
        (
            "a name of a port",
            ("ports", NEW),
            {"name": "HTTP_main", "containerPort": 8082, "protocol": "TCP"},
            "invalid-value",
            "name",
        ),
        (
            "a number of a port",
            ("ports", NEW),
            {"name": "more", "containerPort": 70000, "protocol": "TCP"},
            "invalid-value",
            "containerPort",
        ),
        (
            "two mounts at one path",
            ("volumeMounts", NEW),
            {"name": "more", "mountPath": "/data"},
            "item-duplicate",
            "mountPath",
        ),
        (
            "a mount of an unknown volume",
            ("volumeMounts", NEW),
            {"name": "moer", "mountPath": "/a"},
            "volume-unknown",
            "name",
        ),
        (
            "an unknown propagation of a mount",
            ("volumeMounts", NEW),
            {"name": "more", "mountPath": "/b", "mountPropagation": "Both"},
            "invalid-value",
            "mountPropagation",
        ),
        (
            "a mount that gives devices",
            ("volumeMounts", NEW),
            {"name": "more", "mountPath": "/var/run/nvidia-container-devices/0"},
            "gpu-bypass",
            "mountPath",
        ),
        (
            "a probe of two types",
            ("livenessProbe",),
            {"exec": {"command": ["x"]}, "tcpSocket": {"port": 1}},
            "fields-conflict",
        ),
        ("a probe of no type", ("startupProbe",), {"periodSeconds": 5}, "fields-conflict"),
        (
            "a negative period of a probe",
            ("readinessProbe",),
            {"tcpSocket": {"port": 1}, "periodSeconds": -1},
            "invalid-value",
            "periodSeconds",
        ),
        ("a hook that does nothing", ("lifecycle", "preStop"), {}, "fields-conflict"),
        ("a hook that sleeps less than no time", ("lifecycle", "preStop"), _SLEEP, "invalid-value", "sleep", "seconds"),
        ("a hook at an unknown port", ("lifecycle", "preStop"), _HTTP, "reference-unknown", "httpGet", "port"),
        ("a probe of an unknown port", ("readinessProbe",), _HTTP, "reference-unknown", "httpGet", "port"),
        ("a connection to an unknown port", ("livenessProbe",), _TCP, "reference-unknown", "tcpSocket", "port"),
        ("a startup at an unknown port", ("startupProbe",), _HTTP, "reference-unknown", "httpGet", "port"),
        ("a relative folder", ("workingDir",), "data", "invalid-value"),
        ("a container as root that must not be", ("securityContext",), _AS_ROOT, "fields-conflict", "runAsUser"),
        (
            "rights that contradict each other",
            ("securityContext",),
            {"privileged": True, "allowPrivilegeEscalation": False},
            "fields-conflict",
            "allowPrivilegeEscalation",
        ),
        ("an unknown policy for messages", ("terminationMessagePolicy",), "Log", "invalid-value"),
    ),
    *_rows(
        "task",
        ("a misspelled field of a task", ("comand",), ["run"], UNKNOWN),
        ("a name of a variable of a task", ("environment", "A=B"), "x", "invalid-value"),
        ("a path of the node with ..", ("volumeMounts",), ["/a/../b:/data"], "invalid-value", 0),
        ("an image with a blank", ("image",), "trainer:1 ", "invalid-value"),
        is_alone=True,
    ),
    *_rows(
        "task",
        ("all devices of the node", ("environment", "NVIDIA_VISIBLE_DEVICES"), "all", "gpu-bypass"),
        ("a secret in clear", ("environment", "HF_TOKEN"), "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "secret-in-clear"),
        ("two mounts at one path", ("volumeMounts",), _MOUNTS, "item-duplicate", 1),
        ("a mount that gives devices", ("volumeMounts",), _MOUNTS, "gpu-bypass", 2),
        ("an unknown Secret", ("credentials",), {"tokne": {"TOKEN": "key"}}, "reference-unknown", "tokne"),
        ("an unknown resource", ("resource",), "big", "resource-unknown"),
    ),
)


@dataclass(frozen=True)
class Slipped:
    """A document with slips in some pods."""

    document: Object
    places: dict[Slip, KeyPath]
    """The slips, each with the path of the finding."""


def slipped(example: Example, pods: Pods) -> Iterator[Slipped]:
    """Yields documents that have all slips of these pods. Slips that set one field are in different documents."""
    waiting = [slip for slip in SLIPS if _has(pods, slip)]
    while waiting:
        together: list[Slip] = []
        for slip in waiting:
            if all(_fit(pods, slip, other) for other in together):
                together.append(slip)
        document = copy.deepcopy(example.document)
        places = {}
        for slip in together:
            path = _set(document, _path(pods, slip), copy.deepcopy(slip.value))
            places[slip] = (*path, *slip.place)
        yield Slipped(document, places)
        waiting = [slip for slip in waiting if slip not in together]


def _has(pods: Pods, slip: Slip) -> bool:
    """Whether the pods have the part of a document in which people make a slip."""
    is_of_work = slip.path == ("labels", labels.PRIORITY) and pods.metadata == ("metadata",)
    return getattr(pods, slip.part) is not None and not is_of_work


def _path(pods: Pods, slip: Slip) -> KeyPath:
    part: KeyPath = getattr(pods, slip.part)
    return (*part, *slip.path)


def _fit(pods: Pods, slip: Slip, other: Slip) -> bool:
    """Whether one document can have both slips."""
    if slip.is_alone or other.is_alone:
        return False
    first, second = _path(pods, slip), _path(pods, other)
    size = min(len(first), len(second))
    is_same = first == second and (first[-1] == NEW or slip.value is other.value)
    return is_same or first[:size] != second[:size]


def _set(written: Any, path: KeyPath, value: Any) -> KeyPath:
    """Sets the value at a path of a document. Returns the path with the index of each new item."""
    found: list[str | int] = []
    for index, step in enumerate(path):
        if step == NEW:
            written.append(None)
            step = len(written) - 1
        found.append(step)
        if index == len(path) - 1:
            written[step] = value
        elif isinstance(written, dict):
            below: Any = [] if path[index + 1] == NEW else {}
            written = written.setdefault(step, below)
        else:
            written = written[step]
    return tuple(found)
