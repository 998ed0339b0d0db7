"""Tests integrations/flux: a Kustomization for every folder, their order, and their readiness."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import celpy
import pytest
import yaml

from tests.support.cli import kubectl_tas
from tests.support.delivery import key_of
from tests.support.golden import EXAMPLES, ROOT
from tests.support.history import git
from tests.support.pyyaml import safe_load, safe_load_all
from tests.support.rendered import KUSTOMIZATION, load, read_back, text

FOLDER = ROOT / "integrations/flux"
Object = dict[str, Any]


def rendered(example: str, layout: str, root: Path) -> Path:
    shutil.copytree(EXAMPLES / example, root, ignore=shutil.ignore_patterns("manifests"))
    config = load(root / "tas.yaml")
    config["spec"] |= {"layout": layout, "gitops": "flux"}
    (root / "tas.yaml").write_text(yaml.safe_dump(config))
    assert kubectl_tas("render", "-C", root).code == 0
    return root


def folders(root: Path) -> set[str]:
    return {f"./{path.parent.relative_to(root).as_posix()}" for path in root.rglob(KUSTOMIZATION)}


def written_for(root: Path) -> list[Object]:
    """What the page says to write for a repository in the sharded layout: a file for each pool."""
    names = kubectl_tas("pool", "list", "-o", "name", "-C", root).out.split()
    pools = [name for name in names if "--" not in name]
    template = text(FOLDER / "pool.yaml")
    return [load(FOLDER / "platform.yaml"), *(safe_load(template.replace("POOL", name)) for name in pools)]


def loaded(name: str) -> list[Object]:
    return list(safe_load_all(text(FOLDER / f"{name}.yaml")))


@pytest.mark.parametrize("example", ["company", "heterogeneous", "osmo"])
def test_the_flat_layout_applies_what_work_needs_before_it(example: str, tmp_path: Path) -> None:
    """Each object is applied by one of the two Kustomizations, and what has a queue by the second one."""
    root = rendered(example, "flat", tmp_path / "repository")
    base, work = loaded("flat")
    assert base["spec"]["path"] == work["spec"]["path"]
    assert "dependsOn" not in base["spec"]
    assert work["spec"]["dependsOn"] == [{"name": base["metadata"]["name"]}]
    for cluster in read_back(root).clusters:
        first, second = ([key_of(item) for item in cluster.objects if is_kept(item, part)] for part in (base, work))
        assert sorted(first + second) == sorted(map(key_of, cluster.objects))
        applied_late = {kind.partition(".")[0] for kind, _, _ in second}
        assert applied_late
        assert not applied_late & {"Namespace", "PriorityClass", "Queue", "Topology", "ServiceAccount"}


def is_kept(item: Object, part: Object) -> bool:
    """Whether a Kustomization keeps an object: its patch deletes what its label selector selects."""
    (patch,) = part["spec"]["patches"]
    assert patch["patch"].startswith("$patch: delete\n")
    selector = patch["target"]["labelSelector"]
    return (selector.removeprefix("!") in item["metadata"].get("labels", {})) == selector.startswith("!")


def test_sharded(tmp_path: Path) -> None:
    root = rendered("quickstart", "sharded", tmp_path / "repository")
    found = written_for(root)
    assert {item["spec"]["path"] for item in found} == folders(root)
    platform, *pools = found
    assert pools
    assert platform["spec"]["wait"] is True
    for item in pools:
        assert item["spec"]["dependsOn"] == [{"name": platform["metadata"]["name"]}]
        assert item["metadata"]["namespace"] == platform["metadata"]["namespace"]


def test_several_clusters(tmp_path: Path) -> None:
    """The folders of a cluster are those of its backend."""
    root = rendered("company", "sharded", tmp_path / "repository")
    paths = {item["spec"]["path"] for item in written_for(root)}
    own = {path.replace("./manifests/", f"./manifests/{name}/") for path in paths for name in ("train-eu", "serve-us")}
    assert folders(root) <= own


def test_everything_is_pruned_and_comes_from_the_source() -> None:
    source = load(FOLDER / "source.yaml")
    for item in (item for name in ("flat", "platform", "pool") for item in loaded(name)):
        assert item["apiVersion"] == "kustomize.toolkit.fluxcd.io/v1"
        assert item["spec"]["prune"] is True
        assert item["spec"]["sourceRef"] == {"kind": source["kind"], "name": source["metadata"]["name"]}
        assert item["metadata"]["namespace"] == source["metadata"]["namespace"]


def state(item: Object, expressions: Object) -> str:
    """What Flux takes an object for (StatusEvaluator of fluxcd/pkg/runtime/cel)."""
    environment = celpy.Environment()
    for name in ("inProgress", "failed", "current"):
        if name in expressions:
            program = environment.program(environment.compile(expressions[name]))
            if bool(program.evaluate({key: celpy.json_to_cel(value) for key, value in item.items()})):
                return name
    return "inProgress"


def expressions_of(file: str, kind: str) -> Object:
    (found,) = [item for item in load(FOLDER / file)["spec"]["healthCheckExprs"] if item["kind"] == kind]
    return found


@pytest.mark.parametrize("kind", ["Queue", "Topology"])
def test_what_has_no_status_is_ready(kind: str) -> None:
    expressions = expressions_of("platform.yaml", kind)
    assert state({"metadata": {"name": "a"}}, expressions) == "current"
    assert state({"metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}}, expressions) == "inProgress"


def unschedulable(reason: str) -> Object:
    """The status that KAI's scheduler writes."""
    condition = {"type": "UnschedulableOnNodePool", "status": "True", "reasons": [{"reason": reason}]}
    return {"schedulingConditions": [condition]}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, "inProgress"),
        ({"resourcesStatus": {"requested": {"nvidia.com/gpu": "8"}}}, "inProgress"),
        ({"resourcesStatus": {"allocated": {"nvidia.com/gpu": "8"}}}, "current"),
        (unschedulable("NonPreemptibleOverQuota"), "inProgress"),
        (unschedulable("QueueDoesNotExist"), "failed"),
        ({**unschedulable("OverLimit"), "resourcesStatus": {"allocated": {"nvidia.com/gpu": "8"}}}, "current"),
    ],
)
def test_pod_group(status: Object, expected: str) -> None:
    assert state({"metadata": {"name": "a"}, "status": status}, expressions_of("pool.yaml", "PodGroup")) == expected


def test_every_file_is_one_of_these() -> None:
    names = {path.name for path in FOLDER.rglob("*")}
    assert names == {"source.yaml", "flat.yaml", "platform.yaml", "pool.yaml", "README.md"}


def written_by_init(root: Path, *arguments: str) -> dict[str, list[Object]]:
    """The objects of each file that ``init`` writes, by the cluster of the file."""
    assert kubectl_tas("init", "--ci", "none", "--gitops", "flux", *arguments, root).code == 0
    paths = sorted((root / "flux").iterdir())
    return {path.stem.removeprefix("gpu-pools").removeprefix("-"): list(safe_load_all(text(path))) for path in paths}


@pytest.mark.parametrize("layout", ["flat", "sharded"])
@pytest.mark.parametrize("example", ["quickstart", "company"])
def test_init_writes_one_for_every_folder(example: str, layout: str, tmp_path: Path) -> None:
    root = rendered(example, layout, tmp_path / "repository")
    found = written_by_init(root)
    assert set(found) == ({"train-eu", "serve-us"} if example == "company" else {""})
    paths = {item["spec"]["path"] for items in found.values() for item in items if item["kind"] == "Kustomization"}
    assert paths == folders(root)
    for cluster, (source, *items) in found.items():
        assert source["kind"] == "GitRepository"
        assert source["spec"]["ignore"] == load(FOLDER / "source.yaml")["spec"]["ignore"]
        for item in items:
            assert item["spec"]["path"].startswith(f"./manifests/{cluster}".rstrip("/"))
            assert item["spec"]["sourceRef"]["name"] == source["metadata"]["name"]


@pytest.mark.parametrize("layout", ["flat", "sharded"])
def test_init_and_the_page_have_the_same(layout: str, tmp_path: Path) -> None:
    root = rendered("quickstart", layout, tmp_path / "repository")
    (items,) = written_by_init(root).values()
    expected = loaded("flat") if layout == "flat" else written_for(root)
    assert _named(items[1:]) == _named(expected)


def _named(items: list[Object]) -> list[Object]:
    """Objects by one name, whatever the repository is called."""
    written = json.dumps(sorted(items, key=lambda item: str(item["metadata"]["name"])))
    return list(json.loads(written.replace("gpu-pools", "gpus")))


@pytest.mark.parametrize("layout", ["flat", "sharded"])
def test_without_pruning_nothing_is_removed(layout: str, tmp_path: Path) -> None:
    root = rendered("quickstart", layout, tmp_path / "repository")
    (items,) = written_by_init(root, "--no-prune").values()
    assert {item["spec"]["prune"] for item in items[1:]} == {False}


def test_the_source_of_a_folder_below_the_top(tmp_path: Path) -> None:
    """Each folder on the way is let in, and no other beside it."""
    git(tmp_path, "init", "--quiet")
    root = tmp_path / "teams/gpus"
    assert kubectl_tas("init", "--ci", "none", "--gitops", "flux", root).code == 0
    source = next(iter(safe_load_all(text(root / "flux/gpu-pools.yaml"))))
    lines = ["/*", "!/teams", "/teams/*", "!/teams/gpus", "/teams/gpus/*", "!/teams/gpus/manifests"]
    assert source["spec"]["ignore"].splitlines() == lines
