"""Tests which fields of which documents a renamed pool, subpool or level changes."""

from __future__ import annotations

import pytest

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.edit.pool_edits import in_messages, rename, rename_level, rename_subpool
from tests.support.cli import pool, subpool
from tests.support.fleets import fleet_of
from tests.support.fleets import said as said_of

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


QUEUES = """\
apiVersion: batch/v1
kind: Job
metadata: {name: team, labels: {kubectl-tas/pool: Team--A, kai.scheduler/queue: osmo-pool-default-team--a, a: team}}
spec:
  template:
    metadata: {annotations: {kai.scheduler/topology: osmo-pool-default-team-topology, note: osmo-pool-default-team}}
    spec: {restartPolicy: Never, containers: [{name: team, image: team}]}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: g}
spec:
  queue: osmo-pool-default-team--shared
  minMember: 1
  topologyConstraint: {topology: osmo-pool-default-team-topology}
---
workflow: {name: w, pool: team--b, tasks: [{name: team, image: team}]}
"""
POOLS = {
    "pools/team.yaml": pool(spec="  topology_keys: [{key: rack, label: example.com/rack}]\n"),
    "pools/child.yaml": pool("child", spec="  parent: team\n"),
    "pools/team-b.yaml": pool("team-b"),
    "subpools/a.yaml": subpool("a", 1),
    "subpools/b.yaml": subpool("b", 1),
    "workflows/a.yaml": QUEUES,
}


def changes(edits: object) -> set[str]:
    """What edits set: file, path and value."""
    assert isinstance(edits, list)
    return {f"{edit.path} {'.'.join(map(str, path))}: {value}" for edit in edits for path, value, _ in edit.values}


def test_where_a_pool_is_named() -> None:
    queue, topology = "osmo-pool-default-core", "osmo-pool-default-core-topology"
    assert changes(rename(fleet_of(POOLS), "team", "core")) == {
        "pools/team.yaml metadata.name: core",
        "pools/child.yaml spec.parent: core",
        "subpools/a.yaml spec.parent: core",
        "subpools/b.yaml spec.parent: core",
        "workflows/a.yaml metadata.labels.kubectl-tas/pool: core--A",
        f"workflows/a.yaml metadata.labels.kai.scheduler/queue: {queue}--a",
        f"workflows/a.yaml spec.template.metadata.annotations.kai.scheduler/topology: {topology}",
        f"workflows/a.yaml spec.queue: {queue}--shared",
        f"workflows/a.yaml spec.topologyConstraint.topology: {topology}",
        "workflows/a.yaml workflow.pool: core--b",
    }


def test_where_a_subpool_is_named() -> None:
    assert changes(rename_subpool(fleet_of(POOLS), "team--a", "c")) == {
        "subpools/a.yaml metadata.name: c",
        "workflows/a.yaml metadata.labels.kubectl-tas/pool: team--c",
        "workflows/a.yaml metadata.labels.kai.scheduler/queue: osmo-pool-default-team--c",
    }


@pytest.mark.parametrize(
    ("old", "new", "said", "hint"),
    [
        ("team--a", "B", "subpools/a.yaml:4:9: pool team has a subpool b already", "Choose another name."),
        ("team", "c", 'there is no pool "team"; there is child, team, team-b', "Did you mean team?"),
        ("none--a", "c", 'there is no pool "none--a"; there is child, team, team-b', ""),
    ],
)
def test_a_subpool_that_is_not_renamed(old: str, new: str, said: str, hint: str) -> None:
    found = rename_subpool(fleet_of(POOLS), old, new)
    assert isinstance(found, Diagnostic)
    assert (said_of(found), found.hint) == (said, hint)


@pytest.mark.parametrize(
    ("message", "renamed"),
    [
        ('pool team: team--a and "team".', 'pool core: core--a and "core".'),
        ("team-b, myteam, teams, team1, team2-a", "team-b, myteam, teams, team1, team2-a"),
        ("osmo-pool-default-team--a", "osmo-pool-default-core--a"),
    ],
)
def test_the_name_of_a_pool_in_a_message(message: str, renamed: str) -> None:
    assert in_messages("team", "core")(message) == renamed
