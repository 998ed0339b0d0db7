"""Tests that every ``-o json`` has a schema in ``schemas/output/`` and conforms to it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import click
import pytest
from jsonschema import Draft202012Validator

from tests.support.cli import kubectl_tas
from tests.support.golden import GOLDEN, ROOT, case_input
from tests.support.history import commit
from tools.generate import commands
from tools.outputs import OUTPUTS, output_texts

FIT, WHY = GOLDEN / "commands/fit", GOLDEN / "commands/workflow-why"
NODES = (f"--nodes={FIT / 'nodes.json'}", f"--nodes={FIT / 'pods.json'}")
COMPANY = ROOT / "examples/company"


def closed(schema: Any) -> Any:
    """The same schema, which accepts no field that it does not name: a field without a shape is found."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    return {**found, "additionalProperties": False} if "required" in found else found


def keeps_to(command: str, text: str) -> None:
    schema = json.loads((ROOT / f"schemas/output/{command.replace(' ', '-')}.json").read_text())
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(closed(schema)).validate(json.loads(text))


def test_no_command_is_without_a_schema() -> None:
    """But those whose JSON is another's format; `topology list --pool` prints what its hidden old name does."""
    printing = {
        item.command_path.removeprefix("kubectl tas ")
        for item in commands()
        for option in item.command.params
        if option.name == "output" and isinstance(option.type, click.Choice) and "json" in option.type.choices
    }
    assert printing | {"pool topology-keys"} == OUTPUTS.keys()


@pytest.mark.parametrize(
    "arguments",
    [
        "validate",
        "check",
        "pool list",
        "pool describe grumo",
        "pool topology-keys grumo",
        "subpool list",
        "topology list",
        "topology usage",
        "workflow list",
        "rule",
        "rule over-quota",
        "version",
    ],
)
def test_of_a_repository(arguments: str) -> None:
    pools = json.loads(kubectl_tas("-C", COMPANY, "pool", "list", "-o", "json").out)["pools"]
    name = next(item["name"] for item in pools if item["kind"] == "pool")
    words = arguments.replace("grumo", name).split()
    result = kubectl_tas("-C", COMPANY, *words, "-o", "json")
    keeps_to(next(command for command in OUTPUTS if arguments.startswith(command)), result.out)


def test_of_work() -> None:
    listed = json.loads(kubectl_tas("-C", COMPANY, "workflow", "list", "-o", "json").out)["workflows"]
    assert listed
    for item in listed[::8]:
        explained = kubectl_tas("-C", COMPANY, "workflow", "explain", item["name"], "-o", "json")
        keeps_to("workflow explain", explained.out)
        keeps_to("admit", kubectl_tas("-C", COMPANY, "admit", COMPANY / item["file"], "-o", "json").out)


@pytest.mark.parametrize("arguments", [("--all",), ("--grow",), ("missed",), ("mended",), ("placed",)])
def test_of_placement(arguments: tuple[str, ...]) -> None:
    keeps_to("fit", kubectl_tas("-C", case_input(FIT), "fit", *arguments, *NODES, "-o", "json").out)


def test_of_pools_and_nodes() -> None:
    keeps_to("pool share", kubectl_tas("-C", case_input(FIT), "pool", "share", *NODES, "-o", "json").out)
    keeps_to("pool plan", kubectl_tas("-C", case_input(FIT), "pool", "plan", *NODES, "-o", "json").out)


def test_of_past_usage() -> None:
    root = case_input(GOLDEN / "commands/pool-share-by-usage")
    keeps_to("pool share", kubectl_tas("-C", root, "pool", "share", "--gpus", "88", "-o", "json").out)


def test_each_object_has_fields() -> None:
    """A class that names no field, such as a number of Python, gives an object that nothing keeps to."""
    for text in output_texts().values():
        schemas = json.loads(text).get("$defs", {})
        assert [name for name, schema in schemas.items() if not schema["properties"]] == []


def test_of_a_cluster() -> None:
    root, state = case_input(WHY), f"--cluster-state={WHY / 'cluster.json'}"
    keeps_to("workflow why", kubectl_tas("-C", root, "workflow", "why", "one-rack", state, "-o", "json").out)
    keeps_to("pool list", kubectl_tas("-C", root, "pool", "list", state, "-o", "json").out)
    keeps_to("topology usage", kubectl_tas("-C", root, "topology", "usage", state, "-o", "json").out)
    keeps_to("topology suggest", kubectl_tas("-C", root, "topology", "suggest", state, "-o", "json").out)


def test_of_a_change(tmp_path: Path) -> None:
    root = shutil.copytree(COMPANY, tmp_path / "company")
    commit(root, "first")
    for path in sorted((root / "workflows").rglob("*.yaml"))[:3]:
        path.unlink()
    keeps_to("diff", kubectl_tas("-C", root, "diff", "--base", "HEAD", "-o", "json").out)
