"""Tests kinds whose pods a table row describes: those of operators, and those that the Config declares."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubectl_tas.gangs import podgrouper
from kubectl_tas.kinds import BY_NAME, LISTED
from kubectl_tas.model.kindlists import OWN
from kubectl_tas.model.podkinds import check_paths
from kubectl_tas.model.podsets import Name
from kubectl_tas.model.workloads import Workload, read
from tests.support.cli import kubectl_tas, pool, write
from tests.support.fleets import fleet_of
from tests.support.judged import told
from tests.support.pyyaml import safe_load, safe_load_all
from tests.support.workloads import LEVELS, Object, accepted, template

ROWS = BY_NAME
SPARK = {"type": "Python", "sparkVersion": "3.5.3", "mainApplicationFile": "local:///app/a.py"}
TRAINING = {
    "apiVersion": "ml.example.com/v1",
    "kind": "Training",
    "pods": [{"template": "spec.roles[].template", "replicas": "spec.roles[].replicas"}],
    "podGroups": "one",
}


def document(name: str, spec: Object, *, version: str = "", **labels: str) -> Object:
    row = ROWS[name]
    metadata = {"name": "x", "labels": {"kubectl-tas/pool": "team", **labels}}
    spec = accepted(name, spec)
    return {"apiVersion": version or row.versions[0], "kind": row.kind, "metadata": metadata, "spec": spec}


def workload_of(own: Object) -> Workload:
    """The workload of a document without errors."""
    name = next(
        name
        for name, listed in BY_NAME.items()
        if (listed.kind, own["apiVersion"]) == (own["kind"], own["apiVersion"]) and own["apiVersion"] in listed.versions
    )
    found, errors = read(BY_NAME[name].page, own)
    assert found is not None, errors
    return found


def training(*roles: Object, **labels: str) -> Object:
    metadata = {"name": "x", "labels": {"kubectl-tas/pool": "team", **labels}}
    return {"apiVersion": "ml.example.com/v1", "kind": "Training", "metadata": metadata, "spec": {"roles": [*roles]}}


def declare(root: Path, *workloads: Object, kinds: list[Object] | None = None, **config: Any) -> Path:
    spec = {"kinds": [TRAINING] if kinds is None else kinds, **config}
    settings = {"apiVersion": "tas/v1alpha1", "kind": "Config", "spec": spec}
    files = {"tas.yaml": yaml.safe_dump(settings), "pools/p.yaml": pool(guarantee=16, spec=LEVELS)}
    return write(root, files | ({"workflows/w.yaml": yaml.safe_dump_all(workloads)} if workloads else {}))


def findings(root: Path, *workloads: Object, **config: Any) -> dict[str, str]:
    result = kubectl_tas("validate", "-o", "json", "-C", declare(root, *workloads, **config))
    return {item["rule"]: item["message"] for item in json.loads(result.out)["diagnostics"]}


def rendered(root: Path, *workloads: Object, **config: Any) -> list[Object]:
    result = kubectl_tas("render", "--to", "-", "-C", declare(root, *workloads, **config))
    assert result.code == 0, result.err
    return list(safe_load_all(result.out))


def gpus(count: int | str) -> Object:
    return {"resources": {"limits": {"nvidia.com/gpu": count}}}


@pytest.mark.parametrize(
    ("name", "spec", "expected"),
    [
        ("ReplicaSet", {"replicas": 3, "template": template(2)}, [("pod", 3, 2)]),
        ("ReplicationController", {"template": template(2)}, [("pod", 1, 2)]),
        ("PaddleJob", {"paddleReplicaSpecs": {"Worker": {"replicas": 2, "template": template()}}}, [("Worker", 2, 1)]),
        (
            "Job.batch.volcano.sh",
            {"tasks": [{"name": "a", "replicas": 2, "template": template()}, {"template": template(4)}]},
            [("a", 2, 1), ("tasks-1", 1, 4)],
        ),
        (
            "DynamoGraphDeployment",
            {
                "components": [
                    {"name": "Decode", "replicas": 2, "multinode": {"nodeCount": 4}, "podTemplate": template(8)}
                ]
            },
            [("Decode", 8, 8)],
        ),
        (
            "DynamoGraphDeployment",
            {"services": {"Decode": {"resources": {"requests": {"gpu": "4"}}, "extraPodSpec": {"mainContainer": {}}}}},
            [("Decode", 1, 4)],
        ),
        (
            "Workflow.argoproj.io",
            {
                "templates": [
                    {"name": "main", "steps": [[{"name": "in", "inline": {"script": gpus(1)}}]]},
                    {"name": "train", "container": gpus("8"), "sidecars": [gpus(0)]},
                    {"name": "pair", "containerSet": {"containers": [gpus(1), gpus(2)]}},
                    {"name": "wait", "suspend": {}},
                ]
            },
            [("train", 1, 8), ("pair", 1, 3), ("in", 1, 1)],
        ),
        ("CronWorkflow", {"workflowSpec": {"templates": [{"name": "a", "container": gpus(2)}]}}, [("a", 1, 2)]),
        (
            "InferenceService",
            {"predictor": {"minReplicas": 2, "maxReplicas": 5, "model": gpus(2)}, "transformer": {"containers": [{}]}},
            [("predictor", 5, 2), ("transformer", 1, 0)],
        ),
        ("InferenceService", {"predictor": {"minReplicas": 2, "triton": gpus("1")}}, [("predictor", 2, 1)]),
        ("InferenceService", {"predictor": {"minReplicas": 0, "model": gpus(2)}}, [("predictor", 1, 2)]),
        (
            "SparkApplication",
            {"driver": {}, "executor": {"instances": 3, "gpu": {"name": "nvidia.com/gpu", "quantity": 2}}},
            [("driver", 1, 0), ("executor", 3, 2)],
        ),
        (
            "SparkApplication",
            {"driver": {}, "executor": {"instances": 3}, "dynamicAllocation": {"maxExecutors": 9}},
            [("driver", 1, 0), ("executor", 9, 0)],
        ),
        (
            "SeldonDeployment",
            {"predictors": [{"name": "p", "replicas": 2, "componentSpecs": [template(1)]}]},
            [("componentSpecs-0", 2, 1)],
        ),
        (
            "SeldonDeployment",
            {
                "predictors": [
                    {"componentSpecs": [{**template(1), "replicas": 3}, {**template(1), "hpaSpec": {"maxReplicas": 5}}]}
                ]
            },
            [("componentSpecs-0", 3, 1), ("componentSpecs-1", 5, 1)],
        ),
    ],
)
def test_pods(name: str, spec: Object, expected: list[tuple[str, int, int]]) -> None:
    workload = workload_of(document(name, spec))
    assert [(item.name, item.replicas, item.asks.gpu) for item in workload.pod_sets] == expected


def asking(cpu: str, **more: Any) -> Object:
    """A container that asks for cpu."""
    return {"resources": {"requests": {"cpu": cpu}}, **more}


CLAIMS = [{"name": "c", "resourceClaimTemplateName": "t"}]
OWN_LABELS = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
START = {"initContainers": [asking("30")], "containers": [asking("4")]}


@pytest.mark.parametrize(
    ("name", "spec", "asks", "places"),
    [
        (
            "SparkApplication",
            {
                "driver": {
                    **OWN_LABELS,
                    "cores": 2,
                    "coreRequest": "500m",
                    "sidecars": [asking("1")],
                    "initContainers": [asking("2")],
                    "template": {"spec": {**START, "resourceClaims": CLAIMS}},
                },
            },
            [(0, 30000)],
            ["spec.driver", "spec.driver", "spec.driver"],
        ),
        (
            "SparkApplication",
            {
                "driver": {
                    "coreRequest": "500m",
                    "sidecars": [asking("1")],
                    "template": {"spec": {"containers": [asking("4")]}},
                }
            },
            [(0, 5500)],
            None,
        ),
        (
            "Workflow.argoproj.io",
            {
                "templates": [
                    {"metadata": OWN_LABELS, "container": asking("1"), "sidecars": [asking("2")]},
                    {"script": asking("1"), "initContainers": [asking("5")]},
                    {"dag": {"tasks": [{"inline": {"containerSet": {"containers": [asking("3"), asking("4")]}}}]}},
                ]
            },
            [(0, 3000), (0, 5000), (0, 7000)],
            ["spec.templates.0", "spec.templates.0.metadata", "spec.templates.0"],
        ),
        (
            "DynamoGraphDeployment",
            {
                "services": {
                    "D": {
                        "resources": {"limits": {"gpu": "2", "cpu": "3"}, "requests": {"cpu": "1", "memory": "1Gi"}},
                        "extraPodMetadata": OWN_LABELS,
                        "extraPodSpec": {
                            "mainContainer": asking("2"),
                            "containers": [asking("4")],
                            "resourceClaims": CLAIMS,
                        },
                    },
                    "E": {"resources": {"limits": {"gpu": "3", "gpuType": "amd.com/gpu"}}, "extraPodSpec": START},
                }
            },
            [(2, 7000), (3, 30000)],
            ["spec.services.D", "spec.services.D.extraPodMetadata", "spec.services.D.extraPodSpec"],
        ),
        (
            "InferenceService",
            {
                "predictor": {
                    **OWN_LABELS,
                    "model": asking("1"),
                    "containers": [asking("2")],
                    "resourceClaims": CLAIMS,
                },
                "transformer": START,
            },
            [(0, 3000), (0, 30000)],
            ["spec.predictor", "spec.predictor", "spec.predictor"],
        ),
        (
            "ReplicaSet",
            {"template": {"metadata": OWN_LABELS, "spec": {**START, "resourceClaims": CLAIMS}}},
            [(0, 30000)],
            ["spec.template", "spec.template.metadata", "spec.template.spec"],
        ),
    ],
)
def test_what_pods_ask_for_and_where_it_is_written(
    name: str, spec: Object, asks: list[tuple[int, int]], places: list[str] | None
) -> None:
    """Containers beside each other ask for their sum, containers before them for the most of one."""
    workload = workload_of(document(name, spec))
    assert [(item.asks.gpu, item.asks.cpu) for item in workload.pod_sets] == asks
    first = workload.pod_sets[0]
    assert first.template is not None
    if places is not None:
        paths = (first.path, first.metadata_path, first.spec_path)
        assert [".".join(map(str, path)) for path in paths] == places
        assert first.template.metadata.model_dump() == OWN_LABELS
        claims = [item.resourceClaimTemplateName for item in first.template.spec.resourceClaims]
        assert claims == ([] if name == "Workflow.argoproj.io" else ["t"])


@pytest.mark.parametrize(
    "framework",
    [
        *("model", "sklearn", "xgboost", "tensorflow", "pytorch", "triton", "onnx", "huggingface", "pmml", "lightgbm"),
        "paddle",
    ],
)
def test_what_a_predictor_serves_asks_for_gpus(framework: str) -> None:
    spec = {"predictor": {framework: gpus(2)}}
    (pods,) = workload_of(document("InferenceService", spec)).pod_sets
    assert pods.asks.gpu == 2


@pytest.mark.parametrize(
    ("name", "spec", "named"),
    [
        (
            "PaddleJob",
            {"paddleReplicaSpecs": {"W": {"template": template()}}},
            ("W", "spec.paddleReplicaSpecs.W", True),
        ),
        ("Job.batch.volcano.sh", {"tasks": [{"name": "a", "template": template()}]}, ("a", "spec.tasks.0.name", False)),
        ("Job.batch.volcano.sh", {"tasks": [{"template": template()}]}, None),
        ("DynamoGraphDeployment", {"services": {"D": {}}}, ("D", "spec.services.D", True)),
        ("ReplicaSet", {"template": template()}, None),
        ("SparkApplication", {"driver": {}}, None),
    ],
)
def test_the_name_that_somebody_gave_to_pods(name: str, spec: Object, named: tuple[str, str, bool] | None) -> None:
    (pods,) = workload_of(document(name, spec)).pod_sets
    if named is None:
        assert pods.given_name is None
    else:
        text, path, is_key = named
        assert pods.given_name == Name(
            "part", text, text, tuple(int(x) if x.isdecimal() else x for x in path.split(".")), is_key
        )


@pytest.mark.parametrize(
    ("name", "spec", "absent"),
    [
        ("ReplicaSet", {}, []),
        ("ReplicaSet", {"template": template()}, []),
        ("PaddleJob", {}, ["spec.paddleReplicaSpecs"]),
        (
            "PaddleJob",
            {"paddleReplicaSpecs": {"W": {}, "P": {"template": template()}, "S": {}}},
            ["spec.paddleReplicaSpecs.W.template", "spec.paddleReplicaSpecs.S.template"],
        ),
        ("Job.batch.volcano.sh", {"tasks": []}, ["spec.tasks"]),
        ("Job.batch.volcano.sh", {"tasks": [{"name": "a"}]}, ["spec.tasks.0.template"]),
        ("InferenceService", {"predictor": {}}, []),
        ("InferenceService", {}, ["spec.predictor"]),
        ("Workflow.argoproj.io", {"templates": [{"suspend": {}}]}, ["spec.templates"]),
    ],
)
def test_where_pods_are_missing(name: str, spec: Object, absent: list[str]) -> None:
    workload = workload_of(document(name, spec))
    assert [".".join(map(str, path)) for path in workload.absent] == absent


@pytest.mark.parametrize(
    ("memory", "overhead", "expected"),
    [
        (None, None, 1408 * 2**20),
        ("8g", None, int(8 * 2**30 * 1.1)),
        ("8G", "2gb", 10 * 2**30),
        ("512m", "100", 612 * 2**20),
        ("odd", "1k", 1024),
        ("1t", "1", 2**40 + 2**20),
        ("1PB", "1", 2**50 + 2**20),
        ("4gi", "1", 2**20),
        ("3839m", None, (3839 + 384) * 2**20),
        ("3850m", None, (3850 + 385) * 2**20),
    ],
)
def test_memory_of_spark(memory: str | None, overhead: str | None, expected: int) -> None:
    """As Spark's BasicExecutorFeatureStep computes it: mebibytes where there is no unit, a tenth or 384m beside it."""
    own = {"memory": memory, "memoryOverhead": overhead, "cores": 2}
    driver = {key: value for key, value in own.items() if value is not None}
    spec = {"driver": driver, "executor": {"coreRequest": "500m"}}
    (found, _) = workload_of(document("SparkApplication", spec)).pod_sets
    assert (found.asks.memory, found.asks.cpu) == (expected, 2000)


@pytest.mark.parametrize(
    ("name", "spec", "rule", "said"),
    [
        ("Workflow.argoproj.io", {"podSpecPatch": "x"}, "quota-bypass", "changes pods after validate has judged"),
        ("Workflow.argoproj.io", {"templates": [{"name": "a", "podSpecPatch": "x"}]}, "quota-bypass", "podSpecPatch"),
        (
            "Workflow.argoproj.io",
            {"workflowTemplateRef": {"name": "x"}},
            "quota-bypass",
            "in an object that validate cannot see",
        ),
        (
            "Workflow.argoproj.io",
            {"templates": [{"name": "a", "steps": [[{"name": "b", "templateRef": {"name": "x", "template": "y"}}]]}]},
            "quota-bypass",
            "validate cannot see",
        ),
        ("Workflow.argoproj.io", {"templateDefaults": {"container": gpus(8)}}, "quota-bypass", "templateDefaults"),
        (
            "CronWorkflow",
            {"workflowSpec": {"templates": [{"name": "a", "resource": {"action": "create", "manifest": "kind: Job"}}]}},
            "quota-bypass",
            "makes an object that validate cannot see",
        ),
        ("Workflow.argoproj.io", {"schedulerName": "default-scheduler"}, "workload-conflict", "default-scheduler"),
        ("Workflow.argoproj.io", {"podPriorityClassName": "osmo-high"}, "workload-conflict", "osmo-normal"),
        (
            "Workflow.argoproj.io",
            {"podMetadata": {"labels": {"kai.scheduler/queue": "x"}}},
            "workload-conflict",
            "queue",
        ),
        (
            "SparkApplication",
            {"driver": {}, "executor": {}, "batchScheduler": "volcano"},
            "quota-bypass",
            "another scheduler",
        ),
        ("SparkApplication", {"driver": {"schedulerName": "x"}, "executor": {}}, "workload-conflict", "kai-scheduler"),
        (
            "SparkApplication",
            {"driver": {}, "executor": {"labels": {"kai.scheduler/queue": "x"}}},
            "workload-conflict",
            "x",
        ),
        ("SparkApplication", {"driver": {}, "sparkConf": {"spark.executor.instances": "9"}}, "quota-bypass", "number"),
        (
            "SparkApplication",
            {"driver": {}, "sparkConf": {"spark.kubernetes.executor.label.kai.scheduler/queue": "x"}},
            "quota-bypass",
            "executor.label",
        ),
        ("SparkApplication", {"driver": {}, "dynamicAllocation": {"enabled": True}}, "quota-bypass", "maxExecutors"),
        ("SparkApplication", {"driver": {"template": template(99)}, "executor": {}}, "over-quota", "99"),
        (
            "SparkApplication",
            {**SPARK, "driver": {"gpu": {"name": "habana.ai/gaudi", "quantity": 1}}, "executor": {}},
            "gpus-unknown",
            "habana.ai/gaudi",
        ),
        (
            "Workflow.argoproj.io",
            {
                "templates": [
                    {"name": "a", "container": {"image": "b", "resources": {"limits": {"habana.ai/gaudi": 1}}}}
                ]
            },
            "gpus-unknown",
            "habana.ai/gaudi",
        ),
        (
            "InferenceService",
            {"predictor": {"model": {}, "resourceClaims": [{"name": "a", "resourceClaimTemplateName": "b"}]}},
            "gpus-unknown",
            "resource claims (a)",
        ),
        (
            "InferenceService",
            {"predictor": {"model": {}, "workerSpec": {"pipelineParallelSize": 2}}},
            "quota-bypass",
            "workerSpec",
        ),
        ("InferenceService", {"predictor": {"priorityClassName": "x"}}, "workload-conflict", "osmo-normal"),
        (
            "DynamoGraphDeployment",
            {"services": {"A": {"extraPodMetadata": {"labels": {"kai.scheduler/queue": "x"}}}}},
            "workload-conflict",
            "x",
        ),
        ("ReplicaSet", {"template": template(99)}, "over-quota", "99"),
    ],
)
def test_back_doors(repository: Path, name: str, spec: Object, rule: str, said: str) -> None:
    version = "nvidia.com/v1alpha1" if name == "DynamoGraphDeployment" else ""
    found = findings(repository, document(name, spec, version=version))
    assert said in found.get(rule, ""), found


RACK = {"kai.scheduler/topology-required-placement": "rack"}


def placed(name: str, spec: Object, **annotations: str) -> Object:
    """A document whose pods are to be within one rack."""
    sent = document(name, spec)
    sent["metadata"]["annotations"] = {**RACK, **annotations}
    return sent


@pytest.mark.parametrize(
    ("name", "spec", "mode"),
    [
        ("ReplicationController", {"replicas": 2, "template": template(1)}, ""),
        ("PaddleJob", {"paddleReplicaSpecs": {"Worker": {"replicas": 2, "template": template(1)}}}, ""),
        ("Job.batch.volcano.sh", {"tasks": [{"name": "a", "replicas": 2, "template": template(1)}]}, ""),
        ("CronWorkflow", {"workflowSpec": {"templates": [{"name": "a", "container": {"image": "b", **gpus(1)}}]}}, ""),
        ("Workflow.argoproj.io", {"templates": [{"name": "a", "container": {"image": "b", **gpus(1)}}]}, ""),
        ("InferenceService", {"predictor": {"minReplicas": 2, "model": gpus(1)}}, "RawDeployment"),
        ("InferenceService", {"predictor": {"minReplicas": 2, "model": gpus(1)}}, "Standard"),
    ],
)
def test_each_pod_has_a_pod_group(repository: Path, name: str, spec: Object, mode: str) -> None:
    """KAI's podgrouper may not read their objects, so it stops below them: at a pod, a Deployment or a Workflow."""
    found = findings(repository, placed(name, spec, **({"serving.kserve.io/deploymentMode": mode} if mode else {})))
    assert "each pod of this" in found.get("placement-unsupported", ""), found


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("ReplicaSet", {"replicas": 2, "template": template(1)}),
        ("SeldonDeployment", {"predictors": [{"name": "p", "replicas": 2, "componentSpecs": [template(1)]}]}),
    ],
)
def test_all_pods_have_one_pod_group(repository: Path, name: str, spec: Object) -> None:
    assert "placement-unsupported" not in findings(repository, placed(name, spec))


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (("spec.a[].b", "spec.a.c"), "spec.a is an object in spec.a.c, and a list in another path"),
        (("spec.a.b", "spec.a.*"), "spec.a is a mapping in spec.a.*, and an object in another path"),
        (("spec.*.x", "spec.a[].x"), "spec is an object in spec.a[].x, and a mapping in another path"),
        (("spec.a[].b", "spec.a[].*"), "spec.a[] is a mapping in spec.a[].*, and an object in another path"),
    ],
)
def test_paths_that_contradict_each_other(paths: tuple[str, str], said: str) -> None:
    with pytest.raises(ValueError, match="another path") as refused:
        check_paths(*paths)
    assert str(refused.value) == said
    check_paths("spec.a[].b", "spec.a[].c", "spec.d.*.e", "spec.d.*.f", "")


RUNS = "the file does not say how many of its pods run at a time"
SERVED = "without serving.kserve.io/deploymentMode the file does not say whether KServe makes a Deployment"
DYNAMO = "Dynamo's operator makes a PodCliqueSet, or a Deployment of each component, and KAI goes by that"


@pytest.mark.parametrize(
    ("name", "spec", "reason"),
    [
        ("DynamoGraphDeployment", {"components": [{"name": "D", "podTemplate": template(1)}]}, "Grove makes its gangs"),
        ("Workflow.argoproj.io", {"templates": [{"name": "a", "container": gpus(1)}]}, RUNS),
        ("CronWorkflow", {"workflowSpec": {"templates": [{"name": "a", "container": gpus(1)}]}}, RUNS),
    ],
)
def test_pod_groups_that_the_tool_cannot_write(name: str, spec: Object, reason: str) -> None:
    work = document(name, spec, **{"kubectl-tas/podgroup": "owned"})
    found = told({"pools/p.yaml": pool(guarantee=16), "workflows/w.yaml": yaml.safe_dump(work)})
    said = f"the PodGroup of {name} x cannot be written here: {reason} (Remove the label.)"
    assert [line.partition(": ")[2] for line in found if " podgroup-owned: " in line] == [said]


@pytest.mark.parametrize(
    ("name", "spec", "reason"),
    [
        ("DynamoGraphDeployment", {"components": [{"name": "D", "podTemplate": template(1)}]}, DYNAMO),
        ("InferenceService", {"predictor": {"model": gpus(1)}}, SERVED),
        ("ReplicationController", {"template": template(1)}, ""),
        ("SeldonDeployment", {"predictors": [{"componentSpecs": [template(1)]}]}, ""),
    ],
)
def test_pod_groups_that_the_file_does_not_tell(name: str, spec: Object, reason: str) -> None:
    files = {"pools/p.yaml": pool(guarantee=16), "workflows/w.yaml": yaml.safe_dump(document(name, spec))}
    (found,) = fleet_of(files).workloads
    assert podgrouper.row(found).unpredicted == reason
    assert podgrouper.is_predicted(found) is not bool(reason)


def test_what_kserve_makes_is_not_known_without_its_mode(repository: Path) -> None:
    declare(repository, document("InferenceService", {"predictor": {"model": gpus(1)}}))
    assert kubectl_tas("render", "-C", repository).code == 0
    assert not (repository / "manifests/preview").exists()
    assert "serving.kserve.io/deploymentMode" in kubectl_tas("workflow", "explain", "x", "-C", repository).out


def test_spark_is_placed_by_its_driver(repository: Path) -> None:
    """The driver's Pod is the top of what KAI's podgrouper may read, and owns the executors."""
    sent = placed("SparkApplication", {**SPARK, "driver": {}, "executor": {"instances": 2}})
    (found,) = [item for item in rendered(repository, sent) if item["kind"] == "SparkApplication"]
    assert found["spec"]["driver"]["annotations"]["kai.scheduler/topology-required-placement"].endswith("/rack")


LIVE: dict[str, tuple[Object, list[tuple[str, str]]]] = {
    "Training": ({"roles": [{"name": "a", "template": template(1)}]}, []),
    "Job.batch.volcano.sh": ({"tasks": [{"name": "a", "template": template(1)}]}, []),
    "Workflow.argoproj.io": ({"templates": [{"name": "a", "container": {"image": "b", **gpus(1)}}]}, []),
    "CronWorkflow": (
        {"workflowSpec": {"templates": [{"name": "a", "container": {"image": "b", **gpus(1)}}]}},
        [("argoproj.io/v1alpha1", "Workflow")],
    ),
    "SeldonDeployment": (
        {"predictors": [{"name": "p", "graph": {"name": "g"}, "componentSpecs": [template(1)]}]},
        [("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet")],
    ),
    "SparkApplication": ({**SPARK, "driver": {}, "executor": {}}, [("v1", "Pod")]),
}


@pytest.mark.parametrize("kind", LIVE)
def test_why_it_waits(repository: Path, kind: str) -> None:
    """The pods of a kind are known by their owners, and these by theirs, as the cluster has their kinds."""
    spec, between = LIVE[kind]
    sent = training(*spec["roles"]) if kind == "Training" else document(kind, spec)
    if kind == "CronWorkflow":
        sent["spec"]["schedule"] = "0 3 * * *"
    declare(repository, sent)
    made = [(sent["apiVersion"], sent["kind"]), *between]
    items: list[Object] = []
    for number, (version, name) in enumerate((*made, ("v1", "Pod"))):
        about: Object = {"name": "x" if number == 0 else f"x-{'driver' if name == 'Pod' and number == 1 else number}"}
        if items:
            above = items[-1]
            owner = {"apiVersion": above["apiVersion"], "kind": above["kind"], "name": above["metadata"]["name"]}
            about["ownerReferences"] = [owner]
        status = {"phase": "Running"} if name == "Pod" else {}
        items.append(
            {
                "apiVersion": version,
                "kind": name,
                "metadata": {**about, "namespace": "default", "uid": str(number)},
                "spec": {**template(1)["spec"], "nodeName": "n"} if name == "Pod" else {},
                "status": status,
            }
        )
    state = repository / "state.json"
    state.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    found = kubectl_tas("-C", repository, "workflow", "why", "x", f"--cluster-state={state}", "-o", "json")
    answer = json.loads(found.out)["workflows"][0]
    assert answer["podsWithoutPodGroup"]["Running"] == sum(item["kind"] == "Pod" for item in items), found.out


@pytest.mark.parametrize(
    ("name", "spec", "expected"),
    [
        ("InferenceService", {"predictor": {"minReplicas": 2, "model": gpus(2)}}, [2, 2]),
        ("SparkApplication", {**SPARK, "driver": {"gpu": {"name": "nvidia.com/gpu", "quantity": 3}}}, [3]),
        (
            "Workflow.argoproj.io",
            {
                "templates": [
                    {"name": name, "container": {"image": "b", **gpus(size)}} for name, size in (("a", 1), ("b", 4))
                ]
            },
            [1, 4],
        ),
        ("PaddleJob", {"paddleReplicaSpecs": {"Worker": {"replicas": 2, "template": template(5)}}}, [5, 5]),
    ],
)
def test_fit_takes_what_pods_ask_for(repository: Path, name: str, spec: Object, expected: list[int]) -> None:
    sent = document(name, {**spec, **({"executor": {"instances": 1}} if name == "SparkApplication" else {})})
    sent["metadata"]["annotations"] = {"serving.kserve.io/deploymentMode": "Standard"}
    sent["metadata"]["labels"]["kubectl-tas/priority"] = "LOW"
    declare(repository, sent)
    nodes = kubectl_tas("nodes", "generate", "--pool=team", "--domains=zone=2", "-C", repository).out
    (repository / "nodes.json").write_text(nodes)
    found = kubectl_tas("fit", "--all", "--nodes", repository / "nodes.json", "-o", "json", "-C", repository)
    gangs = [gang for item in json.loads(found.out)["schedulers"] for gang in item["gangs"]]
    assert [gang["gpus"] for gang in gangs] == expected, found.out


@pytest.mark.parametrize("kind", ["Workflow.argoproj.io", "CronWorkflow"])
def test_what_holds_for_all_templates_of_argo(repository: Path, kind: str) -> None:
    """Argo reads a selector of the workflow only for templates without one, and the pool adds one to each."""
    disk: Object = {"key": "disk", "value": "nvme"}
    spec: Object = {
        "nodeSelector": {"disk": "nvme"},
        "tolerations": [disk],
        "templates": [
            {"name": "a", "container": {"image": "b"}},
            {"name": "b", "container": {"image": "b"}, "nodeSelector": {"own": "x"}, "tolerations": []},
        ],
    }
    spec = spec if kind != "CronWorkflow" else {"schedule": "0 3 * * *", "workflowSpec": spec}
    nodes: Object = {"selector": {"pool": "h100"}, "tolerations": [{"key": "pool", "value": "h100"}]}
    declare(repository, document(kind, spec))
    text = (repository / "pools/p.yaml").read_text()
    write(repository, {"pools/p.yaml": text + f"  nodes: {json.dumps(nodes)}\n"})
    objects = safe_load_all(kubectl_tas("render", "-o", "-", "-C", repository).out)
    (found,) = [item["spec"] for item in objects if item["kind"] == ROWS[kind].kind]
    first, second = found.get("workflowSpec", found)["templates"]
    assert (first["nodeSelector"], first["tolerations"]) == (
        {"disk": "nvme", "pool": "h100"},
        [disk, {"key": "pool", "value": "h100"}],
    )
    assert (second["nodeSelector"], second["tolerations"]) == ({"own": "x", "pool": "h100"}, first["tolerations"])


def test_a_queue_that_dynamo_would_take(repository: Path) -> None:
    sent = document("DynamoGraphDeployment", {"components": [{"name": "A", "podTemplate": template()}]})
    sent["metadata"]["annotations"] = {"nvidia.com/kai-scheduler-queue": "dynamo"}
    assert "dynamo" in findings(repository, sent)["workload-conflict"]
    del sent["metadata"]["annotations"]
    (found,) = [item for item in rendered(repository, sent) if item["kind"] == sent["kind"]]
    queue = found["metadata"]["labels"]["kai.scheduler/queue"]
    assert found["metadata"]["annotations"] == {"nvidia.com/kai-scheduler-queue": queue}


def test_two_kinds_of_one_name(repository: Path) -> None:
    """Volcano's Job is no Job of Kubernetes, and Argo's Workflow no workflow of OSMO."""
    volcano = document("Job.batch.volcano.sh", {"tasks": [{"name": "a", "template": template()}]})
    argo = document("Workflow.argoproj.io", {"templates": [{"name": "a", "container": gpus(1)}]})
    pods = {**template(), "spec": {**template()["spec"], "restartPolicy": "Never"}}
    own = {**volcano, "apiVersion": "batch/v1", "spec": {"template": pods}}
    declare(repository, volcano, argo, own)
    out = kubectl_tas("workflow", "list", "-C", repository).out
    assert [line.split()[0] for line in out.splitlines()[1:]] == [
        *("Job/x", "Job.batch.volcano.sh/x", "Workflow.argoproj.io/x")
    ]


class TestDeclared:
    """Kinds of the Config."""

    def test_all_that_holds_for_workloads(self, repository: Path) -> None:
        sent = training({"name": "head", "template": template(0)}, {"replicas": 2, "template": template(4)})
        sent["metadata"]["annotations"] = {"kai.scheduler/topology-required-placement": "rack"}
        objects = rendered(repository, sent)
        (found,) = [item for item in objects if item["kind"] == "Training"]
        queue = found["metadata"]["labels"]["kai.scheduler/queue"]
        for role in found["spec"]["roles"]:
            assert role["template"]["metadata"]["labels"]["kai.scheduler/queue"] == queue
            assert role["template"]["spec"]["schedulerName"] == "kai-scheduler"
            assert role["template"]["spec"]["priorityClassName"] == "osmo-normal"
        assert found["metadata"]["annotations"]["kai.scheduler/topology-required-placement"].endswith("/rack")
        admitted = json.loads(kubectl_tas("admit", repository / "workflows/w.yaml", "-o", "json", "-C", repository).out)
        assert "8" in json.dumps(admitted)

    @pytest.mark.parametrize(
        ("minimum", "expected"),
        [({}, 1), ({"minimum": 2}, 2), ({"minimum": "all"}, 3), ({"minimum": "spec.least"}, 2)],
    )
    def test_what_starts_together(self, repository: Path, minimum: Object, expected: int) -> None:
        sent = training({"name": "head", "template": template(0)}, {"replicas": 2, "template": template(1)})
        sent["spec"]["least"] = 2
        declare(repository, sent, kinds=[{**TRAINING, **minimum}])
        kubectl_tas("render", "-C", repository)
        preview = safe_load((repository / "manifests/preview/podgroup-training-x.yaml").read_text())
        assert preview["spec"]["minMember"] == expected

    def test_one_for_each_pod(self, repository: Path) -> None:
        sent = training({"name": "a", "replicas": 40, "template": template(1)})
        found = findings(repository, {**sent}, kinds=[{**TRAINING, "podGroups": "each"}])
        assert "not all of it can run at once" in found["quota-shared"]
        assert "over-quota" not in found

    def test_a_gang_of_the_tools_own(self, repository: Path) -> None:
        roles = ({"name": "head", "template": template(0)}, {"name": "worker", "replicas": 2, "template": template(1)})
        objects = rendered(repository, training(*roles, **{"kubectl-tas/podgroup": "owned"}))
        (group,) = [item for item in objects if item["kind"] == "PodGroup"]
        assert [(item["name"], item["minMember"]) for item in group["spec"]["subGroups"] if "minMember" in item] == [
            *(("head", 1), ("worker", 2))
        ]

    @pytest.mark.parametrize(
        ("change", "rule", "said"),
        [
            ({"spec": {"containers": [{"name": "a", "imag": "x"}]}}, "unknown-field", '"imag"'),
            ({"spec": {"containers": [{"name": "a", "image": "x"}], "nodeName": "n"}}, "quota-bypass", "nodeName"),
            ({"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}, "item-duplicate", "a"),
            (template(17), "over-quota", "17"),
        ],
    )
    def test_templates_are_judged(self, repository: Path, change: Object, rule: str, said: str) -> None:
        found = findings(repository, training({"name": "a", "template": change}))
        assert said in found.get(rule, ""), found

    def test_a_value_of_another_type(self, repository: Path) -> None:
        found = findings(repository, training({"name": "a", "replicas": "two", "template": template()}))
        assert found, found

    @pytest.mark.parametrize(
        ("kind", "said"),
        [
            ({"apiVersion": "batch/v1", "kind": "Job"}, "read and checked as what it is"),
            ({"apiVersion": "scheduling.run.ai/v2", "kind": "Queue"}, "quotas or rights"),
            ({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}, "quotas or rights"),
        ],
    )
    def test_kinds_that_are_something_else(self, repository: Path, kind: Object, said: str) -> None:
        found = findings(repository, kinds=[{**TRAINING, **kind}])
        assert said in found["kind-elsewhere"]

    @pytest.mark.parametrize(
        "kind", [*dict.fromkeys(listed.kind for listed in LISTED), *(own for own, _, _ in OWN), "Workflow", "Service"]
    )
    def test_kinds_that_others_have_the_name_of(self, repository: Path, kind: str) -> None:
        """A platform's own Job, PyTorchJob or Pod is none of those that have a model."""
        sent = {**training({"name": "a", "replicas": 2, "template": template(1)}), "kind": kind}
        (found,) = [
            item
            for item in rendered(repository, sent, kinds=[{**TRAINING, "kind": kind}])
            if item["apiVersion"] == TRAINING["apiVersion"]
        ]
        assert found["kind"] == kind
        assert found["spec"]["roles"][0]["template"]["spec"]["schedulerName"] == "kai-scheduler"
        out = kubectl_tas("workflow", "list", "-C", repository).out
        assert out.splitlines()[1].split()[0] == f"{kind}.ml.example.com/x"

    @pytest.mark.parametrize(
        ("kinds", "rule", "said"),
        [
            ([TRAINING, TRAINING], "invalid-value", "appears twice"),
            ([TRAINING, {**TRAINING, "apiVersion": "b.example.com/v1"}], "invalid-value", "of another API"),
            ([{**TRAINING, "podGroups": "each", "minimum": "all"}], "invalid-value", "podGroups: one"),
            ([{**TRAINING, "apiVersion": "v1", "kind": "Service"}], "kind-elsewhere", "makes no pods"),
        ],
    )
    def test_declarations_that_contradict(self, repository: Path, kinds: list[Object], rule: str, said: str) -> None:
        found = findings(repository, kinds=kinds)
        assert said in found.get(rule, ""), found

    def test_two_versions_of_a_kind(self, repository: Path) -> None:
        assert not findings(repository, kinds=[TRAINING, {**TRAINING, "apiVersion": "ml.example.com/v2"}])

    @pytest.mark.parametrize(
        ("spec", "said"),
        [
            ({"roles": [{"name": "a", "pods": template(1)}]}, 'the field "template" is missing in spec.roles[0]'),
            ({"roles": [{"template": template()}, {"name": "b"}]}, 'the field "template" is missing in spec.roles[1]'),
            ({"roles": []}, 'the field "roles" is missing in spec'),
            ({"groups": [{"template": template(1)}]}, 'the field "roles" is missing in spec'),
            (None, 'the field "roles" is missing in spec'),
        ],
    )
    def test_pods_that_are_not_where_the_config_says(self, repository: Path, spec: Object, said: str) -> None:
        """What is not found there would be charged to no queue."""
        found = findings(repository, {**training(), "spec": spec})
        assert said in found.get("missing-field", ""), found

    def test_pods_that_may_be_left_out(self, repository: Path) -> None:
        pods = [{"template": "spec.launcher"}, {"template": "spec.worker.template"}]
        sent = {**training(), "spec": {"worker": {"template": template(1)}}}
        assert not findings(repository, sent, kinds=[{**TRAINING, "pods": pods}])

    @pytest.mark.parametrize("path", ["", ".spec", "spec.", "spec[0].x", "spec..x", "spec.[]"])
    def test_paths_that_are_none(self, repository: Path, path: str) -> None:
        found = findings(repository, kinds=[{**TRAINING, "pods": [{"template": path}]}])
        assert "such as" in found["invalid-value"]

    def test_who_may_create_it(self, repository: Path) -> None:
        sent = training({"name": "a", "template": template()})
        declare(repository, sent, guard="warn", kinds=[{**TRAINING, "plural": "trainingz"}])
        text = (repository / "pools/p.yaml").read_text()
        write(repository, {"pools/p.yaml": text + "  access: {submit: [ml]}\n"})
        objects = list(safe_load_all(kubectl_tas("render", "--to", "-", "-C", repository).out))
        rules = [rule for item in objects if item["kind"] == "Role" for rule in item["rules"]]
        assert ["trainingz"] in [rule["resources"] for rule in rules if rule["apiGroups"] == ["ml.example.com"]]
        policies = [item for item in objects if item["kind"] == "ValidatingAdmissionPolicy"]
        matched = [rule for item in policies for rule in item["spec"]["matchConstraints"]["resourceRules"]]
        assert any("ml.example.com" in rule["apiGroups"] for rule in matched)

    def test_a_kind_that_the_config_declares_no_more(self, repository: Path, tmp_path: Path) -> None:
        """What is kept of an earlier run does not outlive the Config that it was made by."""
        cache = ("--cache-dir", tmp_path / "cache")
        declare(repository, training({"name": "a", "template": template()}))
        assert kubectl_tas("validate", "-C", repository, *cache).code == 0
        declare(repository, training({"name": "a", "template": template()}), kinds=[])
        assert "unknown-kind" in kubectl_tas("validate", "-C", repository, *cache).out
        declare(repository, training({"name": "a", "template": template()}), kinds=[{**TRAINING, "minimum": "all"}])
        assert kubectl_tas("validate", "-C", repository, *cache).code == 0


def test_a_faulty_config_declares_kinds_where_it_counts_alone(repository: Path) -> None:
    """Once it is mended, a kind of the Config is known; a Config elsewhere makes no kind known."""
    text = yaml.safe_dump(
        {"apiVersion": "tas/v1alpha1", "kind": "Config", "spec": {"kinds": [TRAINING], "gitops": "tekton"}}
    )
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": yaml.safe_dump(training()), "pools/x.yaml": text})
    assert "[unknown-kind]" in kubectl_tas("validate", "-C", repository).out
    (repository / "pools/x.yaml").rename(repository / "tas.yaml")
    result = kubectl_tas("validate", "-C", repository).out
    assert "[invalid-value]" in result
    assert "[unknown-kind]" not in result
