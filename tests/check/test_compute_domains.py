"""ComputeDomains beside the pods that claim a channel: which pods count, and what keeps a gang in one NVLink domain."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import pool, write
from tests.support.marked import Found, findings, marked

PATH = "workflows/w.yaml"
LEVELS = """\
  topology_keys:
  - {key: zone, label: topology.kubernetes.io/zone}
  - {key: rack, label: nvidia.com/gpu.clique}
  - {key: host, label: kubernetes.io/hostname}
"""
DOMAIN = """\
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: nvlink}
spec: {numNodes: 0, channel: {resourceClaimTemplate: {name: channels}}}
"""
CLAIMS = "resourceClaims: [{name: channel, resourceClaimTemplateName: channels}]"


def container(name: str = "main", gpus: int = 4, *, claims: bool = True) -> str:
    """Containers of a pod."""
    own = ", claims: [{name: channel}]" if claims else ""
    limits = f"{{nvidia.com/gpu: {gpus}}}" if gpus else "{memory: 1Gi}"
    return f'containers: [{{name: {name}, image: "a:1", resources: {{limits: {limits}{own}}}}}]'


def job(
    pods: int = 2, more: str = "", *, name: str = "train", labels: str = "", asks: str = "", claims: bool = True
) -> str:
    """A Job whose pods claim a channel; ``more`` is what they say beside it, ``asks`` an annotation of the Job."""
    own = f"{CLAIMS}, " if claims else ""
    return f"""\
---
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, labels: {{kubectl-tas/pool: team{labels}}}, annotations: {{{asks}}}}}
spec:
  parallelism: {pods}
  completions: {pods}
  template: {{spec: {{restartPolicy: Never, {own}{container(gpus=4 if claims else 0, claims=claims)}{more}}}}}
"""


def clique_set(replicas: int, pods: int) -> str:
    """A PodCliqueSet whose pods claim a channel."""
    spec = f"{{roleName: c, replicas: {pods}, minAvailable: {pods}, podSpec: {{{CLAIMS}, {container()}}}}}"
    return f"""\
---
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {{name: chat, labels: {{kubectl-tas/pool: team}}}}
spec: {{replicas: {replicas}, template: {{cliques: [{{name: c, spec: {spec}}}]}}}}
"""


def found(root: Path, text: str, spec: str = LEVELS, more: dict[str, str] | None = None) -> list[Found]:
    """What is wrong in a repository with a ComputeDomain and this work; ``spec`` is what its pool says."""
    return findings(write(root, {"pools/p.yaml": pool(spec=spec), PATH: text, **(more or {})}))


def spread(root: Path, text: str, spec: str = LEVELS) -> list[str]:
    """The rules that work with a ComputeDomain breaks."""
    return [rule for _, rule, _, _ in found(root, DOMAIN + text, spec)]


def node_affinity(condition: str, how: str = "required") -> str:
    """What pods say of their nodes."""
    if how != "required":
        term = f"[{{weight: 1, preference: {{matchExpressions: [{condition}]}}}}]"
        return f", affinity: {{nodeAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: {term}}}}}"
    term = f"{{nodeSelectorTerms: [{{matchExpressions: [{condition}]}}]}}"
    return f", affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {term}}}}}"


def pod_affinity(key: str) -> str:
    """What pods say of others that they must be near."""
    term = f"[{{topologyKey: {key}, labelSelector: {{}}}}]"
    return f", affinity: {{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {term}}}}}"


CLIQUE = "key: nvidia.com/gpu.clique"


@pytest.mark.parametrize(
    ("more", "is_near"),
    [
        (", nodeSelector: {nvidia.com/gpu.clique: a.1}", True),
        (", nodeSelector: {topology.kubernetes.io/zone: a}", False),
        (node_affinity(f"{{{CLIQUE}, operator: In, values: [a.1]}}"), True),
        (node_affinity(f"{{{CLIQUE}, operator: In, values: [a.1, a.2]}}"), False),
        (node_affinity(f"{{{CLIQUE}, operator: NotIn, values: [a.1]}}"), False),
        (node_affinity(f"{{{CLIQUE}, operator: Exists}}"), False),
        (node_affinity("{key: topology.kubernetes.io/zone, operator: In, values: [a]}"), False),
        (node_affinity(f"{{{CLIQUE}, operator: In, values: [a.1]}}", "preferred"), False),
        (pod_affinity("nvidia.com/gpu.clique"), True),
        (pod_affinity("topology.kubernetes.io/zone"), False),
    ],
)
def test_pods_that_keep_themselves_in_one_domain(repository: Path, more: str, is_near: bool) -> None:
    assert spread(repository, job(2, more)) == ([] if is_near else ["compute-domain-spread"])


@pytest.mark.parametrize(
    "more",
    [", nodeSelector: 5", ", affinity: near", ", affinity: 5", node_affinity(f"{{{CLIQUE}, operator: In, values: 5}}")],
)
def test_places_of_another_type_keep_nothing_near(repository: Path, more: str) -> None:
    assert spread(repository, job(2, more)) == ["compute-domain-spread", "wrong-type"]


@pytest.mark.parametrize(
    ("asks", "expected"),
    [("rack", []), ("host", []), ("zone", ["compute-domain-spread"])],
)
def test_a_level_at_or_below_the_domain_is_required(repository: Path, asks: str, expected: list[str]) -> None:
    annotation = f"kai.scheduler/topology-required-placement: {asks}"
    assert spread(repository, job(2, asks=annotation)) == expected


def test_a_preferred_level_keeps_nothing_near(repository: Path) -> None:
    annotation = "kai.scheduler/topology-preferred-placement: rack"
    assert spread(repository, job(2, asks=annotation)) == ["compute-domain-spread"]


def test_one_host_is_in_one_domain_though_no_level_is_of_domains(repository: Path) -> None:
    spec = "".join(line for line in LEVELS.splitlines(keepends=True) if "key: rack" not in line)
    assert spread(repository, job(2, asks="kai.scheduler/topology-required-placement: host"), spec) == []


def test_nodes_of_the_pool_are_of_one_domain(repository: Path) -> None:
    spec = f"{LEVELS}  nodes: {{selector: {{nvidia.com/gpu.clique: a.1}}}}\n"
    assert spread(repository, job(2), spec) == []
    assert spread(repository, job(2), spec.replace("gpu.clique: a.1", "gpu.product: b")) == ["compute-domain-spread"]


@pytest.mark.parametrize(("pods", "expected"), [(1, []), (2, ["compute-domain-spread"])])
def test_a_set_with_one_pod_a_gang(repository: Path, pods: int, expected: list[str]) -> None:
    assert spread(repository, clique_set(1, pods)) == expected


def test_a_set_of_more_gangs_than_are_previewed(repository: Path) -> None:
    assert spread(repository, clique_set(1001, 2)) == ["compute-domain"]


def test_gangs_of_several_workloads(repository: Path) -> None:
    label = ", kubectl-tas/gang: pair"
    both = job(1, labels=label) + job(1, name="other", labels=label)
    assert spread(repository, job(1, labels=label)) == []
    assert spread(repository, both) == ["compute-domain-spread"] * 2
    near = job(2, labels=label, asks="kai.scheduler/topology-required-placement: rack")
    assert spread(repository, near + job(1, name="other", labels=label, claims=False)) == []


def test_one_pod_claims_channels_of_several_nodes(repository: Path) -> None:
    text, place = marked(PATH, DOMAIN.replace("numNodes: 0", "numNodes: ^4") + job(1))
    message = "numNodes is 4, but 1 pod claims a channel of it, each on a node of its own"
    hint = "Write 1; or 0, which drivers from 25.8 on recommend."
    assert found(repository, text) == [(place, "compute-domain", message, hint)]


@pytest.mark.parametrize(
    ("says", "expected"),
    [(CLAIMS, ["gpus-unknown"]), ("volumes: [{name: a, secret: {secretName: channels}}]", ["compute-domain"])],
    ids=["it claims a channel", "it names a Secret that is called likewise"],
)
def test_a_pod_template_of_a_pool(repository: Path, says: str, expected: list[str]) -> None:
    template = f"apiVersion: tas/v1alpha1\nkind: PodTemplate\nmetadata: {{name: a}}\ntemplate: {{spec: {{{says}}}}}\n"
    spec = f"{LEVELS}  common_pod_template: [a]\n"
    assert [rule for _, rule, _, _ in found(repository, DOMAIN, spec, {"pools/a.yaml": template})] == expected


def test_no_pod_claims_a_channel(repository: Path) -> None:
    text, place = marked(PATH, DOMAIN.replace("channels", "^channels"))
    hint = "Name channels as resourceClaimTemplateName in resourceClaims of the pods."
    message = "no pod claims a channel of this ComputeDomain"
    assert found(repository, text) == [(place, "compute-domain", message, hint)]


@pytest.mark.parametrize(
    ("gpus", "replicas", "expected"), [(0, 1, False), (1, 0, False), (1, 1, True)], ids=["no GPU", "no pod", "GPU"]
)
def test_a_launcher_without_gpus_claims_no_channel(repository: Path, gpus: int, replicas: int, expected: bool) -> None:
    master = f"Master: {{replicas: {replicas}, template: {{spec: {{{container('pytorch', gpus, claims=False)}}}}}}}"
    worker = f"Worker: {{replicas: 2, template: {{spec: {{{CLAIMS}, {container('pytorch')}}}}}}}"
    text = f"""\
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
  labels: {{kubectl-tas/pool: team}}
  annotations: {{kai.scheduler/topology-required-placement: rack}}
spec: {{pytorchReplicaSpecs: {{{master}, {worker}}}}}
"""
    messages = [message for _, _, message, _ in found(repository, DOMAIN + text)]
    said = "these pods of PyTorchJob train have GPUs and claim no channel of its ComputeDomain"
    assert (said in messages) == expected, messages


def pod_group(queue: str, pods: int, more: str = "") -> str:
    """A PodGroup that is written by hand, and its pods."""
    members = "".join(
        f"""\
---
apiVersion: v1
kind: Pod
metadata: {{name: pod-{index}, annotations: {{pod-group-name: pair, kai.scheduler/skip-podgrouper: "true"}}}}
spec: {{restartPolicy: Never, schedulerName: kai-scheduler, {CLAIMS}, {container()}}}
"""
        for index in range(pods)
    )
    return f"""\
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {{name: pair}}
spec: {{queue: {queue}, priorityClassName: osmo-high, minMember: {pods}{more}}}
{members}"""


def test_a_podgroup_of_a_queue_that_no_pool_has(repository: Path) -> None:
    assert spread(repository, pod_group("somebody", 2)) == ["podgroup-queue"]


def test_a_podgroup_of_one_pod(repository: Path) -> None:
    assert spread(repository, pod_group("osmo-pool-default-team--shared", 1)) == []


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("nvidia.com/gpu.clique", []),
        ("topology.kubernetes.io/zone", ["compute-domain-spread"]),
        ("topology.kubernetes.io/region", ["compute-domain-spread", "constraint-topology"]),
        ("example.com/row", ["constraint-topology"]),
    ],
)
def test_a_level_of_a_podgroup_may_be_none_of_its_topology(repository: Path, level: str, expected: list[str]) -> None:
    ask = f", topologyConstraint: {{topology: osmo-pool-default-team-topology, requiredTopologyLevel: {level}}}"
    assert sorted(spread(repository, pod_group("osmo-pool-default-team--shared", 2, ask))) == expected


def test_a_release_without_levels_is_told_nothing_of_them(repository: Path) -> None:
    config = 'apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: prod, scheduler: {version: "0.8"}}]}\n'
    text = DOMAIN + job(2)
    assert found(repository, text, "", {"tas.yaml": config}) == []
    assert [item[1] for item in found(repository, text, "", {"tas.yaml": config.replace("0.8", "0.9")})] == [
        "compute-domain-spread"
    ]


def test_a_claim_without_a_name_is_one_finding(repository: Path) -> None:
    text = job(1).replace("{name: channel, resource", "{resource").replace(", claims: [{name: channel}]", "")
    assert spread(repository, text) == ["missing-field"]
