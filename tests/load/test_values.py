"""Tests which names in a template are values, and how a list of instances is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.load.test_templates import declared, findings, pods
from tests.support.cli import kubectl_tas

OWN = {
    "loop": "{% for lr in [1, 2] %}{{ lr }}{{ loop.index }}{% endfor %}",
    "lr": "{% for lr in [1, 2] if lr > 1 %}{{ lr }}{% else %}none{% endfor %}",
    "x": "{% set x = gpus %}{% if gpus %}{{ x }}{% endif %}",
    "y": "{% if gpus > 3 %}{% set y = 1 %}{% elif gpus %}{% set y = 2 %}{% else %}{% set y = 3 %}{% endif %}{{ y }}",
    "block": "{% set block %}{{ gpus }}{% endset %}{{ block }}",
    "w": "{% with w = 1 %}{{ w }}{% endwith %}",
    "times": "{% macro times(n) %}{{ n }}{% endmacro %}{{ times(2) }}",
    "n": "{% macro times(n) %}{{ n }}{% endmacro %}{{ times(2) }}",
    "caller": "{% macro twice() %}{{ caller() }}{% endmacro %}{% call twice() %}{{ gpus }}{% endcall %}",
}
GIVEN = {
    "in the list of a loop": "{% for x in x %}{{ x }}{% endfor %}",
    "behind a loop": "{% for x in [1] %}{{ x }}{% endfor %}{{ x }}",
    "with a default": "{% set x = x or 1 %}{{ x }}",
    "set in one branch alone": "{% if gpus > 3 %}{% set x = 1 %}{% endif %}{{ x }}",
    "outside of a with": "{% with x = x %}{{ x }}{% endwith %}",
    "the default of a parameter": "{% macro times(n=x) %}{{ n }}{% endmacro %}{{ times() }}",
    "outside of a macro": "{% macro times(x) %}{{ x }}{% endmacro %}{{ times(x) }}",
    "in a chain": "{% set y = " + " + ".join(["x"] * 50) + " %}{{ y }}",
}


def template(text: str) -> str:
    return (
        "default-values: {gpus: 1}\n"
        "workflow:\n  name: train\n  pool: team\n  resources: {default: {gpu: {{ gpus }}}}\n"
        f"  tasks: [{{name: t, image: i, command: ['{text}']}}]\n"
    )


@pytest.mark.parametrize("name", OWN)
def test_what_a_template_sets_itself_is_no_value(repository: Path, name: str) -> None:
    root = declared(repository, template(OWN[name]), values__train=f"{name}: 7\n")
    assert [item["rule"] for item in findings(root)] == ["value-unknown"]
    (root / "values/train.yaml").unlink()
    assert not findings(root)
    refused = kubectl_tas("validate", "-C", root, "--set", f"{name}=7")
    assert refused.code == 2
    assert f'no template uses the value "{name}". Available: gpus.' in refused.err


@pytest.mark.parametrize("how", GIVEN)
def test_what_a_template_looks_up_first_is_a_value(repository: Path, how: str) -> None:
    values = "x: [7]\n" if "list" in how else "x: 7\n"
    root = declared(repository, template(GIVEN[how]), values__train=values)
    assert not findings(root)
    (container,) = pods(root).values()
    assert "7" in container["command"][0] or "350" in container["command"][0]


@pytest.mark.parametrize("empty", ["[]", "[ ]  # none left"])
def test_no_instance_is_not_one_of_another_name(repository: Path, empty: str) -> None:
    root = declared(repository, template("x"), values__train=f"gpus: 2\ninstances: {empty}\n")
    (found,) = findings(root)
    assert (found["rule"], found["location"]["path"], found["location"]["line"]) == (
        "invalid-value",
        "values/train.yaml",
        2,
    )
    assert "the template itself would be a workflow" in found["message"]
