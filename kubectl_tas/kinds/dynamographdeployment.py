"""Describes Dynamo's DynamoGraphDeployment. Source: Dynamo 1.2, ``v1alpha1`` and ``v1beta1``, and
deploy/operator/internal/consts/consts.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_tas.facts.gpus import Gpus
from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, first_pod
from kubectl_tas.kinds.naming import IN_SERVICE, SERVICES, Alphabet, Names, Naming, PartNaming, longest
from kubectl_tas.kinds.section import Document, Section, mappings, value_at
from kubectl_tas.model import labels

_COMPONENTS, _SERVICES = "spec.components[]", "spec.services.*"
_MAX_SURGE = "nvidia.com/deployment-rolling-update-max-surge"
_BY_ADAPTER, _NO_ADAPTER = " by the scaling adapter", "Remove it, and write as many replicas as are needed."


def _graph(growing: page.Growing, spec: Section) -> Iterator[page.Grown]:
    """Yields the growth of a graph (deploy/operator/api/v1alpha1 and v1beta1). Releases that made an autoscaler of
    ``autoscaling`` are older.
    """
    named: dict[object, Gpus] = {}
    for pods in growing.pods:
        where = pods.path[:3]  # the podTemplate of v1beta1 is one below its component
        fields = Section(growing.document, where)
        named[fields.get("name")] = named.get(fields.get("name"), 0) + pods.replicas * pods.gpus
        yield from _component(pods, fields)
        if "planner" in (fields.get("type"), fields.get("componentType")):
            hint = "Remove it, or scale the components by hand."
            largest = max(pods_of_kind.gpus for pods_of_kind in growing.pods)
            count = sum(pods_of_kind.replicas for pods_of_kind in growing.pods)
            yield page.Grown(where, count, None, largest, "the pods", " by the planner", hint)
    for group in spec.below("experimental").each("componentGroups"):
        grown_parts, count = f"the replicas of {group.get('name')}", group.get("replicas")
        gpus = sum(named.get(component.get("name"), 0) for component in group.each("components"))
        if type(count) is int:
            yield page.Grown((*group.path, "replicas"), 1, count, gpus, grown_parts, hint="Write 1.")
        if group.get("scalingAdapter") is not None:
            yield page.Grown((*group.path, "scalingAdapter"), 1, None, gpus, grown_parts, _BY_ADAPTER, _NO_ADAPTER)


def _component(pods: page.GrowingPods, fields: Section) -> Iterator[page.Grown]:
    """Yields the growth of a component, whose replicas may have several pods each."""
    nodes = fields.below("multinode").get("nodeCount", 2) if isinstance(fields.get("multinode"), dict) else 1
    nodes = nodes if type(nodes) is int and nodes > 0 else 1
    start, gpus, grown_parts = pods.replicas // nodes, nodes * pods.gpus, f"the replicas of {pods.written}"
    autoscaling, most = fields.below("autoscaling"), fields.below("autoscaling").get("maxReplicas")
    if autoscaling.get("enabled") is True and type(most) is int:
        yield page.Grown((*autoscaling.path, "maxReplicas"), start, most, gpus, grown_parts)
    adapter = fields.get("scalingAdapter")
    if isinstance(adapter, dict) and adapter.get("enabled", True):
        yield page.Grown((*fields.path, "scalingAdapter"), start, None, gpus, grown_parts, _BY_ADAPTER, _NO_ADAPTER)
    for snapshot in (fields.below("checkpoint"), fields.below("experimental", "checkpoint")):
        is_made = snapshot.get("enabled") is True and not snapshot.get("checkpointRef")
        if is_made and snapshot.get("startupPolicy") != "WaitForCheckpoint":
            when, hint = " while a checkpoint is made", "Write checkpointRef, or leave room for it in the quota."
            count, one_more = pods.replicas, pods.replicas + 1
            yield page.Grown(snapshot.path, count, one_more, pods.gpus, f"the pods of {pods.written}", when, hint)
    for annotations_path in (pods.annotations_path, (*fields.path, "annotations"), ("spec", "annotations")):
        surge = value_at(fields.document, *annotations_path, _MAX_SURGE)
        if isinstance(surge, str):
            surge_pods = page.added(int(surge) if re.fullmatch("[0-9]{1,9}", surge) else surge, start)
            hint = 'Write "0", and "1" in the annotation for max-unavailable.'
            yield page.Grown(
                (*annotations_path, _MAX_SURGE), start, start + surge_pods, gpus, grown_parts, page.DURING_UPDATE, hint
            )
            break


def _longest_component(document: Document) -> str:
    components = (component.get("name") for component in mappings(value_at(document, "spec", "components")))
    return longest(f"-{name}" for name in (*components, *(value_at(document, "spec", "services") or ())))


PAGE = page.WorkloadKind(
    recognition=page.Recognition(
        "DynamoGraphDeployment", ("nvidia.com/v1beta1", "nvidia.com/v1alpha1"), operator=page.UNPACKED
    ),
    fields=(),
    pods=(
        page.Pods(
            f"{_COMPONENTS}.podTemplate", f"{_COMPONENTS}.replicas", factor=f"{_COMPONENTS}.multinode.nodeCount=2"
        ),
        page.Pods(
            _SERVICES,
            f"{_SERVICES}.replicas",
            factor=f"{_SERVICES}.multinode.nodeCount=2",
            is_optional=True,
            form="podforms:DynamoService",
        ),
    ),
    pod_rules=page.PodRules(restart=(), own_amounts="spec.services.*.resources"),
    gang=Grouping(
        first_pod,
        unpredicted="Dynamo's operator makes a PodCliqueSet, or a Deployment of each component, and KAI goes by that",
        not_owned="Grove makes its gangs",
    ),
    start=page.ALL_AT_ONCE,  # the gangs are Grove's, or each pod is one
    filled_in=page.FilledIn(),
    stop=page.Stop(),
    changes=(
        page.restarted(
            "Dynamo's operator", "spec", but=page.paths("spec.services.*.replicas", "spec.components.*.replicas")
        ),
    ),
    ends=page.SERVICE,
    growth=page.Growth((("spec", _graph),)),
    makes=page.Makes(is_set=True),  # Dynamo names its PodCliqueSet like the graph
    marks=page.Marks(queue=labels.DYNAMO_QUEUE),
    names=Names(
        (Naming(Alphabet.SERVICE, SERVICES, added=_longest_component),),
        (
            PartNaming("spec.components[].name", "component", Alphabet.LABEL, IN_SERVICE, is_folded=True),
            PartNaming("spec.services.*", "service", Alphabet.LABEL, IN_SERVICE, is_folded=True),
        ),
    ),
    refusals=page.Refusals(),
)
