"""Tests that a localpath reads files that git has; without git, no hidden file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Result, kubectl_tas, pool, write
from tests.support.history import commit, git

SECRET = "PASSWORD=hunter2"


def workflow(localpath: str) -> str:
    return (
        "workflow:\n  name: train\n  pool: team\n  tasks:\n  - name: main\n    image: registry.example.com/a:1\n"
        f'    files: [{{path: /settings, localpath: "{localpath}"}}]\nresources: {{default: {{gpu: 1}}}}\n'
    )


def declare(root: Path, localpath: str) -> Path:
    return write(root, {"pools/team.yaml": pool(), "workflows/train.yaml": workflow(localpath)})


def rendered(root: Path, *arguments: str) -> Result:
    return kubectl_tas("render", "-C", root, "--to", "-", *arguments)


def refused(root: Path, message: str) -> str:
    """That the file is read by no command; what is said of it."""
    for command in (("validate",), ("check",), ("render", "--to", "-")):
        result = kubectl_tas(*command, "-C", root)
        assert result.code == 1
        assert SECRET not in result.out + result.err
        assert "[local-file]" in result.out + result.err
    said = kubectl_tas("validate", "-C", root).out
    assert message in said
    assert "workflows/train.yaml:7:" in said
    return said


@pytest.fixture
def checkout(repository: Path) -> Path:
    """A git repository that ignores .env, which lies in it."""
    declare(repository, "../.env")
    write(repository, {".gitignore": ".env\nsecrets/\n", "common/run.sh": "echo\n"})
    commit(repository)
    write(repository, {".env": f"{SECRET}\n", "secrets/key": f"{SECRET}\n"})
    return repository


class TestGit:
    def test_a_file_that_git_ignores(self, checkout: Path) -> None:
        said = refused(checkout, "means .env: git does not have this file [local-file]")
        assert "= help: If everybody may read it, run: git add .env. What is secret is not for a manifest.\n" in said

    @pytest.mark.parametrize("path", ["../secrets/key", "./../workflows/../secrets//key"])
    def test_one_that_is_not_hidden(self, checkout: Path, path: str) -> None:
        declare(checkout, path)
        refused(checkout, "means secrets/key: git does not have this file")

    def test_one_that_is_new(self, checkout: Path) -> None:
        declare(checkout, "../common/new.sh")
        write(checkout, {"common/new.sh": "echo\n"})
        refused(checkout, "git does not have this file")
        git(checkout, "add", "common/new.sh")
        assert rendered(checkout).code == 0

    @pytest.mark.parametrize("path", ["../common/run.sh", "../.gitignore"])
    def test_one_that_git_has(self, checkout: Path, path: str) -> None:
        declare(checkout, path)
        assert rendered(checkout).code == 0

    def test_links_to_one_that_git_has_not(self, checkout: Path) -> None:
        (checkout / "common/link").symlink_to("../.env")
        (checkout / "common/folder").symlink_to("../secrets")
        git(checkout, "add", "--all")
        for path, real in (("../common/link", ".env"), ("../common/folder/key", "secrets/key")):
            declare(checkout, path)
            refused(checkout, f"git does not have the file that it leads to, {real} [local-file]")

    def test_a_link_to_one_that_git_has(self, checkout: Path) -> None:
        (checkout / "common/link").symlink_to("run.sh")
        declare(checkout, "../common/link")
        assert rendered(checkout).code == 0

    def test_case_counts_wherever_the_disk_does_not_tell(self, checkout: Path) -> None:
        write(checkout, {"common/RUN.sh": f"{SECRET}\n"})
        declare(checkout, "../common/RUN.sh")
        refused(checkout, "git does not have this file")

    def test_before_anything_was_added(self, repository: Path) -> None:
        declare(repository, "run.sh")
        write(repository, {"workflows/run.sh": "echo\n"})
        git(repository, "init", "--quiet")
        refused(repository, "git does not have this file")

    def test_below_the_top_of_the_checkout(self, repository: Path) -> None:
        inner = declare(repository / "deep/inner", "../run.sh")
        write(inner, {"run.sh": "echo\n", ".env": SECRET, "ünï cödé\n.sh": "echo\n"})
        git(repository, "init", "--quiet")
        git(repository, "add", "deep/inner/run.sh", "deep/inner/ünï cödé\n.sh")
        assert rendered(inner).code == 0
        declare(inner, "../ünï cödé\\n.sh")
        assert rendered(inner).code == 0, rendered(inner).err
        declare(inner, "../.env")
        assert "git add .env" in refused(inner, "git does not have this file")

    def test_what_git_keeps_for_itself(self, checkout: Path) -> None:
        for path in ("../.git/config", "../.GIT/config", "../common/git"):
            write(checkout, {".GIT/config": SECRET})
            (checkout / "common/git").unlink(missing_ok=True)
            (checkout / "common/git").symlink_to("../.git/config")
            declare(checkout, path)
            refused(checkout, "leads out of the repository")

    def test_a_linked_work_tree_has_an_index_of_its_own(self, checkout: Path) -> None:
        other = checkout.parent / "other"
        git(checkout, "worktree", "add", "--quiet", other)
        declare(other, "../common/new.sh")
        write(other, {"common/new.sh": "echo\n"})
        refused(other, "git does not have this file")
        git(other, "add", "common/new.sh")
        assert rendered(other).code == 0

    @pytest.mark.parametrize("setting", ["--split-index", "--index-version=4"])
    def test_ways_to_store_the_index(self, checkout: Path, setting: str) -> None:
        git(checkout, "update-index", *setting.split("="))
        declare(checkout, "../common/run.sh")
        assert rendered(checkout).code == 0, rendered(checkout).err
        declare(checkout, "../.env")
        refused(checkout, "git does not have this file")

    def test_an_index_of_a_part_of_the_files(self, checkout: Path) -> None:
        write(checkout, {"unseen/a/x.sh": "echo\n"})
        commit(checkout)
        git(checkout, "sparse-checkout", "set", "--cone", "--sparse-index", "common", "pools", "workflows")
        assert not (checkout / "unseen").exists()
        write(checkout, {"unseen/a/x.sh": "echo\n"})
        declare(checkout, "../unseen/a/x.sh")
        assert rendered(checkout).code == 0, rendered(checkout).err
        declare(checkout, "../.env")
        refused(checkout, "git does not have this file")

    def test_nothing_of_the_checkout_is_run(self, checkout: Path, tmp_path: Path) -> None:
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        program.chmod(0o755)
        git(checkout, "config", "core.fsmonitor", str(program))
        git(checkout, "config", "core.hooksPath", str(tmp_path))
        refused(checkout, "git does not have this file")
        assert not (tmp_path / "ran").exists()

    def test_variables_of_git_change_nothing(self, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        other = checkout.parent / "index"
        other.write_bytes(b"")
        monkeypatch.setenv("GIT_INDEX_FILE", str(other))
        declare(checkout, "../common/run.sh")
        assert rendered(checkout).code == 0

    def test_git_is_not_asked_without_a_localpath(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(repository, {"pools/team.yaml": pool()})
        commit(repository)
        monkeypatch.setenv("PATH", "/nowhere")
        assert kubectl_tas("validate", "-C", repository).code == 0
        declare(repository, "run.sh")
        write(repository, {"workflows/run.sh": "echo\n"})
        result = kubectl_tas("validate", "-C", repository)
        assert (result.code, "cannot run git" in result.err) == (3, True)

    def test_nothing_is_left_behind(self, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "temporary").mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
        before = (checkout / ".git/index").read_bytes()
        refused(checkout, "git does not have this file")
        assert [*(tmp_path / "temporary").iterdir()] == []
        assert (checkout / ".git/index").read_bytes() == before


class TestSubmodules:
    @pytest.fixture
    def outer(self, checkout: Path) -> Path:
        """A repository that has another one as submodule, and a third that it knows nothing of."""
        for name in ("sub", "stranger"):
            inner = write(checkout / name, {"run.sh": "echo\n"})
            commit(inner)
        git(checkout, "add", "sub")
        return checkout

    def test_a_file_of_a_submodule(self, outer: Path) -> None:
        declare(outer, "../sub/run.sh")
        assert rendered(outer).code == 0
        write(outer, {"sub/new.sh": SECRET})
        declare(outer, "../sub/new.sh")
        refused(outer, "git does not have this file")

    def test_a_repository_that_is_no_submodule(self, outer: Path) -> None:
        declare(outer, "../stranger/run.sh")
        refused(outer, "git does not have this file")

    def test_a_repository_within_a_submodule(self, outer: Path) -> None:
        root = declare(outer / "sub/gpus", "run.sh")
        write(root, {"workflows/run.sh": "echo\n"})
        refused(root, "git does not have this file")
        git(outer / "sub", "add", "--all")
        assert rendered(root).code == 0


class TestWithoutGit:
    @pytest.mark.parametrize("path", ["../.env", "../.config/key", ".env", "../common/link"])
    def test_no_hidden_file(self, repository: Path, path: str) -> None:
        declare(repository, path)
        write(repository, dict.fromkeys((".env", ".config/key", "workflows/.env"), SECRET))
        write(repository, {"common/run.sh": "echo\n"})
        (repository / "common/link").symlink_to("../.env")
        refused(repository, "no git repository says that it has this hidden file")

    def test_any_other(self, repository: Path) -> None:
        declare(repository, "../common/run.sh")
        write(repository, {"common/run.sh": "echo\n"})
        assert rendered(repository).code == 0

    def test_folders_above_may_be_hidden(self, repository: Path) -> None:
        inner = declare(repository / ".cache/checkout", "run.sh")
        write(inner, {"workflows/run.sh": "echo\n"})
        assert rendered(inner).code == 0


def test_the_base_has_what_it_committed(repository: Path) -> None:
    """Also what is hidden; and in a folder for temporary files that is part of another git repository."""
    declare(repository, "../.settings")
    write(repository, {".settings": "a\n"})
    commit(repository)
    write(repository, {".settings": "b\n"})
    result = kubectl_tas("validate", "-C", repository, "--base", "HEAD", "--strict")
    assert (result.code, "base-unread" in result.out) == (0, False), result.out
