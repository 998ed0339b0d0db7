"""Tests gangs of each kind in releases and in forms that no example has."""

from __future__ import annotations

import pytest
import yaml

from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.task_files import TaskFile, file_maps
from kubectl_tas.gangs.task_pods import _with_avoided_hosts as beside
from kubectl_tas.gangs.task_pods import away_from
from kubectl_tas.gangs.workload_gang import batches, own_gang, segments_of_pod, shared_gang
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.placement import Ignored
from tests.support.cli import pool
from tests.support.fleets import fleet_of
from tests.support.workloads import (
    LEVELS,
    Object,
    deployment,
    leader_worker_set,
    pytorch_job,
    ray_job,
    segments,
    template,
    tf_job,
    workload,
)
from tests.test_karta import component, karta, training

BATCH = "kai.scheduler/batch-min-member"


def resolved(*items: Object, version: str = "0.17") -> tuple[FleetWorkload, ...]:
    """The workloads of the pool team, on a cluster of this KAI release."""
    backend = {"name": "prod", "scheduler": {"version": version}}
    config = {"apiVersion": "tas/v1alpha1", "kind": "Config", "spec": {"backends": [backend]}}
    files = {"tas.yaml": yaml.safe_dump(config), "pools/p.yaml": pool(spec=LEVELS)}
    return fleet_of({**files, "workflows/w.yaml": yaml.safe_dump_all(items)}).workloads


def job_set(*pods: int, in_order: bool = False, least: int = 0, jobs: int = 1) -> Object:
    """A JobSet with a replicated job a, b, ... for each number of pods."""
    replicated = [
        {"name": name, "replicas": jobs, "template": {"spec": _job(number)}}
        for name, number in zip("abc", pods, strict=False)
    ]
    order = {"startupPolicy": {"startupPolicyOrder": "InOrder"}} if in_order else {}
    made = workload("jobset.x-k8s.io/v1alpha2", "JobSet", "train", None, {**order, "replicatedJobs": replicated})
    if least:
        made["metadata"]["annotations"] = {BATCH: str(least)}
    return made


def _job(pods: int) -> Object:
    made = template()
    made["spec"]["restartPolicy"] = "Never"
    return {"parallelism": pods, "completions": pods, "template": made}


class TestJobSets:
    @pytest.mark.parametrize(
        ("version", "least", "minimums"),
        [
            ("0.17", 0, [2, 3]),
            ("0.17", 1, [2, 0]),
            ("0.15", 0, [1, 0]),
            ("0.15", 4, [2, 2]),
            ("0.14", 0, [2, 3]),
            ("0.14", 4, [2, 2]),
            ("0.14.0", 4, [2, 3]),
            ("0.13", 0, [2, 3]),
            ("0.12", 0, [1, 1]),
        ],
    )
    def test_what_each_release_waits_for(self, version: str, least: int, minimums: list[int]) -> None:
        (found,) = resolved(job_set(2, 3, least=least), version=version)
        assert podgrouper.minimums(found) == minimums

    @pytest.mark.parametrize(
        ("version", "minimums", "groups"),
        [("0.17", [2, 0], 1), ("0.15", [1, 0], 2), ("0.14", [0, 3], 2)],
    )
    def test_jobs_that_start_in_order(self, version: str, minimums: list[int], groups: int) -> None:
        """Before 0.16 each replicated job has a PodGroup of its own."""
        (found,) = resolved(job_set(2, 3, in_order=True), version=version)
        assert podgrouper.minimums(found) == minimums
        made = podgrouper.by_pod_group(found)
        assert len(made) == groups
        ends = ["the UID and -a", "the UID and -b"] if groups == 2 else ["the UID"]
        assert [podgrouper.rest_of_name(item) for item in made] == ends

    def test_jobs_are_shown_as_far_as_people_read(self) -> None:
        few, many = (own_gang(resolved(job_set(1, jobs=jobs))[0]) for jobs in (3, 1001))
        assert [part.name for part in few.sub_groups] == ["a", "a-replica-0", "a-replica-1", "a-replica-2"]
        assert [(part.name, part.pods) for part in many.sub_groups] == [("a", 1001)]


class TestTrainingJobs:
    @pytest.mark.parametrize(("workers", "parts"), [(2, ["master", "worker"]), (0, ["master", "worker"])])
    def test_workers_of_a_pytorchjob_have_a_sub_group_even_if_there_are_none(
        self, workers: int, parts: list[str]
    ) -> None:
        (found,) = resolved(pytorch_job("train", workers=workers))
        assert [part.name for part in own_gang(found).sub_groups] == parts

    @pytest.mark.parametrize(("workers", "said"), [(1, "1 pod is enough"), (2, "2 pods are enough")])
    def test_a_launcher_that_waits_for_its_workers(self, workers: int, said: str) -> None:
        types = {
            "Launcher": {"replicas": 1, "template": template(0)},
            "Worker": {"replicas": workers, "template": template()},
        }
        spec = {"launcherCreationPolicy": "WaitForWorkersReady", "mpiReplicaSpecs": types}
        (found,) = resolved(workload("kubeflow.org/v2beta1", "MPIJob", "train", None, spec))
        assert podgrouper.rest_of_name(found) == f"the UID; until the launcher is made, {said}"


class TestSharedGangs:
    def test_segments_stay_below_their_workload(self) -> None:
        gang = {"kubectl-tas/gang": "both"}
        divided = pytorch_job("train", gang, workers=4, annotations=segments(2))
        found = resolved(divided, pytorch_job("eval", gang, workers=1))
        made = shared_gang(found)
        assert [(part.name, part.parent) for part in made.sub_groups if part.parent] == [
            ("pytorchjob-eval-master", "pytorchjob-eval"),
            ("pytorchjob-eval-worker", "pytorchjob-eval"),
            ("pytorchjob-train-master", "pytorchjob-train"),
            ("pytorchjob-train-worker", "pytorchjob-train"),
            ("worker-0", "pytorchjob-train-worker"),
            ("worker-1", "pytorchjob-train-worker"),
        ]
        assert (made.pods, made.minimum) == (7, 7)


class TestOwned:
    """Workloads whose PodGroup the tool writes."""

    @pytest.mark.parametrize("kind", ["StatefulSet", "ReplicaSet"])
    def test_an_owned_set_starts_as_a_whole(self, kind: str) -> None:
        """KAI starts both with one pod."""
        spec = {"replicas": 3, "selector": {"matchLabels": {"app": "a"}}, "template": template()}
        owned, kais = (
            workload("apps/v1", kind, name, labels, spec)
            for name, labels in (("own", {"kubectl-tas/podgroup": "owned"}), ("web", None))
        )
        assert [podgrouper.minimums(item) for item in resolved(owned, kais)] == [[3], [1]]


class TestSegments:
    """Segments that are too many to list."""

    def test_workers_of_a_training_job(self) -> None:
        few, many = (
            resolved(pytorch_job("train", workers=workers, annotations=segments(2)))[0] for workers in (8, 4000)
        )
        assert [item.segment for item in segments_of_pod(few, 7)] == ["worker-3"]
        assert [item.segment for item in segments_of_pod(many, 7)] == ["worker-3"]
        assert [(part.name, part.pods) for part in own_gang(many).sub_groups] == [("master", 1), ("worker", 4000)]

    def test_groups_of_leaders_and_workers(self) -> None:
        few, many = (resolved(leader_worker_set("serve", size=size, annotations=segments(2)))[0] for size in (8, 4001))
        assert [item.segment for item in segments_of_pod(few, 7)] == ["segment-3"]
        assert [item.segment for item in segments_of_pod(many, 7)] == ["segment-3"]
        assert [(part.name, part.pods) for part in own_gang(many).sub_groups] == [("leader", 1), ("workers", 4000)]


@pytest.mark.parametrize("labels", [{"kubectl-tas/podgroup": "owned"}, None])
def test_segments_of_pods_that_are_not_there_yet_have_none(labels: dict[str, str] | None) -> None:
    """Of eight indices four run at a time."""
    spec = {**_job(4), "completions": 8, "completionMode": "Indexed"}
    spec["template"]["metadata"] = {"annotations": segments(2)}
    (found,) = resolved(workload("batch/v1", "Job", "j", labels, spec))
    gang = own_gang(found)
    assert [part.name for part in gang.sub_groups] == ["worker", *(f"worker-{number}" for number in range(4))]
    assert [(item.sub_group, item.pods) for item in batches(found, gang)] == [("worker-0", 2), ("worker-1", 2)]


@pytest.mark.parametrize(
    ("version", "owned", "minimums"),
    [("0.16", False, [1, 0]), ("0.16", True, [1, 2]), ("0.17", False, [1, 2]), ("0.17", True, [1, 2])],
)
def test_what_a_karta_says_holds_before_kai_reads_it_for_podgroups_of_this_tool(
    version: str, owned: bool, minimums: list[int]
) -> None:
    work = training(worker={"replicas": 3, "least": 2, "template": template()})
    work["metadata"]["labels"] |= {"kubectl-tas/podgroup": "owned"} if owned else {}
    scale = {"replicasPath": ".spec.worker.replicas", "minReplicasPath": ".spec.worker.least"}
    definition = yaml.safe_dump(karta(component("head"), component("worker", scale=scale)))
    backends = f'{{backends: [{{name: a, scheduler: {{version: "{version}"}}}}]}}'
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends}\n"
    files = {"tas.yaml": config, "pools/p.yaml": pool(), "pools/z.yaml": definition}
    (found,) = fleet_of({**files, "w.yaml": yaml.safe_dump(work)}).workloads
    assert podgrouper.minimums(found) == minimums


def test_a_number_of_thousands_of_digits_is_none() -> None:
    made = workload("batch/v1", "Job", "train", None, {"parallelism": 3, "template": template()})
    for digits, least in ((1, 3), (10, 1), (5000, 1)):
        made["metadata"]["annotations"] = {BATCH: "9" * digits}
        assert podgrouper.minimums(resolved(made)[0]) == [least]


@pytest.mark.parametrize(
    ("path", "key"), [("/a/run.sh", "run.sh"), ("/a/..data", "data"), ("/a/...", "file"), ("/a/b c", "b-c")]
)
def test_a_file_of_a_task_has_a_key_that_kubernetes_takes(path: str, key: str) -> None:
    (only,) = file_maps("gang", [TaskFile(path, b"x", 0o644)]).maps
    assert list(only.files) == [key]


OWNED = {"kubectl-tas/podgroup": "owned"}
SEGMENTED: Object = {"workers": 4, "minimum": 2, "annotations": segments(2)}


@pytest.mark.parametrize(
    ("work", "version", "parts", "jobs", "asks_for_more", "refused", "needed"),
    [
        (pytorch_job("x", **SEGMENTED), "0.17", "made", False, False, [], [1, 2]),
        (pytorch_job("x", **SEGMENTED), "0.16.6", "made", False, False, [], [1, 4]),
        (pytorch_job("x", **SEGMENTED), "0.15", "made", False, False, ["worker"], [1, 4]),
        (pytorch_job("x", **SEGMENTED), "0.14", "made", False, False, [], [1, 4]),
        (pytorch_job("x", **SEGMENTED), "0.12", "asked", False, True, [], [1, 1]),
        (pytorch_job("x", OWNED, **SEGMENTED), "0.17", "asked", False, False, [], [1, 1]),
        (pytorch_job("x", OWNED, **SEGMENTED), "0.12", "asked", False, False, [], [1, 1]),
        (pytorch_job("x"), "0.13", "made", False, False, [], [1, 2]),
        (pytorch_job("x"), "0.12", "none", False, False, [], [1, 2]),
        (tf_job("x"), "0.17", "none", False, False, [], [1, 4]),
        (tf_job("x"), "0.12", "none", False, False, [], [1, 4]),
        (ray_job("x", None, ["a"]), "0.17", "made", False, False, [], [1, 2]),
        (ray_job("x", OWNED, ["a"]), "0.17", "asked", False, False, [], [1, 2]),
        (job_set(2, 3), "0.17", "none", True, False, [], [2, 3]),
        (job_set(2, 3), "0.15", "none", False, False, [], [1, 0]),
        (leader_worker_set("x", size=5, annotations=segments(2)), "0.17", "made", False, False, [], [1, 4]),
        (leader_worker_set("x", size=5, annotations=segments(2)), "0.15", "made", False, False, ["workers"], [1, 4]),
        (
            leader_worker_set("x", size=5, annotations=segments(2), policy="LeaderExcluded"),
            "0.15",
            *("made", False, False, [], [1, 4]),
        ),
        (deployment("x"), "0.17", "none", False, False, [], [1]),
        (deployment("x", OWNED), "0.17", "none", False, False, [], [2]),
    ],
)
def test_what_the_podgrouper_makes(
    work: Object,
    version: str,
    parts: str,
    jobs: bool,
    asks_for_more: bool,
    refused: list[str],
    needed: list[int],
) -> None:
    """``parts``: whether SubGroups are made by KAI, asked for by segments or by the tool's own PodGroup, or none."""
    (found,) = resolved(work, version=version)
    assert podgrouper.makes_sub_groups(found) is (parts == "made")
    assert podgrouper.has_sub_groups(found) is (parts != "none")
    assert podgrouper.makes_jobs(found) is jobs
    assert podgrouper.asks_for_more(found) is asks_for_more
    assert [item.name for item in found.replicas if podgrouper.is_refused(found, item)] == refused
    assert podgrouper.needed(found) == needed


def mpi_job(workers: int) -> Object:
    """An MPIJob whose launcher is made once its workers are ready."""
    types = {
        "Launcher": {"replicas": 1, "template": template()},
        "Worker": {"replicas": workers, "template": template()},
    }
    spec = {"launcherCreationPolicy": "WaitForWorkersReady", "mpiReplicaSpecs": types}
    return workload("kubeflow.org/v2beta1", "MPIJob", "x", None, spec)


def leaders(**spec: str) -> Object:
    made = leader_worker_set("x", size=5, annotations={})
    made["spec"] |= spec
    return made


CRON_JOB = workload("batch/v1", "CronJob", "x", None, {"jobTemplate": {"spec": {"template": template()}}})
JOB = workload("batch/v1", "Job", "x", None, {"parallelism": 3, "template": template()})


@pytest.mark.parametrize(
    ("work", "version", "rests"),
    [
        (pytorch_job("x"), "0.17", ["the UID"]),
        (deployment("x"), "0.17", ["the name of the pod and its UID, one for each of 2 pods"]),
        (JOB, "0.17", ["the UID"]),
        (JOB, "0.13", ["the name of the pod and its UID, one for each of 3 pods"]),
        (CRON_JOB, "0.17", ["the number of the run and its UID, one for each run"]),
        (leaders(), "0.17", ["the UID and -group-N, one for each of 2 replicas"]),
        (
            leaders(startupPolicy="LeaderReady"),
            "0.17",
            ["the UID and -group-N, one for each of 2 replicas; until the leader is ready, 1 pod is enough"],
        ),
        (job_set(2, 3, in_order=True), "0.17", ["the UID"]),
        (job_set(2, 3, in_order=True), "0.15", ["the UID and -a", "the UID and -b"]),
        (job_set(2, 3), "0.15", ["the UID"]),
        (mpi_job(1), "0.17", ["the UID; until the launcher is made, 1 pod is enough"]),
        (mpi_job(2), "0.17", ["the UID; until the launcher is made, 2 pods are enough"]),
    ],
)
def test_names_of_podgroups_go_on(work: Object, version: str, rests: list[str]) -> None:
    (made,) = resolved(work, version=version)
    parts = podgrouper.by_pod_group(made)
    assert [podgrouper.rest_of_name(part) for part in parts] == rests
    name = work["metadata"]["name"]
    assert {podgrouper.pod_group_name(part) for part in parts} == {f"pg-{name}"}
    note = f"What KAI makes of {work['kind']} {name}; to its name KAI adds {rests[0]}"
    assert podgrouper.note(parts[0], divided=True) == podgrouper.note(parts[0], divided=False) == note


def test_what_only_annotations_ask_for_is_not_what_kai_makes() -> None:
    (made,) = resolved(pytorch_job("x", **SEGMENTED), version="0.12")
    assert podgrouper.note(made, divided=True) == (
        "What the segment annotations of PyTorchJob x ask for, and not what KAI 0.12 makes of it; "
        "to its name KAI adds the UID"
    )
    assert podgrouper.note(made, divided=False) == "What KAI makes of PyTorchJob x; to its name KAI adds the UID"


REQUIRED, PREFERRED = (f"kai.scheduler/topology-{name}-placement" for name in ("required", "preferred"))


@pytest.mark.parametrize(
    ("of_jobs", "of_pods", "levels"),
    [
        ({PREFERRED: "rack"}, {REQUIRED: "rack"}, ("rack", None)),
        ({PREFERRED: "zone"}, {REQUIRED: "rack"}, ("rack", None)),
        ({PREFERRED: "rack"}, {REQUIRED: "zone"}, ("zone", "rack")),
        ({REQUIRED: "zone", PREFERRED: "rack"}, {REQUIRED: "rack"}, ("rack", None)),
        ({REQUIRED: "zone", PREFERRED: "rack"}, {}, ("zone", "rack")),
        ({REQUIRED: "zone"}, {PREFERRED: "rack"}, ("zone", "rack")),
        ({REQUIRED: "rack", PREFERRED: "rack"}, {REQUIRED: "zone"}, ("rack", "rack")),
    ],
)
def test_what_jobs_prefer_beside_what_their_pods_require(
    of_jobs: dict[str, str], of_pods: dict[str, str], levels: tuple[str, str | None]
) -> None:
    """A preferred level that the pods' own required one implies says nothing more. What jobs say alone stays."""
    made = job_set(2)
    jobs = made["spec"]["replicatedJobs"][0]["template"]
    jobs["metadata"], jobs["spec"]["template"]["metadata"] = {"annotations": of_jobs}, {"annotations": of_pods}
    found = resolved(made)[0].replicas[0].placement
    assert found is not None
    assert (found.required and found.required.level.key, found.preferred and found.preferred.level.key) == levels


@pytest.mark.parametrize(
    ("kind", "annotations", "segment_size", "ignored"),
    [
        ("kai", {}, 2, None),
        ("kai", segments(2), 2, None),
        ("default", {}, None, None),
        ("default", segments(2), None, Ignored.NO_KAI),
    ],
)
def test_segments_that_nobody_asked_for_are_not_missed(
    kind: str, annotations: dict[str, str], segment_size: int | None, ignored: Ignored | None
) -> None:
    """subGroupSize is read by others than KAI too."""
    made = leader_worker_set("serve", size=5, annotations=annotations)
    made["spec"]["leaderWorkerTemplate"]["subGroupPolicy"]["subGroupSize"] = 2
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{backends: [{{name: a, scheduler: {{type: {kind}}}}}]}}\n"
    files = {"tas.yaml": config, "pools/p.yaml": pool(spec=LEVELS), "w.yaml": yaml.safe_dump(made)}
    _, workers = fleet_of(files).workloads[0].replicas
    assert (workers.segments and workers.segments.size, workers.ignored) == (segment_size, ignored)


RULE = "requiredDuringSchedulingIgnoredDuringExecution"
AWAY = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["x"]}
TERM = {"matchExpressions": [AWAY]}


@pytest.mark.parametrize(
    ("own", "both"),
    [
        (None, {"nodeAffinity": {RULE: {"nodeSelectorTerms": [TERM]}}}),
        ({"podAffinity": {"a": 1}}, {"podAffinity": {"a": 1}, "nodeAffinity": {RULE: {"nodeSelectorTerms": [TERM]}}}),
        (
            {"nodeAffinity": {RULE: {"nodeSelectorTerms": [TERM]}}},
            {"nodeAffinity": {RULE: {"nodeSelectorTerms": [TERM]}}},
        ),
        ({"nodeAffinity": ["x"]}, None),
        ({"nodeAffinity": {RULE: ["x"]}}, None),
        ({"nodeAffinity": {RULE: {"nodeSelectorTerms": {"a": "b"}}}}, None),
        ({"nodeAffinity": {RULE: {"nodeSelectorTerms": ["x"]}}}, None),
        ({"nodeAffinity": {RULE: {"nodeSelectorTerms": [{"matchExpressions": {"a": "b"}}]}}}, None),
    ],
)
def test_hosts_to_keep_away_from_leave_an_affinity_that_is_none_as_it_is(
    own: Object | None, both: Object | None
) -> None:
    """Another rule reports such an affinity."""
    assert beside(own, away_from(["x"])) == (own if both is None else both)
