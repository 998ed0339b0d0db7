"""What a KAI of a backend is too old for, word by word."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.facts import kai
from kubectl_tas.model.manifest import PodGroupSpec, SubGroup
from tests.support.cli import pool
from tests.support.judged import told

KEYS = "  topology_keys: [{key: zone, label: topology.kubernetes.io/zone}]\n"
TOPOLOGY = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: fabric}
spec: {levels: [{domain: zone, key: topology.kubernetes.io/zone}]}
"""
PLACED = "kai.scheduler/topology-required-placement: zone"


def judged(text: str, release: str, spec: str = "") -> list[str]:
    backend = f'{{name: prod, scheduler: {{version: "{release}"}}}}'
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{queuePrefix: osmo, backends: [{backend}]}}\n"
    files = {"tas.yaml": config, "pools/team.yaml": pool(spec=spec), "topologies/t.yaml": TOPOLOGY}
    return told({**files, **({"workflows/w.yaml": text} if text else {})})


def job(notes: str) -> str:
    """A Job with these annotations, in line 3."""
    metadata = f"{{name: a, labels: {{kubectl-tas/pool: team}}, annotations: {{{notes}}}}}"
    pods = "{spec: {restartPolicy: Never, containers: [{name: m, image: i}]}}"
    return f"apiVersion: batch/v1\nkind: Job\nmetadata: {metadata}\nspec: {{template: {pods}}}\n"


def group(sub_groups: str) -> str:
    """A PodGroup whose SubGroups are in line 6."""
    head = "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: hand, namespace: default}\n"
    return f"{head}spec:\n  queue: osmo-pool-default-team--shared\n  subGroups: [{sub_groups}]\n"


SHARD = """\
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {name: default}
spec: {usageDBConfig: {clientType: prometheus, usageParams: {windowType: cron, cronString: 0 0 * * *}}}
"""
TREE = "{name: top}, {name: mid, parent: top}, {name: leaf, parent: mid, minMember: 1}"
MIXED = f"{TREE}, {{name: odd, parent: top, minMember: 1}}"
SILENT: dict[str, tuple[Any, ...]] = {
    "a pool with a topology, in time": ("", "0.17", "  topology: fabric\n"),
    "how long a gang waits, in time": (job("kai.scheduler/preemption-delay: 60s"), "0.17"),
    "pods beside SubGroups of pods": (group(MIXED), "0.17"),
}
ROWS: dict[str, tuple[Any, ...]] = {
    "a pool with levels": ("", "0.6", KEYS),
    "a pool with a topology": ("", "0.6", "  topology: fabric\n"),
    "a level of the pool": (job(PLACED), "0.6", KEYS),
    "a level of another topology": (job(f"{PLACED}, kai.scheduler/topology: fabric"), "0.6", KEYS),
    "a level of no topology that is known": (job(f"{PLACED}, kai.scheduler/topology: other"), "0.6", KEYS),
    "how long a gang waits": (job("kai.scheduler/preemption-delay: 60s"), "0.6"),
    "how long a gang may be short": (job("kai.scheduler/staleness-grace-period: 60s"), "0.6"),
    "pods beside SubGroups of pods, before they may be": (group(MIXED), "0.10"),
    "a field of a shard that is newer than the field above it": (SHARD, "0.10.2"),
    "pods beside SubGroups of pods, before there are any": (group(MIXED), "0.6"),
}


@pytest.mark.parametrize("name", ROWS)
def test_old_releases(name: str, snapshot: Any) -> None:
    assert "\n".join(judged(*ROWS[name])) == snapshot


@pytest.mark.parametrize("name", SILENT)
def test_old_releases_silent(name: str) -> None:
    assert judged(*SILENT[name]) == []


GROUP = """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: hand}
spec:
  queue: osmo-pool-default-team--shared
  preemptibility: preemptible
  preemptionDelay: 5m
  stalenessGracePeriod: 5m
  minSubGroup: 1
  topologyConstraint: {topology: other, requiredTopologyLevel: topology.kubernetes.io/zone}
  subGroups:
  - {name: a, minSubGroup: 1}
  - {name: b, parent: a, topologyConstraint: {topology: other, requiredTopologyLevel: topology.kubernetes.io/zone}}
"""
SINCE = {
    "spec.topologyConstraint": "0.9",
    "spec.subGroups": "0.9",
    "spec.preemptibility": "0.10",
    "parent on a SubGroup": "0.10",
    "topologyConstraint on a SubGroup": "0.10",
    "spec.minSubGroup": "0.15",
    "minSubGroup on a SubGroup": "0.15",
    "spec.preemptionDelay": "0.17",
    "spec.stalenessGracePeriod": "0.17",
}
"""The releases since which KAI's CRD of PodGroups has a field."""
ALWAYS = {"name", "queue", "priorityClassName", "minMember", "schedulingBackoff", "markUnschedulable"}
"""Fields that every release has."""


def test_each_field_of_a_podgroup_has_its_release() -> None:
    removed = {field for row in kai.TABLE for field in row.removes}
    for model, words in ((PodGroupSpec, "spec.{}"), (SubGroup, "{} on a SubGroup")):
        fields = set(model.model_fields) - ALWAYS - removed
        assert {words.format(field) for field in fields} <= SINCE.keys()
    assert sum(len(model.model_fields.keys() - ALWAYS - removed) for model in (PodGroupSpec, SubGroup)) == len(SINCE)


@pytest.mark.parametrize("release", ["0.6", "0.9", "0.10", "0.14", "0.15", "0.16", "0.17"])
def test_fields_of_podgroups(release: str) -> None:
    backend = f"backends: [{{name: default, scheduler: {{version: '{release}'}}}}]"
    config = {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{{backend}}}\n"}
    found = told({**config, "pools/team.yaml": pool(), "workflows/w.yaml": GROUP})
    lacking = {name: since for name, since in SINCE.items() if int(since[2:]) > int(release[2:])}
    assert {line.partition(" ")[2] for line in found if "version-unsupported" in line} == {
        f"version-unsupported: {name} needs KAI {since} or later; backend default runs {release} (Update KAI there to "
        f"{since} or later, or leave it out.)"
        for name, since in lacking.items()
    }
