"""Tests objects of work in forms that no example has: what is rendered, and what KAI's scheduler would see."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kubectl_tas.compile import compile_fleet
from kubectl_tas.compile.controllers import seen
from kubectl_tas.gangs.pool_demands import Demand, demands
from kubectl_tas.resolve.fleet import Fleet
from tests.gangs.test_kinds import job_set
from tests.support.cli import pool, subpool
from tests.support.fleets import fleet_of, judged_files
from tests.support.grove import binding, clique, clique_set, pod_group, topology
from tests.support.pyyaml import safe_load
from tests.support.workloads import LEVELS, ZONE, Object, pytorch_job, segments, template, workload

QUEUE = "osmo-pool-default-team--shared"


def files(*work: Object | str, backend: str = "{name: a}", spec: str = "", **more: str) -> dict[str, str]:
    """The files of a repository with one cluster, the pool team and this work."""
    texts = [item if isinstance(item, str) else yaml.safe_dump(item) for item in work]
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{backends: [{backend}]}}\n"
    numbered = {f"workflows/{number}.yaml": text for number, text in enumerate(texts)}
    return {"tas.yaml": config, "pools/p.yaml": pool(guarantee=5000, spec=spec), **numbered, **more}


def made(fleet: Fleet, kind: str) -> list[Any]:
    """The manifests of a kind that are applied."""
    return [item.manifest for item in compile_fleet(fleet) if item.apply and item.manifest.kind == kind]


class TestSeen:
    """What KAI's scheduler would see in a cluster that has what is rendered."""

    @pytest.mark.parametrize(
        ("work", "name", "reason"),
        [
            (clique_set(replicas=1001), "PodCliqueSet/chat", "its gangs are not known, or too many"),
            (job_set(1, jobs=1001), "JobSet/train", "it has too many SubGroups"),
            (
                workload("batch/v1", "Job", "j", None, {"template": template(1, {"pod-group-name": "by-hand"})}),
                "Job/j",
                "its pods say themselves which PodGroup they are in",
            ),
            (
                workload("trainer.kubeflow.org/v1alpha1", "TrainJob", "t", None, {"runtimeRef": {"name": "torch"}}),
                "TrainJob/t",
                "its pod templates are in another object",
            ),
        ],
        ids=["set", "many parts", "own PodGroup", "templates elsewhere"],
    )
    def test_what_is_not_known_is_left_out(self, work: Object | str, name: str, reason: str) -> None:
        fleet = fleet_of(files(work))
        found = seen(fleet, fleet.backends[0])
        assert found.left_out == {name: reason}
        assert {item["kind"] for item in found.objects}.isdisjoint({"PodGroup", "Pod"})

    def test_annotations_of_a_clique_are_those_of_its_pods(self) -> None:
        one = clique().replace("      spec:", "      annotations: {example.com/a: b}\n      spec:")
        fleet = fleet_of(files(clique_set(cliques=one)))
        (found,) = (item for item in seen(fleet, fleet.backends[0]).objects if item["kind"] == "Pod")
        assert found["metadata"]["annotations"] == {"example.com/a": "b", "pod-group-name": "chat-0"}

    def test_jobs_of_a_jobset_that_start_in_order_have_a_podgroup_each(self) -> None:
        fleet = fleet_of(files(job_set(1, 2, in_order=True), backend='{name: a, scheduler: {version: "0.14"}}'))
        found = seen(fleet, fleet.backends[0]).objects
        groups = [item["metadata"]["name"] for item in found if item["kind"] == "PodGroup"]
        pods = [item["metadata"]["annotations"]["pod-group-name"] for item in found if item["kind"] == "Pod"]
        assert [name.rpartition("-")[2] for name in groups] == ["a", "b"]
        assert pods == [groups[0], groups[1], groups[1]]

    def of(self, fleet: Fleet, *kinds: str) -> list[Object]:
        """The objects of these kinds."""
        return [item for item in seen(fleet, fleet.backends[0]).objects if item["kind"] in kinds]

    def test_pods_of_a_set(self) -> None:
        one = clique(replicas=2).replace("      spec:", "      labels: {a: b}\n      spec:")
        group, *pods = self.of(fleet_of(files(clique_set(cliques=one))), "PodGroup", "Pod")
        assert group["metadata"]["name"] == "chat-0"
        assert [(sub["name"], sub["minMember"]) for sub in group["spec"]["subGroups"]] == [("chat-0-server", 2)]
        assert [(item["metadata"], item["spec"]["containers"]) for item in pods] == [
            (
                {
                    "name": f"chat-0-server-{index}",
                    "namespace": "default",
                    "labels": {"a": "b", "kai.scheduler/queue": QUEUE, "kai.scheduler/subgroup-name": "chat-0-server"},
                    "annotations": {"pod-group-name": "chat-0"},
                },
                [{"name": "main", "image": "busybox"}],
            )
            for index in range(2)
        ]

    @pytest.mark.parametrize(
        ("version", "kind", "spec", "order"),
        [
            ("batch/v1", "Job", {"parallelism": 2}, ["PodGroup", "Pod", "Pod"]),
            ("apps/v1", "Deployment", {"replicas": 2, "selector": {}}, ["PodGroup", "Pod", "PodGroup", "Pod"]),
        ],
        ids=["one PodGroup", "one for each pod"],
    )
    def test_pods_of_a_workload(self, version: str, kind: str, spec: Object, order: list[str]) -> None:
        work = workload(version, kind, "j", None, {**spec, "template": template()})
        found = self.of(fleet_of(files(work)), "PodGroup", "Pod")
        assert [item["kind"] for item in found] == order
        groups = [item for item in found if item["kind"] == "PodGroup"]
        pods = [item for item in found if item["kind"] == "Pod"]
        assert {item["spec"]["queue"] for item in groups} == {QUEUE}
        assert {item["metadata"]["labels"]["kai.scheduler/queue"] for item in found} == {QUEUE}
        assert {item["metadata"]["namespace"] for item in found} == {"default"}
        assert len({item["metadata"]["name"] for item in found}) == len(found)
        assert all(item["metadata"]["name"].startswith(f"{kind.lower()}-j-") for item in pods)
        named = [item["metadata"]["annotations"] for item in pods]
        owners = [groups[0]] * 2 if len(groups) == 1 else groups
        assert named == [{"pod-group-name": item["metadata"]["name"]} for item in owners]

    def test_pods_of_a_workload_whose_podgroup_is_rendered(self) -> None:
        job = workload(
            "batch/v1", "Job", "j", {"kubectl-tas/podgroup": "owned"}, {"parallelism": 2, "template": template()}
        )
        group, *pods = self.of(fleet_of(files(job)), "PodGroup", "Pod")
        assert [item["metadata"]["annotations"]["pod-group-name"] for item in pods] == [group["metadata"]["name"]] * 2
        assert len({item["metadata"]["name"] for item in pods}) == 2

    def test_a_podgroup_by_hand(self) -> None:
        own = pod_group("zone").partition("  topologyConstraint")[0]
        member = """\
apiVersion: v1
kind: Pod
metadata: {name: first, annotations: {pod-group-name: by-hand}}
spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
"""
        alone = fleet_of(files(own))
        assert seen(alone, alone.backends[0]).left_out == {"PodGroup/by-hand": "its Pods are not declared here"}
        both = fleet_of(files(own, member))
        assert seen(both, both.backends[0]).left_out == {}
        assert [item["metadata"]["name"] for item in self.of(both, "PodGroup", "Pod")] == ["by-hand", "first"]

    def test_pods_of_a_workflow_are_the_same_as_jobs(self) -> None:
        text = "workflow: {name: train, pool: team, tasks: [{name: t, image: i}]}\n"
        made_of = files(text)
        as_jobs = {**made_of, "tas.yaml": made_of["tas.yaml"].replace("spec: {", "spec: {workflowsAs: jobs, ")}
        for texts in (made_of, as_jobs):
            (pod,) = self.of(fleet_of(texts), "Pod", "Job")
            assert (pod["kind"], pod["apiVersion"], pod["metadata"]["namespace"]) == ("Pod", "v1", "default")
            assert pod["metadata"]["name"].startswith("train-")
            assert pod["metadata"]["labels"]["kai.scheduler/queue"] == QUEUE
            assert [item["image"] for item in pod["spec"]["containers"]] == ["i"]


@pytest.mark.parametrize(("version", "names"), [("0.9", ["theirs"]), ("0.8", [])])
def test_topologies_that_others_make_are_there_where_kai_has_any(version: str, names: list[str]) -> None:
    bound = {"topologies/t.yaml": topology(spec=binding("theirs"))}
    fleet = fleet_of(files(backend=f'{{name: a, scheduler: {{version: "{version}"}}}}', **bound))
    assert [item["metadata"]["name"] for item in seen(fleet, fleet.backends[0]).elsewhere] == names


class TestSets:
    """PodCliqueSets, spelled as the release of the cluster wants it."""

    @pytest.mark.parametrize(
        ("version", "written", "rendered"),
        [
            ("0.1.0-alpha.9", "{pack: {required: rack}}", {"packDomain": "rack"}),
            ("0.1.0-alpha.9", "{packDomain: rack}", {"packDomain": "rack"}),
            ("0.1.0-alpha.11", "{packDomain: rack}", {"pack": {"required": "rack"}}),
            (
                "0.1.0-alpha.11",
                "{packDomain: rack, pack: {preferred: host}}",
                {"pack": {"required": "rack", "preferred": "host"}},
            ),
            ("0.1.0-alpha.11", "{pack: {preferred: host}}", {"pack": {"preferred": "host"}}),
        ],
    )
    def test_domains(self, version: str, written: str, rendered: Object) -> None:
        work = clique_set("{topologyName: racks, " + written[1:])
        backend = f'{{name: a, grove: {{version: "{version}"}}}}'
        judged = judged_files(files(work, backend=backend, **{"topologies/t.yaml": topology()}))
        assert [item.rule.code for item in judged.found] == []
        (found,) = made(judged.fleet, "PodCliqueSet")
        constraint = safe_load(found.text)["spec"]["template"]["topologyConstraint"]
        assert constraint == {"topologyName": "racks", **rendered}

    def test_the_binding_of_another_scheduler_stays(self) -> None:
        assert self.bindings("another") == [("another", "theirs"), ("kai-scheduler", "racks")]

    def test_the_binding_of_kai_is_the_topology_that_is_made(self) -> None:
        """A KAI whose scheduler has another name uses no topology that is bound to the usual one."""
        assert self.bindings("kai-scheduler", "scheduler: {name: ours}, ") == [("kai-scheduler", "racks")]

    def bindings(self, bound_to: str, more: str = "") -> list[tuple[str, str]]:
        """The schedulers and Topologies of the binding of a cluster topology that is bound to one of them."""
        work = clique_set("{topologyName: racks, packDomain: rack}")
        bound = {"topologies/t.yaml": topology(spec=binding("theirs", bound_to))}
        fleet = fleet_of(files(work, backend=f'{{name: a, {more}grove: {{version: "0.1.0-alpha.11"}}}}', **bound))
        (found,) = made(fleet, "ClusterTopologyBinding")
        return [(item.schedulerName, item.topologyReference) for item in found.spec.schedulerTopologyBindings]


def test_a_podgroup_of_a_queue_that_nothing_declares_is_of_no_pool() -> None:
    own = pod_group("zone").partition("  topologyConstraint")[0]
    texts = own, own.replace("by-hand", "of-others").replace(QUEUE, "by-others")
    found = {item.metadata.name: item.metadata.labels for item in made(fleet_of(files(*texts)), "PodGroup")}
    assert found["by-hand"]["kubectl-tas/pool"] == "team"
    assert "kubectl-tas/pool" not in found["of-others"]
    assert found["of-others"]["kai.scheduler/queue"] == "by-others"


@pytest.mark.parametrize(("version", "topologies"), [("0.9", 1), ("0.8", 0)])
def test_a_release_without_topologies_gets_none(version: str, topologies: int) -> None:
    fleet = fleet_of(files(backend=f'{{name: a, scheduler: {{version: "{version}"}}}}', spec=LEVELS))
    assert len(made(fleet, "Topology")) == topologies


@pytest.mark.parametrize(("pods", "least"), [(2, 2), (0, 1)])
def test_a_podgroup_waits_for_one_pod_at_least(pods: int, least: int) -> None:
    """KAI's CRD refuses a minMember of 0."""
    types = {"Worker": {"replicas": pods, "template": template()}}
    work = workload("kubeflow.org/v1", "TFJob", "t", {"kubectl-tas/podgroup": "owned"}, {"tfReplicaSpecs": types})
    (found,) = made(fleet_of(files(work)), "PodGroup")
    assert found.spec.minMember == least


class TestGuard:
    def expressions(self, *texts: str, **more: str) -> str:
        """All expressions of the guard, one text."""
        made_of = files(*texts, **more)
        made_of["tas.yaml"] = made_of["tas.yaml"].replace("spec: {", "spec: {guard: enforce, ")
        policies = made(fleet_of(made_of), "ValidatingAdmissionPolicy")
        return "\n".join(item.model_dump_json() for item in policies)

    @pytest.mark.parametrize(("state", "is_listed"), [("ACTIVE", True), ("DELETING", False)])
    def test_only_a_subpool_that_takes_work_lets_some_have_more(self, state: str, is_listed: bool) -> None:
        text = subpool("a", 8, state=state) + "  overQuota:\n    Job/large: {gpu: 4711}\n"
        assert ("4711" in self.expressions(**{"subpools/a.yaml": text})) is is_listed

    def test_only_namespaces_of_queues_that_are_declared_are_guarded(self) -> None:
        own = pod_group("zone").partition("  topologyConstraint")[0]
        of_team = own.replace("name: by-hand", "name: by-hand, namespace: of-team")
        of_others = own.replace("name: by-hand", "name: other, namespace: of-others").replace(QUEUE, "by-others")
        found = self.expressions(of_team, of_others)
        assert "of-team" in found
        assert "of-others" not in found


class TestDemands:
    """What a pool adds to a manifest."""

    def wanted(self, work: Object, **about: str) -> dict[tuple[str | int, ...], Demand]:
        fleet = fleet_of(files(work, **about))
        return {item.path: item for item in demands(fleet, fleet.workloads[0])}

    @pytest.mark.parametrize(("kind", "is_there"), [("kai", True), ("default", False)])
    def test_what_only_kai_reads(self, kind: str, is_there: bool) -> None:
        backend = f"{{name: a, scheduler: {{type: {kind}}}}}"
        train = workload("trainer.kubeflow.org/v1alpha1", "TrainJob", "t", None, {"runtimeRef": {"name": "torch"}})
        assert (("metadata", "labels", "priorityClassName") in self.wanted(train, backend=backend)) is is_there

    def test_a_toleration_that_is_written_with_an_empty_value_is_there(self) -> None:
        spec = "  nodes: {tolerations: [{key: gpu, operator: Exists}]}\n"
        pods = template()
        path = ("spec", "template", "spec", "tolerations")
        assert path in self.wanted(workload("batch/v1", "Job", "j", None, {"template": pods}), spec=spec)
        pods["spec"]["tolerations"] = [{"key": "gpu", "operator": "Exists", "value": ""}]
        assert path not in self.wanted(workload("batch/v1", "Job", "j", None, {"template": pods}), spec=spec)

    @pytest.mark.parametrize("whole", [True, False])
    def test_segments_in_the_topology_of_the_whole_need_not_name_it(self, whole: bool) -> None:
        work = pytorch_job("train", workers=4, annotations=segments(2))
        if whole:
            work["metadata"]["annotations"] = ZONE
        path = (
            "spec",
            "pytorchReplicaSpecs",
            "Worker",
            "template",
            "metadata",
            "annotations",
            "kai.scheduler/topology",
        )
        assert (path in self.wanted(work, spec=LEVELS)) is not whole

    def test_only_kai_reads_the_annotation_with_the_queue_of_dynamo(self) -> None:
        work = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: x, labels: {kubectl-tas/pool: team}}
spec: {services: {a: {replicas: 1, extraPodSpec: {mainContainer: {image: i}}}}}
"""
        path = ("metadata", "annotations", "nvidia.com/kai-scheduler-queue")
        assert self.wanted(safe_load(work))[path].value == QUEUE
        assert path not in self.wanted(safe_load(work), backend="{name: a, scheduler: {type: default}}")

    @pytest.mark.parametrize(
        ("spec", "found"),
        [
            ("", {}),
            (
                "  nodes: {selector: {gpu: h100}, tolerations: [{key: own, operator: Exists}]}\n",
                {
                    "zone": "east",
                    "gpu": "h100",
                    "tolerations": ({"key": "all", "operator": "Exists"}, {"key": "own", "operator": "Exists"}),
                },
            ),
        ],
        ids=["a pool of all nodes", "a pool of some nodes"],
    )
    def test_what_argo_gives_pods_without_their_own_is_written_there(self, spec: str, found: Object) -> None:
        """Only if the pool adds to it: else Argo itself does."""
        work = """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: x, labels: {kubectl-tas/pool: team}}
spec:
  entrypoint: a
  nodeSelector: {zone: east}
  tolerations: [{key: all, operator: Exists}]
  templates: [{name: a, container: {image: i}}]
"""
        wanted = self.wanted(safe_load(work), spec=spec).items()
        own = {path[-1]: item.value for path, item in wanted if {"nodeSelector", "tolerations"} & {*path}}
        assert own == found

    def test_an_existing_topology_that_a_cluster_topology_stands_for_may_be_named(self) -> None:
        work = workload("batch/v1", "Job", "j", None, {"template": template()})
        work["metadata"]["annotations"] = {**ZONE, "kai.scheduler/topology": "theirs"}
        bound = topology("others", "rack host"), topology(spec=binding("theirs"))
        found = self.wanted(work, **{f"topologies/{number}.yaml": text for number, text in enumerate(bound)})
        notes = {path[-1]: item.value for path, item in found.items() if path[:2] == ("metadata", "annotations")}
        assert notes["kai.scheduler/topology-required-placement"] == "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("version", "labels"), [("0.5", ("kai.scheduler/queue", "runai/queue")), ("0.6", ("kai.scheduler/queue",))]
)
def test_labels_with_the_queue_in_each_release(version: str, labels: tuple[str, ...]) -> None:
    (backend,) = fleet_of(files(backend=f'{{name: a, scheduler: {{version: "{version}"}}}}')).backends
    assert backend.queue_labels == labels
