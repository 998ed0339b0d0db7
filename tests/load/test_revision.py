"""Tests that reading a revision gives the same files as a checkout, and changes nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.folders import MAX_DEPTH
from kubectl_tas.cli import session
from kubectl_tas.load import revision
from kubectl_tas.load.revision import checked_out
from kubectl_tas.load.source import FolderSource, RawFile, Source
from kubectl_tas.model.config import DEFAULT_SOURCES
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.golden import ROOT
from tests.support.history import commit, git

FOLDERS = ("pools", "elsewhere", "absent", "tas.yaml", ".", "pools/nested", "link", "link/nested")


def files_of(source: Source, *folders: str) -> tuple[RawFile, ...]:
    return source.files(folders or DEFAULT_SOURCES, exclude="manifests")


def paths_at(root: Path, name: str, *folders: str) -> list[str]:
    with checked_out(root, name) as source:
        return [item.path for item in files_of(source, *folders)]


def assert_same_as_now(root: Path, *folders: str) -> None:
    """What the last commit holds is what the folder holds, and is told in the same words, whether its contents come
    from git or are at hand.
    """
    now = FolderSource(root)
    at_hand = [raw.content for raw in files_of(now, *folders)]
    for contents in ((), at_hand, at_hand[1:]):
        with checked_out(root, "HEAD", contents) as source:
            assert files_of(source, *folders) == files_of(now, *folders)
            assert source.config() == now.config()
            assert [source.has_folder(name) for name in FOLDERS] == [now.has_folder(name) for name in FOLDERS]


@pytest.fixture
def committed(repository: Path) -> Path:
    """A repository in git whose one subpool is there."""
    write(repository, {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\n", "pools/team.yaml": pool()})
    write(repository, {"subpools/a.yaml": subpool("a", 10)})
    commit(repository)
    return repository


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which temporary folders are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


class TestSameAsACheckout:
    @pytest.mark.parametrize("folders", [(), (".",), ("./pools", "pools/nested/"), ("pools/.hidden",), ("manifests",)])
    def test_files(self, committed: Path, folders: tuple[str, ...]) -> None:
        odd = {
            "pools/nested/deep.yml": "a: 1\n",
            "pools/.hidden/x.yaml": "a: 1\n",
            "pools/.x.yaml": "a: 1\n",
            "pools/other.json": "{}",
            "pools/readme.md": "no",
            "pools/é ü.yaml": "a: ö\n",
            'pools/"quoted".yaml': "a: 1\n",
            "pools/tab\tand\nnewline.yaml": "a: 1\n",
            "pools/empty.yaml": "",
            "workflows/crlf.yaml": "a: 1\r\nb: 2\r\n",
            "elsewhere/readme.md": "no",
            "manifests/pool.yaml": "a: 1\n",
            "manifests/manifests/pool.yaml": "a: 1\n",
        }
        write(committed, odd)
        (committed / "pools/binary.yaml").write_bytes(b"\xff\x00\xfe")
        Path(os.fsdecode(bytes(committed) + b"/pools/\xff.yaml")).write_text("a: 1\n")
        commit(committed)
        assert_same_as_now(committed, *folders)
        assert len(paths_at(committed, "HEAD", *folders)) == len(files_of(FolderSource(committed), *folders)) > 0

    @pytest.mark.parametrize(
        "links",
        [
            {"workflows/file.yaml": "../pools/team.yaml", "workflows/chain.yaml": "file.yaml"},
            {"workflows/plain.yaml": "../pools/text"},
            {"workflows/through.yaml": "../pools/sub/../text", "pools/sub": "../other/deep", "other/text": "text.yaml"},
            {"workflows/hidden.yaml": "../.hidden/x.yaml", "workflows/folder": "../.hidden"},
            {"workflows/folder": "../pools", "pools/again": "../workflows"},
            {"workflows/folder.yaml": "../docs"},
            {"workflows/gone.yaml": "nowhere.yaml"},
            {"workflows/self.yaml": "self.yaml", "workflows/longer.yaml": "longer.yaml/x"},
            {"workflows/a.yaml": "b.yaml", "workflows/b.yaml": "a.yaml"},
            {"workflows/round": "../workflows", "workflows/up": ".."},
            {"workflows/manifests": "../manifests"},
            {"topologies": "pools", "link": "pools"},
            {"topologies": "pools/team.yaml"},
            {"topologies": "absent"},
            {"link": "other", "workflows/x.yaml": "../link/deep/x.yaml"},
            {"workflows/out.yaml": "../../outside.yaml", "workflows/far.yaml": "../" * 40 + "etc/hostname"},
            {"workflows/etc": "/etc", "workflows/passwd.yaml": "/etc/passwd"},
            {"topologies": "..", "workflows/null.yaml": "/dev/null"},
            {"workflows/many0.yaml": "../pools/team.yaml"}
            | {f"workflows/many{number}.yaml": f"many{number - 1}.yaml" for number in range(1, 30)},
        ],
        ids=lambda links: next(iter(links)),
    )
    def test_links(self, committed: Path, links: dict[str, str]) -> None:
        (committed.parent / "outside.yaml").write_text("a: 1\n")
        write(committed, {"pools/text": "a: 1\n", "other/deep/x.yaml": "a: 2\n", "other/text.yaml": "a: 3\n"})
        write(committed, {".hidden/x.yaml": "a: 4\n", "docs/readme.md": "no", "manifests/x.yaml": "a: 5\n"})
        for name, target in links.items():
            (committed / name).parent.mkdir(exist_ok=True)
            (committed / name).symlink_to(target)
        commit(committed)
        assert_same_as_now(committed)
        assert_same_as_now(committed, ".")
        assert_same_as_now(committed, "link")

    def test_folders_within_one_another_and_programs(self, committed: Path) -> None:
        write(committed, {f"pools/{'d/' * depth}x.yaml": "a: 1\n" for depth in range(MAX_DEPTH - 1, MAX_DEPTH + 2)})
        (committed / "pools/team.yaml").chmod(0o755)
        commit(committed)
        assert_same_as_now(committed)

    def test_any_file_that_is_asked_for(self, committed: Path) -> None:
        write(committed, {"scripts/run": "echo\n", "scripts/.hidden": "x", "manifests/x": "y"})
        (committed / "scripts/run").chmod(0o755)
        (committed / "scripts/bytes").write_bytes(b"\xff\x00")
        for name, target in {"inside": "run", "outside": "/etc/hostname", "around": "../../x", "gone": "none"}.items():
            (committed / "scripts" / name).symlink_to(target)
        commit(committed)
        now = FolderSource(committed)
        names = ("run", "bytes", ".hidden", "inside", "outside", "around", "gone", "absent", "", "run/x")
        paths = [f"scripts/{name}".rstrip("/") for name in names]
        with checked_out(committed, "HEAD") as source:
            found = [source.local_file(path) for path in paths]
            assert found == [now.local_file(path) for path in paths]
        assert [raw.is_executable for raw in found[:4]] == [True, False, False, True]
        assert [raw.problem is None for raw in found] == [True] * 4 + [False] * 6

    def test_link_around_the_root(self, tmp_path: Path) -> None:
        root = write(tmp_path / "git/deep/tas", {"pools/team.yaml": pool()})
        (root / "pools/again.yaml").symlink_to("../../../deep/tas/pools/team.yaml")
        (root / "pools/other.yaml").symlink_to("../../other.yaml")
        write(tmp_path / "git", {"deep/other.yaml": pool("other")})
        commit(tmp_path / "git")
        assert_same_as_now(root)

    def test_absolute_link_into_the_checkout(self, committed: Path) -> None:
        """What it points at belongs to no revision."""
        (committed / "pools/again.yaml").symlink_to(committed / "pools/team.yaml")
        commit(committed)
        with checked_out(committed, "HEAD") as source:
            (again,) = [item for item in files_of(source) if item.path == "pools/again.yaml"]
        assert again.problem is not None
        assert again.problem.rule.code == "file-outside-repository"

    @pytest.mark.parametrize("size", [4 * 1024 * 1024, 4 * 1024 * 1024 + 1, 7_654_321])
    def test_large_files(self, committed: Path, size: int) -> None:
        write(committed, {"pools/large.yaml": "#" * size, "tas.yaml": "#" * size})
        commit(committed)
        assert_same_as_now(committed)

    def test_many_bytes(self, committed: Path) -> None:
        """More than git is asked for at once."""
        write(committed, {f"pools/{number}.yaml": f"{number}" + "#" * 3_000_000 for number in range(12)})
        commit(committed)
        assert_same_as_now(committed)

    def test_one_content_in_two_files(self, committed: Path) -> None:
        write(committed, {"pools/a.yaml": pool(), "workflows/b.yaml": pool()})
        commit(committed)
        assert_same_as_now(committed)

    def test_file_where_a_folder_is_read(self, committed: Path) -> None:
        write(committed, {"topologies": "no folder"})
        commit(committed)
        assert_same_as_now(committed)

    def test_submodule(self, committed: Path) -> None:
        write(committed.parent / "other", {"x.yaml": "a: 1\n"})
        commit(committed.parent / "other")
        for path in ("elsewhere", "pools/sub", "pools/sub.yaml", "topologies"):
            git(committed, "-c", "protocol.file.allow=always", "submodule", "add", "-q", "../other", path)
        commit(committed)
        git(committed, "submodule", "deinit", "--all")
        assert_same_as_now(committed)


class TestRoot:
    def test_below_the_top_of_a_git_repository(self, tmp_path: Path) -> None:
        root = write(tmp_path / "git/deep/tas", {"pools/team.yaml": pool()})
        write(tmp_path / "git", {"pools/other.yaml": pool("other"), "deep/tas2/pools/x.yaml": pool("x")})
        commit(tmp_path / "git")
        assert paths_at(root, "HEAD") == ["pools/team.yaml"]

    def test_what_is_named_below_the_top_is_named_from_the_root(self, tmp_path: Path) -> None:
        """Files above the root are named with ``..``, and nothing above the top is looked for."""
        root = write(tmp_path / "git/deep/tas", {"pools/team.yaml": pool(), "manifests/a.yaml": "a"})
        (root / "manifests/link").symlink_to("a.yaml")
        write(tmp_path / "git", {".sourceignore": "x", "deep/b.yaml": "b", "deep/tas/manifests/big": "#" * (2**22 + 1)})
        commit(tmp_path / "git")
        head = git(tmp_path / "git", "rev-parse", "HEAD")
        for path in ("deep/tas/pools/sub", "deep/tas/manifests/sub"):
            git(tmp_path / "git", "update-index", "--add", "--cacheinfo", f"160000,{head},{path}")
        git(tmp_path / "git", "commit", "--quiet", "--message", "submodules")
        names = ["manifests/*", "../../.sourceignore", "../b.yaml", "manifests", "absent", "../../../x", "pools/sub"]
        with checked_out(root, "HEAD") as source:
            assert source.contents(names) == {
                "manifests/a.yaml": b"a",
                "manifests/big": b"",
                "manifests/link": b"a.yaml",
                "manifests/sub": b"",
                "../../.sourceignore": b"x",
                "../b.yaml": b"b",
                "manifests": b"",
                "pools/sub": b"",
            }
            assert [item.path for item in files_of(source)] == ["pools/team.yaml"]
            assert source.submodules == ["pools/sub"]

    @pytest.mark.parametrize("name", [":(top)x", "*", "-x", "a b", "é", "new\nline", "HEAD", "x.git", "refs"])
    def test_names(self, tmp_path: Path, name: str) -> None:
        root = write(tmp_path / "git" / name, {"pools/team.yaml": pool()})
        write(tmp_path / "git/other", {"pools/other.yaml": pool()})
        commit(tmp_path / "git")
        assert paths_at(root, "HEAD") == ["pools/team.yaml"]

    def test_was_not_there_yet(self, committed: Path) -> None:
        write(committed, {"later/pools/team.yaml": pool()})
        with checked_out(committed / "later", "HEAD") as source:
            assert files_of(source) == ()
            assert source.config() is None
            assert not source.has_folder("pools")

    @pytest.mark.parametrize("target", ["there", "deep/../there"])
    def test_was_a_link(self, tmp_path: Path, target: str) -> None:
        write(tmp_path / "git", {"there/pools/team.yaml": pool(), "deep/readme.md": "", "other/x.yaml": "a: 1"})
        (tmp_path / "git/tas").symlink_to(target)
        commit(tmp_path / "git")
        (tmp_path / "git/tas").unlink()
        root = write(tmp_path / "git/tas", {"pools/new.yaml": pool("new")})
        assert paths_at(root, "HEAD") == ["pools/team.yaml"]

    @pytest.mark.parametrize("target", ["outside", "../outside", "x.yaml", "absent", "tas"])
    def test_was_a_link_to_elsewhere(self, tmp_path: Path, target: str) -> None:
        """Nothing is read there."""
        outside = write(tmp_path / "outside", {"pools/team.yaml": pool()})
        write(tmp_path / "git", {"x.yaml": "a: 1"})
        (tmp_path / "git/tas").symlink_to(outside if target == "outside" else target)
        commit(tmp_path / "git")
        (tmp_path / "git/tas").unlink()
        with pytest.raises(TasError) as caught:
            paths_at(write(tmp_path / "git/tas", {"pools/new.yaml": pool("new")}), "HEAD")
        name = git(tmp_path / "git", "rev-parse", "HEAD")
        assert caught.value.message == f"'tas' was a link at {name}, which led to no folder of the git repository"
        assert caught.value.hint == "Compare with a revision at which it is a folder."

    def test_was_a_file(self, tmp_path: Path) -> None:
        write(tmp_path / "git", {"tas": "a: 1", "pools/team.yaml": pool()})
        commit(tmp_path / "git")
        (tmp_path / "git/tas").unlink()
        assert paths_at(write(tmp_path / "git/tas", {"pools/new.yaml": pool("new")}), "HEAD") == []


def test_earlier_revisions(committed: Path) -> None:
    first = git(committed, "rev-parse", "HEAD")
    git(committed, "tag", "v1")
    git(committed, "tag", "-m", "annotated", "v1a")
    (committed / "subpools/a.yaml").unlink()
    commit(committed)
    both = ["pools/team.yaml", "subpools/a.yaml"]
    for name in (first, first[:10], "v1", "v1a", "refs/tags/v1", "HEAD~1", "main~1", "HEAD^", "main@{1}", "@{1}"):
        assert paths_at(committed, name) == both, name
    for name in ("main", "HEAD", "@", "heads/main"):
        assert paths_at(committed, name) == both[:1], name


class TestBeforeTheFirstCommit:
    @pytest.mark.parametrize("branch", ["main", "größer"])
    def test_head_has_nothing(self, repository: Path, branch: str) -> None:
        write(repository, {"pools/team.yaml": pool()})
        git(repository, "init", "--quiet", f"--initial-branch={branch}")
        with checked_out(repository, "HEAD") as source:
            assert files_of(source) == ()
            assert source.config() is None

    def test_other_names_are_unknown(self, repository: Path) -> None:
        git(repository, "init", "--quiet", "--initial-branch=main")
        with pytest.raises(TasError, match='git knows no revision "main"'), checked_out(repository, "main"):
            pass

    def test_commit_that_is_lost(self, committed: Path) -> None:
        branch = git(committed, "symbolic-ref", "HEAD").strip()
        (committed / ".git" / branch).write_text("0" * 39 + "1\n")
        with pytest.raises(TasError), checked_out(committed, "HEAD"):
            pass


class TestNothingIsLeft:
    def test_files_and_index_stay(self, committed: Path) -> None:
        write(committed, {"subpools/b.yaml": subpool("b", 1), "subpools/a.yaml": subpool("a", 20)})
        git(committed, "add", "subpools/a.yaml")
        (committed / "pools/team.yaml").write_text(pool(guarantee=90))
        files = [path for path in committed.rglob("*") if path.is_file()]
        before = {path: (path.stat().st_mtime_ns, path.stat().st_ino, path.read_bytes()) for path in files}
        assert kubectl_tas("validate", "-C", committed, "--base", "HEAD").code == 0
        assert {path for path in committed.rglob("*") if path.is_file()} == set(files)
        assert before == {path: (path.stat().st_mtime_ns, path.stat().st_ino, path.read_bytes()) for path in files}

    def test_temporary_folder(self, committed: Path, temporary: Path) -> None:
        with checked_out(committed, "HEAD") as source:
            files_of(source)
            (folder,) = temporary.iterdir()
            assert folder.stat().st_mode & 0o077 == 0
        assert list(temporary.iterdir()) == []
        with pytest.raises(TasError):
            checked_out(committed, "nowhere").__enter__()
        assert list(temporary.iterdir()) == []
        assert kubectl_tas("validate", "-C", committed, "--base", "HEAD").code == 0
        assert list(temporary.iterdir()) == []
        assert (committed / ".git/objects").is_dir()

    @pytest.mark.sweep
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    def test_signals(self, committed: Path, temporary: Path, number: signal.Signals) -> None:
        """git is a program that waits for ever, so that the signal comes while the folder is there."""
        slow = committed.parent / "bin/git"
        slow.parent.mkdir()
        slow.write_text("#!/bin/sh\nexec sleep 60\n")
        slow.chmod(0o755)
        environment = os.environ | {"PATH": f"{slow.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "kubectl_tas", "validate", "-C", str(committed), "--base", "HEAD"]
        with subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, start_new_session=True) as process:
            while not list(temporary.glob("*/0/common")) and process.poll() is None:
                pass
            process.send_signal(number)
            process.communicate(timeout=300)
        assert process.returncode == 128 + number
        assert list(temporary.iterdir()) == []

    @pytest.mark.parametrize("is_main", [True, False])
    def test_signals_that_are_ignored_stay_so(self, is_main: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """As of a program that ``nohup`` starts; and only the main thread may ask for signals."""
        now: dict[int, object] = {signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_IGN}
        monkeypatch.setattr(session.signal, "getsignal", now.get)
        monkeypatch.setattr(session.signal, "signal", now.__setitem__)
        found = threading.main_thread() if is_main else object()
        monkeypatch.setattr(session.threading, "current_thread", lambda: found)
        with session._tidied_when_ended():
            assert (now[signal.SIGTERM] is signal.SIG_DFL) is not is_main
            assert now[signal.SIGHUP] is signal.SIG_IGN
        assert now == {signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_IGN}

    def test_no_temporary_folder(self, committed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(**_: str) -> str:
            raise FileNotFoundError(2, "No usable temporary directory found")

        monkeypatch.setattr(tempfile, "mkdtemp", refuse)
        result = kubectl_tas("validate", "-C", committed, "--base", "HEAD")
        assert result.code == 3
        assert result.err == (
            "error: cannot make a temporary folder: No usable temporary directory found\n  = help: Set TMPDIR.\n"
        )


class TestUnusualCommits:
    """What git itself would not check out, made with its own plumbing."""

    @staticmethod
    def commit_of(root: Path, *lines: tuple[str, str, str, bytes]) -> str:
        """A commit with these entries: mode, kind, name, and content or, for a tree, its object name."""
        tree = b""
        for mode, kind, name, content in lines:
            hashed = content if kind == "tree" else hash_object(root, "blob", content)
            tree += f"{mode} {name}".encode() + b"\0" + bytes.fromhex(hashed.decode())
        found = hash_object(root, "tree", tree).decode()
        return git(root, "commit-tree", "-m", "odd", found)

    @pytest.mark.parametrize("name", ["..", ".", ".git", ".GIT", "a/../../b.yaml", "/x.yaml", "a//b.yaml"])
    def test_paths_that_lead_out(self, committed: Path, temporary: Path, name: str) -> None:
        odd = self.commit_of(committed, ("100644", "blob", name, b"a: 1\n"))
        with pytest.raises(TasError) as caught, checked_out(committed, odd) as source:
            files_of(source, ".")
        assert caught.value.message == f"cannot check out {name!r}: a name that git does not allow"
        assert list(temporary.iterdir()) == []

    def test_one_name_for_a_link_and_a_folder(self, committed: Path, tmp_path: Path) -> None:
        """Nothing is written through the link, as it would be where ``A`` and ``a`` are one folder."""
        inner = hash_object(committed, "tree", b"100644 x.yaml\0" + bytes.fromhex(EMPTY_BLOB))
        hash_object(committed, "blob", b"")
        outside = tmp_path / "outside"
        outside.mkdir()
        link = ("120000", "blob", "a", bytes(outside))
        odd = self.commit_of(committed, link, ("40000", "tree", "a", inner))
        with checked_out(committed, odd) as source, pytest.raises(TasError) as caught:
            files_of(source, ".")
        assert caught.value.message == (
            "cannot check out 'a': on this disk another name of the revision means the same"
        )
        assert caught.value.hint == "Rename one of the two, or work on a disk that tells them apart."
        assert list(outside.iterdir()) == []

    @pytest.mark.parametrize("target", [b"", b"a\0b", b"x" * 3000, b"x" * 5000], ids=["none", "NUL", "long", "longer"])
    def test_links_that_no_disk_takes(self, committed: Path, target: bytes) -> None:
        odd = self.commit_of(committed, ("120000", "blob", "x.yaml", target))
        with pytest.raises(TasError, match=r"cannot (check out|read) '?x.yaml"), checked_out(committed, odd) as source:
            files_of(source, ".")

    def test_more_than_a_disk_holds(self, committed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(revision, "_MAX_TOTAL", 10)
        with checked_out(committed, "HEAD") as source, pytest.raises(TasError) as caught:
            files_of(source)
        assert caught.value.message == "the manifests of the revision have more than 1 GiB"
        assert caught.value.hint == "Read fewer folders."


EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def hash_object(root: Path, kind: str, content: bytes) -> bytes:
    command = ["git", "hash-object", "-t", kind, "-w", "--stdin", "--literally"]
    return subprocess.run(command, cwd=root, input=content, check=True, capture_output=True).stdout.strip()


class TestTheCommand:
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

    def test_no_file_of_the_temporary_folder_is_named(self, committed: Path, temporary: Path) -> None:
        write(committed, {"pools/broken.yaml": "kind: [\n"})
        commit(committed)
        (committed / "subpools/a.yaml").unlink()
        result = kubectl_tas("validate", "-C", committed, "--base", "HEAD")
        assert "pools/broken.yaml" in result.out
        assert str(temporary) not in result.out + result.err
