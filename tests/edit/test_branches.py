"""Tests two branches that each use the rest of a pool: git must refuse the merge, although each is right alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.history import commit, git

SHARED = "manifests/queues/osmo-pool-default-team--shared.yaml"


@pytest.fixture
def team(repository: Path) -> Path:
    write(repository, {"pools/team.yaml": pool(guarantee=64), "subpools/old.yaml": subpool("old", 40)})
    assert kubectl_tas("render", "-C", repository).code == 0
    commit(repository)
    return repository


def branch(root: Path, name: str, quota: int) -> None:
    """A branch off main on which a subpool is created and rendered; both checks of a CI job pass there."""
    git(root, "checkout", "--quiet", "-b", f"add-{name}", "main")
    assert kubectl_tas("subpool", "create", f"team--{name}", "--quota", quota, "--render", "-C", root).code == 0
    assert kubectl_tas("validate", "--base", "main", "--strict", "-C", root).code == 0
    assert kubectl_tas("check", "-C", root).code == 0
    commit(root, name)


def merge(root: Path, name: str) -> list[str]:
    """Merges a branch; returns the files in conflict."""
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "merge", "--quiet", f"add-{name}"],
        cwd=root,
        capture_output=True,
        check=False,
    )
    conflicts = git(root, "diff", "--name-only", "--diff-filter=U").splitlines()
    assert bool(done.returncode) == bool(conflicts)
    return conflicts


@pytest.mark.parametrize("quotas", [(20, 20), (24, 24), (20, 1)], ids=str)
def test_git_refuses_the_second_branch(team: Path, quotas: tuple[int, int]) -> None:
    branch(team, "research", quotas[0])
    branch(team, "serving", quotas[1])
    git(team, "checkout", "--quiet", "main")
    assert merge(team, "research") == []
    assert SHARED in merge(team, "serving")


def test_the_conflict_is_resolved_by_the_tool(team: Path) -> None:
    branch(team, "research", 20)
    branch(team, "serving", 20)
    git(team, "checkout", "--quiet", "main")
    merge(team, "research")
    merge(team, "serving")
    git(team, "checkout", "--ours", "manifests")
    result = kubectl_tas("validate", "-C", team)
    assert (result.code, "add up to 80 GPUs, but the pool is guaranteed 64" in result.out) == (1, True)
    assert kubectl_tas("subpool", "update", "team--serving", "--quota", 4, "--render", "-C", team).code == 0
    commit(team, "merged")
    assert kubectl_tas("check", "-C", team).code == 0
    assert "# 64 - old 40 - research 20 - serving 4 = 0" in (team / SHARED).read_text()


def test_branches_of_two_pools_merge(team: Path) -> None:
    write(team, {"pools/lab.yaml": pool("lab", 8)})
    assert kubectl_tas("render", "-C", team).code == 0
    commit(team)
    branch(team, "research", 20)
    git(team, "checkout", "--quiet", "-b", "add-bench", "main")
    assert kubectl_tas("subpool", "create", "lab--bench", "--quota", 8, "--render", "-C", team).code == 0
    commit(team)
    git(team, "checkout", "--quiet", "main")
    assert merge(team, "research") == []
    assert SHARED not in merge(team, "bench")
