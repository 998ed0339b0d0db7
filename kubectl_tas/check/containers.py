"""Checks which fields of a pod and its containers need or exclude each other. Follows ``ValidatePodSpec`` in
pkg/apis/core/validation of Kubernetes 1.35, and plugin/pkg/admission/runtimeclass for the overhead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kubectl_tas import quantities, spellings
from kubectl_tas.check.companion_names import REFERENCE_UNKNOWN
from kubectl_tas.check.conflicts import NOT_EMPTY, Fields, Found, named
from kubectl_tas.diagnostics import Diagnostic, Severity
from kubectl_tas.kinds.section import listed, mappings, value_at
from kubectl_tas.late import late_pattern
from kubectl_tas.words import MAX_SLIPS, closest, did_you_mean, question

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
_AMOUNTS = tuple(f"{of}.{name}" for of in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage"))


def pod(of: Fields, in_pod: Iterable[Fields]) -> Found:
    """Checks a pod, and fields of its containers that depend on the pod."""
    for item in in_pod:
        resources = item.get("resources")
        if not _SPECIAL.isdisjoint(item.value) or (isinstance(resources, dict) and "claims" in resources):
            yield from _in_pod(item, of)
    if not _SPECIAL.isdisjoint(of.value):
        yield from _by_itself(of)


def _by_itself(of: Fields) -> Found:
    for first, second in (("hostPID", "shareProcessNamespace"), ("setHostnameAsFQDN", "hostnameOverride")):
        if of.get(first) and of.get(second):
            yield of.wrong(f"has both {first} and {second}", "Keep one of them.", second)
    if of.get("hostUsers") is False:
        for name in (name for name in _SHARED if of.get(name)):
            hint = f"Remove {name}, or hostUsers: false."
            yield of.wrong(f"has {name}, which needs the users of the node", hint, name)
    if of.get("overhead") and not of.get("runtimeClassName"):
        what = "has overhead without a runtimeClassName: the API server refuses its pods"
        yield of.wrong(what, "Remove it: a RuntimeClass sets the overhead of its pods.", "overhead")
    if of.get("ephemeralContainers"):
        what = "has ephemeralContainers, which only running pods can have"
        yield of.wrong(what, "Remove them; kubectl debug adds them.", "ephemeralContainers")
    servers = of.below("dnsConfig").get("nameservers")
    if of.get("dnsPolicy") == "None" and not servers:
        hint = "Write dnsConfig.nameservers, or dnsPolicy: ClusterFirst."
        yield of.wrong("has dnsPolicy None and no nameservers", hint, "dnsPolicy")
    if isinstance(servers, list) and len(servers) > _MOST_SERVERS:
        what = f"has {len(servers)} addresses; a pod takes {_MOST_SERVERS}"
        yield of.below("dnsConfig").refuse("nameservers", what, f"Keep {_MOST_SERVERS} of them.")
    for item in of.below("securityContext").each("sysctls"):
        name = str(item.get("name")).replace("/", ".")
        for field in (field for field, prefixes in _SYSCTLS.items() if of.get(field) and name.startswith(prefixes)):
            message = f"the sysctl {name} belongs to the node where a pod has {field}"
            yield item.conflict(message, f"Remove it, or {field}.")
    spread: set[tuple[str, str]] = set()
    for item in of.each("topologySpreadConstraints"):
        pair = str(item.get("topologyKey")), str(item.get("whenUnsatisfiable"))
        if pair in spread:
            message = f"{of.at('topologySpreadConstraints')} has {pair[1]} for {pair[0]} twice"
            yield item.conflict(message, "Keep one of the two.")
        spread.add(pair)
    system = str(of.below("os").get("name"))
    if system in _NOT_ON:
        yield from _on_system(of, system)


def _in_pod(of: Fields, pod: Fields) -> Found:
    if of.path[-2] == "initContainers" and of.get("restartPolicy") != "Always":
        for name in (name for name in _RUNNING if of.get(name) is not None):
            what = f"has {name}, which only init containers with restartPolicy Always have"
            yield of.wrong(what, "Remove it, or write restartPolicy: Always for a sidecar.", name)
    claims = named(mappings(pod.get("resourceClaims")))
    for claim in of.below("resources").each("claims"):
        wanted = claim.get("name")
        if isinstance(wanted, str) and wanted not in claims:
            known = f"Its claims are {', '.join(claims)}." if claims else "Add it to resourceClaims."
            hint = did_you_mean(wanted, claims, known)
            yield claim.conflict(f'the pod has no resource claim "{wanted}"', hint, "name")
    for port in of.each("ports") if pod.get("hostNetwork") else ():
        own, host = port.get("containerPort"), port.get("hostPort")
        if host and host != own:
            what = f"is {host}, but a pod with hostNetwork has its containerPort, {own}, on the node"
            yield port.refuse("hostPort", what, f"Write {own}, or remove it.")
    if of.below("securityContext").get("procMount") == "Unmasked" and pod.get("hostUsers") is not False:
        what, hint = "has procMount Unmasked, which needs a pod with hostUsers: false", "write hostUsers: false."
        yield of.wrong(what, f"Remove it, or {hint}", "securityContext", "procMount")
    cycle = of.below("lifecycle")
    if cycle.get("stopSignal") and not pod.get("os"):
        what, hint = "has a stopSignal, which needs a pod with os", "Write os: {name: linux} in the pod"
        yield cycle.wrong(what, f"{hint}, or remove it.", "stopSignal")
    grace = pod.get("terminationGracePeriodSeconds")
    grace = _GRACE if grace is None else grace
    for sleep in (cycle.below(field, "sleep") for field in ("preStop", "postStart")):
        seconds = sleep.get("seconds")
        if type(seconds) is int and type(grace) is int and seconds > grace:
            hint = f"Write {grace} or less, or raise terminationGracePeriodSeconds."
            yield sleep.refuse("seconds", f"is {seconds}, more than terminationGracePeriodSeconds, {grace}", hint)


def _on_system(of: Fields, system: str) -> Found:
    of_pod, of_context = _NOT_ON[system]
    contexts = (item.below("securityContext") for item in (of, *of.each("initContainers", "containers")))
    places: list[tuple[Fields, Iterable[str]]] = [(of, of_pod), *((item, of_context) for item in contexts)]
    for item, fields in places:
        for name in (name for name in fields if item.get(name) is not None):
            yield item.refuse(name, f"is not for pods with os: {{name: {system}}}", "Remove it, or correct the os.")


def probe(of: Fields) -> Found:
    """Checks a probe, by the name of its field."""
    field = of.path[-1]
    if field in ("livenessProbe", "startupProbe") and of.get("successThreshold") not in (None, 0, 1):
        yield of.refuse("successThreshold", f"must be 1 in a {field}", "Write 1, or remove it.")
    if field == "readinessProbe" and of.get("terminationGracePeriodSeconds") is not None:
        yield of.refuse("terminationGracePeriodSeconds", "is for probes that end a container", "Remove it.")


def security(of: Fields) -> Found:
    """Checks the security context of a container."""
    if of.get("allowPrivilegeEscalation") is not False:
        return
    is_admin = "CAP_SYS_ADMIN" in listed(of.below("capabilities").get("add"))
    for name, is_there in (("privileged", of.get("privileged")), ("CAP_SYS_ADMIN", is_admin)):
        if is_there:
            what = f"has allowPrivilegeEscalation: false and {name}"
            yield of.wrong(what, "Remove one of the two.", "allowPrivilegeEscalation")


def security_of_pod(of: Fields) -> Found:
    """Checks that a pod sets each sysctl once."""
    names: set[str] = set()
    for item in of.each("sysctls"):
        name = str(item.get("name"))
        if name in names:
            yield item.conflict(f"the sysctl {name} appears twice", "Remove one of the two.", "name")
        names.add(name)


def profile(of: Fields) -> Found:
    """Checks a profile of seccomp or AppArmor."""
    is_local, has_name = of.get("type") == "Localhost", bool(of.get("localhostProfile"))
    if is_local and not has_name:
        hint = "Write localhostProfile, or type: RuntimeDefault."
        yield of.wrong("has type Localhost and no localhostProfile", hint)
    elif has_name and not is_local:
        what = "has localhostProfile, which only type Localhost takes"
        yield of.wrong(what, "Remove it, or write type: Localhost.", "localhostProfile")


def mount(of: Fields) -> Found:
    """Checks a volume mount."""
    if of.has("subPath") and of.has("subPathExpr"):
        yield of.wrong("has both subPath and subPathExpr", "Keep one of them.", "subPathExpr")
    is_recursive = of.get("recursiveReadOnly") not in (None, "Disabled")
    if is_recursive and not of.get("readOnly"):
        yield of.wrong("has recursiveReadOnly without readOnly", "Write readOnly: true.", "recursiveReadOnly")
    elif is_recursive and of.get("mountPropagation") not in (None, "None"):
        what = f"has recursiveReadOnly and mountPropagation {of.get('mountPropagation')}"
        yield of.wrong(what, "Remove one of the two.", "recursiveReadOnly")
    privileged = (*of.path[:-2], "securityContext", "privileged")
    if of.get("mountPropagation") == "Bidirectional" and of.origin.value(privileged) is not True:
        hint = "Write HostToContainer, or securityContext.privileged: true."
        yield of.refuse("mountPropagation", "is Bidirectional, which only a privileged container may have", hint)


def command(of: Fields) -> Found:
    """Checks the command of an exec action."""
    if of.get("command") is None:
        yield of.missing("command")
    elif of.get("command") == []:
        yield of.invalid(NOT_EMPTY, [], "Write the program and its arguments.", "command")


def labels(of: Fields) -> Found:
    """Checks the keys and values of labels."""
    for key, value in of.value.items():
        if (refusal := spellings.label_key(str(key))) is not None:
            yield of.invalid(refusal[0], key, refusal[1], key)
        if isinstance(value, str) and (refusal := spellings.label_value(value)) is not None:
            yield of.invalid(refusal[0], value, refusal[1], key)


def over_nodes(of: Fields) -> Found:
    """Checks a topology spread constraint or a pod affinity term."""
    if of.get("minDomains") is not None and of.get("whenUnsatisfiable") == "ScheduleAnyway":
        what = "has minDomains, which needs whenUnsatisfiable: DoNotSchedule"
        yield of.wrong(what, "Remove it, or write DoNotSchedule.", "minDomains")
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        if of.has(name) and of.get("labelSelector") is None:
            yield of.wrong(f"has {name} without a labelSelector", "Write labelSelector too.", name)


def node_name(of: Fields) -> Found:
    """Checks a condition on the name of a node."""
    key, operator, values = of.get("key"), of.get("operator"), of.get("values") or []
    if key not in (None, "metadata.name"):
        yield of.invalid("must be metadata.name", key, "Labels go to matchExpressions.", "key")
    elif isinstance(values, list) and (operator in ("Exists", "DoesNotExist", "Gt", "Lt") or len(values) != 1):
        hint = "Write one value; other names go to terms of their own."
        yield of.wrong("needs operator In or NotIn and one value", hint)


def node_condition(of: Fields) -> Found:
    """Checks a condition on a label of nodes."""
    key, operator = of.get("key"), of.get("operator")
    if isinstance(key, str) and (refusal := spellings.label_key(key)) is not None:
        yield of.invalid(refusal[0], key, refusal[1], "key")
    for index, text in enumerate(listed(of.get("values"))):
        if operator in ("Gt", "Lt") and re.fullmatch(r"[-+]?[0-9]+", str(text)) is None:
            yield of.invalid(f"must be a whole number with operator {operator}", text, "Write one.", "values", index)
        elif isinstance(text, str) and (refusal := spellings.label_value(text)) is not None:
            yield of.invalid(refusal[0], text, refusal[1], "values", index)


def variable_source(of: Fields) -> Found:
    """Checks the source of an environment variable."""
    yield from _field(of.below("fieldRef"), _IN_VARIABLES)
    yield from _amount(of.below("resourceFieldRef"))


def file_source(of: Fields) -> Found:
    """Checks the source of a file of the downward API."""
    yield from _field(of.below("fieldRef"), _IN_FILES)
    amount = of.below("resourceFieldRef")
    yield from _amount(amount)
    if isinstance(of.get("resourceFieldRef"), dict) and not amount.get("containerName"):
        yield amount.missing("containerName", ("containerName", "divisor", "resource"))


def _field(of: Fields, known: tuple[str, ...]) -> Found:
    text = of.get("fieldPath")
    if not isinstance(text, str) or text in known:
        return
    if (one := _ONE_KEY.fullmatch(text)) is not None:
        if (refusal := spellings.label_key(one[2])) is not None:
            yield of.invalid(f"has a key that {refusal[0]}", text, refusal[1], "fieldPath")
        elif one[2] not in _OF_CONTROLLERS and not _is_written(of, one[1], one[2]):
            yield from _misspelled(of, one[1].removesuffix("s"), one[2])
        return
    is_whole = text in ("metadata.labels", "metadata.annotations")
    hint = f"Write one of them, such as {text}['app']." if is_whole else did_you_mean(text, known, folds=True)
    rule = f"must be one of {', '.join(known)}, metadata.labels['KEY'] or metadata.annotations['KEY']"
    yield of.invalid(rule, text, hint, "fieldPath")


def _is_written(of: Fields, holder: str, key: str) -> bool:
    """Whether the pod template, or an object around it, has a label or an annotation."""
    above = (of.path[:end] for end in range(len(of.path)))
    return any(value_at(of.document, *path, "metadata", holder, key) is not None for path in above)


def _misspelled(of: Fields, noun: str, key: str) -> Found:
    """Finds a key that is nearly one of a controller. A pod without the key gets an empty text (pkg/fieldpath)."""
    meant = closest(key, _OF_CONTROLLERS, most=MAX_SLIPS)
    if meant is not None:
        message = f'no controller adds the {noun} "{key}" to the pod, so this is an empty text'
        location = of.origin.locate((*of.path, "fieldPath"))
        yield Diagnostic(REFERENCE_UNKNOWN, message, location, hint=question(key, meant), level=Severity.WARNING)


def _amount(of: Fields) -> Found:
    name = of.get("resource")
    if not isinstance(name, str):
        return
    if name not in _AMOUNTS and not name.startswith(("limits.hugepages-", "requests.hugepages-")):
        hint = did_you_mean(name, _AMOUNTS, "Others are not told to a container.", folds=True)
        yield of.invalid(f"must be one of {', '.join(_AMOUNTS)}", name, hint, "resource")
    divisor = quantities.parse(of.get("divisor"))
    is_cpu = name.endswith(".cpu")
    units = ("m", "") if is_cpu else (unit for unit in quantities.SUFFIXES if unit not in ("n", "u", "m"))
    if divisor and divisor not in {quantities.SUFFIXES[unit] for unit in units}:
        rule = "must be 1m or 1" if is_cpu else "must be 1, or 1 with a unit such as 1Mi"
        yield of.invalid(rule, of.get("divisor"), "The amount is divided by it.", "divisor")
