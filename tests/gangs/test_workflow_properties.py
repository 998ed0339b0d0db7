"""Tests invariants of the tree algorithm for any gang."""

from __future__ import annotations

import random
import re
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_tas.resolve.workflows import Requirement
from tests.support.tree import Constraint, Node, build, requirement

LEVELS = 4
GROUPS = ("a", "b", "a-b", "b-a", "zz-any", "zz-any-zz-any", "x" * 40, "x" * 40 + "y", "0")


@st.composite
def gangs(draw: st.DrawFn) -> list[list[Requirement]]:
    """Tasks whose groups agree on whether they are required, as a checked repository has them."""
    required = {(level, group): draw(st.booleans()) for level in range(LEVELS) for group in GROUPS}
    group = st.none() | st.sampled_from(GROUPS)
    tasks = []
    for _ in range(draw(st.integers(1, 8))):
        chosen = [(level, draw(group)) for level in range(LEVELS)]
        tasks.append(
            [requirement(level, name, name, required[level, name], ()) for level, name in chosen if name is not None]
        )
    return tasks


def paths(tasks: list[list[Requirement]]) -> list[tuple[str | None, ...]]:
    """For each task its group at every level at play; None where it names none."""
    levels = sorted({asked.depth for task in tasks for asked in task})
    return [tuple({r.depth: r.group for r in task}.get(level) for level in levels) for task in tasks]


@settings(max_examples=200, deadline=None)
@given(gangs())
def test_any_gang(tasks: list[list[Requirement]]) -> None:
    gang = build(tasks)
    by_name = {node.name: node for node in gang.nodes}
    parents = {node.parent for node in gang.nodes}
    leaves = {name for name in by_name if name not in parents}
    chains = {name: chain(name, by_name) for name in by_name}

    assert len(by_name) == len(gang.nodes)
    assert all(re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", name) and len(name) <= 63 for name in by_name)
    assert len({len(chains[name]) for name in leaves}) <= 1, "leaves at different depths"
    places = {node.name: index for index, node in enumerate(gang.nodes)}
    assert all(node.parent is None or places[node.parent] < places[node.name] for node in gang.nodes)

    if not gang.nodes:
        assert gang.members == len(tasks)
        assert gang.placed == (None,) * len(tasks)
        assert len(set(paths(tasks))) == 1
        return
    assert gang.members is None
    assert len(gang.placed) == len(tasks)
    assert {node.name: node.members for node in gang.nodes if node.members is not None} == Counter(gang.placed)
    assert set(gang.placed) == leaves
    assert len(set(zip(paths(tasks), gang.placed, strict=True))) == len(set(paths(tasks))) == len(leaves)
    firsts = [min(i for i, leaf in enumerate(gang.placed) if leaf and name in chains[leaf]) for name in by_name]
    assert firsts == sorted(firsts), "not in the order of first naming"


def chain(name: str, by_name: dict[str, Node]) -> tuple[str, ...]:
    """A node's name and those above it, from the top."""
    parent = by_name[name].parent
    return (name,) if parent is None else (*chain(parent, by_name), name)


@settings(max_examples=200, deadline=None)
@given(gangs())
def test_what_any_task_requires_holds_for_its_place(tasks: list[list[Requirement]]) -> None:
    gang = build(tasks)
    by_name = {node.name: node for node in gang.nodes}
    levels = sorted({asked.depth for task in tasks for asked in task})
    top = gang.constraint or Constraint(None, None)
    for asked, leaf in zip(tasks, gang.placed, strict=True):
        nodes = [by_name[name] for name in (chain(leaf, by_name) if leaf else ())]
        shared = levels[: len(levels) - len(nodes)]
        required = {one.depth for one in asked if one.required}
        assert top.required == max(required & set(shared), default=None)
        preferred = [level for level in shared if top.required is None or level > top.required]
        assert top.preferred == max(preferred, default=None)
        for level, node in zip(levels[len(shared) :], nodes, strict=True):
            wanted = Constraint(level, None) if level in required else Constraint(None, level)
            assert node.constraint == wanted


@settings(max_examples=200, deadline=None)
@given(gangs(), st.randoms(use_true_random=False))
def test_nothing_but_the_requirements_counts(tasks: list[list[Requirement]], chance: random.Random) -> None:
    gang = build(tasks)
    assert build(tasks) == gang
    elsewhere = [
        [requirement(r.depth, r.group, r.group.upper(), r.required, ("elsewhere", 7)) for r in task] for task in tasks
    ]
    for task_ in elsewhere:
        chance.shuffle(task_)
    assert build(elsewhere) == gang
    order = list(range(len(tasks)))
    chance.shuffle(order)
    moved = build([tasks[index] for index in order])
    assert (moved.constraint, moved.members, set(moved.nodes)) == (gang.constraint, gang.members, set(gang.nodes))
    assert moved.placed == tuple(gang.placed[index] for index in order)
