"""The fields of Kubernetes' own kinds, by release: names and types alone, as ``tools.packfields`` packs them of the
published schemas.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from kubectl_tas import addresses, quantities, schedules, spellings
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
_TYPES = {
    **{word: (word,) for word in _PYTHON},
    "any": (),
    "int32": ("integer",),
    "int64": ("integer",),
    "int-or-string": ("string", "integer"),
    "quantity": ("string", "number"),
}
"""What a type may be that has no fields; JSON Schema's names."""
_GROUPS = ("core.v1", "meta.v1", "batch.v1", "apps.v1", "autoscaling.v2", "networking.v1")
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
    """The name of the type of a kind of Kubernetes' own; of any other kind a name that no release has."""
    group, _, version = api_version.rpartition("/")
    return f"{group.partition('.')[0] or 'core'}.{version}.{kind}"


class Shape:
    """What a field may hold; what is below it is made when it is first asked for. ``written`` is its type as in Go:
    ``string``, ``[]core.v1.EnvVar``, ``{}string`` for a mapping with any keys.
    """

    def __init__(self, written: str, shapes: Shapes, bound: Bound | None = None) -> None:
        self._shapes = shapes
        self._below = written[2:] if written.startswith(("[]", "{}")) else ""
        self._fields = shapes.fields(written)
        is_mapping = self._fields is not None or written.startswith("{}")
        self.types = ("object",) if is_mapping else ("array",) if self._below else _TYPES.get(written, ())
        """JSON Schema's names of the types; none: anything."""
        self.accepts = tuple(python for word in self.types for python in _PYTHON[word])
        """Python's types of such values."""
        self.is_foreign = written in shapes.more
        """Whether it is a type of a kind that Kubernetes does not have itself."""
        self.name = written if self.is_foreign else written.rpartition(".")[2]
        """Of its type, without its group."""
        absent, must = _MAY_BE_ABSENT.get(self.name, ()), _MUST_BE_THERE.get(self.name, ())
        needed = [key for key, text in (self._fields or {}).items() if text.endswith("*") and key not in absent]
        self.required = (*needed, *must) if self._fields else ()
        """Fields that must be there."""
        self.bound = bound or (shapes.quantity if written == "quantity" else _FORMATS.get(written))
        """The values that it takes; None: all of its types."""

    @cached_property
    def fields(self) -> dict[str, Shape] | None:
        """The fields of a mapping, by name; None where it may have any, or is none."""
        if self._fields is None:
            return None
        bounds = self._shapes.bounds.get(self.name, {})
        return {key: self._shapes.of(text.rstrip("*"), bounds.get(key)) for key, text in self._fields.items()}

    @cached_property
    def items(self) -> Shape | None:
        """Each item of a list, or each value of a mapping with any keys, which takes the values of the field; None
        where they may be anything.
        """
        return self._shapes.of(self._below, self.bound) if self._below else None


class Shapes:
    """All types of a release, and those of ``more``: types of kinds that Kubernetes does not have itself. ``bounds`` is
    which values the fields of these take, ``required`` which of them must be there, ``quantity`` which amounts.
    """

    def __init__(
        self,
        release: int,
        more: Mapping[str, Mapping[str, str]],
        bounds: Mapping[str, Mapping[str, Bound]] | None = None,
        required: Mapping[str, tuple[str, ...]] | None = None,
        quantity: Bound = quantities.refused,
    ) -> None:
        packed = read_packed("kubernetes")
        self._index = packed["releases"].index(f"1.{release}")
        self._types, self._spans = packed["types"], packed["spans"]
        self.more = more
        self.quantity = quantity
        self._required = required or {}
        self.bounds: Mapping[str, Mapping[str, Bound]] = {**BOUNDS, **(bounds or {})}
        self._known: dict[str, Shape] = {}

    def of(self, written: str, bound: Bound | None = None) -> Shape:
        """The shape of a type, of a field that takes the values of ``bound``. A type that the release does not have may
        be anything.
        """
        if bound is not None:
            return Shape(written, self, bound)
        if written not in self._known:
            self._known[written] = Shape(written, self)
        return self._known[written]

    def fields(self, name: str) -> dict[str, str] | None:
        """The type of each field of a type, with * behind it where it must be there; None: the release has no such
        type.
        """
        if name in self.more:
            needed = self._required.get(name, ())
            return {key: text + "*" * (key in needed) for key, text in self.more[name].items()}
        if "." not in name:
            name = next((full for group in _GROUPS if (full := f"{group}.{name}") in self._types), name)
        first, last = self._spans.get(name, (0, self._index))
        if name not in self._types or not first <= self._index <= last:
            return None
        found = {}
        for key, text in self._types[name].items():
            if isinstance(text, str):
                found[key] = text
            else:
                found |= [(key, part) for since, until, part in text if since <= self._index <= until]
        return found


@cache
def read_packed(name: str) -> dict[str, Any]:
    """What ``tools.packfields`` has written: ``releases``, oldest first, and ``types``, each with its fields. What
    not all releases have is a list of what it is from one of them to another, by their indices; ``spans`` has those of
    types.
    """
    packed: dict[str, Any] = json.loads(zlib.decompress((Path(__file__).parent / f"packed/{name}.z").read_bytes()))
    return packed


@cache
def releases() -> tuple[int, ...]:
    """The minor versions of the releases 1.x whose fields are known, oldest first."""
    return tuple(map(minor, read_packed("kubernetes")["releases"]))


def nearest(version: str | None) -> int:
    """The minor version of the known release that stands for ``version`` (``1.33``); the newest for None."""
    known = releases()
    return known[-1] if version is None else min(max(minor(version), known[0]), known[-1])


def minor(version: str) -> int:
    """The minor version of ``1.33`` or ``v1.33.2``."""
    return int(version.split(".")[1])
