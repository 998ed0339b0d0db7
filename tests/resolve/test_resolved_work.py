"""Tests work in memory: tokens of tasks, platforms, gangs of PodCliqueSets, PodGroups by hand, and their clusters."""

from __future__ import annotations

import pytest

from kubectl_tas.facts.kai import Feature
from kubectl_tas.model.osmo_workflow import Resource, Task
from kubectl_tas.model.platform import Nodes
from kubectl_tas.resolve.platforms import UNKNOWABLE, NotFilledError, filled, values_of
from kubectl_tas.resolve.podcliqueset import FleetPodCliqueSet
from kubectl_tas.resolve.workflows import sample_task
from tests.support.cli import pool, subpool
from tests.support.fleets import fleet_of
from tests.support.grove import KEYS, clique, clique_set, operator, scaling_group, topology

CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {SPEC}\n"
WORKFLOW = """\
workflow:
  name: My_Run
  pool: team
  groups:
  - name: Group_A
    tasks:
    - {name: Task_1, image: i, lead: true, resource: Big}
    - {name: task-2, image: i}
  resources:
    big: {cpu: 2, memory: 3Gi, gpu: 1, topology: [{key: rack, group: G_1}, {key: zone, requirementType: preferred}]}
"""
LEVELS = "  topology_keys: [{key: zone, label: z}, {key: rack, label: r}]\n"


class TestWorkflow:
    def test_tokens_of_a_task(self) -> None:
        """The platform of the pool without a name has no token."""
        (item,) = fleet_of({"p.yaml": pool(spec=LEVELS), "w.yaml": WORKFLOW}).workflows
        (group,) = item.groups
        first, second = group.tasks
        where = {"WF_POOL": "team", "WF_ID": "my-run", "WF_GROUP_NAME": "group-a", "WF_PRIORITY": "normal"}
        own = {
            "USER_CONTAINER_NAME": "task-1",
            "WF_TASK_NAME": "Task_1",
            "WF_PLATFORM": None,
            "WF_LEAD_CONTAINER": "true",
        }
        asked = {"USER_CPU": 2, "USER_GPU": 1, "USER_MEMORY": "3Gi", "USER_STORAGE": None}
        sizes = {"VAL": "3", "UNIT": "Gi", "B": 3 * 2**30, "Ki": 3 * 2**20, "Mi": 3072, "Gi": 3, "Ti": 3 / 1024}
        none = dict.fromkeys(f"USER_STORAGE_{name}" for name in sizes)
        more = {"USER_EXCLUDED_NODES": "ARRAY:[]", "USER_CACHE": "0"}
        assert dict(first.values) == {
            **{f"USER_MEMORY_{name}": value for name, value in sizes.items()},
            **asked,
            **none,
            **more,
            **own,
            **where,
        }
        assert (second.values["WF_TASK_NAME"], second.values["WF_LEAD_CONTAINER"]) == ("task-2", None)
        assert (item.name, item.kind, item.objects, item.used_platforms) == ("my-run", "Workflow", 3, ("",))
        assert (group.name, group.written, len(group.resources)) == ("group-a", "Group_A", 2)
        assert (item.asks.gpu, item.asks.cpu, group.asks) == (1, 2000, item.asks)
        assert (item.place.path, item.place.line, item.place.column) == ("w.yaml", 3, 9)

    def test_requirements_go_from_the_coarsest_level_to_the_finest(self) -> None:
        (item,) = fleet_of({"p.yaml": pool(spec=LEVELS), "w.yaml": WORKFLOW}).workflows
        found = item.groups[0].tasks[0].resource.requirements
        assert [(x.level.key, x.depth, x.group, x.written, x.required, x.path[-1]) for x in found] == [
            ("zone", 0, "default", "default", False, 1),
            ("rack", 1, "g-1", "G_1", True, 0),
        ]

    def test_names_that_nothing_declares(self) -> None:
        text = WORKFLOW.replace("image: i}", "image: i, resource: small}").replace("cpu: 2", "platform: fast, cpu: 2")
        spec = "  topology_keys: [{key: zone, label: z}]\n  platforms: {slow: {}}\n"
        fleet = fleet_of({"p.yaml": pool(spec=spec), "w.yaml": text})
        big = ("workflow", "resources", "big")
        assert [(item.what, item.name, item.known, item.context, item.path) for item in fleet.dangling] == [
            ("topology key", "rack", ("zone",), "pool team", (*big, "topology", 0, "key")),
            ("platform", "fast", ("slow",), "pool team", (*big, "platform")),
            ("resource", "small", ("big",), "", ("workflow", "groups", 0, "tasks", 1, "resource")),
        ]
        assert [(item.location.path, item.location.line) for item in fleet.dangling] == [
            *(("w.yaml", 10), ("w.yaml", 10)),
            ("w.yaml", 8),
        ]
        assert fleet.workflows[0].groups[0].tasks[1].resource.requirements == ()


class TestPlatforms:
    SPEC = """\
  nodes: {selector: {zone: a}, tolerations: [{key: x, operator: Exists}]}
  common_default_variables: {a: 1, b: 2}
  common_pod_template: [{spec: {nodeSelector: {disk: ssd, host: "{{WF_ID}}"}}}]
  default_platform: fast
  platforms:
    fast: {nodes: {selector: {gpu: h100}, tolerations: [{key: y, operator: Exists}]}, default_variables: {b: 3}}
    plain: {}
"""

    def test_nodes_and_variables(self) -> None:
        (team,) = fleet_of({"p.yaml": pool(spec=self.SPEC)}).pools
        fast, plain, base = (*team.platforms.by_name.values(), team.platforms.base)
        assert (fast.nodes.selector, [item.key for item in fast.nodes.tolerations]) == (
            {"zone": "a", "gpu": "h100"},
            ["x", "y"],
        )
        assert plain.nodes == base.nodes == team.nodes != Nodes()
        assert fast.chosen == {"disk": "ssd", "zone": "a", "gpu": "h100"}
        assert (fast.variables, plain.variables) == ({"a": 1, "b": 3}, {"a": 1, "b": 2})
        assert (fast.path, base.path) == (("spec", "platforms", "fast"), ("spec",))
        assert (fast.is_plain, base.is_plain) == (False, False)
        platforms = team.platforms
        assert (platforms.default, platforms.of(None), platforms.of("plain"), platforms.of("x")) == (
            *(fast, fast, plain),
            base,
        )

    def test_an_unknown_default(self) -> None:
        fleet = fleet_of({"p.yaml": pool(spec="  default_platform: x\n  platforms: {fast: {}}\n")})
        assert [(item.what, item.name, item.known, item.context, item.path) for item in fleet.dangling] == [
            ("platform", "x", ("fast",), "pool team", ("spec", "default_platform"))
        ]
        assert fleet.pools[0].platforms.of(None) is fleet.pools[0].platforms.base

    def test_unknown_templates_and_validations(self) -> None:
        names = "  common_pod_template: [x]\n  common_resource_validations: [y]\n"
        own = "  platforms: {fast: {override_pod_template: [x], resource_validations: [y]}}\n"
        fleet = fleet_of({"p.yaml": pool(spec=names + own)})
        in_platform = ("spec", "platforms", "fast")
        assert [(item.what, item.name, item.known, item.path) for item in fleet.dangling] == [
            ("pod template", "x", (), ("spec", "common_pod_template", 0)),
            ("resource validation", "y", (), ("spec", "common_resource_validations", 0)),
            ("pod template", "x", (), (*in_platform, "override_pod_template", 0)),
            ("resource validation", "y", (), (*in_platform, "resource_validations", 0)),
        ]

    @pytest.mark.parametrize(
        ("text", "message", "hint"),
        [
            *(
                ("{{" + name + "}}", f"only OSMO's service knows {{{{{name}}}}}", "Remove it.")
                for name in ("WF_UUID", "WF_GROUP_UUID", "WF_TASK_UUID", "WF_RETRY_ID", "WF_SUBMITTED_BY")
            ),
            (
                "{{zome}}",
                "nothing gives {{zome}} a value",
                'Did you mean "zone"? Or give zome a value in common_default_variables.',
            ),
            (
                "{{x}}",
                "nothing gives {{x}} a value",
                "Known: other, zone. Or give x a value in common_default_variables.",
            ),
        ],
    )
    def test_tokens_without_a_value(self, text: str, message: str, hint: str) -> None:
        with pytest.raises(NotFilledError) as caught:
            filled(text, {"zone": "a", "other": "b"})
        assert (caught.value.message, caught.value.hint) == (message, hint)
        assert len(UNKNOWABLE) == 5

    @pytest.mark.parametrize(
        ("cache", "storage", "found"),
        [
            (None, "100Gi", "90Gi"),
            ("5Gi", "100Gi", "5Gi"),
            ("50%", "100Gi", "50Gi"),
            ("50%", None, "0"),
            ("x%", "100Gi", "0"),
            (None, "1.5Gi", "1Gi"),
        ],
    )
    def test_the_cache_of_a_task(self, cache: str | None, storage: str | None, found: str) -> None:
        """Its own, or what the pool says, which may be a share of the storage."""
        spec = f"  common_default_variables: {{USER_CACHE: {cache}}}\n" if cache else ""
        (team,) = fleet_of({"p.yaml": pool(spec=spec)}).pools
        task = Task(name="t", image="i")
        own = Task(name="t", image="i", cacheSize="7Gi")
        assert values_of(team.platforms.base, Resource(storage=storage), own, {})["USER_CACHE"] == "7Gi"
        assert values_of(team.platforms.base, Resource(storage=storage), task, {})["USER_CACHE"] == found

    def test_the_sample_by_which_a_platform_is_judged(self) -> None:
        (team,) = fleet_of({"p.yaml": pool()}).pools
        values = sample_task(team, team.platforms.base).values
        assert {name: values[name] for name in ("WF_ID", "WF_GROUP_NAME", "WF_TASK_NAME", "WF_PRIORITY")} == {
            "WF_ID": "workflow",
            "WF_GROUP_NAME": "group",
            "WF_TASK_NAME": "task",
            "WF_PRIORITY": "normal",
        }
        assert [values[f"USER_{name}"] for name in ("CPU", "GPU", "MEMORY", "STORAGE")] == [1, 1, "1Gi", "1Gi"]


class TestSet:
    """A set of two replicas: two cliques alone, and a scaling group of two cliques with three replicas, one needed."""

    def made(self, *, labels: str = "{kubectl-tas/pool: team}") -> FleetPodCliqueSet:
        cliques = clique("a", gpus=1, replicas=2) + clique("b") + clique("c", gpus=4) + clique("d", gpus=1, minimum=1)
        text = clique_set(
            "rack", cliques, scaling_group("sg", "d, c, x", replicas=3), named="racks", replicas=2, labels=labels
        )
        (item,) = fleet_of({"p.yaml": pool(), "t.yaml": topology(), "s.yaml": text}).pod_clique_sets
        return item

    def test_counts(self) -> None:
        item = self.made()
        assert [x.name for x in item.standalone] == ["a", "b"]
        assert [[x.name for x in group.cliques] for group in item.groups] == [["d", "c"]]
        assert (item.gang_count, item.base_size, item.size, item.is_previewed) == (6, 4, 16, True)
        assert [x.minimum for x in item.cliques] == [2, 1, 1, 1]
        assert [x.gpus for x in item.cliques] == [1, 0, 4, 1]
        assert item.submitted is not None
        assert item.submitted.asks.gpu == 2 * (2 + 3 * 5)
        groups = [item.group_of(x) for x in item.cliques]
        assert [group and group.name for group in groups] == [None, None, "sg", "sg"]

    def test_names(self) -> None:
        item = self.made()
        assert [*item.gang_names] == [
            f"chat-{replica}{rest}" for replica in range(2) for rest in ("", "-sg-0", "-sg-1")
        ]
        assert [(name, part.name) for name, part in item.pod_cliques] == [
            (f"chat-{replica}-{rest}", rest[-1])
            for replica in range(2)
            for rest in ("a", "b", "sg-0-d", "sg-0-c", "sg-1-d", "sg-1-c", "sg-2-d", "sg-2-c")
        ]
        assert [(name, group.name) for name, group in item.group_replicas(1)] == [
            (f"chat-1-sg-{number}", "sg") for number in range(3)
        ]
        assert (item.key, item.name, item.replicas) == (("default", "chat"), "chat", 2)
        assert (item.topology and item.topology.name, item.topology_name, item.spec.asks) == ("racks", "racks", True)

    def test_without_a_pool(self) -> None:
        item = self.made(labels="{}")
        assert (item.target, item.submitted, item.namespace) == (None, None, "default")
        assert item.backend is not None

    @pytest.mark.parametrize(
        ("files", "named", "found", "dangling"),
        [
            ({"t.yaml": topology()}, "racks", "racks", []),
            ({"t.yaml": topology()}, "others", None, [("topology of a set", "others", ("racks",))]),
            ({}, "grove-topology", None, []),
            ({"o.yaml": operator()}, "grove-topology", "grove-topology", []),
            ({"o.yaml": operator(enabled=False), "t.yaml": topology()}, "racks", None, []),
            ({"o.yaml": operator(enabled=False)}, "others", None, []),
            ({"t.yaml": topology()}, None, None, []),
        ],
    )
    def test_its_topology(
        self,
        files: dict[str, str],
        named: str | None,
        found: str | None,
        dangling: list[tuple[str, str, tuple[str, ...]]],
    ) -> None:
        fleet = fleet_of({"p.yaml": pool(), **files, "s.yaml": clique_set("rack" if named else None, named=named)})
        (item,) = fleet.pod_clique_sets
        assert (item.topology.name if item.topology else None) == found
        assert [(x.what, x.name, x.known) for x in fleet.dangling] == dangling

    @pytest.mark.parametrize(
        ("replicas", "scaled", "is_previewed"), [(500, 2, True), (501, 2, False), (1000, 1, True), (1001, 1, False)]
    )
    def test_the_most_gangs_of_a_preview(self, replicas: int, scaled: int, *, is_previewed: bool) -> None:
        groups = scaling_group("sg", "server", replicas=scaled)
        text = clique_set(groups=groups, replicas=replicas)
        (item,) = fleet_of({"p.yaml": pool(guarantee=1), "s.yaml": text}).pod_clique_sets
        assert item.is_previewed is is_previewed

    @pytest.mark.parametrize(("cliques", "is_previewed"), [(20, True), (21, False)])
    def test_the_most_cliques_of_a_preview(self, cliques: int, *, is_previewed: bool) -> None:
        text = clique_set(cliques="".join(clique(f"c{number}") for number in range(cliques)), replicas=1000)
        (item,) = fleet_of({"p.yaml": pool(guarantee=1), "s.yaml": text}).pod_clique_sets
        assert (item.size, item.is_previewed) == (1000 * cliques, is_previewed)


GROUP = """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: big}
spec:
  queue: QUEUE
  minMember: 1
MORE
---
apiVersion: v1
kind: Pod
metadata: {name: first, annotations: {pod-group-name: big}}
spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 2}}}]}
"""


class TestPodGroup:
    QUEUE = "osmo-pool-default-team--a"

    @pytest.mark.parametrize(
        ("more", "priority"),
        [
            ("", "LOW"),
            ("priorityClassName: osmo-high", "HIGH"),
            ("priorityClassName: osmo-low", "LOW"),
            ("priorityClassName: osmo-high, preemptibility: preemptible", "LOW"),
            ("priorityClassName: osmo-high, preemptibility: non-preemptible", "HIGH"),
            ("priorityClassName: osmo-low, preemptibility: non-preemptible", "NORMAL"),
            ("preemptibility: non-preemptible", "NORMAL"),
            ("priorityClassName: train", "LOW"),
            ("priorityClassName: build", "NORMAL"),
            ("priorityClassName: unknown", "LOW"),
        ],
    )
    def test_priority(self, more: str, priority: str) -> None:
        lines = "".join(f"  {line}\n" for line in more.split(", ") if line).rstrip("\n")
        text = GROUP.replace("QUEUE", self.QUEUE).replace("MORE", lines)
        fleet = fleet_of({"p.yaml": pool(), "s.yaml": subpool("a", 1), "w.yaml": text})
        (item,) = fleet.submitted_pod_groups
        assert (item.priority, item.target, item.kind, item.asks.gpu) == (priority, "team--a", "PodGroup", 2)
        assert (item.place.path, item.place.line, item.place.column) == ("w.yaml", 5, 10)

    def test_constraints_of_it_and_of_its_parts(self) -> None:
        asks = f"{{topology: racks, requiredTopologyLevel: {KEYS['rack']}}}"
        parts = f"  subGroups: [{{name: x, minMember: 1}}, {{name: y, minMember: 1, topologyConstraint: {asks}}}]"
        text = GROUP.replace("QUEUE", self.QUEUE).replace("MORE", f"  topologyConstraint: {asks}\n{parts}")
        fleet = fleet_of({"p.yaml": pool(), "s.yaml": subpool("a", 1), "t.yaml": topology(), "w.yaml": text})
        (item,) = fleet.pod_groups
        assert [path for _, path in item.sub_groups] == [("spec", "subGroups", 0), ("spec", "subGroups", 1)]
        assert [path for _, path in item.constraints] == [
            ("spec", "topologyConstraint"),
            ("spec", "subGroups", 1, "topologyConstraint"),
        ]

    @pytest.mark.parametrize(
        ("queue", "namespace", "cluster"),
        [
            ("osmo-pool-default-a--shared", "", "a"),
            ("osmo-pool-default-a--any", "", "a"),
            ("osmo-pool-default-a", "", "a"),
            ("other", "of-b", "b"),
            ("other", "of-a", "a"),
            ("other", "nowhere", None),
            ("osmo-pool-default-a--shared", "of-b", "a"),
        ],
    )
    def test_its_cluster(self, queue: str, namespace: str, cluster: str | None) -> None:
        files = {f"{x}.yaml": pool(x, spec=f"  backend: {x}\n  namespaces: [of-{x}]\n") for x in "ab"}
        text = GROUP.replace("QUEUE", queue).replace("MORE\n", "")
        if namespace:
            text = text.replace("name: big}\nspec", f"name: big, namespace: {namespace}}}\nspec")
        config = CONFIG.replace("SPEC", "backends: [{name: a}, {name: b}]")
        fleet = fleet_of({"tas.yaml": config, **files, "w.yaml": text})
        assert [item.backend.name for item in fleet.pod_groups] == ([cluster] if cluster else [])
        found = [item for item in fleet.dangling if item.what == "backend of a PodGroup"]
        assert [(item.name, item.known, item.path) for item in found] == (
            [] if cluster else [(queue, ("a", "b"), ("spec", "queue"))]
        )


class TestClusters:
    @pytest.mark.parametrize(
        ("scheduler", "grove", "name", "labels", "root", "writes"),
        [
            ("{}", '{version: "0.1.0-alpha.11"}', "kai-scheduler", 1, "osmo-default-default", False),
            ('{version: "0.5"}', "{}", "kai-scheduler", 2, "osmo-default-default", False),
            ("{type: default}", "{}", "default-scheduler", 0, None, False),
            ("{name: mine}", '{version: "0.1.0-alpha.12"}', "mine", 1, "osmo-default-default", True),
        ],
    )
    def test_features(
        self, scheduler: str, grove: str, name: str, labels: int, root: str | None, *, writes: bool
    ) -> None:
        text = CONFIG.replace("SPEC", f"backends: [{{name: a, scheduler: {scheduler}, grove: {grove}}}]")
        (item,) = fleet_of({"tas.yaml": text}).backends
        if item.is_kai and not item.has(Feature.DEEP_QUEUES):
            root = None
        assert (item.name, item.scheduler_name, len(item.queue_labels), item.root_queue("osmo")) == (
            "a",
            name,
            labels,
            root,
        )
        assert item.writes_pod_groups_of_sets is writes

    @pytest.mark.parametrize(
        ("kept", "root"), [("none", None), ("{name: top}", "top"), ("{labels: {a: b}}", "osmo-default-default")]
    )
    def test_root_queues(self, kept: str, root: str | None) -> None:
        (item,) = fleet_of({"tas.yaml": CONFIG.replace("SPEC", f"backends: [{{name: a, rootQueue: {kept}}}]")}).backends
        assert item.root_queue("osmo") == root
