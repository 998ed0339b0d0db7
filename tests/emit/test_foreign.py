"""Tests what is said of each file in or above the output folder that kubectl-tas did not write."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.emit.disk import MARK
from kubectl_tas.emit.foreign import FileBeside, Foreign, check_output, foreign, kept_changes, left_behind
from kubectl_tas.model.config import ConfigSpec
from tests.support.cli import write

OUT = ConfigSpec()
KUSTOMIZATION = f"{MARK}tas.yaml\nresources:\n- q.yaml\n"
SOURCE = "Argo CD merges it over the source of its Application, patches included"
TWO = "kustomize refuses a folder with two kustomizations, so nothing is applied any more"
CHART = "Argo CD takes its folder for a Helm chart"
APPLIED = "a tool that applies all of the folder applies it too"
PLUGIN = "a plugin of Argo CD may read a file of this name"
EXTRA = "it begins as one, but no kustomization that kubectl-tas wrote lists it"
FILES = {
    ".argocd-source.yaml": (SOURCE, True),
    ".argocd-source-prod.yaml": (SOURCE, True),
    ".sourceignore": ("Flux leaves out the files that it names", True),
    "kustomization.yml": (TWO, True),
    "Kustomization": (TWO, True),
    "new/kustomization.yaml": ("kustomize builds this folder by it, for Argo CD, Flux and kubectl", True),
    "Chart.yaml": (CHART, True),
    "aChart.yaml": (CHART, True),
    "a.jsonnet": ("Argo CD runs it and applies the result", True),
    "a.libsonnet": ("Argo CD runs it with the Jsonnet files that import it", True),
    ".gitmodules": ("Argo CD fills a folder of the output from another repository", True),
    "a.yaml": (APPLIED, False),
    "a.yml": (APPLIED, False),
    "a.json": (APPLIED, False),
    "A.JSON": (APPLIED, False),
    ".a.yaml": (APPLIED, True),
    ".a/b.yaml": (APPLIED, False),
    "Makefile": (PLUGIN, True),
    "a.md/b": (PLUGIN, True),
    "a/.git": ("its folder is another repository, which git and Argo CD may fill with other content", True),
}


@pytest.mark.parametrize(("name", "expected"), FILES.items())
def test_the_effect_of_a_file(tmp_path: Path, name: str, expected: tuple[str, bool]) -> None:
    write(tmp_path, {"manifests/kustomization.yaml": KUSTOMIZATION, f"manifests/{name}": "a: b\n"})
    assert foreign(tmp_path, OUT) == (Foreign(f"manifests/{name}", *expected),)


@pytest.mark.parametrize(
    ("name", "is_extra"),
    [
        ("q.yaml", False),
        ("kustomization.yaml", False),
        ("preview/podgroup-a.yaml", False),
        ("preview/of-b/podgang-a.yaml", False),
        ("preview/a.yaml", True),
        ("preview/podgroup-a/b.yaml", True),
        ("a/preview/podgroup-a.yaml", True),
        ("r.yaml", True),
        ("a/q.yaml", True),
    ],
)
def test_a_file_with_the_mark_that_no_kustomization_lists(tmp_path: Path, name: str, is_extra: bool) -> None:
    write(tmp_path, {"manifests/kustomization.yaml": KUSTOMIZATION})
    write(tmp_path, {f"manifests/{name}": KUSTOMIZATION if name == "kustomization.yaml" else f"{MARK}tas.yaml\n"})
    found = (Foreign(f"manifests/{name}", EXTRA, is_read=False),) if is_extra else ()
    assert foreign(tmp_path, OUT) == found


@pytest.mark.parametrize(
    ("name", "text", "output", "is_found"),
    [
        (".sourceignore", "", "manifests", True),
        (".gitattributes", "*.yaml ident\n", "manifests", True),
        (".gitattributes", "*.yaml text\n", "manifests", False),
        (".gitattributes", "*.yaml filter\n", "manifests", True),
        (".gitattributes", "*.yaml filter=x\n", "manifests", True),
        (".gitattributes", "*.yaml identical\n", "manifests", False),
        (".gitattributes", "*.yaml working-tree-encoding=UTF-7\n", "manifests", True),
        (".gitattributes", "*.json ident\n", "manifests", True),
        (".gitattributes", "*.yml ident\n", "manifests", True),
        (".gitattributes", "*.md ident\n", "manifests", False),
        (".gitattributes", "[attr]a filter=x\n*.md a\n", "manifests", False),
        (".gitattributes", "*.yaml a\n[attr]a filter=x\n", "manifests", True),
        (".gitattributes", "/manifests/x ident\n", "manifests", True),
        (".gitattributes", "manifests ident\n", "deploy/out", True),
        (".gitattributes", "manifests/x ident\n", "deploy/out", False),
        (".gitattributes", "deploy/other/* ident\n", "deploy/out", False),
        (".gitattributes", "d?ploy/other/* ident\n", "deploy/out", False),
        (".gitattributes", "d?ploy/o*/* ident\n", "deploy/out", True),
        (".gitattributes", "d[^a]ploy/out/* ident\n", "deploy/out", True),
        (".gitattributes", "/deploy/*.yaml ident\n", "deploy/out", False),
        (".gitattributes", "deploy/** ident\n", "deploy/out", True),
        (".gitattributes", "**/*.yaml ident\n", "deploy/out", True),
        (".gitattributes", "*.yaml b\n[attr]a filter=x\n[attr]b a\n", "manifests", True),
        (".gitmodules", "path = manifests\n", "manifests", True),
        (".gitmodules", "PATH=manifests # here\n", "manifests", True),
        (".gitmodules", "path = man\\\nifests\n", "manifests", True),
        (".gitmodules", 'path = "./manifests/"\n', "manifests", True),
        (".gitmodules", "path = manifests/a\n", "manifests", True),
        (".gitmodules", "path = other\n", "manifests", False),
        (".gitmodules", "path = deploy\n", "deploy/out", False),
        (".gitmodules", "mypath = manifests\n", "manifests", False),
        (".gitmodules", "path = a\npath = manifests;x\n", "manifests", True),
    ],
)
def test_files_above_the_output(tmp_path: Path, name: str, text: str, output: str, is_found: bool) -> None:
    write(tmp_path, {name: text, f"{output}/kustomization.yaml": KUSTOMIZATION})
    found = [item.path for item in foreign(tmp_path, ConfigSpec(output=output))]
    assert found == [name] * is_found


def test_findings_say_what_to_do() -> None:
    """By the Config of the base, if there is one; manifests of one folder have one cause."""
    files = (Foreign("m/a/.sourceignore", "x"), Foreign("m/a/b.yaml", "y", is_read=False))
    kept = ConfigSpec(outputKeeps=("m/a/*.yaml", "m/a/.sourceignore"))
    first, second = check_output(files, OUT)
    text, remove = "kubectl-tas did not write this file: ", "Remove it, or name it in spec.outputKeeps of the Config."
    assert (first.message, first.location, first.hint, first.cause) == (
        f"{text}x",
        Location("m/a/.sourceignore"),
        remove,
        None,
    )
    assert (second.message, second.hint, second.cause) == (f"{text}y", remove, Location("m/a"))
    assert list(check_output(files, kept)) == []
    later = "Remove it. spec.outputKeeps counts as it is at main."
    assert [item.hint for item in check_output(files, kept, ("main", OUT))] == [later, later]
    assert list(check_output(files, OUT, ("main", kept))) == []
    assert [item.location for item in check_output(files, ConfigSpec(outputKeeps=("m/a/.*",)))] == [
        Location("m/a/.sourceignore"),
        Location("m/a/b.yaml"),
    ]


def test_the_old_folder_of_an_output(tmp_path: Path) -> None:
    write(tmp_path, {f"old/{name}.yaml": "" for name in "gfedcba"} | {"old/new/x.yaml": "", "old/LICENSE": ""})
    place = Location("tas.yaml", 4, 3)
    (only,) = left_behind(tmp_path, ConfigSpec(output="old"), ConfigSpec(output="old/new"), place, "main")
    assert only.message == (
        'the output goes from "old" to "old/new" since main, and 7 files are left in "old", which Argo CD and Flux may '
        "still apply"
    )
    assert (only.location, only.hint) == (place, "Remove old, and point Argo CD or Flux at old/new.")
    assert [(item.message, item.location.path) for item in only.related] == [
        ("stale", f"old/{name}.yaml") for name in "abcde"
    ]
    assert list(left_behind(tmp_path, ConfigSpec(output="old/new"), ConfigSpec(output="old"), place, "main")) == []


def test_changes_of_files_that_the_config_keeps(tmp_path: Path) -> None:
    write(tmp_path, {"manifests/a.yaml": "a", "manifests/b.yaml": "b", "manifests/c.yaml": "c"})
    before = {f"manifests/{name}": b"b" for name in ("b.yaml", "c.yaml", "gone.yaml", ".sourceignore")}
    found = kept_changes(tmp_path, foreign(tmp_path, OUT), ("manifests/*.yaml",), before)
    assert list(found) == [
        FileBeside("manifests/.sourceignore", "dropped", "Flux leaves out the files that it names"),
        FileBeside("manifests/a.yaml", "made", APPLIED),
        FileBeside("manifests/c.yaml", "changed", APPLIED),
        FileBeside("manifests/gone.yaml", "dropped", APPLIED),
    ]
