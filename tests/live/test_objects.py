"""Tests how objects of a cluster are read from what kubectl prints: JSON, queues, nodes, owners and Grove's sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.live import cliquesets, kubectl, owners
from kubectl_tas.live.cliquesets import GroveState, LiveSet
from kubectl_tas.live.kubectl import ClusterAccess, NamedContent, NoSuchResourceError, parse, read_file
from kubectl_tas.live.live_cluster import Cluster, Clusters, LiveNode, from_file, nodes_among, state_of
from kubectl_tas.live.objects import shown
from kubectl_tas.live.owners import controller, resources, stop_path
from tests.support.kubectl import pod_group, queue

Item = dict[str, Any]
AS_PRINTED = "It must be what `kubectl get ... -o json` prints."
GIVE = "Pass --cluster-state FILE with what `kubectl tas cluster state` wrote, or --context and --kubeconfig."


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ('{"kind": "A"}', [{"kind": "A"}]),
        ('[{"kind": "A"}, {"kind": "B"}]', [{"kind": "A"}, {"kind": "B"}]),
        ('{"kind": "List", "items": [{"kind": "A"}]}{"kind": "B"}\n', [{"kind": "A"}, {"kind": "B"}]),
        ('\ufeff {"kind": "AList", "items": [{"a": 1}, {"kind": "B"}]}', [{"kind": "A", "a": 1}, {"kind": "B"}]),
        ('{"kind": "List", "items": [], "metadata": {"continue": ""}}', []),
    ],
)
def test_objects_in_json(text: str, items: list[Item]) -> None:
    assert list(parse(text.encode(), "a file")) == items


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (" \n", "it is empty"),
        ("3", "not a list of objects"),
        ("[1]", "not a list of objects"),
        ('{"kind": "List", "items": 7}', "not a list of objects"),
        (
            '{"kind": "List", "items": [{"kind": "A"}], "metadata": {"continue": "x"}}',
            "it is only a part of a list: more objects follow",
        ),
        ("{}", "an object has no kind"),
        ('{"kind": 3}', "an object has no kind"),
        ('{"kind": "List", "items": [{"a": 1}]}', "an object has no kind"),
        ('{"kind": "Status", "message": "Unauthorized"}', "the API server answers: 'Unauthorized'"),
        (f'{{"kind": "A", "a": {"9" * 5000}}}', "it has a number with too many digits"),
        ("[" * 100_000, "it is nested too deeply"),
        ("<", "Expecting value: line 1 column 1 (char 0)"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_json_of_objects(text: str, reason: str) -> None:
    with pytest.raises(TasError) as raised:
        list(parse(text.encode(), "a file"))
    assert raised.value.message == f"a file is not JSON of Kubernetes objects: {reason}"
    assert raised.value.hint == AS_PRINTED


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True"),
        (0.5, "0.5"),
        (None, "None"),
        ("a'b", '"a\'b"'),
        ("x" * 317, f"'{'x' * 317}'"),
        ("x" * 318, "a long text"),
        (10**20 - 1, "9" * 20),
        (-(10**20), "a huge number"),
        ([1], "a list"),
        ({"a": 1}, "an object"),
    ],
    ids=str,
)
def test_how_a_value_is_shown(value: object, text: str) -> None:
    assert shown(value) == text


def test_a_file_that_is_given_or_missing(tmp_path: Path) -> None:
    assert read_file(NamedContent.of("stdin", b'{"kind": "A"}')) == [{"kind": "A"}]
    with pytest.raises(TasError, match=r"^cannot read .*/a: No such file or directory$") as raised:
        read_file(str(tmp_path / "a"))
    assert raised.value.hint == "Name a file with JSON."


@pytest.mark.parametrize("home", ["~", "somewhere", None])
def test_kubectl_reads_no_configuration_of_the_working_folder(
    home: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "kubectl"
    program.write_text('#!/bin/sh\necho "{\\"kind\\": \\"$HOME\\", \\"a\\": \\"$*\\"}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("KUBECTL_PATH", str(program))
    monkeypatch.setenv("HOME", home or str(tmp_path))
    access = ClusterAccess("a", "b", "c")
    for namespaced, scope in ((True, " --namespace=c"), (False, "")):
        (item,) = kubectl.get(access, "pods", namespaced=namespaced)
        flags = f"--context=a --kubeconfig=b --request-timeout=30s get pods{scope} -o json"
        assert item == {"kind": "/" if home else str(tmp_path), "a": flags}


@pytest.mark.parametrize(
    ("resource", "owner"),
    [
        ("podcliquesets.grove.io", "Grove's"),
        ("queues.scheduling.run.ai", "KAI Scheduler's"),
        ("topologies.kai.scheduler", "KAI Scheduler's"),
        ("topologies.kueue.x-k8s.io", "Kueue's"),
        ("rayjobs.ray.io", "its"),
    ],
)
def test_whose_definitions_are_missing(
    resource: str, owner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "kubectl"
    program.write_text("#!/bin/sh\necho 'Error (NotFound): no' >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("KUBECTL_PATH", str(program))
    with pytest.raises(NoSuchResourceError) as raised:
        kubectl.get(ClusterAccess(), resource)
    assert raised.value.message == (
        f"the cluster has no {resource}: {owner} CustomResourceDefinitions are not installed"
    )
    assert raised.value.hint == GIVE


@pytest.mark.parametrize(("size", "more"), [(1000, ""), (1001, "...")])
def test_a_long_complaint_of_kubectl_is_cut(
    size: int, more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "kubectl"
    program.write_text(f"#!/bin/sh\necho first >&2; echo {'x' * size} >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("KUBECTL_PATH", str(program))
    with pytest.raises(TasError) as raised:
        kubectl.get(ClusterAccess(), "pods")
    assert raised.value.message == f"the cluster cannot be reached: {'x' * 1000}{more}"


def node(**fields: Any) -> Item:
    return {"kind": "Node", "metadata": {"name": "n"}, **fields}


@pytest.mark.parametrize(
    ("type_", "status", "is_ready"),
    [
        ("Ready", "True", True),
        ("Ready", "Unknown", False),
        *((type_, "False", True) for type_ in ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")),
        *((type_, "True", False) for type_ in ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")),
        ("Other", "True", True),
        ("Other", "False", True),
    ],
)
def test_the_conditions_under_which_kai_uses_a_node(type_: str, status: str, is_ready: bool) -> None:
    (found,) = nodes_among([node(status={"conditions": [{"type": type_, "status": status}]})])
    assert (found.is_ready, found.counts) == (is_ready, is_ready)


def test_a_node() -> None:
    full = node(
        metadata={"name": "n", "labels": {"zone": "a", "rack": "3"}},
        spec={"unschedulable": True},
        status={"allocatable": {"nvidia.com/gpu": "8", "cpu": "64"}},
    )
    assert nodes_among([full, {"kind": "Pod"}]) == [LiveNode("n", {"zone": "a", "rack": "3"}, 8, is_cordoned=True)]
    assert not nodes_among([full])[0].counts
    assert nodes_among([node()]) == [LiveNode("n", {})]


def test_a_queue_that_appears_twice() -> None:
    same = state_of([queue("q", 3), queue("q", 3)]).queues["q"]
    other = state_of([queue("q", 3), queue("q", 4)]).queues["q"]
    assert (same.doubt, other.doubt) == ("", "it appears twice, with different numbers")
    assert other.unknown("q") == (
        "of the queue q the cluster does not say what it holds: it appears twice, with different numbers"
    )
    assert (other.running, same.running) == (None, 0)


def test_a_file_without_queues_says_what_to_add(tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    Path(path).write_text(json.dumps(pod_group("q", running=1)))
    lacks = from_file(path).lacks
    assert lacks is not None
    assert lacks.message == f"{path} has no Queue, so it does not say what runs"
    assert lacks.hint == (
        "Add what this prints: kubectl get queues.scheduling.run.ai,podgroups.scheduling.run.ai -A -o json; "
        "or record the cluster with `kubectl tas cluster state`."
    )
    Path(path).write_text('{"kind": "ClusterState", "kinds": ["Queue"]}')
    assert from_file(path).lacks is None


def test_a_group_that_runs() -> None:
    group = {
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "ml", "ownerReferences": [{"kind": "Job", "name": "j"}]},
        "spec": {"queue": "q"},
        "status": {"resourcesStatus": {"allocated": {"nvidia.com/gpu": "1500m"}}},
    }
    (found,) = state_of([group]).running
    assert (found.namespace, found.name, found.queue, found.owners) == ("ml", "g", "q", (("Job", "j"),))
    assert (found.held.gpu, found.work) == (2, "Job/j")
    (bare,) = state_of([{"kind": "PodGroup", "metadata": {"name": "g"}, "status": {"running": 1}}]).running
    assert (bare.namespace, bare.name, bare.queue, bare.work) == ("default", "g", "None", "PodGroup/g")


class Forbidding:
    """A kubectl that forbids some resources, does not know others, and tells of each what it was asked."""

    def __init__(self, forbidden: str = "", absent: str = "") -> None:
        self.forbidden, self.absent = forbidden, absent
        self.asked: list[tuple[str, bool]] = []

    def get(self, access: ClusterAccess, resource: str, *, namespaced: bool = False) -> list[Item]:
        assert access.namespace is None
        self.asked.append((resource, namespaced))
        if resource == self.forbidden:
            raise kubectl.ForbiddenError("no")
        if resource == self.absent:
            raise NoSuchResourceError("none")
        return [{"kind": resource}]


QUEUED = [
    ("queues.scheduling.run.ai", False),
    ("podgroups.scheduling.run.ai", True),
    ("priorityclasses.scheduling.k8s.io", False),
]
SCHEDULED = [
    *QUEUED,
    ("bindrequests.scheduling.run.ai", True),
    ("topologies.kai.scheduler", False),
    ("topologies.kueue.x-k8s.io", False),
]
STORAGE = [
    ("persistentvolumes", False),
    ("persistentvolumeclaims", True),
    ("storageclasses.storage.k8s.io", False),
    ("csidrivers.storage.k8s.io", False),
    ("csistoragecapacities.storage.k8s.io", True),
]


def test_what_kai_reads_beside_nodes_and_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever namespace is named. Storage may be hidden; what the scheduler needs may not."""
    cluster = Cluster(ClusterAccess(namespace="ml"))
    for ask, resources_ in ((cluster.queued, QUEUED), (cluster.scheduling, [*SCHEDULED, *STORAGE])):
        fake = Forbidding()
        monkeypatch.setattr(kubectl, "get", fake.get)
        assert [item["kind"] for item in ask().objects] == [name for name, _ in resources_]
        assert fake.asked == resources_
    monkeypatch.setattr(kubectl, "get", Forbidding("persistentvolumes", "csidrivers.storage.k8s.io").get)
    found = cluster.scheduling()
    assert (found.hidden, len(found.objects)) == ({"persistentvolumes": "no"}, 9)
    monkeypatch.setattr(kubectl, "get", Forbidding("podgroups.scheduling.run.ai").get)
    assert cluster.queued().hidden == {"podgroups.scheduling.run.ai": "no"}
    with pytest.raises(kubectl.ForbiddenError):
        cluster.scheduling()
    fake = Forbidding()
    monkeypatch.setattr(kubectl, "get", fake.get)
    assert len(cluster.nodes_and_pods()) == 2
    assert fake.asked == [("nodes", False), ("pods", True)]
    assert Cluster(ClusterAccess(), "file").scheduling().objects == []


def test_a_cluster_that_nobody_knows() -> None:
    known, why = Cluster(ClusterAccess()), TasError("no context")
    clusters = Clusters({"a": known}, {"b": why})
    assert (clusters.of("a"), clusters.names) == (known, {"a", "b"})
    with pytest.raises(TasError, match=r"^no context$"):
        clusters.of("b")
    with pytest.raises(TasError, match=r"^the cluster of the backend c is not asked$") as raised:
        clusters.of("c")
    assert raised.value.hint == "Pass --cluster-state c=FILE, or --live."
    answers = clusters.ask(lambda cluster: cluster is known)
    assert (answers.found, answers.failed) == ({"a": True}, {"b": why})
    with pytest.raises(TasError, match=r"^no context$"):
        clusters.ask(lambda cluster: cluster, ["b"])


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("Pod", ""),
        ("Workflow", ""),
        ("Unknown", ""),
        ("Job", "jobs.batch"),
        ("CronJob", "cronjobs.batch jobs.batch"),
        ("CronWorkflow", "cronworkflows.argoproj.io workflows.argoproj.io"),
        ("Deployment", "deployments.apps replicasets.apps"),
        ("StatefulSet", "statefulsets.apps"),
        ("InferenceService", "inferenceservices.serving.kserve.io deployments.apps replicasets.apps"),
        ("SeldonDeployment", "seldondeployments.machinelearning.seldon.io deployments.apps replicasets.apps"),
        ("JobSet", "jobsets.jobset.x-k8s.io jobs.batch"),
        ("LeaderWorkerSet", "leaderworkersets.leaderworkerset.x-k8s.io statefulsets.apps"),
        ("MPIJob", "mpijobs.kubeflow.org jobs.batch"),
        ("PyTorchJob", "pytorchjobs.kubeflow.org"),
        ("Notebook", "notebooks.kubeflow.org statefulsets.apps"),
        ("PodCliqueSet", "podcliquesets.grove.io podcliquescalinggroups.grove.io podcliques.grove.io"),
        ("RayJob", "rayjobs.ray.io rayclusters.ray.io jobs.batch"),
        ("RayService", "rayservices.ray.io rayclusters.ray.io"),
        ("TrainJob", "trainjobs.trainer.kubeflow.org jobsets.jobset.x-k8s.io jobs.batch"),
    ],
)
def test_the_kinds_that_tell_why_work_has_no_pods(kind: str, found: str) -> None:
    assert " ".join(resources(kind).values()) == found


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        *((kind, "spec.replicas") for kind in ("Deployment", "StatefulSet", "LeaderWorkerSet", "PodCliqueSet")),
        *((kind, "spec.replicas") for kind in ("ReplicaSet", "ReplicationController", "PodClique")),
        ("PyTorchJob", "spec.runPolicy.suspend"),
        *((kind, "spec.suspend") for kind in ("Job", "JobSet", "CronJob", "RayCluster", "TrainJob")),
    ],
)
def test_the_field_that_stops_a_controller(kind: str, path: str) -> None:
    assert ".".join(stop_path(kind)) == path
    spec: Any = 0 if path == "spec.replicas" else True
    for step in reversed(path.split(".")):
        spec = {step: spec}
    found = controller({"kind": kind, "metadata": {"name": "x"}, **spec})
    assert (found.is_scaled_down, found.is_suspended) == (path == "spec.replicas", path != "spec.replicas")
    bare = controller({"kind": kind, "metadata": {"name": "x"}})
    assert (bare.is_scaled_down, bare.is_suspended) == (False, False)


@pytest.mark.parametrize(
    ("failed", "limit", "suspended", "retries"),
    [
        (0, 6, False, False),
        (1, 6, False, True),
        (6, 6, False, True),
        (7, 6, False, False),
        (1, 0, False, False),
        (1, 6, True, False),
    ],
)
def test_a_job_makes_another_pod_up_to_its_limit(failed: int, limit: int, suspended: bool, retries: bool) -> None:
    spec = {"backoffLimit": limit, "suspend": suspended}
    job = {"kind": "Job", "metadata": {"name": "j"}, "spec": spec}
    assert owners.controller(job).retries(failed) is retries


def test_a_controller() -> None:
    item = {
        "kind": "Job",
        "metadata": {
            "name": "j",
            "namespace": "ml",
            "ownerReferences": [{"kind": "CronJob", "name": "c"}],
            "labels": {"a": "b"},
            "deletionTimestamp": "t",
            "finalizers": ["f"],
        },
        "status": {
            "conditions": [
                {"type": "Suspended", "status": "False", "reason": "x"},
                {"type": "Complete", "status": "True"},
                {"type": "Failed", "status": "True", "reason": "Late", "message": "too late"},
            ],
            "failed": 3,
        },
    }
    found = controller(item)
    assert found == owners.Controller(
        "ml",
        "Job",
        "j",
        (("CronJob", "c"),),
        {"a": "b"},
        "t",
        ("f",),
        is_suspended=False,
        is_scaled_down=False,
        ended=(("Complete", ""), ("Failed", "Late: too late")),
        failed=3,
        backoff_limit=6,
    )
    assert [found.why(types) for types in (["Failed"], ["Complete", "Failed"], ["Suspended"])] == [
        "Late: too late",
        "",
        None,
    ]
    assert controller({"kind": "Job", "metadata": {"name": "j"}}).namespace == "default"
    other_kind = controller({"kind": "JobSet", "metadata": {"name": "j"}, "status": {"failed": "Job workers-0"}})
    assert (other_kind.failed, other_kind.backoff_limit) == (0, 0)
    assert len({found, controller(item)}) == 1
    with pytest.raises(TypeError):
        controller({"kind": "Job", "metadata": {"name": "j", "labels": ["a"]}})


def grove(folder: Path, *items: Item, namespace: str | None = None) -> GroveState:
    (folder / "state.json").write_text(json.dumps(items))
    return cliquesets.from_file(str(folder / "state.json"), namespace)


def clique_set(template: Item, **metadata: str) -> Item:
    return {"kind": "PodCliqueSet", "metadata": {"name": "s", **metadata}, "spec": {"template": template}}


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ({}, LiveSet(None, is_named=False, domains=())),
        (
            {"topologyConstraint": {"packDomain": "rack"}},
            LiveSet("grove-topology", is_named=False, domains=("rack",)),
        ),
        (
            {
                "clusterTopologyName": "t",
                "cliques": [{"topologyConstraint": {"pack": {"required": "rack", "preferred": "host"}}}, {}],
                "podCliqueScalingGroups": [{"topologyConstraint": {"packDomain": "host"}}],
            },
            LiveSet("t", is_named=True, domains=("host", "rack")),
        ),
        ({"topologyConstraint": {"topologyName": "t"}}, LiveSet("t", is_named=True, domains=())),
    ],
)
def test_the_placement_that_a_set_asks_for(template: Item, found: LiveSet, tmp_path: Path) -> None:
    assert grove(tmp_path, clique_set(template)).sets == {("default", "s"): found}


def test_what_is_known_of_grove(tmp_path: Path) -> None:
    level = {"domain": "rack", "key": "example.com/rack"}
    topologies = [
        {"kind": kind, "metadata": {"name": name}, "spec": {"levels": [level]}}
        for kind, name in (("ClusterTopologyBinding", "b"), ("ClusterTopology", "a"))
    ]
    cliques = [
        {"kind": "PodClique", "metadata": {"name": "c", "labels": {"app.kubernetes.io/part-of": name}}, **status}
        for name, status in (
            ("s", {"status": {"scheduledReplicas": 2}}),
            ("s", {"status": {}}),
            ("s", {"status": {"scheduledReplicas": 3}}),
            ("new", {"status": {"scheduledReplicas": 3}}),
            ("new", {}),
        )
    ]
    other = {"kind": "PodClique", "metadata": {"name": "c"}, "status": {"scheduledReplicas": 2}}
    found = grove(tmp_path, *topologies, *cliques, other, clique_set({}), clique_set({}, namespace="ml"))
    assert list((found.topologies or {}).items()) == [(name, (("rack", "example.com/rack"),)) for name in "ab"]
    assert found.pods == {("default", "s"): 5, ("default", "new"): None}
    assert list(found.sets or {}) == [("default", "s"), ("ml", "s")]
    assert [found.scheduled(("default", name)) for name in ("s", "gone")] == [5, 0]
    assert found.scheduled(("ml", "s")) == 0
    of_ml = grove(tmp_path, clique_set({}), clique_set({}, namespace="ml"), namespace="ml")
    assert (list(of_ml.sets or {}), of_ml.namespace, of_ml.topologies, of_ml.pods) == ([("ml", "s")], "ml", None, None)
    assert of_ml.scheduled(("ml", "s")) is None
    assert grove(tmp_path, namespace="ml") == GroveState(None, None, None, "ml")
    kinds = ["PodCliqueSet", "ClusterTopology", "PodClique"]
    assert grove(tmp_path, {"kind": "ClusterState", "kinds": kinds}) == GroveState({}, {}, {})


def test_grove_is_asked_for_topologies_under_both_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an update of Grove, a cluster may know either name; without both Grove is not installed."""
    absent: set[str] = set()
    asked: list[tuple[str, bool]] = []

    def get(_access: ClusterAccess, resource: str, *, namespaced: bool = False) -> list[Item]:
        asked.append((resource, namespaced))
        if resource in absent:
            raise NoSuchResourceError(resource)
        return []

    monkeypatch.setattr(kubectl, "get", get)
    assert cliquesets.from_cluster(ClusterAccess(namespace="ml")) == GroveState({}, {}, {}, "ml")
    assert asked == [
        ("podcliquesets.grove.io", True),
        ("podcliques.grove.io", True),
        ("clustertopologies.grove.io", False),
        ("clustertopologybindings.grove.io", False),
    ]
    absent.add("clustertopologies.grove.io")
    assert cliquesets.from_cluster(ClusterAccess()) == GroveState({}, {}, {})
    absent.add("clustertopologybindings.grove.io")
    with pytest.raises(NoSuchResourceError, match="clustertopologies"):
        cliquesets.from_cluster(ClusterAccess())
