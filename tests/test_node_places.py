"""Tests which nodes a pod chooses."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.facts.node_places import AFFINITY, LIKE, admits, choices, fulfils, instead, place_of, rank, values_at

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
    ("label", "place"),
    [
        ("topology.kubernetes.io/region", ("region", "Kubernetes", False)),
        ("topology.kubernetes.io/zone", ("zone", "Kubernetes", False)),
        *(
            (f"{owner}.coreweave.cloud/{name}", (name, "CoreWeave", False))
            for owner in ("backend", "ib")
            for name in ("fabric", "superpod", "leafgroup")
        ),
        ("fabric.topograph.run/tier-0", ("tier-0", "Topograph", False)),
        ("fabric.topograph.run/tier-9", ("tier-9", "Topograph", False)),
        ("fabric.topograph.run/tier-10", None),
        ("topology.k8s.aws/network-node-layer-1", ("layer-1", "EKS", False)),
        ("topology.k8s.aws/network-node-layer-4", ("layer-4", "EKS", False)),
        ("topology.k8s.aws/network-node-layer-0", None),
        ("topology.k8s.aws/network-node-layer-5", None),
        ("cloud.google.com/gce-topology-block", ("block", "GKE", False)),
        ("cloud.google.com/gce-topology-subblock", ("subblock", "GKE", False)),
        ("cloud.google.com/gce-topology-host", ("machine", "GKE", False)),
        ("node.coreweave.cloud/rack", ("rack", "CoreWeave", False)),
        ("nvidia.com/gpu.clique", ("gpu-clique", "GPU Feature Discovery", True)),
        ("accelerator.topograph.run/domain", ("accelerator", "Topograph", True)),
        ("accelerator.topograph.run/sub-domain", ("sub-domain", "Topograph", True)),
        ("topology.k8s.aws/ultraserver-id", ("ultraserver", "EKS", True)),
        ("ds.coreweave.com/nvlink.domain", ("nvlink-domain", "CoreWeave", True)),
        ("kubernetes.io/hostname", ("host", "Kubernetes", False)),
        *(
            (f"network.topology.nvidia.com/{name}", (name, "Topograph before 1.0", joins_gpus))
            for name, joins_gpus in (
                ("accelerator", True),
                ("sub-domain", True),
                *((name, False) for name in ("leaf", "block", "spine", "core", "datacenter", "tier-0", "tier-9")),
            )
        ),
        ("network.topology.nvidia.com/other", None),
        ("example.com/rack", None),
    ],
)
def test_the_labels_that_tell_where_a_node_is(label: str, place: tuple[str, str, bool] | None) -> None:
    found = place_of(label)
    assert (found and (found.label, found.key, found.maker, found.joins_gpus)) == (place and (label, *place))


def test_labels_from_the_coarsest_to_the_finest() -> None:
    """A label of old ranks as the one that has replaced it, an unknown one just before that of the host."""
    old = "network.topology.nvidia.com/"
    ordered = [
        ["topology.kubernetes.io/region"],
        ["topology.kubernetes.io/zone"],
        [f"{old}tier-9", "fabric.topograph.run/tier-9"],
        ["fabric.topograph.run/tier-2", f"{old}core", f"{old}datacenter"],
        ["fabric.topograph.run/tier-1", f"{old}spine"],
        ["fabric.topograph.run/tier-0", f"{old}leaf", f"{old}block"],
        ["accelerator.topograph.run/domain", f"{old}accelerator"],
        ["accelerator.topograph.run/sub-domain", f"{old}sub-domain"],
        ["example.com/rack", f"{old}other", "kubernetes.io/hostname"],
    ]
    ranks = [{rank(label) for label in labels} for labels in ordered]
    assert [len(found) for found in ranks] == [1] * len(ordered)
    assert sorted(ranks, key=min) == ranks
    assert len({min(found) for found in ranks}) == len(ordered)


@pytest.mark.parametrize("kind", LIKE)
def test_nodes_of_each_kind_of_cluster_have_known_labels_in_order(kind: str) -> None:
    assert all(place_of(label) for label in LIKE[kind])
    assert sorted(LIKE[kind], key=rank) == list(LIKE[kind])
    assert {name: len(labels) for name, labels in LIKE.items()} == {
        "gpu-operator": 2,
        "topograph": 4,
        "gke": 3,
        "eks": 3,
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
