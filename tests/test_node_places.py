"""Tests which nodes a pod chooses."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.node_places import AFFINITY, admits, choices, fulfils, instead, values_at

LABELS = {"zone": "a", "gpu": "h100"}


@pytest.mark.parametrize(
    ("operator", "key", "values", "is_met"),
    [
        ("In", "zone", ["a", "b"], True),
        ("In", "zone", ["b"], False),
        ("In", "zone", None, False),
        ("NotIn", "zone", ["a"], False),
        ("NotIn", "zone", ["b"], True),
        ("NotIn", "rack", ["b"], True),
        ("Exists", "zone", None, True),
        ("Exists", "rack", None, False),
        ("DoesNotExist", "zone", None, False),
        ("DoesNotExist", "rack", None, True),
        ("Near", "rack", ["b"], True),
    ],
)
def test_a_condition_is_met_as_kubernetes_has_it(operator: str, key: str, values: Any, is_met: bool) -> None:
    """One with an unknown operator is another finding, and met."""
    assert fulfils({"key": key, "operator": operator, "values": values}, LABELS) is is_met


def affine(*terms: Any) -> dict[str, Any]:
    spec: Any = list(terms)
    for step in reversed(AFFINITY):
        spec = {step: spec}
    return dict(spec)


def term(key: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


@pytest.mark.parametrize(
    ("spec", "is_admitted"),
    [
        ({}, True),
        ({"nodeSelector": {"zone": "a"}}, True),
        ({"nodeSelector": {"zone": "b"}}, False),
        ({"nodeSelector": {"rack": "b"}}, True),
        ({"nodeSelector": ["zone"]}, True),
        (affine(term("zone", "a")), True),
        (affine(term("zone", "b")), False),
        (affine(term("zone", "b"), term("zone", "a")), True),
        (affine(term("rack", "b")), True),
        (affine({"matchExpressions": 3}), True),
        (affine("zone"), True),
        (affine("zone", term("zone", "b")), False),
        (affine({"matchExpressions": ["zone"]}), True),
        ({"affinity": ["zone"]}, True),
    ],
)
def test_only_labels_in_question_decide(spec: dict[str, Any], is_admitted: bool) -> None:
    assert admits(spec, LABELS, keys=("zone",)) is is_admitted


def test_the_values_that_a_pod_chooses_stand_where_it_chooses_them() -> None:
    spec = {"nodeSelector": {"zone": "a"}, **affine(term("gpu", "h100", "h200"), {"matchExpressions": [{"key": "x"}]})}
    assert {key: values_at(spec, path) for key, path in choices(spec)} == {
        "zone": ["a"],
        "gpu": ["h100", "h200"],
        "x": [],
    }


@pytest.mark.parametrize(
    ("wanted", "known", "hint"),
    [
        (["h10"], ["h100", "a100"], 'Did you mean "h100"?'),
        (["x"], ["h100", "a100"], "The nodes have a100, h100."),
        (["x"], [], ""),
    ],
)
def test_the_values_that_nodes_have_are_named(wanted: list[str], known: list[str], hint: str) -> None:
    assert instead(wanted, known) == hint
