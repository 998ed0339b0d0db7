"""Tests that every golden case has a description, and that shared parts of cases are stored once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.process import call
from tools.goldens import GOLDEN, INDEX, find, index, lay_out, problems, read

ABOUT = "golden/rules/x/fires/about.txt"
CASE = {
    ABOUT: "# shows: a pool\n# input: golden/shared/team\n",
    "golden/rules/x/fires/output.txt": "what is found\n",
    "golden/rules/x/fires/input/subpools/a.yaml": "a\n",
    "golden/shared/team/pools/team.yaml": pool(),
}


def test_nothing_is_wrong_with_the_cases() -> None:
    assert problems() == []
    assert len(find()) > 250


def test_a_case_with_all_that_it_needs(tmp_path: Path) -> None:
    assert problems(write(tmp_path, CASE)) == []


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({ABOUT: "# input: golden/shared/team\n"}, "rules/x/fires: about.txt has no line '# shows: TEXT'"),
        ({ABOUT: "# shows: \n"}, "rules/x/fires: about.txt has the line '# shows: '"),
        ({ABOUT: "# shows: a\n# shows: b\n"}, "about.txt has the line '# shows: b'"),
        ({ABOUT: "# shows: a\n# with: golden/shared/team\n"}, "about.txt has the line '# with: golden/shared/team'"),
        ({ABOUT: "# shows: a\n# input: golden/shared/tean\n"}, "golden/shared/tean, which is no folder"),
        ({"golden/rules/x/new/input/pools/a.yaml": "a"}, "golden/rules/x/new: no case"),
        ({"golden/shared/other/pools/a.yaml": "a"}, "golden/shared/other: no case, and no case is laid over it"),
        ({"golden/rules/x/fires/output.txt": ""}, "fires/output.txt: empty; '# shows: silence: TEXT' would say so"),
        ({"golden/rules/x/fires/base/pools/team.yaml": pool()}, "golden/shared/team/pools/team.yaml: written twice"),
    ],
)
def test_what_is_wrong_is_said(files: dict[str, str], said: str, tmp_path: Path) -> None:
    found = problems(write(tmp_path, {**CASE, **files}))
    assert any(said in problem for problem in found), found


def test_a_silent_case_may_expect_nothing(tmp_path: Path) -> None:
    files = {ABOUT: "# shows: silence: all is well\n# input: golden/shared/team\n"}
    assert problems(write(tmp_path, {**CASE, **files, "golden/rules/x/fires/output.txt": ""})) == []


def test_the_index_has_a_line_for_each_case() -> None:
    lines = index().splitlines()
    for case in find():
        path, shows = case.relative_to(GOLDEN).as_posix(), read(case).shows
        assert sum(f"]({path}): {shows}" in line for line in lines) == 1, path


def test_a_case_is_laid_out_over_what_it_shares(tmp_path: Path) -> None:
    write(tmp_path, {**CASE, "golden/shared/team/subpools/a.yaml": "shared\n"})
    root = lay_out(read(tmp_path / ABOUT.rpartition("/")[0], tmp_path), tmp_path / "case")
    assert (root / "subpools/a.yaml").read_text() == "a\n"
    assert (root / "pools/team.yaml").read_text() == pool()
    assert not (tmp_path / "case/about.txt").exists()


def test_the_command_lays_a_case_out(tmp_path: Path) -> None:
    case = "rules/set-reference-locked/fires"
    done = call(sys.executable, "-m", "tools.goldens", case, tmp_path / "case", cwd=GOLDEN.parent)
    assert (done.code, done.out) == (0, f"{tmp_path / 'case/input'}\n")
    assert (tmp_path / "case/base/pools/team.yaml").is_file()
    assert (tmp_path / "case/cluster.json").is_file()
    found = kubectl_tas("validate", "-C", tmp_path / "case/input", "--cluster-state", tmp_path / "case/cluster.json")
    assert found.code == 0
    missing = call(sys.executable, "-m", "tools.goldens", "rules/nothing", tmp_path / "x", cwd=GOLDEN.parent)
    assert missing.code == 2
    assert "usage: python -m tools.goldens CASE FOLDER" in missing.err
    assert INDEX in missing.err
