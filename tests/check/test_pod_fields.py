"""Fields of pods and their containers that need one another: what is said of them, and where nothing is.

A row is what a pod or its container says, with ``^`` before the place of the finding; the rule; the message, in which
POD stands for the path of the pod; and the help. What an API server takes has no finding.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import pool, write
from tests.support.judged import told_of
from tests.support.marked import Found, findings, marked

PATH = "workflows/w.yaml"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: j, labels: {kubectl-tas/pool: team}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: a:1
"""
OF_POD, OF_CONTAINER = " " * 6, " " * 8
CONFLICT, VALUE, MISSING, TYPE = "fields-conflict", "invalid-value", "missing-field", "wrong-type"
NO_TEXT, QUOTES = "must be text, not 5", 'Put it in quotes: "5".'
MAIN = "POD.containers[0]"
SPREAD = "{maxSkew: 1, topologyKey: example.com/row, whenUnsatisfiable: "
TERMS = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: ["
FIELDS, LABELS = f"{TERMS}{{matchFields: [", f"{TERMS}{{matchExpressions: ["
TERM = "POD.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
NEAR = "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ["
NEAREST = "POD.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
TOLD = "volumes: [{name: told, downwardAPI: {items: [{path: a, "
ITEM = "POD.volumes[0].downwardAPI.items[0]"
MOUNT = "volumeMounts: [{name: d, mountPath: /d, "
DATA = f"\n{OF_POD}volumes: [{{name: d, emptyDir: {{}}}}]"
VARIABLE = "env: [{name: A, valueFrom: {resourceFieldRef: {"
SOURCE = f"{MAIN}.env[0].valueFrom.resourceFieldRef"
PODS: tuple[tuple[str, str, str, str], ...] = (
    (
        f"topologySpreadConstraints: [{SPREAD}DoNotSchedule}}, ^{SPREAD}DoNotSchedule}}]",
        CONFLICT,
        "POD.topologySpreadConstraints has DoNotSchedule for example.com/row twice",
        "Keep one of the two.",
    ),
    (
        f"topologySpreadConstraints: [{SPREAD}DoNotSchedule, ^matchLabelKeys: [pod-template-hash]}}]",
        CONFLICT,
        "POD.topologySpreadConstraints[0] has matchLabelKeys without a labelSelector",
        "Write labelSelector too.",
    ),
    (
        f"{NEAR}{{topologyKey: example.com/row, ^mismatchLabelKeys: [app]}}]}}}}",
        CONFLICT,
        f"{NEAREST} has mismatchLabelKeys without a labelSelector",
        "Write labelSelector too.",
    ),
    (
        "activeDeadlineSeconds: ^2147483648",
        VALUE,
        "POD.activeDeadlineSeconds must be at most 2147483647, not 2147483648",
        "Use 2147483647 or less.",
    ),
    (f"{NEAR}{{topologyKey: ^5}}]}}}}", TYPE, f"{NEAREST}.topologyKey {NO_TEXT}", QUOTES),
    (
        f"{TERMS}^{{}}]}}}}}}",
        CONFLICT,
        f"{TERM} has no condition, and so selects no node",
        "Write matchExpressions, or remove the term.",
    ),
    (f"{TERMS}^a]}}}}}}", TYPE, f'{TERM} must be a mapping, not "a"', "Write a mapping: 'key: value' lines."),
    (
        f"{TERMS}{{^matchExpression: [{{key: a, operator: Exists}}]}}]}}}}}}",
        "unknown-field",
        f'unknown field "matchExpression" in {TERM}',
        'Did you mean "matchExpressions"?',
    ),
    (
        f"{FIELDS}{{key: ^example.com/row, operator: In, values: [a]}}]}}]}}}}}}",
        VALUE,
        f'{TERM}.matchFields[0].key must be metadata.name, not "example.com/row"',
        "Labels go to matchExpressions.",
    ),
    (
        f"{FIELDS}^{{operator: In, values: [a]}}]}}]}}}}}}",
        MISSING,
        f'the field "key" is missing in {TERM}.matchFields[0]',
        "Add key.",
    ),
    *(
        (
            f"{FIELDS}^{{key: metadata.name, {said}}}]}}]}}}}}}",
            CONFLICT,
            f"{TERM}.matchFields[0] needs operator In or NotIn and one value",
            "Write one value; other names go to terms of their own.",
        )
        for said in (
            "operator: Exists, values: [a]",
            "operator: DoesNotExist, values: [a]",
            "operator: In",
            "operator: In, values: [a, b]",
            "operator: Gt, values: ['5']",
            "operator: Lt, values: ['5']",
        )
    ),
    (
        f"{FIELDS}{{key: metadata.name, operator: ^in, values: [a]}}]}}]}}}}}}",
        VALUE,
        f'{TERM}.matchFields[0].operator must be one of In, NotIn, Exists, DoesNotExist, Gt, Lt, not "in"',
        'Did you mean "In"?',
    ),
    (
        f"{FIELDS}{{key: metadata.name, operator: In, values: ^ab}}]}}]}}}}}}",
        TYPE,
        f'{TERM}.matchFields[0].values must be a list, not "ab"',
        "Write a list: a '-' before each item.",
    ),
    (
        f"{LABELS}{{key: a, operator: Exists, ^values: [b]}}]}}]}}}}}}",
        CONFLICT,
        f"{TERM}.matchExpressions[0] has operator Exists, which takes no values",
        "Remove values, or write operator: In.",
    ),
    (
        f"{LABELS}^{{key: a, operator: Gt, values: ['1', '2']}}]}}]}}}}}}",
        CONFLICT,
        f"{TERM}.matchExpressions[0] has operator Gt, which takes one value",
        "Write one.",
    ),
    (
        f"{LABELS}{{key: a, operator: Lt, values: [^few]}}]}}]}}}}}}",
        VALUE,
        f'{TERM}.matchExpressions[0].values[0] must be a whole number with operator Lt, not "few"',
        "Write one.",
    ),
    (f"{LABELS}{{key: ^5, operator: Exists}}]}}]}}}}}}", TYPE, f"{TERM}.matchExpressions[0].key {NO_TEXT}", QUOTES),
    (
        f"{LABELS}{{key: a, operator: In, values: [^5]}}]}}]}}}}}}",
        TYPE,
        f"{TERM}.matchExpressions[0].values[0] {NO_TEXT}",
        QUOTES,
    ),
    (
        "volumes: [^{name: d}]",
        CONFLICT,
        "POD.volumes[0] has no type of volume",
        "Write emptyDir: {}, or another type such as persistentVolumeClaim.",
    ),
    (
        f"{TOLD}fieldRef: {{fieldPath: ^\"metadata.labels['a b']\"}}}}]}}}}]",
        VALUE,
        f"{ITEM}.fieldRef.fieldPath has a key that must be the key of a label: letters, digits, '-', '_' and '.', "
        "perhaps behind a domain and '/', not \"metadata.labels['a b']\"",
        "Write one such as example.com/zone.",
    ),
    *(
        (
            f"{TOLD}resourceFieldRef: {{containerName: main, resource: limits.memory, divisor: ^{divisor}}}}}]}}}}]",
            VALUE,
            f"{ITEM}.resourceFieldRef.divisor must be 1, or 1 with a unit such as 1Mi, not {shown}",
            "The amount is divided by it.",
        )
        for divisor, shown in (("3", "3"), ("1m", '"1m"'))
    ),
    *(
        (
            f"hostUsers: false\n{OF_POD}^{name}: true",
            CONFLICT,
            f"POD has {name}, which needs the users of the node",
            f"Remove {name}, or hostUsers: false.",
        )
        for name in ("hostNetwork", "hostPID", "hostIPC")
    ),
    *(
        (
            f"{field}: true\n{OF_POD}securityContext: {{sysctls: [^{{name: {name}, value: '1'}}]}}",
            CONFLICT,
            f"the sysctl {name.replace('/', '.')} belongs to the node where a pod has {field}",
            f"Remove it, or {field}.",
        )
        for field, name in (
            ("hostNetwork", "net.core.somaxconn"),
            ("hostNetwork", "net/core/somaxconn"),
            ("hostIPC", "kernel.shmmax"),
            ("hostIPC", "kernel.msgmax"),
            ("hostIPC", "kernel.sem"),
            ("hostIPC", "fs.mqueue.msg_max"),
        )
    ),
    (
        f"setHostnameAsFQDN: true\n{OF_POD}^hostnameOverride: a",
        CONFLICT,
        "POD has both setHostnameAsFQDN and hostnameOverride",
        "Keep one of them.",
    ),
    *(
        (
            f"initContainers: [{{name: first, image: a, ^{name}: {said}}}]",
            CONFLICT,
            f"POD.initContainers[0] has {name}, which only init containers with restartPolicy Always have",
            "Remove it, or write restartPolicy: Always for a sidecar.",
        )
        for name, said in (
            ("lifecycle", "{preStop: {sleep: {seconds: 1}}}"),
            *((f"{name}Probe", "{grpc: {port: 1}}") for name in ("liveness", "readiness", "startup")),
        )
    ),
)
CONTAINERS: tuple[tuple[str, str, str, str], ...] = (
    (
        "securityContext: {^procMount: Unmasked}",
        CONFLICT,
        f"{MAIN} has procMount Unmasked, which needs a pod with hostUsers: false",
        "Remove it, or write hostUsers: false.",
    ),
    (
        "securityContext: {^seccompProfile: {localhostProfile: a.json}}",
        MISSING,
        f'the field "type" is missing in {MAIN}.securityContext.seccompProfile',
        "Add type.",
    ),
    (
        "lifecycle: {^stopSignal: SIGUSR1}",
        CONFLICT,
        f"{MAIN}.lifecycle has a stopSignal, which needs a pod with os",
        "Write os: {name: linux} in the pod, or remove it.",
    ),
    (
        f"{MOUNT}subPath: a, ^subPathExpr: $(POD)}}]{DATA}",
        CONFLICT,
        f"{MAIN}.volumeMounts[0] has both subPath and subPathExpr",
        "Keep one of them.",
    ),
    (
        f"{MOUNT}^recursiveReadOnly: Enabled}}]{DATA}",
        CONFLICT,
        f"{MAIN}.volumeMounts[0] has recursiveReadOnly without readOnly",
        "Write readOnly: true.",
    ),
    (
        f"{MOUNT}readOnly: true, ^recursiveReadOnly: IfPossible, mountPropagation: HostToContainer}}]{DATA}",
        CONFLICT,
        f"{MAIN}.volumeMounts[0] has recursiveReadOnly and mountPropagation HostToContainer",
        "Remove one of the two.",
    ),
    (
        f"{MOUNT}^mountPropagation: Bidirectional}}]{DATA}",
        CONFLICT,
        f"{MAIN}.volumeMounts[0].mountPropagation is Bidirectional, which only a privileged container may have",
        "Write HostToContainer, or securityContext.privileged: true.",
    ),
    (
        f"volumeMounts: [{{name: d, mountPath: /d}}]\n{OF_POD}volumes: [^{{emptyDir: {{}}}}]",
        MISSING,
        'the field "name" is missing in POD.volumes[0]',
        "Add name.",
    ),
    (
        "livenessProbe: {^exec: {}}",
        MISSING,
        f'the field "command" is missing in {MAIN}.livenessProbe.exec',
        "Add command.",
    ),
    (
        "livenessProbe: {exec: {^comand: [a]}}",
        "unknown-field",
        f'unknown field "comand" in {MAIN}.livenessProbe.exec',
        'Did you mean "command"?',
    ),
    (
        "resources: {requests: {hugepages-2Mi: ^2Mi}, limits: {hugepages-2Mi: 4Mi}}",
        "resource-amount",
        "the container requests 2Mi of hugepages-2Mi, but its limit is 4Mi, which must be the same",
        "Write 4Mi.",
    ),
    (
        "resources: {requests: {hugepages-2Mi: ^2Mi}}",
        "resource-amount",
        "the container requests 2Mi of hugepages-2Mi, without a limit",
        "Write hugepages-2Mi: 2Mi in limits; the request may be left out.",
    ),
    *(
        (
            f"resources: {{limits: {{^{name}: 2Mi}}}}",
            "resource-name",
            f'"{name}" is no resource: huge pages have a size behind their name, such as hugepages-2Mi',
            "Known: cpu, ephemeral-storage, memory and nvidia.com/gpu.",
        )
        for name in ("hugepages-", "hugepages-big", "hugepages-0", "hugepages-500m")
    ),
    *(
        (
            f"resources: {{limits: {{cpu: ^{amount}}}}}",
            "amount-doubtful",
            f"{MAIN}.resources.limits.cpu is {amount}; no node has so much",
            "Write the amount that the program needs.",
        )
        for amount in ("64000000m", "100000Ki", "9E", "5000000")  # as millicores, the last is still too much
    ),
    (
        "resources: {limits: {memory: ^0.5}}",
        "resource-amount",
        f"{MAIN}.resources.limits.memory is 0.5, which is 0.5 bytes",
        "Write whole bytes.",
    ),
    (
        "resources: {limits: {ephemeral-storage: ^1500m}}",
        "resource-amount",
        f"{MAIN}.resources.limits.ephemeral-storage is 1500m, which is 1.5 bytes",
        "Write 1500M or 1500Mi.",
    ),
    (
        "resources: {limits: {hugepages-2Mi: ^lots}}",
        VALUE,
        f'{MAIN}.resources.limits.hugepages-2Mi must be a quantity such as 500m or 64Gi, not "lots"',
        "Write a number and a unit without a blank between them, such as 64Gi.",
    ),
    (
        f"resources: {{claims: [^{{request: a}}]}}\n{OF_POD}resourceClaims: [{{name: a, resourceClaimName: a}}]",
        MISSING,
        f'the field "name" is missing in {MAIN}.resources.claims[0]',
        "Add name.",
    ),
    (
        f"resources: {{claims: [{{name: ^5}}]}}\n{OF_POD}resourceClaims: [{{name: a, resourceClaimName: a}}]",
        TYPE,
        f"{MAIN}.resources.claims[0].name {NO_TEXT}",
        QUOTES,
    ),
    (
        f"lifecycle: {{preStop: {{sleep: {{^seconds: 60}}}}}}\n{OF_POD}terminationGracePeriodSeconds:",
        CONFLICT,
        f"{MAIN}.lifecycle.preStop.sleep.seconds is 60, more than terminationGracePeriodSeconds, 30",
        "Write 30 or less, or raise terminationGracePeriodSeconds.",
    ),
    (
        f"lifecycle: {{preStop: {{sleep: {{seconds: 60}}}}}}\n{OF_POD}terminationGracePeriodSeconds: ^a minute",
        TYPE,
        'POD.terminationGracePeriodSeconds must be a whole number, not "a minute"',
        "",
    ),
    (f"{VARIABLE}resource: limits.cpu, containerName: ^5}}}}}}]", TYPE, f"{SOURCE}.containerName {NO_TEXT}", QUOTES),
    (
        f"{VARIABLE}resource: limits.cpu, containerName: ^sidecar}}}}}}]",
        VALUE,
        f'{SOURCE}.containerName must be the name of a container of the pod, not "sidecar"',
        "Name main.",
    ),
    *(
        (
            f"{name}: {{grpc: {{port: 1}}, ^successThreshold: 2}}",
            CONFLICT,
            f"{MAIN}.{name}.successThreshold must be 1 in a {name}",
            "Write 1, or remove it.",
        )
        for name in ("livenessProbe", "startupProbe")
    ),
    *(
        (
            f"securityContext: {{{said}, ^allowPrivilegeEscalation: false}}",
            CONFLICT,
            f"{MAIN}.securityContext has allowPrivilegeEscalation: false and {name}",
            "Remove one of the two.",
        )
        for said, name in (
            ("privileged: true", "privileged"),
            ("capabilities: {add: [CAP_SYS_ADMIN]}", "CAP_SYS_ADMIN"),
        )
    ),
    (
        "env: [{name: A, valueFrom: {fieldRef: {fieldPath: ^STATUS.PODIP}}}]",
        VALUE,
        f"{MAIN}.env[0].valueFrom.fieldRef.fieldPath must be one of metadata.name, metadata.namespace, metadata.uid, "
        "spec.nodeName, spec.serviceAccountName, status.hostIP, status.hostIPs, status.podIP, status.podIPs, "
        "metadata.labels['KEY'] or metadata.annotations['KEY'], not \"STATUS.PODIP\"",
        'Did you mean "status.podIP"?',
    ),
    (
        f"{VARIABLE}resource: ^LIMITS.CPU}}}}}}]",
        VALUE,
        f"{SOURCE}.resource must be one of limits.cpu, limits.memory, limits.ephemeral-storage, requests.cpu, "
        'requests.memory, requests.ephemeral-storage, not "LIMITS.CPU"',
        'Did you mean "limits.cpu"?',
    ),
    *(
        (
            f"{VARIABLE}resource: requests.cpu, divisor: ^{divisor}}}}}}}]",
            VALUE,
            f"{SOURCE}.divisor must be 1m or 1, not {divisor}",
            "The amount is divided by it.",
        )
        for divisor in (2, 1000)
    ),
)
TAKEN = {
    "servers as many as a pod takes": ("", "dnsConfig: {nameservers: [10.0.0.1, 10.0.0.2, 10.0.0.3]}"),
    "a probe that succeeds several times": ("readinessProbe: {grpc: {port: 1}, successThreshold: 2}", ""),
    "a probe that succeeds once": ("livenessProbe: {grpc: {port: 1}, successThreshold: 1}", ""),
    "a sidecar with a probe": (
        "",
        "initContainers: [{name: a, image: a, restartPolicy: Always, startupProbe: {grpc: {port: 1}}}]",
    ),
    "a network of the node with sysctls of its processes": (
        "",
        f"hostNetwork: true\n{OF_POD}securityContext: {{sysctls: [{{name: kernel.shmmax, value: '1'}}]}}",
    ),
    "an amount in whole CPUs": (f"{VARIABLE}resource: limits.cpu, divisor: 1}}}}}}]", ""),
    "an amount in bytes": (f"{VARIABLE}resource: limits.memory, divisor: 1}}}}}}]", ""),
    "an amount in kilobytes": (f"{VARIABLE}resource: limits.ephemeral-storage, divisor: 1k}}}}}}]", ""),
    "an overhead of its runtime class": ("", "runtimeClassName: kata\n      overhead: {cpu: 1}"),
    "servers of its own": ("", "dnsPolicy: None\n      dnsConfig: {nameservers: [10.0.0.1]}"),
    "two spreads over one key, of which one binds": (
        "",
        f"topologySpreadConstraints: [{SPREAD}DoNotSchedule}}, {SPREAD}ScheduleAnyway}}]",
    ),
    "keys of labels beside a selector": (
        "",
        f"topologySpreadConstraints: [{SPREAD}DoNotSchedule, labelSelector: {{}}, matchLabelKeys: [app]}}]",
    ),
    "a port of a pod on the network of its node": ("ports: [{containerPort: 80}]", "hostNetwork: true"),
    "all of /proc for users of the pod's own": ("securityContext: {procMount: Unmasked}", "hostUsers: false"),
    "a signal of an operating system": ("lifecycle: {stopSignal: SIGUSR1}", "os: {name: linux}"),
    "the profile of the runtime": ("securityContext: {seccompProfile: {type: RuntimeDefault}}", ""),
    "a part of a volume by a variable": (f"{MOUNT}subPathExpr: $(POD), mountPropagation: None}}]", DATA.strip()),
    "all of a volume for reading": (
        f"{MOUNT}readOnly: true, recursiveReadOnly: Enabled, mountPropagation: None}}]",
        DATA.strip(),
    ),
    "the top of a volume for reading": (f"{MOUNT}recursiveReadOnly: Disabled}}]", DATA.strip()),
    "mounts that go both ways": (
        f"securityContext: {{privileged: true}}\n        {MOUNT}mountPropagation: Bidirectional}}]",
        DATA.strip(),
    ),
    "one node": ("", f"{FIELDS}{{key: metadata.name, operator: In, values: [a]}}]}}]}}}}}}"),
    "all nodes but one": ("", f"{FIELDS}{{key: metadata.name, operator: NotIn, values: [a]}}]}}]}}}}}}"),
    "more than a number": ("", f"{LABELS}{{key: a, operator: Gt, values: ['5']}}]}}]}}}}}}"),
    "less than a number": ("", f"{LABELS}{{key: a, operator: Lt, values: ['5']}}]}}]}}}}}}"),
    "a label": ("", f"{TOLD}fieldRef: {{fieldPath: \"metadata.labels['app']\"}}}}]}}}}]"),
    "an amount in mebibytes": (
        "",
        f"{TOLD}resourceFieldRef: {{containerName: main, resource: limits.memory, divisor: 1Mi}}}}]}}}}]",
    ),
    "an amount in millicores": (f"{VARIABLE}resource: limits.cpu, divisor: 1m}}}}}}]", ""),
    "an amount in huge pages": (f"{VARIABLE}resource: limits.hugepages-2Mi}}}}}}]", ""),
    "an amount of any container": (f"{VARIABLE}resource: limits.cpu, containerName: ''}}}}}}]", ""),
    "a value beside no source": ("env: [{name: A, value: b, valueFrom: }]", ""),
    "as many huge pages as their limit": (
        "resources: {requests: {memory: 1Gi, hugepages-2Mi: 4Mi}, limits: {memory: 1Gi, hugepages-2Mi: 4Mi}}",
        "",
    ),
    "huge pages of the pod as a whole": ("", "resources: {limits: {memory: 1Gi, hugepages-2Mi: 4Mi}}"),
    "huge pages of the pod, whose limit is that of its container": (
        "resources: {limits: {memory: 1Gi, hugepages-2Mi: 4Mi}}",
        "resources: {requests: {hugepages-2Mi: 4Mi}}",
    ),
    "memory without a limit": ("resources: {requests: {memory: 1Gi}}", ""),
    "as long to sleep as to end": ("lifecycle: {preStop: {sleep: {seconds: 60}}}", "terminationGracePeriodSeconds: 60"),
}


WINDOWS = """
    spec.hostPID - spec.hostIPC - spec.hostUsers - spec.resources - spec.securityContext.appArmorProfile -
    spec.securityContext.seLinuxOptions - spec.securityContext.seccompProfile - spec.securityContext.fsGroup -
    spec.securityContext.fsGroupChangePolicy - spec.securityContext.sysctls - spec.shareProcessNamespace -
    spec.securityContext.runAsUser - spec.securityContext.runAsGroup - spec.securityContext.supplementalGroups -
    spec.securityContext.supplementalGroupsPolicy - spec.containers[*].securityContext.appArmorProfile -
    spec.containers[*].securityContext.seLinuxOptions - spec.containers[*].securityContext.seccompProfile -
    spec.containers[*].securityContext.capabilities - spec.containers[*].securityContext.readOnlyRootFilesystem -
    spec.containers[*].securityContext.privileged - spec.containers[*].securityContext.allowPrivilegeEscalation -
    spec.containers[*].securityContext.procMount - spec.containers[*].securityContext.runAsUser -
    spec.containers[*].securityContext.runAsGroup
"""
"""What pods with os windows cannot have, as the description of PodSpec.os in the API of Kubernetes 1.35 lists it."""
SOME = {
    **dict.fromkeys(("hostPID", "hostIPC", "readOnlyRootFilesystem", "privileged"), "true"),
    **dict.fromkeys(("hostUsers", "allowPrivilegeEscalation"), "false"),
    **dict.fromkeys(("fsGroup", "runAsUser", "runAsGroup"), "1"),
    "fsGroupChangePolicy": "Always",
    "supplementalGroups": "[1]",
    "supplementalGroupsPolicy": "Merge",
    "procMount": "Default",
    "sysctls": "[{name: net.core.somaxconn, value: '1'}]",
    **dict.fromkeys(("appArmorProfile", "seccompProfile"), "{type: RuntimeDefault}"),
    "resources": "{requests: {cpu: 1}}",
    "shareProcessNamespace": "true",
}


@pytest.mark.parametrize(
    "field", [*map(str.strip, WINDOWS.split(" -")), "spec.initContainers[0].securityContext.procMount"]
)
def test_fields_that_windows_does_not_have(field: str) -> None:
    *above, name = field.removeprefix("spec.").split(".")
    said = f"{name}: {SOME.get(name, '{}')}"
    said = f"securityContext: {{{said}}}" if "securityContext" in above else said
    match above[0] if above else "":
        case "containers[*]":
            text = job(said, "os: {name: windows}")
        case "initContainers[0]":
            text = job("", f"os: {{name: windows}}\n{OF_POD}initContainers: [{{name: first, image: a, {said}}}]")
        case _:
            text = job("", f"os: {{name: windows}}\n{OF_POD}{said}")
    place = f"spec.template.{field.replace('*', '0')}"
    (found,) = (line for line in told_of(text) if "privileged-task:" not in line)
    assert found.partition(" ")[2] == (
        f"{CONFLICT}: {place} is not for pods with os: {{name: windows}} (Remove it, or correct the os.)"
    )


def test_what_linux_does_not_have() -> None:
    options = "securityContext: {windowsOptions: {hostProcess: true}}"
    assert [line.partition(" ")[2] for line in told_of(job(options, f"os: {{name: linux}}\n{OF_POD}{options}"))] == [
        f"{CONFLICT}: spec.template.spec.{part}securityContext.windowsOptions is not for pods with os: "
        "{name: linux} (Remove it, or correct the os.)"
        for part in ("containers[0].", "")
    ]


def job(of_container: str, of_pod: str) -> str:
    """A Job whose container and whose pods have these fields."""
    parts = [f"{OF_CONTAINER}{of_container}\n" if of_container else "", f"{OF_POD}{of_pod}\n" if of_pod else ""]
    return JOB + "".join(parts)


def found(root: Path, text: str) -> list[Found]:
    """What is wrong with a file."""
    write(root, {"pools/p.yaml": pool(), PATH: text})
    return [
        (place, rule, message.replace("spec.template.spec", "POD"), hint)
        for place, rule, message, hint in findings(root)
        if rule != "privileged-task"
    ]


@pytest.mark.parametrize(("text", "rule", "message", "hint"), PODS, ids=[row[0] for row in PODS])
def test_finding_in_a_pod(repository: Path, text: str, rule: str, message: str, hint: str) -> None:
    said, place = marked(PATH, job("", text))
    assert found(repository, said) == [(place, rule, message, hint)]


@pytest.mark.parametrize(("text", "rule", "message", "hint"), CONTAINERS, ids=[row[0] for row in CONTAINERS])
def test_finding_in_a_container(repository: Path, text: str, rule: str, message: str, hint: str) -> None:
    said, place = marked(PATH, job(text, ""))
    assert found(repository, said) == [(place, rule, message, hint)]


@pytest.mark.parametrize(("of_container", "of_pod"), TAKEN.values(), ids=TAKEN)
def test_taken(repository: Path, of_container: str, of_pod: str) -> None:
    assert found(repository, job(of_container, of_pod)) == []
