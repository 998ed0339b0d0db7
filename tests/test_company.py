"""Tests the example company, which has every kind of document and was partly imported from a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.kinds import LISTED
from kubectl_tas.model.kindlists import COMPANIONS
from tests.support.cli import kubectl_tas
from tests.support.golden import EXAMPLES
from tests.support.pyyaml import safe_load, safe_load_all

Item = dict[str, Any]
COMPANY = EXAMPLES / "company"
STATE = COMPANY / "clusters/serve-us.json"


def _written(root: Path) -> Iterator[Item]:
    """All documents of a repository, items of Lists among them."""
    for file in sorted(root.rglob("*.yaml")):
        for item in safe_load_all(file.read_text()):
            yield from item["items"] if item.get("kind") == "List" else [item]


def _named(items: Iterator[Item], kind: str) -> dict[str, Item]:
    return {item["metadata"]["name"]: item["spec"] for item in items if item.get("kind") == kind}


def _applied(*arguments: str | Path) -> dict[tuple[str, str], Item]:
    """The objects that ``render`` prints."""
    result = kubectl_tas("render", "--to", "-", *arguments)
    assert result.code == 0, result.err
    return {(item["kind"], item["metadata"]["name"]): item for item in safe_load_all(result.out)}


@pytest.mark.parametrize("arguments", [(), (f"--cluster-state=serve-us={STATE}",)], ids=["files", "nodes"])
def test_it_is_clean(arguments: tuple[str, ...]) -> None:
    result = kubectl_tas("validate", "--strict", "-C", COMPANY, *arguments)
    assert (result.code, result.out.splitlines()[-1]) == (0, "1 info in 31 files.")


OF_OTHERS = ("ReplicaSet", "ReplicationController", "RayCronJob")
"""Kinds that other examples show."""


def test_everything_is_there() -> None:
    """A kind that is read from now on belongs into the example too; examples/heterogeneous has the ComputeDomain."""
    kinds = {item.get("kind", "Workflow") for item in _written(COMPANY)}
    of_work = {listed.kind for listed in LISTED if listed.page.fields and listed.kind not in OF_OTHERS}
    of_work |= {"Workflow", "PodGroup", "PodCliqueSet"}
    beside = {item.kind for item in COMPANIONS} - {"ComputeDomain"}
    assert kinds == of_work | beside | {"Config", "Pool", "Subpool", "ClusterTopology"}
    pools, subpools = (_named(_written(COMPANY), kind) for kind in ("Pool", "Subpool"))
    assert {name: spec["parent"] for name, spec in pools.items() if "parent" in spec} == {
        "foundation": "research",
        "perception": "research",
        "assistant": "products",
        "search": "products",
    }
    assert (len(pools), len(subpools)) == (6, 12)
    assert {name: spec["state"] for name, spec in subpools.items() if spec.get("state", "ACTIVE") != "ACTIVE"} == {
        "tokenizer": "ARCHIVED",
        "stereo": "DELETING",
    }
    assert len({name for spec in pools.values() for name in spec["namespaces"]}) == 4


def test_what_was_imported(tmp_path: Path) -> None:
    """The pools of serve-us are those that ``import cluster`` writes, below a department; their queues stay."""
    assert kubectl_tas("import", "cluster", "--cluster-state", STATE, "--to", tmp_path).code == 0
    for kind in ("Pool", "Subpool", "ClusterTopology"):
        here = _named(_written(COMPANY), kind)
        for name, spec in _named(_written(tmp_path), kind).items():
            added = {"parent": "products", "topology": "serving-fabric"} if kind == "Pool" else {}
            assert here[name] == spec | added
    before = {
        item["metadata"]["name"]: item["spec"]
        for item in safe_load(STATE.read_text())["items"]
        if item["kind"] == "Queue"
    }
    after = {
        name: item["spec"]
        for (kind, name), item in _applied("-C", COMPANY, "--backend", "serve-us").items()
        if kind == "Queue"
    }
    for name in ("assistant", "search"):
        assert after[name].pop("parentQueue") == "aurora-pool-ml-products"
        assert before[name].pop("parentQueue") == "default-parent-queue"
    assert {name: after[name] for name in before} == before
    assert len(before) == 7


def test_every_object_is_rendered_for_its_cluster() -> None:
    """Each workload and companion comes out once, in the namespace of its pool."""
    found = {backend: _applied("-C", COMPANY, "--backend", backend) for backend in ("train-eu", "serve-us")}
    spaces = {
        backend: {item["metadata"]["namespace"] for item in items.values() if "namespace" in item["metadata"]}
        for backend, items in found.items()
    }
    assert spaces == {"train-eu": {"foundation", "perception"}, "serve-us": {"assistant", "search"}}
    kinds = {listed.kind for listed in LISTED} | {"PodCliqueSet"} | {item.kind for item in COMPANIONS}
    own = [(item["kind"], item["metadata"]["name"]) for item in _written(COMPANY) if item.get("kind") in kinds]
    assert sorted(own) == sorted(
        key for key in chain(*found.values()) if key[0] in kinds and not key[1].startswith("pretrain-7b-")
    )
