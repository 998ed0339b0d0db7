"""Tests that the gang of a handwritten PodGroup is the one that its author wrote."""

from __future__ import annotations

from pathlib import Path

from kubectl_tas.gangs.gang import Constraint, Gang
from kubectl_tas.gangs.podgroup_gang import gang_of_pod_group
from kubectl_tas.load.loading import load_repository
from kubectl_tas.load.source import FolderSource
from kubectl_tas.resolve.fleet import resolve
from kubectl_tas.resolve.topologies import Level
from tests.support.cli import pool, write

GROUP = """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: g, namespace: ml}
spec:
  queue: osmo-pool-default-team--shared
  minSubGroup: 2
  topologyConstraint: {topology: T, requiredTopologyLevel: zone}
  subGroups:
  - {name: decode, minMember: 2, topologyConstraint: {topology: elsewhere, preferredTopologyLevel: example.com/rack}}
  - {name: prefill, minSubGroup: 1}
  - {name: leader, parent: prefill, minMember: 1, topologyConstraint: {topology: T, requiredTopologyLevel: L}}
  - {name: workers, parent: prefill, minMember: 4}
"""
ZONE, RACK = Level("zone", "example.com/zone"), Level("rack", "example.com/rack")


def gang(root: Path) -> Gang:
    keys = "  topology_keys: [{key: zone, label: example.com/zone}, {key: rack, label: example.com/rack}]\n"
    name = "osmo-pool-default-team-topology"
    text = GROUP.replace("topology: T", f"topology: {name}").replace("Level: L", "Level: example.com/rack")
    write(root, {"pools/team.yaml": pool(spec=keys), "workflows/g.yaml": text})
    fleet = resolve(load_repository(FolderSource(root)).repository)
    (item,) = fleet.pod_groups
    return gang_of_pod_group(fleet, item)


def test_parts_and_minimums(tmp_path: Path) -> None:
    found = gang(tmp_path)
    assert [(part.name, part.parent, part.minimum) for part in found.parts] == [
        ("decode", None, 2),
        ("prefill", None, None),
        ("leader", "prefill", 1),
        ("workers", "prefill", 4),
    ]
    assert (found.kind, found.name, found.minimum) == ("PodGroup", "g", 7)
    assert [part.name for part in found.leaves] == ["decode", "leader", "workers"]
    assert found.needs_all_parts
    assert not found.parts[1].needs_all_parts


def test_levels_by_label_and_by_alias(tmp_path: Path) -> None:
    found = gang(tmp_path)
    name = "osmo-pool-default-team-topology"
    assert found.constraint == Constraint(name, ZONE, None)
    assert found.parts[2].constraint == Constraint(name, RACK, None)


def test_levels_of_a_topology_that_is_not_declared(tmp_path: Path) -> None:
    unknown = Level("example.com/rack", "example.com/rack")
    assert gang(tmp_path).parts[0].constraint == Constraint("elsewhere", None, unknown)
