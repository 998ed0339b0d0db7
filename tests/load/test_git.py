"""Tests that every kind of git repository can be compared with, and that failures have a reason."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.load.git import WorkTree, _own_config, name_of, pointer, work_trees
from kubectl_tas.load.revision import checked_out
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.golden import ROOT
from tests.support.history import commit, git
from tests.support.process import as_nobody


def paths_at(root: Path, name: str = "HEAD") -> list[str]:
    """The files of a revision."""
    with checked_out(root, name) as source:
        return [item.path for item in source.files((".",), exclude="manifests")]


def with_a_past(root: Path) -> Path:
    """A repository whose last commit but one has a subpool that the last lacks."""
    write(root, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 10)})
    commit(root)
    (root / "subpools/a.yaml").unlink()
    commit(root)
    return root


def assert_past_of(root: Path, before: str = "HEAD~1", now: str = "HEAD") -> None:
    assert paths_at(root, before) == ["pools/team.yaml", "subpools/a.yaml"]
    assert paths_at(root, now) == ["pools/team.yaml"]


class TestKindsOfRepositories:
    def test_sha256(self, repository: Path) -> None:
        git(repository, "init", "--quiet", "--initial-branch=main", "--object-format=sha256")
        with_a_past(repository)
        assert_past_of(repository)
        assert_past_of(repository, git(repository, "rev-parse", "HEAD~1"), "main")

    def test_reftable(self, repository: Path) -> None:
        done = subprocess.run(["git", "init", "-q", "-b", "main", "--ref-format=reftable", repository], check=False)
        if done.returncode:
            pytest.skip("this git knows no reftable")
        with_a_past(repository)
        assert_past_of(repository)
        git(repository, "worktree", "add", "-q", "../linked", "HEAD~1")
        assert_past_of(repository.parent / "linked", "HEAD", "main")

    def test_the_usual_format_by_its_name(self, repository: Path) -> None:
        with_a_past(repository)
        git(repository, "config", "core.repositoryFormatVersion", "1")
        git(repository, "config", "extensions.objectFormat", "sha1")
        assert_past_of(repository)

    def test_packed(self, repository: Path) -> None:
        with_a_past(repository)
        git(repository, "tag", "v1", "HEAD~1")
        git(repository, "gc", "--quiet")
        assert not (repository / ".git/refs/tags/v1").exists()
        assert_past_of(repository, "v1", "main")

    @pytest.mark.parametrize("folder", ["", "pools"])
    def test_linked_work_tree(self, repository: Path, folder: str) -> None:
        with_a_past(repository)
        linked = repository.parent / "linked"
        git(repository, "worktree", "add", "--quiet", "-b", "side", str(linked), "HEAD~1")
        git(linked, "update-ref", "refs/worktree/mine", "HEAD")
        git(linked, "update-ref", "ORIG_HEAD", "main")
        if not folder:
            assert_past_of(linked, "HEAD", "main")
            assert_past_of(linked, "refs/worktree/mine", "ORIG_HEAD")
            assert_past_of(repository)
        assert paths_at(linked / folder) == (["team.yaml"] if folder else ["pools/team.yaml", "subpools/a.yaml"])

    def test_linked_work_tree_of_a_repository_that_says_where_its_files_lie(self, repository: Path) -> None:
        """As that of a submodule does: what it says counts for its own files, and for no linked work tree."""
        write(repository, {"pools/team.yaml": pool()})
        commit(repository)
        git(repository, "config", "core.worktree", "..")
        git(repository, "worktree", "add", "--quiet", "--detach", "../linked")
        assert paths_at(repository) == paths_at(repository.parent / "linked") == ["pools/team.yaml"]

    def test_work_trees_of_a_bare_repository(self, tmp_path: Path) -> None:
        """As people keep them side by side; what is bare has no files, and its work trees do."""
        with_a_past(tmp_path / "origin")
        git(tmp_path, "clone", "--quiet", "--bare", "origin", "project/.bare")
        (tmp_path / "project/.git").write_text("gitdir: ./.bare\n")
        git(tmp_path / "project", "worktree", "add", "--quiet", "main")
        assert_past_of(tmp_path / "project/main")

    def test_submodule(self, tmp_path: Path) -> None:
        with_a_past(tmp_path / "inner")
        write(tmp_path / "outer", {"readme.md": "no"})
        commit(tmp_path / "outer")
        arguments = ("-c", "protocol.file.allow=always", "submodule", "add", "--quiet", "../inner", "tas")
        git(tmp_path / "outer", *arguments)
        commit(tmp_path / "outer")
        commit(tmp_path / "outer")
        assert (tmp_path / "outer/tas/.git").is_file()
        before = git(tmp_path / "outer/tas", "rev-parse", "main~1")
        assert_past_of(tmp_path / "outer/tas", before, "main")

    def test_clone_that_borrows_objects(self, tmp_path: Path) -> None:
        with_a_past(tmp_path / "cache")
        git(tmp_path, "clone", "--quiet", "--shared", "cache", "clone")
        assert (tmp_path / "clone/.git/objects/info/alternates").is_file()
        assert_past_of(tmp_path / "clone", "origin/main~1", "origin/main")
        (tmp_path / "clone/.git/objects/info/alternates").write_text("../../../cache/.git/objects\n")
        assert_past_of(tmp_path / "clone", "origin/main~1", "origin/main")

    def test_separate_git_folder(self, repository: Path) -> None:
        git(repository, "init", "--quiet", "--initial-branch=main", "--separate-git-dir=../elsewhere")
        with_a_past(repository)
        assert_past_of(repository)

    def test_link_to_the_git_folder(self, repository: Path) -> None:
        with_a_past(repository)
        (repository / ".git").rename(repository.parent / "elsewhere")
        (repository / ".git").symlink_to("../elsewhere")
        assert_past_of(repository)

    def test_detached_and_fetched(self, tmp_path: Path) -> None:
        """As CI checks out: no branch, and the base only fetched."""
        with_a_past(tmp_path / "origin")
        git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{tmp_path}/origin", "clone")
        git(tmp_path / "clone", "checkout", "--quiet", "--detach")
        git(tmp_path / "clone", "branch", "--delete", "main")
        git(tmp_path / "clone", "fetch", "--quiet", "--depth=2", "origin", "main")
        assert_past_of(tmp_path / "clone", "FETCH_HEAD~1", "origin/main")

    def test_head_that_is_a_link(self, repository: Path) -> None:
        with_a_past(repository)
        (repository / ".git/HEAD").unlink()
        (repository / ".git/HEAD").symlink_to("refs/heads/main")
        assert_past_of(repository)

    def test_replaced_commits_count_as_they_were(self, repository: Path) -> None:
        with_a_past(repository)
        git(repository, "replace", "HEAD", "HEAD~1")
        assert_past_of(repository, git(repository, "--no-replace-objects", "rev-parse", "HEAD~1"))

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
    def test_of_another_user(self, repository: Path) -> None:
        """As in a container whose user is not the one that checked out; nothing is run, so nobody need be trusted."""
        with_a_past(repository)
        for path in (repository, *repository.rglob("*")):
            os.chown(path, 12345, 12345)
        assert_past_of(repository)

    def test_dot_git_that_is_no_repository(self, repository: Path) -> None:
        """git looks further up, too."""
        with_a_past(repository)
        (write(repository / "deep", {"x.yaml": "a: 1"}) / ".git").mkdir()
        commit(repository)
        assert paths_at(repository / "deep") == ["x.yaml"]

    @pytest.mark.parametrize("variables", [{"GIT_DIR": "elsewhere"}, {"GIT_INDEX_FILE": "/dev/null"}])
    def test_variables_of_git_do_not_matter(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
    ) -> None:
        with_a_past(repository)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert_past_of(repository)

    @pytest.mark.parametrize("folder", [".", "deep/tas"])
    def test_hooks_of_git_may_run_it(self, tmp_path: Path, folder: str) -> None:
        """A hook runs with git's own variables set, which name the repository that it runs for."""
        root = write(tmp_path / "git" / folder, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 10)})
        commit(tmp_path / "git")
        hook = tmp_path / "git/.git/hooks/pre-commit"
        hook.parent.mkdir(exist_ok=True)
        program = f"env PYTHONPATH={ROOT} GIT_DIR=.git {sys.executable} -m kubectl_tas"
        hook.write_text(f"#!/bin/sh\nexec {program} validate -C {folder} --base HEAD\n")
        hook.chmod(0o755)
        (root / "subpools/a.yaml").unlink()
        with pytest.raises(subprocess.CalledProcessError) as caught:
            commit(tmp_path / "git")
        assert "[subpool-removed]" in caught.value.stdout + caught.value.stderr


class TestFailures:
    @pytest.fixture
    def committed(self, repository: Path) -> Path:
        return with_a_past(repository)

    def test_unknown_revision(self, committed: Path) -> None:
        result = kubectl_tas("validate", "-C", committed, "--base", "nowhere")
        assert result.code == 3
        assert result.err == (
            'error: git knows no revision "nowhere"\n'
            "  = help: Name a commit, a branch or a tag. A branch of the remote is written origin/NAME.\n"
        )

    @pytest.mark.parametrize(
        "name", ["--all", "-h", "--git-dir=x", "HEAD:pools", "", "HEAD^{tree}", ":0:tas.yaml", "main..HEAD", "^HEAD"]
    )
    def test_what_is_no_commit(self, committed: Path, name: str) -> None:
        with pytest.raises(TasError, match=r"git knows no revision|the revision is empty"):
            paths_at(committed, name)

    @pytest.mark.parametrize("name", ["\x1b[2J", "HEAD\n", "main\0", "\udcff", "\u202emain"])
    def test_unprintable_revision(self, committed: Path, name: str) -> None:
        result = kubectl_tas("validate", "-C", committed, "--base", name)
        assert result.code == 3
        assert result.err == (
            "error: git is asked for a revision with characters that cannot be printed\n"
            "  = help: Name the commit by its full name.\n"
        )

    def test_upstream(self, committed: Path) -> None:
        """Which branch is meant stands in the configuration, which is not read."""
        with pytest.raises(TasError, match=r'knows no revision "@\{u\}": no upstream') as caught:
            paths_at(committed, "@{u}")
        assert "origin/NAME" in caught.value.hint

    def test_shallow_clone(self, committed: Path, tmp_path: Path) -> None:
        first = git(committed, "rev-parse", "HEAD~1")
        clone = tmp_path / "clone"
        git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{committed}", str(clone))
        result = kubectl_tas("validate", "-C", clone, "--base", first)
        assert result.code == 3
        assert result.err == (
            f'error: git knows no revision "{first}"\n'
            "  = help: This clone is shallow, so the revision may only be missing here. Fetch it with: "
            "git fetch --unshallow\n"
        )
        git(clone, "fetch", "--quiet", "--unshallow")
        result = kubectl_tas("validate", "-C", clone, "--base", first)
        assert result.code == 1
        assert "[subpool-removed]" in result.out

    @pytest.mark.parametrize("kept", ["blob:none", "tree:0"])
    def test_partial_clone(self, committed: Path, tmp_path: Path, kept: str) -> None:
        """Nothing is fetched behind the user's back; the hint that is given works."""
        git(committed, "config", "uploadpack.allowFilter", "true")
        clone = tmp_path / "clone"
        git(tmp_path, "clone", "--quiet", f"--filter={kept}", f"file://{committed}", str(clone))
        result = kubectl_tas("validate", "-C", clone, "--base", "HEAD~1")
        assert result.code == 3
        hint = "The clone is partial; fetch what it lacks with: git fetch --refetch --no-filter"
        assert result.err.partition("  = help: ")[2] == f"{hint}\n"
        command = result.err.partition("with: git ")[2].split()
        git(clone, *command)
        assert_past_of(clone)

    def test_no_git_repository(self, tmp_path: Path) -> None:
        root = write(tmp_path, {"pools/team.yaml": pool()})
        result = kubectl_tas("validate", "-C", root, "--base", "HEAD")
        assert result.code == 3
        assert result.err == (
            f"error: {root} is in no git repository that can be read: no folder above it has an entry .git\n"
        )

    def test_part_of_a_git_repository(self, committed: Path) -> None:
        with pytest.raises(TasError) as caught:
            paths_at(committed / ".git/refs")
        assert caught.value.message == (
            f"{committed / '.git/refs'} is in no git repository that can be read: it is a part of one"
        )

    def test_no_git(self, committed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        result = kubectl_tas("validate", "-C", committed, "--base", "HEAD")
        assert result.code == 3
        assert "cannot run git" in result.err

    def test_content_that_is_missing(self, committed: Path) -> None:
        name = git(committed, "rev-parse", "HEAD:pools/team.yaml")
        (committed / ".git/objects" / name[:2] / name[2:]).unlink()
        with pytest.raises(TasError) as caught:
            paths_at(committed)
        assert caught.value.message == f"git lacks the content of {name}"
        assert caught.value.hint == "The clone is damaged; see what it lacks with: git fsck"

    def test_content_that_is_damaged(self, committed: Path) -> None:
        name = git(committed, "rev-parse", "HEAD:pools/team.yaml")
        path = committed / ".git/objects" / name[:2] / name[2:]
        path.chmod(0o600)
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(TasError, match="git"):
            paths_at(committed)

    @pytest.mark.parametrize(
        ("pointer", "said"),
        [
            (
                "gitdir: absent\n",
                "{deep}{unread}: {deep}/.git names {deep}/absent, which is none",
            ),
            (
                "gitdir: pools\n",
                "{deep}{unread}: {deep}/.git names {deep}/pools, which is none",
            ),
            ("gitdir: loop/x\n", "cannot read {deep}/loop/x: Too many levels of symbolic links"),
            ("gitdir: \0x", "{deep}{unread}: {deep}/.git names {deep}, which is none"),
            ("nonsense", "{deep}{unread}: {deep}/.git names no folder"),
        ],
    )
    def test_broken_pointer(self, committed: Path, pointer: str, said: str) -> None:
        """Never the repository around it, which somebody else may own."""
        (write(committed / "deep", {"x.yaml": "a: 1"}) / ".git").write_text(pointer)
        (committed / "deep/loop").symlink_to("loop")
        unread = " is in no git repository that can be read"
        with pytest.raises(TasError) as caught:
            paths_at(committed / "deep")
        assert caught.value.message == said.format(deep=committed / "deep", unread=unread)

    @pytest.mark.parametrize(
        ("settings", "said"),
        [
            ("[core]\n\trepositoryformatversion = 2\n", "its format has the version 2"),
            (
                "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tfuture = yes\n",
                "it uses future = yes, which this version does not know",
            ),
            (
                "[extensions]\n\trefStorage = future\n",
                "it uses refstorage = future, which this version does not know",
            ),
            (
                "[core]\n\tworktree = ../../elsewhere\n",
                "core.worktree says that its files lie in ../../elsewhere",
            ),
        ],
    )
    def test_settings_that_are_not_understood(self, committed: Path, settings: str, said: str) -> None:
        (committed / ".git/config").write_text(settings)
        with pytest.raises(TasError) as caught:
            paths_at(committed)
        assert caught.value.message == f"{committed} is in no git repository that can be read: {said}"

    def test_settings_that_git_cannot_read(self, committed: Path) -> None:
        (committed / ".git/config").write_text("[core\n")
        with pytest.raises(TasError) as caught:
            paths_at(committed)
        assert caught.value.message.startswith(f"git cannot read {committed}/.git/config: fatal: bad config line 1 ")

    def test_repository_without_settings(self, committed: Path) -> None:
        (committed / ".git/config").unlink()
        assert_past_of(committed)
        (committed / ".git/config").write_text("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tnoop = x\n")
        assert_past_of(committed)

    def test_git_folder_that_may_not_be_read(self, reachable: Path) -> None:
        """It is not passed over for a repository further up."""
        with_a_past(reachable)
        inner = with_a_past(write(reachable / "inner", {}))
        for path in (reachable, *reachable.rglob("*")):
            path.chmod(0o777)
        assert_past_of(inner)  # imports what it needs while this process may still read the package
        (inner / ".git").chmod(0)
        with as_nobody(), pytest.raises(TasError, match=r"cannot read .*/inner/\.git: Permission denied"):
            paths_at(inner)


@pytest.mark.parametrize("missing", ["HEAD", "objects", "refs"])
def test_a_folder_of_git_lacks_none_of_its_parts(tmp_path: Path, missing: str) -> None:
    """Anything else is looked through, and a repository further up counts, as for git itself."""
    for top in (tmp_path, tmp_path / "inner"):
        for name in ("HEAD", "objects", "refs"):
            (top / ".git" / name).mkdir(parents=True)
    (tmp_path / "inner/.git" / missing).rmdir()
    assert [tree.top for tree in work_trees(tmp_path / "inner")] == [tmp_path]


@pytest.mark.parametrize(
    ("settings", "config"),
    [
        ({}, "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"),
        ({"extensions.future": "x"}, "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"),
        (
            {"extensions.objectformat": "SHA256", "extensions.refstorage": "reftable"},
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
            "[extensions]\n\tobjectformat = sha256\n\trefstorage = reftable\n",
        ),
        *(
            (
                {"core.repositoryformatversion": "1", f"extensions.{name}": "x"},
                "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
            )
            for name in (
                *("compatobjectformat", "noop", "noop-v1", "partialclone"),
                *("preciousobjects", "relativeworktrees", "submodulepathconfig", "worktreeconfig"),
            )
        ),
    ],
)
def test_the_temporary_repository_has_only_settings_of_storage(settings: dict[str, str], config: str) -> None:
    """Extensions are those of git's Documentation/config/extensions.adoc; without version 1 git ignores them."""
    tree = WorkTree(Path("/r"), Path("/r/.git"), Path("/r/.git"))
    assert _own_config(tree, settings) == config


def test_names_of_contents_are_those_of_git() -> None:
    """As git names an empty file with either hash."""
    assert name_of(b"", like="0" * 40) == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert name_of(b"", like="0" * 64) == "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"


def test_a_file_that_names_a_place_and_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TasError) as caught:
        pointer(tmp_path / "HEAD")
    assert caught.value.message == f"cannot read {tmp_path}/HEAD: No such file or directory"
    assert caught.value.hint == "Check its permissions."


def test_a_clone_that_is_shallow_no_more_is_told_nothing_of_it(repository: Path) -> None:
    """git leaves an empty file when it has fetched the rest."""
    commit(repository)
    (repository / ".git/shallow").write_text("")
    with pytest.raises(TasError) as caught:
        paths_at(repository, "nothing")
    assert caught.value.hint == "Name a commit, a branch or a tag. A branch of the remote is written origin/NAME."
