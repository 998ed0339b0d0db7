"""Changes since an earlier revision that must not be made, and those that may."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubectl_tas.model.pool import SubpoolState
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.grove import (
    clique,
    clique_set,
    declare,
    findings,
    live_clique,
    live_set,
    live_topology,
    operator,
    rules,
    scaling_group,
    state,
    topology,
)
from tests.support.history import commit

WIDER = "zone block rack host"


class TestRemovedTopologies:
    def test_used_by_a_set(self, repository: Path) -> None:
        root = declare(repository, clique_set("rack", named="racks"), topology())
        commit(root)
        declare(root, clique_set("rack", named="racks"))
        assert set(rules(root, "--base", "HEAD")) == {"set-topology-unknown", "topology-removed"}

    def test_used_by_a_pool(self, repository: Path) -> None:
        root = declare(repository, topology())
        commit(root)
        write(declare(root), {"pools/team.yaml": pool(spec="  topology: racks\n")})
        assert set(rules(root, "--base", "HEAD")) == {"topology-unknown", "topology-removed"}

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
        ((rule, message),) = findings(root, "--base", "HEAD", "--cluster-state", file)
        assert rule == "topology-removed"
        assert "default/chat of the cluster" in message

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

    @pytest.mark.parametrize(("pods", "found"), [(0, []), (3, ["topology-levels-changed"])])
    def test_while_nothing_is_scheduled(self, repository: Path, tmp_path: Path, pods: int, found: list[str]) -> None:
        root = declare(repository, topology(), clique_set("rack", named="racks"))
        commit(root)
        declare(root, topology("racks", WIDER), clique_set("rack", named="racks"))
        file = state(tmp_path, live_topology("racks", WIDER), live_set(), live_clique(pods))
        assert rules(root, "--base", "HEAD", "--cluster-state", file) == found


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
        assert rules(root, "--base", "HEAD") == ["set-constraint-changed" for _ in found]

    def test_replicas_may_change(self, repository: Path) -> None:
        root = declare(repository, operator(), clique_set("zone"))
        commit(root)
        declare(root, operator(), clique_set("zone", clique(replicas=9), replicas=4))
        assert rules(root, "--base", "HEAD") == []


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
        assert result.code == 1
        assert result.out.startswith("error: the document of subpool team--a is gone since HEAD")

    @pytest.mark.parametrize("running", [0, 4])
    def test_archived_while_something_runs(self, repository: Path, tmp_path: Path, running: int) -> None:
        write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 10)})
        commit(repository)
        write(repository, {"subpools/a.yaml": subpool("a", 10, state="ARCHIVED")})
        queue = {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": "osmo-pool-default-team--a"},
            "status": {"allocated": {"nvidia.com/gpu": str(running)}},
        }
        file = tmp_path / "queues.json"
        file.write_text(json.dumps({"items": [queue]}))
        found = rules(repository, "--base", "HEAD", "--cluster-state", file)
        assert found == (["subpool-state-changed"] if running else [])


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
    assert rules(root, root / "workflows/0.yaml", "--base", "HEAD") == ["topology-levels-changed"]
