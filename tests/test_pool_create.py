"""Tests ``pool create``, which writes the file of a new pool."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write

QUOTA = ("--quota", "64")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path, {"pools/team.yaml": pool(), "tas.yaml": ""})


def test_a_pool_gets_a_file_of_its_own_that_is_valid(root: Path) -> None:
    words = ("--maximum", "128", "--level", "zone=example.com/zone", "--level", "rack=example.com/rack")
    result = kubectl_tas("-C", root, "pool", "create", "research", *QUOTA, *words)
    assert (result.code, result.out) == (0, "created pool research, quota 64 (pools/research.yaml)\n")
    assert (root / "pools/research.yaml").read_text() == (
        "apiVersion: tas/v1alpha1\n"
        "kind: Pool\n"
        "metadata:\n"
        "  name: research\n"
        "spec:\n"
        "  resources:\n"
        "    gpu:\n"
        "      guarantee: 64\n"
        "      maximum: 128\n"
        "  topology_keys:\n"
        "  - {key: zone, label: example.com/zone}\n"
        "  - {key: rack, label: example.com/rack}\n"
    )
    assert kubectl_tas("-C", root, "validate", "--strict").code == 0


def test_a_dry_run_shows_the_diff_and_writes_nothing(root: Path) -> None:
    result = kubectl_tas("-C", root, "pool", "create", "research", *QUOTA, "--parent", "team", "--dry-run")
    assert result.code == 0
    assert {"+  parent: team", "+      guarantee: 64"} <= set(result.out.splitlines())
    assert not (root / "pools/research.yaml").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("team", *QUOTA), 1, "there is a pool team already"),
        (("Team", *QUOTA), 1, "there is a pool team already"),
        (("research", *QUOTA, "--parent", "team", "--maximum", "1"), 1, "Nothing was written"),
        (("research", *QUOTA, "--topology", "no-such"), 1, "Nothing was written"),
        (("a_b/c", *QUOTA), 1, "Nothing was written"),
        (("research", *QUOTA, "--topology", "x", "--level", "a=b"), 2, "--topology"),
        (("research", *QUOTA, "--level", "rack"), 2, "KEY=LABEL"),
        (("research",), 2, "--quota"),
    ],
)
def test_what_would_be_wrong_is_refused(root: Path, words: tuple[str, ...], code: int, message: str) -> None:
    before = sorted(root.rglob("*"))
    result = kubectl_tas("-C", root, "pool", "create", *words)
    assert (result.code, message in result.err) == (code, True), result.err
    assert sorted(root.rglob("*")) == before


def test_the_list_of_two_clusters_fits_80_columns() -> None:
    out = kubectl_tas("-C", Path(__file__).parent.parent / "examples/company", "pool", "list").out
    header, *lines = out.splitlines()
    assert header.split() == ["Pool", "State", "GPU", "Quota", "Used", "Available", "Backend"]
    assert max(map(len, (header, *lines))) <= 80
    assert any("8 (120)" in line for line in lines)
