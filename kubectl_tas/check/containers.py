"""What fields of pods and their containers need of one another. Follows ``ValidatePodSpec`` and what it calls in
pkg/apis/core/validation of Kubernetes 1.35; of the overhead, plugin/pkg/admission/runtimeclass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kubectl_tas import quantities, spellings
from kubectl_tas.check.conflicts import Found, conflict, has, mappings
from kubectl_tas.load.schema import invalid_value, missing_field, written
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin
from kubectl_tas.words import did_you_mean

_SHARED = ("hostNetwork", "hostPID", "hostIPC")
"""What a pod may share with its node."""
_OF_LINUX = (
    *("allowPrivilegeEscalation", "appArmorProfile", "capabilities", "fsGroup", "fsGroupChangePolicy", "privileged"),
    *("procMount", "readOnlyRootFilesystem", "runAsGroup", "runAsUser", "seLinuxOptions", "seccompProfile"),
    *("supplementalGroups", "supplementalGroupsPolicy", "sysctls"),
)
"""Of a security context."""
_NOT_ON = {
    "windows": ((*_SHARED[1:], "hostUsers", "shareProcessNamespace"), _OF_LINUX),
    "linux": ((), ("windowsOptions",)),
}
"""What pods and security contexts for an operating system cannot have."""
_RUNNING = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
"""What only containers have that keep running."""
_SPECIAL = frozenset(
    (
        *(*_SHARED, "shareProcessNamespace", "setHostnameAsFQDN", "hostUsers", "overhead", "ephemeralContainers"),
        *("dnsPolicy", "dnsConfig", "securityContext", "topologySpreadConstraints", "os"),
        *(*_RUNNING, "ports"),
    )
)
"""Fields of pods and containers of which there is something to say; most have few of them."""
_SYSCTLS = {"hostNetwork": ("net.",), "hostIPC": ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")}
"""The sysctls that belong to the node once a pod shares it."""
_GRACE = 30
"""Seconds, where a pod does not say how long it takes to end."""
_MOST_SERVERS = 3
_OF_POD = ("metadata.name", "metadata.namespace", "metadata.uid")
_IN_VARIABLES = (
    *_OF_POD,
    *("spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
_IN_FILES = (*_OF_POD, "metadata.annotations", "metadata.labels")
_ONE_KEY = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]", re.DOTALL)
_AMOUNTS = tuple(f"{of}.{name}" for of in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage"))


def pod(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """A pod, and what its containers need of it."""
    for field in ("initContainers", "containers"):
        for index, item in enumerate(mappings(value.get(field))):
            resources = item.get("resources")
            if not _SPECIAL.isdisjoint(item) or (isinstance(resources, dict) and "claims" in resources):
                yield from _in_pod(origin, (*path, field, index), item, value)
    if not _SPECIAL.isdisjoint(value):
        yield from _by_itself(origin, path, value)


def _by_itself(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    for first, second in (("hostPID", "shareProcessNamespace"), ("setHostnameAsFQDN", "hostnameOverride")):
        if value.get(first) and value.get(second):
            yield _both(origin, path, first, second)
    if value.get("hostUsers") is False:
        for name in (name for name in _SHARED if value.get(name)):
            message = f"{written(path)} has {name}, which needs the users of the node"
            yield conflict(origin, (*path, name), message, f"Remove {name}, or hostUsers: false.")
    if value.get("overhead") and not value.get("runtimeClassName"):
        message = f"{written(path)} has overhead without a runtimeClassName: the API server refuses its pods"
        yield conflict(origin, (*path, "overhead"), message, "Remove it: a RuntimeClass says what its pods need.")
    if value.get("ephemeralContainers"):
        message = f"{written(path)} has ephemeralContainers, which only running pods can have"
        yield conflict(origin, (*path, "ephemeralContainers"), message, "Remove them; kubectl debug adds them.")
    yield from _names_of_hosts(origin, path, value)
    yield from _sysctls(origin, path, value)
    yield from _spread(origin, path, value)
    system = value.get("os")
    if isinstance(system, dict) and str(system.get("name")) in _NOT_ON:
        yield from _on_system(origin, path, value, str(system["name"]))


def _both(origin: Origin, path: KeyPath, first: str, second: str) -> Any:
    return conflict(origin, (*path, second), f"{written(path)} has both {first} and {second}", "Keep one of them.")


def _names_of_hosts(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    config = value.get("dnsConfig")
    servers = config.get("nameservers") if isinstance(config, dict) else None
    if value.get("dnsPolicy") == "None" and not servers:
        message = f"{written(path)} has dnsPolicy None and no nameservers"
        hint = "Write dnsConfig.nameservers, or dnsPolicy: ClusterFirst."
        yield conflict(origin, (*path, "dnsPolicy"), message, hint)
    if isinstance(servers, list) and len(servers) > _MOST_SERVERS:
        where = (*path, "dnsConfig", "nameservers")
        message = f"{written(where)} has {len(servers)} addresses; a pod takes {_MOST_SERVERS}"
        yield conflict(origin, where, message, f"Keep {_MOST_SERVERS} of them.")


def _sysctls(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    context = value.get("securityContext")
    for index, item in enumerate(mappings(context.get("sysctls") if isinstance(context, dict) else None)):
        name = str(item.get("name")).replace("/", ".")
        for field, prefixes in _SYSCTLS.items():
            if value.get(field) and name.startswith(prefixes):
                message = f"the sysctl {name} belongs to the node where a pod has {field}"
                yield conflict(origin, (*path, "securityContext", "sysctls", index), message, f"Remove it, or {field}.")


def _spread(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    first: set[tuple[str, str]] = set()
    for index, item in enumerate(mappings(value.get("topologySpreadConstraints"))):
        pair = str(item.get("topologyKey")), str(item.get("whenUnsatisfiable"))
        if pair in first:
            message = f"{written((*path, 'topologySpreadConstraints'))} has {pair[1]} for {pair[0]} twice"
            yield conflict(origin, (*path, "topologySpreadConstraints", index), message, "Keep one of the two.")
        first.add(pair)


def _in_pod(origin: Origin, path: KeyPath, value: Mapping[str, Any], pod: Mapping[str, Any]) -> Found:
    """What a container needs of its pod."""
    if path[-2] == "initContainers" and value.get("restartPolicy") != "Always":
        for name in (name for name in _RUNNING if value.get(name) is not None):
            message = f"{written(path)} has {name}, which only init containers with restartPolicy Always have"
            yield conflict(origin, (*path, name), message, "Remove it, or write restartPolicy: Always for a sidecar.")
    resources = value.get("resources")
    claims = [str(item.get("name")) for item in mappings(pod.get("resourceClaims"))]
    for index, claim in enumerate(mappings(resources.get("claims") if isinstance(resources, dict) else None)):
        wanted = claim.get("name")
        if wanted is not None and wanted not in claims:
            message = f'the pod has no resource claim "{wanted}"'
            listed = f"Its claims are {', '.join(claims)}." if claims else "Add it to resourceClaims."
            hint = did_you_mean(str(wanted), claims, listed)
            yield conflict(origin, (*path, "resources", "claims", index, "name"), message, hint)
    for index, port in enumerate(mappings(value.get("ports")) if pod.get("hostNetwork") else ()):
        own, host = port.get("containerPort"), port.get("hostPort")
        if host and host != own:
            where = (*path, "ports", index, "hostPort")
            message = (
                f"{written(where)} is {host}, but a pod with hostNetwork has its containerPort, {own}, on the node"
            )
            yield conflict(origin, where, message, f"Write {own}, or remove it.")
    if _context(value).get("procMount") == "Unmasked" and pod.get("hostUsers") is not False:
        message = f"{written(path)} has procMount Unmasked, which needs a pod with hostUsers: false"
        yield conflict(
            origin, (*path, "securityContext", "procMount"), message, "Remove it, or write hostUsers: false."
        )
    cycle = value.get("lifecycle")
    if isinstance(cycle, dict):
        yield from _ends(origin, (*path, "lifecycle"), cycle, pod)


def _ends(origin: Origin, path: KeyPath, cycle: Mapping[str, Any], pod: Mapping[str, Any]) -> Found:
    if cycle.get("stopSignal") and not pod.get("os"):
        message = f"{written(path)} has a stopSignal, which needs a pod that says its os"
        yield conflict(origin, (*path, "stopSignal"), message, "Write os: {name: linux} in the pod, or remove it.")
    grace = pod.get("terminationGracePeriodSeconds", _GRACE)
    for field in ("preStop", "postStart"):
        action = cycle.get(field)
        sleep = action.get("sleep") if isinstance(action, dict) else None
        seconds = sleep.get("seconds") if isinstance(sleep, dict) else None
        if type(seconds) is int and type(grace) is int and seconds > grace:
            where = (*path, field, "sleep", "seconds")
            message = f"{written(where)} is {seconds}, more than terminationGracePeriodSeconds, {grace}"
            yield conflict(origin, where, message, f"Write {grace} or less, or raise terminationGracePeriodSeconds.")


def _context(value: Mapping[str, Any]) -> Mapping[str, Any]:
    context = value.get("securityContext")
    return context if isinstance(context, dict) else {}


def _on_system(origin: Origin, path: KeyPath, value: Mapping[str, Any], system: str) -> Found:
    of_pod, of_context = _NOT_ON[system]
    places: list[tuple[KeyPath, Mapping[str, Any], Iterable[str]]] = [
        (path, value, of_pod),
        ((*path, "securityContext"), _context(value), of_context),
    ]
    for field in ("initContainers", "containers"):
        for index, item in enumerate(mappings(value.get(field))):
            places.append(((*path, field, index, "securityContext"), _context(item), of_context))
    for where, mapping, fields in places:
        for name in (name for name in fields if mapping.get(name) is not None):
            message = f"{written((*where, name))} is not for pods with os: {{name: {system}}}"
            yield conflict(origin, (*where, name), message, "Remove it, or correct the os.")


def probe(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """A probe, by the field that it stands in."""
    field = path[-1]
    if field in ("livenessProbe", "startupProbe") and value.get("successThreshold") not in (None, 0, 1):
        where = (*path, "successThreshold")
        yield conflict(origin, where, f"{written(where)} must be 1 in a {field}", "Write 1, or remove it.")
    if field == "readinessProbe" and value.get("terminationGracePeriodSeconds") is not None:
        where = (*path, "terminationGracePeriodSeconds")
        yield conflict(origin, where, f"{written(where)} is for probes that end a container", "Remove it.")


def security(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """The security context of a container."""
    if value.get("allowPrivilegeEscalation") is not False:
        return
    capabilities = value.get("capabilities")
    added = capabilities.get("add") if isinstance(capabilities, dict) else None
    is_admin = isinstance(added, list) and "CAP_SYS_ADMIN" in added
    for name, is_there in (("privileged", value.get("privileged")), ("CAP_SYS_ADMIN", is_admin)):
        if is_there:
            message = f"{written(path)} has allowPrivilegeEscalation: false and {name}"
            yield conflict(origin, (*path, "allowPrivilegeEscalation"), message, "Remove one of the two.")


def profile(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """A profile of seccomp or of AppArmor."""
    is_local, named = value.get("type") == "Localhost", bool(value.get("localhostProfile"))
    if is_local and not named:
        message = f"{written(path)} has type Localhost and no localhostProfile"
        yield conflict(origin, path, message, "Write localhostProfile, or type: RuntimeDefault.")
    elif named and not is_local and value.get("type") is not None:
        message = f"{written(path)} has localhostProfile, which only type Localhost takes"
        yield conflict(origin, (*path, "localhostProfile"), message, "Remove it, or write type: Localhost.")


def mount(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """Where a volume appears."""
    if has(value, "subPath") and has(value, "subPathExpr"):
        yield _both(origin, path, "subPath", "subPathExpr")
    if value.get("recursiveReadOnly") not in (None, "Disabled") and not value.get("readOnly"):
        message = f"{written(path)} has recursiveReadOnly without readOnly"
        yield conflict(origin, (*path, "recursiveReadOnly"), message, "Write readOnly: true.")
    privileged: KeyPath = (*path[:-2], "securityContext", "privileged")
    if value.get("mountPropagation") == "Bidirectional" and origin.value(privileged) is not True:
        message = f"{written((*path, 'mountPropagation'))} is Bidirectional, which only a privileged container may have"
        hint = "Write HostToContainer, or securityContext.privileged: true."
        yield conflict(origin, (*path, "mountPropagation"), message, hint)


def command(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """What is run in a container."""
    if value.get("command") is None:
        yield missing_field(origin, path, "command", {}, ("command",))
    elif value["command"] == []:
        yield invalid_value(origin, (*path, "command"), "must not be empty", [], "Write the program and its arguments.")


def labels(origin: Origin, path: KeyPath, wanted: object) -> Found:
    """Labels that something is to have."""
    for key, value in wanted.items() if isinstance(wanted, dict) else ():
        if (refusal := spellings.label_key(str(key))) is not None:
            yield invalid_value(origin, (*path, key), refusal[0], key, refusal[1])
        if isinstance(value, str) and (refusal := spellings.label_value(value)) is not None:
            yield invalid_value(origin, (*path, key), refusal[0], value, refusal[1])


def over_nodes(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """Pods that stand together or apart."""
    if value.get("minDomains") is not None and value.get("whenUnsatisfiable") == "ScheduleAnyway":
        message = f"{written(path)} has minDomains, which needs whenUnsatisfiable: DoNotSchedule"
        yield conflict(origin, (*path, "minDomains"), message, "Remove it, or write DoNotSchedule.")
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        if has(value, name) and value.get("labelSelector") is None:
            message = f"{written(path)} has {name} without a labelSelector"
            yield conflict(origin, (*path, name), message, "Write labelSelector too.")


def node_condition(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """A condition on a node's label, or among ``matchFields`` on its name."""
    key, operator, values = value.get("key"), value.get("operator"), value.get("values")
    values = values if isinstance(values, list) else []
    if path[-2:-1] == ("matchFields",):
        if key != "metadata.name" and key is not None:
            yield invalid_value(origin, (*path, "key"), "must be metadata.name", key, "Labels go to matchExpressions.")
        elif operator not in ("In", "NotIn") or len(values) != 1:
            message = f"{written(path)} needs operator In or NotIn and one value"
            yield conflict(origin, path, message, "Write one value; other names go to terms of their own.")
        return
    if isinstance(key, str) and (refusal := spellings.label_key(key)) is not None:
        yield invalid_value(origin, (*path, "key"), refusal[0], key, refusal[1])
    for index, text in enumerate(values):
        where = (*path, "values", index)
        if operator in ("Gt", "Lt") and re.fullmatch(r"[-+]?[0-9]+", str(text)) is None:
            yield invalid_value(origin, where, f"must be a whole number with operator {operator}", text, "Write one.")
        elif isinstance(text, str) and (refusal := spellings.label_value(text)) is not None:
            yield invalid_value(origin, where, refusal[0], text, refusal[1])


def variable_source(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """Where the value of a variable comes from."""
    yield from _field(origin, (*path, "fieldRef"), value.get("fieldRef"), _IN_VARIABLES)
    yield from _amount(origin, (*path, "resourceFieldRef"), value.get("resourceFieldRef"))


def file_source(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """Where the text of a file comes from that is about its pod."""
    yield from _field(origin, (*path, "fieldRef"), value.get("fieldRef"), _IN_FILES)
    where, amount = (*path, "resourceFieldRef"), value.get("resourceFieldRef")
    yield from _amount(origin, where, amount)
    if isinstance(amount, dict) and not amount.get("containerName"):
        yield missing_field(origin, where, "containerName", {}, ("containerName", "divisor", "resource"))


def _field(origin: Origin, path: KeyPath, reference: object, known: tuple[str, ...]) -> Found:
    text = reference.get("fieldPath") if isinstance(reference, dict) else None
    if not isinstance(text, str) or text in known:
        return
    where = (*path, "fieldPath")
    if (one := _ONE_KEY.fullmatch(text)) is not None:
        if (refusal := spellings.label_key(one[2])) is not None:
            yield invalid_value(origin, where, f"has a key that {refusal[0]}", text, refusal[1])
        return
    is_whole = text in ("metadata.labels", "metadata.annotations")
    hint = f"Write one of them, such as {text}['app']." if is_whole else did_you_mean(text, known, folds=True)
    listed = f"must be one of {', '.join(known)}, metadata.labels['KEY'] or metadata.annotations['KEY']"
    yield invalid_value(origin, where, listed, text, hint)


def _amount(origin: Origin, path: KeyPath, reference: object) -> Found:
    name = reference.get("resource") if isinstance(reference, dict) else None
    if not isinstance(reference, dict) or not isinstance(name, str):
        return
    if name not in _AMOUNTS and not name.startswith(("limits.hugepages-", "requests.hugepages-")):
        hint = did_you_mean(name, _AMOUNTS, "Others are not told to a container.", folds=True)
        yield invalid_value(origin, (*path, "resource"), f"must be one of {', '.join(_AMOUNTS)}", name, hint)
    divisor = quantities.parse(reference.get("divisor"))
    is_cpu = name.endswith(".cpu")
    units = [quantities.SUFFIXES[unit] for unit in (("m", "") if is_cpu else quantities.SUFFIXES) if unit not in "nu"]
    if divisor and divisor not in (units if is_cpu else [unit for unit in units if unit >= 1]):
        rule = "must be 1m or 1" if is_cpu else "must be 1 with a unit, such as 1Mi"
        yield invalid_value(origin, (*path, "divisor"), rule, reference["divisor"], "The amount is divided by it.")
