"""Tests on handwritten files in golden/edits that an edit changes only the intended bytes.

A case holds ``before.yaml`` (or ``.json``), a subpool file; ``case.json`` with commands and the changes that they may
make, each a text that occurs once in the file and its replacement; and ``after.yaml`` with the result.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kubectl_tas.cli.session import open_session
from tests.support.cli import kubectl_tas, pool, write
from tests.support.golden import EXAMPLES, case_input, cases
from tests.support.rendered import files_below


@pytest.fixture(params=cases("edits"), ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


def before(case: Path) -> Path:
    (file,) = case.glob("before.*")
    return file


def repository_of(case: Path, root: Path) -> Path:
    """The file of a case within a repository; returns its path there."""
    write(root, {"pools/team.yaml": pool()})
    file = root / f"subpools/file{before(case).suffix}"
    file.parent.mkdir()
    shutil.copyfile(before(case), file)
    return file


@pytest.mark.every_case
def test_only_the_intended_characters_change(case: Path, repository: Path, update: bool) -> None:
    file = repository_of(case, repository)
    expected = file.read_bytes().decode()
    told = json.loads((case / "case.json").read_text())
    for command in told["commands"]:
        result = kubectl_tas("subpool", *command.split(), "-C", repository)
        assert result.code == 0, result
    for old, new in told["changes"]:
        assert expected.count(old) == 1, old
        expected = expected.replace(old, new)
    assert file.read_bytes().decode() == expected
    after = case / before(case).name.replace("before", "after")
    if update:
        after.write_bytes(file.read_bytes())
    assert file.read_bytes() == after.read_bytes()
    assert kubectl_tas("validate", "-C", repository).out.startswith("No problems found in ")


def test_dry_run_writes_nothing(case: Path, repository: Path) -> None:
    file = repository_of(case, repository)
    command, *_ = json.loads((case / "case.json").read_text())["commands"]
    result = kubectl_tas("subpool", *command.split(), "--dry-run", "-C", repository)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"--- a/subpools/{file.name}\n+++ b/subpools/{file.name}\n@@ ")
    assert file.read_bytes() == before(case).read_bytes()


REPOSITORIES = [
    *(path for path in sorted(EXAMPLES.iterdir()) if path.is_dir()),
    *(case for case in cases("manifests")[::4] if not (EXAMPLES / case.name).is_dir()),
    *(case for case in cases("commands") if (case / "input").is_dir()),
]


@pytest.mark.parametrize("source", REPOSITORIES, ids=lambda source: f"{source.parent.name}/{source.name}")
def test_an_edit_that_changes_nothing_leaves_every_byte(source: Path, tmp_path: Path) -> None:
    root = tmp_path / "repository"
    shutil.copytree(source if source.parent == EXAMPLES else case_input(source), root)
    assert_nothing_changes(root)


def test_no_case_is_changed_by_its_own_values(case: Path, repository: Path) -> None:
    repository_of(case, repository)
    assert assert_nothing_changes(repository) >= ("DELETING" not in before(case).read_text())


def assert_nothing_changes(root: Path) -> int:
    """Gives every ACTIVE subpool the quota that it has; returns how many there are."""
    content = {path: path.read_bytes() for path in files_below(root)}
    active = [item for pool in open_session(str(root)).fleet.pools for item in pool.subpools if item.state == "ACTIVE"]
    for item in active:
        quota = item.declared.origin.value(("spec", "quota"))
        named = quota if isinstance(quota, dict) else {"gpu": quota}
        options = {"gpu": "--quota", "cpu": "--cpu", "memory": "--memory"}
        given = [str(word) for name, amount in named.items() for word in (options[name], amount)]
        result = kubectl_tas("subpool", "update", item.pool, item.name, *given, "-C", root)
        assert result.code == 0, result
    now = {path: path.read_bytes() for path in files_below(root)}
    assert now == content
    return len(active)
