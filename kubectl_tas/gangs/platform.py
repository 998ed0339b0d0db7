"""What the platform of a task makes of its pod: pod templates and mounts are put over what the task itself says."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kubectl_tas.gangs.gang import Member
from kubectl_tas.gangs.podspec import away_from, pod_spec, tolerated
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.platforms import Merged
from kubectl_tas.resolve.workflows import FleetTask, FleetWorkflow

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_LISTS = ("containers", "initContainers", "volumes", "tolerations")
_LISTS_OF_CONTAINERS = ("env", "volumeMounts", "command", "args")


def member_of(fleet: Fleet, workflow: FleetWorkflow, task: FleetTask) -> Member:
    """The pod of a task, as without its pod templates where they make none, which check.task_platforms refuses."""
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
    """What the task, its resource and the nodes of its platform say."""
    priority_class = getattr(fleet.config.priorityClasses, workflow.priority)
    scheduler = workflow.pool.backend.scheduler_name
    return pod_spec(task.spec, task.resource.spec, scheduler, priority_class, task.platform.nodes)


def on_platform(task: FleetTask, spec: dict[str, Any]) -> Merged:
    """The pod of a task, of which ``spec`` is its own, with metadata where pod templates have any.

    OSMO leaves amounts, and hosts that a task keeps away from, to pod templates. Here amounts hold of which templates
    say nothing, and such hosts beside what they say of nodes.
    """
    own = {name: part for name, part in spec.items() if name != "affinity"}
    own["containers"] = [_without(spec["containers"][0], task.template.amounts_of(task.container))]
    pod = Merged({"spec": own})
    pod.put(task.template.data, task.template.at)
    made = pod.data["spec"]
    if not is_pod(made):
        return pod
    if "affinity" in spec:
        made["affinity"] = _both(made.get("affinity"), away_from(task.resource.spec.nodesExcluded))
    made["containers"] = [_without_empty_values(container) for container in made["containers"]]
    if made.get("tolerations"):
        made["tolerations"] = tolerated(made["tolerations"])
    _mount(made, task)
    return pod


def _without(container: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """A container that does not ask for certain resources itself."""
    amounts: dict[str, str] = container.get("resources", {}).get("limits", {})
    left = {name: value for name, value in amounts.items() if name not in names}
    if left == amounts:
        return container
    others = {key: part for key, part in container.items() if key != "resources"}
    return {**others, "resources": {"limits": left, "requests": left}} if left else others


def _without_empty_values(container: dict[str, Any]) -> dict[str, Any]:
    """An API server leaves the empty value of a variable out, and kubectl would add it for ever."""
    if not any(item.get("value") == "" for item in container.get("env", [])):
        return container
    variables = ({k: v for k, v in item.items() if (k, v) != ("value", "")} for item in container["env"])
    return {**container, "env": list(variables)}


def is_pod(spec: dict[str, Any]) -> bool:
    """Whether a spec is so shaped that more can be put into it."""
    containers = spec.get("containers")
    if not isinstance(containers, list) or not containers or not isinstance(spec.get("affinity", {}), dict):
        return False
    lists = [spec.get(name, []) for name in _LISTS]
    lists += [item.get(name, []) for item in containers if isinstance(item, dict) for name in _LISTS_OF_CONTAINERS]
    if not all(isinstance(found, list) for found in lists):
        return False
    items = [item for name in _LISTS for item in spec.get(name, [])]
    variables = [item for container in containers if isinstance(container, dict) for item in container.get("env", [])]
    return all(isinstance(item, dict) for item in (*items, *variables))


def _both(affinity: dict[str, Any] | None, away: dict[str, Any]) -> dict[str, Any]:
    """An affinity of pod templates, and beside each of its terms for nodes the one that keeps away from hosts. What is
    not as an API server has it stays as it is: check.task_platforms refuses it.
    """
    own = (affinity or {}).get("nodeAffinity") or {}
    required = (own.get(_REQUIRED) or {}) if isinstance(own, dict) else None
    terms = (required.get("nodeSelectorTerms") or []) if isinstance(required, dict) else None
    if not isinstance(own, dict) or not isinstance(required, dict) or not isinstance(terms, list):
        return affinity or away
    (term,) = away["nodeAffinity"][_REQUIRED]["nodeSelectorTerms"]
    both = [_with(item, term["matchExpressions"][0]) for item in terms] or [term]
    return {**(affinity or {}), "nodeAffinity": {**own, _REQUIRED: {**required, "nodeSelectorTerms": both}}}


def _with(term: Any, condition: dict[str, Any]) -> Any:
    found = term.get("matchExpressions", []) if isinstance(term, dict) else None
    if not isinstance(found, list) or condition in found:
        return term
    return {**term, "matchExpressions": [*found, condition]}


def _mount(spec: dict[str, Any], task: FleetTask) -> None:
    """The paths of nodes that its platform mounts into every task, but where something is mounted already."""
    container = spec["containers"][0]
    there = {mount.get("mountPath") for mount in container.get("volumeMounts", []) if isinstance(mount, dict)}
    wanted = [path for path in task.platform.spec.default_mounts if path not in there]
    if wanted:
        named = [(f"platform-{index}", path) for index, path in enumerate(dict.fromkeys(wanted))]
        mounts = [{"name": name, "mountPath": path} for name, path in named]
        volumes = [{"name": name, "hostPath": {"path": path}} for name, path in named]
        container = {**container, "volumeMounts": [*container.get("volumeMounts", []), *mounts]}
        spec["containers"] = [container, *spec["containers"][1:]]
        spec["volumes"] = [*spec.get("volumes", []), *volumes]
