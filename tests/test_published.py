"""Tests documents like those that projects publish: none is refused, and each is rendered with its meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slips.repository import FILES, head, pods, ray
from tests.slips.test_slips import findings
from tests.support.cli import kubectl_tas, write
from tests.support.pyyaml import safe_load, safe_load_all
from tests.support.workloads import Object

SHARED = {path: text for path, text in FILES.items() if not path.startswith("workflows/")}
JOBSET = FILES["workflows/jobset.yaml"]
RAYJOB = head("ray.io/v1", "RayJob", "rayjob")
RAYCLUSTER = FILES["workflows/raycluster.yaml"]
SELECTOR = RAYJOB + "spec:\n  entrypoint: python tune.py\n  clusterSelector: {ray.io/cluster: raycluster}\n"
SUBMITTER = "  submitterPodTemplate:\n" + pods(4)
RULES = """\
  failurePolicy:
    maxRestarts: 3
    rules:
    - action: FailJobSet
      onJobFailureReasons: [PodFailurePolicy]
    - name: host
      action: RestartJobSet
    - action: RestartJobSetAndIgnoreMaxRestarts
"""
CLAIMS = """\
  volumeClaimPolicies:
  - templates:
    - metadata: {name: data}
      spec:
        accessModes: [ReadWriteOnce]
        resources: {requests: {storage: 1Gi}}
"""
TOKEN = "  authOptions: {mode: token, enableK8sTokenAuth: true}\n"
IMAGE = "          image: trainer:1\n"
WITH_MOUNT = RAYCLUSTER.replace(IMAGE, f"{IMAGE}          volumeMounts: [{{name: ray-token, mountPath: /token}}]\n")
NULL_LABELS = FILES["workflows/job.yaml"].replace("      labels: {app: x}\n", "      labels:\n")
NULL_METADATA = RAYCLUSTER.replace("        labels: {app: x}\n", "")
ARGO = (
    head("argoproj.io/v1alpha1", "Workflow", "argo")
    + """\
spec:
  entrypoint: main
  arguments: {parameters: [{name: tag, value: "3"}]}
  templates:
  - name: main
    container:
      name: ""
      image: "python:{{workflow.parameters.tag}}"
      resources: {limits: {nvidia.com/gpu: 1}}
"""
)
KSERVE = (
    head("serving.kserve.io/v1beta1", "InferenceService", "kserve")
    + """\
spec:
  predictor:
    maxReplicas: 1
    model:
      modelFormat: {name: sklearn}
      storageUri: gs://models/iris
      resources: {limits: {nvidia.com/gpu: 1}}
"""
)
SELDON = (
    head("machinelearning.seldon.io/v1alpha2", "SeldonDeployment", "seldon")
    + """\
spec:
  predictors:
  - name: default
    graph: {name: classifier, implementation: SKLEARN_SERVER, modelUri: gs://models/iris}
    componentSpecs:
    - spec:
        containers:
        - name: classifier
          resources: {limits: {nvidia.com/gpu: 1}}
"""
)
SILENT = {
    "Argo's Workflow, an image with a parameter": ARGO,
    "InferenceService, whose runtime has the image": KSERVE,
    "SeldonDeployment, whose server has the image": SELDON,
    "JobSet, failure rules without a name": JOBSET + RULES,
    "JobSet, storage of claims": JOBSET + CLAIMS,
    "RayJob for a cluster that is there": SELECTOR,
    "RayJob for such a cluster, over HTTP": SELECTOR + "  submissionMode: HTTPMode\n",
    "RayJob for such a cluster, in a PodGroup of the tool's": SELECTOR.replace(
        "  labels:\n", "  labels:\n    kubectl-tas/podgroup: owned\n"
    )
    + SUBMITTER,
    "RayCluster, the volume of KubeRay's token": WITH_MOUNT + TOKEN,
    "labels without a value": NULL_LABELS,
    "metadata without a value": NULL_METADATA,
}


@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_wrong(tmp_path: Path, name: str) -> None:
    assert findings(tmp_path, {**SHARED, "workflows/one.yaml": SILENT[name]}) == []
    rendered(tmp_path)


def rendered(root: Path) -> list[Object]:
    """What ``render`` writes."""
    result = kubectl_tas("render", "--to", "-", "-C", root)
    assert result.code == 0, result.err
    return [item for item in safe_load_all(result.out) if item]


def workload(root: Path, text: str) -> Object:
    """A workload as it is rendered."""
    write(root, {**SHARED, "workflows/one.yaml": text})
    kind = safe_load(text)["kind"]
    return next(item for item in rendered(root) if item["kind"] == kind)


def test_servers_of_seldon_that_no_template_describes(tmp_path: Path) -> None:
    text = SELDON.partition("    componentSpecs:")[0]
    result = kubectl_tas("validate", "-C", write(tmp_path, {**SHARED, "workflows/one.yaml": text}))
    assert "this SeldonDeployment has no pod template" in result.out


def test_failure_rules_get_the_names_of_jobsets_webhook(tmp_path: Path) -> None:
    policy = workload(tmp_path, JOBSET + RULES)["spec"]["failurePolicy"]
    assert [rule["name"] for rule in policy["rules"]] == ["failurePolicyRule0", "host", "failurePolicyRule2"]


@pytest.mark.parametrize(("text", "path"), [(NULL_LABELS, ("spec",)), (NULL_METADATA, ("spec", "headGroupSpec"))])
def test_labels_come_in_place_of_nothing(tmp_path: Path, text: str, path: tuple[str, ...]) -> None:
    found = workload(tmp_path, text)
    for step in path:
        found = found[step]
    assert found["template"]["metadata"]["labels"]["kai.scheduler/queue"] == "osmo-pool-ml-team--speech"


def test_a_job_for_a_cluster_that_is_there_has_no_gang(tmp_path: Path) -> None:
    write(tmp_path, {**SHARED, "workflows/one.yaml": SELECTOR})
    result = kubectl_tas("workflow", "explain", "rayjob", "-o", "json", "-C", tmp_path)
    assert (result.code, safe_load(result.out)["gpus"]) == (0, 0)


@pytest.mark.parametrize(
    ("text", "rule", "words"),
    [
        (SELECTOR + SUBMITTER, "replicas-refused", "Remove default scheduler kubectl-tas/podgroup: owned"),
        (SELECTOR + "  suspend: true\n", "operator-refuses", "KubeRay refuses spec.suspend clusterSelector"),
        (SELECTOR + "  backoffLimit: 2\n", "operator-refuses", "KubeRay refuses spec.backoffLimit clusterSelector"),
        (SELECTOR + "  submissionMode: SidecarMode\n", "operator-refuses", "spec.submissionMode clusterSelector"),
        (SELECTOR.replace("ray.io/cluster:", "ray.io/name:"), "operator-refuses", "ray.io/cluster: NAME"),
        (SELECTOR + "  rayClusterSpec:\n" + ray(4), "fields-conflict", "clusterSelector rayClusterSpec Keep one"),
        (RAYJOB + "spec:\n  entrypoint: a\n", "missing-field", "rayClusterSpec"),
        (WITH_MOUNT, "volume-unknown", "ray-token"),
        (WITH_MOUNT + TOKEN.replace("true", "false"), "volume-unknown", "ray-token"),
        (ARGO.replace("gpu: 1}", 'gpu: "{{item}}"}'), "invalid-value", "nvidia.com/gpu {{item}}"),
        (ARGO.replace("python:{{workflow.parameters.tag}}", "Python"), "invalid-value", "image"),
    ],
)
def test_what_is_wrong_is_told_once(tmp_path: Path, text: str, rule: str, words: str) -> None:
    every = findings(tmp_path, {**SHARED, "workflows/one.yaml": text})
    found = [item for item in every if item["rule"] != "suspended"]
    assert {item["rule"] for item in found} == {rule}
    said = " ".join(f"{item['message']} {item['hint']} {item}" for item in found)
    assert [word for word in words.split() if word not in said] == []
