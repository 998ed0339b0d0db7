"""Tests that Argo CD and Flux apply what is pushed: each step of the life of a pool, by the files of integrations/."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.delivery import Delivery, deliver
from tests.support.git_server import GitServer
from tests.support.gitops import ArgoCD, Flux, GitOps, configure, render, written_for
from tests.support.kubelets import MERGE
from tests.support.pyyaml import safe_load_all
from tests.support.rendered import text
from tests.support.running import QUEUE, SCHEDULING, Running
from tests.support.sleeping import LEVELS, RESEARCH, SHARED, TAS, job, nodes, workflow

pytestmark = pytest.mark.gitops
Begin = Callable[..., Delivery]
both_tools = pytest.mark.parametrize("tool", ["argocd", "flux"], indirect=True)
only_flux = pytest.mark.parametrize("tool", ["flux"], indirect=True)
only_argocd = pytest.mark.parametrize("tool", ["argocd"], indirect=True)
both_layouts = pytest.mark.parametrize("layout", ["flat", "sharded"])
SETTLED_SECONDS = 25
"""Time after which a tool would have reacted to a change. Self-heal of Argo CD takes up to 20 seconds."""


@pytest.fixture
def begin(tool: GitOps, server: GitServer, work_tree: Path) -> Begin:
    """Writes files into a repository, and lets the tool apply it."""

    def begun(files: dict[str, str], layout: str = "flat") -> Delivery:
        write(work_tree, {"tas.yaml": TAS} | files)
        configure(work_tree, gitops=tool.name, layout=layout, createNamespaces=True)
        return deliver(tool, server, work_tree, layout)

    return begun


TEAM = {"pools/team.yaml": pool(guarantee=32, spec=LEVELS), "subpools/research.yaml": subpool("research", 16)}
"""A pool of 32 GPUs, 16 of them a subpool's."""


@both_tools
@both_layouts
def test_a_first_sync_applies_all_and_a_second_changes_nothing(tool: GitOps, layout: str, begin: Begin) -> None:
    cluster = tool.cluster
    cluster.have_nodes(nodes(4))
    delivery = begin(TEAM | {"workflows/a.yaml": workflow("a", 2, 8), "workflows/b.yaml": job("b", 2, 8)}, layout)
    cluster.wait("all run", lambda: len(cluster.bound()) == 4)
    before = delivery.versions()
    (delivery.root / "README.md").write_text("A file that no tool applies.\n")
    delivery.apply()
    time.sleep(SETTLED_SECONDS)
    assert all(sync.is_done for sync in tool.syncs()), tool.syncs()
    assert delivery.versions() == before


@both_tools
def test_a_quota_that_somebody_changes_is_put_back(tool: GitOps, begin: Begin) -> None:
    begin(TEAM)
    path = f"{SCHEDULING}/v2/queues/{RESEARCH}"
    tool.cluster.api.call("PATCH", path, {"spec": {"resources": {"gpu": {"quota": 5}}}}, MERGE)
    tool.refresh()
    tool.cluster.wait("it is 16 again", lambda: quota(tool.cluster, RESEARCH) == 16)


def quota(cluster: Running, queue: str) -> float:
    return float(cluster.queue(queue)["spec"]["resources"]["gpu"]["quota"])


@both_tools
def test_a_raised_quota_starts_work_and_a_lowered_one_ends_none(tool: GitOps, begin: Begin) -> None:
    cluster = tool.cluster
    cluster.have_nodes(nodes(4))
    delivery = begin(TEAM | {"workflows/a.yaml": workflow("a", 2, 8), "workflows/b.yaml": workflow("b", 1, 8)})
    cluster.wait("one of them runs", cluster.bound)
    assert len(cluster.settled()) in (1, 2)
    assert kubectl_tas("-C", delivery.root, "subpool", "update", "team", "research", "--quota=24").code == 0
    delivery.apply()
    cluster.wait("all run", lambda: len(cluster.bound()) == 3)
    cluster.wait("its queue is charged", lambda: cluster.held(RESEARCH) == 24)
    uids = delivery.uids()
    assert kubectl_tas("-C", delivery.root, "subpool", "update", "team", "research", "--quota=8").code == 0
    delivery.apply()
    cluster.settled()
    assert (quota(cluster, RESEARCH), delivery.uids()) == (8, uids)


@both_tools
def test_an_immutable_job_is_refused_until_its_label_says_replace(tool: GitOps, begin: Begin) -> None:
    cluster = tool.cluster
    cluster.have_nodes(nodes(4))
    path, first = "workflows/a.yaml", job("a", 2, 8)
    delivery = begin(TEAM | {path: first})
    cluster.wait("it runs", lambda: len(cluster.bound()) == 2)
    uids = delivery.uids()
    changed = job("a", 2, 4)
    write(delivery.root, {path: changed})
    delivery.push()
    tool.refresh()
    tool.wait_for_refusal("immutable")
    assert delivery.uids() == uids
    replaced = changed.replace("labels: {", 'labels: {kubectl-tas/replace: "true", ')
    write(delivery.root, {path: replaced})
    delivery.apply()
    cluster.wait("its new pods run", lambda: len(cluster.bound()) == 2 and not uids.items() & delivery.uids().items())
    uids = delivery.uids()
    write(delivery.root, {path: changed})
    delivery.apply()
    cluster.settled()
    assert delivery.uids() == uids


@both_tools
def test_removed_work_is_pruned(tool: GitOps, begin: Begin) -> None:
    cluster = tool.cluster
    cluster.have_nodes(nodes(4))
    delivery = begin(TEAM | {"workflows/a.yaml": workflow("a", 2, 8), "workflows/b.yaml": job("b", 2, 4)})
    cluster.wait("all run", lambda: len(cluster.bound()) == 4)
    kept = {name: uid for name, uid in delivery.uids().items() if name.startswith("b")}
    (delivery.root / "workflows/a.yaml").unlink()
    delivery.apply()
    cluster.wait("the workflow is gone", lambda: delivery.uids() == kept)
    (delivery.root / "workflows/b.yaml").unlink()
    delivery.apply()
    cluster.wait("nothing is left", lambda: not cluster.api.items("/api/v1/namespaces/ml/pods"))
    cluster.wait("no queue is charged", lambda: not cluster.held(RESEARCH) and not cluster.held(SHARED))


@both_tools
def test_a_level_is_added_below_work_that_runs(tool: GitOps, begin: Begin) -> None:
    cluster = tool.cluster
    cluster.have_nodes(nodes(4))
    delivery = begin(TEAM | {"workflows/a.yaml": workflow("a", 2, 8)})
    cluster.wait("it runs", lambda: len(cluster.bound()) == 2)
    uids = delivery.uids()
    levels = f"{LEVELS}  - {{key: host, label: kubernetes.io/hostname}}\n"
    write(delivery.root, {"pools/team.yaml": pool(guarantee=32, spec=levels)})
    delivery.apply()
    (topology,) = cluster.api.items("/apis/kai.scheduler/v1alpha1/topologies")
    assert [level["nodeLabel"] for level in topology["spec"]["levels"]] == [
        "example.com/rack",
        "kubernetes.io/hostname",
    ]
    cluster.settled()
    assert delivery.uids() == uids


@both_tools
def test_a_renamed_pool_takes_its_workflow_along(tool: GitOps, begin: Begin) -> None:
    """The names of its pods change with that of the pool, so it starts again."""
    cluster = tool.cluster
    cluster.have_nodes(nodes(4))
    delivery = begin(TEAM | {"workflows/a.yaml": workflow("a", 2, 8)})
    cluster.wait("it runs", lambda: len(cluster.bound()) == 2)
    before = delivery.uids()
    assert kubectl_tas("pool", "rename", "team", "crew", "-C", delivery.root).code == 0
    delivery.apply()
    new = RESEARCH.replace("team", "crew")
    cluster.wait("the new queue is charged", lambda: cluster.held(new) == 16)
    cluster.wait("the old pods are gone", lambda: not before.keys() & delivery.uids().keys())
    assert cluster.queue(RESEARCH) == {}
    assert {pod["metadata"]["labels"][QUEUE] for pod in cluster.pods().values()} == {new}


@both_tools
def test_a_subpool_is_retired_and_drained(tool: GitOps, begin: Begin) -> None:
    cluster = tool.cluster
    cluster.have_nodes(nodes(4))
    delivery = begin(TEAM | {"workflows/a.yaml": workflow("a", 1, 8)})
    cluster.wait("it runs", lambda: cluster.held(RESEARCH) == 8)
    uids = delivery.uids()
    assert cluster.tas(delivery.root, "subpool", "retire", "team", "research").code == 0
    delivery.apply()
    cluster.settled()
    assert delivery.uids() == uids
    (pod,) = cluster.pods().values()
    cluster.api.end(pod)
    (delivery.root / "workflows/a.yaml").unlink()
    delivery.apply()
    cluster.wait("its queue is idle", lambda: cluster.held(RESEARCH) == 0)
    drained = cluster.tas(delivery.root, "subpool", "drain")
    assert drained.code == 0, drained.err
    delivery.apply()
    assert cluster.queue(RESEARCH) == {}
    assert quota(cluster, SHARED) == 32


WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {kubectl-tas/pool: team}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: busybox, ports: [{name: http, containerPort: 80}], resources: {limits: {nvidia.com/gpu: 1}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}
"""
PORTS = "ports: [{name: http, port: 80, targetPort: http}]"
TARGET = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 1, maxReplicas: 1"
CPU_USE = "{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}"
COMPANIONS: dict[str, tuple[str, str, str]] = {
    "config": ("v1", "ConfigMap", "data: {a: b}"),
    "account": ("v1", "ServiceAccount", ""),
    "claim": ("v1", "PersistentVolumeClaim", "accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}"),
    "service": ("v1", "Service", f"selector: {{app: web}}, {PORTS}"),
    "headless-service": ("v1", "Service", f"clusterIP: None, selector: {{app: web}}, {PORTS}"),
    "node-port": ("v1", "Service", f"type: NodePort, selector: {{app: web}}, {PORTS}"),
    "load-balancer": ("v1", "Service", f"type: LoadBalancer, selector: {{app: web}}, {PORTS}"),
    "autoscaler": ("autoscaling/v2", "HorizontalPodAutoscaler", f"{TARGET}, metrics: [{CPU_USE}]"),
    "old-autoscaler": ("autoscaling/v1", "HorizontalPodAutoscaler", TARGET),
    "disruption-budget": ("policy/v1", "PodDisruptionBudget", "minAvailable: 1, selector: {matchLabels: {app: web}}"),
    "ingress": ("networking.k8s.io/v1", "Ingress", "defaultBackend: {service: {name: web, port: {name: http}}}"),
    "network-policy": ("networking.k8s.io/v1", "NetworkPolicy", "podSelector: {matchLabels: {app: web}}"),
    "compute-domain": (
        "resource.nvidia.com/v1beta1",
        "ComputeDomain",
        "numNodes: 1, channel: {resourceClaimTemplate: {name: x}}",
    ),
    "route": ("gateway.networking.k8s.io/v1", "HTTPRoute", "rules: [{backendRefs: [{name: web, port: 80}]}]"),
    "service-monitor": ("monitoring.coreos.com/v1", "ServiceMonitor", "selector: {}, endpoints: [{port: http}]"),
    "pod-monitor": ("monitoring.coreos.com/v1", "PodMonitor", "selector: {}, podMetricsEndpoints: [{port: http}]"),
}
"""Companions by what they are: apiVersion, kind and fields of the spec. Nothing in the cluster acts on them."""


OTHERS = ("HTTPRoute", "ServiceMonitor", "PodMonitor")
"""Kinds that the Config has to name."""


def companion(name: str) -> str:
    version, kind, fields = COMPANIONS[name]
    head = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}}}\n"
    return head + ("data: {a: b}\n" if kind == "ConfigMap" else f"spec: {{{fields}}}\n" if fields else "")


@both_tools
@both_layouts
def test_work_is_applied_beside_every_companion(tool: GitOps, layout: str, begin: Begin) -> None:
    """No controller gives an Ingress or a Service an address, no volume is made, and no metrics are there."""
    kinds = {name: {"apiVersion": version, "kind": kind} for name, (version, kind, _) in COMPANIONS.items()}
    names = [name for name, item in kinds.items() if not tool.cluster.lacks([item])]
    added = [json.dumps(kinds[name]) for name in names if kinds[name]["kind"] in OTHERS]
    tool.cluster.have_nodes(nodes(1))
    delivery = begin(
        {
            "tas.yaml": f"{TAS}  companions: [{', '.join(added)}]\n",
            "pools/team.yaml": pool(guarantee=32),
            "workflows/web.yaml": "---\n".join([WEB, *map(companion, names)]),
        },
        layout,
    )
    assert delivery.lacking() == set()
    tool.cluster.wait("its pod runs", tool.cluster.bound)


@both_tools
@both_layouts
def test_what_init_writes_is_applied_as_it_is(tool: GitOps, layout: str, server: GitServer, work_tree: Path) -> None:
    work = {"workflows/a.yaml": workflow("a", 2, 8), "workflows/b.yaml": job("b", 2, 8)}
    write(work_tree, {"tas.yaml": TAS, **TEAM, **work})
    configure(work_tree, gitops=tool.name, layout=layout, createNamespaces=True)
    delivery = Delivery(tool, server.offer(work_tree))
    tool.cluster.have_nodes(nodes(4))
    written = kubectl_tas("init", "--ci=none", f"--gitops={tool.name}", work_tree)
    assert written.code == 0, written.err
    revision = delivery.push()
    file = "argocd/application.yaml" if isinstance(tool, ArgoCD) else "flux/gpu-pools.yaml"
    tool.begin(delivery.remote, text(work_tree / file))
    if isinstance(tool, ArgoCD):
        checks = str(work_tree / "argocd/health.yaml")
        tool.cluster.must("patch", "configmap", "argocd-cm", "--namespace=argocd", f"--patch-file={checks}")
    delivery.wait(revision)
    assert delivery.lacking() == set()
    tool.cluster.wait("all run", lambda: len(tool.cluster.bound()) == 4)


@only_argocd
def test_a_progressive_sync_applies_the_platform_first(tool: ArgoCD, begin: Begin) -> None:
    """A later commit may come to a pool first: Argo CD holds pools back when it sees that the platform differs."""
    cluster = tool.cluster
    cluster.have_nodes(nodes(4))
    delivery = begin(TEAM | {"workflows/a.yaml": workflow("a", 2, 8)}, "sharded")
    if not tool.steps():
        pytest.skip("the ApplicationSet controller runs without --enable-progressive-syncs")
    ((_, end),) = tool.first_syncs("platform")
    assert all(end <= begun for begun, _ in tool.first_syncs("pools"))
    write(delivery.root, {"pools/crew.yaml": pool("crew", guarantee=8)})
    write(delivery.root, {f"workflows/{name}.yaml": job(name, 1, 8, pool=name) for name in ("team", "crew")})
    delivery.apply()
    cluster.wait("all run", lambda: len(cluster.bound()) == 4)
    cluster.wait("all steps are done", lambda: set(tool.steps().values()) == {"Healthy"})


@only_flux
def test_two_kustomizations_take_over_from_one(tool: Flux, server: GitServer, work_tree: Path) -> None:
    """A single Kustomization for the flat layout had the name of the second one."""
    cluster = tool.cluster
    cluster.have_nodes(nodes(4))
    write(
        work_tree,
        {"tas.yaml": TAS, **TEAM, "workflows/a.yaml": workflow("a", 2, 8), "workflows/b.yaml": job("b", 2, 8)},
    )
    configure(work_tree, gitops="flux", createNamespaces=True)
    render(work_tree)
    delivery = Delivery(tool, server.offer(work_tree))
    revision = delivery.remote.push()
    source, flat = written_for(tool, work_tree, "flat")
    _, single = safe_load_all(flat)
    del single["spec"]["patches"], single["spec"]["dependsOn"]
    tool.begin(delivery.remote, source, yaml.safe_dump(single))
    tool.wait(revision, number=1)
    cluster.wait("all run", lambda: len(cluster.bound()) == 4)
    before = delivery.versions(), delivery.uids()
    tool.begin(delivery.remote, *written_for(tool, work_tree, "flat"))
    tool.wait(revision, number=2)
    time.sleep(SETTLED_SECONDS)
    assert (delivery.versions(), delivery.uids()) == before


WITH_ACCOUNT = """\
apiVersion: v1
kind: Pod
metadata: {name: notebook, labels: {kubectl-tas/pool: team}}
spec:
  serviceAccountName: notebook
  containers: [{name: c, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: notebook}
"""


@both_tools
@both_layouts
def test_a_pod_comes_with_its_account(tool: GitOps, layout: str, begin: Begin) -> None:
    """The API server refuses a pod whose ServiceAccount is not there, also in a dry run."""
    tool.cluster.have_nodes(nodes(1))
    begin({"pools/team.yaml": pool(guarantee=32), "workflows/notebook.yaml": WITH_ACCOUNT}, layout)
    tool.cluster.wait("it runs", tool.cluster.bound)


SET = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: chat, labels: {kubectl-tas/pool: team}}
spec:
  replicas: 1
  template:
    topologyConstraint: {topologyName: fabric, packDomain: rack}
    cliques:
    - name: server
      spec:
        roleName: server
        replicas: 2
        podSpec:
          containers: [{name: c, image: busybox, resources: {limits: {nvidia.com/gpu: 4}}}]
"""


FABRIC = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: fabric}
spec:
  levels:
  - {domain: rack, key: example.com/rack}
  - {domain: host, key: kubernetes.io/hostname}
"""


@both_tools
@both_layouts
def test_a_set_comes_with_its_topology(tool: GitOps, layout: str, begin: Begin) -> None:
    """Grove's webhook refuses a PodCliqueSet whose ClusterTopologyBinding is not there, also in a dry run."""
    cluster = tool.cluster
    if cluster.lacks([{"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopologyBinding"}]):
        pytest.skip("the cluster lacks Grove")
    cluster.have_nodes(nodes(2))
    tas = TAS.replace('version: "0.17"}', 'version: "0.17"}, grove: {version: 0.1.0-alpha.11}')
    team = {"pools/team.yaml": pool(guarantee=32, spec="  topology: fabric\n"), "workflows/chat.yaml": SET}
    begin(team | {"tas.yaml": tas, "topologies/fabric.yaml": FABRIC}, layout)
    cluster.wait("its pods run", lambda: len(cluster.bound()) == 2)


SCALED = WEB.replace("  replicas: 1\n", "") + f"---\n{companion('autoscaler')}".replace(
    "maxReplicas: 1", "maxReplicas: 4"
)


@both_tools
def test_what_an_autoscaler_sets_stays(tool: GitOps, begin: Begin) -> None:
    cluster = tool.cluster
    cluster.have_nodes(nodes(1))
    begin({"pools/team.yaml": pool(guarantee=32), "workflows/web.yaml": SCALED})
    cluster.wait("its pod runs", cluster.bound)
    cluster.must("scale", "deployment", "web", "--namespace=ml", "--replicas=3")
    tool.refresh()
    cluster.wait("three pods run", lambda: len(cluster.bound()) == 3)
    time.sleep(SETTLED_SECONDS)
    assert len(cluster.bound()) == 3
    assert all(sync.is_done for sync in tool.syncs()), tool.syncs()


@only_argocd
def test_server_side_diff_finds_no_difference(tool: ArgoCD, begin: Begin) -> None:
    tool.cluster.have_nodes(nodes(5))
    files = {"workflows/a.yaml": workflow("a", 2, 8), "workflows/b.yaml": job("b", 2, 8), "workflows/web.yaml": WEB}
    delivery = begin(TEAM | files)
    tool.cluster.wait("all run", lambda: len(tool.cluster.bound()) == 5)
    tool.annotate("argocd.argoproj.io/compare-options", "ServerSideDiff=true")
    (delivery.root / "README.md").write_text("A file that no tool applies.\n")
    before = delivery.versions()
    delivery.apply()
    time.sleep(SETTLED_SECONDS)
    assert all(sync.is_done for sync in tool.syncs()), tool.syncs()
    assert delivery.versions() == before


@only_argocd
def test_the_plugin_renders_in_argocd(tool: ArgoCD, server: GitServer, work_tree: Path) -> None:
    write(work_tree, {"tas.yaml": TAS, **TEAM, "workflows/a.yaml": workflow("a", 2, 8)})
    configure(work_tree, gitops="argocd", createNamespaces=True)
    tool.cluster.have_nodes(nodes(4))
    remote = server.offer(work_tree)
    revision = remote.push()
    tool.begin(remote, text(tool.folder / "plugin/application.yaml"))
    tool.cluster.wait(
        "it is compared", lambda: [sync for sync in tool.syncs() if sync.revision or sync.message.strip()]
    )
    if message := next((sync.message for sync in tool.syncs() if "plugin" in sync.message), ""):
        pytest.skip(f"Argo CD has no such plugin: {message}")
    tool.wait(revision, number=1)
    tool.cluster.wait("the gang runs", lambda: len(tool.cluster.bound()) == 2)
