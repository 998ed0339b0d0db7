"""Tests that JSON files from json.dumps are read with the right values and places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_tas.load.document import parse
from kubectl_tas.load.splice import set_value
from tests.support.cli import kubectl_tas, pool, write
from tests.support.pyyaml import safe_load_all

FACE = "\U0001f600"
TEXTS = st.lists(st.sampled_from([FACE, "\U0010ffff", "\\", '"', " ", "\n", "a", "ud83d", "é"]), max_size=8).map(
    "".join
)


@given(value=st.recursive(TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)))
def test_what_python_writes(value: Any) -> None:
    (document,), problems = parse("w.json", json.dumps({"x": value}))
    assert problems == ()
    assert document.data == {"x": value}


def test_places_behind_a_pair_of_escapes() -> None:
    text = json.dumps({"a": f"{FACE} {FACE}", "b": 1, "c": {"d": 2}})
    (document,), _ = parse("w.json", text)
    assert document.locate(("b",)).column == text.index("1") + 1
    assert document.locate(("c", "d"), key=True).column == text.index('"d"') + 1
    assert document.locate(("c", "d")).line == 1


def test_a_key_of_escapes_is_read() -> None:
    (document,), _ = parse("w.json", json.dumps({FACE: {"b": 1}}))
    assert document.value((FACE, "b")) == 1


@pytest.mark.parametrize("text", [r'{"a": "\ud83d"}', r'{"a": "\ude00\ud83d"}', '{"a": "\\ud83d\\ude00", b: [}'])
def test_half_a_pair_is_an_error(text: str) -> None:
    documents, (problem,) = parse("w.json", text)
    assert documents == ()
    assert problem.rule.code == "yaml-syntax"


def test_an_edit_keeps_the_escapes() -> None:
    text = json.dumps({"a": FACE, "b": 1})
    assert set_value(text, 0, ("b",), 2) == text.replace("1}", "2}")


@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("123456789012345678901", "123456789012345678901"),
        ("-123456789012345678901", "-123456789012345678901"),
        ("1e999", '"1e999"'),
    ],
)
def test_large_numbers_stay_numbers(repository: Path, number: str, written: str) -> None:
    gauge = {
        "apiVersion": "a.io/v1",
        "kind": "Gauge",
        "metadata": {"name": "x", "annotations": {"a": FACE}},
        "spec": {"x": "@"},
    }
    spec = "{rules: {companion-kind: off}, companions: [{apiVersion: a.io/v1, kind: Gauge}]}"
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {spec}\n"
    text = json.dumps(gauge).replace('"@"', number)
    write(repository, {"tas.yaml": config, "pools/p.yaml": pool(), "workflows/w.json": text})
    result = kubectl_tas("render", "--to", "-", "-C", repository)
    assert result.code == 0, result.err
    assert f"x: {written}\n" in result.out
    assert f'a: "{FACE}"\n' in result.out
    found = next(item for item in safe_load_all(result.out) if item["kind"] == "Gauge")
    assert found["metadata"]["annotations"]["a"] == FACE
