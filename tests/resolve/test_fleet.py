"""Tests the fleet of a repository: what it finds by name, by cluster and by topology, and what a file replaces."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kubectl_tas.load.loading import load_repository
from kubectl_tas.load.source import FolderSource
from kubectl_tas.resolve.fleet import Fleet, PlacedWork, declared_work, is_called, no_work, replaced
from tests.support.cli import pool, subpool, write
from tests.support.fleets import fleet_of
from tests.support.grove import clique_set, job, operator, pod_group, topology, two_clusters, workflow
from tests.support.workloads import deployment

CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {SPEC}\n"
TWO = {"tas.yaml": CONFIG.replace("SPEC", "backends: [{name: a}, {name: b}]")}
BY_HAND = """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: big}
spec: {queue: osmo-pool-default-team--shared, minMember: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: first, annotations: {pod-group-name: big}}
spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
"""
RUN = "workflow: {name: My_Run, pool: TEAM, tasks: [{name: t, image: i}]}\n"


def test_an_object_of_another_cluster_is_not_replaced(repository: Path) -> None:
    in_a, in_b = (yaml.safe_dump(deployment("web", {"kubectl-tas/pool": name})) for name in "ab")
    root = write(two_clusters(repository, in_a, in_b), {"workflows/new.yaml": in_a})
    left = replaced("workflows/new.yaml", load_repository(FolderSource(root)).repository).workloads
    assert sorted(item.origin.path for item in left) == ["workflows/1.yaml", "workflows/new.yaml"]


@pytest.mark.parametrize(("workflows", "left"), [(False, ["a", "b", "new"]), (True, ["b", "new"])])
def test_workflows_of_one_name_are_replaced_on_request(left: list[str], *, workflows: bool) -> None:
    other = RUN.replace("My_Run", "other")
    fleet = fleet_of({"p.yaml": pool(), "a.yaml": RUN, "b.yaml": other, "new.yaml": RUN.replace("My_Run", "my-run")})
    found = replaced("new.yaml", fleet.repository, workflows=workflows).workflows
    assert sorted(item.origin.path.removesuffix(".yaml") for item in found) == left


def test_sets_of_one_name_are_replaced() -> None:
    files = {"a.yaml": clique_set(), "b.yaml": clique_set(name="other"), "new.yaml": clique_set()}
    found = replaced("new.yaml", fleet_of({"p.yaml": pool(), **files}).repository).pod_clique_sets
    assert sorted(item.origin.path for item in found) == ["b.yaml", "new.yaml"]


@pytest.mark.parametrize(
    ("kind", "name", "wanted", "expected"),
    [
        ("Job", "a", "a", True),
        ("Job", "a", "Job/a", True),
        ("Job", "a", "job/a", True),
        ("Job", "a", "Pod/a", False),
        ("Job", "a", "A", False),
        ("Job", "a-b", "a_b", False),
        ("Workflow", "a-b", "A_b", True),
        ("Workflow", "a-b", "workflow/a_B", True),
        ("Workflow", "a-b", "Job/a-b", False),
    ],
)
def test_names_of_work(kind: str, name: str, wanted: str, *, expected: bool) -> None:
    assert is_called(kind, name, wanted) is expected


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    """Work of each way to declare it, in one pool."""
    files = {"p.yaml": pool(), "s.yaml": subpool("a", 1), "run.yaml": RUN, "hand.yaml": BY_HAND}
    web = yaml.safe_dump(deployment("web", {"kubectl-tas/pool": "team--a"}))
    return fleet_of({**files, "web.yaml": web, "chat.yaml": clique_set()})


class TestWork:
    def test_all_of_it(self, fleet: Fleet) -> None:
        assert [(item.kind, item.name, item.target) for item in fleet.submissions] == [
            ("Workflow", "my-run", "team"),
            ("Deployment", "web", "team--a"),
            ("PodCliqueSet", "chat", "team"),
            ("PodGroup", "big", "team"),
        ]
        assert [(kind, name, item.origin.path) for kind, name, item in declared_work(fleet.repository)] == [
            ("Workflow", "My_Run", "run.yaml"),
            ("Deployment", "web", "web.yaml"),
            ("PodGroup", "big", "hand.yaml"),
            ("PodCliqueSet", "chat", "chat.yaml"),
        ]
        assert {pod.spec.metadata.name for group in fleet.pod_groups for pod in group.pods} == {"first"}
        assert fleet.joined == {id(pod) for group in fleet.pod_groups for pod in group.pods}

    def test_that_of_a_queue(self, fleet: Fleet) -> None:
        assert [*fleet.work_in("team", "osmo-pool-default-team--shared")] == [
            *("PodCliqueSet/chat", "PodGroup/big", "Workflow/my-run")
        ]
        assert [*fleet.work_in("team", "osmo-pool-default-team--a")] == ["Deployment/web"]
        assert fleet.work_in("other", "osmo-pool-default-team--a") == {}

    def test_that_of_files(self, fleet: Fleet) -> None:
        def named(paths: list[str], wanted: str) -> list[str]:
            return [item.name for item in fleet.submissions_in(paths, wanted)]

        assert named(["run.yaml", "web.yaml"], "web") == ["web"]
        assert named(["run.yaml", "web.yaml"], "Deployment/web") == ["web"]
        assert named(["run.yaml", "web.yaml"], "x") == ["my-run", "web"]
        assert named(["run.yaml"], "web") == ["my-run"]

    def test_all_but_some(self, fleet: Fleet) -> None:
        assert [item.name for item in fleet.without(fleet.workflows).submissions] == ["web", "chat", "big"]
        assert [item.name for item in fleet.without(fleet.workloads).submissions] == ["my-run", "chat", "big"]

    def test_names_that_no_work_has(self, fleet: Fleet) -> None:
        assert no_work(fleet, fleet.submissions, "work", "wbe").startswith('no work "wbe"')
        assert no_work(fleet, fleet.workflows, "workflow", "team") == (
            'no workflow "team", which is a pool; of it there is my-run'
        )

    def test_where_settings_are(self, fleet: Fleet) -> None:
        assert fleet.settings_source == "the defaults"
        assert fleet_of(TWO).settings_source == "tas.yaml"


def test_a_part_of_a_fleet_has_one_cluster() -> None:
    pools = {f"{name}.yaml": pool(name, spec=f"  backend: {name}\n") for name in "ab"}
    web = {f"web-{x}.yaml": yaml.safe_dump(deployment(f"web-{x}", {"kubectl-tas/pool": x})) for x in "ab"}
    runs = {f"run-{x}.yaml": RUN.replace("My_Run", f"run-{x}").replace("TEAM", x) for x in "ab"}
    sets = {f"set-{x}.yaml": clique_set(name=f"set-{x}", labels=f"{{kubectl-tas/pool: {x}}}") for x in "ab"}
    groups = {f"hand-{x}.yaml": BY_HAND.replace("big", f"big-{x}").replace("team", x) for x in "ab"}
    whole = fleet_of({**TWO, **pools, **web, **runs, **sets, **groups})
    assert len(whole.submissions) == 8
    for name in "ab":
        part = whole.of_backend(name)
        assert [item.name for item in part.pools] == [name]
        assert [item.name for item in part.submissions] == [f"{x}-{name}" for x in ("run", "web", "set", "big")]
        assert [item.name for item in part.pod_groups] == [f"big-{name}"]


def test_a_podgroup_without_pods_is_in_its_queue_too() -> None:
    pools = {f"{name}.yaml": pool(name, spec=f"  backend: {name}\n") for name in "ab"}
    whole = fleet_of({**TWO, **pools, "g.yaml": BY_HAND.partition("---")[0].replace("team", "a")})
    queue = "osmo-pool-default-a--shared"
    assert [*whole.work_in("a", queue)] == ["PodGroup/big"]
    assert [*whole.work_in("b", queue)] == []


def test_work_that_a_topology_places() -> None:
    files = {"p.yaml": pool(spec="  topology: racks\n"), "t.yaml": topology(), "u.yaml": topology("others")}
    work = {"j.yaml": job("zone"), "g.yaml": pod_group("zone"), "w.yaml": workflow("zone")}
    free = {"f.yaml": yaml.safe_dump(deployment("web", {"kubectl-tas/pool": "team"})), "r.yaml": RUN}
    fleet = fleet_of({**files, **work, **free})
    queue = "osmo-pool-default-team--shared"

    def row(what: str, path: str, line: int) -> tuple[str, str, str, str, int]:
        return what, "default", queue, path, line

    def rows(found: list[PlacedWork]) -> list[tuple[str, str, str, str, int]]:
        return [(x.kind_and_name, x.backend, x.queue, x.location.path, x.location.line) for x in found]

    assert rows([*fleet.placed_by(fleet.cluster_topologies["racks"])]) == [
        row("workflow train", "w.yaml", 3),
        row("Job sweep", "j.yaml", 5),
        row("PodGroup by-hand", "g.yaml", 4),
    ]
    assert [*fleet.placed_by(fleet.cluster_topologies["others"])] == []


class TestTopologies:
    def names(self, **texts: str) -> list[tuple[str, str]]:
        fleet = fleet_of({"p.yaml": pool(), **{f"{name}.yaml": text for name, text in texts.items()}})
        return [(name, item.declared.origin.path) for name, item in fleet.cluster_topologies.items()]

    def test_of_the_operator(self) -> None:
        assert self.names(o=operator(), t=topology()) == [("grove-topology", "o.yaml"), ("racks", "t.yaml")]
        assert self.names(o=operator(enabled=False), t=topology()) == [("racks", "t.yaml")]
        assert self.names(o=operator(""), t=topology()) == [("racks", "t.yaml")]
        assert self.names(o=operator(), t=topology("grove-topology")) == [("grove-topology", "t.yaml")]

    def test_the_first_of_one_name_counts(self) -> None:
        assert self.names(b=topology(), a=topology(), c=topology("a")) == [("a", "c.yaml"), ("racks", "a.yaml")]

    def test_levels(self) -> None:
        fleet = fleet_of({"p.yaml": pool(), "t.yaml": topology()})
        (racks,) = fleet.topologies
        zone, rack, host = racks.levels
        assert (racks.level("rack"), racks.level("example.com/rack"), racks.level("x")) == (rack, rack, None)
        assert (racks.finer_keys(zone), racks.finer_keys(host)) == (["rack", "host"], [])
        assert (racks.pool, racks.path, racks.is_created) == (None, ("spec", "levels"), True)
        own = fleet_of({"p.yaml": pool(spec="  topology_keys: [{key: zone, label: z}]\n")}).topologies
        assert [(item.name, item.pool, item.path) for item in own] == [
            ("osmo-pool-default-team-topology", "team", ("spec", "topology_keys"))
        ]

    def test_an_unknown_one(self) -> None:
        fleet = fleet_of({"p.yaml": pool(spec="  topology: x\n"), "t.yaml": topology()})
        assert [(item.what, item.name, item.known, item.path) for item in fleet.dangling] == [
            ("topology", "x", ("racks",), ("spec", "topology"))
        ]
        assert fleet.pools[0].topology is None
