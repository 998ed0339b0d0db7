"""Tests that Flux's post-build substitution leaves manifests unchanged."""

from __future__ import annotations

import copy

import pytest

from tests.support.cli import kubectl_tas
from tests.support.flux import substituted
from tests.support.golden import GOLDEN, case_input
from tests.support.pyyaml import safe_load_all

VARIABLES = {"HOSTNAME": "changed", "RUN": "changed"}
CASES = ("layout-sharded", "node-pools", "two-clusters")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("variables", [VARIABLES, {}])
def test_nothing_is_substituted(case: str, variables: dict[str, str]) -> None:
    root = case_input(GOLDEN / "manifests" / case)
    arguments = ["--backend", "nvl72"] if case == "two-clusters" else []
    items = list(safe_load_all(kubectl_tas("render", "-C", root, "--to", "-", *arguments).out))
    assert items
    assert [substituted(item, variables) for item in items] == items


def test_without_the_annotation_it_would_be() -> None:
    root = case_input(GOLDEN / "manifests/layout-sharded")
    changed = set()
    for item in safe_load_all(kubectl_tas("render", "-C", root, "--to", "-").out):
        bare = copy.deepcopy(item)
        del bare["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/substitute"]
        if substituted(bare, VARIABLES) != bare:
            changed.add(item["kind"])
    assert changed == {"Pod", "Job"}
