"""Tests that each difference from the rendering of the previous release has a reason in CHANGELOG."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.golden import ROOT
from tools import baseline

HEADING = "### Output that changed"


def reasons(changelog: str) -> dict[str, str]:
    """Reasons for differences by case, of what is not released yet: lines such as ``- `CASE`: why``."""
    unreleased = re.split(r"^## ", changelog, flags=re.MULTILINE)[1]
    part = unreleased.partition(f"{HEADING}\n")[2].partition("\n### ")[0]
    return dict(re.findall(r"^- `([\w.-]+)`: (.{10,})$", part, flags=re.MULTILINE))


def differences(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """Cases that the release had, and that render otherwise or are gone."""
    return {name for name, digest in before.items() if after.get(name) != digest}


def test_each_difference_from_the_last_release_has_a_reason() -> None:
    before = json.loads(baseline.BASELINE.read_text())["cases"]
    named = reasons((ROOT / "CHANGELOG.md").read_text())
    changed = differences(before, baseline.digests())
    assert changed == set(named), f"name them in CHANGELOG below {HEADING!r}, or say why none changes"


def test_one_byte_is_a_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = tmp_path / "manifests/one/manifests"
    case.mkdir(parents=True)
    (case / "a.yaml").write_text("a: 1\n")
    (tmp_path / "manifests/one/about.txt").write_text("# shows: one\n")
    monkeypatch.setattr(baseline, "GOLDEN", tmp_path)
    before = baseline.digests()
    assert differences(before, baseline.digests()) == set()
    (case / "a.yaml").write_text("a: 2\n")
    assert differences(before, baseline.digests()) == {"one"}
    (case / "a.yaml").rename(case / "b.yaml")
    (case / "b.yaml").write_text("a: 1\n")
    assert differences(before, baseline.digests()) == {"one"}, "names count"


def test_reasons_are_those_of_what_is_not_released() -> None:
    new = f"## Unreleased\n{HEADING}\n\n- `one`: quotas are rounded up now\n\n### Other\n- `two`: no reason at all\n"
    old = f"## 1.0\n{HEADING}\n- `three`: it was long ago\n"
    assert reasons(f"# Changelog\n{new}{old}") == {"one": "quotas are rounded up now"}
