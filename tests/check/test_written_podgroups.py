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
ROWS: dict[str, tuple[Any, ...]] = {
    "a SubGroup in upper case": (
        group("subGroups: [{name: Leaf, minMember: 1}]"),
        [
            'w.yaml:6:22 subgroup-name: the SubGroup name "Leaf" must be at most 63 lower-case letters, digits '
            "and '-' (For example: leaf.)"
        ],
    ),
    "a SubGroup of signs": (
        group("subGroups: [{name: '???', minMember: 1}]"),
        [
            'w.yaml:6:22 subgroup-name: the SubGroup name "???" must be at most 63 lower-case letters, digits '
            "and '-' (Choose another name.)"
        ],
    ),
    "the sum of its SubGroups on top": (group(TWO, "minMember: 3"), []),
    "another sum than that of its SubGroups on top": (
        group(TWO, "minMember: 2"),
        [
            "w.yaml:7:14 subgroup-minimum: KAI ignores minMember of a PodGroup that has SubGroups (Remove it; "
            "KAI writes 3 there, the sum of its leaves, where minSubGroup says nothing.)"
        ],
    ),
    "the sum of its SubGroups on top of a number of them": (
        group(TWO, "minMember: 3", "minSubGroup: 1"),
        [
            "w.yaml:7:14 subgroup-minimum: KAI ignores minMember of a PodGroup that has SubGroups (Remove it; "
            "KAI writes 3 there, the sum of its leaves, where minSubGroup says nothing.)"
        ],
    ),
    "a SubGroup without a minimum": (
        group(OPEN),
        ['w.yaml:6:40 subgroup-minimum: SubGroup "b" has no children, so KAI demands minMember (Add minMember.)'],
    ),
    "a SubGroup without a minimum in an older KAI": (group(OPEN), "0.10", []),
    "levels by their keys": (
        group("minMember: 1", LEVEL),
        [
            'w.yaml:7:143 placement-order: the preferred level "zone" is coarser than the required "rack": the '
            "pods never run (Nothing is finer; leave it out.)"
        ],
    ),
    "levels by their labels, in an older KAI": (
        group("minMember: 1", LEVEL),
        "0.12",
        [
            'w.yaml:7:143 placement-order: the preferred level "topology.kubernetes.io/zone" is coarser than the '
            'required "topology.kubernetes.io/rack": the pods never run (Nothing is finer; leave it out.)'
        ],
    ),
    "too few pods": (
        group(TWO) + pod("a"),
        [
            'w.yaml:6:61 podgroup-short: SubGroup "b" needs 2 Pods before any starts, and there are 0 Pods: it '
            "waits for ever (Declare the others too, or lower minMember.)"
        ],
    ),
    "pods of a workload in a SubGroup": (group(TWO) + pod("a") + job("kai.scheduler/subgroup-name: b"), []),
    "pods of a workload in no SubGroup": (
        group(TWO) + pod("a") + job(),
        [
            'w.yaml:6:61 podgroup-short: SubGroup "b" needs 2 Pods before any starts, and there are 0 Pods: it '
            "waits for ever (Declare the others too, or lower minMember.)"
        ],
    ),
    "pods of a workload beside one of no workload": (group("minMember: 3") + pod("") + job(), []),
    "one of two SubGroups is enough": (group(EITHER) + pod("a"), []),
    "none of two SubGroups is enough": (
        group(EITHER) + pod("b"),
        [
            (
                'w.yaml:6:63 podgroup-short: SubGroup "a" needs 1 Pods before any starts, and there are 0 Pods: it '
                "waits for ever (Declare the others too, or lower minMember.)"
            ),
            (
                'w.yaml:6:99 podgroup-short: SubGroup "b" needs 2 Pods before any starts, and there is 1 Pod: it '
                "waits for ever (Declare the others too, or lower minMember.)"
            ),
        ],
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_podgroups(row: tuple[Any, ...]) -> None:
    *asked, expected = row
    assert judged(*asked) == expected
