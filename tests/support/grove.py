"""Makes Grove's documents for tests, and returns the findings of ``validate`` about them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.support.cli import kubectl_tas, pool, write

KEYS = {
    "region": "topology.kubernetes.io/region",
    "zone": "topology.kubernetes.io/zone",
    "datacenter": "example.com/datacenter",
    "block": "example.com/block",
    "rack": "example.com/rack",
    "host": "kubernetes.io/hostname",
    "numa": "example.com/numa",
}
ALL = "region zone datacenter block rack host"
"""Every domain that KAI can have above or at a host."""


def levels(domains: str) -> str:
    """Returns the levels of the domains, as a YAML flow sequence."""
    return "[" + ", ".join(f"{{domain: {domain}, key: {KEYS[domain]}}}" for domain in domains.split()) + "]"


def topology(name: str = "racks", domains: str = "zone rack host", spec: str = "") -> str:
    """Returns a ClusterTopology, or with ``spec``, YAML indented by two spaces, a ClusterTopologyBinding."""
    return f"""\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology{"Binding" if spec else ""}
metadata:
  name: {name}
spec:
  levels: {levels(domains)}
{spec}"""


def binding(reference: str = "by-hand", scheduler: str = "kai-scheduler") -> str:
    """Returns a field of a ClusterTopologyBinding that names an existing Topology."""
    return f"  schedulerTopologyBindings:\n  - {{schedulerName: {scheduler}, topologyReference: {reference}}}\n"


def operator(domains: str = ALL, *, enabled: bool = True, more: str = "") -> str:
    return f"""\
apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
topologyAwareScheduling:
  enabled: {str(enabled).lower()}
  levels: {levels(domains)}
{more}"""


def workflow(domain: str) -> str:
    """Returns a workflow of the pool that requires a level."""
    return f"""
workflow:
  name: train
  pool: team
  tasks: [{{name: t, image: busybox, resource: r}}]
  resources: {{r: {{gpu: 1, topology: [{{key: {domain}, group: g}}]}}}}
"""


def job(domain: str) -> str:
    """Returns a workload of the pool that requires a level of the topology racks."""
    return f"""
apiVersion: batch/v1
kind: Job
metadata:
  name: sweep
  labels: {{kubectl-tas/pool: team}}
  annotations: {{kai.scheduler/topology: racks, kai.scheduler/topology-required-placement: {domain}}}
spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: main, image: busybox}}]}}}}}}
"""


def pod_group(domain: str, named: str = "racks") -> str:
    """Returns a handwritten PodGroup that requires a level of a topology."""
    return f"""
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {{name: by-hand}}
spec:
  queue: osmo-pool-default-team--shared
  minMember: 1
  topologyConstraint: {{topology: {named}, requiredTopologyLevel: {KEYS[domain]}}}
"""


def constraint(asked: str | None, indent: str) -> str:
    """Returns a line with a topologyConstraint: a domain, or a flow mapping in the later spelling; nothing for None."""
    if asked is None:
        return ""
    value = asked if asked.startswith("{") else f"{{packDomain: {asked}}}"
    return f"{indent}topologyConstraint: {value}\n"


def clique(name: str = "server", asked: str | None = None, replicas: int = 1, gpus: int = 0, minimum: int = 0) -> str:
    """Returns a clique of a PodCliqueSet. A ``minimum`` of 0 omits minAvailable."""
    resources = "image: busybox" + (f", resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}" if gpus else "")
    counts = f"replicas: {replicas}" + (f", minAvailable: {minimum}" if minimum else "")
    return (
        f"    - name: {name}\n{constraint(asked, '      ')}"
        f"      spec: {{{counts}, podSpec: {{containers: [{{name: main, {resources}}}]}}}}\n"
    )


def scaling_group(name: str, cliques: str, asked: str | None = None, replicas: int = 1, minimum: int = 1) -> str:
    """Returns a scaling group of a PodCliqueSet."""
    return (
        f"    - name: {name}\n{constraint(asked, '      ')}"
        f"      cliqueNames: [{cliques}]\n      replicas: {replicas}\n      minAvailable: {minimum}\n"
    )


def clique_set(
    asked: str | None = None,
    cliques: str = "",
    groups: str = "",
    *,
    name: str = "chat",
    named: str | None = None,
    replicas: int = 1,
    labels: str = "{kubectl-tas/pool: team}",
) -> str:
    lines = [
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\n",
        f"metadata:\n  name: {name}\n  labels: {labels}\n",
        f"spec:\n  replicas: {replicas}\n  template:\n",
        f"    clusterTopologyName: {named}\n" if named else "",
        constraint(asked, "    "),
        f"    cliques:\n{cliques or clique()}",
        f"    podCliqueScalingGroups:\n{groups}" if groups else "",
    ]
    return "".join(lines)


def declare(root: Path, *documents: str, guarantee: int = 1000) -> Path:
    """Writes a repository of one pool, team, and these documents. Earlier documents are removed."""
    for folder in ("workflows", "topologies"):
        shutil.rmtree(root / folder, ignore_errors=True)
    files = {f"{_folder(document)}/{index}.yaml": document for index, document in enumerate(documents)}
    return write(root, {"pools/team.yaml": pool(guarantee=guarantee), **files})


def runs(root: Path, version: str, kai: str = "0.17") -> Path:
    """Writes a Config with the releases of Grove and KAI."""
    backend = f'{{name: default, scheduler: {{version: "{kai}"}}, grove: {{version: "{version}"}}}}'
    return write(root, {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{backends: [{backend}]}}\n"})


def of(pool_name: str) -> str:
    """Returns the labels of an object that belongs to a pool."""
    return f"{{kubectl-tas/pool: {pool_name}}}"


def two_clusters(root: Path, *documents: str) -> Path:
    """Writes a repository of the backends a and b, a pool named like its backend on each, and these documents."""
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: a}, {name: b}]}\n"
    pools = {f"pools/{name}.yaml": pool(name, spec=f"  backend: {name}\n") for name in "ab"}
    declare(root, *documents)
    (root / "pools/team.yaml").unlink()
    return write(root, {"tas.yaml": config, **pools})


def findings(root: Path, *arguments: str | Path) -> list[tuple[str, str]]:
    """Returns the findings of ``validate`` as pairs of rule and message."""
    result = kubectl_tas("validate", "-C", root, "-o", "json", *arguments)
    assert result.err == ""
    return [(item["rule"], item["message"]) for item in json.loads(result.out)["diagnostics"]]


def rules(root: Path, *arguments: str | Path) -> list[str]:
    """Returns the rules of the findings of ``validate``."""
    return [rule for rule, _ in findings(root, *arguments)]


def live_topology(name: str = "racks", domains: str = "zone rack host") -> dict[str, Any]:
    """Returns a ClusterTopology as a cluster returns it."""
    found = [{"domain": domain, "key": KEYS[domain]} for domain in domains.split()]
    return _live("ClusterTopology", {"name": name}, {"levels": found})


def live_set(
    name: str = "chat", asked: str | None = "rack", named: str | None = "racks", namespace: str = "default"
) -> dict[str, Any]:
    """Returns a PodCliqueSet as a cluster returns it."""
    template: dict[str, Any] = {"cliques": [{"name": "server", "spec": {"roleName": "server", "replicas": 1}}]}
    if named is not None:
        template["clusterTopologyName"] = named
    if asked is not None:
        template["topologyConstraint"] = {"packDomain": asked}
    return _live("PodCliqueSet", {"name": name, "namespace": namespace}, {"replicas": 1, "template": template})


def live_clique(scheduled: int, of: str = "chat") -> dict[str, Any]:
    """Returns a PodClique as a cluster returns it."""
    metadata = {"name": f"{of}-0-server", "namespace": "default", "labels": {"app.kubernetes.io/part-of": of}}
    return {**_live("PodClique", metadata, {"replicas": 2}), "status": {"scheduledReplicas": scheduled}}


def _live(kind: str, metadata: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    written = {"uid": "0", "resourceVersion": "1", "creationTimestamp": None, **metadata}
    return {"apiVersion": "grove.io/v1alpha1", "kind": kind, "metadata": written, "spec": spec}


def state(folder: Path, *items: dict[str, Any]) -> Path:
    """Writes a file with the JSON of ``kubectl get``, and returns its path."""
    path = folder / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}))
    return path


def _folder(document: str) -> str:
    """Returns the folder in which the tool reads a document."""
    decides = ("kind: ClusterTopology", "kind: OperatorConfiguration")
    return "topologies" if any(line.startswith(decides) for line in document.splitlines()) else "workflows"
