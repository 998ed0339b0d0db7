"""Checks companions of workloads, and the metadata of every document, as an API server does. Follows
pkg/apis/core/validation, networking/validation, policy/validation, autoscaling/validation and discovery/validation of
Kubernetes 1.33, and ValidateObjectMeta and ValidateLabelSelector of k8s.io/apimachinery.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.base.late import imported
from kubectl_tas.base.words import did_you_mean
from kubectl_tas.check.conflicts import NOT_EMPTY, Check, Fields, Found, not_empty, one_of
from kubectl_tas.facts import quantities, spellings
from kubectl_tas.facts.spellings import NO_ADDRESS, Refusal
from kubectl_tas.kinds import LISTED
from kubectl_tas.kinds.kubernetes import Bound
from kubectl_tas.kinds.section import listed
from kubectl_tas.load.schema import INVALID_VALUE, wrong_key
from kubectl_tas.model.base import KEY_HINT, KEY_RULE, NOTE_RULE, VALUE_HINT, VALUE_RULE
from kubectl_tas.resolve import names

_MAX_ANNOTATIONS = 256 * 2**10
_MAX_DATA = 2**20
_MAX_PORT = 2**16 - 1
_BESIDE_HOST = r"^[a-z]+://|[:/].*$|\.$"
"""Matches the parts of a URL around its host."""
_BAD_IN_PATH = ("//", "/./", "/../", "%2f", "%2F")
_COUNT = range(2**31)
_POSITIVE = range(1, 2**31)
_PORT = range(1, _MAX_PORT + 1)
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_TYPES = ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
_MODES = {"RWO": "ReadWriteOnce", "ROX": "ReadOnlyMany", "RWX": "ReadWriteMany", "RWOP": "ReadWriteOncePod"}
"""Access modes of claims: as kubectl prints them, and as files write them."""
_POLICY_TYPES = ("Ingress", "Egress")
_TRAFFIC = ("Cluster", "Local")
_METRICS = {n: n[0].lower() + n[1:] for n in ("ContainerResource", "External", "Object", "Pods", "Resource")}
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
    suggestion = did_you_mean(mode, modes, folds=True)
    return f"must be one of {', '.join(modes)}", f"Write {_MODES[mode]}." if mode in _MODES else suggestion


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
    if not re.fullmatch(r"[0-9]{1,9}%", share):
        return "must be a number of pods or a percentage", "Write one such as 1 or 50%, the number without quotes."
    return ("must be at most 100%", "Write 100% or less.") if int(share.removesuffix("%")) > 100 else None


def _positive_refused(amount: Any) -> Refusal:
    if (refusal := quantities.refused(amount)) is None and not quantities.parse(amount):
        return "must be more than 0", "Write a positive amount."
    return refusal


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


def _metadata(fields: Fields) -> Found:
    if fields.get("labels"):
        yield from _labels(fields.below("labels"))
    if fields.get("finalizers"):
        # Checks the finalizers of Kubernetes' own kinds: one without a domain is one of three (`ValidateObjectMeta`
        # of pkg/apis/core/validation).
        group = str(fields.origin.data.get("apiVersion")).rpartition("/")[0]
        is_own = "." not in group or group.endswith(".k8s.io")
        for index, name in enumerate(listed(fields.get("finalizers"))):
            is_plain = isinstance(name, str) and "/" not in name and not spellings.label_key(name)
            if is_own and is_plain and name not in _FINALIZERS:
                rule = f"must have a domain, or be one of {', '.join(_FINALIZERS)}"
                yield fields.invalid(rule, name, "Remove it: controllers add finalizers.", "finalizers", index)
    if not fields.get("annotations"):
        return
    notes = fields.below("annotations")
    for key in notes.value:
        if spellings.label_key(key.lower()):
            yield wrong_key(fields.origin, notes.path, key, NOTE_RULE, KEY_HINT)
    size = _size(notes.value) + _size(notes.value.values())
    if size > _MAX_ANNOTATIONS:
        message = f"{notes.at()} has {size} bytes, more than the {_MAX_ANNOTATIONS} that an API server takes"
        largest = max(notes.value, key=lambda key: len(str(notes.get(key))))
        yield _too_much(notes, message, "Shorten this one, or keep it in a ConfigMap.", largest)


def _labels(fields: Fields) -> Found:
    for key, value in fields.value.items():
        if spellings.label_key(key):
            yield wrong_key(fields.origin, fields.path, key, KEY_RULE, KEY_HINT)
        if isinstance(value, str) and spellings.label_value(value):
            yield fields.invalid(VALUE_RULE, value, VALUE_HINT, key)


def _size(texts: Iterable[Any]) -> int:
    """Returns the total bytes of the texts. Ignores other values."""
    return sum(len(text) if text.isascii() else len(text.encode()) for text in texts if isinstance(text, str))


def _decoded(text: str) -> int:
    """Returns the number of bytes that a base64 text encodes."""
    return (len(text) - text.count("\n") - text.count("\r")) * 3 // 4 - text.count("=")


def _too_much(fields: Fields, message: str, hint: str, *steps: str) -> Diagnostic:
    return Diagnostic(INVALID_VALUE, message, fields.origin.locate((*fields.path, *steps), key=True), hint=hint)


def _config_map(fields: Fields) -> Found:
    sections = {name: fields.below(name).value for name in ("data", "binaryData")}
    data, binary = sections.values()
    for name, section in sections.items():
        for key in section:
            if spellings.config_key(key):
                hint = "A key becomes the name of a file: write letters, digits, '-', '_' and '.', without '/'."
                yield wrong_key(fields.origin, (*fields.path, name), key, "must be a plain file name", hint)
    for key in binary:
        if key in data:
            message = f'the key "{key}" is in data and in binaryData'
            yield fields.conflict(message, "Rename one, or remove one.", "binaryData", key)
    size = _size(data.values()) + sum(_decoded(text) for text in binary.values() if isinstance(text, str))
    if size > _MAX_DATA:
        message = f"this ConfigMap has {size} bytes, more than the {_MAX_DATA} that an API server takes"
        _, name, key = max((len(str(t)), n, k) for n, s in sections.items() for k, t in s.items())
        yield _too_much(fields, message, "Divide it, or keep large files in a volume.", name, key)


def _metric(fields: Fields) -> Found:
    """Checks that a metric uses the field of its type, and no other."""
    field = _METRICS.get(str(fields.get("type")))
    if field is not None and fields.get(field) is None:
        yield fields.missing(field, ("type", *_METRICS.values()))
    for metric_field in _METRICS.values():
        if field is not None and metric_field != field and fields.get(metric_field) is not None:
            hint = f"Remove it, or write type: {metric_field[0].upper()}{metric_field[1:]}."
            yield fields.wrong(f"has type {fields.get('type')}, which takes no {metric_field}", hint, metric_field)


def _aims_at(*target_fields: str, alone: bool = True) -> Check:
    """Returns a check that a metric's target has one of these fields, and only one if ``alone``."""

    def check(fields: Fields) -> Found:
        target = fields.below("target")
        written_fields = [name for name in target_fields if target.get(name) is not None]
        if isinstance(fields.get("target"), dict) and not written_fields:
            yield target.wrong(f"has no {' or '.join(target_fields)}", f"Write {target_fields[0]}.")
        elif len(written_fields) > 1 and alone:
            yield target.wrong(f"has both {' and '.join(written_fields)}", "Keep one of them.", written_fields[1])

    return check


def _scaled(fields: Fields) -> Found:
    """Checks a HorizontalPodAutoscaler: its target names an API group, and only external metrics may scale it to 0."""
    target, least, most = fields.below("scaleTargetRef"), fields.get("minReplicas"), fields.get("maxReplicas")
    if isinstance(fields.get("scaleTargetRef"), dict) and not target.get("apiVersion"):
        yield target.missing("apiVersion", ("apiVersion", "kind", "name"))
    elif str(target.get("apiVersion")).count("/") > 1:
        rule, hint = "must be a group and a version", "Write one such as apps/v1."
        yield target.invalid(rule, target.get("apiVersion"), hint, "apiVersion")
    else:
        # Checks that a group of Kubernetes has the kind that an autoscaler names (`RESTMappings` in horizontal.go of
        # pkg/controller/podautoscaler). A group of somebody else may have any kind.
        kind, version = target.get("kind"), str(target.get("apiVersion"))
        versions = [known for row in LISTED if row.kind == kind for known in row.versions]
        group = version.rpartition("/")[0]
        if versions and group in _GROUPS and all(known.rpartition("/")[0] != group for known in versions):
            rule = f"must be the group and the version of a {kind}"
            yield target.invalid(rule, version, f"Write {versions[0]}.", "apiVersion")
    if fields.exceeds("minReplicas", "maxReplicas") and most > 0:
        hint = f"Write {most} or less, or raise maxReplicas."
        yield fields.refuse("minReplicas", f"is {least}, more than maxReplicas, {most}", hint)
    elif least == 0 and not any(metric.get("type") in ("External", "Object") for metric in fields.each("metrics")):
        rule = "must be at least 1 without a metric of type External or Object"
        yield fields.invalid(rule, least, "Write 1 or more.", "minReplicas")


def _volume_of_its_own(fields: Fields) -> Found:
    """Checks the name of a volume claim template. It becomes the name of a volume in each pod."""
    name = fields.origin.value((*fields.path, "metadata", "name"))
    if fields.path and not name:
        yield fields.below("metadata").missing("name")
    elif fields.path and isinstance(name, str) and (refusal := spellings.label(name)) is not None:
        yield fields.invalid(refusal[0], name, "Write one such as data.", "metadata", "name")


def _claim(fields: Fields) -> Found:
    sources = ("dataSource", "dataSourceRef")
    for field in sources:
        # Checks what the data of a claim come from (`validateDataSource` and `validateDataSourceRef`).
        source = fields.below(field)
        for name in ("kind", "name") if isinstance(fields.get(field), dict) else ():
            if source.get(name) == "":
                yield source.invalid(NOT_EMPTY, "", "Name an object.", name)
        if not source.has("apiGroup") and source.get("kind") not in (None, "", "PersistentVolumeClaim"):
            hint = "Write PersistentVolumeClaim, or the apiGroup of the kind."
            yield source.invalid("must be PersistentVolumeClaim without an apiGroup", source.get("kind"), hint, "kind")
    if all(map(fields.has, sources)) and fields.get(sources[0]) != fields.get(sources[1]):
        yield fields.wrong("has a dataSource and another dataSourceRef", "Remove dataSource.", *sources[:1])
    modes = fields.get("accessModes")
    if modes == []:
        yield fields.invalid(NOT_EMPTY, [], "Write one, such as [ReadWriteOnce].", "accessModes")
    if len(listed(modes)) > 1 and "ReadWriteOncePod" in modes:
        yield fields.refuse(
            "accessModes", "has ReadWriteOncePod, which allows no other mode", "Remove it, or the others."
        )


def _claimed(fields: Fields) -> Found:
    requests = fields.below("requests")
    if not isinstance(fields.get("requests"), dict):
        return
    if requests.get("storage") is None:
        yield requests.missing("storage", ("storage",))
    elif quantities.parse(requests.get("storage")) == 0:
        yield requests.invalid("must be more than 0", requests.get("storage"), "Write one such as 10Gi.", "storage")


def _ingress(fields: Fields) -> Found:
    required_fields = ("defaultBackend", "rules")
    if not any(map(fields.has, required_fields)):
        yield fields.wrong("has neither rules nor defaultBackend", "Write one of them.")


def _ingress_path(fields: Fields) -> Found:
    kind, text = fields.get("pathType"), str(fields.get("path") or "")
    is_strict = kind in ("Exact", "Prefix")
    if (is_strict or (kind == "ImplementationSpecific" and text)) and not text.startswith("/"):
        problem = f"has pathType {kind}, which needs a path that begins with /"
        yield fields.wrong(problem, "Write one, such as path: /.", "path")
        return
    bad = [sequence for sequence in _BAD_IN_PATH if sequence in text] + [e for e in ("/..", "/.") if text.endswith(e)]
    if is_strict and bad:
        rule = f"must not have {bad[0]} where pathType is {kind}"
        yield fields.invalid(rule, text, "Write the path as clients send it.", "path")


def _budget(fields: Fields) -> Found:
    """Checks a budget: with no bound, no pod is evictable (``updatePdbStatus`` of pkg/controller/disruption)."""
    bounds = ("minAvailable", "maxUnavailable")
    written_bounds = [name for name in bounds if fields.get(name) is not None]
    if len(written_bounds) > 1:
        yield fields.wrong("has both minAvailable and maxUnavailable", "Keep one of them.", "maxUnavailable")
    elif not written_bounds:
        problem = "has neither minAvailable nor maxUnavailable: Kubernetes evicts none of its pods"
        yield fields.wrong(problem, "Write one, such as maxUnavailable: 1.")


def _policy_port(fields: Fields) -> Found:
    port, end = fields.get("port"), fields.get("endPort")
    if type(end) is not int:
        return
    if type(port) is not int:
        problem = "needs port as a number" + ("" if port is None else f", not {port}")
        yield fields.refuse("endPort", problem, "Write the first port of the range in port, or remove endPort.")
    elif end < port:
        yield fields.refuse("endPort", f"is {end}, less than port, {port}", f"Write {port} or more.")


def _policy_types(fields: Fields) -> Found:
    number = len(listed(fields.get("policyTypes")))
    if number > len(_POLICY_TYPES):
        yield fields.refuse("policyTypes", f"has {number} types; there are {len(_POLICY_TYPES)}", "Write each once.")


def _peer(fields: Fields) -> Found:
    selector_fields = ("ipBlock", "namespaceSelector", "podSelector")
    written_selectors = [name for name in selector_fields if fields.get(name) is not None]
    if not written_selectors:
        hint = "Write one; podSelector: {} selects all pods of the namespace."
        yield fields.wrong(f"has none of {', '.join(selector_fields)}", hint)
    elif len(written_selectors) > 1 and written_selectors[0] == "ipBlock":
        yield fields.wrong(
            f"has ipBlock and {written_selectors[1]}, which cannot go together",
            "Make two entries of them.",
            written_selectors[1],
        )


def _block(fields: Fields) -> Found:
    """Checks that each range in ``except`` lies within ``cidr``."""
    whole = fields.get("cidr")
    outer = spellings.network(whole) if isinstance(whole, str) else None
    for index, text in enumerate(listed(fields.get("except"))):
        inner = spellings.network(text) if isinstance(text, str) else None
        if inner is None or outer is None:
            continue
        if inner.version == outer.version and inner != outer and inner.subnet_of(outer):
            continue
        message = f"{fields.at('except', index)} is {text}, which is no part of {whole}"
        yield fields.conflict(message, "Write a smaller range within cidr, or remove it.", "except", index)


def _service(fields: Fields) -> Found:
    """Checks a Service that is a document of its own. KubeRay itself adds the ports to Services in its objects."""
    if fields.path or not isinstance(fields.get("spec") or {}, dict):
        return
    spec = fields.below("spec")
    kind = spec.get("type") or "ClusterIP"
    is_headless = NO_ADDRESS in (spec.get("clusterIP"), *listed(spec.get("clusterIPs")))
    needs_ports = kind != "ExternalName" and not is_headless
    if needs_ports and not spec.has("ports"):
        message = "a Service needs ports, unless it has clusterIP None or type ExternalName"
        yield fields.conflict(message, "Write spec.ports.", *(("spec",) if spec.value else ()))
    yield from _labels(spec.below("selector"))
    if kind in _TYPES:
        # Checks the fields that the type of a Service requires or excludes.
        if is_headless and kind in ("LoadBalancer", "NodePort"):
            field = "clusterIP" if spec.get("clusterIP") is not None else "clusterIPs"
            hint = "Remove it, or write type: ClusterIP."
            yield spec.refuse(field, f"is {NO_ADDRESS}, which type {kind} cannot have", hint)
        if kind == "ExternalName":
            if not spec.has("externalName"):
                yield spec.missing("externalName", spec.value)
            for field in filter(spec.has, _NOT_OF_NAMES):
                yield spec.conflict(f"a Service of type ExternalName has no {field}", "Remove it.", field)
        for field, kinds in _ONLY.items():
            if not spec.has(field) or (field == "healthCheckNodePort" and spec.get(field) == 0):
                continue
            is_open = field == "externalTrafficPolicy" and kind == "ClusterIP" and spec.has("externalIPs")
            if kind not in kinds and not is_open:
                problem = f"is for type {' or '.join(kinds)}, and this Service has type {kind}"
                yield spec.refuse(field, problem, f"Remove it, or write type: {kinds[0]}.")
            elif field == "healthCheckNodePort" and spec.get("externalTrafficPolicy") != "Local":
                yield spec.refuse(field, "needs externalTrafficPolicy: Local", "Write both, or remove it.")
        if spec.has("sessionAffinityConfig") and spec.get("sessionAffinity") != "ClientIP":
            yield spec.refuse("sessionAffinityConfig", "needs sessionAffinity: ClientIP", "Write both, or remove it.")
    yield from _addresses(spec)
    yield from _ports(spec, kind)


def _addresses(fields: Fields) -> Found:
    """Checks that clusterIPs begins with clusterIP, and has at most one address per IP family."""
    cluster_ip, cluster_ips = fields.get("clusterIP"), listed(fields.get("clusterIPs"))
    if cluster_ip and cluster_ips and cluster_ips[0] != cluster_ip:
        hint = "Write the same address first, or remove one of the fields."
        yield fields.refuse("clusterIPs", f"begins with {cluster_ips[0]}, and spec.clusterIP is {cluster_ip}", hint)
    versions = [
        address.version for text in cluster_ips if isinstance(text, str) and (address := spellings.address(text))
    ]
    if len(cluster_ips) > 1 and (
        NO_ADDRESS in cluster_ips or len(set(versions)) < len(versions) or len(cluster_ips) > 2
    ):
        yield fields.refuse("clusterIPs", "may have one IPv4 and one IPv6 address, and no more", "Remove the others.")


def _ports(fields: Fields, kind: str) -> Found:
    """Checks that several ports have names, and that no two share a name, a port or a node port."""
    ports, port_by_identity = list(fields.each("ports")), dict[tuple[str, ...], Fields]()
    for port in ports:
        protocol = str(port.get("protocol") or "TCP")
        if len(ports) > 1 and port.value and not port.has("name"):
            yield port.missing("name", port.value)
        if kind == "ClusterIP" and port.get("nodePort"):
            hint = "Remove it, or write type: NodePort."
            yield port.wrong("has a nodePort, and this Service has type ClusterIP", hint, "nodePort")
        for field, shared in (("name", ()), ("port", (protocol,)), ("nodePort", (protocol,))):
            text = port.get(field)
            if text and port_by_identity.setdefault((field, str(text), *shared), port) is not port:
                message = f"two entries of spec.ports have the {field} {text}"
                yield port.conflict(message, "Change or remove one of them.", field)


def _endpoints(fields: Fields) -> Found:
    """Checks that the addresses of an EndpointSlice have its addressType."""
    kind = str(fields.get("addressType"))
    version = {"IPv4": 4, "IPv6": 6}.get(kind)
    for endpoint in fields.each("endpoints") if version else ():
        for index, text in enumerate(listed(endpoint.get("addresses"))):
            if not isinstance(text, str):
                continue
            address, special = spellings.address(text), spellings.external_ip_refused(text)
            if address is None or address.version != version:
                hint = "Correct it, or addressType."
                yield endpoint.invalid(f"must be an {kind} address", text, hint, "addresses", index)
            elif special is not None:
                yield endpoint.invalid(special[0], text, special[1], "addresses", index)


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
    "LabelSelector": lambda fields: _labels(fields.below("matchLabels")),
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
