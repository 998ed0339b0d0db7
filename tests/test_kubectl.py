"""Tests that the real kubectl finds the plugin, completes its words, and reads the rendered files."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.in_ci import IN_CI
from tests.support.process import SCRIPTS, call
from tests.support.pyyaml import safe_load, safe_load_all

KUBECTL = shutil.which("kubectl")
pytestmark = [
    pytest.mark.sweep,
    pytest.mark.skipif(KUBECTL is None and not IN_CI, reason="kubectl is not installed"),
]


@pytest.fixture
def small(repository: Path) -> Path:
    """The repository that ``init`` writes."""
    assert kubectl_tas("init", repository).code == 0
    return repository


def kubectl(*arguments: str | Path, cwd: Path | None = None) -> Result:
    """What the real kubectl prints and exits with."""
    return call("kubectl", *arguments, cwd=cwd)


def objects(stream: str) -> list[dict[str, Any]]:
    """The objects of a YAML stream."""
    return list(safe_load_all(stream))


def identities(items: Iterable[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """What tells objects of a cluster apart, sorted."""
    return sorted((item["apiVersion"], item["kind"], item["metadata"]["name"]) for item in items)


class TestPlugin:
    def test_help(self) -> None:
        result = kubectl("tas", "--help")
        assert result.code == 0
        assert result.out.startswith("Usage: kubectl tas [OPTIONS] COMMAND [ARGS]...\n")

    def test_help_of_a_command(self) -> None:
        assert kubectl("tas", "pool", "list", "--help").out.startswith(
            "Usage: kubectl tas pool list [OPTIONS] [NAME]...\n"
        )

    def test_is_listed(self) -> None:
        assert f"{SCRIPTS}/kubectl-tas\n" in kubectl("plugin", "list").out

    def test_directory_before_and_after_the_command(self, small: Path, tmp_path: Path) -> None:
        for arguments in (("-C", small, "validate"), ("validate", "-C", small)):
            result = kubectl("tas", *arguments, cwd=tmp_path)
            assert (result.code, result.out) == (0, "No problems found in 4 files.\n")

    def test_working_folder(self, small: Path) -> None:
        assert kubectl("tas", "validate", cwd=small / "pools").out == "No problems found in 4 files.\n"

    def test_problems_exit_1(self, small: Path) -> None:
        write(small, {"subpools/team--research.yaml": subpool("research", 65)})
        result = kubectl("tas", "validate", "-C", small)
        assert result.code == 1
        assert "subpools/team--research.yaml:7:10: error: " in result.out

    def test_differences_exit_1(self, small: Path) -> None:
        assert kubectl("tas", "check", "-C", small).code == 1

    def test_wrong_usage_exits_2(self, small: Path) -> None:
        result = kubectl("tas", "validate", "--wat", "-C", small)
        assert result.code == 2
        assert result.err.startswith("Usage: kubectl tas validate ")

    def test_no_repository_exits_3(self, tmp_path: Path) -> None:
        assert kubectl("tas", "validate", cwd=tmp_path).code == 3


class TestManifests:
    def test_kustomize_reads_every_object(self, small: Path) -> None:
        write(small, {"topologies/h100.yaml": CLUSTER_TOPOLOGY, "workflows/gang.yaml": GANG})
        assert kubectl("tas", "render", "-C", small).code == 0
        built = kubectl("kustomize", small / "manifests")
        assert (built.code, built.err) == (0, "")
        paths = [path for path in (small / "manifests").rglob("*.yaml") if path.name != "kustomization.yaml"]
        written = [safe_load(path.read_text()) for path in paths]
        assert identities(objects(built.out)) == identities(written)
        assert {item["kind"] for item in written} == {"PriorityClass", "Topology", "Queue", "PodGroup", "Pod"}

    def test_kustomize_changes_no_value(self, small: Path) -> None:
        """Words that YAML 1.1 reads as something else survive kustomize, which reads YAML 1.1."""
        write(small, {"workflows/odd.yaml": ODD})
        assert kubectl("tas", "render", "-C", small).code == 0
        built = objects(kubectl("kustomize", small / "manifests").out)
        pod = next(item for item in built if item["kind"] == "Pod" and item["metadata"]["name"].startswith("odd-"))
        environment = {item["name"]: item.get("value", "") for item in pod["spec"]["containers"][0]["env"]}
        assert environment == {**ODD_VALUES, "NVIDIA_VISIBLE_DEVICES": ""}  # it asks for no GPU

    def test_each_backend_is_a_kustomization(self, repository: Path) -> None:
        config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: east}, {name: west}]}\n"
        pools = {f"pools/{name}.yaml": pool(name, spec=f"  backend: {name}\n") for name in ("east", "west")}
        write(repository, {"tas.yaml": config, **pools})
        assert kubectl("tas", "render", "-C", repository).code == 0
        for name in ("east", "west"):
            stream = kubectl("tas", "render", "-C", repository, "--to", "-", "--backend", name).out
            built = objects(kubectl("kustomize", repository / "manifests" / name).out)
            assert identities(built) == identities(objects(stream))

    def test_stream(self, small: Path) -> None:
        result = kubectl("tas", "render", "-C", small, "--to", "-")
        assert (result.code, result.err) == (0, "")
        assert not (small / "manifests").exists()
        kinds = [item["kind"] for item in objects(result.out)]
        order = ["PriorityClass", "Topology", "Queue", "PodGroup", "Pod"]
        assert kinds == sorted(kinds, key=order.index)
        assert set(kinds) == set(order)


def test_completion(small: Path) -> None:
    """kubectl runs ``kubectl_complete-tas`` with the words after ``kubectl tas``, and hands on what it prints."""
    if version() < (1, 26):
        assert kubectl("__complete", "tas", "pool", "").code == 0  # an older kubectl does not ask plugins
        return
    for words in (["pool", "describe", "t"], ["rend"], ["validate", "w"], ["init", ""]):
        own = call("kubectl_complete-tas", *words, cwd=small).out
        assert kubectl("__complete", "tas", *words, cwd=small).out == own
    assert kubectl("__completeNoDesc", "tas", "pool", "describe", "t", cwd=small).out == "team\nteam--research\n:4\n"


def version() -> tuple[int, int]:
    """kubectl's own version."""
    client = safe_load(kubectl("version", "--client", "-o", "yaml").out)["clientVersion"]
    return int(client["major"]), int(client["minor"].rstrip("+"))


CLUSTER_TOPOLOGY = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: h100}
spec: {levels: [{domain: rack, key: example.com/rack}]}
"""
GANG = """\
workflow:
  name: gang
  pool: team
  priority: LOW
  groups:
  - name: g
    tasks:
    - {name: one, image: i, resource: near}
    - {name: two, image: i, resource: far}
resources:
  near: {gpu: 1, topology: [{key: gpu-clique, group: near}]}
  far: {gpu: 1, topology: [{key: gpu-clique, group: far}]}
"""
ODD_VALUES = {
    "WORD": "yes",
    "NORWAY": "no",
    "N": "n",
    "NULL": "null",
    "TILDE": "~",
    "OCTAL": "010",
    "OCTAL2": "0o10",
    "SEXAGESIMAL": "12:30:45",
    "FLOAT": "1e3",
    "UNDERSCORE": "1_000",
    "DATE": "2001-01-01",
    "LINES": "one\ntwo\n",
    "COLON": "a: b",
    "HASH": "a #b",
    "SPACES": "  a  ",
    "EMPTY": "",
    "TAB": "\t",
    "BACKSLASH": "\\n",
    "QUOTES": "'\"",
    "UNICODE": "é\u2028🚀",
}
ODD = yaml.safe_dump(
    {
        "workflow": {
            "name": "odd",
            "pool": "team",
            "priority": "LOW",
            "tasks": [{"name": "t", "image": "i", "environment": ODD_VALUES}],
        }
    },
    default_style='"',
    allow_unicode=True,
)
