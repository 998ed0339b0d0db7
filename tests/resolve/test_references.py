"""Tests which objects documents name, select and declare: by kind, name and place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubectl_tas.compare.object_changes import path_text
from kubectl_tas.model.base import KeyPath
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.mentions import Mentions, Use, read_rows
from tests.support.cli import pool, subpool
from tests.support.fleets import fleet_of

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: sweep, labels: {kubectl-tas/pool: team}}
spec: {parallelism: 3, template: {TEMPLATE}}
"""
STATEFUL_SET = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, labels: {kubectl-tas/pool: team}}
spec:
  serviceName: peers
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: main, image: i}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]
"""
BY_HAND = """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: big}
spec: {queue: osmo-pool-default-team--shared, minMember: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: first, labels: {app: a}, annotations: {pod-group-name: big}}
spec: SPEC
"""
CLIQUE_SET = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: chat, labels: {kubectl-tas/pool: team}}
spec:
  replicas: 2
  template: {cliques: [{name: server, labels: {app: a}, spec: {replicas: 3, podSpec: SPEC}}]}
"""
WORKFLOW = """\
workflow:
  name: train
  pool: team
  labels: {owner: me}
  tasks:
  - {name: a, image: i, command: [run], credentials: {Hub_Token: {A: b}}}
"""
CONTAINER = "{name: main, image: i, ports: [{containerPort: 80, name: http}, {containerPort: 81}]}"


def read(**documents: str) -> Fleet:
    """The fleet of a pool and these documents, each in a file of its own; the Config adds the kinds of companions."""
    heads = {tuple(line.partition(": ")[2] for line in text.splitlines()[:2]) for text in documents.values()}
    listed = ", ".join(f"{{apiVersion: {version}, kind: {kind}}}" for version, kind in sorted(heads) if "." in version)
    files = {f"workflows/{name}.yaml": text for name, text in documents.items()}
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{companions: [{listed}]}}\n"
    return fleet_of({"tas.yaml": config, "pools/p.yaml": pool(), **files})


def companion(version: str, kind: str, rest: str) -> str:
    """A companion with the name ``web``."""
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: web}}\n{rest}\n"


def text_of(use: Use) -> str:
    """What is named, where, and which part of it."""
    part = f", {use.key_or_port} at {path_text(use.part_path)}" if use.key_or_port or use.part_path else ""
    return f"{'optional ' if use.is_optional else ''}{use.kind} {use.name} at {path_text(use.path)}{part}"


def named(mentions: Mentions) -> list[str]:
    return [text_of(use) for use in mentions.uses]


OF_PODS = {
    "serviceAccountName: a": ["ServiceAccount a at serviceAccountName"],
    "subdomain: a": ["Service a at subdomain"],
    "imagePullSecrets: [{name: a}, {name: b}]": [
        "Secret a at imagePullSecrets[0].name",
        "Secret b at imagePullSecrets[1].name",
    ],
    "resourceClaims: [{name: x, resourceClaimName: a}, {name: y, resourceClaimTemplateName: b}]": [
        "ResourceClaim a at resourceClaims[0].resourceClaimName",
        "ResourceClaimTemplate b at resourceClaims[1].resourceClaimTemplateName",
    ],
    "volumes: [{name: x, persistentVolumeClaim: {claimName: a}}, {name: y, emptyDir: {}}]": [
        "PersistentVolumeClaim a at volumes[0].persistentVolumeClaim.claimName",
    ],
    "volumes: [{name: x, configMap: {name: a}}, {name: y, configMap: {name: b, optional: true}}]": [
        "ConfigMap a at volumes[0].configMap.name",
        "optional ConfigMap b at volumes[1].configMap.name",
    ],
    "volumes: [{name: x, secret: {secretName: a}}, {name: y, secret: {secretName: b, optional: false}}]": [
        "Secret a at volumes[0].secret.secretName",
        "Secret b at volumes[1].secret.secretName",
    ],
    "volumes: [{name: x, secret: {secretName: a, items: [{key: k, path: p}, {key: l, path: q}]}}]": [
        "Secret a at volumes[0].secret.secretName, k at volumes[0].secret.items[0].key",
        "Secret a at volumes[0].secret.secretName, l at volumes[0].secret.items[1].key",
    ],
    "volumes: [{name: x, configMap: {name: a, optional: true, items: [{key: k, path: p}]}}]": [
        "optional ConfigMap a at volumes[0].configMap.name, k at volumes[0].configMap.items[0].key",
    ],
    "volumes: [{name: x, projected: {sources: [{secret: {name: a}}, {configMap: {name: b, optional: true}}]}}]": [
        "Secret a at volumes[0].projected.sources[0].secret.name",
        "optional ConfigMap b at volumes[0].projected.sources[1].configMap.name",
    ],
    "initContainers: [{name: x, image: i, envFrom: [{configMapRef: {name: a}}, {secretRef: {name: b}}]}]": [
        "ConfigMap a at initContainers[0].envFrom[0].configMapRef.name",
        "Secret b at initContainers[0].envFrom[1].secretRef.name",
    ],
    "initContainers: [{name: x, image: i, envFrom: [{prefix: P, secretRef: {name: a, optional: true}}]}]": [
        "optional Secret a at initContainers[0].envFrom[0].secretRef.name",
    ],
    "initContainers: [{name: x, image: i, env: [{name: E, valueFrom: {secretKeyRef: {name: a, key: k}}}]}]": [
        "Secret a at initContainers[0].env[0].valueFrom.secretKeyRef.name, "
        "k at initContainers[0].env[0].valueFrom.secretKeyRef.key",
    ],
    "initContainers: [{name: x, image: i, env: [{name: D, value: d}, {name: E, valueFrom: "
    "{configMapKeyRef: {name: a, key: k, optional: true}}}]}]": [
        "optional ConfigMap a at initContainers[0].env[1].valueFrom.configMapKeyRef.name, "
        "k at initContainers[0].env[1].valueFrom.configMapKeyRef.key",
    ],
}
"""Fields of a PodSpec that name objects, as Kubernetes describes them."""


@pytest.mark.parametrize(("fields", "uses"), OF_PODS.items())
def test_pods_name_objects(fields: str, uses: list[str]) -> None:
    spec = f"{{restartPolicy: Never, {fields}, containers: [{CONTAINER}]}}"
    found = read(w=JOB.replace("TEMPLATE", f"spec: {spec}")).own_mentions
    assert [item.removeprefix("spec.template.") for item in named(found)] == [
        item.replace(" at ", " at spec.template.spec.").removeprefix("spec.template.") for item in uses
    ]
    assert {(use.by, use.space) for use in found.uses} == {("Job", ("default", "default"))}


@pytest.mark.parametrize(
    ("text", "by", "path", "pods"),
    [
        (
            JOB.replace("TEMPLATE", "metadata: {labels: {app: a}}, spec: SPEC"),
            "Job",
            "spec.template.spec",
            ("Job", "sweep", 3),
        ),
        (BY_HAND, "Pod", "spec", ("Pod", "first", 1)),
        (CLIQUE_SET, "PodCliqueSet", "spec.template.cliques[0].spec.podSpec", ("PodCliqueSet", "chat", 6)),
    ],
    ids=["workload", "member of a PodGroup", "clique"],
)
def test_pods_are_read_where_each_kind_has_them(text: str, by: str, path: str, pods: tuple[str, str, int]) -> None:
    first = "{name: x, image: i, ports: [{containerPort: 1, name: one}]}"
    own = f"restartPolicy: Never, initContainers: [{first}], containers: [{CONTAINER}]"
    spec = f"{{serviceAccountName: sa, {own}}}"
    found = read(w=text.replace("SPEC", spec)).own_mentions
    assert [(use.by, text_of(use)) for use in found.uses] == [(by, f"ServiceAccount sa at {path}.serviceAccountName")]
    assert found.path(found.uses[0].document) == "workflows/w.yaml"
    assert found.finder(found.uses[0].document)(found.uses[0].path).path == "workflows/w.yaml"
    (only,) = found.pods
    assert (only.kind, only.name, only.at_once) == pods
    assert (only.space, only.labels, tuple(only.ports)) == (("default", "default"), {"app": "a"}, ("http", "one"))


@pytest.mark.parametrize("text", [BY_HAND, CLIQUE_SET, JOB.replace("TEMPLATE", "spec: SPEC")])
def test_pods_without_labels_are_not_selected(text: str) -> None:
    bare = text.replace("labels: {app: a}, ", "").replace(
        "SPEC", f"{{restartPolicy: Never, containers: [{CONTAINER}]}}"
    )
    assert read(w=bare).own_mentions.pods == []


def test_pods_of_another_object_may_have_any_labels() -> None:
    text = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: sweep, labels: {kubectl-tas/pool: team}}
spec: {runtimeRef: {name: torch-distributed}, trainer: {numNodes: 3}}
"""
    found = read(w=text).own_mentions
    assert [tuple(item) for item in found.pods] == [("TrainJob", "sweep", ("default", "default"), 3, None, (), ())]


def test_a_workflow_names_its_credentials_and_has_labels() -> None:
    found = read(w=WORKFLOW).own_mentions
    assert [(use.by, text_of(use)) for use in found.uses] == [
        ("task", "Secret hub-token at workflow.tasks[0].credentials.Hub_Token")
    ]
    assert [tuple(item) for item in found.pods] == [
        ("Workflow", "train", ("default", "default"), 1, {"owner": "me"}, (), ())
    ]


@pytest.mark.parametrize(
    ("labels", "carried"),
    [("{app: a}", {"app": "a", "owner": "me"}), ('{app: "{{WF_ID}}"}', None)],
    ids=["known", "by a token"],
)
def test_a_workflow_has_the_labels_of_its_pod_template(labels: str, carried: dict[str, str] | None) -> None:
    spec = f"  common_pod_template: [{{metadata: {{labels: {labels}}}}}]\n"
    found = fleet_of({"pools/p.yaml": pool(spec=spec), "workflows/w.yaml": WORKFLOW}).own_mentions
    assert [(item.at_once, item.labels) for item in found.pods] == [(1, carried)]


def test_a_stateful_set_names_its_service_and_makes_claims() -> None:
    found = read(w=STATEFUL_SET).own_mentions
    assert named(found) == ["Service peers at spec.serviceName"]
    assert [tuple(item) for item in found.held] == [
        ("PersistentVolumeClaim", ("default", "default"), "data-db-#", None)
    ]


def test_templates_of_a_pool_are_read_for_each_namespace_of_its_work() -> None:
    volumes = '[{name: x, configMap: {name: a}}, {name: y, configMap: {name: "{{WF_ID}}"}}]'
    spec = (
        "  namespaces: [one, two]\n"
        f"  common_pod_template: [{{spec: {{serviceAccountName: sa, volumes: {volumes}}}}}]\n"
        "  platforms: {fast: {override_pod_template: [{spec: {subdomain: web}}]}, slow: {}}\n"
    )
    files = {"pools/p.yaml": pool(spec=spec), "s.yaml": subpool("a", 1).replace("state", "namespaces: [two]\n  state")}
    found = fleet_of(files).mentions[0]
    base = ["ServiceAccount sa at spec.serviceAccountName", "ConfigMap a at spec.volumes[0].configMap.name"]
    fast = [base[0], "Service web at spec.subdomain", base[1]]
    spaces = [("default", "one"), ("default", "two")]
    read_of = {
        (use.document, use.space): [
            text_of(x) for x in found.uses if (x.document, x.space) == (use.document, use.space)
        ]
        for use in found.uses
    }
    assert read_of == {(number, space): texts for number, texts in enumerate((base, fast, base)) for space in spaces}
    assert {use.by for use in found.uses} == {"PodTemplate"}
    places = [found.finder(use.document)(use.path) for use in found.uses if use.kind == "Service"]
    assert {(place.path, place.line) for place in places} == {("pools/p.yaml", 11)}
    assert found.path(1) == "pools/p.yaml"


def test_a_pool_may_have_templates_of_one_platform_alone() -> None:
    spec = "  platforms: {plain: {}, fast: {override_pod_template: [{spec: {subdomain: web}}]}}\n"
    found = fleet_of({"pools/p.yaml": pool(spec=spec)}).mentions[0]
    assert [(use.document, text_of(use)) for use in found.uses] == [(0, "Service web at spec.subdomain")]


INGRESS = """\
spec:
  defaultBackend: {service: {name: a, port: {number: 80}}}
  rules:
  - http: {paths: [{path: /, backend: {service: {name: b, port: {name: http}}}}, {path: /x, backend: {resource: {}}}]}
  tls: [{secretName: c}]
"""
GATEWAY = "gateway.networking.k8s.io/v1"
SCALED = "scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: a}"
OF_COMPANIONS = [
    ("v1", "ServiceAccount", "imagePullSecrets: [{name: a}]", ["Secret a at imagePullSecrets[0].name"]),
    ("v1", "ServiceAccount", 'imagePullSecrets: [{name: 3}, {name: ""}, {}]', []),
    ("v1", "ConfigMap", "data: {imagePullSecrets: a}", []),
    ("apps.example.com/v1", "Unknown", "spec: {rules: [{backendRefs: [{name: a}]}]}", []),
    (
        "networking.k8s.io/v1",
        "Ingress",
        INGRESS,
        [
            "Service a at spec.defaultBackend.service.name, 80 at spec.defaultBackend.service.port.number",
            "Service b at spec.rules[0].http.paths[0].backend.service.name, "
            "http at spec.rules[0].http.paths[0].backend.service.port.name",
            "Secret c at spec.tls[0].secretName",
        ],
    ),
    *(
        (
            GATEWAY,
            kind,
            "spec: {rules: [{backendRefs: [{name: a, port: 80}, {name: b, kind: Other}]}]}",
            ["Service a at spec.rules[0].backendRefs[0].name, 80 at spec.rules[0].backendRefs[0].port"],
        )
        for kind in ("GRPCRoute", "HTTPRoute", "TCPRoute", "TLSRoute")
    ),
    (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        f"spec: {{maxReplicas: 3, {SCALED}}}",
        ["StatefulSet a at spec.scaleTargetRef.name"],
    ),
    (
        "keda.sh/v1alpha1",
        "ScaledObject",
        "spec: {scaleTargetRef: {name: a}, triggers: []}",
        ["Deployment a at spec.scaleTargetRef.name"],
    ),
]


@pytest.mark.parametrize(("version", "kind", "rest", "uses"), OF_COMPANIONS)
def test_companions_name_objects(version: str, kind: str, rest: str, uses: list[str]) -> None:
    found = read(w=companion(version, kind, rest)).own_mentions
    assert named(found) == uses
    assert {use.by for use in found.uses} <= {kind}
    assert (kind, ("default", "default"), "web") in [tuple(item[:3]) for item in found.held]


@pytest.mark.parametrize(
    ("version", "kind", "rest", "held"),
    [
        (
            "v1",
            "Service",
            "spec: {selector: {a: b}, ports: [{port: 80, name: http}, {port: 81}]}",
            [("web", ("80", "http", "81"))],
        ),
        ("v1", "ConfigMap", "data: {a: x}\nbinaryData: {b: eA==}", [("web", ("a", "b"))]),
        ("v1", "ServiceAccount", "", [("web", None)]),
        ("bitnami.com/v1alpha1", "SealedSecret", "spec: {}", [("web", None), ("Secret web", None)]),
        ("cert-manager.io/v1", "Certificate", "spec: {secretName: a}", [("web", None), ("Secret a", None)]),
        (
            "resource.nvidia.com/v1beta1",
            "ComputeDomain",
            "spec: {numNodes: 0, channel: {resourceClaimTemplate: {name: a}}}",
            [("web", None), ("ResourceClaimTemplate a", None)],
        ),
    ],
)
def test_companions_declare_objects(version: str, kind: str, rest: str, held: list[Any]) -> None:
    found = read(w=companion(version, kind, rest)).own_mentions.held
    assert [(f"{item.kind} {item.name}".removeprefix(f"{kind} "), item.keys_or_ports) for item in found] == held


LABELS = {"matchLabels": {"app": "a"}}
SELECTOR = "{matchLabels: {app: a}}"


@pytest.mark.parametrize(
    ("version", "kind", "spec", "path", "ports", "least"),
    [
        (
            "v1",
            "Service",
            "selector: {app: a}, ports: [{port: 1, targetPort: 80}, {port: 2, targetPort: http}]",
            "spec.selector",
            [(("spec", "ports", 1, "targetPort"), "http")],
            0,
        ),
        ("policy/v1", "PodDisruptionBudget", f"selector: {SELECTOR}, minAvailable: 2", "spec.selector", [], 2),
        ("policy/v1", "PodDisruptionBudget", f"selector: {SELECTOR}, minAvailable: 50%", "spec.selector", [], 0),
        ("policy/v1", "PodDisruptionBudget", f"selector: {SELECTOR}, maxUnavailable: 1", "spec.selector", [], 0),
        ("networking.k8s.io/v1", "NetworkPolicy", f"podSelector: {SELECTOR}", "spec.podSelector", [], 0),
        ("cilium.io/v2", "CiliumNetworkPolicy", f"endpointSelector: {SELECTOR}", "spec.endpointSelector", [], 0),
        ("monitoring.coreos.com/v1", "PodMonitor", f"selector: {SELECTOR}, minAvailable: 2", "spec.selector", [], 0),
        ("monitoring.googleapis.com/v1", "PodMonitoring", f"selector: {SELECTOR}", "spec.selector", [], 0),
        ("operator.victoriametrics.com/v1beta1", "VMPodScrape", f"selector: {SELECTOR}", "spec.selector", [], 0),
    ],
)
def test_companions_select_pods(
    version: str, kind: str, spec: str, path: str, ports: list[tuple[KeyPath, str]], least: int
) -> None:
    (only,) = read(w=companion(version, kind, f"spec: {{{spec}}}")).own_mentions.selections
    assert (only.by, path_text(only.path), only.space) == (kind, path, ("default", "default"))
    assert (only.selector, list(only.ports), only.least) == (LABELS, ports, least)


@pytest.mark.parametrize(
    ("version", "kind", "spec"),
    [
        ("v1", "Service", "ports: [{port: 1}]"),
        ("networking.k8s.io/v1", "NetworkPolicy", "podSelector: {}"),
        ("monitoring.coreos.com/v1", "PodMonitor", f"selector: {SELECTOR}, namespaceSelector: {{any: true}}"),
        ("apps.example.com/v1", "Unknown", f"selector: {SELECTOR}"),
    ],
    ids=["no selector", "all pods", "other namespaces", "another kind"],
)
def test_companions_that_select_nothing_that_is_known(version: str, kind: str, spec: str) -> None:
    assert read(w=companion(version, kind, f"spec: {{{spec}}}")).own_mentions.selections == []


def test_what_was_read_is_the_same_after_json() -> None:
    service = companion("v1", "Service", "spec: {selector: {app: a}, ports: [{port: 1, targetPort: http}]}")
    budget = companion("policy/v1", "PodDisruptionBudget", f"spec: {{selector: {SELECTOR}, minAvailable: 2}}")
    template = f"metadata: {{labels: {{app: a}}}}, spec: {{restartPolicy: Never, containers: [{CONTAINER}], "
    template += "volumes: [{name: x, configMap: {name: a, optional: true, items: [{key: k, path: p}]}}]}"
    found = read(a=JOB.replace("TEMPLATE", template), b=STATEFUL_SET, c=service, d=budget).own_mentions
    again = read_rows(json.loads(json.dumps(found.rows)), "a.yaml", found.finder)
    assert json.loads(json.dumps(again.rows)) == json.loads(json.dumps(found.rows))
    assert [(item.kind, item.space, item.name) for item in again.held] == [
        (item.kind, item.space, item.name) for item in found.held
    ]
    assert again.uses == found.uses
    assert [item[:5] for item in again.pods] == [item[:5] for item in found.pods]
    assert [item[:5] for item in again.selections] == [item[:5] for item in found.selections]
    assert again.path(0) == "a.yaml"
    assert (
        read(
            a=JOB.replace("TEMPLATE", "spec: {restartPolicy: Never, containers: [{name: c, image: i}]}")
        ).own_mentions.rows
        == ()
    )
