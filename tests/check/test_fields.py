"""Tests that workloads are read as strictly as an API server reads them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.check import objectfields
from kubectl_tas.check.fields import COMBINATIONS
from kubectl_tas.kinds import LISTED, kubernetes
from kubectl_tas.kinds.kubernetes import OperatorShapes, Shapes
from kubectl_tas.kinds.page import UNPACKED
from tests.slips.repository import FILES
from tests.support.cli import kubectl_tas, write
from tests.support.golden import GOLDEN
from tests.support.rendered import load
from tests.support.workloads import Object, accepted, declare, deployment, named, problems, pytorch_job

KINDS = [
    listed.page.recognition.schema or listed.kind
    for listed in LISTED
    if listed.page.fields and listed.name not in ("ReplicaSet", "ReplicationController", "RayCronJob")
]
"""Kinds whose example needs few words more to be valid. tests/test_every_kind.py tries all kinds."""


def document(kind: str) -> Object:
    """A workload without problems, of the pool team."""
    found: Object = load(GOLDEN / f"documents/{kind.lower()}.yaml")
    spec = named(accepted(kind, found["spec"]))
    metadata = {"name": "x", "labels": {"kubectl-tas/pool": "team"}}
    return {**found, "metadata": metadata, "spec": spec}


FREE = ("labels", "annotations", "limits", "requests", "matchLabels", "clusterSelector")
"""Mappings with any keys."""


def mappings(data: Any, path: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Every mapping of which the fields are known, with its place."""
    found = []
    if isinstance(data, dict):
        if not path.endswith((*FREE, "ReplicaSpecs")):
            found.append((path, data))
        for key, value in data.items():
            found += mappings(value, f"{path}.{key}")
    elif isinstance(data, list):
        found += [item for index, part in enumerate(data) for item in mappings(part, f"{path}[{index}]")]
    return found


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
def test_a_slip_at_any_depth_of_any_kind(repository: Path, kind: str) -> None:
    whole = document(kind)
    assert (
        problems(repository, whole)
        .keys()
        .isdisjoint({"unknown-field", "operator-field", "wrong-type", "missing-field"})
    )
    slipped = copy.deepcopy(whole)
    places = mappings(slipped)
    for number, (_, mapping) in enumerate(places):
        mapping[f"zzz{number}"] = 1
    result = kubectl_tas("validate", "-o", "json", "-C", declare(repository, slipped))
    told = {item["message"] for item in json.loads(result.out)["diagnostics"]}
    slips = {
        f'unknown field "zzz{number}"' + (f" in {place[1:]}" if place else "")
        for number, (place, _) in enumerate(places)
    }
    assert slips <= told


def test_an_empty_value_is_no_value(repository: Path) -> None:
    item = deployment("d")
    item["spec"]["paused"] = None
    item["spec"]["template"]["spec"]["hostname"] = None
    assert "wrong-type" not in problems(repository, item)


def test_words_of_kubernetes_that_are_rarely_written(repository: Path) -> None:
    item = deployment("d")
    item["spec"]["template"]["spec"] |= {
        "securityContext": {"supplementalGroupsPolicy": "Strict", "fsGroupChangePolicy": "Always"},
        "dnsPolicy": "ClusterFirstWithHostNet",
        "hostNetwork": True,
        "volumes": [{"name": "socket", "hostPath": {"path": "/run/x", "type": "Socket"}}],
    }
    assert "invalid-value" not in problems(repository, item)
    item["spec"]["template"]["spec"]["securityContext"]["supplementalGroupsPolicy"] = "Loose"
    assert "supplementalGroupsPolicy" in problems(repository, item)["invalid-value"]


def test_a_field_that_lost_its_indentation(repository: Path) -> None:
    item = pytorch_job("train")
    container = item["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container |= container.pop("resources")
    assert problems(repository, item)["unknown-field"].startswith('unknown field "limits" in spec.pytorchReplicaSpecs')


@pytest.mark.parametrize(
    ("release", "known"), [("1.33", 33), ("v1.30.4", 30), ("1.2", 25), ("1.999", None), (None, None)]
)
def test_the_nearest_release(release: str | None, known: int | None) -> None:
    assert kubernetes.nearest(release) == (known or kubernetes.releases()[-1])


def names_in(part: Any) -> set[str]:
    """The types that a packed field names."""
    if isinstance(part, list):
        return {name for _, _, field in part for name in names_in(field)}
    text = part["type"] if isinstance(part, dict) else part
    return {text.lstrip("[]{}").rstrip("*")} if text else set()


@pytest.mark.parametrize("project", ["kubernetes", *kubernetes.operators()])
def test_every_type_that_a_field_names_is_known(project: str) -> None:
    """A type that is misspelled would accept anything."""
    own, types = kubernetes.read_packed("kubernetes")["types"], kubernetes.read_packed(project)["types"]
    scalars = ("any", "string", "integer", "int32", "int64", "number", "boolean", "object", "array")
    named = {name for fields in types.values() for part in fields.values() for name in names_in(part)}
    assert named <= {*own, *types, *scalars, "quantity", "int-or-string"}


def test_every_row_of_the_tables_is_a_field_of_some_release() -> None:
    """A row of a type or of a field that nobody has would check nothing."""
    groups = (
        "core.v1",
        "meta.v1",
        "batch.v1",
        "apps.v1",
        "autoscaling.v1",
        "autoscaling.v2",
        "networking.v1",
        "policy.v1",
        "discovery.v1",
    )
    releases = [Shapes(release) for release in kubernetes.releases()]
    bounds = {**kubernetes.BOUNDS, **objectfields.BOUNDS}
    types: dict[str, set[str]] = {}
    for shapes in releases:
        for group in groups:
            for name in {*bounds, *COMBINATIONS}:
                types.setdefault(name, set()).update(shapes.of(f"{group}.{name}").fields or ())
    for operator in kubernetes.operators():
        for name in {*bounds, *COMBINATIONS}:
            types[name].update(OperatorShapes(operator, None, kubernetes.releases()[-1]).of(name).fields or ())
    for name, fields in bounds.items():
        assert fields.keys() <= types[name], name
    for name in COMBINATIONS:
        assert types[name], name


RAY = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: x
  labels: {kubectl-tas/pool: team}
spec:
  headGroupSpec: &group
    rayStartParams: {}
    template: {spec: {containers: [{name: head, image: rayproject/ray:2.50.0}]}}
  workerGroupSpecs:
  - {<<: *group, groupName: w, replicas: 1, minReplicas: 0, maxReplicas: 1, priority: 5}
"""
"""KubeRay has workerGroupSpecs[].priority from 1.7 on."""


@pytest.mark.parametrize("version", [None, "1.7", "v1.7.0"])
def test_a_field_of_the_release_that_is_named(repository: Path, version: str | None) -> None:
    assert found(repository, RAY, kuberay=version) == []


@pytest.mark.parametrize("version", ["1.6", "1.5.2"])
def test_a_field_of_another_release(repository: Path, version: str) -> None:
    (finding,) = found(repository, RAY, kuberay=version)
    assert finding["rule"] == "operator-field"
    assert finding["message"] == 'unknown field "priority" in spec.workerGroupSpecs[0]'
    assert finding["hint"] == f"kuberay has it from 1.7 on; the Config names {version}."


def test_pods_are_those_of_the_operators_release(repository: Path) -> None:
    text = RAY.replace(", priority: 5", "").replace("spec: {containers", "spec: {hostnameOverride: a, containers")
    assert found(repository, text) == []
    for finding in found(repository, text, kuberay="1.4"):
        assert finding["rule"] == "unknown-field"
        assert finding["hint"] == "Kubernetes has it from 1.34 on; kuberay 1.4 takes the pods of 1.33."


def test_a_kind_of_another_release(repository: Path) -> None:
    text = """\
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata:
  name: x
  labels: {kubectl-tas/pool: team}
spec:
  jaxReplicaSpecs: {Worker: {template: {spec: {containers: [{name: jax, image: "a:1"}]}}}}
"""
    assert found(repository, text, **{"training-operator": "1.9"}) == []
    (finding,) = found(repository, text, **{"training-operator": "1.8"})
    assert (finding["rule"], finding["location"]["line"]) == ("operator-field", 2)
    assert finding["message"] == "training-operator 1.8 has no JAXJob of kubeflow.org/v1"
    assert finding["hint"] == "training-operator has it from 1.9 on; the Config names 1.8."


def test_words_of_a_release(repository: Path) -> None:
    text = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: x
  labels: {kubectl-tas/pool: team}
spec:
  failurePolicy: {restartStrategy: InPlaceRestart}
  replicatedJobs:
  - name: a
    template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}}
"""
    assert found(repository, text) == []
    (finding,) = found(repository, text, jobset="0.10")
    assert "must be one of Recreate, BlockingRecreate" in finding["message"]


def test_operators_that_are_not_known(repository: Path) -> None:
    (finding,) = found(repository, RAY, kubray="1.7")
    assert (finding["rule"], finding["hint"]) == ("unknown-field", 'Did you mean "kuberay"?')
    (finding,) = found(repository, RAY, grove="0.1.0-alpha.11")
    assert finding["hint"] == "Write grove.version of the backend."
    for version in ("1.99", "0.6"):
        finding = found(repository, RAY, kuberay=version)[0]
        assert finding["rule"] == "kubernetes-version"
        assert finding["message"] == f"the fields of kuberay {version} are not known, those of 1.2 to 1.7 are"


def found(repository: Path, text: str, **operators: str | None) -> list[dict[str, Any]]:
    """What is wrong with a file where the Config names these operators."""
    named = {name: version for name, version in operators.items() if version}
    config = {"apiVersion": "tas/v1alpha1", "kind": "Config", "spec": {"operators": named}}
    (repository / "tas.yaml").write_text(json.dumps(config))
    (repository / "workflows").mkdir(exist_ok=True)
    (repository / "workflows/x.yaml").write_text(text)
    result = kubectl_tas("validate", "-C", repository, "-o", "json")
    return [item for item in json.loads(result.out)["diagnostics"] if item["rule"] in CODES]


@pytest.mark.parametrize(
    ("bucket", "hint"),
    [
        ("1.5", "Write the number alone, without quotes or a unit: 1.5."),
        ("1.5 k", "Write the number alone, without quotes or a unit: 1500.0."),
        ("1.5.0", "Write a number, without quotes or a unit."),
    ],
)
def test_a_number_in_quotes_may_have_a_fraction(repository: Path, bucket: str, hint: str) -> None:
    text = f"""\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  name: x
  labels: {{kubectl-tas/pool: team}}
spec:
  entrypoint: a
  metrics: {{prometheus: [{{name: a, help: b, histogram: {{value: "1", buckets: ["{bucket}"]}}}}]}}
  templates: [{{name: a, container: {{image: "a:1"}}}}]
"""
    (finding,) = found(repository, text)
    assert finding["message"] == f'spec.metrics.prometheus[0].histogram.buckets[0] must be a number, not "{bucket}"'
    assert (finding["rule"], finding["hint"]) == ("wrong-type", hint)


CODES = {"operator-field", "unknown-field", "missing-field", "invalid-value", "wrong-type", "kubernetes-version"}


def test_sets_of_grove_have_the_roles_that_its_crd_demands(tmp_path: Path) -> None:
    name = "workflows/podcliqueset.yaml"
    text = FILES[name].replace("        roleName: main\n", "")
    assert text != FILES[name]
    result = kubectl_tas("render", "--to", "-", "-C", write(tmp_path, {**FILES, name: text}))
    assert "        roleName: main\n" in result.out


@pytest.mark.parametrize("release", kubernetes.releases())
def test_every_release_has_the_pods_of_all_kinds(release: int) -> None:
    for kind, versions in (
        (listed.kind, listed.versions) for listed in LISTED if listed.page.recognition.operator != UNPACKED
    ):
        for version in versions:
            operator = kubernetes.operator_of(version, kind)
            shapes = OperatorShapes(operator, None, release) if operator else Shapes(release)
            own = shapes.of(kubernetes.definition(version, kind))
            shape = shapes.kind(version, kind) if isinstance(shapes, OperatorShapes) else own
            assert shape.fields
            assert shape.fields["spec"].fields


def test_no_check_without_workloads_reads_the_schemas(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_name: str) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(kubernetes, "read_packed", refuse)
    assert problems(repository) == {}
