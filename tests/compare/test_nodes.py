"""Tests what is said of the nodes of a cluster that has other nodes than the repository needs."""

from __future__ import annotations

import pytest

from kubectl_tas.compare.cluster_nodes import check_domains, check_nodes, coverage
from kubectl_tas.live.live_cluster import LiveNode
from tests.support.cli import pool
from tests.support.fleets import fleet_of, said
from tests.support.grove import KEYS, clique_set, pod_group, topology

SHARD = "kai.scheduler/node-pool"
AFFINITY = (
    "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
    "{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: Exists}]}]}}}"
)
LEVELS = "  topology_keys: [{key: zone, label: z}]\n"
WORK = "workflows/w.yaml"
ZONE, RACK, HOST = KEYS["zone"], KEYS["rack"], KEYS["host"]
TWO = tuple(LiveNode(name, {ZONE: "a", RACK: "a1", HOST: name}) for name in "xy")
"""Two nodes in one rack."""


def config(*backends: str) -> dict[str, str]:
    """The file of a Config with these backends, each the text of a flow mapping."""
    return {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{backends: [{', '.join(backends)}]}}\n"}


def runs(version: str, name: str = "default") -> dict[str, str]:
    """The file of a Config with one backend of this KAI release."""
    return config(f'{{name: {name}, scheduler: {{version: "{version}"}}}}')


def job(pods: str) -> str:
    """A Job of the pool team whose PodSpec begins with the text ``pods``."""
    return f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: sweep, labels: {{kubectl-tas/pool: team}}}}
spec:
  template:
    spec:
      {pods}
      restartPolicy: Never
      containers: [{{name: main, image: i}}]
"""


def node(name: str = "n", gpus: int = 1000, **labels: str) -> LiveNode:
    return LiveNode(name, labels, gpus)


def found(files: dict[str, str], *nodes: LiveNode, backend: int = 0) -> list[str]:
    """What is said of the nodes of a backend."""
    fleet = fleet_of(files)
    return [said(item) for item in check_nodes(fleet, fleet.backends[backend], nodes)]


class TestSelectors:
    def test_another_scheduler_than_kai_has_nothing_to_keep(self) -> None:
        files = {"pools/p.yaml": pool(spec="  nodes: {selector: {gpu: h100}}\n")}
        assert len(found(files, node(gpu="a100"))) == 1
        assert found({**config("{name: a, scheduler: {type: default}}"), **files}, node(gpu="a100")) == []

    def test_a_shard_without_nodes_is_named_where_the_pool_names_it(self) -> None:
        files = {"pools/p.yaml": pool(guarantee=0, spec="  nodePool: h100\n")}
        assert found(files, node()) == [
            f"pools/p.yaml:9:13: no node of backend default has {SHARD}=h100, which pool team asks for"
        ]

    def test_of_a_pool_without_nodes_its_work_is_not_reported_as_well(self) -> None:
        files = {
            "pools/p.yaml": pool(spec="  nodes: {selector: {gpu: h100}}\n"),
            WORK: job("nodeSelector: {gpu: h100}"),
        }
        (only,) = found(files, node(gpu="a100"))
        assert "which pool team asks for" in only

    def test_a_job_chooses_among_the_nodes_of_its_pool(self) -> None:
        files = {"pools/p.yaml": pool(spec="  nodes: {selector: {gpu: h100}}\n"), WORK: job("nodeSelector: {zone: b}")}
        nodes = node("x", gpu="h100", zone="a"), node("y", gpu="a100", zone="b")
        assert found(files, *nodes) == [f"{WORK}:7:28: pool team has no node with the zone that Job sweep asks for: b"]
        assert found(files, *nodes, node("z", gpu="h100", zone="b")) == []

    def test_a_job_chooses_among_the_nodes_of_its_shard(self) -> None:
        files = {"pools/p.yaml": pool(spec="  nodePool: east\n"), WORK: job("nodeSelector: {zone: b}")}
        nodes = node("x", **{SHARD: "east"}), node("y", zone="b", **{SHARD: "west"})
        assert [text.partition(": ")[2] for text in found(files, *nodes)] == [
            "pool team has no node with the zone that Job sweep asks for: b"
        ]
        assert found(files, *nodes, node("z", zone="b", **{SHARD: "east"})) == []

    @pytest.mark.parametrize(
        ("pods", "labels", "message", "hint"),
        [
            ("nodeSelector: {zone: east-1}", {"zone": "east-2"}, "asks for: east-1", 'did you mean "east-2"?'),
            ("nodeSelector: {zone: q}", {"zone": "east"}, "asks for: q", "The nodes have east."),
            ("nodeSelector: {zone: q}", {}, "asks for: q", "Correct it, or label the nodes."),
            (AFFINITY, {}, "asks for", "Correct it, or label the nodes."),
        ],
    )
    def test_the_values_that_nodes_have_are_named(
        self, pods: str, labels: dict[str, str], message: str, hint: str
    ) -> None:
        fleet = fleet_of({"pools/p.yaml": pool(), WORK: job(pods)})
        (only,) = check_nodes(fleet, fleet.backends[0], [node(**labels)])
        assert only.message == f"pool team has no node with the zone that Job sweep {message}"
        assert only.hint.lower() == hint.lower()

    def test_a_label_of_a_platform_that_a_task_fills_in_is_not_looked_for(self) -> None:
        pods = "override_pod_template: [{spec: {nodeSelector: {zone: ZONE}}}]"
        spec = f"  nodes: {{selector: {{gpu: h100}}}}\n  platforms: {{fast: {{{pods}}}}}\n"
        files = {"pools/p.yaml": pool(spec=spec.replace("ZONE", "b"))}
        (only,) = found(files, node(gpu="h100", zone="a"))
        assert only.endswith("no node that pool team may use has gpu=h100, zone=b, which platform fast asks for")
        files = {"pools/p.yaml": pool(spec=spec.replace("ZONE", "'{{ zone }}'"))}
        assert found(files, node(gpu="h100", zone="a")) == []

    def test_a_set_chooses_among_the_nodes_of_its_pool(self) -> None:
        work = clique_set().replace("podSpec: {", "podSpec: {nodeSelector: {zone: b, rack: r}, ")
        files = {"pools/p.yaml": pool(spec="  nodes: {selector: {gpu: h100}}\n"), WORK: work}
        assert found(files, node("x", gpu="h100", zone="b")) == [
            f"{WORK}:11:67: pool team has no node with the zone and rack that PodCliqueSet chat asks for: r"
        ]
        assert found(files, node("x", gpu="h100")) == [
            f"{WORK}:11:58: pool team has no node with the zone that PodCliqueSet chat asks for: b"
        ]
        assert found(files, node("x", gpu="h100", zone="b", rack="r")) == []

    def test_what_a_job_says_goes_before_its_pool(self) -> None:
        files = {
            "pools/p.yaml": pool(spec="  nodes: {selector: {gpu: h100}}\n"),
            WORK: job("nodeSelector: {gpu: a100}"),
        }
        assert found(files, node("x", gpu="h100"), node("y", gpu="a100")) == []
        exact = {"pools/p.yaml": pool(spec="  nodes: {selector: {gpu: h100}}\n"), WORK: job(AFFINITY)}
        assert found(exact, node("x", gpu="h100")) == [
            f"{WORK}:7:122: pool team has no node with the zone that Job sweep asks for"
        ]

    def test_a_pool_without_a_shard_where_all_nodes_have_one(self) -> None:
        (only,) = found({"pools/p.yaml": pool(guarantee=0)}, node(**{SHARD: "a"}))
        assert only == "pools/p.yaml:6:3: every node of backend default is of a shard, but pool team names no nodePool"


class TestGuarantees:
    def test_nodes_that_do_not_count_are_told_apart(self) -> None:
        fleet = fleet_of({"pools/a.yaml": pool("a", 8), "pools/b.yaml": pool("b", 3)})
        nodes = [
            LiveNode("x", {}, 2),
            LiveNode("y", {}, 4, is_ready=False),
            LiveNode("z", {}, 5, is_cordoned=True),
            LiveNode("q", {}, 6, is_ready=False, is_cordoned=True),
        ]
        (only,) = check_nodes(fleet, fleet.backends[0], nodes)
        assert said(only) == (
            "pools/a.yaml:8:18: on backend default 11 GPUs are guaranteed (a 8, b 3), but its 1 node has 2 (11 more on "
            "nodes that are cordoned; 4 more on nodes that are not ready)"
        )
        assert only.hint == "Guarantee 9 GPUs less, or add nodes."
        assert [(item.message, item.location and item.location.path) for item in only.related] == [
            ("pool b", "pools/b.yaml")
        ]

    def test_each_set_of_nodes_is_counted_once(self) -> None:
        """The pool a has too few nodes of its own; what is left is enough for b."""
        fast = "  nodes: {selector: {gpu: h100}}\n"
        files = {"pools/a.yaml": pool("a", 8, fast), "pools/b.yaml": pool("b", 8)}
        assert found(files, node("x", 4, gpu="h100"), node("y", 8)) == [
            "pools/a.yaml:8:18: on backend default 8 GPUs are guaranteed (a 8), but its 1 node with gpu=h100 has 4"
        ]
        assert found(files, node("x", 4, gpu="h100"), node("y", 7)) == [
            "pools/a.yaml:8:18: on backend default 8 GPUs are guaranteed (a 8), but its 1 node with gpu=h100 has 4",
            "pools/b.yaml:8:18: on backend default 8 GPUs are guaranteed (b 8), but its 1 node has 7",
        ]
        assert found(files, node("x", 8, gpu="h100"), node("y", 8)) == []
        assert found(files, node("x", 9, gpu="h100"), node("y", 6)) == [
            "pools/a.yaml:8:18: on backend default 16 GPUs are guaranteed (a 8, b 8), but its 2 nodes have 15"
        ]

    def test_child_pools_count_on_their_own_nodes(self) -> None:
        files = {"pools/a.yaml": pool("a", 8), "pools/b.yaml": pool("b", 3, "  parent: a\n")}
        assert found(files, node(gpus=4)) == [
            "pools/a.yaml:8:18: on backend default 8 GPUs are guaranteed (a 5 besides its child pools, b 3), but its 1 "
            "node has 4"
        ]

    def test_a_pool_that_is_guaranteed_nothing_is_not_named(self) -> None:
        files = {"pools/a.yaml": pool("a", 8), "pools/b.yaml": pool("b", 0)}
        assert found(files, node(gpus=4)) == [
            "pools/a.yaml:8:18: on backend default 8 GPUs are guaranteed (a 8), but its 1 node has 4"
        ]


class TestTopologies:
    def test_a_release_without_topologies_needs_no_labels(self) -> None:
        files = {"pools/p.yaml": pool(spec=LEVELS)}
        assert len(found({**runs("0.9"), **files}, node())) == 1
        assert found({**runs("0.8"), **files}, node()) == []

    @pytest.mark.parametrize(
        ("user", "is_used"),
        [
            ({}, False),
            ({"pools/b.yaml": pool("b", 0, "  backend: b\n  topology: racks\n")}, True),
            ({WORK: clique_set("zone", named="racks", labels="{kubectl-tas/pool: b}")}, True),
            ({WORK: clique_set("zone", named="racks", labels="{kubectl-tas/pool: a}")}, False),
        ],
        ids=["nothing", "pool", "set", "set elsewhere"],
    )
    def test_of_several_clusters_those_that_use_a_topology_need_its_labels(
        self, user: dict[str, str], is_used: bool
    ) -> None:
        pools = {f"pools/{name}.yaml": pool(name, 0, f"  backend: {name}\n") for name in "ab"}
        files = {**config("{name: a}", "{name: b}"), "topologies/t.yaml": topology(domains="zone"), **pools, **user}
        about = (
            f"no node of backend b has the label {KEYS['zone']} of level zone of the cluster topology "
            '"racks", so all nodes (1) are outside of the topology'
        )
        assert [text.partition(": ")[2] for text in found(files, node(), backend=1)] == [about] * is_used

    def test_topologies_of_several_clusters_are_told_apart(self) -> None:
        pools = {f"pools/{name}.yaml": pool(name, 0, f"  backend: {name}\n{LEVELS}") for name in "ab"}
        two = fleet_of({**config("{name: a}", "{name: b}"), **pools, "topologies/t.yaml": topology(domains="host")})
        (own, shared) = sorted(coverage(two, "b", [node()]), key=lambda item: item.missing[0][0].key, reverse=True)
        assert (own.full_name, own.outside) == (f"b/{own.topology}", ("n",))
        assert shared.full_name == "b/racks"
        (alone,) = coverage(fleet_of({"topologies/t.yaml": topology(domains="host")}), "default", [node()])
        assert alone.full_name == "racks"

    def test_levels_that_do_not_nest(self) -> None:
        """The first domain of each level is named."""
        keys = "[{key: zone, label: z}, {key: rack, label: r}, {key: host, label: h}]"
        fleet = fleet_of({"pools/p.yaml": pool(guarantee=0, spec=f"  topology_keys: {keys}\n")})
        nodes = [node(f"{z}{r}{h}", z=z, r=r, h=h) for z, r, h in ("a11", "b11", "a22", "b22", "c33")]
        made = list(check_nodes(fleet, fleet.backends[0], [*nodes, node("lost", z="q", r="3")]))
        rest = "so KAI takes it for 2 domains"
        assert [said(item) for item in made] == [
            f"pools/p.yaml:9:42: on backend default rack 1 has nodes in a, b of zone, {rest}",
        ]
        assert made[0].hint == (
            "Take the order that `kubectl tas topology suggest` shows, or correct the labels of the nodes."
        )

    @pytest.mark.parametrize(
        ("nodes", "place", "text"),
        [
            ([{"z": "a"}], "9:42", "the label r of level rack of pool team, so all nodes (1)"),
            ([{"z": "a"}, {"r": "b"}], "9:3", "the labels of all levels of pool team, so all nodes (2)"),
        ],
    )
    def test_labels_that_no_node_has(self, nodes: list[dict[str, str]], place: str, text: str) -> None:
        keys = "[{key: zone, label: z}, {key: rack, label: r}]"
        fleet = fleet_of({"pools/p.yaml": pool(guarantee=0, spec=f"  topology_keys: {keys}\n")})
        (only,) = check_nodes(fleet, fleet.backends[0], [node(str(x), **labels) for x, labels in enumerate(nodes)])
        assert said(only) == f"pools/p.yaml:{place}: no node of backend default has {text} are outside of the topology"
        assert only.hint == "Correct the label, label the nodes, or leave the level out."


class TestDomains:
    """Work that requires a level above the one that all nodes share."""

    def asked(self, work: str, *nodes: LiveNode, version: str = "0.17", spec: str = "") -> list[str]:
        files = {"pools/p.yaml": pool(spec=spec), "topologies/t.yaml": topology(), WORK: work, **runs(version)}
        fleet = fleet_of(files)
        return [said(item) for item in check_domains(fleet, fleet.backends[0], nodes or TWO)]

    @pytest.mark.parametrize(("version", "is_found"), [("0.17", True), ("0.12", True), ("0.11", False), ("0.8", False)])
    def test_releases(self, version: str, is_found: bool) -> None:
        assert bool(self.asked(pod_group("zone"), version=version)) is is_found

    def test_a_level_that_a_podgroup_prefers(self) -> None:
        """Before 0.12.9 the preferred level decided as well."""
        work = pod_group("zone").replace("requiredTopologyLevel", "preferredTopologyLevel")
        (only,) = self.asked(work, version="0.12.8")
        assert only.startswith(f"{WORK}:8:65: PodGroup by-hand prefers level zone, but backend default has 2 nodes")
        assert self.asked(work, version="0.12.9") == []

    def test_a_level_that_a_podgroup_prefers_beside_the_required_one(self) -> None:
        both = f"requiredTopologyLevel: {ZONE}, preferredTopologyLevel: {RACK}"
        work = pod_group("zone").replace(f"requiredTopologyLevel: {ZONE}", both)
        assert self.asked(work, version="0.12.8") == []

    @pytest.mark.parametrize("asks", ["topology: racks", f"requiredTopologyLevel: {ZONE}", "topology: elsewhere"])
    def test_a_podgroup_of_which_no_level_is_known(self, asks: str) -> None:
        own = pod_group("zone").partition("  topologyConstraint")[0]
        assert self.asked(f"{own}  topologyConstraint: {{{asks}}}\n") == []

    @pytest.mark.parametrize(("named", "label"), [("elsewhere", ZONE), ("racks", "example.com/other")])
    def test_a_level_that_no_topology_here_has(self, named: str, label: str) -> None:
        assert self.asked(pod_group("zone", named).replace(ZONE, label)) == []

    def test_only_the_nodes_of_the_shard_count(self) -> None:
        elsewhere = LiveNode("z", {ZONE: "b", RACK: "b1", HOST: "z", SHARD: "west"})
        (only,) = self.asked(pod_group("zone"), *TWO, elsewhere)
        assert "backend default has 2 nodes in this topology" in only

    def test_a_podgroup_of_a_queue_that_nothing_declares(self) -> None:
        work = pod_group("zone").replace("osmo-pool-default-team--shared", "by-others")
        (only,) = self.asked(work)
        assert only.startswith(f"{WORK}:8:64: PodGroup by-hand requires level zone")

    def test_a_set_of_another_cluster(self) -> None:
        pools = {f"pools/{name}.yaml": pool(name, 0, f"  backend: {name}\n") for name in "ab"}
        work = {WORK: clique_set("zone", named="racks", labels="{kubectl-tas/pool: a}")}
        fleet = fleet_of({**config("{name: a}", "{name: b}"), "topologies/t.yaml": topology(), **pools, **work})
        counts = [len(list(check_domains(fleet, backend, TWO))) for backend in fleet.backends]
        assert counts == [1, 0]

    @pytest.mark.parametrize("work", [clique_set(), clique_set("zone", named="elsewhere")])
    def test_a_set_without_a_topology_that_is_declared(self, work: str) -> None:
        assert self.asked(work) == []

    def test_a_set_that_is_too_large_to_look_at(self) -> None:
        assert self.asked(clique_set("zone", named="racks", replicas=1001)) == []
