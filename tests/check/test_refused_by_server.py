"""Tests what an API server refuses of Kubernetes' own kinds, and what the newest release of an operator refuses.

The cases follow pkg/apis of Kubernetes 1.35: autoscaling/validation, apps/validation, batch/validation,
core/validation and networking/validation.
"""

from __future__ import annotations

import pytest

from tests.support.judged import told_of

POOL = "labels: {kubectl-tas/pool: team}"
PODS = "containers: [{name: a, image: a, resources: {requests: {cpu: 1}}}]"
DEPLOYMENT = f"""apiVersion: apps/v1
kind: Deployment
metadata: {{name: d, {POOL}}}
spec: {{REST selector: {{matchLabels: {{app: d}}}}, template: {{metadata: {{labels: {{app: d}}}}, spec: {{{PODS}}}}}}}
"""
METRIC = "{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 5}}}"
SCALER = """apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: h}
"""


def deployment(rest: str) -> str:
    return DEPLOYMENT.replace("REST", rest)


def scaler(ref: str = "apiVersion: apps/v1, kind: Deployment, name: d", metric: str = METRIC) -> str:
    return f"{deployment('')}---\n{SCALER}spec: {{maxReplicas: 2, scaleTargetRef: {{{ref}}}, metrics: [{metric}]}}\n"


def stateful_set(claim: str) -> str:
    spec = "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"
    claims = f"volumeClaimTemplates: [{{{claim}{spec}}}]"
    text = deployment(f'serviceName: "", {claims},')
    return text.replace("kind: Deployment", "kind: StatefulSet")


def job(spec: str) -> str:
    template = f"metadata: {{labels: {{a: b}}}}, spec: {{restartPolicy: Never, {PODS}}}"
    return f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j, {POOL}}}\nspec: {{{spec}template: {{{template}}}}}\n"


def claim(source: str) -> str:
    spec = "accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}"
    head = f"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: c, {POOL}}}\n"
    return f"{head}spec: {{{spec}, {source}}}\n"


def policy(types: str) -> str:
    head = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: n}\n"
    return f"{deployment('')}---\n{head}spec: {{podSelector: {{matchLabels: {{app: d}}}}, policyTypes: {types}}}\n"


def of_pods(name: str) -> str:
    return f'{{type: Pods, pods: {{metric: {{name: "{name}"}}, target: {{type: AverageValue, averageValue: 5}}}}}}'


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (scaler('apiVersion: apps/v1, kind: "", name: d'), "invalid-value"),
        (scaler('apiVersion: apps/v1, kind: Deployment, name: ""'), "invalid-value"),
        (scaler("apiVersion: apps/v1, kind: Deployment, name: a/b"), "invalid-value"),
        (scaler("apiVersion: x/y/z, kind: Deployment, name: d"), "invalid-value"),
        (scaler('apiVersion: "", kind: Deployment, name: d'), "missing-field"),
        (scaler(metric=METRIC.replace("cpu", '""')), "invalid-value"),
        (scaler(metric=of_pods("")), "invalid-value"),
        (scaler(metric=of_pods("a/b")), "invalid-value"),
        (scaler(metric=of_pods("requests")), ""),
        (scaler(), ""),
        (stateful_set(""), "missing-field"),
        (stateful_set("metadata: {labels: {a: b}}, "), "missing-field"),
        (stateful_set("metadata: {name: data}, "), ""),
        (deployment("").replace("name: d,", "name: d, finalizers: [x],"), "invalid-value"),
        (deployment("").replace("name: d,", "name: d, finalizers: [example.com/x],"), ""),
        (deployment("progressDeadlineSeconds: 30, minReadySeconds: 30,"), "fields-conflict"),
        (deployment("progressDeadlineSeconds: 0,"), "fields-conflict"),
        (deployment("progressDeadlineSeconds: 30, minReadySeconds: 29,"), ""),
        (job("manualSelector: true, "), "missing-field"),
        (job("manualSelector: true, selector: {matchLabels: {a: c}}, "), "fields-conflict"),
        (job("manualSelector: true, selector: {matchLabels: {a: b}}, "), ""),
        (claim("dataSourceRef: {kind: Pod, name: x}"), "invalid-value"),
        (claim("dataSource: {kind: Pod, name: x}"), "invalid-value"),
        (claim('dataSourceRef: {kind: PersistentVolumeClaim, name: ""}'), "invalid-value"),
        (claim("dataSourceRef: {kind: VolumeSnapshot, apiGroup: snapshot.storage.k8s.io, name: x}"), ""),
        (policy("[Ingress, Egress, Ingress]"), "fields-conflict"),
        (policy("[Ingress, Egress]"), ""),
    ],
)
def test_what_an_api_server_refuses(text: str, rule: str) -> None:
    codes = [line.partition(" ")[2].partition(":")[0] for line in told_of(text)]
    refused = [code for code in codes if code not in ("growth-uncounted", "without-effect")]
    assert refused == ([rule] if rule else [])


@pytest.mark.parametrize(
    ("release", "rule"),
    [("", "operator-field"), ('"2.0"', ""), ('"2.1"', ""), ('"2.2"', "wrong-type"), ('"2.3"', "wrong-type")],
)
def test_text_that_only_older_releases_take(release: str, rule: str) -> None:
    head = f"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: t, {POOL}}}\n"
    text = f'{head}spec: {{runtimeRef: {{name: torch-distributed}}, trainer: {{numNodes: 2, numProcPerNode: "2"}}}}\n'
    config = {"operators": f"{{trainer: {release}}}"} if release else {}
    lines = [line for line in told_of(text, **config) if "numProcPerNode" in line]
    assert [line.partition(" ")[2].partition(":")[0] for line in lines] == ([rule] if rule else [])
