"""Tests the tree algorithm: OSMO's steps 1 to 7, and the points that its proposal leaves open."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from kubectl_tas.model.labels import MAX_LABEL
from kubectl_tas.resolve.workflows import Requirement
from tests.support.cli import kubectl_tas, pool, write
from tests.support.pyyaml import safe_load_all
from tests.support.tree import LEVELS, Constraint, Node, Tree, build, requirement


def task(*asked: str) -> list[Requirement]:
    """A task's requirements, each as ``level=group``, or ``level~group`` where it is only preferred."""
    found = []
    for index, text in enumerate(asked):
        match = re.fullmatch(r"(\w+)([=~])(.*)", text)
        assert match is not None
        level, kind, group = match.groups()
        found.append(requirement(LEVELS.index(level), group, group, kind == "=", ("topology", index)))
    return found


def shape(gang: Tree) -> list[str]:
    """The gang as lines: what holds for all of it, then every SubGroup, each below its parent's indent."""
    lines, depths = [_line("all", gang.constraint, gang.members)], {}
    for node in gang.nodes:
        depths[node.name] = depths[node.parent] + 1 if node.parent else 1
        lines.append("  " * depths[node.name] + _line(node.name, node.constraint, node.members))
    return lines


def _line(name: str, constraint: Constraint | None, members: int | None) -> str:
    parts = [name]
    if constraint is not None and constraint.required is not None:
        parts.append(f"={LEVELS[constraint.required]}")
    if constraint is not None and constraint.preferred is not None:
        parts.append(f"~{LEVELS[constraint.preferred]}")
    return " ".join([*parts, *([] if members is None else [str(members)])])


class TestSteps:
    """The seven steps, in their order."""

    def test_1_only_levels_that_tasks_name_are_at_play(self) -> None:
        assert shape(build([task("clique=a", "zone=z")] * 2)) == ["all =clique 2"]
        assert shape(build([task("clique=a", "zone=z"), task("clique=b", "zone=z")])) == [
            "all =zone",
            "  z-a =clique 1",
            "  z-b =clique 1",
        ]

    def test_1_levels_are_sorted_from_coarsest_to_finest(self) -> None:
        assert shape(build([task("rack=r", "zone=a"), task("zone=b", "rack=r")])) == [
            "all",
            "  a =zone",
            "    a-r =rack 1",
            "  b =zone",
            "    b-r =rack 1",
        ]
        assert shape(build([task("l8=b", "spine=a"), task("l8=b", "spine=b")]))[1:3] == ["  a =spine", "    a-b =l8 1"]

    def test_2_each_group_at_a_level_is_a_node(self) -> None:
        gang = build([task("rack=a"), task("rack=b"), task("rack=a"), task("rack=c")])
        assert shape(gang) == ["all", "  a =rack 2", "  b =rack 1", "  c =rack 1"]

    def test_2_one_name_under_two_parents_is_two_nodes(self) -> None:
        gang = build([task("zone=z1", "rack=r1"), task("zone=z2", "rack=r1")])
        assert [node.name for node in gang.nodes] == ["z1", "z1-r1", "z2", "z2-r1"]

    def test_3_the_finest_shared_level_holds_for_the_whole_gang(self) -> None:
        gang = build([task("zone=z", "spine=s", "rack=a"), task("zone=z", "spine=s", "rack=b")])
        assert shape(gang) == ["all =spine", "  z-s-a =rack 1", "  z-s-b =rack 1"]

    def test_3_the_walk_ends_where_the_tree_branches(self) -> None:
        gang = build([task("zone=z", "spine=a", "rack=r"), task("zone=z", "spine=b", "rack=r")])
        assert shape(gang) == [
            "all =zone",
            "  z-a =spine",
            "    z-a-r =rack 1",
            "  z-b =spine",
            "    z-b-r =rack 1",
        ]

    def test_3_a_single_child_below_a_branch_stays_a_subgroup(self) -> None:
        gang = build([task("zone=a", "rack=r"), task("zone=a", "rack=r"), task("zone=b", "rack=s")])
        assert shape(gang) == ["all", "  a =zone", "    a-r =rack 2", "  b =zone", "    b-s =rack 1"]

    def test_4_branches_name_their_parent_and_their_level(self) -> None:
        gang = build([task("zone=a", "rack=x"), task("zone=a", "rack=y"), task("zone=b", "rack=x")])
        zone, rack = LEVELS.index("zone"), LEVELS.index("rack")
        assert gang.nodes == (
            Node("a", None, Constraint(zone, None), None),
            Node("a-x", "a", Constraint(rack, None), 1),
            Node("a-y", "a", Constraint(rack, None), 1),
            Node("b", None, Constraint(zone, None), None),
            Node("b-x", "b", Constraint(rack, None), 1),
        )

    def test_5_a_task_without_requirements_goes_into_a_catch_all_of_preferred_levels(self) -> None:
        gang = build([task("rack=a"), task(), task("rack=b"), task()])
        assert shape(gang) == ["all", "  a =rack 1", "  zz-any ~rack 2", "  b =rack 1"]
        assert gang.placed == ("a", "zz-any", "b", "zz-any")

    def test_5_a_task_with_fewer_levels_is_padded(self) -> None:
        gang = build([task("zone=z1", "rack=r1"), task("zone=z1"), task("zone=z2")])
        assert shape(gang) == [
            "all",
            "  z1 =zone",
            "    z1-r1 =rack 1",
            "    z1-zz-any ~rack 1",
            "  z2 =zone",
            "    z2-zz-any ~rack 1",
        ]

    def test_6_without_subgroups_the_gang_counts_its_tasks(self) -> None:
        gang = build([task("clique=default")] * 4)
        assert (gang.members, gang.nodes, gang.placed) == (4, (), (None,) * 4)

    def test_6_with_subgroups_only_leaves_count(self) -> None:
        gang = build([task("zone=a", "rack=x"), task("zone=a", "rack=x"), task("zone=b", "rack=x")])
        assert gang.members is None
        assert {node.name: node.members for node in gang.nodes} == {"a": None, "a-x": 2, "b": None, "b-x": 1}

    def test_7_every_task_knows_its_leaf(self) -> None:
        gang = build([task("rack=b"), task("rack=a"), task("rack=b")])
        assert gang.placed == ("b", "a", "b")

    def test_7_pods_bear_their_gang_and_their_leaf(self, tmp_path: Path) -> None:
        keys = "  topology_keys: [{key: rack, label: example.com/rack}]\n"
        tasks = "".join(f"  - {{name: {name}, image: busybox, resource: {name}}}\n" for name in ("a", "b"))
        resources = "".join(f"  {name}: {{topology: [{{key: rack, group: {name}}}]}}\n" for name in ("a", "b"))
        group = "workflow:\n  name: w\n  pool: team\n  groups:\n  - name: g\n    tasks:\n"
        workflow = f"{group}{tasks.replace('  - ', '    - ')}resources:\n{resources}"
        root = write(tmp_path, {"pools/team.yaml": pool(spec=keys), "workflows/w.yaml": workflow})
        rendered = list(safe_load_all(kubectl_tas("render", "--to", "-", "-C", root).out))
        gang = next(item["metadata"]["name"] for item in rendered if item["kind"] == "PodGroup")
        pods = [item["metadata"] for item in rendered if item["kind"] == "Pod"]
        assert [pod["annotations"]["pod-group-name"] for pod in pods] == [gang, gang]
        assert [pod["labels"]["kai.scheduler/subgroup-name"] for pod in pods] == ["a", "b"]


class TestUseCases:
    """The four use cases of the proposal."""

    def test_single_rack(self) -> None:
        assert shape(build([task("clique=default")] * 4)) == ["all =clique 4"]

    def test_multiple_racks(self) -> None:
        gang = build([task("clique=model-1-group")] * 4 + [task("clique=model-2-group")] * 4)
        assert shape(gang) == ["all", "  model-1-group =clique 4", "  model-2-group =clique 4"]

    def test_multiple_racks_in_one_zone(self) -> None:
        models = ("model-1-group", "model-2-group")
        gang = build([task(f"clique={model}", "zone=workflow-group") for model in models for _ in range(4)])
        assert shape(gang) == [
            "all =zone",
            "  workflow-group-model-1-group =clique 4",
            "  workflow-group-model-2-group =clique 4",
        ]

    def test_best_effort(self) -> None:
        models = ("model-1-group", "model-2-group")
        gang = build([task(f"rack~{model}", "spine~workflow-group") for model in models for _ in range(4)])
        assert shape(gang) == [
            "all ~spine",
            "  workflow-group-model-1-group ~rack 4",
            "  workflow-group-model-2-group ~rack 4",
        ]


class TestSharedChain:
    """What becomes of the levels that all tasks share."""

    def test_a_required_zone_is_kept_beside_a_preferred_rack_below_it(self) -> None:
        assert shape(build([task("zone=z", "rack~r")] * 2)) == ["all =zone ~rack 2"]

    def test_a_preferred_zone_above_a_required_rack_says_nothing(self) -> None:
        assert shape(build([task("zone~z", "rack=r")] * 2)) == ["all =rack 2"]

    def test_of_two_required_levels_the_finer_counts(self) -> None:
        assert shape(build([task("zone=z", "rack=r")] * 2)) == ["all =rack 2"]

    def test_of_two_preferred_levels_the_finer_counts(self) -> None:
        assert shape(build([task("zone~z", "rack~r")] * 2)) == ["all ~rack 2"]

    def test_preferred_between_and_below(self) -> None:
        assert shape(build([task("zone~z", "spine=s", "rack~r", "clique~c")])) == ["all =spine ~clique 1"]

    def test_a_preferred_level_above_the_branches(self) -> None:
        gang = build([task("zone=z", "spine~s", "rack=a"), task("zone=z", "spine~s", "rack=b")])
        assert shape(gang) == ["all =zone ~spine", "  z-s-a =rack 1", "  z-s-b =rack 1"]

    def test_no_requirements_at_all(self) -> None:
        assert shape(build([task(), task(), task()])) == ["all 3"]

    def test_one_task(self) -> None:
        assert shape(build([task("zone=z", "rack~r")])) == ["all =zone ~rack 1"]


class TestPadding:
    """Levels that others name and a task does not."""

    def test_below_the_catch_all(self) -> None:
        gang = build([task("zone=z1", "rack=r1"), task("zone=z1"), task()])
        assert shape(gang) == [
            "all",
            "  z1 =zone",
            "    z1-r1 =rack 1",
            "    z1-zz-any ~rack 1",
            "  zz-any ~zone",
            "    zz-any-zz-any ~rack 1",
        ]

    def test_a_coarser_gap(self) -> None:
        gang = build([task("zone=z1", "rack=r1"), task("rack=r2")])
        assert shape(gang) == ["all", "  z1 =zone", "    z1-r1 =rack 1", "  zz-any ~zone", "    zz-any-r2 =rack 1"]

    def test_a_gap_between(self) -> None:
        gang = build([task("zone=z", "spine=s", "rack=r"), task("zone=z", "rack=q")])
        assert shape(gang) == [
            "all =zone",
            "  z-s =spine",
            "    z-s-r =rack 1",
            "  z-zz-any ~spine",
            "    z-zz-any-q =rack 1",
        ]

    def test_padded_and_named_alike_are_two_nodes(self) -> None:
        """The same rack group with a zone and without: two places."""
        gang = build([task("zone=z", "rack=r"), task("rack=r")])
        assert gang.placed == ("z-r", "zz-any-r")

    def test_a_users_own_group_zz_any_is_another_node(self) -> None:
        gang = build([task("zone=z", "rack=zz-any"), task("zone=z")])
        own, padded = gang.nodes
        assert own.name != padded.name
        assert own.name.startswith("z-zz-any-")
        assert padded.name.startswith("z-zz-any-")
        assert (own.constraint.required, own.constraint.preferred) == (LEVELS.index("rack"), None)
        assert (padded.constraint.required, padded.constraint.preferred) == (None, LEVELS.index("rack"))

    def test_a_required_group_zz_any_does_not_make_the_padding_required(self) -> None:
        gang = build([task("zone=zz-any"), task("rack=r"), task()])
        padded = [node for node in gang.nodes if node.parent is None and node.constraint.required is None]
        assert [node.constraint.preferred for node in padded] == [LEVELS.index("zone")]


class TestNames:
    """A node is known by its path; its name only has to be its own."""

    def test_paths_that_join_alike(self) -> None:
        gang = build([task("zone=a-b", "rack=c"), task("zone=a", "rack=b-c")])
        names = [node.name for node in gang.nodes]
        assert names[0] == "a-b"
        assert names[2] == "a"
        assert re.fullmatch(r"a-b-c-[0-9a-f]{8}", names[1])
        assert re.fullmatch(r"a-b-c-[0-9a-f]{8}", names[3])
        assert names[1] != names[3]
        assert [node.parent for node in gang.nodes] == [None, "a-b", None, "a"]
        assert gang.placed == (names[1], names[3])

    def test_a_parent_and_another_parents_child(self) -> None:
        gang = build([task("zone=a-b", "rack=x"), task("zone=a", "rack=b")])
        assert len({node.name for node in gang.nodes}) == 4
        assert {node.parent for node in gang.nodes} <= {node.name for node in gang.nodes} | {None}

    def test_long_names_are_cut_and_end_in_a_hash(self) -> None:
        gang = build([task(f"zone={'z' * 60}", f"rack={'r' * 60}{end}") for end in "ab"])
        assert [len(node.name) for node in gang.nodes] == [MAX_LABEL, MAX_LABEL]
        assert len({node.name for node in gang.nodes}) == 2

    def test_a_users_name_that_looks_like_a_generated_one(self) -> None:
        tasks = [task("zone=a-b", "rack=c"), task("zone=a", "rack=b-c")]
        generated = build(tasks).placed[0]
        assert generated is not None
        gang = build([*tasks, task("zone=a", f"rack={generated.removeprefix('a-')}")])
        assert len({node.name for node in gang.nodes}) == len(gang.nodes)
        assert len(set(gang.placed)) == 3

    def test_a_name_is_the_same_whatever_stands_before_it(self) -> None:
        tasks = [task("zone=a-b", "rack=c"), task("zone=a", "rack=b-c"), task("zone=zz-any"), task()]
        assert set(build(tasks).nodes) == set(build(tasks[::-1]).nodes)


class TestOrder:
    """SubGroups stand parent before child, otherwise as the file first names them."""

    def test_first_named_first(self) -> None:
        tasks = [task("zone=z2", "rack=b"), task("zone=z1", "rack=a"), task("zone=z2", "rack=a")]
        assert [node.name for node in build(tasks).nodes] == ["z2", "z2-b", "z1", "z1-a", "z2-a"]

    @pytest.mark.parametrize("zone", ["zone=z1", f"zone={'r' * 60}"])
    def test_what_could_be_anywhere_is_placed_last(self, zone: str) -> None:
        """KAI places SubGroups by their names, and takes none back."""
        gang = build([task(zone), *(task(zone, f"rack=worker-{n}") for n in range(8)), task()])
        nodes = sorted(gang.nodes, key=lambda node: node.name)
        for parent in {node.parent for node in nodes}:
            *first, last = (node for node in nodes if node.parent == parent)
            assert last.constraint.required is None
            assert all(node.constraint.required is not None for node in first)

    def test_requirements_in_any_order(self) -> None:
        assert build([task("zone=a", "rack=b"), task()]) == build([task("rack=b", "zone=a"), task()])


def test_a_gang_of_thousands() -> None:
    gang = build([task(f"zone=z{n % 10}", f"rack=r{n % 500}") for n in range(4000)])
    assert len(gang.nodes) == 10 + 500
    assert Counter(gang.placed) == {node.name: 8 for node in gang.nodes if node.members}


@pytest.mark.parametrize("name", ["a" * 63, "a" * 64, "a" * 200])
def test_length_of_a_single_name(name: str) -> None:
    names = [node.name for node in build([task(f"zone={name}"), task("zone=b")]).nodes]
    assert len(names[0]) == 63
    assert (names[0] == name) == (len(name) == 63)
