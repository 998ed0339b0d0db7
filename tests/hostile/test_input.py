"""Tests hostile input that is piped in, imported, or given to other programs."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.test_kubectl import ODD_VALUES, paths, quickly, replaced
from tests.support.cli import kubectl_tas, pool, write
from tests.support.kubectl import node, queue

ENDLESS = (
    ("fn",),
    ("admit", "-"),
    ("validate", "-"),
    ("import", "osmo", "-", "--to", "new"),
    ("pool", "plan", "--nodes", "-"),
)
"""Commands that read standard input."""


@pytest.mark.parametrize("command", ENDLESS, ids=lambda command: command[0])
def test_standard_input_without_an_end(command: tuple[str, ...], repository: Path) -> None:
    write(repository, {"tas.yaml": "", "pools/team.yaml": pool()})
    called = [sys.executable, "-m", "kubectl_tas", *command]
    with Path("/dev/zero").open("rb") as endless:
        done = subprocess.run(called, stdin=endless, capture_output=True, text=True, cwd=repository, timeout=300)
    assert (done.returncode, done.stdout) == (3, ""), done
    assert re.match(r"error: standard input has more than \d+ MiB\n", done.stderr)


def cluster() -> list[dict[str, Any]]:
    """What ``import cluster`` reads."""
    named = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue"}
    spec = {"parentQueue": "root", "priority": 1, "resources": {"gpu": {"quota": 8, "limit": -1, "overQuotaWeight": 1}}}
    image = {"containers": [{"name": "scheduler", "image": "kai/scheduler:v0.12.0"}]}
    return [
        {**queue("root", 1), "spec": {"resources": {"gpu": {"quota": 8}}}},
        {**named, "metadata": {"name": "leaf", "labels": {"a": "b"}}, "spec": spec, "status": {}},
        {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": "t", "labels": {"a": "b"}},
            "spec": {"levels": [{"nodeLabel": "example.com/rack"}]},
        },
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "train"}, "value": 50},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "scheduler", "namespace": "kai-scheduler"},
            "spec": {"template": {"spec": image}},
        },
        node("n", 8),
    ]


def shapes(fine: list[dict[str, Any]], value: object) -> Iterator[tuple[object, object]]:
    """The objects with ``value`` in each place in turn, and what place that is."""
    for index, item in enumerate(fine):
        for path in paths(item):
            yield [*fine[:index], replaced(item, path, value), *fine[index + 1 :]], (item["kind"], path)


@pytest.mark.parametrize("value", [ODD_VALUES[0], -1, float("nan"), "../../x", [1], {"a": 1}], ids=repr)
def test_clusters_of_another_shape(value: object, tmp_path: Path) -> None:
    """Each value in the place of each field: files below the folder or a refusal, and never a traceback."""
    for number, (state, place) in enumerate(shapes(cluster(), value)):
        write(tmp_path, {"state.json": json.dumps(state)})
        folder = tmp_path / f"made/{number}/new"
        result = kubectl_tas("import", "cluster", "--cluster-state", tmp_path / "state.json", "--to", folder)
        assert "internal error" not in result.err, (place, result)
        assert result.code in (0, 1, 3), (place, result)
        assert [path.name for path in folder.parent.iterdir()] == ["new"] if folder.parent.exists() else True, place


OSMO: dict[str, Any] = {
    "pools": {
        "team": {
            "name": "team",
            "backend": "prod",
            "description": "d",
            "topology_keys": [{"key": "rack", "label": "example.com/rack"}],
            "resources": {"gpu": {"guarantee": 8, "maximum": 16, "weight": 1}},
            "common_pod_template": ["shared"],
            "platforms": {"h100": {"description": "d", "override_pod_template": ["shared"]}},
        }
    },
    "backends": [{"name": "prod", "k8s_namespace": "ml", "scheduler_settings": {"scheduler_name": "kai"}}],
    "pod_templates": {"shared": {"spec": {"nodeSelector": {"a": "b"}}}},
}
BOMBS = {
    "aliases": "a: &a [x, x]\n"
    + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(24))
    + "pools: {t: {backend: *y}}\n",
    "itself": "pools: &a {t: *a}\n",
    "depth": "pools: " + "{a: " * 5000 + "1" + "}" * 5000,
    "wrapped": "{configs: " * 3000 + "{}" + "}" * 3000,
    "tag": "pools: !!python/object/apply:os.system [id]\n",
    "digits": "pools: {t: {backend: b, resources: {gpu: {guarantee: 1" + "0" * 5000 + "}}}}\n",
    "revision": json.dumps([{"config_type": "POOL", "revision": 10**400, "data": {"t": {"backend": "b"}}}]),
    "kinds": json.dumps([{"config_type": ["POOL"], "data": 1}, {"config_type": {"a": 1}, "data": None}]),
}


@pytest.mark.parametrize(
    "value", [None, -1, 2**80, "../../x", "/etc/x", "x\x1b[2J\n::error::y", [1], {"a": {}}], ids=repr
)
def test_configurations_of_another_shape(value: object, tmp_path: Path) -> None:
    """Each value in the place of each field, and as the name of each thing of OSMO's configuration."""
    cases = [replaced(OSMO, path, value) for path in paths(OSMO)]
    if isinstance(value, str):
        text = json.dumps(OSMO)
        cases += [
            json.loads(text.replace(f'"{name}": {{', f"{json.dumps(value)}: {{")) for name in ("team", "shared", "h100")
        ]
    for number, case in enumerate(cases):
        write(tmp_path, {"osmo.json": json.dumps(case)})
        folder = tmp_path / f"made/{number}/new"
        result = kubectl_tas("import", "osmo", tmp_path / "osmo.json", "--to", folder)
        assert "internal error" not in result.err, (case, result)
        assert not re.search("^::|\x1b", result.out + result.err, re.MULTILINE)
        if result.code == 0:
            assert kubectl_tas("validate", "-C", folder).code == 0, case
        assert sorted(path.name for path in tmp_path.iterdir()) in (["made", "osmo.json"], ["osmo.json"])
        assert not folder.parent.exists() or [path.name for path in folder.parent.iterdir()] == ["new"]


@pytest.mark.parametrize("name", BOMBS)
def test_configurations_that_burst(name: str, tmp_path: Path) -> None:
    write(tmp_path, {"osmo.yaml": BOMBS[name]})
    with quickly():
        result = kubectl_tas("import", "osmo", tmp_path / "osmo.yaml", "--to", tmp_path / "new")
    assert "internal error" not in result.err


def test_viewers_find_no_links_in_findings(repository: Path) -> None:
    """SARIF's plain texts may have links, as Markdown has them."""
    link = "[click](https://example.com)"
    write(repository, {"tas.yaml": "", "pools/a.yaml": pool(f'"{link}"'), "pools/b.yaml": pool(f'"{link}"')})
    told = json.loads(kubectl_tas("validate", "-o", "sarif", cwd=repository).out)
    for result in told["runs"][0]["results"]:
        for item in (result, *result["relatedLocations"]):
            assert "](" not in item["message"]["text"]
    assert any("[click] (https:" in result["message"]["text"] for result in told["runs"][0]["results"])


PLACE = "internal.config.kubernetes.io"
TRACKED: tuple[object, ...] = (
    5,
    [1],
    "x",
    *(
        {f"{PLACE}/{name}": value}
        for name in ("path", "index")
        for value in (None, 5, [1], {"a": 1}, "", "../../x", "-1", "9" * 5000)
    ),
)
"""Annotations of an item, of which those of its place are written by whoever runs the function."""


@pytest.mark.parametrize("annotations", TRACKED, ids=lambda value: repr(value)[:70])
@pytest.mark.parametrize("guarantee", [8, "x"])
def test_items_from_odd_places(
    annotations: object, guarantee: object, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = {"name": "a", "annotations": annotations}
    item = {
        "apiVersion": "tas/v1alpha1",
        "kind": "Pool",
        "metadata": about,
        "spec": {"resources": {"gpu": {"guarantee": guarantee}}},
    }
    function = {"apiVersion": "tas/v1alpha1", "kind": "Render", "metadata": {"name": "x"}, "spec": {}}
    given = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "functionConfig": function,
        "items": [item],
    }
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(given).encode())))
    result = kubectl_tas("fn", cwd=repository)
    assert result.code in (0, 1), result
    assert "internal error" not in result.err
    assert list(repository.iterdir()) == []
