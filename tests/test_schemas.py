"""The committed JSON Schemas are those of the models, and both accept the same documents."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError

from kubectl_tas.load.document import parse
from kubectl_tas.load.kinds import KINDS, WORKFLOW, Kind
from kubectl_tas.load.schema import validate
from kubectl_tas.model.schemas import MODELS, schema_texts
from tests.support.cli import kubectl_tas
from tests.support.golden import ROOT, assert_files

DOCUMENTS: dict[str, Any] = {
    document["kind"] if "kind" in document else "Workflow": document
    for document in yaml.safe_load_all(
        """
apiVersion: tas/v1alpha1
kind: Config
metadata: {name: settings}
spec:
  backends:
  - {name: prod, namespace: ml, scheduler: {type: kai, name: kai-scheduler, version: v0.17.2}}
  - {name: ci, scheduler: {type: default}}
  queuePrefix: osmo
  gitops: argocd
  output: manifests
  priorityClasses: {HIGH: h, NORMAL: n, LOW: l}
  drainInterval: 15m
  sources: [pools, workflows]
---
apiVersion: tas/v1alpha1
kind: Pool
metadata: {name: team}
spec:
  description: For all
  backend: prod
  resources: {gpu: {guarantee: 100, maximum: -1, weight: 1}}
  topology_keys:
  - {key: zone, label: topology.kubernetes.io/zone}
  - {key: rack, label: topology.kubernetes.io/rack}
  topology: cluster
---
apiVersion: tas/v1alpha1
kind: Subpool
metadata: {name: a}
spec: {parent: team, quota: 33.5%, state: ACTIVE}
---
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: t, namespace: n, labels: {team: a}, annotations: {note: "1"}}
spec:
  levels:
  - {domain: zone, key: topology.kubernetes.io/zone}
  - {domain: host, key: kubernetes.io/hostname}
  schedulerTopologyBindings:
  - {schedulerName: kai, topologyReference: t}
status: {conditions: []}
---
version: 2
workflow:
  name: train
  pool: team--a
  priority: HIGH
  labels: {team: a}
  timeout: {exec: 1h}
  backend: prod
  groups:
  - name: gang
    barrier: true
    ignoreNonleadStatus: false
    tasks:
    - name: one
      image: busybox
      command: [sh, -c]
      args: [sleep, 10]
      environment: {A: x, B: 2}
      resource: big
      lead: true
      inputs: [{task: other}]
      files: [{path: /a, contents: b}]
      privileged: true
      hostNetwork: false
      volumeMounts: [/data, "/mnt/a:/b"]
  resources:
    small: {cpu: 0.5}
resources:
  big:
    cpu: 4
    memory: 64Gi
    storage: 100Gi
    gpu: 8
    platform: dgx
    nodesExcluded: [n1]
    topology:
    - {key: rack, group: r1, requirementType: preferred}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: g, namespace: n, labels: {team: a}, annotations: {note: "1"}}
spec:
  queue: q
  priorityClassName: p
  preemptibility: preemptible
  minMember: 4
  minSubGroup: 1
  topologyConstraint: {topology: t, requiredTopologyLevel: zone, preferredTopologyLevel: rack}
  subGroups:
  - {name: top, minSubGroup: 1}
  - {name: leaf, parent: top, minMember: 0, topologyConstraint: {topology: t, requiredTopologyLevel: rack}}
  markUnschedulable: true
  schedulingBackoff: -1
  preemptionDelay: 30s
  stalenessGracePeriod: 60s
  backoffLimit: 1
  completions: 2
  parallelism: 3
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: q, labels: {team: a}}
spec:
  displayName: Q
  parentQueue: top
  resources:
    gpu: {quota: 10, limit: -1, overQuotaWeight: 1}
    cpu: {quota: -1, limit: -1, overQuotaWeight: 1}
    memory: {quota: -1, limit: -1, overQuotaWeight: 1}
---
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: t}
spec:
  levels:
  - {nodeLabel: topology.kubernetes.io/zone, alias: zone}
  - {nodeLabel: kubernetes.io/hostname}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: p}
value: 100
globalDefault: false
description: For all
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: n, labels: {kai.scheduler/queue: q}, annotations: {pod-group-name: g}}
spec:
  schedulerName: kai-scheduler
  priorityClassName: p
  restartPolicy: Never
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - {key: kubernetes.io/hostname, operator: NotIn, values: [n1]}
  containers:
  - name: one
    image: busybox
    command: [sh]
    args: [-c]
    env: [{name: A, value: x}]
    resources: {limits: {nvidia.com/gpu: "8"}, requests: {nvidia.com/gpu: "8"}}
    securityContext: {privileged: true}
    volumeMounts: [{name: v, mountPath: /a}]
  volumes: [{name: v, hostPath: {path: /a}}]
"""
    )
}
"""A valid document of every kind, with every field that it may have."""
SCHEMAS = {model.__name__: json.loads(schema_texts()[f"{model.__name__.lower()}.json"]) for model in MODELS}
KIND_OF = {kind.model.__name__: kind for kind in reversed((*KINDS, WORKFLOW))}
VALUES = st.sampled_from(
    [
        *(None, True, False, 0, 1, -1, -2, 16, 10**12, 0.5, -0.5, 4.0),
        *("", " ", "x", "X", "a--b", "a_b", "a/b", "a/b/c", "-a", "é", "x" * 64, "x" * 317, "kubernetes.io/hostname"),
        *("1", "101%", "0.17", "v0.17.1", "15m", "64Gi", "6Q", "ACTIVE", "HIGH", "required", "kai", "zone", "/a:/b"),
        *([], {}, ["x"], [1], [[]], {"x": "y"}, {"x": 1}, {"": ""}, {"name": "x"}, [{"name": "x"}] * 2),
    ]
)


def test_committed_schemas_are_those_of_the_models(snapshot: Any, update: bool) -> None:
    assert_files(snapshot, ROOT / "schemas", schema_texts(), update=update)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_valid(name: str) -> None:
    assert SCHEMAS[name]["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_field_says_what_it_means(name: str) -> None:
    parts = {name: SCHEMAS[name], **SCHEMAS[name].get("$defs", {})}
    for part, schema in parts.items():
        for field, told in schema.get("properties", {}).items():
            assert told.get("description"), f"{part}.{field}"


@pytest.mark.parametrize("name", SCHEMAS)
def test_objects_are_closed(name: str) -> None:
    """Editors mark an unknown field as the tool does."""
    for part in (SCHEMAS[name], *SCHEMAS[name].get("$defs", {}).values()):
        if "properties" in part:
            assert part["additionalProperties"] is False


def test_the_command_prints_them() -> None:
    assert kubectl_tas("schema").out.split() == sorted(name.lower() for name in SCHEMAS)
    for name, text in schema_texts().items():
        assert kubectl_tas("schema", name.removesuffix(".json")).out == text


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_documents_of_this_test_are_valid_and_complete(name: str) -> None:
    document = DOCUMENTS[name]
    assert by_model(name, document)
    assert by_schema(name, document)
    assert document.keys() == SCHEMAS[name]["properties"].keys()


@pytest.mark.parametrize("name", SCHEMAS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_model_and_schema_accept_the_same(name: str, data: st.DataObject) -> None:
    document = copy.deepcopy(DOCUMENTS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        mutate(document, data)
    kind = KIND_OF.get(name)
    if kind is not None and kind.normalize is not None:
        document = kind.normalize(document)
    if has_null(document):
        assert by_model(name, document) or not by_schema(name, document)
    else:
        assert by_model(name, document) == by_schema(name, document)


@pytest.mark.parametrize("kind", (*KINDS, WORKFLOW), ids=lambda kind: kind.name)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_what_is_read_is_what_the_schema_accepts(kind: Kind, data: st.DataObject) -> None:
    """A document is refused with findings, each at a line of the file, or it has a model and no findings."""
    name = kind.model.__name__
    document = copy.deepcopy(DOCUMENTS[name])
    for _ in range(data.draw(st.integers(1, 2))):
        mutate(document, data)
    if not isinstance(document, dict):
        return
    text = json.dumps(document, indent=1)
    (read,), _ = parse("pools/x.json", text)
    model, found = validate(kind, read)
    normalized = kind.normalize(document) if kind.normalize else document
    assert (model is not None) == by_schema(name, normalized)
    assert (model is None) == bool(found)
    for diagnostic in found:
        assert diagnostic.location is not None
        assert 1 <= diagnostic.location.line <= len(text.splitlines())
        assert diagnostic.location.path == "pools/x.json"


def by_model(name: str, document: Any) -> bool:
    model: type[BaseModel] = next(model for model in MODELS if model.__name__ == name)
    try:
        model.model_validate(document)
    except ValidationError:
        return False
    return True


def by_schema(name: str, document: Any) -> bool:
    """Whether jsonschema accepts it; whole numbers are never written 4.0."""
    valid: bool = Draft202012Validator(SCHEMAS[name]).is_valid(marked(document))
    return valid


def marked(document: Any) -> Any:
    """JSON Schema takes 4.0 for an integer, YAML and the models do not: a whole float becomes a fraction."""
    if isinstance(document, dict):
        return {key: marked(value) for key, value in document.items()}
    if isinstance(document, list):
        return [marked(value) for value in document]
    return document + 0.25 if isinstance(document, float) else document


def has_null(document: Any) -> bool:
    return any(value is None for _, _, value in places(document))


def places(document: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Every value below a document: what holds it, its key or index, and itself."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in list(items):
        yield document, key, value
        if isinstance(value, (dict, list)):
            yield from places(value)


def mutate(document: dict[str, Any], data: st.DataObject) -> None:
    """Changes one place of a document."""
    if not document:
        return
    found = list(places(document))
    holder, key, value = found[data.draw(st.integers(0, len(found) - 1))]
    match data.draw(st.sampled_from(["replace", "remove", "rename", "add", "repeat"])):
        case "replace":
            holder[key] = data.draw(VALUES)
        case "remove":
            del holder[key]
        case "rename" if isinstance(holder, dict):
            holder[data.draw(st.sampled_from(["x", key.upper(), f"{key}s", "", "subgroups"]))] = holder.pop(key)
        case "add" if isinstance(value, dict):
            value[data.draw(st.sampled_from(["x", "name", "spec", "gpu", "A/b", "é"]))] = data.draw(VALUES)
        case "repeat" if isinstance(value, list) and value:
            value += [copy.deepcopy(value[0])] * data.draw(st.sampled_from([1, 7, 16]))
