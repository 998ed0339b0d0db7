"""Tests names of other objects: they are looked up in all files, although each file is judged alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubectl_tas.base.words import Misspellings
from kubectl_tas.load.source import FolderSource
from kubectl_tas.work.run import Effort
from tests.support.cli import kubectl_tas, pool, write
from tests.support.effort import in_a_minute
from tests.support.marked import findings, marked
from tests.work.repositories import run

CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Ti}}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, labels: {kubectl-tas/pool: team}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "a:1", volumeMounts: [{name: data, mountPath: /data}]}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: CLAIM}}]
"""
POOL = {"pools/team.yaml": pool("team")}


def job(name: str, claim: str) -> str:
    """A Job that mounts a claim."""
    return JOB.replace("NAME", name).replace("CLAIM", claim)


def said(root: Path, files: dict[str, str]) -> list[str]:
    """The first lines of findings."""
    out = kubectl_tas("validate", "-C", write(root, {**POOL, **files})).out
    return [line for line in out.splitlines() if ".yaml:" in line and not line.startswith("  =")]


def test_files_that_name_objects_of_others_are_judged_by_themselves(tmp_path: Path) -> None:
    files = {f"workflows/{name}.yaml": job(name, "data") for name in "ab"}
    write(tmp_path, {**POOL, **files, "workflows/claim.yaml": CLAIM.replace("NAME", "data")})
    found = run(FolderSource(tmp_path), Effort())
    assert set(found.outcomes) == {"workflows/a.yaml", "workflows/b.yaml", "workflows/claim.yaml"}
    assert found.findings == ()


@pytest.mark.parametrize("processes", [1, 2])
def test_place_of_a_slip_is_found_in_the_file_that_was_let_go(tmp_path: Path, processes: int) -> None:
    files = {f"workflows/{number:02}.yaml": "---\n" * 2 + job(f"j{number}", "dtaa") for number in range(40)}
    write(tmp_path, {**POOL, **files, "workflows/claim.yaml": CLAIM.replace("NAME", "data")})
    (found,) = run(FolderSource(tmp_path), Effort(processes)).findings
    assert (found.rule.code, str(found.location), found.hint) == (
        "reference-unknown",
        "workflows/00.yaml:11:65",
        'Did you mean "data"?',
    )
    assert len(found.related) == 10


def test_names_without_a_like_are_one_note(tmp_path: Path) -> None:
    files = {f"workflows/{name}.yaml": job(name, f"claim-of-{name}") for name in ("a", "b", "c")}
    (line,) = said(tmp_path, files)
    assert "info: no file declares the PersistentVolumeClaims claim-of-a, claim-of-b, claim-of-c in namespace" in line


def test_a_pattern_is_no_name_that_is_meant(tmp_path: Path) -> None:
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {given: [{kind: PersistentVolumeClaim, names: [home-*]}]}\n"
    assert said(tmp_path, {"tas.yaml": config, "workflows/a.yaml": job("a", "home-ada")}) == []
    (line,) = said(tmp_path, {"tas.yaml": config, "workflows/a.yaml": job("a", "homes-")})
    assert "reference-elsewhere" in line or "invalid-value" in line


@pytest.mark.parametrize(
    ("given", "is_there"),
    [
        ("kind: PersistentVolumeClaim", True),
        ("kind: PersistentVolumeClaim, namespace: default", True),
        ("kind: PersistentVolumeClaim, namespace: other", False),
        ("kind: ConfigMap", False),
    ],
)
def test_what_somebody_else_makes_is_of_a_kind_and_a_namespace(tmp_path: Path, given: str, is_there: bool) -> None:
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{given: [{{{given}, names: [data]}}]}}\n"
    found = said(tmp_path, {"tas.yaml": config, "workflows/a.yaml": job("a", "data")})
    about = [line for line in found if "reference-elsewhere" in line]
    assert len(about) == (0 if is_there else 1), found
    assert [line for line in found if line not in about and "runs in namespace" not in line] == []


KEY = """\
apiVersion: batch/v1
kind: Job
metadata: {name: a, labels: {kubectl-tas/pool: team}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: "a:1", env: [{name: A, valueFrom: {configMapKeyRef: {name: words, key: ^mode}}}]}
"""


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        ("{}", "Add the key there."),
        ("{mod: a}", 'Did you mean "mod"?'),
        ("{speed: a, size: b}", "It has speed, size."),
    ],
)
def test_a_key_that_a_configmap_does_not_have(tmp_path: Path, data: str, hint: str) -> None:
    text, place = marked("workflows/a.yaml", KEY)
    words = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: words}}\ndata: {data}\n"
    found = findings(write(tmp_path, {**POOL, "workflows/a.yaml": text, "workflows/words.yaml": words}))
    assert found == [(place, "reference-unknown", 'the ConfigMap "words" has no key "mode"', hint)]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("checkpoint", "checkpoints"),
        ("trianer", "trainer"),
        ("wbe", "web"),
        ("wob", None),
        ("dataset-2", None),
        ("data-b", None),
        ("cache-us", None),
        ("home-bob", None),
        ("train", None),
    ],
)
def test_what_a_slip_is(name: str, meant: str | None) -> None:
    known = ["checkpoints", "trainer", "web", "dataset-1", "data-a", "cache-eu", "home-ada"]
    assert Misspellings(known).of(name) == meant


def test_many_unknown_names_beside_many_known_ones_take_no_time() -> None:
    near = Misspellings(f"dataset-{number:05}-of-training" for number in range(4000))
    with in_a_minute():
        assert {near.of(f"checkpoint-{number:05}-of-a-run") for number in range(4000)} == {None}


def test_a_document_that_cannot_be_read_may_declare_the_object(tmp_path: Path) -> None:
    files = {"workflows/a.yaml": job("a", "data"), "workflows/claim.yaml": CLAIM.replace("spec", "sepc") + "---\n{"}
    assert not [line for line in said(tmp_path, files) if "reference-" in line]


@pytest.mark.parametrize("value", ["{a: b}", "[a]", "1", "null"])
@pytest.mark.parametrize("old", ["claimName: data", "persistentVolumeClaim: {claimName: data}", "name: main"])
def test_values_of_another_type_are_no_names(tmp_path: Path, old: str, value: str) -> None:
    text = job("a", "data").replace(old, f"{old.partition(':')[0]}: {value}", 1)
    result = kubectl_tas("validate", "-C", write(tmp_path, {**POOL, "workflows/a.yaml": text}))
    assert result.code == 1
    assert "reference-" not in result.out or old == "name: main"
