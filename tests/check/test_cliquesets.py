"""Tests every row of Grove's validation: of its configuration, of cluster topologies and of PodCliqueSets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubectl_tas.model.topology_kinds import DOMAINS
from tests.support.cli import kubectl_tas, pool
from tests.support.grove import (
    ALL,
    binding,
    clique,
    clique_set,
    declare,
    findings,
    live_clique,
    live_set,
    live_topology,
    of,
    operator,
    rules,
    runs,
    scaling_group,
    state,
    topology,
    two_clusters,
)
from tests.support.history import commit
from tests.support.judged import told
from tests.support.marked import findings as in_places
from tests.support.marked import marked

TABLE = [
    ("rack", "host", True),
    ("rack", "rack", True),
    ("rack", "numa", True),
    ("host", "rack", False),
    ("zone", "block", True),
]
"""The example table of rule 2: parent, child, valid."""
LEVELS = {
    "set-scaling-group": ("set", "group"),
    "set-clique": ("set", "clique"),
    "scaling-group-clique": ("group", "clique"),
    "set-clique-of-scaling-group": ("set", "clique-of-group"),
}


def chain(parts: tuple[str, str], parent: str, child: str) -> str:
    """A set in which two parts ask for a domain."""
    asked = dict(zip(parts, (parent, child), strict=True))
    own = asked.get("clique") or asked.get("clique-of-group")
    groups = "" if parts == ("set", "clique") else scaling_group("workers", "server", asked.get("group"))
    return clique_set(asked.get("set"), clique("server", own), groups, named="all")


class TestRule1DomainExistence:
    @pytest.mark.parametrize("part", ["set", "scaling group", "clique"])
    @pytest.mark.parametrize("named", ["racks", None], ids=["referenced-topology", "default-topology"])
    @pytest.mark.parametrize("asked", ["{}", "{{pack: {{required: {}}}}}", "{{pack: {{preferred: {}}}}}"])
    def test_domains_must_be_levels_of_the_topology(
        self, repository: Path, part: str, named: str | None, asked: str
    ) -> None:
        def declared(domain: str) -> str:
            ask = {part: asked.format(domain)}
            group = scaling_group("workers", "server", ask.get("scaling group"))
            return clique_set(ask.get("set"), clique("server", ask.get("clique")), group, named=named)

        documents = (topology("racks", "zone rack host"), operator("zone rack host"))
        ((rule, message),) = findings(declare(repository, declared("block"), *documents))
        assert rule == "pack-domain-unknown"
        assert "rule 1" in message
        assert "block" in message
        assert "zone > rack > host" in message
        assert rules(declare(repository, declared("rack"), *documents)) == []

    @pytest.mark.parametrize("before", ["rack", None])
    def test_domains_of_a_deployed_set_cannot_be_changed(self, repository: Path, before: str | None) -> None:
        root = declare(repository, topology(), clique_set(before, clique("server", "host"), named="racks"))
        commit(root)
        assert rules(root, "--base", "HEAD") == []
        declare(root, topology(), clique_set("zone", clique("server", "host"), named="racks"))
        ((rule, message),) = findings(root, "--base", "HEAD")
        assert rule == "set-constraint-changed"
        assert f"from {before or 'none'} to zone" in message

    def test_the_other_spelling_is_no_change(self, repository: Path) -> None:
        root = declare(repository, topology(), clique_set("rack", named="racks"))
        commit(root)
        declare(root, topology(), clique_set("{topologyName: racks, pack: {required: rack}}"))
        assert rules(root, "--base", "HEAD") == []

    def test_a_set_that_the_cluster_does_not_have_may_change(self, repository: Path, tmp_path: Path) -> None:
        root = declare(repository, topology(), clique_set("rack", named="racks"))
        commit(root)
        declare(root, topology(), clique_set("zone", named="racks"))
        absent = state(tmp_path, live_topology(), live_set("other"))
        assert rules(root, "--base", "HEAD", "--cluster-state", absent) == []
        present = state(tmp_path, live_topology(), live_set())
        assert rules(root, "--base", "HEAD", "--cluster-state", present) == ["set-constraint-changed"]

    def test_without_any_topology_the_hint_asks_for_one(self, repository: Path) -> None:
        root = declare(repository, clique_set("rack", named="racks"))
        assert "= help: Declare a ClusterTopology of that name." in kubectl_tas("validate", "-C", root).out


class TestRule2HierarchicalStrictness:
    @pytest.mark.parametrize(("parent", "child", "valid"), TABLE, ids=lambda value: str(value))
    @pytest.mark.parametrize("parts", LEVELS.values(), ids=LEVELS)
    @pytest.mark.parametrize("spelling", ["{}", "{{pack: {{required: {}}}}}"], ids=["packDomain", "pack.required"])
    def test_the_table(
        self, repository: Path, parts: tuple[str, str], spelling: str, parent: str, child: str, valid: bool
    ) -> None:
        declared = chain(parts, spelling.format(parent), spelling.format(child))
        found = findings(declare(repository, topology("all", f"{ALL} numa"), declared))
        # KAI takes no level below a host, which is another matter than the hierarchy.
        found = [item for item in found if item[0] != "hostname-not-last"]
        assert [rule for rule, _ in found] == ([] if valid else ["pack-hierarchy"])
        for _, message in found:
            assert "rule 2" in message
            assert f"one {child}" in message
            assert f"one {parent}" in message
            assert "rack > host" in message

    def test_the_nearest_parent_is_named(self, repository: Path) -> None:
        declared = clique_set("block", clique("server", "zone"), scaling_group("workers", "server", "rack"))
        result = kubectl_tas("validate", "-C", declare(repository, operator(), declared))
        assert result.out.count("[pack-hierarchy]") == 1
        assert 'but its scaling group "workers" for one rack' in result.out
        assert "workflows/1.yaml:12:40" in result.out

    def test_the_help_satisfies_every_parent(self, repository: Path) -> None:
        declared = clique_set("host", clique("server", "zone"), scaling_group("workers", "server", "rack"))
        result = kubectl_tas("validate", "-C", declare(repository, operator(), declared))
        assert result.out.count("[pack-hierarchy]") == 2
        assert "Ask for host here, or ask for a broader domain above." in result.out
        assert "Ask for rack" not in result.out

    def test_the_help_does_not_lead_into_another_rule(self, repository: Path) -> None:
        declared = clique_set(
            "{pack: {preferred: rack}}", clique("server", "{pack: {required: host, preferred: zone}}")
        )
        result = kubectl_tas("validate", "-C", declare(repository, operator(), declared))
        assert "= help: Leave it out, or ask for a broader domain above." in result.out
        assert 'the preferred level "zone" is coarser than the required "host"' in result.out

    def test_the_help_prefers_a_domain_within_the_required_one(self, repository: Path) -> None:
        """What the clique itself requires is as narrow as what the set prefers, and its own domain is no narrower."""
        declared = clique_set(
            "{pack: {preferred: rack}}", clique("server", "{pack: {required: rack, preferred: zone}}")
        )
        result = kubectl_tas("validate", "-C", declare(repository, operator(), declared))
        assert "= help: Ask for host here, or ask for a broader domain above." in result.out

    def test_the_order_of_the_topology_counts(self, repository: Path) -> None:
        declared = clique_set("rack", clique("server", "block"), named="odd")
        root = declare(repository, topology("odd", "rack block host"), declared)
        assert rules(root) == ["domain-order"]
        declare(root, topology("odd", "rack block host"), clique_set("block", clique("server", "rack"), named="odd"))
        assert sorted(rules(root)) == ["domain-order", "pack-hierarchy"]

    def test_what_is_preferred_binds_only_what_is_preferred(self, repository: Path) -> None:
        declared = clique_set(
            "{pack: {required: zone, preferred: rack}}",
            clique("a", "{pack: {required: block}}") + clique("b", "{pack: {preferred: block}}"),
        )
        ((rule, message),) = findings(declare(repository, operator(), declared))
        assert rule == "pack-hierarchy"
        assert 'clique "b"' in message

    @pytest.mark.parametrize(
        ("preferred", "found"), [("host", []), ("rack", ["constraint-order"]), ("zone", ["placement-order"])]
    )
    def test_preferred_is_narrower_than_required(self, repository: Path, preferred: str, found: list[str]) -> None:
        declared = clique_set(f"{{pack: {{required: rack, preferred: {preferred}}}}}")
        assert rules(declare(repository, operator(), declared)) == found

    @given(
        top=st.sampled_from([None, *DOMAINS[:-1]]),
        middle=st.sampled_from([None, *DOMAINS[:-1]]),
        low=st.sampled_from([None, *DOMAINS[:-1]]),
    )
    @settings(
        max_examples=60,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    def test_any_chain(self, tmp_path: Path, top: str | None, middle: str | None, low: str | None) -> None:
        declared = clique_set(top, clique("server", low), scaling_group("workers", "server", middle))
        found = rules(declare(tmp_path / "repository", operator(), declared))
        chain = [DOMAINS.index(domain) for domain in (top, middle, low) if domain is not None]
        assert (found == []) == (chain == sorted(chain))
        assert set(found) <= {"pack-hierarchy"}


class TestRule3TopologyReference:
    def test_on_create_the_topology_must_exist(self, repository: Path) -> None:
        root = declare(repository, topology("racks"), clique_set("rack", named="rack"))
        ((rule, message),) = findings(root)
        assert rule == "set-topology-unknown"
        assert "rule 3" in message
        assert rules(declare(root, topology("racks"), clique_set("rack", named="racks"))) == []

    def test_on_update_the_new_topology_must_exist(self, repository: Path) -> None:
        root = declare(repository, topology("racks"), clique_set("rack", named="racks"))
        commit(root)
        declare(root, topology("racks"), clique_set("rack", named="other"))
        assert set(rules(root, "--base", "HEAD")) == {"set-topology-unknown", "set-reference-changed"}
        declare(root, topology("racks"), topology("other"), clique_set("rack", named="other"))
        assert set(rules(root, "--base", "HEAD")) == {"set-reference-changed"}

    @pytest.mark.parametrize(
        ("pods", "found"),
        [(None, ["set-reference-changed"]), (0, []), (1, ["set-reference-locked"])],
        ids=["unknown", "none", "some"],
    )
    def test_on_update_no_pod_may_be_scheduled(
        self, repository: Path, tmp_path: Path, pods: int | None, found: list[str]
    ) -> None:
        two = (topology("racks"), topology("other"))
        root = declare(repository, *two, clique_set("rack", named="racks"))
        commit(root)
        declare(root, *two, clique_set("rack", named="other"))
        cliques = [] if pods is None else [live_clique(pods), live_clique(0)]
        file = state(tmp_path, live_set(), live_topology("racks"), live_topology("other"), *cliques)
        assert rules(root, "--base", "HEAD", "--cluster-state", file) == found

    @pytest.mark.parametrize("part", ["set", "scaling group", "clique", None])
    def test_a_named_topology_needs_a_constraint(self, repository: Path, part: str | None) -> None:
        asked = {part: "rack"}
        group = scaling_group("workers", "server", asked.get("scaling group"))
        declared = clique_set(asked.get("set"), clique("server", asked.get("clique")), group, named="racks")
        found = rules(declare(repository, topology(), declared))
        assert found == ([] if part else ["set-topology-unused"])

    def test_a_topology_named_in_the_later_spelling_needs_a_constraint(self, repository: Path) -> None:
        root = declare(repository, topology(), clique_set("{topologyName: racks}"))
        assert rules(root) == ["set-topology-unused"]
        declare(root, topology(), clique_set("{topologyName: racks}", clique("server", "{pack: {required: rack}}")))
        assert rules(root) == []

    @pytest.mark.parametrize(("enabled", "found"), [(False, {"tas-disabled"}), (True, {"set-topology-unused"})])
    def test_a_named_topology_needs_scheduling_by_topology(
        self, repository: Path, enabled: bool, found: set[str]
    ) -> None:
        documents = (operator(enabled=enabled), topology(), clique_set(named="racks"))
        assert set(rules(declare(repository, *documents))) == found
        asking = (operator(enabled=enabled), topology(), clique_set("rack", named="racks"))
        assert set(rules(declare(repository, *asking))) == found - {"set-topology-unused"}

    @pytest.mark.parametrize("part", ["set", "scaling group", "clique"])
    def test_a_constraint_needs_scheduling_by_topology(self, repository: Path, part: str) -> None:
        asked = {part: "rack"}
        group = scaling_group("workers", "server", asked.get("scaling group"))
        declared = clique_set(asked.get("set"), clique("server", asked.get("clique")), group)
        ((rule, message),) = findings(declare(repository, operator(enabled=False), declared))
        assert rule == "tas-disabled"
        assert "rule 3" in message
        assert rules(declare(repository, operator(enabled=True), declared)) == []

    def test_a_topology_that_is_not_there_is_no_second_error(self, repository: Path) -> None:
        declared = clique_set("rack", named="elsewhere")
        assert set(rules(declare(repository, operator(enabled=False), declared))) == {"tas-disabled"}
        assert rules(declare(repository, operator(), declared)) == ["set-topology-unknown"]

    def test_a_set_without_constraints_needs_nothing(self, repository: Path) -> None:
        assert rules(declare(repository, operator(enabled=False), clique_set())) == []

    def test_one_topology_in_one_set(self, repository: Path) -> None:
        two = (topology("racks"), topology("other"))
        inside = clique("server", "{topologyName: other, pack: {required: rack}}")
        assert rules(declare(repository, *two, clique_set("zone", inside, named="racks"))) == ["set-topology-mixed"]
        assert rules(declare(repository, *two, clique_set("zone", inside, named="other"))) == []

    @pytest.mark.parametrize(
        ("asked", "cliques", "groups", "found"),
        [
            ("zone", clique("server", "{topologyName: racks, pack: {required: rack}}"), "", ["default"]),
            (None, clique("server", "{topologyName: racks, pack: {required: rack}}"), "", []),
            (None, clique("a", "{topologyName: racks, pack: {required: rack}}") + clique("b", "host"), "", ["b"]),
            (None, clique("server", "host"), scaling_group("g", "server", "{topologyName: racks}"), []),
            ("{topologyName: racks}", clique("server", "host"), scaling_group("g", "server", "rack"), []),
        ],
        ids=["child only", "nothing above", "sibling", "from the group", "from the set"],
    )
    def test_a_name_is_inherited_downwards_only(
        self, repository: Path, asked: str | None, cliques: str, groups: str, found: list[str]
    ) -> None:
        root = declare(repository, operator(), topology(), clique_set(asked, cliques, groups))
        assert rules(root) == ["set-topology-mixed" for _ in found]

    def test_the_default_topology_comes_from_the_operator(self, repository: Path) -> None:
        assert rules(declare(repository, clique_set("rack"))) == ["set-topology-default"]
        assert rules(declare(repository, clique_set("rack"), operator())) == []
        broken = operator().replace("enabled: true", "enabled: maybe")
        assert rules(declare(repository, clique_set("rack"), broken)) == ["wrong-type"]


class TestOperatorConfiguration:
    def test_enabled_needs_a_level_before_alpha_9(self, repository: Path) -> None:
        assert rules(declare(runs(repository, "0.1.0-alpha.8"), operator(""))) == ["operator-levels"]
        assert rules(declare(repository, operator("zone"))) == []
        assert rules(declare(runs(repository, "0.1.0-alpha.9"), operator(""))) == []

    @pytest.mark.parametrize("domain", [*DOMAINS, "row", "hostname"])
    def test_domains_are_free_from_alpha_9(self, repository: Path, domain: str) -> None:
        text = operator("host").replace("domain: host", f"domain: {domain}")
        assert rules(declare(runs(repository, "0.1.0-alpha.9"), text)) == []
        old = rules(declare(runs(repository, "0.1.0-alpha.8"), text))
        assert old == ([] if domain in DOMAINS else ["grove-unsupported"])

    @pytest.mark.parametrize(
        ("profile", "found"),
        [
            ("{name: kai-scheduler, config: {createTopologyResources: false}}", []),
            ("{name: kai-scheduler, config: {more: 1}}", ["set-field"]),
            ("{name: kai-scheduler, config: {createTopologyResource: false}}", ["set-field"]),
            ("{name: kai-scheduler, confg: {}}", ["set-field"]),
        ],
    )
    def test_a_misspelt_field_of_a_profile_is_named(self, repository: Path, profile: str, found: list[str]) -> None:
        assert rules(declare(repository, operator(more=f"scheduler: {{profiles: [{profile}]}}\n"))) == found

    def test_a_misspelt_block_is_named(self, repository: Path) -> None:
        text = operator().replace("topologyAwareScheduling", "topologyAwareSchedulin")
        found = findings(declare(repository, text, clique_set("rack")))
        assert [rule for rule, _ in found] == ["set-field", "tas-disabled"]
        result = kubectl_tas("validate", "-C", repository)
        assert 'Did you mean "topologyAwareScheduling"?' in result.out
        assert "the OperatorConfiguration has no topologyAwareScheduling (topologies/0.yaml:2:7)" in result.out

    @pytest.mark.parametrize("what", ["domain", "key"])
    def test_levels_are_unique(self, repository: Path, what: str) -> None:
        value = "zone" if what == "domain" else "topology.kubernetes.io/zone"
        other = "block" if what == "domain" else "example.com/block"
        text = operator("zone block")
        assert rules(declare(repository, text)) == []
        assert rules(declare(repository, text.replace(f"{what}: {other}", f"{what}: {value}"))) == ["level-duplicate"]

    def test_the_host_has_the_label_that_the_kubelet_sets(self, repository: Path) -> None:
        text = operator("zone host")
        assert rules(declare(repository, text)) == []
        assert rules(declare(repository, text.replace("kubernetes.io/hostname", "a/node"))) == ["host-label"]

    def test_disabled_is_not_checked(self, repository: Path) -> None:
        assert rules(declare(repository, operator("", enabled=False))) == []
        assert rules(declare(repository, operator("zone zone", enabled=False))) == []

    def test_left_out_means_disabled(self, repository: Path) -> None:
        text = "apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\nlogLevel: info\n"
        assert rules(declare(repository, text, clique_set("rack"))) == ["tas-disabled"]

    def test_there_is_one(self, repository: Path) -> None:
        assert rules(declare(repository, operator(), operator())) == ["name-duplicate"]


class TestClusterTopology:
    @pytest.mark.parametrize(
        ("before", "after", "found"),
        [
            ("name: racks", "name: grove-topology", []),
            ("domain: zone", "domain: row", []),
            ("domain: zone", "domain: row-", []),
            ("domain: zone", "domain: Row", ["invalid-value"]),
            ("domain: zone", "domain: 2nd", ["invalid-value"]),
            ("domain: rack", "domain: zone", ["level-duplicate"]),
            ("key: example.com/rack", "key: topology.kubernetes.io/zone", ["level-duplicate"]),
            ("key: example.com/rack", "key: ''", ["invalid-value"]),
            ("key: example.com/rack", f"key: {'r' * 64}", ["invalid-value"]),
            ("key: example.com/rack", f"key: {'r' * 63}", []),
            ("key: example.com/rack", "key: a/b/c", ["invalid-value"]),
            ("key: example.com/rack", "key: -rack", ["invalid-value"]),
            ("domain: rack, key: example.com/rack", "domain: rack", ["missing-field"]),
        ],
    )
    def test_the_rules_of_its_definition(self, repository: Path, before: str, after: str, found: list[str]) -> None:
        text = topology("racks", "zone rack host")
        assert rules(declare(repository, text)) == []
        assert before in text
        assert rules(declare(repository, text.replace(before, after))) == found

    def test_it_has_a_level(self, repository: Path) -> None:
        assert rules(declare(repository, topology("racks", ""))) == ["invalid-value"]
        assert rules(declare(repository, topology("racks", "host"))) == []

    def test_it_has_at_most_seven_before_alpha_9(self, repository: Path) -> None:
        eight = topology("racks", ALL).replace(
            "{domain: block", "{domain: a, key: a}, {domain: b, key: b}, {domain: block"
        )
        assert rules(declare(repository, eight)) == []
        found = findings(declare(runs(repository, "0.1.0-alpha.8"), eight))
        assert [rule for rule, _ in found] == ["grove-unsupported"] * 3
        assert [message for _, message in found if message.startswith("the level 8 needs Grove 0.1.0-alpha.9")]

    @pytest.mark.parametrize(("version", "found"), [("0.1.0-alpha.8", ["name-reserved"]), ("0.1.0-alpha.9", [])])
    def test_the_operators_own_is_an_ordinary_one_from_alpha_9(
        self, repository: Path, version: str, found: list[str]
    ) -> None:
        root = declare(runs(repository, version), topology("grove-topology"), clique_set("rack"))
        assert rules(root) == found

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            (topology("racks", "host numa"), "hostname-not-last"),
            (topology().replace("example.com", "Example.com"), "level-label-invalid"),
        ],
    )
    def test_what_kai_refuses_counts_only_where_it_is_asked(self, repository: Path, text: str, found: str) -> None:
        """Levels below a host, and labels that no node can carry, are KAI's own limits."""
        off = "scheduler: {profiles: [{name: kai-scheduler, config: {createTopologyResources: false}}]}\n"
        assert rules(declare(repository, operator(), text)) == [found]
        assert rules(declare(repository, operator(more=off), text)) == []
        bound = text.replace("kind: ClusterTopology", "kind: ClusterTopologyBinding") + binding()
        assert rules(declare(repository, operator(), bound)) == []

    @pytest.mark.parametrize(("name", "found"), [("by-hand", []), ("by.hand", []), ("By Hand", ["name-invalid"])])
    def test_a_binding_names_an_object(self, repository: Path, name: str, found: list[str]) -> None:
        assert rules(declare(repository, topology(spec=binding(name)))) == found

    def test_its_later_name(self, repository: Path) -> None:
        text = topology().replace("kind: ClusterTopology", "kind: ClusterTopologyBinding")
        assert rules(declare(repository, text, clique_set("rack", named="racks"))) == []


class TestNames:
    def test_a_set_is_there_once(self, repository: Path) -> None:
        assert rules(declare(repository, clique_set(), clique_set())) == ["name-duplicate"]

    @pytest.mark.parametrize(
        ("cliques", "groups", "name"),
        [
            (clique("g-0-x") + clique("x"), scaling_group("g", "x"), "chat-0-g-0-x"),
            (clique("g-0") + clique("x"), scaling_group("g", "x", "rack"), "chat-0-g-0"),
            (clique("g-0") + clique("x"), scaling_group("g", "x"), None),
            (clique("0-c") + clique("c"), scaling_group("g", "0-c") + scaling_group("g-0", "c"), "chat-0-g-0-0-c"),
        ],
        ids=["clique", "replica", "replica without a SubGroup", "two groups"],
    )
    def test_sub_groups_do_not_meet(self, repository: Path, cliques: str, groups: str, name: str | None) -> None:
        found = findings(declare(repository, operator(), clique_set("zone", cliques, groups)))
        expected = f'two sources lead to the SubGroup "{name}"'
        assert found == ([("name-collision", expected)] if name else [])

    def test_cliques_of_two_sets_do_not_meet(self, repository: Path) -> None:
        two = (clique_set(None, clique("0-b"), name="a"), clique_set(None, clique("b"), name="a-0"))
        assert findings(declare(repository, *two)) == [("name-collision", 'two sources lead to the SubGroup "a-0-0-b"')]

    def test_gangs_of_two_sets_do_not_meet(self, repository: Path) -> None:
        group = scaling_group("g", "server", replicas=2)
        ((rule, message),) = findings(
            declare(repository, clique_set(None, "", group, name="a"), clique_set(name="a-0-g"))
        )
        assert rule == "name-collision"
        assert 'PodGroup "a-0-g-0"' in message


def ordered(kind: str, after: str) -> str:
    """A set of the cliques a and b, of which the second starts after others."""
    start = f"    cliqueStartupType: {kind}\n" if kind else ""
    text = clique_set(cliques=clique("a") + clique("b").replace("{replicas", f"{{startsAfter: {after}, replicas"))
    return text.replace("    cliques:\n", f"{start}    cliques:\n")


SET_PATH = "workflows/0.yaml"


class TestStartup:
    @pytest.mark.parametrize("kind", ["", "CliqueStartupTypeInOrder", "CliqueStartupTypeAnyOrder"])
    def test_what_a_clique_starts_after_is_read_in_the_explicit_order_alone(self, repository: Path, kind: str) -> None:
        text, place = marked(SET_PATH, ordered(kind, "[a]").replace("startsAfter", "^startsAfter"))
        message = "startsAfter is read with cliqueStartupType: CliqueStartupTypeExplicit only, so it does nothing"
        found = (place, "set-field", message, "Write that, or remove it.")
        assert in_places(declare(repository, text)) == [found]

    @pytest.mark.parametrize(
        ("kind", "after"), [("CliqueStartupTypeExplicit", "[a]"), ("CliqueStartupTypeInOrder", "[]")]
    )
    def test_an_order_that_is_read(self, repository: Path, kind: str, after: str) -> None:
        assert rules(declare(repository, ordered(kind, after))) == []

    def test_a_name_that_is_unknown_is_one_finding(self, repository: Path) -> None:
        text, place = marked(SET_PATH, ordered("CliqueStartupTypeInOrder", "[^c, a]"))
        message = 'the clique "b" starts after "c", which is no other clique of the set'
        assert in_places(declare(repository, text)) == [(place, "clique-unknown", message, "Other cliques: a.")]

    @pytest.mark.parametrize(
        ("kind", "hint"),
        [
            ("InOrder", "Write CliqueStartupTypeInOrder."),
            ("CliqueStartupTypeinorder", 'Did you mean "CliqueStartupTypeInOrder"?'),
            ("Parallel", ""),
        ],
    )
    def test_an_order_that_there_is_not(self, repository: Path, kind: str, hint: str) -> None:
        text, place = marked(SET_PATH, ordered(f"^{kind}", "[]"))
        ((where, rule, message, help_),) = in_places(declare(repository, text))
        assert (where, rule, help_) == (place, "invalid-value", hint)
        assert message.endswith(f'CliqueStartupTypeExplicit, not "{kind}"')


class TestMinimums:
    @pytest.mark.parametrize(
        ("replicas", "minimum", "hint"),
        [(0, 1, "Raise replicas, or leave the part out."), (2, 3, "Use a number from 1 to 2.")],
    )
    def test_a_scaling_group_cannot_have_more(self, repository: Path, replicas: int, minimum: int, hint: str) -> None:
        group = scaling_group("workers", "server", replicas=replicas, minimum=minimum)
        text, place = marked(SET_PATH, clique_set(groups=group.replace("minAvailable: ", "minAvailable: ^")))
        message = f'the scaling group "workers" needs minAvailable {minimum} of {replicas} replicas'
        assert in_places(declare(repository, text)) == [(place, "clique-minimum", message, hint)]


class TestDefaultTopology:
    def test_a_set_of_an_unknown_pool_uses_it(self, repository: Path) -> None:
        text = clique_set("rack", labels=of("nobody"))
        found = [item for item in in_places(two_clusters(repository, text)) if item[1] == "set-topology-default"]
        message = "the PodCliqueSet uses grove-topology, which is not declared here, so its domains are not checked"
        hint = "Add Grove's OperatorConfiguration, or name a cluster topology."
        assert [item[2:] for item in found] == [(message, hint)]

    def test_a_set_that_asks_for_nothing_does_not_use_it(self, repository: Path) -> None:
        assert rules(declare(repository, clique_set(named="grove-topology"))) == ["set-topology-unused"]
        assert rules(declare(repository, clique_set())) == []


def test_an_unknown_field_at_the_root_of_a_set(repository: Path) -> None:
    text, place = marked(SET_PATH, clique_set() + "^specs: {}\n")
    message = 'Grove has no field "specs" in a PodCliqueSet, and drops it'
    assert in_places(declare(repository, text)) == [(place, "set-field", message, 'Did you mean "spec"?')]


OPERATOR = """\
apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
runtimeClientConnection: {qps: 100, burst: 150, contentType: application/json, acceptContentTypes: application/json}
leaderElection:
  {enabled: true, leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s, resourceLock: leases, resourceName: grove,
  resourceNamespace: grove-system}
controllers:
  podCliqueSet: {concurrentSyncs: 3}
  podClique: {concurrentSyncs: 3}
  podCliqueScalingGroup: {concurrentSyncs: 2}
  podGang: {concurrentSyncs: 2}
server:
  webhooks:
    {bindAddress: 0.0.0.0, port: 9443, serverCertDir: /etc/grove, secretName: grove-webhook, certProvisionMode: auto}
  healthProbes: {bindAddress: 0.0.0.0, port: 9444}
  metrics: {bindAddress: 0.0.0.0, port: 9445}
debugging: {enableProfiling: true, pprofBindHost: 127.0.0.1, pprofBindPort: 2753}
logLevel: info
logFormat: json
authorizer: {enabled: true, exemptServiceAccountUserNames: [system:serviceaccount:kube-system:deployer]}
topologyAwareScheduling: {enabled: true, levels: [{domain: zone, key: topology.kubernetes.io/zone}]}
network: {autoMNNVLEnabled: true}
scheduler:
  defaultProfileName: kai-scheduler
  profiles:
  - {name: kai-scheduler, default: true, config: {createTopologyResources: true, gangScheduling: true}}
"""
"""All fields that the API reference of Grove has of its configuration."""
SET = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: chat, labels: {kubectl-tas/pool: team}}
spec:
  replicas: 1
  updateStrategy: {type: OnDelete}
  template:
    cliqueStartupType: CliqueStartupTypeExplicit
    priorityClassName: inference
    terminationDelay: 1h
    headlessServiceConfig: {publishNotReadyAddresses: true}
    resourceClaimTemplates: [{name: a, templateSpec: {spec: {devices: {requests: [{name: a}]}}}}]
    resourceSharing: [{name: a, namespace: b, scope: AllReplicas, filter: {childCliqueNames: [a, b]}}]
    cliques:
    - name: a
      labels: {a: b}
      annotations: {a: b}
      resourceSharing: [{name: a, scope: PerReplica}]
      spec: {roleName: a, replicas: 1, minAvailable: 1, podSpec: {containers: [{name: a, image: a}]}}
    - name: b
      spec:
        roleName: b
        replicas: 1
        startsAfter: [a]
        autoScalingConfig: {minReplicas: 1, maxReplicas: 1, metrics: []}
        podSpec: {containers: [{name: a, image: a}]}
    podCliqueScalingGroups:
    - name: g
      cliqueNames: [b]
      replicas: 1
      minAvailable: 1
      annotations: {a: b}
      resourceSharing: [{name: a, scope: PerReplica, filter: {childCliqueNames: [b]}}]
      scaleConfig: {minReplicas: 1, maxReplicas: 1, metrics: []}
"""


def fields_said(*files: str) -> list[str]:
    """What is said of fields that Grove does not have."""
    found = told({f"workflows/{index}.yaml": text for index, text in enumerate(files)} | {"pools/team.yaml": pool()})
    return [line for line in found if "set-field" in line]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", []),
        (
            "logFormat",
            "logFormt",
            [("19:1", "logFormt", "an OperatorConfiguration", 'Did you mean "logFormat"?')],
        ),
        (
            "network: {",
            "network: {port: 1, ",
            [("22:11", "port", "network of an OperatorConfiguration", "Move it to where it belongs.")],
        ),
        (
            "    cliques:",
            "    cliquez:\n    cliquesss: []\n    cliquessss: []\n    cliques:",
            [
                ("14:5", "cliquez", "spec.template of a PodCliqueSet", 'Did you mean "cliques"?'),
                ("15:5", "cliquesss", "spec.template of a PodCliqueSet", 'Did you mean "cliques"?'),
                ("16:5", "cliquessss", "spec.template of a PodCliqueSet", "Remove it, or waive the rule."),
            ],
        ),
        (
            "[{name: a, scope: PerReplica}]",
            "[{name: a, scope: PerReplica, filter: {}}]",
            [
                (
                    "18:54",
                    "filter",
                    "spec.template.cliques[0].resourceSharing[0] of a PodCliqueSet",
                    "Move it to where it belongs.",
                )
            ],
        ),
    ],
    ids=["all", "a slip", "a field of another mapping", "two slips and three", "a filter of a clique"],
)
def test_fields_of_grove(old: str, new: str, said: list[tuple[str, str, str, str]]) -> None:
    lines = [
        f'{place} set-field: Grove has no field "{name}" in {of}, and drops it ({hint})'
        for place, name, of, hint in said
    ]
    found = fields_said(OPERATOR.replace(old, new, 1), SET.replace(old, new, 1))
    assert [line.partition(".yaml:")[2] for line in found] == lines


def of_set(text: str, *topologies: str) -> list[str]:
    """All that is said of a PodCliqueSet beside these topologies and configurations."""
    files = {f"topologies/{index}.yaml": topology for index, topology in enumerate(topologies)}
    found = told({"pools/team.yaml": pool(), **files, "workflows/w.yaml": text})
    return [line.removeprefix("workflows/") for line in found]


def three(top: str | None, middle: str | None, low: str | None) -> str:
    """A set, its scaling group and the clique in that, with their constraints in the lines 10, 17 and 13."""
    return clique_set(top, clique("server", low), scaling_group("workers", "server", middle), named="racks")


RACKS = topology("racks", "zone rack host")
BARE = "apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\n"
WORDS: dict[str, tuple[str, ...]] = {
    "unknown domains of all parts": (
        three("{pack: {required: row, preferred: pod}}", "{packDomain: row}", "{pack: {preferred: row}}"),
        RACKS,
    ),
    "domains that are broader below": (
        three("{pack: {required: host, preferred: host}}", "rack", "{pack: {required: zone, preferred: zone}}"),
        RACKS,
    ),
    "preferred domains that are broader below": (
        three(
            "{pack: {required: zone, preferred: rack}}",
            "{pack: {required: rack, preferred: host}}",
            "{pack: {required: host, preferred: rack}}",
        ),
        RACKS,
    ),
    "constraints of no domain and of two": (
        three("{}", "{pack: {}}", "{packDomain: rack, pack: {required: rack}}"),
        RACKS,
    ),
    "a constraint of no domain in no topology": (clique_set("{}", clique("server", "{topologyName: a}")),),
    "what scheduling by topology would do": (
        three("{pack: {preferred: rack}}", "rack", "{pack: {required: rack}}"),
        RACKS,
        operator(enabled=False),
    ),
    "what nobody has turned on": (
        three("zone", None, None),
        RACKS,
        BARE,
    ),
    "a name that nothing uses": (
        three(None, None, None),
        RACKS,
    ),
    "three names": (
        three("rack", "{topologyName: b, pack: {required: rack}}", "{topologyName: a, pack: {required: rack}}"),
        RACKS,
        topology("a"),
        topology("b"),
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_all_that_is_said_of_a_set(name: str, snapshot: Any) -> None:
    assert "\n".join(of_set(*WORDS[name])) == snapshot
