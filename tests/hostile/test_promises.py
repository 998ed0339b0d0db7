"""Tests that each promise of SECURITY.md names existing tests."""

from __future__ import annotations

import ast
import re

import pytest

from tests.support.golden import ROOT

TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PROMISES = re.split(r"^### ", TEXT.partition("## What is promised")[2].partition("\n## ")[0], flags=re.MULTILINE)[1:]
NAMED = sorted(set(re.findall(r"^- `(tests/[^`]+)`$", TEXT, flags=re.MULTILINE)))


def defined(node: ast.AST, name: str) -> ast.AST:
    """The test or class of that name within a module or a class."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return next(item for item in ast.iter_child_nodes(node) if isinstance(item, kinds) and item.name == name)


@pytest.mark.parametrize("promise", PROMISES, ids=[promise.partition("\n")[0] for promise in PROMISES])
def test_a_promise_names_what_holds_it(promise: str) -> None:
    assert re.search(r"^- `tests/", promise, flags=re.MULTILINE)


@pytest.mark.parametrize("name", NAMED)
def test_a_test_that_is_named_exists(name: str) -> None:
    path, *parts = name.split("::")
    node: ast.AST = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for part in parts:
        node = defined(node, part)
    assert any(isinstance(item, ast.FunctionDef) and item.name.startswith("test") for item in ast.walk(node))
