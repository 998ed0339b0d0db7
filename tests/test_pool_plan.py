"""Tests ``pool plan``: the gangs that can still start in each pool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, at, case_input
from tests.support.kubectl import node

CASE = GOLDEN / "commands/pool-plan"
FILES = [f"--nodes={CASE / name}" for name in ("nodes.json", "pods.json")]


def plan(*arguments: str | Path) -> Result:
    return kubectl_tas("-C", case_input(CASE), "pool", "plan", *arguments)


@pytest.mark.parametrize("output", ["text", "json"])
def test_golden(output: str, snapshot: Any) -> None:
    result = plan("-o", output, *FILES)
    assert (result.code, result.err) == (1, "")
    assert result.out == snapshot(extension_class=at(CASE / f"output.{'txt' if output == 'text' else 'json'}"))


def test_smaller_pods_use_what_is_left_of_a_node() -> None:
    (found,) = json.loads(plan("research", "--gpus", "2", "-o", "json", *FILES).out)["pools"]
    assert {level["level"]: level["largestGang"] for level in found["levels"]} == {
        None: {"pods": 43, "gpus": 86},
        "zone": {"pods": 24, "gpus": 48},
        "spine": {"pods": 16, "gpus": 32},
        "rack": {"pods": 15, "gpus": 30},
    }


def test_domains_without_room_are_no_next_best() -> None:
    result = plan("research", "--gpus", "1000000", *FILES)
    assert "(0)" not in result.out
    assert "rack         4        none" in result.out


def test_guarantees_that_the_nodes_can_keep(tmp_path: Path) -> None:
    items = json.loads((CASE / "nodes.json").read_text())["items"]
    for item in items:
        item["status"]["allocatable"]["nvidia.com/gpu"] = "64"
    (tmp_path / "nodes.json").write_text(json.dumps({"items": items}))
    result = plan("--nodes", tmp_path / "nodes.json")
    assert result.code == 0
    assert result.out.endswith(
        "Guarantees:  nodes that are ready and not cordoned have what all pools are guaranteed\n"
    )
    assert result.err == "The input has no pods, so everything on the nodes counts as free.\n"


def test_kai_counts_gpus_of_amd_the_same(tmp_path: Path) -> None:
    for name in ("nodes.json", "pods.json"):
        (tmp_path / name).write_text((CASE / name).read_text().replace("nvidia.com/gpu", "amd.com/gpu"))
    result = plan(*(f"--nodes={tmp_path / name}" for name in ("nodes.json", "pods.json")))
    assert result.out == plan(*FILES).out


def test_the_nodes_of_child_pools_keep_the_guarantee_of_their_parent(tmp_path: Path) -> None:
    files = {
        "tas.yaml": "",
        "pools/all.yaml": pool("all", 32, "  nodes: {selector: {size: small}}\n"),
        "pools/big.yaml": pool("big", 24, "  parent: all\n  nodes: {selector: {size: big}}\n"),
    }
    root = write(tmp_path, files)

    def guarantee(big: dict[str, Any]) -> str:
        write(root, {"nodes.json": json.dumps({"items": [node("s", 8, size="small"), big]})})
        page = kubectl_tas("-C", root, "pool", "plan", "all", f"--nodes={root}/nodes.json").out
        return next(line.split(maxsplit=1)[1] for line in page.splitlines() if line.startswith("Guarantee:"))

    assert guarantee(node("b", 24, size="big")) == "32 GPUs"
    assert guarantee(node("b", 16, size="big")) == "32 GPUs; usable nodes have 24"
    assert guarantee(node("b", 24, cordoned=True, size="big")) == "32 GPUs; usable nodes have 8"


def planned(root: Path, spec: str, *nodes: dict[str, Any], guarantee: int = 8) -> tuple[str, dict[str, Any]]:
    """The page of a pool and its data."""
    items = json.dumps({"items": nodes})
    write(root, {"tas.yaml": "", "pools/team.yaml": pool("team", guarantee, spec), "nodes.json": items})
    page, data = (
        kubectl_tas("-C", root, "pool", "plan", f"--nodes={root}/nodes.json", "-o", output).out
        for output in ("text", "json")
    )
    (found,) = json.loads(data)["pools"]
    return page, found


LEVELS = "  topology_keys: [{key: zone, label: zone}, {key: rack, label: rack}]\n"


def with_room(name: str, gpus: int, **labels: str) -> dict[str, Any]:
    found = node(name, gpus, **labels)
    found["status"]["allocatable"]["pods"] = "10"
    return found


def test_without_gpus_no_gang_can_start(tmp_path: Path) -> None:
    page, data = planned(tmp_path, LEVELS, node("n", 0, zone="a", rack="1"))
    assert "\nGangs:      none can start: no node with GPUs can be used\n" in page
    assert "WITHIN ONE" not in page
    assert data["levels"] == []


def test_a_level_whose_label_no_node_has_takes_no_gang(tmp_path: Path) -> None:
    page, data = planned(tmp_path, LEVELS, with_room("n", 8, zone="a"))
    rows = [line.split() for line in page.splitlines()]
    assert ["zone", "0", "none", "-", "-", "-"] in rows
    assert [(item["level"], item["largestGang"]["pods"], item["domains"]) for item in data["levels"]][1:] == [
        ("zone", 0, []),
        ("rack", 0, []),
    ]


@pytest.mark.parametrize(
    ("guarantee", "text"),
    [(-1, "any number of GPUs"), (16, "16 GPUs"), (17, "17 GPUs; usable nodes have 16")],
)
def test_a_guarantee_that_the_nodes_lack_is_told(guarantee: int, text: str, tmp_path: Path) -> None:
    page, _ = planned(tmp_path, "", with_room("n", 16), guarantee=guarantee)
    assert f"\nGuarantee:  {text}\n" in page


def test_a_pool_that_is_not_there() -> None:
    result = plan("reserch", *FILES)
    assert result.code == 2
    assert 'did you mean "research"' in result.err


def test_a_subpool_has_no_plan_of_its_own(tmp_path: Path) -> None:
    root = write(tmp_path, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 8)})
    result = kubectl_tas("-C", root, "pool", "plan", "team--a", *FILES)
    assert result.code == 2
    assert "team--a is a subpool, which uses the nodes of its pool; name team" in result.err


def two_pools(root: Path, **backends: str) -> Path:
    """A repository with two backends, the first of pool a, the second of pool b."""
    spec = f"spec: {{backends: [{', '.join(backends.values())}]}}"
    pools = {
        f"pools/{name}.yaml": pool(name, spec=f"  backend: {of}\n") for name, of in zip("ab", backends, strict=True)
    }
    return write(root, {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\n{spec}\n", **pools})


def test_nodes_in_files_are_those_of_one_cluster(tmp_path: Path) -> None:
    root = two_pools(tmp_path, eu="{name: eu}", us="{name: us, namespace: us}")
    refused = kubectl_tas("-C", root, "pool", "plan", *FILES)
    assert (refused.code, refused.out) == (2, "")
    assert "that is what one cluster has; name it with --backend: eu, us" in refused.err
    assert "Pool:       a\n" in kubectl_tas("-C", root, "pool", "plan", "--backend", "eu", *FILES).out
    assert "Pool:       b\n" in kubectl_tas("-C", root, "pool", "plan", "b", *FILES).out


def test_pools_without_kai_are_left_out(tmp_path: Path) -> None:
    root = two_pools(tmp_path, prod="{name: prod}", plain="{name: plain, scheduler: {type: default}}")
    result = kubectl_tas("-C", root, "pool", "plan", FILES[0])
    assert result.err.startswith("Left out: 1 pool for backends without KAI.\n")
    assert "Pool:       a\n" in result.out
    assert "Pool:       b\n" not in result.out
    assert kubectl_tas("-C", root, "pool", "plan", "b", FILES[0]).code == 2
    alone = kubectl_tas("-C", root, "pool", "plan", "--backend", "plain", FILES[0])
    assert (alone.code, alone.out, "there is no pool to plan for" in alone.err) == (2, "", True)
