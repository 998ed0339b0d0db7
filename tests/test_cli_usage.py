"""``topology usage``: who uses which topology, and the condition that Grove reports of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas
from tests.support.grove import (
    clique,
    clique_set,
    declare,
    live_set,
    live_topology,
    operator,
    rules,
    state,
    topology,
)

OVERVIEW = """\
gb200-topology            ml-team/inference-llama-405b
gb200-topology            ml-team/inference-mixtral
grove-topology (default)  default/simple-inference
grove-topology (default)  ml-team/inference-llama-70b
"""
"""Grove's own example of the overview."""


def example(folder: Path) -> Path:
    """A cluster with the sets of the overview."""
    return state(
        folder,
        live_set("inference-llama-70b", "zone", None, "ml-team"),
        live_set("simple-inference", "rack", None),
        live_set("inference-mixtral", "rack", "gb200-topology", "ml-team"),
        live_set("inference-llama-405b", "block", "gb200-topology", "ml-team"),
        live_topology("gb200-topology", "zone block rack host"),
        live_topology("grove-topology", "zone host"),
    )


def usage(root: Path, *arguments: str | Path) -> Any:
    """The same as data."""
    result = kubectl_tas("topology", "usage", "-C", root, "-o", "json", *arguments)
    return json.loads(result.out)


def conditions(root: Path, *arguments: str | Path) -> dict[str, tuple[str, str] | None]:
    """Status and reason of the condition of each set."""
    found = usage(root, *arguments)["podCliqueSets"]
    return {item["name"]: (c["status"], c["reason"]) if (c := item["condition"]) else None for item in found}


def test_the_overview_of_a_cluster(repository: Path, tmp_path: Path) -> None:
    root = declare(repository)
    result = kubectl_tas("topology", "usage", "-C", root, "--cluster-state", example(tmp_path))
    assert (result.code, result.out) == (0, OVERVIEW)


def test_the_sets_of_one_namespace(repository: Path, tmp_path: Path) -> None:
    root = declare(repository)
    result = kubectl_tas("topology", "usage", "-C", root, "--cluster-state", example(tmp_path), "-n", "default")
    assert (result.code, result.out) == (0, "grove-topology (default)  default/simple-inference\n")


def test_the_overview_of_the_repository(repository: Path) -> None:
    root = declare(
        repository,
        operator(),
        topology("racks"),
        clique_set("rack", name="named", named="racks"),
        clique_set("{topologyName: racks, pack: {required: rack}}", name="later"),
        clique_set("rack", name="default"),
        clique_set("rack", name="explicit", named="grove-topology"),
        clique_set(name="free"),
    )
    result = kubectl_tas("topology", "usage", "-C", root)
    assert result.code == 0
    assert result.out == (
        "grove-topology            default/explicit\n"
        "grove-topology (default)  default/default\n"
        "racks                     default/later\n"
        "racks                     default/named\n"
        "-                         default/free\n"
    )


def test_as_data(repository: Path, tmp_path: Path) -> None:
    root = declare(repository, operator(), clique_set("rack"))
    found = usage(root)
    assert (found["version"], found["from"]) == (1, "repository")
    assert found["podCliqueSets"] == [
        {
            "namespace": "default",
            "name": "chat",
            "topology": "grove-topology",
            "default": True,
            "condition": {
                "type": "TopologyLevelsUnavailable",
                "status": "False",
                "reason": "AllClusterTopologyLevelsAvailable",
                "missing": [],
            },
        }
    ]
    assert usage(root, "--cluster-state", example(tmp_path))["from"] == "cluster"


class TestConditions:
    def test_unknown_where_the_topology_is_gone(self, repository: Path, tmp_path: Path) -> None:
        found = conditions(declare(repository), "--cluster-state", state(tmp_path, live_set(named="old")))
        assert found == {"chat": ("Unknown", "ClusterTopologyNotFound")}

    def test_true_where_a_level_is_gone(self, repository: Path, tmp_path: Path) -> None:
        file = state(tmp_path, live_set(asked="rack"), live_topology("racks", "zone host"))
        found = conditions(declare(repository), "--cluster-state", file)
        assert found == {"chat": ("True", "ClusterTopologyLevelsUnavailable")}
        assert usage(repository, "--cluster-state", file)["podCliqueSets"][0]["condition"]["missing"] == ["rack"]

    def test_false_where_all_levels_are_there(self, repository: Path, tmp_path: Path) -> None:
        file = state(tmp_path, live_set(asked="rack"), live_topology())
        found = conditions(declare(repository), "--cluster-state", file)
        assert found == {"chat": ("False", "AllClusterTopologyLevelsAvailable")}

    def test_none_where_no_topology_applies(self, repository: Path, tmp_path: Path) -> None:
        file = state(tmp_path, live_set(asked=None, named=None))
        assert conditions(declare(repository), "--cluster-state", file) == {"chat": None}

    def test_of_the_repository(self, repository: Path) -> None:
        root = declare(
            repository,
            topology("racks"),
            clique_set("rack", name="a", named="racks"),
            clique_set("block", name="b", named="racks"),
            clique_set("zone", name="c"),
        )
        assert conditions(root) == {
            "a": ("False", "AllClusterTopologyLevelsAvailable"),
            "b": ("True", "ClusterTopologyLevelsUnavailable"),
            "c": ("Unknown", "ClusterTopologyNotFound"),
        }

    def test_check_fails_where_levels_are_unavailable(self, repository: Path, tmp_path: Path) -> None:
        root = declare(repository, topology())
        good = state(tmp_path, live_set(), live_topology())
        result = kubectl_tas("topology", "usage", "-C", root, "--check", "--cluster-state", good)
        assert result.code == 0
        assert "AllClusterTopologyLevelsAvailable" in result.out
        bad = state(tmp_path, live_set(named="old"), live_topology())
        result = kubectl_tas("topology", "usage", "-C", root, "--check", "--cluster-state", bad)
        assert result.code == 1
        assert "ClusterTopologyNotFound" in result.out


class TestDrift:
    def test_check_shows_topologies_that_differ(self, repository: Path, tmp_path: Path) -> None:
        root = declare(repository, topology("racks"), topology("only-here"))
        file = state(tmp_path, live_topology("racks", "zone host"), live_topology("only-there"), live_set(asked="zone"))
        result = kubectl_tas("topology", "usage", "-C", root, "--check", "--cluster-state", file)
        assert result.code == 1
        lines = result.out.split("\n\n")[1].splitlines()
        assert [line.split()[0] for line in lines] == ["TOPOLOGY", "only-here", "only-there", "racks"]
        found = usage(root, "--cluster-state", file)["differences"]
        assert [item["topology"] for item in found] == ["only-here", "only-there", "racks"]
        assert found[0]["cluster"] is None
        assert found[1]["repository"] is None
        assert [level["domain"] for level in found[2]["cluster"]] == ["zone", "host"]

    def test_validate_finds_it_too(self, repository: Path, tmp_path: Path) -> None:
        root = declare(repository, topology("racks"), clique_set("rack", named="racks"))
        file = state(tmp_path, live_topology("racks", "zone host"), live_set())
        assert rules(root) == []
        assert sorted(rules(root, "--cluster-state", file)) == ["set-levels-unavailable", "topology-drift"]


class TestCluster:
    @pytest.fixture
    def kubectl(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A folder with what kubectl answers, by resource; what is not there it does not know."""
        answers = tmp_path / "answers"
        answers.mkdir()
        program = tmp_path / "kubectl"
        program.write_text(
            "#!/bin/sh\n"
            f'echo "$@" >> {answers}/calls\n'
            'while [ "$1" != get ]; do shift; done\n'
            f"cat {answers}/$2 2>/dev/null && exit\n"
            'echo "error: the server doesn\'t have a resource type \\"$2\\"" >&2; exit 1\n'
        )
        program.chmod(0o755)
        monkeypatch.setenv("KUBECTL_PATH", str(program))
        return answers

    def answer(self, folder: Path, resource: str, *items: dict[str, Any]) -> None:
        state(folder, *items).replace(folder / f"{resource}.grove.io")

    @pytest.mark.parametrize("kind", ["clustertopologies", "clustertopologybindings"])
    def test_sets_and_topologies_are_read(self, repository: Path, kubectl: Path, kind: str) -> None:
        self.answer(kubectl, "podcliquesets", live_set())
        self.answer(kubectl, "podcliques")
        self.answer(kubectl, kind, live_topology())
        result = kubectl_tas("topology", "usage", "-C", declare(repository), "--context", "prod")
        assert (result.code, result.out) == (0, "racks  default/chat\n")
        calls = (kubectl / "calls").read_text().splitlines()
        assert calls[0] == "--context prod get podcliquesets.grove.io -A -o json"
        assert all(call.startswith("--context prod get ") for call in calls)

    def test_without_grove(self, repository: Path, kubectl: Path) -> None:
        result = kubectl_tas("topology", "usage", "-C", declare(repository), "--live")
        assert result.code == 3
        assert "the cluster has no podcliquesets.grove.io: Grove's CustomResourceDefinitions" in result.err

    def test_a_repository_without_grove_does_not_ask_for_it(self, repository: Path, kubectl: Path) -> None:
        assert rules(declare(repository), "--live") == []
        assert not (kubectl / "calls").exists()

    @pytest.mark.parametrize(
        "item",
        [
            {"kind": "PodCliqueSet", "metadata": {"name": "x"}, "spec": {}},
            {"kind": "ClusterTopology", "metadata": {"name": "x"}, "spec": {}},
            {"kind": "ClusterTopology", "metadata": {"name": "x"}, "spec": {"levels": [1]}},
            {**live_set(), "metadata": None},
        ],
    )
    def test_what_cannot_be_read(self, repository: Path, tmp_path: Path, item: dict[str, Any]) -> None:
        file = state(tmp_path, item)
        result = kubectl_tas("topology", "usage", "-C", declare(repository), "--cluster-state", file)
        assert result.code == 3
        assert "cannot be read" in result.err


def test_admit_judges_a_set(repository: Path, tmp_path: Path) -> None:
    root = declare(repository, guarantee=8)
    file = tmp_path / "set.yaml"
    file.write_text(clique_set(None, clique(replicas=2, gpus=8), labels="{kubectl-tas/pool: other}"))
    result = kubectl_tas("admit", file, "-C", root, "--pool", "team", "-o", "json")
    (verdict,) = json.loads(result.out)["workflows"]
    assert (verdict["pool"], verdict["asks"], verdict["verdict"]) == ("team", 16, "unschedulable")
