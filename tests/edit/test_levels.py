"""Tests which fields of which documents a renamed level changes."""

from __future__ import annotations

import pytest

from kubectl_tas.edit.pool_edits import rename_level
from tests.support.cli import pool
from tests.support.fleets import fleet_of

FABRIC = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: fabric}
spec: {levels: [{domain: rack, key: example.com/rack}, {domain: host, key: example.com/host}]}
"""
WORKFLOW = """\
workflow:
  name: rack
  pool: team
  labels: {key: rack, topology: rack}
  groups: [{name: rack, tasks: [{name: rack, image: rack, resource: rack, environment: {key: rack}}]}]
resources:
  rack: {gpu: 1, topology: [{key: host, group: rack}, {key: rack, group: g}]}
"""
SET = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: s, labels: {kubectl-tas/pool: team, a: rack}}
spec:
  replicas: 1
  template:
    topologyConstraint: {topologyName: fabric, pack: {required: rack, preferred: host}}
    cliques:
    - name: rack
      topologyConstraint: {topologyName: fabric, pack: {preferred: rack}}
      spec: {roleName: rack, replicas: 1, minAvailable: 1, podSpec: {containers: [{name: rack, image: i}]}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: rack
  labels: {kubectl-tas/pool: team, a: rack}
  annotations:
    kai.scheduler/topology: fabric
    kai.scheduler/topology-required-placement: rack
    kai.scheduler/topology-preferred-placement: example.com/host
    note: rack
spec: {template: {spec: {restartPolicy: Never, containers: [{name: rack, image: rack}]}}}
"""
OTHER = pool("other", spec="  topology_keys: [{key: rack, label: example.com/row}]\n")
FILES = {
    "pools/team.yaml": pool(spec="  topology: fabric\n"),
    "pools/other.yaml": OTHER,
    "topologies/fabric.yaml": FABRIC,
    "workflows/a.yaml": WORKFLOW,
    "workflows/b.yaml": WORKFLOW.replace("name: rack\n  pool: team", "name: b\n  pool: other").replace(
        "{key: host, group: rack}, ", ""
    ),
    "workflows/j.yaml": JOB,
    "workflows/s.yaml": SET,
}
RESOURCE = "resources.rack.topology"
CHANGED = {
    ("fabric", "rack"): {
        "topologies/fabric.yaml spec.levels.0.domain",
        f"workflows/a.yaml {RESOURCE}.1.key",
        "workflows/j.yaml metadata.annotations.kai.scheduler/topology-required-placement",
        "workflows/s.yaml spec.template.cliques.0.topologyConstraint.pack.preferred",
        "workflows/s.yaml spec.template.topologyConstraint.pack.required",
    },
    ("fabric", "host"): {
        "topologies/fabric.yaml spec.levels.1.domain",
        f"workflows/a.yaml {RESOURCE}.0.key",
        "workflows/s.yaml spec.template.topologyConstraint.pack.preferred",
    },
    ("other", "rack"): {
        "pools/other.yaml spec.topology_keys.0.key",
        f"workflows/b.yaml {RESOURCE}.0.key",
    },
}
"""The fields that name a level of a topology, or of the pool with its own; a node label is no name of it."""


@pytest.mark.parametrize(("owner", "key"), CHANGED)
def test_where_a_level_is_named(owner: str, key: str) -> None:
    fleet = fleet_of(FILES)
    found = fleet.pool_by_name["team" if owner == "fabric" else owner].topology
    assert found is not None
    level = found.level(key)
    assert level is not None
    edits = rename_level(fleet, found, level, "new")
    places = {f"{edit.path} {'.'.join(map(str, path))}" for edit in edits for path, _, _ in edit.values}
    assert places == CHANGED[owner, key]
    assert {value for edit in edits for _, value, _ in edit.values} == {"new"}
    called = {"Workflow/rack", "Workflow/b", "Job/rack", "PodCliqueSet/s", "ClusterTopology/fabric", "Pool/other"}
    assert {edit.summary.removeprefix(f"renamed {key} -> new in ") for edit in edits} <= called
    assert len({edit.path for edit in edits}) == len(edits), "one edit of each document"
