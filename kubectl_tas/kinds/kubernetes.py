"""Knows the fields of Kubernetes' and operators' kinds by release: names and types only. ``tools.packfields`` packs
them from the published schemas and CRDs.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from kubectl_tas.base.yaml import LargeNumber
from kubectl_tas.facts import quantities, spellings, times

Bound = tuple[str, ...] | range | Callable[[Any], tuple[str, str] | None]
"""The values that a field accepts: certain words, a range of numbers, or a function. The function returns None for an
accepted value, else the reason of the refusal and what to write instead.
"""

_PACKED = Path(__file__).parent.parent / "packed"
PATTERN = r"^v?1\.[0-9]+(\.[0-9]+)?$"
"""The spelling of a release: ``1.33``, ``1.33.2`` or ``v1.33.2``."""
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
"""JSON Schema's names for the types without fields."""
_MAY_BE_ABSENT = {
    "StatefulSetSpec": {"serviceName"},
    "PodFailurePolicyOnPodConditionsPattern": {"status"},
    "HTTPHeader": {"value"},
    "Sysctl": {"value"},
}
"""Fields that the schemas of some releases require and no API server does."""
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
"""Fields that every API server requires and no schema does."""
_COMPLETED = {name: fields for name, fields in _MUST_BE_THERE.items() if name != "Container"}
SPARK_PODS = ("SparkApplication.spec.driver", "SparkApplication.spec.executor")
"""The types with the fields of Spark's pods."""
_SPARK_TEMPLATE = f"{SPARK_PODS[0]}.template"
_SERVICE = "DynamoService.extraPodSpec"
_MUST_BE_THERE_OF = {
    "kserve": _COMPLETED,
    "seldon-core": _COMPLETED,
    "spark-operator": {**_MUST_BE_THERE, f"{_SPARK_TEMPLATE}.containers": ()},
    "dynamo": {**_MUST_BE_THERE, f"{_SERVICE}.mainContainer": ()},
}
"""The required fields, by the name of a type, for operators that complete containers: KServe by ServingRuntimes, Seldon
Core by servers, Spark and Dynamo by their own fields.
"""
_OPEN: dict[str, dict[str, dict[str, str]]] = {
    "argo-workflows": {
        "Workflow.spec.templates.steps": {"inline": "Workflow.spec.templates"},
        "Workflow.spec.templates.dag.tasks": {"inline": "Workflow.spec.templates"},
    },
    "spark-operator": {
        **{name: {"template": _SPARK_TEMPLATE} for name in SPARK_PODS},
        _SPARK_TEMPLATE: {"metadata": "meta.v1.ObjectMeta", "spec": f"{_SPARK_TEMPLATE}.spec"},
        f"{_SPARK_TEMPLATE}.spec": {"": "core.v1.PodSpec", "containers": f"[]{_SPARK_TEMPLATE}.containers"},
        f"{_SPARK_TEMPLATE}.containers": {"": "core.v1.Container", "name": "string"},
    },
    "dynamo": {
        _SERVICE: {
            "": "core.v1.PodSpec",
            "containers": "[]core.v1.Container",
            "mainContainer": f"{_SERVICE}.mainContainer",
        },
        f"{_SERVICE}.mainContainer": {"": "core.v1.Container", "name": "string"},
    },
}
"""Fields that a CRD leaves open, by operator and type, with the types that they have in the operator's Go types:
workflow_types.go of Argo Workflows 3.7 (Inline), sparkapplication_types.go of the Spark operator 2.5 (Template), and
common.go of Dynamo 1.2 (ExtraPodSpec), whose CRD is not packed.
"""
_NO_CRD = {"releases": ["1.2"], "kubernetes": [34], "kinds": {}, "spans": {}, "types": {}}
_ALIKE = {
    "InferenceService.spec.explainer": "PodSpec",
    "InferenceService.spec.predictor": "PodSpec",
    "InferenceService.spec.transformer": "PodSpec",
    **dict.fromkeys(SPARK_PODS, "Container"),
    f"{SPARK_PODS[0]}.ports": "ContainerPort",
    "TrainJob.spec.trainer": "Container",
}
"""Types of operators whose fields mean what they mean in a type of Kubernetes."""
_ALIKE_AT = {
    "hostAliases": "HostAlias",
    "livenessProbe": "Probe",
    "schedulingGates": "PodSchedulingGate",
    "topologySpreadConstraints": "TopologySpreadConstraint",
}
"""Types of Kubernetes that a CRD has with fewer fields, by the field of pods and containers that has them."""
_FORMATS: dict[str, Bound] = {
    "int32": spellings.INT32,
    "int64": range(-(2**63), 2**63),
    "int-or-string": spellings.number_or_text,
}


_COUNT = range(2**31)
_POSITIVE = range(1, 2**31)
_PORT = range(1, 2**16)
_SECONDS = range(2**63)
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_RESTARTS = ("Always", "OnFailure", "Never")
_PULLS = ("Always", "IfNotPresent", "Never")
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_KEPT = ("Retain", "Delete")


def _counts(*fields: str) -> dict[str, Bound]:
    return dict.fromkeys(fields, _COUNT)


_KEY: dict[str, Bound] = {"key": spellings.config_key, "name": spellings.subdomain}
_FILES: dict[str, Bound] = {"defaultMode": spellings.mode}
_USER: dict[str, Bound] = {"runAsGroup": _COUNT, "runAsUser": _COUNT}
_OF_PROBES = ("failureThreshold", "initialDelaySeconds", "periodSeconds", "successThreshold", "timeoutSeconds")
_OF_REPLICAS = ("minReadySeconds", "replicas")
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
        "workingDir": spellings.working_folder,
    },
    "ContainerPort": {
        "containerPort": _PORT,
        "hostPort": range(2**16),
        "name": spellings.port_name,
        "protocol": ("TCP", "UDP", "SCTP"),
    },
    "ContainerResizePolicy": {
        "resourceName": ("cpu", "memory"),
        "restartPolicy": ("NotRequired", "RestartContainer"),
    },
    "CronJobSpec": {
        **_counts("failedJobsHistoryLimit", "successfulJobsHistoryLimit"),
        "concurrencyPolicy": ("Allow", "Forbid", "Replace"),
        "schedule": times.schedule_refused,
        "startingDeadlineSeconds": _SECONDS,
        "timeZone": times.zone_refused,
    },
    "DeploymentSpec": _counts(*_OF_REPLICAS, "progressDeadlineSeconds", "revisionHistoryLimit"),
    "DeploymentStrategy": {"type": ("Recreate", "RollingUpdate")},
    "DownwardAPIVolumeFile": {"mode": spellings.mode, "path": spellings.file_path},
    "DownwardAPIVolumeSource": _FILES,
    "EmptyDirVolumeSource": {"medium": spellings.medium},
    "EnvVar": {"name": spellings.variable},
    "EnvFromSource": {"prefix": spellings.variable_prefix},
    "GRPCAction": {"port": _PORT},
    "HTTPGetAction": {"port": spellings.port, "scheme": ("HTTP", "HTTPS")},
    "HTTPHeader": {"name": spellings.header},
    "HostAlias": {"hostnames": spellings.subdomain, "ip": spellings.address_refused},
    "HostPathVolumeSource": {
        "path": spellings.node_path,
        "type": ("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"),
    },
    "ImageVolumeSource": {"pullPolicy": _PULLS},
    "JobSpec": {
        **_counts("backoffLimit", "backoffLimitPerIndex", "completions", "maxFailedIndexes", "parallelism"),
        **_counts("ttlSecondsAfterFinished"),
        "activeDeadlineSeconds": _SECONDS,
        "completionMode": ("NonIndexed", "Indexed"),
        "managedBy": spellings.domain_path,
        "podReplacementPolicy": ("TerminatingOrFailed", "Failed"),
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
    "PodDNSConfig": {"nameservers": spellings.address_refused, "searches": spellings.search_domain},
    "PodDNSConfigOption": {"name": spellings.some},
    "PodFailurePolicyOnExitCodesRequirement": {"operator": ("In", "NotIn")},
    "PodFailurePolicyOnPodConditionsPattern": {
        "status": ("True", "False", "Unknown"),
        "type": spellings.label_key,
    },
    "PodFailurePolicyRule": {"action": ("FailJob", "FailIndex", "Ignore", "Count")},
    "PodOS": {"name": ("linux", "windows")},
    "PodSchedulingGate": {"name": spellings.label_key},
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
    "Probe": {**_counts(*_OF_PROBES), "terminationGracePeriodSeconds": range(1, 2**63)},
    "ProjectedVolumeSource": _FILES,
    **dict.fromkeys(("ReplicaSetSpec", "ReplicationControllerSpec"), _counts(*_OF_REPLICAS)),
    "RollingUpdateDeployment": {"maxSurge": spellings.share, "maxUnavailable": spellings.share_of_all},
    "RollingUpdateStatefulSetStrategy": {"maxUnavailable": spellings.share_of_all, "partition": _COUNT},
    "SeccompProfile": {"localhostProfile": spellings.local_path, "type": _PROFILES},
    "SecretEnvSource": {"name": spellings.subdomain},
    "SecretKeySelector": _KEY,
    "SecretVolumeSource": _FILES,
    "SecurityContext": {**_USER, "procMount": ("Default", "Unmasked")},
    "ServiceAccountTokenProjection": {"expirationSeconds": range(600, 2**32 + 1), "path": spellings.file_path},
    "SleepAction": {"seconds": _SECONDS},
    "StatefulSetOrdinals": {"start": _COUNT},
    "StatefulSetPersistentVolumeClaimRetentionPolicy": {"whenDeleted": _KEPT, "whenScaled": _KEPT},
    "StatefulSetSpec": {
        **_counts(*_OF_REPLICAS, "revisionHistoryLimit"),
        "podManagementPolicy": ("OrderedReady", "Parallel"),
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
"""The values that fields of Kubernetes' own types accept in all releases, by type and field. Follows
pkg/apis/core/validation, apps/validation and batch/validation of Kubernetes 1.35.
"""
_BOUNDS_OF: dict[str, dict[str, dict[str, Bound]]] = {
    "argo-workflows": {
        "Container": {
            **BOUNDS["Container"],
            "name": spellings.or_empty(spellings.label),
        }
    }
}
"""Accepted values for operators that fill in values, as Argo does ``{{inputs.parameters.x}}`` and container names."""


def definition(api_version: str, kind: str) -> str:
    """Returns the type's name of a kind of Kubernetes' own; for any other kind, a name that no release has."""
    group, _, version = api_version.rpartition("/")
    return f"{group.partition('.')[0] or 'core'}.{version}.{kind}"


class Shape:
    """The values and fields that a field may hold; the shapes of inner fields are made when first used. ``written`` is
    the type as in Go: ``string``, ``[]core.v1.EnvVar``, or ``{}string`` for a mapping with any keys.
    """

    def __init__(self, type_name: str, shapes: Shapes, bound: Bound | None = None) -> None:
        self._written, self._shapes = type_name, shapes
        self._below = type_name[2:] if type_name.startswith(("[]", "{}")) else ""
        self._fields = shapes.fields(type_name)
        is_mapping = self._fields is not None or type_name.startswith("{}")
        self.types = ("object",) if is_mapping else ("array",) if self._below else _TYPES.get(type_name, ())
        """JSON Schema's names of the accepted types; empty: any type."""
        self.accepts = tuple(python for word in self.types for python in _PYTHON[word])
        """Python's types of accepted values."""
        self.name = shapes.name(type_name)
        """The type's name: without group for Kubernetes' own, the path for an operator's, such as ``RayJob.spec``."""
        self.alike = shapes.alike(self.name)
        """The name of the type in the tables of bounds and checks."""
        of_name = shapes.must_be_there.get(self.name, ())
        absent, must = _MAY_BE_ABSENT.get(self.name, ()), shapes.must_be_there.get(type_name, of_name)
        needed = [key for key, field in (self._fields or {}).items() if field.is_required and key not in absent]
        self.required = (*needed, *must) if self._fields else ()
        """The required fields."""
        self.bound = bound or (shapes.quantity if type_name == "quantity" else _FORMATS.get(type_name))
        """The accepted values; None: all values of the types."""

    @property
    def is_foreign(self) -> bool:
        """Whether the type belongs to a kind that Kubernetes does not have itself."""
        return "." in self.name or self._shapes.is_kind(self.name)

    @cached_property
    def fields(self) -> dict[str, Shape] | None:
        """The fields of a mapping, by name; None for any other value, or for a mapping with any fields."""
        if self._fields is None:
            return None
        bounds = self._shapes.bounds.get(self.alike, {})
        return {k: self._shapes.of(f.written, bounds.get(k) or f.bound) for k, f in self._fields.items()}

    @cached_property
    def items(self) -> Shape | None:
        """The shape of each item of a list, or of each value of a mapping with any keys; None if anything is accepted.
        The shape has the bound of the field itself.
        """
        return self._shapes.of(self._below, self.bound) if self._below else None

    def elsewhere(self, key: str) -> str:
        """Returns which other releases have a field that this one lacks; '' if none has the field."""
        return self._shapes.elsewhere(self._written, key)


class TypedField(NamedTuple):
    """A field of a type."""

    written: str
    """The type of the field."""
    is_required: bool = False
    bound: Bound | None = None
    """The accepted values, as far as the schema says."""


class Shapes:
    """All types of a Kubernetes release. ``bounds`` are accepted values of fields in addition to ``BOUNDS``;
    ``quantity`` is the bound of amounts.
    """

    packed_in = "kubernetes"
    """The name of the file with the types."""
    must_be_there: Mapping[str, tuple[str, ...]] = _MUST_BE_THERE

    def __init__(
        self,
        release: int,
        bounds: Mapping[str, Mapping[str, Bound]] | None = None,
        quantity: Bound = quantities.refused,
        who_has: str = "this cluster has",
    ) -> None:
        self.quantity = quantity
        self._here = f"{who_has} 1.{release}"
        self.bounds: Mapping[str, Mapping[str, Bound]] = {**BOUNDS, **(bounds or {})}
        self._packed = read_packed(self.packed_in)
        self._types = _opened(self.packed_in)
        self._spans = self._packed["spans"]
        self._index: int | None = release - releases()[0]
        self._known: dict[str, Shape] = {}

    def of(self, type_name: str, bound: Bound | None = None) -> Shape:
        """Returns the shape of a type, for a field with ``bound``. A type unknown to the release accepts any value."""
        if bound is not None:
            return Shape(type_name, self, bound)
        if type_name not in self._known:
            self._known[type_name] = Shape(type_name, self)
        return self._known[type_name]

    def name(self, type_name: str) -> str:
        """Returns the name of a type."""
        return type_name.rpartition(".")[2]

    def alike(self, name: str) -> str:
        """Returns the type of Kubernetes whose fields have the same meaning, or the name itself."""
        return name

    def is_kind(self, _name: str) -> bool:
        """Whether the name is a kind of an operator."""
        return False

    def fields(self, name: str) -> dict[str, TypedField] | None:
        """Returns the fields of a type; None if the release has no such type."""
        packed_fields = self._types.get(name)
        span = self._spans.get(name, (0, len(self._packed["releases"]) - 1))
        if packed_fields is None or (self._index is not None and not span[0] <= self._index <= span[1]):
            return None
        fields = {}
        for key, packed_field in packed_fields.items():
            versions = packed_field if isinstance(packed_field, list) else [(*span, packed_field)]
            now = [v for s, u, v in versions if self._index is None or s <= self._index <= u]
            if now:
                always = (
                    self._index is not None
                    or sum(until + 1 - since for since, until, _ in versions) > span[1] - span[0]
                )
                fields[key] = _field(now, always=always)
        return fields

    def elsewhere(self, name: str, key: str) -> str:
        """Returns which releases have a field of a type that this one lacks; '' if none has the field."""
        packed_field = self._types.get(name, {}).get(key)
        spans = (
            [(since, until) for since, until, field in packed_field if field] if isinstance(packed_field, list) else []
        )
        return self._other_releases(spans)

    def _other_releases(self, spans: list[tuple[int, int]]) -> str:
        """Returns which releases have something that this one lacks, from the first and last index of each span."""
        releases = self._packed["releases"]
        if not spans or self._index is None:
            return ""
        oldest, last = releases[spans[0][0]], releases[spans[-1][1]]
        until = f"had it in {oldest} alone" if oldest == last else f"had it from {oldest} to {last}"
        which = f"has it from {oldest} on" if last == releases[-1] else until
        project = "Kubernetes" if self.packed_in == "kubernetes" else self.packed_in
        return f"{project} {which}; {self._here}."


class OperatorShapes(Shapes):
    """All types of an operator's kinds, in one of its releases or in any. Types of pods come from the Kubernetes
    release that the CRDs were made with, or from the cluster's if that is older.
    """

    def __init__(
        self, operator: str, version: str | None, release: int, bounds: Mapping[str, Mapping[str, Bound]] | None = None
    ) -> None:
        self.packed_in = operator
        bounds = {**(bounds or {}), **_BOUNDS_OF.get(operator, {})}
        super().__init__(release, bounds, quantities.refused_by_crds)
        self._here = f"the Config names {version}"
        self._index = None if version is None else nearest_of(operator, version)
        pods = release if self._index is None else min(release, self._packed["kubernetes"][self._index])
        who_has = "this cluster has" if pods == release else f"{operator} {version} takes the pods of"
        self._own = Shapes(pods, bounds, self.quantity, who_has)
        self.must_be_there = self._own.must_be_there = _MUST_BE_THERE_OF.get(operator, _MUST_BE_THERE)

    def of(self, type_name: str, bound: Bound | None = None) -> Shape:
        """Returns the shape of a type of the operator's, or of Kubernetes' own."""
        bare = type_name.lstrip("[]{}")
        return (
            super().of(type_name, bound) if bare in self._types or "." not in bare else self._own.of(type_name, bound)
        )

    def kind(self, api_version: str, kind: str) -> Shape:
        """Returns the shape of a kind of the operator's."""
        return self.of(self._packed["kinds"][f"{api_version} {kind}"])

    def kind_elsewhere(self, api_version: str, kind: str) -> str:
        """Returns which releases have a kind that this one lacks; '' if this one has the kind."""
        name = self._packed["kinds"][f"{api_version} {kind}"]
        return "" if self.fields(name) is not None else self._other_releases([self._spans[name]])

    def name(self, type_name: str) -> str:
        """Returns the name of a type; a variant of one of Kubernetes' own types has the name of that type."""
        base = self._base(type_name)
        return type_name if base is None else self._own.name(base)

    def alike(self, name: str) -> str:
        """Returns the type of Kubernetes whose fields have the same meaning, or the name itself."""
        return _ALIKE.get(name) or (_ALIKE_AT.get(name.rpartition(".")[2], name) if "." in name else name)

    def is_kind(self, name: str) -> bool:
        """Whether the name is a kind of the operator's."""
        return name in self._types

    def fields(self, name: str) -> dict[str, TypedField] | None:
        """Returns the fields of a type: its own, and those of the type of Kubernetes that it varies."""
        own_fields, base = super().fields(name), self._base(name)
        if own_fields is None or base is None:
            return own_fields
        base_fields = self._own.fields(base) or {}
        typed_fields = {key: field for key, field in own_fields.items() if key and field.written}
        left_out = {key for key, field in own_fields.items() if not field.written} if self._index is not None else set()
        return {key: field for key, field in {**base_fields, **typed_fields}.items() if key not in left_out}

    def _base(self, name: str) -> str | None:
        packed_base = self._types.get(name, {}).get("")
        base: str | None = packed_base[-1][2] if isinstance(packed_base, list) else packed_base
        return base


def text_of_older_releases(value: int | str) -> spellings.Refusal:
    """Checks a value that is a number in the newest release of an operator, and may be text in an older one."""
    if isinstance(value, int):
        return spellings.number_or_text(value)
    number = f"Write it without quotes: {value}." if value.isdecimal() else "Write a number."
    hint = f"{number} If your release takes text, name it in spec.operators of the Config."
    return "must be a whole number: the newest release of its operator takes no text", hint


def _field(versions: list[str | dict[str, Any] | None], *, always: bool) -> TypedField:
    """Returns a field that accepts what any of its versions accepts; None among these means: left out.

    ``always``: every release has the field.
    """
    alternatives: list[dict[str, Any]] = [v if isinstance(v, dict) else {"type": v or ""} for v in versions]
    types = [alternative["type"].rstrip("*") for alternative in alternatives]
    loose = next((word for word in types if word in ("any", "object", "int-or-string", "")), types[-1])
    is_required = always and all(alternative["type"].endswith("*") for alternative in alternatives)
    bound: Bound | None = None
    if all("words" in alternative for alternative in alternatives):
        bound = tuple(dict.fromkeys(word for alternative in alternatives for word in alternative["words"]))
    elif all("least" in alternative for alternative in alternatives):
        bound = range(
            min(alternative["least"] for alternative in alternatives),
            max(alternative["most"] for alternative in alternatives) + 1,
        )
    elif loose == "int-or-string" != types[-1]:
        bound = text_of_older_releases
    return TypedField(loose, is_required, bound)


@cache
def operators() -> dict[str, dict[str, list[str]]]:
    """Returns the operators with known fields: their ``releases``, oldest first, and ``kinds`` with apiVersion."""
    text = (_PACKED / "index.json").read_text(encoding="utf-8")
    by_operator: dict[str, dict[str, list[str]]] = json.loads(text)
    return by_operator


@cache
def operator_of(api_version: str, kind: str) -> str | None:
    """Returns the operator that has a kind; None if the kind is Kubernetes' own, or unknown."""
    versioned_kind = f"{api_version} {kind}"
    return next((name for name, facts in operators().items() if versioned_kind in facts["kinds"]), None)


def nearest_of(operator: str, version: str) -> int:
    """Returns the index of the known release of an operator for ``version``: the newest not above it, or the oldest."""
    releases_of = operators()[operator]["releases"]
    return max((index for index, release in enumerate(releases_of) if numbers(release) <= numbers(version)), default=0)


def is_of(version: str, release: str) -> bool:
    """Whether a version such as ``v1.5.2`` belongs to a release such as ``1.5``."""
    return numbers(version)[: len(numbers(release))] == numbers(release)


def is_older(version: str | None, since: str) -> bool:
    """Whether a version that a user named is older than a release. False without a version, or without a release."""
    return bool(version and since) and numbers(version or "") < numbers(since)


def numbers(version: str) -> tuple[int, ...]:
    """Returns the numbers in ``1.5``, ``v1.5.2`` or ``0.1.0-alpha.11``."""
    return tuple(map(int, re.findall(r"[0-9]+", version)))


@cache
def read_packed(name: str) -> dict[str, Any]:
    """Returns the data from ``tools.packfields``: ``releases``, oldest first, and ``types``, each with its fields.

    A part that not all releases have is a list of versions, each with the index of its first and last release.
    ``spans`` has the same for types.
    """
    if name == "dynamo":
        return _NO_CRD
    packed: dict[str, Any] = json.loads(zlib.decompress((_PACKED / f"{name}.z").read_bytes()))
    return packed


@cache
def _opened(name: str) -> dict[str, dict[str, Any]]:
    """Returns the packed types, with types for fields that CRDs leave open. Releases without a field stay without."""
    types: dict[str, dict[str, Any]] = read_packed(name)["types"]
    opened = {}
    for type_name, fields in _OPEN.get(name, {}).items():
        packed = types.get(type_name, {})
        opened[type_name] = {**packed, **{key: _as(packed.get(key), type_name) for key, type_name in fields.items()}}
    return {**types, **opened}


def _as(packed: Any, type_name: str) -> Any:
    """Returns a packed field with another type."""
    return [[since, until, type_name] for since, until, _ in packed] if isinstance(packed, list) else type_name


@cache
def releases() -> tuple[int, ...]:
    """Returns the minor versions of the releases 1.x with known fields, oldest first."""
    return tuple(map(minor, read_packed("kubernetes")["releases"]))


def nearest(version: str | None) -> int:
    """Returns the minor version of the known release for ``version`` (``1.33``); the newest for None."""
    minors = releases()
    return minors[-1] if version is None else min(max(minor(version), minors[0]), minors[-1])


def minor(version: str) -> int:
    """Returns the minor version of ``1.33`` or ``v1.33.2``."""
    return int(version.split(".")[1])
