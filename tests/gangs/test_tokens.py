"""Tests the values that replace OSMO's tokens in a pod."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.cli import kubectl_tas, pool, write
from tests.support.pyyaml import safe_load


def workflow(*groups: list[dict[str, Any]], name: str = "w") -> str:
    """A workflow with these tasks in each of its groups."""
    made = [
        {"name": f"g{index}", "tasks": [{"image": "busybox", "command": ["sh"], **task} for task in tasks]}
        for index, tasks in enumerate(groups)
    ]
    text: str = yaml.safe_dump({"workflow": {"name": name, "pool": "team", "groups": made}})
    return text


def rendered(root: Path, text: str) -> dict[str, dict[str, Any]]:
    """The objects of the workflow by kind and the task that their names end in."""
    write(root, {"pools/team.yaml": pool(), "workflows/w.yaml": text})
    result = kubectl_tas("render", "-C", root)
    assert result.code == 0, result.out + result.err
    found = [safe_load(path.read_text()) for path in sorted((root / "manifests/workflows").rglob("*.yaml"))]
    return {f"{item['kind']} {item['metadata']['name'].rpartition('-')[2]}": item for item in found}


def pod(objects: dict[str, dict[str, Any]], task: str) -> dict[str, Any]:
    container: dict[str, Any] = objects[f"Pod {task}"]["spec"]["containers"][0]
    return container


def test_tokens_are_filled_in_everywhere(tmp_path: Path) -> None:
    task = {
        "name": "a",
        "image": "busybox:{{workflow_id}}",
        "args": ["{{ host:a }}", "x{{output}}y{{   output   }}", "{{input:0}}", "{{input:other}}", "{{input:1}}"],
        "environment": {"ID": "{{workflow_id}}"},
        "inputs": [{"url": "s3://a"}, {"task": "w-1:Other"}],
        "files": [{"path": "{{output}}/x", "contents": "{{host:a}} {{workflow_id}}"}],
    }
    objects = rendered(tmp_path, workflow([task]))
    container = pod(objects, "a")
    service = next(item["metadata"]["name"] for kind, item in objects.items() if kind.startswith("Service"))
    host, run = f"a.{service}.default.svc", container["env"][0]["value"]
    output, second = "/osmo/data/output", "/osmo/data/input/1"
    assert container["args"] == [host, f"x{output}y{output}", "/osmo/data/input/0", second, second]
    assert container["image"] == f"busybox:{run}"
    assert [item["mountPath"] for item in container["volumeMounts"]] == [output, f"{output}/x"]
    assert objects["ConfigMap files"]["data"] == {"x": f"{host} {run}"}


def test_the_id_of_a_workflow_is_one_for_its_groups_and_another_for_another_content(tmp_path: Path) -> None:
    def ids(image: str) -> tuple[set[str], set[str]]:
        asking = {"environment": {"ID": "{{workflow_id}}"}}
        text = workflow([{"name": "a", **asking}], [{"name": "b", **asking}], [{"name": "c", "image": image}])
        objects = rendered(tmp_path, text)
        gangs = {item["metadata"]["name"] for kind, item in objects.items() if kind.startswith("PodGroup")}
        return {pod(objects, name)["env"][0]["value"] for name in ("a", "b")}, gangs

    before, gangs = ids("busybox:1")
    after, others = ids("busybox:2")
    assert (len(before), len(after), before & after, gangs & others) == (1, 1, set(), set())


def test_a_group_that_does_not_ask_for_the_id_runs_on(tmp_path: Path) -> None:
    def gang(image: str) -> str:
        asking = {"name": "a", "environment": {"ID": "{{workflow_id}}"}, "image": image}
        name: str = rendered(tmp_path, workflow([asking], [{"name": "b"}]))["Pod b"]["metadata"]["name"]
        return name

    assert gang("busybox:1") == gang("busybox:2")


def test_the_service_of_a_gang_finds_its_pods_and_no_others(tmp_path: Path) -> None:
    first: list[dict[str, Any]] = [{"name": "a", "args": ["{{host:b}}"]}, {"name": "b"}]
    objects = rendered(tmp_path, workflow(first, [{"name": "c"}], name="1st"))
    (service,) = (item for kind, item in objects.items() if kind.startswith("Service"))
    name = service["metadata"]["name"]
    assert name.startswith("x-1st-g0-"), "a Service begins with a letter"
    ((label, value),) = service["spec"]["selector"].items()
    chosen = {kind for kind, item in objects.items() if item["metadata"]["labels"].get(label) == value}
    assert chosen == {"Pod a", "Pod b"}
    assert pod(objects, "a")["args"] == [f"b.{name}.default.svc"]
    assert [objects[f"Pod {task}"]["spec"].get("subdomain") for task in "abc"] == [name, name, None]
    assert objects["Pod b"]["spec"]["hostname"] == "b"


def test_a_long_name_of_a_task_is_a_hostname(tmp_path: Path) -> None:
    long = "t" * 80
    objects = rendered(tmp_path, workflow([{"name": long, "args": [f"{{{{host:{long}}}}}"]}]))
    (found,) = (item["spec"] for kind, item in objects.items() if kind.startswith("Pod "))
    assert len(found["hostname"]) <= 63
    assert found["containers"][0]["args"][0].startswith(f"{found['hostname']}.{found['subdomain']}.")


@pytest.mark.parametrize("mount", ["/mnt:/osmo/data/output", "/mnt:/osmo/data", "/mnt:/osmo//data/output/"])
def test_a_folder_of_the_node_takes_what_a_task_leaves(tmp_path: Path, mount: str) -> None:
    task = {"name": "a", "args": ["{{output}}"], "volumeMounts": [mount]}
    container = pod(rendered(tmp_path, workflow([task])), "a")
    assert [item["name"] for item in container["volumeMounts"]] == ["host-0"]


def test_only_tasks_that_leave_something_have_a_folder_for_it(tmp_path: Path) -> None:
    objects = rendered(tmp_path, workflow([{"name": "a", "args": ["{{output}}"]}, {"name": "b"}]))
    assert objects["Pod a"]["spec"]["volumes"] == [{"name": "task-output", "emptyDir": {}}]
    assert "volumes" not in objects["Pod b"]["spec"]


def test_a_token_in_a_template_stays_until_it_is_filled_in(tmp_path: Path) -> None:
    text = workflow([{"name": "a", "args": ["{{ host:a }}", "TAG"]}]).replace("TAG", "'{{ tag }}'")
    objects = rendered(tmp_path, f"default-values: {{tag: x}}\n{text}")
    first, second = pod(objects, "a")["args"]
    assert first.startswith("a.w-g0-")
    assert second == "x"
