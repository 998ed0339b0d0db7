"""Gives an example of each kind of work that the tool reads: a document without findings, and the places of its pods.

``examples`` alone knows the tables of kinds. The documents are those of golden/documents. Each pod template in them
becomes a standard one, so that a test knows what it edits.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from kubectl_tas.kinds import LISTED, page_of
from kubectl_tas.model.base import KeyPath
from tests.support.cli import pool
from tests.support.fleets import fleet_of
from tests.support.pyyaml import dumped, safe_load
from tests.support.workloads import LEVELS
from tools.goldens import ROOT

Object = dict[str, Any]
NAME = "example"
"""The name of each example."""


@dataclass(frozen=True)
class Pods:
    """The places of the fields of some pods in a document. None: the kind has no such fields."""

    name: str
    """Path of the pods, as text."""
    metadata: KeyPath | None
    """Path of the mapping with the labels and annotations."""
    spec: KeyPath | None
    """Path of the fields of a PodSpec."""
    container: KeyPath | None
    """Path of the fields of a container."""
    task: KeyPath | None = None
    """Path of the fields of an OSMO task."""
    is_pod_spec: bool = True
    """Whether the kind has a PodSpec there, and not only some of its fields."""


@dataclass(frozen=True)
class Example:
    """A document of a kind, and the documents that it needs."""

    kind: str
    """Name of the kind, unique among all kinds."""
    document: Object
    pods: tuple[Pods, ...] = ()
    beside: tuple[Object, ...] = ()
    """Documents of the same file. They name the document, or have its name."""
    shared: tuple[Object, ...] = ()
    """Documents of the repository."""
    config: Object = field(default_factory=dict)
    """Fields of the Config."""
    pool: str = ""
    """Fields of the pool."""
    path: str = "workflows/work.yaml"
    """The file of the document."""

    def text(self, document: Object, name: str) -> str:
        """The file of a document in place of the example's, with those beside it, and with a name."""
        return "---\n".join(dumped(_renamed(item, name)) for item in (document, *self.beside))


def _renamed(written: Any, name: str) -> Any:
    if isinstance(written, dict):
        return {key: _renamed(value, name) for key, value in written.items()}
    if isinstance(written, list):
        return [_renamed(value, name) for value in written]
    return name if written == NAME else written


CONTAINER: Object = {
    "name": "trainer",
    "image": "trainer:1",
    "env": [{"name": "MODE", "value": "fast"}],
    "envFrom": [{"configMapRef": {"name": "settings"}}],
    "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": 4, "memory": "8Gi"}, "requests": {"cpu": 2}},
}
VOLUMES: list[Object] = [
    {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
    {"name": "more", "emptyDir": {}},
]
METADATA: Object = {"labels": {"app": "x"}, "annotations": {"example.com/note": "x"}}
SPEC: Object = {"serviceAccountName": "runner", "volumes": VOLUMES, "containers": [CONTAINER]}
"""Fields of the pods of every example, as far as the kind has them."""
_SHARED: tuple[Object, ...] = (
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"mode": "fast"}},
    {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "runner"}},
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Ti"}}},
    },
)
"""Objects that the pods of every example name."""
_CONFIG: Object = {
    "backends": [
        {"name": "prod", "namespace": "ml", "scheduler": {"version": "0.17"}, "grove": {"version": "0.1.0-alpha.11"}}
    ],
    "given": [{"kind": "Secret", "namespace": "ml", "names": ["token"]}],
}
_POOL = {"kubectl-tas/pool": "team"}


def files_of(example: Example, texts: dict[str, str]) -> dict[str, str]:
    """Returns the files of a repository with these texts by path, and with all that the example needs."""
    config = {"apiVersion": "tas/v1alpha1", "kind": "Config", "spec": {**_CONFIG, **example.config}}
    return {
        "tas.yaml": dumped(config),
        "pools/team.yaml": pool(guarantee=100_000, spec=LEVELS + example.pool),
        **{f"workflows/shared-{index}.yaml": dumped(_of_pool(item)) for index, item in enumerate(_SHARED)},
        **{f"pools/shared-{index}.yaml": dumped(item) for index, item in enumerate(example.shared)},
        **texts,
    }


def _of_pool(document: Object) -> Object:
    return {**document, "metadata": {**document["metadata"], "labels": dict(_POOL)}}


@cache
def examples() -> dict[str, Example]:
    """An example of each kind that the tool reads, by kind."""
    return {item.kind: item for item in _examples()}


def _examples() -> Iterator[Example]:
    for listed in LISTED:
        yield _example(listed.name, (listed.page.recognition.schema or listed.kind).lower())
    yield _with_pods(_declared())
    yield _with_pods(_karta())
    yield _clique_set()
    yield _pod_group()
    yield _workflow()
    yield _pod_template()


def _golden(name: str) -> Object:
    found: Object = safe_load((ROOT / f"golden/documents/{name}.yaml").read_text(encoding="utf-8"))
    return found


def _example(kind: str, name: str) -> Example:
    document = _golden(name)
    document["metadata"] = {"name": NAME, "labels": dict(_POOL)}
    if kind in _IN_OWN_WORDS:
        document["spec"], pods = _IN_OWN_WORDS[kind]()
        return Example(kind, safe_load(dumped(document)), pods)
    _COMPLETED.get(kind, _as_it_is)(document["spec"])
    return _with_pods(Example(kind, document))


def _with_pods(example: Example) -> Example:
    """Returns an example with standard pods in its templates, which its model finds."""
    document = copy.deepcopy(example.document)
    fleet = fleet_of(files_of(example, {"workflows/w.yaml": dumped(document)}))
    (workload,) = fleet.repository.workloads
    found = {}
    for item in workload.spec.pod_sets:
        assert item.is_pod_spec, f"{example.kind} needs an example in its own words"
        found[item.spec_path] = item.metadata_path
    for spec, metadata in found.items():
        _put(document, metadata, {**at_path(document, metadata, {}), **METADATA, **_own_labels(document, metadata)})
        _put(document, spec, _pod_spec(example.kind))
    pods = tuple(_standard(spec, metadata) for spec, metadata in found.items())
    return replace(example, document=document, pods=pods)


def _own_labels(document: Object, metadata: KeyPath) -> Object:
    """Labels of pods that have the metadata of the document."""
    return {"labels": {**METADATA["labels"], **_POOL}} if metadata == ("metadata",) else {}


def _standard(spec: KeyPath, metadata: KeyPath) -> Pods:
    return Pods(".".join(map(str, spec)), metadata, spec, (*spec, "containers", 0))


def _pod_spec(kind: str) -> Object:
    page = page_of(kind)
    found: Object = copy.deepcopy(SPEC)
    if page is not None and page.pod_rules.container:
        found["containers"][0]["name"] = page.pod_rules.container
    if kind in ("Job", "CronJob", "JobSet"):
        found["restartPolicy"] = "Never"
    return found


def at_path(written: Any, path: KeyPath, otherwise: Any) -> Any:
    """Returns the value at a path of a document, or ``otherwise``."""
    for step in path:
        if isinstance(written, dict) and step not in written:
            return otherwise
        written = written[step]
    return written


def _put(document: Any, path: KeyPath, value: Any) -> None:
    for index, step in enumerate(path[:-1]):
        if isinstance(document, dict) and step not in document:
            document[step] = [] if isinstance(path[index + 1], int) else {}
        document = document[step]
    document[path[-1]] = value


def _as_it_is(spec: Object) -> None:
    """The golden document needs nothing else."""


def _cron_job(spec: Object) -> None:
    spec |= {"schedule": "@daily", "concurrencyPolicy": "Forbid"}
    spec["jobTemplate"]["metadata"] = copy.deepcopy(METADATA)


def _selecting(spec: Object) -> None:
    spec["selector"] = {"matchLabels": {"app": "x"}}


def _deployment(spec: Object) -> None:
    _selecting(spec)
    spec["strategy"] = {"type": "Recreate"}


def _controller(spec: Object) -> None:
    spec["selector"] = {"app": "x"}


def _leader_worker_set(spec: Object) -> None:
    spec["startupPolicy"] = "LeaderCreated"
    del spec["leaderWorkerTemplate"]["subGroupPolicy"]


def _ray_cluster(spec: Object) -> None:
    del spec["autoscalerOptions"]


def _ray_service(spec: Object) -> None:
    _ray_cluster(spec["rayClusterConfig"])


def _ray_job(spec: Object) -> None:
    del spec["clusterSelector"]
    _ray_cluster(spec["rayClusterSpec"])


def _ray_cron_job(spec: Object) -> None:
    spec["schedule"] = "@daily"
    _ray_job(spec["jobTemplate"])


def _mpi_job(spec: Object) -> None:
    spec["launcherCreationPolicy"] = "AtStartup"


def _seldon(spec: Object) -> None:
    spec["predictors"][0]["graph"] = {"name": "trainer"}
    del spec["predictors"][0]["componentSpecs"][0]["name"]


_COMPLETED: dict[str, Callable[[Object], None]] = {
    "CronJob": _cron_job,
    "Deployment": _deployment,
    "StatefulSet": _selecting,
    "ReplicaSet": _selecting,
    "ReplicationController": _controller,
    "LeaderWorkerSet": _leader_worker_set,
    "RayCluster": _ray_cluster,
    "RayService": _ray_service,
    "RayJob": _ray_job,
    "RayCronJob": _ray_cron_job,
    "MPIJob": _mpi_job,
    "SeldonDeployment": _seldon,
}
"""What makes the golden document of a kind one that nothing refuses."""


def _argo(path: KeyPath) -> Callable[[], tuple[Object, tuple[Pods, ...]]]:
    """Templates of a workflow below ``path``: each form that has a container."""
    own = {"metadata": METADATA, "volumes": VOLUMES[1:]}
    inline = {**own, "container": CONTAINER}
    spec = {
        "entrypoint": "main",
        "serviceAccountName": "runner",
        "volumes": VOLUMES[:1],
        "templates": [
            {"name": "main", **inline},
            {"name": "code", **own, "script": {**CONTAINER, "source": "print()"}},
            {"name": "set", **own, "containerSet": {"containers": [CONTAINER]}},
            {"name": "steps", "steps": [[{"name": "first", "inline": inline}]]},
            {"name": "dag", "dag": {"tasks": [{"name": "only", "inline": inline}]}},
        ],
    }
    templates: tuple[tuple[KeyPath, KeyPath], ...] = (
        ((0,), ("container",)),
        ((1,), ("script",)),
        ((2,), ("containerSet", "containers", 0)),
        ((3, "steps", 0, 0, "inline"), ("container",)),
        ((4, "dag", "tasks", 0, "inline"), ("container",)),
    )
    found = []
    for template, container in templates:
        where = (*path, "templates", *template)
        name = ".".join(map(str, (*where, *container)))
        found.append(Pods(name, (*where, "metadata"), where, (*where, *container), is_pod_spec=False))
    is_cron = path != ("spec",)
    scheduled = {"schedule": "@daily", "concurrencyPolicy": "Forbid", "workflowSpec": spec}
    return lambda: (scheduled if is_cron else spec, tuple(found))


def _spark(*above: str) -> tuple[Object, tuple[Pods, ...]]:
    """A driver and executors, each with fields of its own and with a pod template."""
    own = {key: CONTAINER[key] for key in ("image", "env", "envFrom", "ports", "volumeMounts")}
    template = {"metadata": METADATA, "spec": {"volumes": VOLUMES, "containers": [CONTAINER]}}
    pod = {**METADATA, "cores": 1, "memory": "8g", "serviceAccount": "runner", **own, "template": template}
    spec = {
        "type": "Python",
        "mode": "cluster",
        "sparkVersion": "3.5.3",
        "image": "spark:1",
        "mainApplicationFile": "local:///app/a.py",
        "volumes": VOLUMES,
        "driver": {**pod, "gpu": {"name": "nvidia.com/gpu", "quantity": 1}},
        "executor": {**pod, "instances": 2},
    }
    found = []
    for part in ("driver", "executor"):
        path = ("spec", *above, part)
        found.append(Pods(".".join(path), path, path, path, is_pod_spec=False))
        found.append(_standard((*path, "template", "spec"), (*path, "template", "metadata")))
    return spec, tuple(found)


def _scheduled_spark() -> tuple[Object, tuple[Pods, ...]]:
    """An application that runs by a schedule."""
    spec, pods = _spark("template")
    return {"schedule": "@daily", "concurrencyPolicy": "Forbid", "template": spec}, pods


def _inference_service() -> tuple[Object, tuple[Pods, ...]]:
    """A predictor with a model and a container, and a transformer with a container."""
    own = {**METADATA, "serviceAccountName": "runner", "volumes": VOLUMES, "minReplicas": 1, "maxReplicas": 1}
    model = {key: value for key, value in CONTAINER.items() if key != "name"}
    served = {"modelFormat": {"name": "sklearn"}, "storageUri": "pvc://data/model", **model}
    spec = {
        "predictor": {**own, "model": served},
        "transformer": {**own, "containers": [CONTAINER]},
        "explainer": {**own, "containers": [CONTAINER]},
    }
    containers: dict[str, KeyPath] = {
        "predictor": ("model",),
        "transformer": ("containers", 0),
        "explainer": ("containers", 0),
    }
    found = []
    for part, container in containers.items():
        path = ("spec", part)
        found.append(Pods(f"spec.{part}", path, path, (*path, *container), is_pod_spec=False))
    return spec, tuple(found)


def _dynamo() -> tuple[Object, tuple[Pods, ...]]:
    """A service in Dynamo's own words, and a component with a pod template."""
    service = {
        "replicas": 1,
        "resources": {"limits": {"gpu": "1", "cpu": "4", "memory": "8Gi"}},
        "extraPodMetadata": METADATA,
        "extraPodSpec": {"serviceAccountName": "runner", "volumes": VOLUMES, "mainContainer": CONTAINER},
    }
    spec = {
        "services": {"Decode": service},
        "components": [{"name": "Frontend", "replicas": 1, "podTemplate": {"metadata": METADATA, "spec": SPEC}}],
    }
    path: KeyPath = ("spec", "services", "Decode")
    extra = (*path, "extraPodSpec")
    own = Pods(
        ".".join(map(str, extra)), (*path, "extraPodMetadata"), extra, (*extra, "mainContainer"), is_pod_spec=False
    )
    below: KeyPath = ("spec", "components", 0, "podTemplate")
    return spec, (own, _standard((*below, "spec"), (*below, "metadata")))


def _train_job() -> tuple[Object, tuple[Pods, ...]]:
    """The trainer's fields. Its runtime has the pod template."""
    resources = copy.deepcopy(CONTAINER["resources"])
    trainer = {"image": "trainer:1", "env": CONTAINER["env"], "numNodes": 2, "resourcesPerNode": resources}
    path = ("spec", "trainer")
    own = Pods("spec.trainer", None, None, path, is_pod_spec=False)
    return {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer}, (own,)


_IN_OWN_WORDS: dict[str, Callable[[], tuple[Object, tuple[Pods, ...]]]] = {
    "Workflow.argoproj.io": _argo(("spec",)),
    "CronWorkflow": _argo(("spec", "workflowSpec")),
    "SparkApplication": _spark,
    "ScheduledSparkApplication": _scheduled_spark,
    "InferenceService": _inference_service,
    "DynamoGraphDeployment": _dynamo,
    "TrainJob": _train_job,
}
"""The spec of each kind that has fields of its own in place of a pod template, with the places of its pods."""


def _declared() -> Example:
    """A kind that the Config declares."""
    row = {
        "apiVersion": "ml.example.com/v1",
        "kind": "Training",
        "pods": [{"template": "spec.roles[].template", "replicas": "spec.roles[].replicas"}],
        "podGroups": "one",
        "minimum": "all",
    }
    document = {
        "apiVersion": "ml.example.com/v1",
        "kind": "Training",
        "metadata": {"name": NAME, "labels": dict(_POOL)},
        "spec": {"roles": [{"name": "main", "replicas": 2, "template": {"spec": {}}}]},
    }
    return Example("of spec.kinds", document, config={"kinds": [row]})


def _karta() -> Example:
    """A kind that a Karta describes."""
    kind = {"group": "ml.example.com", "version": "v1", "kind": "Tuning"}
    worker = {
        "name": "worker",
        "ownerRef": "tuning",
        "specDefinition": {"podTemplateSpecPath": ".spec.worker.template"},
        "scaleDefinition": {"replicasPath": ".spec.worker.replicas"},
        "podSelector": {"componentTypeSelector": {"keyPath": ".metadata.labels.role", "value": "worker"}},
    }
    root = {"name": "tuning", "kind": kind, "statusDefinition": {"statusMappings": {}}}
    groups = {"podGroup": {"name": "x", "subGroups": [{"componentName": "worker"}]}}
    karta = {
        "apiVersion": "run.ai/v1alpha1",
        "kind": "Karta",
        "metadata": {"name": "tuning", "labels": {f"run.ai/karta-{key}": value for key, value in kind.items()}},
        "spec": {
            "structureDefinition": {"rootComponent": root, "childComponents": [worker]},
            "optimizationInstructions": {"gangScheduling": groups},
        },
    }
    document = {
        "apiVersion": "ml.example.com/v1",
        "kind": "Tuning",
        "metadata": {"name": NAME, "labels": dict(_POOL)},
        "spec": {"worker": {"replicas": 2, "template": {"spec": {}}}},
    }
    return Example("of a Karta", document, shared=(karta,))


def _clique_set() -> Example:
    document = _golden("podcliqueset")
    document["metadata"] = {"name": NAME, "labels": dict(_POOL)}
    template = document["spec"]["template"]
    (clique,), (group,) = template["cliques"], template["podCliqueScalingGroups"]
    for part in (template, clique, group):
        part.pop("topologyConstraint")
    del template["clusterTopologyName"], template["priorityClassName"]
    path: KeyPath = ("spec", "template", "cliques", 0)
    _put(document, path, {**clique, **copy.deepcopy(METADATA)})
    _put(document, (*path, "spec", "podSpec"), _pod_spec("PodCliqueSet"))
    spec = (*path, "spec", "podSpec")
    return Example("PodCliqueSet", document, (replace(_standard(spec, path)),))


def _pod_group() -> Example:
    """A Pod of a PodGroup."""
    metadata = {"name": NAME, "labels": {"app": "x"}, "annotations": {"pod-group-name": NAME}}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _pod_spec("Pod")}
    group = _golden("podgroup")
    group["metadata"] = {"name": NAME, "namespace": "ml"}
    group["spec"] = {"queue": "osmo-pool-ml-team--shared", "minMember": 1}
    return Example("PodGroup", document, (_standard(("spec",), ("metadata",)),), beside=(group,))


def _workflow() -> Example:
    """A task of an OSMO workflow."""
    task = {"name": "one", "image": "trainer:1", "environment": {"MODE": "fast"}, "command": ["run"]}
    document = {
        "version": 2,
        "workflow": {"name": NAME, "pool": "team", "tasks": [task]},
        "resources": {"default": {"gpu": 1, "cpu": 4, "memory": "8Gi"}},
    }
    path: KeyPath = ("workflow", "tasks", 0)
    return Example("Workflow", document, (Pods("workflow.tasks.0", None, None, None, task=path),))


def _pod_template() -> Example:
    """The template of a pool for the pods of OSMO tasks."""
    document = _golden("podtemplate")
    document["metadata"] = {"name": NAME}
    spec: Object = copy.deepcopy(SPEC)
    spec["containers"][0]["name"] = "{{USER_CONTAINER_NAME}}"
    document["template"] = {"metadata": METADATA, "spec": spec}
    del spec["containers"][0]["image"], spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]
    path: KeyPath = ("template",)
    own = _standard((*path, "spec"), (*path, "metadata"))
    pool_fields = f"  common_pod_template: [{NAME}]\n"
    return Example(
        "PodTemplate", document, (own,), shared=(_workflow().document,), pool=pool_fields, path="pools/work.yaml"
    )
