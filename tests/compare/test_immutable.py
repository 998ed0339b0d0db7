"""Tests which changes of an object an API server or a webhook refuses, kind by kind."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from kubectl_tas.compare.immutable import TABLE, changed_fields
from kubectl_tas.compare.object_changes import path_text
from kubectl_tas.kinds import LISTED, SET
from kubectl_tas.kinds.page import Effect
from kubectl_tas.model.kindlists import group_of

CONTAINER = {"name": "main", "image": "main:1"}
TEMPLATE: dict[str, Any] = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [CONTAINER]}}
JOB_TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
SELECTOR = {"matchLabels": {"app": "a"}}
SUB_GROUPS, RECREATE = {"subGroupSize": 2}, {"type": "Recreate"}
RAY_PODS: dict[str, Any] = {
    "headGroupSpec": {"template": TEMPLATE},
    "workerGroupSpecs": [{"replicas": 1, "template": deepcopy(TEMPLATE)}],
}
OF_KUBEFLOW = {
    "JAXJob": "jaxReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
}
"""The field of each kind's replica types, as its CRD has it."""


def _object(version: str, kind: str, rest: dict[str, Any]) -> dict[str, Any]:
    return deepcopy({"apiVersion": version, "kind": kind, "metadata": {"name": "a", "namespace": "default"}, **rest})


OBJECTS: dict[str, dict[str, Any]] = {
    "Job": _object("batch/v1", "Job", {"spec": {"template": JOB_TEMPLATE}}),
    "suspended Job": _object("batch/v1", "Job", {"spec": {"suspend": True, "template": JOB_TEMPLATE}}),
    "Indexed Job": _object(
        "batch/v1",
        "Job",
        {"spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2, "template": JOB_TEMPLATE}},
    ),
    "Pod": _object("v1", "Pod", {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}], **TEMPLATE["spec"]}}),
    "CronJob": _object(
        "batch/v1", "CronJob", {"spec": {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": JOB_TEMPLATE}}}}
    ),
    "Deployment": _object("apps/v1", "Deployment", {"spec": {"selector": SELECTOR, "template": TEMPLATE}}),
    "StatefulSet": _object(
        "apps/v1", "StatefulSet", {"spec": {"serviceName": "a", "selector": SELECTOR, "template": TEMPLATE}}
    ),
    "ComputeDomain": _object(
        "resource.nvidia.com/v1beta1",
        "ComputeDomain",
        {"spec": {"channel": {"resourceClaimTemplate": {"name": "a-channel"}}}},
    ),
    "PersistentVolumeClaim": _object(
        "v1",
        "PersistentVolumeClaim",
        {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}},
    ),
    "fast PersistentVolumeClaim": _object(
        "v1",
        "PersistentVolumeClaim",
        {
            "spec": {
                "storageClassName": "fast",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "10Gi"}},
            }
        },
    ),
    "Service": _object("v1", "Service", {"spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]}}),
    "headless Service": _object("v1", "Service", {"spec": {"clusterIP": "None", "selector": {"app": "a"}}}),
    "external Service": _object(
        "v1", "Service", {"spec": {"type": "ExternalName", "externalName": "a.example.com", "clusterIP": ""}}
    ),
    "ConfigMap": _object("v1", "ConfigMap", {"data": {"a": "1"}}),
    "immutable ConfigMap": _object("v1", "ConfigMap", {"immutable": True, "data": {"a": "1"}}),
    "JobSet": _object(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        {"spec": {"replicatedJobs": [{"name": "w", "template": {"spec": {"template": JOB_TEMPLATE}}}]}},
    ),
    "TrainJob": _object("trainer.kubeflow.org/v1alpha1", "TrainJob", {"spec": {"runtimeRef": {"name": "torch"}}}),
    "JobSet with policies": _object(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        {
            "spec": {
                "failurePolicy": {"maxRestarts": 1},
                "volumeClaimPolicies": [{"templates": [{"metadata": {"name": "a"}}]}],
            }
        },
    ),
    "TrainJob with a trainer": _object(
        "trainer.kubeflow.org/v1alpha1",
        "TrainJob",
        {"spec": {"suspend": True, "trainer": {"numNodes": 2}, "initializer": {}, "activeDeadlineSeconds": 60}},
    ),
    "RayJob": _object(
        "ray.io/v1",
        "RayJob",
        {"spec": {"entrypoint": "a", "rayClusterSpec": {"headGroupSpec": {"template": TEMPLATE}}}},
    ),
    "suspended RayJob": _object("ray.io/v1", "RayJob", {"spec": {"suspend": True, "entrypoint": "a"}}),
    "RayCluster": _object("ray.io/v1", "RayCluster", {"spec": RAY_PODS}),
    "recreated RayCluster": _object("ray.io/v1", "RayCluster", {"spec": {"upgradeStrategy": RECREATE, **RAY_PODS}}),
    "RayService": _object("ray.io/v1", "RayService", {"spec": {"rayClusterConfig": RAY_PODS}}),
    "ReplicaSet": _object("apps/v1", "ReplicaSet", {"spec": {"selector": SELECTOR, "template": TEMPLATE}}),
    "ReplicationController": _object(
        "v1", "ReplicationController", {"spec": {"selector": {"app": "a"}, "template": TEMPLATE}}
    ),
    "Notebook": _object("kubeflow.org/v1", "Notebook", {"spec": {"template": TEMPLATE}}),
    "LeaderWorkerSet": _object(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        {"spec": {"leaderWorkerTemplate": {"size": 4, "workerTemplate": TEMPLATE, "subGroupPolicy": SUB_GROUPS}}},
    ),
    "suspended JobSet": _object(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        {
            "spec": {
                "suspend": True,
                "replicatedJobs": [{"name": "w", "template": {"spec": {"template": JOB_TEMPLATE}}}],
            }
        },
    ),
    "suspended TrainJob": _object(
        "trainer.kubeflow.org/v1alpha1", "TrainJob", {"spec": {"suspend": True, "runtimeRef": {"name": "torch"}}}
    ),
    "suspended PyTorchJob": _object(
        "kubeflow.org/v1",
        "PyTorchJob",
        {"spec": {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": {"Worker": {"template": TEMPLATE}}}},
    ),
    **{
        kind: _object("kubeflow.org/v1", kind, {"spec": {field: {"Worker": {"replicas": 2, "template": TEMPLATE}}}})
        for kind, field in OF_KUBEFLOW.items()
    },
}
IMAGE = ("containers", 0, "image")
SPEC, TEMPLATE_SPEC = ("spec",), ("spec", "template", "spec")
IN_JOBSET = (*SPEC, "replicatedJobs", 0, "template", "spec", "template")
CHANGES: list[tuple[str, tuple[str | int, ...], Any, Effect | None]] = [
    ("Job", (*TEMPLATE_SPEC, *IMAGE), "main:2", Effect.REFUSED),
    ("Job", (*TEMPLATE_SPEC, "nodeSelector"), {"a": "b"}, Effect.REFUSED),
    ("Job", ("spec", "template", "metadata"), {"labels": {"queue": "b"}}, Effect.REFUSED),
    ("Job", (*SPEC, "completions"), 5, Effect.REFUSED),
    ("Job", (*SPEC, "completionMode"), "NonIndexed", None),
    ("Job", (*SPEC, "backoffLimitPerIndex"), 3, Effect.REFUSED),
    ("Job", (*SPEC, "managedBy"), "example.com/other", Effect.REFUSED),
    ("Job", (*SPEC, "selector"), SELECTOR, Effect.REFUSED),
    ("Job", (*SPEC, "podFailurePolicy"), {"rules": [{"action": "FailJob"}]}, Effect.REFUSED),
    ("Job", (*SPEC, "successPolicy"), {"rules": [{"succeededCount": 1}]}, Effect.REFUSED),
    ("Job", (*TEMPLATE_SPEC, "terminationGracePeriodSeconds"), 30, None),
    ("Job", (*TEMPLATE_SPEC, "terminationGracePeriodSeconds"), 31, Effect.REFUSED),
    ("Job", (*TEMPLATE_SPEC, "enableServiceLinks"), True, None),
    ("Job", (*TEMPLATE_SPEC, "containers", 0, "terminationMessagePath"), "/dev/termination-log", None),
    ("Job", (*TEMPLATE_SPEC, "containers", 0, "terminationMessagePolicy"), "File", None),
    ("Job", (*TEMPLATE_SPEC, "containers", 0, "ports"), [{"containerPort": 80}], Effect.REFUSED),
    ("Job", (*TEMPLATE_SPEC, "containers", 0, "resources"), {"limits": {"cpu": "1"}}, Effect.REFUSED),
    ("Job", (*SPEC, "parallelism"), 3, None),
    ("Job", (*SPEC, "backoffLimit"), 3, None),
    ("Job", (*SPEC, "suspend"), True, None),
    ("Job", (*SPEC, "ttlSecondsAfterFinished"), 3, None),
    ("Job", (*SPEC, "activeDeadlineSeconds"), 3, None),
    ("Job", (*TEMPLATE_SPEC, "dnsPolicy"), "ClusterFirst", None),
    ("Job", (*TEMPLATE_SPEC, "nodeSelector"), {}, None),
    ("suspended Job", (*TEMPLATE_SPEC, *IMAGE), "main:2", Effect.REFUSED),
    ("suspended Job", (*TEMPLATE_SPEC, "nodeSelector"), {"a": "b"}, None),
    ("suspended Job", (*TEMPLATE_SPEC, "tolerations"), [{"key": "a", "operator": "Exists"}], None),
    ("suspended Job", ("spec", "template", "metadata"), {"labels": {"queue": "b"}}, None),
    ("suspended Job", ("spec", "template", "metadata"), {"annotations": {"queue": "b"}}, None),
    ("suspended Job", (*TEMPLATE_SPEC, "schedulingGates"), [{"name": "a"}], None),
    ("suspended Job", (*TEMPLATE_SPEC, "affinity"), {"nodeAffinity": {"a": "b"}}, None),
    ("suspended Job", (*TEMPLATE_SPEC, "affinity"), {"podAffinity": {"a": "b"}}, Effect.REFUSED),
    ("Indexed Job", (*SPEC, "completions"), 3, Effect.REFUSED),
    ("Pod", (*SPEC, *IMAGE), "main:2", Effect.RESTARTED),
    ("Pod", (*SPEC, "nodeSelector"), {"a": "b"}, Effect.REFUSED),
    ("Pod", (*SPEC, "containers", 0, "env"), [{"name": "A", "value": "b"}], Effect.REFUSED),
    ("Pod", (*SPEC, "tolerations"), [], Effect.REFUSED),
    ("Pod", ("metadata", "labels"), {"a": "b"}, None),
    ("Pod", (*SPEC, "initContainers"), [{"image": "main:2"}], None),
    ("Pod", (*SPEC, "activeDeadlineSeconds"), 3, None),
    ("Pod", (*SPEC, "schedulingGates"), [{"name": "a"}], None),
    ("Pod", (*SPEC, "restartPolicy"), "Always", None),
    ("Pod", (*SPEC, "restartPolicy"), "Never", Effect.REFUSED),
    ("CronJob", ("spec", "jobTemplate", "spec", "template", "spec", *IMAGE), "main:2", None),
    ("Deployment", (*SPEC, "selector", "matchLabels", "tier"), "b", Effect.REFUSED),
    ("Deployment", (*TEMPLATE_SPEC, *IMAGE), "main:2", Effect.RESTARTED),
    ("Deployment", (*SPEC, "replicas"), 3, None),
    ("StatefulSet", (*SPEC, "serviceName"), "b", Effect.REFUSED),
    ("StatefulSet", (*SPEC, "podManagementPolicy"), "Parallel", Effect.REFUSED),
    ("StatefulSet", (*SPEC, "podManagementPolicy"), "OrderedReady", None),
    ("StatefulSet", (*SPEC, "replicas"), 3, None),
    ("StatefulSet", (*SPEC, "revisionHistoryLimit"), 3, None),
    ("StatefulSet", (*SPEC, "minReadySeconds"), 3, None),
    ("StatefulSet", (*SPEC, "ordinals"), {"start": 1}, None),
    ("StatefulSet", (*SPEC, "updateStrategy"), {"type": "OnDelete"}, None),
    ("StatefulSet", (*SPEC, "persistentVolumeClaimRetentionPolicy"), {"whenDeleted": "Delete"}, None),
    ("StatefulSet", (*TEMPLATE_SPEC, *IMAGE), "main:2", Effect.RESTARTED),
    ("ReplicaSet", (*SPEC, "selector", "matchLabels", "tier"), "b", Effect.REFUSED),
    ("ReplicaSet", (*TEMPLATE_SPEC, *IMAGE), "main:2", Effect.KEPT),
    ("ReplicaSet", (*SPEC, "replicas"), 3, None),
    ("ReplicationController", (*SPEC, "selector", "tier"), "b", None),
    ("ReplicationController", (*TEMPLATE_SPEC, *IMAGE), "main:2", Effect.KEPT),
    ("Notebook", (*TEMPLATE_SPEC, *IMAGE), "main:2", Effect.RESTARTED),
    ("ComputeDomain", (*SPEC, "numNodes"), 2, Effect.REFUSED),
    ("ComputeDomain", (*SPEC, "numNodes"), 0, None),
    ("ComputeDomain", (*SPEC, "channel", "allocationMode"), "Single", None),
    ("ComputeDomain", (*SPEC, "channel", "resourceClaimTemplate", "name"), "b-channel", Effect.REFUSED),
    ("PersistentVolumeClaim", (*SPEC, "accessModes"), ["ReadWriteMany"], Effect.REFUSED),
    ("PersistentVolumeClaim", (*SPEC, "storageClassName"), "fast", None),
    ("fast PersistentVolumeClaim", (*SPEC, "storageClassName"), "slow", Effect.REFUSED),
    ("PersistentVolumeClaim", (*SPEC, "volumeMode"), "Filesystem", None),
    ("PersistentVolumeClaim", (*SPEC, "volumeAttributesClassName"), "gold", None),
    ("PersistentVolumeClaim", (*SPEC, "resources", "limits"), {"storage": "20Gi"}, Effect.REFUSED),
    ("PersistentVolumeClaim", (*SPEC, "resources", "requests", "storage"), "5Gi", Effect.REFUSED),
    ("PersistentVolumeClaim", (*SPEC, "resources", "requests", "storage"), "10240Mi", None),
    ("PersistentVolumeClaim", (*SPEC, "resources", "requests", "storage"), "20Gi", None),
    ("Service", (*SPEC, "clusterIP"), "None", Effect.REFUSED),
    ("Service", (*SPEC, "ports", 0, "port"), 8080, None),
    ("headless Service", (*SPEC, "clusterIP"), None, None),
    ("external Service", (*SPEC, "clusterIP"), "10.0.0.1", None),
    ("ConfigMap", ("data", "a"), "2", None),
    ("ConfigMap", ("immutable",), True, None),
    ("immutable ConfigMap", ("binaryData",), {"b": "MQ=="}, Effect.REFUSED),
    ("immutable ConfigMap", ("data", "a"), "2", Effect.REFUSED),
    ("immutable ConfigMap", ("immutable",), None, Effect.REFUSED),
    ("JobSet", (*SPEC, "replicatedJobs", 0, "replicas"), 3, Effect.REFUSED),
    ("JobSet", (*SPEC, "replicatedJobs", 0, "template", *TEMPLATE_SPEC, *IMAGE), "main:2", Effect.REFUSED),
    ("JobSet", (*SPEC, "successPolicy"), {"operator": "All"}, None),
    ("JobSet", (*SPEC, "successPolicy"), {"operator": "Any"}, Effect.REFUSED),
    ("JobSet", (*SPEC, "network"), {"enableDNSHostnames": True, "publishNotReadyAddresses": True}, None),
    ("JobSet", (*SPEC, "network"), {"subdomain": "b"}, Effect.REFUSED),
    (
        "JobSet with policies",
        (*SPEC, "volumeClaimPolicies", 0, "templates"),
        [{"metadata": {"name": "b"}}],
        Effect.REFUSED,
    ),
    ("JobSet with policies", (*SPEC, "failurePolicy"), {"maxRestarts": 3}, Effect.REFUSED),
    ("JobSet with policies", (*SPEC, "failurePolicy"), None, None),
    ("JobSet", (*SPEC, "failurePolicy"), {"maxRestarts": 3}, None),
    ("JobSet", (*SPEC, "startupPolicy"), {"startupPolicyOrder": "AnyOrder"}, None),
    ("JobSet", (*SPEC, "startupPolicy"), {"startupPolicyOrder": "InOrder"}, Effect.REFUSED),
    ("JobSet", (*SPEC, "managedBy"), "example.com/other", Effect.REFUSED),
    ("JobSet", (*SPEC, "suspend"), True, None),
    ("suspended JobSet", (*IN_JOBSET, "spec", *IMAGE), "main:2", Effect.REFUSED),
    ("suspended JobSet", (*IN_JOBSET, "spec", "nodeSelector"), {"a": "b"}, None),
    ("suspended JobSet", (*IN_JOBSET, "spec", "tolerations"), [{"key": "a", "operator": "Exists"}], None),
    ("suspended JobSet", (*IN_JOBSET, "spec", "schedulingGates"), [{"name": "a"}], None),
    ("suspended JobSet", (*IN_JOBSET, "metadata", "labels"), {"a": "b"}, None),
    ("suspended JobSet", (*IN_JOBSET, "metadata", "annotations"), {"a": "b"}, None),
    ("LeaderWorkerSet", (*SPEC, "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize"), 4, Effect.REFUSED),
    (
        *("LeaderWorkerSet", (*SPEC, "leaderWorkerTemplate", "workerTemplate", "spec", *IMAGE)),
        *("main:2", Effect.RESTARTED),
    ),
    ("LeaderWorkerSet", (*SPEC, "leaderWorkerTemplate", "size"), 8, Effect.RESTARTED),
    ("LeaderWorkerSet", (*SPEC, "replicas"), 3, None),
    ("TrainJob", (*SPEC, "runtimeRef", "name"), "jax", Effect.REFUSED),
    ("TrainJob", (*SPEC, "runtimeRef", "kind"), "ClusterTrainingRuntime", None),
    ("TrainJob", (*SPEC, "trainer"), {"numNodes": 3}, Effect.KEPT),
    ("TrainJob with a trainer", (*SPEC, "trainer"), {"numNodes": 3}, Effect.REFUSED),
    ("TrainJob with a trainer", (*SPEC, "initializer"), {"model": {"storageUri": "a"}}, Effect.REFUSED),
    ("TrainJob with a trainer", (*SPEC, "activeDeadlineSeconds"), 3, Effect.REFUSED),
    ("TrainJob", (*SPEC, "managedBy"), "trainer.kubeflow.org/trainjob-controller", None),
    ("TrainJob", (*SPEC, "managedBy"), "example.com/other", Effect.REFUSED),
    ("TrainJob", (*SPEC, "runtimePatches"), [{"manager": "a"}], Effect.REFUSED),
    ("TrainJob", (*SPEC, "podTemplateOverrides"), [{"spec": {"nodeSelector": {"a": "b"}}}], Effect.REFUSED),
    ("TrainJob", (*SPEC, "labels"), {"a": "b"}, Effect.KEPT),
    ("TrainJob", (*SPEC, "annotations"), {"a": "b"}, Effect.KEPT),
    ("TrainJob", (*SPEC, "suspend"), True, None),
    ("suspended TrainJob", (*SPEC, "trainer"), {"numNodes": 3}, None),
    ("suspended TrainJob", (*SPEC, "podTemplateOverrides"), [{"spec": {"nodeSelector": {"a": "b"}}}], None),
    ("suspended TrainJob", (*SPEC, "labels"), {"a": "b"}, None),
    *(
        (kind, (*SPEC, field, "Worker", *TEMPLATE_SPEC[1:], *IMAGE), "main:2", Effect.KEPT)
        for kind, field in OF_KUBEFLOW.items()
    ),
    ("PyTorchJob", (*SPEC, "pytorchReplicaSpecs", "Worker", "replicas"), 3, None),
    ("suspended PyTorchJob", (*SPEC, "pytorchReplicaSpecs", "Worker", *TEMPLATE_SPEC[1:], *IMAGE), "main:2", None),
    *(("RayJob", (*SPEC, field), "b", Effect.KEPT) for field in ("entrypoint", "runtimeEnvYAML")),
    ("RayJob", (*SPEC, "clusterSelector"), {"ray.io/cluster": "b"}, Effect.KEPT),
    ("RayJob", (*SPEC, "submitterPodTemplate"), TEMPLATE, Effect.KEPT),
    ("RayJob", (*SPEC, "rayClusterSpec", "headGroupSpec", *TEMPLATE_SPEC[1:], *IMAGE), "main:2", Effect.KEPT),
    ("RayJob", (*SPEC, "shutdownAfterJobFinishes"), True, None),
    ("suspended RayJob", (*SPEC, "entrypoint"), "b", None),
    *(
        (name, (*above, *path), value, effect)
        for name, above, effect in (
            ("RayCluster", SPEC, Effect.KEPT),
            ("recreated RayCluster", SPEC, Effect.RESTARTED),
            ("RayService", (*SPEC, "rayClusterConfig"), Effect.RESTARTED),
        )
        for path, value in (
            (("headGroupSpec", *TEMPLATE_SPEC[1:], *IMAGE), "main:2"),
            (("headGroupSpec", "rayStartParams"), {"a": "b"}),
            (("workerGroupSpecs", 0, *TEMPLATE_SPEC[1:], *IMAGE), "main:2"),
            (("workerGroupSpecs", 0, "rayStartParams"), {"a": "b"}),
        )
    ),
    ("RayCluster", (*SPEC, "workerGroupSpecs", 0, "replicas"), 3, None),
]
WHO = {
    "Pod": ("the API server", "the kubelet"),
    "Deployment": ("the API server", "the Deployment"),
    "StatefulSet": ("the API server", "the StatefulSet"),
    "ReplicaSet": ("the API server", "the ReplicaSet"),
    "ReplicationController": ("the ReplicationController",),
    "Notebook": ("the Notebook",),
    "JobSet": ("JobSet's webhook", "a rule of its CRD"),
    "LeaderWorkerSet": ("LWS's webhook", "the LeaderWorkerSet"),
    "TrainJob": ("a rule of its CRD", "Kubeflow Trainer's webhook", "Kubeflow Trainer"),
    **dict.fromkeys(OF_KUBEFLOW, ("its operator",)),
    **dict.fromkeys(("RayJob", "RayCluster"), ("KubeRay",)),
    "RayService": ("a second cluster next to the first",),
}
"""Who refuses changes of a kind, or leaves running pods unchanged; for other kinds the API server does."""


def changed(name: str, path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """The object with another value; None: without it."""
    found = deepcopy(OBJECTS[name])
    target: Any = found
    for step in path[:-1]:
        target = target[step] if isinstance(step, int) else target.setdefault(step, {})
    if value is None:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return found


@pytest.mark.parametrize(("name", "path", "value", "effect"), CHANGES)
def test_what_a_change_comes_to(name: str, path: tuple[str | int, ...], value: Any, effect: Effect | None) -> None:
    before, after = OBJECTS[name], changed(name, path, value)
    found = list(changed_fields(group_of(before["apiVersion"]), before["kind"], before, after))
    assert {item.row.effect for item in found} == ({effect} if effect else set())
    assert all(item.path[: len(path)] == path for item in found)
    assert all(item.row.by in WHO.get(before["kind"], ("the API server",)) for item in found)


def test_completions_of_an_indexed_job_change_with_its_parallelism() -> None:
    after = deepcopy(OBJECTS["Indexed Job"])
    after["spec"] |= {"completions": 3, "parallelism": 3}
    assert not list(changed_fields("batch", "Job", OBJECTS["Indexed Job"], after))


def test_a_pod_may_get_a_further_toleration() -> None:
    after = deepcopy(OBJECTS["Pod"])
    after["spec"]["tolerations"].append({"key": "b", "operator": "Exists"})
    assert not list(changed_fields("", "Pod", OBJECTS["Pod"], after))


def test_a_jobset_that_is_suspended_may_get_nodes() -> None:
    path = ("spec", "replicatedJobs", 0, "template", *TEMPLATE_SPEC, "nodeSelector")
    after = changed("JobSet", path, {"a": "b"})
    after["spec"]["suspend"] = True
    assert not list(changed_fields("jobset.x-k8s.io", "JobSet", OBJECTS["JobSet"], after))


def test_a_set_whose_pods_are_replaced_by_hand_keeps_what_runs() -> None:
    before = changed("StatefulSet", ("spec", "updateStrategy"), {"type": "OnDelete"})
    after = deepcopy(before)
    after["spec"]["template"]["spec"]["containers"][0]["image"] = "main:2"
    (found,) = changed_fields("apps", "StatefulSet", before, after)
    assert (found.row.effect, found.row.by) == (Effect.KEPT, "the update strategy OnDelete")


def test_a_field_that_goes_is_a_change() -> None:
    before = changed("Job", (*TEMPLATE_SPEC, "nodeSelector"), {"example.com/gpu": "h100"})
    (found,) = changed_fields("batch", "Job", before, OBJECTS["Job"])
    assert path_text(found.path) == "spec.template.spec.nodeSelector[example.com/gpu]"
    assert (found.old, found.new) == ("h100", None)


SCALED: list[tuple[str, str, dict[str, Any], dict[str, Any], Effect, str]] = [
    (
        "grove.io/v1alpha1",
        "PodCliqueSet",
        {"template": {"cliques": [{"spec": {"podSpec": {"hostNetwork": True}}}]}},
        {"replicas": 2},
        Effect.RESTARTED,
        "Grove",
    ),
    (
        "batch.volcano.sh/v1alpha1",
        "Job",
        {"queue": "a"},
        {"minAvailable": 2, "tasks": [{"replicas": 2}]},
        Effect.REFUSED,
        "Volcano's webhook",
    ),
    (
        "sparkoperator.k8s.io/v1beta2",
        "SparkApplication",
        {"image": "a"},
        {},
        Effect.RESTARTED,
        "the Spark operator",
    ),
    ("argoproj.io/v1alpha1", "Workflow", {"templates": [{"name": "a"}]}, {}, Effect.KEPT, "Argo's controller"),
    (
        "serving.kserve.io/v1beta1",
        "InferenceService",
        {"predictor": {"model": {"name": "a"}}},
        {"predictor": {"minReplicas": 2, "maxReplicas": 3}},
        Effect.RESTARTED,
        "KServe",
    ),
    (
        "nvidia.com/v1alpha1",
        "DynamoGraphDeployment",
        {"services": {"a": {"envs": [{"name": "A"}]}}},
        {"services": {"a": {"replicas": 2}}},
        Effect.RESTARTED,
        "Dynamo's operator",
    ),
    (
        "machinelearning.seldon.io/v1",
        "SeldonDeployment",
        {"predictors": [{"name": "a"}]},
        {"predictors": [{"replicas": 2}]},
        Effect.RESTARTED,
        "Seldon's operator",
    ),
]


@pytest.mark.parametrize(("version", "kind", "spec", "scaled", "effect", "by"), SCALED)
def test_operators_scale_without_an_effect(
    version: str, kind: str, spec: dict[str, Any], scaled: dict[str, Any], effect: Effect, by: str
) -> None:
    empty, changed, larger = (_object(version, kind, {"spec": item}) for item in ({}, spec, scaled))
    found = list(changed_fields(group_of(version), kind, empty, changed))
    assert {(item.row.effect, item.row.by) for item in found} == {(effect, by)}
    assert not list(changed_fields(group_of(version), kind, empty, larger))


def test_each_kind_of_the_table_has_an_object() -> None:
    here = {(group_of(item["apiVersion"]), item["kind"]) for item in OBJECTS.values()}
    pages = {
        (group, listed.kind)
        for listed in (*LISTED, SET)
        if listed.page.changes
        for group in listed.page.recognition.groups
    }
    assert (TABLE.keys() | pages) - here == {(group_of(version), kind) for version, kind, *_ in SCALED}
