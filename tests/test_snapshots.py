"""Tests that no snapshot is kept of a case that is gone. Syrupy tells it only where all cases of a file run."""

from __future__ import annotations

import pytest

from tests.conftest import COLLECTED
from tests.support.golden import ROOT

NAME = "# name: "


def stale(config: pytest.Config, text: str, file: str) -> list[str]:
    """The names in a file of snapshots that no case of its tests has; of tests that were not collected, none."""
    cases = config.stash[COLLECTED].get(ROOT / file)
    names = [line.removeprefix(NAME) for line in text.splitlines() if line.startswith(NAME)]
    return [] if cases is None else [name for name in names if name not in cases]


def test_each_snapshot_has_a_case(pytestconfig: pytest.Config) -> None:
    paths = sorted((ROOT / "tests").rglob("__snapshots__/*.ambr"))
    assert paths
    for path in paths:
        module = path.parent.parent / f"{path.stem}.py"
        assert module.is_file(), f"{path} is of no test"
        assert stale(pytestconfig, path.read_text(encoding="utf-8"), str(module.relative_to(ROOT))) == [], path


def test_one_without_a_case_is_told(pytestconfig: pytest.Config) -> None:
    text = f"{NAME}test_each_snapshot_has_a_case\n{NAME}test_of_yesterday[a: b::c]\n"
    assert stale(pytestconfig, text, "tests/test_snapshots.py") == ["test_of_yesterday[a: b::c]"]
