"""Tests files that look like sources and are not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_tas.load.ignored_files import unread
from tests.support.cli import pool, write

WORKFLOW = "# A training\nworkflow:\n  name: train\n"


def told(root: Path, *folders: str, output: str = "manifests") -> list[str]:
    return [item.message for item in unread(root, folders or ("pools", "workflows"), output)]


@pytest.mark.parametrize("name", ["workflows/train", "workflows/a/train.yaml.bak", "train.yaml", "jobs/train.json"])
def test_by_name_and_by_folder(tmp_path: Path, name: str) -> None:
    text = '{\n"workflow": {}}' if name.endswith("json") else WORKFLOW
    (found,) = unread(write(tmp_path, {name: text}), ["workflows"], "manifests")
    assert (str(found.location), found.message.count(name)) == (f"{name}:2:1", 0)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("workflows/train.yaml", WORKFLOW),
        ("workflows/run.sh", "echo workflow: train\n"),
        ("workflows/.hidden", WORKFLOW),
        (".github/train.yaml", WORKFLOW),
        ("manifests/train.yaml", WORKFLOW),
        ("charts/values.yaml", "image: {workflow: a}\n"),
        ("charts/templates/deep.yaml", WORKFLOW),
        ("tas.yaml", pool()),
    ],
)
def test_silence(tmp_path: Path, name: str, text: str) -> None:
    assert told(write(tmp_path, {name: text})) == []


def test_a_few_are_named_and_all_are_counted(tmp_path: Path) -> None:
    names = [f"workflows/w{number}" for number in range(8)]
    assert told(write(tmp_path, dict.fromkeys(names, WORKFLOW))) == [
        f"this file looks like a source of the repository and is not read; nor are {', '.join(names[1:5])} and 3 more"
    ]


def test_what_a_link_leads_to_is_read(tmp_path: Path) -> None:
    write(tmp_path, {"shared/train.yaml": WORKFLOW, "more/a.yaml": WORKFLOW, "workflows/readme.md": ""})
    assert len(told(tmp_path)) == 1
    (tmp_path / "workflows/train.yaml").symlink_to("../shared/train.yaml")
    (tmp_path / "workflows/more").symlink_to("../more")
    assert told(tmp_path) == []


def test_nothing_outside_is_looked_at(tmp_path: Path) -> None:
    write(tmp_path, {"outside/train": WORKFLOW, "root/pools/team.yaml": pool()})
    (tmp_path / "root/workflows").symlink_to("../outside")
    assert told(tmp_path / "root", "pools", "workflows", "../outside", "/etc") == []


def test_folders_may_be_deep(tmp_path: Path) -> None:
    deep = tmp_path / "workflows" / "/".join("d" * 200)
    deep.mkdir(parents=True)
    (deep / "train").write_text(WORKFLOW)
    assert told(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("teams/nlp/team.yaml", pool()),
        ("jobs/train.yaml", f"{WORKFLOW}  pool: team\n"),
        ("jobs/a/train.YAML", f"{WORKFLOW}  pool: team\n"),
        ("jobs/job.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata:\n  labels:\n    kubectl-tas/pool: team\n"),
    ],
)
def test_what_is_input_for_sure_is_a_warning(tmp_path: Path, name: str, text: str) -> None:
    (found,) = unread(write(tmp_path, {name: text}), ["pools", "workflows"], "manifests")
    assert (found.severity.value, found.location and found.location.path) == ("warning", name)
    assert found.message == "this file is input of kubectl-tas, but it is not read"
    assert found.hint == (
        "Sources are .yaml, .yml, .json files below pools, workflows. Rename or move this file, or list its folder in "
        "spec.sources."
    )


def test_a_pool_beside_the_config_is_not_read(tmp_path: Path) -> None:
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {}\n"
    (found,) = unread(write(tmp_path, {"tas.yaml": config, "team.yaml": pool()}), ["pools"], "manifests")
    assert str(found.location) == "team.yaml:1:1"


@pytest.mark.parametrize(
    "name",
    [
        *("docs/team.yaml", "a/doc/team.yaml", "example/team.yaml", "a/examples/team.yaml", "templates/team.yaml"),
        *("pools/team.yaml.off", "test/team.yaml", "a/testdata/team.yaml", "src/tests/team.yaml"),
    ],
)
def test_what_may_be_there_on_purpose_is_a_note(tmp_path: Path, name: str) -> None:
    (found,) = unread(write(tmp_path, {name: pool()}), ["pools", "workflows"], "manifests")
    assert found.severity.value == "info"


@pytest.mark.parametrize("name", ["other/tas.yaml", "other/Chart.yaml", "other/kustomization.yaml"])
def test_folders_of_others_are_left_out(tmp_path: Path, name: str) -> None:
    assert told(write(tmp_path, {name: "a: b\n", "other/pools/team.yaml": pool()})) == []


def test_folders_that_are_read_below_one_that_is_not(tmp_path: Path) -> None:
    files = {"teams/nlp/team.yaml": pool(), "teams/manifests/team.yaml": pool()}
    assert told(write(tmp_path, files), "teams/nlp", output="teams/manifests") == []


def test_a_config_elsewhere_counts_for_nothing(tmp_path: Path) -> None:
    config = "apiVersion: tas/v1alpha1\n# own\nkind: Config\nspec: {}\n"
    (found,) = unread(write(tmp_path, {"other/config.yaml": config}), ["pools"], "manifests")
    assert f"{found.location} {found.rule.code}: {found.message} ({found.hint})" == (
        "other/config.yaml:3:1 config-misplaced: a Config counts only in tas.yaml, and this repository has none "
        "(Move it to tas.yaml at the root.)"
    )
    assert found.location is not None
    assert (found.location.source, found.location.length) == ("kind: Config", 12)
    write(tmp_path, {"tas.yaml": config})
    (found,) = unread(tmp_path, ["pools"], "manifests")
    assert found.message == "this file is input of kubectl-tas, but it is not read"


@pytest.mark.parametrize(("depth", "is_found"), [(2, True), (3, False)])
def test_beside_the_sources_only_folders_near_the_root_are_searched(tmp_path: Path, depth: int, is_found: bool) -> None:
    write(tmp_path, {f"other/{'a/' * depth}team.yaml": pool()})
    assert bool(told(tmp_path)) is is_found


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("'workflow' :\n", True),
        ("a: b\n  workflow:\n", False),
        ('"apiVersion": "tas/v1alpha1"\n', True),
        ("kind: Job\nlabels: {kubectl-tas/pool: a}\n", True),
        ("kind: PodCliqueSet\nlabels: {'kubectl-tas/pool': a}\n", True),
        ("kind: ReplicaSet\nlabels: {kubectl-tas/pool: a}\n", True),
        ("kind: Service\nlabels: {kubectl-tas/pool: a}\n", False),
        ("kind: Job\nlabels: {other/pool: a}\n", False),
        ("kind: Job\nlabels: {kubectl-tas/pool: a, x: y}\napp.kubernetes.io/managed-by: kubectl-tas\n", False),
        ("#" * 4090 + "\nworkflow:\n", False),
    ],
)
def test_what_a_file_says_of_itself(tmp_path: Path, text: str, is_found: bool) -> None:
    assert bool(told(write(tmp_path, {"jobs/a.yaml": text}))) is is_found


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("workflow:\n  name: a\n", "info"),
        ("workflow:\n  pool: a\n", "warning"),
        ("kind: Job\nlabels: {kubectl-tas/pool: a}\n", "warning"),
        ("kind: Job\nlabels: {kubectl-tas/pool: '{{ a }}'}\n", "info"),
    ],
)
def test_a_workflow_without_a_pool_and_a_template_of_others_may_be_there_on_purpose(
    tmp_path: Path, text: str, severity: str
) -> None:
    (found,) = unread(write(tmp_path, {"jobs/a.yaml": text}), ["pools"], "manifests")
    assert found.severity.value == severity
