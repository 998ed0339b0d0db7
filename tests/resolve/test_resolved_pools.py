"""Tests pools and subpools in memory: their amounts, queues, namespaces and clusters, and who may use them."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.facts.quantities import NO_LIMIT, Amounts
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import Allowed, LeafQueue, access_to
from tests.support.cli import pool, subpool
from tests.support.fleets import fleet_of

GIB = 2**30
CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {SPEC}\n"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: sweep, labels: {kubectl-tas/pool: team--a}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: i}]}}}
"""


def shaped(resources: str, spec: str = "", name: str = "team") -> str:
    """A pool with these resources, a flow mapping."""
    return f"apiVersion: tas/v1alpha1\nkind: Pool\nmetadata: {{name: {name}}}\nspec:\n  resources: {resources}\n{spec}"


def part(spec: str, name: str = "a") -> str:
    """A subpool of the pool team with this spec, fields of a flow mapping."""
    head = f"apiVersion: tas/v1alpha1\nkind: Subpool\nmetadata: {{name: {name}}}\n"
    return f"{head}spec: {{parent: team, {spec}}}\n"


WHOLE = (
    "{gpu: {guarantee: 100, maximum: 200, weight: 2}, cpu: {guarantee: 40, maximum: 80, weight: 3}, "
    "memory: {guarantee: 10Gi, maximum: 20Gi}}"
)
MAXIMUM, WEIGHT = Amounts(200, 80_000, 20 * GIB), Amounts(2, 3, 1)


@pytest.mark.parametrize(
    ("spec", "asked", "limit", "weight"),
    [
        ("quota: 7", Amounts(7), MAXIMUM, WEIGHT),
        ('quota: "25%"', Amounts(25, 10_000, 2.5 * GIB), MAXIMUM, WEIGHT),
        ('quota: {gpu: "10%", cpu: 500m, memory: 1Gi}', Amounts(10, 500, GIB), MAXIMUM, WEIGHT),
        ("quota: {cpu: 2}", Amounts(0, 2000), MAXIMUM, WEIGHT),
        ("quota: 7, maximum: 30, weight: 5", Amounts(7), Amounts(30, 80_000, 20 * GIB), Amounts(5, 5, 5)),
        (
            "quota: 7, maximum: {cpu: 8, memory: 30Gi}, weight: {memory: 4}",
            Amounts(7),
            Amounts(200, 8000, 30 * GIB),
            Amounts(2, 3, 4),
        ),
        ("quota: 7, maximum: -1", Amounts(7), Amounts(NO_LIMIT, 80_000, 20 * GIB), WEIGHT),
    ],
)
def test_amounts_of_a_subpool(spec: str, asked: Amounts, limit: Amounts, weight: Amounts) -> None:
    (team,) = fleet_of({"pools/p.yaml": shaped(WHOLE), "s.yaml": part(spec)}).pools
    (item,) = team.subpools
    most = Amounts(*(min(limit.of(name), MAXIMUM.of(name)) for name in ("gpu", "cpu", "memory")))
    assert (item.requested, item.quota, item.limit, item.maximum, item.weight) == (asked, asked, limit, most, weight)


def test_resources_without_a_limit_stay_without_one() -> None:
    files = {"pools/p.yaml": pool(guarantee=8), "s.yaml": subpool("a", 3), "t.yaml": subpool("b", 2, state="DELETING")}
    (team,) = fleet_of(files).pools
    first, second = team.subpools
    assert (first.requested, first.quota) == (Amounts(3, NO_LIMIT, NO_LIMIT), Amounts(3, NO_LIMIT, NO_LIMIT))
    assert (second.requested, second.quota) == (Amounts(2, NO_LIMIT, NO_LIMIT), Amounts(0, NO_LIMIT, NO_LIMIT))
    assert team.finite == ("gpu",)
    assert team.taken.gpu == 3
    assert team.shared_quota == Amounts(5, NO_LIMIT, NO_LIMIT)


@pytest.mark.parametrize(
    ("quota", "paths"),
    [
        ("7", [("spec", "quota")] * 2),
        ("{gpu: 7}", [("spec", "quota", "gpu"), ("spec", "quota")]),
        ("{cpu: 7}", [("spec", "quota"), ("spec", "quota", "cpu")]),
    ],
)
def test_places_of_a_quota(quota: str, paths: list[tuple[str, ...]]) -> None:
    (team,) = fleet_of({"pools/p.yaml": shaped(WHOLE), "s.yaml": part(f"quota: {quota}")}).pools
    (item,) = team.subpools
    assert [item.quota_path("gpu"), item.quota_path("cpu")] == paths
    assert (item.written is None) == (quota == "7")


def tree() -> Fleet:
    """A parent of 100 GPUs with a child of 40 that has a subpool in each state, and a second child without a limit."""
    return fleet_of(
        {
            "group.yaml": shaped(
                "{gpu: {guarantee: 100, maximum: 120}}", "  access: {submit: [g], view: [v]}\n", "group"
            ),
            "team.yaml": shaped(
                "{gpu: {guarantee: 40, maximum: 200}}", "  parent: group\n  access: {submit: [t, g], view: [w]}\n"
            ),
            "free.yaml": shaped("{gpu: {guarantee: -1}}", "  parent: group\n", "free"),
            "a.yaml": part("quota: 10, access: {submit: [a], view: [t, b]}"),
            "b.yaml": part("quota: 5, state: DELETING, draining: [Job/sweep, Workflow/My_Run]", "b"),
            "c.yaml": part("quota: 5, state: ARCHIVED", "c"),
        }
    )


class TestTree:
    def test_a_parent(self) -> None:
        group = tree().pool_by_name["group"]
        assert [(item.name, item.canonical, item.quota.gpu) for item in group.children] == [
            ("free", "free", 0),
            ("team", "team", 40),
        ]
        assert group.children[1].quota_path("gpu") == ("spec", "resources", "gpu", "guarantee")
        assert (group.parts, group.parts_are, group.is_split) == (group.children, "child pools", True)
        assert (group.taken.gpu, group.shared_quota.gpu, group.maximum.gpu) == (40, 60, 120)
        assert group.chain == (group,)
        assert group.levels == ()

    def test_a_child(self) -> None:
        fleet = tree()
        team, group = fleet.pool_by_name["team"], fleet.pool_by_name["group"]
        assert team.chain == (team, group)
        assert (team.own_maximum.gpu, team.maximum.gpu, team.bounded_by("gpu").name) == (200, 120, "group")
        assert team.bounded_by("cpu") is team
        assert [(item.canonical, item.state, item.quota.gpu) for item in team.subpools] == [
            ("team--a", "ACTIVE", 10),
            ("team--b", "DELETING", 0),
            ("team--c", "ARCHIVED", 0),
        ]
        assert [item.name for item in team.active] == ["a"]
        assert (team.parts, team.parts_are, team.shared_quota.gpu) == (team.active, "subpools", 30)
        assert [item.maximum.gpu for item in team.subpools] == [120, 120, 120]

    def test_queues(self) -> None:
        fleet = tree()
        team, (backend,) = fleet.pool_by_name["team"], fleet.backends
        base = "osmo-pool-default-team"
        assert team.queues == (base, f"{base}--shared", f"{base}--a", f"{base}--b")
        assert team.leaves == (
            LeafQueue("team", f"{base}--shared", team.declared, "ACTIVE"),
            *(LeafQueue(item.canonical, item.queue, item.declared, item.state) for item in team.subpools),
        )
        others = {f"osmo-pool-default-{name}--shared": name for name in ("free", "group")}
        live = {f"{base}--shared": "team", f"{base}--a": "team--a", f"{base}--b": "team--b"}
        assert fleet.leaf_queues(backend) == {**others, **live}
        assert fleet.namespaces(backend) == dict.fromkeys((*others, *live, f"{base}--c"), ("default",))
        assert fleet.target_names() == ["free", "group", "team", "team--a", "team--b", "team--c"]

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            ("team", ("team", None)),
            ("TEAM", ("team", None)),
            ("team--a", ("team", "a")),
            ("Team--A", ("team", "a")),
            ("team--x", None),
            ("x", None),
            ("x--a", None),
        ],
    )
    def test_names_of_targets(self, wanted: str, found: tuple[str, str | None] | None) -> None:
        target = tree().target(wanted)
        assert (target and (target[0].name, target[1] and target[1].name)) == found

    def test_who_may_use_them(self) -> None:
        fleet = tree()
        team, group = fleet.pool_by_name["team"], fleet.pool_by_name["group"]
        assert access_to(group) == Allowed(("g",), ("v",))
        assert access_to(team) == Allowed(("g", "t"), ("v", "w"))
        assert access_to(team, team.subpools[0]) == Allowed(("g", "t", "a"), ("v", "w", "b"))

    @pytest.mark.parametrize(
        ("subpool", "kind", "name", "may"),
        [
            (1, "Job", "sweep", True),
            (1, "Job", "other", False),
            (1, "Pod", "sweep", False),
            (1, "Workflow", "my-run", True),
            (1, "Job", "My_Run", False),
            (0, "Job", "sweep", False),
            (2, "Job", "sweep", False),
        ],
    )
    def test_work_that_may_finish(self, subpool: int, kind: str, name: str, *, may: bool) -> None:
        assert tree().pool_by_name["team"].subpools[subpool].lets_finish(kind, name) is may

    def test_a_pool_of_both(self) -> None:
        files = {"p.yaml": pool(), "q.yaml": pool("child", 10, "  parent: team\n"), "s.yaml": subpool("a", 5)}
        team = fleet_of(files).pool_by_name["team"]
        assert (team.parts_are, team.taken.gpu) == ("subpools and child pools", 15)
        closed = fleet_of({"p.yaml": pool(), "s.yaml": subpool("a", 5, state="ARCHIVED")}).pool_by_name["team"]
        assert (closed.parts_are, closed.is_split) == ("", False)

    def test_more_is_taken_than_there_is(self) -> None:
        files = {"p.yaml": pool(guarantee=8), "s.yaml": subpool("a", 5), "t.yaml": subpool("b", 5)}
        (team,) = fleet_of(files).pools
        assert (team.taken.gpu, team.shared_quota.gpu) == (10, 0)


def test_names_and_labels_of_queues_may_be_given() -> None:
    spec = "  queue: {name: q}\n  sharedQueue: {name: rest}\n"
    files = {"p.yaml": pool(spec=spec), "s.yaml": part("quota: 1, queue: {name: own}"), "t.yaml": part("quota: 1", "b")}
    (team,) = fleet_of(files).pools
    assert team.queues == ("q", "rest", "own", "osmo-pool-default-team--b")


@pytest.mark.parametrize(
    ("pool_has", "subpool_has", "work_has", "expected"),
    [
        ("", "", "", ("default", ("default",))),
        ("[one, two]", "", "", ("one", ("one", "two"))),
        ("[one, two]", "", "two", ("two", ("one", "two"))),
        ("[one, two]", "[two]", "", ("two", ("two",))),
        ("[one, two]", "[two]", "one", ("two", ("two",))),
        ("[one, two]", "[two, three]", "three", ("two", ("two",))),
        ("[one]", "[three]", "", ("one", ("one",))),
    ],
)
def test_namespaces(pool_has: str, subpool_has: str, work_has: str, expected: tuple[str, tuple[str, ...]]) -> None:
    """Those of a subpool are among those of its pool."""
    spec = f"  namespaces: {pool_has}\n" if pool_has else ""
    own = f", namespaces: {subpool_has}" if subpool_has else ""
    work = JOB.replace("name: sweep", f"name: sweep, namespace: {work_has}") if work_has else JOB
    fleet = fleet_of({"p.yaml": pool(spec=spec), "s.yaml": part(f"quota: 1{own}"), "w.yaml": work})
    (item,) = fleet.workloads
    assert (item.namespace, item.namespaces) == expected


class TestWork:
    def work(self, labels: str = "", spec: str = "", more: str = "quota: 3") -> Any:
        text = JOB.replace("team--a}", f"team--a{labels}}}")
        (item,) = fleet_of({"p.yaml": pool(spec=spec), "s.yaml": part(more), "w.yaml": text}).workloads
        return item

    @pytest.mark.parametrize(
        ("label", "priority", "is_preemptible"),
        [("", "NORMAL", False), ("HIGH", "HIGH", False), ("LOW", "LOW", True), ("low", "NORMAL", False)],
    )
    def test_priority(self, label: str, priority: str, *, is_preemptible: bool) -> None:
        item = self.work(f", kubectl-tas/priority: {label}" if label else "")
        assert (item.priority, item.is_preemptible) == (priority, is_preemptible)

    def test_of_a_subpool(self) -> None:
        item = self.work(spec="  nodePool: h100\n  overQuota: {Job/other: {gpu: 1}}\n")
        assert (item.target, item.queue, item.quota.gpu, item.maximum.gpu) == (
            *("team--a", "osmo-pool-default-team--a", 3),
            NO_LIMIT,
        )
        assert item.kai_labels == {"kai.scheduler/queue": item.queue, "kai.scheduler/node-pool": "h100"}
        assert (item.over_quota.spec.kind, item.over_quota_key) == ("Subpool", None)
        assert (item.is_draining, item.gang, item.objects, item.used_platforms) == (False, None, 1, ())
        assert (item.place.path, item.place.line, item.place.column) == ("w.yaml", 3, 52)

    def test_that_may_finish(self) -> None:
        item = self.work(more="quota: 3, state: DELETING, draining: [Job/sweep], overQuota: {Job/sweep: {gpu: 1}}")
        assert (item.is_draining, item.over_quota_key) == (True, "Job/sweep")

    def test_of_a_pool(self) -> None:
        spec = "  overQuota: {Job/sweep: {gpu: 1}}\n"
        text = JOB.replace("team--a", "team")
        (item,) = fleet_of({"p.yaml": pool(spec=spec), "s.yaml": part("quota: 3"), "w.yaml": text}).workloads
        assert (item.target, item.queue, item.quota.gpu) == ("team", "osmo-pool-default-team--shared", 97)
        assert (item.over_quota.spec.kind, item.over_quota_key) == ("Pool", "Job/sweep")


@pytest.mark.parametrize(
    ("wanted", "what", "known", "context"),
    [
        ("nobody", "pool", ("broken", "team"), ""),
        ("nobody--a", "pool", ("broken", "team"), ""),
        ("team--x", "subpool", ("team--a",), "pool team"),
        ("broken", None, (), ""),
    ],
)
def test_names_that_nothing_declares(wanted: str, what: str | None, known: tuple[str, ...], context: str) -> None:
    """A pool that has a finding itself is no second one."""
    files = {
        "tas.yaml": CONFIG.replace("SPEC", "backends: [{name: a}, {name: b}]"),
        "p.yaml": pool(spec="  backend: a\n"),
        "q.yaml": pool("broken", spec="  backend: x\n"),
        "s.yaml": subpool("a", 1),
        "w.yaml": JOB.replace("team--a", wanted),
    }
    fleet = fleet_of(files)
    found = [item for item in fleet.dangling if item.what != "backend"]
    assert [(item.what, item.name, item.known, item.context) for item in found] == (
        [(what, wanted, known, context)] if what else []
    )
    assert all((item.location.path, item.location.line) == ("w.yaml", 3) for item in found)
    assert fleet.workloads == ()


class TestParents:
    TWO = CONFIG.replace("SPEC", "backends: [{name: a}, {name: b}]")

    def hung(self, **specs: str) -> Fleet:
        files = {f"{name}.yaml": pool(name, 10, spec) for name, spec in specs.items()}
        return fleet_of({"tas.yaml": self.TWO, **files})

    def test_a_child_is_on_the_cluster_of_its_parent(self) -> None:
        fleet = self.hung(top="  backend: b\n", low="  parent: top\n", lowest="  parent: low\n")
        assert [(item.name, item.backend.name, item.parent and item.parent.name) for item in fleet.pools] == [
            ("low", "b", "top"),
            ("lowest", "b", "low"),
            ("top", "b", None),
        ]

    def test_on_another_cluster_it_has_no_parent(self) -> None:
        fleet = self.hung(top="  backend: b\n", low="  parent: top\n  backend: a\n")
        assert [(item.name, item.backend.name, item.parent) for item in fleet.pools if item.name == "low"] == [
            ("low", "a", None)
        ]
        assert fleet.pool_by_name["top"].children == ()

    def test_an_unknown_parent_is_none(self) -> None:
        fleet = self.hung(low="  parent: x\n  backend: a\n", lost="  parent: x\n")
        assert [(item.name, item.parent) for item in fleet.pools] == [("low", None)]
        assert [(item.what, item.name, item.known, item.declared.spec.metadata.name) for item in fleet.dangling] == [
            ("parent", "x", ("lost", "low"), "lost"),
            ("parent", "x", ("lost", "low"), "low"),
        ]

    def test_the_only_cluster_has_them_all(self) -> None:
        assert [item.name for item in fleet_of({"a.yaml": pool(spec="  parent: x\n")}).pools] == ["team"]

    def test_pools_in_a_circle_have_no_parent(self) -> None:
        fleet = self.hung(a="  parent: b\n  backend: a\n", b="  parent: a\n  backend: a\n", c="  parent: a\n")
        assert [(item.name, item.parent and item.parent.name) for item in fleet.pools] == [
            ("a", None),
            ("b", None),
            ("c", "a"),
        ]

    def test_subpools_of_no_pool(self) -> None:
        files = {"a.yaml": subpool("a", 1, "x"), "b.yaml": subpool("b", 1, "x", "ARCHIVED"), "p.yaml": pool()}
        fleet = fleet_of(files)
        assert [(item.what, item.name, item.known, item.path) for item in fleet.dangling] == [
            ("parent", "x", ("team",), ("spec", "parent"))
        ]
        (record,) = fleet.records
        assert (record.canonical, record.state, record.queue, record.namespaces) == ("x--b", "ARCHIVED", "", ())
        assert record.quota.gpu == 0


def test_the_first_of_two_documents_of_one_name_counts() -> None:
    fleet = fleet_of(
        {"a.yaml": pool(guarantee=1), "b.yaml": pool(guarantee=2), "c.yaml": subpool("s", 3), "d.yaml": subpool("s", 4)}
    )
    (team,) = fleet.pools
    assert (team.guarantee.gpu, [item.requested.gpu for item in team.subpools]) == (1, [3])


def test_labels_that_all_nodes_of_a_pool_have() -> None:
    spec = """\
  nodes: {selector: {zone: a}}
  platforms:
    fast: {nodes: {selector: {gpu: h100, fan: big}}}
    slow: {override_pod_template: [{spec: {nodeSelector: {gpu: l40s, host: "{{x}}"}}}]}
"""
    (team,) = fleet_of({"p.yaml": pool(spec=spec)}).pools
    assert team.node_labels == {"zone": frozenset("a"), "gpu": frozenset(("h100", "l40s"))}
    (plain,) = fleet_of({"p.yaml": pool(spec="  nodes: {selector: {zone: a}}\n")}).pools
    assert plain.node_labels == {"zone": frozenset("a")}
