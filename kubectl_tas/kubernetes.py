"""The fields of Kubernetes' own kinds, by release: the published schemas that the package kubernetes-validate carries
as data. None of its code runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kubectl_tas import addresses, quantities, schedules, spellings
from kubectl_tas.errors import TasError
from kubectl_tas.yaml import LargeNumber

Bound = tuple[str, ...] | range | Callable[[Any], tuple[str, str] | None]
"""Which values of its type a field takes: certain words, numbers from one to another, or what a function does not say
to be refused, and why, and what to write instead.
"""

PATTERN = r"^v?1\.[0-9]+(\.[0-9]+)?$"
"""How a release is written: ``1.33``, ``1.33.2`` or ``v1.33.2``."""
_PYTHON: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float, LargeNumber),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_GROUPS = (
    "io.k8s.api.core.v1.",
    "io.k8s.apimachinery.pkg.apis.meta.v1.",
    "io.k8s.apimachinery.pkg.api.resource.",
    "io.k8s.apimachinery.pkg.util.intstr.",
    "io.k8s.api.batch.v1.",
    "io.k8s.api.apps.v1.",
    "io.k8s.api.autoscaling.v2.",
    "io.k8s.api.networking.v1.",
)
"""Where a type is looked for that is named without its group."""
_MAY_BE_ABSENT = {
    "StatefulSetSpec": {"serviceName"},
    "PodFailurePolicyOnPodConditionsPattern": {"status"},
    "HTTPHeader": {"value"},
    "Sysctl": {"value"},
}
"""Fields that the schemas of some releases demand and no API server does."""
_MUST_BE_THERE = {
    "ConfigMapEnvSource": ("name",),
    "ConfigMapKeySelector": ("name",),
    "ConfigMapProjection": ("name",),
    "ConfigMapVolumeSource": ("name",),
    "Container": ("image",),
    "EphemeralVolumeSource": ("volumeClaimTemplate",),
    "Ingress": ("spec",),
    "IngressServiceBackend": ("port",),
    "PersistentVolumeClaim": ("spec",),
    "PodDNSConfigOption": ("name",),
    "PersistentVolumeClaimSpec": ("accessModes", "resources"),
    "SecretEnvSource": ("name",),
    "SecretKeySelector": ("name",),
    "SecretProjection": ("name",),
    "SecretVolumeSource": ("secretName",),
    "VolumeResourceRequirements": ("requests",),
}
"""Fields that every API server demands and no schema does."""
_FORMATS = {"int32": range(-(2**31), 2**31), "int64": range(-(2**63), 2**63)}


_COUNT = range(2**31)
_POSITIVE = range(1, 2**31)
_PORT = range(1, 2**16)
_SECONDS = range(2**63)
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_RESTARTS = ("Always", "OnFailure", "Never")
_PULLS = ("Always", "IfNotPresent", "Never")
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_KEPT = ("Retain", "Delete")
_KEY: dict[str, Bound] = {"key": spellings.config_key, "name": spellings.subdomain}
_FILES: dict[str, Bound] = {"defaultMode": spellings.mode}
_USER: dict[str, Bound] = {"runAsGroup": _COUNT, "runAsUser": _COUNT}
_PROBE: dict[str, Bound] = {
    "failureThreshold": _COUNT,
    "initialDelaySeconds": _COUNT,
    "periodSeconds": _COUNT,
    "successThreshold": _COUNT,
    "terminationGracePeriodSeconds": range(1, 2**63),
    "timeoutSeconds": _COUNT,
}
BOUNDS: dict[str, dict[str, Bound]] = {
    "AppArmorProfile": {"type": _PROFILES},
    "CSIVolumeSource": {"driver": spellings.subdomain},
    "ConfigMapEnvSource": {"name": spellings.subdomain},
    "ConfigMapKeySelector": _KEY,
    "ConfigMapVolumeSource": _FILES,
    "Container": {
        "image": spellings.image,
        "imagePullPolicy": _PULLS,
        "name": spellings.label,
        "restartPolicy": _RESTARTS,
        "terminationMessagePolicy": ("File", "FallbackToLogsOnError"),
    },
    "ContainerPort": {
        "containerPort": _PORT,
        "hostPort": range(2**16),
        "name": spellings.port_name,
        "protocol": _PROTOCOLS,
    },
    "ContainerResizePolicy": {
        "resourceName": ("cpu", "memory"),
        "restartPolicy": ("NotRequired", "RestartContainer"),
    },
    "CronJobSpec": {
        "concurrencyPolicy": ("Allow", "Forbid", "Replace"),
        "failedJobsHistoryLimit": _COUNT,
        "schedule": schedules.refused,
        "startingDeadlineSeconds": _SECONDS,
        "successfulJobsHistoryLimit": _COUNT,
        "timeZone": schedules.zone_refused,
    },
    "DeploymentSpec": {
        "minReadySeconds": _COUNT,
        "progressDeadlineSeconds": _COUNT,
        "replicas": _COUNT,
        "revisionHistoryLimit": _COUNT,
    },
    "DeploymentStrategy": {"type": ("Recreate", "RollingUpdate")},
    "DownwardAPIVolumeFile": {"mode": spellings.mode, "path": spellings.file_path},
    "DownwardAPIVolumeSource": _FILES,
    "EmptyDirVolumeSource": {"medium": spellings.medium},
    "EnvVar": {"name": spellings.variable},
    "EnvFromSource": {"prefix": spellings.variable_prefix},
    "GRPCAction": {"port": _PORT},
    "HTTPGetAction": {"port": spellings.port, "scheme": ("HTTP", "HTTPS")},
    "HTTPHeader": {"name": spellings.header},
    "HostAlias": {"hostnames": spellings.subdomain, "ip": addresses.refused},
    "HostPathVolumeSource": {
        "path": spellings.node_path,
        "type": ("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"),
    },
    "ImageVolumeSource": {"pullPolicy": _PULLS},
    "JobSpec": {
        "activeDeadlineSeconds": _SECONDS,
        "backoffLimit": _COUNT,
        "backoffLimitPerIndex": _COUNT,
        "completionMode": ("NonIndexed", "Indexed"),
        "completions": _COUNT,
        "managedBy": spellings.domain_path,
        "maxFailedIndexes": _COUNT,
        "parallelism": _COUNT,
        "podReplacementPolicy": ("TerminatingOrFailed", "Failed"),
        "ttlSecondsAfterFinished": _COUNT,
    },
    "KeyToPath": {"key": spellings.some, "mode": spellings.mode, "path": spellings.file_path},
    "LabelSelectorRequirement": {
        "key": spellings.label_key,
        "operator": ("In", "NotIn", "Exists", "DoesNotExist"),
        "values": spellings.label_value,
    },
    "NFSVolumeSource": {"path": spellings.absolute, "server": spellings.some},
    "NodeSelectorRequirement": {"operator": ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")},
    "ObjectFieldSelector": {"apiVersion": ("", "v1")},
    "PersistentVolumeClaimVolumeSource": {"claimName": spellings.some},
    "PodAffinityTerm": {"namespaces": spellings.label, "topologyKey": spellings.label_key},
    "PodDNSConfig": {"nameservers": addresses.refused, "searches": spellings.search_domain},
    "PodDNSConfigOption": {"name": spellings.some},
    "PodFailurePolicyOnExitCodesRequirement": {"operator": ("In", "NotIn")},
    "PodFailurePolicyOnPodConditionsPattern": {
        "status": ("True", "False", "Unknown"),
        "type": spellings.label_key,
    },
    "PodFailurePolicyRule": {"action": ("FailJob", "FailIndex", "Ignore", "Count")},
    "PodOS": {"name": ("linux", "windows")},
    "PodReadinessGate": {"conditionType": spellings.label_key},
    "PodResourceClaim": {
        "name": spellings.label,
        "resourceClaimName": spellings.subdomain,
        "resourceClaimTemplateName": spellings.subdomain,
    },
    "PodSecurityContext": {
        **_USER,
        "fsGroup": _COUNT,
        "fsGroupChangePolicy": ("OnRootMismatch", "Always"),
        "supplementalGroups": _COUNT,
        "supplementalGroupsPolicy": ("Merge", "Strict"),
    },
    "PodSpec": {
        "activeDeadlineSeconds": range(1, 2**31),
        "dnsPolicy": ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
        "hostname": spellings.or_empty(spellings.label),
        "hostnameOverride": spellings.or_empty(spellings.subdomain),
        "preemptionPolicy": ("PreemptLowerPriority", "Never"),
        "restartPolicy": _RESTARTS,
        "runtimeClassName": spellings.subdomain,
        "serviceAccountName": spellings.or_empty(spellings.subdomain),
        "subdomain": spellings.or_empty(spellings.label),
        "terminationGracePeriodSeconds": _SECONDS,
    },
    "PreferredSchedulingTerm": {"weight": range(1, 101)},
    "Probe": _PROBE,
    "ProjectedVolumeSource": _FILES,
    "RollingUpdateDeployment": {"maxSurge": spellings.share, "maxUnavailable": spellings.share_of_all},
    "RollingUpdateStatefulSetStrategy": {"maxUnavailable": spellings.share_of_all, "partition": _COUNT},
    "SeccompProfile": {"localhostProfile": spellings.local_path, "type": _PROFILES},
    "SecretEnvSource": {"name": spellings.subdomain},
    "SecretKeySelector": _KEY,
    "SecretVolumeSource": _FILES,
    "SecurityContext": {**_USER, "procMount": ("Default", "Unmasked")},
    "ServiceAccountTokenProjection": {"expirationSeconds": range(600, 2**32 + 1), "path": spellings.file_path},
    "StatefulSetOrdinals": {"start": _COUNT},
    "StatefulSetPersistentVolumeClaimRetentionPolicy": {"whenDeleted": _KEPT, "whenScaled": _KEPT},
    "StatefulSetSpec": {
        "minReadySeconds": _COUNT,
        "podManagementPolicy": ("OrderedReady", "Parallel"),
        "replicas": _COUNT,
        "revisionHistoryLimit": _COUNT,
        "serviceName": spellings.or_empty(spellings.label),
    },
    "StatefulSetUpdateStrategy": {"type": ("RollingUpdate", "OnDelete")},
    "SuccessPolicyRule": {"succeededCount": _COUNT},
    "Sysctl": {"name": spellings.sysctl},
    "TCPSocketAction": {"port": spellings.port},
    "Toleration": {
        "effect": ("", *_EFFECTS),
        "key": spellings.or_empty(spellings.label_key),
        "operator": ("", "Exists", "Equal", "Lt", "Gt"),
        "value": spellings.label_value,
    },
    "TopologySpreadConstraint": {
        "maxSkew": _POSITIVE,
        "minDomains": _POSITIVE,
        "nodeAffinityPolicy": ("Honor", "Ignore"),
        "nodeTaintsPolicy": ("Honor", "Ignore"),
        "topologyKey": spellings.label_key,
        "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
    },
    "Volume": {"name": spellings.label},
    "VolumeDevice": {"devicePath": spellings.some},
    "VolumeMount": {
        "mountPath": spellings.some,
        "mountPropagation": ("None", "HostToContainer", "Bidirectional"),
        "recursiveReadOnly": ("Disabled", "IfPossible", "Enabled"),
        "subPath": spellings.local_path,
        "subPathExpr": spellings.local_path,
    },
    "WeightedPodAffinityTerm": {"weight": range(1, 101)},
}
"""The values that fields of Kubernetes' own types take, by type and field, of all releases. Follows
pkg/apis/core/validation, apps/validation and batch/validation of Kubernetes 1.35.
"""


def definition(api_version: str, kind: str) -> str:
    """The name in the schemas of a kind of Kubernetes' own; of any other kind a name that they do not have."""
    group, _, version = api_version.rpartition("/")
    return f"io.k8s.api.{group.partition('.')[0] or 'core'}.{version}.{kind}"


class Shape:
    """What a field may hold; what is below it is made when it is first asked for."""

    def __init__(self, schema: Mapping[str, Any], name: str, shapes: Shapes, bound: Bound | None = None) -> None:
        self._schema = schema
        self._shapes = shapes
        branches = schema.get("oneOf", (schema,))
        found = [branch["type"] for branch in branches if "type" in branch]
        words = [word for item in found for word in ([item] if isinstance(item, str) else item) if word != "null"]
        self.types = tuple(dict.fromkeys(words))
        """JSON Schema's names of the types; none: anything."""
        self.accepts = tuple(python for word in self.types for python in _PYTHON[word])
        """Python's types of such values."""
        self.about: str = schema.get("description", "")
        self.is_foreign = name in shapes.more
        """Whether it is a type of a kind that Kubernetes does not have itself."""
        self.name = name if self.is_foreign else name.rpartition(".")[2]
        """Of its type, without its group; empty where it has none."""
        absent = _MAY_BE_ABSENT.get(self.name, set())
        needed = (*schema.get("required", ()), *_MUST_BE_THERE.get(self.name, ()))
        self.required = tuple(field for field in needed if field not in absent)
        """Fields that must be there."""
        self.bound = bound or (shapes.quantity if self.name == "Quantity" else _FORMATS.get(schema.get("format", "")))
        """The values that it takes; None: all of its types."""

    @cached_property
    def fields(self) -> dict[str, Shape] | None:
        """The fields of a mapping, by name; None where it may have any, or is none."""
        written = self._schema.get("properties")
        if written is None:
            return None
        bounds = self._shapes.bounds.get(self.name, {})
        return {name: self._shapes.of(part, bounds.get(name)) for name, part in written.items()}

    @cached_property
    def items(self) -> Shape | None:
        """Each item of a list, or each value of a mapping with any keys, which takes the values of the field; None
        where they may be anything.
        """
        part = self._schema.get("items", self._schema.get("additionalProperties"))
        return self._shapes.of(part, self.bound) if isinstance(part, dict) else None


class Shapes:
    """All types of a release, and those of ``more``: types of kinds that Kubernetes does not have itself, each with
    its fields, as in Go: ``string``, ``[]EnvVar``, ``{}string`` for a mapping. ``bounds`` is which values the fields of
    these take, ``required`` which of them must be there, ``quantity`` which amounts.
    """

    def __init__(
        self,
        definitions: Mapping[str, Any],
        more: Mapping[str, Mapping[str, str]],
        bounds: Mapping[str, Mapping[str, Bound]] | None = None,
        required: Mapping[str, tuple[str, ...]] | None = None,
        quantity: Bound = quantities.refused,
    ) -> None:
        self._definitions = definitions
        self.more = more
        self.quantity = quantity
        self._required = required or {}
        self.bounds: Mapping[str, Mapping[str, Bound]] = {**BOUNDS, **(bounds or {})}
        self._named: dict[str, Shape] = {}

    def named(self, name: str) -> Shape:
        """The type of a name; one that the release does not have may be anything."""
        if name not in self._named:
            self._named[name] = Shape(self._schema(name), name, self)
        return self._named[name]

    def of(self, schema: Mapping[str, Any], bound: Bound | None = None) -> Shape:
        """The shape that a schema describes, of a field that takes the values of ``bound``."""
        name: str = schema.get("$ref", "").rpartition("/")[2]
        if name and bound is None:
            return self.named(name)
        return Shape(self._schema(name) if name else schema, name, self, bound)

    def _schema(self, name: str) -> Mapping[str, Any]:
        if name in self.more:
            properties = {key: _written(text) for key, text in self.more[name].items()}
            return {"type": "object", "properties": properties, "required": self._required.get(name, ())}
        found = next((group for group in _GROUPS if group + name in self._definitions), "")
        schema: Mapping[str, Any] = self._definitions.get(found + name, {})
        return schema


def _written(text: str) -> dict[str, Any]:
    """The schema of a type that is written as in Go."""
    if text.startswith("[]"):
        return {"type": "array", "items": _written(text[2:])}
    if text.startswith("{}"):
        return {"type": "object", "additionalProperties": _written(text[2:])}
    if text == "any":
        return {}
    return {"type": text} if text in _PYTHON else {"$ref": text}


@cache
def releases() -> tuple[int, ...]:
    """The minor versions of the releases 1.x whose fields are known, oldest first. Raises TasError where the package
    that carries them is missing.
    """
    names = (path.name for path in _folder().glob("v1.*-local"))
    return tuple(sorted(int(name.split(".")[1]) for name in names))


def nearest(version: str | None) -> int:
    """The minor version of the known release that stands for ``version`` (``1.33``); the newest for None."""
    known = releases()
    return known[-1] if version is None else min(max(minor(version), known[0]), known[-1])


def minor(version: str) -> int:
    """The minor version of ``1.33`` or ``v1.33.2``."""
    return int(version.split(".")[1])


@cache
def definitions(release: int) -> Mapping[str, Any]:
    """The schemas of all types of a release, by name. Raises TasError where they cannot be read."""
    path = _folder() / f"v1.{release}.0-local" / "_definitions.json"
    try:
        return json.loads(path.read_bytes())["$defs"]  # type: ignore[no-any-return]
    except (OSError, ValueError, KeyError) as error:
        raise TasError(
            f"cannot read Kubernetes' schemas in {path}: {error}; install kubernetes-validate anew"
        ) from error


def _folder() -> Path:
    found = find_spec("kubernetes_validate")
    places = list(found.submodule_search_locations or ()) if found else []
    if not places:
        raise TasError("the package kubernetes-validate is missing, which has Kubernetes' schemas; install it with pip")
    return Path(places[0]) / "kubernetes-json-schema"
