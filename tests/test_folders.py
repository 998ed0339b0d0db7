"""Tests which folders a repository may name, and how files of them are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kubectl_tas.diagnostics import TasError
from kubectl_tas.folders import MAX_FOLDER, is_matched, misspelled, read_all, read_plain, real_output, too_deep


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
    assert str(too_deep(path, 3).message) == f"{shown} lies too deep: at most 3 folders within one another are read"


def test_the_repository_itself_is_no_output_under_any_name(tmp_path: Path) -> None:
    """A link that leads there, and a folder that is mounted there too."""
    (tmp_path / "out").symlink_to(tmp_path)
    with pytest.raises(TasError, match="the output folder out is the repository itself"):
        real_output(tmp_path, "out", [])


def test_a_folder_that_is_known_as_the_repository_is_no_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "other").mkdir()
    monkeypatch.setattr("kubectl_tas.folders._identity", lambda path: 1 if Path(path).name != "other" else 2)
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
    with pytest.raises(TasError, match=r"/a: it has 0\.1 MiB; at most"):
        read_plain(str(tmp_path / "a"), 5, hint="x")
    with pytest.raises(TasError, match="it is a folder, not a plain file"):
        read_plain(str(tmp_path), 5, hint="x")
