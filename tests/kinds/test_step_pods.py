"""Tests the most GPUs that pods of a workflow of steps hold at a time."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.facts.gpus import Gpus
from kubectl_tas.kinds.step_pods import NO_LIMIT, StepPods
from kubectl_tas.model.base import KeyPath

Spec = dict[str, Any]
LEAF: Spec = {"name": "leaf", "container": {}}
CPU: Spec = {"name": "cpu", "script": {}}


def spec(*templates: Spec, **fields: Any) -> Spec:
    return {"entrypoint": "main", "templates": [*templates, LEAF, CPU], **fields}


def step(name: str = "a", template: str = "leaf", **fields: Any) -> Spec:
    return {"name": name, "template": template, **fields}


def steps(*groups: list[Spec], name: str = "main", **fields: Any) -> Spec:
    return {"name": name, "steps": list(groups), **fields}


def dag(*tasks: Spec, name: str = "main", **fields: Any) -> Spec:
    return {"name": name, "dag": {"tasks": list(tasks)}, **fields}


def pods_of(written: Spec, gpus: int = 2) -> StepPods:
    """The pods of a workflow whose template leaf has GPUs, and inline templates with a container too."""
    templates = written.get("templates", [])
    by_path: dict[KeyPath, Gpus] = {("spec", "templates", 0, "steps", 0, 0, "inline"): gpus}
    if LEAF in templates:
        by_path["spec", "templates", templates.index(LEAF)] = gpus
    return StepPods(written, ("spec",), by_path)


WHILE: Spec = {"running": {"expression": "true", "template": "leaf"}}
ROWS: dict[str, tuple[Spec, Any]] = {
    "a template": ({"entrypoint": "leaf", "templates": [LEAF]}, 2),
    "steps one after another": (spec(steps([step()], [step("b")], [step("c")])), 2),
    "steps at once": (spec(steps([step(), step("b")], [step("c")])), 4),
    "a step without GPUs": (spec(steps([step(template="cpu", withItems=[1, 2])])), 0),
    "a step of nothing": (spec(steps([step(template="gone")])), 0),
    "items": (spec(steps([step(withItems=[1, 2, 3])])), 6),
    "no items": (spec(steps([step(withItems=[])])), 0),
    "items of an expression": (spec(steps([step(withItems="{{x}}")])), NO_LIMIT),
    "a list in text": (spec(steps([step(withParam="[1, 2]")])), 4),
    "a parameter": (spec(steps([step(withParam="{{x}}")])), NO_LIMIT),
    "a text that is no list": (spec(steps([step(withParam="{}")])), NO_LIMIT),
    "a sequence": (spec(steps([step(withSequence={"count": "4"})])), 8),
    "a sequence of nothing": (spec(steps([step(withSequence={"count": 0})])), 0),
    "a sequence downwards": (spec(steps([step(withSequence={"start": "5", "end": 2})])), 8),
    "a sequence from 0": (spec(steps([step(withSequence={"end": 2})])), 6),
    "a sequence that counts down": (spec(steps([step(withSequence={"count": -2})])), 8),
    "a sequence of an expression": (spec(steps([step(withSequence={"count": "{{x}}"})])), NO_LIMIT),
    "a sequence from an expression": (spec(steps([step(withSequence={"start": "{{x}}", "end": 2})])), NO_LIMIT),
    "a sequence without an end": (spec(steps([step(withSequence={"start": 1})])), NO_LIMIT),
    "loops in loops": (
        spec(steps([step(template="mid", withItems=[1, 2])]), steps([step(withItems=[1, 2])], name="mid")),
        8,
    ),
    "beyond all numbers": (
        spec(
            steps([step(template="mid", withSequence={"count": 99999})]),
            steps([step(withSequence={"count": 99999})], name="mid"),
        ),
        NO_LIMIT,
    ),
    "tasks at once": (spec(dag(step(), step("b"), step("c"))), 6),
    "a chain of tasks": (spec(dag(step(), step("b", depends="a.Succeeded"), step("c", dependencies=["b"]))), 2),
    "a chain in another order": (spec(dag(step("c", dependencies=["b"]), step("b", depends="a"), step())), 2),
    "a diamond": (
        spec(dag(step(), step("b", depends="a"), step("c", depends="a"), step("d", depends="b && c"))),
        4,
    ),
    "two phases": (
        spec(dag(step(), step("b"), step("c", depends="a && b"), step("d", depends="(a || b.Failed) && !a.Skipped"))),
        4,
    ),
    "a task with the name of a state": (spec(dag(step("Failed"), step(), step("b", depends="a.Failed"))), 4),
    "tasks in a circle": (spec(dag(step(depends="b"), step("b", depends="a"))), 2),
    "a large task in a chain": (spec(dag(step(), step("b", depends="a", withItems=[1, 2, 3]))), 6),
    "daemons": (spec(steps([step(template="d")], [step()]), {"name": "d", "steps": [[step()]], "daemon": True}), 4),
    "daemons of a DAG": (
        spec(
            dag(step(template="d"), step("b", depends="a")),
            steps([step()], name="d", daemon=True),
        ),
        4,
    ),
    "a hook beside a step": (spec(steps([step(hooks=WHILE)])), 4),
    "a hook behind a step": (spec(steps([step(template="cpu", hooks={"exit": {"template": "leaf"}})])), 2),
    "a step with an end": (spec(steps([step(onExit="leaf")])), 2),
    "hooks beside a workflow": (spec(steps([step()]), hooks={**WHILE, "other": {"template": "leaf"}}), 6),
    "a workflow with an end": (spec(steps([step(template="cpu")]), onExit="leaf"), 2),
    "a hook behind a workflow": (spec(steps([step()]), hooks={"exit": {"template": "leaf"}}), 2),
    "an inline template": (spec(steps([{"name": "i", "inline": {"container": {}}, "withItems": [1, 2]}])), 4),
    "inline steps": (spec(steps([{"name": "i", "inline": {"steps": [[step(withItems=[1, 2])]]}}])), 4),
    "an inline daemon": (spec(steps([{"name": "i", "inline": {"container": {}, "daemon": True}}], [step()])), 4),
    "a template of an expression": (spec(steps([step(template="{{x}}")])), 2),
    "recursion": (spec(steps([step()], [step("again", "main")])), 2),
    "recursion at once": (spec(steps([step(), step("again", "main")])), NO_LIMIT),
    "recursion in a loop": (spec(steps([step()], [step("again", "main", withItems=[1, 2])])), NO_LIMIT),
    "recursion by another": (
        spec(steps([step(), step("b", "mid")]), dag(step(template="main"), name="mid")),
        NO_LIMIT,
    ),
    "recursion by another, one after another": (
        spec(steps([step()], [step("b", "mid")]), dag(step(template="main"), name="mid")),
        2,
    ),
    "recursion without GPUs": (spec(steps([step(template="cpu"), step("again", "main")])), 0),
    "bounded": (spec(steps([step(withParam="{{x}}")]), parallelism=3), 6),
    "bounded below": (spec(steps([step(withParam="{{x}}")], parallelism=3)), 6),
    "bounded in another template": (
        spec(steps([step(template="mid")]), dag(step(withParam="{{x}}"), name="mid", parallelism=1)),
        2,
    ),
    "bounded by no number": (spec(steps([step(withItems=[1, 2])]), parallelism="1"), 4),
    "an entry of an expression": ({**spec(steps([step(withItems=[1, 2])])), "entrypoint": "{{x}}"}, 4),
    "no entry": ({"templates": [steps([step(withItems=[1, 2])]), LEAF]}, 4),
    "no templates": ({"entrypoint": "main"}, 0),
    "no lists": ({"entrypoint": "main", "templates": [{"name": "main", "steps": 1, "dag": {"tasks": 1}}, 5]}, 0),
    "no mappings": (spec(steps(["x", step(hooks=1), step(hooks={"a": 1})], "y")), 4),  # type: ignore[list-item, arg-type]
}


@pytest.mark.parametrize(("written", "most"), ROWS.values(), ids=ROWS)
def test_the_most_at_a_time(written: Spec, most: Any) -> None:
    assert pods_of(written).most == most


def test_the_place_is_the_loop_with_the_most_gpus() -> None:
    found = pods_of(spec(steps([step(withItems=[1, 2])], [step(withSequence={"count": 9})])))
    assert found.place == ("spec", "templates", 0, "steps", 1, 0, "withSequence")
    assert pods_of(spec(steps([step(), step("b")]))).place == ("spec", "templates")


def test_many_templates_that_call_each_other() -> None:
    """Neither the number of templates nor of their calls makes it slow, or too deep for Python."""
    chain = [steps([step(template=f"t{number + 1}")], name=f"t{number}") for number in range(4000)]
    circle = [
        steps([step(template=f"c{(number + 1) % 500}"), step("b")], name=f"c{number}", parallelism=9)
        for number in range(500)
    ]
    last = {"name": "t4000", "steps": [[step(withItems=[1, 2])]]}
    assert pods_of({"entrypoint": "t0", "templates": [*chain, last, LEAF]}).most == 4
    assert pods_of({"entrypoint": "c0", "templates": [*circle, LEAF]}).most == NO_LIMIT
