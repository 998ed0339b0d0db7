"""Tests selectors of objects beside workloads, in a namespace that several teams share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.judged import told_of

KINDS = {
    "PodDisruptionBudget": ("policy/v1", "selector", "maxUnavailable: 0"),
    "NetworkPolicy": ("networking.k8s.io/v1", "podSelector", "policyTypes: [Ingress]"),
}
CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {rules: {selects-others: off}}\n"


def said(root: Path, kind: str, selector: str, pools: dict[str, str], config: str = "") -> str:
    version, field, more = KINDS[kind]
    labels = "labels: {kubectl-tas/pool: a}"
    text = (
        f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x, {labels}}}\nspec: {{{field}: {selector}, {more}}}\n"
    )
    files = {"workflows/x.yaml": text, **{f"pools/{name}.yaml": pool(name, spec=spec) for name, spec in pools.items()}}
    write(root, files | ({"tas.yaml": config} if config else {}))
    return kubectl_tas("validate", "--strict", "-C", root).out


SHARED = {"a": "", "b": ""}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "selector",
    [
        "{}", "{matchLabels: {}}", "{matchExpressions: []}", "{matchExpressions: [{key: a, operator: DoesNotExist}]}",
        "{matchExpressions: [{key: a, operator: NotIn, values: [b]}]}",
        "{matchLabels: {app.kubernetes.io/managed-by: kubectl-tas}}",
    ],
)  # fmt: skip
def test_pods_of_others(repository: Path, kind: str, selector: str) -> None:
    out = said(repository, kind, selector, SHARED)
    assert "[selects-others]" in out
    assert "namespace default, where several queues run work: a, b" in out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "selector",
    ["{matchLabels: {app: x}}", "{matchExpressions: [{key: a, operator: In, values: [b]}]}",
     "{matchExpressions: [{key: a, operator: Exists}, {key: b, operator: DoesNotExist}]}"],
)  # fmt: skip
def test_own_pods(repository: Path, kind: str, selector: str) -> None:
    assert "selects-others" not in said(repository, kind, selector, SHARED)


def test_a_namespace_of_one_pool(repository: Path) -> None:
    assert "selects-others" not in said(repository, "NetworkPolicy", "{}", {"a": "", "b": "  namespaces: [b]\n"})


def test_the_config_may_allow_it(repository: Path) -> None:
    assert "selects-others" not in said(repository, "NetworkPolicy", "{}", SHARED, CONFIG)


TRAIN_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: sft, namespace: default, labels: {kubectl-tas/pool: a}}
spec: {runtimeRef: {name: torch-distributed}, trainer: {numNodes: 1}}
"""


def test_pods_of_a_runtime_may_have_any_label(repository: Path) -> None:
    """A TrainJob says nothing of the labels of its pods: those are in its runtime, which the cluster has."""
    selector = "{matchLabels: {app: x}}"
    assert "selects no pods" in said(repository, "PodDisruptionBudget", selector, {"a": ""})
    write(repository, {"workflows/sft.yaml": TRAIN_JOB})
    assert "selects no pods" not in said(repository, "PodDisruptionBudget", selector, {"a": ""})


def service(port: str, ports: str) -> str:
    """A Deployment with these ports, and in the lines 7 to 11 a Service of one that it names."""
    own = "{name: a, labels: {kubectl-tas/pool: team}}"
    pods = f"metadata: {{labels: {{app: x}}}}, spec: {{containers: [{{name: m, image: i, ports: {ports}}}]}}"
    spec = f"strategy: {{type: Recreate}}, selector: {{matchLabels: {{app: x}}}}, template: {{{pods}}}"
    work = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {own}\nspec: {{{spec}}}\n"
    beside = f"spec:\n  selector: {{app: x}}\n  ports: [{{port: 80, targetPort: {port}}}]\n"
    return f"{work}---\napiVersion: v1\nkind: Service\nmetadata: {own}\n{beside}"


HTTP = "[{name: http, containerPort: 80}]"
SAID = 'w.yaml:11:34 reference-unknown: targetPort "{}" is no port of the pods that this Service selects ({})'


@pytest.mark.parametrize(
    ("port", "ports", "hint"),
    [
        ("http", HTTP, ""),
        ("htp", HTTP, 'Did you mean "http"?'),
        ("metrics", HTTP, "Their ports are http."),
        ("http", "[]", "Write its number, or give a port of a container this name."),
    ],
)
def test_ports_by_name(port: str, ports: str, hint: str) -> None:
    assert told_of(service(port, ports)) == ([SAID.format(port, hint)] if hint else [])


OF_X = "{matchLabels: {app: x}}"
POLICY = "networking.k8s.io/v1\nkind: NetworkPolicy"


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        (POLICY, f"podSelector: {OF_X}, ingress: [{{ports: [{{port: PORT}}]}}]"),
        (POLICY, "podSelector: {}, policyTypes: [Ingress], ingress: [{ports: [{port: PORT}]}]"),
        (POLICY, f"podSelector: {OF_X}, egress: [{{to: [{{podSelector: {OF_X}}}], ports: [{{port: PORT}}]}}]"),
        (
            "cilium.io/v2\nkind: CiliumNetworkPolicy",
            f'endpointSelector: {OF_X}, ingress: [{{toPorts: [{{ports: [{{port: "80"}}, {{port: PORT}}]}}]}}]',
        ),
        (
            "monitoring.coreos.com/v1\nkind: PodMonitor",
            f"selector: {OF_X}, podMetricsEndpoints: [{{port: PORT}}]",
        ),
        ("monitoring.googleapis.com/v1\nkind: PodMonitoring", f"selector: {OF_X}, endpoints: [{{port: PORT}}]"),
        (
            "operator.victoriametrics.com/v1beta1\nkind: VMPodScrape",
            f"selector: {OF_X}, podMetricsEndpoints: [{{port: PORT}}]",
        ),
    ],
)  # fmt: skip
def test_ports_by_name_of_every_kind(kind: str, spec: str) -> None:
    work = service("80", HTTP).partition("---")[0]
    own = "{name: s, labels: {kubectl-tas/pool: team}}"

    def found(port: str) -> list[str]:
        text = f"{work}---\napiVersion: {kind}\nmetadata: {own}\nspec: {{{spec.replace('PORT', port)}}}\n"
        return [line.partition(" ")[2] for line in told_of(text, **config)]

    version, _, name = kind.replace("\n", " ").split(" ")
    config = {} if kind == POLICY else {"companions": f"[{{apiVersion: {version}, kind: {name}}}]"}
    others = found("http")
    wrong = f'reference-unknown: port "htp" is no port of the pods that this {name} selects (Did you mean "http"?)'
    assert not any("port" in line for line in others)
    assert sorted(set(found("htp")) - set(others)) == [wrong]


def test_pods_of_others_to_which_a_policy_allows_connections() -> None:
    """They may be in no file, and have any port."""
    others = "{podSelector: {matchLabels: {app: y}}}"
    spec = f"podSelector: {OF_X}, egress: [{{to: [{others}], ports: [{{port: db}}]}}]"
    work, own = service("80", HTTP).partition("---")[0], "{name: s, labels: {kubectl-tas/pool: team}}"
    assert told_of(f"{work}---\napiVersion: {POLICY}\nmetadata: {own}\nspec: {{{spec}}}\n") == []


def test_a_label_that_names_work_of_several_kinds() -> None:
    jobs = (
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n"
        "metadata: {name: train, labels: {kubectl-tas/pool: team}}\n"
        "spec: {replicatedJobs: [{name: a, template: {spec: {template: {spec: "
        "{restartPolicy: Never, containers: [{name: a, image: a}]}}}}}]}\n---\n"
    )
    policy = (
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: x}\n"
        "spec: {podSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: trian}}, policyTypes: [Ingress]}\n"
    )
    assert told_of(jobs + policy) == [
        "w.yaml:9:68 selects-too-few: this NetworkPolicy selects no pods: namespace default has no JobSet or TrainJob "
        '"trian" (Did you mean "train"?)'
    ]
