"""Tests the gangs that authors write: of a PodGroup, and of every replica of a PodCliqueSet with their constraints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_tas.gangs.admission import Admission
from kubectl_tas.gangs.gang import Constraint, Gang
from kubectl_tas.gangs.summary import Request
from kubectl_tas.gangs.written_gangs import gang_of_pod_group, gangs_of_set
from kubectl_tas.load.loading import load_repository
from kubectl_tas.load.source import FolderSource
from kubectl_tas.resolve.fleet import resolve
from kubectl_tas.resolve.podcliqueset import SubmittedSet
from kubectl_tas.resolve.topologies import Level
from tests.support.cli import kubectl_tas, pool, write
from tests.support.grove import (
    KEYS,
    binding,
    clique,
    clique_set,
    declare,
    operator,
    pod_group,
    rules,
    scaling_group,
    topology,
    workflow,
)
from tests.support.pyyaml import safe_load
from tests.support.workloads import template, workload

GROUP = """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: g, namespace: ml}
spec:
  queue: osmo-pool-default-team--shared
  minSubGroup: 2
  topologyConstraint: {topology: T, requiredTopologyLevel: zone}
  subGroups:
  - {name: decode, minMember: 2, topologyConstraint: {topology: elsewhere, preferredTopologyLevel: example.com/rack}}
  - {name: prefill, minSubGroup: 1}
  - {name: leader, parent: prefill, minMember: 1, topologyConstraint: {topology: T, requiredTopologyLevel: L}}
  - {name: workers, parent: prefill, minMember: 4}
"""
ZONE, RACK = Level("zone", "example.com/zone"), Level("rack", "example.com/rack")


def gang(root: Path) -> Gang:
    keys = "  topology_keys: [{key: zone, label: example.com/zone}, {key: rack, label: example.com/rack}]\n"
    name = "osmo-pool-default-team-topology"
    text = GROUP.replace("topology: T", f"topology: {name}").replace("Level: L", "Level: example.com/rack")
    write(root, {"pools/team.yaml": pool(spec=keys), "workflows/g.yaml": text})
    fleet = resolve(load_repository(FolderSource(root)).repository)
    (item,) = fleet.pod_groups
    return gang_of_pod_group(fleet, item)


def test_parts_and_minimums(tmp_path: Path) -> None:
    found = gang(tmp_path)
    assert [(part.name, part.parent, part.minimum) for part in found.sub_groups] == [
        ("decode", None, 2),
        ("prefill", None, None),
        ("leader", "prefill", 1),
        ("workers", "prefill", 4),
    ]
    assert (found.kind, found.name, found.minimum) == ("PodGroup", "g", 7)
    assert [part.name for part in found.leaves] == ["decode", "leader", "workers"]
    assert found.needs_all_parts
    assert not found.sub_groups[1].needs_all_parts


def test_levels_by_label_and_by_alias(tmp_path: Path) -> None:
    found = gang(tmp_path)
    name = "osmo-pool-default-team-topology"
    assert found.constraint == Constraint(name, ZONE, None)
    assert found.sub_groups[2].constraint == Constraint(name, RACK, None)


def test_levels_of_a_topology_that_is_not_declared(tmp_path: Path) -> None:
    unknown = Level("example.com/rack", "example.com/rack")
    assert gang(tmp_path).sub_groups[0].constraint == Constraint("elsewhere", None, unknown)


WORKERS = scaling_group("workers", "server", replicas=3, minimum=1)


def rendered(root: Path, config: str = "") -> dict[str, Any]:
    """What is rendered, by kind and name."""
    if config:
        spec = f"spec: {{backends: [{{name: default, scheduler: {config}}}]}}"
        write(root, {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\n{spec}\n"})
    result = kubectl_tas("render", "-C", root)
    assert result.code == 0, result.err
    files = sorted((root / "manifests").rglob("*.yaml"))
    objects = [safe_load(path.read_text()) for path in files if path.name != "kustomization.yaml"]
    return {f"{item['kind']} {item['metadata']['name']}": item for item in objects}


def packed(*domains: str) -> dict[str, Any]:
    """A constraint of a PodGang."""
    return {"packConstraint": dict(zip(("required", "preferred"), map(KEYS.get, domains), strict=False))}


def required(domain: str, name: str = "grove-topology") -> dict[str, Any]:
    """A constraint of a PodGroup."""
    return {"topology": name, "requiredTopologyLevel": KEYS[domain]}


class TestGangs:
    def test_base_and_scaled_gangs_of_every_replica(self, repository: Path) -> None:
        groups = WORKERS + scaling_group("routers", "router", replicas=2, minimum=2)
        cliques = clique("server") + clique("router") + clique("alone", replicas=2)
        found = rendered(declare(repository, clique_set(None, cliques, groups, replicas=2)))
        assert [name for name in found if name.startswith("PodGang")] == [
            *("PodGang chat-0-workers-0", "PodGang chat-0-workers-1", "PodGang chat-0"),
            *("PodGang chat-1-workers-0", "PodGang chat-1-workers-1", "PodGang chat-1"),
        ]
        assert [member["name"] for member in found["PodGang chat-1"]["spec"]["podgroups"]] == [
            "chat-1-alone",
            "chat-1-workers-0-server",
            "chat-1-routers-0-router",
            "chat-1-routers-1-router",
        ]
        assert [member["name"] for member in found["PodGang chat-1-workers-1"]["spec"]["podgroups"]] == [
            "chat-1-workers-2-server"
        ]
        assert {name.replace("PodGroup ", "PodGang ") for name in found if name.startswith("PodGroup")} == {
            name for name in found if name.startswith("PodGang")
        }

    def test_no_replicas_make_no_gang(self, repository: Path) -> None:
        assert not any("PodG" in name for name in rendered(declare(repository, clique_set(replicas=0))))

    def test_a_replica_of_a_group_needs_what_its_cliques_need(self, repository: Path) -> None:
        cliques = clique("router") + clique("server", replicas=4, gpus=2, minimum=3)
        declared = clique_set("zone", cliques, scaling_group("workers", "router, server", "rack"))
        submitted, _ = _submitted(declare(repository, operator(), declared))
        (gang,) = gangs_of_set(submitted.set)
        (replica,) = gang.below(gang)
        assert (replica.pods, replica.minimum, replica.gpus) == (gang.pods, gang.minimum, gang.gpus) == (5, 4, 8)

    def test_a_member_needs_its_minimum(self, repository: Path) -> None:
        cliques = clique("all", replicas=3) + clique("some", replicas=3, minimum=2)
        found = rendered(declare(repository, clique_set(None, cliques)))
        assert [m["minReplicas"] for m in found["PodGang chat-0"]["spec"]["podgroups"]] == [3, 2]
        assert [g["minMember"] for g in found["PodGroup chat-0"]["spec"]["subGroups"]] == [3, 2]
        assert found["PodGroup chat-0"]["spec"]["minMember"] == 5

    def test_cliques_of_a_group_stand_in_the_order_of_their_names_there(self, repository: Path) -> None:
        """And all replicas with a constraint before all cliques."""
        cliques = clique("leader") + clique("worker") + clique("alone")
        groups = scaling_group("x", "worker, leader", "rack", minimum=2, replicas=3)
        found = rendered(declare(repository, operator(), clique_set(None, cliques, groups)))
        leaves = [f"chat-0-x-{number}-{name}" for number in (0, 1) for name in ("worker", "leader")]
        names = [group["name"] for group in found["PodGroup chat-0"]["spec"]["subGroups"]]
        assert names == ["chat-0-x-0", "chat-0-x-1", "chat-0-alone", *leaves]
        gang = found["PodGang chat-0"]["spec"]
        assert [member["name"] for member in gang["podgroups"]] == ["chat-0-alone", *leaves]
        assert [part["podGroupNames"] for part in gang["topologyConstraintGroupConfigs"]] == [leaves[:2], leaves[2:]]
        scaled = found["PodGang chat-0-x-0"]["spec"]["podgroups"]
        assert [member["name"] for member in scaled] == ["chat-0-x-2-worker", "chat-0-x-2-leader"]


class TestConstraints:
    def test_of_the_base_gang(self, repository: Path) -> None:
        cliques = clique("server", "host") + clique("alone", "rack")
        group = scaling_group("workers", "server", "rack", replicas=2)
        found = rendered(declare(repository, operator(), clique_set("zone", cliques, group)))
        gang, pod_group = found["PodGang chat-0"], found["PodGroup chat-0"]
        assert gang["metadata"]["annotations"]["grove.io/topology-name"] == "grove-topology"
        assert gang["spec"]["topologyConstraint"] == packed("zone")
        assert gang["spec"]["topologyConstraintGroupConfigs"] == [
            {
                "name": "chat-0-workers-0",
                "podGroupNames": ["chat-0-workers-0-server"],
                "topologyConstraint": packed("rack"),
            }
        ]
        assert [member["topologyConstraint"] for member in gang["spec"]["podgroups"]] == [
            packed("rack"),
            packed("host"),
        ]
        assert pod_group["spec"]["topologyConstraint"] == required("zone")
        assert pod_group["spec"]["subGroups"] == [
            {"name": "chat-0-workers-0", "minSubGroup": 1, "topologyConstraint": required("rack")},
            {"name": "chat-0-alone", "minMember": 1, "topologyConstraint": required("rack")},
            {
                "name": "chat-0-workers-0-server",
                "parent": "chat-0-workers-0",
                "minMember": 1,
                "topologyConstraint": required("host"),
            },
        ]

    def test_of_a_scaled_gang(self, repository: Path) -> None:
        group = scaling_group("workers", "server", "rack", replicas=2)
        declared = clique_set("zone", clique("server", "host"), group)
        found = rendered(declare(repository, operator(), declared))
        spec = found["PodGang chat-0-workers-0"]["spec"]
        assert spec["topologyConstraint"] == packed("rack")
        assert "topologyConstraintGroupConfigs" not in spec
        assert spec["podgroups"][0]["topologyConstraint"] == packed("host")
        assert found["PodGroup chat-0-workers-0"]["spec"]["topologyConstraint"] == required("rack")

    def test_a_scaled_gang_inherits_from_the_set(self, repository: Path) -> None:
        found = rendered(declare(repository, operator(), clique_set("zone", "", WORKERS)))
        assert found["PodGang chat-0-workers-1"]["spec"]["topologyConstraint"] == packed("zone")
        assert found["PodGroup chat-0-workers-1"]["spec"]["topologyConstraint"] == required("zone")

    def test_cliques_of_a_group_without_constraint_stand_alone(self, repository: Path) -> None:
        found = rendered(declare(repository, operator(), clique_set("zone", "", WORKERS)))
        assert found["PodGroup chat-0"]["spec"]["subGroups"] == [{"name": "chat-0-workers-0-server", "minMember": 1}]

    def test_a_group_that_only_names_a_topology_is_not_constrained(self, repository: Path) -> None:
        group = scaling_group("workers", "server", "{topologyName: racks}", replicas=2)
        declared = clique_set("{topologyName: racks, pack: {required: zone}}", "", group)
        found = rendered(declare(repository, topology(), declared))
        assert found["PodGroup chat-0"]["spec"]["subGroups"] == [{"name": "chat-0-workers-0-server", "minMember": 1}]
        assert found["PodGang chat-0-workers-0"]["spec"]["topologyConstraint"] == packed("zone")

    def test_required_and_preferred(self, repository: Path) -> None:
        declared = clique_set("{topologyName: racks, pack: {required: zone, preferred: rack}}")
        found = rendered(declare(repository, topology(), declared))
        assert found["PodGang chat-0"]["spec"]["topologyConstraint"] == packed("zone", "rack")
        constraint = {**required("zone", "racks"), "preferredTopologyLevel": KEYS["rack"]}
        assert found["PodGroup chat-0"]["spec"]["topologyConstraint"] == constraint

    def test_without_any_no_topology_applies(self, repository: Path) -> None:
        gang = rendered(declare(repository, operator(), clique_set()))["PodGang chat-0"]
        assert "grove.io/topology-name" not in gang["metadata"]["annotations"]
        assert "topologyConstraint" not in gang["spec"]

    def test_with_one_and_no_name_the_default_applies(self, repository: Path) -> None:
        gang = rendered(declare(repository, operator(), topology(), clique_set("zone")))["PodGang chat-0"]
        assert gang["metadata"]["annotations"]["grove.io/topology-name"] == "grove-topology"

    def test_with_a_name_that_topology_applies(self, repository: Path) -> None:
        gang = rendered(declare(repository, operator(), topology(), clique_set("zone", named="racks")))[
            "PodGang chat-0"
        ]
        assert gang["metadata"]["annotations"]["grove.io/topology-name"] == "racks"

    def test_what_is_not_known_is_not_previewed(self, repository: Path) -> None:
        found = rendered(declare(repository, clique_set("zone")))
        assert "PodCliqueSet chat" in found
        assert "PodGang chat-0" not in found


class TestTopologies:
    PROFILE = "scheduler:\n  profiles:\n  - name: kai-scheduler\n    config: {}\n    default: true\n"

    @pytest.mark.parametrize("value", ["{}", "{createTopologyResources: true}"])
    def test_one_for_each_cluster_topology(self, repository: Path, value: str) -> None:
        more = self.PROFILE.replace("{}", value)
        found = rendered(declare(repository, operator("zone host", more=more), topology()))
        assert [name for name in found if name.startswith("Topology")] == ["Topology grove-topology", "Topology racks"]
        assert [level["nodeLabel"] for level in found["Topology grove-topology"]["spec"]["levels"]] == [
            KEYS["zone"],
            KEYS["host"],
        ]

    def test_none_where_the_operator_creates_none(self, repository: Path) -> None:
        more = self.PROFILE.replace("{}", "{createTopologyResources: false}")
        declared = (operator("zone host", more=more), topology(), clique_set("zone", named="racks"))
        found = rendered(declare(repository, *declared))
        assert not any(name.startswith("Topology") for name in found)
        assert found["ClusterTopologyBinding racks"]["spec"].keys() == {"levels"}
        assert found["PodGroup chat-0"]["spec"]["topologyConstraint"] == required("zone", "racks")

    def test_a_profile_of_another_scheduler_does_not_count(self, repository: Path) -> None:
        more = self.PROFILE + "  - {name: default-scheduler, config: {createTopologyResources: false}}\n"
        found = rendered(declare(repository, operator("zone host", more=more), topology()))
        assert "Topology racks" in found

    def test_only_those_of_users_where_the_operator_is_disabled(self, repository: Path) -> None:
        found = rendered(declare(repository, operator("zone host", enabled=False), topology()))
        assert [name for name in found if name.startswith("Topology")] == ["Topology racks"]

    def test_a_binding_names_an_existing_one(self, repository: Path) -> None:
        declare(repository, topology(spec=binding("racks")), clique_set("zone", named="racks"))
        found = rendered(repository)
        assert not any(name.startswith("Topology") for name in found)
        assert found["PodGang chat-0"]["metadata"]["annotations"]["grove.io/topology-name"] == "racks"
        assert found["PodGroup chat-0"]["spec"]["topologyConstraint"] == required("zone", "racks")

    def test_gangs_ask_for_the_cluster_topology_by_its_own_name(self, repository: Path) -> None:
        """Grove writes that name into its PodGangs, whatever Topology is bound."""
        bound = topology(spec=binding())
        assert rules(declare(repository, bound)) == []
        assert rules(declare(repository, bound, clique_set("zone", named="racks"))) == ["topology-binding"]

    def test_a_binding_is_rendered_for_what_sets_use(self, repository: Path) -> None:
        """Grove refuses a set without one, and makes a Topology itself where it is bound to none."""
        declare(repository, topology(), topology("other"), clique_set("zone", named="racks"))
        found = rendered(repository)
        assert "ClusterTopologyBinding other" not in found
        assert found["ClusterTopologyBinding racks"]["spec"] == {
            "levels": [{"domain": domain, "key": KEYS[domain]} for domain in ("zone", "rack", "host")],
            "schedulerTopologyBindings": [{"schedulerName": "kai-scheduler", "topologyReference": "racks"}],
        }

    @pytest.mark.parametrize("written", [None, "racks", "by-hand"])
    @pytest.mark.parametrize("on_template", [False, True])
    def test_a_binding_reaches_the_workloads_of_a_pool(
        self, repository: Path, written: str | None, on_template: bool
    ) -> None:
        """The Topology to name is the existing one, whichever way the workload comes to it."""
        asked = {"kai.scheduler/topology-required-placement": "rack"}
        job: dict[str, Any] = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "sweep", "labels": {"kubectl-tas/pool": "team"}},
            "spec": {
                "template": {
                    "metadata": {},
                    "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]},
                }
            },
        }
        metadata = job["spec"]["template"]["metadata"] if on_template else job["metadata"]
        metadata["annotations"] = asked | ({"kai.scheduler/topology": written} if written else {})
        declare(repository, topology(spec=binding()), yaml.safe_dump(job))
        with (repository / "pools/team.yaml").open("a") as file:
            file.write("  topology: racks\n")
        found = rendered(repository)
        sweep = found["Job sweep"]
        metadata = sweep["spec"]["template"]["metadata"] if on_template else sweep["metadata"]
        assert metadata["annotations"]["kai.scheduler/topology"] == "by-hand"
        assert found["PodGroup pg-sweep"]["spec"]["topologyConstraint"] == required("rack", "by-hand")

    def test_what_a_pool_is_bound_to_is_called_by_the_pools_own_domains(self, repository: Path) -> None:
        """Another cluster topology has the name that the pool's is bound to, and other words for its levels."""
        asked = {"kai.scheduler/topology": "by-hand", "kai.scheduler/topology-required-placement": "rack"}
        sweep = workload("batch/v1", "Job", "sweep", None, {"template": template(annotations=asked)})
        other = topology("by-hand").replace("domain: rack", "domain: block")
        root = declare(repository, topology(spec=binding()), other, yaml.safe_dump(sweep))
        write(root, {"pools/team.yaml": pool(spec="  topology: racks\n")})
        assert rendered(root)["PodGroup pg-sweep"]["spec"]["topologyConstraint"] == required("rack", "by-hand")

    @pytest.mark.parametrize(
        ("named", "level", "found"),
        [
            ("by-hand", "rack", []),
            ("by-hand", "block", ["constraint-topology"]),
            ("racks", "rack", ["podgroup-topology"]),
        ],
    )
    def test_a_binding_is_known_to_pod_groups(self, repository: Path, named: str, level: str, found: list[str]) -> None:
        root = declare(repository, topology(spec=binding()), pod_group(level, named))
        assert rules(root) == found
        if named == "racks":
            assert "= help: Write by-hand." in kubectl_tas("validate", "-C", root).out

    @pytest.mark.parametrize("scheduler", ["volcano", "default-scheduler", "mine"])
    def test_a_binding_of_another_scheduler_is_refused(self, repository: Path, scheduler: str) -> None:
        assert rules(declare(repository, topology(spec=binding("other", scheduler)))) == ["topology-binding"]

    def test_a_binding_of_a_scheduler_that_is_not_enabled_is_refused(self, repository: Path) -> None:
        bound = topology(spec=binding())
        assert rules(declare(repository, bound, operator(more=self.PROFILE))) == []
        others = self.PROFILE.replace("kai-scheduler", "volcano")
        assert rules(declare(repository, bound, operator(more=others))) == ["topology-binding"]

    @pytest.mark.parametrize("name", ["racks", "grove-topology"])
    def test_pools_may_name_them(self, repository: Path, name: str) -> None:
        declare(repository, operator(), topology(), workflow("rack"))
        with (repository / "pools/team.yaml").open("a") as file:
            file.write(f"  topology: {name}\n")
        found = rendered(repository)
        (found_group,) = [item for key, item in found.items() if key.startswith("PodGroup")]
        assert found_group["spec"]["topologyConstraint"] == required("rack", name)


class TestEmission:
    def test_queue_scheduler_and_priority_reach_the_cliques(self, repository: Path) -> None:
        labels = "{kubectl-tas/pool: team, kubectl-tas/priority: HIGH}"
        declared = clique_set(None, clique("a") + clique("b"), labels=labels)
        found = rendered(declare(repository, declared))
        item, queue = found["PodCliqueSet chat"], "osmo-pool-default-team--shared"
        assert item["metadata"]["labels"]["kai.scheduler/queue"] == queue
        assert item["spec"]["template"]["priorityClassName"] == "osmo-high"
        for part in item["spec"]["template"]["cliques"]:
            assert part["labels"] == {"kai.scheduler/queue": queue}
            assert part["spec"]["podSpec"]["schedulerName"] == "kai-scheduler"
            assert part["spec"]["podSpec"]["priorityClassName"] == "osmo-high"
        assert found["PodGang chat-0"]["spec"]["priorityClassName"] == "osmo-high"
        assert found["PodGroup chat-0"]["spec"]["queue"] == queue
        assert found["PodGroup chat-0"]["spec"]["priorityClassName"] == "osmo-high"

    def test_what_contradicts_the_pool_is_refused(self, repository: Path) -> None:
        declared = clique_set().replace("podSpec: {", "podSpec: {schedulerName: default-scheduler, ")
        assert rules(declare(repository, declared)) == ["workload-conflict"]

    def test_a_set_needs_a_pool(self, repository: Path) -> None:
        assert rules(declare(repository, clique_set(labels="{team: a}"))) == ["workload-pool"]
        assert rules(declare(repository, clique_set(labels="{kubectl-tas/pool: other}"))) == ["pool-unknown"]

    def test_previews_are_not_applied(self, repository: Path) -> None:
        found = rendered(declare(repository, clique_set()))
        assert "PodGang chat-0" in found
        listed = safe_load((repository / "manifests/kustomization.yaml").read_text())["resources"]
        assert "workloads/podcliqueset-chat.yaml" in listed
        assert not any(path.startswith("preview/") for path in listed)
        stream = kubectl_tas("render", "-C", repository, "--to", "-").out
        assert "kind: PodCliqueSet" in stream
        assert "kind: PodGang" not in stream
        assert "kind: PodGroup" not in stream


class TestVersions:
    @pytest.mark.parametrize(("version", "counted"), [("0.14", False), ("0.15", True)])
    def test_parts_are_counted_from_0_15(self, repository: Path, version: str, counted: bool) -> None:
        """Where KAI does not know that it must leave PodGroups to Grove, they are its own."""
        declared = clique_set("zone", "", scaling_group("workers", "server", "rack"))
        found = rendered(declare(repository, operator(), declared), f'{{type: kai, version: "{version}"}}')
        name = "PodGroup chat-0" if counted else "PodGroup pg-chat-0"
        assert ("minSubGroup" in found[name]["spec"]["subGroups"][0]) == counted

    @pytest.mark.parametrize(
        ("asked", "version", "found"),
        [("set", "0.12", ["version-unsupported"]), ("set", "0.13", []), ("clique", "0.12", ["version-unsupported"])],
    )
    def test_what_a_release_lacks_is_refused(
        self, repository: Path, asked: str, version: str, found: list[str]
    ) -> None:
        declared = clique_set("zone" if asked == "set" else None, clique("server", "zone" if asked != "set" else None))
        spec = f'spec: {{backends: [{{name: a, scheduler: {{type: kai, version: "{version}"}}}}]}}'
        write(repository, {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\n{spec}\n"})
        assert rules(declare(repository, operator(), declared)) == found

    def test_a_scheduler_that_is_not_kai(self, repository: Path) -> None:
        spec = "spec: {backends: [{name: a, scheduler: {type: default}}]}"
        write(repository, {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\n{spec}\n"})
        assert rules(declare(repository, operator(), clique_set("zone"))) == ["topology-scheduler"]
        assert rules(declare(repository, operator(), clique_set())) == []


class TestGpus:
    @pytest.mark.parametrize(("replicas", "is_one_gang"), [(1, True), (2, False)])
    def test_each_replica_starts_by_itself(self, repository: Path, replicas: int, is_one_gang: bool) -> None:
        _, request = _submitted(declare(repository, clique_set(replicas=replicas)))
        assert request.is_one_gang == is_one_gang

    def test_cliques_times_replicas_scaling_groups_included(self, repository: Path) -> None:
        cliques = clique("a", replicas=2, gpus=3) + clique("b", replicas=1, gpus=5) + clique("c", replicas=4, gpus=1)
        group = scaling_group("g", "a, b", replicas=7, minimum=2)
        submitted, request = _submitted(declare(repository, clique_set(None, cliques, group, replicas=2)))
        assert submitted.gpus == 2 * (7 * (2 * 3 + 5) + 4)
        assert request.largest.gpu == 2 * (2 * 3 + 5) + 4

    def test_they_count_in_admission_and_in_the_table(self, repository: Path) -> None:
        declared = clique_set(None, clique(replicas=3, gpus=8), replicas=2)
        root = declare(repository, declared, guarantee=40)
        assert rules(root) == ["quota-shared"]
        row = kubectl_tas("pool", "list", "-C", root).out.splitlines()[-1]
        assert row.split() == ["team", "ONLINE", "-", "40", "48", "-8"]
        assert rules(declare(repository, declared, guarantee=16)) == ["over-quota"]
        assert rules(declare(repository, declared, guarantee=48)) == []

    @given(data=st.data())
    @settings(
        max_examples=40,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    def test_the_gangs_hold_every_pod_once(self, tmp_path: Path, data: st.DataObject) -> None:
        few = st.integers(1, 3)
        names = [f"c{index}" for index in range(data.draw(few))]
        cliques = "".join(clique(name, replicas=data.draw(few), gpus=data.draw(st.integers(0, 8))) for name in names)
        grouped = names[: data.draw(st.integers(0, len(names)))]
        copies = data.draw(few)
        group = scaling_group("g", ", ".join(grouped), replicas=copies, minimum=data.draw(st.integers(1, copies)))
        declared = clique_set(None, cliques, group if grouped else "", replicas=data.draw(st.integers(0, 2)))
        submitted, request = _submitted(declare(tmp_path / "repository", declared))
        gangs = list(gangs_of_set(submitted.set))
        leaves = [leaf for gang in gangs for leaf in gang.leaves]
        assert len({leaf.name for leaf in leaves}) == len(leaves)
        assert (
            submitted.gpus == request.asks.gpu == sum(leaf.gpus for leaf in leaves) == sum(gang.gpus for gang in gangs)
        )
        sizes = [sum(leaf.gpus // leaf.pods * (leaf.minimum or 0) for leaf in gang.leaves) for gang in gangs]
        assert request.largest.gpu == max(sizes, default=0)


def _submitted(root: Path) -> tuple[SubmittedSet, Request]:
    fleet = resolve(load_repository(FolderSource(root)).repository)
    (found,) = fleet.submitted_sets
    return found, Admission(fleet).request(found)


class TestExplain:
    CLIQUES = clique("router") + clique("server", "host", replicas=4, gpus=2, minimum=3)

    def explain(self, root: Path, *arguments: str) -> str:
        result = kubectl_tas("workflow", "explain", *arguments, "-C", root)
        assert result.code == 0, result.err
        return result.out

    def test_a_tree_for_each_gang(self, repository: Path) -> None:
        group = scaling_group("workers", "server", "{pack: {required: rack, preferred: host}}", replicas=2)
        root = declare(repository, topology(), clique_set("zone", self.CLIQUES, group, named="racks"))
        facts, *trees = self.explain(root, "chat").split("\n\n")
        assert "PodCliqueSet:  chat (workflows/1.yaml)\n" in facts
        assert "GPUs:          16\n" in facts
        assert facts.endswith("Gangs:         2: 1 base and 1 scaled")
        zone, rack, host = (f"{name} ({KEYS[name]})" for name in ("zone", "rack", "host"))
        assert "\n".join(trees).splitlines() == [
            f"PodGang chat-0: 5 pods with 8 GPUs, required in one {zone}",
            f"├─ SubGroup chat-0-workers-0: 4 pods with 8 GPUs, required in one {rack}, preferred in one {host}",
            f"│  └─ SubGroup chat-0-workers-0-server: 4 pods with 8 GPUs, 3 needed, required in one {host}",
            "└─ SubGroup chat-0-router: 1 pod",
            f"PodGang chat-0-workers-0: 4 pods with 8 GPUs, required in one {rack}, preferred in one {host}",
            f"└─ SubGroup chat-0-workers-1-server: 4 pods with 8 GPUs, 3 needed, required in one {host}",
        ]

    def test_a_topology_that_is_not_declared_stands_for_itself(self, repository: Path) -> None:
        shown = self.explain(declare(repository, clique_set("zone")), "PodCliqueSet/chat")
        assert "Topology:      grove-topology\n" in shown
        assert "PodGang chat-0: 1 pod, required in one zone (zone)\n" in shown

    def test_too_many_cliques_of_one_gang_are_not_shown(self, repository: Path) -> None:
        many = scaling_group("workers", "server", replicas=1001, minimum=1001)
        shown = self.explain(declare(repository, clique_set(None, "", many), guarantee=2000), "chat")
        assert "Gangs:         1: 1 base and 0 scaled; more than 1000 gangs or cliques are not shown\n" in shown
        assert "PodGang" not in shown

    def test_too_many_gangs_are_counted(self, repository: Path) -> None:
        shown = self.explain(declare(repository, clique_set(replicas=100_000)), "chat")
        assert (
            "Gangs:         100000: 100000 base and 0 scaled; more than 1000 gangs or cliques are not shown\n" in shown
        )
        assert "PodGang" not in shown

    def test_all_of_one_name(self, repository: Path) -> None:
        workflow = "workflow: {name: Chat, pool: team, tasks: [{name: t, image: busybox}]}\n"
        root = declare(repository, clique_set(), workflow)
        both = self.explain(root, "chat")
        assert ("Workflow:" in both, "PodCliqueSet:" in both) == (True, True)
        assert "Workflow:" not in self.explain(root, "podcliqueset/chat")
        assert "PodCliqueSet:" not in self.explain(root, "workflow/CHAT")
        assert "PodCliqueSet:" in self.explain(root, "workflows/0.yaml")
        data = json.loads(self.explain(root, "chat", "-o", "json"))
        assert [item["kind"] for item in data["items"]] == ["Workflow", "PodCliqueSet"]

    def test_the_same_as_data(self, repository: Path) -> None:
        data = json.loads(self.explain(declare(repository, clique_set()), "chat", "-o", "json"))
        assert data["facts"] == [{"name": "Gangs", "text": "1: 1 base and 0 scaled"}]
        (tree,) = data["podGroups"]
        assert (tree["kind"], tree["name"], tree["children"][0]["name"]) == ("PodGang", "chat-0", "chat-0-server")
