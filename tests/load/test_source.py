"""Tests which files of a folder are read as manifests, in which order, and which never are."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.load.source import MAX_BYTES, FolderSource, MemorySource, OverlaySource, RawFile, is_read
from tests.support.cli import kubectl_tas, pool, write
from tests.support.process import as_nobody


def read(root: Path, folders: Sequence[str] = ("pools", "workflows"), exclude: str = "manifests") -> dict[str, RawFile]:
    """What is found below ``root``, by path, in the order in which it is found."""
    return {raw.path: raw for raw in FolderSource(root).files(folders, exclude=exclude)}


def complaints(root: Path) -> dict[str, tuple[str, str]]:
    """The rule and the message about every file that cannot be read."""
    return {path: (raw.problem.rule.code, raw.problem.message) for path, raw in read(root).items() if raw.problem}


def test_manifests_are_read_whatever_their_ending(repository: Path) -> None:
    write(repository, dict.fromkeys(("pools/a.yaml", "pools/b.yml", "pools/c.json"), "a: 1\n"))
    write(repository, dict.fromkeys(("pools/README.md", "pools/d.yaml.bak", "pools/.hidden.yaml", "e.yaml"), "no\n"))
    write(repository, {"pools/.git/f.yaml": "no\n", "elsewhere/g.yaml": "no\n"})
    assert {path: raw.content for path, raw in read(repository).items()} == {
        "pools/a.yaml": b"a: 1\n",
        "pools/b.yml": b"a: 1\n",
        "pools/c.json": b"a: 1\n",
    }


def test_files_are_in_order_of_their_paths(repository: Path) -> None:
    """Whatever the order of the folders, each once."""
    write(repository, dict.fromkeys(("workflows/a.yaml", "pools/b.yaml", "pools/a/z.yaml", "pools/a.yaml"), ""))
    expected = ["pools/a.yaml", "pools/a/z.yaml", "pools/b.yaml", "workflows/a.yaml"]
    assert list(read(repository)) == expected
    assert list(read(repository, ("workflows", "pools/a", "./pools/", "pools"))) == expected


def test_root_itself_can_be_read(repository: Path) -> None:
    """Without the settings, which are read by themselves, and without what was rendered."""
    write(repository, {"tas.yaml": "", "team.yaml": "", "pools/a.yaml": "", "manifests/queues/q.yaml": ""})
    assert list(read(repository, (".",))) == ["pools/a.yaml", "team.yaml"]


def test_output_is_never_read(repository: Path) -> None:
    write(repository, {"pools/a.yaml": "", "pools/out/b.yaml": "", "pools/outside/c.yaml": ""})
    assert list(read(repository, exclude="pools/out")) == ["pools/a.yaml", "pools/outside/c.yaml"]


def test_folder_that_does_not_exist_is_empty(repository: Path) -> None:
    source = FolderSource(repository)
    assert not read(repository)
    assert not source.has_folder("pools")
    assert source.config() is None


def test_file_at_the_limit_is_read(repository: Path) -> None:
    write(repository, {"pools/a.yaml": ""})
    os.truncate(repository / "pools/a.yaml", MAX_BYTES)
    assert len(read(repository)["pools/a.yaml"].content) == MAX_BYTES


@pytest.mark.parametrize(
    ("size", "shown"), [(MAX_BYTES + 1, "4.1"), (5 * 1024 * 1024, "5"), (50 * 1024 * 1024, "50")], ids=["1", "5", "50"]
)
def test_file_too_large(repository: Path, size: int, shown: str) -> None:
    write(repository, {"pools/a.yaml": "", "pools/team.yaml": pool()})
    os.truncate(repository / "pools/a.yaml", size)
    message = f"the file has {shown} MiB; at most 4 MiB are read"
    assert complaints(repository) == {"pools/a.yaml": ("file-too-large", message)}
    result = kubectl_tas("validate", "-C", repository)
    assert result.out == (
        f"pools/a.yaml: error: {message} [file-too-large]\n"
        "  = help: Split the file, or move it out of the folder.\n\n1 error in 2 files.\n"
    )
    assert result.code == 1


@pytest.mark.parametrize(
    ("make", "code", "message", "hint"),
    [
        (os.mkfifo, "file-not-regular", "not a plain file", "Replace it by a plain file."),
        *(
            (make, "file-not-regular", "this symbolic link leads to nothing", "Repair or remove it.")
            for make in (lambda path: path.symlink_to("gone.yaml"), lambda path: path.symlink_to(path.name))
        ),
        (
            lambda path: path.symlink_to("../manifests/a.yaml"),
            "file-not-regular",
            "this symbolic link leads to what kubectl-tas writes",
            "Name another file, or remove the link.",
        ),
        (
            lambda path: path.symlink_to("../../outside.yaml"),
            "file-outside-repository",
            "this symbolic link leads out of the repository",
            "Copy what it points at into the repository.",
        ),
        (
            lambda path: path.symlink_to("../../repository-2/a.yaml"),
            "file-outside-repository",
            "this symbolic link leads out of the repository",
            "Copy what it points at into the repository.",
        ),
    ],
    ids=[
        "pipe",
        "dangling link",
        "link to itself",
        "link to the output",
        "link out",
        "link to a name that begins alike",
    ],
)
def test_no_plain_file(repository: Path, make: Callable[[Path], None], code: str, message: str, hint: str) -> None:
    """It is said where it is; a pipe is never waited for."""
    write(repository.parent, {"outside.yaml": "a: 1\n", "repository-2/a.yaml": "a: 1\n"})
    write(repository, {"pools/team.yaml": "", "manifests/a.yaml": ""})
    make(repository / "pools/a.yaml")
    assert complaints(repository) == {"pools/a.yaml": (code, message)}
    found = read(repository)["pools/a.yaml"]
    assert (found.content, found.problem and found.problem.hint) == (b"", hint)


def test_folder_outside_is_not_entered(repository: Path) -> None:
    write(repository.parent, {"outside/a.yaml": "secret: 1\n"})
    write(repository, {"pools/team.yaml": ""})
    (repository / "pools/shared").symlink_to("../../outside")
    assert list(read(repository)) == ["pools/shared", "pools/team.yaml"]
    assert complaints(repository)["pools/shared"][0] == "file-outside-repository"


def test_links_within_the_repository_are_followed(repository: Path) -> None:
    write(repository, {"catalogue/deep/a.yaml": "a: 1\n", "pools/team.yaml": ""})
    (repository / "pools/deep").symlink_to("../catalogue/deep")
    (repository / "pools/again.yaml").symlink_to("../catalogue/deep/a.yaml")
    found = read(repository)
    assert list(found) == ["pools/again.yaml", "pools/deep/a.yaml", "pools/team.yaml"]
    assert found["pools/deep/a.yaml"].content == found["pools/again.yaml"].content == b"a: 1\n"


def test_folders_that_link_in_a_circle_are_read_once(repository: Path) -> None:
    write(repository, {"pools/a/team.yaml": "", "pools/b/team.yaml": ""})
    (repository / "pools/a/back").symlink_to("..")
    (repository / "pools/b/over").symlink_to("../a")
    found = list(read(repository))
    assert [path for path in found if path.count("/") == 2] == ["pools/a/team.yaml", "pools/b/team.yaml"]
    assert "pools/b/over/team.yaml" in found
    assert max(path.count("/") for path in found) == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pools", "cannot read the folder pools: Permission denied"),
        ("pools/team.yaml", "cannot read pools/team.yaml: Permission denied"),
    ],
)
def test_without_permission(reachable: Path, name: str, message: str) -> None:
    """That is no finding about the input: nobody knows what the input is."""
    write(reachable, {"pools/team.yaml": pool()})
    kubectl_tas("validate", "-C", reachable)  # imports everything while this process may still read the package
    (reachable / name).chmod(0)
    with as_nobody():
        with pytest.raises(TasError, match=message):
            read(reachable)
        result = kubectl_tas("validate", "-C", reachable)
    assert (result.code, result.out) == (3, "")
    assert result.err == f"error: {message}\n  = help: Check its permissions.\n"


def test_overlay_replaces_and_adds(repository: Path) -> None:
    """A repository as it would be."""
    write(repository, {"tas.yaml": "old\n", "pools/a.yaml": "old\n", "pools/b.yaml": "old\n"})
    files = {"pools/b.yaml": b"new\n", "subpools/c.yaml": b"new\n", "tas.yaml": b"new\n"}
    source = OverlaySource(FolderSource(repository), files)
    found = source.files(("pools", "subpools"), exclude="manifests")
    assert [(raw.path, raw.content) for raw in found] == [
        ("pools/a.yaml", b"old\n"),
        ("pools/b.yaml", b"new\n"),
        ("subpools/c.yaml", b"new\n"),
    ]
    assert source.config() == RawFile("tas.yaml", b"new\n")
    assert source.has_folder("subpools")
    assert not source.has_folder("workflows")


def test_an_overlay_may_take_the_config_away(repository: Path) -> None:
    folder = FolderSource(write(repository, {"tas.yaml": "a: 1\n"}))
    assert OverlaySource(folder, {}).config() == folder.config()
    assert OverlaySource(folder, {"tas.yaml": None}).config() is None
    assert OverlaySource(folder, {"tas.yaml": b"b"}).config() == RawFile("tas.yaml", b"b")


def test_files_that_workflows_name_are_those_of_an_overlay(repository: Path) -> None:
    write(repository, {"workflows/a.sh": "a", "workflows/b.sh": "b"})
    overlay = OverlaySource(FolderSource(repository), {"workflows/b.sh": None, "workflows/c.sh": b"c"})
    found = [overlay.local_file(f"workflows/{name}.sh") for name in "abc"]
    assert [(raw.content, raw.problem and raw.problem.message) for raw in found] == [
        (b"a", None),
        (b"", "this file does not exist"),
        (b"c", None),
    ]


def test_files_that_workflows_name_are_those_in_memory() -> None:
    memory = MemorySource({"workflows/a.sh": b"a"})
    assert memory.local_file("workflows/a.sh") == RawFile("workflows/a.sh", b"a")
    problem = memory.local_file("workflows/b.sh").problem
    assert problem is not None
    assert problem.message == "this file does not exist"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("pools/a.yaml", True),
        ("pools/b/a.json", True),
        ("tas.yaml", True),
        ("pool/a.yaml", False),
        ("pools/a.txt", False),
        ("pools/.a.yaml", False),
        ("pools/.b/a.yaml", False),
        ("pools/out/a.yaml", False),
    ],
)
def test_a_path_alone_says_whether_it_is_read(repository: Path, path: str, expected: bool) -> None:
    assert is_read(path, ("pools",), exclude="pools/out") is expected
    write(repository, {path: ""})
    assert (path in read(repository, ("pools",), "pools/out")) == (expected and path != "tas.yaml")
