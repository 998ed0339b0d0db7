"""Tests which pods of a submission must have a node before any of them starts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.cli.session import check_source
from kubectl_tas.gpus import GPU
from kubectl_tas.load.source import FolderSource
from kubectl_tas.place.answers import Fit, Outcome, fit
from kubectl_tas.place.gangs_to_place import LeftOut, Unplaced, unplaced
from kubectl_tas.place.node_resources import read_nodes
from kubectl_tas.place.shapes import shape_of
from tests.place.clusters import JUDGE, cluster, member, node, nodes_of
from tests.support import grove
from tests.support.cli import kubectl_tas, write

ELASTIC = json.loads((Path(__file__).parent / "elastic_answers_of_kai_0_17.json").read_text())
"""PodGroups made by chance that need fewer SubGroups, or fewer pods, than there are, each with whether the scheduler of
KAI 0.17.0 starts any of it, as its own snapshot tool says.
"""
POOL = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata: {name: team}
spec:
  resources: {gpu: {guarantee: 100}}
  nodes: {selector: {pool: h100}}
  topology_keys: [{key: zone, label: zone}, {key: rack, label: rack}]
"""
CONTAINERS = "containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: %d}}}]"
PODS = f"{{metadata: {{annotations: {{%s}}}}, spec: {{%s {CONTAINERS}}}}}"
KINDS = {
    "serve": (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        "{replicas: 3, leaderWorkerTemplate: {size: 4, workerTemplate: %s}}",
    ),
    "batch": ("batch/v1", "Job", "{parallelism: 4, template: %s}"),
    "web": ("apps/v1", "Deployment", "{replicas: 5, selector: {matchLabels: {a: b}}, template: %s}"),
    "torch": (
        "kubeflow.org/v1",
        "PyTorchJob",
        "{runPolicy: {schedulingPolicy: {minAvailable: 3}}, pytorchReplicaSpecs: {Master: {replicas: 1, template: %s}, "
        "Worker: {replicas: 4, template: %s}}}",
    ),
    "steps": (
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        "{startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: [{name: z, replicas: 2, template: {spec: "
        "{parallelism: 2, template: %s}}}, {name: a, template: {spec: {template: %s}}}]}",
    ),
}


def workload(name: str, *, gpus: int = 8, notes: str = "", pod_notes: str = "", spec: str = "") -> str:
    version, kind, text = KINDS[name]
    restart = "restartPolicy: Never," if kind in ("Job", "JobSet") else ""
    pods = PODS % (pod_notes, f"{restart} {spec}", gpus)
    pods = pods.replace("metadata: {", "metadata: {labels: {a: b}, ") if kind == "Deployment" else pods
    return (
        f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}, labels: {{kubectl-tas/pool: team}}, "
        f"annotations: {{{notes}}}}}\nspec: {text.replace('%s', pods)}\n"
    )


def items(root: Path, *documents: str) -> list[Unplaced | LeftOut]:
    write(root, {"pools/team.yaml": POOL, "tas.yaml": "", "workflows/all.yaml": "---\n".join(documents)})
    checked = check_source(root, FolderSource(root))
    return list(unplaced(checked.fleet, checked.fleet.submissions))


def one(root: Path, *documents: str) -> Unplaced:
    (found,) = items(root, *documents)
    assert isinstance(found, Unplaced), found
    return found


def pods_of(item: Unplaced) -> dict[str | None, int]:
    return {name: len(shapes) for name, shapes in item.needed.items() if shapes}


def answer(root: Path, nodes: list[dict[str, Any]], *documents: str) -> Fit:
    return fit(one(root, *documents), read_nodes(nodes))


@pytest.mark.parametrize(
    ("name", "needed", "copies"),
    [
        ("serve", {"leader": 1, "workers": 3}, 3),
        ("batch", {None: 1}, 1),
        ("web", {None: 1}, 5),
        ("torch", {"master": 1, "worker": 2}, 1),
        ("steps", {"z-replica-0": 2, "z-replica-1": 2}, 1),
    ],
)
def test_the_minimums_of_each_kind_are_needed(name: str, needed: object, copies: int, tmp_path: Path) -> None:
    found = one(tmp_path, workload(name))
    assert (pods_of(found), found.copies) == (needed, copies)


def test_an_annotation_says_how_many_pods_a_job_needs(tmp_path: Path) -> None:
    job = workload("batch", notes='kai.scheduler/batch-min-member: "4"')
    assert pods_of(one(tmp_path, job)) == {None: 4}
    assert answer(tmp_path, cluster(4), job).outcome is Outcome.FITS
    assert answer(tmp_path, cluster(3), job).outcome is Outcome.NO_ROOM


def test_levels_of_annotations_bind_and_can_be_loosened(tmp_path: Path) -> None:
    job = workload(
        "batch", notes='kai.scheduler/batch-min-member: "4", kai.scheduler/topology-required-placement: rack'
    )
    found = answer(tmp_path, cluster(4), job)
    assert found.outcome is Outcome.NO_ROOM
    assert found.shortage is not None
    assert (found.shortage.pods, found.shortage.best[0].pods) == (4, 2)
    assert [(change.kind, change.text) for change in found.changes[:3]] == [
        ("preferred", "prefer rack instead of requiring it (the annotation that ends in preferred-placement)"),
        ("level", "require zone instead of rack"),
        ("tasks", "run 2 pods instead of 4"),
    ]


def test_a_gang_that_grows_later_is_to_start_with_fewer_pods(tmp_path: Path) -> None:
    found = answer(tmp_path, cluster(2), workload("batch", notes='kai.scheduler/batch-min-member: "3"'))
    assert [change.text for change in found.changes] == ["start with 2 pods instead of 3"]


def test_equal_gangs_are_placed_one_after_the_other(tmp_path: Path) -> None:
    found = answer(tmp_path, cluster(8), workload("serve"))
    assert (found.outcome, found.copies) == (Outcome.NO_ROOM, 3)
    assert [change.text for change in found.changes if change.kind == "copies"] == [
        "run 2 of the 3 gangs; the others wait"
    ]
    whole = answer(tmp_path, cluster(12), workload("serve"))
    assert {name: sum(places.values()) for name, places in whole.placed.items()} == {"leader": 3, "workers": 9}


def running(name: str, group: str) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": {"pod-group-name": group}},
        "spec": {"nodeName": "n0", "containers": [{"name": "c"}]},
    }


def test_gangs_that_run_are_known_by_their_names_and_are_not_placed_again(tmp_path: Path) -> None:
    uid = "5f0e3c1a-0b1d-4f5e-9c1b-1a2b3c4d5e6f"
    pods = [running(str(n), f"pg-serve-{uid}-group-{n}") for n in range(2)]
    others = [running("other", f"pg-serve-more-{uid}-group-0"), running("bare", "pg-serve")]
    found = answer(tmp_path, cluster(4, *pods, *others), workload("serve"))
    assert (found.outcome, found.copies, found.running) == (Outcome.FITS, 1, 2)
    web = [running(f"web-{n}", f"pg-web-7d9fc6b5d8-abcd{n}-{uid}") for n in range(5)]
    assert answer(tmp_path, cluster(1, *web), workload("web")).outcome is Outcome.RUNS


def test_nodes_of_the_pool_and_node_affinity_count(tmp_path: Path) -> None:
    term = "{matchExpressions: [{key: disk, operator: In, values: [nvme]}]}"
    required = f"requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{term}]}}"
    job = workload("batch", spec=f"affinity: {{nodeAffinity: {{{required}}}}},")
    assert answer(tmp_path, cluster(1, disk="nvme"), job).outcome is Outcome.FITS
    assert answer(tmp_path, cluster(1), job).unusable == {"not selected by the node affinity": 1}
    assert answer(tmp_path, cluster(1, pool="other"), job).unusable == {"without the label pool=h100": 1}


@pytest.mark.parametrize(
    ("operator", "values", "holds"),
    [
        ("In", ["7"], True),
        ("In", ["8"], False),
        ("NotIn", ["7"], False),
        ("NotIn", ["8"], True),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
        ("Gt", ["6"], True),
        ("Gt", ["7"], False),
        ("Lt", ["8"], True),
        ("Lt", ["7"], False),
        ("Near", ["7"], False),
    ],
)
def test_conditions_of_node_affinity_hold_as_in_kubernetes(operator: str, values: list[str], holds: bool) -> None:
    conditions = [{"key": "zone", "operator": operator, "values": values}]
    required = {"nodeSelectorTerms": [{"matchExpressions": conditions}, {}]}
    spec = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}
    assert (shape_of(spec).rules.refusal(node("n", ["7"], 1)) == "") is holds


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"gpus": 0, "pod_notes": 'gpu-fraction: "0.5"'}, "a pod of it shares a GPU with others"),
        (
            {
                "spec": "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                "[{topologyKey: h, labelSelector: {}}]}},"
            },
            "a pod of it has a rule about pods beside it (podAntiAffinity)",
        ),
        (
            {"spec": "resourceClaims: [{name: c, resourceClaimName: c}],"},
            "a pod of it asks for devices by a ResourceClaim",
        ),
        ({"spec": "nodeName: n1,"}, "a pod of it names its node itself"),
    ],
)
def test_what_depends_on_more_than_free_nodes_is_left_out(more: dict[str, Any], reason: str, tmp_path: Path) -> None:
    (found,) = items(tmp_path, workload("batch", **more))
    assert isinstance(found, LeftOut)
    assert found.text == f"Job batch: {reason}"


def test_a_hand_written_pod_group_has_the_pods_beside_it(tmp_path: Path) -> None:
    pods = [member("p1", "a"), member("p2", "a"), member("p3", "b", 4), member("p4", "b", 4)]
    found = one(tmp_path, JUDGE, *pods)
    assert pods_of(found) == {"a": 2, "b": 1}
    assert Counter(dict(shape.asks)[GPU] for shapes in found.needed.values() for shape in shapes) == {8: 2, 4: 1}
    for others, reason in (
        (pods[1:], "of a it needs 2, and 1 Pod of it is here"),
        ([*pods, member("p5", "b", 2)], "the Pods of b differ, and only the cluster knows which of them come first"),
    ):
        (left_out,) = items(tmp_path, JUDGE, *others)
        assert isinstance(left_out, LeftOut)
        assert left_out.reason == reason


def test_a_sub_group_may_come_before_its_parent(tmp_path: Path) -> None:
    """KAI does not mind their order."""
    spec = (
        "{queue: osmo-pool-default-team--shared, minSubGroup: 1, subGroups: "
        "[{name: x, parent: top, minMember: 2}, {name: inner, parent: top, minSubGroup: 1}, "
        "{name: top, minSubGroup: 2}, {name: y, parent: inner, minMember: 1}]}"
    )
    group = f"apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {{name: judge}}\nspec: {spec}\n"
    assert pods_of(one(tmp_path, group, member("p1", "x"), member("p2", "x"), member("p3", "y"))) == {"x": 2, "y": 1}


@pytest.mark.parametrize("error", [KeyError("name"), AttributeError("name"), TypeError("name"), ValueError("name")])
def test_a_bug_of_the_tool_is_not_told_as_a_mistake_of_the_file(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr("kubectl_tas.place.gangs_to_place.own_gang", fails)
    with pytest.raises(type(error)):
        items(tmp_path, workload("batch"))
    (tmp_path / "nodes.json").write_text(json.dumps({"items": cluster(2)}))
    result = kubectl_tas("fit", "batch", "--nodes", "nodes.json", cwd=tmp_path)
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith(f"error: internal error: {type(error).__name__}: ")


@pytest.mark.parametrize(("gpus", "code"), [(4, 0), (2, 1), (0, 1)])
def test_pods_that_differ_have_an_answer_where_every_order_gives_the_same(gpus: int, code: int, tmp_path: Path) -> None:
    """Of b KAI takes one Pod: one of 4 GPUs, or one of 2."""
    items(tmp_path, JUDGE, *(member(name, "a", 2) for name in ("p1", "p2")), member("p3", "b", 4), member("p4", "b", 2))
    (tmp_path / "nodes.json").write_text(json.dumps({"items": nodes_of(2, 2, gpus)}))
    result = kubectl_tas("fit", "judge", "--nodes", "nodes.json", cwd=tmp_path)
    assert result.code == code
    assert ("which of them come first" in result.err) is (gpus == 2)
    assert ("KAI finds it:        yes" in result.out) is (gpus == 4)


@pytest.mark.parametrize("case", ELASTIC, ids=range(len(ELASTIC)))
def test_kai_starts_the_same_gangs(case: dict[str, Any], tmp_path: Path) -> None:
    spec = {"queue": "osmo-pool-default-team--shared", "priorityClassName": "osmo-low", **case["spec"]}
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "judge"},
        "spec": spec,
    }
    pods = [member(f"p{n}", part, gpus, cpu) for n, (part, gpus, cpu) in enumerate(case["pods"])]
    nodes = [
        {
            "kind": "Node",
            "metadata": {
                "name": f"n{n}",
                "labels": {"pool": "h100", **dict(zip(("zone", "rack"), place, strict=False))},
            },
            "spec": {"unschedulable": is_cordoned},
            "status": {"allocatable": {GPU: gpus, "cpu": cpu, "pods": 110}},
        }
        for n, (place, gpus, cpu, is_cordoned) in enumerate(case["nodes"])
    ]
    found = answer(tmp_path, nodes, json.dumps(group) + "\n", *pods)
    assert (found.outcome is Outcome.FITS) is case["starts"]


SET = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: chat, labels: {kubectl-tas/pool: team}}
spec:
  replicas: 2
  template:
    cliques:
    - {name: router, spec: {roleName: r, replicas: 1, podSpec: {containers: [{name: c, image: i}]}}}
    - {name: worker, spec: {roleName: w, replicas: 3, minAvailable: 2, podSpec: {containers: [{name: c, image: i}]}}}
    podCliqueScalingGroups: [{name: model, cliqueNames: [worker], replicas: 3, minAvailable: 1}]
"""


def test_a_pod_clique_set_has_base_gangs_and_scaled_ones(tmp_path: Path) -> None:
    base, scaled = items(tmp_path, SET)
    assert isinstance(base, Unplaced)
    assert isinstance(scaled, Unplaced)
    assert (pods_of(base), base.copies) == ({"chat-0-router": 1, "chat-0-model-0-worker": 2}, 2)
    assert (sum(pods_of(scaled).values()), scaled.copies) == (2, 4)
    assert base.is_called("chat-1")
    assert not base.is_called("chat-2")


def test_the_levels_of_a_pod_clique_set_are_those_of_its_topology(tmp_path: Path) -> None:
    packed = SET.replace(
        "  template:\n", "  template:\n    topologyConstraint: {topologyName: racks, packDomain: rack}\n"
    )
    (unknown,) = items(tmp_path, packed)
    assert isinstance(unknown, LeftOut)
    assert unknown.reason == "its topology is not declared"
    write(tmp_path, {"topologies/racks.yaml": grove.topology()})
    found, _ = items(tmp_path, packed)
    assert isinstance(found, Unplaced)
    hosts = "kubernetes.io/hostname"
    assert [level.label for level in found.levels] == ["topology.kubernetes.io/zone", "example.com/rack", hosts]
