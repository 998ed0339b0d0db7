"""Tests the example for users of OSMO: platforms, a template with instances, files, host names, two torchrun nodes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas
from tests.support.golden import EXAMPLES
from tests.support.pyyaml import safe_load_all

Item = dict[str, Any]
OSMO = EXAMPLES / "osmo"


@pytest.fixture(scope="module")
def applied() -> list[Item]:
    """The objects that ``render`` prints."""
    result = kubectl_tas("render", "--to", "-", "-C", OSMO)
    assert result.code == 0, result.err
    return list(safe_load_all(result.out))


def of(items: list[Item], kind: str, workflow: str) -> list[Item]:
    return [x for x in items if x["kind"] == kind and x["metadata"]["labels"]["kubectl-tas/workflow"] == workflow]


def test_it_is_clean() -> None:
    assert kubectl_tas("validate", "--strict", "-C", OSMO).code == 0


def test_three_instances_of_one_template(applied: list[Item]) -> None:
    pods = {name: of(applied, "Pod", f"finetune-{name}") for name in ("german", "celtic", "large")}
    assert [len(found) for found in pods.values()] == [1, 2, 1]
    (config,) = of(applied, "ConfigMap", "finetune-large")
    assert config["data"]["config.json"] == '{"language": "en", "epochs": 1}'
    assert config["data"]["finetune.py"] == (OSMO / "workflows/code/finetune.py").read_text()
    (container,) = pods["large"][0]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "8"


def test_two_nodes_find_each_other(applied: list[Item]) -> None:
    (service,), pods = of(applied, "Service", "pretrain"), of(applied, "Pod", "pretrain")
    (group,) = of(applied, "PodGroup", "pretrain")
    assert service["spec"]["clusterIP"] == "None"
    (key, value), *_ = service["spec"]["selector"].items()
    assert [pod["metadata"]["labels"][key] for pod in pods] == [value, value]
    assert [pod["spec"]["hostname"] for pod in pods] == ["node-0", "node-1"]
    assert {pod["spec"]["subdomain"] for pod in pods} == {service["metadata"]["name"]}
    variables = [{x["name"]: x["value"] for x in pod["spec"]["containers"][0]["env"]} for pod in pods]
    assert {own["MASTER"] for own in variables} == {f"node-0.{service['metadata']['name']}.ml.svc"}
    assert [own["NODE_RANK"] for own in variables] == ["0", "1"]
    assert group["spec"]["minMember"] == 2
    assert group["spec"]["topologyConstraint"]["requiredTopologyLevel"] == "acme.io/rack"


def test_platforms_decide_where_tasks_run(applied: list[Item]) -> None:
    (compare,) = of(applied, "Pod", "evaluate")
    assert compare["spec"]["nodeSelector"] == {"acme.io/nodes": "cpu"}
    for pod in of(applied, "Pod", "pretrain"):
        assert pod["metadata"]["labels"]["acme.io/hardware"] == "h100"
        volume = next(x for x in pod["spec"]["volumes"] if x["name"] == "shm")
        assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": "64Gi"}
    variable, hidden = compare["spec"]["containers"][0]["env"]
    assert hidden == {"name": "NVIDIA_VISIBLE_DEVICES"}
    assert variable["valueFrom"]["secretKeyRef"] == {"name": "model-registry", "key": "key"}


def test_an_edited_script_is_another_gang(tmp_path: Path, applied: list[Item]) -> None:
    shutil.copytree(OSMO, tmp_path / "work")
    script = tmp_path / "work/workflows/code/train.py"
    script.write_text(script.read_text() + "# more\n")
    edited = list(safe_load_all(kubectl_tas("render", "--to", "-", "-C", tmp_path / "work").out))
    for kind in ("PodGroup", "ConfigMap", "Service", "Pod"):
        before, after = (
            {item["metadata"]["name"] for item in of(items, kind, "pretrain")} for items in (applied, edited)
        )
        assert len(before) == len(after)
        assert not before & after
    assert of(edited, "Pod", "evaluate") == of(applied, "Pod", "evaluate")
