"""Tests which names of other objects are followed, and where objects without a pool go."""

from __future__ import annotations

import pytest

from kubectl_tas.resolve.fleet import no_work
from kubectl_tas.resolve.pools import circles_of
from tests.support.cli import pool, subpool
from tests.support.fleets import fleet_of, judged_files, said

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: sweep, labels: {kubectl-tas/pool: team}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "a:1"}]
"""
WITH_SECRET = JOB.replace('"a:1"', '"a:1", envFrom: [{secretRef: {name: made}}]')
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: frontend}
spec: {ports: [{port: 80, name: http}], selector: {batch.kubernetes.io/job-name: sweep}}
"""
SECRET_CLASS = """\
apiVersion: secrets-store.csi.x-k8s.io/v1
kind: SecretProviderClass
metadata: {name: vault}
spec: {provider: vault, secretObjects: [{secretName: NAME, type: Opaque}]}
"""
EXTERNAL = """\
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: NAME}
spec: {target: {TARGET}}
"""
ROUTE = """\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web}
spec: {rules: [{backendRefs: [{REF}]}]}
"""
MONITOR = """\
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: web}
spec: {selector: {matchLabels: {app: none}}MORE}
"""
INGRESS = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {defaultBackend: {service: {SERVICE}}}
"""
UNKNOWN = 'the Service "fronted" does not exist in namespace default; Did you mean "frontend"?'
ELSEWHERE = (
    'the Service "frontend" does not exist in namespace far; namespace default has one; '
    "Declare one in namespace far: work uses only objects of its own namespace."
)
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {METADATA}\ndata: {a: x}\n"


def found(work: str, *beside: str, rule: str = "reference-unknown") -> list[str]:
    """What a rule says of work and of what stands beside it, which the Config reads."""
    kinds = {tuple(line.partition(": ")[2] for line in text.splitlines()[:2]) for text in beside}
    listed = ", ".join(f"{{apiVersion: {version}, kind: {kind}}}" for version, kind in sorted(kinds) if "." in version)
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{companions: [{listed}]}}\n"
    files = {f"{number}.yaml": text for number, text in enumerate((work, *beside))}
    judged = judged_files({"tas.yaml": config, "pools/p.yaml": pool(), **files})
    return [f"{said(item)}; {item.hint}" for item in judged.found if item.rule.code == rule]


class TestSecrets:
    """Secrets that controllers make of other objects."""

    UNKNOWN = '0.yaml:8:76: the Secret "made" does not exist in namespace default; Did you mean "mode"?'

    @pytest.mark.parametrize(
        ("text", "is_made"),
        [
            (SECRET_CLASS.replace("NAME", "made"), True),
            (SECRET_CLASS.replace("NAME", "mode"), False),
            (EXTERNAL.replace("NAME", "any").replace("TARGET", "name: made"), True),
            (EXTERNAL.replace("NAME", "made").replace("TARGET", ""), True),
            (EXTERNAL.replace("NAME", "made").replace("TARGET", "name: mode"), False),
            (EXTERNAL.replace("NAME", "mode").replace("TARGET", ""), False),
        ],
    )
    def test_a_secret_that_is_made_may_be_named(self, text: str, is_made: bool) -> None:
        assert found(WITH_SECRET, text) == ([] if is_made else [self.UNKNOWN])


class TestRoutes:
    @pytest.mark.parametrize(
        ("reference", "messages"),
        [
            ("name: fronted, port: 80", [f"2.yaml:4:38: {UNKNOWN}"]),
            ("name: fronted, port: 80, kind: Service", [f"2.yaml:4:38: {UNKNOWN}"]),
            ("name: fronted, kind: ServiceImport", []),
            ("name: frontend, port: 81", ['2.yaml:4:54: the Service "frontend" has no port "81"; It has 80, http.']),
            ("name: frontend, port: 81, namespace: far", [f"2.yaml:4:38: {ELSEWHERE}"]),
        ],
    )
    def test_a_route_names_a_service(self, reference: str, messages: list[str]) -> None:
        assert found(JOB, SERVICE, ROUTE.replace("REF", reference)) == messages

    @pytest.mark.parametrize(
        ("service", "messages"),
        [
            ("name: frontend, port: {number: 80}", []),
            ("name: frontend, port: {name: http}", []),
            (
                "name: frontend, port: {number: 81}",
                ['2.yaml:4:66: the Service "frontend" has no port "81"; It has 80, http.'],
            ),
            ("name: frontend", []),
            (
                "name: fronted",
                ['2.yaml:4:41: the Service "fronted" does not exist in namespace default; Did you mean "frontend"?'],
            ),
        ],
    )
    def test_an_ingress_names_a_service(self, service: str, messages: list[str]) -> None:
        """That it names no port says another rule."""
        assert found(JOB, SERVICE, INGRESS.replace("SERVICE", service)) == messages


@pytest.mark.parametrize(("more", "is_found"), [("", True), (", namespaceSelector: {any: true}", False)])
def test_a_monitor_of_other_namespaces_may_select_what_is_not_here(more: str, is_found: bool) -> None:
    about = '1.yaml:4:33: this PodMonitor selects no pods: none in namespace default has the label app: "none"'
    texts = found(JOB, MONITOR.replace("MORE", more), rule="selects-too-few")
    assert [text.partition(";")[0] for text in texts] == [about] * is_found


def test_an_item_of_a_volume_without_a_key_names_no_key() -> None:
    volume = "{name: v, configMap: {name: cm, items: [{key: KEY, path: a}, {path: b}]}}"
    work = f"{JOB}      volumes: [{volume}]\n"
    config_map = CONFIG_MAP.replace("METADATA", "name: cm")
    assert found(work.replace("KEY", "a"), config_map) == []
    assert found(work.replace("KEY", "b"), config_map) == ['0.yaml:9:63: the ConfigMap "cm" has no key "b"; It has a.']


class TestCompanions:
    """Where an object goes that belongs to no pool by itself."""

    TWO = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: a}, {name: b, namespace: of-b}]}\n"

    @pytest.mark.parametrize(
        ("beside", "metadata", "place"),
        [
            ("", "labels: {kubectl-tas/pool: a}", ("a", "one")),
            ("", "namespace: two, labels: {kubectl-tas/pool: a}", ("a", "two")),
            ("a", "", ("a", "one")),
            ("a", "namespace: elsewhere", ("a", "elsewhere")),
            ("ab", "namespace: elsewhere", None),
            ("", "namespace: of-b", ("b", "of-b")),
            ("", "namespace: elsewhere", None),
        ],
    )
    def test_two_clusters(self, beside: str, metadata: str, place: tuple[str, str] | None) -> None:
        work = [JOB.replace("pool: team", f"pool: {name}").replace("sweep", f"on-{name}") for name in beside]
        text = "---\n".join([*work, CONFIG_MAP.replace("METADATA", f"name: cm, {metadata}")])
        pools = {
            "pools/a.yaml": pool("a", spec="  backend: a\n  namespaces: [one, two]\n"),
            "pools/b.yaml": pool("b", spec="  backend: b\n"),
        }
        fleet = fleet_of({"tas.yaml": self.TWO, **pools, "w.yaml": text})
        assert [(item.backend.name, item.namespace) for item in fleet.companions] == ([place] if place else [])
        assert [item.what for item in fleet.dangling] == ([] if place else ["place of a companion"])

    def test_one_cluster_has_every_namespace(self) -> None:
        text = CONFIG_MAP.replace("METADATA", "name: cm, namespace: elsewhere")
        (only,) = fleet_of({"pools/p.yaml": pool(), "w.yaml": text}).companions
        assert (only.backend.name, only.namespace) == ("default", "elsewhere")


def test_pods_join_the_podgroup_of_their_own_file() -> None:
    """Two namespaces may have PodGroups of one name."""
    text = """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: big, namespace: NAME}
spec: {queue: osmo-pool-default-team--shared, minMember: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: of-NAME, namespace: NAME, annotations: {pod-group-name: big}}
spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
"""
    spec = "  namespaces: [one, two]\n"
    files = {f"{name}.yaml": text.replace("NAME", name) for name in ("one", "two")}
    groups = fleet_of({"pools/p.yaml": pool(spec=spec), **files}).pod_groups
    assert {item.namespace: [pod.spec.metadata.name for pod in item.pods] for item in groups} == {
        "one": ["of-one"],
        "two": ["of-two"],
    }


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("team", 'no workload "team", which is a pool; of it there is of-a, sweep'),
        ("team--a", 'no workload "team--a", which is a subpool; of it there is of-a'),
        ("other", 'no workload "other", which is a pool; of it there is no work'),
    ],
)
def test_a_pool_in_place_of_its_work(wanted: str, message: str) -> None:
    files = {
        "pools/p.yaml": pool(),
        "pools/o.yaml": pool("other", 1),
        "subpools/a.yaml": subpool("a", 8),
        "w.yaml": JOB,
        "x.yaml": JOB.replace("pool: team", "pool: team--a").replace("sweep", "of-a"),
    }
    fleet = fleet_of(files)
    assert no_work(fleet, fleet.submissions, "workload", wanted) == message


def test_circles_end_where_a_name_has_none_above() -> None:
    assert circles_of({"a": "gone", "b": None, "c": "b"}) == []
    assert circles_of({"a": "b", "b": "c", "c": "b"}) == [("b", "c")]


def test_only_kai_has_shards() -> None:
    spec = "  nodePool: h100\n"
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: a, scheduler: {type: TYPE}}]}\n"
    for kind, expected in (("kai", {"kai.scheduler/node-pool": "h100"}), ("default", {})):
        (only,) = fleet_of({"tas.yaml": config.replace("TYPE", kind), "pools/p.yaml": pool(spec=spec)}).pools
        assert only.shard_labels == expected
