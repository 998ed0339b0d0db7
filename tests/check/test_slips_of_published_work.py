"""Tests slips and false alarms that documents of public repositories have shown."""

from __future__ import annotations

import pytest

from tests.support.judged import told_of
from tests.support.workloads import LEVELS

POOL = "labels: {kubectl-tas/pool: team}"


def codes(text: str, spec: str = "") -> list[str]:
    return [line.partition(" ")[2].partition(":")[0] for line in told_of(text, spec)]


def pods(volume: str) -> str:
    mounts = f"volumeMounts: [{{name: {volume}, mountPath: /etc/x}}]"
    return f"{{spec: {{containers: [{{name: c, image: a, {mounts}}}]}}}}"


def mpi(volume: str) -> str:
    plain = "{spec: {containers: [{name: w, image: a}]}}"
    types = f"Launcher: {{replicas: 1, template: {pods(volume)}}}, Worker: {{replicas: 1, template: {plain}}}"
    return f"kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {{name: j, {POOL}}}\nspec: {{mpiReplicaSpecs: {{{types}}}}}"


def ray(volume: str) -> str:
    head = f"headGroupSpec: {{rayStartParams: {{}}, template: {pods(volume)}}}"
    return f"ray.io/v1\nkind: RayCluster\nmetadata: {{name: j, {POOL}}}\nspec: {{{head}}}"


def volcano(volume: str) -> str:
    task = f"{{name: a, replicas: 1, template: {pods(volume)}}}"
    head = f"batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: j, {POOL}}}"
    return f"{head}\nspec: {{plugins: {{svc: []}}, tasks: [{task}]}}"


@pytest.mark.parametrize(
    ("made", "volume"),
    [(mpi, "mpi-job-config"), (mpi, "ssh-auth"), (ray, "shared-mem"), (ray, "ray-logs"), (volcano, "j-svc")],
)
def test_volumes_that_an_operator_adds(made: object, volume: str) -> None:
    assert callable(made)
    assert "volume-unknown" not in codes(f"apiVersion: {made(volume)}\n")
    assert "volume-unknown" in codes(f"apiVersion: {made('another')}\n")


def argo(template: str) -> str:
    head = f"apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {{name: w, {POOL}}}\n"
    arguments = "arguments: {parameters: [{name: v, value: a}]}"
    return f"{head}spec: {{entrypoint: t, {arguments}, templates: [{{name: t, {template}}}]}}\n"


VALUE = '"{{inputs.parameters.v}}"'
TERMS = f"matchExpressions: [{{key: a, operator: In, values: [{VALUE}]}}]"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    "template",
    [
        f"container: {{image: {VALUE}}}",
        f"container: {{image: a}}, volumes: [{{name: {VALUE}, emptyDir: {{}}}}]",
        f"container: {{image: a}}, nodeSelector: {{a: {VALUE}}}",
        f"container: {{image: a, workingDir: {VALUE}}}",
        f"container: {{image: a}}, affinity: {{nodeAffinity: {{{REQUIRED}: {{nodeSelectorTerms: [{{{TERMS}}}]}}}}}}",
        f"container: {{image: a}}, tolerations: [{{key: a, operator: Equal, value: {VALUE}}}]",
    ],
)
def test_parameters_of_argo_have_no_format(template: str) -> None:
    assert "invalid-value" not in codes(argo(template))
    assert "invalid-value" in codes(argo(template.replace(VALUE, '"a b,"')))


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("nvidia.com/gpu.memory", "8000Mi", 'Write gpu-memory: "8000", a number of MiB.'),
        ("nvidia.com/gpu-memory", "8Gi", 'Write gpu-memory: "8192", a number of MiB.'),
        ("kai.scheduler/gpu-fraction", "0.5", 'Write gpu-fraction: "0.5".'),
        ("run.ai/gpu_fraction", "0.5", 'Write gpu-fraction: "0.5".'),
    ],
)
def test_a_part_of_a_gpu_by_another_name(key: str, value: str, hint: str) -> None:
    def pod(note: str) -> str:
        metadata = f"{{name: p, {POOL}, annotations: {{{note}}}}}"
        return f"apiVersion: v1\nkind: Pod\nmetadata: {metadata}\nspec: {{containers: [{{name: c, image: a}}]}}\n"

    (line,) = told_of(pod(f'{key}: "{value}"'))
    assert line.endswith(f"nothing reads {key}, so these pods get no part of a GPU by it ({hint})")
    assert "key-unknown" not in codes(pod(hint.removeprefix("Write ").removesuffix(".").partition(",")[0]))


LABEL = "topology.kubernetes.io/racks"
TERM = f"{{labelSelector: {{matchLabels: {{a: b}}}}, topologyKey: {LABEL}}}"
SPREAD = (
    f"{{maxSkew: 1, topologyKey: {LABEL}, whenUnsatisfiable: DoNotSchedule, labelSelector: {{matchLabels: {{a: b}}}}}}"
)
NODES = f"nodeSelectorTerms: [{{matchExpressions: [{{key: {LABEL}, operator: Exists}}]}}]"


@pytest.mark.parametrize(
    "fields",
    [
        f"affinity: {{podAffinity: {{{REQUIRED}: [{TERM}]}}}}",
        f"affinity: {{podAntiAffinity: {{{REQUIRED}: [{TERM}]}}}}",
        f"affinity: {{nodeAffinity: {{{REQUIRED}: {{{NODES}}}}}}}",
        f"topologySpreadConstraints: [{SPREAD}]",
        f"nodeSelector: {{{LABEL}: r1}}",
    ],
)
def test_a_node_label_that_misspells_a_level(fields: str) -> None:
    head = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p, {POOL}}}\n"
    text = f"{head}spec: {{{fields}, containers: [{{name: c, image: a}}]}}\n"
    (line,) = told_of(text, LEVELS)
    assert line.partition(" ")[2] == (
        f'node-label: no node has the label "{LABEL}"; a level of pool team has "{LABEL[:-1]}" '
        f'(Did you mean "{LABEL[:-1]}"?)'
    )
    assert told_of(text.replace(LABEL, LABEL[:-1]), LEVELS) == []
    assert told_of(text.replace(LABEL, "example.com/racks"), LEVELS) == []
