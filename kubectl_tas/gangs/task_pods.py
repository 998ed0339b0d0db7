"""Builds the spec of a task's pod as data, from the task and its resource, with its deadline and its exit actions.

The names of a gang and of its pods end in a hash of this data. So the data has no such name, and no field that the
manifest leaves out. Timeouts and exit actions mean what they mean in OSMO (src/utils/job/workflow.py, jobs.py of its
repository). Kubernetes expresses exit actions in the podFailurePolicy of a Job.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.facts.gpus import VISIBLE_DEVICES
from kubectl_tas.gangs.gang import Member
from kubectl_tas.gangs.task_files import OUTPUT, with_mounts
from kubectl_tas.model.base import MAX_COUNT
from kubectl_tas.model.osmo_workflow import Resource, Task, Timeout
from kubectl_tas.model.platform import Nodes
from kubectl_tas.model.pool_kinds import PoolSpec
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.platforms import Merged
from kubectl_tas.resolve.workflows import FleetTask, FleetWorkflow

_HOSTNAME = "kubernetes.io/hostname"
_FILLED_IN = tuple(
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
)
"""Tolerations that an API server adds to every pod (Kubernetes 1.35, plugin/pkg/admission/defaulttolerationseconds)."""


def pod_spec(task: Task, resource: Resource, scheduler: str, priority_class: str, nodes: Nodes) -> dict[str, Any]:
    """Returns the ``PodSpec``, as data, for what ``task`` runs and asks for. ``nodes`` is the pool's rule for nodes."""
    mounted = [*_mounted(task)]
    spec: dict[str, Any] = {
        "schedulerName": scheduler,
        "priorityClassName": priority_class,
        "restartPolicy": "Never",
        "containers": [_container(task, resource, [mount for _, mount in mounted])],
    }
    if task.hostNetwork:
        spec |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    if nodes.selector:
        spec["nodeSelector"] = nodes.selector
    if nodes.tolerations:
        spec["tolerations"] = tolerated([toleration.data for toleration in nodes.tolerations])
    if resource.nodesExcluded:
        spec["affinity"] = away_from(resource.nodesExcluded)
    if mounted:
        spec["volumes"] = [volume for volume, _ in mounted]
    return spec


def _mounted(task: Task) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yields a volume and its mount for each folder of the node and each secret in a task's container."""
    for index, mount in enumerate(task.volumeMounts):
        node, path = mount.partition(":")[0], mount.rpartition(":")[2]
        yield {"name": f"host-{index}", "hostPath": {"path": node}}, {"name": f"host-{index}", "mountPath": path}
    for secret, path in mounted_secrets(task).items():
        name = names.as_label(f"secret-{names.fold(secret)}")
        source = {"secretName": names.fold(secret), "defaultMode": 0o644}
        yield {"name": name, "secret": source}, {"name": name, "mountPath": path, "readOnly": True}


def mounted_secrets(task: Task) -> dict[str, str]:
    """Returns the credentials of a task that are folders in its container, by name; the others are variables."""
    return {name: value for name, value in task.credentials.items() if isinstance(value, str)}


def tolerated(tolerations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds the tolerations that a server would add: kubectl and Argo CD compare the whole list in each apply."""
    every = (None, "")
    keys = [toleration.get("key") for toleration in tolerations if toleration.get("effect") in (*every, "NoExecute")]
    missing = (default for default in _FILLED_IN if not any(key in (*every, default["key"]) for key in keys))
    return [*tolerations, *missing]


def _container(task: Task, resource: Resource, mounts: list[dict[str, Any]]) -> dict[str, Any]:
    container: dict[str, Any] = {"name": names.shorten(names.fold(task.name)), "image": task.image}
    if task.command:
        container["command"] = [str(word) for word in task.command]
    if task.args:
        container["args"] = [str(word) for word in task.args]
    if variables := [*_variables(task), *_gpu_hiding(task, resource)]:
        container["env"] = variables
    if amounts := resource.amounts:  # requests equal limits: what a gang holds is what its queue is charged for
        container["resources"] = {"limits": amounts, "requests": amounts}
    if task.privileged:
        container["securityContext"] = {"privileged": True}
    if mounts:
        container["volumeMounts"] = mounts
    return container


def _variables(task: Task) -> Iterator[dict[str, Any]]:
    for name, value in task.environment.items():
        yield {"name": name, "value": str(value)}
    for secret, keys in task.credentials.items():
        for name, key in keys.items() if isinstance(keys, dict) else ():
            yield {"name": name, "valueFrom": {"secretKeyRef": {"name": names.fold(secret), "key": str(key)}}}


def _gpu_hiding(task: Task, resource: Resource) -> Iterator[dict[str, Any]]:
    """Yields a variable that hides GPUs from tasks without any (``to_pod_container``, OSMO's src/utils/job/task.py)."""
    secret_variables = (name for keys in task.credentials.values() if isinstance(keys, dict) for name in keys)
    if not resource.asks.gpu and VISIBLE_DEVICES not in (*task.environment, *secret_variables):
        yield {"name": VISIBLE_DEVICES, "value": ""}


def with_output(spec: dict[str, Any]) -> dict[str, Any]:
    """Returns the spec of a pod with a folder for output, which is deleted with the pod."""
    volume = {"name": "task-output", "emptyDir": dict[str, str]()}
    return with_mounts(spec, [volume], [{"name": volume["name"], "mountPath": OUTPUT}])


def away_from(hosts: Iterable[str]) -> dict[str, Any]:
    """Returns the affinity that keeps a pod away from nodes with these host names."""
    condition = {"key": _HOSTNAME, "operator": "NotIn", "values": list(dict.fromkeys(hosts))}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [condition]}]}
    return {"nodeAffinity": {_REQUIRED: terms}}


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_LISTS = ("containers", "initContainers", "volumes", "tolerations")
_LISTS_OF_CONTAINERS = ("env", "volumeMounts", "command", "args")


def member_of(fleet: Fleet, workflow: FleetWorkflow, task: FleetTask) -> Member:
    """Returns the pod of a task. Ignores pod templates that make no valid pod; check.task_platforms refuses these."""
    if task.platform.is_plain:
        return Member(task.name, task.asks.gpu, spec=own_spec(fleet, workflow, task))
    pod = on_platform(task, own_spec(fleet, workflow, task)).data
    if not is_pod(pod["spec"]):
        return Member(task.name, task.asks.gpu, spec=own_spec(fleet, workflow, task))
    meta = pod.get("metadata", {})
    return Member(
        task.name,
        task.asks.gpu,
        spec=pod["spec"],
        labels=meta.get("labels", {}),
        annotations=meta.get("annotations", {}),
        is_open=bool(task.platform.templates),
    )


def own_spec(fleet: Fleet, workflow: FleetWorkflow, task: FleetTask) -> dict[str, Any]:
    """Returns the spec by the task, its resource and the nodes of its platform."""
    priority_class = getattr(fleet.config.priorityClasses, workflow.priority)
    scheduler = workflow.pool.backend.scheduler_name
    return pod_spec(task.spec, task.resource.spec, scheduler, priority_class, task.platform.nodes)


def on_platform(task: FleetTask, spec: dict[str, Any]) -> Merged:
    """Returns the pod of a task, with metadata if pod templates have any; ``spec`` is the task's own spec.

    OSMO leaves amounts, and hosts that a task avoids, to pod templates. Here the task's amounts hold if templates say
    nothing of them, and the avoided hosts are added to the templates' rules for nodes.
    """
    own_spec_fields = {name: value for name, value in spec.items() if name != "affinity"}
    own_spec_fields["containers"] = [_without_amounts(spec["containers"][0], task.template.amounts_of(task.container))]
    pod = Merged({"spec": own_spec_fields})
    pod.put(task.template.data, task.template.at)
    spec_on_platform = pod.data["spec"]
    if not is_pod(spec_on_platform):
        return pod
    if "affinity" in spec:
        away = away_from(task.resource.spec.nodesExcluded)
        spec_on_platform["affinity"] = _with_avoided_hosts(spec_on_platform.get("affinity"), away)
    spec_on_platform["containers"] = [_without_empty_values(container) for container in spec_on_platform["containers"]]
    if spec_on_platform.get("tolerations"):
        spec_on_platform["tolerations"] = tolerated(spec_on_platform["tolerations"])
    # The platform mounts paths of the node into every task, unless something is mounted there already.
    written_mounts = spec_on_platform["containers"][0].get("volumeMounts", [])
    mounted_paths = {mount.get("mountPath") for mount in written_mounts if isinstance(mount, dict)}
    paths = dict.fromkeys(path for path in task.platform.spec.default_mounts if path not in mounted_paths)
    named = [(f"platform-{index}", path) for index, path in enumerate(paths)]
    volumes = [{"name": name, "hostPath": {"path": path}} for name, path in named]
    mounts = [{"name": name, "mountPath": path} for name, path in named]
    pod.data["spec"] = with_mounts(spec_on_platform, volumes, mounts)
    return pod


def _without_amounts(container: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Returns a container without its own requests for certain resources."""
    amounts: dict[str, str] = container.get("resources", {}).get("limits", {})
    remaining_amounts = {name: value for name, value in amounts.items() if name not in names}
    if remaining_amounts == amounts:
        return container
    other_fields = {key: value for key, value in container.items() if key != "resources"}
    resources = {"limits": remaining_amounts, "requests": remaining_amounts}
    return {**other_fields, "resources": resources} if remaining_amounts else other_fields


def _without_empty_values(container: dict[str, Any]) -> dict[str, Any]:
    """Removes empty values of variables: an API server leaves them out, and kubectl would add them in each apply."""
    if not any(variable.get("value") == "" for variable in container.get("env", [])):
        return container
    variables = ({k: v for k, v in variable.items() if (k, v) != ("value", "")} for variable in container["env"])
    return {**container, "env": list(variables)}


def is_pod(spec: dict[str, Any]) -> bool:
    """Whether the shape of a spec allows adding more to it."""
    lists = [spec.get(name, []) for name in _LISTS]
    if not spec.get("containers") or not isinstance(spec.get("affinity", {}), dict):
        return False
    if not all(isinstance(value, list) and all(isinstance(member, dict) for member in value) for value in lists):
        return False
    inner_lists = [container.get(name, []) for container in spec["containers"] for name in _LISTS_OF_CONTAINERS]
    variables = (variable for container in spec["containers"] for variable in container.get("env", []))
    return all(isinstance(x, list) for x in inner_lists) and all(isinstance(variable, dict) for variable in variables)


def _with_avoided_hosts(affinity: dict[str, Any] | None, away: dict[str, Any]) -> dict[str, Any]:
    """Adds to each node term of a pod template's affinity the condition that avoids hosts. An affinity that an API
    server would not have stays as it is: check.task_platforms refuses it.
    """
    node_affinity = (affinity or {}).get("nodeAffinity") or {}
    required = (node_affinity.get(_REQUIRED) or {}) if isinstance(node_affinity, dict) else None
    terms = (required.get("nodeSelectorTerms") or []) if isinstance(required, dict) else None
    if not isinstance(node_affinity, dict) or not isinstance(required, dict) or not isinstance(terms, list):
        return affinity or away
    (term,) = away["nodeAffinity"][_REQUIRED]["nodeSelectorTerms"]
    combined_terms = [_with_condition(own_term, term["matchExpressions"][0]) for own_term in terms] or [term]
    node_affinity = {**node_affinity, _REQUIRED: {**required, "nodeSelectorTerms": combined_terms}}
    return {**(affinity or {}), "nodeAffinity": node_affinity}


def _with_condition(term: Any, condition: dict[str, Any]) -> Any:
    conditions = term.get("matchExpressions", []) if isinstance(term, dict) else None
    if not isinstance(conditions, list) or condition in conditions:
        return term
    return {**term, "matchExpressions": [*conditions, condition]}


CODES = range(1, 256)
"""Codes with which a container can fail; larger codes are OSMO's own."""
_UNITS = {
    "d": Fraction(86400),
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
}
_NUMBER = late_pattern(r"([0-9]+)(d|h|m|s|ms|us)")
_ISO = late_pattern(r"P(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?")
_EVICTED = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
"""Rule that recreates a pod as often as needed, if its node or an eviction took the pod away."""
_KILLED = (137, 143)
"""Codes of containers that SIGKILL and SIGTERM end. KAI preempts a pod by deleting it, and gives the pod the condition
DisruptionTarget only with ``--update-pod-eviction-condition``, which is off by default (default_evictor.go, 0.17).
"""


def seconds(duration: str | int | float) -> int:
    """Returns whole seconds, rounded up, of a time as OSMO reads it: a number and its unit, seconds, or ISO 8601."""
    if not isinstance(duration, str):
        return math.ceil(duration)
    if number_and_unit := _NUMBER.fullmatch(duration):
        return math.ceil(int(number_and_unit[1]) * _UNITS[number_and_unit[2]])
    iso = _ISO.fullmatch(duration)
    if iso is None:
        raise ValueError(f"not a time: {duration!r}")
    amounts = zip(iso.groups(), "dhms", strict=True)
    return math.ceil(sum(Fraction(number or "0") * _UNITS[unit] for number, unit in amounts))


def deadline(timeout: Timeout, pool: PoolSpec) -> dict[str, int]:
    """Returns what ends a pod after its workflow's time, else its pool's default, at most its maximum; 0: nothing."""
    most = seconds(pool.max_exec_timeout or 0) or MAX_COUNT
    limit = seconds(timeout.exec_timeout or 0) or min(seconds(pool.default_exec_timeout or 0) or most, most)
    return {} if limit >= MAX_COUNT else {"activeDeadlineSeconds": limit}


@dataclass(frozen=True, slots=True)
class CodeRange:
    """Exit codes from ``first`` to ``last``, with their action."""

    action: str
    """Action, as written in the file."""
    text: str
    """Range, as written in the file: 1-10."""
    first: int
    last: int

    @property
    def does(self) -> str:
        """The action in capitals: COMPLETE, FAIL or RESCHEDULE."""
        return self.action.upper()


def code_ranges(actions: Mapping[str, str | int]) -> tuple[CodeRange, ...]:
    """Returns all ranges of exit codes as written; if two ranges have the same code, the first one counts."""
    ranges = []
    for action, codes in actions.items():
        for text in str(codes).split(","):
            first_code, _, last_code = text.partition("-")
            ranges.append(CodeRange(action, text, int(first_code), int(last_code or first_code)))
    return tuple(ranges)


def actions_by_code(ranges: Iterable[CodeRange]) -> dict[int, CodeRange]:
    """Returns the range of each exit code of a container, 0 included; leaves out codes without a range."""
    range_by_code: dict[int, CodeRange] = {}
    for code_range in ranges:
        for code in range(code_range.first, min(code_range.last, CODES[-1]) + 1):
            range_by_code.setdefault(code, code_range)
    return range_by_code


def rescheduled(task: Task, pool: PoolSpec, *, is_preemptible: bool = False) -> tuple[int, ...]:
    """Returns the codes after which a failed container runs again. Actions of the task come before actions of the pool.
    If KAI may preempt the task, includes the codes of killed containers, unless an action names them.
    """
    ranges = (*code_ranges(task.exitActions), *code_ranges(pool.default_exit_actions))
    by_code = actions_by_code(ranges)
    rescheduled_codes = {
        code for code, code_range in by_code.items() if code in CODES and code_range.does == "RESCHEDULE"
    }
    return tuple(sorted(rescheduled_codes.union(code for code in _KILLED if is_preemptible and code not in by_code)))


def job(task: Task, pool: PoolSpec, retries: int, *, is_preemptible: bool = False) -> dict[str, Any]:
    """Returns the ``JobSpec`` of a task without template: ``retries`` are for rescheduled codes; others fail it."""
    codes = rescheduled(task, pool, is_preemptible=is_preemptible)
    rules = list[dict[str, Any]]([_EVICTED])
    if 0 < len(codes) < len(CODES):
        on = {"containerName": names.shorten(names.fold(task.name)), "operator": "NotIn", "values": list(codes)}
        rules.append({"action": "FailJob", "onExitCodes": on})
    return {"backoffLimit": retries if codes else 0, "podFailurePolicy": {"rules": rules}}
