"""Fields of workloads that do not go together, by the type of the mapping that has them. Follows
pkg/apis/core/validation and batch/validation of Kubernetes 1.35, and what each operator's own validation says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubectl_tas import quantities
from kubectl_tas.check import containers, jobs
from kubectl_tas.check.conflicts import Check, Found, conflict, has, is_slip, mapping, mappings, one_of
from kubectl_tas.check.node_labels import node_label
from kubectl_tas.check.resource_requests import RESOURCE_NAME
from kubectl_tas.diagnostics import Diagnostic, Rule, Severity, Waiving
from kubectl_tas.load.document import parse
from kubectl_tas.load.schema import invalid_value, missing_field, written
from kubectl_tas.load.syntax import YAML_SYNTAX
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.operators import CONTAINER_NAMES, LEADERS
from kubectl_tas.model.repository import Origin
from kubectl_tas.words import did_you_mean, shortened

RESOURCE_AMOUNT = Rule(
    "resource-amount",
    Severity.ERROR,
    "More of a resource is requested than its limit gives, or a part of what is given whole.",
    "An API server refuses a request above its limit, parts of a device, and huge pages that are no whole number of "
    "pages. In memory, 512m is half a byte, which no container starts with: 512M or 512Mi is meant.",
)
GPU_LIMIT = Rule(
    "gpu-limit",
    Severity.ERROR,
    "A container requests GPUs that its limits do not give.",
    "GPUs cannot be overcommitted: an API server refuses a request without a limit of the same number. Write the "
    "number in limits; the request may be left out.",
)
VOLUME_UNKNOWN = Rule(
    "volume-unknown",
    Severity.ERROR,
    "A container mounts a volume that its pod does not have.",
    "An API server refuses the pod. Correct the name, or add the volume; volumeClaimTemplates of a StatefulSet or a "
    "LeaderWorkerSet are volumes too.",
)
POD_HELD = Rule(
    "pod-held",
    Severity.WARNING,
    "Pods have scheduling gates: no scheduler looks at them.",
    "They stay Pending until somebody removes the gates, and a gang waits with them. Where a controller does so, "
    "waive the rule; else remove schedulingGates.",
)
POD_PRIORITY = Rule(
    "pod-priority",
    Severity.ERROR,
    "Pods say their priority as a number.",
    "An API server computes it from priorityClassName and refuses pods that say another. Remove it: the class of the "
    "pool's priority is filled in.",
    protects=Waiving.ANYBODY,
)
OPERATOR_REFUSES = Rule(
    "operator-refuses",
    Severity.ERROR,
    "An operator refuses a workload, or never makes the pods that it asks for.",
    "The object is there and nothing runs, or its operator's webhook refuses it: more minReplicas than maxReplicas, a "
    "Kubeflow job with two masters, or without a container of the name that its operator looks for, a RayJob without "
    "an entrypoint, a RayJob with clusterSelector that is to be suspended or tried again, a JobSet without jobs. Where "
    "another release of the operator takes it, waive the rule.",
    protects=Waiving.ANYBODY,
)
_SOURCES = ("configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef")
_PROJECTED = ("clusterTrustBundle", "configMap", "downwardAPI", "podCertificate", "secret", "serviceAccountToken")
_OF_PODS = ("cpu", "memory")
"""Resources that a pod as a whole may ask for, beside huge pages."""
_BYTES = ("memory", "ephemeral-storage")
_HUGE = "hugepages-"
_CLAIMS: tuple[KeyPath, ...] = (
    ("spec", "volumeClaimTemplates"),
    ("spec", "leaderWorkerTemplate", "volumeClaimTemplates"),
)
"""Where templates of claims stand, each of which is a volume of every pod."""
_RAY_CLUSTER = "ray.io/cluster"
"""The label by which KubeRay finds the cluster of a RayJob."""
_POLICIES: KeyPath = ("spec", "volumeClaimPolicies")
"""Where a JobSet has such lists."""


def _variable(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    if has(value, "value") and has(value, "valueFrom"):
        message = f"{written(path)} has both value and valueFrom"
        yield conflict(origin, (*path, "valueFrom"), message, "Keep one of them.")


def _toleration(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    operator = value.get("operator") or "Equal"
    if operator == "Exists" and has(value, "value"):
        message = f"{written(path)} has operator Exists, which takes no value"
        yield conflict(origin, (*path, "value"), message, "Remove value, or write operator: Equal.")
    elif operator != "Exists" and not has(value, "key"):
        message = f"{written(path)} has no key, which only operator Exists allows"
        yield conflict(origin, path, message, "Write key, or operator: Exists to tolerate all taints.")
    if value.get("tolerationSeconds") is not None and value.get("effect") != "NoExecute":
        message = f"{written(path)} has tolerationSeconds without effect NoExecute"
        yield conflict(origin, (*path, "tolerationSeconds"), message, "Write effect: NoExecute, or remove it.")


def _requirement(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """A condition on labels."""
    operator, values = value.get("operator"), value.get("values") or []
    if not isinstance(values, list):
        return
    if operator in ("In", "NotIn") and not values:
        yield conflict(origin, path, f"{written(path)} has operator {operator} and no values", "Write values.")
    elif operator in ("Exists", "DoesNotExist") and values:
        message = f"{written(path)} has operator {operator}, which takes no values"
        yield conflict(origin, (*path, "values"), message, "Remove values, or write operator: In.")
    elif operator in ("Gt", "Lt") and len(values) != 1:
        yield conflict(origin, path, f"{written(path)} has operator {operator}, which takes one value", "Write one.")


def _node_requirement(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    yield from _requirement(origin, path, value)
    yield from containers.node_condition(origin, path, value)
    if isinstance(value.get("key"), str):
        yield from node_label(origin, (*path, "key"), value["key"])


def _over_nodes(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """Pods that stand together or apart by a label of their nodes."""
    yield from containers.over_nodes(origin, path, value)
    if isinstance(value.get("topologyKey"), str):
        yield from node_label(origin, (*path, "topologyKey"), value["topologyKey"])


def _node_selector(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """Terms, of which a node must meet one; a term without a condition is met by none."""
    terms = value.get("nodeSelectorTerms")
    if terms == []:
        message = f"{written((*path, 'nodeSelectorTerms'))} has no term"
        yield conflict(origin, (*path, "nodeSelectorTerms"), message, "Write one, or remove the selector.")
    for index, term in enumerate(terms if isinstance(terms, list) else ()):
        conditions = ("matchExpressions", "matchFields")
        if isinstance(term, dict) and not any(has(term, name) for name in conditions) and not is_slip(term, conditions):
            where = (*path, "nodeSelectorTerms", index)
            message = f"{written(where)} has no condition, and so selects no node"
            yield conflict(origin, where, message, "Write matchExpressions, or remove the term.")


def _resources(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    parts = [(name, value.get(name)) for name in ("limits", "requests")]
    limits, requests = (part if isinstance(part, dict) else {} for _, part in parts)
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            number = quantities.parse(amount)
            if name in _BYTES and number is not None and number != int(number):
                message = f"{written((*path, field, name))} is {amount}, which is {number.normalize():f} bytes"
                yield _amount(origin, (*path, field, name), message, _whole_bytes(str(amount)))
            elif number is not None and "/" in name and number != int(number):
                message = f"{written((*path, field, name))} is {amount}; the API server takes whole numbers of it"
                yield _amount(origin, (*path, field, name), message, "Write a whole number.")
            elif name.startswith(_HUGE) and number and number % (quantities.parse(name.removeprefix(_HUGE)) or number):
                message = f"{written((*path, field, name))} is {amount}, which is no number of such pages"
                yield _amount(origin, (*path, field, name), message, f"Write a multiple of {name[len(_HUGE) :]}.")
    for name, asked in requests.items():
        if "/" in name and not name.partition("/")[0].endswith("kubernetes.io"):
            yield from _extended(origin, path, name, asked, limits.get(name))
            continue
        request, limit = quantities.parse(asked), quantities.parse(limits.get(name))
        if request is not None and limit is not None and name.startswith(_HUGE) and request != limit:
            message = (
                f"the container requests {asked} of {name}, but its limit is {limits[name]}, which must be the same"
            )
            yield _amount(origin, (*path, "requests", name), message, f"Write {limits[name]}.")
        elif request is not None and limit is not None and request > limit:
            message = f"the container requests {asked} of {name}, but its limit is {limits[name]}"
            yield _amount(
                origin, (*path, "requests", name), message, f"Lower it to {limits[name]}, or raise the limit."
            )


def _amount(origin: Origin, path: KeyPath, message: str, hint: str) -> Diagnostic:
    return Diagnostic(RESOURCE_AMOUNT, message, origin.locate(path), hint=hint)


def _whole_bytes(text: str) -> str:
    number = text.removesuffix("m")
    return f"Write {number}M or {number}Mi." if number != text else "Write whole bytes."


def _extended(origin: Origin, path: KeyPath, name: str, asked: object, given: object) -> Found:
    """Resources with a domain of their own, as GPUs have, are given whole or not at all."""
    if given is None or quantities.parse(given) != quantities.parse(asked):
        limit = "without a limit" if given is None else f"but its limit is {given}"
        message = f"the container requests {asked} of {name}, {limit}"
        hint = f"Write {name}: {asked} in limits; the request may be left out."
        yield Diagnostic(GPU_LIMIT, message, origin.locate((*path, "requests", name)), hint=hint)


def _pod(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    if value.get("containers") == []:
        yield missing_field(origin, path, "containers", {})
    if has(value, "schedulingGates"):
        place = origin.locate((*path, "schedulingGates"), key=True)
        hint = "Remove schedulingGates, unless a controller removes them from the pods."
        yield Diagnostic(POD_HELD, "no scheduler looks at pods with scheduling gates", place, hint=hint)
    if value.get("priority") is not None:
        message = (
            f"{written((*path, 'priority'))} is computed from priorityClassName; pods that say another are refused"
        )
        yield Diagnostic(POD_PRIORITY, message, origin.locate((*path, "priority"), key=True), hint="Remove it.")
    yield from containers.labels(origin, (*path, "nodeSelector"), value.get("nodeSelector"))
    for label in value["nodeSelector"] if isinstance(value.get("nodeSelector"), dict) else ():
        yield from node_label(origin, (*path, "nodeSelector", label), label)
    yield from _as_a_whole(origin, (*path, "resources"), value.get("resources"))
    yield from _mounts(origin, path, value)
    yield from containers.pod(origin, path, value)
    for field in ("initContainers", "containers"):
        for index, container in enumerate(mappings(value.get(field))):
            for item, variable in enumerate(mappings(container.get("env"))):
                of = mapping(mapping(variable.get("valueFrom")).get("resourceFieldRef"))
                if "containerName" in of:
                    where: KeyPath = (*path, field, index, "env", item, "valueFrom", "resourceFieldRef")
                    yield from _of_container(origin, (*where, "containerName"), of["containerName"], value)


def _of_container(origin: Origin, path: KeyPath, name: object, pod: Mapping[str, Any]) -> Found:
    """The name of a container of a pod; empty stands for any, or for the one that it is written in."""
    known = [_name(item) for field in ("containers", "initContainers") for item in mappings(pod.get(field))]
    if isinstance(name, str) and name and name not in known:
        yield invalid_value(origin, path, "must be the name of a container of the pod", name, _meant(name, known))


def _as_a_whole(origin: Origin, path: KeyPath, resources: object) -> Found:
    """What a pod asks for beside its containers: ``validatePodResourceName``."""
    for field in ("limits", "requests"):
        amounts = resources.get(field) if isinstance(resources, dict) else None
        for name in amounts if isinstance(amounts, dict) else ():
            if name not in _OF_PODS and not name.startswith(_HUGE):
                message = f"{written((*path, field))} has {name}, which a pod cannot ask for beside its containers"
                hint = f"Move it to the {field} of a container: {written(path[:-1])}.containers[0].resources.{field}."
                yield Diagnostic(RESOURCE_NAME, message, origin.locate((*path, field, name), key=True), hint=hint)


def _mounts(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """Mounts name a volume of the pod, or a claim that the workload makes for it."""
    wanted = [
        (mount.get("name"), (*path, field, index, mounts, place, "name"))
        for field in ("initContainers", "containers")
        for index, container in enumerate(mappings(value.get(field)))
        for mounts in ("volumeMounts", "volumeDevices")
        if mounts in container
        for place, mount in enumerate(mappings(container[mounts]))
    ]
    if not wanted:
        return
    lists = [value.get("volumes"), *(origin.value(where) for where in _CLAIMS)]
    lists += [item.get("templates") for item in mappings(origin.value(_POLICIES))]
    known = [_name(item) for part in lists for item in mappings(part)]
    known += _added_volumes(origin, path)
    for name, where in wanted:
        if isinstance(name, str) and name not in known:
            listed = f"Its volumes are {', '.join(known)}." if known else "Add it to volumes."
            hint = did_you_mean(name, known, listed)
            yield Diagnostic(VOLUME_UNKNOWN, f'the pod has no volume "{name}"', origin.locate(where), hint=hint)


def _added_volumes(origin: Origin, path: KeyPath) -> list[str]:
    """What KubeRay adds to a pod (``AddRayTokenVolume`` of ray-operator/controllers/ray/common/pod.go, 1.6 and 1.7)."""
    groups = (place for place, step in enumerate(path) if step in ("headGroupSpec", "workerGroupSpecs"))
    spec = path[: next(groups, 0)]
    return ["ray-token"] if spec and origin.value((*spec, "authOptions", "enableK8sTokenAuth")) is True else []


def _name(item: Mapping[str, Any]) -> str:
    metadata = item.get("metadata")
    return str(item.get("name") or (metadata.get("name") if isinstance(metadata, dict) else "") or "")


def _volume(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """A volume is of one type; one that is written without a value is none to an API server."""
    types = [key for key in value if key != "name"]
    found = [key for key in types if value[key] is not None]
    if len(found) > 1:
        message = f"{written(path)} has more than one type of volume: {' and '.join(found)}"
        yield conflict(origin, (*path, found[1]), message, "Keep one of them.")
    elif types and not found:
        message = f"{written(path)} has no type of volume: {types[0]} has no value"
        yield conflict(origin, (*path, types[0]), message, f"Write {types[0]}: {{}}.")
    elif not types:
        message = f"{written(path)} has no type of volume"
        yield conflict(origin, path, message, "Write emptyDir: {}, or another type such as persistentVolumeClaim.")


def _span(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """Kubeflow's training operator and KubeRay have the same names for the ends."""
    least, most = value.get("minReplicas"), value.get("maxReplicas")
    if type(least) is int and type(most) is int and least > most:
        message = f"{written((*path, 'minReplicas'))} is {least}, more than maxReplicas, {most}"
        yield _operator(origin, (*path, "minReplicas"), message, f"Write {most} or less, or raise maxReplicas.")


def _ray_group(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """KubeRay refuses minReplicas above maxReplicas, and makes no more than maxReplicas (1.7: ray-operator/controllers/
    ray/utils, validation.go and ``GetWorkerGroupDesiredReplicas``).
    """
    replicas, least, most = (value.get(name) for name in ("replicas", "minReplicas", "maxReplicas"))
    if type(least) is int and type(most) is int and least > most:
        yield from _span(origin, path, value)
    elif type(replicas) is int and type(most) is int and replicas > most:
        message = f"{written((*path, 'replicas'))} is {replicas}, and KubeRay makes no more than maxReplicas, {most}"
        hint = (
            f"Write {most} replicas, or raise maxReplicas: the GPUs of the others are counted, and nothing uses them."
        )
        yield _operator(origin, (*path, "replicas"), message, hint)


def _replica_types(kind: str) -> Check:
    """What Kubeflow's training operator 1.9 (pkg/webhooks, and mpi_validation.go of MPIJobs) and its MPI operator 0.8
    (pkg/apis/kubeflow/validation) say of the pods of a kind.
    """

    def check(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
        name, leader = CONTAINER_NAMES.get(kind), LEADERS.get(kind)
        for replica_type in value:
            replicas = origin.value((*path, replica_type, "replicas"))
            if replica_type == leader and type(replicas) is int and replicas != 1:
                message = f"a {kind} has one {leader}, not {replicas}"
                hint = "Write 1; the pods beside it are those of Worker."
                yield _operator(origin, (*path, replica_type, "replicas"), message, hint)
            where: KeyPath = (*path, replica_type, "template", "spec", "containers")
            containers = mappings(origin.value(where))
            names = [str(item.get("name")) for item in containers]
            if name and containers and name not in names:
                message = f"a {kind} needs a container that is called {name} in each pod, not only {', '.join(names)}"
                hint = f"Call the one that trains {name}: its operator gives that one the addresses of the others."
                yield Diagnostic(OPERATOR_REFUSES, message, origin.locate((*where, 0, "name")), hint=hint)

    return check


def _elastic(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """An elastic PyTorchJob: torchrun joins no more pods than maxReplicas, which the operator takes from minReplicas
    where it is absent (1.9: pkg/webhooks/pytorch, pkg/apis/kubeflow.org/v1/pytorch_defaults.go).
    """
    policy, types = value.get("elasticPolicy"), value.get("pytorchReplicaSpecs")
    if not isinstance(policy, dict) or not isinstance(types, dict):
        return
    if types.get("Worker") is None:
        message = f"{written((*path, 'elasticPolicy'))} needs replicas of the type Worker, and there are none"
        place = origin.locate((*path, "elasticPolicy"), key=True)
        yield Diagnostic(OPERATOR_REFUSES, message, place, hint="Add Worker, or remove elasticPolicy.")
    if policy.get("nProcPerNode") is not None and value.get("nprocPerNode") is not None:
        message = (
            f"{written((*path, 'elasticPolicy', 'nProcPerNode'))} must not stand beside {written(path)}.nprocPerNode"
        )
        yield _operator(origin, (*path, "elasticPolicy", "nProcPerNode"), message, "Remove it.")
    end = "minReplicas" if policy.get("maxReplicas") is None else "maxReplicas"
    most, workers = policy.get(end), origin.value((*path, "pytorchReplicaSpecs", "Worker", "replicas"))
    if type(most) is int and type(workers) is int and workers > most:
        message = f"{written((*path, 'elasticPolicy'))} lets {most} of {workers} workers train"
        hint = f"Write maxReplicas: {workers}; the GPUs of the others are counted, and nothing uses them."
        yield _operator(origin, (*path, "elasticPolicy", end), message, hint)


def _job_set(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    if not value.get("replicatedJobs") and not is_slip(value, ("replicatedJobs",)):
        message = f"{written(path)} has no replicatedJobs: this JobSet makes no pods"
        yield Diagnostic(OPERATOR_REFUSES, message, origin.locate(path, key=True), hint="Add replicatedJobs.")
    known: list[str] = []
    for index, job in enumerate(mappings(value.get("replicatedJobs"))):
        for place, other in enumerate(mappings(job.get("dependsOn"))):
            where: KeyPath = (*path, "replicatedJobs", index, "dependsOn", place, "name")
            yield from _refused(origin, where, other.get("name"), known, f"replicated job before {_name(job)}")
        known.append(_name(job))
    policy = mapping(value.get("failurePolicy"))
    lists: list[tuple[KeyPath, object]] = [(("successPolicy",), value.get("successPolicy"))]
    lists += ((("failurePolicy", "rules", place), rule) for place, rule in enumerate(mappings(policy.get("rules"))))
    for where, part in lists:
        written_ = mapping(part).get("targetReplicatedJobs")
        for place, name in enumerate(written_ if isinstance(written_, list) else ()):
            yield from _refused(origin, (*path, *where, "targetReplicatedJobs", place), name, known, "replicated job")
    leader = mapping(value.get("coordinator")).get("replicatedJob")
    yield from _refused(origin, (*path, "coordinator", "replicatedJob"), leader, known, "replicated job")


def _refused(origin: Origin, path: KeyPath, name: object, known: Sequence[str], what: str) -> Found:
    """A name of a part of a JobSet that its webhook looks for (0.12: pkg/webhooks/jobset_webhook.go)."""
    if isinstance(name, str) and name not in known:
        yield _operator(origin, path, f'there is no {what} called "{name}"', _meant(name, known))


def _meant(name: str, known: Sequence[str]) -> str:
    return did_you_mean(name, known, f"Name {shortened(known)}." if known else "Remove it.")


def _ray_job(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """KubeRay submits the entrypoint, unless somebody else submits, or its pod does what its own command says (1.7:
    ray-operator/controllers/ray/common/job.go and ``getSubmitterTemplate``).
    """
    yield from _as_yaml(origin, (*path, "runtimeEnvYAML"))
    mode = value.get("submissionMode") or "K8sJobMode"
    if value.get("clusterSelector"):
        yield from _ray_selector(origin, path, value)
    elif value.get("rayClusterSpec") is None and not is_slip(value, ("clusterSelector", "rayClusterSpec")):
        yield missing_field(origin, path, "rayClusterSpec", {})
    own: KeyPath = (*path, "submitterPodTemplate", "spec", "containers", 0, "command")
    if mode == "InteractiveMode" or (mode == "K8sJobMode" and origin.value(own)):
        return
    if not str(value.get("entrypoint") or "").strip() and not is_slip(value, ("entrypoint",)):
        message = f"{written(path)} has no entrypoint: KubeRay has nothing to submit"
        hint = "Add entrypoint, the command of the job; or write submissionMode: InteractiveMode to submit it yourself."
        yield Diagnostic(OPERATOR_REFUSES, message, origin.locate(path, key=True), hint=hint)


def _ray_selector(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    """A RayJob for a cluster that is there (``ValidateRayJobSpec`` of KubeRay 1.5 to 1.7)."""
    if value.get("rayClusterSpec") is not None:
        message = f"{written(path)} has clusterSelector and rayClusterSpec: KubeRay makes no cluster of the latter"
        yield conflict(origin, (*path, "clusterSelector"), message, "Keep one of them.")
    selector = value["clusterSelector"]
    if not isinstance(selector, dict) or not selector.get(_RAY_CLUSTER):
        message = f"{written((*path, 'clusterSelector'))} has no {_RAY_CLUSTER}, the one label that KubeRay looks for"
        hint = f"Write {_RAY_CLUSTER}: NAME, with the name of a RayCluster of the same namespace."
        yield _operator(origin, (*path, "clusterSelector"), message, hint)
    for name in ("backoffLimit", "submissionMode", "suspend"):
        if value.get(name) and (name != "submissionMode" or value[name] == "SidecarMode"):
            message = f"KubeRay refuses {written((*path, name))} in a RayJob with clusterSelector"
            yield _operator(origin, (*path, name), message, f"Remove {name}.")


def _ray_service(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
    yield from _as_yaml(origin, (*path, "serveConfigV2"))


def _as_yaml(origin: Origin, path: KeyPath) -> Found:
    """A text that KubeRay reads as a mapping (1.7: ``UnmarshalRuntimeEnvYAML`` of dashboardclient, and
    rayservice_controller.go); it refuses the object, or never submits.
    """
    text = origin.value(path)
    if not isinstance(text, str):
        return
    documents, found = parse(origin.path, text)
    if found and found[0].rule is YAML_SYNTAX:
        place = found[0].location
        line = f", line {place.line} of the text" if place is not None else ""
        message = f"{written(path)} is no YAML, so KubeRay refuses it{line}: {found[0].message}"
        yield _operator(origin, path, message, found[0].hint)
    elif documents and not isinstance(documents[0].data, dict):
        yield _operator(origin, path, f"{written(path)} must be a mapping in YAML", "Write it as 'key: value' lines.")


def _operator(origin: Origin, path: KeyPath, message: str, hint: str) -> Diagnostic:
    return Diagnostic(OPERATOR_REFUSES, message, origin.locate(path), hint=hint)


def _all(*checks: Check) -> Check:
    """All of these of one mapping."""

    def check(origin: Origin, path: KeyPath, value: Mapping[str, Any]) -> Found:
        for one in checks:
            yield from one(origin, path, value)

    return check


COMBINATIONS: Mapping[str, Check] = {
    "AppArmorProfile": containers.profile,
    "DeploymentSpec": jobs.deployment,
    "DeploymentStrategy": jobs.rolling,
    "DownwardAPIVolumeFile": _all(containers.file_source, one_of("nothing to write", "fieldRef", "resourceFieldRef")),
    "ElasticPolicy": _span,
    "EnvFromSource": one_of("nothing to take variables from", "configMapRef", "secretRef"),
    "EnvVar": _variable,
    "EnvVarSource": _all(containers.variable_source, one_of("nothing to take a value from", *_SOURCES)),
    "ExecAction": containers.command,
    "JobSetSpec": _job_set,
    "JobSpec": jobs.job,
    "LabelSelectorRequirement": _requirement,
    "LifecycleHandler": one_of("nothing to do", "exec", "httpGet", "sleep", "tcpSocket"),
    "NodeSelector": _node_selector,
    "NodeSelectorRequirement": _node_requirement,
    "PodAffinityTerm": _over_nodes,
    "PodFailurePolicyOnExitCodesRequirement": jobs.exit_codes,
    "PodFailurePolicyRule": jobs.failure_rule,
    "PodResourceClaim": one_of("no claim", "resourceClaimName", "resourceClaimTemplateName"),
    "PodSpec": _pod,
    "Probe": _all(containers.probe, one_of("nothing to probe with", "exec", "grpc", "httpGet", "tcpSocket")),
    "PyTorchJobSpec": _elastic,
    "RayJobSpec": _ray_job,
    "RayServiceSpec": _ray_service,
    "ResourceRequirements": _resources,
    "RollingUpdateDeployment": jobs.rolling_pods,
    "RollingUpdateStatefulSetStrategy": jobs.rolling_members,
    "SeccompProfile": containers.profile,
    "SecurityContext": containers.security,
    "StatefulSetSpec": jobs.endless,
    "StatefulSetUpdateStrategy": jobs.rolling,
    "Toleration": _toleration,
    "TopologySpreadConstraint": _over_nodes,
    "Volume": _volume,
    "VolumeMount": containers.mount,
    "VolumeProjection": one_of("nothing to project", *_PROJECTED),
    "WorkerGroupSpec": _ray_group,
    **{f"{kind.removesuffix('Job')}ReplicaSpecs": _replica_types(kind) for kind in {**CONTAINER_NAMES, **LEADERS}},
}
"""What checks a mapping, by its type."""
