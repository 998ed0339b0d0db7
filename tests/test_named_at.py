"""Tests that one list of the places that name something serves rules, renames, completion and definition alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubectl_tas.editor.definition import reference_at
from kubectl_tas.load.document import parse
from kubectl_tas.model.kindlists import HARMLESS
from kubectl_tas.resolve.named_at import BY_KEY, BY_PATH, named_at, names_in
from tests.support.cli import kubectl_tas, pool, subpool, write

SHARED = {
    "pools/blue.yaml": pool("blue", 8, "  topology_keys: [{key: rack, label: example.com/rack}]\n"),
    "subpools/s.yaml": subpool("s", 4, "blue"),
}
PODS = '{restartPolicy: Never, containers: [{name: a, image: "a:1"}]}'
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j, labels: {{{}}}}}\nspec: {{template: {{spec: {}}}}}\n"


def companion(labels: str, name: str = "c", kind: str = "ConfigMap", version: str = "v1", rest: str = "") -> str:
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}, labels: {{{labels}}}}}\n{rest}"


WORK = JOB.format("kubectl-tas/pool: blue--s", PODS)
PLACES = {
    "a companion": companion("kubectl-tas/pool: blue"),
    "a companion of a subpool": companion("kubectl-tas/pool: BLUE--s"),
    "a workload": JOB.format("kubectl-tas/pool: Blue", PODS),
    "a workflow": 'workflow: {name: w, pool: blue--s, tasks: [{name: a, image: "a:1"}]}\n',
    "a child pool": pool("green", 1, "  parent: blue\n"),
    "a selector": companion(
        "kubectl-tas/pool: blue", kind="PodDisruptionBudget", version="policy/v1",
        rest="spec: {minAvailable: 1, selector: {matchLabels: {kubectl-tas/pool: blue--s}}}\n",
    ),
    "an expression": companion(
        "kubectl-tas/pool: blue", kind="NetworkPolicy", version="networking.k8s.io/v1",
        rest="spec: {podSelector: {matchExpressions: [{key: kubectl-tas/pool, operator: In, values: [blue--s]}]}}\n",
    ),
}  # fmt: skip


def folder_of(text: str) -> str:
    return "pools/x.yaml" if "kind: Pool\n" in text else "workflows/x.yaml"


@pytest.mark.parametrize("where", PLACES)
def test_a_rename_follows_every_place(tmp_path: Path, where: str) -> None:
    path = folder_of(PLACES[where])
    root = write(tmp_path, {**SHARED, "workflows/j.yaml": WORK.replace("name: j", "name: k"), path: PLACES[where]})
    before = kubectl_tas("validate", cwd=root)
    result = kubectl_tas("pool", "rename", "blue", "navy", cwd=root)
    assert result.code == 0, result.err
    assert "blue" not in (root / path).read_text().lower()
    after = kubectl_tas("validate", cwd=root)
    assert (after.code, after.out.replace("navy", "blue")) == (before.code, before.out)


def test_what_a_document_only_carries_is_not_renamed(tmp_path: Path) -> None:
    carried = companion("kubectl-tas/pool: blue", rest="data: {kubectl-tas/pool: blue, note: blue}\n")
    root = write(tmp_path, {**SHARED, "workflows/x.yaml": carried})
    assert kubectl_tas("pool", "rename", "blue", "navy", cwd=root).code == 0
    assert "data: {kubectl-tas/pool: blue, note: blue}" in (root / "workflows/x.yaml").read_text()


@pytest.mark.parametrize("kind", sorted({kind for _, kind in map(tuple, HARMLESS)}))
def test_every_kind_of_companion(kind: str) -> None:
    data = {"kind": kind, "metadata": {"name": "c", "labels": {"kubectl-tas/pool": "blue"}}}
    assert list(names_in(data)) == [("pool", ("metadata", "labels", "kubectl-tas/pool"), "blue")]


def test_the_editor_reads_the_same_list() -> None:
    for key, what in BY_KEY.items():
        text = json.dumps({"kind": "Job", "metadata": {"annotations": {key: "x"}}})
        (document,), _ = parse("x.yaml", text)
        reference = reference_at(document, ("metadata", "annotations", key))
        assert reference is not None
        assert reference.kind == what == named_at(document.data, reference.path)


WRONG: dict[tuple[str, str], tuple[dict[str, str], str]] = {
    ("Workflow", "workflow.pool"): ({"workflows/w.yaml": PLACES["a workflow"].replace("blue--s", "blu")}, "pool"),
    ("Pool", "spec.parent"): ({"pools/x.yaml": PLACES["a child pool"].replace("blue", "blu")}, "pool"),
    ("Pool", "spec.topology"): ({"pools/x.yaml": pool("x", 1, "  topology: nix\n")}, "topology"),
    ("Pool", "spec.backend"): ({"pools/x.yaml": pool("x", 1, "  backend: nix\n")}, "backend"),
    ("Pool", "spec.default_platform"): ({"pools/x.yaml": pool("x", 1, "  default_platform: nix\n")}, "platform"),
    ("Subpool", "spec.parent"): ({"subpools/x.yaml": subpool("x", 1, "blu")}, "pool"),
}


@pytest.mark.parametrize("place", WRONG, ids=" ".join)
def test_a_rule_finds_a_wrong_name(tmp_path: Path, place: tuple[str, str]) -> None:
    files, what = WRONG[place]
    assert (*place, what) in BY_PATH
    result = kubectl_tas("validate", cwd=write(tmp_path, {**SHARED, **files}))
    assert "-unknown]" in result.out, result.out
