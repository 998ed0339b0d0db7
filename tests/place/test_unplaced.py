"""Tests which pods of a submission must have a node before any of them starts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.cli.session import check_source
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.node_places import HOSTNAME
from kubectl_tas.load.source import FolderSource
from kubectl_tas.place.answers import Fit, FitOutcome, fit
from kubectl_tas.place.gangs_to_place import GangToPlace, LeftOut, unplaced
from kubectl_tas.place.node_resources import NodeResources, Taint, read_nodes
from kubectl_tas.place.shapes import shape_of
from tests.place.clusters import JUDGE, cluster, member, node, nodes_of
from tests.support import grove
from tests.support.cli import kubectl_tas, write
from tests.support.workloads import (
    ZONE,
    Object,
    declare,
    deployment,
    leader_worker_set,
    pytorch_job,
    segments,
    template,
    tf_job,
)
from tests.support.workloads import workload as made

Item = dict[str, Any]
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
PORT = "{name: i, image: i, ports: [{%s}]}"
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


def items(root: Path, *documents: str) -> list[GangToPlace | LeftOut]:
    write(root, {"pools/team.yaml": POOL, "tas.yaml": "", "workflows/all.yaml": "---\n".join(documents)})
    checked = check_source(root, FolderSource(root))
    return list(unplaced(checked.fleet, checked.fleet.submissions))


def one(root: Path, *documents: str) -> GangToPlace:
    (found,) = items(root, *documents)
    assert isinstance(found, GangToPlace), found
    return found


def pods_of(item: GangToPlace) -> dict[str | None, int]:
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
    assert answer(tmp_path, cluster(4), job).outcome is FitOutcome.FITS
    assert answer(tmp_path, cluster(3), job).outcome is FitOutcome.NO_ROOM


def test_levels_of_annotations_bind_and_can_be_loosened(tmp_path: Path) -> None:
    job = workload(
        "batch", notes='kai.scheduler/batch-min-member: "4", kai.scheduler/topology-required-placement: rack'
    )
    found = answer(tmp_path, cluster(4), job)
    assert found.outcome is FitOutcome.NO_ROOM
    assert found.shortage is not None
    assert (found.shortage.pods, found.shortage.best[0].pods) == (4, 2)
    assert [(change.kind, change.text) for change in found.changes[:3]] == [
        ("preferred", "prefer rack instead of requiring it (the annotation that ends in preferred-placement)"),
        ("level", "require zone instead of rack"),
        ("tasks", "run 2 pods instead of 4"),
    ]


@pytest.mark.parametrize(("kind", "syntax"), [("set", "pack: {preferred: ...}"), ("group", "preferredTopologyLevel")])
def test_how_a_level_is_preferred_depends_on_the_kind_of_file(kind: str, syntax: str, tmp_path: Path) -> None:
    topology = "topologyConstraint: {topology: osmo-pool-default-team-topology, requiredTopologyLevel: rack}"
    files = [pod_group(f"minMember: 4, {topology}"), *(member(f"p{number}", "''") for number in range(4))]
    nodes = cluster(4)
    if kind == "set":
        write(tmp_path, {"topologies/racks.yaml": grove.topology()})
        level = "topologyConstraint: {topologyName: racks, packDomain: rack}"
        gpus = "containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 8}}}]"
        clique = f"{{name: c, spec: {{roleName: c, replicas: 4, podSpec: {{{gpus}}}}}}}"
        files = [
            "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\n"
            "metadata: {name: chat, labels: {kubectl-tas/pool: team}}\n"
            f"spec: {{replicas: 1, template: {{{level}, cliques: [{clique}]}}}}\n"
        ]
        for item in nodes:
            labels, name = item["metadata"]["labels"], item["metadata"]["name"]
            labels |= {"topology.kubernetes.io/zone": "a", "example.com/rack": labels["rack"], HOSTNAME: name}
    (change, *_) = texts("preferred", answer(tmp_path, nodes, *files))
    assert change == f"prefer rack instead of requiring it ({syntax})"


def test_a_gang_that_grows_later_is_to_start_with_fewer_pods(tmp_path: Path) -> None:
    found = answer(tmp_path, cluster(2), workload("batch", notes='kai.scheduler/batch-min-member: "3"'))
    assert [change.text for change in found.changes] == ["start with 2 pods instead of 3"]


def test_equal_gangs_are_placed_one_after_the_other(tmp_path: Path) -> None:
    found = answer(tmp_path, cluster(8), workload("serve"))
    assert (found.outcome, found.copies) == (FitOutcome.NO_ROOM, 3)
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
    assert (found.outcome, found.copies, found.running) == (FitOutcome.FITS, 1, 2)
    web = [running(f"web-{n}", f"pg-web-7d9fc6b5d8-abcd{n}-{uid}") for n in range(5)]
    assert answer(tmp_path, cluster(1, *web), workload("web")).outcome is FitOutcome.RUNS


def test_nodes_of_the_pool_and_node_affinity_count(tmp_path: Path) -> None:
    term = "{matchExpressions: [{key: disk, operator: In, values: [nvme]}]}"
    required = f"requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{term}]}}"
    job = workload("batch", spec=f"affinity: {{nodeAffinity: {{{required}}}}},")
    assert answer(tmp_path, cluster(1, disk="nvme"), job).outcome is FitOutcome.FITS
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
    assert (refusal({"matchExpressions": conditions}, {}) == "") is holds


def refusal(*terms: Item, labels: tuple[str, ...] = ("7",)) -> str:
    """Why the node n, with these labels of levels, is refused by node affinity with these terms."""
    required = {"nodeSelectorTerms": list(terms)}
    spec = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}
    return shape_of(spec).rules.refusal(node("n", labels, 1))


@pytest.mark.parametrize(
    ("operator", "label", "values"),
    [("Gt", "7", ["6", "5"]), ("Lt", "7", []), ("Gt", "many", ["6"]), ("Lt", "7", ["many"]), ("Gt", None, ["6"])],
)
def test_only_whole_numbers_are_compared_and_one_at_a_time(operator: str, label: str | None, values: list[str]) -> None:
    """Any other comparison holds nowhere."""
    condition = {"key": "zone", "operator": operator, "values": values}
    assert refusal({"matchExpressions": [condition]}, labels=(label,) if label else ()) == NOT_SELECTED


NOT_SELECTED = "not selected by the node affinity"
HERE = {"key": "metadata.name", "operator": "In", "values": ["n"]}
NOT_ON = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["host"]}
NOWHERE = {"key": "zone", "operator": "DoesNotExist"}


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        ([{"matchFields": [HERE]}], ""),
        ([{"matchFields": [{**HERE, "values": ["m"]}]}], NOT_SELECTED),
        ([{"matchExpressions": [HERE]}], NOT_SELECTED),
        ([{"matchExpressions": [NOT_ON]}], "excluded by the task"),
        ([{"matchExpressions": [NOT_ON], "matchFields": [HERE]}], "excluded by the task"),
        ([{"matchExpressions": [NOT_ON, NOWHERE]}], NOT_SELECTED),
        ([{"matchExpressions": [{**NOT_ON, "operator": "In", "values": ["x"]}]}], NOT_SELECTED),
        ([{}], NOT_SELECTED),
        ([], NOT_SELECTED),
    ],
)
def test_what_node_affinity_says_of_a_node(terms: list[Item], reason: str) -> None:
    """An expression reads labels and a field the name, no term selects all nodes, and an empty one none."""
    required = {"nodeSelectorTerms": terms}
    spec = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}
    there = NodeResources("n", {"zone": "7", "kubernetes.io/hostname": "host"}, {}, {})
    assert shape_of(spec).rules.refusal(there) == reason


@pytest.mark.parametrize(
    ("toleration", "taint", "covers"),
    [
        ({"operator": "Exists"}, ("gpu", "yes", "NoSchedule"), True),
        ({"key": "gpu", "operator": "Exists"}, ("gpu", "yes", "NoSchedule"), True),
        ({"key": "gpu", "operator": "Exists"}, ("other", "yes", "NoSchedule"), False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, ("gpu", "yes", "NoSchedule"), False),
        ({"key": "gpu"}, ("gpu", "", "NoSchedule"), True),
        ({"key": "gpu"}, ("gpu", "yes", "NoSchedule"), False),
        ({"key": "gpu", "operator": "Equal", "value": "yes"}, ("gpu", "yes", "NoExecute"), True),
        ({"key": "gpu", "operator": "Equal", "value": "yes"}, ("gpu", "no", "NoExecute"), False),
    ],
)
def test_tolerations_cover_taints_as_in_kubernetes(toleration: Item, taint: Sequence[str], covers: bool) -> None:
    rules = shape_of({"tolerations": [toleration]}).rules
    refused = rules.refusal(NodeResources("n", {}, {}, {}, taints=(Taint(*taint),)))
    key, value, effect = taint
    assert refused == ("" if covers else f"with the taint {key}{'=' if value else ''}{value}:{effect}")


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
        (
            {
                "spec": "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                "[{topologyKey: h, labelSelector: {}}]}},"
            },
            "a pod of it has a rule about pods beside it (podAffinity)",
        ),
        ({"spec": "schedulingGates: [{name: g}],"}, "a pod of it waits for its scheduling gates"),
        (
            {"spec": f"initContainers: [{{restartPolicy: Always, {(PORT % 'hostPort: 80, hostIP: 10.0.0.1')[1:]}],"},
            "a pod of it needs a port of one address of its node",
        ),
    ],
)
def test_what_depends_on_more_than_free_nodes_is_left_out(more: dict[str, Any], reason: str, tmp_path: Path) -> None:
    (found,) = items(tmp_path, workload("batch", **more))
    assert isinstance(found, LeftOut)
    assert found.text == f"Job batch: {reason}"


GANG = {"kubectl-tas/gang": "all"}
OWNED = {"kubectl-tas/podgroup": "owned"}


def job(name: str, pods: int = 1, *, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    found = made("batch/v1", "Job", name, None, {"parallelism": pods, "template": template()})
    found["metadata"]["annotations"] = annotations or {}
    found["spec"]["template"]["spec"] |= spec
    return found


def job_set(jobs: int) -> Object:
    part = {"name": "a", "replicas": jobs, "template": {"spec": {"template": template()}}}
    return made("jobset.x-k8s.io/v1alpha2", "JobSet", "sets", None, {"replicatedJobs": [part]})


def train_job(labels: dict[str, str]) -> Object:
    return made("trainer.kubeflow.org/v1alpha1", "TrainJob", "train", labels, {"runtimeRef": {"name": "torch"}})


def clique_set(replicas: int) -> Object:
    pods = {"roleName": "r", "replicas": 1, "podSpec": template()["spec"]}
    cliques = [{"name": "a", "spec": pods}]
    return made(
        "grove.io/v1alpha1", "PodCliqueSet", "chat", None, {"replicas": replicas, "template": {"cliques": cliques}}
    )


def starting(kind: str, least: int) -> Object:
    """A job of Kubeflow that starts with so many pods."""
    found = tf_job("t") if kind == "TFJob" else pytorch_job("p")
    found["spec"]["runPolicy"] = {"schedulingPolicy": {"minAvailable": least}}
    return found


def listed(root: Path, *workloads: Object, version: str = "0.17") -> list[GangToPlace | LeftOut]:
    """The gangs of workloads in a cluster with this release of KAI."""
    checked = check_source(root, FolderSource(declare(root, *workloads, version=version)))
    return list(unplaced(checked.fleet, checked.fleet.submissions))


@pytest.mark.parametrize(
    ("workload", "version", "reason"),
    [
        (train_job(OWNED), "0.17", "its file does not say what its pods are, or which PodGroup they get"),
        (job_set(1001), "0.17", "its SubGroups are too many to be listed"),
        (
            pytorch_job("p", workers=4, annotations=segments(2)),
            "0.12",
            "KAI does not make the segments that it asks for",
        ),
        (leader_worker_set("l", size=5, annotations=segments(1)), "0.17", "KAI refuses segments of 1 pod"),
        (pytorch_job("p", workers=4, annotations=segments(2)), "0.15", "KAI's own webhook refuses its PodGroup"),
        (clique_set(1001), "0.17", "its gangs are too many to be listed"),
        (job("j", annotations=ZONE), "0.8", "the release of KAI knows no topologies"),
        (job("j", tolerations=["x"]), "0.17", "Kubernetes would not take its pods"),
        (deployment("d", replicas=201), "0.17", "it has 201 gangs, and no more than 200 are looked at"),
    ],
    ids=lambda item: item["kind"] if isinstance(item, dict) else None,
)
def test_work_whose_gang_kai_would_not_make_or_nobody_could_read_is_left_out(
    workload: Object, version: str, reason: str, tmp_path: Path
) -> None:
    (found,) = listed(tmp_path, workload, version=version)
    assert isinstance(found, LeftOut)
    assert found.reason == reason


@pytest.mark.parametrize("workload", [job_set(1000), deployment("d", replicas=200), clique_set(200)])
def test_work_at_a_limit_is_looked_at(workload: Object, tmp_path: Path) -> None:
    (found,) = listed(tmp_path, workload)
    assert isinstance(found, GangToPlace)


@pytest.mark.parametrize(("workload", "version"), [(job("j"), "0.8"), (pytorch_job("p"), "0.9")])
def test_work_without_a_level_is_placed_by_every_release(workload: Object, version: str, tmp_path: Path) -> None:
    (found,) = listed(tmp_path, workload, version=version)
    assert isinstance(found, GangToPlace)
    assert found.gang.sub_groups == ()


@pytest.mark.parametrize(
    ("workload", "version", "needed", "further"),
    [
        (starting("PyTorchJob", 1), "0.12", {None: 1}, {None: 2}),
        (starting("PyTorchJob", 1), "0.14", {"master": 1, "worker": 1}, {"worker": 1}),
        (starting("PyTorchJob", 1), "0.17", {"master": 1}, {"worker": 2}),
        (starting("TFJob", 0), "0.17", {None: 1}, {None: 4}),
        (job("j", 1000), "0.17", {None: 1}, {None: 999}),
        (job("j", 1001), "0.17", {None: 1}, {}),
    ],
)
def test_a_minimum_of_none_counts_as_one_pod_where_kai_has_it_so(
    workload: Object, version: str, needed: object, further: object, tmp_path: Path
) -> None:
    """A SubGroup may need no pod from 0.15. Pods that come later are known of gangs of up to 1,000."""
    (found,) = listed(tmp_path, workload, version=version)
    assert isinstance(found, GangToPlace)
    assert pods_of(found) == needed
    assert {name: len(shapes) for name, shapes in found.further.items() if shapes} == further


def test_workloads_of_one_gang_are_placed_once_and_together(tmp_path: Path) -> None:
    """Each is a SubGroup; one that is divided has its replica types below it."""
    parts = [deployment("d", GANG, gpus=4), pytorch_job("p", GANG, gpus=8, workers=3, minimum=2)]
    gang, alone = listed(tmp_path, *parts, job("j"))
    assert isinstance(gang, GangToPlace)
    assert isinstance(alone, GangToPlace)
    assert alone.sent.name == "j"
    assert pods_of(gang) == {"deployment-d": 2, "pytorchjob-p-master": 1, "pytorchjob-p-worker": 1}
    (tmp_path / "nodes.json").write_text(json.dumps({"items": nodes_of(8, 8, 8)}))
    page = kubectl_tas("fit", "p", "--nodes", "nodes.json", cwd=tmp_path).out
    assert "Asks:                   6 pods with 40 GPUs; starts with 4\n" in page


@pytest.mark.parametrize("replicas", [0, 1])
def test_workloads_without_pods_do_not_keep_their_gang_from_starting(replicas: int, tmp_path: Path) -> None:
    """Their SubGroups have the minimum 0."""
    (gang,) = listed(tmp_path, deployment("a", GANG, replicas=0), deployment("b", GANG, replicas=replicas))
    if replicas:
        assert isinstance(gang, GangToPlace)
        assert pods_of(gang) == {"deployment-b": 1}
    else:
        assert isinstance(gang, LeftOut)
        assert gang.reason == "it has no pods"


def test_a_gang_has_no_answer_where_one_of_its_workloads_has_none(tmp_path: Path) -> None:
    (found,) = listed(tmp_path, deployment("d", GANG), train_job(GANG))
    assert isinstance(found, LeftOut)
    assert found.reason == "its file does not say what its pods are, or which PodGroup they get"


@pytest.mark.parametrize(
    "spec", [f"initContainers: [{PORT % 'containerPort: 80'}],", "hostNetwork: true,", "affinity: {podAffinity: {}},"]
)
def test_pods_that_share_nothing_with_others_have_an_answer(spec: str, tmp_path: Path) -> None:
    assert answer(tmp_path, cluster(1), workload("batch", spec=spec)).outcome is FitOutcome.FITS


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


def pod_group(spec: str) -> str:
    """The PodGroup of ``member``'s Pods, with a spec in YAML."""
    text = f"{{queue: osmo-pool-default-team--shared, priorityClassName: osmo-normal, {spec}}}"
    return f"apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {{name: judge}}\nspec: {text}\n"


def test_a_pod_group_without_sub_groups_takes_its_first_pods(tmp_path: Path) -> None:
    pods = [member(f"p{n}", "''") for n in range(3)]
    found = one(tmp_path, pod_group("minMember: 2"), *pods)
    assert (pods_of(found), {name: len(more) for name, more in found.further.items()}) == ({None: 2}, {None: 1})
    differs = member("p3", "''", 4)
    (left_out,) = items(tmp_path, pod_group("minMember: 2"), *pods, differs)
    assert isinstance(left_out, LeftOut)
    assert [pods_of(order) for order in left_out.orders] == [{None: 2}] * 3


@pytest.mark.parametrize(("version", "parts"), [("0.9", {None: 3}), ("0.10", {"a": 2, "b": 1})])
@pytest.mark.parametrize("is_set", [False, True])
def test_a_release_without_a_tree_of_sub_groups_takes_the_pods_of_all_together(
    version: str, parts: dict[str | None, int], is_set: bool, tmp_path: Path
) -> None:
    """Pods of a SubGroup that a release ignores need room all the same."""
    group = SET if is_set else "---\n".join([JUDGE, *(member(f"p{n}", "aaab"[n]) for n in range(4))])
    write(declare(tmp_path, version=version), {"workflows/w.yaml": group})
    checked = check_source(tmp_path, FolderSource(tmp_path))
    found = next(item for item in unplaced(checked.fleet, checked.fleet.submissions) if isinstance(item, GangToPlace))
    assert len(found.request.unit.all_pods) == 3
    assert sum(map(len, found.further.values())) == 1
    assert is_set or pods_of(found) == parts
    assert (found.gang.sub_groups == ()) is (version == "0.9")


@pytest.mark.parametrize("version", ["0.9", "0.10"])
def test_orders_of_pods_are_tried_for_every_release(version: str, tmp_path: Path) -> None:
    pods = [member("p1", "a"), member("p2", "a"), member("p3", "b", 8), member("p4", "b", 4)]
    write(declare(tmp_path, version=version), {"workflows/w.yaml": "---\n".join([JUDGE, *pods])})
    for gpus, code in (([8, 8, 8], 0), ([8, 8, 4], 1), ([8, 8], 1)):
        (tmp_path / "nodes.json").write_text(json.dumps({"items": nodes_of(*gpus)}))
        assert kubectl_tas("fit", "judge", "--nodes", "nodes.json", cwd=tmp_path).code == code


OWN, OTHER = "osmo-pool-default-team-topology", "racks"


def asked(topology: str | None, level: str) -> str:
    return f"topologyConstraint: {{topology: {topology or 'null'}, requiredTopologyLevel: {level}}}"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (
            f"{asked(OWN, 'rack')}, subGroups: [{{name: default, minMember: 1, {asked(OTHER, 'rack')}}}]",
            "its parts name 2 topologies",
        ),
        (f"minMember: 1, {asked(OTHER, 'rack')}", "its topology racks is not declared"),
        (f"minMember: 1, {asked(None, 'rack')}", "its topology is not known"),
        (f"minMember: 1, {asked(OWN, 'rows')}", f"it asks for a level that topology {OWN} does not have"),
        ("minMember: 3", "of default it needs 3, and 2 Pods of it are here"),
        (
            "minSubGroup: 1, subGroups: [{name: a, minMember: 0}, {name: b, minMember: 1}]",
            "it starts with no pod at all: KAI takes them one by one",
        ),
    ],
)
def test_a_pod_group_that_cannot_be_placed_says_why(spec: str, reason: str, tmp_path: Path) -> None:
    (found,) = items(tmp_path, pod_group(spec), member("p1", "''"), member("p2", "''"))
    assert isinstance(found, LeftOut)
    assert found.reason == reason


def test_a_topology_of_another_cluster_is_not_declared_here(tmp_path: Path) -> None:
    backends = "[{name: default}, {name: lab, context: lab}]"
    files = {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{backends: {backends}}}\n"}
    for pool, backend in (("team", "default"), ("far", "lab")):
        text = POOL.replace("name: team", f"name: {pool}").replace("spec:\n", f"spec:\n  backend: {backend}\n")
        files[f"pools/{pool}.yaml"] = text
    far = "osmo-pool-default-far-topology"
    group = pod_group(f"minMember: 1, {asked(far, 'rack')}") + "---\n" + member("p1", "''")
    write(tmp_path, {**files, "workflows/all.yaml": group})
    checked = check_source(tmp_path, FolderSource(tmp_path))
    assert {item.name for item in checked.fleet.topologies} == {far, OWN}
    (found,) = unplaced(checked.fleet, checked.fleet.submissions)
    assert isinstance(found, LeftOut)
    assert found.reason == f"its topology {far} is not declared"


@pytest.mark.parametrize(("pods", "orders"), [(5, 60), (6, 0)])
def test_at_most_a_hundred_orders_of_pods_are_tried(pods: int, orders: int, tmp_path: Path) -> None:
    """Of three pods that come first: 5 * 4 * 3, and 6 * 5 * 4. Of two SubGroups that differ the first is named."""
    group = pod_group("subGroups: [{name: b, minMember: 1}, {name: a, minMember: 3}]")
    of_b = [member(f"q{n}", "b", 8) for n in range(2)]
    (found,) = items(tmp_path, group, *of_b, *(member(f"p{n}", "a", n + 1) for n in range(pods)))
    assert isinstance(found, LeftOut)
    assert len(found.orders) == orders
    both = [*of_b, member("q2", "b", 4), *(member(f"p{n}", "a", n + 1) for n in range(4))]
    (found,) = items(tmp_path, group, *both)
    assert isinstance(found, LeftOut)
    assert (found.reason[:20], len(found.orders)) == ("the Pods of a differ", 2 * 24)


def test_a_sub_group_may_come_before_its_parent(tmp_path: Path) -> None:
    """KAI does not mind their order."""
    group = pod_group(
        "minSubGroup: 1, subGroups: "
        "[{name: x, parent: top, minMember: 2}, {name: inner, parent: top, minSubGroup: 1}, "
        "{name: top, minSubGroup: 2}, {name: y, parent: inner, minMember: 1}]"
    )
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
    assert (found.outcome is FitOutcome.FITS) is case["starts"]


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
    assert isinstance(base, GangToPlace)
    assert isinstance(scaled, GangToPlace)
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
    assert isinstance(found, GangToPlace)
    hosts = "kubernetes.io/hostname"
    assert [level.label for level in found.levels] == ["topology.kubernetes.io/zone", "example.com/rack", hosts]


def texts(kind: str, found: Fit) -> list[str]:
    """The changes of a kind that help."""
    return [change.text for change in found.changes if change.kind == kind]


def test_of_gangs_of_which_none_fits_none_is_to_run(tmp_path: Path) -> None:
    assert texts("copies", answer(tmp_path, cluster(3), workload("serve"))) == []


@pytest.mark.solver
@pytest.mark.parametrize(
    ("pods", "nodes", "text"),
    [
        ((16, 4, 4), (8,), "run 2 pods instead of 3, without p0"),
        ((16, 4), (8,), "run 1 pod instead of 2, without p0"),
        ((8, 4, 4), (8,), "run 2 pods instead of 3, without p0"),
        ((8, 8, 8, 4, 4), (8, 8), "run 3 pods instead of 5, without p1, p2"),
        ((8, 6, 4, 4), (8,), "run 2 pods instead of 4, without p0, p1"),
        ((6, 4, 4), (8,), "run 2 pods instead of 3, without p0"),
        ((16, 16), (8,), None),
    ],
)
def test_of_pods_that_differ_as_many_are_kept_as_fit(
    pods: Sequence[int], nodes: Sequence[int], text: str | None, tmp_path: Path
) -> None:
    """Pods of a PodGroup are called by their names."""
    group = [pod_group(f"minMember: {len(pods)}"), *(member(f"p{n}", "''", gpus) for n, gpus in enumerate(pods))]
    assert texts("tasks", answer(tmp_path, nodes_of(*nodes), *group)) == ([text] if text else [])


def test_pods_with_as_many_gpus_are_told_apart(tmp_path: Path) -> None:
    """Only the first of them has room."""
    group = [pod_group("minMember: 2"), member("small", "''", 8), member("large", "''", 8, 900)]
    found = texts("tasks", answer(tmp_path, nodes_of(8, 8), *group))
    assert found == ["run 1 pod instead of 2, without large"]


def test_a_replicated_job_in_order_waits_for_the_one_before_it(tmp_path: Path) -> None:
    """Before 0.16 KAI makes a PodGroup for each."""
    replicated = [{"name": name, "replicas": 1, "template": {"spec": job("x")["spec"]}} for name in ("first", "then")]
    spec = {"startupPolicy": {"startupPolicyOrder": "InOrder"}, "replicatedJobs": replicated}
    labels = {"kubectl-tas/pool": "team"}
    document = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "s", "labels": labels}}
    found = listed(tmp_path, {**document, "spec": spec}, version="0.15")
    orders = [gang.order for gang in found if isinstance(gang, GangToPlace)]
    assert [(order.names, order.before) for order in orders if order] == [
        (("first",), ((),)),
        (("then",), (("first",),)),
    ]


def tainted(nodes: list[Item], *taints: Item) -> list[Item]:
    for item in nodes:
        item["spec"] = {"taints": list(taints)}
    return nodes


LICENCE = {"key": "licence", "value": "none", "effect": "NoSchedule"}
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


@pytest.mark.solver
@pytest.mark.parametrize(
    ("taints", "is_cordoned", "text"),
    [
        ([LICENCE], False, ["remove the taint licence=none:NoSchedule from n0"]),
        ([{**LICENCE, "value": ""}], False, ["remove the taint licence:NoSchedule from n0"]),
        ([CORDON], True, ["uncordon n0"]),
        ([CORDON, LICENCE], True, ["uncordon n0; remove the taint licence=none:NoSchedule from n0"]),
        ([{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}, LICENCE], True, []),
    ],
)
def test_what_is_to_be_done_to_a_node_before_it_takes_pods(
    taints: list[Item], is_cordoned: bool, text: list[str], tmp_path: Path
) -> None:
    """A taint of Kubernetes' own goes with its cause, a cordon or something that nobody here can mend."""
    nodes = tainted(cluster(1), *taints)
    nodes[0]["spec"]["unschedulable"] = is_cordoned
    assert texts("admit", answer(tmp_path, nodes, workload("batch"))) == text


def holding(**metadata: Any) -> Item:
    found = running("held", "")
    found["metadata"] = {"name": "held", "namespace": "default", **metadata}
    found["spec"]["containers"] = [{"name": "c", "resources": {"requests": {GPU: "8"}}}]
    return found


@pytest.mark.solver
@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({}, ["free 1 node: n0, where 1 pod would have to go"]),
        ({"annotations": {"pod-group-name": "g"}}, ["free 1 node: n0, where 1 pod of g would have to go"]),
        ({"ownerReferences": [{"kind": "ReplicaSet"}]}, ["free 1 node: n0, where 1 pod would have to go"]),
        ({"ownerReferences": [{"kind": "ReplicaSet"}, {"kind": "DaemonSet"}]}, []),
        ({"annotations": {"kubernetes.io/config.mirror": "x"}}, []),
    ],
)
def test_pods_that_come_back_to_their_node_do_not_go_to_free_it(
    metadata: Item, text: list[str], tmp_path: Path
) -> None:
    assert texts("free", answer(tmp_path, cluster(1, holding(**metadata)), workload("batch"))) == text


def test_where_all_runs_nothing_more_is_needed(tmp_path: Path) -> None:
    uid = "5f0e3c1a-0b1d-4f5e-9c1b-1a2b3c4d5e6f"
    items(tmp_path, workload("batch"))
    nodes = cluster(1, running("p", f"pg-batch-{uid}"))
    (tmp_path / "nodes.json").write_text(json.dumps({"items": nodes}))
    result = kubectl_tas("fit", "--grow", "--nodes", "nodes.json", cwd=tmp_path)
    assert (result.code, result.out.splitlines()[-1]) == (0, "Needs:    no node more")
