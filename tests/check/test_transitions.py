"""Tests forbidden and allowed changes since an earlier revision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.model.pool_kinds import SubpoolState
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.grove import (
    clique,
    clique_set,
    declare,
    findings,
    job,
    live_clique,
    live_set,
    live_topology,
    of,
    operator,
    pod_group,
    rules,
    scaling_group,
    state,
    topology,
    two_clusters,
    workflow,
)
from tests.support.history import commit

WIDER = "zone block rack host"

WORKFLOW, JOB, POD_GROUP = workflow("zone"), job("zone"), pod_group("zone")


def in_pool(root: Path, *documents: str, named: bool = True) -> Path:
    """A repository whose pool names the topology racks, perhaps."""
    declare(root, *documents)
    return write(root, {"pools/team.yaml": pool(spec="  topology: racks\n" if named else "")})


def queue(running: int) -> dict[str, Any]:
    """The shared queue of the pool, with as many GPUs in use."""
    status = {"allocated": {"nvidia.com/gpu": str(running)}}
    metadata = {"name": "osmo-pool-default-team--shared"}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": metadata, "status": status}


class TestLevelsOfAPool:
    """A pool's own topology_keys."""

    ZONE, LABEL = "  topology_keys: [{key: zone, label: zone}]\n", "  topology_keys: [{key: zone, label: zones}]\n"
    FINER = "  topology_keys: [{key: zone, label: zone}, {key: rack, label: rack}]\n"

    @pytest.mark.parametrize(
        ("spec", "work", "found"),
        [
            (LABEL, WORKFLOW, ["topology-levels-changed"]),
            (LABEL, "", []),
            (FINER, WORKFLOW, []),
            (ZONE, WORKFLOW, []),
        ],
    )
    def test_change(self, tmp_path: Path, spec: str, work: str, found: list[str]) -> None:
        files = {"pools/team.yaml": pool(spec=self.ZONE)} | ({"workflows/w.yaml": work} if work else {})
        commit(write(tmp_path, files))
        write(tmp_path, {"pools/team.yaml": pool(spec=spec)})
        assert rules(tmp_path, "--base", "HEAD") == found

    def test_the_pool_is_named(self, tmp_path: Path) -> None:
        commit(write(tmp_path, {"pools/team.yaml": pool(spec=self.ZONE), "workflows/w.yaml": WORKFLOW}))
        write(tmp_path, {"pools/team.yaml": pool(spec=self.LABEL)})
        (text,) = (text for _, text in findings(tmp_path, "--base", "HEAD"))
        assert text.startswith("the levels of pool team change since HEAD from zone (zone) to zone (zones), but")


def test_a_pool_that_is_new_may_have_a_queue_that_is_idle(repository: Path, tmp_path: Path) -> None:
    """The base has a cluster topology alone."""
    commit(write(repository, {"topologies/0.yaml": topology()}))
    in_pool(repository, topology("racks", "rack host").replace("example.com/rack", "other/rack"), job("rack"))
    assert rules(repository, "--base", "HEAD", "--cluster-state", state(tmp_path, queue(0))) == []


class TestRemovedTopologies:
    def test_used_by_a_set(self, repository: Path) -> None:
        root = declare(repository, clique_set("rack", named="racks"), topology())
        commit(root)
        declare(root, clique_set("rack", named="racks"))
        assert set(rules(root, "--base", "HEAD")) == {"set-topology-unknown"}

    def test_used_by_a_pool(self, repository: Path) -> None:
        root = declare(repository, topology())
        commit(root)
        write(declare(root), {"pools/team.yaml": pool(spec="  topology: racks\n")})
        assert set(rules(root, "--base", "HEAD")) == {"topology-unknown"}

    @pytest.mark.parametrize(("work", "user"), [(JOB, "Job sweep"), (POD_GROUP, "PodGroup by-hand")])
    def test_used_by_other_work(self, repository: Path, work: str, user: str) -> None:
        commit(in_pool(repository, topology(), work, named=False))
        in_pool(repository, work, named=False)
        found = dict(findings(repository, "--base", "HEAD"))
        assert f"since HEAD, but {user} uses it" in found["topology-removed"]

    def test_the_default_one(self, repository: Path) -> None:
        root = declare(repository, clique_set("rack"), operator())
        commit(root)
        declare(root, clique_set("rack"))
        assert set(rules(root, "--base", "HEAD")) == {"set-topology-default", "topology-removed"}

    def test_used_by_nobody(self, repository: Path) -> None:
        root = declare(repository, clique_set("rack", named="racks"), topology(), topology("other"))
        commit(root)
        declare(root, clique_set("rack", named="racks"), topology())
        assert rules(root, "--base", "HEAD") == []

    def test_gone_with_its_users(self, repository: Path) -> None:
        root = declare(repository, clique_set("rack", named="racks"), topology())
        commit(root)
        assert rules(declare(root), "--base", "HEAD") == []

    def test_used_by_a_set_that_only_the_cluster_has(self, repository: Path, tmp_path: Path) -> None:
        root = declare(repository, operator(), topology())
        commit(root)
        declare(root, operator())
        file = state(tmp_path, live_topology(), live_set())
        found = dict(findings(root, "--base", "HEAD", "--cluster-state", file))
        assert "default/chat of the cluster" in found.pop("topology-removed")
        assert found.keys() == {"topology-undeployed"}

    def test_used_by_a_set_of_the_cluster_that_is_declared_elsewhere(self, repository: Path, tmp_path: Path) -> None:
        """What the repository says of the set is what counts, once it is applied."""
        root = declare(repository, topology(), topology("other"), clique_set("rack", named="racks"))
        commit(root)
        declare(root, topology("other"), clique_set("rack", named="other"))
        file = state(tmp_path, live_topology(), live_topology("other"), live_set(), live_clique(0))
        found = rules(root, "--base", "HEAD", "--cluster-state", file)
        assert "topology-removed" not in found
        assert "topology-undeployed" in found

    def test_used_by_no_set_of_the_cluster(self, repository: Path, tmp_path: Path) -> None:
        root = declare(repository, topology(), topology("other"))
        commit(root)
        declare(root, topology("other"))
        file = state(tmp_path, live_topology("other"), live_set(named="other"), live_clique(2))
        assert rules(root, "--base", "HEAD", "--cluster-state", file) == []

    def test_moved_to_another_file(self, repository: Path) -> None:
        root = declare(repository, clique_set("rack", named="racks"), topology())
        commit(root)
        declare(root, topology(), clique_set("rack", named="racks"))
        assert rules(root, "--base", "HEAD") == []


class TestChangedLevels:
    def test_in_use(self, repository: Path) -> None:
        root = declare(repository, topology(), clique_set("rack", named="racks"))
        commit(root)
        declare(root, topology("racks", WIDER), clique_set("rack", named="racks"))
        ((rule, message),) = findings(root, "--base", "HEAD")
        assert rule == "topology-levels-changed"
        assert "default/chat" in message

    @pytest.mark.parametrize("change", ["label", "order"])
    def test_whatever_changes(self, repository: Path, change: str) -> None:
        root = declare(repository, topology(), clique_set("zone", named="racks"))
        commit(root)
        changed = topology().replace("example.com/rack", "other/rack")
        declare(
            root, changed if change == "label" else topology("racks", "zone host"), clique_set("zone", named="racks")
        )
        assert rules(root, "--base", "HEAD") == ["topology-levels-changed"]

    def test_of_the_operator(self, repository: Path) -> None:
        root = declare(repository, operator("zone host"), clique_set("zone"))
        commit(root)
        declare(root, operator("zone rack host"), clique_set("zone"))
        assert rules(root, "--base", "HEAD") == ["topology-levels-changed"]

    def test_labels_of_the_object_may_change(self, repository: Path) -> None:
        root = declare(repository, topology(), clique_set("rack", named="racks"))
        commit(root)
        changed = topology().replace("  name: racks\n", "  name: racks\n  labels: {team: a}\n")
        declare(root, changed, clique_set("rack", named="racks"))
        assert rules(root, "--base", "HEAD") == []

    def test_of_a_set_that_is_new(self, repository: Path) -> None:
        root = declare(repository, topology())
        commit(root)
        declare(root, topology("racks", WIDER), clique_set("rack", named="racks"))
        assert rules(root, "--base", "HEAD") == []

    @pytest.mark.parametrize(
        ("work", "user"),
        [
            (WORKFLOW, "workflow train"),
            (JOB, "Job sweep"),
            (POD_GROUP, "PodGroup by-hand"),
            (WORKFLOW.replace("topology: [{key: zone, group: g}]", "cpu: 1"), None),
            (JOB.replace("kai.scheduler/topology-required-placement: zone", "a: b"), None),
            ("", None),
        ],
        ids=["workflow", "workload", "PodGroup", "workflow anywhere", "workload anywhere", "nothing"],
    )
    @pytest.mark.parametrize(
        ("domains", "is_wrong"),
        [("zone host", True), ("rack zone host", True), (WIDER, False)],
        ids=["a level goes", "another order", "a level comes"],
    )
    def test_used_by_other_work(
        self, repository: Path, work: str, user: str | None, domains: str, is_wrong: bool
    ) -> None:
        commit(in_pool(repository, topology(), *([work] if work else [])))
        in_pool(repository, topology("racks", domains), *([work] if work else []))
        found = [text for rule, text in findings(repository, "--base", "HEAD") if rule == "topology-levels-changed"]
        assert len(found) == (1 if is_wrong and user else 0)
        assert all(text.endswith(f"but it is used by {user}") for text in found)

    @pytest.mark.parametrize("work", [WORKFLOW, JOB, POD_GROUP], ids=["workflow", "workload", "PodGroup"])
    @pytest.mark.parametrize(("running", "found"), [(0, []), (8, ["topology-levels-changed"])])
    def test_work_in_an_idle_queue_does_not_count(
        self, repository: Path, tmp_path: Path, work: str, running: int, found: list[str]
    ) -> None:
        commit(in_pool(repository, topology(), work))
        in_pool(repository, topology("racks", "zone host"), work)
        file = state(tmp_path, queue(running))
        assert rules(repository, "--base", "HEAD", "--cluster-state", file) == found

    def test_work_in_a_queue_that_says_nothing_counts(self, repository: Path, tmp_path: Path) -> None:
        commit(in_pool(repository, topology(), WORKFLOW))
        in_pool(repository, topology("racks", "zone host"), WORKFLOW)
        file = state(tmp_path, {**queue(0), "status": None})
        assert rules(repository, "--base", "HEAD", "--cluster-state", file) == ["topology-levels-changed"]

    @pytest.mark.parametrize(("pods", "found"), [(0, []), (3, ["topology-levels-changed"])])
    def test_while_nothing_is_scheduled(self, repository: Path, tmp_path: Path, pods: int, found: list[str]) -> None:
        root = declare(repository, topology(), clique_set("rack", named="racks"))
        commit(root)
        declare(root, topology("racks", WIDER), clique_set("rack", named="racks"))
        file = state(tmp_path, live_topology("racks", WIDER), live_set(), live_clique(pods))
        assert rules(root, "--base", "HEAD", "--cluster-state", file) == found

    @pytest.mark.parametrize(("named", "found"), [("racks", ["topology-levels-changed"]), ("other", [])])
    def test_a_set_counts_where_the_cluster_has_it(
        self, repository: Path, tmp_path: Path, named: str, found: list[str]
    ) -> None:
        """The cluster may have it on another topology than the repository says."""
        root = declare(repository, topology(), topology("other"), clique_set("rack", named="racks"))
        commit(root)
        declare(root, topology("racks", WIDER), topology("other"), clique_set("rack", named="racks"))
        live = (live_topology("racks", WIDER), live_topology("other"), live_set(named=named), live_clique(3))
        assert rules(root, "--base", "HEAD", "--cluster-state", state(tmp_path, *live)) == found

    def test_a_set_that_only_the_cluster_has_counts(self, repository: Path, tmp_path: Path) -> None:
        root = declare(repository, topology(), topology("other"), clique_set("rack", named="other"))
        commit(root)
        declare(root, topology("racks", WIDER), topology("other"), clique_set("rack", named="other"))
        live = (live_topology("racks", WIDER), live_topology("other"), live_set(), live_clique(3))
        ((rule, message),) = findings(root, "--base", "HEAD", "--cluster-state", state(tmp_path, *live))
        assert (rule, message.endswith("but it is used by default/chat")) == ("topology-levels-changed", True)

    def test_a_state_of_one_of_two_clusters_excuses_no_set_of_the_other(self, repository: Path, tmp_path: Path) -> None:
        sets = [clique_set("rack", name=f"on-{x}", named="racks", labels=of(x)) for x in "ab"]
        root = two_clusters(repository, topology(), topology("other"), *sets)
        commit(root)
        two_clusters(root, topology("racks", WIDER), topology("other"), *sets)
        live = (live_topology("racks", WIDER), live_topology("other"), live_set("on-a", named="other"))
        file = state(tmp_path, *live, live_clique(3, of="on-a"))
        found = findings(root, "--base", "HEAD", "--cluster-state", f"a={file}")
        assert [message.rpartition("used by ")[2] for _, message in found] == ["default/on-b"]


class TestChangedConstraints:
    BEFORE = (clique("a", "host") + clique("b"), scaling_group("g", "a", "rack"))

    @pytest.mark.parametrize(
        ("asked", "cliques", "groups", "found"),
        [
            ("zone", *BEFORE, []),
            ("block", *BEFORE, ["set"]),
            (None, *BEFORE, ["set"]),
            ("zone", clique("a", "host") + clique("b"), scaling_group("g", "a", "host"), ["group"]),
            ("zone", clique("a", "host") + clique("b"), scaling_group("g", "a"), ["group"]),
            ("zone", clique("a", "rack") + clique("b"), scaling_group("g", "a", "rack"), ["clique"]),
            ("zone", clique("a") + clique("b", "rack"), scaling_group("g", "a", "rack"), ["clique", "clique"]),
            ("zone", clique("b") + clique("a", "host"), scaling_group("g", "a", "rack"), []),
            ("zone", BEFORE[0] + clique("c", "rack"), BEFORE[1], []),
            ("zone", clique("a", "{pack: {required: host}}") + clique("b"), BEFORE[1], []),
        ],
    )
    def test_at_each_level(
        self, repository: Path, asked: str | None, cliques: str, groups: str, found: list[str]
    ) -> None:
        root = declare(repository, operator(), clique_set("zone", *self.BEFORE))
        commit(root)
        declare(root, operator(), clique_set(asked, cliques, groups))
        codes = [code for code in rules(root, "--base", "HEAD") if code != "set-locked"]  # cliques that come or go
        assert codes == ["set-constraint-changed" for _ in found]

    @pytest.mark.parametrize(
        ("cliques", "groups", "found"),
        [
            (BEFORE[0], "", ["a"]),
            (BEFORE[0], BEFORE[1] + scaling_group("h", "b", "host"), ["b"]),
            (BEFORE[0], scaling_group("h", "a", "host"), ["a"]),
            (BEFORE[0], scaling_group("h", "a", "rack"), []),
            (BEFORE[0], BEFORE[1] + scaling_group("h", "b"), []),
            (clique("b"), scaling_group("h", "b", "rack"), ["b"]),
            (clique("b"), "", []),
        ],
        ids=["group gone", "group new", "group changes", "group renamed", "group asks nothing", "other", "clique gone"],
    )
    def test_through_the_scaling_group(self, repository: Path, cliques: str, groups: str, found: list[str]) -> None:
        root = declare(repository, operator(), clique_set("zone", *self.BEFORE))
        commit(root)
        declare(root, operator(), clique_set("zone", cliques, groups))
        messages = [text for _, text in findings(root, "--base", "HEAD") if text.startswith("rule 1: ")]
        assert len(messages) == len(found)
        assert all(f'clique "{name}" by its scaling group' in text for name, text in zip(found, messages, strict=True))

    @pytest.mark.parametrize("known", [[], [live_topology()]], ids=["nothing", "topologies"])
    def test_a_state_that_knows_nothing_of_sets_excuses_nothing(
        self, repository: Path, tmp_path: Path, known: list[dict[str, Any]]
    ) -> None:
        root = declare(repository, topology(), topology("other"), clique_set("rack", named="racks"))
        commit(root)
        declare(root, topology(), topology("other"), clique_set("zone", named="other"))
        file = state(tmp_path, {"kind": "Queue", "metadata": {"name": "x"}}, *known)
        found = set(rules(root, "--base", "HEAD", "--cluster-state", file)) - {"topology-undeployed"}
        assert found == {"set-constraint-changed", "set-reference-changed"}

    def test_a_set_that_the_cluster_does_not_have_may_change(self, repository: Path, tmp_path: Path) -> None:
        root = declare(repository, topology(), clique_set("rack", named="racks"))
        commit(root)
        declare(root, topology(), clique_set("zone", named="racks"))
        file = state(tmp_path, live_topology(), live_set("another"), live_clique(2, of="another"))
        assert rules(root, "--base", "HEAD", "--cluster-state", file) == []
        file = state(tmp_path, live_topology(), live_set(), live_clique(2))
        assert rules(root, "--base", "HEAD", "--cluster-state", file) == ["set-constraint-changed"]

    def test_the_state_of_one_cluster_excuses_nothing_in_another(self, repository: Path, tmp_path: Path) -> None:
        def sets(asked: str) -> list[str]:
            return [clique_set(asked, name=f"on-{x}", named="racks", labels=of(x)) for x in "ab"]

        root = two_clusters(repository, topology(), *sets("rack"))
        commit(root)
        two_clusters(root, topology(), *sets("zone"))
        file = state(tmp_path, live_topology(), live_set("on-b"), live_clique(0, of="on-b"))
        assert rules(root, "--base", "HEAD", "--cluster-state", f"b={file}") == ["set-constraint-changed"] * 2
        assert rules(root, "--base", "HEAD", "--cluster-state", f"a={file}") == ["set-constraint-changed"]

    def test_a_backend_that_is_renamed_hides_nothing(self, repository: Path) -> None:
        config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: before}]}\n"
        root = declare(repository, topology(), clique_set("rack", named="racks"))
        commit(write(root, {"tas.yaml": config}))
        declare(root, topology(), clique_set("zone", named="racks"))
        write(root, {"tas.yaml": config.replace("before", "after")})
        assert rules(root, "--base", "HEAD") == ["set-constraint-changed"]

    @pytest.mark.parametrize("changed", ["a", "b"])
    def test_sets_of_one_name_in_two_clusters(self, repository: Path, changed: str) -> None:
        def sets(asked: str) -> list[str]:
            return [clique_set(asked if x == changed else "rack", named="racks", labels=of(x)) for x in "ab"]

        root = two_clusters(repository, topology(), *sets("rack"))
        commit(root)
        two_clusters(root, topology(), *sets("zone"))
        assert rules(root, "--base", "HEAD") == ["set-constraint-changed"]

    def test_a_set_that_is_gone_from_one_of_two_clusters(self, repository: Path) -> None:
        """What stays in the other one asks for what it asked for."""
        stays, goes = (clique_set(asked, named="racks", labels=of(x)) for asked, x in (("rack", "a"), ("zone", "b")))
        commit(two_clusters(repository, topology(), stays, goes))
        assert rules(two_clusters(repository, topology(), stays), "--base", "HEAD") == []

    def test_replicas_may_change(self, repository: Path) -> None:
        root = declare(repository, operator(), clique_set("zone"))
        commit(root)
        declare(root, operator(), clique_set("zone", replicas=4))
        assert rules(root, "--base", "HEAD") == []

    @pytest.mark.parametrize(("gitops", "expected"), [("argocd", ["set-locked"]), ("flux", [])])
    def test_replicas_of_a_clique_are_its_minimum_unless_flux_applies_it(
        self, repository: Path, gitops: str, expected: list[str]
    ) -> None:
        config = {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{gitops: {gitops}}}\n"}
        root = declare(write(repository, config), operator(), clique_set("zone", clique(replicas=2)))
        commit(root)
        declare(root, operator(), clique_set("zone", clique(replicas=9)))
        assert rules(root, "--base", "HEAD") == expected


class TestChangedReferences:
    def test_naming_the_default_is_no_change(self, repository: Path) -> None:
        root = declare(repository, operator(), clique_set("zone"))
        commit(root)
        declare(root, operator(), clique_set("zone", named="grove-topology"))
        assert rules(root, "--base", "HEAD") == []

    def test_from_the_default_to_another(self, repository: Path) -> None:
        root = declare(repository, operator(), topology(), clique_set("zone"))
        commit(root)
        declare(root, operator(), topology(), clique_set("zone", named="racks"))
        ((rule, message),) = findings(root, "--base", "HEAD")
        assert rule == "set-reference-changed"
        assert 'from "grove-topology" to "racks"' in message
        assert kubectl_tas("validate", "-C", root, "--base", "HEAD").code == 0

    @pytest.mark.parametrize(
        ("pods", "found", "code"),
        [(0, set(), 0), (1, {"set-reference-locked"}, 1), (None, {"set-reference-changed"}, 0)],
    )
    def test_with_the_cluster_it_is_known(
        self, repository: Path, tmp_path: Path, pods: int | None, found: set[str], code: int
    ) -> None:
        root = declare(repository, topology(), topology("other"), clique_set("rack", named="racks"))
        commit(root)
        declare(root, topology(), topology("other"), clique_set("rack", named="other"))
        live = [live_topology(), live_topology("other"), live_set()]
        file = state(tmp_path, *live, live_clique(pods)) if pods is not None else None
        arguments = ["--base", "HEAD", *(["--cluster-state", file] if file else [])]
        assert set(rules(root, *arguments)) == found
        assert kubectl_tas("validate", "-C", root, *arguments).code == code

    @pytest.mark.parametrize(("pods", "found"), [(0, []), (1, ["set-reference-locked"])])
    def test_its_pods_are_enough_to_know(self, repository: Path, tmp_path: Path, pods: int, found: list[str]) -> None:
        root = declare(repository, topology(), topology("other"), clique_set("rack", named="racks"))
        commit(root)
        declare(root, topology(), topology("other"), clique_set("rack", named="other"))
        assert rules(root, "--base", "HEAD", "--cluster-state", state(tmp_path, live_clique(pods))) == found

    def test_a_state_that_does_not_tell(self, repository: Path, tmp_path: Path) -> None:
        def sets(named: str) -> list[str]:
            return [clique_set("rack", name=f"on-{x}", named=named, labels=of(x)) for x in "ab"]

        root = two_clusters(repository, topology(), topology("other"), *sets("racks"))
        commit(root)
        two_clusters(root, topology(), topology("other"), *sets("other"))
        file = state(tmp_path, live_topology(), live_topology("other"))
        result = kubectl_tas("validate", "-C", root, "--base", "HEAD", "--cluster-state", f"a={file}")
        assert result.out.count("[set-reference-changed]") == 2
        assert result.out.count("What was read of the cluster does not tell") == 1
        assert result.out.count("Pass --cluster-state, or --context, to check that no pod") == 1
        unasked = kubectl_tas("validate", "-C", root, "--base", "HEAD").out
        assert unasked.count("Pass --cluster-state, or --context, to check that no pod") == 2

    @pytest.mark.parametrize(("pods", "found"), [(0, []), (2, ["set-reference-locked"])])
    def test_a_set_of_two_clusters_is_known_in_one(
        self, repository: Path, tmp_path: Path, pods: int, found: list[str]
    ) -> None:
        def sets(named: str) -> list[str]:
            return [clique_set("rack", named=named, labels=of(x)) for x in "ab"]

        root = two_clusters(repository, topology(), topology("other"), *sets("racks"))
        commit(root)
        two_clusters(root, topology(), topology("other"), *sets("other"))
        file = state(tmp_path, live_topology(), live_topology("other"), live_set(), live_clique(pods))
        assert rules(root, "--base", "HEAD", "--cluster-state", f"a={file}") == [*found, "set-reference-changed"]


LEGAL = {
    ("ACTIVE", "DELETING"),
    ("ACTIVE", "ARCHIVED"),
    ("DELETING", "ARCHIVED"),
    ("ARCHIVED", "ACTIVE"),
}
STATES: tuple[SubpoolState, ...] = ("ACTIVE", "DELETING", "ARCHIVED")


class TestSubpools:
    @pytest.mark.parametrize("after", STATES)
    @pytest.mark.parametrize("before", STATES)
    def test_states(self, repository: Path, before: SubpoolState, after: SubpoolState) -> None:
        write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 10, state=before)})
        commit(repository)
        write(repository, {"subpools/a.yaml": subpool("a", 10, state=after)})
        legal = before == after or (before, after) in LEGAL
        assert rules(repository, "--base", "HEAD") == ([] if legal else ["subpool-state-changed"])

    @pytest.mark.parametrize("what", STATES)
    def test_quota(self, repository: Path, what: SubpoolState) -> None:
        write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 10, state=what)})
        commit(repository)
        write(repository, {"subpools/a.yaml": subpool("a", 11, state=what)})
        assert rules(repository, "--base", "HEAD") == ([] if what == "ACTIVE" else ["subpool-state-changed"])

    @pytest.mark.parametrize(
        ("before", "after", "found"),
        [
            ("DELETING", "ARCHIVED", ["subpool-state-changed"]),
            ("ACTIVE", "DELETING", []),
            ("ARCHIVED", "ACTIVE", []),
        ],
    )
    def test_quota_beside_the_state(
        self, repository: Path, before: SubpoolState, after: SubpoolState, found: list[str]
    ) -> None:
        write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 10, state=before)})
        commit(repository)
        write(repository, {"subpools/a.yaml": subpool("a", 20, state=after)})
        assert rules(repository, "--base", "HEAD") == found

    @pytest.mark.parametrize("what", STATES)
    def test_the_document_stays(self, repository: Path, what: SubpoolState) -> None:
        write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 10, state=what)})
        commit(repository)
        (repository / "subpools/a.yaml").rename(repository / "pools/moved.yaml")
        assert rules(repository, "--base", "HEAD") == []
        (repository / "pools/moved.yaml").unlink()
        assert rules(repository, "--base", "HEAD") == ["subpool-removed"]

    def test_with_its_pool(self, repository: Path) -> None:
        write(repository, {"pools/team.yaml": pool(), "pools/b.yaml": pool("b"), "subpools/a.yaml": subpool("a", 10)})
        commit(repository)
        (repository / "pools/team.yaml").unlink()
        (repository / "subpools/a.yaml").unlink()
        result = kubectl_tas("validate", "-C", repository, "--base", "HEAD")
        assert result.code == 0
        assert result.out.startswith("info: pool team is gone since HEAD, and its queues: ")
        assert "subpool team--a" not in result.out

    @pytest.mark.parametrize("running", [0, 4])
    def test_archived_while_something_runs(self, repository: Path, tmp_path: Path, running: int) -> None:
        write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 10)})
        commit(repository)
        write(repository, {"subpools/a.yaml": subpool("a", 10, state="ARCHIVED")})
        own = {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": "osmo-pool-default-team--a"},
            "status": {"allocated": {"nvidia.com/gpu": str(running)}},
        }
        file = tmp_path / "queues.json"
        file.write_text(json.dumps({"items": [own]}))
        found = rules(repository, "--base", "HEAD", "--cluster-state", file)
        assert found == (["subpool-state-changed"] if running else [])

    def test_what_runs_in_one_that_was_archived_before_is_no_change(self, repository: Path, tmp_path: Path) -> None:
        commit(write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 10, state="ARCHIVED")}))
        file = state(tmp_path, {**queue(4), "metadata": {"name": "osmo-pool-default-team--a"}})
        assert rules(repository, "--base", "HEAD", "--cluster-state", file) == []


@pytest.mark.parametrize("path", ["workflows/0.yaml", "tas.yaml"])
def test_what_could_not_be_read_before_is_named(repository: Path, path: str) -> None:
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: a, namespace: ml}]}\n"
    declared = (clique_set("zone", named="racks"), topology())
    text = write(declare(repository, *declared), {"tas.yaml": config}) / path
    good = text.read_text()
    text.write_text(good.replace("spec:", "spce:"))
    commit(repository)
    text.write_text(good)
    ((rule, message),) = findings(repository, "--base", "HEAD")
    assert rule == "base-unread"
    assert f": {path}:" in message


def test_nothing_has_changed(repository: Path) -> None:
    root = declare(repository, operator(), topology(), clique_set("rack", named="racks"))
    write(root, {"subpools/a.yaml": subpool("a", 10, state="DELETING")})
    commit(root)
    assert rules(root, "--base", "HEAD") == []


def test_only_what_is_named_is_reported(repository: Path) -> None:
    root = declare(repository, topology(), clique_set("rack", named="racks"))
    commit(root)
    declare(root, topology("racks", WIDER), clique_set("rack", named="racks"))
    assert rules(root, root / "workflows/1.yaml", "--base", "HEAD") == []
    assert rules(root, root / "topologies/0.yaml", "--base", "HEAD") == ["topology-levels-changed"]
