"""Tests mounts of pod templates and platforms in a task that has something else at the same path."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, write
from tests.support.pyyaml import safe_load_all

POOL = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata: {name: lab}
spec:
  resources: {gpu: {guarantee: 8}}
  default_platform: a
  common_pod_template:
  - spec:
      containers:
      - name: "{{USER_CONTAINER_NAME}}"
        volumeMounts: [{name: v, mountPath: MOUNT}]
      volumes: [{name: v, emptyDir: {}}]
  platforms:
    a: {default_mounts: [/mnt/nfs]}
"""
WORKFLOW = """\
workflow:
  name: w
  pool: lab
  tasks:
  - {name: t, image: i, TASK}
"""


def lab(root: Path, mount: str, task: str) -> Path:
    return write(
        root, {"pools/lab.yaml": POOL.replace("MOUNT", mount), "workflows/w.yaml": WORKFLOW.replace("TASK", task)}
    )


@pytest.mark.parametrize(
    ("mount", "path", "place"),
    [
        ("/data", "/data", "pools/lab.yaml:11:24"),
        ("/data/", "//data", "pools/lab.yaml:11:24"),
        ("/data", "/mnt/nfs", "pools/lab.yaml:14:25"),
        ("/osmo/data/output/x", "'{{output}}/x'", "pools/lab.yaml:11:24"),
    ],
)
def test_a_file_where_something_is_mounted(repository: Path, mount: str, path: str, place: str) -> None:
    result = kubectl_tas("validate", "-C", lab(repository, mount, f"files: [{{path: {path}, contents: x}}]"))
    assert result.code == 1
    assert "workflows/w.yaml:5:" in result.out
    assert "where its platform or a pod template mounts something [mount-path]" in result.out
    assert f"mounted here ({place})" in result.out


def test_a_file_below_what_is_mounted(repository: Path) -> None:
    root = lab(repository, "/data", "files: [{path: /data/x, contents: x}, {path: /mnt/y, contents: y}]")
    assert kubectl_tas("validate", "-C", root).code == 0


@pytest.mark.parametrize("mount", ["/osmo/data/output", "/osmo/data/"])
def test_a_pod_template_gives_the_folder_for_output(repository: Path, mount: str) -> None:
    root = lab(repository, mount, "command: ['{{output}}']")
    result = kubectl_tas("render", "--to", "-", "-C", root)
    (pod,) = (item for item in safe_load_all(result.out) if item["kind"] == "Pod")
    assert [item["mountPath"] for item in pod["spec"]["containers"][0]["volumeMounts"]] == [mount, "/mnt/nfs"]


@pytest.mark.parametrize("mounts", ["[5]", "[{name: v}]", "[{name: v, mountPath: 5}]", "5", "{a: b}"])
def test_mounts_that_are_none(repository: Path, mounts: str) -> None:
    task = "command: ['{{output}}'], files: [{path: /data, contents: x}]"
    root = lab(repository, "/x", task)
    pool = root / "pools/lab.yaml"
    pool.write_text(pool.read_text().replace("[{name: v, mountPath: /x}]", mounts))
    result = kubectl_tas("validate", "-C", root)
    assert (result.code, result.err) == (1, "")
    assert "pools/lab.yaml:11:" in result.out
