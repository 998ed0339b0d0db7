"""Checks demands of KAI's webhooks and scheduler on related objects, beyond their schemas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from kubectl_tas.facts import kai
from kubectl_tas.facts.kai import Feature

Object = dict[str, Any]


def refusals(objects: Sequence[Object], version: str) -> list[str]:
    """Returns why a cluster with KAI ``version`` refuses these objects, each as ``kind/name: reason``."""
    release = kai.release(version)
    assert release is not None
    return [
        f"{item['kind']}/{item['metadata']['name']}: {reason}"
        for item in objects
        for reason in _REASONS.get(item["kind"], _none)(item, objects, release)
    ]


def _none(_item: Object, _objects: Sequence[Object], _release: kai.Release) -> Iterator[str]:
    yield from ()


def _queue(queue: Object, objects: Sequence[Object], release: kai.Release) -> Iterator[str]:
    """Every parent must exist, no queue may be its own ancestor, and before 0.13 there are at most two levels."""
    parents = {item["metadata"]["name"]: item["spec"].get("parentQueue") for item in objects if item["kind"] == "Queue"}
    line = [queue["metadata"]["name"]]
    while (parent := parents[line[-1]]) is not None:
        if parent not in parents:
            yield f"the parent {parent} does not exist"
            return
        if parent in line:
            yield "is its own ancestor"
            return
        line.append(parent)
    if len(line) > 2 and not release.has(Feature.DEEP_QUEUES):
        yield f"has {len(line)} levels; KAI {release.version} knows 2"


def _topology(topology: Object, _objects: Sequence[Object], _release: kai.Release) -> Iterator[str]:
    """An alias must be unique, and must not be a node label of the same Topology."""
    levels = topology["spec"]["levels"]
    labels = {level["nodeLabel"] for level in levels}
    for alias, uses in Counter(level["alias"] for level in levels if "alias" in level).items():
        if uses > 1:
            yield f"the alias {alias} is not unique"
        if alias in labels:
            yield f"the alias {alias} is a nodeLabel"


def _pod_group(group: Object, _objects: Sequence[Object], release: kai.Release) -> Iterator[str]:
    """SubGroups must form a tree. From 0.15 on, every leaf must have minMember, and no other SubGroup may."""
    sub_groups = group["spec"].get("subGroups", [])
    names = [sub_group["name"] for sub_group in sub_groups]
    parents = {sub_group["name"]: sub_group.get("parent") for sub_group in sub_groups}
    if len(parents) < len(names):
        yield "SubGroup names are not unique"
    yield from _minimums(group["spec"], "the PodGroup")
    for sub_group in sub_groups:
        name = sub_group["name"]
        yield from _minimums(sub_group, f"SubGroup {name}")
        if name != name.lower() or len(name) > 63:
            yield f"SubGroup {name} is no lower-case label"
        if parents[name] is not None and parents[name] not in parents:
            yield f"the parent {parents[name]} of SubGroup {name} does not exist"
        if _is_cyclic(name, parents):
            yield f"SubGroup {name} is its own ancestor"
        has_children = name in parents.values()
        if release.has(Feature.STRICT_MIN_MEMBER) and has_children and "minMember" in sub_group:
            yield f"SubGroup {name} has children and minMember"
        if release.has(Feature.STRICT_MIN_MEMBER) and not has_children and "minMember" not in sub_group:
            yield f"SubGroup {name} is a leaf without minMember"


def _minimums(spec: dict[str, Any], what: str) -> Iterator[str]:
    if "minMember" in spec and "minSubGroup" in spec:
        yield f"{what} has both minMember and minSubGroup"


def _is_cyclic(name: str, parents: dict[str, str | None]) -> bool:
    seen = {name}
    above = parents[name]
    while above in parents and above not in seen:
        seen.add(above)
        above = parents[above]
    return above == name


def _pod(pod: Object, objects: Sequence[Object], release: kai.Release) -> Iterator[str]:
    """The pod's gang, SubGroup and queue must exist. The skip annotation must be present exactly if KAI reads it."""
    metadata = pod["metadata"]
    name = metadata.get("annotations", {}).get("pod-group-name")
    groups = {item["metadata"]["name"]: item for item in objects if item["kind"] == "PodGroup"}
    if name is None and "kubectl-tas/pool" in metadata.get("labels", {}):
        return  # a Pod by itself: KAI makes its PodGroup
    if name not in groups:
        yield f"the PodGroup {name} does not exist"
        return
    group = groups[name]
    if group["metadata"]["namespace"] != metadata["namespace"]:
        yield f"the PodGroup {name} is in another namespace"
    leaves = _leaf_queues(objects)
    queue = metadata.get("labels", {}).get("kai.scheduler/queue")
    rendered = {item["metadata"]["name"] for item in objects if item["kind"] == "Queue"}
    is_elsewhere = queue is not None and queue not in rendered and bool(rendered)
    if (queue not in leaves and not is_elsewhere) or group["spec"]["queue"] != queue:
        yield f"the queue {queue} is no leaf, or not that of the PodGroup"
    sub_group = metadata["labels"].get("kai.scheduler/subgroup-name")
    sub_groups = {item["name"]: item for item in group["spec"].get("subGroups", [])}
    parents = {item.get("parent") for item in sub_groups.values()}
    if (sub_groups or sub_group) and (sub_group not in sub_groups or sub_group in parents):
        yield f"the SubGroup {sub_group} is no leaf of {name}"
    skips = metadata["annotations"].get("kai.scheduler/skip-podgrouper") == "true"
    if skips != release.has(Feature.SKIP_PODGROUPER):
        yield "skip-podgrouper stands where it is not read, or is missing where it is"


def _leaf_queues(objects: Sequence[Object]) -> set[str]:
    queues = {item["metadata"]["name"]: item["spec"].get("parentQueue") for item in objects if item["kind"] == "Queue"}
    return queues.keys() - set(queues.values())


_REASONS = {"Queue": _queue, "Topology": _topology, "PodGroup": _pod_group, "Pod": _pod}
