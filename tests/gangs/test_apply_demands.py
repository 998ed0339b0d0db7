"""Tests how demands change a document, in its text and in its data."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.gangs.apply_demands import demanded, entries_of, merged
from kubectl_tas.gangs.pool_demands import Demand, Mode
from kubectl_tas.load.document import parse
from kubectl_tas.load.splice import Appended, RenamedEntry, with_values

TOLERATION = {"key": "k", "operator": "Exists"}


def add(path: str, value: Any = "v", mode: Mode = Mode.ADD) -> Demand:
    return Demand(tuple(int(step) if step.isdigit() else step for step in path.split("/")), value, "", mode)


@pytest.mark.parametrize(
    ("text", "wanted", "after"),
    [
        (
            "kind: K\nmetadata:\n  name: a\n  x: y\n",
            [add("metadata/namespace", "ml"), add("metadata/labels/l")],
            "kind: K\nmetadata:\n  name: a\n  labels:\n    l: v\n  namespace: ml\n  x: y\n",
        ),
        (
            "spec:\n  template:\n    spec:\n      x: y\n",
            [add(f"spec/template/spec/{key}") for key in ("priorityClassName", "schedulerName")],
            "spec:\n  template:\n    spec:\n      schedulerName: v\n      priorityClassName: v\n      x: y\n",
        ),
        (
            "spec:\n  x: y\n",
            [add("spec/nodeSelector/a"), add("spec/tolerations", (TOLERATION,), Mode.APPEND)],
            "spec:\n  tolerations:\n  - key: k\n    operator: Exists\n  nodeSelector:\n    a: v\n  x: y\n",
        ),
        (
            "spec:\n  x: y\n",
            [add("spec/metadata/annotations/a"), add("spec/replicas", 1), add("spec/other")],
            "spec:\n  replicas: 1\n  metadata:\n    annotations:\n      a: v\n  x: y\n  other: v\n",
        ),
        (
            "a: 1\nb: 2\n",
            [add("a", "v", Mode.KEEP), add("b", 3, Mode.RESOLVE), add("c", "", Mode.ABSENT), add("a", "v")],
            "a: 1\nb: 3\n",
        ),
        (
            "tolerations:\n- key: x\n",
            [add("tolerations", (TOLERATION,), Mode.APPEND)],
            "tolerations:\n- key: x\n- key: k\n  operator: Exists\n",
        ),
        (
            "m:\n  a: 1\n  b: 2\n",
            [add("m/a", "", Mode.REMOVE), add("m/c", "", Mode.REMOVE)],
            "m:\n  b: 2\n",
        ),
        ("m:\n  a: 1\nx: y\n", [add("m/a", "", Mode.REMOVE)], "x: y\n"),
        ("m:\n  a: 1\n  b: 2\nx: y\n", [add("m/a", "", Mode.REMOVE), add("m/b", "", Mode.REMOVE)], "x: y\n"),
        ("m:\n  a: 1\n", [add("m/a", "", Mode.REMOVE), add("m/b")], "m:\n  b: v\n"),
    ],
)
def test_text_and_data_change_alike(text: str, wanted: list[Demand], after: str) -> None:
    (document,), _ = parse("f.yaml", text)
    made = demanded(document, wanted)
    (expected,), _ = parse("f.yaml", after)
    assert made == expected.data
    assert str(made) == str(expected.data), "keys are in another order"
    assert with_values(text, document.data, entries_of(document, wanted)) == after


@pytest.mark.parametrize(
    ("text", "path", "fits"),
    [
        ("a: 1\n", "a/b", False),
        ("a:\n", "a/b/c", True),
        ("a: []\n", "a/b", False),
        ("a: []\n", "a/0/b", False),
        ("a: [{}]\n", "a/0/b", True),
        ("a: [3]\n", "a/0/b", False),
        ("a: {}\n", "b/c", True),
    ],
)
def test_a_document_has_a_place_or_stays(text: str, path: str, fits: bool) -> None:
    (document,), _ = parse("f.yaml", text)
    assert (demanded(document, [add(path)]) != document.data) is fits


def test_data_of_entries() -> None:
    data = {"a": {"b": 1, "c": 2}, "l": [1]}
    entries = [
        (("a", "b"), RenamedEntry("n", 3), None),
        (("l",), Appended(({"x": 1},)), None),
        (("a", "c"), None, None),
    ]
    assert merged(data, entries) == {"a": {"n": 3}, "l": [1, {"x": 1}]}
    assert data == {"a": {"b": 1, "c": 2}, "l": [1]}
    assert list(merged({"a": 1, "b": 2, "c": 3}, [(("b",), RenamedEntry("n", 0), None)])) == ["a", "n", "c"]
    assert list(merged({"a": 1, "b": 2}, [(("n",), 0, "a"), (("m",), 0, "x"), (("f",), 0, "")])) == [
        *("f", "a", "n", "b", "m")
    ]
