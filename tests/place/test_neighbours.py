"""Tests host ports, pods that keep apart, and volumes against KAI's scheduler, and by small cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas, pool, write

ANSWERS = json.loads((Path(__file__).parent / "neighbours_of_kai_0_17.json").read_text())
"""Clusters made by chance, and whether the scheduler of KAI 0.17.0 starts a Job there, as its snapshot tool says: forty
with host ports, forty with podAntiAffinity by host, forty with claims.
"""
HOST = "kubernetes.io/hostname"
POOL = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata: {name: p0}
spec:
  resources: {gpu: {guarantee: 64}}
  topology_keys: [{key: rack, label: topology.kubernetes.io/rack}]
"""
Fields = dict[str, Any]


def fit(root: Path, job: Fields, objects: list[Fields]) -> tuple[Fields, str]:
    """The answer for a Job, and what stands on stderr."""
    write(root, {"tas.yaml": "", "pools/p0.yaml": POOL, "workflows/job.yaml": json.dumps(job)})
    write(root, {"objects.json": json.dumps({"items": objects})})
    found = kubectl_tas("-C", root, "fit", "w0", "-o", "json", "--nodes", root / "objects.json")
    (answer,) = json.loads(found.out)["gangs"]
    return answer, found.err


@pytest.mark.parametrize("case", ANSWERS, ids=range(len(ANSWERS)))
def test_kai_starts_the_same_jobs(case: Fields, tmp_path: Path) -> None:
    answer, _ = fit(tmp_path, case["job"], case["objects"])
    assert (answer["outcome"] == "fits") == case["starts"]


def node(name: str) -> Fields:
    has = {"cpu": "96", "memory": "1Ti", "pods": "110"}
    return {"kind": "Node", "metadata": {"name": name, "labels": {HOST: name}}, "status": {"allocatable": has}}


def job(pods: int, labels: dict[str, str] | None = None, **spec: Any) -> Fields:
    containers = [{"name": "c", "image": "i", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}]
    template = {"metadata": {"labels": labels or {}}, "spec": {"restartPolicy": "Never", "containers": containers}}
    template["spec"] |= spec
    metadata = {
        "name": "w0",
        "labels": {"kubectl-tas/pool": "p0"},
        "annotations": {"kai.scheduler/batch-min-member": str(pods)},
    }
    spec = {"parallelism": pods, "completions": pods, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def port(**more: Any) -> list[Fields]:
    return [{"name": "c", "image": "i", "ports": [{"containerPort": 80, **more}]}]


@pytest.mark.parametrize(
    ("spec", "outcome"),
    [
        ({"containers": port()}, "fits"),
        ({"containers": port(hostPort=80)}, "no-room"),
        ({"containers": port(), "hostNetwork": True}, "no-room"),
        ({"containers": port(), "initContainers": [{**port(hostPort=80)[0], "name": "first"}]}, "fits"),
    ],
)
def test_two_pods_with_one_host_port_need_two_nodes(spec: Fields, outcome: str, tmp_path: Path) -> None:
    answer, _ = fit(tmp_path, job(2, **spec), [node("n0")])
    assert answer["outcome"] == outcome
    again, _ = fit(tmp_path, job(2, **spec), [node("n0"), node("n1")])
    assert again["outcome"] == "fits"


def test_a_port_that_is_taken_on_each_node_is_named(tmp_path: Path) -> None:
    running = {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"nodeName": "n0", "containers": port(hostPort=80)},
        "status": {"phase": "Running"},
    }
    objects = [node("n0"), running]
    answer, _ = fit(tmp_path, job(1, containers=port(hostPort=80)), objects)
    assert [lack["resource"] for lack in answer["lacks"]] == ["host port 80/TCP"]
    text = kubectl_tas("-C", tmp_path, "fit", "w0", "--nodes", tmp_path / "objects.json").out
    assert "no node has what a pod asks for: host port 80/TCP, which is taken on each" in text
    udp, _ = fit(tmp_path, job(1, containers=port(hostPort=80, protocol="UDP")), objects)
    assert udp["outcome"] == "fits"


def keeps_apart(labels: dict[str, str], **more: Any) -> Fields:
    rule = {"topologyKey": HOST, "labelSelector": {"matchLabels": labels}, **more}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}


def test_pods_that_keep_apart_need_a_node_each(tmp_path: Path) -> None:
    spec = job(2, {"app": "a"}, affinity=keeps_apart({"app": "a"}))
    assert fit(tmp_path, spec, [node("n0")])[0]["outcome"] == "no-room"
    assert fit(tmp_path, spec, [node("n0"), node("n1")])[0]["outcome"] == "fits"


@pytest.mark.parametrize(
    "affinity",
    [
        keeps_apart({"app": "other"}),
        keeps_apart({"job-name": "w0"}),
        keeps_apart({"app": "a"}, namespaceSelector={}),
        keeps_apart({"app": "a"}, topologyKey="topology.kubernetes.io/zone"),
    ],
)
def test_other_rules_about_pods_have_no_answer(affinity: Fields, tmp_path: Path) -> None:
    write(tmp_path, {"tas.yaml": "", "pools/team.yaml": pool("p0")})
    write(tmp_path, {"workflows/job.yaml": json.dumps(job(2, {"app": "a"}, affinity=affinity))})
    write(tmp_path, {"objects.json": json.dumps({"items": [node("n0")]})})
    result = kubectl_tas("-C", tmp_path, "fit", "w0", "--nodes", tmp_path / "objects.json")
    assert "No answer for Job w0: a pod of it has a rule about pods beside it (podAntiAffinity)." in result.err


VOLUMES = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
CLAIM = {"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"}}


def test_a_bound_claim_ties_its_pods_to_the_nodes_of_its_volume(tmp_path: Path) -> None:
    on_n1 = {"matchExpressions": [{"key": HOST, "operator": "In", "values": ["n1"]}]}
    volume = {
        "kind": "PersistentVolume",
        "metadata": {"name": "pv"},
        "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [on_n1]}}},
    }
    objects = [node("n0"), node("n1"), {**CLAIM, "spec": {"volumeName": "pv"}}, volume]
    answer, err = fit(tmp_path, job(1, volumes=VOLUMES), objects)
    assert answer["nodes"]["unusable"] == {"out of reach of the volume of data": 1}
    assert (answer["outcome"], "Not looked at" in err) == ("fits", False)


@pytest.mark.parametrize("known", [[], [{**CLAIM, "spec": {"volumeName": "gone"}}]])
def test_a_volume_that_the_input_lacks_is_said_to_be_ignored(known: list[Fields], tmp_path: Path) -> None:
    answer, err = fit(tmp_path, job(1, volumes=VOLUMES), [node("n0"), *known])
    assert answer["outcome"] == "fits"
    assert "Not looked at: the volumes of 1 claim that the input lacks: data.\n" in err
