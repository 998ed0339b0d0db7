"""Checks which fields of a pod and its containers need or exclude each other. Follows ``ValidatePodSpec`` in
pkg/apis/core/validation of Kubernetes 1.35, and plugin/pkg/admission/runtimeclass for the overhead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kubectl_tas.base.diagnostics import Diagnostic, Severity
from kubectl_tas.base.late import late_pattern
from kubectl_tas.base.words import MAX_SLIPS, closest, did_you_mean, question
from kubectl_tas.check.companion_names import REFERENCE_UNKNOWN
from kubectl_tas.check.conflicts import NOT_EMPTY, Fields, Found, named, repetitions
from kubectl_tas.facts import quantities, spellings
from kubectl_tas.kinds.section import listed, mappings, value_at

_SHARED = ("hostNetwork", "hostPID", "hostIPC")
"""Namespaces of the node that a pod may share."""
_OF_LINUX = (
    *("allowPrivilegeEscalation", "appArmorProfile", "capabilities", "fsGroup", "fsGroupChangePolicy", "privileged"),
    *("procMount", "readOnlyRootFilesystem", "runAsGroup", "runAsUser", "seLinuxOptions", "seccompProfile"),
    *("supplementalGroups", "supplementalGroupsPolicy", "sysctls"),
)
"""Fields of a security context that only Linux has."""
_NOT_ON = {
    "windows": ((*_SHARED[1:], "hostUsers", "resources", "shareProcessNamespace"), _OF_LINUX),
    "linux": ((), ("windowsOptions",)),
}
"""Fields that pods and security contexts cannot have, by operating system."""
_RUNNING = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
"""Fields that only long-running containers may have."""
_SPECIAL = frozenset(
    (
        *(*_SHARED, "setHostnameAsFQDN", "overhead", "ephemeralContainers"),
        *("dnsPolicy", "dnsConfig", "securityContext", "topologySpreadConstraints", "os"),
        *(*_RUNNING, "ports"),
    )
)
"""Fields that ``pod`` checks. A pod or container without any of these fields is skipped, to save time; a field that
matters only beside one of these is left out.
"""
_SYSCTLS = {"hostNetwork": ("net.",), "hostIPC": ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")}
"""Prefixes of sysctls that belong to the node if the pod sets the field."""
_GRACE = 30
"""Seconds: Kubernetes' default for terminationGracePeriodSeconds."""
_MOST_SERVERS = 3
_OF_POD = ("metadata.name", "metadata.namespace", "metadata.uid")
_IN_VARIABLES = (
    *_OF_POD,
    *("spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
_IN_FILES = (*_OF_POD, "metadata.annotations", "metadata.labels")
_ONE_KEY = late_pattern(r"metadata\.(labels|annotations)\['(.*)'\]", re.DOTALL)
_OF_CONTROLLERS = (
    *(f"batch.kubernetes.io/{name}" for name in ("job-completion-index", "job-name", "controller-uid")),
    *("apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name", "pod-template-hash"),
    *(f"training.kubeflow.org/{name}" for name in ("job-name", "job-role", "operator-name")),
    *(f"training.kubeflow.org/{name}" for name in ("replica-index", "replica-type")),
    *(f"leaderworkerset.sigs.k8s.io/{name}" for name in ("name", "size", "replicas", "leader-name", "worker-index")),
    *(f"leaderworkerset.sigs.k8s.io/group-{name}" for name in ("index", "key")),
    *(f"leaderworkerset.sigs.k8s.io/subgroup-{name}" for name in ("index", "key", "size", "policy-type")),
    *(f"jobset.sigs.k8s.io/{name}" for name in ("jobset-name", "jobset-uid", "global-replicas", "restart-attempt")),
    *(f"jobset.sigs.k8s.io/replicatedjob-{name}" for name in ("name", "replicas")),
    *(f"jobset.sigs.k8s.io/job-{name}" for name in ("index", "global-index", "group-index", "key")),
    *(f"jobset.sigs.k8s.io/group-{name}" for name in ("name", "replicas")),
    *(f"ray.io/{name}" for name in ("cluster", "group", "identifier", "node-type")),
)
"""Labels and annotations that controllers add to pods: k8s.io/api of Kubernetes 1.35, leaderworkerset_types.go
of LWS 0.10, jobset_types.go of JobSet 0.10, common_types.go of the training operator 1.9, KubeRay's constant.go.
"""
_AMOUNTS = tuple(f"{a}.{n}" for a in ("limits", "requests") for n in ("cpu", "memory", "ephemeral-storage"))


def pod(fields: Fields, in_pod: Iterable[Fields]) -> Found:
    """Checks a pod, and fields of its containers that depend on the pod."""
    for container in in_pod:
        resources = container.get("resources")
        if not _SPECIAL.isdisjoint(container.value) or (isinstance(resources, dict) and "claims" in resources):
            yield from _in_pod(container, fields)
    if not _SPECIAL.isdisjoint(fields.value):
        yield from _by_itself(fields)


def _by_itself(fields: Fields) -> Found:
    for present_field, excluded_field in (
        ("hostPID", "shareProcessNamespace"),
        ("setHostnameAsFQDN", "hostnameOverride"),
    ):
        if fields.get(present_field) and fields.get(excluded_field):
            yield fields.wrong(f"has both {present_field} and {excluded_field}", "Keep one of them.", excluded_field)
    if fields.get("hostUsers") is False:
        for name in (name for name in _SHARED if fields.get(name)):
            hint = f"Remove {name}, or hostUsers: false."
            yield fields.wrong(f"has {name}, which needs the users of the node", hint, name)
    if fields.get("overhead") and not fields.get("runtimeClassName"):
        problem = "has overhead without a runtimeClassName: the API server refuses its pods"
        yield fields.wrong(problem, "Remove it: a RuntimeClass sets the overhead of its pods.", "overhead")
    if fields.get("ephemeralContainers"):
        problem = "has ephemeralContainers, which only running pods can have"
        yield fields.wrong(problem, "Remove them; kubectl debug adds them.", "ephemeralContainers")
    servers = fields.below("dnsConfig").get("nameservers")
    if fields.get("dnsPolicy") == "None" and not servers:
        hint = "Write dnsConfig.nameservers, or dnsPolicy: ClusterFirst."
        yield fields.wrong("has dnsPolicy None and no nameservers", hint, "dnsPolicy")
    if isinstance(servers, list) and len(servers) > _MOST_SERVERS:
        problem = f"has {len(servers)} addresses; a pod takes {_MOST_SERVERS}"
        yield fields.below("dnsConfig").refuse("nameservers", problem, f"Keep {_MOST_SERVERS} of them.")
    for item in fields.below("securityContext").each("sysctls"):
        name = str(item.get("name")).replace("/", ".")
        for field in (field for field, prefixes in _SYSCTLS.items() if fields.get(field) and name.startswith(prefixes)):
            message = f"the sysctl {name} belongs to the node where a pod has {field}"
            yield item.conflict(message, f"Remove it, or {field}.")
    spread: set[tuple[str, str]] = set()
    for item in fields.each("topologySpreadConstraints"):
        pair = str(item.get("topologyKey")), str(item.get("whenUnsatisfiable"))
        if pair in spread:
            message = f"{fields.at('topologySpreadConstraints')} has {pair[1]} for {pair[0]} twice"
            yield item.conflict(message, "Keep one of the two.")
        spread.add(pair)
    system = str(fields.below("os").get("name"))
    if system in _NOT_ON:
        yield from _on_system(fields, system)


def _in_pod(fields: Fields, pod: Fields) -> Found:
    if fields.path[-2] == "initContainers" and fields.get("restartPolicy") != "Always":
        for name in (name for name in _RUNNING if fields.get(name) is not None):
            problem = f"has {name}, which only init containers with restartPolicy Always have"
            yield fields.wrong(problem, "Remove it, or write restartPolicy: Always for a sidecar.", name)
    claims = named(mappings(pod.get("resourceClaims")))
    for claim in fields.below("resources").each("claims"):
        claim_name = claim.get("name")
        if isinstance(claim_name, str) and claim_name not in claims:
            default_hint = f"Its claims are {', '.join(claims)}." if claims else "Add it to resourceClaims."
            hint = did_you_mean(claim_name, claims, default_hint)
            yield claim.conflict(f'the pod has no resource claim "{claim_name}"', hint, "name")
    for port in fields.each("ports") if pod.get("hostNetwork") else ():
        container_port, host_port = port.get("containerPort"), port.get("hostPort")
        if host_port and host_port != container_port:
            problem = f"is {host_port}, but a pod with hostNetwork has its containerPort, {container_port}, on the node"
            yield port.refuse("hostPort", problem, f"Write {container_port}, or remove it.")
    if fields.below("securityContext").get("procMount") == "Unmasked" and pod.get("hostUsers") is not False:
        problem, hint = "has procMount Unmasked, which needs a pod with hostUsers: false", "write hostUsers: false."
        yield fields.wrong(problem, f"Remove it, or {hint}", "securityContext", "procMount")
    cycle = fields.below("lifecycle")
    if cycle.get("stopSignal") and not pod.get("os"):
        problem, hint = "has a stopSignal, which needs a pod with os", "Write os: {name: linux} in the pod"
        yield cycle.wrong(problem, f"{hint}, or remove it.", "stopSignal")
    grace = pod.get("terminationGracePeriodSeconds")
    grace = _GRACE if grace is None else grace
    for sleep in (cycle.below(field, "sleep") for field in ("preStop", "postStart")):
        seconds = sleep.get("seconds")
        if type(seconds) is int and type(grace) is int and seconds > grace:
            hint = f"Write {grace} or less, or raise terminationGracePeriodSeconds."
            yield sleep.refuse("seconds", f"is {seconds}, more than terminationGracePeriodSeconds, {grace}", hint)


def _on_system(fields: Fields, system: str) -> Found:
    of_pod, of_context = _NOT_ON[system]
    contexts = (mapping.below("securityContext") for mapping in (fields, *fields.each("initContainers", "containers")))
    exclusions: list[tuple[Fields, Iterable[str]]] = [
        (fields, of_pod),
        *((mapping, of_context) for mapping in contexts),
    ]
    for mapping, excluded_fields in exclusions:
        for name in (name for name in excluded_fields if mapping.get(name) is not None):
            yield mapping.refuse(name, f"is not for pods with os: {{name: {system}}}", "Remove it, or correct the os.")


def probe(fields: Fields) -> Found:
    """Checks a probe, by the name of its field."""
    field = fields.path[-1]
    if field in ("livenessProbe", "startupProbe") and fields.get("successThreshold") not in (None, 0, 1):
        yield fields.refuse("successThreshold", f"must be 1 in a {field}", "Write 1, or remove it.")
    if field == "readinessProbe" and fields.get("terminationGracePeriodSeconds") is not None:
        yield fields.refuse("terminationGracePeriodSeconds", "is for probes that end a container", "Remove it.")


def security(fields: Fields) -> Found:
    """Checks the security context of a container."""
    if fields.get("allowPrivilegeEscalation") is not False:
        return
    is_admin = "CAP_SYS_ADMIN" in listed(fields.below("capabilities").get("add"))
    for name, is_there in (("privileged", fields.get("privileged")), ("CAP_SYS_ADMIN", is_admin)):
        if is_there:
            problem = f"has allowPrivilegeEscalation: false and {name}"
            yield fields.wrong(problem, "Remove one of the two.", "allowPrivilegeEscalation")


def security_of_pod(fields: Fields) -> Found:
    """Checks that a pod sets each sysctl once."""
    for name, _, sysctl in repetitions((str(sysctl.get("name")), sysctl) for sysctl in fields.each("sysctls")):
        yield sysctl.conflict(f"the sysctl {name} appears twice", "Remove one of the two.", "name")


def profile(fields: Fields) -> Found:
    """Checks a profile of seccomp or AppArmor."""
    is_local, has_name = fields.get("type") == "Localhost", bool(fields.get("localhostProfile"))
    if is_local and not has_name:
        hint = "Write localhostProfile, or type: RuntimeDefault."
        yield fields.wrong("has type Localhost and no localhostProfile", hint)
    elif has_name and not is_local:
        problem = "has localhostProfile, which only type Localhost takes"
        yield fields.wrong(problem, "Remove it, or write type: Localhost.", "localhostProfile")


def mount(fields: Fields) -> Found:
    """Checks a volume mount."""
    if fields.has("subPath") and fields.has("subPathExpr"):
        yield fields.wrong("has both subPath and subPathExpr", "Keep one of them.", "subPathExpr")
    is_recursive = fields.get("recursiveReadOnly") not in (None, "Disabled")
    if is_recursive and not fields.get("readOnly"):
        yield fields.wrong("has recursiveReadOnly without readOnly", "Write readOnly: true.", "recursiveReadOnly")
    elif is_recursive and fields.get("mountPropagation") not in (None, "None"):
        problem = f"has recursiveReadOnly and mountPropagation {fields.get('mountPropagation')}"
        yield fields.wrong(problem, "Remove one of the two.", "recursiveReadOnly")
    privileged = (*fields.path[:-2], "securityContext", "privileged")
    if fields.get("mountPropagation") == "Bidirectional" and fields.origin.value(privileged) is not True:
        hint = "Write HostToContainer, or securityContext.privileged: true."
        yield fields.refuse("mountPropagation", "is Bidirectional, which only a privileged container may have", hint)


def command(fields: Fields) -> Found:
    """Checks the command of an exec action."""
    if fields.get("command") is None:
        yield fields.missing("command")
    elif fields.get("command") == []:
        yield fields.invalid(NOT_EMPTY, [], "Write the program and its arguments.", "command")


def labels(fields: Fields) -> Found:
    """Checks the keys and values of labels."""
    for key, value in fields.value.items():
        if (refusal := spellings.label_key(str(key))) is not None:
            yield fields.invalid(refusal[0], key, refusal[1], key)
        if isinstance(value, str) and (refusal := spellings.label_value(value)) is not None:
            yield fields.invalid(refusal[0], value, refusal[1], key)


def over_nodes(fields: Fields) -> Found:
    """Checks a topology spread constraint or a pod affinity term."""
    if fields.get("minDomains") is not None and fields.get("whenUnsatisfiable") == "ScheduleAnyway":
        problem = "has minDomains, which needs whenUnsatisfiable: DoNotSchedule"
        yield fields.wrong(problem, "Remove it, or write DoNotSchedule.", "minDomains")
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        if fields.has(name) and fields.get("labelSelector") is None:
            yield fields.wrong(f"has {name} without a labelSelector", "Write labelSelector too.", name)


def node_name(fields: Fields) -> Found:
    """Checks a condition on the name of a node."""
    key, operator, values = fields.get("key"), fields.get("operator"), fields.get("values") or []
    if key not in (None, "metadata.name"):
        yield fields.invalid("must be metadata.name", key, "Labels go to matchExpressions.", "key")
    elif isinstance(values, list) and (operator in ("Exists", "DoesNotExist", "Gt", "Lt") or len(values) != 1):
        hint = "Write one value; other names go to terms of their own."
        yield fields.wrong("needs operator In or NotIn and one value", hint)


def node_condition(fields: Fields) -> Found:
    """Checks a condition on a label of nodes."""
    key, operator = fields.get("key"), fields.get("operator")
    if isinstance(key, str) and (refusal := spellings.label_key(key)) is not None:
        yield fields.invalid(refusal[0], key, refusal[1], "key")
    for index, text in enumerate(listed(fields.get("values"))):
        if operator in ("Gt", "Lt") and re.fullmatch(r"[-+]?[0-9]+", str(text)) is None:
            yield fields.invalid(
                f"must be a whole number with operator {operator}", text, "Write one.", "values", index
            )
        elif isinstance(text, str) and (refusal := spellings.label_value(text)) is not None:
            yield fields.invalid(refusal[0], text, refusal[1], "values", index)


def variable_source(fields: Fields) -> Found:
    """Checks the source of an environment variable."""
    yield from _field(fields.below("fieldRef"), _IN_VARIABLES)
    yield from _amount(fields.below("resourceFieldRef"))


def file_source(fields: Fields) -> Found:
    """Checks the source of a file of the downward API."""
    yield from _field(fields.below("fieldRef"), _IN_FILES)
    amount = fields.below("resourceFieldRef")
    yield from _amount(amount)
    if isinstance(fields.get("resourceFieldRef"), dict) and not amount.get("containerName"):
        yield amount.missing("containerName", ("containerName", "divisor", "resource"))


def _field(fields: Fields, field_paths: tuple[str, ...]) -> Found:
    text = fields.get("fieldPath")
    if not isinstance(text, str) or text in field_paths:
        return
    if (label_path := _ONE_KEY.fullmatch(text)) is not None:
        if (refusal := spellings.label_key(label_path[2])) is not None:
            yield fields.invalid(f"has a key that {refusal[0]}", text, refusal[1], "fieldPath")
        elif label_path[2] not in _OF_CONTROLLERS and not _is_written(fields, label_path[1], label_path[2]):
            yield from _misspelled(fields, label_path[1].removesuffix("s"), label_path[2])
        return
    is_whole = text in ("metadata.labels", "metadata.annotations")
    hint = f"Write one of them, such as {text}['app']." if is_whole else did_you_mean(text, field_paths, folds=True)
    rule = f"must be one of {', '.join(field_paths)}, metadata.labels['KEY'] or metadata.annotations['KEY']"
    yield fields.invalid(rule, text, hint, "fieldPath")


def _is_written(fields: Fields, holder: str, key: str) -> bool:
    """Whether the pod template, or an object around it, has a label or an annotation."""
    above = (fields.path[:end] for end in range(len(fields.path)))
    return any(value_at(fields.document, *path, "metadata", holder, key) is not None for path in above)


def _misspelled(fields: Fields, noun: str, key: str) -> Found:
    """Finds a key that is nearly one of a controller. A pod without the key gets an empty text (pkg/fieldpath)."""
    intended_key = closest(key, _OF_CONTROLLERS, most=MAX_SLIPS)
    if intended_key is not None:
        message = f'no controller adds the {noun} "{key}" to the pod, so this is an empty text'
        location = fields.origin.locate((*fields.path, "fieldPath"))
        yield Diagnostic(REFERENCE_UNKNOWN, message, location, hint=question(key, intended_key), level=Severity.WARNING)


def _amount(fields: Fields) -> Found:
    name = fields.get("resource")
    if not isinstance(name, str):
        return
    if name not in _AMOUNTS and not name.startswith(("limits.hugepages-", "requests.hugepages-")):
        hint = did_you_mean(name, _AMOUNTS, "Others are not told to a container.", folds=True)
        yield fields.invalid(f"must be one of {', '.join(_AMOUNTS)}", name, hint, "resource")
    divisor = quantities.parse(fields.get("divisor"))
    is_cpu = name.endswith(".cpu")
    units = ("m", "") if is_cpu else (unit for unit in quantities.SUFFIXES if unit not in ("n", "u", "m"))
    if divisor and divisor not in {quantities.SUFFIXES[unit] for unit in units}:
        rule = "must be 1m or 1" if is_cpu else "must be 1, or 1 with a unit such as 1Mi"
        yield fields.invalid(rule, fields.get("divisor"), "The amount is divided by it.", "divisor")
