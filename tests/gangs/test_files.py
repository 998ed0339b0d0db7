"""Tests the ConfigMaps with the files of tasks: their content, and how they are named and shared."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubectl_tas.gangs.task_files import MAX_BYTES
from tests.support.cli import kubectl_tas, pool, write
from tests.support.history import commit
from tests.support.pyyaml import safe_load

RUN = {"path": "/tmp/run.sh", "contents": "echo\n"}


def workflow(*tasks: list[dict[str, Any]], **fields: Any) -> str:
    """A workflow of one group, whose tasks have these files."""
    made = [
        {"name": f"t{index}", "image": "busybox", "command": ["sh"], "files": files, **fields}
        for index, files in enumerate(tasks)
    ]
    text: str = yaml.safe_dump({"workflow": {"name": "w", "pool": "team", "groups": [{"name": "g", "tasks": made}]}})
    return text


def rendered(root: Path, text: str) -> list[dict[str, Any]]:
    """The objects of the workflow."""
    write(root, {"pools/team.yaml": pool(), "workflows/w.yaml": text})
    result = kubectl_tas("render", "-C", root)
    assert result.code == 0, result.out + result.err
    return [safe_load(path.read_text()) for path in sorted((root / "manifests/workflows").rglob("*.yaml"))]


def maps(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The ConfigMaps by what their names end in."""
    found = [item for item in objects if item["kind"] == "ConfigMap"]
    return {item["metadata"]["name"].split("-", 3)[-1]: item for item in found}


def mounts(objects: list[dict[str, Any]]) -> list[list[tuple[str, str, int]]]:
    """Of each pod: paths in the container, keys, and modes."""
    found = []
    for item in objects:
        if item["kind"] == "Pod":
            modes = {volume["name"]: volume["configMap"]["defaultMode"] for volume in item["spec"]["volumes"]}
            (container,) = item["spec"]["containers"]
            found.append([(m["mountPath"], m["subPath"], modes[m["name"]]) for m in container["volumeMounts"]])
    return found


def names(objects: list[dict[str, Any]]) -> set[str]:
    return {item["metadata"]["name"] for item in objects if item["kind"] == "PodGroup"}


def test_a_file_that_two_tasks_have_is_there_once(tmp_path: Path) -> None:
    objects = rendered(tmp_path, workflow([RUN], [RUN]))
    assert maps(objects)["files"]["data"] == {"run.sh": "echo\n"}
    assert mounts(objects) == [[("/tmp/run.sh", "run.sh", 0o644)]] * 2


def test_names_that_a_configmap_cannot_have_as_keys(tmp_path: Path) -> None:
    files = [
        {"path": f"/opt/{name}", "contents": name} for name in ("..hidden", "größe ä.txt", "a" * 255, ".env", "env")
    ]
    (paths,) = mounts(rendered(tmp_path, workflow(files)))
    keys = [key for _, key, _ in paths]
    assert [path for path, _, _ in paths] == [file["path"] for file in files]
    assert keys[:2] == ["hidden", "gr-e-.txt"]
    assert keys[2] == "a" * 200
    assert keys[3] == "env"
    assert keys[4].startswith("env-")


def test_bytes_stay_bytes(tmp_path: Path) -> None:
    content = bytes(range(256))
    written = base64.encodebytes(content).decode()
    objects = rendered(tmp_path, workflow([{"path": "/x", "contents": written, "base64": True}]))
    (found,) = maps(objects)["files"]["binaryData"].values()
    assert base64.b64decode(found) == content


def test_base64_of_text_is_text_without_tokens(tmp_path: Path) -> None:
    written = base64.b64encode(b"{{workflow_id}}\n").decode()
    objects = rendered(tmp_path, workflow([{"path": "/x", "contents": written, "base64": True}]))
    assert maps(objects)["files"]["data"] == {"x": "{{workflow_id}}\n"}


def test_files_are_split_so_that_kubectl_can_keep_them_in_an_annotation(tmp_path: Path) -> None:
    sizes = (100_000, 90_000, 90_000, 900_000, 10)
    files = [{"path": f"/f{index}", "contents": str(index) * size} for index, size in enumerate(sizes)]
    objects = rendered(tmp_path, workflow(files))
    assert {name: [*item["data"]] for name, item in maps(objects).items()} == {
        "files": ["f0", "f1"],
        "files-2": ["f2"],
        "files-3": ["f3"],
        "files-4": ["f4"],
    }
    (pod,) = (item for item in objects if item["kind"] == "Pod")
    volumes = {volume["name"]: volume["configMap"]["name"] for volume in pod["spec"]["volumes"]}
    for mount in pod["spec"]["containers"][0]["volumeMounts"]:
        (holder,) = (i for i in maps(objects).values() if i["metadata"]["name"] == volumes[mount["name"]])
        assert mount["subPath"] in holder["data"]


def test_argo_cd_applies_a_large_file_at_the_server(tmp_path: Path) -> None:
    write(tmp_path, {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\nspec: {gitops: argocd}\n"})
    objects = rendered(tmp_path, workflow([{"path": f"/f{size}", "contents": "x" * size} for size in (300_000, 100)]))
    notes = {name: item["metadata"]["annotations"] for name, item in maps(objects).items()}
    options = {name: found.get("argocd.argoproj.io/sync-options") for name, found in notes.items()}
    assert options == {"files": "ServerSideApply=true", "files-2": None}


def test_another_content_or_mode_is_another_gang(tmp_path: Path) -> None:
    local = workflow([{"path": "/run", "localpath": "run"}])
    script = tmp_path / "workflows/run"
    write(tmp_path, {"workflows/run": "echo\n"})
    first = names(rendered(tmp_path, local))
    script.chmod(0o755)
    objects = rendered(tmp_path, local)
    assert mounts(objects) == [[("/run", "run", 0o755)]]
    second = names(objects)
    script.write_text("echo again\n")
    third = names(rendered(tmp_path, local))
    assert len(first | second | third) == 3


def test_a_file_is_named_in_any_spelling(tmp_path: Path) -> None:
    write(tmp_path, {"common/run.sh": "echo\n"})
    files = [{"path": "//opt/./x//run.sh", "localpath": ".././workflows/../common//run.sh"}]
    (paths,) = mounts(rendered(tmp_path, workflow(files)))
    assert paths == [("/opt/x/run.sh", "run.sh", 0o644)]


@pytest.mark.parametrize("target", ["/etc/hostname", "../../outside", ".."])
def test_links_out_of_the_repository_are_refused(tmp_path: Path, target: str) -> None:
    root = tmp_path / "repository"
    write(root, {"pools/team.yaml": pool(), "workflows/w.yaml": workflow([{"path": "/x", "localpath": "link/x"}])})
    write(tmp_path, {"outside/x": "secret\n", "x": "secret\n"})
    (root / "workflows/link").symlink_to(target)
    result = kubectl_tas("validate", "-C", root)
    assert result.code == 1
    assert "[local-file]" in result.out
    assert "secret" not in result.out


def test_a_link_within_the_repository_is_followed(tmp_path: Path) -> None:
    write(tmp_path, {"common/x": "here\n"})
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows/link").symlink_to("../common")
    objects = rendered(tmp_path, workflow([{"path": "/x", "localpath": "link/x"}]))
    assert maps(objects)["files"]["data"] == {"x": "here\n"}


def test_what_the_tool_writes_is_no_file_of_a_task(tmp_path: Path) -> None:
    text = workflow([{"path": "/x", "localpath": "../manifests/kustomization.yaml"}])
    write(tmp_path, {"pools/team.yaml": pool(), "workflows/w.yaml": text, "manifests/kustomization.yaml": "a: 1\n"})
    result = kubectl_tas("validate", "-C", tmp_path)
    assert "leads to what kubectl-tas writes" in result.out
    assert result.code == 1


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    text = workflow([{"path": "/x", "localpath": "pipe"}])
    write(tmp_path, {"pools/team.yaml": pool(), "workflows/w.yaml": text})
    os.mkfifo(tmp_path / "workflows/pipe")
    result = kubectl_tas("validate", "-C", tmp_path)
    assert "not a plain file" in result.out
    assert result.code == 1


def test_a_file_of_more_than_a_mebibyte_is_refused_with_its_size(tmp_path: Path) -> None:
    text = workflow([{"path": "/model", "localpath": "model"}, {"path": "/fits", "localpath": "fits"}])
    write(tmp_path, {"pools/team.yaml": pool(), "workflows/w.yaml": text})
    (tmp_path / "workflows/model").write_bytes(b"\0" * (MAX_BYTES + 300_000))
    (tmp_path / "workflows/fits").write_bytes(b"\0" * MAX_BYTES)
    result = kubectl_tas("validate", "-C", tmp_path)
    assert result.code == 1
    assert 'the file "/model" of the task "t0" has 1.29 MiB' in result.out
    assert "/fits" not in result.out


def test_a_revision_has_its_own_files(repository: Path) -> None:
    """Nothing changed but a file that a workflow names: that is another gang, and the base is read from git."""
    text = workflow([{"path": "/run", "localpath": "../programs/run"}])
    write(repository, {"pools/team.yaml": pool(), "workflows/w.yaml": text, "programs/run": "first\n"})
    (repository / "programs/run").chmod(0o755)
    commit(repository)
    (repository / "programs/run").unlink()
    result = kubectl_tas("validate", "-C", repository)
    assert "this file does not exist" in result.out
    write(repository, {"programs/run": "second\n"})
    result = kubectl_tas("validate", "-C", repository, "--base", "HEAD")
    assert (result.code, "local-file" in result.out) == (0, False), result.out
