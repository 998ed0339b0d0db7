"""Tests containers that take GPUs past the scheduler, by each method that the container runtime knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.check.test_backdoors import JOB, MARK, SET, TORCH, assert_found, put, validated
from tests.support.cli import kubectl_tas, pool, write
from tests.support.judged import told_of
from tests.support.pyyaml import safe_load
from tests.support.workloads import Object, deployment, template, workload

NAME = "NVIDIA_VISIBLE_DEVICES"
CONTAINER = "spec template spec containers 0"


def env(value: Any, key: str = "value") -> list[Object]:
    return [{"name": "A", "value": "b"}, {"name": NAME, key: value}]


def cron() -> Object:
    job = {"spec": {"template": template()}}
    return workload("batch/v1", "CronJob", "c", None, {"schedule": "0 3 * * *", "jobTemplate": job})


KINDS = {
    "job": (JOB, CONTAINER),
    "deployment": (deployment("d"), CONTAINER),
    "pytorchjob": (TORCH, "spec pytorchReplicaSpecs Worker template spec containers 0"),
    "cronjob": (cron(), "spec jobTemplate spec template spec containers 0"),
    "podcliqueset": (SET, "spec template cliques 1 spec podSpec containers 0"),
}


@pytest.mark.parametrize(
    "value", ["all", "0", "GPU-5e3f,GPU-77aa", "none,all", "$(OTHER)", "runtime.nvidia.com/gpu=all"]
)
def test_a_variable_that_shows_gpus_is_an_error(repository: Path, value: str) -> None:
    item = put(put(JOB, f"{CONTAINER} resources", {}), f"{CONTAINER} env", env(value))
    assert_found(*validated(repository, item), f"value: {yaml.safe_dump(value).splitlines()[0]}", "gpu-bypass", "sees")


@pytest.mark.parametrize("value", ["", "void", "none", " ", "void,none"])
def test_a_variable_that_hides_gpus_is_none(repository: Path, value: str) -> None:
    assert "gpu-bypass" not in validated(repository, put(JOB, f"{CONTAINER} env", env(value)))[0].out


@pytest.mark.parametrize("kind", KINDS)
def test_in_workloads_of_each_kind(repository: Path, kind: str) -> None:
    item, path = KINDS[kind]
    assert_found(*validated(repository, put(item, f"{path} env", env("all"))), "value: all", "gpu-bypass")


def test_in_an_init_container(repository: Path) -> None:
    init = [{"name": "i", "image": "busybox", "env": env("all")}]
    item = put(JOB, "spec template spec initContainers", init)
    assert_found(*validated(repository, item), "value: all", "gpu-bypass")


def test_a_variable_from_elsewhere(repository: Path) -> None:
    source = {"configMapKeyRef": {"name": "devices", "key": "which"}}
    item = put(JOB, f"{CONTAINER} env", env(source, "valueFrom"))
    assert_found(*validated(repository, item), "valueFrom", "gpu-bypass", "comes from elsewhere")


@pytest.mark.parametrize(("prefix", "key"), [("", NAME), ("NVIDIA_", "VISIBLE_DEVICES")])
def test_a_variable_of_a_config_map_of_the_repository(repository: Path, prefix: str, key: str) -> None:
    source = {"prefix": prefix, "configMapRef": {"name": "settings"}}
    item = put(JOB, f"{CONTAINER} envFrom", [{"configMapRef": {"name": "other"}}, source])
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {key: "all"}}
    result, text = validated(repository, item, settings)
    assert_found(result, text, "  - prefix" if prefix else "prefix: ''", "gpu-bypass", '"all"')
    hidden = put(item, f"{CONTAINER} env", env("void"))
    assert "gpu-bypass" not in validated(repository, hidden, settings)[0].out


@pytest.mark.parametrize(
    "note",
    ["cdi.k8s.io/gpus", "cdi.k8s.io/nvidia_all", "nvidia.cdi.k8s.io/container.main", "nvidia.cdi.k8s.io",
     "cdi-devices.nri.io/pod", "devices.noderesource.dev/container.main"],
)  # fmt: skip
def test_an_annotation(repository: Path, note: str) -> None:
    item = put(JOB, "spec template metadata", {"annotations": {note: f"nvidia.com/gpu={MARK}"}})
    assert_found(*validated(repository, item), MARK, "gpu-bypass", note)


def test_a_mount(repository: Path) -> None:
    spec = {**JOB["spec"]["template"]["spec"], "volumes": [{"name": "n", "hostPath": {"path": "/dev/null"}}]}
    item = put(JOB, "spec template spec", spec)
    mounts = [{"name": "n", "mountPath": "/var/run/nvidia-container-devices/all"}]
    assert_found(*validated(repository, put(item, f"{CONTAINER} volumeMounts", mounts)), "mountPath", "gpu-bypass")


@pytest.mark.parametrize(
    "path",
    [
        "/var//run/nvidia-container-devices/all", "/var/./run/nvidia-container-devices/0",
        "var/run/nvidia-container-devices", "/data/../var/run/nvidia-container-devices/all",
        "//var/run/nvidia-container-devices/cdi/nvidia.com/gpu/all",
    ],
)  # fmt: skip
def test_a_mount_as_the_runtime_cleans_it(repository: Path, path: str) -> None:
    item = put(JOB, f"{CONTAINER} volumeMounts", [{"name": "n", "mountPath": path}])
    item = put(item, "spec template spec volumes", [{"name": "n", "hostPath": {"path": "/dev/null"}}])
    assert_found(*validated(repository, item), "mountPath", "gpu-bypass", path)


@pytest.mark.parametrize("path", ["/var/run/nvidia", "/data/../models", "/opt/var/run/nvidia-container-devices", "/x"])
def test_other_mounts(repository: Path, path: str) -> None:
    item = put(JOB, f"{CONTAINER} volumeMounts", [{"name": "n", "mountPath": path}])
    item = put(item, "spec template spec volumes", [{"name": "n", "emptyDir": {}}])
    assert validated(repository, item)[0].code == 0


@pytest.mark.parametrize(
    ("name", "value", "maker"),
    [
        ("AMD_VISIBLE_DEVICES", "all", "AMD"),
        ("DOCKER_RESOURCE_GPU", "0", "AMD"),
        ("HABANA_VISIBLE_DEVICES", "void", "Habana"),
        ("HABANA_VISIBLE_DEVICES_2", "0", "Habana"),
        ("ASCEND_VISIBLE_DEVICES", "Ascend910-0", "Huawei"),
        ("IX_VISIBLE_DEVICES", "0", "Iluvatar"),
        ("AWS_NEURON_VISIBLE_DEVICES", "ALL", "AWS"),
        ("MTHREADS_VISIBLE_DEVICES", "all", "Moore Threads"),
    ],
)
def test_variables_of_other_makers(repository: Path, name: str, value: str, maker: str) -> None:
    item = put(JOB, f"{CONTAINER} env", [{"name": name, "value": value}])
    written = yaml.safe_dump(value).splitlines()[0]
    assert_found(*validated(repository, item), f"value: {written}", "gpu-bypass", f"{maker}'s devices")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AMD_VISIBLE_DEVICES", "none"), ("HABANA_VISIBLE_DEVICES", "none"), ("ASCEND_VISIBLE_DEVICES", "void"),
        ("CUDA_VISIBLE_DEVICES", "0"), ("ROCR_VISIBLE_DEVICES", "0"), ("ASCEND_RT_VISIBLE_DEVICES", "0"),
        ("NEURON_RT_VISIBLE_CORES", "0"), ("NVIDIA_DRIVER_CAPABILITIES", "all"),
    ],
)  # fmt: skip
def test_variables_that_give_no_devices(repository: Path, name: str, value: str) -> None:
    assert validated(repository, put(JOB, f"{CONTAINER} env", [{"name": name, "value": value}]))[0].code == 0


def test_a_prefix_that_a_runtime_knows(repository: Path) -> None:
    source = {"prefix": "HABANA_VISIBLE_DEVICES_", "secretRef": {"name": "s"}}
    item = put(JOB, f"{CONTAINER} envFrom", [source])
    assert_found(*validated(repository, item), "prefix", "gpu-bypass", "comes from elsewhere")


RUNTIME = put(put(JOB, "spec template spec runtimeClassName", "nvidia"), f"{CONTAINER} resources", {})


@pytest.mark.parametrize(
    ("path", "value", "is_seen"),
    [
        ("spec template spec hostNetwork", False, True),
        (f"{CONTAINER} resources", {"limits": {"nvidia.com/gpu": 0}}, True),
        (f"{CONTAINER} resources", {"limits": {"nvidia.com/gpu": 1}}, False),
        (f"{CONTAINER} resources", {"claims": [{"name": "gpu"}]}, False),
        (f"{CONTAINER} env", [{"name": NAME, "value": "void"}], False),
        (f"{CONTAINER} image", "busybox:1.37", False),
        (f"{CONTAINER} image", "ghcr.io/example/busybox", True),
        ("spec template metadata", {"annotations": {"gpu-fraction": "0.5"}}, False),
        ("spec template spec runtimeClassName", "runc", False),
        ("spec template spec runtimeClassName", "nvidia-cdi", True),
        ("spec template spec initContainers", [{"name": "i", "image": "busybox"}], True),
    ],
)
def test_a_container_without_gpus_in_the_runtime_of_nvidia(
    repository: Path, path: str, value: Any, *, is_seen: bool
) -> None:
    assert ("[gpu-visible]" in validated(repository, put(RUNTIME, path, value))[0].out) == is_seen


def test_runtimes_of_pods_without_a_list_of_containers() -> None:
    head = "metadata: {name: a, labels: {kubectl-tas/pool: team}}\n"
    model = "{modelFormat: {name: a}RESOURCES}"
    service = (
        f"apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\n{head}"
        f"spec: {{predictor: {{minReplicas: 1, maxReplicas: 1, runtimeClassName: nvidia, model: {model}}}}}\n"
    )
    graph = (
        f"apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\n{head}"
        "spec: {services: {a: {replicas: 1, extraPodSpec: {runtimeClassName: nvidia}RESOURCES}}}\n"
    )
    for text, asked in ((service, "nvidia.com/gpu: 1"), (graph, "gpu: 1")):
        assert "gpu-visible" in "".join(told_of(text.replace("RESOURCES", "")))
        resources = f", resources: {{limits: {{{asked}}}}}"
        assert "gpu-visible" not in "".join(told_of(text.replace("RESOURCES", resources)))


@pytest.mark.parametrize(
    ("variables", "resources", "is_seen"),
    [
        ("{name: CUDA_VERSION, value: '12.4'}", "", True),
        ("{name: CUDA_VERSION, value: ''}", "", False),
        ("{name: CUDA_VERSION, value: '12.4'}, {name: NVIDIA_VISIBLE_DEVICES, value: void}", "", False),
        ("{name: CUDA_VERSION, value: '12.4'}", ", resources: {limits: {nvidia.com/gpu: 1}}", False),
    ],
)
def test_a_variable_that_makes_an_image_one_of_cuda(variables: str, resources: str, *, is_seen: bool) -> None:
    pods = f"{{restartPolicy: Never, containers: [{{name: m, image: i, env: [{variables}]{resources}}}]}}"
    text = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: {kubectl-tas/pool: team}}\n"
        f"spec: {{template: {{spec: {pods}}}}}\n"
    )
    assert ("gpu-visible" in "".join(told_of(text))) == is_seen


SPARK = """apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: a, labels: {kubectl-tas/pool: team}}
spec:
  {type: Scala, mode: cluster, image: i, sparkVersion: 3.5.0, mainClass: x, mainApplicationFile: FILE, SPEC
  driver: {cores: 1, memory: 1g DRIVER}, executor: {cores: 1, memory: 1g, instances: 1 EXECUTOR}}
"""


def spark(spec: str = "", driver: str = "", executor: str = "", file: str = "local:///x.jar") -> str:
    words = {"SPEC": spec and f"{spec},", "DRIVER": driver, "EXECUTOR": executor, "FILE": file}
    text = SPARK
    for word, given in words.items():
        text = text.replace(word, given)
    return " ".join(told_of(text))


@pytest.mark.parametrize(
    ("setting", "rule"),
    [
        (f"spark.executorEnv.{NAME}: all", "gpu-bypass"),
        (f"spark.kubernetes.driverEnv.{NAME}: all", "gpu-bypass"),
        (f"spark.kubernetes.driver.secretKeyRef.{NAME}: 'secret:key'", "gpu-bypass"),
        (f"'spark.executorEnv.{NAME}=all,': x", "gpu-bypass"),
        ("spark.kubernetes.executor.annotation.cdi.k8s.io/x: a", "gpu-bypass"),
        ("spark.kubernetes.executor.annotation.nvidia.com/mig-1g.5gb: '1'", "quota-bypass"),
        ("spark.kubernetes.driver.volumes.hostPath.a.mount.path: /var/run/nvidia-container-devices/all", "gpu-bypass"),
        ("spark.kubernetes.driver.secrets.a: /var//run/nvidia-container-devices/all", "gpu-bypass"),
        (f"spark.driver.extraJavaOptions: -Dspark.executorEnv.{NAME}=all", "gpu-bypass"),
        ("spark.kubernetes.namespace: other", "quota-bypass"),
        ("spark.kubernetes.executor.pod.featureSteps: com.example.Step", "quota-bypass"),
        (f"spark.executorEnv.{NAME}: void", ""),
        ("spark.kubernetes.driver.annotation.prometheus.io/scrape: 'true'", ""),
        ("spark.kubernetes.driver.volumes.hostPath.a.mount.path: /data", ""),
    ],
)
def test_settings_of_spark(setting: str, rule: str) -> None:
    told = spark(f"sparkConf: {{{setting}}}")
    assert rule in told if rule else told == ""


@pytest.mark.parametrize(
    ("driver", "rule"),
    [
        (f", envVars: {{{NAME}: all}}", "gpu-bypass"),
        (f", envVars: {{'{NAME}=all,': x}}", "gpu-bypass"),
        (f", envSecretKeyRefs: {{{NAME}: {{name: a, key: b}}}}", "gpu-bypass"),
        (f", javaOptions: '-Xss4m -D\"spark\".executorEnv.{NAME}=all'", "gpu-bypass"),
        (", javaOptions: -Dspark.kubernetes.executor.label.kai.scheduler/queue=x", "quota-bypass"),
        (", envVars: {API_TOKEN: correct-horse-battery}", "secret-in-clear"),
    ],
)
def test_variables_of_pods_of_spark(driver: str, rule: str) -> None:
    assert rule in spark(driver=driver)
    assert rule in spark(executor=driver)


def test_a_file_that_is_an_option() -> None:
    assert "mainApplicationFile: spark-submit reads it as an option" in spark(file="--conf")
    assert "quota-bypass" not in spark(file="local:///opt/a-b.jar")


def test_a_map_of_variables_of_a_declared_kind() -> None:
    text = (
        "apiVersion: ml.example.com/v1\nkind: Training\nmetadata: {name: a, labels: {kubectl-tas/pool: team}}\n"
        "spec: {environment: {NVIDIA_VISIBLE_DEVICES: all}, template: {spec: {containers: [{name: c, image: i}]}}}\n"
    )
    kinds = "[{apiVersion: ml.example.com/v1, kind: Training, pods: [{template: spec.template}]}]"
    assert "gpu-bypass" in "".join(told_of(text, kinds=kinds))


def workflow(task: str, gpu: int = 0) -> str:
    return f"""workflow:
  name: w
  pool: team
  tasks:
  - name: t
    image: busybox
{task}resources:
  default: {{cpu: 1, gpu: {gpu}}}
"""


@pytest.mark.parametrize(
    ("task", "line"),
    [
        ("    environment:\n      NVIDIA_VISIBLE_DEVICES: all\n", 8),
        ("    environment:\n      NVIDIA_VISIBLE_DEVICES: 0\n", 8),
        ("    credentials:\n      secret:\n        NVIDIA_VISIBLE_DEVICES: key\n", 9),
        ("    volumeMounts:\n    - /dev/null:/var/run/nvidia-container-devices/all\n", 8),
        ("    volumeMounts:\n    - /dev/null:/var//run/./nvidia-container-devices/all\n", 8),
        ("    environment:\n      AMD_VISIBLE_DEVICES: all\n", 8),
        ("    environment:\n      HABANA_VISIBLE_DEVICES: void\n", 8),
        ("    credentials:\n      secret:\n        ASCEND_VISIBLE_DEVICES: key\n", 9),
    ],
)
def test_in_a_task(repository: Path, task: str, line: int) -> None:
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": workflow(task)})
    result = kubectl_tas("validate", "-C", repository)
    assert f"workflows/w.yaml:{line}:" in result.out, result.out
    assert result.out.count("[gpu-bypass]") == 1, result.out


@pytest.mark.parametrize(
    ("task", "gpu", "found"),
    [
        ("", 0, [{"name": NAME}]),
        ("", 1, None),
        (f"    environment:\n      {NAME}: void\n", 0, [{"name": NAME, "value": "void"}]),
        ("    environment:\n      A: b\n", 0, [{"name": "A", "value": "b"}, {"name": NAME}]),
    ],
)
def test_a_task_without_gpus_sees_none(repository: Path, task: str, gpu: int, found: object) -> None:
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": workflow(task, gpu)})
    assert kubectl_tas("render", "-C", repository).code == 0
    (path,) = (repository / "manifests/workflows/w").glob("pod-*.yaml")
    assert safe_load(path.read_text())["spec"]["containers"][0].get("env") == found


@pytest.mark.parametrize("gpu", [0, 1])
def test_in_a_pod_template(repository: Path, gpu: int) -> None:
    template = f"""apiVersion: tas/v1alpha1
kind: PodTemplate
metadata: {{name: all}}
template:
  spec:
    containers:
    - name: "{{{{USER_CONTAINER_NAME}}}}"
      env:
      - name: {NAME}
        value: all
"""
    declared = pool().replace("spec:\n", "spec:\n  common_pod_template: [all]\n", 1)
    write(repository, {"pools/p.yaml": declared, "pools/t.yaml": template, "workflows/w.yaml": workflow("", gpu)})
    result = kubectl_tas("validate", "-C", repository)
    assert "pools/t.yaml:10:" in result.out, result.out
    assert "[gpu-bypass]" in result.out, result.out


@pytest.mark.parametrize(
    ("key", "prefix", "value", "is_seen"),
    [
        (NAME, "", "all", True),
        (NAME, "", "none", False),
        ("VISIBLE_DEVICES", "NVIDIA_", "all", True),
        ("VISIBLE_DEVICES", "", "all", False),
        ("VISIBLE_DEVICES", "AMDGPU_", "all", False),
        (NAME, "NVIDIA_", "all", False),
    ],
)
def test_a_variable_of_a_config_map_behind_a_prefix(key: str, prefix: str, value: str, is_seen: bool) -> None:
    source = f"{{configMapRef: {{name: c}}, prefix: '{prefix}'}}"
    pods = f"{{restartPolicy: Never, containers: [{{name: m, image: i, envFrom: [{source}]}}]}}"
    labels = "labels: {kubectl-tas/pool: team}"
    text = (
        f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a, {labels}}}\nspec: {{template: {{spec: {pods}}}}}\n"
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, {labels}}}\ndata: {{{key}: {value}}}\n"
    )
    seen = (
        'w.yaml:4:91 gpu-bypass: NVIDIA_VISIBLE_DEVICES is "all": the container sees GPUs that no queue is charged for '
        "(Remove it; a container that needs GPUs asks for them in its resources. To hide all GPUs, write void.)"
    )
    assert told_of(text) == ([seen] if is_seen else [])
