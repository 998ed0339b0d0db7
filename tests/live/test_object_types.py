"""Tests that an object of a cluster is refused if a field that is read has another type than its API gives it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.live.kubectl import parse
from kubectl_tas.live.objects import read_object
from tests.support.kubectl import pod_group, queue

Item = dict[str, Any]
AS_PRINTED = "It must be what `kubectl get ... -o json` prints."
CLIQUE = {"name": "c", "namespace": "ml", "labels": {"app.kubernetes.io/part-of": "s"}}


def named(kind: str, **fields: Any) -> Item:
    return {"kind": kind, "metadata": {"name": "x"}, **fields}


@pytest.mark.parametrize(
    "item",
    [
        {"kind": "Queue"},
        {"kind": "Queue", "metadata": {}},
        {"kind": "Queue", "metadata": "q"},
        {"kind": "Pod", "metadata": {"name": 7, "namespace": "ml"}},
        {"kind": "Node", "metadata": {"name": "n", "labels": {"": "x"}}},
        {"kind": "Event", "metadata": {"name": "e", "labels": {"a": 1}}},
        {"kind": "Job", "metadata": {"name": "x" * 318}},
        named("Queue", status={"allocated": {"cpu": "x"}}),
        named("Node", status={"allocatable": {"cpu": "-1"}}),
        named("Node", spec={"taints": [{"key": "k"}, {"value": "v"}]}),
        named("Queue", spec={"priority": True}),
        named("Queue", spec={"resources": {"gpu": {"quota": float("nan")}}}),
        named("PodGroup", spec={"subGroups": [{"minMember": 1}]}),
        named("PriorityClass"),
        {"kind": "PodClique", "metadata": CLIQUE, "status": {"scheduledReplicas": 2**31}},
        named("ClusterTopology", spec={"levels": [{"domain": "rack"}]}),
        named("PersistentVolumeClaim", spec=[1]),
    ],
    ids=json.dumps,
)
def test_a_refusal_names_the_field(item: Item, snapshot: Any) -> None:
    with pytest.raises(TasError) as refused:
        list(parse(json.dumps(item).encode(), "a file"))
    assert refused.value.hint == AS_PRINTED
    assert refused.value.message == snapshot


DAMAGED: tuple[Item, ...] = (
    {"metadata": None},
    {"metadata": {"name": 3}},
    {"metadata": {"name": "a", "annotations": []}},
    {"metadata": {"name": "a"}, "spec": []},
    {"metadata": {"name": "a"}, "spec": {"containers": {}}},
    {"metadata": {"name": "a"}, "spec": {"containers": [{"resources": {"limits": 1}}]}},
    {"metadata": {"name": "a"}, "spec": {"volumes": [1]}},
    {"metadata": {"name": "a"}, "spec": {"volumes": [{"projected": {"sources": {}}}]}},
    {"metadata": {"name": "a"}, "status": "Running"},
    {"metadata": {"name": "a", "namespace": 3}},
    {"metadata": {"name": "a"}, "spec": {"containers": [None]}},
    {"metadata": {"name": "a"}, "spec": {"initContainers": [{"envFrom": [{"configMapRef": []}]}]}},
    {"metadata": {"name": "a"}, "spec": {"priorityClassName": []}},
    {"metadata": {"name": "a"}, "spec": {"topologyConstraint": {"topology": {}}}},
    {"metadata": {"name": "a", "labels": []}},
    *(
        {"metadata": {"name": "a"}, "spec": spec}
        for part in ("containers", "initContainers")
        for spec in (
            {part: [{"resources": []}]},
            {part: [{"resources": {"limits": []}}]},
            {part: [{"resources": {"requests": []}}]},
            {part: [{"env": {}}]},
            {part: [{"env": [{"valueFrom": []}]}]},
            {part: [{"env": [{"valueFrom": {"configMapKeyRef": []}}]}]},
            {part: [{"envFrom": {}}]},
            {part: [{"envFrom": [{"configMapRef": []}]}]},
        )
    ),
    *({"metadata": {"name": "a"}, "spec": {"volumes": [{kind: []}]}} for kind in ("configMap", "projected")),
    {"metadata": {"name": "a"}, "spec": {"volumes": [{"persistentVolumeClaim": []}]}},
    {"metadata": {"name": "a"}, "spec": {"volumes": [{"projected": {"sources": [{"configMap": []}]}}]}},
    {"metadata": {"name": "a"}, "spec": {"subGroups": {}}},
    {"metadata": {"name": "a"}, "spec": {"subGroups": [{"topologyConstraint": []}]}},
    {"metadata": {"name": "a"}, "spec": {"subGroups": [{"topologyConstraint": {"topology": 3}}]}},
    {"metadata": {"name": "a"}, "spec": {"topologyConstraint": []}},
    {"metadata": {"name": "a"}, "spec": {"nodeName": []}},
)


@pytest.mark.parametrize("kind", ["Pod", "PodGroup"])
def test_what_no_api_server_has_is_refused(kind: str) -> None:
    own = [
        item for item in DAMAGED if bool({"subGroups", "topologyConstraint"} & {*_spec(item)}) == (kind == "PodGroup")
    ]
    for item in own:
        with pytest.raises(TasError, match=f"^a {kind} of the cluster cannot be read: "):
            read_object({"kind": kind, **item})
    assert len(own) > 3


def _spec(item: Item) -> Item:
    spec = item.get("spec")
    return spec if isinstance(spec, dict) else {}


@pytest.mark.parametrize(
    "item",
    [
        queue("q", "-1"),
        queue("q"),
        pod_group("q", running=-1),
        named("Queue", spec={"priority": -5, "resources": {"gpu": {"quota": 1.5, "limit": -1}}}),
        named("Pod", spec={"priority": -(2**31), "containers": [{"resources": {"limits": {"cpu": 1.5}}}]}),
        named("Other", spec="any", status=[1]),
        {"kind": "Other"},
        {"kind": "ClusterState", "metadata": 3, "kinds": ["Pod"]},
    ],
    ids=lambda item: item["kind"],
)
def test_what_an_api_server_may_have(item: Item) -> None:
    before = json.dumps(item)
    assert json.dumps(read_object(item)) == before


def test_what_is_null_is_absent() -> None:
    """As an API server leaves it out."""
    item = named("Pod", spec={"containers": [{"name": "c", "resources": None}], "nodeName": None}, status=None)
    item["metadata"] |= {"labels": None, "ownerReferences": None}
    assert read_object(item) == named("Pod", spec={"containers": [{"name": "c"}]})


@pytest.mark.parametrize("text", ["\\ud800", "\\uD800", "a\\udfff", "\\ud83d"])
def test_half_a_pair_of_escapes_is_no_text(text: str) -> None:
    content = f'{{"kind": "Other", "a": {{"b{text}": 1}}}}'.encode()
    with pytest.raises(TasError, match=r"^a file is not JSON of Kubernetes objects: it has half a pair of escapes"):
        list(parse(content, "a file"))
    (found,) = parse(b'{"kind": "Other", "a": "\\ud83d\\ude00"}', "a file")
    assert found["a"] == "\N{GRINNING FACE}"
