"""Tests ``topology usage``: the users of topologies, and the conditions that Grove reports about them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.live.cliquesets import from_file
from tests.support.cli import kubectl_tas, pool, write
from tests.support.golden import EXAMPLES
from tests.support.grove import (
    KEYS,
    binding,
    clique,
    clique_set,
    declare,
    findings,
    job,
    live_clique,
    live_set,
    live_topology,
    of,
    operator,
    pod_group,
    rules,
    state,
    topology,
    two_clusters,
)
from tests.support.history import commit
from tests.support.kubectl import node

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
            "backend": None,
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


def test_sets_of_two_clusters(repository: Path) -> None:
    root = two_clusters(repository, topology(), *(clique_set("rack", named="racks", labels=of(x)) for x in "ab"))
    assert kubectl_tas("topology", "usage", "-C", root).out == "racks  a/default/chat\nracks  b/default/chat\n"
    assert [item["backend"] for item in usage(root)["podCliqueSets"]] == ["a", "b"]


def test_clusters_are_told_apart(repository: Path, tmp_path: Path) -> None:
    root = two_clusters(repository, topology())
    nodes = [node(name, 8, **dict.fromkeys(KEYS.values(), name)) for name in "xy"]
    files = [state(tmp_path, live_set(), live_topology(), *nodes).rename(tmp_path / name) for name in "ab"]
    asked = [f"--cluster-state={file.name}={file}" for file in files]
    found = usage(root, *asked)
    assert [item["backend"] for item in found["podCliqueSets"]] == ["a", "b"]
    assert [item["backend"] for item in found["nodes"]] == ["a", "b"]
    assert usage(root, asked[1], "--backend", "b")["podCliqueSets"][0]["backend"] == "b"


def test_pods_of_cliques_that_have_not_started_are_not_known(tmp_path: Path) -> None:
    """One that Grove has not counted makes the sum unknown, whatever others have."""
    waiting = live_clique(0)
    waiting["status"] = None
    for cliques, pods in (
        ([live_clique(2), live_clique(3)], 5),
        ([live_clique(2), waiting], None),
        ([waiting, live_clique(2)], None),
    ):
        assert from_file(str(state(tmp_path, *cliques))).pods == {("default", "chat"): pods}


@pytest.mark.parametrize("number", [-1, 2**31, "2"])
def test_numbers_of_pods_that_are_none(number: object, tmp_path: Path) -> None:
    clique = {**live_clique(0), "status": {"scheduledReplicas": number}}
    with pytest.raises(
        TasError, match=r"a PodClique of the cluster cannot be read: default/chat-0-server: .* not a number of pods"
    ):
        from_file(str(state(tmp_path, clique)))


class TestConditions:
    @pytest.mark.parametrize("part", ["cliques", "podCliqueScalingGroups"])
    def test_what_a_part_asks_for_counts_too(self, part: str, repository: Path, tmp_path: Path) -> None:
        live = live_set(asked="zone")
        asks = {"name": "x", "topologyConstraint": {"packDomain": "block"}}
        live["spec"]["template"].setdefault(part, []).append(asks)
        found = conditions(declare(repository), "--cluster-state", state(tmp_path, live, live_topology()))
        assert found == {"chat": ("True", "ClusterTopologyLevelsUnavailable")}

    def test_unknown_where_the_topology_is_gone(self, repository: Path, tmp_path: Path) -> None:
        found = conditions(
            declare(repository), "--cluster-state", state(tmp_path, live_set(named="old"), live_topology())
        )
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

    @pytest.mark.parametrize(
        ("items", "arguments", "lacking"),
        [
            ([live_topology()], [], "PodCliqueSets"),
            ([live_clique(0)], [], "PodCliqueSets"),
            ([live_clique(0)], ["-n", "default"], "PodCliqueSets"),
            ([live_set()], ["--check"], "cluster topologies"),
            ([live_set()], [], None),
        ],
    )
    def test_what_the_file_does_not_tell_is_not_guessed(
        self, repository: Path, tmp_path: Path, items: list[dict[str, Any]], arguments: list[str], lacking: str | None
    ) -> None:
        file = state(tmp_path, *items)
        result = kubectl_tas("topology", "usage", "-C", declare(repository), "--cluster-state", file, *arguments)
        assert result.code == (3 if lacking else 0)
        assert f"the file has no {lacking}" in result.err if lacking else result.out == "racks  default/chat\n"

    @pytest.mark.parametrize("command", [["topology", "usage"], ["validate"], ["pool", "list"]])
    @pytest.mark.parametrize("broken", ['{"items": [{"kind": []}]}', '{"items": [{"kind": {}}]}'])
    def test_kinds_that_are_no_text(self, repository: Path, tmp_path: Path, command: list[str], broken: str) -> None:
        file = tmp_path / "broken.json"
        file.write_text(broken)
        result = kubectl_tas(*command, "-C", declare(repository, topology()), "--cluster-state", file)
        assert "bug" not in result.err

    def test_numbers_that_are_none(self, repository: Path, tmp_path: Path) -> None:
        file = state(tmp_path, live_set(), live_clique(0))
        file.write_text(file.read_text().replace('"scheduledReplicas": 0', '"scheduledReplicas": 1e999'))
        result = kubectl_tas("topology", "usage", "-C", declare(repository), "--cluster-state", file)
        assert result.code == 3
        assert "a PodClique of the cluster cannot be read: default/chat-0-server: " in result.err

    def test_check_fails_where_levels_are_unavailable(self, repository: Path, tmp_path: Path) -> None:
        root = declare(repository, topology())
        good = state(tmp_path, live_set(), live_topology())
        result = kubectl_tas("topology", "usage", "-C", root, "--check", "--cluster-state", good)
        assert result.code == 0
        assert "AllClusterTopologyLevelsAvailable" in result.out
        assert result.out.splitlines()[0].split() == [
            *("TOPOLOGY", "PODCLIQUESET", "ALL", "LEVELS", "AVAILABLE", "REASON", "MISSING"),
        ]
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
        sets, lines = result.out.split("\n\n")
        assert [re.split(" {2,}", line) for line in sets.splitlines()] == [
            ["TOPOLOGY", "PODCLIQUESET", "ALL LEVELS AVAILABLE", "REASON", "MISSING"],
            ["racks", "default/chat", "yes", "AllClusterTopologyLevelsAvailable", "-"],
        ]
        some, every = (
            " > ".join(f"{domain} ({KEYS[domain]})" for domain in domains.split())
            for domains in ("zone host", "zone rack host")
        )
        assert [re.split(" {2,}", line) for line in lines.splitlines()] == [
            ["TOPOLOGY", "IN THE REPOSITORY", "IN THE CLUSTER"],
            ["only-here", every, "-"],
            ["only-there", "-", every],
            ["racks", every, some],
        ]
        few, all_ = (
            [{"domain": domain, "key": KEYS[domain]} for domain in domains.split()]
            for domains in ("zone host", "zone rack host")
        )
        assert usage(root, "--cluster-state", file)["differences"] == [
            {"backend": None, "topology": "only-here", "repository": all_, "cluster": None},
            {"backend": None, "topology": "only-there", "repository": None, "cluster": all_},
            {"backend": None, "topology": "racks", "repository": all_, "cluster": few},
        ]

    def test_data_are_followed_by_no_table(self, repository: Path, tmp_path: Path) -> None:
        root = declare(repository, topology("racks"))
        file = state(tmp_path, live_topology("racks", "zone host"), live_set(asked="zone"))
        result = kubectl_tas("topology", "usage", "-C", root, "--check", "-o", "json", "--cluster-state", file)
        assert (result.code, len(json.loads(result.out)["differences"])) == (1, 1)

    def test_a_file_may_have_topologies_under_their_later_name(self, repository: Path, tmp_path: Path) -> None:
        later = {**live_topology("racks", "zone host"), "kind": "ClusterTopologyBinding"}
        found = usage(declare(repository, topology("racks")), "--cluster-state", state(tmp_path, later, live_set()))
        (difference,) = found["differences"]
        assert [level["domain"] for level in difference["cluster"]] == ["zone", "host"]

    def test_validate_finds_it_too(self, repository: Path, tmp_path: Path) -> None:
        root = declare(repository, topology("racks"), clique_set("rack", named="racks"))
        file = state(tmp_path, live_topology("racks", "zone host"), live_set())
        assert rules(root) == []
        assert sorted(rules(root, "--cluster-state", file)) == ["set-levels-unavailable", "topology-drift"]

    @pytest.mark.parametrize(("backend", "file"), [("a", 1), ("b", 2)])
    def test_a_set_of_two_clusters(self, repository: Path, tmp_path: Path, backend: str, file: int) -> None:
        live = state(tmp_path, live_topology("racks", "zone host"), live_set())
        sets = [clique_set("zone", named="racks", labels=of(x)) for x in "ab"]
        root = two_clusters(repository, topology("racks", "zone host"), *sets)
        result = kubectl_tas("validate", "-C", root, "--cluster-state", f"{backend}={live}")
        assert result.out.startswith(
            f"workflows/{file}.yaml:4:9: warning: TopologyLevelsUnavailable is True for the set"
        )
        assert f"of the cluster {backend} (" in result.out

    def test_validate_tells_what_is_on_one_side_only(self, repository: Path, tmp_path: Path) -> None:
        root = declare(repository, topology("racks"))
        assert rules(root, "--cluster-state", state(tmp_path, live_topology())) == []
        for name in ("racks", "other"):
            found = [message for _, message in findings(root, "--cluster-state", state(tmp_path, live_topology(name)))]
            assert found == (
                []
                if name == "racks"
                else [
                    'the cluster topology "other" is in the cluster, but not in this repository',
                    'the cluster topology "racks" is not in the cluster',
                ]
            )

    def test_what_the_operator_left_behind(self, repository: Path, tmp_path: Path) -> None:
        """The default topology counts as declared elsewhere, unless the operator's configuration is here."""
        file = state(tmp_path, live_topology("grove-topology"))
        found = findings(declare(repository, topology()), "--cluster-state", file)
        assert found == [("topology-undeployed", 'the cluster topology "racks" is not in the cluster')]
        root = declare(repository, operator(enabled=False))
        result = kubectl_tas("validate", "-C", root, "--cluster-state", file)
        assert 'the cluster topology "grove-topology" is in the cluster, but not in this repository' in result.out
        assert "Grove's operator deletes it when it starts with topologyAwareScheduling disabled." in result.out

    def test_without_sets_no_topology_is_needed(self, repository: Path, tmp_path: Path) -> None:
        file = state(tmp_path, live_set(namespace="elsewhere"))
        arguments = ("topology", "usage", "--check", "-C", declare(repository), "--cluster-state", file)
        assert kubectl_tas(*arguments).code == 3
        assert kubectl_tas(*arguments, "--namespace", "default").code == 0

    def test_a_file_without_topologies_says_nothing_of_them(self, repository: Path, tmp_path: Path) -> None:
        root = declare(repository, topology("racks"), clique_set("rack", named="racks"))
        assert rules(root, "--cluster-state", state(tmp_path, live_set())) == []


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
        nodes = [node(name, 1000, **dict.fromkeys(KEYS.values(), name)) for name in "ab"]
        (answers / "nodes").write_text(json.dumps({"items": nodes}))
        for resource in ("queues.scheduling.run.ai", "podgroups.scheduling.run.ai", "pods"):
            (answers / resource).write_text('{"items": []}')
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
        assert calls[0] == "--context=prod --request-timeout=30s get podcliquesets.grove.io -A -o json"
        assert all(call.startswith("--context=prod --request-timeout=30s get ") for call in calls)

    def test_topologies_under_both_names_are_read(self, repository: Path, kubectl: Path) -> None:
        """An update of Grove leaves the definition of the earlier name behind."""
        self.answer(kubectl, "podcliquesets", live_set())
        self.answer(kubectl, "podcliques")
        self.answer(kubectl, "clustertopologies")
        self.answer(kubectl, "clustertopologybindings", live_topology())
        root = declare(repository, topology(), clique_set("rack", named="racks"))
        assert conditions(root, "--live") == {"chat": ("False", "AllClusterTopologyLevelsAvailable")}
        assert rules(root, "--live") == []

    def test_a_cluster_that_answers_with_nothing_has_nothing(self, repository: Path, kubectl: Path) -> None:
        """No PodClique means that no pod is scheduled; of a file that holds none nobody knows."""
        root = declare(repository, topology(), topology("other"), clique_set("rack", named="racks"))
        commit(root)
        declare(root, topology(), topology("other"), clique_set("rack", named="other"))
        self.answer(kubectl, "podcliquesets", live_set())
        self.answer(kubectl, "podcliques")
        self.answer(kubectl, "clustertopologies", live_topology(), live_topology("other"))
        assert rules(root, "--base", "HEAD", "--live") == []
        self.answer(kubectl, "podcliques", live_clique(1))
        assert rules(root, "--base", "HEAD", "--live") == ["set-reference-locked"]

    def test_topologies_alone_do_not_need_grove(self, repository: Path, kubectl: Path) -> None:
        assert rules(declare(repository, topology()), "--live") == []
        result = kubectl_tas("validate", "-C", declare(repository, topology(), clique_set()), "--live")
        assert result.code == 3

    def test_one_namespace(self, repository: Path, kubectl: Path) -> None:
        """Of sets in other namespaces nothing is known then."""
        root = declare(repository, topology(), topology("other"), clique_set("rack", named="racks"))
        commit(root)
        declare(root, topology(), topology("other"), clique_set("rack", named="other"))
        self.answer(kubectl, "podcliquesets")
        self.answer(kubectl, "podcliques")
        self.answer(kubectl, "clustertopologies", live_topology(), live_topology("other"))
        assert rules(root, "--base", "HEAD", "--live", "-n", "default") == []
        assert rules(root, "--base", "HEAD", "--live", "-n", "elsewhere") == ["set-reference-changed"]
        calls = (kubectl / "calls").read_text()
        assert "get podcliquesets.grove.io --namespace=elsewhere -o json" in calls
        assert " -A " not in calls
        result = kubectl_tas("topology", "usage", "-C", root, "--live", "-n", "elsewhere")
        assert "The namespace elsewhere has no PodCliqueSets." in result.err

    def test_without_grove(self, repository: Path, kubectl: Path) -> None:
        result = kubectl_tas("topology", "usage", "-C", declare(repository), "--live")
        assert result.code == 3
        missing = "the cluster has no podcliquesets.grove.io: Grove's CustomResourceDefinitions"
        assert missing in result.err
        (kubectl / "nodes").unlink()
        result = kubectl_tas("topology", "usage", "-C", declare(repository, topology()), "--live")
        assert (result.code, missing in result.err, "not counted" in result.err) == (3, True, False)

    def test_without_topologies(self, repository: Path, kubectl: Path) -> None:
        """A Grove without their definition is broken; one that has none may be as it is meant."""
        self.answer(kubectl, "podcliquesets", live_set())
        self.answer(kubectl, "podcliques")
        root = declare(repository)
        result = kubectl_tas("topology", "usage", "-C", root, "--live", "--check")
        assert (result.code, "the cluster has no clustertopologies.grove.io" in result.err) == (3, True)
        self.answer(kubectl, "clustertopologies")
        assert conditions(root, "--live", "--check") == {"chat": ("Unknown", "ClusterTopologyNotFound")}

    def test_without_sets(self, repository: Path, kubectl: Path) -> None:
        for resource in ("podcliquesets", "podcliques", "clustertopologies"):
            self.answer(kubectl, resource)
        result = kubectl_tas("topology", "usage", "-C", declare(repository), "--live")
        assert (result.code, result.out, result.err) == (0, "", "The cluster has no PodCliqueSets.\n")

    def test_nodes_may_be_hidden(self, repository: Path, kubectl: Path) -> None:
        self.answer(kubectl, "podcliquesets", live_set())
        self.answer(kubectl, "podcliques")
        self.answer(kubectl, "clustertopologies", live_topology())
        (kubectl / "nodes").unlink()
        result = kubectl_tas("topology", "usage", "-C", declare(repository, topology()), "--live")
        assert (result.code, result.out) == (0, "racks  default/chat\n")
        assert result.err.startswith("The nodes are not counted: the cluster has no nodes")

    def test_nodes_of_a_file_are_read_or_it_fails(self, repository: Path, tmp_path: Path) -> None:
        file = state(tmp_path, live_set(), live_topology(), {"kind": "Node"})
        result = kubectl_tas("topology", "usage", "-C", declare(repository, topology()), "--cluster-state", file)
        assert (result.code, "a Node of the cluster cannot be read" in result.err) == (3, True)

    def test_a_file_is_read_even_where_nothing_is_asked_of_it(self, repository: Path) -> None:
        result = kubectl_tas("validate", "-C", declare(repository), "--cluster-state", repository / "nothing.json")
        assert result.code == 3
        assert "cannot read" in result.err

    def test_a_repository_without_grove_does_not_ask_for_it(self, repository: Path, kubectl: Path) -> None:
        assert rules(declare(repository), "--live") == []
        assert "grove.io" not in (kubectl / "calls").read_text()

    def test_what_is_not_known_here_is_no_obstacle(self, repository: Path, tmp_path: Path) -> None:
        later = live_set(asked="row")
        later["spec"]["template"]["topologyConstraint"]["pack"] = {"required": None, "spread": "zone"}
        found = conditions(declare(repository), "--cluster-state", state(tmp_path, later, live_topology()))
        assert found == {"chat": ("True", "ClusterTopologyLevelsUnavailable")}

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
        named = "x" if item["metadata"] else "without a name"
        assert f"a {item['kind']} of the cluster cannot be read: {named}: " in result.err


def test_admit_judges_a_set(repository: Path, tmp_path: Path) -> None:
    root = declare(repository, guarantee=8)
    file = tmp_path / "set.yaml"
    file.write_text(clique_set(None, clique(replicas=2, gpus=8), labels="{kubectl-tas/pool: other}"))
    result = kubectl_tas("admit", file, "-C", root, "--pool", "team", "-o", "json")
    (verdict,) = json.loads(result.out)["workflows"]
    assert (verdict["pool"], verdict["asks"], verdict["verdict"]) == ("team", 16, "unschedulable")


class TestDescribe:
    def test_a_cluster_topology(self, repository: Path) -> None:
        sets = [clique_set(asked, name=asked, named="racks") for asked in ("rack", "block")]
        root = declare(repository, topology(spec=binding()), *sets)
        assert kubectl_tas("topology", "describe", "racks", "-C", root).out == (
            "Name:      racks\n"
            "Kind:      ClusterTopologyBinding\n"
            "File:      topologies/0.yaml\n"
            "Topology:  by-hand on backend default, which exists already\n"
            "\n"
            "Levels:\n"
            "  DOMAIN  LABEL\n"
            "  zone    topology.kubernetes.io/zone\n"
            "  rack    example.com/rack\n"
            "  host    kubernetes.io/hostname\n"
            "\n"
            "Pools: none\n"
            "\n"
            "Placed work: none\n"
            "\n"
            "PodCliqueSets:\n"
            "  NAME           ALL LEVELS AVAILABLE\n"
            "  default/block  no (it lacks block)\n"
            "  default/rack   yes\n"
        )

    @pytest.mark.parametrize(
        ("config", "operator_more", "shown"),
        [
            ("{version: '0.17'}", "", "racks on backend default, rendered here"),
            ("{version: '0.8'}", "", "none on backend default, which has no KAI Scheduler with topologies"),
            (
                "{version: '0.17'}",
                "scheduler: {profiles: [{name: kai-scheduler, config: {createTopologyResources: false}}]}\n",
                "racks on backend default, not rendered: createTopologyResources is false",
            ),
        ],
    )
    def test_what_becomes_of_it(self, repository: Path, config: str, operator_more: str, shown: str) -> None:
        root = declare(repository, topology(), operator(more=operator_more))
        spec = f"spec: {{backends: [{{name: default, scheduler: {config}}}]}}"
        (root / "tas.yaml").write_text(f"apiVersion: tas/v1alpha1\nkind: Config\n{spec}\n")
        assert f"Topology:  {shown}\n" in kubectl_tas("topology", "describe", "racks", "-C", root).out

    @pytest.mark.parametrize(
        ("release", "shown"),
        [("v0.1.0-alpha.8", "not rendered: Grove 0.1.0-alpha.8 makes it"), ("v0.1.0-alpha.9", "rendered here")],
    )
    def test_an_early_grove_makes_the_topology_of_its_configuration(
        self, repository: Path, release: str, shown: str
    ) -> None:
        root = declare(repository, operator())
        spec = f"spec: {{backends: [{{name: default, grove: {{version: {release[1:]}}}}}]}}"
        (root / "tas.yaml").write_text(f"apiVersion: tas/v1alpha1\nkind: Config\n{spec}\n")
        page = kubectl_tas("topology", "describe", "grove-topology", "-C", root).out
        assert f"Topology:  grove-topology on backend default, {shown}\n" in page

    def test_a_pools_own(self, repository: Path) -> None:
        root = declare(repository)
        with (root / "pools/team.yaml").open("a") as file:
            file.write("  topology_keys:\n  - {key: rack, label: example.com/rack}\n")
        name = "osmo-pool-default-team-topology"
        shown = kubectl_tas("topology", "describe", name, "-C", root).out
        assert "Kind:      Pool\n" in shown
        assert "  KEY   LABEL\n  rack  example.com/rack\n" in shown
        assert "Pools:\n  NAME  BACKEND\n  team  default\n" in shown
        assert "PodCliqueSets" not in shown

    def test_work_that_is_placed(self, repository: Path) -> None:
        placed = job("rack")
        free = placed.replace("sweep", "free").replace("kai.scheduler/topology-required-placement: rack", "a: b")
        root = declare(repository, topology(), topology("other"), placed, free, pod_group("rack"))
        queue = "osmo-pool-default-team--shared"
        shown = kubectl_tas("topology", "describe", "racks", "-C", root).out
        table = f"  NAME              QUEUE\n  Job sweep         {queue}\n  PodGroup by-hand  {queue}\n"
        assert f"Placed work:\n{table}\n" in shown
        assert "Placed work: none\n" in kubectl_tas("topology", "describe", "other", "-C", root).out

    def test_sets_of_two_clusters(self, repository: Path) -> None:
        root = two_clusters(repository, topology(), *(clique_set("rack", named="racks", labels=of(x)) for x in "ab"))
        shown = kubectl_tas("topology", "describe", "racks", "-C", root).out
        assert "a/default/chat  yes\n  b/default/chat  yes\n" in shown
        assert "a/default/chat, b/default/chat" in kubectl_tas("topology", "list", "-C", root).out

    def test_an_unknown_name(self, repository: Path) -> None:
        result = kubectl_tas("topology", "describe", "rack", "-C", declare(repository, topology()))
        assert result.code == 2
        assert 'no topology "rack"; did you mean "racks"?' in result.err


def test_the_list_shows_who_uses_a_topology(repository: Path) -> None:
    root = declare(repository, topology(), clique_set("rack", named="racks"))
    lines = kubectl_tas("topology", "list", "-C", root).out.splitlines()
    assert [line.split() for line in lines] == [
        ["NAME", "FROM", "LEVELS", "POOLS", "PODCLIQUESETS"],
        ["racks", "ClusterTopology", "zone", ">", "rack", ">", "host", "-", "default/chat"],
    ]
    listed = json.loads(kubectl_tas("topology", "list", "-C", root, "-o", "json").out)
    assert listed["topologies"][0]["podCliqueSets"] == ["default/chat"]


class TestNodes:
    """A node that lacks the label of any level is outside of the whole Topology."""

    @pytest.mark.parametrize(
        ("nodes", "pool_name"),
        [
            ("single-rack", "single-rack"),
            ("two-racks", "two-racks"),
            ("zones", "zones"),
            ("spines", "spines"),
            ("spines-apart", "spines"),
        ],
    )
    def test_each_example_has_all_its_nodes(self, nodes: str, pool_name: str) -> None:
        root = EXAMPLES / "use-cases"
        arguments = ("topology", "usage", "-o", "json", "--cluster-state", root / f"nodes/{nodes}.json", "-C", root)
        found = {item["topology"]: item for item in json.loads(kubectl_tas(*arguments).out)["nodes"]}
        own = found[f"osmo-pool-osmo-{pool_name}-topology"]
        assert (own["outside"], own["missing"]) == ([], [])
        assert own["nodes"] == (12 if nodes == "zones" else 8)
        if pool_name != "zones":
            assert len(found["osmo-pool-osmo-zones-topology"]["outside"]) == 8

    @pytest.fixture
    def zoned(self, repository: Path) -> Path:
        keys = "  topology_keys: [{key: zone, label: z}, {key: rack, label: r}]\n"
        return write(repository, {"pools/p.yaml": pool(spec=keys)})

    def node(self, name: str, *labels: str) -> dict[str, Any]:
        return {"kind": "Node", "metadata": {"name": name, "labels": dict.fromkeys(labels, "x")}}

    def test_those_outside_are_counted_and_named(self, zoned: Path, tmp_path: Path) -> None:
        both = [self.node(f"n{number}", "r") for number in range(7)]
        file = state(tmp_path, self.node("whole", "z", "r"), self.node("bare"), *both)
        result = kubectl_tas("topology", "usage", "-C", zoned, "--cluster-state", file)
        assert result.code == 0
        assert result.out == (
            "TOPOLOGY                         NODES OUTSIDE  LEVEL     NODES WITHOUT ITS LABEL\n"
            "osmo-pool-default-team-topology  8 of 9         zone (z)  bare, n0, n1, n2, n3 and 3 more\n"
            "                                                rack (r)  bare\n"
        )
        bare = [f"n{number}" for number in range(7)]
        assert usage(zoned, "--cluster-state", file)["nodes"] == [
            {
                "backend": None,
                "topology": "osmo-pool-default-team-topology",
                "nodes": 9,
                "outside": ["bare", *bare],
                "missing": [
                    {"key": "zone", "label": "z", "nodes": ["bare", *bare]},
                    {"key": "rack", "label": "r", "nodes": ["bare"]},
                ],
            }
        ]

    def test_of_a_cluster_without_grove(self, zoned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        state(tmp_path, self.node("whole", "z", "r")).replace(tmp_path / "nodes")
        program = tmp_path / "kubectl"
        missing = "error: the server doesn't have a resource type"
        nodes = f'*"get nodes -o json") cat {tmp_path}/nodes ;;'
        program.write_text(f'#!/bin/sh\ncase "$*" in {nodes} *) echo "{missing}" >&2; exit 1 ;; esac\n')
        program.chmod(0o755)
        monkeypatch.setenv("KUBECTL_PATH", str(program))
        result = kubectl_tas("topology", "usage", "-C", zoned, "--live")
        assert (result.code, result.err) == (0, "")
        assert "0 of 1" in result.out

    @pytest.mark.parametrize(
        "metadata", [None, {}, {"name": ""}, {"name": "n", "labels": 1}, {"name": "n", "labels": {"": ""}}]
    )
    def test_what_is_no_node(self, zoned: Path, tmp_path: Path, metadata: object) -> None:
        file = state(tmp_path, {"kind": "Node", "metadata": metadata}, live_set(), live_topology())
        result = kubectl_tas("topology", "usage", "-C", zoned, "--cluster-state", file)
        assert "a Node of the cluster cannot be read: " in result.err
        assert result.code == 3
