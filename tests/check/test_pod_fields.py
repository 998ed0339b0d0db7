"""Fields of pods and their containers that need one another: what is said of them, and where nothing is.

A row is what a pod or its container says, with ``^`` before the place of the finding; what is said of it is in
``__snapshots__``, in which POD stands for the path of the pod. What an API server takes has no finding.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
CONFLICT = "fields-conflict"
SPREAD = "{maxSkew: 1, topologyKey: example.com/row, whenUnsatisfiable: "
TERMS = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: ["
FIELDS, LABELS = f"{TERMS}{{matchFields: [", f"{TERMS}{{matchExpressions: ["
NEAR = "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ["
TOLD = "volumes: [{name: told, downwardAPI: {items: [{path: a, "
MOUNT = "volumeMounts: [{name: d, mountPath: /d, "
DATA = f"\n{OF_POD}volumes: [{{name: d, emptyDir: {{}}}}]"
VARIABLE = "env: [{name: A, valueFrom: {resourceFieldRef: {"
PODS: tuple[str, ...] = (
    f"topologySpreadConstraints: [{SPREAD}DoNotSchedule}}, ^{SPREAD}DoNotSchedule}}]",
    f"topologySpreadConstraints: [{SPREAD}DoNotSchedule, ^matchLabelKeys: [pod-template-hash]}}]",
    f"{NEAR}{{topologyKey: example.com/row, ^mismatchLabelKeys: [app]}}]}}}}",
    "activeDeadlineSeconds: ^2147483648",
    f"{NEAR}{{topologyKey: ^5}}]}}}}",
    f"{TERMS}^{{}}]}}}}}}",
    f"{TERMS}^a]}}}}}}",
    f"{TERMS}{{^matchExpression: [{{key: a, operator: Exists}}]}}]}}}}}}",
    f"{FIELDS}{{key: ^example.com/row, operator: In, values: [a]}}]}}]}}}}}}",
    f"{FIELDS}^{{operator: In, values: [a]}}]}}]}}}}}}",
    *(
        f"{FIELDS}^{{key: metadata.name, {said}}}]}}]}}}}}}"
        for said in (
            "operator: Exists, values: [a]",
            "operator: DoesNotExist, values: [a]",
            "operator: In",
            "operator: In, values: [a, b]",
            "operator: Gt, values: ['5']",
            "operator: Lt, values: ['5']",
        )
    ),
    f"{FIELDS}{{key: metadata.name, operator: ^in, values: [a]}}]}}]}}}}}}",
    f"{FIELDS}{{key: metadata.name, operator: In, values: ^ab}}]}}]}}}}}}",
    f"{LABELS}{{key: a, operator: Exists, ^values: [b]}}]}}]}}}}}}",
    f"{LABELS}^{{key: a, operator: Gt, values: ['1', '2']}}]}}]}}}}}}",
    f"{LABELS}{{key: a, operator: Lt, values: [^few]}}]}}]}}}}}}",
    f"{LABELS}{{key: ^5, operator: Exists}}]}}]}}}}}}",
    f"{LABELS}{{key: a, operator: In, values: [^5]}}]}}]}}}}}}",
    "volumes: [^{name: d}]",
    f"{TOLD}fieldRef: {{fieldPath: ^\"metadata.labels['a b']\"}}}}]}}}}]",
    *(
        f"{TOLD}resourceFieldRef: {{containerName: main, resource: limits.memory, divisor: ^{divisor}}}}}]}}}}]"
        for divisor, shown in (("3", "3"), ("1m", '"1m"'))
    ),
    *(f"hostUsers: false\n{OF_POD}^{name}: true" for name in ("hostNetwork", "hostPID", "hostIPC")),
    *(
        f"{field}: true\n{OF_POD}securityContext: {{sysctls: [^{{name: {name}, value: '1'}}]}}"
        for field, name in (
            ("hostNetwork", "net.core.somaxconn"),
            ("hostNetwork", "net/core/somaxconn"),
            ("hostIPC", "kernel.shmmax"),
            ("hostIPC", "kernel.msgmax"),
            ("hostIPC", "kernel.sem"),
            ("hostIPC", "fs.mqueue.msg_max"),
        )
    ),
    f"setHostnameAsFQDN: true\n{OF_POD}^hostnameOverride: a",
    *(
        f"initContainers: [{{name: first, image: a, ^{name}: {said}}}]"
        for name, said in (
            ("lifecycle", "{preStop: {sleep: {seconds: 1}}}"),
            *((f"{name}Probe", "{grpc: {port: 1}}") for name in ("liveness", "readiness", "startup")),
        )
    ),
)
CONTAINERS: tuple[str, ...] = (
    "securityContext: {^procMount: Unmasked}",
    "securityContext: {^seccompProfile: {localhostProfile: a.json}}",
    "lifecycle: {^stopSignal: SIGUSR1}",
    f"{MOUNT}subPath: a, ^subPathExpr: $(POD)}}]{DATA}",
    f"{MOUNT}^recursiveReadOnly: Enabled}}]{DATA}",
    f"{MOUNT}readOnly: true, ^recursiveReadOnly: IfPossible, mountPropagation: HostToContainer}}]{DATA}",
    f"{MOUNT}^mountPropagation: Bidirectional}}]{DATA}",
    f"volumeMounts: [{{name: d, mountPath: /d}}]\n{OF_POD}volumes: [^{{emptyDir: {{}}}}]",
    "livenessProbe: {^exec: {}}",
    "livenessProbe: {exec: {^comand: [a]}}",
    "resources: {requests: {hugepages-2Mi: ^2Mi}, limits: {hugepages-2Mi: 4Mi}}",
    "resources: {requests: {hugepages-2Mi: ^2Mi}}",
    *(
        f"resources: {{limits: {{^{name}: 2Mi}}}}"
        for name in ("hugepages-", "hugepages-big", "hugepages-0", "hugepages-500m")
    ),
    *(
        f"resources: {{limits: {{cpu: ^{amount}}}}}"
        for amount in ("64000000m", "100000Ki", "9E", "5000000")  # as millicores, the last is still too much
    ),
    "resources: {limits: {memory: ^0.5}}",
    "resources: {limits: {ephemeral-storage: ^1500m}}",
    "resources: {limits: {hugepages-2Mi: ^lots}}",
    f"resources: {{claims: [^{{request: a}}]}}\n{OF_POD}resourceClaims: [{{name: a, resourceClaimName: a}}]",
    f"resources: {{claims: [{{name: ^5}}]}}\n{OF_POD}resourceClaims: [{{name: a, resourceClaimName: a}}]",
    f"lifecycle: {{preStop: {{sleep: {{^seconds: 60}}}}}}\n{OF_POD}terminationGracePeriodSeconds:",
    f"lifecycle: {{preStop: {{sleep: {{seconds: 60}}}}}}\n{OF_POD}terminationGracePeriodSeconds: ^a minute",
    f"{VARIABLE}resource: limits.cpu, containerName: ^5}}}}}}]",
    f"{VARIABLE}resource: limits.cpu, containerName: ^sidecar}}}}}}]",
    *(f"{name}: {{grpc: {{port: 1}}, ^successThreshold: 2}}" for name in ("livenessProbe", "startupProbe")),
    *(
        f"securityContext: {{{said}, ^allowPrivilegeEscalation: false}}"
        for said, name in (
            ("privileged: true", "privileged"),
            ("capabilities: {add: [CAP_SYS_ADMIN]}", "CAP_SYS_ADMIN"),
        )
    ),
    "env: [{name: A, valueFrom: {fieldRef: {fieldPath: ^STATUS.PODIP}}}]",
    f"{VARIABLE}resource: ^LIMITS.CPU}}}}}}]",
    *(f"{VARIABLE}resource: requests.cpu, divisor: ^{divisor}}}}}}}]" for divisor in (2, 1000)),
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


def assert_told(repository: Path, text: str, snapshot: Any) -> None:
    """There is one finding, at the mark, and it says what the snapshot says."""
    said, place = marked(PATH, text)
    ((where, *words),) = found(repository, said)
    assert where == place
    assert "{}: {} ({})".format(*words) == snapshot


@pytest.mark.parametrize("text", PODS)
def test_finding_in_a_pod(repository: Path, text: str, snapshot: Any) -> None:
    assert_told(repository, job("", text), snapshot)


@pytest.mark.parametrize("text", CONTAINERS)
def test_finding_in_a_container(repository: Path, text: str, snapshot: Any) -> None:
    assert_told(repository, job(text, ""), snapshot)


@pytest.mark.parametrize(("of_container", "of_pod"), TAKEN.values(), ids=TAKEN)
def test_taken(repository: Path, of_container: str, of_pod: str) -> None:
    assert found(repository, job(of_container, of_pod)) == []
