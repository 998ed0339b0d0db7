"""Tests that parts of a revision that cannot be compared are reported, and fail a strict run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.history import commit, git

CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  queuePrefix: acme\n"

LISTED = pool(guarantee=30, spec="  overQuota:\n    Workflow/train: {gpu: 40}\n")
TRAIN = """\
workflow:
  name: train
  pool: team
  tasks: [{name: t, image: i}]
resources: {default: {gpu: 40}}
"""


def validate(root: Path, *arguments: str) -> Result:
    return kubectl_tas("validate", "-C", root, "--base", "HEAD", *arguments)


class TestBroken:
    @pytest.fixture
    def repaired(self, repository: Path) -> Path:
        """A change that repairs what the base has broken."""
        write(repository, {"tas.yaml": CONFIG, "pools/team.yaml": "kind: [", "pools/other.yaml": pool("other", 1)})
        commit(repository)
        return write(repository, {"pools/team.yaml": pool()})

    def test_the_repair_is_not_blocked(self, repaired: Path) -> None:
        result = validate(repaired)
        assert result.code == 0
        assert "warning: what cannot be read at HEAD, and what depends on it, is not compared: pools/team.yaml:1:8" in (
            result.out
        )
        assert "[base-unread]" in result.out

    def test_a_strict_run_is(self, repaired: Path) -> None:
        assert validate(repaired, "--strict").code == 1

    def test_a_file_alone_is_reported_with_it(self, repaired: Path) -> None:
        """What has no place concerns each file."""
        write(repaired, {"subpools/a.yaml": subpool("a", 1)})
        result = validate(repaired, "subpools", "--strict")
        assert (result.code, "[base-unread]" in result.out) == (1, True)

    def test_the_base_says_what_it_counts_for(self, repaired: Path) -> None:
        write(repaired, {"tas.yaml": f"{CONFIG}  rules: {{base-unread: off}}\n"})
        assert validate(repaired, "--strict").code == 1
        commit(repaired)
        assert validate(repaired, "--strict").code == 0

    def test_nothing_that_may_have_stood_there_is_new(self, repaired: Path) -> None:
        write(repaired, {"pools/other.yaml": pool("other", 2), "subpools/a.yaml": subpool("a", 1)})
        for output in ("text", "markdown", "html"):
            shown = kubectl_tas("diff", "-C", repaired, "--base", "HEAD", "-o", output).out
            assert "not all could be compared" in (shown.partition("<h1>")[2] or shown.splitlines()[0])
            assert "made" not in shown.replace("classDef made", "")
            assert "other" in shown
            place = re.search("NOT COMPARED|Not compared", shown, re.IGNORECASE)
            assert place is not None
            assert place.start() < shown.index("other")
        result = kubectl_tas("diff", "-C", repaired, "--base", "HEAD", "-o", "json")
        data = json.loads(result.out)
        assert {item["change"] for item in data["queues"]} == {"changed"}
        assert result.code == 1

    def test_work_that_may_have_stood_there_runs_on(self, repository: Path) -> None:
        write(repository, {"pools/team.yaml": LISTED, "workflows/train.yaml": "workflow: ["})
        commit(repository)
        write(repository, {"workflows/train.yaml": TRAIN})
        assert "[over-quota-running]" in validate(repository).out

    def test_a_config_that_cannot_be_read_makes_nothing_new(self, repository: Path) -> None:
        write(repository, {"tas.yaml": CONFIG.replace("queuePrefix", "queuePrefx"), "pools/team.yaml": pool()})
        commit(repository)
        write(repository, {"tas.yaml": CONFIG})
        data = json.loads(kubectl_tas("diff", "-C", repository, "--base", "HEAD", "-o", "json").out)
        assert (data["queues"], data["settings"]) == ([], [])

    def test_a_config_of_which_the_defaults_stand_in(self, repository: Path) -> None:
        broken = CONFIG.replace("queuePrefix", "queuePrefx")
        write(repository, {"tas.yaml": broken, "pools/team.yaml": pool()})
        commit(repository)
        write(repository, {"tas.yaml": CONFIG})
        assert "is not compared: tas.yaml:4:3" in validate(repository).out


class TestNothingThere:
    def test_the_first_change_of_all(self, repository: Path) -> None:
        write(repository, {"README.md": "Hello\n"})
        commit(repository)
        write(repository, {"tas.yaml": CONFIG, "pools/team.yaml": pool()})
        result = validate(repository, "--strict")
        assert result.code == 0
        assert "info: HEAD has no file of this repository, so all of it counts as new [base-empty]" in result.out

    def test_work_that_may_run_already_runs_on(self, repository: Path) -> None:
        write(repository, {"README.md": "Hello\n"})
        commit(repository)
        write(repository, {"pools/team.yaml": LISTED, "workflows/train.yaml": TRAIN})
        assert "[over-quota-running]" in validate(repository).out

    def test_a_repository_that_lay_elsewhere(self, repository: Path) -> None:
        """A change that moves all files must not be compared with nothing."""
        old = write(repository / "old", {"tas.yaml": CONFIG, "pools/team.yaml": pool()})
        commit(repository)
        old.rename(repository / "new")
        result = validate(repository / "new", "--strict")
        assert result.code == 1
        message = "warning: HEAD has no file of this repository here, but one in old, which is not compared"
        assert message in result.out

    def test_another_one_beside_it(self, repository: Path) -> None:
        """Each folder is a repository of its own; that the other is there still says that nothing was moved."""
        write(repository / "old", {"tas.yaml": CONFIG, "pools/team.yaml": pool()})
        commit(repository)
        write(repository / "new", {"tas.yaml": CONFIG, "pools/team.yaml": pool()})
        assert validate(repository / "new", "--strict").code == 0

    def test_before_the_first_commit(self, repository: Path) -> None:
        write(repository, {"tas.yaml": CONFIG, "pools/team.yaml": pool()})
        git(repository, "init", "--quiet")
        assert validate(repository, "--strict").code == 0

    def test_a_folder_that_is_a_submodule(self, repository: Path) -> None:
        """Its files are read now, and git does not have them in this repository: they were not compared."""
        inner = write(repository / "pools", {"team.yaml": pool()})
        commit(inner)
        write(repository, {"tas.yaml": CONFIG})
        commit(repository)
        result = validate(repository)
        assert result.code == 0
        assert "is not compared: pools (a submodule)" in result.out
        assert validate(repository, "--strict").code == 1


def test_a_revision_that_is_not_there(repository: Path) -> None:
    write(repository, {"tas.yaml": CONFIG, "pools/team.yaml": pool()})
    commit(repository)
    for number in range(2):
        write(repository, {"pools/team.yaml": pool(guarantee=10 + number)})
        commit(repository)
    clone = repository.parent / "clone"
    git(repository, "clone", "--quiet", "--depth=1", f"file://{repository}", str(clone))
    for base in ("HEAD~1", "origin/release"):
        result = kubectl_tas("validate", "-C", clone, "--base", base)
        assert (result.code, "git fetch --unshallow" in result.err) == (3, True)
