"""Tests which folders a repository may name, and how files of them are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.folders import (
    MAX_FOLDER,
    MEBIBYTE,
    is_matched,
    misspelled,
    read_all,
    read_plain,
    real_output,
    too_deep,
)


@pytest.mark.parametrize("size", [MAX_FOLDER, MAX_FOLDER + 1])
def test_a_path_leaves_room_for_what_is_written_there(size: int) -> None:
    parts = ["x" * 200] * 5
    parts[-1] += "y" * (size - len("/".join(parts)))
    message = f"the path has {size} bytes; at most {MAX_FOLDER} leave room for what is written there", "Shorten it."
    assert misspelled("/".join(parts)) == (None if size == MAX_FOLDER else message)


@pytest.mark.parametrize(
    ("path", "pattern", "is_meant"),
    [
        ("a.yaml", "*.yaml", True),
        (".a.yaml", "*.yaml", False),
        (".a.yaml", ".*.yaml", True),
        ("a.yaml", ".*.yaml", False),
        ("a/b.yaml", "*.yaml", False),
        ("a/b.yaml", "*/*.yaml", True),
        ("a.yml", "*.yaml", False),
        ("a+yaml", "a.yaml", False),
    ],
)
def test_a_star_stands_for_a_name_without_a_leading_dot(path: str, pattern: str, is_meant: bool) -> None:
    assert is_matched(path, [pattern]) is is_meant


@pytest.mark.parametrize(
    ("path", "shown"), [("a" * 80, "a" * 80), ("a" * 40 + "b" + "c" * 40, "a" * 40 + "..." + "c" * 40)]
)
def test_the_middle_of_a_long_path_is_left_out(path: str, shown: str) -> None:
    found = too_deep(path, 3)
    assert found.message == f"{shown} lies too deep: at most 3 folders within one another are read"
    assert found.hint == "Move it up, or elsewhere."


WHERE = "Write a path relative to the folder of tas.yaml, without '..'."
OWN = "Choose a folder of its own, such as manifests."


@pytest.mark.parametrize(
    ("folder", "refusal"),
    [
        *((folder, (f'"{folder}" is not a folder below the repository root', WHERE)) for folder in (
            "/a", "..", "a/../b", "a\\b", "a\nb", "~a", "C:a", "c:/a",
        )),
        *((folder, (f'"{folder}" lies in the folder of git itself', OWN)) for folder in (
            ".git", "a/.GIT/b", ".git. ", ".git::$INDEX", "git~1", "GIT~22/a",
        )),
        ("é" * 128, ("a folder's name has 256 bytes; a disk takes 255 at the most", "Shorten it.")),
        ("a/" * 64 + "a", ("the path has 65 folders within one another; at most 64 are used", "Shorten it.")),
        *((folder, None) for folder in ("a", "./a//b/", "a/" * 63 + "a", "é" * 127, ".gitops", "git~", "a~1", "1:a")),
    ],
)  # fmt: skip
def test_a_folder_that_a_repository_may_name(folder: str, refusal: tuple[str, str] | None) -> None:
    assert misspelled(folder) == refusal


OTHER = "Remove the link, or choose another output folder in tas.yaml."


@pytest.mark.parametrize(
    ("target", "said", "hint"),
    [
        (".", "is the repository itself", OTHER),
        (".hidden/a", "leads to the hidden folder .hidden/a", OTHER),
        ("pools", "is, or contains, the folder pools that is read", OTHER),
        ("pools/..", "is the repository itself", OTHER),
        ("above", "is, or contains, the folder above/pools that is read", OTHER),
        ("..", "leads out of the repository", "Remove the link."),
        (".git/a", "lies in the folder of git itself", "Choose another folder, or remove the link."),
        ("bare/a", "lies in the folder of git itself", "Choose another folder, or remove the link."),
    ],
)
def test_an_output_that_leads_elsewhere(target: str, said: str, hint: str, tmp_path: Path) -> None:
    for folder in (".hidden/a", "pools", "above/pools", ".git/a", "bare/a", "bare/objects", "bare/refs"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "bare/HEAD").touch()
    (tmp_path / "out").symlink_to(target)
    with pytest.raises(TasError) as raised:
        real_output(tmp_path, "out", ["pools", "above/pools"])
    assert (raised.value.message, raised.value.hint) == (f"the output folder out {said}", hint)


def test_an_output_below_a_folder_that_is_read(tmp_path: Path) -> None:
    (tmp_path / "pools/out").mkdir(parents=True)
    assert real_output(tmp_path, "pools/out", ["pools"]) == "pools/out"
    assert real_output(tmp_path, "absent", ["pools"]) == "absent"


def test_the_repository_itself_is_no_output_under_any_name(tmp_path: Path) -> None:
    """A link that leads there, and a folder that is mounted there too."""
    (tmp_path / "out").symlink_to(tmp_path)
    with pytest.raises(TasError, match="the output folder out is the repository itself"):
        real_output(tmp_path, "out", [])


def test_a_folder_that_is_known_as_the_repository_is_no_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "other").mkdir()
    monkeypatch.setattr("kubectl_tas.base.folders._identity", lambda path: 1 if Path(path).name != "other" else 2)
    with pytest.raises(TasError, match="the output folder out is the repository itself"):
        real_output(tmp_path, "out", [])
    assert real_output(tmp_path, "other", []) == "other"


@pytest.mark.parametrize("size", [0, 3, 6, 9])
def test_a_file_is_read_whole_whatever_size_it_had(size: int, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abcdef")
    number = os.open(tmp_path / "a", os.O_RDONLY)
    try:
        assert read_all(number, size) == b"abcdef"
    finally:
        os.close(number)


def test_a_plain_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abcdef")
    assert read_plain(str(tmp_path / "a"), 6, hint="x") == b"abcdef"
    os.mkfifo(tmp_path / "pipe")
    for path, most, said in (
        (tmp_path / "a", 5, "it has 0.1 MiB; at most 4.76837e-06 are read"),
        (tmp_path, 5, "it is a folder, not a plain file"),
        (tmp_path / "pipe", 5, "it is a pipe, not a plain file"),
        (Path("/dev/null"), 5, "it is a device, not a plain file"),
        (tmp_path / "b", 5, "No such file or directory"),
    ):
        with pytest.raises(TasError) as raised:
            read_plain(str(path), most, hint="x")
        assert (raised.value.message, raised.value.hint) == (f"cannot read {path}: {said}", "x")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(MEBIBYTE + 1)
    with pytest.raises(TasError, match=r"/large: it has 1\.1 MiB; at most 1 are read$"):
        read_plain(str(tmp_path / "large"), MEBIBYTE, hint="x")
