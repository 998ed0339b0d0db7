"""Every field of every kind with every type of value, and mangled files: never a traceback, always a place."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubectl_tas.load.kinds import KINDS, WORKFLOW
from kubectl_tas.model.repository import KeyPath
from tests.support.cli import kubectl_tas, write
from tests.support.golden import GOLDEN

VALUES = (
    *("null", "true", "0", "1", "-1", "1.5", "1e999", ".nan", "99999999999999999999999", "999999999999999999"),
    *('""', '" "', '"x"', '"X_x"', '"a\\0b"', '"a\\nb"', "2001-01-01", f'"{"x" * 400}"'),
    *("[]", "[null]", "[1]", '["x", "x"]', "[[]]", "[{}]", "{}", '{"x": null}', '{"x": {}}', '{"": 1}'),
)
"""What is put in place of every value, as it is written in YAML."""
PLACEHOLDER = "@value@"
SOURCES = {kind.schema: kind for kind in reversed((*KINDS, WORKFLOW))}


@pytest.fixture(autouse=True, scope="module")
def _raise_internal_errors() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECTL_TAS_DEBUG", "1")
        yield


def coherent() -> dict[str, Any]:
    """A document of every kind with nearly every field; together they are a repository without errors."""
    found = {name: yaml.safe_load((GOLDEN / f"documents/{name}.yaml").read_text()) for name in SOURCES}
    del found["pool"]["spec"]["topology"]
    found["config"]["spec"]["sources"] = ["pools"]
    found["config"]["spec"]["output"] = "manifests"
    tasks = found["workflow"]["workflow"].pop("tasks")
    found["workflow"]["workflow"]["groups"].append({"name": "second", "tasks": tasks})
    found["workflow"]["resources"]["default"] = {"gpu": 1, "topology": [{"key": "zone"}, {"key": "rack"}]}
    group = found["podgroup"]
    group["metadata"]["namespace"] = "ml"
    group["spec"]["queue"] = "osmo-pool-ml-team--a"
    return found


def texts(documents: dict[str, Any]) -> dict[str, str]:
    """The files of a repository; JSON is YAML."""
    return {"tas.yaml" if name == "config" else f"pools/{name}.yaml": json.dumps(documents[name]) for name in documents}


def places(data: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """The key path of every value in ``data``."""
    yield path
    steps = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, value in steps:
        yield from places(value, (*path, step))


def with_placeholder(data: Any, path: KeyPath) -> Any:
    """``data`` with the placeholder at ``path``."""
    if not path:
        return PLACEHOLDER
    result = copy.deepcopy(data)
    inner = result
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = PLACEHOLDER
    return result


def assert_handled(root: Path) -> None:
    """The repository is refused with places in its files, or it renders."""
    result = kubectl_tas("validate", "-C", root, "-o", "json")
    report = json.loads(result.out)
    assert result.code == (1 if report["summary"]["error"] else 0)
    for found in report["diagnostics"]:
        place = found["location"]
        assert place is not None, found
        lines = (root / place["path"]).read_bytes().decode("utf-8", "replace").removeprefix("\ufeff")
        line = [*lines.splitlines(), ""][place["line"] - 1]
        assert 1 <= place["column"] <= len(line) + 1, found
    text = kubectl_tas("validate", "-C", root)
    assert text.code == result.code
    rendered = kubectl_tas("render", "-C", root, "-o", "-", "--allow-empty", "--backend", "prod")
    assert rendered.code == result.code or (rendered.code == 2 and 'no backend "prod"' in rendered.err)
    if rendered.code == 0:
        assert all(item["kind"] for item in yaml.safe_load_all(rendered.out))


def test_the_repository_renders(repository: Path) -> None:
    write(repository, texts(coherent()))
    result = kubectl_tas("validate", "-C", repository)
    assert result.code == 0, result.out


@pytest.mark.parametrize("name", SOURCES)
def test_every_value_of_every_field(repository: Path, name: str) -> None:
    documents = coherent()
    write(repository, texts(documents))
    for path in places(documents[name]):
        (file, template), *_ = texts({name: with_placeholder(documents[name], path)}).items()
        for value in VALUES:
            write(repository, {file: template.replace(f'"{PLACEHOLDER}"', value)})
            try:
                assert_handled(repository)
            except Exception as error:
                error.add_note(f"{name}: {path} = {value}")
                raise
