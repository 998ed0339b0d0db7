"""Tests that both versions of YAML read numbers of a JSON workload from the rendered text as in JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_tas.load.reader import read_scalar
from tests.support.cli import kubectl_tas, pool, write
from tests.support.pyyaml import safe_load


def rendered(root: Path, number: str) -> str:
    """The scalar that ``number`` in a JSON document becomes."""
    gauge = json.dumps({"apiVersion": "a.io/v1", "kind": "Gauge", "metadata": {"name": "g"}, "spec": {"x": "@"}})
    spec = "{rules: {companion-kind: off}, companions: [{apiVersion: a.io/v1, kind: Gauge}]}"
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {spec}\n"
    write(root, {"tas.yaml": config, "pools/p.yaml": pool(), "workflows/w.json": gauge.replace('"@"', number)})
    result = kubectl_tas("render", "--to", "-", "-C", root)
    assert result.code == 0, result.err
    return next(line for line in result.out.splitlines() if line.lstrip().startswith("x: ")).partition(": ")[2]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("1e-7", "1.0e-07"),
        ("1.5e-7", "1.5e-07"),
        ("-2E+30", "-2.0e+30"),
        ("1e5", "100000.0"),
        ("0.1", "0.1"),
        ("9" * 30, "9" * 30),
    ],
)
def test_both_versions_read_a_number(repository: Path, number: str, text: str) -> None:
    found = rendered(repository, number)
    assert found == text
    assert safe_load(found) == float(number) or safe_load(found) == int(number)
    assert float(str(read_scalar(found))) == float(number)


@pytest.mark.parametrize("number", ["1e400", "-1.5E400"])
def test_a_number_beyond_all_numbers_is_text(repository: Path, number: str) -> None:
    """kubectl makes text of it in YAML, and an API server takes it nowhere."""
    assert rendered(repository, number) == f'"{number}"'


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_float(repository: Path, number: float) -> None:
    found = safe_load(rendered(repository, json.dumps(number)))
    assert isinstance(found, float)
    assert math.copysign(1, found) == math.copysign(1, number)
    assert found == number
