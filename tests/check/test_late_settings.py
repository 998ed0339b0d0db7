"""Tests that pods get no devices, no time and no place that only somebody who makes or starts them reads: options for
Java, the text of annotations, runtimes and plugins of operators.
"""

from __future__ import annotations

import pytest

from tests.support.judged import told_of

META = "metadata: {name: x, labels: {kubectl-tas/pool: team, kubectl-tas/priority: LOW}}\n"
SPARK = f"""apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
{META}spec:
  type: Scala
  mode: cluster
  image: "apache/spark:3.5.0"
  sparkVersion: 3.5.0
  mainClass: x
  mainApplicationFile: local:///x.jar
"""
JOB = f"apiVersion: batch/v1\nkind: Job\n{META}spec:\n  template:\n    metadata: {{}}\n    spec:\n"
JOB += "      restartPolicy: Never\n"
GPU = "resources: {limits: {nvidia.com/gpu: 1}}"
CONTAINERS = f"      containers: [{{name: main, image: 'trainer:1', {GPU}}}]\n"


def spark(driver: str = "", executor: str = "", more: str = "") -> str:
    """A SparkApplication with further fields of its driver, of its executor, and of the whole."""
    pods = f"  driver: {{cores: 1, memory: 1g{driver}}}\n  executor: {{cores: 1, memory: 1g, instances: 1{executor}}}\n"
    return SPARK + pods + more


def job(metadata: str = "", pods: str = CONTAINERS) -> str:
    return JOB.replace("metadata: {}", f"metadata: {{{metadata}}}") + pods


def containers(*fields: str, runtime: str = "nvidia", more: str = "") -> str:
    """The fields of a pod with these containers."""
    listed = ", ".join(f"{{name: c{number}, image: 'cuda:1', {each}}}" for number, each in enumerate(fields))
    return f"      runtimeClassName: {runtime}\n      containers: [{listed}]\n{more}"


def work(api: str, kind: str, spec: str) -> str:
    return f"apiVersion: {api}\nkind: {kind}\n{META}spec: {spec}\n"


def served(field: str) -> str:
    model = f"{{modelFormat: {{name: huggingface}}, {GPU}}}"
    return work(
        "serving.kserve.io/v1beta1", "InferenceService", f"{{predictor: {{maxReplicas: 1, {field}, model: {model}}}}}"
    )


def trained(runtime: str, more: str = "") -> str:
    return work("trainer.kubeflow.org/v1alpha1", "TrainJob", f"{{runtimeRef: {{{runtime}}}{more}}}")


def ray_service(delay: int) -> str:
    head = f"{{headGroupSpec: {{template: {{spec: {{containers: [{{name: head, image: 'ray:1', {GPU}}}]}}}}}}}}"
    return work("ray.io/v1", "RayService", f"{{rayClusterDeletionDelaySeconds: {delay}, rayClusterConfig: {head}}}")


def config_map(data: str, metadata: str = "") -> str:
    return f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: more{metadata}}}\ndata: {{{data}}}\n"


SEEN = '"-Dspark.executorEnv.NVIDIA_VISIBLE_DEVICES=all"'
MORE = '"-Dspark.dynamicAllocation.minExecutors=64"'
CASES: dict[str, tuple[str, str]] = {
    **{
        f"{name}={option} in {field}": (spark(f", {field.format(name, option)}"), rule)
        for name in ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
        for field in ("envVars: {{{}: {}}}", "env: [{{name: {}, value: {}}}]")
        for option, rule in ((SEEN, "gpu-bypass"), (MORE, "quota-bypass"))
    },
    "options that mount a device": (
        spark(
            ", envVars: {SPARK_SUBMIT_OPTS: "
            '"-Dspark.kubernetes.executor.volumes.hostPath.d.mount.path=/var/run/nvidia-container-devices/all"}'
        ),
        "gpu-bypass",
    ),
    "options in a Secret": (
        spark(", envSecretKeyRefs: {JAVA_TOOL_OPTIONS: {name: s, key: k}}"),
        "quota-bypass",
    ),
    "options in a ConfigMap": (
        spark(", envFrom: [{configMapRef: {name: more}}]", more=config_map(f"JAVA_TOOL_OPTIONS: {SEEN}")),
        "gpu-bypass",
    ),
    "options with quotes": (spark(""", javaOptions: '-D"spark.dynamicAllocation.enabled=true"'"""), "quota-bypass"),
    "options with a backslash": (spark(r", javaOptions: '-Dspark.dynamic\Allocation.enabled=true'"), "quota-bypass"),
    "options in a file": (spark(', javaOptions: "-XX:VMOptionsFile=/cm/o"'), "quota-bypass"),
    "options in an argument file": (spark(", envVars: {JDK_JAVA_OPTIONS: '@/cm/o'}"), "quota-bypass"),
    "settings in a ConfigMap": (spark(more="  sparkConfigMap: more\n"), "quota-bypass"),
    "executors of a stream": (
        spark(more='  sparkConf: {spark.streaming.dynamicAllocation.enabled: "true"}\n'),
        "quota-bypass",
    ),
    "a label of KAI's own pods, by Spark": (
        spark(more="  sparkConf: {spark.kubernetes.executor.label.app: kai-resource-reservation}\n"),
        "quota-bypass",
    ),
    "a label of KAI's own pods": (
        job("labels: {app: kai-resource-reservation}"),
        "key-reserved",
    ),
    "a long end of executors": (spark("", ", terminationGracePeriodSeconds: 86400"), "eviction-slow"),
    "a long end of a service": (served("terminationGracePeriodSeconds: 86400"), "eviction-slow"),
    "a proxy with a variable": (
        job("annotations: {proxy.istio.io/config: 'proxyMetadata: {NVIDIA_VISIBLE_DEVICES: all}'}"),
        "gpu-bypass",
    ),
    "an agent with a GPU": (
        job("annotations: {vault.hashicorp.com/agent-json-patch: '[{path: /resources/limits/nvidia.com~1gpu}]'}"),
        "gpu-bypass",
    ),
    "a part of a GPU, for the first container alone": (
        job("annotations: {gpu-fraction: '0.5'}", containers("command: [a]", "command: [b]")),
        "gpu-visible",
    ),
    "no GPU, in other words": (job(pods=containers("resources: {limits: {nvidia.com/gpu: '00'}}")), "gpu-visible"),
    "a claim of no GPU": (
        job(
            pods=containers(
                "resources: {claims: [{name: channel}]}",
                more="      resourceClaims: [{name: channel, resourceClaimTemplateName: channel}]\n",
            )
        )
        + "---\napiVersion: resource.nvidia.com/v1beta1\nkind: ComputeDomain\nmetadata: {name: domain}\n"
        "spec: {numNodes: 1, channel: {resourceClaimTemplate: {name: channel}}}\n",
        "gpu-visible",
    ),
    "CUDA's version in a ConfigMap": (
        job(pods=containers("envFrom: [{prefix: CUDA_, configMapRef: {name: more}}]", runtime="runc"))
        + config_map("VERSION: '12'"),
        "gpu-visible",
    ),
    "a privileged container": (
        job(pods=containers("securityContext: {privileged: true}", runtime="runc")),
        "privileged-task",
    ),
    "privileged executors": (spark("", ", securityContext: {privileged: true}"), "privileged-task"),
    "a plugin of Argo": (
        job()
        + config_map(
            "sidecar.container: '{name: p}'", ", labels: {workflows.argoproj.io/configmap-type: ExecutorPlugin}"
        ),
        "quota-bypass",
    ),
    "a runtime with GPUs": (trained("name: torchtune-llama3.2-1b"), "gpus-unknown"),
    "a runtime of the namespace": (
        trained("name: torch-distributed, kind: TrainingRuntime"),
        "gpus-unknown",
    ),
    "clusters that stay": (ray_service(31536000), "growth-uncounted"),
}
FINE: dict[str, tuple[str, str]] = {
    "options of Java": (spark(", javaOptions: '-Xmx1g -Dlog=a'"), "bypass"),
    "options of Java in another kind": (
        job(pods=containers("env: [{name: JAVA_TOOL_OPTIONS, value: '@/a'}]")),
        "bypass",
    ),
    "an application of that name": (
        job("labels: {app: resource-reservation}"),
        "key-reserved",
    ),
    "a probe with a period of its own": (
        served("livenessProbe: {terminationGracePeriodSeconds: 86400}"),
        "eviction-slow",
    ),
    "a runtime without GPUs": (trained("name: torch-distributed"), "gpus-unknown"),
    "a runtime whose GPUs are written": (
        trained("name: mine", ", trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 1}}}"),
        "gpus-unknown: the pods",
    ),
    "clusters that go": (ray_service(60), "growth-uncounted"),
}


@pytest.mark.parametrize(("text", "rule"), CASES.values(), ids=CASES)
def test_found(text: str, rule: str) -> None:
    assert any(f" {rule}: " in line for line in told_of(text)), told_of(text)


@pytest.mark.parametrize(("text", "rule"), FINE.values(), ids=FINE)
def test_not_found(text: str, rule: str) -> None:
    assert [line for line in told_of(text) if rule in line] == []


@pytest.mark.parametrize(("note", "seeing"), [("", "c1"), (", gpu-fraction-container-name: c1", "c0")])
def test_the_container_with_the_part_of_a_gpu(note: str, seeing: str) -> None:
    annotations = f"annotations: {{gpu-fraction: '0.5'{note}}}"
    found = told_of(job(annotations, containers("command: [a]", "command: [b]")))
    assert [line.partition("container ")[2][:2] for line in found if " gpu-visible: " in line] == [seeing]
