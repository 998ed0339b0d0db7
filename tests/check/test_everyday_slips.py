"""Tests slips that the API server takes and that people make every day: units, ports, architectures, octal modes."""

from __future__ import annotations

import pytest

from tests.support.cli import pool
from tests.support.judged import told, told_of

JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: w, labels: {kubectl-tas/pool: team}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: "a:1"RESOURCES}]
"""
SERVED = """apiVersion: apps/v1
kind: Deployment
metadata: {name: w, labels: {kubectl-tas/pool: team}}
spec:
  replicas: 2
  selector: {matchLabels: {app: w}}
  template:
    metadata: {labels: {app: w}}
    spec: {containers: [{name: a, image: "a:1", ports: [{name: http, containerPort: 8080, protocol: TCP}]}]}
---
"""
BUDGET = """apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: w}
spec: {minAvailable: NUMBER, selector: {matchLabels: {app: w}}}
"""
SERVICE = """apiVersion: v1
kind: Service
metadata: {name: w}
spec: {selector: {app: w}, ports: [PORT]}
"""
GROUP = """apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: w}
spec: {queue: QUEUE, minMember: 1, priorityClassName: osmo-normal}
"""


def below(pod: str, resources: str = "") -> str:
    return f"{JOB.replace('RESOURCES', resources)}      {pod}\n"


def volume(source: str) -> str:
    return below(f"volumes: [{{name: v, {source}}}]")


@pytest.mark.parametrize(
    ("text", "told_at_the_end"),
    [
        (below("nodeSelector: {kubernetes.io/arch: x86_64}"), "writes the names of Go there (Write amd64.)"),
        (below("nodeSelector: {kubernetes.io/arch: AArch64}"), "writes the names of Go there (Write arm64.)"),
        (below("nodeSelector: {kubernetes.io/arch: arm64}"), ""),
        (volume("emptyDir: {sizeLimit: 16}"), "is 16; the pod is evicted once it writes more (Write 16Gi or 16Mi.)"),
        (volume("emptyDir: {sizeLimit: 1k}"), "once it writes more (Write the amount that the program needs.)"),
        (volume("emptyDir: {sizeLimit: 16Mi}"), ""),
        (volume("configMap: {name: c, defaultMode: 400}"), "not 400 (Write 256, which is 400 in octal digits.)"),
        (volume('configMap: {name: c, defaultMode: "0400"}'), 'not "0400" (Write 0400, without quotes.)'),
        (volume("configMap: {name: c, defaultMode: 0400}"), ""),
        (volume("configMap: {name: c, defaultMode: 420}"), ""),
        (
            below("terminationGracePeriodSeconds: 5", ", resources: {nvidia.com/gpu: 1}"),
            "(Write it below spec.template.spec.containers[0].resources.limits.)",
        ),
        (below("volumeMounts: []"), "(It is a field of each of containers: write it there.)"),
        (SERVED + BUDGET.replace("NUMBER", "2"), "keeps 2 pods of 2: nobody can drain their nodes (Use at most 1.)"),
        (SERVED + BUDGET.replace("NUMBER", "1"), ""),
        (
            SERVED + SERVICE.replace("PORT", "{name: http, port: 80, targetPort: 8000, protocol: TCP}"),
            "leads to port 8000; its pods have 8080 (Write targetPort: 8080, or add 8000 to the ports of the "
            "container.)",
        ),
        (SERVED + SERVICE.replace("PORT", "{name: http, port: 80, targetPort: 8080, protocol: TCP}"), ""),
        (SERVED + SERVICE.replace("PORT", "{name: http, port: 80, targetPort: 9090, protocol: TCP}"), ""),
        (
            SERVED + SERVICE.replace("PORT", "{name: a, port: 8080, protocol: TCP}, {name: b, port: 9, protocol: TCP}"),
            "",
        ),
        (GROUP.replace("QUEUE", "team"), "(Write osmo-pool-default-team--shared, the queue of team.)"),
        (GROUP.replace("QUEUE", "elsewhere"), "(If it exists elsewhere, do nothing.)"),
    ],
)
def test_slips(text: str, told_at_the_end: str) -> None:
    lines = [line for line in told_of(text) if "reference-elsewhere" not in line and "podgroup-short" not in line]
    assert [line.endswith(told_at_the_end) for line in lines] == [True] * bool(told_at_the_end), lines


OPERATOR = """apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
scheduler: {profiles: [{name: NAME}], defaultProfileName: kai-scheduler}
topologyAwareScheduling: {enabled: true, levels: [{domain: zone, key: topology.kubernetes.io/zone}]}
"""


@pytest.mark.parametrize(
    ("name", "told_at_the_end"),
    [
        ("kai-scheduler", ""),
        ("kai", 'lpx-scheduler, not "kai" (Did you mean "kai-scheduler"?)'),
        ("volcano", "(Use one of default-scheduler, volcano, or add a profile of this name.)"),
    ],
)
def test_profiles_of_groves_operator(name: str, told_at_the_end: str) -> None:
    lines = told({"pools/team.yaml": pool(), "topologies/o.yaml": OPERATOR.replace("NAME", name)})
    assert [line.endswith(told_at_the_end) for line in lines] == [True] * bool(told_at_the_end), lines


RULES = """apiVersion: tas/v1alpha1
kind: ResourceValidation
metadata: {name: v}
rules: [{operator: LE, left_operand: "{{USER_MEM}}", right_operand: 1Gi, assert_message: no}]
"""


def test_a_token_that_is_cut_short_is_the_one_that_it_begins() -> None:
    spec = "  platforms: {a: {}}\n  default_platform: a\n  common_resource_validations: [v]\n"
    work = "workflow: {name: w, pool: team, tasks: [{name: t, image: 'a:1'}]}\nresources: {default: {gpu: 1}}\n"
    lines = told({"pools/team.yaml": pool(spec=spec), "pools/v.yaml": RULES, "workflows/w.yaml": work})
    assert any('Did you mean "USER_MEMORY"? Or give USER_MEM a value' in line for line in lines), lines


DIVIDED = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: w, labels: {kubectl-tas/pool: team}}
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        metadata: {annotations: {kai.scheduler/segment-size: "4"}}
        spec: {containers: [{name: pytorch, image: "a:1"}]}
"""


def test_segments_of_workers_whose_number_is_left_out() -> None:
    lines = told_of(DIVIDED)
    assert any("(Write its replicas, which are 1 if left out, or remove the annotation.)" in line for line in lines)


SERVE = """apiVersion: ray.io/v1
kind: RayService
metadata: {name: w, labels: {kubectl-tas/pool: team}}
spec:
  serveConfigV2: |
    applications:
    - {name: a, import_path: PLACE, route_prefix: ROUTE}
  rayClusterConfig:
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: head, image: "a:1"}]}}
"""


@pytest.mark.parametrize(
    ("place", "route", "told_at_the_end"),
    [
        ("app:main", "/", ""),
        ("app.main", "/a", ""),
        (
            "src/app.py",
            "/a",
            "it must name a module and an object in it (Write src.app:NAME, with the bound application.)",
        ),
        ("app", "/a", "(Write app:NAME, with the bound application.)"),
        ("app:main", "a", "it must begin with /, and not end with it (Write /a.)"),
        ("app:main", "/a/", "(Write /a.)"),
    ],
)
def test_applications_of_ray_serve(place: str, route: str, told_at_the_end: str) -> None:
    lines = told_of(SERVE.replace("PLACE", place).replace("ROUTE", route))
    assert [line.endswith(told_at_the_end) for line in lines] == [True] * bool(told_at_the_end), lines
