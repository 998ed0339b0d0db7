"""What an API server refuses in objects that stand beside workloads, and in the metadata of every document. Follows
pkg/apis/core/validation, networking/validation, policy/validation, autoscaling/validation and discovery/validation of
Kubernetes 1.33, and ValidateObjectMeta and ValidateLabelSelector of k8s.io/apimachinery.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kubectl_tas import addresses, quantities, spellings
from kubectl_tas.addresses import NO_ADDRESS
from kubectl_tas.check.conflicts import Check, Found, conflict, has, is_slip, mappings, one_of
from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.kubernetes import Bound
from kubectl_tas.late import imported
from kubectl_tas.load.schema import INVALID_VALUE, invalid_value, missing_field, written, wrong_key
from kubectl_tas.model.base import (
    KEY_HINT,
    KEY_RULE,
    VALUE_HINT,
    VALUE_RULE,
    KeyPath,
)
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve import names
from kubectl_tas.spellings import Refusal
from kubectl_tas.words import did_you_mean

_MAX_ANNOTATIONS = 256 * 2**10
_MAX_DATA = 2**20
_MAX_PORT = 2**16 - 1
_PERCENT = r"[0-9]{1,9}%"
_BESIDE_HOST = r"^[a-z]+://|[:/].*$|\.$"
"""What a URL has beside its host."""
_BAD_IN_PATH = ("//", "/./", "/../", "%2f", "%2F")
_BAD_AT_END = ("/..", "/.")
_COUNT = range(2**31)
_POSITIVE = range(1, 2**31)
_PORT = range(1, _MAX_PORT + 1)
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_TYPES = ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
_MODES = {"RWO": "ReadWriteOnce", "ROX": "ReadOnlyMany", "RWX": "ReadWriteMany", "RWOP": "ReadWriteOncePod"}
"""The access modes of claims, as kubectl prints them and as files write them."""
_TRAFFIC = ("Cluster", "Local")


def _port_or_name_refused(port: Any) -> Refusal:
    if isinstance(port, str):
        is_number = port.isdecimal()
        return (
            ("must be a number or the name of a port", "Remove the quotes.") if is_number else spellings.port_name(port)
        )
    return None if port in _PORT else (f"must be from 1 to {_MAX_PORT}", "Write the port that the pods listen on.")


def _target_refused(port: Any) -> Refusal:
    return None if port in (0, "") else _port_or_name_refused(port)


def _port_label_refused(name: str) -> Refusal:
    refusal = spellings.label(name) if name else None
    return refusal and (refusal[0], "Write one such as http.")


def _name_refused(name: str) -> Refusal:
    """The name of another object; it may be empty."""
    if not name or names.is_object_name(name):
        return None
    rule = "must be the name of an object: lower-case letters, digits, '-' and '.'"
    return rule, "Write the name as it is in the cluster."


def _service_refused(name: str) -> Refusal:
    rule = "must be the name of a Service: lower-case letters, digits and '-', a letter first"
    return None if names.is_service_name(name) else (rule, "Write its name alone, without its namespace.")


def _mode_refused(mode: str) -> Refusal:
    if mode in _MODES.values():
        return None
    modes = tuple(_MODES.values())
    meant = did_you_mean(mode, modes, folds=True)
    return f"must be one of {', '.join(modes)}", f"Write {_MODES[mode]}." if mode in _MODES else meant


def _qualified_refused(name: str) -> Refusal:
    hint = "Write letters, digits, '-', '_' and '.', perhaps behind a domain and '/'."
    return spellings.label_key(name) and ("must be a name such as example.com/name", hint)


def _domain_refused(name: str) -> Refusal:
    if not name or names.is_object_name(name):
        return None
    plain = re.sub(_BESIDE_HOST, "", name.casefold()).replace("_", "-")
    is_one = names.is_object_name(plain) and addresses.address(plain) is None
    return "must be a DNS name such as chat.example.com", f"Write {plain}." if is_one else "Write the name alone."


def _external_name_refused(name: str) -> Refusal:
    return _domain_refused(name.removesuffix("."))


def _host_refused(host: str) -> Refusal:
    """The host of an Ingress; its first part may be ``*``."""
    if addresses.address(host) is not None:
        return "must be a DNS name, not an IP address", "Write the name that clients use."
    below = host.removeprefix("*.")
    if "*" in below or (host and not below):
        return "may have '*' as its first part alone", "Write one such as *.example.com."
    return _domain_refused(below)


def _base64_refused(text: str) -> Refusal:
    """Go skips line breaks in base64, and refuses any other character."""
    try:
        imported("base64:b64decode")(text.replace("\r", "").replace("\n", ""), validate=True)
    except ValueError:
        return "must be base64", "Write it in base64; text that is not encoded belongs in data."
    return None


def _share_refused(share: Any) -> Refusal:
    """A bound of a budget: a number of pods, or a percentage of them."""
    if isinstance(share, int):
        return None if share in _COUNT else ("must be at least 0", "Write a number of pods, or a percentage.")
    if not re.fullmatch(_PERCENT, share):
        return "must be a number of pods or a percentage", "Write one such as 1 or 50%, the number without quotes."
    return ("must be at most 100%", "Write 100% or less.") if int(share.removesuffix("%")) > 100 else None


def _positive_refused(amount: Any) -> Refusal:
    if (found := quantities.refused(amount)) is None and not quantities.parse(amount):
        return "must be more than 0", "Write a positive amount."
    return found


BOUNDS: Mapping[str, Mapping[str, Bound]] = {
    "ClientIPConfig": {"timeoutSeconds": range(1, 86401)},
    "ConfigMap": {"binaryData": _base64_refused},
    "EndpointPort": {"appProtocol": _qualified_refused, "name": _port_label_refused, "protocol": _PROTOCOLS},
    "EndpointSlice": {"addressType": ("IPv4", "IPv6", "FQDN")},
    "HPAScalingPolicy": {"periodSeconds": range(1, 1801), "type": ("Pods", "Percent"), "value": _POSITIVE},
    "HPAScalingRules": {
        "selectPolicy": ("Max", "Min", "Disabled"),
        "stabilizationWindowSeconds": range(3601),
        "tolerance": quantities.refused,
    },
    "HTTPIngressPath": {"pathType": ("Exact", "Prefix", "ImplementationSpecific")},
    "HorizontalPodAutoscalerSpec": {
        "maxReplicas": _POSITIVE,
        "minReplicas": _COUNT,
        "targetCPUUtilizationPercentage": _POSITIVE,
    },
    "IPBlock": {"cidr": addresses.range_refused, "except": addresses.range_refused},
    "IngressRule": {"host": _host_refused},
    "IngressServiceBackend": {"name": _service_refused},
    "IngressSpec": {"ingressClassName": _name_refused},
    "IngressTLS": {"hosts": _host_refused, "secretName": _name_refused},
    "MetricSpec": {"type": ("ContainerResource", "External", "Object", "Pods", "Resource")},
    "MetricTarget": {
        "averageUtilization": _POSITIVE,
        "averageValue": _positive_refused,
        "type": ("Utilization", "Value", "AverageValue"),
        "value": _positive_refused,
    },
    "NetworkPolicyPort": {"endPort": _PORT, "port": _port_or_name_refused, "protocol": _PROTOCOLS},
    "NetworkPolicySpec": {"policyTypes": ("Ingress", "Egress")},
    "ObjectMeta": {"finalizers": _qualified_refused},
    "PersistentVolumeClaimSpec": {
        "accessModes": _mode_refused,
        "storageClassName": _name_refused,
        "volumeMode": ("Filesystem", "Block"),
    },
    "PodDisruptionBudgetSpec": {
        "maxUnavailable": _share_refused,
        "minAvailable": _share_refused,
        "unhealthyPodEvictionPolicy": ("IfHealthyBudget", "AlwaysAllow"),
    },
    "ServiceBackendPort": {"name": spellings.port_name, "number": _PORT},
    "ServicePort": {
        "appProtocol": _qualified_refused,
        "name": _port_label_refused,
        "nodePort": range(_MAX_PORT + 1),
        "port": _PORT,
        "protocol": _PROTOCOLS,
        "targetPort": _target_refused,
    },
    "ServiceSpec": {
        "clusterIP": addresses.cluster_refused,
        "clusterIPs": addresses.cluster_refused,
        "externalIPs": addresses.external_refused,
        "externalName": _external_name_refused,
        "externalTrafficPolicy": _TRAFFIC,
        "internalTrafficPolicy": _TRAFFIC,
        "ipFamilies": ("IPv4", "IPv6"),
        "ipFamilyPolicy": ("SingleStack", "PreferDualStack", "RequireDualStack"),
        "loadBalancerClass": _qualified_refused,
        "loadBalancerSourceRanges": addresses.source_refused,
        "sessionAffinity": ("ClientIP", "None"),
        "trafficDistribution": ("PreferClose", "PreferSameZone", "PreferSameNode"),
        "type": _TYPES,
    },
}
"""The values that fields take, by type and field."""


def _metadata(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    if value.get("labels"):
        yield from _labels(origin, (*path, "labels"), value["labels"])
    annotations, where = value.get("annotations"), (*path, "annotations")
    if not isinstance(annotations, dict):
        return
    for key in annotations:
        if spellings.label_key(key.lower()):
            yield wrong_key(origin, where, key, "must be a name such as example.com/note", KEY_HINT)
    size = _size(annotations) + _size(annotations.values())
    if size > _MAX_ANNOTATIONS:
        message = f"{written(where)} has {size} bytes, more than the {_MAX_ANNOTATIONS} that an API server takes"
        largest = max(annotations, key=lambda key: len(str(annotations[key])))
        yield _too_much(origin, (*where, largest), message, "Shorten this one, or keep it in a ConfigMap.")


def _labels(origin: Origin, path: KeyPath, labels: object) -> Found:
    for key, value in labels.items() if isinstance(labels, dict) else ():
        if spellings.label_key(key):
            yield wrong_key(origin, path, key, KEY_RULE, KEY_HINT)
        if isinstance(value, str) and spellings.label_value(value):
            yield invalid_value(origin, (*path, key), VALUE_RULE, value, VALUE_HINT)


def _selector(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    yield from _labels(origin, (*path, "matchLabels"), value.get("matchLabels"))


def _size(texts: Iterable[Any]) -> int:
    """The bytes of all texts among these."""
    return sum(len(text) if text.isascii() else len(text.encode()) for text in texts if isinstance(text, str))


def _decoded(text: str) -> int:
    """The bytes that a text in base64 stands for."""
    return (len(text) - text.count("\n") - text.count("\r")) * 3 // 4 - text.count("=")


def _too_much(origin: Origin, path: KeyPath, message: str, hint: str) -> Diagnostic:
    return Diagnostic(INVALID_VALUE, message, origin.locate(path, key=True), hint=hint)


def _config_map(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    parts = {name: value[name] for name in ("data", "binaryData") if isinstance(value.get(name), dict)}
    data, binary = parts.get("data", {}), parts.get("binaryData", {})
    for name, part in parts.items():
        for key in part:
            if spellings.config_key(key):
                hint = "A key becomes the name of a file: write letters, digits, '-', '_' and '.', without '/'."
                yield wrong_key(origin, (*path, name), key, "must be a plain file name", hint)
    for key in binary:
        if key in data:
            message = f'the key "{key}" is in data and in binaryData'
            yield conflict(origin, (*path, "binaryData", key), message, "Rename one, or remove one.")
    size = _size(data.values()) + sum(_decoded(text) for text in binary.values() if isinstance(text, str))
    if size > _MAX_DATA:
        message = f"this ConfigMap has {size} bytes, more than the {_MAX_DATA} that an API server takes"
        _, name, key = max((len(str(text)), name, key) for name, part in parts.items() for key, text in part.items())
        yield _too_much(origin, (*path, name, key), message, "Divide it, or keep large files in a volume.")


_METRICS = {
    name: name[0].lower() + name[1:] for name in ("ContainerResource", "External", "Object", "Pods", "Resource")
}
"""The field in which a metric of each type stands."""


def _metric(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """A metric stands in the field of its type."""
    field = _METRICS.get(str(value.get("type")))
    if field is not None and value.get(field) is None:
        yield missing_field(origin, path, field, {}, ("type", *_METRICS.values()))
    for other in _METRICS.values():
        if field is not None and other != field and value.get(other) is not None:
            message = f"{written(path)} has type {value['type']}, which takes no {other}"
            hint = f"Remove it, or write type: {other[0].upper()}{other[1:]}."
            yield conflict(origin, (*path, other), message, hint)


def _aims_at(*fields: str, alone: bool = True) -> Check:
    """A metric whose target is one of these, and where it is ``alone`` no more than one."""

    def check(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
        target, where = value.get("target"), (*path, "target")
        if not isinstance(target, dict):
            return
        found = [name for name in fields if target.get(name) is not None]
        if not found and not is_slip(target, fields):
            yield conflict(origin, where, f"{written(where)} has no {' or '.join(fields)}", f"Write {fields[0]}.")
        elif len(found) > 1 and alone:
            message = f"{written(where)} has both {' and '.join(found)}"
            yield conflict(origin, (*where, found[1]), message, "Keep one of them.")

    return check


def _scaled(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """The target of a HorizontalPodAutoscaler needs its group. Only metrics from outside of its pods scale it to 0."""
    target, least, most = (value.get(name) for name in ("scaleTargetRef", "minReplicas", "maxReplicas"))
    if isinstance(target, dict) and target.get("apiVersion") is None:
        yield missing_field(origin, (*path, "scaleTargetRef"), "apiVersion", {}, ("apiVersion", "kind", "name"))
    if type(least) is int and type(most) is int and least > most > 0:
        message = f"{written((*path, 'minReplicas'))} is {least}, more than maxReplicas, {most}"
        yield conflict(origin, (*path, "minReplicas"), message, f"Write {most} or less, or raise maxReplicas.")
    elif least == 0 and not any(item.get("type") in ("External", "Object") for item in mappings(value.get("metrics"))):
        rule = "must be at least 1 without a metric of type External or Object"
        yield invalid_value(origin, (*path, "minReplicas"), rule, least, "Write 1 or more.")


def _steps(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """Without policies, Kubernetes fills in its own; it refuses an empty list."""
    if value.get("policies") == []:
        yield invalid_value(origin, (*path, "policies"), "must not be empty", [], "Write one, or remove the field.")


def _volume_of_its_own(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """The template of a claim for each pod: the pods have a volume of its name."""
    name = origin.value((*path, "metadata", "name"))
    if path and isinstance(name, str) and (refusal := spellings.label(name)) is not None:
        yield invalid_value(origin, (*path, "metadata", "name"), refusal[0], name, "Write one such as data.")


def _claim(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    modes = value.get("accessModes")
    if modes == []:
        hint = "Write one, such as [ReadWriteOnce]."
        yield invalid_value(origin, (*path, "accessModes"), "must not be empty", [], hint)
    if isinstance(modes, list) and len(modes) > 1 and "ReadWriteOncePod" in modes:
        message = f"{written((*path, 'accessModes'))} has ReadWriteOncePod, which must stand alone"
        yield conflict(origin, (*path, "accessModes"), message, "Remove it, or the others.")


def _claimed(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """What a claim of a volume asks for."""
    asked, where = value.get("requests"), (*path, "requests")
    if not isinstance(asked, dict):
        return
    if asked.get("storage") is None:
        yield missing_field(origin, where, "storage", {}, ("storage",))
    elif quantities.parse(asked["storage"]) == 0:
        rule = "must be more than 0"
        yield invalid_value(origin, (*where, "storage"), rule, asked["storage"], "Write one such as 10Gi.")


def _ingress(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    fields = ("defaultBackend", "rules")
    if not any(has(value, name) for name in fields) and not is_slip(value, fields):
        yield conflict(origin, path, f"{written(path)} has neither rules nor defaultBackend", "Write one of them.")


def _ingress_rule(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    if value.get("paths") == []:
        yield invalid_value(origin, (*path, "paths"), "must not be empty", [], "Write one, such as path: /.")


def _ingress_path(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    kind, text = value.get("pathType"), str(value.get("path") or "")
    is_strict = kind in ("Exact", "Prefix")
    if (is_strict or (kind == "ImplementationSpecific" and text)) and not text.startswith("/"):
        if not is_slip(value, ("path",)):
            message = f"{written(path)} has pathType {kind}, which needs a path that begins with /"
            yield conflict(origin, (*path, "path") if text else path, message, "Write one, such as path: /.")
        return
    bad = [part for part in _BAD_IN_PATH if part in text] + [end for end in _BAD_AT_END if text.endswith(end)]
    if is_strict and bad:
        rule = f"must not have {bad[0]} where pathType is {kind}"
        yield invalid_value(origin, (*path, "path"), rule, text, "Write the path as clients send it.")


def _budget(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """With neither bound, no pod may be evicted: ``updatePdbStatus`` of pkg/controller/disruption."""
    fields = ("minAvailable", "maxUnavailable")
    found = [name for name in fields if value.get(name) is not None]
    if len(found) > 1:
        message = f"{written(path)} has both minAvailable and maxUnavailable"
        yield conflict(origin, (*path, "maxUnavailable"), message, "Keep one of them.")
    elif not found and not is_slip(value, fields):
        message = f"{written(path)} has neither minAvailable nor maxUnavailable: Kubernetes evicts none of its pods"
        yield conflict(origin, path, message, "Write one, such as maxUnavailable: 1.")


def _policy_port(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    port, end = value.get("port"), value.get("endPort")
    if type(end) is not int:
        return
    where = (*path, "endPort")
    if type(port) is not int:
        message = f"{written(where)} needs port as a number" + ("" if port is None else f", not {port}")
        yield conflict(origin, where, message, "Write the first port of the range in port, or remove endPort.")
    elif end < port:
        message = f"{written(where)} is {end}, less than port, {port}"
        yield conflict(origin, where, message, f"Write {port} or more.")


def _peer(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    fields = ("ipBlock", "namespaceSelector", "podSelector")
    found = [name for name in fields if value.get(name) is not None]
    if not found and not is_slip(value, fields):
        message = f"{written(path)} has none of {', '.join(fields)}"
        yield conflict(origin, path, message, "Write one; podSelector: {} selects all pods of the namespace.")
    elif len(found) > 1 and found[0] == "ipBlock":
        message = f"{written(path)} has ipBlock and {found[1]}, which cannot go together"
        yield conflict(origin, (*path, found[1]), message, "Make two entries of them.")


def _block(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """``except`` names parts of ``cidr``."""
    whole, left_out = value.get("cidr"), value.get("except")
    outer = addresses.network(whole) if isinstance(whole, str) else None
    for index, text in enumerate(_listed(left_out)):
        inner = addresses.network(text) if isinstance(text, str) else None
        if inner is None or outer is None:
            continue
        if inner.version == outer.version and inner != outer and inner.subnet_of(outer):
            continue
        where = (*path, "except", index)
        message = f"{written(where)} is {text}, which is no part of {whole}"
        yield conflict(origin, where, message, "Write a smaller range within cidr, or remove it.")


_BALANCED = ("LoadBalancer",)
_ONLY: Mapping[str, tuple[str, ...]] = {
    "allocateLoadBalancerNodePorts": _BALANCED,
    "externalTrafficPolicy": ("LoadBalancer", "NodePort"),
    "healthCheckNodePort": _BALANCED,
    "loadBalancerClass": _BALANCED,
    "loadBalancerSourceRanges": _BALANCED,
}
"""Fields of a Service, and the types that have them."""
_NOT_OF_NAMES = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
"""Fields that a Service of type ExternalName cannot have."""


def _service(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """A Service of its own; KubeRay adds the ports of those in its objects."""
    spec = value.get("spec") or {}
    if path or not isinstance(spec, dict):
        return
    kind = spec.get("type") or "ClusterIP"
    is_headless = NO_ADDRESS in (spec.get("clusterIP"), *_listed(spec.get("clusterIPs")))
    needs_ports = kind != "ExternalName" and not is_headless
    if needs_ports and not (has(spec, "ports") or is_slip(spec, ("ports",)) or is_slip(value, ("spec",))):
        message = "a Service needs ports, unless it has clusterIP None or type ExternalName"
        yield conflict(origin, ("spec",) if spec else (), message, "Write spec.ports.")
    yield from _labels(origin, ("spec", "selector"), spec.get("selector"))
    if kind in _TYPES:
        yield from _by_type(origin, spec, kind, is_headless=is_headless)
    yield from _addresses(origin, spec)
    yield from _ports(origin, spec, kind)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _by_type(origin: Origin, spec: Mapping[str, Any], kind: str, *, is_headless: bool) -> Found:
    """Fields that the type of a Service does not have, or must have."""
    if is_headless and kind in ("LoadBalancer", "NodePort"):
        field = "clusterIP" if spec.get("clusterIP") is not None else "clusterIPs"
        message = f"spec.{field} is {NO_ADDRESS}, which type {kind} cannot have"
        yield conflict(origin, ("spec", field), message, "Remove it, or write type: ClusterIP.")
    if kind == "ExternalName":
        if not has(spec, "externalName"):
            yield missing_field(origin, ("spec",), "externalName", {}, tuple(spec))
        for field in _NOT_OF_NAMES:
            if has(spec, field):
                message = f"a Service of type ExternalName has no {field}"
                yield conflict(origin, ("spec", field), message, "Remove it.")
    for field, kinds in _ONLY.items():
        if not has(spec, field) or (field == "healthCheckNodePort" and spec[field] == 0):
            continue
        is_open = field == "externalTrafficPolicy" and kind == "ClusterIP" and has(spec, "externalIPs")
        if kind not in kinds and not is_open:
            message = f"spec.{field} is for type {' or '.join(kinds)}, and this Service has type {kind}"
            yield conflict(origin, ("spec", field), message, f"Remove it, or write type: {kinds[0]}.")
        elif field == "healthCheckNodePort" and spec.get("externalTrafficPolicy") != "Local":
            message = f"spec.{field} needs externalTrafficPolicy: Local"
            yield conflict(origin, ("spec", field), message, "Write both, or remove it.")
    if has(spec, "sessionAffinityConfig") and spec.get("sessionAffinity") != "ClientIP":
        message = "spec.sessionAffinityConfig needs sessionAffinity: ClientIP"
        yield conflict(origin, ("spec", "sessionAffinityConfig"), message, "Write both, or remove it.")


def _addresses(origin: Origin, spec: Mapping[str, Any]) -> Found:
    """The first of clusterIPs is clusterIP; each family has one address at most."""
    one, several = spec.get("clusterIP"), _listed(spec.get("clusterIPs"))
    where = ("spec", "clusterIPs")
    if one and several and several[0] != one:
        message = f"spec.clusterIPs begins with {several[0]}, and spec.clusterIP is {one}"
        yield conflict(origin, where, message, "Write the same address first, or remove one of the fields.")
    versions = [found.version for text in several if isinstance(text, str) and (found := addresses.address(text))]
    if len(several) > 1 and (NO_ADDRESS in several or len(set(versions)) < len(versions) or len(several) > 2):
        message = "spec.clusterIPs may have one IPv4 and one IPv6 address, and no more"
        yield conflict(origin, where, message, "Remove the others.")


def _ports(origin: Origin, spec: Mapping[str, Any], kind: str) -> Found:
    """Several ports need names; no two have the same name, port or node port."""
    ports, first = mappings(spec.get("ports")), dict[tuple[str, ...], int]()
    for index, port in enumerate(ports):
        where: KeyPath = ("spec", "ports", index)
        protocol = str(port.get("protocol") or "TCP")
        if len(ports) > 1 and port and not has(port, "name"):
            yield missing_field(origin, where, "name", {}, tuple(port))
        if kind == "ClusterIP" and port.get("nodePort"):
            message = f"{written(where)} has a nodePort, and this Service has type ClusterIP"
            yield conflict(origin, (*where, "nodePort"), message, "Remove it, or write type: NodePort.")
        for field, shared in (("name", ()), ("port", (protocol,)), ("nodePort", (protocol,))):
            text = port.get(field)
            if text and first.setdefault((field, str(text), *shared), index) != index:
                message = f"two entries of spec.ports have the {field} {text}"
                yield conflict(origin, (*where, field), message, "Change or remove one of them.")


def _endpoints(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """The addresses of an EndpointSlice are of its type."""
    versions = {"IPv4": 4, "IPv6": 6}
    kind = str(value.get("addressType"))
    for index, endpoint in enumerate(mappings(value.get("endpoints"))):
        for place, text in enumerate(_listed(endpoint.get("addresses"))):
            if kind not in versions or not isinstance(text, str):
                continue
            where, found = (*path, "endpoints", index, "addresses", place), addresses.address(text)
            special = addresses.external_refused(text)
            if found is None or found.version != versions[kind]:
                yield invalid_value(origin, where, f"must be an {kind} address", text, "Correct it, or addressType.")
            elif special is not None:
                yield invalid_value(origin, where, special[0], text, special[1])


COMBINATIONS: Mapping[str, Check] = {
    "ConfigMap": _config_map,
    "ContainerResourceMetricSource": _aims_at("averageUtilization", "averageValue"),
    "EndpointSlice": _endpoints,
    "ExternalMetricSource": _aims_at("averageValue", "value"),
    "HPAScalingRules": _steps,
    "HTTPIngressPath": _ingress_path,
    "HTTPIngressRuleValue": _ingress_rule,
    "HorizontalPodAutoscalerSpec": _scaled,
    "IPBlock": _block,
    "IngressBackend": one_of("nothing behind it", "resource", "service"),
    "IngressSpec": _ingress,
    "LabelSelector": _selector,
    "MetricSpec": _metric,
    "NetworkPolicyPeer": _peer,
    "NetworkPolicyPort": _policy_port,
    "ObjectMeta": _metadata,
    "ObjectMetricSource": _aims_at("averageValue", "value", alone=False),
    "PersistentVolumeClaim": _volume_of_its_own,
    "PersistentVolumeClaimSpec": _claim,
    "PodDisruptionBudgetSpec": _budget,
    "PodsMetricSource": _aims_at("averageValue"),
    "ResourceMetricSource": _aims_at("averageUtilization", "averageValue"),
    "Service": _service,
    "ServiceBackendPort": one_of("no port", "name", "number"),
    "VolumeResourceRequirements": _claimed,
}
"""What checks a mapping, by its type."""
