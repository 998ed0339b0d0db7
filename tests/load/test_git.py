"""Reading a revision: the same files as a checkout has, and nothing is touched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kubectl_tas.errors import TasError
from kubectl_tas.load.git import GitSource
from kubectl_tas.load.source import FolderSource, RawFile
from kubectl_tas.model.config import DEFAULT_SOURCES
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.golden import ROOT
from tests.support.history import commit, git


def files_of(source: GitSource | FolderSource, *folders: str) -> tuple[RawFile, ...]:
    return source.files(folders or DEFAULT_SOURCES, exclude="manifests")


@pytest.fixture
def committed(repository: Path) -> Path:
    """A repository in git whose one subpool is there."""
    write(repository, {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\n", "pools/team.yaml": pool()})
    write(repository, {"subpools/a.yaml": subpool("a", 10)})
    commit(repository)
    return repository


def test_same_as_a_checkout(committed: Path) -> None:
    odd = {
        "pools/nested/deep.yml": "a: 1\n",
        "pools/.hidden/x.yaml": "a: 1\n",
        "pools/.x.yaml": "a: 1\n",
        "pools/other.json": "{}",
        "pools/readme.md": "no",
        "pools/é ü.yaml": "a: ö\n",
        'pools/"quoted".yaml': "a: 1\n",
        "workflows/crlf.yaml": "a: 1\r\nb: 2\r\n",
        "elsewhere/x.yaml": "a: 1\n",
    }
    write(committed, odd)
    (committed / "pools/binary.yaml").write_bytes(b"\xff\x00\xfe")
    commit(committed)
    source, folder = GitSource(committed, "HEAD"), FolderSource(committed)
    assert files_of(source) == files_of(folder)
    assert [item.path for item in files_of(source)][:3] == [
        'pools/"quoted".yaml',
        "pools/binary.yaml",
        "pools/nested/deep.yml",
    ]
    assert source.config() == folder.config()
    assert files_of(source, ".") == files_of(folder, ".")
    for name in ("pools", "elsewhere", "absent", "tas.yaml", ".", "pools/nested"):
        assert source.has_folder(name) == folder.has_folder(name), name


def test_links(committed: Path) -> None:
    for name, target in {
        "workflows/file.yaml": "../pools/team.yaml",
        "workflows/chain.yaml": "file.yaml",
        "workflows/folder": "../pools",
        "workflows/out.yaml": "../../outside.yaml",
        "workflows/gone.yaml": "nowhere.yaml",
        "workflows/self.yaml": "self.yaml",
        "workflows/round": "../workflows",
        "topologies": "pools",
    }.items():
        (committed / name).parent.mkdir(exist_ok=True)
        (committed / name).symlink_to(target)
    (committed.parent / "outside.yaml").write_text("a: 1\n")
    commit(committed)
    source, folder = GitSource(committed, "HEAD"), FolderSource(committed)
    found = {item.path: item for item in files_of(source)}
    assert found["workflows/file.yaml"].content == found["workflows/folder/team.yaml"].content == pool().encode()
    assert found["workflows/chain.yaml"].content == found["topologies/team.yaml"].content == pool().encode()
    problems = {path: item.problem.rule.code for path, item in found.items() if item.problem}
    assert problems == {
        "workflows/out.yaml": "file-outside-repository",
        "workflows/gone.yaml": "file-not-regular",
        "workflows/self.yaml": "file-not-regular",
    }
    assert {item.path for item in files_of(folder) if "self" not in item.path} <= found.keys()


def test_a_large_file_is_not_read(committed: Path) -> None:
    write(committed, {"pools/large.yaml": "#" * (4 * 1024 * 1024 + 1)})
    commit(committed)
    (large,) = [item for item in files_of(GitSource(committed, "HEAD")) if item.problem]
    assert large.path == "pools/large.yaml"
    assert large.content == b""


def test_below_the_top_of_a_git_repository(tmp_path: Path) -> None:
    root = write(tmp_path / "git/deep/tas", {"pools/team.yaml": pool()})
    write(tmp_path / "git", {"pools/other.yaml": pool("other")})
    commit(tmp_path / "git")
    assert [item.path for item in files_of(GitSource(root, "HEAD"))] == ["pools/team.yaml"]


def test_a_folder_that_was_not_there_yet(committed: Path) -> None:
    write(committed, {"later/pools/team.yaml": pool()})
    source = GitSource(committed / "later", "HEAD")
    assert files_of(source) == ()
    assert source.config() is None


def test_an_earlier_revision(committed: Path) -> None:
    first = git(committed, "rev-parse", "HEAD")
    git(committed, "tag", "v1")
    (committed / "subpools/a.yaml").unlink()
    commit(committed)
    for name in (first, first[:10], "v1", "HEAD~1", "main~1"):
        assert [item.path for item in files_of(GitSource(committed, name))] == ["pools/team.yaml", "subpools/a.yaml"]
    assert [item.path for item in files_of(GitSource(committed, "main"))] == ["pools/team.yaml"]


def test_nothing_is_touched(committed: Path) -> None:
    write(committed, {"subpools/b.yaml": subpool("b", 1), "subpools/a.yaml": subpool("a", 20)})
    git(committed, "add", "subpools/a.yaml")
    (committed / "pools/team.yaml").write_text(pool(guarantee=90))
    files = [path for path in committed.rglob("*") if path.is_file()]
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ino, path.read_bytes()) for path in files}
    assert kubectl_tas("validate", "-C", committed, "--base", "HEAD").code == 0
    assert {path for path in committed.rglob("*") if path.is_file()} == set(files)
    assert before == {path: (path.stat().st_mtime_ns, path.stat().st_ino, path.read_bytes()) for path in files}


class TestFailures:
    def test_unknown_revision(self, committed: Path) -> None:
        result = kubectl_tas("validate", "-C", committed, "--base", "nowhere")
        assert result.code == 3
        assert 'git knows no revision "nowhere"' in result.err
        assert "shallow" not in result.err

    @pytest.mark.parametrize("name", ["--all", "-h", "HEAD:pools", "", "HEAD^{tree}"])
    def test_what_is_no_commit(self, committed: Path, name: str) -> None:
        with pytest.raises(TasError, match="git knows no revision"):
            GitSource(committed, name)

    def test_shallow_clone(self, committed: Path, tmp_path: Path) -> None:
        first = git(committed, "rev-parse", "HEAD")
        (committed / "subpools/a.yaml").unlink()
        commit(committed)
        clone = tmp_path / "clone"
        git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{committed}", str(clone))
        result = kubectl_tas("validate", "-C", clone, "--base", first)
        assert result.code == 3
        assert f'git knows no revision "{first}"' in result.err
        assert "git fetch --unshallow" in result.err
        git(clone, "fetch", "--quiet", "--unshallow")
        result = kubectl_tas("validate", "-C", clone, "--base", first)
        assert result.code == 1
        assert "[subpool-removed]" in result.out

    def test_no_git_repository(self, tmp_path: Path) -> None:
        root = write(tmp_path, {"pools/team.yaml": pool()})
        result = kubectl_tas("validate", "-C", root, "--base", "HEAD")
        assert result.code == 3
        assert "is in no git repository" in result.err

    def test_no_commit_yet(self, repository: Path) -> None:
        write(repository, {"pools/team.yaml": pool()})
        git(repository, "init", "--quiet")
        result = kubectl_tas("validate", "-C", repository, "--base", "HEAD")
        assert result.code == 3
        assert 'git knows no revision "HEAD"' in result.err

    def test_no_git(self, committed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        result = kubectl_tas("validate", "-C", committed, "--base", "HEAD")
        assert result.code == 3
        assert "git" in result.err

    def test_content_that_is_missing(self, committed: Path) -> None:
        name = git(committed, "rev-parse", "HEAD:pools/team.yaml")
        (committed / ".git/objects" / name[:2] / name[2:]).unlink()
        with pytest.raises(TasError, match="git"):
            files_of(GitSource(committed, "HEAD"))

    def test_broken_documents_of_the_past_do_not_matter(self, committed: Path) -> None:
        write(committed, {"pools/broken.yaml": "kind: [\n"})
        commit(committed)
        (committed / "pools/broken.yaml").unlink()
        assert kubectl_tas("validate", "-C", committed, "--base", "HEAD").code == 0

    def test_what_cannot_be_read_now_is_not_called_gone(self, committed: Path) -> None:
        write(committed, {"subpools/a.yaml": "kind: [\n"})
        result = kubectl_tas("validate", "-C", committed, "--base", "HEAD")
        assert "[yaml-syntax]" in result.out
        assert "[subpool-removed]" not in result.out


@pytest.mark.parametrize("folder", [".", "deep/tas"])
def test_hooks_of_git_may_run_it(tmp_path: Path, folder: str) -> None:
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
