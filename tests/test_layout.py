"""Tests the two layouts of the manifests: the folder of each object, and changes from one layout to the other."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.cli import kubectl_tas, write
from tests.support.golden import GOLDEN, case_input
from tests.support.process import call
from tests.support.pyyaml import safe_load_all
from tests.support.rendered import KUSTOMIZATION, files_below, listed, load, text

CASES = ("companions", "departments", "handwritten-podgroups", "two-clusters", "use-cases", "workloads")
"""Cases of golden/manifests in which every kind of object is."""


@pytest.fixture(params=CASES)
def repository_of_case(request: pytest.FixtureRequest, repository: Path) -> Path:
    """A case's repository, not rendered."""
    shutil.copytree(case_input(GOLDEN / "manifests" / request.param), repository, dirs_exist_ok=True)
    return repository


def lay_out(root: Path, layout: str) -> None:
    """Writes a layout into the Config."""
    path = root / "tas.yaml"
    config = load(path) if path.exists() else {"apiVersion": "tas/v1alpha1", "kind": "Config"}
    config.setdefault("spec", {})["layout"] = layout
    path.write_text(yaml.safe_dump(config))


def output_of(root: Path) -> Path:
    """The folder that is written."""
    spec = load(root / "tas.yaml")["spec"] if (root / "tas.yaml").exists() else {}
    return root / spec.get("output", "manifests")


def units(root: Path) -> dict[str, list[Any]]:
    """The objects of each folder with a kustomization, by its path below the manifests."""
    output = output_of(root)
    found = {}
    for path in sorted(output.rglob(KUSTOMIZATION)):
        files = listed(path, path.parent)
        assert [name for name in files if name.startswith("..")] == []
        found[path.parent.relative_to(output).as_posix()] = [load(path.parent / name) for name in files]
    return found


def identity(item: dict[str, Any]) -> tuple[str, ...]:
    metadata = item["metadata"]
    return item["apiVersion"], item["kind"], metadata.get("namespace", ""), metadata["name"]


def contents(root: Path) -> dict[str, str]:
    output = output_of(root)
    return {path.relative_to(output).as_posix(): text(path) for path in files_below(output)}


def test_every_object_is_in_one_folder(repository_of_case: Path) -> None:
    root = repository_of_case
    assert kubectl_tas("render", "-C", root).code == 0
    flat = [item for objects in units(root).values() for item in objects]
    lay_out(root, "sharded")
    assert kubectl_tas("render", "-C", root).code == 0
    sharded = [item for objects in units(root).values() for item in objects]
    assert sorted(sharded, key=identity) == sorted(flat, key=identity)
    assert len({path.rpartition("/")[2] for path in units(root)}) > 1


def test_work_lies_in_the_folder_of_its_pool(repository_of_case: Path) -> None:
    lay_out(repository_of_case, "sharded")
    assert kubectl_tas("render", "-C", repository_of_case).code == 0
    before_work = ("Queue", "Topology", "PriorityClass", "Namespace", "ClusterTopologyBinding")
    for folder, objects in units(repository_of_case).items():
        *_, parent, name = "", *folder.split("/")
        for item in objects:
            pool = item["metadata"].get("labels", {}).get("kubectl-tas/pool")
            if parent == "pools":
                assert item["kind"] not in before_work
                assert pool is None or pool.partition("--")[0] == name
            else:
                assert name == "platform"
                assert pool is None or item["kind"] in before_work


def test_there_and_back(repository_of_case: Path) -> None:
    """Nothing of the other layout is left, and what somebody else wrote stays."""
    root = repository_of_case
    foreign = {"own.yaml": "kind: ConfigMap\n", "queues/README.md": "Ours.\n"}
    write(output_of(root), foreign)
    seen = []
    for layout in ("flat", "sharded", "flat", "sharded"):
        lay_out(root, layout)
        assert kubectl_tas("check", "-C", root).code == 1
        result = kubectl_tas("render", "-C", root)
        assert result.code == 0, result.err
        assert kubectl_tas("check", "-C", root).out == ""
        found = contents(root)
        assert foreign.items() <= found.items()
        applied = {path for path in found if not path.endswith(KUSTOMIZATION) and "preview" not in path.split("/")}
        assert applied - foreign.keys() == {
            path for file in output_of(root).rglob(KUSTOMIZATION) for path in listed(file, output_of(root))
        }
        seen.append(found)
    assert seen[:2] == seen[2:]


def test_the_stream_is_the_same_in_both(repository_of_case: Path) -> None:
    arguments = ["--backend", name] if (name := next(iter(backends(repository_of_case)), None)) else []
    flat = kubectl_tas("render", "-C", repository_of_case, "--to", "-", *arguments)
    lay_out(repository_of_case, "sharded")
    sharded = kubectl_tas("render", "-C", repository_of_case, "--to", "-", *arguments)
    assert flat.out == sharded.out
    assert (flat.code, sharded.code) == (0, 0)


def backends(root: Path) -> list[str]:
    path = root / "tas.yaml"
    config = load(path) if path.exists() else {}
    return [item["name"] for item in config.get("spec", {}).get("backends", ())]


def test_one_backend_of_several(repository: Path) -> None:
    shutil.copytree(case_input(GOLDEN / "manifests/two-clusters"), repository, dirs_exist_ok=True)
    lay_out(repository, "sharded")
    first, second, *_ = backends(repository)
    assert kubectl_tas("render", "-C", repository, "--backend", first).code == 0
    assert {path.split("/")[0] for path in units(repository)} == {first}
    assert kubectl_tas("check", "-C", repository, "--backend", first).code == 0
    assert kubectl_tas("check", "-C", repository, "--backend", second).code == 1


def test_kustomize_builds_every_folder() -> None:
    """Also that of a pool without work, of which nothing comes."""
    manifests = GOLDEN / "manifests/layout-sharded/manifests"
    for name, objects in units(manifests.parent).items():
        built = call("kubectl", "kustomize", manifests / name)
        assert (built.code, built.err) == (0, "")
        found = [item for item in safe_load_all(built.out) if item]
        assert sorted(map(identity, found)) == sorted(map(identity, objects))
        assert bool(found) == (name != "pools/serving")
