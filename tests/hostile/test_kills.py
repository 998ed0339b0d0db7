"""Tests the script that kills commands at random moments: it runs, and it would detect damage."""

from __future__ import annotations

import sys

import pytest

from fuzz.kills import COMMANDS, Content, judge
from tests.support.golden import ROOT
from tests.support.process import call

OLD = {"tas.yaml": b"old", "manifests/a.yaml": b"old", "manifests/kustomization.yaml": b"resources:\n- a.yaml\n"}
NEW = {"tas.yaml": b"new", "manifests/b.yaml": b"new", "manifests/kustomization.yaml": b"resources:\n- b.yaml\n"}


def test_it_runs() -> None:
    result = call(sys.executable, ROOT / "fuzz/kills.py", "--runs", "3", "--seed", "3")
    assert result.code == 0, result
    prepared, (first, *_) = result.err.splitlines()[: len(COMMANDS)], result.err.splitlines()[len(COMMANDS) :]
    assert prepared == [f"preparing {name}" for name in COMMANDS], "it says from the first second on what it does"
    assert first == "run 0 of 3, 0 s, 0 wrong"
    assert result.out.endswith("3 runs, seed 3: 0 files or folders half-written, lost or left behind\n")


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ({**OLD, "tas.yaml": b"ne"}, "tas.yaml is neither the old file nor the new one"),
        ({**OLD, "else.yaml": b"new"}, "else.yaml is neither the old file nor the new one"),
        ({**OLD, ".b.yaml.kubectl-tas.tmp": b""}, ".b.yaml.kubectl-tas.tmp is neither the old file nor the new one"),
        ({key: OLD[key] for key in OLD if key != "tas.yaml"}, "tas.yaml is lost"),
        (
            {**OLD, "manifests/kustomization.yaml": NEW["manifests/kustomization.yaml"]},
            "manifests/kustomization.yaml lists manifests/b.yaml, which is not there",
        ),
    ],
    ids=["half", "foreign", "foreign temporary", "lost", "listed"],
)
def test_what_it_sees(found: Content, problem: str) -> None:
    assert judge(OLD, NEW, found) == [problem]


@pytest.mark.parametrize(
    "found", [OLD, NEW, {**OLD, **NEW}, {**OLD, "manifests/.0123456789abcdef.kubectl-tas.tmp": b"ha"}]
)
def test_what_may_be_left(found: Content) -> None:
    assert judge(OLD, NEW, found) == []
