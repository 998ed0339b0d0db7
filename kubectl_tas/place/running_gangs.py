"""The gangs that hold nodes: objects of a cluster in, the pods of each PodGroup with its queue and priority out.

Follows KAI 0.17 (``setPodGroupPriorityAndPreemptibility`` of pkg/scheduler/cache/cluster_info/cluster_info.go, and
pkg/common/podgroup/preemptible.go): a PodGroup's priority is that of its class, and it can be preempted if it says so,
or says nothing and its priority is below 100. Where the PodGroup is not among the objects, its pods tell: by their
labels, and by the priority that they were given with their class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from kubectl_tas.errors import TasError
from kubectl_tas.live.kubectl import STATE, shown, text_of
from kubectl_tas.model.labels import POD_GROUP, PREEMPTIBILITY, QUEUE, RUNAI_QUEUE, SUBGROUP
from kubectl_tas.place.node_resources import ENDED, Vector, requests
from kubectl_tas.place.queues import counted
from kubectl_tas.place.shapes import Shape, shape_of, unpredicted
from kubectl_tas.quantities import Amounts, total
from kubectl_tas.records import dataclass

DEFAULT_PRIORITY = 50
"""Of a PodGroup whose class is not known."""
CREATED = "creationTimestamp"
NON_PREEMPTIBLE = 100
"""From this priority on a PodGroup that says nothing cannot be preempted."""


@dataclass(frozen=True)
class HeldPod:
    """A pod of a gang."""

    name: str
    sub_group: str
    """Empty where it names none."""
    node: str | None
    """None: it waits."""
    asks: Vector
    shape: Shape | None
    """None where nobody knows which other nodes it may use."""


@dataclass(frozen=True, eq=False)
class Held:
    """A gang with pods on nodes."""

    name: str
    """Of its PodGroup, which KAI knows without its namespace."""
    queue: str | None
    """None where nothing tells."""
    priority: int
    is_preemptible: bool
    created: str
    """When it was made, or the first of its pods, as Kubernetes writes it; empty where that is not known."""
    pods: tuple[tuple[str, Vector], ...]
    """The node of each, and what it takes there."""
    is_new: bool = False
    """Whether it waited until now; then ``created`` is its place among those that wait."""
    namespace: str = ""
    """Of the first of its pods; empty of what waited until now."""
    members: tuple[HeldPod, ...] = ()
    """All its pods, those that wait too, in the order in which KAI takes them."""
    least: Mapping[str, int] | None = None
    """How many of them it needs, by SubGroup, under "" those that are in none; None where that is not known."""
    is_free: bool = False
    """Whether its PodGroup is known, and asks for no level."""

    @property
    def rank(self) -> tuple[int, bool, tuple[str, str]]:
        """Where it comes among those of its queue: by priority, then by age."""
        return -self.priority, self.is_new, (self.created, self.name)

    @property
    def nodes(self) -> list[str]:
        """Where it is, sorted: each node as often as it has a pod there."""
        return sorted(node for node, _ in self.pods)

    @cached_property
    def asks(self) -> Amounts:
        """What all its pods hold."""
        return total(counted(asked) for _, asked in self.pods)


def held_gangs(items: Iterable[Mapping[str, Any]]) -> tuple[Held, ...]:
    """The gangs by name. Raises TasError for a pod, PodGroup or PriorityClass that cannot be read."""
    pods: dict[str, list[Mapping[str, Any]]] = {}
    items = list(items)
    is_whole = not any(item.get("kind") == STATE for item in items)  # a record has no selectors
    groups: dict[str, Mapping[str, Any]] = {}
    classes: dict[str, int] = {}
    for item in items:
        kind = item.get("kind")
        if kind not in ("Pod", "PodGroup", "PriorityClass"):
            continue
        try:
            name = text_of(item["metadata"]["name"])
            if kind == "PodGroup":
                groups[name] = {**(item.get("spec") or {}), CREATED: item["metadata"].get(CREATED)}
            elif kind == "PriorityClass":
                classes[name] = _whole(item["value"])
            elif (item.get("status") or {}).get("phase") not in ENDED and "containers" in (item.get("spec") or {}):
                group = (item["metadata"].get("annotations") or {}).get(POD_GROUP)
                if group:
                    pods.setdefault(str(group), []).append(item)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            hint = f"It must be what `kubectl get {str(kind).lower()}s -o json` prints."
            raise TasError(f"a {kind} of the cluster cannot be read", hint=hint) from error
    try:
        return tuple(
            _held(name, own, groups.get(name, {}), classes, is_whole=is_whole)
            for name, own in sorted(pods.items())
            if any(pod["spec"].get("nodeName") for pod in own)
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        hint = "They must be what `kubectl get pods -A -o json` prints."
        raise TasError("the pods of a PodGroup cannot be read", hint=hint) from error


def _held(
    name: str,
    all_pods: Sequence[Mapping[str, Any]],
    group: Mapping[str, Any],
    classes: Mapping[str, int],
    *,
    is_whole: bool,
) -> Held:
    pods = [pod for pod in all_pods if pod["spec"].get("nodeName")]
    first = pods[0]
    labels, spec = first["metadata"].get("labels") or {}, first["spec"]
    queue = group.get("queue") or labels.get(QUEUE) or labels.get(RUNAI_QUEUE)
    written = group.get("priorityClassName") or spec.get("priorityClassName")
    priority = classes.get(str(written))
    if priority is None:
        priority = _whole(spec["priority"]) if written and spec.get("priority") is not None else DEFAULT_PRIORITY
    told = group.get("preemptibility") or labels.get(PREEMPTIBILITY)
    return Held(
        name,
        str(queue) if queue else None,
        priority,
        told == "preemptible" if told in ("preemptible", "non-preemptible") else priority < NON_PREEMPTIBLE,
        str(group.get(CREATED) or min(str(pod["metadata"].get(CREATED) or "") for pod in pods)),
        tuple((str(pod["spec"]["nodeName"]), requests(pod["spec"])) for pod in pods),
        namespace=str(first["metadata"].get("namespace") or "default"),
        members=tuple(_member(pod, is_whole=is_whole) for pod in sorted(all_pods, key=_order)),
        least=_least(group),
        is_free=bool(group.get("queue")) and is_whole and not _asks_for_level(group),
    )


def _order(pod: Mapping[str, Any]) -> tuple[str, str, str]:
    """In which KAI takes the pods of a gang: by age, then by UID."""
    about = pod["metadata"]
    return str(about.get(CREATED) or ""), str(about.get("uid") or ""), str(about.get("name"))


def _member(pod: Mapping[str, Any], *, is_whole: bool) -> HeldPod:
    about, spec = pod["metadata"], pod["spec"]
    node = spec.get("nodeName")
    own = {key: value for key, value in spec.items() if key != "nodeName"}
    is_known = is_whole and not unpredicted(own, about.get("annotations") or {})
    return HeldPod(
        str(about.get("name")),
        str((about.get("labels") or {}).get(SUBGROUP) or ""),
        str(node) if node else None,
        requests(spec),
        shape_of(own) if is_known else None,
    )


def _least(group: Mapping[str, Any]) -> Mapping[str, int] | None:
    parts = group.get("subGroups") or ()
    above = {part.get("parent") for part in parts}
    if parts:
        return {str(part["name"]): int(part.get("minMember", 1)) for part in parts if part["name"] not in above}
    return {"": int(group["minMember"])} if group.get("minMember") is not None else None


def _asks_for_level(group: Mapping[str, Any]) -> bool:
    return any(part.get("topologyConstraint") for part in (group, *(group.get("subGroups") or ())))


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise ValueError(f"{shown(value)} is no priority")
    return value
