"""Checks which fields of a workload exclude or need each other, by the type of their mapping. Follows
pkg/apis/core/validation and batch/validation of Kubernetes 1.35, and the validation of each operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic, Rule, Waiving
from kubectl_tas.base.words import did_you_mean, shortened
from kubectl_tas.check import containers, jobs
from kubectl_tas.check.conflicts import Check, Fields, Found, all_of, one_of
from kubectl_tas.check.node_labels import node_label
from kubectl_tas.check.resource_requests import RESOURCE_NAME
from kubectl_tas.facts import gpus, quantities
from kubectl_tas.kinds import page_of_document
from kubectl_tas.kinds.kubernetes import SPARK_PODS
from kubectl_tas.kinds.section import listed, mappings, written
from kubectl_tas.model.base import KeyPath

RESOURCE_AMOUNT = Rule.error(
    "resource-amount",
    "A request is above its limit, or asks for a part of what only comes whole.",
    "The API server refuses a request above its limit, parts of a device, and amounts of huge pages that differ from "
    "their limit or are no whole number of pages. In memory, 512m is half a byte, and no container starts with it: "
    "write 512M or 512Mi.",
)
AMOUNT_DOUBTFUL = Rule.warning(
    "amount-doubtful",
    "A container asks for far more or far less than any container has.",
    "The unit is probably wrong. cpu: 64000 is 64,000 processors, and no node has them: the pod stays Pending. memory: "
    "64 and sizeLimit: 64 are 64 bytes. A limit of 64Mi stops a program that uses GPUs when it starts, since CUDA "
    "alone takes more. Write 64000m, or 64Gi.",
)
GPU_LIMIT = Rule.error(
    "gpu-limit",
    "A container requests GPUs that its limits do not give.",
    "Kubernetes does not overcommit GPUs: the API server refuses a request without a limit of the same number. Write "
    "the number in limits. You can leave out the request.",
)
VOLUME_UNKNOWN = Rule.error(
    "volume-unknown",
    "A container mounts a volume that its pod does not have.",
    "The API server refuses the pod. Correct the name, or add the volume. volumeClaimTemplates are volumes too.",
)
POD_HELD = Rule.warning(
    "pod-held",
    "Pods have scheduling gates: no scheduler looks at them.",
    "The pods stay Pending until somebody removes the gates, and the rest of the gang waits for them. If a controller "
    "removes the gates, waive the rule. If not, remove schedulingGates.",
)
POD_PRIORITY = Rule.error(
    "pod-priority",
    "Pods say their priority as a number.",
    "The API server computes the number from priorityClassName and refuses pods with another one. Remove it: `render` "
    "fills in the class of the pool's priority.",
    protects=Waiving.ANYBODY,
)
_SOURCES = ("configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef")
_PROJECTED = ("clusterTrustBundle", "configMap", "downwardAPI", "podCertificate", "secret", "serviceAccountToken")
_OF_PODS = ("cpu", "memory")
"""Resources that a pod as a whole may request, besides huge pages."""
_PLAUSIBLE = {"cpu": (Decimal(0), Decimal(4096)), "memory": (Decimal(2**20), Decimal(2**47))}
"""The least and the most of a resource that a container of a machine can have, in processors and bytes."""
_WITH_GPUS = 100 * 2**20
"""Bytes: less than the memory of a process with a CUDA context."""
_SMALLEST_FOLDER = 4096
"""Bytes: one page. A folder of less holds no file."""
_HUGE = "hugepages-"
_CLAIMS: tuple[KeyPath, ...] = (
    ("spec", "volumeClaimTemplates"),
    ("spec", "leaderWorkerTemplate", "volumeClaimTemplates"),
    *(("spec", *below, name) for below in ((), ("workflowSpec",)) for name in ("volumes", "volumeClaimTemplates")),
)
"""Paths of volume claim templates, and of volumes of the whole object. Each is also a volume of every pod."""
_POLICIES: KeyPath = ("spec", "volumeClaimPolicies")
"""Path of a JobSet's lists of volume claim templates."""


def _variable(fields: Fields) -> Found:
    if fields.has("value") and fields.has("valueFrom"):
        yield fields.wrong("has both value and valueFrom", "Keep one of them.", "valueFrom")


def _toleration(fields: Fields) -> Found:
    operator = fields.get("operator") or "Equal"
    if operator == "Exists" and fields.has("value"):
        hint = "Remove value, or write operator: Equal."
        yield fields.wrong("has operator Exists, which takes no value", hint, "value")
    elif operator != "Exists" and not fields.has("key"):
        hint = "Write key, or operator: Exists to tolerate all taints."
        yield fields.wrong("has no key, which only operator Exists allows", hint)
    if fields.get("tolerationSeconds") is not None and fields.get("effect") != "NoExecute":
        hint = "Write effect: NoExecute, or remove it."
        yield fields.wrong("has tolerationSeconds without effect NoExecute", hint, "tolerationSeconds")


def _requirement(fields: Fields) -> Found:
    operator, values = fields.get("operator"), fields.get("values") or []
    if not isinstance(values, list):
        return
    if operator in ("In", "NotIn") and not values:
        yield fields.wrong(f"has operator {operator} and no values", "Write values.")
    elif operator in ("Exists", "DoesNotExist") and values:
        hint = "Remove values, or write operator: In."
        yield fields.wrong(f"has operator {operator}, which takes no values", hint, "values")
    elif operator in ("Gt", "Lt") and len(values) != 1:
        yield fields.wrong(f"has operator {operator}, which takes one value", "Write one.")


def _label_in(field: str) -> Check:
    """Returns a check for a field whose value is a node label."""

    def check(fields: Fields) -> Found:
        if isinstance(fields.get(field), str):
            yield from node_label(fields.origin, (*fields.path, field), fields.get(field))

    return check


_label_condition = all_of(_requirement, containers.node_condition, _label_in("key"))
"""A condition on a label of nodes."""


def _node_requirement(fields: Fields) -> Found:
    is_name = fields.path[-2:-1] == ("matchFields",)
    return containers.node_name(fields) if is_name else _label_condition(fields)


_over_nodes = all_of(containers.over_nodes, _label_in("topologyKey"))
"""Checks pods that must run together or apart, by a node label."""


def _node_selector(fields: Fields) -> Found:
    """Checks the terms of a node selector. A node must match one term; no node matches a term without conditions."""
    if fields.get("nodeSelectorTerms") == []:
        yield fields.refuse("nodeSelectorTerms", "has no term", "Write one, or remove the selector.")
    conditions = ("matchExpressions", "matchFields")
    for term, declared_term in zip(
        fields.each("nodeSelectorTerms"), listed(fields.get("nodeSelectorTerms")), strict=True
    ):
        if isinstance(declared_term, dict) and not any(map(term.has, conditions)):
            yield term.wrong("has no condition, and so selects no node", "Write matchExpressions, or remove the term.")


def _resources(fields: Fields) -> Found:
    limits, requests = fields.below("limits"), fields.below("requests")
    uses_gpus = any(map(gpus.is_counted, limits.value))
    for amounts in (limits, requests):
        for name, amount in amounts.value.items():
            number = quantities.parse(amount)
            if name in _PLAUSIBLE and number and (name == "cpu" or number == int(number)):
                yield from _doubtful(amounts, name, number, uses_gpus=uses_gpus)
            if name in ("memory", "ephemeral-storage") and number is not None and number != int(number):
                problem = f"is {amount}, which is {number.normalize():f} bytes"
                yield _amount(amounts, name, f"{amounts.at(name)} {problem}", _whole_bytes(str(amount)))
            elif number is not None and "/" in name and number != int(number):
                problem = f"is {amount}; the API server takes whole numbers of it"
                yield _amount(amounts, name, f"{amounts.at(name)} {problem}", "Write a whole number.")
            elif name.startswith(_HUGE) and number and number % (quantities.parse(name.removeprefix(_HUGE)) or number):
                problem = f"is {amount}, which is no number of such pages"
                hint = f"Write a multiple of {name[len(_HUGE) :]}."
                yield _amount(amounts, name, f"{amounts.at(name)} {problem}", hint)
    is_pod = fields.origin.value((*fields.path[:-1], "containers")) is not None  # its limit is that of its containers
    for name, declared_request in requests.value.items():
        declared_limit = limits.get(name)
        request, limit = quantities.parse(declared_request), quantities.parse(declared_limit)
        lacks = "without a limit" if declared_limit is None else f"but its limit is {declared_limit}"
        message = f"the container requests {declared_request} of {name}, {lacks}"
        hint = f"Write {name}: {declared_request} in limits; the request may be left out."
        if "/" in name and not name.partition("/")[0].endswith("kubernetes.io"):
            if declared_limit is None or limit != request:  # such resources, as GPUs are, are given whole or not at all
                yield Diagnostic(GPU_LIMIT, message, fields.origin.locate((*requests.path, name)), hint=hint)
        elif request is not None and declared_limit is None and name.startswith(_HUGE) and not is_pod:
            yield _amount(requests, name, message, hint)
        elif request is not None and limit is not None and name.startswith(_HUGE) and request != limit:
            yield _amount(requests, name, f"{message}, which must be the same", f"Write {declared_limit}.")
        elif request is not None and limit is not None and request > limit:
            yield _amount(requests, name, message, f"Lower it to {declared_limit}, or raise the limit.")


def _doubtful(amounts: Fields, name: str, number: Decimal, *, uses_gpus: bool) -> Found:
    """Checks an amount of cpu or memory whose unit may be wrong. Fractions of a byte are refused elsewhere."""
    amount = amounts.get(name)
    smallest, largest = _PLAUSIBLE[name]
    if number > largest and name == "cpu" and str(amount).isdigit() and number <= 1000 * largest:
        problem, hint = f"is {amount} processors; no node has so many", f"Write {amount}m if you mean millicores."
    elif number > largest:
        problem, hint = f"is {amount}; no node has so much", "Write the amount that the program needs."
    elif smallest > number >= 1:
        number_alone = str(amount).isdigit()
        problem = f"is {amount}{' bytes' if number_alone else ''}; no program starts with so little"
        hint = f"Write {amount}Gi or {amount}Mi." if number_alone else "Write the amount that the program needs."
    elif uses_gpus and number < _WITH_GPUS and name == "memory" and amounts.path[-1] == "limits":
        problem = f"is {amount}; a program that uses GPUs is stopped when it starts"
        hint = f"Write {str(amount)[:-2]}Gi." if str(amount).endswith("Mi") else "Write what the program needs."
    else:
        return
    place = amounts.origin.locate((*amounts.path, name))
    yield Diagnostic(AMOUNT_DOUBTFUL, f"{amounts.at(name)} {problem}", place, hint=hint)


def _amount(fields: Fields, name: str, message: str, hint: str) -> Diagnostic:
    return Diagnostic(RESOURCE_AMOUNT, message, fields.origin.locate((*fields.path, name)), hint=hint)


def _whole_bytes(text: str) -> str:
    number = text.removesuffix("m")
    return f"Write {number}M or {number}Mi." if number != text else "Write whole bytes."


def _pod(fields: Fields) -> Found:
    origin, path = fields.origin, fields.path
    if fields.get("containers") == []:
        yield fields.missing("containers")
    if fields.has("schedulingGates"):
        location = origin.locate((*path, "schedulingGates"), key=True)
        hint = "Remove schedulingGates, unless a controller removes them from the pods."
        yield Diagnostic(POD_HELD, "no scheduler looks at pods with scheduling gates", location, hint=hint)
    yield from _priority(fields)
    if "nodeSelector" in fields.value:
        yield from _node_labels(fields.below("nodeSelector"))
    if "resources" in fields.value:
        yield from _as_a_whole(fields.below("resources"))
    in_pod = fields.containers
    yield from _mounts(fields, in_pod)
    for volume in fields.each("volumes"):
        folder = volume.below("emptyDir")
        size = quantities.parse(folder.get("sizeLimit"))
        if size is not None and 0 < size < _SMALLEST_FOLDER:
            message = f"{folder.at('sizeLimit')} is {folder.get('sizeLimit')}; the pod is evicted once it writes more"
            place = folder.origin.locate((*folder.path, "sizeLimit"))
            hint = f"Write {folder.get('sizeLimit')}Gi or {folder.get('sizeLimit')}Mi."
            hint = hint if str(folder.get("sizeLimit")).isdigit() else "Write the amount that the program needs."
            yield Diagnostic(AMOUNT_DOUBTFUL, message, place, hint=hint)
    yield from containers.pod(fields, in_pod)
    for container in in_pod:
        if any("valueFrom" in variable for variable in mappings(container.get("env"))):
            for amount in (variable.below("valueFrom", "resourceFieldRef") for variable in container.each("env")):
                if "containerName" in amount.value:
                    yield from _of_container(amount, in_pod)


def _priority(fields: Fields) -> Found:
    if fields.get("priority") is not None:
        message = f"{fields.at('priority')} is computed from priorityClassName; pods that say another are refused"
        location = fields.origin.locate((*fields.path, "priority"), key=True)
        yield Diagnostic(POD_PRIORITY, message, location, hint="Remove it.")


def _node_labels(selector: Fields) -> Found:
    yield from containers.labels(selector)
    for label in selector.value:
        yield from node_label(selector.origin, (*selector.path, label), label)


def _template(fields: Fields) -> Found:
    """Checks a template of Argo: its pod, without labels that Argo fills in (3.7: workflow/validate/validate.go)."""
    yield from _priority(fields)
    yield from _node_labels(fields.below("nodeSelector"))
    deadline = fields.get("activeDeadlineSeconds")
    if type(deadline) is int and deadline < 1:
        yield fields.invalid(
            "must be at least 1", deadline, "Write the seconds that it may take.", "activeDeadlineSeconds"
        )
    yield from _mounts(fields, fields.containers)


def _spark_pod(fields: Fields) -> Found:
    """Checks the driver or the executors of a SparkApplication, and the volumes of their pod template."""
    yield from _node_labels(fields.below("nodeSelector"))
    yield from _mounts(fields.below("template", "spec"), fields.containers)


def _of_container(fields: Fields, in_pod: Sequence[Fields]) -> Found:
    """Checks the name of a container of the pod. An empty name is valid."""
    name = fields.get("containerName")
    container_names = [_name(c.value) for c in sorted(in_pod, key=lambda item: item.path[-2] == "initContainers")]
    if isinstance(name, str) and name and name not in container_names:
        yield fields.invalid(
            "must be the name of a container of the pod", name, _meant(name, container_names), "containerName"
        )


def _as_a_whole(fields: Fields) -> Found:
    """Checks the resources that a pod requests as a whole (``validatePodResourceName``)."""
    for amounts in (fields.below(field) for field in ("limits", "requests")):
        for name in amounts.value:
            if name not in _OF_PODS and not name.startswith(_HUGE):
                where = f"{written(fields.path[:-1])}.containers[0].resources.{amounts.path[-1]}"
                message = f"{amounts.at()} has {name}, which a pod cannot request in addition to its containers"
                location = fields.origin.locate((*amounts.path, name), key=True)
                hint = f"Move it to the {amounts.path[-1]} of a container: {where}."
                yield Diagnostic(RESOURCE_NAME, message, location, hint=hint)


def _mounts(fields: Fields, in_pod: Sequence[Fields]) -> Found:
    """Checks that each mount names a volume of the pod, or a volume claim template of the workload."""
    mounts = [mount for container in in_pod for mount in container.each("volumeMounts", "volumeDevices")]
    if not mounts:
        return
    lists = [fields.get("volumes"), *(fields.origin.value(where) for where in _CLAIMS)]
    lists += [policy.get("templates") for policy in mappings(fields.origin.value(_POLICIES))]
    volume_names = [_name(policy) for part in lists for policy in mappings(part)]
    # Volumes that the operator adds. KubeRay adds one if asked (1.6, 1.7: `AddRayTokenVolume` of pod.go).
    page, name = page_of_document(fields.origin.data), fields.origin.value(("metadata", "name"))
    added = [volume.format(name) for volume in page.pod_rules.added_volumes] if page is not None else []
    groups = (depth for depth, step in enumerate(fields.path) if step in ("headGroupSpec", "workerGroupSpecs"))
    spec = fields.path[: next(groups, 0)]
    has_token = spec and fields.origin.value((*spec, "authOptions", "enableK8sTokenAuth")) is True
    added = [*added, "ray-token"] if has_token else added
    for mount in mounts:
        name = mount.get("name")
        if isinstance(name, str) and name not in volume_names and name not in added and "{{" not in name:
            hint = did_you_mean(
                name,
                volume_names,
                f"Its volumes are {', '.join(volume_names)}." if volume_names else "Add it to volumes.",
            )
            location = fields.origin.locate((*mount.path, "name"))
            yield Diagnostic(VOLUME_UNKNOWN, f'the pod has no volume "{name}"', location, hint=hint)


def _name(volume: Mapping[str, Any]) -> str:
    metadata = volume.get("metadata")
    return str(volume.get("name") or (metadata.get("name") if isinstance(metadata, dict) else "") or "")


def _volume(fields: Fields) -> Found:
    """Checks that a volume has exactly one type. The API server ignores a type without a value and makes an emptyDir of
    the volume (``SetDefaults_Volume`` of pkg/apis/core/v1).
    """
    types = [key for key in fields.value if key != "name"]
    types_with_value = [key for key in types if fields.get(key) is not None]
    if len(types_with_value) > 1:
        yield fields.wrong(
            f"has more than one type of volume: {' and '.join(types_with_value)}",
            "Keep one of them.",
            types_with_value[1],
        )
    elif types and not types_with_value:
        yield fields.wrong(f"has no type of volume: {types[0]} has no value", f"Write {types[0]}: {{}}.", types[0])
    elif not types:
        hint = "Write emptyDir: {}, or another type such as persistentVolumeClaim."
        yield fields.wrong("has no type of volume", hint)


def _meant(name: str, container_names: Sequence[str]) -> str:
    return did_you_mean(
        name, container_names, f"Name {shortened(container_names)}." if container_names else "Remove it."
    )


COMBINATIONS: Mapping[str, Check] = {
    "AppArmorProfile": containers.profile,
    "DeploymentSpec": jobs.deployment,
    "DeploymentStrategy": jobs.rolling,
    "DownwardAPIVolumeFile": all_of(containers.file_source, one_of("nothing to write", "fieldRef", "resourceFieldRef")),
    "EnvFromSource": one_of("nothing to take variables from", "configMapRef", "secretRef"),
    "EnvVar": _variable,
    "EnvVarSource": all_of(containers.variable_source, one_of("nothing to take a value from", *_SOURCES)),
    "ExecAction": containers.command,
    "JobSpec": jobs.job,
    "LabelSelectorRequirement": _requirement,
    "LifecycleHandler": one_of("nothing to do", "exec", "httpGet", "sleep", "tcpSocket"),
    "NodeSelector": _node_selector,
    "NodeSelectorRequirement": _node_requirement,
    "PodAffinityTerm": _over_nodes,
    "PodFailurePolicyOnExitCodesRequirement": jobs.exit_codes,
    "PodFailurePolicyRule": jobs.failure_rule,
    "PodSecurityContext": containers.security_of_pod,
    "PodResourceClaim": one_of("no claim", "resourceClaimName", "resourceClaimTemplateName"),
    "PodSpec": _pod,
    "Probe": all_of(containers.probe, one_of("nothing to probe with", "exec", "grpc", "httpGet", "tcpSocket")),
    "ResourceRequirements": _resources,
    "RollingUpdateDeployment": jobs.rolling_pods,
    "RollingUpdateStatefulSetStrategy": jobs.rolling_members,
    "SeccompProfile": containers.profile,
    "SecurityContext": containers.security,
    **dict.fromkeys(SPARK_PODS, _spark_pod),
    "StatefulSetUpdateStrategy": jobs.rolling,
    "Toleration": _toleration,
    "TopologySpreadConstraint": _over_nodes,
    "Volume": _volume,
    "VolumeMount": containers.mount,
    "VolumeProjection": one_of("nothing to project", *_PROJECTED),
    "Workflow.spec.templates": _template,
}
"""The check for each type of mapping."""
