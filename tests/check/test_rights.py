"""Tests that documents that affect other teams count only in the folders of administrators."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.history import commit

CODE = "[outside-admin-sources]"
CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n"
WORK = """\
workflow:
  name: train
  pool: team
  tasks:
  - {name: main, image: "registry.example.com/a:1"}
resources: {default: {gpu: 1}}
"""
TEMPLATE = """\
apiVersion: tas/v1alpha1
kind: PodTemplate
metadata: {name: big}
template: {spec: {}}
"""
VALIDATION = """\
apiVersion: tas/v1alpha1
kind: ResourceValidation
metadata: {name: small}
rules: [{operator: LE, left_operand: "{{USER_MEMORY}}", right_operand: 64Gi, assert_message: too much}]
"""
TOPOLOGY = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: racks}
spec: {levels: [{domain: host, key: kubernetes.io/hostname}]}
"""
OPERATOR = """\
apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
topologyAwareScheduling: {enabled: false}
"""


@pytest.fixture
def team(repository: Path) -> Path:
    """A repository with a pool."""
    return write(repository, {"pools/team.yaml": pool()})


def told(root: Path, *arguments: str | Path) -> list[str]:
    """The places at which a document stands outside of the folders that count."""
    out = kubectl_tas("validate", "-C", root, *arguments).out.splitlines()
    return [line.partition(": error: ")[0] for line in out if ": error: " in line and line.endswith(CODE)]


class TestFolders:
    def test_a_subpool_beside_the_work(self, team: Path) -> None:
        write(team, {"workflows/mine.yaml": f"{WORK}---\n{subpool('a', 10)}"})
        result = kubectl_tas("validate", "-C", team)
        assert result.code == 1
        message = (
            'the Subpool "a" affects other teams, so it is allowed '
            "only in pools, subpools, topologies or platforms, not in workflows"
        )
        assert f"workflows/mine.yaml:9:7: error: {message} {CODE}" in result.out

    @pytest.mark.parametrize("text", [pool("b"), TEMPLATE, VALIDATION, TOPOLOGY, OPERATOR])
    def test_every_kind_that_decides(self, team: Path, text: str) -> None:
        write(team, {"workflows/deep/mine.yaml": text})
        assert told(team) == ["workflows/deep/mine.yaml:2:7"]

    @pytest.mark.parametrize("folder", ["pools", "subpools/a/b", "topologies"])
    def test_the_folders_that_count(self, team: Path, folder: str) -> None:
        write(team, {f"{folder}/mine.yaml": subpool("a", 10)})
        assert kubectl_tas("validate", "-C", team).code == 0

    def test_an_item_of_a_list(self, team: Path) -> None:
        item = "{apiVersion: tas/v1alpha1, kind: Subpool, metadata: {name: a}, spec: {parent: team, quota: 1}}"
        write(team, {"workflows/mine.yaml": f"apiVersion: v1\nkind: List\nitems:\n- {item}\n"})
        assert told(team) == ["workflows/mine.yaml:4:36"]

    def test_beside_a_template(self, team: Path) -> None:
        template = f"{WORK.replace('registry', '{{ host }}')}default-values: {{host: registry}}\n"
        write(team, {"workflows/mine.yaml": f"{template}---\n{subpool('a', 1)}"})
        assert kubectl_tas("validate", "-C", team).code == 1

    def test_a_folder_whose_name_begins_alike_or_has_capitals(self, team: Path) -> None:
        write(team, {"tas.yaml": f"{CONFIG}  sources: [pools, pools-of-users, Pools]\n"})
        write(team, {"pools-of-users/a.yaml": subpool("a", 1), "Pools/b.yaml": subpool("b", 1)})
        assert told(team) == ["Pools/b.yaml:2:7", "pools-of-users/a.yaml:2:7"]

    def test_the_file_of_the_config_counts(self, repository: Path) -> None:
        write(repository, {"tas.yaml": f"{CONFIG}  queuePrefix: a\n---\n{pool()}"})
        assert kubectl_tas("validate", "-C", repository).code == 0


class TestSettings:
    def test_a_folder_of_ones_own(self, repository: Path) -> None:
        config = f"{CONFIG}  sources: [platform, workflows]\n  adminSources: [./platform/gpus/]\n"
        write(repository, {"tas.yaml": config, "platform/gpus/team.yaml": pool(), "platform/a.yaml": subpool("a", 1)})
        assert told(repository) == ["platform/a.yaml:2:7"]

    def test_one_folder_for_all(self, repository: Path) -> None:
        files = {"tas.yaml": f"{CONFIG}  sources: [.]\n", "all.yaml": f"{pool()}---\n{WORK}"}
        write(repository, files)
        result = kubectl_tas("validate", "-C", repository)
        assert 'all.yaml:2:7: error: the Pool "team" affects other teams, so it is allowed only in pools' in result.out
        assert 'add "." to spec.adminSources' in result.out
        write(repository, {"tas.yaml": f"{CONFIG}  sources: [.]\n  adminSources: [.]\n"})
        assert kubectl_tas("validate", "-C", repository, "--strict").code == 0

    def test_none(self, team: Path) -> None:
        write(team, {"tas.yaml": f"{CONFIG}  adminSources: []\n"})
        result = kubectl_tas("validate", "-C", team)
        assert 'the Pool "team" affects other teams, so it is allowed only in tas.yaml, not in pools' in result.out

    def test_a_folder_that_is_not_read(self, team: Path) -> None:
        write(team, {"tas.yaml": f"{CONFIG}  adminSources: [pools, platfrom]\n"})
        result = kubectl_tas("validate", "-C", team)
        assert "tas.yaml:4:25: warning: no file of platfrom is read" in result.out
        assert result.code == 0

    @pytest.mark.parametrize("folder", ["/pools", "../pools", "pools/../..", ".git"])
    def test_no_folder_of_the_repository(self, team: Path, folder: str) -> None:
        write(team, {"tas.yaml": f"{CONFIG}  adminSources: [pools, {folder}]\n"})
        assert "tas.yaml:4:25: error: " in kubectl_tas("validate", "-C", team).out

    def test_a_rule_that_the_config_lowers(self, team: Path) -> None:
        write(team, {"tas.yaml": f"{CONFIG}  rules: {{outside-admin-sources: warning}}\n"})
        write(team, {"workflows/mine.yaml": subpool("a", 1).replace("kind:", "# kubectl-tas: ignore[x]\nkind:", 1)})
        assert kubectl_tas("validate", "-C", team).code == 0

    def test_no_comment_waives_it(self, team: Path) -> None:
        text = subpool("a", 1).replace("Subpool", "Subpool  # kubectl-tas: ignore[outside-admin-sources]", 1)
        write(team, {"workflows/mine.yaml": text})
        assert told(team) == ["workflows/mine.yaml:2:7"]


class TestLinks:
    def test_a_link_to_the_work(self, team: Path) -> None:
        write(team, {"workflows/mine.yaml": subpool("a", 1)})
        (team / "subpools").mkdir()
        (team / "subpools/a.yaml").symlink_to("../workflows/mine.yaml")
        assert told(team) == ["subpools/a.yaml:2:7", "workflows/mine.yaml:2:7"]

    def test_a_folder_that_is_a_link(self, team: Path) -> None:
        write(team, {"elsewhere/deep/a.yaml": subpool("a", 1)})
        (team / "subpools").symlink_to("elsewhere")
        result = kubectl_tas("validate", "-C", team)
        assert told(team) == ["subpools/deep/a.yaml:2:7"]
        assert "not in elsewhere/deep, to which a link leads" in result.out

    def test_a_link_among_the_work_to_a_pool(self, team: Path) -> None:
        write(team, {"pools/.old/a.yaml": subpool("a", 1)})
        (team / "workflows").mkdir()
        (team / "workflows/a.yaml").symlink_to("../pools/.old/a.yaml")
        assert told(team) == ["workflows/a.yaml:2:7"]

    def test_a_link_from_one_of_the_folders_to_another(self, team: Path) -> None:
        write(team, {"pools/.old/a.yaml": subpool("a", 1)})
        (team / "subpools").symlink_to("pools/.old")
        assert kubectl_tas("validate", "-C", team).code == 0


class TestStandardInput:
    def run(self, monkeypatch: pytest.MonkeyPatch, text: str, *arguments: str | Path) -> tuple[int, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        result = kubectl_tas(*arguments)
        return result.code, result.out + result.err

    def test_lies_in_no_folder(self, team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        code, out = self.run(monkeypatch, subpool("a", 1), "validate", "-C", team, "-")
        assert (code, CODE in out) == (1, True)
        assert "--stdin-filename" in out

    def test_with_a_name(self, team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        named = ("validate", "-C", team, "-", "--stdin-filename")
        monkeypatch.chdir(team)
        assert self.run(monkeypatch, subpool("a", 1), *named, "subpools/a.yaml")[0] == 0
        assert self.run(monkeypatch, subpool("a", 1), *named, "workflows/a.yaml")[0] == 1

    def test_what_is_submitted(self, team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        code, out = self.run(monkeypatch, f"{WORK}---\n{subpool('a', 1)}", "admit", "-C", team, "-")
        assert (code, CODE in out) == (1, True)


class TestBase:
    """The folders that counted before decide what a change may declare."""

    WIDER = f"{CONFIG}  adminSources: [pools, workflows]\n"

    def test_a_change_that_gives_itself_the_right(self, team: Path) -> None:
        commit(team)
        write(team, {"tas.yaml": self.WIDER, "workflows/mine.yaml": subpool("a", 100)})
        assert told(team) == []
        result = kubectl_tas("validate", "-C", team, "--base", "HEAD")
        assert result.code == 1
        message = (
            'the Subpool "a" affects other teams, so it is allowed '
            "only in pools, subpools, topologies or platforms at HEAD, not in workflows"
        )
        assert f"workflows/mine.yaml:2:7: error: {message} {CODE}" in result.out

    def test_a_rule_lowered_by_the_change(self, team: Path) -> None:
        commit(team)
        write(team, {"tas.yaml": f"{CONFIG}  rules: {{outside-admin-sources: off}}\n"})
        write(team, {"workflows/mine.yaml": subpool("a", 100)})
        assert told(team, "--base", "HEAD") == ["workflows/mine.yaml:2:7"]

    def test_in_two_steps(self, team: Path) -> None:
        commit(team)
        write(team, {"tas.yaml": self.WIDER})
        assert kubectl_tas("validate", "-C", team, "--base", "HEAD").code == 0
        commit(team)
        write(team, {"workflows/mine.yaml": subpool("a", 100)})
        assert kubectl_tas("validate", "-C", team, "--base", "HEAD").code == 0

    def test_what_was_there_may_be_declared(self, team: Path) -> None:
        write(team, {"workflows/mine.yaml": f"{WORK}---\n{subpool('a', 10)}"})
        commit(team)
        write(team, {"tas.yaml": self.WIDER})
        assert kubectl_tas("validate", "-C", team, "--base", "HEAD").code == 0
        write(team, {"workflows/mine.yaml": f"{WORK}---\n{subpool('a', 100)}"})
        assert told(team, "--base", "HEAD") == ["workflows/mine.yaml:9:7"]

    def test_the_first_change_of_all(self, repository: Path) -> None:
        commit(repository)
        write(repository, {"tas.yaml": f"{CONFIG}  sources: [all]\n  adminSources: [all]\n", "all/team.yaml": pool()})
        assert told(repository, "--base", "HEAD") == []

    def test_a_folder_that_counts_no_more(self, team: Path) -> None:
        write(team, {"tas.yaml": self.WIDER, "workflows/a.yaml": subpool("a", 1), "workflows/b.yaml": subpool("b", 1)})
        commit(team)
        write(team, {"tas.yaml": f"{CONFIG}  adminSources: [pools]\n"})
        assert told(team, "--base", "HEAD") == ["tas.yaml:4:17"]


def test_a_new_subpool_lies_where_it_counts(repository: Path) -> None:
    config = f"{CONFIG}  sources: [gpus, work]\n  adminSources: [gpus]\n"
    write(repository, {"tas.yaml": config, "gpus/team.yaml": pool(), "work/train.yaml": WORK})
    assert kubectl_tas("subpool", "create", "-C", repository, "team", "a", "--quota", "5").code == 0
    assert (repository / "gpus/team--a.yaml").is_file()
    assert kubectl_tas("validate", "-C", repository).code == 0
