"""Checks companions of workloads, and the metadata of every document, as an API server does. Follows
pkg/apis/core/validation, networking/validation, policy/validation, autoscaling/validation and discovery/validation of
Kubernetes 1.33, and ValidateObjectMeta and ValidateLabelSelector of k8s.io/apimachinery.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kubectl_tas import quantities, spellings
from kubectl_tas.check.conflicts import NOT_EMPTY, Check, Fields, Found, not_empty, one_of
from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.kinds import LISTED
from kubectl_tas.kinds.kubernetes import Bound
from kubectl_tas.kinds.section import listed
from kubectl_tas.late import imported
from kubectl_tas.load.schema import INVALID_VALUE, wrong_key
from kubectl_tas.model.base import KEY_HINT, KEY_RULE, NOTE_RULE, VALUE_HINT, VALUE_RULE
from kubectl_tas.resolve import names
from kubectl_tas.spellings import NO_ADDRESS, Refusal
from kubectl_tas.words import did_you_mean

_MAX_ANNOTATIONS = 256 * 2**10
_MAX_DATA = 2**20
_MAX_PORT = 2**16 - 1
_PERCENT = r"[0-9]{1,9}%"
_BESIDE_HOST = r"^[a-z]+://|[:/].*$|\.$"
"""Matches the parts of a URL around its host."""
_BAD_IN_PATH = ("//", "/./", "/../", "%2f", "%2F")
_BAD_AT_END = ("/..", "/.")
_COUNT = range(2**31)
_POSITIVE = range(1, 2**31)
_PORT = range(1, _MAX_PORT + 1)
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_TYPES = ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
_MODES = {"RWO": "ReadWriteOnce", "ROX": "ReadOnlyMany", "RWX": "ReadWriteMany", "RWOP": "ReadWriteOncePod"}
"""Access modes of claims: as kubectl prints them, and as files write them."""
_POLICY_TYPES = ("Ingress", "Egress")
_TRAFFIC = ("Cluster", "Local")
_METRICS = {
    name: name[0].lower() + name[1:] for name in ("ContainerResource", "External", "Object", "Pods", "Resource")
}
"""The field of a metric for each type of metric."""
_GROUPS = ("", "apps", "batch", "extensions")
"""Groups of Kubernetes, in which nobody else has a kind."""
_BALANCED = ("LoadBalancer",)
_ONLY: Mapping[str, tuple[str, ...]] = {
    "allocateLoadBalancerNodePorts": _BALANCED,
    "externalTrafficPolicy": ("LoadBalancer", "NodePort"),
    "healthCheckNodePort": _BALANCED,
    "loadBalancerClass": _BALANCED,
    "loadBalancerSourceRanges": _BALANCED,
}
"""Fields of a Service, with the types of Service that have them."""
_FINALIZERS = ("foregroundDeletion", "kubernetes", "orphan")
_NOT_OF_NAMES = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
"""Fields that a Service of type ExternalName cannot have."""


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
    """Checks the name of another object. The name may be empty."""
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
    is_one = names.is_object_name(plain) and spellings.address(plain) is None
    return "must be a DNS name such as chat.example.com", f"Write {plain}." if is_one else "Write the name alone."


def _external_name_refused(name: str) -> Refusal:
    return _domain_refused(name.removesuffix("."))


def _host_refused(host: str) -> Refusal:
    """Checks the host of an Ingress. Its first part may be ``*``."""
    if spellings.address(host) is not None:
        return "must be a DNS name, not an IP address", "Write the name that clients use."
    below = host.removeprefix("*.")
    if "*" in below or (host and not below):
        return "may have '*' as its first part alone", "Write one such as *.example.com."
    return _domain_refused(below)


def _base64_refused(text: str) -> Refusal:
    """Checks base64 as Go does: line breaks are skipped, any other foreign character is an error."""
    try:
        imported("base64:b64decode")(text.replace("\r", "").replace("\n", ""), validate=True)
    except ValueError:
        return "must be base64", "Write it in base64; text that is not encoded belongs in data."
    return None


def _share_refused(share: Any) -> Refusal:
    """Checks a bound of a PodDisruptionBudget: a number of pods, or a percentage of them."""
    if isinstance(share, int):
        return (
            spellings.number_or_text(share)
            if share >= 0
            else ("must be at least 0", "Write a number of pods, or a percentage.")
        )
    if not re.fullmatch(_PERCENT, share):
        return "must be a number of pods or a percentage", "Write one such as 1 or 50%, the number without quotes."
    return ("must be at most 100%", "Write 100% or less.") if int(share.removesuffix("%")) > 100 else None


def _positive_refused(amount: Any) -> Refusal:
    if (found := quantities.refused(amount)) is None and not quantities.parse(amount):
        return "must be more than 0", "Write a positive amount."
    return found


BOUNDS: Mapping[str, Mapping[str, Bound]] = {
    "ClientIPConfig": {"timeoutSeconds": range(1, 86401)},
    "ComputeDomain.spec": {"numNodes": _COUNT},
    "ComputeDomain.spec.channel.resourceClaimTemplate": {"name": _name_refused},
    "ContainerResourceMetricSource": {"container": spellings.some, "name": spellings.some},
    "CrossVersionObjectReference": {"kind": spellings.path_segment, "name": spellings.path_segment},
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
    "IPBlock": {"cidr": spellings.range_refused, "except": spellings.range_refused},
    "IngressRule": {"host": _host_refused},
    "IngressServiceBackend": {"name": _service_refused},
    "IngressSpec": {"ingressClassName": _name_refused},
    "IngressTLS": {"hosts": _host_refused, "secretName": _name_refused},
    "MetricIdentifier": {"name": spellings.path_segment},
    "MetricSpec": {"type": ("ContainerResource", "External", "Object", "Pods", "Resource")},
    "MetricTarget": {
        "averageUtilization": _POSITIVE,
        "averageValue": _positive_refused,
        "type": ("Utilization", "Value", "AverageValue"),
        "value": _positive_refused,
    },
    "NetworkPolicyPort": {"endPort": _PORT, "port": _port_or_name_refused, "protocol": _PROTOCOLS},
    "NetworkPolicySpec": {"policyTypes": _POLICY_TYPES},
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
    "ResourceMetricSource": {"name": spellings.some},
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
        "clusterIP": spellings.cluster_ip_refused,
        "clusterIPs": spellings.cluster_ip_refused,
        "externalIPs": spellings.external_ip_refused,
        "externalName": _external_name_refused,
        "externalTrafficPolicy": _TRAFFIC,
        "internalTrafficPolicy": _TRAFFIC,
        "ipFamilies": ("IPv4", "IPv6"),
        "ipFamilyPolicy": ("SingleStack", "PreferDualStack", "RequireDualStack"),
        "loadBalancerClass": _qualified_refused,
        "loadBalancerSourceRanges": spellings.source_refused,
        "sessionAffinity": ("ClientIP", "None"),
        "trafficDistribution": ("PreferClose", "PreferSameZone", "PreferSameNode"),
        "type": _TYPES,
    },
}
"""The values that a field may have, by type and field."""


def _metadata(of: Fields) -> Found:
    if of.get("labels"):
        yield from _labels(of.below("labels"))
    if of.get("finalizers"):
        yield from _finalizers(of)
    if not of.get("annotations"):
        return
    notes = of.below("annotations")
    for key in notes.value:
        if spellings.label_key(key.lower()):
            yield wrong_key(of.origin, notes.path, key, NOTE_RULE, KEY_HINT)
    size = _size(notes.value) + _size(notes.value.values())
    if size > _MAX_ANNOTATIONS:
        message = f"{notes.at()} has {size} bytes, more than the {_MAX_ANNOTATIONS} that an API server takes"
        largest = max(notes.value, key=lambda key: len(str(notes.get(key))))
        yield _too_much(notes, message, "Shorten this one, or keep it in a ConfigMap.", largest)


def _finalizers(of: Fields) -> Found:
    """Checks the finalizers of Kubernetes' own kinds: one without a domain is one of three (``ValidateObjectMeta`` of
    pkg/apis/core/validation).
    """
    group = str(of.origin.data.get("apiVersion")).rpartition("/")[0]
    is_own = "." not in group or group.endswith(".k8s.io")
    for index, name in enumerate(listed(of.get("finalizers"))):
        is_plain = isinstance(name, str) and "/" not in name and not spellings.label_key(name)
        if is_own and is_plain and name not in _FINALIZERS:
            rule = f"must have a domain, or be one of {', '.join(_FINALIZERS)}"
            yield of.invalid(rule, name, "Remove it: controllers add finalizers.", "finalizers", index)


def _labels(of: Fields) -> Found:
    for key, value in of.value.items():
        if spellings.label_key(key):
            yield wrong_key(of.origin, of.path, key, KEY_RULE, KEY_HINT)
        if isinstance(value, str) and spellings.label_value(value):
            yield of.invalid(VALUE_RULE, value, VALUE_HINT, key)


def _size(texts: Iterable[Any]) -> int:
    """Returns the total bytes of the texts. Ignores other values."""
    return sum(len(text) if text.isascii() else len(text.encode()) for text in texts if isinstance(text, str))


def _decoded(text: str) -> int:
    """Returns the number of bytes that a base64 text encodes."""
    return (len(text) - text.count("\n") - text.count("\r")) * 3 // 4 - text.count("=")


def _too_much(of: Fields, message: str, hint: str, *steps: str) -> Diagnostic:
    return Diagnostic(INVALID_VALUE, message, of.origin.locate((*of.path, *steps), key=True), hint=hint)


def _config_map(of: Fields) -> Found:
    parts = {name: of.below(name).value for name in ("data", "binaryData")}
    data, binary = parts.values()
    for name, part in parts.items():
        for key in part:
            if spellings.config_key(key):
                hint = "A key becomes the name of a file: write letters, digits, '-', '_' and '.', without '/'."
                yield wrong_key(of.origin, (*of.path, name), key, "must be a plain file name", hint)
    for key in binary:
        if key in data:
            message = f'the key "{key}" is in data and in binaryData'
            yield of.conflict(message, "Rename one, or remove one.", "binaryData", key)
    size = _size(data.values()) + sum(_decoded(text) for text in binary.values() if isinstance(text, str))
    if size > _MAX_DATA:
        message = f"this ConfigMap has {size} bytes, more than the {_MAX_DATA} that an API server takes"
        _, name, key = max((len(str(text)), name, key) for name, part in parts.items() for key, text in part.items())
        yield _too_much(of, message, "Divide it, or keep large files in a volume.", name, key)


def _metric(of: Fields) -> Found:
    """Checks that a metric uses the field of its type, and no other."""
    field = _METRICS.get(str(of.get("type")))
    if field is not None and of.get(field) is None:
        yield of.missing(field, ("type", *_METRICS.values()))
    for other in _METRICS.values():
        if field is not None and other != field and of.get(other) is not None:
            hint = f"Remove it, or write type: {other[0].upper()}{other[1:]}."
            yield of.wrong(f"has type {of.get('type')}, which takes no {other}", hint, other)


def _aims_at(*fields: str, alone: bool = True) -> Check:
    """Returns a check that a metric's target has one of these fields, and only one if ``alone``."""

    def check(of: Fields) -> Found:
        target = of.below("target")
        found = [name for name in fields if target.get(name) is not None]
        if isinstance(of.get("target"), dict) and not found:
            yield target.wrong(f"has no {' or '.join(fields)}", f"Write {fields[0]}.")
        elif len(found) > 1 and alone:
            yield target.wrong(f"has both {' and '.join(found)}", "Keep one of them.", found[1])

    return check


def _of_a_group(target: Fields) -> Found:
    """Checks that a group of Kubernetes has the kind that an autoscaler names (``RESTMappings`` in horizontal.go of
    pkg/controller/podautoscaler). A group of somebody else may have any kind.
    """
    kind, version = target.get("kind"), str(target.get("apiVersion"))
    versions = [known for row in LISTED if row.kind == kind for known in row.versions]
    group = version.rpartition("/")[0]
    if versions and group in _GROUPS and all(known.rpartition("/")[0] != group for known in versions):
        rule = f"must be the group and the version of a {kind}"
        yield target.invalid(rule, version, f"Write {versions[0]}.", "apiVersion")


def _scaled(of: Fields) -> Found:
    """Checks a HorizontalPodAutoscaler: its target names an API group, and only external metrics may scale it to 0."""
    target, least, most = of.below("scaleTargetRef"), of.get("minReplicas"), of.get("maxReplicas")
    if isinstance(of.get("scaleTargetRef"), dict) and not target.get("apiVersion"):
        yield target.missing("apiVersion", ("apiVersion", "kind", "name"))
    elif str(target.get("apiVersion")).count("/") > 1:
        rule, hint = "must be a group and a version", "Write one such as apps/v1."
        yield target.invalid(rule, target.get("apiVersion"), hint, "apiVersion")
    else:
        yield from _of_a_group(target)
    if of.exceeds("minReplicas", "maxReplicas") and most > 0:
        hint = f"Write {most} or less, or raise maxReplicas."
        yield of.refuse("minReplicas", f"is {least}, more than maxReplicas, {most}", hint)
    elif least == 0 and not any(item.get("type") in ("External", "Object") for item in of.each("metrics")):
        rule = "must be at least 1 without a metric of type External or Object"
        yield of.invalid(rule, least, "Write 1 or more.", "minReplicas")


def _volume_of_its_own(of: Fields) -> Found:
    """Checks the name of a volume claim template. It becomes the name of a volume in each pod."""
    name = of.origin.value((*of.path, "metadata", "name"))
    if of.path and not name:
        yield of.below("metadata").missing("name")
    elif of.path and isinstance(name, str) and (refusal := spellings.label(name)) is not None:
        yield of.invalid(refusal[0], name, "Write one such as data.", "metadata", "name")


def _source_of_data(of: Fields, field: str) -> Found:
    """Checks what the data of a claim come from (``validateDataSource`` and ``validateDataSourceRef``)."""
    source = of.below(field)
    for name in ("kind", "name") if isinstance(of.get(field), dict) else ():
        if source.get(name) == "":
            yield source.invalid(NOT_EMPTY, "", "Name an object.", name)
    if not source.has("apiGroup") and source.get("kind") not in (None, "", "PersistentVolumeClaim"):
        hint = "Write PersistentVolumeClaim, or the apiGroup of the kind."
        yield source.invalid("must be PersistentVolumeClaim without an apiGroup", source.get("kind"), hint, "kind")


def _claim(of: Fields) -> Found:
    sources = ("dataSource", "dataSourceRef")
    for field in sources:
        yield from _source_of_data(of, field)
    if all(map(of.has, sources)) and of.get(sources[0]) != of.get(sources[1]):
        yield of.wrong("has a dataSource and another dataSourceRef", "Remove dataSource.", *sources[:1])
    modes = of.get("accessModes")
    if modes == []:
        yield of.invalid(NOT_EMPTY, [], "Write one, such as [ReadWriteOnce].", "accessModes")
    if len(listed(modes)) > 1 and "ReadWriteOncePod" in modes:
        yield of.refuse("accessModes", "has ReadWriteOncePod, which allows no other mode", "Remove it, or the others.")


def _claimed(of: Fields) -> Found:
    asked = of.below("requests")
    if not isinstance(of.get("requests"), dict):
        return
    if asked.get("storage") is None:
        yield asked.missing("storage", ("storage",))
    elif quantities.parse(asked.get("storage")) == 0:
        yield asked.invalid("must be more than 0", asked.get("storage"), "Write one such as 10Gi.", "storage")


def _ingress(of: Fields) -> Found:
    fields = ("defaultBackend", "rules")
    if not any(map(of.has, fields)):
        yield of.wrong("has neither rules nor defaultBackend", "Write one of them.")


def _ingress_path(of: Fields) -> Found:
    kind, text = of.get("pathType"), str(of.get("path") or "")
    is_strict = kind in ("Exact", "Prefix")
    if (is_strict or (kind == "ImplementationSpecific" and text)) and not text.startswith("/"):
        what = f"has pathType {kind}, which needs a path that begins with /"
        yield of.wrong(what, "Write one, such as path: /.", "path")
        return
    bad = [part for part in _BAD_IN_PATH if part in text] + [end for end in _BAD_AT_END if text.endswith(end)]
    if is_strict and bad:
        rule = f"must not have {bad[0]} where pathType is {kind}"
        yield of.invalid(rule, text, "Write the path as clients send it.", "path")


def _budget(of: Fields) -> Found:
    """Checks a budget: with no bound, no pod is evictable (``updatePdbStatus`` of pkg/controller/disruption)."""
    fields = ("minAvailable", "maxUnavailable")
    found = [name for name in fields if of.get(name) is not None]
    if len(found) > 1:
        yield of.wrong("has both minAvailable and maxUnavailable", "Keep one of them.", "maxUnavailable")
    elif not found:
        what = "has neither minAvailable nor maxUnavailable: Kubernetes evicts none of its pods"
        yield of.wrong(what, "Write one, such as maxUnavailable: 1.")


def _policy_port(of: Fields) -> Found:
    port, end = of.get("port"), of.get("endPort")
    if type(end) is not int:
        return
    if type(port) is not int:
        what = "needs port as a number" + ("" if port is None else f", not {port}")
        yield of.refuse("endPort", what, "Write the first port of the range in port, or remove endPort.")
    elif end < port:
        yield of.refuse("endPort", f"is {end}, less than port, {port}", f"Write {port} or more.")


def _policy_types(of: Fields) -> Found:
    number = len(listed(of.get("policyTypes")))
    if number > len(_POLICY_TYPES):
        yield of.refuse("policyTypes", f"has {number} types; there are {len(_POLICY_TYPES)}", "Write each once.")


def _peer(of: Fields) -> Found:
    fields = ("ipBlock", "namespaceSelector", "podSelector")
    found = [name for name in fields if of.get(name) is not None]
    if not found:
        hint = "Write one; podSelector: {} selects all pods of the namespace."
        yield of.wrong(f"has none of {', '.join(fields)}", hint)
    elif len(found) > 1 and found[0] == "ipBlock":
        yield of.wrong(f"has ipBlock and {found[1]}, which cannot go together", "Make two entries of them.", found[1])


def _block(of: Fields) -> Found:
    """Checks that each range in ``except`` lies within ``cidr``."""
    whole = of.get("cidr")
    outer = spellings.network(whole) if isinstance(whole, str) else None
    for index, text in enumerate(listed(of.get("except"))):
        inner = spellings.network(text) if isinstance(text, str) else None
        if inner is None or outer is None:
            continue
        if inner.version == outer.version and inner != outer and inner.subnet_of(outer):
            continue
        message = f"{of.at('except', index)} is {text}, which is no part of {whole}"
        yield of.conflict(message, "Write a smaller range within cidr, or remove it.", "except", index)


def _service(of: Fields) -> Found:
    """Checks a Service that is a document of its own. KubeRay itself adds the ports to Services in its objects."""
    if of.path or not isinstance(of.get("spec") or {}, dict):
        return
    spec = of.below("spec")
    kind = spec.get("type") or "ClusterIP"
    is_headless = NO_ADDRESS in (spec.get("clusterIP"), *listed(spec.get("clusterIPs")))
    needs_ports = kind != "ExternalName" and not is_headless
    if needs_ports and not spec.has("ports"):
        message = "a Service needs ports, unless it has clusterIP None or type ExternalName"
        yield of.conflict(message, "Write spec.ports.", *(("spec",) if spec.value else ()))
    yield from _labels(spec.below("selector"))
    if kind in _TYPES:
        yield from _by_type(spec, kind, is_headless=is_headless)
    yield from _addresses(spec)
    yield from _ports(spec, kind)


def _by_type(of: Fields, kind: str, *, is_headless: bool) -> Found:
    """Checks the fields that the type of a Service requires or excludes."""
    if is_headless and kind in ("LoadBalancer", "NodePort"):
        field = "clusterIP" if of.get("clusterIP") is not None else "clusterIPs"
        hint = "Remove it, or write type: ClusterIP."
        yield of.refuse(field, f"is {NO_ADDRESS}, which type {kind} cannot have", hint)
    if kind == "ExternalName":
        if not of.has("externalName"):
            yield of.missing("externalName", of.value)
        for field in filter(of.has, _NOT_OF_NAMES):
            yield of.conflict(f"a Service of type ExternalName has no {field}", "Remove it.", field)
    for field, kinds in _ONLY.items():
        if not of.has(field) or (field == "healthCheckNodePort" and of.get(field) == 0):
            continue
        is_open = field == "externalTrafficPolicy" and kind == "ClusterIP" and of.has("externalIPs")
        if kind not in kinds and not is_open:
            what = f"is for type {' or '.join(kinds)}, and this Service has type {kind}"
            yield of.refuse(field, what, f"Remove it, or write type: {kinds[0]}.")
        elif field == "healthCheckNodePort" and of.get("externalTrafficPolicy") != "Local":
            yield of.refuse(field, "needs externalTrafficPolicy: Local", "Write both, or remove it.")
    if of.has("sessionAffinityConfig") and of.get("sessionAffinity") != "ClientIP":
        yield of.refuse("sessionAffinityConfig", "needs sessionAffinity: ClientIP", "Write both, or remove it.")


def _addresses(of: Fields) -> Found:
    """Checks that clusterIPs begins with clusterIP, and has at most one address per IP family."""
    one, several = of.get("clusterIP"), listed(of.get("clusterIPs"))
    if one and several and several[0] != one:
        hint = "Write the same address first, or remove one of the fields."
        yield of.refuse("clusterIPs", f"begins with {several[0]}, and spec.clusterIP is {one}", hint)
    versions = [found.version for text in several if isinstance(text, str) and (found := spellings.address(text))]
    if len(several) > 1 and (NO_ADDRESS in several or len(set(versions)) < len(versions) or len(several) > 2):
        yield of.refuse("clusterIPs", "may have one IPv4 and one IPv6 address, and no more", "Remove the others.")


def _ports(of: Fields, kind: str) -> Found:
    """Checks that several ports have names, and that no two share a name, a port or a node port."""
    ports, first = list(of.each("ports")), dict[tuple[str, ...], Fields]()
    for port in ports:
        protocol = str(port.get("protocol") or "TCP")
        if len(ports) > 1 and port.value and not port.has("name"):
            yield port.missing("name", port.value)
        if kind == "ClusterIP" and port.get("nodePort"):
            hint = "Remove it, or write type: NodePort."
            yield port.wrong("has a nodePort, and this Service has type ClusterIP", hint, "nodePort")
        for field, shared in (("name", ()), ("port", (protocol,)), ("nodePort", (protocol,))):
            text = port.get(field)
            if text and first.setdefault((field, str(text), *shared), port) is not port:
                message = f"two entries of spec.ports have the {field} {text}"
                yield port.conflict(message, "Change or remove one of them.", field)


def _endpoints(of: Fields) -> Found:
    """Checks that the addresses of an EndpointSlice have its addressType."""
    kind = str(of.get("addressType"))
    version = {"IPv4": 4, "IPv6": 6}.get(kind)
    for endpoint in of.each("endpoints") if version else ():
        for place, text in enumerate(listed(endpoint.get("addresses"))):
            if not isinstance(text, str):
                continue
            found, special = spellings.address(text), spellings.external_ip_refused(text)
            if found is None or found.version != version:
                hint = "Correct it, or addressType."
                yield endpoint.invalid(f"must be an {kind} address", text, hint, "addresses", place)
            elif special is not None:
                yield endpoint.invalid(special[0], text, special[1], "addresses", place)


COMBINATIONS: Mapping[str, Check] = {
    "ConfigMap": _config_map,
    "ContainerResourceMetricSource": _aims_at("averageUtilization", "averageValue"),
    "EndpointSlice": _endpoints,
    "ExternalMetricSource": _aims_at("averageValue", "value"),
    "HPAScalingRules": not_empty("policies", "Write one, or remove the field."),
    "HTTPIngressPath": _ingress_path,
    "HTTPIngressRuleValue": not_empty("paths", "Write one, such as path: /."),
    "HorizontalPodAutoscalerSpec": _scaled,
    "IPBlock": _block,
    "IngressBackend": one_of("nothing behind it", "resource", "service"),
    "IngressSpec": _ingress,
    "LabelSelector": lambda of: _labels(of.below("matchLabels")),
    "MetricSpec": _metric,
    "NetworkPolicyPeer": _peer,
    "NetworkPolicyPort": _policy_port,
    "NetworkPolicySpec": _policy_types,
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
"""The check for each type of mapping."""
