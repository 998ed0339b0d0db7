"""PodGroups that are written by hand, word by word."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cli import pool
from tests.support.judged import told

LEVELS = """\
  topology_keys:
  - {key: zone, label: topology.kubernetes.io/zone}
  - {key: rack, label: topology.kubernetes.io/rack}
"""
HEAD = """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: hand, namespace: default}
spec:
  queue: osmo-pool-default-team--shared
"""


def group(*fields: str) -> str:
    """A PodGroup with these fields, from line 6 on."""
    return HEAD + "".join(f"  {field}\n" for field in fields)


def pod(sub_group: str) -> str:
    metadata = (
        f"{{name: p, labels: {{kai.scheduler/subgroup-name: {sub_group}}}, annotations: {{pod-group-name: hand}}}}"
    )
    return f"---\napiVersion: v1\nkind: Pod\nmetadata: {metadata}\nspec: {{containers: [{{name: m, image: i}}]}}\n"


def job(labels: str = "") -> str:
    """Two pods that join the PodGroup."""
    notes = "annotations: {pod-group-name: hand, kai.scheduler/skip-podgrouper: 'true'}"
    pods = "spec: {restartPolicy: Never, containers: [{name: m, image: i}]}"
    template = f"metadata: {{labels: {{{labels}}}, {notes}}}, {pods}"
    spec = f"{{parallelism: 2, completions: 2, template: {{{template}}}}}"
    metadata = "{name: j, labels: {kubectl-tas/pool: team}}"
    return f"---\napiVersion: batch/v1\nkind: Job\nmetadata: {metadata}\nspec: {spec}\n"


def judged(text: str, release: str = "0.17") -> list[str]:
    backend = f'{{name: prod, scheduler: {{version: "{release}"}}}}'
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{queuePrefix: osmo, backends: [{backend}]}}\n"
    found = told({"tas.yaml": config, "pools/team.yaml": pool(spec=LEVELS), "workflows/w.yaml": text})
    return [line.removeprefix("workflows/") for line in found]


TWO = "subGroups: [{name: a, minMember: 1}, {name: b, minMember: 2}]"
EITHER = (
    "subGroups: [{name: t, minSubGroup: 1}, {name: a, minMember: 1, parent: t}, {name: b, minMember: 2, parent: t}]"
)
OPEN = "subGroups: [{name: a, minMember: 1}, {name: b}]"
LEVEL = (
    "topologyConstraint: {topology: osmo-pool-default-team-topology, "
    "requiredTopologyLevel: topology.kubernetes.io/rack, preferredTopologyLevel: topology.kubernetes.io/zone}"
)
SILENT: dict[str, tuple[Any, ...]] = {
    "the sum of its SubGroups on top": (group(TWO, "minMember: 3"),),
    "a SubGroup without a minimum in an older KAI": (group(OPEN), "0.10"),
    "pods of a workload in a SubGroup": (group(TWO) + pod("a") + job("kai.scheduler/subgroup-name: b"),),
    "pods of a workload beside one of no workload": (group("minMember: 3") + pod("") + job(),),
    "one of two SubGroups is enough": (group(EITHER) + pod("a"),),
}
ROWS: dict[str, tuple[Any, ...]] = {
    "a SubGroup in upper case": (group("subGroups: [{name: Leaf, minMember: 1}]"),),
    "a SubGroup of signs": (group("subGroups: [{name: '???', minMember: 1}]"),),
    "another sum than that of its SubGroups on top": (group(TWO, "minMember: 2"),),
    "the sum of its SubGroups on top of a number of them": (group(TWO, "minMember: 3", "minSubGroup: 1"),),
    "a SubGroup without a minimum": (group(OPEN),),
    "levels by their keys": (group("minMember: 1", LEVEL),),
    "levels by their labels, in an older KAI": (group("minMember: 1", LEVEL), "0.12"),
    "too few pods": (group(TWO) + pod("a"),),
    "pods of a workload in no SubGroup": (group(TWO) + pod("a") + job(),),
    "none of two SubGroups is enough": (group(EITHER) + pod("b"),),
}


@pytest.mark.parametrize("name", ROWS)
def test_podgroups(name: str, snapshot: Any) -> None:
    assert "\n".join(judged(*ROWS[name])) == snapshot


@pytest.mark.parametrize("name", SILENT)
def test_podgroups_silent(name: str) -> None:
    assert judged(*SILENT[name]) == []
