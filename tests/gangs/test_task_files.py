"""Tests files and tokens of tasks in memory: what a file holds, where it is mounted, and which token means what."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kubectl_tas.gangs.task_files import (
    TaskFile,
    data_paths,
    file_maps,
    filled,
    fits_annotation,
    is_below,
    is_mounted,
    is_text,
    normal,
    task_file,
    texts,
    tokens_in,
)
from kubectl_tas.model.osmo_workflow import File, Task
from kubectl_tas.model.repository import LocalFile


def task(**fields: Any) -> Task:
    return Task.model_validate({"name": "t", "image": "i", **fields})


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("{{output}} {{ workflow_id }}", ["output", "workflow_id"]),
        ("{{host:Train_A}} {{input:0}} {{ input:Other }}", ["host:train-a", "input:0", "input:other"]),
        ("{{ other }} {output} {{host:}}", []),
        ("none", []),
    ],
)
def test_tokens_of_a_text(text: str, tokens: list[str]) -> None:
    assert list(tokens_in(text)) == tokens


def test_an_input_has_a_number_and_the_name_of_its_task() -> None:
    inputs = [{"url": "s3://a"}, {"task": "w-1:Other_A"}, {"task": "third"}]
    paths = {number: f"/osmo/data/input/{number}" for number in range(3)}
    assert data_paths(task(inputs=inputs)) == {
        "output": "/osmo/data/output",
        "input:0": paths[0],
        "input:other-a": paths[1],
        "input:1": paths[1],
        "input:third": paths[2],
        "input:2": paths[2],
    }


@pytest.mark.parametrize(
    ("mounts", "folder", "expected"),
    [
        (["/a"], "/a", True),
        (["/a/"], "/a/b", True),
        (["/"], "/a", True),
        (["/a/../b"], "/b/c", True),
        (["/a"], "/ab", False),
        (["/a/b"], "/a", False),
        ([], "/a", False),
    ],
)
def test_a_folder_below_a_mount(mounts: list[str], folder: str, expected: bool) -> None:
    assert is_below(mounts, folder) is expected
    assert is_mounted(task(volumeMounts=[f"/node:{mount}" for mount in mounts]), folder) is expected


def test_values_are_filled_in_everywhere_but_in_keys() -> None:
    data = {"{{output}}": ["{{output}}", {"a": "x{{ host:B }}"}], "b": 3, "c": "{{input:0}} {{output}}"}
    assert filled(data, {"output": "/o", "host:b": "h"}) == {
        "{{output}}": ["/o", {"a": "xh"}],
        "b": 3,
        "c": "{{input:0}} /o",
    }
    assert list(texts({"a": ["b", {"c": "d"}], "e": 3})) == ["b", "d"]


LOCAL = {
    "workflows/run": LocalFile(b"run", is_executable=True),
    "b64": LocalFile(base64.b64encode(b"x"), is_executable=False),
}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"contents": "a"}, TaskFile("/f", b"a", 0o644, True)),
        ({"contents": " eA ==\n", "base64": True}, TaskFile("/f", b"x", 0o644, False)),
        ({"contents": "e", "base64": True}, None),
        ({"contents": "ä", "base64": True}, None),
        ({"contents": "e!A==", "base64": True}, None),
        ({"localpath": "run"}, TaskFile("/f", b"run", 0o755, True)),
        ({"localpath": "../b64", "base64": True}, TaskFile("/f", b"x", 0o644, False)),
        ({"localpath": "none"}, None),
    ],
)
def test_the_content_of_a_file(fields: dict[str, Any], expected: TaskFile | None) -> None:
    file = File.model_validate({"path": "/f", **fields})
    assert task_file(file, "workflows/w.yaml", LOCAL) == expected


def test_a_file_with_values_and_one_that_is_no_text() -> None:
    file = TaskFile("{{output}}//x", b"{{output}} {{uuid}}")
    assert (file.mode, file.is_text, file.tokens) == (0o644, True, frozenset({"output", "uuid"}))
    assert file.with_values({"output": "/o"}) == TaskFile("/o/x", b"/o {{uuid}}")
    raw = TaskFile("/x", b"{{output}}", 0o755, False)
    assert raw.tokens == frozenset()
    assert raw.with_values({"output": "/o"}) == raw
    digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert TaskFile("/x", b"", 0o755).identity == ["/x", digest, "755"]


@pytest.mark.parametrize(("content", "expected"), [(b"a", True), (b"", True), (b"a\0", False), (b"\xff", False)])
def test_what_is_text(content: bytes, expected: bool) -> None:
    assert is_text(content) is expected


@pytest.mark.parametrize(("path", "spelling"), [("/a", "/a"), ("//a/./b//c/..", "/a/b"), ("a/", "/a"), ("/../a", "/a")])
def test_the_normal_spelling_of_a_path(path: str, spelling: str) -> None:
    assert normal(path) == spelling


@pytest.mark.parametrize(
    ("content", "fits"),
    [
        (b"x" * (192 * 1024 - 2), True),
        (b"x" * (192 * 1024 - 1), False),
        (b'"' * (96 * 1024 - 1), True),
        (b'"' * (96 * 1024), False),
        (b"\0" * (144 * 1024 - 3), True),
        (b"\0" * (144 * 1024 - 2), False),
    ],
    ids=["text", "text that is too long", "quotes", "too many quotes", "bytes", "too many bytes"],
)
def test_what_kubectl_can_keep_in_an_annotation(content: bytes, fits: bool) -> None:
    assert fits_annotation(content) is fits


def test_files_are_mounted_one_by_one() -> None:
    large = b"x" * (192 * 1024 - 2)
    files = [TaskFile("/a", b"1"), TaskFile("/b", large), TaskFile("/bin/a", b"1", 0o755), TaskFile("/c/..a", b"2")]
    made = file_maps("gang", [*files, files[0]])
    names = {item.name: [*item.files] for item in made.maps}
    last = names["gang-files-3"][0]
    assert names == {"gang-files": [names["gang-files"][0]], "gang-files-2": ["b"], "gang-files-3": [last]}
    assert all(key == "a" or key.startswith("a-") for key in (names["gang-files"][0], last))
    spec = made.mounted({"containers": [{"name": "t"}]}, files)

    def mount(volume: str, path: str, key: str) -> dict[str, Any]:
        return {"name": volume, "mountPath": path, "subPath": key, "readOnly": True}

    key = names["gang-files"][0]
    assert spec["containers"] == [
        {
            "name": "t",
            "volumeMounts": [
                mount("task-files", "/a", key),
                mount("task-files-2", "/b", "b"),
                mount("task-programs", "/bin/a", key),
                mount("task-files-3", "/c/..a", last),
            ],
        }
    ]
    assert spec["volumes"] == [
        {"name": volume, "configMap": {"name": name, "defaultMode": mode}}
        for volume, name, mode in (
            ("task-files", "gang-files", 0o644),
            ("task-files-2", "gang-files-2", 0o644),
            ("task-programs", "gang-files", 0o755),
            ("task-files-3", "gang-files-3", 0o644),
        )
    ]
    assert made.mounted({"containers": []}, []) == {"containers": []}
